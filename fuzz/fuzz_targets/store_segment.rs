//! Any bytes as a file of a store's documents: opening or use fails, or it returns results; never a panic, nor more
//! memory than the bytes can decompress to. Nothing is verified first.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::store::{Id, IdColumn, StoreSegment, unpack};
use nearkin_fuzz::{alone, documents_file};

fuzz_target!(init: alone(), |input: &[u8]| {
    let _ = unpack(input, 3, 1 << 12, b"");
    let path = documents_file(input);
    let Ok(file) = StoreSegment::open(&path) else { return };
    let some: Vec<i64> = (0..file.len().min(1 << 10) as i64).collect();
    let _ = file.note();
    let _ = file.sizes();
    let _ = file.rows(0, 1 << 10);
    let _ = file.positions(&[0, 1, 1 << 40, -1]);
    let _ = file.records(&some);
    let _ = file.extras(&some);
    let contents = file.contents(&some).unwrap_or_default();
    let _ = file.find_contents(&contents[..contents.len().min(64)]);
    let _ = file.find_contents(&[0, 0, u64::MAX, u64::MAX]);
    let _ = file.find_ids(IdColumn::Mixed(&[Id::Int(0), Id::Name(""), Id::Name("a")]));
    for &place in &some {
        let _ = file.ids(&[place]);
        let _ = file.texts(&[place]);
    }
    let _ = file.texts(&some);
    let _ = file.verify();
});
