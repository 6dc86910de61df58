//! Bottom-k sketches of texts: the k features with the smallest hashes, a sample of them without replacement.
//!
//! A feature is its identifier (XXH3-64, see [`crate::text::tokenizer`]), and its hash the upper half of a mixture of
//! identifier and seed (Stafford's variant 13, one to one). The k smallest hashes of a set of n features are those of k
//! random features, so that the number X of sketch features that are among s shared features is distributed as
//!
//! ```text
//! X ~ Hypergeometric(n, s, min(k, n))
//! ```
//!
//! A set of at most k features is its own sketch. Law: `nearkin.theory.containment_recall`. Two features of one text
//! have one hash with probability n / 2^32; equal hashes count as shared, so that an error adds candidates and loses
//! none.
//!
//! A row of a sketch is `k + 1` numbers: n, the hashes ascending, and `u32::MAX` if there are fewer than k.
//!
//! Cost: one pass over each text, O(n) for the k smallest. Sources: E. Cohen and H. Kaplan, "Summarizing data using bottom-k
//! sketches", PODC 2007; L. Irber et al., "Lightweight compositional analysis of metagenomes with `FracMinHash` and minimum
//! metagenome covers", 2022, for containment by sampled hashes. Test: `sketches_are_the_smallest_hashes`.

use crate::parallel::prelude::*;

use crate::cancel::CancelToken;
use crate::text::tokenizer::{Scratch, TextSource, Tokenizer};
use crate::{Error, Result, alloc};

/// Maximum number of features of a sketch.
pub const MAX_SIZE: usize = 1 << 14;

/// Texts that one task takes.
const CHUNK: usize = 64;

/// Return the hash of a feature.
#[inline]
pub fn hash(id: u64, seed: u64) -> u32 {
    let mut mixed = id.wrapping_add(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 32) as u32
}

/// Check that a size is in range.
///
/// # Errors
/// A size of 0 or above [`MAX_SIZE`].
pub fn check_size(size: usize) -> Result<()> {
    if (1..=MAX_SIZE).contains(&size) {
        return Ok(());
    }
    Err(Error::parameter("size", size, format!("1 to {MAX_SIZE}")))
}

/// All hashes of a list of texts.
#[derive(Debug, Default)]
pub struct HashedTexts {
    /// End of the hashes of each text.
    ends: Vec<usize>,
    hashes: Vec<u32>,
}

impl HashedTexts {
    /// Hash each text's distinct features, in parallel.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub fn new(tokenizer: &Tokenizer, texts: &dyn TextSource, seed: u64) -> Result<Self> {
        let cancel = &CancelToken::current();
        let chunk = |scratch: &mut (Scratch, Vec<u64>), number: usize| -> Result<Self> {
            let (scratch, ids) = scratch;
            let mut chunk_texts = Self::default();
            for i in number * CHUNK..texts.len().min((number + 1) * CHUNK) {
                cancel.check()?;
                ids.clear();
                tokenizer.distinct(texts.get(i).unwrap_or_default(), scratch, ids)?;
                chunk_texts.push(ids, seed)?;
            }
            Ok(chunk_texts)
        };
        let scratch = || (Scratch::with_cancel(cancel), Vec::new());
        let chunks = (0..texts.len().div_ceil(CHUNK)).into_par_iter().map_init(scratch, chunk);
        let chunks = alloc::try_map_parallel(chunks)?;
        cancel.check()?;
        let mut all = Self {
            ends: alloc::try_with_capacity(texts.len())?,
            hashes: alloc::try_with_capacity(chunks.iter().map(|c| c.hashes.len()).sum())?,
        };
        for chunk in chunks {
            let before = all.hashes.len();
            all.ends.extend(chunk.ends.iter().map(|end| before + end));
            all.hashes.extend_from_slice(&chunk.hashes);
        }
        Ok(all)
    }

    /// Append one text by the identifiers of its distinct features.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn push(&mut self, ids: &[u64], seed: u64) -> Result<()> {
        let before = self.hashes.len();
        alloc::try_reserve(&mut self.hashes, ids.len())?;
        alloc::try_reserve(&mut self.ends, 1)?;
        self.hashes.extend(ids.iter().map(|&id| hash(id, seed)));
        self.hashes[before..].sort_unstable();
        self.ends.push(self.hashes.len());
        Ok(())
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are no texts.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Return the hashes of text `i`, ascending, one per distinct feature.
    pub fn of(&self, i: usize) -> &[u32] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.hashes[start..self.ends[i]]
    }
}

