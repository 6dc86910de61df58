//! JSON Lines: each line is a record, a JSON object; a text column and some scalar columns are read.
//!
//! The complete line is validated (UTF-8, JSON syntax, one object), but only the requested columns are unescaped. Other
//! values are skipped without recursion, so deep nesting does not use the stack. One pass over the bytes of each line, in
//! parallel over pieces of the block (`records`).
//!
//! A record is malformed for: invalid UTF-8; invalid JSON (a raw control character in a string, NaN, a trailing comma,
//! ...); not an object; a missing id column, a missing text column unless it is optional, or a duplicate requested column;
//! a text that is neither string nor null; an id that is neither string nor integer; a requested column that is nested,
//! or a number beyond the range of a double, or an integer of more than [`DIGITS`] digits; a lone surrogate escape in a
//! requested string. A requested name with dots is a column of that name, or a member of an object: `meta.url` is `url` in
//! `meta`; a value that is not an object has no such member. An escaped NUL (`\u0000`) is an ordinary character. Blank
//! lines are not records. The caller removes a byte order mark.
//!
//! Most records have an ordinary form, and [`quick`] parses these in one walk over the line, jumping from quote to
//! quote by `memchr`. It gives up at anything unusual; `serde_json` then parses the line again and reports the fault. A
//! property test checks that the two agree.
//!
//! Sources: RFC 8259 (JSON); <https://jsonlines.org>. RFC 8259, section 4, lets readers choose among duplicate names;
//! we reject a duplicate requested name, because any choice would be a guess.

use std::borrow::Cow;
use std::fmt;

use memchr::{memchr, memchr2};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::Result;
use crate::records::{Line, Records, Scalar, over_lines, over_spans, utf8};

/// The maximum number of digits of an integer: Python's limit (`sys.int_info.default_max_str_digits`).
pub const DIGITS: usize = 4300;

/// The requested columns of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonColumns {
    /// The column of the text.
    pub text: String,
    /// Read a record without the column of the text as one whose text is null; otherwise it is malformed.
    pub text_optional: bool,
    /// The column of the id: an integer or string in every record. It is the first of the scalar columns.
    pub id: Option<String>,
    /// Further scalar columns; null if a record does not have one.
    pub extra: Vec<String>,
}

impl JsonColumns {
    fn scalars(&self) -> usize {
        usize::from(self.id.is_some()) + self.extra.len()
    }

    fn name(&self, scalar: usize) -> &str {
        match (&self.id, scalar) {
            (Some(id), 0) => id,
            (Some(_), i) => &self.extra[i - 1],
            (None, i) => &self.extra[i],
        }
    }

    /// Classify a key of an object with the path `within`: empty for the record, otherwise names that end in a dot.
    fn find(&self, within: &str, key: &str) -> Member {
        let end = within.len() + key.len();
        // The processor takes 100 ns to compare no bytes at the dangling address of an empty string (AVX-512).
        let starts = |name: &str| {
            (within.is_empty() || name.starts_with(within))
                && name.as_bytes()[within.len()..].starts_with(key.as_bytes())
        };
        let is = |name: &str| name.len() == end && starts(name);
        let names = || (0..self.scalars()).map(|i| self.name(i));
        if is(&self.text) {
            return Member::Text;
        }
        if let Some(i) = names().position(is) {
            return Member::Scalar(i);
        }
        let inside = |name: &str| name.as_bytes().get(end) == Some(&b'.') && starts(name);
        if inside(&self.text) || names().any(inside) { Member::Inside } else { Member::Other }
    }
}

/// Read the records of a block that starts at the start of a line; see `records` for the result.
///
/// # Errors
/// [`crate::Error::Parameter`] for a block of 4 GiB or more.
pub fn read(block: &[u8], end: bool, columns: &JsonColumns) -> Result<Records> {
    over_lines(block, end, columns.scalars(), |line, records| read_line(line, columns, records))
}

