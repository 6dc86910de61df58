//! The bytes of an open file: read into memory if it is small, mapped if it is large, and guarded against a file that
//! shrinks while it is mapped.
//!
//! **Broken maps.** Reading a page of a map whose file was truncated, or whose disk fails, raises SIGBUS, which ends
//! the process. A handler, installed with the first map, looks the address up among the maps of this module. If it
//! belongs to one, the handler maps a page of zeros there, marks the map as broken, and lets the read continue. The
//! caller checks [`Memory::is_broken`] afterwards and discards the result. Any other SIGBUS is passed to the previous
//! handler.
//!
//! Limits: at most `MAPS` guarded maps at once, and none on systems other than Unix; further maps are not guarded.
//! Every new map installs the handler again, in front of handlers installed since (for example, Python's faulthandler).
//! A handler that restores the previous one and sends the signal again, as faulthandler does, reaches this one; a
//! signal that comes back this way ends the process. Tests:
//! `a_file_that_is_truncated_while_mapped_breaks_its_map_alone`, and from Python `tests/faults/test_truncated.py`.

use std::fs::File;
use std::io::Read;
use std::ops::Deref;

use memmap2::Mmap;

use crate::Result;
use crate::alloc::{self, as_bytes};

/// Maximum size of a file that is read instead of mapped.
const SMALL: u64 = 1 << 20;

/// The bytes of a file.
#[derive(Debug)]
pub struct Memory(Storage);

#[derive(Debug)]
enum Storage {
    /// A copy in memory.
    Read(Words),
    /// A map and its slot among the guarded maps. The slot is dropped first: another map may get these addresses as
    /// soon as this one is unmapped.
    Mapped(Option<bus::Slot>, Mmap),
}

/// Words, aligned for every number type; only the first `length` bytes are valid.
#[derive(Debug)]
struct Words {
    words: Vec<u64>,
    length: usize,
}

impl Words {
    fn of(bytes: &[u8]) -> Result<Self> {
        let mut words = alloc::try_zeroed::<u64>(bytes.len().div_ceil(8))?;
        for (word, chunk) in words.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..chunk.len()].copy_from_slice(chunk);
            *word = u64::from_ne_bytes(whole);
        }
        Ok(Self { words, length: bytes.len() })
    }

    fn bytes(&self) -> &[u8] {
        &as_bytes(&self.words)[..self.length]
    }
}

impl Memory {
    /// Return the bytes of an open file.
    ///
    /// # Errors
    /// The system refuses, or memory runs out.
    pub(crate) fn of(file: &File) -> std::io::Result<Self> {
        Self::of_at_most(file, SMALL)
    }

    pub(super) fn of_at_most(mut file: &File, small: u64) -> std::io::Result<Self> {
        let length = file.metadata()?.len();
        if length <= small {
            // One more byte, so that the end is detected without growing the buffer.
            let mut bytes = alloc::try_with_capacity(length as usize + 1).map_err(std::io::Error::other)?;
            file.read_to_end(&mut bytes)?;
            return Ok(Self(Storage::Read(Words::of(&bytes).map_err(std::io::Error::other)?)));
        }
        // SAFETY: the map is read-only. If another process changes the file in place, the numbers change and checksums
        // detect it; if it truncates the file, the guard detects the broken map. Neither violates memory safety,
        // because every bit pattern of the types that are read is a value.
        let map = unsafe { Mmap::map(file) }?;
        let slot = bus::guard(map.as_ptr(), map.len());
        Ok(Self(Storage::Mapped(slot, map)))
    }

    /// Return a pointer to the first byte.
    #[inline]
    pub(super) fn start(&self) -> *const u8 {
        match &self.0 {
            Storage::Read(words) => words.words.as_ptr().cast(),
            Storage::Mapped(_, map) => map.as_ptr(),
        }
    }

    /// True if a read has hit a page that no longer exists.
    pub(crate) fn is_broken(&self) -> bool {
        match &self.0 {
            Storage::Read(_) | Storage::Mapped(None, _) => false,
            Storage::Mapped(Some(slot), _) => slot.is_broken(),
        }
    }
}

impl Deref for Memory {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Storage::Read(words) => words.bytes(),
            Storage::Mapped(_, map) => map,
        }
    }
}

/// Maximum number of guarded maps.
pub(super) const MAPS: usize = 1024;

#[cfg(unix)]
mod bus {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

    use super::MAPS;

    /// A guarded address range; free if it begins at 0.
    struct Stretch {
        begin: AtomicUsize,
        end: AtomicUsize,
        broken: AtomicBool,
    }

