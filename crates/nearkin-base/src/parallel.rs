//! Parallel loops over items with an index, by the names of rayon's methods and on its thread pool.
//!
//! | wanted | method |
//! |---|---|
//! | items of a range, a vector, a slice, chunks of a slice | [`IntoParallel::into_par_iter`], [`ParallelSlice`] |
//! | two sources in step, indices, every n-th item | [`Parallel::zip`], [`Parallel::enumerate`], [`Parallel::step_by`] |
//! | an effect for each item, which may fail | [`Parallel::for_each`], [`Parallel::try_for_each`] |
//! | results in order | [`Parallel::map`], [`Parallel::map_init`], then [`Parallel::collect`] |
//!
//! **One compiled executor.** rayon compiles its splitting, jobs and latches anew for every loop: with a hundred loops
//! that was a fifth of the machine code of this crate. Here `run` splits a range as rayon's `bridge` does (halves, down
//! to one part per thread, again when a part is stolen) and calls the loop through one pointer per part, so that only the
//! body of a loop is compiled for it. The cost is one indirect call per part.
//!
//! A loop visits each index once, so a source may hand out exclusive references to disjoint items. Test:
//! `loops_equal_sequential_ones`.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a module of parallel loops imports.
pub mod prelude {
    pub use super::{IntoParallel, Parallel, ParallelSlice};
}

/// Parts that a range may still be split into.
#[derive(Clone, Copy)]
struct Splitter {
    splits: usize,
    min_len: usize,
}

impl Splitter {
    /// True if a range of this length should be split; `stolen` if another thread took it.
    fn splits(&mut self, len: usize, stolen: bool) -> bool {
        if len / 2 < self.min_len {
            return false;
        }
        if stolen {
            self.splits = rayon::current_num_threads().max(self.splits / 2);
            return true;
        }
        let may_split = self.splits > 0;
        self.splits /= 2;
        may_split
    }
}

/// Call `task` for parts of the range `0..len`, in parallel.
fn run(len: usize, min_len: usize, task: &(dyn Fn(Range<usize>) + Sync)) {
    if len > 0 {
        split(0..len, Splitter { splits: rayon::current_num_threads(), min_len: min_len.max(1) }, false, task);
    }
}

fn split(range: Range<usize>, mut splitter: Splitter, stolen: bool, task: &(dyn Fn(Range<usize>) + Sync)) {
    if !splitter.splits(range.len(), stolen) {
        return task(range);
    }
    let middle = range.start + range.len() / 2;
    let (left, right) = (range.start..middle, middle..range.end);
    rayon::join_context(
        |context| split(left, splitter, context.migrated(), task),
        |context| split(right, splitter, context.migrated(), task),
    );
}

/// Items that are visited in parallel, each once.
#[allow(clippy::len_without_is_empty, reason = "nothing asks")]
pub trait Parallel: Sync + Sized {
    /// What a loop is called with.
    type Item;

    /// Number of items.
    fn len(&self) -> usize;

    /// Smallest number of items of a part.
    fn min_len(&self) -> usize {
        1
    }

    /// Return the item at an index.
    ///
    /// # Safety
    /// The index is below `len`, and no index is requested twice.
    unsafe fn get(&self, index: usize) -> Self::Item;

    /// Call `visit` with the items of a range and their indices, in order.
    ///
    /// # Safety
    /// As for `get`, for each index of the range.
    #[inline(always)]
    unsafe fn visit(&self, range: Range<usize>, mut visit: impl FnMut(usize, Self::Item)) {
        for index in range {
            // SAFETY: the caller's.
            visit(index, unsafe { self.get(index) });
        }
    }

    /// Give each part at least `min_len` items.
    fn with_min_len(self, min_len: usize) -> MinLen<Self> {
        MinLen { items: self, min_len }
    }

    /// Pair the items with those of another source, as far as both have items.
    fn zip<B: IntoParallel>(self, other: B) -> Zip<Self, B::Source> {
        Zip { left: self, right: other.into_par_iter() }
    }

    /// Pair the items with their indices, index first.
    fn enumerate(self) -> Zip<Steps<usize>, Self> {
        Zip { left: (0..self.len()).into_par_iter(), right: self }
    }

    /// Take every `step`-th item, from the first.
    fn step_by(self, step: usize) -> StepBy<Self> {
        StepBy { items: self, step }
    }

