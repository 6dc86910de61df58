//! URLs: the canonical form, the scan to templates, and the merge of templates into patterns that are still URLs.
//!
//! A template is `METHOD host/segment/segment?key=value`, the method empty where none is known, with wildcards (`templates`) for what has a
//! type by itself. The merge reads templates alone, so patterns depend on the table and on nothing else.

pub mod canonical;
pub mod decide;
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

/// The length of a wildcard of a pattern at the beginning: `{int}` and the other names of types.
pub(crate) fn wildcard_length(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'{') {
        return None;
    }
    let end = bytes.iter().take(12).position(|&byte| byte == b'}')?;
    let name = std::str::from_utf8(&bytes[1..end]).ok()?;
    Kind::named(name).map(|_| end + 1)
}

/// Examples of what no pattern explains.
const LISTED: usize = 50;

/// How many items no pattern of the table explains, and those with the smallest hashes.
///
/// # Errors
/// There is no memory for them.
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
