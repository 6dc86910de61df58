//! A digest index as a file: `docs/format-digests.md`.
//!
//! Sections (tag): 1 description, 2 to 5 rows (`index::rows`), 6 recipe, 10 block size of each row, 11 lengths of its two parts,
//! 12 characters. Postings are not stored: they follow from the digests, and rebuilding them takes about 4 microseconds per
//! digest. So opening reads the whole file and compares every checksum.
//!
//! Files of versions 1 and 2 are not segments; they can be read but not written. All integers are little-endian:
//!
//! ```text
//! 0   8  "NKDIGEST"
//! 8   4  version, 1 or 2
//! 12  2  kind of ids: 0 row numbers, 1 integers, 2 strings
//! 14  2  1 if digests were read leniently, else 0
//! 16  8  n, number of rows
//! 24  8  d, bytes of digests
//! 32  8  i, bytes of ids
//! 40  8  r, bytes of the recipe                                  version 1 has neither this field nor a recipe
//! 48     n digests: block size u64, lengths u8 u8, characters; a removed row has both lengths 255 and no characters
//!        ids
//!        recipe, its JSON form                                   opaque to this module
//! end 8  XXH3-64 of everything before it
//! ```

use std::io::Read;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::Index;
use crate::alloc;
use crate::cancel::CancelToken;
use crate::digests::ssdeep::parse::{Digest, Part};
use crate::error::{Error, Result};
use crate::index::rows::{Existing, Keys, NewIds, Rows};
use crate::segment::{self, Segment, Writer};

/// The kind of a segment that holds a digest index.
const KIND: u32 = 7;
const ABOUT: u32 = 1;
const RECIPE: u32 = 6;
const SIZES: u32 = 10;
const LENGTHS: u32 = 11;
const CHARACTERS: u32 = 12;

/// First bytes of files of versions 1 and 2.
const MAGIC: &[u8; 8] = b"NKDIGEST";
/// The newest version before segments.
const VERSION: u32 = 2;
/// Both lengths of a removed row.
const REMOVED: u8 = 255;

/// Metadata of a file, next to the digests and their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// True if the digests were read leniently.
    pub lenient: bool,
    /// The recipe of the digests, in JSON; None in files of version 1, which have none.
    pub recipe: Option<Vec<u8>>,
}

/// Return true if a file starts like a digest index of any version.
///
/// # Errors
/// The file cannot be read.
pub fn is_index(path: &Path) -> Result<bool> {
    let head = read_head(path, segment::HEADER as u64)?;
    Ok(head.starts_with(MAGIC) || segment::kind_of(&head) == Some(KIND))
}

/// Read at most `max_bytes` of a file.
pub(crate) fn read_head(path: &Path, max_bytes: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    segment::open_regular(path)?
        .take(max_bytes)
        .read_to_end(&mut bytes)
        .map_err(|source| Error::Io { action: format!("read {}", path.display()), source })?;
    Ok(bytes)
}

impl Index {
    /// Save the index with its metadata; the old file is replaced when the new one is complete.
    ///
    /// # Errors
    /// The file cannot be written, or the call is cancelled.
    pub fn save(&self, path: &Path, metadata: &Metadata) -> Result<()> {
        let [total, kind, growing] = self.rows.about();
        let (mut sizes, mut lengths) =
            (alloc::try_with_capacity(self.digests.len())?, alloc::try_with_capacity(2 * self.digests.len())?);
        let mut characters = Vec::new();
        let cancel = CancelToken::current();
        for row in cancel.ranges(0..self.digests.len()).flatten().map(|row| row as u32) {
            // A removed row is an empty digest.
            let Digest { block_size, part1, part2 } = self.get(row).copied().unwrap_or_default();
            sizes.push(block_size);
            for part in [part1, part2] {
                lengths.push(part.as_bytes().len() as u8);
                alloc::try_extend(&mut characters, part.as_bytes())?;
            }
        }
        cancel.check()?;
        let mut writer = Writer::create(path, KIND, 8)?;
        writer.section(ABOUT, 0, &[total, kind, growing, u64::from(metadata.lenient)])?;
        self.rows.save_dead(&mut writer)?;
        self.rows.save_ids(&mut writer)?;
        writer.section(RECIPE, 0, metadata.recipe.as_deref().unwrap_or_default())?;
        writer.section(SIZES, 0, &sizes)?;
        writer.section(LENGTHS, 0, &lengths)?;
        writer.section(CHARACTERS, 0, &characters)?;
        writer.finish()
    }

