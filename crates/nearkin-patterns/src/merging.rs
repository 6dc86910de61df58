//! Templates: forms of lines that differ where variables are, made one.
//!
//! A form is cut into *units*: words (with the holes in them) and what lies between. Holes of all types are one here; forms of
//! the same units are one *shape*. Then, until nothing changes:
//!
//! 1. Each shape is hashed with one word left out. Shapes of one hash differ in that word only.
//! 2. The words that stand there are weighed ([`weight`]): a word with a number or a mark in it says *variable* more than a
//!    plain one, one in capitals less; so do a hole among them, a mark of values around it (`=`, quotes, brackets), and a set
//!    of words that recurs behind another rest.
//! 3. From [`ENOUGH`] on the word becomes a hole, unless no plain word of two letters would be left.
//!
//! When no single word changes any more, several are left out at once: words with numbers, names with marks, values behind `=`.
//!
//! Only sets count, not how often a form was seen or in which order: templates of templates are the templates.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::forms::{self, Form, FormTable, HOLE};
use crate::kinds::{self, Kind};
use crate::lines::is_between;
use crate::values::{self, Values};
use nearkin_core::cancel::CancelToken;
use nearkin_core::{Result, alloc};

/// Evidence from which a word is a variable.
pub const ENOUGH: u32 = 16;
/// Shapes beyond which values behind `=` that combine freely are variables.
const FREE: usize = 3;
/// Most rounds; each makes fewer shapes.
const ROUNDS: usize = 16;

/// Which words are left out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Those with holes in them.
    Mixed,
    /// Those with marks or digits in them, too.
    Values,
    /// Those behind `=`.
    Keyed,
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Nothing, where a value would stand: between brackets or quotes, or behind `=`.
    Empty,
    /// Marks and blanks.
    Between,
    /// Letters in capitals: a state or a constant.
    Capitals,
    /// Letters.
    Plain,
    /// A word with marks or digits within it.
    Value,
    /// A word with a hole in it.
    Mixed,
    /// A hole.
    Hole,
}

#[derive(Debug)]
struct Unit {
    text: Box<[u8]>,
    class: Class,
    hash: u64,
}

/// Units by their bytes, holes of all types written as one.
#[derive(Default)]
pub(crate) struct Units {
    all: Vec<Unit>,
    places: HashMap<Box<[u8]>, u32>,
}

pub(crate) const ANY: [u8; 2] = [HOLE, Kind::Text as u8];

impl Units {
    /// The bytes by which a unit is known: blanks are one, and so are the types of holes.
    fn plain(text: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            if text[at] == b' ' && plain.last() == Some(&b' ') {
                // Blanks are one.
                at += 1;
            } else if text[at] == HOLE && text.get(at + 1).is_some_and(|&kind| kind != 0) {
                plain.extend_from_slice(&ANY);
                at += 2;
            } else {
                plain.push(text[at]);
                at += 1;
            }
        }
        plain
    }

    /// The place of a unit, if there is one, and what it is.
    pub(crate) fn look(&self, text: &[u8]) -> (Option<u32>, Class) {
        let plain = Self::plain(text);
        match self.places.get(&*plain) {
            Some(&place) => (Some(place), self.class(place)),
            None => (None, class_of(&plain)),
        }
    }

    /// The place of a unit, which is made if there is none.
    pub(crate) fn place(&mut self, text: &[u8]) -> u32 {
        let plain = Self::plain(text);
        if let Some(&place) = self.places.get(&*plain) {
            return place;
        }
        let place = self.all.len() as u32;
        let unit = Unit { class: class_of(&plain), hash: forms::hash(&plain), text: plain.clone().into() };
        self.all.push(unit);
        self.places.insert(plain.into(), place);
        place
    }

    fn class(&self, place: u32) -> Class {
        self.all[place as usize].class
    }
}

fn class_of(text: &[u8]) -> Class {
    if text.is_empty() {
        return Class::Empty;
    }
    if text == ANY {
        return Class::Hole;
    }
    if memchr::memmem::find(text, &ANY).is_some() {
        return Class::Mixed;
    }
    if text.iter().all(|&byte| is_between(byte) || b".!?".contains(&byte)) {
        return Class::Between;
    }
    let letters = |byte: &u8| byte.is_ascii_alphabetic() || *byte >= 128;
    if text.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_') && text.len() > 1 {
        return Class::Capitals;
    }
    if text.iter().all(letters) { Class::Plain } else { Class::Value }
}

/// The type of the hole that a unit is; None for other units.
pub(crate) fn hole_kind(unit: &[u8]) -> Option<Kind> {
    match *unit {
        [HOLE, kind] => Kind::numbered(kind),
        _ => None,
    }
}

/// Whether a hole of this type takes words that have no type of their own. Templates give such a type to every hole that does.
pub(crate) fn is_open(kind: Kind) -> bool {
    kind.covers(Kind::Word) || matches!(kind, Kind::Token | Kind::Host)
}

