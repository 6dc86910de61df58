//! The merge of URLs: the templates of a host become a tree with literal names and variable slots.
//!
//! A node contains the requests with a common prefix. Their next parts are grouped: equal parts; names with running
//! numbers (`img042`); versions; parts that [`decide`](super::decide) takes for values of one variable, by suffix;
//! rare parts with a type that the type of another group covers. Each group is a child, and its requests are merged
//! further together, so evidence for a variable deeper in the path comes from all of them. If the rest is a path of
//! unordered files, one variable takes all of it. Methods are separated at the end.
//!
//! All steps follow the order of bytes and use sums, so the tree depends on the table alone. Cost: O(templates ·
//! segments · log).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::decide::{self, Sibling, SiblingContext, Verdict};
use super::parameters::{self, Parameter, Query};
use super::request::Request;
use super::tokens::{self, Form};
use crate::kinds::{self, Kind};
use crate::templates::{Element, Template, WILDCARD, elements};
use crate::values::Values;
use nearkin_core::cancel::CancelToken;
use nearkin_core::hash::xxh3;

/// A path that a user pinned: its host and its parts.
pub type Pin = (Vec<u8>, Vec<Vec<u8>>);

/// A pattern of one host.
#[derive(Debug, Clone)]
pub struct Pattern {
    /// The method; empty for none.
    pub method: Vec<u8>,
    /// Names and slots of the path.
    pub path: Vec<Vec<u8>>,
    /// Parameters by key; dispatching ones have a value.
    pub parameters: Vec<Parameter>,
}

impl Pattern {
    /// Return the pattern as the bytes of a template: `METHOD host/path?key=value` with wildcards. Without `all`, only
    /// dispatching parameters are written.
    pub fn bytes(&self, host: &[u8], all: bool) -> Vec<u8> {
        let mut bytes = [&self.method, &b" "[..], host].concat();
        for part in &self.path {
            bytes.push(b'/');
            bytes.extend_from_slice(part);
        }
        if self.path.is_empty() {
            bytes.push(b'/');
        }
        let parameters = self.parameters.iter().filter(|parameter| all || parameter.literal.is_some());
        for (number, Parameter { key, literal, kind, .. }) in parameters.enumerate() {
            bytes.push(if number == 0 { b'?' } else { b'&' });
            bytes.extend_from_slice(key);
            match (literal, kind) {
                (Some(literal), _) => bytes.extend([b"=", literal.as_slice()].concat()),
                (None, Some(kind)) => bytes.extend([b'=', WILDCARD, *kind as u8]),
                (None, None) => (),
            }
        }
        bytes
    }

    /// Return the types of the variables, in order.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> =
            self.path.iter().flat_map(|part| tokens::wildcards(part).map(|(_, kind)| kind)).collect();
        for parameter in &self.parameters {
            kinds.extend(tokens::wildcards(&parameter.key).map(|(_, kind)| kind));
            kinds.extend(parameter.kind.filter(|_| parameter.literal.is_none()));
        }
        kinds
    }
}

/// The evidence for a variable.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The slot, with the path before it.
    pub path: Vec<Vec<u8>>,
    /// The decision.
    pub verdict: Verdict,
}

#[derive(Debug, Default)]
struct Node {
    names: HashMap<Vec<u8>, usize>,
    /// Slots with wildcards, the narrowest first.
    slots: Vec<(Vec<u8>, usize)>,
    /// The patterns of requests that end here, by method.
    ends: BTreeMap<Vec<u8>, Query>,
}

/// The patterns of one host.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    /// The patterns.
    pub patterns: Vec<Pattern>,
    /// The evidence for its slots.
    pub evidence: Vec<Evidence>,
    /// True if the requests are texts of patterns.
    pub declared: bool,
}

/// Constraints of the merge, set by the user.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Paths with parts that must be literal.
    pub pins: Vec<Pin>,
    /// Hosts and paths of slots to undo, with `{}` for wildcards.
    pub splits: Vec<Vec<u8>>,
    /// True if clients are known.
    pub clients: bool,
    /// Parts that may become variables.
    pub any: Any,
}

impl Rules {
    /// Return true if a path is pinned.
    pub fn is_pinned(&self, host: &[u8], path: &[Vec<u8>]) -> bool {
        self.pins.iter().any(|(name, pin)| name == host && pin == path)
    }
}

/// Classes of parts that are literal by default and may become variables.
#[derive(Debug, Clone, Copy, Default)]
pub struct Any {
    /// File suffixes are part of values.
    pub suffix: bool,
    /// Versions are variables.
    pub version: bool,
    /// Language codes are variables.
    pub language: bool,
}

/// Requests with the same slot or name as their next part.
struct Group {
    part: Vec<u8>,
    members: Vec<usize>,
}

struct Merge<'a> {
    host: Vec<u8>,
    requests: Vec<Request>,
    templates: &'a [Template],
    rules: &'a Rules,
    /// Parts with at least three different prefixes.
    common: HashSet<Vec<u8>>,
    /// Number of requests of an ordinary endpoint.
    ordinary: f64,
    /// True if the requests are texts of patterns; nothing is merged then.
    declared: bool,
    stop: CancelToken,
    tree: Tree,
}

