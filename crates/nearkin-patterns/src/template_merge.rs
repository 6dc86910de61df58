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
//!    than a plain word, a word in capitals less. A wildcard among the words, quotes, brackets or `=` around them, a
//!    colon before them at the end of the line, and a set of words that recurs in another context increase the evidence.
//!    Five plain words or more around the word, a sentence, increase it by three fifths. Two methods or versions of HTTP,
//!    two Boolean values, and a noun and its plural after a number, suffice.
//! 4. If the evidence reaches [`EVIDENCE_THRESHOLD`], the word becomes a wildcard, unless the template would lose its
//!    last plain word of two letters.
//!
//! Before that, tags in brackets at the start of lines become wildcards if several of them are before the same rests.
//! Objects of JSON are merged if they have the same keys and the same message, and of the other steps only those for words
//! apply to them.
//! When no single word changes any more, larger steps follow, the surest first:
//!
//! 5. Pairs `key=value` that occur in several orders are sorted by key, and values of pairs in which shapes differ are
//!    masked, as are those of `Key:  value` in cells between two blanks or tabs.
//! 6. Fields of several units ([`crate::units`]) are masked like words. A call with a variable in it joins a wildcard.
//!    The rest of a line is a variable after `key=`, or after a colon and a variable, if there are enough texts.
//! 7. Brackets with a variable in them that other shapes lack are an optional part.
//! 8. Several words at once are masked: words with numbers, names with symbols, values after `=`.
//! 9. Shapes join a shape with several variables that accept all words, and a field of several units, in which they
//!    differ.
//! 10. A clause with a variable, such as ` port 22`, is an optional part if two shapes or more lack it.
//! 11. A part that is optional in a shape is so in those that differ from it in names alone.
//! 12. All values of a shape are masked, and all words between blanks that are not plain.
//! 13. What others have at the place of a printed null is a value, and so are several words at the place of a variable
//!     in a sentence, and the values of a variable after the same units in any shape. What follows after eight pairs
//!     `key=value` with the same keys is a variable.
//! 14. Shapes with the same code of a message (`%LINK-3-UPDOWN:`) are one format: all words in which they differ are
//!     variables, and so is what is left between their common starts and ends.
//! 15. Shapes join one with a variable for any text, whose words around it they have.
//! 16. All words are masked, as long as each position that varies has half as much again of the evidence, or the words
//!     combine freely, and the words that are left make a sentence.
//!
//! Only sets of templates count, not their frequency or order, and merging is idempotent.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::iter;
use std::ops::Range;

use crate::kinds::Kind;
use crate::lines::{is_http, is_message_code};
use crate::templates::{self, Element, Template, TemplateTable, WILDCARD};
use crate::units::{
    ANY, Class, FIELD, Field, OPTIONAL, Place, Run, Tail, Units, clause_ends, close, cover, find_chunks, find_fields,
    find_json, find_keyed, find_pairs, find_runs, find_structures, find_tails, follows_message_key, is_json_message,
    is_message, is_missing, is_open, is_prefix, kind_of_units, part_end, sort_pairs, split_units, value_end,
    wildcard_offsets,
};
use crate::values::{self, Values};
use nearkin_core::Result;
use nearkin_core::cancel::CancelToken;

/// Evidence that makes a word a variable.
pub const EVIDENCE_THRESHOLD: u32 = 16;
/// Number of plain words around a word from which on it needs less evidence.
const LONG: usize = 5;
/// Number of shapes above which freely combined values after `=` are variables.
const FREE: usize = 3;
/// Number of plain words around a text that make a shape cover others.
const FRAME: usize = 3;
/// Number of different contents of brackets that make them a variable.
const CONTENTS: usize = 3;
/// Number of different texts after the same `key=` that make the rest of a line a variable.
const TEXTS: usize = 4;
/// Number of pairs at the start of a list of pairs that may go on in several ways.
const PAIRS: usize = 8;
/// Number of values in cells that make a line a table of keys and values.
const CELLS: usize = 3;
/// Number of objects of JSON in each other whose values are compared one by one.
const JSON_DEPTH: usize = 4;
/// Maximum number of units of a value that consists of words.
const WORDS: usize = 7;
/// Maximum number of sets of positions, for one number of units, and of shapes with a text that are compared with each
/// shape.
const MASKS: usize = 256;
/// Maximum number of rounds; each reduces the number of shapes.
const ROUNDS: usize = 256;

/// A class of words that are masked together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Words that contain wildcards.
    Mixed,
    /// Also words with symbols or digits, and those that are variables elsewhere.
    Values,
    /// Words after `=`.
    Keyed,
    /// All words.
    Words,
}

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
    /// True for an object of JSON, which only single words and its values are merged in.
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

/// Return true for a Boolean value.
fn is_boolean(text: &[u8]) -> bool {
    text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false")
}

/// Return true for a unit of time.
fn is_time_unit(text: &[u8]) -> bool {
    let words: [&[u8]; 10] = [b"ns", b"us", b"ms", b"s", b"sec", b"min", b"h", b"second", b"minute", b"hour"];
    words.contains(&text.strip_suffix(b"s").filter(|word| word.len() > 2).unwrap_or(text))
        || matches!(text, b"day" | b"days")
}

/// Return true for the value of a variable without a value.
fn is_null(text: &[u8]) -> bool {
    matches!(text, b"null" | b"NULL" | b"None" | b"nil" | b"undefined" | b"NaN")
}

/// Return true for words of a sentence that are no part of a name.
fn is_particle(text: &[u8]) -> bool {
    let words: [&[u8]; 20] = [
        b"the", b"a", b"an", b"not", b"no", b"is", b"are", b"was", b"were", b"has", b"have", b"to", b"for", b"from",
        b"in", b"on", b"by", b"with", b"and", b"at",
    ];
    words.contains(&text)
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

/// A shape and the rest of its line.
type ShapeTail = (u32, Tail);

/// The units before and after a range.
type Around<'a> = (&'a [u32], &'a [u32]);

/// The bytes of a value, and the unit after it.
type KnownValue<'a> = (&'a [u8], Option<u32>);

/// The units before and after the rest of a line, and whether it follows `=`.
type TailContext = (Vec<u32>, Vec<u32>, bool);

/// A shape with a clause, and one without it: the range of the clause, and the place in the other shape.
type ClausePair = ((u32, Range<usize>), (u32, Range<usize>));

/// The optional parts of a shape: their slot in the units without parts, and their range; and the position of each slot
/// in these units.
struct Parts {
    shape: u32,
    found: Vec<(usize, Range<usize>)>,
    slots: Vec<usize>,
}

