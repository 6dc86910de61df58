//! The verdict on a request: known, new, or a known pattern with an unusual value.
//!
//! A request without a pattern is compared with the *nearest* one: the pattern that matches its path if marked parts
//! and values of other types are accepted below a name. The values of a request with a pattern are compared with the
//! profile of their variable ([`crate::profiles`]). A feature with count k among n values is unusual if
//! ```text
//! (1 + Σ counts of the features that are at most as frequent · e / n) / (e + 1) ≤ RARE · suspicion
//! ```
//! where e, the evidence, is n, but at most 500 for each day of the pattern, undated requests as one day: what people ask
//! for on one day is no independent sample of what they ask for later, however many they are.
//!
//! For a feature that never occurred, the sum is that of the features that occurred once, which estimates the
//! probability of a new one (Good 1953). The sum bounds the share of ordinary values that one family of features flags
//! by RARE. `suspicion` is more than 1 for quotes, markup and other signs of code that never occurred, and for lengths
//! and numbers far beyond the largest. A length below 1.5 times the largest, and a number below 4 times, are usual.
//!
//! A parameter without a value is unusual if at most RARE of the requests lack it, with the same estimate, or if none of
//! 500 requests lacked it. The same holds for the n requests since the newest day with one that lacked it, if the share m
//! of the earlier requests that lacked it makes that no chance: (1 − m)^n < e^(−mn) ≤ e^−14. So a parameter that a release
//! introduced is soon missed.
//!
//! Values that look like attacks ([`super::scan::is_odd`]) are unusual unless they are frequent in their variable.

use std::collections::{BTreeMap, HashMap};

use super::parameters::Parameter;
use super::request::{self, Request};
use super::rows::{self, Missing, Source};
use super::sites::Sites;
use super::tokens;
use super::tree::Pattern;
use crate::batch::Batch;
use crate::kinds::Kind;
use crate::profiles::{self, Profile};
use crate::templates::TemplateTable;
use crate::values;

/// Maximum share of ordinary values that a family of features flags.
const RARE: f64 = 0.0005;
/// Factor for signs of code.
const SIGN: f64 = 20.0;
/// Factor for other punctuation.
const PUNCTUATION: f64 = 2.0;
/// Factor for a parameter that no request lacked.
const NEVER: f64 = 4.0;
/// Number of requests without a parameter that the newest days would have at the share of the earlier ones, so that none
/// is no chance: e^-14 is less than 10^-6.
const EXPECTED: u128 = 14;
/// Number of requests of one day that are evidence of later ones.
const EVIDENCE_OF_DAY: u64 = 500;
/// Share of values that look like attacks from which on they are usual.
const USUAL_ODD: f64 = 0.01;

/// Why a value is unusual.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// The pattern has no such parameter.
    Parameter,
    /// The value looks like an attack, and few do.
    Attack,
    /// The value has another type.
    Type(Kind),
    /// A character; its class.
    Character(u8),
    /// A length.
    Length(u64),
    /// A number, and whether it is larger than usual.
    Number(bool),
    /// A value outside a small set.
    Member,
    /// A parameter that the request lacks, or an empty one.
    Missing,
}

/// An unusual value.
#[derive(Debug, Clone, PartialEq)]
pub struct Unusual {
    /// The number of the variable; None for a parameter that the pattern does not have.
    pub variable: Option<usize>,
    /// The key of such a parameter.
    pub key: Vec<u8>,
    /// The reason.
    pub reason: Reason,
    /// An upper estimate of the share of such values.
    pub rarity: f64,
}

/// The verdict on a request: the number of its pattern, or of the nearest one, and the unusual values.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// The pattern; None for a new one.
    pub pattern: Option<usize>,
    /// True if the pattern matches, with usual values or not.
    pub matches: bool,
    /// Unusual values.
    pub unusual: Vec<Unusual>,
}

/// Profiles of the variables of all patterns, by the numbers of the patterns.
#[derive(Debug, Default)]
pub struct Judge {
    profiles: Vec<Vec<Profile>>,
    /// Requests that lack a value.
    missing: Vec<Vec<Missing>>,
    /// Requests of each pattern by day.
    days: Vec<Vec<(i32, u64)>>,
    /// Methods of the patterns, by decreasing number of requests.
    methods: Vec<Vec<u8>>,
}

