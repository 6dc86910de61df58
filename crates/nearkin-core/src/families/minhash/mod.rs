//! `MinHash`: sets of features → signatures; the share of equal values estimates the Jaccard similarity.
//!
//! A feature is a 64-bit hash h. With the bijection `x = mix(h)` (the finaliser of `MurmurHash3`), taken for a random
//! function, the k values of a set A are
//!
//! | scheme | value i | cost |
//! |---|---|---|
//! | `classic` | min over A of (aᵢ x + bᵢ) mod 2^64, aᵢ odd, bᵢ any | \|A\| · k |
//! | `one` | min over those x of A that fall into bin i, where bin(x) = ⌊k · ⌊x / 2^32⌋ / 2^32⌋ | \|A\| + k |
//! | `fast` | the same in up to three rounds, a bin in the first round that fills it; `classic` where none does | ≤ 3 \|A\| + k |
//!
//! and P[value i of A = value i of B] = J(A, B) = |A ∩ B| / |A ∪ B|. In `one` (one permutation) a bin that no feature
//! falls into takes the value of the first bin that is not empty in an order of all bins that is its own and random:
//! optimal densification. Two sets that share the empty bin find the same source with the probability J that they share
//! its value.
//!
//! `fast` is described in [`fast`], and the scheme `weighted`, whose sets have weights, in [`weighted`].
//!
//! The share of equal values is unbiased; its variance is J(1 − J)/k for `classic`; `one` draws without replacement, so
//! that it has less if all bins are full, and repeats sources if few are; `fast` has less than `classic` for sets of
//! any size. The formulas are in `python/nearkin/theory/banding.py`, which the tests compare with.
//!
//! Every feature has a separate value in `classic` (odd multiplication is a bijection), and every value identifies its
//! bin in `one`. So a signature of `one` shows which of its values were borrowed, and the signature of a union follows
//! from those of its parts ([`MinHash::merge`]). A minimum does not depend on repetitions, so texts need not be
//! deduplicated first.
//!
//! Values are 64 bits, or their upper 32 bits: two different values agree in 32 bits with probability 2^-32 times about
//! half the number of features per bin or function; for 10^6 features that is at most 10^-4. The largest value means
//! "no feature"; a feature that would have it has the next smaller one.
//!
//! Cost as above; tables of 4 k² bytes in `one`. Sources: Broder (SEQUENCES 1997); Li, Owen and Zhang (NIPS 2012), one
//! permutation; Shrivastava (ICML 2017), optimal densification, where a bin probes by a 2-universal hash; an order of
//! all bins certainly ends. Tests: against plain definitions here; bias and variance in
//! `tests/families/test_minhash.py`.

use crate::parallel::prelude::*;

use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::hash::WordHash;
use crate::hash::murmur3::avalanche as mix;
use crate::text::tokenizer::{Scratch, TextSource, Tokenizer};
use crate::{Error, Result, alloc};

/// Largest number of values of a signature.
pub const MAX_PERM: usize = 512;

/// Number of functions whose minima are in registers at once.
const LANES: usize = 32;

/// Features that are mixed at once.
const CHUNK: usize = 256;

/// The largest value of a feature: anything above stands for none.
const LARGEST: u64 = 0xffff_fffe_ffff_ffff;

mod fast;
pub mod keys;
mod weighted;

/// How the k values of a set come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// k functions.
    Classic,
    /// One permutation with optimal densification.
    One,
    /// Rounds of one permutation each, until all bins are full.
    Fast,
}

impl Scheme {
    /// Return the scheme called `name`.
    ///
    /// # Errors
    /// An unknown name.
    pub fn new(name: &str) -> Result<Self> {
        match name {
            "classic" => Ok(Self::Classic),
            "one" => Ok(Self::One),
            "fast" => Ok(Self::Fast),
            other => Err(Error::parameter("scheme", other, "one, fast, classic or weighted")),
        }
    }
}

