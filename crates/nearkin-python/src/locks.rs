//! The lock of every object that calls change: [`Lock`]. Readers share it, a writer has it alone, and `fork` does not
//! hang it.
//!
//! **Fork.** A forked child has the memory of its parent, but only the thread that forked. A lock that another thread
//! held at that moment is never released in the child, and what it guards may be half changed. The process therefore
//! counts its forks (a handler of `pthread_atfork` does, in each child), and a lock remembers the count at which it was
//! last looked at. The first use after a fork, before any thread of the child can hold the lock, tries it without
//! waiting: a lock that was free works on; one that was held, by a reader or a writer, is an [`Error::Forked`] from
//! then on. Readers change nothing that is seen, but they compare checksums once, and a comparison that was under way
//! is never finished in the child. What was in use is not dropped in the child either: its pointers may be stale.
//!
//! A panic under a lock does not close it: callers that change things in place say why the object stays consistent.

use std::mem::ManuallyDrop;
#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use nearkin_core::{Error, Result};

/// Forks between the process that loaded the module and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

#[cfg(unix)]
extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Asks the system to count forks; to be called before the first lock is made.
pub(crate) fn count_forks() -> Result<()> {
    #[cfg(unix)]
    {
        static ASKED: OnceLock<i32> = OnceLock::new();
        // SAFETY: the handler adds to an atomic number and does nothing else, which is allowed after a fork of many threads; the
        // module is never unloaded, so the handler's address stays valid.
        let refused = *ASKED.get_or_init(|| unsafe { libc::pthread_atfork(None, None, Some(forked)) });
        if refused != 0 {
            let source = std::io::Error::from_raw_os_error(refused);
            return Err(Error::Io { action: "can't count forks".to_owned(), source });
        }
    }
    Ok(())
}

/// What a look after a fork has found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// A thread is looking.
    Looking,
    /// It was free.
    Free,
    /// A thread that is not in this process held it.
    Held,
}

impl Found {
    /// As a state: the forks in the upper half.
    fn at(self, forks: u32) -> u64 {
        u64::from(forks) << 32 | self as u64
    }

    fn of(state: u64) -> Self {
        [Self::Looking, Self::Free, Self::Held][(state as u32).min(2) as usize]
    }
}

/// A value behind a lock: see the module.
pub(crate) struct Lock<T> {
    state: AtomicU64,
    /// Dropped by hand, unless a thread that is not here held it.
    value: ManuallyDrop<RwLock<T>>,
}

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        let state = AtomicU64::new(Found::Free.at(FORKS.load(Ordering::Relaxed)));
        Self { state, value: ManuallyDrop::new(RwLock::new(value)) }
    }

    /// The value to read; waits for a writer.
    pub(crate) fn read(&self) -> Result<RwLockReadGuard<'_, T>> {
        self.check()?;
        Ok(self.value.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The value to change; waits for readers and writers.
    pub(crate) fn write(&self) -> Result<RwLockWriteGuard<'_, T>> {
        self.check()?;
        Ok(self.value.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// The value to change, if nobody holds it.
    pub(crate) fn try_write(&self) -> Result<Option<RwLockWriteGuard<'_, T>>> {
        self.check()?;
        match self.value.try_write() {
            Ok(value) => Ok(Some(value)),
            Err(TryLockError::Poisoned(error)) => Ok(Some(error.into_inner())),
            Err(TryLockError::WouldBlock) => Ok(None),
        }
    }

    fn check(&self) -> Result<()> {
        if self.found() == Found::Held { Err(Error::Forked) } else { Ok(()) }
    }

    /// What the last look has found, after a look if the process has forked since.
    fn found(&self) -> Found {
        let forks = FORKS.load(Ordering::Relaxed);
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state >> 32 != u64::from(forks) {
                // One thread looks; the others wait below, so that none of them holds the lock meanwhile.
                let looking = Found::Looking.at(forks);
                if self.state.compare_exchange(state, looking, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                    let held = matches!(self.value.try_write(), Err(TryLockError::WouldBlock));
                    let found = if held { Found::Held } else { Found::Free };
                    self.state.store(found.at(forks), Ordering::Release);
                    return found;
                }
            } else if Found::of(state) == Found::Looking {
                std::thread::yield_now();
            } else {
                return Found::of(state);
            }
        }
    }
}

impl<T> Drop for Lock<T> {
    fn drop(&mut self) {
        if self.found() == Found::Free {
            // SAFETY: the value is dropped here alone, and is not used after.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}
