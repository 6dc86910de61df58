//! Values of the variables of URL patterns, and patterns as templates.
//!
//! A slot that equals a part has the part's wildcards as its variables. A slot with one wildcard takes the word, the
//! wildcard or the mix of both at its position. The rows of a table of patterns are templates: the bytes of the
//! pattern with the summed statistics of the templates it matches.
//!
//! Keys are structure, so all requests of a template have a value of a variable, or none has. The requests that lack it
//! are therefore counted exactly, in all and per day, from the counts and days of the templates.

use std::collections::HashMap;

use super::parameters;
use super::request::{self, Request};
use super::sites::{SitePattern, Sites};
use super::tokens;
use super::tree::Pattern;
use crate::batch::Batch;
use crate::kinds::Kind;
use crate::profiles::Profile;
use crate::templates::{self, Element, Template, TemplateTable, WILDCARD, elements};
use crate::values::{self, Values};
use nearkin_core::Result;

/// The source of a variable's value in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A decoded word of the template.
    Word(Vec<u8>),
    /// A wildcard of the template, by its number.
    Wildcard(usize),
    /// Words and wildcards; the number is that of the first wildcard.
    Mixed(Vec<u8>, usize),
    /// A part that looks like an attack; it has no value.
    Odd,
}

/// Return the source of a part at the position of a wildcard; None if it is empty.
fn find_source(part: &[u8], first: usize) -> Option<Source> {
    if part.is_empty() {
        None
    } else if tokens::is_marked(part) {
        Some(Source::Odd)
    } else if tokens::only_wildcard(part).is_some() {
        Some(Source::Wildcard(first))
    } else if tokens::wildcards(part).next().is_some() {
        Some(Source::Mixed(part.to_vec(), first))
    } else {
        Some(Source::Word(tokens::decoded(part)))
    }
}

/// Append the sources of the wildcards of one slot, which accepts `part`; `first` is the number of the part's first
/// wildcard.
fn add_slot_sources(slot: &[u8], part: &[u8], first: usize, result: &mut Vec<Vec<Source>>) {
    let count = tokens::wildcards(slot).count();
    if count == 1 && slot != part {
        let (at, _) = tokens::wildcards(slot).next().unwrap_or((0, Kind::Text));
        let inner = part.get(at..part.len().saturating_sub(slot.len() - at - 2)).unwrap_or_default();
        result.push(find_source(inner, first).into_iter().collect());
    } else {
        result.extend((0..count).map(|wildcard| vec![Source::Wildcard(first + wildcard)]));
    }
}

/// Return the sources of all variables of a pattern in a template that it matches.
pub fn sources(pattern: &Pattern, request: &Request) -> Vec<Vec<Source>> {
    let mut result = Vec::new();
    let mut wildcard = 0;
    for (level, slot) in pattern.path.iter().enumerate() {
        if tokens::only_wildcard(slot) == Some(Kind::Tail) {
            let odd = request.path[level..].iter().any(|part| tokens::is_marked(part));
            let rest = request.path[level..].join(&b'/');
            let source = if odd { Some(Source::Odd) } else { find_source(&rest, wildcard) };
            result.push(source.into_iter().collect());
            wildcard += tokens::wildcards(&rest).count();
            break;
        }
        let part = &request.path[level];
        add_slot_sources(slot, part, wildcard, &mut result);
        wildcard += tokens::wildcards(part).count();
    }
    let mut by_key: HashMap<&[u8], (usize, Vec<Source>)> = HashMap::new();
    for (key, value) in &request.parameters {
        let in_key = tokens::wildcards(key).count();
        let entry = by_key.entry(key).or_insert((wildcard, Vec::new()));
        wildcard += in_key;
        if let Some(value) = value {
            entry.1.extend(find_source(value, wildcard));
            wildcard += tokens::wildcards(value).count();
        }
    }
    for parameter in &pattern.parameters {
        let entry = by_key.remove(parameter.key.as_slice());
        let (first, values) = entry.map_or((None, Vec::new()), |(first, values)| (Some(first), values));
        let in_key = tokens::wildcards(&parameter.key).count();
        result.extend(
            (0..in_key).map(|wildcard| first.map(|first| Source::Wildcard(first + wildcard)).into_iter().collect()),
        );
        if parameter.literal.is_none() && parameter.kind.is_some() {
            result.push(values);
        }
    }
    result
}

/// Return the text of words and wildcards; `value` returns the value of a wildcard by number.
fn fill_wildcards<'a>(part: &[u8], first: usize, value: impl Fn(usize) -> &'a [u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut wildcard = first;
    for (_, element) in elements(part) {
        match element {
            Element::Literal(byte) => text.push(byte),
            Element::Wildcard(_) => {
                text.extend_from_slice(value(wildcard));
                wildcard += 1;
            }
        }
    }
    tokens::decoded(&text)
}

fn is_name_of_wildcard(value: &[u8]) -> bool {
    super::wildcard_length(value) == Some(value.len())
}

