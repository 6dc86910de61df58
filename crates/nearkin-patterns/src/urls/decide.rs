//! Decision whether siblings in a path are values of one variable.
//!
//! Siblings are parts with the same prefix. They are values of one variable if what is below them is the same and they
//! are many. Frequent siblings tell what is below: those most like one of them are a pool, which is judged alone, then the
//! rest. The decision is a function of the site: each quantity tends to a limit as the log grows, and none of them
//! counts how often a sibling recurs. Siblings with common shapes below them are pooled, and the score adds up
//! ```text
//! 1.5·log2(D / 16), at most 6        D: number of values, also of those that were not requested yet (Chao 1984)
//! 6·(v − 0.35)                       v: mean resemblance to values (`tokens::valueness`)
//! −4 or +2                           if shapes differ between siblings more than within them / if rich shapes do not
//! −3 or −1                           if every sibling was requested once and others have seven tenths of the requests
//! +2 / −1.5                          after a plural or a word that announces a value / after nothing, `api`, a version, an id
//! −2 or −6                           if most are plurals, as names of collections are / and paths go on below them
//! −log2(r)·0.4, −1 to 1.5            r: requests of a sibling relative to an ordinary endpoint of the host
//! ```
//! and the siblings are a variable if it is above 0. The weights were chosen by hand on generated sites and checked on
//! others (`bench/patterns_urls.py`). Scanners: siblings requested once each are not values if other paths have most
//! of the requests, or if clients are known and few of them sent all requests.
//!
//! Source of D: Chao, A. (1984), Nonparametric estimation of the number of classes in a population, Scandinavian
//! Journal of Statistics 11.

use std::collections::{BTreeMap, HashMap};

use nearkin_core::cancel::CancelToken;

use super::tokens::{self, Form};

/// A sibling and its statistics.
#[derive(Debug, Clone)]
pub struct Sibling<'a> {
    /// The bytes of the sibling.
    pub part: &'a [u8],
    /// Number of requests.
    pub count: u64,
    /// Shapes below it, with their requests, ascending by shape.
    pub shapes: Vec<(u64, u64)>,
    /// Number of requests whose path goes on below it.
    pub deeper: u64,
    /// Hashes of the clients.
    pub clients: Vec<u64>,
}

/// The context of the siblings.
#[derive(Debug, Clone, Copy)]
pub struct SiblingContext<'a> {
    /// The part before them; empty at the start of the path.
    pub before: &'a [u8],
    /// Number of requests of all siblings, including those with a type.
    pub total: u64,
    /// Number of requests here that look like attacks.
    pub odd: u64,
    /// Number of requests that end before the siblings.
    pub ended: u64,
    /// Number of requests of an ordinary endpoint of the host.
    pub ordinary: f64,
    /// True if clients are known.
    pub clients: bool,
    /// The form of the siblings.
    pub form: Form,
}

/// The decision, and its evidence.
#[derive(Debug, Default, Clone)]
pub struct Verdict {
    /// Indices of the siblings that are values; empty if they are names.
    pub values: Vec<usize>,
    /// The score.
    pub score: f64,
    /// Number of pooled siblings.
    pub distinct: usize,
    /// Number of requests of the pooled siblings.
    pub requests: u64,
    /// Number of siblings that were requested once.
    pub once: usize,
}

/// The shape of a request that ends here.
pub const LEAF: u64 = 1;
/// Number of requests from which on the shapes of a sibling are compared with those of all.
const COMPARED: u64 = 8;
/// Mean share of a shape below which a sibling with fewer requests does not have it by chance.
const UNCOMMON: f64 = 0.02;
/// Ratios of [`sameness`] of siblings that differ, and of those that do not.
const DIFFERENT: f64 = 0.75;
const SAME: f64 = 0.85;
/// Share that the shapes of a sibling with many requests and the usual ones have in common, if it is one of the values.
const ALIKE: f64 = 0.65;
/// Maximum number of frequent siblings whose shapes the others are compared with.
const MAX_CENTRES: usize = 32;
/// Maximum number of pools; those behind them are names.
const MAX_POOLS: usize = 8;
/// Minimum number of siblings of a variable.
const MIN_SIBLINGS: usize = 4;
/// Minimum number of words in the first segment that are values.
const MIN_DIRECTORY: usize = 48;

