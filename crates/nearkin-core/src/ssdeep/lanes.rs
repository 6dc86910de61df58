//! One pattern against eight texts at a time: whether they share seven successive characters, and the length of their
//! longest common subsequence.
//!
//! A lane is one word for each text. With mask[c] the positions of character c in the pattern, and p the mask of a
//! text's next character,
//!
//! ```text
//! h = (h + (h & p)) | (h & !p)                                  zeros of h count the subsequence (Hyyrö 2004)
//! a = p & (p' << 1),  b = a & (a'' << 2),  g = b & (b''' << 3)  runs of 2, 4 and 7; ' is the step before
//! ```
//!
//! so that bit j of g says that the seven characters up to this one are those of the pattern up to j. 22 vector
//! operations a step: about one cycle a character and text.
//!
//! The table of masks has 64 entries, one for each character of base64, and lies in eight AVX-512 registers; a text's
//! bytes become entry numbers by one `vpermi2b`. What is not base64 has an empty mask: right for every text, as long as
//! the *pattern* is base64 alone. The portable form looks the same table up in memory
//! (`kernels_equal_the_definition` holds both to it).

use super::MAX_PART;
use super::parse::Part;

/// Texts that are measured together.
pub(super) const LANES: usize = 8;

/// Steps of one word of a text.
const STEPS: usize = 8;

/// The entry of every byte in a table of masks; 64 for what is not base64.
const ENTRY: [u8; 256] = {
    let mut entries = [64; 256];
    let mut c = 0;
    let mut next = 0;
    while c < 256 {
        if is_base64(c as u8) {
            entries[c] = next;
            next += 1;
        }
        c += 1;
    }
    entries
};

/// Whether `c` is one of `A-Z a-z 0-9 + /`.
pub(super) const fn is_base64(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'+' || c == b'/'
}

/// The positions of each character of a part that is base64 alone.
#[derive(Clone)]
pub(super) struct Table([u64; 64]);

impl Table {
    /// None if a character is not base64.
    pub(super) fn new(part: &Part) -> Option<Self> {
        let mut masks = [0; 64];
        for (i, &c) in part.as_bytes().iter().enumerate() {
            *masks.get_mut(usize::from(ENTRY[usize::from(c)]))? |= 1 << i;
        }
        Some(Self(masks))
    }
}

/// Up to eight texts, word by word beside each other.
#[derive(Clone)]
pub(super) struct Texts {
    words: [[u64; LANES]; MAX_PART / STEPS],
    longest: usize,
}

/// What a pattern and eight texts have in common.
pub(super) struct Common {
    /// Length of the longest common subsequence with each text.
    pub(super) subsequence: [u32; LANES],
    /// Whether seven successive characters are shared with each text.
    pub(super) gram: [bool; LANES],
}

impl Texts {
    pub(super) fn new() -> Self {
        Self { words: [[0; LANES]; MAX_PART / STEPS], longest: 0 }
    }

    /// Puts a text into a lane.
    #[inline]
    pub(super) fn set(&mut self, lane: usize, text: &Part) {
        for (k, words) in self.words.iter_mut().enumerate() {
            words[lane] = u64::from_le_bytes(std::array::from_fn(|i| text.padded()[STEPS * k + i]));
        }
        self.longest = self.longest.max(text.as_bytes().len());
    }

    /// Measures all lanes and begins anew. Lanes that were not set hold an earlier text.
    #[inline]
    pub(super) fn measure(&mut self, table: &Table) -> Common {
        let words = &self.words[..self.longest.div_ceil(STEPS)];
        self.longest = 0;
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vpopcntdq")
        {
            // SAFETY: the processor has these instructions.
            return unsafe { measure_avx512(table, words) };
        }
        measure_portable(table, words)
    }
}