/// A value of a signature: 32 or 64 bits.
pub trait Value: Copy + Eq + Ord + Send + Sync + std::hash::Hash + 'static {
    /// The value of a set without features.
    const NONE: Self;
    /// Return the value of 64 bits.
    fn of(bits: u64) -> Self;
    /// Return 64 bits with this value.
    fn bits(self) -> u64;
    /// Write values to the start of `bytes` in little-endian order, and return what was written.
    fn write<'a>(values: &[Self], bytes: &'a mut [u8]) -> &'a [u8];
}

impl Value for u32 {
    const NONE: Self = Self::MAX;
    #[inline(always)]
    fn of(bits: u64) -> Self {
        (bits >> 32) as Self
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        if self == Self::MAX { u64::MAX } else { u64::from(self) << 32 }
    }
    #[inline(always)]
    fn write<'a>(values: &[Self], bytes: &'a mut [u8]) -> &'a [u8] {
        for (target, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(values) {
            *target = value.to_le_bytes();
        }
        &bytes[..4 * values.len()]
    }
}

impl Value for u64 {
    const NONE: Self = Self::MAX;
    #[inline(always)]
    fn of(bits: u64) -> Self {
        bits
    }
    #[inline(always)]
    fn bits(self) -> u64 {
        self
    }
    #[inline(always)]
    fn write<'a>(values: &[Self], bytes: &'a mut [u8]) -> &'a [u8] {
        for (target, value) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(values) {
            *target = value.to_le_bytes();
        }
        &bytes[..8 * values.len()]
    }
}

/// A family of `num_perm` values.
pub struct MinHash {
    num_perm: usize,
    scheme: Scheme,
    instructions: Instructions,
    /// aᵢ of `classic`, padded to full registers; those of the rounds of `fast` follow them.
    factors: Vec<u64>,
    /// bᵢ, likewise.
    terms: Vec<u64>,
    /// Position t · k + i has the t-th bin in the order of bin i, itself for t = 0.
    order: Vec<u16>,
    ranks: Ranks,
}

/// Position b · k + i has the rank of bin b in the order of bin i: a byte if that suffices, so that more fit a
/// register.
enum Ranks {
    Narrow(Vec<u8>),
    Wide(Vec<u16>),
}

/// Scratch buffers of a thread, reused for every set.
pub struct Sketch {
    /// Minimum so far, per bin or function.
    minima: Box<[u64; MAX_PERM]>,
    /// True if there was any feature.
    some: bool,
    mixed: [u64; CHUNK],
    bins: [u64; CHUNK],
    /// Mixed features of `fast` that no round has seen.
    buffer: Vec<u64>,
    rest_bins: Box<fast::EmptyBins>,
    text: Scratch,
}

impl Default for Sketch {
    fn default() -> Self {
        Self {
            minima: Box::new([u64::MAX; MAX_PERM]),
            some: false,
            mixed: [0; CHUNK],
            bins: [0; CHUNK],
            buffer: Vec::new(),
            rest_bins: Box::default(),
            text: Scratch::default(),
        }
    }
}

/// `SplitMix64` (Steele, Lea, Flood 2014): the constants of the family come from it, seed 0.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[inline(always)]
fn bin_of(value: u64, num_perm: usize) -> usize {
    (((value >> 32) * num_perm as u64) >> 32) as usize
}

impl MinHash {
    /// Create a family of `num_perm` values, 1 to 512.
    ///
    /// # Errors
    /// A number out of its range.
    pub fn new(num_perm: usize, scheme: Scheme) -> Result<Self> {
        if !(1..=MAX_PERM).contains(&num_perm) {
            return Err(Error::parameter("num_perm", num_perm, format!("1 to {MAX_PERM}")));
        }
        let instructions = Instructions::best();
        let mut family = Self {
            num_perm,
            scheme,
            instructions,
            factors: vec![],
            terms: vec![],
            order: vec![],
            ranks: Ranks::Wide(vec![]),
        };
        let mut random = SplitMix(0);
        match scheme {
            Scheme::Classic | Scheme::Fast => {
                let rounds = if scheme == Scheme::Fast { fast::ROUNDS } else { 0 };
                for _ in 0..num_perm.next_multiple_of(LANES) + rounds {
                    family.factors.push(random.next() | 1);
                    family.terms.push(random.next());
                }
            }
            Scheme::One => {
                let k = num_perm;
                family.order = vec![0; k * k];
                let mut ranks = vec![0_u16; k * k];
                for i in 0..k {
                    let mut bins: Vec<u16> = (0..k as u16).collect();
                    bins.swap(0, i);
                    for last in (2..k).rev() {
                        bins.swap(last, 1 + random.below(last));
                    }
                    for (t, &bin) in bins.iter().enumerate() {
                        family.order[t * k + i] = bin;
                        ranks[usize::from(bin) * k + i] = t as u16;
                    }
                }
                family.ranks = if k <= 256 {
                    Ranks::Narrow(ranks.into_iter().map(|rank| rank as u8).collect())
                } else {
                    Ranks::Wide(ranks)
                };
            }
        }
        Ok(family)
    }

