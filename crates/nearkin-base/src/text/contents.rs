//! Exact copies: the hash of a text's bytes and its length in characters, or the hash of other bytes.
//!
//! The hash is XXH3-128, seed 0, of the original UTF-8, before any normalization: among 10^9 different texts two share
//! a hash with a probability of about 10^-21. A null counts as the empty text. Cost: one pass over the text.

use crate::parallel::prelude::*;
use xxhash_rust::xxh3::xxh3_128;

use crate::cancel::CancelToken;
use crate::text::tokenizer::TextSource;
use crate::{Result, alloc};

/// Return the hash of each text, low word first, and its number of characters; zeros after cancellation.
///
/// # Errors
/// Memory runs out.
pub fn content_hashes(texts: &dyn TextSource) -> Result<(Vec<[u64; 2]>, Vec<u64>)> {
    let cancel = &CancelToken::current();
    let (mut hashes, mut lengths) = (alloc::try_filled([0; 2], texts.len())?, alloc::try_zeroed(texts.len())?);
    let hash_item = |(i, (hash, length)): (usize, (&mut [u64; 2], &mut u64))| {
        if cancel.is_set() {
            return;
        }
        texts.prefetch(i + 1);
        let text = texts.get(i).unwrap_or_default();
        let value = xxh3_128(text.as_bytes());
        *hash = [value as u64, (value >> 64) as u64];
        *length = text.chars().count() as u64;
    };
    hashes.par_iter_mut().zip(&mut lengths).enumerate().with_min_len(64).for_each(hash_item);
    Ok((hashes, lengths))
}

/// Return the hash of each piece of `width` bytes, low word first; zeros after cancellation.
///
/// # Errors
/// Memory runs out.
pub fn byte_hashes(bytes: &[u8], width: usize) -> Result<Vec<[u64; 2]>> {
    let cancel = &CancelToken::current();
    let hash_item = |piece: &[u8]| if cancel.is_set() { 0 } else { xxh3_128(piece) };
    let values = bytes.par_chunks(width.max(1)).with_min_len(64).map(hash_item);
    alloc::try_collect_parallel(values.map(|value| [value as u64, (value >> 64) as u64]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_hash_is_that_of_the_specification() {
        // XXH3-128 of the empty string, seed 0: xxHash's own test vectors.
        let (hashes, lengths) = content_hashes(&["", "né"].as_slice()).expect("room");
        assert_eq!([0x6001_c324_468d_497f, 0x99aa_06d3_0147_98d8], hashes[0]);
        assert_eq!(vec![0, 2], lengths);
        assert_eq!(hashes[1..], byte_hashes("né".as_bytes(), 3).expect("room"));
        assert_eq!(
            content_hashes(&["ab", "cd", "e"].as_slice()).expect("room").0,
            byte_hashes(b"abcde", 2).expect("room")
        );
        assert!(byte_hashes(b"", 4).expect("room").is_empty());
    }

    proptest! {
        #[test]
        fn texts_have_one_hash_if_they_are_equal(texts in prop::collection::vec("[ab]{0,3}|\\PC{0,9}", 0..200)) {
            let (hashes, lengths) = content_hashes(&texts.as_slice()).expect("room");
            prop_assert_eq!(texts.iter().map(|text| text.chars().count() as u64).collect::<Vec<_>>(), lengths);
            for (hash_item, hash) in texts.iter().zip(&hashes) {
                for (other, other_hash) in texts.iter().zip(&hashes) {
                    prop_assert_eq!(hash_item == other, hash == other_hash);
                }
            }
        }
    }
}