fn measure_portable(table: &Table, words: &[[u64; LANES]]) -> Common {
    let mut common = Common { subsequence: [0; LANES], gram: [false; LANES] };
    for lane in 0..LANES {
        let (mut h, mut found, mut p1) = (u64::MAX, 0, 0);
        let (mut a, mut b) = ([0; 2], [0; 3]);
        for words in words {
            for c in words[lane].to_le_bytes() {
                let p = table.0.get(usize::from(ENTRY[usize::from(c)])).copied().unwrap_or(0);
                h = h.wrapping_add(h & p) | (h & !p);
                let a0 = p & (p1 << 1);
                let b0 = a0 & (a[1] << 2);
                found |= b0 & (b[2] << 3);
                p1 = p;
                a = [a0, a[0]];
                b = [b0, b[0], b[1]];
            }
        }
        common.subsequence[lane] = h.count_zeros();
        common.gram[lane] = found != 0;
    }
    common
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vpopcntdq")]
fn measure_avx512(table: &Table, words: &[[u64; LANES]]) -> Common {
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_mask_blend_epi64, _mm512_maskz_mov_epi64, _mm512_or_si512,
        _mm512_permutex2var_epi8, _mm512_permutex2var_epi64, _mm512_popcnt_epi64, _mm512_set1_epi8, _mm512_set1_epi64,
        _mm512_setzero_si512, _mm512_slli_epi64, _mm512_srli_epi64, _mm512_sub_epi64, _mm512_ternarylogic_epi64,
        _mm512_test_epi64_mask, _mm512_testn_epi64_mask,
    };
    // SAFETY: both sides are 64 bytes, and every bit pattern is a value of both.
    let load = |eight: &[u64; LANES]| unsafe { std::mem::transmute::<[u64; LANES], __m512i>(*eight) };
    let part = |k: usize| load(&std::array::from_fn(|i| table.0[LANES * k + i]));
    let tables: [__m512i; 8] = std::array::from_fn(part);
    let entries = |from: usize| {
        load(&std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| ENTRY[from + 8 * i + j]))))
    };
    let (low_entries, high_entries) = (entries(0), entries(64));
    let (bit4, bit5) = (_mm512_set1_epi64(16), _mm512_set1_epi64(32));
    // An entry of 64 and more, or a byte of 128 and more: no character of the pattern.
    let outside = _mm512_set1_epi64(0xc0);
    let high_bits = _mm512_set1_epi8(-128);
    let zero = _mm512_setzero_si512();
    let (mut h, mut found, mut p1) = (_mm512_set1_epi64(-1), zero, zero);
    let (mut a, mut b) = ([zero; 2], [zero; 3]);
    for words in words {
        let text = load(words);
        let mut entry = _mm512_permutex2var_epi8(low_entries, text, high_entries);
        entry = _mm512_or_si512(entry, _mm512_and_si512(text, high_bits));
        for _ in 0..STEPS {
            // The low four bits choose among sixteen entries, the next two among four such choices.
            let (upper, top) = (_mm512_test_epi64_mask(entry, bit4), _mm512_test_epi64_mask(entry, bit5));
            let inside = _mm512_testn_epi64_mask(entry, outside);
            let sixteen = |k: usize| _mm512_permutex2var_epi64(tables[2 * k], entry, tables[2 * k + 1]);
            let lower_half = _mm512_mask_blend_epi64(upper, sixteen(0), sixteen(1));
            let upper_half = _mm512_mask_blend_epi64(upper, sixteen(2), sixteen(3));
            let p = _mm512_maskz_mov_epi64(inside, _mm512_mask_blend_epi64(top, lower_half, upper_half));
            let sum = _mm512_add_epi64(h, _mm512_and_si512(h, p));
            // sum | (h & !p)
            h = _mm512_ternarylogic_epi64::<0xf4>(sum, h, p);
            let a0 = _mm512_and_si512(p, _mm512_slli_epi64::<1>(p1));
            let b0 = _mm512_and_si512(a0, _mm512_slli_epi64::<2>(a[1]));
            // found | (b0 & b[2] << 3)
            found = _mm512_ternarylogic_epi64::<0xf8>(found, b0, _mm512_slli_epi64::<3>(b[2]));
            p1 = p;
            a = [a0, a[0]];
            b = [b0, b[0], b[1]];
            entry = _mm512_srli_epi64::<8>(entry);
        }
    }
    let zeros = _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_popcnt_epi64(h));
    // SAFETY: both sides are 64 bytes, and every bit pattern is a value of both.
    let zeros = unsafe { std::mem::transmute::<__m512i, [u64; LANES]>(zeros) };
    let found = _mm512_test_epi64_mask(found, found);
    Common {
        subsequence: std::array::from_fn(|lane| zeros[lane] as u32),
        gram: std::array::from_fn(|lane| found >> lane & 1 == 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::GRAM;
    use super::*;
    use proptest::prelude::*;

    fn subsequence(s: &[u8], t: &[u8]) -> u32 {
        let mut row = vec![0u32; t.len() + 1];
        for &a in s {
            let mut corner = 0;
            for (j, &b) in t.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if a == b { corner + 1 } else { above.max(row[j]) };
                corner = above;
            }
        }
        row[t.len()]
    }

    fn part(text: &[u8]) -> Part {
        Part::read(text).unwrap()
    }

    #[test]
    fn every_base64_character_has_an_entry_of_its_own() {
        let mut seen = [0; 65];
        for c in 0..=255u8 {
            assert_eq!(is_base64(c), ENTRY[usize::from(c)] < 64, "{c}");
            seen[usize::from(ENTRY[usize::from(c)])] += 1;
        }
        assert!(seen[..64].iter().all(|&count| count == 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn kernels_equal_the_definition(
            pattern in prop_oneof!["[a-d]{0,64}", "[A-Za-z0-9+/]{0,64}", "(abcdefg|hijklm){1,8}"],
            texts in prop::collection::vec(
                prop_oneof![
                    "[a-d]{0,64}".prop_map(String::into_bytes),
                    "(abcdefg|hijklm|xyz){1,8}".prop_map(String::into_bytes),
                    prop::collection::vec(any::<u8>(), 0..64),
                ],
                LANES,
            ),
        ) {
            let pattern = part(pattern.as_bytes());
            let table = Table::new(&pattern).unwrap();
            let mut lanes = Texts::new();
            let texts: Vec<Part> = texts.iter().map(|text| part(text)).collect();
            for (lane, text) in texts.iter().enumerate() {
                lanes.set(lane, text);
            }
            let portable = measure_portable(&table, &lanes.words);
            let best = lanes.measure(&table);
            for (lane, text) in texts.iter().enumerate() {
                let (s, t) = (pattern.as_bytes(), text.as_bytes());
                let gram = s.windows(GRAM).any(|gram| t.windows(GRAM).any(|other| gram == other));
                prop_assert_eq!((subsequence(s, t), gram), (portable.subsequence[lane], portable.gram[lane]));
                prop_assert_eq!((subsequence(s, t), gram), (best.subsequence[lane], best.gram[lane]));
            }
        }
    }
}
