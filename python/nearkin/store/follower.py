"""Followers: sealed segments of a store, shipped to another place and queried there, read-only.

`ship` copies what is missing: first the segments, then a log without pending documents, under a name of its own, and
last `manifest.json`, which names them all. A reader of the manifest therefore finds a complete store, whatever ends a
shipment. Files that the manifest no longer names are removed after it. The place is a folder or a URL of fsspec; one
process ships to a place at a time.

The lag of a follower is the number of documents that were pending in the store, and the time since the shipment.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from nearkin.errors import CorruptStoreError, InputError, check_name
from nearkin.index.ids import Ids
from nearkin.io import remote
from nearkin.io.output import replace_file
from nearkin.progress import ShowProgress, megabyte_ticker, reporting
from nearkin.store.commits import CommitFile, CommitMark
from nearkin.store.filesystem import SEGMENT_FOLDER
from nearkin.store.kinds.base import Kind
from nearkin.store.kinds.vectors import FAMILY_FILE
from nearkin.store.log import LOG_NAME, Log
from nearkin.store.results import CheckResult, StoredDocument, StoreStats
from nearkin.store.segment import segment_paths
from nearkin.store.store import Items, Store

if TYPE_CHECKING:
    from typing_extensions import Self

MANIFEST_NAME = "manifest.json"
_MAX_RETRIES = 10
"""Times the manifest is read again because a shipment has removed a file that it named."""


@dataclass(frozen=True)
class Manifest:
    """Content of `manifest.json`.

    Attributes
    ----------
    log : str
        Name of the log.
    files : list of str
        Names of all other files.
    time : float
        When it was shipped, in Unix seconds.
    documents, pending : int
        Documents of the shipment, and those of the store that it does not have.
    stamps : dict of str to list of int
        Bytes of each of `files`, and its time of change in nanoseconds in the store: a repair writes a file again.
    """

    log: str
    files: list[str]
    time: float
    documents: int
    pending: int
    stamps: dict[str, list[int]] = field(default_factory=dict)

    def has_same(self, other: Manifest | None, name: str) -> bool:
        """Return True if both shipments have the same version of a file."""
        return other is not None and name in self.stamps and self.stamps[name] == other.stamps.get(name)

    @classmethod
    def read(cls, place: _Place) -> Manifest | None:
        """Read the manifest of a place; None if nothing was shipped there.

        Raises
        ------
        CorruptStoreError
            It cannot be parsed.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / MANIFEST_NAME
            try:
                place.get(MANIFEST_NAME, path)
            except FileNotFoundError:
                return None
            try:
                return cls(**json.loads(path.read_bytes()))
            except (ValueError, TypeError) as error:
                reason = f"is not a manifest ({error}); ship the store again"
                name = f"{place.name}/{MANIFEST_NAME}"
                raise CorruptStoreError(f"{name}: {reason}", place=name, reason=reason) from None


class _Place:
    """A folder, or a URL of fsspec, that holds shipped files by name."""

    def __init__(self, name: str) -> None:
        self._root = name.rstrip("/")
        # For messages.
        self.name = remote.short_url(self._root)
        self._is_remote = remote.is_url(name)
        if not self._is_remote:
            check_name(name)

    def put(self, path: Path, name: str) -> None:
        """Copy a local file to a name, atomically and synced where it is a folder."""
        if self._is_remote:
            remote.upload(path, f"{self._root}/{name}")
            return
        target = Path(self._root) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as source, replace_file(target) as copy:
            shutil.copyfileobj(source, copy, 1 << 20)

    def get(self, name: str, path: Path) -> None:
        """Copy the file of a name to a local file; raise FileNotFoundError if there is none."""
        if self._is_remote:
            remote.download(f"{self.name}/{name}", path)
        else:
            shutil.copyfile(Path(self._root) / name, path)

    def delete(self, name: str) -> None:
        """Delete the file of a name, if there is one."""
        if self._is_remote:
            remote.delete(f"{self._root}/{name}")
        else:
            (Path(self._root) / name).unlink(missing_ok=True)


