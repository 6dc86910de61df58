//! Validated string columns in Arrow's layouts: no buffer is trusted.
//!
//! | layout | function | checked |
//! |---|---|---|
//! | concatenated values with offsets (`utf8`, `large_utf8`) | [`packed`] | offsets are not negative, never descend and end in the data; each value is UTF-8 |
//! | string view | [`views`] | lengths, buffer numbers and positions are within the buffers; each value is UTF-8 |
//! | dictionary | [`dictionary_values`] | keys are within the dictionary; each value that a key references is UTF-8 |
//!
//! UTF-8 is validated for a piece of rows at a time: if the piece is UTF-8, a value is valid if it begins and ends at a
//! character boundary. Otherwise each value is validated. Cost: one pass over offsets and bytes at the speed of memory,
//! in parallel. The bytes of a null are ignored.
//!
//! The caller vouches for the lengths of the buffers by passing slices. Source: Apache Arrow, "Columnar Format",
//! version 1.5. Tests: each layout against a plain definition, over hostile numbers and bytes.

use std::ops::Range;

use crate::parallel::prelude::*;

use crate::Error;

/// Number of rows that one task checks.
const PIECE: usize = 1 << 10;

/// Maximum length of a value that is stored in its view.
const INLINE: usize = 12;

/// A string of a column; None for a null.
pub type Item<'a> = Option<&'a str>;

/// Items, and the rows that are not UTF-8 (None in the items), ascending.
pub type Checked<'a> = (Vec<Item<'a>>, Vec<InvalidUtf8>);

/// The contents of a column, or its fault.
pub type Read<T> = Result<T, Fault>;

/// A value of a string view, in the machine's byte order: its length (`i32`); then its bytes, at most 12, or its first
/// four, a buffer number and an offset in that buffer (both `i32`).
pub type View = [u8; 16];

/// A value whose bytes are not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidUtf8 {
    /// Its row.
    pub row: usize,
    /// The first invalid byte.
    pub byte: u8,
    /// The offset of that byte in the value.
    pub at: usize,
}

impl InvalidUtf8 {
    /// Convert to the error of an array that follows `first` rows.
    pub fn error(self, first: usize) -> Error {
        let reason = format!(
            "is not UTF-8: byte 0x{:02x} at byte {} of the value; decode the column's bytes with errors='replace', or drop the row",
            self.byte,
            self.at + 1
        );
        Error::input(format!("text {}", first + self.row), reason)
    }
}

/// A fault of an array or of one of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The row; None for the array.
    pub row: Option<usize>,
    /// The fault and the allowed range.
    pub reason: String,
}

impl Fault {
    /// Create a fault of the array.
    pub fn array(reason: impl Into<String>) -> Self {
        Self { row: None, reason: reason.into() }
    }

    /// Create a fault of a row.
    pub fn row(row: usize, reason: impl Into<String>) -> Self {
        Self { row: Some(row), reason: reason.into() }
    }

    /// Convert to the error of an array that follows `first` rows.
    pub fn error(self, first: usize) -> Error {
        match self.row {
            None => Error::input("Arrow data", self.reason),
            Some(row) => Error::input(format!("text {}", first + row), self.reason),
        }
    }
}

/// The null rows of a column.
#[derive(Clone, Copy, Debug)]
pub struct Nulls<'a> {
    /// A validity bit per value; empty if there are no nulls.
    bits: &'a [u8],
    /// The bit of row 0.
    first: usize,
}

impl<'a> Nulls<'a> {
    /// No nulls.
    pub const NONE: Nulls<'static> = Nulls { bits: &[], first: 0 };

    /// Row i is null if bit `rows.start + i` is not set.
    ///
    /// # Errors
    /// Fewer bits than the rows need.
    pub fn new(bits: &'a [u8], rows: &Range<usize>) -> Read<Self> {
        if bits.len() < rows.end.div_ceil(8) {
            let reason = format!("{} bytes say which of the rows to {} are null", bits.len(), rows.end);
            return Err(Fault::array(reason));
        }
        Ok(Self { bits, first: rows.start })
    }

