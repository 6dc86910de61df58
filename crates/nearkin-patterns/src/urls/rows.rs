//! What the variables of a pattern hold: values of holes of forms, and the words that a slot took.
//!
//! A slot that equals a part has its holes; a slot of one hole has what stands in its place, be that a word, a hole or both. The
//! rows of a table of patterns are forms again, the pattern's own with the sums of those that it explains.

use std::collections::HashMap;

use super::parameters::Parameter;
use super::sites::{Named, Sites};
use super::tokens;
use super::tree::{self, Asked, Pattern};
use crate::batch::Batch;
use crate::forms::{Form, FormTable, HOLE};
use crate::kinds::Kind;
use crate::values::{self, Values};
use nearkin_core::Result;

/// Where the value of a variable comes from in a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A word of the form, decoded.
    Word(Vec<u8>),
    /// A hole of the form, by its number.
    Hole(usize),
    /// Words and holes, of which the first has this number.
    Mixed(Vec<u8>, usize),
}

/// The bytes of a pattern as a form: `METHOD host/path?key=value` with its holes.
pub fn bytes_of(host: &[u8], pattern: &Pattern) -> Vec<u8> {
    let mut bytes = pattern.method.clone();
    bytes.push(b' ');
    bytes.extend_from_slice(host);
    for part in &pattern.path {
        bytes.push(b'/');
        bytes.extend_from_slice(part);
    }
    if pattern.path.is_empty() {
        bytes.push(b'/');
    }
    for (number, Parameter { key, literal, kind, .. }) in pattern.parameters.iter().enumerate() {
        bytes.push(if number == 0 { b'?' } else { b'&' });
        bytes.extend_from_slice(key);
        match (literal, kind) {
            (Some(literal), _) => {
                bytes.push(b'=');
                bytes.extend_from_slice(literal);
            }
            (None, Some(kind)) => bytes.extend([b'=', HOLE, *kind as u8]),
            (None, None) => (),
        }
    }
    bytes
}

/// The source of a part that stands in the place of one hole; None for what has no value to show.
fn source_of(part: &[u8], first: usize) -> Option<Source> {
    if tokens::is_marked(part) || part.is_empty() {
        None
    } else if tokens::whole(part).is_some() {
        Some(Source::Hole(first))
    } else if tokens::holes(part).next().is_some() {
        Some(Source::Mixed(part.to_vec(), first))
    } else {
        Some(Source::Word(tokens::decoded(part)))
    }
}

/// Sources of the holes of one slot, which takes `part`; `first` is the number of the part's first hole.
fn of_slot(slot: &[u8], part: &[u8], first: usize, found: &mut Vec<Vec<Source>>) {
    let count = tokens::holes(slot).count();
    if count == 1 && slot != part {
        let (at, _) = tokens::holes(slot).next().unwrap_or((0, Kind::Text));
        let inner = part.get(at..part.len().saturating_sub(slot.len() - at - 2)).unwrap_or_default();
        found.push(source_of(inner, first).into_iter().collect());
    } else {
        found.extend((0..count).map(|hole| vec![Source::Hole(first + hole)]));
    }
}

/// Sources of all variables of a pattern in a form that it takes.
pub fn sources(pattern: &Pattern, asked: &Asked) -> Vec<Vec<Source>> {
    let mut found = Vec::new();
    let mut hole = 0;
    for (level, slot) in pattern.path.iter().enumerate() {
        if tokens::whole(slot) == Some(Kind::Tail) {
            let rest = asked.path[level..].join(&b'/');
            found.push(source_of(&rest, hole).into_iter().collect());
            hole += tokens::holes(&rest).count();
            break;
        }
        let part = &asked.path[level];
        of_slot(slot, part, hole, &mut found);
        hole += tokens::holes(part).count();
    }
    let mut by_key: HashMap<&[u8], (usize, Vec<Source>)> = HashMap::new();
    for (key, value) in &asked.parameters {
        let in_key = tokens::holes(key).count();
        let entry = by_key.entry(key).or_insert((hole, Vec::new()));
        hole += in_key;
        if let Some(value) = value {
            entry.1.extend(source_of(value, hole));
            hole += tokens::holes(value).count();
        }
    }
    for parameter in &pattern.parameters {
        let known = by_key.remove(parameter.key.as_slice());
        let (first, values) = known.map_or((None, Vec::new()), |(first, values)| (Some(first), values));
        let in_key = tokens::holes(&parameter.key).count();
        found.extend((0..in_key).map(|hole| first.map(|first| Source::Hole(first + hole)).into_iter().collect()));
        if parameter.literal.is_none() && parameter.kind.is_some() {
            found.push(values);
        }
    }
    found
}

