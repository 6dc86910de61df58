//! A fork-safe readers-writer lock: [`Lock`] guards every object that calls modify.
//!
//! **Fork.** A forked child has the memory of its parent, but only the thread that forked. A lock that another thread
//! had at that moment is never released in the child, and its value may be inconsistent. Therefore the process counts
//! its forks (in a child handler of `pthread_atfork`), and a lock stores the count at its last check. The first use
//! after a fork, before any thread of the child can take the lock, tries it without waiting: a free lock continues to
//! work; a lock that was taken, for reading or writing, returns [`Error::Forked`] from then on. Readers change nothing
//! visible, but they verify checksums once, and a verification in progress never finishes in the child. A value in use
//! is not dropped in the child either, because its pointers may be stale.
//!
//! A panic does not poison a lock: callers that modify values in place document why the object remains consistent.

use std::mem::ManuallyDrop;
#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use nearkin_core::{Error, Result};

/// Number of forks between the process that loaded the module and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

#[cfg(unix)]
extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Install the fork counter; call this before the first lock is created.
pub(crate) fn count_forks() -> Result<()> {
    #[cfg(unix)]
    {
        static ASKED: OnceLock<i32> = OnceLock::new();
        // SAFETY: the handler only increments an atomic number, which is allowed after a fork of many threads; the
        // module is never unloaded, so the handler's address remains valid.
        let refused = *ASKED.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(forked)) });
        if refused != 0 {
            let source = std::io::Error::from_raw_os_error(refused);
            return Err(Error::Io { action: "can't count forks".to_owned(), source });
        }
    }
    Ok(())
}

/// The result of the check after a fork.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ForkState {
    /// A thread is checking.
    Checking,
    /// The lock was free.
    Free,
    /// A thread that does not exist in this process had it.
    Lost,
}

impl ForkState {
    /// Encode a state: the forks in the upper half.
    fn encode(self, forks: u32) -> u64 {
        u64::from(forks) << 32 | self as u64
    }

    fn decode(state: u64) -> Self {
        [Self::Checking, Self::Free, Self::Lost][(state as u32).min(2) as usize]
    }
}

/// A value behind a lock: see the module.
pub(crate) struct Lock<T: ?Sized> {
    state: AtomicU64,
    /// Dropped explicitly, unless a thread of another process had it.
    value: ManuallyDrop<RwLock<T>>,
}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        let state = AtomicU64::new(ForkState::Free.encode(FORKS.load(Ordering::Relaxed)));
        Self { state, value: ManuallyDrop::new(RwLock::new(value)) }
    }
}

impl<T: ?Sized> Lock<T> {
    /// Lock the value for reading; waits for a writer.
    pub(crate) fn read(&self) -> Result<RwLockReadGuard<'_, T>> {
        self.check()?;
        Ok(self.value.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lock the value for writing; waits for readers and writers.
    pub(crate) fn write(&self) -> Result<RwLockWriteGuard<'_, T>> {
        self.check()?;
        Ok(self.value.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lock the value for writing, if it is free.
    pub(crate) fn try_write(&self) -> Result<Option<RwLockWriteGuard<'_, T>>> {
        self.check()?;
        match self.value.try_write() {
            Ok(value) => Ok(Some(value)),
            Err(TryLockError::Poisoned(error)) => Ok(Some(error.into_inner())),
            Err(TryLockError::WouldBlock) => Ok(None),
        }
    }

    fn check(&self) -> Result<()> {
        if self.fork_state() == ForkState::Lost { Err(Error::Forked) } else { Ok(()) }
    }

    /// Return the result of the last check, repeating it if the process has forked since.
    fn fork_state(&self) -> ForkState {
        let forks = FORKS.load(Ordering::Relaxed);
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state >> 32 != u64::from(forks) {
                // One thread checks; the others wait below, so that none of them takes the lock during the check.
                let checking = ForkState::Checking.encode(forks);
                if self.state.compare_exchange(state, checking, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    let lost = matches!(self.value.try_write(), Err(TryLockError::WouldBlock));
                    let fork_state = if lost { ForkState::Lost } else { ForkState::Free };
                    self.state.store(fork_state.encode(forks), Ordering::Release);
                    return fork_state;
                }
            } else if ForkState::decode(state) == ForkState::Checking {
                std::thread::yield_now();
            } else {
                return ForkState::decode(state);
            }
        }
    }
}

impl<T: ?Sized> Drop for Lock<T> {
    fn drop(&mut self) {
        if self.fork_state() == ForkState::Free {
            // SAFETY: the value is dropped only here, and is not used after.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}
