//! Scan of a canonical URL to its template: parts with a type become wildcards at once, words are left to the merge.
//!
//! | part | template |
//! |---|---|
//! | a segment of one type: `42`, a UUID, a date, an address | one wildcard |
//! | `product-123.html`, `app.8f3a91.js`, `jquery-1.4.2.min.js` | `product-{int}.html`, `app.{hex}.js`, `jquery-{version}.min.js` |
//! | `v2`, `1.4.2`, `de`, `users`, `my-first-post`, `img042` | literal: the merge decides |
//! | the value of a parameter: an identifier of at most [`WORD`] bytes | literal, since it may dispatch |
//! | any other value | one wildcard |
//! | a part that looks like an attack, [`ODD`]; an invalid part, [`BAD`] | the mark, without the value |
//!
//! Marks never widen the type of a variable. Free text accepts odd parts; nothing accepts bad parts: bytes that are
//! not UTF-8, control characters, double escapes, segments of more than [`SEGMENT`] bytes, more than [`PARAMETERS`]
//! parameters.

use super::canonical::{Canonical, Unreadable, unescaped};
use super::wildcard_length;
use crate::batch::Batch;
use crate::kinds::{self, Kind};

/// The mark of a part that looks like an attack.
pub const ODD: &[u8] = b"{odd}";
/// The mark of an invalid part.
pub const BAD: &[u8] = b"{bad}";
/// Maximum length of a literal value of a parameter.
pub const WORD: usize = 40;
/// Maximum number of parameters that a pattern may match.
pub const PARAMETERS: usize = 256;
/// Maximum length of a segment or value.
pub const SEGMENT: usize = 2048;

/// The first classification of a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nature {
    Plain,
    Odd,
    Bad,
}

/// Decode `part` into `out` and classify it.
fn decode(part: &[u8], out: &mut Vec<u8>) -> Nature {
    out.clear();
    if part.len() > SEGMENT {
        return Nature::Bad;
    }
    // Fast path: most parts need no decoding.
    if part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte == b'_') {
        out.extend_from_slice(part);
        return Nature::Plain;
    }
    let mut at = 0;
    let mut escapes = false;
    while at < part.len() {
        match (part[at], part.get(at + 1..at + 3)) {
            (b'%', Some(pair)) => {
                let value = unescaped(pair[0], pair[1]).unwrap_or(b'%');
                if value < b' ' && !matches!(value, b'\t' | b'\n' | b'\r') || value == 127 {
                    return Nature::Bad;
                }
                escapes |= value == b'%';
                out.push(value);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    if simdutf8::basic::from_utf8(out).is_err() {
        return Nature::Bad;
    }
    let twice = |at: usize| out.get(at + 1..at + 3).is_some_and(|pair| unescaped(pair[0], pair[1]).is_some());
    if escapes && (0..out.len()).any(|at| out[at] == b'%' && twice(at)) {
        return Nature::Bad;
    }
    if is_odd(out) { Nature::Odd } else { Nature::Plain }
}

/// Return true if a decoded part looks like an attack: markup, quotes with symbols of code, steps upwards, keywords of
/// a query.
pub fn is_odd(decoded: &[u8]) -> bool {
    let mut signs = 0_u32;
    let mut quotes = 0_u32;
    for (at, &byte) in decoded.iter().enumerate() {
        match byte {
            b'<' | b'>' | b'`' | b'|' | b'\\' | b'^' | b'{' | b'}' | b'"' | b'\n' | b'\r' => return true,
            b'\'' => {
                let letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphabetic() || *byte > 127);
                // An apostrophe is between letters.
                quotes += u32::from(!(letter(at.checked_sub(1).map(|at| &decoded[at])) && letter(decoded.get(at + 1))));
            }
            b'.' if decoded[at..].starts_with(b"../") || &decoded[at..] == b".." => return true,
            b';' | b'=' | b'*' | b'$' => signs += 1,
            b'-' if decoded.get(at + 1) == Some(&b'-') && at > 0 && decoded[at - 1] <= b' ' => signs += 2,
            b'(' if decoded.get(at + 1) == Some(&b')') => signs += 1,
            _ => (),
        }
    }
    quotes > 0
        || decoded.contains(&b'(') && decoded.contains(&b'=')
        || decoded.ends_with(b";")
        || decoded.starts_with(b"& ")
        || memchr::memmem::find(decoded, b"&&").is_some()
        || decoded.ends_with(b"--") && decoded.contains(&b' ')
        || (signs > 0 && decoded.contains(&b' '))
        || signs > 2
        || contains_query(decoded)
}

/// Phrases of queries and shells.
const PHRASES: &str = "union select|union all|order by |group by | and 1| or 1|sleep(|waitfor |benchmark(|concat(|char(|chr(|\
xp_cmd|drop table|insert into|/etc/|javascript:|vbscript:|data:text|file:/|php:/|cmd.exe|/bin/";

/// Return true if words of a query language or a shell occur as they do in a query.
fn contains_query(decoded: &[u8]) -> bool {
    if decoded.len() < 5 || !decoded.iter().any(|byte| matches!(byte, b' ' | b'(' | b'/' | b'\t' | b':')) {
        return false;
    }
    let lower = decoded.to_ascii_lowercase();
    let has = |phrase: &str| memchr::memmem::find(&lower, phrase.as_bytes()).is_some();
    PHRASES.split('|').any(has) || has("select ") && has(" from ") || is_condition(&lower)
}

/// Return true if `and` or `or` precedes a comparison or a number, as in `1 and 3=4` and `1) or (2`.
fn is_condition(lower: &[u8]) -> bool {
    [&b" and "[..], b" or ", b")and", b")or"].iter().any(|word| {
        memchr::memmem::find(lower, word).is_some_and(|at| {
            let after = &lower[at + word.len()..];
            after.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'(')
                || after.contains(&b'=')
                || after.contains(&b'(')
        })
    })
}

