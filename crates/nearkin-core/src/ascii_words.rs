//! The words of ASCII texts by UAX #29, 64 bytes at a time.
//!
//! With one bit a byte in the masks L (letters), D (digits), U (`_`), M (`.`, `:`, `'`, which link letters) and N (`.`, `,`, `;`, `'`,
//! which link digits), and with `before`/`after` the mask moved by one byte:
//! ```text
//! link = M ∧ before(L) ∧ after(L)  ∨  N ∧ before(D) ∧ after(D)        WB6, WB7, WB11, WB12
//! word = L ∨ D ∨ U ∨ link                                             WB5, WB8–10, WB13a, WB13b
//! ```
//! A word is a maximal run of set bits that holds a letter or a digit. Cost: about ten mask operations for 64 bytes, then one
//! step a word. Source: UAX #29, section 4.1, restricted to ASCII. Test: `words_equal_the_segmenter`.

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

/// Calls `each(start, end)` with every word of ASCII `text` that holds a letter or digit, in order.
#[inline]
pub(crate) fn each(text: &[u8], mut each: impl FnMut(usize, usize)) {
    let blocks = text.len().div_ceil(64);
    let block =
        |i: usize| if i < blocks { masks(&text[64 * i..text.len().min(64 * i + 64)]) } else { Masks::default() };
    let (mut previous, mut current) = (Masks::default(), block(0));
    let mut before_word = 0;
    let mut start = 0;
    for i in 0..=blocks {
        let next = block(i + 1);
        let around = |before: u64, here: u64, after: u64| (here << 1 | before >> 63) & (here >> 1 | after << 63);
        let links = current.letter_links & around(previous.letters, current.letters, next.letters)
            | current.digit_links & around(previous.digits, current.digits, next.digits);
        let word = current.letters | current.digits | current.joiners | links;
        // Bits where a word starts or ends (the byte behind its last).
        let mut edges = word ^ (word << 1 | before_word);
        before_word = word >> 63;
        while edges != 0 {
            let at = 64 * i + edges.trailing_zeros() as usize;
            if word >> (at % 64) & 1 == 1 {
                start = at;
            } else {
                let found = &text[start..at];
                // Only a joiner can make a word without letter or digit, and then it is the first byte.
                if found[0] != b'_' || found.iter().any(u8::is_ascii_alphanumeric) {
                    each(start, at);
                }
            }
            edges &= edges - 1;
        }
        (previous, current) = (current, next);
    }
}

#[inline]
fn masks(bytes: &[u8]) -> Masks {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512vbmi") && is_x86_feature_detected!("avx512bw") {
        // SAFETY: the CPU features were found just now.
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
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn masks_avx512(bytes: &[u8]) -> Masks {
    use std::arch::x86_64::{
        _mm512_loadu_si512, _mm512_maskz_loadu_epi8, _mm512_permutex2var_epi8, _mm512_set1_epi8, _mm512_test_epi8_mask,
    };
    debug_assert!((1..=64).contains(&bytes.len()), "a block of 1 to 64 bytes");
    // SAFETY: the table has 128 bytes; the mask reads `bytes.len()` bytes. Missing bytes are NUL, of no class.
    let (low, high, block) = unsafe {
        (
            _mm512_loadu_si512(CLASS.as_ptr().cast()),
            _mm512_loadu_si512(CLASS.as_ptr().add(64).cast()),
            _mm512_maskz_loadu_epi8(u64::MAX >> (64 - bytes.len()), bytes.as_ptr().cast()),
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
            each(text.as_bytes(), |start, end| words.push(text[start..end].to_owned()));
            let expected: Vec<&str> = text.unicode_words().collect();
            prop_assert_eq!(expected, words);
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
