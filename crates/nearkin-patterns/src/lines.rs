//! Templates of log lines: one scan finds typed tokens and keeps the rest as literals.
//!
//! A line is split at blanks and at the separators of logs (`, ; ( ) [ ] { } < > " ' = |`) into *chunks*. A chunk of
//! letters is literal. Other chunks are checked against the types, narrow ones first:
//!
//! | chunk | template |
//! |---|---|
//! | times and dates, also across chunks: `Mon Jun 6 12:30:59 2005`, `2024-05-01 12:30:59,125` | `{datetime}`, `{date}`, `{time}` |
//! | addresses, UUIDs, hexadecimal and decimal numbers, with or without units: `10.0.0.1:80`, `0x1F`, `5.2 KB` | `{ip}`, `{uuid}`, `{hex}`, … |
//! | URLs and paths | `{url}`, `{path}` |
//! | codes of messages: `%LINK-3-UPDOWN:`, at the start of a line also `ORA-00942:` | literal |
//! | names with numbers in them: `blk_-16`, `node12`, `attempt_1445_0020_m_03` | letters are literal, numbers become wildcards: `blk_{int}`, `attempt_{name}` |
//! | `{int}`, `{ip}`, …: a variable of a pattern | the same wildcard, so that scanning a pattern returns it |
//!
//! There is no state: the template of a line depends on that line alone. Cost: about 300 ns for a line of 100 bytes.

use crate::batch::Batch;
use crate::kinds::{self, Kind};

/// Maximum number of bytes scanned per line; the rest of a longer line is one variable, and so are further lines.
pub const MAX_BYTES: usize = 16 << 10;

/// Reasons for skipping a line, by number.
pub const REASONS: [&str; 1] = ["empty"];

/// Return true for a separator of chunks.
const fn is_mark(byte: u8) -> bool {
    CLASS[byte as usize] == MARK
}

/// Classes of bytes: separators, digits, and bytes that make a chunk without digits worth checking.
const MARK: u8 = 1;
const DIGIT: u8 = 2;
const SLASH: u8 = 4;
const COLON: u8 = 8;
const AT: u8 = 16;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let separators = b" \t\r\n,;()[]{}<>\"'=|";
    let mut at = 0;
    while at < separators.len() {
        class[separators[at] as usize] = MARK;
        at += 1;
    }
    let mut digit = b'0';
    while digit <= b'9' {
        class[digit as usize] = DIGIT;
        digit += 1;
    }
    class[b'/' as usize] = SLASH;
    class[b'\\' as usize] = SLASH;
    class[b':' as usize] = COLON;
    class[b'@' as usize] = AT;
    class
};

/// Return true if a byte separates words of a template when templates are merged.
pub const fn is_between(byte: u8) -> bool {
    is_mark(byte) || byte == b':' || byte == b'`'
}

/// Scan one line into a batch.
pub fn scan(batch: &mut Batch, row: usize, line: &[u8]) {
    let trimmed = line.trim_ascii_end();
    if trimmed.is_empty() {
        batch.skip(row, 0);
        return;
    }
    // The lines after the first of a record, such as the frames of a stack trace, are one variable.
    let first = memchr::memchr(b'\n', trimmed).map_or(trimmed.len(), |end| end + 1);
    // So is what opens in the first one, such as an object of JSON.
    let opens =
        first < trimmed.len() && matches!(trimmed[..first - 1].trim_ascii_end(), [.., b' ' | b'=' | b':', b'{' | b'[']);
    let first =
        if opens { trimmed[..first].iter().rposition(|byte| b"{[".contains(byte)).unwrap_or(first) } else { first };
    let (head, rest) = trimmed.split_at(first.min(MAX_BYTES));
    Scanner { line: head, batch }.run();
    if !rest.is_empty() {
        batch.wildcard(Kind::Text, rest);
    }
    batch.close(row, line);
}

