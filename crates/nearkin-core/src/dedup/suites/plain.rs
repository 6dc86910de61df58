//! Text as it arrives: escapes of JSON, entities and tags of HTML, and invisible characters inside words.
//!
//! `\u4e0b` and `&#x4e0b;` become their character, and so do the entities of [`ENTITIES`]. A tag of [`INLINE`] is left
//! out, one of [`BLOCKS`] becomes a space; other text between `<` and `>` stays, because it may be code. The soft hyphen,
//! U+200B, U+200C, U+2060 and U+FEFF are left out. Other escapes are those of a text that begins as JSON does: elsewhere
//! `\n` is the begin of `\neq`. The backslash before `_ & % # $`, as in LaTeX, is left out.

use memchr::memchr3;

use crate::{Result, alloc};

/// Longest tag in bytes.
const MAX_TAG: usize = 400;
const INLINE: [&str; 21] = [
    "a", "abbr", "b", "big", "cite", "code", "del", "em", "font", "i", "ins", "kbd", "mark", "q", "samp", "small",
    "span", "strong", "tt", "u", "var",
];
const BLOCKS: [&str; 15] =
    ["br", "div", "h1", "h2", "h3", "h4", "li", "ol", "p", "pre", "sub", "sup", "td", "th", "tr"];
const ENTITIES: [(&str, char); 6] =
    [("amp", '&'), ("apos", '\''), ("gt", '>'), ("lt", '<'), ("nbsp", ' '), ("quot", '"')];

/// The plain text of a stored one, and where its characters stand there.
#[derive(Default)]
pub(super) struct Plain {
    decoded: String,
    /// A character of the plain text, its first character in the stored one, and the number of those; those after it
    /// follow one by one.
    places: Vec<(usize, usize, usize)>,
}

impl Plain {
    /// Decode a text.
    ///
    /// # Errors
    /// Memory runs out.
    pub(super) fn read(stored: &str) -> Result<Self> {
        let (mut plain, bytes) = (Self::default(), stored.as_bytes());
        let (mut copied, mut at) = (0, 0);
        let (mut length, mut place) = (0, 0);
        let is_json = stored.trim_start().starts_with(['{', '[', '"']);
        let (mut signs, mut others) = (0, 0);
        loop {
            // Both are searched onwards only when they have been passed.
            if signs <= at {
                signs = at + memchr3(b'\\', b'&', b'<', &bytes[at..]).unwrap_or(bytes.len());
            }
            if others <= at {
                others = at + memchr3(0xc2, 0xe2, 0xef, &bytes[at..]).unwrap_or(bytes.len());
            }
            at = signs.min(others);
            if at >= bytes.len() {
                break;
            }
            let Some((width, character)) = decode(&bytes[at..], is_json) else {
                at += 1;
                continue;
            };
            let (kept, replaced) = (&stored[copied..at], stored[at..at + width].chars().count());
            alloc::try_reserve_str(&mut plain.decoded, kept.len() + 4)?;
            alloc::try_reserve(&mut plain.places, 2)?;
            plain.decoded.push_str(kept);
            let count = kept.chars().count();
            (length, place) = (length + count, place + count);
            if let Some(character) = character {
                plain.decoded.push(character);
                plain.places.push((length, place, replaced));
                length += 1;
            }
            place += replaced;
            plain.places.push((length, place, 1));
            at += width;
            copied = at;
        }
        if copied > 0 {
            alloc::try_reserve_str(&mut plain.decoded, stored.len() - copied)?;
            plain.decoded.push_str(&stored[copied..]);
        }
        Ok(plain)
    }

    /// Return the plain text of `stored`, which was read.
    pub(super) fn text<'a>(&'a self, stored: &'a str) -> &'a str {
        if self.places.is_empty() { stored } else { &self.decoded }
    }

    /// Return where a character stands in the stored text: the start and end of what became it.
    pub(super) fn place(&self, at: usize) -> (usize, usize) {
        let before = self.places.partition_point(|&(first, ..)| first <= at);
        match self.places[..before].last() {
            Some(&(first, start, width)) if first == at => (start, start + width),
            Some(&(first, start, _)) => (start + at - first, start + at - first + 1),
            None => (at, at + 1),
        }
    }
}

