//! Groups of templates: near-identical attacks.
//!
//! **Features** of a template are weighted: each of its tokens (words and `alert()` 1, types and `null` 0.3, symbols
//! 0.15), and each pair of consecutive words, including the start and the end (1). In pairs, a word before a bracket
//! (a call) differs from the plain word. All event attributes (`onload`) count as one word. The *similarity* of two
//! templates is the weighted Jaccard similarity of their features,
//! ```text
//! J(A, B) = w(A ∩ B) / w(A ∪ B)
//! ```
//! so an additional symbol or value hardly counts, and a different word counts three times: itself and its two pairs.
//!
//! **Groups** are built by keep-then-absorb. Templates are visited from the shortest (by tokens, then by text). A
//! template that reaches the threshold with a centroid joins the most similar one (ties by order); otherwise it
//! becomes a centroid. There are no chains: every other template is similar to its centroid. Candidates come from
//! MinHash over the features of weight 1, [`VALUES`] values in bands of [`ROWS`]: P[missed] = (1 − J²)^64, below 10^-4
//! from J = 0.37 (of those features). The [`MAX_CANDIDATES`] candidates with the most common bands are compared.
//!
//! Before that, templates that differ in one word are joined if [`WORDS`] or more words occur at that position with
//! the same context of at least [`REST`] words. They are found by the hash of the template without the word, and they
//! join the group of the first template of their set.
//!
//! The result is a function of the set of templates: counts, order and batches do not affect it.

use std::collections::HashMap;

use crate::templates;
use nearkin_core::cancel::CancelToken;
use nearkin_core::families::minhash::{MinHash, Scheme, Sketch};
use nearkin_core::hash::{NumberState, xxh3};
use nearkin_core::{Error, Result, alloc};

use super::tokens::{ALERT, Symbol, Tokens, WORD, is_wordish, keywords, written};

/// Number of values of a signature.
pub const VALUES: usize = 128;
/// Number of values of a band.
pub const ROWS: usize = 2;
/// Maximum number of centroids that a template is compared with.
pub const MAX_CANDIDATES: usize = 256;
/// Number of wildcards that the text of a template omits: layers, head and tail.
pub const HIDDEN: usize = 3;
/// Marks a word before a bracket: `sleep(5)` of SQL is not `sleep 5` of a shell.
const CALL: Symbol = 1 << 15;
/// Words before a bracket that are not calls.
const KEYWORDS: [&str; 22] = [
    "all", "and", "as", "by", "case", "distinct", "else", "exists", "from", "having", "in", "into", "like", "not",
    "on", "or", "select", "then", "union", "values", "when", "where",
];

fn is_keyword(symbol: Symbol) -> bool {
    symbol >= WORD && symbol != EVENT && KEYWORDS.contains(&written(symbol))
}

/// Minimum number of words at a position, in the same context, that make it a variable.
pub const WORDS: usize = 3;
/// Minimum number of words of such a context.
pub const REST: usize = 3;
/// The symbol of all event attributes, such as `onload` and `onerror`.
const EVENT: Symbol = CALL - 1;
/// Start and end of the words of a template; also replaces a masked word.
const END: Symbol = Symbol::MAX;

/// Return the text of a template: types in braces, without the hidden wildcards.
///
/// # Errors
/// The bytes are not a template of a payload.
pub fn template_text(template: &[u8]) -> Result<Vec<u8>> {
    let damaged = || Error::Corrupt {
        place: "the table of templates".to_owned(),
        reason: "not a template of a payload".to_owned(),
    };
    let rest =
        template.get(2 * HIDDEN..).filter(|rest| templates::wildcard_kinds(rest).is_some()).ok_or_else(damaged)?;
    Ok(templates::to_text(rest))
}

/// Features of a template, ascending by hash, with their weights.
#[derive(Clone, Debug, Default)]
struct Features {
    all: Vec<(u64, f32)>,
    weight: f32,
    tokens: usize,
    /// For each word the hash of the template with that word masked.
    wildcards: Vec<u64>,
}