/// Return the type, start and end of a variable that is a word from `start` to `at` without digits or marks, or that
/// starts at `at`.
fn unmarked(line: &[u8], start: usize, at: usize) -> Option<(Kind, usize, usize)> {
    if start > 0 && line[start - 1] == b'=' && is_constant(&line[start..at]) {
        return Some((Kind::Word, start, at));
    }
    if let Some(end) = amount_end(line, start, at) {
        return Some((Kind::Quantity, start, end));
    }
    let day = named_day(line, start, at).map(|end| (Kind::DateTime, start, end));
    day.or_else(|| match line.get(at)? {
        b'<' => bound(line, at).map(|end| (Kind::Quantity, at, end)),
        b'[' => {
            let address = || address_end(line, at).map(|end| (Kind::Ip, at, end));
            numbers_end(line, at).map(|end| (Kind::Name, at, end)).or_else(address)
        }
        b'{' => written_wildcard(line, at).map(|(kind, end)| (kind, at, end)),
        _ => None,
    })
}

struct Scanner<'a, 'b> {
    line: &'a [u8],
    batch: &'b mut Batch,
}

impl Scanner<'_, '_> {
    fn run(&mut self) {
        let line = self.line;
        let (mut literal, mut at, mut written) = (0, 0, usize::MAX);
        while at < line.len() {
            // Separators and letters are literal up to the next chunk worth checking.
            let start = at;
            let mut seen = 0;
            while at < line.len() {
                let class = CLASS[usize::from(line[at])];
                if class == MARK {
                    break;
                }
                seen |= class;
                at += 1;
            }
            // A colon alone does not make a chunk worth checking.
            if seen & !COLON == 0 {
                if let Some((kind, from, end)) = unmarked(line, start, at) {
                    self.batch.literal(&line[literal..from]);
                    self.batch.wildcard(kind, &line[from..end]);
                    (literal, at, written) = (end, end, end);
                } else {
                    at += usize::from(at < line.len());
                }
                continue;
            }
            self.batch.literal(&line[literal..start]);
            // A path does not start in the middle of a word.
            at = self.chunk(start, at, if start == written { seen & !SLASH } else { seen });
            literal = at;
        }
        self.batch.literal(&line[literal..]);
    }

    /// Scan the chunk from `start` to `end`; return the position after it.
    fn chunk(&mut self, start: usize, end: usize, seen: u8) -> usize {
        let line = self.line;
        let quantity = || spaced_unit(line, start, end).map(|after| (Kind::Quantity, after));
        let several = || grouped_end(line, start, end).or_else(|| duration_end(line, start, end));
        let number = || quantity().or_else(|| several().map(|after| (Kind::Quantity, after)));
        let typed = if line[start].is_ascii_digit() { dated(line, start).or_else(number) } else { None };
        let has_scheme = seen & (SLASH | COLON) == SLASH | COLON;
        let url = || has_scheme.then(|| url_end(line, start, end)).flatten().map(|after| (Kind::Url, after));
        if let Some((kind, after)) = typed.or_else(url) {
            self.batch.wildcard(kind, &line[start..after]);
            return after;
        }
        if seen & SLASH != 0
            && let Some((from, after)) = path_end(line, start, end)
        {
            if from > start {
                self.part(start, from - 1);
                self.batch.literal(&line[from - 1..from]);
            }
            self.batch.wildcard(Kind::Path, &line[from..after]);
            return after;
        }
        // Sentence punctuation at the end is not part of a value.
        let inner = end - line[start..end].iter().rev().take_while(|byte| b".:!?*".contains(byte)).count();
        let word = &line[start..inner];
        let is_code = || line.get(inner) == Some(&b':') && is_message_code(word, start == 0);
        if seen & DIGIT != 0 && (is_http(word) || is_code()) {
            self.batch.literal(&line[start..inner]);
        } else if seen & DIGIT != 0 {
            self.token(start, inner);
        } else if seen & AT != 0 && inner > start && kinds::kind_of(&line[start..inner]) == Kind::Email {
            self.batch.wildcard(Kind::Email, &line[start..inner]);
        } else {
            self.batch.literal(&line[start..inner]);
        }
        self.batch.literal(&line[inner.max(start)..end]);
        end
    }