    static STRETCHES: [Stretch; MAPS] =
        [const { Stretch { begin: AtomicUsize::new(0), end: AtomicUsize::new(0), broken: AtomicBool::new(false) } };
            MAPS];
    /// Locked while a slot is taken or a handler installed; the handler itself is lock-free.
    static CHANGE: Mutex<()> = Mutex::new(());
    /// The previous action, leaked because the handler may read it at any time.
    static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());
    /// Set once the previous handler has received a memory fault: a signal sent after that is this fault, passed on.
    static HANDED_ON: AtomicBool = AtomicBool::new(false);

    /// A slot of a guarded map, released on drop. The map must outlive the reads that it guards.
    #[derive(Debug)]
    pub(super) struct Slot(usize);

    impl Slot {
        pub(super) fn is_broken(&self) -> bool {
            STRETCHES[self.0].broken.load(Ordering::Acquire)
        }
    }

    impl Drop for Slot {
        fn drop(&mut self) {
            let stretch = &STRETCHES[self.0];
            stretch.end.store(0, Ordering::Release);
            stretch.broken.store(false, Ordering::Release);
            stretch.begin.store(0, Ordering::Release);
        }
    }

    /// Guard a map; None if all slots are taken.
    pub(super) fn guard(begin: *const u8, length: usize) -> Option<Slot> {
        let _held = CHANGE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        install();
        let slot = STRETCHES.iter().position(|stretch| stretch.begin.load(Ordering::Acquire) == 0)?;
        let stretch = &STRETCHES[slot];
        stretch.broken.store(false, Ordering::Release);
        stretch.end.store(begin as usize + length, Ordering::Release);
        stretch.begin.store(begin as usize, Ordering::Release);
        Some(Slot(slot))
    }

    /// Install our handler in front, unless it already is.
    fn install() {
        // SAFETY: both structures are valid for the calls; a handler with SA_SIGINFO has the signature of
        // `handle_sigbus`.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut now) != 0
                || now.sa_sigaction == handle_sigbus as *const () as usize
            {
                return;
            }
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = handle_sigbus as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut ours.sa_mask);
            BEFORE.store(Box::into_raw(Box::new(now)), Ordering::Release);
            libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut());
        }
    }

    /// Signal handler: map a page of zeros at a guarded address, or run the previous action for any other. It neither
    /// locks nor allocates.
    extern "C" fn handle_sigbus(signal: libc::c_int, about: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the system passes a valid structure to a handler with SA_SIGINFO.
        let (address, code) = unsafe { ((*about).si_addr() as usize, (*about).si_code) };
        // A positive code is a memory fault; other signals were sent by a process and have no address.
        if code > 0 {
            for stretch in &STRETCHES {
                let begin = stretch.begin.load(Ordering::Acquire);
                if begin != 0 && (begin..stretch.end.load(Ordering::Acquire)).contains(&address) {
                    stretch.broken.store(true, Ordering::Release);
                    // SAFETY: the page is part of one of our live maps, and contains nothing that can be read.
                    let page = unsafe {
                        let size = libc::sysconf(libc::_SC_PAGESIZE) as usize;
                        libc::mmap(
                            (address & !(size - 1)) as *mut libc::c_void,
                            size,
                            libc::PROT_READ,
                            libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANON,
                            -1,
                            0,
                        )
                    };
                    if page != libc::MAP_FAILED {
                        return;
                    }
                }
            }
        }
        let before = BEFORE.load(Ordering::Acquire);
        let returned = HANDED_ON.load(Ordering::Acquire) && code <= 0;
        // SAFETY: `before` was leaked and is valid or null; the handler is called with the signature that its flags
        // declare.
        unsafe {
            if returned || before.is_null() || (*before).sa_sigaction == libc::SIG_DFL {
                // The faulting instruction runs again, now without a handler.
                libc::signal(libc::SIGBUS, libc::SIG_DFL);
                if code <= 0 {
                    libc::raise(libc::SIGBUS);
                }
            } else if (*before).sa_sigaction == libc::SIG_IGN {
            } else if (*before).sa_flags & libc::SA_SIGINFO != 0 {
                HANDED_ON.store(code > 0, Ordering::Release);
                let call: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute((*before).sa_sigaction);
                call(signal, about, context);
            } else {
                HANDED_ON.store(code > 0, Ordering::Release);
                let call: extern "C" fn(libc::c_int) = std::mem::transmute((*before).sa_sigaction);
                call(signal);
            }
        }
    }
}

#[cfg(not(unix))]
mod bus {
    /// Maps are not guarded on this system.
    #[derive(Debug)]
    pub(super) enum Slot {}

    impl Slot {
        pub(super) fn is_broken(&self) -> bool {
            match *self {}
        }
    }

    pub(super) fn guard(_begin: *const u8, _length: usize) -> Option<Slot> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_is_read_as_it_is() {
        let path = std::env::temp_dir().join(format!("nearkin-memory-{}", std::process::id()));
        for length in [0, 1, 7, 8, 9, 1000] {
            let bytes: Vec<u8> = (0..length).map(|i| i as u8).collect();
            std::fs::write(&path, &bytes).expect("writable");
            let memory = Memory::of(&File::open(&path).expect("there")).expect("readable");
            assert!(matches!(memory.0, Storage::Read(_)));
            assert_eq!(bytes, &*memory);
            assert!(!memory.is_broken());
        }
        std::fs::remove_file(&path).expect("there");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_truncated_while_mapped_breaks_its_map_alone() {
        let folder = std::env::temp_dir();
        let paths = [0, 1].map(|i| folder.join(format!("nearkin-truncated-{}-{i}", std::process::id())));
        let memories = paths.each_ref().map(|path| {
            std::fs::write(path, vec![7_u8; 1 << 20]).expect("writable");
            Memory::of_at_most(&File::open(path).expect("there"), 0).expect("mappable")
        });
        File::options().write(true).open(&paths[0]).expect("there").set_len(4096).expect("writable");
        let sum = |memory: &Memory| memory.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        assert_eq!(7 << 20, sum(&memories[1]));
        assert_eq!(7 * 4096, sum(&memories[0]));
        assert_eq!((true, false), (memories[0].is_broken(), memories[1].is_broken()));
        drop(memories);
        for path in paths {
            std::fs::remove_file(path).expect("there");
        }
    }
}