/// Maximum number of slots at a node that may absorb others.
const MAX_ABSORBING: usize = 64;
/// Minimum number of siblings that differ in the words of a name with numbers.
const MIN_FRAMES: usize = 8;
/// A class of siblings that are judged together: form or frame, and suffix.
type Class<K> = (K, Vec<u8>);
/// Levels below siblings that are compared.
const LEVELS: usize = 4;
/// Maximum depth of the tree; the rest of a path is one variable.
const MAX_DEPTH: usize = 40;

/// Maximum number of parameters of one path that are tested for a dispatcher one after another, as in requests without
/// the first.
const MAX_DISPATCHERS: usize = 16;

/// Merge the requests of one host; after cancellation the tree is incomplete.
pub fn merge(host: &[u8], requests: Vec<Request>, templates: &[Template], rules: &Rules) -> Tree {
    let common = common_parts(&requests);
    let ordinary = ordinary(&requests);
    let all = (0..requests.len()).collect();
    let (mut num_requests, mut num_declared) = (0, 0);
    for request in &requests {
        num_requests += request.count;
        num_declared += if request.declared { request.count } else { 0 };
    }
    let declared = 4 * num_declared >= num_requests && num_declared > 0;
    let mut requests = requests;
    for request in &mut requests {
        request.declared = declared;
    }
    let (host, stop, tree) = (host.to_vec(), CancelToken::current(), Tree::default());
    let mut merge = Merge { host, requests, templates, rules, common, ordinary, declared, stop, tree };
    merge.tree.declared = declared;
    let mut path = Vec::new();
    merge.node(all, &mut path);
    merge.tree
}

/// Return the parts with at least three different prefixes: they belong to the structure of the site.
fn common_parts(requests: &[Request]) -> HashSet<Vec<u8>> {
    let mut behind: HashMap<&[u8], (u8, [u64; 2])> = HashMap::new();
    for request in requests {
        let mut prefix = 0;
        for part in &request.path {
            let entry = behind.entry(part).or_default();
            let seen = usize::from(entry.0).min(2);
            if entry.0 < 3 && !entry.1[..seen].contains(&prefix) {
                if entry.0 < 2 {
                    entry.1[usize::from(entry.0)] = prefix;
                }
                entry.0 += 1;
            }
            prefix = xxh3::hash(part, prefix);
        }
    }
    behind.into_iter().filter(|(_, (count, _))| *count >= 3).map(|(part, _)| part.to_vec()).collect()
}

/// Return the number of requests of an ordinary endpoint: half of the requests with typed parts have a path with at
/// least as many. It grows with the log as the requests of an endpoint do.
fn ordinary(requests: &[Request]) -> f64 {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for request in requests {
        if request.path.iter().any(|part| tokens::wildcards(part).next().is_some()) {
            let path = request.path.iter().fold(0, |seed, part| xxh3::hash(part, seed));
            *counts.entry(path).or_default() += request.count;
        }
    }
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable();
    match common_count(&counts, 50) {
        0 | 1 => 20.0,
        count => count as f64,
    }
}

/// Return the smallest of the largest counts that have `percent` of the sum; `counts` ascend.
pub fn common_count(counts: &[u64], percent: u64) -> u64 {
    let sum: u64 = counts.iter().sum();
    let mut rest = sum;
    let rare = counts.iter().take_while(|&&count| {
        rest -= count;
        100 * rest >= percent * sum && rest > 0
    });
    counts.get(rare.count()).copied().unwrap_or(0)
}

