"""Containment candidates: documents whose sketch is contained in another document, with a computed recall.

The sketch of a document is its features with the smallest hashes (`nearkin.theory.containment`). The smaller document
of a pair is represented by its sketch and the larger one by all its features, so it may be larger by any factor. The
features of a batch are read from its texts, counted, and dropped.

1. `read` hashes the texts of a batch.
2. `find` returns for each of them the documents that were added before: the smaller ones, in whose sketches its
   features are counted, and the larger ones, which were recorded when they were added.
3. `add` counts the features of the added documents in the sketches of all later ones.

So a kept document is counted twice, for the documents before it and for those after it, and a removed one once.
Kernel: `crates/nearkin-core/src/index/sketches.rs`.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from nearkin._core import HashedFeatures, SketchIndex, text_sketches
from nearkin.dedup.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    ListedBatch,
    OrderedValues,
    Ordinals,
    TextBatch,
    TextSearch,
    Values,
    distinct,
)
from nearkin.dedup.summary import FamilySummary
from nearkin.errors import bad_parameter
from nearkin.recipe import Recipe
from nearkin.theory.containment import CONTAINMENT_RECALL, containment_min_shared, containment_size

_SPAN = 1 << 12
"""Documents whose larger candidates are stored together."""


class ContainmentCandidates:
    """Sketches of a recipe's features, and candidates by shared hashes.

    Parameters
    ----------
    recipe : Recipe
        Defines the features; its family, bits and weights have no effect.
    threshold : float
        Smallest containment of the smaller document in the larger one.
    recall : float, optional
        Requested probability that a pair at the threshold becomes a candidate; 0.95 for None.
    seed : int
        Chooses the hash functions: a run with another seed misses other pairs.

    Raises
    ------
    ParameterError
        A threshold or recall out of range.
    """

    equal: ClassVar[float] = 1.0

    def __init__(self, recipe: Recipe, threshold: float, recall: float | None = None, *, seed: int = 0) -> None:
        self.recipe, self.threshold, self.seed = recipe, threshold, seed
        self.recall = CONTAINMENT_RECALL if recall is None else recall
        self.size = containment_size(threshold, self.recall)

    def calibrate(self, texts: TextBatch, num_documents: int) -> None:
        """Do nothing: the parameters do not depend on the documents."""

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Return sketches, `(n, size + 1)` with the number of features first, and feature counts."""
        rows, counts = text_sketches(self.recipe.core, texts, self.size, self.seed)
        return rows.reshape(-1, self.size + 1), counts

    def search(self, values: Values | OrderedValues) -> ContainmentSearch:
        """Return an empty search over sketches."""
        return ContainmentSearch(self, values[:])

    def index(self, values: Values) -> SketchIndex:
        """Return an index of sketches."""
        return SketchIndex(values.reshape(-1), self.size, self.min_shared(values[:, 0]))

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """Return the differences of the numbers of features."""
        return np.abs(left[:, 0].astype(np.int64) - right[:, 0].astype(np.int64))

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """Return NaN: sketches do not determine the containment."""
        return np.full(len(left), np.nan)

    def min_shared(self, counts: NDArray[np.integer]) -> NDArray[np.uint16]:
        """Return for documents with these numbers of features how many hashes of their sketch a candidate must have."""
        return containment_min_shared(self.threshold, counts, self.size, self.recall)

    def summary(self) -> FamilySummary:
        """Return the size of a sketch and the requested recall, which documents of any size reach."""
        return {"sketch_size": self.size, "expected_recall": self.recall}


