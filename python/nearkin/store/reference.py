"""The documents of a store as what new ones are held against, for `nearkin.dedup(against=store)`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates import CandidateLists, CandidateSource, Places, TextBatch, Values
from nearkin.dedup.verify import FeatureSets
from nearkin.store.snapshot import StoreView


class OlderOnDisk:
    """`nearkin.dedup.reference.OlderDocuments`, each look-up in a transaction of its own.

    Parameters
    ----------
    view : function
        Gives a context with the documents of rows below a number.
    stop : int
        Rows below it were there when this was made: what is added later is left out.
    source : CandidateSource
        The family that asks, with what it skips.
    """

    def __init__(
        self, view: Callable[[int], AbstractContextManager[StoreView]], stop: int, source: CandidateSource
    ) -> None:
        self._view, self._stop, self._source = view, stop, source

    def __len__(self) -> int:
        """Above every row."""
        return self._stop

    def copies(self, contents: NDArray[np.uint64]) -> Places:
        """The first document that stays with each content; -1 for none."""
        with self._view(self._stop) as view:
            return view.copies(contents)

    def candidates(self, values: Values) -> CandidateLists:
        """Documents that may match each of these values, ascending."""
        with self._view(self._stop) as view:
            return view.candidates(values, self._source)

    def values(self, rows: Places) -> Values:
        """The values of these rows."""
        with self._view(self._stop) as view:
            return view.values(rows)

    def lengths(self, rows: Places) -> NDArray[np.uint64]:
        """How many characters their texts have."""
        with self._view(self._stop) as view:
            return view.lengths(rows)

    def texts(self, rows: Places) -> TextBatch | FeatureSets:
        """Their texts, or the features that the store keeps; the rows are ascending."""
        with self._view(self._stop) as view:
            return view.texts(rows)

    def ids(self, rows: Places) -> list[Any]:
        """Their ids, as they were given."""
        with self._view(self._stop) as view:
            return view.ids(rows)
