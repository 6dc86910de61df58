"""nearkin.dedup.summary: every system's answer in bytes."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from nearkin.dedup.summary import peak_memory_bytes


def test_the_peak_holds_what_was_held() -> None:
    """A block of 64 MiB that was written to is in the peak, and stays there after it is freed."""
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
    """`ru_maxrss` is in kibibytes or in bytes; a system whose unit is not known gives None."""
    usage = SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda who: SimpleNamespace(ru_maxrss=5))
    monkeypatch.setitem(sys.modules, "resource", usage)
    monkeypatch.setattr(sys, "platform", platform)
    assert expected == peak_memory_bytes()


def test_without_the_module_resource_the_peak_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """None, not an error."""
    monkeypatch.setitem(sys.modules, "resource", None)
    assert peak_memory_bytes() is None


class Kernel32:
    """What `ctypes.WinDLL("kernel32")` gives, as far as it is asked."""

    class Function:
        """A function of a DLL, whose types are set on it."""

        def __init__(self, call: Any) -> None:
            self.call = call

        def __call__(self, *arguments: Any) -> Any:
            """As the DLL does."""
            return self.call(*arguments)

    def __init__(self, succeeds: bool) -> None:
        self.succeeds = succeeds
        self.GetCurrentProcess = self.Function(lambda: 0xFFFF_FFFF_FFFF_FFFF)
        self.K32GetProcessMemoryInfo = self.Function(self.told)

    def told(self, process: int, counters: Any, size: int) -> int:
        """Fill the structure that is passed by reference."""
        assert 0xFFFF_FFFF_FFFF_FFFF == process
        # Two DWORDs and eight SIZE_Ts.
        assert 8 + 8 * ctypes.sizeof(ctypes.c_size_t) == size == counters._obj.cb
        counters._obj.PeakWorkingSetSize = 3 << 32
        return int(self.succeeds)


@pytest.mark.parametrize(("succeeds", "expected"), [(True, 3 << 32), (False, None)])
def test_windows_tells_its_largest_working_set(
    monkeypatch: pytest.MonkeyPatch, succeeds: bool, expected: int | None
) -> None:
    """In bytes, beyond 32 bits; None if the system refuses."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "WinDLL", lambda name: {"kernel32": Kernel32(succeeds)}[name], raising=False)
    assert expected == peak_memory_bytes()


def test_the_package_imports_without_the_modules_of_posix() -> None:
    """`resource` and `fcntl` are asked for where they are used, so that a system without them can import everything."""
    code = "import sys; sys.modules['resource'] = sys.modules['fcntl'] = None; import nearkin, nearkin.cli.app"
    actual = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (0, "") == (actual.returncode, actual.stderr)
