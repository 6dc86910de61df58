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
#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx512Bits;

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const JOINER: u8 = 4;
const LETTER_LINK: u8 = 8;
const DIGIT_LINK: u8 = 16;

const CLASS: [u8; 128] = {
    let mut class = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        class[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' => JOINER,
            b':' => LETTER_LINK,
            b'.' | b'\'' => LETTER_LINK | DIGIT_LINK,
            b',' | b';' => DIGIT_LINK,
            _ => 0,
        };
        byte += 1;
    }
    class
};

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

/// Number of blocks of 64 bytes between two cancellation points.
const LOOK: usize = 1 << 12;

/// Call `each(start, end)` with every word of ASCII `text` that contains a letter or digit, in order, until the call is
/// cancelled.
#[inline]
pub(crate) fn each(text: &[u8], cancel: &CancelToken, mut each: impl FnMut(usize, usize)) {
    let blocks = text.len().div_ceil(64);
    let block =
        |i: usize| if i < blocks { masks(&text[64 * i..text.len().min(64 * i + 64)]) } else { Masks::default() };
    let (mut previous, mut current) = (Masks::default(), block(0));
    let mut before_word = 0;
    let mut start = 0;
    for i in 0..=blocks {
        if i % LOOK == 0 && cancel.is_set() {
            return;
        }
        let next = block(i + 1);
        let word = run_mask(&previous, &current, &next);
        // Bits at the start or end of a word (the byte after its last).
        let mut edges = word ^ (word << 1 | before_word);
        before_word = word >> 63;
        while edges != 0 {
            let at = 64 * i + edges.trailing_zeros() as usize;
            if word >> (at % 64) & 1 == 1 {
                start = at;
            } else {
                let found = &text[start..at];
                // Only a joiner can form a word without letter or digit, and then it is the first byte.
                if found[0] != b'_' || found.iter().any(u8::is_ascii_alphanumeric) {
                    each(start, at);
                }
            }
            edges &= edges - 1;
        }
        (previous, current) = (current, next);
    }
}

/// Write the words of ASCII `text` to `joined`, each followed by one space (optional after the last), and their ends to
/// `ends`: word w is the range from the previous end plus one (0 for the first word) to `ends[w]`. `joined` has
/// capacity for `SLACK` more bytes. Return false, with nothing done, if this machine does not have the instructions or
/// the text has 2^31 bytes or more.
///
/// # Errors
/// Memory runs out.
pub(crate) fn join(text: &[u8], joined: &mut Vec<u8>, ends: &mut Vec<u32>) -> Result<bool> {
    #[cfg(target_arch = "x86_64")]
    if text.len() < 1 << 31 && Avx512Bits::detect().is_some() {
        joined.clear();
        crate::alloc::try_reserve(joined, text.len() + crate::text::unicode::SLACK + 64)?;
        ends.clear();
        crate::alloc::try_reserve(ends, text.len() / 2 + 65)?;
        // SAFETY: the token proves that the processor has the instructions.
        unsafe { join_avx512(text, joined, ends) };
        return Ok(true);
    }
    let _ = (text, joined, ends);
    Ok(false)
}

