//! Distinguishers of a text: numbers, days, signs, code symbols and regular expression matches, which can separate two
//! texts with the same letters.
//!
//! | rule | distinguisher |
//! |---|---|
//! | `numbers` | a run of decimal digits of any script, with the points and commas between digits, and a minus directly before it that follows neither a letter nor a digit (a currency sign may be between); another numeric character (½, ², Ⅳ) by its NFKC form |
//! | `days` | the name of a day of the week or of a month: in English with a capital, in Chinese, in Japanese |
//! | `signs` | a character of the Unicode categories Sc, So, or Sm beyond ASCII; `$`, `%`, `‰`, `‱` |
//! | `symbols` | a run of the ASCII characters `!#$%&*+-/<=>?@\^_\|~` |
//! | `pattern:REGEX` | a match of the regular expression, in the syntax of the crate `regex`: time linear in the text |
//!
//! Numbers are compared as written, except for digits of other scripts (٣ is 3), commas between groups of three digits
//! (1,000 is 1000; likewise points if a comma follows: 1.000,5) and a single decimal comma (1,5 is 1.5). Days are
//! compared by meaning (Mon is Monday), and matches of an expression that begins with `(?i)` without their case.
//!
//! Two texts *differ* if each has a distinguisher that the other does not have, or has less often: one number in place
//! of another, not one more. A text that lost a paragraph, or has a date in a separate line, does not differ from the
//! full text.
//!
//! Distinguishers are compared by XXH3-64, with another seed for each rule. Cost: one pass over the text for each rule.

use std::sync::OnceLock;

use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory as Category;
use regex::{Captures, Regex};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{Error, Result, alloc};

/// Names of the built-in rules.
pub const NAMES: [&str; 4] = ["numbers", "days", "signs", "symbols"];
/// Prefix of a user's rule.
pub const PATTERN: &str = "pattern:";
const IGNORE_CASE: &str = "(?i)";

/// A rule.
#[derive(Clone, Debug)]
enum Rule {
    Numbers,
    Days,
    Signs,
    Symbols,
    Pattern(Regex),
}

/// The rules for the distinguishers of texts.
#[derive(Clone, Debug)]
pub struct Distinguishers {
    rules: Vec<Rule>,
}

impl Distinguishers {
    /// Parse rules by their names; `pattern:REGEX` is a user's rule.
    ///
    /// # Errors
    /// An unknown name, a regular expression that is invalid or too large, no rule.
    pub fn new(names: &[String]) -> Result<Self> {
        let rule = |name: &String| match (name.as_str(), name.strip_prefix(PATTERN)) {
            (_, Some(pattern)) => pattern_of(pattern).map(Rule::Pattern),
            ("numbers", _) => Ok(Rule::Numbers),
            ("days", _) => Ok(Rule::Days),
            ("signs", _) => Ok(Rule::Signs),
            ("symbols", _) => Ok(Rule::Symbols),
            (other, _) => Err(Error::parameter("differ", other, format!("{}, {PATTERN}REGEX", NAMES.join(", ")))),
        };
        Ok(Self { rules: alloc::try_map(names.iter().map(rule))? })
    }

    /// Append the hashes of the distinguishers of `text` to `hashes`, ascending, one for each occurrence.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn hashes(&self, text: &str, hashes: &mut Vec<u64>) -> Result<()> {
        let start = hashes.len();
        let mut refused = None;
        for (number, rule) in self.rules.iter().enumerate() {
            // XXH3 adds the seed to short inputs: with small seeds, 073 by one rule would be 074 by the next.
            let seed = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            rule.each(text, |particular| {
                refused = refused.take().or_else(|| alloc::try_reserve(hashes, 1).err());
                if refused.is_none() {
                    hashes.push(xxh3_64_with_seed(particular.as_bytes(), seed));
                }
            });
        }
        hashes[start..].sort_unstable();
        refused.map_or(Ok(()), Err)
    }

    /// Return the distinguishers of `text` in compared form, rule by rule, in text order.
    ///
    /// # Errors
    /// Memory runs out.
    pub fn list(&self, text: &str) -> Result<Vec<String>> {
        let mut found = alloc::BestEffortVec::default();
        for rule in &self.rules {
            rule.each(text, |particular| found.push(particular.to_owned()));
        }
        found.into_vec()
    }
}

