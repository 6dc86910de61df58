//! Any bytes as a payload: never a panic; no layer makes it longer; table and single analysis agree; features ascend.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_fuzz::alone;
use nearkin_patterns::batch::Batch;
use nearkin_patterns::payloads::decode::Decoder;
use nearkin_patterns::payloads::{groups, scripts, templates};

fuzz_target!(init: alone(), |input: &[u8]| {
    let mut decoder = Decoder::default();
    assert!(decoder.decode(input).len() <= input.len());
    let result = templates::read(input);
    let mut batch = Batch::default();
    templates::scan(&mut batch, 0, input);
    assert_eq!(1, batch.len() + batch.skipped().len());
    for (_, _, template, values) in batch.iter() {
        assert_eq!(result.template.as_bytes(), groups::template_text(template).expect("a template of a payload"));
        assert_eq!(groups::HIDDEN + result.values.len(), values.len());
    }
    assert!(groups::similarity(result.template.as_bytes(), result.template.as_bytes()) <= 1.0);
    if let Some(features) = scripts::features(input) {
        assert!(features.windows(2).all(|pair| pair[0] < pair[1]));
    }
});