/// Ends of the units of a form.
pub fn units_of(form: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while at < form.len() {
        let start = at;
        if form[at] != HOLE && is_between(form[at]) {
            while at < form.len() && form[at] != HOLE && is_between(form[at]) {
                at += 1;
                if is_empty(form[at - 1], form.get(at).copied()) {
                    ends.extend([at, at]);
                }
            }
            if ends.last() == Some(&at) {
                continue;
            }
        } else {
            while at < form.len() && (form[at] == HOLE || !is_between(form[at])) {
                at += if form[at] == HOLE { 2 } else { 1 };
            }
            // Marks of sentences are no part of a word.
            let word = start..at.min(form.len());
            let hole_end =
                form[word.clone()].iter().rposition(|&byte| byte == HOLE).map_or(start, |place| start + place + 2);
            let mut end = word.end;
            while end > hole_end.max(start) && b".!?".contains(&form[end - 1]) {
                end -= 1;
            }
            if end > start && end < word.end {
                ends.push(end);
            }
            at = word.end;
        }
        ends.push(at.min(form.len()));
    }
    ends
}

/// Whether a value is missing between two bytes.
fn is_empty(before: u8, after: Option<u8>) -> bool {
    match (before, after) {
        (b'(', Some(b')')) | (b'[', Some(b']')) | (b'\'', Some(b'\'')) | (b'"', Some(b'"')) => true,
        (b'=', after) => matches!(after, None | Some(b' ' | b',' | b';' | b')' | b']' | b'}')),
        _ => false,
    }
}

/// Forms that are one so far.
#[derive(Clone, Debug)]
struct Shape {
    units: Vec<u32>,
    members: Vec<u32>,
    /// Whether it joins no other.
    fixed: bool,
}

fn mix(hash: u64, at: usize) -> u64 {
    let mixed = (hash ^ (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    mixed ^ mixed >> 29
}

/// The hash of a shape's units, as a sum over their places, so that single ones can be taken out.
fn sum(units: &Units, shape: &Shape) -> u64 {
    shape
        .units
        .iter()
        .enumerate()
        .fold(shape.units.len() as u64, |sum, (at, &unit)| sum.wrapping_add(mix(units.all[unit as usize].hash, at)))
}

/// One place of a shape, left out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hollow {
    key: u64,
    at: u32,
    shape: u32,
}

/// How much a word says *variable*: twice what plain words say.
fn weight(class: Class) -> u32 {
    match class {
        Class::Between | Class::Empty => 0,
        Class::Capitals => 1,
        Class::Plain => 2,
        Class::Value => 4,
        Class::Mixed | Class::Hole => 8,
    }
}

struct Merging<'a> {
    forms: Vec<Cow<'a, Form>>,
    most: usize,
    units: Units,
    shapes: Vec<Shape>,
    any: u32,
    /// Plain words that became variables.
    known: HashSet<u32>,
    enough: u32,
    stop: CancelToken,
}

impl<'a> Merging<'a> {
    fn new(table: &'a FormTable, order: &[u32], orders: &Orders) -> Result<Self> {
        let mut units = Units::default();
        let any = units.place(&ANY);
        let forms = runs(table)?;
        let most = table.most();
        let mut merging = Self {
            forms,
            most,
            units,
            shapes: Vec::new(),
            any,
            known: HashSet::new(),
            enough: orders.enough,
            stop: CancelToken::current(),
        };
        for &place in order {
            let form = &merging.forms[place as usize];
            let mut start = 0;
            let units = units_of(&form.text).into_iter().map(|end| {
                let unit = merging.units.place(&form.text[start..end]);
                start = end;
                unit
            });
            let units = units.collect();
            let fixed = orders.pinned.contains(&*table.forms()[place as usize].text);
            merging.shapes.push(Shape { units, members: vec![place], fixed });
        }
        merging.collapse();
        Ok(merging)
    }

    /// Makes shapes of the same units one.
    fn collapse(&mut self) {
        let mut places: HashMap<Vec<u32>, usize> = HashMap::with_capacity(self.shapes.len());
        let mut kept: Vec<Shape> = Vec::with_capacity(self.shapes.len());
        for shape in self.shapes.drain(..) {
            if let Some(&place) = places.get(&shape.units).filter(|_| !shape.fixed) {
                kept[place].members.extend(shape.members);
            } else {
                if !shape.fixed {
                    places.insert(shape.units.clone(), kept.len());
                }
                kept.push(shape);
            }
        }
        self.shapes = kept;
    }

    /// Whether a plain word stays when these places become holes.
    fn keeps_words(&self, shape: &Shape, without: &[u32]) -> bool {
        shape.units.iter().enumerate().any(|(at, &unit)| {
            let found = &self.units.all[unit as usize];
            let letters = found.text.iter().filter(|byte| byte.is_ascii_alphabetic() || **byte >= 128).count();
            !without.contains(&(at as u32)) && !matches!(found.class, Class::Between | Class::Hole) && letters >= 2
        })
    }

