//! Stopping a long computation from outside: a flag that its loops read.
//!
//! A caller makes a [`CancelToken`], runs the computation [`within`](CancelToken::within) it, and sets it from another thread. Code
//! that may take long asks `CancelToken::current()` once, before its loop, and then [`check`](CancelToken::check) or
//! [`is_set`](CancelToken::is_set) in every task: at least every tenth of a second, at most every few microseconds.
//!
//! **Obligations of a computation.** After the flag is set its result is discarded, so loops may end early with any
//! result. What changes an object does its long work first, then calls `check`, and only then changes the object, in a
//! short step that nothing interrupts: a stopped call leaves the object as it was.
//!
//! The current flag belongs to a thread. A task that another thread takes up (rayon) does not inherit it: the closure
//! carries the `CancelToken` along, and enters it with `within` where it calls code that asks for the current one.
//!
//! Long calls of library code can't be asked to stop: sorts are cut into pieces ([`CancelToken::sort_by`]).
//!
//! Cost: an uncontended read of one byte per check.

use std::cell::RefCell;
use std::cmp::Ordering as Order;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::{Error, Result};

/// Most elements that are sorted or partitioned in one go: a fifth of a second on one core.
const PIECE: usize = if cfg!(any(test, feature = "testing")) { 100 } else { 1 << 22 };
/// Elements between two looks at the flag, where each takes some nanoseconds to a microsecond.
const BLOCK: usize = if cfg!(any(test, feature = "testing")) { 16 } else { 1 << 14 };

thread_local! {
    static CURRENT: RefCell<CancelToken> = const { RefCell::new(CancelToken(None)) };
}

/// A flag that asks a computation to end; clones are the same flag. The default one is never set.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Option<Arc<Flag>>);

#[derive(Debug, Default)]
struct Flag {
    set: AtomicBool,
    /// Looks until it sets itself, for tests; 0 for never.
    #[cfg(any(test, feature = "testing"))]
    left: std::sync::atomic::AtomicUsize,
}

impl Flag {
    #[inline]
    fn is_set(&self) -> bool {
        #[cfg(any(test, feature = "testing"))]
        if self.left.load(Ordering::Relaxed) > 0 && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.set.store(true, Ordering::Relaxed);
        }
        self.set.load(Ordering::Relaxed)
    }
}

/// Puts the flag of before back when a computation ends, by a panic too.
struct Restore(CancelToken);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(std::mem::take(&mut self.0)));
    }
}

impl CancelToken {
    /// A flag that can be set.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// The flag of the computation that this thread runs; one that is never set outside of any.
    pub fn current() -> Self {
        CURRENT.with(|current| current.borrow().clone())
    }

    /// Runs `work` with this as the current flag of the thread.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let _restore = Restore(CURRENT.with(|current| current.replace(self.clone())));
        work()
    }

    /// Asks the computation to end.
    pub fn set(&self) {
        if let Some(flag) = &self.0 {
            flag.set.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the computation is to end.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.is_set())
    }

    /// Nothing, or the error of a computation that was stopped.
    ///
    /// # Errors
    /// [`Error::Cancelled`] once the flag is set.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_set() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// The items in blocks; no more of them once the flag is set, so that `check` comes after the loop.
    pub fn blocks<'a, T>(&'a self, items: &'a [T]) -> impl Iterator<Item = &'a [T]> {
        items.chunks(BLOCK).take_while(move |_| !self.is_set())
    }

    /// The numbers of a range in blocks; no more of them once the flag is set, so that `check` comes after the loop.
    pub fn ranges(&self, all: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let end = all.end;
        all.step_by(BLOCK).take_while(move |_| !self.is_set()).map(move |start| start..end.min(start + BLOCK))
    }

    /// The items one by one; no more of them soon after the flag is set.
    pub fn often<T>(&self, items: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        items
            .enumerate()
            .take_while(move |(number, _)| !number.is_multiple_of(BLOCK) || !self.is_set())
            .map(|(_, item)| item)
    }

    /// Sorts in parallel, equal elements in any order; once the flag is set the rest stays unsorted.
    ///
    /// More than `PIECE` elements are partitioned at their median first: one pass each, whatever their order.
    pub fn sort_by<T: Send>(&self, items: &mut [T], compare: impl Fn(&T, &T) -> Order + Sync) {
        self.sort_pieces(items, &compare);
    }

    fn sort_pieces<T: Send>(&self, items: &mut [T], compare: &(impl Fn(&T, &T) -> Order + Sync)) {
        if self.is_set() {
            return;
        }
        if items.len() <= PIECE {
            items.par_sort_unstable_by(compare);
            return;
        }
        let (left, _, right) = items.select_nth_unstable_by(items.len() / 2, compare);
        rayon::join(|| self.sort_pieces(left, compare), || self.sort_pieces(right, compare));
    }

    /// As `sort_by`, in the order of the elements.
    pub fn sort<T: Ord + Send>(&self, items: &mut [T]) {
        self.sort_by(items, T::cmp);
    }
}

