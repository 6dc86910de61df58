//! Cooperative cancellation of long computations: a flag that their loops poll.
//!
//! A caller creates a [`CancelToken`], runs the computation [`within`](CancelToken::within) it, and cancels it from
//! another thread. Long-running code calls `CancelToken::current()` once, before its loop, and then
//! [`check`](CancelToken::check) or [`is_set`](CancelToken::is_set) in every task: at least every tenth of a second, at
//! most every few microseconds.
//!
//! **Obligations of a computation.** After cancellation the result is discarded, so loops may end early with any
//! result. A method that modifies an object does the long work first, then calls `check`, and only then commits the
//! change in a short step without cancellation points. A cancelled call therefore leaves the object unchanged.
//!
//! The current token is thread-local. A task that runs on another thread (rayon) does not inherit it: the closure
//! captures the `CancelToken` and enters it with `within` where it calls code that reads the current token.
//!
//! Long library calls have no cancellation points, so sorts are split into pieces ([`CancelToken::sort_by`]).
//!
//! Cost: one uncontended read of a byte per check.

use std::cell::RefCell;
use std::cmp::Ordering as Order;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::slice::ParallelSliceMut;

use crate::{Error, Result};

/// Maximum number of elements sorted or partitioned in one call: a fifth of a second on one core.
const PIECE: usize = if cfg!(any(test, feature = "testing")) { 100 } else { 1 << 22 };
/// Number of elements between two cancellation points, if each takes between a few nanoseconds and a microsecond.
const BLOCK: usize = if cfg!(any(test, feature = "testing")) { 16 } else { 1 << 14 };

thread_local! {
    static CURRENT: RefCell<CancelToken> = const { RefCell::new(CancelToken(None)) };
}

/// A cancellation flag; clones share it. The default token is never cancelled.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Option<Arc<Flag>>);

#[derive(Debug, Default)]
struct Flag {
    set: AtomicBool,
    /// Number of checks before the token cancels itself, for tests; 0 for never.
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

/// Restores the previous token when a computation ends, also by a panic.
struct Restore(CancelToken);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(std::mem::take(&mut self.0)));
    }
}

impl CancelToken {
    /// Create a token that can be cancelled.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Return the token of the computation that this thread runs, or one that is never cancelled.
    pub fn current() -> Self {
        CURRENT.with(|current| current.borrow().clone())
    }

    /// Run `work` with this as the current token of the thread.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        let _restore = Restore(CURRENT.with(|current| current.replace(self.clone())));
        work()
    }

    /// Cancel the computation.
    pub fn set(&self) {
        if let Some(flag) = &self.0 {
            flag.set.store(true, Ordering::Relaxed);
        }
    }

    /// True if the computation should end.
    #[inline]
    pub fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.is_set())
    }

    /// Return an error if the computation was cancelled.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if the token is cancelled.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_set() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Iterate over the items in blocks; the iteration ends early after cancellation, so call `check` after the loop.
    pub fn blocks<'a, T>(&'a self, items: &'a [T]) -> impl Iterator<Item = &'a [T]> {
        items.chunks(BLOCK).take_while(move |_| !self.is_set())
    }

    /// Iterate over a range in blocks; the iteration ends early after cancellation, so call `check` after the loop.
    pub fn ranges(&self, all: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let end = all.end;
        all.step_by(BLOCK).take_while(move |_| !self.is_set()).map(move |start| start..end.min(start + BLOCK))
    }

    /// Iterate over the items; the iteration ends soon after cancellation.
    pub fn often<T>(&self, items: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        items
            .enumerate()
            .take_while(move |(number, _)| !number.is_multiple_of(BLOCK) || !self.is_set())
            .map(|(_, item)| item)
    }

    /// Sort in parallel (unstable); after cancellation the rest remains unsorted.
    ///
    /// Partition more than `PIECE` elements at their median first: one pass each, in any order.
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

    /// Sort by the elements' own order; see [`CancelToken::sort_by`].
    pub fn sort<T: Ord + Send>(&self, items: &mut [T]) {
        self.sort_by(items, T::cmp);
    }
}

/// Run `work` repeatedly, cancelled at its first check, at its second, and so on, until it completes; return its value.
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
        let cancel = CancelToken::new();
        cancel.set();
        let caught = std::panic::catch_unwind(|| cancel.within(|| panic!("on purpose")));
        assert!(caught.is_err());
        assert!(!CancelToken::current().is_set());
    }

    #[test]
    fn another_thread_sees_what_it_carries() {
        let cancel = CancelToken::new();
        cancel.within(|| {
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
            let cancel = CancelToken::new();
            let items: Vec<usize> = (start..start + count).collect();
            prop_assert_eq!(&items, &cancel.blocks(&items).flatten().copied().collect::<Vec<_>>());
            prop_assert_eq!(&items, &cancel.ranges(start..start + count).flatten().collect::<Vec<_>>());
            prop_assert_eq!(&items, &cancel.often(start..start + count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn there_is_no_block_after_the_flag_is_set() {
        let cancel = CancelToken::new();
        let items = [0; 100];
        let seen: usize = cancel.blocks(&items).inspect(|_| cancel.set()).map(<[i32]>::len).sum();
        assert_eq!(BLOCK, seen);
        assert_eq!(0, cancel.often(0..100).count());
        assert_eq!(0, cancel.ranges(0..100).count());
    }

    #[test]
    fn a_stopped_sort_leaves_the_elements() {
        let cancel = CancelToken::new();
        cancel.set();
        let mut items: Vec<u32> = (0..1000).rev().collect();
        cancel.sort(&mut items);
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
