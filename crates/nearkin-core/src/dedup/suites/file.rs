//! An index of suites as a segment file. `docs/format-suites.md` is the document.
//!
//! Sections (tag): 1 shape, 2 description of the caller, 3 suites, 4 texts, 5 their ends, 10 starts of contents, 11
//! directory, 12 words, 13 and 14 weights, 15 owners, 16 their starts, 17 contents of items, 20 filter, 21 slots, 22
//! lists, 23 filter of short items.

use std::path::Path;

use super::table::{Filter, GramTable};
use super::{DIRECTORY, SuiteIndex, build};
use crate::segment::{Segment, Writer};
use crate::{Error, Result};

/// The kind of a segment that holds an index of suites.
const KIND: u32 = 13;
const SHAPE: u32 = 1;
const ABOUT: u32 = 2;
const SUITES: u32 = 3;
const TEXTS: u32 = 4;
const TEXT_ENDS: u32 = 5;
const STARTS: u32 = 10;
const DIRECTORY_TAG: u32 = 11;
const WORDS: u32 = 12;
const FIRST: u32 = 13;
const NEXT: u32 = 14;
const OWNERS: u32 = 15;
const OWNER_STARTS: u32 = 16;
const CONTENTS: u32 = 17;
const FILTER: u32 = 20;
const SLOTS: u32 = 21;
const LISTS: u32 = 22;
const SHORT_FILTER: u32 = 23;

impl SuiteIndex {
    /// Save the index; the old file is replaced when the new one is complete.
    ///
    /// # Errors
    /// The file cannot be written, or the call is cancelled.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut writer = Writer::create(path, KIND, 17)?;
        let shape = [self.n as u64, self.window as u64, 1];
        writer.section(SHAPE, 0, if self.code { &shape } else { &shape[..2] })?;
        writer.section(ABOUT, 0, &self.about)?;
        writer.section(SUITES, 0, &self.suites)?;
        writer.section(TEXTS, 0, &self.texts)?;
        writer.section(TEXT_ENDS, 0, &self.text_ends)?;
        writer.section(STARTS, 0, &self.starts)?;
        writer.section(DIRECTORY_TAG, 0, &self.directory)?;
        writer.section(WORDS, 0, &self.words)?;
        writer.section(FIRST, 0, &self.first)?;
        writer.section(NEXT, 0, &self.next)?;
        writer.section(OWNERS, 0, &self.owners)?;
        writer.section(OWNER_STARTS, 0, &self.owner_starts)?;
        writer.section(CONTENTS, 0, &self.contents)?;
        writer.section(FILTER, 0, &self.table.filter.0)?;
        writer.section(SHORT_FILTER, 0, &self.table.short.0)?;
        writer.section(SLOTS, 0, &self.table.slots)?;
        writer.section(LISTS, 0, &self.table.lists)?;
        writer.finish()
    }

    /// Open a saved index; its arrays are read on demand and verified at first use.
    ///
    /// # Errors
    /// The file cannot be read, has a newer version, or is not a complete index of suites.
    pub fn open(path: &Path) -> Result<Self> {
        let segment = Segment::open_kind(path, KIND, " and no index of suites")?;
        segment.verify_one(SHAPE, 0)?;
        segment.verify_one(ABOUT, 0)?;
        let shape = segment.column::<u64>(SHAPE, 0)?;
        let (&[n, window] | &[n, window, 1]) = &*shape else {
            return Err(segment.corrupt("its shape does not have 2 numbers, or a third that is 1"));
        };
        let (n, window, code) = (n as usize, window as usize, shape.len() == 3);
        build::check_shape(n, window).map_err(|error: Error| segment.corrupt(error.to_string()))?;
        let index = Self {
            n,
            window,
            code,
            about: segment.column(ABOUT, 0)?,
            suites: segment.column(SUITES, 0)?,
            texts: segment.column(TEXTS, 0)?,
            text_ends: segment.column(TEXT_ENDS, 0)?,
            starts: segment.column(STARTS, 0)?,
            directory: segment.column(DIRECTORY_TAG, 0)?,
            words: segment.column(WORDS, 0)?,
            first: segment.column(FIRST, 0)?,
            next: segment.column(NEXT, 0)?,
            owners: segment.column(OWNERS, 0)?,
            owner_starts: segment.column(OWNER_STARTS, 0)?,
            contents: segment.column(CONTENTS, 0)?,
            table: GramTable {
                filter: Filter(segment.column(FILTER, 0)?),
                short: Filter(segment.column(SHORT_FILTER, 0)?),
                slots: segment.column(SLOTS, 0)?,
                lists: segment.column(LISTS, 0)?,
            },
            segment: Some(segment.clone()),
        };
        let (words, items) = (index.words.len(), index.contents.len());
        let fits = index.first.len() == words
            && index.next.len() == words
            && index.directory.len() == words.div_ceil(DIRECTORY)
            && index.owners.len() == items
            && index.text_ends.len() == items + 1
            && index.starts.len() == index.owner_starts.len()
            && !index.starts.is_empty()
            && !index.table.slots.is_empty();
        if fits { Ok(index) } else { Err(segment.corrupt("its arrays do not have the same items and words")) }
    }

    /// Verify the checksums of the file that the index was opened from.
    ///
    /// # Errors
    /// The first inconsistency. An index that was not opened from a file is valid.
    pub fn verify(&self) -> Result<()> {
        self.segment.as_ref().map_or(Ok(()), Segment::verify)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::suites::Limits;
    use crate::segment::with_verified;

    #[test]
    fn a_saved_index_finds_the_same_and_damage_is_an_error() {
        let path = std::env::temp_dir().join(format!("nearkin-suites-{}", std::process::id()));
        let items = ["one two three four five six seven eight", "nine ten eleven twelve thirteen", ""];
        let index = SuiteIndex::build(&items.as_slice(), &[0, 1, 3], (4, 2, false), b"{}").expect("valid");
        let find = |index: &SuiteIndex| {
            let limits = Limits { threshold: 0.5, max_chance: 1.0 };
            let text = "zero one two three four five six seven eight nine";
            with_verified(index.segment(), || index.scan(&[text].as_slice(), limits)).map(|columns| columns.items)
        };
        index.save(&path).expect("writable");
        let opened = SuiteIndex::open(&path).expect("whole");
        assert_eq!((vec![0], &b"{}"[..], 3), (find(&opened).expect("whole"), opened.about(), opened.len()));
        assert_eq!((items[1].as_bytes(), (4, 2)), (opened.text(1), opened.shape()));
        opened.verify().expect("whole");
        drop(opened);
        let bytes = std::fs::read(&path).expect("there");
        for at in (0..bytes.len()).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).expect("writable");
            // Padding between sections is zero and never read: only it may change undetected.
            if let Ok(result) = SuiteIndex::open(&path).and_then(|index| find(&index)) {
                assert_eq!((vec![0], 0), (result, bytes[at]));
            }
        }
        std::fs::remove_file(&path).expect("there");
    }
}
