//! Word boundaries of ASCII texts by UAX #29, 64 bytes at a time.
//!
//! With one bit per byte in the masks L (letters), D (digits), U (`_`), M (`.`, `:`, `'`, which link letters) and N
//! (`.`, `,`, `;`, `'`, which link digits), and with `before`/`after` the mask shifted by one byte:
//! ```text
//! link = M ∧ before(L) ∧ after(L)  ∨  N ∧ before(D) ∧ after(D)        WB6, WB7, WB11, WB12
//! word = L ∨ D ∨ U ∨ link                                             WB5, WB8–10, WB13a, WB13b
//! ```
//! A word is a maximal run of set bits that contains a letter or a digit. Cost: about ten mask operations per 64 bytes,
//! then one step per word ([`each`]), or a few steps for the words of 64 bytes ([`join`]). Source: UAX #29, section
//! 4.1, restricted to ASCII. Tests: `words_equal_the_segmenter`, `joined_words_are_the_words`.

use crate::Result;
use crate::cancel::CancelToken;
use crate::cpu::simd::{BYTES, Classes, Simd, with_simd};

/// The classes of ASCII characters. Letters are two rectangles of the upper and lower half of their bytes: `A` to `O`
/// with `a` to `o`, `P` to `Z` with `p` to `z`.
const CLASSES: Classes = Classes::new([
    (1 << 4 | 1 << 6, !1),
    (1 << 5 | 1 << 7, 0x07ff),
    (1 << 3, 0x03ff),
    (1 << 5, 1 << 15),
    // . and '
    (1 << 2, 1 << 14 | 1 << 7),
    // :
    (1 << 3, 1 << 10),
    // ,
    (1 << 2, 1 << 12),
    // ;
    (1 << 3, 1 << 11),
]);
const LETTER: u8 = 1 | 1 << 1;
const DIGIT: u8 = 1 << 2;
const JOINER: u8 = 1 << 3;
const LETTER_LINK: u8 = 1 << 4 | 1 << 5;
const DIGIT_LINK: u8 = 1 << 4 | 1 << 6 | 1 << 7;

/// Masks of one block of 64 bytes.
#[derive(Clone, Copy, Default)]
struct Masks {
    letters: u64,
    digits: u64,
    joiners: u64,
    letter_links: u64,
    digit_links: u64,
}

/// Return the bytes of a block that belong to words, or to joiners alone.
#[inline(always)]
fn run_mask(previous: &Masks, current: &Masks, next: &Masks) -> u64 {
    let around = |before: u64, here: u64, after: u64| (here << 1 | before >> 63) & (here >> 1 | after << 63);
    let links = current.letter_links & around(previous.letters, current.letters, next.letters)
        | current.digit_links & around(previous.digits, current.digits, next.digits);
    current.letters | current.digits | current.joiners | links
}

/// Bytes between two cancellation points.
const PART: usize = 64 * BYTES;

/// The masks of the block before the next one and of the next, which a run's mask depends on.
#[derive(Default)]
struct Blocks {
    previous: Masks,
    current: Masks,
}

impl Blocks {
    /// Return the mask of block `i`; blocks are asked for in order.
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and the caller enables them.
    #[inline(always)]
    unsafe fn run<S: Simd>(&mut self, text: &[u8], i: usize) -> u64 {
        if i == 0 {
            // SAFETY: as above.
            self.current = unsafe { masks::<S>(text) };
        }
        // SAFETY: as above.
        let next = unsafe { masks::<S>(text.get(BYTES * (i + 1)..).unwrap_or_default()) };
        let run = run_mask(&self.previous, &self.current, &next);
        (self.previous, self.current) = (self.current, next);
        run
    }
}

/// Return the masks of the first 64 bytes; missing bytes are NUL, of no class.
///
/// # Safety
/// The processor has the instructions of `S`, and the caller enables them.
#[inline(always)]
unsafe fn masks<S: Simd>(bytes: &[u8]) -> Masks {
    // SAFETY: a full load reads 64 of the bytes, the other no more than there are.
    unsafe {
        let block =
            if bytes.len() >= BYTES { S::load(bytes.as_ptr()) } else { S::load_first(bytes.as_ptr(), bytes.len()) };
        let classes = S::classes(&CLASSES, block);
        Masks {
            letters: S::any_of(classes, LETTER),
            digits: S::any_of(classes, DIGIT),
            joiners: S::any_of(classes, JOINER),
            letter_links: S::any_of(classes, LETTER_LINK),
            digit_links: S::any_of(classes, DIGIT_LINK),
        }
    }
}

