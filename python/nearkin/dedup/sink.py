"""Collections that say what they were made for, and that remember what a deduplication keeps (a store is one)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from nearkin.dedup.candidates import CandidateSource
from nearkin.dedup.distinguishers import Differing
from nearkin.dedup.documents import Cells, HashedDocuments, as_column
from nearkin.dedup.reference import HoldsOlderDocuments, OlderDocuments
from nearkin.dedup.result import DedupResult
from nearkin.dedup.stages import Featureless
from nearkin.errors import bad_parameter, mismatch
from nearkin.families.base import Family
from nearkin.io import Column, OutputDir
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

    @property
    def differ(self) -> tuple[str, ...]:
        """Rules by which documents that are alike differ, and are no matches."""

    @property
    def featureless(self) -> Featureless:
        """Whether equal documents without features are copies."""

    def check_verify(self, verify: str, rules: tuple[str, ...]) -> None:
        """Raise MismatchError for a measure, or rules of `differ`, that what is held of texts does not allow."""


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


class Matching(Protocol):
    """What the options of a run say of matches."""

    @property
    def threshold(self) -> float:
        """Smallest similarity of a match, inclusive."""

    @property
    def verify(self) -> str:
        """How matches are verified."""

    @property
    def differ(self) -> tuple[str, ...]:
        """Rules by which documents that are alike differ."""

    @property
    def differing(self) -> Differing:
        """Whether those that differ are no matches."""

    @property
    def featureless(self) -> Featureless:
        """Whether equal documents without features are copies."""


def check_store(store: RemembersDocuments, against: object, options: Matching) -> None:
    """Refuse options by which a store would remember what it would not have called new.

    Raises
    ------
    ParameterError
        Older documents beside the store's.
    MismatchError
        Another threshold or verification than the store's, other rules.
    """
    if against is not None:
        raise bad_parameter(
            "against", repr(against)[:40], "None with store=, which is what new documents are held against"
        )
    for name in ("threshold", "verify", "featureless"):
        own, given = getattr(store.settings, name), getattr(options, name)
        if own != given:
            raise mismatch(name, f"the store's {own}", given)
    rules = options.differ if options.differing == "keep" else ()
    if sorted(store.settings.differ) != sorted(rules):
        own, given = (", ".join(names) or "none" for names in (store.settings.differ, rules))
        raise mismatch("differ", f"the store's {own}", given)


def check_remembering(store: object, columns: object, output: object) -> None:
    """Refuse what is for a store alone where none is given.

    Raises
    ------
    ParameterError
        Columns or an output.
    """
    if store is None and (columns is not None or output is not None):
        raise bad_parameter("store", "None", "a store, with columns= or output=")


def columns_of(cells: Mapping[str, Cells], count: int, noun: str) -> dict[str, Column]:
    """What a store is to remember of documents, by name.

    Raises
    ------
    ParameterError
        No mapping, or a column of another length; `noun` says what there is a value for.
    """
    if not isinstance(cells, Mapping):
        raise bad_parameter("columns", repr(cells)[:40], f"a mapping of names to one value per {noun}")
    found = {name: as_column(values) for name, values in cells.items()}
    for name, column in found.items():
        if len(column) != count:
            raise bad_parameter(f"columns[{name!r}]", f"{len(column)} values", f"{count} values, one per {noun}")
    return found
