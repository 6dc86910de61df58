//! Any bytes as JSON Lines: records and reasons, never a panic; accepted records equal those of serde_json.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_core::records::jsonl::{JsonColumns, read, read_spans};
use nearkin_fuzz::alone;
use serde_json::Value;

fuzz_target!(init: alone(), |input: &[u8]| {
    let Some((&flags, block)) = input.split_first() else { return };
    let columns = JsonColumns {
        text: "text".to_owned(),
        text_optional: flags & 4 == 0,
        id: (flags & 1 == 0).then(|| "id".to_owned()),
        extra: if flags & 2 == 0 { vec!["x".to_owned()] } else { Vec::new() },
    };
    let all = read(block, true, &columns).expect("a block below 4 GiB");
    assert_eq!(block.len(), all.consumed);
    assert_eq!(block.iter().filter(|&&byte| byte == b'\n').count() as u64, all.lines);

    // After a split anywhere, the two pieces contain the same records.
    let cut = (flags as usize >> 2) * block.len() / 64;
    let first = read(&block[..cut], false, &columns).expect("a block below 4 GiB");
    let second = read(&block[first.consumed..], true, &columns).expect("a block below 4 GiB");
    assert_eq!(all.data, [first.data, second.data].concat());
    assert_eq!(all.malformed_count, first.malformed_count + second.malformed_count);

    // Records that are read again are the same, and each is an object with that text.
    let mut packed = Vec::new();
    for row in 0..all.len() {
        let record = &block[all.starts[row] as usize..][..all.lengths[row] as usize];
        packed.extend_from_slice(record);
        let text = all.text(row).expect("UTF-8");
        // serde_json's Value refuses numbers and nesting that the reader skips, but never returns another text.
        if let Ok(value) = serde_json::from_slice::<Value>(record) {
            assert_eq!(value["text"].as_str().unwrap_or_default(), text);
        }
    }
    let again = read_spans(&packed, &all.lengths, &columns).expect("lengths that add up");
    assert_eq!((&all.offsets, &all.data, &all.columns), (&again.offsets, &again.data, &again.columns));
});
