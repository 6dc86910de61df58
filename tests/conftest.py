"""Fixtures that every test may use."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from command import TEXTS, near_texts, write_jsonl

# Machines are busy and sanitizers slow: no test fails for the time that it takes.
hypothesis.settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("unhurried")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared corpora, specifications and vectors; the test is skipped where it is missing."""
    if not (SHARED / "data" / "README.md").is_file():
        pytest.skip("the shared corpora are not beside this checkout")
    return SHARED


def pytest_configure() -> None:
    """Children that are sent SIGINT get it, even where a shell runs the tests in the background and so ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test that asks for the shared corpora carries the marker `shared`."""
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Five texts: one, an unlike one, a near-duplicate and a copy of the first, and one without any letter."""
    path = tmp_path / "corpus.jsonl"
    rows = [{"id": name, "text": text, "n": i, "from": "x"} for i, (name, text) in enumerate(TEXTS.items())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def similar(tmp_path: Path) -> Path:
    """Seventeen texts of seventeen words; two of them differ in two words."""
    path = tmp_path / "similar.jsonl"
    words = [f"word{i}" for i in range(17)]
    texts = [" ".join([*words[:i], f"w{i}", *words[i + 1 :]]) for i in range(len(words))]
    path.write_text("".join(json.dumps({"id": f"t{i}", "text": text}) + "\n" for i, text in enumerate(texts)))
    return path


@pytest.fixture(scope="session")
def ssdeep_vectors(shared: Path) -> dict[str, Any]:
    """Digests and scores that the real program and library gave."""
    found: dict[str, Any] = json.loads((shared / "vectors" / "ssdeep_public.json").read_text())
    return found


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """`near_texts` with the ids d0 to d59, and one without any letter."""
    path = tmp_path / "many.jsonl"
    return write_jsonl(path, {f"d{i}": text for i, text in enumerate([*near_texts(), "..."])})
