//! Units of templates, words and the separators between them, and what consists of several units.
//!
//! - a *unit* is a word with the wildcards in it, a bracket or quote, a leader (`.....`), or separators;
//! - a *field* is one value of several units: a call `LOCAL(0)`, a list `a,b`, the contents of brackets or quotes, or the
//!   rest of a sentence behind a colon;
//! - a *structure* is one value as a programming language prints it: `{'a': 1}`, `['a', 'b']`, `Point(x=1, y=2)`, or a
//!   distinguished name: `uid=ann,dc=org`;
//! - a *part* is a blank and the brackets after it, which other lines may lack;
//! - *pairs* are `key=value`, in any order.
//!
//! The merge and the matching of templates share these definitions. All depend on the template alone.

use std::collections::HashMap;
use std::ops::Range;

use crate::kinds::{self, Kind};
use crate::lines::is_between;
use crate::templates::{self, Element, WILDCARD};

/// Number of plain words before a colon from which on the rest of a line may be a variable.
const SENTENCE: usize = 3;
/// Maximum number of units of a field.
pub(crate) const FIELD: usize = 64;
/// The class of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// An empty value: between brackets or quotes, or after `=`.
    Empty,
    /// Separators, leaders and other words without letters and digits.
    Between,
    /// An optional part.
    Optional,
    /// Capital letters: a state or a constant.
    Capitals,
    /// Letters.
    Plain,
    /// A word that contains symbols or digits.
    Value,
    /// A word that contains a wildcard.
    Mixed,
    /// A single wildcard.
    Wildcard,
}

#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) text: Box<[u8]>,
    pub(crate) class: Class,
    pub(crate) hash: u64,
}

/// Interned units; wildcards of all types are equal.
#[derive(Default)]
pub(crate) struct Units {
    pub(crate) all: Vec<Unit>,
    positions: HashMap<Box<[u8]>, u32>,
}

pub(crate) const ANY: [u8; 2] = [WILDCARD, Kind::Text as u8];
/// An optional part; not equal to the other wildcards.
pub(crate) const OPTIONAL: [u8; 2] = [WILDCARD, Kind::Optional as u8];

impl Units {
    /// Return the key of a unit: repeated blanks are collapsed, and all wildcards get the same type.
    fn key(text: &[u8]) -> Vec<u8> {
        let mut plain = Vec::with_capacity(text.len());
        for (_, element) in templates::elements(text) {
            match element {
                Element::Literal(b' ') if plain.last() == Some(&b' ') => (),
                Element::Literal(byte) => templates::push_literal(&mut plain, &[byte]),
                Element::Wildcard(Kind::Optional) => plain.extend_from_slice(&OPTIONAL),
                Element::Wildcard(_) => plain.extend_from_slice(&ANY),
            }
        }
        plain
    }

    /// Return the id of a unit, if it is interned, and its class.
    pub(crate) fn find(&self, text: &[u8]) -> (Option<u32>, Class) {
        let plain = Self::key(text);
        match self.positions.get(&*plain) {
            Some(&position) => (Some(position), self.class(position)),
            None => (None, classify_unit(&plain)),
        }
    }

    /// Return the id of a unit, interning it if necessary.
    pub(crate) fn position(&mut self, text: &[u8]) -> u32 {
        let plain = Self::key(text);
        if let Some(&position) = self.positions.get(&*plain) {
            return position;
        }
        let position = self.all.len() as u32;
        let unit = Unit { class: classify_unit(&plain), hash: templates::hash(&plain), text: plain.clone().into() };
        self.all.push(unit);
        self.positions.insert(plain.into(), position);
        position
    }

    pub(crate) fn class(&self, position: u32) -> Class {
        self.all[position as usize].class
    }
}