def ship(path: str | Path, target: str | Path, *, progress: ShowProgress = None) -> Manifest:
    """Ship the sealed segments of a store to a folder or a URL of fsspec, and return the manifest.

    Files that are there are copied again only if a repair has rewritten them. Pending documents are not shipped; a
    merge seals them.

    Parameters
    ----------
    path : str or Path
        Folder of the store, which others may use meanwhile.
    target : str or Path
        The place, for this store alone. It is created if it does not exist.
    progress : bool or function, optional
        True shows bars in a terminal or a notebook; a function is called with stage, done and total.

    Raises
    ------
    OutputError, OSError
        A file cannot be written. The manifest that was there remains valid.
    """
    folder, place = Path(path).absolute(), _Place(str(target))
    old = Manifest.read(place)
    there: set[str] = set()
    with reporting(progress) as report, tempfile.TemporaryDirectory() as temporary:
        for attempt in range(_MAX_RETRIES):
            (Path(temporary) / LOG_NAME).unlink(missing_ok=True)
            manifest = _sealed_log(folder, Path(temporary))
            try:
                for name in manifest.files:
                    status = (folder / name).stat()
                    manifest.stamps[name] = [status.st_size, status.st_mtime_ns]
                there |= {name for name in manifest.files if manifest.has_same(old, name)}
                paths = [folder / name for name in manifest.files if name not in there]
                tick = megabyte_ticker(report, "ship", sum(each.stat().st_size for each in paths))
                for each in paths:
                    name = each.relative_to(folder).as_posix()
                    place.put(each, name)
                    there.add(name)
                    tick(each.stat().st_size)
            except FileNotFoundError:
                # A merge has removed a segment since the log was copied.
                if attempt + 1 == _MAX_RETRIES:
                    raise
                continue
            break
        if old is None or old.log != manifest.log:
            place.put(Path(temporary) / LOG_NAME, manifest.log)
        (Path(temporary) / MANIFEST_NAME).write_text(json.dumps(asdict(manifest)), encoding="utf-8")
        place.put(Path(temporary) / MANIFEST_NAME, MANIFEST_NAME)
    names = set() if old is None else {*old.files, old.log}
    for name in sorted((names | there) - {*manifest.files, manifest.log}):
        place.delete(name)
    return manifest


def _sealed_log(folder: Path, temporary: Path) -> Manifest:
    """Copy the log without pending documents, and return the manifest that names it."""
    now = time.time()
    with closing(Log(folder, "r")) as log, log.reading():
        log.copy_to(temporary)
    with closing(Log(temporary)) as log, log.writing():
        state, entries = log.state(), log.segments()
        last = max((entry.last for entry in entries), default=-1)
        dropped = [row for _, row in log.tombstones() if row > last]
        log.delete_documents(state.next_row)
        log.drop_tombstones(dropped)
        log.drop_outputs([target for target, _ in log.outputs()])
        log.set_state(state, pending=0, next_row=last + 1)
        documents = sum(entry.documents for entry in entries) - len(log.tombstones())
        name = f"log-{state.generation:x}-{log.last_tombstone():x}.sqlite"
    files = [each.relative_to(folder).as_posix() for entry in entries for each in segment_paths(folder, entry.name)]
    files += [FAMILY_FILE] if (folder / FAMILY_FILE).exists() else []
    return Manifest(name, files, now, documents, state.pending - len(dropped))


def is_place(path: str | Path) -> bool:
    """Return True for a folder to which a store was shipped, and for every URL."""
    if remote.is_url(str(path)):
        return True
    check_name(path)
    return (Path(path) / MANIFEST_NAME).is_file() and not (Path(path) / LOG_NAME).exists()


