//! The thread pool of the process: sized on request, made anew in a forked child.
//!
//! rayon's global pool dies with `fork`: the child has its queue but not its threads, so the first call would wait for
//! ever. The pool here is therefore our own, made on first use and remembered with the process id that made it; a
//! child sees another id and makes its own pool. Results never depend on the number of threads.

use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};

use nearkin_core::Error;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors::to_python;

struct Pool {
    process: u32,
    threads: usize,
    workers: Option<Arc<ThreadPool>>,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { process: 0, threads: 0, workers: None });

fn available() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
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
    let pool = Arc::new(pool);
    state.workers = Some(Arc::clone(&pool));
    Ok(pool)
}

/// Runs `work` in the pool with the GIL released. `work` must not touch Python objects, nor wait for a lock: a worker
/// that waits for its own tasks takes up others meanwhile, and one that wants the lock that it holds would never end.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = pool()?;
    Ok(py.detach(|| pool.install(work)))
}

/// As `detached` where that is `worth` it; else the calling thread does it at once, with the GIL held: for work of some ten
/// microseconds at most, or that the core is known not to share out.
pub(crate) fn detached_if<T: Send>(py: Python<'_>, worth: bool, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if worth { detached(py, work) } else { Ok(work()) }
}

/// As `detached`, with what `lock` gives: locks are taken by the calling thread, outside of the pool.
pub(crate) fn detached_with<G, T: Send>(
    py: Python<'_>,
    lock: impl FnOnce() -> G + Send,
    work: impl FnOnce(&ThreadPool, G) -> T + Send,
) -> PyResult<T> {
    let pool = pool()?;
    Ok(py.detach(|| work(&pool, lock())))
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