impl Merge<'_> {
    /// Build the node of requests with the prefix `path`.
    fn node(&mut self, members: Vec<usize>, path: &mut Vec<Vec<u8>>) -> usize {
        let position = self.tree.nodes.len();
        self.tree.nodes.push(Node::default());
        if self.stop.is_set() {
            return position;
        }
        let depth = path.len();
        let (ended, going): (Vec<usize>, Vec<usize>) =
            members.into_iter().partition(|&index| self.requests[index].path.len() == depth);
        let num_ended = ended.iter().map(|&index| self.requests[index].count).sum();
        self.end(position, ended, path);
        if going.is_empty() {
            return position;
        }
        let groups = if depth >= MAX_DEPTH || !self.declared && self.is_tail(&going, path) {
            vec![Group { part: tokens::slot(b"", Kind::Tail, b""), members: going }]
        } else {
            self.groups(going, path, num_ended)
        };
        for Group { part, members } in groups {
            if tokens::is_marked(&part) {
                continue;
            }
            path.push(part.clone());
            let child = if tokens::only_wildcard(&part) == Some(Kind::Tail) {
                let child = self.tree.nodes.len();
                self.tree.nodes.push(Node::default());
                self.end(child, members, path);
                child
            } else {
                self.node(members, path)
            };
            path.pop();
            let node = &mut self.tree.nodes[position];
            if tokens::is_literal(&part) {
                node.names.insert(part, child);
            } else {
                node.slots.push((part, child));
            }
        }
        let narrow = |slot: &[u8]| {
            let widest = tokens::wildcards(slot)
                .map(|(_, kind)| Kind::ALL.iter().position(|&item| item == kind))
                .max()
                .flatten();
            (widest, tokens::wildcards(slot).count(), std::cmp::Reverse(slot.len()), slot.to_vec())
        };
        self.tree.nodes[position].slots.sort_by_cached_key(|(slot, _)| narrow(slot));
        position
    }

    /// Build the patterns of requests that end at a node.
    fn end(&mut self, node: usize, ended: Vec<usize>, path: &[Vec<u8>]) {
        let mut methods: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
        for index in ended {
            methods.entry(self.requests[index].method.clone()).or_default().push(index);
        }
        for (method, members) in methods {
            let query = self.query((&method, path), &members, &mut Vec::new(), 0);
            self.tree.nodes[node].ends.insert(method, query);
        }
    }

    fn query(
        &mut self,
        (method, path): (&[u8], &[Vec<u8>]),
        members: &[usize],
        fixed: &mut Vec<(Vec<u8>, Vec<u8>)>,
        depth: usize,
    ) -> Query {
        let requests: Vec<&Request> = members.iter().map(|&index| &self.requests[index]).collect();
        let last = path.last().map_or(&b""[..], Vec::as_slice);
        let script = last.is_empty() || super::scan::suffix_at(last).is_some();
        let may_dispatch = fixed.len() < 4 && depth < MAX_DISPATCHERS;
        let key = may_dispatch.then(|| parameters::dispatcher(&requests, fixed, script)).flatten();
        let Some(key) = key else {
            let parameters = parameters::parameters(&requests, fixed);
            self.tree.patterns.push(Pattern { method: method.to_vec(), path: path.to_vec(), parameters });
            return Query::Leaf(self.tree.patterns.len() - 1);
        };
        let mut groups: BTreeMap<Option<Vec<u8>>, Vec<usize>> = BTreeMap::new();
        for &index in members {
            let request = &self.requests[index];
            match request.parameters.iter().find(|parameter| parameter.0 == key) {
                None => groups.entry(None).or_default().push(index),
                Some((_, Some(value))) if tokens::is_literal(value) && !value.is_empty() => {
                    groups.entry(Some(value.clone())).or_default().push(index);
                }
                // Only names dispatch.
                Some(_) => (),
            }
        }
        let mut values = BTreeMap::new();
        let mut absent = None;
        for (value, members) in groups {
            let fixed_before = fixed.len();
            if let Some(value) = &value {
                fixed.push((key.clone(), value.clone()));
            }
            // Without the key, it is not tested again.
            let query = self.query((method, path), &members, fixed, depth + 1);
            fixed.truncate(fixed_before);
            match value {
                Some(value) => {
                    values.insert(value, query);
                }
                None => absent = Some(Box::new(query)),
            }
        }
        Query::Dispatch { key, values, absent }
    }

    /// Return true if the rest is a path of unordered files.
    fn is_tail(&self, going: &[usize], path: &[Vec<u8>]) -> bool {
        let depth = path.len();
        // It was one before `compact` put patterns in place of requests, whose counts are those of many files.
        let was_tail = |&index: &usize| tokens::only_wildcard(&self.requests[index].path[depth]) == Some(Kind::Tail);
        if going.iter().any(was_tail) {
            return true;
        }
        if depth == 0 || path.last().is_none_or(|part| !tokens::is_literal(part)) || going.len() < 6 {
            return false;
        }
        let mut lengths: BTreeMap<usize, u64> = BTreeMap::new();
        let (mut leaves, mut num_requests, mut files) = (0_u64, 0_u64, 0_u64);
        let mut levels: HashMap<&[u8], (usize, bool)> = HashMap::new();
        let mut parts = 0_u64;
        for &index in going {
            let request = &self.requests[index];
            let rest = &request.path[depth..];
            if rest.iter().any(|part| tokens::is_marked(part)) {
                continue;
            }
            *lengths.entry(rest.len()).or_default() += 1;
            leaves += 1;
            num_requests += request.count;
            files += u64::from(rest.last().is_some_and(|part| super::scan::suffix_at(part).is_some()));
            for (level, part) in rest.iter().enumerate() {
                parts += 1;
                let entry = levels.entry(part).or_insert((level, false));
                entry.1 |= entry.0 != level;
            }
        }
        let varied = lengths.values().filter(|&&count| count * 12 >= leaves).count() >= 3;
        if !varied || leaves < 6 || leaves < 12 && files < leaves || num_requests > 3 * leaves {
            return false;
        }
        let wandering: u64 = going
            .iter()
            .flat_map(|&index| &self.requests[index].path[depth..])
            .filter(|part| levels.get(part.as_slice()).is_some_and(|level| level.1))
            .count() as u64;
        let typed = going.iter().filter(|&&index| {
            self.requests[index].path[depth..].iter().any(|part| tokens::only_wildcard(part).is_some())
        });
        let typed = typed.count() as u64;
        4 * typed < leaves && (files * 10 >= leaves * 7 || wandering * 2 >= parts)
    }

    /// Return the groups of the next parts, in the order of their bytes; `ended` requests have no next part.
    fn groups(&mut self, going: Vec<usize>, path: &[Vec<u8>], ended: u64) -> Vec<Group> {
        let depth = path.len();
        let mut by_part: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
        for index in going {
            by_part.entry(self.requests[index].path[depth].clone()).or_default().push(index);
        }
        let mut groups: Vec<Group> = by_part.into_iter().map(|(part, members)| Group { part, members }).collect();
        if self.declared || groups.len() == 1 && !self.rules.any.version {
            return groups;
        }
        let pinned: BTreeSet<&[u8]> = self
            .rules
            .pins
            .iter()
            .filter(|(host, pin)| *host == self.host && pin.len() > depth)
            .filter(|(_, pin)| pin.iter().zip(path).all(|(pin, part)| tokens::fits(part, pin)))
            .map(|(_, pin)| pin[depth].as_slice())
            .collect();
        let (kept, free): (Vec<Group>, Vec<Group>) = groups
            .drain(..)
            .partition(|group| pinned.contains(group.part.as_slice()) || tokens::is_marked(&group.part));
        let free = self.join_languages(self.join_versions(free));
        let free = join_codes(free);
        let free = self.absorb_rare(free, false);
        let odd =
            kept.iter().filter(|group| tokens::is_marked(&group.part)).map(|group| self.count_requests(group)).sum();
        let free = self.values(free, path, (odd, ended));
        let free = join_numbered(free);
        let mut free = if path.is_empty() { free } else { self.absorb_rare(free, true) };
        free.extend(kept);
        free.sort_by(|a, b| a.part.cmp(&b.part));
        free
    }

    fn count_requests(&self, group: &Group) -> u64 {
        group.members.iter().map(|&index| self.requests[index].count).sum()
    }

    /// Join versions to a variable if there are many.
    fn join_versions(&self, groups: Vec<Group>) -> Vec<Group> {
        let is = |group: &Group| super::scan::is_version_segment(&group.part);
        let result = groups.iter().filter(|group| is(group)).count();
        let long =
            groups.iter().filter(|group| is(group) && memchr::memchr_iter(b'.', &group.part).count() > 1).count();
        if result == 0 || !(self.rules.any.version || result >= 8 || long >= 3) {
            return groups;
        }
        join_groups(groups, is, tokens::slot(b"", Kind::Version, b""))
    }

    /// Join language codes to a variable if the rules say so.
    fn join_languages(&self, groups: Vec<Group>) -> Vec<Group> {
        let is = |group: &Group| tokens::is_language(&group.part);
        if !self.rules.any.language || groups.iter().filter(|group| is(group)).count() < 2 {
            return groups;
        }
        join_groups(groups, is, tokens::slot(b"", Kind::Name, b""))
    }

    /// Replace siblings that are values by slots, for each suffix.
    fn values(&mut self, groups: Vec<Group>, path: &[Vec<u8>], (odd, ended): (u64, u64)) -> Vec<Group> {
        let total = groups.iter().map(|group| self.count_requests(group)).sum();
        let mut slot_of: Vec<Option<Vec<u8>>> = vec![None; groups.len()];
        self.frames(&groups, path, &mut slot_of);
        let structure = self.structure(&groups, path.len());
        let mut classes: BTreeMap<Class<Form>, Vec<usize>> = BTreeMap::new();
        for (position, group) in groups.iter().enumerate() {
            let form = tokens::form(&group.part, path.is_empty());
            let alone = form != Form::Sign(group.part[0]) && self.stands_alone(group, path.len());
            if slot_of[position].is_none() && tokens::is_word(&group.part) && !alone {
                let suffix = if matches!(form, Form::Sign(_)) { &b""[..] } else { suffix_of(&group.part) };
                let suffix = if self.rules.any.suffix && !suffix.is_empty() { b"*" } else { suffix };
                classes.entry((form, suffix.to_vec())).or_default().push(position);
            }
        }
        merge_documents(&mut classes);
        for ((form, suffix), positions) in classes {
            if positions.len() < 4 {
                continue;
            }
            let before = path.last().map_or(&b""[..], Vec::as_slice);
            let siblings: Vec<Sibling<'_>> =
                positions.iter().map(|&position| self.sibling(&groups[position], path.len(), &structure)).collect();
            let context = SiblingContext {
                before,
                total,
                odd,
                ended,
                ordinary: self.ordinary,
                clients: self.rules.clients,
                form,
            };
            for verdict in decide::decide(&siblings, context) {
                if verdict.values.is_empty() {
                    continue;
                }
                let any = suffix == b"*";
                let behind = if any { &b""[..] } else { &suffix };
                let ahead = usize::from(matches!(form, Form::Sign(_)));
                let parts = verdict.values.iter().map(|&at| &siblings[at].part[ahead..]);
                // A few of the words that scanners try at the start of a path do not make a variable one with hyphens.
                let is_hyphened = |part: &&[u8]| part.contains(&b'-');
                let plain = path.is_empty() && 2 * parts.clone().filter(is_hyphened).count() < verdict.values.len();
                let parts = parts.filter(|part| !plain || !is_hyphened(part));
                let kind = join_pool_kinds(parts, behind.len());
                let kind = if any { parameters::join(kind, Kind::File) } else { kind };
                let slot = tokens::slot(&siblings[0].part[..ahead], kind, behind);
                if self.rules.splits.contains(&bare(&self.host, path.iter().chain([&slot]))) {
                    continue;
                }
                for position in verdict.values.iter().map(|&at| positions[at]) {
                    if tokens::fits(&slot, &groups[position].part) {
                        slot_of[position] = Some(slot.clone());
                    }
                }
                let path = path.iter().cloned().chain([slot]).collect();
                self.tree.evidence.push(Evidence { path, verdict });
            }
        }
        let mut result: BTreeMap<Vec<u8>, Vec<usize>> = BTreeMap::new();
        for (group, slot) in groups.into_iter().zip(slot_of) {
            result.entry(slot.unwrap_or(group.part)).or_default().extend(group.members);
        }
        result.into_iter().map(|(part, members)| Group { part, members }).collect()
    }

    /// Replace siblings by slots that differ only in the words of a name with numbers, as `alps_{int}.jpg` and
    /// `lake_{int}.jpg`. Their number alone decides, so more requests never undo it.
    fn frames(&mut self, groups: &[Group], path: &[Vec<u8>], slot_of: &mut [Option<Vec<u8>>]) {
        let mut frames: BTreeMap<Class<Vec<u8>>, Vec<usize>> = BTreeMap::new();
        for (position, group) in groups.iter().enumerate() {
            if let Some(frame) = tokens::frame(&group.part) {
                let suffix = suffix_of(&group.part);
                let suffix = if self.rules.any.suffix && !suffix.is_empty() { b"*" } else { suffix };
                frames.entry((frame, suffix.to_vec())).or_default().push(position);
            }
        }
        merge_documents(&mut frames);
        let min_siblings = if path.is_empty() { 3 * MIN_FRAMES } else { MIN_FRAMES };
        for ((_, suffix), positions) in frames {
            let counts: Vec<u64> = positions.iter().map(|&position| self.count_requests(&groups[position])).collect();
            let requests: u64 = counts.iter().sum();
            // The words of a scanner are requested once or twice.
            if positions.len() < min_siblings || path.is_empty() && requests < 3 * positions.len() as u64 {
                continue;
            }
            let suffix = if suffix == b"*" { &b""[..] } else { &suffix };
            let parts = positions.iter().map(|&at| groups[at].part.as_slice());
            let kind = join_pool_kinds(parts, suffix.len());
            let slot = tokens::slot(b"", kind, suffix);
            if self.rules.splits.contains(&bare(&self.host, path.iter().chain([&slot]))) {
                continue;
            }
            for &position in &positions {
                if tokens::fits(&slot, &groups[position].part) {
                    slot_of[position] = Some(slot.clone());
                }
            }
            let verdict = Verdict {
                values: positions.clone(),
                score: (positions.len() as f64 / (MIN_FRAMES - 1) as f64).log2(),
                distinct: positions.len(),
                requests,
                once: counts.iter().filter(|&&count| count == 1).count(),
            };
            let path = path.iter().cloned().chain([slot]).collect();
            self.tree.evidence.push(Evidence { path, verdict });
        }
    }

    /// Return true if a part with wildcards has enough values to be an endpoint of its own, as `product-{int}`.
    fn stands_alone(&self, group: &Group, depth: usize) -> bool {
        if tokens::is_literal(&group.part) {
            return false;
        }
        let mut max_distinct = 0;
        for &index in &group.members {
            let request = &self.requests[index];
            let before: usize = request.path[..depth].iter().map(|part| tokens::wildcards(part).count()).sum();
            let wildcards = &self.templates[request.template].wildcards;
            for wildcard in before..before + tokens::wildcards(&group.part).count() {
                max_distinct = max_distinct.max(wildcards.get(wildcard).map_or(0, Values::len));
            }
        }
        max_distinct >= 4
    }

    /// Return the names below siblings that belong to the structure of the site, by level: those with three prefixes or
    /// more and at least a twentieth of the requests of their level. Values of a further variable have less.
    fn structure(&self, groups: &[Group], depth: usize) -> [HashSet<Vec<u8>>; LEVELS] {
        std::array::from_fn(|level| {
            let (mut counts, mut total) = (HashMap::<&[u8], u64>::new(), 0);
            for &index in groups.iter().flat_map(|group| &group.members) {
                let request = &self.requests[index];
                if let Some(part) = request.path.get(depth + 1 + level) {
                    total += request.count;
                    if self.common.contains(part) {
                        *counts.entry(part).or_default() += request.count;
                    }
                }
            }
            counts.into_iter().filter(|(_, count)| 20 * count >= total).map(|(part, _)| part.to_vec()).collect()
        })
    }

    fn sibling<'b>(&self, group: &'b Group, depth: usize, structure: &[HashSet<Vec<u8>>; LEVELS]) -> Sibling<'b> {
        let mut shapes: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut deeper, mut clients) = (0, Vec::new());
        for &index in &group.members {
            let request = &self.requests[index];
            deeper += if request.path.len() > depth + 1 { request.count } else { 0 };
            let below = request.path[depth + 1..].iter().zip(structure);
            let shape = below.fold(decide::LEAF, |seed, (part, structure)| {
                let coarse: &[u8] = if tokens::is_literal(part) && !structure.contains(part.as_slice()) {
                    super::scan::suffix_at(part).map_or(&b"*"[..], |at| &part[at..])
                } else {
                    part
                };
                xxh3::hash(coarse, seed)
            });
            let keys = request.parameters.iter().filter(|parameter| !tokens::is_marked(&parameter.0));
            let shape = keys.fold(shape, |seed, parameter| xxh3::hash(&parameter.0, seed));
            *shapes.entry(shape).or_default() += request.count;
            if clients.len() < 64 {
                clients.extend(self.templates[request.template].sources.iter().map(|(hash, _)| hash));
            }
        }
        clients.sort_unstable();
        clients.dedup();
        let shapes = shapes.into_iter().collect();
        Sibling { part: &group.part, count: self.count_requests(group), shapes, deeper, clients }
    }

    /// Return true if a slot of hashes or tokens may absorb names: few names look like a hash, relative to the
    /// requests of the slot.
    fn is_trusted(&self, groups: &[Group], position: usize, num_requests: u64) -> bool {
        let slot = &groups[position].part;
        let precise = tokens::wildcards(slot).next().is_some_and(|(_, kind)| matches!(kind, Kind::Hex | Kind::Token));
        let alike = groups
            .iter()
            .filter(|group| tokens::is_literal(&group.part) && !tokens::is_action(&group.part))
            .filter(|group| tokens::fits(slot, &group.part))
            .map(|group| self.count_requests(group));
        precise && 4 * alike.filter(|&count| count <= 2).sum::<u64>() <= num_requests
    }

    /// Join rare groups to a group with a type that covers theirs; groups of words absorb others only if `words` is
    /// true.
    fn absorb_rare(&self, groups: Vec<Group>, words: bool) -> Vec<Group> {
        let mut order: Vec<(u64, usize)> =
            groups.iter().enumerate().map(|(position, group)| (self.count_requests(group), position)).collect();
        order.sort_by(|a, b| b.0.cmp(&a.0).then(groups[a.1].part.cmp(&groups[b.1].part)));
        let mut into: Vec<usize> = (0..groups.len()).collect();
        let wide: Vec<(u64, usize)> = order
            .iter()
            .copied()
            .filter(|&(_, position)| tokens::wildcards(&groups[position].part).next().is_some())
            .filter(|&(_, position)| words || !is_textual(&groups[position].part))
            .take(MAX_ABSORBING)
            .collect();
        let trusted: Vec<bool> =
            wide.iter().map(|&(target_count, position)| self.is_trusted(&groups, position, target_count)).collect();
        for &(count, position) in order.iter().rev() {
            let part = &groups[position].part;
            let literal = tokens::is_literal(part);
            for (&(target_count, target), &trusted) in wide.iter().zip(&trusted) {
                if target == position || into[target] != target || !tokens::fits(&groups[target].part, part) {
                    continue;
                }
                let few = if literal {
                    // A name next to numbers is a name; next to words that are values, it is a value if it is rare.
                    let rare = count <= 2 || count * 100 <= target_count;
                    rare && !tokens::is_action(part) && (trusted || is_textual(&groups[target].part))
                } else {
                    count * 7 <= target_count
                };
                if few {
                    into[position] = target;
                    break;
                }
            }
        }
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let parts: Vec<Vec<u8>> = groups.iter().map(|group| group.part.clone()).collect();
        for (position, group) in groups.into_iter().enumerate() {
            let mut target = into[position];
            while into[target] != target {
                target = into[target];
            }
            members.entry(target).or_default().extend(group.members);
        }
        members.into_iter().map(|(position, members)| Group { part: parts[position].clone(), members }).collect()
    }
}

