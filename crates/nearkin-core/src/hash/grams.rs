//! The distinct 4-grams of an ASCII text, as 32-bit keys: its bytes, little-endian.
//!
//! A 4-gram of ASCII letters is its own key, so that 4-grams are told apart before they are hashed, and repeated ones
//! are never hashed. A table, the front, has one place per slot: the first key that wants a slot owns it until the set is
//! cleared. With `held` what a key k finds in its slot:
//!
//! | held | k is |
//! |---|---|
//! | nothing | new: it owns the slot from now on |
//! | k | known |
//! | another key | new or known: an [`IdSet`] of the keys that own no slot decides |
//!
//! A key always has the same slot, so one that owns a slot never comes to the set behind it. The step of the front is the
//! same in all three cases, with nothing to guess for the processor, and vectors then part the three. At four slots per
//! window one key in ten comes to the set behind.
//!
//! Cost: about three clock cycles per window, and 16 bytes of front per window, which are cleared for each text; at most
//! [`MOST_SLOTS`] slots, which second-level caches hold, so that of longer texts more keys come to the set behind.
//! Tests: against a plain set; the vector form against the portable one.

#[cfg(target_arch = "x86_64")]
use crate::cpu::features::Avx512Bits;
use crate::cpu::features::Instructions;
use crate::hash::idset::IdSet;
use crate::hash::xxh3;
use crate::{Result, room};

/// Windows that are looked at in one call, at most.
pub const PART: usize = 896;
/// Bytes of a window.
pub const WIDTH: usize = 4;
/// Bytes that may be read behind the windows of a call.
pub const BEHIND: usize = 64;
/// Slots of the front, at least and at most.
const LEAST_SLOTS: usize = 256;
const MOST_SLOTS: usize = 1 << 17;
/// In a slot: no key. The bytes of a key are ASCII, so that its highest bit is clear.
const EMPTY: u32 = 1 << 31;
/// What a key is multiplied by: 2^32 over the golden ratio, odd.
const FACTOR: u32 = 0x9e37_79b1;
/// Keys that a vector has, which may be written behind the last one.
const LANES: usize = 16;

/// The 4-grams of one text.
#[derive(Default)]
pub struct Grams {
    /// A power of two of slots, of which `2^(32 - shift)` are in use.
    front: Vec<u32>,
    shift: u32,
    /// What the windows of a part found in their slots.
    held: Vec<u32>,
    new: Vec<u32>,
    /// Keys whose slot another one owns.
    others: Vec<u32>,
    hashes: Vec<u64>,
    /// XXH3-64 of the keys that own no slot.
    behind: IdSet,
}

impl Grams {
    /// Empties the set for a text of `windows` windows.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn clear(&mut self, windows: usize) -> Result<()> {
        let slots = (4 * windows.min(MOST_SLOTS)).next_power_of_two().clamp(LEAST_SLOTS, MOST_SLOTS);
        for (list, length) in [(&mut self.held, PART), (&mut self.new, PART + LANES), (&mut self.others, PART + LANES)]
        {
            room::resize(list, length, 0)?;
        }
        room::resize(&mut self.hashes, PART, 0)?;
        let held = self.front.len();
        room::resize(&mut self.front, held.max(slots), EMPTY)?;
        let front = &mut self.front[..slots.min(held)];
        Instructions::best().run(
            #[inline(always)]
            || front.fill(EMPTY),
        );
        self.shift = 32 - slots.trailing_zeros();
        self.behind.clear((slots / 64).max(64));
        Ok(())
    }

    /// Adds the first `windows` windows of ASCII `bytes`, and gives the keys of the new ones, in no particular order.
    ///
    /// # Panics
    /// If there are more than [`PART`] windows, or fewer than [`BEHIND`] bytes behind the start of the last one.
    #[inline]
    pub fn add(&mut self, bytes: &[u8], windows: usize) -> &[u32] {
        assert!(windows <= PART && windows + BEHIND <= bytes.len(), "windows of one part, and bytes behind them");
        let held = &mut self.held[..windows];
        let (front, shift) = (&mut self.front[..1 << (32 - self.shift)], self.shift);
        visit(bytes, front, shift, held);
        let (mut new, others) = part(bytes, held, &mut self.new, &mut self.others);
        if others > 0 {
            let hashes = &mut self.hashes[..others];
            xxh3::hash_fours(&self.others[..others], 0, hashes);
            let mut keys = self.others.iter();
            self.behind.insert_all(hashes, |is_new| {
                if let Some(&key) = keys.next() {
                    self.new[new] = key;
                }
                new += usize::from(is_new);
            });
        }
        &self.new[..new]
    }

    /// Nothing, or the error of a set that is not whole.
    ///
    /// # Errors
    /// There was no memory for it since it was cleared.
    pub fn check(&self) -> Result<()> {
        self.behind.check()
    }
}

