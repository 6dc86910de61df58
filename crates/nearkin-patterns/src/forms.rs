//! Forms: items with typed holes for their variables; and the table that counts them.
//!
//! **The bytes of a form.** Literal bytes as they are, and two bytes for a hole: [`HOLE`] (0xFF, in no UTF-8) and the number
//! of its [`Kind`]. A literal 0xFF is written as 0xFF 0x00. Forms are equal where their bytes are.
//!
//! **The table** sums what is known of each form: items, first and last time, items of each day, sources, the examples with
//! the smallest hashes, and a sample of the values of each hole. All are sums, minima, maxima or samples by hash, so neither
//! order nor batches nor merges change the table.
//!
//! **The limit.** A table that has more forms than its limit lets forms go until nine tenths are left: those with fewest items,
//! of equal ones those with the largest hashes. How many forms and items went is counted. From then on order matters, but
//! only for forms about as rare as those that went.
//!
//! Times are microseconds since 1970 in UTC, days are days since then.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::kinds::Kind;
use crate::values::{self, Values};
use nearkin_core::hash::xxh3;
use nearkin_core::{Error, Result, alloc};

/// The byte that begins a hole.
pub const HOLE: u8 = 0xFF;
/// A time that is not known.
pub const NO_TIME: i64 = i64::MIN;
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;
/// Examples of a form.
pub const EXAMPLES: usize = 3;
/// Most bytes that are kept of an example.
pub const LONGEST_EXAMPLE: usize = 4096;

/// Appends literal bytes to a form.
#[inline]
pub fn push_literal(form: &mut Vec<u8>, literal: &[u8]) {
    if memchr::memchr(HOLE, literal).is_none() {
        form.extend_from_slice(literal);
        return;
    }
    for &byte in literal {
        form.push(byte);
        if byte == HOLE {
            form.push(0);
        }
    }
}

/// Appends a hole to a form.
#[inline]
pub fn push_hole(form: &mut Vec<u8>, kind: Kind) {
    form.extend_from_slice(&[HOLE, kind as u8]);
}

/// Types of the holes of a form in order; None where the bytes are no form.
pub fn holes_of(form: &[u8]) -> Option<Vec<Kind>> {
    let mut kinds = Vec::new();
    let mut rest = form;
    while let Some(at) = memchr::memchr(HOLE, rest) {
        match rest.get(at + 1)? {
            0 => (),
            &number => kinds.push(Kind::numbered(number)?),
        }
        rest = &rest[at + 2..];
    }
    Some(kinds)
}

/// The hash by which a form is known.
#[inline]
pub fn hash(form: &[u8]) -> u64 {
    xxh3::hash(form, 0)
}

/// What is known of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Its bytes.
    pub text: Box<[u8]>,
    /// Items that have it.
    pub count: u64,
    /// The first time, [`NO_TIME`] without any.
    pub first: i64,
    /// The last time, [`NO_TIME`] without any.
    pub last: i64,
    /// Items of each day, ascending by day.
    pub days: Vec<(i32, u64)>,
    /// Items themselves: the [`EXAMPLES`] with the smallest hashes.
    pub examples: Values,
    /// Who sent them.
    pub sources: Values,
    /// The values of each hole.
    pub holes: Box<[Values]>,
}

/// What is said of an item beside the item.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// When it was written, or [`NO_TIME`].
    pub time: i64,
    /// Who sent it, by hash and name.
    pub source: Option<(u64, &'a [u8])>,
    /// How often.
    pub weight: u64,
}

impl Default for Seen<'_> {
    fn default() -> Self {
        Self { time: NO_TIME, source: None, weight: 1 }
    }
}

impl Form {
    fn new(text: &[u8], holes: usize) -> Result<Self> {
        let mut values = alloc::try_with_capacity(holes)?;
        values.resize_with(holes, Values::default);
        let text = alloc::try_copy(text)?.into_boxed_slice();
        Ok(Self { text, holes: values.into_boxed_slice(), ..Self::empty() })
    }

