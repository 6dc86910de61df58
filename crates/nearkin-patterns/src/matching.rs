//! Matching: the merged template of a line, and the values of its variables.
//!
//! Merged templates form a trie over their units. Each node has one branch per unit, one for a wildcard with a type,
//! and one for a wildcard that accepts any word. Literal branches are tried first, so the template with the earliest
//! literals wins. A line that is the text of a template has that template, although others may match its words. Results are
//! cached by line template ([`Plan`]), so a line costs its scan, one lookup and its values.

use std::collections::HashMap;
use std::ops::Range;

use crate::kinds::Kind;
use crate::templates::{self, Element, TemplateTable};
use crate::units::{self, Class, Field, Place, Units};
use nearkin_core::Result;
use nearkin_core::hash::NumberState;

/// Maximum number of branches per walk, in addition to two per unit. Hostile templates reach this limit and match
/// nothing.
const STEPS: usize = 10_000;

/// Maximum number of units that text takes if no template matches a line otherwise.
const RUN: usize = 2048;

/// The branch of a wildcard that accepts any word.
const OPEN: u32 = u32::MAX;
/// The branch of a wildcard that accepts any field.
const FREE: u32 = u32::MAX - 1;
/// The branch of an optional part.
const OPTIONAL: u32 = u32::MAX - 2;

/// Units that a branch takes, and whether it takes them as a wildcard.
type Taken = (Range<usize>, bool);

/// A piece of a value: literal bytes, or a value of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal bytes.
    Literal(Vec<u8>),
    /// The value of a wildcard of the line, by number.
    Value(usize),
}

/// The merged template and the variables for all lines of one template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Row of the merged template.
    pub row: u32,
    /// The pieces of each variable's value.
    pub variables: Vec<Vec<Piece>>,
}

impl Plan {
    /// Return the size of the variables in bytes.
    fn size(&self) -> usize {
        let literal = |piece: &Piece| if let Piece::Literal(bytes) = piece { bytes.len() } else { 0 };
        let variable = |pieces: &Vec<Piece>| {
            size_of::<Vec<Piece>>() + pieces.iter().map(|piece| size_of::<Piece>() + literal(piece)).sum::<usize>()
        };
        self.variables.iter().map(variable).sum()
    }

    /// Append the value of a variable to `text`; `value` returns the values of the line's wildcards.
    pub fn write_value<'a>(&'a self, variable: usize, value: impl Fn(usize) -> &'a [u8], text: &mut Vec<u8>) {
        for piece in &self.variables[variable] {
            text.extend_from_slice(match piece {
                Piece::Literal(bytes) => bytes,
                Piece::Value(number) => value(*number),
            });
        }
    }
}

/// A trie of merged templates.
pub struct Matcher {
    units: Units,
    any: u32,
    branches: HashMap<(u32, u32), u32>,
    /// The row of the template that ends at a node, plus 1; 0 for none.
    ends: Vec<u32>,
    /// Rows of the templates with a wildcard that accepts words or fields. The first path of a walk ends at any other
    /// template if the line is its text.
    open: HashMap<Box<[u8]>, u32>,
    /// Which variables of each template are printed.
    left: Vec<Vec<bool>>,
}

impl Matcher {
    /// Build the trie of a table of merged templates.
    ///
    /// # Errors
    /// Memory allocation fails.
    pub fn new(templates: &TemplateTable) -> Result<Self> {
        let mut all = Units::default();
        let any = all.position(&units::ANY);
        let left = templates.templates().iter().map(|template| template.printed(templates.max_values()).1).collect();
        let mut tree = Self { units: all, any, branches: HashMap::new(), ends: vec![0], open: HashMap::new(), left };
        for position in templates.sorted()? {
            let text = &templates.templates()[position as usize].text;
            let (mut node, mut is_open) = (0, false);
            for range in units::split_units(text) {
                let unit = match units::wildcard_kind(&text[range.clone()]) {
                    Some(Kind::Optional) => OPTIONAL,
                    Some(Kind::Text) => FREE,
                    Some(kind) if units::is_open(kind) => OPEN,
                    _ => tree.units.position(&text[range]),
                };
                is_open |= unit >= OPTIONAL;
                let new = tree.ends.len() as u32;
                node = *tree.branches.entry((node, unit)).or_insert(new);
                if node == new {
                    tree.ends.push(0);
                }
            }
            if tree.ends[node as usize] == 0 {
                tree.ends[node as usize] = position + 1;
            }
            if is_open {
                tree.open.insert(text.clone(), position);
            }
        }
        Ok(tree)
    }

