"""Candidate sources, one module per family: they hash documents and propose candidates among them.

The configuration imports `containment` on first use.
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
from nearkin.dedup.candidates.digests import DigestCandidates, FeatureCandidates, FileCandidates, TlshCandidates
from nearkin.dedup.candidates.minhash import RECALL, MinHashCandidates
from nearkin.dedup.candidates.simhash import SimHashCandidates

__all__ = [
    "RECALL",
    "CandidateBatch",
    "CandidateLists",
    "CandidatePairs",
    "CandidateSearch",
    "CandidateSource",
    "DigestCandidates",
    "DocumentSearch",
    "FeatureCandidates",
    "FileCandidates",
    "FilteredCandidateSource",
    "ListedBatch",
    "MinHashCandidates",
    "OrderedValues",
    "Ordinals",
    "SimHashCandidates",
    "StaticCandidateSource",
    "StaticSearch",
    "TextBatch",
    "TextCandidateSource",
    "TextSearch",
    "TlshCandidates",
    "Values",
]
