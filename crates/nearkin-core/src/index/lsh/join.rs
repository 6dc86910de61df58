//! All near pairs of vectors by cosine: a join by bands of sign bits, without an index.
//!
//! ```text
//! bit i of x = [(P x)_i > 0]                     P: three rounds of random signs and Hadamard, then a round per D bits more
//! p(t) = 1 - arccos(t) / π                       a bit of two vectors of cosine t is equal with this probability
//! P(found) >= 1 - (1 - p^b)^L - P(Binomial(512, 1 - p) > c)
//! ```
//! L *bands* have b bits each. Two rows are candidates if all bits of some band are equal; a candidate is *verified* by
//! its exact cosine if at most c of its first 512 bits differ (its *sketch*). The last term is an upper bound: that
//! bands are equal makes few differing bits more likely. The law holds for Gaussian directions and any vectors (Charikar
//! 2002); rotations imitate them (`hadamard`), and `pairs_at_the_threshold_are_found_as_often_as_promised` measures it.
//!
//! **Steps.** The bits of all rows make a 32-bit key per band. Each band's keys are sorted by radix, so that a *bucket*
//! of equal keys is a run of rows. A pair is compared in the first of its bands that lie within the sketch, which costs
//! no memory access, and duplicates of later bands are dropped before verification.
//!
//! **Large buckets.** For keep-then-absorb only links to kept rows count. In a bucket of more than [`SMALL`] rows the
//! first [`FIRST`] are compared with all others; then rows are decided as far as the links decide them: a row is
//! absorbed if it has a link to a kept row, and kept if it was compared with all earlier rows of its buckets that are
//! not absorbed and no link is left open. Absorbed rows leave the buckets, and the next rows are compared, twice as many
//! in each round. So a bucket of m rows with c kept rows takes about m c comparisons, not m². Links decide what
//! all pairs would (`rounds_decide_what_all_pairs_do`).
//!
//! Cost: b L bits of rotations and L sorted keys per row, and a comparison of sketches per candidate. Memory: 4 L + 64
//! bytes per row. Sources: M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, section
//! 3; P. Indyk, R. Motwani, "Approximate Nearest Neighbors", STOC 1998 (bands).

use crate::parallel::prelude::*;

use super::kernels::Metric;
use super::vectors::{VectorStore, Vectors};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::cpu::prefetch::prefetch_at;
use crate::vectors::hadamard::{Hadamard, size_of_rotation};
use crate::vectors::rotation::STRUCTURED;
use crate::{Error, Result, alloc};

/// Bits of a sketch.
pub const SKETCH_BITS: usize = 512;
/// Maximum number of bits of a band.
pub const MAX_BAND_BITS: usize = 32;
/// Maximum number of bits of all bands of a row.
pub const MAX_BITS: usize = 1 << 14;
/// Rows whose keys stand together.
const CHUNK: usize = 1024;
/// Rows of a bucket that are compared with each other at once.
const SMALL: usize = if cfg!(test) { 4 } else { 32 };
/// Rows of a larger bucket that are compared with the others in the first round.
const FIRST: usize = if cfg!(test) { 1 } else { 16 };
/// Pairs that one task verifies.
const PAIRS: usize = 512;
/// Entries to prefetch ahead.
const AHEAD: usize = 16;
/// Seed of the rotations.
const SEED: u64 = 0;

/// First 512 bits of a row, in one cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Sketch([u64; SKETCH_BITS / 64]);

impl Sketch {
    /// Return the bits in which two sketches differ.
    #[inline(always)]
    fn differing(&self, other: &Self) -> [u64; SKETCH_BITS / 64] {
        let mut bits = [0; SKETCH_BITS / 64];
        for (bits, (a, b)) in bits.iter_mut().zip(self.0.iter().zip(&other.0)) {
            *bits = a ^ b;
        }
        bits
    }
}

/// Vectors that are joined, in keep order.
#[derive(Clone, Copy)]
pub struct JoinRows<'a> {
    /// The vectors.
    pub vectors: Vectors<'a>,
    /// Number of coordinates.
    pub dim: usize,
    /// The row of each ordinal.
    pub rows: &'a [u32],
}

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub struct JoinParams {
    /// b, 1 to 32.
    pub band_bits: usize,
    /// L, 1 or more.
    pub bands: usize,
    /// c: candidates with more differing bits of the sketch are dropped.
    pub max_differing: u32,
    /// Maximum distance, 1 - cosine, inclusive.
    pub radius: f64,
    /// True: return all pairs that are found. False: at least those that decide keep-then-absorb.
    pub all: bool,
}