/// The text of words and holes, whose values are `value` by their number.
fn filled<'a>(part: &[u8], first: usize, value: impl Fn(usize) -> &'a [u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let (mut at, mut hole) = (0, first);
    while at < part.len() {
        if part[at] == HOLE {
            text.extend_from_slice(value(hole));
            hole += 1;
            at += 2;
        } else {
            text.push(part[at]);
            at += 1;
        }
    }
    tokens::decoded(&text)
}

fn is_name_of_hole(value: &[u8]) -> bool {
    super::hole_length(value) == Some(value.len())
}

/// Adds what a form says of a variable to its sample.
fn add_source(sample: &mut Values, source: &Source, form: &Form, most: usize) -> Result<()> {
    match source {
        Source::Word(word) => sample.add(values::hash(word), word, most),
        Source::Hole(hole) => {
            let Some(found) = form.holes.get(*hole) else { return Ok(()) };
            if found.iter().any(|(_, value)| is_name_of_hole(value)) {
                return found
                    .iter()
                    .filter(|(_, value)| !is_name_of_hole(value))
                    .try_for_each(|(hash, value)| sample.add(hash, value, most));
            }
            sample.merge(found, most)
        }
        Source::Mixed(part, first) => {
            let Some(found) = form.holes.get(*first) else { return Ok(()) };
            for (_, value) in found.iter() {
                let text = filled(part, *first, |hole| {
                    if hole == *first {
                        return value;
                    }
                    form.holes.get(hole).and_then(|values| values.iter().next()).map_or(&b""[..], |(_, value)| value)
                });
                if !text.contains(&b'{') {
                    sample.add(values::hash(&text), &text, most)?;
                }
            }
            Ok(())
        }
    }
}

/// The forms of all patterns of a table, each with the sums of the forms that it explains.
///
/// # Errors
/// There is no memory for them.
pub fn rows(sites: &Sites, table: &FormTable) -> Result<FormTable> {
    let mut rows = FormTable::new(table.most(), 1 << 31)?;
    for named in &sites.patterns {
        for &place in &named.forms {
            rows.add_form(&row(named, &table.forms()[place], table.most())?)?;
        }
    }
    Ok(rows)
}

fn row(named: &Named, form: &Form, most: usize) -> Result<Form> {
    let (_, _, asked) = tree::split(&form.text);
    filled_form(form, bytes_of(&named.host, &named.pattern), &sources(&named.pattern, &asked), most)
}

/// Replaces the forms that patterns explain by what the patterns make of them: the words of slots and values become holes. Keys stay, and
/// so do the values of those that dispatch.
///
/// # Errors
/// There is no memory for them; the table is then as it was.
pub fn compact(sites: &Sites, table: &mut FormTable) -> Result<()> {
    let most = table.most();
    let mut pattern_of: HashMap<Vec<u8>, &Named> = HashMap::new();
    for named in &sites.patterns {
        pattern_of.extend(named.forms.iter().map(|&place| (table.forms()[place].text.to_vec(), named)));
    }
    let mut new = FormTable::new(most, table.limit())?;
    for form in table.forms() {
        match pattern_of.get(&*form.text) {
            None => new.add_form(form)?,
            Some(named) => new.add_form(&compacted(named, form, most)?)?,
        }
    }
    table.replace(new)
}