/// Return the requests that are evidence, from the number of all and those of each day.
fn evidence(requests: u64, days: &[(i32, u64)]) -> u64 {
    let undated = requests.saturating_sub(days.iter().map(|day| day.1).sum());
    days.iter().map(|day| day.1).chain([undated]).map(|count| count.min(EVIDENCE_OF_DAY)).sum()
}

fn suspicion(class: u8, kind: Kind) -> f64 {
    match class {
        b'\''
        | b'"'
        | b'<'
        | b'>'
        | b'|'
        | b';'
        | b'$'
        | b'`'
        | b'\\'
        | b'{'
        | b'}'
        | b'^'
        | b'*'
        | b'('
        | b')'
        | b'='
        | b'&'
        | 1
        | profiles::DOUBLED => SIGN,
        b'0' | b'a' | b'A' | 127 => 1.0,
        b'-' if kind == Kind::Int => SIGN,
        _ => PUNCTUATION,
    }
}

/// Factor of a number `ratio` times the largest one.
fn excess(number: u64, largest: u64) -> f64 {
    let ratio = number / largest.max(1);
    if ratio >= 16 { SIGN } else { f64::from(u8::from(ratio >= 4)) * 4.0 }
}

/// Return why a value is unusual, and how rare; None for a usual one. At most `evidence` values of the profile count.
fn judge_value(profile: &Profile, kind: Kind, value: &[u8], evidence: u64) -> Option<(Reason, f64)> {
    let total = profile.get(profiles::TOTAL);
    let evidence = total.min(evidence) as f64;
    let weight = evidence / total.max(1) as f64;
    // The share of the features in a range that are at most as frequent as one with count `count`.
    let rarity = |first: u64, end: u64, count: u64| {
        let counts = profile.range(first, end).map(|(_, other)| other);
        let sum: u64 = counts.filter(|&other| other <= count.max(1)).sum();
        (sum as f64 * weight + 1.0) / (evidence + 1.0)
    };
    let mut found: Option<(Reason, f64)> = None;
    let mut flag = |reason: Reason, rarity: f64, suspicion: f64| {
        if rarity <= RARE * suspicion && found.as_ref().is_none_or(|(_, least)| rarity < *least) {
            found = Some((reason, rarity));
        }
    };
    let mut rest = profiles::classes(value);
    while rest != 0 {
        let class = rest.trailing_zeros() as u8;
        rest &= rest - 1;
        let key = profiles::CHARACTERS + u64::from(class);
        let count = profile.get(key);
        // Fast path: most characters are frequent.
        if count as f64 * weight < RARE * SIGN * (evidence + 1.0) {
            let rarity = rarity(profiles::CHARACTERS, profiles::NUMBERS, count);
            let suspicion = if count == 0 { suspicion(class, kind) } else { 1.0 };
            flag(Reason::Character(class), rarity, suspicion);
        }
    }
    // The estimated share of values beyond the largest.
    let beyond = 1.0 / (evidence + 1.0);
    if let Some(key) = profiles::number_key(value).filter(|_| kind == Kind::Int) {
        let (first, end) = if key < profiles::NEGATIVES {
            (profiles::NUMBERS, profiles::NEGATIVES)
        } else {
            (profiles::NEGATIVES, profiles::MEMBER)
        };
        let largest = profile.range(first, end).next_back().map_or(0, |(key, _)| profiles::bin_end(key - first));
        let number = profiles::bin_start(key - first);
        flag(Reason::Number(first == profiles::NUMBERS), beyond, excess(number, largest));
    } else {
        let longest = profile.range(profiles::LENGTHS, profiles::CHARACTERS).next_back();
        let longest = longest.map_or(0, |(key, _)| profiles::bin_end(key - profiles::LENGTHS));
        let length = value.len() as u64;
        let factor = if 2 * length < 3 * longest { 0.0 } else { excess(length, longest).max(1.0) };
        flag(Reason::Length(length), beyond, factor);
        let member = profiles::member_key(values::hash(value));
        if !profile.is_open() && profile.get(member) == 0 {
            flag(Reason::Member, rarity(profiles::MEMBER, u64::MAX, 0), 1.0);
        }
    }
    found
}

