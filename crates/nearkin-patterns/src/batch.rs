//! Batches of scanned items: templates and values back to back, with their hashes.
//!
//! Scanning is most of the work. It depends on the items alone and runs on all threads. Adding the batches to a table
//! is short, follows the order of the items and cannot be cancelled, so a cancelled call does not change the table. A
//! scanner writes the literals and wildcards of an item into a [`Batch`] and then calls `close`, or `skip` to reject
//! the item.

use std::ops::Range;

use nearkin_core::parallel::prelude::*;

use crate::kinds::Kind;
use crate::templates::{self, ItemMetadata, NO_TIME, TemplateTable};
use crate::values;
use nearkin_core::cancel::CancelToken;
use nearkin_core::{Result, alloc, error};

/// Number of items that one task scans.
const CHUNK: usize = 1 << 10;

/// Byte strings back to back, in Arrow's layout.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    offsets: &'a [i64],
    data: &'a [u8],
}

impl<'a> Packed<'a> {
    /// Return the strings that `offsets` cut `data` into.
    ///
    /// # Errors
    /// The offsets do not ascend from 0 to the length of the data.
    pub fn new(offsets: &'a [i64], data: &'a [u8]) -> Result<Self> {
        error::check_offsets(offsets, data.len())?;
        Ok(Self { offsets, data })
    }

    /// Return the number of strings.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Return true if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return string `row`.
    #[inline]
    pub fn get(&self, row: usize) -> &'a [u8] {
        &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Templates and values of scanned items.
#[derive(Debug, Default)]
pub struct Batch {
    templates: Vec<u8>,
    values: Vec<u8>,
    /// Hash and end of each value.
    value_ends: Vec<(u64, usize)>,
    items: Vec<Item>,
    skipped: Vec<(usize, u8)>,
    /// True if values and items are not hashed because the batch will not be added to a table.
    plain: bool,
}

/// A scanned item.
#[derive(Debug)]
struct Item {
    row: usize,
    template_hash: u64,
    raw_hash: u64,
    template_end: usize,
    values_end: usize,
}

impl Batch {
    /// Return an empty batch whose values and items are not hashed, because it will not be added to a table.
    pub fn plain() -> Self {
        Self { plain: true, ..Self::default() }
    }

    /// Append literal bytes to the template of the item.
    #[inline]
    pub fn literal(&mut self, bytes: &[u8]) {
        templates::push_literal(&mut self.templates, bytes);
    }

    /// Append a wildcard with its value.
    #[inline]
    pub fn wildcard(&mut self, kind: Kind, value: &[u8]) {
        templates::push_wildcard(&mut self.templates, kind);
        self.values.extend_from_slice(value);
        let hash = if self.plain { 0 } else { values::hash(value) };
        self.value_ends.push((hash, self.values.len()));
    }

    /// Finish the item of row `row`.
    #[inline]
    pub fn close(&mut self, row: usize, item: &[u8]) {
        let start = self.items.last().map_or(0, |item| item.template_end);
        self.items.push(Item {
            row,
            template_hash: templates::hash(&self.templates[start..]),
            raw_hash: if self.plain { 0 } else { templates::item_hash(item) },
            template_end: self.templates.len(),
            values_end: self.value_ends.len(),
        });
    }

    /// Skip the item of row `row`, with the scanner's number of the reason.
    pub fn skip(&mut self, row: usize, reason: u8) {
        let (template_end, values_end) = self.items.last().map_or((0, 0), |item| (item.template_end, item.values_end));
        self.templates.truncate(template_end);
        self.value_ends.truncate(values_end);
        self.values.truncate(self.value_ends.last().map_or(0, |value| value.1));
        self.skipped.push((row, reason));
    }

    /// Return the skipped rows and the reasons.
    pub fn skipped(&self) -> &[(usize, u8)] {
        &self.skipped
    }

    /// Return the number of items, without the skipped ones.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Return true if there are no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Return for each item its row, the hash of its template, the template, and the range of its values.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64, &[u8], Range<usize>)> {
        let (mut template, mut value) = (0, 0);
        self.items.iter().map(move |item| {
            let text = &self.templates[std::mem::replace(&mut template, item.template_end)..item.template_end];
            (item.row, item.template_hash, text, std::mem::replace(&mut value, item.values_end)..item.values_end)
        })
    }

    /// Return the value at a position, with its hash.
    #[inline]
    pub fn value(&self, position: usize) -> (u64, &[u8]) {
        let start = position.checked_sub(1).map_or(0, |before| self.value_ends[before].1);
        (self.value_ends[position].0, &self.values[start..self.value_ends[position].1])
    }
}

/// Scan items on all threads; `scan` writes each item of its rows.
///
/// # Errors
/// The call is cancelled, or memory allocation fails.
pub fn scan(items: Packed<'_>, scan: impl Fn(&mut Batch, usize, &[u8]) + Sync) -> Result<Vec<Batch>> {
    scan_rows(items, 0..items.len(), false, scan)
}

/// Scan a range of rows; set `plain` for batches that are not added to a table.
///
/// # Errors
/// As for [`scan`].
pub fn scan_rows(
    items: Packed<'_>,
    rows: Range<usize>,
    plain: bool,
    scan: impl Fn(&mut Batch, usize, &[u8]) + Sync,
) -> Result<Vec<Batch>> {
    let cancel = &CancelToken::current();
    let batches = alloc::try_collect_parallel((0..rows.len().div_ceil(CHUNK)).into_par_iter().map(|chunk| {
        let mut batch = if plain { Batch::plain() } else { Batch::default() };
        let start = rows.start + chunk * CHUNK;
        for row in start..(start + CHUNK).min(rows.end) {
            if cancel.is_set() {
                break;
            }
            scan(&mut batch, row, items.get(row));
        }
        batch
    }))?;
    cancel.check()?;
    Ok(batches)
}

