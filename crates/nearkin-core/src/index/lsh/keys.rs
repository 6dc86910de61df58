//! Keys of tables: the k hashes of a table as one 64-bit number that a probe changes in a few steps.
//!
//! Table t takes k of the H hash functions, those in `columns[t * k .. (t + 1) * k]`.
//!
//! - Bits, k <= 64: bit j of the key is the bit of column j. The key is the hashes themselves; a probe flips bits.
//! - Integers: key = sum over j of `v_j * a_j` mod 2^64 with fixed odd `a_j` (the multilinear hash of E2LSH's manual,
//!   2005, with 64 bits instead of its 32 + 32). A probe that changes `v_j` by d adds `d * a_j`. Two different rows of
//!   integers have the same key with probability about 2^-64; candidates of such a collision are re-ranked like all
//!   others.
//!
//! Buckets are sorted by [`mix`] of the key, which is one-to-one, so that its highest bits spread evenly over a directory.

pub use crate::vectors::random::mix;
use crate::{Error, Result, alloc};

/// Maximum number of tables of an index; more is always a mistake of units.
pub const MAX_TABLES: usize = 1 << 14;
/// Maximum number of hash functions of an index over all tables.
pub const MAX_HASHES: usize = 1 << 20;

/// Return the odd factor of the j-th integer of a key.
#[inline]
fn factor(j: usize) -> u64 {
    mix((j as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1
}

/// The type of hash values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashKind {
    /// One bit each, packed 64 a word.
    Bits,
    /// One integer each.
    Ints,
}

/// Hashes of a batch of vectors, all H of each.
#[derive(Debug, Clone, Copy)]
pub enum Hashes<'a> {
    /// `ceil(H / 64)` words per vector.
    Bits(&'a [u64]),
    /// H integers a vector.
    Ints(&'a [i64]),
}

/// How tables take their hashes.
#[derive(Debug, Clone)]
pub struct TableLayout {
    kind: HashKind,
    hashes: usize,
    per_table: usize,
    /// The hash function of each position of each table.
    columns: Vec<u32>,
    /// Table t takes columns t * k to (t + 1) * k.
    plain: bool,
    factors: Vec<u64>,
}

impl TableLayout {
    /// Create tables of `per_table` of the `hashes` functions each; `columns` names them, table by table.
    ///
    /// # Errors
    /// No table, more than 64 bits per table, a column that is not one of the hashes, absurd counts.
    pub fn new(kind: HashKind, hashes: usize, per_table: usize, columns: Vec<u32>) -> Result<Self> {
        if hashes == 0 || hashes > MAX_HASHES {
            return Err(Error::parameter("hashes", hashes, format!("1 to {MAX_HASHES}")));
        }
        let max_per_table = if kind == HashKind::Bits { 64 } else { MAX_HASHES };
        if per_table == 0 || per_table > max_per_table {
            return Err(Error::parameter("hashes_per_table", per_table, format!("1 to {max_per_table}")));
        }
        let tables = columns.len() / per_table;
        if tables == 0 || tables > MAX_TABLES || tables * per_table != columns.len() {
            return Err(Error::parameter("num_tables", tables, format!("1 to {MAX_TABLES}")));
        }
        if let Some(column) = columns.iter().find(|&&column| column as usize >= hashes) {
            return Err(Error::parameter("columns", column, format!("0 to {}", hashes - 1)));
        }
        let plain = columns.iter().enumerate().all(|(i, &column)| column as usize == i);
        let factors = alloc::try_collect((0..per_table).map(factor))?;
        Ok(Self { kind, hashes, per_table, columns, plain, factors })
    }

    /// Return the type of hash values.
    pub fn kind(&self) -> HashKind {
        self.kind
    }

    /// Return H, the number of hash functions.
    pub fn hashes(&self) -> usize {
        self.hashes
    }

    /// Return k, the number of hashes of one table.
    pub fn per_table(&self) -> usize {
        self.per_table
    }

    /// Number of tables.
    pub fn tables(&self) -> usize {
        self.columns.len() / self.per_table
    }

    /// Return the hash function of each position of each table.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Return the hash functions of table `t`.
    pub fn columns_of(&self, table: usize) -> &[u32] {
        &self.columns[table * self.per_table..(table + 1) * self.per_table]
    }

    /// Return the words or integers of one vector's hashes.
    pub fn width(&self) -> usize {
        if self.kind == HashKind::Bits { self.hashes.div_ceil(64) } else { self.hashes }
    }

    /// Return the number of vectors in `hashes`.
    ///
    /// # Errors
    /// Hashes of another kind or number.
    pub fn rows(&self, hashes: Hashes<'_>) -> Result<usize> {
        let (kind, length) = match hashes {
            Hashes::Bits(words) => (HashKind::Bits, words.len()),
            Hashes::Ints(values) => (HashKind::Ints, values.len()),
        };
        if kind != self.kind {
            return Err(Error::mismatch("kind of hashes", format!("{kind:?}"), format!("{:?}", self.kind)));
        }
        if !length.is_multiple_of(self.width()) {
            return Err(Error::parameter("hashes", format!("{length} values"), format!("{} a vector", self.width())));
        }
        Ok(length / self.width())
    }

    /// Return the key of `row` in `table`.
    #[inline]
    pub fn key(&self, hashes: Hashes<'_>, row: usize, table: usize) -> u64 {
        match hashes {
            Hashes::Bits(words) => {
                let words = &words[row * self.width()..(row + 1) * self.width()];
                if self.plain {
                    let (first, k) = (table * self.per_table, self.per_table);
                    let (word, shift) = (first / 64, first % 64);
                    let mut key = words[word] >> shift;
                    if shift + k > 64 {
                        key |= words[word + 1] << (64 - shift);
                    }
                    return if k == 64 { key } else { key & ((1 << k) - 1) };
                }
                self.columns_of(table)
                    .iter()
                    .enumerate()
                    .fold(0, |key, (j, &column)| key | (words[column as usize / 64] >> (column % 64) & 1) << j)
            }
            Hashes::Ints(values) => {
                let values = &values[row * self.hashes..(row + 1) * self.hashes];
                self.columns_of(table).iter().zip(&self.factors).fold(0, |key: u64, (&column, &factor)| {
                    key.wrapping_add((values[column as usize] as u64).wrapping_mul(factor))
                })
            }
        }
    }

    /// Return the number that a key grows by if the integer at position `j` grows by `difference`.
    #[inline]
    pub fn step(&self, j: usize, difference: i64) -> u64 {
        (difference as u64).wrapping_mul(self.factors[j])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bit_keys_are_the_bits_of_the_table() {
        let fps = [0x0123_4567_89ab_cdefu64, 0xfedc_ba98_7654_3210];
        for k in [1, 7, 20, 33, 64] {
            let tables = 128 / k;
            let plain = TableLayout::new(HashKind::Bits, 128, k, (0..(tables * k) as u32).collect()).expect("a layout");
            for table in 0..tables {
                let expected = (0..k).fold(0, |key, j| {
                    let bit = table * k + j;
                    key | (fps[bit / 64] >> (bit % 64) & 1) << j
                });
                assert_eq!(expected, plain.key(Hashes::Bits(&fps), 0, table));
                let mut gathered = plain.clone();
                gathered.plain = false;
                assert_eq!(expected, gathered.key(Hashes::Bits(&fps), 0, table));
            }
        }
    }

    #[test]
    fn a_step_is_the_difference_of_two_keys() {
        let layout = TableLayout::new(HashKind::Ints, 6, 3, vec![0, 1, 2, 0, 4, 5]).expect("a layout");
        let (a, b) = ([5, -7, i64::MAX, 1, 2, 3], [5, -8, i64::MAX, 1, 2, 3]);
        let (left, right) = (layout.key(Hashes::Ints(&a), 0, 0), layout.key(Hashes::Ints(&b), 0, 0));
        assert_ne!(left, right);
        assert_eq!(right, left.wrapping_add(layout.step(1, -1)));
        assert_eq!(layout.key(Hashes::Ints(&a), 0, 1), layout.key(Hashes::Ints(&b), 0, 1));
    }

    /// Return the inverse of an odd factor modulo 2^64, by Newton's steps.
    fn inverse(odd: u64) -> u64 {
        (0..6).fold(odd, |inverse_so_far, _| {
            inverse_so_far.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse_so_far)))
        })
    }

    proptest! {
        #[test]
        fn mixing_is_one_to_one(value: u64) {
            let unshift = |value: u64, by: u32| (0..64 / by).fold(value, |inverse_so_far, _| value ^ inverse_so_far >> by);
            let back = unshift(mix(value), 31).wrapping_mul(inverse(0x94d0_49bb_1331_11eb));
            let back = unshift(back, 27).wrapping_mul(inverse(0xbf58_476d_1ce4_e5b9));
            prop_assert_eq!(value, unshift(back, 30));
        }

        #[test]
        fn keys_of_integers_are_the_sum_of_products(
            values in proptest::collection::vec(any::<i64>(), 12), columns in proptest::collection::vec(0u32..4, 6), k in 1usize..4,
        ) {
            let columns = columns[..6 / k * k].to_vec();
            let layout = TableLayout::new(HashKind::Ints, 4, k, columns.clone()).expect("a layout");
            prop_assert_eq!((6 / k, 3), (layout.tables(), layout.rows(Hashes::Ints(&values)).expect("whole rows")));
            for (row, values) in values.chunks_exact(4).enumerate() {
                for (table, columns) in columns.chunks_exact(k).enumerate() {
                    let expected = columns.iter().enumerate().fold(0_i128, |sum, (j, &column)| {
                        (sum + i128::from(values[column as usize]) * i128::from(factor(j) as i64)) & i128::from(u64::MAX)
                    });
                    let all: Vec<i64> = std::iter::repeat_n(0, 4 * row).chain(values.iter().copied()).collect();
                    prop_assert_eq!(expected as u64, layout.key(Hashes::Ints(&all), row, table));
                    prop_assert_eq!(columns, layout.columns_of(table));
                }
            }
        }
    }

    #[test]
    fn factors_are_odd_and_differ() {
        let mut factors: Vec<u64> = (0..1000).map(factor).collect();
        assert!(factors.iter().all(|factor| factor % 2 == 1));
        factors.sort_unstable();
        factors.dedup();
        assert_eq!(1000, factors.len());
    }

    #[test]
    fn absurd_layouts_and_hashes_are_errors() {
        for (kind, hashes, per_table, columns) in [
            (HashKind::Ints, 0, 1, vec![0]),
            (HashKind::Ints, MAX_HASHES + 1, 1, vec![0]),
            (HashKind::Ints, 4, 0, vec![0]),
            (HashKind::Bits, 80, 65, (0..65).collect()),
            (HashKind::Ints, 4, 2, vec![]),
            (HashKind::Ints, 4, 2, vec![0, 1, 2]),
            (HashKind::Ints, 4, 2, vec![0, 4]),
            (HashKind::Bits, 4, 1, vec![0; MAX_TABLES + 1]),
        ] {
            assert!(TableLayout::new(kind, hashes, per_table, columns).is_err());
        }
        let bits = TableLayout::new(HashKind::Bits, 65, 64, (0..64).collect()).expect("a layout");
        assert_eq!((2, 2), (bits.width(), bits.rows(Hashes::Bits(&[0; 4])).expect("two rows")));
        assert!(bits.rows(Hashes::Bits(&[0; 3])).is_err());
        assert!(bits.rows(Hashes::Ints(&[0; 65])).is_err());
    }
}
