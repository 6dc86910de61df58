//! Words that are kept literal in templates of payloads: the vocabulary of SQL, markup, scripts, shells and servers.
//! Any other word is a name. The list is `data/payload-words.txt`.
//!
//! A lookup costs one XXH3 and usually one comparison.

use std::sync::OnceLock;

use nearkin_core::hash::xxh3;

const LIST: &str = include_str!("../../data/payload-words.txt");

/// Upper bound of the length of a word.
pub(crate) const MAX_BYTES: usize = 40;
/// Number of slots of the table, a power of two.
const SLOTS: usize = 1 << 12;
/// An empty slot.
const NONE: u16 = u16::MAX;

/// Words by number, and a table of numbers by hash.
#[derive(Debug)]
struct Words {
    all: Vec<&'static str>,
    slots: Box<[u16; SLOTS]>,
}

fn words() -> &'static Words {
    static WORDS: OnceLock<Words> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut result = Words { all: Vec::new(), slots: Box::new([NONE; SLOTS]) };
        for word in LIST.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_ascii_whitespace) {
            let slot = result.slot(word.as_bytes());
            if result.slots[slot] == NONE {
                result.slots[slot] = result.all.len() as u16;
                result.all.push(word);
            }
        }
        result
    })
}

impl Words {
    /// Return the slot of a word, or the slot to insert it.
    fn slot(&self, word: &[u8]) -> usize {
        let mut slot = xxh3::hash(word, 0) as usize % SLOTS;
        while self.slots[slot] != NONE && self.all[usize::from(self.slots[slot])].as_bytes() != word {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }
}

/// Return the number of a word of lower-case letters.
#[inline]
pub(crate) fn number(word: &[u8]) -> Option<u16> {
    if word.len() > MAX_BYTES {
        return None;
    }
    let words = words();
    match words.slots[words.slot(word)] {
        NONE => None,
        number => Some(number),
    }
}

/// Return the word of a number.
pub(crate) fn text(number: u16) -> &'static str {
    words().all[usize::from(number)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_and_nothing_else() {
        let all = &words().all;
        assert!((1000..SLOTS / 2).contains(&all.len()));
        for (position, word) in all.iter().enumerate() {
            assert_eq!((Some(position as u16), *word), (number(word.as_bytes()), text(position as u16)));
            assert!(word.len() <= MAX_BYTES && !word.bytes().any(|byte| byte.is_ascii_uppercase()));
        }
        for other in ["", "qzjx", "Select", "selectx", "a word that is longer than any of the words in the list"] {
            assert_eq!(None, number(other.as_bytes()));
        }
    }
}
