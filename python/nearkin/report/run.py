"""The input of a report: summary, clusters and near misses of a run, and the contents of its documents.

Ids are compared as text, like those of labels, because a CSV table and a page have nothing else.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from nearkin.dedup.cluster import sample_numbers
from nearkin.digests.recipes import AnyDigestRecipe, parse_recipe
from nearkin.digests.tlsh import TlshRecipe
from nearkin.errors import bad_parameter, input_error, printable
from nearkin.index.digests import DigestIndex
from nearkin.io import Corpus, open_corpus, read_table
from nearkin.io.corpus import ROW_NUMBERS
from nearkin.io.values import INT
from nearkin.progress import Progress, ignore_progress, megabyte_ticker
from nearkin.report.thumbnails import make_thumbnails

if TYPE_CHECKING:
    from nearkin.dedup.result import DedupResult, ResultTable

Columns: TypeAlias = Mapping[str, list[Any]]
"""A table, by column names."""
ReadTexts: TypeAlias = "Callable[[Collection[str]], Mapping[str, bytes | str | None]]"
"""Maps ids to texts, or to the contents of files; an id without a text may be missing."""
MAX_FILE_BYTES = 8 << 20
"""Maximum size of a file that a report reads."""
MAX_TOTAL_BYTES = 256 << 20
"""Maximum size of all files that a report reads."""
MAX_SAMPLED_FILES = 2000
"""Maximum number of kept files that are compared with each other."""
NEAR_MARGIN = 30
"""Maximum difference between the threshold and the score of a near miss."""
_MEASURES = ("distance", "similarity")
_IDS = ("id", "representative", "left", "right")


@dataclass(frozen=True)
class Run:
    """The result of a deduplication, as a report needs it.

    Attributes
    ----------
    name : str
        Title of the report: the name of the folder.
    summary : mapping
        The content of summary.json.
    clusters : mapping of str to list
        The table of clusters: id, cluster, representative, distance, similarity, reason.
    near : mapping of str to list, or None
        Near misses: left, right, distance, similarity. None if the run did not look for any.
    texts : function
        Returns the texts of ids.
    notes : list of str
        Reasons why texts are missing, or may differ from those of the run; reading texts may add more.
    near_files : NearFiles or None
        For files: near misses among the kept ones.
    images : function or None
        Returns data URIs or links of the images of ids; an id without an image may be missing.
    """

    name: str
    summary: Mapping[str, Any]
    clusters: Columns
    near: Columns | None
    texts: ReadTexts
    notes: list[str] = field(default_factory=list)
    near_files: NearFiles | None = None
    images: Callable[[Collection[str]], Mapping[str, str]] | None = None

    @property
    def on_files(self) -> bool:
        """True if the documents are files, compared by fuzzy digests."""
        return str(self.summary["verify"]) == "score"

    @property
    def on_codes(self) -> bool:
        """True if the documents are codes of other programs, compared by their bits."""
        return str(self.summary["verify"]) == "hamming"

    @property
    def on_vectors(self) -> bool:
        """True if the documents were compared by the cosine of their vectors."""
        return str(self.summary["verify"]) == "cosine"

    @property
    def scale(self) -> float:
        """The maximum similarity: 100 for scores, otherwise 1."""
        return 100.0 if self.on_files else 1.0

    @classmethod
    def from_result(cls, result: DedupResult, corpus: Corpus, summary: Mapping[str, Any], name: str) -> Run:
        """Return a run on an open corpus."""

        def read_texts(ids: Collection[str]) -> dict[str, str | None]:
            rows = _find_rows(result, ids)
            ordered = sorted((row, name) for name, each in rows.items() for row in each)
            return _join_rows((name for _, name in ordered), corpus.texts([row for row, _ in ordered]))

        notes: list[str] = []
        clusters, near = _convert(result.clusters), _convert_optional(result.near_misses)
        inputs = [*map(str, corpus.inputs), *corpus.urls]
        images = _image_reader(inputs, summary, [Path(), *(path.parent for path in corpus.paths[:1])], notes)
        return cls(name, summary, clusters, near, read_texts, notes, images=images)

    @classmethod
    def from_texts(cls, result: DedupResult, texts: Sequence[str | None], name: str = "run") -> Run:
        """Return a run of `nearkin.dedup` on texts in memory, or on vectors.

        Parameters
        ----------
        result : DedupResult
            With `near_misses="auto"` the report can also estimate recall.
        texts : sequence of str or None
            The deduplicated texts, in their order; for vectors, what each of them stands for. The page shows ids alone
            for None.
        name : str
            Title of the report.

        Raises
        ------
        ParameterError
            The number of texts differs from the number of rows of the result.
        """
        if len(texts) != len(result.ids):
            raise bad_parameter("texts", f"{len(texts)} texts", f"{len(result.ids)} texts, one per row of the result")

        def read_texts(ids: Collection[str]) -> dict[str, str | None]:
            rows = [(name, row) for name, each in _find_rows(result, ids).items() for row in each]
            return _join_rows((name for name, _ in rows), (texts[row] for _, row in rows))

        return cls(name, result.summary, _convert(result.clusters), _convert_optional(result.near_misses), read_texts)

    @classmethod
    def from_files(cls, result: DedupResult, summary: Mapping[str, Any], name: str) -> Run:
        """Return a run on files, which are read again by their paths."""
        columns = {column: list(map(_escape_bytes, cells)) for column, cells in result.clusters.columns.items()}
        near_files = find_near_files(result.kept, parse_recipe(summary["recipe"]), int(summary["threshold"]))
        return cls(name, summary, _convert_columns(columns), None, read_files, near_files=near_files)

    @classmethod
    def from_folder(cls, folder: Path, progress: Progress = ignore_progress) -> Run:
        """Return the run of a folder that `nearkin dedup` wrote; removed texts are read from the run's inputs.

        `progress` is called while texts are read.

        Raises
        ------
        InputError
            The folder is not the output of a run, or its tables cannot be read.
        """
        summary = _read_summary(folder)
        if summary.get("keep") == "none":
            reason = (
                "its run kept no document of a cluster (keep none); a report shows removed documents beside a kept one"
            )
            raise input_error(folder, reason)
        format_ = summary.get("format", "files")
        suffix = "jsonl" if format_ in ("txt", "files", "warc") else str(format_)
        clusters = _read_columns(folder / f"clusters.{suffix}", "id", "cluster", "representative", *_MEASURES, "reason")
        name = folder.resolve().name
        if summary["verify"] == "score":
            kept = [os.fsdecode(path) for path in (folder / "kept.nul").read_bytes().split(b"\0")[:-1]]
            near_files = find_near_files(kept, parse_recipe(summary["recipe"]), int(summary["threshold"]))
            return cls(name, summary, clusters, None, read_files, near_files=near_files)
        path = folder / f"near.{suffix}"
        near = _read_columns(path, "left", "right", *_MEASURES) if path.exists() else None
        notes: list[str] = []
        inputs = _find_inputs(summary, folder, notes)
        bases = [Path(), folder.resolve().parent, *(Path(name).parent for name in inputs[:1])]
        images = _image_reader(inputs, summary, bases, notes)
        texts = lambda ids: _read_inputs(inputs, summary, ids, notes, progress)  # noqa: E731
        return cls(name, summary, clusters, near, texts, notes, images=images)


def _read_summary(folder: Path) -> dict[str, Any]:
    """Return the summary of a run on documents or files."""
    try:
        summary: dict[str, Any] = json.loads((folder / "summary.json").read_text("utf-8"))
        required = {"verify", "documents", "clusters", "threshold", "timings", "inputs", "removed_by_reason"}
        missing = sorted(required - summary.keys())
        reason = f"its summary.json has no {missing[0]!r}" if missing else ""
    except FileNotFoundError:
        reason = "it has no summary.json" if folder.is_dir() else "the folder does not exist"
    except NotADirectoryError:
        reason = "it is a file"
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        reason = f"its summary.json cannot be read ({error})"
    if reason:
        raise input_error(folder, f"is not a folder that nearkin dedup wrote for documents or files: {reason}")
    return summary


def _find_inputs(summary: Mapping[str, Any], folder: Path, notes: list[str]) -> list[str]:
    """Return the inputs of a run, or the kept documents, with a note, if the inputs do not exist.

    Relative names are resolved from the working directory, then from the parent of the run's folder.
    """
    inputs = [str(name) for name in summary["inputs"]]
    # The files of a folder follow it.
    inputs = [name for name in inputs if not any(str(parent) in inputs for parent in Path(name).parents)]
    missing: list[str] = []
    for base in (Path(), folder.resolve().parent):
        names = [name if "://" in name else str(base / name) for name in inputs]
        missing = missing or [name for name in names if "://" not in name and not _exists(name)]
        if inputs and "-" not in inputs and all("://" in name or _exists(name) for name in names):
            return names
    can_read = inputs and "-" not in inputs
    problem = f"{printable(missing[0])} does not exist" if can_read else "standard input cannot be read again"
    notes.append(f"{problem}: the texts of removed documents cannot be shown")
    return [str(folder / name) for name in summary.get("kept_files") or [summary["kept_file"]]]


def _exists(name: str) -> bool:
    """Return True for an existing file or folder, or a pattern with a match."""
    return Path(name).exists() or bool(glob.has_magic(name) and glob.glob(name))  # noqa: PTH207 - absolute patterns


def _escape_bytes(cell: Any) -> Any:
    """Return a file name as the tables spell it: bytes that are not UTF-8 are escaped."""
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell


def read_files(ids: Collection[str]) -> dict[str, bytes | str | None]:
    """Return the contents of files by their paths; None if a file is missing, too large or beyond the total."""
    contents: dict[str, bytes | str | None] = {}
    remaining = MAX_TOTAL_BYTES
    for name in ids:
        try:
            path = Path(name)
            contents[name] = path.read_bytes() if path.stat().st_size <= min(MAX_FILE_BYTES, remaining) else None
        except (OSError, ValueError):
            contents[name] = None
        remaining -= len(contents[name] or b"")
    return contents


def _join_rows(names: Iterable[str], texts: Iterable[str | None]) -> dict[str, str | None]:
    """Return the text of each name; those of a group joined by line feeds."""
    joined: dict[str, str | None] = {}
    for name, text in zip(names, texts, strict=True):
        before = joined.get(name)
        joined[name] = "\n".join(part for part in (before, text) if part is not None) if name in joined else text
    return joined


def _find_rows(result: DedupResult, ids: Collection[str]) -> dict[str, list[int]]:
    """Return the rows of ids, or of groups, by their text."""
    if result.groups is not None:
        groups: dict[str, list[int]] = {}
        for row, name in enumerate(map(str, result.groups.to_list())):
            if name in ids:
                groups.setdefault(name, []).append(row)
        return groups
    column = result.ids
    if len(column) and (column.kinds == INT).all():
        # Does not convert all numbers to objects.
        rows = np.flatnonzero(np.isin(column.values, np.array([int(name) for name in ids], np.int64))).tolist()
        return {str(column.values[row]): [row] for row in rows}
    row_of = {name: row for row, name in enumerate(map(str, column.to_list()))}
    return {name: [row_of[name]] for name in ids if name in row_of}


def _read_columns(path: Path, *names: str) -> Columns:
    """Return columns of a table; a JSON table without rows has none."""
    table = read_table(path, ids=_IDS)
    return _convert_columns({name: table.get(name, []) for name in names})


def _convert(table: ResultTable) -> Columns:
    columns = _convert_columns({name: list(cells) for name, cells in table.columns.items()})
    # Clusters of vectors have similarities only.
    return {"distance": [None] * len(table), **columns}


def _convert_optional(table: ResultTable | None) -> Columns | None:
    return None if table is None else _convert(table)


def _convert_columns(table: Columns) -> Columns:
    """Return ids as text and measures as numbers, with None for empty cells and NaN."""
    columns: dict[str, list[Any]] = {}
    for name, cells in table.items():
        if name in _IDS:
            columns[name] = list(map(str, cells))
        elif name in _MEASURES:
            numbers = [None if cell is None or cell != cell or cell == "" else float(cell) for cell in cells]
            is_distance = name == "distance"
            columns[name] = [int(value) if is_distance and value is not None else value for value in numbers]
        else:
            columns[name] = list(cells)
    return columns


def _read_inputs(
    inputs: list[str], summary: Mapping[str, Any], ids: Collection[str], notes: list[str], progress: Progress
) -> dict[str, str | None]:
    """Return the texts of ids from the inputs of a run; add a note if the inputs have changed."""
    texts: list[tuple[str, str | None]] = []
    options = _reader_options(summary)
    with open_corpus(inputs, **options) as corpus:
        corpus.bytes_as_hex = summary["verify"] == "hamming"
        tick, known = megabyte_ticker(progress, "read", summary["bytes_read"]), 0
        for batch in corpus.batches():
            tick(corpus.bytes_read - known)
            known = corpus.bytes_read
            names = [str(name) for name in batch.ids.to_list()]
            texts += [(name, batch.texts[row]) for row, name in enumerate(names) if name in ids]
        if not notes and corpus.bytes_read != summary["bytes_read"]:
            sizes = f"{corpus.bytes_read:,} bytes, not {summary['bytes_read']:,}"
            notes.append(f"the run's inputs have changed ({sizes}): texts may differ from those of the run")
    return _join_rows((name for name, _ in texts), (text for _, text in texts))


def _reader_options(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `open_corpus` for the inputs of a run."""
    # The tables of a run over groups name these.
    id_column = summary["groups"]["column"] if "groups" in summary else summary["id_column"]
    columns = {"text_column": summary["text_column"], "id_column": id_column or ROW_NUMBERS}
    if summary["format"] in ("txt", "files", "warc"):
        del columns["text_column"]
    return {"format": summary["format"], "max_malformed": 1.0, **columns, **summary.get("read_as", {})}


