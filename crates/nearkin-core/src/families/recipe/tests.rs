//! Each slot against a plain definition: features counted in a list, weighed by the table of `text::keywords`, and summed sign by
//! sign; golden values of `tests/golden/recipes.json`; every refusal with its words.

use proptest::prelude::*;
use serde_json::Value as Json;

use super::*;
use crate::families::minhash::Sketch;
use crate::text::idf::{Idf, smoothed};

fn recipe(slots: &Slots<'_>) -> Recipe {
    Recipe::new(slots).expect("valid slots")
}

fn words(slots: &Slots<'_>, text: &str) -> Vec<String> {
    let found = recipe(slots).words(&[text].as_slice()).expect("a recipe that reads texts");
    found[0].strings().map(str::to_owned).collect()
}

fn names(slots: &Slots<'_>, text: &str) -> Vec<String> {
    recipe(slots).features(text).expect("a recipe that reads texts").into_iter().map(|(name, _)| name).collect()
}

/// Slots that leave a text unchanged.
fn raw() -> Slots<'static> {
    Slots { norm: "none", case: "keep", letters: "all", ..Slots::default() }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

// The definition

/// Weigh counted features, as the header of `text::keywords` defines it; return the kept ones, the heaviest first.
fn weigh(features: &[(String, u64)], weight: &str, top: &str, idf: impl Fn(&str) -> f64) -> Vec<(String, f64)> {
    let total: u64 = features.iter().map(|feature| feature.1).sum();
    let value = |name: &str, count: u64| match weight {
        "count" => count as f64,
        "binary" => 1.0,
        "log" => 1.0 + libm::log(count as f64),
        _ => count as f64 * (idf(name) / total as f64),
    };
    let mut found: Vec<(String, f64)> =
        features.iter().map(|(name, count)| (name.clone(), value(name, *count))).collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    let kept = match top.strip_suffix('%') {
        _ if top == "all" => found.len(),
        Some(share) => (found.len() * share.parse::<usize>().expect("a share")).div_ceil(100),
        None => top.parse().expect("a number"),
    };
    found.truncate(kept);
    found
}

/// Return the fingerprint: bit i is 1 if the sum of the weights, signed by bit i of the features' hashes, is positive.
fn signs(features: &[(Vec<u8>, f64)], hash: FeatureHash, bits: u32) -> Vec<u64> {
    let mut out = vec![0; bits.div_ceil(64) as usize];
    for bit in 0..bits {
        let word = hash.word(bit / 64);
        let mut signed: Vec<f64> = features
            .iter()
            .map(|(name, weight)| if word.hash(name) >> (bit % 64) & 1 == 1 { *weight } else { -weight })
            .collect();
        signed.sort_by(f64::total_cmp);
        out[bit as usize / 64] |= u64::from(signed.iter().sum::<f64>() > 0.0) << (bit % 64);
    }
    out
}

fn bytes(features: &[(String, f64)]) -> Vec<(Vec<u8>, f64)> {
    features.iter().map(|(name, weight)| (name.clone().into_bytes(), *weight)).collect()
}

