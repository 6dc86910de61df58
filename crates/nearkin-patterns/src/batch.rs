//! What a scan leaves of many items: forms and values back to back, hashed, to be added to a table in one go.
//!
//! Scanning is most of the work, looks at the items alone, and runs on all threads; adding is short, in order of the items, and
//! not interrupted: a call that is stopped leaves the table as it was. A scanner writes into a [`Batch`]: literal bytes and
//! holes of one item, then `close`; or `skip`, for what it does not take.

use std::ops::Range;

use rayon::prelude::*;

use crate::forms::{self, FormTable, NO_TIME, Seen};
use crate::kinds::Kind;
use crate::values;
use nearkin_core::cancel::CancelToken;
use nearkin_core::{Result, alloc, error};

/// Items that one task scans.
const CHUNK: usize = 1 << 10;

/// Byte strings back to back, as Arrow lays them out.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    offsets: &'a [i64],
    data: &'a [u8],
}

impl<'a> Packed<'a> {
    /// The strings that `offsets` cut `data` into.
    ///
    /// # Errors
    /// The offsets do not ascend from 0 to the end of the data.
    pub fn new(offsets: &'a [i64], data: &'a [u8]) -> Result<Self> {
        error::check_offsets(offsets, data.len())?;
        Ok(Self { offsets, data })
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// String `row`.
    #[inline]
    pub fn get(&self, row: usize) -> &'a [u8] {
        &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Forms and values of scanned items.
#[derive(Debug, Default)]
pub struct Batch {
    forms: Vec<u8>,
    values: Vec<u8>,
    /// Hash and end of each value.
    found: Vec<(u64, usize)>,
    items: Vec<Item>,
    skipped: Vec<(usize, u8)>,
    /// Whether values and items stay without hashes: nobody will add them to a table.
    plain: bool,
}

/// One item that was scanned.
#[derive(Debug)]
struct Item {
    row: usize,
    form_hash: u64,
    raw_hash: u64,
    form_end: usize,
    values_end: usize,
}

impl Batch {
    /// Appends literal bytes to the form of the item.
    #[inline]
    pub fn literal(&mut self, bytes: &[u8]) {
        forms::push_literal(&mut self.forms, bytes);
    }

    /// Appends a hole with its value.
    #[inline]
    pub fn hole(&mut self, kind: Kind, value: &[u8]) {
        forms::push_hole(&mut self.forms, kind);
        self.values.extend_from_slice(value);
        let hash = if self.plain { 0 } else { values::hash(value) };
        self.found.push((hash, self.values.len()));
    }

    /// Bytes of the form that is being written, for scanners that change their mind.
    pub fn form_so_far(&self) -> &[u8] {
        &self.forms[self.items.last().map_or(0, |item| item.form_end)..]
    }

    /// Ends the item of row `row`.
    #[inline]
    pub fn close(&mut self, row: usize, item: &[u8]) {
        let start = self.items.last().map_or(0, |item| item.form_end);
        self.items.push(Item {
            row,
            form_hash: forms::hash(&self.forms[start..]),
            raw_hash: if self.plain { 0 } else { forms::item_hash(item) },
            form_end: self.forms.len(),
            values_end: self.found.len(),
        });
    }

    /// Leaves the item of row `row` out, for a reason that the scanner numbers.
    pub fn skip(&mut self, row: usize, reason: u8) {
        let (forms, found) = self.items.last().map_or((0, 0), |item| (item.form_end, item.values_end));
        self.forms.truncate(forms);
        self.found.truncate(found);
        self.values.truncate(self.found.last().map_or(0, |value| value.1));
        self.skipped.push((row, reason));
    }

    /// Rows that were left out, and why.
    pub fn skipped(&self) -> &[(usize, u8)] {
        &self.skipped
    }

    /// Items that were not.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// For each item its row, the form's hash, the form, and the places of its values.
    pub fn iter(&self) -> impl Iterator<Item = (usize, u64, &[u8], Range<usize>)> {
        let (mut form, mut value) = (0, 0);
        self.items.iter().map(move |item| {
            let text = &self.forms[std::mem::replace(&mut form, item.form_end)..item.form_end];
            (item.row, item.form_hash, text, std::mem::replace(&mut value, item.values_end)..item.values_end)
        })
    }

    /// The value at a place, with its hash.
    #[inline]
    pub fn value(&self, place: usize) -> (u64, &[u8]) {
        let start = place.checked_sub(1).map_or(0, |before| self.found[before].1);
        (self.found[place].0, &self.values[start..self.found[place].1])
    }
}

/// Scans items on all threads: `scan` writes item after item of its rows.
///
/// # Errors
/// The call is stopped; there is no memory.
pub fn scan(items: Packed<'_>, scan: impl Fn(&mut Batch, usize, &[u8]) + Sync) -> Result<Vec<Batch>> {
    scan_rows(items, 0..items.len(), false, scan)
}

/// Scans some rows; `plain` for batches that are not added to a table.
///
/// # Errors
/// As for [`scan`].
pub fn scan_rows(
    items: Packed<'_>,
    rows: Range<usize>,
    plain: bool,
    scan: impl Fn(&mut Batch, usize, &[u8]) + Sync,
) -> Result<Vec<Batch>> {
    let stop = &CancelToken::current();
    let batches = alloc::try_collect_parallel((0..rows.len().div_ceil(CHUNK)).into_par_iter().map(|chunk| {
        let mut batch = Batch { plain, ..Batch::default() };
        let start = rows.start + chunk * CHUNK;
        for row in start..(start + CHUNK).min(rows.end) {
            if stop.is_set() {
                break;
            }
            scan(&mut batch, row, items.get(row));
        }
        batch
    }))?;
    stop.check()?;
    Ok(batches)
}

/// What is known of the items of a call beside themselves, by row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Times in microseconds, [`NO_TIME`] for none.
    pub times: Option<&'a [i64]>,
    /// Sources, the empty one for none.
    pub sources: Option<Packed<'a>>,
}

impl<'a> Beside<'a> {
    /// Checks that there is one of each for every item.
    ///
    /// # Errors
    /// There are more or fewer.
    pub fn check(&self, items: usize) -> Result<()> {
        if let Some(times) = self.times {
            error::check_length("times", times.len(), items)?;
        }
        match self.sources {
            Some(sources) => error::check_length("sources", sources.len(), items),
            None => Ok(()),
        }
    }

