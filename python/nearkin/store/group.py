"""`StoreGroup`: several stores with the same settings, queried as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.errors import bad_parameter, mismatch
from nearkin.index.ids import Id
from nearkin.progress import ShowProgress
from nearkin.recipe.base import FrozenRecipe
from nearkin.store.kinds.base import Kind
from nearkin.store.results import CheckResult
from nearkin.store.store import Items, Store

if TYPE_CHECKING:
    from typing_extensions import Self

_OWN_SETTINGS = ("text",)
"""Settings in which the stores of a group may differ: what a store keeps of its texts changes no result."""


@dataclass(frozen=True)
class GroupResult(CheckResult):
    """Result of `StoreGroup.check`: a `CheckResult` that names the store of each match.

    Attributes
    ----------
    stores : list of Path or None
        The folder of the store that has the matching document; None for a new document.
    """

    stores: list[Path | None] = field(default_factory=list)

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The result by column: status, id of the match, distance, similarity, store."""
        return {**super().columns, "store": [None if path is None else str(path) for path in self.stores]}


class StoreGroup:
    """Several open stores that are queried as one. A group changes none of them.

    Each store answers for the documents that no store before it matches, so the first match wins, in the order of the
    stores.

    Parameters
    ----------
    stores : iterable of Store
        One or more, with equal recipes, thresholds, candidates and verification. `close` closes them.

    Raises
    ------
    ParameterError
        No store.
    MismatchError
        A store has other settings than the first one.

    Examples
    --------
    >>> import nearkin as nk, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name, text in (("old", "A page about the sea and the wind."), ("new", "A page about cats.")):
    ...     with nk.Store.create(f"{folder}/{name}.store") as store:
    ...         result = store.add([text], [name])
    >>> stores = [nk.Store.open(f"{folder}/{name}.store", "r") for name in ("new", "old")]
    >>> with nk.StoreGroup(stores) as group:
    ...     result = group.check(["A page about the sea and the wind.", "Something else entirely."])
    >>> result.status, result.ids, [store and store.name for store in result.stores]
    (['exact', 'new'], ['old', None], ['old.store', None])
    """

    def __init__(self, stores: Iterable[Store]) -> None:
        self._stores = tuple(stores)
        if not self._stores:
            raise bad_parameter("stores", "none", "one or more open stores")
        for store in self._stores[1:]:
            _check_same_settings(self._stores[0], store)

    @classmethod
    def open(cls, paths: Iterable[str | Path], *, memory: float | None = None) -> StoreGroup:
        """Open stores for reading; parameters and errors are those of `Store.open`."""
        stores: list[Store] = []
        try:
            for path in paths:
                stores.append(Store.open(path, "r", memory=memory))  # noqa: PERF401 - open ones are closed on an error
            return cls(stores)
        except BaseException:
            for store in stores:
                store.close()
            raise

    @property
    def stores(self) -> tuple[Store, ...]:
        """The stores, in the order in which they are queried."""
        return self._stores

    def __len__(self) -> int:
        """Return the number of documents of all stores."""
        return sum(map(len, self._stores))

    def check(
        self, texts: Items, *, k: int | None = None, kind: Kind | None = None, progress: ShowProgress = None
    ) -> GroupResult:
        """Compare documents with all stores; parameters and errors are those of `Store.check`.

        Returns
        -------
        GroupResult
            For each document the result of the first store that matches it; `matches` are of that store alone.
        """
        first = self._stores[0]
        hashed: Any = first.hash_items(texts, kind, progress)
        result = first.check(hashed, k=k, progress=progress)
        status, ids, matches = list(result.status), list(result.ids), result.matches
        distances, similarities = result.distances.copy(), result.similarities.copy()
        stores: list[Path | None] = [None if name == "new" else first.path for name in status]
        for store in self._stores[1:]:
            rest = np.array([number for number, path in enumerate(stores) if path is None], np.int64)
            if not len(rest):
                break
            answers = store.check(hashed.select(rest), k=k, progress=progress)
            distances[rest], similarities[rest] = answers.distances, answers.similarities
            for at, number in enumerate(rest.tolist()):
                status[number], ids[number] = answers.status[at], answers.ids[at]
                stores[number] = None if answers.status[at] == "new" else store.path
                if matches is not None and answers.matches is not None:
                    matches[number] = answers.matches[at]
        return GroupResult(status, ids, distances, similarities, matches, result.verified, None, stores)

    def __contains__(self, key: Id) -> bool:
        """Return True if a store has a document with this id."""
        return any(key in store for store in self._stores)

    def close(self) -> None:
        """Close all stores."""
        for store in self._stores:
            store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_same_settings(first: Store, other: Store) -> None:
    """Refuse a store whose results would differ from those of the first one.

    Raises
    ------
    MismatchError
        The first setting that differs.
    """
    if type(first.settings) is not type(other.settings):
        raise mismatch(
            "kind of documents", f"{first.settings.noun}s of {first.path}", f"{other.settings.noun}s of {other.path}"
        )
    if isinstance(first.recipe, FrozenRecipe) and isinstance(other.recipe, FrozenRecipe):
        first.recipe.check_same(other.recipe)
    own, others = first.settings.to_dict(), other.settings.to_dict()
    for name in {**own, **others}:
        if name not in _OWN_SETTINGS and own.get(name) != others.get(name):
            raise mismatch(name, f"{own.get(name)} of {first.path}", f"{others.get(name)} of {other.path}")