    /// Scan a token that has a digit.
    fn token(&mut self, start: usize, end: usize) {
        let token = &self.line[start..end];
        if token.is_empty() {
            return;
        }
        let kind = kinds::kind_of(token);
        let hex = kind != Kind::Hex || token.len() >= 6 || token.starts_with(b"0x") || token.starts_with(b"0X");
        if hex && !kind.is_textual() {
            self.batch.wildcard(kind, token);
            return;
        }
        // Split at colons, slashes and at-signs, and scan the parts as tokens.
        if let Some(cut) = token.iter().position(|byte| b":/@\\".contains(byte)) {
            self.part(start, start + cut);
            self.batch.literal(&token[cut..=cut]);
            self.part(start + cut + 1, end);
            return;
        }
        if ends_in_number(token) {
            self.batch.literal(token);
        } else {
            self.name(start, end);
        }
    }

    fn part(&mut self, start: usize, end: usize) {
        if self.line[start..end].iter().any(u8::is_ascii_digit) {
            self.token(start, end);
        } else {
            self.batch.literal(&self.line[start..end]);
        }
    }

    /// Scan a name with digits: letters are literal, digits become wildcards, and wildcards with at most one letter
    /// between them are joined.
    fn name(&mut self, start: usize, end: usize) {
        let line = self.line;
        let mut literal = start;
        let mut open: Option<(usize, usize)> = None;
        let mut at = start;
        while at < end {
            let from = at;
            while at < end && (line[at].is_ascii_alphanumeric() || line[at] >= 128) {
                at += 1;
            }
            if let Some(wildcard) = numbered(line, from, at, start) {
                open = match open {
                    // Join wildcards separated by punctuation and at most one letter.
                    Some((first, last))
                        if line[last..wildcard.0].iter().filter(|byte| byte.is_ascii_alphabetic()).count() <= 1 =>
                    {
                        Some((first, wildcard.1))
                    }
                    Some((first, last)) => {
                        self.flush(literal, first, last);
                        literal = last;
                        Some(wildcard)
                    }
                    None => Some(wildcard),
                };
            }
            at += usize::from(at < end);
        }
        if let Some((first, last)) = open {
            self.flush(literal, first, last);
            literal = last;
        }
        self.batch.literal(&line[literal..end]);
    }

    fn flush(&mut self, literal: usize, first: usize, last: usize) {
        self.batch.literal(&self.line[literal..first]);
        let value = &self.line[first..last];
        let kind = kinds::kind_of(value);
        self.batch.wildcard(if kind == Kind::Word { Kind::Name } else { kind }, value);
    }
}

/// Return true for a word that numbers a message, and so stands for its format: `%LINK-3-UPDOWN` (facility, severity and
/// mnemonic); at the start of a line also two capital letters or more and three to six digits: `ORA-00942`,
/// `WFLYSRV0025`.
pub(crate) fn is_message_code(word: &[u8], starts: bool) -> bool {
    let is_name = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    if let [b'%', facility @ ..] = word {
        let mut parts = facility.rsplitn(3, |&byte| byte == b'-');
        let (mnemonic, severity, facility) = (parts.next(), parts.next(), parts.next());
        return matches!(severity, Some([b'0'..=b'7']))
            && mnemonic.is_some_and(|name| name.len() > 1 && name.iter().all(is_name))
            && facility.is_some_and(|name| name.len() > 1 && name.iter().all(|byte| is_name(byte) || *byte == b'-'));
    }
    let letters = word.iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let rest = word[letters..].strip_prefix(b"-").unwrap_or(&word[letters..]);
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let severity = matches!(rest[digits..], [] | [b'A'..=b'Z']);
    starts && letters >= 2 && (3..=6).contains(&digits) && severity
}

/// Return true for a version of HTTP: `HTTP/1.1`.
pub(crate) fn is_http(word: &[u8]) -> bool {
    matches!(
        word,
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'3'] | [b'H', b'T', b'T', b'P', b'/', b'0'..=b'3', b'.', b'0'..=b'9']
    )
}