/// Return the starts of parts with these lengths, and the end.
fn offsets_of(lengths: impl Iterator<Item = usize>) -> Vec<i64> {
    let ends = lengths.scan(0, |end, length| {
        *end += length as i64;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c ]{0,60}", "[ -~]{0,80}", "\\PC{0,40}", "([a-d]{1,2} ){0,90}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn raw_features_are_windows_of_the_text(text in "\\PC{0,40}", n in 1_usize..9) {
        let letters: Vec<char> = text.chars().collect();
        let windows: Vec<String> = match letters.len() {
            0 => vec![],
            length => letters.windows(n.min(length)).map(|window| window.iter().collect()).collect(),
        };
        let mut expected: Vec<(String, u64)> = Vec::new();
        for window in windows {
            match expected.iter_mut().find(|(name, _)| *name == window) {
                Some((_, count)) => *count += 1,
                None => expected.push((window, 1)),
            }
        }
        prop_assert_eq!(expected, recipe(&Slots { n, ..raw() }).features(&text).expect("reads texts"));
    }

    #[test]
    fn fingerprints_are_signs_of_weighted_sums(
        text in any_text(),
        chars: bool,
        n in 1_usize..4,
        weight in prop::sample::select(vec!["count", "binary", "log", "idf"]),
        top in prop::sample::select(vec!["all", "1", "5", "34%", "100%"]),
        hash in prop::sample::select(vec![("xxh3", 0), ("xxh3", 9), ("md5", 0), ("murmur3", 3), ("fnv1a", 0)]),
        bits in 1_u32..200,
    ) {
        // Values of 1 and 2 are sums of the table's smoothed ones that no order of addition moves across 0.
        let value = |name: &str| if name.len().is_multiple_of(2) { 2.0 } else { 1.0 };
        let slots = Slots {
            features: if chars { "char" } else { "word" }, n, weight, top, hash: hash.0, seed: hash.1,
            family: Family::SimHash { bits }, ..Slots::default()
        };
        let features = recipe(&Slots { weight: "count", ..slots.clone() }).features(&text).expect("reads texts");
        let idf = (weight == "idf").then(|| {
            let names: Vec<&str> = features.iter().map(|feature| feature.0.as_str()).collect();
            let values: Vec<f64> = names.iter().map(|name| value(name)).collect();
            IdfTable::fitted(&names, &values, 7.0).expect("as many values")
        });
        let recipe = recipe(&Slots { idf, ..slots });
        let expected = weigh(&features, weight, top, value);

        let (found, weights) = &recipe.keywords(&[&text].as_slice()).expect("reads texts")[0];
        let found: Vec<(String, f64)> = found.strings().map(str::to_owned).zip(weights.iter().copied()).collect();
        prop_assert_eq!(&expected, &found);

        let (fingerprint, counts) = recipe.fingerprints(&[&text].as_slice()).expect("reads texts");
        let count = if weight == "count" && top == "all" { features.iter().map(|f| f.1).sum() } else { expected.len() as u64 };
        prop_assert_eq!(vec![count], counts);
        let hash = FeatureHash::new(hash.0, hash.1).expect("known");
        if matches!(weight, "count" | "binary") {
            prop_assert_eq!(signs(&bytes(&expected), hash, bits), fingerprint);
        } else {
            // Sums of rounded weights depend on their order: the family's own is by hash (`families::simhash`).
            let simhash = SimHash::new(bits, hash).expect("fits");
            let mut sums = vec![0; simhash.words()];
            simhash.floats(expected.iter().map(|(name, weight)| (name.as_bytes(), *weight)), &mut sums).expect("room");
            prop_assert_eq!(sums, fingerprint);
        }
    }

    #[test]
    fn given_features_have_the_sums_of_their_weights(
        documents in prop::collection::vec(prop::collection::vec(("[a-c]{0,2}", -5_i64..6), 0..9), 0..6),
        bits in 1_u32..130,
    ) {
        let slots = Slots { features: "given", weight: "given", family: Family::SimHash { bits }, ..Slots::default() };
        let recipe = recipe(&slots);
        let offsets = offsets_of(documents.iter().map(Vec::len));
        let features: Vec<&str> = documents.iter().flatten().map(|pair| pair.0.as_str()).collect();
        let integers: Vec<i64> = documents.iter().flatten().map(|pair| pair.1).collect();
        let floats: Vec<f64> = integers.iter().map(|&weight| weight as f64).collect();
        let expected: Vec<u64> = documents.iter().flat_map(|document| {
            let pairs: Vec<_> = document.iter().map(|(name, weight)| (name.clone(), *weight as f64)).collect();
            signs(&bytes(&pairs), FeatureHash::Xxh3(0), bits)
        }).collect();
        let found = recipe.fingerprints_given(&offsets, &features, Weights::Integers(&integers)).expect("fits");
        prop_assert_eq!(&expected, &found);
        prop_assert_eq!(expected, recipe.fingerprints_given(&offsets, &features, Weights::Floats(&floats)).expect("fits"));
    }

    #[test]
    fn columns_are_features_of_eight_bytes(
        rows in prop::collection::vec(prop::collection::btree_map(any::<i64>(), -9_i32..10, 0..6), 0..5)
    ) {
        let recipe = recipe(&Slots { features: "given", weight: "given", ..Slots::default() });
        let offsets = offsets_of(rows.iter().map(std::collections::BTreeMap::len));
        let columns: Vec<i64> = rows.iter().flat_map(|row| row.keys().copied()).collect();
        let weights: Vec<f64> = rows.iter().flat_map(|row| row.values().map(|&value| f64::from(value))).collect();
        let names: Vec<[u8; 8]> = columns.iter().map(|column| column.to_le_bytes()).collect();
        let expected = recipe.fingerprints_given(&offsets, &names, Weights::Floats(&weights)).expect("fits");
        prop_assert_eq!(expected, recipe.fingerprints_csr(&offsets, &columns, &weights).expect("fits"));
    }

    #[test]
    fn signatures_are_those_of_the_sets_of_hashes(
        texts in prop::collection::vec(any_text(), 0..5),
        num_perm in 1_usize..70,
        scheme in prop::sample::select(vec!["one", "fast", "classic"]),
        seed: u64,
    ) {
        let slots = |value_bits| Slots {
            features: "word", n: 1, seed, family: Family::MinHash { num_perm, scheme, value_bits }, ..Slots::default()
        };
        let (narrow, wide) = (recipe(&slots(32)), recipe(&slots(64)));
        let family = MinHash::new(num_perm, Scheme::new(scheme).expect("known")).expect("in range");
        let mut expected: Vec<u64> = Vec::new();
        let (mut offsets, mut features, mut hashes) = (vec![0], Vec::new(), Vec::new());
        for text in &texts {
            let found = wide.features(text).expect("reads texts");
            let ids: Vec<u64> = found.iter().map(|(name, _)| FeatureHash::Xxh3(seed).hash(name.as_bytes())).collect();
            let mut row = vec![0_u64; num_perm];
            family.hashes(&ids, &mut Sketch::default(), &mut row);
            expected.extend(row);
            features.extend(found.into_iter().map(|(name, _)| name));
            hashes.extend(ids);
            offsets.push(hashes.len() as i64);
        }
        let upper = Signatures::Narrow(expected.iter().map(|value| (value >> 32) as u32).collect());
        let expected = Signatures::Wide(expected);
        prop_assert_eq!(&upper, &narrow.signatures(&texts.as_slice()).expect("reads texts").0);
        prop_assert_eq!(&expected, &wide.signatures(&texts.as_slice()).expect("reads texts").0);
        prop_assert_eq!(&expected, &wide.signatures_given(&offsets, &features, None).expect("fits"));
        prop_assert_eq!(&upper, &narrow.signatures_hashed(&offsets, &hashes, None).expect("fits"));
        // The union with itself is itself, and likewise with an empty set.
        prop_assert_eq!(&expected, &wide.merge(expected.clone(), &expected).expect("one width"));
        let nothing = narrow.signatures(&vec![""; texts.len()].as_slice()).expect("reads texts").0;
        prop_assert_eq!(&upper, &narrow.merge(nothing, &upper).expect("one width"));
    }

    #[test]
    fn a_batch_is_its_texts_one_by_one(texts in prop::collection::vec(any_text(), 0..40)) {
        let recipe = recipe(&Slots { features: "word", n: 1, top: "3", ..Slots::default() });
        let (fingerprints, counts) = recipe.fingerprints(&texts.as_slice()).expect("reads texts");
        let (keywords, words) = (recipe.keywords(&texts.as_slice()), recipe.words(&texts.as_slice()));
        let (keywords, words) = (keywords.expect("reads texts"), words.expect("reads texts"));
        for (i, text) in texts.iter().enumerate() {
            let one = [text];
            let (fingerprint, count) = recipe.fingerprints(&one.as_slice()).expect("reads texts");
            prop_assert_eq!((&fingerprint[..], count[0]), (&fingerprints[2 * i..2 * i + 2], counts[i]));
            prop_assert_eq!(&recipe.keywords(&one.as_slice()).expect("reads texts")[0], &keywords[i]);
            let found = recipe.words(&one.as_slice()).expect("reads texts");
            prop_assert_eq!(found[0].strings().collect::<Vec<_>>(), words[i].strings().collect::<Vec<_>>());
        }
    }
}

// One slot after the other

#[test]
fn norm_case_and_letters_choose_the_characters() {
    let word = |norm, case, letters| {
        names(&Slots { norm, case, letters, features: "word", n: 1, ..Slots::default() }, "ﬁne CAFE\u{301} Straße x²")
    };
    assert_eq!(vec!["fine", "café", "strasse", "x2"], word("nfkc", "fold", "word"));
    assert_eq!(vec!["ﬁne", "café", "straße", "x²"], word("nfc", "lower", "python"));
    assert_eq!(vec!["ﬁne", "CAFE\u{301}", "Straße", "x²"], word("none", "keep", "all"));
    assert_eq!(vec!["ﬁne", "CAFE", "Straße", "x²"], word("none", "keep", "python"));
    let chars = |letters| names(&Slots { letters, n: 2, ..raw() }, "a-b c");
    assert_eq!(vec!["ab", "bc"], chars("word"));
    assert_eq!(vec!["a-", "-b", "b ", " c"], chars("all"));
}

#[test]
fn features_and_n_say_what_a_feature_is() {
    let of = |features, n| names(&Slots { features, n, ..Slots::default() }, "One two three");
    assert_eq!(vec!["one two", "two three"], of("word", 2));
    assert_eq!(vec!["onetwothr", "netwothre", "etwothree"], of("char", 9));
    assert_eq!(vec!["onetwothree"], of("char", 64));
}

#[test]
fn cut_user_words_and_tags_choose_the_words() {
    let word = Slots { features: "word", n: 1, ..raw() };
    let text = "我来到北京清华大学";
    assert_eq!(vec![text], words(&Slots { cut: "uax29", ..word.clone() }, text));
    assert_eq!(vec!["我", "来到", "北京", "清华大学"], words(&Slots { cut: "jieba", ..word.clone() }, text));
    let script = Slots { cut: "script", letters: "word", ..word.clone() };
    assert_eq!(vec!["我", "来到", "北京", "清华大学", "日本語", "の"], words(&script, &format!("{text} 日本語の")));
    let own = Slots { cut: "jieba", user_words: "到北京 99999 n", ..word.clone() };
    assert_eq!(vec!["我来", "到北京", "清华大学"], words(&own, text));
    let tags = strings(&["ns", "nt"]);
    assert_eq!(vec!["北京", "清华大学"], words(&Slots { cut: "jieba", tags: &tags, ..word }, text));
}

#[test]
fn stop_words_lists_and_lengths_leave_words_out() {
    let word = Slots { features: "word", n: 1, ..Slots::default() };
    let text = "The dog of the house IS in it";
    let own = strings(&["DOG"]);
    assert_eq!(
        vec!["the", "of", "the", "house", "is", "in", "it"],
        words(&Slots { stop_words: &own, ..word.clone() }, text)
    );
    let lists = strings(&["jieba"]);
    assert_eq!(vec!["dog", "house"], words(&Slots { stop: &lists, ..word.clone() }, text));
    assert_eq!(vec!["house"], words(&Slots { stop: &lists, stop_words: &own, ..word.clone() }, text));
    assert_eq!(vec!["the", "dog", "the", "house"], words(&Slots { min_length: 3, ..word.clone() }, text));
    // Words are dropped before n-grams are built.
    assert_eq!(vec!["dog house"], names(&Slots { stop: &lists, n: 2, ..word }, text));
}

#[test]
fn textrank_ranks_the_words_of_a_text() {
    let slots = Slots { features: "word", n: 1, weight: "textrank", top: "2", ..Slots::default() };
    let found = recipe(&slots).keywords(&["a b a c a d", ""].as_slice()).expect("reads texts");
    assert_eq!((Some("a"), Some(&1.0)), (found[0].0.strings().next(), found[0].1.first()));
    assert_eq!((2, 0), (found[0].0.len(), found[1].0.len()));
}

#[test]
fn seeds_and_bits_change_the_functions_alone() {
    let of = |seed, bits| {
        let recipe = recipe(&Slots { seed, family: Family::SimHash { bits }, ..Slots::default() });
        recipe.fingerprints(&["the quick brown fox jumps over the lazy dog"].as_slice()).expect("reads texts").0
    };
    // Word j of seed s is word 0 of seed s + j, and a narrower fingerprint is the beginning of a wider one.
    assert_eq!(of(5, 128), [of(5, 64), of(6, 64)].concat());
    assert_eq!(of(5, 128)[0] & 0xfff, of(5, 12)[0]);
    assert_ne!(of(5, 64), of(6, 64));
}

/// Texts with nulls.
struct Holes<'a>(Vec<Option<&'a str>>);

