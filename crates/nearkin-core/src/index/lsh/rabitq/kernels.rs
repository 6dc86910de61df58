//! Lower bounds of all rows of a range of blocks: sums of table entries that codes select, by byte shuffles ("fast scan").
//!
//! A block stores 32 rows. Table t has the 16 sums ±y₀ ±y₁ ±y₂ ±y₃ of the four coordinates from 4 t on, in integer steps up to
//! 31, so that eight entries add up in 8 bits, and the entries of 2,048 tables in 16. For each table a block has 16 bytes:
//! the low half of byte b selects the entry of row b, its high half that of row b + 16. So one shuffle of 16 bytes looks up
//! 16 rows. Wider registers look up several tables at once; integer sums are the same in any order.
//!
//! ```text
//! t = sum * step + low        e = t + width * reach        bound = (offset + factor * e) + base
//! ```
//! in single precision, each operation rounded separately: every instruction set gives the same bits.

#[cfg(target_arch = "aarch64")]
use crate::cpu::features::Neon;
use crate::cpu::features::{Avx2, Avx512};
use crate::{Result, alloc};

/// Rows of a block.
pub(super) const BLOCK: usize = 32;
/// Bytes per table in a block; entries per table.
pub(super) const TABLE: usize = 16;
/// Largest entry.
pub(super) const STEPS: f32 = 31.0;
/// Number of entries that add up in 8 bits.
const NARROW: usize = 8;
/// Number of tables whose entries add up in 16 bits.
const SEGMENT: usize = 2048;

/// Parameters of the bound for one query and partition.
#[derive(Clone, Copy)]
pub(super) struct BoundParams<'a> {
    /// Sixteen entries per table.
    pub(super) table: &'a [u8],
    pub(super) step: f32,
    pub(super) low: f32,
    pub(super) reach: f32,
    pub(super) base: f32,
}

/// A range of blocks.
#[derive(Clone, Copy)]
pub(super) struct CodeBlocks<'a> {
    /// One byte per block and table entry.
    pub(super) codes: &'a [u8],
    /// `BLOCK` a block.
    pub(super) offsets: &'a [f32],
    /// `BLOCK` a block.
    pub(super) factors: &'a [f32],
    /// `BLOCK` a block.
    pub(super) widths: &'a [u8],
}

/// The instruction set of the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    /// One row after another.
    Scalar,
    /// Two tables at once.
    Avx2(Avx2),
    /// Four tables at once.
    Avx512(Avx512),
    /// One table.
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
}

impl Kernel {
    /// Return the kernels that this processor runs, slowest first.
    #[cfg(test)]
    pub(super) fn available() -> Vec<Self> {
        let kernels = [Some(Self::Scalar), Avx2::detect().map(Self::Avx2), Avx512::detect().map(Self::Avx512)];
        #[cfg(target_arch = "aarch64")]
        let kernels = kernels.into_iter().chain([Neon::detect().map(Self::Neon)]);
        kernels.into_iter().flatten().collect()
    }

    /// Return the fastest kernel that this processor runs.
    #[inline]
    pub(super) fn best() -> Self {
        #[cfg(target_arch = "aarch64")]
        if let Some(proof) = Neon::detect() {
            return Self::Neon(proof);
        }
        match (Avx512::detect(), Avx2::detect()) {
            (Some(proof), _) => Self::Avx512(proof),
            (None, Some(proof)) => Self::Avx2(proof),
            (None, None) => Self::Scalar,
        }
    }

