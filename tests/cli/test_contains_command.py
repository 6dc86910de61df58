"""Tests of `nearkin text contains`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import succeed
from corpora import write_rows

LICENCE = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    """Write a folder of source files, and a file of named licences."""
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "a.py").write_text(f"# {LICENCE}\nimport os\n", encoding="utf-8")
    (folder / "b.py").write_text("import sys\n", encoding="utf-8")
    rows = [{"id": "MIT", "text": LICENCE}, {"id": "other", "text": "quite another text, of some length"}]
    known = write_rows(tmp_path / "licences.jsonl", rows)
    return folder, known


def test_rows_name_input_known_text_similarity_and_span(tmp_path: Path, sources: tuple[Path, Path]) -> None:
    """Rows are separated by tabs; the span is the licence."""
    inputs = tmp_path / "files.jsonl"
    text = (sources[0] / "a.py").read_text(encoding="utf-8")
    inputs.write_text(json.dumps({"id": "a.py", "text": text}) + "\n", encoding="utf-8")
    done = succeed("text", "contains", inputs, "--known", sources[1], "--id-column", "id")
    query, known, similarity, start, end = done.out.strip().split("\t")
    assert ("a.py", "MIT", "1.0000") == (query, known, similarity)
    assert LICENCE == text[int(start) : int(end)]


def test_files_are_found_in_files(sources: tuple[Path, Path], tmp_path: Path) -> None:
    """Files are compared with files, with JSON output."""
    known = tmp_path / "licences"
    known.mkdir()
    (known / "MIT.txt").write_text(LICENCE, encoding="utf-8")
    done = succeed("text", "contains", sources[0], "--known", known, "--format", "files", "--json")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [1.0] == [row["similarity"] for row in rows]
    assert ("a.py", "MIT.txt") == (Path(rows[0]["query"]).name, Path(rows[0]["id"]).name)