class Follower:
    """A shipped store, open for reading.

    Files are copied into a temporary folder of this process, so that shipments may replace them; `refresh` copies what
    is new.

    Parameters
    ----------
    place : str or Path
        The folder or URL that `ship` wrote.
    memory : int or float, optional
        As for `Store.open`.

    Raises
    ------
    InputError
        Nothing was shipped there.
    """

    def __init__(self, place: str | Path, *, memory: float | None = None) -> None:
        self._place, self._memory = _Place(str(place)), memory
        self._cache = tempfile.TemporaryDirectory(prefix="nearkin-follower-", ignore_cleanup_errors=True)
        self._store: Store | None = None
        self._manifest: Manifest | None = None
        self._generation = 0
        try:
            self.refresh()
        except BaseException:
            self._cache.cleanup()
            raise

    def refresh(self) -> bool:
        """Open the last shipment; return True if it is another one than before.

        Raises
        ------
        InputError
            Nothing was shipped there, or it cannot be read. The follower keeps what it has.
        """
        fetched = self.fetch()
        if fetched is not None:
            self.switch(*fetched)
        return fetched is not None

    def fetch(self) -> tuple[Store, Manifest] | None:
        """Copy and open the last shipment for `switch`, while others use this one; None if it is the same.

        Raises
        ------
        InputError
            As for `refresh`.
        """
        for attempt in range(_MAX_RETRIES):
            manifest = Manifest.read(self._place)
            if manifest is None:
                reason = "nothing was shipped here; run `nearkin store ship` first"
                raise InputError(f"{self._place.name}: {reason}", place=self._place.name, reason=reason)
            if manifest == self._manifest:
                return None
            try:
                return self._open(manifest), manifest
            except FileNotFoundError:
                # A shipment has removed a file since the manifest was read.
                if attempt + 1 == _MAX_RETRIES:
                    raise
        return None

    def switch(self, store: Store, manifest: Manifest) -> None:
        """Use a shipment that `fetch` has opened, and close the one before."""
        old, self._store, self._manifest = self._store, store, manifest
        if old is not None:
            old.close()
            shutil.rmtree(old.path, ignore_errors=True)

    def _open(self, manifest: Manifest) -> Store:
        """Copy the files of a shipment that are new, and open it."""
        self._generation += 1
        folder = Path(self._cache.name) / str(self._generation)
        (folder / SEGMENT_FOLDER).mkdir(parents=True)
        try:
            for name in manifest.files:
                if self._store is not None and manifest.has_same(self._manifest, name):
                    (folder / name).hardlink_to(self._store.path / name)
                else:
                    self._place.get(name, folder / name)
            self._place.get(manifest.log, folder / LOG_NAME)
            with closing(Log(folder, "r")) as log, log.reading():
                state = log.state()
            CommitFile.create(folder, CommitMark(state.sequence, state.next_row, state.removals))
            return Store.open(folder, "r", memory=self._memory)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    @property
    def store(self) -> Store:
        """The last shipment, as a store that is open for reading; `refresh` closes it."""
        if self._store is None:
            raise InputError(f"{self._place.name}: the follower is closed", place=self._place.name, reason="closed")
        return self._store

    @property
    def lag(self) -> dict[str, float]:
        """Seconds since the shipment, and documents that the store had and the shipment did not."""
        if self._manifest is None:
            return {}
        return {"seconds": max(time.time() - self._manifest.time, 0.0), "documents": self._manifest.pending}

    def __len__(self) -> int:
        """Return the number of documents of the shipment."""
        return len(self.store)

    def check(
        self, texts: Items, *, k: int | None = None, kind: Kind | None = None, progress: ShowProgress = None
    ) -> CheckResult:
        """Compare documents with the shipment, as `Store.check` does."""
        return self.store.check(texts, k=k, kind=kind, progress=progress)

    def get(self, ids: Ids, *, missing_ok: bool = False) -> list[StoredDocument | None]:
        """Return documents, as `Store.get` does."""
        return self.store.get(ids, missing_ok=missing_ok)

    def stats(self) -> StoreStats:
        """Return counts, sizes, settings and the lag."""
        return replace(self.store.stats(), lag=self.lag)

    def close(self) -> None:
        """Close the follower, and remove its copies."""
        if self._store is not None:
            self._store.close()
            self._store = None
        with suppress(OSError):
            self._cache.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