    fn of(&self, row: usize) -> Seen<'a> {
        let source = self.sources.map(|sources| sources.get(row)).filter(|source| !source.is_empty());
        Seen {
            time: self.times.map_or(NO_TIME, |times| times[row]),
            source: source.map(|source| (forms::item_hash(source), source)),
            weight: 1,
        }
    }
}

/// Adds what a scan has left to a table.
///
/// # Errors
/// There is no memory for all of it: some of the items are in the table then.
pub fn add(table: &mut FormTable, batches: &[Batch], items: Packed<'_>, beside: Beside<'_>) -> Result<()> {
    beside.check(items.len())?;
    for batch in batches {
        for ((row, hash, form, values), item) in batch.iter().zip(&batch.items) {
            let values = values.map(|place| batch.value(place));
            table.add((hash, form), (item.raw_hash, items.get(row)), values, beside.of(row))?;
        }
    }
    Ok(())
}

/// How many items were left out, by reason.
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

    /// Words are literal, numbers are holes, an empty item is left out.
    fn words(batch: &mut Batch, row: usize, item: &[u8]) {
        for word in item.split_inclusive(|&byte| byte == b' ') {
            if word[0].is_ascii_digit() { batch.hole(Kind::Int, word) } else { batch.literal(word) }
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
        fn a_scan_keeps_forms_and_values_apart(items in prop::collection::vec("([ab]{1,2} |[0-9]{1,3} ){0,4}", 0..40)) {
            let (offsets, data) = packed(&items);
            let all = Packed::new(&offsets, &data).expect("valid");
            let batches = scan(all, words).expect("nothing stops it");
            let mut kept = 0;
            for batch in &batches {
                for (row, hash, form, values) in batch.iter() {
                    prop_assert_eq!(forms::hash(form), hash);
                    let found: Vec<u8> = values.clone().flat_map(|place| batch.value(place).1.to_vec()).collect();
                    let numbers: String =
                        items[row].split_inclusive(' ').filter(|word| word.as_bytes()[0].is_ascii_digit()).collect();
                    prop_assert_eq!(numbers.into_bytes(), found);
                    prop_assert_eq!(forms::holes_of(form).map(|holes| holes.len()), Some(values.len()));
                    kept += 1;
                }
            }
            prop_assert_eq!(items.len() as u64, kept + skipped(&batches)[1]);
            let mut table = FormTable::new(4, 100).expect("valid");
            add(&mut table, &batches, all, Beside::default()).expect("room");
            prop_assert_eq!(kept, table.count());
        }
    }

    #[test]
    fn a_scan_ends_when_it_is_stopped() {
        let items: Vec<String> = (0..9).map(|i| format!("a {i} ")).collect();
        let (offsets, data) = packed(&items);
        let all = Packed::new(&offsets, &data).expect("valid");
        let found = cancel::at_every_check(&mut (), |()| scan(all, words), |()| ());
        assert_eq!(9, found.iter().map(Batch::len).sum::<usize>());
    }

    #[test]
    fn what_is_said_of_items_is_one_thing_for_each() {
        let (offsets, data) = packed(&["a 1 ".to_owned(), "a 2 ".to_owned()]);
        let all = Packed::new(&offsets, &data).expect("valid");
        let batches = scan(all, words).expect("nothing stops it");
        let mut table = FormTable::new(4, 100).expect("valid");
        let short = Beside { times: Some(&[5]), sources: None };
        assert!(matches!(add(&mut table, &batches, all, short), Err(Error::Parameter { .. })));
        assert!(table.is_empty());
        let sources = Packed::new(&[0, 1, 1], b"x").expect("valid");
        let both = Beside { times: Some(&[5, NO_TIME]), sources: Some(sources) };
        add(&mut table, &batches, all, both).expect("room");
        let form = &table.forms()[0];
        assert_eq!((2, 5, 5, 1, 2), (form.count, form.first, form.last, form.sources.len(), form.holes[0].len()));
        assert!(Packed::new(&[0, 2], b"x").is_err());
        assert!(batches.iter().all(|batch| batch.form_so_far().is_empty() && !batch.is_empty()));
    }
}