pub(crate) fn classify_unit(text: &[u8]) -> Class {
    if text.is_empty() {
        Class::Empty
    } else if text == ANY {
        Class::Wildcard
    } else if text == OPTIONAL {
        Class::Optional
    } else if memchr::memmem::find(text, &ANY).is_some() {
        Class::Mixed
    } else if text.iter().all(|&byte| is_between(byte) || b".!?".contains(&byte))
        || (text.len() > 1 && text.iter().all(u8::is_ascii_punctuation))
    {
        Class::Between
    } else if text.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_') && text.len() > 1 {
        Class::Capitals
    } else if text.iter().all(|byte| byte.is_ascii_alphabetic() || *byte >= 128) {
        Class::Plain
    } else {
        Class::Value
    }
}

/// Return the type of a unit that is a single wildcard; None for other units.
pub(crate) fn wildcard_kind(unit: &[u8]) -> Option<Kind> {
    match *unit {
        [WILDCARD, kind] => Kind::numbered(kind),
        _ => None,
    }
}

/// Return true if a wildcard of this type accepts words without a type. The merge assigns such a type to every
/// wildcard that does.
pub(crate) fn is_open(kind: Kind) -> bool {
    kind.covers(Kind::Word) || matches!(kind, Kind::Token | Kind::Host)
}

/// Bytes before a quote that opens.
const OPENING: &[u8] = b" \t=:,([{<*";
/// Brackets and quotes: units of their own.
const BRACKETS: &[u8] = b"()[]{}<>\"'`";

/// Return the ranges of the units of a template: words, brackets, quotes, leaders, optional parts, and the separators
/// between them.
pub(crate) fn split_units(template: &[u8]) -> Vec<Range<usize>> {
    let mut ends = Vec::new();
    let mut at = 0;
    let is_optional = |at: usize| template[at..].starts_with(&OPTIONAL);
    while at < template.len() {
        let start = at;
        if template[at] != WILDCARD && is_between(template[at]) {
            let mut pushed = start;
            while at < template.len() && template[at] != WILDCARD && is_between(template[at]) {
                let byte = template[at];
                if BRACKETS.contains(&byte) && at > pushed {
                    ends.push(at);
                }
                at += 1;
                let empty = is_empty(byte, template.get(at).copied());
                if empty || BRACKETS.contains(&byte) {
                    ends.push(at);
                    pushed = at;
                }
                if empty {
                    ends.push(at);
                }
            }
            if pushed == at {
                continue;
            }
        } else if is_optional(at) {
            at += 2;
        } else {
            while at < template.len() && !is_optional(at) && (template[at] == WILDCARD || !is_between(template[at])) {
                let leader = leader_length(&template[at..]);
                if leader > 0 && at > start {
                    ends.push(at);
                }
                at += match leader {
                    0 if template[at] == WILDCARD => 2,
                    0 => 1,
                    _ => leader,
                };
                if leader > 0 && at < template.len() {
                    ends.push(at);
                }
            }
            at = at.min(template.len());
            // Sentence punctuation is not part of a word, nor is a backslash that escapes a quote.
            let escapes = template.get(at) == Some(&b'"');
            let first = ends.last().copied().unwrap_or(0).max(start);
            let wildcard_end = template[first..at]
                .iter()
                .rposition(|&byte| byte == WILDCARD)
                .map_or(first, |position| first + position + 2);
            let mut end = at;
            while end > wildcard_end && (b".!?".contains(&template[end - 1]) || (escapes && template[end - 1] == b'\\'))
            {
                end -= 1;
            }
            if end > first && end < at {
                ends.push(end);
            }
        }
        if ends.last() != Some(&at) {
            ends.push(at);
        }
    }
    let mut start = 0;
    ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect()
}

/// Return the length of the leader at the start: two or more dots, or three or more of another sign, in a word.
fn leader_length(bytes: &[u8]) -> usize {
    let min = match bytes[0] {
        b'.' => 2,
        b'-' | b'_' | b'*' | b'#' | b'~' => 3,
        _ => return 0,
    };
    let length = bytes.iter().take_while(|&&byte| byte == bytes[0]).count();
    if length >= min { length } else { 0 }
}