/// Call `each(start, end)` with every word of ASCII `text` that contains a letter or digit, in order, until the call is
/// cancelled.
#[inline]
pub(crate) fn each(text: &[u8], cancel: &CancelToken, mut each: impl FnMut(usize, usize)) {
    let (mut blocks, mut edges) = (Blocks::default(), [0; PART / BYTES]);
    let (mut before, mut inside, mut start) = (0, false, 0);
    // Words end at the first byte after them, so a block of nothing may follow the text.
    for part in (0..=text.len()).step_by(PART) {
        if cancel.is_set() {
            return;
        }
        let count = ((text.len() - part) / BYTES + 1).min(PART / BYTES);
        with_simd!(S => {
            for (i, edges) in edges[..count].iter_mut().enumerate() {
                // SAFETY: this form is compiled for the instructions of `S`.
                let word = unsafe { blocks.run::<S>(text, part / BYTES + i) };
                // Bits at the start or end of a word (the byte after its last).
                *edges = word ^ (word << 1 | before);
                before = word >> 63;
            }
        });
        for (i, &edges) in edges[..count].iter().enumerate() {
            let mut rest = edges;
            while rest != 0 {
                let at = part + BYTES * i + rest.trailing_zeros() as usize;
                if inside {
                    let word = &text[start..at];
                    // Only a joiner can form a word without letter or digit, and then it is the first byte.
                    if word[0] != b'_' || word.iter().any(u8::is_ascii_alphanumeric) {
                        each(start, at);
                    }
                }
                (start, inside) = (at, !inside);
                rest &= rest - 1;
            }
        }
    }
}

/// Write the words of ASCII `text` to `joined`, each followed by one space (optional after the last), and their ends to
/// `ends`: word w is the range from the previous end plus one (0 for the first word) to `ends[w]`. `joined` has
/// capacity for `SLACK` more bytes. Return false, with nothing done, if the text has 2^31 bytes or more.
///
/// # Errors
/// Memory runs out.
pub(crate) fn join(text: &[u8], joined: &mut Vec<u8>, ends: &mut Vec<u32>) -> Result<bool> {
    if text.len() >= 1 << 31 {
        return Ok(false);
    }
    joined.clear();
    crate::alloc::try_reserve(joined, text.len() + crate::text::unicode::SLACK + BYTES)?;
    ends.clear();
    crate::alloc::try_reserve(ends, text.len() / 2 + BYTES + 1)?;
    // SAFETY: the form is compiled for the instructions of `S`, and the capacity was reserved above.
    with_simd!(S => unsafe { join_words::<S>(text, joined, ends) });
    Ok(true)
}

/// As [`join`].
///
/// # Safety
/// The processor has the instructions of `S`, and the caller enables them. `joined` has capacity for 64 bytes more than
/// the text, `ends` for one number per two bytes and 65 more.
#[inline(always)]
unsafe fn join_words<S: Simd>(text: &[u8], joined: &mut Vec<u8>, ends: &mut Vec<u32>) {
    let mut blocks = Blocks::default();
    let (mut length, mut words) = (0, 0);
    // True if the last byte before the block belongs to a run, and to a word.
    let (mut before_run, mut before_word) = (0, 0);
    for (i, block) in text.chunks(BYTES).enumerate() {
        // SAFETY: the caller guarantees the instructions.
        let run = unsafe { blocks.run::<S>(text, i) };
        // `run` has moved on: this block is the previous one.
        let starts = run & !(run << 1 | before_run) & blocks.previous.joiners;
        let word = if starts == 0 && before_run == before_word {
            run
        } else {
            without_joiners(text, run, before_word, i, starts)
        };
        let gaps = !word & (word << 1 | before_word);
        let kept = word | gaps;
        // SAFETY: the caller guarantees the instructions; the load reads the block. At most 64 i bytes are before
        // `length`, so that 64 more fit the capacity; every gap ends a word, so there are at most half as many ends
        // as bytes, and 64 more fit.
        unsafe {
            let bytes =
                if block.len() == BYTES { S::load(block.as_ptr()) } else { S::load_first(block.as_ptr(), block.len()) };
            S::compress(joined.as_mut_ptr().add(length), S::fill(bytes, gaps, b' '), kept);
            words += S::ranks(ends.as_mut_ptr().add(words), gaps, kept, length as u32);
        }
        length += kept.count_ones() as usize;
        (before_run, before_word) = (run >> 63, word >> 63);
    }
    // A last block of fewer than 64 bytes has its gap after the text; a full one has none.
    if before_word == 1 {
        // SAFETY: there is capacity for more than one end.
        unsafe { ends.as_mut_ptr().add(words).write(length as u32) };
        words += 1;
    }
    // SAFETY: the values below these lengths were written above.
    unsafe {
        joined.set_len(length);
        ends.set_len(words);
    }
}

