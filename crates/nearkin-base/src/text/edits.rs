//! Edit scripts between two sequences: the minimum number of insertions, deletions and substitutions.
//!
//! ```text
//! D(i, j) = least of  D(i-1, j) + 1,  D(i, j-1) + 1,  D(i-1, j-1) + (0 if a_i = b_j else 1)
//! ```
//!
//! **Computation** (Hyyrö 2003, "A bit-vector algorithm for computing Levenshtein and Damerau edit distances"). A band
//! of 64 rows of the table moves along b: in each column the bits P and N mark where D(i, j) − D(i−1, j) is 1 and −1.
//! The differences D(i, j) − D(i, j−1) of its last row are the input of the next band.
//!
//! **Traceback**, from the last cell: a deletion where P is set, otherwise an insertion where N is set one column
//! before, otherwise a substitution or an equal symbol. If the bits of all cells take more than [`TABLE`] words, b is
//! split in the middle and a at the first position where both halves together cost least (Hirschberg 1975).
//!
//! Cost: |a| |b| / 64 steps of a few nanoseconds, twice as many if b is split. Test: the recurrence itself.

use std::collections::HashMap;

use crate::cancel::CancelToken;
use crate::{Result, alloc};

/// Maximum number of words of the bits P, and of N, stored for the traceback: 16 MB together.
const TABLE: usize = if cfg!(test) { 8 } else { 1 << 20 };
/// Number of rows of a band.
const BAND: usize = u64::BITS as usize;
/// Number of columns between two cancellation points.
const LOOK: usize = 1 << 16;

/// An edit operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The symbols are equal.
    Equal,
    /// Symbols of a only.
    Delete,
    /// Symbols of b only.
    Insert,
    /// Equally many symbols of a and b.
    Replace,
}

/// A range of both sequences with one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The operation.
    pub kind: Kind,
    /// Range in a.
    pub a: (usize, usize),
    /// Range in b.
    pub b: (usize, usize),
}

/// b with its distinct symbols numbered, and the rows of a band in which each occurs.
struct Columns {
    symbols: Vec<u32>,
    numbers: HashMap<u32, u32>,
    masks: Vec<u64>,
}

impl Columns {
    fn new(b: &[u32]) -> Result<Self> {
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let mut symbols = alloc::try_with_capacity(b.len())?;
        for &symbol in b {
            alloc::try_reserve_map(&mut numbers, 1)?;
            let next = numbers.len() as u32;
            symbols.push(*numbers.entry(symbol).or_insert(next));
        }
        let masks = alloc::try_zeroed(numbers.len())?;
        Ok(Self { symbols, numbers, masks })
    }

    /// Set the masks to those of `band`, and call `work` with the mask of each column.
    fn along(&mut self, band: &[u32], cancel: &CancelToken, mut work: impl FnMut(usize, u64)) -> Result<()> {
        let number_of = |symbol: &u32| self.numbers.get(symbol).map(|&number| number as usize);
        for (row, symbol) in band.iter().enumerate() {
            if let Some(number) = number_of(symbol) {
                self.masks[number] |= 1 << row;
            }
        }
        for (part, symbols) in self.symbols.chunks(LOOK).enumerate() {
            cancel.check()?;
            for (column, &number) in symbols.iter().enumerate() {
                work(part * LOOK + column, self.masks[number as usize]);
            }
        }
        band.iter().filter_map(number_of).for_each(|number| self.masks[number] = 0);
        Ok(())
    }
}

/// Call `each(band, column, P, N)` with the bits of every column of every band.
fn sweep(a: &[u32], b: &[u32], cancel: &CancelToken, mut each: impl FnMut(usize, usize, u64, u64)) -> Result<()> {
    let mut columns = Columns::new(b)?;
    // The differences along the row above the band; above the first band they are 1.
    let mut grows = alloc::try_filled(true, b.len())?;
    let mut falls = alloc::try_filled(false, b.len())?;
    for (number, band) in a.chunks(BAND).enumerate() {
        let last = band.len() - 1;
        let (mut p, mut n) = (u64::MAX, 0);
        columns.along(band, cancel, |column, equal| {
            let (up, down) = (u64::from(grows[column]), u64::from(falls[column]));
            let vertical = equal | n;
            let equal = equal | down;
            let horizontal = ((equal & p).wrapping_add(p) ^ p) | equal;
            let (rises, sinks) = (n | !(horizontal | p), p & horizontal);
            (grows[column], falls[column]) = (rises >> last & 1 == 1, sinks >> last & 1 == 1);
            let (rises, sinks) = (rises << 1 | up, sinks << 1 | down);
            (p, n) = (sinks | !(vertical | rises), rises & vertical);
            each(number, column, p, n);
        })?;
    }
    Ok(())
}

