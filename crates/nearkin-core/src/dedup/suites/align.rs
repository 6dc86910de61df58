//! Alignment of an item with the stretch of a document around an anchor.
//!
//! The *window* of an item of m words on diagonal d is the words `d - slack` to `d + m + slack` of the document. Two
//! numbers are computed:
//!
//! - **common**: the length of the longest common subsequence of the item's informative words and the window, by bits
//!   (H. Hyyrö, "Bit-parallel LCS-length computation revisited", 2004): `m / 64` operations per word of the window;
//! - **score**: the largest sum of weights of matched words in order, in eighths of a bit. A word that follows the
//!   previous matched one in both texts has the weight `next`, any other `first` less [`GAP`] for the freedom of its
//!   place. Word i of the item is matched within `slack` of its diagonal, so the cost is `m (2 slack + 1)` steps.
//! ```text
//! S[i][c] = max(first[i],  S[i-1][c-1] + next[i],  max over i' < i, c' < c of S[i'][c'] + first[i] - GAP)
//! ```
//! Of equal scores the one that begins last and ends first is taken. Tests: `common_words_equal_the_definition`,
//! `scores_equal_the_definition`.

use crate::{Result, alloc};

/// Cost of an interruption, in eighths of a bit: the matched words may continue at about 2^6 places.
pub(super) const GAP: u32 = 48;

/// The best chain of matched words in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    /// Sum of weights, in eighths of a bit.
    pub score: u32,
    /// First matched word of the document.
    pub start: usize,
    /// Word of the document after the last matched one.
    pub end: usize,
}

/// Buffers of a thread.
#[derive(Default)]
pub(super) struct Scratch {
    sorted: Vec<(u64, u32)>,
    blocks: Vec<u64>,
    matches: Vec<u64>,
    best: Vec<u64>,
    cells: Vec<u64>,
}

