//! Estimate: from the sum of agreeing signs to a lower bound of the distance.
//!
//! With a rotated query residual y and S = Σ ±y over the signs of a row, f S estimates r·y without bias (`quantizer` has f, w):
//!
//! ```text
//! ‖r - y‖² >= n² + ‖y‖² - 2 f (S + ε w ‖y‖)
//! ```
//! except for a share of rotations of at most P(T > ε / √(D - 1)), where T is a coordinate of a uniform point on the sphere in
//! D - 1 dimensions; this is below the normal tail Φ(-ε).
//!
//! **Lookup tables.** S is a sum of table entries: table t has the 16 signed sums of coordinates 4 t to 4 t + 3, rounded to
//! integer steps (`kernels`). The mean rounding error of each table is added back, so the error has mean zero over all codes
//! of a table; its variance V is added to that of the estimate: ‖y‖² becomes ‖y‖² + V / w₀², where w₀ is the smallest width.

use std::ops::Range;

use super::kernels::{BLOCK, BoundParams, Kernel, STEPS, TABLE};
use super::quantizer::{CodeTable, MIN_WIDTH, WIDTH_STEPS};
use crate::cpu::features::Instructions;
use crate::index::lsh::MAX_DEVIATIONS;
use crate::{Error, Result, alloc};

/// Added to a number from 0 to 2^22, this rounds it to an integer in the low bits.
const ROUND: f32 = 8_388_608.0;

/// The work per query.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct EstimateParams {
    /// ε.
    pub(in super::super) deviations: f64,
    /// Number of partitions to search (nprobe); ignored by a flat index.
    pub(in super::super) num_probes: usize,
    /// See `SearchParams::Estimate`.
    pub(in super::super) reach: Option<f32>,
}

impl EstimateParams {
    /// Return these parameters if they are in range.
    ///
    /// # Errors
    /// Deviations that are no number from 0 to 1,000; a reach below 0.
    pub(in super::super) fn checked(self) -> Result<Self> {
        if !(0.0..=MAX_DEVIATIONS).contains(&self.deviations) {
            return Err(Error::parameter("deviations", self.deviations, format!("0 to {MAX_DEVIATIONS}")));
        }
        match self.reach {
            Some(reach) if reach.is_nan() || reach < 0.0 => Err(Error::parameter("reach", reach, "a number from 0 on")),
            _ => Ok(self),
        }
    }
}

/// The lookup tables of a query.
#[derive(Debug, Default)]
pub(super) struct LookupTables {
    entries: Vec<u8>,
    step: f32,
    low: f32,
    /// V / w₀².
    spread: f32,
}

/// A query as a partition sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartitionQuery<'a> {
    pub(super) tables: &'a LookupTables,
    /// ‖y‖², the squared distance of the query from the centroid.
    pub(super) square: f32,
    /// Added to every bound.
    pub(super) base: f32,
    /// ε.
    pub(super) deviations: f32,
}

impl PartitionQuery<'_> {
    fn params(&self) -> BoundParams<'_> {
        let LookupTables { entries, step, low, spread } = self.tables;
        let reach = self.deviations * (self.square + spread).sqrt() / WIDTH_STEPS;
        BoundParams { table: entries, step: *step, low: *low, reach, base: self.base }
    }
}

impl CodeTable {
    /// Write the bounds of a range of blocks, and the minimum of each block.
    #[inline]
    pub(super) fn bounds(
        &self,
        kernel: Kernel,
        blocks: Range<usize>,
        query: &PartitionQuery<'_>,
        out: &mut [f32],
        minima: &mut [f32],
    ) {
        kernel.bounds(self.view(blocks), query.params(), out, minima);
    }

    /// Append the positions of the rows in a range of blocks whose bounds are finite and at most `limit`.
    ///
    /// # Errors
    /// Memory runs out.
    #[inline]
    pub(super) fn scan_below(
        &self,
        kernel: Kernel,
        blocks: Range<usize>,
        query: &PartitionQuery<'_>,
        limit: f32,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let first = (blocks.start * BLOCK) as u32;
        kernel.scan_below(self.view(blocks), query.params(), limit, first, out)
    }
}