/// Near pairs: ordinals `left < right`, sorted by both, and distances.
#[derive(Debug, Default, PartialEq)]
pub struct NearPairs {
    /// The earlier row of each pair.
    pub left: Vec<u32>,
    /// The later one.
    pub right: Vec<u32>,
    /// 1 - cosine.
    pub distances: Vec<f64>,
    /// Number of pairs that were verified.
    pub verified: usize,
}

/// Computes sign bits of rows.
struct Signs {
    rotations: Vec<Hadamard>,
}

impl Signs {
    /// Draw rotations for at least `bits` bits and a sketch.
    fn new(bits: usize, dim: usize) -> Result<Self> {
        let size = size_of_rotation(dim)?;
        let count = bits.max(SKETCH_BITS).div_ceil(size);
        let rotations = alloc::try_map((0..count).map(|number| Hadamard::new(SEED, STRUCTURED, number, dim)))?;
        Ok(Self { rotations })
    }

    /// Number of words of a row.
    fn words(&self) -> usize {
        self.rotations.iter().map(|rotation| rotation.size() / 64).sum()
    }

    /// Write the bits of a row; `values` is scratch.
    ///
    /// # Errors
    /// The row has no direction in single precision.
    fn write(
        &self,
        instructions: Instructions,
        rows: &JoinRows<'_>,
        ordinal: usize,
        values: &mut Vec<f32>,
        words: &mut [u64],
    ) -> Result<()> {
        let row = rows.rows[ordinal] as usize;
        rows.vectors.widen(rows.dim, row, values);
        values.resize(self.rotations[0].size(), 0.0);
        let factor = instructions.run(
            #[inline(always)]
            || 1.0 / norm(values),
        );
        if !(factor.is_finite() && factor > 0.0) {
            let reason = "its norm is out of the range of single precision, so that it has no angle; scale or drop it";
            return Err(Error::input(format!("row {row}"), reason));
        }
        instructions.run(
            #[inline(always)]
            || values.iter_mut().for_each(|value| *value *= factor),
        );
        let mut at = 0;
        for (number, rotation) in self.rotations.iter().enumerate() {
            if number == 0 {
                rotation.rotate(instructions, values);
            } else {
                rotation.rotate_again(instructions, values);
            }
            let words = &mut words[at..at + values.len() / 64];
            instructions.run(
                #[inline(always)]
                || positive(values, words),
            );
            at += words.len();
        }
        Ok(())
    }
}

/// Return the norm, summed in 16 lanes.
#[inline(always)]
fn norm(values: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    for chunk in values.as_chunks::<16>().0 {
        for i in 0..16 {
            sums[i] += chunk[i] * chunk[i];
        }
    }
    sums.iter().sum::<f32>().sqrt()
}

/// Set bit i of word w if value 64 w + i is positive.
#[inline(always)]
fn positive(values: &[f32], words: &mut [u64]) {
    for (word, values) in words.iter_mut().zip(values.as_chunks::<64>().0) {
        let mut bytes = [0_u8; 64];
        for i in 0..64 {
            bytes[i] = u8::from(values[i] > 0.0);
        }
        *word = 0;
        for (i, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
            // The product moves bit 0 of byte j to bit 56 + j, without carries.
            *word |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
        }
    }
}

/// Return `bits` bits, at most 32, from bit `from` on.
#[inline(always)]
fn window(words: &[u64], from: usize, bits: usize) -> u32 {
    let (word, shift) = (from / 64, from % 64);
    let low = words[word] >> shift;
    let high = if shift + bits > 64 { words[word + 1] << (64 - shift) } else { 0 };
    ((low | high) & ((1 << bits) - 1)) as u32
}

