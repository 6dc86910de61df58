//! The tables of Manku, Jain and Das Sarma (WWW 2007, section 3), built as the paper describes them, against indexes whose tables
//! have a directory: nanoseconds per query on one thread, fingerprints of 64 bits, radius 3.
//!
//! A table stores the permuted fingerprints in sorted order. A query searches for the run with the same first p bits by
//! interpolation search, by binary search, or through a directory of the first log2 n bits. Every result is compared with
//! the result of the index.
//!
//!     cargo run --release -p nearkin-core --example manku_tables -- [FINGERPRINTS] [QUERIES]

use std::hint::black_box;
use std::time::Instant;

use nearkin_core::index::hamming::{Index, Method};
use nearkin_core::index::rows::{Existing, NewIds};

const BITS: u32 = 64;
const RADIUS: u32 = 3;

/// The `SplitMix64` generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// For each table, the bit positions of its key (the blocks that must match) and all other positions.
fn choices(positions: &[u32], splits: &[usize]) -> Vec<(Vec<u32>, Vec<u32>)> {
    let Some((&blocks, inner)) = splits.split_first() else { return vec![(Vec::new(), positions.to_vec())] };
    let cut = |block: usize| positions.len() * block / blocks;
    let mut results = Vec::new();
    for chosen in 0_u64..1 << blocks {
        if chosen.count_ones() as usize != blocks - RADIUS as usize {
            continue;
        }
        let (mut key, mut rest) = (Vec::new(), Vec::new());
        for block in 0..blocks {
            let side = if chosen >> block & 1 == 1 { &mut key } else { &mut rest };
            side.extend_from_slice(&positions[cut(block)..cut(block + 1)]);
        }
        for (more, left) in choices(&rest, inner) {
            results.push(([key.clone(), more].concat(), left));
        }
    }
    results
}

/// A permutation of bits as runs of adjacent bits: first position and length of each.
struct Permutation(Vec<(u32, u32)>);

impl Permutation {
    fn new(positions: &[u32]) -> Self {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (at, &position) in positions.iter().enumerate() {
            if at > 0 && position == positions[at - 1] + 1 {
                let run = runs.len() - 1;
                runs[run].1 += 1;
            } else {
                runs.push((position, 1));
            }
        }
        Self(runs)
    }

    /// Permutes the bits; position 0 is the highest.
    fn of(&self, bits: u64) -> u64 {
        let take = |all: u64, &(from, count): &(u32, u32)| {
            let run = bits << from >> (BITS - count);
            if count == BITS { run } else { all << count | run }
        };
        self.0.iter().fold(0, take)
    }

    /// Inverts the permutation.
    fn back(&self, bits: u64) -> u64 {
        let (mut all, mut at) = (0, 0);
        for &(from, count) in &self.0 {
            all |= bits << at >> (BITS - count) << (BITS - count - from);
            at += count;
        }
        all
    }
}

/// The search for the run of a key.
#[derive(Clone, Copy, PartialEq)]
enum Find {
    Interpolation,
    Binary,
    Directory,
}

struct Table {
    permutation: Permutation,
    key: u32,
    values: Vec<u64>,
    /// For each prefix of `first` bits, the start of its values.
    directory: Vec<u32>,
    first: u32,
}

impl Table {
    fn new(fingerprints: &[u64], (key, rest): &(Vec<u32>, Vec<u32>)) -> Self {
        let permutation = Permutation::new(&[key.clone(), rest.clone()].concat());
        let mut values: Vec<u64> = fingerprints.iter().map(|&bits| permutation.of(bits)).collect();
        values.sort_unstable();
        let first = (values.len() as u64).ilog2().min(key.len() as u32);
        let mut directory = vec![0; (1 << first) + 1];
        for value in &values {
            directory[(value >> (BITS - first)) as usize + 1] += 1;
        }
        for at in 0..1 << first {
            directory[at + 1] += directory[at];
        }
        Self { permutation, key: key.len() as u32, values, directory, first }
    }

    /// The position of the first value >= `bound`, and the number of values read.
    fn start(&self, bound: u64, find: Find) -> (usize, u64) {
        let values = &self.values;
        let (mut low, mut high, mut reads) = (0, values.len(), 0);
        match find {
            Find::Directory => {
                let slot = (bound >> (BITS - self.first)) as usize;
                (low, high) = (self.directory[slot] as usize, self.directory[slot + 1] as usize);
            }
            Find::Interpolation => {
                // Values before `low` are < bound, values from `high` on are >= bound; between them they are about uniform.
                let (mut floor, mut ceiling) = (0_u128, 1_u128 << 64);
                while high - low > 8 {
                    let share = (u128::from(bound) - floor) * (high - low) as u128 / (ceiling - floor);
                    let guess = low + (share as usize).min(high - low - 1);
                    reads += 1;
                    // A step past the expected error brackets the position after a few reads.
                    let step = ((high - low) as f64).sqrt() as usize + 1;
                    if values[guess] < bound {
                        (low, floor) = (guess + 1, u128::from(values[guess]));
                        let probe = guess + step;
                        if probe < high {
                            reads += 1;
                            if values[probe] >= bound {
                                (high, ceiling) = (probe, u128::from(values[probe]) + 1);
                            } else {
                                (low, floor) = (probe + 1, u128::from(values[probe]));
                            }
                        }
                    } else {
                        (high, ceiling) = (guess, u128::from(values[guess]) + 1);
                        if guess >= low + step {
                            let probe = guess - step;
                            reads += 1;
                            if values[probe] < bound {
                                (low, floor) = (probe + 1, u128::from(values[probe]));
                            } else {
                                (high, ceiling) = (probe, u128::from(values[probe]) + 1);
                            }
                        }
                    }
                }
            }
            Find::Binary => {}
        }
        while low < high {
            let middle = low.midpoint(high);
            reads += 1;
            if values[middle] < bound { low = middle + 1 } else { high = middle }
        }
        (low, reads)
    }