/// Scan an item into a batch.
///
/// # Errors
/// The item is not a URL; the batch is then unchanged.
pub fn scan(
    batch: &mut Batch,
    row: usize,
    item: &[u8],
    url: &mut Canonical,
    read: (Option<&[u8]>, bool),
) -> Result<(), Unreadable> {
    url.read(item, read.0, read.1)?;
    let mut decoded = Vec::new();
    batch.literal(&url.text[url.method.clone()]);
    batch.literal(b" ");
    batch.literal(&url.text[url.host.clone()]);
    for segment in &url.segments {
        batch.literal(b"/");
        write_segment(batch, &url.text[segment.clone()], &mut decoded);
    }
    if url.segments.is_empty() {
        batch.literal(b"/");
    }
    if url.parameters.len() > PARAMETERS {
        batch.literal(b"?");
        batch.literal(BAD);
        batch.close(row, item);
        return Ok(());
    }
    let mut last: Option<&[u8]> = None;
    for parameter in &url.parameters {
        let key = &url.text[parameter.key.clone()];
        let value = parameter.value.clone().map(|range| &url.text[range]);
        // A repeated key is one variable with all its values.
        let again = last == Some(key);
        batch.literal(if last.is_none() { b"?" } else { b"&" });
        last = Some(key);
        write_key(batch, key, value.is_some(), &mut decoded);
        if let Some(value) = value {
            batch.literal(b"=");
            write_value(batch, value, again, &mut decoded);
        }
    }
    batch.close(row, item);
    Ok(())
}

/// Copy a part with the wildcards of a pattern.
fn write_pattern(batch: &mut Batch, part: &[u8]) {
    let mut start = 0;
    let mut at = 0;
    while at < part.len() {
        match wildcard_length(&part[at..]) {
            Some(length) => {
                batch.literal(&part[start..at]);
                let name = std::str::from_utf8(&part[at + 1..at + length - 1]).unwrap_or_default();
                batch.wildcard(Kind::named(name).unwrap_or(Kind::Text), &part[at..at + length]);
                at += length;
                start = at;
            }
            None => at += 1,
        }
    }
    batch.literal(&part[start..]);
}

