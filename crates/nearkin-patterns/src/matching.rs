//! Which template a form has, and where the values of its variables stand.
//!
//! Templates are a tree of their units: from each node one branch per unit, one for a hole with a type, and one for a hole that
//! takes any word. A form walks it, literal
//! branches first, so that the template with the earliest literals wins; a form whose runs are longer than any template's
//! walks again with one word for each run. What was found is kept by form ([`Plan`]), so a line costs its scan, one look-up
//! and its values.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::forms::{FormTable, HOLE, Identity};
use crate::merging::{self, Class, Units};
use nearkin_core::Result;

/// Branches that one walk takes at most, beside two a unit: hostile forms end there, without a template.
const STEPS: usize = 10_000;

/// The branch of a hole that takes any word.
const OPEN: u32 = u32::MAX;

/// A part of a value: bytes of the form, or a value of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Literal bytes.
    Literal(Vec<u8>),
    /// The value of a hole of the line.
    Value(usize),
}

/// What to do with the lines of one form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The place of the template.
    pub template: u32,
    /// What the value of each variable is made of.
    pub variables: Vec<Vec<Piece>>,
}

/// Templates as a tree.
pub struct Matcher {
    units: Units,
    any: u32,
    branches: HashMap<(u32, u32), u32>,
    /// The template that ends at a node, + 1.
    ends: Vec<u32>,
}

impl Matcher {
    /// The tree of a table of templates.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new(templates: &FormTable) -> Result<Self> {
        let mut units = Units::default();
        let any = units.place(&merging::ANY);
        let mut tree = Self { units, any, branches: HashMap::new(), ends: vec![0] };
        for place in templates.sorted()? {
            let text = &templates.forms()[place as usize].text;
            let (mut node, mut start) = (0, 0);
            for end in merging::units_of(text) {
                let unit = match merging::hole_kind(&text[start..end]) {
                    Some(kind) if merging::is_open(kind) => OPEN,
                    _ => tree.units.place(&text[start..end]),
                };
                start = end;
                let new = tree.ends.len() as u32;
                node = *tree.branches.entry((node, unit)).or_insert(new);
                if node == new {
                    tree.ends.push(0);
                }
            }
            if tree.ends[node as usize] == 0 {
                tree.ends[node as usize] = place + 1;
            }
        }
        Ok(tree)
    }

    /// The template of units (None for one that no template has, with its class), and which of them it takes as holes.
    fn walk(&self, units: &[(Option<u32>, Class)]) -> Option<(u32, Vec<bool>)> {
        // Where to go on: a node, how many units lead there, and whether the last of them was taken for a hole.
        let mut waiting = vec![(0_u32, 0_usize, false)];
        let mut taken: Vec<bool> = Vec::with_capacity(units.len());
        for _ in 0..STEPS + 2 * units.len() {
            let (node, at, hole) = waiting.pop()?;
            if at > 0 {
                taken.truncate(at - 1);
                taken.push(hole);
            }
            let Some(&(unit, class)) = units.get(at) else {
                match self.ends[node as usize] {
                    0 => continue,
                    end => return Some((end - 1, taken)),
                }
            };
            let mut go = |unit: u32, hole: bool| {
                if let Some(&next) = self.branches.get(&(node, unit)) {
                    waiting.push((next, at + 1, hole));
                }
            };
            // The last that is pushed is looked at first.
            if class != Class::Between {
                go(OPEN, true);
            }
            if matches!(class, Class::Hole | Class::Empty) {
                go(self.any, true);
            }
            if let Some(unit) = unit.filter(|&unit| unit != self.any) {
                go(unit, false);
            }
        }
        None
    }

    /// What to do with the lines of a form; None if no template has it.
    pub fn plan(&self, form: &[u8]) -> Option<Plan> {
        let ends = merging::units_of(form);
        let spans: Vec<(usize, usize)> = ends
            .iter()
            .enumerate()
            .map(|(at, &end)| (at.checked_sub(1).map_or(0, |before| ends[before]), end))
            .collect();
        let unit = |&(start, end): &(usize, usize)| self.units.look(&form[start..end]);
        let of_form: Vec<(Option<u32>, Class)> = spans.iter().map(unit).collect();
        if let Some((template, taken)) = self.walk(&of_form) {
            let variables =
                spans.iter().zip(taken).flat_map(|(&(start, end), taken)| variables(form, start, end, end, taken));
            return Some(Plan { template, variables: variables.collect() });
        }
        // With one word for each run; what the run has beyond it belongs to the last hole of that word.
        let runs = merging::runs_of(form);
        if runs.is_empty() {
            return None;
        }
        let covers = |span: &(usize, usize)| runs.iter().find(|run| run.start <= span.0 && span.1 <= run.end);
        let short: Vec<(usize, usize)> =
            spans.iter().copied().filter(|span| covers(span).is_none_or(|run| span.0 == run.start)).collect();
        let (template, taken) = self.walk(&short.iter().map(unit).collect::<Vec<_>>())?;
        let variables = short.iter().zip(taken).flat_map(|(span, taken)| {
            let last = covers(span).map_or(span.1, |run| run.end);
            variables(form, span.0, span.1, last, taken)
        });
        Some(Plan { template, variables: variables.collect() })
    }
}

