//! `TextRank`: a word is important if it is near many important words.
//!
//! Two kept words fewer than five tokens apart are connected; an edge's weight is the number of times the two occur in
//! that order, and both orders are separate edges. Ranks are updated in place ten times, in order of the words' code
//! points:
//! ```text
//! r(i) ← (1 − d) + d · Σ over edges {i, j} of w / W(j) · r(j)        d = 0.85, W(j) the weights of all edges at j, r = 1/n at first
//! ```
//! and are then scaled: `(r − min/10) / (max − min/10)`. A word without an edge has no rank. Sums are taken in the
//! order in which edges first occur. This is jieba's rule, and results equal jieba's.
//!
//! Cost: O(tokens + 10 · edges). Source: Mihalcea and Tarau (2004), "`TextRank`: bringing order into texts", sections 2
//! and 3.

use std::collections::HashMap;
use std::ops::Range;

use crate::cancel::CancelToken;
use crate::hash::NumberState;
use crate::{Result, alloc};

/// Distance in tokens to the last connected word, plus one.
const WINDOW: usize = 5;
const DAMPING: f64 = 0.85;
const ROUNDS: usize = 10;
/// A word without an edge so far.
const NONE: u32 = u32::MAX;

/// Return the edges (word, later word, weight) in the order in which they first occur; incomplete after cancellation.
fn edges_of(tokens: &[Option<u32>], cancel: &CancelToken) -> Result<Vec<(u32, u32, f64)>> {
    let mut places: HashMap<u64, u32, NumberState> = HashMap::default();
    let mut edges: Vec<(u32, u32, f64)> = Vec::new();
    for (i, &token) in cancel.often(tokens.iter().enumerate()) {
        let Some(word) = token else { continue };
        // Reserve capacity for this token's edges if the table is full.
        if places.capacity() - places.len() < WINDOW {
            alloc::try_reserve_map(&mut places, WINDOW)?;
        }
        alloc::try_reserve(&mut edges, WINDOW)?;
        for &to in tokens[i + 1..].iter().take(WINDOW - 1) {
            let Some(to) = to else { continue };
            let position = *places.entry(u64::from(word) << 32 | u64::from(to)).or_insert_with(|| {
                edges.push((word, to, 0.0));
                edges.len() as u32 - 1
            });
            edges[position as usize].2 += 1.0;
        }
    }
    Ok(edges)
}

/// Words with an edge, in the order of their first one, and their edges: (word, weight), in order.
struct Graph {
    words: Vec<u32>,
    /// End of each word's edges.
    ends: Vec<u32>,
    at: Vec<(u32, f64)>,
}

impl Graph {
    fn new(edges: &[(u32, u32, f64)], names: usize) -> Result<Self> {
        let mut number = alloc::try_filled(NONE, names)?;
        let mut words: Vec<u32> = alloc::try_with_capacity(names)?;
        let mut ends: Vec<u32> = alloc::try_with_capacity(names)?;
        for &(a, b, _) in edges {
            for word in [a, b] {
                let position = &mut number[word as usize];
                if *position == NONE {
                    *position = words.len() as u32;
                    words.push(word);
                    ends.push(0);
                }
                ends[*position as usize] += 1;
            }
        }
        let mut starts: Vec<u32> = alloc::try_with_capacity(words.len())?;
        let mut total = 0;
        for end in &mut ends {
            starts.push(total);
            total += *end;
            *end = total;
        }
        let mut at = alloc::try_filled((0_u32, 0.0_f64), total as usize)?;
        for &(a, b, weight) in edges {
            let (a, b) = (number[a as usize], number[b as usize]);
            for (from, to) in [(a, b), (b, a)] {
                let start = &mut starts[from as usize];
                at[*start as usize] = (to, weight);
                *start += 1;
            }
        }
        Ok(Self { words, ends, at })
    }

    /// Return the range of a word's edges.
    fn edges(&self, word: usize) -> Range<usize> {
        let start = if word == 0 { 0 } else { self.ends[word - 1] };
        start as usize..self.ends[word] as usize
    }
}

