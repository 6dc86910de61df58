//! An index of TLSH digests as a file: `docs/format-digests.md`.
//!
//! Sections (tag): 1 description, 2 to 5 rows (`index::rows`), 6 recipe, 10 the bytes of each digest. Runs are not
//! stored: they follow from the digests, and rebuilding them takes less than a microsecond per digest. So opening reads
//! the whole file and compares every checksum.

use std::path::Path;

use super::Index;
use crate::alloc;
use crate::cancel::CancelToken;
use crate::digests::tlsh::Form;
use crate::error::Result;
use crate::index::rows::Rows;
use crate::segment::{self, Segment, Writer};

/// The kind of a segment that holds an index of TLSH digests.
const KIND: u32 = 14;
const ABOUT: u32 = 1;
const RECIPE: u32 = 6;
const DIGESTS: u32 = 10;

/// Return true if a file starts like an index of TLSH digests.
///
/// # Errors
/// The file cannot be read.
pub fn is_index(path: &Path) -> Result<bool> {
    Ok(segment::kind_of(&crate::index::digests::file::read_head(path, segment::HEADER as u64)?) == Some(KIND))
}

impl Index {
    /// Save the index with the recipe of its digests; the old file is replaced when the new one is complete.
    ///
    /// # Errors
    /// The file cannot be written, or the call is cancelled.
    pub fn save(&self, path: &Path, recipe: &[u8]) -> Result<()> {
        let [total, kind, growing] = self.rows.about();
        let mut digests = alloc::try_copy(&self.digests)?;
        let cancel = CancelToken::current();
        // A removed row is zeros.
        for (row, digest) in cancel.often(digests.chunks_exact_mut(self.form.bytes()).enumerate()) {
            if !self.rows.is_alive(row as u32) {
                digest.fill(0);
            }
        }
        cancel.check()?;
        let form = [self.form.buckets() as u64, self.form.checksum() as u64];
        let mut writer = Writer::create(path, KIND, 8)?;
        writer.section(ABOUT, 0, &[total, kind, growing, form[0], form[1]])?;
        self.rows.save_dead(&mut writer)?;
        self.rows.save_ids(&mut writer)?;
        writer.section(RECIPE, 0, recipe)?;
        writer.section(DIGESTS, 0, &digests)?;
        writer.finish()
    }

    /// Open a saved index; also return the recipe.
    ///
    /// # Errors
    /// The file cannot be read, has a newer version, or is not a complete index.
    pub fn open(path: &Path) -> Result<(Self, Vec<u8>)> {
        let segment = Segment::open_kind(path, KIND, " and no index of TLSH digests")?;
        segment.verify()?;
        let about = segment.column::<u64>(ABOUT, 0)?;
        let &[total, kind, growing, buckets, checksum] = &about[..] else {
            return Err(segment.corrupt("its description does not have 5 numbers"));
        };
        let form = Form::new(buckets.min(1024) as usize, checksum.min(1024) as usize)
            .map_err(|error| segment.corrupt(format!("its form is unknown ({error})")))?;
        let rows = Rows::open(&segment, [total, kind, growing])?;
        let recipe = alloc::try_copy(&segment.column::<u8>(RECIPE, 0)?)?;
        let digests = alloc::try_copy(&segment.column::<u8>(DIGESTS, 0)?)?;
        if rows.total().checked_mul(form.bytes()) != Some(digests.len()) {
            return Err(segment.corrupt("its digests are not as many as its rows"));
        }
        let mut index = Self::from_rows(form, rows, digests)?;
        index.segment = Some(segment);
        Ok((index, recipe))
    }

    /// Verify the checksums and the ids of the file that the index was opened from; any bytes are a digest.
    ///
    /// # Errors
    /// The first inconsistency. An index that was not opened from a file is valid.
    pub fn verify(&self) -> Result<()> {
        self.rows.verify_digests(self.segment.as_ref())
    }

    /// Return the file that the index was opened from; see [`with_verified`](crate::segment::with_verified).
    pub fn segment(&self) -> Option<&Segment> {
        self.segment.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::digests;
    use super::*;
    use crate::index::rows::{Existing, Keys, NewIds};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn a_saved_index_is_read_back_and_a_changed_one_is_refused(
            form in 0..4_usize,
            at in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            let form = Form::ALL[form];
            let path = std::env::temp_dir().join(format!("nearkin-{}-tlsh", std::process::id()));
            let mut index = Index::new(form);
            index.add(NewIds::Ints(&[5, 3, 9]), &digests(form, 3, 3), Existing::Error).unwrap();
            index.remove(Keys::Ints(&[3]), false).unwrap();
            index.save(&path, b"{}").unwrap();
            prop_assert!(is_index(&path).unwrap());
            let (read, recipe) = Index::open(&path).unwrap();
            read.verify().unwrap();
            prop_assert_eq!((&b"{}"[..], form, 2), (&recipe[..], read.form(), read.rows().len()));
            let query = [index.get(0).unwrap()];
            prop_assert_eq!(index.search_many(&query, 4000).unwrap(), read.search_many(&query, 4000).unwrap());
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            std::fs::write(&path, &bytes).unwrap();
            // Bytes between sections are zero and never read: only they may change without a word.
            if let Ok((read, _)) = Index::open(&path) {
                prop_assert_eq!(index.get(0), read.get(0));
            }
            std::fs::write(&path, &bytes[..at]).unwrap();
            prop_assert!(Index::open(&path).is_err());
            std::fs::remove_file(&path).unwrap();
        }
    }
}
