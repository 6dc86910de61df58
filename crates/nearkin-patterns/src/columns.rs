//! A table of templates as arrays, in the order of the templates' bytes, for files and Arrow.
//!
//! Nested arrays are stored with ends: array i spans from end i − 1 (0 for the first) to end i. Samples (of examples,
//! sources and wildcards) have three levels: the end of each sample, the hashes of its values, and the bytes of the
//! values with their ends.

use crate::profiles::Profile;
use crate::templates::{self, Template, TemplateTable};
use crate::values::Values;
use nearkin_core::{Error, Result, alloc};

/// Segment kind of a saved pattern state: a JSON text and these arrays; see `docs/format-patterns.md`.
pub const STATE_KIND: u32 = 12;

/// Samples of values, as arrays.
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

/// A table of templates, as arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The end of each template.
    pub template_ends: Vec<i64>,
    /// Bytes of the templates.
    pub templates: Vec<u8>,
    /// Items of each template.
    pub counts: Vec<u64>,
    /// First times.
    pub first: Vec<i64>,
    /// Last times.
    pub last: Vec<i64>,
    /// The end of the days of each template.
    pub day_ends: Vec<i64>,
    /// Days, ascending in each template.
    pub days: Vec<i32>,
    /// Items of each day.
    pub day_counts: Vec<u64>,
    /// The end of the wildcards of each template.
    pub wildcard_ends: Vec<i64>,
    /// Examples, one sample a template.
    pub examples: SampleColumns,
    /// Sources, one sample a template.
    pub sources: SampleColumns,
    /// Values, one sample a wildcard.
    pub wildcards: SampleColumns,
    /// The end of the profile of each wildcard; empty if no template has profiles.
    pub profile_ends: Vec<i64>,
    /// Keys, ascending in each profile.
    pub profile_keys: Vec<u64>,
    /// The count of each key.
    pub profile_counts: Vec<u64>,
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
        let positions = between(&self.ends, sample, self.hashes.len().min(self.text_ends.len()))?;
        let mut texts = alloc::try_with_capacity(positions.len())?;
        for position in positions.clone() {
            let text = &self.text[between(&self.text_ends, position, self.text.len())?];
            texts.push(alloc::try_copy(text)?.into_boxed_slice());
        }
        Values::restored(alloc::try_copy(&self.hashes[positions])?, texts)
            .ok_or_else(|| damaged("the hashes of a sample do not ascend"))
    }
}

fn damaged(reason: &str) -> Error {
    Error::Corrupt { place: "the table of templates".to_owned(), reason: reason.to_owned() }
}

/// Return the range of array `number`, checked against `total`.
fn between(ends: &[i64], number: usize, total: usize) -> Result<std::ops::Range<usize>> {
    let start = if number == 0 { Some(0) } else { ends.get(number - 1).copied() };
    match (start, ends.get(number)) {
        (Some(start), Some(&end)) if 0 <= start && start <= end && end as u64 <= total as u64 => {
            Ok(start as usize..end as usize)
        }
        _ => Err(damaged("an end lies outside its array")),
    }
}

impl Columns {
    /// Return the arrays of a table.
    ///
    /// # Errors
    /// Memory allocation fails.
    pub fn from_table(table: &TemplateTable) -> Result<Self> {
        let mut columns = Self::default();
        let profiled = table.templates().iter().any(|template| !template.profiles.is_empty());
        for position in table.sorted()? {
            let template = &table.templates()[position as usize];
            columns.push(template)?;
            if profiled {
                columns.push_profiles(template)?;
            }
        }
        Ok(columns)
    }