/// Return for each number of bits, from 0 to 32, how many pairs of the rows are equal in that many leading bits of a band,
/// summed over the 16 bands of 32 bits of a sketch.
///
/// # Errors
/// A row without a direction; too many dimensions; the call is cancelled; memory runs out.
pub fn band_collisions(rows: &JoinRows<'_>) -> Result<Vec<u64>> {
    const BANDS: usize = SKETCH_BITS / MAX_BAND_BITS;
    let cancel = &CancelToken::current();
    let (sketches, _) = hash(rows, 1, 1, cancel)?;
    let parts = alloc::try_map_parallel((0..BANDS).into_par_iter().map(|band| {
        cancel.check()?;
        let mut keys: Vec<u32> =
            alloc::try_collect(sketches.iter().map(|sketch| window(&sketch.0, band * MAX_BAND_BITS, MAX_BAND_BITS)))?;
        keys.sort_unstable();
        let mut counts = vec![0_u64; MAX_BAND_BITS + 1];
        for (bits, count) in counts.iter_mut().enumerate() {
            let shift = MAX_BAND_BITS - bits;
            let same = |a: &u32, b: &u32| u64::from(*a) >> shift == u64::from(*b) >> shift;
            *count = keys.chunk_by(same).map(|run| run.len() as u64 * (run.len() as u64 - 1) / 2).sum();
        }
        Ok(counts)
    }))?;
    let mut counts = vec![0; MAX_BAND_BITS + 1];
    for part in parts {
        counts.iter_mut().zip(part).for_each(|(count, more)| *count += more);
    }
    Ok(counts)
}

/// Return the sketch of each row, and the keys of its bands: chunk by chunk, band by band, row by row.
fn hash(rows: &JoinRows<'_>, band_bits: usize, bands: usize, cancel: &CancelToken) -> Result<(Vec<Sketch>, Vec<u32>)> {
    let signs = Signs::new(band_bits * bands, rows.dim)?;
    let count = rows.rows.len();
    let mut sketches = alloc::try_filled(Sketch::default(), count)?;
    let mut keys = alloc::try_zeroed::<u32>(count * bands)?;
    let instructions = Instructions::best();
    let chunks = keys.par_chunks_mut(CHUNK * bands).zip(sketches.par_chunks_mut(CHUNK)).enumerate();
    chunks.try_for_each(|(chunk, (keys, sketches))| {
        cancel.check()?;
        let (mut values, mut words) = (Vec::new(), alloc::try_zeroed::<u64>(signs.words())?);
        let in_chunk = sketches.len();
        for (at, sketch) in sketches.iter_mut().enumerate() {
            signs.write(instructions, rows, chunk * CHUNK + at, &mut values, &mut words)?;
            sketch.0.copy_from_slice(&words[..SKETCH_BITS / 64]);
            for band in 0..bands {
                keys[band * in_chunk + at] = window(&words, band * band_bits, band_bits);
            }
        }
        Ok::<_, Error>(())
    })?;
    Ok((sketches, keys))
}

/// Return the near pairs of rows.
///
/// # Errors
/// Parameters out of range; a row without a direction; too many dimensions; the call is cancelled; memory runs out.
pub fn near_pairs(rows: &JoinRows<'_>, params: &JoinParams) -> Result<NearPairs> {
    let JoinParams { band_bits, bands, .. } = *params;
    if !(1..=MAX_BAND_BITS).contains(&band_bits) {
        return Err(Error::parameter("band_bits", band_bits, format!("1 to {MAX_BAND_BITS}")));
    }
    if bands == 0 || bands > MAX_BITS / band_bits {
        return Err(Error::parameter("bands", bands, format!("1 to {}", MAX_BITS / band_bits)));
    }
    if params.radius.is_nan() {
        return Err(Error::parameter("radius", params.radius, "a number"));
    }
    let cancel = &CancelToken::current();
    let (sketches, keys) = hash(rows, band_bits, bands, cancel)?;
    let join = Join { params, sketches };
    let parts = alloc::try_map_parallel((0..bands).into_par_iter().map(|band| join.first_round(band, &keys, cancel)))?;
    drop(keys);
    let (mut candidates, mut open) = (Vec::new(), Vec::new());
    for (found, large) in parts {
        alloc::try_extend(&mut candidates, &found)?;
        alloc::try_reserve(&mut open, large.len())?;
        open.extend(large);
    }
    let mut links = Links { seen: Vec::new(), links: Vec::new() };
    let mut round = FIRST;
    loop {
        links.add(rows, params.radius, candidates, cancel)?;
        if open.is_empty() {
            break;
        }
        round = round.saturating_mul(2);
        let decided = links.decide(rows.rows.len(), &open)?;
        let parts = alloc::try_map_parallel(open.into_par_iter().map(|bucket: Bucket| {
            cancel.check()?;
            join.next_round(bucket, round, &decided, cancel)
        }))?;
        (candidates, open) = (Vec::new(), Vec::new());
        for (found, rest) in parts {
            alloc::try_extend(&mut candidates, &found)?;
            alloc::try_reserve(&mut open, 1)?;
            open.extend(rest);
        }
    }
    cancel.check()?;
    let all = &links.links;
    Ok(NearPairs {
        left: alloc::try_collect(all.iter().map(|&(pair, _)| (pair >> 32) as u32))?,
        right: alloc::try_collect(all.iter().map(|&(pair, _)| pair as u32))?,
        distances: alloc::try_collect(all.iter().map(|link| link.1))?,
        verified: links.seen.len(),
    })
}