    /// A form without bytes, items and holes.
    pub fn empty() -> Self {
        Self {
            text: Box::default(),
            count: 0,
            first: NO_TIME,
            last: NO_TIME,
            days: Vec::new(),
            examples: Values::default(),
            sources: Values::default(),
            holes: Box::default(),
        }
    }

    /// What is known of it beside its holes.
    #[must_use]
    pub fn without_holes(&self) -> Self {
        Self {
            text: self.text.clone(),
            days: self.days.clone(),
            examples: self.examples.clone(),
            sources: self.sources.clone(),
            holes: Box::default(),
            ..*self
        }
    }

    fn add_day(&mut self, day: i32, count: u64) -> Result<()> {
        // Times mostly ascend.
        if let Some(last) = self.days.last_mut().filter(|last| last.0 == day) {
            last.1 += count;
            return Ok(());
        }
        match self.days.binary_search_by_key(&day, |day| day.0) {
            Ok(place) => self.days[place].1 += count,
            Err(place) => {
                alloc::try_reserve(&mut self.days, 1)?;
                self.days.insert(place, (day, count));
            }
        }
        Ok(())
    }

    fn add_times(&mut self, first: i64, last: i64) {
        if first != NO_TIME {
            self.first = if self.first == NO_TIME { first } else { self.first.min(first) };
            self.last = self.last.max(last);
        }
    }

    /// Adds what is known of another form with as many holes; how many of its samples' values are kept is `most`.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn absorb(&mut self, other: &Self, most: usize) -> Result<()> {
        self.count += other.count;
        self.add_times(other.first, other.last);
        other.days.iter().try_for_each(|&(day, count)| self.add_day(day, count))?;
        self.examples.merge(&other.examples, EXAMPLES)?;
        self.sources.merge(&other.sources, most)?;
        self.holes.iter_mut().zip(&other.holes).try_for_each(|(mine, theirs)| mine.merge(theirs, most))
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let holes: usize = self.holes.iter().map(|hole| size_of::<Values>() + hole.memory()).sum();
        size_of::<Self>()
            + self.text.len()
            + self.days.capacity() * size_of::<(i32, u64)>()
            + self.examples.memory()
            + self.sources.memory()
            + holes
    }
}

/// Hashes are their own hashes.
#[derive(Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3::hash(bytes, 0);
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

type Places = HashMap<u64, u32, BuildHasherDefault<Identity>>;

/// Forms and what is known of them.
#[derive(Clone, Debug)]
pub struct FormTable {
    forms: Vec<Form>,
    /// Where the form of a hash is. One whose hash another form has is found by the hash of that hash.
    places: Places,
    most: usize,
    limit: usize,
    gone_forms: u64,
    gone_items: u64,
}

impl FormTable {
    /// An empty table: samples of `most` values, at most `limit` forms.
    ///
    /// # Errors
    /// Fewer than 2 values, or more than 65536; no form, or more than 2^31.
    pub fn new(most: usize, limit: usize) -> Result<Self> {
        if !(2..=1 << 16).contains(&most) {
            return Err(Error::parameter("sample", most, "2 to 65536"));
        }
        if !(1..=1 << 31).contains(&limit) {
            return Err(Error::parameter("max_forms", limit, "1 to 2147483648"));
        }
        Ok(Self { forms: Vec::new(), places: Places::default(), most, limit, gone_forms: 0, gone_items: 0 })
    }

    /// The place of a form, or the key under which it belongs.
    #[inline]
    fn find(&self, form: &[u8], hash: u64) -> std::result::Result<usize, u64> {
        let mut key = hash;
        while let Some(&place) = self.places.get(&key) {
            if *self.forms[place as usize].text == *form {
                return Ok(place as usize);
            }
            key = xxh3::hash(&key.to_le_bytes(), 1);
        }
        Err(key)
    }

    /// The form with these bytes, whose hash is `hash`.
    #[inline]
    pub fn get(&self, form: &[u8], hash: u64) -> Option<(usize, &Form)> {
        self.find(form, hash).ok().map(|place| (place, &self.forms[place]))
    }

