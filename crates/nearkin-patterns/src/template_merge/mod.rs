//! Merging of line templates: templates that differ in a variable become one.
//!
//! A template is split into *units*: words (with the wildcards in them) and the separators between them. Wildcards of
//! all types are equal here. Templates with the same units have one *shape*. The merge repeats these steps until
//! nothing changes:
//!
//! 1. Mask the structured values that only a program prints, such as `{'a': 1}` and `Point(x=1, y=2)`, and all others in
//!    which shapes differ. A word that is no level of a log must be left.
//! 2. Hash each shape with one word masked. Shapes with the same hash differ in that word only.
//! 3. Add up the evidence of the words at that position ([`evidence`]). A word with a number or a symbol counts more
//!    than a plain word, as does a word that is a value elsewhere, and a word in capitals less. A set of words that recurs
//!    in another context doubles the evidence. Five plain words or more around the word, a sentence, increase it by three
//!    fifths.
//! 4. If the evidence reaches [`EVIDENCE_THRESHOLD`], the word becomes a wildcard, unless the template would lose its
//!    last plain word of two letters.
//!
//! When no single word changes any more, larger steps follow, the surest first. Objects of JSON are exempt from them.
//!
//! 5. Pairs `key=value` that occur in several orders are sorted by key, and values of pairs in which shapes differ are
//!    masked.
//! 6. Fields of several units ([`crate::units`]) are masked like words. A call with a variable in it joins a wildcard.
//! 7. Brackets with a variable in them that other shapes lack are an optional part.
//! 8. Shapes join a shape with several variables that accept all words, and a field of several units, in which they
//!    differ.
//! 9. Words between blanks that are not plain are masked as a whole.
//! 10. The values of a variable are values after the same units in any shape.
//! 11. Shapes join one with a variable for any text, whose words around it they have.
//!
//! Names are never masked ([`TemplateMerger::is_name`]). Only sets of templates count, not their frequency or order, and
//! merging is idempotent.

mod known_values;
mod optional_parts;
mod structures;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use crate::kinds::Kind;
use crate::templates::{self, Element, Template, TemplateTable};
use crate::units::{
    ANY, Class, Field, OPTIONAL, Place, Units, close, find_fields, follows_message_key, is_missing, is_open,
    kind_of_units, split_units, wildcard_offsets,
};
use crate::values::{self, Values};
use nearkin_core::Result;
use nearkin_core::cancel::CancelToken;

/// Evidence that makes a word a variable.
pub const EVIDENCE_THRESHOLD: u32 = 16;
/// Evidence of a word that is a value elsewhere.
const KNOWN: u32 = 6;
/// Number of plain words around a word from which on it needs less evidence.
const LONG: usize = 5;
/// Number of plain words around a text that make a shape cover others.
const FRAME: usize = 3;
/// Number of different contents of brackets that make them a variable.
const CONTENTS: usize = 3;
/// Maximum number of units of a value that consists of words.
const WORDS: usize = 7;
/// Maximum number of sets of positions, for one number of units, and of shapes with a text that are compared with each
/// shape.
const MASKS: usize = 256;
/// Maximum number of rounds; each reduces the number of shapes.
const ROUNDS: usize = 256;

/// A template of a shape, and the range of each of the shape's units in it.
#[derive(Clone, Debug)]
struct Member {
    template: u32,
    spans: Vec<Range<u32>>,
}

/// Templates merged so far.
#[derive(Clone, Debug)]
struct Shape {
    units: Vec<u32>,
    members: Vec<Member>,
    /// True if it is never merged with another shape.
    fixed: bool,
    /// True for an object of JSON, in which only single words and values in braces are masked.
    json: bool,
}

impl Shape {
    /// Return true if all steps apply.
    fn is_free(&self) -> bool {
        !self.fixed && !self.json
    }
}

/// Return true for a method of HTTP (RFC 9110, section 9, and RFC 5789).
fn is_method(text: &[u8]) -> bool {
    matches!(text, b"GET" | b"HEAD" | b"POST" | b"PUT" | b"DELETE" | b"CONNECT" | b"OPTIONS" | b"TRACE" | b"PATCH")
}

