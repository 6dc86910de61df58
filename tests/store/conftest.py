"""The store of tests that need no more than one with the default recipe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import nearkin as nk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the folder of `store`."""
    return tmp_path / "store"


@pytest.fixture
def store(path: Path) -> Iterator[nk.Store]:
    """An empty store with the default recipe."""
    with nk.Store.create(path) as created:
        yield created
