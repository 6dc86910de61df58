//! The template of a payload: its typed tokens, without the code that breaks in and out of the injection point.
//!
//! ```text
//! 1%')) AND 4911=DBMS_PIPE.RECEIVE_MESSAGE(CHR(112)||CHR(65),5) AND (('%'='
//! ────────────── ───────────────────────────────────────────── ─────────────
//! head           ={…} : the template  = dbms_pipe.receive_message(chr({int}),{int}   tail
//! ```
//! The *head* is the closed value, closing symbols, a conjunction, and tautologies that only complete the statement.
//! The *tail* is comments, tautologies, and symbols that open or close. Both are kept as variables. They are removed
//! as long as something with content is left: a known word, a call that shows a message, `../`. A payload that is
//! nothing but a tautology has the template `or {int}={int}`; values and symbols of plain text are `{text}`.
//!
//! Before that, calls that show a message lose their argument, and meaningless attributes (`id=x`, and unknown names)
//! are removed.

use std::cell::RefCell;

use super::decode::{Decoder, Layer};
use super::tokens::{
    ALERT, AMPERSANDS, BARS, DOTS, HEX, HOST, INT, NAME, Symbol, TEXT, Token, Tokens, WORD, is_wordish, keywords,
    spaced, written,
};
use crate::batch::Batch;
use crate::kinds::Kind;

/// Maximum number of rewriting rounds.
const ROUNDS: usize = 6;
/// Maximum number of tokens of a tautology at the end.
const TAUTOLOGY: usize = 12;

/// A scanner with reusable buffers, and the template of the last payload.
#[derive(Clone, Debug, Default)]
pub struct Scanner {
    decoder: Decoder,
    tokens: Tokens,
    spare: Tokens,
    /// Names of the layers.
    layers: String,
}

/// Return the symbol of a byte.
const fn sign(byte: u8) -> Symbol {
    byte as Symbol
}

fn is_value(symbol: Symbol) -> bool {
    matches!(symbol, INT | HEX | NAME | HOST)
        || symbol == sign(b'%')
        || symbol == sign(b'*')
        || symbol == keywords().null
}

fn is_operator(symbol: Symbol) -> bool {
    [sign(b'='), sign(b'<'), sign(b'>'), sign(b'!')].contains(&symbol) || keywords().operators.contains(&symbol)
}

fn is_conjunction(symbol: Symbol) -> bool {
    [sign(b'&'), sign(b'|'), AMPERSANDS, BARS].contains(&symbol) || keywords().conjunctions.contains(&symbol)
}

