"""Checkpoints of a deduplication on one machine: results of its stages in a folder, from which a failed run continues.

| file | content |
|---|---|
| `checkpoint.json` | options that decide the result, inputs with sizes and modification times, version of nearkin |
| `documents-ROW`, `older-ROW` | hashed documents from this row on: values, feature counts, content hashes, lengths |
| `decisions-POSITION` | decisions about distinct documents from this position in keep order on, and the counts so far |
| `links-PAIR`, `heads-PAIR` | similarities of pairs from this one on |
| `lock` | locked (`nearkin.io.locks`) by the process that uses the folder |

A run saves what is new about every `SAVE_SECONDS`, so a kill costs no more than that and the time to read the inputs.
A file appears complete and synced, or not at all (`nearkin.io.replace_file`), and starts with the XXH3 of its content.
What lies in one file therefore depends on time; what the files say together does not, nor does the result.

A resumed run reads its inputs again, because positions, ids and columns are not saved. It takes over the values of
texts with the content that was hashed, so texts in memory and pipes are checked as well as files are. Decisions carry a
digest of the documents, their order and the labels they rest on. Other options, inputs or contents raise an error.

The files are for the version of nearkin that wrote them.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from ast import literal_eval
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import accumulate, pairwise, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import descr_to_dtype, dtype_to_descr
from numpy.typing import NDArray

from nearkin._core import __version__, byte_hashes
from nearkin.errors import MismatchError, StoreLockedError, bad_parameter, check_name, damaged, warn_caller
from nearkin.io import Corpus, replace_file
from nearkin.io.atomic_write import output_error, recover, sync_folder
from nearkin.io.locks import acquire_or_none
from nearkin.io.remote import is_url, short_url
from nearkin.progress import Progress

SAVE_SECONDS = 10.0
"""Seconds of work between two files."""
_SAVE_BYTES = 1 << 26
"""Bytes of hashed documents that wait for the next file."""
_MANIFEST, _LOCK = "checkpoint.json", "lock"
_OWN = re.compile(r"checkpoint\.json|lock|(documents|older|decisions|links|heads)-\d{15}")
_HIDDEN = re.compile(r"\.(.*)\.nearkin-[0-9a-f]{16}")
"""Folder of a file that a killed process was writing."""
_DIGEST_BYTES = 16
_FREE = ("checkpoint", "links", "near_misses", "kind", "kind_set", "shrink_to")
"""Options of a config that change neither hashes nor decisions."""

Arrays = dict[str, NDArray[Any]]


class JobCheckpoint:
    """An open, locked folder of results; created by `open_checkpoint`.

    Attributes
    ----------
    resumed : dict of str to int
        Numbers of documents that were taken over: `hashed` and `decided`.
    warnings : list of str
        About damaged files.
    """

    def __init__(self, path: str, folder: Path, report: Progress) -> None:
        self.resumed: dict[str, int] = {}
        self.warnings: list[str] = []
        self._path, self._folder, self._report = path, folder, report

    def check_job(self, job: Mapping[str, Any], *, created: bool) -> None:
        """Write the manifest of a new checkpoint; compare a job with that of an old one.

        Raises
        ------
        MismatchError
            Another job; the message names the first option or input that differs.
        CorruptStoreError
            The manifest can't be read, or is gone from a folder that has files of stages.
        """
        path = self._folder / _MANIFEST
        new = json.loads(json.dumps(job))
        try:
            old = json.loads(path.read_bytes())["job"]
        except FileNotFoundError:
            if files := sorted(each.name for each in self._folder.glob("*-*") if _OWN.fullmatch(each.name)):
                reason = (
                    f"it is gone, and nothing says of which job {files[0]} is; delete the folder, or give a new one"
                )
                raise damaged(path, reason) from None
            with replace_file(path) as file:
                file.write(json.dumps({"created": created, "job": new}, indent=1).encode())
            return
        except (ValueError, TypeError, KeyError):
            raise damaged(path, "it is no manifest of a checkpoint; delete the folder, or give a new one") from None
        if old != new:
            raise self.mismatch(_describe_difference(old, new))

    def mismatch(self, difference: str) -> MismatchError:
        """Return the error for the checkpoint of another job."""
        message = (
            f"checkpoint={self._path!r} has the stages of another job: {difference}; give that job's arguments and "
            "inputs again, delete the folder, or give a new one"
        )
        return MismatchError(message, what="checkpoint", left=self._path, right=difference)

    def take_over(self, what: str, count: int) -> None:
        """Count and report documents that an earlier run has hashed or decided."""
        self.resumed[what] = self.resumed.get(what, 0) + count
        self._report(f"resumed: {what}", self.resumed[what], None)

    def starts(self, kind: str) -> list[int]:
        """Return the first numbers of the files of a kind, ascending."""
        names = (path.name.rpartition("-") for path in self._folder.iterdir() if _OWN.fullmatch(path.name))
        return sorted(int(number) for found, _, number in names if found == kind)

    def save(self, kind: str, start: int, header: Mapping[str, Any], parts: Sequence[Arrays]) -> None:
        """Write the file of a kind that starts with this number; its arrays are those of the parts, concatenated.

        After a digest and a line of JSON with the types and lengths of the parts it has their bytes, as they are.
        """
        named = {name: [np.ascontiguousarray(part[name]) for part in parts] for name in parts[0]}
        layout = {
            name: [repr(dtype_to_descr(arrays[0].dtype)), arrays[0].shape[1:], [len(array) for array in arrays]]
            for name, arrays in named.items()
        }
        line = json.dumps({**header, "arrays": layout}).encode() + b"\n"
        blocks = [array.reshape(-1).view(np.uint8) for arrays in named.values() for array in arrays]
        with replace_file(self._folder / f"{kind}-{start:015}") as file:
            file.write(_digest_blocks(line, blocks))
            file.write(line)
            for block in blocks:
                file.write(block.data)

    def load(self, kind: str, start: int) -> tuple[dict[str, Any], Arrays] | None:
        """Return header and arrays of a file; None if it does not exist or, with a warning, if it is damaged."""
        path = self._folder / f"{kind}-{start:015}"
        try:
            with path.open("rb") as file:
                digest, line = file.read(_DIGEST_BYTES), file.readline()
                data = np.fromfile(file, np.uint8)
            return _parse(digest, line, data)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(path, error.strerror or str(error))
        except (ValueError, TypeError, KeyError, SyntaxError):
            self._warn(path, "its checksum differs")
        return None

    def _warn(self, path: Path, reason: str) -> None:
        message = f"checkpoint: {path} is damaged, {reason}; what it has is computed again"
        self.warnings.append(message)
        warn_caller(message)


@contextmanager
def open_checkpoint(
    path: str, job: Mapping[str, Any], inputs: Sequence[Path], report: Progress
) -> Iterator[JobCheckpoint]:
    """Open the checkpoint of a job, or create it, and lock it until the context ends.

    Parameters
    ----------
    path : str
        A folder of this machine.
    job : mapping
        By `describe_job`.
    inputs : sequence of Path
        Files and folders that are read.
    report : function
        For the numbers of documents that are taken over.

    Raises
    ------
    ParameterError
        A URL, a file, a folder with other files, or one inside an input folder.
    StoreLockedError
        Another process is using the folder.
    MismatchError, CorruptStoreError
        As for `JobCheckpoint.check_job`.
    OutputError
        The folder can't be written.
    """
    if is_url(path):
        raise bad_parameter("checkpoint", repr(short_url(path)), "a folder of this machine; with an engine also a URL")
    check_name(path)
    folder = Path(os.path.realpath(path))
    for each in map(Path, map(os.path.realpath, inputs)):
        if each.is_dir() and each in (folder, *folder.parents):
            raise bad_parameter("checkpoint", repr(path), f"a folder outside {each}, whose files are input")
    try:
        # A lock without a manifest is that of a run that ended before it began.
        created = not folder.exists() or (folder / _LOCK).exists()
        if folder.exists():
            _check_folder(path, folder)
        folder.mkdir(parents=True, exist_ok=True)
        sync_folder(folder.parent)
        lock = acquire_or_none(folder / _LOCK)
    except OSError as error:
        raise output_error(
            folder,
            "opening the checkpoint failed",
            error,
            "nothing was done; give a folder that can be written",
            in_place="old",
        ) from error
    if lock is None:
        message = f"checkpoint={path!r}: another process is using it; run again when it has ended, or give a new folder"
        raise StoreLockedError(message, place=path)
    try:
        checkpoint = JobCheckpoint(path, folder, report)
        checkpoint.check_job(job, created=created)
        yield checkpoint
    finally:
        lock.release()


def _check_folder(path: str, folder: Path) -> None:
    """Raise ParameterError for a file, or a folder that is neither empty nor a checkpoint."""
    if not folder.is_dir():
        raise bad_parameter("checkpoint", repr(short_url(path)), "a folder; this is a file")
    names = sorted(entry.name for entry in folder.iterdir())
    foreign = [name for name in names if not _OWN.fullmatch(name) and not _HIDDEN.fullmatch(name)]
    if foreign and _MANIFEST not in names:
        allowed = f"a folder that is empty or does not exist, or the checkpoint of this job; it contains {foreign[0]}"
        raise bad_parameter("checkpoint", repr(path), allowed)


def remove_checkpoint(path: str) -> bool:
    """Delete the files of a checkpoint that is not in use, and the folder if `open_checkpoint` created it.

    Files that are not its own stay, and so does the folder then. Return True if the files were deleted.
    """
    folder = Path(os.path.realpath(path))
    lock = acquire_or_none(folder / _LOCK)
    if lock is None:
        return False
    try:
        created = json.loads((folder / _MANIFEST).read_bytes())["created"]
        names = [entry.name for entry in folder.iterdir()]
        for match in filter(None, map(_HIDDEN.fullmatch, names)):
            recover(folder / match[1])
        # A kill leaves the manifest, so that the folder stays a checkpoint.
        for name in sorted(filter(_OWN.fullmatch, names), key=lambda name: (name == _MANIFEST, name)):
            if name != _LOCK:
                (folder / name).unlink()
        if sys.platform == "win32":
            # Windows cannot remove an open file.
            lock.release()
        (folder / _LOCK).unlink(missing_ok=True)
        if created and not any(folder.iterdir()):
            folder.rmdir()
    finally:
        lock.release()
    return True


class HashLog:
    """Hashed documents of one input by row: those of earlier runs, and those of this one that are saved.

    Parameters
    ----------
    checkpoint : JobCheckpoint
    kind : {"documents", "older"}
    """

    def __init__(self, checkpoint: JobCheckpoint, kind: str) -> None:
        self._checkpoint, self._kind = checkpoint, kind
        self._starts = checkpoint.starts(kind)
        self._loaded: tuple[int, Arrays | None] = (-1, None)
        self._new: list[Arrays] = []
        self._new_start = self._new_bytes = 0
        self._saved = time.monotonic()

    def take(self, start: int, contents: NDArray[np.uint64], lengths: NDArray[np.uint64]) -> Arrays | None:
        """Return the arrays of rows from `start` on, which have these contents and lengths; None if not all are saved.

        Raises
        ------
        MismatchError
            Other contents were hashed.
        """
        at = bisect_right(self._starts, start) - 1
        if at < 0:
            return None
        first = self._starts[at]
        if self._loaded[0] != first:
            unit = self._checkpoint.load(self._kind, first)
            self._loaded = first, None if unit is None else unit[1]
        saved, rows = self._loaded[1], slice(start - first, start - first + len(lengths))
        if saved is None or rows.stop > len(saved["lengths"]):
            return None
        same = (saved["contents"][rows] == contents).all(axis=1) & (saved["lengths"][rows] == lengths)
        if not same.all():
            row = start + int(np.argmin(same))
            raise self._checkpoint.mismatch(f"row {row:,} of the {self._kind} had another text")
        self.flush()
        self._checkpoint.take_over("hashed", len(lengths))
        return {name: array[rows] for name, array in saved.items()}

    def append(self, start: int, arrays: Arrays) -> None:
        """Add the arrays of rows from `start` on, which follow those of the last call or of `take`."""
        if not self._new:
            self._new_start, self._new_bytes = start, 0
        self._new.append(arrays)
        self._new_bytes += sum(array.nbytes for array in arrays.values())
        if self._new_bytes >= _SAVE_BYTES or time.monotonic() - self._saved >= SAVE_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Save the rows that are not saved yet."""
        if self._new:
            self._checkpoint.save(self._kind, self._new_start, {}, self._new)
            self._new, self._saved = [], time.monotonic()


