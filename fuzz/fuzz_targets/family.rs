//! Any bytes as a family's file: an error or a description with its arrays; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::segment::arrays;
use nearkin_fuzz::place;

fuzz_target!(|input: &[u8]| {
    let path = place("family");
    std::fs::write(&path, input).expect("a writable temporary folder");
    let Ok((text, values)) = arrays::read(&path, arrays::FAMILY) else { return };
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    arrays::write(&path, arrays::FAMILY, &text, &values).expect("a writable temporary folder");
    arrays::read(&path, arrays::FAMILY).expect("what was written is read");
});