    /// Adds the fingerprints within the radius. Returns the number of values read to find the run, and its length.
    fn search(&self, query: u64, find: Find, results: &mut Vec<u64>) -> (u64, u64) {
        let query = self.permutation.of(query);
        let rest = BITS - self.key;
        let (start, reads) = self.start(query >> rest << rest, find);
        let mut candidates = 0;
        for &value in self.values[start..].iter().take_while(|&value| value >> rest == query >> rest) {
            candidates += 1;
            if (value ^ query).count_ones() <= RADIUS {
                results.push(self.permutation.back(value));
            }
        }
        (reads, candidates)
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>().expect("a whole number"));
    let (n, num_queries) = (arguments.next().unwrap_or(1 << 23), arguments.next().unwrap_or(20_000));
    let mut random = Random(1);
    let fingerprints: Vec<u64> = (0..n).map(|_| random.next()).collect();
    // Stored fingerprints with up to three flipped bits.
    let queries: Vec<u64> = (0..num_queries)
        .map(|_| {
            let near = fingerprints[random.next() as usize % n];
            (0..random.next() % 4).fold(near, |bits, _| bits ^ 1 << (random.next() % 64))
        })
        .collect();

    println!("{n} fingerprints, {num_queries} queries, one at a time, one thread");
    println!("tables\tkey bits\tsearch\tns a query\treads a table\tcandidates a query\tbytes a fingerprint");
    let mut expected = Vec::new();
    for method in [Method::Blocks, Method::Multi, Method::Tables, Method::Auto] {
        let mut index = Index::new(BITS as usize, method, Some(RADIUS), None).expect("valid");
        index.add(NewIds::Rows, &fingerprints, Existing::Error).expect("room");
        index.prepare(RADIUS, num_queries).expect("room");
        let start = Instant::now();
        let results: Vec<usize> = queries
            .iter()
            .map(|query| index.search(std::slice::from_ref(query), RADIUS, None).expect("valid").rows.len())
            .collect();
        let time = start.elapsed().as_nanos() as f64 / num_queries as f64;
        let (stored, tables) = index.bytes();
        println!("{method:?}\t\tdirectory\t{time:.0}\t\t\t{:.0}", (stored + tables) as f64 / n as f64);
        assert!(expected.is_empty() || expected == results, "all methods are exact");
        expected = results;
    }
    let positions: Vec<u32> = (0..BITS).collect();
    for splits in [&[4_usize][..], &[5], &[4, 4], &[6], &[7]] {
        let choices = choices(&positions, splits);
        let keys: Vec<usize> = choices.iter().map(|choice| choice.0.len()).collect();
        let tables: Vec<Table> = choices.iter().map(|choice| Table::new(&fingerprints, choice)).collect();
        for (find, name) in
            [(Find::Interpolation, "interpolation"), (Find::Binary, "binary search"), (Find::Directory, "directory")]
        {
            let (mut reads, mut candidates, mut correct, mut results) = (0, 0, true, Vec::new());
            let start = Instant::now();
            for (&query, &expected) in queries.iter().zip(&expected) {
                results.clear();
                for table in &tables {
                    let counts = table.search(black_box(query), find, &mut results);
                    (reads, candidates) = (reads + counts.0, candidates + counts.1);
                }
                results.sort_unstable();
                results.dedup();
                correct &= results.len() == expected;
            }
            let time = start.elapsed().as_nanos() as f64 / num_queries as f64;
            assert!(correct, "the tables find what the index finds");
            let bytes =
                tables.iter().map(|table| 8 * n + if find == Find::Directory { 4 * table.directory.len() } else { 0 });
            println!(
                "{splits:?}: {}\t{:?} to {:?}\t{name}\t{time:.0}\t{:.1}\t{:.0}\t{:.0}",
                tables.len(),
                keys.iter().min().unwrap_or(&0),
                keys.iter().max().unwrap_or(&0),
                reads as f64 / (num_queries * tables.len()) as f64,
                candidates as f64 / num_queries as f64,
                bytes.sum::<usize>() as f64 / n as f64
            );
        }
    }
}
