"""Sketches propose the documents that are contained in others, with a recall that is computed.

Each document has a sketch, its features with the smallest hashes (`nearkin.theory.containment`). The smaller document
of a pair is represented by its sketch, the larger one gives all its features, so that it may be larger by any factor:
the features of a batch are read from its texts, counted, and forgotten.

1. `read` hashes the texts of a batch.
2. `find` gives for each of them the documents that were added before: the smaller ones, whose sketches its features are
   counted in, and the larger ones, which said so when they were added.
3. `add` has the added documents' features counted in the sketches of all that come later.

So every kept document is counted twice, once for the documents before it and once for those behind it, and a document
that is removed once. Kernel: `crates/nearkin-core/src/search/sketches.rs`.
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
    OlderIndex,
    PlacedValues,
    Places,
    ReadsTexts,
    TextBatch,
    Values,
    offsets_of,
)
from nearkin.dedup.summary import Summary
from nearkin.errors import bad_parameter
from nearkin.recipe import Recipe
from nearkin.theory.containment import CONTAINMENT_RECALL, containment_min_shared, containment_size

__all__ = ["ContainmentCandidates", "ContainmentSearch"]

# Documents whose larger candidates are held together.
_SPAN = 1 << 12


class ContainmentCandidates:
    """Sketches of a recipe's features, and candidates by shared hashes.

    Parameters
    ----------
    recipe : Recipe
        Says what the features are; its family, bits and weights say nothing here.
    threshold : float
        Containment of the smaller document in the larger one from which pairs are wanted.
    recall : float, optional
        Wanted probability that a pair at the threshold becomes a candidate; 0.95 for None.
    seed : int
        Chooses the hash functions: a run with another one misses other pairs.

    Raises
    ------
    ParameterError
        A threshold or recall out of its range.
    """

    equal: ClassVar[float] = 1.0

    def __init__(self, recipe: Recipe, threshold: float, recall: float | None = None, *, seed: int = 0) -> None:
        self.recipe, self.threshold, self.seed = recipe, threshold, seed
        self.recall = CONTAINMENT_RECALL if recall is None else recall
        self.size = containment_size(threshold, self.recall)

    def hash(self, texts: TextBatch) -> tuple[Values, NDArray[np.uint64]]:
        """Sketches, `(n, size + 1)` with the number of features in front, and feature counts."""
        rows, counts = text_sketches(self.recipe.core, texts, self.size, self.seed)
        return rows.reshape(-1, self.size + 1), counts

    def search(self, values: Values | PlacedValues) -> ContainmentSearch:
        """An empty search over sketches."""
        return ContainmentSearch(self, values[:])

    def distances(self, left: Values, right: Values) -> NDArray[np.int64]:
        """How many features one document of each pair has more than the other."""
        return np.abs(left[:, 0].astype(np.int64) - right[:, 0].astype(np.int64))

    def similarities(self, left: Values, right: Values) -> NDArray[np.float64]:
        """NaN: two sketches do not say what texts share."""
        return np.full(len(left), np.nan)

    def older_index(self, against: object) -> OlderIndex | None:
        """None: no index holds the features of older documents."""
        return None

    def least(self, counts: NDArray[np.integer]) -> NDArray[np.uint16]:
        """How many hashes of the sketch of a document with this many features another one must have."""
        return containment_min_shared(self.threshold, counts, self.size, self.recall)

    def summary(self) -> Summary:
        """The size of a sketch, and the recall that was asked for, which every size of document reaches."""
        return {"sketch_size": self.size, "expected_recall": self.recall}


class ContainmentSearch(ReadsTexts):
    """Sketches by place, and lists of the documents that have their rare hashes.

    Documents are read and added in the order of their places, batch by batch; one that is read and not added is left
    out from the next batch on.
    """

    most: ClassVar[int] = 512

    def __init__(self, source: ContainmentCandidates, values: Values) -> None:
        self._source, self._values = source, np.ascontiguousarray(values)
        self._index = self._indexed(self._values)
        self._batch = self._order = np.zeros(0, np.int64)
        self._hashed: HashedFeatures | None = None
        self._settled = True
        self._added = 0
        self._larger = _LargerDocuments()

    def _indexed(self, values: Values) -> SketchIndex:
        return SketchIndex(values.reshape(-1), self._source.size, self._source.least(values[:, 0]))

    def __len__(self) -> int:
        return self._added

    def read(self, places: Places, texts: TextBatch) -> None:
        """Hash the texts of the next documents, which the calls up to the next `read` are about.

        Parameters
        ----------
        places : (n,) int64
            Behind those that were read before, in any order.
        texts : texts, one per place
        """
        self._settle(np.zeros(0, np.int64))
        self._order = np.argsort(places, kind="stable")
        self._batch, self._settled = places[self._order], False
        self._hashed = HashedFeatures(self._source.recipe.core, texts, self._source.seed)

    def _settle(self, kept: Places) -> None:
        """The batch was visited, and these of it are found from now on."""
        if not self._settled:
            self._index.settle(self._batch.astype(np.uint32), np.isin(self._batch, kept))
            self._settled = True

    def _scan(self, index: SketchIndex, places: Places, *, kept: bool) -> tuple[NDArray[np.int64], Places]:
        if self._hashed is None:
            raise bad_parameter("places", f"{len(places)} documents", "none before their texts are read")
        numbers = self._order[np.searchsorted(self._batch, places)].astype(np.uint32)
        offsets, found = index.scan(self._hashed, numbers, kept=kept)
        return offsets, found.astype(np.int64)

    def add(self, places: Places) -> None:
        """Let these documents of the batch be found, and note what they contain of the later ones."""
        offsets, later = self._scan(self._index, places, kept=False)
        owners = np.repeat(places, np.diff(offsets))
        other = later != owners
        self._larger.add(later[other], owners[other])
        self._settle(places)
        self._added += len(places)

    def find(self, values: Values) -> CandidateLists:
        """For each document of the batch those that were added and that may contain it, or be contained in it.

        `values` are the batch's.
        """
        batch = self._batch
        if len(values) != len(batch):
            raise bad_parameter("values", f"{len(values)} documents", f"{len(batch)}, those that were read")
        offsets, smaller = self._scan(self._index, batch, kept=True)
        of_smaller = np.repeat(np.arange(len(batch)), np.diff(offsets))
        found, larger = self._larger.of(batch)
        owners = np.concatenate([of_smaller, np.searchsorted(batch, found)])
        places = np.concatenate([smaller, larger])
        # Documents of one size may find each other twice.
        pairs = np.unique(owners * (len(self._values) + 1) + places)
        owners, places = np.divmod(pairs, len(self._values) + 1)
        return CandidateLists(offsets_of(np.bincount(owners, minlength=len(batch))), places)

    def within(self, places: Places) -> CandidateBatch:
        """The pairs of some documents of the batch of which one may contain the other."""
        index = self._indexed(self._values[places])
        offsets, found = self._scan(index, places, kept=False)
        owners = np.repeat(np.arange(len(places)), np.diff(offsets))
        other = found != owners
        left, right = np.minimum(owners, found)[other], np.maximum(owners, found)[other]
        pairs = np.unique(left * (len(places) + 1) + right)
        left, right = np.divmod(pairs, len(places) + 1)
        return ListedBatch.of(left, right)

    def pairs(self) -> CandidatePairs:
        """Refused: the features of all documents are never held at once; `find` gives the pairs batch by batch."""
        raise bad_parameter("pairs", "all at once", "find, for each batch after it was added")


class _LargerDocuments:
    """For documents that come later those that may contain them, until they are asked for."""

    def __init__(self) -> None:
        self._spans: dict[int, list[NDArray[np.int64]]] = {}

    def add(self, places: Places, larger: Places) -> None:
        """Note a larger document for each place."""
        pairs = np.stack([places, larger])[:, np.argsort(places, kind="stable")]
        spans = pairs[0] // _SPAN
        cuts = np.flatnonzero(np.diff(spans)) + 1
        for part in np.split(pairs, cuts, axis=1):
            if part.shape[1]:
                self._spans.setdefault(int(part[0, 0]) // _SPAN, []).append(part)

    def of(self, places: Places) -> tuple[Places, Places]:
        """Which of these ascending places have larger documents, once for each, and those; spans before them go."""
        if not len(places):
            return places, places
        first, last = int(places[0]) // _SPAN, int(places[-1]) // _SPAN
        for span in [span for span in self._spans if span < first]:
            del self._spans[span]
        parts = [part for span in range(first, last + 1) for part in self._spans.get(span, ())]
        pairs = np.concatenate([np.zeros((2, 0), np.int64), *parts], axis=1)
        left, right = pairs[:, np.isin(pairs[0], places)]
        return left, right