    /// Return the merged template that matches the units, and which units each of its units takes. A unit is None, with
    /// its class, if no template contains it. Text takes a word or a field, or, if `any_run` is set, any run of units.
    fn walk<'t>(
        &self,
        units: &[(Option<u32>, Class)],
        text: impl Fn(usize) -> &'t [u8] + Copy,
        any_run: bool,
    ) -> Option<(u32, Vec<Taken>)> {
        let mut fields = units::find_fields(units.len(), |at| units[at].1, text);
        let structures = units::find_structures(units.len(), |at| units[at].1, text).into_iter();
        fields.extend(structures.map(|units| Field { units, place: Place::Word }));
        // A node, the number of branches and of units up to it, and what the last branch took.
        let mut waiting: Vec<(u32, usize, Taken)> = vec![(0, 0, (0..0, false))];
        let mut taken: Vec<Taken> = Vec::with_capacity(units.len());
        for _ in 0..STEPS + 2 * units.len() {
            let (node, depth, last) = waiting.pop()?;
            let at = last.0.end;
            if depth > 0 {
                taken.truncate(depth - 1);
                taken.push(last);
            }
            let mut go = |unit: u32, end: usize, wildcard: bool| {
                if let Some(&next) = self.branches.get(&(node, unit)) {
                    waiting.push((next, depth + 1, (at..end, wildcard)));
                }
            };
            // The branch pushed last is explored first.
            go(OPTIONAL, at, true);
            let Some(&(unit, class)) = units.get(at) else {
                match self.ends[node as usize] {
                    0 => continue,
                    end => return Some((end - 1, taken)),
                }
            };
            let mut end = at;
            while let Some(next) = units::part_end(units.len(), end, text) {
                end = next;
            }
            if end > at {
                go(OPTIONAL, end, true);
            }
            if class == Class::Optional {
                go(OPTIONAL, at + 1, true);
                continue;
            }
            if any_run && self.branches.contains_key(&(node, FREE)) {
                (at + 2..=units.len().min(at + RUN)).rev().for_each(|end| go(FREE, end, true));
            }
            for field in fields.iter().filter(|field| field.units.start == at) {
                go(FREE, field.units.end, true);
            }
            if class != Class::Between {
                go(FREE, at + 1, true);
                go(OPEN, at + 1, true);
            }
            if matches!(class, Class::Wildcard | Class::Empty) {
                go(self.any, at + 1, true);
            }
            if let Some(unit) = unit.filter(|&unit| unit != self.any) {
                go(unit, at + 1, false);
            }
        }
        None
    }

    /// Return the plan for the lines of a template, with the variables that are printed; None if nothing matches.
    pub fn plan(&self, template: &[u8]) -> Option<Plan> {
        let mut plan = self.plan_all(template)?;
        let mut left = self.left[plan.row as usize].iter();
        plan.variables.retain(|_| left.next().is_none_or(|&left| left));
        Some(plan)
    }

    fn plan_all(&self, template: &[u8]) -> Option<Plan> {
        if let Some(&row) = self.open.get(template) {
            return Some(Plan { row, variables: variables(template, &(0..template.len()), template.len(), false) });
        }
        let spans = units::split_units(template);
        let unit = |span: &Range<usize>| self.units.find(&template[span.clone()]);
        let units: Vec<(Option<u32>, Class)> = spans.iter().map(unit).collect();
        let text = |at: usize| &template[spans[at].clone()];
        let pairs = units::find_pairs(spans.len(), |at| units[at].1, text);
        let sorted = units::sort_pairs(spans.len(), &pairs, text)
            .map(|order| order.into_iter().map(|at| spans[at].clone()).collect::<Vec<_>>());
        // With the pairs `key=value` as they are, or in the order of their keys.
        let plan = |any_run: bool| {
            let plan = self.plan_units(template, &spans, unit, any_run);
            plan.or_else(|| self.plan_units(template, sorted.as_ref()?, unit, any_run))
        };
        plan(false).or_else(|| plan(true))
    }

    /// Return the plan for units in this order.
    fn plan_units(
        &self,
        template: &[u8],
        spans: &[Range<usize>],
        unit: impl Fn(&Range<usize>) -> (Option<u32>, Class),
        any_run: bool,
    ) -> Option<Plan> {
        let units: Vec<(Option<u32>, Class)> = spans.iter().map(unit).collect();
        let (row, taken) = self.walk(&units, |at| &template[spans[at].clone()], any_run)?;
        let variables = taken.into_iter().flat_map(|(units, wildcard)| {
            let span = units::cover(spans, &units);
            variables(template, &span, span.end, wildcard)
        });
        Some(Plan { row, variables: variables.collect() })
    }
}

