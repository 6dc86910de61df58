//! Steps that fold lists, pairs, cells and other structures, whose shape alone shows that they are values.

use crate::units::Class;
use crate::units::close;
use crate::units::find_chunks;
use crate::units::find_json;
use crate::units::find_keyed;
use crate::units::find_pairs;
use crate::units::find_structures;
use crate::units::find_tails;
use crate::units::is_message;
use crate::units::is_prefix;
use crate::units::sort_pairs;
use nearkin_core::Result;
use std::collections::HashMap;
use std::collections::HashSet;
use std::iter;
use std::ops::Range;

use super::{Around, CELLS, FREE, JSON_DEPTH, PAIRS, Shape, ShapeOrder, ShapeValues, TemplateMerger, is_level};

impl TemplateMerger<'_> {
    /// Merge shapes that differ in the lengths of lists of wildcards; [`collapse_runs`] did so for their templates.
    pub(super) fn merge_runs(&mut self) -> usize {
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
    pub(super) fn merge_pairs(&mut self) -> usize {
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
    pub(super) fn merge_tags(&mut self) -> Result<usize> {
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
    pub(super) fn merge_chunks(&mut self) -> Result<usize> {
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
    pub(super) fn merge_values(&mut self) -> Result<usize> {
        self.merge_ranges(false, Self::find_values, Self::is_variable)
    }

    /// Merge shapes, objects of JSON or others, that differ in these ranges of units alone, if the contents of each are those of a variable.
    pub(super) fn merge_ranges(
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
    pub(super) fn merge_keyed(&mut self) -> Result<usize> {
        let find = |merger: &Self, shape: &Shape| {
            let text = |at: usize| &*merger.units.all[shape.units[at] as usize].text;
            let is_one_blank = |at: usize| merger.text_of(&shape.members[0], at) == b" ";
            find_keyed(shape.units.len(), |at| merger.units.class(shape.units[at]), text, is_one_blank)
        };
        self.merge_ranges(false, find, |_, values, _| values.len() > 1)
    }

    /// Merge shapes that differ in the values of cells alone.
    pub(super) fn merge_cells(&mut self) -> Result<usize> {
        self.merge_ranges(false, Self::find_cells, |_, values, _| values.len() > 1)
    }

    /// Return the values of `key: ` in a line that tabs, or two blanks and more, divide into cells: the cells after a
    /// key, or what follows the colon in its cell, if there are [`CELLS`] values. A key before a key is a heading.
    pub(super) fn find_cells(&self, shape: &Shape) -> Vec<Range<usize>> {
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
    pub(super) fn merge_pair_lists(&mut self) -> Result<usize> {
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
    pub(super) fn merge_json(&mut self) -> Result<usize> {
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
    pub(super) fn merge_structures(&mut self) -> Result<usize> {
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
    pub(super) fn is_printed(&self, value: &[u32]) -> bool {
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
}