/// Return true for the level of a log line.
fn is_level(text: &[u8]) -> bool {
    let words: [&[u8]; 10] =
        [b"trace", b"debug", b"info", b"notice", b"warn", b"warning", b"error", b"err", b"fatal", b"critical"];
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

fn mix(hash: u64, at: usize) -> u64 {
    let mixed = (hash ^ (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
    mixed ^ mixed >> 29
}

/// Return the hash of a shape: a sum over its units, so that a single unit can be subtracted.
fn hash_shape(units: &Units, shape: &Shape) -> u64 {
    shape
        .units
        .iter()
        .enumerate()
        .fold(shape.units.len() as u64, |sum, (at, &unit)| sum.wrapping_add(mix(units.all[unit as usize].hash, at)))
}

/// A shape with one word masked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct MaskedTemplate {
    key: u64,
    at: u32,
    shape: u32,
}

/// Return the evidence of a word; 2 for a plain word.
fn evidence(class: Class) -> u32 {
    match class {
        Class::Between | Class::Optional | Class::Empty => 0,
        Class::Capitals => 1,
        Class::Plain => 2,
        Class::Value => 4,
        Class::Mixed | Class::Wildcard => 8,
    }
}

/// A field of a shape, with the hash of the units around it.
#[derive(Clone, Debug)]
struct MaskedField {
    key: u64,
    shape: u32,
    field: Field,
}

/// A shape and the order of its units in which pairs are sorted; None if they are sorted.
type ShapeOrder = (u32, Option<Vec<usize>>);

/// Shapes with several variables, by their number of units and the positions of the variables.
type Masks = BTreeMap<(usize, Vec<usize>), HashSet<Vec<u32>>>;

/// A shape and the ranges of its values.
type ShapeValues = (u32, Vec<Range<usize>>);

/// The positions of variables that accept words, and whether they accept any text.
type Places = Vec<(usize, bool)>;

/// The bytes of a value, and the unit after it.
type KnownValue<'a> = (&'a [u8], Option<u32>);

/// The optional parts of a shape: their slot in the units without parts, and their range.
struct Parts {
    shape: u32,
    found: Vec<(usize, Range<usize>)>,
}

struct TemplateMerger<'a> {
    templates: &'a [Template],
    max_values: usize,
    units: Units,
    shapes: Vec<Shape>,
    any: u32,
    optional: u32,
    /// Words that became variables.
    variable_words: HashSet<u32>,
    threshold: u32,
    cancel: CancelToken,
}

impl<'a> TemplateMerger<'a> {
    fn new(table: &'a TemplateTable, order: &[u32], overrides: &Overrides) -> Self {
        let mut units = Units::default();
        let (any, optional) = (units.position(&ANY), units.position(&OPTIONAL));
        let templates = table.templates();
        let max_values = table.max_values();
        let mut merger = Self {
            templates,
            max_values,
            units,
            shapes: Vec::new(),
            any,
            optional,
            variable_words: HashSet::new(),
            threshold: overrides.threshold,
            cancel: CancelToken::current(),
        };
        for &position in order {
            let template = &merger.templates[position as usize];
            let spans = split_units(&template.text);
            let units: Vec<u32> =
                spans.iter().map(|range| merger.units.position(&template.text[range.clone()])).collect();
            let spans = spans.into_iter().map(|range| range.start as u32..range.end as u32).collect();
            let fixed = overrides.pinned.contains(&*table.templates()[position as usize].text);
            let members = vec![Member { template: position, spans }];
            let starts = |at: usize, mark: &[u8]| {
                units.get(at).is_some_and(|&unit| *merger.units.all[unit as usize].text == *mark)
            };
            let json = starts(0, b"{") && starts(1, b"\"");
            merger.shapes.push(Shape { units, members, fixed, json });
        }
        merger.collapse();
        merger
    }