    /// Write the bound of each row, and the minimum of each block.
    ///
    /// # Panics
    /// If the lengths do not match.
    pub(super) fn bounds(self, blocks: CodeBlocks<'_>, params: BoundParams<'_>, out: &mut [f32], minima: &mut [f32]) {
        assert_eq!(out.len(), blocks.check(&params) * BLOCK, "32 bounds per block");
        assert_eq!(out.len(), minima.len() * BLOCK, "a minimum per block");
        match self {
            Self::Scalar => scalar(blocks, params, out, minima),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the match has the proof, and the lengths were checked above.
            Self::Avx2(_) => unsafe { x86::bounds256(blocks, params, out, minima) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx512(_) => unsafe { x86::avx512(blocks, params, out, minima) },
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx2(_) | Self::Avx512(_) => scalar(blocks, params, out, minima),
            #[cfg(target_arch = "aarch64")]
            // SAFETY: as above.
            Self::Neon(_) => unsafe { arm::neon(blocks, params, out, minima) },
        }
    }
}

impl CodeBlocks<'_> {
    /// Return the number of blocks.
    ///
    /// # Panics
    /// If the lengths do not match, or the tables do not fill whole registers.
    fn check(&self, params: &BoundParams<'_>) -> usize {
        let size = params.table.len();
        assert!(size > 0 && size.is_multiple_of(TABLE * 16), "full registers of tables");
        let count = self.codes.len() / size;
        let rows = count * BLOCK;
        assert_eq!(self.codes.len(), count * size, "codes of full blocks");
        assert!(
            self.offsets.len() == rows && self.factors.len() == rows && self.widths.len() == rows,
            "rows of full blocks"
        );
        count
    }

    /// Return one of the blocks.
    fn block(&self, number: usize, size: usize) -> Self {
        let rows = number * BLOCK..(number + 1) * BLOCK;
        Self {
            codes: &self.codes[number * size..(number + 1) * size],
            offsets: &self.offsets[rows.clone()],
            factors: &self.factors[rows.clone()],
            widths: &self.widths[rows],
        }
    }
}

/// Bounds to be filtered by a limit.
pub(super) struct BoundFilter<'a> {
    /// `BLOCK` a block.
    pub(super) bounds: &'a [f32],
    /// One minimum per block.
    pub(super) minima: &'a [f32],
    /// Finite.
    limit: f32,
    /// Position of the first bound.
    first: u32,
}