/// Return true if there is an empty value between these two bytes, as in `""` or `=,`.
fn is_empty(before: u8, after: Option<u8>) -> bool {
    match (before, after) {
        (b'(', Some(b')')) | (b'[', Some(b']')) | (b'\'', Some(b'\'')) | (b'"', Some(b'"')) => true,
        (b'=', after) => matches!(after, None | Some(b' ' | b',' | b';' | b')' | b']' | b'}')),
        _ => false,
    }
}

/// A field of several units.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) units: Range<usize>,
    pub(crate) place: Place,
}

/// What a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A word and the brackets after it, or words with commas between them.
    Word,
    /// Brackets and their contents; only for text that is a variable elsewhere.
    Whole,
    /// The contents of brackets or quotes.
    Enclosed,
    /// The rest of a line behind a colon.
    Rest,
}

/// Return the fields of several units: contents of brackets and quotes, and calls, a word and the brackets after it.
pub(crate) fn find_fields<'a>(
    count: usize,
    class: impl Fn(usize) -> Class,
    text: impl Fn(usize) -> &'a [u8],
) -> Vec<Field> {
    let mut result = Vec::new();
    let is_word = |at: usize| at < count && !matches!(class(at), Class::Between | Class::Optional | Class::Empty);
    let mut listed = 0;
    for at in 0..count {
        // A list: words with a comma and no blank between them.
        let mut last = at;
        while at >= listed && is_word(last) && last + 1 < count && text(last + 1) == b"," && is_word(last + 2) {
            last += 2;
        }
        if last > at {
            result.push(Field { units: at..last + 1, place: Place::Word });
            listed = last + 1;
        }
        let Some(end) = close(count, at, &text) else { continue };
        if end - at > 3 {
            result.push(Field { units: at + 1..end - 1, place: Place::Enclosed });
        }
        let quote = matches!(text(at), b"\"" | b"'" | b"`");
        if at == 0
            || quote
            || !is_word(at - 1)
            || !(at..end).any(|at| matches!(class(at), Class::Wildcard | Class::Mixed))
        {
            continue;
        }
        result.push(Field { units: at - 1..end, place: Place::Word });
    }
    result.extend(find_rest(count, class, text));
    result
}

/// Return the words behind the last colon of the first line, if a sentence with a variable is before it.
fn find_rest<'a>(count: usize, class: impl Fn(usize) -> Class, text: impl Fn(usize) -> &'a [u8]) -> Option<Field> {
    let end = (0..count).find(|&at| text(at).contains(&b'\n')).unwrap_or(count);
    let start = (0..end).rev().find(|&at| text(at) == b": ")? + 1;
    let plain = (0..start).filter(|&at| class(at) == Class::Plain).count();
    let variable = (0..start).any(|at| matches!(class(at), Class::Wildcard | Class::Mixed));
    (start + 1 < end && plain >= SENTENCE && variable).then_some(Field { units: start..end, place: Place::Rest })
}

/// Return the end of the brackets or quotes that open at a unit. The quotes of a message at the start of a line, with
/// pairs after it, do not count: `"Starting" pod="a"`; nor do those of messages after their key, `msg="Starting"`, and of
/// keys and messages of JSON: `{"msg": "Starting"}`.
pub(crate) fn close<'a>(count: usize, at: usize, text: &impl Fn(usize) -> &'a [u8]) -> Option<usize> {
    let open = text(at);
    let close: &[u8] = match open {
        b"(" => b")",
        b"[" => b"]",
        b"{" => b"}",
        b"<" => b">",
        b"\"" | b"'" | b"`" => {
            // A quote after an empty value closes it.
            let before = at.checked_sub(1).map_or(b' ', |before| text(before).last().copied().unwrap_or(0));
            if !OPENING.contains(&before) {
                return None;
            }
            open
        }
        _ => return None,
    };
    let mut depth = 1;
    for next in at + 1..count.min(at + FIELD) {
        let unit = if is_escaped(next, text) { b"" } else { text(next) };
        if unit == close {
            depth -= 1;
        } else if unit == open {
            depth += 1;
        }
        if depth == 0 {
            let mark = |at: usize| text(at).trim_ascii();
            let starts = open == b"\"" && at > 0 && matches!(mark(at - 1), b"{" | b",");
            let is_key = starts && next + 1 < count && mark(next + 1).starts_with(b":");
            let message =
                at == 0 && open == b"\"" && next + 3 < count && text(next + 1) == b" " && text(next + 3) == b"=";
            return (!message && !is_key && !is_json_message(at, text) && !follows_message_key(at, text))
                .then_some(next + 1);
        }
    }
    None
}

