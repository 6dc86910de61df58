"""The review: hidden similarity, keys, stored judgements, and labels that `evaluate` reads."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from browsing import PATIENCE, Visit
from report_browser import enter, open_page, write_page
from sample_report import SampleCorpus, build_contents, build_corpus

from nearkin.quality.judgements import PairLabels, read_judgements
from nearkin.report.model import Contents
from nearkin.theory.intervals import wilson

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

ANSWERS = {"y": "1", "n": "0", "u": "unsure"}


def queue_of(contents: Contents) -> list[tuple[int, int, float]]:
    assert contents.run is not None
    queue = contents.run["queue"]
    assert isinstance(queue, list)
    return [(pair, stratum, weight) for pair, stratum, weight in queue]


def press(visit: Visit, keys: str) -> None:
    """Press keys, each when the pair is shown and the previous key was processed."""
    for key in keys:
        visit.wait("#view-review .pair[aria-busy=false] .answer")
        before = visit.text("#view-review .card > .small")
        visit.page.keyboard.press(key)
        visit.page.wait_for_function(
            "before => document.querySelector('#view-review .card > .small').innerText !== before", arg=before
        )
        visit.wait("#view-review .pair[aria-busy=false] .answer")


def review(visit: Visit, keys: str = "") -> None:
    enter(visit, "review")
    visit.wait("#view-review .pair[aria-busy=false] .answer")
    press(visit, keys)


def export(visit: Visit, folder: Path) -> Path:
    enter(visit, "labels")
    with visit.page.expect_download() as waiting:
        visit.page.click("text=Export labels.tsv")
    assert "labels.tsv" == waiting.value.suggested_filename
    target = folder / "labels.tsv"
    waiting.value.save_as(target)
    return target


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_a_pair_is_blind_until_it_is_judged(visit: Visit) -> None:
    review(visit)
    words = visit.text("#view-review .pair")
    assert "Jaccard" not in words
    assert "removed" not in words
    assert 0 == visit.page.locator("#view-review .features").count()
    press(visit, "y")
    assert "Pair 1: you said the same. The run: Jaccard similarity " in visit.text("#view-review .last")
    assert "Jaccard" not in visit.text("#view-review .pair")
    visit.page.keyboard.press("k")
    visit.wait("#view-review .facts", "Jaccard similarity")
    assert "true" == visit.page.locator("#view-review .answer.same").get_attribute("aria-pressed")


def test_keys_judge_walk_and_take_back(visit: Visit) -> None:
    review(visit, "ynu")
    assert "3 of 40 judged: 1 same, 1 different, 1 unsure." in visit.text("#view-review .card > .small")
    visit.wait("#view-review .tools", "Pair 4 of 40")
    visit.page.keyboard.press("j")
    visit.wait("#view-review .tools", "Pair 5 of 40")
    press(visit, "z")
    assert "2 of 40 judged: 1 same, 1 different, 0 unsure." in visit.text("#view-review .card > .small")
    visit.wait("#view-review .tools", "Pair 3 of 40")
    visit.page.keyboard.press("d")
    visit.wait("#view-review .pair")
    assert visit.page.locator("label", has_text="differences only").locator("input").is_checked()


def test_the_worse_copy_that_was_kept_is_asked_for_after_the_judgement(
    browser: Browser, path: Path, tmp_path: Path
) -> None:
    """Its own queue has removed pairs judged same; the label counts as same, and its share has Wilson's interval."""
    with open_page(browser, path, accept_downloads=True) as visit:
        review(visit)
        visit.page.keyboard.press("w")
        press(visit, "y" * 40)
        visit.page.get_by_label("Queue").select_option("kept")
        visit.page.locator("#view-review .answer.worse").wait_for()
        press(visit, "ww")
        asked = int(re.search(r"Pair \d+ of (\d+)", visit.text("#view-review .card"))[1])  # type: ignore[index]
        assert f"{40 - 2} same, 2 worse kept, 0" in visit.text("#view-review .card > .small")
        target = export(visit, tmp_path)
        figure = visit.text("#view-labels .tiles")
    rows = rows_of(target)
    assert 2 == sum(row["match"] == "worse" for row in rows)
    found = read_judgements(target)
    assert isinstance(found, PairLabels)
    assert asked == sum(row["removed"] == "1" for row in rows)
    assert found.kept_worse is not None
    assert {2} == {found.kept_worse["labels"], sum(found.labels.values()) - 38}
    assert f"{found.kept_worse['value']:.3f}" in figure
    assert f"{found.kept_worse['low']:.3f} to {found.kept_worse['high']:.3f}" in figure


