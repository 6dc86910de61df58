//! Templates: items with typed wildcards for their variables; and the table that counts them.
//!
//! **Encoding.** Literal bytes are stored unchanged. A wildcard is two bytes: [`WILDCARD`] (0xFF, which does not occur
//! in UTF-8) and the number of its [`Kind`]. A literal 0xFF is written as 0xFF 0x00. Templates are equal if their
//! bytes are equal.
//!
//! **The table** adds up statistics for each template: items, first and last time, items per day, sources, the
//! examples with the smallest hashes, and a sample of the values of each wildcard. All are sums, minima, maxima or
//! samples by hash, so order, batches and merges do not change the table.
//!
//! **Eviction.** A table that exceeds its limit evicts templates until nine tenths of the limit are left: those with
//! the fewest items first, ties by the largest hash. Evicted templates and items are counted. From then on order
//! matters, but only for templates about as rare as the evicted ones.
//!
//! Times are microseconds since 1970 in UTC, days are days since then.

use std::collections::HashMap;

use crate::kinds::Kind;
use crate::profiles::Profile;
use crate::values::{self, Values};
use nearkin_core::hash::{NumberState, xxh3};
use nearkin_core::{Error, Result, alloc};

/// The first byte of a wildcard.
pub const WILDCARD: u8 = 0xFF;
/// An unknown time.
pub const NO_TIME: i64 = i64::MIN;
/// Microseconds per day.
const DAY: i64 = 86_400_000_000;
/// Maximum number of examples of a template.
pub const EXAMPLES: usize = 3;
/// Number of values of one variable from which on a value that never changes is a constant.
const VARIED: usize = 8;
/// Maximum number of bytes of an example.
pub const MAX_EXAMPLE_BYTES: usize = 4096;

/// Append literal bytes to a template.
#[inline]
pub fn push_literal(template: &mut Vec<u8>, literal: &[u8]) {
    if memchr::memchr(WILDCARD, literal).is_none() {
        template.extend_from_slice(literal);
        return;
    }
    for &byte in literal {
        template.push(byte);
        if byte == WILDCARD {
            template.push(0);
        }
    }
}

/// Append a wildcard to a template.
#[inline]
pub fn push_wildcard(template: &mut Vec<u8>, kind: Kind) {
    template.extend_from_slice(&[WILDCARD, kind as u8]);
}

/// Return the types of the wildcards of a template in order; None if the bytes are not a template.
pub fn wildcard_kinds(template: &[u8]) -> Option<Vec<Kind>> {
    let mut kinds = Vec::new();
    let mut rest = template;
    while let Some(at) = memchr::memchr(WILDCARD, rest) {
        match rest.get(at + 1)? {
            0 => (),
            &number => kinds.push(Kind::numbered(number)?),
        }
        rest = &rest[at + 2..];
    }
    Some(kinds)
}

/// An element of a template.
pub(crate) enum Element {
    /// A literal byte.
    Literal(u8),
    /// A wildcard.
    Wildcard(Kind),
}

/// Iterate over the elements of a template, or of a range of it, with their offsets.
pub(crate) fn elements(bytes: &[u8]) -> impl Iterator<Item = (usize, Element)> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let at = next;
        let &byte = bytes.get(at)?;
        next += if byte == WILDCARD { 2 } else { 1 };
        let kind = if byte == WILDCARD { bytes.get(at + 1).copied().and_then(Kind::numbered) } else { None };
        Some((at, kind.map_or(Element::Literal(byte), Element::Wildcard)))
    })
}

/// Return a template as text, with type names in braces for wildcards.
pub fn to_text(template: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(template.len());
    for (_, element) in elements(template) {
        match element {
            Element::Literal(byte) => text.push(byte),
            Element::Wildcard(kind) => text.extend_from_slice(format!("{{{}}}", kind.name()).as_bytes()),
        }
    }
    text
}

/// Return the hash of a template.
#[inline]
pub fn hash(template: &[u8]) -> u64 {
    xxh3::hash(template, 0)
}