fn write_key(batch: &mut Batch, key: &[u8], has_value: bool, decoded: &mut Vec<u8>) {
    if key.contains(&b'{') {
        return write_pattern(batch, key);
    }
    match decode(key, decoded) {
        Nature::Bad => batch.literal(BAD),
        Nature::Odd => batch.literal(ODD),
        Nature::Plain if key.len() > 64 => batch.wildcard(Kind::Text, decoded),
        Nature::Plain => match kinds::kind_of(decoded) {
            // A number as a key defeats caches; `?uuid` is an identifier.
            kind @ (Kind::Int | Kind::Uuid | Kind::Float) => batch.wildcard(kind, decoded),
            kind @ (Kind::Hex | Kind::Token) if !has_value => batch.wildcard(kind, decoded),
            _ => batch.literal(key),
        },
    }
}

fn write_value(batch: &mut Batch, value: &[u8], again: bool, decoded: &mut Vec<u8>) {
    if value.contains(&b'{') {
        return write_pattern(batch, value);
    }
    if value.is_empty() {
        return;
    }
    match decode(value, decoded) {
        Nature::Bad => batch.literal(BAD),
        Nature::Odd => batch.literal(ODD),
        Nature::Plain => match value_kind(decoded) {
            Kind::Word | Kind::Slug | Kind::Name | Kind::File | Kind::Path | Kind::Host
                if !again && is_identifier(value) =>
            {
                batch.literal(value);
            }
            kind => batch.wildcard(kind, decoded),
        },
    }
}

/// Return the type of a decoded value; short random identifiers are tokens.
pub fn value_kind(decoded: &[u8]) -> Kind {
    if decoded.len() >= 8 && is_short_hex(decoded) {
        return Kind::Hex;
    }
    match kinds::kind_of(decoded) {
        Kind::Name | Kind::Slug | Kind::Word | Kind::Path | Kind::Text if is_random(decoded) || is_padded(decoded) => {
            Kind::Token
        }
        Kind::Hex if decoded.len() < 8 && !is_short_hex(decoded) => Kind::Name,
        kind => kind,
    }
}

/// Return true if a value may be an identifier in a program.
fn is_identifier(value: &[u8]) -> bool {
    value.len() <= WORD
        && (value[0].is_ascii_alphabetic() || matches!(value[0], b'/' | b'_'))
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/'))
}

/// Return the start of a suffix such as `.html`: at most five letters and digits, or a known file suffix.
pub fn suffix_at(segment: &[u8]) -> Option<usize> {
    let dot = segment.iter().rposition(|&byte| byte == b'.').filter(|&dot| dot > 0)?;
    let suffix = &segment[dot + 1..];
    let short = (1..=5).contains(&suffix.len())
        && suffix.iter().all(u8::is_ascii_alphanumeric)
        && suffix.iter().any(u8::is_ascii_alphabetic)
        && suffix[0].is_ascii_alphabetic() | suffix.iter().any(u8::is_ascii_lowercase)
        && !suffix.iter().all(u8::is_ascii_uppercase);
    (short && !is_short_hex(suffix) || kinds::is_suffix(suffix)).then_some(dot)
}

fn write_segment(batch: &mut Batch, segment: &[u8], decoded: &mut Vec<u8>) {
    if segment.contains(&b'{') {
        return write_pattern(batch, segment);
    }
    if segment.iter().all(u8::is_ascii_alphabetic) && segment.len() < 64 {
        return batch.literal(segment);
    }
    let mut parts = segment.split(|&byte| byte == b';');
    let base = parts.next().unwrap_or_default();
    match decode(base, decoded) {
        Nature::Bad => return batch.literal(BAD),
        Nature::Odd => return batch.literal(ODD),
        Nature::Plain => (),
    }
    if segment.len() > base.len() && (is_odd_rest(segment, decoded) || segment.len() > SEGMENT) {
        return batch.literal(ODD);
    }
    decode(base, decoded);
    write_base(batch, base, Some(decoded));
    for part in parts {
        batch.literal(b";");
        match memchr::memchr(b'=', part) {
            None => batch.literal(part),
            Some(at) => {
                batch.literal(&part[..=at]);
                let mut value = Vec::new();
                write_value(batch, &part[at + 1..], false, &mut value);
            }
        }
    }
}

