//! The thread pool of the process: sized on request, rebuilt in a forked child.
//!
//! rayon's global pool dies with `fork`: the child has its queue but not its threads, so the first call would wait for
//! ever. The pool here is therefore our own, made on first use and remembered with the process id that made it; a
//! child sees another id and makes its own pool. Results never depend on the number of threads.
//!
//! **Signals.** While the pool works, the calling thread waits without the GIL and looks for signals twenty times a
//! second. A handler that raises (Ctrl-C does) sets the [`CancelToken`] of the call; its loops end, and the exception is
//! raised in place of the result. Handlers run while the call holds its object's lock: one that uses the same object
//! deadlocks, as with any lock.
//!
//! **Few work.** What takes some hundred microseconds at most is done by the calling thread, without the GIL, as the only worker
//! of a pool of its own: the same code runs, and no loop of it is shared out.
//!
//! **Locks and the GIL.** A call that holds a lock waits for the GIL when it looks for signals, so no lock of an object
//! is ever waited for with the GIL held: `detached_with` takes locks without it.

use std::cell::RefCell;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use nearkin_core::Error;
use nearkin_core::cancel::CancelToken;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::{IntoPython, to_python};

struct Pool {
    process: u32,
    threads: usize,
    workers: Option<Arc<ThreadPool>>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { process: 0, threads: 0, workers: None });

/// Time between two looks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Processors of this process; the system is asked once, since that takes some 30 microseconds.
fn available() -> usize {
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    *AVAILABLE.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get))
}

fn pool() -> PyResult<Arc<ThreadPool>> {
    let mut state = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if state.process != process {
        // Dropping a parent's pool in the child would wait for threads that do not exist here.
        std::mem::forget(state.workers.take());
        state.process = process;
    }
    if let Some(pool) = &state.workers {
        return Ok(Arc::clone(pool));
    }
    let threads = if state.threads == 0 { available() } else { state.threads };
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("nearkin-{i}"))
        .build()
        .map_err(|error| PyRuntimeError::new_err(format!("can't start {threads} threads: {error}")))?;
    // A thread that first runs when memory is short can't have its own variables, and the system ends the process for that;
    // so all of them have run before there is any work.
    pool.broadcast(|_| ());
    let pool = Arc::new(pool);
    state.workers = Some(Arc::clone(&pool));
    Ok(pool)
}

/// Threads that may work without the pool: what each takes for that, a few kilobytes, stays until the process ends.
const MOST_ALONE: usize = 64;

/// Makes the calling thread the only worker of a pool, so that loops which share out their work find nobody to share it with.
fn becomes_worker() -> bool {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    if THREADS.fetch_add(1, Ordering::Relaxed) >= MOST_ALONE {
        return false;
    }
    // It is never dropped: rayon keeps a thread as a worker for good.
    ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().map(std::mem::forget).is_ok()
}

/// Whether the calling thread may work without the pool.
fn works_alone() -> bool {
    thread_local!(static ALONE: bool = becomes_worker());
    ALONE.try_with(|alone| *alone).unwrap_or(false)
}

/// The result of a task, put by a worker and awaited by the calling thread.
struct Ended<T> {
    /// Whether there was a result, and the result until it is taken.
    found: Mutex<(bool, Option<std::thread::Result<T>>)>,
    arrived: Condvar,
}

impl<T> Default for Ended<T> {
    fn default() -> Self {
        Self { found: Mutex::new((false, None)), arrived: Condvar::new() }
    }
}

impl<T> Ended<T> {
    fn put(&self, result: std::thread::Result<T>) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = (true, Some(result));
        self.arrived.notify_one();
    }

    /// Waits at most this long; whether there is a result.
    fn wait(&self, most: Duration) -> bool {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        self.arrived.wait_timeout_while(found, most, |found| !found.0).unwrap_or_else(PoisonError::into_inner).0.0
    }

    fn take(&self) -> Option<std::thread::Result<T>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).1.take()
    }
}

/// Waits for a task when it is dropped.
struct Waiting<'a, T>(&'a Ended<T>);

impl<T> Drop for Waiting<'_, T> {
    fn drop(&mut self) {
        while !self.0.wait(LOOK) {}
    }
}

/// The pool as one call uses it.
pub(crate) struct Workers {
    pool: Arc<ThreadPool>,
    stop: CancelToken,
    /// What a signal's handler raised meanwhile.
    raised: RefCell<Option<PyErr>>,
}

impl Workers {
    fn new() -> PyResult<Self> {
        Ok(Self { pool: pool()?, stop: CancelToken::new(), raised: RefCell::new(None) })
    }

