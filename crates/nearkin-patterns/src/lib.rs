//! Patterns of log lines, URLs and payloads: templates with typed wildcards.
//!
//! Two steps. *Scan*: an item becomes a template (its literal bytes, with a typed wildcard for each variable) and the values
//! of its wildcards; equal templates collapse in a [`forms::FormTable`], the only state. *Merge*: templates become patterns
//! when a caller reads them. The table is a sum over items: order, batching and merging of states do not change it.
//!
//! | module | content |
//! |---|---|
//! | [`kinds`] | types of variables, their order, and the type of a token |
//! | [`values`] | a bounded sample of the distinct values of a variable |
//! | [`forms`] | templates with their wildcards, and the table of templates |
//! | [`batch`] | the result of scanning many items, ready to be added to a table |
//! | [`columns`] | a table as arrays, and back |
//! | [`file`] | saved states |
//! | [`lines`] | log lines: typed tokens found in one scan |
//! | [`merging`] | merging templates of lines |
//! | [`matching`] | the template of a line, and the values of its variables |
//! | [`urls`] | canonical URLs, their scan, and URL patterns |
//! | [`payloads`] | decoding, tokens and groups of payloads |
//!
//! Modules build on the ones to their left only: `kinds` · `values` · `forms` · `batch` · `columns` · `file` · `lines` ·
//! `merging` · `matching` · `urls` · `payloads`.

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