/// A template and its statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The bytes of the template.
    pub text: Box<[u8]>,
    /// Number of items.
    pub count: u64,
    /// The first time, [`NO_TIME`] without any.
    pub first: i64,
    /// The last time, [`NO_TIME`] without any.
    pub last: i64,
    /// Items of each day, ascending by day.
    pub days: Vec<(i32, u64)>,
    /// Example items: the [`EXAMPLES`] with the smallest hashes.
    pub examples: Values,
    /// Sample of the sources of the items.
    pub sources: Values,
    /// A sample of the values of each wildcard.
    pub wildcards: Box<[Values]>,
    /// A profile of the values of each wildcard; empty for items without profiles.
    pub profiles: Vec<Profile>,
}

/// Time, source and weight of an item.
#[derive(Clone, Copy, Debug)]
pub struct ItemMetadata<'a> {
    /// Time of the item, or [`NO_TIME`].
    pub time: i64,
    /// Hash and name of the source.
    pub source: Option<(u64, &'a [u8])>,
    /// Number of occurrences.
    pub weight: u64,
    /// True if the values have profiles.
    pub profiled: bool,
}

impl Default for ItemMetadata<'_> {
    fn default() -> Self {
        Self { time: NO_TIME, source: None, weight: 1, profiled: false }
    }
}

impl Template {
    fn new(text: &[u8], wildcards: usize) -> Result<Self> {
        let mut values = alloc::try_with_capacity(wildcards)?;
        values.resize_with(wildcards, Values::default);
        let text = alloc::try_copy(text)?.into_boxed_slice();
        Ok(Self { text, wildcards: values.into_boxed_slice(), ..Self::empty() })
    }

    /// Return a template without bytes, items or wildcards.
    pub fn empty() -> Self {
        Self {
            text: Box::default(),
            count: 0,
            first: NO_TIME,
            last: NO_TIME,
            days: Vec::new(),
            examples: Values::default(),
            sources: Values::default(),
            wildcards: Box::default(),
            profiles: Vec::new(),
        }
    }

    /// Return the template and its statistics without the wildcards.
    #[must_use]
    pub fn without_wildcards(&self) -> Self {
        Self {
            text: self.text.clone(),
            days: self.days.clone(),
            examples: self.examples.clone(),
            sources: self.sources.clone(),
            wildcards: Box::default(),
            profiles: Vec::new(),
            ..*self
        }
    }

    /// Return the template as it is printed, and which of its variables are left: a value that never changes is a constant
    /// while another variable has [`VARIED`] values or more, or while the items are templates themselves.
    #[must_use]
    pub fn printed(&self, max_values: usize) -> (Self, Vec<bool>) {
        let written = |values: &Values, kind: Kind| {
            let name = format!("{{{}}}", kind.name());
            values.iter().any(|(_, text)| *text == *name.as_bytes())
        };
        let kinds = wildcard_kinds(&self.text).unwrap_or_default();
        let all = || self.wildcards.iter().zip(&kinds);
        let varied = all().any(|(values, &kind)| values.len() >= max_values.min(VARIED) || written(values, kind));
        let varies = |(values, &kind): (&Values, &Kind)| {
            let is_long = values.iter().any(|(_, text)| text.len() >= values::MAX_BYTES);
            !varied
                || values.len() != 1
                || is_long
                || matches!(kind, Kind::Text | Kind::Optional)
                || written(values, kind)
        };
        let left: Vec<bool> = all().map(varies).collect();
        let (mut text, mut number) = (Vec::new(), 0);
        for (_, element) in elements(&self.text) {
            match element {
                Element::Literal(byte) => push_literal(&mut text, &[byte]),
                Element::Wildcard(kind) => {
                    let constant = self.wildcards.get(number).filter(|_| !left[number]);
                    match constant.and_then(|values| values.iter().next()) {
                        Some((_, value)) => push_literal(&mut text, value),
                        None => push_wildcard(&mut text, kind),
                    }
                    number += 1;
                }
            }
        }
        let wildcards = self.wildcards.iter().zip(&left).filter(|pair| *pair.1).map(|pair| pair.0.clone()).collect();
        (Self { text: text.into(), wildcards, ..self.without_wildcards() }, left)
    }

