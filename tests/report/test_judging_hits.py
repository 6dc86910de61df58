"""The queue of a decontamination in a browser: hits are judged, exported, and left out by the next run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from report_browser import open_page

from command import call, write_jsonl
from corpora import write_rows

if TYPE_CHECKING:
    from playwright.sync_api import Browser

RIVER = "Which of the rivers that rise in the Black Forest flows through ten countries before it reaches the sea?"
MOONS = "How many moons of the planet Jupiter did Galileo describe in the winter of sixteen hundred and ten?"


def test_hits_that_a_person_rejects_stay_in_the_corpus(browser: Browser, tmp_path: Path) -> None:
    """One document has two hits, each with its own passage; one of them is rejected."""
    texts = {"a": f"Quiz. {RIVER} And so on.\n\n{MOONS} The end.", "b": "A page of its own.", "c": f"He asked: {RIVER}"}
    corpus = write_jsonl(tmp_path / "corpus.jsonl", texts)
    suites = write_rows(tmp_path / "quiz.jsonl", ({"question": item} for item in (RIVER, MOONS)))
    options = ("decontaminate", corpus, "--suites", suites, "--id-column", "id", "--report", "--quiet")
    done = call(*options, "--out", tmp_path / "first")
    assert (0, "") == (done.code, done.message)
    labels = tmp_path / "labels.tsv"
    with open_page(browser, tmp_path / "first" / "report.html", accept_downloads=True) as visit:
        assert "Clusters" not in visit.text("#views")
        visit.page.click("#views a[href='#review']")
        visit.wait("#view-review .answer")
        for judged in range(3):
            ids = visit.page.locator("#view-review .facts .id").all_inner_texts()
            shown = visit.text("#view-review .differences")
            assert ("Galileo" in shown) == (ids[0] == "quiz:1")
            visit.page.keyboard.press("n" if ids == ["quiz:0", "c"] else "y")
            visit.wait("#view-review .card > .small", f"{judged + 1} of 3 judged")
            visit.wait("#view-review .pair[aria-busy=false] .answer")
        assert "it is a hit" in visit.text("#view-review .last")
        visit.page.click("#views a[href='#labels']")
        with visit.page.expect_download() as waiting:
            visit.page.click("text=Export labels.tsv")
        waiting.value.save_as(labels)
        assert "of the hits, those that are right" in visit.text("#view-labels .tiles")
        assert "0.667" in visit.text("#view-labels .tiles")
    assert 0 == call(*options, "--out", tmp_path / "second", "--labels", labels).code
    summary = json.loads((tmp_path / "second" / "summary.json").read_text())
    assert (1, 2, 1) == tuple(summary["labels"][name] for name in ("different", "same", "rejected"))
    assert 0.6667 == round(summary["labels"]["precision"]["value"], 4)
    assert (1, 2) == (summary["contaminated"], summary["met"])
