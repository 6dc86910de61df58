//! Source code in any language: its words with folded names ([`fold`]), and its functions ([`functions`]).
//!
//! A lexer of character classes ([`Tokens`]) knows no grammar:
//!
//! | class | token |
//! |---|---|
//! | name | a letter, `_`, `$` or a character beyond ASCII, then also digits |
//! | number | a digit, then also letters, `_`, a point before a digit, and a sign after `e` |
//! | text | `"…"` and `'…'` on one line, `` `…` ``, `"""…"""` and `'''…'''`, with a prefix of one or two letters |
//! | sign | any other visible character |
//!
//! Comments are left out: `#` (unless `#[`, `#!` or a directive of C follows), `//` (unless after `:`), `/*…*/`, `--`
//! between white space, and triple quotes that begin a line (docstrings). A quote or `/*` that is never closed is a
//! sign. A backslash outside of texts is white space.
//!
//! **Words.** A number becomes `0`, a text `"`. A name is kept if it is a keyword of a common language, if `.`, `->` or
//! `::` precedes it (an attribute), or if `(` follows it and no `def`, `class` or the like precedes it (a call). Any
//! other name becomes `_`. So the names that an author is free to choose are equal, and the names of what the code uses
//! remain: without them, all getters would be one function. The few names of a short code do not tell it from others of
//! the same shape, so a code of fewer than 40 tokens is one word, with its numbers and texts.
//!
//! **Functions.** A header begins a line. It has a word such as `def`, `fn` or `class` after other names alone, or
//! `function` or `=>` anywhere, or a pair of parentheses and no `=` and no word such as `if`. With a brace at its end,
//! the function ends with the brace that closes it, or with a `}` that begins a line and is no further indented than
//! the header. Without one, it ends before the next line that is no further indented, or with it if it begins with
//! `end` or `}`. Decorators belong to a function, functions within it too. A class is a unit if it has no functions.
//!
//! Cost: one pass. A search for a quote that is not closed is not repeated, so the pass is linear for any text.

use std::ops::Range;

use crate::cancel::CancelToken;
use crate::text::unicode::SLACK;
use crate::{Result, alloc};

/// Keywords and names of basic types that folding keeps, in order; without those that are frequent names of variables.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "bool", "break", "case", "catch", "class", "const", "continue", "def",
    "del", "delete", "do", "double", "elif", "else", "elseif", "elsif", "enum", "except", "export", "extends",
    "extern", "false", "finally", "float", "for", "foreach", "from", "global", "goto", "if", "impl", "implements",
    "import", "in", "instanceof", "int", "interface", "is", "lambda", "let", "long", "mut", "namespace", "nil",
    "none", "nonlocal", "not", "null", "nullptr", "or", "pass", "private", "protected", "pub", "public", "raise",
    "rescue", "return", "self", "short", "sizeof", "static", "struct", "super", "switch", "this", "throw", "throws",
    "trait", "true", "try", "typedef", "typeof", "undefined", "unless", "unsafe", "unsigned", "until", "using",
    "virtual", "void", "while", "with", "yield",
];
/// Tokens of the shortest code that has several words. Of functions of wheels that were chosen for it, those of 20 to 40
/// tokens were matched wrongly twice as often as longer ones.
const MIN_TOKENS: usize = 40;
/// Words before the name of a function, and of a type.
const FUNCTIONS: [&[u8]; 4] = [b"def", b"fn", b"func", b"function"];
const TYPES: [&[u8]; 7] = [b"class", b"struct", b"enum", b"trait", b"interface", b"impl", b"union"];
/// Words of statements with parentheses and a block.
#[rustfmt::skip]
const STATEMENTS: [&[u8]; 14] = [
    b"if", b"for", b"foreach", b"while", b"switch", b"catch", b"else", b"elif", b"do", b"try", b"with", b"using",
    b"return", b"match",
];
/// Words after `#` in C.
const DIRECTIVES: [&[u8]; 11] =
    [b"include", b"define", b"undef", b"if", b"ifdef", b"ifndef", b"elif", b"else", b"endif", b"pragma", b"error"];
/// Pairs of a quote and what closes it; the last three may not span lines if they are single.
const QUOTES: [&[u8]; 5] = [b"\"\"\"", b"'''", b"`", b"\"", b"'"];
const LINE_QUOTES: usize = 3;

/// The class of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Name,
    Number,
    Text,
    Sign,
}

/// A token of a code.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    range: Range<usize>,
    class: Class,
    /// Bytes between the line break before it and the token, if nothing but white space is between them.
    indent: Option<usize>,
}