/// Read again the records that are contiguous in `block` with these `lengths`.
///
/// # Errors
/// [`crate::Error::Parameter`] if the lengths do not add up to the block.
pub fn read_spans(block: &[u8], lengths: &[u32], columns: &JsonColumns) -> Result<Records> {
    over_spans(block, lengths, columns.scalars(), |line, records| read_line(line, columns, records))
}

fn read_line(line: &Line<'_>, columns: &JsonColumns, records: &mut Records) -> std::result::Result<(), String> {
    if line.bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    let text = utf8(line.bytes)?;
    let before = records.data.len();
    let row = if let Some(row) = quick(text, columns, &mut records.data) {
        row
    } else {
        records.data.truncate(before);
        thorough(text, columns, &mut records.data)?
    };
    let null = match row.text {
        Some(null) => null,
        None if columns.text_optional => true,
        None => return Err(format!("no column {:?}; this record has {}", columns.text, keys(text))),
    };
    let mut scalars = Vec::with_capacity(row.raw.len());
    for (i, raw) in row.raw.iter().enumerate() {
        let is_id = i == 0 && columns.id.is_some();
        let value = match raw {
            Some(raw) => scalar(raw).map_err(|reason| format!("column {:?} holds {reason}", columns.name(i)))?,
            None if is_id => return Err(format!("no column {:?}; this record has {}", columns.name(i), keys(text))),
            None => Scalar::Null,
        };
        if is_id && !matches!(value, Scalar::Int(_) | Scalar::BigInt(_) | Scalar::Text(_)) {
            let raw = raw.unwrap_or_default();
            let (held, more) = (raw.chars().take(40).collect::<String>(), if raw.len() > 40 { "..." } else { "" });
            return Err(format!("column {:?} holds {held}{more}; an id is an integer or a string", columns.name(i)));
        }
        scalars.push(value);
    }
    records.end_row(line.start, line.length, null, &scalars);
    Ok(())
}

/// Parse a line with the complete parser, or return why it is malformed.
fn thorough<'a>(text: &'a str, columns: &JsonColumns, data: &mut Vec<u8>) -> std::result::Result<Row<'a>, String> {
    let mut parser = serde_json::Deserializer::from_str(text);
    parser
        .deserialize_map(RowVisitor { columns, data, within: "" })
        .and_then(|row| parser.end().map(|()| row))
        .map_err(|error| explain(&error))
}

/// Parse a line of ordinary form as [`thorough`] does; None for any other line, with `data` in an unspecified state.
fn quick<'a>(text: &'a str, columns: &JsonColumns, data: &mut Vec<u8>) -> Option<Row<'a>> {
    let bytes = text.as_bytes();
    // Without control characters, tokens are only separated by spaces, and strings need no search for one.
    if bytes.iter().fold(u8::MAX, |least, &byte| least.min(byte)) < 0x20 {
        return None;
    }
    let mut row = Row { text: None, raw: vec![None; columns.scalars()] };
    let mut at = after(bytes, 0, b'{')?;
    loop {
        let start = after(bytes, at, b'"')?;
        let end = start + memchr2(b'"', b'\\', &bytes[start..])?;
        if bytes[end] != b'"' {
            return None;
        }
        at = skip_spaces(bytes, after(bytes, end + 1, b':')?);
        match columns.find("", &text[start..end]) {
            Member::Text if row.text.is_some() => return None,
            Member::Text if bytes.get(at) == Some(&b'"') => {
                at = unescape(bytes, at + 1, data)?;
                row.text = Some(false);
            }
            Member::Text if bytes[at..].starts_with(b"null") => {
                at += 4;
                row.text = Some(true);
            }
            Member::Text => return None,
            Member::Inside => {
                let value = &text[at..skip_value(text, at)?];
                at += value.len();
                let visitor = RowVisitor { columns, data: &mut *data, within: &format!("{}.", &text[start..end]) };
                visitor.inside(value, &mut row).ok()?;
            }
            key => {
                let end = skip_value(text, at)?;
                if let Member::Scalar(i) = key
                    && row.raw[i].replace(&text[at..end]).is_some()
                {
                    return None;
                }
                at = end;
            }
        }
        at = skip_spaces(bytes, at);
        match bytes.get(at)? {
            b',' => at += 1,
            b'}' if skip_spaces(bytes, at + 1) == bytes.len() => return Some(row),
            _ => return None,
        }
    }
}