/// Times and sources of the items of a call, by row.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchMetadata<'a> {
    /// Times in microseconds, [`NO_TIME`] for none.
    pub times: Option<&'a [i64]>,
    /// Sources; an empty one means none.
    pub sources: Option<Packed<'a>>,
    /// True if the values of wildcards have profiles.
    pub profiled: bool,
}

impl<'a> BatchMetadata<'a> {
    /// Check that there is one time and one source for every item.
    ///
    /// # Errors
    /// The numbers differ.
    pub fn check(&self, items: usize) -> Result<()> {
        if let Some(times) = self.times {
            error::check_length("times", times.len(), items)?;
        }
        match self.sources {
            Some(sources) => error::check_length("sources", sources.len(), items),
            None => Ok(()),
        }
    }

    fn get(&self, row: usize) -> ItemMetadata<'a> {
        let source = self.sources.map(|sources| sources.get(row)).filter(|source| !source.is_empty());
        ItemMetadata {
            time: self.times.map_or(NO_TIME, |times| times[row]),
            source: source.map(|source| (templates::item_hash(source), source)),
            weight: 1,
            profiled: self.profiled,
        }
    }
}

/// Add scanned batches to a table.
///
/// # Errors
/// Memory allocation fails; some of the items are then in the table.
pub fn add(table: &mut TemplateTable, batches: &[Batch], items: Packed<'_>, metadata: BatchMetadata<'_>) -> Result<()> {
    metadata.check(items.len())?;
    for batch in batches {
        for ((row, hash, template, values), item) in batch.iter().zip(&batch.items) {
            let values = values.map(|position| batch.value(position));
            table.add((hash, template), (item.raw_hash, items.get(row)), values, metadata.get(row))?;
        }
    }
    Ok(())
}

/// Return the number of skipped items by reason.
pub fn skipped(batches: &[Batch]) -> [u64; 256] {
    let mut counts = [0; 256];
    for &(_, reason) in batches.iter().flat_map(Batch::skipped) {
        counts[usize::from(reason)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearkin_core::{Error, cancel};
    use proptest::prelude::*;

    /// Scan words as literals and numbers as wildcards; skip empty items.
    fn words(batch: &mut Batch, row: usize, item: &[u8]) {
        for word in item.split_inclusive(|&byte| byte == b' ') {
            if word[0].is_ascii_digit() { batch.wildcard(Kind::Int, word) } else { batch.literal(word) }
        }
        if item.len() % 7 == 3 { batch.skip(row, 1) } else { batch.close(row, item) }
    }

    fn packed(items: &[String]) -> (Vec<i64>, Vec<u8>) {
        let mut offsets = vec![0];
        for item in items {
            offsets.push(offsets[offsets.len() - 1] + item.len() as i64);
        }
        (offsets, items.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn a_scan_keeps_templates_and_values_apart(items in prop::collection::vec("([ab]{1,2} |[0-9]{1,3} ){0,4}", 0..40)) {
            let (offsets, data) = packed(&items);
            let all = Packed::new(&offsets, &data).expect("valid");
            let batches = scan(all, words).expect("not cancelled");
            let mut kept = 0;
            for batch in &batches {
                for (row, hash, template, values) in batch.iter() {
                    prop_assert_eq!(templates::hash(template), hash);
                    let result: Vec<u8> = values.clone().flat_map(|position| batch.value(position).1.to_vec()).collect();
                    let numbers: String =
                        items[row].split_inclusive(' ').filter(|word| word.as_bytes()[0].is_ascii_digit()).collect();
                    prop_assert_eq!(numbers.into_bytes(), result);
                    prop_assert_eq!(templates::wildcard_kinds(template).map(|wildcards| wildcards.len()), Some(values.len()));
                    kept += 1;
                }
            }
            prop_assert_eq!(items.len() as u64, kept + skipped(&batches)[1]);
            let mut table = TemplateTable::new(4, 100).expect("valid");
            add(&mut table, &batches, all, BatchMetadata::default()).expect("memory");
            prop_assert_eq!(kept, table.count());
        }
    }

    #[test]
    fn a_scan_ends_when_cancelled() {
        let items: Vec<String> = (0..9).map(|i| format!("a {i} ")).collect();
        let (offsets, data) = packed(&items);
        let all = Packed::new(&offsets, &data).expect("valid");
        let result = cancel::at_every_check(&mut (), |()| scan(all, words), |()| ());
        assert_eq!(9, result.iter().map(Batch::len).sum::<usize>());
    }

    #[test]
    fn times_and_sources_match_the_items() {
        let (offsets, data) = packed(&["a 1 ".to_owned(), "a 2 ".to_owned()]);
        let all = Packed::new(&offsets, &data).expect("valid");
        let batches = scan(all, words).expect("not cancelled");
        let mut table = TemplateTable::new(4, 100).expect("valid");
        let short = BatchMetadata { times: Some(&[5]), ..BatchMetadata::default() };
        assert!(matches!(add(&mut table, &batches, all, short), Err(Error::Parameter { .. })));
        assert!(table.is_empty());
        let sources = Packed::new(&[0, 1, 1], b"x").expect("valid");
        let both = BatchMetadata { times: Some(&[5, NO_TIME]), sources: Some(sources), profiled: false };
        add(&mut table, &batches, all, both).expect("memory");
        let template = &table.templates()[0];
        assert_eq!(
            (2, 5, 5, 1, 2),
            (template.count, template.first, template.last, template.sources.len(), template.wildcards[0].len())
        );
        assert!(Packed::new(&[0, 2], b"x").is_err());
        assert!(batches.iter().all(|batch| !batch.is_empty()));
    }
}