/// Compute the ranks of words: `tokens` are the words of a text in order, None for excluded ones; `names` are the
/// words, which are sorted by their bytes. Return (word, rank) in the order in which words first have an edge;
/// unspecified after cancellation.
///
/// # Errors
/// Memory runs out for the graph.
pub fn rank(tokens: &[Option<u32>], names: &[&[u8]], cancel: &CancelToken) -> Result<Vec<(u32, f64)>> {
    let mut graph = Graph::new(&edges_of(tokens, cancel)?, names.len())?;
    let n = graph.words.len();
    if n == 0 {
        return Ok(Vec::new());
    }
    let sum = |word: usize| graph.at[graph.edges(word)].iter().fold(0.0, |sum, edge| sum + edge.1);
    let sums: Vec<f64> = alloc::try_collect((0..n).map(sum))?;
    // Only the quotient is used below, and it is constant over the rounds.
    for (to, weight) in &mut graph.at {
        *weight /= sums[*to as usize];
    }
    let mut order: Vec<usize> = alloc::try_collect(0..n)?;
    order.sort_unstable_by_key(|&word| names[graph.words[word] as usize]);
    let mut ranks = alloc::try_filled(1.0 / n as f64, n)?;
    for _ in 0..ROUNDS {
        for &word in cancel.blocks(&order).flatten() {
            let edges = graph.at[graph.edges(word)].iter();
            let sum = edges.fold(0.0, |sum, &(to, share)| sum + share * ranks[to as usize]);
            ranks[word] = (1.0 - DAMPING) + DAMPING * sum;
        }
    }
    let min_rank = ranks.iter().copied().fold(f64::MAX, f64::min);
    let max_rank = ranks.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let spread = |rank: f64| (rank - min_rank / 10.0) / (max_rank - min_rank / 10.0);
    alloc::try_collect(graph.words.into_iter().zip(ranks.into_iter().map(spread)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_word_between_all_others_ranks_first() {
        let names: [&[u8]; 4] = [b"a", b"b", b"c", b"d"];
        let ranks = rank(
            &[Some(0), Some(1), None, None, None, Some(1), Some(2), None, None, None, Some(1), Some(3)],
            &names,
            &CancelToken::default(),
        )
        .expect("room");
        assert_eq!(vec![0, 1, 2, 3], ranks.iter().map(|found| found.0).collect::<Vec<_>>());
        assert_eq!(1.0, ranks[1].1);
        assert!(ranks.iter().all(|&(word, rank)| word == 1 || rank < 1.0));
    }

    /// Compute the header's rule, word by word, in maps: the ranks of the words with an edge.
    fn definition(tokens: &[Option<u32>], names: &[&[u8]]) -> Vec<(u32, f64)> {
        // Edges in the order in which they first occur, with their weights.
        let mut edges: Vec<((u32, u32), f64)> = Vec::new();
        for (i, a) in tokens.iter().enumerate() {
            for b in &tokens[i + 1..tokens.len().min(i + WINDOW)] {
                if let (Some(a), Some(b)) = (a, b) {
                    match edges.iter_mut().find(|(pair, _)| *pair == (*a, *b)) {
                        Some((_, weight)) => *weight += 1.0,
                        None => edges.push(((*a, *b), 1.0)),
                    }
                }
            }
        }
        let mut words: Vec<u32> = Vec::new();
        for ((a, b), _) in &edges {
            for word in [a, b] {
                if !words.contains(word) {
                    words.push(*word);
                }
            }
        }
        let at = |word: u32| -> Vec<(u32, f64)> {
            let both = edges.iter().flat_map(|&((a, b), weight)| [(a, b, weight), (b, a, weight)]);
            both.filter(|edge| edge.0 == word).map(|edge| (edge.1, edge.2)).collect()
        };
        let sum = |word: u32| at(word).iter().fold(0.0, |sum, edge| sum + edge.1);
        let mut ranks: HashMap<u32, f64> = words.iter().map(|&word| (word, 1.0 / words.len() as f64)).collect();
        let mut order = words.clone();
        order.sort_by_key(|&word| names[word as usize]);
        for _ in 0..ROUNDS {
            for &word in &order {
                let found = at(word).iter().fold(0.0, |found, &(to, w)| found + w / sum(to) * ranks[&to]);
                ranks.insert(word, (1.0 - DAMPING) + DAMPING * found);
            }
        }
        let min_rank = ranks.values().copied().fold(f64::MAX, f64::min);
        let max_rank = ranks.values().copied().fold(0.0, f64::max);
        words.into_iter().map(|word| (word, (ranks[&word] - min_rank / 10.0) / (max_rank - min_rank / 10.0))).collect()
    }

    proptest! {
        #[test]
        fn ranks_are_those_of_the_definition(tokens in prop::collection::vec(prop::option::weighted(0.8, 0_u32..7), 0..60)) {
            let names: [&[u8]; 7] = [b"wine", b"a", b"red", "\u{4e2d}".as_bytes(), b"b", b"zz", b"m"];
            prop_assert_eq!(definition(&tokens, &names), rank(&tokens, &names, &CancelToken::default()).expect("room"));
        }
    }

    #[test]
    fn words_without_neighbours_have_no_rank() {
        let names: [&[u8]; 2] = [b"a", b"b"];
        let ranked = |tokens: &[Option<u32>]| rank(tokens, &names, &CancelToken::default()).expect("room").len();
        assert_eq!(0, ranked(&[Some(0), None, None, None, None, Some(1)]));
        assert_eq!(2, ranked(&[Some(0), None, None, None, Some(1)]));
    }
}