/// Return true for what follows `key=` with the key of a message.
pub(crate) fn follows_message_key<'a>(at: usize, text: &impl Fn(usize) -> &'a [u8]) -> bool {
    at > 1 && text(at - 1) == b"=" && is_message(text(at - 2))
}

/// Return true for the quote before the text of a message in JSON.
pub(crate) fn is_json_message<'a>(at: usize, text: &impl Fn(usize) -> &'a [u8]) -> bool {
    let is = |at: usize, mark: &[u8]| text(at).trim_ascii() == mark;
    at > 3
        && is(at, b"\"")
        && is(at - 1, b":")
        && is(at - 2, b"\"")
        && is(at - 4, b"\"")
        && is_message_text(text(at - 3))
}

/// Return true for a double quote after a backslash.
fn is_escaped<'a>(at: usize, text: &impl Fn(usize) -> &'a [u8]) -> bool {
    text(at) == b"\"" && at > 0 && text(at - 1).ends_with(b"\\")
}

/// Return the end of the brackets and quotes that open at each unit, 0 for other units. Brackets in quotes do not count.
fn find_ends<'a>(count: usize, text: &impl Fn(usize) -> &'a [u8]) -> Vec<usize> {
    const QUOTES: [&[u8]; 3] = [b"\"", b"'", b"`"];
    let kind = |at: usize| QUOTES.iter().position(|&quote| quote == text(at) && !is_escaped(at, text));
    let before = |at: usize| at.checked_sub(1).and_then(|before| text(before).last().copied()).unwrap_or(b' ');
    let after = |at: usize| if at < count { text(at).first().copied().unwrap_or(b' ') } else { b' ' };
    // The unit after the next quote that may close, for each kind of quote.
    let mut next = vec![[0; 3]; count + 1];
    for at in (0..count).rev() {
        next[at] = next[at + 1];
        if let Some(kind) = kind(at).filter(|_| b" \t\n,;:.)]}>".contains(&after(at + 1))) {
            next[at][kind] = at + 1;
        }
    }
    let opens = |at: usize| OPENING.contains(&before(at)) || (at > 0 && is_prefix(text(at - 1)));
    let (mut ends, mut open, mut at) = (vec![0; count], Vec::new(), 0);
    while at < count {
        if let Some(kind) = kind(at) {
            let end = next[at + 1][kind];
            if end > 0 && opens(at) {
                ends[at] = end;
                at = end;
                continue;
            }
        }
        let start: &[u8] = match text(at) {
            b"(" | b"[" | b"{" => {
                open.push(at);
                b""
            }
            b"<" => {
                if at + 1 < count && classify_unit(text(at + 1)) != Class::Between {
                    open.push(at);
                }
                b""
            }
            b")" => b"(",
            b"]" => b"[",
            b"}" => b"{",
            b">" => b"<",
            _ => b"",
        };
        // A `<` that does not close is a sign.
        while start != b"" && start != b"<" && open.last().is_some_and(|&last| text(last) == b"<") {
            open.pop();
        }
        if let Some(last) = open.pop_if(|last| text(*last) == start) {
            ends[last] = at + 1;
        }
        at += 1;
    }
    ends
}

/// Return true for the letter before the quotes of bytes and other special strings: `b'GET'`.
pub(crate) fn is_prefix(text: &[u8]) -> bool {
    matches!(text, b"b" | b"u" | b"r")
}