/// Return the number of bytes that `bytes` begins with and the character that they mean, None for no character.
fn decode(bytes: &[u8], is_json: bool) -> Option<(usize, Option<char>)> {
    match bytes {
        [0xc2, 0xad, ..] => Some((2, None)),
        [0xe2, 0x80, 0x8b | 0x8c, ..] | [0xe2, 0x81, 0xa0, ..] | [0xef, 0xbb, 0xbf, ..] => Some((3, None)),
        [b'\\', b't', ..] if is_json => Some((2, Some(' '))),
        [b'\\', b'n' | b'r', ..] if is_json => Some((2, Some('\n'))),
        [b'\\', sign @ (b'"' | b'\\' | b'/'), ..] if is_json => Some((2, Some(char::from(*sign)))),
        [b'\\', sign @ (b'_' | b'&' | b'%' | b'#' | b'$'), ..] => Some((2, Some(char::from(*sign)))),
        [b'\\', ..] => escape(bytes),
        [b'&', rest @ ..] => {
            let length = rest.iter().take(10).position(|&byte| byte == b';')?;
            let name = std::str::from_utf8(&rest[..length]).ok()?;
            let character = match name.strip_prefix('#') {
                Some(digits) => char::from_u32(match digits.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                    None => digits.parse().ok()?,
                })?,
                None => ENTITIES.iter().find(|(known, _)| *known == name)?.1,
            };
            Some((length + 2, Some(character)))
        }
        [b'<', ..] => tag(bytes),
        _ => None,
    }
}

/// Return the bytes and the character of `\uXXXX`, or of two that are a pair of surrogates.
fn escape(bytes: &[u8]) -> Option<(usize, Option<char>)> {
    let unit = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        let all_hex = digits.iter().all(u8::is_ascii_hexdigit);
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().filter(|_| all_hex)
    };
    let first = unit(0)?;
    if let Some(character) = char::from_u32(first) {
        return Some((6, Some(character)));
    }
    let second = unit(6).filter(|second| (0xdc00..0xe000).contains(second) && first < 0xdc00)?;
    Some((12, char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))))
}

/// Return the bytes of a tag, and what stands for it.
fn tag(bytes: &[u8]) -> Option<(usize, Option<char>)> {
    let end = bytes.iter().take(MAX_TAG).skip(1).position(|byte| matches!(byte, b'<' | b'>'))? + 1;
    let inside = std::str::from_utf8(&bytes[1..end]).ok().filter(|_| bytes[end] == b'>')?;
    let inside = inside.strip_prefix('/').unwrap_or(inside);
    let name = inside.split(|sign: char| sign == '/' || sign.is_ascii_whitespace()).next()?;
    let is_in = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if is_in(&INLINE) {
        return Some((end + 1, None));
    }
    is_in(&BLOCKS).then_some((end + 1, Some(' ')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_decoded_and_its_places_are_known() {
        let stored =
            "a\\u4e0b\\u8f7d &lt;b&#x41;&#66; <span class=\"k\">d\u{ad}ef</span><br/>x\\ud83d\\ude00 <y> \\neq";
        let plain = Plain::read(stored).expect("room");
        assert_eq!("a\u{4e0b}\u{8f7d} <bAB def x\u{1f600} <y> \\neq", plain.text(stored));
        let characters: Vec<char> = stored.chars().collect();
        let of = |at: usize| characters[plain.place(at).0..plain.place(at).1].iter().collect::<String>();
        assert_eq!(["a", "\\u4e0b", "\\u8f7d", " ", "&lt;", "b"].map(str::to_owned), [0, 1, 2, 3, 4, 5].map(of));
        assert_eq!(
            ["d", "e", "f", "<br/>", "x", "\\ud83d\\ude00", " "].map(str::to_owned),
            [9, 10, 11, 12, 13, 14, 15].map(of)
        );
    }

    #[test]
    fn a_text_that_begins_as_json_does_is_json() {
        for (stored, expected) in
            [(r#"{"a": "b\nc\\neq\"\u0041"}"#, "{\"a\": \"b\nc\\neq\"A\"}"), (r"b\nc\_d", r"b\nc_d")]
        {
            assert_eq!(expected, Plain::read(stored).expect("room").text(stored));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "([<>/&;#xa-b0-9\\\\u \u{ad}\u{200b}\u{4e0b}]|\\\\ud83d|\\\\ude00|&amp;|<b>|</p>){0,40}") {
            let plain = Plain::read(&text).expect("room");
            let count = plain.text(&text).chars().count();
            let mut end = 0;
            for at in 0..count {
                let place = plain.place(at);
                prop_assert!(end <= place.0 && place.0 < place.1);
                end = place.1;
            }
            prop_assert!(end <= text.chars().count());
        }
    }
}
