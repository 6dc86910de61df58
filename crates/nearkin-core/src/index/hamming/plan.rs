//! The planner: the cost of a search by each method, in nanoseconds of one core.
//!
//! ```text
//! scan    n * (SCAN * words of the tested prefix + READ * words / queries of the batch)
//! alone   n * words * (ALONE + READ / queries)                                              (fewer than four queries)
//! tables  sum over tables i of probes_i * (PROBE + ENTRY * words * n / 2^p_i) + TABLE / queries    (`blocks`)
//! batch   sum over tables i of probes_i * (BATCH_PROBE + BATCH_ENTRY * words * n / 2^p_i)
//!         + (TABLE + STREAM * bytes_i) / queries
//! build   sum over tables i of n * (words + 1) * BUILD * (1 + max(0, p_i - 18))
//! ```
//!
//! Tables are built if they are requested by name or announced by a radius; otherwise when the scans so far have cost
//! as much more than tables would have as building them costs (the ski-rental rule: never more than twice the cost of
//! an optimal choice in hindsight). What a comparison costs depends on the instruction set by a factor of ten, so SCAN
//! and ALONE are measured once per process and instruction set, in less than two milliseconds ([`ScanCosts`]); the other constants
//! are latencies of memory, fitted to timings. Costs choose how to search, never what is found.

use super::blocks::{Aim, Probing, Sample, Spec};
use super::scan;
use super::scan::costs::ScanCosts;

/// Return the nanoseconds to read one word of rows that take `bytes`: from the last-level cache, or three times as many
/// from memory (fitted to single queries of 64 to 256 bits with AVX2).
fn read_cost(bytes: usize) -> f64 {
    (0.2 + 0.2 * (bytes as f64 / 4e6).log2()).clamp(0.2, 0.6)
}

/// Maximum number of tables that the planner considers.
const MAX_TABLES: usize = 24;
/// Among tables that cost at most this much more than the fastest, those with the least memory are built.
const SLACK: f64 = 1.3;
/// Number of slots below which no tables are built unless they are requested by name.
const SMALL: usize = 4_096;

named! {
    /// How to search.
    pub enum Method("method") {
        /// The method that the planner expects to cost least.
        Auto = "auto",
        /// The exhaustive scan.
        Scan = "scan",
        /// radius + 1 tables, each by equality of one block.
        Blocks = "blocks",
        /// Tables with a small radius in each block.
        Multi = "multi",
        /// Tables by equality of combinations of blocks.
        Tables = "tables",
        /// One inverted list per bit.
        Bits = "bits",
    }
}

/// Return the expected nanoseconds of a query by scan, in a batch of `queries`.
pub(crate) fn scan_cost(slots: usize, words: usize, radius: u32, queries: usize) -> f64 {
    let costs = ScanCosts::get();
    // Half a word more than the prefix, for rows that pass it.
    let in_words = costs.word * (scan::tile::first_test(words, radius) as f64 + 0.5).min(words as f64);
    let pieces = scan::tile::enough_pieces(words, radius).filter(|_| costs.piece.is_finite());
    let compare = match pieces {
        _ if queries < scan::FEW && words > 1 && words.is_power_of_two() => costs.alone * words as f64,
        Some(pieces) if queries >= scan::FEW => costs.piece * pieces as f64,
        _ => in_words,
    };
    slots as f64 * (compare + read_cost(8 * slots * words) * words as f64 / queries.clamp(1, 1024) as f64)
}

/// The purpose and limits of tables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wish {
    /// Largest distance.
    pub(crate) radius: u32,
    /// Bytes that tables may take.
    pub(crate) memory: Option<usize>,
    /// True if this bound is the machine's: tables that nobody bounds are taken wherever they fit.
    pub(crate) by_machine: bool,
    /// True if the run is to be searched or joined with itself.
    pub(crate) aim: Aim,
}

/// Return the best tables that a method and the memory allow, with their plan; None if there are none.
pub(crate) fn best_tables(method: Method, bits: usize, fps: &[u64], wish: Wish) -> Option<(Spec, Probing)> {
    best_for(method, bits, &Sample::new(crate::cpu::popcount::words_of(bits), fps), wish)
}