    /// Open a saved index of any version, with its metadata.
    ///
    /// # Errors
    /// The file cannot be read, has a newer version, or is not a complete index.
    pub fn open(path: &Path) -> Result<(Self, Metadata)> {
        if read_head(path, 8)? == MAGIC {
            return decode(&read_head(path, u64::MAX)?, &path.display().to_string());
        }
        let segment = Segment::open_kind(path, KIND, " and no digest index")?;
        segment.verify()?;
        let about = segment.column::<u64>(ABOUT, 0)?;
        let &[total, kind, growing, lenient] = &about[..] else {
            return Err(segment.corrupt("its description does not have 4 numbers"));
        };
        if lenient > 1 {
            return Err(segment.corrupt("its description holds a number out of range"));
        }
        let rows = Rows::open(&segment, [total, kind, growing])?;
        let recipe = alloc::try_copy(&segment.column::<u8>(RECIPE, 0)?)?;
        let sizes = segment.column::<u64>(SIZES, 0)?;
        let lengths = segment.column::<u8>(LENGTHS, 0)?;
        let characters = segment.column::<u8>(CHARACTERS, 0)?;
        if sizes.len() != rows.total() || lengths.len() != 2 * sizes.len() {
            return Err(segment.corrupt("its digests are not as many as its rows"));
        }
        let mut rest = &characters[..];
        let mut part = |length: u8| -> Result<Part> {
            let (text, after) = rest
                .split_at_checked(usize::from(length))
                .ok_or_else(|| segment.corrupt("its digests have fewer characters than they say"))?;
            rest = after;
            let part = Part::read(text).filter(|part| part.as_bytes() == text);
            part.ok_or_else(|| segment.corrupt("a part of a digest has a run, or more than 64 characters"))
        };
        let mut digests = alloc::try_with_capacity(sizes.len())?;
        for (row, (&block_size, lengths)) in (0..).zip(sizes.iter().zip(lengths.as_chunks::<2>().0)) {
            let digest = Digest { block_size, part1: part(lengths[0])?, part2: part(lengths[1])? };
            let parse = if lenient == 1 { Digest::parse_lenient } else { Digest::parse };
            if rows.is_alive(row) && parse(&digest.to_text()).ok() != Some(digest) {
                return Err(segment.corrupt(format!("the digest of row {row} is invalid")));
            }
            digests.push(digest);
        }
        if !rest.is_empty() {
            return Err(segment.corrupt("its digests have more characters than they say"));
        }
        let mut index = Self::from_rows(rows, &digests)?;
        index.segment = Some(segment);
        Ok((index, Metadata { lenient: lenient == 1, recipe: Some(recipe) }))
    }

    /// Verify the checksums and the ids of the file that the index was opened from; opening has checked the digests.
    ///
    /// # Errors
    /// The first inconsistency. An index that was not opened from a segment is valid.
    pub fn verify(&self) -> Result<()> {
        self.rows.verify_digests(self.segment.as_ref())
    }

    /// Return the file that the index was opened from; see [`with_verified`](crate::segment::with_verified).
    pub fn segment(&self) -> Option<&Segment> {
        self.segment.as_ref()
    }
}

/// A reader of the fields of old files.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Read a digest; an empty one and true for a removed row.
    fn digest(&mut self) -> Option<(Digest, bool)> {
        let block_size = self.number()?;
        let &[first, second] = self.take(2)? else { return None };
        if first == REMOVED && second == REMOVED {
            return Some((Digest::default(), true));
        }
        let part1 = Part::read(self.take(first.into())?)?;
        Some((Digest { block_size, part1, part2: Part::read(self.take(second.into())?)? }, false))
    }
}