/// The tokens of a code, without comments.
struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    /// Start of the line, until it has a token.
    line: Option<usize>,
    /// For each quote, and for `/*`, the position up to which none is closed.
    unclosed: [usize; QUOTES.len() + 1],
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0, line: Some(0), unclosed: [0; QUOTES.len() + 1] }
    }

    /// Return the position after the first byte from `from` on that is not in the class.
    fn run(&self, from: usize, is_in: impl Fn(u8) -> bool) -> usize {
        from + self.text[from..].iter().take_while(|&&byte| is_in(byte)).count()
    }

    /// Return the end of what begins before `from`: after the next `close`; None if it is not closed.
    fn closed(&mut self, number: usize, from: usize, close: &[u8], on_line: bool) -> Option<usize> {
        if from <= self.unclosed[number] {
            return None;
        }
        let mut at = from;
        while at < self.text.len() && !(on_line && self.text[at] == b'\n') {
            if self.text[at..].starts_with(close) {
                return Some(at + close.len());
            }
            // A backslash escapes a quote, and continues a line.
            at += if self.text[at] == b'\\' && number < QUOTES.len() { 2 } else { 1 };
        }
        self.unclosed[number] = at;
        None
    }

    /// Return the end of the text whose quotes are at `at`, and true if they are triple.
    fn quoted(&mut self, at: usize) -> Option<(usize, bool)> {
        let number = QUOTES.iter().position(|quote| self.text[at..].starts_with(quote))?;
        // A lifetime of Rust: `<'a` or `&'a`.
        if number == 4 && at > 0 && matches!(self.text[at - 1], b'<' | b'&') {
            let end = self.run(at + 1, is_name);
            if end > at + 1 && self.text.get(end) != Some(&b'\'') {
                return None;
            }
        }
        let quote = QUOTES[number];
        match self.closed(number, at + quote.len(), quote, number >= LINE_QUOTES) {
            Some(end) => Some((end, number < 2)),
            // Three quotes that are not closed are an empty text and a quote.
            None if number < 2 => Some((at + 2, false)),
            None => None,
        }
    }

    /// Return the end of the comment that begins at `at`.
    fn comment(&mut self, at: usize) -> Option<usize> {
        let before = at.checked_sub(1).map_or(b'\n', |before| self.text[before]);
        let rest = &self.text[at + 1..];
        let next = rest.first().copied().unwrap_or(b'\n');
        let is_line = match self.text[at] {
            b'#' => {
                let word = &rest[..rest.iter().take_while(|&&byte| is_name(byte)).count()];
                let directive = self.line.is_some() && DIRECTIVES.contains(&word);
                !directive && before != b'.' && next != b'[' && !(next == b'!' && rest.get(1) == Some(&b'['))
            }
            b'/' if next == b'*' => return self.closed(QUOTES.len(), at + 2, b"*/", false),
            b'/' => next == b'/' && before != b':',
            b'-' => next == b'-' && before <= b' ' && rest.get(1).is_none_or(|&after| after <= b' '),
            _ => false,
        };
        is_line.then(|| self.run(at, |byte| byte != b'\n'))
    }

    /// Return the end of the token at `at`, and its class; None for a comment, whose end is returned alone.
    fn token(&mut self, at: usize) -> (usize, Option<Class>) {
        let byte = self.text[at];
        if let Some(end) = self.comment(at) {
            return (end, None);
        }
        if byte.is_ascii_digit() {
            let mut end = self.run(at, is_name);
            loop {
                let signed =
                    matches!(self.text[end - 1], b'e' | b'E') && matches!(self.text.get(end), Some(b'+' | b'-'));
                let joined = signed || self.text.get(end) == Some(&b'.');
                if !joined || !self.text.get(end + 1).is_some_and(u8::is_ascii_digit) {
                    return (end, Some(Class::Number));
                }
                end = self.run(end + 1, is_name);
            }
        }
        let end = if is_name(byte) { self.run(at, is_name) } else { at };
        let mut quoted = None;
        if end - at <= 2 && matches!(self.text.get(end), Some(b'"' | b'\'' | b'`')) {
            quoted = self.quoted(end);
        }
        match quoted {
            // Triple quotes that begin a line document what is before or after them.
            Some((end, triple)) => (end, (!triple || self.line.is_none()).then_some(Class::Text)),
            None if end > at => (end, Some(Class::Name)),
            None => (at + 1, Some(Class::Sign)),
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let start = self.at;
            let &byte = self.text.get(start)?;
            if byte == b'\n' {
                self.line = Some(start + 1);
            }
            if byte <= b' ' || matches!(byte, b'\\' | 0x7f) {
                self.at += 1;
                continue;
            }
            let (end, class) = self.token(start);
            self.at = end;
            if let Some(class) = class {
                let indent = self.line.take().map(|line| start - line);
                return Some(Token { range: start..end, class, indent });
            }
        }
    }
}

