//! Bucket tables: the rows of each key, as sorted arrays that a file can hold as they are.
//!
//! A *run* has the rows of some additions for all L tables. In table t, `keys` are the distinct mixed keys, ascending;
//! bucket i owns `rows[starts[i]..starts[i + 1]]`, ascending; `directory` stores the first key for each value of the
//! highest p bits, so that a look-up reads one directory entry, one or two keys, two starts, and the rows.
//!
//! **Memory** of n rows with `B_t` distinct keys in table t: 4 n L (rows) + 12 sum `B_t` (keys, starts) + 4 L (2^p + 2)
//! (directory, last starts), p = floor(log2 n) - 1 within 0 to 26: at most 18 bytes per row and table, 6 if buckets are
//! large.
//!
//! **Adding** builds a run of the new rows; a run at least half as long as the one before it is merged with it, so that
//! each row takes part in O(log n) merges and there are O(log n) runs. Removal does not change a run: callers skip dead
//! rows, and a merge drops them.

use crate::parallel::prelude::*;

use super::keys::{Hashes, TableLayout, mix};
use crate::Result;
use crate::alloc;
use crate::cancel::CancelToken;
use crate::cpu::prefetch::prefetch_at;
use crate::segment::Column;

/// Largest directory: 2^26 entries, 256 MiB.
const MAX_DIRECTORY: u32 = 26;
/// Rows whose keys are computed at a time while tables are built.
const BLOCK: usize = 1 << 14;
/// Buckets that are merged between two cancellation points.
const MERGED: usize = 1 << 12;

/// Tables over a range of rows.
#[derive(Debug, Default)]
pub(crate) struct BucketRun {
    /// Rows of each table.
    pub(crate) len: usize,
    /// Bits of a directory's index.
    pub(crate) width: u32,
    /// First bucket of each table in `keys`, and the end.
    pub(crate) bases: Vec<u64>,
    /// `2^width + 1` entries per table: first bucket with these highest bits, counted from the table's first.
    pub(crate) directory: Column<u32>,
    /// Mixed key of each bucket, all tables concatenated.
    pub(crate) keys: Column<u64>,
    /// Buckets + 1 values per table: first position of each bucket in the table's rows, and the end.
    pub(crate) starts: Column<u32>,
    /// `len` rows per table, by bucket.
    pub(crate) rows: Column<u32>,
}

/// One table while it is built.
#[derive(Default)]
struct NewTable {
    directory: Vec<u32>,
    keys: Vec<u64>,
    starts: Vec<u32>,
    rows: Vec<u32>,
}

/// Return the directory bits of a run.
fn width_of(len: usize) -> u32 {
    len.max(2).ilog2().saturating_sub(1).min(MAX_DIRECTORY)
}

#[inline]
fn directory_slot(key: u64, width: u32) -> usize {
    // A shift by 64 for no bits at all is out of range.
    (key >> 1 >> (63 - width)) as usize
}

impl NewTable {
    /// Build the directory over the keys.
    fn index(&mut self, width: u32) -> Result<()> {
        self.directory = alloc::try_zeroed((1 << width) + 1)?;
        for &key in &self.keys {
            self.directory[directory_slot(key, width) + 1] += 1;
        }
        alloc::prefix_sums(&mut self.directory);
        Ok(())
    }

    /// Reserve capacity for this many keys; for rows there is.
    fn make_room(&mut self, keys: usize) -> Result<()> {
        alloc::try_reserve(&mut self.keys, keys)?;
        alloc::try_reserve(&mut self.starts, keys + 1)
    }

    fn push(&mut self, key: u64, row: u32) {
        if self.keys.last() != Some(&key) {
            self.keys.push(key);
            self.starts.push(self.rows.len() as u32);
        }
        self.rows.push(row);
    }

