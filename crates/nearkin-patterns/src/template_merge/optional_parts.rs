//! Steps that fold what some lines of an event have and others lack.

use crate::lines::is_message_code;
use crate::units::Class;
use crate::units::clause_ends;
use crate::units::find_chunks;
use crate::units::part_end;
use nearkin_core::Result;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::Range;

use super::{ClausePair, Parts, Shape, TemplateMerger, mix};

impl TemplateMerger<'_> {
    /// Merge shapes that differ in optional parts: groups in brackets, with a variable in them, that others lack; maybe
    /// also in words that are not plain, if the part is optional in one of them.
    pub(super) fn merge_optional(&mut self, in_words: bool) -> Result<usize> {
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
    pub(super) fn merge_clauses(&mut self) -> Result<usize> {
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
    pub(super) fn merge_codes(&mut self) -> Result<usize> {
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
    pub(super) fn align(
        &self,
        shapes: &[u32],
        folds: &mut Vec<(u32, Range<usize>)>,
        parts: &mut Vec<(u32, Range<usize>)>,
    ) {
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
    pub(super) fn split_parts(&self, shape: &Shape, with_values: bool) -> (Vec<u32>, Vec<(usize, Range<usize>)>) {
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
}
