"""The most memory that this process has held at once, as its operating system counts it.

| system | asked | unit |
|---|---|---|
| Linux, FreeBSD, NetBSD, OpenBSD | `getrusage`, `ru_maxrss` | 1,024 bytes |
| macOS | `getrusage`, `ru_maxrss` | bytes |
| Windows | `GetProcessMemoryInfo`, `PeakWorkingSetSize` | bytes |

It is the largest resident set: pages of mapped files count while they are in memory, what is swapped out does not.
Elsewhere, and where a system refuses the call, the answer is None.

Sources: getrusage(2) of Linux, macOS and the BSDs; PROCESS_MEMORY_COUNTERS in psapi.h of the Windows SDK.
"""

from __future__ import annotations

import ctypes
import sys
from typing import ClassVar

__all__ = ["peak_memory_bytes"]

_UNITS = {"linux": 1024, "freebsd": 1024, "netbsd": 1024, "openbsd": 1024, "darwin": 1}
"""Bytes of one `ru_maxrss`, by the beginning of `sys.platform`, which may end in a version (freebsd14)."""


def peak_memory_bytes() -> int | None:
    """The largest resident set of this process so far, in bytes; None where that is not known.

    Examples
    --------
    >>> from nearkin.dedup.memory import peak_memory_bytes
    >>> peak_memory_bytes() > 1_000_000
    True
    """
    if sys.platform == "win32":
        return _windows_peak()
    unit = next((unit for name, unit in _UNITS.items() if sys.platform.startswith(name)), None)
    return None if unit is None else _rusage_peak(unit)


def _rusage_peak(unit: int) -> int | None:
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class _MemoryCounters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS; DWORD is `c_uint32`, SIZE_T is `c_size_t`."""

    _fields_: ClassVar = [
        ("cb", ctypes.c_uint32),
        ("PageFaultCount", ctypes.c_uint32),
        ("PeakWorkingSetSize", ctypes.c_size_t),
        ("WorkingSetSize", ctypes.c_size_t),
        ("QuotaPeakPagedPoolUsage", ctypes.c_size_t),
        ("QuotaPagedPoolUsage", ctypes.c_size_t),
        ("QuotaPeakNonPagedPoolUsage", ctypes.c_size_t),
        ("QuotaNonPagedPoolUsage", ctypes.c_size_t),
        ("PagefileUsage", ctypes.c_size_t),
        ("PeakPagefileUsage", ctypes.c_size_t),
    ]


def _windows_peak() -> int | None:
    # WinDLL exists on Windows only; kernel32 has had this function under the name K32... since Windows 7.
    kernel = getattr(ctypes, "WinDLL")("kernel32")  # noqa: B009 - mypy knows the attribute on Windows alone
    current, told = kernel.GetCurrentProcess, kernel.K32GetProcessMemoryInfo
    # A handle is as wide as a pointer; ctypes takes a result for a C int unless told.
    current.restype = ctypes.c_void_p
    told.argtypes = [ctypes.c_void_p, ctypes.POINTER(_MemoryCounters), ctypes.c_uint32]
    told.restype = ctypes.c_int
    counters = _MemoryCounters(cb=ctypes.sizeof(_MemoryCounters))
    if not told(current(), ctypes.byref(counters), counters.cb):
        return None
    return int(counters.PeakWorkingSetSize)