/// Return the structured values of a template, as programming languages print them: dictionaries, lists, tuples, bytes,
/// objects, calls and records; distinguished names; and three or more words with commas between them from a colon to the
/// end. A missing value or a call without arguments may stand for one. Cost: linear.
pub(crate) fn find_structures<'a>(
    count: usize,
    class: impl Fn(usize) -> Class,
    text: impl Fn(usize) -> &'a [u8],
) -> Vec<Range<usize>> {
    let ends = find_ends(count, &text);
    let end_at = |at: usize| ends.get(at).copied().filter(|&end| end > 0);
    let is_word = |at: usize| at < count && !matches!(class(at), Class::Between | Class::Optional | Class::Empty);
    let is = |at: usize, mark: &[u8]| at < count && text(at) == mark;
    let quotes = |at: usize| end_at(at).filter(|_| matches!(text(at), b"\"" | b"'"));
    // Next to a letter or a sign, a wildcard would be part of a word.
    let starts = |at: usize| at == 0 || text(at - 1).last().is_some_and(|byte| b" \t=:,([{<".contains(byte));
    let is_free = |end: usize| {
        let between = |byte: &u8| is_between(*byte) || b".!?".contains(byte);
        end == count || (class(end) == Class::Between && text(end).first().is_some_and(between))
    };
    // An element of a list that cannot be the first word of a sentence.
    let element_end = |at: usize| {
        if let Some(end) = end_at(at) {
            return Some(end);
        }
        if at >= count || class(at) == Class::Between {
            return None;
        }
        let call = end_at(at + 1).filter(|_| is(at + 1, b"(") || is_prefix(text(at)));
        call.or_else(|| matches!(class(at), Class::Wildcard | Class::Mixed | Class::Value).then_some(at + 1))
    };
    let ends_element = |at: usize| at < count && matches!(text(at).first(), Some(b',' | b']' | b'}' | b')'));
    let structure = |at: usize| -> Option<usize> {
        if !starts(at) {
            return None;
        }
        let first = || element_end(at + 1).filter(|&end| ends_element(end));
        match text(at) {
            // The values of a line that is an object are structures, not the line.
            b"{" => end_at(at).filter(|&end| at > 0 || end < count),
            b"[" => end_at(at).filter(|_| class(at + 1) == Class::Empty || first().is_some()),
            b"(" if is(at + 2, b")") && is_missing(text(at + 1)) => Some(at + 3),
            b"(" => end_at(at).filter(|_| first().is_some_and(|end| text(end).first() == Some(&b','))),
            b"<" => end_at(at).filter(|&end| end > at + 4 && is_word(at + 1)),
            prefix if is_prefix(prefix) => quotes(at + 1),
            word if is_word(at) && is_missing(word) => Some(at + 1),
            _ if is_word(at) && is(at + 1, b", ") && at > 0 && text(at - 1).ends_with(b": ") => {
                let mut end = at + 1;
                while is(end, b", ") && is_word(end + 1) {
                    end += 2;
                }
                (end == count && end > at + 4).then_some(end)
            }
            _ if is_word(at) && is(at + 1, b"(") => {
                let inside = at + 2;
                let named = is_word(inside) && is(inside + 1, b"=");
                let is_call = named || class(inside.min(count - 1)) == Class::Empty || element_end(inside).is_some();
                end_at(at + 1).filter(|_| is_call)
            }
            _ if is_word(at) && is(at + 1, b"{") => end_at(at + 1),
            // The object of a sentence, with its pairs: `Intent { act=VIEW }`.
            [b'A'..=b'Z', ..] if at > 0 && is_word(at) && is(at + 1, b" ") && is(at + 2, b"{") => {
                end_at(at + 2).filter(|&end| (at + 3..end).any(|at| is(at, b"=")))
            }
            _ if is_word(at) && is(at + 1, b"[") => {
                let starts = (is_word(at + 2) && is(at + 3, b"=")) || is(at + 2, b"'") || is(at + 2, b"\"");
                end_at(at + 1).filter(|&end| starts && (at + 3..end).any(|at| is(at, b"=")))
            }
            _ => None,
        }
    };
    let quoted = |at: usize| at > 0 && matches!(text(at - 1), b"\"" | b"'");
    // The last attribute of a name that was rejected: names from its other attributes on end where it does.
    let mut rejected = 0;
    let (mut result, mut at): (Vec<Range<usize>>, usize) = (Vec::new(), 0);
    while at < count {
        let mut name = None;
        if at == 0 || at > rejected || !text(at - 1).starts_with(b",") {
            let (end, last) = name_end(count, at, &is_word, &text);
            if starts(at) || quoted(at) {
                name = end;
                if end.is_none_or(|end| !is_free(end)) {
                    rejected = rejected.max(last);
                }
            }
        }
        match name.or_else(|| structure(at)).filter(|&end| is_free(end)) {
            Some(end) => {
                result.push(at..end);
                at = end;
            }
            None => at += 1,
        }
    }
    result
}

