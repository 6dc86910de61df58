"""Fixtures that every test may use."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from command import TEXTS, near_texts, write_jsonl

# Busy machines and sanitizers are slow, so no test fails because of its duration.
hypothesis.settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("unhurried")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of shared corpora, specifications and vectors; skip the test if it is missing."""
    if not (SHARED / "data" / "README.md").is_file():
        pytest.skip("the shared corpora are not beside this checkout")
    return SHARED


MEMORY = Path("/dev/shm")  # noqa: S108
ROOM = 4 << 30
"""Bytes that must be free where temporary folders lie in memory."""


def in_memory() -> bool:
    """Return True if temporary folders can be in memory: there is enough space, and programs there can be run.

    A store waits for its disk at each commit, and no test depends on that wait.
    """
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK | os.X_OK):
        return False
    stats = os.statvfs(MEMORY)
    return stats.f_bavail * stats.f_frsize >= ROOM and not stats.f_flag & os.ST_NOEXEC


def pytest_configure() -> None:
    """Put temporary folders in memory if possible, and restore SIGINT for child processes.

    A shell that runs the tests in the background makes children ignore SIGINT.
    """
    if sys.platform == "linux" and in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


LONGEST = (
    "spark/test_equal.py",
    "faults/test_injected_faults.py",
    "report/test_browsing.py",
    "spark/test_bad_jobs.py",
    "service/test_linearizable.py",
    "spark/test_spark.py",
    "faults/test_hostile_arrays.py",
    "service/test_page.py",
    "store/test_processes.py",
    "report/test_judging.py",
    "cli/test_app.py",
    "cli/test_dedup_engine.py",
    "faults/test_fork.py",
    "faults/test_signals.py",
    "store/test_damage.py",
    "cli/test_quality_command.py",
    "cli/test_store_command.py",
    "cli/test_console.py",
    "spark/test_corpora.py",
    "index/test_lsh_tuning.py",
    "service/test_operation.py",
    "service/test_kill.py",
    "report/test_loop.py",
    "test_examples.py",
    "dataflows/test_ray.py",
    "dataflows/test_datatrove.py",
)
"""Files that take the most time, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run long files first, and mark every test that uses the shared corpora with `shared`.

    Worker processes take files in this order. A long file at the end would keep only one of them busy.
    """
    here = Path(__file__).parent
    ranks = {here / name: rank for rank, name in enumerate(LONGEST)}
    # An engine ends a session that is idle for twenty minutes, so its tests run one after another.
    engines = here / "spark"
    items.sort(key=lambda item: (engines not in item.path.parents, ranks.get(item.path, len(ranks))))
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Return five texts: one, a different one, a near-duplicate and a copy of the first, and one without letters."""
    path = tmp_path / "corpus.jsonl"
    rows = [{"id": name, "text": text, "n": i, "from": "x"} for i, (name, text) in enumerate(TEXTS.items())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def similar(tmp_path: Path) -> Path:
    """Return seventeen texts of seventeen words; two of them differ in two words."""
    path = tmp_path / "similar.jsonl"
    words = [f"word{i}" for i in range(17)]
    texts = [" ".join([*words[:i], f"w{i}", *words[i + 1 :]]) for i in range(len(words))]
    path.write_text("".join(json.dumps({"id": f"t{i}", "text": text}) + "\n" for i, text in enumerate(texts)))
    return path


@pytest.fixture(scope="session")
def ssdeep_vectors(shared: Path) -> dict[str, Any]:
    """Return digests and scores that the original program and library computed."""
    vectors: dict[str, Any] = json.loads((shared / "vectors" / "ssdeep_public.json").read_text())
    return vectors


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Return `near_texts` with the ids d0 to d59, and a text without letters."""
    path = tmp_path / "many.jsonl"
    return write_jsonl(path, {f"d{i}": text for i, text in enumerate([*near_texts(), "..."])})
