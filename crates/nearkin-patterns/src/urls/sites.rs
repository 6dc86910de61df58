//! Patterns of all hosts of a table, and the templates that match no pattern.
//!
//! If clients are known, the merge runs twice. Clients with most of their templates outside the patterns of the first
//! run are scanners. The second run ignores templates that only scanners requested.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::request::{self, Request};
use super::tokens;
use super::tree::{self, Evidence, Pattern, Rules, Tree};
use crate::templates::{self, Template, TemplateTable};
use crate::values::Values;
use nearkin_core::cancel::CancelToken;
use nearkin_core::hash::xxh3;

/// Ratio of the requests of the rarest of the patterns with 95% of all requests to the minimum of a path without
/// types; half of it up to a minimum of 4.
const RARE_PATH: u64 = 20;

/// Share of the requests of a host that every path without types has a pattern from: 1 / 200.
const FREQUENT_PATH: u64 = 200;

/// A pattern with its host, text and statistics.
#[derive(Debug, Clone)]
pub struct SitePattern {
    /// The host; empty for paths without a host.
    pub host: Vec<u8>,
    /// The pattern.
    pub pattern: Pattern,
    /// The hash of method, host, path and dispatching parameters.
    pub id: u64,
    /// The pattern as a URL.
    pub text: Vec<u8>,
    /// Rows of the matching templates, in the order of their bytes.
    pub templates: Vec<usize>,
    /// Number of requests.
    pub count: u64,
}

/// Patterns of a table.
#[derive(Debug, Default)]
pub struct Sites {
    hosts: BTreeMap<Vec<u8>, (Tree, Vec<Option<usize>>)>,
    /// The patterns: most requests first, then by text.
    pub patterns: Vec<SitePattern>,
    /// Rows of templates that match no pattern.
    pub unmatched: Vec<usize>,
    /// The evidence for the variables, by host.
    pub evidence: Vec<(Vec<u8>, Evidence)>,
}

/// Return true if the requests are a list of URLs rather than traffic: hardly any is repeated, so a single request is
/// not noise.
fn is_list(requests: &[Request], templates: &[Template], sample: u64) -> bool {
    let (mut literal, mut repeated, mut typed, mut distinct) = (0, 0, 0, 0);
    for request in requests {
        let template = &templates[request.template];
        if template.wildcards.is_empty() {
            literal += request.count;
            repeated += if request.count > 1 { request.count } else { 0 };
        } else {
            let distinct_values = template.wildcards.iter().map(Values::len).max().unwrap_or(0) as u64;
            // Samples are limited, so counts beyond the limit are not comparable.
            typed += request.count.min(sample);
            distinct += distinct_values.min(request.count).min(sample);
        }
    }
    20 * repeated <= literal && 10 * distinct >= 9 * typed
}

impl Sites {
    /// Merge the templates of a table. Patterns with fewer than `min_requests` requests are dropped, except in a list
    /// of URLs.
    ///
    /// # Errors
    /// Memory allocation fails, or the computation is cancelled.
    pub fn new(table: &TemplateTable, rules: &Rules, min_requests: u64) -> nearkin_core::Result<Self> {
        let result = Self::without(table, rules, min_requests, &HashSet::new())?;
        let scanners = if rules.clients { result.scanners(table) } else { HashSet::new() };
        if scanners.is_empty() { Ok(result) } else { Self::without(table, rules, min_requests, &scanners) }
    }

    /// Merge the templates, ignoring those that only these clients requested.
    fn without(
        table: &TemplateTable,
        rules: &Rules,
        min_requests: u64,
        scanners: &HashSet<u64>,
    ) -> nearkin_core::Result<Self> {
        let templates = table.templates();
        let mut sites = Self::default();
        let mut hosts: BTreeMap<Vec<u8>, Vec<Request>> = BTreeMap::new();
        for position in table.sorted()? {
            let template = &templates[position as usize];
            if !scanners.is_empty()
                && !template.sources.is_empty()
                && template.sources.iter().all(|source| scanners.contains(&source.0))
            {
                sites.unmatched.push(position as usize);
                continue;
            }
            let (host, mut request) = request::split(&template.text);
            request.template = position as usize;
            request.count = template.count;
            request.declared = request::is_declared(template);
            hosts.entry(host).or_default().push(request);
        }
        let stop = CancelToken::current();
        for (host, requests) in hosts {
            sites.add_host(host, requests, templates, (rules, min_requests, table.max_values().min(16) as u64));
            stop.check()?;
        }
        sites.order();
        Ok(sites)
    }