/// Join codes such as `AX-1032` to a variable if their letters differ.
fn join_codes(groups: Vec<Group>) -> Vec<Group> {
    let is = |group: &Group| tokens::is_code(&group.part) && super::scan::suffix_at(&group.part).is_none();
    let words = groups.iter().filter(|group| tokens::is_word(&group.part)).count();
    let result = groups.iter().filter(|group| is(group)).count();
    if result < 4 || 2 * result < words {
        return groups;
    }
    join_groups(groups, is, tokens::slot(b"", Kind::Name, b""))
}

/// Return the host and path, with `{}` for each wildcard.
pub fn bare<'a>(host: &[u8], path: impl Iterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut text = host.to_vec();
    for part in path {
        text.push(b'/');
        for (_, element) in elements(part) {
            match element {
                Element::Literal(byte) => text.push(byte),
                Element::Wildcard(_) => text.extend_from_slice(b"{}"),
            }
        }
    }
    text
}

fn is_textual(slot: &[u8]) -> bool {
    tokens::wildcards(slot)
        .any(|(_, kind)| matches!(kind, Kind::Word | Kind::Slug | Kind::Name | Kind::File | Kind::Text))
}

/// Join names with running numbers.
fn join_numbered(groups: Vec<Group>) -> Vec<Group> {
    let mut skeletons: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for group in &groups {
        if let Some(skeleton) = tokens::skeleton(&group.part) {
            *skeletons.entry(skeleton).or_default() += 1;
        }
    }
    let mut groups = groups;
    for (skeleton, count) in skeletons {
        let exists = groups.iter().any(|group| group.part == skeleton);
        if count >= 4 || exists && count >= 1 {
            let is =
                |group: &Group| group.part == skeleton || tokens::skeleton(&group.part).as_ref() == Some(&skeleton);
            groups = join_groups(groups, is, skeleton.clone());
        }
    }
    groups
}

