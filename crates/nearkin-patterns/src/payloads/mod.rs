//! Payloads of attacks: without their encodings, as forms of typed tokens, in groups of near-identical ones.
//!
//! | module | what it holds |
//! |---|---|
//! | [`words`] | words that stay literal |
//! | [`decode`] | layers of encodings |
//! | [`tokens`] | typed tokens, repeats |
//! | [`forms`] | what lets an attack in and out is taken off |
//! | [`groups`] | near-identical forms |
//! | [`scripts`] | features of short textual files, which are decoded the same way |

pub mod decode;
pub mod forms;
pub mod groups;
pub mod scripts;
pub(crate) mod tokens;
pub(crate) mod words;
