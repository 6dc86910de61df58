//! Any bytes as a user's dictionary: an error or words, never a panic; and a text cut with them is still the text.
//!
//! The first byte says how many of the following are the dictionary, in sixteens; the rest is the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::text::jieba::{Jieba, Scratch, parse_user_words};

fuzz_target!(|input: &[u8]| {
    let Some((&length, rest)) = input.split_first() else { return };
    let (words, text) = rest.split_at((16 * usize::from(length)).min(rest.len()));
    let (words, text) = (String::from_utf8_lossy(words), String::from_utf8_lossy(text));
    let Ok(words) = parse_user_words(&words) else { return };
    let Ok(jieba) = Jieba::new(&words) else { return };
    let mut scratch = Scratch::default();
    for tagged in [false, true] {
        let mut at = 0;
        let mut check = |start: usize, end: usize| {
            assert!(start == at && end > start && text.is_char_boundary(end));
            at = end;
        };
        if tagged {
            jieba.cut_tagged(&text, &mut scratch, |start, end, _| check(start, end));
        } else {
            jieba.cut(&text, &mut scratch, &mut check);
        }
        assert_eq!(text.len(), at);
    }
});
