//! Counter-based random numbers: the value at (seed, stream, row, column) is a function of these four numbers only.
//!
//! ```text
//! base(seed, stream, row) = mix(mix(seed + G·(stream + 1)) + G·(row + 1))
//! word(base, column)      = mix(base + G·(column + 1))                 SplitMix64 begun at `base`
//! uniform                 = (⌊word / 2^12⌋ + ½) / 2^52                  never 0, never 1
//! gaussian                = Φ^(-1)(uniform)
//! cauchy                  = gaussian of column 2c / gaussian of column 2c + 1
//! ```
//! with G = 0x9e3779b97f4a7c15 and all additions modulo 2^64. Values do not depend on the number of draws, their order
//! or the machine: Φ^(-1) is Wichura's rational approximation (relative error about 1e-16) over a logarithm of IEEE
//! operations only. The values will never change; golden values are in the tests below.
//!
//! Cost: about 5 ns per Gaussian. Sources: Steele, Lea and Flood (OOPSLA 2014), `SplitMix`, with the mixing function of
//! its section 4; Wichura (Applied Statistics 37, 1988), algorithm AS 241, PPND16.

use crate::parallel::prelude::*;

use crate::Result;
use crate::alloc::{self, Plain};
use crate::cancel::CancelToken;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mix with the bijection of `SplitMix64`.
#[inline]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// Return the start of the sequence of a row.
#[inline]
pub fn base(seed: u64, stream: u64, row: u64) -> u64 {
    let stream = mix(seed.wrapping_add(GOLDEN.wrapping_mul(stream.wrapping_add(1))));
    mix(stream.wrapping_add(GOLDEN.wrapping_mul(row.wrapping_add(1))))
}

/// Return the 64 random bits of a column.
#[inline]
pub fn word(base: u64, column: u64) -> u64 {
    mix(base.wrapping_add(GOLDEN.wrapping_mul(column.wrapping_add(1))))
}