/// Return the distance of each pair of ordinals: the same bits as an index finds.
///
/// # Errors
/// Lists of different lengths; the call is cancelled; memory runs out.
pub fn cosine_distances(rows: &JoinRows<'_>, left: &[u32], right: &[u32]) -> Result<Vec<f64>> {
    if left.len() != right.len() {
        return Err(Error::mismatch("number of rows", left.len(), right.len()));
    }
    let pairs = alloc::try_collect(left.iter().zip(right).map(|(&left, &right)| pack(left, right)))?;
    distances(rows, &pairs, &CancelToken::current())
}

fn pack(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// Return the distance of each pair.
fn distances(rows: &JoinRows<'_>, pairs: &[u64], cancel: &CancelToken) -> Result<Vec<f64>> {
    let instructions = Instructions::best();
    let parts = alloc::try_map_parallel(pairs.par_chunks(PAIRS).map(|pairs| {
        cancel.check()?;
        let chosen: Vec<usize> =
            alloc::try_collect(pairs.iter().map(|&pair| rows.rows[pair as u32 as usize] as usize))?;
        let mut store = VectorStore::new(rows.vectors.kind(), rows.dim)?;
        store.push(Metric::Cosine, rows.vectors.select(rows.dim, &chosen)?.view(), cancel)?;
        let numbers: Vec<u32> = alloc::try_collect(0..pairs.len() as u32)?;
        let mut out = alloc::try_with_capacity(pairs.len())?;
        let mut at = 0;
        for run in pairs.chunk_by(|a, b| a >> 32 == b >> 32) {
            let (query, others) = (rows.rows[(run[0] >> 32) as usize] as usize, &numbers[at..at + run.len()]);
            store.distances(instructions, Metric::Cosine, rows.vectors, query, others, &mut out);
            at += run.len();
        }
        alloc::try_collect(out.into_iter().map(|(distance, _)| distance))
    }))?;
    alloc::try_concat(parts)
}

/// A large bucket: rows that have been compared with all that were before them.
struct Bucket {
    band: usize,
    /// Ascending ordinals. The first is compared with the others next.
    rows: Vec<u32>,
}

/// State of a row between rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Open,
    Kept,
    /// Absorbed by this row or an earlier one.
    Absorbed(u32),
}

struct Join<'a> {
    params: &'a JoinParams,
    sketches: Vec<Sketch>,
}

