//! What a store keeps on disk: immutable files of documents, found by row number, id and content.
//!
//! A *row* is the number of a document in the whole store, given once. A [`StoreSegment`] holds the documents of some rows,
//! ascending; the *place* of a document is its position there. For each it has an id, the 128-bit hash of its content, a
//! record of fixed width and a byte string (both opaque here), and its text or none.
//!
//! | question | structure | bytes per document |
//! |---|---|---:|
//! | row → place | first row, if rows are consecutive; else the rows, ascending | 0 or 8 |
//! | content → rows | contents in order of place; places in order of content | 16 + 4 |
//! | id → rows | ids in order of place; 64-bit hashes, ascending, and their places | 8 or length + 4; 12 |
//! | place → text | blocks of 16 KB, compressed by zstd with a dictionary learned from the texts | about 45% of the text |
//!
//! Hashes and contents are spread evenly, so that a place is guessed by interpolation: log log n reads where a bisection needs
//! log n (`find`). A hash only leads to a document: its id or content is compared before it counts.
//!
//! **Damage.** Each section has an XXH3-64 of every 4 KiB. A page is compared with its sum before its first use (`pages`), a
//! block of texts at every use, so that opening takes the same time for any size, and a flipped bit is an error that names
//! the file and section. Nothing that a file holds is trusted: offsets are checked where they are used, and a length is
//! allocated only if the bytes there can decompress to it.
//!
//! `docs/format-store.md` is the document of the file; `tests` compares it with a plain list, and each room has a fixed example.
//!
//! | room | what it holds |
//! |---|---|
//! | `segment` | [`StoreSegment`]: open, find, read, verify |
//! | `write` | [`Documents`] and how they become a file |
//! | `ids` | ids of documents: integers, strings, or both |
//! | `blocks`, `compress` | texts in compressed blocks |
//! | `packed` | blocks for the log of a store, which a file takes as they are |
//! | `pages`, `spans`, `find` | arrays that are compared page by page; byte strings; search by interpolation |

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
pub use packed::{Packed, PackedTexts, Part, TextColumn, pack, unpack};
pub use segment::StoreSegment;
pub use write::{Documents, write};

/// The kind of a segment that holds documents of a store.
pub(crate) const KIND: u32 = 11;

/// Tags of sections.
mod tags {
    /// Numbers: documents, first row, width of a record, kind of ids, texts that are there, bytes of texts.
    pub(super) const ABOUT: u32 = 1;
    /// The caller's description.
    pub(super) const NOTE: u32 = 6;
    /// Sums of the pages of the section whose tag is the number.
    pub(super) const SUMS: u32 = 9;
    /// Rows, ascending; missing if consecutive.
    pub(super) const ROWS: u32 = 10;
    /// Contents by place, two words each.
    pub(super) const CONTENTS: u32 = 11;
    /// Places by content.
    pub(super) const BY_CONTENT: u32 = 12;
    /// Records by place.
    pub(super) const RECORDS: u32 = 13;
    /// Integer ids by place.
    pub(super) const INTS: u32 = 20;
    /// Bytes, ends and bases of ids that are not all integers.
    pub(super) const NAMES: [u32; 3] = [21, 22, 23];
    /// Bit of each integer among strings.
    pub(super) const MIXED: u32 = 24;
    /// Hashes of ids, ascending.
    pub(super) const HASHES: u32 = 25;
    /// Places by hash.
    pub(super) const BY_ID: u32 = 26;
    /// Bytes, ends and bases of the caller's byte strings; missing if all are empty.
    pub(super) const EXTRAS: [u32; 3] = [30, 31, 32];
    /// Dictionary of the texts; missing if they are compressed without.
    pub(super) const DICTIONARY: u32 = 40;
    /// End, first place and length, sum of each block of texts; missing without texts.
    pub(super) const BLOCKS: u32 = 41;
    /// Compressed blocks.
    pub(super) const TEXTS: u32 = 42;
}