    fn add_times(&mut self, first: i64, last: i64) {
        if first != NO_TIME {
            self.first = if self.first == NO_TIME { first } else { self.first.min(first) };
            self.last = self.last.max(last);
        }
    }

    /// Add the statistics of another template with the same number of wildcards; samples are limited to `max_values`.
    ///
    /// # Errors
    /// Memory allocation fails.
    pub fn absorb(&mut self, other: &Self, max_values: usize) -> Result<()> {
        self.count += other.count;
        self.add_times(other.first, other.last);
        other.days.iter().try_for_each(|&(day, count)| add_day(&mut self.days, day, count))?;
        self.examples.merge(&other.examples, EXAMPLES)?;
        self.sources.merge(&other.sources, max_values)?;
        self.grow_profiles(other.profiles.len())?;
        self.profiles.iter_mut().zip(&other.profiles).try_for_each(|(mine, theirs)| mine.merge(theirs))?;
        self.wildcards.iter_mut().zip(&other.wildcards).try_for_each(|(mine, theirs)| mine.merge(theirs, max_values))
    }

    /// Add empty profiles until there are `count`.
    fn grow_profiles(&mut self, count: usize) -> Result<()> {
        while self.profiles.len() < count {
            alloc::try_reserve(&mut self.profiles, 1)?;
            self.profiles.push(Profile::default());
        }
        Ok(())
    }

    /// Return the size in bytes.
    pub fn memory(&self) -> usize {
        let wildcards: usize = self.wildcards.iter().map(|wildcard| size_of::<Values>() + wildcard.memory()).sum();
        size_of::<Self>()
            + self.text.len()
            + self.days.capacity() * size_of::<(i32, u64)>()
            + self.examples.memory()
            + self.sources.memory()
            + wildcards
            + self.profiles.iter().map(|profile| size_of::<Profile>() + profile.memory()).sum::<usize>()
    }
}

/// Add a count to a day; the days ascend.
///
/// # Errors
/// Memory allocation fails.
#[inline]
pub(crate) fn add_day(days: &mut Vec<(i32, u64)>, day: i32, count: u64) -> Result<()> {
    // Fast path: times mostly ascend.
    if let Some(last) = days.last_mut().filter(|last| last.0 == day) {
        last.1 += count;
        return Ok(());
    }
    match days.binary_search_by_key(&day, |day| day.0) {
        Ok(position) => days[position].1 += count,
        Err(position) => {
            alloc::try_reserve(days, 1)?;
            days.insert(position, (day, count));
        }
    }
    Ok(())
}

type RowMap = HashMap<u64, u32, NumberState>;

/// A table of templates and their statistics.
#[derive(Clone, Debug)]
pub struct TemplateTable {
    templates: Vec<Template>,
    /// Row of a template by its hash. On a collision the key is the hash of the hash.
    rows: RowMap,
    max_values: usize,
    max_templates: usize,
    evicted_templates: u64,
    evicted_items: u64,
}

impl TemplateTable {
    /// Create an empty table: samples of `max_values` values, at most `max_templates` templates.
    ///
    /// # Errors
    /// `max_values` is not in 2 to 65536, or `max_templates` not in 1 to 2^31.
    pub fn new(max_values: usize, max_templates: usize) -> Result<Self> {
        if !(2..=1 << 16).contains(&max_values) {
            return Err(Error::parameter("sample", max_values, "2 to 65536"));
        }
        if !(1..=1 << 31).contains(&max_templates) {
            return Err(Error::parameter("max_templates", max_templates, "1 to 2147483648"));
        }
        Ok(Self {
            templates: Vec::new(),
            rows: RowMap::default(),
            max_values,
            max_templates,
            evicted_templates: 0,
            evicted_items: 0,
        })
    }

