//! The distinct ASCII 4-grams of a text, as 32-bit keys: their bytes, little-endian.
//!
//! A 4-gram of ASCII letters is its own key, so that 4-grams are compared before they are hashed, and repeated ones are
//! never hashed. A front is a table with one entry per slot: the first key of a slot owns it for the rest of the text.
//! The entry in the slot of a key k decides:
//!
//! | entry | k is |
//! |---|---|
//! | none of this text | new: it owns the slot from now on |
//! | k | known |
//! | another key | new or known: the next table decides |
//!
//! After the front come a smaller one with other slots, and an [`IdSet`] of the keys that own a slot in neither. A key
//! always has the same slots, so a key that owns a slot never reaches the later tables. The step of a front is
//! branch-free and the same in all three cases; vectors then separate the cases. With four slots per window, and one in
//! the second front, one key in ten reaches the second and one in a hundred the set.
//!
//! The slot of a key is the upper bits of its product with an odd factor. No two keys have the same product, so the
//! lower bits distinguish the keys of one slot. The upper eight bits of an entry are the number of the text, so that
//! entries of earlier texts are recognised, and a front is cleared for one text in 255.
//!
//! Cost: about three clock cycles per window, and 20 bytes of fronts per window; at most [`MAX_SLOTS`] slots, which
//! fit second-level caches, so that more keys of longer texts reach the set. Tests: against a plain set, and every
//! form of the vectors against plain code.

use crate::cpu::simd::{Simd, with_simd};
use crate::hash::idset::IdSet;
use crate::hash::xxh3;
use crate::{Result, alloc};

/// Maximum number of windows per call.
pub const PART: usize = 896;
/// Bytes of a window.
pub const WIDTH: usize = 4;
/// Bytes that may be read after the windows of a call.
pub const BEHIND: usize = 64;
/// Minimum and maximum number of slots of a front. There is a minimum because a slot omits the upper eight bits of a
/// product.
const MIN_SLOTS: usize = 256;
const MAX_SLOTS: usize = 1 << 17;
/// Factors of keys in the first front and in the second: 2^32 over the golden ratio, and XXH32's second prime. Both are
/// odd, so that no two keys have the same product.
const FACTORS: [u32; 2] = [0x9e37_79b1, 0x85eb_ca77];
/// In a slot: the lower bits of a product, below the number of the text.
const PRODUCT: u32 = (1 << 24) - 1;
/// Texts between two times that a front is cleared.
const TEXTS: u32 = 255;
/// Keys per vector, which may be written after the last one.
const LANES: usize = 16;

/// A table with one entry per slot.
#[derive(Default)]
struct Front {
    /// A power of two of slots; `2^(32 - shift)` are in use. Each stores `text << 24 | lower bits of the product` of
    /// its key, where text is the current number; a smaller number is of an earlier text, and the slot is free.
    slots: Vec<u32>,
    shift: u32,
    factor: u32,
    /// The number of this text, from 1 on, in the upper eight bits.
    text: u32,
}

/// The 4-grams of one text.
#[derive(Default)]
pub struct Grams {
    fronts: [Front; 2],
    /// Entries that the keys of a part find in their slots.
    entries: Vec<u32>,
    new: Vec<u32>,
    /// Keys whose slot another one owns: in the first front, in both.
    others: [Vec<u32>; 2],
    hashes: Vec<u64>,
    /// XXH3-64 of the keys that own no slot.
    behind: IdSet,
}

impl Front {
    /// Empty the front; set its approximate number of slots and its factor.
    fn clear(&mut self, slots: usize, factor: u32) -> Result<()> {
        let slots = slots.min(MAX_SLOTS).next_power_of_two().max(MIN_SLOTS);
        let len = self.slots.len().max(slots);
        alloc::try_resize(&mut self.slots, len, 0)?;
        if self.text == TEXTS << 24 {
            self.slots.fill(0);
            self.text = 0;
        }
        self.text += 1 << 24;
        (self.shift, self.factor) = (32 - slots.trailing_zeros(), factor);
        Ok(())
    }

