//! The vectors of an index given back: rows in order of addition, and distances between rows.
//!
//! Pairs and clusters ask an index for its own vectors, some thousand at a time, and hash them again: `stored` copies
//! them out. `apart` is the distance of the index between two of its rows, the same bits as a query with the one finds
//! for the other. Cost: a copy of d values per row; d operations per distance.

use super::Index;
use super::kernels::Element;
use super::rerank::{Dense, Store, Vectors};
use crate::cpu::features::Instructions;
use crate::{Error, Result, alloc};

/// Vectors of some rows, which they own.
#[derive(Debug, Clone, PartialEq)]
pub enum Owned {
    /// Row after row.
    F32(Vec<f32>),
    /// Row after row.
    F64(Vec<f64>),
    /// Row after row.
    U8(Vec<u8>),
    /// Row after row.
    I8(Vec<i8>),
    /// Bits of float16, row after row.
    F16(Vec<u16>),
    /// Ends of rows with 0 before the first, coordinates, values.
    Sparse(Vec<u64>, Vec<u32>, Vec<f64>),
}

impl Owned {
    /// The same, borrowed.
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
}

fn dense<T: Element>(from: &Dense<T>, rows: &[u32]) -> Result<Vec<T>> {
    let mut values = alloc::try_with_capacity(rows.len() * from.dim)?;
    for &row in rows {
        values.extend_from_slice(&from.values[row as usize * from.dim..(row as usize + 1) * from.dim]);
    }
    Ok(values)
}

impl Store {
    /// The vectors of some rows, in their order.
    ///
    /// # Errors
    /// There is no memory for them.
    pub(crate) fn of(&self, rows: &[u32]) -> Result<Owned> {
        Ok(match self {
            Self::F32(from) => Owned::F32(dense(from, rows)?),
            Self::F64(from) => Owned::F64(dense(from, rows)?),
            Self::U8(from) => Owned::U8(dense(from, rows)?),
            Self::I8(from) => Owned::I8(dense(from, rows)?),
            Self::F16(from) => Owned::F16(dense(from, rows)?),
            Self::Sparse(from) => {
                let (mut ends, mut columns, mut values) =
                    (alloc::try_with_capacity(rows.len() + 1)?, Vec::new(), Vec::new());
                ends.push(0);
                for &row in rows {
                    let (places, numbers) = from.row(row as usize);
                    alloc::try_extend(&mut columns, places)?;
                    alloc::try_extend(&mut values, numbers)?;
                    ends.push(columns.len() as u64);
                }
                Owned::Sparse(ends, columns, values)
            }
        })
    }
}

