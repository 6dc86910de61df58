//! Any bytes as lines of a log: a template and its values reproduce the line, each line matches a template, and merging
//! templates again does not increase their number; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_fuzz::alone;
use nearkin_patterns::batch::{self, BatchMetadata, Packed};
use nearkin_patterns::columns::Columns;
use nearkin_patterns::lines;
use nearkin_patterns::matching::{Matcher, Plans};
use nearkin_patterns::template_merge::{Overrides, merge_templates};
use nearkin_patterns::templates::{TemplateTable, wildcard_kinds};

fuzz_target!(init: alone(), |input: &[u8]| {
    let ends = input.iter().enumerate().filter(|byte| *byte.1 == b'\n').map(|byte| byte.0 as i64 + 1);
    let mut offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    if offsets.last() != Some(&(input.len() as i64)) {
        offsets.push(input.len() as i64);
    }
    let items = Packed::new(&offsets, input).expect("offsets of the input");
    let batches = batch::scan(items, lines::scan).expect("nothing stops it");
    let mut table = TemplateTable::new(4, 1 << 20).expect("valid");
    batch::add(&mut table, &batches, items, BatchMetadata::default()).expect("memory");
    assert_eq!(items.len() as u64, table.count() + batch::skipped(&batches)[0]);
    for batch in &batches {
        for (row, _, template, values) in batch.iter() {
            let values: usize = values.map(|position| batch.value(position).1.len()).sum();
            let escaped = template.windows(2).filter(|pair| *pair == [0xFF, 0]).count();
            let wildcards = wildcard_kinds(template).expect("a template").len();
            assert_eq!(items.get(row).trim_ascii_end().len(), template.len() - 2 * wildcards - escaped + values);
        }
    }

    let result = merge_templates(&table, &Overrides::default()).expect("nothing stops it");
    assert_eq!(table.count(), result.count());
    let (matcher, mut plans) = (Matcher::new(&result).expect("memory"), Plans::default());
    for (_, hash, template, _) in batches.iter().flat_map(|batch| batch.iter()) {
        let short = template.len() < 1000;
        assert!(plans.get(&matcher, template, hash).is_some() || !short);
    }
    let columns = Columns::from_table(&result).expect("memory");
    let again = columns.table(4, 1 << 20, (0, 0)).expect("a table");
    assert_eq!(columns, Columns::from_table(&again).expect("memory"));
    assert!(merge_templates(&again, &Overrides::default()).expect("nothing stops it").len() <= again.len());
});