    /// Return the row of a template, or the key to insert it under.
    #[inline]
    fn find(&self, template: &[u8], hash: u64) -> std::result::Result<usize, u64> {
        let mut key = hash;
        while let Some(&position) = self.rows.get(&key) {
            if *self.templates[position as usize].text == *template {
                return Ok(position as usize);
            }
            key = xxh3::hash(&key.to_le_bytes(), 1);
        }
        Err(key)
    }

    /// Return the template with these bytes and this hash.
    #[inline]
    pub fn get(&self, template: &[u8], hash: u64) -> Option<(usize, &Template)> {
        self.find(template, hash).ok().map(|position| (position, &self.templates[position]))
    }

    fn find_or_insert(&mut self, template: &[u8], hash: u64, wildcards: usize) -> Result<usize> {
        match self.find(template, hash) {
            Ok(position) => Ok(position),
            Err(key) => {
                alloc::try_reserve(&mut self.templates, 1)?;
                alloc::try_reserve_map(&mut self.rows, 1)?;
                self.templates.push(Template::new(template, wildcards)?);
                self.rows.insert(key, (self.templates.len() - 1) as u32);
                Ok(self.templates.len() - 1)
            }
        }
    }

    /// Add an item: its template, the item, and the value of each wildcard, each with its hash.
    ///
    /// # Errors
    /// Memory allocation fails, or the stored template has another number of wildcards.
    #[inline]
    pub fn add<'a>(
        &mut self,
        template: (u64, &[u8]),
        item: (u64, &[u8]),
        values: impl ExactSizeIterator<Item = (u64, &'a [u8])>,
        seen: ItemMetadata<'_>,
    ) -> Result<()> {
        let position = self.find_or_insert(template.1, template.0, values.len())?;
        let (max_values, entry) = (self.max_values, &mut self.templates[position]);
        if entry.wildcards.len() != values.len() {
            return Err(Error::mismatch("wildcards of a template", entry.wildcards.len(), values.len()));
        }
        entry.count += seen.weight;
        if seen.profiled && entry.profiles.is_empty() {
            entry.grow_profiles(values.len())?;
        }
        for (number, (hash, value)) in values.enumerate() {
            entry.wildcards[number].add(hash, value, max_values)?;
            if seen.profiled {
                entry.profiles[number].add(hash, value, seen.weight)?;
            }
        }
        entry.examples.add_long(item.0, item.1, EXAMPLES, MAX_EXAMPLE_BYTES)?;
        if seen.time != NO_TIME {
            entry.add_times(seen.time, seen.time);
            add_day(&mut entry.days, day_of(seen.time), seen.weight)?;
        }
        if let Some((hash, name)) = seen.source {
            entry.sources.add(hash, name, max_values)?;
        }
        self.evict()
    }

    /// Add a template with its statistics.
    ///
    /// # Errors
    /// As for `add`.
    pub fn add_template(&mut self, template: &Template) -> Result<()> {
        let position = self.find_or_insert(&template.text, hash(&template.text), template.wildcards.len())?;
        if self.templates[position].wildcards.len() != template.wildcards.len() {
            let (left, right) = (self.templates[position].wildcards.len(), template.wildcards.len());
            return Err(Error::mismatch("wildcards of a template", left, right));
        }
        self.templates[position].absorb(template, self.max_values)?;
        self.evict()
    }