/// Return the rarity of requests without a value of a variable; None if they are usual. `requests` are those of the
/// pattern, `days` their numbers on each day.
fn judge_missing(missing: &Missing, requests: u64, days: &[(i32, u64)]) -> Option<f64> {
    let rarity = |missing: u64, requests: u64| {
        let rarity = (missing + 1) as f64 / (requests + 1) as f64;
        (rarity <= RARE * if missing == 0 { NEVER } else { 1.0 }).then_some(rarity)
    };
    rarity(missing.requests, requests).or_else(|| {
        let last = missing.days.last()?.0;
        let since: u64 = days.iter().rev().take_while(|day| day.0 > last).map(|day| day.1).sum();
        let before = requests.saturating_sub(since);
        let dated: u64 = missing.days.iter().map(|day| day.1).sum();
        let changed = u128::from(missing.requests) * u128::from(since) >= EXPECTED * u128::from(before);
        rarity(0, since).filter(|_| dated == missing.requests && changed)
    })
}

impl Judge {
    /// Collect the profiles of the patterns from their rows (`rows::rows`), and keep the requests that lack values.
    pub fn new(sites: &Sites, rows: &TemplateTable, missing: Vec<Vec<Missing>>) -> Self {
        let row = |named: &super::sites::SitePattern| {
            let text = named.pattern.bytes(&named.host, true);
            rows.get(&text, crate::templates::hash(&text))
                .map_or_else(Default::default, |(_, row)| (row.profiles.clone(), row.days.clone()))
        };
        let (profiles, days) = sites.patterns.iter().map(row).unzip();
        let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
        for named in sites.patterns.iter().filter(|named| !named.pattern.method.is_empty()) {
            *counts.entry(&named.pattern.method).or_default() += named.count;
        }
        let mut methods: Vec<(u64, &[u8])> = counts.into_iter().map(|(method, count)| (count, method)).collect();
        methods.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        Self { profiles, missing, days, methods: methods.into_iter().map(|(_, method)| method.to_vec()).collect() }
    }

    /// Return the profiles of the variables of a pattern.
    pub fn profiles(&self, pattern: usize) -> &[Profile] {
        &self.profiles[pattern]
    }

    /// Return the requests of a pattern on each day, ascending by day.
    pub fn days(&self, pattern: usize) -> &[(i32, u64)] {
        &self.days[pattern]
    }

    /// Return the requests that lack each variable of a pattern.
    pub fn missing(&self, pattern: usize) -> &[Missing] {
        &self.missing[pattern]
    }

    /// Return the pattern of a request. If `any_method` is true and the request has no method, it is tried with each
    /// method of the patterns.
    fn find(&self, request: &mut Request, any_method: bool, find: impl Fn(&Request) -> Option<usize>) -> Option<usize> {
        let found = find(request);
        if found.is_some() || !any_method || !request.method.is_empty() {
            return found;
        }
        let found = self.methods.iter().find_map(|method| {
            request.method.clone_from(method);
            find(request)
        });
        request.method.clear();
        found
    }

    /// Return the number of the pattern of a template, and the sources of the values of its variables.
    pub fn find_one(&self, sites: &Sites, template: &[u8], any_method: bool) -> Option<(usize, Vec<Vec<Source>>)> {
        let (host, mut request) = request::split(template);
        let number = self.find(&mut request, any_method, |request| sites.find_request(&host, request))?;
        Some((number, rows::sources(&sites.patterns[number].pattern, &request)))
    }