def test_decisions_survive_a_reload_and_other_reports_do_not_see_them(
    browser: Browser, corpus: SampleCorpus, path: Path, tmp_path: Path
) -> None:
    with open_page(browser, path) as visit:
        review(visit, "yn")
        visit.page.reload()
        visit.wait("#view-review .card > .small", "2 of 40 judged: 1 same, 1 different")
        visit.wait("#view-review .tools", "Pair 3 of 40")
        other = write_page(build_contents(corpus, key="f" * 16), tmp_path)
        page = visit.page.context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(other.as_uri() + "#review")
        page.locator("#view-review .card > .small", has_text="0 of 40 judged").wait_for()


def test_labels_are_exported_as_evaluate_reads_them(
    browser: Browser, corpus: SampleCorpus, path: Path, tmp_path: Path
) -> None:
    contents = build_contents(corpus)
    keys = "yynuyynyny"
    with open_page(browser, path, accept_downloads=True) as visit:
        review(visit, keys)
        target = export(visit, tmp_path)
    rows = rows_of(target)
    queue = queue_of(contents)[: len(keys)]
    assert contents.run is not None
    strata = contents.run["strata"]
    assert isinstance(strata, list)
    assert ["left", "right", "match", "similarity", "stratum", "weight", "removed"] == list(rows[0])
    for row, key, (pair, stratum, _) in zip(rows, keys, queue, strict=True):
        left, right, similarity, removed = corpus.pairs[pair]
        assert (corpus.ids[left], corpus.ids[right], ANSWERS[key]) == (row["left"], row["right"], row["match"])
        assert similarity == pytest.approx(float(row["similarity"]), abs=1e-6)
        assert (strata[stratum]["name"], str(int(removed))) == (row["stratum"], row["removed"])
        # Each judged pair represents an equal share of its stratum.
        decided = sum(1 for other, (_, h, _) in zip(keys, queue, strict=True) if h == stratum and other != "u")
        looked = sum(1 for _, h, _ in queue if h == stratum)
        assert strata[stratum]["pairs"] / (decided or looked) == pytest.approx(float(row["weight"]))
    labels = read_judgements(target)
    assert isinstance(labels, PairLabels)
    assert keys.count("y") == sum(labels.labels.values())
    assert keys.count("u") == labels.unsure


def test_precision_and_recall_are_the_weighted_shares(
    browser: Browser, corpus: SampleCorpus, path: Path, tmp_path: Path
) -> None:
    """The page's figures equal those of the exported file, with Wilson's formula and Kish's effective size."""
    keys = "yynyuyyynyyyynyyynyyynyyyyyyny"
    with open_page(browser, path, accept_downloads=True) as visit:
        review(visit, keys)
        rows = [row for row in rows_of(export(visit, tmp_path)) if row["match"] != "unsure"]
        shown = visit.text("#view-labels .tiles")
        assert "Your labels suggest" in visit.text("#view-labels .suggested")
    for cases, hits in (("removed", "match"), ("match", "removed")):
        of = [row for row in rows if row[cases] == "1"]
        weights = np.array([float(row["weight"]) for row in of])
        hit = np.array([row[hits] == "1" for row in of])
        worth = weights.sum() ** 2 / (weights**2).sum()
        value = weights[hit].sum() / weights.sum()
        low, high = wilson(value * worth, worth)
        told = f"{value:.3f}\n{low:.3f} to {high:.3f}; {len(of)} labels, worth {worth:.1f} of equal weight"
        assert told in shown


