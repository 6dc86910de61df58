"""Tests of `nearkin dedup --report` and `nearkin report`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from command import call, check_message, json_lines, near_texts, succeed, write_jsonl
from corpora import write_rows
from nearkin.report import Run


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Return the output folder of a run."""
    return tmp_path / "clean"


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Write a corpus with near-duplicates and near misses."""
    path = tmp_path / "crawl.jsonl"
    write_jsonl(path, {f"d{row}": text for row, text in enumerate(near_texts())})
    return path


def test_a_run_writes_its_report(crawl: Path, out: Path) -> None:
    """The report of a run equals the one that is created later, and both can be replaced."""
    arguments = ("dedup", crawl, "--out", out, "--id-column", "id", "--threshold", "0.9", "--report", "--quiet")
    done = call(*arguments)
    assert (0, "", "") == (done.code, done.out, done.err)
    page = (out / "report.html").read_bytes()
    reported = json.loads((out / "summary.json").read_text())
    assert {"report.html", "near.jsonl"} <= set(reported["files"])
    near = json_lines(out / "near.jsonl")
    assert reported["near_misses"]["pairs"] == len(near) > 0
    assert all(0 <= row["similarity"] < 0.9 for row in near)

    done = call("report", out)
    assert (0, "") == (done.code, done.err)
    assert f"{out / 'report.html'}: 0." in done.out
    assert page == (out / "report.html").read_bytes()
    assert 0 == call(*arguments, "--overwrite").code


def test_a_report_of_an_older_run(crawl: Path, out: Path) -> None:
    """A run without near misses can have a report, which the summary then lists."""
    assert 0 == call("dedup", crawl, "--out", out, "--id-column", "id", "-q").code
    assert not (out / "near.jsonl").exists()
    done = call("report", out)
    assert done.out == f"{out / 'report.html'}: {(out / 'report.html').stat().st_size / 1e6:.1f} MB\n"
    assert "did not look for near misses" in (out / "report.html").read_text()
    assert "report.html" in json.loads((out / "summary.json").read_text())["files"]
    assert 0 == call("dedup", crawl, "--out", out, "--id-column", "id", "-q", "--overwrite").code
    assert not (out / "report.html").exists()
    counts: list[tuple[str, int, int | None]] = []
    assert Run.from_folder(out, lambda *count: counts.append(count)).texts(["d0"])
    assert ("read, MB", 1, 1) == counts[-1]


def test_a_file_of_the_user_stays(crawl: Path, out: Path, tmp_path: Path) -> None:
    assert 0 == call("dedup", crawl, "--out", out, "--id-column", "id", "-q").code
    (out / "report.html").write_text("mine")
    check_message(2, "whose report.html was written by this run; name another file by --out", "report", out)
    assert "mine" == (out / "report.html").read_text()
    assert 0 == call("report", out, "--out", tmp_path / "other.html").code
    assert (tmp_path / "other.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "txt", "jsonl.gz", "latin-1"])
def test_reports_of_every_format(form: str, tmp_path: Path) -> None:
    """The report of a run equals that of its folder for every format."""
    texts = [f"{text} größer" for text in near_texts()]
    path = tmp_path / f"crawl.{'csv' if form == 'latin-1' else form}"
    write_rows(path, ({"id": row, "text": text} for row, text in enumerate(texts)))
    arguments = [] if form == "txt" else ["--id-column", "id"]
    if form == "latin-1":
        path.write_text(path.read_text("utf-8"), "latin-1")
        arguments += ["--encoding", "latin-1"]
    out = tmp_path / "clean"
    succeed("dedup", path, "--out", out, "-q", "--report", *arguments)
    page = (out / "report.html").read_bytes()
    done = call("report", out, "-q")
    assert (0, "", "") == (done.code, done.out, done.err)
    assert page == (out / "report.html").read_bytes()


def test_a_report_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    lines = [f"line {number} of a file that will change a little\n" for number in range(900)]
    for number in range(6):
        lines[150 * number] = f"another line, number {number}\n"
        (folder / f"{number}.txt").write_text("".join(lines))
    (folder / "other.bin").write_bytes(bytes(range(256)) * 40)
    out = tmp_path / "out"
    assert 0 == call("dedup", "--family", "ssdeep", folder, "--out", out, "--report", "-q").code
    page = (out / "report.html").read_bytes()
    assert 0 == call("report", out, "-q").code
    assert page == (out / "report.html").read_bytes()
    assert b'id="block-pieces"' in page


def test_inputs_that_are_gone_are_said(crawl: Path, out: Path) -> None:
    """Kept texts are read from the output; missing inputs are reported."""
    assert 0 == call("dedup", crawl, "--out", out, "--id-column", "id", "-q").code
    crawl.unlink()
    check_message(0, "the texts of removed documents cannot be shown", "report", out, "-q")
    assert "the texts of removed documents cannot be shown" in (out / "report.html").read_text()


def test_labels_score_the_run(crawl: Path, out: Path, tmp_path: Path) -> None:
    assert 0 == call("dedup", crawl, "--out", out, "--id-column", "id", "-q").code
    rows = [row for row in json_lines(out / "clusters.jsonl") if row["reason"] == "near"][:4]
    labels = tmp_path / "labels.tsv"
    lines = ["left\tright\tmatch", *(f"{row['representative']}\t{row['id']}\t{at % 2}" for at, row in enumerate(rows))]
    labels.write_text("\n".join(lines) + "\n")
    assert 0 == call("report", out, "--against", labels, "-q").code
    page = (out / "report.html").read_text()
    assert "Evaluation by the labels" in page
    done = call("report", out, "--against", out)
    assert "use a table of labelled pairs, as the page exports it" in done.message


def test_labels_of_other_documents(crawl: Path, out: Path, tmp_path: Path) -> None:
    """Labels of unknown documents are ignored with a warning, or are an error if there are no others."""
    assert 0 == call("dedup", crawl, "--out", out, "--id-column", "id", "-q").code
    row = next(row for row in json_lines(out / "clusters.jsonl") if row["reason"] == "near")
    labels = tmp_path / "labels.tsv"
    own, other = f"{row['representative']}\t{row['id']}\t1", "foo\tbar\t1"
    labels.write_text(f"left\tright\tmatch\n{own}\n{other}\nd7\td8\t1\nd8\td7\t0\n")
    done = succeed("report", out, "--against", labels, "-q")
    assert "1 of 2 labels are for pairs that are not in this run" in done.message
    assert "1 pairs have both labels, and are left out" in done.message
    labels.write_text(f"left\tright\tmatch\n{other}\n")
    done = call("report", out, "--against", labels, "-q")
    assert 2 == done.code
    assert "it does not have both bar and foo" in done.message


def test_inputs_of_another_folder_and_changed_ones(
    crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative names are also searched next to the run's folder; changed inputs are reported."""
    monkeypatch.chdir(tmp_path)
    assert 0 == call("dedup", crawl.name, "--out", "clean", "--id-column", "id", "--report", "-q").code
    page = (tmp_path / "clean" / "report.html").read_bytes()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    done = call("report", tmp_path / "clean", "-q")
    assert (0, "") == (done.code, done.err)
    assert page == (tmp_path / "clean" / "report.html").read_bytes()
    with crawl.open("a") as file:
        file.write('{"id": "more", "text": "one more"}\n')
    done = call("report", tmp_path / "clean", "-q")
    assert "the run's inputs have changed" in done.message
    assert "inputs have changed" in (tmp_path / "clean" / "report.html").read_text()


