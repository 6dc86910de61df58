"""Contents of a report of a run: figures, texts, and the limit of its size."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from command import near_texts
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.errors import InputError, ParameterError
from nearkin.io import open_corpus
from nearkin.report import Run, report_page, review
from nearkin.report.builder import build_report, equal_ranges
from nearkin.report.run import find_near_files

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!-- <img src=x onerror=alert(1)> -->",
    "tab\tline\nquote\" and ' and \u202e backwards \u0000 nul",
    "{{ 7 * 7 }} {% raw %}",
]


def corpus_file(path: Path, texts: list[str], ids: list[str] | None = None) -> Path:
    names = [f"d{row}" for row in range(len(texts))] if ids is None else ids
    rows = (json.dumps({"id": name, "text": text}) for name, text in zip(names, texts, strict=True))
    path.write_text("\n".join(rows) + "\n")
    return path


def run_over(path: Path, **options: Any) -> tuple[nk.DedupResult, Run, Any]:
    corpus = open_corpus(path, id_column="id")
    result = nk.dedup(corpus, near_misses="auto", **options)
    summary = {**result.summary, "inputs": [str(path)], "format": "jsonl", "text_column": "text", "id_column": "id"}
    return result, Run.from_result(result, corpus, summary, "out"), corpus


def block(page: str, name: str) -> Any:
    found = re.search(rf'id="block-{name}"[^>]*>([^<]*)<', page)
    assert found is not None, name
    data = gzip.decompress(base64.b64decode(found[1]))
    return data if name == "pairs" else json.loads(data)


@pytest.mark.parametrize("recipe", [None, "minhash"])
def test_the_data_of_a_page_are_those_of_the_run(recipe: str | None, tmp_path: Path) -> None:
    """Ids, texts, lengths, clusters and pairs of the page equal those of the result."""
    texts = near_texts()
    path = corpus_file(tmp_path / "c.jsonl", texts)
    result, run, _ = run_over(path, threshold=0.8, recipe=recipe)
    contents = build_report(run)
    page = report_page(run)
    told = contents.run
    assert told is not None
    share = result.summary["removed"] / result.summary["documents"]
    examples = contents.sections[0].tables[0].rows
    assert f"{share:.1%} were duplicates; here are five." == contents.sentences[0]
    assert 5 == len({row[1] for row in examples})
    rows = {row["id"]: row for row in result.clusters.rows()}
    for name, other, shown, reason in examples:
        row = rows[name]
        assert (other, reason) == (row["representative"], row["reason"])
        assert abs(float(shown) - row["similarity"]) < 0.001
    documents = block(page, "documents")
    text_of = {f"d{row}": text for row, text in enumerate(texts)}
    held = [text for number in range(int(str(told["texts"]))) for text in block(page, f"texts-{number}")]
    seen = 0
    for name, number, length in zip(documents["ids"], documents["text"], documents["length"], strict=True):
        if number >= 0:
            assert held[number] == text_of[name]
            assert length == len(text_of[name])
            seen += 1
    assert seen == len(held) > 0

    data, count = block(page, "pairs"), int(str(told["pairs"]))
    left, right = np.frombuffer(data, "<u4", 2 * count).reshape(2, count)
    similarity = np.frombuffer(data, "<f4", count, 8 * count)
    removed = np.frombuffer(data, "u1", count, 14 * count)
    assert 15 * count == len(data)
    near = {(row["representative"], row["id"]) for row in result.clusters.rows() if row["reason"] == "near"}
    same = {(row["representative"], row["id"]) for row in result.clusters.rows() if row["reason"] == "same-letters"}
    assert result.near_misses is not None
    missed = {(row["left"], row["right"]) for row in result.near_misses.rows()}
    ids = documents["ids"]
    found = {(ids[a], ids[b]): bool(gone) for a, b, gone in zip(left, right, removed, strict=True)}
    assert {**dict.fromkeys(near | same, True), **dict.fromkeys(missed, False)} == found
    true = nk.similarity(texts, left=[int(ids[a][1:]) for a in left], right=[int(ids[b][1:]) for b in right],
                         recipe=nk.Recipe.of(recipe))  # fmt: skip
    assert np.allclose(similarity, true, atol=1e-6)

    clusters = block(page, "clusters")
    assert [size for size, _, _ in clusters] == sorted((size for size, _, _ in clusters), reverse=True)
    assert sum(size for size, _, _ in clusters) == len(result.clusters)
    removed_by = {row["id"]: row["representative"] for row in result.clusters.rows() if row["reason"] != "kept"}
    listed = {ids[member]: ids[kept] for _, kept, members in clusters for member, *_ in members}
    assert removed_by == listed
    for key, features in block(page, "common").items():
        one, two = (set(nk.Recipe.of(recipe).features_of(text_of[ids[int(side[int(key)])]])) for side in (left, right))
        assert (len(one & two), len(one - two), len(two - one)) == (
            features["both"],
            features["left"],
            features["right"],
        )
        assert set(features["some_both"]) <= one & two


def test_a_run_in_memory_and_its_folder_give_equal_pages(tmp_path: Path) -> None:
    """Pages are equal bytes, and the key of stored judgements does not depend on the time."""
    path = corpus_file(tmp_path / "c.jsonl", near_texts())
    _, run, _ = run_over(path)
    page = report_page(run)
    assert page == report_page(run)
    slower = Run(run.name, {**run.summary, "timings": {"hash": {"wall": 9.0}}}, run.clusters, run.near, run.texts)
    keys = [build_report(one).run for one in (run, slower)]
    assert keys[0] is not None
    assert keys[1] is not None
    assert keys[0]["key"] == keys[1]["key"]


@pytest.mark.parametrize("texts", [[], ["one text alone, which is like no other"], ["", "", "a"]])
def test_empty_runs(texts: list[str], tmp_path: Path) -> None:
    """Runs without documents, clusters or pairs have a page without charts."""
    result = nk.dedup(texts, near_misses="auto")
    names = ("id", "cluster", "representative", "distance", "similarity", "reason")
    run = Run("none", result.summary, {name: [] for name in names}, None, lambda ids: {})
    assert "documents kept" in report_page(run)


def test_hostile_documents_are_data(tmp_path: Path) -> None:
    """Texts and ids that look like markup or templates are never executed."""
    texts = [text for hostile in HOSTILE for text in (f"{hostile} {'word ' * 40}{n}" for n in "ab")]
    ids = [f"{name}{row}" for row, name in enumerate(HOSTILE * 2)]
    path = corpus_file(tmp_path / "c.jsonl", texts, ids)
    _, run, _ = run_over(path, threshold=0.5)
    run = Run(HOSTILE[0] + HOSTILE[3], run.summary, run.clusters, run.near, run.texts)
    page = report_page(run)
    assert "alert(1)</script>" not in page
    assert "<img src=x" not in page
    assert "{{ 7 * 7 }} {% raw %}" in page
    assert set(block(page, "documents")["ids"]) <= set(ids)


def test_a_page_has_a_maximum_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts beyond the limit are omitted, and the page says how many."""
    monkeypatch.setattr(review, "_BLOCK_CHARACTERS", 1 << 17)
    random = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 "))
    base = ["".join(letters[random.integers(0, 63, 9000)]) for _ in range(60)]
    path = corpus_file(tmp_path / "c.jsonl", [text for one in base for text in (one, one + " and more")])
    _, run, _ = run_over(path)
    whole, small = (build_report(run, limit=limit) for limit in (20_000_000, 800_000))
    assert not any("could not be read" in cut for cut in whole.cuts)
    assert any("could not be read" in cut for cut in small.cuts)
    page = report_page(run, limit=800_000)
    assert len(page.encode()) <= 800_000
    assert any(name.startswith("texts-") for name in small.blocks)


