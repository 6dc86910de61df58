//! Lists of stop words by name.
//!
//! `en`, `zh` and `ja` are the lists of Stopwords ISO (Diaz, MIT licence), in the crate `stop-words`, which is pinned
//! to one version so that a recipe that names a list is stable; a test pins the lists. `jieba` is the short English
//! list of jieba's keyword extraction, in every combination of upper and lower case, because jieba compares in lower
//! case.

use crate::{Error, Result};

/// Names of the lists.
pub const NAMES: [&str; 4] = ["en", "ja", "jieba", "zh"];

const JIEBA: [&str; 31] = [
    "the", "of", "is", "and", "to", "in", "that", "we", "for", "an", "are", "by", "be", "as", "on", "with", "can",
    "if", "from", "which", "you", "it", "this", "then", "at", "have", "all", "not", "one", "has", "or",
];

/// Return the list called `name`.
///
/// # Errors
/// An unknown name.
pub fn list(name: &str) -> Result<Vec<String>> {
    match name {
        "jieba" => Ok(JIEBA.iter().flat_map(|word| mixtures(word)).collect()),
        "en" | "ja" | "zh" => {
            Ok(stop_words::lookup(name).unwrap_or_default().iter().map(|&word| word.to_owned()).collect())
        }
        other => Err(Error::parameter("stop", other, format!("one of {}", NAMES.join(", ")))),
    }
}

/// Return a word of at most five letters in every combination of cases.
fn mixtures(word: &str) -> impl Iterator<Item = String> {
    (0..1_u32 << word.len()).map(move |capitals| {
        let letter = |(i, c): (usize, char)| if capitals >> i & 1 == 1 { c.to_ascii_uppercase() } else { c };
        word.chars().enumerate().map(letter).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::xxh3;

    #[test]
    fn every_name_has_its_list_and_others_say_which_there_are() {
        for name in NAMES {
            let words = list(name).expect("known");
            assert!(!words.is_empty() && words.iter().all(|word| !word.is_empty()), "{name}");
        }
        let error = list("fr").expect_err("unknown").to_string();
        assert_eq!("stop=fr is not allowed; use one of en, ja, jieba, zh", error);
    }

    #[test]
    fn mixtures_are_all_ways_to_write_a_word() {
        let mut found: Vec<String> = mixtures("be").collect();
        found.sort();
        assert_eq!(vec!["BE", "Be", "bE", "be"], found);
        for word in JIEBA {
            let found: std::collections::HashSet<String> = mixtures(word).collect();
            assert_eq!(1 << word.len(), found.len());
            assert!(found.iter().all(|mixture| mixture.eq_ignore_ascii_case(word)));
        }
    }

    #[test]
    fn the_lists_are_those_of_the_recipes_version() {
        let digest = |name| {
            let mut words = list(name).expect("known");
            words.sort_unstable();
            words.dedup();
            (words.len(), xxh3::hash(words.join("\n").as_bytes(), 0))
        };
        assert_eq!((1298, 13293061890596925551), digest("en"));
        assert_eq!((794, 5054502178050763043), digest("zh"));
        assert_eq!((134, 6943271329180829516), digest("ja"));
        assert!(list("jieba").expect("known").contains(&"ThE".to_owned()));
        assert!(list("fr").is_err());
    }
}
