"""The keep rule: in which order documents are visited, so which one of a cluster stays.

Ties are broken by id (numbers before strings), then by row; missing numbers come last.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nearkin.io import Column
from nearkin.io.values import INT, TEXT
from nearkin.pipeline.documents import HashedDocuments

KeepRule = Literal["first", "last", "longest", "shortest", "max", "min"]
"""Which document of a cluster stays: by row, by length, or by the column `keep`."""


def keep_order(new: HashedDocuments, keep: KeepRule) -> NDArray[np.int64]:
    """Rows in keep order."""
    rows = np.arange(len(new))
    if keep == "first":
        return rows
    if keep == "last":
        return np.ascontiguousarray(rows[::-1])
    by_length = keep in ("longest", "shortest")
    key: NDArray[np.float64] = new.lengths.astype(np.float64) if by_length else new.columns["keep"].numbers("keep")
    if keep in ("longest", "max"):
        key = -key
    # NaN sorts last whatever the direction; ties by id, then by row.
    return np.asarray(np.lexsort((rows, _rank(new.ids), key)), np.int64)


def _rank(ids: Column) -> NDArray[np.int64]:
    """Numbers in the order of the ids: numbers before strings. Integers stand for themselves."""
    if (ids.kinds == INT).all():
        return ids.values
    values: list[Any] = ids.to_list()
    key = values.__getitem__ if (ids.kinds == TEXT).all() else lambda row: (isinstance(values[row], str), values[row])
    order = sorted(range(len(values)), key=key)
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    return rank
