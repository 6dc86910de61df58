//! Texts: their fingerprints, signatures, words and keywords, feature counts, and the cache of a deduplication.
//!
//! Every recipe reads many short texts, whose results are large together, and long ones, whose buffers are each large:
//! ASCII, letters that become longer, letters that combine with earlier ones, ideographs.

use nearkin_core::Result;
use nearkin_core::dedup::absorb::{Fingerprints, absorb, absorb_listed, first_matches, near};
use nearkin_core::dedup::verify::{Cache, Measure, feature_sets};
use nearkin_core::families::recipe::{Family, Recipe, Signatures, Slots, Weights};
use nearkin_core::text::contents::{byte_hashes, content_hashes};
use nearkin_core::text::edits::{common, distance, edits};
use nearkin_core::text::idf::DocumentFrequencies;
use nearkin_core::text::jieba::{Base, Jieba, Scratch, parse_user_words};
use nearkin_core::text::keywords::IdfTable;
use nearkin_core::text::words::joined;

use super::{attack, numbers};

/// Return the words of a long text, most of them different.
const WORDS: usize = 12_000;

/// Return words over `alphabet`, each followed by `between`.
fn words(alphabet: &str, between: &str, seed: u64) -> String {
    some_words(WORDS, alphabet, between, seed)
}

fn some_words(count: usize, alphabet: &str, between: &str, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let word = |n: u64| (0..4).map(move |i| letters[(n >> (8 * i)) as usize % letters.len()]).collect::<String>();
    numbers(count, seed).iter().map(|&n| word.clone()(n) + between).collect()
}

/// Return long texts of several kinds.
fn long() -> Vec<String> {
    vec![
        words("abcdefghijklmnopqrstuvwxyz", " ", 1),
        // Letters of two bytes, and ligatures with a compatibility form of 18 characters.
        words("абвгдежзийклмнопрстуфхцчшщ", " ", 2) + &"\u{fdfa} ".repeat(3000),
        // A mark combines with the letter before it.
        words("aeiou\u{301}\u{308}bcdfg", " ", 3),
        words("的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会", "，", 4),
        words("麤龘鱻們來時這個鑫森", "", 5),
    ]
}

/// Return many short texts, and those of `long`.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = numbers(9000, 6).iter().map(|n| format!("text {} of {}", n % 5000, n % 7)).collect();
    texts.extend(long());
    texts
}

fn recipe(slots: &Slots<'_>) -> Recipe {
    Recipe::new(slots).expect("valid")
}

