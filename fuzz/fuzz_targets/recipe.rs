//! Any fields as a recipe: an error, or a recipe that hashes any texts and any features, with equal results in a batch
//! and one by one; never a panic.
//!
//! Lines are fields by their order: the first byte selects a value, or `=` introduces a literal one. The lines after
//! `--` are texts, one per line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::families::recipe::{Family, Recipe, Slots, Weights};
use nearkin_core::text::keywords::IdfTable;
use nearkin_fuzz::alone;

/// Return the line as one of `names`, or unchanged.
fn choice<'a>(line: &'a str, names: &[&'a str]) -> &'a str {
    match line.as_bytes().first() {
        None => names[0],
        Some(b'=') => &line[1..],
        Some(&byte) => names[usize::from(byte) % names.len()],
    }
}

fn number(line: &str) -> u64 {
    line.parse().unwrap_or_else(|_| line.bytes().fold(0, |value, byte| value * 3 % 1031 + u64::from(byte)))
}

fuzz_target!(init: alone(), |input: &[u8]| {
    let input = String::from_utf8_lossy(input);
    let (slots, texts) = input.split_once("\n--\n").unwrap_or((&input, ""));
    let mut lines = slots.split('\n').chain(std::iter::repeat(""));
    let mut line = || lines.next().unwrap_or_default();
    let list = |line: &str| line.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<String>>();

    let (norm, case) = (choice(line(), &["nfkc", "nfc", "none"]), choice(line(), &["fold", "lower", "keep"]));
    let letters = choice(line(), &["word", "python", "all"]);
    let cut = choice(line(), &["uax29", "jieba", "script", "code"]);
    let (stop, stop_words, tags) = (list(choice(line(), &["", "en", "zh,ja"])), list(line()), list(line()));
    // Return 1 for an empty line, otherwise any number around the valid range.
    let small = |line: &str| if line.is_empty() { 1 } else { number(line) as usize % 67 };
    let (min_length, features) = (small(line()), choice(line(), &["char", "word", "given"]));
    let (n, weight) = (small(line()), choice(line(), &["binary", "count", "log", "idf", "textrank", "given"]));
    let idf = choice(line(), &["", "jieba", "cppjieba"]);
    let top = choice(line(), &["all", "1", "5", "10%", "100%"]);
    let names = ["xxh3", "md5", "sha1", "fnv1a", "murmur3", "lookup3", "jenkins64", "one_at_a_time"];
    let (hash, seed) = (choice(line(), &names), number(line()));
    let family = choice(line(), &["simhash", "minhash"]);
    let (bits, num_perm) = (number(line()) as u32, number(line()) as usize % 515);
    let (scheme, value_bits) =
        (choice(line(), &["one", "fast", "classic", "weighted"]), if number(line()) & 1 == 0 { 32 } else { 64 });
    let (fold, numbers) = (list(choice(line(), &["", "hans", "lookalikes,accents"])), choice(line(), &["split", "whole"]));
    let min_n = small(line());
    let Ok(family) = Family::named(family, bits, num_perm, scheme, value_bits) else { return };
    let slots = Slots {
        norm,
        case,
        letters,
        fold: &fold,
        numbers,
        cut,
        // A user's dictionary takes seconds to build: the target user_words covers it.
        user_words: "",
        stop: &stop,
        stop_words: &stop_words,
        min_length,
        tags: &tags,
        features,
        n,
        min_n,
        weight,
        idf: IdfTable::named(idf).ok(),
        top,
        hash,
        seed,
        family,
    };
    let Ok(recipe) = Recipe::new(&slots) else { return };
    let texts: Vec<&str> = texts.split('\n').take(16).collect();
    if let Ok((fingerprints, counts)) = recipe.fingerprints(&texts.as_slice()) {
        let each: Vec<_> =
            texts.iter().map(|&text| recipe.fingerprints(&[text].as_slice()).expect("as the batch")).collect();
        assert_eq!(fingerprints, each.iter().flat_map(|one| one.0.clone()).collect::<Vec<_>>());
        assert_eq!(counts, each.iter().flat_map(|one| one.1.clone()).collect::<Vec<_>>());
    }
    if let Ok((signatures, _)) = recipe.signatures(&texts.as_slice()) {
        let merged = recipe.merge(signatures.clone(), &signatures).expect("signatures of one recipe");
        assert_eq!(signatures, merged);
    }
    if let (Ok(words), Ok(keywords)) = (recipe.words(&texts.as_slice()), recipe.keywords(&texts.as_slice())) {
        assert_eq!((texts.len(), texts.len()), (words.len(), keywords.len()));
        for (names, weights) in &keywords {
            assert_eq!(names.len(), weights.len());
            assert!(weights.windows(2).all(|pair| pair[0] >= pair[1]));
        }
        for text in &texts {
            let _ = recipe.features(text);
        }
    }

    let offsets = [0, texts.len() as i64 / 2, texts.len() as i64];
    let weights: Vec<i64> = texts.iter().map(|text| text.len() as i64 - 3).collect();
    let _ = recipe.fingerprints_given(&offsets, &texts, Weights::Integers(&weights));
    let floats: Vec<f64> = weights.iter().map(|&weight| weight as f64 / 7.0).collect();
    let _ = recipe.fingerprints_given(&offsets, &texts, Weights::Floats(&floats));
    let _ = recipe.fingerprints_csr(&offsets, &weights, &floats);
    let _ = recipe.signatures_given(&offsets, &texts, None);
    let _ = recipe.signatures_given(&offsets, &texts, Some(&floats));
});