def test_the_suggested_threshold_has_the_greatest_f1(browser: Browser, path: Path) -> None:
    """Labels "same" from 0.7 on suggest 0.7, independent of the threshold of the run."""
    script = """(rows) => {
        const strata = [0.6, 0.65, 0.7, 0.75, 0.8, 0.85].map((low) => ({low, high: low + 0.05, pairs: 10}));
        const labels = rows.map((similarity, place) => ({
            similarity,
            removed: similarity >= 0.8,
            answer: similarity >= 0.7 ? "same" : "different",
            weight: 1 + place % 3,
        }));
        return [suggested(labels, strata, 0.8)?.threshold, suggested(labels.slice(0, 19), strata, 0.8)];
    }"""
    rows = [0.6 + 0.3 * place / 29 for place in range(30)]
    with open_page(browser, path) as visit:
        assert [0.7, None] == visit.page.evaluate(call_estimates(script), rows)


def call_estimates(script: str) -> str:
    """Return a function that calls one of the module `estimates`."""
    from nearkin.report.page import FOLDER

    text = (FOLDER / "estimates.js").read_text(encoding="utf-8").replace("export function", "function")
    return f"(given) => {{ {text}\nreturn ({script})(given); }}"


def test_ids_of_every_kind_come_back_from_the_file(browser: Browser, tmp_path: Path) -> None:
    corpus = build_corpus(4)
    hostile = ['tab\there "and" quotes', "line\nend", "\r", "=1+1", "\u202egnp", "日本", " space "]
    for place, name in zip(sorted({place for pair in corpus.pairs for place in pair[:2]}), hostile, strict=False):
        corpus.ids[place] = name
    assert {*hostile} <= {*corpus.ids}
    contents = build_contents(corpus)
    with open_page(browser, write_page(contents, tmp_path), accept_downloads=True) as visit:
        review(visit, "y" * len(corpus.pairs))
        target = export(visit, tmp_path)
    pairs = {tuple(sorted((corpus.ids[left], corpus.ids[right]))) for left, right, _, _ in corpus.pairs}
    assert pairs == {tuple(sorted((row["left"], row["right"]))) for row in rows_of(target)}
    labels = read_judgements(target)
    assert isinstance(labels, PairLabels)
    assert pairs == {tuple(sorted(pair)) for pair in labels.labels}


def test_an_id_that_no_file_can_hold_is_left_out_and_told(browser: Browser, tmp_path: Path) -> None:
    corpus = build_corpus(4)
    corpus.ids[corpus.pairs[0][0]] = "half \ud800"
    bad = sum(corpus.pairs[0][0] in pair[:2] for pair in corpus.pairs)
    with open_page(browser, write_page(build_contents(corpus), tmp_path), accept_downloads=True) as visit:
        review(visit, "y" * len(corpus.pairs))
        target = export(visit, tmp_path)
        assert f"Left out, for ids that no text file can hold: {bad}." in visit.text("#view-labels .tools")
    assert len(corpus.pairs) - bad == len(rows_of(target))


def choose_file(visit: Visit, text: str) -> None:
    """Select a file on the page."""
    visit.page.set_input_files(
        "#view-labels input[type=file]", {"name": "labels.tsv", "mimeType": "text/plain", "buffer": text.encode()}
    )


def test_conflicts_of_an_imported_file_are_decided_by_the_person(
    browser: Browser, corpus: SampleCorpus, path: Path, tmp_path: Path
) -> None:
    queue = queue_of(build_contents(corpus))
    names = [[corpus.ids[place] for place in corpus.pairs[pair][:2]] for pair, _, _ in queue[:4]]
    with open_page(browser, path, accept_downloads=True) as visit:
        review(visit, "yyy")
        enter(visit, "labels")
        lines = [f"{right}\t{left}\t{match}" for (left, right), match in zip(names, "0010", strict=True)]
        choose_file(visit, "left\tright\tmatch\r\n" + "\r\n".join([*lines, "x\ty\tunsure"]))
        visit.wait("#conflicts fieldset")
        assert 2 == visit.page.locator("#conflicts fieldset").count()
        assert names[0][0] in visit.text("#conflicts fieldset >> nth=0")
        visit.page.locator("#conflicts fieldset").nth(1).get_by_label("The file: different").check()
        visit.page.click("#conflicts >> text=Done")
        visit.page.locator("#conflicts").wait_for(state="hidden")
        visit.wait("#view-labels .card", "2 same, 2 different, 1 unsure. Of pairs that this file has not: 1 label,")
        rows = {(row["left"], row["right"]): row["match"] for row in rows_of(export(visit, tmp_path))}
    expected = {tuple(pair): match for pair, match in zip(names, "1010", strict=True)} | {("x", "y"): "unsure"}
    assert expected == {tuple(sorted(pair, key=lambda name: (len(name), name))): match for pair, match in rows.items()}


