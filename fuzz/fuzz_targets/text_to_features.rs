//! Any bytes as a text: features and fingerprints, never a panic; the fast path equals the result from the features.
//!
//! Bytes 0 to 4 select the recipe, the rest is the text; invalid UTF-8 becomes U+FFFD.
#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use nearkin_core::families::simhash::{SimHash, SimHashScratch, Weight};
use nearkin_core::hash::{FeatureHash, NAMES};
use nearkin_core::text::chunking::{Unit, split};
use nearkin_core::text::cut::Cut;
use nearkin_core::text::tokenizer::{FeatureKind, Scratch, Tokenizer};
use nearkin_core::text::unicode::{Case, Form, Letters};
use nearkin_fuzz::alone;

fuzz_target!(init: alone(), |input: &[u8]| {
    let Some((&[kind, rules, hash, bits, seed], text)) = input.split_first_chunk() else { return };
    let text = String::from_utf8_lossy(text);
    let n = usize::from(kind >> 1) % 64 + 1;
    let words = kind & 1 == 1;
    let stop_words = if words && seed & 1 == 1 { vec!["the".to_owned(), "ﬁ".to_owned()] } else { Vec::new() };
    let tokenizer = Tokenizer::new(
        if words { FeatureKind::Word(n) } else { FeatureKind::Char(n) },
        [Form::Nfkc, Form::Nfc, Form::None][usize::from(rules) % 3],
        [Case::Fold, Case::Lower, Case::Keep][usize::from(rules) / 3 % 3],
        [Letters::Word, Letters::Python, Letters::All][usize::from(rules) / 9 % 3],
        &stop_words,
    )
    .expect("n from 1 to 64, stop words with words only");
    // Source code has words, by the letters of UAX #29.
    let code = words && rules / 9 % 3 == 0 && seed & 2 == 2;
    let tokenizer = if code { tokenizer.with_words(Cut::Code(seed & 4 == 4), 1, &[]).expect("words") } else { tokenizer };
    let parts = split(&[&*text].as_slice(), Unit::Function, 0, &[], None).expect("room");
    assert!(parts.spans.windows(2).all(|pair| pair[0][1] <= pair[1][0]));

    let mut counts: HashMap<Vec<u8>, i64> = HashMap::new();
    let each = |feature: &[u8]| {
        std::str::from_utf8(feature).expect("features of a text are texts");
        *counts.entry(feature.to_vec()).or_default() += 1;
    };
    tokenizer.features(&text, &mut Scratch::default(), each).expect("room");
    let mut ids = Vec::new();
    tokenizer.distinct(&text, &mut Scratch::default(), &mut ids).expect("room");
    assert_eq!(counts.len(), ids.len());

    let name = NAMES[usize::from(hash) % NAMES.len()];
    let seeded = matches!(name, "xxh3" | "murmur3" | "lookup3");
    let hash = FeatureHash::new(name, if seeded { seed.into() } else { 0 }).expect("a known name, a small seed");
    let most = if hash.width() == 32 { 32 } else { 256 };
    let simhash = SimHash::new(u32::from(bits) % most + 1, hash).expect("a width that the hash has");
    let mut scratch = SimHashScratch::default();
    for weight in [Weight::Count, Weight::Binary] {
        let weights = counts
            .iter()
            .map(|(feature, &count)| (feature.as_slice(), if weight == Weight::Binary { 1 } else { count }));
        let (mut expected, mut found) = (vec![0; simhash.words()], vec![0; simhash.words()]);
        simhash.integers(weights.clone(), &mut expected);
        let total = simhash.text(&tokenizer, weight, &text, &mut scratch, &mut found).expect("room");
        assert_eq!(weights.map(|(_, weight)| weight).sum::<i64>() as u64, total);
        assert_eq!(expected, found);
    }
});
