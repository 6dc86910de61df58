"""What deduplication knows of each document: its values by the recipe's family, its content, its length and its id.

Texts are read batch by batch and let go; `HashedDocuments.look_up` gives those that are compared again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes
from nearkin.errors import InputError, bad_parameter
from nearkin.io import Column, Corpus
from nearkin.io.values import INT, Scalar
from nearkin.pipeline.candidates import TextBatch, TextCandidateSource, Values
from nearkin.pipeline.verify import LookUp, texts_by_row
from nearkin.search.ids import Ids
from nearkin.text.batches import Texts, iterate_batches

Progress = Callable[[str, int, "int | None"], None]
"""Called with a stage's name, how much of it is done, and of how much (None where that is not known)."""
Cells: TypeAlias = Iterable[Scalar | np.integer[Any] | np.floating[Any]] | NDArray[Any]
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
        `keep`, by which documents are ordered, and `source`, where they come from; each where it was given.
    look_up : function
        Gives the texts of ascending rows again.
    """

    values: Values
    counts: NDArray[np.uint64]
    contents: NDArray[np.uint64]
    lengths: NDArray[np.uint64]
    ids: Column
    columns: dict[str, Column]
    look_up: LookUp

    def __len__(self) -> int:
        return len(self.counts)


def name_columns(
    texts: Texts | Corpus, hashed: HashedDocuments, values: Cells | str | None, sources: Cells | str | None
) -> None:
    """Give the columns of a corpus that stand for values and sources these names."""
    for role, name in (("keep", values), ("source", sources)):
        if not isinstance(name, str):
            continue
        if name not in getattr(texts, "extra_columns", ()):
            role = "values" if role == "keep" else "sources"
            raise bad_parameter(role, repr(name), "a list as long as the texts, or an extra column of a corpus")
        hashed.columns[role] = hashed.columns.get(name, Column.of([]))


def as_column(values: Cells) -> Column:
    """Values of any kind as a column."""
    if isinstance(values, Column):
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.dtype != np.uint64:
        return Column.integers(np.ascontiguousarray(values, np.int64))
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
    # What is no sequence is Arrow's: one batch, which the core reads.
    batches = cast("list[TextBatch]", list(iterate_batches(texts)))
    parts = [_HashedBatch(candidate_source, batch) for batch in batches]
    n = sum(len(part.counts) for part in parts)
    id_column = Column.integers(np.arange(n)) if ids is None else as_column(ids)
    for name, column in {"ids": id_column, **columns}.items():
        if len(column) != n:
            raise bad_parameter(name, f"{len(column)} values", f"{n} values, one per text")
    report("hash", n, n)
    return _join(parts, candidate_source, id_column, columns, _look_up(batches))


def hash_corpus(
    corpus: Corpus, candidate_source: TextCandidateSource, report: Progress, columns: dict[str, Column] | None = None
) -> HashedDocuments:
    """Read and hash a corpus; its extra columns `keep` and `source` are renamed by the caller."""
    parts, ids = [], []
    extra: dict[str, list[Column]] = {name: [] for name in corpus.extra_columns}
    done = 0
    for batch in corpus.batches():
        parts.append(_HashedBatch(candidate_source, batch.texts))
        ids.append(batch.ids)
        for name, column in batch.columns.items():
            extra.setdefault(name, []).append(column)
        done += len(batch)
        report("hash", done, None)
    found = {name: Column.concat(parts) for name, parts in extra.items() if parts}
    ids_column = Column.concat(ids) if ids else Column.integers(np.zeros(0, np.int64))
    return _join(parts, candidate_source, ids_column, {**found, **(columns or {})}, corpus.texts)


class _HashedBatch:
    def __init__(self, candidate_source: TextCandidateSource, texts: TextBatch) -> None:
        self.values, self.counts = candidate_source.hash(texts)
        contents, self.lengths = content_hashes(texts)
        self.contents = contents.reshape(-1, 2)


def _join(
    parts: list[_HashedBatch],
    candidate_source: TextCandidateSource,
    ids: Column,
    columns: dict[str, Column],
    look_up: LookUp,
) -> HashedDocuments:
    parts = parts or [_HashedBatch(candidate_source, [])]
    return HashedDocuments(
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.contents for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        ids,
        columns,
        look_up,
    )


def _look_up(batches: list[TextBatch]) -> LookUp:
    """Looks up texts of rows over several batches, each a sequence or one Arrow object."""
    texts = batches[0] if len(batches) == 1 else [text for batch in batches for text in batch]
    return texts_by_row(texts)[0]


def check_distinct_ids(ids: Column, name: str) -> None:
    """Raise InputError unless all ids are there and differ."""
    if (ids.kinds == INT).all() and len(np.unique(ids.values)) == len(ids):
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


def first_with_same_content(contents: NDArray[np.uint64]) -> NDArray[np.int64]:
    """For each row the first row with the same content."""
    order = np.lexsort((contents[:, 1], contents[:, 0]))
    arranged = contents[order]
    starts = np.ones(len(contents), bool)
    starts[1:] = (arranged[1:] != arranged[:-1]).any(axis=1)
    # lexsort is stable, so the first of a group is its smallest row.
    result = np.empty(len(contents), np.int64)
    result[order] = order[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
    return result
