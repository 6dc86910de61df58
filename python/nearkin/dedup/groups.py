"""Groups of documents, such as the files of a repository, as units of a deduplication.

The features of a group are the union of those of its documents, so the similarity of two groups depends neither on the
order of their documents nor on where they are cut: no feature spans two documents. Kernels for sets of features exist
for MinHash with `jaccard`, `signature` or no verification. The other families and measures, and the rules of `differ`,
read texts: for them a group is one text, its documents joined by line feeds in row order, in which a feature may span
two documents.

Groups are in the order of their first document. A group is an exact copy of another one if its documents have the same
contents in the same order. It has the largest value of its documents for `max:COLUMN`, the smallest for `min:COLUMN`,
the source of its first document, and for `best` the sound words of all.

Cost: the texts are read twice, once to find the groups and once to hash them; the features of a group are sorted.
Memory: 48 bytes per document, and the features of one group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes, feature_sets
from nearkin.dedup.candidates import MinHashCandidates, TextBatch, Values
from nearkin.dedup.candidates.base import chunk_ranges, distinct, list_offsets
from nearkin.dedup.checkpoint import HashLog
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.keep import KeepKey, column_key
from nearkin.dedup.result import DedupResult
from nearkin.dedup.spill import SpillBuffer
from nearkin.dedup.verify import FeatureSets, texts_by_row, to_strings
from nearkin.errors import InputError
from nearkin.io import Column
from nearkin.io.values import BIG_INT, INT, TEXT
from nearkin.progress import Progress, ticker

if TYPE_CHECKING:
    from nearkin.dedup.config import DedupConfig

GROUP = "group"
"""Use of the column of groups in `HashedDocuments.columns`."""
SEPARATOR = "\n"
"""Between the documents of a group, where their texts are joined."""
_CHARACTERS = 1 << 24
"""Characters of texts that are read at once."""
_OF_SETS = ("jaccard", "signature", "none")
"""Verifications of MinHash that need no texts."""
_SAMPLE = 2000
"""Groups by which the bands are chosen."""


class UnhashedRows:
    """A candidate source that reads documents without hashing their features."""

    def calibrate(self, texts: TextBatch, num_documents: int) -> None:
        """Do nothing: groups are not yet known."""

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Return zeros, one per text."""
        count = len(content_hashes(texts)[1])
        return np.zeros(count, np.uint8), np.zeros(count, np.uint64)


