//! Types of variables: their names, the least upper bound of two types, and the type of a token.
//!
//! ```text
//! optional ── text ── tail ── path ── file ── name ── slug ── word
//!               └── url                         ├── token ── hex ── uuid, int
//!                                               ├── version, quantity ── float ── int
//!                                               ├── host ── ip
//!                                               ├── datetime ── date, time
//!                                               └── email, mac
//! ```
//! A type *covers* another if it contains every value of the other. [`Kind::join`] is the first type in [`Kind::ALL`]
//! that covers both. Any two types have one least upper bound, so the join is associative (tested). The numbers and
//! names of types are part of the file format and are never reused.

use std::net::Ipv6Addr;

/// The type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A whole number, with or without a sign: `-12`.
    Int = 1,
    /// A number with a decimal point or an exponent: `0.25`, `1e-9`.
    Float = 2,
    /// Hexadecimal digits with at least one letter and one digit, or after `0x`: `8f3a`, `0x1F`; also hashes, and four
    /// pairs of digits or more with colons: `00:1b:44:11`.
    Hex = 3,
    /// 8-4-4-4-12 hexadecimal digits, in braces or not.
    Uuid = 4,
    /// An IPv4 or IPv6 address, with or without a port or a prefix length.
    Ip = 5,
    /// A MAC address: six pairs of hexadecimal digits.
    Mac = 6,
    /// A host name with at least one dot, with or without a port: `db1.example.com:5432`.
    Host = 7,
    /// An email address.
    Email = 8,
    /// A date: `2024-05-01`, `2024/05/01`, `01.05.2024`.
    Date = 9,
    /// A time of day: `12:30:59.125`.
    Time = 10,
    /// A date and a time: `2024-05-01T12:30:59Z`.
    DateTime = 11,
    /// A number with a unit: `12ms`, `1.5GB`, `80%`.
    Quantity = 12,
    /// Two or more dots between numbers, with or without `v`, or `v` and a number: `1.2.3-rc1`, `v2`.
    Version = 13,
    /// Letters.
    Word = 14,
    /// Lower-case words, numbers among them, with hyphens between them: `how-to-hash`.
    Slug = 15,
    /// Letters and digits in random order: base64, keys, tokens.
    Token = 16,
    /// Letters, digits and `_ - . : @ # $ +`: an identifier.
    Name = 17,
    /// A file name with a known suffix: `app.8f3a.js`.
    File = 18,
    /// Names with slashes: `/usr/bin/env`, `C:\Windows`.
    Path = 19,
    /// The rest of a path: one or more segments.
    Tail = 20,
    /// A URL with its scheme.
    Url = 21,
    /// Any text.
    Text = 22,
    /// A part that may be missing, with the blank before it.
    Optional = 23,
}

use Kind::{
    Date, DateTime, Email, File, Float, Hex, Host, Int, Ip, Mac, Name, Optional, Path, Quantity, Slug, Tail, Text,
    Time, Token, Url, Uuid, Version, Word,
};

impl Kind {
    /// All types; narrower types come before the types that cover them.
    pub const ALL: [Self; 23] = [
        Int, Uuid, Ip, Mac, Email, Date, Time, Float, Hex, Word, DateTime, Quantity, Version, Slug, Token, Host, Name,
        File, Path, Tail, Url, Text, Optional,
    ];

    /// Return the name of the type, as written in braces.
    pub const fn name(self) -> &'static str {
        NAMES[self as usize - 1]
    }

    /// Return the type with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Return the type with this number, as used in wildcards and files.
    pub fn numbered(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|&kind| kind as u8 == number)
    }

    /// Return the types directly below this one.
    const fn below(self) -> &'static [Self] {
        match self {
            Float => &[Int],
            Hex => &[Int, Uuid],
            DateTime => &[Date, Time],
            Quantity | Version => &[Float],
            Slug => &[Word],
            Token => &[Hex],
            Host => &[Ip],
            Name => &[Slug, Token, Version, Quantity, Host, DateTime, Mac, Email],
            File => &[Name],
            Path => &[File],
            Tail => &[Path],
            Text => &[Tail, Url],
            Optional => &[Text],
            _ => &[],
        }
    }

    /// Return true for names and free text: types that letters alone may have.
    pub(crate) const fn is_textual(self) -> bool {
        matches!(self, Word | Slug | Name | File | Path | Tail | Url | Text | Optional)
    }

    /// Return true if every value of `other` is one of this type.
    pub fn covers(self, other: Self) -> bool {
        self == other || self.below().iter().any(|below| below.covers(other))
    }

    /// Return the narrowest type that covers both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        Self::ALL.into_iter().find(|kind| kind.covers(self) && kind.covers(other)).unwrap_or(Optional)
    }
}

