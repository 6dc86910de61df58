//! True distances of candidates, the same bits on every machine.
//!
//! | metric | distance |
//! |---|---|
//! | `L2` | `sqrt(sum (q_i - x_i)^2)` |
//! | `L1` | `sum abs(q_i - x_i)` |
//! | `Cosine` | 1 - q.x / (norm q * norm x), from 0 to 2 |
//! | `InnerProduct` | -q.x: the nearest is the largest product |
//!
//! Vectors of `u8` and `i8` are compared by whole numbers, exactly, those of other dense types in floating point and one order of
//! summation (`kernels`); `forms_give_the_same_bits_and_the_distance` holds that. Distances of `float64` and sparse vectors are
//! `float64`, all others `float32`. A `float32` query of narrower vectors is compared with what they are widened to.
//!
//! Sparse vectors are summed in `float64` in order of coordinates. Where products count, the query is scattered into a dense
//! array once, if there is enough to rank: terms without a partner are zeros, so the sum of the products of a row's
//! coordinates in their order has the same bits.
//!
//! Cost: d multiplications and additions per candidate, and one wait for memory unless it was asked for before: the
//! next candidates are prefetched.

use std::borrow::Cow;

use super::kernels::{self, Element, LINES, cosine};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::cpu::prefetch::prefetch_at;
use crate::segment::Column;
use crate::{Error, Result, alloc};

/// Kinds of vectors, in the order of their numbers in files.
pub(super) const KINDS: [&str; 6] = ["float32", "float64", "sparse", "uint8", "int8", "float16"];

/// How near two vectors are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Euclidean.
    L2,
    /// Sum of absolute differences.
    L1,
    /// 1 - cosine.
    Cosine,
    /// The negative inner product.
    InnerProduct,
}

impl Metric {
    /// All metrics, in the order of their numbers in files.
    pub const ALL: [Self; 4] = [Self::L2, Self::L1, Self::Cosine, Self::InnerProduct];

    /// Its name in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::L2 => "l2",
            Self::L1 => "l1",
            Self::Cosine => "cosine",
            Self::InnerProduct => "inner_product",
        }
    }

    /// The metric of a name.
    ///
    /// # Errors
    /// No metric has it.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name).ok_or_else(|| {
            Error::parameter("metric", format!("{name:?}"), "\"l2\", \"l1\", \"cosine\" or \"inner_product\"")
        })
    }
}

/// Dense vectors of one type, row after row.
#[derive(Debug)]
pub struct Dense<T: Element> {
    pub(crate) dim: usize,
    pub(crate) values: Column<T>,
    /// Norm of each row, or its square; for the cosine only.
    pub(crate) norms: Column<T::Norm>,
}

impl<T: Element> Dense<T> {
    fn new(dim: usize) -> Self {
        Self { dim, values: Column::default(), norms: Column::default() }
    }

    fn push(&mut self, metric: Metric, new: &[T], stop: &CancelToken) -> Result<()> {
        let mut norms = Vec::new();
        if metric == Metric::Cosine {
            norms = alloc::try_with_capacity(new.len() / self.dim)?;
            for rows in stop.ranges(0..new.len() / self.dim) {
                norms.extend(rows.map(|row| T::norm(&new[row * self.dim..][..self.dim])));
            }
            stop.check()?;
        }
        self.norms.reserve(norms.len(), stop)?;
        self.values.append(new, stop)?;
        self.norms.to_mut().extend_from_slice(&norms);
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.values.bytes() + self.norms.bytes()
    }

    /// Asks for the first lines of a row.
    #[inline(always)]
    pub(super) fn prefetch(&self, row: u32) {
        let line = 64 / size_of::<T>();
        for i in 0..self.dim.div_ceil(line).min(LINES) {
            prefetch_at(&self.values, row as usize * self.dim + i * line);
        }
    }

    fn query<'a, V>(&self, values: &'a [V], number: usize) -> &'a [V] {
        &values[number * self.dim..(number + 1) * self.dim]
    }
}

/// How many rows of `dim` coordinates there are, all of which have a distance.
fn check_dense<T: Element>(dim: usize, metric: Metric, new: &[T]) -> Result<usize> {
    if !new.len().is_multiple_of(dim) {
        return Err(Error::parameter("X", format!("{} values", new.len()), format!("{dim} values per vector")));
    }
    let stop = CancelToken::current();
    for row in stop.ranges(0..new.len() / dim).flatten() {
        let values = &new[row * dim..][..dim];
        // Some at a time, so that the compiler makes vectors of them.
        let finite = |some: &[T]| some.iter().fold(true, |finite, value| finite & value.is_finite());
        if !values.chunks(128).all(finite) {
            return Err(Error::input(format!("row {row}"), "it has a NaN or an infinite value; replace or drop it"));
        }
        if metric == Metric::Cosine && !T::has_angle(T::norm(values)) {
            return Err(no_angle(row));
        }
    }
    stop.check()?;
    Ok(new.len() / dim)
}