impl TextSource for Holes<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn get(&self, i: usize) -> Option<&str> {
        self.0[i]
    }
}

#[test]
fn nulls_have_no_features_and_are_no_documents() {
    let texts = Holes(vec![Some("a b"), None, Some(""), Some("b")]);
    let word = Slots { features: "word", n: 1, ..Slots::default() };
    let hashed = recipe(&word);
    let (fingerprints, counts) = hashed.fingerprints(&texts).expect("reads texts");
    assert_eq!((vec![2, 0, 0, 1], &[0; 4]), (counts, &fingerprints[2..6].try_into().expect("four values")));
    let log = recipe(&Slots { weight: "log", ..word.clone() });
    assert_eq!(vec![2, 0, 0, 1], log.fingerprints(&texts).expect("reads texts").1);
    assert_eq!(vec![2, 0, 0, 1], hashed.words(&texts).expect("reads texts").iter().map(Words::len).collect::<Vec<_>>());
    let found = hashed.keywords(&texts).expect("reads texts");
    assert_eq!(vec![2, 0, 0, 1], found.iter().map(|(names, _)| names.len()).collect::<Vec<_>>());
    let minhash = Family::MinHash { num_perm: 2, scheme: "one", value_bits: 32 };
    let (signatures, counts) = recipe(&Slots { family: minhash, ..word }).signatures(&texts).expect("reads texts");
    let Signatures::Narrow(values) = signatures else { panic!("values of 32 bits") };
    assert_eq!((vec![2, 0, 0, 1], &[u32::MAX; 4][..]), (counts, &values[2..6]));
    let mut counted = DocumentFrequencies::default();
    hashed.count_documents(&mut counted, &texts).expect("reads texts");
    assert_eq!((3, vec![(&b"a"[..], 1), (&b"b"[..], 2)]), (counted.documents(), counted.features(1).expect("valid")));
}

