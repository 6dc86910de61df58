//! Decoding of payloads: layers of encodings are removed until none is left. The list of removed layers is evidence of
//! an attack.
//!
//! A round removes at most one layer of each kind, in this order. Rounds end when nothing changes, after [`ROUNDS`] at
//! the latest. No layer makes a text longer, so the cost is at most [`ROUNDS`] passes over [`MAX_BYTES`] bytes.
//!
//! | layer | what is decoded |
//! |---|---|
//! | `base64` | [`ENCODED`] or more characters that decode to printable ASCII (also as UTF-16); half as many if they end in `=` and are the complete payload |
//! | `url` | `%41`; `%u0041`; overlong UTF-8 (`%c0%af` is `/`); `+` if it encodes a space. Bytes from 0x80 only if they are UTF-8, so that `'%ad%'` of SQL is kept |
//! | `html` | `&#65;` `&#x41;` `&lt;` and other names of ASCII characters |
//! | `escape` | `\x41` `\u0041` `\u{41}` `\101` `\/` |
//! | `chars` | `fromCharCode(97,108)` of JavaScript |
//! | `fold` | full-width forms of ASCII, quotation marks |
//! | `case` | capitals of ASCII |
//! | `comment` | `/* */`, `<!-- -->`: removed inside a known word (`un/**/ion`), otherwise replaced by a space; `/*!50000 …*/` is replaced by its content; NUL, tabs and line ends within a known word |
//!
//! Bytes after [`MAX_BYTES`], and layers left after [`ROUNDS`] rounds, are not decoded; this is reported as the layer
//! `cut`.

use super::words;

/// Maximum number of bytes read.
pub const MAX_BYTES: usize = 1 << 16;
/// Maximum number of rounds.
pub const ROUNDS: usize = 8;
/// Minimum number of characters of base64.
pub const ENCODED: usize = 16;

/// Minimum run of base64 characters to look for encodings: the length of `fromcharcode`.
const SHORTEST: usize = 12;

/// An encoding that was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Percent-encoding, and plus for a space.
    Url,
    /// HTML entities.
    Html,
    /// Backslash escapes.
    Escape,
    /// Base64.
    Base64,
    /// Full-width forms.
    Fold,
    /// Calls with character codes.
    Chars,
    /// Capitals.
    Case,
    /// Comments.
    Comment,
    /// Input beyond a limit.
    Cut,
}

impl Layer {
    /// Return the name of the layer.
    pub const fn name(self) -> &'static str {
        ["url", "html", "escape", "base64", "fold", "chars", "case", "comment", "cut"][self as usize]
    }
}

/// Classes of bytes, as bits.
const PERCENT: u8 = 1;
const AMPERSAND: u8 = 2;
const BACKSLASH: u8 = 4;
const PLUS: u8 = 8;
const CAPITAL: u8 = 16;
const BASE64: u8 = 32;
/// First bytes of folding, comments and split words: bytes from 0x80, `*`, `!`, control characters.
const RARE: u8 = 64;
const BLANK: u8 = 128;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        class[byte] = match byte as u8 {
            b'%' => PERCENT,
            b'&' => AMPERSAND,
            b'\\' => BACKSLASH,
            b'+' => PLUS | BASE64,
            b'A'..=b'Z' => CAPITAL | BASE64,
            b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' => BASE64,
            b' ' => BLANK,
            b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => BLANK | RARE,
            0..=0x1f | 0x7f.. | b'*' | b'!' => RARE,
            _ => 0,
        };
        byte += 1;
    }
    class
};

/// Return the classes of bytes in a text, and true if it may contain base64 or character codes.
fn find_classes(text: &[u8]) -> (u8, bool) {
    let (mut seen, mut run, mut long) = (0, 0, false);
    for &byte in text {
        let class = CLASS[usize::from(byte)];
        seen |= class;
        run = if class & BASE64 == 0 { 0 } else { run + 1 };
        long |= run >= SHORTEST;
    }
    (seen, long || (text.len() >= ENCODED / 2 && text.last() == Some(&b'=')))
}

/// A decoder with reusable buffers, and its last result.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    text: Vec<u8>,
    spare: Vec<u8>,
    layers: Vec<Layer>,
}

