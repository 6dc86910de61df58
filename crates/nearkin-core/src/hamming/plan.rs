//! The planner: what a search costs by each method, in nanoseconds of one core.
//!
//! ```text
//! scan    n * (SCAN * words of the tested prefix + READ * words / queries of the batch)
//! tables  sum over tables i of probes_i * (PROBE + ENTRY * words * n / 2^p_i)    (`blocks`)
//! build   tables * n * (words + 1) * BUILD
//! ```
//!
//! Tables are built when they are asked for by name or announced by a radius; otherwise when the scans so far have cost as
//! much more than tables would have as building them costs (the rule of the ski rental: never more than twice the
//! cost of having known the future). The constants are measured by `bench/hamming.py`; they are the same on every machine, so
//! that the same calls build the same index everywhere.

use super::blocks::{self, Block, Probing};
use super::scan;
use crate::{Error, Result};

/// Nanoseconds to compare one word of one row in a batch.
const SCAN: f64 = 0.04;
/// Nanoseconds to compare the first half word of one row.
const SCAN_HALF: f64 = 0.025;
/// Nanoseconds to read one word of a row from memory.
const READ: f64 = 0.2;
/// Nanoseconds to put one word of a slot into one table, and to count it.
const BUILD: f64 = 8.0;
/// Most tables that the planner considers.
const MAX_TABLES: usize = 64;
/// Slots below which no tables are built unless they are asked for by name.
const SMALL: usize = 16_384;

/// How to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Whatever the planner expects to cost least.
    Auto,
    /// The exhaustive scan.
    Scan,
    /// radius + 1 tables, each by equality of one block.
    Blocks,
    /// Tables with a small radius in each block.
    Multi,
}

impl Method {
    /// The method of a name.
    ///
    /// # Errors
    /// No such method.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "scan" => Ok(Self::Scan),
            "blocks" => Ok(Self::Blocks),
            "multi" => Ok(Self::Multi),
            _ => Err(Error::parameter("method", format!("{name:?}"), "\"auto\", \"scan\", \"blocks\" or \"multi\"")),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Scan => "scan",
            Self::Blocks => "blocks",
            Self::Multi => "multi",
        }
    }
}

/// Expected nanoseconds of a query by scan, in a batch of `queries`.
pub(crate) fn scan_cost(slots: usize, words: usize, radius: u32, queries: usize) -> f64 {
    let compare = if radius <= scan::HALF_LIMIT {
        SCAN_HALF
    } else {
        // Half a word more than the prefix, for what passes it.
        SCAN * (scan::first_test(words, radius) as f64 + 0.5).min(words as f64)
    };
    slots as f64 * (compare + READ * words as f64 / queries.clamp(1, 1024) as f64)
}

/// Expected nanoseconds to build tables.
pub(crate) fn build_cost(slots: usize, words: usize, tables: usize) -> f64 {
    (tables * slots * (words.min(4) + 1)) as f64 * BUILD
}

/// The best tables for `radius` that a method and the memory allow, with how they would answer; None if there are none.
pub(crate) fn best_tables(
    method: Method,
    bits: usize,
    slots: usize,
    radius: u32,
    memory: Option<usize>,
) -> Option<(Vec<Block>, Probing)> {
    let words = crate::popcount::words_of(bits);
    let most = (radius as usize + 1).min(bits);
    let counts = match method {
        Method::Scan => return None,
        Method::Auto if slots < SMALL => return None,
        Method::Blocks => most..=most,
        Method::Auto | Method::Multi => 1..=most.min(MAX_TABLES),
    };
    counts
        .filter_map(|tables| {
            let blocks = blocks::cut(bits, tables, slots);
            if memory.is_some_and(|limit| blocks::bytes_of(&blocks, slots, words) > limit) {
                return None;
            }
            blocks::spread(&blocks, slots, words, radius).map(|probing| (blocks, probing))
        })
        .min_by(|a, b| a.1.cost.total_cmp(&b.1.cost))
}