def test_texts_in_memory_make_the_page_of_a_corpus(tmp_path: Path) -> None:
    texts = near_texts()
    path = corpus_file(tmp_path / "c.jsonl", texts)
    result, run, _ = run_over(path)
    named = ("inputs", "format", "text_column", "id_column")
    plain = {name: cell for name, cell in run.summary.items() if name not in named}
    own = Run(run.name, plain, run.clusters, run.near, run.texts)
    assert report_page(own) == report_page(Run.from_texts(result, texts, run.name))
    with pytest.raises(ParameterError, match="use 60 texts, one per row"):
        Run.from_texts(result, texts[1:])


def test_a_folder_that_is_none() -> None:
    with pytest.raises(InputError, match="is not a folder that nearkin dedup wrote"):
        Run.from_folder(Path("nowhere"))


def test_common_ranges_are_equal() -> None:
    """Each range of one file has the bytes of the other, and covers most of a slightly changed file."""
    random = np.random.default_rng(3)
    one = random.integers(0, 256, 40_000, dtype=np.uint8).tobytes()
    two = one[:15_000] + b"something else" + one[15_200:]
    ranges = equal_ranges(one, two, DigestRecipe())
    assert all(one[a:b] == two[c:d] for a, b, c, d in ranges)
    assert sum(b - a for a, b, _, _ in ranges) > 30_000
    assert [] == equal_ranges(one, random.integers(0, 256, 90, dtype=np.uint8).tobytes(), DigestRecipe())


def test_near_files_are_those_of_brute_force(tmp_path: Path) -> None:
    """Near misses are all pairs whose score is at most 30 below the threshold."""
    random = np.random.default_rng(5)
    base = random.integers(32, 127, 20_000, dtype=np.uint8)
    paths = []
    for number in range(30):
        data = base.copy()
        at = random.integers(0, len(base), number * 12)
        data[at] = 64
        paths.append(str(tmp_path / f"{number}.bin"))
        Path(paths[-1]).write_bytes(data.tobytes())
    found = find_near_files([*paths, str(tmp_path / "gone")], DigestRecipe(), 90)
    digests = [nk.ssdeep.hash(path) for path in map(Path, paths)]
    every = {
        (paths[i], paths[j]): nk.ssdeep.compare(digests[i], digests[j]) for i in range(30) for j in range(i + 1, 30)
    }
    expected = {pair: score for pair, score in every.items() if 60 <= score < 90}
    assert expected
    assert expected == {(left, right): score for left, right, score in found.pairs}
    assert (30, 31) == (found.sampled, found.total)