/// Return D(i, |b|) for every i from 0 to |a|.
fn last_column(a: &[u32], b: &[u32], cancel: &CancelToken) -> Result<Vec<usize>> {
    let mut bits = alloc::try_filled((u64::MAX, 0), a.len().div_ceil(BAND))?;
    sweep(a, b, cancel, |band, _, p, n| bits[band] = (p, n))?;
    let mut column = alloc::try_with_capacity(a.len() + 1)?;
    let mut value = b.len();
    column.push(value);
    for row in 0..a.len() {
        let (p, n) = bits[row / BAND];
        value = value + (p >> (row % BAND) & 1) as usize - (n >> (row % BAND) & 1) as usize;
        column.push(value);
    }
    Ok(column)
}

/// Return the Levenshtein distance.
///
/// # Errors
/// Memory runs out; the call is cancelled.
pub fn distance(a: &[u32], b: &[u32]) -> Result<usize> {
    let (before, behind) = affixes(a, b);
    let (a, b) = (&a[before..a.len() - behind], &b[before..b.len() - behind]);
    Ok(last_column(a, b, &CancelToken::current())?[a.len()])
}

/// Return the length of the longest common subsequence (Hyyrö 2004): the zeros of S after S' = (S + u) | (S & !M), u =
/// S & M.
///
/// # Errors
/// Memory runs out; the call is cancelled.
pub fn common(a: &[u32], b: &[u32]) -> Result<usize> {
    let (before, behind) = affixes(a, b);
    let (a, b) = (&a[before..a.len() - behind], &b[before..b.len() - behind]);
    let mut columns = Columns::new(b)?;
    let mut carries = alloc::try_filled(false, b.len())?;
    let mut found = before + behind;
    for band in a.chunks(BAND) {
        let mut s = u64::MAX;
        columns.along(band, &CancelToken::current(), |column, equal| {
            let (sum, one) = s.overflowing_add(s & equal);
            let (sum, other) = sum.overflowing_add(u64::from(carries[column]));
            carries[column] = one || other;
            s = sum | s & !equal;
        })?;
        // The padding of the last band never becomes zero.
        found += s.count_zeros() as usize;
    }
    Ok(found)
}

/// Return the lengths of the common prefix and then of the common suffix.
fn affixes(a: &[u32], b: &[u32]) -> (usize, usize) {
    let before = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let behind = a[before..].iter().rev().zip(b[before..].iter().rev()).take_while(|(a, b)| a == b).count();
    (before, behind)
}

/// Return a minimum edit script that turns `a` into `b`, in order; adjacent steps have different operations.
///
/// # Errors
/// Memory runs out; the call is cancelled.
pub fn edits(a: &[u32], b: &[u32]) -> Result<Vec<Step>> {
    let mut way = Way { a, b, steps: Vec::new(), cancel: CancelToken::current() };
    way.between((0, a.len()), (0, b.len()))?;
    Ok(way.steps)
}

struct Way<'a> {
    a: &'a [u32],
    b: &'a [u32],
    steps: Vec<Step>,
    cancel: CancelToken,
}

