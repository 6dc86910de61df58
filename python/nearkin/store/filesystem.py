"""Where a store may lie: a local file system, since locks, memory maps and syncs promise nothing on others."""

from __future__ import annotations

from pathlib import Path

from nearkin.errors import bad_parameter, check_name

_NETWORK = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "glusterfs",
    "lustre",
    "fuse.sshfs",
    "fuse.s3fs",
}
_MOUNTS = Path("/proc/self/mounts")


def check_place(folder: Path) -> None:
    """Refuse a folder of a network file system, where the system tells (Linux).

    Raises
    ------
    InputError
        The name has a NUL byte.
    ParameterError
        It lies on one.
    """
    check_name(folder)
    kind = file_system_of(folder)
    if kind in _NETWORK:
        raise bad_parameter("path", str(folder), f"a local disk: file locks and maps are not safe on {kind}")


def file_system_of(folder: Path, mounts: Path = _MOUNTS) -> str | None:
    """The kind of file system that holds a folder, None where the system does not tell."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    real = folder.resolve()
    best, kind = -1, None
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
        if (real == point or point in real.parents) and len(point.parts) > best:
            best, kind = len(point.parts), fields[2]
    return kind