impl Join<'_> {
    /// Sort the keys of a band; return the candidates of its buckets, and what is left of large ones.
    fn first_round(&self, band: usize, keys: &[u32], cancel: &CancelToken) -> Result<(Vec<u64>, Vec<Bucket>)> {
        let JoinParams { band_bits, bands, all, .. } = *self.params;
        let count = self.sketches.len();
        let mut entries: Vec<u64> = alloc::try_with_capacity(count)?;
        for (chunk, keys) in keys.chunks(CHUNK * bands).enumerate() {
            cancel.check()?;
            let keys = &keys[band * (keys.len() / bands)..][..keys.len() / bands];
            let first = chunk * CHUNK;
            entries.extend(keys.iter().enumerate().map(|(at, &key)| u64::from(key) << 32 | (first + at) as u64));
        }
        sort_by_key(&mut entries, band_bits, cancel)?;
        // Rows of buckets, one after another, so that their sketches can be prefetched.
        let (mut members, mut ends): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
        for run in entries.chunk_by(|a, b| a >> 32 == b >> 32).filter(|run| run.len() > 1) {
            alloc::try_reserve(&mut members, run.len())?;
            members.extend(run.iter().map(|&entry| entry as u32));
            alloc::try_reserve(&mut ends, 1)?;
            ends.push(members.len() as u32);
        }
        drop(entries);
        let (mut found, mut open) = (Vec::new(), Vec::new());
        let mut start = 0;
        for &end in &ends {
            let bucket = &members[start..end as usize];
            for &row in members.iter().skip(start + AHEAD).take(bucket.len()) {
                prefetch_at(&self.sketches, row as usize);
            }
            start = end as usize;
            if bucket.len() <= SMALL || all {
                self.compare(band, bucket, bucket.len(), &mut found, cancel)?;
            } else {
                self.compare(band, bucket, FIRST, &mut found, cancel)?;
                alloc::try_reserve(&mut open, 1)?;
                open.push(Bucket { band, rows: alloc::try_copy(&bucket[FIRST..])? });
            }
        }
        Ok((found, open))
    }

    /// Compare the first rows of a bucket with all later ones; append candidates.
    fn compare(
        &self,
        band: usize,
        bucket: &[u32],
        first: usize,
        found: &mut Vec<u64>,
        cancel: &CancelToken,
    ) -> Result<()> {
        for (at, &left) in bucket.iter().take(first).enumerate() {
            if bucket.len() > SMALL {
                cancel.check()?;
            }
            let later = &bucket[at + 1..];
            alloc::try_reserve(found, later.len())?;
            Instructions::best().run(
                #[inline(always)]
                || self.candidates(band, left, later, found),
            );
        }
        Ok(())
    }

    /// Append the pairs of a row that pass the sketch and do not collide in an earlier band of it.
    #[inline(always)]
    fn candidates(&self, band: usize, left: u32, later: &[u32], found: &mut Vec<u64>) {
        let sketch = self.sketches[left as usize];
        for &right in later {
            let bits = sketch.differing(&self.sketches[right as usize]);
            let count: u32 = bits.iter().map(|word| word.count_ones()).sum();
            if count <= self.params.max_differing && !self.meets_earlier(&bits, band) {
                found.push(pack(left, right));
            }
        }
    }

    /// Is an earlier band within the sketch equal, too?
    #[inline]
    fn meets_earlier(&self, differing: &[u64], band: usize) -> bool {
        let bits = self.params.band_bits;
        (0..band.min(SKETCH_BITS / bits)).any(|earlier| window(differing, earlier * bits, bits) == 0)
    }

    /// Compare the next rows of a bucket that may absorb others; return candidates, and what is left of the bucket.
    fn next_round(
        &self,
        bucket: Bucket,
        round: usize,
        decided: &[Decision],
        cancel: &CancelToken,
    ) -> Result<(Vec<u64>, Option<Bucket>)> {
        let Bucket { band, mut rows } = bucket;
        let absorbs = |row: u32| !matches!(decided[row as usize], Decision::Absorbed(_));
        let Some(next) = rows.iter().copied().find(|&row| absorbs(row)) else { return Ok((Vec::new(), None)) };
        // An absorbed row still needs earlier rows than the one that absorbed it.
        rows.retain(|&row| match decided[row as usize] {
            Decision::Absorbed(by) => row > next && by > next,
            _ => true,
        });
        let mut found = Vec::new();
        let (mut at, mut compared) = (0, 0);
        while at + 1 < rows.len() && compared < round {
            if absorbs(rows[at]) {
                self.compare(band, &rows[at..], 1, &mut found, cancel)?;
                compared += 1;
            }
            at += 1;
        }
        rows.drain(..at);
        Ok((found, (rows.len() > 1).then_some(Bucket { band, rows })))
    }
}

/// Verified pairs.
struct Links {
    /// All candidates, sorted.
    seen: Vec<u64>,
    /// Those within the radius, sorted, with their distance.
    links: Vec<(u64, f64)>,
}

impl Links {
    /// Verify new candidates.
    fn add(&mut self, rows: &JoinRows<'_>, radius: f64, mut new: Vec<u64>, cancel: &CancelToken) -> Result<()> {
        cancel.sort(&mut new);
        cancel.check()?;
        new.dedup();
        if !self.seen.is_empty() {
            new.retain(|pair| self.seen.binary_search(pair).is_err());
        }
        let distances = distances(rows, &new, cancel)?;
        alloc::try_reserve(&mut self.links, new.len())?;
        let near = new.iter().copied().zip(distances).filter(|&(_, distance)| distance <= radius);
        self.links.extend(near);
        self.links.sort_unstable_by_key(|link| link.0);
        alloc::try_extend(&mut self.seen, &new)?;
        cancel.sort(&mut self.seen);
        cancel.check()
    }