/// Return the runs of `word` in block `i` that begin with a joiner, without those that contain neither letter nor
/// digit.
#[cold]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "the vector form calls it"))]
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

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,bmi1,bmi2,popcnt"
)]
fn join_avx512(text: &[u8], joined: &mut Vec<u8>, ends: &mut Vec<u32>) {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cvtepu8_epi32, _mm512_loadu_si512, _mm512_mask_blend_epi8,
        _mm512_maskz_compress_epi8, _mm512_maskz_loadu_epi8, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_shuffle_i32x4,
        _mm512_storeu_si512, _pext_u64,
    };
    const COUNT: [u8; 64] = {
        let mut count = [0; 64];
        let mut i = 0;
        while i < 64 {
            count[i] = i as u8;
            i += 1;
        }
        count
    };
    // No allocation if `join` has reserved the capacity.
    joined.clear();
    joined.reserve(text.len() + 64);
    ends.clear();
    ends.reserve(text.len() / 2 + 65);
    let blocks = text.len().div_ceil(64);
    let block =
        |i: usize| if i < blocks { masks_avx512(&text[64 * i..text.len().min(64 * i + 64)]) } else { Masks::default() };
    // SAFETY: the table has 64 bytes.
    let count = unsafe { _mm512_loadu_si512(COUNT.as_ptr().cast()) };
    let (mut previous, mut current) = (Masks::default(), block(0));
    let (mut length, mut words) = (0, 0);
    // True if the last byte before the block belongs to a run, and to a word.
    let (mut before_run, mut before_word) = (0, 0);
    for i in 0..blocks {
        let next = block(i + 1);
        let run = run_mask(&previous, &current, &next);
        let starts = run & !(run << 1 | before_run) & current.joiners;
        let word = if starts == 0 && before_run == before_word {
            run
        } else {
            without_joiners(text, run, before_word, i, starts)
        };
        let gaps = !word & (word << 1 | before_word);
        let kept = word | gaps;
        let size = (text.len() - 64 * i).min(64);
        // SAFETY: the mask reads `size` bytes from 64 i, which are inside the text.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(u64::MAX >> (64 - size), text.as_ptr().add(64 * i).cast()) };
        let spaced = _mm512_mask_blend_epi8(gaps, bytes, _mm512_set1_epi8(b' ' as i8));
        let packed = _mm512_maskz_compress_epi8(kept, spaced);
        // SAFETY: `length` is at most 64 i, and 64 more bytes fit the reserved capacity.
        unsafe { _mm512_storeu_si512(joined.as_mut_ptr().add(length).cast(), packed) };
        let mut places = _mm512_maskz_compress_epi8(_pext_u64(gaps, kept), count);
        let found = gaps.count_ones() as usize;
        let mut done = 0;
        while done < found {
            let wide = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(places));
            let wide = _mm512_add_epi32(wide, _mm512_set1_epi32(length as i32));
            // SAFETY: every gap ends a word, so there are at most half as many ends as bytes, and 64 more fit the capacity.
            unsafe { _mm512_storeu_si512(ends.as_mut_ptr().add(words + done).cast(), wide) };
            places = _mm512_shuffle_i32x4::<0b11_11_10_01>(places, places);
            done += 16;
        }
        words += found;
        length += kept.count_ones() as usize;
        (before_run, before_word) = (run >> 63, word >> 63);
        (previous, current) = (current, next);
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

#[inline]
fn masks(bytes: &[u8]) -> Masks {
    #[cfg(target_arch = "x86_64")]
    if Avx512Bits::detect().is_some() {
        // SAFETY: the token proves that the processor has the instructions.
        return unsafe { masks_avx512(bytes) };
    }
    masks_portable(bytes)
}

fn masks_portable(bytes: &[u8]) -> Masks {
    let mut masks = Masks::default();
    for (i, &byte) in bytes.iter().enumerate() {
        let class = CLASS[usize::from(byte & 127)];
        let bit = |flag| u64::from(class & flag != 0) << i;
        masks.letters |= bit(LETTER);
        masks.digits |= bit(DIGIT);
        masks.joiners |= bit(JOINER);
        masks.letter_links |= bit(LETTER_LINK);
        masks.digit_links |= bit(DIGIT_LINK);
    }
    masks
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,bmi1,bmi2,popcnt"
)]
fn masks_avx512(bytes: &[u8]) -> Masks {
    use std::arch::x86_64::{
        _bzhi_u64, _mm512_loadu_si512, _mm512_maskz_loadu_epi8, _mm512_permutex2var_epi8, _mm512_set1_epi8,
        _mm512_test_epi8_mask,
    };
    // Return the lowest `bytes.len()` bits, all of them from 64 on.
    let present = _bzhi_u64(u64::MAX, bytes.len().min(64) as u32);
    // SAFETY: the table has 128 bytes; the mask reads at most `bytes.len()` bytes. Missing bytes are NUL, of no class.
    let (low, high, block) = unsafe {
        (
            _mm512_loadu_si512(CLASS.as_ptr().cast()),
            _mm512_loadu_si512(CLASS.as_ptr().add(64).cast()),
            _mm512_maskz_loadu_epi8(present, bytes.as_ptr().cast()),
        )
    };
    let class = _mm512_permutex2var_epi8(low, block, high);
    let mask = |flag: u8| _mm512_test_epi8_mask(class, _mm512_set1_epi8(flag as i8));
    Masks {
        letters: mask(LETTER),
        digits: mask(DIGIT),
        joiners: mask(JOINER),
        letter_links: mask(LETTER_LINK),
        digit_links: mask(DIGIT_LINK),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            if join(text.as_bytes(), &mut joined, &mut ends).expect("room") {
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
        }

        #[test]
        fn the_vector_masks_equal_the_portable_ones(text in "[\\x00-\\x7f]{1,64}") {
            let (one, other) = (masks(text.as_bytes()), masks_portable(text.as_bytes()));
            prop_assert_eq!(
                (one.letters, one.digits, one.joiners, one.letter_links, one.digit_links),
                (other.letters, other.digits, other.joiners, other.letter_links, other.digit_links)
            );
        }
    }
}