/// Join the groups that satisfy `is`.
fn join_groups(groups: Vec<Group>, is: impl Fn(&Group) -> bool, part: Vec<u8>) -> Vec<Group> {
    let (joined, mut left): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(is);
    let members = joined.into_iter().flat_map(|group| group.members).collect();
    left.push(Group { part, members });
    left
}

/// Merge the suffixes of documents if three or more occur at one node: the parts are file names.
fn merge_documents<K: Ord + Clone>(classes: &mut BTreeMap<Class<K>, Vec<usize>>) {
    const DOCUMENTS: &str = " pdf doc docx xls xlsx ppt pptx csv tsv txt rtf odt ods zip gz tgz tar rar 7z jpg jpeg png gif bmp tiff webp svg \
     heic mp3 mp4 wav avi mov mkv webm log bak dat md eml ics vcf epub ";
    let document = |suffix: &[u8]| {
        suffix.strip_prefix(b".").is_some_and(|suffix| kinds::is_listed(&suffix.to_ascii_lowercase(), DOCUMENTS))
    };
    let mut documents: BTreeMap<K, Vec<Class<K>>> = BTreeMap::new();
    for class in classes.keys().filter(|(_, suffix)| document(suffix)) {
        documents.entry(class.0.clone()).or_default().push(class.clone());
    }
    for (form, result) in documents.into_iter().filter(|(_, result)| result.len() >= 3) {
        let positions = result.iter().filter_map(|class| classes.remove(class)).flatten().collect();
        classes.insert((form, b"*".to_vec()), positions);
    }
}

