//! The vectors of an index, and true distances to them: the same bits on every machine.
//!
//! | metric | distance |
//! |---|---|
//! | `L2` | `sqrt(sum (q_i - x_i)^2)` |
//! | `L1` | `sum abs(q_i - x_i)` |
//! | `Cosine` | 1 - q.x / (norm q * norm x), from 0 to 2 |
//! | `InnerProduct` | -q.x: the nearest has the largest product |
//!
//! Vectors of `u8` and `i8` are compared in integers, exactly; other dense types in floating point, in one order of
//! summation (`kernels`; test `forms_give_the_same_bits_and_the_distance`). Distances of `float64` and sparse vectors are
//! `float64`, all others `float32`. A `float32` query may be compared with narrower vectors, which are widened.
//!
//! Sparse vectors are summed in `float64` in order of coordinates. For products the query is scattered into a dense array
//! once, if there are enough rows to rank: coordinates without a partner add zeros, so the sum over a row's coordinates, in
//! their order, has the same bits.
//!
//! Pairs and clusters ask an index for its own vectors, a few thousand at a time, and hash them again ([`Index::stored`]).
//!
//! Cost: d multiplications and additions per candidate; candidates are prefetched.

use std::borrow::Cow;

use super::Index;
use super::kernels::{self, Dense, Element, LINES, Metric, Real as _, floating, identity};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::cpu::prefetch::prefetch_at;
use crate::segment::Column;
use crate::{Error, Result, alloc};

/// Kinds of vectors, in the order of their numbers in files.
pub(super) const KINDS: [&str; 6] = ["float32", "float64", "sparse", "uint8", "int8", "float16"];
/// Rows whose products are summed at once.
const LANES: usize = 8;

/// Evaluate one expression for a dense store of any type, another for a sparse one.
macro_rules! match_store {
    ($store:expr, $dense:ident => $body:expr, $sparse:pat => $other:expr) => {
        match $store {
            VectorStore::F32($dense) => $body,
            VectorStore::F64($dense) => $body,
            VectorStore::U8($dense) => $body,
            VectorStore::I8($dense) => $body,
            VectorStore::F16($dense) => $body,
            VectorStore::Sparse($sparse) => $other,
        }
    };
}

/// Evaluate one expression for a dense store and vectors of the same type; other pairs have arms of their own.
macro_rules! match_same_kind {
    ($store:expr, $vectors:expr, ($dense:ident, $values:ident) => $body:expr, $($rest:tt)+) => {
        match ($store, $vectors) {
            (VectorStore::F32($dense), Vectors::F32($values)) => $body,
            (VectorStore::F64($dense), Vectors::F64($values)) => $body,
            (VectorStore::U8($dense), Vectors::U8($values)) => $body,
            (VectorStore::I8($dense), Vectors::I8($values)) => $body,
            (VectorStore::F16($dense), Vectors::F16($values)) => $body,
            $($rest)+
        }
    };
}
pub(super) use match_store;

/// Return the number of rows of `dim` coordinates.
///
/// # Errors
/// A row without a distance.
fn check_dense<T: Element>(dim: usize, metric: Metric, new: &[T]) -> Result<usize> {
    if !new.len().is_multiple_of(dim) {
        return Err(Error::parameter("X", format!("{} values", new.len()), format!("{dim} values per vector")));
    }
    let cancel = CancelToken::current();
    for row in cancel.ranges(0..new.len() / dim).flatten() {
        let values = &new[row * dim..][..dim];
        // In chunks, so that the compiler vectorises.
        let finite = |chunk: &[T]| chunk.iter().fold(true, |finite, value| finite & value.is_finite());
        if !values.chunks(128).all(finite) {
            return Err(not_finite(row));
        }
        if metric == Metric::Cosine && !T::has_angle(T::norm(values)) {
            return Err(no_angle(row));
        }
    }
    cancel.check()?;
    Ok(new.len() / dim)
}

