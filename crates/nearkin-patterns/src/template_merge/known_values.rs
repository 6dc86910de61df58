//! Steps that fold values known as such from their place in other templates.

use crate::kinds::Kind;
use crate::templates::WILDCARD;
use crate::units::{Class, close, cover, find_fields, follows_message_key, is_missing, is_open, value_end};
use nearkin_core::Result;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::iter;
use std::ops::Range;

use super::{FRAME, KnownValue, LONG, MASKS, Masks, Places, Shape, ShapeValues, TemplateMerger, WORDS, evidence, mix};

impl TemplateMerger<'_> {
    /// Make words a variable that are a value of the variable at the same place of another shape: after the same units,
    /// with a plain word among them, and before the same separator. Between quotes, and after `=`, any value is, if the
    /// variable accepts words.
    pub(super) fn merge_known(&mut self) -> Result<usize> {
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
    pub(super) fn without(&self, shape: &Shape, ranges: &[Range<usize>]) -> Vec<u32> {
        let (mut key, mut at) = (Vec::with_capacity(shape.units.len()), 0);
        for range in ranges {
            key.extend_from_slice(&shape.units[at..range.start]);
            key.push(self.any);
            at = range.end;
        }
        key.extend_from_slice(&shape.units[at..]);
        key
    }

    /// Merge shapes into those with variables that accept all words in which they differ.
    pub(super) fn merge_covered(&mut self) -> Result<usize> {
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
            for field in iter::once(0..0).chain(fields) {
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
    pub(super) fn merge_into_texts(&mut self) -> Result<usize> {
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
    pub(super) fn values_in(&self, shape: &[u32], open: &[(usize, bool)], units: &[u32]) -> Option<Vec<Range<usize>>> {
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
    pub(super) fn find_covering<'m>(
        &self,
        units: &[u32],
        field: Option<usize>,
        masks: &'m Masks,
    ) -> Option<&'m [usize]> {
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
    pub(super) fn judge_values(
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
    pub(super) fn is_bound(&self, member: &ShapeValues, at: usize) -> bool {
        let before = member.1[at].start.checked_sub(1);
        before.is_some_and(|before| {
            let unit = self.shapes[member.0 as usize].units[before];
            self.units.all[unit as usize].text.last().is_some_and(|byte| b"=\"'`[(".contains(byte))
        })
    }

    /// Return true if these values are those of a variable.
    pub(super) fn is_variable(&self, values: &HashSet<&[u32]>, bound: bool) -> bool {
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
    pub(super) fn hash_edges(&self, shape: &Shape) -> (Vec<u64>, Vec<u64>) {
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
    pub(super) fn fold(&mut self, mut folds: Vec<(u32, Range<usize>)>, into: u32) -> usize {
        folds.retain(|(shape, range)| self.may_vary(*shape, range.clone()));
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
}
