//! Million pairs per second of [`nearkin_core::digests::ssdeep::Query::scores`] and million digests per second of the strict
//! parser: `cargo run --release --example ssdeep_speed`.

use std::hint::black_box;
use std::time::Instant;

use nearkin_core::digests::ssdeep::{Digest, Options, Query, hash};

/// A generator of 64-bit values (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

fn best(rounds: usize, mut work: impl FnMut()) -> f64 {
    (0..rounds)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() -> nearkin_core::Result<()> {
    for near in [false, true] {
        let mut random = Random(3);
        let base = random.bytes(40_000);
        let mut texts = Vec::new();
        while texts.len() < 2000 {
            let mut data = if near { base.clone() } else { random.bytes(40_000) };
            for _ in 0..5 {
                let at = random.next() as usize % data.len();
                data[at] ^= 1;
            }
            let text = hash(&data, Options::default())?;
            if text.starts_with("768:") {
                texts.push(text);
            }
        }
        let digests: Vec<Digest> =
            texts.iter().map(|text| Digest::parse(text.as_bytes())).collect::<nearkin_core::Result<_>>()?;
        let scoring = best(20, || {
            for query in &digests[..200] {
                black_box(Query::new(query).scores(digests.iter()));
            }
        });
        let parsing = best(20, || {
            for text in &texts {
                black_box(Digest::parse(text.as_bytes()).is_ok());
            }
        });
        println!(
            "{}: {:.1} million pairs per second, {:.1} million digests read per second",
            if near { "near" } else { "unrelated" },
            200.0 * digests.len() as f64 / scoring / 1e6,
            texts.len() as f64 / parsing / 1e6
        );
    }
    Ok(())
}