fn not_finite(row: usize) -> Error {
    Error::input(format!("row {row}"), "it has a NaN or an infinite value; replace or drop it")
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

/// A sparse row: coordinates and values.
type SparseRow<'a> = (&'a [u32], &'a [f64]);

fn sparse_row<'a>(ends: &[u64], columns: &'a [u32], values: &'a [f64], row: usize) -> SparseRow<'a> {
    let range = ends[row] as usize..ends[row + 1] as usize;
    (&columns[range.clone()], &values[range])
}

impl Sparse {
    pub(crate) fn row(&self, row: usize) -> SparseRow<'_> {
        sparse_row(&self.ends, &self.columns, &self.values, row)
    }

    /// Return true if `vectors` have a distance under `metric`.
    ///
    /// # Errors
    /// Ends that do not ascend to the last value; the first row with bad coordinates or values.
    fn check(&self, metric: Metric, (ends, columns, values): (&[u64], &[u32], &[f64])) -> Result<usize> {
        if ends.first() != Some(&0)
            || !ends.is_sorted()
            || ends.last() != Some(&(columns.len() as u64))
            || values.len() != columns.len()
        {
            return Err(Error::parameter("X", "row ends that do not fit", "ends that ascend to the last value"));
        }
        let cancel = CancelToken::current();
        for row in cancel.ranges(0..ends.len() - 1).flatten() {
            let (columns, values) = sparse_row(ends, columns, values, row);
            if !columns.windows(2).all(|pair| pair[0] < pair[1])
                || columns.last().is_some_and(|&column| column as usize >= self.dim)
            {
                let reason = format!("its coordinates do not ascend below {}; sort and sum them", self.dim);
                return Err(Error::input(format!("row {row}"), reason));
            }
            if !values.iter().all(|value| value.is_finite()) {
                return Err(not_finite(row));
            }
            let norm = if metric == Metric::Cosine { norm_of(values) } else { 1.0 };
            if norm == 0.0 || !norm.is_finite() {
                return Err(no_angle(row));
            }
        }
        cancel.check()?;
        Ok(ends.len() - 1)
    }

    /// Append checked rows; nothing changes if this fails.
    fn push(
        &mut self,
        metric: Metric,
        (ends, columns, values): (&[u64], &[u32], &[f64]),
        cancel: &CancelToken,
    ) -> Result<()> {
        let mut norms = Vec::new();
        if metric == Metric::Cosine {
            norms = alloc::try_with_capacity(ends.len() - 1)?;
            for rows in cancel.ranges(0..ends.len() - 1) {
                norms.extend(rows.map(|row| norm_of(sparse_row(ends, columns, values, row).1)));
            }
        }
        cancel.check()?;
        let before = self.columns.len();
        let shifted = alloc::try_collect(ends[1..].iter().map(|end| before as u64 + end))?;
        self.norms.reserve(norms.len(), cancel)?;
        self.ends.reserve(shifted.len(), cancel)?;
        self.columns.append(columns, cancel)?;
        if let Err(error) = self.values.append(values, cancel) {
            self.columns.to_mut().truncate(before);
            return Err(error);
        }
        self.norms.to_mut().extend_from_slice(&norms);
        self.ends.to_mut().extend_from_slice(&shifted);
        Ok(())
    }

    /// Return true if the norms are those of the rows.
    pub(super) fn norms_are_sound(&self) -> bool {
        self.norms.iter().enumerate().all(|(row, &norm)| norm == norm_of(self.row(row).1))
    }

    /// Return the query as a dense array, if that pays for this many rows and there is memory.
    fn scattered(&self, query: SparseRow<'_>, rows: usize) -> Option<Vec<f64>> {
        let mean_row = self.columns.len() / (self.ends.len() - 1).max(1);
        // Filling an array with zeros is faster than reading rows.
        if self.dim / 8 > rows.saturating_mul(mean_row + query.0.len()) {
            return None;
        }
        let mut dense: Vec<f64> = alloc::try_with_capacity(self.dim).ok()?;
        dense.resize(self.dim, 0.0);
        for (&column, &value) in query.0.iter().zip(query.1) {
            dense[column as usize] = value;
        }
        Some(dense)
    }

    /// Append for each row the `distance` of its product with the query, which is summed in order of coordinates.
    fn products(
        &self,
        query: SparseRow<'_>,
        rows: &[u32],
        out: &mut Vec<(f64, u32)>,
        distance: impl Fn(f64, u32) -> f64,
    ) {
        let before = out.len();
        if let Some(dense) = self.scattered(query, rows.len()) {
            out.extend(rows.iter().map(|&row| (0.0, row)));
            self.dense_products(&dense, &mut out[before..]);
        } else {
            out.extend(rows.iter().map(|&row| (join(query, self.row(row as usize), |a, b| a * b), row)));
        }
        for (product, row) in &mut out[before..] {
            *product = distance(*product, *row);
        }
    }

    /// Replace the zero in each entry by the product of its row with a dense query.
    fn dense_products(&self, dense: &[f64], out: &mut [(f64, u32)]) {
        let ends = &self.ends[..];
        let (columns, values) = (&self.columns[..], &self.values[..]);
        let prefetch = |position: usize, out: &[(f64, u32)]| {
            if let Some(&(_, row)) = out.get(position) {
                let range = ends[row as usize] as usize..ends[row as usize + 1] as usize;
                for at in range.step_by(16).take(LINES) {
                    prefetch_at(columns, at);
                    prefetch_at(values, at);
                    prefetch_at(values, at + 8);
                }
            }
        };
        // Eight sums at once, because each addition waits for the one before; a finished row makes way for the next.
        let mut lanes = [Lane::default(); LANES];
        let mut next = 0;
        (0..LANES).for_each(|position| prefetch(position, out));
        loop {
            for lane in &mut lanes {
                while lane.at == lane.end {
                    if let Some(done) = lane.position.take() {
                        out[done].0 = lane.sum;
                    }
                    let Some(&(_, row)) = out.get(next) else { break };
                    prefetch(next + LANES, out);
                    let (at, end) = (ends[row as usize] as usize, ends[row as usize + 1] as usize);
                    *lane = Lane { at, end, position: Some(next), sum: 0.0 };
                    next += 1;
                }
            }
            let steps = lanes.iter().map(|lane| lane.end - lane.at).min().unwrap_or(0);
            if steps == 0 {
                break;
            }
            let rows = lanes.map(|lane| (&columns[lane.at..lane.at + steps], &values[lane.at..lane.at + steps]));
            let mut sums = lanes.map(|lane| lane.sum);
            for step in 0..steps {
                for (sum, (columns, values)) in sums.iter_mut().zip(&rows) {
                    *sum += dense[columns[step] as usize] * values[step];
                }
            }
            for (lane, sum) in lanes.iter_mut().zip(sums) {
                lane.at += steps;
                lane.sum = sum;
            }
        }
        // No row is left to start.
        for lane in lanes {
            if let Some(position) = lane.position {
                let range = lane.at..lane.end;
                let products = columns[range.clone()].iter().zip(&values[range]);
                out[position].0 =
                    products.fold(lane.sum, |sum, (&column, &value)| sum + dense[column as usize] * value);
            }
        }
    }
}