/// The key of the window at the front of `bytes`.
#[inline(always)]
fn key(window: &[u8]) -> u32 {
    u32::from_le_bytes([window[0], window[1], window[2], window[3]])
}

/// What each window finds in its slot; the first one to come owns it.
#[inline]
fn visit(bytes: &[u8], front: &mut [u32], shift: u32, held: &mut [u32]) {
    assert_eq!(1 << (32 - shift), front.len(), "a slot per value of the upper bits");
    for (window, held) in bytes.windows(WIDTH).zip(held) {
        let key = key(window);
        // The upper bits of a product depend on all bits of the key.
        let slot = (key.wrapping_mul(FACTOR) >> shift) as usize;
        // SAFETY: the slot is below 2^(32 - shift), the length of the front.
        let place = unsafe { front.get_unchecked_mut(slot) };
        *held = *place;
        // Never a jump, which would be mispredicted for one window in five.
        *place = std::hint::select_unpredictable(*place == EMPTY, key, *place);
    }
}

/// Puts the keys of the windows that found nothing into `new`, those that found another key into `others`; gives how
/// many there are of each.
#[inline]
fn part(bytes: &[u8], held: &[u32], new: &mut [u32], others: &mut [u32]) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if Avx512Bits::detect().is_some() {
        // SAFETY: the proof was found just now.
        return unsafe { part_avx512(bytes, held, new, others) };
    }
    part_portable(bytes, held, new, others)
}

