use super::*;
use crate::batch::{self, BatchMetadata, Packed};
use crate::columns::Columns;
use crate::lines;
use nearkin_core::cancel;
use proptest::prelude::*;

pub(crate) fn table(lines: &[String]) -> TemplateTable {
    let mut offsets = vec![0];
    for line in lines {
        offsets.push(offsets[offsets.len() - 1] + line.len() as i64);
    }
    let data = lines.concat().into_bytes();
    let items = Packed::new(&offsets, &data).expect("valid");
    let mut table = TemplateTable::new(64, 10_000).expect("valid");
    let batches = batch::scan(items, lines::scan).expect("not cancelled");
    batch::add(&mut table, &batches, items, BatchMetadata::default()).expect("memory");
    table
}

fn texts_with(lines: &[String], overrides: &Overrides) -> Vec<String> {
    let result = merge_templates(&table(lines), overrides).expect("not cancelled");
    let mut texts: Vec<String> = result
        .templates()
        .iter()
        .map(|template| String::from_utf8_lossy(&templates::to_text(&template.text)).into_owned())
        .collect();
    texts.sort();
    texts
}

fn texts(lines: &[&str]) -> Vec<String> {
    texts_with(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>(), &Overrides::default())
}

const NAMES: [&str; 9] = ["ann", "bob", "cid", "dan", "eve", "fay", "gus", "hal", "ida"];

fn users(count: usize) -> Vec<String> {
    NAMES[..count].iter().map(|name| format!("session of {name} was opened")).collect()
}

#[test]
fn a_word_is_a_variable_from_enough_words_on() {
    assert_eq!(7, texts_with(&users(7), &Overrides::default()).len());
    assert_eq!(vec!["session of {word} was opened"], texts_with(&users(8), &Overrides::default()));
    // After `=` fewer words are enough; names with digits count more, capitals less.
    assert_eq!(1, texts(&["u=ann in", "u=bob in", "u=cid in", "u=dan in", "u=eve in", "u=fay in"]).len());
    assert_eq!(1, texts(&["link eth0 went up", "link eth1 went up", "link eth2 went up", "link eth3 went up"]).len());
    assert_eq!(3, texts(&["link went UP", "link went DOWN", "link went AWAY"]).len());
}

#[test]
fn a_long_sentence_needs_fewer_words() {
    let lines = |count: usize| -> Vec<String> {
        let line = |name: &&str| format!("request 5 rejected because quota of {name} is exceeded");
        NAMES[..count].iter().map(line).collect()
    };
    assert_eq!(4, texts_with(&lines(4), &Overrides::default()).len());
    assert_eq!(1, texts_with(&lines(5), &Overrides::default()).len());
    // Four words around it are no long sentence.
    let short: Vec<String> =
        lines(5).iter().map(|line| line.replace("because ", "").replace(" is exceeded", "")).collect();
    assert_eq!(5, texts_with(&short, &Overrides::default()).len());
}

#[test]
fn a_rare_line_joins_a_template_with_a_field_and_a_word() {
    let reasons =
        ["no more", "disk is full", "out of memory", "peer closed it", "lock held", "bad sum", "no route", "x is y"];
    let line = |(handler, reason): (&str, &str)| format!("error in handler org.{handler}: {reason}");
    let all = NAMES[..8].iter().flat_map(|&handler| reasons.iter().map(move |&reason| (handler, reason)));
    let mut lines: Vec<String> = all.map(line).collect();
    lines.push("error in handler org.abc: retry later".to_owned());
    assert_eq!(vec!["error in handler {host}: {text}"], texts_with(&lines, &Overrides::default()));
}

#[test]
fn merged_templates_keep_a_word() {
    let alone: Vec<&str> = NAMES.to_vec();
    assert_eq!(9, texts(&alone).len());
}

#[test]
fn a_set_that_recurs_is_a_variable_sooner() {
    let lines: Vec<String> = ["opened", "closed"]
        .iter()
        .flat_map(|what| NAMES[..4].iter().map(move |name| format!("session {what} for user {name}")))
        .collect();
    let expected = vec!["session closed for user {word}", "session opened for user {word}"];
    assert_eq!(expected, texts_with(&lines, &Overrides::default()));
}

#[test]
fn empty_values_and_different_types_are_merged() {
    assert_eq!(vec!["from {ip} ({ip}) at {int}"], texts(&["from 10.0.0.1 () at 5", "from 10.0.0.1 (10.0.0.2) at 7"]));
    assert_eq!(vec!["took {float} ms"], texts(&["took 5 ms", "took 5.5 ms"]));
    assert_eq!(vec!["a  user {int} in"], texts(&["a  user 5 in", "a user 6 in"]));
}

