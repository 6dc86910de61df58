//! URLs: canonicalization, the scan to templates, and the merge of templates into URL patterns.
//!
//! A template is `METHOD host/segment/segment?key=value`. The method is empty if it is unknown. Parts with a type are
//! wildcards ([`crate::templates`]). The merge reads the table of templates only, so patterns depend on nothing else.

pub mod canonical;
pub mod decide;
pub mod judge;
pub mod logs;
pub mod parameters;
pub mod request;
pub mod rows;
pub mod scan;
pub mod sites;
pub mod tokens;
pub mod tree;

use crate::kinds::Kind;
use crate::templates::{EXAMPLES, TemplateTable};
use crate::values::Values;
use nearkin_core::Result;

/// Return the length of a written wildcard at the start: `{int}` and the other type names.
pub(crate) fn wildcard_length(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'{') {
        return None;
    }
    let end = bytes.iter().take(12).position(|&byte| byte == b'}')?;
    let name = std::str::from_utf8(&bytes[1..end]).ok()?;
    Kind::named(name).map(|_| end + 1)
}

/// Maximum number of examples of unmatched items.
const LISTED: usize = 50;

/// Return the number of items that match no pattern, and those with the smallest hashes.
///
/// # Errors
/// Memory allocation fails.
pub fn unmatched(sites: &sites::Sites, table: &TemplateTable) -> Result<(u64, Vec<Vec<u8>>)> {
    let mut examples = Values::default();
    let mut count = 0;
    for &position in &sites.unmatched {
        let template = &table.templates()[position];
        count += template.count;
        for (hash, text) in template.examples.iter().take(EXAMPLES) {
            examples.add(hash, text, LISTED)?;
        }
    }
    Ok((count, examples.iter().map(|(_, text)| text.to_vec()).collect()))
}
