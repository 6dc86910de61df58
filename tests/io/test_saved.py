"""Errors about a file of another kind, and about a folder that does not take one."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import CorruptStoreError, InputError, MissingFileError

OPENERS: dict[str, Callable[[Path], Any]] = {
    "hamming": nk.HammingIndex.open,
    "bands": nk.BandIndex.open,
    "digests": nk.DigestIndex.open,
    "vectors": nk.LSHIndex.open,
    "family": nk.families.load,
    "patterns": nk.LogTemplates.open,
    "idf": nk.Idf.load,
}
NAMES = {
    "hamming": "HammingIndex.open",
    "bands": "BandIndex.open",
    "digests": "DigestIndex.open",
    "vectors": "LSHIndex.open",
    "family": "families.load",
    "patterns": "the open method of its class",
    "idf": "Idf.load",
    "store": "Store.open",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a saved file of each kind, and a store."""
    folder = tmp_path_factory.mktemp("saved")
    nk.HammingIndex(64).save(folder / "hamming")
    nk.BandIndex().save(folder / "bands")
    nk.DigestIndex().save(folder / "digests")
    vectors = np.random.default_rng(0).normal(size=(20, 8)).astype(np.float32)
    nk.LSHIndex(nk.families.Hyperplane(bits=64)).fit(vectors).save(folder / "vectors")
    nk.families.Hyperplane(bits=64).fit(vectors).save(folder / "family")
    nk.LogTemplates().save(folder / "patterns")
    nk.Idf.fit(["red wine", "red cheese"], "word:1|count|xxh3|simhash:64").save(folder / "idf")
    nk.Store.create(folder / "store").close()
    return folder


@pytest.mark.parametrize("opener", OPENERS)
def test_a_missing_file_and_any_other_file_are_named(opener: str, tmp_path: Path) -> None:
    """Without the number of a system's error; of files that nearkin did not save, only an empty one may be damaged."""
    path = tmp_path / "file"
    with pytest.raises(MissingFileError) as caught:
        OPENERS[opener](path)
    assert isinstance(caught.value, FileNotFoundError)
    assert (errno.ENOENT, str(path)) == (caught.value.errno, caught.value.filename)
    assert str(caught.value).startswith(f"{path}: no such file; give a ")
    for content in (b"hello there, how are you", b'{"a": 1}', bytes(range(256))):
        path.write_bytes(content)
        with pytest.raises(InputError, match="file: is no file that nearkin saved; give a "):
            OPENERS[opener](path)
    path.write_bytes(b"")
    with pytest.raises((CorruptStoreError, InputError), match=r"is empty|is no file that nearkin saved"):
        OPENERS[opener](path)


@pytest.mark.parametrize("opener", OPENERS)
def test_a_file_of_another_kind_is_named(opener: str, folder: Path) -> None:
    """The message says what the file is and how to open it, and never that it is damaged."""
    OPENERS[opener](folder / opener)
    for kind, name in NAMES.items():
        if kind != opener:
            with pytest.raises(InputError, match=f"{kind}: is an? .*; open it with .*{name}"):
                OPENERS[opener](folder / kind)


@pytest.mark.parametrize("opener", [name for name in OPENERS if name not in ("idf",)])
def test_other_files_are_not_called_damaged(opener: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a document of a corpus"}\n')
    with pytest.raises(InputError, match="is no file that nearkin saved"):
        OPENERS[opener](tmp_path / "a.jsonl")


@pytest.mark.parametrize("opener", ["hamming", "bands", "digests", "vectors"])
def test_a_damaged_header_is_damage(opener: str, folder: Path, tmp_path: Path) -> None:
    data = (folder / opener).read_bytes()
    for changed in (b"", data[:10], bytes([data[0] ^ 1]) + data[1:]):
        (tmp_path / "a").write_bytes(changed)
        with pytest.raises(CorruptStoreError, match="is damaged"):
            OPENERS[opener](tmp_path / "a")


@pytest.mark.parametrize("kind", sorted(OPENERS))
def test_a_missing_folder_is_named_by_the_path_of_the_caller(kind: str, folder: Path, tmp_path: Path) -> None:
    """Files are written under a temporary name first, which the message does not have."""
    target = tmp_path / "missing" / "file"
    with pytest.raises(FileNotFoundError, match="missing") as raised:
        OPENERS[kind](folder / kind).save(target)
    assert str(target) in str(raised.value)