    fn place(&mut self, form: &[u8], hash: u64, holes: usize) -> Result<usize> {
        match self.find(form, hash) {
            Ok(place) => Ok(place),
            Err(key) => {
                alloc::try_reserve(&mut self.forms, 1)?;
                alloc::try_reserve_map(&mut self.places, 1)?;
                self.forms.push(Form::new(form, holes)?);
                self.places.insert(key, (self.forms.len() - 1) as u32);
                Ok(self.forms.len() - 1)
            }
        }
    }

    /// Adds an item: its form and the form's hash, the item and its hash, and for each hole its value and that one's hash.
    ///
    /// # Errors
    /// There is no memory for it; the form had another number of holes before.
    #[inline]
    pub fn add<'a>(
        &mut self,
        form: (u64, &[u8]),
        item: (u64, &[u8]),
        values: impl ExactSizeIterator<Item = (u64, &'a [u8])>,
        seen: Seen<'_>,
    ) -> Result<()> {
        let place = self.place(form.1, form.0, values.len())?;
        let (most, found) = (self.most, &mut self.forms[place]);
        if found.holes.len() != values.len() {
            return Err(Error::mismatch("the number of holes of a form", found.holes.len(), values.len()));
        }
        found.count += seen.weight;
        for (hole, (hash, value)) in found.holes.iter_mut().zip(values) {
            hole.add(hash, value, most)?;
        }
        found.examples.add_long(item.0, item.1, EXAMPLES, LONGEST_EXAMPLE)?;
        if seen.time != NO_TIME {
            found.add_times(seen.time, seen.time);
            found.add_day(day_of(seen.time), seen.weight)?;
        }
        if let Some((hash, name)) = seen.source {
            found.sources.add(hash, name, most)?;
        }
        if self.forms.len() > self.limit { self.let_go() } else { Ok(()) }
    }

    /// Adds a form with all that is known of it.
    ///
    /// # Errors
    /// As for `add`.
    pub fn add_form(&mut self, form: &Form) -> Result<()> {
        let place = self.place(&form.text, hash(&form.text), form.holes.len())?;
        if self.forms[place].holes.len() != form.holes.len() {
            let (left, right) = (self.forms[place].holes.len(), form.holes.len());
            return Err(Error::mismatch("the number of holes of a form", left, right));
        }
        self.forms[place].absorb(form, self.most)?;
        if self.forms.len() > self.limit { self.let_go() } else { Ok(()) }
    }