fn weight(symbol: Symbol) -> f32 {
    let value = symbol == keywords().null;
    if (symbol >= WORD && !value) || symbol == ALERT {
        1.0
    } else if is_wordish(symbol) {
        0.3
    } else {
        0.15
    }
}

/// Return the symbol, or [`EVENT`] for an event attribute.
fn fold_event(symbol: Symbol) -> Symbol {
    let event = symbol >= WORD && written(symbol).len() > 4 && written(symbol).starts_with("on");
    if event { EVENT } else { symbol }
}

fn feature(left: Symbol, right: Symbol) -> u64 {
    xxh3::hash(&[left.to_le_bytes(), right.to_le_bytes()].concat(), 0)
}

/// Return the hashes of a template with each of its words masked in turn.
fn wildcards(symbols: &[Symbol]) -> Vec<u64> {
    let mut bytes: Vec<u8> = symbols.iter().flat_map(|symbol| symbol.to_le_bytes()).collect();
    let mut result = Vec::new();
    for (position, &symbol) in symbols.iter().enumerate().filter(|&(_, &symbol)| weight(symbol) == 1.0) {
        bytes[2 * position..2 * position + 2].copy_from_slice(&END.to_le_bytes());
        result.push(xxh3::hash(&bytes, 0));
        bytes[2 * position..2 * position + 2].copy_from_slice(&symbol.to_le_bytes());
    }
    result
}

impl Features {
    fn new(text: &[u8], tokens: &mut Tokens) -> Self {
        tokens.read(text);
        let symbols: Vec<Symbol> = tokens.all.iter().map(|token| fold_event(token.symbol)).collect();
        let mut words: Vec<Symbol> = vec![END];
        for (position, &symbol) in symbols.iter().enumerate().filter(|&(_, &symbol)| weight(symbol) == 1.0) {
            let called = symbols.get(position + 1) == Some(&Symbol::from(b'(')) && !is_keyword(symbol);
            words.push(if called { symbol | CALL } else { symbol });
        }
        let mut all: Vec<(u64, f32)> = symbols.iter().map(|&symbol| (feature(symbol, 0), weight(symbol))).collect();
        if words.len() > 1 {
            words.push(END);
            all.extend(words.windows(2).map(|pair| (feature(pair[0], pair[1]), 1.0)));
        }
        all.sort_unstable_by_key(|&(hash, _)| hash);
        all.dedup_by_key(|&mut (hash, _)| hash);
        let weight = all.iter().map(|&(_, weight)| weight).sum();
        let wildcards = if words.len() >= REST + 3 { wildcards(&symbols) } else { Vec::new() };
        Self { all, weight, tokens: symbols.len(), wildcards }
    }

    /// Collect the hashes of the features of weight 1, or of all features if there are none.
    fn heavy(&self, hashes: &mut Vec<u64>) {
        hashes.clear();
        hashes.extend(self.all.iter().filter(|&&(_, weight)| weight == 1.0).map(|&(hash, _)| hash));
        if hashes.is_empty() {
            hashes.extend(self.all.iter().map(|&(hash, _)| hash));
        }
    }

    /// Return the weighted Jaccard similarity; 0 for two empty sets.
    fn similarity(&self, other: &Self) -> f64 {
        let (mut i, mut j, mut common) = (0, 0, 0.0_f32);
        while let (Some(a), Some(b)) = (self.all.get(i), other.all.get(j)) {
            if a.0 == b.0 {
                common += a.1;
            }
            i += usize::from(a.0 <= b.0);
            j += usize::from(b.0 <= a.0);
        }
        let union = self.weight + other.weight - common;
        if union > 0.0 { f64::from(common / union) } else { 0.0 }
    }
}

/// Return the similarity of two templates by their texts.
pub fn similarity(left: &[u8], right: &[u8]) -> f64 {
    let mut tokens = Tokens::default();
    Features::new(left, &mut tokens).similarity(&Features::new(right, &mut tokens))
}