/// Add the values of a source to the profile of a variable.
fn add_profile(profile: &mut Profile, source: &Source, template: &Template) -> Result<()> {
    match source {
        Source::Odd => profile.add_odd(template.count),
        Source::Word(word) => profile.add(values::hash(word), word, template.count),
        Source::Wildcard(wildcard) => {
            let Some(stored) = template.wildcards.get(*wildcard) else { return Ok(()) };
            let declared = stored.iter().any(|(_, value)| is_name_of_wildcard(value));
            template.profiles.get(*wildcard).filter(|_| !declared).map_or(Ok(()), |counts| profile.merge(counts))
        }
        Source::Mixed(..) => {
            // Each sampled value stands for an equal share of the requests.
            let mut sample = Values::default();
            add_source(&mut sample, source, template, usize::MAX)?;
            let weight = template.count / (sample.len() as u64).max(1);
            sample.iter().try_for_each(|(hash, value)| profile.add(hash, value, weight.max(1)))
        }
    }
}

/// Add the values of a source to the sample of a variable.
fn add_source(sample: &mut Values, source: &Source, template: &Template, max_values: usize) -> Result<()> {
    match source {
        Source::Odd => Ok(()),
        Source::Word(word) => sample.add(values::hash(word), word, max_values),
        Source::Wildcard(wildcard) => {
            let Some(stored) = template.wildcards.get(*wildcard) else { return Ok(()) };
            if stored.iter().any(|(_, value)| is_name_of_wildcard(value)) {
                return stored
                    .iter()
                    .filter(|(_, value)| !is_name_of_wildcard(value))
                    .try_for_each(|(hash, value)| sample.add(hash, value, max_values));
            }
            sample.merge(stored, max_values)
        }
        Source::Mixed(part, first) => {
            let Some(stored) = template.wildcards.get(*first) else { return Ok(()) };
            for (_, value) in stored.iter() {
                let text = fill_wildcards(part, *first, |wildcard| {
                    if wildcard == *first {
                        return value;
                    }
                    template
                        .wildcards
                        .get(wildcard)
                        .and_then(|values| values.iter().next())
                        .map_or(&b""[..], |(_, value)| value)
                });
                if !text.contains(&b'{') {
                    sample.add(values::hash(&text), &text, max_values)?;
                }
            }
            Ok(())
        }
    }
}

/// The requests of a pattern that lack the value of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Their number.
    pub requests: u64,
    /// Their number on each day, ascending by day; requests without a time have no day.
    pub days: Vec<(i32, u64)>,
}

/// Return the patterns as templates, each with the summed statistics of the templates it matches; and for each pattern
/// the requests that lack each of its variables.
///
/// # Errors
/// Memory allocation fails.
pub fn rows(sites: &Sites, table: &TemplateTable) -> Result<(TemplateTable, Vec<Vec<Missing>>)> {
    let mut rows = TemplateTable::new(table.max_values(), 1 << 31)?;
    let mut missing = Vec::new();
    for named in &sites.patterns {
        let text = named.pattern.bytes(&named.host, true);
        let mut of_pattern: Vec<Missing> = Vec::new();
        for &position in &named.templates {
            let template = &table.templates()[position];
            let sources = sources(&named.pattern, &request::split(&template.text).1);
            rows.add_template(&filled_template(template, text.clone(), &sources, table.max_values())?)?;
            of_pattern.resize_with(sources.len(), Missing::default);
            for (missing, _) in of_pattern.iter_mut().zip(&sources).filter(|(_, sources)| sources.is_empty()) {
                missing.requests += template.count;
                for &(day, count) in &template.days {
                    templates::add_day(&mut missing.days, day, count)?;
                }
            }
        }
        missing.push(of_pattern);
    }
    Ok((rows, missing))
}

/// Replace the templates that match patterns: words of slots and values become wildcards. Keys and dispatching values
/// are kept.
///
/// # Errors
/// Memory allocation fails; the table is then unchanged.
pub fn compact(sites: &Sites, table: &mut TemplateTable) -> Result<()> {
    let max_values = table.max_values();
    let mut pattern_of: HashMap<Vec<u8>, &SitePattern> = HashMap::new();
    for named in &sites.patterns {
        pattern_of.extend(named.templates.iter().map(|&position| (table.templates()[position].text.to_vec(), named)));
    }
    let mut new = TemplateTable::new(max_values, table.max_templates())?;
    for template in table.templates() {
        match pattern_of.get(&*template.text) {
            None => new.add_template(template)?,
            Some(named) => new.add_template(&compacted(named, template, max_values)?)?,
        }
    }
    table.replace(new)
}