    /// Each shape with each of its words left out, those of one rest together.
    fn hollows(&self) -> Result<Vec<Hollow>> {
        let mut hollows = Vec::new();
        for (number, shape) in self.shapes.iter().enumerate() {
            self.stop.check()?;
            if shape.fixed {
                continue;
            }
            let whole = sum(&self.units, shape);
            for (at, &unit) in shape.units.iter().enumerate() {
                if self.units.class(unit) != Class::Between {
                    let key = whole.wrapping_sub(mix(self.units.all[unit as usize].hash, at));
                    hollows.push(Hollow { key, at: at as u32, shape: number as u32 });
                }
            }
        }
        self.stop.sort(&mut hollows);
        self.stop.check()?;
        Ok(hollows)
    }

    /// Whether two shapes are the same but for one place.
    fn same_rest(&self, a: u32, b: u32, at: u32) -> bool {
        let (a, b) = (&self.shapes[a as usize].units, &self.shapes[b as usize].units);
        a.len() == b.len() && a.iter().zip(b).enumerate().all(|(place, (x, y))| x == y || place == at as usize)
    }

    fn unit_at(&self, hollow: &Hollow) -> u32 {
        self.shapes[hollow.shape as usize].units[hollow.at as usize]
    }

    /// What the word at a place says. The first word of a line names who speaks: a plain one says half as much there.
    fn weight(&self, hollow: &Hollow) -> u32 {
        let class = self.units.class(self.unit_at(hollow));
        if hollow.at == 0 && class == Class::Plain { weight(class) / 2 } else { weight(class) }
    }

    /// What lies around a place says that a value is there: behind `=`, or between quotes or brackets.
    fn enclosed(&self, hollow: &Hollow) -> bool {
        let units = &self.shapes[hollow.shape as usize].units;
        let at = hollow.at as usize;
        let edge = |place: Option<usize>, last: bool| {
            let text = place.and_then(|place| units.get(place)).map(|&unit| &*self.units.all[unit as usize].text);
            text.and_then(|text| if last { text.last() } else { text.first() }).copied().unwrap_or(b' ')
        };
        let (before, after) = (edge(at.checked_sub(1), true), edge(Some(at + 1), false));
        before == b'='
            || matches!((before, after), (b'\'', b'\'') | (b'"', b'"') | (b'(', b')') | (b'[', b']') | (b'<', b'>'))
    }

    /// One round of single words; how many became holes.
    fn round(&mut self) -> Result<usize> {
        let hollows = self.hollows()?;
        let groups: Vec<&[Hollow]> =
            hollows.chunk_by(|a, b| a.key == b.key && a.at == b.at).filter(|group| group.len() > 1).collect();
        let recurring = self.recurring(&groups);
        let mut changes: Vec<(u32, u32)> = Vec::new();
        for (group, recurs) in groups.iter().zip(recurring) {
            let first = group[0];
            let alike: Vec<&Hollow> =
                group.iter().filter(|hollow| self.same_rest(first.shape, hollow.shape, first.at)).collect();
            let mut evidence: u32 = alike.iter().map(|hollow| self.weight(hollow)).sum();
            if self.enclosed(&first) {
                evidence += evidence / 2;
            }
            if recurs {
                evidence *= 2;
            }
            // Words that are all values elsewhere are so here.
            if alike.len() > 2 && alike.iter().all(|hollow| self.known.contains(&self.unit_at(hollow))) {
                evidence = evidence.max(self.enough);
            }
            let shape = &self.shapes[first.shape as usize];
            let hole = alike.iter().any(|hollow| self.unit_at(hollow) == self.any);
            let open = hole && alike.iter().any(|hollow| self.takes_words(hollow));
            if !self.keeps_words(shape, &[first.at]) {
                continue;
            }
            for hollow in alike {
                let unit = self.unit_at(hollow);
                let joins = hole
                    && (matches!(self.units.class(unit), Class::Value | Class::Mixed | Class::Empty)
                        || self.known.contains(&unit));
                if unit != self.any && (evidence >= self.enough || joins || open) {
                    changes.push((hollow.shape, hollow.at));
                }
            }
        }
        Ok(self.apply(&changes))
    }

    /// Whether a place is a hole for words already: one joined it, or a form has a hole of such a type.
    fn takes_words(&self, hollow: &Hollow) -> bool {
        let shape = &self.shapes[hollow.shape as usize];
        self.unit_at(hollow) == self.any
            && shape.members.iter().any(|&member| {
                let text = &self.forms[member as usize].text;
                let ends = units_of(text);
                let at = hollow.at as usize;
                let start = at.checked_sub(1).map_or(0, |before| ends[before]);
                let unit = &text[start..ends[at]];
                hole_kind(unit).map_or(!unit.is_empty(), is_open)
            })
    }

