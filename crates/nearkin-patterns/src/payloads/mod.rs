//! Payloads of attacks: without their encodings, as templates of typed tokens, in groups of near-identical ones.
//!
//! | module | what it holds |
//! |---|---|
//! | [`words`] | words that stay literal |
//! | [`decode`] | layers of encodings |
//! | [`tokens`] | typed tokens, repeats |
//! | [`templates`] | what lets an attack in and out is taken off |
//! | [`groups`] | near-identical templates |
//! | [`scripts`] | features of short textual files, which are decoded the same way |

pub mod decode;
pub mod groups;
pub mod scripts;
pub mod templates;
pub(crate) mod tokens;
pub(crate) mod words;
