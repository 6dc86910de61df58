//! Tokens of a decoded payload, and their text.
//!
//! | token | source |
//! |---|---|
//! | a known word | a word of [`words`]; single letters only as names of tags; synonyms are one word (`prompt` is `alert`) |
//! | `{name}` | any other word, with or without digits |
//! | `{int}` `{hex}` | numbers, with points between digits; digits after `0x` |
//! | `{host}` | a name after `://`, or after `//` if it has a dot; four numbers with dots; a name with a known top-level domain |
//! | `..` `\|\|` `&&` | two or more of the symbol |
//! | a symbol | any other ASCII character |
//!
//! White space, control characters and quotation marks are skipped, because attackers vary them at will. The text of a
//! token (`{int}`) is scanned as the same token, so scanning is idempotent.
//!
//! Repeats collapse as tokens are read: if a sequence of up to [`PERIOD`] tokens occurs twice in a row, directly or
//! with a separator in between, only the first is kept. So `null,null,null` is `null`, `../../` is `../`, and
//! `chr(1)||chr(2)` is `chr({int})`. The result contains no such repeat.

use std::sync::OnceLock;

use super::words;

/// Maximum length of a repeated sequence of tokens.
pub(crate) const PERIOD: usize = 8;
/// Maximum number of tokens of a payload.
pub(crate) const MAX_TOKENS: usize = 512;

/// The code of a token: the byte of a symbol, a class of tokens, or a word by its number.
pub(crate) type Symbol = u16;

pub(crate) const INT: Symbol = 256;
pub(crate) const HEX: Symbol = 257;
pub(crate) const NAME: Symbol = 258;
pub(crate) const HOST: Symbol = 259;
/// A call that shows a message, the proof of a script injection.
pub(crate) const ALERT: Symbol = 260;
/// Two or more dots.
pub(crate) const DOTS: Symbol = 261;
/// Two slashes before a host.
pub(crate) const SLASHES: Symbol = 262;
pub(crate) const BARS: Symbol = 263;
pub(crate) const AMPERSANDS: Symbol = 264;
/// Values and symbols without a known word.
pub(crate) const TEXT: Symbol = 265;
/// Code of the first word.
pub(crate) const WORD: Symbol = 512;

/// Return true if a token is a word or a class of words.
pub(crate) fn is_wordish(symbol: Symbol) -> bool {
    symbol >= WORD || matches!(symbol, INT | HEX | NAME | HOST | TEXT | ALERT)
}

/// A token, and the range of its first occurrence in the decoded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) symbol: Symbol,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Declare the words that the rules use, and `keywords`, which returns their codes.
macro_rules! keywords {
    ($($name:ident)*) => {
        /// Words that the rules use.
        #[derive(Debug)]
        pub(crate) struct Keywords {
            $(pub(crate) $name: Symbol,)*
            /// Attributes with meaningless values.
            pub(crate) attributes: [Symbol; 5],
            pub(crate) operators: [Symbol; 4],
            pub(crate) conjunctions: [Symbol; 5],
            pub(crate) clauses: [Symbol; 8],
            /// Synonyms and their common word.
            synonyms: [(Symbol, Symbol); 6],
        }

        /// Return the words that the rules use.
        pub(crate) fn keywords() -> &'static Keywords {
            static KEYWORDS: OnceLock<Keywords> = OnceLock::new();
            KEYWORDS.get_or_init(|| Keywords {
                $($name: word(stringify!($name).trim_start_matches("r#")),)*
                attributes: ["id", "name", "class", "alt", "title"].map(word),
                operators: ["is", "like", "rlike", "regexp"].map(word),
                conjunctions: ["and", "or", "xor", "where", "having"].map(word),
                clauses: ["not", "as", "from", "dual", "select", "in", "boolean", "mode"].map(word),
                synonyms: [
                    ("prompt", "alert"),
                    ("confirm", "alert"),
                    ("vbscript", "javascript"),
                    ("livescript", "javascript"),
                    ("mocha", "javascript"),
                    ("jscript", "javascript"),
                ]
                .map(|(synonym, common)| (word(synonym), word(common))),
            })
        }
    };
}

keywords! {
    and or xor not r#where having r#in boolean mode r#as from dual select null
    is like usr bin alert document cookie r#true script eval
}

/// Return the code of a listed word.
fn word(text: &str) -> Symbol {
    words::number(text.as_bytes()).map_or(NAME, |number| WORD + number)
}

/// Tokens without repeats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    pub(crate) all: Vec<Token>,
    /// True if the payload has more than [`MAX_TOKENS`] tokens.
    pub(crate) cut: bool,
}