    /// Number of values of a signature.
    pub fn num_perm(&self) -> usize {
        self.num_perm
    }

    fn begin(&self, sketch: &mut Sketch) {
        sketch.minima[..self.num_perm.next_multiple_of(LANES)].fill(u64::MAX);
        sketch.some = false;
        sketch.buffer.clear();
    }

    /// Update the minima with features.
    fn add(&self, hashes: &[u64], sketch: &mut Sketch) {
        sketch.some |= !hashes.is_empty();
        self.instructions.run(
            #[inline(always)]
            || self.add_plain(hashes, sketch),
        );
    }

    #[inline(always)]
    fn add_plain(&self, hashes: &[u64], sketch: &mut Sketch) {
        if self.scheme == Scheme::Fast {
            return self.buffer_features(hashes, sketch);
        }
        let Sketch { minima, mixed, bins, .. } = sketch;
        for chunk in hashes.chunks(CHUNK) {
            for (x, &h) in mixed.iter_mut().zip(chunk) {
                *x = mix(h);
            }
            let mixed = &mut mixed[..chunk.len()];
            match self.scheme {
                Scheme::Classic => {
                    let functions = self.factors.chunks_exact(LANES).zip(self.terms.chunks_exact(LANES));
                    for ((a, b), minima) in functions.zip(minima.chunks_exact_mut(LANES)) {
                        update_minima(mixed, a, b, minima);
                    }
                }
                Scheme::One => {
                    for (bin, x) in bins.iter_mut().zip(&mut *mixed) {
                        *x = (*x).min(LARGEST);
                        *bin = bin_of(*x, self.num_perm) as u64;
                    }
                    for (&bin, &x) in bins.iter().zip(&*mixed) {
                        let minimum = &mut minima[bin as usize % MAX_PERM];
                        *minimum = (*minimum).min(x);
                    }
                }
                Scheme::Fast => {}
            }
        }
    }

    /// Write the signature of the added features.
    fn finish<V: Value>(&self, sketch: &mut Sketch, out: &mut [V]) {
        if !sketch.some {
            return out.fill(V::NONE);
        }
        self.rounds(sketch);
        match self.scheme {
            Scheme::Classic | Scheme::Fast => {
                out.iter_mut().zip(&*sketch.minima).for_each(|(out, &value)| *out = V::of(value.min(LARGEST)));
            }
            Scheme::One => self.densify(&sketch.minima, out),
        }
    }

    /// Densify: each empty bin takes the value of the first bin in its order that is not empty; not all are empty.
    fn densify<V: Value>(&self, minima: &[u64; MAX_PERM], out: &mut [V]) {
        self.instructions.run(
            #[inline(always)]
            || self.densify_plain(minima, out),
        );
    }