struct TemplateMerger<'a> {
    templates: Vec<Cow<'a, Template>>,
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
    fn new(table: &'a TemplateTable, order: &[u32], overrides: &Overrides) -> Result<Self> {
        let mut units = Units::default();
        let (any, optional) = (units.position(&ANY), units.position(&OPTIONAL));
        let templates = collapse_runs(table)?;
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
            let mut shape = Shape { units, members, fixed, json: false };
            let text = |at: usize| &*merger.units.all[shape.units[at] as usize].text;
            shape.json = !find_json(shape.units.len(), text).is_empty();
            merger.shapes.push(shape);
        }
        merger.collapse();
        Ok(merger)
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

    /// Return the evidence of a masked word. A plain first word counts half because it usually names the speaker.
    fn evidence(&self, masked: &MaskedTemplate) -> u32 {
        let class = self.units.class(self.unit_at(masked));
        if masked.at == 0 && class == Class::Plain { evidence(class) / 2 } else { evidence(class) }
    }

    /// Return true if the context indicates a value: after `=`, or between quotes or brackets.
    fn is_enclosed(&self, masked: &MaskedTemplate) -> bool {
        let units = &self.shapes[masked.shape as usize].units;
        let at = masked.at as usize;
        let edge = |position: Option<usize>, last: bool| {
            let text =
                position.and_then(|position| units.get(position)).map(|&unit| &*self.units.all[unit as usize].text);
            text.and_then(|text| if last { text.last() } else { text.first() }).copied().unwrap_or(b' ')
        };
        let (before, after) = (edge(at.checked_sub(1), true), edge(Some(at + 1), false));
        before == b'='
            || matches!(
                (before, after),
                (b'\'', b'\'')
                    | (b'"', b'"')
                    | (b'(', b')')
                    | (b'[', b']')
                    | (b'<', b'>')
                    | (b'`', b'`')
                    | (b'|', b'|')
            )
    }

    /// Return true if a masked word is all that is between two quotes.
    fn is_quoted(&self, masked: &MaskedTemplate) -> bool {
        let (units, at) = (&self.shapes[masked.shape as usize].units, masked.at as usize);
        let text = |at: usize| &*self.units.all[units[at] as usize].text;
        at > 0
            && self.is_quote(units[at - 1])
            && units.get(at + 1) == Some(&units[at - 1])
            && !is_json_message(at - 1, &text)
    }

    /// Return true if a masked word is the rest of a line behind a colon.
    fn is_rest(&self, masked: &MaskedTemplate) -> bool {
        let units = &self.shapes[masked.shape as usize].units;
        let before = (masked.at as usize).checked_sub(1).map(|before| &*self.units.all[units[before] as usize].text);
        masked.at as usize + 1 == units.len() && before == Some(b": ")
    }

    /// Return true if the words are two or more methods of HTTP, versions of it, or Boolean values.
    fn are_enumerated(&self, peers: &[&MaskedTemplate]) -> bool {
        let words = || peers.iter().map(|masked| self.unit_at(masked)).filter(|&unit| unit != self.any);
        let all = |is: fn(&[u8]) -> bool| words().all(|unit| is(&self.units.all[unit as usize].text));
        words().count() > 1 && (all(is_method) || all(is_boolean) || all(is_http))
    }

    /// Return true if the words are units of time after a number, or a noun and its plural, maybe with another word between
    /// the number and them.
    fn are_counted(&self, peers: &[&MaskedTemplate]) -> bool {
        let (units, at) = (&self.shapes[peers[0].shape as usize].units, peers[0].at as usize);
        let are_times = || peers.iter().all(|masked| is_time_unit(&self.units.all[self.unit_at(masked) as usize].text));
        if at > 1 && units[at - 2] == self.any && *self.units.all[units[at - 1] as usize].text == *b" " && are_times() {
            return true;
        }
        let [one, two] = peers else { return false };
        let text = |masked: &MaskedTemplate| &*self.units.all[self.unit_at(masked) as usize].text;
        let plural = |one: &[u8], two: &[u8]| two.strip_suffix(b"s") == Some(one);
        let units = &self.shapes[one.shape as usize].units;
        let (at, blank) = (one.at as usize, |at: usize| *self.units.all[units[at] as usize].text == *b" ");
        let counted = |words: usize| at >= words && units[at - words] == self.any && blank(at - 1);
        self.units.class(self.unit_at(one)) == Class::Plain
            && text(one).len().min(text(two).len()) > 1
            && (plural(text(one), text(two)) || plural(text(two), text(one)))
            && (counted(2) || counted(4))
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
            if self.is_enclosed(&first) {
                evidence += evidence / 2;
            }
            if self.is_rest(&first) {
                evidence *= 2;
            }
            if recurs {
                evidence *= 2;
            }
            if self.is_sentence(&first) {
                evidence += evidence * 3 / 5;
            }
            if self.are_enumerated(&peers)
                || self.are_counted(&peers)
                || (peers.len() >= CONTENTS && self.is_quoted(&first))
            {
                evidence = evidence.max(self.threshold);
            }
            // Words that are all variables elsewhere are variables here: three, or two between quotes or brackets.
            let few = if self.is_enclosed(&first) { 2 } else { 3 };
            if peers.len() >= few && peers.iter().all(|masked| self.variable_words.contains(&self.unit_at(masked))) {
                evidence = evidence.max(self.threshold);
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

    fn apply(&mut self, changes: &[(u32, u32)]) -> usize {
        for &(shape, at) in changes {
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

    /// Merge shapes that differ in several words: mask the words of `level` in each shape and merge each group if
    /// every varying position has enough evidence.
    fn merge_level(&mut self, level: Level) -> Result<usize> {
        let mut keys: Vec<(u64, u32)> = Vec::new();
        let masked_units: Vec<Vec<bool>> = self.shapes.iter().map(|shape| self.masked_units(shape, level)).collect();
        for (number, shape) in self.shapes.iter().enumerate() {
            self.cancel.check()?;
            if shape.fixed || !masked_units[number].contains(&true) {
                continue;
            }
            let hash = |at: usize, unit: u32| {
                let unit = if masked_units[number][at] { self.any } else { unit };
                mix(self.units.all[unit as usize].hash, at)
            };
            let sum = shape.units.iter().enumerate();
            let sum = sum.fold(shape.units.len() as u64, |sum, (at, &unit)| sum.wrapping_add(hash(at, unit)));
            keys.push((sum, number as u32));
        }
        self.cancel.sort(&mut keys);
        self.cancel.check()?;
        let mut changes = Vec::new();
        for group in keys.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1) {
            let (first, first_open) = (&self.shapes[group[0].1 as usize].units, &masked_units[group[0].1 as usize]);
            let peers = |shape: u32| {
                let (units, masked_units) = (&self.shapes[shape as usize].units, &masked_units[shape as usize]);
                let same = |at: usize| units[at] == first[at] || (masked_units[at] && first_open[at]);
                units.len() == first.len() && (0..units.len()).all(same)
            };
            let shapes: Vec<u32> = group.iter().map(|key| key.1).filter(|&shape| peers(shape)).collect();
            self.refine(shapes, level, &mut changes);
        }
        Ok(self.apply(&changes))
    }

    /// Return which units of a shape a level masks.
    fn masked_units(&self, shape: &Shape, level: Level) -> Vec<bool> {
        let class = |at: usize| self.units.class(shape.units[at]);
        let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
        let behind_equals = |at: usize| at > 0 && text(at - 1).ends_with(b"=");
        let is_open = |at: usize| match level {
            Level::Mixed => matches!(class(at), Class::Mixed | Class::Wildcard),
            Level::Values => {
                matches!(class(at), Class::Value | Class::Mixed | Class::Wildcard)
                    || self.variable_words.contains(&shape.units[at])
            }
            Level::Words => !matches!(class(at), Class::Between | Class::Optional),
            Level::Keyed => !matches!(class(at), Class::Between | Class::Optional) && behind_equals(at),
        };
        (0..shape.units.len()).map(|at| is_open(at) && !follows_message_key(at, &text)).collect()
    }

    /// Merge a group if each varying position has enough evidence. Otherwise split it at the position with the fewest
    /// words.
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
                .filter(|position| position.1.len() > 1)
                .collect();
            if varying.is_empty() {
                continue;
            }
            let weak = varying.iter().filter(|position| !self.has_evidence(&position.1, &varying, shapes.len(), level));
            let mut split = weak.min_by_key(|position| (position.1.len(), position.0));
            if level == Level::Words && !self.has_sentence(shapes[0], &varying) {
                split = split.or_else(|| varying.iter().min_by_key(|position| (position.1.len(), position.0)));
            }
            if let Some((at, _)) = split {
                let mut parts: HashMap<u32, Vec<u32>> = HashMap::new();
                for &shape in &shapes {
                    parts.entry(self.shapes[shape as usize].units[*at]).or_default().push(shape);
                }
                waiting.extend(parts.into_values().filter(|part| part.len() > 1));
                continue;
            }
            let positions: Vec<u32> = varying.iter().map(|position| position.0 as u32).collect();
            if self.keeps_words(&self.shapes[shapes[0] as usize], |at| positions.contains(&(at as u32))) {
                let unit = |shape: u32, at: u32| self.shapes[shape as usize].units[at as usize];
                let all = shapes.iter().flat_map(|&shape| positions.iter().map(move |&at| (shape, at)));
                changes.extend(all.filter(|&(shape, at)| unit(shape, at) != self.any));
            }
        }
    }

    /// Return true if at least two plain words of a shape are at other positions.
    fn has_frame(&self, shape: &Shape, without: &[usize]) -> bool {
        let is_plain = |(at, unit): (usize, &u32)| self.units.class(*unit) == Class::Plain && !without.contains(&at);
        shape.units.iter().enumerate().filter(|&unit| is_plain(unit)).count() >= 2
    }

    /// Return true if at least two plain words, and twice as many as the varying positions with plain words, are equal.
    fn has_sentence(&self, shape: u32, varying: &[(usize, Vec<u32>)]) -> bool {
        let is_plain = |unit: u32| self.units.class(unit) == Class::Plain;
        let plain = varying.iter().filter(|position| position.1.iter().any(|&unit| is_plain(unit))).count();
        let units = self.shapes[shape as usize].units.iter().enumerate();
        let equal = units.filter(|(at, unit)| is_plain(**unit) && varying.iter().all(|position| position.0 != *at));
        equal.count() >= (2 * plain).max(2)
    }

    /// Return true if the words at a varying position are evidence of a variable.
    fn has_evidence(&self, units: &[u32], varying: &[(usize, Vec<u32>)], shapes: usize, level: Level) -> bool {
        let evidence: u32 = units.iter().map(|&unit| evidence(self.units.class(unit))).sum();
        // Values combine freely if there are more lines than words at any position.
        let max_words = varying.iter().map(|position| position.1.len()).max().unwrap_or(0);
        let capitals = units.iter().any(|&unit| self.units.class(unit) == Class::Capitals);
        let combine = |least: usize| varying.len() > 1 && shapes > least && shapes > max_words;
        match level {
            Level::Mixed => evidence >= self.threshold,
            Level::Values => evidence >= self.threshold + self.threshold / 2,
            Level::Words => evidence >= self.threshold + self.threshold / 2 || (combine(2 * FREE) && !capitals),
            Level::Keyed => combine(FREE),
        }
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

    /// Merge shapes that differ in the rest of a line: [`TEXTS`] or more texts after the same `key=`, at least all but
    /// one of them with a literal at the start, and with as many last words; or half as many again behind a colon, three
    /// quarters of them without a variable, with a variable that accepts words before the colon.
    fn merge_tails(&mut self) -> Result<usize> {
        let mut groups: HashMap<TailContext, Vec<ShapeTail>> = HashMap::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            let class = |at: usize| self.units.class(shape.units[at]);
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            for tail in find_tails(shape.units.len(), class, text) {
                let (before, after) = (&shape.units[..tail.units.start], &shape.units[tail.units.end..]);
                groups.entry((before.to_vec(), after.to_vec(), tail.keyed)).or_default().push((number as u32, tail));
            }
        }
        let mut folds = Vec::new();
        for group in groups.into_values().filter(|group| group.len() > 1) {
            self.judge_tails(&group, &mut folds);
        }
        Ok(self.fold(folds, self.any))
    }

    /// Decide whether the rests of the line behind the same text become a wildcard.
    fn judge_tails(&self, group: &[ShapeTail], folds: &mut Vec<(u32, Range<usize>)>) {
        let (first, Tail { units: Range { start, end }, keyed }) = &group[0];
        let (shape, start) = (&self.shapes[*first as usize], *start);
        if !self.keeps_words(shape, |at| (start..*end).contains(&at)) {
            return;
        }
        let value = |tail: &ShapeTail| &self.shapes[tail.0 as usize].units[tail.1.units.clone()];
        let varies = |unit: &u32| matches!(self.units.class(*unit), Class::Wildcard | Class::Mixed);
        let is_list =
            |value: &[u32]| value.iter().all(|unit| varies(unit) || self.units.class(*unit) == Class::Between);
        let kinds = |at: usize| group.iter().filter_map(move |tail| self.kind_at(&self.shapes[tail.0 as usize], at));
        let takes_text = group.iter().any(|tail| {
            value(tail) == [self.any] && self.kind_at(&self.shapes[tail.0 as usize], start) == Some(Kind::Text)
        });
        let texts: Vec<&[u32]> = group.iter().map(value).filter(|value| value.len() > 1).collect();
        let enough = if *keyed {
            // A value and more words, such as `pid=5 died`, are no text.
            let starts = texts.iter().filter(|text| !varies(&text[0])).count();
            let ends: HashSet<Option<&u32>> = texts.iter().map(|text| text.last()).collect();
            starts + 1 >= TEXTS && ends.len() >= TEXTS
        } else {
            let before = || (0..start).filter(|&at| shape.units[at] == self.any);
            let plain = (0..start).filter(|&at| self.units.class(shape.units[at]) == Class::Plain).count();
            // A time, or a program after a host, names the speaker of a line.
            let is_time = |kind: Kind| matches!(kind, Kind::DateTime | Kind::Date | Kind::Time);
            let speaks = before().any(|at| kinds(at).any(is_time))
                || (plain == 1 && self.units.class(shape.units[start - 2]) == Class::Plain);
            let constant = texts.iter().filter(|text| !text.iter().any(varies)).count();
            if speaks || !before().any(|at| kinds(at).any(is_open)) {
                return;
            }
            texts.len() >= TEXTS + TEXTS / 2 && 4 * constant >= 3 * texts.len()
        };
        let joins = |value: &[u32]| takes_text && value.len() > 1 && (!keyed || !varies(&value[0]) || is_list(value));
        let changed = group.iter().filter(|tail| value(tail) != [self.any] && (enough || joins(value(tail))));
        folds.extend(changed.map(|tail| (tail.0, tail.1.units.clone())));
    }

    /// Return true for quotation marks.
    fn is_quote(&self, unit: u32) -> bool {
        matches!(&*self.units.all[unit as usize].text, b"'" | b"\"" | b"`")
    }

    /// Merge shapes that differ in the lengths of lists of wildcards; [`collapse_runs`] did so for their templates.
    fn merge_runs(&mut self) -> usize {
        let mut groups: HashMap<Vec<u32>, Vec<ShapeValues>> = HashMap::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            let (units, mut ranges, mut at) = (&shape.units, Vec::new(), 0);
            while at < units.len() {
                let mut end = at + 1;
                while units[at] == self.any
                    && units.get(end + 1) == Some(&self.any)
                    && units[end] == units[at + 1]
                    && self.units.class(units[end]) == Class::Between
                    && !self.units.all[units[end] as usize].text.contains(&b'\n')
                {
                    end += 2;
                }
                if units[at] == self.any {
                    ranges.push(at..end);
                }
                at = end;
            }
            groups.entry(self.without(shape, &ranges)).or_default().push((number as u32, ranges));
        }
        let mut folds = Vec::new();
        for group in groups.into_values().filter(|group| group.len() > 1) {
            let is_list = |shape: u32, run: &Range<usize>| {
                let separator = self.shapes[shape as usize].units.get(run.start + 1).filter(|_| run.len() > 1);
                run.len() > 3 || separator.is_some_and(|&unit| self.units.all[unit as usize].text.contains(&b','))
            };
            if group.iter().any(|(shape, runs)| runs.iter().any(|run| is_list(*shape, run))) {
                let all = group.into_iter().flat_map(|(shape, runs)| runs.into_iter().map(move |run| (shape, run)));
                folds.extend(all.filter(|(_, run)| run.len() > 1));
            }
        }
        self.fold(folds, self.any)
    }

    /// Sort pairs `key=value` by key in shapes that others equal up to the order of keys.
    fn merge_pairs(&mut self) -> usize {
        let mut groups: HashMap<Vec<u32>, Vec<ShapeOrder>> = HashMap::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            let count = shape.units.len();
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            let pairs = find_pairs(count, |at| self.units.class(shape.units[at]), text);
            if pairs.is_empty() {
                continue;
            }
            let order = sort_pairs(count, &pairs, text);
            // Values do not matter.
            let mut units = shape.units.clone();
            for pair in pairs.iter().flatten() {
                units[pair.start + 2..pair.end].fill(self.any);
            }
            let key = match &order {
                Some(order) => order.iter().map(|&at| units[at]).collect(),
                None => units,
            };
            groups.entry(key).or_default().push((number as u32, order));
        }
        let mut count = 0;
        for group in groups.into_values() {
            let first = &group[0].1;
            if group.iter().all(|(_, order)| order == first) {
                continue;
            }
            for (number, order) in group {
                let Some(order) = order else { continue };
                count += 1;
                let shape = &mut self.shapes[number as usize];
                shape.units = order.iter().map(|&at| shape.units[at]).collect();
                for member in &mut shape.members {
                    member.spans = order.iter().map(|&at| member.spans[at].clone()).collect();
                }
            }
        }
        if count > 0 {
            self.collapse();
        }
        count
    }

    /// Make tags in brackets at the start of lines, or after their first word, a variable, such as the names of threads,
    /// but not levels, if several tags are before the same rest, for more than [`FREE`] rests and tags: those tags, and
    /// all that have more than plain words.
    fn merge_tags(&mut self) -> Result<usize> {
        let mut rests: HashMap<Around, Vec<(u32, Range<usize>)>> = HashMap::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            let count = shape.units.len();
            let after_word = count > 2 && text(0) != b"[" && text(1).ends_with(b" ") && text(2) == b"[";
            let start = if after_word { 2 } else { 0 };
            if text(start) == b"["
                && let Some(end) = close(count, start, &text)
                && end > start + 2
                && !(end == start + 3 && is_level(text(start + 1)))
                && self.keeps_words(shape, |at| (start..end).contains(&at))
            {
                let (before, rest) = (&shape.units[..start], &shape.units[end..]);
                rests.entry((before, rest)).or_default().push((number as u32, start + 1..end - 1));
            }
        }
        let tag = |found: &(u32, Range<usize>)| &self.shapes[found.0 as usize].units[found.1.clone()];
        let shared = || rests.values().filter(|tags| tags.len() > 1);
        let tags: HashSet<&[u32]> = shared().flatten().map(tag).collect();
        if tags.len() <= FREE || shared().count() <= FREE {
            return Ok(0);
        }
        let is_plain = |unit: &u32| matches!(self.units.class(*unit), Class::Between | Class::Plain | Class::Capitals);
        let joins = |tag: &[u32]| tag != [self.any] && (tags.contains(tag) || !tag.iter().all(is_plain));
        let folds = rests.values().flatten().filter(|found| joins(tag(found))).cloned().collect();
        Ok(self.fold(folds, self.any))
    }

    /// Merge shapes that differ in words between blanks, none of them plain, and those whose rest of the line is a
    /// variable of others as well.
    fn merge_chunks(&mut self) -> Result<usize> {
        let find = |merger: &Self, shape: &Shape, with_tail: bool| {
            let text = |at: usize| &*merger.units.all[shape.units[at] as usize].text;
            let class = |at: usize| merger.units.class(shape.units[at]);
            let mut ranges = find_chunks(shape.units.len(), class, text);
            if with_tail && let Some(tail) = find_tails(shape.units.len(), class, text).pop() {
                ranges.retain(|range| range.end <= tail.units.start);
                ranges.push(tail.units);
            }
            ranges
        };
        let merged = self.merge_ranges(false, |merger, shape| find(merger, shape, false), Self::is_variable)?;
        let joins = |merger: &Self, values: &HashSet<&[u32]>, bound| {
            values.contains(&[merger.any][..]) && merger.is_variable(values, bound)
        };
        Ok(merged + self.merge_ranges(false, |merger, shape| find(merger, shape, true), joins)?)
    }

    /// Merge shapes that differ in several fields at once: values after `=`, contents of quotes and brackets, and words
    /// with symbols, digits or wildcards.
    fn merge_values(&mut self) -> Result<usize> {
        self.merge_ranges(false, Self::find_values, Self::is_variable)
    }

    /// Merge shapes, objects of JSON or others, that differ in these ranges of units alone, if the contents of each are those of a variable.
    fn merge_ranges(
        &mut self,
        json: bool,
        find: impl Fn(&Self, &Shape) -> Vec<Range<usize>>,
        is_variable: impl Fn(&Self, &HashSet<&[u32]>, bool) -> bool,
    ) -> Result<usize> {
        let mut groups: HashMap<Vec<u32>, Vec<ShapeValues>> = HashMap::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| !shape.1.fixed && shape.1.json == json) {
            self.cancel.check()?;
            let ranges = find(self, shape);
            groups.entry(self.without(shape, &ranges)).or_default().push((number as u32, ranges));
        }
        let mut folds = Vec::new();
        for group in groups.into_values().filter(|group| group.len() > 1) {
            self.cancel.check()?;
            let mut waiting = vec![group];
            while let Some(group) = waiting.pop() {
                let is_variable = |values: &HashSet<&[u32]>, bound| is_variable(self, values, bound);
                self.judge_values(group, is_variable, &mut waiting, &mut folds);
            }
        }
        Ok(self.fold(folds, self.any))
    }

    /// Merge shapes that differ in the values of pairs alone.
    fn merge_keyed(&mut self) -> Result<usize> {
        let find = |merger: &Self, shape: &Shape| {
            let text = |at: usize| &*merger.units.all[shape.units[at] as usize].text;
            let is_one_blank = |at: usize| merger.text_of(&shape.members[0], at) == b" ";
            find_keyed(shape.units.len(), |at| merger.units.class(shape.units[at]), text, is_one_blank)
        };
        self.merge_ranges(false, find, |_, values, _| values.len() > 1)
    }

    /// Merge shapes that differ in the values of cells alone.
    fn merge_cells(&mut self) -> Result<usize> {
        self.merge_ranges(false, Self::find_cells, |_, values, _| values.len() > 1)
    }

    /// Return the values of `key: ` in a line that tabs, or two blanks and more, divide into cells: the cells after a
    /// key, or what follows the colon in its cell, if there are [`CELLS`] values. A key before a key is a heading.
    fn find_cells(&self, shape: &Shape) -> Vec<Range<usize>> {
        let (count, member) = (shape.units.len(), &shape.members[0]);
        let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
        let is_wide = |at: &usize| {
            let blanks = self.text_of(member, *at).iter().rev().take_while(|byte| b" \t".contains(byte));
            blanks.fold(0, |width, &byte| width + if byte == b'\t' { 2 } else { 1 }) > 1
        };
        let ends: Vec<usize> = (0..count).filter(is_wide).chain([count]).collect();
        let starts = iter::once(0).chain(ends.iter().map(|end| end + 1));
        let cells: Vec<Range<usize>> = starts.zip(&ends).map(|(start, &end)| start..end).collect();
        let is_key = |cell: &Range<usize>| cell.end < count && text(cell.end).starts_with(b":");
        let colon = |cell: &Range<usize>| cell.clone().find(|&at| text(at) == b": ").filter(|at| at + 1 < cell.end);
        let mut result: Vec<Range<usize>> = Vec::new();
        for (number, cell) in cells.iter().enumerate() {
            let value = if is_key(cell) {
                let values = cells[number + 1..].iter().take_while(|cell| !is_key(cell) && colon(cell).is_none());
                values.last().map(|last| (cell.end, cell.end + 1..last.end))
            } else {
                colon(cell).filter(|_| number > 0).map(|colon| (colon, colon + 1..cell.end))
            };
            result.extend(
                value
                    .filter(|(key, value)| *key > 0 && !value.is_empty() && !is_message(text(key - 1)))
                    .map(|found| found.1),
            );
        }
        if result.len() < CELLS { Vec::new() } else { result }
    }

    /// Merge shapes with the same text before [`PAIRS`] pairs `key=value` or more with the same keys, none of them that of a
    /// message: the values in which they differ, and what is left of the line, are variables.
    fn merge_pair_lists(&mut self) -> Result<usize> {
        let mut groups: HashMap<Vec<u32>, Vec<ShapeValues>> = HashMap::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            let pairs = find_pairs(shape.units.len(), |at| self.units.class(shape.units[at]), text);
            let Some(first) = pairs.into_iter().find(|pairs| pairs.len() >= PAIRS) else { continue };
            let mut ranges: Vec<Range<usize>> = first[..PAIRS].iter().map(|pair| pair.start + 2..pair.end).collect();
            let rest = ranges[PAIRS - 1].end + 1;
            if first[..PAIRS].iter().any(|pair| is_message(text(pair.start))) || rest >= shape.units.len() {
                continue;
            }
            ranges.push(rest..shape.units.len());
            groups.entry(self.without(shape, &ranges)).or_default().push((number as u32, ranges));
        }
        let mut folds = Vec::new();
        for group in groups.into_values().filter(|group| group.len() > 1) {
            self.judge_values(group, |_, _| true, &mut Vec::new(), &mut folds);
        }
        Ok(self.fold(folds, self.any))
    }

    /// Merge shapes that are objects of JSON with the same keys and the same message: first those that differ in values
    /// without keys, then those that differ in inner objects.
    fn merge_json(&mut self) -> Result<usize> {
        let mut merged = 0;
        for (depth, with_quotes) in (1..=JSON_DEPTH).rev().flat_map(|depth| [(depth, false), (depth, true)]) {
            let find = |merger: &Self, shape: &Shape| {
                let text = |at: usize| &*merger.units.all[shape.units[at] as usize].text;
                let mut values = find_json(shape.units.len(), text);
                values.retain(|value| value.1 <= depth);
                // Without the objects around others.
                let all: Vec<Range<usize>> = values.into_iter().map(|value| value.0).collect();
                let inner = |at: usize| all.get(at + 1).is_none_or(|next| next.start >= all[at].end);
                let whole = |range: &Range<usize>| {
                    let quoted = with_quotes && merger.is_quote(shape.units[range.start - 1]);
                    range.start - usize::from(quoted)..range.end + usize::from(quoted)
                };
                (0..all.len()).filter(|&at| inner(at)).map(|at| whole(&all[at])).collect()
            };
            merged += self.merge_ranges(true, find, |_, values, _| values.len() > 1)?;
        }
        Ok(merged)
    }

    /// Merge shapes that differ in structured values alone, and mask those that only a program prints. A missing value
    /// and a call without arguments are variables if others have a structured value or a wildcard. A word that is no
    /// level must be left.
    fn merge_structures(&mut self) -> Result<usize> {
        let mut groups: HashMap<Vec<u32>, Vec<ShapeValues>> = HashMap::new();
        let (mut folds, mut has_structures) = (Vec::new(), false);
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| !shape.1.fixed) {
            self.cancel.check()?;
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            let structures = find_structures(shape.units.len(), |at| self.units.class(shape.units[at]), text);
            let (mut ranges, mut free) = (Vec::with_capacity(structures.len()), 0);
            for structure in structures.into_iter().chain(iter::once(shape.units.len()..shape.units.len())) {
                let wildcards = (free..structure.start).filter(|&at| shape.units[at] == self.any);
                ranges.extend(wildcards.map(|at| at..at + 1));
                free = structure.end;
                ranges.push(structure);
            }
            ranges.pop();
            let mut is_value = vec![false; shape.units.len()];
            for range in &ranges {
                is_value[range.clone()].fill(true);
            }
            if !self.keeps_words(shape, |at| is_value[at] || is_level(text(at))) {
                continue;
            }
            has_structures |= ranges.iter().any(|range| shape.units[range.clone()] != [self.any]);
            let printed = ranges.iter().filter(|range| self.is_printed(&shape.units[(*range).clone()]));
            folds.extend(printed.map(|range| (number as u32, range.clone())));
            groups.entry(self.without(shape, &ranges)).or_default().push((number as u32, ranges));
        }
        let is_weak = |value: &[u32]| match *value {
            [unit] => unit != self.any,
            [_, _, unit, _] => self.units.class(unit) == Class::Empty,
            _ => false,
        };
        let is_variable = |values: &HashSet<&[u32]>, _| !values.iter().all(|value| is_weak(value));
        for group in groups.into_values().filter(|group| has_structures && group.len() > 1) {
            self.cancel.check()?;
            let mut waiting = vec![group];
            while let Some(group) = waiting.pop() {
                self.judge_values(group, is_variable, &mut waiting, &mut folds);
            }
        }
        Ok(self.fold(folds, self.any))
    }

    /// Return true for structured values that nobody writes by hand: lists that start with a quote or with another
    /// structured value, bytes, calls and records with named values, objects in angle brackets without keys, and
    /// distinguished names.
    fn is_printed(&self, value: &[u32]) -> bool {
        let text = |at: usize| value.get(at).map_or(&b""[..], |&unit| &*self.units.all[unit as usize].text);
        let quote = |at: usize| matches!(text(at), b"'" | b"\"");
        let is_nested = |at: usize| {
            let call = text(at + 1) == b"(" || (is_prefix(text(at)) && quote(at + 1));
            quote(at) || matches!(text(at), b"{" | b"[" | b"(" | b"<") || call
        };
        let has_key = |text: &[u8]| text.contains(&b':') || text.starts_with(b",") || text.starts_with(b";");
        match text(0) {
            b"{" | b"[" | b"(" => is_nested(1),
            b"<" => quote(3) || !(0..value.len()).any(|at| has_key(text(at))),
            prefix if is_prefix(prefix) && quote(1) => true,
            _ if text(1) == b"[" => (2..value.len()).any(|at| text(at).starts_with(b",")),
            _ if text(1) == b"=" => true,
            _ if text(1) == b" " => true,
            _ if text(1) == b"(" => {
                is_nested(2) || (text(3) == b"=" && (4..value.len()).any(|at| text(at).starts_with(b", ")))
            }
            _ => false,
        }
    }

    /// Merge shapes that differ in one value: what others have at the place of a printed null, and the words that others
    /// have at the place of a variable that accepts words, if [`FRAME`] plain words or more are around it.
    fn merge_at_variables(&mut self) -> Result<usize> {
        let hashes: Vec<(Vec<u64>, Vec<u64>)> = self.shapes.iter().map(|shape| self.hash_edges(shape)).collect();
        // The places of variables, by the hash of the units before them.
        let mut places: HashMap<u64, Vec<(u32, Range<usize>, bool)>> = HashMap::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            let units = &shape.units;
            let text = |at: usize| &*self.units.all[units[at] as usize].text;
            let plain = units.iter().filter(|&&unit| self.units.class(unit) == Class::Plain).count();
            for at in 1..units.len() {
                let is_null = is_null(text(at));
                let accepts = || {
                    units[at] == self.any
                        && plain >= FRAME
                        && at + 1 < units.len()
                        && self.kind_at(shape, at).is_some_and(|kind| kind.covers(Kind::Word))
                };
                let enclosed = at > 1 && at + 1 < units.len() && text(at - 1) == b"(" && text(at + 1) == b")";
                let range = if is_null && enclosed { at - 1..at + 2 } else { at..at + 1 };
                let ends = enclosed || range.end == units.len() || !text(range.end).starts_with(b" ");
                if (is_null && (ends || text(range.start - 1).ends_with(b"="))) || accepts() {
                    places.entry(hashes[number].0[range.start]).or_default().push((number as u32, range, is_null));
                }
            }
        }
        let mut folds = Vec::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free() && !places.is_empty()) {
            self.cancel.check()?;
            let (units, (before, after)) = (&shape.units, &hashes[number]);
            for start in 1..units.len() {
                for (other, place, is_null) in places.get(&before[start]).into_iter().flatten().take(MASKS) {
                    let of = &self.shapes[*other as usize].units;
                    let rest = &of[place.end..];
                    let Some(end) = units.len().checked_sub(rest.len()).filter(|&end| end > start) else { continue };
                    let value = &units[start..end];
                    if after[end] == hashes[*other as usize].1[place.end]
                        && *value != of[place.clone()]
                        && of[..place.start] == units[..start]
                        && *rest == units[end..]
                        && self.is_value(value, *is_null)
                        && self.keeps_words(shape, |at| (start..end).contains(&at))
                    {
                        folds.push((number as u32, start..end));
                        if *is_null {
                            folds.push((*other, place.clone()));
                        }
                    }
                }
            }
        }
        Ok(self.fold(folds, self.any))
    }

    /// Return true if units are one value: at the place of a null anything between words, else up to four words.
    fn is_value(&self, value: &[u32], of_null: bool) -> bool {
        let text = |unit: u32| &*self.units.all[unit as usize].text;
        let is_word = |unit: u32| matches!(self.units.class(unit), Class::Plain | Class::Capitals | Class::Value);
        if of_null {
            let is_edge = |unit: Option<&u32>| {
                unit.is_some_and(|&unit| !text(unit).contains(&b' ') && !text(unit).contains(&b'\n'))
            };
            // A sign alone, such as `****`, is no value of a variable, and an optional part is another's.
            let is_sign = value.len() == 1 && self.units.class(value[0]) == Class::Between;
            let is_optional = value.first().is_some_and(|&unit| self.units.class(unit) == Class::Optional);
            let ends = is_edge(value.first()) && is_edge(value.last());
            return ends && !is_sign && !is_optional && value.len() <= FIELD;
        }
        (3..=WORDS).contains(&value.len())
            && value.iter().enumerate().all(|(at, &unit)| {
                if at % 2 == 0 { is_word(unit) && !is_particle(text(unit)) } else { text(unit) == b" " }
            })
    }

    /// Make words a variable that are a value of the variable at the same place of another shape: after the same units,
    /// with a plain word among them, and before the same separator. Between quotes, and after `=`, any value is, if the
    /// variable accepts words.
    fn merge_known(&mut self) -> Result<usize> {
        let hashes: Vec<Vec<u64>> = self.shapes.iter().map(|shape| self.hash_edges(shape).0).collect();
        let is_plain = |unit: &u32| self.units.class(*unit) == Class::Plain;
        let first_plain = |shape: &Shape| shape.units.iter().position(is_plain).unwrap_or(shape.units.len());
        let mut known: HashMap<u64, HashSet<KnownValue>> = HashMap::new();
        let mut bound: HashSet<u64> = HashSet::new();
        let find_bound = |shape: &Shape| -> Vec<Range<usize>> {
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            let (class, count) = (|at: usize| self.units.class(shape.units[at]), shape.units.len());
            let is_word =
                |at: usize| at < count && !matches!(class(at), Class::Between | Class::Optional | Class::Empty);
            let value = |at: usize| {
                let keyed = text(at - 1).ends_with(b"=") && !follows_message_key(at, &text);
                let end = if keyed { value_end(count, at, &is_word, &text) } else { None };
                let quoted = || self.is_quote(shape.units[at - 1]).then(|| close(count, at - 1, &text)).flatten();
                end.or_else(|| quoted().map(|end| end - 1)).filter(|&end| (at..end).any(is_word)).map(|end| at..end)
            };
            (first_plain(shape) + 1..count).filter_map(value).collect()
        };
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            for at in (first_plain(shape)..shape.units.len()).filter(|&at| shape.units[at] == self.any) {
                let values = shape.members.iter().map(|member| self.text_of(member, at));
                let values = values.filter(|value| !value.contains(&WILDCARD));
                let next = shape.units.get(at + 1).copied();
                known.entry(hashes[number][at]).or_default().extend(values.map(|value| (value, next)));
            }
            let open = |range: &Range<usize>| {
                shape.units[range.clone()] == [self.any] && self.kind_at(shape, range.start).is_some_and(is_open)
            };
            bound.extend(find_bound(shape).into_iter().filter(open).map(|range| hashes[number][range.start]));
        }
        let mut folds = Vec::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            let (units, member) = (&shape.units, &shape.members[0]);
            let is_word =
                |at: usize| matches!(self.units.class(units[at]), Class::Plain | Class::Value | Class::Capitals);
            let is_bound = |range: &Range<usize>| {
                units[range.clone()] != [self.any]
                    && bound.contains(&hashes[number][range.start])
                    && self.keeps_words(shape, |at| range.contains(&at))
            };
            if let Some(range) = find_bound(shape).into_iter().find(is_bound) {
                folds.push((number as u32, range));
                continue;
            }
            for start in (0..units.len()).filter(|&at| is_word(at)) {
                let Some(values) = known.get(&hashes[number][start]) else { continue };
                let is_known = |&end: &usize| {
                    let span = cover(&member.spans, &(start..end));
                    let text = &self.templates[member.template as usize].text[span.start as usize..span.end as usize];
                    values.contains(&(text, units.get(end).copied()))
                };
                let ends = start + 1..units.len().min(start + WORDS) + 1;
                if let Some(end) = ends.rev().find(is_known)
                    && self.keeps_words(shape, |at| (start..end).contains(&at))
                {
                    folds.push((number as u32, start..end));
                    break;
                }
            }
        }
        Ok(self.fold(folds, self.any))
    }

    /// Return the units of a shape with each of these ranges as one wildcard.
    fn without(&self, shape: &Shape, ranges: &[Range<usize>]) -> Vec<u32> {
        let (mut key, mut at) = (Vec::with_capacity(shape.units.len()), 0);
        for range in ranges {
            key.extend_from_slice(&shape.units[at..range.start]);
            key.push(self.any);
            at = range.end;
        }
        key.extend_from_slice(&shape.units[at..]);
        key
    }

    /// Return the values of a shape: ranges of units that `merge_values` compares.
    fn find_values(&self, shape: &Shape) -> Vec<Range<usize>> {
        let count = shape.units.len();
        let class = |at: usize| self.units.class(shape.units[at]);
        let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
        let is_word = |at: usize| at < count && !matches!(class(at), Class::Between | Class::Optional | Class::Empty);
        let (mut result, mut at): (Vec<Range<usize>>, usize) = (Vec::new(), 0);
        while at < count {
            let keyed = at > 0 && text(at - 1).ends_with(b"=") && !follows_message_key(at, &text);
            let end = if keyed { value_end(count, at, &is_word, &text) } else { close(count, at, &text) };
            let quote = matches!(text(at), b"\"" | b"'" | b"`" | b"[");
            let range = match end {
                Some(end) if quote || (text(at) == b"(" && end == at + 3) => at + 1..end - 1,
                Some(end) if keyed => at..end,
                _ if matches!(class(at), Class::Value | Class::Mixed | Class::Wildcard) => at..at + 1,
                _ => at..at,
            };
            let separates = range.len() == 1 && class(range.start) == Class::Between;
            if range.is_empty() || separates {
                at += 1;
            } else {
                at = range.end;
                result.push(range);
            }
        }
        result
    }

    /// Merge shapes into those with variables that accept all words in which they differ.
    fn merge_covered(&mut self) -> Result<usize> {
        let mut masks = Masks::new();
        for shape in self.shapes.iter().filter(|shape| shape.is_free()) {
            self.cancel.check()?;
            let open = |at: usize| shape.units[at] == self.any && self.kind_at(shape, at).is_some_and(is_open);
            let positions: Vec<usize> = (0..shape.units.len()).filter(|&at| open(at)).collect();
            if positions.len() > 1 && self.has_frame(shape, &positions) {
                masks.entry((shape.units.len(), positions)).or_default().insert(shape.units.clone());
            }
        }
        let mut folds = Vec::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            // A word with symbols may be a variable.
            let class = |at: usize| match self.units.class(shape.units[at]) {
                Class::Value => Class::Mixed,
                class => class,
            };
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            // As it is, and with a field of several units as one word.
            let fields = find_fields(shape.units.len(), class, text).into_iter().map(|field| field.units);
            let tails = find_tails(shape.units.len(), class, text).into_iter().map(|tail| tail.units);
            for field in iter::once(0..0).chain(fields).chain(tails) {
                let mut units = shape.units.clone();
                if !field.is_empty() {
                    units.splice(field.clone(), [self.any]);
                }
                let at = (!field.is_empty()).then_some(field.start);
                if let Some(positions) = self.find_covering(&units, at, &masks) {
                    let wider = field.len().saturating_sub(1);
                    let range = |at: usize| match at {
                        at if at == field.start && !field.is_empty() => field.clone(),
                        at if at > field.start => at + wider..at + wider + 1,
                        at => at..at + 1,
                    };
                    let varying = positions.iter().map(|&at| range(at));
                    folds.extend(
                        varying
                            .filter(|range| shape.units[range.clone()] != [self.any])
                            .map(|range| (number as u32, range)),
                    );
                    break;
                }
            }
        }
        Ok(self.fold(folds, self.any))
    }

    /// Merge shapes into one with a variable for any text and [`FRAME`] plain words or more: what is at the place of each
    /// variable becomes its value, plain words only at the place of a text.
    fn merge_into_texts(&mut self) -> Result<usize> {
        let is_plain = |unit: &u32| self.units.class(*unit) == Class::Plain;
        let hashes: Vec<Vec<u64>> = self.shapes.iter().map(|shape| self.hash_edges(shape).0).collect();
        let mut texts: HashMap<u64, Vec<(u32, Places)>> = HashMap::new();
        let mut lengths: BTreeSet<usize> = BTreeSet::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            let units = shape.units.iter().enumerate().filter(|unit| *unit.1 == self.any);
            let kinds = units.filter_map(|(at, _)| Some((at, self.kind_at(shape, at).filter(|&kind| is_open(kind))?)));
            let open: Places = kinds.map(|(at, kind)| (at, kind == Kind::Text)).collect();
            let plain = shape.units.iter().filter(|unit| is_plain(unit)).count();
            if open.first().is_some_and(|first| plain >= if first.0 > 0 { FRAME } else { LONG })
                && open.iter().any(|open| open.1)
            {
                lengths.insert(open[0].0);
                texts.entry(hashes[number][open[0].0]).or_default().push((number as u32, open));
            }
        }
        let mut folds = Vec::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            let starts = lengths.iter().take_while(|&&length| length < shape.units.len());
            let covering = starts.filter_map(|&length| texts.get(&hashes[number][length])).flatten();
            let others = covering.filter(|(other, _)| *other as usize != number).take(MASKS);
            let found = others.filter_map(|(other, open)| {
                let (of, start) = (&self.shapes[*other as usize].units, open[0].0);
                let values =
                    if of[..start] == shape.units[..start] { self.values_in(of, open, &shape.units) } else { None };
                Some((of.len(), values?))
            });
            // The most words.
            if let Some((_, values)) = found.reduce(|one, other| if other.0 > one.0 { other } else { one }) {
                let changed = values.into_iter().filter(|value| shape.units[value.clone()] != [self.any]);
                folds.extend(changed.map(|value| (number as u32, value)));
            }
        }
        Ok(self.fold(folds, self.any))
    }

    /// Return what is at the places of these variables of a shape in other units.
    fn values_in(&self, shape: &[u32], open: &[(usize, bool)], units: &[u32]) -> Option<Vec<Range<usize>>> {
        let (mut values, mut from) = (Vec::with_capacity(open.len()), open[0].0);
        for (number, &(at, takes_text)) in open.iter().enumerate() {
            let next = open.get(number + 1).map_or(shape.len(), |next| next.0);
            let between = &shape[at + 1..next];
            let end = if next == shape.len() {
                units.len().checked_sub(between.len()).filter(|&end| end > from && units[end..] == *between)?
            } else {
                (from + 1..units.len()).find(|&end| units[end..].starts_with(between))?
            };
            let value = &units[from..end];
            let blank = |unit: &u32| self.units.all[*unit as usize].text.contains(&b' ');
            let plain = |unit: &u32| {
                matches!(self.units.class(*unit), Class::Plain | Class::Capitals) && !self.variable_words.contains(unit)
            };
            let takes = takes_text || !value.iter().any(plain);
            if !takes || blank(&value[0]) || blank(&value[value.len() - 1]) {
                return None;
            }
            values.push(from..end);
            from = end + between.len();
        }
        Some(values)
    }

    /// Return the positions of variables of a shape that covers these units, also the one at `field`; without a field it
    /// is another shape.
    fn find_covering<'m>(&self, units: &[u32], field: Option<usize>, masks: &'m Masks) -> Option<&'m [usize]> {
        let count = units.len();
        let is_word = |at: usize| !matches!(self.units.class(units[at]), Class::Between | Class::Optional);
        let covers = |positions: &[usize], covering: &HashSet<Vec<u32>>| {
            let mut masked = units.to_vec();
            for &at in positions {
                masked[at] = self.any;
            }
            positions.iter().all(|&at| is_word(at)) && covering.contains(&masked)
        };
        let accepts = |positions: &[usize]| match field {
            Some(field) => positions.contains(&field),
            None => positions.iter().any(|&at| units[at] != self.any),
        };
        let mut same_length = masks.range((count, Vec::new())..(count + 1, Vec::new())).take(MASKS);
        let found = same_length.find(|(key, covering)| accepts(&key.1) && covers(&key.1, covering));
        found.map(|(key, _)| &*key.1)
    }

    /// Merge a group of shapes with values at the same positions if each position that varies is a variable; otherwise
    /// split it at the position with the fewest values.
    fn judge_values(
        &self,
        group: Vec<ShapeValues>,
        is_variable: impl Fn(&HashSet<&[u32]>, bool) -> bool,
        waiting: &mut Vec<Vec<ShapeValues>>,
        folds: &mut Vec<(u32, Range<usize>)>,
    ) {
        let value = |member: &ShapeValues, at: usize| &self.shapes[member.0 as usize].units[member.1[at].clone()];
        let (mut varying, mut weak) = (Vec::new(), None::<(usize, usize)>);
        for at in 0..group[0].1.len() {
            let values: HashSet<&[u32]> = group.iter().map(|member| value(member, at)).collect();
            if values.len() == 1 {
                continue;
            }
            varying.push(at);
            if !is_variable(&values, self.is_bound(&group[0], at)) && weak.is_none_or(|weak| (values.len(), at) < weak)
            {
                weak = Some((values.len(), at));
            }
        }
        if let Some((_, at)) = weak {
            let mut parts: HashMap<Vec<u32>, Vec<ShapeValues>> = HashMap::new();
            for member in group {
                parts.entry(value(&member, at).to_vec()).or_default().push(member);
            }
            waiting.extend(parts.into_values().filter(|part| part.len() > 1));
            return;
        }
        let is_value = |member: &ShapeValues, unit: usize| varying.iter().any(|&at| member.1[at].contains(&unit));
        let keeps =
            |member: &ShapeValues| self.keeps_words(&self.shapes[member.0 as usize], |unit| is_value(member, unit));
        if !group.iter().all(keeps) {
            return;
        }
        for member in &group {
            let changed = varying.iter().filter(|&&at| value(member, at) != [self.any]);
            folds.extend(changed.map(|&at| (member.0, member.1[at].clone())));
        }
    }

    /// Return true if the value at a position follows `=` or is between quotes or brackets.
    fn is_bound(&self, member: &ShapeValues, at: usize) -> bool {
        let before = member.1[at].start.checked_sub(1);
        before.is_some_and(|before| {
            let unit = self.shapes[member.0 as usize].units[before];
            self.units.all[unit as usize].text.last().is_some_and(|byte| b"=\"'`[(".contains(byte))
        })
    }

    /// Return true if these values are those of a variable.
    fn is_variable(&self, values: &HashSet<&[u32]>, bound: bool) -> bool {
        let class = |value: &&[u32]| match **value {
            [] => Class::Empty,
            [unit] => self.units.class(unit),
            _ => Class::Value,
        };
        let joins = |value: &&&[u32]| {
            let missing = matches!(***value, [unit] if is_missing(&self.units.all[unit as usize].text));
            missing || !matches!(class(value), Class::Capitals | Class::Plain)
        };
        let evidence: u32 = values.iter().map(|value| evidence(class(value))).sum();
        let evidence = if bound { evidence + evidence / 2 } else { evidence };
        let any = [self.any];
        (values.contains(&any[..]) && values.iter().all(|value| joins(&value)))
            || evidence >= self.threshold + self.threshold / 2
    }

    /// Return hashes of the units before each position of a shape, and of those from each position on.
    fn hash_edges(&self, shape: &Shape) -> (Vec<u64>, Vec<u64>) {
        let step = |sum: u64, unit: u32| mix(sum.rotate_left(7) ^ self.units.all[unit as usize].hash, 2);
        let (mut before, mut after) = (vec![0; shape.units.len() + 1], vec![0; shape.units.len() + 1]);
        for (at, &unit) in shape.units.iter().enumerate() {
            before[at + 1] = step(before[at], unit);
        }
        for (at, &unit) in shape.units.iter().enumerate().rev() {
            after[at] = step(after[at + 1], unit);
        }
        (before, after)
    }

    /// Replace ranges of units of shapes by a unit, outer ranges first; return the number of replaced ranges.
    fn fold(&mut self, mut folds: Vec<(u32, Range<usize>)>, into: u32) -> usize {
        folds.sort_by_key(|(shape, range)| (*shape, range.start, std::cmp::Reverse(range.end)));
        let mut count = 0;
        for group in folds.chunk_by(|a, b| a.0 == b.0) {
            let mut ranges: Vec<Range<usize>> = Vec::new();
            for (_, range) in group {
                if ranges
                    .last()
                    .is_none_or(|last| last.end <= range.start && (last.end, last.start) != (range.start, range.end))
                {
                    ranges.push(range.clone());
                }
            }
            let shape = &mut self.shapes[group[0].0 as usize];
            for range in ranges.into_iter().rev() {
                count += 1;
                if let [unit] = shape.units[range.clone()]
                    && matches!(self.units.class(unit), Class::Plain | Class::Value)
                {
                    self.variable_words.insert(unit);
                }
                shape.units.splice(range.clone(), [into]);
                for member in &mut shape.members {
                    let whole = cover(&member.spans, &range);
                    member.spans.splice(range.clone(), [whole]);
                }
            }
        }
        if count > 0 {
            self.collapse();
        }
        count
    }

    /// Merge shapes that differ in optional parts: groups in brackets, with a variable in them, that others lack; maybe
    /// also in words that are not plain, if the part is optional in one of them.
    fn merge_optional(&mut self, in_words: bool) -> Result<usize> {
        // The units of each shape without its parts, and the position and the range of each part.
        let mut parts: HashMap<Vec<u32>, Vec<Parts>> = HashMap::new();
        let mut has_parts = false;
        for (number, shape) in self.shapes.iter().enumerate() {
            self.cancel.check()?;
            if !shape.is_free() {
                continue;
            }
            let (mut rest, mut found) = self.split_parts(shape, in_words);
            has_parts |= !found.is_empty();
            let mut slots: Vec<usize> = (0..=rest.len()).collect();
            if in_words {
                let text = |at: usize| &*self.units.all[rest[at] as usize].text;
                let chunks = find_chunks(rest.len(), |at| self.units.class(rest[at]), text);
                for chunk in chunks.into_iter().rev() {
                    rest.splice(chunk.clone(), [self.any]);
                    slots.drain(chunk.start + 1..chunk.end);
                }
                for part in &mut found {
                    part.0 = slots.partition_point(|&slot| slot < part.0);
                }
            }
            parts.entry(rest).or_default().push(Parts { shape: number as u32, found, slots });
        }
        let mut folds = Vec::new();
        for group in parts.values().filter(|group| has_parts && group.len() > 1) {
            let mut slots: Vec<usize> = group.iter().flat_map(|parts| parts.found.iter().map(|part| part.0)).collect();
            slots.sort_unstable();
            slots.dedup();
            for slot in slots {
                let of = |parts: &Parts| parts.found.iter().find(|part| part.0 == slot).map(|part| part.1.clone());
                let optional = |range: &Range<usize>, parts: &Parts| {
                    self.shapes[parts.shape as usize].units[range.clone()] == [self.optional]
                };
                let is_optional = |parts: &&Parts| of(parts).is_some_and(|range| optional(&range, parts));
                let varies = group.iter().any(|parts| of(parts).is_none() || is_optional(&parts));
                if !varies || (in_words && !group.iter().any(|parts| is_optional(&parts))) {
                    continue;
                }
                for parts in group {
                    match of(parts) {
                        Some(range) if optional(&range, parts) => (),
                        Some(range) => folds.push((parts.shape, range)),
                        None => {
                            let before: usize =
                                parts.found.iter().filter(|part| part.0 < slot).map(|part| part.1.len()).sum();
                            let place = parts.slots[slot] + before;
                            folds.push((parts.shape, place..place));
                        }
                    }
                }
            }
        }
        Ok(self.fold(folds, self.optional))
    }

    /// Merge shapes that differ in an optional clause, such as ` port 22`, if two pairs of shapes or more differ in the
    /// same clause, or if the clause is optional in a shape.
    fn merge_clauses(&mut self) -> Result<usize> {
        let hashes: Vec<(Vec<u64>, Vec<u64>)> = self.shapes.iter().map(|shape| self.hash_edges(shape)).collect();
        let key = |number: usize, start: usize, end: usize| {
            let (before, after) = &hashes[number];
            mix(before[start], 0).wrapping_add(mix(after[end], 1))
        };
        let mut clauses: Vec<(u64, u32, Range<usize>)> = Vec::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            for start in 1..shape.units.len() {
                let ends = clause_ends(shape.units.len(), start, |at| self.units.class(shape.units[at]), text);
                let is_variable = |unit: &u32| matches!(self.units.class(*unit), Class::Wildcard | Class::Mixed);
                let ends = ends.into_iter().filter(|&end| shape.units[start..end].iter().any(is_variable));
                clauses.extend(ends.map(|end| (key(number, start, end), number as u32, start..end)));
            }
        }
        let keys: HashSet<u64> = clauses.iter().map(|clause| clause.0).collect();
        // The shapes without a clause, or with an optional part instead of it.
        let mut without: HashMap<u64, Vec<(u32, Range<usize>)>> = HashMap::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free() && !keys.is_empty()) {
            self.cancel.check()?;
            for at in 1..=shape.units.len() {
                let optional = shape.units.get(at) == Some(&self.optional);
                let place = at..at + usize::from(optional);
                let key = key(number, place.start, place.end);
                if keys.contains(&key) {
                    without.entry(key).or_default().push((number as u32, place));
                }
            }
        }
        // The pairs of shapes that differ in a clause, by its words.
        let mut pairs: BTreeMap<&[u32], Vec<ClausePair>> = BTreeMap::new();
        for (key, number, clause) in &clauses {
            let units = &self.shapes[*number as usize].units;
            for (other, place) in without.get(key).into_iter().flatten() {
                let rest = &self.shapes[*other as usize].units;
                if units[..clause.start] == rest[..place.start] && units[clause.end..] == rest[place.end..] {
                    let pair = ((*number, clause.clone()), (*other, place.clone()));
                    pairs.entry(&units[clause.clone()]).or_default().push(pair);
                }
            }
        }
        let (mut folds, mut changed) = (Vec::new(), HashSet::new());
        for pairs in pairs.into_values() {
            let is_optional = |pair: &ClausePair| !pair.1.1.is_empty();
            let distinct: HashSet<u32> = pairs.iter().filter(|pair| !is_optional(pair)).map(|pair| pair.1.0).collect();
            for pair in pairs {
                let joins = is_optional(&pair);
                let (long, short) = pair;
                if (!joins && distinct.len() < 2) || changed.contains(&long.0) || changed.contains(&short.0) {
                    continue;
                }
                changed.insert(long.0);
                folds.push(long);
                if !joins {
                    changed.insert(short.0);
                    folds.push(short);
                }
            }
        }
        Ok(self.fold(folds, self.optional))
    }

    /// Merge shapes with the same code of a message: first those that differ in words, then all.
    fn merge_codes(&mut self) -> Result<usize> {
        let mut codes: HashMap<u32, Vec<u32>> = HashMap::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            let text = |at: usize| &*self.units.all[shape.units[at] as usize].text;
            let is_code = |at: &usize| is_message_code(text(*at), *at == 0) && text(*at + 1).starts_with(b":");
            if let Some(at) = (0..shape.units.len().saturating_sub(1)).find(is_code) {
                codes.entry(shape.units[at]).or_default().push(number as u32);
            }
        }
        let (mut folds, mut parts) = (Vec::new(), Vec::new());
        for shapes in codes.into_values().filter(|shapes| shapes.len() > 1) {
            self.cancel.check()?;
            let units = |shape: u32| &self.shapes[shape as usize].units;
            let is_word = |unit: u32| !matches!(self.units.class(unit), Class::Between | Class::Optional);
            let mut forms: HashMap<Vec<u32>, Vec<u32>> = HashMap::new();
            for &shape in &shapes {
                let form = units(shape).iter().map(|&unit| if is_word(unit) { self.any } else { unit });
                forms.entry(form.collect()).or_default().push(shape);
            }
            let before = folds.len();
            for shapes in forms.into_values().filter(|shapes| shapes.len() > 1) {
                for at in 0..units(shapes[0]).len() {
                    let differing = shapes.iter().filter(|&&shape| units(shape)[at] != self.any);
                    if shapes.iter().any(|&shape| units(shape)[at] != units(shapes[0])[at]) {
                        folds.extend(differing.map(|&shape| (shape, at..at + 1)));
                    }
                }
            }
            if folds.len() == before {
                self.align(&shapes, &mut folds, &mut parts);
            }
        }
        if !parts.is_empty() {
            return Ok(self.fold(parts, self.optional));
        }
        Ok(self.fold(folds, self.any))
    }

    /// Make what differs between the common start and the common end of shapes a variable: whole words, at least one; or
    /// an optional part, if a shape has nothing there.
    fn align(&self, shapes: &[u32], folds: &mut Vec<(u32, Range<usize>)>, parts: &mut Vec<(u32, Range<usize>)>) {
        let units = |shape: u32| &*self.shapes[shape as usize].units;
        let is_word = |unit: Option<&u32>| unit.is_some_and(|&unit| self.units.class(unit) != Class::Between);
        let (first, mut start, mut end) = (units(shapes[0]), usize::MAX, usize::MAX);
        for &shape in shapes {
            let (one, other) = (first.iter(), units(shape).iter());
            start = start.min(one.clone().zip(other.clone()).take_while(|(one, other)| one == other).count());
            end = end.min(one.rev().zip(other.rev()).take_while(|(one, other)| one == other).count());
        }
        let shortest = shapes.iter().map(|&shape| units(shape).len()).min().unwrap_or(0);
        end = end.min(shortest - start);
        let middle =
            |start: usize, end: usize| shapes.iter().map(move |&shape| &units(shape)[start..units(shape).len() - end]);
        let whole = (start, end);
        while start > 0 && !middle(start, end).all(|units| is_word(units.first()) && is_word(units.last())) {
            let ends_badly = middle(start, end).any(|units| !units.is_empty() && !is_word(units.last()));
            (start, end) = if ends_badly && end > 0 { (start, end - 1) } else { (start - 1, end) };
        }
        if start > 1 {
            let varying = shapes.iter().map(|&shape| (shape, start..units(shape).len() - end));
            folds.extend(varying.filter(|(shape, range)| units(*shape)[range.clone()] != [self.any]));
            return;
        }
        let (start, end) = whole;
        let is_part = |&shape: &u32| {
            let (units, stop) = (units(shape), units(shape).len() - end);
            let text = |at: usize| &*self.units.all[units[at] as usize].text;
            let clauses = || clause_ends(units.len(), start, |at| self.units.class(units[at]), text);
            start == stop
                || units[start..stop] == [self.optional]
                || part_end(units.len(), start, text) == Some(stop)
                || clauses().contains(&stop)
        };
        if start > 1 && middle(start, end).any(<[u32]>::is_empty) && shapes.iter().all(is_part) {
            let varying = shapes.iter().map(|&shape| (shape, start..units(shape).len() - end));
            parts.extend(varying.filter(|(shape, range)| units(*shape)[range.clone()] != [self.optional]));
        }
    }

    /// Return the units of a shape without its optional parts, maybe also those with names, and the slot and range of
    /// each part.
    fn split_parts(&self, shape: &Shape, with_values: bool) -> (Vec<u32>, Vec<(usize, Range<usize>)>) {
        let units = &shape.units;
        let text = |at: usize| &*self.units.all[units[at] as usize].text;
        let varies = |class| matches!(class, Class::Wildcard | Class::Mixed) || (with_values && class == Class::Value);
        let (mut rest, mut found) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < units.len() {
            let start = at;
            while at < units.len() {
                if units[at] == self.optional {
                    at += 1;
                } else if let Some(end) = part_end(units.len(), at, text)
                    && units[at..end].iter().any(|&unit| varies(self.units.class(unit)))
                {
                    at = end;
                } else {
                    break;
                }
            }
            if at > start {
                found.push((rest.len(), start..at));
            } else {
                rest.push(units[at]);
                at += 1;
            }
        }
        (rest, found)
    }

    fn run(&mut self) -> Result<()> {
        self.merge_tags()?;
        for _ in 0..ROUNDS {
            for _ in 0..ROUNDS {
                if self.merge_structures()? + self.merge_words()? == 0 {
                    break;
                }
            }
            let mut changed = self.merge_runs()
                + self.merge_pairs()
                + self.merge_keyed()?
                + self.merge_cells()?
                + self.merge_json()?
                + self.merge_fields()?
                + self.merge_tails()?
                + self.merge_optional(false)?;
            for level in [Level::Mixed, Level::Values, Level::Keyed] {
                changed += self.merge_level(level)?;
            }
            if changed == 0
                && self.merge_covered()? == 0
                && self.merge_clauses()? == 0
                && self.merge_optional(true)? == 0
                && self.merge_values()? == 0
                && self.merge_chunks()? == 0
                && self.merge_at_variables()? == 0
                && self.merge_known()? == 0
                && self.merge_pair_lists()? == 0
                && self.merge_codes()? == 0
                && self.merge_into_texts()? == 0
                && self.merge_level(Level::Words)? == 0
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
    let mut merger = TemplateMerger::new(table, &order, overrides)?;
    let first = if overrides.split.is_empty() { Vec::new() } else { merger.shapes.clone() };
    merger.run()?;
    let mut result = TemplateTable::new(table.max_values(), 1 << 31)?;
    for shape in &merger.shapes {
        merger.cancel.check()?;
        let template = merger.merged_template(shape)?;
        if !overrides.split.contains(&*template.text) {
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

/// Return the templates of a table. Templates that differ in the lengths of their runs keep one word of each run, and
/// its last wildcard becomes text.
fn collapse_runs(table: &TemplateTable) -> Result<Vec<Cow<'_, Template>>> {
    let mut short: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    let result: Vec<Vec<Run>> = table.templates().iter().map(|template| find_runs(&template.text)).collect();
    let mut is_long = vec![false; table.len()];
    let key = |position: usize| {
        let template = &table.templates()[position].text;
        let (mut text, mut at) = (Vec::new(), 0);
        for run in &result[position] {
            text.extend_from_slice(&template[at..run.first_end]);
            at = run.end;
        }
        text.extend_from_slice(&template[at..]);
        for at in 1..text.len() {
            if text[at - 1] == WILDCARD && text[at] != 0 {
                text[at] = ANY[1];
            }
        }
        text
    };
    for position in 0..table.len() {
        short.entry(key(position)).or_default().push(position);
    }
    for positions in short.values() {
        let lengths: HashSet<Vec<usize>> =
            positions.iter().map(|&position| result[position].iter().map(|run| run.words).collect()).collect();
        let lists = positions.iter().flat_map(|&position| &result[position]).any(|run| run.words > 2 || run.listed);
        if lengths.len() > 1 && lists {
            for &position in positions {
                is_long[position] = true;
            }
        }
    }
    let templates = table.templates().iter().enumerate().map(|(position, template)| {
        if is_long[position] && !result[position].is_empty() {
            shorten_runs(template, &result[position], table.max_values()).map(Cow::Owned)
        } else {
            Ok(Cow::Borrowed(template))
        }
    });
    templates.collect()
}

/// Return a template with one word of each run.
fn shorten_runs(template: &Template, runs: &[Run], max_values: usize) -> Result<Template> {
    let count = |bytes: &[u8]| templates::wildcard_kinds(bytes).unwrap_or_default().len();
    let (mut text, mut wildcards, mut at, mut wildcard) = (Vec::new(), Vec::new(), 0, 0);
    for run in runs {
        let before = count(&template.text[at..run.start]);
        wildcards.extend_from_slice(&template.wildcards[wildcard..wildcard + before]);
        wildcard += before;
        let (inside, all) =
            (count(&template.text[run.start..run.first_end]), count(&template.text[run.start..run.end]));
        let mut of_word: Vec<Values> = template.wildcards[wildcard..wildcard + inside].to_vec();
        for (number, values) in template.wildcards[wildcard + inside..wildcard + all].iter().enumerate() {
            of_word[number % inside].merge(values, max_values)?;
        }
        wildcards.extend(of_word);
        wildcard += all;
        text.extend_from_slice(&template.text[at..run.first_end]);
        if let Some(last) = text.iter().rposition(|&byte| byte == WILDCARD) {
            text[last + 1] = Kind::Text as u8;
        }
        at = run.end;
    }
    text.extend_from_slice(&template.text[at..]);
    wildcards.extend_from_slice(&template.wildcards[wildcard..]);
    Ok(Template { text: text.into(), wildcards: wildcards.into(), ..template.without_wildcards() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{self, BatchMetadata, Packed};
    use crate::columns::Columns;
    use crate::lines;
    use nearkin_core::cancel;
    use proptest::prelude::*;

    pub(crate) fn table(lines: &[String]) -> TemplateTable {
        let mut offsets = vec![0];
        for line in lines {
            offsets.push(offsets[offsets.len() - 1] + line.len() as i64);
        }
        let data = lines.concat().into_bytes();
        let items = Packed::new(&offsets, &data).expect("valid");
        let mut table = TemplateTable::new(64, 10_000).expect("valid");
        let batches = batch::scan(items, lines::scan).expect("not cancelled");
        batch::add(&mut table, &batches, items, BatchMetadata::default()).expect("memory");
        table
    }

    fn texts_with(lines: &[String], overrides: &Overrides) -> Vec<String> {
        let result = merge_templates(&table(lines), overrides).expect("not cancelled");
        let mut texts: Vec<String> = result
            .templates()
            .iter()
            .map(|template| String::from_utf8_lossy(&templates::to_text(&template.text)).into_owned())
            .collect();
        texts.sort();
        texts
    }

    fn texts(lines: &[&str]) -> Vec<String> {
        texts_with(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>(), &Overrides::default())
    }

    const NAMES: [&str; 9] = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal", "ida"];

    fn users(count: usize) -> Vec<String> {
        NAMES[..count].iter().map(|name| format!("session of {name} was opened")).collect()
    }

    #[test]
    fn a_word_is_a_variable_from_enough_words_on() {
        assert_eq!(7, texts_with(&users(7), &Overrides::default()).len());
        assert_eq!(vec!["session of {word} was opened"], texts_with(&users(8), &Overrides::default()));
        // After `=` fewer words are enough; names with digits count more, capitals less.
        assert_eq!(1, texts(&["u=ann in", "u=bob in", "u=cid in", "u=dan in", "u=eve in", "u=fay in"]).len());
        assert_eq!(
            1,
            texts(&["link eth0 went up", "link eth1 went up", "link eth2 went up", "link eth3 went up"]).len()
        );
        assert_eq!(3, texts(&["link went UP", "link went DOWN", "link went AWAY"]).len());
    }

    #[test]
    fn a_long_sentence_needs_fewer_words() {
        let lines = |count: usize| -> Vec<String> {
            let line = |name: &&str| format!("request 5 rejected because quota of {name} is exceeded");
            NAMES[..count].iter().map(line).collect()
        };
        assert_eq!(4, texts_with(&lines(4), &Overrides::default()).len());
        assert_eq!(1, texts_with(&lines(5), &Overrides::default()).len());
        // Four words around it are no long sentence.
        let short: Vec<String> =
            lines(5).iter().map(|line| line.replace("because ", "").replace(" is exceeded", "")).collect();
        assert_eq!(5, texts_with(&short, &Overrides::default()).len());
    }

    #[test]
    fn a_rare_line_joins_a_template_with_a_field_and_a_word() {
        let reasons = [
            "no more",
            "disk is full",
            "out of memory",
            "peer closed it",
            "lock held",
            "bad sum",
            "no route",
            "x is y",
        ];
        let line = |(handler, reason): (&str, &str)| format!("error in handler org.{handler}: {reason}");
        let all = NAMES[..8].iter().flat_map(|&handler| reasons.iter().map(move |&reason| (handler, reason)));
        let mut lines: Vec<String> = all.map(line).collect();
        lines.push("error in handler org.abc: retry later".to_owned());
        assert_eq!(vec!["error in handler {host}: {text}"], texts_with(&lines, &Overrides::default()));
    }

    #[test]
    fn merged_templates_keep_a_word() {
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
        assert_eq!(expected, texts_with(&lines, &Overrides::default()));
    }

    #[test]
    fn empty_values_and_different_types_are_merged() {
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
            texts_with(&lines, &Overrides::default())
                .iter()
                .map(|text| { text.replace("{name}", "{file}").replace("{host}", "{file}") })
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn optional_parts_are_one_template() {
        let lines = ["close, 403 bytes sent", "close, 1190 bytes (1.16 KB) sent", "close, 7 bytes sent"];
        assert_eq!(vec!["close, {int} bytes{optional} sent"], texts(&lines));
        // Two parts, of which only some combinations occur.
        let both = ["a 1 (2 ms) sent (3)", "a 1 (2 ms) sent", "a 1 sent"];
        assert_eq!(vec!["a {int}{optional} sent{optional}"], texts(&both));
        // Without a variable, or in the middle of a word, brackets are not a part.
        assert_eq!(2, texts(&["closed by 10.0.0.1 [preauth]", "closed by 10.0.0.1"]).len());
        assert_eq!(2, texts(&["call f (1)x now", "call f now"]).len());
        // A template with a part, and lines with and without one.
        let again = ["close, {int} bytes{optional} sent", "close, 9 bytes sent", "close, 9 bytes (1 KB) sent"];
        assert_eq!(vec!["close, {int} bytes{optional} sent"], texts(&again));
    }

    #[test]
    fn values_of_several_words_are_one_value() {
        // A call, or a missing value, next to a variable.
        assert_eq!(vec!["synchronized to {text}"], texts(&["synchronized to 10.0.0.1", "synchronized to LOCAL(0)"]));
        assert_eq!(vec!["lock of ws={text}"], texts(&["lock of ws=null", "lock of ws=WorkSource{10113}"]));
        assert_eq!(vec!["peer is {name} now"], texts(&["peer is 10.0.0.1 now", "peer is localhost now"]));
        // Contents of quotes and brackets, lists and JSON.
        let quoted = ["job said \"disk is full\"", "job said \"no route\"", "job said \"try it again\""];
        assert_eq!(vec!["job said \"{text}\""], texts(&quoted));
        assert_eq!(vec!["job said \"{text}\""], texts(&quoted[..2]));
        assert_eq!(2, texts(&["job said \"red\" now", "job said \"it is full\" now"]).len());
        let lists =
            ["volumes [a, b] of node", "volumes [c] of node", "volumes [d, a, b] of node", "volumes [b] of node"];
        assert_eq!(vec!["volumes [{text}] of node"], texts(&lists));
        let objects = ["sent {\"a\": 1} off", "sent {\"b\": \"x y\"} off", "sent {\"c\": [1, 2], \"a\": 7} off"];
        assert_eq!(vec!["sent {text} off"], texts(&objects));
    }

    #[test]
    fn pairs_in_any_order_are_one_template() {
        let lines = ["metrics cpu=1 mem=2.5 io=x-1", "metrics mem=3.5 cpu=4 io=x-2", "metrics io=x-3 mem=1.5 cpu=2"];
        assert_eq!(vec!["metrics cpu={int} io=x-{int} mem={float}"], texts(&lines));
        assert_eq!(vec!["metrics mem={float} cpu={int}"], texts(&["metrics mem=1.5 cpu=2", "metrics mem=2.5 cpu=3"]));
    }

    #[test]
    fn leaders_and_missing_readings_are_structure() {
        let registers =
            ["interrupt enable...0", "interrupt check.....1", "interrupt trap......1", "interrupt update..0"];
        assert_eq!(4, texts(&registers).len());
        assert_eq!(2, texts(&["fan speeds ( 3552 **** 3515 )", "fan speeds ( 3552 3534 3515 )"]).len());
    }

    #[test]
    fn variables_that_vary_together_are_found() {
        let keyed: Vec<String> =
            (0..9).map(|n| format!("job {}.run has result '{}'", NAMES[n], NAMES[8 - n])).collect();
        let result = texts_with(&keyed, &Overrides::default());
        assert_eq!(1, result.len(), "{result:?}");
        let plain: Vec<String> = (0..81)
            .filter(|n| n % 7 < 3)
            .map(|n| {
                format!(
                    "location request from {}x{} by {}y{} was ignored here",
                    NAMES[n % 9],
                    NAMES[n / 9],
                    NAMES[n / 9],
                    NAMES[n % 9]
                )
            })
            .collect();
        assert_eq!(
            vec!["location request from {word} by {word} was ignored here"],
            texts_with(&plain, &Overrides::default())
        );
    }

    #[test]
    fn the_rest_of_a_sentence_is_a_variable_from_enough_texts_on() {
        let rest = |count: usize| -> usize {
            let lines: Vec<String> = (0..count)
                .map(|n| format!("retry of the job {n}: {} is{}", NAMES[n], " so".repeat(n % 3 + 1)))
                .collect();
            texts_with(&lines, &Overrides::default()).len()
        };
        assert_eq!((3, 1), (rest(3), rest(4)));
    }

    #[test]
    fn the_rest_of_a_line_after_a_key_is_a_variable() {
        let ends = ["", "all is well", "bad sum", "no route to it", "disk full", "try again later"];
        let lines = |count: usize, key: &str| -> Vec<String> {
            ends[..count].iter().map(|end| format!("sent 5 code=7 {key}{end}")).collect()
        };
        // The empty text is no evidence.
        assert_eq!(4, texts_with(&lines(4, "text="), &Overrides::default()).len());
        assert_eq!(vec!["sent {int} code={int} text={text}"], texts_with(&lines(5, "text="), &Overrides::default()));
        assert_eq!(5, texts_with(&lines(5, "text "), &Overrides::default()).len());
        // Words after a value, or a comma after it, are another part of the line.
        assert_eq!(
            4,
            texts(&["job n=5 was sent", "job n=5 has died", "job n=5 is up again", "job n=5 waits for it"]).len()
        );
        assert_eq!(
            4,
            texts(&["job n=ann, was sent", "job n=bob, has died", "job n=cid, is up", "job n=dan, waits for it"]).len()
        );
        // The same last word is no evidence either.
        assert_eq!(4, texts(&["job n=ann is up", "job n=bob was up", "job n=cid goes up", "job n=dan runs up"]).len());
    }

    #[test]
    fn the_rest_of_a_line_after_a_name_and_a_colon_is_a_variable() {
        let reasons = ["timed out", "disk is full", "no more of it", "peer closed it", "lock held", "out of memory"];
        let lines = |before: &str, count: usize, after: &str| -> Vec<String> {
            let each = reasons[..count].iter().flat_map(|reason| {
                ["x-1", "y-2", "z-3", "a-7"]
                    .map(|name| format!("{}: {reason}{after}", before.replace("NAME", &format!("{name}.org"))))
            });
            each.collect()
        };
        let count = |lines: &[String]| texts_with(lines, &Overrides::default()).len();
        assert_eq!(vec!["lost {host}: {text}"], texts_with(&lines("lost NAME", 6, ""), &Overrides::default()));
        assert_eq!((5, 1), (count(&lines("NAME was lost", 5, "")), count(&lines("NAME was lost", 6, ""))));
        // A number, a time, or a program after a host is a speaker, and texts with variables are messages.
        for before in ["lost 5", "12:30:59 lost NAME", "NAME kernel"] {
            assert_eq!(6, count(&lines(before, 6, "")), "{before}");
        }
        assert_eq!(6, count(&lines("lost NAME", 6, " at 5")));
    }

    #[test]
    fn words_that_are_variables_elsewhere_need_fewer() {
        let known = |more: &[&str]| -> Vec<String> {
            let users = NAMES.iter().map(|name| format!("session of {name} was opened"));
            users.chain(more.iter().map(|&line| line.to_owned())).collect()
        };
        let quoted = known(&["denied for 'ann' now", "denied for 'bob' now"]);
        assert_eq!(
            vec!["denied for '{word}' now", "session of {word} was opened"],
            texts_with(&quoted, &Overrides::default())
        );
        let bare = known(&["denied for ann now", "denied for bob now"]);
        assert_eq!(3, texts_with(&bare, &Overrides::default()).len());
        let other = known(&["denied for 'red' now", "denied for 'green' now"]);
        assert_eq!(3, texts_with(&other, &Overrides::default()).len());
        // With a name in them, several words vary at once.
        let both: Vec<String> = (0..9)
            .flat_map(|n| {
                let (name, other) = (NAMES[n], NAMES[8 - n]);
                let line = if n % 2 == 0 { format!("{name}-x met {other}") } else { format!("{name} met {other}_y") };
                [line, format!("session of {name} was opened")]
            })
            .collect();
        assert_eq!(vec!["session of {word} was opened", "{slug} met {name}"], texts_with(&both, &Overrides::default()));
    }

    #[test]
    fn structured_values_are_one_value() {
        // Nobody writes these by hand, so one line is enough.
        for (value, rest) in [
            ("{'a': 1, 'b': [2]}", "kept"),
            ("['x', 'it (is)']", "kept"),
            ("(b'x', 2)", "kept"),
            ("Point(x=1, y=ann)", "kept"),
            ("KeyError('ann')", "kept"),
            ("<Job ann at 0x7f00>", "kept"),
            ("b'GET ann'", "kept"),
            ("org.Job@1f2a3b4c[id=5, name=ann]", "kept"),
            ("Job['ann bob'/5, x=1]", "kept"),
            ("uid=ann,ou=people,dc=example,dc=org", "kept"),
            ("C=US, O=Example Org, CN=ann", "kept"),
            ("c=x,o=y,c=x,cn=ann", "kept"),
        ] {
            assert_eq!(vec![format!("value {{text}} {rest}")], texts(&[&format!("value {value} {rest}")]), "{value}");
        }
        // Without a name, user, unit or domain it is no distinguished name.
        assert_eq!(vec!["value c=ann,o=bob,c=ann kept"], texts(&["value c=ann,o=bob,c=ann kept"]));
        // These may be part of a sentence, unless they differ.
        for (one, two) in [
            ("[5]", "[]"),
            ("{x-1}", "{}"),
            ("Point(x=ann)", "Point(x=ann y)"),
            ("Job{ann at 5}", "Job{bob}"),
            ("<memory:5, cores:2>", "<memory:5>"),
            ("Job[x=ann]", "Job[x=bob y]"),
            ("stop()", "stop(5)"),
            ("None", "(5, ann)"),
        ] {
            let lines = [format!("value {one} kept"), format!("value {two} kept")];
            assert_eq!(vec!["value {text} kept"], texts(&[&lines[0], &lines[1]]), "{one} {two}");
            assert!(texts(&[&lines[0]]).iter().all(|text| text != "value {text} kept"), "{one}");
        }
        assert_eq!(2, texts(&["call stop() now", "call start() now"]).len());
        assert_eq!(2, texts(&["value (ann, bob) kept", "value (cid) kept"]).len());
        // Pairs are no distinguished name without one of its main attributes, and neither is one attribute.
        assert_eq!(vec!["value c={int},l={int} kept"], texts(&["value c=5,l=7 kept"]));
        assert_eq!(vec!["value dc=org kept"], texts(&["value dc=org kept"]));
        assert_eq!(vec!["bind \"{text}\" kept"], texts(&["bind \"cn=ann bob,dc=org\" kept"]));
        assert_eq!(vec!["value job[ann], x={int} kept"], texts(&["value job[ann], x=5 kept"]));
        assert_eq!(vec!["value job['ann'] kept"], texts(&["value job['ann'] kept"]));
        // A list of words behind a colon.
        assert_eq!(vec!["still to do: {text}"], texts(&["still to do: a, bc, d", "still to do: bc, d, e, f"]));
        assert_eq!(2, texts(&["still to do: a, bc", "still to do: bc, d, e, f"]).len());
        // Only a level would be left.
        assert_eq!(2, texts(&["INFO {'event': 'start'}", "INFO {'event': 'stop', 'code': 5}"]).len());
        // Next to a letter they are part of a word.
        assert_eq!(vec!["value <Job {text}>ann kept"], texts(&["value <Job ['a']>ann kept"]));
        // Brackets in quotes and signs do not count.
        assert_eq!(vec!["if a < {int} use {text}"], texts(&["if a < 5 use ['(']", "if a < 7 use ['b', ')']"]));
    }

    #[test]
    fn clauses_that_several_templates_lack_are_optional() {
        let lines = |templates: &[&str]| -> Vec<String> {
            let both = |template: &&str| [format!("{template} 10.0.0.1"), format!("{template} 10.0.0.1 port 22")];
            templates.iter().flat_map(both).collect()
        };
        let optional = vec!["closed by {ip}{optional}", "opened by {ip}{optional}"];
        assert_eq!(optional, texts_with(&lines(&["closed by", "opened by"]), &Overrides::default()));
        // One template is no evidence, and neither is a clause without a variable.
        assert_eq!(2, texts_with(&lines(&["closed by"]), &Overrides::default()).len());
        assert_eq!(4, texts(&["closed by a", "closed by a now", "opened by a", "opened by a now"]).len());
        // A template with the part needs no evidence.
        let more = ["closed by {ip}{optional}", "closed by 10.0.0.2 port 5 zone 7"];
        assert_eq!(vec!["closed by {ip}{optional}"], texts(&more));
        let comma = ["zone a, 5 records", "zone a", "view b, 7 records", "view b"];
        assert_eq!(vec!["view b{optional}", "zone a{optional}"], texts(&comma));
    }

    #[test]
    fn methods_plurals_and_the_ends_of_lines_need_fewer_words() {
        assert_eq!(vec!["failed {word} {path}"], texts(&["failed GET /a/b", "failed POST /c/d"]));
        assert_eq!(2, texts(&["failed GET /a/b", "failed LOST /c/d"]).len());
        assert_eq!(vec!["sent {int} {word} off"], texts(&["sent 1 name off", "sent 5 names off"]));
        assert_eq!(vec!["sent {int} data {word} off"], texts(&["sent 1 data byte off", "sent 5 data bytes off"]));
        assert_eq!(2, texts(&["sent name off", "sent names off"]).len());
        let signal = |count: usize, end: &str| -> usize {
            let lines: Vec<String> = NAMES[..count].iter().map(|name| format!("caught signal: {name}{end}")).collect();
            texts_with(&lines, &Overrides::default()).len()
        };
        assert_eq!((3, 1, 4), (signal(3, ""), signal(4, ""), signal(4, " now")));
    }

    #[test]
    fn lines_with_the_code_of_a_message_have_one_template() {
        let states = ["%LINK-3-UPDOWN: Port a up", "%LINK-3-UPDOWN: Port b down", "%LINK-5-UPDOWN: Port b down"];
        let expected = vec!["%LINK-3-UPDOWN: Port {word} {word}", "%LINK-5-UPDOWN: Port b down"];
        assert_eq!(expected, texts(&states));
        // Of other lengths too, and where a value is missing.
        let ends = ["ORA-00942: no such table a", "ORA-00942: no such table", "ORA-00942: no such table a or view b"];
        assert_eq!(vec!["ORA-00942: no such {text}"], texts(&ends));
        assert_eq!(2, texts(&["not ORA-00942: no such table", "not ORA-00942: no such view"]).len());
        // Numbers of jobs are before the same texts, so they are values.
        let jobs: Vec<String> =
            (0..6).flat_map(|n| ["started", "ended"].map(|s| format!("JOB0012{n}: was {s}"))).collect();
        assert_eq!(2, texts_with(&jobs, &Overrides::default()).len());
    }

    #[test]
    fn values_of_pairs_are_variables_from_two_on() {
        let expected = vec!["state operator={text}, rat={int}"];
        assert_eq!(expected, texts(&["state operator=EE, rat=14", "state operator=Vodafone UK, rat=7"]));
        let expected = vec!["plan: package: a, now: {text}, next: {word}"];
        assert_eq!(
            expected,
            texts(&["plan: package: a, now: in, next: out", "plan: package: a, now: to come, next: in"])
        );
        // The key of a message, the last value after a blank, and a single pair with a colon are no such values.
        assert_eq!(2, texts(&["sent msg=in, rat=14", "sent msg=out, rat=7"]).len());
        assert_eq!(2, texts(&["failed uid=5 user=ann", "failed uid=5 user=bob"]).len());
        assert_eq!(2, texts(&["plan: package a, now: in", "plan: package a, now: out"]).len());
        // The last of three pairs is a value, unless two blanks say that it was appended.
        let expected = vec!["failed uid={int} tty=ssh user={word}"];
        assert_eq!(expected, texts(&["failed uid=5 tty=ssh user=ann", "failed uid=5 tty=ssh user=bob"]));
        assert_eq!(2, texts(&["failed uid=5 tty=ssh  user=ann", "failed uid=5 tty=ssh  user=bob"]).len());
    }

    #[test]
    fn values_in_cells_are_variables_from_two_on() {
        let line = |[account, domain, realm, rights]: [&str; 4], gap: &str| {
            format!(
                "A ticket was asked for.{gap}Account:{gap}Name:{gap}{account}{gap}Domain:{gap}{domain}{gap}\
                 Realm of service: {realm}{gap}Rights:{gap}{rights}"
            )
        };
        let lines = |gap: &str| {
            [["ann", "CORP", "EXAMPLE", "Read"], ["NETWORK SERVICE", "NT AUTHORITY", "LOCAL", "Read   Write"]]
                .map(|values| line(values, gap))
        };
        for gap in ["   ", "\t\t"] {
            let expected = vec![line(["{text}", "{text}", "{word}", "{text}"], gap)];
            assert_eq!(expected, texts_with(&lines(gap), &Overrides::default()));
        }
        // One blank divides nothing, and two values are no table.
        assert_eq!(2, texts_with(&lines(" "), &Overrides::default()).len());
        assert_eq!(2, texts(&["disk  State:  good  Slot:  top", "disk  State:  not good  Slot:  left side"]).len());
    }

    #[test]
    fn tags_that_combine_with_many_rests_are_variables() {
        let lines = |rests: usize| -> Vec<String> {
            let line = |(tag, rest): (&str, &&str)| format!("[{tag}] {rest} is in");
            let some = |tag| NAMES[..rests].iter().map(move |rest| line((tag, rest)));
            let few = ["pool-1", "pool-2"].map(|tag| line((tag, &NAMES[8])));
            ["main", "a b", "core", "c d"].into_iter().flat_map(some).chain(few).collect()
        };
        let in_brackets = |lines: &[String]| {
            texts_with(lines, &Overrides::default()).iter().filter(|text| text.starts_with("[{")).count()
        };
        // A tag with a number joins them, although no other is before its rest.
        assert_eq!((3, 5), (in_brackets(&lines(3)), in_brackets(&lines(4))));
        // Levels stay in the template.
        let levels = ["INFO", "WARN", "ERROR", "DEBUG"].into_iter();
        let levels: Vec<String> =
            levels.flat_map(|tag| NAMES[..4].iter().map(move |rest| format!("[{tag}] {rest} is in"))).collect();
        assert_eq!(0, in_brackets(&levels));
    }

    #[test]
    fn tags_after_the_first_word_are_variables() {
        let lines = |word: &str| -> Vec<String> {
            let tags = ["req-5 a b", "req-6 - -", "None req-7 c", "-"];
            let line = |tag, rest: &&str| format!("nova.{word} [{tag}] {rest} is in");
            tags.into_iter().flat_map(|tag| NAMES[..4].iter().map(move |rest| line(tag, rest))).collect()
        };
        let result = texts_with(&lines("api"), &Overrides::default());
        assert_eq!(4, result.iter().filter(|text| text.starts_with("nova.api [{")).count(), "{result:?}");
    }

    #[test]
    fn escaped_quotes_do_not_close() {
        let line = |value: &str| format!(r#"failed to sync err="{value}" for it"#);
        let values =
            [r#"cannot pull \"/a/b\""#, r#"pod \"x/y\" is gone: \"z\""#, r"no route", r#"GET \"http://a/b\": timeout"#];
        assert_eq!(vec!["failed to sync err={text} for it"], texts_with(&values.map(line), &Overrides::default()));
        assert_eq!(vec![r#"volume \"{path}\" of \"{url}\""#], texts(&[r#"volume \"/a/b\" of \"http://c/d\""#]));
    }

    #[test]
    fn objects_of_json_with_the_same_keys_and_message_are_one_template() {
        let line = |message: &str, context: &str, rest: &str| {
            format!(r#"{{"s":"I",  "ctx":"{context}", "msg":"{message}", "attr":{{{rest}}}}}"#)
        };
        let lines = [
            line("Connection accepted", "listener", r#""id":1,"from":"a b""#),
            line("Connection accepted", "conn", r#""id":2,"from":"c \"d\"""#),
            line("Connection ended", "conn", r#""id":3,"from":null"#),
            line("Slow query", "conn", r#""id":4,"doc":{"find":"x"}"#),
            line("Slow query", "conn", r#""id":4,"doc":{"get":["y", "z"], "to":{"a":1}}"#),
        ];
        let expected = vec![
            r#"{"s":"I",  "ctx":"conn", "msg":"Connection ended", "attr":{"id":{int},"from":null}}"#,
            r#"{"s":"I",  "ctx":"conn", "msg":"Slow query", "attr":{"id":{int},"doc":{text}}}"#,
            r#"{"s":"I",  "ctx":"{word}", "msg":"Connection accepted", "attr":{"id":{int},"from":"{text}"}}"#,
        ];
        assert_eq!(expected, texts_with(&lines, &Overrides::default()));
        let kinds = [line("x", "c", r#""id":1"#), line("x", "c", r#""id":"a b""#)];
        let expected = vec![r#"{"s":"I",  "ctx":"c", "msg":"x", "attr":{"id":{text}}}"#];
        assert_eq!(expected, texts_with(&kinds, &Overrides::default()));
        // Messages are not values, however many there are, but words in them are.
        let lines = |message: fn(&str) -> String| NAMES.map(|name| line(&message(name), "c", r#""id":1"#));
        assert_eq!(9, texts_with(&lines(|name| format!("{name} is {name}")), &Overrides::default()).len());
        assert_eq!(1, texts_with(&lines(|name| format!("session of {name}")), &Overrides::default()).len());
        // What only looks like JSON is not.
        assert_eq!(2, texts(&[r#"{"msg":"a", "b":1} is in"#, r#"{"msg":"a", "b":1} is out"#]).len());
    }

    #[test]
    fn long_lists_of_pairs_go_on_in_several_ways() {
        let keys = ["IN", "OUT", "SRC", "DST", "LEN", "TOS", "TTL", "ID"];
        let line = |pairs: usize, rest: &str| {
            let pairs: Vec<String> = keys[..pairs].iter().map(|key| format!("{key}=5")).collect();
            format!("[BLOCK] {} {rest}", pairs.join(" "))
        };
        let rests = ["DF PROTO=TCP", "PROTO=UDP SPT=5 DPT=6", "PROTO=2"];
        assert_eq!(1, texts_with(&rests.map(|rest| line(8, rest)), &Overrides::default()).len());
        assert_eq!(3, texts_with(&rests.map(|rest| line(7, rest)), &Overrides::default()).len());
        let messages = rests.map(|rest| line(8, rest).replace("TTL=", "msg="));
        assert_eq!(3, texts_with(&messages, &Overrides::default()).len());
    }

    #[test]
    fn what_follows_the_key_of_a_message_is_no_value() {
        let lines = |key: &str| NAMES.map(|name| format!("{key}=\"{name} {name}\" of={name} is in"));
        assert_eq!(9, texts_with(&lines("msg"), &Overrides::default()).len());
        assert_eq!(1, texts_with(&lines("path"), &Overrides::default()).len());
        let kinds =
            |key: &str| -> Vec<String> { users(9).iter().map(|line| format!("{key}={}: 5", &line[11..14])).collect() };
        assert_eq!(9, texts_with(&kinds("record type"), &Overrides::default()).len());
        assert_eq!(1, texts_with(&kinds("record place"), &Overrides::default()).len());
    }

    #[test]
    fn units_of_time_after_a_number_are_variables() {
        assert_eq!(
            vec!["session ends after {int} {word}"],
            texts(&["session ends after 5 minutes", "session ends after 6 h"])
        );
        assert_eq!(2, texts(&["session ends after 5 minutes", "session ends after 6 hops"]).len());
        assert_eq!(2, texts(&["session ends in minutes", "session ends in hours"]).len());
    }

    #[test]
    fn a_quoted_message_before_pairs_is_no_value() {
        let messages = ["Started container now", "Removed image", "Killed pod by force", "Failed to mount volume"];
        let lines = |rest: &str| messages.map(|message| format!("\"{message}\"{rest}"));
        assert_eq!(4, texts_with(&lines(" pod=5 ok=6"), &Overrides::default()).len());
        assert_eq!(1, texts_with(&lines(" was sent to it"), &Overrides::default()).len());
    }

    #[test]
    fn booleans_and_versions_of_http_are_variables_from_two_on() {
        assert_eq!(vec!["set the lights: {word}"], texts(&["set the lights: true", "set the lights: False"]));
        assert_eq!(2, texts(&["set the lights: on", "set the lights: off"]).len());
        assert_eq!(vec!["sent it by HTTP/1.1"], texts(&["sent it by HTTP/1.1"]));
        assert_eq!(1, texts(&["sent it by HTTP/1.1", "sent it by HTTP/2"]).len());
        assert_eq!(vec!["sent it by HTTP/{int}"], texts(&["sent it by HTTP/17"]));
    }

    #[test]
    fn what_others_have_instead_of_a_null_is_a_value() {
        assert_eq!(1, texts(&["signal of slot 5 is null", "signal of slot 6 is Level: rssi=5, ber=7"]).len());
        assert_eq!(1, texts(&["Nodes (null) not responding", "Nodes cn[1,2-5],gpu7 not responding"]).len());
        // An adjective, and a word for something unknown.
        assert_eq!(2, texts(&["a null pointer was read", "a wild pointer was read"]).len());
        assert_eq!(2, texts(&["user a in null", "user a in ****"]).len());
        assert_eq!(2, texts(&["signal of slot 5 is unknown", "signal of slot 6 is in use"]).len());
    }

    #[test]
    fn words_at_the_place_of_a_variable_in_a_sentence_are_its_value() {
        let lines = |more: &str| {
            let mut lines = users(8);
            lines.push(format!("session of {more} was opened"));
            texts_with(&lines, &Overrides::default()).len()
        };
        assert_eq!((1, 1), (lines("kim"), lines("Kim Long Name")));
        // A particle, a number, or more than four words.
        assert_eq!((2, 2, 2), (lines("kim by root"), lines("user 5"), lines("Kim With Five Long Names")));
    }

    #[test]
    fn values_are_known_in_the_same_context() {
        let lines = |more: &[&str]| {
            let mut lines = users(8);
            lines.extend(more.iter().map(|&line| line.to_owned()));
            texts_with(&lines, &Overrides::default())
        };
        assert_eq!(vec!["session of {word} ends", "session of {word} was opened"], lines(&["session of ann ends"]));
        // Another word, and another word before it.
        assert_eq!(2, lines(&["session of zed ends"]).len());
        assert!(lines(&["session of zed ends"]).contains(&"session of zed ends".to_owned()));
        assert!(lines(&["a session of ann ends"]).contains(&"a session of ann ends".to_owned()));
        // Any value between quotes and after `=`.
        let quoted =
            ["rule \"a b\" runs", "rule \"c d e\" runs", "rule \"f\" runs", "rule \"h i\" is triggered by ann"];
        assert_eq!(vec!["rule \"{text}\" is triggered by ann", "rule \"{text}\" runs"], texts(&quoted));
    }

    #[test]
    fn words_between_blanks_are_compared_as_a_whole() {
        let lines = ["a/b:7", "org.a:x", "a-b/c.d:e", "x::y_1", "b:c/7:f", "a.b/.c"]
            .map(|name| format!("started {name} for it"));
        assert_eq!(vec!["started {text} for it"], texts_with(&lines, &Overrides::default()));
        assert_eq!(3, texts_with(&lines[..3], &Overrides::default()).len());
        // An optional part of one shape is one of those with other words.
        let parts = ["ran a.b", "ran a.b (5)", "ran org.c/d:x (7)", "ran a-b"];
        assert!(
            texts(&parts).iter().all(|text| text.ends_with("{optional}") || !text.contains('(')),
            "{:?}",
            texts(&parts)
        );
    }

    #[test]
    fn three_quoted_words_are_a_variable() {
        let quoted = |count: usize| -> usize {
            let lines: Vec<String> = NAMES[..count].iter().map(|name| format!("try '{name}' now")).collect();
            texts_with(&lines, &Overrides::default()).len()
        };
        assert_eq!((2, 1), (quoted(2), quoted(3)));
    }

    #[test]
    fn a_variable_for_any_text_takes_what_is_in_its_place() {
        let texts_of =
            ["a, b c", "no more", "disk is full", "x-1 lost"].map(|text| format!("job 5 sent text '{text}' to all"));
        let mut lines = texts_of.to_vec();
        lines.push("job 7 sent text 'it's ('not') so' to all".to_owned());
        assert_eq!(vec!["job {int} sent text '{text}' to all"], texts_with(&lines, &Overrides::default()));
        // Other words around it are another template.
        lines.push("job 7 sent text 'no more' to some".to_owned());
        assert_eq!(2, texts_with(&lines, &Overrides::default()).len());
        assert_eq!(vec!["nodes {text} are down"], texts(&["nodes (null) are down", "nodes [5] are down"]));
    }

    #[test]
    fn a_text_at_the_start_of_a_sentence_is_a_variable_as_well() {
        let services = ["cron", "sshd", "gdm-password", "sudo", "su-l", "login"];
        let lines = |ends: &[&str]| -> Vec<String> {
            let all = services.iter().flat_map(|service| {
                NAMES.iter().flat_map(move |user| {
                    ends.iter().map(move |end| {
                        format!("pam_unix({service}:session): session opened for user {user}(uid=7) by {end}")
                    })
                })
            });
            all.collect()
        };
        let expected = vec!["{text}: session opened for user {text} by {text}"];
        let mut all = lines(&["ann(uid=0)", "root(uid=5)", "bob(uid=1)"]);
        all.push("pam_unix(cron:session): session opened for user hal(uid=7) by (uid=3)".to_owned());
        assert_eq!(expected, texts_with(&all, &Overrides::default()));
    }

    #[test]
    fn every_line_matches_its_template_if_dots_divide_a_word() {
        assert_eq!(Some(Kind::Text), kind_of_units(b"windows-i..l-token"));
    }

    #[test]
    fn pinned_and_split_templates_are_respected() {
        let all = merge_templates(&table(&users(8)), &Overrides::default()).expect("not cancelled");
        let split = Overrides {
            split: all.templates().iter().map(|template| template.text.to_vec()).collect(),
            ..Overrides::default()
        };
        assert_eq!(users(8), texts_with(&users(8), &split));
        let pinned = Overrides { pinned: [users(1)[0].clone().into_bytes()].into(), ..Overrides::default() };
        assert_eq!(vec!["session of ann was opened", "session of {word} was opened"], texts_with(&users(9), &pinned));
    }

    #[test]
    fn merged_templates_sum_statistics() {
        let lines: Vec<String> = users(9).into_iter().chain(users(3)).collect();
        let all = table(&lines);
        let result = merge_templates(&all, &Overrides::default()).expect("not cancelled");
        let template = &result.templates()[0];
        assert_eq!(
            (1, 12, 9, 1),
            (result.len(), template.count, template.wildcards[0].len(), template.wildcards.len())
        );
        let mut compacted = all.clone();
        compact(&mut compacted, &Overrides::default()).expect("memory");
        assert_eq!((1, 12), (compacted.len(), compacted.count()));
        // New lines match the merged templates.
        compacted
            .merge(&{
                let mut more = TemplateTable::new(64, 10_000).expect("valid");
                more.merge(&table(&["session of zoe was opened".to_owned()])).expect("compatible");
                more
            })
            .expect("compatible");
        assert_eq!(1, merge_templates(&compacted, &Overrides::default()).expect("not cancelled").len());
    }

    #[test]
    fn a_cancelled_call_ends() {
        let all = table(&users(9));
        let result = cancel::at_every_check(&mut (), |()| merge_templates(&all, &Overrides::default()), |()| ());
        assert_eq!(1, result.len());
    }

    prop_compose! {
        fn lines()(lines in prop::collection::vec(
            (
                "(user|from|for|ORA-0942[01]: for|\\[[a-f]\\] of the|x \\[[a-c] [0-9]\\] of|\"[a-c] is\")",
                "[a-h]{1,2}|eth[0-3]|A|B|a=[0-9] b=[c-e]|b=[c-e] a=[0-9]",
                "(in|=|\\(\\)|1, 2|1|in port [0-9]|to: [a-c], b, c|GET|PUT|5 cats?|\\{'a': [a-c]\\}|<x [a-c] [0-9]>|f\\(x=[a-c], [a-c]\\)|None|in \\([a-e1]\\)|x\\([0-9]\\)|\\[[a-c](, [a-c]){0,2}\\]|\"[a-c]( [a-c]){0,2}\"|of the: [a-h] [a-h]|dc=[a-c],ou=[a-c]|x\\[a=[a-c], b=[0-9]\\]|t=[a-e] [a-e]|x-[0-9] on: [a-h] [a-h]|s, k: [a-c], l: [a-c]|'[a-e]'|a\\.[a-e]/[a-c]:x|<X '[a-c]:[0-9]'>|\"[a-c]\\\\\"[a-c]\"|is \\(null\\)|is null|is \\*\\*\\*|of true|[a-h] was|[a-h] [a-h] [a-h] was)",
                "[0-9]{1,2}|x\\.y|[a-e]|null|\\*\\*\\*|\\.\\.\\.[0-9]|[0-9] (s|minutes)|a=1 b=[a-c] c=1 d=1 e=1 f=1 g=1 h=[a-c]( i=1| [a-c])?",
                prop::option::weighted(0.2, "\\{\"a\":[12],\"b\":[1-3]\\}|\"[a-c]\"|1|null|\\[\"[a-c]\"(, 1)?\\]"),
            ),
            0..40
        )) -> Vec<String> {
            let line = |(a, b, c, d, json): (String, String, String, String, Option<String>)| match json {
                Some(json) => format!("{{\"msg\": \"{} {}\", \"c\":\"{b}\",\"attr\":{json}}}", &a[..1].trim_start_matches('"'), &c[..1].trim_start_matches('"')),
                None => format!("{a} {b} {c} {d}"),
            };
            lines.into_iter().map(line).collect()
        }
    }

    proptest! {
        #[test]
        fn neither_order_nor_counts_matter(lines in lines(), turn in 0_usize..40) {
            let mut turned: Vec<String> = lines.iter().chain(&lines).cloned().collect();
            let turn = turn.min(turned.len());
            turned.rotate_left(turn);
            let (one, two) = (texts_with(&lines, &Overrides::default()), texts_with(&turned, &Overrides::default()));
            prop_assert_eq!(one, two);
            let whole = Columns::from_table(&merge_templates(&table(&lines), &Overrides::default()).expect("memory")).expect("memory");
            let mut other = lines.clone();
            other.reverse();
            prop_assert_eq!(whole, Columns::from_table(&merge_templates(&table(&other), &Overrides::default()).expect("memory")).expect("memory"));
        }

        #[test]
        fn merging_is_idempotent(lines in lines()) {
            let once = texts_with(&lines, &Overrides::default());
            prop_assert_eq!(&once, &texts_with(&once, &Overrides::default()));
        }

        #[test]
        fn each_line_is_counted_once(lines in lines()) {
            let all = table(&lines);
            let result = merge_templates(&all, &Overrides::default()).expect("memory");
            prop_assert_eq!(all.count(), result.count());
        }
    }
}
