"""The folder of a store: on a local file system, and created atomically."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nearkin.errors import bad_parameter, check_name
from nearkin.io.atomic_write import StagedOutput, recover, remove_abandoned, sync_folder

SEGMENT_FOLDER = "segments"
"""The folder of segments in a store."""
LOST_FOLDER = "lost"
"""The folder of segments that no list names, and of records of missing commits."""
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre"})
_NETWORK_FUSE = frozenset({"fuse.sshfs", "fuse.s3fs"})
_MOUNTS = Path("/proc/self/mounts")


def check_local_fs(folder: Path) -> None:
    """Refuse a folder on a network file system, whose locks, memory maps and syncs guarantee too little.

    Only Linux reports the type of a file system.

    Raises
    ------
    InputError
        The name has a NUL byte or a lone surrogate.
    ParameterError
        The folder is on a network file system.
    """
    check_name(folder)
    kind = file_system_type(folder)
    if kind in _NETWORK | _NETWORK_FUSE:
        raise bad_parameter("path", str(folder), f"a local disk: file locks and maps are not safe on {kind}")


def file_system_type(folder: Path, mounts: Path = _MOUNTS) -> str | None:
    """Return the type of the file system of a folder, or None if the system does not report it."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return None
    real = folder.resolve()
    depth, kind = -1, None
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
        if (real == point or point in real.parents) and len(point.parts) > depth:
            depth, kind = len(point.parts), fields[2]
    return kind


@contextmanager
def new_store_folder(target: Path) -> Iterator[Path]:
    """Yield a hidden folder to write a store into, and rename it to `target` at the end.

    An error leaves nothing behind.

    Raises
    ------
    FileExistsError
        The target exists, or another process creates it first.
    ParameterError
        The target is on a network file system.
    """
    check_local_fs(target)
    recover(target)
    remove_abandoned(target.parent)
    if target.exists() or target.is_symlink():
        raise FileExistsError(f"{target}: exists already; give another path, or open the store that is there")
    staged = StagedOutput(target)
    staged.begin()
    try:
        folder = staged.new
        folder.mkdir()
        (folder / SEGMENT_FOLDER).mkdir()
        yield folder
        sync_folder(folder / SEGMENT_FOLDER)
        sync_folder(folder)
        staged.commit_new_folder()
        sync_folder(target.parent)
    finally:
        staged.end()