/// Return the file suffix of a part; empty without one.
fn suffix_of(part: &[u8]) -> &[u8] {
    super::scan::suffix_at(part).map_or(&b""[..], |at| &part[at..])
}

/// Return the type of pooled siblings without their suffix: the narrowest one that covers all but rare types.
fn join_pool_kinds<'a>(parts: impl Iterator<Item = &'a [u8]>, suffix: usize) -> Kind {
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    let mut all = 0;
    for part in parts {
        all += 1;
        *kinds.entry(tokens::kind_of(&part[..part.len() - suffix])).or_default() += 1;
    }
    kinds
        .into_iter()
        .filter(|&(_, count)| count * 200 >= all)
        .map(|(kind, _)| kind)
        .reduce(parameters::join)
        .unwrap_or(Kind::Text)
}

impl Tree {
    /// Return the pattern that matches a request.
    pub fn find(&self, request: &Request) -> Option<usize> {
        if self.nodes.is_empty() { None } else { self.walk(0, request, 0, &mut 0) }
    }

    fn walk(&self, node: usize, request: &Request, depth: usize, steps: &mut u32) -> Option<usize> {
        let current = &self.nodes[node];
        *steps += 1;
        if *steps > 10_000 {
            return None;
        }
        let Some(part) = request.path.get(depth) else {
            return self.end(node, request, false);
        };
        if part == super::scan::BAD {
            return None;
        }
        if let Some(&child) = current.names.get(part)
            && let Some(pattern) = self.walk(child, request, depth + 1, steps)
        {
            return Some(pattern);
        }
        for (slot, child) in &current.slots {
            if tokens::only_wildcard(slot) == Some(Kind::Tail) {
                let bad = request.path[depth..].iter().any(|part| part == super::scan::BAD);
                if !bad && let Some(pattern) = self.end(*child, request, false) {
                    return Some(pattern);
                }
            } else if tokens::fits(slot, part)
                && (depth > 0 || tokens::fits_first(slot, part))
                && let Some(pattern) = self.walk(*child, request, depth + 1, steps)
            {
                return Some(pattern);
            }
        }
        None
    }