fn compacted(named: &Named, form: &Form, most: usize) -> Result<Form> {
    let (_, _, asked) = tree::split(&form.text);
    let in_path = named.pattern.path.iter().map(|slot| tokens::holes(slot).count()).sum();
    let mut sources: Vec<Vec<Source>> = sources(&named.pattern, &asked).into_iter().take(in_path).collect();
    let bare = Pattern { parameters: Vec::new(), ..named.pattern.clone() };
    let mut text = bytes_of(&named.host, &bare);
    let mut hole: usize = asked.path.iter().map(|part| tokens::holes(part).count()).sum();
    for (number, (key, value)) in asked.parameters.iter().enumerate() {
        text.push(if number == 0 { b'?' } else { b'&' });
        text.extend_from_slice(key);
        let in_key = tokens::holes(key).count();
        sources.extend((0..in_key).map(|at| vec![Source::Hole(hole + at)]));
        hole += in_key;
        let Some(value) = value else { continue };
        text.push(b'=');
        let known = named.pattern.parameters.iter().find(|parameter| parameter.key == *key);
        let words = known.filter(|known| known.literal.is_none() && tokens::is_literal(value) && !value.is_empty());
        if let Some(kind) = words.and_then(|known| known.kind) {
            text.extend([HOLE, kind as u8]);
            sources.push(vec![Source::Word(tokens::decoded(value))]);
        } else {
            text.extend_from_slice(value);
            let in_value = tokens::holes(value).count();
            sources.extend((0..in_value).map(|at| vec![Source::Hole(hole + at)]));
            hole += in_value;
        }
    }
    filled_form(form, text, &sources, most)
}

/// The form with another text, whose holes hold what `sources` say.
fn filled_form(form: &Form, text: Vec<u8>, sources: &[Vec<Source>], most: usize) -> Result<Form> {
    let mut holes = Vec::new();
    for sources in sources {
        let mut sample = Values::default();
        for source in sources {
            add_source(&mut sample, source, form, most)?;
        }
        holes.push(sample);
    }
    let mut row = form.clone();
    row.text = text.into_boxed_slice();
    row.holes = holes.into_boxed_slice();
    Ok(row)
}

/// Patterns of many items, and what their variables hold.
#[derive(Debug, Default)]
pub struct Matches {
    /// The number of each item's pattern, -1 for none.
    pub numbers: Vec<i64>,
    /// The end of each item's values.
    pub ends: Vec<i64>,
    /// The end of each value.
    pub text_ends: Vec<i64>,
    /// Whether there is a value: optional parameters may have none.
    pub present: Vec<u8>,
    /// The values, back to back.
    pub text: Vec<u8>,
}

/// The number of a form's pattern, and where the values of its variables are.
type Known = Option<(usize, Vec<Vec<Source>>)>;

/// Finds the patterns of scanned items; those that were left out have none.
pub fn matches(sites: &Sites, batches: &[Batch], items: usize) -> Matches {
    // The hash finds a form, its bytes say that it is that one.
    let mut known: HashMap<u64, (Vec<u8>, Known)> = HashMap::new();
    let mut found = Matches::default();
    for batch in batches {
        for (row, hash, form, values) in batch.iter() {
            found.skip_to(row);
            if known.get(&hash).is_none_or(|(bytes, _)| bytes != form) {
                if known.len() > 1 << 17 {
                    known.clear();
                }
                let pattern = sites
                    .find(form)
                    .map(|number| (number, sources(&sites.patterns[number].pattern, &tree::split(form).2)));
                known.insert(hash, (form.to_vec(), pattern));
            }
            if let Some((_, Some((number, sources)))) = known.get(&hash) {
                let value = |hole: usize| batch.value((values.start + hole).min(values.end - 1)).1;
                for sources in sources {
                    found.push(sources.first(), value);
                }
                found.close(*number as i64);
            } else {
                found.close(-1);
            }
        }
    }
    found.skip_to(items);
    found
}

impl Matches {
    fn close(&mut self, number: i64) {
        self.numbers.push(number);
        self.ends.push(self.text_ends.len() as i64);
    }

    /// Items up to `row` have no pattern.
    fn skip_to(&mut self, row: usize) {
        while self.numbers.len() < row {
            self.close(-1);
        }
    }

    fn push<'a>(&mut self, source: Option<&Source>, value: impl Fn(usize) -> &'a [u8]) {
        match source {
            None => (),
            Some(Source::Word(word)) => self.text.extend_from_slice(word),
            Some(Source::Hole(hole)) => self.text.extend_from_slice(value(*hole)),
            Some(Source::Mixed(part, first)) => self.text.extend(filled(part, *first, value)),
        }
        self.present.push(u8::from(source.is_some()));
        self.text_ends.push(self.text.len() as i64);
    }
}
