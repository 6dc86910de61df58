"""Indexes for every kind of value, exact or with a stated probability, under one contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.index.bands import BandIndex
    from nearkin.index.digests import DigestIndex
    from nearkin.index.hamming import HammingIndex
    from nearkin.index.lsh import LSHIndex
    from nearkin.index.results import Pairs, SearchResult

__all__ = ["BandIndex", "DigestIndex", "HammingIndex", "LSHIndex", "Pairs", "SearchResult"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "BandIndex": "bands",
            "DigestIndex": "digests",
            "HammingIndex": "hamming",
            "LSHIndex": "lsh",
            "Pairs": "results",
            "SearchResult": "results",
        },
    )


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