def test_a_file_that_is_none_of_labels_is_refused(visit: Visit) -> None:
    enter(visit, "labels")
    for text, words in (
        ("", "its columns are nothing"),
        ("left\tright\tmatch\na", "Row 2 has the label"),
        ("a,b,c\n1,2,3", "its columns are a,b,c"),
        ("left\tright\tmatch\na\tb\tmaybe", 'Row 2 has the label "maybe"'),
        ("left\tright\tmatch\na\tb\tconstructor", 'the label "constructor"'),
    ):
        choose_file(visit, text)
        visit.wait("#view-labels .tools [role=status]", words)


def test_labels_given_to_the_report_are_there_from_the_beginning(
    browser: Browser, corpus: SampleCorpus, tmp_path: Path
) -> None:
    contents = build_contents(corpus)
    ends = [[corpus.ids[place] for place in corpus.pairs[pair][:2]] for pair, _, _ in queue_of(contents)[:3]]
    given = [[*pair, match] for pair, match in zip(ends, (True, False, None), strict=True)]
    path = write_page(replace(contents, run={**(contents.run or {}), "labels": given}), tmp_path)
    with open_page(browser, path) as visit:
        review(visit)
        assert "3 of 40 judged: 1 same, 1 different, 1 unsure." in visit.text("#view-review .card > .small")
        assert "Pair 4 of 40" in visit.text("#view-review")
        visit.page.keyboard.press("k")
        visit.page.keyboard.press("k")
        visit.wait("#view-review .tools", "Pair 2 of 40")
        visit.wait("#view-review .facts", "Jaccard")
        press(visit, "y")
        visit.page.reload()
        enter(visit, "labels")
        visit.page.click("text=Otherwise than yours: 1 label of the report")
        visit.page.click("#conflicts >> text=All as the file says")
        visit.page.click("#conflicts >> text=Done")
        visit.wait("#view-labels .card", "1 same, 1 different, 1 unsure.")


def refusing(context: BrowserContext) -> None:
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }})"
    )