    /// For each group whether half of its words, two at least, stand together behind another rest too.
    fn recurring(&self, groups: &[&[Hollow]]) -> Vec<bool> {
        let mut of_word: HashMap<u32, Vec<u32>> = HashMap::new();
        for (number, group) in groups.iter().enumerate() {
            for hollow in *group {
                let unit = self.unit_at(hollow);
                if unit != self.any {
                    of_word.entry(unit).or_default().push(number as u32);
                }
            }
        }
        let recurs = |group: &&[Hollow], number: usize| {
            let mut shared: HashMap<u32, usize> = HashMap::new();
            for hollow in group.iter().take(64) {
                for &other in of_word.get(&self.unit_at(hollow)).into_iter().flatten().take(64) {
                    if other as usize != number {
                        *shared.entry(other).or_default() += 1;
                    }
                }
            }
            shared
                .iter()
                .any(|(&other, &count)| count >= 3 && 2 * count >= group.len().min(groups[other as usize].len()))
        };
        groups.iter().enumerate().map(|(number, group)| recurs(group, number)).collect()
    }

    fn apply(&mut self, changes: &[(u32, u32)]) -> usize {
        for &(shape, at) in changes {
            let unit = self.shapes[shape as usize].units[at as usize];
            if self.units.class(unit) == Class::Plain {
                self.known.insert(unit);
            }
            self.shapes[shape as usize].units[at as usize] = self.any;
        }
        if !changes.is_empty() {
            self.collapse();
        }
        changes.len()
    }