    fn is_null(self, row: usize) -> bool {
        let at = self.first + row;
        !self.bits.is_empty() && self.bits[at / 8] >> (at % 8) & 1 == 0
    }
}

/// An integer type of offsets or keys.
pub trait Integer: Copy + Sync + TryInto<usize> + std::fmt::Display {}
impl<T: Copy + Sync + TryInto<usize> + std::fmt::Display> Integer for T {}

/// Call `piece` for ranges of consecutive rows, in parallel, and join the results in order.
fn in_pieces<'a>(rows: usize, piece: impl Fn(Range<usize>) -> Read<Checked<'a>> + Sync) -> Read<Checked<'a>> {
    if rows <= PIECE {
        return piece(0..rows);
    }
    let pieces: Vec<Read<Checked<'a>>> =
        (0..rows.div_ceil(PIECE)).into_par_iter().map(|i| piece(i * PIECE..rows.min((i + 1) * PIECE))).collect();
    let (mut items, mut bad) = (Vec::new(), Vec::new());
    items
        .try_reserve_exact(rows)
        .map_err(|_| Fault::array(format!("it has {rows} rows, for which there is no memory")))?;
    for piece in pieces {
        let (mut piece_items, mut piece_bad) = piece?;
        items.append(&mut piece_items);
        bad.append(&mut piece_bad);
    }
    Ok((items, bad))
}

/// Return the value's string, or its first invalid byte.
fn checked(value: &[u8], row: usize) -> Result<&str, InvalidUtf8> {
    match simdutf8::basic::from_utf8(value) {
        Ok(text) => Ok(text),
        // The slower check locates the fault.
        Err(_) => std::str::from_utf8(value).map_err(|error| {
            let at = error.valid_up_to();
            InvalidUtf8 { row, byte: value[at], at }
        }),
    }
}

/// Return the strings of `data` from `offsets[i]` to `offsets[i + 1]`.
///
/// # Errors
/// An offset that is negative, less than the previous one or beyond the data.
pub fn packed<'a, O: Integer>(offsets: &[O], data: &'a [u8], nulls: Nulls<'_>) -> Read<Checked<'a>> {
    packed_from(0, offsets, data, nulls)
}

/// As [`packed`], where the first byte of `data` has the offset `base`: a slice of a column needs no earlier bytes.
///
/// # Errors
/// An offset that is less than `base` or the previous one, or beyond the data.
pub fn packed_from<'a, O: Integer>(base: usize, offsets: &[O], data: &'a [u8], nulls: Nulls<'_>) -> Read<Checked<'a>> {
    let span = |row: usize| -> Read<Range<usize>> {
        let (from, to) = (offsets[row], offsets[row + 1]);
        match (from.try_into(), to.try_into()) {
            (Ok(start), Ok(stop)) if base <= start && start <= stop && stop - base <= data.len() => {
                Ok(start - base..stop - base)
            }
            _ => {
                let reason = format!("lies from {from} to {to}; offsets ascend from {base} to {}", base + data.len());
                Err(Fault::row(row, reason))
            }
        }
    };
    in_pieces(offsets.len().saturating_sub(1), |piece| {
        let (mut items, mut bad) = (Vec::with_capacity(piece.len()), Vec::new());
        if piece.is_empty() {
            return Ok((items, bad));
        }
        let begin = span(piece.start)?.start;
        let stop = span(piece.end - 1).map_or(begin, |last| last.end);
        let whole = data.get(begin..stop).and_then(|bytes| simdutf8::basic::from_utf8(bytes).ok());
        for row in piece {
            let place = span(row)?;
            if nulls.is_null(row) {
                items.push(None);
                continue;
            }
            // A value in a valid piece is UTF-8 if it begins and ends at a character boundary.
            let inside = place.start.checked_sub(begin).zip(place.end.checked_sub(begin));
            let text = whole.zip(inside).and_then(|(whole, (start, stop))| whole.get(start..stop));
            match text.map_or_else(|| checked(&data[place], row), Ok) {
                Ok(text) => items.push(Some(text)),
                Err(fault) => {
                    items.push(None);
                    bad.push(fault);
                }
            }
        }
        Ok((items, bad))
    })
}