def test_where_the_browser_keeps_nothing_the_page_says_so(browser: Browser, path: Path) -> None:
    context = browser.new_context()
    try:
        refusing(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(path.as_uri() + "#review")
        page.locator(".notice", has_text="This browser keeps nothing for this file").wait_for()
        page.locator("#view-review .pair[aria-busy=false] .answer").first.wait_for()
        page.keyboard.press("y")
        page.locator("#view-review .card > .small", has_text="1 of 40 judged").wait_for()
    finally:
        context.close()


def test_the_filter_leaves_pairs_with_a_word_or_an_answer(browser: Browser, corpus: SampleCorpus, path: Path) -> None:
    queue = queue_of(build_contents(corpus))
    number = corpus.pairs[queue[0][0]][0]
    name = corpus.ids[number].split("/")[1]
    expected = sum(any(f"/{name}" in corpus.ids[end] for end in corpus.pairs[pair][:2]) for pair, _, _ in queue)
    with open_page(browser, path) as visit:
        review(visit, "y")
        visit.page.keyboard.press("/")
        visit.page.keyboard.type(f"/{name}")
        visit.wait("#view-review .tools", f"Pair 1 of {expected}")
        visit.page.fill("#view-review input[type=search]", "")
        visit.wait("#view-review .tools", "of 40")
        visit.page.select_option("#view-review .tools select >> nth=0", "same")
        visit.wait("#view-review .tools", "Pair 1 of 1")
        visit.page.select_option("#view-review .tools select >> nth=0", "unsure")
        visit.wait("#view-review .pair", "No pair of the queue passes the filter.")


def test_the_legend_is_the_table_of_keys_and_turns_them_off(visit: Visit) -> None:
    review(visit)
    visit.page.keyboard.press("?")
    visit.wait("#keys")
    assert list("jkynuwzd/?") == visit.page.locator("#keys kbd").all_inner_texts()
    visit.page.get_by_label("keys work on this page").uncheck()
    visit.page.keyboard.press("Escape")
    visit.page.keyboard.press("y")
    assert "0 of 40 judged" in visit.text("#view-review .card > .small")


def test_what_is_typed_into_a_filter_judges_nothing(visit: Visit) -> None:
    review(visit)
    visit.page.fill("#view-review input[type=search]", "")
    visit.page.locator("#view-review input[type=search]").press_sequentially("nuy")
    assert "0 of 40 judged" in visit.text("#view-review .card > .small")


def test_simultaneous_keys_judge_only_the_shown_pair(browser: Browser, path: Path) -> None:
    """Two keys at once judge the shown pair once, because the next one is not yet visible."""
    twice = "for (const key of 'yn') document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));"
    with open_page(browser, path) as visit:
        review(visit)
        visit.page.evaluate(f"() => {{ {twice} }}")
        visit.wait("#view-review .card > .small", "1 of 40 judged: 1 same")
        visit.wait("#view-review .tools", "Pair 2 of 40")


def test_the_focus_stays_on_the_button_that_judges(visit: Visit) -> None:
    review(visit)
    visit.page.locator("#view-review .answer.different").focus()
    for count in (1, 2):
        visit.page.keyboard.press("Enter")
        visit.wait("#view-review .card > .small", f"{count} different")
        visit.wait("#view-review .tools", f"Pair {count + 1} of 40")
        visit.wait("#view-review .pair[aria-busy=false] .answer")
        assert "answer different" == visit.page.evaluate("document.activeElement.className")


def test_the_next_pair_is_shown_from_its_beginning(browser: Browser, tmp_path: Path) -> None:
    corpus = build_corpus(4)
    for place, text in enumerate(corpus.texts):
        corpus.texts[place] = "\n".join(f"{word} {place}" for word in (text or "").split())
    with open_page(browser, write_page(build_contents(corpus), tmp_path), height=500) as visit:
        review(visit)
        visit.page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        press(visit, "y")
        visit.page.wait_for_function(
            "() => document.querySelector('#view-review .pair').getBoundingClientRect().top >= 0"
        )


def test_a_verdict_names_its_pair_and_goes_away_with_it(browser: Browser, path: Path) -> None:
    ways: list[Callable[[Visit], object]] = [
        lambda visit: visit.page.keyboard.press("j"),
        lambda visit: visit.page.select_option("#view-review .tools select >> nth=0", "open"),
        lambda visit: visit.page.fill("#view-review input[type=search]", "doc"),
    ]
    with open_page(browser, path) as visit:
        review(visit)
        for act in ways:
            press(visit, "y")
            assert re.match(r"Pair \d+: you said the same\.", visit.text("#view-review .last"))
            act(visit)
            visit.page.wait_for_function("() => document.querySelector('#view-review .last').textContent === ''")


def without_misses(contents: Contents) -> Contents:
    """Return contents of a run without near misses."""
    run = dict(contents.run or {})
    given = run["strata"]
    assert isinstance(given, list)
    strata = [stratum for stratum in given if stratum["removed"]]
    number = {old: strata.index(stratum) for old, stratum in enumerate(given) if stratum in strata}
    run |= {
        "strata": strata,
        "queue": [[pair, number[old], weight] for pair, old, weight in queue_of(contents) if old in number],
        "below": [],
        "near_misses": "The run did not look for near misses.",
    }
    return replace(contents, run=run)


def test_without_near_misses_recall_is_not_told(browser: Browser, corpus: SampleCorpus, tmp_path: Path) -> None:
    contents = without_misses(build_contents(corpus))
    with open_page(browser, write_page(contents, tmp_path)) as visit:
        review(visit, "yn" * 11)
        enter(visit, "labels")
        visit.wait("#view-labels .tiles")
        precision, recall = visit.page.locator("#view-labels .tiles dd").all_inner_texts()
        assert re.match(r"0\.\d+\n0\.\d+ to ", precision)
        assert ["–", "No near misses to judge, so recall is not known. The run did not look for near misses."] == (
            recall.split("\n")
        )
        assert 0 == visit.page.locator("#view-labels .suggested").count()
        visit.wait("#view-labels .card", "A threshold can't be suggested without recall.")
        enter(visit, "border")
        visit.wait("#view-border section >> nth=1", "There are no near misses to judge.")


def test_what_a_file_says_twice_in_two_ways_is_left_out_and_told(
    browser: Browser, corpus: SampleCorpus, path: Path, tmp_path: Path
) -> None:
    queue = queue_of(build_contents(corpus))
    (a, b), (c, d) = ([corpus.ids[place] for place in corpus.pairs[pair][:2]] for pair, _, _ in queue[:2])
    lines = ["left\tright\tmatch", f"{a}\t{b}\t1", f"{c}\t{d}\t1", f"{b}\t{a}\t0", f"{a}\t{b}\t1", f"{d}\t{c}\t1"]
    with open_page(browser, path, accept_downloads=True) as visit:
        enter(visit, "labels")
        choose_file(visit, "\n".join(lines))
        said = "Read: 5 labels, 1 new. Left out: 1 pair of which the file says two things."
        visit.wait("#view-labels .tools [role=status]", said)
        assert visit.page.locator("#conflicts").is_hidden()
        assert [{c, d}] == [{row["left"], row["right"]} for row in rows_of(export(visit, tmp_path))]
        assert "Exported: 1 label." == visit.text("#view-labels .tools [role=status]")


def focused(visit: Visit) -> str:
    return str(visit.page.evaluate("document.activeElement.tagName"))


def test_after_choosing_by_mouse_keys_work_and_by_keys_the_focus_stays(browser: Browser, path: Path) -> None:
    select = "#view-review .tools select >> nth=0"
    with open_page(browser, path) as visit:
        review(visit, "y")
        visit.page.locator(select).focus()
        visit.page.keyboard.press("ArrowDown")
        assert "SELECT" == focused(visit)
        visit.page.keyboard.press("Escape")
        assert "BODY" == focused(visit)
        visit.page.locator(select).focus()
        visit.page.dispatch_event(select, "pointerdown")
        visit.page.select_option(select, "same")
        visit.wait("#view-review .tools", "Pair 1 of 1")
        assert "BODY" == focused(visit)
        press(visit, "n")
        assert "1 of 40 judged: 0 same, 1 different" in visit.text("#view-review .card > .small")


def test_escape_clears_the_filter_and_leads_back_to_the_pair(visit: Visit) -> None:
    review(visit, "yn")
    visit.page.keyboard.press("j")
    visit.wait("#view-review .tools", "Pair 4 of 40")
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("nothing has this")
    visit.wait("#view-review .pair", "No pair of the queue passes the filter.")
    visit.page.keyboard.press("Escape")
    visit.wait("#view-review .tools", "Pair 4 of 40")
    assert ("BODY", "") == (focused(visit), visit.page.input_value("#view-review input[type=search]"))
    visit.page.keyboard.press("/")
    visit.page.keyboard.type("doc")
    visit.page.keyboard.press("Enter")
    visit.page.keyboard.press("j")
    visit.wait("#view-review .tools", "Pair 5 of 40")


def test_the_last_filter_is_applied(browser: Browser, corpus: SampleCorpus, path: Path) -> None:
    """Late results of a filter that was cleared are ignored."""
    script = """(input) => {
        for (const word of ["nothing has this", ""]) {
            input.value = word;
            input.dispatchEvent(new Event("input"));
        }
    }"""
    with open_page(browser, path) as visit:
        review(visit)
        visit.page.locator("#view-review input[type=search]").evaluate(script)
        visit.page.wait_for_timeout(300)
        visit.wait("#view-review .tools", "Pair 1 of 40")