/// Decode a file of version 1 or 2; `place` is its name in errors.
///
/// # Errors
/// [`Error::Corrupt`] if it is not such a file or a byte of it changed, [`Error::FormatVersion`] if it is too new.
fn decode(bytes: &[u8], place: &str) -> Result<(Index, Metadata)> {
    let corrupt = |reason: &str| Error::Corrupt { place: place.to_owned(), reason: reason.to_owned() };
    let short = || corrupt("it ends within its header; copy it again");
    let mut head = Cursor(&bytes[MAGIC.len()..]);
    let word = head.number().ok_or_else(short)?;
    let (version, kind, lenient) = (word as u32, (word >> 32) as u16, (word >> 48) as u16);
    if version > VERSION {
        return Err(Error::FormatVersion { found: version, newest: VERSION });
    }
    let mut number = || head.number().ok_or_else(short);
    let (slots, digest_bytes, id_bytes) = (number()?, number()?, number()?);
    let recipe_bytes = if version > 1 { number()? } else { 0 };
    let (body, sum) = head.0.split_last_chunk::<8>().ok_or_else(short)?;
    if u64::from_le_bytes(*sum) != xxh3_64(&bytes[..bytes.len() - sum.len()]) {
        return Err(corrupt("its checksum does not match; restore it from a copy or build the index again"));
    }
    let parts = [digest_bytes, id_bytes, recipe_bytes];
    if version == 0
        || kind > 2
        || lenient > 1
        || parts.iter().try_fold(0u64, |sum, &part| sum.checked_add(part)) != Some(body.len() as u64)
        || slots > digest_bytes / 10
    {
        return Err(corrupt("its header contradicts itself"));
    }
    let (digest_bytes, rest) = body.split_at(digest_bytes as usize);
    let (ids, recipe) = rest.split_at(id_bytes as usize);
    let mut cursor = Cursor(digest_bytes);
    let mut digests = alloc::try_with_capacity(slots as usize)?;
    let mut removed = alloc::try_with_capacity(slots as usize)?;
    for row in 0..slots {
        let (digest, is_removed) = cursor.digest().ok_or_else(|| corrupt("a digest in it is invalid"))?;
        digests.push(digest);
        if is_removed {
            removed.push(row as i64);
        }
    }
    if !cursor.0.is_empty() {
        return Err(corrupt("it holds more than its header says"));
    }
    let ids = OldIds::read(kind, ids, digests.len())?.ok_or_else(|| corrupt("its ids can't be read"))?;
    let mut rows = Rows::default();
    let new = match &ids {
        OldIds::Rows => NewIds::Rows,
        OldIds::Ints(ids) => NewIds::Ints(ids),
        OldIds::Names(ids) => NewIds::Names(ids),
    };
    let batch = rows.prepare(new, digests.len(), "digests", Existing::Error).map_err(|error| match error {
        Error::Cancelled | Error::Memory { .. } => error,
        error => corrupt(&format!("its ids do not go with its digests ({error})")),
    })?;
    rows.commit(batch);
    if kind != 0 && !removed.is_empty() {
        return Err(corrupt("it holds removed rows that have ids"));
    }
    rows.remove(Keys::Ints(&removed), false)?;
    let recipe = if version > 1 { Some(alloc::try_copy(recipe)?) } else { None };
    Ok((Index::from_rows(rows, &digests)?, Metadata { lenient: lenient == 1, recipe }))
}

/// Ids of versions 1 and 2.
enum OldIds<'a> {
    Rows,
    Ints(Vec<i64>),
    Names(Vec<&'a str>),
}