/// Working memory of a search.
#[derive(Default)]
pub struct Probe {
    tokens: Tokens,
    sketch: Sketch,
    hashes: Vec<u64>,
    signature: Vec<u32>,
    /// Number of bands that the current template shares with each centroid.
    shared: Vec<u8>,
}

/// An index of centroids by the bands of their signatures.
struct CentroidIndex {
    family: MinHash,
    buckets: HashMap<u64, Vec<u32>, NumberState>,
}

impl CentroidIndex {
    fn new() -> Result<Self> {
        Ok(Self { family: MinHash::new(VALUES, Scheme::One)?, buckets: HashMap::default() })
    }

    /// Return the keys of a template's bands.
    fn keys(&self, features: &Features, probe: &mut Probe) -> Vec<u64> {
        features.heavy(&mut probe.hashes);
        probe.signature.resize(VALUES, 0);
        self.family.hashes(&probe.hashes, &mut probe.sketch, &mut probe.signature);
        let band = |(position, values): (usize, &[u32])| {
            let mut bytes = [0; 4 * ROWS];
            bytes.chunks_exact_mut(4).zip(values).for_each(|(out, value)| out.copy_from_slice(&value.to_le_bytes()));
            xxh3::hash(&bytes, position as u64)
        };
        probe.signature.chunks_exact(ROWS).enumerate().map(band).collect()
    }

    /// Return the centroids that share bands: most common bands first, ties by order.
    fn propose(&self, keys: &[u64], rank: &[u32], shared: &mut Vec<u8>) -> Vec<u32> {
        shared.resize(rank.len(), 0);
        let mut result = Vec::new();
        for key in keys {
            for &centroid in self.buckets.get(key).into_iter().flatten() {
                if shared[centroid as usize] == 0 {
                    result.push(centroid);
                }
                shared[centroid as usize] += 1;
            }
        }
        result.sort_unstable_by_key(|&centroid| (u8::MAX - shared[centroid as usize], rank[centroid as usize]));
        for &centroid in &result {
            shared[centroid as usize] = 0;
        }
        result.truncate(MAX_CANDIDATES);
        result
    }

    /// Return the most similar candidate that reaches the threshold, ties by order.
    fn best(
        &self,
        keys: &[u64],
        features: &Features,
        (indexed, rank): (&[Features], &[u32]),
        threshold: f64,
        probe: &mut Probe,
    ) -> Option<u32> {
        let mut best: (f64, Option<u32>) = (threshold, None);
        for centroid in self.propose(keys, rank, &mut probe.shared) {
            let similarity = features.similarity(&indexed[centroid as usize]);
            let earlier = best.1.is_none_or(|other| rank[centroid as usize] < rank[other as usize]);
            if similarity > best.0 || (similarity == best.0 && earlier) {
                best = (similarity, Some(centroid));
            }
        }
        best.1
    }

    fn add(&mut self, keys: Vec<u64>, template: u32) {
        for key in keys {
            self.buckets.entry(key).or_default().push(template);
        }
    }
}

/// Join templates that differ in one word if at least [`WORDS`] words occur in the same context; return the first
/// template of each set.
fn join_by_word(features: &[Features], order: &[u32], rank: &[u32], pinned: &[bool]) -> Result<Vec<u32>> {
    let mut sets: HashMap<u64, Vec<u32>> = HashMap::new();
    for &template in order.iter().filter(|&&template| !pinned[template as usize]) {
        for &wildcard in &features[template as usize].wildcards {
            sets.entry(wildcard).or_default().push(template);
        }
    }
    let mut parents: Vec<u32> = alloc::try_collect(0..features.len() as u32)?;
    let root = |parents: &[u32], mut template: u32| {
        while parents[template as usize] != template {
            template = parents[template as usize];
        }
        template
    };
    for set in sets.values().filter(|set| set.len() >= WORDS) {
        for pair in set.windows(2) {
            let (left, right) = (root(&parents, pair[0]), root(&parents, pair[1]));
            let (first, second) =
                if rank[left as usize] <= rank[right as usize] { (left, right) } else { (right, left) };
            parents[second as usize] = first;
        }
    }
    for template in 0..parents.len() as u32 {
        parents[template as usize] = root(&parents, template);
    }
    Ok(parents)
}