/// True if each of two texts has a distinguisher that the other does not have, or has less often; both lists ascend.
pub fn differ(a: &[u64], b: &[u64]) -> bool {
    let (mut i, mut j) = (0, 0);
    let (mut only_a, mut only_b) = (false, false);
    while i < a.len() && j < b.len() && !(only_a && only_b) {
        (only_a, only_b) = (only_a || a[i] < b[j], only_b || b[j] < a[i]);
        (i, j) = (i + usize::from(a[i] <= b[j]), j + usize::from(b[j] <= a[i]));
    }
    (only_a || i < a.len()) && (only_b || j < b.len())
}

fn pattern_of(pattern: &str) -> Result<Regex> {
    let refused = |error: regex::Error| {
        let reason = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
        let allowed = format!("a regular expression without look-around and back-references ({reason})");
        Error::parameter("differ", format!("{PATTERN}{pattern}"), allowed)
    };
    if pattern.is_empty() {
        return Err(Error::parameter("differ", PATTERN, format!("a regular expression behind {PATTERN}")));
    }
    Regex::new(pattern).map_err(refused)
}

impl Rule {
    /// Call `found` with each distinguisher, in order.
    fn each(&self, text: &str, mut found: impl FnMut(&str)) {
        match self {
            Self::Numbers => numbers(text, found),
            Self::Days => days(text, found),
            Self::Signs => signs(text, found),
            Self::Symbols => symbols(text, found),
            Self::Pattern(pattern) => {
                let fold = pattern.as_str().starts_with(IGNORE_CASE);
                for part in pattern.find_iter(text).map(|part| part.as_str()).filter(|part| !part.is_empty()) {
                    if fold { found(&part.to_lowercase()) } else { found(part) }
                }
            }
        }
    }
}

// Numbers

fn numbers(text: &str, mut found: impl FnMut(&str)) {
    let mut at = 0;
    // A number starts at a digit or at a non-ASCII character; other bytes are skipped.
    while let Some(next) = text.as_bytes()[at..].iter().position(|&byte| byte.is_ascii_digit() || byte >= 0x80) {
        at += next;
        let Some(first) = text[at..].chars().next() else { break };
        if digit(first).is_some() {
            at += number(text, at, &mut found);
            continue;
        }
        if first.is_numeric() {
            other_numeric(first, &mut found);
        }
        at += first.len_utf8();
    }
}

/// Call `found` with the number whose first digit is at `start`; return its length in bytes.
fn number(text: &str, start: usize, found: &mut impl FnMut(&str)) -> usize {
    let mut written = String::new();
    let mut rest = text[start..].char_indices().peekable();
    let mut end = start;
    while let Some((at, c)) = rest.next() {
        match (digit(c), separator(c)) {
            (Some(value), _) => written.push(value),
            // Only between digits.
            (None, Some(mark)) if rest.peek().is_some_and(|&(_, next)| digit(next).is_some()) => written.push(mark),
            _ => break,
        }
        end = start + at + c.len_utf8();
    }
    let sign = if is_negative(&text[..start]) { "-" } else { "" };
    match canonical(&written) {
        Some(value) => found(&format!("{sign}{value}")),
        // A list, such as 1,2,3: the sign belongs to the first number.
        None => written.split(',').enumerate().for_each(|(number, part)| {
            let sign = if number == 0 { sign } else { "" };
            found(&format!("{sign}{part}"));
        }),
    }
    end - start
}

