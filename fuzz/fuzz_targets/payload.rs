//! Any bytes as a payload: never a panic; no layer makes it longer; table and single analysis agree; features ascend.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nearkin_patterns::batch::Batch;
use nearkin_patterns::payloads::decode::Decoder;
use nearkin_patterns::payloads::{forms, groups, scripts};
use nearkin_fuzz::alone;

fuzz_target!(init: alone(), |input: &[u8]| {
    let mut decoder = Decoder::default();
    assert!(decoder.decode(input).len() <= input.len());
    let found = forms::read(input);
    let mut batch = Batch::default();
    forms::scan(&mut batch, 0, input);
    assert_eq!(1, batch.len() + batch.skipped().len());
    for (_, _, form, values) in batch.iter() {
        assert_eq!(found.form.as_bytes(), groups::text_of(form).expect("a form of a payload"));
        assert_eq!(groups::HIDDEN + found.values.len(), values.len());
    }
    assert!(groups::similarity(found.form.as_bytes(), found.form.as_bytes()) <= 1.0);
    if let Some(features) = scripts::features(input) {
        assert!(features.windows(2).all(|pair| pair[0] < pair[1]));
    }
});
