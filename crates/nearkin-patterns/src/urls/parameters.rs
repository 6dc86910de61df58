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
//! need less evidence, see [`DISPATCHERS`].
//!
//! The type of any other parameter is the narrowest one that covers the types of its values. Rare types do not widen
//! it: numbers, hashes and dates with a few words among them keep their type, and odd values never widen it.

use std::collections::{BTreeMap, BTreeSet};

use super::request::Request;
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

/// How a request uses a key.
enum KeyUse<'a> {
    Absent,
    /// The key without a value.
    Key,
    Value(&'a [u8]),
}

fn lookup<'a>(request: &'a Request, key: &[u8]) -> KeyUse<'a> {
    match request.parameters.iter().find(|parameter| parameter.0 == key) {
        None => KeyUse::Absent,
        Some((_, None)) => KeyUse::Key,
        Some((_, Some(value))) => KeyUse::Value(value),
    }
}

/// Return the key that dispatches the requests; None if there is none.
pub fn dispatcher(requests: &[&Request], fixed: &[(Vec<u8>, Vec<u8>)], path_is_script: bool) -> Option<Vec<u8>> {
    let keys: BTreeSet<&[u8]> = requests
        .iter()
        .flat_map(|request| request.parameters.iter().filter(|parameter| parameter.1.is_some()))
        .map(|parameter| parameter.0.as_slice())
        .filter(|key| tokens::is_literal(key) && fixed.iter().all(|(name, _)| name != key))
        .collect();
    let mut best: Option<(f64, &[u8])> = None;
    for key in keys {
        if let Some(surprise) = surprise(requests, key, path_is_script, fixed.is_empty())
            && best.is_none_or(|(highest, _)| surprise > highest)
        {
            best = Some((surprise, key));
        }
    }
    best.map(|(_, key)| key.to_vec())
}

/// Return the evidence that `key` dispatches; None if it does not.
fn surprise(requests: &[&Request], key: &[u8], path_is_script: bool, first: bool) -> Option<f64> {
    let named = is_dispatcher(key);
    let mut values: BTreeMap<&[u8], Vec<&Request>> = BTreeMap::new();
    let (mut present, mut other) = (0, 0);
    for &request in requests {
        match lookup(request, key) {
            KeyUse::Value(value) if tokens::is_literal(value) && !value.is_empty() => {
                values.entry(value).or_default().push(request);
                present += request.count;
            }
            KeyUse::Value(value) if tokens::is_marked(value) => (),
            KeyUse::Value(_) | KeyUse::Key => other += request.count,
            KeyUse::Absent => (),
        }
    }
    let count = |group: &[&Request]| group.iter().map(|request| request.count).sum::<u64>();
    let declared = requests.iter().all(|request| request.declared);
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
    let mut sum = 0.0;
    for (follower, literal) in followers(requests, key, named) {
        let with: Vec<u64> = values
            .values()
            .map(|group| {
                group
                    .iter()
                    .filter(|request| match (lookup(request, follower), literal) {
                        (KeyUse::Value(value), Some(expected)) => value == expected,
                        (KeyUse::Value(_) | KeyUse::Key, None) => true,
                        _ => false,
                    })
                    .map(|request| request.count)
                    .sum()
            })
            .collect();
        let result = ratio(&with, &counts);
        let decided =
            with.iter().zip(&counts).filter(|&(&with, &count)| with * 50 <= count || with * 10 >= 9 * count).count();
        if decided * 5 >= counts.len() * 4 && result >= if named { SURPRISE.1 } else { SURPRISE.0 } {
            sum += result;
        }
    }
    // A front controller dispatches by its name alone if each value is common.
    if sum == 0.0 && named && path_is_script && (key.len() > 1 || !first) && counts.iter().all(|&count| count >= 3) {
        return Some(0.5);
    }
    (sum > 0.0).then_some(sum)
}

