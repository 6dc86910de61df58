//! A table of forms as arrays, in the order of the forms' bytes, and a table of such arrays: for files, for Arrow and for tests.
//!
//! Arrays of arrays have ends: array i lies between end i − 1 (0 for the first) and end i. Samples (of examples, sources and
//! holes) are three such levels: the end of each sample, hashes of its values, and the values' bytes by their ends.

use crate::forms::{self, Form, FormTable};
use crate::values::Values;
use nearkin_core::{Error, Result, alloc};

/// Samples of values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleColumns {
    /// The end of each sample.
    pub ends: Vec<i64>,
    /// Hashes of values, ascending in each sample.
    pub hashes: Vec<u64>,
    /// The end of each value.
    pub text_ends: Vec<i64>,
    /// Bytes of the values.
    pub text: Vec<u8>,
}

/// A table of forms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The end of each form.
    pub form_ends: Vec<i64>,
    /// Bytes of the forms.
    pub forms: Vec<u8>,
    /// Items of each form.
    pub counts: Vec<u64>,
    /// First times.
    pub first: Vec<i64>,
    /// Last times.
    pub last: Vec<i64>,
    /// The end of the days of each form.
    pub day_ends: Vec<i64>,
    /// Days, ascending in each form.
    pub days: Vec<i32>,
    /// Items of each day.
    pub day_counts: Vec<u64>,
    /// The end of the holes of each form.
    pub hole_ends: Vec<i64>,
    /// Examples, one sample a form.
    pub examples: SampleColumns,
    /// Sources, one sample a form.
    pub sources: SampleColumns,
    /// Values, one sample a hole.
    pub holes: SampleColumns,
}

impl SampleColumns {
    fn push(&mut self, values: &Values) -> Result<()> {
        for (hash, text) in values.iter() {
            alloc::try_extend(&mut self.text, text)?;
            alloc::try_extend(&mut self.hashes, &[hash])?;
            alloc::try_extend(&mut self.text_ends, &[self.text.len() as i64])?;
        }
        alloc::try_extend(&mut self.ends, &[self.hashes.len() as i64])
    }

    fn get(&self, sample: usize) -> Result<Values> {
        let places = between(&self.ends, sample, self.hashes.len().min(self.text_ends.len()))?;
        let mut texts = alloc::try_with_capacity(places.len())?;
        for place in places.clone() {
            let text = &self.text[between(&self.text_ends, place, self.text.len())?];
            texts.push(alloc::try_copy(text)?.into_boxed_slice());
        }
        Values::restored(alloc::try_copy(&self.hashes[places])?, texts)
            .ok_or_else(|| damaged("a sample does not ascend"))
    }
}

fn damaged(reason: &str) -> Error {
    Error::Corrupt { place: "the table of forms".to_owned(), reason: reason.to_owned() }
}

/// The places of array `number`, which lie within `total`.
fn between(ends: &[i64], number: usize, total: usize) -> Result<std::ops::Range<usize>> {
    let start = if number == 0 { Some(0) } else { ends.get(number - 1).copied() };
    match (start, ends.get(number)) {
        (Some(start), Some(&end)) if 0 <= start && start <= end && end as u64 <= total as u64 => {
            Ok(start as usize..end as usize)
        }
        _ => Err(damaged("an end is not within the array")),
    }
}

