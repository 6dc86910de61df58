//! Room for arrays whose length data decides: asked for before it is used, and refused by an error.
//!
//! Where memory is short the standard library ends the process. So whatever a file, a batch of values or an argument can make
//! large is made by a function of this module, which gives [`Error::Memory`] instead; the object is then as it was. What is
//! bounded by a constant (buffers of a task, descriptions, messages) is made as usual.
//!
//! | wanted | call |
//! |---|---|
//! | an empty list with room | [`try_with_capacity`] |
//! | zeros, a value again and again, a copy, the items of an iterator | [`try_zeroed`], [`try_filled`], [`try_copy`], [`try_collect`] |
//! | more room in a list, text, table, set or heap | [`try_reserve`], [`try_extend`], [`try_resize`], [`try_reserve_str`], [`try_reserve_map`], [`try_reserve_set`], [`try_reserve_heap`] |
//! | the results of many tasks, parallel or in turn | [`try_collect_parallel`], [`try_map_parallel`], [`try_map`] |
//! | what a process makes once | [`TryOnce`] |
//! | a list of results whose length nobody knows, where no error can be given | [`BestEffortVec`] |
//!
//! Systems that promise more memory than they have refuse only what is far too large; they end the process when the promise is called in.

use std::alloc::Layout;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use crate::{Error, Result};

/// Numbers as they lie in memory or in a file: any bits are a value.
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

/// The error of room for `count` values that is not there.
fn refused<T>(count: usize) -> Error {
    Error::Memory { bytes: count.saturating_mul(size_of::<T>()) }
}

/// No values yet, and room for `count`.
///
/// # Errors
/// There is no memory for them.
pub fn try_with_capacity<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| refused::<T>(count))?;
    Ok(values)
}

/// Room for `count` values behind those of a list, which grows as it does by itself.
///
/// # Errors
/// There is no memory for them; the list is as it was.
#[inline]
pub fn try_reserve<T>(values: &mut Vec<T>, count: usize) -> Result<()> {
    values.try_reserve(count).map_err(|_| refused::<T>(values.len().saturating_add(count)))
}

/// `count` copies of a value.
///
/// # Errors
/// There is no memory for them.
pub fn try_filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut values = try_with_capacity(count)?;
    values.resize(count, value);
    Ok(values)
}

/// `count` zeros, in pages that the system has cleared where there are many.
///
/// # Errors
/// There is no memory for them.
pub fn try_zeroed<T: Plain>(count: usize) -> Result<Vec<T>> {
    let layout = Layout::array::<T>(count).map_err(|_| refused::<T>(count))?;
    if layout.size() == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the layout has a size.
    let begin = unsafe { std::alloc::alloc_zeroed(layout) };
    if begin.is_null() {
        return Err(refused::<T>(count));
    }
    let slice = std::ptr::slice_from_raw_parts_mut(begin.cast::<T>(), count);
    // SAFETY: the global allocator has given room for `count` values with the layout of a slice of them, and zeros are values.
    Ok(unsafe { Box::from_raw(slice) }.into_vec())
}