#[test]
fn a_fitted_table_weighs_by_what_it_counted() {
    let counting = recipe(&Slots { features: "word", n: 1, ..Slots::default() });
    let mut counted = DocumentFrequencies::default();
    counting.count_documents(&mut counted, &["red wine", "red cheese", "red"].as_slice()).expect("reads texts");
    let features = counted.features(1).expect("valid");
    let names: Vec<&[u8]> = features.iter().map(|feature| feature.0).collect();
    let values: Vec<f64> = features.iter().map(|feature| smoothed(3, feature.1.into())).collect();
    let table = IdfTable::fitted(&names, &values, smoothed(3, 0)).expect("as many values");
    let slots = Slots { features: "word", n: 1, weight: "idf", idf: Some(table), top: "1", ..Slots::default() };
    let found = recipe(&slots).keywords(&["red wine and red"].as_slice()).expect("reads texts");
    // 2 · 1 / 4 for red, (ln 2 + 1) / 4 for wine, (ln 4 + 1) / 4 for and.
    assert_eq!(vec!["and"], found[0].0.strings().collect::<Vec<_>>());
    assert_eq!(vec![smoothed(3, 0) / 4.0], found[0].1);
}

// Refusals

#[test]
fn slots_that_do_not_fit_are_refused_with_what_is_allowed() {
    let stop_words = strings(&["the"]);
    let tags = strings(&["n"]);
    let unknown = strings(&["fr"]);
    let word = || Slots { features: "word", n: 1, ..Slots::default() };
    let given = || Slots { features: "given", weight: "given", ..Slots::default() };
    let minhash = |num_perm, scheme, value_bits| Family::MinHash { num_perm, scheme, value_bits };
    let table = || Some(IdfTable::Jieba);
    let cases = [
        (Slots { features: "line", ..Slots::default() }, "features=line is not allowed; use char, word or given"),
        (Slots { norm: "nfd", ..Slots::default() }, "norm=nfd is not allowed; use nfkc, nfc or none"),
        (Slots { case: "upper", ..Slots::default() }, "case=upper is not allowed; use fold, lower or keep"),
        (Slots { letters: "ascii", ..Slots::default() }, "letters=ascii is not allowed; use word, python or all"),
        (Slots { cut: "space", ..word() }, "cut=space is not allowed; use uax29, jieba, cppjieba, script or code"),
        (Slots { stop: &unknown, ..word() }, "stop=fr is not allowed; use one of en, ja, jieba, zh"),
        (Slots { n: 0, ..Slots::default() }, "n=0 is not allowed; use 1 to 64"),
        (Slots { n: 65, ..word() }, "n=65 is not allowed; use 1 to 64"),
        (Slots { min_length: 0, ..word() }, "min_length=0 is not allowed; use 1 to 64"),
        (
            Slots { stop_words: &stop_words, ..Slots::default() },
            "stop_words=1 words is not allowed; use none with char n-grams",
        ),
        (
            Slots { min_length: 2, ..Slots::default() },
            "cut=a rule for words is not allowed; use word:n with cut, min_length and tags",
        ),
        (Slots { tags: &tags, ..word() }, "tags=n is not allowed; use none without cut:jieba"),
        (
            Slots { cut: "script", letters: "all", ..word() },
            "letters=python or all is not allowed; use word with cut:script and cut:code",
        ),
        (
            Slots { user_words: "a", ..word() },
            "user_words=1 words is not allowed; use none without cut:jieba or cut:script",
        ),
        (
            Slots { weight: "tfidf", ..Slots::default() },
            "weight=tfidf is not allowed; use count, binary, log, idf (with a table), textrank or given",
        ),
        (
            Slots { weight: "idf", ..Slots::default() },
            "weight=idf is not allowed; use count, binary, log, idf (with a table), textrank or given",
        ),
        (
            Slots { weight: "textrank", n: 2, ..word() },
            "weight=textrank is not allowed; use textrank with word:1 alone",
        ),
        (
            Slots { idf: table(), ..word() },
            "idf=a table is not allowed; use a table with the weight idf, none with others",
        ),
        (
            Slots { weight: "given", ..Slots::default() },
            "weight=given is not allowed; use given with given features, count, binary, log, idf or textrank with others",
        ),
        (
            Slots { weight: "count", ..given() },
            "weight=count is not allowed; use given with given features, count, binary, log, idf or textrank with others",
        ),
        (Slots { top: "5", ..given() }, "top=5 is not allowed; use all with given features"),
        (
            Slots { top: "0", ..Slots::default() },
            "top=0 is not allowed; use all, a number from 1, or a share from 1% to 100%",
        ),
        (
            Slots { hash: "crc", ..Slots::default() },
            "hash=crc is not allowed; use one of xxh3, md5, sha1, sha224, sha256, sha384, sha512, fnv1a, murmur3, \
             lookup3, jenkins64, one_at_a_time",
        ),
        (Slots { hash: "md5", seed: 1, ..Slots::default() }, "seed=1 is not allowed; use 0: md5 takes no seed"),
        (
            Slots { family: Family::SimHash { bits: 1025 }, ..Slots::default() },
            "bits=1025 is not allowed; use 1 to 1024",
        ),
        (Slots { family: minhash(0, "one", 32), ..Slots::default() }, "num_perm=0 is not allowed; use 1 to 512"),
        (
            Slots { family: minhash(8, "two", 32), ..Slots::default() },
            "scheme=two is not allowed; use one, fast, classic or weighted",
        ),
        (Slots { family: minhash(8, "one", 16), ..Slots::default() }, "value_bits=16 is not allowed; use 32 or 64"),
        (
            Slots { family: minhash(8, "one", 32), weight: "count", ..Slots::default() },
            "weight=count is not allowed; use binary with minhash, which compares sets, or a scheme for weights, \
             minhash:NUM_PERM:weighted",
        ),
        (
            Slots { family: minhash(8, "one", 32), top: "5", ..Slots::default() },
            "top=5 is not allowed; use all with minhash, which compares whole sets, or minhash:NUM_PERM:weighted",
        ),
    ];
    for (slots, expected) in cases {
        let error = Recipe::new(&slots).err().map(|error| error.to_string());
        assert_eq!(Some(expected), error.as_deref());
    }
}