fn part_portable(bytes: &[u8], held: &[u32], new: &mut [u32], others: &mut [u32]) -> (usize, usize) {
    let mut counts = (0, 0);
    for (window, &held) in bytes.windows(WIDTH).zip(held) {
        let key = key(window);
        new[counts.0] = key;
        others[counts.1] = key;
        counts.0 += usize::from(held == EMPTY);
        counts.1 += usize::from(held != EMPTY) & usize::from(held != key);
    }
    counts
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512bitalg,avx512vpopcntdq,bmi1,bmi2,popcnt"
)]
fn part_avx512(bytes: &[u8], held: &[u32], new: &mut [u32], others: &mut [u32]) -> (usize, usize) {
    use std::arch::x86_64::{
        _bzhi_u32, _mm512_loadu_si512, _mm512_mask_cmpeq_epi32_mask, _mm512_mask_cmpneq_epi32_mask,
        _mm512_maskz_compress_epi32, _mm512_maskz_loadu_epi32, _mm512_permutexvar_epi8, _mm512_set1_epi32,
        _mm512_storeu_si512,
    };
    // Lane w takes bytes w … w + 3.
    const PICK: [u8; 64] = {
        let mut pick = [0; 64];
        let mut at = 0;
        while at < 64 {
            pick[at] = (at / 4 + at % 4) as u8;
            at += 1;
        }
        pick
    };
    let least = held.len() + LANES;
    assert!(held.len() + BEHIND <= bytes.len() && least <= new.len() && least <= others.len(), "room for vectors");
    // SAFETY: the table has 64 bytes.
    let pick = unsafe { _mm512_loadu_si512(PICK.as_ptr().cast()) };
    let empty = _mm512_set1_epi32(EMPTY.cast_signed());
    let mut counts = (0, 0);
    for (step, found) in held.chunks(LANES).enumerate() {
        let present = _bzhi_u32(0xffff, found.len() as u32) as u16;
        // SAFETY: the chunk begins before the end of `held`, and 64 bytes behind that lie in `bytes`.
        let keys = unsafe { _mm512_loadu_si512(bytes.as_ptr().add(step * LANES).cast()) };
        let keys = _mm512_permutexvar_epi8(pick, keys);
        // SAFETY: the mask reads the chunk alone.
        let found = unsafe { _mm512_maskz_loadu_epi32(present, found.as_ptr().cast()) };
        let is_new = _mm512_mask_cmpeq_epi32_mask(present, found, empty);
        let is_other = _mm512_mask_cmpneq_epi32_mask(present & !is_new, found, keys);
        // SAFETY: at most as many keys as windows were written before, and there is room for a vector behind them.
        unsafe {
            _mm512_storeu_si512(new.as_mut_ptr().add(counts.0).cast(), _mm512_maskz_compress_epi32(is_new, keys));
            _mm512_storeu_si512(others.as_mut_ptr().add(counts.1).cast(), _mm512_maskz_compress_epi32(is_other, keys));
        }
        counts.0 += is_new.count_ones() as usize;
        counts.1 += is_other.count_ones() as usize;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// The new keys of a text that comes in parts of `size` windows.
    fn keys(grams: &mut Grams, text: &[u8], size: usize) -> Vec<u32> {
        let windows = text.len() - WIDTH + 1;
        let padded = [text, &[0; BEHIND]].concat();
        grams.clear(windows).expect("room");
        let mut found = Vec::new();
        for start in (0..windows).step_by(size) {
            found.extend_from_slice(grams.add(&padded[start..], size.min(windows - start)));
        }
        grams.check().expect("room");
        found
    }

    fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
        let letters = |range: std::ops::RangeInclusive<u8>, most| prop::collection::vec(range, WIDTH..most);
        prop_oneof![letters(b'a'..=b'z', 4000), letters(b'a'..=b'c', 3000), letters(0..=127, 2000), letters(0..=1, 60)]
    }

    /// Keys of one slot, one after another: products with the same upper bits, divided by the factor again.
    fn crowded(count: usize) -> Vec<u8> {
        let inverse = (0..5).fold(FACTOR, |x, _| x.wrapping_mul(2_u32.wrapping_sub(FACTOR.wrapping_mul(x))));
        assert_eq!(1, inverse.wrapping_mul(FACTOR));
        let keys = (7 << 16..8 << 16).map(|product: u32| product.wrapping_mul(inverse).to_le_bytes());
        keys.filter(|bytes| bytes.is_ascii()).take(count).flatten().collect()
    }

    proptest! {
        #[test]
        fn each_window_is_given_once(texts in prop::collection::vec(some_bytes(), 1..4), size in 1..=PART) {
            let mut grams = Grams::default();
            for text in texts {
                let expected: HashSet<u32> = text.windows(WIDTH).map(key).collect();
                let found = keys(&mut grams, &text, size);
                prop_assert_eq!(expected.len(), found.len());
                prop_assert_eq!(expected, found.into_iter().collect::<HashSet<u32>>());
            }
        }

        #[test]
        fn the_vector_form_equals_the_portable_one(text in some_bytes(), seed: u64) {
            let windows = (text.len() - WIDTH + 1).min(PART);
            let padded = [text.as_slice(), &[0; BEHIND]].concat();
            // Nothing, the key itself or another one.
            let held: Vec<u32> = padded.windows(WIDTH).take(windows).enumerate().map(|(i, window)| {
                match (seed >> (i % 61)) % 3 { 0 => EMPTY, 1 => key(window), _ => key(window) ^ 1 }
            }).collect();
            let lists = || (vec![0; PART + LANES], vec![0; PART + LANES]);
            let ((mut new, mut others), (mut portable_new, mut portable_others)) = (lists(), lists());
            let counts = part(&padded, &held, &mut new, &mut others);
            prop_assert_eq!(counts, part_portable(&padded, &held, &mut portable_new, &mut portable_others));
            prop_assert_eq!(&portable_new[..counts.0], &new[..counts.0]);
            prop_assert_eq!(&portable_others[..counts.1], &others[..counts.1]);
        }
    }

    #[test]
    fn keys_of_one_slot_and_long_texts_are_told_apart() {
        let twice = crowded(300).repeat(2);
        assert_eq!(2 * 300 * WIDTH, twice.len());
        let text: Vec<u8> = (0..200_000_u32).map(|i| b'a' + (i.wrapping_mul(2_654_435_761) >> 27) as u8 % 26).collect();
        let mut grams = Grams::default();
        for text in [twice, text] {
            let expected: HashSet<u32> = text.windows(WIDTH).map(key).collect();
            let found = keys(&mut grams, &text, PART);
            assert_eq!(expected.len(), found.len());
            assert_eq!(expected, found.into_iter().collect());
        }
    }
}
