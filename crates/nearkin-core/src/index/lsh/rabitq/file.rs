//! RaBitQ codes as sections of an index file; `docs/format-lsh.md` documents each section.

use crate::parallel::prelude::*;

use super::centroids::Centroids;
use super::ivf::{Ivf, NONE, max_blocks, no_appended_rows};
use super::kernels::BLOCK;
use super::quantizer::{CodeTable, VectorTransform};
use super::{Layout, RaBitQIndex, RotationSeed};
use crate::cancel::CancelToken;
use crate::cpu::features::Instructions;
use crate::index::lsh::kernels::Metric;
use crate::index::lsh::vectors::Vectors;
use crate::segment::{Column, Segment, Writer};
use crate::vectors::hadamard::size_of_rotation;
use crate::vectors::rotation::Rotation;
use crate::{Error, Result, alloc};

const ROTATION: u32 = 30;
const MEAN: u32 = 31;
const BITS: u32 = 32;
const OFFSETS: u32 = 33;
const FACTORS: u32 = 34;
const WIDTHS: u32 = 35;
const CENTROIDS: u32 = 36;
const STARTS: u32 = 37;
const ROWS: u32 = 38;
/// Largest exponent of a scale.
const EXPONENT: u64 = 100;

impl CodeTable {
    fn save(&self, writer: &mut Writer) -> Result<()> {
        writer.section(BITS, 0, &self.codes)?;
        writer.section(OFFSETS, 0, &self.offsets)?;
        writer.section(FACTORS, 0, &self.factors)?;
        writer.section(WIDTHS, 0, &self.widths)
    }

    fn open(segment: &Segment, size: usize, used: usize) -> Result<Self> {
        let codes = Self {
            size,
            used,
            codes: segment.column(BITS, 0)?,
            offsets: segment.column(OFFSETS, 0)?,
            factors: segment.column(FACTORS, 0)?,
            widths: segment.column(WIDTHS, 0)?,
        };
        if !codes.is_shaped() {
            return Err(segment.corrupt("the arrays of its codes have other lengths"));
        }
        Ok(codes)
    }
}

/// True if all values are finite and far from overflow.
fn in_range(values: &[f32]) -> bool {
    values.iter().all(|value| value.is_finite() && value.abs() < 1e18)
}

