"""The memory of the machine is the smallest of the limits that the system reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.index import memory
from nearkin.index.memory import machine_memory, memory_budget


def group(root: Path, path: str, limit: str, name: str = "memory.max") -> None:
    """Write a control group with a limit."""
    (root / path).mkdir(parents=True, exist_ok=True)
    (root / path / name).write_text(limit + "\n")


def test_the_least_limit_of_the_groups_above_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions 1 and 2 are read, for the group and its ancestors; "max" means no limit."""
    proc, root = tmp_path / "cgroup", tmp_path / "fs"
    monkeypatch.setattr(memory, "_PROC", proc)
    monkeypatch.setattr(memory, "_CGROUPS", root)
    monkeypatch.setattr(memory, "_physical_memory", lambda: 1000)
    monkeypatch.setattr(memory, "_process_limits", lambda: iter(()))
    assert 1000 == machine_memory()
    proc.write_text("0::/a/b\n")
    group(root, "a/b", "max")
    assert 1000 == machine_memory()
    group(root, "a", "900")
    assert 900 == machine_memory()
    group(root, "a/b", "950")
    assert 900 == machine_memory()
    # Other groups, and directories above the mount, do not count.
    group(root, "c", "1")
    group(tmp_path, ".", "2")
    assert 900 == machine_memory()
    proc.write_text("7:cpu,memory:/x\n3:cpuset:/y\nbroken\n")
    group(root, "memory/x", "800", "memory.limit_in_bytes")
    assert 800 == machine_memory()
    # A container that knows only the host's path of its group.
    proc.write_text("0::/host/path\n")
    group(root, ".", "700")
    assert 700 == machine_memory()
    monkeypatch.setattr(memory, "_physical_memory", lambda: None)
    proc.unlink()
    assert machine_memory() is None


def test_a_limit_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of address space and data count; unlimited ones are ignored."""
    resource = pytest.importorskip("resource")
    limits = {resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_DATA: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits[kind], resource.RLIM_INFINITY))
    before = machine_memory()
    assert before is not None
    limits[resource.RLIMIT_DATA] = before // 2
    assert before // 2 == machine_memory()
    limits[resource.RLIMIT_AS] = before // 4
    assert before // 4 == machine_memory()


def test_an_option_is_bytes_or_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is the default share; without system information there is no bound."""
    monkeypatch.setattr(memory, "machine_memory", lambda: 1000)
    assert [7, 500, 1000, 250] == [memory_budget(option, 0.25) for option in (7, 0.5, 1.0, None)]
    monkeypatch.setattr(memory, "machine_memory", lambda: None)
    assert [7, None, None] == [memory_budget(option, 0.25) for option in (7, 0.5, None)]
    for wrong in (0, -1, 0.0, 1.5, True, "1G", float("nan")):
        with pytest.raises(ParameterError, match="share of memory"):
            memory_budget(wrong, 0.25)  # type: ignore[arg-type]


def test_an_index_stays_within_its_share_and_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small machine uses fewer bytes for equal results; the caller's limit takes precedence."""
    rng = np.random.default_rng(0)
    fps = rng.integers(0, 2**63, 200_000, dtype=np.uint64)
    queries = fps[:200] ^ np.uint64(0b1001)

    def made(limit: int | None = None) -> nk.HammingIndex:
        index = nk.HammingIndex(radius=6, memory_limit=limit)
        index.add(None, fps)
        index.search(queries, 6)
        return index

    large = made()
    hits = large.search(queries, 6)
    share = large.nbytes // 2
    monkeypatch.setattr(memory, "machine_memory", lambda: 4 * share)
    small = made()
    assert small.nbytes <= share < large.nbytes
    result = small.search(queries, 6)
    for first, two in zip(
        (hits.offsets, hits.ids, hits.distances), (result.offsets, result.ids, result.distances), strict=True
    ):
        assert np.array_equal(first, two)
    assert large.nbytes == made(1 << 40).nbytes or made(1 << 40).nbytes > share
    small.save(tmp_path / "index.nks")
    assert nk.HammingIndex.open(tmp_path / "index.nks").memory_limit is None