/// A copy of some values.
///
/// # Errors
/// There is no memory for them.
pub fn try_copy<T: Copy>(values: &[T]) -> Result<Vec<T>> {
    let mut copy = try_with_capacity(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// The items of an iterator that knows how many they are.
///
/// # Errors
/// There is no memory for them.
pub fn try_collect<I: ExactSizeIterator>(items: I) -> Result<Vec<I::Item>> {
    let mut values = try_with_capacity(items.len())?;
    values.extend(items);
    Ok(values)
}

/// Appends a copy of some values.
///
/// # Errors
/// There is no memory for them; the list is as it was.
#[inline]
pub fn try_extend<T: Copy>(values: &mut Vec<T>, new: &[T]) -> Result<()> {
    try_reserve(values, new.len())?;
    values.extend_from_slice(new);
    Ok(())
}

/// Makes a list `count` long, with copies of `value` where it was shorter.
///
/// # Errors
/// There is no memory for them; the list is as it was.
#[inline]
pub fn try_resize<T: Clone>(values: &mut Vec<T>, count: usize, value: T) -> Result<()> {
    try_reserve(values, count.saturating_sub(values.len()))?;
    values.resize(count, value);
    Ok(())
}

/// Room for `bytes` more of a text.
///
/// # Errors
/// There is no memory for them; the text is as it was.
#[inline]
pub fn try_reserve_str(text: &mut String, bytes: usize) -> Result<()> {
    text.try_reserve(bytes).map_err(|_| refused::<u8>(text.len().saturating_add(bytes)))
}

/// A copy of a text.
///
/// # Errors
/// There is no memory for it.
pub fn try_string(original: &str) -> Result<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(original.len()).map_err(|_| refused::<u8>(original.len()))?;
    copy.push_str(original);
    Ok(copy)
}

/// Room for `count` more entries of a table.
///
/// # Errors
/// There is no memory for them; the table is as it was.
pub fn try_reserve_map<K: Eq + Hash, V, S: BuildHasher>(table: &mut HashMap<K, V, S>, count: usize) -> Result<()> {
    table.try_reserve(count).map_err(|_| refused::<(K, V)>(table.len().saturating_add(count)))
}

/// Room for `count` more members of a set.
///
/// # Errors
/// There is no memory for them; the set is as it was.
pub fn try_reserve_set<T: Eq + Hash, S: BuildHasher>(set: &mut HashSet<T, S>, count: usize) -> Result<()> {
    set.try_reserve(count).map_err(|_| refused::<T>(set.len().saturating_add(count)))
}

/// Room for `count` more values in a heap.
///
/// # Errors
/// There is no memory for them; the heap is as it was.
#[inline]
pub fn try_reserve_heap<T: Ord>(heap: &mut BinaryHeap<T>, count: usize) -> Result<()> {
    heap.try_reserve(count).map_err(|_| refused::<T>(heap.len().saturating_add(count)))
}

/// What parallel tasks give, in their order.
///
/// # Errors
/// There is no memory for the list of it.
pub fn try_collect_parallel<I: IndexedParallelIterator>(tasks: I) -> Result<Vec<I::Item>> {
    let mut values = try_with_capacity(tasks.len())?;
    tasks.collect_into_vec(&mut values);
    Ok(values)
}

/// What parallel tasks give that may fail, in their order.
///
/// # Errors
/// The first error of a task; there is no memory for the list.
pub fn try_map_parallel<T: Send, I: IndexedParallelIterator<Item = Result<T>>>(tasks: I) -> Result<Vec<T>> {
    let mut values = try_with_capacity(tasks.len())?;
    for value in try_collect_parallel(tasks)? {
        values.push(value?);
    }
    Ok(values)
}

/// As [`try_map_parallel`], one after another, until one fails.
///
/// # Errors
/// The first error; there is no memory for the list.
pub fn try_map<T>(tasks: impl ExactSizeIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut values = try_with_capacity(tasks.len())?;
    for value in tasks {
        values.push(value?);
    }
    Ok(values)
}

/// What is made at its first use and stays; threads that want it meanwhile wait.
#[derive(Debug)]
pub struct TryOnce<T> {
    made: OnceLock<T>,
    making: Mutex<()>,
}

impl<T> TryOnce<T> {
    /// Nothing yet.
    #[allow(clippy::new_without_default, reason = "made as a constant")]
    pub const fn new() -> Self {
        Self { made: OnceLock::new(), making: Mutex::new(()) }
    }

    /// What there is, or what `make` makes.
    ///
    /// # Errors
    /// That of `make`; the next call makes it again.
    pub fn get_or_make(&self, make: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let _turn = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let made = make()?;
        Ok(self.made.get_or_init(|| made))
    }
}

/// A list that grows while there is memory. Once there is none it lets go of what it has and takes nothing more, and [`BestEffortVec::whole`]
/// is the error.
#[derive(Debug)]
pub struct BestEffortVec<T> {
    values: Vec<T>,
    /// Values for which there was no room.
    refused: Option<usize>,
}

impl<T> Default for BestEffortVec<T> {
    fn default() -> Self {
        Self { values: Vec::new(), refused: None }
    }
}

impl<T> BestEffortVec<T> {
    /// No values yet, and room for `count`.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn try_with_capacity(count: usize) -> Result<Self> {
        Ok(Self { values: try_with_capacity(count)?, refused: None })
    }

    /// Lets go of all values, and takes new ones again.
    pub fn clear(&mut self) {
        self.values.clear();
        self.refused = None;
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: T) {
        if self.values.len() < self.values.capacity() || self.grow() {
            self.values.push(value);
        }
    }

    /// Room for one more, unless there is no memory.
    #[cold]
    fn grow(&mut self) -> bool {
        if self.refused.is_none() && self.values.try_reserve(1).is_err() {
            self.refused = Some(self.values.len() + 1);
            self.values = Vec::new();
        }
        self.refused.is_none()
    }

    /// How many values there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values, to be ordered or cut.
    pub fn values(&mut self) -> &mut Vec<T> {
        &mut self.values
    }

    /// All values, which stay here.
    ///
    /// # Errors
    /// There was no memory for one of them.
    pub fn all(&self) -> Result<&[T]> {
        match self.refused {
            None => Ok(&self.values),
            Some(count) => Err(refused::<T>(count)),
        }
    }

    /// All values.
    ///
    /// # Errors
    /// There was no memory for one of them.
    pub fn whole(self) -> Result<Vec<T>> {
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
        assert_eq!(vec![0, 2, 4], try_collect_parallel((0..3).into_par_iter().map(|i| 2 * i)).expect("room"));
        let some = |most: i32| {
            try_map_parallel((0..9).into_par_iter().map(|i| if i < most { Ok(i) } else { Err(Error::Forked) }))
        };
        assert_eq!((0..9).collect::<Vec<i32>>(), some(9).expect("no task fails"));
        assert!(matches!(some(5), Err(Error::Forked)));
        let turns = |most: i32| try_map((0..9_i32).map(|i| if i < most { Ok(i) } else { Err(Error::Forked) }));
        assert_eq!((0..9).collect::<Vec<i32>>(), turns(9).expect("no task fails"));
        assert!(matches!(turns(5), Err(Error::Forked)));
        assert_eq!((1, true), (values.len(), values.capacity() > 100));
        let mut growing = BestEffortVec::try_with_capacity(1).expect("room");
        growing.extend(0..9);
        growing.clear();
        growing.push(1);
        growing.extend(2..1000);
        assert_eq!((1..1000).collect::<Vec<i32>>(), growing.all().expect("room"));
        assert_eq!((999, false), (growing.len(), growing.is_empty()));
        assert_eq!((1..1000).collect::<Vec<i32>>(), growing.whole().expect("room"));
    }

    #[test]
    fn what_is_refused_once_is_made_later_and_then_stays() {
        let once = TryOnce::new();
        assert!(matches!(once.get_or_make(|| try_with_capacity::<u64>(usize::MAX)), Err(Error::Memory { .. })));
        assert_eq!(&vec![7], once.get_or_make(|| try_copy(&[7])).expect("room"));
        assert_eq!(&vec![7], once.get_or_make(|| Err(Error::Forked)).expect("made"));
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
