"""Saving: an index overwrites a file that another process has changed only with `overwrite=True`."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import OutputError, StoreLockedError
from nearkin.index import base
from nearkin.index.base import lock_index_file
from nearkin.io.locks import lock_file


def vectors() -> nk.LSHIndex:
    return nk.LSHIndex(nk.families.Hyperplane(bits=64)).fit(np.eye(4), [90, 91, 92, 93])


def row(index: Any, key: int) -> None:
    """Add one value under an id."""
    makers: dict[type, Callable[[], Any]] = {
        nk.HammingIndex: lambda: np.array([key], np.uint64),
        nk.BandIndex: lambda: nk.signature([f"text number {key}"]),
        nk.DigestIndex: lambda: [nk.ssdeep.hash(bytes([key]) * 500 + b"tail")],
        nk.LSHIndex: lambda: np.ones((1, 4)) * key,
    }
    index.add([key], makers[type(index)]())


MAKERS: list[Callable[[], Any]] = [nk.HammingIndex, nk.BandIndex, nk.DigestIndex, vectors]


@pytest.mark.parametrize("make", MAKERS)
def test_the_second_of_two_saves_is_refused(make: Callable[[], Any], tmp_path: Path) -> None:
    """After opening twice and saving twice, the rows of the first save remain."""
    path = tmp_path / "index.nks"
    index = make()
    row(index, 1)
    index.save(path)
    kind = type(index)
    first, two = kind.open(path), kind.open(path)
    row(first, 2)
    row(two, 3)
    first.save(path)
    with pytest.raises(OutputError, match="has changed since this index was opened") as result:
        two.save(path)
    assert ("other", str(path)) == (result.value.in_place, result.value.place)
    assert 2 in kind.open(path)
    with pytest.raises(OutputError, match="has changed"):
        # The same holds for an index created here and saved first.
        index.save(path)
    # The last to save may save again, to any name; other paths are free.
    row(first, 4)
    first.save(path)
    two.save(tmp_path / "other.nks")
    two.save(path, overwrite=True)
    opened = kind.open(path)
    assert (False, True) == (2 in opened, 3 in opened)
    two.save(path)


@pytest.mark.parametrize("make", MAKERS)
def test_copies_know_no_files(make: Callable[[], Any], tmp_path: Path) -> None:
    """The file of a pickled index means nothing to the process that unpickles it."""
    index = make()
    row(index, 1)
    index.save(tmp_path / "index.nks")
    locks = len(base._path_locks)
    other = pickle.loads(pickle.dumps(index))  # noqa: S301  # It is our own.
    assert locks == len(base._path_locks)
    assert "_file_stamps" not in vars(other)
    assert [str((tmp_path / "index.nks").resolve())] == list(index._stamps())


def test_a_link_is_the_file_that_it_names(tmp_path: Path) -> None:
    """Any name of the file works; a deleted file is written again."""
    path, link = tmp_path / "index.nks", tmp_path / "link"
    index = nk.HammingIndex()
    index.save(path)
    link.symlink_to(path)
    other = nk.HammingIndex.open(link)
    row(other, 1)
    other.save(link)
    with pytest.raises(OutputError, match="has changed"):
        index.save(path)
    path.unlink()
    index.save(path)
    assert 0 == len(nk.HammingIndex.open(path))


def test_others_wait_for_whoever_changes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save under another process's lock fails after a while; under one's own lock it succeeds."""
    monkeypatch.setattr(base, "_LOCK_TIMEOUT", 0.1)
    path = tmp_path / "index.nks"
    index = nk.HammingIndex()
    index.save(path)
    with lock_file(path), pytest.raises(StoreLockedError, match="changing the index"):
        index.save(path)
    with lock_index_file(path):
        row(index, 1)
        index.save(path)
    assert 1 == len(nk.HammingIndex.open(path))
    with base._lock_path(path, str(path.resolve())), pytest.raises(StoreLockedError, match="another thread"):
        index.save(path)
    if os.name == "posix":
        assert {".index.nks.lock", "index.nks"} == {file.name for file in tmp_path.iterdir()}
