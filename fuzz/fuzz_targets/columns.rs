//! Any bytes as the buffers of a string column: the strings of a plain definition, or the first row with a fault; never
//! a panic.
//!
//! The first byte selects the layout, the second the number of values, the third the number of validity bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::text::columns::{Checked, InvalidUtf8, Nulls, Read, View, dictionary_values, packed, views};
use nearkin_fuzz::alone;

/// None for a null; otherwise the bytes of the value, if it is within the data.
type Value<'a> = Option<Option<&'a [u8]>>;

/// Return the first row out of range, or all strings and the invalid ones.
fn check(values: &[Value<'_>], found: &Read<Checked<'_>>) {
    let nowhere = values.iter().position(|value| *value == Some(None));
    let (items, bad) = match found {
        Ok(found) => found,
        Err(fault) => return assert_eq!(nowhere, fault.row),
    };
    assert_eq!((None, values.len()), (nowhere, items.len()));
    let mut expected = Vec::new();
    for (row, (value, item)) in values.iter().zip(items).enumerate() {
        let text = value.flatten().map(std::str::from_utf8);
        assert_eq!(text.and_then(Result::ok), *item);
        if let (Some(Err(error)), Some(value)) = (text, value.flatten()) {
            expected.push(InvalidUtf8 { row, byte: value[error.valid_up_to()], at: error.valid_up_to() });
        }
    }
    assert_eq!(&expected, bad);
}

fn numbers<const N: usize, T>(bytes: &[u8], of: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|&chunk| of(chunk)).collect()
}

fn of_offsets<T: Copy + Sync + TryInto<usize> + std::fmt::Display>(offsets: &[T], data: &[u8], bits: Option<&[u8]>) {
    let rows = offsets.len().saturating_sub(1);
    let nulls = bits.map_or(Ok(Nulls::NONE), |bits| Nulls::new(bits, &(0..rows)));
    let Ok(nulls) = nulls else { return };
    let is_null = |row: usize| bits.is_some_and(|bits| !bits.is_empty() && bits[row / 8] >> (row % 8) & 1 == 0);
    let place = |row: usize| data.get(offsets[row].try_into().ok()?..offsets[row + 1].try_into().ok()?);
    let values: Vec<Value<'_>> = (0..rows)
        .map(|row| match place(row) {
            Some(_) if is_null(row) => None,
            found => Some(found),
        })
        .collect();
    check(&values, &packed(offsets, data, nulls));
}

fn of_views(column: &[View], data: &[u8]) {
    // Two buffers: the halves of the data.
    let (first, second) = data.split_at(data.len() / 2);
    let value = |view: &'_ View| -> Option<Vec<u8>> {
        let number = |at: usize| i32::from_ne_bytes([view[at], view[at + 1], view[at + 2], view[at + 3]]);
        let length = usize::try_from(number(0)).ok()?;
        if length <= 12 {
            return Some(view[4..4 + length].to_vec());
        }
        let place = usize::try_from(number(12)).ok()?;
        let bytes = *[first, second].get(usize::try_from(number(8)).ok()?)?;
        bytes.get(place..place.checked_add(length)?).map(<[u8]>::to_vec)
    };
    let values: Vec<Option<Vec<u8>>> = column.iter().map(value).collect();
    let values: Vec<Value<'_>> = values.iter().map(|value| Some(value.as_deref())).collect();
    check(&values, &views(column, &[first, second], Nulls::NONE));
}

fuzz_target!(init: alone(), |input: &[u8]| {
    let Some((&[layout, count, null_bytes], rest)) = input.split_first_chunk() else { return };
    let (bits, rest) = rest.split_at(usize::from(null_bytes).min(rest.len()));
    let bits = (null_bytes > 0).then_some(bits);
    // Offsets of one byte allow more rows than one task checks.
    let count = usize::from(count) * if layout & 8 == 0 { 1 } else { 16 };
    let width = [1, 2, 4, 8, 16, 1][usize::from(layout & 7) % 6];
    let (column, data) = rest.split_at((width * count).min(rest.len()));
    match layout & 7 {
        0 => of_offsets(&numbers(column, i8::from_ne_bytes), data, bits),
        1 => of_offsets(&numbers(column, i16::from_ne_bytes), data, bits),
        2 => of_offsets(&numbers(column, i32::from_ne_bytes), data, bits),
        3 => of_offsets(&numbers(column, i64::from_ne_bytes), data, bits),
        4 => of_views(column.as_chunks::<16>().0, data),
        _ => {
            // The data is a dictionary of lines, the column its keys.
            let lines: Vec<&[u8]> = data.split(|&byte| byte == b'\n').collect();
            let mut offsets = vec![0_usize];
            offsets.extend(lines.iter().scan(0, |end, line| {
                *end += line.len();
                Some(*end)
            }));
            let lines_data = lines.concat();
            let dictionary = packed(&offsets, &lines_data, Nulls::NONE).expect("offsets that ascend");
            let keys = numbers(column, i8::from_ne_bytes);
            let Ok(nulls) = bits.map_or(Ok(Nulls::NONE), |bits| Nulls::new(bits, &(0..keys.len()))) else { return };
            let is_null = |row: usize| bits.is_some_and(|bits| !bits.is_empty() && bits[row / 8] >> (row % 8) & 1 == 0);
            let value = |(row, &key): (usize, &i8)| {
                (!is_null(row)).then(|| usize::try_from(key).ok().and_then(|key| lines.get(key).copied()))
            };
            let values: Vec<Value<'_>> = keys.iter().enumerate().map(value).collect();
            check(&values, &dictionary_values(&keys, &dictionary, nulls));
        }
    }
});
