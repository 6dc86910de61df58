"""What deduplication knows of each document: its values by the recipe's family, its content, its length and its id.

Texts are read batch by batch and released; `HashedDocuments.look_up` gives those that are compared again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes
from nearkin.dedup.candidates import TextBatch, TextCandidateSource, Values
from nearkin.dedup.spill import IN_MEMORY, GrowingColumn, GrowingRows, Spill, release
from nearkin.dedup.verify import LookUp, texts_by_row
from nearkin.errors import InputError, bad_parameter
from nearkin.index.ids import Ids
from nearkin.io import Column, Corpus
from nearkin.io.values import INT, TEXT, PackedTexts, Scalar
from nearkin.progress import Progress
from nearkin.text.batches import Texts, iterate_batches

# Texts that are hashed by one call, after which progress is told.
_PIECE = 1 << 16
# Ids that are hashed at once.
_IDS = 1 << 16
# Rows whose numbers are made at once.
_FEW = 1 << 12

Cells: TypeAlias = Iterable[Scalar | date | np.datetime64 | np.integer[Any] | np.floating[Any]] | NDArray[Any]
"""Values of documents as they are given, one per document: a list, an array, a column."""


@dataclass
class HashedDocuments:
    """Hashed documents, one per row.

    Attributes
    ----------
    values : (n, ...) array
        Fingerprints, signatures or digests.
    counts : (n,) uint64
        Features; a document without any is kept and never compared.
    contents : (n, 2) uint64
        XXH3 of 128 bits of what exact copies share.
    lengths : (n,) uint64
        Characters of each text, bytes of each file.
    ids : Column
    columns : dict of str to Column
        `keep:NAME`, by which documents are ordered, and `source`, where they come from; each where it was given.
    look_up : function
        Gives the texts of ascending rows again.
    spill : Spill
        Where arrays about them go that are too large for memory.
    """

    values: Values
    counts: NDArray[np.uint64]
    contents: NDArray[np.uint64]
    lengths: NDArray[np.uint64]
    ids: Column
    columns: dict[str, Column]
    look_up: LookUp
    spill: Spill = IN_MEMORY

    def __len__(self) -> int:
        return len(self.counts)

    def release(self) -> None:
        """Give the system back the memory of what lies in files."""
        ids = self.ids
        release(self.values, self.counts, self.contents, self.lengths, ids.kinds, ids.values, ids.offsets, ids.data)

    def some(self, rows: NDArray[np.int64]) -> HashedDocuments:
        """Ascending rows alone, without ids and columns."""
        look_up = self.look_up
        parts = (self.values[rows], self.counts[rows], self.contents[rows], self.lengths[rows])
        return HashedDocuments(*parts, Column.of([]), {}, lambda places: look_up(rows[places]))


def name_columns(texts: Texts | Corpus, hashed: HashedDocuments, uses: Mapping[str, str | None]) -> None:
    """Give the columns of a corpus the names of their uses; leave the others out.

    Parameters
    ----------
    texts : texts or Corpus
    hashed : HashedDocuments
        It has the columns of a corpus by their names, and those that were given as values by their uses.
    uses : mapping of str to str or None
        For each use the name of an extra column of the corpus; None where values were given.

    Raises
    ------
    ParameterError
        There is no such extra column.
    """
    read, hashed.columns = hashed.columns, {}
    for use, name in uses.items():
        if name is None:
            hashed.columns[use] = read[use]
            continue
        if name not in getattr(texts, "extra_columns", ()):
            role = "sources" if use == "source" else "values"
            raise bad_parameter(role, repr(name), "a list as long as the texts, or an extra column of a corpus")
        hashed.columns[use] = read.get(name, Column.of([]))


def as_column(values: Cells) -> Column:
    """Values of any kind as a column."""
    if isinstance(values, Column):
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.dtype != np.uint64:
        return Column.integers(np.ascontiguousarray(values, np.int64))
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        return Column.of(list(values))
    if hasattr(values, "to_pylist"):
        return Column.of(values.to_pylist())
    # NumPy's numbers among them become Python's in the column.
    cells: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    return Column.of(cells)


def hash_texts(
    texts: Texts | Corpus,
    ids: Ids | None,
    candidate_source: TextCandidateSource,
    report: Progress,
    columns: dict[str, Column],
) -> HashedDocuments:
    """Hash texts in memory, or a corpus."""
    if isinstance(texts, Corpus):
        if ids is not None:
            raise bad_parameter("ids", "ids beside a Corpus", "None: a corpus reads its own id column")
        return hash_corpus(texts, candidate_source, report, columns)
    # Anything but a sequence is Arrow's: one batch, which the core reads.
    batches = cast("list[TextBatch]", list(iterate_batches(texts)))
    hashed = _Hashed(candidate_source, Spill.into(None))
    sized = all(hasattr(batch, "__len__") for batch in batches)
    total = sum(len(batch) for batch in batches) if sized else None
    for batch in batches:
        for piece in _pieces(batch):
            try:
                hashed.append(piece)
            except Exception:
                # The message of a bad text counts from the first text of the batch.
                candidate_source.hash(batch)
                raise
            report("hash", len(hashed), total)
    n = len(hashed)
    id_column = _row_numbers(n) if ids is None else as_column(ids)
    for name, column in {"ids": id_column, **columns}.items():
        if len(column) != n:
            raise bad_parameter(name, f"{len(column)} values", f"{n} values, one per text")
    if not n:
        report("hash", 0, 0)
    return hashed.documents(id_column, columns, _look_up(batches))


def _pieces(texts: TextBatch) -> Iterator[TextBatch]:
    """Slices of many texts, over their memory, so that progress is told after each; else the texts whole."""
    if not hasattr(texts, "__len__") or len(texts) <= _PIECE:
        yield texts
        return
    starts = range(0, len(texts), _PIECE)
    kind = str(getattr(texts, "type", getattr(texts, "dtype", "")))
    if isinstance(texts, (list, tuple)):
        yield from (texts[start : start + _PIECE] for start in starts)
    elif isinstance(texts, PackedTexts) or kind.lower().startswith(("dictionary", "categor", "enum")):
        # A slice of these would bring all strings of the dictionary along each time.
        yield texts
    elif hasattr(texts, "slice") and (hasattr(texts, "__arrow_c_stream__") or hasattr(texts, "__arrow_c_array__")):
        column: Any = texts
        yield from (column.slice(start, _PIECE) for start in starts)
    else:
        yield texts


def hash_corpus(
    corpus: Corpus, candidate_source: TextCandidateSource, report: Progress, columns: dict[str, Column] | None = None
) -> HashedDocuments:
    """Read and hash a corpus; its extra columns are named after their use by the caller."""
    spill = Spill.into(corpus.spool_dir)
    hashed, ids = _Hashed(candidate_source, spill), GrowingColumn(spill)
    extra: dict[str, GrowingColumn] = {}
    numbered = corpus.id_column is None and corpus.format != "files"
    tell_bytes = bytes_ticker(corpus, report)
    for batch in corpus.batches():
        hashed.append(batch.texts)
        if not numbered:
            ids.append(batch.ids)
        for name, column in batch.columns.items():
            extra.setdefault(name, GrowingColumn(spill)).append(column)
        report("hash", len(hashed), None)
        tell_bytes()
    tell_bytes(ended=True)
    found = {name: column.joined() for name, column in extra.items()}
    ids_column = _row_numbers(len(hashed)) if numbered else ids.joined()
    return hashed.documents(ids_column, {**found, **(columns or {})}, corpus.texts)


def bytes_ticker(corpus: Corpus, report: Progress) -> Callable[..., None]:
    """A function that tells how many bytes of a corpus are read, where that is known and a megabyte or more.

    Parameters
    ----------
    corpus : Corpus
    report : function

    Returns
    -------
    function
        Called after each batch, and with `ended=True` after the last one.
    """
    size = _size(corpus)

    def tell(*, ended: bool = False) -> None:
        if size:
            report("read, MB", (size if ended else min(corpus.bytes_read, size)) >> 20, size >> 20)

    return tell


def _size(corpus: Corpus) -> int:
    """Bytes of the input files, if they are a megabyte and more and all are known; else 0."""
    if corpus.format == "files" or not all(path.is_file() for path in corpus.paths):
        return 0
    size = sum(path.stat().st_size for path in corpus.paths)
    return size if size >= 1 << 20 else 0


def _row_numbers(count: int) -> Column:
    # A broadcast takes no memory, and longer than some zeros.
    offsets = np.broadcast_to(np.int64(0), count + 1) if count > _FEW else np.zeros(count + 1, np.int64)
    return Column(np.full(count, INT, np.uint8), np.arange(count), offsets, np.zeros(0, np.uint8))


class _Hashed:
    """What is known of the documents so far."""

    def __init__(self, candidate_source: TextCandidateSource, spill: Spill) -> None:
        self._source, self._spill = candidate_source, spill
        self._count = 0
        self._only: tuple[NDArray[Any], ...] = ()
        self._grown: tuple[GrowingRows, ...] = ()

    def __len__(self) -> int:
        return self._count

    def append(self, texts: TextBatch) -> None:
        """Hash a batch; the rows of an only one are taken as they are."""
        values, counts = self._source.hash(texts)
        contents, lengths = content_hashes(texts)
        rows = values, counts, contents.reshape(-1, 2), lengths
        self._count += len(counts)
        if not self._only and not self._grown:
            self._only = rows
            return
        if not self._grown:
            self._grown = tuple(GrowingRows(self._spill) for _ in rows)
            for grown, first in zip(self._grown, self._only, strict=True):
                grown.append(first)
            self._only = ()
        for grown, new in zip(self._grown, rows, strict=True):
            grown.append(new)

    def documents(self, ids: Column, columns: dict[str, Column], look_up: LookUp) -> HashedDocuments:
        """All of them, with what was not hashed."""
        if not self._only and not self._grown:
            # Arrays without rows, of the types and widths that the family's have.
            self.append([])
        values, counts, contents, lengths = self._only or tuple(grown.joined() for grown in self._grown)
        return HashedDocuments(values, counts, contents, lengths, ids, columns, look_up, self._spill)


def _look_up(batches: list[TextBatch]) -> LookUp:
    """Looks up texts of rows over several batches, each a sequence or one Arrow object."""
    texts = batches[0] if len(batches) == 1 else [text for batch in batches for text in batch]
    return texts_by_row(texts)[0]


def check_distinct_ids(ids: Column, name: str) -> None:
    """Raise InputError unless all ids are there and differ."""
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
    """Whether all ids differ; False for ids of several kinds, and where two hashes happen to be equal."""
    keys = ids.values
    if len(ids.offsets) > 1 and (ids.kinds == TEXT).all():
        keys = np.empty(len(ids), np.int64)
        for start in range(0, len(ids), _IDS):
            texts = PackedTexts(np.ascontiguousarray(ids.offsets[start : start + _IDS + 1]), ids.data)
            keys[start : start + _IDS] = content_hashes(texts)[0].reshape(-1, 2)[:, 0].view(np.int64)
        keys.sort()
    elif not (ids.kinds == INT).all():
        return False
    elif not (keys[1:] > keys[:-1]).all():
        keys = np.sort(keys)
    return bool((keys[1:] != keys[:-1]).all())


def first_with_same_content(contents: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each row the first row with the same content."""
    if 1 == len(contents):
        return np.zeros(1, np.int64)
    order = np.lexsort((contents[:, 1], contents[:, 0]))
    starts = np.zeros(len(contents), bool)
    starts[:1] = True
    for side in (0, 1):
        arranged = contents[order, side]
        starts[1:] |= arranged[1:] != arranged[:-1]
    # lexsort is stable, so the first of a group is its smallest row.
    result = np.empty(len(contents), np.int64)
    result[order] = order[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    return result