impl Kernel {
    /// Compute bounds and append the positions, ascending from `first`, of those that are finite and at most `limit`; like
    /// `bounds` and `filter_below` without storing the bounds.
    ///
    /// # Panics
    /// If the lengths do not match.
    pub(super) fn scan_below(
        self,
        blocks: CodeBlocks<'_>,
        params: BoundParams<'_>,
        limit: f32,
        first: u32,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let count = blocks.check(&params);
        let limit = if limit < f32::MAX { limit } else { f32::MAX };
        alloc::try_reserve(out, count * BLOCK)?;
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the match has the proof, and the lengths were checked above.
            Self::Avx512(_) => unsafe { x86::scan_below512(blocks, params, limit, first, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2(_) => unsafe { x86::scan_below256(blocks, params, limit, first, out) },
            _ => {
                for number in 0..count {
                    let (mut bounds, mut minima) = ([0.0; BLOCK], [0.0]);
                    self.bounds(blocks.block(number, params.table.len()), params, &mut bounds, &mut minima);
                    self.filter_below(&bounds, &minima, limit, first + (number * BLOCK) as u32, out)?;
                }
            }
        }
        Ok(())
    }

    /// Append the positions, ascending from `first`, of the finite bounds that are at most `limit`.
    pub(super) fn filter_below(
        self,
        bounds: &[f32],
        minima: &[f32],
        limit: f32,
        first: u32,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let limit = if limit < f32::MAX { limit } else { f32::MAX };
        let filter = &BoundFilter { bounds: &bounds[..minima.len() * BLOCK], minima, limit, first };
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the match has the proof.
            Self::Avx512(_) => unsafe { x86::filter_below512(filter, out) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Self::Avx2(_) => unsafe { x86::filter_below256(filter, out) },
            _ => filter_blocks(
                filter,
                out,
                #[inline(always)]
                |bounds| bounds.iter().rev().fold(0, |mask, &bound| mask << 1 | u32::from(bound <= limit)),
            ),
        }
    }
}

#[inline(always)]
fn filter_blocks(filter: &BoundFilter<'_>, out: &mut Vec<u32>, mask: impl Fn(&[f32; BLOCK]) -> u32) -> Result<()> {
    for (block, (bounds, &minimum)) in filter.bounds.as_chunks::<BLOCK>().0.iter().zip(filter.minima).enumerate() {
        if minimum <= filter.limit {
            alloc::try_reserve(out, BLOCK)?;
            push_set_bits(out, mask(bounds), filter.first + (block * BLOCK) as u32);
        }
    }
    Ok(())
}

/// Append the positions of the set bits, counted from `first`.
#[inline(always)]
fn push_set_bits(out: &mut Vec<u32>, mut left: u32, first: u32) {
    while left != 0 {
        out.push(first + left.trailing_zeros());
        left &= left - 1;
    }
}

/// Turn the sums of a block's rows into bounds; return their minimum.
#[inline(always)]
fn finish_block(
    blocks: &CodeBlocks<'_>,
    at: usize,
    params: &BoundParams<'_>,
    sums: &[i32; BLOCK],
    out: &mut [f32],
) -> f32 {
    let rows = at..at + BLOCK;
    let (offsets, factors) = (&blocks.offsets[rows.clone()], &blocks.factors[rows.clone()]);
    let (widths, out) = (&blocks.widths[rows.clone()], &mut out[rows]);
    let mut low = [f32::INFINITY; 8];
    for i in 0..BLOCK {
        let t = sums[i] as f32 * params.step + params.low;
        let e = t + f32::from(widths[i]) * params.reach;
        let bound = (offsets[i] + factors[i] * e) + params.base;
        out[i] = bound;
        low[i % 8] = if bound < low[i % 8] { bound } else { low[i % 8] };
    }
    low.into_iter().fold(f32::INFINITY, f32::min)
}

fn scalar(blocks: CodeBlocks<'_>, params: BoundParams<'_>, out: &mut [f32], minima: &mut [f32]) {
    for (number, (codes, minimum)) in blocks.codes.chunks_exact(params.table.len()).zip(minima).enumerate() {
        let mut sums = [0_i32; BLOCK];
        for (codes, table) in codes.chunks_exact(TABLE).zip(params.table.chunks_exact(TABLE)) {
            for (row, &code) in codes.iter().enumerate() {
                sums[row] += i32::from(table[usize::from(code & 15)]);
                sums[row + TABLE] += i32::from(table[usize::from(code >> 4)]);
            }
        }
        *minimum = finish_block(&blocks, number * BLOCK, &params, &sums, out);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #[allow(clippy::wildcard_imports, reason = "intrinsics by their names")]
    use std::arch::x86_64::*;
    use std::hint::black_box;

    use super::{BLOCK, BoundFilter, BoundParams, CodeBlocks, NARROW, SEGMENT, TABLE, filter_blocks, push_set_bits};
    use crate::Result;

    /// Bytes of the tables whose entries are added in 8 bits; the table is a multiple of this or of half of it.
    const GROUP: usize = 4 * NARROW * TABLE;

    /// # Safety
    /// The processor has the instructions; the lengths are those that `Kernel::bounds` checks.
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn avx512(blocks: CodeBlocks<'_>, params: BoundParams<'_>, out: &mut [f32], minima: &mut [f32]) {
        // SAFETY: as of this function.
        unsafe {
            if params.table.len().is_multiple_of(GROUP) {
                bounds512::<NARROW>(blocks, params, out, minima);
            } else {
                bounds512::<{ NARROW / 2 }>(blocks, params, out, minima);
            }
        }
    }

    /// # Safety
    /// As for `avx512`; `out` has capacity for every row.
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn scan_below512(
        blocks: CodeBlocks<'_>,
        params: BoundParams<'_>,
        limit: f32,
        first: u32,
        out: &mut Vec<u32>,
    ) {
        let limit = _mm512_set1_ps(limit);
        let (count, is_whole) = (blocks.offsets.len() / BLOCK, params.table.len().is_multiple_of(GROUP));
        let registers = Registers::of(params);
        for number in 0..count {
            // SAFETY: as of this function.
            let [low, high] = unsafe {
                if is_whole {
                    block512::<NARROW>(&blocks, &registers, number)
                } else {
                    block512::<{ NARROW / 2 }>(&blocks, &registers, number)
                }
            };
            let low = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(low, limit);
            let high = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(high, limit);
            push_set_bits(out, u32::from(low) | u32::from(high) << 16, first + (number * BLOCK) as u32);
        }
    }

    /// Bound parameters in registers.
    struct Registers<'a> {
        table: &'a [u8],
        step: __m512,
        low: __m512,
        reach: __m512,
        base: __m512,
        /// Permutation that joins four rows of each quarter, and the bytes of a row.
        gather_rows: __m512i,
        gather_bytes: __m512i,
    }

    impl<'a> Registers<'a> {
        #[inline]
        #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
        fn of(params: BoundParams<'a>) -> Self {
            Self {
                table: params.table,
                step: _mm512_set1_ps(params.step),
                low: _mm512_set1_ps(params.low),
                reach: _mm512_set1_ps(params.reach),
                base: _mm512_set1_ps(params.base),
                // If the compiler knew these values, it would use more permutations.
                gather_rows: black_box(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)),
                gather_bytes: black_box(_mm512_set4_epi32(0x0f0b_0703, 0x0e0a_0602, 0x0d09_0501, 0x0c08_0400)),
            }
        }
    }

