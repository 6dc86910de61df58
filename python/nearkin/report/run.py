"""What a report is made of: the summary, clusters and near misses of a run, and the texts of some documents.

Ids are compared by their text, as labels are: a table of CSV has no other, and a page shows no other.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nearkin.digests.ssdeep import DigestRecipe
from nearkin.errors import InputError, bad_parameter, printable
from nearkin.io import Column, Corpus, open_corpus, read_table
from nearkin.io.values import INT
from nearkin.report.files import NearFiles, near_files

if TYPE_CHECKING:
    from nearkin.dedup.result import DedupResult, ResultTable

Table: TypeAlias = Mapping[str, list[Any]]
"""Columns by name."""
LookUp: TypeAlias = "Callable[[Collection[str]], Mapping[str, bytes | str | None]]"
"""From ids to their texts, or to the bytes of files; an id without a text is left out."""
LARGEST_FILE = 8 << 20
"""Bytes of the largest file that a report reads."""
MOST_BYTES = 256 << 20
"""Bytes of all files that it reads."""


@dataclass(frozen=True)
class Run:
    """A run, as a report sees it.

    Attributes
    ----------
    name : str
        What the report calls it: the folder's name.
    summary : mapping
        As summary.json has it.
    clusters : mapping of str to list
        Columns of the table of clusters: id, cluster, representative, distance, similarity, reason.
    near : mapping of str to list, or None
        Columns of near misses: left, right, distance, similarity. None where the run did not look for any.
    texts : function
        The texts of ids.
    notes : list of str
        Why texts are missing, or may be others than those of the run; more may come when texts are read.
    near_files : NearFiles or None
        Of files: near misses among those that were kept.
    """

    name: str
    summary: Mapping[str, Any]
    clusters: Table
    near: Table | None
    texts: LookUp
    notes: list[str] = field(default_factory=list)
    near_files: NearFiles | None = None

    @property
    def of_files(self) -> bool:
        """Whether its documents are files, compared by fuzzy digests."""
        return str(self.summary["verify"]) == "score"

    @classmethod
    def of_result(cls, result: DedupResult, corpus: Corpus, summary: Mapping[str, Any], name: str) -> Run:
        """A run over a corpus that is still open."""

        def texts(ids: Collection[str]) -> dict[str, str]:
            rows = _rows(result.ids, ids)
            found = corpus.texts(sorted(rows.values()))
            return dict(zip(sorted(rows, key=rows.__getitem__), found, strict=True))

        near = None if result.near_misses is None else _typed(_plain(result.near_misses))
        return cls(name, summary, _typed(_plain(result.clusters)), near, texts)

    @classmethod
    def of_texts(cls, result: DedupResult, texts: Sequence[str | None], name: str = "run") -> Run:
        """A run of `nearkin.dedup` over texts in memory.

        Parameters
        ----------
        result : DedupResult
            With `near_misses="auto"` the report can tell recall, too.
        texts : sequence of str or None
            What was deduplicated, in its order.
        name : str
            What the report calls it.

        Raises
        ------
        ParameterError
            Another number of texts than the result has rows.
        """
        if len(texts) != len(result.ids):
            raise bad_parameter("texts", f"{len(texts)} texts", f"{len(result.ids)} texts, one per row of the result")

        def found(ids: Collection[str]) -> dict[str, str | None]:
            return {own: texts[row] for own, row in _rows(result.ids, ids).items()}

        near = None if result.near_misses is None else _typed(_plain(result.near_misses))
        return cls(name, result.summary, _typed(_plain(result.clusters)), near, found)

    @classmethod
    def of_files_result(cls, result: DedupResult, summary: Mapping[str, Any], name: str) -> Run:
        """A run over files, which are read again by their paths."""
        clusters = {column: list(map(_escaped, cells)) for column, cells in _plain(result.clusters).items()}
        return cls(name, summary, _typed(clusters), None, read_files, near_files=_near_files(result.kept, summary))

    @classmethod
    def of_folder(cls, folder: Path) -> Run:
        """A run by the folder that `nearkin dedup` wrote. Removed texts are read from the run's inputs again.

        Raises
        ------
        InputError
            It is no such folder, or its tables can't be read.
        """
        summary = _summary(folder)
        of_files = summary["verify"] == "score"
        written = {"txt": "jsonl", "files": "jsonl", "warc": "jsonl"}.get(summary.get("format", "files"), "")
        written = written or str(summary["format"])
        clusters = _columns(folder / f"clusters.{written}", "id", "cluster", "representative", *_MEASURED, "reason")
        name = folder.resolve().name
        if of_files:
            names = [os.fsdecode(path) for path in (folder / "kept.nul").read_bytes().split(b"\0")[:-1]]
            return cls(name, summary, clusters, None, read_files, near_files=_near_files(names, summary))
        path = folder / f"near.{written}"
        near = _columns(path, "left", "right", *_MEASURED) if path.exists() else None
        notes: list[str] = []
        inputs = _inputs(summary, folder, notes)
        return cls(name, summary, clusters, near, lambda ids: _read(inputs, summary, ids, notes), notes)


def _summary(folder: Path) -> dict[str, Any]:
    """The summary of a run over documents or files."""
    try:
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text("utf-8"))
        needed = {"verify", "documents", "clusters", "threshold", "timings", "inputs", "removed_by_reason"}
        missing = sorted(needed - summary.keys())
        reason = f"its summary.json has no {missing[0]!r}" if missing else ""
    except FileNotFoundError:
        reason = "it has no summary.json" if folder.is_dir() else "there is no such folder"
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        reason = f"its summary.json can't be read ({error})"
    if reason:
        reason = f"is no folder that nearkin dedup wrote for documents or files: {reason}"
        raise InputError(f"{folder}: {reason}", place=str(folder), reason=reason)
    return summary


def _inputs(summary: Mapping[str, Any], folder: Path, notes: list[str]) -> list[str]:
    """Where the texts of a run are: its inputs, or what it kept where they are gone, which is noted.

    Relative names hold where this process works, or else beside the run's folder.
    """
    inputs = [str(name) for name in summary["inputs"]]
    gone: list[str] = []
    for base in (Path(), folder.resolve().parent):
        found = [name if "://" in name else str(base / name) for name in inputs]
        gone = gone or [name for name in found if "://" not in name and not _is_there(name)]
        if inputs and "-" not in inputs and all("://" in name or _is_there(name) for name in found):
            return found
    read_again = inputs and "-" not in inputs
    what = f"{printable(gone[0])} is not there any more" if read_again else "standard input can't be read again"
    notes.append(f"{what}: the texts of removed documents can't be shown")
    return [str(folder / name) for name in summary.get("kept_files") or [summary["kept_file"]]]


def _is_there(name: str) -> bool:
    """Whether there is such a file or folder, or one that a pattern names."""
    return Path(name).exists() or bool(glob.has_magic(name) and glob.glob(name))  # noqa: PTH207 - absolute patterns


def _near_files(kept: Sequence[str], summary: Mapping[str, Any]) -> NearFiles:
    return near_files(kept, DigestRecipe(summary["recipe"]), int(summary["threshold"]))


def _escaped(cell: Any) -> Any:
    """Names of files as the tables have them: bytes without a UTF-8 form are escaped."""
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell


def read_files(ids: Collection[str]) -> dict[str, bytes | str | None]:
    """The bytes of files by their paths, in this order; None for one that is gone, too large or beyond `MOST_BYTES`."""
    found: dict[str, bytes | str | None] = {}
    left = MOST_BYTES
    for name in ids:
        try:
            file = Path(name)
            found[name] = file.read_bytes() if file.stat().st_size <= min(LARGEST_FILE, left) else None
        except (OSError, ValueError):
            found[name] = None
        left -= len(found[name] or b"")
    return found


def _rows(column: Column, ids: Collection[str]) -> dict[str, int]:
    """The rows of some ids, by their text."""
    if len(column) and (column.kinds == INT).all():
        # Numbers are found without making objects of all of them.
        wanted = np.array([int(own) for own in ids], np.int64)
        rows = np.flatnonzero(np.isin(column.values, wanted)).tolist()
        return {str(column.values[row]): row for row in rows}
    row_of = {own: row for row, own in enumerate(map(str, column.to_list()))}
    return {own: row_of[own] for own in ids if own in row_of}


def _plain(table: ResultTable) -> dict[str, list[Any]]:
    return {name: list(cells) for name, cells in table.columns.items()}


_MEASURED = ("distance", "similarity")


def _columns(path: Path, *names: str) -> Table:
    """Columns of a table; a table of JSON without rows names none."""
    table = read_table(path, ids=_IDS)
    return _typed({name: table.get(name, []) for name in names})


_IDS = ("id", "representative", "left", "right")


def _typed(table: Table) -> Table:
    """Ids as text, numbers as numbers: tables of CSV have text alone, results have NaN where files have nothing."""
    typed: dict[str, list[Any]] = {}
    for name, cells in table.items():
        if name in _IDS:
            typed[name] = list(map(str, cells))
        elif name in _MEASURED:
            kind = float if name == "similarity" else _whole
            # NaN is not equal to itself.
            typed[name] = [None if cell is None or cell != cell or cell == "" else kind(cell) for cell in cells]
        else:
            typed[name] = list(cells)
    return typed


def _whole(cell: Any) -> int:
    return int(float(cell))


def _read(inputs: list[str], summary: Mapping[str, Any], ids: Collection[str], notes: list[str]) -> dict[str, str]:
    """The texts of ids in the inputs of a run; it is noted if these have changed."""
    found: dict[str, str] = {}
    columns = {"text_column": summary["text_column"], "id_column": summary["id_column"]}
    if summary["format"] in ("txt", "files", "warc"):
        columns = {"id_column": summary["id_column"]}
    told = {"format": summary["format"], "max_malformed": 1.0, **columns, **summary.get("read_as", {})}
    with open_corpus(inputs, **told) as corpus:
        for batch in corpus.batches():
            names = [str(name) for name in batch.ids.to_list()]
            rows = [row for row, name in enumerate(names) if name in ids]
            if rows:
                texts = batch.texts
                found |= {names[row]: texts[row] for row in rows}
        if not notes and corpus.bytes_read != summary["bytes_read"]:
            sizes = f"{corpus.bytes_read:,} bytes, not {summary['bytes_read']:,}"
            notes.append(f"the run's inputs have changed ({sizes}): texts may be others than those that it compared")
    return found


__all__ = ["LARGEST_FILE", "LookUp", "Run", "Table", "read_files"]
