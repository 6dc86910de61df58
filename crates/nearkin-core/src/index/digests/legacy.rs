//! Digest index files of versions 1 and 2, which are read and no longer written: `docs/format-digests.md`.
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

use xxhash_rust::xxh3::xxh3_64;

use super::Index;
use super::file::About;
use crate::alloc;
use crate::digests::ssdeep::parse::{Digest, Part};
use crate::error::{Error, Result};
use crate::index::rows::{Existing, Keys, NewIds, Rows};

pub(super) const MAGIC: &[u8; 8] = b"NKDIGEST";

/// The newest of these versions.
const VERSION: u32 = 2;

/// Bytes before the digests, by version.
const fn head_bytes(version: u32) -> usize {
    if version < 2 { 40 } else { 48 }
}

const SUM: usize = 8;
const REMOVED: u8 = 255;

/// The index that `bytes` hold, and what stands beside it; `place` names them in errors.
///
/// # Errors
/// [`Error::Corrupt`] if they are not such a file or a byte of it changed, [`Error::FormatVersion`] if it is too new.
pub(super) fn decode(bytes: &[u8], place: &str) -> Result<(Index, About)> {
    let corrupt = |reason: &str| Error::Corrupt { place: place.to_owned(), reason: reason.to_owned() };
    if !bytes.starts_with(MAGIC) {
        return Err(corrupt("it does not begin as a digest index does; name a file that `save` has written"));
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
    let mut digests = alloc::try_with_capacity(slots as usize)?;
    let mut removed = alloc::try_with_capacity(slots as usize)?;
    let bad = || corrupt("a digest in it is invalid");
    for row in 0..slots {
        let (head, after) = rest.split_first_chunk::<10>().ok_or_else(bad)?;
        let block_size = u64::from_le_bytes(std::array::from_fn(|i| head[i]));
        if head[8] == REMOVED && head[9] == REMOVED {
            removed.push(row as i64);
            digests.push(Digest::default());
            rest = after;
            continue;
        }
        let (part1, after) = after.split_at_checked(usize::from(head[8])).ok_or_else(bad)?;
        let (part2, after) = after.split_at_checked(usize::from(head[9])).ok_or_else(bad)?;
        let read = |part| Part::read(part).ok_or_else(bad);
        digests.push(Digest { block_size, part1: read(part1)?, part2: read(part2)? });
        rest = after;
    }
    if !rest.is_empty() {
        return Err(corrupt("it holds more than its header says"));
    }
    let ids = Ids::read(kind, ids, digests.len())?.ok_or_else(|| corrupt("its ids can't be read"))?;
    let mut rows = Rows::default();
    let new = match &ids {
        Ids::Rows => NewIds::Rows,
        Ids::Ints(ids) => NewIds::Ints(ids),
        Ids::Names(ids) => NewIds::Names(ids),
    };
    let named = rows.prepare(new, digests.len(), "digests", Existing::Error).map_err(|error| match error {
        Error::Cancelled | Error::Memory { .. } => error,
        error => corrupt(&format!("its ids do not go with its digests ({error})")),
    })?;
    rows.commit(named);
    if kind != 0 && !removed.is_empty() {
        return Err(corrupt("it holds removed rows that have ids"));
    }
    rows.remove(Keys::Ints(&removed), false)?;
    let recipe = if version > 1 { Some(alloc::try_copy(recipe)?) } else { None };
    Ok((Index::of(rows, &digests)?, About { lenient: lenient == 1, recipe }))
}

/// Ids as these versions keep them.
enum Ids<'a> {
    Rows,
    Ints(Vec<i64>),
    Names(Vec<&'a str>),
}

impl<'a> Ids<'a> {
    /// `count` integers, or lengths and strings; None if the bytes are not that.
    fn read(kind: u16, bytes: &'a [u8], count: usize) -> Result<Option<Self>> {
        Ok(match kind {
            0 => bytes.is_empty().then_some(Self::Rows),
            1 => {
                let (ids, rest) = bytes.as_chunks::<8>();
                let whole = rest.is_empty() && ids.len() == count;
                if whole {
                    Some(Self::Ints(alloc::try_collect(ids.iter().map(|&id| i64::from_le_bytes(id)))?))
                } else {
                    None
                }
            }
            _ => Self::read_names(bytes, count, alloc::try_with_capacity(count)?).map(Self::Names),
        })
    }

    /// `count` strings, for which `ids` has room.
    fn read_names(bytes: &'a [u8], count: usize, mut ids: Vec<&'a str>) -> Option<Vec<&'a str>> {
        let (lengths, mut rest) = bytes.split_at_checked(count.checked_mul(4)?)?;
        for &length in lengths.as_chunks::<4>().0 {
            let (id, after) = rest.split_at_checked(u32::from_le_bytes(length) as usize)?;
            ids.push(std::str::from_utf8(id).ok()?);
            rest = after;
        }
        rest.is_empty().then_some(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use xxhash_rust::xxh3::xxh3_64;

    /// A file of version 2 with string ids.
    fn sample() -> Vec<u8> {
        let mut digests = Vec::new();
        for (size, part1, part2) in [(96_u64, "abcdefghijkl", ""), (3, "E", "E")] {
            digests.extend_from_slice(&size.to_le_bytes());
            digests.extend_from_slice(&[part1.len() as u8, part2.len() as u8]);
            digests.extend_from_slice([part1, part2].concat().as_bytes());
        }
        let ids = [&[1, 0, 0, 0, 2, 0, 0, 0][..], "aé".as_bytes()].concat();
        let mut bytes = [&MAGIC[..], &[2, 0, 0, 0, 2, 0, 0, 0]].concat();
        for number in [2, digests.len(), ids.len(), 2] {
            bytes.extend_from_slice(&(number as u64).to_le_bytes());
        }
        bytes.extend([digests, ids, b"{}".to_vec()].concat());
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    #[test]
    fn a_file_of_version_2_is_read() {
        let (index, about) = decode(&sample(), "test").expect("whole");
        assert_eq!(About { lenient: false, recipe: Some(b"{}".to_vec()) }, about);
        assert_eq!((2, Some(1)), (index.len(), index.rows().find_name("é")));
        assert_eq!(Some(Digest::parse(b"3:E:E").expect("a digest")), index.get(1).copied());
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_noticed(at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = sample();
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
        let mut bytes = sample();
        bytes[8] = 3;
        assert!(matches!(decode(&bytes, "test"), Err(Error::FormatVersion { found: 3, newest: 2 })));
    }
}
