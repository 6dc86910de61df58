//! Parts of templates and patterns: their bytes, matching of slots, and the resemblance of words to values.

use crate::kinds::{self, Kind};
use crate::templates::{Element, WILDCARD, elements};

use super::canonical::unescaped;
use super::scan::{BAD, ODD, is_version_segment, suffix_at};

/// Return the bytes of a slot with one wildcard between a prefix and a suffix.
pub fn slot(before: &[u8], kind: Kind, behind: &[u8]) -> Vec<u8> {
    let mut bytes = before.to_vec();
    bytes.extend([WILDCARD, kind as u8]);
    bytes.extend_from_slice(behind);
    bytes
}

/// Return true if the part has no wildcard and no mark.
pub fn is_literal(part: &[u8]) -> bool {
    memchr::memchr(WILDCARD, part).is_none() && !is_marked(part)
}

/// Return true if the part is odd or bad.
pub fn is_marked(part: &[u8]) -> bool {
    part == ODD || part == BAD
}

/// Return the wildcards of a part, in order.
pub fn wildcards(part: &[u8]) -> impl Iterator<Item = (usize, Kind)> {
    memchr::memchr_iter(WILDCARD, part).filter_map(|at| Some((at, Kind::numbered(*part.get(at + 1)?)?)))
}

/// Return the type of a part that is a single wildcard; None for other parts.
pub fn only_wildcard(part: &[u8]) -> Option<Kind> {
    match part {
        [WILDCARD, number] => Kind::numbered(*number),
        _ => None,
    }
}

/// Return the part with percent-escapes decoded.
pub fn decoded(part: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(part.len());
    let mut at = 0;
    while at < part.len() {
        let escape = part.get(at + 1..at + 3).filter(|_| part[at] == b'%');
        if let Some(value) = escape.and_then(|pair| unescaped(pair[0], pair[1])) {
            out.push(value);
            at += 3;
        } else {
            out.push(part[at]);
            at += 1;
        }
    }
    out
}

/// Return the type of a part, from its wildcards and literals.
pub fn kind_of(part: &[u8]) -> Kind {
    if let Some(kind) = only_wildcard(part) {
        return kind;
    }
    if is_marked(part) {
        return Kind::Text;
    }
    let mut plain = Vec::with_capacity(part.len());
    for (_, element) in elements(part) {
        match element {
            Element::Literal(byte) => plain.push(byte),
            // Substitute typical characters for a piece, then classify the text.
            Element::Wildcard(Kind::Int) => plain.extend(b"0"),
            Element::Wildcard(Kind::Date | Kind::Uuid | Kind::Hex) => plain.extend(b"0a"),
            Element::Wildcard(Kind::Version) => plain.extend(b"1.2.3"),
            Element::Wildcard(Kind::Word) => plain.extend(b"a"),
            Element::Wildcard(Kind::Slug) => plain.extend(b"a-a"),
            Element::Wildcard(Kind::Text) => return Kind::Text,
            Element::Wildcard(_) => plain.extend(b"aA"),
        }
    }
    match kinds::kind_of(&decoded(&plain)) {
        // A substitute is not a value.
        Kind::Hex | Kind::Quantity | Kind::Token | Kind::Host if plain != part => Kind::Name,
        Kind::Hex if !plain.iter().any(u8::is_ascii_digit) => Kind::Word,
        kind => kind,
    }
}

/// Return true if a variable of type `wide` accepts a value of type `narrow`.
pub fn takes(wide: Kind, narrow: Kind) -> bool {
    wide.covers(narrow)
        || match wide {
            Kind::Slug => matches!(narrow, Kind::Date | Kind::Hex | Kind::Uuid),
            Kind::Name => matches!(narrow, Kind::Float | Kind::Ip | Kind::File | Kind::DateTime),
            Kind::Token => matches!(narrow, Kind::Int | Kind::Uuid),
            _ => false,
        }
}

/// Return true if a slot accepts a part.
pub fn fits(slot: &[u8], part: &[u8]) -> bool {
    if slot == part {
        return true;
    }
    let mut result = wildcards(slot);
    let Some((at, kind)) = result.next() else { return false };
    if result.next().is_none() {
        let (before, behind) = (&slot[..at], &slot[at + 2..]);
        let Some(inner) = part.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind)) else { return false };
        return !inner.is_empty() && value_fits(kind, inner);
    }
    aligned(slot, part)
}

/// Return true if a part has a wildcard that is not text.
pub fn has_type(part: &[u8]) -> bool {
    wildcards(part).any(|(_, kind)| !kind.is_textual())
}