    #[inline(always)]
    fn densify_plain<V: Value>(&self, minima: &[u64; MAX_PERM], out: &mut [V]) {
        let k = self.num_perm;
        let mut masks = [0_u64; MAX_PERM / 64];
        for (mask, values) in masks.iter_mut().zip(minima[..k].chunks(64)) {
            *mask = values.iter().enumerate().fold(0, |mask, (i, &value)| mask | u64::from(value != u64::MAX) << i);
        }
        let full = masks.iter().map(|mask| mask.count_ones() as usize).sum::<usize>();
        let empty = k - full;
        if PROBE_COST * empty <= full * full {
            for (i, out) in out.iter_mut().enumerate() {
                let mut value = minima[i];
                let mut t = 1;
                while value == u64::MAX && t < k {
                    value = minima[usize::from(self.order[t * k + i]) % MAX_PERM];
                    t += 1;
                }
                *out = V::of(value);
            }
            return;
        }
        let mut bins = [0_u16; MAX_PERM];
        let mut count = 0;
        for (word, mask) in masks.into_iter().enumerate() {
            let mut rest = mask;
            while rest != 0 {
                bins[count] = 64 * word as u16 + rest.trailing_zeros() as u16;
                count += 1;
                rest &= rest - 1;
            }
        }
        match &self.ranks {
            Ranks::Narrow(ranks) => self.borrow(ranks, &bins[..count], minima, out),
            Ranks::Wide(ranks) => self.borrow(ranks, &bins[..count], minima, out),
        }
    }

    /// Densify from the side of the bins that are not empty.
    #[inline(always)]
    fn borrow<V: Value, R: Copy + Ord + Default + Into<usize>>(
        &self,
        ranks: &[R],
        bins: &[u16],
        minima: &[u64; MAX_PERM],
        out: &mut [V],
    ) {
        let k = self.num_perm;
        let mut i = 0;
        for out in out.chunks_mut(RANKED) {
            let mut best = [R::default(); RANKED];
            let best = &mut best[..out.len()];
            best.copy_from_slice(&ranks[usize::from(bins[0]) * k + i..][..out.len()]);
            if let Ok(best) = <&mut [R; RANKED]>::try_from(&mut *best) {
                let mut current = *best;
                for &bin in bins {
                    let Ok(row) = <&[R; RANKED]>::try_from(&ranks[usize::from(bin) * k + i..][..RANKED]) else {
                        return;
                    };
                    for (current, &rank) in current.iter_mut().zip(row) {
                        *current = (*current).min(rank);
                    }
                }
                *best = current;
            } else {
                for &bin in bins {
                    for (best, &rank) in best.iter_mut().zip(&ranks[usize::from(bin) * k + i..]) {
                        *best = (*best).min(rank);
                    }
                }
            }
            for (at, (out, &rank)) in out.iter_mut().zip(&*best).enumerate() {
                let source = self.order[rank.into() * k + i + at];
                *out = V::of(minima[usize::from(source) % MAX_PERM]);
            }
            i += out.len();
        }
    }

    /// Write the signature of the set of features with these hashes, which may repeat, into `out` (one slot per value).
    pub fn hashes<V: Value>(&self, hashes: &[u64], sketch: &mut Sketch, out: &mut [V]) {
        self.begin(sketch);
        self.add(hashes, sketch);
        self.finish(sketch, out);
    }

    /// Write the signature of `text` into `out`; return its number of features, each occurrence. Without features all
    /// values are the largest.
    ///
    /// # Errors
    /// Memory runs out for its buffers.
    pub fn text<V: Value>(
        &self,
        tokenizer: &Tokenizer,
        hash: WordHash,
        text: &str,
        sketch: &mut Sketch,
        out: &mut [V],
    ) -> Result<u64> {
        self.begin(sketch);
        let mut buffers = std::mem::take(&mut sketch.text);
        let count = tokenizer.hashes(text, &[hash], &mut buffers, |_, hashes| self.add(hashes, sketch));
        sketch.text = buffers;
        self.finish(sketch, out);
        count
    }

