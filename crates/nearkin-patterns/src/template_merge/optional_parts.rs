//! Steps that fold what some lines of an event have and others lack.

use crate::units::{Class, part_end};
use nearkin_core::Result;
use std::collections::HashMap;
use std::ops::Range;

use super::{Parts, Shape, TemplateMerger};

impl TemplateMerger<'_> {
    /// Merge shapes that differ in optional parts: groups in brackets, with a variable in them, that others lack.
    pub(super) fn merge_optional(&mut self) -> Result<usize> {
        // The shapes with the same units without their parts.
        let mut parts: HashMap<Vec<u32>, Vec<Parts>> = HashMap::new();
        let mut has_parts = false;
        for (number, shape) in self.shapes.iter().enumerate().filter(|shape| shape.1.is_free()) {
            self.cancel.check()?;
            let (rest, found) = self.split_parts(shape);
            has_parts |= !found.is_empty();
            parts.entry(rest).or_default().push(Parts { shape: number as u32, found });
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
                let varies = |parts: &Parts| of(parts).is_none_or(|range| optional(&range, parts));
                if !group.iter().any(varies) {
                    continue;
                }
                for parts in group {
                    match of(parts) {
                        Some(range) if optional(&range, parts) => (),
                        Some(range) => folds.push((parts.shape, range)),
                        None => {
                            let before: usize =
                                parts.found.iter().filter(|part| part.0 < slot).map(|part| part.1.len()).sum();
                            folds.push((parts.shape, slot + before..slot + before));
                        }
                    }
                }
            }
        }
        Ok(self.fold(folds, self.optional))
    }

    /// Return the units of a shape without its optional parts, and the slot and range of each part.
    fn split_parts(&self, shape: &Shape) -> (Vec<u32>, Vec<(usize, Range<usize>)>) {
        let units = &shape.units;
        let text = |at: usize| &*self.units.all[units[at] as usize].text;
        let varies = |class| matches!(class, Class::Wildcard | Class::Mixed);
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