    fn push(&mut self, template: &Template) -> Result<()> {
        alloc::try_extend(&mut self.templates, &template.text)?;
        alloc::try_extend(&mut self.template_ends, &[self.templates.len() as i64])?;
        alloc::try_extend(&mut self.counts, &[template.count])?;
        alloc::try_extend(&mut self.first, &[template.first])?;
        alloc::try_extend(&mut self.last, &[template.last])?;
        for &(day, count) in &template.days {
            alloc::try_extend(&mut self.days, &[day])?;
            alloc::try_extend(&mut self.day_counts, &[count])?;
        }
        alloc::try_extend(&mut self.day_ends, &[self.days.len() as i64])?;
        self.examples.push(&template.examples)?;
        self.sources.push(&template.sources)?;
        template.wildcards.iter().try_for_each(|wildcard| self.wildcards.push(wildcard))?;
        alloc::try_extend(&mut self.wildcard_ends, &[self.wildcards.ends.len() as i64])
    }

    fn push_profiles(&mut self, template: &Template) -> Result<()> {
        for number in 0..template.wildcards.len() {
            for &(key, count) in template.profiles.get(number).map_or(&[][..], Profile::counts) {
                alloc::try_extend(&mut self.profile_keys, &[key])?;
                alloc::try_extend(&mut self.profile_counts, &[count])?;
            }
            alloc::try_extend(&mut self.profile_ends, &[self.profile_keys.len() as i64])?;
        }
        Ok(())
    }

    /// Return the profile of a wildcard.
    fn profile(&self, wildcard: usize) -> Result<Profile> {
        let positions = between(&self.profile_ends, wildcard, self.profile_keys.len().min(self.profile_counts.len()))?;
        let counts = positions.map(|position| (self.profile_keys[position], self.profile_counts[position])).collect();
        Profile::restored(counts).ok_or_else(|| damaged("the keys of a profile do not ascend"))
    }

