//! Arrays of numbers in memory or in a mapped file.

use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use super::memory::Memory;
use crate::Result;
use crate::alloc;
use crate::alloc::Plain;
use crate::cancel::CancelToken;

/// Number of values copied between two cancellation points.
const COPIED: usize = if cfg!(test) { 4 } else { 1 << 20 };

/// An array in memory or in a mapped file.
#[derive(Debug, Clone)]
pub struct Column<T: Plain>(Storage<T>);

#[derive(Debug, Clone)]
enum Storage<T: Plain> {
    /// In memory.
    Owned(Vec<T>),
    /// In a file.
    Mapped(Mapped<T>),
}

/// Values in a file. [`Mapped::new`] has checked that they are inside the file and aligned: a value is the proof.
#[derive(Debug, Clone)]
struct Mapped<T> {
    memory: Arc<Memory>,
    /// Byte offset of the first value.
    offset: usize,
    /// Number of values.
    length: usize,
    values: PhantomData<T>,
}

impl<T: Plain> Mapped<T> {
    /// Return the values in `bytes` bytes from `offset`; None unless they are inside the file, aligned and complete.
    fn new(memory: Arc<Memory>, offset: usize, bytes: usize) -> Option<Self> {
        let part = memory.get(offset..offset.checked_add(bytes)?)?;
        let fits = part.as_ptr().cast::<T>().is_aligned() && bytes.is_multiple_of(size_of::<T>());
        fits.then(|| Self { memory, offset, length: bytes / size_of::<T>(), values: PhantomData })
    }

    #[inline]
    fn values(&self) -> &[T] {
        // SAFETY: `new` has checked bounds and alignment, the file's bytes neither move nor disappear while `memory`
        // lives, and any bits are a `T`.
        unsafe { std::slice::from_raw_parts(self.memory.start().add(self.offset).cast(), self.length) }
    }
}

impl<T: Plain> Default for Column<T> {
    fn default() -> Self {
        Self(Storage::Owned(Vec::new()))
    }
}

impl<T: Plain> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Storage::Owned(values))
    }
}

impl<T: Plain> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Owned(values) => values,
            Storage::Mapped(mapped) => mapped.values(),
        }
    }
}

impl<T: Plain> Column<T> {
    /// Return the values in `bytes` bytes of a file from `offset`; None unless they are inside the file, aligned and
    /// complete.
    pub(super) fn mapped(memory: Arc<Memory>, offset: usize, bytes: usize) -> Option<Self> {
        Mapped::new(memory, offset, bytes).map(|mapped| Self(Storage::Mapped(mapped)))
    }

    /// Return the values for modification; mapped values are copied into memory first (copy large ones with
    /// [`Column::own`]).
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Storage::Mapped(mapped) = &self.0 {
            self.0 = Storage::Owned(mapped.values().to_vec());
        }
        match &mut self.0 {
            Storage::Owned(values) => values,
            Storage::Mapped(_) => unreachable!("copied above"),
        }
    }

    /// Copy mapped values into memory, so that `to_mut` is free.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out; the values are unchanged.
    pub fn own(&mut self, cancel: &CancelToken) -> Result<()> {
        self.reserve(0, cancel)
    }

    /// Reserve capacity for `count` more values. Mapped values are copied into memory, so that `to_mut` is free and
    /// appending `count` values can't fail.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out; the values are unchanged.
    pub fn reserve(&mut self, count: usize, cancel: &CancelToken) -> Result<()> {
        match &mut self.0 {
            Storage::Owned(values) => alloc::try_reserve(values, count),
            Storage::Mapped(mapped) => {
                let values = mapped.values();
                let mut copy = alloc::try_with_capacity(values.len().saturating_add(count))?;
                for chunk in values.chunks(COPIED) {
                    cancel.check()?;
                    copy.extend_from_slice(chunk);
                }
                self.0 = Storage::Owned(copy);
                Ok(())
            }
        }
    }

    /// Append values.
    ///
    /// # Errors
    /// The call is cancelled, or memory runs out; the values are unchanged.
    pub fn append(&mut self, new: &[T], cancel: &CancelToken) -> Result<()> {
        self.reserve(new.len(), cancel)?;
        let values = self.to_mut();
        let before = values.len();
        for chunk in new.chunks(COPIED) {
            if let Err(error) = cancel.check() {
                values.truncate(before);
                return Err(error);
            }
            values.extend_from_slice(chunk);
        }
        Ok(())
    }

    /// Return the number of bytes in memory; 0 for mapped values.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Storage::Owned(values) => values.capacity() * size_of::<T>(),
            Storage::Mapped(_) => 0,
        }
    }

    /// True if the values are in a mapped file.
    #[cfg(test)]
    pub(super) fn is_mapped(&self) -> bool {
        matches!(self.0, Storage::Mapped(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_column_lies_in_its_file_aligned_and_whole() {
        let path = std::env::temp_dir().join(format!("nearkin-column-{}", std::process::id()));
        std::fs::write(&path, [1_u8; 40]).expect("writable");
        let memory = Arc::new(Memory::of(&std::fs::File::open(&path).expect("there")).expect("readable"));
        std::fs::remove_file(&path).expect("there");
        let column = |offset, bytes| Column::<u64>::mapped(Arc::clone(&memory), offset, bytes);
        let words = |count| Some(vec![0x0101_0101_0101_0101; count]);
        let found = [column(0, 40), column(8, 8), column(40, 0)].map(|column| column.map(|column| column.to_vec()));
        assert_eq!([words(5), words(1), words(0)], found);
        // Beyond the end, misaligned, a fraction of a value, overflow.
        for (offset, bytes) in [(0, 48), (48, 0), (4, 8), (0, 12), (usize::MAX - 7, 16)] {
            assert!(column(offset, bytes).is_none(), "{offset} {bytes}");
        }
        let mut column = column(0, 40).expect("it lies in the file");
        assert!(column.is_mapped() && column.bytes() == 0);
        column.to_mut().push(2);
        assert_eq!((false, 6), (column.is_mapped(), column.len()));
    }
}