fn skip_spaces(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at) == Some(&b' ') {
        at += 1;
    }
    at
}

/// Return the position after spaces and this byte.
fn after(bytes: &[u8], at: usize, byte: u8) -> Option<usize> {
    let at = skip_spaces(bytes, at);
    (bytes.get(at) == Some(&byte)).then_some(at + 1)
}

/// Parse four hexadecimal digits at `at`.
fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 4)?;
    digits.iter().try_fold(0, |value, &digit| Some(value << 4 | char::from(digit).to_digit(16)?))
}

/// Append the string whose first character is at `at` to `data`; return the position after its quote.
fn unescape(bytes: &[u8], mut at: usize, data: &mut Vec<u8>) -> Option<usize> {
    loop {
        let stop = at + memchr2(b'"', b'\\', bytes.get(at..)?)?;
        data.extend_from_slice(&bytes[at..stop]);
        if bytes[stop] == b'"' {
            return Some(stop + 1);
        }
        at = stop + 2;
        data.push(match bytes.get(stop + 1)? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 0x08,
            b'f' => 0x0c,
            &byte @ (b'"' | b'\\' | b'/') => byte,
            b'u' => {
                let mut code = hex4(bytes, at)?;
                at += 4;
                if (0xd800..0xdc00).contains(&code) {
                    if bytes.get(at..at + 2)? != b"\\u" {
                        return None;
                    }
                    let low = hex4(bytes, at + 2)?;
                    if !(0xdc00..0xe000).contains(&low) {
                        return None;
                    }
                    at += 6;
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                }
                // A lone low surrogate is not a character.
                let mut buffer = [0; 4];
                data.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut buffer).as_bytes());
                continue;
            }
            _ => return None,
        });
    }
}

/// Return the position after the value at `at`, which need not be a requested column.
fn skip_value(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    match bytes.get(at)? {
        b'"' => skip_string(bytes, at + 1),
        b'{' | b'[' => {
            let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<IgnoredAny>();
            values.next()?.ok()?;
            Some(at + values.byte_offset())
        }
        b't' => bytes[at..].starts_with(b"true").then_some(at + 4),
        b'f' => bytes[at..].starts_with(b"false").then_some(at + 5),
        b'n' => bytes[at..].starts_with(b"null").then_some(at + 4),
        _ => skip_number(bytes, at),
    }
}

fn skip_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let stop = at + memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[stop] == b'"' {
            return Some(stop + 1);
        }
        at = stop + 2;
        match bytes.get(stop + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
            b'u' => {
                hex4(bytes, at)?;
                at += 4;
            }
            _ => return None,
        }
    }
}

fn skip_number(bytes: &[u8], at: usize) -> Option<usize> {
    let digits = |from: usize| {
        let count = bytes[from.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    };
    let start = at + usize::from(bytes[at] == b'-');
    let mut end = digits(start)?;
    if bytes[start] == b'0' && end > start + 1 {
        return None;
    }
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        end = digits(end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-'))))?;
    }
    Some(end)
}

/// Return the parser's message without its line number, which is always 1 here.
fn explain(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let words = words.rfind(" at line ").map_or(words.as_str(), |at| &words[..at]);
    if words.starts_with("column ") {
        return words.to_owned();
    }
    if words.contains("surrogate") || words == "unexpected end of hex escape" {
        return format!(
            "a lone surrogate escape before byte {} of the line; it stands for no character",
            error.column()
        );
    }
    if error.is_data() {
        return format!("not a JSON object: {words}");
    }
    format!("invalid JSON at byte {} of the line: {words}", error.column())
}

/// Return the names in an object of valid JSON, for a message.
fn keys(object: &str) -> String {
    const SHOWN: usize = 8;
    struct Names;
    impl<'de> Visitor<'de> for Names {
        type Value = (Vec<String>, usize);

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
            let (mut names, mut count) = (Vec::new(), 0);
            while let Some((name, _)) = map.next_entry::<Cow<'_, str>, IgnoredAny>()? {
                count += 1;
                if names.len() < SHOWN {
                    names.push(name.chars().take(40).collect());
                }
            }
            Ok((names, count))
        }
    }
    match serde_json::Deserializer::from_str(object).deserialize_map(Names) {
        Ok((_, 0)) | Err(_) => "no columns".to_owned(),
        Ok((names, count)) if count > names.len() => format!("{} and {} more", names.join(", "), count - names.len()),
        Ok((names, _)) => names.join(", "),
    }
}