    /// Build the table of `keys`, for rows from `first` on.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    fn build(keys: &[u64], first: u32, width: u32, cancel: &CancelToken) -> Result<Self> {
        // Counting by directory cell, then sorting the few entries of each.
        let mut positions = alloc::try_zeroed::<u32>((1 << width) + 1)?;
        for &key in cancel.blocks(keys).flatten() {
            positions[directory_slot(key, width) + 1] += 1;
        }
        cancel.check()?;
        alloc::prefix_sums(&mut positions);
        let ends = alloc::try_copy(&positions[1..])?;
        let mut entries = alloc::try_filled((0u64, 0u32), keys.len())?;
        for (row, &key) in cancel.blocks(keys).flatten().enumerate() {
            let position = &mut positions[directory_slot(key, width)];
            entries[*position as usize] = (key, first + row as u32);
            *position += 1;
        }
        let mut begin = 0;
        for &end in cancel.blocks(&ends).flatten() {
            entries[begin..end as usize].sort_unstable();
            begin = end as usize;
        }
        let mut built = Self { rows: alloc::try_with_capacity(keys.len())?, ..Self::default() };
        for entries in cancel.blocks(&entries) {
            built.make_room(entries.len())?;
            for &(key, row) in entries {
                built.push(key, row);
            }
        }
        cancel.check()?;
        built.make_room(0)?;
        built.starts.push(built.rows.len() as u32);
        built.index(width)?;
        Ok(built)
    }
}

impl BucketRun {
    fn of(built: Vec<NewTable>, len: usize, width: u32, cancel: &CancelToken) -> Result<Self> {
        cancel.check()?;
        let mut run = Self { len, width, bases: vec![0], ..Self::default() };
        let total = |size: fn(&NewTable) -> usize| built.iter().map(size).sum::<usize>();
        let mut directory = alloc::try_with_capacity(total(|table| table.directory.len()))?;
        let mut keys = alloc::try_with_capacity(total(|table| table.keys.len()))?;
        let mut starts = alloc::try_with_capacity(total(|table| table.starts.len()))?;
        let mut rows = alloc::try_with_capacity(total(|table| table.rows.len()))?;
        for table in built {
            cancel.check()?;
            directory.extend(table.directory);
            keys.extend(table.keys);
            starts.extend(table.starts);
            rows.extend(table.rows);
            run.bases.push(keys.len() as u64);
        }
        run.directory = directory.into();
        run.keys = keys.into();
        run.starts = starts.into();
        run.rows = rows.into();
        cancel.check()?;
        Ok(run)
    }

    /// Create a run without rows, in this many tables.
    pub(crate) fn empty(tables: usize) -> Self {
        Self {
            bases: vec![0; tables + 1],
            directory: vec![0; 2 * tables].into(),
            starts: vec![0; tables].into(),
            ..Self::default()
        }
    }

