//! Steps that fold lists, pairs, cells and other structures, whose shape alone shows that they are values.

use crate::units::{Class, find_chunks, find_keyed, find_pairs, find_structures, is_prefix, sort_pairs};
use nearkin_core::Result;
use std::collections::{HashMap, HashSet};
use std::iter;
use std::ops::Range;

use super::{Shape, ShapeOrder, ShapeValues, TemplateMerger, is_level};

impl TemplateMerger<'_> {
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

    /// Merge shapes that differ in words between blanks, none of them plain.
    pub(super) fn merge_chunks(&mut self) -> Result<usize> {
        let find = |merger: &Self, shape: &Shape| {
            let text = |at: usize| &*merger.units.all[shape.units[at] as usize].text;
            find_chunks(shape.units.len(), |at| merger.units.class(shape.units[at]), text)
        };
        self.merge_ranges(find, Self::is_variable)
    }

    /// Merge shapes that differ in these ranges of units alone, if the contents of each are those of a variable.
    pub(super) fn merge_ranges(
        &mut self,
        find: impl Fn(&Self, &Shape) -> Vec<Range<usize>>,
        is_variable: impl Fn(&Self, &HashSet<&[u32]>, bool) -> bool,
    ) -> Result<usize> {
        let mut groups: HashMap<Vec<u32>, Vec<ShapeValues>> = HashMap::new();
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
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
        self.merge_ranges(find, |_, values, _| values.len() > 1)
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