    /// Read the entries of keys in their slots; the first key owns its slot.
    #[inline(always)]
    fn visit(&mut self, keys: Keys, entries: &mut [u32]) {
        match keys {
            // SAFETY: each position is below the length of `entries`, and the bytes contain all windows.
            Keys::Windows(bytes) => self.visit_all(entries, |at| unsafe { window(bytes, at) }),
            Keys::Given(keys) => self.visit_all(entries, |at| keys[at]),
        }
    }

    #[inline(always)]
    fn visit_all(&mut self, entries: &mut [u32], key: impl Fn(usize) -> u32) {
        let (shift, factor, text) = (self.shift, self.factor, self.text);
        let slots = &mut self.slots[..1 << (32 - shift)];
        // An index, since a call of an iterator that is not inlined costs more than the step.
        let mut at = 0;
        while at < entries.len() {
            // The upper bits of a product depend on all bits of the key.
            let product = key(at).wrapping_mul(factor);
            // SAFETY: the slot is below 2^(32 - shift), the length of the front.
            let entry = unsafe { slots.get_unchecked_mut((product >> shift) as usize) };
            entries[at] = *entry;
            // Never a jump, which would be mispredicted for one window in five.
            *entry = std::hint::select_unpredictable(*entry < text, product & PRODUCT | text, *entry);
            at += 1;
        }
    }
}

impl Grams {
    /// Empty the set for a text of `windows` windows.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn clear(&mut self, windows: usize) -> Result<()> {
        for (list, length) in [(&mut self.entries, PART), (&mut self.new, PART + LANES)] {
            alloc::try_resize(list, length, 0)?;
        }
        for list in &mut self.others {
            alloc::try_resize(list, PART + LANES, 0)?;
        }
        alloc::try_resize(&mut self.hashes, PART, 0)?;
        let [first, second] = &mut self.fronts;
        first.clear(4 * windows, FACTORS[0])?;
        second.clear(windows, FACTORS[1])?;
        if !self.behind.is_empty() || self.behind.check().is_err() {
            self.behind.clear((windows / 64).clamp(64, 4096));
        }
        Ok(())
    }

    /// Add the first `windows` windows of ASCII `bytes`; return the keys of the new ones, in no particular order.
    ///
    /// # Panics
    /// If there are more than [`PART`] windows, or fewer than [`BEHIND`] bytes after the start of the last one.
    #[inline]
    pub fn add(&mut self, bytes: &[u8], windows: usize) -> &[u32] {
        assert!(windows <= PART && windows + BEHIND <= bytes.len(), "windows of one part, and bytes behind them");
        let [first, second] = &mut self.fronts;
        let [others, rest] = &mut self.others;
        let entries = &mut self.entries[..windows];
        let (mut new, count) = first.part(Keys::Windows(bytes), entries, &mut self.new, others);
        if count > 0 {
            let (more, count) = second.part(Keys::Given(others), &mut entries[..count], &mut self.new[new..], rest);
            new += more;
            if count > 0 {
                let hashes = &mut self.hashes[..count];
                xxh3::hash_fours(&rest[..count], 0, hashes);
                let mut keys = rest.iter();
                self.behind.insert_all(hashes, |is_new| {
                    if let Some(&key) = keys.next() {
                        self.new[new] = key;
                    }
                    new += usize::from(is_new);
                });
            }
        }
        &self.new[..new]
    }

    /// Return the error of a set that is incomplete.
    ///
    /// # Errors
    /// There was no memory for it since it was cleared.
    pub fn check(&self) -> Result<()> {
        self.behind.check()
    }
}

