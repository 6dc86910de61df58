"""nearkin.io.files: a file per document."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from corpora import read_all
from nearkin.errors import InputError
from nearkin.io import OutputDir, open_corpus


def test_a_folder_of_files_is_a_document_a_file(tmp_path: Path) -> None:
    """Files are read recursively in the order of their names; what is kept is a list of their paths."""
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