/// Return the value of a decimal digit of any script as an ASCII digit.
fn digit(c: char) -> Option<char> {
    /// The zero of each script's ten digits, ascending.
    static ZEROS: OnceLock<Vec<u32>> = OnceLock::new();
    if c.is_ascii() || !c.is_numeric() {
        return c.is_ascii_digit().then_some(c);
    }
    let categories = CodePointMapData::<Category>::new();
    if categories.get(c) != Category::DecimalNumber {
        return None;
    }
    let zeros = ZEROS.get_or_init(|| {
        let ranges = categories.iter_ranges_for_value(Category::DecimalNumber);
        ranges.flat_map(|range| range.step_by(10)).collect()
    });
    let zero = zeros[zeros.partition_point(|&zero| zero <= c as u32) - 1];
    char::from_digit(c as u32 - zero, 10)
}

/// Return the normalized separator between digits of one number.
fn separator(c: char) -> Option<char> {
    match c {
        '.' | '．' | '\u{66b}' => Some('.'),
        ',' | '\u{66c}' => Some(','),
        _ => None,
    }
}

/// True if a minus is directly before a number and follows neither a letter nor a digit; `before` is the text up to the
/// number.
fn is_negative(before: &str) -> bool {
    let mut back = before.chars().rev().peekable();
    let currency = |&c: &char| CodePointMapData::<Category>::new().get(c) == Category::CurrencySymbol;
    back.next_if(currency);
    let minus = back.next_if(|&c| matches!(c, '-' | '−' | '－')).is_some();
    minus && !back.next().is_some_and(char::is_alphanumeric)
}

/// Return the number in compared form; None for several numbers separated by commas.
fn canonical(written: &str) -> Option<String> {
    let (commas, points) = (written.matches(',').count(), written.matches('.').count());
    let (whole, fraction) = written.rsplit_once('.').unwrap_or((written, ""));
    if commas == 0 {
        return Some(written.to_owned());
    }
    // 1,000 and 1,000,000.5
    if points <= 1 && !fraction.contains(',') && in_groups(whole, ',') {
        return Some(written.replace(',', ""));
    }
    // 1,5 and 1.000,5
    let (whole, _) = written.rsplit_once(',')?;
    (commas == 1 && (points == 0 || in_groups(whole, '.'))).then(|| written.replace('.', "").replace(',', "."))
}

/// True if the digits form groups of three; only the first may be shorter.
fn in_groups(digits: &str, mark: char) -> bool {
    let mut groups = digits.split(mark);
    groups.next().is_some_and(|first| first.len() <= 3) && digits.contains(mark) && groups.all(|group| group.len() == 3)
}

/// Call `found` for a numeric character that is not a decimal digit: with the numbers of its NFKC form, or itself if
/// there are none.
fn other_numeric(c: char, found: &mut impl FnMut(&str)) {
    let mut buffer = [0; 4];
    let own = c.encode_utf8(&mut buffer);
    let folded = ComposingNormalizerBorrowed::new_nfkc().normalize(own).into_owned();
    if folded.bytes().any(|byte| byte.is_ascii_digit()) {
        folded.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).for_each(found);
    } else {
        found(own);
    }
}

// Days

fn days(text: &str, mut found: impl FnMut(&str)) {
    static NAMES: OnceLock<Regex> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let days = "Mon(?:day)?|Tue(?:s|sday)?|Wed(?:nesday)?|Thu(?:r|rs|rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?";
        let months = "Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|\
                      Nov(?:ember)?|Dec(?:ember)?";
        let chinese = "(?:星期|礼拜|禮拜|周|週)([一二三四五六日天])";
        let japanese = "([月火水木金土日])曜";
        let pattern = format!(r"\b(?:({days})|({months}))\b|{chinese}|{japanese}|(十[一二]?|[一二三四五六七八九])月");
        Regex::new(&pattern).expect("it is the same for every text")
    });
    names.captures_iter(text).filter_map(|name| day(&name)).for_each(|name| found(&name));
}

