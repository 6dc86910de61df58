//! The thread pool of the process: sized on request, rebuilt in a forked child.
//!
//! rayon's global pool does not survive `fork`: the child has its queue but not its threads, so the first call would
//! hang. Therefore the pool here is created on first use and stored with its process id; a child has another id and
//! creates its own pool. Results never depend on the number of threads.
//!
//! **Signals.** While the pool works, the calling thread waits without the GIL and handles signals twenty times a
//! second. A handler that raises (Ctrl-C does), or `nearkin.errors.check_cancelled`, cancels the [`CancelToken`] of the call;
//! its loops end, and the exception is raised instead of the result. Handlers run while the call has its object's lock: one that uses the same
//! object deadlocks, as with any lock.
//!
//! **Small work.** Work of at most a few hundred microseconds runs on the calling thread, without the GIL, as the only
//! worker of a separate pool: the same code runs, and its loops are not divided.
//!
//! **Locks and the GIL.** A call that has a lock waits for the GIL when it handles signals, so no thread waits for an
//! object's lock with the GIL: `detached_with` takes locks without it.

use std::cell::RefCell;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use nearkin_core::cancel::CancelToken;
use nearkin_core::cpu::features;
use nearkin_core::{Error, Result};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::{IntoPython, to_python};
use crate::locks::Lock;

struct Pool {
    process: u32,
    threads: usize,
    workers: Option<Arc<ThreadPool>>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { process: 0, threads: 0, workers: None });

/// Interval between two checks for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Number of processors, cached because the system call takes about 30 microseconds.
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
    // If memory runs out when a thread first runs, it can't allocate its thread-local variables, and the system aborts
    // the process; so all threads run once before there is any work.
    pool.broadcast(|_| ());
    let pool = Arc::new(pool);
    state.workers = Some(Arc::clone(&pool));
    Ok(pool)
}

/// Maximum number of threads that may work without the pool: each takes a few kilobytes until the process ends.
const MOST_ALONE: usize = 64;

/// Make the calling thread the only worker of a pool, so that parallel loops run on it alone.
fn becomes_worker() -> bool {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    if THREADS.fetch_add(1, Ordering::Relaxed) >= MOST_ALONE {
        return false;
    }
    // It is never dropped: rayon registers a thread as a worker permanently.
    ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().map(std::mem::forget).is_ok()
}

/// True if the calling thread may work without the pool.
fn works_alone() -> bool {
    thread_local!(static ALONE: bool = becomes_worker());
    ALONE.try_with(|alone| *alone).unwrap_or(false)
}

/// The end of a task, set by a worker and awaited by the calling thread.
#[derive(Default)]
struct Ended {
    /// Once the task has ended: whether it panicked, and with what.
    found: Mutex<Option<std::thread::Result<()>>>,
    arrived: Condvar,
}

impl Ended {
    fn put(&self, result: std::thread::Result<()>) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        self.arrived.notify_one();
    }

    /// Wait at most this long; return whether the task has ended.
    fn wait(&self, most: Duration) -> bool {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.arrived.wait_timeout_while(found, most, |found| found.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }
}

/// Waits for a task when it is dropped.
struct Waiting<'a>(&'a Ended);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        while !self.0.wait(LOOK) {}
    }
}

/// Let `run` call `work` once as a trait object, so that what runs it is compiled once for all kinds of work.
fn through<T: Send>(work: impl FnOnce() -> T + Send, run: impl FnOnce(&mut (dyn FnMut() + Send))) -> T {
    let (mut work, mut value) = (Some(work), None);
    run(&mut || value = work.take().map(|work| work()));
    value.unwrap_or_else(|| unreachable!("it has run"))
}

/// The pool during one call.
pub(crate) struct Workers {
    pool: Arc<ThreadPool>,
    stop: CancelToken,
    /// The exception that a signal's handler raised.
    raised: RefCell<Option<PyErr>>,
}

impl Workers {
    fn new() -> PyResult<Self> {
        Ok(Self { pool: pool()?, stop: CancelToken::new(), raised: RefCell::new(None) })
    }

    /// Run `work` in the pool and handle signals in the calling thread; the GIL must be released.
    pub(crate) fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        through(work, |task| self.spawn(task))
    }

    /// Run a task in the pool and wait for its end.
    fn spawn(&self, task: &mut (dyn FnMut() + Send)) {
        let ended = Arc::new(Ended::default());
        // In every case, values that the task borrows live until it has ended.
        let waiting = Waiting(&ended);
        let (there, stop) = (Arc::clone(&ended), self.stop.clone());
        let task: Box<dyn FnOnce() + Send + '_> = Box::new(move || {
            let found = catch_unwind(AssertUnwindSafe(|| stop.within(task)));
            there.put(found);
        });
        // SAFETY: once a result is set, the closure has run and released everything that it borrows; `waiting` waits
        // for that before this function is left in any way. The task's only other reference is `Ended`, of which it
        // owns a share.
        let task: Box<dyn FnOnce() + Send> = unsafe { std::mem::transmute(task) };
        self.pool.spawn(task);
        while !waiting.0.wait(LOOK) {
            self.look();
        }
        let found = ended.found.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A result that is taken would be awaited again.
        std::mem::forget(waiting);
        if let Some(Err(panic)) = found {
            resume_unwind(panic);
        }
    }

    /// Run `work` in the pool; `few` work, a few hundred microseconds at most, runs on the calling thread, because
    /// passing it to another one and waiting takes about sixty.
    pub(crate) fn install_unless<T: Send>(&self, few: bool, work: impl FnOnce() -> T + Send) -> T {
        if few && works_alone() { self.stop.within(work) } else { self.install(work) }
    }

    /// Run handlers of pending signals; one that raises cancels the call.
    fn look(&self) {
        if self.stop.is_set() {
            return;
        }
        let looked = Python::attach(|py| -> PyResult<()> {
            py.check_signals()?;
            py.import("nearkin.errors")?.call_method0("check_cancelled")?;
            Ok(())
        });
        if let Err(raised) = looked {
            self.raised.replace(Some(raised));
            self.stop.set();
        }
    }

    /// Return the value, or the exception of a handler.
    fn end<T>(self, value: T) -> PyResult<T> {
        match self.raised.into_inner() {
            None => Ok(value),
            Some(raised) => Err(raised),
        }
    }
}

