//! Segments of a store: immutable files of documents with lookup by row number, id and content.
//!
//! A *row* is the number of a document in the store, assigned once. A [`StoreSegment`] contains the documents of some
//! rows, ascending; a document's *position* is its index there. Each document has an id, the 128-bit hash of its
//! content, a record of fixed width, a byte string (both opaque here), and optionally its text.
//!
//! | lookup | structure | bytes per document |
//! |---|---|---:|
//! | row → position | first row, if rows are consecutive; otherwise the rows, ascending | 0 or 8 |
//! | content → rows | contents by position; positions by content | 16 + 4 |
//! | id → rows | ids by position; 64-bit hashes, ascending, and their positions | 8 or length + 4; 12 |
//! | position → text | blocks of 16 KB, compressed by zstd with a dictionary trained on the texts | about 45% of the text |
//!
//! Hashes and contents are uniformly distributed, so interpolation guesses the position: log log n reads where
//! bisection needs log n (`find`). A hash only leads to a candidate: the id or content is compared before it counts as
//! a match.
//!
//! **Damage.** Each section has an XXH3-64 of every 4 KiB page. A page is verified before its first use (`pages`), a
//! block of texts at every use. Opening therefore takes the same time for any size, and a flipped bit is an error that
//! names the file and section. File contents are never trusted: offsets are checked on use, and a length is allocated
//! only if the available bytes can decompress to it.
//!
//! `docs/format-store.md` specifies the file format; `tests` compares it with a plain list, and each module has a fixed
//! example.
//!
//! | module | contents |
//! |---|---|
//! | `segment` | [`StoreSegment`]: open, find, read, verify |
//! | `write` | [`Documents`] and their file |
//! | `ids` | document ids: integers, strings, or both |
//! | `blocks`, `compress` | texts in compressed blocks |
//! | `packed` | blocks for the log of a store, which a file copies unchanged |
//! | `pages`, `spans`, `find` | arrays verified page by page; byte strings; interpolation search |

mod blocks;
mod compress;
mod find;
mod ids;
mod packed;
mod pages;
mod segment;
mod spans;
#[cfg(test)]
mod tests;
mod write;

pub use ids::{Id, IdColumn};
pub use packed::{BlockSource, Packed, PackedTexts, TextColumn, pack, unpack};
pub use segment::StoreSegment;
pub use write::{Documents, write};

/// Segment kind of the documents of a store.
pub(crate) const KIND: u32 = 11;

/// Tags of sections.
mod tags {
    /// Numbers: documents, first row, record width, kind of ids, number of texts, bytes of texts.
    pub(super) const ABOUT: u32 = 1;
    /// The caller's description.
    pub(super) const NOTE: u32 = 6;
    /// Checksums of the pages of the section whose tag is the number.
    pub(super) const SUMS: u32 = 9;
    /// Rows, ascending; missing if consecutive.
    pub(super) const ROWS: u32 = 10;
    /// Contents by position, two words each.
    pub(super) const CONTENTS: u32 = 11;
    /// Positions by content.
    pub(super) const BY_CONTENT: u32 = 12;
    /// Records by position.
    pub(super) const RECORDS: u32 = 13;
    /// Integer ids by position.
    pub(super) const INTS: u32 = 20;
    /// Bytes, ends and bases of ids that are not all integers.
    pub(super) const NAMES: [u32; 3] = [21, 22, 23];
    /// A bit per id, set for integers, if ids are mixed.
    pub(super) const MIXED: u32 = 24;
    /// Hashes of ids, ascending.
    pub(super) const HASHES: u32 = 25;
    /// Positions by hash.
    pub(super) const BY_ID: u32 = 26;
    /// Bytes, ends and bases of the caller's byte strings; missing if all are empty.
    pub(super) const EXTRAS: [u32; 3] = [30, 31, 32];
    /// Dictionary of the texts; missing if they are compressed without one.
    pub(super) const DICTIONARY: u32 = 40;
    /// End, first position and length, and checksum of each block of texts; missing without texts.
    pub(super) const BLOCKS: u32 = 41;
    /// Compressed blocks.
    pub(super) const TEXTS: u32 = 42;
}