@dataclass(frozen=True)
class Groups:
    """Documents by group.

    Parameters
    ----------
    documents : HashedDocuments
        By row; only contents, lengths, ids and columns are used.
    names : (n_groups,) Column
        Of the groups, in the order of their first row.
    numbers : (n,) int64
        The group of each row.
    rows : (n,) int64
        Rows by group, ascending for each.
    offsets : (n_groups + 1,) int64
        Begin and end of the rows of each group.
    """

    documents: HashedDocuments
    names: Column
    numbers: NDArray[np.int64]
    rows: NDArray[np.int64]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, documents: HashedDocuments) -> Groups:
        """Group documents by their column of groups.

        Raises
        ------
        InputError
            A document without a group, or whose group is neither an integer nor a string.
        """
        column = documents.columns[GROUP]
        if len(wrong := np.flatnonzero(~np.isin(column.kinds, (INT, BIG_INT, TEXT)))):
            row = int(wrong[0])
            reason = f"row {row} has the group {column[row]!r}; a group is an integer or a string, and each row has one"
            raise InputError(f"groups: {reason}", place=f"row {row}", reason=reason)
        number_of: dict[object, int] = {}
        numbers = np.fromiter(
            (number_of.setdefault(name, len(number_of)) for name in column.to_list()), np.int64, len(column)
        )
        names = Column.of(list(number_of))  # type: ignore[arg-type]
        offsets = list_offsets(np.bincount(numbers, minlength=len(names)))
        return cls(documents, names, numbers, np.argsort(numbers, kind="stable"), offsets)

    def __len__(self) -> int:
        return len(self.names)

    def hash(self, config: DedupConfig, report: Progress, log: HashLog | None = None) -> HashedDocuments:
        """Hash the groups as documents named by their group; with `log` only what is new."""
        source, rows = config.candidate_source, self.documents
        lengths = np.add.reduceat(rows.lengths[self.rows], self.offsets[:-1]) if len(self) else rows.lengths[:0]
        contents = self._contents()
        if len(self):
            first = np.arange(min(len(self), _SAMPLE))
            within = max(int(np.searchsorted(np.cumsum(lengths[first].astype(np.int64)), _CHARACTERS)), 1)
            source.calibrate(self.texts(first[:within]), len(self))
        of_sets = isinstance(source, MinHashCandidates) and config.verify in _OF_SETS and not config.differ
        values, counts = SpillBuffer(rows.spill), SpillBuffer(rows.spill)
        tick = ticker(report, "groups", len(self))
        # An empty chunk has the types and widths of the family.
        for start, end in [(0, 0), *chunk_ranges(np.cumsum(lengths.astype(np.int64)), _CHARACTERS)]:
            part = slice(start, end)
            arrays = None if log is None or start == end else log.take(start, contents[part], lengths[part])
            if arrays is None:
                numbers = np.arange(start, end)
                if isinstance(source, MinHashCandidates) and of_sets:
                    union = self.feature_sets(numbers, config)
                    hashed = source.hash_sets(union.offsets, union.hashes)
                else:
                    hashed = source.hash(self.texts(numbers))
                arrays = {
                    "values": hashed[0],
                    "counts": hashed[1],
                    "contents": contents[part],
                    "lengths": lengths[part],
                }
                if log is not None and start < end:
                    log.append(start, arrays)
            values.append(arrays["values"])
            counts.append(arrays["counts"])
            tick(end - start)
        if log is not None:
            log.flush()
        columns = self._columns(config.order)
        result = HashedDocuments(
            values.finish(), counts.finish(), contents, lengths, self.names, columns, self.texts, rows.spill
        )
        if of_sets:
            result.feature_sets = lambda groups: self.feature_sets(groups, config)
        if (sound := rows.soundness) is not None:
            result.soundness = np.add.reduceat(sound[self.rows], self.offsets[:-1]) if len(self) else sound
        return result

    def texts(self, groups: NDArray[np.int64]) -> list[str | None]:
        """Return the documents of each group, joined; None for a group of missing texts. Groups ascend."""
        texts: dict[int, list[str]] = {group: [] for group in groups.tolist()}
        for numbers, batch in self._read(groups):
            for group, text in zip(numbers.tolist(), _strings(batch), strict=True):
                if text is not None:
                    texts[group].append(text)
        return [SEPARATOR.join(parts) if parts else None for parts in texts.values()]

    def feature_sets(self, groups: NDArray[np.int64], config: DedupConfig) -> FeatureSets:
        """Return the union of the features of the documents of each group. Groups ascend."""
        parts: dict[int, list[NDArray[np.uint64]]] = {group: [] for group in groups.tolist()}
        for numbers, batch in self._read(groups):
            offsets, hashes = feature_sets(config.recipe.core, batch)
            for at, group in enumerate(numbers.tolist()):
                parts[group].append(hashes[offsets[at] : offsets[at + 1]])
        # The features of one text are distinct and ascend.
        sets = [each[0] if len(each) == 1 else distinct(np.concatenate(each)) for each in parts.values()]
        counts = np.array([len(each) for each in sets], np.int64)
        return FeatureSets(list_offsets(counts), np.concatenate([np.zeros(0, np.uint64), *sets]))

    def expand(self, result: DedupResult, column: str | None) -> DedupResult:
        """Return the result of groups with the rows of their documents; tables name groups."""
        kept = np.zeros(len(self), bool)
        kept[result.kept_rows] = True
        weights = np.zeros(len(self), np.int64)
        weights[result.kept_rows] = result.weights
        rows = np.flatnonzero(kept[self.numbers])
        total = len(self.numbers)
        result.summary["groups"] = {
            "column": column,
            "documents": total,
            "kept": len(rows),
            "removed": total - len(rows),
        }
        return replace(
            result,
            kept_rows=rows,
            ids=self.documents.ids,
            weights=weights[self.numbers[rows]],
            groups=self.documents.columns[GROUP],
        )

    def _read(self, groups: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], TextBatch]]:
        """Yield the texts of groups in row order, in batches of limited characters, with the group of each."""
        if not len(groups):
            return
        sizes = np.diff(self.offsets)[groups]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = np.sort(self.rows[np.repeat(self.offsets[groups], sizes) + within])
        for start, end in chunk_ranges(np.cumsum(self.documents.lengths[rows].astype(np.int64)), _CHARACTERS):
            yield self.numbers[rows[start:end]], self.documents.look_up(rows[start:end])

    def _contents(self) -> NDArray[np.uint64]:
        """Return a hash of the contents of the documents of each group, in row order."""
        contents = np.ascontiguousarray(self.documents.contents[self.rows])
        ends = zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)
        return content_hashes([contents[start:end].tobytes().hex() for start, end in ends])[0].reshape(-1, 2)

    def _columns(self, order: Sequence[KeepKey]) -> dict[str, Column]:
        """Return the columns of the keep rule, and the sources, by group."""
        columns = {}
        for key in order:
            if key.column:
                numbers = self.documents.columns[column_key(key.column)].numbers(key.column)[self.rows]
                reduce = np.fmax if key.by == "max" else np.fmin
                values = reduce.reduceat(numbers, self.offsets[:-1]) if len(self) else numbers
                columns[column_key(key.column)] = Column.of(
                    [None if value != value else value for value in values.tolist()]
                )
        if "source" in self.documents.columns:
            first = self.rows[self.offsets[:-1]]
            columns["source"] = Column.of(self.documents.columns["source"].take(first))
        return columns


def _strings(texts: TextBatch) -> list[str | None]:
    look_up, count = texts_by_row(texts)
    return to_strings(look_up(np.arange(count)))