    /// Adds all forms of another table.
    ///
    /// # Errors
    /// The tables have other samples or limits; as for `add`.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.most != other.most {
            return Err(Error::mismatch("sample", self.most, other.most));
        }
        if self.limit != other.limit {
            return Err(Error::mismatch("max_forms", self.limit, other.limit));
        }
        // Without letting any go in between: what goes is then the same from either side.
        let limit = std::mem::replace(&mut self.limit, usize::MAX);
        let added = other.forms.iter().try_for_each(|form| self.add_form(form));
        self.limit = limit;
        added?;
        self.gone_forms += other.gone_forms;
        self.gone_items += other.gone_items;
        if self.forms.len() > self.limit { self.let_go() } else { Ok(()) }
    }

    /// Forms in order: those with more items first, then by hash, then by bytes.
    fn rank(forms: &mut [Form]) {
        forms.sort_by_cached_key(|form| (std::cmp::Reverse(form.count), hash(&form.text)));
    }

    /// Lets the rarest forms go, until nine tenths of the limit are left.
    #[cold]
    fn let_go(&mut self) -> Result<()> {
        Self::rank(&mut self.forms);
        let left = self.limit - self.limit / 10;
        for form in self.forms.drain(left..) {
            self.gone_forms += 1;
            self.gone_items += form.count;
        }
        self.index()
    }

    /// Makes the places anew, after forms have moved.
    fn index(&mut self) -> Result<()> {
        self.places.clear();
        alloc::try_reserve_map(&mut self.places, self.forms.len())?;
        for place in 0..self.forms.len() {
            let text = &self.forms[place].text;
            if let Err(key) = self.find(text, hash(text)) {
                self.places.insert(key, place as u32);
            }
        }
        Ok(())
    }

    /// Puts the forms of another table in place of its own; what was let go stays counted.
    ///
    /// # Errors
    /// As for `add`. The table is then as it was.
    pub fn replace(&mut self, other: Self) -> Result<()> {
        let mut new = Self::new(self.most, self.limit)?;
        new.forms = other.forms;
        new.index()?;
        self.forms = new.forms;
        self.places = new.places;
        if self.forms.len() > self.limit { self.let_go() } else { Ok(()) }
    }

    /// The forms, in no order that means anything.
    pub fn forms(&self) -> &[Form] {
        &self.forms
    }

    /// Places of the forms in the order of their bytes, which depends on nothing else.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn sorted(&self) -> Result<Vec<u32>> {
        let mut places: Vec<u32> = alloc::try_collect(0..self.forms.len() as u32)?;
        places.sort_unstable_by(|&a, &b| self.forms[a as usize].text.cmp(&self.forms[b as usize].text));
        Ok(places)
    }

    /// Forms.
    pub fn len(&self) -> usize {
        self.forms.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Most values of a sample.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Most forms.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Items of the forms that are there.
    pub fn count(&self) -> u64 {
        self.forms.iter().map(|form| form.count).sum()
    }

    /// How often a form was let go, and how many items went with them.
    pub fn gone(&self) -> (u64, u64) {
        (self.gone_forms, self.gone_items)
    }

    pub(crate) fn set_gone(&mut self, forms: u64, items: u64) {
        (self.gone_forms, self.gone_items) = (forms, items);
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let forms: usize = self.forms.iter().map(Form::memory).sum();
        // A slot of the map is a key, a place and a byte.
        size_of::<Self>() + forms + self.places.capacity() * 17
    }
}

/// The day of a time.
pub fn day_of(time: i64) -> i32 {
    time.div_euclid(DAY) as i32
}