    /// Return the bounds of a block, in groups of `REGISTERS` registers of four tables.
    ///
    /// # Safety
    /// As for `avx512`; the table consists of full groups, and block `number` exists.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    unsafe fn block512<const REGISTERS: usize>(
        blocks: &CodeBlocks<'_>,
        registers: &Registers<'_>,
        number: usize,
    ) -> [__m512; 2] {
        let (size, table) = (registers.table.len(), registers.table.as_ptr());
        let nibble = _mm512_set1_epi8(15);
        let mut sums = [_mm512_setzero_si512(); 2];
        for group in (0..size).step_by(REGISTERS * 64) {
            let mut narrow = [_mm512_setzero_si512(); 2];
            for register in 0..REGISTERS {
                let at = group + register * 64;
                // SAFETY: the block and the table have `size` bytes each; 64 from `at` on are read.
                let (code, table) = unsafe {
                    (
                        _mm512_loadu_si512(blocks.codes.as_ptr().add(number * size + at).cast()),
                        _mm512_loadu_si512(table.add(at).cast()),
                    )
                };
                let high = _mm512_and_si512(_mm512_srli_epi16::<4>(code), nibble);
                narrow[0] = _mm512_add_epi8(narrow[0], _mm512_shuffle_epi8(table, _mm512_and_si512(code, nibble)));
                narrow[1] = _mm512_add_epi8(narrow[1], _mm512_shuffle_epi8(table, high));
            }
            sums[0] = _mm512_add_epi32(sums[0], quarters(narrow[0], registers.gather_rows, registers.gather_bytes));
            sums[1] = _mm512_add_epi32(sums[1], quarters(narrow[1], registers.gather_rows, registers.gather_bytes));
        }
        let mut bounds = [_mm512_setzero_ps(); 2];
        for half in 0..2 {
            let row = number * BLOCK + half * TABLE;
            // SAFETY: the caller has checked that this block's values exist.
            let (width, factor, offset) = unsafe {
                (
                    _mm512_cvtepu8_epi32(_mm_loadu_si128(blocks.widths.as_ptr().add(row).cast())),
                    _mm512_loadu_ps(blocks.factors.as_ptr().add(row)),
                    _mm512_loadu_ps(blocks.offsets.as_ptr().add(row)),
                )
            };
            let t = _mm512_add_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sums[half]), registers.step), registers.low);
            let e = _mm512_add_ps(t, _mm512_mul_ps(_mm512_cvtepi32_ps(width), registers.reach));
            bounds[half] = _mm512_add_ps(_mm512_add_ps(offset, _mm512_mul_ps(factor, e)), registers.base);
        }
        bounds
    }

    /// Write the bounds of all blocks.
    ///
    /// # Safety
    /// As for `avx512`; the table consists of full groups.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    unsafe fn bounds512<const REGISTERS: usize>(
        blocks: CodeBlocks<'_>,
        params: BoundParams<'_>,
        out: &mut [f32],
        minima: &mut [f32],
    ) {
        let registers = Registers::of(params);
        for (quad, minima) in minima.chunks_mut(4).enumerate() {
            let mut lowest = [_mm512_set1_ps(f32::INFINITY); 4];
            for (position, lowest) in lowest.iter_mut().take(minima.len()).enumerate() {
                let number = 4 * quad + position;
                // SAFETY: the block exists, and so do its bounds.
                unsafe {
                    let [low, high] = block512::<REGISTERS>(&blocks, &registers, number);
                    _mm512_storeu_ps(out.as_mut_ptr().add(number * BLOCK), low);
                    _mm512_storeu_ps(out.as_mut_ptr().add(number * BLOCK + TABLE), high);
                    *lowest = _mm512_min_ps(low, high);
                }
            }
            let mask = (1 << minima.len()) - 1;
            // SAFETY: the mask has one bit per minimum.
            unsafe { _mm_mask_storeu_ps(minima.as_mut_ptr(), mask, min_of_each(lowest)) };
        }
    }

    /// Return for each of 16 rows the sum of its four bytes, one per quarter.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn quarters(values: __m512i, gather_rows: __m512i, gather_bytes: __m512i) -> __m512i {
        let rows = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(gather_rows, values), gather_bytes);
        _mm512_madd_epi16(_mm512_maddubs_epi16(rows, _mm512_set1_epi8(1)), _mm512_set1_epi16(1))
    }

    /// Return the minimum of each of four registers.
    #[inline]
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    fn min_of_each([a, b, c, d]: [__m512; 4]) -> __m128 {
        let ab = _mm512_min_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let cd = _mm512_min_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
        let each =
            _mm512_min_ps(_mm512_shuffle_ps::<0b01_00_01_00>(ab, cd), _mm512_shuffle_ps::<0b11_10_11_10>(ab, cd));
        let half = _mm256_min_ps(_mm512_castps512_ps256(each), _mm512_extractf32x8_ps::<1>(each));
        _mm_min_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps::<1>(half))
    }

    /// # Safety
    /// The processor has the instructions.
    #[target_feature(enable = "avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn filter_below512(filter: &BoundFilter<'_>, out: &mut Vec<u32>) -> Result<()> {
        let limit = _mm512_set1_ps(filter.limit);
        filter_blocks(
            filter,
            out,
            // Not `inline(always)`, which would lose the target features of this function.
            #[inline]
            |bounds| {
                // SAFETY: both halves of a block.
                let (low, high) =
                    unsafe { (_mm512_loadu_ps(bounds.as_ptr()), _mm512_loadu_ps(bounds.as_ptr().add(16))) };
                // No closure: inside library loops the instructions would become calls.
                let low = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(low, limit);
                let high = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(high, limit);
                u32::from(low) | u32::from(high) << 16
            },
        )
    }

    /// # Safety
    /// The processor has the instructions.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn filter_below256(filter: &BoundFilter<'_>, out: &mut Vec<u32>) -> Result<()> {
        let limit = _mm256_set1_ps(filter.limit);
        filter_blocks(
            filter,
            out,
            #[inline]
            |bounds| {
                let at = bounds.as_ptr();
                // SAFETY: the quarters of a block.
                let bounds = unsafe {
                    [
                        _mm256_loadu_ps(at),
                        _mm256_loadu_ps(at.add(8)),
                        _mm256_loadu_ps(at.add(16)),
                        _mm256_loadu_ps(at.add(24)),
                    ]
                };
                mask_below256(bounds, limit)
            },
        )
    }

    /// Bytes of the tables whose entries are added in 8 bits, with two tables per register.
    const GROUP256: usize = 2 * NARROW * TABLE;

    /// Write the bounds of all blocks.
    ///
    /// # Safety
    /// The processor has the instructions; the lengths are those that `Kernel::bounds` checks.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn bounds256(
        blocks: CodeBlocks<'_>,
        params: BoundParams<'_>,
        out: &mut [f32],
        minima: &mut [f32],
    ) {
        let registers = Registers256::of(params);
        for (quad, minima) in minima.chunks_mut(4).enumerate() {
            let mut lowest = [_mm256_set1_ps(f32::INFINITY); 4];
            for (position, lowest) in lowest.iter_mut().take(minima.len()).enumerate() {
                let number = 4 * quad + position;
                // SAFETY: the block exists, and so do its bounds.
                unsafe {
                    let [a, b, c, d] = block256(&blocks, &registers, number);
                    let out = out.as_mut_ptr().add(number * BLOCK);
                    _mm256_storeu_ps(out, a);
                    _mm256_storeu_ps(out.add(8), b);
                    _mm256_storeu_ps(out.add(16), c);
                    _mm256_storeu_ps(out.add(24), d);
                    *lowest = _mm256_min_ps(_mm256_min_ps(a, b), _mm256_min_ps(c, d));
                }
            }
            let mask = _mm_cmpgt_epi32(_mm_set1_epi32(minima.len() as i32), _mm_setr_epi32(0, 1, 2, 3));
            // SAFETY: the mask has a lane per minimum.
            unsafe { _mm_maskstore_ps(minima.as_mut_ptr(), mask, min_of_each256(lowest)) };
        }
    }

    /// # Safety
    /// As for `bounds256`; `out` has capacity for every row.
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    pub(super) unsafe fn scan_below256(
        blocks: CodeBlocks<'_>,
        params: BoundParams<'_>,
        limit: f32,
        first: u32,
        out: &mut Vec<u32>,
    ) {
        let limit = _mm256_set1_ps(limit);
        let registers = Registers256::of(params);
        for number in 0..blocks.offsets.len() / BLOCK {
            // SAFETY: as of this function.
            let bounds = unsafe { block256(&blocks, &registers, number) };
            push_set_bits(out, mask_below256(bounds, limit), first + (number * BLOCK) as u32);
        }
    }

    /// Return the rows of a block whose bounds are at most the limit.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn mask_below256([a, b, c, d]: [__m256; 4], limit: __m256) -> u32 {
        let a = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(a, limit)) as u32;
        let b = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(b, limit)) as u32;
        let c = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(c, limit)) as u32;
        let d = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(d, limit)) as u32;
        a | b << 8 | c << 16 | d << 24
    }

    /// Bound parameters in registers.
    struct Registers256<'a> {
        table: &'a [u8],
        step: __m256,
        low: __m256,
        reach: __m256,
        base: __m256,
    }

    impl<'a> Registers256<'a> {
        #[inline]
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn of(params: BoundParams<'a>) -> Self {
            Self {
                table: params.table,
                step: _mm256_set1_ps(params.step),
                low: _mm256_set1_ps(params.low),
                reach: _mm256_set1_ps(params.reach),
                base: _mm256_set1_ps(params.base),
            }
        }
    }

    /// Return the bounds of a block, eight rows per register.
    ///
    /// # Safety
    /// As for `bounds256`; block `number` exists.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    unsafe fn block256(blocks: &CodeBlocks<'_>, registers: &Registers256<'_>, number: usize) -> [__m256; 4] {
        let (size, table) = (registers.table.len(), registers.table.as_ptr());
        let (zero, nibble) = (_mm256_setzero_si256(), _mm256_set1_epi8(15));
        let mut sums = [zero; 4];
        for from in (0..size).step_by(SEGMENT * TABLE) {
            // Rows b and b + 1 in 16 bits: Σ (even + 256 odd) modulo 2^16, and Σ odd.
            let (mut pairs, mut odd) = ([zero; 2], [zero; 2]);
            for group in (from..(from + SEGMENT * TABLE).min(size)).step_by(GROUP256) {
                let mut narrow = [zero; 2];
                for register in 0..NARROW {
                    let at = group + register * 2 * TABLE;
                    // SAFETY: the block and the table have `size` bytes each; 32 from `at` on are read.
                    let (code, table) = unsafe {
                        (
                            _mm256_loadu_si256(blocks.codes.as_ptr().add(number * size + at).cast()),
                            _mm256_loadu_si256(table.add(at).cast()),
                        )
                    };
                    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(code), nibble);
                    narrow[0] = _mm256_add_epi8(narrow[0], _mm256_shuffle_epi8(table, _mm256_and_si256(code, nibble)));
                    narrow[1] = _mm256_add_epi8(narrow[1], _mm256_shuffle_epi8(table, high));
                }
                for half in 0..2 {
                    pairs[half] = _mm256_add_epi16(pairs[half], narrow[half]);
                    odd[half] = _mm256_add_epi16(odd[half], _mm256_srli_epi16::<8>(narrow[half]));
                }
            }
            let (pairs, odd) = (add_lanes(pairs), add_lanes(odd));
            let even = _mm256_sub_epi16(pairs, _mm256_slli_epi16::<8>(odd));
            // Rows 0 to 7 and 16 to 23, 8 to 15 and 24 to 31.
            let (low, high) = (_mm256_unpacklo_epi16(even, odd), _mm256_unpackhi_epi16(even, odd));
            let rows = [
                _mm256_castsi256_si128(low),
                _mm256_castsi256_si128(high),
                _mm256_extracti128_si256::<1>(low),
                _mm256_extracti128_si256::<1>(high),
            ];
            for part in 0..4 {
                sums[part] = _mm256_add_epi32(sums[part], _mm256_cvtepu16_epi32(rows[part]));
            }
        }
        let mut bounds = [_mm256_setzero_ps(); 4];
        for part in 0..4 {
            let row = number * BLOCK + part * 8;
            // SAFETY: the caller has checked that this block's values exist.
            let (width, factor, offset) = unsafe {
                (
                    _mm256_cvtepu8_epi32(_mm_loadl_epi64(blocks.widths.as_ptr().add(row).cast())),
                    _mm256_loadu_ps(blocks.factors.as_ptr().add(row)),
                    _mm256_loadu_ps(blocks.offsets.as_ptr().add(row)),
                )
            };
            let t = _mm256_add_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums[part]), registers.step), registers.low);
            let e = _mm256_add_ps(t, _mm256_mul_ps(_mm256_cvtepi32_ps(width), registers.reach));
            bounds[part] = _mm256_add_ps(_mm256_add_ps(offset, _mm256_mul_ps(factor, e)), registers.base);
        }
        bounds
    }

    /// Add both halves of each register, those of the first into the lower half of the result.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn add_lanes([a, b]: [__m256i; 2]) -> __m256i {
        _mm256_add_epi16(_mm256_blend_epi32::<0b1111_0000>(a, b), _mm256_permute2x128_si256::<0x21>(a, b))
    }

    /// Return the minimum of each of four registers.
    #[inline]
    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn min_of_each256([a, b, c, d]: [__m256; 4]) -> __m128 {
        let ab = _mm256_min_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let cd = _mm256_min_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        let each =
            _mm256_min_ps(_mm256_shuffle_ps::<0b01_00_01_00>(ab, cd), _mm256_shuffle_ps::<0b11_10_11_10>(ab, cd));
        _mm_min_ps(_mm256_castps256_ps128(each), _mm256_extractf128_ps::<1>(each))
    }
}