    /// Merge shapes with the same units.
    fn collapse(&mut self) {
        let mut positions: HashMap<Vec<u32>, usize> = HashMap::with_capacity(self.shapes.len());
        let mut kept: Vec<Shape> = Vec::with_capacity(self.shapes.len());
        for shape in self.shapes.drain(..) {
            if let Some(&position) = positions.get(&shape.units).filter(|_| !shape.fixed) {
                kept[position].members.extend(shape.members);
            } else {
                if !shape.fixed {
                    positions.insert(shape.units.clone(), kept.len());
                }
                kept.push(shape);
            }
        }
        self.shapes = kept;
    }

    /// Return true if a plain word is left when these positions become wildcards.
    fn keeps_words(&self, shape: &Shape, without: impl Fn(usize) -> bool) -> bool {
        shape.units.iter().enumerate().any(|(at, &unit)| {
            let entry = &self.units.all[unit as usize];
            let letters = entry.text.iter().filter(|byte| byte.is_ascii_alphabetic() || **byte >= 128).count();
            !without(at) && !matches!(entry.class, Class::Between | Class::Optional | Class::Wildcard) && letters >= 2
        })
    }

    /// Return each shape with each of its words masked, sorted by hash.
    fn masked_templates(&self) -> Result<Vec<MaskedTemplate>> {
        let mut masked_templates = Vec::new();
        for (number, shape) in self.shapes.iter().enumerate() {
            self.cancel.check()?;
            if shape.fixed {
                continue;
            }
            let whole = hash_shape(&self.units, shape);
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            for (at, &unit) in shape.units.iter().enumerate() {
                if !matches!(self.units.class(unit), Class::Between | Class::Optional)
                    && !follows_message_key(at, &text)
                {
                    let key = whole.wrapping_sub(mix(self.units.all[unit as usize].hash, at));
                    masked_templates.push(MaskedTemplate { key, at: at as u32, shape: number as u32 });
                }
            }
        }
        self.cancel.sort(&mut masked_templates);
        self.cancel.check()?;
        Ok(masked_templates)
    }

    /// Return true if two shapes differ in one position only.
    fn same_rest(&self, a: u32, b: u32, at: u32) -> bool {
        let (a, b) = (&self.shapes[a as usize].units, &self.shapes[b as usize].units);
        a.len() == b.len() && a.iter().zip(b).enumerate().all(|(position, (x, y))| x == y || position == at as usize)
    }

    fn unit_at(&self, masked: &MaskedTemplate) -> u32 {
        self.shapes[masked.shape as usize].units[masked.at as usize]
    }

    /// Return the evidence of a masked word: more if it is a value elsewhere, and half for a plain first word, because it
    /// usually names the speaker.
    fn evidence(&self, masked: &MaskedTemplate) -> u32 {
        let unit = self.unit_at(masked);
        let class = self.units.class(unit);
        if self.variable_words.contains(&unit) {
            evidence(class).max(KNOWN)
        } else if masked.at == 0 && class == Class::Plain {
            evidence(class) / 2
        } else {
            evidence(class)
        }
    }

    /// Return true if [`LONG`] or more plain words are around a masked word.
    fn is_sentence(&self, masked: &MaskedTemplate) -> bool {
        let units = self.shapes[masked.shape as usize].units.iter().enumerate();
        let plain = |&(at, unit): &(usize, &u32)| at != masked.at as usize && self.units.class(*unit) == Class::Plain;
        units.filter(plain).count() >= LONG
    }