fn no_angle(row: usize) -> Error {
    let reason = "its norm is zero or overflows, so that it has no angle; drop it, or scale it";
    Error::input(format!("row {row}"), reason)
}

/// Sparse vectors: coordinates of each row strictly ascending.
#[derive(Debug)]
pub struct Sparse {
    pub(crate) dim: usize,
    /// End of each row, and 0 before the first.
    pub(crate) ends: Column<u64>,
    pub(crate) columns: Column<u32>,
    pub(crate) values: Column<f64>,
    pub(crate) norms: Column<f64>,
}

impl Sparse {
    pub(crate) fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let (begin, end) = (self.ends[row] as usize, self.ends[row + 1] as usize);
        (&self.columns[begin..end], &self.values[begin..end])
    }

    /// The query as a dense array, if the products with so many rows outweigh its making, and there is memory.
    fn scattered(&self, query: (&[u32], &[f64]), rows: usize) -> Option<Vec<f64>> {
        let each = self.columns.len() / (self.ends.len() - 1).max(1);
        // An array of zeros is made faster than rows are read.
        if self.dim / 8 > rows.saturating_mul(each + query.0.len()) {
            return None;
        }
        let mut dense: Vec<f64> = alloc::try_with_capacity(self.dim).ok()?;
        dense.resize(self.dim, 0.0);
        for (&column, &value) in query.0.iter().zip(query.1) {
            dense[column as usize] = value;
        }
        Some(dense)
    }

    /// Pushes for each row the `distance` of its product with the query, which is summed in order of coordinates.
    fn products(
        &self,
        query: (&[u32], &[f64]),
        rows: &[u32],
        out: &mut Vec<(f64, u32)>,
        distance: impl Fn(f64, u32) -> f64,
    ) {
        let before = out.len();
        if let Some(dense) = self.scattered(query, rows.len()) {
            out.extend(rows.iter().map(|&row| (0.0, row)));
            self.lanes(&dense, &mut out[before..]);
        } else {
            out.extend(rows.iter().map(|&row| (join(query, self.row(row as usize), |a, b| a * b), row)));
        }
        for (found, row) in &mut out[before..] {
            *found = distance(*found, *row);
        }
    }

    /// Replaces the zero beside each row by its product with a dense query.
    fn lanes(&self, dense: &[f64], out: &mut [(f64, u32)]) {
        let ends = &self.ends[..];
        let (columns, values) = (&self.columns[..], &self.values[..]);
        let ask = |place: usize, out: &[(f64, u32)]| {
            if let Some(&(_, row)) = out.get(place) {
                let part = ends[row as usize] as usize..ends[row as usize + 1] as usize;
                for at in part.step_by(16).take(LINES) {
                    prefetch_at(&self.columns, at);
                    prefetch_at(&self.values, at);
                    prefetch_at(&self.values, at + 8);
                }
            }
        };
        // Eight sums at once, since each addition waits for the one before; a row that ends makes room for the next.
        let mut lanes = [Lane::default(); LANES];
        let mut next = 0;
        (0..LANES).for_each(|place| ask(place, out));
        loop {
            for lane in &mut lanes {
                while lane.at == lane.end {
                    if let Some(done) = lane.place.take() {
                        out[done].0 = lane.sum;
                    }
                    let Some(&(_, row)) = out.get(next) else { break };
                    ask(next + LANES, out);
                    let (at, end) = (ends[row as usize] as usize, ends[row as usize + 1] as usize);
                    *lane = Lane { at, end, place: Some(next), sum: 0.0 };
                    next += 1;
                }
            }
            let steps = lanes.iter().map(|lane| lane.end - lane.at).min().unwrap_or(0);
            if steps == 0 {
                break;
            }
            let parts = lanes.map(|lane| (&columns[lane.at..lane.at + steps], &values[lane.at..lane.at + steps]));
            let mut sums = lanes.map(|lane| lane.sum);
            for step in 0..steps {
                for (sum, (columns, values)) in sums.iter_mut().zip(&parts) {
                    *sum += dense[columns[step] as usize] * values[step];
                }
            }
            for (lane, sum) in lanes.iter_mut().zip(sums) {
                lane.at += steps;
                lane.sum = sum;
            }
        }
        // No row is left to begin.
        for lane in lanes {
            if let Some(place) = lane.place {
                let part = lane.at..lane.end;
                let products = columns[part.clone()].iter().zip(&values[part]);
                out[place].0 = products.fold(lane.sum, |sum, (&column, &value)| sum + dense[column as usize] * value);
            }
        }
    }
}

/// Rows whose products are summed at once.
const LANES: usize = 8;

/// One of them: what is left of it, its place among all, and its sum so far.
#[derive(Clone, Copy, Default)]
struct Lane {
    at: usize,
    end: usize,
    place: Option<usize>,
    sum: f64,
}

