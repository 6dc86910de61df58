"""Candidate sources, one file per family: how deduplication hashes documents and finds candidates among them.

`containment` is imported where it is asked for.
"""

from __future__ import annotations

from nearkin.pipeline.candidates.base import (
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
from nearkin.pipeline.candidates.confirm import ConfirmedCandidates
from nearkin.pipeline.candidates.files import FileCandidates
from nearkin.pipeline.candidates.minhash import RECALL, MinHashCandidates
from nearkin.pipeline.candidates.simhash import SimHashCandidates
from nearkin.pipeline.candidates.ssdeep import DigestCandidates

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