/// Return the runs of `word` in block `i` that begin with a joiner, without those that contain neither letter nor
/// digit.
#[cold]
fn without_joiners(text: &[u8], word: u64, before: u64, i: usize, starts: u64) -> u64 {
    let mut word = word;
    let mut rest = starts;
    while rest != 0 {
        let start = rest.trailing_zeros() as usize;
        let run = (!(word >> start)).trailing_zeros();
        let at = 64 * i + start;
        // A joiner run is followed by a letter or digit, because links have one on either side.
        let length = text[at..].iter().take_while(|&&byte| byte == b'_').count();
        if text.get(at + length).is_none_or(|byte| !byte.is_ascii_alphanumeric()) {
            let bits = if run >= 64 { u64::MAX } else { (1 << run) - 1 };
            word &= !(bits << start);
        }
        rest &= rest - 1;
    }
    // The tail of a run of joiners that began before this block.
    if word & 1 == 1 && before == 0 && i > 0 && text[64 * i - 1] == b'_' {
        let run = (!word).trailing_zeros();
        word &= if run >= 64 { 0 } else { u64::MAX << run };
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::with_each_simd;
    use proptest::prelude::*;
    use unicode_segmentation::UnicodeSegmentation;

    proptest! {
        #[test]
        fn words_equal_the_segmenter(
            text in prop_oneof!["[ -~]{0,300}", "[ab1._,;:' -]{0,200}", "[\\x00-\\x7f]{0,200}", "[a1_]{50,80}[.,' ][a1_]{0,70}"]
        ) {
            let mut words = Vec::new();
            each(text.as_bytes(), &CancelToken::default(), |start, end| words.push(text[start..end].to_owned()));
            let expected: Vec<&str> = text.unicode_words().collect();
            prop_assert_eq!(expected, words);
        }

        #[test]
        fn joined_words_are_the_words(
            text in prop_oneof![
                "[ -~]{0,300}", "[ab1._,;:' -]{0,200}", "[\\x00-\\x7f]{0,200}", "[a1_]{50,80}[.,' ][a1_]{0,70}", "[a_ ]{0,300}",
                "[a ]{0,5}_{0,200}[a ]{0,5}_{0,200}[a ]{0,5}"
            ]
        ) {
            let (mut joined, mut ends) = (vec![1], vec![1]);
            prop_assert!(join(text.as_bytes(), &mut joined, &mut ends).expect("room"));
            let mut start = 0;
            let mut words = Vec::new();
            for end in ends {
                words.push(String::from_utf8(joined[start..end as usize].to_vec()).expect("ASCII"));
                prop_assert!(joined.get(end as usize).is_none_or(|byte| *byte == b' '));
                start = end as usize + 1;
            }
            prop_assert!(joined.len() <= start && start <= joined.len() + 1);
            prop_assert_eq!(text.unicode_words().collect::<Vec<_>>(), words);
        }

        #[test]
        fn every_form_gives_the_same_words(text in "[ -~]{0,300}|[a_ ]{0,300}") {
            let mut forms = Vec::new();
            with_each_simd!(S => {
                let (mut joined, mut ends) = (Vec::with_capacity(500), Vec::with_capacity(300));
                // SAFETY: the form is compiled for the instructions of `S`, and there is capacity.
                unsafe { join_words::<S>(text.as_bytes(), &mut joined, &mut ends) };
                forms.push((joined, ends));
            });
            prop_assert!(forms.windows(2).all(|pair| pair[0] == pair[1]));
        }
    }

    #[test]
    fn classes_are_those_of_the_rules() {
        for byte in 0..128_u8 {
            let has = |class: u8| CLASSES.of[usize::from(byte)] & class != 0;
            assert_eq!(byte.is_ascii_alphabetic(), has(LETTER), "{byte}");
            assert_eq!(byte.is_ascii_digit(), has(DIGIT), "{byte}");
            assert_eq!(byte == b'_', has(JOINER), "{byte}");
            assert_eq!(b".:'".contains(&byte), has(LETTER_LINK), "{byte}");
            assert_eq!(b".,;'".contains(&byte), has(DIGIT_LINK), "{byte}");
        }
    }
}