/// Names of the types, by number from 1.
const NAMES: [&str; 23] = [
    "int", "float", "hex", "uuid", "ip", "mac", "host", "email", "date", "time", "datetime", "quantity", "version",
    "word", "slug", "token", "name", "file", "path", "tail", "url", "text", "optional",
];

/// Classes of bytes, as bits.
const DIGIT: u16 = 1;
const HEX_LETTER: u16 = 2;
const LOWER: u16 = 4;
const UPPER: u16 = 8;
const WIDE: u16 = 16;
const HYPHEN: u16 = 32;
const UNDERSCORE: u16 = 64;
const DOT: u16 = 128;
const COLON: u16 = 256;
const SLASH: u16 = 512;
const AT: u16 = 1024;
const SIGN: u16 = 2048;
const EQUALS: u16 = 4096;
const OTHER: u16 = 8192;
const LETTER: u16 = LOWER | UPPER | HEX_LETTER;

const CLASS: [u16; 256] = {
    let mut class = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'f' => LOWER | HEX_LETTER,
            b'A'..=b'F' => UPPER | HEX_LETTER,
            b'g'..=b'z' => LOWER,
            b'G'..=b'Z' => UPPER,
            b'-' => HYPHEN,
            b'_' => UNDERSCORE,
            b'.' => DOT,
            b':' => COLON,
            b'/' | b'\\' => SLASH,
            b'@' => AT,
            b'+' | b'#' | b'$' | b'~' | b'%' => SIGN,
            b'=' => EQUALS,
            128.. => WIDE,
            _ => OTHER,
        };
        byte += 1;
    }
    class
};

/// Return the classes of all bytes of a token, and its number of digits.
fn classes(token: &[u8]) -> (u16, usize) {
    token.iter().fold((0, 0), |(all, digits), &byte| {
        let class = CLASS[usize::from(byte)];
        (all | class, digits + usize::from(class == DIGIT))
    })
}

/// Return true if only the allowed classes occur.
fn only(all: u16, allowed: u16) -> bool {
    all & !allowed == 0
}

/// Return the type of a token; `text` if no narrower type matches or the token is empty.
pub fn kind_of(token: &[u8]) -> Kind {
    let (all, digits) = classes(token);
    if token.is_empty() {
        return Text;
    }
    if all == DIGIT {
        return Int;
    }
    if only(all, LETTER | WIDE) {
        return Word;
    }
    if digits == 0 {
        return without_digits(token, all);
    }
    if only(all & !(OTHER | UNDERSCORE), DIGIT | LETTER | HYPHEN | DOT | SIGN | COLON | SLASH)
        && let Some(kind) = number(token).or_else(|| dated(token))
    {
        return kind;
    }
    let bare = token.strip_prefix(b"{").and_then(|inner| inner.strip_suffix(b"}")).unwrap_or(token);
    if is_uuid(bare) {
        Uuid
    } else if is_pairs(token) && !is_mac(token) {
        Hex
    } else if is_ip(token) {
        Ip
    } else if is_mac(token) {
        Mac
    } else if is_hex(token, all) {
        Hex
    } else if is_version(token) {
        Version
    } else if only(all, LETTER | DIGIT | HYPHEN | UNDERSCORE | EQUALS | SLASH | SIGN) && is_token(token) {
        Token
    } else if only(all, LOWER | HEX_LETTER | DIGIT | HYPHEN) && all & HYPHEN != 0 && all & UPPER == 0 && is_slug(token)
    {
        Slug
    } else {
        named(token, all)
    }
}

/// Return the type of a token that has no digits and a byte that is not a letter.
fn without_digits(token: &[u8], all: u16) -> Kind {
    if only(all, LOWER | HEX_LETTER | HYPHEN) && all & UPPER == 0 && is_slug(token) {
        return Slug;
    }
    if is_ip(token) {
        return Ip;
    }
    named(token, all)
}