    /// Write signatures of many texts, in parallel: `out` has [`MinHash::num_perm`] slots per text, `counts` one. If it
    /// is cancelled, the rest is unchanged.
    ///
    /// # Errors
    /// Memory runs out for the buffers of a text.
    ///
    /// # Panics
    /// If `out` or `counts` have other lengths.
    pub fn texts<V: Value>(
        &self,
        tokenizer: &Tokenizer,
        hash: WordHash,
        texts: &dyn TextSource,
        out: &mut [V],
        counts: &mut [u64],
    ) -> Result<()> {
        assert_eq!((texts.len() * self.num_perm, texts.len()), (out.len(), counts.len()), "one place per text");
        let cancel = &CancelToken::current();
        out.par_chunks_mut(self.num_perm).zip(counts).enumerate().with_min_len(16).try_for_each_init(
            || Sketch { text: Scratch::with_cancel(cancel), ..Sketch::default() },
            |sketch, (i, (out, count))| {
                if cancel.is_set() {
                    return Ok(());
                }
                texts.prefetch(i + 1);
                match texts.get(i) {
                    Some(text) => *count = self.text(tokenizer, hash, text, sketch, out)?,
                    None => out.fill(V::NONE),
                }
                Ok(())
            },
        )
    }

    /// Write signatures of sets of hashes: set d has `hashes[offsets[d]..offsets[d + 1]]`.
    ///
    /// # Panics
    /// If the offsets do not belong to the hashes, or `out` has another length.
    pub fn sets<V: Value>(&self, offsets: &[i64], hashes: &[u64], out: &mut [V]) {
        assert_eq!((offsets.len() - 1) * self.num_perm, out.len(), "one place per set");
        let cancel = &CancelToken::current();
        out.par_chunks_mut(self.num_perm).enumerate().with_min_len(64).for_each_init(
            Sketch::default,
            |sketch, (d, out)| {
                if cancel.is_set() {
                    return;
                }
                self.hashes(&hashes[offsets[d] as usize..offsets[d + 1] as usize], sketch, out);
            },
        );
    }

    /// Merge the signatures of `right` into `left`, row by row: those of the unions of their sets.
    pub fn merge<V: Value>(&self, left: &mut [V], right: &[V]) {
        let cancel = &CancelToken::current();
        let k = self.num_perm;
        left.par_chunks_mut(k).zip(right.par_chunks(k)).with_min_len(64).for_each(|(left, right)| match self.scheme {
            _ if cancel.is_set() => {}
            Scheme::Classic | Scheme::Fast => {
                left.iter_mut().zip(right).for_each(|(left, &right)| *left = (*left).min(right));
            }
            Scheme::One => {
                let mut minima = [u64::MAX; MAX_PERM];
                for side in [&*left, right] {
                    for (i, &value) in side.iter().enumerate() {
                        // A value in another bin than its own is borrowed, and the union may have a better one.
                        if value != V::NONE && bin_of(value.bits(), k) == i {
                            minima[i] = minima[i].min(value.bits());
                        }
                    }
                }
                if minima[..k].iter().all(|value| *value == u64::MAX) {
                    return left.fill(V::NONE);
                }
                self.densify(&minima, left);
            }
        });
    }
}

/// Ranks that are compared at once.
const RANKED: usize = 64;

/// Full bins squared against this many times the empty ones say whether these probe one by one: measured for 128 and 512 values.
const PROBE_COST: usize = 400;

#[inline(always)]
fn update_minima(mixed: &[u64], a: &[u64], b: &[u64], minima: &mut [u64]) {
    let (Ok(a), Ok(b)) = (<&[u64; LANES]>::try_from(a), <&[u64; LANES]>::try_from(b)) else { return };
    let Ok(minima) = <&mut [u64; LANES]>::try_from(minima) else { return };
    let mut current = *minima;
    for &x in mixed {
        for i in 0..LANES {
            current[i] = current[i].min(a[i].wrapping_mul(x).wrapping_add(b[i]));
        }
    }
    *minima = current;
}