/// Convert a JSON value to a scalar, or return its type.
fn scalar(raw: &str) -> std::result::Result<Scalar<'_>, String> {
    match raw.as_bytes().first() {
        Some(b'"') if memchr(b'\\', raw.as_bytes()).is_none() => {
            Ok(Scalar::Text(Cow::Borrowed(&raw[1..raw.len() - 1])))
        }
        Some(b'"') => match serde_json::from_str::<JsonString<'_>>(raw) {
            Ok(text) => Ok(Scalar::Text(text.0)),
            Err(error) => Err(format!("a string that is no text: {}", explain(&error))),
        },
        Some(b'{') => Err("an object; a column that is read is a string, number, boolean or null".to_owned()),
        Some(b'[') => Err("an array; a column that is read is a string, number, boolean or null".to_owned()),
        Some(b't') => Ok(Scalar::Bool(true)),
        Some(b'f') => Ok(Scalar::Bool(false)),
        Some(b'n') => Ok(Scalar::Null),
        _ if raw.contains(['.', 'e', 'E']) => match raw.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(Scalar::Float(x)),
            _ => Err(format!("{}, which is beyond the range of a double", raw.chars().take(40).collect::<String>())),
        },
        _ => match raw.parse::<i64>() {
            Ok(number) => Ok(Scalar::Int(number)),
            Err(_) if raw.trim_start_matches('-').len() > DIGITS => {
                let count = raw.trim_start_matches('-').len();
                Err(format!("an integer of {count} digits; use a string, or at most {DIGITS} digits"))
            }
            Err(_) => Ok(Scalar::BigInt(raw)),
        },
    }
}

/// A string that borrows from its JSON unless it has escapes.
struct JsonString<'a>(Cow<'a, str>);

impl<'de> serde::Deserialize<'de> for JsonString<'de> {
    fn deserialize<D: Deserializer<'de>>(parser: D) -> std::result::Result<Self, D::Error> {
        struct Borrow;
        impl<'de> Visitor<'de> for Borrow {
            type Value = JsonString<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
                Ok(JsonString(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
                Ok(JsonString(Cow::Owned(text.to_owned())))
            }
        }
        parser.deserialize_str(Borrow)
    }
}

enum Member {
    Text,
    Scalar(usize),
    /// The object of this name may contain requested columns.
    Inside,
    Other,
}

struct KeySeed<'w> {
    columns: &'w JsonColumns,
    within: &'w str,
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = (Member, String);

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> std::result::Result<Self::Value, D::Error> {
        parser.deserialize_identifier(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = (Member, String);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name in quotes")
    }

    fn visit_str<E>(self, name: &str) -> std::result::Result<Self::Value, E> {
        let member = self.columns.find(self.within, name);
        let place = if matches!(member, Member::Inside) { format!("{}{name}.", self.within) } else { String::new() };
        Ok((member, place))
    }
}

/// The requested columns of one record; its text is already in the data.
#[derive(Debug, PartialEq)]
struct Row<'de> {
    /// True if the text is null; None if the column is missing.
    text: Option<bool>,
    /// The JSON of each scalar column, if the record has it.
    raw: Vec<Option<&'de str>>,
}

