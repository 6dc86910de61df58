//! Patterns of all hosts of a table: which form belongs to which, and what no pattern explains.
//!
//! Where clients are known, the merge is done twice: clients of whose forms most are in no pattern of the first are scanners, and
//! what nobody else asked for is left out of the second.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::tokens;
use super::tree::{self, Asked, Evidence, Pattern, Rules, Tree};
use crate::forms::{Form, FormTable};
use crate::values::Values;
use nearkin_core::hash::xxh3;

/// A pattern with its host and name.
#[derive(Debug, Clone)]
pub struct Named {
    /// The host, empty for paths alone.
    pub host: Vec<u8>,
    /// The pattern.
    pub pattern: Pattern,
    /// What it is known by: the hash of method, host, path and parameters that dispatch.
    pub id: u64,
    /// The pattern as a URL.
    pub text: Vec<u8>,
    /// Forms that it explains, ascending by their bytes.
    pub forms: Vec<usize>,
    /// Their requests.
    pub count: u64,
}

/// Patterns of a table.
#[derive(Debug, Default)]
pub struct Sites {
    hosts: BTreeMap<Vec<u8>, (Tree, Vec<Option<usize>>)>,
    /// The patterns: most requests first, then by text.
    pub patterns: Vec<Named>,
    /// Forms that no pattern explains.
    pub unexplained: Vec<usize>,
    /// What made variables of words.
    pub evidence: Vec<(Vec<u8>, Evidence)>,
}

/// The text of a pattern: method, host, path, parameters that dispatch; with the other ones too if `whole`.
fn text_of(host: &[u8], pattern: &Pattern, whole: bool) -> Vec<u8> {
    let mut text = pattern.method.clone();
    if !text.is_empty() {
        text.push(b' ');
    }
    text.extend_from_slice(host);
    for part in &pattern.path {
        text.push(b'/');
        text.extend(tokens::written(part));
    }
    if pattern.path.is_empty() {
        text.push(b'/');
    }
    let mut mark = b'?';
    for parameter in &pattern.parameters {
        if parameter.literal.is_none() && !whole {
            continue;
        }
        text.push(mark);
        mark = b'&';
        text.extend(tokens::written(&parameter.key));
        if let Some(literal) = &parameter.literal {
            text.push(b'=');
            text.extend_from_slice(literal);
        } else if let Some(kind) = parameter.kind {
            text.extend_from_slice(b"={");
            text.extend_from_slice(kind.name().as_bytes());
            text.push(b'}');
        }
    }
    text
}

/// Whether the requests are a list of URLs rather than traffic: hardly one is there twice, and once is then no sign of noise.
fn is_list(asked: &[Asked], forms: &[Form], sample: u64) -> bool {
    let (mut literal, mut repeated, mut typed, mut distinct) = (0, 0, 0, 0);
    for one in asked {
        let form = &forms[one.form];
        if form.holes.is_empty() {
            literal += one.count;
            repeated += if one.count > 1 { one.count } else { 0 };
        } else {
            let most = form.holes.iter().map(Values::len).max().unwrap_or(0) as u64;
            // Samples are no larger than they are, so counts beyond them say nothing.
            typed += one.count.min(sample);
            distinct += most.min(one.count).min(sample);
        }
    }
    20 * repeated <= literal && 10 * distinct >= 9 * typed
}

impl Sites {
    /// Merges the forms of a table. Patterns of fewer than `least` requests explain nothing, but in a list of URLs.
    ///
    /// # Errors
    /// There is no memory for the order of the forms.
    pub fn new(table: &FormTable, rules: &Rules, least: u64) -> nearkin_core::Result<Self> {
        let found = Self::without(table, rules, least, &HashSet::new())?;
        let scanners = if rules.clients { found.scanners(table) } else { HashSet::new() };
        if scanners.is_empty() { Ok(found) } else { Self::without(table, rules, least, &scanners) }
    }