impl Way<'_> {
    /// Append the steps for a range of a and of b.
    fn between(&mut self, a: (usize, usize), b: (usize, usize)) -> Result<()> {
        let (before, behind) = affixes(&self.a[a.0..a.1], &self.b[b.0..b.1]);
        self.add(Kind::Equal, (a.0, a.0 + before), (b.0, b.0 + before))?;
        let (inner_a, inner_b) = ((a.0 + before, a.1 - behind), (b.0 + before, b.1 - behind));
        let (left, right) = (&self.a[inner_a.0..inner_a.1], &self.b[inner_b.0..inner_b.1]);
        if right.len() > 1 && left.len().div_ceil(BAND) * right.len() > TABLE {
            let middle = right.len() / 2;
            let from_start = last_column(left, &right[..middle], &self.cancel)?;
            let reversed = |symbols: &[u32]| -> Result<Vec<u32>> { alloc::try_collect(symbols.iter().rev().copied()) };
            let from_end = last_column(&reversed(left)?, &reversed(&right[middle..])?, &self.cancel)?;
            let costs = from_start.iter().zip(from_end.iter().rev()).map(|(one, other)| one + other);
            let cut = costs.enumerate().min_by_key(|&(_, cost)| cost).map_or(0, |(row, _)| row);
            let (cut_a, cut_b) = (inner_a.0 + cut, inner_b.0 + middle);
            self.between((inner_a.0, cut_a), (inner_b.0, cut_b))?;
            self.between((cut_a, inner_a.1), (cut_b, inner_b.1))?;
        } else {
            self.back(inner_a, inner_b)?;
        }
        self.add(Kind::Equal, (inner_a.1, a.1), (inner_b.1, b.1))
    }

    /// Append the steps from the bits of all cells.
    fn back(&mut self, a: (usize, usize), b: (usize, usize)) -> Result<()> {
        let (left, right) = (&self.a[a.0..a.1], &self.b[b.0..b.1]);
        let width = right.len();
        let mut bits = alloc::try_filled((0_u64, 0_u64), left.len().div_ceil(BAND) * width)?;
        sweep(left, right, &self.cancel, |band, column, p, n| bits[band * width + column] = (p, n))?;
        let at = |i: usize, j: usize| {
            let (p, n) = bits[(i - 1) / BAND * width + j - 1];
            (p >> ((i - 1) % BAND) & 1 == 1, n >> ((i - 1) % BAND) & 1 == 1)
        };
        let (mut i, mut j) = (left.len(), width);
        let mut kinds = alloc::try_with_capacity(i + j)?;
        while i > 0 || j > 0 {
            let kind = if j == 0 || i > 0 && at(i, j).0 {
                Kind::Delete
            } else if i == 0 || j > 1 && at(i, j - 1).1 {
                Kind::Insert
            } else if left[i - 1] == right[j - 1] {
                Kind::Equal
            } else {
                Kind::Replace
            };
            i -= usize::from(kind != Kind::Insert);
            j -= usize::from(kind != Kind::Delete);
            kinds.push(kind);
        }
        let (mut i, mut j) = (a.0, b.0);
        for kind in kinds.into_iter().rev() {
            let (next_i, next_j) = (i + usize::from(kind != Kind::Insert), j + usize::from(kind != Kind::Delete));
            self.add(kind, (i, next_i), (j, next_j))?;
            (i, j) = (next_i, next_j);
        }
        Ok(())
    }

    /// Append a step, merged with the last one if it has the same operation.
    fn add(&mut self, kind: Kind, a: (usize, usize), b: (usize, usize)) -> Result<()> {
        if a.0 == a.1 && b.0 == b.1 {
            return Ok(());
        }
        match self.steps.last_mut() {
            Some(last) if last.kind == kind => (last.a.1, last.b.1) = (a.1, b.1),
            _ => {
                alloc::try_reserve(&mut self.steps, 1)?;
                self.steps.push(Step { kind, a, b });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use proptest::prelude::*;

    /// Compute the recurrence, cell by cell: distance and longest common subsequence.
    fn by_recurrence(a: &[u32], b: &[u32]) -> (usize, usize) {
        let mut d = vec![vec![0; b.len() + 1]; a.len() + 1];
        let mut l = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                if i == 0 || j == 0 {
                    d[i][j] = i + j;
                    continue;
                }
                let equal = a[i - 1] == b[j - 1];
                d[i][j] = (d[i - 1][j] + 1).min(d[i][j - 1] + 1).min(d[i - 1][j - 1] + usize::from(!equal));
                l[i][j] = l[i - 1][j].max(l[i][j - 1]).max(l[i - 1][j - 1] + usize::from(equal));
            }
        }
        (d[a.len()][b.len()], l[a.len()][b.len()])
    }

    fn sequence() -> impl Strategy<Value = Vec<u32>> {
        prop_oneof![prop::collection::vec(0_u32..3, 0..30), prop::collection::vec(0_u32..9, 0..300)]
    }

    proptest! {
        #[test]
        fn steps_are_the_fewest(a in sequence(), b in sequence()) {
            let (min_cost, longest) = by_recurrence(&a, &b);
            prop_assert_eq!(min_cost, distance(&a, &b).expect("room"));
            prop_assert_eq!(longest, common(&a, &b).expect("room"));
            let steps = edits(&a, &b).expect("room");
            let (mut i, mut j, mut cost) = (0, 0, 0);
            for (at, step) in steps.iter().enumerate() {
                prop_assert_eq!((i, j), (step.a.0, step.b.0));
                let (left, right) = (&a[step.a.0..step.a.1], &b[step.b.0..step.b.1]);
                let fits = match step.kind {
                    Kind::Equal => left == right,
                    Kind::Delete => right.is_empty(),
                    Kind::Insert => left.is_empty(),
                    Kind::Replace => left.len() == right.len() && left.iter().zip(right).all(|(x, y)| x != y),
                };
                prop_assert!(fits);
                prop_assert!(at == 0 || steps[at - 1].kind != step.kind);
                cost += if step.kind == Kind::Equal { 0 } else { left.len().max(right.len()) };
                (i, j) = (step.a.1, step.b.1);
            }
            prop_assert_eq!((a.len(), b.len(), min_cost), (i, j, cost));
        }
    }

    #[test]
    fn what_is_stopped_is_an_error() {
        let cancel = CancelToken::new();
        cancel.set();
        let (a, b) = (vec![1_u32; 200], vec![2_u32; 100]);
        cancel.within(|| {
            assert!(matches!(edits(&a, &b), Err(Error::Cancelled)));
            assert!(matches!(distance(&a, &b), Err(Error::Cancelled)));
            assert!(matches!(common(&a, &b), Err(Error::Cancelled)));
        });
    }
}
