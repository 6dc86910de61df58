"""The folder to which tests of outputs write."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Return a folder that does not exist yet."""
    return tmp_path / "out"
