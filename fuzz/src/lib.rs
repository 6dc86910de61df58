//! Helpers of the targets.

pub mod digests;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Once, OnceLock};

use xxhash_rust::xxh3::xxh3_64;

const HEADER: usize = 64;
const ENTRY: usize = 40;

/// Silence panics that unwind: `with_verified` converts those over an opened file to errors, as for users. An uncaught one
/// still ends the target.
pub fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

/// Make the calling thread the only one of rayon's pool, so that parallel code of the core runs on it. Passing each
/// input to another thread and waiting for it would take longer than most inputs do.
pub fn alone() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("a pool that is built once, before its first use");
}

fn long(bytes: &[u8], at: usize) -> usize {
    bytes[at..at + 8].iter().rev().fold(0, |value, &byte| value << 8 | usize::from(byte))
}

/// Correct magic, version, kind, length and every checksum of a segment, as far as the section table is inside it.
pub fn mend(bytes: &mut [u8], kind: u8) {
    if bytes.len() < HEADER {
        return;
    }
    let length = bytes.len() as u64;
    bytes[..8].copy_from_slice(b"NEARKSEG");
    bytes[8..16].copy_from_slice(&[1, 0, 0, 0, kind, 0, 0, 0]);
    bytes[24..32].copy_from_slice(&length.to_le_bytes());
    let end = HEADER + ENTRY * (long(bytes, 16) & 0xff);
    if end > bytes.len() {
        return;
    }
    for at in (HEADER..end).step_by(ENTRY) {
        let (offset, size) = (long(bytes, at + 8), long(bytes, at + 16));
        let section = offset.checked_add(size).and_then(|stop| bytes.get(offset..stop));
        if let Some(sum) = section.map(xxh3_64) {
            bytes[at + 24..at + 32].copy_from_slice(&sum.to_le_bytes());
        }
    }
    bytes[56..64].fill(0);
    let sum = xxh3_64(&bytes[..end]);
    bytes[56..64].copy_from_slice(&sum.to_le_bytes());
}

/// Correct the checksums of a file of documents: of blocks of texts, of pages, then as [`mend`].
pub fn mend_documents(bytes: &mut [u8]) {
    const PAGE: usize = 4096;
    const SUMS: usize = 9;
    const TABLE: usize = 41;
    const TEXTS: usize = 42;
    let head = HEADER + ENTRY * if bytes.len() < HEADER { 0 } else { long(bytes, 16) & 0xff };
    if bytes.len() >= head {
        let sections: Vec<(usize, usize, Range<usize>)> = (HEADER..head)
            .step_by(ENTRY)
            .filter_map(|at| {
                let (name, offset) = (long(bytes, at), long(bytes, at + 8));
                let end =
                    offset.checked_add(long(bytes, at + 16)).filter(|&end| end <= bytes.len() && offset >= head)?;
                Some((name & 0xffff_ffff, name >> 32, offset..end))
            })
            .collect();
        let find = |tag| sections.iter().find(|section| (section.0, section.1) == (tag, 0)).map(|section| &section.2);
        if let (Some(table), Some(texts)) = (find(TABLE), find(TEXTS)) {
            let mut begin = 0;
            for at in table.clone().step_by(24).filter(|at| at + 24 <= table.end) {
                let end = long(bytes, at);
                if let Some(sum) = bytes[texts.clone()].get(begin..end).map(xxh3_64) {
                    bytes[at + 16..at + 24].copy_from_slice(&sum.to_le_bytes());
                }
                begin = end;
            }
        }
        for (_, number, sums) in sections.iter().filter(|section| section.0 == SUMS) {
            let Some(pages) = find(*number) else { continue };
            let places = sums.clone().step_by(8).filter(|at| at + 8 <= sums.end);
            for (page, at) in pages.clone().step_by(PAGE).zip(places) {
                let sum = xxh3_64(&bytes[page..pages.end.min(page + PAGE)]);
                bytes[at..at + 8].copy_from_slice(&sum.to_le_bytes());
            }
        }
    }
    mend(bytes, 11);
}

/// Write the input to a file of this process, with correct checksums unless its first byte is odd.
pub fn file(input: &[u8], name: &str, kind: u8) -> PathBuf {
    made(input, name, |bytes| mend(bytes, kind))
}

/// Write a file of documents; see [`file`].
pub fn documents_file(input: &[u8]) -> PathBuf {
    made(input, "documents", mend_documents)
}

fn made(input: &[u8], name: &str, mend: impl Fn(&mut [u8])) -> PathBuf {
    quiet();
    let mut bytes = input.to_vec();
    if bytes.first().is_none_or(|first| first & 1 == 0) {
        mend(&mut bytes);
    }
    let path = place(name);
    std::fs::write(&path, &bytes).expect("a writable temporary folder");
    path
}

/// Return a path of this process, in a folder of its own, because saving scans the folder for leftovers.
pub fn place(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("nearkin-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a writable temporary folder");
        folder
    });
    folder.join(name)
}