/// Return the number of values in which the rows of `a` and `b` differ; an array of one row is compared with all of the
/// other. A row without features differs from every row in all values.
///
/// # Errors
/// Numbers of rows differ and neither is one; values are no full rows of `num_perm`; memory runs out.
pub fn differences<V: Value>(a: &[V], b: &[V], num_perm: usize) -> Result<Vec<u16>> {
    fn row<V>(values: &[V], rows: usize, i: usize, num_perm: usize) -> &[V] {
        let at = if rows == 1 { 0 } else { i * num_perm };
        &values[at..at + num_perm]
    }
    let (rows_a, rows_b) = (a.len() / num_perm.max(1), b.len() / num_perm.max(1));
    if rows_a != rows_b && rows_a != 1 && rows_b != 1 {
        return Err(Error::mismatch("number of rows", rows_a, rows_b));
    }
    if num_perm == 0 || rows_a * num_perm != a.len() || rows_b * num_perm != b.len() {
        return Err(Error::parameter("num_perm", num_perm, "the values of a signature"));
    }
    let rows = if rows_a == 1 { rows_b } else { rows_a };
    let cancel = &CancelToken::current();
    let differing =
        |i| if cancel.is_set() { 0 } else { different(row(a, rows_a, i, num_perm), row(b, rows_b, i, num_perm)) };
    alloc::try_collect_parallel((0..rows).into_par_iter().with_min_len(1024).map(differing))
}