/// Return true if the matrix parameters of a segment contain anything but names and plain values.
fn is_odd_rest(segment: &[u8], decoded: &mut Vec<u8>) -> bool {
    let name = |part: &[u8]| {
        !part.is_empty() && part.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    };
    segment.split(|&byte| byte == b';').skip(1).any(|part| match memchr::memchr(b'=', part) {
        None => !name(part),
        Some(at) => !name(&part[..at]) || decode(&part[at + 1..], decoded) != Nature::Plain,
    })
}

/// Write a segment without matrix parameters; `decoded` is its decoded text, if available.
fn write_base(batch: &mut Batch, base: &[u8], decoded: Option<&Vec<u8>>) {
    let whole = decoded.map_or(base, |decoded| decoded.as_slice());
    if !is_version_segment(whole)
        && let Some(kind) = segment_kind(whole)
    {
        return batch.wildcard(kind, whole);
    }
    let stem = suffix_at(base).unwrap_or(base.len());
    if stem < base.len()
        && let Some(kind) = segment_kind(&base[..stem])
    {
        batch.wildcard(kind, &base[..stem]);
        return batch.literal(&base[stem..]);
    }
    if is_version_segment(base) {
        return batch.literal(base);
    }
    write_pieces(batch, &base[..stem]);
    batch.literal(&base[stem..]);
}

/// Return true if a segment is a version: `v2`, `v1.1`, `1.4.2`, `2.0`. The merge decides if it becomes a wildcard.
pub fn is_version_segment(segment: &[u8]) -> bool {
    let numbers = segment.strip_prefix(b"v").or_else(|| segment.strip_prefix(b"V")).unwrap_or(segment);
    let prefixed = numbers.len() < segment.len();
    let number = |part: &[u8]| !part.is_empty() && part.len() <= 4 && part.iter().all(u8::is_ascii_digit);
    let mut parts = 0;
    let plain = numbers.split(|&byte| byte == b'.').all(|part| {
        parts += 1;
        number(part)
    });
    (plain && (prefixed || parts > 1) && parts < 4)
        || prefixed && parts < 4 && numbers.first().is_some_and(u8::is_ascii_digit) && {
            let digits = numbers.iter().take_while(|byte| byte.is_ascii_digit()).count();
            [&b"alpha"[..], b"beta", b"rc"].iter().any(|name| numbers[digits..].starts_with(name))
        }
}

/// Return the type of a segment if it has one by itself.
fn segment_kind(segment: &[u8]) -> Option<Kind> {
    if segment.is_empty() || segment.len() > 512 {
        return None;
    }
    if !segment.iter().any(u8::is_ascii_digit) && !segment.contains(&b'@') {
        return None;
    }
    if segment.len() >= 8 && is_short_hex(segment) {
        return Some(Kind::Hex);
    }
    match kinds::kind_of(segment) {
        Kind::Hex if !(segment.len() >= 16 || is_short_hex(segment)) => None,
        kind @ (Kind::Int | Kind::Uuid | Kind::Hex | Kind::Ip | Kind::Mac | Kind::Email | Kind::Token) => Some(kind),
        kind if Kind::DateTime.covers(kind) => Some(kind),
        Kind::Name | Kind::Slug | Kind::File if is_random(segment) || is_signed(segment) => Some(Kind::Token),
        _ => None,
    }
}

/// Return true if hexadecimal digits are not a word: letters and digits alternate at least twice.
pub fn is_short_hex(bytes: &[u8]) -> bool {
    let changes = bytes.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    let cases = bytes.iter().any(u8::is_ascii_lowercase) && bytes.iter().any(u8::is_ascii_uppercase);
    let begun = bytes.first().is_some_and(u8::is_ascii_digit) && bytes.len() >= 6;
    bytes.len() >= 4 && bytes.iter().all(u8::is_ascii_hexdigit) && !cases && (changes >= 2 || changes == 1 && begun)
}