/// The hash of an item or a source, as samples know them.
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

    fn form_of(line: &Line) -> Vec<u8> {
        let mut form = vec![b'a' + line.0];
        push_hole(&mut form, Kind::Int);
        form
    }

    fn add(table: &mut FormTable, line: &Line) {
        let form = form_of(line);
        let (item, value, source) = (format!("{line:?}"), line.1.to_string(), line.3.to_string());
        let values = [(values::hash(value.as_bytes()), value.as_bytes())];
        let source = Some((item_hash(source.as_bytes()), source.as_bytes()));
        let seen = Seen { time: line.2, source, weight: 1 };
        table
            .add((hash(&form), &form), (item_hash(item.as_bytes()), item.as_bytes()), values.into_iter(), seen)
            .expect("room");
    }

    fn table(lines: &[Line], limit: usize) -> FormTable {
        let mut table = FormTable::new(4, limit).expect("valid");
        for line in lines {
            add(&mut table, line);
        }
        table
    }

    pub(crate) fn forms(table: &FormTable) -> Vec<Form> {
        table.sorted().expect("room").iter().map(|&place| table.forms()[place as usize].clone()).collect()
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
            prop_assert_eq!(forms(&whole), forms(&table(&turned, 100)));
            let (left, right) = lines.split_at(cut.min(lines.len()));
            let mut merged = table(left, 100);
            merged.merge(&table(right, 100)).expect("alike");
            prop_assert_eq!(forms(&whole), forms(&merged));
            prop_assert_eq!((lines.len() as u64, (0, 0)), (merged.count(), merged.gone()));
            prop_assert!(merged.memory() >= merged.len() * size_of::<Form>());
        }

        #[test]
        fn a_form_knows_what_its_items_say(lines in lines()) {
            for form in forms(&table(&lines, 100)) {
                let of: Vec<&Line> = lines.iter().filter(|line| *form_of(line) == *form.text).collect();
                prop_assert_eq!(of.len() as u64, form.count);
                prop_assert_eq!(of.iter().map(|line| line.2).min(), Some(form.first));
                prop_assert_eq!(of.iter().map(|line| line.2).max(), Some(form.last));
                prop_assert_eq!(form.count, form.days.iter().map(|day| day.1).sum::<u64>());
                for &(day, count) in &form.days {
                    prop_assert_eq!(count, of.iter().filter(|line| day_of(line.2) == day).count() as u64);
                }
                prop_assert!(form.examples.len() <= EXAMPLES && !form.examples.is_empty());
                let numbers: std::collections::BTreeSet<u16> = of.iter().map(|line| line.1).collect();
                prop_assert_eq!(numbers.len().min(4), form.holes[0].len());
                prop_assert_eq!(Some(vec![Kind::Int]), holes_of(&form.text));
            }
        }

        #[test]
        fn what_goes_at_the_limit_is_counted_and_rare(lines in lines(), limit in 1_usize..9) {
            let found = table(&lines, limit);
            prop_assert!(found.len() <= limit);
            prop_assert_eq!(lines.len() as u64, found.count() + found.gone().1);
            let (mut left, right) = (table(&lines, 100), table(&lines, limit));
            prop_assert!(left.merge(&right).is_err());
            // Merged from either side the same is left.
            left.limit = limit;
            let (mut one, mut other) = (left.clone(), right.clone());
            one.merge(&right).expect("alike");
            other.merge(&left).expect("alike");
            prop_assert_eq!(forms(&one), forms(&other));
            prop_assert_eq!(one.gone(), other.gone());
        }

        #[test]
        fn any_literal_is_told_from_holes(literals in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 1..5)) {
            let mut form = Vec::new();
            for literal in &literals {
                push_literal(&mut form, literal);
                push_hole(&mut form, Kind::Ip);
            }
            prop_assert_eq!(Some(vec![Kind::Ip; literals.len()]), holes_of(&form));
        }
    }

    #[test]
    fn forms_of_one_hash_are_two_forms() {
        let mut table = FormTable::new(4, 10).expect("valid");
        for form in [b"a", b"b", b"a"] {
            table.add((7, form), (1, b"item"), std::iter::empty(), Seen::default()).expect("room");
        }
        assert_eq!(vec![2, 1], forms(&table).iter().map(|form| form.count).collect::<Vec<_>>());
        assert_eq!(Some(1), table.get(b"b", 7).map(|found| found.1.count));
        assert!(table.get(b"c", 7).is_none() && !table.is_empty());
    }

    #[test]
    fn a_form_keeps_its_number_of_holes() {
        let mut table = FormTable::new(4, 10).expect("valid");
        table.add((7, b"a"), (1, b"item"), std::iter::empty(), Seen::default()).expect("room");
        let one = [(3, &b"v"[..])];
        assert!(matches!(
            table.add((7, b"a"), (1, b"item"), one.into_iter(), Seen::default()),
            Err(Error::Mismatch { .. })
        ));
        assert_eq!((None, None), (holes_of(b"a\xff"), holes_of(b"\xff\xf0")));
        assert!(FormTable::new(1, 10).is_err() && FormTable::new(4, 0).is_err());
    }

    #[test]
    fn forms_are_replaced_and_what_went_stays_counted() {
        let mut table = table(&[(0, 1, 5, 0), (1, 2, 9, 0), (2, 3, 7, 1)], 2);
        let gone = table.gone();
        assert_eq!(1, gone.1);
        table.replace(super::tests::table(&[(3, 1, 5, 0), (4, 1, 5, 0)], 9)).expect("room");
        assert_eq!((2, gone, 2), (table.len(), table.gone(), table.limit()));
        let line = &(3, 9, 9, 9);
        add(&mut table, line);
        assert_eq!((2, 3), (table.len(), table.count()));
    }
}