#[test]
fn two_words_at_once_are_variables_if_neither_is_plain() {
    let lines: Vec<String> = NAMES[..6].iter().map(|name| format!("class org.{name} for class com.{name}")).collect();
    assert_eq!(
        vec!["class {file} for class {file}"],
        texts_with(&lines, &Overrides::default())
            .iter()
            .map(|text| { text.replace("{name}", "{file}").replace("{host}", "{file}") })
            .collect::<Vec<_>>()
    );
}

#[test]
fn optional_parts_are_one_template() {
    let lines = ["close, 403 bytes sent", "close, 1190 bytes (1.16 KB) sent", "close, 7 bytes sent"];
    assert_eq!(vec!["close, {int} bytes{optional} sent"], texts(&lines));
    // Two parts, of which only some combinations occur.
    let both = ["a 1 (2 ms) sent (3)", "a 1 (2 ms) sent", "a 1 sent"];
    assert_eq!(vec!["a {int}{optional} sent{optional}"], texts(&both));
    // Without a variable, or in the middle of a word, brackets are not a part.
    assert_eq!(2, texts(&["closed by 10.0.0.1 [preauth]", "closed by 10.0.0.1"]).len());
    assert_eq!(2, texts(&["call f (1)x now", "call f now"]).len());
    // A template with a part, and lines with and without one.
    let again = ["close, {int} bytes{optional} sent", "close, 9 bytes sent", "close, 9 bytes (1 KB) sent"];
    assert_eq!(vec!["close, {int} bytes{optional} sent"], texts(&again));
}

#[test]
fn values_of_several_words_are_one_value() {
    // A call, or a missing value, next to a variable.
    assert_eq!(vec!["synchronized to {text}"], texts(&["synchronized to 10.0.0.1", "synchronized to LOCAL(0)"]));
    assert_eq!(vec!["lock of ws={text}"], texts(&["lock of ws=null", "lock of ws=WorkSource{10113}"]));
    assert_eq!(vec!["peer is {name} now"], texts(&["peer is 10.0.0.1 now", "peer is localhost now"]));
    // Contents of quotes and brackets, lists and JSON.
    let quoted = ["job said \"disk is full\"", "job said \"no route\"", "job said \"try it again\""];
    assert_eq!(vec!["job said \"{text}\""], texts(&quoted));
    assert_eq!(vec!["job said \"{text}\""], texts(&quoted[..2]));
    assert_eq!(2, texts(&["job said \"red\" now", "job said \"it is full\" now"]).len());
    let lists = ["volumes [a, b] of node", "volumes [c] of node", "volumes [d, a, b] of node", "volumes [b] of node"];
    assert_eq!(vec!["volumes [{text}] of node"], texts(&lists));
    let objects = ["sent {\"a\": 1} off", "sent {\"b\": \"x y\"} off", "sent {\"c\": [1, 2], \"a\": 7} off"];
    assert_eq!(vec!["sent {text} off"], texts(&objects));
}

#[test]
fn pairs_in_any_order_are_one_template() {
    let lines = ["metrics cpu=1 mem=2.5 io=x-1", "metrics mem=3.5 cpu=4 io=x-2", "metrics io=x-3 mem=1.5 cpu=2"];
    assert_eq!(vec!["metrics cpu={int} io=x-{int} mem={float}"], texts(&lines));
    assert_eq!(vec!["metrics mem={float} cpu={int}"], texts(&["metrics mem=1.5 cpu=2", "metrics mem=2.5 cpu=3"]));
}

#[test]
fn leaders_and_missing_readings_are_structure() {
    let registers = ["interrupt enable...0", "interrupt check.....1", "interrupt trap......1", "interrupt update..0"];
    assert_eq!(4, texts(&registers).len());
    assert_eq!(2, texts(&["fan speeds ( 3552 **** 3515 )", "fan speeds ( 3552 3534 3515 )"]).len());
}

#[test]
fn the_rest_of_a_sentence_is_a_variable_from_enough_texts_on() {
    let rest = |count: usize| -> usize {
        let lines: Vec<String> =
            (0..count).map(|n| format!("retry of the job {n}: {} is{}", NAMES[n], " so".repeat(n % 3 + 1))).collect();
        texts_with(&lines, &Overrides::default()).len()
    };
    assert_eq!((3, 1), (rest(3), rest(4)));
}

