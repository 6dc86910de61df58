"""Fixtures that every test may use."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared corpora, specifications and vectors; the test is skipped where it is missing."""
    if not (SHARED / "data" / "README.md").is_file():
        pytest.skip("the shared corpora are not beside this checkout")
    return SHARED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test that asks for the shared corpora carries the marker `shared`."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")