    /// Replace each item by the result of a function.
    fn map<R, F: Fn(Self::Item) -> R + Sync>(self, map: F) -> Map<Self, F> {
        Map { items: self, map }
    }

    /// Replace each item by the result of a function that also gets a value which `init` makes for each part.
    fn map_init<S, R, I: Fn() -> S + Sync, F: Fn(&mut S, Self::Item) -> R + Sync>(
        self,
        init: I,
        map: F,
    ) -> MapInit<Self, I, F> {
        MapInit { items: self, init, map }
    }

    /// Call a function with each item.
    fn for_each(self, work: impl Fn(Self::Item) + Sync) {
        self.for_each_init(|| (), |(), item| work(item));
    }

    /// Call a function with each item, and with a value which `init` makes for each part.
    fn for_each_init<S>(self, init: impl Fn() -> S + Sync, work: impl Fn(&mut S, Self::Item) + Sync) {
        run(self.len(), self.min_len(), &|range| {
            let mut state = init();
            // SAFETY: `run` visits each index once.
            unsafe { self.visit(range, |_, item| work(&mut state, item)) };
        });
    }

    /// Call a function with each item until one fails.
    ///
    /// # Errors
    /// The first error, by index, of those that occurred.
    fn try_for_each<E: Send>(self, work: impl Fn(Self::Item) -> Result<(), E> + Sync) -> Result<(), E> {
        self.try_for_each_init(|| (), |(), item| work(item))
    }

    /// Call a function with each item, and with a value which `init` makes for each part, until one fails.
    ///
    /// # Errors
    /// The first error, by index, of those that occurred.
    fn try_for_each_init<S, E: Send>(
        self,
        init: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, Self::Item) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let (has_failed, first) = (AtomicBool::new(false), Mutex::new(None::<(usize, E)>));
        run(self.len(), self.min_len(), &|range| {
            if has_failed.load(Ordering::Relaxed) {
                return;
            }
            let mut state = init();
            let visit = |index: usize, item: Self::Item| {
                if has_failed.load(Ordering::Relaxed) {
                    return;
                }
                if let Err(error) = work(&mut state, item) {
                    has_failed.store(true, Ordering::Relaxed);
                    let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                        *first = Some((index, error));
                    }
                }
            };
            // SAFETY: `run` visits each index once.
            unsafe { self.visit(range, visit) };
        });
        first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Append the items in order. A vector with the capacity for them does not allocate.
    fn collect_into(self, values: &mut Vec<Self::Item>)
    where
        Self::Item: Send,
    {
        values.reserve(self.len());
        let first = Pointer(values.as_mut_ptr().wrapping_add(values.len()));
        run(self.len(), self.min_len(), &|range| {
            let write = |index: usize, item| {
                // SAFETY: the vector has the capacity, and `run` visits each index once.
                unsafe { first.at(index).write(item) };
            };
            // SAFETY: `run` visits each index once.
            unsafe { self.visit(range, write) };
        });
        // SAFETY: every index was written; a panic in a part does not arrive here.
        unsafe { values.set_len(values.len() + self.len()) };
    }

    /// Return the items in order or, of items that may have failed, the first error.
    fn collect<C: Collected<Self::Item>>(self) -> C
    where
        Self::Item: Send,
    {
        let mut values = Vec::new();
        self.collect_into(&mut values);
        C::from_items(values)
    }
}

/// What [`Parallel::collect`] returns.
pub trait Collected<T> {
    /// Return the items.
    fn from_items(items: Vec<T>) -> Self;
}

impl<T> Collected<T> for Vec<T> {
    fn from_items(items: Self) -> Self {
        items
    }
}

impl<T, E> Collected<Result<T, E>> for Result<Vec<T>, E> {
    fn from_items(items: Vec<Result<T, E>>) -> Self {
        items.into_iter().collect()
    }
}

/// The address of the first of some items that threads write or borrow one by one.
struct Pointer<T>(*mut T);
// SAFETY: an item is used by the thread that has its index.
unsafe impl<T: Send> Sync for Pointer<T> {}

impl<T> Pointer<T> {
    #[inline(always)]
    fn at(&self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
    }
}

/// What a parallel loop can run over.
pub trait IntoParallel {
    /// The source of the items.
    type Source: Parallel;
    /// Return the source of the items.
    fn into_par_iter(self) -> Self::Source;
}

impl<P: Parallel> IntoParallel for P {
    type Source = P;
    fn into_par_iter(self) -> P {
        self
    }
}

