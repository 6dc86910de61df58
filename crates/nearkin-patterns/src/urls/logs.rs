//! Access logs (common and combined log format of Apache and nginx) as request lines, times and clients.
//!
//! ```text
//! client identity user [17/May/2015:10:05:03 +0000] "GET /a?b=c HTTP/1.1" 200 203023 "referrer" "agent"
//! ```
//! Only the first word before the brackets is read, so logs with a host in front are accepted. The request is the
//! first quoted string after the brackets; the escapes `\"`, `\\` and `\xNN` are decoded. One pass, with `memchr` from
//! delimiter to delimiter. Lines need not be UTF-8.

use crate::lines::MONTHS;
use crate::templates::NO_TIME;
use nearkin_core::{Result, alloc};

/// The format of the lines of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// Common or combined log format.
    Log,
    /// A URL or request line per line.
    Plain,
}

/// The requests of a block.
#[derive(Debug, Default)]
pub struct Requests {
    /// The end of each request line.
    pub ends: Vec<i64>,
    /// Request lines, back to back.
    pub data: Vec<u8>,
    /// Times in microseconds since 1970, or [`NO_TIME`].
    pub times: Vec<i64>,
    /// The end of each client.
    pub client_ends: Vec<i64>,
    /// Clients, back to back.
    pub clients: Vec<u8>,
    /// The first malformed lines, counted from 0 in the block, and the reasons.
    pub malformed: Vec<(u64, &'static str)>,
    /// Number of malformed lines by [`REASONS`].
    pub counts: [u64; REASONS.len()],
    /// Number of bytes before the first incomplete line.
    pub consumed: usize,
    /// Number of lines in those bytes.
    pub lines: u64,
}

/// Reasons why a line is malformed.
pub const REASONS: [&str; 4] =
    ["no time in brackets", "no valid time in brackets", "no request in quotes", "an empty request"];

/// Maximum number of malformed lines reported.
const MAX_MALFORMED: usize = 10;

/// Read the requests of a block that starts at the start of a line; `end` is true if the block is the last one.
///
/// # Errors
/// Memory allocation fails.
pub fn read(block: &[u8], end: bool, lines: Lines) -> Result<Requests> {
    let mut result = Requests::default();
    let mut rest = block;
    while !rest.is_empty() {
        let (line, after) = match memchr::memchr(b'\n', rest) {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None if end => (rest, &rest[rest.len()..]),
            None => break,
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().any(|&byte| byte > b' ') {
            let read = match lines {
                Lines::Log => result.log_line(line)?,
                Lines::Plain => result.push(line, NO_TIME, b"").map(Ok)?,
            };
            if let Err(reason) = read {
                result.counts[reason] += 1;
                if result.malformed.len() < MAX_MALFORMED {
                    result.malformed.push((result.lines, REASONS[reason]));
                }
            }
        }
        result.lines += 1;
        result.consumed += rest.len() - after.len();
        rest = after;
    }
    Ok(result)
}

impl Requests {
    fn push(&mut self, request: &[u8], time: i64, client: &[u8]) -> Result<()> {
        alloc::try_extend(&mut self.data, request)?;
        alloc::try_extend(&mut self.clients, client)?;
        self.close(time)
    }

    fn close(&mut self, time: i64) -> Result<()> {
        alloc::try_extend(&mut self.ends, &[self.data.len() as i64])?;
        alloc::try_extend(&mut self.client_ends, &[self.clients.len() as i64])?;
        alloc::try_extend(&mut self.times, &[time])
    }

    /// Read a line of a log; the inner error is the number of a reason.
    fn log_line(&mut self, line: &[u8]) -> Result<std::result::Result<(), usize>> {
        let Some(open) = memchr::memchr(b'[', line) else { return Ok(Err(0)) };
        let Some(length) = memchr::memchr(b']', &line[open..]) else { return Ok(Err(0)) };
        let Some(time) = parse_time(&line[open + 1..open + length]) else { return Ok(Err(1)) };
        let rest = &line[open + length + 1..];
        let Some(quote) = memchr::memchr(b'"', rest) else { return Ok(Err(2)) };
        let start = self.data.len();
        if !unquoted(&rest[quote + 1..], &mut self.data) {
            self.data.truncate(start);
            return Ok(Err(2));
        }
        if matches!(&self.data[start..], b"" | b"-" | b" ") {
            self.data.truncate(start);
            return Ok(Err(3));
        }
        let client = &line[..memchr::memchr(b' ', line).unwrap_or(0).min(open)];
        if client != b"-" {
            alloc::try_extend(&mut self.clients, client)?;
        }
        self.close(time).map(Ok)
    }
}

/// Append a string up to its closing quote, with escapes decoded; return true if there is a closing quote.
fn unquoted(rest: &[u8], out: &mut Vec<u8>) -> bool {
    let mut at = 0;
    loop {
        let Some(next) = memchr::memchr2(b'"', b'\\', &rest[at..]) else { return false };
        out.extend_from_slice(&rest[at..at + next]);
        at += next;
        if rest[at] == b'"' {
            return true;
        }
        match rest.get(at + 1..) {
            Some([b'x', high, low, ..]) if super::canonical::unescaped(*high, *low).is_some() => {
                out.extend(super::canonical::unescaped(*high, *low));
                at += 4;
            }
            Some([byte, ..]) => {
                out.push(match byte {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    byte => *byte,
                });
                at += 2;
            }
            _ => return false,
        }
    }
}

/// The years 1 to 9999 in UTC, in microseconds since 1970.
const YEARS: std::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;

/// Return the microseconds since 1970 of `17/May/2015:10:05:03 +0000`, or of `2015-05-17T10:05:03+00:00`; None outside
/// the years 1 to 9999 in UTC.
pub fn parse_time(text: &[u8]) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        text.get(range)?
            .iter()
            .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
    };
    let (day, month, year, start) = if text.get(4) == Some(&b'-') {
        (number(8..10)?, number(5..7)?, number(0..4)?, 11)
    } else {
        let month = MONTHS.iter().position(|month| text.get(3..6) == Some(month))? as i64 + 1;
        (number(0..2)?, month, number(7..11)?, 12)
    };
    let (hour, minute, second) =
        (number(start..start + 2)?, number(start + 3..start + 5)?, number(start + 6..start + 8)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let zone: Vec<u8> = text[start + 8..].iter().copied().filter(|byte| !b" :".contains(byte)).collect();
    let offset = match zone.as_slice() {
        [sign @ (b'+' | b'-'), a, b, c, d] if [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()) => {
            let digit = |byte: &u8| i64::from(byte - b'0');
            let minutes = (digit(a) * 10 + digit(b)) * 60 + digit(c) * 10 + digit(d);
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => 0,
    };
    // Days from the civil date: years start in March, so that the leap day is the last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day - 1 - 719_468;
    Some((((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1_000_000).filter(|time| YEARS.contains(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_gives_request_time_and_client() {
        let log = b"10.0.0.7 - bob [17/May/2015:10:05:03 +0200] \"GET /a\\\"b\\x41?c HTTP/1.1\" 200 5 \"-\" \"x\"\n\
            - - - [31/Dec/1969:23:59:59 +0000] \"POST / HTTP/1.0\" 200 5\r\n\nbroken\n1 - - [x] \"GET /\"\n\
            1 - - [31/Dec/9999:23:59:59 -0001] \"GET /\"\n1 - - [01/Jan/0001:00:00:00 +0001] \"GET /\"\n\
            1 - - [17/May/2015:10:05:03 +0000] \"-\" 408 0\n1 - - [17/May/2015:10:05:03 +0000] \"GET /";
        let result = read(log, true, Lines::Log).expect("memory");
        assert_eq!(b"GET /a\"bA?c HTTP/1.1POST / HTTP/1.0".to_vec(), result.data);
        assert_eq!(vec![1_431_849_903_000_000, -1_000_000], result.times);
        assert_eq!((b"10.0.0.7".to_vec(), vec![8, 8]), (result.clients, result.client_ends));
        assert_eq!([1, 3, 1, 1], result.counts);
        assert_eq!(vec![3, 4, 5, 6, 7, 8], result.malformed.iter().map(|line| line.0).collect::<Vec<_>>());
        assert_eq!((log.len(), 9), (result.consumed, result.lines));
    }

    proptest! {
        #[test]
        fn reading_in_blocks_equals_reading_at_once(lines in prop::collection::vec(any::<u8>(), 0..300), cut in 0_usize..300) {
            for kind in [Lines::Log, Lines::Plain] {
                let whole = read(&lines, true, kind).expect("memory");
                let first = read(&lines[..cut.min(lines.len())], false, kind).expect("memory");
                let second = read(&lines[first.consumed..], true, kind).expect("memory");
                prop_assert_eq!(whole.data, [first.data, second.data].concat());
                prop_assert_eq!(whole.lines, first.lines + second.lines);
                prop_assert_eq!(whole.consumed, lines.len());
            }
        }
    }
}