class ContainmentSearch(TextSearch):
    """Sketches by ordinal, and lists of the documents that have their rare hashes.

    Documents are read and added in keep order, batch by batch; one that is read and not added is dropped with the next
    batch.
    """

    max_batch: ClassVar[int] = 512

    def __init__(self, source: ContainmentCandidates, values: Values) -> None:
        self._source, self._values = source, np.ascontiguousarray(values)
        self._index = source.index(self._values)
        self._batch = self._order = np.zeros(0, np.int64)
        self._hashed: HashedFeatures | None = None
        self._settled = True
        self._added = 0
        self._larger = _LargerDocuments()

    def __len__(self) -> int:
        return self._added

    def read(self, ordinals: Ordinals, texts: TextBatch) -> None:
        """Hash the texts of the next documents, for all calls up to the next `read`.

        Parameters
        ----------
        ordinals : (n,) int64
            After those of earlier batches, in any order.
        texts : texts, one per ordinal
        """
        self._settle(np.zeros(0, np.int64))
        self._order = np.argsort(ordinals, kind="stable")
        self._batch, self._settled = ordinals[self._order], False
        self._hashed = HashedFeatures(self._source.recipe.core, texts, self._source.seed)

    def _settle(self, kept: Ordinals) -> None:
        """End the batch: later calls find these of its documents and no others."""
        if not self._settled:
            self._index.settle(self._batch.astype(np.uint32), np.isin(self._batch, kept))
            self._settled = True

    def _scan(self, index: SketchIndex, ordinals: Ordinals, *, kept: bool) -> tuple[NDArray[np.int64], Ordinals]:
        """Return offsets and ordinals of the sketches that match the features of each document."""
        if self._hashed is None:
            raise bad_parameter("ordinals", f"{len(ordinals)} documents", "none before their texts are read")
        numbers = self._order[np.searchsorted(self._batch, ordinals)].astype(np.uint32)
        offsets, matches = index.scan(self._hashed, numbers, kept=kept)
        return offsets, matches.astype(np.int64)

    def add(self, ordinals: Ordinals) -> None:
        """Add these documents of the batch, and record the later ones that they contain."""
        offsets, later = self._scan(self._index, ordinals, kept=False)
        owners = np.repeat(ordinals, np.diff(offsets))
        other = later != owners
        self._larger.add(later[other], owners[other])
        self._settle(ordinals)
        self._added += len(ordinals)

    def find(self, values: Values) -> CandidateLists:
        """Return for each document of the batch the added ones that may contain it, or that it may contain.

        `values` are those of the batch.
        """
        batch = self._batch
        if len(values) != len(batch):
            raise bad_parameter("values", f"{len(values)} documents", f"{len(batch)}, those that were read")
        offsets, smaller = self._scan(self._index, batch, kept=True)
        smaller_owners = np.repeat(np.arange(len(batch)), np.diff(offsets))
        contained, larger = self._larger.of(batch)
        owners = np.concatenate([smaller_owners, np.searchsorted(batch, contained)])
        # Documents of one size may find each other twice.
        pairs = distinct(owners * (len(self._values) + 1) + np.concatenate([smaller, larger]))
        return CandidateLists.of_pairs(*np.divmod(pairs, len(self._values) + 1), len(batch))

    def within(self, ordinals: Ordinals) -> CandidateBatch:
        """Return pairs of documents of the batch if one may contain the other."""
        index = self._source.index(self._values[ordinals])
        offsets, matches = self._scan(index, ordinals, kept=False)
        owners = np.repeat(np.arange(len(ordinals)), np.diff(offsets))
        other = matches != owners
        left, right = np.minimum(owners, matches)[other], np.maximum(owners, matches)[other]
        pairs = distinct(left * (len(ordinals) + 1) + right)
        return ListedBatch.of(CandidatePairs(*np.divmod(pairs, len(ordinals) + 1)))

    def pairs(self) -> CandidatePairs:
        """Refuse: the features of all documents are never in memory at once; `find` returns pairs batch by batch."""
        raise bad_parameter("pairs", "all at once", "find, for each batch after it was added")


class _LargerDocuments:
    """For later documents the ones that may contain them, until they are requested."""

    def __init__(self) -> None:
        self._spans: dict[int, list[NDArray[np.int64]]] = {}

    def add(self, ordinals: Ordinals, larger: Ordinals) -> None:
        """Record a larger document for each ordinal."""
        pairs = np.stack([ordinals, larger])[:, np.argsort(ordinals, kind="stable")]
        spans = pairs[0] // _SPAN
        for chunk in np.split(pairs, np.flatnonzero(np.diff(spans)) + 1, axis=1):
            if chunk.shape[1]:
                self._spans.setdefault(int(chunk[0, 0]) // _SPAN, []).append(chunk)

    def of(self, ordinals: Ordinals) -> tuple[Ordinals, Ordinals]:
        """Return pairs of ascending ordinals and their larger documents; drop earlier pairs."""
        if not len(ordinals):
            return ordinals, ordinals
        first, last = int(ordinals[0]) // _SPAN, int(ordinals[-1]) // _SPAN
        for span in [span for span in self._spans if span < first]:
            del self._spans[span]
        chunks = [chunk for span in range(first, last + 1) for chunk in self._spans.get(span, ())]
        pairs = np.concatenate([np.zeros((2, 0), np.int64), *chunks], axis=1)
        left, right = pairs[:, np.isin(pairs[0], ordinals)]
        return left, right