impl Decoder {
    /// Decode all layers of `item`.
    pub fn decode(&mut self, item: &[u8]) -> &[u8] {
        self.layers.clear();
        self.text.clear();
        self.text.extend_from_slice(&item[..item.len().min(MAX_BYTES)]);
        let mut cut = item.len() > MAX_BYTES;
        for round in 0..=ROUNDS {
            let (seen, long) = find_classes(&self.text);
            let changed = round < ROUNDS && self.round(seen, long);
            if !changed {
                cut |= round == ROUNDS && self.round(seen, long);
                self.decode_unnested(seen);
                break;
            }
        }
        if cut {
            self.layers.push(Layer::Cut);
        }
        &self.text
    }

    /// Return the removed layers in order.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Return the decoded text.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Decode one layer; return true if the text changed.
    fn step(&mut self, layer: Layer, decode: impl FnOnce(&[u8], &mut Vec<u8>) -> bool) -> bool {
        self.spare.clear();
        let changed = decode(&self.text, &mut self.spare);
        if changed {
            std::mem::swap(&mut self.text, &mut self.spare);
            self.layers.push(layer);
        }
        changed
    }

    /// Decode one layer of each kind that attackers nest.
    fn round(&mut self, seen: u8, long: bool) -> bool {
        let mut changed = false;
        // Base64 comes first, since it may contain plus signs.
        if long {
            changed |= self.step(Layer::Base64, base64);
            changed |= self.step(Layer::Chars, chars);
        }
        if seen & (PERCENT | PLUS) != 0 {
            let spaces = seen & PLUS != 0 && seen & BLANK == 0;
            changed |= self.step(Layer::Url, |text, out| percent(text, spaces, out));
        }
        if seen & AMPERSAND != 0 {
            changed |= self.step(Layer::Html, |text, out| replace_encoded(text, b'&', out, entity));
        }
        if seen & BACKSLASH != 0 {
            changed |= self.step(Layer::Escape, |text, out| replace_encoded(text, b'\\', out, escape));
        }
        changed
    }

    /// Decode the layers that cannot be nested: folding, case, comments.
    fn decode_unnested(&mut self, seen: u8) {
        if seen & RARE != 0 && self.text.iter().any(|&byte| byte >= 0x80) {
            self.step(Layer::Fold, fold);
        }
        // Folding may produce capitals.
        if self.text.iter().any(u8::is_ascii_uppercase) {
            self.text.make_ascii_lowercase();
            self.layers.push(Layer::Case);
        }
        if seen & RARE != 0 {
            self.step(Layer::Comment, comments);
        }
    }
}

fn hex_digit(byte: u8) -> Option<u32> {
    char::from(byte).to_digit(16)
}

/// Return the value of exactly `digits` hexadecimal digits at the start.
fn hex(text: &[u8], digits: usize) -> Option<u32> {
    text.get(..digits)?.iter().try_fold(0, |value, &byte| Some(value << 4 | hex_digit(byte)?))
}

/// Append a character; lone surrogates and invalid codes become a question mark.
fn push_char(out: &mut Vec<u8>, code: u32) {
    let character = char::from_u32(code).unwrap_or('?');
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Return true if plus signs next to letters encode spaces, in a text without spaces: `union+select`, `+and+`.
fn encodes_spaces(text: &[u8]) -> bool {
    let letter = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphabetic);
    memchr::memchr_iter(b'+', text).any(|at| {
        let word = (at + 1..text.len()).take_while(|&next| letter(next)).count();
        word > 0 && ((at > 0 && letter(at - 1)) || (word > 1 && text.get(at + 1 + word) == Some(&b'+')))
    })
}

/// Return the byte of `%41` at the start.
fn percent_byte(text: &[u8]) -> Option<u8> {
    if text.first() != Some(&b'%') {
        return None;
    }
    hex(text.get(1..)?, 2).map(|byte| byte as u8)
}

/// Return the character of percent-encoded UTF-8, including overlong forms, and the number of bytes consumed.
fn percent_wide(text: &[u8], first: u8) -> Option<(u32, usize)> {
    let length = match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return None,
    };
    let mut code = u32::from(first) & (0xff >> (length + 1));
    for position in 1..length {
        let next = percent_byte(text.get(3 * position..)?)?;
        if next & 0xc0 != 0x80 {
            return None;
        }
        code = code << 6 | u32::from(next & 0x3f);
    }
    Some((code, 3 * length))
}

