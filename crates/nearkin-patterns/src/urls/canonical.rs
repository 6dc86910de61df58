//! The canonical form of a URL (RFC 3986, section 6.2.2 and 6.2.3), of request lines and of paths alone.
//!
//! | input | canonical |
//! |---|---|
//! | `HTTP://Example.COM:80/a/./b/../c//d/?` | `example.com/a/c/d` |
//! | `GET /a/%7euser/%2fx?b=2&a=1#top HTTP/1.1` | `GET /a/~user/%2Fx?a=1&b=2` |
//! | `/cart;jsessionid=8F3A?x=red+shoes` | `/cart?x=red%20shoes` |
//!
//! Percent-escapes of unreserved characters are decoded once. Other escapes are kept, in capitals, and bytes that are
//! not allowed in a URL are escaped. An escaped slash is not a separator, `%2541` is not `A`, and `%00` is never
//! dropped. Host and scheme are lower case; `http` and `https` with their default ports are equal; user and password
//! become a bare `@` before the host. Dot segments, empty segments (also at the end), empty parameters, the fragment
//! and `;jsessionid` are dropped. Parameters are sorted by key; values of one key keep their order. `{int}` and the
//! other type names in braces are wildcards and are kept, so that a pattern is canonical; any other brace is escaped.
//!
//! One pass over the bytes; buffers are reused.

use std::ops::Range;

use super::wildcard_length;

/// Maximum length of an item in bytes.
pub const MAX_BYTES: usize = 1 << 16;

/// The reason why an item is not a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// Only blanks.
    Empty,
    /// More than [`MAX_BYTES`] bytes.
    Long,
    /// An invalid method.
    Method,
}

impl Unreadable {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Empty, Self::Long, Self::Method];

    /// Return the reason as text.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Long => "longer than 65,536 bytes",
            Self::Method => "no method",
        }
    }
}

/// A parameter of the query: ranges of its key and value in the text; `None` for a key without `=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The key.
    pub key: Range<usize>,
    /// The value.
    pub value: Option<Range<usize>>,
}

/// The parts of one canonical URL, as ranges of `text`.
#[derive(Clone, Debug, Default)]
pub struct Canonical {
    /// The bytes of all parts, back to back, without separators.
    pub text: Vec<u8>,
    /// The method, in capitals; empty for none.
    pub method: Range<usize>,
    /// Host, and port if it is not the default; empty for a path alone.
    pub host: Range<usize>,
    /// The segments of the path.
    pub segments: Vec<Range<usize>>,
    /// Parameters, by key.
    pub parameters: Vec<Parameter>,
}

/// Bytes that need no escape: 1 in a path, 2 in a key or value of a query; 4 for unreserved bytes.
const STAYS: [u8; 256] = {
    let mut stays = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        stays[byte] = if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~') {
            7
        } else if matches!(b, b'!' | b'$' | b'\'' | b'(' | b')' | b'*' | b',' | b':' | b'@') {
            3
        } else if matches!(b, b';' | b'=' | b'&' | b'+') {
            1
        } else if matches!(b, b'/' | b'?') {
            2
        } else {
            0
        };
        byte += 1;
    }
    stays
};

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Return the value of two hexadecimal digits.
pub(super) fn unescaped(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|value| value as u8);
    Some(digit(high)? << 4 | digit(low)?)
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
}

/// Append `part` in canonical form; `stays` is the class of bytes that need no escape. In a query, `+` is a blank.
fn normalise(part: &[u8], stays: u8, out: &mut Vec<u8>) {
    let mut at = 0;
    while at < part.len() {
        let byte = part[at];
        let class = STAYS[usize::from(byte)];
        if class & stays != 0 {
            out.push(byte);
        } else if byte == b'%' {
            match part.get(at + 1..at + 3).and_then(|pair| unescaped(pair[0], pair[1])) {
                Some(value) => {
                    if STAYS[usize::from(value)] & 4 != 0 {
                        out.push(value);
                    } else {
                        escape(value, out);
                    }
                    at += 2;
                }
                None => escape(b'%', out),
            }
        } else if byte == b'+' {
            escape(b' ', out);
        } else if byte == b'{'
            && let Some(length) = wildcard_length(&part[at..])
        {
            out.extend_from_slice(&part[at..at + length]);
            at += length - 1;
        } else {
            escape(byte, out);
        }
        at += 1;
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|&byte| byte > b' ').unwrap_or(line.len());
    let end = line.iter().rposition(|&byte| byte > b' ').map_or(start, |last| last + 1);
    &line[start..end]
}