/// Write the words of a code to `out` (cleared first), separated by spaces, with capacity for `SLACK` more bytes; a short
/// code is one word if `joined` is true. Call `each(range, end)` with the range of each token in `text`, and its end in `out`. The words of a long text may be
/// incomplete after cancellation.
///
/// # Errors
/// Memory runs out.
pub(crate) fn fold(
    text: &str,
    joined: bool,
    out: &mut String,
    cancel: &CancelToken,
    each: impl FnMut(Range<usize>, usize),
) -> Result<()> {
    let short = joined && Tokens::new(text).nth(MIN_TOKENS - 1).is_none();
    fold_as(text, short, out, cancel, each)
}

fn fold_as(
    text: &str,
    short: bool,
    out: &mut String,
    cancel: &CancelToken,
    mut each: impl FnMut(Range<usize>, usize),
) -> Result<()> {
    out.clear();
    // No word is longer than its token, and each has a separator.
    alloc::try_reserve_str(out, 2 * text.len() + SLACK)?;
    let bytes = text.as_bytes();
    let (mut used, mut defined) = (false, false);
    for Token { range, class, .. } in cancel.often(Tokens::new(text)) {
        let token = &text[range.clone()];
        let call = || bytes[range.end..].iter().find(|&&byte| byte != b' ') == Some(&b'(') && !defined;
        let word = match class {
            Class::Number if !short => "0",
            Class::Text if !short => "\"",
            Class::Number | Class::Text | Class::Sign => token,
            Class::Name if used || call() || KEYWORDS.binary_search(&token).is_ok() => token,
            Class::Name => "_",
        };
        // `::` and `->`: the sign before is not needed.
        used = class == Class::Sign && matches!(bytes[..range.end], [.., b'.'] | [.., b':', b':'] | [.., b'-', b'>']);
        defined = defines(token.as_bytes());
        if !out.is_empty() {
            out.push(if short { '\n' } else { ' ' });
        }
        if short && class == Class::Text {
            // Quotes, prefixes and white space are style.
            let quoted = token.trim_start_matches(|c| !matches!(c, '"' | '\'' | '`'));
            out.push('"');
            out.extend(quoted.chars().filter(|&c| !c.is_ascii() || is_name(c as u8)));
        } else {
            out.push_str(word);
        }
        each(range, out.len());
    }
    Ok(())
}

/// What a statement begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Function,
    Type,
    /// A function if it has parentheses and a brace follows.
    Unknown,
    Other,
}

/// A statement so far, or the function or type that began with it.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: usize,
    indent: usize,
    kind: Kind,
    /// Parentheses and braces around it.
    parens: usize,
    braces: usize,
    /// It has a pair of parentheses.
    called: bool,
    /// Its line is that of a decorator.
    decorated: bool,
    /// It ends with a brace, not by its indentation.
    braced: bool,
}

/// A search for functions, token by token.
#[derive(Default)]
struct Functions {
    parens: usize,
    braces: usize,
    /// The statement, unless a function is open.
    header: Option<Block>,
    /// The open function, or the innermost open type, which has no function so far.
    body: Option<Block>,
    /// End of the token before.
    end: usize,
}

/// Call `each` with the range of each function, and of each type without functions, in order; they do not overlap.
pub(crate) fn functions(text: &str, cancel: &CancelToken, mut each: impl FnMut(Range<usize>)) {
    let mut search = Functions::default();
    for token in cancel.often(Tokens::new(text)) {
        if !search.ends(text.as_bytes(), &token, &mut each) {
            search.read(text.as_bytes(), &token);
        }
        search.end = token.range.end;
    }
    if let Some(block) = search.body {
        each(block.start..search.end);
    }
}

fn defines(word: &[u8]) -> bool {
    FUNCTIONS.contains(&word) || TYPES.contains(&word)
}