struct RowVisitor<'w, 'o> {
    columns: &'w JsonColumns,
    data: &'o mut Vec<u8>,
    /// The path of the object in its record, for [`JsonColumns::find`].
    within: &'w str,
}

impl<'de> Visitor<'de> for RowVisitor<'_, '_> {
    type Value = Row<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, one per line")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Row<'de>, A::Error> {
        let mut row = Row { text: None, raw: vec![None; self.columns.scalars()] };
        self.members(map, &mut row)?;
        Ok(row)
    }
}

impl RowVisitor<'_, '_> {
    fn members<'de, A: MapAccess<'de>>(self, mut map: A, row: &mut Row<'de>) -> std::result::Result<(), A::Error> {
        let columns = self.columns;
        while let Some((key, within)) = map.next_key_seed(KeySeed { columns, within: self.within })? {
            match key {
                Member::Text if row.text.is_some() => return Err(twice(&columns.text)),
                Member::Text => {
                    row.text = Some(map.next_value_seed(TextSeed { name: &columns.text, data: &mut *self.data })?);
                }
                Member::Scalar(i) if row.raw[i].is_some() => return Err(twice(columns.name(i))),
                Member::Scalar(i) => row.raw[i] = Some(map.next_value::<&RawValue>()?.get()),
                Member::Inside => {
                    let value = map.next_value::<&RawValue>()?.get();
                    let inner = RowVisitor { columns, data: &mut *self.data, within: &within };
                    inner.inside(value, row).map_err(A::Error::custom)?;
                }
                Member::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    /// Read the columns of a value of valid JSON, if it is an object.
    fn inside<'de>(self, value: &'de str, row: &mut Row<'de>) -> std::result::Result<(), String> {
        struct Inner<'w, 'o, 'f, 'de>(RowVisitor<'w, 'o>, &'f mut Row<'de>);
        impl<'de> Visitor<'de> for Inner<'_, '_, '_, 'de> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<(), A::Error> {
                self.0.members(map, self.1)
            }
        }
        if !value.starts_with('{') {
            return Ok(());
        }
        serde_json::Deserializer::from_str(value).deserialize_map(Inner(self, row)).map_err(|error| explain(&error))
    }
}

fn twice<E: serde::de::Error>(name: &str) -> E {
    E::custom(format_args!("column {name:?} occurs twice in one record"))
}

/// Deserializes the text into `data`; its value is whether the text is null.
struct TextSeed<'w, 'o> {
    name: &'w str,
    data: &'o mut Vec<u8>,
}

impl TextSeed<'_, '_> {
    fn other<E: serde::de::Error>(&self, held: &str) -> E {
        E::custom(format_args!("column {:?} holds {held}; a text is a string or null", self.name))
    }
}

impl<'de> DeserializeSeed<'de> for TextSeed<'_, '_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> std::result::Result<bool, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextSeed<'_, '_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or null")
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<bool, E> {
        self.data.extend_from_slice(text.as_bytes());
        Ok(false)
    }

