//! Parameters of a path: the dispatching ones, and the value types of the others.
//!
//! A parameter dispatches if it has few values and the remaining parameters depend on its value. Let `n_v` be the
//! number of requests with value v, `p_v` the share of them with parameter j, and p the share of j among all requests.
//! The evidence against independence is
//! ```text
//! G_j = Σ_v n_v·(p_v·ln(p_v/p) + (1 − p_v)·ln((1 − p_v)/(1 − p)))        (the likelihood ratio of Wilks 1938)
//! ```
//! In addition the values must decide: for most of them j is always or never present. Each value then has a pattern of
//! its own, and its requests are tested again for further dispatchers. Names such as `action`, `route`, `m` and `c`
//! need less evidence, see [`DISPATCHERS`]. With K keys of a request, at most [`PARAMETERS`], the test of all keys takes
//! O(requests · K²) at most: each key is compared with those of its own requests.
//!
//! The type of any other parameter is the narrowest one that covers the types of its values. Rare types do not widen
//! it: numbers, hashes and dates with a few words among them keep their type, and odd values never widen it.

use std::collections::BTreeMap;

use super::request::Request;
use super::scan::PARAMETERS;
use super::tokens;
use crate::kinds::{self, Kind};

/// Maximum number of values of a dispatching parameter.
const MAX_VALUES: usize = 64;
/// Minimum likelihood ratio in nats of a dependent parameter; the second value is for names that usually dispatch.
const SURPRISE: (f64, f64) = (12.0, 6.0);

/// Names of parameters that usually dispatch.
const DISPATCHERS: &str = " a ac act action c cmd com command controller ctl ctrl do event f func function handler layout m mod mode \
 module method op opt option p page_id r req request route rpc s section service svc t target task tab_action todo view what ";

/// Return true if parameters of this name usually dispatch.
pub fn is_dispatcher(key: &[u8]) -> bool {
    let lower = key.to_ascii_lowercase();
    let ends = [&b"action"[..], b"method", b"route"];
    // Keys with wildcards are not ASCII.
    key.is_ascii() && (kinds::is_listed(&lower, DISPATCHERS) || ends.iter().any(|end| lower.ends_with(end)))
}

/// A parameter of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The key, as in templates.
    pub key: Vec<u8>,
    /// The constant value of a dispatching parameter.
    pub literal: Option<Vec<u8>>,
    /// The type of the values; None for a key without values.
    pub kind: Option<Kind>,
    /// True if some requests lack it.
    pub optional: bool,
    /// True if some requests have it more than once.
    pub repeated: bool,
}

/// The decision tree of the parameters of one path.
#[derive(Debug)]
pub enum Query {
    /// No further dispatch: the number of the pattern.
    Leaf(usize),
    /// The value of `key` decides; `absent` is for requests without it.
    Dispatch {
        /// The key.
        key: Vec<u8>,
        /// The subtree of each value.
        values: BTreeMap<Vec<u8>, Query>,
        /// The subtree of requests without the key.
        absent: Option<Box<Query>>,
    },
}

/// A key, or a key with one of its values.
type Feature<'a> = (&'a [u8], Option<&'a [u8]>);
/// The position of a request that has a key, and the first value of the key if any.
type Used<'a> = (usize, Option<&'a [u8]>);

/// What the requests of a path have in their parameters, for a test of each key in time linear in its uses.
struct Uses<'a> {
    /// The requests that have each key.
    by_key: BTreeMap<&'a [u8], Vec<Used<'a>>>,
    /// What may depend on a key, ascending: each key, and the values of keys that usually dispatch.
    features: Vec<Feature<'a>>,
    /// The numbers of the features of each request.
    by_request: Vec<Vec<usize>>,
    /// For each feature the number of requests by value of the tested key; empty between tests.
    with: Vec<Vec<u64>>,
}

impl<'a> Uses<'a> {
    fn new(requests: &[&'a Request]) -> Self {
        let mut by_key: BTreeMap<&[u8], Vec<Used<'_>>> = BTreeMap::new();
        for (position, request) in requests.iter().enumerate() {
            for (key, value) in &request.parameters {
                let uses = by_key.entry(key).or_default();
                if uses.last().is_none_or(|last| last.0 != position) {
                    uses.push((position, value.as_deref()));
                }
            }
        }
        let (mut features, mut by_request) = (Vec::new(), vec![Vec::new(); requests.len()]);
        let mut add = |feature: Feature<'a>, positions: &mut dyn Iterator<Item = usize>| {
            positions.for_each(|position| by_request[position].push(features.len()));
            features.push(feature);
        };
        for (&key, uses) in by_key.iter().filter(|(key, _)| !tokens::is_marked(key)) {
            add((key, None), &mut uses.iter().map(|used| used.0));
            let mut values: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
            for &(position, value) in uses.iter().filter(|_| is_dispatcher(key)) {
                if let Some(value) = value.filter(|value| tokens::is_literal(value)) {
                    values.entry(value).or_default().push(position);
                }
            }
            // More values show that the key does not dispatch.
            for (value, positions) in values.iter().filter(|_| values.len() <= MAX_VALUES) {
                add((key, Some(value)), &mut positions.iter().copied());
            }
        }
        let with = vec![Vec::new(); features.len()];
        Self { by_key, features, by_request, with }
    }
}