impl<'a> OldIds<'a> {
    /// Read `count` integers, or lengths and strings; None if the bytes are invalid.
    fn read(kind: u16, bytes: &'a [u8], count: usize) -> Result<Option<Self>> {
        Ok(match kind {
            0 => bytes.is_empty().then_some(Self::Rows),
            1 if bytes.len() == 8 * count => {
                let ids = bytes.as_chunks::<8>().0.iter().map(|&id| i64::from_le_bytes(id));
                Some(Self::Ints(alloc::try_collect(ids)?))
            }
            1 => None,
            _ => Self::read_names(bytes, count, alloc::try_with_capacity(count)?).map(Self::Names),
        })
    }

    /// Read `count` strings into `ids`, which has the capacity.
    fn read_names(bytes: &'a [u8], count: usize, mut ids: Vec<&'a str>) -> Option<Vec<&'a str>> {
        let (lengths, rest) = bytes.split_at_checked(count.checked_mul(4)?)?;
        let mut cursor = Cursor(rest);
        for &length in lengths.as_chunks::<4>().0 {
            ids.push(std::str::from_utf8(cursor.take(u32::from_le_bytes(length) as usize)?).ok()?);
        }
        cursor.0.is_empty().then_some(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(name: &str) -> std::path::PathBuf {
        let thread = std::thread::current().id();
        std::env::temp_dir().join(format!("nearkin-digests-{name}-{}-{thread:?}", std::process::id()))
    }

    fn sample(removed: i64) -> Index {
        let texts = ["96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U", "3::", "3:E:E", "96:abcdefghijkl:"];
        let digests: Vec<Digest> = texts.iter().map(|text| Digest::parse(text.as_bytes()).unwrap()).collect();
        let mut index = Index::new();
        index.add(NewIds::Ints(&[7, 5, 6, 4]), &digests, Existing::Error).unwrap();
        index.remove(Keys::Ints(&[removed]), true).unwrap();
        index
    }

    proptest! {
        #[test]
        fn save_then_open_is_identity(removed in 3i64..8, lenient: bool) {
            let (index, path) = (sample(removed), path("identity"));
            let metadata = Metadata { lenient, recipe: Some(b"{}".to_vec()) };
            index.save(&path, &metadata).unwrap();
            prop_assert!(is_index(&path).unwrap());
            let (read, same) = Index::open(&path).unwrap();
            read.verify().unwrap();
            prop_assert_eq!(metadata, same);
            prop_assert_eq!((index.rows().len(), index.rows().total()), (read.rows().len(), read.rows().total()));
            for row in 0..5 {
                prop_assert_eq!(index.get(row), read.get(row));
                prop_assert_eq!(index.rows().find_int(i64::from(row) + 3), read.rows().find_int(i64::from(row) + 3));
            }
            std::fs::remove_file(&path).unwrap();
        }

        #[test]
        fn any_changed_byte_is_noticed_or_means_nothing(at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let (index, path) = (sample(0), path("changed"));
            index.save(&path, &Metadata { lenient: false, recipe: None }).unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            std::fs::write(&path, &bytes).unwrap();
            // Bytes between sections are zero and never read: only they may change without a word.
            if let Ok((read, _)) = Index::open(&path) {
                for row in 0..4 {
                    prop_assert_eq!(index.get(row), read.get(row));
                }
            }
            std::fs::write(&path, &bytes[..at]).unwrap();
            prop_assert!(Index::open(&path).is_err());
            std::fs::remove_file(&path).unwrap();
        }
    }
}

#[cfg(test)]
mod legacy_tests {
    use super::*;
    use proptest::prelude::*;

    /// Build a file of version 2 with string ids.
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
        let (index, metadata) = decode(&sample(), "test").expect("whole");
        assert_eq!(Metadata { lenient: false, recipe: Some(b"{}".to_vec()) }, metadata);
        assert_eq!((2, Some(1)), (index.rows().len(), index.rows().find_name("é")));
        assert_eq!(Some(Digest::parse(b"3:E:E").expect("a digest")), index.get(1).copied());
    }

    proptest! {
        #[test]
        fn any_changed_byte_is_noticed(at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut bytes = sample();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(!bytes.starts_with(MAGIC) || decode(&bytes, "test").is_err());
            prop_assert!(at < MAGIC.len() || decode(&bytes[..at], "test").is_err());
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