fn separates(symbol: Symbol) -> bool {
    matches!(symbol, AMPERSANDS | BARS)
        || u8::try_from(symbol)
            .is_ok_and(|sign| matches!(sign, b',' | b'+' | b'|' | b'/' | b'\\' | b'.' | b';' | b'&' | b'-'))
}

impl Tokens {
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.cut = false;
    }

    /// Append a token and collapse repeats at the end.
    #[inline]
    pub(crate) fn push(&mut self, token: Token) {
        if self.all.len() >= MAX_TOKENS {
            self.cut = true;
            return;
        }
        self.all.push(token);
        while self.collapse() {}
    }

    /// Remove one repeat at the end; return true if there was one.
    #[inline]
    fn collapse(&mut self) -> bool {
        let all = &self.all;
        let n = all.len();
        let last = all[n - 1].symbol;
        // Fast path: a repeat ends in the same symbol a period earlier, or a period and a separator.
        let recent = &all[n.saturating_sub(PERIOD + 2)..n - 1];
        if recent.iter().filter(|token| token.symbol == last).count() == 0 {
            return false;
        }
        let equal = |start_a: usize, start_b: usize, length: usize| {
            all[start_a..start_a + length]
                .iter()
                .zip(&all[start_b..start_b + length])
                .all(|(a, b)| a.symbol == b.symbol)
        };
        for p in 1..=PERIOD.min(n / 2) {
            if all[n - 1 - p].symbol == last && equal(n - 2 * p, n - p, p) {
                self.all.truncate(n - p);
                return true;
            }
            if n > 2 * p
                && all[n - 2 - p].symbol == last
                && separates(all[n - p - 1].symbol)
                && equal(n - 2 * p - 1, n - p, p)
            {
                self.all.truncate(n - p - 1);
                return true;
            }
        }
        false
    }

    /// Read the tokens of a decoded text.
    pub(crate) fn read(&mut self, text: &[u8]) {
        self.clear();
        let mut at = 0;
        while at < text.len() {
            let (symbol, length) = self.next(text, at);
            let Some(symbol) = symbol else {
                at += length;
                continue;
            };
            if symbol == SLASHES {
                self.push(Token { symbol, start: at as u32, end: at as u32 + 2 });
                at += 2;
                self.push(Token { symbol: HOST, start: at as u32, end: (at + length - 2) as u32 });
                at += length - 2;
                continue;
            }
            self.push(Token { symbol, start: at as u32, end: (at + length) as u32 });
            at += length;
        }
    }

    /// Return the token at an offset (None if it is skipped) and its length.
    #[inline]
    fn next(&self, text: &[u8], at: usize) -> (Option<Symbol>, usize) {
        let rest = &text[at..];
        match rest[0] {
            b'%' if rest.starts_with(b"%00") => (Some(0), 3),
            0 => (Some(0), 1),
            1..=b' ' | 0x7f | b'\'' | b'"' | b'`' => (None, 1),
            b'0'..=b'9' => number(rest),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => self.word(rest),
            // Shells accept their field separator as a space.
            b'$' if rest.starts_with(b"${ifs}") => (None, 6),
            b'$' if rest.starts_with(b"$ifs$9") => (None, 6),
            b'$' if rest.starts_with(b"$ifs") => (None, 4),
            b'{' => wildcard(rest).map_or((Some(Symbol::from(b'{')), 1), |(symbol, length)| (Some(symbol), length)),
            b'.' => repeated_sign(rest, b'.', DOTS),
            b'|' => repeated_sign(rest, b'|', BARS),
            b'&' => repeated_sign(rest, b'&', AMPERSANDS),
            b'/' if rest.get(1) == Some(&b'/') => {
                let host = host(&rest[2..], &text[..at]);
                if host > 0 { (Some(SLASHES), 2 + host) } else { (Some(Symbol::from(b'/')), 1) }
            }
            sign => (Some(Symbol::from(sign)), 1),
        }
    }

    #[inline]
    fn word(&self, rest: &[u8]) -> (Option<Symbol>, usize) {
        if rest.starts_with(b"alert()") {
            return (Some(ALERT), 7);
        }
        let length = word_length(rest);
        if matches!(rest.get(length), Some(b'.' | b'-'))
            && let Some(host) = domain(rest)
        {
            return (Some(HOST), host);
        }
        let Some(mut number) = words::number(&rest[..length]) else { return (Some(NAME), length) };
        if length == 1 && !self.in_tag() {
            return (Some(NAME), length);
        }
        for &(from, to) in &keywords().synonyms {
            if number + WORD == from {
                number = to - WORD;
            }
        }
        (Some(WORD + number), length)
    }

    /// Return true if the next word is the name of a tag.
    fn in_tag(&self) -> bool {
        let sign = |back: usize| self.all.len().checked_sub(back).map(|position| self.all[position].symbol);
        let less = Some(Symbol::from(b'<'));
        sign(1) == less || (sign(1) == Some(Symbol::from(b'/')) && sign(2) == less)
    }
}