/// Return the key that dispatches the requests; None if there is none.
pub fn dispatcher(requests: &[&Request], fixed: &[(Vec<u8>, Vec<u8>)], path_is_script: bool) -> Option<Vec<u8>> {
    let mut uses = Uses::new(requests);
    let keys: Vec<&[u8]> = uses.by_key.keys().copied().collect();
    let declared = requests.iter().all(|request| request.declared);
    let mut best: Option<(f64, &[u8])> = None;
    for key in keys {
        if tokens::is_literal(key)
            && fixed.iter().all(|(name, _)| name != key)
            && let Some(surprise) = surprise(requests, &mut uses, key, (path_is_script, fixed.is_empty(), declared))
            && best.is_none_or(|(highest, _)| surprise > highest)
        {
            best = Some((surprise, key));
        }
    }
    best.map(|(_, key)| key.to_vec())
}

/// Return the evidence that `key` dispatches; None if it does not.
fn surprise(
    requests: &[&Request],
    uses: &mut Uses<'_>,
    key: &[u8],
    (path_is_script, first, declared): (bool, bool, bool),
) -> Option<f64> {
    let named = is_dispatcher(key);
    let mut values: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    let (mut present, mut other) = (0, 0);
    for &(position, value) in &uses.by_key[key] {
        match value {
            Some(value) if tokens::is_literal(value) && !value.is_empty() => {
                values.entry(value).or_default().push(position);
                present += requests[position].count;
            }
            Some(value) if tokens::is_marked(value) => (),
            _ => other += requests[position].count,
        }
    }
    let count = |group: &[usize]| group.iter().map(|&position| requests[position].count).sum::<u64>();
    let min_count = if declared { 1 } else { 2 };
    let rare: u64 = values.values().map(|group| count(group)).filter(|&count| count < min_count).sum();
    values.retain(|_, group| count(group) >= min_count);
    if other * 20 > present || rare * 10 > present || !(min_count as usize..=MAX_VALUES).contains(&values.len()) {
        return None;
    }
    if declared {
        return Some(if named { 2.0 } else { 1.0 } * values.len() as f64);
    }
    // A few requests per value are not evidence.
    if present < 3 * values.len() as u64 {
        return None;
    }
    let counts: Vec<u64> = values.values().map(|group| count(group)).collect();
    let mut touched = Vec::new();
    for (value, group) in values.values().enumerate() {
        for &position in group {
            for &feature in &uses.by_request[position] {
                let with = &mut uses.with[feature];
                if with.is_empty() {
                    with.resize(counts.len(), 0);
                    touched.push(feature);
                }
                with[value] += requests[position].count;
            }
        }
    }
    touched.sort_unstable();
    let mut sum = 0.0;
    for feature in touched {
        let with = std::mem::take(&mut uses.with[feature]);
        let (follower, literal) = uses.features[feature];
        let result = ratio(&with, &counts);
        let decided =
            with.iter().zip(&counts).filter(|&(&with, &count)| with * 50 <= count || with * 10 >= 9 * count).count();
        if follower != key
            && (named || literal.is_none())
            && decided * 5 >= counts.len() * 4
            && result >= if named { SURPRISE.1 } else { SURPRISE.0 }
        {
            sum += result;
        }
    }
    // A front controller dispatches by its name alone if each value is common.
    if sum == 0.0 && named && path_is_script && (key.len() > 1 || !first) && counts.iter().all(|&count| count >= 3) {
        return Some(0.5);
    }
    (sum > 0.0).then_some(sum)
}

/// Return the likelihood ratio of one share per value against one share for all.
fn ratio(with: &[u64], counts: &[u64]) -> f64 {
    let (all, of) = (with.iter().sum::<u64>() as f64, counts.iter().sum::<u64>() as f64);
    let term = |part: f64, whole: f64, share: f64| if part == 0.0 { 0.0 } else { part * (part / whole / share).ln() };
    with.iter()
        .zip(counts)
        .map(|(&with, &count)| {
            let (with, count) = (with as f64, count as f64);
            term(with, count, all / of) + term(count - with, count, 1.0 - all / of)
        })
        .sum()
}

/// Statistics of a key in the requests of one pattern.
#[derive(Default)]
struct Statistics<'a> {
    count: u64,
    repeated: bool,
    kinds: BTreeMap<Kind, u64>,
    odd: u64,
    /// The first value of all requests, if it is the same.
    value: Option<&'a [u8]>,
}

