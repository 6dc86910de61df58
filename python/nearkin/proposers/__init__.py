"""Proposers, one file a family: how deduplication hashes documents and finds candidates among them."""

from __future__ import annotations

from nearkin.proposers.base import Batch, Candidates, Links, ListedBatch, Places, Proposer, Search, Values
from nearkin.proposers.simhash import SimHashProposer
from nearkin.proposers.ssdeep import DigestProposer

__all__ = [
    "Batch",
    "Candidates",
    "DigestProposer",
    "Links",
    "ListedBatch",
    "Places",
    "Proposer",
    "Search",
    "SimHashProposer",
    "Values",
]
