"""Collections that say what they were made for, and that remember what a deduplication keeps (a store is one)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from nearkin.families.base import Family
from nearkin.io import Column, OutputDir
from nearkin.pipeline.candidates import CandidateSource
from nearkin.pipeline.documents import HashedDocuments
from nearkin.pipeline.older import HoldsOlderDocuments, OlderDocuments
from nearkin.pipeline.results import DedupResult
from nearkin.recipe.base import FrozenRecipe


class HeldSettings(Protocol):
    """What a collection was made for: a deduplication follows it where its caller says nothing."""

    @property
    def recipe(self) -> FrozenRecipe | Family:
        """How its documents are hashed."""

    @property
    def threshold(self) -> float:
        """Smallest similarity of a match, inclusive."""

    @property
    def radius(self) -> int | None:
        """Largest Hamming distance of a candidate."""

    @property
    def recall(self) -> float | None:
        """Wanted probability that a pair at the threshold is found."""

    @property
    def verify(self) -> str:
        """How matches are verified."""

    def check_verify(self, verify: str) -> None:
        """Raise MismatchError for a measure that what is held of texts does not allow."""


@runtime_checkable
class HasSettings(Protocol):
    """A collection that says what it was made for."""

    @property
    def settings(self) -> HeldSettings:
        """What it was made for."""


class RemembersDocuments(HoldsOlderDocuments, HasSettings, Protocol):
    """A collection that new documents are held against, and that remembers those that stay."""

    def remember(
        self,
        new: HashedDocuments,
        candidate_source: CandidateSource,
        decide: Callable[[OlderDocuments], DedupResult],
        *,
        numbered: bool,
        columns: Mapping[str, Column],
        output: Callable[[DedupResult], OutputDir] | None,
    ) -> DedupResult:
        """Decide which documents stay, and remember them in one step with the output, if there is one.

        `decide` is called once more if the collection has changed meanwhile, and `output` after it. With `numbered` ids
        are the collection's own row numbers.
        """
