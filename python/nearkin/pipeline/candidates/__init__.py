"""Candidate sources, one file per family: how deduplication hashes documents and finds candidates among them.

`containment` is imported where it is asked for.
"""

from __future__ import annotations

from nearkin.pipeline.candidates.base import (
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    CandidateSource,
    ListedBatch,
    OlderIndex,
    PlacedValues,
    Places,
    ReadsTexts,
    TextBatch,
    TextCandidateSource,
    Values,
)
from nearkin.pipeline.candidates.confirm import ConfirmedCandidates
from nearkin.pipeline.candidates.minhash import RECALL, MinHashCandidates
from nearkin.pipeline.candidates.simhash import SimHashCandidates
from nearkin.pipeline.candidates.ssdeep import DigestCandidates

__all__ = [
    "RECALL",
    "CandidateBatch",
    "CandidateLists",
    "CandidatePairs",
    "CandidateSearch",
    "CandidateSource",
    "ConfirmedCandidates",
    "DigestCandidates",
    "ListedBatch",
    "MinHashCandidates",
    "OlderIndex",
    "PlacedValues",
    "Places",
    "ReadsTexts",
    "SimHashCandidates",
    "TextBatch",
    "TextCandidateSource",
    "Values",
]