/// Shapes and their shares.
type Profile = HashMap<u64, f64>;

/// Return those of the siblings `all` below which is what is below most of the frequent ones.
fn pool_siblings(siblings: &[Sibling<'_>], all: &[usize]) -> Vec<usize> {
    let frequent = frequent(siblings, all);
    let fits = |at: usize, profile: &Profile| {
        let common = siblings[at].shapes.iter().map(|&(shape, count)| {
            let share = count as f64 / siblings[at].count as f64;
            let usual = profile.get(&shape).copied().unwrap_or_default();
            // A few requests have a few of the shapes.
            if siblings[at].count >= COMPARED {
                share.min(usual)
            } else {
                share * f64::from(u8::from(usual >= UNCOMMON))
            }
        });
        // Shares of few requests differ by chance.
        let requests = siblings[at].count;
        common.sum::<f64>() >= if requests < COMPARED { 0.5 } else { ALIKE - 0.7 / (requests as f64).sqrt() }
    };
    let like = |of: &[usize], profile: &Profile| of.iter().copied().filter(|&at| fits(at, profile)).collect::<Vec<_>>();
    let step = frequent.len().div_ceil(MAX_CENTRES).max(1);
    let centres = frequent.iter().step_by(step).map(|&at| like(&frequent, &mean_profile(siblings, &[at])));
    match centres.reduce(|best, other| if other.len() > best.len() { other } else { best }) {
        Some(centre) if centre.len() >= MIN_SIBLINGS => {
            let centre = like(&frequent, &mean_profile(siblings, &centre));
            like(all, &mean_profile(siblings, &centre))
        }
        _ => with_common_shapes(siblings, all),
    }
}

/// Return those of the siblings whose shapes can be compared.
fn frequent(siblings: &[Sibling<'_>], all: &[usize]) -> Vec<usize> {
    all.iter().copied().filter(|&at| siblings[at].count >= COMPARED).collect()
}

/// Return the mean share of each shape below these siblings.
fn mean_profile(siblings: &[Sibling<'_>], of: &[usize]) -> Profile {
    let mut means = Profile::new();
    for &at in of {
        for &(shape, count) in &siblings[at].shapes {
            *means.entry(shape).or_default() += count as f64 / siblings[at].count as f64 / of.len() as f64;
        }
    }
    means
}

/// Return those of the siblings `all` whose shapes occur below others of them.
fn with_common_shapes(siblings: &[Sibling<'_>], all: &[usize]) -> Vec<usize> {
    let mut shared: HashMap<u64, usize> = HashMap::new();
    for (shape, _) in all.iter().flat_map(|&at| &siblings[at].shapes) {
        *shared.entry(*shape).or_default() += 1;
    }
    let min_shared = (all.len() / 5).clamp(2, 3).max(all.len() / 20);
    let is_shared = |(shape, _): &&(u64, u64)| shared[shape] >= min_shared;
    let common = |at: usize| siblings[at].shapes.iter().filter(is_shared).map(|shape| shape.1).sum::<u64>();
    all.iter().copied().filter(|&at| 2 * common(at) >= siblings[at].count).collect()
}

/// Return the median number of requests; 0 for an empty pool.
fn median(siblings: &[Sibling<'_>], pool: &[usize]) -> u64 {
    let mut counts: Vec<u64> = pool.iter().map(|&at| siblings[at].count).collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or(0)
}

fn count_clients(siblings: &[Sibling<'_>], positions: &[usize]) -> usize {
    let mut clients: Vec<u64> = positions.iter().flat_map(|&at| siblings[at].clients.iter().copied()).collect();
    clients.sort_unstable();
    clients.dedup();
    clients.len()
}

/// Return which siblings are values of a variable.
///
/// If what is below most siblings is not below the others, as with the words of scanners and owners of repositories,
/// the others are judged by themselves.
pub fn decide(siblings: &[Sibling<'_>], context: SiblingContext<'_>) -> Vec<Verdict> {
    let mut rest: Vec<usize> = (0..siblings.len()).collect();
    let mut verdicts = Vec::new();
    let stop = CancelToken::current();
    let compared = frequent(siblings, &rest).len();
    for _ in 0..MAX_POOLS {
        let pool = pool_siblings(siblings, &rest);
        let mut pooled = pool.iter().peekable();
        rest.retain(|at| pooled.next_if_eq(&at).is_none());
        if pool.len() < MIN_SIBLINGS || stop.is_set() {
            break;
        }
        // What less than a tenth have in common is how they were chosen, as collections of an API.
        let alike = frequent(siblings, &pool).len();
        if alike >= MIN_SIBLINGS && 10 * alike < compared {
            continue;
        }
        verdicts.push(decide_pool(siblings, pool, context, &mut rest));
        rest.sort_unstable();
    }
    verdicts
}

/// Return which siblings with the same shapes are values of one variable; those that are no part of the question return to
/// `rest`.
fn decide_pool(
    siblings: &[Sibling<'_>],
    mut pool: Vec<usize>,
    context: SiblingContext<'_>,
    rest: &mut Vec<usize>,
) -> Verdict {
    let median = median(siblings, &pool);
    // Names of actions requested as often as the values around them are not values.
    pool.retain(|&at| !(tokens::is_action(siblings[at].part) && siblings[at].count >= 2.max(median)));
    // Frequent words among values that were mostly requested once are judged by themselves.
    let once = pool.iter().filter(|&&at| siblings[at].count == 1).count();
    if 5 * once > 4 * pool.len() {
        let is_word = |at: &mut usize| siblings[*at].count >= 30 && tokens::valueness(siblings[*at].part) <= 0.3;
        rest.extend(pool.extract_if(.., is_word));
    }
    let stray = context.form.is_plain() && has_strays(siblings, &pool, context.total);
    let all = pool.clone();
    if stray {
        pool.retain(|&at| siblings[at].count > 3);
    }
    if context.form == Form::Word && !is_directory(siblings, &pool, context.total) {
        return Verdict { distinct: pool.len(), ..Verdict::default() };
    }
    let mut verdict = judge(siblings, pool, context);
    if stray && !verdict.values.is_empty() {
        verdict.values = all;
    }
    verdict
}

/// Return true if the siblings requested one to three times come from another distribution than the rest: nearly all
/// were requested once, and they have few of all requests. If the frequencies of values follow `1 / k(k + 1)`, as
/// words do (Zipf), n₂ + n₃ is half of n₁.
fn has_strays(siblings: &[Sibling<'_>], pool: &[usize], total: u64) -> bool {
    let times = |times: u64| pool.iter().filter(|&&at| siblings[at].count == times).count() as u64;
    let (once, twice, thrice) = (times(1), times(2), times(3));
    let often = pool.len() as u64 - once - twice - thrice;
    let requests = once + 2 * twice + 3 * thrice;
    often > 0 && once > 0 && (twice + thrice) * 10 <= once * 3 && requests * 100 < 15 * total
}

/// Return true if words in the first segment may be values, such as names of users: there are many, or a third of that if
/// their shapes are rich and the same; most were requested more than once, and those that are not much more frequent than
/// the others have a fifth of all requests. Words that scanners try, and the names of a site, are not.
fn is_directory(siblings: &[Sibling<'_>], pool: &[usize], total: u64) -> bool {
    let median = median(siblings, pool);
    let ordinary: Vec<u64> = pool.iter().map(|&at| siblings[at].count).filter(|&count| count <= 10 * median).collect();
    let repeated = ordinary.iter().filter(|&&count| count > 1).count();
    let is_large = 5 * ordinary.iter().sum::<u64>() >= total || leads_on(siblings, pool);
    let are_one = || matches!(sameness(siblings, &frequent(siblings, pool)), Some((ratio, true)) if ratio > SAME);
    let are_many = pool.len() >= MIN_DIRECTORY || 3 * pool.len() >= MIN_DIRECTORY && are_one();
    are_many && 2 * repeated >= ordinary.len() && is_large
}

fn judge(siblings: &[Sibling<'_>], pool: Vec<usize>, context: SiblingContext<'_>) -> Verdict {
    let mut verdict = Verdict { distinct: pool.len(), ..Verdict::default() };
    if pool.len() < MIN_SIBLINGS {
        return verdict;
    }
    verdict.requests = pool.iter().map(|&at| siblings[at].count).sum();
    verdict.once = pool.iter().filter(|&&at| siblings[at].count == 1).count();
    if is_scanned(siblings, &pool, &verdict, context) {
        verdict.score = f64::NEG_INFINITY;
        return verdict;
    }
    verdict.score = score(siblings, &pool, &verdict, context);
    if verdict.score > 0.0 {
        verdict.values = pool;
    }
    verdict
}

fn score(siblings: &[Sibling<'_>], pool: &[usize], verdict: &Verdict, context: SiblingContext<'_>) -> f64 {
    // Words of scanners among the siblings are rare.
    let frequent = frequent(siblings, pool);
    let typical = if frequent.len() < MIN_SIBLINGS { pool } else { &frequent };
    let mean = |value: &dyn Fn(&[u8]) -> f64| {
        typical.iter().map(|&at| value(siblings[at].part)).sum::<f64>() / typical.len() as f64
    };
    let share = |test: fn(&[u8]) -> bool| mean(&|part| f64::from(u8::from(test(part))));
    let valueness = mean(&tokens::valueness);
    let mut score = (1.5 * (estimated_number(siblings, pool) / 16.0).log2()).min(6.0);
    // Rich shapes of the frequent siblings say it alone; otherwise the others count, too.
    score += match sameness(siblings, typical) {
        Some((ratio, true)) if ratio > SAME => 2.0,
        Some((ratio, _)) if ratio < DIFFERENT => -4.0,
        _ if sameness(siblings, pool).is_some_and(|(ratio, _)| ratio < DIFFERENT) => -4.0,
        _ => 0.0,
    };
    score += 6.0 * (valueness - 0.35);
    let before = context.before;
    let neutral = before.is_empty()
        || before.eq_ignore_ascii_case(b"api")
        || super::scan::is_version_segment(before)
        || !tokens::is_literal(before) && tokens::wildcards(before).next().is_some();
    if matches!(context.form, Form::Sign(_)) {
        score += 2.0;
    } else if neutral && context.form != Form::Title {
        score -= 1.5;
    } else if tokens::is_holder(before) {
        score += 2.0;
    }
    if share(tokens::is_plural) > 0.5 {
        score -= if leads_on(siblings, pool) { 6.0 } else { 2.0 };
    }
    if share(tokens::is_language) > 0.5 {
        score -= 4.0;
    }
    if matches!(context.form, Form::Any | Form::Word)
        && once_each(verdict)
        && (verdict.requests as f64) < 0.3 * context.total as f64
    {
        score -= if leads_on(siblings, pool) { 1.0 } else { 3.0 };
    }
    let ratio = median(siblings, pool) as f64 / context.ordinary.max(1.0);
    score + (-0.4 * ratio.max(1e-9).log2()).clamp(-1.0, 1.5)
}

/// Return the number of values that a variable with these has, Chao's estimate `d + n₁(n₁ − 1) / 2(n₂ + 1)`.
fn estimated_number(siblings: &[Sibling<'_>], pool: &[usize]) -> f64 {
    let times = |times: u64| pool.iter().filter(|&&at| siblings[at].count == times).count() as f64;
    let once = times(1);
    pool.len() as f64 + once * (once - 1.0).max(0.0) / (2.0 * (times(2) + 1.0))
}

/// Return the probability that two requests of different siblings have one shape, relative to two of one sibling, and
/// true if the shapes are rich: two requests of one sibling often differ. None if too few siblings were requested twice.
///
/// The shapes below values of a variable have one distribution, so that the ratio tends to 1.
fn sameness(siblings: &[Sibling<'_>], pool: &[usize]) -> Option<(f64, bool)> {
    let (mut within, mut count) = (0.0, 0.0_f64);
    let mut shares: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for &at in pool.iter().filter(|&&at| siblings[at].count > 1) {
        let requests = siblings[at].count as f64;
        count += 1.0;
        for &(shape, times) in &siblings[at].shapes {
            let share = times as f64 / requests;
            // Without replacement, so that few requests do not look alike by chance.
            within += share * (times as f64 - 1.0) / (requests - 1.0);
            let sums = shares.entry(shape).or_default();
            sums.0 += share;
            sums.1 += share * share;
        }
    }
    if count < MIN_SIBLINGS as f64 {
        return None;
    }
    let between = shares.values().map(|(sum, squares)| sum * sum - squares).sum::<f64>() / (count * (count - 1.0));
    let within = within / count;
    Some((between / within.max(1e-9), within < 0.8))
}

/// Return true if nearly every sibling was requested once.
fn once_each(verdict: &Verdict) -> bool {
    verdict.requests as f64 <= 1.2 * verdict.distinct as f64
}

/// Return true if more than a fifth of the requests continue below the siblings. Those of word lists do not.
fn leads_on(siblings: &[Sibling<'_>], pool: &[usize]) -> bool {
    let sum = |count: fn(&Sibling<'_>) -> u64| pool.iter().map(|&at| count(&siblings[at])).sum::<u64>();
    5 * sum(|sibling| sibling.deeper) > sum(|sibling| sibling.count)
}

/// Return true if the requests look like those of a scanner.
fn is_scanned(siblings: &[Sibling<'_>], pool: &[usize], verdict: &Verdict, context: SiblingContext<'_>) -> bool {
    let distinct = pool.len();
    if context.clients {
        let clients = count_clients(siblings, pool);
        if clients < 3 || clients * 20 < distinct && clients < 16 {
            return true;
        }
    }
    // Siblings that look like values among attacks are part of the attack.
    if 2 * context.odd > verdict.requests && 10 * verdict.requests < 3 * context.total {
        return true;
    }
    // Scanners try words, not titles.
    if !once_each(verdict) || !context.form.is_plain() {
        return false;
    }
    let few = (verdict.requests as f64) < 0.1 * context.total as f64 || 50 * verdict.requests < context.ended;
    few && !leads_on(siblings, pool)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn siblings(words: &[(&'static str, u64)]) -> Vec<Sibling<'static>> {
        words
            .iter()
            .map(|&(word, count)| Sibling {
                part: word.as_bytes(),
                count,
                shapes: vec![(LEAF, count)],
                deeper: 0,
                clients: vec![],
            })
            .collect()
    }

    fn context(before: &str, total: u64) -> SiblingContext<'_> {
        SiblingContext {
            before: before.as_bytes(),
            total,
            odd: 0,
            ended: 0,
            ordinary: 50.0,
            form: Form::Any,
            clients: false,
        }
    }

    fn values(siblings: &[Sibling<'_>], context: SiblingContext<'_>) -> usize {
        decide(siblings, context).iter().map(|verdict| verdict.values.len()).sum()
    }

    const TITLES: [&str; 8] = [
        "how-to-hash-a-url",
        "ten-things-to-know",
        "a-walk-in-the-park",
        "the-old-man-and-the-sea",
        "on-growth-and-form",
        "what-is-a-name",
        "notes-on-a-theme",
        "the-end-of-summer",
    ];

    #[test]
    fn titles_are_values_and_actions_are_not() {
        let titles = siblings(&TITLES.map(|title| (title, 2)));
        assert_eq!(8, values(&titles, context("blog", 16)));
        let actions = ["login", "logout", "search", "export", "settings", "profile", "upload", "stats"];
        assert_eq!(0, values(&siblings(&actions.map(|word| (word, 12))), context("users", 96)));
    }

    #[test]
    fn owners_among_the_words_of_a_scanner_are_values() {
        let words: Vec<String> =
            (0..260_u32).map(|at| format!("{}{}", (b'a' + at as u8 % 26) as char, at / 26)).collect();
        let is_owner = |at: usize| at.is_multiple_of(4);
        let all: Vec<Sibling<'_>> = (0..260)
            .map(|at| Sibling {
                part: words[at].as_bytes(),
                count: 40,
                shapes: if is_owner(at) { vec![(2, 25), (3, 15)] } else { vec![(LEAF, 40)] },
                deeper: if is_owner(at) { 40 } else { 0 },
                clients: vec![],
            })
            .collect();
        let verdicts = decide(&all, SiblingContext { form: Form::Word, ..context("", 100_000) });
        let owners: Vec<usize> = (0..260).filter(|&at| is_owner(at)).collect();
        assert_eq!(
            vec![&owners],
            verdicts.iter().map(|verdict| &verdict.values).filter(|values| !values.is_empty()).collect::<Vec<_>>()
        );
    }

    /// Owners with two rich shapes below them, among others.
    fn owners(number: u32) -> Vec<(String, Vec<(u64, u64)>)> {
        let syllable = |at: u32| ["zo", "xi", "gu", "le", "ka", "mi"][at as usize % 6];
        let name = |at: u32| format!("{}{}{}xi", syllable(at), syllable(at / 6), syllable(at / 36));
        (0..number).map(|at| (name(at), vec![(2, 25 + u64::from(at % 7)), (3, 12)])).collect()
    }

    fn decide_shapes(all: &[(String, Vec<(u64, u64)>)], form: Form) -> Vec<Verdict> {
        let sibling = |(part, shapes): &(String, Vec<(u64, u64)>)| Sibling {
            part: part.clone().leak().as_bytes(),
            count: shapes.iter().map(|shape| shape.1).sum(),
            shapes: shapes.clone(),
            deeper: shapes.iter().map(|shape| shape.1).sum(),
            clients: vec![],
        };
        let all: Vec<Sibling<'_>> = all.iter().map(sibling).collect();
        decide(&all, SiblingContext { form, ..context("", 100_000) })
    }

    #[test]
    fn a_section_with_half_of_the_paths_of_owners_is_none() {
        let mut all = owners(80);
        all.push(("kanal".into(), vec![(2, 5_000), (4, 3_500), (5, 1_000)]));
        assert_eq!(
            vec![80],
            decide_shapes(&all, Form::Word).iter().map(|verdict| verdict.values.len()).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_few_words_with_the_same_rich_shapes_are_values() {
        let found =
            |all: &[_]| decide_shapes(all, Form::Word).iter().map(|verdict| verdict.values.len()).sum::<usize>();
        assert_eq!(45, found(&owners(45)));
        let pages: Vec<_> = owners(45).into_iter().map(|(name, _)| (name, vec![(LEAF, 40)])).collect();
        assert_eq!(0, found(&pages));
    }

    #[test]
    fn a_few_of_many_with_the_same_shapes_are_names() {
        let mut all = owners(20);
        assert!(decide_shapes(&all, Form::Any).iter().any(|verdict| !verdict.values.is_empty()));
        // Each of the others has shapes of its own.
        all.extend((0..300).map(|at| (format!("{}x", "q".repeat(1 + at)), vec![(100 + at as u64, 40)])));
        let verdicts = decide_shapes(&all, Form::Any);
        assert!(verdicts.iter().all(|verdict| verdict.values.iter().all(|&at| at >= 20)), "{verdicts:?}");
    }

    #[test]
    fn rare_words_of_scanners_do_not_hide_owners() {
        let mut all = owners(45);
        all.extend((0..50).map(|at| (format!("{}x", "q".repeat(1 + at)), vec![(2 + at as u64 % 2, 2)])));
        let verdicts = decide_shapes(&all, Form::Word);
        assert!(verdicts.iter().any(|verdict| (0..45).all(|at| verdict.values.contains(&at))), "{verdicts:?}");
    }

    #[test]
    fn requests_of_a_scanner_are_not_values() {
        let words: Vec<String> = (0..500).map(|number| format!("old-backup-{}", "x".repeat(1 + number % 17))).collect();
        let mut scan: Vec<Sibling<'_>> = words
            .iter()
            .map(|word| Sibling {
                part: word.as_bytes(),
                count: 1,
                shapes: vec![(LEAF, 1)],
                deeper: 0,
                clients: vec![7],
            })
            .collect();
        assert_eq!(0, values(&scan, SiblingContext { total: 10_000, ..context("", 0) }));
        let known = SiblingContext { total: 500, clients: true, ..context("files", 0) };
        assert_eq!(0, values(&scan, known));
        for (number, sibling) in scan.iter_mut().enumerate() {
            sibling.clients = vec![number as u64 / 2];
        }
        assert_eq!(500, values(&scan, known));
    }

    #[test]
    fn collections_below_a_version_stay_names() {
        let words = ["users", "orders", "invoices", "products", "carts", "payments", "shipments", "returns"];
        let result: Vec<String> =
            (0..160).map(|number| format!("{}{}", (b'a' + number as u8 % 26) as char, words[number % 8])).collect();
        let all: Vec<Sibling<'_>> = result
            .iter()
            .map(|word| Sibling {
                part: word.as_bytes(),
                count: 40,
                shapes: vec![(LEAF, 20), (2, 20)],
                deeper: 20,
                clients: vec![],
            })
            .collect();
        assert_eq!(0, values(&all, context("v1", 6400)));
    }
}
