"""Candidate sources, one module per family: they hash documents and propose candidates among them.

The package exports what all share and the default family; other families are imported from their modules.
"""

from __future__ import annotations

from nearkin.dedup.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    CandidateSource,
    DocumentSearch,
    FilteredCandidateSource,
    ListedBatch,
    OrderedValues,
    Ordinals,
    StaticCandidateSource,
    StaticSearch,
    TextBatch,
    TextCandidateSource,
    TextSearch,
    Values,
)
from nearkin.dedup.candidates.minhash import RECALL, MinHashCandidates

__all__ = [
    "RECALL",
    "CandidateBatch",
    "CandidateLists",
    "CandidatePairs",
    "CandidateSearch",
    "CandidateSource",
    "DocumentSearch",
    "FilteredCandidateSource",
    "ListedBatch",
    "MinHashCandidates",
    "OrderedValues",
    "Ordinals",
    "StaticCandidateSource",
    "StaticSearch",
    "TextBatch",
    "TextCandidateSource",
    "TextSearch",
    "Values",
]