impl Functions {
    /// End the open body before the token or with it; true if the token belongs to the body of a function.
    fn ends(&mut self, text: &[u8], token: &Token, each: &mut impl FnMut(Range<usize>)) -> bool {
        let word = &text[token.range.clone()];
        let Some(body) = self.body else { return false };
        let outside = word == b"}" || !body.braced && self.parens <= body.parens && word != b"{";
        if outside && token.indent.is_some_and(|indent| indent <= body.indent) {
            let closes = word == b"}" || word == b"end";
            (self.parens, self.braces, self.body, self.header) = (body.parens, body.braces, None, None);
            each(body.start..if closes { token.range.end } else { self.end });
            return closes;
        }
        if body.kind == Kind::Type && word != b"}" {
            return false;
        }
        self.count(token, word);
        if body.braced && self.braces <= body.braces {
            (self.parens, self.body, self.header) = (body.parens, None, None);
            each(body.start..token.range.end);
        }
        true
    }

    fn count(&mut self, token: &Token, word: &[u8]) {
        match word {
            _ if token.class != Class::Sign => {}
            b"(" | b"[" => self.parens += 1,
            b")" | b"]" => self.parens = self.parens.saturating_sub(1),
            b"{" => self.braces += 1,
            b"}" => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
    }

    /// Begin a statement.
    fn begin(&mut self, text: &[u8], token: &Token, indent: usize) {
        let start = token.range.start;
        let decorated = text[start] == b'@' || text[start..].starts_with(b"#[");
        let (kind, parens, braces) = (Kind::Unknown, self.parens, self.braces);
        self.header = Some(Block { start, indent, kind, parens, braces, called: false, decorated, braced: false });
    }

    /// Add a token to the statement, or begin one with it; open the body that the statement begins.
    fn read(&mut self, text: &[u8], token: &Token) {
        let word = &text[token.range.clone()];
        if let Some(indent) = token.indent {
            match &mut self.header {
                Some(header) if self.parens > header.parens && indent <= header.indent && defines(word) => {
                    // A parenthesis was never closed.
                    self.parens = header.parens;
                    self.begin(text, token, indent);
                }
                Some(header) if self.parens > header.parens => {}
                Some(header) if header.decorated => header.decorated = matches!(word, b"@" | b"#"),
                Some(header)
                    if header.kind != Kind::Other && matches!(word, b"{" | b":" | b"-" | b"where" | b"throws") => {}
                Some(header) if matches!(header.kind, Kind::Function | Kind::Type) && indent > header.indent => {
                    self.body = self.header.take();
                    if self.body.is_some_and(|body| body.kind == Kind::Function) {
                        return self.count(token, word);
                    }
                    self.begin(text, token, indent);
                }
                _ => self.begin(text, token, indent),
            }
        }
        self.count(token, word);
        let Some(header) = self.header.as_mut().filter(|header| header.parens == self.parens) else { return };
        match word {
            b"{" => {
                header.braced = true;
                if header.kind == Kind::Unknown && header.called {
                    header.kind = Kind::Function;
                }
                if matches!(header.kind, Kind::Function | Kind::Type) {
                    self.body = self.header;
                }
                self.header = None;
            }
            b";" | b"}" => self.header = None,
            b":" if matches!(header.kind, Kind::Function | Kind::Type) => self.body = self.header.take(),
            b")" => header.called = true,
            b"function" => header.kind = Kind::Function,
            b">" if text[..token.range.start].ends_with(b"=") => header.kind = Kind::Function,
            b"=" if header.kind == Kind::Unknown => header.kind = Kind::Other,
            _ if header.kind != Kind::Unknown => {}
            _ if STATEMENTS.contains(&word) => header.kind = Kind::Other,
            _ if FUNCTIONS.contains(&word) => header.kind = Kind::Function,
            _ if TYPES.contains(&word) => header.kind = Kind::Type,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(text: &str) -> String {
        let mut out = String::new();
        fold_as(text, false, &mut out, &CancelToken::default(), |_, _| {}).expect("room");
        out
    }

    fn found(text: &str) -> Vec<&str> {
        let mut ranges = Vec::new();
        functions(text, &CancelToken::default(), |range| ranges.push(range));
        ranges.into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn keywords_are_in_order() {
        assert!(KEYWORDS.is_sorted());
    }

    #[test]
    fn names_and_literals_are_folded_and_comments_left_out() {
        for (text, expected) in [
            ("def area(w, h=2.5e-3):\n    '''Doc.'''\n    return w*h # it", "def _ ( _ , _ = 0 ) : return _ * _"),
            ("total.append(len(rows[0]['id']))", "_ . append ( len ( _ [ 0 ] [ \" ] ) )"),
            ("x = f'{a}' + rb\"\\\"\" \"\"\"b\n'\"\"\"", "_ = \" + \" \""),
            ("int f(T *p) { return p->n /* // */ - 0x1F; } // end", "int f ( _ * _ ) { return _ - > n - 0 ; }"),
            (
                "#include <a.h>\n#[test]\n# note\nfn f<'a>(x: &'a u8) {}",
                "# _ < _ . h > # [ _ ] _ _ < ' _ > ( _ : & ' _ _ ) { }",
            ),
            ("SELECT a -- note\nFROM t WHERE i--; 1..2", "_ _ from _ _ _ - - ; 0 . . 0"),
            ("don't 'open\n\"open\n/* open `x", "_ \" _ \" _ / * _ ` _"),
            ("变量 = 值.长度", "_ = _ . 长度"),
            ("a \\\n + b", "_ + _"),
            ("# only", ""),
        ] {
            assert_eq!(expected, folded(&text.to_lowercase()), "{text:?}");
        }
    }

    #[test]
    fn a_short_code_is_one_word_with_its_literals() {
        let mut out = String::new();
        for (text, words) in [("return a['b c']", 1), (&"f(a[1]);".repeat(4), 1), (&"f(a[1]); ".repeat(6), 48)] {
            fold(text, true, &mut out, &CancelToken::default(), |_, _| {}).expect("room");
            assert_eq!(words, out.split(' ').count(), "{out}");
            assert_eq!(words > 1, !out.contains(['1', 'b']), "{out}");
        }
    }

    #[test]
    fn functions_end_by_indentation_or_braces() {
        let python = "import a\n\n@b(1)\ndef f(\n    x,\n) -> d[int]:\n    y = {\n    }\n    def g():\n        pass\n    return y\n\nclass C:\n    n = 1\n\n    async def h(self): return 1\n    m = 2\n\nclass D:\n    n = 1\n\nf()\n";
        assert_eq!(
            vec![
                "@b(1)\ndef f(\n    x,\n) -> d[int]:\n    y = {\n    }\n    def g():\n        pass\n    return y",
                "async def h(self): return 1",
                "class D:\n    n = 1",
            ],
            found(python)
        );
        let braces = "#include <a>\nstatic int f(int a)\n{\n#if X\n  if (a) {\n#endif\n    g(a);\n  }\n}\n\nint g(int);\nimpl A for B {\n    #[inline]\n    pub fn h<T>(x: T) -> u8\n    where\n        T: Y,\n    {\n        if x {}\n    }\n}\nstruct S { int a; };\n";
        assert_eq!(
            vec![
                "static int f(int a)\n{\n#if X\n  if (a) {\n#endif\n    g(a);\n  }\n}",
                "#[inline]\n    pub fn h<T>(x: T) -> u8\n    where\n        T: Y,\n    {\n        if x {}\n    }",
                "struct S { int a; }",
            ],
            found(braces)
        );
        let script = "const a = (x) => {\n  return x;\n};\nif (b) {\n  c();\n}\nobject.d = function (y) { return { y }; };\nclass E {\n  get(z) {\n    return z;\n  }\n}\nfor (const i of k) { l(i); }\n";
        assert_eq!(
            vec![
                "const a = (x) => {\n  return x;\n}",
                "object.d = function (y) { return { y }; }",
                "get(z) {\n    return z;\n  }",
            ],
            found(script)
        );
        let ruby = "class A\n  def b(c)\n    d = { e: 1 }\n    d\n  end\nend\nlocal function f(x)\n  return x\nend\n";
        assert_eq!(
            vec!["def b(c)\n    d = { e: 1 }\n    d\n  end", "local function f(x)\n  return x\nend"],
            found(ruby)
        );
    }

    proptest! {
        #[test]
        fn any_text_has_words_and_functions_in_order(text in "([a-f (){}\\[\\]\"'`/*#\\\\.:;=>@\n-]|\"\"\"|def |class |é|0)*") {
            let mut at = 0;
            let mut out = String::new();
            fold(&text, true, &mut out, &CancelToken::default(), |range, _| {
                assert!(at <= range.start && range.start < range.end);
                at = range.end;
            })
            .expect("room");
            prop_assert!(out.len() <= 2 * text.len());
            let mut at = 0;
            functions(&text, &CancelToken::default(), |range| {
                assert!(at <= range.start && range.start < range.end && text.is_char_boundary(range.end));
                at = range.end;
            });
        }
    }
}