def _image_reader(
    inputs: list[str], summary: Mapping[str, Any], bases: Sequence[Path], notes: list[str]
) -> Callable[[Collection[str]], Mapping[str, str]] | None:
    """Return a function that reads the images of ids; None for a run without a column of images."""
    column = summary.get("image_column")
    if column is None:
        return None

    def read_images(ids: Collection[str]) -> Mapping[str, str]:
        values: dict[str, str] = {}
        if "-" in inputs or not inputs:
            notes.append("no thumbnails: standard input cannot be read again")
            return values
        with open_corpus(inputs, **_reader_options(summary), extra_columns=[column]) as corpus:
            corpus.bytes_as_hex = True
            for batch in corpus.batches():
                names, cells = batch.ids.to_list(), batch.columns[column].to_list()
                rows = zip(map(str, names), cells, strict=True)
                values.update({name: str(cell) for name, cell in rows if cell is not None and name in ids})
        return make_thumbnails(values, bases, notes)

    return read_images


@dataclass(frozen=True)
class NearFiles:
    """Pairs of kept files that nearly match, from a random sample.

    Attributes
    ----------
    pairs : list of (str, str, int)
        Paths and score, which is below the threshold.
    sampled, total : int
        Number of sampled files and of kept files.
    """

    pairs: list[tuple[str, str, int]]
    sampled: int
    total: int


