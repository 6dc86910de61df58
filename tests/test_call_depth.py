"""A call is easy to follow: the number of files of the package that a warm call enters has a budget."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import nearkin as nk

PACKAGE = str(Path(nk.__file__).parent)
# Longer than titles, for which a second job compares a sample with that kind.
TEXTS = [f"document number {i} about the quick brown fox and the lazy dog {i * 7}, " * 2 for i in range(200)]


def files_entered(call: Callable[[], object]) -> list[str]:
    """Return the files of the package whose functions a call runs, in the order in which it enters them."""
    files: dict[str, None] = {}

    def record(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            files[frame.f_code.co_filename.removeprefix(PACKAGE)] = None

    sys.setprofile(record)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(files)


def deduplicate(_folder: Path) -> Callable[[], object]:
    return lambda: nk.dedup(TEXTS)


def add_to_store(folder: Path) -> Callable[[], object]:
    store = nk.Store.create(folder / "s.store")
    store.check_and_add(TEXTS[:50], [str(i) for i in range(50)])
    return lambda: store.check_and_add(["one new text among many others"], ["x"])


def search_vectors(_folder: Path) -> Callable[[], object]:
    vectors = np.random.default_rng(0).standard_normal((500, 32)).astype(np.float32)
    index = nk.LSHIndex(nk.families.Hyperplane(bits=128, seed=1), filter="codes").fit(vectors)
    return lambda: index.nearest(vectors[:2], k=3)


@pytest.mark.parametrize(("prepare", "budget"), [(deduplicate, 15), (add_to_store, 13), (search_vectors, 5)])
def test_calls_enter_few_files(prepare: Callable[[Path], Callable[[], object]], budget: int, tmp_path: Path) -> None:
    """Deduplication, check-and-add of one text, and a search of vectors stay within their budget of files."""
    nk.dedup(TEXTS[:5])
    files = files_entered(prepare(tmp_path))
    assert 2 <= len(files) <= budget, files
