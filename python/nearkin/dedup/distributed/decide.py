"""Links → which documents stay, on the driver.

Keep, then absorb is the lexicographically first independent set of the links, in the order of numbers: a document stays
unless an earlier one that stays is linked to it, and the first of these removes it. Documents without links never come
here. Memory: 24 bytes per link, and 40 per document of a link, while it is decided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearkin._core import absorb_listed
from nearkin._core import components as _components

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Decision:
    """What became of the documents that have links.

    Attributes
    ----------
    removed : (n,) int64
        Numbers of the new documents that do not stay, ascending.
    by : (n,) int64
        Number of the one that stays for each.
    """

    removed: Numbers
    by: Numbers


def absorb(left: Numbers, right: Numbers) -> Decision:
    """Keep, then absorb.

    Parameters
    ----------
    left, right : (m,) int64
        Linked documents, the earlier one left; each link once or more.
    """
    documents, earlier, later = _places(left, right)
    order = np.lexsort((later, earlier))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(earlier, minlength=len(documents)))]).astype(np.int64)
    by, *_ = absorb_listed(
        None,
        documents=np.arange(len(documents), dtype=np.uint32),
        offsets=offsets,
        later=later[order].astype(np.uint32),
        similarity=None,
        threshold=0.0,
        most=max(len(left), 1),
    )
    removed = np.flatnonzero(by >= 0)
    return Decision(documents[removed], documents[by[removed]])


def components(left: Numbers, right: Numbers) -> Decision:
    """Connected components: the first document of each stays."""
    documents, earlier, later = _places(left, right)
    labels = _components(len(documents), earlier.astype(np.uint32), later.astype(np.uint32)).astype(np.int64)
    removed = np.flatnonzero((labels != np.arange(len(documents))) & (documents >= 0))
    return Decision(documents[removed], documents[labels[removed]])


def _places(left: Numbers, right: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """All documents in order, and the places of both sides among them."""
    documents, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    earlier, later = np.split(places.reshape(-1), 2)
    return documents, earlier, later
