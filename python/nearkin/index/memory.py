"""Memory of the machine, and the share of it that a collection uses by default.

| system | source |
|---|---|
| any with `sysconf` | pages of physical memory |
| Linux | also `memory.max` (cgroup 2) or `memory.limit_in_bytes` (cgroup 1) of the process's group and its ancestors |
| Unix | `RLIMIT_AS` and `RLIMIT_DATA` of the process (`ulimit -v`, `ulimit -d`) |
| Windows | `GlobalMemoryStatusEx` |

The smallest limit applies. It decides how much data is in memory at a time; it never changes results.

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
"""Maximum share of the machine's memory that an index takes without an explicit limit."""
_PROC, _CGROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def machine_memory() -> int | None:
    """Return the bytes of memory that this process may use; None if the system does not report them.

    Examples
    --------
    >>> from nearkin.index.memory import machine_memory
    >>> machine_memory() > 1 << 20
    True
    """
    limits = (_physical_memory(), *_cgroup_limits(_PROC, _CGROUPS), *_process_limits())
    return min((size for size in limits if size is not None and size > 0), default=None)


def memory_budget(memory: float | None, default: float, name: str = "memory") -> int | None:
    """Return the bytes for an option that is a number of bytes or a share of the machine's memory.

    Parameters
    ----------
    memory : int, float or None
        An int is a number of bytes, 1 or more; a float is a share, above 0 and up to 1; None is the default share.
    default : float
        The default share.
    name : str
        Name of the option in error messages.

    Returns
    -------
    int or None
        None for a share if the system does not report its memory.

    Raises
    ------
    ParameterError
        Any other value.
    """
    value: Any = memory
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1 << 63:
        return value
    if value is not None and not (isinstance(value, float) and 0 < value <= 1):
        raise bad_parameter(name, repr(memory), "bytes, a whole number from 1; or a share of memory, above 0 to 1.0")
    total = machine_memory()
    return None if total is None else max(int(total * (default if memory is None else memory)), 1)


def _physical_memory() -> int | None:
    if sys.platform == "win32":
        return _windows_memory()
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def _process_limits() -> Iterator[int]:
    """Yield the resource limits of this process."""
    try:
        import resource
    except ImportError:
        return
    for kind in ("RLIMIT_AS", "RLIMIT_DATA"):
        limit = resource.getrlimit(getattr(resource, kind))[0] if hasattr(resource, kind) else resource.RLIM_INFINITY
        if limit != resource.RLIM_INFINITY:
            yield limit


def _cgroup_limits(groups: Path, root: Path) -> Iterator[int]:
    """Yield the limits of the control groups of the process, from its own group up to the root."""
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
        # In a container the path may be that of the host; then the container's own limit is at the root.
        group = base / path.strip("/")
        for folder in (group, *group.parents):
            limit = _read_number(folder / name)
            if limit is not None:
                yield limit
            if folder == base:
                break


def _read_number(path: Path) -> int | None:
    """Return the number in a file; None for "max" or a missing file."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX; DWORD is `c_uint32`, DWORDLONG is `c_uint64`."""

    _fields_: ClassVar = [
        *((name, ctypes.c_uint32) for name in ("dwLength", "dwMemoryLoad")),
        *(
            (f"ull{kind}{name}", ctypes.c_uint64)
            for name in ("Phys", "PageFile", "Virtual")
            for kind in ("Total", "Avail")
        ),
        ("ullAvailExtendedVirtual", ctypes.c_uint64),
    ]


def _windows_memory() -> int | None:
    # WinDLL exists on Windows only.
    kernel = getattr(ctypes, "WinDLL")("kernel32")  # noqa: B009 - mypy knows the attribute on Windows alone
    status = _MemoryStatus(dwLength=ctypes.sizeof(_MemoryStatus))
    if not kernel.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(status.ullTotalPhys)
