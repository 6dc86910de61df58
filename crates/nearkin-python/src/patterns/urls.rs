//! URLs: their scan, the patterns of a table, and the patterns of other URLs.

use nearkin_core::Result;
use nearkin_patterns::batch::{self, Batch, Packed};
use nearkin_patterns::profiles::{self, Profile};
use nearkin_patterns::templates;
use nearkin_patterns::urls::canonical::{Canonical, Unreadable};
use nearkin_patterns::urls::judge::{self, Judge};
use nearkin_patterns::urls::logs;
use nearkin_patterns::urls::request;
use nearkin_patterns::urls::rows::{self, Matches};
use nearkin_patterns::urls::scan;
use nearkin_patterns::urls::sites::Sites;
use nearkin_patterns::urls::tree::{self, Rules};
use nearkin_patterns::urls::unmatched;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{Array, Slice};
use crate::errors::IntoPython;
use crate::locks::Lock;
use crate::patterns::table::FormTable;
use crate::patterns::{Items, Strings, add_scanned, packed};
use crate::threads::{detached, reading, writing};

/// Methods of items: each item's index, and the methods; an index out of range is no method.
type Methods<'py> = (Slice<'py, u32>, Vec<Vec<u8>>);

/// Return the method of a row.
fn get_method<'a>(methods: Option<(&[u32], &'a [Vec<u8>])>, row: usize) -> Option<&'a [u8]> {
    methods.map(|(numbers, names)| names.get(numbers[row] as usize).map_or(&b""[..], Vec::as_slice))
}

/// Scan one item into a batch, or return the reason for skipping it.
fn scan_one(batch: &mut Batch, row: usize, item: &[u8], method: Option<&[u8]>, drop_trackers: bool) {
    thread_local! {
        static URL: std::cell::RefCell<Canonical> = std::cell::RefCell::default();
    }
    URL.with_borrow_mut(|url| {
        if let Err(reason) = scan::scan(batch, row, item, url, (method, drop_trackers)) {
            batch.skip(row, reason as u8);
        }
    });
}

/// Scan URLs and add them to a table; return the number of skipped ones by `url_reasons`.
#[pyfunction]
fn add_urls(
    py: Python<'_>,
    table: &Bound<'_, FormTable>,
    items: Items<'_>,
    methods: Option<Methods<'_>>,
    drop_trackers: bool,
) -> PyResult<Vec<u64>> {
    let methods = check_methods(methods.as_ref(), packed(&items.0)?.len())?;
    add_scanned(py, table.get(), &items, true, |batch, row, item| {
        scan_one(batch, row, item, get_method(methods, row), drop_trackers);
    })
}

/// Indices of methods, and the methods.
type MethodSlices<'a> = (&'a [u32], &'a [Vec<u8>]);

/// Return the methods as slices, one for each item.
fn check_methods<'a>(methods: Option<&'a Methods<'_>>, items: usize) -> PyResult<Option<MethodSlices<'a>>> {
    let Some((numbers, names)) = methods else { return Ok(None) };
    if numbers.len() != items {
        return Err(nearkin_core::Error::parameter(
            "len(methods)",
            numbers.len(),
            format!("one for each item: {items}"),
        ))
        .into_python();
    }
    Ok(Some((numbers, names)))
}

