//! The segment: an immutable file of named arrays, checksummed, written aside and renamed, read through a memory map.
//!
//! All numbers are little-endian. `docs/format.md` is the document of the format; this module is its one
//! implementation.
//!
//! ```text
//! header   64 bytes   magic "NEARKSEG", version u32, kind u32, sections u32, 0 u32, file length u64, 0 u64 x 3,
//!                     checksum u64 of the header (this field zero) and the section table
//! table    40 bytes per section: tag u32, number u32, offset u64, bytes u64, checksum u64, 0 u64
//! arrays   each at a multiple of 64 bytes
//! ```
//!
//! Checksums are XXH3-64. `open` reads the header and the table alone, so a file of any size opens in milliseconds;
//! every offset and length is checked there, so that no array reaches outside the file. The first use reads the rest
//! once ([`guarded`]); [`Segment::verify`] does so at any time.
//!
//! **Crash safety.** [`replace`] puts a file in its place: after a crash at any moment there is the old file or the new
//! one, whole. A file must not be changed in place while it is open; nearkin never does so, and changes by others are
//! detected: [`guarded`] compares checksums at first use, and `memory` survives a file that shrinks.
//!
//! | module | what it holds |
//! |---|---|
//! | `column` | arrays in memory or in a map, and which numbers they may hold |
//! | `memory` | the bytes of a file, read or mapped, and what happens when it shrinks |
//! | `writer`, `reader` | [`Writer`] and [`Segment`], the two sides of the format; [`guarded`] use of an opened file |
//! | [`arrays`] | small files of a text and byte arrays, checked whole |
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
pub use column::{Column, Plain, bytes_of};
pub use memory::Memory;
pub use reader::{Segment, caught, guarded, open_regular};
pub use writer::{Stream, Writer};

const MAGIC: &[u8; 8] = b"NEARKSEG";
/// The version that this build writes and the newest that it reads.
pub const VERSION: u32 = 1;
pub(crate) const HEADER: usize = 64;
const ENTRY: usize = 40;
const ALIGN: u64 = 64;
/// Place of the header's checksum.
const SUM_AT: usize = 56;

/// The kind of a segment that begins with these bytes, whatever its version; None if it does not begin as a segment.
pub(crate) fn kind_of(head: &[u8]) -> Option<u32> {
    let (magic, rest) = head.split_first_chunk::<8>()?;
    let kind = rest.get(4..)?.first_chunk::<4>()?;
    (magic == MAGIC).then(|| u32::from_le_bytes(*kind))
}

/// Makes the system's error one that says what was being done; one of the core stays itself.
fn io(action: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let action = format!("{action} {}", path.display());
    |source| source.downcast::<Error>().unwrap_or_else(|source| Error::Io { action, source })
}
