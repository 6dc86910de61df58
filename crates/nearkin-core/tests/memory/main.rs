//! Out-of-memory tests: each large allocation of a call fails in turn, once and from then on; the call must return an
//! error or its result, with the object unchanged.
//!
//! Tested operations: additions, removals, searches, pairs, clusters, saving and opening of every index (`indexes`);
//! fingerprints, signatures, words and keywords of many texts and of one long one, document frequencies, and the cache
//! of feature sets (`texts`); writing, opening and reading the segments of a store (`store`).
//!
//! An allocation is large if data can make it so: `LARGE` bytes and more. Smaller ones (messages, descriptions, task
//! buffers) abort the process if they fail, as everywhere in Rust, and so do those of other libraries
//! (`docs/reliability.md` names them). Shrinking an allocation is never refused, because no allocator does that.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use nearkin_core::{Error, Result, alloc};

mod indexes;
mod store;
mod texts;

/// Minimum size of an allocation that may be refused.
const LARGE: usize = 1 << 16;

/// The system's allocator, which refuses large allocations on request.
struct Refusing;

thread_local! {
    /// True while large allocations of this thread are counted and refused; other threads may prepare their tests.
    static ARMED: Cell<bool> = const { Cell::new(false) };
}
/// Number of large allocations since then.
static SEEN: AtomicUsize = AtomicUsize::new(0);
/// The first one to refuse, from 1, and the number to refuse.
static FIRST: AtomicUsize = AtomicUsize::new(usize::MAX);
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn is_refused(size: usize) -> bool {
    if size < LARGE || !ARMED.get() {
        return false;
    }
    let number = SEEN.fetch_add(1, Ordering::SeqCst) + 1;
    let first = FIRST.load(Ordering::SeqCst);
    number >= first && number - first < COUNT.load(Ordering::SeqCst)
}

// SAFETY: the system's allocator, or null, which reports that memory ran out.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is the same.
        if is_refused(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is the same.
        if is_refused(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, begin: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && is_refused(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's contract is the same.
        unsafe { System.realloc(begin, layout, size) }
    }

    unsafe fn dealloc(&self, begin: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(begin, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

/// Run `work` while `count` large allocations from the `first` on are refused; return its result and the number of
/// large allocations.
fn refusing<T>(first: usize, count: usize, work: impl FnOnce() -> T) -> (T, usize) {
    SEEN.store(0, Ordering::SeqCst);
    FIRST.store(first, Ordering::SeqCst);
    COUNT.store(count, Ordering::SeqCst);
    ARMED.set(true);
    let result = work();
    ARMED.set(false);
    (result, SEEN.load(Ordering::SeqCst))
}

/// Tests of this file run one at a time because they share the allocator.
static TURN: Mutex<()> = Mutex::new(());

/// Approximate number of allocations of a call that are refused once, and of allocations refused with all that follow; all of
/// them if `NEARKIN_EVERY` is set.
const SOME: usize = 6;

/// Refuse each large allocation of `step`, which must have some, once and together with all that follow.
fn attack<S, T: Debug + PartialEq + Send, V: Debug + PartialEq>(
    name: &str,
    make: impl Fn() -> S,
    state: impl Fn(&S) -> V,
    step: impl Fn(&mut S) -> Result<T> + Sync,
) where
    S: Send,
{
    let _turn = TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    // One worker: the order of allocations is the same in every run.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let run = |first, count, object: &mut S| pool.install(|| refusing(first, count, || step(object)));
    let mut object = make();
    let (expected, total) = run(usize::MAX, 0, &mut object);
    let expected = expected.expect("there is memory");
    let after = state(&object);
    assert!(total > 0, "{name} has large allocations");
    let mut refused = 0;
    let stride = if std::env::var_os("NEARKIN_EVERY").is_some() { 1 } else { total.div_ceil(SOME) };
    for (count, begin) in [(1, 1), (usize::MAX, 1 + stride / 2)] {
        for first in (begin..=total).step_by(stride) {
            let mut object = make();
            let before = state(&object);
            match run(first, count, &mut object).0 {
                Ok(found) => assert_eq!(expected, found, "{name}: allocation {first}"),
                Err(Error::Memory { .. }) => {
                    refused += 1;
                    assert_eq!(before, state(&object), "{name}: allocation {first}");
                    assert_eq!(expected, step(&mut object).expect("there is memory again"), "{name}: after {first}");
                }
                Err(other) => panic!("{name}: allocation {first}: {other}"),
            }
            assert_eq!(after, state(&object), "{name}: allocation {first}");
        }
    }
    assert!(refused > 0, "{name} is refused some");
    println!("{name}: {total} large allocations, one of {stride} refused");
}

#[test]
fn rooms_are_refused_and_given() {
    attack("filled", || (), |()| (), |()| alloc::try_filled(1_u8, LARGE));
    attack("zeros", || (), |()| (), |()| alloc::try_zeroed::<u64>(LARGE));
    attack(
        "growing",
        || (),
        |()| (),
        |()| {
            let mut growing = alloc::BestEffortVec::default();
            growing.extend(0..LARGE);
            growing.into_vec()
        },
    );
}

/// Return pseudorandom numbers (`SplitMix64`).
fn numbers(count: usize, seed: u64) -> Vec<u64> {
    let mix = |i: u64| {
        let mut value = (i ^ seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ value >> 31
    };
    (1..=count as u64).map(mix).collect()
}

/// A temporary file, removed on drop.
struct File(PathBuf);

impl File {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        Self(std::env::temp_dir().join(format!("nearkin-memory-{}-{number}", std::process::id())))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