/// Return true if letters and digits are in random order, for ten bytes or more.
pub fn is_random(bytes: &[u8]) -> bool {
    if bytes.len() < 10 || bytes.len() > 512 {
        return false;
    }
    let class = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'-' | b'_' => 3,
        _ => 4,
    };
    let (mut turns, mut changes, mut marks, mut cases) = (0, 0, 0, [false; 5]);
    for pair in bytes.windows(2) {
        let (a, b) = (class(pair[0]), class(pair[1]));
        turns += usize::from((a == 0 && (b == 1 || b == 2)) || (b == 0 && (a == 1 || a == 2)));
        changes += usize::from(a != b);
    }
    for &byte in bytes {
        cases[class(byte)] = true;
        marks += usize::from(class(byte) == 3);
    }
    let mixed = cases[1] && cases[2] && 20 * changes >= 9 * bytes.len();
    if cases[4] || 6 * marks > bytes.len() {
        return false;
    }
    if bytes.len() >= 16 && mixed {
        return true;
    }
    if !cases[0] {
        return false;
    }
    if cases[1] && cases[2] {
        return mixed && turns >= 2;
    }
    marks == 0 && turns >= 3 && 5 * turns >= bytes.len()
}

/// Return true for base64 with padding, or of at least 24 bytes without padding.
fn is_padded(bytes: &[u8]) -> bool {
    let bare = bytes.strip_suffix(b"==").or_else(|| bytes.strip_suffix(b"=")).unwrap_or(bytes);
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_ ".contains(byte);
    let slashes = memchr::memchr_iter(b'/', bare).count();
    (bare.len() < bytes.len() && bare.len() >= 8 || bare.len() >= 24 && 8 * slashes <= bare.len())
        && bare.iter().all(fits)
        && !bare.contains(&b' ')
        && (bare.len() < bytes.len()
            || is_random(&bare.iter().copied().filter(u8::is_ascii_alphanumeric).collect::<Vec<u8>>()))
}

/// Return true for a signed token: three parts of base64 that start with a JSON object.
fn is_signed(bytes: &[u8]) -> bool {
    bytes.len() > 30 && bytes.starts_with(b"eyJ") && memchr::memchr_iter(b'.', bytes).count() == 2
}

/// Write the pieces of a name: numbers, dates, versions and hashes are wildcards, the rest is literal.
fn write_pieces(batch: &mut Batch, name: &[u8]) {
    let (mut at, mut start) = (0, 0);
    while at < name.len() {
        if name[at] == b'%' && at + 3 <= name.len() {
            at += 3;
            continue;
        }
        let inner = at > 0 && name[at - 1].is_ascii_alphanumeric() && !(at > 2 && name[at - 3] == b'%');
        if !name[at].is_ascii_alphanumeric() || inner {
            at += 1;
            continue;
        }
        match piece(&name[at..]) {
            Some((kind, length)) => {
                batch.literal(&name[start..at]);
                batch.wildcard(kind, &name[at..at + length]);
                at += length;
                start = at;
            }
            None => at += name[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count(),
        }
    }
    batch.literal(&name[start..]);
}

/// Return the type and length of the typed piece at the start of `rest`.
fn piece(rest: &[u8]) -> Option<(Kind, usize)> {
    let run = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let ends = |length: usize| !rest.get(length).is_some_and(u8::is_ascii_alphanumeric);
    if run == 8 && rest.len() >= 36 && ends(36) && kinds::is_uuid(&rest[..36]) {
        return Some((Kind::Uuid, 36));
    }
    let word = &rest[..run];
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let prefixed = word.len() > 1 && matches!(word[0], b'v' | b'V') && word[1..].iter().all(u8::is_ascii_digit);
    if digits == run || prefixed {
        if !prefixed && let Some(day) = kinds::date_length(rest).filter(|&day| ends(day)) {
            return Some((Kind::Date, day));
        }
        let mut end = run;
        let mut parts = 1;
        while rest.get(end) == Some(&b'.') {
            let more = rest[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if more == 0 || !ends(end + 1 + more) {
                break;
            }
            end += 1 + more;
            parts += 1;
        }
        return match (parts, prefixed) {
            (1, true) => None,
            (1, false) => Some((Kind::Int, run)),
            _ => Some((Kind::Version, end)),
        };
    }
    if (run >= 16 && digits < run && kinds::kind_of(word) == Kind::Hex) || is_short_hex(word) {
        return Some((Kind::Hex, run));
    }
    is_random(word).then_some((Kind::Token, run))
}
