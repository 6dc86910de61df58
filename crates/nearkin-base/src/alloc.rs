//! Fallible allocation for arrays whose length depends on data: memory is reserved before use, and a refusal is an
//! error.
//!
//! When memory runs out, the standard library aborts the process. Therefore every allocation whose size depends on a
//! file, a batch or an argument uses a function of this module, which returns [`Error::Memory`] and leaves the object
//! unchanged. Allocations bounded by a constant (task buffers, descriptions, messages) use the standard library.
//!
//! | need | call |
//! |---|---|
//! | an empty list with capacity | [`try_with_capacity`] |
//! | zeros, repeated values, a copy, the items of an iterator | [`try_zeroed`], [`try_filled`], [`try_copy`], [`try_collect`] |
//! | more capacity in a list, string, map, set or heap | [`try_reserve`], [`try_extend`], [`try_resize`], [`try_reserve_str`], [`try_reserve_map`], [`try_reserve_set`], [`try_reserve_heap`] |
//! | the results of many tasks, parallel or sequential | [`try_collect_parallel`], [`try_map_parallel`], [`try_map`] |
//! | a value that is initialized once per process | [`TryOnce`] |
//! | a list of unknown length, built where no error can be returned | [`BestEffortVec`] |
//!
//! Systems that overcommit memory refuse only sizes that are far too large; they kill the process when it touches the
//! pages.

use std::alloc::Layout;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::parallel::prelude::*;

use crate::{Error, Result};

/// A number type that can be read from any bytes in memory or in a file.
///
/// # Safety
/// The type has no padding and every bit pattern is valid.
pub unsafe trait Plain: Copy + 'static {}
// SAFETY: integers.
unsafe impl Plain for u8 {}
// SAFETY: integers.
unsafe impl Plain for i8 {}
// SAFETY: integers.
unsafe impl Plain for u16 {}
// SAFETY: integers.
unsafe impl Plain for u32 {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: integers.
unsafe impl Plain for usize {}
// SAFETY: integers.
unsafe impl Plain for i64 {}
// SAFETY: every bit pattern is a number, an infinity or a NaN.
unsafe impl Plain for f32 {}
// SAFETY: as for `f32`.
unsafe impl Plain for f64 {}

/// Return the bytes of an array of numbers.
pub fn as_bytes<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: `T` has no padding, and the length is the size of `values` in bytes.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Build the error for an allocation of `count` values that failed.
fn refused<T>(count: usize) -> Error {
    Error::Memory { bytes: count.saturating_mul(size_of::<T>()) }
}

/// Return an empty list with capacity for `count` values.
///
/// # Errors
/// Memory runs out.
pub fn try_with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| refused::<T>(count))?;
    Ok(values)
}

/// Reserve capacity for `count` more values, with the usual amortized growth.
///
/// # Errors
/// Memory runs out; the list is unchanged.
#[inline]
pub fn try_reserve<T>(values: &mut Vec<T>, count: usize) -> Result<()> {
    values.try_reserve(count).map_err(|_| refused::<T>(values.len().saturating_add(count)))
}

/// Return `count` copies of a value.
///
/// # Errors
/// Memory runs out.
pub fn try_filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut values = try_with_capacity(count)?;
    values.resize(count, value);
    Ok(values)
}

/// Return `count` zeros; large arrays use pages that the system has already cleared.
///
/// # Errors
/// Memory runs out.
pub fn try_zeroed<T: Plain>(count: usize) -> Result<Vec<T>> {
    let layout = Layout::array::<T>(count).map_err(|_| refused::<T>(count))?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout has a nonzero size.
    let begin = unsafe { std::alloc::alloc_zeroed(layout) };
    if begin.is_null() {
        return Err(refused::<T>(count));
    }
    let slice = std::ptr::slice_from_raw_parts_mut(begin.cast::<T>(), count);
    // SAFETY: the global allocator returned memory for `count` values with the layout of a slice of them, and zeros are
    // valid values.
    Ok(unsafe { Box::from_raw(slice) }.into_vec())
}