    /// Merge shapes that differ in a single word; return the number of words that became wildcards.
    fn merge_words(&mut self) -> Result<usize> {
        let masked_templates = self.masked_templates()?;
        let groups: Vec<&[MaskedTemplate]> =
            masked_templates.chunk_by(|a, b| a.key == b.key && a.at == b.at).filter(|group| group.len() > 1).collect();
        let recurring = self.find_recurring(&groups);
        let mut changes: Vec<(u32, u32)> = Vec::new();
        for (group, recurs) in groups.iter().zip(recurring) {
            let first = group[0];
            let peers: Vec<&MaskedTemplate> =
                group.iter().filter(|masked| self.same_rest(first.shape, masked.shape, first.at)).collect();
            let mut evidence: u32 = peers.iter().map(|masked| self.evidence(masked)).sum();
            if recurs {
                evidence *= 2;
            }
            if self.is_sentence(&first) {
                evidence += evidence * 3 / 5;
            }
            let shape = &self.shapes[first.shape as usize];
            let wildcard = peers.iter().any(|masked| self.unit_at(masked) == self.any);
            let takes_words = wildcard && peers.iter().any(|masked| self.takes_words(masked));
            if !self.keeps_words(shape, |at| at == first.at as usize) {
                continue;
            }
            for masked in peers {
                let unit = self.unit_at(masked);
                let joins = wildcard
                    && (matches!(self.units.class(unit), Class::Value | Class::Mixed | Class::Empty)
                        || self.variable_words.contains(&unit)
                        || is_missing(&self.units.all[unit as usize].text));
                if unit != self.any && (evidence >= self.threshold || joins || takes_words) {
                    changes.push((masked.shape, masked.at));
                }
            }
        }
        Ok(self.apply(&changes))
    }

    /// Return the bytes of a unit of a member.
    fn text_of(&self, member: &Member, at: usize) -> &[u8] {
        let span = &member.spans[at];
        &self.templates[member.template as usize].text[span.start as usize..span.end as usize]
    }

    /// Return true if the wildcard at this position already accepts words: a word was merged into it, or it has an open
    /// type.
    fn takes_words(&self, masked: &MaskedTemplate) -> bool {
        self.unit_at(masked) == self.any
            && self.kind_at(&self.shapes[masked.shape as usize], masked.at as usize).is_some_and(is_open)
    }

    /// Return the type of the wildcard at a position of a shape; None if all its values are empty.
    fn kind_at(&self, shape: &Shape, at: usize) -> Option<Kind> {
        let kinds = shape.members.iter().filter_map(|member| kind_of_units(self.text_of(member, at)));
        kinds.reduce(Kind::join)
    }

