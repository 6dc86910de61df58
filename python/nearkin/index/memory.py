"""How much memory the machine has, and what share of it a collection takes when nobody says how much it may.

| system | asked |
|---|---|
| any with `sysconf` | pages of physical memory |
| Linux | also `memory.max` (cgroup 2) or `memory.limit_in_bytes` (cgroup 1) of the process's group and those above it |
| Unix | `RLIMIT_AS` and `RLIMIT_DATA` of the process (`ulimit -v`, `ulimit -d`) |
| Windows | `GlobalMemoryStatusEx` |

The least of these counts. It decides how much is held at a time, never what is found.

Sources: sysconf(3); getrlimit(2); the Linux kernel's documentation of control groups; MEMORYSTATUSEX in sysinfoapi.h.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from nearkin.errors import bad_parameter

INDEX_SHARE = 0.25
"""Share of the machine's memory that an index takes at most without a limit of its caller's."""
_PROC, _CGROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def machine_memory() -> int | None:
    """Bytes of memory that this process may use; None where the system does not tell.

    Examples
    --------
    >>> from nearkin.index.memory import machine_memory
    >>> machine_memory() > 1 << 20
    True
    """
    limits = (_physical(), *_group_limits(_PROC, _CGROUPS), *_process_limits())
    found = [size for size in limits if size is not None and size > 0]
    return min(found, default=None)


def share_of_memory(memory: float | None, default: float, name: str = "memory") -> int | None:
    """Bytes for an option that is a number of bytes or a share of the machine's memory.

    Parameters
    ----------
    memory : int, float or None
        An int is bytes, 1 or more; a float is a share, above 0 and up to 1; None is the default share.
    default : float
    name : str
        What a message calls the option.

    Returns
    -------
    int or None
        None where a share was asked for and the system does not tell its memory.

    Raises
    ------
    ParameterError
        Anything else.
    """
    given: Any = memory
    if isinstance(given, int) and not isinstance(given, bool) and 1 <= given < 1 << 63:
        return given
    if given is not None and not (isinstance(given, float) and 0 < given <= 1):
        raise bad_parameter(name, repr(memory), "bytes, a whole number from 1; or a share of memory, above 0 to 1.0")
    whole = machine_memory()
    return None if whole is None else max(int(whole * (default if memory is None else memory)), 1)


def _physical() -> int | None:
    if sys.platform == "win32":
        return _windows_memory()
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _process_limits() -> Iterator[int]:
    """Limits of this process."""
    try:
        import resource
    except ImportError:
        return
    for kind in ("RLIMIT_AS", "RLIMIT_DATA"):
        limit = resource.getrlimit(getattr(resource, kind))[0] if hasattr(resource, kind) else resource.RLIM_INFINITY
        if limit != resource.RLIM_INFINITY:
            yield limit


def _group_limits(groups: Path, root: Path) -> Iterator[int]:
    """Limits of the control groups that the process is in, from its own up to the root."""
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0":
            base, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            base, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        # Within a container the group's path may be that of the host: then its own limit is at the root.
        inner = base / path.strip("/")
        for folder in (inner, *inner.parents):
            limit = _number(folder / name)
            if limit is not None:
                yield limit
            if folder == base:
                break


def _number(path: Path) -> int | None:
    """The number in a file; None for "max", and where there is none."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX; DWORD is `c_uint32`, DWORDLONG is `c_uint64`."""

    _fields_: ClassVar = [
        ("dwLength", ctypes.c_uint32),
        ("dwMemoryLoad", ctypes.c_uint32),
        ("ullTotalPhys", ctypes.c_uint64),
        ("ullAvailPhys", ctypes.c_uint64),
        ("ullTotalPageFile", ctypes.c_uint64),
        ("ullAvailPageFile", ctypes.c_uint64),
        ("ullTotalVirtual", ctypes.c_uint64),
        ("ullAvailVirtual", ctypes.c_uint64),
        ("ullAvailExtendedVirtual", ctypes.c_uint64),
    ]


def _windows_memory() -> int | None:
    # WinDLL exists on Windows only.
    kernel = getattr(ctypes, "WinDLL")("kernel32")  # noqa: B009 - mypy knows the attribute on Windows alone
    status = _MemoryStatus(dwLength=ctypes.sizeof(_MemoryStatus))
    if not kernel.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(status.ullTotalPhys)