fn word_slots(n: usize, cut: &'static str) -> Slots<'static> {
    Slots { features: "word", n, cut, family: Family::SimHash { bits: 64 }, ..Slots::default() }
}

/// Test a call that changes nothing. Tables that are unpacked once are initialized before.
fn ask<T: std::fmt::Debug + PartialEq + Send>(name: &str, call: impl Fn() -> Result<T> + Sync) {
    call().expect("there is memory");
    attack(name, || (), |()| (), |()| call());
}

#[test]
fn fingerprints_are_refused_and_given() {
    let texts = texts();
    // A thousand sums for each feature: a few of the texts suffice.
    let some = [&texts[..1000], &texts[9001..9003]].concat();
    let wide = Slots { hash: "md5", family: Family::SimHash { bits: 1024 }, ..Slots::default() };
    let idf = Slots { weight: "idf", idf: Some(IdfTable::Jieba), top: "50%", ..word_slots(1, "jieba") };
    let tags = ["n".to_owned(), "v".to_owned(), "x".to_owned()];
    for (name, slots) in [
        ("characters", Slots::default()),
        ("characters of NFC in lower case", Slots { norm: "nfc", case: "lower", ..Slots::default() }),
        ("count", Slots { weight: "count", ..Slots::default() }),
        ("md5", wide),
        ("words", word_slots(1, "uax29")),
        ("three words", word_slots(3, "uax29")),
        ("words of Python", Slots { letters: "python", ..word_slots(2, "uax29") }),
        ("logarithms", Slots { weight: "log", top: "9000", ..Slots::default() }),
        ("textrank", Slots { weight: "textrank", top: "all", ..word_slots(1, "uax29") }),
        ("idf", idf),
        ("parts of speech", Slots { tags: &tags, ..word_slots(1, "jieba") }),
        ("scripts", word_slots(2, "script")),
    ] {
        let recipe = recipe(&slots);
        let texts = if name == "md5" { some.as_slice() } else { texts.as_slice() };
        ask(&format!("fingerprints: {name}"), || recipe.fingerprints(&texts));
    }
}

#[test]
fn signatures_are_refused_and_given() {
    let texts = texts();
    for scheme in ["one", "fast", "classic"] {
        for value_bits in [32, 64] {
            let family = Family::MinHash { num_perm: 32, scheme, value_bits };
            let recipe = recipe(&Slots { family, ..Slots::default() });
            ask(&format!("signatures: {scheme}"), || recipe.signatures(&texts.as_slice()));
        }
    }
    let family = Family::MinHash { num_perm: 32, scheme: "one", value_bits: 32 };
    let recipe = recipe(&Slots { features: "given", weight: "given", family, ..Slots::default() });
    let offsets: Vec<i64> = (0..=10_000).map(|i| 3 * i).collect();
    let hashes = numbers(30_000, 7);
    ask("signatures of hashes", || recipe.signatures_hashed(&offsets, &hashes, None));
    let names: Vec<Vec<u8>> = hashes.iter().map(|hash| hash.to_le_bytes().to_vec()).collect();
    ask("signatures of features", || recipe.signatures_given(&offsets, &names, None));
    let Ok(Signatures::Narrow(values)) = recipe.signatures_hashed(&offsets, &hashes, None) else { panic!("narrow") };
    ask("differences", || nearkin_core::families::minhash::differences(&values, &values[..1], 1));
}

#[test]
fn given_features_are_refused_and_given() {
    let family = Family::SimHash { bits: 128 };
    let recipe = recipe(&Slots { features: "given", weight: "given", family, ..Slots::default() });
    // One document with many features, and many with one.
    let offsets: Vec<i64> = std::iter::once(0).chain(10_000..=20_000).collect();
    let columns: Vec<i64> = (0..20_000).collect();
    let weights: Vec<f64> = columns.iter().map(|&column| (column % 9) as f64).collect();
    let names: Vec<Vec<u8>> = columns.iter().map(|column| column.to_le_bytes().to_vec()).collect();
    ask("rows", || recipe.fingerprints_csr(&offsets, &columns, &weights));
    ask("features", || recipe.fingerprints_given(&offsets, &names, Weights::Floats(&weights)));
    ask("counted features", || recipe.fingerprints_given(&offsets, &names, Weights::Integers(&columns)));
}

#[test]
fn words_and_keywords_are_refused_and_given() {
    let texts = texts();
    for cut in ["uax29", "jieba", "cppjieba", "script", "code"] {
        let recipe = recipe(&word_slots(1, cut));
        ask(&format!("words: {cut}"), || joined(&recipe.words(&texts.as_slice())?));
    }
    let textrank = recipe(&Slots { weight: "textrank", ..word_slots(1, "jieba") });
    ask("keywords", || textrank.keywords(&texts.as_slice()));
    let counted = recipe(&Slots { weight: "count", ..word_slots(2, "uax29") });
    ask("counted keywords", || counted.keywords(&texts.as_slice()));
    ask("features", || counted.features(&texts[9000]));
}

#[test]
fn document_frequencies_are_whole() {
    let texts = texts();
    let recipe = recipe(&word_slots(2, "uax29"));
    let some = || {
        let mut counted = DocumentFrequencies::default();
        recipe.count_documents(&mut counted, &&texts[..5000]).expect("there is memory");
        counted
    };
    let state = |counted: &DocumentFrequencies| {
        let features = counted.features(1).expect("there is memory");
        (counted.documents(), features.len(), features.iter().map(|feature| u64::from(feature.1)).sum::<u64>())
    };
    attack("document frequencies", some, state, |counted| recipe.count_documents(counted, &&texts[5000..]));
    let counted = some();
    ask("features of documents", || Ok(counted.features(1)?.len()));
}

#[test]
fn dictionaries_and_tables_are_refused_and_given() {
    let some: Vec<String> = words("的一是了我不人在他有这个上们来到时大地为子中你说生国年", " ", 9)
        .split(' ')
        .map(str::to_owned)
        .filter(|word| !word.is_empty())
        .collect();
    let lines = some.iter().zip(1..).map(|(word, n)| format!("{word} {} t{}", n % 3000, n % 9));
    let lines = lines.collect::<Vec<String>>().join("\n");
    ask("user words", || Ok(parse_user_words(&lines)?.len()));
    let user = parse_user_words(&lines).expect("there is memory");
    let text = some[..50].concat();
    let cut = |jieba: &Jieba| {
        let mut count = 0;
        jieba.cut(&text, &mut Scratch::default(), |_, _| count += 1).map(|()| count)
    };
    let base = Base::new(&user[..5000]).expect("there is memory");
    ask("base", || Base::new(&user[..5000]).map(drop));
    ask("dictionary", || cut(&Jieba::over(&base, &user[5000..])?));
    ask("jieba's dictionary and a word", || cut(&Jieba::new(&user[..1])?));
    ask("stop words", || Recipe::new(&Slots { stop_words: &some, ..word_slots(1, "uax29") }).map(drop));
    let values = vec![1.5; some.len()];
    ask("table", || Ok(IdfTable::fitted(&some, &values, 7.0)?.get()?.get(some[3].as_bytes())));
}

#[test]
fn hashes_of_contents_are_refused_and_given() {
    let texts = texts();
    let bytes = vec![7_u8; 1 << 17];
    ask("contents", || content_hashes(&texts.as_slice()));
    ask("bytes", || byte_hashes(&bytes, 16));
    let recipe = recipe(&Slots::default());
    ask("feature sets", || feature_sets(recipe.tokenizer()?, &texts.as_slice()));
}

#[test]
fn caches_are_whole() {
    let texts = texts();
    let recipe = recipe(&Slots::default());
    let tokenizer = recipe.tokenizer().expect("of texts");
    let rows: Vec<u32> = (0..texts.len() as u32).collect();
    let twice = [rows.as_slice(); 2].concat();
    let (first, later) = (&rows[..1000], &rows[1000..]);
    for measure in [Measure::Jaccard, Measure::Indel] {
        let some = || {
            let mut cache = Cache::new(measure, None, 0);
            cache.add(tokenizer, first, &&texts[..1000]).expect("there is memory");
            cache
        };
        let state = |cache: &Cache| {
            (cache.first_missing(&rows), cache.similarities(&[1, 2], &[3, 4], false, 0.0).expect("there is memory"))
        };
        attack("cache add", some, state, |cache| cache.add(tokenizer, later, &&texts[1000..]));
        attack("cache missing", some, state, |cache| Ok(cache.missing(&twice)?.len()));
    }
    let (offsets, ids) = feature_sets(tokenizer, &texts.as_slice()).expect("there is memory");
    let empty = || Cache::new(Measure::Containment, None, 0);
    let state = |cache: &Cache| cache.first_missing(&rows);
    attack("cache add sets", empty, state, |cache| cache.add_sets(&rows, &offsets, &ids));
    // One row per chunk, so that the list of chunks is long.
    let chunks = || {
        let mut cache = empty();
        (0..8192_u32).for_each(|row| cache.add_sets(&[row], &[0, 1], &[7]).expect("there is memory"));
        assert_eq!(Vec::<u32>::new(), cache.missing(&[]).expect("room"));
        cache
    };
    attack("cache shrink", chunks, |cache| cache.first_missing(&[3]).is_none(), Cache::shrink);
}

#[test]
fn edits_are_refused_and_given() {
    // Nearly all symbols are distinct; a third of them differ in the second sequence.
    let a: Vec<u32> = numbers(18_000, 14).iter().map(|&n| n as u32).collect();
    let b: Vec<u32> = a.iter().map(|&symbol| if symbol % 3 == 0 { symbol ^ 1 } else { symbol }).collect();
    ask("edits", || edits(&a, &b));
    ask("distance", || distance(&a, &b));
    ask("common subsequence", || common(&a, &b));
}

#[test]
fn comparisons_are_refused_and_given() {
    let recipe = recipe(&Slots::default());
    let tokenizer = recipe.tokenizer().expect("of texts");
    // Long enough for the strips of Indel: shorter texts are compared by a crate.
    let texts: Vec<String> = (8..12).map(|seed| some_words(4000, "abcdefgh", " ", seed)).collect();
    for measure in [Measure::Jaccard, Measure::Indel] {
        let mut cache = Cache::new(measure, None, usize::MAX);
        cache.add(tokenizer, &[0, 1, 2, 3], &texts.as_slice()).expect("there is memory");
        ask("similarities", || cache.similarities(&[0, 2], &[1, 3], false, 0.0));
        let matched = |found: nearkin_core::dedup::absorb::Matches| (found.by, found.verified);
        ask("matches", || first_matches(&cache, 0.1, &[0, 2], &[0, 1, 2], &[1, 3], 9).map(matched));
        let equal = vec![7; 4];
        ask("absorb", || {
            let fingerprints = Fingerprints::new(&equal, 1)?;
            absorb(Some(&cache), 0.1, &fingerprints, 3, &[0, 1, 2, 3], 9).map(matched)
        });
        ask("absorb listed", || {
            absorb_listed(Some(&cache), 0.1, &[0, 1, 2, 3], &[0, 3, 3, 4, 4], &[1, 2, 3, 3], None, 9).map(matched)
        });
    }
    // All are compared with all, and few are near, because a hit takes a hundred times as long as a miss.
    let mut different = numbers(1 << 16, 13);
    different[7] = different[8];
    ask("near", || near(&different, 1, 0));
    let (many, documents) = (vec![7; 30_000], vec![0_u32; 30_000]);
    ask("absorb equal ones", || {
        let fingerprints = Fingerprints::new(&many, 1)?;
        Ok(absorb(None, 0.1, &fingerprints, 3, &documents, 9)?.by)
    });
}