/// Return true if a slot is one number, hash, date or address.
pub fn is_precise(slot: &[u8]) -> bool {
    only_wildcard(slot).is_some_and(|kind| !kind.is_textual())
}

/// Return true if a variable accepts a part; free text accepts odd parts.
pub fn value_fits(kind: Kind, inner: &[u8]) -> bool {
    if inner == BAD {
        return false;
    }
    if inner == ODD {
        return matches!(kind, Kind::Text | Kind::Tail);
    }
    let narrow = kind_of(inner);
    takes(kind, narrow)
        || kind == Kind::Hex && inner.len() >= 4 && inner.iter().all(u8::is_ascii_hexdigit)
        || kind == Kind::Token
            && (inner.len() >= 10 || wildcards(inner).any(|(_, kind)| kind == Kind::Token))
            && takes(Kind::Name, narrow)
}

/// Return true if both have the same literals, and each wildcard of the slot accepts that of the part.
fn aligned(slot: &[u8], part: &[u8]) -> bool {
    let mut rest = elements(part).map(|(_, element)| element);
    let fits = |(_, element)| match (element, rest.next()) {
        (Element::Literal(byte), Some(Element::Literal(other))) => byte == other,
        (Element::Wildcard(wide), Some(Element::Wildcard(narrow))) => takes(wide, narrow),
        _ => false,
    };
    elements(slot).all(fits) && rest.next().is_none()
}

/// Names of actions or views, which are rarely values.
const ACTIONS: &str = include_str!("../../data/url-actions.txt");

/// Return true if the word is the name of an action or a view.
pub fn is_action(word: &[u8]) -> bool {
    kinds::is_listed(&word.to_ascii_lowercase(), ACTIONS)
}

/// Return true if the word is an English plural, the name of a collection.
pub fn is_plural(word: &[u8]) -> bool {
    word.len() > 3
        && word.last().is_some_and(|byte| *byte | 32 == b's')
        && ![&b"ss"[..], b"us", b"is", b"ws", b"js", b"os", b"cs"]
            .iter()
            .any(|end| word.to_ascii_lowercase().ends_with(end))
}

/// Singular names of segments that usually precede a value.
const HOLDERS: &str = include_str!("../../data/url-holders.txt");

/// Return true if the word usually precedes a value: `/tag/`, `/users/`, `/wiki/`.
pub fn is_holder(word: &[u8]) -> bool {
    is_plural(word) || kinds::is_listed(&word.to_ascii_lowercase(), HOLDERS)
}

/// Return true if the word may be a language code: `de`, `pt-BR`, `zh_Hans`.
pub fn is_language(word: &[u8]) -> bool {
    const CODES: &str = " ar az bg bn ca cs da de el en es et eu fa fi fr gl he hi hr hu hy id is it ja ka kk ko lt lv mk ms nb nl nn no \
 pl pt ro ru sk sl sq sr sv sw ta te th tr uk ur uz vi zh ";
    let is_known = |code: &[u8]| code.len() == 2 && kinds::is_listed(&code.to_ascii_lowercase(), CODES);
    match word.len() {
        2 => is_known(word) && word.iter().all(u8::is_ascii_lowercase),
        5 | 7 => {
            is_known(&word[..2])
                && matches!(word[2], b'-' | b'_')
                && word[3..].iter().all(u8::is_ascii_alphabetic)
                && (word.len() == 7
                    || word[3..].iter().all(u8::is_ascii_uppercase)
                    || word[2] == b'-' && word[3..].iter().all(u8::is_ascii_lowercase) && word.len() == 5)
        }
        _ => false,
    }
}

/// Return the resemblance of a word to a value rather than to a name chosen by a programmer, 0 to 1.
pub fn valueness(part: &[u8]) -> f64 {
    let stem = &part[..suffix_at(part).unwrap_or(part.len())];
    if is_action(stem) {
        return 0.0;
    }
    let count = |test: fn(&u8) -> bool| stem.iter().filter(|byte| test(byte)).count();
    let (digits, upper, lower) =
        (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase));
    let hyphens = count(|byte| *byte == b'-');
    let marks =
        count(|byte| matches!(byte, b'_' | b'.' | b',' | b'(' | b')' | b'!' | b'\'' | b'~' | b'@' | b':' | b'*'));
    if stem.contains(&b'%') || stem.contains(&b'+') {
        1.0
    } else if hyphens >= 2 || stem.len() > 24 || hyphens == 1 && wildcards(stem).next().is_some() {
        0.9
    } else if digits > 0 || wildcards(stem).next().is_some() {
        0.75
    } else if marks > 0 && upper > 0 {
        0.8
    } else if hyphens == 1 {
        0.5
    } else if marks > 0 {
        0.45
    } else if upper > 0 && lower > 0 {
        if stem[0].is_ascii_uppercase() && upper == 1 { 0.45 } else { 0.2 }
    } else if stem.len() == 1 {
        0.4
    } else if is_plural(stem) {
        0.15
    } else {
        0.3
    }
}

