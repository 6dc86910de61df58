//! Any lines as URLs, and as lines of a log: no panic; canonical URLs are fixed points; every template is in at most one
//! pattern; the text of a pattern matches that pattern.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_fuzz::alone;
use nearkin_patterns::batch::Batch;
use nearkin_patterns::templates::{ItemMetadata, TemplateTable, item_hash};
use nearkin_patterns::urls::canonical::Canonical;
use nearkin_patterns::urls::logs::{self, Lines};
use nearkin_patterns::urls::rows;
use nearkin_patterns::urls::scan::scan;
use nearkin_patterns::urls::sites::Sites;
use nearkin_patterns::urls::tree::Rules;

fuzz_target!(init: alone(), |input: &[u8]| {
    let (mut url, mut batch) = (Canonical::default(), Batch::default());
    let lines: Vec<&[u8]> = input.split(|&byte| byte == b'\n').collect();
    for (row, line) in lines.iter().enumerate() {
        if let Err(reason) = scan(&mut batch, row, line, &mut url, (None, row % 2 == 1)) {
            batch.skip(row, reason as u8);
        } else if line.first() == Some(&b'/') {
            let (mut once, mut twice) = (Vec::new(), Vec::new());
            url.read(line, None, false).expect("read before");
            url.write(&mut once);
            url.read(&once, None, false).expect("canonical");
            url.write(&mut twice);
            assert_eq!(once, twice);
        }
    }
    let mut table = TemplateTable::new(8, 1 << 16).expect("valid");
    for (row, hash, template, values) in batch.iter() {
        let values = values.map(|position| batch.value(position));
        table.add((hash, template), (item_hash(lines[row]), lines[row]), values, ItemMetadata::default()).expect("memory");
    }
    let sites = Sites::new(&table, &Rules::default(), 2).expect("memory");
    let explained: usize = sites.patterns.iter().map(|named| named.templates.len()).sum();
    assert_eq!(table.len(), explained + sites.unmatched.len());
    for (position, named) in sites.patterns.iter().enumerate() {
        assert!(named.templates.iter().all(|&template| sites.find(&table.templates()[template].text) == Some(position)));
    }
    let (patterns, missing) = rows::rows(&sites, &table).expect("memory");
    assert_eq!(sites.patterns.iter().map(|named| named.count).sum::<u64>(), patterns.count());
    for (named, missing) in sites.patterns.iter().zip(&missing) {
        assert!(missing.iter().all(|missing| missing.requests <= named.count));
    }
    assert_eq!(lines.len(), rows::matches(&sites, &[batch], lines.len()).numbers.len());
    for kind in [Lines::Log, Lines::Plain] {
        assert_eq!(input.len(), logs::read(input, true, kind).expect("memory").consumed);
    }
});