/// Return the type of a URL, address, path, file, host or name.
fn named(token: &[u8], all: u16) -> Kind {
    if all & SLASH != 0 {
        return if is_url(token) {
            Url
        } else if only(all, !(OTHER | EQUALS)) {
            Path
        } else {
            Text
        };
    }
    if all & (OTHER | EQUALS) != 0 {
        return Text;
    }
    if all & AT != 0 && is_email(token) {
        return Email;
    }
    if all & DOT != 0 {
        if is_file(token) {
            return File;
        }
        if is_host(token) {
            return Host;
        }
    }
    Name
}

fn count_digits(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Units that follow a number without a space.
const UNITS: &str = " milliseconds seconds minutes hours days bytes msecs msec usec nsec secs mins sec min ms us ns s m h d \
 KiB MiB GiB TiB KB kB kb MB mb GB TB B K M G Mbps Kbps kbps MHz GHz kHz Hz % ";

/// Return true if the bytes are a unit.
pub fn is_unit(bytes: &[u8]) -> bool {
    (1..=12).contains(&bytes.len()) && is_listed(bytes, UNITS)
}

/// Return true if a list of words separated by blanks contains the word.
pub(crate) fn is_listed(word: &[u8], list: &str) -> bool {
    let mut positions = memchr::memmem::find_iter(list.as_bytes(), word);
    let blank = |at: Option<usize>| at.and_then(|at| list.as_bytes().get(at)).is_none_or(u8::is_ascii_whitespace);
    let whole = |at: usize| blank(at.checked_sub(1)) && blank(Some(at + word.len()));
    !word.is_empty() && !word.iter().any(u8::is_ascii_whitespace) && positions.any(whole)
}

/// Return true for a duration as Java and Go print it: `PT1M30.5S` (ISO 8601), or several numbers with units, `1h2m3s`.
fn is_duration(token: &[u8]) -> bool {
    let (mut rest, iso) = token.strip_prefix(b"PT").map_or((token, false), |rest| (rest, true));
    let units: &[&[u8]] = if iso { &[b"H", b"M", b"S"] } else { &[b"h", b"ms", b"m", b"s", b"us", b"ns"] };
    let mut count = 0;
    while !rest.is_empty() {
        let whole = count_digits(rest);
        let decimals = rest[whole..].strip_prefix(b".").map_or(0, |after| count_digits(after) + 1);
        let after = &rest[whole + decimals..];
        let Some(unit) = units.iter().find(|unit| after.starts_with(unit)).filter(|_| whole > 0) else { return false };
        (rest, count) = (&after[unit.len()..], count + 1);
    }
    count > usize::from(!iso)
}

/// Return the type of an integer, a float or a number with a unit.
fn number(token: &[u8]) -> Option<Kind> {
    let unsigned = token.strip_prefix(b"-").or_else(|| token.strip_prefix(b"+")).unwrap_or(token);
    let whole = count_digits(unsigned);
    if whole == unsigned.len() && whole > 0 {
        return Some(Int);
    }
    let mut rest = &unsigned[whole..];
    let mut digits = whole;
    if let Some(after) = rest.strip_prefix(b".") {
        let decimals = count_digits(after);
        if decimals == 0 {
            return None;
        }
        digits += decimals;
        rest = &after[decimals..];
    }
    if digits == 0 {
        return (token.starts_with(b"PT") && is_duration(token)).then_some(Quantity);
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+"))?;
        return (count_digits(exponent) == exponent.len() && !exponent.is_empty()).then_some(Float);
    }
    match rest {
        [] => Some(Float),
        [b'A'..=b'Z' | b'a'..=b'z' | b'%', ..] if is_unit(rest) || is_duration(token) => Some(Quantity),
        _ => None,
    }
}

/// Return the length of the date at the start: year first or last, with the same separator twice.
pub fn date_length(bytes: &[u8]) -> Option<usize> {
    let first = count_digits(bytes);
    let mark = *bytes.get(first)?;
    if !matches!(mark, b'-' | b'/' | b'.') {
        return None;
    }
    let rest = &bytes[first + 1..];
    let second = count_digits(rest);
    if second == 0 || second > 2 || rest.get(second) != Some(&mark) {
        return None;
    }
    let last = count_digits(&rest[second + 1..]);
    let number = |digits: &[u8]| digits.iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    let within = |digits: &[u8], max: u32| (1..=max).contains(&number(digits));
    let (a, b, c) = (&bytes[..first], &rest[..second], &rest[second + 1..second + 1 + last]);
    let year = |digits: &[u8]| digits.len() == 4 && (1900..2200).contains(&number(digits));
    let is_date = match (first, last) {
        (4, 1..=2) => year(a) && within(b, 12) && within(c, 31),
        (1..=2, 4) => year(c) && within(a, 31) && within(b, 31) && (within(a, 12) || within(b, 12)),
        _ => false,
    };
    is_date.then_some(first + 1 + second + 1 + last)
}

/// Return the length of the time of day at the start: two or three parts, then an optional fraction.
pub fn time_length(bytes: &[u8]) -> Option<usize> {
    let first = count_digits(bytes);
    if !(1..=2).contains(&first) || bytes.get(first) != Some(&b':') || count_digits(&bytes[first + 1..]) != 2 {
        return None;
    }
    let hours = bytes[..first].iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    if hours > 24 || bytes[first + 1] > b'5' {
        return None;
    }
    let mut end = first + 3;
    if bytes.get(end) == Some(&b':') && count_digits(&bytes[end + 1..]) == 2 && bytes[end + 1] <= b'6' {
        end += 3;
        if matches!(bytes.get(end), Some(b'.' | b',')) {
            let fraction = count_digits(&bytes[end + 1..]);
            if (1..=9).contains(&fraction) {
                end += 1 + fraction;
            }
        }
    }
    Some(end)
}

/// Return the length of the time zone at the start: `Z`, `+02:00`, `+0200`; 0 for none.
pub fn zone_length(bytes: &[u8]) -> usize {
    match bytes {
        [b'Z', ..] => 1,
        [b'+' | b'-', rest @ ..] => match (count_digits(rest), rest.get(2)) {
            (4, _) => 5,
            (2, Some(b':')) if count_digits(&rest[3..]) == 2 => 6,
            _ => 0,
        },
        _ => 0,
    }
}

/// Return the type of a date, a time, or both.
fn dated(token: &[u8]) -> Option<Kind> {
    if let Some(day) = date_length(token) {
        let Some(after) = token.get(day + 1..) else {
            return (day == token.len()).then_some(Date);
        };
        let separated = matches!(token[day], b'T' | b't' | b'_' | b'-' | b' ' | b':' | b'.');
        let time = time_length(after).filter(|_| separated)?;
        return (time + zone_length(&after[time..]) == after.len()).then_some(DateTime);
    }
    let time = time_length(token)?;
    (time + zone_length(&token[time..]) == token.len()).then_some(Time)
}

/// Return true if the bytes are 8-4-4-4-12 hexadecimal digits.
pub fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Return the length of the IPv4 address at the start: four numbers up to 255.
pub fn ipv4_length(bytes: &[u8]) -> Option<usize> {
    let mut end = 0;
    for part in 0..4 {
        if part > 0 {
            if bytes.get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        let digits = count_digits(&bytes[end..]);
        let value = bytes[end..end + digits.min(3)].iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
        if !(1..=3).contains(&digits) || value > 255 {
            return None;
        }
        end += digits;
    }
    Some(end)
}

/// Return true if the token is an IP address, with or without a port or prefix.
pub fn is_ip(token: &[u8]) -> bool {
    if let Some(end) = ipv4_length(token) {
        return match &token[end..] {
            [] => true,
            [b':' | b'/', rest @ ..] => (1..=5).contains(&rest.len()) && count_digits(rest) == rest.len(),
            _ => false,
        };
    }
    if memchr::memchr_iter(b':', token).count() < 2 || token.len() > 64 {
        return false;
    }
    let bare = token.strip_prefix(b"[").and_then(|inner| inner.split(|&byte| byte == b']').next()).unwrap_or(token);
    let address = bare.split(|&byte| byte == b'/' || byte == b'%').next().unwrap_or(bare);
    // A bare `::` is usually an operator.
    address.len() > 2 && std::str::from_utf8(address).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok())
}

/// Return true if the token is six pairs of hexadecimal digits with colons or hyphens.
pub fn is_mac(token: &[u8]) -> bool {
    token.len() == 17
        && token.iter().enumerate().all(|(at, byte)| match at % 3 {
            2 => *byte == token[2] && matches!(byte, b':' | b'-'),
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Return true if the token is four pairs of hexadecimal digits or more with colons.
fn is_pairs(token: &[u8]) -> bool {
    let is_in_place = |(at, byte): (usize, &u8)| if at % 3 == 2 { *byte == b':' } else { byte.is_ascii_hexdigit() };
    token.len() >= 11 && token.len() % 3 == 2 && token.iter().enumerate().all(is_in_place)
}

fn is_hex(token: &[u8], all: u16) -> bool {
    if let [b'0', b'x' | b'X', digits @ ..] = token {
        return !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    }
    // Shorter tokens such as `3q` and `a1` are names.
    token.len() >= 4
        && token.iter().all(u8::is_ascii_hexdigit)
        && (all & UPPER == 0 || all & LOWER == 0 || token.len() >= 16)
}

fn is_version(token: &[u8]) -> bool {
    let prefixed = matches!(token, [b'v' | b'V', b'0'..=b'9', ..]);
    let numbers = if prefixed { &token[1..] } else { token };
    let mut parts = 0;
    let mut end = 0;
    loop {
        let digits = count_digits(&numbers[end..]);
        if digits == 0 {
            break;
        }
        parts += 1;
        end += digits;
        if numbers.get(end) != Some(&b'.') || !numbers.get(end + 1).is_some_and(u8::is_ascii_digit) {
            break;
        }
        end += 1;
    }
    let has_parts = parts >= 3 || (prefixed && parts >= 1);
    let suffix = |rest: &[u8]| {
        matches!(rest, [b'-' | b'+' | b'_', _, ..])
            && rest[1..].iter().all(|byte| byte.is_ascii_alphanumeric() || b".-_+".contains(byte))
    };
    has_parts && (end == numbers.len() || suffix(&numbers[end..]))
}

/// Return true for 16 or more bytes in which letters and digits alternate more than in a name; base64 padding may
/// follow.
fn is_token(token: &[u8]) -> bool {
    let bare = token.strip_suffix(b"==").or_else(|| token.strip_suffix(b"=")).unwrap_or(token);
    if bare.len() < 16 || !bare.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_+/".contains(byte)) {
        return false;
    }
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    };
    let changes = bare.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    let marks = bare.iter().filter(|byte| !byte.is_ascii_alphanumeric()).count();
    4 * changes >= bare.len() && 8 * marks <= bare.len()
}

fn is_slug(token: &[u8]) -> bool {
    token.split(|&byte| byte == b'-').all(|part| !part.is_empty())
}

fn is_url(token: &[u8]) -> bool {
    let scheme = token.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(byte)).count();
    scheme > 1 && token[scheme..].starts_with(b"://") && token.len() > scheme + 3
}

fn is_email(token: &[u8]) -> bool {
    let mut parts = token.split(|&byte| byte == b'@');
    let (Some(user), Some(host), None) = (parts.next(), parts.next(), parts.next()) else { return false };
    let inner = |part: &[u8]| !part.is_empty() && part[0] != b'.' && part[part.len() - 1] != b'.';
    inner(user) && inner(host) && host.contains(&b'.') && !user.contains(&b':') && !host.contains(&b':')
}

/// Suffixes of files that are not top-level domains.
const SUFFIXES: &str = include_str!("../data/file-suffixes.txt");

/// Return true if these bytes, without a dot, are a file suffix.
pub fn is_suffix(bytes: &[u8]) -> bool {
    (1..=11).contains(&bytes.len()) && is_listed(&bytes.to_ascii_lowercase(), SUFFIXES)
}

fn is_file(token: &[u8]) -> bool {
    token.iter().rposition(|&byte| byte == b'.').is_some_and(|dot| dot > 0 && is_suffix(&token[dot + 1..]))
}

fn is_host(token: &[u8]) -> bool {
    let (name, port) = match token.iter().position(|&byte| byte == b':') {
        None => (token, None),
        Some(colon) => (&token[..colon], Some(&token[colon + 1..])),
    };
    let label = |part: &[u8]| {
        !part.is_empty() && part.len() < 64 && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
    };
    let last = name.rsplit(|&byte| byte == b'.').next().unwrap_or(name);
    name.contains(&b'.')
        && name.split(|&byte| byte == b'.').all(label)
        && last.len() >= 2
        && last.iter().all(u8::is_ascii_lowercase)
        && port.is_none_or(|port| (1..=5).contains(&port.len()) && count_digits(port) == port.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_have_the_type_that_a_reader_sees() {
        for (expected, tokens) in [
            (Int, "0 42 -7 +3 20240501"),
            (Float, "0.25 -1.5 1e-9 2.5E+10 .5"),
            (Hex, "0x1F 0xdead 8f3a d41d8cd98f00b204e9800998ecf8427e 00FF 00:01:00:1b:44:11:3a:b7 aB:cd:ef:01"),
            (Uuid, "123e4567-e89b-12d3-a456-426614174000 {123E4567-E89B-12D3-A456-426614174000}"),
            (Ip, "10.0.0.1 10.0.0.1:8080 10.0.0.0/8 fe80::1 2001:db8::8a2e:370:7334 [2001:db8::1]:443 ::ffff:10.0.0.1"),
            (Mac, "00:1b:44:11:3a:b7 00-1B-44-11-3A-B7"),
            (Host, "example.com db1.example.com:5432 a-b.c-d.org"),
            (Email, "a.b@example.com root@db1.local"),
            (Date, "2024-05-01 2024/5/1 01.05.2024 12/31/2024"),
            (Time, "12:30 12:30:59 1:02:03.123456 23:59:60,5 12:30:00Z 12:30:00+02:00"),
            (DateTime, "2024-05-01T12:30:59Z 2024-05-01_12:30 2024-05-01T12:30:59.5+0200 2015-10-18-01.02:03:04"),
            (Quantity, "12ms 1.5GB 80% 3s -4.5kHz"),
            (Version, "1.2.3 v2 v1.0 1.2.3-rc1 10.0.19041.1"),
            (Word, "users Ünïcode 日本 feed deadbeef"),
            (Slug, "how-to-hash a-1-b red-wine-2"),
            (Token, "dGhpcyBpcyBhIHRlc3Q5x1Q= aB3dE5fG7hI9jK1l"),
            (Name, "user_42 blk_-16 x86 main$1 a:b foo.Bar"),
            (File, "index.html app.8f3a.js photo-1.JPG archive.tar.gz"),
            (Path, "/usr/bin/env a/b C:\\Windows\\x"),
            (Url, "http://a.b/c?d=e https://x"),
            (Text, "a=b (x) , ;"),
        ] {
            for token in tokens.split(' ') {
                let result = kind_of(token.as_bytes());
                if token == "2015-10-18-01.02:03:04" {
                    // Not a time: a date with something after it.
                    assert_eq!(Name, result);
                } else {
                    assert_eq!(expected, result, "{token}");
                }
            }
        }
        assert_eq!(Text, kind_of(b""));
    }

    #[test]
    fn lookalikes_are_rejected() {
        for (token, kind) in [
            ("256.1.1.1", Version),
            ("1.2.3.4:x", Name),
            ("2024-13-01", Slug),
            ("25:00:00", Name),
            ("12:60", Name),
            ("123e4567-e89b-12d3-a456-42661417400g", Token),
            ("::", Name),
            ("3q", Name),
            ("1e", Name),
            ("-", Name),
            (".", Name),
            ("a@b", Name),
            ("@b.x", Name),
            ("://x", Path),
        ] {
            assert_eq!(kind, kind_of(token.as_bytes()), "{token}");
        }
    }

    #[test]
    fn names_and_numbers_round_trip() {
        for kind in Kind::ALL {
            assert_eq!((Some(kind), Some(kind)), (Kind::named(kind.name()), Kind::numbered(kind as u8)));
        }
        assert_eq!((None, None, None), (Kind::named("other"), Kind::numbered(0), Kind::numbered(24)));
    }

    #[test]
    fn join_is_the_least_upper_bound() {
        for (a, b, expected) in [
            (Int, Float, Float),
            (Int, Uuid, Hex),
            (Int, Word, Name),
            (Date, Time, DateTime),
            (Path, Word, Path),
            (Url, Int, Text),
        ] {
            assert_eq!(expected, a.join(b), "{a:?} {b:?}");
        }
        for a in Kind::ALL {
            assert!(Optional.covers(a) && a.join(a) == a);
            for b in Kind::ALL {
                assert_eq!(a.join(b), b.join(a));
                assert!(a.join(b).covers(a) && a.join(b).covers(b));
                assert_eq!(a.covers(b), a.join(b) == a);
                for c in Kind::ALL {
                    assert_eq!(a.join(b).join(c), a.join(b.join(c)), "{a:?} {b:?} {c:?}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_type(token in prop::collection::vec(any::<u8>(), 0..60), like in "[0-9a-fx:./@v{}TZ+-]{0,40}") {
            kind_of(&token);
            kind_of(like.as_bytes());
        }
    }
}