/// Return the key of the window at a position.
///
/// # Safety
/// The bytes contain the window.
#[inline(always)]
unsafe fn window(bytes: &[u8], at: usize) -> u32 {
    // SAFETY: the caller guarantees it.
    u32::from_le(unsafe { bytes.as_ptr().add(at).cast::<u32>().read_unaligned() })
}

/// The source of keys.
#[derive(Clone, Copy)]
enum Keys<'a> {
    /// The windows of a byte string.
    Windows(&'a [u8]),
    /// A list.
    Given(&'a [u32]),
}

impl Front {
    /// Look up one key per entry of `entries`: keys whose slot is free go to `new`, keys whose slot has another owner to
    /// `others`; return the number of each.
    ///
    /// # Panics
    /// Unless there are enough keys, with [`BEHIND`] bytes or [`LANES`] keys after the start of the last one.
    #[inline]
    fn part(&mut self, keys: Keys, entries: &mut [u32], new: &mut [u32], others: &mut [u32]) -> (usize, usize) {
        let enough = match keys {
            Keys::Windows(bytes) => entries.len() + BEHIND <= bytes.len(),
            Keys::Given(keys) => entries.len() + LANES <= keys.len(),
        };
        let min_capacity = entries.len() + LANES;
        assert!(enough && min_capacity <= new.len() && min_capacity <= others.len(), "keys, and room for vectors");
        self.visit(keys, entries);
        // SAFETY: the form is compiled for the instructions of `S`, and the lengths were checked above.
        with_simd!(S => unsafe { self.separate::<S>(keys, entries, new, others) })
    }

    /// Separate keys by their entries, as [`Front::part`].
    ///
    /// # Safety
    /// The processor has the instructions of `S`, and the caller enables them. The keys are followed by [`BEHIND`] bytes
    /// or [`LANES`] keys, and `new` and `others` have capacity for [`LANES`] more keys than `entries`.
    #[inline(always)]
    unsafe fn separate<S: Simd>(
        &self,
        keys: Keys,
        entries: &[u32],
        new: &mut [u32],
        others: &mut [u32],
    ) -> (usize, usize) {
        // SAFETY: the caller guarantees the instructions. A vector of entries ends before the last full chunk does; one of
        // keys begins before the last key, and `BEHIND` bytes or `LANES` keys follow it. No more keys than entries were
        // written before, and a vector fits after them.
        unsafe {
            let (text, factor, product) = (S::splat32(self.text), S::splat32(self.factor), S::splat32(PRODUCT));
            let mut counts = (0, 0);
            for (step, entries) in entries.chunks(LANES).enumerate() {
                let at = step * LANES;
                let (present, entry) = if entries.len() == LANES {
                    (u16::MAX, S::load(entries.as_ptr().cast()))
                } else {
                    ((1 << entries.len()) - 1, S::load_first(entries.as_ptr().cast(), size_of_val(entries)))
                };
                let keys = match keys {
                    Keys::Windows(bytes) => S::windows32(bytes.as_ptr().add(at)),
                    Keys::Given(keys) => S::load(keys.as_ptr().add(at).cast()),
                };
                let own = S::or(S::and(S::mul32(keys, factor), product), text);
                let is_new = S::below32(entry, text) & present;
                let is_other = !S::equal32(entry, own) & present & !is_new;
                S::compress32(new.as_mut_ptr().add(counts.0), keys, is_new);
                S::compress32(others.as_mut_ptr().add(counts.1), keys, is_other);
                counts.0 += is_new.count_ones() as usize;
                counts.1 += is_other.count_ones() as usize;
            }
            counts
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::simd::with_each_simd;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn key(window: &[u8]) -> u32 {
        u32::from_le_bytes([window[0], window[1], window[2], window[3]])
    }

    fn distinct(text: &[u8]) -> HashSet<u32> {
        text.windows(WIDTH).map(key).collect()
    }

    /// Return the new keys of a text in parts of `size` windows.
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
        let letters =
            |range: std::ops::RangeInclusive<u8>, max_windows| prop::collection::vec(range, WIDTH..max_windows);
        prop_oneof![letters(b'a'..=b'z', 4000), letters(b'a'..=b'c', 3000), letters(0..=127, 2000), letters(0..=1, 60)]
    }

    /// Return keys of one slot: products with the same upper bits, divided by the factor again.
    fn crowded(factor: u32, count: usize) -> Vec<u8> {
        let inverse = (0..5).fold(factor, |x, _| x.wrapping_mul(2_u32.wrapping_sub(factor.wrapping_mul(x))));
        assert_eq!(1, inverse.wrapping_mul(factor));
        let keys = (7 << 16..8 << 16).map(|product: u32| product.wrapping_mul(inverse).to_le_bytes());
        keys.filter(|bytes| bytes.is_ascii()).take(count).flatten().collect()
    }

    proptest! {
        #[test]
        fn each_window_is_given_once(texts in prop::collection::vec(some_bytes(), 1..4), size in 1..=PART) {
            let mut grams = Grams::default();
            for text in texts {
                let expected = distinct(&text);
                let found = keys(&mut grams, &text, size);
                prop_assert_eq!(expected.len(), found.len());
                prop_assert_eq!(expected, found.into_iter().collect::<HashSet<u32>>());
            }
        }

        #[test]
        fn every_form_separates_alike(text in some_bytes(), listed: bool) {
            let mut front = Front::default();
            for _ in 0..2 {
                let windows = (text.len() - WIDTH + 1).min(PART);
                let padded = [text.as_slice(), &[0; BEHIND]].concat();
                let list: Vec<u32> = (0..windows + LANES).map(|at| key(&padded[at..])).collect();
                let keys = if listed { Keys::Given(&list) } else { Keys::Windows(&padded) };
                front.clear(windows, FACTORS[1]).expect("room");
                let mut entries = vec![0; windows];
                front.visit(keys, &mut entries);
                let mut expected = (Vec::new(), Vec::new());
                for (&key, &entry) in list.iter().zip(&entries) {
                    let own = key.wrapping_mul(front.factor) & PRODUCT | front.text;
                    if entry < front.text {
                        expected.0.push(key);
                    } else if entry != own {
                        expected.1.push(key);
                    }
                }
                with_each_simd!(S => {
                    let (mut new, mut others) = (vec![0; PART + LANES], vec![0; PART + LANES]);
                    // SAFETY: the form is compiled for the instructions of `S`, and the lists have room.
                    let counts = unsafe { front.separate::<S>(keys, &entries, &mut new, &mut others) };
                    assert_eq!((&expected.0[..], &expected.1[..]), (&new[..counts.0], &others[..counts.1]));
                });
            }
        }
    }

    #[test]
    fn what_earlier_texts_left_is_not_there() {
        // Two texts in turn, over more texts than there are numbers; lengths change how many slots are in use.
        let mut grams = Grams::default();
        for number in 0..3 * TEXTS as usize {
            let text: Vec<u8> = b"one two three four five six seven".repeat(1 + number % 7 * 20);
            let found = keys(&mut grams, &text[number % 2..], PART);
            assert_eq!(distinct(&text[number % 2..]), found.into_iter().collect());
        }
    }

    #[test]
    fn keys_of_one_slot_and_long_texts_are_told_apart() {
        let [twice, second] = FACTORS.map(|factor| crowded(factor, 300).repeat(2));
        assert_eq!(2 * 300 * WIDTH, twice.len());
        let text: Vec<u8> = (0..200_000_u32).map(|i| b'a' + (i.wrapping_mul(2_654_435_761) >> 27) as u8 % 26).collect();
        let mut grams = Grams::default();
        for text in [twice, second, text] {
            let expected = distinct(&text);
            let found = keys(&mut grams, &text, PART);
            assert_eq!(expected.len(), found.len());
            assert_eq!(expected, found.into_iter().collect());
        }
    }
}