#[test]
fn recipes_refuse_what_they_do_not_make() {
    let simhash = recipe(&Slots::default());
    let family = Family::MinHash { num_perm: 4, scheme: "one", value_bits: 32 };
    let minhash = recipe(&Slots { family, ..Slots::default() });
    let given = recipe(&Slots { features: "given", weight: "given", ..Slots::default() });
    let text = ["text"];
    let refused = |error: Option<Error>| error.map(|error| error.to_string()).unwrap_or_default();
    let fingerprints = "family=minhash is not allowed; use simhash for fingerprints";
    assert_eq!(fingerprints, refused(minhash.fingerprints(&text.as_slice()).err()));
    assert_eq!(fingerprints, refused(minhash.fingerprints_given(&[0, 1], &text, Weights::Integers(&[1])).err()));
    assert_eq!(fingerprints, refused(minhash.fingerprints_csr(&[0], &[], &[]).err()));
    let signatures = "family=simhash is not allowed; use minhash, as in char:4|binary|xxh3|minhash:128";
    assert_eq!(signatures, refused(simhash.signatures(&text.as_slice()).err()));
    assert_eq!(signatures, refused(simhash.signatures_given(&[0, 1], &text, None).err()));
    assert_eq!(signatures, refused(simhash.signatures_hashed(&[0], &[], None).err()));
    let (narrow, wide) = (Signatures::Narrow(vec![0; 4]), Signatures::Wide(vec![0; 4]));
    assert_eq!(signatures, refused(simhash.merge(narrow.clone(), &narrow).err()));
    let reading = "features=given is not allowed; use char:n or word:n to read texts; given takes features and weights";
    assert_eq!(reading, refused(given.fingerprints(&text.as_slice()).err()));
    assert_eq!(reading, refused(given.words(&text.as_slice()).err()));
    assert_eq!(reading, refused(given.keywords(&text.as_slice()).err()));
    assert_eq!(reading, refused(given.features("text").err()));
    assert_eq!(reading, refused(given.count_documents(&mut DocumentFrequencies::default(), &text.as_slice()).err()));
    let weights = Weights::Floats(&[1.0, 2.0]);
    let length = "weights=2 values is not allowed; use 1 values";
    assert_eq!(length, refused(given.fingerprints_given(&[0, 1], &text, weights).err()));
    assert_eq!(length, refused(given.fingerprints_csr(&[0, 1], &[7], &[1.0, 2.0]).err()));
    let offsets = "offsets=2 numbers is not allowed; use ascending numbers from 0 to 1";
    assert_eq!(offsets, refused(given.fingerprints_given(&[0, 2], &text, Weights::Integers(&[1])).err()));
    assert_eq!(offsets, refused(minhash.signatures_given(&[0, 2], &text, None).err()));
    let types = "type of values differs: uint64 and uint32 against uint32; compare only values that share it";
    assert_eq!(types, refused(minhash.merge(wide, &narrow).err()));
    let rows = "number of values differs: 3 against 4; compare only values that share it";
    assert_eq!(rows, refused(minhash.merge(Signatures::Narrow(vec![0; 3]), &narrow).err()));
}