impl<'a, T: Sync> IntoParallel for &'a [T] {
    type Source = Chunks<'a, T, &'a T>;
    fn into_par_iter(self) -> Self::Source {
        Chunks { items: self, size: 1, step: 1, kind: PhantomData }
    }
}

impl<'a, T: Sync> IntoParallel for &'a Vec<T> {
    type Source = Chunks<'a, T, &'a T>;
    fn into_par_iter(self) -> Self::Source {
        self.as_slice().into_par_iter()
    }
}

impl<'a, T: Send> IntoParallel for &'a mut [T] {
    type Source = ChunksMut<'a, T, &'a mut T>;
    fn into_par_iter(self) -> Self::Source {
        ChunksMut { first: Pointer(self.as_mut_ptr()), len: self.len(), size: 1, kind: PhantomData }
    }
}

impl<'a, T: Send> IntoParallel for &'a mut Vec<T> {
    type Source = ChunksMut<'a, T, &'a mut T>;
    fn into_par_iter(self) -> Self::Source {
        self.as_mut_slice().into_par_iter()
    }
}

impl<T: Send> IntoParallel for Vec<T> {
    type Source = Owned<T>;
    fn into_par_iter(self) -> Owned<T> {
        Owned(self.into_iter().map(|item| Mutex::new(Some(item))).collect())
    }
}

macro_rules! ranges {
    ($($number:ty),+) => {$(
        impl IntoParallel for Range<$number> {
            type Source = Steps<$number>;
            fn into_par_iter(self) -> Steps<$number> {
                Steps { first: self.start, len: self.len() }
            }
        }

        impl Parallel for Steps<$number> {
            type Item = $number;
            fn len(&self) -> usize {
                self.len
            }
            #[inline(always)]
            unsafe fn get(&self, index: usize) -> $number {
                self.first + index as $number
            }
        }
    )+};
}
ranges!(usize, u32);

/// Chunks of a slice.
pub trait ParallelSlice<T> {
    /// Items by reference.
    fn par_iter(&self) -> Chunks<'_, T, &'_ T>
    where
        T: Sync;
    /// Consecutive chunks of `size` items; the last one may have fewer.
    ///
    /// # Panics
    /// If `size` is 0.
    fn par_chunks(&self, size: usize) -> Chunks<'_, T, &'_ [T]>
    where
        T: Sync;
    /// Overlapping windows of `size` items.
    ///
    /// # Panics
    /// If `size` is 0.
    fn par_windows(&self, size: usize) -> Chunks<'_, T, &'_ [T]>
    where
        T: Sync;
    /// Items by exclusive reference.
    fn par_iter_mut(&mut self) -> ChunksMut<'_, T, &'_ mut T>
    where
        T: Send;
    /// Consecutive chunks of `size` items; the last one may have fewer.
    ///
    /// # Panics
    /// If `size` is 0.
    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T, &'_ mut [T]>
    where
        T: Send;
}

impl<T> ParallelSlice<T> for [T] {
    fn par_iter(&self) -> Chunks<'_, T, &'_ T>
    where
        T: Sync,
    {
        self.into_par_iter()
    }

    fn par_chunks(&self, size: usize) -> Chunks<'_, T, &'_ [T]>
    where
        T: Sync,
    {
        assert_ne!(size, 0, "a chunk has items");
        Chunks { items: self, size, step: size, kind: PhantomData }
    }

    fn par_windows(&self, size: usize) -> Chunks<'_, T, &'_ [T]>
    where
        T: Sync,
    {
        assert_ne!(size, 0, "a window has items");
        let complete = if self.len() < size { 0 } else { self.len() };
        Chunks { items: &self[..complete], size, step: 1, kind: PhantomData }
    }

    fn par_iter_mut(&mut self) -> ChunksMut<'_, T, &'_ mut T>
    where
        T: Send,
    {
        self.into_par_iter()
    }

    fn par_chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T, &'_ mut [T]>
    where
        T: Send,
    {
        assert_ne!(size, 0, "a chunk has items");
        ChunksMut { first: Pointer(self.as_mut_ptr()), len: self.len(), size, kind: PhantomData }
    }
}

/// Consecutive numbers.
pub struct Steps<N> {
    first: N,
    len: usize,
}

/// Items, chunks or windows of a slice: ranges of up to `size` items, `step` apart.
pub struct Chunks<'a, T, I> {
    items: &'a [T],
    size: usize,
    step: usize,
    kind: PhantomData<fn() -> I>,
}