/// Return the variables in a unit: the complete unit if it is taken as a wildcard, otherwise its wildcards. The last
/// one extends to the last wildcard before `last`.
fn variables(template: &[u8], &Range { start, end }: &Range<usize>, last: usize, taken: bool) -> Vec<Vec<Piece>> {
    if taken {
        return vec![pieces(template, start, last)];
    }
    let wildcards = wildcard_offsets(template, start, end);
    let beyond = wildcard_offsets(template, start, last).last().copied();
    let count = wildcards.len();
    wildcards
        .into_iter()
        .enumerate()
        .map(|(number, position)| {
            let to = if number + 1 == count { beyond.unwrap_or(position) } else { position };
            pieces(template, position, to + 2)
        })
        .collect()
}

/// Return the offsets of wildcards in a range of a template.
fn wildcard_offsets(template: &[u8], start: usize, end: usize) -> Vec<usize> {
    let offset = |(at, element)| matches!(element, Element::Wildcard(_)).then_some(start + at);
    templates::elements(&template[start..end]).filter_map(offset).collect()
}

/// Return a range of a template as literal bytes and values.
fn pieces(template: &[u8], start: usize, end: usize) -> Vec<Piece> {
    let mut number = wildcard_offsets(template, 0, start).len();
    let (mut result, mut literal) = (Vec::new(), Vec::new());
    for (_, element) in templates::elements(&template[start..end]) {
        match element {
            Element::Literal(byte) => literal.push(byte),
            Element::Wildcard(_) => {
                if !literal.is_empty() {
                    result.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                result.push(Piece::Value(number));
                number += 1;
            }
        }
    }
    if !literal.is_empty() {
        result.push(Piece::Literal(literal));
    }
    result
}

/// A template and its plan.
type CachedPlan = (Box<[u8]>, Option<Plan>);

/// Maximum size of a cache in bytes; a larger one is emptied.
const MAX_CACHE: usize = 1 << 26;

/// A cache of plans by template.
#[derive(Default)]
pub struct Plans {
    plans: HashMap<u64, Vec<CachedPlan>, NumberState>,
    /// Size of the plans in bytes.
    size: usize,
}

impl Plans {
    /// Return the plan for a template with hash `hash`.
    pub fn get<'a>(&'a mut self, matcher: &Matcher, template: &[u8], hash: u64) -> Option<&'a Plan> {
        if self.size > MAX_CACHE {
            *self = Self::default();
        }
        let bucket = self.plans.entry(hash).or_default();
        let position = bucket.iter().position(|plan| *plan.0 == *template).unwrap_or_else(|| {
            let plan = matcher.plan(template);
            self.size += size_of::<CachedPlan>() + template.len() + plan.as_ref().map_or(0, Plan::size);
            bucket.push((template.into(), plan));
            bucket.len() - 1
        });
        bucket[position].1.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::lines;
    use crate::template_merge::{Overrides, merge_templates};
    use proptest::prelude::*;

    fn table(lines: &[String]) -> TemplateTable {
        let mut table = TemplateTable::new(64, 10_000).expect("valid");
        for line in lines {
            let mut batch = Batch::default();
            lines::scan(&mut batch, 0, line.as_bytes());
            for (_, hash, template, values) in batch.iter() {
                let values = values.map(|position| batch.value(position));
                table.add((hash, template), (1, b""), values, templates::ItemMetadata::default()).expect("memory");
            }
        }
        merge_templates(&table, &Overrides::default()).expect("memory")
    }

    /// Return the template of a line and the values of its variables.
    fn matched(templates: &TemplateTable, line: &str) -> Option<(String, Vec<String>)> {
        let (matcher, mut plans, mut batch) =
            (Matcher::new(templates).expect("memory"), Plans::default(), Batch::default());
        lines::scan(&mut batch, 0, line.as_bytes());
        let (_, hash, template, values) = batch.iter().next()?;
        let plan = plans.get(&matcher, template, hash)?.clone();
        assert_eq!(Some(&plan), plans.get(&matcher, template, hash));
        let text = templates::to_text(&templates.templates()[plan.row as usize].printed(64).0.text);
        let of = |piece: &Piece| match piece {
            Piece::Literal(bytes) => bytes.clone(),
            Piece::Value(number) => batch.value(values.start + number).1.to_vec(),
        };
        let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let variables = plan.variables.iter().map(|pieces| lossy(pieces.iter().flat_map(of).collect()));
        Some((lossy(text), variables.collect()))
    }

    fn lines() -> Vec<String> {
        let names = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal"];
        let mut lines: Vec<String> = (5..).zip(names).map(|(n, name)| format!("user {name} took {n} ms")).collect();
        lines.extend(
            [
                "user of 5 ms",
                "got {'a': 1} off",
                "got ['b', (1, 'c')] off",
                "to 7 up",
                "to 7 up port 5",
                "at 7 up",
                "at 7 up port 9",
                "delete blk_1 now",
                "delete blk_2 blk_3 blk_4 now",
                "from eth0-1 () up",
                "from (x2-9) up",
                "id=1 note=",
                "id=1 note=no more",
                "bind uid=ann,dc=org",
            ]
            .map(str::to_owned),
        );
        lines
    }

    #[test]
    fn a_full_cache_is_emptied() {
        let matcher = Matcher::new(&table(&lines())).expect("memory");
        let mut plans = Plans::default();
        for (number, template) in [b"user of", b"none of", b"user or"].into_iter().enumerate() {
            assert_eq!(None, plans.get(&matcher, template, number as u64));
        }
        assert_eq!((3, true), (plans.plans.len(), plans.size >= 3 * 7));
        plans.size = MAX_CACHE + 1;
        assert_eq!(None, plans.get(&matcher, b"user of", 0));
        assert_eq!((1, true), (plans.plans.len(), plans.size < 1000));
    }

    #[test]
    fn a_line_has_its_template_and_values() {
        let templates = table(&lines());
        for (line, template, values) in [
            ("user zoe took 17 ms", "user {word} took {int} ms", vec!["zoe", "17"]),
            ("user x-1 took 0.5 ms", "user {word} took {int} ms", vec!["x-1", "0.5"]),
            ("user of 9 ms", "user of {int} ms", vec!["9"]),
        ] {
            let (result, variables) = matched(&templates, line).expect(line);
            assert_eq!((template, values), (result.as_str(), variables.iter().map(String::as_str).collect()));
        }
        for line in ["user zoe took ms", "nothing", "delete 7", "user of x ms"] {
            assert_eq!(None, matched(&templates, line), "{line}");
        }
    }

    #[test]
    fn parts_fields_and_pairs_have_values() {
        let lines = [
            "close 403 bytes sent",
            "close 1190 bytes (1.16 KB) sent",
            "run a=1 b=x-1",
            "run b=x-2 a=2",
            "to LOCAL(0) now",
            "to 10.0.0.1 now",
            "said \"a b\" x",
            "said \"c d e\" x",
            "said \"f\" x",
            "said \"g h\" x",
            "sent {'a': 1} off",
            "bind uid=ann,dc=org",
        ];
        let templates = table(&lines.map(str::to_owned));
        for (line, template, values) in [
            ("close 1 bytes sent", "close {int} bytes{optional} sent", vec!["1", ""]),
            ("close 1 bytes (2 MB) sent", "close {int} bytes{optional} sent", vec!["1", " (2 MB)"]),
            ("close 1 bytes (no idea) sent", "close {int} bytes{optional} sent", vec!["1", " (no idea)"]),
            ("run b=x-9 a=8", "run a={int} b=x-{int}", vec!["8", "9"]),
            ("to OTHER(7) now", "to {text} now", vec!["OTHER(7)"]),
            ("sent {'k': [1, 'x (y']} off", "sent {text} off", vec!["{'k': [1, 'x (y']}"]),
            ("bind cn=a b,ou=x,dc=org", "bind {text}", vec!["cn=a b,ou=x,dc=org"]),
            ("said \"one two three four\" x", "said \"{text}\" x", vec!["one two three four"]),
            ("close {int} bytes{optional} sent", "close {int} bytes{optional} sent", vec!["{int}", "{optional}"]),
        ] {
            let (result, variables) = matched(&templates, line).expect(line);
            assert_eq!((template, values), (result.as_str(), variables.iter().map(String::as_str).collect()));
        }
        assert_eq!(None, matched(&templates, "close 1 bytes sent (2 MB)"));
    }

    #[test]
    fn the_text_of_a_template_has_that_template() {
        let mut templates = TemplateTable::new(4, 100).expect("valid");
        let wildcards = [[Kind::Text, Kind::Word], [Kind::Word, Kind::Word], [Kind::Word, Kind::Name]];
        for (position, kinds) in wildcards.into_iter().enumerate() {
            let mut text = Vec::new();
            templates::push_wildcard(&mut text, kinds[0]);
            text.push(b' ');
            if position == 0 {
                text.extend(b"up");
            } else {
                templates::push_wildcard(&mut text, kinds[1]);
            }
            let count = templates::wildcard_kinds(&text).expect("a template").len();
            let wildcards = vec![crate::values::Values::default(); count].into_boxed_slice();
            let template = templates::Template { text: text.into(), wildcards, ..templates::Template::empty() };
            templates.add_template(&template).expect("memory");
        }
        for line in ["{text} up", "{word} {word}", "{word} {name}"] {
            let (template, variables) = matched(&templates, line).expect(line);
            assert_eq!(line, template);
            assert!(variables.iter().all(|value| line.contains(value.as_str())) && !variables.is_empty());
        }
        // Of other lines, a word is explored before a text.
        assert_eq!("{word} {word}", matched(&templates, "ann up").expect("a word").0);
    }

    #[test]
    fn hostile_templates_end_without_a_template() {
        // Each word matches a wildcard and a literal, and the end matches nothing.
        let mut templates = TemplateTable::new(4, 1 << 20).expect("valid");
        for number in 0..1_u32 << 12 {
            let mut template = Vec::new();
            for bit in 0..12 {
                let unit: &[u8] = if number >> bit & 1 == 1 { b"a" } else { &units::ANY };
                template.extend_from_slice(unit);
                template.push(b' ');
            }
            template.extend_from_slice(b"end");
            templates.add_template(&templates::Template { text: template.into(), ..templates::Template::empty() }).ok();
        }
        assert_eq!(None, matched(&templates, &"a ".repeat(12)));
    }

    proptest! {
        #[test]
        fn template_and_values_reproduce_the_line(picks in prop::collection::vec(0_usize..22, 1..26)) {
            let lines: Vec<String> = picks.iter().map(|&pick| lines()[pick].clone()).collect();
            let templates = table(&lines);
            for line in &lines {
                let (template, variables) = matched(&templates, line).expect("it was seen");
                let mut again = String::new();
                let mut rest = template.as_str();
                for variable in &variables {
                    let (literal, wildcard) = rest.split_once('{').expect("a wildcard for each value");
                    again += literal;
                    again += variable;
                    rest = wildcard.split_once('}').expect("its end").1;
                }
                prop_assert_eq!(line, &(again + rest));
            }
        }
    }
}