class StageLog:
    """Results of a stage for consecutive items, in files of which each starts where the last one ends.

    Parameters
    ----------
    checkpoint : JobCheckpoint
    kind : {"decisions", "links", "heads"}
    key : str
        Digest of what the stage works on.
    """

    def __init__(self, checkpoint: JobCheckpoint, kind: str, key: str) -> None:
        self._checkpoint, self._kind, self._key = checkpoint, kind, key
        self._end = 0
        self._saved = time.monotonic()

    def restore(self) -> Iterator[tuple[slice, dict[str, int], Arrays]]:
        """Yield the saved results: the range of the items, counts, arrays.

        Raises
        ------
        MismatchError
            They are results about other documents.
        """
        while (unit := self._checkpoint.load(self._kind, self._end)) is not None:
            header, arrays = unit
            if header["key"] != self._key:
                raise self._checkpoint.mismatch("the texts, their ids, columns or labels differ")
            start, self._end = self._end, header["end"]
            if self._kind == "decisions":
                self._checkpoint.take_over("decided", self._end - start)
            yield slice(start, self._end), header["counts"], arrays

    def save(
        self, end: int, counts: Mapping[str, int], arrays: Callable[[slice], Arrays], *, last: bool = False
    ) -> None:
        """Save the results of the items up to `end` if they are the last, or enough time has passed since."""
        if end > self._end and (last or time.monotonic() - self._saved >= SAVE_SECONDS):
            header = {"key": self._key, "end": end, "counts": dict(counts)}
            self._checkpoint.save(self._kind, self._end, header, [arrays(slice(self._end, end))])
            self._end, self._saved = end, time.monotonic()