impl RaBitQIndex {
    /// Write the codes, which must be merged.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(in super::super) fn save(&self, writer: &mut Writer) -> Result<()> {
        let (used, num_rows) = match &self.layout {
            Layout::Flat(codes) => (codes.used, codes.used),
            Layout::Ivf(ivf) => (ivf.codes.used, ivf.num_rows),
        };
        let exponent = u64::from(self.transform.scale.to_bits() >> 23 & 255) + EXPONENT - 127;
        let partitions = self.num_partitions() as u64;
        let about = [self.seed.seed, self.seed.stream, exponent, used as u64, num_rows as u64, partitions];
        writer.section(ROTATION, 0, &about)?;
        writer.section(MEAN, 0, &self.transform.mean)?;
        match &self.layout {
            Layout::Flat(codes) => codes.save(writer),
            Layout::Ivf(ivf) => {
                ivf.codes.save(writer)?;
                writer.section(CENTROIDS, 0, &ivf.centroids.values)?;
                writer.section(STARTS, 0, &ivf.starts)?;
                writer.section(ROWS, 0, &ivf.rows)
            }
        }
    }

    /// Open what `save` wrote, for an index of `total` rows.
    ///
    /// # Errors
    /// The file cannot be read, or its sections contradict each other.
    pub(in super::super) fn open(segment: &Segment, metric: Metric, dim: usize, total: usize) -> Result<Self> {
        for tag in [ROTATION, MEAN] {
            segment.verify_one(tag, 0)?;
        }
        let about = segment.column::<u64>(ROTATION, 0)?;
        let &[seed, stream, exponent, used, num_rows, partitions] = &about[..] else {
            return Err(segment.corrupt("its description of codes has another length"));
        };
        let size = size_of_rotation(dim).map_err(|error| segment.corrupt(error.to_string()))?;
        let limit = u64::from(u32::MAX);
        if exponent > 2 * EXPONENT || used > limit || num_rows > used || partitions > limit {
            return Err(segment.corrupt("its description of codes holds a number out of range"));
        }
        super::check(metric).map_err(|error| segment.corrupt(error.to_string()))?;
        let mean = alloc::try_copy(&segment.column::<f32>(MEAN, 0)?)?;
        if mean.len() != size || !in_range(&mean) {
            return Err(segment.corrupt("its centre is no vector of its dimension"));
        }
        let rotation = Rotation::new(seed, stream, 0, dim).map_err(|error| match error {
            Error::Parameter { .. } => segment.corrupt(error.to_string()),
            other => other,
        })?;
        let scale = f32::from_bits(((exponent + 127 - EXPONENT) as u32) << 23);
        let transform = VectorTransform::from_parts(metric, rotation, dim, scale, mean);
        let codes = CodeTable::open(segment, size, used as usize)?;
        let layout = if partitions == 0 {
            if used != total as u64 || num_rows != used {
                return Err(segment.corrupt("its codes are not as many as its rows"));
            }
            Layout::Flat(codes)
        } else {
            for tag in [CENTROIDS, STARTS] {
                segment.verify_one(tag, 0)?;
            }
            let (values, starts) = (segment.column::<f32>(CENTROIDS, 0)?, segment.column::<u32>(STARTS, 0)?);
            let count = partitions as usize;
            let rows: Column<u32> = segment.column(ROWS, 0)?;
            let shaped = values.len() == count * size
                && starts.len() == count + 1
                && rows.len() == codes.offsets.len()
                && codes.used == rows.len()
                && num_rows <= total as u64
                && starts.first() == Some(&0)
                && starts.last().is_some_and(|&end| end as usize == codes.blocks())
                && starts.is_sorted()
                && in_range(&values);
            if !shaped {
                return Err(segment.corrupt("the arrays of its cells do not fit each other"));
            }
            let ivf = Ivf::new(Centroids::new(values, size)?.weighted(&transform)?, size)?;
            let (appended, max_blocks) = (no_appended_rows(size, count)?, max_blocks(&starts));
            let num_rows = num_rows as usize;
            Layout::Ivf(Box::new(Ivf { starts, codes, rows, num_rows, appended, num_appended: 0, max_blocks, ..ivf }))
        };
        let seed = RotationSeed { seed, stream };
        Ok(Self { seed, transform, layout, scratch_pool: std::sync::Mutex::default() })
    }

    /// Iterate over the rows that have codes.
    pub(in super::super) fn rows(&self) -> impl Iterator<Item = u32> {
        let (flat, ivf) = match &self.layout {
            Layout::Flat(codes) => (0..codes.used as u32, None),
            Layout::Ivf(ivf) => (0..0, Some(ivf)),
        };
        let appended = ivf.into_iter().flat_map(|ivf| ivf.appended.iter().flat_map(|appended| &appended.rows));
        let rows = ivf.into_iter().flat_map(|ivf| ivf.rows.iter()).chain(appended);
        flat.chain(rows.copied().filter(|&row| row != NONE))
    }

    /// True if each code of the file is that of its vector, and positions without a row are never found.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out.
    pub(in super::super) fn is_sound(&self, vectors: Vectors<'_>) -> Result<bool> {
        let (codes, num_rows) = match &self.layout {
            Layout::Flat(codes) => (codes, codes.used),
            Layout::Ivf(ivf) => (&ivf.codes, ivf.num_rows),
        };
        let row_at = |position: usize| match &self.layout {
            Layout::Flat(codes) => {
                if position < codes.used {
                    position as u32
                } else {
                    NONE
                }
            }
            Layout::Ivf(ivf) => ivf.rows[position],
        };
        let (instructions, cancel) = (Instructions::best(), &CancelToken::current());
        let counts = alloc::try_map_parallel((0..codes.blocks()).into_par_iter().map(|block| {
            cancel.check()?;
            let partition = match &self.layout {
                Layout::Flat(_) => 0,
                Layout::Ivf(ivf) => ivf.starts.partition_point(|&start| start as usize <= block) as u32 - 1,
            };
            let (mut point, mut signs) = (Vec::new(), alloc::try_zeroed::<u64>(self.size() / 64)?);
            let mut stored = alloc::try_zeroed::<u64>(self.size() / 64)?;
            let mut count = 0;
            for position in block * BLOCK..(block + 1) * BLOCK {
                let correction = codes.get(position, &mut stored);
                let row = row_at(position);
                if row == NONE {
                    if correction.offset != f32::INFINITY || !correction.factor.is_finite() {
                        return Ok(None);
                    }
                    continue;
                }
                let Ok(transformed) = self.transform.apply(instructions, vectors, row as usize, &mut point) else {
                    return Ok(None);
                };
                let expected = self.encode_in(partition, transformed, &mut point, instructions, &mut signs);
                if stored != signs || correction != expected {
                    return Ok(None);
                }
                count += 1;
            }
            Ok(Some(count))
        }))?;
        Ok(counts.into_iter().sum::<Option<usize>>() == Some(num_rows))
    }
}
