"""Proposers, one file a family: how deduplication hashes documents and finds candidates among them."""

from __future__ import annotations

from nearkin.proposers.base import Batch, Candidates, Links, ListedBatch, Places, Proposer, Search, Values
from nearkin.proposers.confirm import ConfirmedProposer
from nearkin.proposers.minhash import MinHashProposer, check_recall
from nearkin.proposers.simhash import SimHashProposer
from nearkin.proposers.ssdeep import DigestProposer

__all__ = [
    "Batch",
    "Candidates",
    "ConfirmedProposer",
    "DigestProposer",
    "Links",
    "ListedBatch",
    "MinHashProposer",
    "Places",
    "Proposer",
    "Search",
    "SimHashProposer",
    "Values",
    "check_recall",
]
