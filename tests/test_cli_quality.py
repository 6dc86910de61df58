"""`nearkin evaluate`, run as its users run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from test_cli import TEXTS, run

TRUTH = "left\tright\tmatch\na\tc\t1\na\td\t1\na\tb\t0\nd\te\t1\n"


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "truth.tsv"
    path.write_text(TRUTH)
    return path


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "jsonl.gz"])
def test_a_runs_folder_is_scored_in_every_format(tmp_path: Path, truth: Path, form: str) -> None:
    """Two true pairs are found, one is missed, one that is none was not found."""
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    corpus, out = tmp_path / f"corpus.{form}", tmp_path / "out"
    rows = [{"id": name, "text": text} for name, text in TEXTS.items()]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), corpus)
    elif form == "csv":
        corpus.write_text("id,text\n" + "".join(f'{row["id"]},"{row["text"]}"\n' for row in rows))
    else:
        corpus.write_bytes(gzip.compress(text.encode()) if form.endswith("gz") else text.encode())
    assert 0 == run("dedup", corpus, "-o", out, "--id-column", "id", "-q").returncode
    done = run("evaluate", out, "--truth", truth, "--json")
    assert 0 == done.returncode, done.stderr
    found = json.loads(done.stdout)
    wanted = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    assert [2, 0, 1, 1] == [found["pairwise"][name] for name in wanted]
    assert (2, 2) == (found["links"]["hits"], found["links"]["of"])
    assert (0, 0) == (found["counts"]["unknown"], found["counts"]["missing"])
    shown = run("evaluate", out, "--truth", truth)
    assert b"recall    0.667" in shown.stdout


def test_documents_without_ids_are_known_by_their_rows(tmp_path: Path) -> None:
    """Row numbers, and the paths of files."""
    texts = ["one two three four five six", "one two three four five six", "something else"]
    lines, folder = tmp_path / "lines.txt", tmp_path / "files"
    lines.write_text("\n".join(texts) + "\n")
    folder.mkdir()
    for at, text in enumerate(texts):
        (folder / f"f{at}.md").write_text(text)
    for name, ids in (("lines.txt", ["0", "1", "2"]), ("files", ["f0.md", "f1.md", "f2.md"])):
        truth = tmp_path / f"{name}.csv"
        truth.write_text("id,cluster\n" + "".join(f"{each},{at // 2}\n" for at, each in enumerate(ids)))
        assert 0 == run("dedup", tmp_path / name, "-o", tmp_path / f"{name}-out", "-q").returncode
        done = run("evaluate", tmp_path / f"{name}-out", "--truth", truth, "--json")
        found = json.loads(done.stdout)
        assert (0, 0, 3) == (found["counts"]["unknown"], found["counts"]["missing"], found["bcubed"]["documents"])
        assert 1.0 == found["bcubed"]["f1"]


def test_pairs_that_were_printed_are_scored(tmp_path: Path, truth: Path) -> None:
    """`nearkin pairs --json` gives a table of pairs."""
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in TEXTS.items()))
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_bytes(run("pairs", corpus, "--id-column", "id", "--json").stdout)
    found = json.loads(run("evaluate", pairs, "--truth", truth, "--json").stdout)
    assert 2 == found["pairs"]["true_positives"]


def test_wrong_usage_ends_with_its_code(tmp_path: Path, truth: Path) -> None:
    """2 for an option, 1 for a file."""
    assert 2 == run("evaluate", truth, "--truth", truth, "--unlisted", "maybe").returncode
    assert 2 == run("evaluate", truth, "--truth", truth, "--pair-columns", "left").returncode
    assert 2 == run("evaluate", truth, "--truth", truth, "--at-least", "0.5").returncode
    done = run("evaluate", tmp_path, "--truth", truth)
    assert (1, True) == (done.returncode, b"no folder that nearkin dedup wrote" in done.stderr)