/// Return the end of the distinguished name (RFC 4514) that starts at a unit, such as `uid=ann,ou=people,dc=org`, and the
/// unit of its last attribute. A name has two or more attributes, one of them a common name, user, unit or domain.
/// Values other than the last may have blanks.
fn name_end<'a>(
    count: usize,
    at: usize,
    is_word: &impl Fn(usize) -> bool,
    text: &impl Fn(usize) -> &'a [u8],
) -> (Option<usize>, usize) {
    let is_one = |at: usize, names: &[&[u8]]| names.iter().any(|name| name.eq_ignore_ascii_case(text(at)));
    let main: [&[u8]; 4] = [b"cn", b"uid", b"ou", b"dc"];
    let other: [&[u8]; 7] = [b"o", b"l", b"st", b"c", b"street", b"serialNumber", b"emailAddress"];
    let is_key = |at: usize| at + 2 < count && text(at + 1) == b"=" && (is_one(at, &main) || is_one(at, &other));
    let (mut next, mut pairs, mut found) = (at, 0, false);
    while is_key(next) && is_word(next + 2) {
        (pairs, found) = (pairs + 1, found || is_one(next, &main));
        let mut end = next + 3;
        while end + 1 < count && text(end) == b" " && is_word(end + 1) {
            end += 2;
        }
        if end < count && matches!(text(end), b"," | b", ") && is_key(end + 1) {
            next = end + 1;
        } else {
            return ((pairs > 1 && found).then_some(next + 3), next);
        }
    }
    (None, next)
}

/// Return the end of a blank and the brackets after it that start at a unit: a part that may be missing.
pub(crate) fn part_end<'a>(count: usize, at: usize, text: impl Fn(usize) -> &'a [u8]) -> Option<usize> {
    let starts = at > 0 && at + 1 < count && text(at) == b" " && matches!(text(at + 1), b"(" | b"[");
    let end = if starts { close(count, at + 1, &text)? } else { return None };
    // Brackets in the middle of a word are not a part.
    let free = end == count || text(end).first().is_some_and(|byte| b" ,;:.".contains(byte));
    free.then_some(end)
}