/// Return true if a name has one number of at most two digits directly after letters: `IPV6`, `eth0`, `log4j`. It is
/// kept literal; if it is a variable, the merge finds out from its siblings.
fn ends_in_number(token: &[u8]) -> bool {
    let Some(first) = token.iter().position(u8::is_ascii_digit) else { return true };
    let digits = token[first..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    first > 0
        && digits <= 2
        && token[first - 1].is_ascii_alphabetic()
        && !token[first + digits..].iter().any(u8::is_ascii_digit)
}

/// Return the wildcard in the letters and digits `from` to `end` of a name that starts at `start`: digits after
/// letters (`node12`), or all of it if digits come first or are mixed with letters. A minus after an underscore is a
/// sign.
fn numbered(line: &[u8], from: usize, end: usize, start: usize) -> Option<(usize, usize)> {
    let piece = &line[from..end];
    let first = piece.iter().position(u8::is_ascii_digit)?;
    let behind = piece[first..].iter().all(u8::is_ascii_digit);
    if first > 0 && behind {
        return Some((from + first, end));
    }
    if first > 0 {
        // `Brcm43xx`: letters, digits, then a short suffix.
        let tail = piece[first..].iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(0) + first;
        if piece[tail..].iter().all(|byte| !byte.is_ascii_digit()) && first >= 2 {
            return Some((from + first, from + tail));
        }
        return Some((from, end));
    }
    let signed = from >= start + 2 && line[from - 1] == b'-' && line[from - 2] == b'_';
    Some((from - usize::from(signed), end))
}

/// Return true for words that are always values after `=`.
fn is_constant(word: &[u8]) -> bool {
    let words: [&[u8]; 8] = [b"true", b"false", b"yes", b"no", b"null", b"none", b"nil", b"nan"];
    (2..=5).contains(&word.len()) && words.iter().any(|value| value.eq_ignore_ascii_case(word))
}

/// Return the end of an upper bound of a duration: `<1 sec`.
fn bound(line: &[u8], at: usize) -> Option<usize> {
    let rest = &line[at + 1..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unit = rest.get(digits + 1..).filter(|_| digits > 0 && rest[digits] == b' ')?;
    let length = unit.iter().take(4).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let units: [&[u8]; 5] = [b"sec", b"secs", b"ms", b"s", b"min"];
    units.contains(&&unit[..length]).then_some(at + digits + 2 + length)
}

/// Return the wildcard written at `at`, such as `{int}`, and its end.
fn written_wildcard(line: &[u8], at: usize) -> Option<(Kind, usize)> {
    let inner = &line[at + 1..line.len().min(at + 12)];
    let length = inner.iter().position(|&byte| byte == b'}')?;
    let kind = Kind::named(std::str::from_utf8(&inner[..length]).ok()?)?;
    Some((kind, at + length + 2))
}

/// Return the end of numbers and ranges in brackets directly after a name, which number it: `node[12-140,7]`.
fn numbers_end(line: &[u8], at: usize) -> Option<usize> {
    let length = line[at + 1..].iter().take_while(|byte| byte.is_ascii_digit() || b"-,".contains(byte)).count();
    let numbers = &line[at + 1..at + 1 + length];
    let is_list = numbers.windows(2).any(|pair| pair[0].is_ascii_digit() && !pair[1].is_ascii_digit());
    let named = at > 0 && line[at - 1].is_ascii_alphanumeric();
    (named && is_list && line.get(at + 1 + length) == Some(&b']')).then_some(at + length + 2)
}

/// Return the type and the end of a date, a time, or a date and a time at `start`.
fn dated(line: &[u8], start: usize) -> Option<(Kind, usize)> {
    let rest = &line[start..];
    let free = |end: usize| is_free(rest, end);
    if let Some(end) = month_between(rest) {
        return Some((Kind::DateTime, start + end));
    }
    // A date or time has a colon, hyphen, slash or dot after its first digits.
    let digits = rest.iter().take(5).take_while(|byte| byte.is_ascii_digit()).count();
    if !matches!(rest.get(digits), Some(b':' | b'-' | b'/' | b'.')) {
        return None;
    }
    if let Some(day) = kinds::date_length(rest) {
        if matches!(rest.get(day), Some(b' ' | b'T' | b't' | b'_' | b'-' | b':'))
            && let Some(time) = kinds::time_length(&rest[day + 1..])
        {
            let end = day + 1 + time;
            let end = end + kinds::zone_length(&rest[end..]);
            if free(end) {
                return Some((Kind::DateTime, start + end));
            }
        }
        return free(day).then_some((Kind::Date, start + day));
    }
    let time = kinds::time_length(rest)?;
    let end = time + kinds::zone_length(&rest[time..]);
    free(end).then_some((Kind::Time, start + end))
}

/// Return true if a token may end here: before a separator, or before the end of a sentence.
fn is_free(rest: &[u8], end: usize) -> bool {
    let mark = |at: usize| rest.get(at).is_none_or(|&byte| is_mark(byte));
    mark(end) || (b".:!?".contains(&rest[end]) && mark(end + 1))
}

/// Return the end of a date with a month name between numbers, and of the time after it: `17/May/2015:10:05:03 +0000`.
fn month_between(rest: &[u8]) -> Option<usize> {
    let digits = |at: usize| rest.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count();
    let day = digits(0);
    let mark = *rest.get(day).filter(|byte| (1..=2).contains(&day) && b"/- ".contains(byte))?;
    let year = day + 5;
    if !MONTHS.contains(&rest.get(day + 1..day + 4)?) || rest.get(day + 4) != Some(&mark) || digits(year) != 4 {
        return None;
    }
    let date = year + 4;
    let mut end = date;
    if let Some(time) = rest.get(end + 1..).and_then(kinds::time_length).filter(|_| b": T".contains(&rest[end])) {
        end += 1 + time;
        let blank = usize::from(rest.get(end) == Some(&b' '));
        let zone = rest.get(end + blank..).map_or(0, kinds::zone_length);
        end += if zone > 0 { blank + zone } else { 0 };
    }
    [end, date].into_iter().find(|&end| is_free(rest, end))
}

const DAYS: [&[u8]; 7] = [b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun"];
pub(crate) const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Return the end of a date that starts with a day or month name, and of the time after it: `Mon Jun 6 12:30:59 2005`.
fn named_day(line: &[u8], start: usize, end: usize) -> Option<usize> {
    if end - start != 3 || !line[start].is_ascii_uppercase() {
        return None;
    }
    let blank = |at: usize| at + line[at..].iter().take_while(|&&byte| byte == b' ').count();
    let mut at = start;
    if DAYS.contains(&&line[at..at + 3]) {
        at = blank(at + 3);
        at += usize::from(line.get(at) == Some(&b','));
        at = blank(at);
    }
    if !line.get(at..at + 3).is_some_and(|name| MONTHS.contains(&name)) {
        return None;
    }
    at = blank(at + 3);
    let digits = |at: usize| line.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=2).contains(&digits(at)) {
        return None;
    }
    at += digits(at);
    let mut result = at;
    let next = blank(at);
    if let Some(time) = line.get(next..).and_then(kinds::time_length) {
        result = next + time;
        let zone = blank(result);
        let upper = line[zone..].iter().take_while(|byte| byte.is_ascii_uppercase()).count();
        let year = if (3..=4).contains(&upper) { blank(zone + upper) } else { zone };
        if digits(year) == 4 && year > result {
            result = year + 4;
        }
    } else if digits(next) == 4 && next > at {
        result = next + 4;
    }
    is_free(line, result).then_some(result)
}

/// Return the end of an address of IPv6 in brackets with a port: `[::1]:443`.
fn address_end(line: &[u8], at: usize) -> Option<usize> {
    let inner = &line[at + 1..line.len().min(at + 50)];
    let close =
        at + 1 + memchr::memchr(b']', inner).filter(|&close| memchr::memchr(b':', &inner[..close]).is_some())?;
    let digits = line.get(close + 2..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = close + 2 + digits;
    let is_address = line[close + 1] == b':' && (1..=5).contains(&digits) && is_free(line, end);
    // All addresses, as services print them that listen on all.
    let all = &inner[..close - at - 1] == b"::";
    (is_address && (all || kinds::is_ip(&line[at..end]))).then_some(end)
}

/// Return the end of a duration of several numbers with units, or of days and a time: `2min 3.5s`, `1 day, 02:03:04`.
fn duration_end(line: &[u8], start: usize, end: usize) -> Option<usize> {
    let word = |at: usize| {
        let rest = line.get(at..).unwrap_or_default();
        let stop = rest.iter().position(|&byte| is_mark(byte)).unwrap_or(rest.len());
        &rest[..stop]
    };
    let is_part = |word: &[u8]| {
        let number = word.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
        number > 0 && [&b"w"[..], b"d", b"h", b"min", b"m", b"s", b"ms", b"us"].contains(&&word[number..])
    };
    let mut after = end;
    if is_part(&line[start..end]) {
        while line.get(after) == Some(&b' ') {
            let next = word(after + 1);
            let next = next.strip_suffix(b".").or_else(|| next.strip_suffix(b":")).unwrap_or(next);
            if !is_part(next) {
                break;
            }
            after += 1 + next.len();
        }
        return (after > end).then_some(after);
    }
    let unit = word(end + 1);
    if line[start..end].iter().all(u8::is_ascii_digit)
        && line.get(end) == Some(&b' ')
        && matches!(unit, b"day" | b"days")
    {
        after += 1 + unit.len();
        after += usize::from(line.get(after) == Some(&b','));
        let time = line.get(after + 1..).and_then(kinds::time_length)?;
        return (line[after] == b' ' && is_free(line, after + 1 + time)).then_some(after + 1 + time);
    }
    None
}

/// Return true for the code of a currency.
fn is_currency(word: &[u8]) -> bool {
    let codes: [&[u8]; 10] = [b"EUR", b"USD", b"GBP", b"JPY", b"CHF", b"CNY", b"INR", b"CAD", b"AUD", b"PLN"];
    codes.contains(&word)
}

/// Return the end of an amount after a currency: `EUR 1,234.50`.
fn amount_end(line: &[u8], start: usize, at: usize) -> Option<usize> {
    let from = at + 1;
    if !is_currency(&line[start..at]) || line.get(at) != Some(&b' ') {
        return None;
    }
    let count = |of: &dyn Fn(&u8) -> bool| line[from..].iter().take_while(|byte| of(byte)).count();
    let whole = from + count(&|byte| byte.is_ascii_digit());
    let end = from + count(&|byte| byte.is_ascii_digit() || *byte == b'.');
    let end = end - usize::from(line[..end].ends_with(b"."));
    let number = || matches!(kinds::kind_of(&line[from..end]), Kind::Int | Kind::Float);
    grouped_end(line, from, whole).or_else(|| (number() && is_free(&line[from..], end - from)).then_some(end))
}

/// Return the end of a number whose digits, from `start` to `end`, go on in groups of three after commas: `1,234,567.89`.
fn grouped_end(line: &[u8], start: usize, end: usize) -> Option<usize> {
    let digits = |at: usize| line[at.min(line.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=3).contains(&(end - start)) || digits(start) != end - start {
        return None;
    }
    let mut after = end;
    while line.get(after) == Some(&b',') && digits(after + 1) == 3 {
        after += 4;
    }
    let is_list = line.get(after) == Some(&b',') && digits(after + 1) > 0;
    if line.get(after) == Some(&b'.') {
        let decimals = digits(after + 1);
        after += if decimals > 0 { decimals + 1 } else { 0 };
    }
    let ends = line.get(after).is_none_or(|&byte| is_mark(byte) || b".:!?".contains(&byte));
    (after > end && !is_list && ends).then_some(after)
}

/// Return the end of a number followed by a blank and a unit of size or a currency: `5.2 KB`, `9.99 EUR`.
fn spaced_unit(line: &[u8], start: usize, end: usize) -> Option<usize> {
    let unit = line.get(end + 1..)?;
    let length = unit.iter().take(4).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let units: [&[u8]; 9] = [b"B", b"KB", b"kB", b"MB", b"GB", b"TB", b"KiB", b"MiB", b"GiB"];
    let ends = unit.get(length).is_none_or(|&byte| is_mark(byte) || b".:!?/".contains(&byte));
    let number = || matches!(kinds::kind_of(&line[start..end]), Kind::Int | Kind::Float);
    (line[end] == b' ' && ends && (units.contains(&&unit[..length]) || is_currency(&unit[..length])) && number())
        .then_some(end + 1 + length)
}

/// Return the end of a URL that starts in this chunk.
fn url_end(line: &[u8], start: usize, end: usize) -> Option<usize> {
    let scheme =
        line[start..end].iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(byte)).count();
    if scheme < 2 || !line[start + scheme..end].starts_with(b"://") {
        return None;
    }
    let stops = |byte: &u8| byte.is_ascii_whitespace() || b"\"'<>|)]},;".contains(byte);
    let length = line[start..].iter().position(stops).unwrap_or(line.len() - start);
    let tail = line[start..start + length].iter().rev().take_while(|byte| b".:!?\\".contains(byte)).count();
    Some(start + length - tail)
}

/// Return the start and end of a path in this chunk: `/usr/bin`, `C:\Windows`, `a/b/c`. One slash between two words is
/// not a path.
fn path_end(line: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let chunk = &line[start..end];
    // A backslash before a quote escapes it: `\"/path\"`.
    let escapes = line.get(end) == Some(&b'"') && memchr::memchr(b'\\', chunk) == chunk.len().checked_sub(1);
    let chunk = &chunk[..chunk.len() - usize::from(escapes)];
    let slashes = chunk.iter().filter(|&&byte| byte == b'/' || byte == b'\\').count();
    if slashes == 0 {
        return None;
    }
    let drive = matches!(chunk, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    let named = |bytes: &[u8]| bytes.iter().any(|byte| byte.is_ascii_alphabetic() || *byte >= 128);
    let rooted = matches!(chunk[0], b'/' | b'\\' | b'~') || chunk.starts_with(b"./") || chunk.starts_with(b"../");
    // `/10.0.0.1:80` is an address.
    if rooted && slashes == 1 && kinds::is_ip(chunk[1..].trim_ascii_end().strip_suffix(b":").unwrap_or(&chunk[1..])) {
        return None;
    }
    let is_path = drive || (rooted && named(chunk)) || (slashes >= 2 && named(chunk));
    if !is_path {
        return None;
    }
    let stops = |byte: &u8| byte.is_ascii_whitespace() || b"\"'<>|)]{},;(".contains(byte);
    let length = line[start..].iter().position(stops).unwrap_or(line.len() - start) - usize::from(escapes);
    let tail = line[start..start + length].iter().rev().take_while(|byte| b".:!?".contains(byte)).count();
    let after = start + length - tail;
    // In `name:/path` the name is not part of the path.
    let from = match chunk.iter().position(|&byte| byte == b':') {
        Some(colon) if !drive && !rooted && matches!(chunk.get(colon + 1), Some(b'/' | b'\\')) => start + colon + 1,
        _ => start,
    };
    (after > from).then_some((from, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::templates::to_text;
    use proptest::prelude::*;

    /// Return the template of a line as text, and its values.
    fn scanned(line: &[u8]) -> Option<(String, Vec<Vec<u8>>)> {
        let mut batch = Batch::default();
        scan(&mut batch, 0, line);
        let (_, _, template, values) = batch.iter().next()?;
        let values = values.map(|position| batch.value(position).1.to_vec()).collect();
        Some((String::from_utf8_lossy(&to_text(template)).into_owned(), values))
    }

    #[test]
    fn tokens_with_a_type_become_wildcards() {
        for (line, template) in [
            ("took 5 ms", "took {int} ms"),
            ("at Mon Jun  6 12:30:59 2005 again", "at {datetime} again"),
            ("at Sat, Jun 18 02:08:10 UTC 2005.", "at {datetime}."),
            ("2024-05-01 12:30:59,125 INFO start", "{datetime} INFO start"),
            ("2024-05-01T12:30:59.125+02:00 up", "{datetime} up"),
            ("[12:30:59] up since 2024/05/01", "[{time}] up since {date}"),
            ("from 10.0.0.1:80 to /10.0.0.2:50010:", "from {ip} to /{ip}:"),
            ("fe80::1 and 2001:db8::8a2e:370:7334 at 00:1b:44:11:3a:b7", "{ip} and {ip} at {mac}"),
            ("id=123e4567-e89b-12d3-a456-426614174000, at 0x1F", "id={uuid}, at {hex}"),
            ("blk_-1608999687919862906 of node-12", "blk_{int} of node-{int}"),
            ("attempt_1445144423722_0020_m_000003_0 done", "attempt_{name} done"),
            ("IPV6 on eth0 by log4j", "IPV6 on eth0 by log4j"),
            ("size 5.2 KB, 12ms, 80%", "size {quantity}, {quantity}, {quantity}"),
            ("sent 1,234,567 of 9,999.50 rows", "sent {quantity} of {quantity} rows"),
            ("cpus 1,234,56 of 7,8", "cpus {int},{int},{int} of {int},{int}"),
            ("paid EUR 1,234.50, then 7,000 USD.", "paid {quantity}, then {quantity} USD."),
            ("paid USD 12.5 and EUR 9.", "paid {quantity} and {quantity}."),
            ("took PT1M30.5S, then 1h2m3s", "took {quantity}, then {quantity}"),
            ("took 2min 3.5s CPU, 1h 2min 3s.", "took {quantity} CPU, {quantity}."),
            ("up 1 day, 02:03:04, 3 days 4:05, 2 days", "up {quantity}, {quantity}, {int} days"),
            ("[::1]:443 to [::]:80, not [::1] or [a:b]:7", "{ip} to {ip}, not [{ip}] or [a:b]:{int}"),
            ("GET http://a.b/c?d=e, then /usr/bin/env.", "GET {url}, then {path}."),
            ("C:\\Windows\\x.dll and/or I/O of a@b.org", "{path} and/or I/O of {email}"),
            ("loaded:/etc/app.conf", "loaded:{path}"),
            ("-cp=/a/b:/c/d x7-1:/a/b", "-cp={path} x{slug}:{path}"),
            ("QuorumServer@33557fe4: -17", "QuorumServer@{hex}: {int}"),
            ("{int} of {ip} is {other}", "{int} of {ip} is {other}"),
            ("May was 31 in May", "May was {int} in May"),
            ("[17/May/2015:10:05:03 +0000] 3 Jun 2024 1:22.1-x", "[{datetime}] {datetime} {int}:{float}-x"),
            ("lifetime <1 sec, on=true off", "lifetime {quantity}, on={word} off"),
        ] {
            assert_eq!(Some(template), scanned(line.as_bytes()).map(|result| result.0).as_deref(), "{line}");
        }
        assert_eq!((None, None), (scanned(b""), scanned(b" \t\r\n")));
        assert_eq!(vec![b"-17".to_vec()], scanned(b"at -17").expect("a template").1);
    }

    #[test]
    fn long_lines_end_in_one_variable() {
        let line = [b"x ".repeat(MAX_BYTES), b"1 2 3".to_vec()].concat();
        let (template, values) = scanned(&line).expect("a template");
        assert!(template.ends_with("{text}") && values == [line[MAX_BYTES..].to_vec()]);
    }

    #[test]
    fn further_lines_of_a_record_are_one_variable() {
        let (template, values) = scanned(b"failed: 5\n  at x.y(1)\n  at z\n").expect("a template");
        assert_eq!(("failed: {int}\n{text}", b"  at x.y(1)\n  at z".as_slice()), (&*template, &*values[1]));
        assert_eq!(Some(template.clone()), scanned(template.as_bytes()).map(|result| result.0));
    }

    proptest! {
        #[test]
        fn template_and_values_reproduce_the_line(line in prop::collection::vec(any::<u8>(), 0..80), like in "[0-9a-f:./\\\\@_ =,{}()<>KBMayJun+-]{0,60}") {
            for line in [line.as_slice(), like.as_bytes()] {
                let mut batch = Batch::default();
                scan(&mut batch, 0, line);
                let Some((_, _, template, values)) = batch.iter().next() else {
                    prop_assert!(line.trim_ascii().is_empty());
                    continue;
                };
                let (mut again, mut at, mut value) = (Vec::new(), 0, values.start);
                while at < template.len() {
                    match (template[at], template.get(at + 1)) {
                        (0xFF, Some(0)) => again.push(0xFF),
                        (0xFF, _) => {
                            again.extend_from_slice(batch.value(value).1);
                            value += 1;
                        }
                        (byte, _) => {
                            again.push(byte);
                            at += 1;
                            continue;
                        }
                    }
                    at += 2;
                }
                prop_assert_eq!(line.trim_ascii_end(), again.as_slice());
                prop_assert_eq!(values.end, value);
            }
        }

        #[test]
        fn scanning_is_idempotent(line in "([a-z]{1,5}|[0-9]{1,4}|10\\.0\\.0\\.1|a_1_2|/x/y|k=|\\(|\\)|, | ){1,12}") {
            if let Some((template, _)) = scanned(line.as_bytes()) {
                prop_assert_eq!(scanned(template.as_bytes()).map(|result| result.0), Some(template));
            }
        }
    }
}