    /// Decide rows as far as the links do, while the rows of open buckets, except their first, lack comparisons.
    fn decide(&self, count: usize, open: &[Bucket]) -> Result<Vec<Decision>> {
        let mut decided = alloc::try_filled(Decision::Kept, count)?;
        for &row in open.iter().flat_map(|bucket| &bucket.rows[1..]) {
            decided[row as usize] = Decision::Open;
        }
        // Links are in order of their left rows, so that a row is final when its own links come.
        for &(pair, _) in &self.links {
            let (left, right) = ((pair >> 32) as u32, pair as u32 as usize);
            match (decided[left as usize], decided[right]) {
                // The first row that absorbs is the earliest.
                (Decision::Absorbed(_), _) | (_, Decision::Absorbed(_)) => {}
                (Decision::Kept, _) => decided[right] = Decision::Absorbed(left),
                (Decision::Open, _) => decided[right] = Decision::Open,
            }
        }
        Ok(decided)
    }
}

/// Sort entries by their upper 32 bits, of which `bits` are used; entries of equal keys keep their order.
fn sort_by_key(entries: &mut Vec<u64>, bits: usize, cancel: &CancelToken) -> Result<()> {
    let passes = bits.div_ceil(11);
    let width = bits.div_ceil(passes);
    let mask = (1_u64 << width) - 1;
    let mut other = alloc::try_zeroed::<u64>(entries.len())?;
    for pass in 0..passes {
        cancel.check()?;
        let shift = 32 + pass * width;
        let mut starts = vec![0_u32; (1 << width) + 1];
        for &entry in entries.iter() {
            starts[(entry >> shift & mask) as usize + 1] += 1;
        }
        alloc::prefix_sums(&mut starts);
        for &entry in entries.iter() {
            let start = &mut starts[(entry >> shift & mask) as usize];
            other[*start as usize] = entry;
            *start += 1;
        }
        std::mem::swap(entries, &mut other);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::components::centred;
    use crate::vectors::random;

    fn gaussian(seed: u64, row: usize, dim: usize) -> Vec<f64> {
        let base = random::base(seed, 9, row as u64);
        (0..dim).map(|column| random::gaussian(random::word(base, column as u64))).collect()
    }

    fn unit(mut values: Vec<f64>) -> Vec<f64> {
        let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
        for value in &mut values {
            *value /= norm;
        }
        values
    }

    /// Draw rows around some centres.
    fn clustered(seed: u64, count: usize, dim: usize, centres: u64, noise: f64) -> Vec<f64> {
        let row = |row: usize| {
            let centre = random::word(seed, row as u64) % centres;
            let noises = gaussian(seed + 1, row, dim);
            gaussian(seed, centre as usize, dim).into_iter().zip(noises).map(move |(x, y)| x + noise * y)
        };
        (0..count).flat_map(row).collect()
    }

    fn pairs_of(found: &NearPairs) -> Vec<(u32, u32)> {
        found.left.iter().copied().zip(found.right.iter().copied()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn pairs_are_those_of_the_definition(
            seed in 0_u64..1000, count in 0_usize..80, dim in 1_usize..70, centres in 1_u64..20, noise in 0.0_f64..1.0,
            band_bits in 1_usize..20, bands in 1_usize..40, max_differing in 0_u32..250, radius in 0.0_f64..1.0
        ) {
            let values = clustered(seed, count, dim, centres, noise);
            let order: Vec<u32> = (0..count as u32).rev().collect();
            let rows = JoinRows { vectors: Vectors::F64(&values), dim, rows: &order };
            let params = JoinParams { band_bits, bands, max_differing, radius, all: true };
            let found = near_pairs(&rows, &params).expect("pairs");
            let signs = Signs::new(band_bits * bands, dim).expect("rotations");
            let bits: Vec<Vec<u64>> = (0..count).map(|ordinal| {
                let mut words = vec![0; signs.words()];
                signs.write(Instructions::Portable, &rows, ordinal, &mut Vec::new(), &mut words).expect("bits");
                words
            }).collect();
            let mut expected = Vec::new();
            for left in 0..count {
                for right in left + 1..count {
                    let (a, b) = (&bits[left], &bits[right]);
                    let equal = |band: usize| {
                        let same = |i: usize| (a[i / 64] ^ b[i / 64]) >> (i % 64) & 1 == 0;
                        (band * band_bits..(band + 1) * band_bits).all(same)
                    };
                    let differing: u32 = (0..SKETCH_BITS / 64).map(|word| (a[word] ^ b[word]).count_ones()).sum();
                    let apart = cosine_distances(&rows, &[left as u32], &[right as u32]).expect("a distance")[0];
                    if (0..bands).any(equal) && differing <= max_differing && apart <= radius {
                        expected.push(((left as u32, right as u32), apart));
                    }
                }
            }
            let actual: Vec<_> = pairs_of(&found).into_iter().zip(found.distances.iter().copied()).collect();
            prop_assert_eq!(expected, actual);
        }

        #[test]
        fn rounds_decide_what_all_pairs_do(
            seed in 0_u64..1000, count in 0_usize..200, dim in 1_usize..9, centres in 1_u64..8, noise in 0.0_f64..0.8,
            band_bits in 1_usize..8, bands in 1_usize..6, radius in 0.0_f64..0.6
        ) {
            let values = clustered(seed, count, dim, centres, noise);
            let order: Vec<u32> = (0..count as u32).collect();
            let rows = JoinRows { vectors: Vectors::F64(&values), dim, rows: &order };
            let params = JoinParams { band_bits, bands, max_differing: 512, radius, all: true };
            let all = near_pairs(&rows, &params).expect("pairs");
            let some = near_pairs(&rows, &JoinParams { all: false, ..params }).expect("pairs");
            let kept = |pairs: &NearPairs| centred(count, &pairs.left, &pairs.right).expect("room");
            prop_assert_eq!(kept(&all), kept(&some));
            prop_assert!(some.verified <= all.verified);
            let every = pairs_of(&all);
            prop_assert!(pairs_of(&some).iter().all(|pair| every.binary_search(pair).is_ok()));
        }

        #[test]
        fn a_radix_sort_is_stable(keys in prop::collection::vec(any::<u32>(), 0..300), bits in 1_usize..=32) {
            let entry = |(row, &key): (usize, &u32)| u64::from(key) >> (32 - bits) << 32 | row as u64;
            let mut entries: Vec<u64> = keys.iter().enumerate().map(entry).collect();
            let mut expected = entries.clone();
            expected.sort_unstable();
            sort_by_key(&mut entries, bits, &CancelToken::default()).expect("room");
            prop_assert_eq!(expected, entries);
        }
    }

    #[test]
    fn all_instructions_give_the_same_bits_and_lengths_do_not_matter() {
        for dim in [1, 40, 64, 384, 700] {
            let values: Vec<f32> = (0..20).flat_map(|row| gaussian(1, row, dim)).map(|value| value as f32).collect();
            let longer: Vec<f32> = values.iter().map(|value| value * 1024.0).collect();
            let order: Vec<u32> = (0..20).collect();
            let signs = Signs::new(1500, dim).expect("rotations");
            let bits = |instructions, values: &[f32], ordinal| {
                let rows = JoinRows { vectors: Vectors::F32(values), dim, rows: &order };
                let mut words = vec![0; signs.words()];
                signs.write(instructions, &rows, ordinal, &mut Vec::new(), &mut words).expect("bits");
                words
            };
            for ordinal in 0..20 {
                let expected = bits(Instructions::Portable, &values, ordinal);
                for instructions in Instructions::available() {
                    assert_eq!(expected, bits(instructions, &values, ordinal));
                    assert_eq!(expected, bits(instructions, &longer, ordinal));
                }
            }
        }
    }

    #[test]
    fn pairs_at_the_threshold_are_found_as_often_as_promised() {
        // 2,000 pairs of cosine t, half of them with few coordinates other than 0: a share has a standard error of at most
        // 0.0112, and five are allowed.
        for (dim, cosine, band_bits, bands) in
            [(3, 0.9, 12, 15), (24, 0.9, 12, 15), (384, 0.8, 8, 15), (384, 0.95, 16, 8)]
        {
            let pairs = 2000;
            let mut values = Vec::new();
            for pair in 0..pairs {
                let sparse = |row: usize| {
                    let mut values = vec![0.0; dim];
                    let word = random::word(random::base(7, 9, row as u64), 0);
                    values[(word % dim as u64) as usize] += 1.0;
                    values[(word >> 20) as usize % dim] += if word >> 63 == 1 { 1.0 } else { -1.5 };
                    values
                };
                let draw = |row| if pair % 2 == 0 { gaussian(5, row, dim) } else { sparse(row) };
                let x = unit(draw(2 * pair));
                let y = draw(2 * pair + 1);
                let dot: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
                let mut rest: Vec<f64> = x.iter().zip(&y).map(|(x, y)| y - dot * x).collect();
                if rest.iter().all(|value| value.abs() < 1e-9) {
                    rest = gaussian(6, pair, dim);
                    let dot: f64 = x.iter().zip(&rest).map(|(x, y)| x * y).sum();
                    rest.iter_mut().zip(&x).for_each(|(rest, x)| *rest -= dot * x);
                }
                let rest = unit(rest);
                values.extend(&x);
                values.extend(x.iter().zip(&rest).map(|(x, y)| cosine * x + (1.0 - cosine * cosine).sqrt() * y));
            }
            let order: Vec<u32> = (0..2 * pairs as u32).collect();
            let rows = JoinRows { vectors: Vectors::F64(&values), dim, rows: &order };
            let radius = 1.0 - cosine + 1e-9;
            let params = JoinParams { band_bits, bands, max_differing: 512, radius, all: true };
            let all = pairs_of(&near_pairs(&rows, &params).expect("pairs"));
            let found = (0..pairs as u32).filter(|pair| all.binary_search(&(2 * pair, 2 * pair + 1)).is_ok()).count();
            let equal = 1.0 - cosine.acos() / std::f64::consts::PI;
            let expected = 1.0 - (1.0 - equal.powi(band_bits as i32)).powi(bands as i32);
            let share = found as f64 / pairs as f64;
            assert!((share - expected).abs() < 0.056, "{dim} {cosine}: {share} {expected}");
        }
    }

    #[test]
    fn collisions_of_a_sample_are_those_of_its_pairs() {
        let (count, dim) = (60, 10);
        let values = clustered(3, count, dim, 5, 0.3);
        let order: Vec<u32> = (0..count as u32).collect();
        let rows = JoinRows { vectors: Vectors::F64(&values), dim, rows: &order };
        let counts = band_collisions(&rows).expect("counts");
        assert_eq!(33, counts.len());
        assert_eq!((16 * count * (count - 1) / 2) as u64, counts[0]);
        assert!(counts.windows(2).all(|pair| pair[0] >= pair[1]) && counts[8] > counts[32]);
        // A bit is equal with probability 1 - angle / π.
        let mut expected = 0.0;
        for left in 0..count as u32 {
            let others: Vec<u32> = (left + 1..count as u32).collect();
            let apart = cosine_distances(&rows, &vec![left; others.len()], &others).expect("distances");
            expected +=
                apart.iter().map(|apart| 16.0 * (1.0 - (1.0 - apart).acos() / std::f64::consts::PI)).sum::<f64>();
        }
        assert!((counts[1] as f64 / expected - 1.0).abs() < 0.2, "{} {expected}", counts[1]);
    }

    #[test]
    fn parameters_have_limits_and_rows_without_a_direction_are_named() {
        let values = [1.0, 0.0, 0.0, 0.0];
        let rows = JoinRows { vectors: Vectors::F64(&values), dim: 2, rows: &[0] };
        let params = JoinParams { band_bits: 8, bands: 4, max_differing: 512, radius: 0.1, all: true };
        assert_eq!(NearPairs::default(), near_pairs(&rows, &params).expect("no pairs"));
        for params in [
            JoinParams { band_bits: 0, ..params },
            JoinParams { band_bits: 33, ..params },
            JoinParams { bands: 0, ..params },
            JoinParams { bands: 1 + MAX_BITS / 8, ..params },
            JoinParams { radius: f64::NAN, ..params },
        ] {
            assert!(matches!(near_pairs(&rows, &params), Err(Error::Parameter { .. })));
        }
        let error = near_pairs(&JoinRows { rows: &[0, 1], ..rows }, &params).expect_err("row 1 is zero");
        assert!(error.to_string().contains("row 1"), "{error}");
        assert!(cosine_distances(&rows, &[0], &[]).is_err());
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let values = clustered(8, 3000, 12, 40, 0.3);
        let order: Vec<u32> = (0..3000).collect();
        let rows = JoinRows { vectors: Vectors::F64(&values), dim: 12, rows: &order };
        let params = JoinParams { band_bits: 9, bands: 30, max_differing: 100, radius: 0.1, all: false };
        let joined = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| near_pairs(&rows, &params)).expect("pairs")
        };
        let expected = joined(1);
        assert!(expected.left.len() > 1000);
        assert_eq!(expected, joined(3));
    }

    #[test]
    fn a_cancelled_join_ends() {
        let values = clustered(4, 300, 5, 3, 0.2);
        let order: Vec<u32> = (0..300).collect();
        let rows = JoinRows { vectors: Vectors::F64(&values), dim: 5, rows: &order };
        let params = JoinParams { band_bits: 6, bands: 5, max_differing: 512, radius: 0.2, all: false };
        let expected = near_pairs(&rows, &params).expect("pairs");
        let found = crate::cancel::at_every_check(&mut (), |()| near_pairs(&rows, &params), |()| {});
        assert_eq!(expected, found);
    }
}