    /// Merges the forms that others than these clients asked for.
    fn without(table: &FormTable, rules: &Rules, least: u64, scanners: &HashSet<u64>) -> nearkin_core::Result<Self> {
        let forms = table.forms();
        let mut sites = Self::default();
        let mut hosts: BTreeMap<Vec<u8>, Vec<Asked>> = BTreeMap::new();
        for place in table.sorted()? {
            let form = &forms[place as usize];
            if !scanners.is_empty()
                && !form.sources.is_empty()
                && form.sources.iter().all(|one| scanners.contains(&one.0))
            {
                sites.unexplained.push(place as usize);
                continue;
            }
            let (_, host, mut asked) = tree::split(&form.text);
            asked.form = place as usize;
            asked.count = form.count;
            asked.declared = tree::is_declared(form);
            hosts.entry(host).or_default().push(asked);
        }
        for (host, asked) in hosts {
            sites.add_host(host, asked, forms, (rules, least, table.most().min(16) as u64));
        }
        sites.order();
        Ok(sites)
    }

    /// Clients of whose forms most are in no pattern, ten at least.
    fn scanners(&self, table: &FormTable) -> HashSet<u64> {
        let mut asked: HashMap<u64, (u32, u32)> = HashMap::new();
        let explained: HashSet<usize> = self.patterns.iter().flat_map(|named| named.forms.iter().copied()).collect();
        for (place, form) in table.forms().iter().enumerate() {
            for (client, _) in form.sources.iter() {
                let counts = asked.entry(client).or_default();
                if explained.contains(&place) { counts.0 += 1 } else { counts.1 += 1 }
            }
        }
        asked
            .into_iter()
            .filter(|(_, (inside, outside))| *outside >= 10 && outside > inside)
            .map(|(client, _)| client)
            .collect()
    }

    fn add_host(
        &mut self,
        host: Vec<u8>,
        asked: Vec<Asked>,
        forms: &[Form],
        (rules, least, sample): (&Rules, u64, u64),
    ) {
        let rest = asked.clone();
        let mut tree = tree::merge(&host, asked, forms, rules);
        let mut found: Vec<Vec<usize>> = vec![Vec::new(); tree.patterns.len()];
        let mut counts = vec![0; tree.patterns.len()];
        for one in &rest {
            match tree.find(one) {
                Some(pattern) => {
                    found[pattern].push(one.form);
                    counts[pattern] += one.count;
                }
                None => self.unexplained.push(one.form),
            }
        }
        let least = if is_list(&rest, forms, sample) { 1 } else { least };
        let mut numbers = vec![None; tree.patterns.len()];
        for (place, forms) in found.into_iter().enumerate() {
            if forms.is_empty() || counts[place] < least {
                self.unexplained.extend(forms);
                continue;
            }
            let pattern = tree.patterns[place].clone();
            numbers[place] = Some(self.patterns.len());
            let id = xxh3::hash(&text_of(&host, &pattern, false), 0);
            let text = text_of(&host, &pattern, true);
            self.patterns.push(Named { host: host.clone(), pattern, id, text, forms, count: counts[place] });
        }
        self.evidence.extend(std::mem::take(&mut tree.evidence).into_iter().map(|evidence| (host.clone(), evidence)));
        self.hosts.insert(host, (tree, numbers));
    }

    /// Puts the patterns in order.
    fn order(&mut self) {
        let mut order: Vec<usize> = (0..self.patterns.len()).collect();
        order.sort_by(|&a, &b| {
            let (a, b) = (&self.patterns[a], &self.patterns[b]);
            b.count.cmp(&a.count).then_with(|| a.text.cmp(&b.text))
        });
        let mut place_of = vec![0; order.len()];
        for (place, &old) in order.iter().enumerate() {
            place_of[old] = place;
        }
        let mut old: Vec<Option<Named>> = std::mem::take(&mut self.patterns).into_iter().map(Some).collect();
        self.patterns = order.iter().filter_map(|&place| old[place].take()).collect();
        for (_, numbers) in self.hosts.values_mut() {
            for number in numbers.iter_mut().flatten() {
                *number = place_of[*number];
            }
        }
    }

    /// The place of the pattern that takes a form.
    pub fn find(&self, form: &[u8]) -> Option<usize> {
        let (_, host, asked) = tree::split(form);
        let (tree, numbers) = self.hosts.get(&host)?;
        tree.find(&asked).and_then(|pattern| numbers[pattern])
    }
}
