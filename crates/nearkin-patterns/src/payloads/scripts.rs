//! Features of short text files, such as scripts. They survive renamed variables, changed passwords, added comments
//! and base64.
//!
//! The file is decoded like a payload ([`super::decode`]: base64, escapes, comments, case). Line comments are removed,
//! and the rest is split into tokens: words, numbers (one token for all), long hexadecimal strings (one token),
//! symbols. Quotation marks and white space are skipped. A word that the file assigns (`name = …`) or that follows a
//! dollar sign is *a variable*: one token for all. Features are the XXH3 hashes of the distinct sequences of [`GRAM`]
//! tokens.
//!
//! Only files up to [`MAX_BYTES`] bytes without NUL, of which nine tenths are printable, have features. For longer
//! files fuzzy digests are precise enough.

use std::collections::HashSet;

use super::decode::{Decoder, MAX_BYTES};
use nearkin_core::hash::xxh3;

/// Number of tokens of a feature.
pub const GRAM: usize = 3;
/// Minimum number of features of a file.
pub const MIN_FEATURES: usize = 12;
/// Minimum number of hexadecimal digits that become one token: hashes, keys.
const DIGITS: usize = 16;

/// Tokens of classes.
const VARIABLE: u64 = 1;
const NUMBER: u64 = 2;
const HEXADECIMAL: u64 = 3;

/// Return the distinct features, ascending; None if the file is not a short text.
pub fn features(file: &[u8]) -> Option<Vec<u64>> {
    if file.len() > MAX_BYTES || file.contains(&0) {
        return None;
    }
    let printable = |byte: &&u8| matches!(**byte, b' '..=b'~' | b'\t' | b'\n' | b'\r' | 0x0c | 0x80..);
    if 10 * file.iter().filter(printable).count() < 9 * file.len() {
        return None;
    }
    let mut decoder = Decoder::default();
    // Remove line comments first, because line ends delimit them; decoded text may contain more.
    let text = without_lines(decoder.decode(&without_lines(file)));
    let words = words(&text);
    let variables = variables(&text, &words);
    let tokens: Vec<u64> = words
        .iter()
        .map(|&(start, end)| token(&text[start..end], start > 0 && text[start - 1] == b'$', &variables))
        .collect();
    let mut features: Vec<u64> = tokens.windows(GRAM).map(|gram| xxh3::hash(as_bytes(gram).as_slice(), 0)).collect();
    features.sort_unstable();
    features.dedup();
    (features.len() >= MIN_FEATURES).then_some(features)
}

fn as_bytes(gram: &[u64]) -> Vec<u8> {
    gram.iter().flat_map(|token| token.to_le_bytes()).collect()
}

/// Return a text without line comments: `//` and `#` after white space or at the start of a line.
fn without_lines(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let begins = |at: usize| at == 0 || line[at - 1].is_ascii_whitespace() || line[at - 1] == b';';
        let comment = (0..line.len()).find(|&at| {
            begins(at)
                && (line[at..].starts_with(b"//") || line[at..].starts_with(b"# ") || line[at..].starts_with(b"##"))
        });
        kept.extend_from_slice(&line[..comment.unwrap_or(line.len())]);
        if comment.is_some() {
            kept.push(b'\n');
        }
    }
    kept
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Return the ranges of words and symbols, without quotation marks, dollar signs and white space.
fn words(text: &[u8]) -> Vec<(usize, usize)> {
    let (mut result, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let length = text[at..].iter().take_while(|&&byte| in_word(byte)).count();
        let sign = length == 0 && text[at].is_ascii_graphic() && !matches!(text[at], b'\'' | b'"' | b'`' | b'$');
        if length > 0 || sign {
            result.push((at, at + length.max(1)));
        }
        at += length.max(1);
    }
    result
}

/// Return the words that the text assigns.
fn variables<'a>(text: &'a [u8], words: &[(usize, usize)]) -> HashSet<&'a [u8]> {
    let assigned = |pair: &&[(usize, usize)]| {
        let ((start, end), (sign, after)) = (pair[0], pair[1]);
        let single = &text[sign..after] == b"=" && !matches!(text.get(after), Some(b'=' | b'>' | b'~'));
        single && !text[start].is_ascii_digit() && in_word(text[start]) && end > start
    };
    words.windows(2).filter(assigned).map(|pair| &text[pair[0].0..pair[0].1]).collect()
}

fn token(word: &[u8], dollar: bool, variables: &HashSet<&[u8]>) -> u64 {
    if dollar || variables.contains(word) {
        VARIABLE
    } else if word.len() >= DIGITS && word.iter().all(u8::is_ascii_hexdigit) {
        HEXADECIMAL
    } else if word[0].is_ascii_digit() {
        NUMBER
    } else {
        xxh3::hash(word, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SCRIPT: &str = "<?php\n$password = 'secret';\nif ($_POST['p'] == $password) {\n  echo implode(',', scandir('/var/tmp'));\n  \
        $name = basename($_FILES['f']['name']);\n  move_uploaded_file($_FILES['f']['tmp_name'], '/var/tmp/' . $name);\n}\n?>\n";

    fn jaccard(left: &str, right: &str) -> f64 {
        let [a, b] = [left, right].map(|text| features(text.as_bytes()).expect("a text"));
        let common = a.iter().filter(|feature| b.binary_search(feature).is_ok()).count();
        common as f64 / (a.len() + b.len() - common) as f64
    }

    #[test]
    fn variants_of_a_script_are_near_and_others_are_not() {
        let renamed = SCRIPT.replace("$password", "$q7").replace("$name", "$zz");
        assert!(jaccard(SCRIPT, &renamed) > 0.9);
        let changed = SCRIPT.replace("secret", "0123456789abcdef0123").replace("    ", "\t");
        assert!(jaccard(SCRIPT, &changed) > 0.85);
        let commented = SCRIPT.replace(";\n", "; // note\n/* more */\n# and more\n");
        assert_eq!(1.0, jaccard(SCRIPT, &commented));
        assert_eq!(1.0, jaccard(SCRIPT, &SCRIPT.to_ascii_uppercase()));
        assert!(
            jaccard(
                SCRIPT,
                &"the quick brown fox jumps over a lazy dog and then it sleeps for one long day ".repeat(2)
            ) < 0.1
        );
        assert!(
            jaccard("a = b(c)\nd = e(a)\nfor f in g: h(f, a, d)\n", "q = b(c)\nr = e(q)\nfor f in g: h(f, q, r)\n")
                == 1.0
        );
    }

    #[test]
    fn only_short_text_has_features() {
        assert_eq!(None, features(b""));
        assert_eq!(None, features(b"too short"));
        assert_eq!(None, features(&[SCRIPT.as_bytes(), b"\0"].concat()));
        assert_eq!(None, features(&[SCRIPT.as_bytes(), &[1; 99]].concat()));
        assert_eq!(None, features(&vec![b'a'; MAX_BYTES + 1]));
    }

    proptest! {
        #[test]
        fn any_bytes_have_features_or_none(file in prop::collection::vec(any::<u8>(), 0..300)) {
            let result = features(&file).unwrap_or_default();
            prop_assert!(result.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
