//! Groups of forms: near-identical attacks.
//!
//! **Features** of a form, with weights: each of its tokens (words and `alert()` 1, types and `null` 0.3, signs 0.15),
//! and each pair of words that follow one another among its words, with the two ends (1); there a word before a
//! bracket (a call) is another. All events of pages (`onload`) count as one word. The *similarity* of two forms is the
//! weighted Jaccard similarity of these sets,
//! ```text
//! J(A, B) = w(A ∩ B) / w(A ∪ B)
//! ```
//! so that one sign or value more or less hardly counts, and another word counts three times: itself and its two pairs.
//!
//! **Groups** by keep-then-absorb: forms are visited from the shortest (by tokens, then by text); one that reaches the
//! threshold with a centre joins the most similar (of equal ones the first), else it is a centre itself. No chain
//! forms: every form that is not joined is as similar to its centre as the threshold says. Centres are proposed by
//! MinHash over the features of weight 1, [`VALUES`] values in bands of [`ROWS`]: P[missed] = (1 − J²)^64, below 10^-4
//! from J = 0.37 (of those features). The [`MOST`] that share most bands are compared.
//!
//! Before that, forms that differ in one word are joined where [`WORDS`] or more words stand in that place behind the
//! same rest of [`REST`] words or more: the hash of a form without the word finds them. They go where the first of
//! them goes.
//!
//! The result is a function of the set of forms: counts, order and batches don't enter it.

use std::collections::HashMap;

use crate::forms::HOLE;
use crate::kinds::Kind;
use nearkin_core::cancel::CancelToken;
use nearkin_core::families::minhash::{MinHash, Scheme, Sketch};
use nearkin_core::hash::xxh3;
use nearkin_core::{Error, Result, alloc};

use super::tokens::{ALERT, Symbol, Tokens, WORD, is_wordish, known, written};

/// Values of a signature.
pub const VALUES: usize = 128;
/// Values of a band.
pub const ROWS: usize = 2;
/// Centres that a form is compared with.
pub const MOST: usize = 256;
/// Holes of a form that are not in its text: layers, head and tail.
pub const HIDDEN: usize = 3;
/// Marks a word before a bracket: `sleep(5)` of SQL is not `sleep 5` of a shell.
const CALL: Symbol = 1 << 15;
/// Words that may stand before a bracket without calling anything.
const KEYWORDS: [&str; 22] = [
    "all", "and", "as", "by", "case", "distinct", "else", "exists", "from", "having", "in", "into", "like", "not",
    "on", "or", "select", "then", "union", "values", "when", "where",
];

fn is_keyword(symbol: Symbol) -> bool {
    symbol >= WORD && symbol != EVENT && KEYWORDS.contains(&written(symbol))
}

/// Words from which on a place where they stand is a variable, behind the same rest.
pub const WORDS: usize = 3;
/// Words that such a rest has.
pub const REST: usize = 3;
/// Stands for `onload`, `onerror` and other events: a word.
const EVENT: Symbol = CALL - 1;
/// Beginning and end of the words of a form, and the place of a word that is left out.
const END: Symbol = Symbol::MAX;

/// The text of a form: types in braces, without the hidden holes.
///
/// # Errors
/// The bytes are no form of a payload.
pub fn text_of(form: &[u8]) -> Result<Vec<u8>> {
    let damaged =
        || Error::Corrupt { place: "the table of forms".to_owned(), reason: "no form of a payload".to_owned() };
    let mut rest = form.get(2 * HIDDEN..).ok_or_else(damaged)?;
    let mut text = alloc::try_with_capacity(2 * rest.len())?;
    while let Some(at) = memchr::memchr(HOLE, rest) {
        text.extend_from_slice(&rest[..at]);
        match rest.get(at + 1) {
            Some(0) => text.push(HOLE),
            Some(&number) => {
                let kind = Kind::numbered(number).ok_or_else(damaged)?;
                text.extend_from_slice(format!("{{{}}}", kind.name()).as_bytes());
            }
            None => return Err(damaged()),
        }
        rest = &rest[at + 2..];
    }
    text.extend_from_slice(rest);
    Ok(text)
}

/// Features of a form, ascending by hash, with their weights.
#[derive(Clone, Debug, Default)]
struct Features {
    all: Vec<(u64, f32)>,
    weight: f32,
    tokens: usize,
    /// For each word the hash of the form without it.
    holes: Vec<u64>,
}