/// Return the requests of a block of an access log, or of lines that are URLs: request lines, times and clients as
/// arrays, the first malformed lines, their numbers by reason, bytes and lines read.
#[pyfunction]
#[pyo3(signature = (block, *, log, end))]
fn read_requests(
    py: Python<'_>,
    block: Slice<u8>,
    log: bool,
    end: bool,
) -> PyResult<(
    Array<i64>,
    Array<u8>,
    Array<i64>,
    Array<i64>,
    Array<u8>,
    Vec<(u64, &'static str)>,
    Vec<(&'static str, u64)>,
    usize,
    u64,
)> {
    let lines = if log { logs::Lines::Log } else { logs::Lines::Plain };
    let logs::Requests { ends, data, times, client_ends, clients, malformed, counts, consumed, lines } =
        detached(py, || logs::read(&block, end, lines))?;
    let counts = logs::REASONS.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect();
    Ok((Array(ends), Array(data), Array(times), Array(client_ends), Array(clients), malformed, counts, consumed, lines))
}

/// Return the reasons for skipping items, by number.
#[pyfunction]
fn url_reasons() -> Vec<&'static str> {
    Unreadable::ALL.map(Unreadable::reason).to_vec()
}

/// Return the canonical form of a URL, or the reason why it has none.
#[pyfunction]
#[pyo3(signature = (item, method=None, *, drop_trackers=false))]
fn canonical_url(
    py: Python<'_>,
    item: &[u8],
    method: Option<&[u8]>,
    drop_trackers: bool,
) -> (Option<Py<PyBytes>>, Option<&'static str>) {
    let mut url = Canonical::default();
    if let Err(reason) = url.read(item, method, drop_trackers) {
        return (None, Some(reason.reason()));
    }
    let mut text = Vec::new();
    url.write(&mut text);
    (Some(PyBytes::new(py, &text).unbind()), None)
}

/// A parameter of a pattern: key, literal value, type, optional, repeated.
type Parameter = (Vec<u8>, Option<Vec<u8>>, Option<&'static str>, bool, bool);
/// A pattern: its template in bytes, method, host, path, parameters, requests.
type Pattern = (Vec<u8>, Vec<u8>, Vec<u8>, Vec<Vec<u8>>, Vec<Parameter>, u64);
/// Evidence for a slot: host and path with `{}` for wildcards, the path as written, score, distinct values, requests,
/// number of values requested once.
type Evidence = (Vec<u8>, Vec<u8>, f64, usize, u64, usize);

/// An unusual value: row of the item, number of the variable or -1, key of an unknown parameter, reason, rarity.
type Unusual = (usize, i64, Vec<u8>, String, f64);
/// The profile of a variable: values, values that look like attacks, least and largest length, characters, least and
/// largest number, all values if they are few, requests without a value, and these by day.
type ValueProfile = (u64, u64, (u64, u64), String, Option<(i64, i64)>, Vec<Vec<u8>>, u64, Vec<(i32, u64)>);

/// Patterns of the URLs of a table.
#[pyclass(frozen, module = "nearkin._core")]
struct UrlSites {
    sites: Sites,
    rows: templates::TemplateTable,
    left: (u64, Vec<Vec<u8>>),
    judge: Judge,
}

/// A merge: minimum of requests, URLs whose segments are literal, slots to undo, whether clients are known, names to keep.
type Merging = (u64, Vec<Vec<u8>>, Vec<Vec<u8>>, bool, (bool, bool, bool));

/// Return the minimum of requests and the constraints of a merge.
fn parse_rules((least, pins, splits, clients, keep): Merging) -> (u64, Rules) {
    let mut url = Canonical::default();
    let pins = pins.iter().filter_map(|pin| {
        let mut batch = Batch::default();
        scan::scan(&mut batch, 0, pin, &mut url, (None, false)).ok()?;
        let (host, request) = request::split(batch.iter().next()?.2);
        Some((host, request.path))
    });
    let any = tree::Any { version: !keep.0, language: !keep.1, suffix: !keep.2 };
    (least, Rules { pins: pins.collect(), splits, clients, any })
}

/// Replace the templates of a table by the templates after merging; arguments are those of `UrlSites`.
#[pyfunction]
fn compact_urls(py: Python<'_>, table: &Bound<'_, FormTable>, merging: Merging) -> PyResult<()> {
    let (least, rules) = parse_rules(merging);
    writing(py, &table.get().table, false, |table| rows::compact(&Sites::new(table, &rules, least)?, table))
}

#[pymethods]
impl UrlSites {
    /// Merge the templates of `table`.
    #[new]
    fn new(py: Python<'_>, table: &Bound<'_, FormTable>, merging: Merging) -> PyResult<Self> {
        let (least, rules) = parse_rules(merging);
        reading(py, &table.get().table, |table| {
            let sites = Sites::new(table, &rules, least)?;
            let (rows, missing) = rows::rows(&sites, table)?;
            let left = unmatched(&sites, table)?;
            let judge = Judge::new(&sites, &rows, missing);
            Ok(Self { sites, rows, left, judge })
        })
    }

    /// Return the patterns as a table of templates.
    fn rows(&self) -> FormTable {
        FormTable { table: Lock::new(self.rows.clone()) }
    }

    /// Return the patterns, most requests first.
    fn patterns(&self) -> Vec<Pattern> {
        let parameter = |parameter: &nearkin_patterns::urls::parameters::Parameter| {
            let kind = parameter.kind.map(nearkin_patterns::kinds::Kind::name);
            (parameter.key.clone(), parameter.literal.clone(), kind, parameter.optional, parameter.repeated)
        };
        let result = self.sites.patterns.iter().map(|named| {
            let pattern = &named.pattern;
            (
                pattern.bytes(&named.host, true),
                pattern.method.clone(),
                named.host.clone(),
                pattern.path.clone(),
                pattern.parameters.iter().map(parameter).collect(),
                named.count,
            )
        });
        result.collect()
    }

    /// Return the number of items that match no pattern, and examples.
    fn unexplained(&self) -> (u64, Vec<Vec<u8>>) {
        self.left.clone()
    }

    /// Return the evidence that made words variables.
    fn evidence(&self) -> Vec<Evidence> {
        let result = self.sites.evidence.iter().map(|(host, evidence)| {
            let verdict = &evidence.verdict;
            let mut written = host.clone();
            for part in &evidence.path {
                written.push(b'/');
                written.extend(templates::to_text(part));
            }
            let bare = tree::bare(host, evidence.path.iter());
            (bare, written, verdict.score, verdict.distinct, verdict.requests, verdict.once)
        });
        result.collect()
    }

    /// Return the profiles of the variables of a pattern, by the number of the pattern, and its requests on each day.
    fn profiles(&self, pattern: usize) -> (Vec<ValueProfile>, Vec<(i32, u64)>) {
        let named = &self.sites.patterns[pattern];
        let text = named.pattern.bytes(&named.host, true);
        let row = self.rows.get(&text, templates::hash(&text)).map(|(_, row)| row);
        let missing = self.judge.missing(pattern);
        let profile = |(number, profile): (usize, &Profile)| {
            let members = profile.range(profiles::MEMBER, u64::MAX).count();
            let sample = row.and_then(|row| row.wildcards.get(number));
            let values = sample.filter(|values| values.len() == members && !profile.is_open());
            let values = values.map_or_else(Vec::new, |values| values.iter().map(|(_, text)| text.to_vec()).collect());
            let (total, odd) = (profile.get(profiles::TOTAL), profile.get(profiles::ODD));
            let characters = judge::usual_characters(profile);
            let (lengths, numbers) = (judge::usual_lengths(profile), judge::usual_numbers(profile));
            let missing = missing.get(number).cloned().unwrap_or_default();
            (total, odd, lengths, characters, numbers, values, missing.requests, missing.days)
        };
        let profiles = self.judge.profiles(pattern).iter().enumerate().map(profile).collect();
        (profiles, self.judge.days(pattern).to_vec())
    }

    /// Return the number of the pattern of one item, and the values of its variables; None without a pattern.
    fn find_one(
        &self,
        item: &[u8],
        method: Option<&[u8]>,
        drop_trackers: bool,
    ) -> Option<(usize, Vec<Option<String>>)> {
        let mut batch = Batch::plain();
        scan_one(&mut batch, 0, item, method, drop_trackers);
        let (_, _, template, values) = batch.iter().next()?;
        let (number, sources) = self.judge.find_one(&self.sites, template, method.is_none())?;
        let value = |wildcard: usize| batch.value((values.start + wildcard).min(values.end - 1)).1;
        let values = sources.iter().map(|sources| {
            let mut text = Vec::new();
            rows::first_value(sources).map(|source| {
                rows::write_value(source, value, &mut text);
                String::from_utf8_lossy(&text).into_owned()
            })
        });
        Some((number, values.collect()))
    }

    /// Return the verdict on one item as `verdicts` does: number or -1, whether the pattern matches, unusual values.
    fn verdict(&self, item: &[u8], method: Option<&[u8]>, drop_trackers: bool) -> (i64, bool, Vec<Unusual>) {
        let mut batch = Batch::plain();
        scan_one(&mut batch, 0, item, method, drop_trackers);
        let Some((_, _, template, values)) = batch.iter().next() else { return (-1, false, Vec::new()) };
        let verdict = self.judge.verdict(&self.sites, &batch, (template, values), method.is_none());
        let Some(number) = verdict.pattern else { return (-1, false, Vec::new()) };
        (number as i64, verdict.matches, self.describe(0, number, verdict.unusual).collect())
    }

    /// Return the verdicts on items: the number of the pattern or of the nearest one, -1 for none; 1 if the pattern
    /// matches; unusual values.
    fn verdicts(
        &self,
        py: Python<'_>,
        items: Strings<'_>,
        methods: Option<Methods<'_>>,
        drop_trackers: bool,
    ) -> PyResult<(Array<i64>, Array<u8>, Vec<Unusual>)> {
        let items = packed(&items)?;
        let methods = check_methods(methods.as_ref(), items.len())?;
        let (numbers, matches, unusual) = detached(py, || {
            let (mut numbers, mut matches) = (vec![-1; items.len()], vec![0; items.len()]);
            let mut unusual = Vec::new();
            for batch in scan_all(items, methods, drop_trackers)? {
                for (row, _, template, values) in batch.iter() {
                    let verdict = self.judge.verdict(&self.sites, &batch, (template, values), methods.is_none());
                    let Some(number) = verdict.pattern else { continue };
                    numbers[row] = number as i64;
                    matches[row] = u8::from(verdict.matches);
                    unusual.extend(self.describe(row, number, verdict.unusual));
                }
            }
            Ok((numbers, matches, unusual))
        })?;
        Ok((Array(numbers), Array(matches), unusual))
    }

    /// Return the patterns of items by number (-1 for none), and the values of their variables: ends of each item's,
    /// ends, presence, bytes.
    fn find(
        &self,
        py: Python<'_>,
        items: Strings<'_>,
        methods: Option<Methods<'_>>,
        drop_trackers: bool,
    ) -> PyResult<(Array<i64>, Array<i64>, Array<i64>, Array<u8>, Array<u8>)> {
        let items = packed(&items)?;
        let methods = check_methods(methods.as_ref(), items.len())?;
        let result =
            detached(py, || Ok(rows::matches(&self.sites, &scan_all(items, methods, drop_trackers)?, items.len())))?;
        let Matches { numbers, ends, text_ends, present, text } = result;
        Ok((Array(numbers), Array(ends), Array(text_ends), Array(present), Array(text)))
    }
}

/// Scan items.
fn scan_all(items: Packed<'_>, methods: Option<MethodSlices<'_>>, drop_trackers: bool) -> Result<Vec<Batch>> {
    batch::scan(items, |batch, row, item| scan_one(batch, row, item, get_method(methods, row), drop_trackers))
}

impl UrlSites {
    /// Describe the unusual values of an item.
    fn describe(&self, row: usize, pattern: usize, unusual: Vec<judge::Unusual>) -> impl Iterator<Item = Unusual> {
        unusual.into_iter().map(move |value| {
            let profile = value.variable.and_then(|at| self.judge.profiles(pattern).get(at));
            let reason = value.describe(profile);
            (row, value.variable.map_or(-1, |at| at as i64), value.key, reason, value.rarity)
        })
    }
}

register! {
    [UrlSites] add_urls, canonical_url, compact_urls, read_requests, url_reasons
}
