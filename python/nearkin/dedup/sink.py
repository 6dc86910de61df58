"""Interface of a collection that stores what a deduplication keeps; a store is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from nearkin.dedup.candidates import CandidateSource, Ordinals
from nearkin.dedup.config import AnyDedupConfig, CollectionSettings
from nearkin.dedup.documents import Cells, HashedDocuments, as_column
from nearkin.dedup.keep import removes_clusters
from nearkin.dedup.reference import ReferenceCorpus, ReferenceProvider
from nearkin.dedup.result import DedupResult
from nearkin.errors import bad_parameter, excerpt, mismatch
from nearkin.io import Column, OutputDir


@runtime_checkable
class ConfiguredCollection(Protocol):
    """A collection with settings, which a deduplication follows."""

    @property
    def settings(self) -> CollectionSettings:
        """Its settings."""


class DedupSink(ReferenceProvider, ConfiguredCollection, Protocol):
    """A collection that new documents are compared with, and that stores the kept ones."""

    def append(
        self,
        new: HashedDocuments,
        candidate_source: CandidateSource,
        decide: Callable[[ReferenceCorpus, Ordinals], DedupResult],
        *,
        numbered: bool,
        columns: Mapping[str, Column],
        output: Callable[[DedupResult], OutputDir] | None,
        ledger: bool = False,
    ) -> DedupResult:
        """Decide which documents are kept, and store them in one transaction with the output, if there is one.

        `decide` gets the documents of the collection, and for each new one without features the row under which the
        collection has it already, with its id and content; -1 for none. `decide` and then `output` are called again
        if the collection was changed by another process in between. With `numbered` the ids are the row numbers of the
        collection. With `ledger` the collection also records each removed document and its match, once under its id.
        """


def check_sink(store: DedupSink, against: object, config: AnyDedupConfig) -> None:
    """Refuse options by which the store would be given documents that it would not call new.

    Raises
    ------
    ParameterError
        Not a store; reference documents together with a store; a rule that keeps no document of a cluster.
    MismatchError
        Another threshold, verification or rule than the store's.
    """
    if not hasattr(store, "append"):
        allowed = "an open store, such as nearkin.Store.open(path)"
        raise bad_parameter("store", excerpt(repr(store), 60), allowed)
    if against is not None:
        raise bad_parameter("against", repr(against)[:40], "None with store=, which has the reference documents")
    if removes_clusters(config.order):
        allowed = "a rule that keeps one document of a cluster: the store would not recognise the next copy of none"
        raise bad_parameter("keep", "none", allowed)
    settings = store.settings
    for name in ("threshold", "verify", "empty"):
        own, value = getattr(settings, name), getattr(config, name)
        if own != value:
            raise mismatch(name, f"the store's {own}", value)
    if sorted(settings.differ) != sorted(config.differ):
        own, value = (", ".join(names) or "none" for names in (settings.differ, config.differ))
        raise mismatch("differ", f"the store's {own}", value)


def check_columns(cells: Mapping[str, Cells], count: int, noun: str) -> dict[str, Column]:
    """Return the columns that a store keeps with its documents, by name.

    Raises
    ------
    ParameterError
        No mapping, or a column of another length than `count`; `noun` is what has one value each.
    """
    if not isinstance(cells, Mapping):
        raise bad_parameter("columns", repr(cells)[:40], f"a mapping of names to one value per {noun}")
    columns = {name: as_column(values) for name, values in cells.items()}
    for name, column in columns.items():
        if len(column) != count:
            raise bad_parameter(f"columns[{name!r}]", f"{len(column)} values", f"{count} values, one per {noun}")
    return columns