/// Return the centroid of each of these distinct template texts. Pinned templates are groups of their own.
///
/// # Errors
/// The call is cancelled, or memory allocation fails.
pub fn group(texts: &[Vec<u8>], pinned: &[bool], threshold: f64) -> Result<Vec<u32>> {
    let cancel = CancelToken::current();
    let mut probe = Probe::default();
    let features: Vec<Features> = alloc::try_collect(texts.iter().map(|text| Features::new(text, &mut probe.tokens)))?;
    let mut order: Vec<u32> = alloc::try_collect(0..texts.len() as u32)?;
    order.sort_unstable_by(|&a, &b| {
        let key = |template: u32| (features[template as usize].tokens, &texts[template as usize]);
        key(a).cmp(&key(b))
    });
    let mut rank = alloc::try_filled(0, texts.len())?;
    order.iter().enumerate().for_each(|(position, &template)| rank[template as usize] = position as u32);
    let mut centroid = join_by_word(&features, &order, &rank, pinned)?;
    let mut centroids = CentroidIndex::new()?;
    for &template in &order {
        cancel.check()?;
        // A joined template follows the first of its set, which was visited before.
        let first = centroid[template as usize];
        if pinned[template as usize] || first != template {
            centroid[template as usize] = centroid[first as usize];
            continue;
        }
        let own = &features[template as usize];
        let keys = centroids.keys(own, &mut probe);
        match centroids.best(&keys, own, (&features, &rank), threshold, &mut probe) {
            Some(other) => centroid[template as usize] = other,
            None => centroids.add(keys, template),
        }
    }
    Ok(centroid)
}

/// The groups of a state, for templates that it has and for others.
pub struct GroupMatcher {
    /// Group of each template of the state, by its text; None for a text that joins no group.
    known: HashMap<Box<[u8]>, Option<u32>>,
    centroids: Vec<Features>,
    rank: Vec<u32>,
    index: CentroidIndex,
    threshold: f64,
}

impl GroupMatcher {
    /// Index the centroids by their texts. `known` are the templates of the state with their groups, numbers of
    /// centroids, and texts that join no group.
    ///
    /// # Errors
    /// The call is cancelled, or memory allocation fails.
    pub fn new(
        centroids: &[Vec<u8>],
        known: impl IntoIterator<Item = (Box<[u8]>, Option<u32>)>,
        threshold: f64,
    ) -> Result<Self> {
        let cancel = CancelToken::current();
        let mut probe = Probe::default();
        let mut result = Self {
            known: HashMap::new(),
            centroids: alloc::try_collect(centroids.iter().map(|text| Features::new(text, &mut probe.tokens)))?,
            rank: alloc::try_collect(0..centroids.len() as u32)?,
            index: CentroidIndex::new()?,
            threshold,
        };
        for (centroid, features) in result.centroids.iter().enumerate() {
            cancel.check()?;
            let keys = result.index.keys(features, &mut probe);
            result.index.add(keys, centroid as u32);
        }
        result.known.extend(known);
        Ok(result)
    }