    /// Runs `work` in the pool and looks for signals meanwhile; the GIL must be released.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let ended = Arc::new(Ended::default());
        // Whatever happens here, nothing that `work` borrows goes before it has ended.
        let waiting = Waiting(&ended);
        let (there, stop) = (Arc::clone(&ended), self.stop.clone());
        let task: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
            let found = catch_unwind(AssertUnwindSafe(|| stop.within(work)));
            there.put(found);
        });
        // SAFETY: the closure has run, and all that it borrows was let go, once a result was put; `waiting` waits for that
        // before this function is left in any way. What the task holds beyond is `Ended`, which it owns a share of.
        let task: Box<dyn FnOnce() + Send> = unsafe { std::mem::transmute(task) };
        self.pool.spawn(task);
        while !waiting.0.wait(LOOK) {
            self.look();
        }
        match waiting.0.take() {
            Some(Ok(value)) => value,
            Some(Err(panic)) => resume_unwind(panic),
            None => unreachable!("it has ended"),
        }
    }

    /// As `install`; where that is `few` work, some hundred microseconds at most, the calling thread does it at once: handing
    /// it to another one and waiting takes some sixty.
    pub(crate) fn install_unless<T: Send>(&self, few: bool, work: impl FnOnce() -> T + Send) -> T {
        if few && works_alone() { self.stop.within(work) } else { self.install(work) }
    }

    /// Runs handlers of signals that have come; one that raises stops the call.
    fn look(&self) {
        if self.stop.is_set() {
            return;
        }
        let looked = Python::attach(|py| -> PyResult<()> {
            py.check_signals()?;
            Ok(())
        });
        if let Err(raised) = looked {
            self.raised.replace(Some(raised));
            self.stop.set();
        }
    }

    /// The value, or what a handler raised.
    fn end<T>(self, value: T) -> PyResult<T> {
        match self.raised.into_inner() {
            None => Ok(value),
            Some(raised) => Err(raised),
        }
    }
}

/// Runs `work` in the pool with the GIL released. `work` must not touch Python objects, nor wait for a lock: a worker
/// that waits for its own tasks takes up others meanwhile, and one that wants the lock that it holds would never end.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let workers = Workers::new()?;
    let value = Released(&workers).run(py, |workers| workers.install(work));
    workers.end(value)
}

/// As `detached`; `few` work is done as by `Workers::install_unless`.
pub(crate) fn detached_unless<T: Send>(py: Python<'_>, few: bool, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if few && works_alone() { Ok(py.detach(work)) } else { detached(py, work) }
}

/// As `detached` where that is `worth` it; else the calling thread does it at once, with the GIL held: for work of some ten
/// microseconds at most, or that the core is known not to share out.
pub(crate) fn detached_if<T: Send>(py: Python<'_>, worth: bool, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if worth { detached(py, work) } else { Ok(work()) }
}

/// As `detached`, with what `lock` gives: locks are taken by the calling thread, outside of the pool and without the GIL.
pub(crate) fn detached_with<G, T: Send>(
    py: Python<'_>,
    lock: impl FnOnce() -> nearkin_core::Result<G> + Send,
    work: impl FnOnce(&Workers, G) -> nearkin_core::Result<T> + Send,
) -> PyResult<T> {
    let workers = Workers::new()?;
    let value = Released(&workers).run(py, |workers| work(workers, lock()?));
    workers.end(value)?.into_python()
}

/// The workers of a call in a stretch without the GIL.
struct Released<'a>(&'a Workers);

// SAFETY: `py.detach` runs its closure on the calling thread, so the cell of `Workers` is never reached by another.
unsafe impl Send for Released<'_> {}

impl Released<'_> {
    fn run<T: Send>(self, py: Python<'_>, work: impl FnOnce(&Workers) -> T + Send) -> T {
        py.detach(move || {
            let released = self;
            work(released.0)
        })
    }
}

/// Sets how many threads batch calls of this process use: 1 or more, or None for one per core.
#[pyfunction]
#[pyo3(signature = (threads=None))]
fn set_num_threads(threads: Option<i64>) -> PyResult<()> {
    let threads = match threads {
        None => 0,
        Some(n) if (1..=4096).contains(&n) => n as usize,
        Some(n) => return Err(to_python(Error::parameter("threads", n, "1 to 4096, or None for one per core"))),
    };
    let mut state = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    state.threads = threads;
    if state.process == std::process::id() {
        state.workers = None;
    }
    Ok(())
}

/// How many threads batch calls of this process use.
#[pyfunction]
fn num_threads() -> usize {
    let state = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if state.threads == 0 { available() } else { state.threads }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(set_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(num_threads, module)?)?;
    Ok(())
}
