//! Processor features: named instruction sets, and values that prove them.
//!
//! | set | first processors | what its kernels take from it |
//! |---|---|---|
//! | [`Popcnt`] | 2008, Nehalem | counts of set bits in one instruction |
//! | [`Avx2`] | 2013, Haswell | 256-bit integers, BMI1 and BMI2 |
//! | [`Avx512`] | 2017, Skylake servers | 512-bit registers and masks; bytes, words and 64-bit products in them |
//! | [`Avx512Bits`] | 2019, Ice Lake; 2022, Zen 4 | besides: bytes by a table, packed bytes, set bits of each lane |
//! | [`Neon`] | every 64-bit ARM | 128-bit registers |
//!
//! **A value is the proof.** The fields are private and `detect` is the only constructor, so code with an [`Avx2`] runs
//! on a processor that has those instructions, and calling a function with that set's `#[target_feature]` is sound. A
//! kernel that names its instructions enables exactly the features of one set (`tests/test_layering.py` compares the
//! lists), and is called, in an `unsafe` block, with such a value. A loop that leaves the instructions to the compiler
//! requires no `unsafe`: `run` compiles it for the set.
//!
//! Cost: the processor is queried once; `detect` then loads one byte and tests one bit. All forms of a kernel give the
//! same bits, so the instruction set affects time only.

use crate::{Error, Result};
use std::sync::atomic::{AtomicU8, Ordering};

/// Set once the processor was queried.
const QUERIED: u8 = 1 << 7;

/// The bits of the sets that may be used, and [`QUERIED`]; 0 before the first query.
static SETS: AtomicU8 = AtomicU8::new(0);

#[inline]
fn detected() -> u8 {
    match SETS.load(Ordering::Relaxed) {
        0 => {
            let detected = QUERIED | query();
            SETS.store(detected, Ordering::Relaxed);
            detected
        }
        detected => detected,
    }
}

/// Return the name of the largest set of instructions in use: "avx512", "avx2", "neon" or "scalar".
///
/// "avx512" includes [`Avx512Bits`]; a processor that has [`Avx512`] alone says "avx512-skylake".
pub fn instructions() -> &'static str {
    let sets = detected();
    LEVELS.iter().rev().find(|(_, level)| sets & level != 0).map_or("scalar", |(name, _)| name)
}

/// Names of the sets, and the bit of each, from the smallest to the largest.
const LEVELS: [(&str, u8); 5] =
    [("scalar", 0), ("avx2", 1 << 1), ("avx512-skylake", 1 << 2), ("avx512", 1 << 3), ("neon", NEON)];

/// Return the sets that this processor has, from the smallest to the largest.
pub fn available() -> Vec<&'static str> {
    let sets = query();
    LEVELS.iter().filter(|(_, level)| *level == 0 || sets & level != 0).map(|(name, _)| *name).collect()
}

/// Use no instructions beyond the set `name`, or all that the processor has: for tests and measurements, since every
/// set gives the same bits. It takes effect for kernels that start afterwards.
///
/// # Errors
/// The processor does not have the set, or there is none of that name.
pub fn limit_instructions(name: Option<&str>) -> Result<()> {
    let sets = query();
    let Some(name) = name else {
        SETS.store(QUERIED | sets, Ordering::Relaxed);
        return Ok(());
    };
    if !available().contains(&name) {
        return Err(Error::parameter("instructions", name, available().join(", ")));
    }
    let level = LEVELS.iter().find(|(other, _)| *other == name).map_or(0, |(_, level)| *level);
    // The sets up to this one: of x86-64 they are nested. POPCNT belongs to AVX2 here.
    let up_to = if level == 0 { 0 } else { level | (level - 1) };
    SETS.store(QUERIED | sets & up_to, Ordering::Relaxed);
    Ok(())
}

/// The bit of [`Neon`].
const NEON: u8 = 1 << 4;

