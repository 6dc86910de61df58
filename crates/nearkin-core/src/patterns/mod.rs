//! Patterns: what many items (log lines, URLs, payloads) have in common, with typed variables where they differ.
//!
//! Two steps. *Scan*: an item becomes a form (its literal bytes, with a typed hole for each variable) and the values of its
//! holes; equal forms collapse in a [`forms::FormTable`], the only state. *Merge*: forms become patterns when somebody asks.
//! The table is a sum over items: no order, batch or merge of states changes it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`kinds`] | types of variables, which of them covers which, and the type of a token |
//! | [`values`] | a bounded sample of the distinct values of a variable |
//! | [`forms`] | forms with their holes, and the table of forms |
//! | [`batch`] | what a scan leaves of many items, to be added to a table |
//! | [`columns`] | a table as arrays, and back |
//! | [`file`] | saved states |
//! | [`lines`] | log lines: typed tokens found in one scan |
//! | [`merging`] | templates of the forms of lines |
//! | [`matching`] | the template of a line, and the values of its variables |
//! | [`urls`] | canonical URLs, their scan, and patterns that are URLs |

pub mod batch;
pub mod columns;
pub mod file;
pub mod forms;
pub mod kinds;
pub mod lines;
pub mod matching;
pub mod merging;
pub mod payloads;
pub mod urls;
pub mod values;
