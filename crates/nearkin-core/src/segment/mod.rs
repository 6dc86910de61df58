//! The segment: an immutable file of named, checksummed arrays, written to a temporary file, renamed, and read through
//! a memory map.
//!
//! All numbers are little-endian. `docs/format.md` specifies the format; this module is its only implementation.
//!
//! ```text
//! header   64 bytes   magic "NEARKSEG", version u32, kind u32, sections u32, 0 u32, file length u64, 0 u64 x 3,
//!                     checksum u64 of the header (this field zero) and the section table
//! table    40 bytes per section: tag u32, number u32, offset u64, bytes u64, checksum u64, 0 u64
//! arrays   each at a multiple of 64 bytes
//! ```
//!
//! Checksums are XXH3-64. `open` reads only the header and the table, so a file of any size opens in milliseconds. It
//! checks every offset and length, so that no array extends past the file. The first use verifies the rest once
//! ([`with_verified`]); [`Segment::verify`] does so at any time.
//!
//! **Crash safety.** [`replace`] publishes a file atomically: after a crash at any moment the path contains the old
//! file or the complete new one. A file must not be modified in place while it is open. nearkin never does so and
//! detects changes by others: [`with_verified`] verifies checksums at first use, and `memory` survives a file that shrinks.
//!
//! | module | contents |
//! |---|---|
//! | `column` | arrays in memory or in a map |
//! | `memory` | the bytes of a file, read or mapped, and the SIGBUS guard |
//! | `writer`, `reader` | [`Writer`] and [`Segment`], the two sides of the format; [`with_verified`] use of an open file |
//! | [`arrays`] | small files of a text and byte arrays, fully verified on reading |
//! | `numbers` | a section of single numbers, each checked as it is read |
//! | [`replace`] | atomic replacement of a file, segment or not |

pub mod arrays;
mod column;
mod memory;
pub(crate) mod numbers;
mod reader;
pub mod replace;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;

use crate::Error;
pub use crate::alloc::{Plain, as_bytes};
pub use column::Column;
pub use memory::Memory;
pub use reader::{Segment, open_regular, with_sigbus_guard, with_verified};
pub use writer::{Stream, Writer};

const MAGIC: &[u8; 8] = b"NEARKSEG";
/// The version that this build writes, and the newest that it reads.
pub const VERSION: u32 = 1;
pub(crate) const HEADER: usize = 64;
const ENTRY: usize = 40;
const ALIGN: u64 = 64;
/// Offset of the header's checksum.
const SUM_AT: usize = 56;

/// Return the kind of a segment that begins with these bytes, whatever its version; None if they are not the start of a
/// segment.
pub(crate) fn kind_of(head: &[u8]) -> Option<u32> {
    let (magic, rest) = head.split_first_chunk::<8>()?;
    let kind = rest.get(4..)?.first_chunk::<4>()?;
    (magic == MAGIC).then(|| u32::from_le_bytes(*kind))
}

/// Add the operation to an I/O error; an error of the core is returned unchanged.
fn io(action: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let action = format!("{action} {}", path.display());
    |source| source.downcast::<Error>().unwrap_or_else(|source| Error::Io { action, source })
}