/// Return the character of `%41`, `%u0041` or percent-encoded UTF-8 at the start, and the number of bytes consumed.
fn percent_char(text: &[u8]) -> Option<(u32, usize)> {
    match percent_byte(text) {
        Some(byte) if byte < 0x80 => Some((u32::from(byte), 3)),
        Some(byte) => percent_wide(text, byte),
        None if matches!(text.get(1), Some(b'u' | b'U')) => hex(text.get(2..)?, 4).map(|code| (code, 6)),
        None => None,
    }
}

fn percent(text: &[u8], spaces: bool, out: &mut Vec<u8>) -> bool {
    let changed = replace_encoded(text, b'%', out, percent_char);
    if spaces && (changed || encodes_spaces(text)) {
        // Only the plus signs of the input are spaces; `%2b` is a plus sign.
        out.clear();
        let plain: Vec<u8> = text.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
        percent(&plain, false, out);
        return true;
    }
    changed
}

/// Names of entities; longer names precede their prefixes.
#[rustfmt::skip]
const ENTITIES: [(&[u8], u8); 38] = [
    (b"lt", b'<'), (b"gt", b'>'), (b"amp", b'&'), (b"quot", b'"'), (b"apos", b'\''), (b"nbsp", b' '), (b"tab", b'\t'),
    (b"newline", b'\n'), (b"colon", b':'), (b"semi", b';'), (b"lpar", b'('), (b"rpar", b')'), (b"sol", b'/'),
    (b"bsol", b'\\'), (b"comma", b','), (b"period", b'.'), (b"excl", b'!'), (b"num", b'#'), (b"dollar", b'$'),
    (b"percnt", b'%'), (b"equals", b'='), (b"quest", b'?'), (b"commat", b'@'), (b"lsqb", b'['), (b"lbrack", b'['),
    (b"rsqb", b']'), (b"rbrack", b']'), (b"lcub", b'{'), (b"lbrace", b'{'), (b"rcub", b'}'), (b"rbrace", b'}'),
    (b"grave", b'`'), (b"plus", b'+'), (b"lowbar", b'_'), (b"ast", b'*'), (b"vert", b'|'), (b"verbar", b'|'),
    (b"hat", b'^'),
];

/// Return the character of the entity at the start, which is an ampersand, and the number of bytes consumed.
fn entity(text: &[u8]) -> Option<(u32, usize)> {
    let body = &text[1..];
    let ended = |length: usize| length + usize::from(text.get(length) == Some(&b';'));
    if body.first() == Some(&b'#') {
        let sixteen = matches!(body.get(1), Some(b'x' | b'X'));
        let (digits, base) = if sixteen { (&body[2..], 16) } else { (&body[1..], 10) };
        let count = digits.iter().take_while(|&&byte| char::from(byte).is_digit(base)).take(24).count();
        let code = digits[..count]
            .iter()
            .try_fold(0_u32, |value, &byte| value.checked_mul(base)?.checked_add(char::from(byte).to_digit(base)?));
        return (count > 0).then_some((code?, ended(2 + usize::from(sixteen) + count)));
    }
    let length = body.iter().take(9).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (_, byte) = ENTITIES.iter().find(|(name, _)| name.eq_ignore_ascii_case(&body[..length]))?;
    let after = body.get(length).copied().unwrap_or(b' ');
    let closed = after == b';' || (length > 1 && length < 5 && !after.is_ascii_alphanumeric() && after != b'=');
    closed.then_some((u32::from(*byte), ended(1 + length)))
}

/// Return the character of the escape at the start, which is a backslash, and the number of bytes consumed.
fn escape(text: &[u8]) -> Option<(u32, usize)> {
    match text.get(1)? {
        b'x' | b'X' => hex(&text[2..], 2).map(|code| (code, 4)),
        b'u' if text.get(2) == Some(&b'{') => {
            let digits = text[3..].iter().take(7).take_while(|&&byte| hex_digit(byte).is_some()).count();
            let closed = (1..7).contains(&digits) && text.get(3 + digits) == Some(&b'}');
            if closed { hex(&text[3..], digits).map(|code| (code, 4 + digits)) } else { None }
        }
        b'u' | b'U' => {
            let high = hex(&text[2..], 4)?;
            let low = if text.get(6) == Some(&b'\\') { text.get(8..).and_then(|rest| hex(rest, 4)) } else { None };
            match low {
                Some(low) if high >> 10 == 0x36 && low >> 10 == 0x37 => {
                    Some((0x1_0000 + ((high & 0x3ff) << 10 | low & 0x3ff), 12))
                }
                _ => Some((high, 6)),
            }
        }
        b'/' => Some((u32::from(b'/'), 2)),
        b'0'..=b'3' => {
            let digits = text.get(1..4)?;
            let octal = digits.iter().all(|byte| (b'0'..=b'7').contains(byte));
            octal.then(|| (digits.iter().fold(0, |value, byte| value << 3 | u32::from(byte - b'0')), 4))
        }
        _ => None,
    }
}