/// Return the English name of a day or month.
fn day(name: &Captures<'_>) -> Option<String> {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let of = |names: &[&str], written: &str, characters: &str| {
        Some(names[characters.chars().position(|c| written.starts_with(c))? % names.len()].to_owned())
    };
    let written = |group| name.get(group).map(|part| part.as_str());
    match (written(1).or(written(2)), written(3), written(4), written(5)) {
        (Some(english), ..) => Some(english[..3].to_owned()),
        (_, Some(chinese), ..) => of(&DAYS, chinese.replace('天', "日").as_str(), "一二三四五六日"),
        (_, _, Some(japanese), _) => of(&DAYS, japanese, "月火水木金土日"),
        (_, _, _, Some("十一")) => Some(MONTHS[10].to_owned()),
        (_, _, _, Some("十二")) => Some(MONTHS[11].to_owned()),
        (_, _, _, Some(month)) => of(&MONTHS, month, "一二三四五六七八九十"),
        _ => None,
    }
}

// Signs and symbols

fn signs(text: &str, mut found: impl FnMut(&str)) {
    let categories = CodePointMapData::<Category>::new();
    for (at, c) in text.char_indices().filter(|(_, c)| !c.is_ascii() || matches!(c, '$' | '%')) {
        let symbol = || {
            matches!(categories.get(c), Category::CurrencySymbol | Category::OtherSymbol | Category::MathSymbol)
                || matches!(c, '‰' | '‱')
        };
        if c.is_ascii() || symbol() {
            found(&text[at..at + c.len_utf8()]);
        }
    }
}