# Identity of a job


def describe_job(config: Any, texts: object, against: object) -> dict[str, Any]:
    """Return what decides the result of a job: options, and the identity of the inputs, as JSON has it.

    Parameters
    ----------
    config : DedupConfig
    texts, against : texts, Corpus, collection or None
        Open inputs.
    """
    options = {each.name: getattr(config, each.name) for each in fields(config) if each.init and each.name not in _FREE}
    return {
        "nearkin": __version__,
        **options,
        "recipe": str(config.recipe),
        "recipe_digest": config.recipe.digest,
        "inputs": _describe_inputs(texts),
        **_describe_format(texts),
        "against": None if against is None else _describe_inputs(against),
    }


def _describe_inputs(texts: object) -> list[list[Any]]:
    """Return name, size and modification time of each file; the name alone of what has none of these."""
    if not isinstance(texts, Corpus):
        return [["texts in memory" if texts is None or not hasattr(texts, "reference_corpus") else "a store"]]
    inputs: list[list[Any]] = []
    for path in texts.paths:
        status = path.stat()
        # A pipe has another name in each run.
        regular = path.is_file()
        inputs.append([os.path.realpath(path), status.st_size, status.st_mtime_ns] if regular else ["a pipe"])
    return [*inputs, *([short_url(url)] for url in texts.urls)] or [["standard input"]]