/// Return true if a token describes the action of an attack.
fn has_meaning(symbol: Symbol) -> bool {
    let keywords = keywords();
    let empty = [keywords.not, keywords.r#as, keywords.null, keywords.is, keywords.like];
    symbol == ALERT || (symbol >= WORD && !empty.contains(&symbol) && !keywords.conjunctions.contains(&symbol))
}

/// Return true if the tokens have content.
fn has_content(tokens: &[Token]) -> bool {
    tokens.iter().any(|token| has_meaning(token.symbol))
        || tokens.windows(2).any(|pair| pair[0].symbol == DOTS && [sign(b'/'), sign(b'\\')].contains(&pair[1].symbol))
}

/// Return the number of tokens of a comparison of values at the start, including brackets; 0 if there is none.
fn tautology(tokens: &[Token]) -> usize {
    let run = |from: usize, is: &dyn Fn(Symbol) -> bool| {
        from + tokens[from..].iter().take_while(|token| is(token.symbol)).count()
    };
    let values = run(0, &|symbol| symbol == sign(b'(') || symbol == keywords().not);
    let operator = run(values, &is_value);
    let right = run(operator, &is_operator);
    if right == operator || operator == values {
        return 0;
    }
    run(run(right, &is_value), &|symbol| symbol == sign(b')'))
}

/// Return true if the tokens start with these symbols.
fn begins(tokens: &[Token], with: &[Symbol]) -> bool {
    tokens.len() >= with.len() && tokens.iter().zip(with).all(|(token, &symbol)| token.symbol == symbol)
}

/// Return the number of tokens at the start that belong to the head.
fn head(tokens: &[Token]) -> usize {
    let keywords = keywords();
    let first = tokens[0].symbol;
    let at = |position: usize| tokens.get(position).map(|token| token.symbol);
    if first == keywords.r#where || first == keywords.having {
        return 1 + tautology(&tokens[1..]);
    }
    let slash = sign(b'/');
    let phrases: [&[Symbol]; 4] = [
        &[keywords.r#in, keywords.boolean, keywords.mode],
        &[slash, keywords.usr, slash, keywords.bin, slash],
        &[keywords.usr, slash, keywords.bin, slash],
        &[slash, keywords.bin, slash],
    ];
    if let Some(phrase) = phrases.into_iter().find(|phrase| begins(tokens, phrase)) {
        return phrase.len();
    }
    if begins(tokens, &[keywords.from, keywords.dual]) || (first == keywords.r#as && tokens.len() > 1) {
        return 2;
    }
    // A tautology with something after it.
    let length = tautology(tokens);
    let valued = length > 0 && length < tokens.len() && is_value(tokens[length - 1].symbol);
    if valued
        && (is_conjunction(tokens[length].symbol)
            || tokens[length].symbol == sign(b';')
            || has_meaning(tokens[length].symbol))
    {
        return length;
    }
    let joins = [sign(b'+'), sign(b'|'), BARS].contains(&first);
    if joins && begins(&tokens[1..], &[sign(b'('), keywords.select, NAME]) {
        return 4;
    }
    if begins(tokens, &[sign(b'<'), sign(b'/')]) && at(3) == Some(sign(b'>')) {
        return 4;
    }
    // A tag without attributes, followed by another tag.
    if first == sign(b'<') && at(1).is_some_and(is_wordish) && at(2) == Some(sign(b'>')) && at(3) == Some(sign(b'<')) {
        return 3;
    }
    if begins(tokens, &[sign(b'<'), sign(b'<')]) {
        return 1;
    }
    let signs = u8::try_from(first).is_ok_and(|byte| b"%),;|&-+>?}]:#~\\!@^(\0".contains(&byte));
    let value = is_value(first) && first != sign(b'*');
    usize::from(signs || value || [BARS, AMPERSANDS, keywords.and, keywords.or, keywords.xor].contains(&first))
}

/// Return the number of tokens at the end that belong to the tail.
fn tail(tokens: &[Token]) -> usize {
    let keywords = keywords();
    let n = tokens.len();
    let at = |back: usize| n.checked_sub(back).map_or(0, |position| tokens[position].symbol);
    if begins(&tokens[n.saturating_sub(4)..], &[sign(b'<'), sign(b'/')]) && n > 4 && at(1) == sign(b'>') {
        return 4;
    }
    let signs = u8::try_from(at(1)).is_ok_and(|byte| b"-#;(|&+%*!/,<>\\\0".contains(&byte));
    let count = |byte: u8| tokens.iter().filter(|token| token.symbol == sign(byte)).count();
    let closing = at(1) == sign(b')') && count(b')') > count(b'(');
    let text_of_tag = at(2) == sign(b'>') && matches!(at(1), NAME | INT) && count(b'<') > 0;
    if signs || closing || matches!(at(1), BARS | AMPERSANDS) || text_of_tag {
        return 1;
    }
    let valued = at(2) == sign(b';') && is_value(at(1));
    let named = at(1) == NAME && [sign(b'-'), sign(b'#')].contains(&at(2));
    let dual = at(2) == keywords.from && at(1) == keywords.dual;
    if n > 2 && (valued || named || dual || at(2) == keywords.r#as) {
        return 2;
    }
    for position in n.saturating_sub(TAUTOLOGY).max(1)..n {
        let length = if is_conjunction(tokens[position].symbol) { tautology(&tokens[position + 1..]) } else { 0 };
        if length > 0 && position + 1 + length == n {
            return n - position;
        }
    }
    usize::from(at(1) == sign(b'='))
}

/// Return the range of tokens between head and tail.
fn strip(tokens: &[Token]) -> std::ops::Range<usize> {
    let (mut start, mut end) = (0, tokens.len());
    loop {
        let before = (start, end);
        while end - start > 1 {
            let length = head(&tokens[start..end]).min(end - start);
            if length == 0 || !has_content(&tokens[start + length..end]) {
                break;
            }
            start += length;
        }
        while end - start > 1 {
            let length = tail(&tokens[start..end]);
            if length == 0 || !has_content(&tokens[start..end - length]) {
                break;
            }
            end -= length;
        }
        if (start, end) == before {
            return start..end;
        }
    }
}

/// Return true if the tokens are a condition and nothing more.
fn is_tautology(tokens: &[Token]) -> bool {
    let only = |symbol: Symbol| {
        is_value(symbol)
            || is_operator(symbol)
            || is_conjunction(symbol)
            || keywords().clauses.contains(&symbol)
            || u8::try_from(symbol).is_ok_and(|byte| b"()-#+/;,\\\0".contains(&byte))
    };
    // Most payloads have a word, so the comparisons are looked for last.
    tokens.iter().all(|token| only(token.symbol))
        && tokens.iter().any(|token| is_conjunction(token.symbol) || token.symbol == sign(b'('))
        && (0..tokens.len()).any(|position| tautology(&tokens[position..]) > 0)
}

/// Return true if the tokens are several values and symbols of plain text, without content.
fn is_text(tokens: &[Token]) -> bool {
    let plain = |symbol: Symbol| {
        matches!(symbol, INT | HEX | NAME | HOST | TEXT | DOTS)
            || u8::try_from(symbol).is_ok_and(|byte| b",.;:!?()-/#&<>=+@_".contains(&byte))
    };
    tokens.len() > 1 && !has_content(tokens) && tokens.iter().all(|token| plain(token.symbol))
}

/// Replace the tokens if all of them are a tautology or plain text; return true if they are.
fn replace_uniform(tokens: &mut Tokens) -> bool {
    let Some((first, last)) = tokens.all.first().zip(tokens.all.last()) else { return true };
    let (start, end) = (first.start, last.end);
    let template = if is_tautology(&tokens.all) {
        &[keywords().or, INT, sign(b'='), INT][..]
    } else if is_text(&tokens.all) {
        &[TEXT]
    } else {
        return false;
    };
    tokens.clear();
    for &symbol in template {
        tokens.push(Token { symbol, start, end });
    }
    true
}

/// Return the end of the brackets that open at `at`, or the next start or end of a tag.
fn find_closing(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0;
    for (position, token) in tokens.iter().enumerate().skip(at) {
        match u8::try_from(token.symbol) {
            Ok(b'(') => depth += 1,
            Ok(b')') => depth -= 1,
            Ok(b'<' | b'>') => return position,
            _ => (),
        }
        if depth == 0 {
            return position + 1;
        }
    }
    tokens.len()
}

/// Return the symbol that replaces the tokens at `at`, and the number of tokens replaced.
fn rewrite(tokens: &[Token], at: usize, written: &[Token]) -> (Option<Symbol>, usize) {
    let keywords = keywords();
    let rest = &tokens[at..];
    let first = rest[0].symbol;
    let next = rest.get(1).map(|token| token.symbol);
    let before = written.last().map(|token| token.symbol);
    if first == keywords.alert && next == Some(sign(b'(')) {
        return (Some(ALERT), find_closing(tokens, at + 1) - at);
    }
    if first == keywords.alert && next == Some(ALERT) {
        return (None, 1);
    }
    if first == keywords.alert && next.is_some_and(is_value) {
        return (Some(ALERT), 2);
    }
    let called = begins(rest, &[keywords.eval, sign(b'('), ALERT])
        || begins(rest, &[keywords.eval, sign(b'('), keywords.alert, sign(b'(')]);
    if called {
        return (Some(ALERT), find_closing(tokens, at + 1) - at);
    }
    if begins(rest, &[keywords.document, sign(b'.'), keywords.cookie, sign(b'='), keywords.r#true]) {
        return (Some(ALERT), 5);
    }
    if before == Some(ALERT)
        && (matches!(u8::try_from(first), Ok(b';' | b')')) || (first == sign(b'/') && next != Some(keywords.script)))
    {
        return (None, 1);
    }
    let value = rest.get(2).is_some_and(|token| matches!(token.symbol, NAME | INT));
    if (first == NAME || keywords.attributes.contains(&first)) && next == Some(sign(b'=')) && value {
        let ended = rest
            .get(3)
            .is_none_or(|token| is_wordish(token.symbol) || [sign(b'>'), sign(b'/')].contains(&token.symbol));
        let open = written.len() > 1 && written.iter().any(|token| token.symbol == sign(b'<'));
        if ended && open && before.is_some_and(is_wordish) {
            return (None, 3);
        }
    }
    (Some(first), 1)
}

impl Scanner {
    /// Scan the template of a payload and return its tokens.
    pub(crate) fn tokens(&mut self, item: &[u8]) -> &[Token] {
        let Self { decoder, tokens, spare, .. } = self;
        tokens.read(decoder.decode(item));
        let mut cut = tokens.cut;
        for _ in 0..ROUNDS {
            if replace_uniform(tokens) {
                break;
            }
            spare.clear();
            let mut at = 0;
            while at < tokens.all.len() {
                let (symbol, taken) = rewrite(&tokens.all, at, &spare.all);
                if let Some(symbol) = symbol {
                    let end = tokens.all[at + taken - 1].end;
                    spare.push(Token { symbol, start: tokens.all[at].start, end });
                }
                at += taken;
            }
            cut |= spare.cut;
            let kept = strip(&spare.all);
            spare.all.truncate(kept.end);
            spare.all.drain(..kept.start);
            let same = spare.all.len() == tokens.all.len();
            std::mem::swap(tokens, spare);
            if same {
                replace_uniform(tokens);
                break;
            }
        }
        tokens.cut = cut;
        &self.tokens.all
    }

    /// Return the names of the removed layers, separated by commas.
    fn layers(&mut self) -> &str {
        self.layers.clear();
        let cut = (self.tokens.cut && !self.decoder.layers().contains(&Layer::Cut)).then_some(&Layer::Cut);
        for layer in self.decoder.layers().iter().chain(cut) {
            if !self.layers.is_empty() {
                self.layers.push(',');
            }
            self.layers.push_str(layer.name());
        }
        &self.layers
    }

    /// Return the template of the last payload as text.
    fn written(&self) -> String {
        let mut template = String::new();
        if self.tokens.all.is_empty() {
            template.push_str(&String::from_utf8_lossy(&signs(self.decoder.text())));
        }
        let mut before = None;
        for token in &self.tokens.all {
            if before.is_some_and(|before| spaced(before, token.symbol)) {
                template.push(' ');
            }
            template.push_str(written(token.symbol));
            before = Some(token.symbol);
        }
        template
    }

    /// Analyze a payload.
    pub fn read(&mut self, item: &[u8]) -> Reading {
        self.tokens(item);
        let (first, last) = self.ends();
        let text = self.decoder.text();
        let part = |bytes: &[u8]| bytes.trim_ascii().to_vec();
        let (head, tail) = (part(&text[..first]), part(&text[last..]));
        let decoded = text.to_vec();
        let values = self.tokens.all.iter().filter(|token| kind(token.symbol).is_some());
        let values = values.map(|token| decoded[token.start as usize..token.end as usize].to_vec()).collect();
        let layers = self.layers().to_owned();
        Reading { template: self.written(), layers, head, tail, values, decoded }
    }

    /// Return the start and end of the template in the decoded text.
    fn ends(&self) -> (usize, usize) {
        let (text, tokens) = (self.decoder.text(), &self.tokens.all);
        let first = tokens.first().map_or(text.len(), |token| token.start as usize);
        (first, tokens.last().map_or(text.len(), |token| token.end as usize).max(first))
    }

    /// Write the template of a payload: wildcards for layers, head and tail, then its tokens. Empty payloads are
    /// skipped. If no token is left, the quotation marks are the template.
    pub fn scan(&mut self, batch: &mut Batch, row: usize, item: &[u8]) {
        self.tokens(item);
        self.layers();
        let (text, tokens) = (self.decoder.text(), &self.tokens.all);
        let signs = if tokens.is_empty() { signs(text) } else { Vec::new() };
        if tokens.is_empty() && signs.is_empty() {
            return batch.skip(row, EMPTY);
        }
        let (first, last) = self.ends();
        batch.wildcard(Kind::Text, self.layers.as_bytes());
        batch.wildcard(Kind::Text, text[..first].trim_ascii());
        batch.wildcard(Kind::Text, text[last..].trim_ascii());
        batch.literal(&signs);
        let mut before = None;
        for token in tokens {
            if before.is_some_and(|before| spaced(before, token.symbol)) {
                batch.literal(b" ");
            }
            match kind(token.symbol) {
                Some(kind) => batch.wildcard(kind, &text[token.start as usize..token.end as usize]),
                None => batch.literal(written(token.symbol).as_bytes()),
            }
            before = Some(token.symbol);
        }
        batch.close(row, item);
    }
}

/// The analysis of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The template as text.
    pub template: String,
    /// Names of the removed layers, separated by commas.
    pub layers: String,
    /// Text before the template.
    pub head: Vec<u8>,
    /// Text after the template.
    pub tail: Vec<u8>,
    /// Values of the template's wildcards.
    pub values: Vec<Vec<u8>>,
    /// The decoded text.
    pub decoded: Vec<u8>,
}

/// The reason for skipping an empty payload.
pub const EMPTY: u8 = 0;

/// Return the quotation marks of a text without tokens: the first of each run, at most eight.
fn signs(text: &[u8]) -> Vec<u8> {
    let mut signs: Vec<u8> = text.iter().copied().filter(|byte| matches!(byte, b'\'' | b'"' | b'`')).collect();
    signs.dedup();
    signs.truncate(8);
    signs
}

/// Scan a payload with the buffers of this thread.
pub fn scan(batch: &mut Batch, row: usize, item: &[u8]) {
    SCANNER.with_borrow_mut(|scanner| scanner.scan(batch, row, item));
}

/// Analyze a payload with the buffers of this thread.
pub fn read(item: &[u8]) -> Reading {
    SCANNER.with_borrow_mut(|scanner| scanner.read(item))
}

thread_local! {
    static SCANNER: RefCell<Scanner> = RefCell::default();
}

/// Return the type of a token that is a variable.
pub(crate) fn kind(symbol: Symbol) -> Option<Kind> {
    match symbol {
        INT => Some(Kind::Int),
        HEX => Some(Kind::Hex),
        NAME => Some(Kind::Name),
        HOST => Some(Kind::Host),
        TEXT => Some(Kind::Text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payloads::groups;
    use proptest::prelude::*;

    fn template(item: &str) -> String {
        read(item.as_bytes()).template
    }

    #[test]
    fn ways_to_write_an_attack_have_one_template() {
        assert_eq!(("'", ""), (&*template(" '' "), &*template("${IFS} $IFS")));
        assert_eq!("$fs $if", template(&template("$'fs'$if")));
        let result = read(b"%2527 or sleep(5)-- x");
        assert_eq!(
            ("sleep({int})", "url,url", vec![b"5".to_vec()]),
            (&*result.template, &*result.layers, result.values)
        );
        assert_eq!(
            (b"' or".to_vec(), b"-- x".to_vec(), b"' or sleep(5)-- x".to_vec()),
            (result.head, result.tail, result.decoded)
        );
        for (expected, items) in [
            (
                "union all select null",
                &[
                    "1' UNION ALL SELECT NULL,NULL,NULL--",
                    "-7%')) union/**/all/**/select null-- abcd",
                    "1%27%29%20uNiOn%20aLl%20sElEcT%20null%23",
                    "1\" where 12=12 union all select null,null and (\"a\"=\"a",
                    "%2527+union+all+select+null%252cnull--",
                ][..],
            ),
            (
                "or {int}={int}",
                &["' or 1=1--", "\") or (\"a\"=\"a", "1) and 2=3 and (4=4", "' || 'x' like 'x", "-1 or 5<6#"],
            ),
            ("sleep({int})", &["1 and sleep(5)", "1') or sleep(12)#", "1%' && sleep(5) and '%'='"]),
            ("cat/etc/passwd", &["; cat /etc/passwd", "|/bin/cat /etc/passwd |", "a);cat${IFS}/etc/passwd;"]),
            (
                "<script>alert()",
                &[
                    "<script>alert(1)</script>",
                    "\"><script>prompt('xss')</script>",
                    "%3CsCript%3Ealert(document.cookie);%3C/script%3E",
                    "&lt;script&gt;confirm`1`&lt;/script&gt;",
                    "</title><scr\0ipt>alert(String.fromCharCode(88,83))//</script>",
                ],
            ),
            ("../etc/passwd", &["../../../../etc/passwd", "..%2f..%2fetc%2fpasswd%00", "....//....//etc/passwd"]),
        ] {
            for item in items {
                assert_eq!(expected, template(item), "{item}");
            }
        }
    }

    proptest! {
        #[test]
        fn scanning_is_idempotent(parts in prop::collection::vec(prop::sample::select(vec![
            "select", "union", "and", "or", "where", "1", "'", "(", ")", "=", "%", " ", "--", "#", "/", "*", "<", ">", "script", "alert",
            "document.cookie=true", "||", "|", "&", "&&", "..", ".", "abc", "x1", "0x41", "http://a.b", "//", "{", "}", "int", "{int}", "+",
            ",", ";", "null", "from dual", "as", "id=1", "\\", "usr", "bin", "like", "\0", "%00", "!", "-", "is", "not", ":", "lt", "u0041",
        ]), 0..24)) {
            let once = template(&parts.concat());
            prop_assert_eq!(&once, &template(&once));
        }

        #[test]
        fn any_bytes_have_a_template(item in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut scanner = Scanner::default();
            let mut batch = Batch::default();
            scanner.scan(&mut batch, 0, &item);
            prop_assert_eq!(1, batch.len() + batch.skipped().len());
            for (_, _, result, _) in batch.iter() {
                let text = groups::template_text(result).expect("a template");
                prop_assert_eq!(read(&item).template, String::from_utf8_lossy(&text));
            }
        }
    }
}