    fn visit_unit<E>(self) -> std::result::Result<bool, E> {
        Ok(true)
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> std::result::Result<bool, E> {
        Err(self.other("a boolean"))
    }

    fn visit_i64<E: serde::de::Error>(self, _: i64) -> std::result::Result<bool, E> {
        Err(self.other("a number"))
    }

    fn visit_u64<E: serde::de::Error>(self, _: u64) -> std::result::Result<bool, E> {
        Err(self.other("a number"))
    }

    fn visit_f64<E: serde::de::Error>(self, _: f64) -> std::result::Result<bool, E> {
        Err(self.other("a number"))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, _: A) -> std::result::Result<bool, A::Error> {
        Err(A::Error::custom(self.other::<A::Error>("an array")))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> std::result::Result<bool, A::Error> {
        Err(A::Error::custom(self.other::<A::Error>("an object")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::records::Column;

    fn columns(id: Option<&str>, extra: &[&str]) -> JsonColumns {
        JsonColumns {
            text: "text".to_owned(),
            text_optional: false,
            id: id.map(str::to_owned),
            extra: extra.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    fn texts(records: &Records) -> Vec<&str> {
        (0..records.len()).map(|row| records.text(row).unwrap()).collect()
    }

    /// Return why a single record is malformed.
    fn reason(line: &str) -> String {
        let records = read(line.as_bytes(), true, &columns(Some("id"), &["score"])).unwrap();
        assert_eq!((0, 1), (records.len(), records.malformed_count), "{line}");
        assert!(records.data.is_empty() && records.columns.iter().all(|column| column.kinds.is_empty()));
        records.malformed[0].reason.clone()
    }

    #[test]
    fn names_with_dots_are_members_of_objects() {
        let nested = JsonColumns {
            text: "doc.body".to_owned(),
            text_optional: false,
            id: Some("meta.url".to_owned()),
            extra: vec!["meta.crawl.at".to_owned(), "meta.url.x".to_owned()],
        };
        let block =
            br#"{"meta": {"x": [1], "url": "a", "crawl": {"at": 5}}, "doc": {"body": "one\n"}, "more": {"url": 1}}
{"meta.url": "b", "doc": {"title": {"body": 1}, "body": null}, "meta": {"crawl": "never"}}
{"doc.body": "three", "meta": {"url": "c", "crawl": {"at": null, "url": 3}}}
{"doc": {"body": "x"}, "meta": null}
{"doc": "x", "meta": {"url": "e"}}
{"doc": {"body": "x"}, "meta": {"url": "f"}, "meta.url": "g"}
{"doc": {"body": 3}, "meta": {"url": "h"}}
{"doc": {"body": "x", "body": "y"}, "meta": {"url": "h"}}"#;
        for spaced in [false, true] {
            // A tab sends a line to the complete parser.
            let block = if spaced {
                String::from_utf8_lossy(block).replace("{\"", "{\t\"").into_bytes()
            } else {
                block.to_vec()
            };
            let records = read(&block, true, &nested).unwrap();
            assert_eq!(vec!["one\n", "", "three"], texts(&records));
            assert_eq!((vec![1], b"abc".as_slice()), (records.nulls.clone(), &*records.columns[0].data));
            assert_eq!(vec![Column::INT, Column::NULL, Column::NULL], records.columns[1].kinds);
            let reasons: Vec<_> = records.malformed.iter().map(|bad| (bad.line, bad.reason.as_str())).collect();
            assert_eq!(
                vec![
                    (3, "no column \"meta.url\"; this record has doc, meta"),
                    (4, "no column \"doc.body\"; this record has doc, meta"),
                    (5, "column \"meta.url\" occurs twice in one record"),
                    (6, "column \"doc.body\" holds a number; a text is a string or null"),
                    (7, "column \"doc.body\" occurs twice in one record"),
                ],
                reasons
            );
        }
    }

    #[test]
    fn an_optional_text_is_null_where_it_is_missing() {
        let block = b"{\"text\": \"a\", \"id\": 1}\n{\"id\": 2}\n{\t\"id\": 3, \"more\": {\"text\": \"b\"}}\n{}\n";
        let optional = JsonColumns { text_optional: true, ..columns(Some("id"), &[]) };
        for records in [read(block, true, &optional), read_spans(block, &[23, 10, 34, 3], &optional)] {
            let records = records.unwrap();
            assert_eq!((vec!["a", "", ""], vec![1, 2]), (texts(&records), records.nulls.clone()));
            assert_eq!(vec![1, 2, 3], records.columns[0].values);
            assert_eq!("no column \"id\"; this record has no columns", records.malformed[0].reason);
        }
    }

    #[test]
    fn text_and_columns_are_read_and_the_rest_is_skipped() {
        let block = br#"{"id": 7, "x": [1, {"text": "no"}], "text": "a\n\u4e2d", "score": 0.5}

{"text": null, "id": "b", "te\u0078t2": 0}
{"score": "x", "id": 123456789012345678901234567890, "text": "c"}"#;
        let records = read(block, true, &columns(Some("id"), &["score"])).unwrap();
        assert_eq!(vec!["a\n中", "", "c"], texts(&records));
        assert_eq!(vec![1], records.nulls);
        let (id, score) = (&records.columns[0], &records.columns[1]);
        assert_eq!(vec![Column::INT, Column::TEXT, Column::BIG_INT], id.kinds);
        assert_eq!((vec![7, 0, 0], b"b123456789012345678901234567890".as_slice()), (id.values.clone(), &*id.data));
        assert_eq!(vec![Column::FLOAT, Column::NULL, Column::TEXT], score.kinds);
        assert_eq!(0.5_f64.to_bits() as i64, score.values[0]);
        assert_eq!((0, 3), (records.malformed_count, records.lines));
    }

    #[test]
    fn every_reason_names_what_was_found() {
        for (line, expected) in [
            ("[1]", "not a JSON object: invalid type: sequence, expected an object, one per line"),
            ("{\"text\": \"a\"", "EOF while parsing an object"),
            ("{\"text\": \"a\tb\", \"id\": 1}", "control character"),
            ("{\"text\": \"a\", \"id\": 1} x", "trailing characters"),
            ("{\"text\": NaN, \"id\": 1}", "expected value"),
            ("{\"id\": 1, \"body\": 2}", "no column \"text\"; this record has id, body"),
            ("{\"text\": \"a\"}", "no column \"id\"; this record has text"),
            ("{}", "no column \"text\"; this record has no columns"),
            ("{\"text\": 5, \"id\": 1}", "column \"text\" holds a number; a text is a string or null"),
            ("{\"text\": [\"a\"], \"id\": 1}", "column \"text\" holds an array; a text is a string or null"),
            ("{\"text\": {\"a\": 1}, \"id\": 1}", "column \"text\" holds an object; a text is a string or null"),
            ("{\"text\": true, \"id\": 1}", "column \"text\" holds a boolean; a text is a string or null"),
            ("{\"text\": \"a\", \"text\": \"b\", \"id\": 1}", "column \"text\" occurs twice in one record"),
            ("{\"text\": \"a\", \"id\": 1, \"i\\u0064\": 1}", "column \"id\" occurs twice in one record"),
            ("{\"text\": \"\\ud800\", \"id\": 1}", "surrogate"),
            ("{\"text\": \"\\udc00x\", \"id\": 1}", "surrogate"),
            ("{\"text\": \"a\", \"id\": \"\\ud800\"}", "surrogate"),
            ("{\"text\": \"a\", \"id\": null}", "column \"id\" holds null; an id is an integer or a string"),
            ("{\"text\": \"a\", \"id\": 1.5}", "column \"id\" holds 1.5; an id is an integer or a string"),
            ("{\"text\": \"a\", \"id\": [1]}", "column \"id\" holds an array"),
            ("{\"text\": \"a\", \"id\": 1, \"score\": 1e999}", "column \"score\" holds 1e999, which is beyond"),
        ] {
            let row = reason(line);
            assert!(row.contains(expected), "{line}: {row}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_named() {
        let records = read(b"{\"text\": \"a\xff\"}\n", true, &columns(None, &[])).unwrap();
        assert!(records.malformed[0].reason.contains("byte 0xff at byte 12"), "{}", records.malformed[0].reason);
    }

    #[test]
    fn nesting_of_any_depth_needs_no_stack() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        let block =
            format!("{{\"x\": {deep}, \"text\": \"a\"}}\n{{\"text\": {deep}}}\n{{\"x\": {}\n", "[".repeat(1_000_000));
        let records = read(block.as_bytes(), true, &columns(None, &["y"])).unwrap();
        assert_eq!((vec!["a"], 2), (texts(&records), records.malformed_count));
    }

    #[test]
    fn lines_of_a_hundred_megabytes_are_read() {
        let block = format!("{{\"text\": \"{}\"}}\n", "x".repeat(100_000_000));
        let records = read(block.as_bytes(), false, &columns(None, &[])).unwrap();
        assert_eq!(100_000_000, records.text(0).unwrap().len());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("text|id|[a-z\"\\\\]{1,3}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn records_equal_those_of_a_whole_parser(values in proptest::collection::vec((any_json(), any_json()), 0..20)) {
            let values: Vec<Value> = values.into_iter().map(|(text, x)| json!({"x": x, "text": text})).collect();
            let lines: Vec<String> = values.iter().map(|value| format!("{value}\r\n")).collect();
            let block = lines.concat();
            let records = read(block.as_bytes(), true, &columns(None, &["x"])).unwrap();
            let nested = |value: &Value| value.is_array() || value.is_object();
            let expected: Vec<&str> = values
                .iter()
                .filter(|value| (value["text"].is_string() || value["text"].is_null()) && !nested(&value["x"]))
                .map(|value| value["text"].as_str().unwrap_or(""))
                .collect();
            prop_assert_eq!(&expected, &texts(&records));
            prop_assert_eq!(values.len(), records.len() + records.malformed_count as usize);
            let mut packed = Vec::new();
            for (start, length) in records.starts.iter().zip(&records.lengths) {
                packed.extend_from_slice(&block.as_bytes()[*start as usize..][..*length as usize]);
            }
            let again = read_spans(&packed, &records.lengths, &columns(None, &["x"])).unwrap();
            prop_assert_eq!(&records.data, &again.data);
            prop_assert_eq!(&records.columns, &again.columns);
        }

        #[test]
        fn the_quick_reader_agrees_with_the_whole_parser(line in prop_oneof![
            (any_json(), any_json(), 0_usize..80, any::<char>()).prop_map(|(text, x, at, new)| {
                let mut line: Vec<char> = json!({"x": x, "text": text, "id": "a\nb"}).to_string().chars().collect();
                let at = at % line.len();
                line[at] = new;
                line.into_iter().collect::<String>()
            }),
            "[{] ?\"(text|id|x)\" ?: ?(\"(\\\\[nrtbfu\"/x\\\\]|\\\\u(d[89c]00|00e9|4E2D)|[aé\" ]){0,6}\"|-?[0-9.eE+-]{1,4}|nulll?|true|fals|\\[1\\]) ?(, ?\"(text|id)\": ?\"a\")?[}]",
        ]) {
            let columns = columns(Some("id"), &["x"]);
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            if let Some(row) = quick(&line, &columns, &mut ours) {
                prop_assert_eq!(Ok(row), thorough(&line, &columns, &mut theirs));
                prop_assert_eq!(ours, theirs);
            }
        }

        #[test]
        fn ordinary_records_take_the_quick_way(text in any::<String>(), x in any_json()) {
            let (mut data, columns) = (Vec::new(), columns(None, &["x"]));
            // DEL and the like are literal in JSON; only characters below a space are escaped.
            let line = json!({"text": text, "x": x}).to_string();
            prop_assert!(quick(&line, &columns, &mut data).is_some(), "{}", line);
            prop_assert_eq!(text.as_bytes(), &data);
        }

        #[test]
        fn any_bytes_give_records_or_reasons(block in proptest::collection::vec(prop_oneof![
            Just(b'{'), Just(b'}'), Just(b'"'), Just(b'\n'), Just(b'\\'), Just(b':'), Just(b't'), any::<u8>()
        ], 0..300), end: bool) {
            let records = read(&block, end, &columns(Some("t"), &["x"])).unwrap();
            prop_assert!(records.consumed <= block.len());
            prop_assert_eq!(records.len() + 1, records.offsets.len());
            prop_assert!(std::str::from_utf8(&records.data).is_ok());
        }
    }
}