/// The integer at a byte of a view.
fn number(view: &View, at: usize) -> i32 {
    i32::from_ne_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]])
}

/// Return the number of the buffer with a view's value; None if the view has the value itself, or a negative number.
pub fn buffer_of(view: &View) -> Option<usize> {
    let outside = usize::try_from(number(view, 0)).is_ok_and(|length| length > INLINE);
    usize::try_from(number(view, 8)).ok().filter(|_| outside)
}

/// Return the strings of `views`, stored in them or in `buffers`.
///
/// # Errors
/// A view whose length is negative, or that exceeds its buffer.
pub fn views<'a>(views: &'a [View], buffers: &[&'a [u8]], nulls: Nulls<'_>) -> Read<Checked<'a>> {
    let value = |row: usize| -> Read<&'a [u8]> {
        let view = &views[row];
        let number = |at: usize| number(view, at);
        let length = usize::try_from(number(0))
            .map_err(|_| Fault::row(row, format!("has the length {}; lengths are 0 or more", number(0))))?;
        if length <= INLINE {
            return Ok(&view[4..4 + length]);
        }
        let (buffer, place) = (number(8), number(12));
        let bytes = usize::try_from(buffer).ok().and_then(|buffer| buffers.get(buffer));
        let start = usize::try_from(place).ok();
        bytes.zip(start).and_then(|(bytes, start)| bytes.get(start..start.checked_add(length)?)).ok_or_else(|| {
            let reason = format!("is {length} bytes at {place} of data buffer {buffer}, beyond its end");
            Fault::row(row, reason)
        })
    };
    in_pieces(views.len(), |piece| {
        let (mut items, mut bad) = (Vec::with_capacity(piece.len()), Vec::new());
        for row in piece {
            if nulls.is_null(row) {
                items.push(None);
                continue;
            }
            match checked(value(row)?, row) {
                Ok(text) => items.push(Some(text)),
                Err(fault) => {
                    items.push(None);
                    bad.push(fault);
                }
            }
        }
        Ok((items, bad))
    })
}

