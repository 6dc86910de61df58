//! A digest index as a file: `docs/format-digests.md`, version 2.
//!
//! ```text
//! 0   8  "NKDIGEST"
//! 8   4  version, 2                                              all integers little-endian
//! 12  2  kind of ids: 0 row numbers, 1 integers, 2 strings       opaque to this module
//! 14  2  1 if digests were read leniently, else 0
//! 16  8  n, number of slots
//! 24  8  d, bytes of digests
//! 32  8  i, bytes of ids
//! 40  8  r, bytes of the recipe                                  version 1 has neither this field nor a recipe
//! 48     n digests: block size u64, lengths u8 u8, characters; a removed slot has both lengths 255 and no characters
//!        ids
//!        recipe, its JSON form                                   opaque to this module
//! end 8  XXH3-64 of everything before it
//! ```
//!
//! Postings are not stored: they follow from the digests and are rebuilt in about 4 microseconds per digest.

use xxhash_rust::xxh3::xxh3_64;

use super::Index;
use crate::error::{Error, Result};
use crate::ssdeep::parse::{Digest, Part};

const MAGIC: &[u8; 8] = b"NKDIGEST";

/// The newest version, which is the one that is written.
pub const VERSION: u32 = 2;

/// Bytes before the digests, by version.
const fn head_bytes(version: u32) -> usize {
    if version < 2 { 40 } else { 48 }
}

const SUM: usize = 8;
const REMOVED: u8 = 255;

/// What a file holds beside the digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// 0 row numbers, 1 integers, 2 strings.
    pub kind: u16,
    /// Whether the digests were read leniently.
    pub lenient: bool,
    /// The ids, in the writer's own layout.
    pub ids: Vec<u8>,
    /// How the digests were made, in JSON. None is written as version 1, which says nothing of it.
    pub recipe: Option<Vec<u8>>,
}