/// Return true if the merge may turn the part into a variable because of the number of values: its letters have no
/// type.
pub fn is_word(part: &[u8]) -> bool {
    !is_marked(part) && only_wildcard(part).is_none() && !is_version_segment(part)
}

/// The form of a part. Siblings of one form are judged together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// A part below another one.
    Any,
    /// A first segment that is a word, or two.
    Word,
    /// A first segment of three words or more, as titles have.
    Title,
    /// A part that starts with a sign, as in `@name`.
    Sign(u8),
}

impl Form {
    /// Return true for parts that scanners try.
    pub const fn is_plain(self) -> bool {
        matches!(self, Self::Any | Self::Word)
    }
}

/// Return the form of a part; `first` is true for the first segment of a path.
pub fn form(part: &[u8], first: bool) -> Form {
    match part {
        [sign @ (b'@' | b'~' | b'$' | b'!' | b':'), _, ..] => Form::Sign(*sign),
        _ if !first => Form::Any,
        _ if memchr::memchr_iter(b'-', part).count() >= 2 => Form::Title,
        _ => Form::Word,
    }
}

/// Return true if a slot for the first segment accepts a part that fits: words with hyphens do not accept one word,
/// because scanners try words there.
pub fn fits_first(slot: &[u8], part: &[u8]) -> bool {
    slot == part || only_wildcard(slot) != Some(Kind::Slug) || part.contains(&b'-')
}

/// Return the frame of a name with whole numbers or dates: its words are replaced by `a`, as in `a_{int}`,
/// without the suffix.
pub fn frame(part: &[u8]) -> Option<Vec<u8>> {
    let stem = suffix_at(part).unwrap_or(part.len());
    let mut kinds = wildcards(part).map(|(_, kind)| kind).peekable();
    if is_marked(part) || only_wildcard(&part[..stem]).is_some() || kinds.peek().is_none() {
        return None;
    }
    if !kinds.all(|kind| matches!(kind, Kind::Int | Kind::Date)) {
        return None;
    }
    let mut frame = Vec::with_capacity(part.len());
    let mut letters = false;
    for (_, element) in elements(&part[..stem]) {
        match element {
            Element::Literal(byte) if byte.is_ascii_alphabetic() || byte == b'-' => {
                letters |= byte != b'-';
                if frame.last() != Some(&b'a') {
                    frame.push(b'a');
                }
            }
            Element::Literal(byte) => frame.push(byte),
            Element::Wildcard(kind) => frame.extend([WILDCARD, kind as u8]),
        }
    }
    letters.then_some(frame)
}

/// Return true for wildcards with short capitals around them, as in `AX-{int}`: codes, whose letters are values as
/// well.
pub fn is_code(part: &[u8]) -> bool {
    let stem = &part[..suffix_at(part).unwrap_or(part.len())];
    let (mut at, mut run, mut letters) = (0, 0, false);
    while at < stem.len() {
        match stem[at] {
            WILDCARD => {
                run = 0;
                at += 1;
            }
            b'A'..=b'Z' => {
                letters = true;
                run += 1;
            }
            b'0'..=b'9' | b'-' | b'_' => run = 0,
            _ => return false,
        }
        if run > 5 {
            return false;
        }
        at += 1;
    }
    letters && (wildcards(stem).next().is_some() || stem.iter().any(u8::is_ascii_digit))
}

/// Return a literal with its runs of digits as wildcards: `img042` becomes `img{int}`.
pub fn skeleton(part: &[u8]) -> Option<Vec<u8>> {
    let stem = suffix_at(part).unwrap_or(part.len());
    if !is_literal(part)
        || part.contains(&b'%')
        || !part[..stem].iter().any(u8::is_ascii_digit)
        || is_version_segment(part)
    {
        return None;
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut at = 0;
    let mut result = 0;
    while at < stem {
        if part[at].is_ascii_digit() {
            while at < stem && part[at].is_ascii_digit() {
                at += 1;
            }
            bytes.extend([WILDCARD, Kind::Int as u8]);
            result += 1;
        } else {
            bytes.push(part[at]);
            at += 1;
        }
    }
    bytes.extend_from_slice(&part[stem..]);
    (result <= 2 && bytes.iter().any(u8::is_ascii_alphabetic)).then_some(bytes)
}