    /// Return the pattern of the path of a request, whatever its parameters are: marked parts fit every slot, and other
    /// parts those below a name that are one number, hash, date or address.
    pub fn find_nearest(&self, request: &Request) -> Option<usize> {
        if self.nodes.is_empty() { None } else { self.approach(0, request, 0, &mut 0) }
    }

    fn approach(&self, node: usize, request: &Request, depth: usize, steps: &mut u32) -> Option<usize> {
        let current = &self.nodes[node];
        *steps += 1;
        if *steps > 1_000 {
            return None;
        }
        let Some(part) = request.path.get(depth) else {
            return self.end(node, request, true);
        };
        if let Some(&child) = current.names.get(part)
            && let Some(pattern) = self.approach(child, request, depth + 1, steps)
        {
            return Some(pattern);
        }
        let marked = tokens::is_marked(part);
        for fitting in [true, false] {
            for (slot, child) in &current.slots {
                let fits = tokens::fits(slot, part) && (depth > 0 || tokens::fits_first(slot, part));
                let near = marked || depth > 0 && tokens::is_precise(slot);
                if tokens::only_wildcard(slot) == Some(Kind::Tail) {
                    if let Some(pattern) = self.end(*child, request, true) {
                        return Some(pattern);
                    }
                } else if fits == fitting
                    && (fits || near)
                    && let Some(pattern) = self.approach(*child, request, depth + 1, steps)
                {
                    return Some(pattern);
                }
            }
        }
        None
    }