// Golden values

fn golden() -> Json {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/recipes.json");
    let text = std::fs::read_to_string(path).expect("the golden values are committed");
    serde_json::from_str(&text).expect("JSON")
}

fn list(slot: &Json) -> Vec<String> {
    let words = slot.as_array().expect("a list");
    words.iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
}

/// Build the recipe of a JSON form, with the tables that nearkin contains.
fn recipe_of_json(text: &str) -> Recipe {
    let json: Json = serde_json::from_str(text).expect("JSON");
    let slot = |name: &str| json[name].as_str().expect("a string");
    let number = |name: &str| json[name].as_u64().expect("a number");
    let (stop, stop_words, tags) = (list(&json["stop"]), list(&json["stop_words"]), list(&json["tags"]));
    let fold = if json["fold"].is_null() { Vec::new() } else { list(&json["fold"]) };
    let family = match slot("family") {
        "simhash" => Family::SimHash { bits: number("bits") as u32 },
        _ => Family::MinHash {
            num_perm: number("num_perm") as usize,
            scheme: slot("scheme"),
            value_bits: number("value_bits") as u32,
        },
    };
    recipe(&Slots {
        norm: slot("norm"),
        fold: &fold,
        case: slot("case"),
        letters: slot("letters"),
        // Left out at its default, as folds are.
        numbers: json["numbers"].as_str().unwrap_or("split"),
        cut: slot("cut"),
        user_words: slot("user_words"),
        stop: &stop,
        stop_words: &stop_words,
        min_length: number("min_length") as usize,
        tags: &tags,
        features: slot("features"),
        n: number("n") as usize,
        min_n: json["min_n"].as_u64().unwrap_or(0) as usize,
        weight: slot("weight"),
        idf: json["idf"].as_str().map(|name| IdfTable::named(name).expect("a table that nearkin carries")),
        top: slot("top"),
        hash: slot("hash"),
        seed: number("seed"),
        family,
    })
}