/// Run `work` in the pool with the GIL released. `work` must neither touch Python objects nor wait for a lock: a worker
/// that waits for its own tasks takes up others, and one of those that wants the same lock would deadlock.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    detached_with(py, || Ok(()), |workers, ()| workers.install(work))
}

/// Run `work` with the GIL released; `few` work runs as in `Workers::install_unless`.
pub(crate) fn detached_unless<T: Send>(
    py: Python<'_>,
    few: bool,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    if few && works_alone() { py.detach(work).into_python() } else { detached(py, work) }
}

/// Run `work` in the pool if it is `worth` it; otherwise in the calling thread with the GIL: for work of at most about
/// ten microseconds, or work that the core does not divide.
pub(crate) fn detached_if<T: Send>(
    py: Python<'_>,
    worth: bool,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    if worth { detached(py, work) } else { work().into_python() }
}

/// Run `work` in the pool with the result of `lock`: the calling thread takes locks outside the pool and without the
/// GIL.
pub(crate) fn detached_with<G, T: Send>(
    py: Python<'_>,
    lock: impl FnOnce() -> Result<G> + Send,
    work: impl FnOnce(&Workers, G) -> Result<T> + Send,
) -> PyResult<T> {
    let workers = Workers::new()?;
    let shared = Released(&workers);
    let value = through(
        move || {
            let Released(workers) = { shared };
            work(workers, lock()?)
        },
        |call| py.detach(call),
    );
    workers.end(value)?.into_python()
}

/// The workers of a call in a section without the GIL.
struct Released<'a>(&'a Workers);

// SAFETY: `py.detach` runs its closure on the calling thread, so no other thread reaches the cell of `Workers`.
unsafe impl Send for Released<'_> {}

/// Run `work` in the pool with read access to the value of `lock`.
pub(crate) fn reading<V: Send + Sync, T: Send>(
    py: Python<'_>,
    lock: &Lock<V>,
    work: impl FnOnce(&V) -> Result<T> + Send,
) -> PyResult<T> {
    reading_unless(py, lock, |_| Ok(false), work)
}

/// Run `work` with read access to the value of `lock`; the calling thread runs it if `few` returns true.
pub(crate) fn reading_unless<V: Send + Sync + ?Sized, T: Send>(
    py: Python<'_>,
    lock: &Lock<V>,
    few: impl FnOnce(&V) -> Result<bool> + Send,
    work: impl FnOnce(&V) -> Result<T> + Send,
) -> PyResult<T> {
    let work = |pool: &Workers, value: RwLockReadGuard<'_, V>| {
        let value: &V = &value;
        pool.install_unless(few(value)?, || work(value))
    };
    detached_with(py, || lock.read(), work)
}

/// Run `work` with write access to the value of `lock`, in the pool unless it is `few`.
pub(crate) fn writing<V: Send + Sync, T: Send>(
    py: Python<'_>,
    lock: &Lock<V>,
    few: bool,
    work: impl FnOnce(&mut V) -> Result<T> + Send,
) -> PyResult<T> {
    let work = |pool: &Workers, mut value: RwLockWriteGuard<'_, V>| {
        let value: &mut V = &mut value;
        pool.install_unless(few, || work(value))
    };
    detached_with(py, || lock.write(), work)
}

/// Set the number of threads of this process's batch calls: 1 or more, or None for one per core.
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

/// Return the number of threads of this process's batch calls.
#[pyfunction]
fn num_threads() -> usize {
    let state = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if state.threads == 0 { available() } else { state.threads }
}

/// Return the largest instruction set that kernels use.
#[pyfunction]
fn instructions() -> &'static str {
    features::instructions()
}

/// Return the instruction sets that this processor has, from the smallest to the largest.
#[pyfunction]
fn available_instructions() -> Vec<&'static str> {
    features::available()
}

/// Use no instructions beyond a set, or all that the processor has: for tests and measurements.
#[pyfunction]
#[pyo3(signature = (name=None))]
fn limit_instructions(name: Option<&str>) -> PyResult<()> {
    features::limit_instructions(name).into_python()
}

register! {
    set_num_threads, num_threads, instructions, available_instructions, limit_instructions
}