impl<'a, T: Sync> Parallel for Chunks<'a, T, &'a T> {
    type Item = &'a T;
    fn len(&self) -> usize {
        self.items.len()
    }
    #[inline(always)]
    unsafe fn get(&self, index: usize) -> &'a T {
        &self.items[index]
    }
}

impl<'a, T: Sync> Parallel for Chunks<'a, T, &'a [T]> {
    type Item = &'a [T];
    fn len(&self) -> usize {
        // Windows are complete, chunks need not be.
        if self.step == self.size {
            self.items.len().div_ceil(self.size)
        } else {
            (self.items.len() + 1).saturating_sub(self.size)
        }
    }
    #[inline(always)]
    unsafe fn get(&self, index: usize) -> &'a [T] {
        let start = index * self.step;
        &self.items[start..self.items.len().min(start + self.size)]
    }
}

/// Items of a slice, or chunks of up to `size` items, by exclusive reference.
pub struct ChunksMut<'a, T, I> {
    first: Pointer<T>,
    len: usize,
    size: usize,
    kind: PhantomData<(&'a mut T, I)>,
}
// SAFETY: a thread gets only the items of the indices that it visits, so that items move between threads and none is shared.
unsafe impl<T: Send, I> Sync for ChunksMut<'_, T, I> {}

impl<'a, T: Send> Parallel for ChunksMut<'a, T, &'a mut T> {
    type Item = &'a mut T;
    fn len(&self) -> usize {
        self.len
    }
    #[inline(always)]
    unsafe fn get(&self, index: usize) -> &'a mut T {
        // SAFETY: the index is within the slice, and is visited once.
        unsafe { &mut *self.first.at(index) }
    }
}

impl<'a, T: Send> Parallel for ChunksMut<'a, T, &'a mut [T]> {
    type Item = &'a mut [T];
    fn len(&self) -> usize {
        self.len.div_ceil(self.size)
    }
    #[inline(always)]
    unsafe fn get(&self, index: usize) -> &'a mut [T] {
        let start = index * self.size;
        // SAFETY: the index is visited once, chunks do not overlap, and the last one ends with the slice.
        unsafe { std::slice::from_raw_parts_mut(self.first.at(start), self.size.min(self.len - start)) }
    }
}

/// Items of a vector, each moved out once.
pub struct Owned<T>(Vec<Mutex<Option<T>>>);

impl<T: Send> Parallel for Owned<T> {
    type Item = T;
    fn len(&self) -> usize {
        self.0.len()
    }
    unsafe fn get(&self, index: usize) -> T {
        let item = self.0[index].lock().unwrap_or_else(PoisonError::into_inner).take();
        item.unwrap_or_else(|| unreachable!("an index is visited once"))
    }
}

/// See [`Parallel::with_min_len`].
pub struct MinLen<P> {
    items: P,
    min_len: usize,
}

/// See [`Parallel::zip`].
pub struct Zip<A, B> {
    left: A,
    right: B,
}

/// See [`Parallel::step_by`].
pub struct StepBy<P> {
    items: P,
    step: usize,
}

/// See [`Parallel::map`].
pub struct Map<P, F> {
    items: P,
    map: F,
}

/// See [`Parallel::map_init`].
pub struct MapInit<P, I, F> {
    items: P,
    init: I,
    map: F,
}

/// Implement an adapter: its parameters, its item, its length, its smallest part, and how it gets an item.
macro_rules! adapter {
    ($adapter:ty, [$($parameters:tt)*], $item:ty, $self:ident, len: $len:expr, min_len: $min_len:expr, $index:ident => $get:expr $(, $visit:item)?) => {
        impl<$($parameters)*> Parallel for $adapter {
            type Item = $item;
            fn len(&$self) -> usize {
                $len
            }
            fn min_len(&$self) -> usize {
                $min_len
            }
            #[inline(always)]
            unsafe fn get(&$self, $index: usize) -> $item {
                // SAFETY: the caller's; an adapter gets different items for different indices.
                unsafe { $get }
            }
            $($visit)?
        }
    };
}

adapter!(MinLen<P>, [P: Parallel], P::Item, self, len: self.items.len(), min_len: self.min_len, i => self.items.get(i));
adapter!(Zip<A, B>, [A: Parallel, B: Parallel], (A::Item, B::Item), self,
    len: self.left.len().min(self.right.len()), min_len: self.left.min_len().max(self.right.min_len()),
    i => (self.left.get(i), self.right.get(i)));
