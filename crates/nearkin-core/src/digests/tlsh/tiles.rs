//! Bodies of many digests, 32 side by side, for distances to one of them.
//!
//! A tile holds 32 digests. Its vectors are 16 buckets of one plane each: lane i belongs to digest i, so that sums over
//! buckets are sums of vectors. For the planes h, l of a query and H, L of a tile ([`super::compare`]):
//!
//! ```text
//! body = |h ^ H| + |l ^ L| + 5 |(h ^ H) & ~(l ^ L) & ~l|              |x|: bits of each 16-bit lane
//! ```
//!
//! Cost: 32 bytes (64 for 256 buckets) and less than a nanosecond a digest. A tile is left after half of its buckets if
//! all of its digests are too far by then, as nearly all are in a search.

use super::{Digest, Form};
use crate::alloc;
use crate::cancel::CancelToken;
use crate::cpu::simd::{Simd, with_simd};
use crate::error::Result;

/// Digests of a tile.
pub const TILE: usize = 32;

type Vector = [u16; TILE];

/// Bodies of digests of one form.
#[derive(Clone, Debug, Default)]
pub struct Tiles {
    vectors: Vec<Vector>,
    /// Vectors of a tile.
    per_tile: usize,
    length: usize,
}

/// The body of a query: for each 16 buckets h, l and not l, in every lane.
#[derive(Clone, Debug)]
pub struct Body {
    vectors: Vec<[Vector; 3]>,
}

/// Return 16 buckets of a plane.
fn quarter(plane: &[u64; 4], at: usize) -> u16 {
    (plane[at / 4] >> (16 * (at % 4))) as u16
}

impl Body {
    /// Prepare a query.
    pub fn new(digest: &Digest) -> Self {
        let of = |at| {
            let low = quarter(&digest.low, at);
            [[quarter(&digest.high, at); TILE], [low; TILE], [!low; TILE]]
        };
        Self { vectors: (0..digest.form.buckets() / 16).map(of).collect() }
    }
}

impl Tiles {
    /// Arrange the bodies of digests of a form.
    ///
    /// # Errors
    /// Memory runs out; the call is cancelled.
    pub fn new(form: Form, digests: impl ExactSizeIterator<Item = Digest>, cancel: &CancelToken) -> Result<Self> {
        let (per_tile, length) = (form.buckets() / 8, digests.len());
        let mut vectors = alloc::try_filled([0; TILE], length.div_ceil(TILE) * per_tile)?;
        for (number, digest) in cancel.often(digests.enumerate()) {
            let tile = &mut vectors[number / TILE * per_tile..][..per_tile];
            for (at, [high, low]) in tile.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                high[number % TILE] = quarter(&digest.high, at);
                low[number % TILE] = quarter(&digest.low, at);
            }
        }
        cancel.check()?;
        Ok(Self { vectors, per_tile, length })
    }

    /// Number of digests.
    pub fn len(&self) -> usize {
        self.length
    }

    /// True if there are no digests.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Bytes of the vectors.
    pub fn bytes(&self) -> usize {
        self.vectors.capacity() * size_of::<Vector>()
    }

    /// Call `hit` with the number of each digest of some tiles whose body is at most `limit` from the query's.
    pub fn within(&self, query: &Body, tiles: std::ops::Range<usize>, limit: u16, mut hit: impl FnMut(usize)) {
        let mut masks = [0; 64];
        for start in tiles.clone().step_by(masks.len()) {
            let vectors = &self.vectors[start * self.per_tile..tiles.end.min(start + masks.len()) * self.per_tile];
            // SAFETY: the form is compiled for the instructions of `S`.
            with_simd!(S => unsafe { masks_of::<S>(vectors, query, limit, &mut masks) });
            for (tile, mask) in masks[..vectors.len() / self.per_tile].iter().enumerate() {
                let first = (start + tile) * TILE;
                let mut rest = *mask;
                while rest != 0 {
                    let number = first + rest.trailing_zeros() as usize;
                    if number < self.length {
                        hit(number);
                    }
                    rest &= rest - 1;
                }
            }
        }
    }

    /// Write the distances of bodies to the query's, from the digest `first` on, a multiple of [`TILE`].
    pub fn distances(&self, query: &Body, first: usize, out: &mut [u16]) {
        let vectors = &self.vectors[first / TILE * self.per_tile..];
        for (tile, out) in vectors.chunks_exact(self.per_tile.max(1)).zip(out.chunks_mut(TILE)) {
            let mut distances = [0; TILE];
            // SAFETY: the form is compiled for the instructions of `S`.
            with_simd!(S => unsafe {
                let sum = partial::<S>(tile, &query.vectors, zero::<S>());
                S::store(distances.as_mut_ptr().cast(), total::<S>(sum));
            });
            out.copy_from_slice(&distances[..out.len()]);
        }
    }
}

