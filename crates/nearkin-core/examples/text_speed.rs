//! CPU seconds of text to fingerprint on lines of standard input: MB/s for each recipe, one thread.

use std::io::Read;
use std::time::Instant;

use nearkin_core::families::simhash::{SimHash, SimHashScratch, Weight};
use nearkin_core::hash::FeatureHash;
use nearkin_core::text::tokenizer::{FeatureKind, Tokenizer};
use nearkin_core::text::unicode::{Case, Form, Letters};

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("UTF-8 on standard input");
    let documents: Vec<&str> = text.split('\u{1e}').collect();
    let start = Instant::now();
    let _ = nearkin_core::text::unicode::CharMap::get(Form::Nfkc, Case::Fold, Letters::Word).expect("room");
    println!(
        "table {:.1} ms, {} documents, {} bytes",
        start.elapsed().as_secs_f64() * 1e3,
        documents.len(),
        text.len()
    );
    for (kind, bits, weight) in [
        (FeatureKind::Char(4), 64, Weight::Count),
        (FeatureKind::Char(4), 128, Weight::Count),
        (FeatureKind::Char(4), 256, Weight::Count),
        (FeatureKind::Char(4), 64, Weight::Binary),
        (FeatureKind::Char(4), 128, Weight::Binary),
        (FeatureKind::Char(5), 64, Weight::Binary),
        (FeatureKind::Word(1), 64, Weight::Binary),
        (FeatureKind::Word(1), 64, Weight::Count),
        (FeatureKind::Word(3), 64, Weight::Count),
    ] {
        let tokenizer = Tokenizer::new(kind, Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid");
        let simhash = SimHash::new(bits, FeatureHash::Xxh3(0)).expect("valid");
        let mut scratch = SimHashScratch::default();
        let mut out = vec![0; simhash.words()];
        let mut check = 0;
        let mut best = f64::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            for document in &documents {
                simhash.text(&tokenizer, weight, document, &mut scratch, &mut out).expect("room");
                check ^= out[0];
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        println!("{kind:?} {bits} {weight:?}: {:.0} MB/s ({check:x})", text.len() as f64 / best / 1e6);
    }
}