/// Return the method at the start of a request line, and the rest.
fn request_line(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().take(20).position(|&byte| byte == b' ')?;
    let (method, rest) = (&line[..end], trimmed(&line[end..]));
    let is_method = (3..=16).contains(&end) && method.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'-');
    if !is_method || rest.is_empty() {
        return None;
    }
    let version = rest.iter().rposition(|&byte| byte == b' ').filter(|&at| rest[at + 1..].starts_with(b"HTTP/"));
    Some((method, version.map_or(rest, |at| trimmed(&rest[..at]))))
}

/// Return true if the bytes before the first slash can be a host although there is no scheme.
fn is_bare_host(authority: &[u8], has_path: bool) -> bool {
    let name = authority.strip_prefix(b"@").unwrap_or(authority);
    let (name, port) = match name.iter().rposition(|&byte| byte == b':') {
        Some(colon) if colon + 1 < name.len() && name[colon + 1..].iter().all(u8::is_ascii_digit) => {
            (&name[..colon], true)
        }
        _ => (name, false),
    };
    if name.is_empty() || name.len() > 253 {
        return false;
    }
    if name[0] == b'[' && name.ends_with(b"]") || name.eq_ignore_ascii_case(b"localhost") {
        return true;
    }
    let fits = name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let last = name.rsplit(|&byte| byte == b'.').next().unwrap_or(name);
    let dotted = last.len() < name.len() && !name.starts_with(b".") && last.len() > 1;
    let top = last.iter().all(u8::is_ascii_alphabetic);
    let address = crate::kinds::is_ip(name);
    fits && (port || address || dotted && top && (has_path || !crate::kinds::is_suffix(last)))
}

/// Return true for parameters that track visitors; they are dropped on request.
pub fn is_tracker(key: &[u8]) -> bool {
    const NAMES: &str = " fbclid gclid gclsrc dclid msclkid yclid twclid ttclid igshid mc_cid mc_eid _ga _gl _hsenc _hsmi wbraid \
 gbraid li_fat_id mkt_tok vero_id oly_anon_id oly_enc_id s_cid icid ";
    key.starts_with(b"utm_") || crate::kinds::is_listed(key, NAMES)
}