/// Return true for words that stand for a missing value or a local address where others have a value.
pub(crate) fn is_missing(text: &[u8]) -> bool {
    let words: [&[u8]; 8] = [b"null", b"none", b"nil", b"nan", b"undefined", b"unknown", b"n/a", b"localhost"];
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Return the type of a wildcard for these units of a template; None if they are empty.
pub(crate) fn kind_of_units(bytes: &[u8]) -> Option<Kind> {
    if let Some(kind) = wildcard_kind(bytes) {
        return Some(kind);
    }
    if bytes.iter().any(|&byte| byte != WILDCARD && is_between(byte)) || split_units(bytes).len() > 1 {
        return Some(Kind::Text);
    }
    let kind = kinds::kind_of(bytes);
    let whole = !bytes.contains(&WILDCARD) && is_open(kind);
    (!bytes.is_empty()).then_some(if whole { kind } else { Kind::Name })
}

/// Return the range of bytes of consecutive units, which may be in another order in the template.
pub(crate) fn cover<T: Copy + Ord + Default>(spans: &[Range<T>], units: &Range<usize>) -> Range<T> {
    let last = |spans: &[Range<T>]| spans.iter().map(|span| span.end).max().unwrap_or_default();
    if units.is_empty() {
        let at = spans.get(units.start).map_or_else(|| last(spans), |span| span.start);
        return at..at;
    }
    let spans = &spans[units.clone()];
    spans.iter().map(|span| span.start).min().unwrap_or_default()..last(spans)
}

/// Consecutive pairs `key=value` with the same separator: their ranges of units.
pub(crate) type Pairs = Vec<Range<usize>>;

/// Return the runs of two or more pairs `key=value`.
pub(crate) fn find_pairs<'a>(
    count: usize,
    class: impl Fn(usize) -> Class,
    text: impl Fn(usize) -> &'a [u8],
) -> Vec<Pairs> {
    let is_word = |at: usize| at < count && !matches!(class(at), Class::Between | Class::Optional | Class::Empty);
    let pair = |at: usize| {
        if !is_word(at) || at + 2 >= count || text(at + 1) != b"=" {
            return None;
        }
        value_end(count, at + 2, &is_word, &text)
    };
    let (mut result, mut at) = (Vec::new(), 0);
    while at < count {
        let mut pairs: Pairs = Vec::new();
        let mut next = at;
        while let Some(end) = pair(next) {
            pairs.push(next..end);
            let between = pairs.first().filter(|_| pairs.len() > 1).map(|first| text(first.end));
            let goes_on = end + 1 < count
                && matches!(text(end), b" " | b", " | b";" | b",")
                && between.is_none_or(|mark| mark == text(end));
            if !goes_on {
                break;
            }
            next = end + 1;
        }
        at = pairs.last().map_or(at, |last| last.end).max(at + 1);
        if pairs.len() > 1 {
            result.push(pairs);
        }
    }
    result
}

/// Return the end of the value that starts at a unit: brackets, quotes, a word, or a call.
pub(crate) fn value_end<'a>(
    count: usize,
    at: usize,
    is_word: &impl Fn(usize) -> bool,
    text: &impl Fn(usize) -> &'a [u8],
) -> Option<usize> {
    if let Some(end) = close(count, at, text) {
        return Some(end);
    }
    if at >= count || (!is_word(at) && !text(at).is_empty()) {
        return None;
    }
    let call = at + 1 < count && matches!(text(at + 1), b"(" | b"{" | b"[");
    if call && !text(at).is_empty() { close(count, at + 1, text) } else { Some(at + 1) }
}

/// Return the words between blanks that are no plain words: units without a blank between them, without `key=` and the
/// brackets, quotes and punctuation around them.
pub(crate) fn find_chunks<'a>(
    count: usize,
    class: impl Fn(usize) -> Class,
    text: impl Fn(usize) -> &'a [u8],
) -> Vec<Range<usize>> {
    let is_word = |at: usize| !matches!(class(at), Class::Between | Class::Optional | Class::Empty);
    let ends_chunk = |at: usize| {
        class(at) == Class::Optional || (class(at) == Class::Between && text(at).iter().any(u8::is_ascii_whitespace))
    };
    let (mut result, mut at): (Vec<Range<usize>>, usize) = (Vec::new(), 0);
    while at < count {
        let limit = (at..count).find(|&end| ends_chunk(end)).unwrap_or(count);
        let start = (at..limit).rev().find(|&unit| text(unit) == b"=").map_or(at, |equals| equals + 1);
        let first = (start..limit).find(|&unit| is_word(unit));
        let last = (start..limit).rev().find(|&unit| is_word(unit));
        if let (Some(first), Some(last)) = (first, last)
            && (first < last || !matches!(class(first), Class::Plain | Class::Capitals))
        {
            result.push(first..last + 1);
        }
        at = limit + 1;
    }
    result
}

