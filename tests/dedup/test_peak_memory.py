"""nearkin.dedup.summary: peak memory on every system, in bytes."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from nearkin.dedup.summary import peak_memory_bytes


def test_the_peak_includes_freed_memory() -> None:
    """A block of 64 MiB that was written to is in the peak, also after it is freed."""
    block = bytearray(64 << 20)
    block[::4096] = b"x" * len(block[::4096])
    during = peak_memory_bytes()
    del block
    after = peak_memory_bytes()
    assert during is not None
    assert after is not None
    assert 64 << 20 < during <= after < 1 << 40


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", 5 << 10),
        ("freebsd14", 5 << 10),
        ("openbsd7", 5 << 10),
        ("darwin", 5),
        ("sunos5", None),
        ("wasi", None),
    ],
)
def test_each_system_counts_in_its_unit(monkeypatch: pytest.MonkeyPatch, platform: str, expected: int | None) -> None:
    """`ru_maxrss` is in kibibytes or in bytes; on a system with an unknown unit the peak is None."""
    usage = SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda who: SimpleNamespace(ru_maxrss=5))
    monkeypatch.setitem(sys.modules, "resource", usage)
    monkeypatch.setattr(sys, "platform", platform)
    assert expected == peak_memory_bytes()


def test_without_the_module_resource_the_peak_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """None, not an error."""
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_memory_bytes() is None


class Kernel32:
    """The result of `ctypes.WinDLL("kernel32")`, as far as the test needs it."""

    class Function:
        """A function of a DLL, which has attributes for its types."""

        def __init__(self, call: Any) -> None:
            self.call = call

        def __call__(self, *arguments: Any) -> Any:
            """Call the function."""
            return self.call(*arguments)

    def __init__(self, succeeds: bool) -> None:
        self.succeeds = succeeds
        self.GetCurrentProcess = self.Function(lambda: 0xFFFF_FFFF_FFFF_FFFF)
        self.K32GetProcessMemoryInfo = self.Function(self.fill_counters)

    def fill_counters(self, process: int, counters: Any, size: int) -> int:
        """Fill the structure that is passed by reference."""
        assert 0xFFFF_FFFF_FFFF_FFFF == process
        # Two DWORDs and eight SIZE_Ts.
        assert 8 + 8 * ctypes.sizeof(ctypes.c_size_t) == size == counters._obj.cb
        counters._obj.PeakWorkingSetSize = 3 << 32
        return int(self.succeeds)


@pytest.mark.parametrize(("succeeds", "expected"), [(True, 3 << 32), (False, None)])
def test_windows_reports_its_largest_working_set(
    monkeypatch: pytest.MonkeyPatch, succeeds: bool, expected: int | None
) -> None:
    """In bytes, beyond 32 bits; None if the system refuses."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "WinDLL", lambda name: {"kernel32": Kernel32(succeeds)}[name], raising=False)
    assert expected == peak_memory_bytes()


def test_the_package_imports_without_the_modules_of_posix() -> None:
    """`resource` and `fcntl` are imported on first use, so the package can be imported on systems without them."""
    code = "import sys; sys.modules['resource'] = sys.modules['fcntl'] = None; import nearkin, nearkin.cli.app"
    actual = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (0, "") == (actual.returncode, actual.stderr)