impl Index {
    /// At most `most` rows that are alive, ascending from `start` on, and their vectors.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn stored(&self, start: usize, most: usize) -> Result<(Vec<u32>, Owned)> {
        let rows = self.rows.some(start, most)?;
        let vectors = self.store.of(&rows)?;
        Ok((rows, vectors))
    }

    /// The distance of each pair of rows.
    ///
    /// # Errors
    /// Lists of different lengths; a row that was never added.
    pub fn apart(&self, left: &[u32], right: &[u32]) -> Result<Vec<f64>> {
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
            // One vector against all that are asked for behind each other.
            let same = left[at..].iter().take_while(|&&row| row == left[at]).count();
            let query = self.store.of(&left[at..=at])?;
            self.store.distances(instructions, self.metric, query.view(), 0, &right[at..at + same], &mut out);
            at += same;
        }
        alloc::try_collect(out.into_iter().map(|(distance, _)| distance))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Effort, Existing, HashKind, Hashes, Keys, Metric, NewIds, Queries, TableLayout, Want};
    use super::*;

    const DIM: usize = 5;

    /// Rows of small numbers, some of them zero, as an index of each form; every row has the hash 0.
    fn index(kind: &str, metric: Metric, values: &[f64]) -> Index {
        let layout = TableLayout::new(HashKind::Ints, 1, 1, vec![0]).expect("a layout");
        let mut index = Index::with_buckets(metric, layout, Store::new(kind, DIM).expect("a store"));
        let hashes = vec![0; values.len() / DIM];
        let narrow: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        let whole: Vec<i8> = values.iter().map(|&value| value as i8).collect();
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
            "int8" => Vectors::I8(&whole),
            "float16" => Vectors::F16(&halves),
            _ => Vectors::Sparse(&ends, &columns, &numbers),
        };
        index.add(NewIds::Rows, Hashes::Ints(&hashes), vectors, Existing::Error).expect("added");
        index
    }

    /// The bits of a float16 that is no zero and needs no more than its eleven bits.
    fn half(value: f64) -> u16 {
        let bits = (value as f32).to_bits();
        let half = (((bits & 0x7fff_ffff) - (112 << 23)) >> 13 | bits >> 16 & 0x8000) as u16;
        assert_eq!(value, f64::from(half.single()));
        half
    }

    fn wide<T: Element>(values: &[T]) -> Vec<Vec<f64>> {
        values.chunks_exact(DIM).map(|row| row.iter().map(|value| f64::from(value.single())).collect()).collect()
    }

    /// The rows of `Owned` as plain numbers.
    fn plain(owned: &Owned) -> Vec<Vec<f64>> {
        match owned {
            Owned::F32(values) => {
                values.chunks_exact(DIM).map(|row| row.iter().map(|&value| f64::from(value)).collect()).collect()
            }
            Owned::F64(values) => values.chunks_exact(DIM).map(<[f64]>::to_vec).collect(),
            Owned::U8(values) => wide(values),
            Owned::I8(values) => wide(values),
            Owned::F16(values) => wide(values),
            Owned::Sparse(ends, columns, values) => ends
                .windows(2)
                .map(|pair| {
                    let mut row = vec![0.0; DIM];
                    for place in pair[0] as usize..pair[1] as usize {
                        row[columns[place] as usize] = values[place];
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
            gone in proptest::collection::vec(0i64..20, 0..6),
            start in 0usize..25,
            most in 0usize..25,
        ) {
            let values: Vec<f64> = numbers[..numbers.len() / DIM * DIM].iter().map(|&n| f64::from(n) - 10.0).collect();
            for kind in ["float32", "float64", "sparse", "int8", "float16"] {
                let mut index = index(kind, Metric::L2, &values);
                index.remove(Keys::Ints(&gone), true).expect("removed");
                let (rows, vectors) = index.stored(start, most).expect("room");
                let expected: Vec<u32> = (start..values.len() / DIM)
                    .filter(|&row| !gone.contains(&(row as i64)))
                    .take(most)
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
                for metric in Metric::ALL {
                    let index = index(kind, metric, &values);
                    let found = index.apart(&left, &right).expect("rows of the index");
                    prop_assert_eq!(&found, &index.apart(&right, &left).expect("rows of the index"));
                    for (place, &far) in found.iter().enumerate() {
                        let query = index.stored(left[place] as usize, 1).expect("room").1;
                        let queries = Queries { hashes: Hashes::Ints(&[0]), alternatives: None, effort: Effort::Probes(1) };
                        let hits = index.query(&queries, query.view(), Want::Nearest(count)).expect("matches");
                        let at = hits.rows.iter().position(|&row| row == right[place]).expect("every row is a candidate");
                        prop_assert_eq!(hits.distances[at].to_bits(), far.to_bits());
                    }
                }
            }
        }
    }

    #[test]
    fn rows_that_were_never_added_are_refused() {
        let index = index("float32", Metric::L1, &[1.0; 2 * DIM]);
        assert!(index.apart(&[0], &[2]).is_err());
        assert!(index.apart(&[0, 1], &[1]).is_err());
        assert_eq!(Vec::<f64>::new(), index.apart(&[], &[]).expect("nothing"));
    }
}
