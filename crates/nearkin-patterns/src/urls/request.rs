//! Requests: templates of URLs split into method, host, path and parameters.

use super::tokens;
use crate::templates::{Template, WILDCARD};

/// A request: the parts of a template.
#[derive(Debug, Clone)]
pub struct Request {
    /// Row of the template.
    pub template: usize,
    /// The method.
    pub method: Vec<u8>,
    /// Segments of the path.
    pub path: Vec<Vec<u8>>,
    /// Parameters, sorted by key.
    pub parameters: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Number of requests.
    pub count: u64,
    /// True if the requests are the text of a pattern.
    pub declared: bool,
}

impl Request {
    /// Return true if a part looks like an attack.
    pub fn is_odd(&self) -> bool {
        let mut values = self.parameters.iter().filter_map(|(_, value)| value.as_deref());
        self.path.iter().any(|part| tokens::is_marked(part)) || values.any(tokens::is_marked)
    }
}

/// Split the bytes of a template into host and request.
pub fn split(template: &[u8]) -> (Vec<u8>, Request) {
    let space = memchr::memchr(b' ', template).unwrap_or(0);
    let method = template[..space].to_vec();
    let rest = template.get(space + 1..).unwrap_or_default();
    let scheme = memchr::memmem::find(rest, b"://").map_or(0, |at| at + 3);
    let start = memchr::memchr(b'/', &rest[scheme..]).map_or(rest.len(), |at| at + scheme);
    // A scheme is part of the host; without a host the path starts with the first byte.
    let start = if rest.first() == Some(&b'/') { 0 } else { start };
    let (host, rest) = rest.split_at(start);
    let question = memchr::memchr(b'?', rest);
    let path = &rest[..question.unwrap_or(rest.len())];
    let path = path.split(|&byte| byte == b'/').filter(|part| !part.is_empty()).map(<[u8]>::to_vec).collect();
    let query = question.map_or(&rest[rest.len()..], |at| &rest[at + 1..]);
    let parameters = query
        .split(|&byte| byte == b'&')
        .filter(|part| !part.is_empty())
        .map(|part| match memchr::memchr(b'=', part) {
            Some(at) => (part[..at].to_vec(), Some(part[at + 1..].to_vec())),
            None => (part.to_vec(), None),
        })
        .collect();
    let request = Request { template: 0, method, path, parameters, count: 0, declared: false };
    (host.to_vec(), request)
}

/// Return true if the template comes from the text of a pattern: the values of its wildcards are type names.
pub fn is_declared(template: &Template) -> bool {
    template.wildcards.iter().any(|wildcard| {
        wildcard.len() == 1 && wildcard.iter().all(|(_, value)| super::wildcard_length(value) == Some(value.len()))
    }) && template.text.contains(&WILDCARD)
}