    /// Return the group of a template, by its text: its own, or that of the most similar centroid that reaches the
    /// threshold, ties by order; None if there is none, or for the empty text.
    pub fn find(&self, text: &[u8], probe: &mut Probe) -> Option<u32> {
        if let Some(&group) = self.known.get(text) {
            return group;
        }
        if text.is_empty() {
            return None;
        }
        let features = Features::new(text, &mut probe.tokens);
        let keys = self.index.keys(&features, probe);
        self.index.best(&keys, &features, (&self.centroids, &self.rank), self.threshold, probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::payloads::templates::Scanner;
    use proptest::prelude::*;

    fn texts(items: &[&str]) -> Vec<Vec<u8>> {
        items.iter().map(|item| item.as_bytes().to_vec()).collect()
    }

    #[test]
    fn similar_templates_have_one_centroid() {
        let texts = texts(&[
            "union all select null",
            "union all select {int}",
            "union all select {int} from users",
            "<svg onload=alert()>",
            "<body onload=alert()>",
            "<svg/onload=alert()>",
        ]);
        let none = vec![false; texts.len()];
        assert_eq!(vec![0, 0, 2, 3, 4, 3], group(&texts, &none, 0.6).expect("memory"));
        // Three words in the same context are a variable; two are not.
        let tags = |names: &[&str]| -> Vec<Vec<u8>> {
            names.iter().map(|name| format!("<{name} src=javascript:alert()").into_bytes()).collect()
        };
        assert_eq!(vec![0, 1], group(&tags(&["img", "xml"]), &none[..2], 0.6).expect("memory"));
        assert_eq!(vec![2; 3], group(&tags(&["layer", "xml", "iframe"]), &none[..3], 0.6).expect("memory"));
        let mut pinned = none.clone();
        pinned[5] = true;
        assert_eq!(vec![0, 0, 2, 3, 4, 5], group(&texts, &pinned, 0.6).expect("memory"));
        assert_eq!(vec![0, 1, 2, 3, 4, 5], group(&texts, &none, 1.0).expect("memory"));
        let known = [(texts[1].clone().into(), Some(3)), (b"union all select {name}".as_slice().into(), None)];
        let (matcher, mut probe) = (GroupMatcher::new(&texts, known, 0.6).expect("memory"), Probe::default());
        let cases = [("union all select {hex}", Some(0)), ("<p>", None), ("", None)];
        let cases = [&cases[..], &[("union all select {int}", Some(3)), ("union all select {name}", None)]].concat();
        for (text, group) in cases {
            assert_eq!(group, matcher.find(text.as_bytes(), &mut probe), "{text}");
        }
        assert!(similarity(&texts[0], &texts[1]) > 0.8 && similarity(&texts[3], &texts[4]) < 0.5);
        assert_eq!(0.0, similarity(b"", b""));
    }

    #[test]
    fn template_text_omits_hidden_wildcards() {
        let mut batch = Batch::default();
        Scanner::default().scan(&mut batch, 0, b"1' and sleep(5)-- \xff");
        let (_, _, template, values) = batch.iter().next().expect("one");
        assert_eq!("sleep({int})", String::from_utf8_lossy(&template_text(template).expect("a template")));
        let values: Vec<&[u8]> = values.map(|position| batch.value(position).1).collect();
        assert_eq!([&b""[..], b"1' and", b"-- \xff", b"5"], values[..]);
        assert!(template_text(b"\xff").is_err() && template_text(b"\xff\x16\xff\x16\xff\x16a\xff").is_err());
        assert!(template_text(b"\xff\x16\xff\x16\xff\x16a\xff\x63").is_err());
        assert_eq!(b"a\xffb".to_vec(), template_text(b"\xff\x16\xff\x16\xff\x16a\xff\x00b").expect("a template"));
    }

    proptest! {
        #[test]
        fn groups_do_not_depend_on_order(picked in prop::collection::btree_set(prop::collection::vec(
            prop::sample::select(vec!["select", "union", "from", "where", "sleep", "{int}", "(", "script", "alert()", "cat", "etc"]), 1..7),
            1..24)) {
            let texts: Vec<Vec<u8>> = picked.into_iter().map(|words| words.join(" ").into_bytes()).collect();
            let turned: Vec<Vec<u8>> = texts.iter().rev().cloned().collect();
            let none = vec![false; texts.len()];
            let forward = group(&texts, &none, 0.6).expect("memory");
            let backward = group(&turned, &none, 0.6).expect("memory");
            let last = texts.len() - 1;
            for (position, &centroid) in forward.iter().enumerate() {
                prop_assert_eq!(&texts[centroid as usize], &turned[backward[last - position] as usize]);
                // A centroid belongs to itself.
                prop_assert_eq!(centroid, forward[centroid as usize]);
            }
        }
    }
}