fn statistics<'a>(requests: &[&'a Request]) -> BTreeMap<&'a [u8], Statistics<'a>> {
    let mut keys: BTreeMap<&[u8], Statistics<'_>> = BTreeMap::new();
    for request in requests {
        let mut last: Option<&[u8]> = None;
        for (key, value) in request.parameters.iter().filter(|(key, _)| !tokens::is_marked(key)) {
            let result = keys.entry(key).or_default();
            if last == Some(key) {
                result.repeated = true;
            } else {
                result.value = value.as_deref().filter(|value| result.count == 0 || result.value == Some(value));
                result.count += request.count;
            }
            last = Some(key);
            match value.as_deref() {
                None | Some(b"") => (),
                Some(value) if tokens::is_marked(value) => result.odd += request.count,
                Some(value) => *result.kinds.entry(tokens::kind_of(value)).or_default() += request.count,
            }
        }
    }
    keys
}

/// Return the parameters of the requests of one pattern: the most frequent ones, at most [`PARAMETERS`]. Besides the
/// dispatching ones, those with a dispatching name have a literal if their value is the same in all requests.
pub fn parameters(requests: &[&Request], fixed: &[(Vec<u8>, Vec<u8>)]) -> Vec<Parameter> {
    let total: u64 = requests.iter().map(|request| request.count).sum();
    let mut result: Vec<(u64, Parameter)> = statistics(requests)
        .into_iter()
        .filter_map(|(key, Statistics { count, repeated, kinds, odd, value })| {
            let value = value.filter(|value| count == total && tokens::is_literal(value) && !value.is_empty());
            let companion = value.filter(|_| !fixed.is_empty() && is_dispatcher(key));
            let dispatching = fixed.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_slice());
            let literal = dispatching.or(companion).map(<[u8]>::to_vec);
            let ordinary: u64 = kinds.values().sum();
            // A key that occurs in attacks only is not a parameter, unless most requests have it.
            if ordinary == 0 && odd > 0 && 2 * odd < total {
                return None;
            }
            let frequent = count >= 2 && count * 2000 >= total || count * 100 >= total;
            let kind = join_value_kinds(&kinds, ordinary, odd);
            (literal.is_some() || frequent)
                .then(|| (count, Parameter { key: key.to_vec(), kind, literal, optional: count < total, repeated }))
        })
        .collect();
    result.sort_by_key(|(count, parameter)| (parameter.literal.is_none(), std::cmp::Reverse(*count)));
    result.truncate(PARAMETERS);
    result.sort_by(|(_, a), (_, b)| a.key.cmp(&b.key));
    result.into_iter().map(|(_, parameter)| parameter).collect()
}

/// Return the type of the values of a parameter: the narrowest one that covers the common types.
fn join_value_kinds(kinds: &BTreeMap<Kind, u64>, ordinary: u64, odd: u64) -> Option<Kind> {
    if odd > 9 * ordinary {
        return Some(Kind::Text);
    }
    let textual = |kind: Kind| (kind.is_textual() && kind != Kind::Tail) || kind == Kind::Host;
    let words: u64 = kinds.iter().filter(|(kind, _)| textual(**kind)).map(|(_, count)| count).sum();
    // Some attacks look like ordinary values.
    let attacked = 20 * odd > ordinary + odd;
    let precise = words * if attacked { 2 } else { 10 } < ordinary;
    let min_count = if attacked { 10 } else { 100 };
    kinds
        .iter()
        .map(|(&kind, &count)| (kind, count))
        .filter(|&(kind, count)| {
            let common = count * min_count >= ordinary;
            if precise { !textual(kind) && common } else { common }
        })
        .map(|(kind, _)| kind)
        .reduce(join)
}

/// Return the narrowest type that accepts both.
pub fn join(a: Kind, b: Kind) -> Kind {
    if tokens::takes(a, b) {
        a
    } else if tokens::takes(b, a) {
        b
    } else {
        a.join(b)
    }
}

/// Return the parameter of a key.
pub fn find<'a>(parameters: &'a [Parameter], key: &[u8]) -> Option<&'a Parameter> {
    parameters.binary_search_by(|parameter| parameter.key.as_slice().cmp(key)).ok().map(|at| &parameters[at])
}

/// Return true if a pattern with these parameters accepts the parameters of a request.
pub fn accepts(parameters: &[Parameter], query: &[(Vec<u8>, Option<Vec<u8>>)]) -> bool {
    query.iter().all(|(key, value)| {
        let Some(parameter) = find(parameters, key) else { return false };
        match (value.as_deref(), &parameter.literal) {
            (value, Some(literal)) => value == Some(literal),
            (None | Some(b""), None) => true,
            (Some(value), None) => parameter.kind.is_some_and(|kind| tokens::value_fits(kind, value)),
        }
    })
}