    /// Return the pattern of a request that ends at a node: of its dispatching parameters alone if `any` others will do.
    fn end(&self, node: usize, request: &Request, any: bool) -> Option<usize> {
        let mut query = self.nodes[node].ends.get(&request.method)?;
        loop {
            match query {
                Query::Leaf(pattern) => {
                    let own = &self.patterns[*pattern].parameters;
                    return (any || parameters::accepts(own, &request.parameters)).then_some(*pattern);
                }
                Query::Dispatch { key, values, absent } => {
                    query = match request.parameters.iter().find(|parameter| parameter.0 == *key) {
                        None => absent.as_deref()?,
                        Some((_, value)) => values.get(value.as_ref()?)?,
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::templates::{ItemMetadata, TemplateTable, item_hash};
    use crate::urls::canonical::Canonical;
    use crate::urls::scan::scan;
    use crate::urls::sites::Sites;
    use proptest::prelude::*;

    fn table(lines: &[String]) -> TemplateTable {
        let mut table = TemplateTable::new(16, 10_000).expect("valid");
        let (mut url, mut batch) = (Canonical::default(), Batch::default());
        for (row, line) in lines.iter().enumerate() {
            scan(&mut batch, row, line.as_bytes(), &mut url, (None, false)).expect("a URL");
        }
        for (row, hash, template, values) in batch.iter() {
            let item = lines[row].as_bytes();
            let values = values.map(|position| batch.value(position));
            table.add((hash, template), (item_hash(item), item), values, ItemMetadata::default()).expect("memory");
        }
        table
    }

    fn patterns(lines: &[String]) -> Vec<String> {
        let sites = Sites::new(&table(lines), &Rules::default(), 2).expect("memory");
        let mut result: Vec<String> =
            sites.patterns.iter().map(|named| String::from_utf8(named.text.clone()).expect("ASCII")).collect();
        result.sort();
        result
    }

    fn lines(count: usize, line: impl Fn(usize) -> String) -> impl Iterator<Item = String> {
        (0..count).map(line)
    }

    #[test]
    fn types_are_variables_and_names_next_to_them_are_literal() {
        let all: Vec<String> = lines(9, |i| format!("GET /users/{}", i * 31))
            .chain(lines(4, |_| "GET /users/list?sort=name".to_owned()))
            .chain(lines(4, |i| format!("POST /users/{}/orders/{}-{}.pdf", i, "receipt", 400 + i)))
            .collect();
        let expected =
            ["GET /users/list?sort={word}", "GET /users/{int}", "POST /users/{int}/orders/receipt-{int}.pdf"];
        assert_eq!(expected.map(str::to_owned).to_vec(), patterns(&all));
    }

    #[test]
    fn a_front_controller_has_a_pattern_for_each_action() {
        let all: Vec<String> = lines(8, |i| format!("/index.php?m=shop&c=view&id={i}"))
            .chain(lines(8, |i| format!("/index.php?c=list&page={i}&m=shop")))
            .chain(lines(8, |i| format!("/index.php?m=user&c=login&token=a{i}b{i}c{i}d{i}")))
            .collect();
        let expected = [
            "/index.php?c=list&m=shop&page={int}",
            "/index.php?c=login&m=user&token={hex}",
            "/index.php?c=view&id={int}&m=shop",
        ];
        assert_eq!(expected.map(str::to_owned).to_vec(), patterns(&all));
    }

    #[test]
    fn an_independent_parameter_is_a_variable() {
        let all: Vec<String> =
            lines(40, |i| format!("/list?sort={}&page={i}{}", ["up", "down"][i % 2], ["", "&q=x"][i / 2 % 2]))
                .collect();
        assert_eq!(vec!["/list?page={int}&q={word}&sort={word}".to_owned()], patterns(&all));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn each_template_matches_a_pattern_or_is_unmatched(
            lines in prop::collection::vec("(GET |)(/(users|list|[a-c]{1,3}|[0-9]{1,4}|%[0-9A-F]{2}|\\{int\\})){0,4}(\\?(a|b)=[a-c0-9']{0,3}){0,1}", 1..60)
        ) {
            let lines: Vec<String> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
            let table = table(&lines);
            let sites = Sites::new(&table, &Rules::default(), 2).expect("memory");
            let explained: usize = sites.patterns.iter().map(|named| named.templates.len()).sum();
            prop_assert_eq!(table.len(), explained + sites.unmatched.len());
            for (position, named) in sites.patterns.iter().enumerate() {
                for &template in &named.templates {
                    prop_assert_eq!(Some(position), sites.find(&table.templates()[template].text));
                }
            }
        }
    }
}