/// The bytes of a file. With `compact`, removed slots are left out and later ones move up.
pub fn encode(index: &Index, about: &About, compact: bool) -> Vec<u8> {
    let mut digests = Vec::new();
    let mut slots = 0u64;
    for slot in 0..index.slots() as u32 {
        match index.get(slot) {
            Some(digest) => {
                let (part1, part2) = (digest.part1.as_bytes(), digest.part2.as_bytes());
                digests.extend_from_slice(&digest.block_size.to_le_bytes());
                digests.extend_from_slice(&[part1.len() as u8, part2.len() as u8]);
                digests.extend_from_slice(part1);
                digests.extend_from_slice(part2);
            }
            None if compact => continue,
            None => {
                digests.extend_from_slice(&[0; 8]);
                digests.extend_from_slice(&[REMOVED; 2]);
            }
        }
        slots += 1;
    }
    let version = if about.recipe.is_some() { VERSION } else { 1 };
    let recipe = about.recipe.as_deref().unwrap_or_default();
    let mut bytes = Vec::with_capacity(head_bytes(version) + digests.len() + about.ids.len() + recipe.len() + SUM);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&about.kind.to_le_bytes());
    bytes.extend_from_slice(&u16::from(about.lenient).to_le_bytes());
    bytes.extend_from_slice(&slots.to_le_bytes());
    bytes.extend_from_slice(&(digests.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(about.ids.len() as u64).to_le_bytes());
    if version > 1 {
        bytes.extend_from_slice(&(recipe.len() as u64).to_le_bytes());
    }
    bytes.extend_from_slice(&digests);
    bytes.extend_from_slice(&about.ids);
    bytes.extend_from_slice(recipe);
    let sum = xxh3_64(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// The index that `bytes` hold, and what is beside it; `place` names them in errors.
///
/// # Errors
/// [`Error::Corrupt`] if they are not such a file or a byte of it changed, [`Error::FormatVersion`] if it is too new.
pub fn decode(bytes: &[u8], place: &str) -> Result<(Index, About)> {
    let corrupt = |reason: &str| Error::Corrupt { place: place.to_owned(), reason: reason.to_owned() };
    if !bytes.starts_with(MAGIC) {
        return Err(corrupt("it does not begin as a digest index does; name a file that DigestIndex.save wrote"));
    }
    let short = || corrupt("it ends within its header; copy it again");
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    if bytes.len() < 16 {
        return Err(short());
    }
    let version = word(8) as u32;
    if version > VERSION {
        return Err(Error::FormatVersion { found: version, newest: VERSION });
    }
    let head = head_bytes(version);
    if bytes.len() < head + SUM {
        return Err(short());
    }
    let body = bytes.len() - SUM;
    if word(body) != xxh3_64(&bytes[..body]) {
        return Err(corrupt("its checksum does not match; restore it from a copy or build the index anew"));
    }
    let (kind, lenient) = ((word(8) >> 32) as u16, (word(8) >> 48) as u16);
    let (slots, digest_bytes, id_bytes) = (word(16), word(24), word(32));
    let recipe_bytes = if version > 1 { word(40) } else { 0 };
    let room = (body - head) as u64;
    let parts = [digest_bytes, id_bytes, recipe_bytes];
    if version == 0
        || kind > 2
        || lenient > 1
        || parts.iter().try_fold(0u64, |sum, &part| sum.checked_add(part)) != Some(room)
        || slots > digest_bytes / 10
    {
        return Err(corrupt("its header contradicts itself"));
    }
    let (mut rest, after) = bytes[head..body].split_at(digest_bytes as usize);
    let (ids, recipe) = after.split_at(id_bytes as usize);
    let mut digests = Vec::with_capacity(slots as usize);
    let bad = || corrupt("a digest in it is invalid");
    for _ in 0..slots {
        let (head, after) = rest.split_first_chunk::<10>().ok_or_else(bad)?;
        let block_size = u64::from_le_bytes(std::array::from_fn(|i| head[i]));
        if head[8] == REMOVED && head[9] == REMOVED {
            digests.push(None);
            rest = after;
            continue;
        }
        let (part1, after) = after.split_at_checked(usize::from(head[8])).ok_or_else(bad)?;
        let (part2, after) = after.split_at_checked(usize::from(head[9])).ok_or_else(bad)?;
        let read = |part| Part::read(part).ok_or_else(bad);
        digests.push(Some(Digest { block_size, part1: read(part1)?, part2: read(part2)? }));
        rest = after;
    }
    if !rest.is_empty() {
        return Err(corrupt("it holds more than its header says"));
    }
    let recipe = (version > 1).then(|| recipe.to_vec());
    Ok((Index::from_slots(&digests)?, About { kind, lenient: lenient == 1, ids: ids.to_vec(), recipe }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(removed: u32) -> (Index, About) {
        let texts = ["96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U", "3::", "3:E:E", "96:abcdefghijkl:"];
        let digests: Vec<Digest> = texts.iter().map(|text| Digest::parse(text.as_bytes()).unwrap()).collect();
        let mut index = Index::new();
        index.add(&digests).unwrap();
        index.remove(removed);
        (index, About { kind: 1, lenient: false, ids: vec![1, 2, 3], recipe: Some(b"{}".to_vec()) })
    }

    proptest! {
        #[test]
        fn save_then_open_is_identity(removed in 0u32..5) {
            let (index, mut ids) = sample(removed);
            let (read, read_ids) = decode(&encode(&index, &ids, false), "test").unwrap();
            prop_assert_eq!(&ids, &read_ids);
            ids.recipe = None;
            let (first, first_ids) = decode(&encode(&index, &ids, false), "test").unwrap();
            prop_assert_eq!((&ids, read.slots()), (&first_ids, first.slots()));
            prop_assert_eq!(index.slots(), read.slots());
            for slot in 0..5 {
                prop_assert_eq!(index.get(slot), read.get(slot));
            }
            let (compact, _) = decode(&encode(&index, &ids, true), "test").unwrap();
            prop_assert_eq!(index.len(), compact.slots());
        }

        #[test]
        fn any_changed_byte_is_noticed(at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let (index, ids) = sample(9);
            let mut bytes = encode(&index, &ids, false);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(decode(&bytes, "test").is_err());
            prop_assert!(decode(&bytes[..at], "test").is_err());
        }

        #[test]
        fn a_right_checksum_over_nonsense_is_no_crash(
            mut bytes in prop::collection::vec(any::<u8>(), 0..120),
            version in 0u8..3,
        ) {
            bytes.splice(..0, [&MAGIC[..], &[version, 0, 0, 0, 1, 0, 0, 0]].concat());
            let sum = xxh3_64(&bytes);
            bytes.extend_from_slice(&sum.to_le_bytes());
            let _ = decode(&bytes, "test");
        }
    }

    #[test]
    fn a_newer_version_is_refused_by_name() {
        let (index, ids) = sample(9);
        let mut bytes = encode(&index, &ids, false);
        bytes[8] = 3;
        assert!(matches!(decode(&bytes, "test"), Err(Error::FormatVersion { found: 3, newest: 2 })));
    }
}
