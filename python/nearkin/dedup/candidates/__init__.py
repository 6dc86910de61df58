"""Candidate sources, one file per family: how deduplication hashes documents and finds candidates among them.

`containment` is imported where it is asked for.
"""

from __future__ import annotations

from nearkin.dedup.candidates.base import (
    AddsDocuments,
    CandidateBatch,
    CandidateLists,
    CandidatePairs,
    CandidateSearch,
    CandidateSource,
    KnowsPlaces,
    ListedBatch,
    OlderIndex,
    PlacedValues,
    Places,
    ReadsTexts,
    SearchesKnown,
    TextBatch,
    TextCandidateSource,
    Values,
)
from nearkin.dedup.candidates.confirm import ConfirmedCandidates
from nearkin.dedup.candidates.files import FileCandidates
from nearkin.dedup.candidates.minhash import RECALL, MinHashCandidates
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.dedup.candidates.ssdeep import DigestCandidates

__all__ = [
    "RECALL",
    "AddsDocuments",
    "CandidateBatch",
    "CandidateLists",
    "CandidatePairs",
    "CandidateSearch",
    "CandidateSource",
    "ConfirmedCandidates",
    "DigestCandidates",
    "FileCandidates",
    "KnowsPlaces",
    "ListedBatch",
    "MinHashCandidates",
    "OlderIndex",
    "PlacedValues",
    "Places",
    "ReadsTexts",
    "SearchesKnown",
    "SimHashCandidates",
    "TextBatch",
    "TextCandidateSource",
    "Values",
]