#[test]
fn words_that_are_variables_elsewhere_need_fewer() {
    let known = |more: &[&str]| -> Vec<String> {
        let users = NAMES.iter().map(|name| format!("session of {name} was opened"));
        users.chain(more.iter().map(|&line| line.to_owned())).collect()
    };
    let words = known(&["denied for ann now", "denied for bob now", "denied for cid now"]);
    assert_eq!(
        vec!["denied for {word} now", "session of {word} was opened"],
        texts_with(&words, &Overrides::default())
    );
    for few in [&["denied for ann now", "denied for bob now"], &["denied for red now", "denied for green now"]] {
        assert_eq!(3, texts_with(&known(few), &Overrides::default()).len());
    }
}

#[test]
fn what_a_line_is_about_is_no_value() {
    let count = |line: fn(&str) -> String| texts_with(&NAMES.map(line), &Overrides::default()).len();
    // Verbs before paths and addresses, at the start of a line or of a quoted part.
    assert_eq!(9, count(|name| format!("{name} /a/{name}/b of it")));
    assert_eq!(9, count(|name| format!("sent \"{name} http://a.org/{name} HTTP/1.1\" off")));
    assert_eq!(1, count(|name| format!("sent {name} http://a.org/{name} off")));
    let methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"].map(|method| format!("it said {method} /a/b off"));
    assert_eq!(6, texts_with(&methods, &Overrides::default()).len());
    // Names of calls with quoted arguments.
    assert_eq!(9, count(|name| format!("runs {name}(\"SIP/{name}-5\", \"a\") in it")));
    // Messages of objects of JSON.
    assert_eq!(9, count(|name| format!(r#"{{"level": "info", "msg": "{name} is {name}", "n": 5}}"#)));
    let objects =
        [r#"{"msg": "Slow query", "of": {"find": "x"}}"#, r#"{"msg": "Slow query", "of": {"get": ["y", 5]}}"#];
    assert_eq!(vec![r#"{"msg": "Slow query", "of": {text}}"#], texts(&objects));
}

#[test]
fn lists_of_numbers_in_brackets_number_a_name() {
    assert_eq!(vec!["nodes node{name} are down"], texts(&["nodes node017 are down", "nodes node[12-140,7] are down"]));
    assert_eq!(vec!["a[{int}] is b[{ip}]"], texts(&["a[5] is b[10.0.0.1]"]));
}

#[test]
fn structured_values_are_one_value() {
    // Nobody writes these by hand, so one line is enough.
    for (value, rest) in [
        ("{'a': 1, 'b': [2]}", "kept"),
        ("['x', 'it (is)']", "kept"),
        ("(b'x', 2)", "kept"),
        ("Point(x=1, y=ann)", "kept"),
        ("KeyError('ann')", "kept"),
        ("<Job ann at 0x7f00>", "kept"),
        ("b'GET ann'", "kept"),
        ("org.Job@1f2a3b4c[id=5, name=ann]", "kept"),
        ("Job['ann bob'/5, x=1]", "kept"),
        ("uid=ann,ou=people,dc=example,dc=org", "kept"),
        ("C=US, O=Example Org, CN=ann", "kept"),
        ("c=x,o=y,c=x,cn=ann", "kept"),
    ] {
        assert_eq!(vec![format!("value {{text}} {rest}")], texts(&[&format!("value {value} {rest}")]), "{value}");
    }
    // Without a name, user, unit or domain it is no distinguished name.
    assert_eq!(vec!["value c=ann,o=bob,c=ann kept"], texts(&["value c=ann,o=bob,c=ann kept"]));
    // These may be part of a sentence, unless they differ.
    for (one, two) in [
        ("[5]", "[]"),
        ("{x-1}", "{}"),
        ("Point(x=ann)", "Point(x=ann y)"),
        ("Job{ann at 5}", "Job{bob}"),
        ("<memory:5, cores:2>", "<memory:5>"),
        ("Job[x=ann]", "Job[x=bob y]"),
        ("stop()", "stop(5)"),
        ("None", "(5, ann)"),
    ] {
        let lines = [format!("value {one} kept"), format!("value {two} kept")];
        assert_eq!(vec!["value {text} kept"], texts(&[&lines[0], &lines[1]]), "{one} {two}");
        assert!(texts(&[&lines[0]]).iter().all(|text| text != "value {text} kept"), "{one}");
    }
    assert_eq!(2, texts(&["call stop() now", "call start() now"]).len());
    assert_eq!(2, texts(&["value (ann, bob) kept", "value (cid) kept"]).len());
    // Pairs are no distinguished name without one of its main attributes, and neither is one attribute.
    assert_eq!(vec!["value c={int},l={int} kept"], texts(&["value c=5,l=7 kept"]));
    assert_eq!(vec!["value dc=org kept"], texts(&["value dc=org kept"]));
    assert_eq!(vec!["bind \"{text}\" kept"], texts(&["bind \"cn=ann bob,dc=org\" kept"]));
    assert_eq!(vec!["value job[ann], x={int} kept"], texts(&["value job[ann], x=5 kept"]));
    assert_eq!(vec!["value job['ann'] kept"], texts(&["value job['ann'] kept"]));
    // A list of words behind a colon.
    assert_eq!(vec!["still to do: {text}"], texts(&["still to do: a, bc, d", "still to do: bc, d, e, f"]));
    assert_eq!(2, texts(&["still to do: a, bc", "still to do: bc, d, e, f"]).len());
    // Only a level would be left.
    assert_eq!(2, texts(&["INFO {'event': 'start'}", "INFO {'event': 'stop', 'code': 5}"]).len());
    // Next to a letter they are part of a word.
    assert_eq!(vec!["value <Job {text}>ann kept"], texts(&["value <Job ['a']>ann kept"]));
    // Brackets in quotes and signs do not count.
    assert_eq!(vec!["if a < {int} use {text}"], texts(&["if a < 5 use ['(']", "if a < 7 use ['b', ')']"]));
}

#[test]
fn values_of_pairs_are_variables_from_two_on() {
    let expected = vec!["state operator={text}, rat={int}"];
    assert_eq!(expected, texts(&["state operator=EE, rat=14", "state operator=Vodafone UK, rat=7"]));
    let expected = vec!["plan: package: a, now: {text}, next: {word}"];
    assert_eq!(expected, texts(&["plan: package: a, now: in, next: out", "plan: package: a, now: to come, next: in"]));
    // The key of a message, the last value after a blank, and a single pair with a colon are no such values.
    assert_eq!(2, texts(&["sent msg=in, rat=14", "sent msg=out, rat=7"]).len());
    assert_eq!(2, texts(&["failed uid=5 user=ann", "failed uid=5 user=bob"]).len());
    assert_eq!(2, texts(&["plan: package a, now: in", "plan: package a, now: out"]).len());
    // The last of three pairs is a value, unless two blanks say that it was appended.
    let expected = vec!["failed uid={int} tty=ssh user={word}"];
    assert_eq!(expected, texts(&["failed uid=5 tty=ssh user=ann", "failed uid=5 tty=ssh user=bob"]));
    assert_eq!(2, texts(&["failed uid=5 tty=ssh  user=ann", "failed uid=5 tty=ssh  user=bob"]).len());
}

#[test]
fn escaped_quotes_do_not_close() {
    let line = |value: &str| format!(r#"failed to sync err="{value}" for it"#);
    let values =
        [r#"cannot pull \"/a/b\""#, r#"pod \"x/y\" is gone: \"z\""#, r"no route", r#"GET \"http://a/b\": timeout"#];
    assert_eq!(vec!["failed to sync err={text} for it"], texts_with(&values.map(line), &Overrides::default()));
    assert_eq!(vec![r#"volume \"{path}\" of \"{url}\""#], texts(&[r#"volume \"/a/b\" of \"http://c/d\""#]));
}

#[test]
fn what_follows_the_key_of_a_message_is_no_value() {
    let lines = |key: &str| NAMES.map(|name| format!("{key}=\"{name} {name}\" of={name} is in"));
    assert_eq!(9, texts_with(&lines("msg"), &Overrides::default()).len());
    assert_eq!(1, texts_with(&lines("path"), &Overrides::default()).len());
    let kinds =
        |key: &str| -> Vec<String> { users(9).iter().map(|line| format!("{key}={}: 5", &line[11..14])).collect() };
    assert_eq!(9, texts_with(&kinds("record type"), &Overrides::default()).len());
    assert_eq!(1, texts_with(&kinds("record place"), &Overrides::default()).len());
}

#[test]
fn a_quoted_message_before_pairs_is_no_value() {
    let messages = ["Started container now", "Removed image", "Killed pod by force", "Failed to mount volume"];
    let lines = |rest: &str| messages.map(|message| format!("\"{message}\"{rest}"));
    assert_eq!(4, texts_with(&lines(" pod=5 ok=6"), &Overrides::default()).len());
    assert_eq!(1, texts_with(&lines(" was sent to it"), &Overrides::default()).len());
}

#[test]
fn values_are_known_in_the_same_context() {
    let lines = |more: &[&str]| {
        let mut lines = users(8);
        lines.extend(more.iter().map(|&line| line.to_owned()));
        texts_with(&lines, &Overrides::default())
    };
    assert_eq!(vec!["session of {word} ends", "session of {word} was opened"], lines(&["session of ann ends"]));
    // Another word, and another word before it.
    assert_eq!(2, lines(&["session of zed ends"]).len());
    assert!(lines(&["session of zed ends"]).contains(&"session of zed ends".to_owned()));
    assert!(lines(&["a session of ann ends"]).contains(&"a session of ann ends".to_owned()));
    // A quote after an empty value opens nothing.
    assert_eq!(2, texts(&["was \"\" a b \"x 5\" now", "was \"\" c d e \"x 5\" now"]).len());
    // Any value between quotes and after `=`.
    let quoted = ["rule \"a b\" runs", "rule \"c d e\" runs", "rule \"f\" runs", "rule \"h i\" is triggered by ann"];
    assert_eq!(vec!["rule \"{text}\" is triggered by ann", "rule \"{text}\" runs"], texts(&quoted));
}

#[test]
fn words_between_blanks_are_compared_as_a_whole() {
    let lines =
        ["a/b:7", "org.a:x", "a-b/c.d:e", "x::y_1", "b:c/7:f", "a.b/.c"].map(|name| format!("started {name} for it"));
    assert_eq!(vec!["started {text} for it"], texts_with(&lines, &Overrides::default()));
    assert_eq!(3, texts_with(&lines[..3], &Overrides::default()).len());
}

#[test]
fn a_variable_for_any_text_takes_what_is_in_its_place() {
    let texts_of =
        ["a, b c", "no more", "disk is full", "x-1 lost"].map(|text| format!("job 5 sent text '{text}' to all"));
    let mut lines = texts_of.to_vec();
    lines.push("job 7 sent text 'it's ('not') so' to all".to_owned());
    assert_eq!(vec!["job {int} sent text '{text}' to all"], texts_with(&lines, &Overrides::default()));
    // Other words around it are another template.
    lines.push("job 7 sent text 'no more' to some".to_owned());
    assert_eq!(2, texts_with(&lines, &Overrides::default()).len());
    assert_eq!(vec!["nodes {text} are down"], texts(&["nodes (null) are down", "nodes [5] are down"]));
}

#[test]
fn a_text_at_the_start_of_a_sentence_is_a_variable_as_well() {
    let services = ["cron", "sshd", "gdm-password", "sudo", "su-l", "login"];
    let lines = |ends: &[&str]| -> Vec<String> {
        let all = services.iter().flat_map(|service| {
            NAMES.iter().flat_map(move |user| {
                ends.iter().map(move |end| {
                    format!("pam_unix({service}:session): session opened for user {user}(uid=7) by {end}")
                })
            })
        });
        all.collect()
    };
    let expected = vec!["{text}: session opened for user {text} by {text}"];
    let mut all = lines(&["ann(uid=0)", "root(uid=5)", "bob(uid=1)"]);
    all.push("pam_unix(cron:session): session opened for user hal(uid=7) by (uid=3)".to_owned());
    assert_eq!(expected, texts_with(&all, &Overrides::default()));
}

#[test]
fn every_line_matches_its_template_if_dots_divide_a_word() {
    assert_eq!(Some(Kind::Text), kind_of_units(b"windows-i..l-token"));
}

#[test]
fn pinned_and_split_templates_are_respected() {
    let all = merge_templates(&table(&users(8)), &Overrides::default()).expect("not cancelled");
    let split = Overrides {
        split: all.templates().iter().map(|template| template.text.to_vec()).collect(),
        ..Overrides::default()
    };
    assert_eq!(users(8), texts_with(&users(8), &split));
    let pinned = Overrides { pinned: [users(1)[0].clone().into_bytes()].into(), ..Overrides::default() };
    assert_eq!(vec!["session of ann was opened", "session of {word} was opened"], texts_with(&users(9), &pinned));
}

#[test]
fn merged_templates_sum_statistics() {
    let lines: Vec<String> = users(9).into_iter().chain(users(3)).collect();
    let all = table(&lines);
    let result = merge_templates(&all, &Overrides::default()).expect("not cancelled");
    let template = &result.templates()[0];
    assert_eq!((1, 12, 9, 1), (result.len(), template.count, template.wildcards[0].len(), template.wildcards.len()));
    let mut compacted = all.clone();
    compact(&mut compacted, &Overrides::default()).expect("memory");
    assert_eq!((1, 12), (compacted.len(), compacted.count()));
    // New lines match the merged templates.
    compacted
        .merge(&{
            let mut more = TemplateTable::new(64, 10_000).expect("valid");
            more.merge(&table(&["session of zoe was opened".to_owned()])).expect("compatible");
            more
        })
        .expect("compatible");
    assert_eq!(1, merge_templates(&compacted, &Overrides::default()).expect("not cancelled").len());
}

#[test]
fn a_cancelled_call_ends() {
    let all = table(&users(9));
    let result = cancel::at_every_check(&mut (), |()| merge_templates(&all, &Overrides::default()), |()| ());
    assert_eq!(1, result.len());
}

prop_compose! {
    fn lines()(lines in prop::collection::vec(
        (
            "(user|from|for|ORA-0942[01]: for|\\[[a-f]\\] of the|x \\[[a-c] [0-9]\\] of|\"[a-c] is\")",
            "[a-h]{1,2}|eth[0-3]|A|B|a=[0-9] b=[c-e]|b=[c-e] a=[0-9]",
            "(in|=|\\(\\)|1, 2|1|in port [0-9]|to: [a-c], b, c|GET|PUT|5 cats?|\\{'a': [a-c]\\}|<x [a-c] [0-9]>|f\\(x=[a-c], [a-c]\\)|None|in \\([a-e1]\\)|x\\([0-9]\\)|\\[[a-c](, [a-c]){0,2}\\]|\"[a-c]( [a-c]){0,2}\"|of the: [a-h] [a-h]|dc=[a-c],ou=[a-c]|x\\[a=[a-c], b=[0-9]\\]|t=[a-e] [a-e]|x-[0-9] on: [a-h] [a-h]|s, k: [a-c], l: [a-c]|'[a-e]'|a\\.[a-e]/[a-c]:x|<X '[a-c]:[0-9]'>|\"[a-c]\\\\\"[a-c]\"|is \\(null\\)|is null|is \\*\\*\\*|of true|[a-h] was|[a-h] [a-h] [a-h] was)",
            "[0-9]{1,2}|x\\.y|[a-e]|null|\\*\\*\\*|\\.\\.\\.[0-9]|[0-9] (s|minutes)|a=1 b=[a-c] c=1 d=1 e=1 f=1 g=1 h=[a-c]( i=1| [a-c])?",
            prop::option::weighted(0.2, "\\{\"a\":[12],\"b\":[1-3]\\}|\"[a-c]\"|1|null|\\[\"[a-c]\"(, 1)?\\]"),
        ),
        0..40
    )) -> Vec<String> {
        let line = |(a, b, c, d, json): (String, String, String, String, Option<String>)| match json {
            Some(json) => format!("{{\"msg\": \"{} {}\", \"c\":\"{b}\",\"attr\":{json}}}", &a[..1].trim_start_matches('"'), &c[..1].trim_start_matches('"')),
            None => format!("{a} {b} {c} {d}"),
        };
        lines.into_iter().map(line).collect()
    }
}

proptest! {
    #[test]
    fn neither_order_nor_counts_matter(lines in lines(), turn in 0_usize..40) {
        let mut turned: Vec<String> = lines.iter().chain(&lines).cloned().collect();
        let turn = turn.min(turned.len());
        turned.rotate_left(turn);
        let (one, two) = (texts_with(&lines, &Overrides::default()), texts_with(&turned, &Overrides::default()));
        prop_assert_eq!(one, two);
        let whole = Columns::from_table(&merge_templates(&table(&lines), &Overrides::default()).expect("memory")).expect("memory");
        let mut other = lines.clone();
        other.reverse();
        prop_assert_eq!(whole, Columns::from_table(&merge_templates(&table(&other), &Overrides::default()).expect("memory")).expect("memory"));
    }

    #[test]
    fn merging_is_idempotent(lines in lines()) {
        let once = texts_with(&lines, &Overrides::default());
        prop_assert_eq!(&once, &texts_with(&once, &Overrides::default()));
    }

    #[test]
    fn each_line_is_counted_once(lines in lines()) {
        let all = table(&lines);
        let result = merge_templates(&all, &Overrides::default()).expect("memory");
        prop_assert_eq!(all.count(), result.count());
    }
}