fn weight(symbol: Symbol) -> f32 {
    let value = symbol == known().null;
    if (symbol >= WORD && !value) || symbol == ALERT {
        1.0
    } else if is_wordish(symbol) {
        0.3
    } else {
        0.15
    }
}

/// The token that a token is taken for: events of pages are one.
fn same(symbol: Symbol) -> Symbol {
    let event = symbol >= WORD && written(symbol).len() > 4 && written(symbol).starts_with("on");
    if event { EVENT } else { symbol }
}

fn feature(left: Symbol, right: Symbol) -> u64 {
    xxh3::hash(&[left.to_le_bytes(), right.to_le_bytes()].concat(), 0)
}

/// The hash of a form without each of its words in turn.
fn holes(symbols: &[Symbol]) -> Vec<u64> {
    let mut bytes: Vec<u8> = symbols.iter().flat_map(|symbol| symbol.to_le_bytes()).collect();
    let mut found = Vec::new();
    for (place, &symbol) in symbols.iter().enumerate().filter(|&(_, &symbol)| weight(symbol) == 1.0) {
        bytes[2 * place..2 * place + 2].copy_from_slice(&END.to_le_bytes());
        found.push(xxh3::hash(&bytes, 0));
        bytes[2 * place..2 * place + 2].copy_from_slice(&symbol.to_le_bytes());
    }
    found
}