    /// One round of several words at once: those of `level` are left out of each shape, and what then is one group is merged
    /// where enough stands in each place that varies.
    fn several(&mut self, level: Level) -> Result<usize> {
        let mut keys: Vec<(u64, u32)> = Vec::new();
        let open: Vec<Vec<bool>> = self.shapes.iter().map(|shape| self.open(shape, level)).collect();
        for (number, shape) in self.shapes.iter().enumerate() {
            self.stop.check()?;
            if shape.fixed || !open[number].contains(&true) {
                continue;
            }
            let hash = |at: usize, unit: u32| {
                let unit = if open[number][at] { self.any } else { unit };
                mix(self.units.all[unit as usize].hash, at)
            };
            let sum = shape.units.iter().enumerate();
            let sum = sum.fold(shape.units.len() as u64, |sum, (at, &unit)| sum.wrapping_add(hash(at, unit)));
            keys.push((sum, number as u32));
        }
        self.stop.sort(&mut keys);
        self.stop.check()?;
        let mut changes = Vec::new();
        for group in keys.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            let (first, first_open) = (&self.shapes[group[0].1 as usize].units, &open[group[0].1 as usize]);
            let alike = |shape: u32| {
                let (units, open) = (&self.shapes[shape as usize].units, &open[shape as usize]);
                let same = |at: usize| units[at] == first[at] || (open[at] && first_open[at]);
                units.len() == first.len() && (0..units.len()).all(same)
            };
            let shapes: Vec<u32> = group.iter().map(|one| one.1).filter(|&shape| alike(shape)).collect();
            self.refine(shapes, level, &mut changes);
        }
        Ok(self.apply(&changes))
    }

    /// The units of a shape that a level leaves out.
    fn open(&self, shape: &Shape, level: Level) -> Vec<bool> {
        let class = |at: usize| self.units.class(shape.units[at]);
        let behind_equals = |at: usize| {
            at.checked_sub(1).is_some_and(|before| self.units.all[shape.units[before] as usize].text.ends_with(b"="))
        };
        let is_open = |at: usize| match level {
            Level::Mixed => matches!(class(at), Class::Mixed | Class::Hole),
            Level::Values => matches!(class(at), Class::Value | Class::Mixed | Class::Hole),
            Level::Keyed => class(at) != Class::Between && behind_equals(at),
        };
        (0..shape.units.len()).map(is_open).collect()
    }

    /// Merges a group where each place that varies has enough; else takes it apart by the place that has the fewest words.
    fn refine(&self, shapes: Vec<u32>, level: Level, changes: &mut Vec<(u32, u32)>) {
        let mut waiting = vec![shapes];
        while let Some(shapes) = waiting.pop() {
            let length = self.shapes[shapes[0] as usize].units.len();
            let varying: Vec<(usize, Vec<u32>)> = (0..length)
                .map(|at| {
                    let mut units: Vec<u32> =
                        shapes.iter().map(|&shape| self.shapes[shape as usize].units[at]).collect();
                    units.sort_unstable();
                    units.dedup();
                    (at, units)
                })
                .filter(|place| place.1.len() > 1)
                .collect();
            if varying.is_empty() {
                continue;
            }
            let weak = varying.iter().filter(|place| !self.is_enough(&place.1, &varying, shapes.len(), level));
            if let Some((at, _)) = weak.min_by_key(|place| (place.1.len(), place.0)) {
                let mut parts: HashMap<u32, Vec<u32>> = HashMap::new();
                for &shape in &shapes {
                    parts.entry(self.shapes[shape as usize].units[*at]).or_default().push(shape);
                }
                waiting.extend(parts.into_values().filter(|part| part.len() > 1));
                continue;
            }
            let places: Vec<u32> = varying.iter().map(|place| place.0 as u32).collect();
            if self.keeps_words(&self.shapes[shapes[0] as usize], &places) {
                let unit = |shape: u32, at: u32| self.shapes[shape as usize].units[at as usize];
                let all = shapes.iter().flat_map(|&shape| places.iter().map(move |&at| (shape, at)));
                changes.extend(all.filter(|&(shape, at)| unit(shape, at) != self.any));
            }
        }
    }

    /// Whether the words in one of the places that vary are enough for a variable.
    fn is_enough(&self, units: &[u32], varying: &[(usize, Vec<u32>)], shapes: usize, level: Level) -> bool {
        let evidence: u32 = units.iter().map(|&unit| weight(self.units.class(unit))).sum();
        match level {
            Level::Mixed => evidence >= self.enough,
            Level::Values => evidence >= self.enough + self.enough / 2,
            // Values behind `=` that combine freely: more lines than any of the places has words.
            Level::Keyed => {
                let most = varying.iter().map(|place| place.1.len()).max().unwrap_or(0);
                varying.len() > 1 && shapes > FREE && shapes > most
            }
        }
    }

    fn run(&mut self) -> Result<()> {
        for _ in 0..ROUNDS {
            while self.round()? > 0 {}
            let mut changed = 0;
            for level in [Level::Mixed, Level::Values, Level::Keyed] {
                changed += self.several(level)?;
            }
            if changed == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// What people said about templates.
#[derive(Clone, Debug)]
pub struct Orders {
    /// Forms that join no other.
    pub pinned: HashSet<Vec<u8>>,
    /// Forms of templates whose shapes stay apart.
    pub split: HashSet<Vec<u8>>,
    /// Evidence from which a word is a variable; another than [`ENOUGH`] to measure what it does.
    pub enough: u32,
}

impl Default for Orders {
    fn default() -> Self {
        Self { pinned: HashSet::new(), split: HashSet::new(), enough: ENOUGH }
    }
}

/// Templates of the forms of a table.
#[derive(Debug)]
pub struct Templates {
    /// Templates, as forms with what is known of all their lines.
    pub table: FormTable,
    /// For each form of the table the place of its template.
    pub of_form: Vec<u32>,
}

/// Makes templates of forms.
///
/// # Errors
/// The call is stopped; there is no memory.
pub fn templates(table: &FormTable, orders: &Orders) -> Result<Templates> {
    let order = table.sorted()?;
    let mut merging = Merging::new(table, &order, orders)?;
    let first = if orders.split.is_empty() { Vec::new() } else { merging.shapes.clone() };
    merging.run()?;
    let mut found = FormTable::new(table.most(), 1 << 31)?;
    let mut of_form = alloc::try_filled(0, table.len())?;
    let mut put = |form: &Form, members: &[u32]| -> Result<()> {
        found.add_form(form)?;
        let place = found.get(&form.text, forms::hash(&form.text)).map_or(0, |(place, _)| place);
        for &member in members {
            of_form[member as usize] = place as u32;
        }
        Ok(())
    };
    for shape in &merging.shapes {
        merging.stop.check()?;
        let form = merging.template(shape)?;
        if !orders.split.contains(&*form.text) {
            put(&form, &shape.members)?;
            continue;
        }
        let members: HashSet<u32> = shape.members.iter().copied().collect();
        for part in first.iter().filter(|part| members.contains(&part.members[0])) {
            put(&merging.template(part)?, &part.members)?;
        }
    }
    Ok(Templates { table: found, of_form })
}

/// Replaces the forms of a table by their templates: fewer forms, the same lines.
///
/// # Errors
/// As for [`templates`]. The table is then as it was.
pub fn compact(table: &mut FormTable, orders: &Orders) -> Result<()> {
    let found = templates(table, orders)?;
    table.replace(found.table)
}

impl Merging<'_> {
    /// The template of a shape: its members added up, with types for what became a hole.
    fn template(&self, shape: &Shape) -> Result<Form> {
        let most = self.most;
        let mut text: Vec<Vec<u8>> = Vec::new();
        let mut holes: Vec<(Option<Kind>, Values)> = Vec::new();
        let mut whole: Option<Form> = None;
        for (number, &member) in shape.members.iter().enumerate() {
            let form: &Form = &self.forms[member as usize];
            let (mut start, mut hole, mut into) = (0, 0, 0);
            for (&unit, end) in shape.units.iter().zip(units_of(&form.text)) {
                let bytes = &form.text[start..end];
                start = end;
                let inside = forms::holes_of(bytes).unwrap_or_default();
                let mut put = |kind: Option<Kind>, sample: Option<&Values>, value: &[u8]| -> Result<()> {
                    if number == 0 {
                        holes.push((None, Values::default()));
                    }
                    let (found, values) = &mut holes[into];
                    *found = found.map_or(kind, |found| Some(kind.map_or(found, |kind| found.join(kind))));
                    into += 1;
                    match sample {
                        Some(sample) => values.merge(sample, most),
                        None => values.add(values::hash(value), value, most),
                    }
                };
                if unit != self.any {
                    for &kind in &inside {
                        put(Some(kind), Some(&form.holes[hole]), b"")?;
                        hole += 1;
                    }
                } else if bytes.len() == 2 && inside.len() == 1 {
                    put(Some(inside[0]), Some(&form.holes[hole]), b"")?;
                    hole += 1;
                } else {
                    let value = written(bytes);
                    let kind = kinds::kind_of(&value);
                    let kind = if inside.is_empty() && is_open(kind) { kind } else { Kind::Name };
                    let kind = (!value.is_empty()).then_some(kind);
                    put(kind, None, &value)?;
                    hole += inside.len();
                }
                if number == 0 {
                    text.push(if unit == self.any { ANY.to_vec() } else { bytes.to_vec() });
                }
            }
            match &mut whole {
                None => whole = Some(form.without_holes()),
                Some(whole) => whole.absorb(&form.without_holes(), most)?,
            }
        }
        let mut whole = whole.unwrap_or(Form::empty());
        let (mut bytes, mut hole) = (Vec::new(), 0);
        for unit in text {
            let mut at = 0;
            while at < unit.len() {
                bytes.push(unit[at]);
                if unit[at] == HOLE && unit[at + 1] != 0 {
                    bytes.push(holes[hole].0.unwrap_or(Kind::Text) as u8);
                    hole += 1;
                    at += 1;
                }
                at += 1;
            }
        }
        whole.text = bytes.into();
        whole.holes = holes.into_iter().map(|hole| hole.1).collect();
        Ok(whole)
    }
}

/// A run of the same word with holes and the same marks between: `blk_{int} blk_{int} blk_{int}`.
pub(crate) struct Run {
    /// Where it begins.
    pub(crate) start: usize,
    /// Where it ends.
    pub(crate) end: usize,
    /// Where its first word ends.
    first_end: usize,
    words: usize,
    listed: bool,
}

/// Runs of a form.
pub(crate) fn runs_of(form: &[u8]) -> Vec<Run> {
    let ends = units_of(form);
    let unit = |place: usize| &form[place.checked_sub(1).map_or(0, |before| ends[before])..ends[place]];
    let start = |place: usize| place.checked_sub(1).map_or(0, |before| ends[before]);
    let holes = |place: usize| unit(place).contains(&HOLE);
    let plain = |place: usize| {
        let mut text = unit(place).to_vec();
        (1..text.len()).filter(|&at| unit(place)[at - 1] == HOLE).for_each(|at| text[at] = ANY[1]);
        text
    };
    let (mut found, mut place) = (Vec::new(), 0);
    while place < ends.len() {
        let mut last = place;
        if holes(place) {
            while last + 2 < ends.len()
                && plain(last + 2) == plain(place)
                && unit(last + 1) == unit(place + 1)
                && matches!(class_of(unit(last + 1)), Class::Between)
            {
                last += 2;
            }
        }
        if last > place {
            let (words, listed) = ((last - place) / 2 + 1, unit(place + 1).contains(&b','));
            found.push(Run { start: start(place), end: ends[last], first_end: ends[place], words, listed });
        }
        place = last + 1;
    }
    found
}

/// Forms of a table; those that differ in how long their runs are have one word in place of each run, whose last hole is text.
fn runs(table: &FormTable) -> Result<Vec<Cow<'_, Form>>> {
    let mut short: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    let found: Vec<Vec<Run>> = table.forms().iter().map(|form| runs_of(&form.text)).collect();
    let mut is_long = vec![false; table.len()];
    let key = |place: usize| {
        let form = &table.forms()[place].text;
        let (mut text, mut at) = (Vec::new(), 0);
        for run in &found[place] {
            text.extend_from_slice(&form[at..run.first_end]);
            at = run.end;
        }
        text.extend_from_slice(&form[at..]);
        for at in 1..text.len() {
            if text[at - 1] == HOLE && text[at] != 0 {
                text[at] = ANY[1];
            }
        }
        text
    };
    for place in 0..table.len() {
        short.entry(key(place)).or_default().push(place);
    }
    for places in short.values() {
        let lengths: HashSet<Vec<usize>> =
            places.iter().map(|&place| found[place].iter().map(|run| run.words).collect()).collect();
        let lists = places.iter().flat_map(|&place| &found[place]).any(|run| run.words > 2 || run.listed);
        if lengths.len() > 1 && lists {
            for &place in places {
                is_long[place] = true;
            }
        }
    }
    let forms = table.forms().iter().enumerate().map(|(place, form)| {
        if is_long[place] && !found[place].is_empty() {
            shortened(form, &found[place], table.most()).map(Cow::Owned)
        } else {
            Ok(Cow::Borrowed(form))
        }
    });
    forms.collect()
}