    /// Return the verdict on an item of a batch, by its template and the range of its values.
    pub fn verdict(
        &self,
        sites: &Sites,
        batch: &Batch,
        (template, values): (&[u8], std::ops::Range<usize>),
        any_method: bool,
    ) -> Verdict {
        let (host, mut request) = request::split(template);
        let Some(number) = self.find(&mut request, any_method, |request| sites.find_request(&host, request)) else {
            let number = self.find(&mut request, any_method, |request| sites.find_nearest(&host, request));
            let Some(number) = number else { return Verdict::default() };
            let unusual = self.mismatches(number, &sites.patterns[number].pattern, &request);
            // A request with the right parts differs in a dispatching value: it is new.
            let pattern = (!unusual.is_empty()).then_some(number);
            return Verdict { pattern, unusual, ..Verdict::default() };
        };
        let pattern = &sites.patterns[number].pattern;
        let sources = rows::sources(pattern, &request);
        let value = |wildcard: usize| batch.value((values.start + wildcard).min(values.end - 1)).1;
        let mut unusual = Vec::new();
        let mut text = Vec::new();
        let kinds = pattern.kinds();
        let evidence = evidence(sites.patterns[number].count, &self.days[number]);
        for (variable, (sources, kind)) in sources.iter().zip(kinds).enumerate() {
            let Some(profile) = self.profiles[number].get(variable) else { continue };
            if sources.is_empty()
                && let Some(missing) = self.missing[number].get(variable)
                && let Some(rarity) = judge_missing(missing, sites.patterns[number].count, &self.days[number])
            {
                unusual.push(Unusual { variable: Some(variable), key: Vec::new(), reason: Reason::Missing, rarity });
            }
            for source in sources {
                let result = if *source == Source::Odd {
                    self.judge_odd(number, variable).map(|rarity| (Reason::Attack, rarity))
                } else {
                    text.clear();
                    rows::write_value(source, value, &mut text);
                    judge_value(profile, kind, &text, evidence)
                };
                if let Some((reason, rarity)) = result {
                    unusual.push(Unusual { variable: Some(variable), key: Vec::new(), reason, rarity });
                    break;
                }
            }
        }
        Verdict { pattern: Some(number), matches: true, unusual }
    }

    /// Return the rarity of values that look like attacks; None if they are usual.
    fn judge_odd(&self, pattern: usize, variable: usize) -> Option<f64> {
        let profile = self.profiles[pattern].get(variable)?;
        let (odd, all) = (profile.get(profiles::ODD), profile.get(profiles::TOTAL));
        let share = odd as f64 / (odd + all).max(1) as f64;
        (share < USUAL_ODD).then(|| (odd + 1) as f64 / (odd + all + 1) as f64)
    }

    /// Return the parts of a request that its nearest pattern does not accept.
    fn mismatches(&self, number: usize, pattern: &Pattern, request: &Request) -> Vec<Unusual> {
        let mut unusual = Vec::new();
        let mut variable = 0;
        let mut push = |variable: Option<usize>, key: &[u8], kind: Kind, part: &[u8]| {
            let reason = if tokens::is_marked(part) { Reason::Attack } else { Reason::Type(kind) };
            let total = variable
                .and_then(|variable| self.profiles[number].get(variable))
                .map_or(0, |profile| profile.get(profiles::TOTAL));
            let reason = if variable.is_none() { Reason::Parameter } else { reason };
            let rarity = 1.0 / (total + 1) as f64;
            unusual.push(Unusual { variable, key: key.to_vec(), reason, rarity });
        };
        for (slot, part) in pattern.path.iter().zip(&request.path) {
            let kind = tokens::wildcards(slot).next().map(|(_, kind)| kind);
            if let Some(kind) = kind.filter(|&kind| kind != Kind::Tail && !tokens::fits(slot, part)) {
                push(Some(variable), b"", kind, part);
            }
            variable += tokens::wildcards(slot).count();
        }
        let mut variables: HashMap<&[u8], (&Parameter, usize)> = HashMap::new();
        for parameter in &pattern.parameters {
            variable += tokens::wildcards(&parameter.key).count();
            variables.insert(&parameter.key, (parameter, variable));
            variable += usize::from(parameter.literal.is_none() && parameter.kind.is_some());
        }
        for (key, value) in &request.parameters {
            match (variables.get(key.as_slice()), value.as_deref()) {
                (None, _) => push(None, key, Kind::Text, b""),
                (Some((parameter, variable)), Some(value)) if parameter.literal.is_none() && !value.is_empty() => {
                    match parameter.kind {
                        None => push(None, key, Kind::Text, b""),
                        Some(kind) if !tokens::value_fits(kind, value) => push(Some(*variable), b"", kind, value),
                        Some(_) => (),
                    }
                }
                _ => (),
            }
        }
        unusual
    }
}