/// Return the entries of a dictionary that `keys` select.
///
/// # Errors
/// A key that is negative or beyond the entries.
pub fn dictionary_values<'a, K: Integer>(keys: &[K], dictionary: &Checked<'a>, nulls: Nulls<'_>) -> Read<Checked<'a>> {
    let (found, faulty) = dictionary;
    let entries = found.len();
    let (mut items, mut bad) = (Vec::with_capacity(keys.len()), Vec::new());
    for (row, &key) in keys.iter().enumerate() {
        if nulls.is_null(row) {
            items.push(None);
            continue;
        }
        let entry = key.try_into().ok().filter(|&entry| entry < entries);
        let entry = entry.ok_or_else(|| {
            Fault::row(row, format!("has the key {key}; the dictionary has {entries} entries, counted from 0"))
        })?;
        if found[entry].is_none()
            && let Ok(at) = faulty.binary_search_by_key(&entry, |bad| bad.row)
        {
            bad.push(InvalidUtf8 { row, ..faulty[at] });
        }
        items.push(found[entry]);
    }
    Ok((items, bad))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The validation result of a row.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Row<'a> {
        Null,
        Nowhere,
        Bytes(&'a [u8]),
    }

    impl<'a> From<Option<&'a [u8]>> for Row<'a> {
        fn from(bytes: Option<&'a [u8]>) -> Self {
            bytes.map_or(Self::Nowhere, Self::Bytes)
        }
    }

    /// Return the column of these rows: the first row out of range as an error, otherwise all strings and the invalid
    /// ones.
    fn definition<'a>(rows: &[Row<'a>]) -> Result<Checked<'a>, usize> {
        let (mut items, mut bad) = (Vec::new(), Vec::new());
        if let Some(row) = rows.iter().position(|&row| row == Row::Nowhere) {
            return Err(row);
        }
        for (row, value) in rows.iter().enumerate() {
            let Row::Bytes(bytes) = value else {
                items.push(None);
                continue;
            };
            let text = std::str::from_utf8(bytes);
            items.push(text.ok());
            if let Err(error) = text {
                bad.push(InvalidUtf8 { row, byte: bytes[error.valid_up_to()], at: error.valid_up_to() });
            }
        }
        Ok((items, bad))
    }

    /// Return the rows of packed strings.
    fn spans<'a>(offsets: &[i64], data: &'a [u8], bits: &[bool]) -> Vec<Row<'a>> {
        let span = |pair: &[i64]| data.get(usize::try_from(pair[0]).ok()?..usize::try_from(pair[1]).ok()?);
        let row = |(pair, &there): (&[i64], &bool)| match span(pair) {
            Some(_) if !there => Row::Null,
            found => found.into(),
        };
        offsets.windows(2).zip(bits).map(row).collect()
    }

    /// Return the location of a view's value.
    fn viewed<'a>(view: &'a View, buffers: &[&'a [u8]]) -> Option<&'a [u8]> {
        let number = |at: usize| i32::from_ne_bytes(view[at..at + 4].try_into().unwrap());
        let length = usize::try_from(number(0)).ok()?;
        if length <= 12 {
            return Some(&view[4..4 + length]);
        }
        let (buffer, place) = (usize::try_from(number(8)).ok()?, usize::try_from(number(12)).ok()?);
        buffers.get(buffer)?.get(place..place + length)
    }

    fn bitmap(bits: &[bool], first: usize) -> Vec<u8> {
        let mut bytes = vec![0; (first + bits.len()).div_ceil(8)];
        for (row, _) in bits.iter().enumerate().filter(|(_, there)| **there) {
            bytes[(first + row) / 8] |= 1 << ((first + row) % 8);
        }
        bytes
    }

    /// Return the values, or the first row with a fault.
    fn found(read: Read<Checked<'_>>) -> Result<Checked<'_>, usize> {
        read.map_err(|fault| fault.row.unwrap())
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof!["[aé中🦀]{0,12}".prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..24)]
    }

    proptest! {
        #[test]
        fn packed_strings_are_those_of_the_definition(
            data in bytes(),
            offsets in prop_oneof![
                prop::collection::vec(-1_i64..26, 1..8),
                prop::collection::vec(0_i64..9, 1..20).prop_map(|mut offsets| { offsets.sort_unstable(); offsets }),
                prop::collection::vec(any::<i64>(), 1..4),
            ],
            bits in prop::collection::vec(any::<bool>(), 20),
            first in 0_usize..20,
        ) {
            let bits = &bits[..offsets.len() - 1];
            let bytes = bitmap(bits, first);
            let nulls = Nulls::new(&bytes, &(first..first + bits.len())).unwrap();
            prop_assert_eq!(definition(&spans(&offsets, &data, bits)), found(packed(&offsets, &data, nulls)));
            let moved: Vec<i64> = offsets.iter().map(|offset| offset + 1000).collect();
            prop_assert_eq!(found(packed(&offsets, &data, nulls)), found(packed_from(1000, &moved, &data, nulls)));
            let none = vec![true; bits.len()];
            prop_assert_eq!(definition(&spans(&offsets, &data, &none)), found(packed(&offsets, &data, Nulls::NONE)));
        }

        #[test]
        fn many_packed_strings_are_those_of_the_definition(
            lengths in prop::collection::vec(0_i64..4, 2 * PIECE..3 * PIECE),
            broken in any::<prop::sample::Index>(),
            offset in prop::option::of(any::<i64>()),
            byte in prop::option::of(any::<u8>()),
        ) {
            let mut offsets = vec![0];
            offsets.extend(lengths.iter().scan(0, |end, length| { *end += length; Some(*end) }));
            let end = offsets[offsets.len() - 1] as usize;
            let mut data: Vec<u8> = "é".repeat(end.div_ceil(2)).into_bytes();
            if let Some(byte) = byte {
                let at = broken.index(data.len());
                data[at] = byte;
            }
            if let Some(offset) = offset {
                let at = broken.index(offsets.len());
                offsets[at] = offset;
            }
            let bits = vec![true; lengths.len()];
            prop_assert_eq!(definition(&spans(&offsets, &data, &bits)), found(packed(&offsets, &data, Nulls::NONE)));
        }

        #[test]
        fn views_are_those_of_the_definition(
            given in prop::collection::vec((prop_oneof![-1_i32..30, any::<i32>()], bytes(), -1_i32..3, -1_i32..30), 0..6),
            buffers in prop::collection::vec(bytes(), 0..3),
        ) {
            let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
            let column: Vec<View> = given.iter().map(|(length, inline, buffer, place)| {
                let mut view = [0; 16];
                view[..4].copy_from_slice(&length.to_ne_bytes());
                if *length > 12 {
                    view[8..12].copy_from_slice(&buffer.to_ne_bytes());
                    view[12..].copy_from_slice(&place.to_ne_bytes());
                } else {
                    let inline = &inline[..inline.len().min(12)];
                    view[4..4 + inline.len()].copy_from_slice(inline);
                }
                view
            }).collect();
            let rows: Vec<Row<'_>> = column.iter().map(|view| viewed(view, &buffers).into()).collect();
            prop_assert_eq!(definition(&rows), found(views(&column, &buffers, Nulls::NONE)));
        }

        #[test]
        fn keys_choose_those_of_the_definition(
            entries in prop::collection::vec(prop::option::of(bytes()), 0..4),
            keys in prop_oneof![prop::collection::vec(0_i8..4, 0..8), prop::collection::vec(any::<i8>(), 0..4)],
        ) {
            let entries: Vec<Row<'_>> =
                entries.iter().map(|entry| entry.as_deref().map_or(Row::Null, Row::Bytes)).collect();
            let dictionary = definition(&entries).unwrap();
            let row = |&key: &i8| usize::try_from(key).ok().and_then(|key| entries.get(key).copied());
            let rows: Vec<Row<'_>> = keys.iter().map(|key| row(key).unwrap_or(Row::Nowhere)).collect();
            prop_assert_eq!(definition(&rows), found(dictionary_values(&keys, &dictionary, Nulls::NONE)));
        }
    }

    #[test]
    fn bits_of_nulls_are_as_many_as_rows() {
        assert!(Nulls::new(&[0xff], &(0..9)).is_err());
        assert!(Nulls::new(&[], &(7..8)).is_err());
        let nulls = Nulls::new(&[0b1000_0000, 0b10], &(7..10)).unwrap();
        assert_eq!([false, true, false], [0, 1, 2].map(|row| nulls.is_null(row)));
    }

    #[test]
    fn errors_name_the_row_among_all() {
        let error = InvalidUtf8 { row: 2, byte: 0xff, at: 4 }.error(10).to_string();
        assert!(error.starts_with("text 12: is not UTF-8: byte 0xff at byte 5 of the value"), "{error}");
        assert!(Fault::row(3, "lies").error(10).to_string().starts_with("text 13: lies"));
        assert!(Fault::array("it").error(10).to_string().starts_with("Arrow data: it"));
    }
}