/// A form with one word in place of each run.
fn shortened(form: &Form, runs: &[Run], most: usize) -> Result<Form> {
    let count = |bytes: &[u8]| forms::holes_of(bytes).unwrap_or_default().len();
    let (mut text, mut holes, mut at, mut hole) = (Vec::new(), Vec::new(), 0, 0);
    for run in runs {
        let before = count(&form.text[at..run.start]);
        holes.extend_from_slice(&form.holes[hole..hole + before]);
        hole += before;
        let (inside, all) = (count(&form.text[run.start..run.first_end]), count(&form.text[run.start..run.end]));
        let mut of_word: Vec<Values> = form.holes[hole..hole + inside].to_vec();
        for (number, values) in form.holes[hole + inside..hole + all].iter().enumerate() {
            of_word[number % inside].merge(values, most)?;
        }
        holes.extend(of_word);
        hole += all;
        text.extend_from_slice(&form.text[at..run.first_end]);
        if let Some(last) = text.iter().rposition(|&byte| byte == HOLE) {
            text[last + 1] = Kind::Text as u8;
        }
        at = run.end;
    }
    text.extend_from_slice(&form.text[at..]);
    holes.extend_from_slice(&form.holes[hole..]);
    Ok(Form { text: text.into(), holes: holes.into(), ..form.without_holes() })
}

