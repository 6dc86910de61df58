//! Rotation codes as sections of an index's file; `docs/format-lsh.md` says what each holds.

use super::centroids::Centres;
use super::ivf::{Cells, NONE, largest, later};
use super::kernels::BLOCK;
use super::quantizer::RotationCodes;
use super::space::Space;
use super::{Drawn, Layout, Rotated};
use crate::index::lsh::Metric;
use crate::segment::{Column, Segment, Writer};
use crate::vectors::hadamard::size_of_rotation;
use crate::vectors::rotation::Rotation;
use crate::{Error, Result, alloc};

const ROTATION: u32 = 30;
const CENTRE: u32 = 31;
const BITS: u32 = 32;
const OFFSETS: u32 = 33;
const FACTORS: u32 = 34;
const WIDTHS: u32 = 35;
const CENTRES: u32 = 36;
const STARTS: u32 = 37;
const PLACES: u32 = 38;
/// Largest exponent of a scale.
const EXPONENT: u64 = 100;

impl RotationCodes {
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

impl Rotated {
    /// Writes the codes, which are in one piece.
    ///
    /// # Errors
    /// The file system refuses.
    pub(in super::super) fn save(&self, writer: &mut Writer) -> Result<()> {
        let (used, placed) = match &self.layout {
            Layout::Flat(codes) => (codes.used, codes.used),
            Layout::Cells(cells) => (cells.codes.used, cells.placed),
        };
        let exponent = u64::from(self.space.scale.to_bits() >> 23 & 255) + EXPONENT - 127;
        let about = [self.drawn.seed, self.drawn.stream, exponent, used as u64, placed as u64, self.num_cells() as u64];
        writer.section(ROTATION, 0, &about)?;
        writer.section(CENTRE, 0, &self.space.centre)?;
        match &self.layout {
            Layout::Flat(codes) => codes.save(writer),
            Layout::Cells(cells) => {
                cells.codes.save(writer)?;
                writer.section(CENTRES, 0, &cells.centres.values)?;
                writer.section(STARTS, 0, &cells.starts)?;
                writer.section(PLACES, 0, &cells.rows)
            }
        }
    }

    /// Opens what `save` wrote, of an index of `total` rows.
    ///
    /// # Errors
    /// The file system refuses; sections that do not fit each other.
    pub(in super::super) fn open(segment: &Segment, metric: Metric, dim: usize, total: usize) -> Result<Self> {
        for tag in [ROTATION, CENTRE] {
            segment.verify_one(tag, 0)?;
        }
        let about = segment.column::<u64>(ROTATION, 0)?;
        let &[seed, stream, exponent, used, placed, count] = &about[..] else {
            return Err(segment.corrupt("its description of codes has another length"));
        };
        let size = size_of_rotation(dim).map_err(|error| segment.corrupt(error.to_string()))?;
        let limit = u64::from(u32::MAX);
        if exponent > 2 * EXPONENT || used > limit || placed > used || count > limit {
            return Err(segment.corrupt("its description of codes holds a number out of range"));
        }
        super::check(metric).map_err(|error| segment.corrupt(error.to_string()))?;
        let centre = alloc::try_copy(&segment.column::<f32>(CENTRE, 0)?)?;
        if centre.len() != size || !centre.iter().all(|value| value.is_finite() && value.abs() < 1e18) {
            return Err(segment.corrupt("its centre is no vector of its dimension"));
        }
        let rotation = Rotation::new(seed, stream, 0, dim).map_err(|error| match error {
            Error::Parameter { .. } => segment.corrupt(error.to_string()),
            other => other,
        })?;
        let scale = f32::from_bits(((exponent + 127 - EXPONENT) as u32) << 23);
        let space = Space::opened(metric, rotation, dim, scale, centre);
        let codes = RotationCodes::open(segment, size, used as usize)?;
        let layout = if count == 0 {
            if used != total as u64 || placed != used {
                return Err(segment.corrupt("its codes are not as many as its rows"));
            }
            Layout::Flat(codes)
        } else {
            for tag in [CENTRES, STARTS] {
                segment.verify_one(tag, 0)?;
            }
            let (centres, starts) = (segment.column::<f32>(CENTRES, 0)?, segment.column::<u32>(STARTS, 0)?);
            let count = count as usize;
            let rows: Column<u32> = segment.column(PLACES, 0)?;
            let shaped = centres.len() == count * size
                && starts.len() == count + 1
                && rows.len() == codes.offsets.len()
                && codes.used == rows.len()
                && placed <= total as u64
                && starts.first() == Some(&0)
                && starts.last().is_some_and(|&end| end as usize == codes.blocks())
                && starts.windows(2).all(|pair| pair[0] <= pair[1])
                && centres.iter().all(|value| value.is_finite() && value.abs() < 1e18);
            if !shaped {
                return Err(segment.corrupt("the arrays of its cells do not fit each other"));
            }
            let cells = Cells::around(Centres::around(centres, size)?.weighted(&space)?, size)?;
            let (later, largest, placed) = (later(size, count)?, largest(&starts), placed as usize);
            Layout::Cells(Box::new(Cells { starts, codes, rows, placed, later, added: 0, largest, ..cells }))
        };
        Ok(Self { drawn: Drawn { seed, stream }, space, layout, idle: std::sync::Mutex::default() })
    }

    /// Whether numbers are those of rows, and each place names a row, none of them twice.
    pub(in super::super) fn is_sound(&self, total: usize) -> Result<bool> {
        Ok(match &self.layout {
            Layout::Flat(codes) => codes.is_sound(),
            Layout::Cells(cells) => {
                let mut seen = alloc::try_zeroed::<u64>(total.div_ceil(64))?;
                let mut named = 0;
                let each = cells.rows.iter().zip(cells.codes.offsets.iter()).all(|(&row, offset)| {
                    if row == NONE {
                        return *offset == f32::INFINITY;
                    }
                    let Some(word) = seen.get_mut(row as usize / 64) else { return false };
                    let first = (row as usize) < total && *word >> (row % 64) & 1 == 0;
                    *word |= 1 << (row % 64);
                    named += 1;
                    first && offset.is_finite()
                });
                each && named == cells.placed && cells.codes.is_sound() && cells.rows.len().is_multiple_of(BLOCK)
            }
        })
    }
}
