"""nearkin.io.files: one document per file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from corpora import read_all
from nearkin.errors import InputError
from nearkin.io import OutputDir, files, open_corpus
from nearkin.io.decompress import Reader


def test_a_folder_of_files_is_a_document_a_file(tmp_path: Path) -> None:
    """Files are read recursively in the order of their names, and the output is a list of paths."""
    folder = tmp_path / "docs"
    for name, data in [
        ("b.txt", b"second"),
        ("a/x.md", b"\xef\xbb\xbffirst"),
        ("c.txt.gz", gzip.compress(b"third")),
        ("d.bin", b"\0\1"),
        ("e.txt", b"ok\n\xff"),
        (".hidden", b"no"),
        (".git/config", b"no"),
        ("f.txt", b""),
    ]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    with open_corpus(folder, max_malformed=1.0) as corpus:
        assert (["first", "second", "third", ""], ["a/x.md", "b.txt", "c.txt.gz", "f.txt"]) == read_all(corpus)
        assert [("d.bin", 1), ("e.txt", 2)] == [(Path(bad.file).name, bad.line) for bad in corpus.malformed.first]
        assert ["first", "third"] == list(corpus.texts([0, 2]))
        with OutputDir(tmp_path / "out") as out:
            corpus.write_kept([0, 2, 3], out)
        assert b"a/x.md\nc.txt.gz\nf.txt\n" == (tmp_path / "out" / "kept.txt").read_bytes()
        (folder / "b.txt").write_bytes(b"other")
        with pytest.raises(InputError, match="changed"):
            corpus.texts([1])
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "g.txt").write_bytes(b"fourth")
    with open_corpus([folder, tmp_path / "more"], max_malformed=1.0) as corpus:
        assert str(tmp_path / "more" / "g.txt") == read_all(corpus)[1][-1]


def reasons(path: Path, **options: object) -> tuple[list[str], dict[str, str]]:
    """Return the texts, and the reason for each malformed file."""
    with open_corpus(path, format="files", max_malformed=1.0, **options) as corpus:  # type: ignore[arg-type]
        texts = read_all(corpus)[0]
        return texts, {Path(bad.file).name: bad.reason for bad in corpus.malformed.first}


def test_every_file_that_is_no_text_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each malformed file is listed with its reason, and the others are read."""
    monkeypatch.setattr(files, "MAX_RECORD", 1 << 12)
    for name, content in {
        "nul.txt": b"a\0b",
        "utf16.txt": "\ufeffwords".encode("utf-16-le"),
        "latin.txt": "caf\xe9".encode("latin-1"),
        "long.txt": b"x" * 5000,
        "long.txt.gz": gzip.compress(b"x" * 5000),
        "whole.txt": b"whole",
    }.items():
        (tmp_path / name).write_bytes(content)
    texts, reported = reasons(tmp_path)
    assert ["whole"] == texts
    assert "a NUL byte; this is not a text file" == reported["nul.txt"]
    assert "the file is UTF-16; convert it to UTF-8, or give encoding='utf-16'" == reported["utf16.txt"]
    assert reported["latin.txt"].startswith("not UTF-8; convert the file to UTF-8, or give the encoding")
    assert "the file is longer than 0 MiB" == reported["long.txt"] == reported["long.txt.gz"]


def test_files_of_another_encoding(tmp_path: Path) -> None:
    """A file with invalid bytes is malformed; the others are decoded."""
    (tmp_path / "a.txt").write_bytes("日本".encode("shift_jis"))
    (tmp_path / "b.txt").write_bytes(b"\x81")
    texts, reported = reasons(tmp_path, encoding="shift_jis")
    assert (["日本"], ["b.txt"]) == (texts, list(reported))
    assert "shift_jis" in reported["b.txt"]


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without read permission is malformed; the others are read."""

    class Refusing(Reader):
        def __enter__(self) -> Reader:
            if self.source.name.endswith("b.txt"):
                raise PermissionError(13, "Permission denied", self.source.name)
            return super().__enter__()

    monkeypatch.setattr(files, "Reader", Refusing)
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "b.txt").write_text("two")
    reason = "can't be read: Permission denied; change its permissions or leave it out"
    assert (["one"], {"b.txt": reason}) == reasons(tmp_path)


def test_many_files_come_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches have a limited size, and rows continue across batches."""
    monkeypatch.setattr(files, "BLOCK", 38)
    for number in range(20):
        (tmp_path / f"{number:02}.txt").write_text(f"document {number:02} of many")
    with open_corpus(tmp_path) as corpus:
        batches = list(corpus.batches())
        assert 10 == len(batches)
        assert list(range(0, 20, 2)) == [batch.first_row for batch in batches]
        assert ["document 03 of many", "document 18 of many"] == list(corpus.texts([3, 18]))


def test_a_file_that_changes_before_what_is_kept_is_written(tmp_path: Path) -> None:
    """A file that changed after it was compared is an error."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.txt").write_text("one")
    (folder / "b.txt").write_text("two")
    with open_corpus(folder) as corpus:
        read_all(corpus)
        (folder / "b.txt").write_text("another text")
        with pytest.raises(InputError, match="the file changed"), OutputDir(tmp_path / "out") as out:
            corpus.write_kept([0, 1], out)
        assert not (tmp_path / "out").exists()