impl Columns {
    /// The arrays of a table.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn of(table: &FormTable) -> Result<Self> {
        let mut columns = Self::default();
        for place in table.sorted()? {
            columns.push(&table.forms()[place as usize])?;
        }
        Ok(columns)
    }

    fn push(&mut self, form: &Form) -> Result<()> {
        alloc::try_extend(&mut self.forms, &form.text)?;
        alloc::try_extend(&mut self.form_ends, &[self.forms.len() as i64])?;
        alloc::try_extend(&mut self.counts, &[form.count])?;
        alloc::try_extend(&mut self.first, &[form.first])?;
        alloc::try_extend(&mut self.last, &[form.last])?;
        for &(day, count) in &form.days {
            alloc::try_extend(&mut self.days, &[day])?;
            alloc::try_extend(&mut self.day_counts, &[count])?;
        }
        alloc::try_extend(&mut self.day_ends, &[self.days.len() as i64])?;
        self.examples.push(&form.examples)?;
        self.sources.push(&form.sources)?;
        form.holes.iter().try_for_each(|hole| self.holes.push(hole))?;
        alloc::try_extend(&mut self.hole_ends, &[self.holes.ends.len() as i64])
    }

    fn form(&self, row: usize) -> Result<Form> {
        let text = alloc::try_copy(&self.forms[between(&self.form_ends, row, self.forms.len())?])?;
        let days = between(&self.day_ends, row, self.days.len().min(self.day_counts.len()))?;
        let days: Vec<(i32, u64)> = days.map(|place| (self.days[place], self.day_counts[place])).collect();
        let holes = between(&self.hole_ends, row, self.holes.ends.len())?;
        if forms::holes_of(&text).is_none_or(|kinds| kinds.len() != holes.len()) {
            return Err(damaged("a form has other holes than values"));
        }
        if !days.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err(damaged("days do not ascend"));
        }
        Ok(Form {
            text: text.into_boxed_slice(),
            count: self.counts[row],
            first: self.first[row],
            last: self.last[row],
            days,
            examples: self.examples.get(row)?,
            sources: self.sources.get(row)?,
            holes: holes.map(|hole| self.holes.get(hole)).collect::<Result<_>>()?,
        })
    }

    /// The table of these arrays, with samples of `most` values and at most `limit` forms.
    ///
    /// # Errors
    /// The arrays are not those of a table; what `most` and `limit` may be.
    pub fn table(&self, most: usize, limit: usize, gone: (u64, u64)) -> Result<FormTable> {
        let rows = self.form_ends.len();
        if self.counts.len() != rows || self.first.len() != rows || self.last.len() != rows || rows > limit {
            return Err(damaged("its arrays have different lengths"));
        }
        let mut table = FormTable::new(most, limit)?;
        for row in 0..rows {
            let form = self.form(row)?;
            let longest = form.holes.iter().chain([&form.sources]).map(Values::len).max();
            if longest > Some(most) || form.examples.len() > forms::EXAMPLES {
                return Err(damaged("a sample is larger than samples are"));
            }
            table.add_form(&form)?;
        }
        if table.len() != rows {
            return Err(damaged("a form is there twice"));
        }
        table.set_gone(gone.0, gone.1);
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::Seen;
    use crate::kinds::Kind;
    use proptest::prelude::*;

    fn table(lines: &[(u8, u16, i64)]) -> FormTable {
        let mut table = FormTable::new(4, 100).expect("valid");
        for line in lines {
            let mut form = vec![b'a' + line.0];
            (0..line.0).for_each(|_| forms::push_hole(&mut form, Kind::Int));
            let (item, value) = (format!("{line:?}"), line.1.to_string());
            let one = (forms::item_hash(value.as_bytes()), value.as_bytes());
            let seen = Seen { time: line.2 << 34, source: Some(one), weight: 2 };
            let item = (forms::item_hash(item.as_bytes()), item.as_bytes());
            table.add((forms::hash(&form), &form), item, vec![one; line.0.into()].into_iter(), seen).expect("room");
        }
        table
    }

    proptest! {
        #[test]
        fn a_table_comes_back_from_its_arrays(lines in prop::collection::vec((0_u8..4, 0_u16..30, -99_i64..99), 0..40)) {
            let mut turned = lines.clone();
            turned.reverse();
            let columns = Columns::of(&table(&lines)).expect("room");
            prop_assert_eq!(&columns, &Columns::of(&table(&turned)).expect("room"));
            let again = columns.table(4, 100, (1, 2)).expect("whole");
            prop_assert_eq!((1, 2), again.gone());
            prop_assert_eq!(columns, Columns::of(&again).expect("room"));
        }

        #[test]
        fn arrays_that_are_no_table_are_refused(at in 0_usize..12, place in 0_usize..9, value in -9_i64..99) {
            let mut columns = Columns::of(&table(&[(0, 1, 2), (1, 2, 30), (1, 3, 90), (2, 4, 4)])).expect("room");
            let ends = [
                &mut columns.form_ends, &mut columns.day_ends, &mut columns.hole_ends, &mut columns.examples.ends,
                &mut columns.examples.text_ends, &mut columns.sources.ends, &mut columns.sources.text_ends,
                &mut columns.holes.ends, &mut columns.holes.text_ends, &mut columns.first, &mut columns.last,
            ];
            if let Some(array) = ends.into_iter().nth(at) {
                let place = place % array.len();
                array[place] = value;
                if at % 2 == 0 {
                    array.pop();
                }
            } else {
                columns.counts.pop();
            }
            // A table or an error, never a panic.
            let _ = columns.table(4, 100, (0, 0));
        }
    }

    #[test]
    fn what_does_not_fit_together_is_named() {
        let whole = Columns::of(&table(&[(1, 1, 2), (1, 2, 90), (2, 4, 4)])).expect("room");
        let faults: [fn(&mut Columns); 6] = [
            |columns| columns.hole_ends[0] = 0,
            |columns| columns.days[1] = -1_000_000,
            |columns| columns.holes.hashes.swap(0, 1),
            |columns| columns.form_ends[1] += 1,
            |columns| columns.counts.truncate(1),
            |columns| columns.text_twice(),
        ];
        for fault in faults {
            let mut columns = whole.clone();
            fault(&mut columns);
            assert!(matches!(columns.table(4, 100, (0, 0)), Err(Error::Corrupt { .. })));
        }
        assert!(matches!(whole.table(4, 1, (0, 0)), Err(Error::Corrupt { .. })));
        assert!(matches!(whole.table(1, 9, (0, 0)), Err(Error::Parameter { .. })));
        assert!(whole.table(4, 9, (0, 0)).is_ok());
        assert!(matches!(
            Columns::of(&table(&[(1, 1, 2), (1, 2, 3), (1, 3, 3)])).expect("room").table(2, 9, (0, 0)),
            Err(Error::Corrupt { .. })
        ));
    }

    impl Columns {
        /// Two rows of the same form.
        fn text_twice(&mut self) {
            let (other, mut columns) = (self.clone(), Self::default());
            for _ in 0..2 {
                columns.push(&other.form(0).expect("whole")).expect("room");
            }
            *self = columns;
        }
    }
}
