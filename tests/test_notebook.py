"""HTML of results in a notebook: short, and all data is escaped."""

from __future__ import annotations

import re
from pathlib import Path

import nearkin as nk
from nearkin.notebook import ROWS, html_facts, html_table

HOSTILE = "<script>alert(1)</script>"


def test_a_table_has_its_first_rows() -> None:
    shown = html_table(["a", HOSTILE], [[number, HOSTILE] for number in range(25)], total=25, caption=HOSTILE)
    assert "<script" not in shown
    assert ROWS == shown.count("<td>") // 2
    assert "and 15 more rows" in shown
    assert "more rows" not in html_table(["a"], [[1]], total=1)
    assert "…" in html_facts([("long", "x" * 1000)])


def test_numbers_have_three_digits() -> None:
    """Integers are in full; a share below 1 is not shown as 1."""
    cells = [0.206549, 0.9996, 1.0, 12.3456, 1234567.8, 0.0, 0.00001234, -0.5, None, float("nan")]
    shown = re.findall("<td>(.*?)</td>", html_table(["x"], [[cell] for cell in cells], total=len(cells)))
    assert ["0.207", "0.9996", "1", "12.3", "1,234,568", "0", "1.23e-05", "-0.5", "", "nan"] == shown
    assert "and 1 more row<" in html_table(["x"], [[1], [2]], total=2, max_rows=1)


def test_a_deduplication_shows_its_counts_and_clusters() -> None:
    texts = ["one two three four five six", "one two three four five six", "something else is here"]
    result = nk.dedup(texts, [HOSTILE, "b", "c"])
    shown = result._repr_html_()
    assert "<script" not in shown
    assert re.search(r"<th>documents</th><td>3</td>.*<th>kept</th><td>2</td>", shown)
    assert "exact 1" in shown
    assert "representative" in shown
    assert "and 2 more rows" not in shown
    assert nk.dedup(["a b c d e"])._repr_html_()


def test_tables_recipes_and_tunings_are_shown() -> None:
    index = nk.HammingIndex(bits=8)
    index.add([HOSTILE, "b"], [0b1100, 0b1111])
    for table in (index.search([0b1100, 0], radius=8), index.pairs(radius=8), index.clusters(radius=8)):
        shown = table._repr_html_()
        assert shown.startswith("<table><caption>")
        assert "<script" not in shown
    tables = index.search([0b1100, 0], radius=8), index.pairs(radius=8), index.search([0], radius=0)
    captions = [re.findall("<caption>(.*?)</caption>", table._repr_html_()) for table in tables]
    assert [["4 matches of 2 queries"], ["1 pair"], ["0 matches of 1 query"]] == captions
    recipe = nk.Recipe("word:1|stop:en|count|xxh3|simhash:64")._repr_html_()
    assert "<th>stop</th><td>en</td><td>lists of stop words, which are removed</td>" in recipe
    assert "user_words" not in recipe
    assert "<th>recipe</th><td>space|ssdeep</td>" in nk.ssdeep.DigestRecipe("space|ssdeep")._repr_html_()
    for each in (nk.Recipe(), nk.Recipe("word:1|binary|xxh3|minhash:64:fast"), nk.Recipe.preset("zh-keywords")):
        assert f"<th>recipe</th><td>{each}</td><td>{each.digest}</td>" in each._repr_html_()
    texts = [f"{a} {b} grows in the garden behind the house" for a in ("red", "old") for b in ("ivy", "oak")]
    tuning = nk.tune(texts, threshold=0.7, bits=[64])._repr_html_()
    assert "<th>advised</th><td>nearkin dedup CORPUS" in tuning


def test_evaluations_passages_and_stores_are_shown(tmp_path: Path) -> None:
    texts = [f"{a} {b} grows in the garden behind the house" for a in ("red", "old") for b in ("ivy", "oak")]
    result = nk.dedup(texts, [HOSTILE, "b", "c", "d"], threshold=0.5)
    labels = nk.PairLabels([HOSTILE, "b"], ["b", "c"], [True, False], [3, 1], [HOSTILE, "0.60-0.62"])
    shown = nk.evaluate(result, labels)._repr_html_()
    assert "<script" not in shown
    assert "<th>measure</th><th>precision</th><th>recall</th><th>F1</th>" in shown
    assert "<td>0.750 (" in shown
    assert "<td>0.60-0.62</td>" in shown
    assert "<th>note</th><td>weighted: 2 labels stand for 4 pairs" in shown
    clusters = nk.evaluate({1: "x", 2: "x", 3: "x"}, {1: "a", 2: "a", 3: "b"})._repr_html_()
    assert "<td>B-cubed</td><td>0.556</td><td>1.000</td><td>0.714</td>" in clusters
    bands = nk.tune_bands(texts, threshold=0.5, num_perms=[32], recipe="word:1|binary|xxh3|minhash:32")._repr_html_()
    assert "<th>advised</th><td>nearkin dedup CORPUS" in bands
    assert re.search(r"<caption>\d+ rows?</caption>", bands)
    assert "&lt;table of" not in bands
    passages = nk.passages([f"{HOSTILE} {text} " * 9 for text in texts], min_length=1)._repr_html_()
    assert "<th>documents</th><td>4</td>" in passages
    assert "<script" not in passages
    index = nk.HammingIndex(bits=8)
    index.add([HOSTILE, "b"], [0b1100, 0b1111])
    matches = index.search([0b1100], radius=8)[0]._repr_html_()
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td><td>0</td>" in matches
    with nk.Store.create(tmp_path / "s") as store:
        store.add(texts)
        assert "<th>documents</th><td>4</td>" in store.stats()._repr_html_()
