"""Hashed documents: for each its values by the recipe's family, content hash, length and id.

Texts are read batch by batch and released; `HashedDocuments.look_up` reads those again that are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes
from nearkin.dedup.candidates import TextBatch, TextCandidateSource, Values
from nearkin.dedup.checkpoint import HashLog
from nearkin.dedup.spill import IN_MEMORY, SpillBuffer, SpillColumn, SpillPolicy, release
from nearkin.dedup.summary import StageTimer
from nearkin.dedup.verify import FeatureSets, LookUp, texts_by_row
from nearkin.errors import InputError, bad_parameter
from nearkin.index.ids import Ids
from nearkin.io import Column, Corpus
from nearkin.io.arrow import is_arrow, read_column, to_cells
from nearkin.io.corpus import settle_ids
from nearkin.io.values import INT, TEXT, PackedTexts, Scalar
from nearkin.progress import Progress
from nearkin.text.batches import Texts, iterate_batches, slice_texts

_MAX_TEXTS = 1 << 16
"""Texts hashed by one call, after which progress is reported; ids hashed at once."""
_FEW_ROWS = 1 << 12
"""Rows below which an array of zeros costs less than a broadcast."""
SOUND_COUNTS = 7
"""Counts of each text by `nearkin._core.soundness`."""

Cells: TypeAlias = Iterable[Scalar | date | np.datetime64 | np.integer[Any] | np.floating[Any]] | NDArray[Any]
"""Values of documents as callers pass them, one per document: a list, an array, a column."""


@dataclass
class HashedDocuments:
    """Hashed documents, one per row.

    Attributes
    ----------
    values : (n, ...) array
        Fingerprints, signatures or digests.
    counts : (n,) uint64
        Numbers of features; a document without features is kept and never compared.
    contents : (n, 2) uint64
        XXH3 of 128 bits of the content, which exact copies share.
    lengths : (n,) uint64
        Characters of each text, bytes of each file.
    ids : Column
    columns : dict of str to Column
        `keep:NAME` for the columns of the keep rule, and `source`, if any.
    look_up : function
        Returns the texts of ascending rows.
    spill : SpillPolicy
        For large arrays about these documents.
    feature_sets : function or None
        Returns what is compared of ascending rows instead of their texts: groups have the features of their documents.
    soundness : (n, 7) uint32 or None
        Counts of `nearkin._core.soundness` for the keep rule `best`; zeros for documents without candidates.
    whole : function or None
        Returns the complete texts of ascending rows, if `look_up` leaves out some of their lines.
    whole_values : (n, ...) array or None
        Values of the complete texts then.
    """

    values: Values
    counts: NDArray[np.uint64]
    contents: NDArray[np.uint64]
    lengths: NDArray[np.uint64]
    ids: Column
    columns: dict[str, Column]
    look_up: LookUp
    spill: SpillPolicy = IN_MEMORY
    feature_sets: Callable[[NDArray[np.int64]], FeatureSets] | None = None
    soundness: NDArray[np.uint32] | None = None
    whole: LookUp | None = None
    whole_values: Values | None = None

    def __len__(self) -> int:
        return len(self.counts)

    def release(self) -> None:
        """Release the memory of spilled arrays."""
        if self.spill is not IN_MEMORY:
            ids = self.ids
            release(self.values, self.counts, self.contents, self.lengths, ids.kinds, ids.values, ids.offsets, ids.data)

    def select(self, rows: NDArray[np.int64]) -> HashedDocuments:
        """Return these ascending rows, without ids and columns."""
        look_up = self.look_up
        arrays = (self.values[rows], self.counts[rows], self.contents[rows], self.lengths[rows])
        return HashedDocuments(*arrays, Column.of([]), {}, lambda selected: look_up(rows[selected]))


def name_columns(texts: Texts | Corpus, hashed: HashedDocuments, uses: Mapping[str, str | None]) -> None:
    """Rename the columns of a corpus to their uses, and drop the others.

    Parameters
    ----------
    texts : texts or Corpus
    hashed : HashedDocuments
        With columns of a corpus by name, and columns of values by use.
    uses : mapping of str to str or None
        For each use the name of an extra column of the corpus; None for values.

    Raises
    ------
    ParameterError
        The corpus has no such extra column.
    """
    columns, hashed.columns = hashed.columns, {}
    for use, name in uses.items():
        if name is None:
            hashed.columns[use] = columns[use]
            continue
        if name not in getattr(texts, "extra_columns", ()):
            role = {"source": "sources", "group": "groups"}.get(use, "values")
            raise bad_parameter(role, repr(name), "a list as long as the texts, or an extra column of a corpus")
        hashed.columns[use] = columns.get(name, Column.of([]))


def as_column(values: Cells) -> Column:
    """Convert values of any kind to a column."""
    if isinstance(values, Column):
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.dtype != np.uint64:
        return Column.integers(np.ascontiguousarray(values, np.int64))
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        return Column.of(list(values))
    # The column converts NumPy's numbers.
    return Column.of(to_cells(values, "values"))


def hash_texts(
    texts: Texts | Corpus,
    ids: Ids | None,
    candidate_source: TextCandidateSource,
    report: Progress,
    columns: dict[str, Column],
    timer: StageTimer | None = None,
    log: HashLog | None = None,
) -> HashedDocuments:
    """Hash texts in memory, or a corpus, whose reading is a stage of the timer; with `log` only what is new."""
    if isinstance(texts, Corpus):
        if ids is not None:
            raise bad_parameter("ids", "ids with a Corpus", "None: a corpus reads its own id column")
        return hash_corpus(texts, candidate_source, report, columns, timer, log)
    if not hasattr(texts, "__len__") and is_arrow(texts):
        # A stream is read once, and texts are needed again.
        texts = read_column(texts, "texts")
    # Anything but a sequence of strings is one batch that the core reads.
    batches: list[Any] = [texts] if isinstance(texts, list) else list(iterate_batches(cast("Texts", texts)))
    sizes: list[Any] = [len(batch) if hasattr(batch, "__len__") else None for batch in batches]
    total: int | None = None if None in sizes else sum(sizes)
    few = total is not None and total <= _MAX_TEXTS
    hasher = _BatchHasher(candidate_source, IN_MEMORY if few else SpillPolicy.into(None), log)
    if batches:
        candidate_source.calibrate(batches[0], sizes[0] if total is None else total)
    for batch in batches:
        for chunk in [batch] if few else slice_texts(batch, _MAX_TEXTS):
            try:
                hasher.append(chunk)
            except Exception:
                # The message about a bad text must count from the first text of the batch.
                candidate_source.hash(batch)
                raise
            report("hash", len(hasher), total)
    n = len(hasher)
    id_column = _row_numbers(n) if ids is None else as_column(ids)
    named = columns if ids is None else {"ids": id_column, **columns}
    for name, column in named.items():
        if len(column) != n:
            raise bad_parameter(name, f"{len(column)} values", f"{n} values, one per text")
    if not n:
        report("hash", 0, 0)
    all_texts: Any = batches[0] if len(batches) == 1 else [text for batch in batches for text in batch]
    return hasher.finish(id_column, columns, texts_by_row(all_texts)[0])


def hash_corpus(
    corpus: Corpus,
    candidate_source: TextCandidateSource,
    report: Progress,
    columns: dict[str, Column] | None = None,
    timer: StageTimer | None = None,
    log: HashLog | None = None,
) -> HashedDocuments:
    """Read and hash a corpus; the caller renames its extra columns to their uses."""
    timer = StageTimer() if timer is None else timer
    try:
        hashed = _hash_corpus(corpus, candidate_source, report, columns, timer, log)
    except InputError:
        if settle_ids(corpus, None):
            raise
    else:
        if settle_ids(corpus, hashed.ids):
            return hashed
    return _hash_corpus(corpus, candidate_source, report, columns, timer, log)


def _hash_corpus(
    corpus: Corpus,
    candidate_source: TextCandidateSource,
    report: Progress,
    columns: dict[str, Column] | None,
    timer: StageTimer,
    log: HashLog | None,
) -> HashedDocuments:
    spill = SpillPolicy.into(corpus.spool_dir)
    hasher, ids = _BatchHasher(candidate_source, spill, log), SpillColumn(spill)
    extra: dict[str, SpillColumn] = {}
    numbered = corpus.id_column is None and corpus.format != "files"
    report_bytes = byte_reporter(corpus, report)
    # What was read up to a batch, which is not what was read ahead of it.
    batches = ((batch, corpus.bytes_read) for batch in corpus.batches())
    for batch, bytes_read in timer.each("read", batches, threaded=corpus.can_reread):
        if not len(hasher):
            candidate_source.calibrate(batch.texts, _estimate_count(corpus, len(batch.texts), bytes_read))
        hasher.append(batch.texts)
        if not numbered:
            ids.append(batch.ids)
        for name, column in batch.columns.items():
            extra.setdefault(name, SpillColumn(spill)).append(column)
        report("hash", len(hasher), None)
        report_bytes()
    report_bytes(ended=True)
    id_column = _row_numbers(len(hasher)) if numbered else ids.finish()
    read = {name: column.finish() for name, column in extra.items()}

    def look_up(rows: NDArray[np.int64]) -> TextBatch:
        with timer("read"):
            return corpus.texts(rows)

    return hasher.finish(id_column, {**read, **(columns or {})}, look_up)


def _is_on_disk(corpus: Corpus) -> bool:
    """Return True if all inputs are files, neither pipes nor remote."""
    return all(path.is_file() for path in corpus.paths)


def _estimate_count(corpus: Corpus, read: int, bytes_read: int) -> int:
    """Return the estimated number of texts of a corpus; 10,000,000 if its size is unknown.

    Parameters
    ----------
    corpus : Corpus
    read : int
        Number of texts in the first `bytes_read` bytes.
    bytes_read : int
    """
    if corpus.format == "files":
        return len(corpus.paths)
    if not bytes_read or not _is_on_disk(corpus):
        return 10_000_000
    size = sum(path.stat().st_size for path in corpus.paths)
    return max(read, size * read // bytes_read)


def byte_reporter(corpus: Corpus, report: Progress) -> Callable[..., None]:
    """Return a function that reports the bytes read of a corpus, if its size is known and at least a megabyte.

    Parameters
    ----------
    corpus : Corpus
    report : function

    Returns
    -------
    function
        To call after each batch, and with `ended=True` after the last one.
    """
    size = 0
    if corpus.format != "files" and _is_on_disk(corpus):
        size = sum(path.stat().st_size for path in corpus.paths)

    def report_bytes(*, ended: bool = False) -> None:
        if size >= 1 << 20:
            report("read, MB", (size if ended else min(corpus.bytes_read, size)) >> 20, size >> 20)

    return report_bytes


def _row_numbers(count: int) -> Column:
    # A broadcast needs more time than a few zeros, but only one cell.
    offsets = np.broadcast_to(np.int64(0), count + 1) if count > _FEW_ROWS else np.zeros(count + 1, np.int64)
    return Column(np.full(count, INT, np.uint8), np.arange(count), offsets, np.zeros(0, np.uint8))


class _BatchHasher:
    """Hashed batches so far."""

    def __init__(self, candidate_source: TextCandidateSource, spill: SpillPolicy, log: HashLog | None) -> None:
        self._source, self._spill, self._log = candidate_source, spill, log
        self._count = 0
        # The arrays of a single batch are used as they are.
        self._first: tuple[NDArray[Any], ...] = ()
        self._buffers: tuple[SpillBuffer, ...] = ()

    def __len__(self) -> int:
        return self._count

    def append(self, texts: TextBatch) -> None:
        """Hash a batch, or take its hashes from the log."""
        arrays = self._hash(texts) if self._log is None else self._hash_logged(texts, self._log)
        self._count += len(arrays[1])
        if not self._first and not self._buffers:
            self._first = arrays
            return
        if not self._buffers:
            self._buffers = tuple(SpillBuffer(self._spill) for _ in arrays)
            self._extend(self._first)
            self._first = ()
        self._extend(arrays)

    def _hash(self, texts: TextBatch) -> tuple[NDArray[Any], ...]:
        values, counts = self._source.hash(texts)
        contents, lengths = content_hashes(texts)
        return values, counts, contents.reshape(-1, 2), lengths

    def _hash_logged(self, texts: TextBatch, log: HashLog) -> tuple[NDArray[Any], ...]:
        contents, lengths = content_hashes(texts)
        arrays = log.take(self._count, contents.reshape(-1, 2), lengths)
        if arrays is None:
            arrays = dict(zip(("values", "counts", "contents", "lengths"), self._hash(texts), strict=True))
            log.append(self._count, arrays)
        return tuple(arrays.values())

    def _extend(self, arrays: tuple[NDArray[Any], ...]) -> None:
        for buffer, rows in zip(self._buffers, arrays, strict=True):
            buffer.append(rows)

    def finish(self, ids: Column, columns: dict[str, Column], look_up: LookUp) -> HashedDocuments:
        """Return all hashed documents."""
        if self._log is not None:
            self._log.flush()
        if not self._first and not self._buffers:
            # Arrays without rows, with the types and widths of the family.
            self.append([])
        values, counts, contents, lengths = self._first or [buffer.finish() for buffer in self._buffers]
        return HashedDocuments(values, counts, contents, lengths, ids, columns, look_up, self._spill)


def check_distinct_ids(ids: Column, name: str) -> None:
    """Raise InputError if an id is missing or occurs twice."""
    if _are_distinct(ids):
        return
    values = ids.to_list()
    seen: dict[Any, int] = {}
    if len(set(values)) == len(values) and None not in values:
        return
    for row, value in enumerate(values):
        if value is None:
            raise InputError(f"{name}: row {row} has no id", place=f"row {row}", reason="no id")
        if value in seen:
            reason = f"id {value!r} occurs in rows {seen[value]} and {row}; ids must differ, or use row numbers"
            raise InputError(f"{name}: {reason}", place=f"row {row}", reason=reason)
        seen[value] = row


def _are_distinct(ids: Column) -> bool:
    """Return True if all ids differ; False also for ids of several kinds, or if two hashes are equal by chance."""
    keys = ids.values
    if len(ids.offsets) > 1 and (ids.kinds == TEXT).all():
        keys = np.empty(len(ids), np.int64)
        for start in range(0, len(ids), _MAX_TEXTS):
            texts = PackedTexts(np.ascontiguousarray(ids.offsets[start : start + _MAX_TEXTS + 1]), ids.data)
            keys[start : start + _MAX_TEXTS] = content_hashes(texts)[0].reshape(-1, 2)[:, 0].view(np.int64)
        keys.sort()
    elif not (ids.kinds == INT).all():
        return False
    elif not (keys[1:] > keys[:-1]).all():
        keys = np.sort(keys)
    return bool((keys[1:] != keys[:-1]).all())


def first_with_same_content(contents: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return for each row the first row with the same content."""
    n = len(contents)
    if n <= 1:
        return np.zeros(n, np.int64)
    sides = contents[:, 0], contents[:, 1]
    order = np.argsort(sides[0])
    if _differ(sides[1], order)[~_differ(sides[0], order)].any():
        # Two contents agree in 64 bits: the other 64 decide.
        order = np.lexsort(sides[::-1])
    starts = np.flatnonzero(np.r_[True, _differ(sides[0], order) | _differ(sides[1], order)])
    result = np.empty(n, np.int64)
    result[order] = np.repeat(np.minimum.reduceat(order, starts), np.diff(starts, append=n))
    return result


def _differ(values: NDArray[np.uint64], order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return True for each value that differs from the one before it in this order."""
    ordered = values[order]
    return np.asarray(ordered[1:] != ordered[:-1])