/// Return the sketches of texts, row by row, and the number of distinct features of each text. In parallel.
///
/// # Errors
/// A size out of its range; the call is cancelled, or memory runs out.
pub fn sketches(tokenizer: &Tokenizer, texts: &dyn TextSource, size: usize, seed: u64) -> Result<(Vec<u32>, Vec<u64>)> {
    check_size(size)?;
    let cancel = &CancelToken::current();
    let width = size + 1;
    let length = texts.len().checked_mul(width).ok_or(Error::Memory { bytes: usize::MAX })?;
    let mut rows: Vec<u32> = alloc::try_filled(u32::MAX, length)?;
    let mut counts: Vec<u64> = alloc::try_zeroed(texts.len())?;
    let chunks = rows.par_chunks_mut(CHUNK * width).zip(counts.par_chunks_mut(CHUNK)).enumerate();
    let scratch = || (Scratch::with_cancel(cancel), Vec::new(), Vec::new());
    chunks.try_for_each_init(scratch, |(scratch, ids, hashes), (number, (rows, counts))| -> Result<()> {
        for (i, (row, count)) in rows.chunks_exact_mut(width).zip(counts).enumerate() {
            cancel.check()?;
            let text = number * CHUNK + i;
            texts.prefetch(text + 1);
            ids.clear();
            tokenizer.distinct(texts.get(text).unwrap_or_default(), scratch, ids)?;
            *count = ids.len() as u64;
            hashes.clear();
            alloc::try_reserve(hashes, ids.len())?;
            hashes.extend(ids.iter().map(|&id| hash(id, seed)));
            fill(row, hashes);
        }
        Ok(())
    })?;
    cancel.check()?;
    Ok((rows, counts))
}

/// Write the row of a set with these hashes, which are reordered.
fn fill(row: &mut [u32], hashes: &mut [u32]) {
    let size = row.len() - 1;
    row[0] = u32::try_from(hashes.len()).unwrap_or(u32::MAX);
    let smallest = if hashes.len() > size {
        hashes.select_nth_unstable(size - 1);
        &mut hashes[..size]
    } else {
        hashes
    };
    smallest.sort_unstable();
    row[1..=smallest.len()].copy_from_slice(smallest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::FeatureKind;
    use crate::text::unicode::{Case, Form, Letters};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sketches_are_the_smallest_hashes(
            texts in prop::collection::vec("[abc é]{0,40}", 0..130), size in 1_usize..20, seed in 0_u64..5,
        ) {
            let tokenizer = Tokenizer::new(FeatureKind::Char(2), Form::Nfkc, Case::Fold, Letters::Word, &[]).expect("valid");
            let (rows, counts) = sketches(&tokenizer, &texts.as_slice(), size, seed).expect("room");
            let hashed = HashedTexts::new(&tokenizer, &texts.as_slice(), seed).expect("room");
            prop_assert_eq!((texts.len(), texts.is_empty()), (hashed.len(), hashed.is_empty()));
            for (i, text) in texts.iter().enumerate() {
                let mut ids = Vec::new();
                tokenizer.distinct(text, &mut Scratch::default(), &mut ids).expect("room");
                let mut hashes: Vec<u32> = ids.iter().map(|&id| hash(id, seed)).collect();
                hashes.sort_unstable();
                prop_assert_eq!(hashes.as_slice(), hashed.of(i));
                let mut expected = vec![hashes.len() as u32];
                expected.extend(hashes.iter().copied().chain(std::iter::repeat(u32::MAX)).take(size));
                prop_assert_eq!(&expected[..], &rows[i * (size + 1)..][..=size]);
                prop_assert_eq!(hashes.len() as u64, counts[i]);
            }
        }
    }

    #[test]
    fn a_size_out_of_range_is_refused() {
        assert!(check_size(0).is_err() && check_size(MAX_SIZE + 1).is_err() && check_size(MAX_SIZE).is_ok());
    }
}
