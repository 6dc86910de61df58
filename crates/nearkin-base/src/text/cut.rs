//! Word segmentation of texts in many scripts: each run of a script is passed to its segmenter.
//!
//! | run | segmenter |
//! |---|---|
//! | ideographs and kana, including at least one kana | ICU4X, dictionary of Chinese and Japanese |
//! | only ideographs | jieba ([`crate::text::jieba`]) |
//! | Thai, Lao, Khmer or Myanmar | ICU4X, dictionary of the script |
//! | all others | UAX #29 |
//!
//! A run is segmented independently of the text around it, so an edit changes only the words of its own run. ICU4X uses
//! its dictionaries and not its neural models, whose floating-point functions may differ by platform.
//!
//! Cost: linear; ICU4X's dictionaries about 40 MB per second, jieba and UAX #29 more. Values depend on the version of
//! the data that this crate is locked to; `the_dictionaries_are_those_of_the_recipes_version` detects an update that
//! changes one.

use std::sync::OnceLock;

use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use unicode_segmentation::UnicodeSegmentation;

use crate::text::ascii_words;
use crate::text::jieba::{self, Jieba};
use crate::{Error, Result};

/// A word segmenter.
#[derive(Clone, Default)]
pub enum Cut {
    /// Words of UAX #29, or of the recipe's letters.
    #[default]
    Uax29,
    /// jieba's tokens.
    Jieba(Jieba),
    /// By script; Chinese with these words.
    Script(Jieba),
    /// cppjieba's tokens.
    CppJieba,
    /// Tokens of source code with folded names ([`crate::text::code`]); true if a short code is one word.
    Code(bool),
}

impl Cut {
    /// Return the segmenter called `name`; Chinese with jieba's dictionary and the user's words.
    ///
    /// # Errors
    /// An unknown name, or user words for a segmenter without a dictionary.
    pub fn new(name: &str, user_words: &[jieba::UserWord]) -> Result<Self> {
        match name {
            "uax29" if user_words.is_empty() => Ok(Self::Uax29),
            "cppjieba" if user_words.is_empty() => Ok(Self::CppJieba),
            "code" if user_words.is_empty() => Ok(Self::Code(true)),
            "uax29" | "cppjieba" | "code" => Err(Error::parameter(
                "user_words",
                format!("{} words", user_words.len()),
                "none without cut:jieba or cut:script",
            )),
            "jieba" => Ok(Self::Jieba(Jieba::new(user_words)?)),
            "script" => Ok(Self::Script(Jieba::new(user_words)?)),
            other => Err(Error::parameter("cut", other, "uax29, jieba, cppjieba, script or code")),
        }
    }
}

/// The script of a run, as far as it determines the segmenter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Han,
    Kana,
    /// South East Asian scripts written without spaces.
    Complex,
    Other,
}

fn script(c: char) -> Script {
    match u32::from(c) {
        // Thai and Lao; Myanmar and its extensions; Khmer.
        0x0e01..=0x0e3a
        | 0x0e40..=0x0edf
        | 0x1000..=0x109f
        | 0xa9e0..=0xa9fe
        | 0xaa60..=0xaa7f
        | 0x116d0..=0x116e3
        | 0x1780..=0x17f9
        | 0x19e0..=0x19ff => Script::Complex,
        0x3041..=0x309f
        | 0x30a1..=0x30fa
        | 0x30fc..=0x30ff
        | 0x31f0..=0x31ff
        | 0x32d0..=0x32fe
        | 0x3300..=0x3357
        | 0xff66..=0xff9f
        | 0x1aff0..=0x1b168
        | 0x1f200 => Script::Kana,
        0x2e80..=0x2fd5
        | 0x3005..=0x3007
        | 0x3021..=0x3029
        | 0x3038..=0x303b
        | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff
        | 0xf900..=0xfad9
        | 0x16fe2..=0x16fff
        | 0x20000..=0x3ffff => Script::Han,
        _ => Script::Other,
    }
}

fn icu() -> WordSegmenterBorrowed<'static> {
    static SEGMENTER: OnceLock<WordSegmenterBorrowed<'static>> = OnceLock::new();
    *SEGMENTER.get_or_init(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()))
}

