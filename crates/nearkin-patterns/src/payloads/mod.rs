//! Attack payloads: decoded, scanned to templates of typed tokens, and grouped by similarity.
//!
//! | module | content |
//! |---|---|
//! | [`words`] | words that are kept literal |
//! | [`decode`] | layers of encodings |
//! | [`tokens`] | typed tokens, repeats |
//! | [`templates`] | the template of a payload, without the code that breaks in and out of the injection point |
//! | [`groups`] | groups of similar templates |
//! | [`scripts`] | features of short text files, which are decoded in the same way |

pub mod decode;
pub mod groups;
pub mod scripts;
pub mod templates;
pub(crate) mod tokens;
pub(crate) mod words;