/// Format words of a fingerprint in hexadecimal, the lowest word last.
fn from_hex(text: &str, words: usize) -> Vec<u64> {
    let digits = format!("{:0>width$}", text.trim_start_matches("0x"), width = 16 * words);
    let word = |i: usize| u64::from_str_radix(&digits[16 * (words - 1 - i)..][..16], 16).expect("hexadecimal");
    (0..words).map(word).collect()
}

#[test]
fn golden_fingerprints_come_out_again() {
    let all = golden();
    for golden in [&all, &all["slots"], &all["code"]] {
        for entry in golden["recipes"].as_array().expect("a list") {
            let recipe = recipe_of_json(entry["json"].as_str().expect("a string"));
            for (name, text) in golden["texts"].as_object().expect("a table") {
                let text = text.as_str().expect("a text");
                let (found, counts) = recipe.fingerprints(&[text].as_slice()).expect("reads texts");
                let expected = from_hex(entry["fingerprints"][name].as_str().expect("a string"), found.len());
                assert_eq!((&expected, entry["counts"][name].as_u64()), (&found, Some(counts[0])), "{name} {entry}");
            }
        }
    }
}

#[test]
fn golden_fingerprints_of_given_features_come_out_again() {
    let golden = golden();
    for entry in golden["given"].as_array().expect("a list") {
        let (hash, seed) = entry["hash"].as_str().and_then(|hash| hash.split_once(':')).expect("a hash and its seed");
        let slots = Slots { features: "given", weight: "given", hash, ..Slots::default() };
        let recipe = recipe(&Slots { seed: seed.parse().expect("a number"), ..slots });
        let pairs = entry["document"].as_array().expect("a list");
        let names: Vec<&str> = pairs.iter().map(|pair| pair[0].as_str().expect("a feature")).collect();
        let integers: Option<Vec<i64>> = pairs.iter().map(|pair| pair[1].as_i64()).collect();
        let floats: Vec<f64> = pairs.iter().map(|pair| pair[1].as_f64().expect("a number")).collect();
        let weights = integers.as_deref().map_or(Weights::Floats(&floats), Weights::Integers);
        let found = recipe.fingerprints_given(&[0, names.len() as i64], &names, weights).expect("fits");
        assert_eq!(from_hex(entry["fingerprint"][0].as_str().expect("a string"), 2), found, "{entry}");
    }
}

#[test]
fn tables_that_nearkin_does_not_carry_are_refused() {
    let error = IdfTable::named("zh").err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!("idf=zh is not allowed; use jieba, cppjieba, or a digest with its table", error);
    let error = IdfTable::fitted(&["a"], &[], 1.0).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!("values=0 values is not allowed; use 1 values", error);
    let names: [&[u8]; 1] = [b"a"];
    let table = IdfTable::fitted(&names, &[2.5], 1.0).expect("as many values");
    let table = table.get().expect("room");
    assert_eq!((2.5, 1.0), (table.get(b"a"), table.get(b"b")));
    let carried = IdfTable::named("cppjieba").expect("carried");
    let found = carried.get().expect("room").get(b"CEO");
    assert_eq!(Idf::jieba(true).expect("room").get(b"CEO"), found);
}
