//! Arrays of numbers as they lie in memory or in a mapped file.

use std::ops::Deref;
use std::sync::Arc;

use super::memory::Memory;

/// Numbers that a file may hold as they lie in memory: any bits are a value.
///
/// # Safety
/// The type has no padding and every bit pattern is valid.
pub unsafe trait Plain: Copy + 'static {}
// SAFETY: integers.
unsafe impl Plain for u8 {}
// SAFETY: integers.
unsafe impl Plain for u16 {}
// SAFETY: integers.
unsafe impl Plain for u32 {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: integers.
unsafe impl Plain for i64 {}
// SAFETY: every bit pattern is a number, an infinity or a NaN.
unsafe impl Plain for f32 {}
// SAFETY: as for `f32`.
unsafe impl Plain for f64 {}

/// The bytes of numbers.
pub fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: `T` has no padding, and the length is that of the same memory.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// An array in memory or in a mapped file.
#[derive(Debug, Clone)]
pub enum Column<T: Plain> {
    /// In memory.
    Owned(Vec<T>),
    /// `length` values from `offset` of a file.
    Mapped {
        /// The file.
        memory: Arc<Memory>,
        /// Byte at which the values begin, aligned for `T`.
        offset: usize,
        /// How many values.
        length: usize,
    },
}

impl<T: Plain> Default for Column<T> {
    fn default() -> Self {
        Self::Owned(Vec::new())
    }
}

impl<T: Plain> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        Self::Owned(values)
    }
}

impl<T: Plain> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(values) => values,
            // SAFETY: `Segment::column` has checked bounds and alignment; the file's bytes live as long as this value.
            Self::Mapped { memory, offset, length } => unsafe {
                std::slice::from_raw_parts(memory.as_ptr().add(*offset).cast(), *length)
            },
        }
    }
}

impl<T: Plain> Column<T> {
    /// The values to change, copied into memory first if they are mapped.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Self::Mapped { .. } = self {
            *self = Self::Owned(self.to_vec());
        }
        match self {
            Self::Owned(values) => values,
            Self::Mapped { .. } => unreachable!("copied above"),
        }
    }

    /// Bytes in memory; none for what is mapped.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Owned(values) => values.capacity() * size_of::<T>(),
            Self::Mapped { .. } => 0,
        }
    }

    /// Whether the values lie in a file.
    pub fn is_mapped(&self) -> bool {
        matches!(self, Self::Mapped { .. })
    }
}
