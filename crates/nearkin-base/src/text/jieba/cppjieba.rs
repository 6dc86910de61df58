//! Words by the rules of cppjieba (Wu, MIT licence), jieba in C++, equal to it token by token.
//!
//! 1. Spaces, tabs, line feeds, `，` and `。` are tokens, and the text between two of them is segmented independently.
//! 2. The path through the dictionary's words ([`Dictionary::cppjieba`]) is jieba's, but every character can be a
//!    token, with the minimum weight of all words if it is not a word, and ties are resolved in favour of the shorter
//!    word.
//! 3. In a run of single characters, an ASCII letter is joined with the ASCII letters and digits after it, a digit with
//!    the digits and points, and any other ASCII character is a token; runs of others, including punctuation, are
//!    segmented by the model ([`Places::cut_as_cppjieba`]).
//!
//! Cost and memory: those of jieba. Tests: against cppjieba in `tests/text/test_cppjieba.py`.

use super::dictionary::Dictionary;
use super::models::Places;
use super::{Cutter, EachToken, MAX_RUN, Rules, Scratch, decode};
use crate::{Result, alloc};

/// True if a character is always a token.
#[inline]
pub(super) fn is_separator(code_point: u32) -> bool {
    matches!(char::from_u32(code_point), Some(' ' | '\t' | '\n' | '，' | '。'))
}

/// Call `each(start, end)` with every token of `text`, including white space and punctuation: their concatenation is
/// the text.
///
/// # Errors
/// Memory runs out for the buffers, or for the dictionary at its first use.
pub fn cut_as_cppjieba(text: &str, scratch: &mut Scratch, mut each: impl FnMut(usize, usize)) -> Result<()> {
    let run = Cutter { dictionary: Dictionary::cppjieba()?, text: text.as_bytes(), rules: Rules::CppJieba };
    run.cut(scratch, &mut |start, end, _| each(start, end))
}

impl Cutter<'_> {
    /// Segment a run of single characters, from character `first` to `last` of the block that starts at `start`.
    pub(super) fn cut_singles_as_cppjieba(
        &self,
        first: usize,
        last: usize,
        start: usize,
        scratch: &mut Scratch,
        each: EachToken<'_>,
    ) -> Result<()> {
        let Scratch { offsets, run, models, .. } = scratch;
        let position = |i: usize| start + offsets[i] as usize;
        let byte = |i: usize| self.text[position(i)];
        let mut at = first;
        while at < last {
            let mut end = at + 1;
            if byte(at).is_ascii() {
                let goes_on: fn(u8) -> bool = match byte(at) {
                    b'a'..=b'z' | b'A'..=b'Z' => |b| b.is_ascii_alphanumeric(),
                    b'0'..=b'9' => |b| b.is_ascii_digit() || b == b'.',
                    _ => |_| false,
                };
                while end < last && goes_on(byte(end)) {
                    end += 1;
                }
                each(position(at), position(end), "");
            } else {
                run.clear();
                alloc::try_reserve(run, (last - at).min(MAX_RUN))?;
                end = at;
                while end < last && !byte(end).is_ascii() && end - at < MAX_RUN {
                    run.push(Places::cppjieba_place(decode(&self.text[position(end)..]).0));
                    end += 1;
                }
                let emit = |from: usize, to: usize| each(position(at + from), position(at + to), "");
                Places::cppjieba()?.cut_as_cppjieba(run, models, emit)?;
            }
            at = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        cut_as_cppjieba(text, &mut Scratch::default(), |start, end| words.push(&text[start..end])).expect("room");
        words
    }

    #[test]
    fn words_are_those_of_the_librarys_example() {
        let text =
            "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。";
        assert_eq!(
            "我/是/蓝翔/技工/拖拉机/学院/手扶拖拉机/专业/的/。/不用/多久/，/我/就/会/升职/加薪/，/当上/总经理/，/出任/CEO/，/走上/人生/巅峰/。",
            cut(text).join("/")
        );
    }

    #[test]
    fn numbers_letters_and_line_ends_are_cut_by_their_own_rules() {
        assert_eq!(vec!["3.14", "%", "，", "v2", ".", "0", "\r", "\n", " ", "U", "盘"], cut("3.14%，v2.0\r\n U盘"));
        assert_eq!(vec!["1.2.3.", "、", "、"], cut("1.2.3.、、"));
        assert_eq!(Vec::<&str>::new(), cut(""));
    }

    proptest! {
        #[test]
        fn tokens_are_the_text(text in "[一-龥a-z0-9 ,.%。，、\\r\\n∶-]{0,60}|\\PC{0,40}") {
            prop_assert_eq!(&text, &cut(&text).concat());
            prop_assert!(cut(&text).iter().all(|token| !token.is_empty()));
        }

        #[test]
        fn what_lies_between_separators_is_cut_by_itself(parts in prop::collection::vec("[一-龥的了是a-z0-9.、]{0,9}", 1..6)) {
            let whole: Vec<String> = cut(&parts.join("。")).into_iter().filter(|&token| token != "。").map(str::to_owned).collect();
            let alone: Vec<String> = parts.iter().flat_map(|part| cut(part)).map(str::to_owned).collect();
            prop_assert_eq!(alone, whole);
        }
    }
}
