"""Tests of `nearkin dedup --unit`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from command import call, json_lines, succeed
from corpora import read_rows, write_rows

NEWS = "Prices rose again in March, the statistics office said on Tuesday; rents rose most of all."
RAIN = "There was a lot of rain in the north, and the rivers rose by a metre within two days."
TEXTS = {
    "a": f"{NEWS}\n\n{RAIN}",
    "b": f'The "week" in short, by us.\n\n{NEWS}\n\nNothing, else.',
    "c": RAIN,
    "d": "Nothing of this stands elsewhere, and so it stays as it is.",
}
LEFT = {"a": TEXTS["a"], "b": 'The "week" in short, by us.\n\nNothing, else.', "d": TEXTS["d"]}


@pytest.fixture
def news(tmp_path: Path) -> Path:
    """Write four texts as JSON lines; the last line has no line end."""
    path = tmp_path / "news.jsonl"
    lines = [json.dumps({"id": name, "n": 1.50, "text": text}) for name, text in TEXTS.items()]
    path.write_text("\n".join(lines))
    return path


def test_passages_are_cut_out_of_what_is_kept(news: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call("dedup", news, "--out", out, "--id-column", "id", "--unit", "paragraph")
    assert (0, "") == (done.code, done.out), done.err
    assert LEFT == {row["id"]: row["text"] for row in json_lines(out / "kept.jsonl")}
    # Records that lose nothing are copied as they came.
    lines = (out / "kept.jsonl").read_text().split("\n")
    assert [news.read_text().split("\n")[0], news.read_text().split("\n")[3]] == [lines[0], lines[2]]
    passages = json_lines(out / "passages.jsonl")
    assert [("b", "a"), ("c", "a")] == [(row["id"], row["other"]) for row in passages]
    assert NEWS == TEXTS["b"][passages[0]["start"] : passages[0]["end"]]
    assert {"b": False, "c": True} == {row["id"]: row["removed"] for row in json_lines(out / "documents.jsonl")}
    summary = json.loads((out / "summary.json").read_text())
    expected = {"unit": "paragraph", "remove": "parts", "kept": 3, "removed": 1, "cut": 1, "kept_file": "kept.jsonl"}
    assert expected == {name: summary[name] for name in expected}
    assert {"kept.jsonl", "passages.jsonl", "documents.jsonl", "summary.json"} == {path.name for path in out.iterdir()}
    assert "passages by paragraph in 2 documents" in done.err
    assert "are also in a, from" in done.err


def test_every_format_is_written_as_it_came(tmp_path: Path) -> None:
    rows = [{"n": n, "note": f"{name}, 1", "text": text, "id": name} for n, (name, text) in enumerate(TEXTS.items())]
    for kind in ("parquet", "csv", "tsv"):
        path, out = write_rows(tmp_path / f"a.{kind}", rows), tmp_path / kind
        assert 0 == call("dedup", path, "--out", out, "--id-column", "id", "--unit", "paragraph").code
        left = [row for row in read_rows(path) if row["id"] in LEFT]
        assert [{**row, "text": LEFT[row["id"]]} for row in left] == read_rows(out / f"kept.{kind}")
    assert pq.read_schema(tmp_path / "a.parquet") == pq.read_schema(tmp_path / "parquet" / "kept.parquet")
    (tmp_path / "a.txt").write_text(f"{NEWS} {RAIN}\r\n{RAIN} And more.")
    done = call("dedup", tmp_path / "a.txt", "--out", tmp_path / "t", "--unit", "repeat:60")
    assert (0, f"{NEWS} {RAIN}\r\nAnd more.") == (done.code, (tmp_path / "t" / "kept.txt").read_bytes().decode())


def test_fields_within_fields_are_written(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "a.jsonl", ({"meta": {"body": text}, "n": 1} for text in TEXTS.values()))
    done = succeed("dedup", path, "-o", "-", "--text-column", "meta.body", "--unit", "paragraph")
    assert list(LEFT.values()) == [json.loads(line)["meta"]["body"] for line in done.out.splitlines()]


def test_documents_go_or_nothing_does(news: Path, tmp_path: Path) -> None:
    done = call(
        "dedup", news, "-o", tmp_path / "d", "--id-column", "id", "--unit", "line",
        "--remove", "documents", "--share", "0.7",
    )  # fmt: skip
    assert 0 == done.code, done.err
    assert ["a", "b", "d"] == [row["id"] for row in json_lines(tmp_path / "d" / "kept.jsonl")]
    done = call("dedup", news, "-o", tmp_path / "n", "--unit", "line", "--remove", "nothing", "--json")
    assert (0, 4) == (done.code, json.loads(done.out)["kept"])
    assert 2 == call("dedup", news, "-o", tmp_path / "s", "--unit", "line", "--share", 0.5).code
    assert {"passages.jsonl", "documents.jsonl", "summary.json"} == {path.name for path in (tmp_path / "n").iterdir()}


def test_boilerplate_is_listed_and_left_out(tmp_path: Path) -> None:
    articles = [" ".join(f"w{(row * 997 + at * at * 31) % 100_003}" for at in range(60)) for row in range(20)]
    menu = [" ".join(f"m{(row * 577 + at * at * 7) % 50_021}" for at in range(40)) for row in range(6)]
    rows = [{"text": "\n".join([*menu, text]), "from": "x"} for text in articles] + [{"text": articles[3], "from": "y"}]
    path = write_rows(tmp_path / "a.jsonl", rows)
    done = succeed("dedup", path, "-o", tmp_path / "o", "--boilerplate", "drop", "--source-column", "from")
    assert 20 == len(json_lines(tmp_path / "o" / "kept.jsonl"))
    listed = json_lines(tmp_path / "o" / "boilerplate.jsonl")
    assert (sorted(menu), {20}, {"x"}) == (
        sorted(row["line"] for row in listed),
        {row["documents"] for row in listed},
        {row["source"] for row in listed},
    )
    assert "6 frequent lines, left out" in " ".join(done.err.split())
    options = ("--boilerplate", "keep", "--threshold", "0.6", "--remove", "documents")
    succeed("dedup", path, "-o", tmp_path / "k", *options)
    # With the menu, all documents that contain it match.
    assert ["x", "y"] == [row["from"] for row in json_lines(tmp_path / "k" / "kept.jsonl")]


def test_pages_and_files_lose_no_parts(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "in" / f"{name}.md").write_text(text)
    options = ("--format", "files", "--unit", "paragraph")
    done = call("dedup", tmp_path / "in", "--out", tmp_path / "out", *options)
    assert (2, True) == (done.code, "remove 'parts' of documents of files" in done.err)
    done = call("dedup", tmp_path / "in", "--out", tmp_path / "out", *options, "--remove", "documents")
    assert (0, 2) == (done.code, len((tmp_path / "out" / "kept.txt").read_text().splitlines())), done.err


def test_rejected_records_are_told(news: Path, tmp_path: Path) -> None:
    with news.open("a") as file:
        file.write('\n{"id": "x", "text": 3}\n')
    options = ("--id-column", "id", "--unit", "paragraph", "--max-malformed", "1")
    succeed("dedup", news, "--out", tmp_path / "out", *options)
    assert 1 == len(json_lines(tmp_path / "out" / "rejected.jsonl"))