/// Return a number in (0, 1), a multiple of 2^-53.
#[inline]
pub fn uniform(word: u64) -> f64 {
    ((word >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

/// Return a standard normal number.
#[inline]
pub fn gaussian(word: u64) -> f64 {
    normal_quantile(uniform(word))
}

/// Return the logarithm of a normal positive number from IEEE operations only: 2 artanh((m − 1)/(m + 1)) + e ln 2.
pub fn ln(x: f64) -> f64 {
    // √2 / 2 splits the mantissas so that |s| <= 0.172 and 12 terms of the series reach 1e-18.
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1022;
    let mut mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3fe0_0000_0000_0000);
    if mantissa < std::f64::consts::FRAC_1_SQRT_2 {
        mantissa *= 2.0;
        exponent -= 1;
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for term in (0..12_u32).rev() {
        sum = sum * square + 1.0 / f64::from(2 * term + 1);
    }
    2.0 * s * sum + exponent as f64 * std::f64::consts::LN_2
}

/// Coefficients of PPND16: numerator and denominator (without its constant 1) of each of the three ranges.
#[rustfmt::skip]
#[allow(clippy::excessive_precision, reason = "coefficients as published")]
const PPND16: [([f64; 8], [f64; 7]); 3] = [
    (
        [3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
         4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3],
        [4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
         3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3],
    ),
    (
        [1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
         1.27045825245236838258, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4],
        [2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
         1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9],
    ),
    (
        [6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 2.96560571828504891230e-1,
         2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7],
        [5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
         1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15],
    ),
];

fn ratio(x: f64, (above, below): ([f64; 8], [f64; 7])) -> f64 {
    let numerator = above.iter().rev().fold(0.0, |sum, &c| sum * x + c);
    let denominator = below.iter().rev().fold(0.0, |sum, &c| sum * x + c) * x + 1.0;
    numerator / denominator
}

/// Return Φ^(-1)(p) for 0 < p < 1: AS 241, PPND16.
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(0.180625 - q * q, PPND16[0]);
    }
    let tail = (-ln(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let value = if tail <= 5.0 { ratio(tail - 1.6, PPND16[1]) } else { ratio(tail - 5.0, PPND16[2]) };
    if q < 0.0 { -value } else { value }
}

/// Compute rows `first..first + rows` of a matrix, each value from the row's base and its column.
///
/// # Errors
/// Memory runs out.
pub fn matrix<T: Plain + Send>(
    (seed, stream, first): (u64, u64, u64),
    rows: usize,
    columns: usize,
    value: impl Fn(u64, u64) -> T + Sync,
) -> Result<Vec<T>> {
    let mut out = alloc::try_zeroed(rows.saturating_mul(columns))?;
    let cancel = &CancelToken::current();
    out.par_chunks_mut(columns.max(1)).enumerate().for_each(|(row, values)| {
        if cancel.is_set() {
            return;
        }
        let base = base(seed, stream, first + row as u64);
        for (column, slot) in values.iter_mut().enumerate() {
            *slot = value(base, column as u64);
        }
    });
    Ok(out)
}

/// Return the Gaussian of a column, rounded to `f32`.
pub fn gaussian_at(base: u64, column: u64) -> f32 {
    gaussian(word(base, column)) as f32
}

/// Return the standard Cauchy number of a column, rounded to `f32`.
pub fn cauchy_at(base: u64, column: u64) -> f32 {
    (gaussian(word(base, 2 * column)) / gaussian(word(base, 2 * column + 1))) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_promised() {
        let base = base(1, 2, 3);
        let words: Vec<u64> = (0..3).map(|column| word(base, column)).collect();
        assert_eq!(vec![GOLDEN_WORDS[0], GOLDEN_WORDS[1], GOLDEN_WORDS[2]], words);
        let gaussians: Vec<u64> = (0..3).map(|column| gaussian(word(base, column)).to_bits()).collect();
        assert_eq!(GOLDEN_GAUSSIANS.to_vec(), gaussians);
        // The sequence itself is SplitMix64, whose first values from the state 1234567 are published with it.
        assert_eq!(6457827717110365317, word(1234567, 0));
        assert_eq!(3203168211198807973, word(1234567, 1));
    }

    const GOLDEN_WORDS: [u64; 3] = [14100619211913272001, 3506808064286907929, 4781825398734784567];
    const GOLDEN_GAUSSIANS: [u64; 3] = [4604665044143443440, 13829451177048900864, 13827363581968284705];

    #[test]
    fn quantiles_equal_published_ones() {
        // Wichura's own check values.
        for (p, expected) in [
            (0.25, -0.6744897501960817),
            (0.001, -3.090232306167814),
            (1e-20, -9.262340089798408),
            (0.975, 1.9599639845400545),
        ] {
            assert!((normal_quantile(p) - expected).abs() < 1e-14, "{p}");
        }
    }

    #[test]
    fn logarithms_agree_with_the_library() {
        for step in 1..2000_u32 {
            for x in [f64::from(step) / 2000.0, f64::from(step) * 1e-15, f64::from(step) * 3.7] {
                let (found, expected) = (ln(x), x.ln());
                assert!((found - expected).abs() <= 4e-16 * expected.abs().max(1.0), "{x}: {found} {expected}");
            }
        }
    }

    #[test]
    fn moments_are_those_of_a_normal() {
        // 10^6 values: the mean's deviation is 0.001, the second moment's 0.0014, the fourth's 0.0098; five of each are
        // allowed, which fails with probability below 2e-6 for a good generator, and the seed is fixed.
        let values = matrix((7, 0, 0), 1000, 1000, |base, column| gaussian(word(base, column))).expect("a matrix");
        let moment = |power: i32| values.iter().map(|value| value.powi(power)).sum::<f64>() / 1e6;
        assert!(moment(1).abs() < 0.005);
        assert!((moment(2) - 1.0).abs() < 0.0071);
        assert!((moment(4) - 3.0).abs() < 0.049);
        let neighbours: f64 = values.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / 1e6;
        assert!(neighbours.abs() < 0.005);
        let below: f64 = values.iter().zip(&values[1000..]).map(|(a, b)| a * b).sum::<f64>() / 1e6;
        assert!(below.abs() < 0.005);
    }

    #[test]
    fn a_row_does_not_depend_on_how_many_are_drawn() {
        let whole = matrix((7, 1, 0), 8, 5, cauchy_at).expect("a matrix");
        assert_eq!(whole[15..], matrix((7, 1, 3), 5, 5, cauchy_at).expect("a matrix"));
        let narrow = matrix((7, 1, 0), 8, 3, cauchy_at).expect("a matrix");
        assert_eq!(whole[5..8], narrow[3..6]);
    }
}