/// Sums of lanes: what is counted once, and what is counted five times more.
type Sums<V> = (V, V);

/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn zero<S: Simd>() -> Sums<S::V> {
    // SAFETY: as for this function.
    unsafe { (S::splat16(0), S::splat16(0)) }
}

/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn total<S: Simd>((once, opposite): Sums<S::V>) -> S::V {
    // SAFETY: as for this function.
    unsafe { S::add16(S::add16(once, opposite), S::left16::<2>(opposite)) }
}

/// Add the distances of some vectors of a tile.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn partial<S: Simd>(tile: &[Vector], query: &[[Vector; 3]], sums: Sums<S::V>) -> Sums<S::V> {
    let (mut once, mut opposite) = sums;
    // SAFETY: as for this function; a vector has 64 bytes.
    unsafe {
        let load = |vector: &Vector| vector.as_ptr().cast::<u8>();
        for ([high, low], [query_high, query_low, not_low]) in tile.as_chunks::<2>().0.iter().zip(query) {
            let not_low = S::load(load(not_low));
            let low = S::load(load(low));
            let high = S::xor(S::load(load(high)), S::load(load(query_high)));
            once = S::add16(once, S::add16(S::popcount16(high), S::popcount16(S::xor(low, S::load(load(query_low))))));
            // low ^ not_low is not (low ^ query_low).
            let far = S::and(S::and(high, S::xor(low, not_low)), not_low);
            opposite = S::add16(opposite, S::popcount16(far));
        }
    }
    (once, opposite)
}

/// Write the lanes of each tile that are within the limit.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn masks_of<S: Simd>(vectors: &[Vector], query: &Body, limit: u16, masks: &mut [u32; 64]) {
    let half = query.vectors.len() / 2;
    let (first, second) = query.vectors.split_at(half);
    // SAFETY: as for this function.
    unsafe {
        let limit = S::splat16(limit);
        for (tile, mask) in vectors.chunks_exact(4 * half).zip(masks) {
            let (begin, rest) = tile.split_at(2 * half);
            let sums = partial::<S>(begin, first, zero::<S>());
            *mask = S::at_most16(total::<S>(sums), limit);
            if *mask != 0 {
                *mask = S::at_most16(total::<S>(partial::<S>(rest, second, sums)), limit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::compare::tests::related;
    use super::*;
    use crate::cpu::simd::with_each_simd;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_form_gives_the_distances_of_the_definition(
            digests in (0..4_usize).prop_flat_map(|form| related(Form::ALL[form], 100)),
            limit in 0..300_u16,
        ) {
            let query = &digests[0];
            let tiles = Tiles::new(query.form, digests.iter().copied(), &CancelToken::current()).unwrap();
            let body = Body::new(query);
            let expected: Vec<u16> = digests.iter().map(|digest| query.body_distance(digest)).collect();
            let mut distances = vec![0; digests.len()];
            tiles.distances(&body, 0, &mut distances);
            prop_assert_eq!(&expected, &distances);
            let near: Vec<usize> = (0..digests.len()).filter(|&row| expected[row] <= limit).collect();
            let mut hits = Vec::new();
            tiles.within(&body, 0..digests.len().div_ceil(TILE), limit, |number| hits.push(number));
            prop_assert_eq!(near, hits);
            let mut masks = [[0; 64]; 2];
            // SAFETY: the forms are those that the processor has.
            unsafe { masks_of::<crate::cpu::simd::Scalar>(&tiles.vectors, &body, limit, &mut masks[0]) };
            with_each_simd!(S => {
                // SAFETY: as above.
                unsafe { masks_of::<S>(&tiles.vectors, &body, limit, &mut masks[1]) };
                assert_eq!(masks[0], masks[1]);
            });
        }
    }
}