/// Run `work` again and again, cancelled at its first check, at its second, and so on, until it completes; return its value.
/// `inspect` examines `object` after each cancelled call.
///
/// # Panics
/// If `work` returns another error than [`Error::Cancelled`], or never checks the token.
#[cfg(any(test, feature = "testing"))]
pub fn at_every_check<O, T>(object: &mut O, work: impl Fn(&mut O) -> Result<T>, inspect: impl Fn(&O)) -> T {
    for checks in 1_usize.. {
        let flag = Flag { left: std::sync::atomic::AtomicUsize::new(checks), ..Flag::default() };
        match CancelToken(Some(Arc::new(flag))).within(|| work(object)) {
            Err(Error::Cancelled) => inspect(object),
            Err(error) => panic!("cancelled at check {checks}: {error}"),
            Ok(value) => {
                assert!(checks > 1, "the call never checks the token");
                return value;
            }
        }
    }
    unreachable!("a call has finitely many checks")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_flag_is_current_within_its_computation_alone() {
        let (outer, inner) = (CancelToken::new(), CancelToken::new());
        assert!(!CancelToken::current().is_set());
        outer.within(|| {
            inner.within(|| {
                inner.set();
                assert!(CancelToken::current().is_set());
            });
            assert!(!CancelToken::current().is_set());
            outer.set();
            assert!(matches!(CancelToken::current().check(), Err(Error::Cancelled)));
        });
        assert!(CancelToken::current().check().is_ok());
    }

    #[test]
    fn a_panic_puts_the_flag_of_before_back() {
        let stop = CancelToken::new();
        stop.set();
        let caught = std::panic::catch_unwind(|| stop.within(|| panic!("on purpose")));
        assert!(caught.is_err());
        assert!(!CancelToken::current().is_set());
    }

    #[test]
    fn another_thread_sees_what_it_carries() {
        let stop = CancelToken::new();
        stop.within(|| {
            let carried = CancelToken::current();
            std::thread::scope(|scope| {
                scope.spawn(|| carried.set());
            });
            assert!(CancelToken::current().is_set());
        });
    }

    proptest! {
        #[test]
        fn sorting_in_pieces_is_sorting(mut items in proptest::collection::vec(0_u32..500, 0..1000)) {
            let mut expected = items.clone();
            expected.sort_unstable();
            CancelToken::default().sort(&mut items);
            prop_assert_eq!(expected, items);
        }
    }

    proptest! {
        #[test]
        fn blocks_and_ranges_are_all_there_is(start in 0_usize..50, count in 0_usize..100) {
            let stop = CancelToken::new();
            let items: Vec<usize> = (start..start + count).collect();
            prop_assert_eq!(&items, &stop.blocks(&items).flatten().copied().collect::<Vec<_>>());
            prop_assert_eq!(&items, &stop.ranges(start..start + count).flatten().collect::<Vec<_>>());
            prop_assert_eq!(&items, &stop.often(start..start + count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn there_is_no_block_after_the_flag_is_set() {
        let stop = CancelToken::new();
        let items = [0; 100];
        let seen: usize = stop.blocks(&items).inspect(|_| stop.set()).map(<[i32]>::len).sum();
        assert_eq!(BLOCK, seen);
        assert_eq!(0, stop.often(0..100).count());
        assert_eq!(0, stop.ranges(0..100).count());
    }

    #[test]
    fn a_stopped_sort_leaves_the_elements() {
        let stop = CancelToken::new();
        stop.set();
        let mut items: Vec<u32> = (0..1000).rev().collect();
        stop.sort(&mut items);
        items.sort_unstable();
        assert_eq!((0..1000).collect::<Vec<u32>>(), items);
    }

    #[test]
    fn the_default_flag_is_never_set() {
        let never = CancelToken::default();
        never.set();
        assert!(!never.is_set());
    }
}
