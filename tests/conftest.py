"""Fixtures that every test may use."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from command import TEXTS, near_texts, write_jsonl

# Busy machines and sanitizers are slow, so no test fails because of its duration.
for name, cases in (("complete", 100), ("quick", 25)):
    hypothesis.settings.register_profile(
        name, max_examples=cases, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )

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


def pytest_configure(config: pytest.Config) -> None:
    """Choose the number of cases, put temporary folders in memory if possible, and restore SIGINT for child processes.

    A shell that runs the tests in the background makes children ignore SIGINT.
    """
    hypothesis.settings.load_profile("quick" if config.getoption("quick") else "complete")
    if sys.platform == "linux" and in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


DURATIONS = Path(__file__).with_name("durations.tsv")
"""Seconds of each test function that takes a quarter of a second or more, as last recorded."""
RECORDED_FROM = 0.25
QUICK = 1.0
"""Seconds from which a test function is left to `make check`."""
FULL = {"spark", "dataflows", "spark.md"}
"""Folders and pages that need engines, which the quick tier does not install."""
SKIPPED = "nearkin/skipped"
"""Key of pytest's cache: the test functions that the last complete run of the quick tier skipped."""


def exists(name: str) -> bool:
    """Return True if the file of a recorded test still contains its function."""
    file, _, function = name.partition("::")
    path = Path(__file__).parents[1] / file
    return path.exists() and (path.suffix != ".py" or f"def {function.rpartition('::')[2]}(" in path.read_text("utf-8"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the two tiers of checks."""
    group = parser.getgroup("nearkin")
    group.addoption("--quick", action="store_true", help=f"leave out engines and tests that took {QUICK:g} s or more")
    group.addoption(
        "--rest", action="store_true", help="only what --quick left out or skipped, and properties with more cases"
    )
    group.addoption(
        "--record-durations", action="store_true", help=f"write durations of the tests that run into {DURATIONS.name}"
    )


def function_of(nodeid: str) -> str:
    """Return the node id of the test function, which all its parameters share."""
    return nodeid.partition("[")[0]


def recorded_durations() -> dict[str, float]:
    """Return seconds by test function."""
    lines = DURATIONS.read_text(encoding="utf-8").splitlines() if DURATIONS.exists() else []
    return {name: float(seconds) for seconds, name in (line.split("\t") for line in lines)}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run long files first, and mark every test that uses the shared corpora with `shared`.

    Worker processes take files in this order. A long file at the end would keep only one of them busy.
    """
    seconds = recorded_durations()
    seconds_of_file: dict[str, float] = {}
    for name, value in seconds.items():
        file = name.partition("::")[0]
        seconds_of_file[file] = seconds_of_file.get(file, 0.0) + value
    # An engine ends a session that is idle for twenty minutes, so its tests run one after another.
    engines = Path(__file__).parent / "spark"

    def order(item: pytest.Item) -> tuple[bool, float]:
        return engines not in item.path.parents, -seconds_of_file.get(item.nodeid.partition("::")[0], 0.0)

    items.sort(key=order)
    for item in items:
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("shared")
    quick, rest = config.getoption("quick"), config.getoption("rest")
    if quick or rest:
        # Without a run of the quick tier everything is left.
        cache = getattr(config, "cache", None)
        skipped = None if cache is None else cache.get(SKIPPED, None)
        selected = []
        for item in items:
            function = function_of(item.nodeid)
            is_full = seconds.get(function, 0.0) >= QUICK or bool({item.path.name, item.path.parent.name} & FULL)
            is_property = item.get_closest_marker("hypothesis") is not None
            if not is_full if quick else is_full or is_property or skipped is None or function in skipped:
                selected.append(item)
        kept = set(selected)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = selected


_skipped: set[str] = set()
_properties: set[str] = set()
_recorded: dict[str, float] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add the seconds of a phase of a test to those of its function."""
    name = function_of(report.nodeid)
    if report.skipped:
        _skipped.add(name)
    if "hypothesis" in report.keywords:
        _properties.add(name)
    _recorded[name] = _recorded.get(name, 0.0) + report.duration


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write what was skipped and, on request, durations, in the process that collects the reports."""
    config = session.config
    if hasattr(config, "workerinput"):
        return
    # A run of some files says nothing about the others.
    is_complete = exitstatus == 0 and config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if config.getoption("quick") and is_complete and config.cache is not None:
        config.cache.set(SKIPPED, sorted(_skipped))
    if config.getoption("record_durations"):
        seconds = {name: value for name, value in recorded_durations().items() if exists(name)}
        for name, value in _recorded.items():
            # The quick tier runs properties on fewer cases, and what they take there decides whether it runs them.
            if not config.getoption("rest") or name not in _properties or seconds.get(name, 0.0) >= QUICK:
                seconds[name] = value
        long = {name: value for name, value in seconds.items() if value >= RECORDED_FROM}
        order = sorted(long, key=lambda name: (-long[name], name))
        DURATIONS.write_text("".join(f"{long[name]:.2f}\t{name}\n" for name in order), encoding="utf-8")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], None]]:
    """Return the function that sets the number of threads, which is the default one again after the test."""
    import nearkin as nk

    yield nk.set_num_threads
    nk.set_num_threads(None)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pair each document with one earlier one in the first round of a distributed job, so that there are more."""
    for module in ("distributed.pairs", "distributed.plan"):
        monkeypatch.setattr(f"nearkin.{module}.MAX_FIRST", 1)


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