    /// Add all templates of another table.
    ///
    /// # Errors
    /// The tables have different sample sizes or limits; as for `add`.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.max_values != other.max_values {
            return Err(Error::mismatch("sample", self.max_values, other.max_values));
        }
        if self.max_templates != other.max_templates {
            return Err(Error::mismatch("max_templates", self.max_templates, other.max_templates));
        }
        // Evict only at the end, so that the result does not depend on the direction of the merge.
        let max_templates = std::mem::replace(&mut self.max_templates, usize::MAX);
        let added = other.templates.iter().try_for_each(|template| self.add_template(template));
        self.max_templates = max_templates;
        added?;
        self.evicted_templates += other.evicted_templates;
        self.evicted_items += other.evicted_items;
        self.evict()
    }

    /// Sort templates: most items first, then by hash, then by bytes.
    fn rank(templates: &mut [Template]) {
        templates.sort_by_cached_key(|template| (std::cmp::Reverse(template.count), hash(&template.text)));
    }

    /// Return the printed templates, and for each template the number of its printed one in the order of their bytes.
    ///
    /// # Errors
    /// As for `add`.
    pub fn printed(&self) -> Result<(Self, Vec<i32>)> {
        let mut printed = Self::new(self.max_values, self.max_templates)?;
        let mut rows = alloc::try_filled(0, self.len())?;
        for (template, row) in self.templates.iter().zip(&mut rows) {
            let template = template.printed(self.max_values).0;
            printed.add_template(&template)?;
            *row = printed.get(&template.text, hash(&template.text)).map_or(0, |found| found.0);
        }
        let mut ranks = alloc::try_filled(0, printed.len())?;
        for (rank, index) in printed.sorted()?.into_iter().enumerate() {
            ranks[index as usize] = rank as i32;
        }
        Ok((printed, rows.into_iter().map(|row: usize| ranks[row]).collect()))
    }

    /// Evict the rarest templates of a table above its limit, until nine tenths of the limit are left.
    fn evict(&mut self) -> Result<()> {
        if self.templates.len() <= self.max_templates {
            return Ok(());
        }
        Self::rank(&mut self.templates);
        let left = self.max_templates - self.max_templates / 10;
        for template in self.templates.drain(left..) {
            self.evicted_templates += 1;
            self.evicted_items += template.count;
        }
        self.index()
    }

    /// Rebuild the map of rows.
    fn index(&mut self) -> Result<()> {
        self.rows.clear();
        alloc::try_reserve_map(&mut self.rows, self.templates.len())?;
        for position in 0..self.templates.len() {
            let text = &self.templates[position].text;
            if let Err(key) = self.find(text, hash(text)) {
                self.rows.insert(key, position as u32);
            }
        }
        Ok(())
    }

    /// Replace the templates by those of another table; the counts of evicted templates are kept.
    ///
    /// # Errors
    /// As for `add`. The table is then unchanged.
    pub fn replace(&mut self, other: Self) -> Result<()> {
        let mut new = Self::new(self.max_values, self.max_templates)?;
        new.templates = other.templates;
        new.index()?;
        self.templates = new.templates;
        self.rows = new.rows;
        self.evict()
    }

    /// Return the templates, in an unspecified order.
    pub fn templates(&self) -> &[Template] {
        &self.templates
    }

    /// Return the rows of the templates in the order of their bytes.
    ///
    /// # Errors
    /// Memory allocation fails.
    pub fn sorted(&self) -> Result<Vec<u32>> {
        let mut positions: Vec<u32> = alloc::try_collect(0..self.templates.len() as u32)?;
        positions.sort_unstable_by(|&a, &b| self.templates[a as usize].text.cmp(&self.templates[b as usize].text));
        Ok(positions)
    }

    /// Return the number of templates.
    pub fn len(&self) -> usize {
        self.templates.len()
    }

    /// Return true if there are no templates.
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// Return the maximum number of values of a sample.
    pub fn max_values(&self) -> usize {
        self.max_values
    }

    /// Return the maximum number of templates.
    pub fn max_templates(&self) -> usize {
        self.max_templates
    }

    /// Return the number of items of the stored templates.
    pub fn count(&self) -> u64 {
        self.templates.iter().map(|template| template.count).sum()
    }

    /// Return the number of evicted templates and of their items.
    pub fn evicted(&self) -> (u64, u64) {
        (self.evicted_templates, self.evicted_items)
    }

    pub(crate) fn set_evicted(&mut self, templates: u64, items: u64) {
        (self.evicted_templates, self.evicted_items) = (templates, items);
    }

    /// Return the size in bytes.
    pub fn memory(&self) -> usize {
        let templates: usize = self.templates.iter().map(Template::memory).sum();
        // A slot of the map is a key, a row and a control byte.
        size_of::<Self>() + templates + self.rows.capacity() * 17
    }
}