/// Return the values of pairs. After `key=`, except the last one of a line if no comma or bracket, or less than two pairs
/// and one blank, are before its key: that may be the object of the sentence; a value before a comma, a semicolon or a closing bracket may have blanks. And after
/// `key: `, if commas are before two such pairs or more.
pub(crate) fn find_keyed<'a>(
    count: usize,
    class: impl Fn(usize) -> Class,
    text: impl Fn(usize) -> &'a [u8],
    is_one_blank: impl Fn(usize) -> bool,
) -> Vec<Range<usize>> {
    let is_word = |at: usize| at < count && !matches!(class(at), Class::Between | Class::Optional | Class::Empty);
    let (mut result, mut at): (Vec<Range<usize>>, usize) = (Vec::new(), 1);
    while at < count {
        let keyed = text(at) == b"=" && is_word(at - 1) && !is_message(text(at - 1));
        let Some(mut end) = keyed.then(|| value_end(count, at + 1, &is_word, &text)).flatten() else {
            at += 1;
            continue;
        };
        let mut wide = end;
        while wide + 1 < count && class(wide) == Class::Between && text(wide).starts_with(b" ") && is_word(wide + 1) {
            wide += 2;
        }
        if wide < count && text(wide).first().is_some_and(|byte| b",;)]}".contains(byte)) {
            end = wide;
        }
        let is_value = at < 2
            || text(at - 2).first().is_some_and(|byte| b",;([{".contains(byte))
            || (result.len() > 1 && is_one_blank(at - 2));
        if end < count || is_value {
            result.push(at + 1..end);
        }
        at = end.max(at + 1);
    }
    // Two pairs `key: value` or more after commas, also with several words in a key or value.
    let commas: Vec<usize> = (0..count).filter(|&at| text(at) == b", ").chain([count]).collect();
    let colon = |part: &[usize]| (part[0] + 1..part[1]).rev().find(|&at| text(at) == b": ");
    let pairs = commas.windows(2).filter_map(|part| colon(part).map(|colon| (colon, part[1])));
    let pairs: Vec<(usize, usize)> = pairs.filter(|&(colon, end)| colon + 1 < end).collect();
    if pairs.len() > 1 {
        let values = pairs.into_iter().filter(|&(colon, _)| !is_message(text(colon - 1)));
        result.extend(values.map(|(colon, end)| colon + 1..end));
        result.sort_unstable_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        result.dedup_by(|next, range| next.start < range.end);
    }
    result
}

/// Return true for keys whose value is the text of a message, or its level.
fn is_message_text(key: &[u8]) -> bool {
    let keys: [&[u8]; 6] = [b"msg", b"message", b"event", b"level", b"lvl", b"severity"];
    keys.iter().any(|name| name.eq_ignore_ascii_case(key))
}

/// Return true for keys whose value is the message of a line, or a part of it.
pub(crate) fn is_message(key: &[u8]) -> bool {
    let keys: [&[u8]; 8] = [b"msg", b"message", b"event", b"action", b"level", b"lvl", b"severity", b"type"];
    keys.iter().any(|name| name.eq_ignore_ascii_case(key))
}

/// Return the order of units in which pairs are sorted by key; None if they are sorted.
pub(crate) fn sort_pairs<'a>(count: usize, pairs: &[Pairs], text: impl Fn(usize) -> &'a [u8]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = Vec::with_capacity(count);
    let mut sorted = true;
    for run in pairs {
        order.extend(order.len()..run[0].start);
        let mut ranked: Vec<&Range<usize>> = run.iter().collect();
        ranked.sort_by_key(|pair| text(pair.start));
        sorted &= ranked.iter().zip(run).all(|(a, b)| **a == *b);
        for (at, pair) in ranked.into_iter().enumerate() {
            if at > 0 {
                order.push(run[0].end);
            }
            order.extend(pair.clone());
        }
    }
    // Each separator is equal to the first one.
    order.extend(order.len()..count);
    (!sorted).then_some(order)
}

/// Return the offsets of the wildcards of a template.
pub(crate) fn wildcard_offsets(template: &[u8]) -> Vec<u32> {
    let offset = |(at, element)| matches!(element, Element::Wildcard(_)).then_some(at as u32);
    templates::elements(template).filter_map(offset).collect()
}