/// Return a copy of a slice.
///
/// # Errors
/// Memory runs out.
pub fn try_copy<T: Copy>(values: &[T]) -> Result<Vec<T>> {
    let mut copy = try_with_capacity(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// Collect the items of an iterator of known length.
///
/// # Errors
/// Memory runs out.
pub fn try_collect<I: ExactSizeIterator>(items: I) -> Result<Vec<I::Item>> {
    let mut values = try_with_capacity(items.len())?;
    values.extend(items);
    Ok(values)
}

/// Concatenate lists.
///
/// # Errors
/// Memory runs out.
pub fn try_concat<T>(parts: Vec<Vec<T>>) -> Result<Vec<T>> {
    let mut all = try_with_capacity(parts.iter().map(Vec::len).sum())?;
    for part in parts {
        all.extend(part);
    }
    Ok(all)
}

/// Replace counts by their prefix sums.
pub fn prefix_sums<T: Copy + std::ops::AddAssign>(counts: &mut [T]) {
    for i in 1..counts.len() {
        let before = counts[i - 1];
        counts[i] += before;
    }
}

/// Append a copy of a slice.
///
/// # Errors
/// Memory runs out; the list is unchanged.
#[inline]
pub fn try_extend<T: Copy>(values: &mut Vec<T>, new: &[T]) -> Result<()> {
    try_reserve(values, new.len())?;
    values.extend_from_slice(new);
    Ok(())
}

/// Resize a list to `count` values; new ones are copies of `value`.
///
/// # Errors
/// Memory runs out; the list is unchanged.
#[inline]
pub fn try_resize<T: Clone>(values: &mut Vec<T>, count: usize, value: T) -> Result<()> {
    try_reserve(values, count.saturating_sub(values.len()))?;
    values.resize(count, value);
    Ok(())
}

/// Reserve `bytes` more bytes in a string.
///
/// # Errors
/// Memory runs out; the text is unchanged.
#[inline]
pub fn try_reserve_str(text: &mut String, bytes: usize) -> Result<()> {
    text.try_reserve(bytes).map_err(|_| refused::<u8>(text.len().saturating_add(bytes)))
}

/// Return a copy of a string.
///
/// # Errors
/// Memory runs out.
pub fn try_string(original: &str) -> Result<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(original.len()).map_err(|_| refused::<u8>(original.len()))?;
    copy.push_str(original);
    Ok(copy)
}

/// Reserve capacity for `count` more entries of a map.
///
/// # Errors
/// Memory runs out; the table is unchanged.
pub fn try_reserve_map<K: Eq + Hash, V, S: BuildHasher>(table: &mut HashMap<K, V, S>, count: usize) -> Result<()> {
    table.try_reserve(count).map_err(|_| refused::<(K, V)>(table.len().saturating_add(count)))
}

/// Reserve capacity for `count` more members of a set.
///
/// # Errors
/// Memory runs out; the set is unchanged.
pub fn try_reserve_set<T: Eq + Hash, S: BuildHasher>(set: &mut HashSet<T, S>, count: usize) -> Result<()> {
    set.try_reserve(count).map_err(|_| refused::<T>(set.len().saturating_add(count)))
}

/// Reserve capacity for `count` more values in a heap.
///
/// # Errors
/// Memory runs out; the heap is unchanged.
#[inline]
pub fn try_reserve_heap<T: Ord>(heap: &mut BinaryHeap<T>, count: usize) -> Result<()> {
    heap.try_reserve(count).map_err(|_| refused::<T>(heap.len().saturating_add(count)))
}

/// Collect the results of parallel tasks, in order.
///
/// # Errors
/// Memory runs out.
pub fn try_collect_parallel<P: Parallel<Item: Send>>(tasks: P) -> Result<Vec<P::Item>> {
    let mut values = try_with_capacity(tasks.len())?;
    tasks.collect_into(&mut values);
    Ok(values)
}

/// Collect the results of parallel tasks that may fail, in order.
///
/// # Errors
/// The first error of a task; memory runs out.
pub fn try_map_parallel<T: Send>(tasks: impl Parallel<Item = Result<T>>) -> Result<Vec<T>> {
    try_map(try_collect_parallel(tasks)?.into_iter())
}

/// Collect results sequentially until one fails.
///
/// # Errors
/// The first error of a task; memory runs out.
pub fn try_map<T>(tasks: impl ExactSizeIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut values = try_with_capacity(tasks.len())?;
    for value in tasks {
        values.push(value?);
    }
    Ok(values)
}

/// A value that is initialized at its first use and then never changes; concurrent callers wait for the initialization.
#[derive(Debug)]
pub struct TryOnce<T> {
    value: OnceLock<T>,
    lock: Mutex<()>,
}

impl<T> TryOnce<T> {
    /// Create an uninitialized value.
    #[allow(clippy::new_without_default, reason = "made as a constant")]
    pub const fn new() -> Self {
        Self { value: OnceLock::new(), lock: Mutex::new(()) }
    }

    /// Return the value, initializing it with `init` at the first call.
    ///
    /// # Errors
    /// The error of `init`; the next call tries again.
    pub fn get_or_init(&self, init: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let _turn = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = self.value.get() {
            return Ok(value);
        }
        let value = init()?;
        Ok(self.value.get_or_init(|| value))
    }
}

/// A list that grows as long as memory lasts. When an allocation fails, it drops its values, ignores new ones, and
/// [`BestEffortVec::into_vec`] returns the error.
#[derive(Debug)]
pub struct BestEffortVec<T> {
    values: Vec<T>,
    /// Number of values for which allocation failed.
    refused: Option<usize>,
}

impl<T> Default for BestEffortVec<T> {
    fn default() -> Self {
        Self { values: Vec::new(), refused: None }
    }
}

impl<T> BestEffortVec<T> {
    /// Return an empty list with capacity for `count` values.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn try_with_capacity(count: usize) -> Result<Self> {
        Ok(Self { values: try_with_capacity(count)?, refused: None })
    }

    /// Remove all values and reset the error.
    pub fn clear(&mut self) {
        self.values.clear();
        self.refused = None;
    }

    /// Append a value.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.values.len() < self.values.capacity() || self.grow() {
            self.values.push(value);
        }
    }

    /// Reserve capacity for one more value; false if memory ran out.
    #[cold]
    fn grow(&mut self) -> bool {
        if self.refused.is_none() && self.values.try_reserve(1).is_err() {
            self.refused = Some(self.values.len() + 1);
            self.values = Vec::new();
        }
        self.refused.is_none()
    }

    /// Return the number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Return the values for sorting or truncating.
    pub fn values(&mut self) -> &mut Vec<T> {
        &mut self.values
    }

    /// Return all values.
    ///
    /// # Errors
    /// An earlier allocation failed.
    pub fn all(&self) -> Result<&[T]> {
        match self.refused {
            None => Ok(&self.values),
            Some(count) => Err(refused::<T>(count)),
        }
    }

    /// Return all values as a `Vec`.
    ///
    /// # Errors
    /// An earlier allocation failed.
    pub fn into_vec(self) -> Result<Vec<T>> {
        match self.refused {
            None => Ok(self.values),
            Some(count) => Err(refused::<T>(count)),
        }
    }
}