def test_standard_input_can_not_be_read_again(crawl: Path, out: Path) -> None:
    arguments = ("dedup", "-", "--format", "jsonl", "--out", out, "--id-column", "id", "--report", "-q")
    assert 0 == call(*arguments, stdin=crawl.read_bytes()).code
    check_message(0, "standard input cannot be read again", "report", out, "-q")


def test_a_run_without_near_misses_says_so(crawl: Path, out: Path) -> None:
    done = call("dedup", crawl, "--out", out, "--id-column", "id", "--report", "-q", "--cluster", "components")
    assert "the report has no recall" in done.message
    assert "Recall is not known" in (out / "report.html").read_text().replace("\\u0027", "'")


def test_what_can_not_be_is_refused_at_once(
    crawl: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Usage errors are reported before anything is read or written."""
    for arguments, message in (
        (("dedup", crawl, "--out", out, "--report", "--engine", "sail", "--id-column", "id"), "--report"),
        (("report", out, "--out", tmp_path / "summary.json"), "use a name that ends with .html"),
    ):
        done = call(*arguments)
        assert 2 == done.code or "is not a folder" in message, done.err
        assert message in done.message
        assert not out.exists()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = call("dedup", crawl, "--out", out, "--report")
    assert 0 != done.code
    assert "pip install '.[report]'" in done.message
    assert not out.exists()