    /// Return for each group whether at least half of its words (three or more) recur together in another context.
    fn find_recurring(&self, groups: &[&[MaskedTemplate]]) -> Vec<bool> {
        let mut of_word: HashMap<u32, Vec<u32>> = HashMap::new();
        for (number, group) in groups.iter().enumerate() {
            for masked in *group {
                let unit = self.unit_at(masked);
                if unit != self.any {
                    of_word.entry(unit).or_default().push(number as u32);
                }
            }
        }
        let recurs = |group: &&[MaskedTemplate], number: usize| {
            let mut shared: HashMap<u32, usize> = HashMap::new();
            for masked in group.iter().take(64) {
                for &other in of_word.get(&self.unit_at(masked)).into_iter().flatten().take(64) {
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

    /// Return true for a word that names what a line is about: the first word of a line or of a quoted part, before an
    /// address or a path; a method of HTTP before a path; and the name of a call with a quoted argument, or of a part in
    /// brackets.
    fn is_name(&self, shape: &Shape, at: usize) -> bool {
        let units = &shape.units;
        let text = |at: usize| units.get(at).map_or(&b""[..], |&unit| &*self.units.all[unit as usize].text);
        if !matches!(self.units.class(units[at]), Class::Plain | Class::Capitals | Class::Value) {
            return false;
        }
        let before = at.checked_sub(1).map_or(&b""[..], text);
        let starts = before.is_empty() || before.ends_with(b" ");
        if text(at + 1) == b"(" {
            return starts && text(at + 2) == b"\"";
        }
        if text(at + 1) != b" " || at + 2 >= units.len() {
            return false;
        }
        let is_address = || match self.kind_at(shape, at + 2) {
            Some(kind) if units[at + 2] == self.any => matches!(kind, Kind::Path | Kind::Url | Kind::Ip),
            _ => text(at + 2).starts_with(b"/"),
        };
        let opens = before.is_empty() || self.is_quote(units[at - 1]);
        (opens || is_method(text(at))) && is_address()
    }

    /// Return true if a part of a shape may become a variable: it does not start with a name.
    fn may_vary(&self, shape: u32, range: Range<usize>) -> bool {
        range.is_empty() || !self.is_name(&self.shapes[shape as usize], range.start)
    }

    fn apply(&mut self, changes: &[(u32, u32)]) -> usize {
        let may_vary = |change: &&(u32, u32)| self.may_vary(change.0, change.1 as usize..change.1 as usize + 1);
        let changes: Vec<(u32, u32)> = changes.iter().filter(may_vary).copied().collect();
        for &(shape, at) in &changes {
            let unit = self.shapes[shape as usize].units[at as usize];
            if matches!(self.units.class(unit), Class::Plain | Class::Value) {
                self.variable_words.insert(unit);
            }
            self.shapes[shape as usize].units[at as usize] = self.any;
        }
        if !changes.is_empty() {
            self.collapse();
        }
        changes.len()
    }

    /// Return true if at least two plain words of a shape are at other positions.
    fn has_frame(&self, shape: &Shape, without: &[usize]) -> bool {
        let is_plain = |(at, unit): (usize, &u32)| self.units.class(*unit) == Class::Plain && !without.contains(&at);
        shape.units.iter().enumerate().filter(|&unit| is_plain(unit)).count() >= 2
    }

    /// Merge shapes that differ in a field of several units; return the number of merged fields.
    ///
    /// A call with a variable in it, `LOCAL({int})`, joins a wildcard, because it is one value. The contents of brackets
    /// and quotes are a variable if there are [`CONTENTS`] different ones with enough evidence, or if a wildcard there
    /// accepts any text.
    fn merge_fields(&mut self) -> Result<usize> {
        let mut masked: Vec<MaskedField> = Vec::new();
        let hashes: Vec<(Vec<u64>, Vec<u64>)> = self.shapes.iter().map(|shape| self.hash_edges(shape)).collect();
        let key = |number: usize, start: usize, end: usize| {
            let (before, after) = &hashes[number];
            mix(before[start], 0).wrapping_add(mix(after[end], 1))
        };
        for (number, shape) in self.shapes.iter().enumerate() {
            self.cancel.check()?;
            if !shape.is_free() {
                continue;
            }
            let class = |at: usize| self.units.class(shape.units[at]);
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            let whole = |at: usize| {
                let end = matches!(text(at), b"[" | b"(" | b"{" | b"<").then(|| close(shape.units.len(), at, &text));
                end.flatten().map(|end| Field { units: at..end, place: Place::Whole })
            };
            let fields = find_fields(shape.units.len(), class, text);
            for field in fields.into_iter().chain((0..shape.units.len()).filter_map(whole)) {
                let key = key(number, field.units.start, field.units.end);
                masked.push(MaskedField { key, shape: number as u32, field });
            }
        }
        let keys: HashSet<u64> = masked.iter().map(|masked| masked.key).collect();
        if keys.is_empty() {
            return Ok(0);
        }
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            for at in 0..shape.units.len() {
                let key = key(number, at, at + 1);
                if !matches!(self.units.class(shape.units[at]), Class::Between | Class::Optional) && keys.contains(&key)
                {
                    let field = Field { units: at..at + 1, place: Place::Word };
                    masked.push(MaskedField { key, shape: number as u32, field });
                }
            }
        }
        masked.sort_unstable_by_key(|masked| (masked.key, masked.shape, masked.field.units.start));
        self.cancel.check()?;
        let mut folds: Vec<(u32, Range<usize>)> = Vec::new();
        for group in masked.chunk_by(|a, b| a.key == b.key).filter(|group| group.len() > 1) {
            self.judge_fields(group, &mut folds);
        }
        Ok(self.fold(folds, self.any))
    }

    /// Decide which fields at one position become a wildcard.
    fn judge_fields(&self, group: &[MaskedField], folds: &mut Vec<(u32, Range<usize>)>) {
        let first = &group[0];
        let units = |masked: &MaskedField| &self.shapes[masked.shape as usize].units;
        let peers: Vec<&MaskedField> = group
            .iter()
            .filter(|masked| {
                let ((a, from), (b, to)) = ((units(first), &first.field.units), (units(masked), &masked.field.units));
                a[..from.start] == b[..to.start] && a[from.end..] == b[to.end..]
            })
            .collect();
        let single =
            |masked: &MaskedField| (masked.field.units.len() == 1).then(|| units(masked)[masked.field.units.start]);
        let has_any = peers.iter().any(|masked| single(masked) == Some(self.any));
        let takes_text = peers.iter().any(|masked| {
            single(masked) == Some(self.any)
                && self.kind_at(&self.shapes[masked.shape as usize], masked.field.units.start) == Some(Kind::Text)
        });
        let missing =
            |masked: &MaskedField| single(masked).is_some_and(|unit| is_missing(&self.units.all[unit as usize].text));
        let shape = &self.shapes[first.shape as usize];
        if peers.len() < 2 || !self.keeps_words(shape, |at| first.field.units.contains(&at)) {
            return;
        }
        let long = || peers.iter().filter(|masked| masked.field.units.len() > 1);
        let place = long().map(|masked| masked.field.place).max_by_key(|&place| place as u8).unwrap_or(Place::Word);
        let class = |masked: &&MaskedField| match single(masked).map_or(Class::Value, |unit| self.units.class(unit)) {
            Class::Capitals | Class::Plain if place == Place::Rest => Class::Value,
            class => class,
        };
        let total: u32 = peers.iter().map(|masked| evidence(class(masked))).sum();
        let enough = match place {
            Place::Enclosed if self.is_quote(units(first)[first.field.units.start - 1]) => 2 * total >= self.threshold,
            Place::Enclosed => peers.len() >= CONTENTS && total + total / 2 >= self.threshold,
            Place::Word | Place::Rest => total >= self.threshold,
            Place::Whole => false,
        };
        let joins =
            takes_text || enough || (place == Place::Word && (has_any || peers.iter().any(|masked| missing(masked))));
        if !joins || long().next().is_none() {
            return;
        }
        for masked in &peers {
            let plain = single(masked).is_some_and(|unit| unit == self.any);
            if !plain && (enough || takes_text || masked.field.units.len() > 1 || missing(masked)) {
                folds.push((masked.shape, masked.field.units.clone()));
            }
        }
    }

    /// Return true for quotation marks.
    fn is_quote(&self, unit: u32) -> bool {
        matches!(&*self.units.all[unit as usize].text, b"'" | b"\"" | b"`")
    }

    fn run(&mut self) -> Result<()> {
        for _ in 0..ROUNDS {
            for _ in 0..ROUNDS {
                if self.merge_structures()? + self.merge_words()? == 0 {
                    break;
                }
            }
            let changed = self.merge_pairs() + self.merge_keyed()? + self.merge_fields()? + self.merge_optional()?;
            if changed == 0
                && self.merge_covered()? == 0
                && self.merge_chunks()? == 0
                && self.merge_known()? == 0
                && self.merge_into_texts()? == 0
            {
                break;
            }
        }
        Ok(())
    }
}

/// User overrides of the merge.
#[derive(Clone, Debug)]
pub struct Overrides {
    /// Templates that are never merged.
    pub pinned: HashSet<Vec<u8>>,
    /// Merged templates to split into their shapes.
    pub split: HashSet<Vec<u8>>,
    /// Evidence that makes a word a variable; differs from [`EVIDENCE_THRESHOLD`] in measurements only.
    pub threshold: u32,
}

impl Default for Overrides {
    fn default() -> Self {
        Self { pinned: HashSet::new(), split: HashSet::new(), threshold: EVIDENCE_THRESHOLD }
    }
}

/// Merge the templates of a table.
///
/// # Errors
/// The call is cancelled, or memory allocation fails.
pub fn merge_templates(table: &TemplateTable, overrides: &Overrides) -> Result<TemplateTable> {
    let order = table.sorted()?;
    let mut merger = TemplateMerger::new(table, &order, overrides);
    let first = if overrides.split.is_empty() { Vec::new() } else { merger.shapes.clone() };
    merger.run()?;
    let mut result = TemplateTable::new(table.max_values(), 1 << 31)?;
    for shape in &merger.shapes {
        merger.cancel.check()?;
        let template = merger.merged_template(shape)?;
        if !overrides.split.contains(&*template.printed(table.max_values()).0.text) {
            result.add_template(&template)?;
            continue;
        }
        let members: HashSet<u32> = shape.members.iter().map(|member| member.template).collect();
        for part in first.iter().filter(|part| members.contains(&part.members[0].template)) {
            result.add_template(&merger.merged_template(part)?)?;
        }
    }
    Ok(result)
}

/// Replace the templates of a table by the merged ones: fewer templates for the same lines.
///
/// # Errors
/// As for [`merge_templates`]. The table is then unchanged.
pub fn compact(table: &mut TemplateTable, overrides: &Overrides) -> Result<()> {
    let merged = merge_templates(table, overrides)?;
    table.replace(merged)
}

impl TemplateMerger<'_> {
    /// Return the merged template of a shape: the sum of its members, with types for the new wildcards.
    fn merged_template(&self, shape: &Shape) -> Result<Template> {
        let max_values = self.max_values;
        let mut text: Vec<Vec<u8>> = Vec::new();
        let mut wildcards: Vec<(Option<Kind>, Values)> = Vec::new();
        let mut whole: Option<Template> = None;
        for (number, member) in shape.members.iter().enumerate() {
            let template: &Template = &self.templates[member.template as usize];
            let offsets = wildcard_offsets(&template.text);
            let mut into = 0;
            for (at, &unit) in shape.units.iter().enumerate() {
                let bytes = self.text_of(member, at);
                let mut wildcard = offsets.partition_point(|&offset| offset < member.spans[at].start);
                let inside = templates::wildcard_kinds(bytes).unwrap_or_default();
                let mut put = |kind: Option<Kind>, sample: Option<&Values>, value: &[u8]| -> Result<()> {
                    if number == 0 {
                        wildcards.push((None, Values::default()));
                    }
                    let (joined, values) = &mut wildcards[into];
                    *joined = joined.map_or(kind, |joined| Some(kind.map_or(joined, |kind| joined.join(kind))));
                    into += 1;
                    match sample {
                        Some(sample) => values.merge(sample, max_values),
                        None => values.add(values::hash(value), value, max_values),
                    }
                };
                let is_whole = unit == self.any || unit == self.optional;
                if !is_whole {
                    for &kind in &inside {
                        put(Some(kind), Some(&template.wildcards[wildcard]), b"")?;
                        wildcard += 1;
                    }
                } else if bytes.len() == 2 && inside.len() == 1 {
                    let kind = if unit == self.optional { Kind::Optional } else { inside[0] };
                    put(Some(kind), Some(&template.wildcards[wildcard]), b"")?;
                } else {
                    let value = templates::to_text(bytes);
                    let kind = if unit == self.optional { Some(Kind::Optional) } else { kind_of_units(bytes) };
                    put(kind, None, &value)?;
                }
                if number == 0 {
                    text.push(if is_whole { ANY.to_vec() } else { bytes.to_vec() });
                }
            }
            match &mut whole {
                None => whole = Some(template.without_wildcards()),
                Some(whole) => whole.absorb(&template.without_wildcards(), max_values)?,
            }
        }
        let mut whole = whole.unwrap_or(Template::empty());
        let mut bytes = Vec::new();
        let mut kinds = wildcards.iter().map(|wildcard| wildcard.0.unwrap_or(Kind::Text));
        for (_, element) in text.iter().flat_map(|unit| templates::elements(unit)) {
            match element {
                Element::Literal(byte) => templates::push_literal(&mut bytes, &[byte]),
                Element::Wildcard(kind) => templates::push_wildcard(&mut bytes, kinds.next().unwrap_or(kind)),
            }
        }
        whole.text = bytes.into();
        whole.wildcards = wildcards.into_iter().map(|wildcard| wildcard.1).collect();
        Ok(whole)
    }
}

#[cfg(test)]
mod tests;