    fn template(&self, row: usize) -> Result<Template> {
        let text = alloc::try_copy(&self.templates[between(&self.template_ends, row, self.templates.len())?])?;
        let days = between(&self.day_ends, row, self.days.len().min(self.day_counts.len()))?;
        let days: Vec<(i32, u64)> = days.map(|position| (self.days[position], self.day_counts[position])).collect();
        let wildcards = between(&self.wildcard_ends, row, self.wildcards.ends.len())?;
        if templates::wildcard_kinds(&text).is_none_or(|kinds| kinds.len() != wildcards.len()) {
            return Err(damaged("the numbers of wildcards and samples of a template differ"));
        }
        if !days.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err(damaged("days do not ascend"));
        }
        let mut profiles = Vec::new();
        if !self.profile_ends.is_empty() {
            profiles = wildcards.clone().map(|wildcard| self.profile(wildcard)).collect::<Result<_>>()?;
        }
        Ok(Template {
            profiles,
            text: text.into_boxed_slice(),
            count: self.counts[row],
            first: self.first[row],
            last: self.last[row],
            days,
            examples: self.examples.get(row)?,
            sources: self.sources.get(row)?,
            wildcards: wildcards.map(|wildcard| self.wildcards.get(wildcard)).collect::<Result<_>>()?,
        })
    }

    /// Return the table of these arrays, with samples of `max_values` values and at most `max_templates` templates.
    ///
    /// # Errors
    /// The arrays do not describe a table, or a limit is out of range.
    pub fn table(&self, max_values: usize, max_templates: usize, evicted: (u64, u64)) -> Result<TemplateTable> {
        let rows = self.template_ends.len();
        if self.counts.len() != rows || self.first.len() != rows || self.last.len() != rows || rows > max_templates {
            return Err(damaged("the arrays differ in length"));
        }
        let mut table = TemplateTable::new(max_values, max_templates)?;
        for row in 0..rows {
            let template = self.template(row)?;
            let largest_sample = template.wildcards.iter().chain([&template.sources]).map(Values::len).max();
            if largest_sample > Some(max_values) || template.examples.len() > templates::EXAMPLES {
                return Err(damaged("a sample exceeds the maximum size"));
            }
            table.add_template(&template)?;
        }
        if table.len() != rows {
            return Err(damaged("a template appears twice"));
        }
        table.set_evicted(evicted.0, evicted.1);
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kind;
    use crate::templates::ItemMetadata;
    use nearkin_core::segment::arrays;
    use proptest::prelude::*;

    fn table(lines: &[(u8, u16, i64)]) -> TemplateTable {
        let mut table = TemplateTable::new(4, 100).expect("valid");
        for line in lines {
            let mut template = vec![b'a' + line.0];
            (0..line.0).for_each(|_| templates::push_wildcard(&mut template, Kind::Int));
            let (item, value) = (format!("{line:?}"), line.1.to_string());
            let sample = (templates::item_hash(value.as_bytes()), value.as_bytes());
            let seen = ItemMetadata { time: line.2 << 34, source: Some(sample), weight: 2, profiled: true };
            let item = (templates::item_hash(item.as_bytes()), item.as_bytes());
            table
                .add((templates::hash(&template), &template), item, vec![sample; line.0.into()].into_iter(), seen)
                .expect("memory");
        }
        table
    }

    proptest! {
        #[test]
        fn arrays_round_trip(lines in prop::collection::vec((0_u8..4, 0_u16..30, -99_i64..99), 0..40)) {
            let mut turned = lines.clone();
            turned.reverse();
            let columns = Columns::from_table(&table(&lines)).expect("memory");
            prop_assert_eq!(&columns, &Columns::from_table(&table(&turned)).expect("memory"));
            let again = columns.table(4, 100, (1, 2)).expect("valid");
            prop_assert_eq!((1, 2), again.evicted());
            prop_assert_eq!(columns, Columns::from_table(&again).expect("memory"));
        }

        #[test]
        fn corrupt_arrays_never_panic(at in 0_usize..12, position in 0_usize..9, value in -9_i64..99) {
            let mut columns = Columns::from_table(&table(&[(0, 1, 2), (1, 2, 30), (1, 3, 90), (2, 4, 4)])).expect("memory");
            let ends = [
                &mut columns.template_ends, &mut columns.day_ends, &mut columns.wildcard_ends, &mut columns.examples.ends,
                &mut columns.examples.text_ends, &mut columns.sources.ends, &mut columns.sources.text_ends,
                &mut columns.wildcards.ends, &mut columns.wildcards.text_ends, &mut columns.first, &mut columns.last,
            ];
            if let Some(array) = ends.into_iter().nth(at) {
                let position = position % array.len();
                array[position] = value;
                if at % 2 == 0 {
                    array.pop();
                }
            } else {
                columns.counts.pop();
            }
            // Any table or error is fine; a panic is not.
            let _ = columns.table(4, 100, (0, 0));
        }
    }

    #[test]
    fn inconsistent_arrays_are_corrupt() {
        let whole = Columns::from_table(&table(&[(1, 1, 2), (1, 2, 90), (2, 4, 4)])).expect("memory");
        let faults: [fn(&mut Columns); 6] = [
            |columns| columns.wildcard_ends[0] = 0,
            |columns| columns.days[1] = -1_000_000,
            |columns| columns.wildcards.hashes.swap(0, 1),
            |columns| columns.template_ends[1] += 1,
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
            Columns::from_table(&table(&[(1, 1, 2), (1, 2, 3), (1, 3, 3)])).expect("memory").table(2, 9, (0, 0)),
            Err(Error::Corrupt { .. })
        ));
    }

    #[test]
    fn a_state_is_not_a_family() {
        let path = std::env::temp_dir().join(format!("nearkin-patterns-{}", std::process::id()));
        arrays::write(&path, STATE_KIND, "{}", &[b"abc"]).expect("writable");
        assert_eq!(("{}".to_owned(), vec![b"abc".to_vec()]), arrays::read(&path, STATE_KIND).expect("valid"));
        assert!(matches!(arrays::read(&path, arrays::FAMILY), Err(Error::Corrupt { .. })));
        std::fs::remove_file(&path).expect("exists");
    }

    impl Columns {
        /// Build two rows of the same template.
        fn text_twice(&mut self) {
            let (other, mut columns) = (self.clone(), Self::default());
            for _ in 0..2 {
                columns.push(&other.template(0).expect("valid")).expect("memory");
            }
            *self = columns;
        }
    }
}
