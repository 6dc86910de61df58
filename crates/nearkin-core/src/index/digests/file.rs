//! A digest index as a segment file: `docs/format-digests.md`.
//!
//! Sections (tag): 1 the description, 2 to 5 rows (`index::rows`), 6 the recipe, 10 block size of each row, 11 lengths of its two
//! parts, 12 characters. Postings are not stored: they follow from the digests and are rebuilt in about 4 microseconds per
//! digest. So opening reads everything, and every checksum is compared. Files of versions 1 and 2, which were no segments, are
//! read by `legacy`.

use std::io::Read;
use std::path::Path;

use super::{Index, legacy};
use crate::alloc;
use crate::cancel::CancelToken;
use crate::digests::ssdeep::parse::{Digest, Part};
use crate::error::{Error, Result};
use crate::index::rows::Rows;
use crate::segment::{self, Segment, Writer};

/// The kind of a segment that holds a digest index.
const KIND: u32 = 7;
const ABOUT: u32 = 1;
const RECIPE: u32 = 6;
const SIZES: u32 = 10;
const LENGTHS: u32 = 11;
const CHARACTERS: u32 = 12;

/// What a file holds beside the digests and their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Whether the digests were read leniently.
    pub lenient: bool,
    /// How the digests were made, in JSON; None in files of version 1, which say nothing of it.
    pub recipe: Option<Vec<u8>>,
}

/// Whether a file begins as one that holds a digest index, of this version or an legacy one.
///
/// # Errors
/// The file system refuses.
pub fn is_index(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    segment::open_regular(path)?
        .take(segment::HEADER as u64)
        .read_to_end(&mut head)
        .map_err(|source| Error::Io { action: format!("read {}", path.display()), source })?;
    Ok(head.starts_with(legacy::MAGIC) || segment::kind_of(&head) == Some(KIND))
}

impl Index {
    /// Saves the index with what is said of it; the old file stays until the new one is whole.
    ///
    /// # Errors
    /// The file system refuses; the call is stopped.
    pub fn save(&self, path: &Path, about: &About) -> Result<()> {
        let [total, kind, growing] = self.rows.about();
        let (mut sizes, mut lengths) =
            (alloc::try_with_capacity(self.digests.len())?, alloc::try_with_capacity(2 * self.digests.len())?);
        let mut characters = Vec::new();
        let stop = CancelToken::current();
        for row in stop.ranges(0..self.digests.len()).flatten().map(|row| row as u32) {
            // Nothing is said of a removed row but that it is dead.
            let Digest { block_size, part1, part2 } = self.get(row).copied().unwrap_or_default();
            sizes.push(block_size);
            for part in [part1, part2] {
                lengths.push(part.as_bytes().len() as u8);
                alloc::try_extend(&mut characters, part.as_bytes())?;
            }
        }
        stop.check()?;
        let mut writer = Writer::create(path, KIND, 8)?;
        writer.section(ABOUT, 0, &[total, kind, growing, u64::from(about.lenient)])?;
        self.rows.save_dead(&mut writer)?;
        self.rows.save_ids(&mut writer)?;
        writer.section(RECIPE, 0, about.recipe.as_deref().unwrap_or_default())?;
        writer.section(SIZES, 0, &sizes)?;
        writer.section(LENGTHS, 0, &lengths)?;
        writer.section(CHARACTERS, 0, &characters)?;
        writer.finish()
    }

    /// Reads a saved index, of this version or an legacy one, and what is said of it.
    ///
    /// # Errors
    /// The file system refuses; a newer version; a file that is not a whole index.
    pub fn open(path: &Path) -> Result<(Self, About)> {
        let mut head = Vec::new();
        let io = |source| Error::Io { action: format!("read {}", path.display()), source };
        segment::open_regular(path)?.take(8).read_to_end(&mut head).map_err(io)?;
        if head == legacy::MAGIC {
            let mut bytes = Vec::new();
            segment::open_regular(path)?.read_to_end(&mut bytes).map_err(io)?;
            return legacy::decode(&bytes, &path.display().to_string());
        }
        let segment = Segment::open(path)?;
        if segment.kind() != KIND {
            return Err(segment.corrupt(format!("it holds kind {} and no digest index", segment.kind())));
        }
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
        for (&block_size, lengths) in sizes.iter().zip(lengths.as_chunks::<2>().0) {
            digests.push(Digest { block_size, part1: part(lengths[0])?, part2: part(lengths[1])? });
        }
        if !rest.is_empty() {
            return Err(segment.corrupt("its digests have more characters than they say"));
        }
        let mut index = Self::of(rows, &digests)?;
        index.segment = Some(segment);
        Ok((index, About { lenient: lenient == 1, recipe: Some(recipe) }))
    }

    /// Reads the whole file of an opened index again: that it is what it was.
    ///
    /// # Errors
    /// A sum that does not match; nothing for an index that was not opened from a segment.
    pub fn verify(&self) -> Result<()> {
        self.segment.as_ref().map_or(Ok(()), Segment::verify)
    }

    /// The file that the index was opened from; [`guarded`](crate::segment::guarded) says how it is used.
    pub fn segment(&self) -> Option<&Segment> {
        self.segment.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::rows::{Existing, Keys, NewIds};
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
            let about = About { lenient, recipe: Some(b"{}".to_vec()) };
            index.save(&path, &about).unwrap();
            prop_assert!(is_index(&path).unwrap());
            let (read, same) = Index::open(&path).unwrap();
            read.verify().unwrap();
            prop_assert_eq!(about, same);
            prop_assert_eq!((index.len(), index.rows().total()), (read.len(), read.rows().total()));
            for row in 0..5 {
                prop_assert_eq!(index.get(row), read.get(row));
                prop_assert_eq!(index.rows().find_int(i64::from(row) + 3), read.rows().find_int(i64::from(row) + 3));
            }
            std::fs::remove_file(&path).unwrap();
        }

        #[test]
        fn any_changed_byte_is_noticed_or_means_nothing(at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let (index, path) = (sample(0), path("changed"));
            index.save(&path, &About { lenient: false, recipe: None }).unwrap();
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