/// Return the other keys that may depend on `key`; if `key` usually dispatches, also the values of other dispatchers.
fn followers<'a>(requests: &[&'a Request], key: &[u8], named: bool) -> BTreeSet<(&'a [u8], Option<&'a [u8]>)> {
    let mut result = BTreeSet::new();
    let mut values: BTreeMap<&[u8], BTreeSet<&[u8]>> = BTreeMap::new();
    for request in requests {
        for (other, value) in request.parameters.iter().filter(|(other, _)| other != key && !tokens::is_marked(other)) {
            result.insert((other.as_slice(), None));
            if named
                && is_dispatcher(other)
                && let Some(value) = value.as_deref().filter(|value| tokens::is_literal(value))
            {
                let values = values.entry(other).or_default();
                // One value above the limit shows that the key does not dispatch.
                if values.len() <= MAX_VALUES {
                    values.insert(value);
                }
            }
        }
    }
    for (other, values) in values.into_iter().filter(|(_, values)| values.len() <= MAX_VALUES) {
        result.extend(values.into_iter().map(|value| (other, Some(value))));
    }
    result
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
struct Uses {
    count: u64,
    repeated: bool,
    kinds: BTreeMap<Kind, u64>,
    odd: u64,
}

fn uses<'a>(requests: &[&'a Request]) -> BTreeMap<&'a [u8], Uses> {
    let mut keys: BTreeMap<&[u8], Uses> = BTreeMap::new();
    for request in requests {
        let mut last: Option<&[u8]> = None;
        for (key, value) in request.parameters.iter().filter(|(key, _)| !tokens::is_marked(key)) {
            let result = keys.entry(key).or_default();
            if last == Some(key) {
                result.repeated = true;
            } else {
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

/// Return the parameters of the requests of one pattern.
pub fn parameters(requests: &[&Request], fixed: &[(Vec<u8>, Vec<u8>)]) -> Vec<Parameter> {
    let total: u64 = requests.iter().map(|request| request.count).sum();
    let fixed = &with_companions(requests, fixed);
    uses(requests)
        .into_iter()
        .filter_map(|(key, Uses { count, repeated, kinds, odd })| {
            let literal = fixed.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
            let ordinary: u64 = kinds.values().sum();
            // A key that occurs in attacks only is not a parameter, unless most requests have it.
            if ordinary == 0 && odd > 0 && 2 * odd < total {
                return None;
            }
            let frequent = count >= 2 && count * 2000 >= total || count * 100 >= total;
            (literal.is_some() || frequent).then(|| Parameter {
                key: key.to_vec(),
                kind: join_value_kinds(&kinds, ordinary, odd),
                literal,
                optional: count < total,
                repeated,
            })
        })
        .collect()
}

/// Return the dispatching parameters, and those with a dispatching name that have a constant value in these requests.
fn with_companions(requests: &[&Request], fixed: &[(Vec<u8>, Vec<u8>)]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = fixed.to_vec();
    let Some(first) = requests.first().filter(|_| !fixed.is_empty()) else { return all };
    for (key, value) in &first.parameters {
        if let Some(value) = value
            && is_dispatcher(key)
            && tokens::is_literal(value)
            && !value.is_empty()
            && fixed.iter().all(|(name, _)| name != key)
            && requests
                .iter()
                .all(|request| matches!(lookup(request, key), KeyUse::Value(result) if result == value.as_slice()))
        {
            all.push((key.clone(), value.clone()));
        }
    }
    all
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

/// Return true if a pattern with these parameters accepts the parameters of a request.
pub fn accepts(parameters: &[Parameter], query: &[(Vec<u8>, Option<Vec<u8>>)]) -> bool {
    query.iter().all(|(key, value)| {
        let Ok(position) = parameters.binary_search_by(|parameter| parameter.key.as_slice().cmp(key)) else {
            return false;
        };
        let parameter = &parameters[position];
        match (value.as_deref(), &parameter.literal) {
            (value, Some(literal)) => value == Some(literal),
            (None | Some(b""), None) => true,
            (Some(value), None) => parameter.kind.is_some_and(|kind| tokens::value_fits(kind, value)),
        }
    })
}