    /// Return the clients with at least ten templates, and more than half of them, outside the patterns.
    fn scanners(&self, table: &TemplateTable) -> HashSet<u64> {
        let mut by_client: HashMap<u64, (u32, u32)> = HashMap::new();
        let explained: HashSet<usize> =
            self.patterns.iter().flat_map(|named| named.templates.iter().copied()).collect();
        for (position, template) in table.templates().iter().enumerate() {
            for (client, _) in template.sources.iter() {
                let counts = by_client.entry(client).or_default();
                if explained.contains(&position) { counts.0 += 1 } else { counts.1 += 1 }
            }
        }
        by_client
            .into_iter()
            .filter(|(_, (inside, outside))| *outside >= 10 && outside > inside)
            .map(|(client, _)| client)
            .collect()
    }

    fn add_host(
        &mut self,
        host: Vec<u8>,
        requests: Vec<Request>,
        templates: &[Template],
        (rules, min_requests, sample): (&Rules, u64, u64),
    ) {
        let rest = requests.clone();
        let mut tree = tree::merge(&host, requests, templates, rules);
        let mut result: Vec<Vec<usize>> = vec![Vec::new(); tree.patterns.len()];
        let mut counts = vec![0; tree.patterns.len()];
        let mut odd = vec![0; tree.patterns.len()];
        for request in &rest {
            match tree.find(request) {
                Some(pattern) => {
                    result[pattern].push(request.template);
                    counts[pattern] += request.count;
                    odd[pattern] += if request.is_odd() { request.count } else { 0 };
                }
                None => self.unmatched.push(request.template),
            }
        }
        let list = is_list(&rest, templates, sample);
        let min_requests = if list { 1 } else { min_requests };
        // A path without types needs a share of the requests of the common patterns: scanners repeat words, also
        // with numbers. The same holds for patterns of attacks.
        let mut sorted = counts.clone();
        sorted.sort_unstable();
        let common = tree::common_count(&sorted, 95);
        let least = (common / RARE_PATH).max((2 * common / RARE_PATH).min(4));
        // A page next to one interface with nearly all requests is no scanner's word.
        let least = least.min((sorted.iter().sum::<u64>() / FREQUENT_PATH).max(4));
        let mut numbers = vec![None; tree.patterns.len()];
        for (position, templates) in result.into_iter().enumerate() {
            let path = &tree.patterns[position].path;
            let typed = path.iter().skip(1).any(|part| tokens::has_type(part))
                || path.first().is_some_and(|part| tokens::is_precise(part));
            let typed = typed && 2 * odd[position] <= counts[position];
            let min_requests =
                if list || tree.declared || typed || rules.is_pinned(&host, &tree.patterns[position].path) {
                    min_requests
                } else {
                    min_requests.max(least)
                };
            if templates.is_empty() || counts[position] < min_requests {
                self.unmatched.extend(templates);
                continue;
            }
            let pattern = tree.patterns[position].clone();
            numbers[position] = Some(self.patterns.len());
            let text = |all| templates::to_text(pattern.bytes(&host, all).trim_ascii_start());
            let id = xxh3::hash(&text(false), 0);
            let text = text(true);
            self.patterns.push(SitePattern {
                host: host.clone(),
                pattern,
                id,
                text,
                templates,
                count: counts[position],
            });
        }
        self.evidence.extend(std::mem::take(&mut tree.evidence).into_iter().map(|evidence| (host.clone(), evidence)));
        self.hosts.insert(host, (tree, numbers));
    }

    /// Sort the patterns.
    fn order(&mut self) {
        let mut order: Vec<usize> = (0..self.patterns.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&self.patterns[a], &self.patterns[b]);
            b.count.cmp(&a.count).then_with(|| a.text.cmp(&b.text))
        });
        let mut rank_of = vec![0; order.len()];
        for (position, &old) in order.iter().enumerate() {
            rank_of[old] = position;
        }
        let mut old: Vec<Option<SitePattern>> = std::mem::take(&mut self.patterns).into_iter().map(Some).collect();
        self.patterns = order.iter().filter_map(|&position| old[position].take()).collect();
        for (_, numbers) in self.hosts.values_mut() {
            for number in numbers.iter_mut().flatten() {
                *number = rank_of[*number];
            }
        }
    }

    /// Return the index of the pattern that matches a template.
    pub fn find(&self, template: &[u8]) -> Option<usize> {
        let (host, request) = request::split(template);
        self.find_request(&host, &request)
    }

    /// Return the index of the pattern that matches a request.
    pub fn find_request(&self, host: &[u8], request: &Request) -> Option<usize> {
        let (tree, numbers) = self.hosts.get(host)?;
        tree.find(request).and_then(|pattern| numbers[pattern])
    }

    /// Return the index of the pattern of the path of a request that no pattern matches.
    pub fn find_nearest(&self, host: &[u8], request: &Request) -> Option<usize> {
        let (tree, numbers) = self.hosts.get(host)?;
        tree.find_nearest(request).and_then(|pattern| numbers[pattern])
    }
}
