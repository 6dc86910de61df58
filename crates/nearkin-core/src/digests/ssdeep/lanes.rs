//! Comparison of one pattern with eight texts at a time: is there a common run of seven characters, and how long is the
//! longest common subsequence?
//!
//! A lane is one word per text. With mask[c] the positions of character c in the pattern, and p the mask of a text's
//! next character,
//!
//! ```text
//! h = (h + (h & p)) | (h & !p)                                  zeros of h count the subsequence (Hyyrö 2004)
//! a = p & (p' << 1),  b = a & (a'' << 2),  g = b & (b''' << 3)  runs of 2, 4 and 7; ' is the step before
//! ```
//!
//! so that bit j of g is set if the seven characters up to this one equal those of the pattern up to j. A step takes 15
//! to 20 vector operations: about one cycle per character and text.
//!
//! The mask table has an entry for each distinct character of the pattern, and an empty one for all other bytes, in two
//! registers per 16 entries. One `vpermi2b` converts a text's bytes to entry numbers. A pattern of 64 distinct
//! characters, or with non-ASCII characters, has no table, and non-ASCII texts are rejected: both are measured one by
//! one. The plain form reads the same table from memory (`kernels_equal_the_definition` tests both).

use super::MAX_PART;
use super::parse::Part;
#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx512Bits;
use crate::cpu::features::Instructions;

/// Number of texts measured together.
pub(super) const LANES: usize = 8;

/// Steps per word of a text.
const STEPS: usize = 8;

/// The positions of each character of a pattern.
#[derive(Clone)]
pub(super) struct MaskTable {
    /// Entry 0 is empty.
    masks: [u64; 64],
    /// The entry of every ASCII character.
    entries: [u8; 128],
    /// Number of entries.
    length: usize,
}

impl MaskTable {
    /// Build the table; None if the pattern has 64 distinct characters, or non-ASCII ones.
    pub(super) fn new(pattern: &Part) -> Option<Self> {
        let mut table = Self { masks: [0; 64], entries: [0; 128], length: 1 };
        for (i, &c) in pattern.as_bytes().iter().enumerate() {
            let entry = table.entries.get_mut(usize::from(c))?;
            if *entry == 0 {
                *entry = table.length as u8;
                table.length += 1;
            }
            *table.masks.get_mut(usize::from(*entry))? |= 1 << i;
        }
        // The padding of a text is not a character of the pattern.
        (table.entries[0] == 0).then_some(table)
    }
}

/// Up to eight ASCII texts, interleaved word by word.
#[derive(Clone)]
pub(super) struct Texts {
    words: [[u64; LANES]; MAX_PART / STEPS],
    longest: usize,
    /// True if the upper half of `words` is in use.
    wide: bool,
}

/// The results for a pattern and eight texts.
pub(super) struct Common {
    /// Length of the longest common subsequence with each text.
    pub(super) subsequence: [u32; LANES],
    /// True for each text that shares seven consecutive characters.
    pub(super) gram: [bool; LANES],
}

impl Texts {
    pub(super) fn new() -> Self {
        Self { words: [[0; LANES]; MAX_PART / STEPS], longest: 0, wide: false }
    }

    /// Set the text of a lane; return false and do nothing if it is not ASCII.
    #[inline]
    pub(super) fn set(&mut self, lane: usize, text: &Part) -> bool {
        if !text.is_ascii() {
            return false;
        }
        let (lower, upper) = self.words.split_at_mut(MAX_PART / STEPS / 2);
        let fill = |words: &mut [[u64; LANES]], from: usize| {
            for (k, words) in words.iter_mut().enumerate() {
                words[lane] = u64::from_le_bytes(std::array::from_fn(|i| text.padded()[from + STEPS * k + i]));
            }
        };
        fill(lower, 0);
        let length = text.as_bytes().len();
        if length > MAX_PART / 2 && !self.wide {
            upper.fill([0; LANES]);
            self.wide = true;
        }
        if self.wide {
            fill(upper, MAX_PART / 2);
        }
        self.longest = self.longest.max(length);
        true
    }

    /// Measure all lanes and reset. Lanes that were not set contain an earlier text.
    #[inline]
    pub(super) fn measure(&mut self, table: &MaskTable) -> Common {
        let words = &self.words[..self.longest.div_ceil(STEPS)];
        (self.longest, self.wide) = (0, false);
        #[cfg(target_arch = "x86_64")]
        if Avx512Bits::detect().is_some() {
            // SAFETY: the token proves that the processor has the instructions.
            return unsafe {
                match table.length.div_ceil(16) {
                    1 | 2 => measure_avx512::<2>(table, words),
                    3 => measure_avx512::<3>(table, words),
                    _ => measure_avx512::<4>(table, words),
                }
            };
        }
        Instructions::best().run(
            #[inline(always)]
            || measure_plain(table, words),
        )
    }
}