fn compacted(named: &SitePattern, template: &Template, max_values: usize) -> Result<Template> {
    let (_, request) = request::split(&template.text);
    let in_path = named.pattern.path.iter().map(|slot| tokens::wildcards(slot).count()).sum();
    let mut sources: Vec<Vec<Source>> = sources(&named.pattern, &request).into_iter().take(in_path).collect();
    let bare = Pattern { parameters: Vec::new(), ..named.pattern.clone() };
    let mut text = bare.bytes(&named.host, true);
    let mut wildcard: usize = request.path.iter().map(|part| tokens::wildcards(part).count()).sum();
    for (number, (key, value)) in request.parameters.iter().enumerate() {
        text.push(if number == 0 { b'?' } else { b'&' });
        text.extend_from_slice(key);
        let in_key = tokens::wildcards(key).count();
        sources.extend((0..in_key).map(|at| vec![Source::Wildcard(wildcard + at)]));
        wildcard += in_key;
        let Some(value) = value else { continue };
        text.push(b'=');
        let parameter = parameters::find(&named.pattern.parameters, key);
        let words =
            parameter.filter(|parameter| parameter.literal.is_none() && tokens::is_literal(value) && !value.is_empty());
        if let Some(kind) = words.and_then(|parameter| parameter.kind) {
            text.extend([WILDCARD, kind as u8]);
            sources.push(vec![Source::Word(tokens::decoded(value))]);
        } else {
            text.extend_from_slice(value);
            let in_value = tokens::wildcards(value).count();
            sources.extend((0..in_value).map(|at| vec![Source::Wildcard(wildcard + at)]));
            wildcard += in_value;
        }
    }
    filled_template(template, text, &sources, max_values)
}

/// Return the template with other bytes and with wildcards sampled from `sources`.
fn filled_template(template: &Template, text: Vec<u8>, sources: &[Vec<Source>], max_values: usize) -> Result<Template> {
    let (mut wildcards, mut profiles) = (Vec::new(), Vec::new());
    for sources in sources {
        let (mut sample, mut profile) = (Values::default(), Profile::default());
        for source in sources {
            add_source(&mut sample, source, template, max_values)?;
            add_profile(&mut profile, source, template)?;
        }
        wildcards.push(sample);
        profiles.push(profile);
    }
    let mut row = template.clone();
    row.text = text.into_boxed_slice();
    row.wildcards = wildcards.into_boxed_slice();
    row.profiles = profiles;
    Ok(row)
}

/// The patterns of many items, and the values of their variables.
#[derive(Debug, Default)]
pub struct Matches {
    /// The number of each item's pattern, -1 for none.
    pub numbers: Vec<i64>,
    /// The end of each item's values.
    pub ends: Vec<i64>,
    /// The end of each value.
    pub text_ends: Vec<i64>,
    /// True if there is a value; an optional parameter may have none.
    pub present: Vec<u8>,
    /// The values, back to back.
    pub text: Vec<u8>,
}

/// The number of a template's pattern, and the sources of its variables.
type CachedMatch = Option<(usize, Vec<Vec<Source>>)>;

/// Find the patterns of scanned items; skipped items have none.
pub fn matches(sites: &Sites, batches: &[Batch], items: usize) -> Matches {
    // The key is the hash; the bytes detect collisions.
    let mut cache: HashMap<u64, (Vec<u8>, CachedMatch)> = HashMap::new();
    let mut result = Matches::default();
    for batch in batches {
        for (row, hash, template, values) in batch.iter() {
            result.skip_to(row);
            if cache.get(&hash).is_none_or(|(bytes, _)| bytes != template) {
                if cache.len() > 1 << 17 {
                    cache.clear();
                }
                let pattern = sites
                    .find(template)
                    .map(|number| (number, sources(&sites.patterns[number].pattern, &request::split(template).1)));
                cache.insert(hash, (template.to_vec(), pattern));
            }
            if let Some((_, Some((number, sources)))) = cache.get(&hash) {
                let value = |wildcard: usize| batch.value((values.start + wildcard).min(values.end - 1)).1;
                for sources in sources {
                    result.push(first_value(sources), value);
                }
                result.close(*number as i64);
            } else {
                result.close(-1);
            }
        }
    }
    result.skip_to(items);
    result
}

/// Return the first source that has a value.
pub fn first_value(sources: &[Source]) -> Option<&Source> {
    sources.iter().find(|source| **source != Source::Odd)
}

/// Append the value of a source; `value` returns the value of a wildcard by number.
pub fn write_value<'a>(source: &Source, value: impl Fn(usize) -> &'a [u8], text: &mut Vec<u8>) {
    match source {
        Source::Odd => (),
        Source::Word(word) => text.extend_from_slice(word),
        Source::Wildcard(wildcard) => text.extend_from_slice(value(*wildcard)),
        Source::Mixed(part, first) => text.extend(fill_wildcards(part, *first, value)),
    }
}

impl Matches {
    fn close(&mut self, number: i64) {
        self.numbers.push(number);
        self.ends.push(self.text_ends.len() as i64);
    }

    /// Record that the items up to `row` have no pattern.
    fn skip_to(&mut self, row: usize) {
        while self.numbers.len() < row {
            self.close(-1);
        }
    }

    fn push<'a>(&mut self, source: Option<&Source>, value: impl Fn(usize) -> &'a [u8]) {
        if let Some(source) = source {
            write_value(source, value, &mut self.text);
        }
        self.present.push(u8::from(source.is_some()));
        self.text_ends.push(self.text.len() as i64);
    }
}