def _describe_format(texts: object) -> dict[str, Any]:
    names = ("format", "text_column", "id_column", "delimiter", "html")
    if not isinstance(texts, Corpus):
        return {}
    joined = {"joined_columns": list(texts.joined_columns)} if texts.joined_columns else {}
    return {**{name: getattr(texts, name) for name in names}, **joined}


def _describe_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the first difference of two jobs in words."""
    for name in dict.fromkeys([*new, *old]):
        before, now = old.get(name), new.get(name)
        if before == now:
            continue
        if not (name in ("inputs", "against") and isinstance(before, list) and isinstance(now, list)):
            return f"{name} was {before} and is {now}"
        a, b = next((a, b) for a, b in zip_longest(before, now) if a != b)
        if a is None or b is None:
            return f"{b[0]} is not among its {name}" if a is None else f"{a[0]} is missing among the {name}"
        if a[0] == b[0]:
            return f"{a[0]} has changed since: {a[1]:,} bytes then, {b[1]:,} now, or another modification time"
        return f"{name} had {a[0]}, not {b[0]}"
    return "nothing"


def digest_arrays(*arrays: NDArray[Any]) -> str:
    """Return a digest of arrays and their sizes."""
    sizes = json.dumps([array.nbytes for array in arrays]).encode()
    return _digest_blocks(sizes, [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays]).hex()


def _digest_blocks(line: bytes, blocks: Sequence[NDArray[np.uint8]]) -> bytes:
    """Return the XXH3 of a line and the hashes of blocks, whose lengths the line has."""
    hashes = [byte_hashes(block, len(block)).tobytes() for block in blocks if len(block)]
    data = np.frombuffer(b"".join([line, *hashes]), np.uint8)
    return byte_hashes(data, len(data)).tobytes()


def _parse(digest: bytes, line: bytes, data: NDArray[np.uint8]) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of a file; raise ValueError, TypeError, KeyError or SyntaxError if it is damaged."""
    header = json.loads(line)
    arrays: Arrays = {}
    blocks: list[NDArray[np.uint8]] = []
    start = 0
    for name, (descr, shape, lengths) in header["arrays"].items():
        dtype = descr_to_dtype(literal_eval(descr))
        row = dtype.itemsize * math.prod(shape)
        ends = [start + row * end for end in accumulate(lengths, initial=0)]
        blocks += [data[first:last] for first, last in pairwise(ends)]
        arrays[name] = np.require(data[start : ends[-1]].view(dtype).reshape(-1, *shape), requirements="A")
        start = ends[-1]
    if start != len(data) or digest != _digest_blocks(line, blocks):
        raise ValueError
    return header, arrays
