"""Codes of other programs on the command line: `--hex-column` of pairs, search and dedup, and thumbnails."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command import call

CODES = [
    ("a.png", "ffd8a0c1e3f07f00", "pictures/a.png"),
    ("b.png", "ffd8a0c1e3f07f01", "pictures/b.png"),
    ("c.png", "0123456789abcdef", "pictures/c.png"),
    ("d.png", None, None),
    ("e.png", "FFD8A0C1E3F07F00", "https://example.com/<e>.png"),
    ("f.png", "ffd8a0c1e3f07f03", "pictures/none.png"),
]
PAIRS = {
    ("a.png", "b.png", 1),
    ("a.png", "e.png", 0),
    ("a.png", "f.png", 2),
    ("b.png", "e.png", 1),
    ("b.png", "f.png", 1),
    ("e.png", "f.png", 2),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with codes as JSON lines and as bytes in Parquet."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": name, "phash": code, "path": path} for name, code, path in CODES]
    Path("codes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    packed = [None if code is None else bytes.fromhex(code) for _, code, _ in CODES]
    names = [name for name, _, _ in CODES]
    pq.write_table(pa.table({"id": names, "phash": pa.array(packed, pa.binary(8))}), "codes.parquet")
    Path("new.csv").write_text("id,phash\nx,ffd8a0c1e3f07f07\ny,\n")
    return tmp_path


@pytest.mark.parametrize("table", ["codes.jsonl", "codes.parquet"])
def test_pairs_are_those_within_the_radius(folder: Path, table: str) -> None:
    """Digits and bytes give the same pairs, with distance and share of equal bits."""
    done = call("text", "pairs", table, "--hex-column", "phash", "--radius", "2", "--quiet")
    rows = [line.split("\t") for line in done.lines]
    assert sorted(PAIRS) == sorted((*sorted(row[:2]), int(row[2])) for row in rows)
    assert all(row[3] == f"{1 - int(row[2]) / 64:.4f}" for row in rows)


@pytest.mark.parametrize("table", ["codes.jsonl", "codes.parquet"])
def test_a_table_of_codes_is_searched(folder: Path, table: str) -> None:
    """Queries are codes of a table, or of the command line; a row without a code has no matches."""
    done = call("search", table, "new.csv", "--hex-column", "phash", "--radius", "2")
    assert done.lines == ["x\tf.png\t1", "x\tb.png\t2"]
    assert "y: this row has no code" in done.err
    done = call("search", table, "--hex-column", "phash", "--fingerprint", "0123456789abcdef", "-k", "1", "--json")
    assert json.loads(done.out)["matches"] == [{"id": "c.png", "distance": 0}]


def test_an_index_of_codes_is_searched_by_a_column(folder: Path) -> None:
    """A saved index takes queries from any column."""
    call("index", "build", "codes.jsonl", "--fingerprints", "hex", "--text-column", "phash", "-o", "codes.nks", "-q")
    done = call("search", "codes.nks", "new.csv", "--hex-column", "phash", "--radius", "1")
    assert done.lines == ["x\tf.png\t1"]


def make_pictures(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    (folder / "pictures").mkdir()
    image.new("RGB", (300, 200), "red").save(folder / "pictures" / "a.png")
    image.new("RGBA", (20, 300), (0, 0, 255, 128)).save(folder / "pictures" / "b.png")
    (folder / "pictures" / "none.png").write_bytes(b"%!PS no image")


def images_of(folder: Path) -> dict[str, str]:
    """Return the images in the data of a report by id."""
    from nearkin.report import Run
    from nearkin.report.builder import _Builder

    builder = _Builder(Run.from_folder(folder), None, 20_000_000, None)
    builder.build()
    return dict(builder.images)


def test_dedup_writes_a_report_with_thumbnails(folder: Path) -> None:
    """Files become small data URIs, URLs links; a file that is no image is counted. `report` makes the same page."""
    make_pictures(folder)
    arguments = ("codes.jsonl", "--hex-column", "phash", "--radius", "2", "--image-column", "path", "--out", "out")
    done = call("dedup", *arguments, "--report")
    assert done.code == 0, done.err
    assert "2 bits of 64" in done.err
    assert "without a code: kept" in done.err
    kept = [json.loads(line)["id"] for line in Path("out/kept.jsonl").read_text().splitlines()]
    assert kept == ["a.png", "c.png", "d.png"]
    images = images_of(folder / "out")
    assert {"a.png", "b.png", "e.png"} == images.keys()
    assert images["e.png"] == "https://example.com/<e>.png"
    assert images["a.png"].startswith("data:image/jpeg;base64,")
    assert max(map(len, images.values())) < 3000
    first = Path("out/report.html").read_text()
    assert "1 of 3 images could not be read" in first
    assert "share of equal bits" in first
    done = call("report", "out")
    assert done.code == 0, done.err
    assert Path("out/report.html").read_text() == first


def test_without_pillow_the_report_has_links_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report says how to get thumbnails, and is written."""
    make_pictures(folder)
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "PIL":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    call("dedup", "codes.jsonl", "--hex-column", "phash", "--radius", "2", "--image-column", "path", "--out", "out")
    monkeypatch.setattr(builtins, "__import__", refuse)
    assert images_of(folder / "out") == {"e.png": "https://example.com/<e>.png"}
    assert "no thumbnails: they need pillow" in call("report", "out").err