fn in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Return the length of the word at the start. A dollar sign belongs to a word only before a letter or digit, and
/// never starts `$IFS`.
fn word_length(text: &[u8]) -> usize {
    let mut length = 0;
    while text.get(length).is_some_and(|&byte| in_word(byte)) {
        let rest = &text[length..];
        if rest[0] == b'$' && (rest.starts_with(b"$ifs") || !rest.get(1).is_some_and(|&byte| in_word(byte))) {
            break;
        }
        length += 1;
    }
    length
}

/// Return the token of a symbol that may be repeated.
fn repeated_sign(rest: &[u8], sign: u8, symbol: Symbol) -> (Option<Symbol>, usize) {
    match rest.iter().take_while(|&&byte| byte == sign).count() {
        1 => (Some(Symbol::from(sign)), 1),
        count if sign == b'.' => (Some(symbol), count),
        _ => (Some(symbol), 2),
    }
}

fn number(rest: &[u8]) -> (Option<Symbol>, usize) {
    let word = word_length(rest);
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if rest[0] == b'0' && rest.get(1) == Some(&b'x') && word > 2 {
        let all = rest[2..word].iter().all(u8::is_ascii_hexdigit);
        return (Some(if all { HEX } else { NAME }), word);
    }
    if let Some(host) = domain(rest) {
        return (Some(HOST), host);
    }
    let (mut length, mut dots) = (digits(rest), 0);
    while rest.get(length) == Some(&b'.') && digits(&rest[length + 1..]) > 0 {
        length += 1 + digits(&rest[length + 1..]);
        dots += 1;
    }
    if dots == 3 && word_length(&rest[length..]) == 0 {
        return (Some(HOST), length + port(&rest[length..]));
    }
    if rest.get(length) == Some(&b'e') && digits(&rest[length + 1..]) > 0 {
        length += 1 + digits(&rest[length + 1..]);
    }
    let after = word_length(&rest[length..]);
    (Some(if after == 0 { INT } else { NAME }), length + after)
}

/// Schemes without a host.
const HOSTLESS: [&[u8]; 8] = [b"php", b"data", b"expect", b"phar", b"zip", b"file", b"glob", b"javascript"];
/// Top-level domains that make a name a host anywhere.
const DOMAINS: [&[u8]; 19] = [
    b"com", b"net", b"org", b"edu", b"gov", b"mil", b"info", b"biz", b"ru", b"cn", b"de", b"uk", b"fr", b"jp", b"br",
    b"nl", b"xyz", b"test", b"example",
];

/// Return the length of the host after two slashes; `before` is the text before them. Without a scheme the name must
/// have a dot and must not follow a path.
fn host(text: &[u8], before: &[u8]) -> usize {
    if text.starts_with(b"{host}") {
        return 6;
    }
    let scheme = before.last() == Some(&b':');
    if scheme {
        let name = &before[..before.len() - 1];
        let letters = name.iter().rev().take(words::MAX_BYTES).take_while(|byte| byte.is_ascii_lowercase()).count();
        if HOSTLESS.contains(&&name[name.len() - letters..]) {
            return 0;
        }
    } else if before.last().is_some_and(|byte| matches!(byte, b'.' | b'/' | b'\\')) {
        return 0;
    }
    let (name, dotted) = dotted(text);
    if name > 0 && (scheme || dotted > 0) { name + port(&text[name..]) } else { 0 }
}