impl<T> Extend<T> for BestEffortVec<T> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.push(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_is_there_is_given() {
        assert_eq!(
            (0, true),
            (
                try_with_capacity::<u64>(9).expect("room").len(),
                try_with_capacity::<u64>(9).expect("room").capacity() >= 9
            )
        );
        assert_eq!(vec![0_u32; 5], try_zeroed::<u32>(5).expect("room"));
        assert_eq!(Vec::<u64>::new(), try_zeroed::<u64>(0).expect("room"));
        assert_eq!(vec![7_u8; 5], try_filled(7, 5).expect("room"));
        assert_eq!(vec![3_i64, 1], try_copy(&[3, 1]).expect("room"));
        assert_eq!(vec![0_u32, 2, 4], try_collect((0..3).map(|i| 2 * i)).expect("room"));
        let mut values = vec![1_u16];
        try_reserve(&mut values, 100).expect("room");
        try_extend(&mut values, &[2, 3]).expect("room");
        assert_eq!(vec![1, 2, 3], values);
        try_resize(&mut values, 5, 9).expect("room");
        assert_eq!(vec![1, 2, 3, 9, 9], values);
        try_resize(&mut values, 1, 9).expect("room");
        let mut name = try_string("né").expect("room");
        try_reserve_str(&mut name, 100).expect("room");
        assert_eq!(("né", true), (name.as_str(), name.capacity() > 100));
        let mut table = HashMap::from([(1, 'a')]);
        try_reserve_map(&mut table, 100).expect("room");
        try_reserve_heap(&mut BinaryHeap::from([7]), 100).expect("room");
        let mut set = HashSet::from([7]);
        try_reserve_set(&mut set, 100).expect("room");
        assert_eq!((true, true), (table.capacity() > 100, set.capacity() > 100));
        assert_eq!(vec![0, 2, 4], try_collect_parallel((0..3_usize).into_par_iter().map(|i| 2 * i)).expect("room"));
        let up_to = |max: usize| {
            try_map_parallel((0..9_usize).into_par_iter().map(|i| if i < max { Ok(i) } else { Err(Error::Forked) }))
        };
        assert_eq!((0..9).collect::<Vec<usize>>(), up_to(9).expect("no task fails"));
        assert!(matches!(up_to(5), Err(Error::Forked)));
        let sequential = |max: i32| try_map((0..9_i32).map(|i| if i < max { Ok(i) } else { Err(Error::Forked) }));
        assert_eq!((0..9).collect::<Vec<i32>>(), sequential(9).expect("no task fails"));
        assert!(matches!(sequential(5), Err(Error::Forked)));
        assert_eq!((1, true), (values.len(), values.capacity() > 100));
        let mut growing = BestEffortVec::try_with_capacity(1).expect("room");
        growing.extend(0..9);
        growing.clear();
        growing.push(1);
        growing.extend(2..1000);
        assert_eq!((1..1000).collect::<Vec<i32>>(), growing.all().expect("room"));
        assert_eq!((999, false), (growing.len(), growing.is_empty()));
        assert_eq!((1..1000).collect::<Vec<i32>>(), growing.into_vec().expect("room"));
    }

    #[test]
    fn what_is_refused_once_is_made_later_and_then_stays() {
        let once = TryOnce::new();
        assert!(matches!(once.get_or_init(|| try_with_capacity::<u64>(usize::MAX)), Err(Error::Memory { .. })));
        assert_eq!(&vec![7], once.get_or_init(|| try_copy(&[7])).expect("room"));
        assert_eq!(&vec![7], once.get_or_init(|| Err(Error::Forked)).expect("made"));
    }

    #[test]
    fn zeros_are_a_list_like_any_other() {
        let mut values = try_zeroed::<f64>(3).expect("room");
        values.extend([1.0, 2.0]);
        values.shrink_to_fit();
        assert_eq!(vec![0.0, 0.0, 0.0, 1.0, 2.0], values);
    }

    #[test]
    fn room_that_is_not_there_is_an_error_with_its_bytes() {
        for count in [usize::MAX / 8, usize::MAX / 4, usize::MAX] {
            let errors = [
                try_with_capacity::<u64>(count).map(drop),
                try_zeroed::<u64>(count).map(drop),
                try_filled(1_u64, count).map(drop),
                try_reserve(&mut vec![1_u64], count).map(drop),
                try_resize(&mut vec![1_u64], count, 1),
                try_reserve_str(&mut "name".to_owned(), count),
                BestEffortVec::<u64>::try_with_capacity(count).map(drop),
                try_reserve_map(&mut HashMap::from([(1_u64, 2_u64)]), count),
                try_reserve_set(&mut HashSet::from([1_u64]), count),
                try_reserve_heap(&mut BinaryHeap::from([1_u64]), count),
            ];
            for error in errors {
                assert!(matches!(error, Err(Error::Memory { bytes }) if bytes >= usize::MAX / 16), "{error:?}");
            }
        }
        let mut growing = BestEffortVec { values: vec![7_u64], refused: Some(9) };
        growing.push(7);
        assert!(matches!(growing.all(), Err(Error::Memory { bytes: 72 })));
        growing.clear();
        assert!(growing.all().is_ok_and(<[u64]>::is_empty));
    }
}