/// Return the number of values in which two signatures differ: all, if one is of a set without features.
#[inline]
pub fn different<V: Value>(a: &[V], b: &[V]) -> u16 {
    if a.first() == Some(&V::NONE) && a.iter().all(|value| *value == V::NONE) {
        return a.len() as u16;
    }
    a.iter().zip(b).map(|(a, b)| u16::from(a != b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Compute the definition of the header, feature by feature.
    fn definition(family: &MinHash, hashes: &[u64]) -> Vec<u64> {
        let k = family.num_perm;
        if hashes.is_empty() {
            return vec![u64::MAX; k];
        }
        if family.scheme == Scheme::Classic {
            let value = |i: usize, h: u64| family.factors[i].wrapping_mul(mix(h)).wrapping_add(family.terms[i]);
            return (0..k).map(|i| hashes.iter().map(|&h| value(i, h)).min().unwrap_or(0).min(LARGEST)).collect();
        }
        if family.scheme == Scheme::Fast {
            return fast::tests::definition(family, hashes);
        }
        let own = |bin: usize| {
            let values = hashes.iter().map(|&h| mix(h).min(LARGEST));
            values.filter(|x| ((u128::from(x >> 32) * k as u128) >> 32) as usize == bin).min()
        };
        (0..k)
            .map(|i| {
                let borrowed = || (0..k).find_map(|t| own(family.order[t * k + i].into()));
                own(i).or_else(borrowed).unwrap_or(u64::MAX)
            })
            .collect()
    }

    fn schemes() -> impl Strategy<Value = Scheme> {
        prop::sample::select(vec![Scheme::Classic, Scheme::One, Scheme::Fast])
    }

    fn sets() -> impl Strategy<Value = Vec<u64>> {
        (prop_oneof![0_usize..40, 0_usize..600, 2000_usize..3000], any::<u64>()).prop_map(|(size, seed)| {
            let mut random = SplitMix(seed);
            (0..size).map(|_| random.next() % 1000).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn every_form_equals_the_definition(
            hashes in sets(), num_perm in prop::sample::select(vec![1_usize, 2, 31, 64, 100, 128]), scheme in schemes()
        ) {
            let mut family = MinHash::new(num_perm, scheme).expect("in range");
            let expected = definition(&family, &hashes);
            let mut sketch = Sketch::default();
            for instructions in Instructions::available() {
                family.instructions = instructions;
                let mut wide = vec![0_u64; num_perm];
                family.hashes(&hashes, &mut sketch, &mut wide);
                prop_assert_eq!(&expected, &wide, "{:?}", instructions);
                let mut narrow = vec![0_u32; num_perm];
                family.hashes(&hashes, &mut sketch, &mut narrow);
                prop_assert_eq!(expected.iter().map(|x| (x >> 32) as u32).collect::<Vec<_>>(), narrow);
            }
        }

        #[test]
        fn the_union_of_signatures_is_the_signature_of_the_union(
            a in sets(), b in sets(), scheme in schemes()
        ) {
            let family = MinHash::new(64, scheme).expect("in range");
            let mut sketch = Sketch::default();
            let (mut left, mut right, mut both) = (vec![0_u32; 64], vec![0_u32; 64], vec![0_u32; 64]);
            family.hashes(&a, &mut sketch, &mut left);
            family.hashes(&b, &mut sketch, &mut right);
            family.hashes(&[a, b].concat(), &mut sketch, &mut both);
            family.merge(&mut left, &right);
            prop_assert_eq!(both, left);
        }
    }

    #[test]
    fn every_way_to_fill_empty_bins_agrees() {
        for num_perm in [1, 16, 64, 100, 128, 300, 512] {
            let mut family = MinHash::new(num_perm, Scheme::One).expect("in range");
            let mut random = SplitMix(1);
            for full in [1, 2, 5, num_perm / 2, num_perm - num_perm / 8, num_perm] {
                let full = full.clamp(1, num_perm);
                let mut minima = [u64::MAX; MAX_PERM];
                while minima[..num_perm].iter().filter(|value| **value != u64::MAX).count() < full {
                    minima[random.below(num_perm)] = random.next() >> 1;
                }
                let first = |i: usize| {
                    let order = (0..num_perm).map(|t| usize::from(family.order[t * num_perm + i]));
                    order.map(|bin| minima[bin]).find(|&value| value != u64::MAX)
                };
                let expected: Vec<u64> = (0..num_perm).filter_map(first).collect();
                for instructions in Instructions::available() {
                    family.instructions = instructions;
                    let mut out = vec![0_u64; num_perm];
                    family.densify(&minima, &mut out);
                    assert_eq!(expected, out, "{num_perm} {full} {instructions:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn differences_are_counted_place_by_place(
            a in prop::collection::vec(0_u32..3, 0..60), num_perm in 1_usize..6, single: bool
        ) {
            let rows = a.len() / num_perm;
            let a = &a[..rows * num_perm];
            let b: Vec<u32> = a.iter().map(|value| value / 2).collect();
            let b = if single && rows > 0 { &b[..num_perm] } else { &b };
            let expected: Vec<u16> = (0..rows)
                .map(|row| {
                    let other = if b.len() == num_perm { 0 } else { row };
                    (0..num_perm).map(|i| u16::from(a[row * num_perm + i] != b[other * num_perm + i])).sum()
                })
                .collect();
            prop_assert_eq!(&expected, &differences(a, b, num_perm).expect("whole rows"));
            prop_assert_eq!(expected, differences(b, a, num_perm).expect("whole rows"));
        }
    }

    #[test]
    fn rows_that_can_not_be_compared_are_refused() {
        let error = differences(&[0_u32; 4], &[0; 6], 2).expect_err("two rows and three").to_string();
        assert_eq!("number of rows differs: 2 against 3; compare only values that share it", error);
        for (a, b, num_perm) in [(3, 3, 2), (2, 3, 2), (2, 2, 0)] {
            let error = differences(&vec![0_u64; a], &vec![0; b], num_perm).expect_err("no whole rows").to_string();
            assert_eq!(format!("num_perm={num_perm} is not allowed; use the values of a signature"), error);
        }
        assert_eq!(Vec::<u16>::new(), differences::<u32>(&[], &[0, 0], 2).expect("no rows"));
    }

    #[test]
    fn schemes_and_numbers_out_of_range_are_refused() {
        assert_eq!(
            "scheme=two is not allowed; use one, fast, classic or weighted",
            Scheme::new("two").expect_err("unknown").to_string()
        );
        for num_perm in [0, MAX_PERM + 1] {
            let error = MinHash::new(num_perm, Scheme::One).err().map(|error| error.to_string());
            assert_eq!(Some(format!("num_perm={num_perm} is not allowed; use 1 to 512")), error);
        }
    }

    #[test]
    fn sets_without_features_differ_from_everything() {
        assert_eq!(2, different(&[u32::MAX, u32::MAX], &[u32::MAX, u32::MAX]));
        assert_eq!(2, different(&[u32::MAX, u32::MAX], &[1, 2]));
        assert_eq!(1, different(&[1_u32, 3], &[1, 2]));
    }
}
