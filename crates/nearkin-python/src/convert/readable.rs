//! Is memory mapped? The C data interface gives no lengths, so a wrong offset may point anywhere.
//!
//! On Linux the kernel reads one byte of each page (`process_vm_readv` of this process) and reports pages that cannot be
//! read instead of raising a signal: 100 ns a page. Other systems, and Linux under a filter of system calls that forbids
//! the call, have no such check. Memory that is mapped but belongs to another object cannot be recognised anywhere.

/// Check that each page of `bytes` bytes from `start` on can be read.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "the signature is that for Linux")]
pub(super) fn check_readable(_start: *const u8, _bytes: usize) -> Result<(), String> {
    Ok(())
}

/// Check that each page of `bytes` bytes from `start` on can be read.
#[cfg(target_os = "linux")]
pub(super) fn check_readable(start: *const u8, bytes: usize) -> Result<(), String> {
    use libc::iovec;

    /// Smallest page of any platform.
    const PAGE: usize = 4096;
    /// Maximum number of ranges of one call (`IOV_MAX`).
    const RANGES: usize = 1024;

    let Some(last) = bytes.checked_sub(1) else { return Ok(()) };
    let end = start.addr().checked_add(last).ok_or_else(|| format!("claims {bytes} bytes, beyond all memory"))?;
    let pages = (end / PAGE) - (start.addr() / PAGE) + 1;
    let address = |page: usize| (start.addr() / PAGE + page).saturating_mul(PAGE).max(start.addr());
    let mut first = 0;
    while first < pages {
        let count = RANGES.min(pages - first);
        let mut into = [0_u8; RANGES];
        let local = iovec { iov_base: into.as_mut_ptr().cast(), iov_len: count };
        let remote: Vec<iovec> = (first..first + count)
            .map(|page| iovec { iov_base: std::ptr::without_provenance_mut(address(page)), iov_len: 1 })
            .collect();
        // SAFETY: the kernel writes at most `count` bytes into `into`, and checks the addresses that it reads.
        let read = unsafe {
            libc::process_vm_readv(libc::getpid(), &raw const local, 1, remote.as_ptr(), count as u64 as _, 0)
        };
        if read < 0 && std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT) {
            return Ok(());
        }
        if usize::try_from(read) != Ok(count) {
            return Err(format!("claims {bytes} bytes, more than the memory that it points to"));
        }
        first += count;
    }
    Ok(())
}