/// Bytes of a form as a value: holes in braces.
pub(crate) fn written(form: &[u8]) -> Vec<u8> {
    let mut found = Vec::with_capacity(form.len());
    let mut at = 0;
    while at < form.len() {
        match (form[at], form.get(at + 1).copied().and_then(Kind::numbered)) {
            (HOLE, Some(kind)) => {
                found.extend_from_slice(format!("{{{}}}", kind.name()).as_bytes());
                at += 2;
            }
            (HOLE, None) => {
                found.push(HOLE);
                at += 2;
            }
            (byte, _) => {
                found.push(byte);
                at += 1;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{self, Beside, Packed};
    use crate::columns::Columns;
    use crate::lines;
    use nearkin_core::cancel;
    use proptest::prelude::*;

    pub(crate) fn table(lines: &[String]) -> FormTable {
        let mut offsets = vec![0];
        for line in lines {
            offsets.push(offsets[offsets.len() - 1] + line.len() as i64);
        }
        let data = lines.concat().into_bytes();
        let items = Packed::new(&offsets, &data).expect("valid");
        let mut table = FormTable::new(64, 10_000).expect("valid");
        let batches = batch::scan(items, lines::scan).expect("nothing stops it");
        batch::add(&mut table, &batches, items, Beside::default()).expect("room");
        table
    }

    fn texts_with(lines: &[String], orders: &Orders) -> Vec<String> {
        let found = templates(&table(lines), orders).expect("nothing stops it").table;
        let mut texts: Vec<String> =
            found.forms().iter().map(|form| String::from_utf8_lossy(&written(&form.text)).into_owned()).collect();
        texts.sort();
        texts
    }

    fn texts(lines: &[&str]) -> Vec<String> {
        texts_with(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>(), &Orders::default())
    }

    const NAMES: [&str; 9] = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal", "ida"];

    fn users(count: usize) -> Vec<String> {
        NAMES[..count].iter().map(|name| format!("session of {name} was opened")).collect()
    }

    #[test]
    fn a_word_is_a_variable_from_enough_words_on() {
        assert_eq!(7, texts_with(&users(7), &Orders::default()).len());
        assert_eq!(vec!["session of {word} was opened"], texts_with(&users(8), &Orders::default()));
        // Behind `=` fewer are enough; names with digits say more; capitals say less.
        assert_eq!(1, texts(&["u=ann in", "u=bob in", "u=cid in", "u=dan in", "u=eve in", "u=fay in"]).len());
        assert_eq!(
            1,
            texts(&["link eth0 went up", "link eth1 went up", "link eth2 went up", "link eth3 went up"]).len()
        );
        assert_eq!(3, texts(&["link went UP", "link went DOWN", "link went AWAY"]).len());
    }

    #[test]
    fn what_would_leave_no_word_stays() {
        let alone: Vec<&str> = NAMES.to_vec();
        assert_eq!(9, texts(&alone).len());
    }

    #[test]
    fn a_set_that_recurs_is_a_variable_sooner() {
        let lines: Vec<String> = ["opened", "closed"]
            .iter()
            .flat_map(|what| NAMES[..4].iter().map(move |name| format!("session {what} for user {name}")))
            .collect();
        let expected = vec!["session closed for user {word}", "session opened for user {word}"];
        assert_eq!(expected, texts_with(&lines, &Orders::default()));
    }

    #[test]
    fn values_that_are_missing_and_types_that_differ_join() {
        assert_eq!(
            vec!["from {ip} ({ip}) at {int}"],
            texts(&["from 10.0.0.1 () at 5", "from 10.0.0.1 (10.0.0.2) at 7"])
        );
        assert_eq!(vec!["took {float} ms"], texts(&["took 5 ms", "took 5.5 ms"]));
        assert_eq!(vec!["a  user {int} in"], texts(&["a  user 5 in", "a user 6 in"]));
    }

    #[test]
    fn runs_of_different_lengths_join() {
        assert_eq!(vec!["delete blk_{text} now"], texts(&["delete blk_1 now", "delete blk_1 blk_2 blk_3 now"]));
        assert_eq!(vec!["channels {text} of b"], texts(&["channels 1, 2 of b", "channels 1 of b"]));
        assert_eq!(2, texts(&["sizes 1 2", "sizes 1"]).len());
        assert_eq!(vec!["sizes {int} {int} {int}"], texts(&["sizes 1 2 3", "sizes 4 5 6"]));
    }

    #[test]
    fn two_words_at_once_are_variables_if_neither_is_plain() {
        let lines: Vec<String> =
            NAMES[..6].iter().map(|name| format!("class org.{name} for class com.{name}")).collect();
        assert_eq!(
            vec!["class {file} for class {file}"],
            texts_with(&lines, &Orders::default())
                .iter()
                .map(|text| { text.replace("{name}", "{file}").replace("{host}", "{file}") })
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn people_have_the_last_word() {
        let all = templates(&table(&users(8)), &Orders::default()).expect("nothing stops it");
        let split =
            Orders { split: all.table.forms().iter().map(|form| form.text.to_vec()).collect(), ..Orders::default() };
        assert_eq!(users(8), texts_with(&users(8), &split));
        let pinned = Orders { pinned: [users(1)[0].clone().into_bytes()].into(), ..Orders::default() };
        assert_eq!(vec!["session of ann was opened", "session of {word} was opened"], texts_with(&users(9), &pinned));
    }

    #[test]
    fn templates_add_up_what_their_forms_know() {
        let lines: Vec<String> = users(9).into_iter().chain(users(3)).collect();
        let all = table(&lines);
        let found = templates(&all, &Orders::default()).expect("nothing stops it");
        let form = &found.table.forms()[0];
        assert_eq!((1, 12, 9, 1), (found.table.len(), form.count, form.holes[0].len(), form.holes.len()));
        assert!(found.of_form.iter().all(|&place| place == 0));
        let mut compacted = all.clone();
        compact(&mut compacted, &Orders::default()).expect("room");
        assert_eq!((1, 12), (compacted.len(), compacted.count()));
        // More lines join what forms were made.
        compacted
            .merge(&{
                let mut more = FormTable::new(64, 10_000).expect("valid");
                more.merge(&table(&["session of zoe was opened".to_owned()])).expect("alike");
                more
            })
            .expect("alike");
        assert_eq!(1, templates(&compacted, &Orders::default()).expect("nothing stops it").table.len());
    }

    #[test]
    fn a_stopped_call_ends() {
        let all = table(&users(9));
        let found = cancel::at_every_check(&mut (), |()| templates(&all, &Orders::default()), |()| ());
        assert_eq!(1, found.table.len());
    }

    prop_compose! {
        fn lines()(lines in prop::collection::vec(
            ("(user|from|for)", "[a-h]{1,2}|eth[0-3]|A|B", "(in|=|\\(\\)|1, 2|1)", "[0-9]{1,2}|x\\.y|[a-e]"), 0..40
        )) -> Vec<String> {
            lines.into_iter().map(|(a, b, c, d)| format!("{a} {b} {c} {d}")).collect()
        }
    }

    proptest! {
        #[test]
        fn neither_order_nor_counts_matter(lines in lines(), turn in 0_usize..40) {
            let mut turned: Vec<String> = lines.iter().chain(&lines).cloned().collect();
            let turn = turn.min(turned.len());
            turned.rotate_left(turn);
            let (one, two) = (texts_with(&lines, &Orders::default()), texts_with(&turned, &Orders::default()));
            prop_assert_eq!(one, two);
            let whole = Columns::of(&templates(&table(&lines), &Orders::default()).expect("room").table).expect("room");
            let mut other = lines.clone();
            other.reverse();
            prop_assert_eq!(whole, Columns::of(&templates(&table(&other), &Orders::default()).expect("room").table).expect("room"));
        }

        #[test]
        fn templates_of_templates_are_the_templates(lines in lines()) {
            let once = texts_with(&lines, &Orders::default());
            prop_assert_eq!(&once, &texts_with(&once, &Orders::default()));
        }

        #[test]
        fn each_line_is_counted_once(lines in lines()) {
            let all = table(&lines);
            let found = templates(&all, &Orders::default()).expect("room");
            prop_assert_eq!(all.count(), found.table.count());
            prop_assert_eq!(all.len(), found.of_form.len());
        }
    }
}