/// Return the length of a name of letters, digits, hyphens and single dots, and of its last part if it has several.
fn dotted(text: &[u8]) -> (usize, usize) {
    let (mut length, mut last) = (0, 0);
    loop {
        let part = text[length..]
            .iter()
            .take_while(|&&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
            .count();
        if part == 0 {
            return (length.saturating_sub(1), last);
        }
        last = if length > 0 { part } else { 0 };
        length += part;
        if text.get(length) != Some(&b'.') {
            return (length, last);
        }
        length += 1;
    }
}

/// Return the length of a port.
fn port(text: &[u8]) -> usize {
    let digits = text.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
    if text.first() == Some(&b':') && digits > 0 { 1 + digits } else { 0 }
}

/// Return the length of the name at the start if its top-level domain is known.
fn domain(text: &[u8]) -> Option<usize> {
    let (length, last) = dotted(text);
    let is_listed = last > 0 && DOMAINS.contains(&&text[length - last..length]);
    let ends = !text.get(length).is_some_and(|&byte| in_word(byte) || matches!(byte, b'(' | b'.'));
    (is_listed && ends).then(|| length + port(&text[length..]))
}

/// Codes of variables and their text.
const WILDCARDS: [(Symbol, &str); 5] =
    [(INT, "{int}"), (HEX, "{hex}"), (NAME, "{name}"), (HOST, "{host}"), (TEXT, "{text}")];

fn wildcard(rest: &[u8]) -> Option<(Symbol, usize)> {
    let result = WILDCARDS.iter().find(|(_, text)| rest.starts_with(text.as_bytes()));
    result.map(|&(symbol, text)| (symbol, text.len()))
}

/// Return the text of a token.
pub(crate) fn written(symbol: Symbol) -> &'static str {
    static SIGNS: OnceLock<Vec<String>> = OnceLock::new();
    match symbol {
        WORD.. => words::text(symbol - WORD),
        0 => "%00",
        ALERT => "alert()",
        DOTS => "..",
        SLASHES => "//",
        BARS => "||",
        AMPERSANDS => "&&",
        _ => match WILDCARDS.iter().find(|(typed, _)| *typed == symbol) {
            Some((_, text)) => text,
            None => &SIGNS.get_or_init(|| (0..256_u32).filter_map(char::from_u32).map(String::from).collect())
                [usize::from(symbol) % 256],
        },
    }
}

/// Return true if a space must separate two tokens: between words, and if the two would be scanned differently without
/// it.
pub(crate) fn spaced(before: Symbol, after: Symbol) -> bool {
    let sign = |symbol: Symbol, signs: &[u8]| u8::try_from(symbol).is_ok_and(|byte| signs.contains(&byte));
    if sign(before, b"+%&\\")
        || matches!(before, AMPERSANDS | BARS)
        || sign(after, b"+%&")
        || matches!(after, AMPERSANDS | BARS)
    {
        return true;
    }
    if sign(before, b"$") && written(after).starts_with("ifs") {
        return true;
    }
    if is_wordish(after) {
        return is_wordish(before) || sign(before, b"){;,");
    }
    (is_wordish(before) && sign(after, b"*$"))
        || written(before).as_bytes().last() == written(after).as_bytes().first()
        || (sign(before, b"/") && sign(after, b"*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let mut tokens = Tokens::default();
        tokens.read(text.as_bytes());
        tokens.all.iter().map(|token| written(token.symbol)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tokens_are_typed() {
        for (text, tokens) in [
            ("1' union  select\t0x41,2.5,3e4,ab12--", "{int} union select {hex} , {int} , {name} -"),
            ("<a href=\"http://a.b:80/x.js\">a</a>", "< a href = http : // {host} / {name} . js > {name} < / a >"),
            ("//evil.com/ //../x file:///etc/passwd", "// {host} / .. / {name} file : / etc / passwd"),
            ("prompt(1) vbscript:x", "alert ( {int} ) javascript : {name}"),
            ("a%00||b&&c...d {int}{name} {x}", "{name} %00 || {name} .. {name} {int} {name} { {name} }"),
            ("12abc 0xzz 0x_ 5 6 7", "{name} {int}"),
            (
                "ping 10.0.0.1:80 a-b.example.com php://input ....//boot.ini",
                "ping {host} php : / input .. / boot . ini",
            ),
            ("http://localhost/x document.cookie a.b.com(", "http : // {host} / {name} document . cookie {name} ("),
        ] {
            assert_eq!(tokens, read(text), "{text}");
        }
    }

    #[test]
    fn repeats_collapse() {
        for (text, tokens) in [
            ("null,null,null", "null"),
            ("../../../../etc", ".. / etc"),
            ("chr(1)||chr(2)||chr(3)", "chr ( {int} )"),
            ("((((1))))", "( {int} )"),
            ("<td><td><td>", "< td >"),
            ("select 1 from dual,select 2 from dual", "select {int} from dual"),
        ] {
            assert_eq!(tokens, read(text), "{text}");
        }
        let mut tokens = Tokens::default();
        tokens.read("/etc".repeat(100_000).as_bytes());
        assert_eq!((2, false), (tokens.all.len(), tokens.cut));
        // A sequence without repeats (Thue) is bounded by its length alone.
        let free: String = (0..4 * MAX_TOKENS)
            .map(|i: usize| if i.count_ones().is_multiple_of(2) { "cat " } else { "dir ls " })
            .collect();
        tokens.read(free.as_bytes());
        assert!(tokens.all.len() <= MAX_TOKENS);
    }
}