    /// Build tables of the rows from `first` on, with these hashes.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(crate) fn build(
        layout: &TableLayout,
        hashes: Hashes<'_>,
        count: usize,
        first: u32,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let width = width_of(count);
        let built = (0..layout.tables())
            .into_par_iter()
            .map(|table| {
                let mut keys = alloc::try_zeroed(count)?;
                keys.par_chunks_mut(BLOCK).enumerate().for_each(|(block, keys)| {
                    if cancel.is_set() {
                        return;
                    }
                    for (i, key) in keys.iter_mut().enumerate() {
                        *key = mix(layout.key(hashes, block * BLOCK + i, table));
                    }
                });
                NewTable::build(&keys, first, width, cancel)
            })
            .collect::<Result<Vec<NewTable>>>()?;
        Self::of(built, count, width, cancel)
    }

    /// Merge the live rows of two runs; those of `self` are lower.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(crate) fn merge(&self, other: &Self, alive: impl Fn(u32) -> bool + Sync, cancel: &CancelToken) -> Result<Self> {
        let tables = self.bases.len().max(other.bases.len()) - 1;
        let len = [self, other].iter().map(|run| run.table_rows(0).iter().filter(|&&row| alive(row)).count()).sum();
        let width = width_of(len);
        let built = (0..tables)
            .into_par_iter()
            .map(|table| {
                let mut built = NewTable { rows: alloc::try_with_capacity(len)?, ..NewTable::default() };
                let (mut left, mut right) = (self.buckets(table).peekable(), other.buckets(table).peekable());
                for num_merged in 0_usize.. {
                    if num_merged.is_multiple_of(MERGED) {
                        cancel.check()?;
                        built.make_room(MERGED)?;
                    }
                    let first = match (left.peek(), right.peek()) {
                        (None, None) => break,
                        (Some(_), None) => true,
                        (None, Some(_)) => false,
                        (Some((a, _)), Some((b, _))) => a <= b,
                    };
                    let next = if first { left.next() } else { right.next() };
                    if let Some((key, rows)) = next {
                        rows.iter().filter(|&&row| alive(row)).for_each(|&row| built.push(key, row));
                    }
                }
                built.make_room(0)?;
                built.starts.push(built.rows.len() as u32);
                built.index(width)?;
                Ok(built)
            })
            .collect::<Result<Vec<NewTable>>>()?;
        Self::of(built, len, width, cancel)
    }

    /// Number of tables.
    pub(crate) fn tables(&self) -> usize {
        self.bases.len().saturating_sub(1)
    }

    fn table_keys(&self, table: usize) -> &[u64] {
        &self.keys[self.bases[table] as usize..self.bases[table + 1] as usize]
    }

    fn table_starts(&self, table: usize) -> &[u32] {
        &self.starts[self.bases[table] as usize + table..=self.bases[table + 1] as usize + table]
    }

    /// Return the rows of a table, bucket by bucket.
    pub(crate) fn table_rows(&self, table: usize) -> &[u32] {
        if self.len == 0 { &[] } else { &self.rows[table * self.len..(table + 1) * self.len] }
    }

    fn table_directory(&self, table: usize) -> &[u32] {
        let size = (1 << self.width) + 1;
        &self.directory[table * size..(table + 1) * size]
    }

    /// Iterate over the keys and rows of the buckets of a table.
    fn buckets(&self, table: usize) -> impl Iterator<Item = (u64, &[u32])> {
        let (keys, starts, rows) = if table < self.tables() {
            (self.table_keys(table), self.table_starts(table), self.table_rows(table))
        } else {
            (&[][..], &[][..], &[][..])
        };
        keys.iter().zip(starts.windows(2)).map(|(&key, ends)| (key, &rows[ends[0] as usize..ends[1] as usize]))
    }

    /// Iterate over the sizes of all buckets of a table.
    pub(crate) fn sizes(&self, table: usize) -> impl Iterator<Item = u32> {
        let starts = if table < self.tables() { self.table_starts(table) } else { &[] };
        starts.windows(2).map(|ends| ends[1] - ends[0])
    }

    /// Call `each_bucket` with the rows under each key. `probes` are tables and mixed keys; `spans` is scratch.
    pub(crate) fn look_up(
        &self,
        probes: &[(u32, u64)],
        spans: &mut Vec<(u32, u32, u32)>,
        mut each_bucket: impl FnMut(&[u32]),
    ) {
        if self.len == 0 {
            return;
        }
        // Each step prefetches what the next one reads, for all probes, so that the waits overlap.
        let size = (1usize << self.width) + 1;
        for &(table, key) in probes {
            prefetch_at(&self.directory, table as usize * size + directory_slot(key, self.width));
        }
        spans.clear();
        for &(table, key) in probes {
            let directory = self.table_directory(table as usize);
            let at = directory_slot(key, self.width);
            let (begin, end) = (directory[at], directory[at + 1]);
            if begin < end {
                prefetch_at(&self.keys, self.bases[table as usize] as usize + begin as usize);
            }
            spans.push((table, begin, end));
        }
        let mut hits = 0;
        for i in 0..spans.len() {
            let (table, begin, end) = spans[i];
            let key = probes[i].1;
            let keys = &self.table_keys(table as usize)[begin as usize..end as usize];
            // A directory entry has at most four keys on average, but keys of few bits may crowd.
            let position = if keys.len() <= 16 {
                keys.iter().position(|&other| other == key)
            } else {
                keys.binary_search(&key).ok()
            };
            if let Some(position) = position {
                let starts = self.table_starts(table as usize);
                let bucket = begin as usize + position;
                spans[hits] = (table, starts[bucket], starts[bucket + 1]);
                prefetch_at(&self.rows, table as usize * self.len + starts[bucket] as usize);
                hits += 1;
            }
        }
        for &(table, begin, end) in &spans[..hits] {
            each_bucket(&self.table_rows(table as usize)[begin as usize..end as usize]);
        }
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.directory.bytes() + self.keys.bytes() + self.starts.bytes() + self.rows.bytes() + self.bases.len() * 8
    }

    /// Return true if the lengths of the arrays agree, so that `look_up` is in bounds.
    pub(crate) fn is_shaped(&self, tables: usize) -> bool {
        let buckets = self.bases.last().copied().unwrap_or(0) as usize;
        self.bases.len() == tables + 1
            && self.bases[0] == 0
            && self.bases.windows(2).all(|pair| pair[0] <= pair[1])
            && self.width <= MAX_DIRECTORY
            && self.keys.len() == buckets
            && self.starts.len() == buckets + tables
            && Some(self.rows.len()) == self.len.checked_mul(tables)
            && self.directory.len() == tables * ((1 << self.width) + 1)
    }

    /// Return true if every bucket has its position and ascending rows; reads everything.
    pub(crate) fn is_sound(&self) -> bool {
        (0..self.tables()).all(|table| {
            let (keys, starts) = (self.table_keys(table), self.table_starts(table));
            let (rows, directory) = (self.table_rows(table), self.table_directory(table));
            let mut at = 0;
            keys.windows(2).all(|pair| pair[0] < pair[1])
                && starts.first() == Some(&0)
                && starts.last() == Some(&(self.len as u32))
                && starts.windows(2).all(|ends| {
                    ends[0] < ends[1]
                        && ends[1] as usize <= rows.len()
                        && rows[ends[0] as usize..ends[1] as usize].windows(2).all(|pair| pair[0] < pair[1])
                })
                && (0..1usize << self.width).all(|position| {
                    let from = at;
                    while at < keys.len() && directory_slot(keys[at], self.width) == position {
                        at += 1;
                    }
                    directory[position] as usize == from && directory[position + 1] as usize == at
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::index::lsh::keys::HashKind;

    fn layout(k: usize, tables: usize) -> TableLayout {
        TableLayout::new(HashKind::Ints, k * tables, k, (0..(k * tables) as u32).collect()).expect("a layout")
    }

    /// Generate rows by table and integers.
    fn model(values: &[i64], k: usize, tables: usize, first: u32) -> BTreeMap<(usize, Vec<i64>), Vec<u32>> {
        let mut map: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for (row, values) in values.chunks_exact(k * tables).enumerate() {
            for table in 0..tables {
                map.entry((table, values[table * k..(table + 1) * k].to_vec())).or_default().push(first + row as u32);
            }
        }
        map
    }

    fn check(run: &BucketRun, layout: &TableLayout, expected: &BTreeMap<(usize, Vec<i64>), Vec<u32>>) {
        assert!(run.is_shaped(layout.tables()) && run.is_sound());
        let mut buckets = 0;
        for ((table, values), rows) in expected {
            let mut hashes = vec![0; layout.hashes()];
            hashes[table * layout.per_table()..(table + 1) * layout.per_table()].copy_from_slice(values);
            let key = mix(layout.key(Hashes::Ints(&hashes), 0, *table));
            let mut each_bucket: Vec<u32> = Vec::new();
            run.look_up(&[(*table as u32, key), (*table as u32, key ^ 1)], &mut Vec::new(), |rows| {
                each_bucket.extend(rows);
            });
            assert_eq!(rows, &each_bucket);
            buckets += 1;
        }
        assert_eq!(buckets, run.keys.len());
        assert_eq!(run.len * layout.tables(), (0..layout.tables()).flat_map(|t| run.sizes(t)).sum::<u32>() as usize);
    }

    proptest! {
        #[test]
        fn buckets_hold_the_rows_of_their_keys(
            k in 1usize..4, tables in 1usize..4, a in prop::collection::vec(-2i64..3, 0..300),
            b in prop::collection::vec(-2i64..3, 0..300), dead in prop::collection::vec(any::<bool>(), 300),
        ) {
            let layout = layout(k, tables);
            let width = k * tables;
            let (a, b) = (&a[..a.len() / width * width], &b[..b.len() / width * width]);
            let (rows_a, rows_b) = (a.len() / width, b.len() / width);
            let cancel = &CancelToken::default();
            let left = BucketRun::build(&layout, Hashes::Ints(a), rows_a, 0, cancel).expect("a run");
            check(&left, &layout, &model(a, k, tables, 0));
            let right = BucketRun::build(&layout, Hashes::Ints(b), rows_b, rows_a as u32, cancel).expect("a run");
            let merged = left.merge(&right, |row| !dead[row as usize % 300], cancel).expect("a run");
            let mut expected = model(&[a, b].concat(), k, tables, 0);
            for rows in expected.values_mut() {
                rows.retain(|&row| !dead[row as usize % 300]);
            }
            expected.retain(|_, rows| !rows.is_empty());
            check(&merged, &layout, &expected);
        }
    }

    #[test]
    fn an_empty_run_has_no_rows_and_is_sound() {
        let run = BucketRun::empty(3);
        assert!(run.is_shaped(3) && run.is_sound() && !run.is_shaped(2));
        assert_eq!(3, run.tables());
        run.look_up(&[(0, 5), (2, u64::MAX)], &mut Vec::new(), |_| panic!("rows of nothing"));
        assert_eq!(0, run.sizes(1).count());
    }

    #[test]
    fn a_directory_has_a_quarter_to_half_as_many_places_as_rows() {
        for (len, width) in [(0, 0), (1, 0), (3, 0), (4, 1), (7, 1), (8, 2), (1 << 20, 19), (usize::MAX, MAX_DIRECTORY)]
        {
            assert_eq!(width, width_of(len));
        }
        assert_eq!([0, 0, 1, 1], [0, u64::MAX >> 1, 1 << 63, u64::MAX].map(|key| directory_slot(key, 1)));
        assert_eq!([0, 0], [0, u64::MAX].map(|key| directory_slot(key, 0)));
    }

    #[test]
    fn many_keys_in_one_cell_are_found() {
        // Keys with one high half crowd in one directory entry, which is searched by halves.
        let keys: Vec<u64> = (0..100).map(|i| (7 << 40) | (i % 40)).collect();
        let built = NewTable::build(&keys, 5, 3, &CancelToken::default()).expect("a table");
        let run = BucketRun::of(vec![built], 100, 3, &CancelToken::default()).expect("a run");
        assert!(run.is_shaped(1) && run.is_sound());
        for expected_rows in 0..45 {
            let mut each_bucket: Vec<u32> = Vec::new();
            run.look_up(&[(0, (7 << 40) | expected_rows)], &mut Vec::new(), |rows| each_bucket.extend(rows));
            let expected: Vec<u32> = (0..100).filter(|i| i % 40 == expected_rows).map(|i| i as u32 + 5).collect();
            assert_eq!(expected, each_bucket);
        }
    }

    #[test]
    fn whatever_number_but_a_row_is_changed_the_run_is_no_longer_sound() {
        let layout = layout(2, 2);
        let values: Vec<i64> = (0..120).map(|i| i % 5).collect();
        let cancel = &CancelToken::default();
        let fresh = || BucketRun::build(&layout, Hashes::Ints(&values), 30, 0, cancel).expect("a run");
        let sizes = [fresh().directory.len(), fresh().starts.len(), fresh().keys.len()];
        for (array, &size) in sizes.iter().enumerate() {
            for position in 0..size {
                let mut run = fresh();
                match array {
                    0 => run.directory.to_mut()[position] ^= 1,
                    1 => run.starts.to_mut()[position] ^= 1,
                    _ => run.keys.to_mut()[position] ^= 1 << 63,
                }
                assert!(run.is_shaped(2));
                assert!(!run.is_sound(), "array {array}, place {position}");
            }
        }
    }

    #[test]
    fn arrays_of_other_lengths_are_not_shaped() {
        let layout = layout(1, 2);
        let cancel = &CancelToken::default();
        let fresh = || BucketRun::build(&layout, Hashes::Ints(&[1, 2, 3, 4]), 2, 0, cancel).expect("a run");
        let changes: [fn(&mut BucketRun); 7] = [
            |run| run.len = 3,
            |run| run.len = usize::MAX,
            |run| run.width = MAX_DIRECTORY + 1,
            |run| run.bases[0] = 1,
            |run| run.bases.truncate(2),
            |run| run.keys.to_mut().truncate(1),
            |run| run.starts.to_mut().push(0),
        ];
        assert!(fresh().is_shaped(2));
        for change in changes {
            let mut run = fresh();
            change(&mut run);
            assert!(!run.is_shaped(2));
        }
    }
}