/// Copy a text and decode with `find` at each `mark`.
fn replace_encoded(text: &[u8], mark: u8, out: &mut Vec<u8>, find: impl Fn(&[u8]) -> Option<(u32, usize)>) -> bool {
    let (mut changed, mut at) = (false, 0);
    while let Some(next) = memchr::memchr(mark, &text[at..]) {
        out.extend_from_slice(&text[at..at + next]);
        at += next;
        if let Some((code, taken)) = find(&text[at..]) {
            push_char(out, code);
            at += taken;
            changed = true;
        } else {
            out.push(mark);
            at += 1;
        }
    }
    out.extend_from_slice(&text[at..]);
    changed
}

fn sextet(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    }))
}

/// Append the decoded bytes of a run of base64 if they are printable; of UTF-16 only every other byte.
fn push_decoded(run: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    for group in run.chunks(4) {
        let bits = group.iter().fold(0, |bits, &byte| bits << 6 | sextet(byte).unwrap_or(0)) << (6 * (4 - group.len()));
        out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    let printable = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    let said = &out[start..];
    if said.len().is_multiple_of(2) && said.iter().skip(1).step_by(2).all(|&byte| byte == 0) {
        let halved: Vec<u8> = said.iter().copied().step_by(2).collect();
        out.truncate(start);
        out.extend_from_slice(&halved);
    }
    let said = &out[start..];
    let good = !said.is_empty() && said.iter().all(|&byte| printable(byte));
    if !good {
        out.truncate(start);
    }
    good
}

fn base64(text: &[u8], out: &mut Vec<u8>) -> bool {
    let (mut changed, mut at) = (false, 0);
    while at < text.len() {
        let run = text[at..].iter().take_while(|&&byte| sextet(byte).is_some()).count();
        let padding = text[at + run..].iter().take(2).take_while(|&&byte| byte == b'=').count();
        let whole = run % 4 != 1 && (padding == 0 || (run + padding) % 4 == 0);
        let alone = run + padding == text.len() && padding > 0 && run >= ENCODED / 2 - padding;
        if (run >= ENCODED || alone) && whole && push_decoded(&text[at..at + run], out) {
            changed = true;
            at += run + padding;
        } else {
            out.extend_from_slice(&text[at..at + run]);
            at += run;
        }
        if run == 0 {
            out.push(text[at]);
            at += 1;
        }
    }
    changed
}

/// Replace calls of `fromCharCode` by their characters, without brackets.
fn chars(text: &[u8], out: &mut Vec<u8>) -> bool {
    const NAME: &[u8] = b"fromcharcode";
    let (mut changed, mut copied) = (false, 0);
    for at in memchr::memchr2_iter(b'f', b'F', text) {
        let after = at + NAME.len();
        if at < copied || !text.get(at..after).is_some_and(|name| name.eq_ignore_ascii_case(NAME)) {
            continue;
        }
        let Some((start, end)) = arguments(text, after) else { continue };
        let numbers = text[start..end].split(|&byte| byte == b',').map(|number| {
            std::str::from_utf8(number)
                .ok()
                .and_then(|number| number.trim().parse::<u32>().ok())
                .filter(|&code| code < 0x1_0000)
        });
        let Some(codes) = numbers.collect::<Option<Vec<u32>>>() else { continue };
        // `String.` or `String['` belongs to the call.
        let mut begin = at;
        while begin > copied && matches!(text[begin - 1], b'.' | b'[' | b'\'' | b'"') {
            begin -= 1;
        }
        let word = text[copied..begin].iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
        begin -= if word == 6 { word } else { 0 };
        out.extend_from_slice(&text[copied..begin]);
        for code in codes {
            push_char(out, code);
        }
        copied = end + 1;
        changed = true;
    }
    out.extend_from_slice(&text[copied..]);
    changed
}

/// Return the range of the arguments of a call whose name ends at `at`, after quotation marks and brackets.
fn arguments(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let signs = text[at..].iter().take(4).take_while(|byte| matches!(byte, b'\'' | b'"' | b']' | b' ')).count();
    let open = at + signs;
    if text.get(open) != Some(&b'(') {
        return None;
    }
    let length = memchr::memchr(b')', &text[open + 1..])?;
    Some((open + 1, open + 1 + length))
}

/// Replace full-width forms (U+FF01 to U+FF5E), the wide space and quotation marks by ASCII.
fn fold(text: &[u8], out: &mut Vec<u8>) -> bool {
    let (mut changed, mut at) = (false, 0);
    while at < text.len() {
        let ascii = match text[at..] {
            [0xef, 0xbc, low @ 0x81..=0xbf, ..] => Some(low - 0x60),
            [0xef, 0xbd, low @ 0x80..=0x9e, ..] => Some(low - 0x20),
            [0xe3, 0x80, 0x80, ..] => Some(b' '),
            [0xe2, 0x80, 0x98 | 0x99 | 0xb2, ..] => Some(b'\''),
            [0xe2, 0x80, 0x9c | 0x9d | 0xb3, ..] => Some(b'"'),
            _ => None,
        };
        out.push(ascii.unwrap_or(text[at]));
        at += if ascii.is_some() { 3 } else { 1 };
        changed |= ascii.is_some();
    }
    changed
}

/// Return the length of the comment at the start of `text`, and true if its content is kept.
fn comment(text: &[u8]) -> Option<(usize, bool)> {
    let closed = |from: usize, close: &[u8]| {
        memchr::memmem::find(text.get(from..)?, close).map(|position| from + position + close.len())
    };
    match text {
        [b'/', b'*', b'!', ..] => closed(3, b"*/").map(|end| (end, true)),
        [b'/', b'*', ..] => closed(2, b"*/").map(|end| (end, false)),
        [b'<', b'!', b'-', b'-', b'#' | b'[', ..] => None,
        [b'<', b'!', b'-', b'-', ..] => closed(4, b"-->").map(|end| (end, false)),
        [0 | b'\t' | b'\n' | b'\r', ..] => {
            Some((text.iter().take_while(|byte| matches!(byte, 0 | b'\t' | b'\n' | b'\r')).count(), false))
        }
        _ => None,
    }
}

/// Return true if removing a comment joins a known word. Two known words are not joined, except for a scheme (`java`
/// and `script:`).
fn joins(before: &[u8], after: &[u8]) -> bool {
    let letter = |byte: &&u8| byte.is_ascii_alphabetic();
    let left = before.iter().rev().take(words::MAX_BYTES).take_while(letter).count();
    let right = after.iter().take(words::MAX_BYTES).take_while(letter).count();
    if left == 0 || right == 0 || left + right > words::MAX_BYTES {
        return false;
    }
    let (left, right) = (&before[before.len() - left..], &after[..right]);
    let scheme = after.get(right.len()) == Some(&b':');
    let both = words::number(left).is_some() && words::number(right).is_some();
    words::number(&[left, right].concat()).is_some() && (scheme || !both)
}

fn comments(text: &[u8], out: &mut Vec<u8>) -> bool {
    let (mut changed, mut at, mut budget) = (false, 0, ROUNDS * MAX_BYTES);
    while at < text.len() {
        let result = match text[at] {
            b'/' | b'<' | 0 | b'\t' | b'\n' | b'\r' if budget > 0 => comment(&text[at..]),
            _ => None,
        };
        let Some((length, kept)) = result else {
            // An unclosed comment costs a search to the end.
            budget = budget.saturating_sub(if text[at..].starts_with(b"/*") || text[at..].starts_with(b"<!--") {
                text.len() - at
            } else {
                0
            });
            out.push(text[at]);
            at += 1;
            continue;
        };
        let inside = &text[at..at + length];
        let blank = inside.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r'));
        let nul = inside[0] == 0;
        if kept {
            let body = &inside[3..length - 2];
            let digits = body.iter().take_while(|byte| byte.is_ascii_digit()).count();
            out.push(b' ');
            out.extend_from_slice(&body[digits..]);
            out.push(b' ');
        } else if joins(out, &text[at + length..]) {
            // The comment is removed.
        } else if blank || nul {
            out.extend_from_slice(inside);
            at += length;
            continue;
        } else {
            out.push(b' ');
        }
        changed = true;
        at += length;
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(item: &[u8]) -> (String, Vec<&'static str>) {
        let mut decoder = Decoder::default();
        let text = String::from_utf8_lossy(decoder.decode(item)).into_owned();
        (text, decoder.layers().iter().map(|layer| layer.name()).collect())
    }

    #[test]
    fn every_layer_is_taken_off_and_named() {
        for (item, text, layers) in [
            ("1%27%20or%201=1", "1' or 1=1", &["url"][..]),
            ("%2527", "'", &["url", "url"]),
            ("%u0027+or+1=1", "' or 1=1", &["url"]),
            ("1'+union+select+2", "1' union select 2", &["url"]),
            ("char(1)+char(2)+char(3)", "char(1)+char(2)+char(3)", &[]),
            ("a%2bb+c", "a+b c", &["url"]),
            ("..%c0%af..%e0%80%af", "../../", &["url"]),
            ("like '%ad%'", "like '%ad%'", &[]),
            ("&lt;script&gt;&#97;&#x6c;ert&lpar;1)", "<script>alert(1)", &["html"]),
            ("a=1&lt=2", "a=1&lt=2", &[]),
            ("&#38;lt;", "<", &["html", "html"]),
            ("\\x3cscript\\u003e\\u{41}\\101", "<script>aa", &["escape", "case"]),
            ("\\ud83d\\ude00", "\u{1f600}", &["escape"]),
            ("<\\/script>", "</script>", &["escape"]),
            ("c:\\windows\\win.ini", "c:\\windows\\win.ini", &[]),
            ("PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==", "<script>alert(1)</script>", &["base64"]),
            ("cABvAHcAZQByAHMAaABlAGwAbAA=", "powershell", &["base64"]),
            ("JiZpZGA=", "&&id`", &["base64"]),
            ("thisisoneverylongidentifier", "thisisoneverylongidentifier", &[]),
            ("\u{ff1c}script\u{ff1e} \u{2019}", "<script> '", &["fold"]),
            ("eval(String['fromCharCode'](97, 98))", "eval(ab)", &["chars"]),
            ("String.fromCharCode(1,x)", "string.fromcharcode(1,x)", &["case"]),
            ("SeLeCt", "select", &["case"]),
            ("un/**/ion/*x*/select", "union select", &["comment"]),
            ("1/*!50000union*/select", "1 union select", &["comment"]),
            ("is/**/null", "is null", &["comment"]),
            ("<scr<!-- a -->ipt>", "<script>", &["comment"]),
            ("<!--#exec cmd=\"id\"-->", "<!--#exec cmd=\"id\"-->", &[]),
            ("java\tscript:x\ty", "javascript:x\ty", &["comment"]),
            ("/* open", "/* open", &[]),
            ("JTI1MjclMjUyMG9yJTI1MjAx", "' or 1", &["base64", "url", "url"]),
        ] {
            assert_eq!((text.to_owned(), layers.to_vec()), decoded(item.as_bytes()), "{item}");
        }
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let deep = format!("%{}27", "25".repeat(ROUNDS + 3));
        let (text, layers) = decoded(deep.as_bytes());
        assert_eq!(
            (ROUNDS, Some("cut")),
            (layers.iter().filter(|&&layer| layer == "url").count() - 1, layers.last().copied())
        );
        assert!(text.starts_with('%'));
        let (text, layers) = decoded(&vec![b'7'; MAX_BYTES + 1]);
        assert_eq!((MAX_BYTES, vec!["cut"]), (text.len(), layers));
        // The number of searches for unclosed comments is bounded.
        let (text, _) = decoded("/* x".repeat(MAX_BYTES / 4).as_bytes());
        assert_eq!(MAX_BYTES, text.len());
    }

    proptest! {
        #[test]
        fn no_layer_makes_a_text_longer(item in prop::collection::vec(prop_oneof![
            Just(b'%'), Just(b'&'), Just(b'#'), Just(b'\\'), Just(b'u'), Just(b'x'), Just(b'0'), Just(b'2'), Just(b'5'), Just(b'/'),
            Just(b'*'), Just(b'!'), Just(b'<'), Just(b'-'), Just(b'>'), Just(b'+'), Just(b';'), Just(b'{'), Just(b'}'), any::<u8>(),
        ], 0..300)) {
            let mut decoder = Decoder::default();
            prop_assert!(decoder.decode(&item).len() <= item.len());
            let text = decoder.text().to_vec();
            // A decoded text is a fixed point.
            if !decoder.layers().contains(&Layer::Cut) && !decoder.layers().iter().any(|layer| matches!(layer, Layer::Fold | Layer::Comment)) {
                prop_assert_eq!(&text, decoder.decode(&text));
            }
        }
    }
}
