//! Any bytes as CSV: records and reasons, never a panic; after a split anywhere, the two pieces contain the same
//! records, and reading records again gives the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::records::csv::{RecordLayout, read, read_spans};
use nearkin_fuzz::alone;

fuzz_target!(init: alone(), |input: &[u8]| {
    let Some((&flags, block)) = input.split_first() else { return };
    let fields = usize::from(flags & 3) + 1;
    let layout = RecordLayout {
        delimiter: if flags & 4 == 0 { b',' } else { b'\t' },
        fields,
        text: usize::from(flags >> 3) % fields,
        scalars: if flags & 64 == 0 { vec![fields - 1] } else { Vec::new() },
    };
    let whole = read(block, true, &layout).expect("a block below 4 GiB");
    assert_eq!(block.len(), whole.consumed);

    let cut = usize::from(flags) * block.len() / 256;
    let first = read(&block[..cut], false, &layout).expect("a block below 4 GiB");
    let second = read(&block[first.consumed..], true, &layout).expect("a block below 4 GiB");
    // An unclosed quote swallows the text after it: then reading may resume elsewhere after an earlier split.
    if whole.malformed_count == 0 {
        assert_eq!(whole.data, [first.data, second.data].concat());
    }

    let mut packed = Vec::new();
    for row in 0..whole.len() {
        packed.extend_from_slice(&block[whole.starts[row] as usize..][..whole.lengths[row] as usize]);
        std::str::from_utf8(whole.text(row).expect("UTF-8").as_bytes()).expect("UTF-8");
    }
    let again = read_spans(&packed, &whole.lengths, &layout).expect("lengths that add up");
    assert_eq!((&whole.offsets, &whole.data, &whole.columns), (&again.offsets, &again.data, &again.columns));
});