/// A row in progress: the rest of its coordinates, its position in the output, and its sum so far.
#[derive(Clone, Copy, Default)]
struct Lane {
    at: usize,
    end: usize,
    position: Option<usize>,
    sum: f64,
}

/// Sum `both` over the coordinates of two sparse vectors, in their order; a missing value is 0.
fn join(a: SparseRow<'_>, b: SparseRow<'_>, both: impl Fn(f64, f64) -> f64) -> f64 {
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

/// A borrowed batch of vectors.
#[derive(Debug, Clone, Copy)]
pub enum Vectors<'a> {
    /// Row-major.
    F32(&'a [f32]),
    /// Row-major.
    F64(&'a [f64]),
    /// Row-major.
    U8(&'a [u8]),
    /// Row-major.
    I8(&'a [i8]),
    /// Bits of float16, row-major.
    F16(&'a [u16]),
    /// Ends of rows with 0 before the first, coordinates, values.
    Sparse(&'a [u64], &'a [u32], &'a [f64]),
}

/// Vectors that own their memory.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnedVectors {
    /// Row-major.
    F32(Vec<f32>),
    /// Row-major.
    F64(Vec<f64>),
    /// Row-major.
    U8(Vec<u8>),
    /// Row-major.
    I8(Vec<i8>),
    /// Bits of float16, row-major.
    F16(Vec<u16>),
    /// Ends of rows with 0 before the first, coordinates, values.
    Sparse(Vec<u64>, Vec<u32>, Vec<f64>),
}

impl OwnedVectors {
    /// Borrow the vectors.
    pub fn view(&self) -> Vectors<'_> {
        match self {
            Self::F32(values) => Vectors::F32(values),
            Self::F64(values) => Vectors::F64(values),
            Self::U8(values) => Vectors::U8(values),
            Self::I8(values) => Vectors::I8(values),
            Self::F16(values) => Vectors::F16(values),
            Self::Sparse(ends, columns, values) => Vectors::Sparse(ends, columns, values),
        }
    }

    /// Concatenate sparse rows.
    fn sparse<'a>(rows: impl ExactSizeIterator<Item = SparseRow<'a>>) -> Result<Self> {
        let (mut ends, mut columns, mut values) = (alloc::try_with_capacity(rows.len() + 1)?, Vec::new(), Vec::new());
        ends.push(0);
        for row in rows {
            alloc::try_extend(&mut columns, row.0)?;
            alloc::try_extend(&mut values, row.1)?;
            ends.push(columns.len() as u64);
        }
        Ok(Self::Sparse(ends, columns, values))
    }
}

impl Vectors<'_> {
    /// Copy out the rows at `chosen` of a batch of `dim` coordinates.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(super) fn select(&self, dim: usize, chosen: &[usize]) -> Result<OwnedVectors> {
        fn dense<T: Copy>(values: &[T], dim: usize, chosen: &[usize]) -> Result<Vec<T>> {
            let cancel = CancelToken::current();
            let mut out = alloc::try_with_capacity(chosen.len() * dim)?;
            for &row in cancel.blocks(chosen).flatten() {
                out.extend_from_slice(&values[row * dim..][..dim]);
            }
            cancel.check()?;
            Ok(out)
        }
        Ok(match *self {
            Self::F32(values) => OwnedVectors::F32(dense(values, dim, chosen)?),
            Self::F64(values) => OwnedVectors::F64(dense(values, dim, chosen)?),
            Self::U8(values) => OwnedVectors::U8(dense(values, dim, chosen)?),
            Self::I8(values) => OwnedVectors::I8(dense(values, dim, chosen)?),
            Self::F16(values) => OwnedVectors::F16(dense(values, dim, chosen)?),
            Self::Sparse(ends, columns, values) => {
                OwnedVectors::sparse(chosen.iter().map(|&row| sparse_row(ends, columns, values, row)))?
            }
        })
    }

    /// Replace `out` by vector `number`, of `dim` coordinates, as `float32`.
    pub fn widen(&self, dim: usize, number: usize, out: &mut Vec<f32>) {
        fn singles<T: Element>(values: &[T], out: &mut Vec<f32>) {
            out.extend(values.iter().map(|&value| value.single()));
        }
        out.clear();
        let range = number * dim..(number + 1) * dim;
        match self {
            Self::F32(values) => out.extend_from_slice(&values[range]),
            Self::F64(values) => singles(&values[range], out),
            Self::U8(values) => singles(&values[range], out),
            Self::I8(values) => singles(&values[range], out),
            Self::F16(values) => singles(&values[range], out),
            Self::Sparse(ends, columns, values) => {
                out.resize(dim, 0.0);
                let (columns, values) = sparse_row(ends, columns, values, number);
                for (&column, &value) in columns.iter().zip(values) {
                    out[column as usize] = value as f32;
                }
            }
        }
    }

    /// Return "float32", "float64", "sparse", "uint8", "int8" or "float16".
    pub(super) fn kind(&self) -> &'static str {
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
pub enum VectorStore {
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

impl VectorStore {
    /// Create an empty store of "float32", "float64", "uint8", "int8", "float16" or "sparse" vectors of `dim` coordinates.
    ///
    /// # Errors
    /// `dim` is 0 or above 2^32 - 2, or the kind is unknown.
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

    /// Return "float32", "float64", "uint8", "int8", "float16" or "sparse".
    pub fn kind(&self) -> &'static str {
        self.view().kind()
    }

    /// Borrow all vectors.
    pub(super) fn view(&self) -> Vectors<'_> {
        match self {
            Self::F32(dense) => Vectors::F32(&dense.values),
            Self::F64(dense) => Vectors::F64(&dense.values),
            Self::U8(dense) => Vectors::U8(&dense.values),
            Self::I8(dense) => Vectors::I8(&dense.values),
            Self::F16(dense) => Vectors::F16(&dense.values),
            Self::Sparse(sparse) => Vectors::Sparse(&sparse.ends, &sparse.columns, &sparse.values),
        }
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        match_store!(self, dense => dense.dim, sparse => sparse.dim)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match_store!(self, dense => dense.values.len() / dense.dim, sparse => sparse.ends.len().saturating_sub(1))
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        match_store!(
            self,
            dense => dense.bytes(),
            sparse => sparse.ends.bytes() + sparse.columns.bytes() + sparse.values.bytes() + sparse.norms.bytes()
        )
    }

    /// Return the number of vectors in `new`.
    ///
    /// # Errors
    /// Vectors of another kind or dimension; NaN or infinite values; a zero vector with the cosine; coordinates that do not
    /// ascend.
    pub fn check(&self, metric: Metric, new: Vectors<'_>) -> Result<usize> {
        match_same_kind!(self, new,
            (dense, values) => check_dense(dense.dim, metric, values),
            (Self::Sparse(sparse), Vectors::Sparse(ends, columns, values)) => {
                sparse.check(metric, (ends, columns, values))
            }
            _ => Err(Error::mismatch("kind of vectors", new.kind(), self.kind())),
        )
    }

    /// Return the number of queries in `new`: vectors as for `check`, or `float32` if narrower ones are stored.
    ///
    /// # Errors
    /// As for `check`.
    pub(crate) fn check_queries(&self, metric: Metric, new: Vectors<'_>) -> Result<usize> {
        match (self, new) {
            (Self::U8(_) | Self::I8(_) | Self::F16(_), Vectors::F32(values)) => check_dense(self.dim(), metric, values),
            _ => self.check(metric, new),
        }
    }

    /// Replace `out` by row `row` as `float32`.
    pub fn widen(&self, row: usize, out: &mut Vec<f32>) {
        self.view().widen(self.dim(), row, out);
    }

    /// Append vectors that `check` has passed.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out; nothing changes.
    pub(crate) fn push(&mut self, metric: Metric, new: Vectors<'_>, cancel: &CancelToken) -> Result<()> {
        match_same_kind!(self, new,
            (dense, values) => dense.push(metric, values, cancel),
            (Self::Sparse(sparse), Vectors::Sparse(ends, columns, values)) => {
                sparse.push(metric, (ends, columns, values), cancel)
            }
            _ => Ok(()),
        )
    }

    /// Copy out some rows, in their order.
    ///
    /// # Errors
    /// Memory runs out.
    pub(crate) fn gather(&self, rows: &[u32]) -> Result<OwnedVectors> {
        Ok(match self {
            Self::F32(dense) => OwnedVectors::F32(dense.gather(rows)?),
            Self::F64(dense) => OwnedVectors::F64(dense.gather(rows)?),
            Self::U8(dense) => OwnedVectors::U8(dense.gather(rows)?),
            Self::I8(dense) => OwnedVectors::I8(dense.gather(rows)?),
            Self::F16(dense) => OwnedVectors::F16(dense.gather(rows)?),
            Self::Sparse(sparse) => OwnedVectors::sparse(rows.iter().map(|&row| sparse.row(row as usize)))?,
        })
    }

    /// Prefetch rows whose distances are needed soon.
    pub(super) fn prefetch(&self, rows: impl Iterator<Item = u32>) {
        match_store!(self, dense => rows.for_each(|row| dense.prefetch(row)), _ => {});
    }

    /// Append the distance of query `number` to each of `rows`, with the row.
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
            (Self::F32(dense), Vectors::F32(values)) => {
                floating(instructions, metric, dense.row(values, number), dense, (identity, identity), rows, out);
            }
            (Self::F64(dense), Vectors::F64(values)) => {
                floating(instructions, metric, dense.row(values, number), dense, (identity, identity), rows, out);
            }
            (Self::U8(dense), Vectors::U8(values)) => {
                kernels::whole(instructions, metric, dense.row(values, number), dense, rows, out);
            }
            (Self::I8(dense), Vectors::I8(values)) => {
                kernels::whole(instructions, metric, dense.row(values, number), dense, rows, out);
            }
            (Self::U8(dense), Vectors::F32(values)) => {
                widened(instructions, metric, dense.row(values, number), dense, rows, out);
            }
            (Self::I8(dense), Vectors::F32(values)) => {
                widened(instructions, metric, dense.row(values, number), dense, rows, out);
            }
            (Self::F16(dense), Vectors::F32(_) | Vectors::F16(_)) => {
                let query = if let Vectors::F32(values) = queries {
                    Cow::Borrowed(dense.row(values, number))
                } else {
                    let mut query = Vec::new();
                    queries.widen(dense.dim, number, &mut query);
                    Cow::Owned(query)
                };
                widened(instructions, metric, &query, dense, rows, out);
            }
            (Self::Sparse(sparse), Vectors::Sparse(ends, columns, values)) => {
                let query = sparse_row(ends, columns, values, number);
                let joined = |row: u32, both: fn(f64, f64) -> f64| join(query, sparse.row(row as usize), both);
                // -0 and 0 are one distance.
                match metric {
                    Metric::L2 => {
                        out.extend(rows.iter().map(|&row| (joined(row, |a, b| (a - b) * (a - b)).sqrt() + 0.0, row)));
                    }
                    Metric::L1 => out.extend(rows.iter().map(|&row| (joined(row, |a, b| (a - b).abs()) + 0.0, row))),
                    Metric::Cosine => {
                        let (norm, norms): (_, &[f64]) = (norm_of(query.1), &sparse.norms);
                        let angle = |dot: f64, row| dot.one_minus_quotient(norm * norms[row as usize]) + 0.0;
                        sparse.products(query, rows, out, angle);
                    }
                    Metric::InnerProduct => sparse.products(query, rows, out, |dot, _| -dot + 0.0),
                }
            }
            _ => {}
        }
    }
}

