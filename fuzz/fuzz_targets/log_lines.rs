//! Any bytes as lines of a log: a form and its values reproduce the line, each line matches a template, and merging
//! templates again does not increase their number; never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_patterns::batch::{self, Beside, Packed};
use nearkin_patterns::columns::Columns;
use nearkin_patterns::forms::{FormTable, holes_of};
use nearkin_patterns::lines;
use nearkin_patterns::matching::{Matcher, Plans};
use nearkin_patterns::merging::{Orders, templates};
use nearkin_fuzz::alone;

fuzz_target!(init: alone(), |input: &[u8]| {
    let ends = input.iter().enumerate().filter(|byte| *byte.1 == b'\n').map(|byte| byte.0 as i64 + 1);
    let mut offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    if offsets.last() != Some(&(input.len() as i64)) {
        offsets.push(input.len() as i64);
    }
    let items = Packed::new(&offsets, input).expect("offsets of the input");
    let batches = batch::scan(items, lines::scan).expect("nothing stops it");
    let mut table = FormTable::new(4, 1 << 20).expect("valid");
    batch::add(&mut table, &batches, items, Beside::default()).expect("room");
    assert_eq!(items.len() as u64, table.count() + batch::skipped(&batches)[0]);
    for batch in &batches {
        for (row, _, form, values) in batch.iter() {
            let values: usize = values.map(|place| batch.value(place).1.len()).sum();
            let escaped = form.windows(2).filter(|pair| *pair == [0xFF, 0]).count();
            let holes = holes_of(form).expect("a form").len();
            assert_eq!(items.get(row).trim_ascii_end().len(), form.len() - 2 * holes - escaped + values);
        }
    }

    let found = templates(&table, &Orders::default()).expect("nothing stops it");
    assert_eq!(table.count(), found.table.count());
    let (matcher, mut plans) = (Matcher::new(&found.table).expect("room"), Plans::default());
    for (_, hash, form, _) in batches.iter().flat_map(|batch| batch.iter()) {
        let short = form.len() < 1000;
        assert!(plans.get(&matcher, form, hash).is_some() || !short);
    }
    let columns = Columns::of(&found.table).expect("room");
    let again = columns.table(4, 1 << 20, (0, 0)).expect("a table");
    assert_eq!(columns, Columns::of(&again).expect("room"));
    assert!(templates(&again, &Orders::default()).expect("nothing stops it").table.len() <= again.len());
});