/// Call `each(start, end)` with every token of `text`, by the script of its run; tokens of UAX #29 contain a letter or
/// a digit.
///
/// # Errors
/// Memory runs out for the buffers of jieba.
pub(crate) fn by_script(
    text: &str,
    jieba: &Jieba,
    scratch: &mut jieba::Scratch,
    each: &mut dyn FnMut(usize, usize),
) -> Result<()> {
    let mut characters = text.char_indices().map(|(at, c)| (at, script(c))).peekable();
    while let Some((start, first)) = characters.next().filter(|_| !scratch.cancel.is_set()) {
        let cjk = |script| matches!(script, Script::Han | Script::Kana);
        let mut kana = first == Script::Kana;
        while let Some((_, next)) = characters.next_if(|&(_, next)| next == first || cjk(first) && cjk(next)) {
            kana |= next == Script::Kana;
        }
        let run = &text[start..characters.peek().map_or(text.len(), |&(end, _)| end)];
        let mut shifted = |from: usize, to: usize| each(start + from, start + to);
        match first {
            Script::Other if run.is_ascii() => ascii_words::each(run.as_bytes(), &scratch.cancel, shifted),
            Script::Other => {
                for (at, word) in scratch.cancel.often(run.unicode_word_indices()) {
                    shifted(at, at + word.len());
                }
            }
            Script::Han if !kana => jieba.cut(run, scratch, shifted)?,
            _ => {
                let mut before = 0;
                for end in scratch.cancel.often(icu().segment_str(run).skip(1)) {
                    shifted(before, end);
                    before = end;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use icu_properties::CodePointMapData;
    use icu_properties::props;
    use proptest::prelude::*;

    fn cut(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        let mut each = |start: usize, end: usize| words.push(&text[start..end]);
        by_script(text, &Jieba::default(), &mut jieba::Scratch::default(), &mut each).expect("room");
        words
    }

    #[test]
    fn the_dictionaries_are_those_of_the_recipes_version() {
        assert_eq!(
            vec!["東京", "都", "は", "日本", "の", "首都", "で", "あり", "データベースサーバー", "を", "構築", "する"],
            cut("東京都は日本の首都であり、データベースサーバーを構築する。")
        );
        assert_eq!(
            vec!["ภาษา", "ไทย", "ไม่มี", "การ", "เว้น", "วรรค", "ระหว่าง", "คำ"],
            cut("ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ")
        );
        assert_eq!(vec!["ພາສາ", "ລາວ"], cut("ພາສາລາວ"));
        assert_eq!(vec!["我", "来到", "北京", "清华大学"], cut("我来到北京清华大学"));
    }

    #[test]
    fn each_run_of_a_mixed_text_is_cut_by_its_own_segmenter() {
        assert_eq!(
            vec!["I", "can't", "read", "清华大学", "or", "日本語", "の", "3.14", "한국어를", "ไทย", "ελληνικά"],
            cut("I can't read 清华大学 or 日本語の, 3.14 한국어를 ไทย (ελληνικά)!")
        );
    }

    #[test]
    fn scripts_are_those_of_unicode() {
        let map = CodePointMapData::<props::Script>::new();
        for c in '\0'..=char::MAX {
            let expected = match map.get(c) {
                props::Script::Han => Script::Han,
                props::Script::Hiragana | props::Script::Katakana => Script::Kana,
                props::Script::Thai | props::Script::Lao | props::Script::Khmer | props::Script::Myanmar => {
                    Script::Complex
                }
                _ => continue,
            };
            assert_eq!(expected, script(c), "U+{:04X}", u32::from(c));
        }
    }

    proptest! {
        #[test]
        fn words_are_in_order_and_a_text_is_cut_as_its_lines_are(
            lines in prop::collection::vec("[a-zA-Z' ,.0-9一-龥ぁ-んァ-ヶーก-๙]{0,12}|\\PC{0,12}", 1..5)
        ) {
            let text = lines.join("\n");
            let mut at = 0;
            by_script(&text, &Jieba::default(), &mut jieba::Scratch::default(), &mut |start, end| {
                assert!(at <= start && start < end);
                at = end;
            })
            .expect("room");
            let whole = cut(&text);
            let parts: Vec<&str> = lines.iter().flat_map(|line| cut(line)).collect();
            prop_assert_eq!(parts, whole);
        }
    }
}
