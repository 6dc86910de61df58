"""`nearkin evaluate`, run as its users run it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import TEXTS, run

TRUTH = "left\tright\tmatch\na\tc\t1\na\td\t1\na\tb\t0\nd\te\t1\n"


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "truth.tsv"
    path.write_text(TRUTH)
    return path


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "jsonl.gz"])
def test_a_runs_folder_is_scored_in_every_format(tmp_path: Path, truth: Path, form: str) -> None:
    """Two true pairs are found, one is missed, one false pair was not found."""
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


def similar(tmp_path: Path) -> Path:
    path = tmp_path / "similar.jsonl"
    words = [f"word{i}" for i in range(17)]
    texts = [" ".join([*words[:i], f"w{i}", *words[i + 1 :]]) for i in range(len(words))]
    path.write_text("".join(json.dumps({"id": f"t{i}", "text": text}) + "\n" for i, text in enumerate(texts)))
    return path


def test_tune_ends_with_a_command_that_runs(tmp_path: Path) -> None:
    """The last line is a command line; its radius and recipe are those of --json."""
    import shlex

    corpus = similar(tmp_path)
    done = run("tune", corpus, "--threshold", "0.6", "--bits", "64", "--bits", "128")
    assert 0 == done.returncode, done.stderr
    command = shlex.split(done.stdout.decode().splitlines()[-1])
    found = json.loads(run("tune", corpus, "--threshold", "0.6", "--bits", "64", "--bits", "128", "--json").stdout)
    assert str(found["chosen"]["radius"]) == command[command.index("--radius") + 1]
    assert found["chosen"]["recipe"] == command[command.index("--recipe") + 1]
    assert 0 == run(*command[1:], "--overwrite", "-q", cwd=tmp_path).returncode
    assert (tmp_path / "clean" / "kept.jsonl").is_file()


def test_tune_measures_bands(tmp_path: Path) -> None:
    """A recipe with minhash: a table of bands, JSON, and a command that runs; labels are refused."""
    import shlex

    corpus = similar(tmp_path)
    options = ("--recipe", "word:1|binary|xxh3|minhash:64:fast", "--num-perm", "64", "--threshold", "0.6")
    done = run("tune", corpus, *options)
    command = shlex.split(done.stdout.decode().splitlines()[-1])
    found = json.loads(run("tune", corpus, *options, "--json").stdout)
    assert command == shlex.split(found["command"].replace("CORPUS", str(corpus)))
    command[command.index("--out") + 1] = str(tmp_path / "clean")
    assert 0 == run(*command[1:]).returncode
    assert {64} == {row["num_perm"] for row in found["curve"]}
    assert 2 == run("tune", corpus, *options, "--pairs", corpus).returncode


def test_tune_takes_labels(tmp_path: Path) -> None:
    """Pairs by id; the folder of a run is no truth; wrong usage has its code."""
    corpus, labels = similar(tmp_path), tmp_path / "labels.csv"
    labels.write_text("left,right,match\nt1,t2,1\nt3,t4,1\nt5,t9,0\n")
    done = run("tune", corpus, "--id-column", "id", "--pairs", labels, "--recipe", "word:1", "--bits", "64", "--json")
    found = json.loads(done.stdout)
    assert ("f1", 2) == (found["goal"], found["truth"]["pairs"])
    assert {"features", "threshold", "precision", "recall", "f1"} == set(found["thresholds"][0])
    shown = run("tune", corpus, "--id-column", "id", "--pairs", labels, "--recipe", "word:1", "--bits", "64")
    assert b"F1" in shown.stdout
    assert 2 == run("tune", corpus, "--recall", "0").returncode
    assert 0 == run("dedup", corpus, "-o", tmp_path / "out", "-q").returncode
    done = run("tune", corpus, "--pairs", tmp_path / "out")
    assert (1, True) == (done.returncode, b"not what is true" in done.stderr)