/// Measure all lanes; the loops over lanes are vectors of the caller's instructions.
#[inline(always)]
fn measure_plain(table: &MaskTable, words: &[[u64; LANES]]) -> Common {
    // One look-up per character instead of two.
    let mut masks = [0; 128];
    for (mask, &entry) in masks.iter_mut().zip(&table.entries) {
        *mask = table.masks[usize::from(entry & 63)];
    }
    let zero = [0_u64; LANES];
    let (mut h, mut found, mut p1) = ([u64::MAX; LANES], zero, zero);
    let (mut a, mut b) = ([zero; 2], [zero; 3]);
    for words in words {
        for step in 0..STEPS {
            let (mut p, mut a0, mut b0) = (zero, zero, zero);
            for lane in 0..LANES {
                p[lane] = masks[(words[lane] >> (8 * step)) as usize & 127];
            }
            for lane in 0..LANES {
                h[lane] = h[lane].wrapping_add(h[lane] & p[lane]) | (h[lane] & !p[lane]);
                a0[lane] = p[lane] & (p1[lane] << 1);
                b0[lane] = a0[lane] & (a[1][lane] << 2);
                found[lane] |= b0[lane] & (b[2][lane] << 3);
            }
            p1 = p;
            a = [a0, a[0]];
            b = [b0, b[0], b[1]];
        }
    }
    Common { subsequence: h.map(u64::count_zeros), gram: found.map(|runs| runs != 0) }
}

/// `SIXTEENS` times 16 entries are looked up, 2 to 4.
#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,bmi1,bmi2,popcnt"
)]
fn measure_avx512<const SIXTEENS: usize>(table: &MaskTable, words: &[[u64; LANES]]) -> Common {
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi64, _mm512_and_si512, _mm512_loadu_si512, _mm512_mask_blend_epi64,
        _mm512_permutex2var_epi8, _mm512_permutex2var_epi64, _mm512_popcnt_epi64, _mm512_set1_epi64,
        _mm512_setzero_si512, _mm512_slli_epi64, _mm512_srli_epi64, _mm512_sub_epi64, _mm512_ternarylogic_epi64,
        _mm512_test_epi64_mask,
    };
    // SAFETY: the array has 64 bytes.
    let load = |eight: &[u64; LANES]| unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) };
    let tables: [__m512i; 8] = std::array::from_fn(|k| load(&std::array::from_fn(|i| table.masks[LANES * k + i])));
    // SAFETY: each load reads 64 of 128 bytes.
    let entries = |from: usize| unsafe { _mm512_loadu_si512(table.entries[from..from + 64].as_ptr().cast()) };
    let (low_entries, high_entries) = (entries(0), entries(64));
    let (bit4, bit5) = (_mm512_set1_epi64(16), _mm512_set1_epi64(32));
    let zero = _mm512_setzero_si512();
    let (mut h, mut found, mut p1) = (_mm512_set1_epi64(-1), zero, zero);
    let (mut a, mut b) = ([zero; 2], [zero; 3]);
    for words in words {
        let mut entry = _mm512_permutex2var_epi8(low_entries, load(words), high_entries);
        for _ in 0..STEPS {
            // The low four bits select one of sixteen entries, the next two one of up to four such selections.
            let upper = _mm512_test_epi64_mask(entry, bit4);
            let sixteen = |k: usize| _mm512_permutex2var_epi64(tables[2 * k], entry, tables[2 * k + 1]);
            let mut p = _mm512_mask_blend_epi64(upper, sixteen(0), sixteen(1));
            if SIXTEENS > 2 {
                let top = _mm512_test_epi64_mask(entry, bit5);
                let mut high = sixteen(2);
                if SIXTEENS > 3 {
                    high = _mm512_mask_blend_epi64(upper, high, sixteen(3));
                }
                p = _mm512_mask_blend_epi64(top, p, high);
            }
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
    // SAFETY: both sides have 64 bytes, and every bit pattern is a value of both.
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
    use super::super::compare::tests::lcs;
    use super::*;
    use proptest::prelude::*;

    fn part(text: &[u8]) -> Part {
        Part::read(text).unwrap()
    }

    #[test]
    fn patterns_that_fill_the_table_are_left_to_the_others() {
        let all: Vec<u8> = (0..64).map(|i| b'0' + i).collect();
        assert!(MaskTable::new(&part(&all)).is_none());
        assert!(MaskTable::new(&part(&all[1..])).is_some());
        assert!(MaskTable::new(&part(b"abc\x80")).is_none());
        assert!(MaskTable::new(&part(b"abc\0")).is_none());
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
                    prop::collection::vec(0u8..128, 0..64),
                ],
                LANES,
            ),
            before in "[a-d]{0,64}",
        ) {
            let pattern = part(pattern.as_bytes());
            let Some(table) = MaskTable::new(&pattern) else { return Ok(()) };
            let mut lanes = Texts::new();
            // Results of an earlier round must not count.
            for lane in 0..LANES {
                lanes.set(lane, &part(before.as_bytes()));
            }
            lanes.measure(&table);
            let texts: Vec<Part> = texts.iter().map(|text| part(text)).collect();
            for (lane, text) in texts.iter().enumerate() {
                prop_assert!(lanes.set(lane, text));
            }
            let words = &lanes.words[..lanes.longest.div_ceil(STEPS)];
            let plain: Vec<Common> = Instructions::available()
                .into_iter()
                .map(|instructions| instructions.run(#[inline(always)] || measure_plain(&table, words)))
                .collect();
            let best = lanes.measure(&table);
            for (lane, text) in texts.iter().enumerate() {
                let (s, t) = (pattern.as_bytes(), text.as_bytes());
                let gram = s.windows(GRAM).any(|gram| t.windows(GRAM).any(|other| gram == other));
                for common in &plain {
                    prop_assert_eq!((lcs(s, t), gram), (common.subsequence[lane], common.gram[lane]));
                }
                prop_assert_eq!((lcs(s, t), gram), (best.subsequence[lane], best.gram[lane]));
            }
        }
    }
}