/// Like `best_tables`, for the number of slots that a sample stands for.
fn best_for(method: Method, bits: usize, sample: &Sample<'_>, wish: Wish) -> Option<(Spec, Probing)> {
    let Wish { radius, memory, by_machine, aim } = wish;
    if by_machine {
        let free = best_for(method, bits, sample, Wish { memory: None, by_machine: false, aim, radius });
        let words = crate::cpu::popcount::words_of(bits);
        let fits = |(spec, _): &(Spec, Probing)| memory.is_none_or(|limit| spec.bytes(sample.slots(), words) <= limit);
        if free.as_ref().is_none_or(fits) {
            return free;
        }
    }
    let words = crate::cpu::popcount::words_of(bits);
    let slots = sample.slots();
    let max_tables = (radius as usize + 1).min(bits);
    let counts = match method {
        Method::Scan | Method::Bits => return None,
        Method::Auto if slots < SMALL => return None,
        Method::Tables => 0..0,
        Method::Blocks => max_tables..max_tables + 1,
        Method::Auto | Method::Multi => 1..max_tables.min(MAX_TABLES) + 1,
    };
    // Less memory: keys of fewer bits, or slot numbers instead of sketches.
    let sketch = Spec::sketch_for(words, radius);
    let lean: &[(u32, usize)] = match memory {
        None => &[(0, sketch)],
        Some(_) => &[(0, sketch), (2, sketch), (4, sketch), (6, sketch), (0, 0), (2, 0), (4, 0)],
    };
    let mut specs = Vec::new();
    for &(fewer, sketch) in lean {
        specs.extend(counts.clone().map(|tables| Spec::disjoint(bits, tables, sample, fewer, sketch)));
        if matches!(method, Method::Auto | Method::Tables) && fewer == 0 {
            let first = if method == Method::Tables { 1 } else { 2 };
            let combined: Vec<Spec> = (radius as usize + first..=radius as usize + 4)
                .filter_map(|blocks| Spec::combined(bits, blocks, radius, sample, sketch))
                .collect();
            if combined.is_empty() && method == Method::Tables {
                // More choices than are worth building, or fewer bits than blocks: disjoint blocks with a small radius.
                specs.extend(
                    (1..=max_tables.min(MAX_TABLES)).map(|tables| Spec::disjoint(bits, tables, sample, 0, sketch)),
                );
            }
            specs.extend(combined);
        }
    }
    let plans: Vec<(Spec, Probing)> = specs
        .into_iter()
        .filter(|spec| memory.is_none_or(|limit| spec.bytes(slots, words) <= limit))
        .filter_map(|spec| spec.plan(slots, words, radius, aim).map(|probing| (spec, probing)))
        .collect();
    // A join makes one query per slot, so building the tables is part of its cost.
    let cost = |(spec, probing): &(Spec, Probing)| {
        probing.cost + if aim == Aim::Join { spec.build_cost(1, words) } else { 0.0 }
    };
    let min_cost = plans.iter().map(cost).fold(f64::INFINITY, f64::min);
    plans
        .into_iter()
        .filter(|plan| cost(plan) <= SLACK * min_cost)
        .min_by(|a, b| a.0.bytes(slots, words).cmp(&b.0.bytes(slots, words)).then(cost(a).total_cmp(&cost(b))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_hundred_million_fit_their_formula() {
        // Random fingerprints stand for that many more: the arithmetic is that of a full index.
        let mut state = 1_u64;
        let fps: Vec<u64> = (0..512)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
            })
            .collect();
        for slots in [300_000_000_usize, u32::MAX as usize - 1] {
            let sample = Sample::standing_for(1, &fps, slots);
            for (memory, max_tables) in
                [(None, usize::MAX), (Some(20 * slots), 20 * slots), (Some(4 * slots), 4 * slots)]
            {
                for method in [Method::Auto, Method::Blocks, Method::Multi, Method::Tables] {
                    let wish = Wish { radius: 3, memory, by_machine: false, aim: Aim::Search(1024) };
                    let Some((spec, probing)) = best_for(method, 64, &sample, wish) else {
                        assert!(method == Method::Blocks || method == Method::Tables);
                        continue;
                    };
                    let bytes = spec.bytes(slots, 1);
                    assert!(bytes <= max_tables, "{method:?} takes {bytes} of {max_tables}");
                    assert!(probing.cost.is_finite() && probing.cost > 0.0);
                    if memory.is_none() && method == Method::Blocks {
                        // Four blocks of 16 bits: three tables of 8-byte fingerprints, two with 4-byte slots, four directories.
                        assert_eq!(slots * (3 * 8 + 2 * 4) + 4 * 4 * 65_537, bytes);
                        assert!((probing.candidates / (4.0 * slots as f64 / 65_536.0) - 1.0).abs() < 0.5);
                    }
                }
            }
        }
    }
}