/// Sum of `both` over the coordinates of two sparse vectors, in their order; a missing value is 0.
fn join(a: (&[u32], &[f64]), b: (&[u32], &[f64]), both: impl Fn(f64, f64) -> f64) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.0.len() || j < b.0.len() {
        let left = a.0.get(i).copied().unwrap_or(u32::MAX);
        let right = b.0.get(j).copied().unwrap_or(u32::MAX);
        let x = if left <= right && i < a.0.len() { a.1[i] } else { 0.0 };
        let y = if right <= left && j < b.0.len() { b.1[j] } else { 0.0 };
        i += usize::from(left <= right && i < a.0.len());
        j += usize::from(right <= left && j < b.0.len());
        sum += both(x, y);
    }
    sum
}

fn norm_of(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |sum, value| sum + value * value).sqrt()
}

/// A batch of vectors from outside.
#[derive(Debug, Clone, Copy)]
pub enum Vectors<'a> {
    /// Row after row.
    F32(&'a [f32]),
    /// Row after row.
    F64(&'a [f64]),
    /// Row after row.
    U8(&'a [u8]),
    /// Row after row.
    I8(&'a [i8]),
    /// Bits of float16, row after row.
    F16(&'a [u16]),
    /// Ends of rows with 0 before the first, coordinates, values.
    Sparse(&'a [u64], &'a [u32], &'a [f64]),
}

/// The `chosen` rows of a sparse batch: ends with 0 before the first, coordinates, values.
///
/// # Errors
/// There is no memory for them.
pub(super) fn gather(
    ends: &[u64],
    columns: &[u32],
    values: &[f64],
    chosen: &[usize],
) -> Result<(Vec<u64>, Vec<u32>, Vec<f64>)> {
    let mut found = (alloc::try_with_capacity(chosen.len() + 1)?, Vec::new(), Vec::new());
    found.0.push(0);
    for &row in chosen {
        let part = ends[row] as usize..ends[row + 1] as usize;
        alloc::try_extend(&mut found.1, &columns[part.clone()])?;
        alloc::try_extend(&mut found.2, &values[part])?;
        found.0.push(found.1.len() as u64);
    }
    Ok(found)
}

/// A sparse row of a dense one's length, rounded.
fn scatter(row: (&[u32], &[f64]), dim: usize, out: &mut Vec<f32>) {
    out.resize(dim, 0.0);
    for (&column, &value) in row.0.iter().zip(row.1) {
        out[column as usize] = value as f32;
    }
}

impl Vectors<'_> {
    /// Vector `number` of `dim` coordinates as `float32`, in place of what `out` holds.
    pub fn widen(&self, dim: usize, number: usize, out: &mut Vec<f32>) {
        out.clear();
        let part = number * dim..(number + 1) * dim;
        match self {
            Self::F32(values) => out.extend_from_slice(&values[part]),
            Self::F64(values) => out.extend(values[part].iter().map(|&value| value.single())),
            Self::U8(values) => out.extend(values[part].iter().map(|&value| value.single())),
            Self::I8(values) => out.extend(values[part].iter().map(|&value| value.single())),
            Self::F16(values) => out.extend(values[part].iter().map(|&value| value.single())),
            Self::Sparse(ends, columns, values) => {
                let part = ends[number] as usize..ends[number + 1] as usize;
                scatter((&columns[part.clone()], &values[part]), dim, out);
            }
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::F32(_) => "float32",
            Self::F64(_) => "float64",
            Self::U8(_) => "uint8",
            Self::I8(_) => "int8",
            Self::F16(_) => "float16",
            Self::Sparse(..) => "sparse",
        }
    }
}

/// The vectors of an index.
#[derive(Debug)]
pub enum Store {
    /// `float32` rows.
    F32(Dense<f32>),
    /// `float64` rows.
    F64(Dense<f64>),
    /// `uint8` rows.
    U8(Dense<u8>),
    /// `int8` rows.
    I8(Dense<i8>),
    /// `float16` rows, as their bits.
    F16(Dense<u16>),
    /// Sparse rows.
    Sparse(Sparse),
}

impl Store {
    /// An empty store of "float32", "float64", "uint8", "int8", "float16" or "sparse" vectors of `dim` coordinates.
    ///
    /// # Errors
    /// No coordinate, more than 2^32 - 1, another kind.
    pub fn new(kind: &str, dim: usize) -> Result<Self> {
        if dim == 0 || dim >= u32::MAX as usize {
            return Err(Error::parameter("dimension", dim, "1 to 2**32 - 2"));
        }
        match kind {
            "float32" => Ok(Self::F32(Dense::new(dim))),
            "float64" => Ok(Self::F64(Dense::new(dim))),
            "uint8" => Ok(Self::U8(Dense::new(dim))),
            "int8" => Ok(Self::I8(Dense::new(dim))),
            "float16" => Ok(Self::F16(Dense::new(dim))),
            "sparse" => Ok(Self::Sparse(Sparse {
                dim,
                ends: vec![0].into(),
                columns: Column::default(),
                values: Column::default(),
                norms: Column::default(),
            })),
            _ => Err(Error::parameter("vectors", kind, KINDS.join(", "))),
        }
    }

    /// "float32", "float64", "uint8", "int8", "float16" or "sparse".
    pub fn kind(&self) -> &'static str {
        match self {
            Self::F32(_) => "float32",
            Self::F64(_) => "float64",
            Self::U8(_) => "uint8",
            Self::I8(_) => "int8",
            Self::F16(_) => "float16",
            Self::Sparse(_) => "sparse",
        }
    }

    /// Coordinates of a vector.
    pub fn dim(&self) -> usize {
        match self {
            Self::F32(dense) => dense.dim,
            Self::F64(dense) => dense.dim,
            Self::U8(dense) => dense.dim,
            Self::I8(dense) => dense.dim,
            Self::F16(dense) => dense.dim,
            Self::Sparse(sparse) => sparse.dim,
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(dense) => dense.values.len() / dense.dim,
            Self::F64(dense) => dense.values.len() / dense.dim,
            Self::U8(dense) => dense.values.len() / dense.dim,
            Self::I8(dense) => dense.values.len() / dense.dim,
            Self::F16(dense) => dense.values.len() / dense.dim,
            Self::Sparse(sparse) => sparse.ends.len().saturating_sub(1),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        match self {
            Self::F32(dense) => dense.bytes(),
            Self::F64(dense) => dense.bytes(),
            Self::U8(dense) => dense.bytes(),
            Self::I8(dense) => dense.bytes(),
            Self::F16(dense) => dense.bytes(),
            Self::Sparse(sparse) => {
                sparse.ends.bytes() + sparse.columns.bytes() + sparse.values.bytes() + sparse.norms.bytes()
            }
        }
    }

    /// How many vectors `new` holds.
    ///
    /// # Errors
    /// Vectors of another kind or dimension, NaN or infinite values, a zero vector where angles count, coordinates that do
    /// not ascend.
    pub fn check(&self, metric: Metric, new: Vectors<'_>) -> Result<usize> {
        match (self, new) {
            (Self::F32(_), Vectors::F32(values)) => check_dense(self.dim(), metric, values),
            (Self::F64(_), Vectors::F64(values)) => check_dense(self.dim(), metric, values),
            (Self::U8(_), Vectors::U8(values)) => check_dense(self.dim(), metric, values),
            (Self::I8(_), Vectors::I8(values)) => check_dense(self.dim(), metric, values),
            (Self::F16(_), Vectors::F16(values)) => check_dense(self.dim(), metric, values),
            (Self::Sparse(sparse), Vectors::Sparse(ends, columns, values)) => {
                let ascending = ends.windows(2).all(|pair| pair[0] <= pair[1]);
                if ends.first() != Some(&0)
                    || !ascending
                    || ends.last() != Some(&(columns.len() as u64))
                    || values.len() != columns.len()
                {
                    return Err(Error::parameter(
                        "X",
                        "row ends that do not fit",
                        "ends that ascend to the last value",
                    ));
                }
                let stop = CancelToken::current();
                for row in stop.ranges(0..ends.len() - 1).flatten() {
                    let part = ends[row] as usize..ends[row + 1] as usize;
                    let (columns, values) = (&columns[part.clone()], &values[part]);
                    let place = || format!("row {row}");
                    if !columns.windows(2).all(|pair| pair[0] < pair[1])
                        || columns.last().is_some_and(|&column| column as usize >= sparse.dim)
                    {
                        let reason = format!("its coordinates do not ascend below {}; sort and sum them", sparse.dim);
                        return Err(Error::input(place(), reason));
                    }
                    if !values.iter().all(|value| value.is_finite()) {
                        return Err(Error::input(place(), "it has a NaN or an infinite value; replace or drop it"));
                    }
                    if metric == Metric::Cosine {
                        let norm = norm_of(values);
                        if norm == 0.0 || !norm.is_finite() {
                            return Err(no_angle(row));
                        }
                    }
                }
                stop.check()?;
                Ok(ends.len() - 1)
            }
            _ => Err(Error::mismatch("kind of vectors", new.kind(), self.kind())),
        }
    }

    /// How many queries `new` holds: vectors as for `check`, or of `float32` where narrower ones are kept.
    ///
    /// # Errors
    /// As for `check`.
    pub(crate) fn check_queries(&self, metric: Metric, new: Vectors<'_>) -> Result<usize> {
        match (self, new) {
            (Self::U8(_) | Self::I8(_) | Self::F16(_), Vectors::F32(values)) => check_dense(self.dim(), metric, values),
            _ => self.check(metric, new),
        }
    }

    /// Row `row` as `float32`, in place of what `out` holds.
    pub fn widen(&self, row: usize, out: &mut Vec<f32>) {
        match self {
            Self::F32(dense) => Vectors::F32(&dense.values).widen(dense.dim, row, out),
            Self::F64(dense) => Vectors::F64(&dense.values).widen(dense.dim, row, out),
            Self::U8(dense) => Vectors::U8(&dense.values).widen(dense.dim, row, out),
            Self::I8(dense) => Vectors::I8(&dense.values).widen(dense.dim, row, out),
            Self::F16(dense) => Vectors::F16(&dense.values).widen(dense.dim, row, out),
            Self::Sparse(sparse) => {
                Vectors::Sparse(&sparse.ends, &sparse.columns, &sparse.values).widen(sparse.dim, row, out);
            }
        }
    }

    /// Appends what `check` has passed.
    ///
    /// # Errors
    /// The call is stopped, or there is no memory; the vectors are as they were.
    pub(crate) fn push(&mut self, metric: Metric, new: Vectors<'_>, stop: &CancelToken) -> Result<()> {
        match (self, new) {
            (Self::F32(dense), Vectors::F32(values)) => dense.push(metric, values, stop),
            (Self::F64(dense), Vectors::F64(values)) => dense.push(metric, values, stop),
            (Self::U8(dense), Vectors::U8(values)) => dense.push(metric, values, stop),
            (Self::I8(dense), Vectors::I8(values)) => dense.push(metric, values, stop),
            (Self::F16(dense), Vectors::F16(values)) => dense.push(metric, values, stop),
            (Self::Sparse(sparse), Vectors::Sparse(ends, columns, values)) => {
                let mut norms = Vec::new();
                if metric == Metric::Cosine {
                    norms = alloc::try_with_capacity(ends.len() - 1)?;
                    for rows in stop.ranges(0..ends.len() - 1) {
                        norms.extend(rows.map(|row| norm_of(&values[ends[row] as usize..ends[row + 1] as usize])));
                    }
                }
                stop.check()?;
                let before = sparse.columns.len();
                let moved = alloc::try_collect(ends[1..].iter().map(|end| before as u64 + end))?;
                sparse.norms.reserve(norms.len(), stop)?;
                sparse.ends.reserve(moved.len(), stop)?;
                sparse.columns.append(columns, stop)?;
                if let Err(stopped) = sparse.values.append(values, stop) {
                    sparse.columns.to_mut().truncate(before);
                    return Err(stopped);
                }
                sparse.norms.to_mut().extend_from_slice(&norms);
                sparse.ends.to_mut().extend_from_slice(&moved);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Asks for rows whose distances are soon wanted.
    pub(super) fn prefetch(&self, rows: impl Iterator<Item = u32>) {
        match self {
            Self::F32(dense) => rows.for_each(|row| dense.prefetch(row)),
            Self::F64(dense) => rows.for_each(|row| dense.prefetch(row)),
            Self::U8(dense) => rows.for_each(|row| dense.prefetch(row)),
            Self::I8(dense) => rows.for_each(|row| dense.prefetch(row)),
            Self::F16(dense) => rows.for_each(|row| dense.prefetch(row)),
            Self::Sparse(_) => {}
        }
    }

    /// Appends the distances of query `number` to `rows`, with the rows.
    pub(crate) fn distances(
        &self,
        instructions: Instructions,
        metric: Metric,
        queries: Vectors<'_>,
        number: usize,
        rows: &[u32],
        out: &mut Vec<(f64, u32)>,
    ) {
        match (self, queries) {
            (Self::F32(dense), Vectors::F32(values)) => instructions.run(
                #[inline(always)]
                || {
                    kernels::floating(
                        metric,
                        dense.query(values, number),
                        dense,
                        #[inline(always)]
                        |x| x,
                        #[inline(always)]
                        |x| x,
                        rows,
                        out,
                    );
                },
            ),
            (Self::F64(dense), Vectors::F64(values)) => instructions.run(
                #[inline(always)]
                || {
                    kernels::floating(
                        metric,
                        dense.query(values, number),
                        dense,
                        #[inline(always)]
                        |x| x,
                        #[inline(always)]
                        |x| x,
                        rows,
                        out,
                    );
                },
            ),
            (Self::U8(dense), Vectors::U8(values)) => {
                kernels::whole(instructions, metric, dense.query(values, number), dense, rows, out);
            }
            (Self::I8(dense), Vectors::I8(values)) => {
                kernels::whole(instructions, metric, dense.query(values, number), dense, rows, out);
            }
            (Self::U8(dense), Vectors::F32(values)) => instructions.run(
                #[inline(always)]
                || widened(metric, dense.query(values, number), dense, rows, out),
            ),
            (Self::I8(dense), Vectors::F32(values)) => instructions.run(
                #[inline(always)]
                || widened(metric, dense.query(values, number), dense, rows, out),
            ),
            (Self::F16(dense), Vectors::F32(_) | Vectors::F16(_)) => {
                let query = if let Vectors::F32(values) = queries {
                    Cow::Borrowed(dense.query(values, number))
                } else {
                    let mut query = Vec::new();
                    queries.widen(dense.dim, number, &mut query);
                    Cow::Owned(query)
                };
                instructions.run(
                    #[inline(always)]
                    || widened(metric, &query, dense, rows, out),
                );
            }
            (Self::Sparse(sparse), Vectors::Sparse(ends, columns, values)) => {
                let part = ends[number] as usize..ends[number + 1] as usize;
                let query = (&columns[part.clone()], &values[part]);
                let joined = |row: u32, both: fn(f64, f64) -> f64| join(query, sparse.row(row as usize), both);
                // -0 and 0 are one distance.
                match metric {
                    Metric::L2 => {
                        out.extend(rows.iter().map(|&row| (joined(row, |a, b| (a - b) * (a - b)).sqrt() + 0.0, row)));
                    }
                    Metric::L1 => out.extend(rows.iter().map(|&row| (joined(row, |a, b| (a - b).abs()) + 0.0, row))),
                    Metric::Cosine => {
                        let (norm, norms): (_, &[f64]) = (norm_of(query.1), &sparse.norms);
                        let angle = |dot, row| cosine(dot, norm * norms[row as usize]) + 0.0;
                        sparse.products(query, rows, out, angle);
                    }
                    Metric::InnerProduct => sparse.products(query, rows, out, |dot, _| -dot + 0.0),
                }
            }
            _ => {}
        }
    }
}

/// Distances in `float32` to rows of a narrower type.
#[inline(always)]
fn widened<T: Element>(metric: Metric, query: &[f32], kept: &Dense<T>, rows: &[u32], out: &mut Vec<(f64, u32)>) {
    kernels::floating(metric, query, kept, T::single, T::length, rows, out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(metric: Metric, a: &[f64], b: &[f64]) -> f64 {
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        match metric {
            Metric::L2 => a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt(),
            Metric::L1 => a.iter().zip(b).map(|(x, y)| (x - y).abs()).sum(),
            Metric::Cosine => 1.0 - dot(a, b) / (dot(a, a).sqrt() * dot(b, b).sqrt()),
            Metric::InnerProduct => -dot(a, b),
        }
    }

    fn filled(kind: &str, metric: Metric, dim: usize, rows: &[f32]) -> Store {
        let mut store = Store::new(kind, dim).expect("a store");
        let wide: Vec<f64> = rows.iter().map(|&x| f64::from(x)).collect();
        match kind {
            "float32" => store.push(metric, Vectors::F32(rows), &CancelToken::default()),
            "float64" => store.push(metric, Vectors::F64(&wide), &CancelToken::default()),
            "uint8" => store.push(metric, Vectors::U8(&bytes(rows)), &CancelToken::default()),
            "int8" => store.push(metric, Vectors::I8(&signed(rows)), &CancelToken::default()),
            "float16" => store.push(metric, Vectors::F16(&halves(rows)), &CancelToken::default()),
            _ => {
                let (ends, columns, values) = sparse(dim, &wide);
                store.push(metric, Vectors::Sparse(&ends, &columns, &values), &CancelToken::default())
            }
        }
        .expect("appended");
        store
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().map(|&value| value as u8).collect()
    }

    fn signed(values: &[f32]) -> Vec<i8> {
        values.iter().map(|&value| value as i8).collect()
    }

    /// Bits of float16 numbers, each of which is one.
    fn halves(values: &[f32]) -> Vec<u16> {
        let all: std::collections::HashMap<u32, u16> =
            (0..=u16::MAX).filter(|bits| bits.is_finite()).map(|bits| (bits.single().to_bits(), bits)).collect();
        values.iter().map(|value| all[&value.to_bits()]).collect()
    }

    fn sparse(dim: usize, rows: &[f64]) -> (Vec<u64>, Vec<u32>, Vec<f64>) {
        let (mut ends, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in rows.chunks_exact(dim) {
            for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                columns.push(column as u32);
                values.push(value);
            }
            ends.push(columns.len() as u64);
        }
        (ends, columns, values)
    }

    proptest! {
        #[test]
        fn forms_give_the_same_bits_and_the_distance(
            dim in 1usize..140, seed: u64, zeros in 0u64..4,
        ) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                if state >> 60 < zeros { 0.0 } else { (state >> 40) as f32 / 1e6 - 8.0 }
            };
            let rows: Vec<f32> = (0..dim * 9).map(|i| if i % dim == 0 { 1.0 } else { next() }).collect();
            let query: Vec<f32> = (0..dim).map(|i| if i == 0 { 1.0 } else { next() }).collect();
            let wide: Vec<f64> = query.iter().map(|&x| f64::from(x)).collect();
            let (ends, columns, values) = sparse(dim, &wide);
            for metric in Metric::ALL {
                for kind in ["float32", "float64", "sparse"] {
                    let store = filled(kind, metric, dim, &rows);
                    let queries = match kind {
                        "float32" => Vectors::F32(&query),
                        "float64" => Vectors::F64(&wide),
                        _ => Vectors::Sparse(&ends, &columns, &values),
                    };
                    let wanted: Vec<u32> = vec![8, 0, 3, 3, 1, 2, 4, 5, 6, 7];
                    let mut first: Option<Vec<(f64, u32)>> = None;
                    for instructions in Instructions::available() {
                        let mut found = Vec::new();
                        store.distances(instructions, metric, queries, 0, &wanted, &mut found);
                        for &(distance, row) in &found {
                            let other: Vec<f64> =
                                rows[row as usize * dim..(row as usize + 1) * dim].iter().map(|&x| f64::from(x)).collect();
                            let expected = exact(metric, &wide, &other);
                            // At most 140 terms below 17^2, of which each sum rounds ten, to 2^-24 each.
                            let bound = if kind == "float32" { 0.02 } else { 1e-9 };
                            prop_assert!((distance - expected).abs() <= bound * (1.0 + expected.abs()), "{metric:?} {kind} {distance} {expected}");
                        }
                        let bits: Vec<(u64, u32)> = found.iter().map(|&(d, row)| (d.to_bits(), row)).collect();
                        if let Some(first) = &first {
                            let others: Vec<(u64, u32)> = first.iter().map(|&(d, row)| (d.to_bits(), row)).collect();
                            prop_assert_eq!(others, bits);
                        } else {
                            first = Some(found);
                        }
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn narrow_vectors_give_the_same_bits_and_the_distance(dim in 1usize..140, seed: u64, metric in 0usize..4) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                state >> 57
            };
            let (metric, wanted): (Metric, Vec<u32>) = (Metric::ALL[metric], vec![8, 0, 3, 3, 1, 2, 4, 5, 6, 7]);
            for kind in ["uint8", "int8", "float16"] {
                // Sums of the squares of 140 of them are below 2^24: exact in `float32` too.
                let least = if kind == "uint8" { 0.0 } else { -60.0 };
                let mut numbers = |count: usize| -> Vec<f32> {
                    (0..count).map(|i| if i % dim == 0 { 1.0 } else { next() as f32 + least }).collect()
                };
                let (mut rows, mut query) = (numbers(dim * 9), numbers(dim));
                if kind == "float16" {
                    rows.iter_mut().chain(&mut query).for_each(|x| *x /= 64.0);
                }
                let store = filled(kind, metric, dim, &rows);
                let single = filled("float32", metric, dim, &rows);
                let (narrow_u, narrow_i) = (bytes(&query), signed(&query));
                let narrow_f = if kind == "float16" { halves(&query) } else { Vec::new() };
                let own = match kind {
                    "uint8" => Vectors::U8(&narrow_u),
                    "int8" => Vectors::I8(&narrow_i),
                    _ => Vectors::F16(&narrow_f),
                };
                let wide: Vec<f64> = query.iter().map(|&x| f64::from(x)).collect();
                let mut expected = Vec::new();
                single.distances(Instructions::Portable, metric, Vectors::F32(&query), 0, &wanted, &mut expected);
                for instructions in Instructions::available() {
                    let (mut mixed, mut found) = (Vec::new(), Vec::new());
                    store.distances(instructions, metric, Vectors::F32(&query), 0, &wanted, &mut mixed);
                    prop_assert_eq!(&expected, &mixed, "{} {:?}", kind, metric);
                    store.distances(instructions, metric, own, 0, &wanted, &mut found);
                    if kind == "float16" {
                        prop_assert_eq!(&expected, &found);
                    }
                    for &(distance, row) in &found {
                        let other: Vec<f64> =
                            rows[row as usize * dim..(row as usize + 1) * dim].iter().map(|&x| f64::from(x)).collect();
                        let model = exact(metric, &wide, &other);
                        // Whole numbers are rounded once, at the end.
                        let bound = if kind == "float16" { 1e-4 } else { 1e-7 };
                        prop_assert!((distance - model).abs() <= bound * (1.0 + model.abs()), "{metric:?} {kind} {distance} {model}");
                        prop_assert_eq!(distance, f64::from(distance as f32));
                    }
                }
            }
        }

        #[test]
        fn a_scattered_query_gives_the_bits_of_a_join(
            seed: u64, dim in 1usize..300, zeros in 1u64..15, rows in 1usize..40,
        ) {
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                if state >> 60 < zeros { 0.0 } else { (state >> 40) as f64 / 1e6 - 8.0 }
            };
            let values: Vec<f64> = (0..(rows + 1) * dim).map(|i| if i % dim == 0 { 1.0 } else { next() }).collect();
            let Store::Sparse(store) = filled("sparse", Metric::Cosine, dim, &values[dim..].iter().map(|&x| x as f32).collect::<Vec<_>>())
            else { unreachable!("a sparse store") };
            let (_, columns, values) = sparse(dim, &values[..dim]);
            let query = (&columns[..], &values[..]);
            let bits = |(product, row): (f64, u32)| (product.to_bits(), row);
            for times in [1, 500] {
                let wanted: Vec<u32> = (0..rows as u32).cycle().take(rows * times).collect();
                let mut found = vec![(7.0, 7)];
                store.products(query, &wanted, &mut found, |product, _| product);
                let expected = wanted.iter().map(|&row| (join(query, store.row(row as usize), |a, b| a * b), row));
                prop_assert_eq!(found.remove(0), (7.0, 7));
                prop_assert!(expected.map(bits).eq(found.into_iter().map(bits)));
            }
            prop_assert!(store.scattered(query, 500 * rows).is_some());
        }
    }

    #[test]
    fn a_row_is_widened_to_float32_whatever_it_is_kept_as() {
        let rows: Vec<f32> = [[1.0, 0.0, 2.0], [5.0, 3.0, 0.0]].concat();
        for kind in KINDS {
            let store = filled(kind, Metric::L2, 3, &rows);
            let mut out = vec![7.0; 5];
            for row in [1, 0] {
                store.widen(row, &mut out);
                assert_eq!(rows[3 * row..3 * row + 3], out);
            }
        }
        let mut out = Vec::new();
        Vectors::F64(&[1.0, 1.0 / 3.0]).widen(1, 1, &mut out);
        assert_eq!(vec![1.0_f32 / 3.0], out);
    }

    #[test]
    fn bad_vectors_are_errors() {
        let store = Store::new("float32", 2).expect("a store");
        assert!(store.check(Metric::L2, Vectors::F32(&[1.0, f32::NAN])).is_err());
        assert!(store.check(Metric::L2, Vectors::F32(&[1.0])).is_err());
        assert!(store.check(Metric::Cosine, Vectors::F32(&[0.0, 0.0])).is_err());
        assert!(store.check(Metric::L2, Vectors::F32(&[0.0, 0.0])).is_ok());
        assert!(store.check(Metric::L2, Vectors::F64(&[0.0, 0.0])).is_err());
        let store = Store::new("uint8", 2).expect("a store");
        assert!(store.check(Metric::Cosine, Vectors::U8(&[0, 0])).is_err());
        assert!(store.check(Metric::L2, Vectors::F32(&[0.0, 0.0])).is_err());
        assert_eq!(1, store.check_queries(Metric::L2, Vectors::F32(&[0.5, 0.0])).expect("a query"));
        assert!(store.check_queries(Metric::L2, Vectors::F32(&[0.5, f32::NAN])).is_err());
        assert!(store.check_queries(Metric::L2, Vectors::I8(&[0, 0])).is_err());
        let store = Store::new("float16", 2).expect("a store");
        // An infinity, a NaN, the largest number.
        assert!(store.check(Metric::L2, Vectors::F16(&[0, 0x7c00])).is_err());
        assert!(store.check(Metric::L2, Vectors::F16(&[0xfe00, 0])).is_err());
        assert_eq!(1, store.check(Metric::Cosine, Vectors::F16(&[0, 0xfbff])).expect("a row"));
        let store = Store::new("sparse", 4).expect("a store");
        assert!(store.check(Metric::L2, Vectors::Sparse(&[0, 2], &[1, 0], &[1.0, 1.0])).is_err());
        assert!(store.check(Metric::L2, Vectors::Sparse(&[0, 1], &[4], &[1.0])).is_err());
        assert!(store.check(Metric::L2, Vectors::Sparse(&[0, 3], &[1], &[1.0])).is_err());
        assert!(store.check(Metric::Cosine, Vectors::Sparse(&[0, 0], &[], &[])).is_err());
        assert_eq!(1, store.check(Metric::L2, Vectors::Sparse(&[0, 0], &[], &[])).expect("an empty row"));
    }

    #[test]
    fn metrics_and_kinds_have_names() {
        for metric in Metric::ALL {
            assert_eq!(metric, Metric::parse(metric.name()).expect("its name"));
        }
        assert!(Metric::parse("euclid").is_err());
        for kind in KINDS {
            let store = Store::new(kind, 3).expect("a store");
            assert_eq!((kind, 3, 0, true), (store.kind(), store.dim(), store.len(), store.is_empty()));
        }
        assert!(Store::new("int16", 3).is_err());
        assert!(Store::new("float32", 0).is_err());
        assert!(Store::new("sparse", u32::MAX as usize).is_err());
    }

    #[test]
    fn bytes_are_those_of_the_values_and_the_norms() {
        let rows: Vec<f32> = (1..13).map(|i| i as f32).collect();
        for (metric, float, double, sparse) in
            [(Metric::L2, 48, 96, 8 * 4 + 12 * 12), (Metric::Cosine, 60, 120, 8 * 4 + 12 * 12 + 24)]
        {
            for (kind, least) in [("float32", float), ("float64", double), ("sparse", sparse)] {
                let store = filled(kind, metric, 4, &rows);
                assert_eq!(3, store.len());
                assert!(store.bytes() >= least, "{kind} {metric:?} {}", store.bytes());
            }
        }
    }

    #[test]
    fn equal_vectors_are_at_no_distance() {
        let rows = [0.1_f32, 0.7, -0.3, 1e-20, 5.5, -2.25];
        for kind in ["float32", "float64", "sparse"] {
            for metric in [Metric::L2, Metric::L1] {
                let store = filled(kind, metric, 6, &rows);
                let wide: Vec<f64> = rows.iter().map(|&x| f64::from(x)).collect();
                let (ends, columns, values) = sparse(6, &wide);
                let query = match kind {
                    "float32" => Vectors::F32(&rows),
                    "float64" => Vectors::F64(&wide),
                    _ => Vectors::Sparse(&ends, &columns, &values),
                };
                for instructions in Instructions::available() {
                    let mut out = Vec::new();
                    store.distances(instructions, metric, query, 0, &[0], &mut out);
                    assert_eq!(vec![(0.0, 0)], out);
                }
            }
        }
    }
}
