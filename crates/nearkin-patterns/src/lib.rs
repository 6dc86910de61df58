//! Patterns of log lines, URLs and payloads: templates with typed wildcards.
//!
//! Mining has two steps. *Scan*: an item becomes a template (its literal bytes, with a typed wildcard for each
//! variable) and the values of its wildcards; equal templates collapse in a [`templates::TemplateTable`], the only
//! state. *Merge*: templates become patterns when a caller reads them. The table is a sum over items, so order,
//! batching and merging of states do not change it.
//!
//! | module | content |
//! |---|---|
//! | [`kinds`] | types of variables, their order, and the type of a token |
//! | [`values`] | a bounded sample of the distinct values of a variable |
//! | [`profiles`] | counts of lengths, characters, magnitudes and members of the values of a variable |
//! | [`templates`] | templates with their wildcards, and the table of templates |
//! | [`batch`] | batches of scanned items, ready to be added to a table |
//! | [`columns`] | a table as arrays, and back |
//! | [`lines`] | log lines: typed tokens found in one scan |
//! | `units` | words of line templates, and values of several words |
//! | [`template_merge`] | merging of line templates |
//! | [`matching`] | the template of a line, and the values of its variables |
//! | [`urls`] | canonical URLs, their scan, and URL patterns |
//! | [`payloads`] | decoding, tokens and groups of payloads |
//!
//! A module uses only modules to its left: `kinds` · `values` · `profiles` · `templates` · `batch` · `columns` ·
//! `lines` · `units` · `template_merge` · `matching` · `urls` · `payloads`.

pub mod batch;
pub mod columns;
pub mod kinds;
pub mod lines;
pub mod matching;
pub mod payloads;
pub mod profiles;
pub mod template_merge;
pub mod templates;
mod units;
pub mod urls;
pub mod values;