#[cfg(target_arch = "aarch64")]
mod arm {
    #[allow(clippy::wildcard_imports, reason = "intrinsics by their names")]
    use std::arch::aarch64::*;

    use super::{BLOCK, BoundParams, CodeBlocks, NARROW, SEGMENT, TABLE, finish_block};

    /// # Safety
    /// The lengths are those that `Kernel::bounds` checks; every processor of the architecture has the instructions.
    #[target_feature(enable = "neon")]
    pub(super) unsafe fn neon(blocks: CodeBlocks<'_>, params: BoundParams<'_>, out: &mut [f32], minima: &mut [f32]) {
        let size = params.table.len();
        let nibble = vdupq_n_u8(15);
        for (number, minimum) in minima.iter_mut().enumerate() {
            let mut sums = [0_i32; BLOCK];
            for from in (0..size).step_by(SEGMENT * TABLE) {
                let until = (from + SEGMENT * TABLE).min(size);
                // Rows 0 to 7, 8 to 15, 16 to 23, 24 to 31.
                let mut wide = [vdupq_n_u16(0); 4];
                for group in (from..until).step_by(NARROW * TABLE) {
                    let mut narrow = [vdupq_n_u8(0); 2];
                    for at in (group..(group + NARROW * TABLE).min(until)).step_by(TABLE) {
                        // SAFETY: the block and the table have `size` bytes each; 16 from `at` on are read.
                        let (code, table) = unsafe {
                            let codes = blocks.codes.as_ptr().add(number * size + at);
                            (vld1q_u8(codes), vld1q_u8(params.table.as_ptr().add(at)))
                        };
                        narrow[0] = vaddq_u8(narrow[0], vqtbl1q_u8(table, vandq_u8(code, nibble)));
                        narrow[1] = vaddq_u8(narrow[1], vqtbl1q_u8(table, vshrq_n_u8::<4>(code)));
                    }
                    for half in 0..2 {
                        wide[2 * half] = vaddw_u8(wide[2 * half], vget_low_u8(narrow[half]));
                        wide[2 * half + 1] = vaddw_high_u8(wide[2 * half + 1], narrow[half]);
                    }
                }
                for (part, wide) in wide.into_iter().enumerate() {
                    let mut rows = [0_u16; 8];
                    // SAFETY: eight sums.
                    unsafe { vst1q_u16(rows.as_mut_ptr(), wide) };
                    for (sum, row) in sums[8 * part..].iter_mut().zip(rows) {
                        *sum += i32::from(row);
                    }
                }
            }
            *minimum = finish_block(&blocks, number * BLOCK, &params, &sums, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_of_the_largest_entries_do_not_overflow() {
        for size in [64, 8192, 16384] {
            let (table, codes, widths) = (vec![STEPS as u8; 4 * size], vec![0; 4 * size], [0; BLOCK]);
            let params = BoundParams { table: &table, step: 1.0, low: 0.0, reach: 0.0, base: 0.0 };
            let blocks = CodeBlocks { codes: &codes, offsets: &[0.0; BLOCK], factors: &[1.0; BLOCK], widths: &widths };
            for kernel in Kernel::available() {
                let (mut out, mut minima) = ([0.0; BLOCK], [0.0]);
                kernel.bounds(blocks, params, &mut out, &mut minima);
                assert_eq!([STEPS * (size / 4) as f32; BLOCK], out, "{size} {kernel:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_kernel_gives_the_bits_of_the_plain_sum(seed: u64, pieces in 0usize..9, blocks in 0usize..5) {
            let size = [64, 128, 192, 256, 512, 1024, 8192, 8256, 16384][pieces];
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as u32
            };
            let table: Vec<u8> = (0..4 * size).map(|_| (next() % 32) as u8).collect();
            let codes: Vec<u8> = (0..blocks * 4 * size).map(|_| next() as u8).collect();
            let widths: Vec<u8> = (0..blocks * BLOCK).map(|_| next() as u8).collect();
            let mut real = |count: usize| -> Vec<f32> { (0..count).map(|_| next() as f32 / 1e9 - 1.0).collect() };
            let (offsets, factors, reals) = (real(blocks * BLOCK), real(blocks * BLOCK), real(4));
            let params =
                BoundParams { table: &table, step: reals[0], low: reals[1], reach: reals[2], base: reals[3] };
            let rows = CodeBlocks { codes: &codes, offsets: &offsets, factors: &factors, widths: &widths };
            let mut expected = Vec::new();
            for row in 0..blocks * BLOCK {
                let (block, position) = (row / BLOCK, row % BLOCK);
                let sum: u32 = (0..size / 4).map(|t| {
                    let code = codes[(block * size / 4 + t) * 16 + position % 16] >> (4 * (position / 16)) & 15;
                    u32::from(table[t * 16 + usize::from(code)])
                }).sum();
                let e = (sum as f32 * reals[0] + reals[1]) + f32::from(widths[row]) * reals[2];
                expected.push(((offsets[row] + factors[row] * e) + reals[3]).to_bits());
            }
            for kernel in Kernel::available() {
                let (mut out, mut minima) = (vec![0.0; blocks * BLOCK], vec![0.0; blocks]);
                kernel.bounds(rows, params, &mut out, &mut minima);
                let bits: Vec<u32> = out.iter().map(|bound| bound.to_bits()).collect();
                prop_assert_eq!(&expected, &bits, "{:?}", kernel);
                for (bounds, minimum) in out.chunks_exact(BLOCK).zip(&minima) {
                    prop_assert_eq!(bounds.iter().copied().fold(f32::INFINITY, f32::min), *minimum);
                }
                let limit = out.first().copied().unwrap_or(0.0);
                for limit in [limit, f32::INFINITY, f32::NEG_INFINITY] {
                    let (mut filtered, mut scanned) = (vec![9], vec![9]);
                    kernel.filter_below(&out, &minima, limit, 64, &mut filtered).expect("room");
                    kernel.scan_below(rows, params, limit, 64, &mut scanned).expect("room");
                    let below = (0..out.len()).filter(|&row| out[row] <= limit).map(|row| row as u32 + 64);
                    prop_assert_eq!(&filtered, &scanned, "{:?}", kernel);
                    prop_assert!(below.eq(filtered[1..].iter().copied()), "{:?}", kernel);
                }
            }
        }
    }
}