adapter!(StepBy<P>, [P: Parallel], P::Item, self,
    len: self.items.len().div_ceil(self.step), min_len: 1, i => self.items.get(i * self.step));
adapter!(Map<P, F>, [P: Parallel, R, F: Fn(P::Item) -> R + Sync], R, self,
    len: self.items.len(), min_len: self.items.min_len(), i => (self.map)(self.items.get(i)));
adapter!(MapInit<P, I, F>, [P: Parallel, S, R, I: Fn() -> S + Sync, F: Fn(&mut S, P::Item) -> R + Sync], R, self,
len: self.items.len(), min_len: self.items.min_len(), i => (self.map)(&mut (self.init)(), self.items.get(i)),
#[inline(always)]
unsafe fn visit(&self, range: Range<usize>, mut visit: impl FnMut(usize, R)) {
    let mut state = (self.init)();
    // SAFETY: the caller's.
    unsafe { self.items.visit(range, |index, item| visit(index, (self.map)(&mut state, item))) };
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_equal_sequential_ones() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().expect("threads");
        pool.install(|| {
            for count in [0_usize, 1, 2, 63, 64, 1000] {
                let values: Vec<u64> = (0..count as u64).collect();
                let squares = |values: &[u64]| values.iter().map(|x| x * x).collect::<Vec<u64>>();
                assert_eq!(squares(&values), values.par_iter().map(|x| x * x).collect::<Vec<u64>>());
                assert_eq!(squares(&values), values.clone().into_par_iter().map(|x| x * x).collect::<Vec<u64>>());
                assert_eq!(values, (0..count).into_par_iter().with_min_len(7).map(|i| i as u64).collect::<Vec<u64>>());
                let every: Vec<u32> = (0..count as u32).step_by(5).collect();
                assert_eq!(every, (0..count as u32).into_par_iter().step_by(5).collect::<Vec<u32>>());
                let sums =
                    |chunks: &mut dyn Iterator<Item = &[u64]>| chunks.map(|c| c.iter().sum()).collect::<Vec<u64>>();
                assert_eq!(
                    sums(&mut values.chunks(9)),
                    values.par_chunks(9).map(|c| c.iter().sum::<u64>()).collect::<Vec<u64>>()
                );
                assert_eq!(
                    sums(&mut values.windows(3)),
                    values.par_windows(3).map(|c| c.iter().sum::<u64>()).collect::<Vec<u64>>()
                );
                let (mut chunked, mut single) = (values.clone(), values.clone());
                chunked.par_chunks_mut(9).zip(values.par_chunks(9)).enumerate().for_each(|(i, (out, x))| {
                    out.iter_mut().zip(x).for_each(|(out, x)| *out = x + i as u64);
                });
                single.par_iter_mut().zip(&values).for_each_init(|| 1, |one, (out, x)| *out = x / 9 + x + *one - 1);
                assert_eq!(single, chunked);
                let states = values.par_iter().with_min_len(8).map_init(Vec::new, |seen: &mut Vec<u64>, &x| {
                    seen.push(x);
                    // Parts are ranges in order, of at least eight items unless there are fewer.
                    assert!(seen.is_sorted());
                    x
                });
                assert_eq!(values, states.collect::<Vec<u64>>());
            }
        });
    }

    #[test]
    fn the_first_error_is_returned_and_ends_the_loop() {
        let odd = |x: usize| if x % 2 == 1 { Err(x) } else { Ok(()) };
        assert_eq!(Err(1), (0..2_usize).into_par_iter().try_for_each(odd));
        assert_eq!(Ok(()), (0..1_usize).into_par_iter().try_for_each(odd));
        let visited = std::sync::atomic::AtomicUsize::new(0);
        let result = (0..1_000_000_usize).into_par_iter().try_for_each(|_: usize| {
            visited.fetch_add(1, Ordering::Relaxed);
            Err(())
        });
        assert_eq!(Err(()), result);
        assert!(visited.into_inner() < 1_000_000);
    }

    #[test]
    fn a_panic_of_a_part_reaches_the_caller() {
        let caught = std::panic::catch_unwind(|| {
            let _: Vec<String> = (0..100_usize)
                .into_par_iter()
                .map(|i: usize| if i == 77 { panic!("stop") } else { i.to_string() })
                .collect();
        });
        assert!(caught.is_err());
    }
}