impl Features {
    fn of(text: &[u8], tokens: &mut Tokens) -> Self {
        tokens.read(text);
        let symbols: Vec<Symbol> = tokens.all.iter().map(|token| same(token.symbol)).collect();
        let mut words: Vec<Symbol> = vec![END];
        for (place, &symbol) in symbols.iter().enumerate().filter(|&(_, &symbol)| weight(symbol) == 1.0) {
            let called = symbols.get(place + 1) == Some(&Symbol::from(b'(')) && !is_keyword(symbol);
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
        let holes = if words.len() >= REST + 3 { holes(&symbols) } else { Vec::new() };
        Self { all, weight, tokens: symbols.len(), holes }
    }

    /// Hashes of those of weight 1, or of all where there are none.
    fn heavy(&self, hashes: &mut Vec<u64>) {
        hashes.clear();
        hashes.extend(self.all.iter().filter(|&&(_, weight)| weight == 1.0).map(|&(hash, _)| hash));
        if hashes.is_empty() {
            hashes.extend(self.all.iter().map(|&(hash, _)| hash));
        }
    }

    /// J of two sets; of two empty ones 0.
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

/// The similarity of two forms by their texts.
pub fn similarity(left: &[u8], right: &[u8]) -> f64 {
    let mut tokens = Tokens::default();
    Features::of(left, &mut tokens).similarity(&Features::of(right, &mut tokens))
}

/// Centres by the bands of their signatures.
struct Centres {
    family: MinHash,
    sketch: Sketch,
    hashes: Vec<u64>,
    signature: Vec<u32>,
    buckets: HashMap<u64, Vec<u32>>,
    /// Bands that the last form shares with each form.
    shared: Vec<u8>,
}

impl Centres {
    fn new(forms: usize) -> Result<Self> {
        Ok(Self {
            family: MinHash::new(VALUES, Scheme::One)?,
            sketch: Sketch::default(),
            hashes: Vec::new(),
            signature: vec![0; VALUES],
            buckets: HashMap::new(),
            shared: alloc::try_filled(0, forms)?,
        })
    }

    /// The keys of a form's bands.
    fn keys(&mut self, features: &Features) -> Vec<u64> {
        features.heavy(&mut self.hashes);
        self.family.hashes(&self.hashes, &mut self.sketch, &mut self.signature);
        let band = |(place, values): (usize, &[u32])| {
            let mut bytes = [0; 4 * ROWS];
            bytes.chunks_exact_mut(4).zip(values).for_each(|(out, value)| out.copy_from_slice(&value.to_le_bytes()));
            xxh3::hash(&bytes, place as u64)
        };
        self.signature.chunks_exact(ROWS).enumerate().map(band).collect()
    }

    /// Centres that share bands, those with most of them first, of equal ones the earlier.
    fn proposed(&mut self, keys: &[u64], rank: &[u32]) -> Vec<u32> {
        let mut found = Vec::new();
        for key in keys {
            for &centre in self.buckets.get(key).into_iter().flatten() {
                if self.shared[centre as usize] == 0 {
                    found.push(centre);
                }
                self.shared[centre as usize] += 1;
            }
        }
        found.sort_unstable_by_key(|&centre| (u8::MAX - self.shared[centre as usize], rank[centre as usize]));
        for &centre in &found {
            self.shared[centre as usize] = 0;
        }
        found.truncate(MOST);
        found
    }

    fn add(&mut self, keys: Vec<u64>, form: u32) {
        for key in keys {
            self.buckets.entry(key).or_default().push(form);
        }
    }
}

/// Joins forms that differ in one word, where at least [`WORDS`] stand behind the same rest: the first of each such
/// set.
fn joined(features: &[Features], order: &[u32], rank: &[u32], pinned: &[bool]) -> Result<Vec<u32>> {
    let mut sets: HashMap<u64, Vec<u32>> = HashMap::new();
    for &form in order.iter().filter(|&&form| !pinned[form as usize]) {
        for &hole in &features[form as usize].holes {
            sets.entry(hole).or_default().push(form);
        }
    }
    let mut parents: Vec<u32> = alloc::try_collect(0..features.len() as u32)?;
    let root = |parents: &[u32], mut form: u32| {
        while parents[form as usize] != form {
            form = parents[form as usize];
        }
        form
    };
    for set in sets.values().filter(|set| set.len() >= WORDS) {
        for pair in set.windows(2) {
            let (one, other) = (root(&parents, pair[0]), root(&parents, pair[1]));
            let (first, second) = if rank[one as usize] <= rank[other as usize] { (one, other) } else { (other, one) };
            parents[second as usize] = first;
        }
    }
    for form in 0..parents.len() as u32 {
        parents[form as usize] = root(&parents, form);
    }
    Ok(parents)
}

/// The centre of each form, by texts of forms that differ. Pinned ones are groups of their own.
///
/// # Errors
/// The call is stopped; there is no memory.
pub fn group(texts: &[Vec<u8>], pinned: &[bool], threshold: f64) -> Result<Vec<u32>> {
    let stop = CancelToken::current();
    let mut tokens = Tokens::default();
    let features: Vec<Features> = alloc::try_collect(texts.iter().map(|text| Features::of(text, &mut tokens)))?;
    let mut order: Vec<u32> = alloc::try_collect(0..texts.len() as u32)?;
    order.sort_unstable_by(|&a, &b| {
        let key = |form: u32| (features[form as usize].tokens, &texts[form as usize]);
        key(a).cmp(&key(b))
    });
    let mut rank = alloc::try_filled(0, texts.len())?;
    order.iter().enumerate().for_each(|(place, &form)| rank[form as usize] = place as u32);
    let mut centre = joined(&features, &order, &rank, pinned)?;
    let mut centres = Centres::new(texts.len())?;
    for &form in &order {
        stop.check()?;
        // A joined form goes where the first of its set went, which was before.
        let first = centre[form as usize];
        if pinned[form as usize] || first != form {
            centre[form as usize] = centre[first as usize];
            continue;
        }
        let keys = centres.keys(&features[form as usize]);
        let mut best = (threshold, None);
        for other in centres.proposed(&keys, &rank) {
            let found = features[form as usize].similarity(&features[other as usize]);
            let earlier = best.1.is_none_or(|held: u32| rank[other as usize] < rank[held as usize]);
            if found > best.0 || (found == best.0 && earlier) {
                best = (found, Some(other));
            }
        }
        match best.1 {
            Some(other) => centre[form as usize] = other,
            None => centres.add(keys, form),
        }
    }
    Ok(centre)
}

/// For each text the most similar of the centres that reach the threshold, of equal ones the first; None without one.
///
/// # Errors
/// The call is stopped; there is no memory.
pub fn nearest(centres: &[Vec<u8>], texts: &[Vec<u8>], threshold: f64) -> Result<Vec<Option<u32>>> {
    let stop = CancelToken::current();
    let mut tokens = Tokens::default();
    let rank: Vec<u32> = alloc::try_collect(0..centres.len() as u32)?;
    let held: Vec<Features> = alloc::try_collect(centres.iter().map(|text| Features::of(text, &mut tokens)))?;
    let mut table = Centres::new(centres.len())?;
    for (centre, features) in held.iter().enumerate() {
        let keys = table.keys(features);
        table.add(keys, centre as u32);
    }
    let mut found = alloc::try_with_capacity(texts.len())?;
    for text in texts {
        stop.check()?;
        let features = Features::of(text, &mut tokens);
        let keys = table.keys(&features);
        let mut best = (threshold, None);
        for centre in table.proposed(&keys, &rank) {
            let similarity = features.similarity(&held[centre as usize]);
            if similarity > best.0 || (similarity == best.0 && best.1.is_none_or(|earlier| centre < earlier)) {
                best = (similarity, Some(centre));
            }
        }
        found.push(best.1);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::payloads::forms::Scanner;
    use proptest::prelude::*;

    fn texts(items: &[&str]) -> Vec<Vec<u8>> {
        items.iter().map(|item| item.as_bytes().to_vec()).collect()
    }

    #[test]
    fn near_forms_have_one_centre() {
        let texts = texts(&[
            "union all select null",
            "union all select {int}",
            "union all select {int} from users",
            "<svg onload=alert()>",
            "<body onload=alert()>",
            "<svg/onload=alert()>",
        ]);
        let none = vec![false; texts.len()];
        assert_eq!(vec![0, 0, 2, 3, 4, 3], group(&texts, &none, 0.6).expect("room"));
        // Three words behind the same rest are a variable; two are not.
        let tags = |names: &[&str]| -> Vec<Vec<u8>> {
            names.iter().map(|name| format!("<{name} src=javascript:alert()").into_bytes()).collect()
        };
        assert_eq!(vec![0, 1], group(&tags(&["img", "xml"]), &none[..2], 0.6).expect("room"));
        assert_eq!(vec![2; 3], group(&tags(&["layer", "xml", "iframe"]), &none[..3], 0.6).expect("room"));
        let mut pinned = none.clone();
        pinned[5] = true;
        assert_eq!(vec![0, 0, 2, 3, 4, 5], group(&texts, &pinned, 0.6).expect("room"));
        assert_eq!(vec![0, 1, 2, 3, 4, 5], group(&texts, &none, 1.0).expect("room"));
        let found = nearest(&texts, &[b"union all select {hex}".to_vec(), b"<p>".to_vec()], 0.6).expect("room");
        assert_eq!(vec![Some(0), None], found);
        assert!(similarity(&texts[0], &texts[1]) > 0.8 && similarity(&texts[3], &texts[4]) < 0.5);
        assert_eq!(0.0, similarity(b"", b""));
    }

    #[test]
    fn the_text_of_a_form_is_what_people_read() {
        let mut batch = Batch::default();
        Scanner::default().scan(&mut batch, 0, b"1' and sleep(5)-- \xff");
        let (_, _, form, values) = batch.iter().next().expect("one");
        assert_eq!("sleep({int})", String::from_utf8_lossy(&text_of(form).expect("a form")));
        let values: Vec<&[u8]> = values.map(|place| batch.value(place).1).collect();
        assert_eq!([&b""[..], b"1' and", b"-- \xff", b"5"], values[..]);
        assert!(text_of(b"\xff").is_err() && text_of(b"\xff\x16\xff\x16\xff\x16a\xff").is_err());
        assert!(text_of(b"\xff\x16\xff\x16\xff\x16a\xff\x63").is_err());
        assert_eq!(b"a\xffb".to_vec(), text_of(b"\xff\x16\xff\x16\xff\x16a\xff\x00b").expect("a form"));
    }

    proptest! {
        #[test]
        fn groups_do_not_depend_on_order(picked in prop::collection::btree_set(prop::collection::vec(
            prop::sample::select(vec!["select", "union", "from", "where", "sleep", "{int}", "(", "script", "alert()", "cat", "etc"]), 1..7),
            1..24)) {
            let texts: Vec<Vec<u8>> = picked.into_iter().map(|words| words.join(" ").into_bytes()).collect();
            let turned: Vec<Vec<u8>> = texts.iter().rev().cloned().collect();
            let none = vec![false; texts.len()];
            let one = group(&texts, &none, 0.6).expect("room");
            let other = group(&turned, &none, 0.6).expect("room");
            let last = texts.len() - 1;
            for (place, &centre) in one.iter().enumerate() {
                prop_assert_eq!(&texts[centre as usize], &turned[other[last - place] as usize]);
                // Centres are their own.
                prop_assert_eq!(centre, one[centre as usize]);
            }
        }
    }
}
