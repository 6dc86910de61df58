"""The cycle of deduplication, report, review in a browser, and evaluate, tune and dedup with the labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import Visit
from report_browser import open_page
from sample_report import build_corpus

from command import call, succeed, write_jsonl

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def judge_all(visit: Visit) -> int:
    """Judge every pair of the queue as same, except third copies, and return the number of judgements."""
    visit.page.click("#views a[href='#review']")
    visit.wait("#view-review .answer")
    total = int(visit.text("#view-review .card > .small").split(" of ")[1].split(" ")[0])
    for judged in range(total):
        ids = visit.page.locator("#view-review .facts .id").all_inner_texts()
        visit.page.keyboard.press("n" if any(name.endswith("copy-2") for name in ids) else "y")
        visit.wait("#view-review .card > .small", f"{judged + 1} of {total} judged")
        visit.wait("#view-review .pair[aria-busy=false] .answer")
    return total


def test_what_a_person_judges_changes_the_next_run(browser: Browser, tmp_path: Path) -> None:
    corpus = build_corpus(8)
    texts = {name: text for name, text in zip(corpus.ids, corpus.texts, strict=True) if text is not None}
    source = write_jsonl(tmp_path / "corpus.jsonl", texts)
    recipe = ("--id-column", "id", "--quiet", "--threshold", "0.6", "--recipe", "word:1|binary|xxh3|simhash:128")
    done = call("dedup", source, "--out", tmp_path / "clean", "--report", *recipe)
    assert (0, "") == (done.code, done.message)
    with open_page(browser, tmp_path / "clean" / "report.html", accept_downloads=True) as visit:
        total = judge_all(visit)
        visit.page.click("#views a[href='#labels']")
        with visit.page.expect_download() as waiting:
            visit.page.click("text=Export labels.tsv")
        labels = tmp_path / "labels.tsv"
        waiting.value.save_as(labels)
        shown = visit.text("#view-labels .tiles").split("\n")
        precision, recall = (
            shown[shown.index(next(line for line in shown if line.startswith("precision"))) + 1],
            shown[-2],
        )

    scores = json.loads(call("recipe", "evaluate", tmp_path / "clean", "--truth", labels, "--json").data)
    pairs = scores["pairwise"]
    counted = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    assert total == sum(pairs[name] for name in counted)
    assert [float(precision), float(recall)] == pytest.approx(
        [pairs["precision"]["value"], pairs["recall"]["value"]], abs=0.0006
    )

    succeed("recipe", "tune", source, "--id-column", "id", "--truth", labels, "--json", "--quiet")

    call("dedup", source, "--out", tmp_path / "better", "--labels", labels, *recipe)
    rejected = {
        tuple(line.split("\t")[:2]) for line in labels.read_text("utf-8").splitlines() if line.split("\t")[2] == "0"
    }
    rows = [json.loads(line) for line in (tmp_path / "better" / "clusters.jsonl").read_text("utf-8").splitlines()]
    removed = {(row["representative"], row["id"]) for row in rows if row["reason"] != "kept"}
    assert rejected
    assert set() == rejected & removed

    succeed("report", tmp_path / "clean", "--against", labels)
    with open_page(browser, tmp_path / "clean" / "report.html") as visit:
        visit.page.click("#views a[href='#review']")
        visit.wait("#view-review .card > .small", f"{total} of {total} judged")