/// Append distances in `float32` to rows of a narrower type.
#[inline(always)]
fn widened<T: Element>(
    instructions: Instructions,
    metric: Metric,
    query: &[f32],
    stored: &Dense<T>,
    rows: &[u32],
    out: &mut Vec<(f64, u32)>,
) {
    floating(instructions, metric, query, stored, (T::single, T::length), rows, out);
}

impl Index {
    /// Return at most `max_rows` live rows, ascending from `start` on, and their vectors.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn stored(&self, start: usize, max_rows: usize) -> Result<(Vec<u32>, OwnedVectors)> {
        let rows = self.rows.live_rows(start, max_rows)?;
        let vectors = self.store.gather(&rows)?;
        Ok((rows, vectors))
    }

    /// Return the distance of each pair of rows: the same bits as a query with one of them finds for the other.
    ///
    /// # Errors
    /// Lists of different lengths, or a row that was never added.
    pub fn distances_between(&self, left: &[u32], right: &[u32]) -> Result<Vec<f64>> {
        if left.len() != right.len() {
            return Err(Error::mismatch("number of rows", left.len(), right.len()));
        }
        if let Some(row) = left.iter().chain(right).find(|&&row| row as usize >= self.rows.total()) {
            return Err(Error::parameter("rows", row, format!("rows below {}", self.rows.total())));
        }
        let instructions = Instructions::best();
        let mut out = alloc::try_with_capacity(left.len())?;
        let mut at = 0;
        while at < left.len() {
            // One vector against a run of others.
            let same = left[at..].iter().take_while(|&&row| row == left[at]).count();
            let query = self.store.gather(&left[at..=at])?;
            self.store.distances(instructions, self.metric, query.view(), 0, &right[at..at + same], &mut out);
            at += same;
        }
        alloc::try_collect(out.into_iter().map(|(distance, _)| distance))
    }
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

    fn filled(kind: &str, metric: Metric, dim: usize, rows: &[f32]) -> VectorStore {
        let mut store = VectorStore::new(kind, dim).expect("a store");
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

    /// Convert numbers that are exact in float16 to their bits.
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
            for &metric in Metric::ALL {
                for kind in ["float32", "float64", "sparse"] {
                    let store = filled(kind, metric, dim, &rows);
                    let queries = match kind {
                        "float32" => Vectors::F32(&query),
                        "float64" => Vectors::F64(&wide),
                        _ => Vectors::Sparse(&ends, &columns, &values),
                    };
                    let row_list: Vec<u32> = vec![8, 0, 3, 3, 1, 2, 4, 5, 6, 7];
                    let mut first: Option<Vec<(f64, u32)>> = None;
                    for instructions in Instructions::available() {
                        let mut results = Vec::new();
                        store.distances(instructions, metric, queries, 0, &row_list, &mut results);
                        for &(distance, row) in &results {
                            let other: Vec<f64> =
                                rows[row as usize * dim..(row as usize + 1) * dim].iter().map(|&x| f64::from(x)).collect();
                            let expected = exact(metric, &wide, &other);
                            // At most 140 terms below 17^2; each sum rounds ten of them, to 2^-24 each.
                            let bound = if kind == "float32" { 0.02 } else { 1e-9 };
                            prop_assert!((distance - expected).abs() <= bound * (1.0 + expected.abs()), "{metric:?} {kind} {distance} {expected}");
                        }
                        let bits: Vec<(u64, u32)> = results.iter().map(|&(d, row)| (d.to_bits(), row)).collect();
                        if let Some(first) = &first {
                            let others: Vec<(u64, u32)> = first.iter().map(|&(d, row)| (d.to_bits(), row)).collect();
                            prop_assert_eq!(others, bits);
                        } else {
                            first = Some(results);
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
            let (metric, row_list): (Metric, Vec<u32>) = (Metric::ALL[metric], vec![8, 0, 3, 3, 1, 2, 4, 5, 6, 7]);
            for kind in ["uint8", "int8", "float16"] {
                // Sums of the squares of 140 of them are below 2^24: exact in `float32` too.
                let smallest = if kind == "uint8" { 0.0 } else { -60.0 };
                let mut numbers = |count: usize| -> Vec<f32> {
                    (0..count).map(|i| if i % dim == 0 { 1.0 } else { next() as f32 + smallest }).collect()
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
                single.distances(Instructions::Portable, metric, Vectors::F32(&query), 0, &row_list, &mut expected);
                for instructions in Instructions::available() {
                    let (mut mixed, mut results) = (Vec::new(), Vec::new());
                    store.distances(instructions, metric, Vectors::F32(&query), 0, &row_list, &mut mixed);
                    prop_assert_eq!(&expected, &mixed, "{} {:?}", kind, metric);
                    store.distances(instructions, metric, own, 0, &row_list, &mut results);
                    if kind == "float16" {
                        prop_assert_eq!(&expected, &results);
                    }
                    for &(distance, row) in &results {
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
            let VectorStore::Sparse(store) = filled("sparse", Metric::Cosine, dim, &values[dim..].iter().map(|&x| x as f32).collect::<Vec<_>>())
            else { unreachable!("a sparse store") };
            let (_, columns, values) = sparse(dim, &values[..dim]);
            let query = (&columns[..], &values[..]);
            let bits = |(product, row): (f64, u32)| (product.to_bits(), row);
            for times in [1, 500] {
                let row_list: Vec<u32> = (0..rows as u32).cycle().take(rows * times).collect();
                let mut results = vec![(7.0, 7)];
                store.products(query, &row_list, &mut results, |product, _| product);
                let expected = row_list.iter().map(|&row| (join(query, store.row(row as usize), |a, b| a * b), row));
                prop_assert_eq!(results.remove(0), (7.0, 7));
                prop_assert!(expected.map(bits).eq(results.into_iter().map(bits)));
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
        let store = VectorStore::new("float32", 2).expect("a store");
        assert!(store.check(Metric::L2, Vectors::F32(&[1.0, f32::NAN])).is_err());
        assert!(store.check(Metric::L2, Vectors::F32(&[1.0])).is_err());
        assert!(store.check(Metric::Cosine, Vectors::F32(&[0.0, 0.0])).is_err());
        assert!(store.check(Metric::L2, Vectors::F32(&[0.0, 0.0])).is_ok());
        assert!(store.check(Metric::L2, Vectors::F64(&[0.0, 0.0])).is_err());
        let store = VectorStore::new("uint8", 2).expect("a store");
        assert!(store.check(Metric::Cosine, Vectors::U8(&[0, 0])).is_err());
        assert!(store.check(Metric::L2, Vectors::F32(&[0.0, 0.0])).is_err());
        assert_eq!(1, store.check_queries(Metric::L2, Vectors::F32(&[0.5, 0.0])).expect("a query"));
        assert!(store.check_queries(Metric::L2, Vectors::F32(&[0.5, f32::NAN])).is_err());
        assert!(store.check_queries(Metric::L2, Vectors::I8(&[0, 0])).is_err());
        let store = VectorStore::new("float16", 2).expect("a store");
        // An infinity, a NaN, the largest number.
        assert!(store.check(Metric::L2, Vectors::F16(&[0, 0x7c00])).is_err());
        assert!(store.check(Metric::L2, Vectors::F16(&[0xfe00, 0])).is_err());
        assert_eq!(1, store.check(Metric::Cosine, Vectors::F16(&[0, 0xfbff])).expect("a row"));
        let store = VectorStore::new("sparse", 4).expect("a store");
        assert!(store.check(Metric::L2, Vectors::Sparse(&[0, 2], &[1, 0], &[1.0, 1.0])).is_err());
        assert!(store.check(Metric::L2, Vectors::Sparse(&[0, 1], &[4], &[1.0])).is_err());
        assert!(store.check(Metric::L2, Vectors::Sparse(&[0, 3], &[1], &[1.0])).is_err());
        assert!(store.check(Metric::Cosine, Vectors::Sparse(&[0, 0], &[], &[])).is_err());
        assert_eq!(1, store.check(Metric::L2, Vectors::Sparse(&[0, 0], &[], &[])).expect("an empty row"));
    }

    #[test]
    fn metrics_and_kinds_have_names() {
        for &metric in Metric::ALL {
            assert_eq!(metric, Metric::parse(metric.name()).expect("its name"));
        }
        assert!(Metric::parse("euclid").is_err());
        for kind in KINDS {
            let store = VectorStore::new(kind, 3).expect("a store");
            assert_eq!((kind, 3, 0, true), (store.kind(), store.dim(), store.len(), store.is_empty()));
        }
        assert!(VectorStore::new("int16", 3).is_err());
        assert!(VectorStore::new("float32", 0).is_err());
        assert!(VectorStore::new("sparse", u32::MAX as usize).is_err());
    }

    #[test]
    fn bytes_are_those_of_the_values_and_the_norms() {
        let rows: Vec<f32> = (1..13).map(|i| i as f32).collect();
        for (metric, float, double, sparse) in
            [(Metric::L2, 48, 96, 8 * 4 + 12 * 12), (Metric::Cosine, 60, 120, 8 * 4 + 12 * 12 + 24)]
        {
            for (kind, smallest) in [("float32", float), ("float64", double), ("sparse", sparse)] {
                let store = filled(kind, metric, 4, &rows);
                assert_eq!(3, store.len());
                assert!(store.bytes() >= smallest, "{kind} {metric:?} {}", store.bytes());
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

#[cfg(test)]
mod stored_tests {
    use proptest::prelude::*;

    use super::super::{Existing, HashKind, Hashes, Keys, Metric, NewIds, Queries, Query, SearchParams, TableLayout};
    use super::*;

    const DIM: usize = 5;

    /// Rows of small numbers, some of them zero, as an index of each form; every row has the hash 0.
    fn index(kind: &str, metric: Metric, values: &[f64]) -> Index {
        let layout = TableLayout::new(HashKind::Ints, 1, 1, vec![0]).expect("a layout");
        let mut index = Index::with_buckets(metric, layout, VectorStore::new(kind, DIM).expect("a store"));
        let hashes = vec![0; values.len() / DIM];
        let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let integers: Vec<i8> = values.iter().map(|&value| value as i8).collect();
        let halves: Vec<u16> = values.iter().map(|&value| half(value)).collect();
        let (mut ends, mut columns, mut numbers) = (vec![0], Vec::new(), Vec::new());
        for row in values.chunks_exact(DIM) {
            for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                columns.push(column as u32);
                numbers.push(value);
            }
            ends.push(columns.len() as u64);
        }
        let vectors = match kind {
            "float32" => Vectors::F32(&narrow),
            "float64" => Vectors::F64(values),
            "int8" => Vectors::I8(&integers),
            "float16" => Vectors::F16(&halves),
            _ => Vectors::Sparse(&ends, &columns, &numbers),
        };
        index.add(NewIds::Rows, Hashes::Ints(&hashes), vectors, Existing::Error).expect("added");
        index
    }

    /// The bits of a float16 that is not zero and fits its eleven bits.
    fn half(value: f64) -> u16 {
        let bits = (value as f32).to_bits();
        let half = (((bits & 0x7fff_ffff) - (112 << 23)) >> 13 | bits >> 16 & 0x8000) as u16;
        assert_eq!(value, f64::from(half.single()));
        half
    }

    fn wide<T: Element>(values: &[T]) -> Vec<Vec<f64>> {
        values.chunks_exact(DIM).map(|row| row.iter().map(|value| f64::from(value.single())).collect()).collect()
    }

    /// Return the rows of `OwnedVectors` as `f64`.
    fn plain(owned: &OwnedVectors) -> Vec<Vec<f64>> {
        match owned {
            OwnedVectors::F32(values) => {
                values.chunks_exact(DIM).map(|row| row.iter().map(|&value| f64::from(value)).collect()).collect()
            }
            OwnedVectors::F64(values) => values.chunks_exact(DIM).map(<[f64]>::to_vec).collect(),
            OwnedVectors::U8(values) => wide(values),
            OwnedVectors::I8(values) => wide(values),
            OwnedVectors::F16(values) => wide(values),
            OwnedVectors::Sparse(ends, columns, values) => ends
                .windows(2)
                .map(|pair| {
                    let mut row = vec![0.0; DIM];
                    for position in pair[0] as usize..pair[1] as usize {
                        row[columns[position] as usize] = values[position];
                    }
                    row
                })
                .collect(),
        }
    }

    proptest! {
        #[test]
        fn stored_rows_are_those_that_were_added_and_are_alive(
            numbers in proptest::collection::vec(1u8..9, 0..20 * DIM),
            removed in proptest::collection::vec(0i64..20, 0..6),
            start in 0usize..25,
            largest in 0usize..25,
        ) {
            let values: Vec<f64> = numbers[..numbers.len() / DIM * DIM].iter().map(|&n| f64::from(n) - 10.0).collect();
            for kind in ["float32", "float64", "sparse", "int8", "float16"] {
                let mut index = index(kind, Metric::L2, &values);
                index.remove(Keys::Ints(&removed), true).expect("removed");
                let (rows, vectors) = index.stored(start, largest).expect("room");
                let expected: Vec<u32> = (start..values.len() / DIM)
                    .filter(|&row| !removed.contains(&(row as i64)))
                    .take(largest)
                    .map(|row| row as u32)
                    .collect();
                prop_assert_eq!(&expected, &rows);
                let expected: Vec<Vec<f64>> =
                    expected.iter().map(|&row| values[row as usize * DIM..(row as usize + 1) * DIM].to_vec()).collect();
                prop_assert_eq!(expected, plain(&vectors));
            }
        }

        #[test]
        fn rows_are_as_far_apart_as_a_query_says(
            numbers in proptest::collection::vec(1u8..9, DIM..12 * DIM),
            pairs in proptest::collection::vec((0usize..12, 0usize..12), 0..20),
        ) {
            let values: Vec<f64> = numbers[..numbers.len() / DIM * DIM].iter().map(|&n| f64::from(n) - 10.0).collect();
            let count = values.len() / DIM;
            let (left, right): (Vec<u32>, Vec<u32>) =
                pairs.iter().map(|&(a, b)| ((a % count) as u32, (b % count) as u32)).unzip();
            for kind in ["float32", "float64", "sparse", "int8", "float16"] {
                for &metric in Metric::ALL {
                    let index = index(kind, metric, &values);
                    let results = index.distances_between(&left, &right).expect("rows of the index");
                    prop_assert_eq!(&results, &index.distances_between(&right, &left).expect("rows of the index"));
                    for (position, &pair_distance) in results.iter().enumerate() {
                        let query = index.stored(left[position] as usize, 1).expect("room").1;
                        let queries = Queries { hashes: Hashes::Ints(&[0]), alternatives: None, params: SearchParams::Probes(1) };
                        let hits = index.query(&queries, query.view(), Query::Knn(count)).expect("matches");
                        let at = hits.rows.iter().position(|&row| row == right[position]).expect("every row is a candidate");
                        prop_assert_eq!(hits.distances[at].to_bits(), pair_distance.to_bits());
                    }
                }
            }
        }
    }

    #[test]
    fn rows_that_were_never_added_are_refused() {
        let index = index("float32", Metric::L1, &[1.0; 2 * DIM]);
        assert!(index.distances_between(&[0], &[2]).is_err());
        assert!(index.distances_between(&[0, 1], &[1]).is_err());
        assert_eq!(Vec::<f64>::new(), index.distances_between(&[], &[]).expect("nothing"));
    }
}