#[cfg(target_arch = "aarch64")]
fn query() -> u8 {
    NEON
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn query() -> u8 {
    0
}

/// Declare sets of instructions: name, bit, when they are compiled, and features. A set that is left out has no values,
/// so that no kernel is compiled for it.
macro_rules! x86_sets {
    ($($(#[$doc:meta])* $name:ident, $bit:literal, $compiled:meta: $($feature:tt),+;)+) => {
        #[cfg(target_arch = "x86_64")]
        #[cold]
        fn query() -> u8 {
            let mut detected = 0;
            $(if cfg!($compiled) $(&& std::arch::is_x86_feature_detected!($feature))+ {
                detected |= 1 << $bit;
            })+
            detected
        }

        $($(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name(#[cfg($compiled)] (), #[cfg(not($compiled))] std::convert::Infallible);

        #[cfg($compiled)]
        impl $name {
            /// Return the proof, if this processor has the instructions.
            #[inline]
            pub fn detect() -> Option<Self> {
                (detected() & 1 << $bit != 0).then_some(Self(()))
            }

            /// Run `work`, compiled for these instructions as far as it is inlined: mark the closure and the functions
            /// it calls `#[inline(always)]`.
            #[inline]
            pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
                $(#[cfg_attr(target_arch = "x86_64", target_feature(enable = $feature))])+
                fn compiled<R>(work: impl FnOnce() -> R) -> R {
                    work()
                }
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `self` proves that the processor has the features.
                let result = unsafe { compiled(work) };
                #[cfg(not(target_arch = "x86_64"))]
                let result = compiled(work);
                result
            }
        }

        #[cfg(not($compiled))]
        impl $name {
            /// Return None: these instructions were left out.
            #[inline]
            pub fn detect() -> Option<Self> {
                None
            }

            /// Never called: there is no value.
            #[inline]
            pub fn run<R>(self, _work: impl FnOnce() -> R) -> R {
                match self.0 {}
            }
        })+
    };
}

x86_sets! {
    /// Counts of set bits.
    Popcnt, 0, all(): "popcnt";
    /// 256-bit integers, with BMI1 and BMI2, which every such processor has.
    Avx2, 1, feature = "simd": "avx2", "bmi1", "bmi2", "popcnt";
    /// 512-bit registers: AVX-512 F, BW, DQ and VL, as all servers with AVX-512 have them.
    Avx512, 2, feature = "simd": "avx512bw", "avx512dq", "avx512vl", "bmi1", "bmi2", "popcnt";
    /// [`Avx512`] with its instructions for bytes and bits: VBMI, VBMI2, BITALG, VPOPCNTDQ.
    Avx512Bits, 3, feature = "simd": "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512vbmi2", "avx512bitalg",
        "avx512vpopcntdq", "bmi1", "bmi2", "popcnt";
}

/// 128-bit registers of 64-bit ARM, part of its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neon(());

impl Neon {
    /// Return the proof, on 64-bit ARM.
    #[inline]
    pub fn detect() -> Option<Self> {
        (detected() & NEON != 0).then_some(Self(()))
    }
}

/// The instructions that a plain loop is compiled for: the same bits at another speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// Those that every processor of the architecture has.
    Portable,
    /// Those of AVX2.
    Avx2(Avx2),
    /// Those of AVX-512.
    Avx512(Avx512),
}

impl Instructions {
    /// Return all sets that this processor runs, slowest first.
    pub fn available() -> Vec<Self> {
        let detected = [Some(Self::Portable), Avx2::detect().map(Self::Avx2), Avx512::detect().map(Self::Avx512)];
        detected.into_iter().flatten().collect()
    }

    /// Return the fastest set that this processor runs.
    #[inline]
    pub fn best() -> Self {
        match (Avx512::detect(), Avx2::detect()) {
            (Some(proof), _) => Self::Avx512(proof),
            (None, Some(proof)) => Self::Avx2(proof),
            (None, None) => Self::Portable,
        }
    }

    /// Run `work`, compiled for these instructions; see [`Avx2::run`].
    #[inline(always)]
    pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self {
            Self::Portable => work(),
            Self::Avx2(proof) => proof.run(work),
            Self::Avx512(proof) => proof.run(work),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(always)]
    fn ones(values: &[u64]) -> u32 {
        values.iter().map(|value| value.count_ones()).sum()
    }

    #[test]
    fn sets_grow_and_answers_stay() {
        // Every processor with a set has those that it contains.
        assert!(Popcnt::detect().is_some() || Avx2::detect().is_none());
        assert!(Avx2::detect().is_some() || Avx512::detect().is_none());
        assert!(Avx512::detect().is_some() || Avx512Bits::detect().is_none());
        assert_eq!(cfg!(target_arch = "aarch64"), Neon::detect().is_some());
        for _ in 0..3 {
            assert_eq!(Some(&Instructions::best()), Instructions::available().last());
        }
        assert_eq!(Some(&instructions()), available().last());
        let error = limit_instructions(Some("avx1024")).expect_err("there is no such set");
        assert!(error.to_string().contains("scalar"), "{error}");
    }

    #[test]
    fn a_loop_gives_the_same_under_all_instructions() {
        let values: Vec<u64> = (0..1000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let expected = ones(&values);
        for instructions in Instructions::available() {
            assert_eq!(
                expected,
                instructions.run(
                    #[inline(always)]
                    || ones(&values)
                )
            );
        }
        if let Some(popcnt) = Popcnt::detect() {
            assert_eq!(
                expected,
                popcnt.run(
                    #[inline(always)]
                    || ones(&values)
                )
            );
        }
    }
}