/// The variables in a unit of a form: the whole unit if it is taken for a hole, else its holes, the last of which reaches to the last
/// hole before `last`.
fn variables(form: &[u8], start: usize, end: usize, last: usize, taken: bool) -> Vec<Vec<Piece>> {
    if taken {
        return vec![pieces(form, start, last)];
    }
    let holes = hole_places(form, start, end);
    let beyond = hole_places(form, start, last).last().copied();
    let count = holes.len();
    holes
        .into_iter()
        .enumerate()
        .map(|(number, place)| {
            let to = if number + 1 == count { beyond.unwrap_or(place) } else { place };
            pieces(form, place, to + 2)
        })
        .collect()
}

/// Where holes begin between two places of a form.
fn hole_places(form: &[u8], start: usize, end: usize) -> Vec<usize> {
    let (mut found, mut at) = (Vec::new(), start);
    while at < end {
        if form[at] == HOLE {
            if form[at + 1] != 0 {
                found.push(at);
            }
            at += 1;
        }
        at += 1;
    }
    found
}

/// A stretch of a form as literal bytes and values.
fn pieces(form: &[u8], start: usize, end: usize) -> Vec<Piece> {
    let mut number = hole_places(form, 0, start).len();
    let (mut found, mut literal, mut at) = (Vec::new(), Vec::new(), start);
    while at < end {
        if form[at] != HOLE {
            literal.push(form[at]);
            at += 1;
            continue;
        }
        if form[at + 1] == 0 {
            literal.push(HOLE);
        } else {
            if !literal.is_empty() {
                found.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            found.push(Piece::Value(number));
            number += 1;
        }
        at += 2;
    }
    if !literal.is_empty() {
        found.push(Piece::Literal(literal));
    }
    found
}

/// A form that was met, and its plan.
type Met = (Box<[u8]>, Option<Plan>);

/// Plans by form, as they are met.
#[derive(Default)]
pub struct Plans(HashMap<u64, Vec<Met>, BuildHasherDefault<Identity>>);

impl Plans {
    /// The plan for a form whose hash is `hash`.
    pub fn get<'a>(&'a mut self, matcher: &Matcher, form: &[u8], hash: u64) -> Option<&'a Plan> {
        let alike = self.0.entry(hash).or_default();
        let place = alike.iter().position(|one| *one.0 == *form).unwrap_or_else(|| {
            alike.push((form.into(), matcher.plan(form)));
            alike.len() - 1
        });
        alike[place].1.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::merging::{Orders, templates, written};
    use crate::{forms, lines};
    use proptest::prelude::*;

    fn table(lines: &[String]) -> FormTable {
        let mut table = FormTable::new(64, 10_000).expect("valid");
        for line in lines {
            let mut batch = Batch::default();
            lines::scan(&mut batch, 0, line.as_bytes());
            for (_, hash, form, values) in batch.iter() {
                let values = values.map(|place| batch.value(place));
                table.add((hash, form), (1, b""), values, forms::Seen::default()).expect("room");
            }
        }
        templates(&table, &Orders::default()).expect("room").table
    }

    /// The template of a line and the values of its variables.
    fn matched(templates: &FormTable, line: &str) -> Option<(String, Vec<String>)> {
        let (matcher, mut plans, mut batch) =
            (Matcher::new(templates).expect("room"), Plans::default(), Batch::default());
        lines::scan(&mut batch, 0, line.as_bytes());
        let (_, hash, form, values) = batch.iter().next()?;
        let plan = plans.get(&matcher, form, hash)?.clone();
        assert_eq!(Some(&plan), plans.get(&matcher, form, hash));
        let text = written(&templates.forms()[plan.template as usize].text);
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
        let mut lines: Vec<String> = names.iter().map(|name| format!("user {name} took 5 ms")).collect();
        lines.extend(
            ["user of 5 ms", "delete blk_1 now", "delete blk_2 blk_3 blk_4 now", "from eth0-1 () up", "from (x2-9) up"]
                .map(str::to_owned),
        );
        lines
    }

    #[test]
    fn a_line_has_its_template_and_values() {
        let templates = table(&lines());
        for (line, template, values) in [
            ("user zoe took 17 ms", "user {word} took {int} ms", vec!["zoe", "17"]),
            ("user x-1 took 0.5 ms", "user {word} took {int} ms", vec!["x-1", "0.5"]),
            ("user of 9 ms", "user of {int} ms", vec!["9"]),
            ("delete blk_7 now", "delete blk_{text} now", vec!["7"]),
            ("delete blk_7 blk_8 now", "delete blk_{text} now", vec!["7 blk_8"]),
        ] {
            let (found, variables) = matched(&templates, line).expect(line);
            assert_eq!((template, values), (found.as_str(), variables.iter().map(String::as_str).collect()));
        }
        for line in ["user zoe took ms", "nothing", "delete 7", "user of x ms"] {
            assert_eq!(None, matched(&templates, line), "{line}");
        }
    }

    #[test]
    fn hostile_forms_end_without_a_template() {
        // Each word fits a hole and a literal, and the end fits nothing.
        let mut templates = FormTable::new(4, 1 << 20).expect("valid");
        for number in 0..1_u32 << 12 {
            let mut form = Vec::new();
            for bit in 0..12 {
                let unit: &[u8] = if number >> bit & 1 == 1 { b"a" } else { &merging::ANY };
                form.extend_from_slice(unit);
                form.push(b' ');
            }
            form.extend_from_slice(b"end");
            templates.add_form(&forms::Form { text: form.into(), ..forms::Form::empty() }).ok();
        }
        assert_eq!(None, matched(&templates, &"a ".repeat(12)));
    }

    proptest! {
        #[test]
        fn lines_that_were_seen_have_a_template_that_is_them(picks in prop::collection::vec(0_usize..13, 1..13)) {
            let lines: Vec<String> = picks.iter().map(|&pick| lines()[pick].clone()).collect();
            let templates = table(&lines);
            for line in &lines {
                let (template, variables) = matched(&templates, line).expect("it was seen");
                let mut again = String::new();
                let mut rest = template.as_str();
                for variable in &variables {
                    let (literal, hole) = rest.split_once('{').expect("a hole for each value");
                    again += literal;
                    again += variable;
                    rest = hole.split_once('}').expect("its end").1;
                }
                prop_assert_eq!(line, &(again + rest));
            }
        }
    }
}