fn symbols(text: &str, found: impl FnMut(&str)) {
    let is_symbol =
        |c: char| matches!(c, '!' | '#'..='&' | '*' | '+' | '-' | '/' | '<'..='@' | '\\' | '^' | '_' | '|' | '~');
    text.split(|c| !is_symbol(c)).filter(|run| !run.is_empty()).for_each(found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules(names: &[&str]) -> Distinguishers {
        Distinguishers::new(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()).expect("known rules")
    }

    fn list(name: &str, text: &str) -> Vec<String> {
        rules(&[name]).list(text).expect("room")
    }

    fn differing(name: &str, a: &str, b: &str) -> bool {
        let hashes = |text: &str| {
            let mut hashes = Vec::new();
            rules(&[name]).hashes(text, &mut hashes).expect("room");
            hashes
        };
        differ(&hashes(a), &hashes(b))
    }

    #[test]
    fn numbers_are_those_that_are_written() {
        for (text, expected) in [
            ("1.5 percent, 15 percent", vec!["1.5", "15"]),
            ("-5 degrees, 5 degrees", vec!["-5", "5"]),
            ("2024-03-01", vec!["2024", "03", "01"]),
            ("at -$5, $-5 and −5; a-5, 3-5", vec!["-5", "-5", "-5", "5", "3", "5"]),
            ("½ cup, 1½ cups, 12 cup", vec!["1", "2", "1", "1", "2", "12"]),
            ("1,000 and 1,000,000.50", vec!["1000", "1000000.50"]),
            ("1.000,50 and 1,5", vec!["1000.50", "1.5"]),
            ("1,2,3 or 1,23,456", vec!["1", "2", "3", "1", "23", "456"]),
            ("1000,000 and 0001,5", vec!["1000.000", "0001.5"]),
            ("version 1.10.2, 10.0.0.1.", vec!["1.10.2", "10.0.0.1"]),
            ("H1N1 and B2B", vec!["1", "1", "2"]),
            ("３，５ ١٢٣ ٫ m² ① Ⅳ 𝟗", vec!["3", "5", "123", "2", "1", "Ⅳ", "9"]),
            ("no number, a. b, c", vec![]),
            ("5", vec!["5"]),
            ("5.", vec!["5"]),
        ] {
            assert_eq!(expected, list("numbers", text), "{text}");
        }
    }

    #[test]
    fn days_are_compared_by_what_they_name() {
        let expected = ["Mon", "Tue", "Sep", "May"];
        assert_eq!(expected.to_vec(), list("days", "Monday, Tues. in September; May I? we may march on, Sundays"));
        assert_eq!(["Fri", "Sun", "Dec", "Jan", "Mon"].to_vec(), list("days", "星期五和周天，十二月、一月 月曜日"));
        assert!(differing("days", "open on Monday", "open on Tuesday"));
        assert!(!differing("days", "open on Monday", "open on Mon"));
    }

    #[test]
    fn signs_and_symbols_are_those_of_prose_and_of_code() {
        assert_eq!(["€", "%", "👍", "≥"].to_vec(), list("signs", "5 €, 3 %, 👍️ ≥ a+b"));
        assert_eq!(["++", "#", "!=", "&&", "->"].to_vec(), list("symbols", "C++ C# a != b && c->d (x)"));
        assert!(differing("symbols", "C++ in a day", "C# in a day"));
    }

    #[test]
    fn a_rule_of_the_callers_finds_what_it_matches() {
        assert_eq!(["v1", "v22"].to_vec(), list(r"pattern:v\d*", "v1 and v22; x"));
        assert_eq!(["a1", "b"].to_vec(), list(r"pattern:(?i)[a-z]\d?", "A1 B"));
        assert_eq!(Vec::<String>::new(), list("pattern:x*", "none"));
        for wrong in ["pattern:", "pattern:(", r"pattern:(a)\1", "number", "Numbers", ""] {
            let error = Distinguishers::new(&[wrong.to_owned()]).expect_err(wrong).to_string();
            assert!(error.contains("differ"), "{error}");
        }
    }

    #[test]
    fn a_word_of_one_rule_is_no_other_word_of_the_next() {
        let rules = rules(&["numbers", r"pattern:\b\w*\d\w*\b"]);
        let hashes = |number: u32| {
            let mut hashes = Vec::new();
            rules.hashes(&format!("SR {number:03}"), &mut hashes).expect("room");
            hashes
        };
        assert_eq!(1000, (0..1000).map(hashes).collect::<std::collections::HashSet<_>>().len());
    }

    #[test]
    fn one_more_is_no_difference_and_one_for_another_is() {
        assert!(!differing("numbers", "1 2 3", "1 2"));
        assert!(!differing("numbers", "1 2 3", "3 2 1"));
        assert!(!differing("numbers", "none", "1"));
        assert!(differing("numbers", "1 2 3", "1 2 4"));
        assert!(differing("numbers", "5 and 5", "5 and 6"));
        assert!(differing("numbers", "1", "2"));
    }

    proptest! {
        #[test]
        fn differ_is_the_definition(a in prop::collection::vec(0_u64..6, 0..8), b in prop::collection::vec(0_u64..6, 0..8)) {
            let (mut left, mut right) = (a.clone(), b.clone());
            left.sort_unstable();
            right.sort_unstable();
            let count = |all: &[u64], part: u64| all.iter().filter(|&&other| other == part).count();
            let more = |x: &[u64], y: &[u64]| x.iter().any(|&part| count(x, part) > count(y, part));
            prop_assert_eq!(more(&a, &b) && more(&b, &a), differ(&left, &right));
        }

        #[test]
        fn any_text_has_particulars(text in "\\PC{0,40}|[-+$0-9., ½]{0,20}") {
            let all = rules(&["numbers", "days", "signs", "symbols", "pattern:[a-z]+"]);
            let mut hashes = Vec::new();
            all.hashes(&text, &mut hashes).expect("room");
            prop_assert_eq!(hashes.len(), all.list(&text).expect("room").len());
            prop_assert!(hashes.is_sorted() && !differ(&hashes, &hashes));
        }

        #[test]
        fn a_number_is_found_however_it_is_grouped(value in 0_u64..10_000_000_000, cents in 0_u32..100) {
            let digits = value.to_string();
            let grouped = |mark: &str| {
                let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap()).collect();
                groups.join(mark)
            };
            let plain = list("numbers", &format!("x {digits}.{cents:02} y"));
            prop_assert_eq!(&plain, &list("numbers", &format!("x {}.{cents:02} y", grouped(","))));
            if value >= 1000 {
                prop_assert_eq!(&plain, &list("numbers", &format!("x {},{cents:02} y", grouped("."))));
            }
        }
    }
}
