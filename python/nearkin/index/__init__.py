"""Indexes for every kind of value, exact or with a stated probability, under one contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.index.bands import BandIndex as BandIndex
    from nearkin.index.digests import DigestIndex as DigestIndex
    from nearkin.index.hamming import HammingIndex as HammingIndex
    from nearkin.index.lsh import LSHIndex as LSHIndex
    from nearkin.index.results import Pairs as Pairs
    from nearkin.index.results import SearchResult as SearchResult
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "bands": ["BandIndex"],
            "digests": ["DigestIndex"],
            "hamming": ["HammingIndex"],
            "lsh": ["LSHIndex"],
            "results": ["Pairs", "SearchResult"],
        },
    )