impl LookupTables {
    /// Bytes in memory.
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity()
    }

    /// Fill the tables for a rotated query.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn fill(&mut self, instructions: Instructions, query: &[f32]) -> Result<()> {
        alloc::try_resize(&mut self.entries, 4 * query.len(), 0)?;
        instructions.run(
            #[inline(always)]
            || self.fill_body(query),
        );
        Ok(())
    }

    #[inline(always)]
    fn fill_body(&mut self, query: &[f32]) {
        // Σ |y| of each table: the largest of them, and their sum.
        let (mut widest, mut reach) = ([0.0_f32; TABLE], [0.0_f32; TABLE]);
        for chunk in query.as_chunks::<{ 4 * TABLE }>().0 {
            let mut sums = [0.0_f32; TABLE];
            for (sum, y) in sums.iter_mut().zip(chunk.as_chunks::<4>().0) {
                *sum = (y[0].abs() + y[1].abs()) + (y[2].abs() + y[3].abs());
            }
            for i in 0..TABLE {
                widest[i] = if sums[i] > widest[i] { sums[i] } else { widest[i] };
                reach[i] += sums[i];
            }
        }
        let step = 2.0 * widest.into_iter().fold(0.0, f32::max) / STEPS;
        let per_step = 1.0 / step;
        if !per_step.is_finite() {
            // The query is at the centroid.
            self.entries.fill(0);
            (self.step, self.low, self.spread) = (0.0, 0.0, 0.0);
            return;
        }
        // An entry exceeds the smallest of its table by 2 |y| for each coordinate with the sign of y.
        let (mut missed, mut squares) = ([0.0_f32; TABLE], [0.0_f32; TABLE]);
        for (y, entries) in query.as_chunks::<4>().0.iter().zip(self.entries.as_chunks_mut::<TABLE>().0) {
            let twice = y.map(|y| 2.0 * per_step * y);
            let (with, without) =
                (twice.map(|y| if y > 0.0 { y } else { 0.0 }), twice.map(|y| if y > 0.0 { 0.0 } else { -y }));
            for i in 0..TABLE {
                let part = |bit: usize| if i >> bit & 1 == 1 { with[bit] } else { without[bit] };
                let above = (part(0) + part(1)) + (part(2) + part(3));
                let rounded = above + ROUND;
                entries[i] = rounded.to_bits() as u8;
                let error = above - (rounded - ROUND);
                missed[i] += error;
                squares[i] += error * error;
            }
        }
        let mean = |sums: [f32; TABLE]| sums.iter().sum::<f32>() / TABLE as f32;
        self.step = step;
        self.low = step * mean(missed) - reach.iter().sum::<f32>();
        self.spread = step * step * mean(squares) / (MIN_WIDTH * MIN_WIDTH);
    }
}

#[cfg(test)]
mod tests {
    use super::super::quantizer::{Correction, encode_signs, factor_and_width, square};
    use super::*;
    use crate::vectors::random;

    fn gaussian(seed: u64, size: usize) -> Vec<f32> {
        let base = random::base(seed, 5, 0);
        (0..size).map(|column| random::gaussian(random::word(base, column as u64)) as f32).collect()
    }

    #[test]
    fn without_deviations_the_bound_is_the_estimate() {
        for size in [64, 128, 1024, 16384] {
            let (row, query) = (gaussian(1, size), gaussian(2, size));
            let mut signs = vec![0; size / 64];
            let other = gaussian(3, size);
            let (n2, sum, along) = encode_signs(&row, Some(&other), &mut signs);
            let expected: f32 = row.iter().zip(&other).map(|(r, o)| if *r > 0.0 { *o } else { -o }).sum();
            assert!((along - expected).abs() < 1e-2);
            let (factor, width) = factor_and_width(n2, sum, size);
            let mut codes = CodeTable::new(size);
            codes.push(&signs, Correction { offset: n2, factor: -2.0 * factor, width });
            let mut tables = LookupTables::default();
            tables.fill(Instructions::best(), &query).expect("memory");
            let y2 = square(&query);
            let (mut out, mut minima) = ([0.0; BLOCK], [0.0]);
            for kernel in Kernel::available() {
                let query_at = |deviations| PartitionQuery { tables: &tables, square: y2, base: y2, deviations };
                codes.bounds(kernel, 0..1, &query_at(0.0), &mut out, &mut minima);
                let along: f32 = row.iter().zip(&query).map(|(r, y)| if *r > 0.0 { *y } else { -y }).sum();
                let estimate = n2 + y2 - 2.0 * factor * along;
                // Rounding to steps adds only a small share V to the variance of the estimate.
                let deviation = 2.0 * factor * (0.37 * y2).sqrt();
                assert!((estimate - out[0]).abs() < 0.6 * deviation, "{size} {estimate} {} {deviation}", out[0]);
                assert!(out[1..].iter().all(|bound| bound.is_infinite()) && minima[0] == out[0]);
                let at_none = out[0];
                codes.bounds(kernel, 0..1, &query_at(2.0), &mut out, &mut minima);
                let reach = at_none - out[0];
                assert!((1.9 * deviation..2.8 * deviation).contains(&reach), "{size} {reach} {deviation}");
            }
        }
    }

    #[test]
    fn a_query_at_the_centroid_and_rows_at_it_have_finite_bounds() {
        let mut tables = LookupTables::default();
        tables.fill(Instructions::best(), &[0.0; 64]).expect("memory");
        let mut codes = CodeTable::new(64);
        let (factor, width) = factor_and_width(0.0, 0.0, 64);
        codes.push(&[0], Correction { offset: 0.0, factor: -2.0 * factor, width });
        let (mut out, mut minima) = ([0.0; BLOCK], [0.0]);
        let query = PartitionQuery { tables: &tables, square: 0.0, base: 0.0, deviations: 2.0 };
        codes.bounds(Kernel::best(), 0..1, &query, &mut out, &mut minima);
        assert_eq!((0.0, 0.0), (out[0], minima[0]));
    }
}
