//! Any bytes as a user's dictionary: an error or words, never a panic; and the tokens of a text concatenate to the
//! text.
//!
//! The words extend a small dictionary, by the same code as jieba's, which would take a second per input. The first
//! byte gives the dictionary's share of the input in sixteenths; the rest is the text.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use nearkin_core::text::jieba::{Base, Jieba, Scratch, parse_user_words};
use nearkin_fuzz::alone;

/// Words of all kinds: of one and many characters, nested, overlapping, Latin, with and without tags.
const WORDS: &str = "我 328841 r\n来到 6390 v\n北京 34488 ns\n北京大学 2053 nt\n大学 20025 n\n学生 17482 n\n清华大学 2053 nt\n\
    中 243191 f\n中国 26158 ns\n国 46731 n\n的 3188252 uj\n云 3331 ns\n计算 6740 v\nT恤 4 n\nAT&T 3 nz\nC++ 3 nz\n5G 9\n";

fuzz_target!(init: alone(), |input: &[u8]| {
    static BASE: OnceLock<Base> = OnceLock::new();
    let base = BASE.get_or_init(|| Base::new(&parse_user_words(WORDS).expect("words")).expect("few words"));
    let Some((&length, rest)) = input.split_first() else { return };
    let (words, text) = rest.split_at((16 * usize::from(length)).min(rest.len()));
    let (words, text) = (String::from_utf8_lossy(words), String::from_utf8_lossy(text));
    let Ok(words) = parse_user_words(&words) else { return };
    let Ok(jieba) = Jieba::over(base, &words) else { return };
    let mut scratch = Scratch::default();
    for tagged in [false, true] {
        let mut at = 0;
        let mut check = |start: usize, end: usize| {
            assert!(start == at && end > start && text.is_char_boundary(end));
            at = end;
        };
        if tagged {
            jieba.cut_tagged(&text, &mut scratch, |start, end, _| check(start, end)).expect("room");
        } else {
            jieba.cut(&text, &mut scratch, &mut check).expect("room");
        }
        assert_eq!(text.len(), at);
    }
});