impl Scratch {
    /// Return the length of the longest common subsequence of `window` and the informative words of `item`, whose bit 0
    /// is set, and the number of these.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn common(&mut self, item: &[u64], window: &[u64]) -> Result<(usize, usize)> {
        let informative = item.iter().filter(|&word| word & 1 == 1).map(|word| word & !1);
        self.sorted.clear();
        alloc::try_reserve(&mut self.sorted, item.len())?;
        self.sorted.extend(informative.zip(0..));
        let count = self.sorted.len();
        self.sorted.sort_unstable();
        let blocks = count.div_ceil(64);
        self.blocks.clear();
        alloc::try_resize(&mut self.blocks, blocks, u64::MAX)?;
        self.matches.clear();
        alloc::try_resize(&mut self.matches, blocks, 0)?;
        for &word in window {
            let from = self.sorted.partition_point(|&(other, _)| other < word);
            let equal = self.sorted[from..].iter().take_while(|&&(other, _)| other == word);
            let mut any = false;
            for &(_, at) in equal {
                self.matches[at as usize / 64] |= 1 << (at % 64);
                any = true;
            }
            if !any {
                continue;
            }
            let mut carry = false;
            for (row, matches) in self.blocks.iter_mut().zip(&mut self.matches) {
                let both = *row & *matches;
                let (sum, over) = row.overflowing_add(both);
                let (sum, again) = sum.overflowing_add(u64::from(carry));
                carry = over || again;
                *row = sum | (*row & !*matches);
                *matches = 0;
            }
        }
        let last = if count.is_multiple_of(64) { u64::MAX } else { (1 << (count % 64)) - 1 };
        let zeros = |(at, row): (usize, &u64)| (!row & if at + 1 == blocks { last } else { u64::MAX }).count_ones();
        Ok((self.blocks.iter().enumerate().map(zeros).sum::<u32>() as usize, count))
    }

    /// Return the best chain of the item's words on diagonal `diagonal` of the document, within `slack` words.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn chain(
        &mut self,
        item: &[u64],
        weights: (&[u8], &[u8]),
        document: &[u64],
        (diagonal, slack): (isize, usize),
    ) -> Result<Chain> {
        // Column c is word `base + c` of the document; a cell is the score, and the column where its chain begins. Cell
        // 0 is none, because a chain has a positive score.
        let (columns, base) = (item.len() + 2 * slack, diagonal - slack as isize);
        for values in [&mut self.best, &mut self.cells] {
            values.clear();
            alloc::try_resize(values, columns + 1, 0)?;
        }
        let (mut left, mut result) = (0, (0, 0));
        for (i, &word) in item.iter().enumerate() {
            let (first, next) = (u64::from(weights.0[i]), u64::from(weights.1[i]));
            let (mut before, mut diagonal) = (left, if i == 0 { 0 } else { self.cells[i - 1] });
            for c in i..=i + 2 * slack {
                let position = usize::try_from(base + c as isize).ok();
                let equal = position.and_then(|at| document.get(at)) == Some(&(word & !1));
                let (previous, best) = (self.cells[c], self.best[c]);
                let mut cell = 0;
                if equal {
                    if first > 0 {
                        cell = first << 32 | c as u64;
                        if before >> 32 > u64::from(GAP) {
                            cell = cell.max(before + (first << 32) - (u64::from(GAP) << 32));
                        }
                    }
                    if diagonal > 0 {
                        cell = cell.max(diagonal + (next << 32));
                    }
                }
                before = before.max(best);
                self.best[c] = best.max(cell);
                self.cells[c] = cell;
                diagonal = previous;
                if cell > result.0 || cell == result.0 && c < result.1 {
                    result = (cell, c);
                }
            }
            left = left.max(self.best[i]);
        }
        let at = |column: usize| (base + column as isize).max(0) as usize;
        let (cell, last) = result;
        Ok(Chain { score: (cell >> 32) as u32, start: at(cell as u32 as usize), end: at(last + 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The longest common subsequence by its recurrence.
    fn longest(a: &[u64], b: &[u64]) -> usize {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 1..=a.len() {
            for j in 1..=b.len() {
                table[i][j] =
                    if a[i - 1] == b[j - 1] { table[i - 1][j - 1] + 1 } else { table[i - 1][j].max(table[i][j - 1]) };
            }
        }
        table[a.len()][b.len()]
    }

    /// The best chain by its recurrence: cells of (score, start).
    fn best(item: &[u64], weights: (&[u8], &[u8]), document: &[u64], diagonal: isize, slack: isize) -> Chain {
        let mut table = vec![vec![(0_i64, 0_usize); document.len()]; item.len()];
        let mut result = Chain::default();
        for i in 0..item.len() {
            for j in 0..document.len() {
                let offset = j as isize - i as isize - diagonal;
                if item[i] != document[j] || offset.abs() > slack {
                    continue;
                }
                let (first, next) = (i64::from(weights.0[i]), i64::from(weights.1[i]));
                let mut cell = if first > 0 { (first, j) } else { (0, 0) };
                for row in table.iter().take(i) {
                    for &(score, start) in &row[..j] {
                        if first > 0 && score > i64::from(GAP) {
                            cell = cell.max((score + first - i64::from(GAP), start));
                        }
                    }
                }
                if i > 0 && j > 0 && table[i - 1][j - 1].0 > 0 {
                    let (score, start) = table[i - 1][j - 1];
                    cell = cell.max((score + next, start));
                }
                table[i][j] = cell;
                let before = (i64::from(result.score), result.start);
                if cell.0 > 0 && cell > before || cell.0 > 0 && cell == before && j + 1 < result.end {
                    result = Chain { score: cell.0 as u32, start: cell.1, end: j + 1 };
                }
            }
        }
        result
    }

    proptest! {
        #[test]
        fn common_words_equal_the_definition(
            item in prop::collection::vec((0_u64..9, 0_u64..2), 0..200), window in prop::collection::vec(0_u64..9, 0..250)
        ) {
            let words: Vec<u64> = item.iter().map(|&(word, flag)| word << 1 | flag).collect();
            let window: Vec<u64> = window.iter().map(|word| word << 1).collect();
            let informative: Vec<u64> = item.iter().filter(|word| word.1 > 0).map(|word| word.0 << 1).collect();
            let expected = (longest(&informative, &window), informative.len());
            prop_assert_eq!(expected, Scratch::default().common(&words, &window).expect("room"));
        }

        #[test]
        fn scores_equal_the_definition(
            item in prop::collection::vec((0_u64..5, 0_u8..90, 0_u8..90), 1..12),
            document in prop::collection::vec(0_u64..5, 1..30), diagonal in -5_isize..25, slack in 0_usize..5
        ) {
            let words: Vec<u64> = item.iter().map(|word| word.0 << 1).collect();
            let document: Vec<u64> = document.iter().map(|word| word << 1).collect();
            let first: Vec<u8> = item.iter().map(|word| word.1).collect();
            let next: Vec<u8> = item.iter().map(|word| word.1.min(word.2)).collect();
            let mut scratch = Scratch::default();
            let chain = scratch.chain(&words, (&first, &next), &document, (diagonal, slack)).expect("room");
            let expected = best(&words, (&first, &next), &document, diagonal, slack as isize);
            prop_assert_eq!(expected.score, chain.score);
            if chain.score > 0 {
                prop_assert_eq!(expected, chain);
            }
        }
    }
}