impl Canonical {
    /// Parse an item. The argument `method` overrides the method of a request line.
    ///
    /// # Errors
    /// The item is not a URL; the parts are then undefined.
    pub fn read(&mut self, item: &[u8], method: Option<&[u8]>, drop_trackers: bool) -> Result<(), Unreadable> {
        self.text.clear();
        self.segments.clear();
        self.parameters.clear();
        (self.method, self.host) = (0..0, 0..0);
        let mut line = trimmed(item);
        if line.len() > MAX_BYTES {
            return Err(Unreadable::Long);
        }
        let mut method = method.map(trimmed).filter(|method| !method.is_empty());
        if let Some((name, rest)) = request_line(line) {
            method = method.or(Some(name));
            line = rest;
        }
        if line.is_empty() {
            return Err(Unreadable::Empty);
        }
        if let Some(method) = method {
            let fits = method.len() <= 32 && method.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
            if !fits {
                return Err(Unreadable::Method);
            }
            self.text.extend(method.iter().map(u8::to_ascii_uppercase));
            self.method = 0..self.text.len();
        }
        let line = memchr::memchr(b'#', line).map_or(line, |at| &line[..at]);
        let (path, query) = match memchr::memchr(b'?', line) {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &line[line.len()..]),
        };
        let path = self.read_host(path);
        self.read_path(path);
        self.read_query(query, drop_trackers);
        Ok(())
    }

    /// Read scheme and authority; return the path.
    fn read_host<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        let scheme = line.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(byte)).count();
        let (name, after) = line.split_at(scheme);
        let is_web = [&b"http"[..], b"https", b"ws", b"wss"].iter().any(|web| name.eq_ignore_ascii_case(web));
        // Browsers read `https:/host` and `https:host` as `https://host`; `http:80/` is a host with a port.
        let is_loose = is_web && after.first() == Some(&b':') && !after.get(1).is_some_and(u8::is_ascii_digit);
        let has_scheme = (scheme > 0 && line[0].is_ascii_alphabetic() && after.starts_with(b"://")) || is_loose;
        let slashes = after.iter().skip(1).take(2).take_while(|&&byte| byte == b'/').count();
        let rest = if has_scheme { &after[1 + slashes..] } else { line };
        let end = memchr::memchr2(b'/', b'\\', rest).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if !has_scheme && (line.first().is_none_or(|&byte| byte == b'/') || !is_bare_host(authority, !path.is_empty()))
        {
            return line;
        }
        let start = self.text.len();
        let name = line[..if has_scheme { scheme } else { 0 }].to_ascii_lowercase();
        let default: &[u8] = match name.as_slice() {
            b"" => b"",
            b"http" | b"ws" => b"80",
            b"https" | b"wss" => b"443",
            _ => {
                self.text.extend_from_slice(&name);
                self.text.extend_from_slice(b"://");
                b""
            }
        };
        let user = authority.iter().rposition(|&byte| byte == b'@');
        let host = user.map_or(authority, |at| &authority[at + 1..]);
        if user.is_some() {
            self.text.push(b'@');
        }
        let (host, port) = match host.iter().rposition(|&byte| byte == b':') {
            Some(colon) if host[colon + 1..].iter().all(u8::is_ascii_digit) => (&host[..colon], &host[colon + 1..]),
            _ => (host, &host[host.len()..]),
        };
        let host = host.strip_suffix(b".").unwrap_or(host);
        let from = self.text.len();
        let mut at = 0;
        while at < host.len() {
            let byte = host[at];
            let escaped = host.get(at + 1..at + 3).and_then(|pair| unescaped(pair[0], pair[1]));
            if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'[' | b']' | b':') {
                self.text.push(byte.to_ascii_lowercase());
            } else if let Some(value) = escaped.filter(|_| byte == b'%') {
                // An escape stays one: a canonical host is canonical.
                escape(value, &mut self.text);
                at += 2;
            } else {
                escape(byte, &mut self.text);
            }
            at += 1;
        }
        if self.text.len() == from {
            // A scheme without a host, as in `file:///etc`.
            self.text.push(b'-');
        }
        if !port.is_empty() && port != default {
            self.text.push(b':');
            self.text.extend_from_slice(port);
        }
        self.host = start..self.text.len();
        path
    }

    fn read_path(&mut self, path: &[u8]) {
        let mut rest = path;
        while !rest.is_empty() {
            let end = memchr::memchr(b'/', rest).unwrap_or(rest.len());
            let (segment, after) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
            rest = after;
            if segment.is_empty() {
                continue;
            }
            let start = self.text.len();
            normalise(segment, 1, &mut self.text);
            if self.text[start..].contains(&b';') {
                self.without_session(start);
            }
            match &self.text[start..] {
                b"" | b"." => self.text.truncate(start),
                b".." => {
                    self.text.truncate(start);
                    self.segments.pop();
                }
                _ => self.segments.push(start..self.text.len()),
            }
        }
    }

    /// Drop empty and session parameters from the segment that starts at `start`; sort the other matrix parameters.
    fn without_session(&mut self, start: usize) {
        let segment = self.text.split_off(start);
        let mut parts = segment.split(|&byte| byte == b';');
        self.text.extend_from_slice(parts.next().unwrap_or_default());
        let mut kept: Vec<&[u8]> = parts
            .filter(|part| !part.is_empty() && *part != b"=")
            .filter(|part| {
                let name = part.split(|&byte| byte == b'=').next().unwrap_or_default();
                ![&b"jsessionid"[..], b"phpsessid", b"sid", b"sessionid", b"cfid", b"cftoken"]
                    .iter()
                    .any(|session| name.eq_ignore_ascii_case(session))
            })
            .collect();
        kept.sort_by_key(|part| part.split(|&byte| byte == b'=').next().map(<[u8]>::to_vec));
        for part in kept {
            self.text.push(b';');
            self.text.extend_from_slice(part);
        }
    }

    fn read_query(&mut self, query: &[u8], drop_trackers: bool) {
        let mut rest = query;
        while !rest.is_empty() {
            let mut end = memchr::memchr(b'&', rest).unwrap_or(rest.len());
            // `;` is a separator if a key follows, as in `?C=M;O=A`.
            if let Some(at) = rest[..end].iter().position(|&byte| byte == b';') {
                let key = rest[at + 1..end].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_');
                let length = key.count();
                if length > 0 && rest[at + 1..end].get(length) == Some(&b'=') {
                    end = at;
                }
            }
            let (part, after) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());
            rest = after;
            let equals = memchr::memchr(b'=', part);
            let (key, value) = (&part[..equals.unwrap_or(part.len())], equals.map(|at| &part[at + 1..]));
            if key.is_empty() && value.is_none_or(<[u8]>::is_empty) || drop_trackers && is_tracker(key) {
                continue;
            }
            let start = self.text.len();
            normalise(key, 2, &mut self.text);
            let middle = self.text.len();
            if let Some(value) = value {
                normalise(value, 2, &mut self.text);
            }
            self.parameters.push(Parameter { key: start..middle, value: value.map(|_| middle..self.text.len()) });
        }
        if self.parameters.len() > 1 {
            let text = &self.text;
            self.parameters.sort_by(|a, b| text[a.key.clone()].cmp(&text[b.key.clone()]));
        }
    }

    /// Write the canonical URL as one line: `GET example.com/a?b=c`.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text[self.method.clone()]);
        if !self.method.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(&self.text[self.host.clone()]);
        for segment in &self.segments {
            out.push(b'/');
            out.extend_from_slice(&self.text[segment.clone()]);
        }
        if self.segments.is_empty() {
            out.push(b'/');
        }
        for (number, Parameter { key, value }) in self.parameters.iter().enumerate() {
            out.push(if number == 0 { b'?' } else { b'&' });
            out.extend_from_slice(&self.text[key.clone()]);
            if let Some(value) = value {
                out.push(b'=');
                out.extend_from_slice(&self.text[value.clone()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn canonical(item: &[u8]) -> String {
        let mut canonical = Canonical::default();
        let mut out = Vec::new();
        match canonical.read(item, None, false) {
            Ok(()) => canonical.write(&mut out),
            Err(reason) => out.extend_from_slice(reason.reason().as_bytes()),
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn equivalent_urls_have_one_canonical_form() {
        for (input, expected) in [
            ("HTTP://Example.COM:80/a/./b/../c//d/?", "example.com/a/c/d"),
            ("https://example.com:443", "example.com/"),
            ("http://example.com:8080/x", "example.com:8080/x"),
            ("GET /a/%7euser/%2fx?b=2&a=1#top HTTP/1.1", "GET /a/~user/%2Fx?a=1&b=2"),
            ("/cart;jsessionid=8F3A?x=red+shoes", "/cart?x=red%20shoes"),
            ("/scripts/?C=M;O=A", "/scripts?C=M&O=A"),
            ("/a;b=2;a=1/c", "/a;a=1;b=2/c"),
            ("//favicon.ico", "/favicon.ico"),
            ("/../../etc/passwd", "/etc/passwd"),
            ("example.com/api", "example.com/api"),
            ("index.php?a=1", "/index.php?a=1"),
            ("user:secret@example.com", "/user:secret@example.com"),
            ("http://user:secret@example.com/a", "@example.com/a"),
            ("https:/user:secret@example.com/a", "@example.com/a"),
            ("http:user:secret@example.com/a", "@example.com/a"),
            ("http:8080/a", "http:8080/a"),
            ("ftp://example.com/a", "ftp://example.com/a"),
            ("/a?&&b=&=", "/a?b="),
            ("*", "/*"),
            ("  ", "empty"),
        ] {
            assert_eq!(canonical(input.as_bytes()), expected, "{input}");
        }
    }

    #[test]
    fn obfuscated_urls_stay_distinct() {
        assert_eq!(canonical(b"/a%00b"), "/a%00b");
        assert_eq!(canonical(b"/%2541"), "/%2541");
        assert_eq!(canonical(b"/..%2f..%2fetc"), "/..%2F..%2Fetc");
        assert_eq!(canonical(b"/\xff\xfe"), "/%FF%FE");
        assert_eq!(canonical(b"/{x}/{int}"), "/%7Bx%7D/{int}");
        assert_eq!(canonical(b"/%"), "/%25");
        assert_eq!(canonical(b"[ ]/a"), canonical(canonical(b"[ ]/a").as_bytes()));
    }

    proptest! {
        #[test]
        fn canonicalization_of_bytes_is_idempotent(item in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut line = b"/".to_vec();
            line.extend(item);
            let once = canonical(&line);
            if once != "empty" {
                prop_assert_eq!(canonical(once.as_bytes()), once);
            }
        }

        #[test]
        fn canonicalization_of_text_is_idempotent(item in "[ -~]{0,80}") {
            let once = canonical(item.as_bytes());
            if !Unreadable::ALL.iter().any(|reason| reason.reason() == once) {
                prop_assert_eq!(canonical(once.as_bytes()), once);
            }
        }
    }
}