/// Return the day of a time.
pub fn day_of(time: i64) -> i32 {
    time.div_euclid(DAY) as i32
}

/// Return the hash of an item or a source.
#[inline]
pub fn item_hash(item: &[u8]) -> u64 {
    values::hash(item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An item of the tests: a word, a number, a time and a source.
    type Line = (u8, u16, i64, u8);

    fn template_of(line: &Line) -> Vec<u8> {
        let mut template = vec![b'a' + line.0];
        push_wildcard(&mut template, Kind::Int);
        template
    }

    fn add(table: &mut TemplateTable, line: &Line) {
        let template = template_of(line);
        let (item, value, source) = (format!("{line:?}"), line.1.to_string(), line.3.to_string());
        let values = [(values::hash(value.as_bytes()), value.as_bytes())];
        let source = Some((item_hash(source.as_bytes()), source.as_bytes()));
        let seen = ItemMetadata { time: line.2, source, ..ItemMetadata::default() };
        table
            .add((hash(&template), &template), (item_hash(item.as_bytes()), item.as_bytes()), values.into_iter(), seen)
            .expect("memory");
    }

    fn table(lines: &[Line], max_templates: usize) -> TemplateTable {
        let mut table = TemplateTable::new(4, max_templates).expect("valid");
        for line in lines {
            add(&mut table, line);
        }
        table
    }

    pub(crate) fn templates(table: &TemplateTable) -> Vec<Template> {
        table.sorted().expect("memory").iter().map(|&position| table.templates()[position as usize].clone()).collect()
    }

    prop_compose! {
        fn lines()(lines in prop::collection::vec((0_u8..9, 0_u16..40, -3 * DAY..3 * DAY, 0_u8..9), 0..60)) -> Vec<Line> {
            lines
        }
    }

    proptest! {
        #[test]
        fn a_table_is_a_sum_over_items(lines in lines(), cut in 0_usize..60, turn in 0_usize..60) {
            let whole = table(&lines, 100);
            let mut turned = lines.clone();
            turned.rotate_left(turn.min(lines.len()));
            prop_assert_eq!(templates(&whole), templates(&table(&turned, 100)));
            let (left, right) = lines.split_at(cut.min(lines.len()));
            let mut merged = table(left, 100);
            merged.merge(&table(right, 100)).expect("compatible");
            prop_assert_eq!(templates(&whole), templates(&merged));
            prop_assert_eq!((lines.len() as u64, (0, 0)), (merged.count(), merged.evicted()));
            prop_assert!(merged.memory() >= merged.len() * size_of::<Template>());
        }

        #[test]
        fn a_template_has_the_statistics_of_its_items(lines in lines()) {
            for template in templates(&table(&lines, 100)) {
                let of: Vec<&Line> = lines.iter().filter(|line| *template_of(line) == *template.text).collect();
                prop_assert_eq!(of.len() as u64, template.count);
                prop_assert_eq!(of.iter().map(|line| line.2).min(), Some(template.first));
                prop_assert_eq!(of.iter().map(|line| line.2).max(), Some(template.last));
                prop_assert_eq!(template.count, template.days.iter().map(|day| day.1).sum::<u64>());
                for &(day, count) in &template.days {
                    prop_assert_eq!(count, of.iter().filter(|line| day_of(line.2) == day).count() as u64);
                }
                prop_assert!(template.examples.len() <= EXAMPLES && !template.examples.is_empty());
                let numbers: std::collections::BTreeSet<u16> = of.iter().map(|line| line.1).collect();
                prop_assert_eq!(numbers.len().min(4), template.wildcards[0].len());
                prop_assert_eq!(Some(vec![Kind::Int]), wildcard_kinds(&template.text));
            }
        }

        #[test]
        fn evicted_templates_are_rare_and_counted(lines in lines(), max_templates in 1_usize..9) {
            let result = table(&lines, max_templates);
            prop_assert!(result.len() <= max_templates);
            prop_assert_eq!(lines.len() as u64, result.count() + result.evicted().1);
            let (mut left, right) = (table(&lines, 100), table(&lines, max_templates));
            prop_assert!(left.merge(&right).is_err());
            // Both directions of the merge keep the same templates.
            left.max_templates = max_templates;
            let (mut one, mut other) = (left.clone(), right.clone());
            one.merge(&right).expect("compatible");
            other.merge(&left).expect("compatible");
            prop_assert_eq!(templates(&one), templates(&other));
            prop_assert_eq!(one.evicted(), other.evicted());
        }

        #[test]
        fn literals_are_never_wildcards(literals in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 1..5)) {
            let mut template = Vec::new();
            for literal in &literals {
                push_literal(&mut template, literal);
                push_wildcard(&mut template, Kind::Ip);
            }
            prop_assert_eq!(Some(vec![Kind::Ip; literals.len()]), wildcard_kinds(&template));
        }
    }

    #[test]
    fn a_value_that_never_changes_is_printed_once_another_varies() {
        let printed = |values: usize, first: &str| {
            let text = [&b"job "[..], &[WILDCARD, Kind::Int as u8], b" code ", &[WILDCARD, Kind::Int as u8]].concat();
            let mut template = Template::new(&text, 2).expect("memory");
            for number in 0..values {
                let value = if number == 0 { first.to_owned() } else { number.to_string() };
                for (wildcard, value) in [value.as_str(), "113"].into_iter().enumerate() {
                    template.wildcards[wildcard]
                        .add(values::hash(value.as_bytes()), value.as_bytes(), 64)
                        .expect("memory");
                }
            }
            let (printed, left) = template.printed(64);
            (String::from_utf8(to_text(&printed.text)).expect("UTF-8"), left, printed.wildcards.len())
        };
        assert_eq!(("job {int} code {int}".to_owned(), vec![true, true], 2), printed(VARIED - 1, "x"));
        assert_eq!(("job {int} code 113".to_owned(), vec![true, false], 1), printed(VARIED, "x"));
        // The text of a template is printed unchanged.
        assert_eq!(("job {int} code 113".to_owned(), vec![true, false], 1), printed(1, "{int}"));
    }

    #[test]
    fn colliding_templates_are_distinct() {
        let mut table = TemplateTable::new(4, 10).expect("valid");
        for template in [b"a", b"b", b"a"] {
            table.add((7, template), (1, b"item"), std::iter::empty(), ItemMetadata::default()).expect("memory");
        }
        assert_eq!(vec![2, 1], templates(&table).iter().map(|template| template.count).collect::<Vec<_>>());
        assert_eq!(Some(1), table.get(b"b", 7).map(|result| result.1.count));
        assert!(table.get(b"c", 7).is_none() && !table.is_empty());
    }

    #[test]
    fn a_template_keeps_its_number_of_wildcards() {
        let mut table = TemplateTable::new(4, 10).expect("valid");
        table.add((7, b"a"), (1, b"item"), std::iter::empty(), ItemMetadata::default()).expect("memory");
        let one = [(3, &b"v"[..])];
        assert!(matches!(
            table.add((7, b"a"), (1, b"item"), one.into_iter(), ItemMetadata::default()),
            Err(Error::Mismatch { .. })
        ));
        assert_eq!((None, None), (wildcard_kinds(b"a\xff"), wildcard_kinds(b"\xff\xf0")));
        assert!(TemplateTable::new(1, 10).is_err() && TemplateTable::new(4, 0).is_err());
    }

    #[test]
    fn replacing_templates_keeps_eviction_counts() {
        let mut table = table(&[(0, 1, 5, 0), (1, 2, 9, 0), (2, 3, 7, 1)], 2);
        let evicted = table.evicted();
        assert_eq!(1, evicted.1);
        table.replace(super::tests::table(&[(3, 1, 5, 0), (4, 1, 5, 0)], 9)).expect("memory");
        assert_eq!((2, evicted, 2), (table.len(), table.evicted(), table.max_templates()));
        let line = &(3, 9, 9, 9);
        add(&mut table, line);
        assert_eq!((2, 3), (table.len(), table.count()));
    }
}