def find_near_files(kept: Sequence[str], recipe: AnyDigestRecipe, threshold: int) -> NearFiles:
    """Return pairs of kept files whose digests score below the threshold by at most `NEAR_MARGIN`.

    Of TLSH the score is 100 minus the distance.
    """
    names = [kept[i] for i in np.sort(sample_numbers(len(kept), MAX_SAMPLED_FILES)).tolist()]
    digests = recipe.hash_files(names, on_error="return")
    readable = [(name, digest) for name, digest in zip(names, digests, strict=True) if isinstance(digest, str)]
    index = DigestIndex(recipe=recipe)
    index.add(list(range(len(readable))), [digest for _, digest in readable])
    if isinstance(recipe, TlshRecipe):
        near = index.pairs(distance=min(100 - threshold + NEAR_MARGIN, 99))
        left_rows, right_rows, scores = near.left, near.right, 100 - near.distances.astype(int)
    else:
        hits = index.pairs(max(threshold - NEAR_MARGIN, 1), skip_hubs=MAX_SAMPLED_FILES)
        left_rows, right_rows, scores = hits.left, hits.right, hits.scores.astype(int)
    pairs = [
        (readable[left][0], readable[right][0], score)
        for left, right, score in zip(left_rows.tolist(), right_rows.tolist(), scores.tolist(), strict=True)
        if score < threshold
    ]
    return NearFiles(pairs, len(readable), len(kept))