impl Unusual {
    /// Return the reason as a text; `profile` is that of the variable.
    pub fn describe(&self, profile: Option<&Profile>) -> String {
        match &self.reason {
            Reason::Parameter => "the pattern has no such parameter".to_owned(),
            Reason::Attack => "it looks like an attack".to_owned(),
            Reason::Type(kind) => format!("it is not {{{}}}", kind.name()),
            Reason::Character(class) => {
                let usual = profile.map_or_else(String::new, usual_characters);
                let name = match *class {
                    b' ' => "blanks".to_owned(),
                    1 => "control characters".to_owned(),
                    127 => "characters beyond ASCII".to_owned(),
                    profiles::DOUBLED => "a sign twice in a row".to_owned(),
                    class => class_name(class),
                };
                format!("it has {name}; usual are {usual}")
            }
            Reason::Length(length) => {
                let (least, most) = profile.map_or((0, 0), usual_lengths);
                format!("it has {length} bytes; usual are {least} to {most}")
            }
            Reason::Number(true) => "it is larger than usual".to_owned(),
            Reason::Number(false) => "it is negative".to_owned(),
            Reason::Missing => "it is missing or empty".to_owned(),
            Reason::Member => {
                let members = profile.map_or(0, |profile| profile.range(profiles::MEMBER, u64::MAX).count());
                format!("it is none of the {members} usual values")
            }
        }
    }
}

/// Return the name of a class of characters.
fn class_name(class: u8) -> String {
    match class {
        b'0' => "0-9".to_owned(),
        b'a' => "a-z".to_owned(),
        b'A' => "A-Z".to_owned(),
        b' ' => "blank".to_owned(),
        1 => "control".to_owned(),
        profiles::DOUBLED => "doubled".to_owned(),
        127 => "other".to_owned(),
        class => char::from(class).to_string(),
    }
}

/// Return the characters of a profile that are not rare.
pub fn usual_characters(profile: &Profile) -> String {
    let total = profile.get(profiles::TOTAL);
    let keys = profile.range(profiles::CHARACTERS, profiles::NUMBERS);
    let usual = keys.filter(|&(_, count)| count as f64 > RARE * total as f64);
    usual.map(|(key, _)| class_name((key - profiles::CHARACTERS) as u8)).collect::<Vec<_>>().join(" ")
}

/// Return the least and largest length of a profile; bins widen lengths of more than 16.
pub fn usual_lengths(profile: &Profile) -> (u64, u64) {
    let mut bins = profile.range(profiles::LENGTHS, profiles::CHARACTERS).map(|(key, _)| key - profiles::LENGTHS);
    let least = bins.next();
    let most = bins.next_back().or(least);
    (least.map_or(0, profiles::bin_start), most.map_or(0, profiles::bin_end))
}

/// Return the least and largest whole number of a profile; bins widen numbers of more than 16.
pub fn usual_numbers(profile: &Profile) -> Option<(i64, i64)> {
    let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let mut bins: Vec<(i64, i64)> = Vec::new();
    for (key, _) in profile.range(profiles::NUMBERS, profiles::NEGATIVES) {
        let bin = key - profiles::NUMBERS;
        bins.push((signed(profiles::bin_start(bin)), signed(profiles::bin_end(bin))));
    }
    for (key, _) in profile.range(profiles::NEGATIVES, profiles::MEMBER) {
        let bin = key - profiles::NEGATIVES;
        bins.push((-signed(profiles::bin_end(bin)), -signed(profiles::bin_start(bin))));
    }
    Some((bins.iter().map(|bin| bin.0).min()?, bins.iter().map(|bin| bin.1).max()?))
}
