"""The contract of patterns: what `LogTemplates`, `UrlPatterns` and `PayloadGroups` have in common.

An object has a state, tables of forms (`crates/nearkin-core/src/patterns/forms.rs`), and makes patterns of it when it
is asked. The state is a sum over items: neither order nor batches nor merges change it, or what is made of it.

A class gives `name`, `REASONS`, `_params`, `_scan` and `_make`; the rest is here.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from nearkin._core import FormTable, read_patterns, write_patterns
from nearkin.errors import (
    CorruptStoreError,
    FormatVersionError,
    InputError,
    MismatchError,
    StoreError,
    bad_parameter,
    check_count,
    check_name,
    check_regular,
    mismatch,
    warn_caller,
)
from nearkin.patterns.inputs import Batch, Beside, Items, Strings, batches
from nearkin.patterns.tables import compared, reshaped

if TYPE_CHECKING:
    import pyarrow as pa

_Self = TypeVar("_Self", bound="Patterns")
_FORMAT = 1
"""Version of what a file of patterns holds; `docs/format-patterns.md`."""

_MAGIC = b"NEAR"
"""How a segment begins."""

_DTYPES = {
    "form_ends": np.int64,
    "forms": np.uint8,
    "counts": np.uint64,
    "first": np.int64,
    "last": np.int64,
    "day_ends": np.int64,
    "days": np.int32,
    "day_counts": np.uint64,
    "hole_ends": np.int64,
    **{f"{name}_ends": np.int64 for name in ("examples", "sources", "holes")},
    **{f"{name}_hashes": np.uint64 for name in ("examples", "sources", "holes")},
    **{f"{name}_text_ends": np.int64 for name in ("examples", "sources", "holes")},
    **{f"{name}_text": np.uint8 for name in ("examples", "sources", "holes")},
}


@dataclass(frozen=True)
class Match:
    """The pattern of an item.

    Attributes
    ----------
    id : str
        The pattern's id, as in `table`.
    pattern : str
        Its text.
    variables : dict of str to str
        Values by the names of variables, in order.
    """

    id: str
    pattern: str
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Explanation:
    """Why two items have one pattern, or why not; as text, one step a line.

    Attributes
    ----------
    together : bool
    steps : tuple of str
        What was found, one sentence each.
    """

    together: bool
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(("together" if self.together else "apart", *(f"  {step}" for step in self.steps)))


@dataclass(frozen=True)
class Unexplained:
    """Items that no pattern explains.

    Attributes
    ----------
    count : int
        How many.
    examples : tuple of str
        Some of them, by smallest hash.
    let_go : int
        Items among them whose forms were let go at `max_forms`, which nobody can list.
    """

    count: int
    examples: tuple[str, ...]
    let_go: int = 0


class Patterns(ABC):
    """What items have in common, with typed variables where they differ; subclasses say what items are.

    Parameters
    ----------
    sample : int, default 64
        Values of a variable that are kept; counts of distinct values are exact below it, and estimates
        of relative standard error `1 / sqrt(sample - 2)` above.
    max_forms : int, default 200,000
        Forms (items with their variables masked) that are kept. Beyond it the rarest are let go; `unexplained` counts
        them, and a warning says so once.
    """

    name: ClassVar[str]
    """What the class is called in files."""

    REASONS: ClassVar[tuple[str, ...]] = ()
    """Why the scanner leaves items out, by its numbers."""

    def __init__(self, *, sample: int = 64, max_forms: int = 200_000) -> None:
        self._sample = check_count("sample", sample, 2, 1 << 16, "2 to 65536")
        self._max_forms = check_count("max_forms", max_forms, 1, 1 << 31, "1 to 2147483648")
        self._forget()

    def _forget(self) -> None:
        """Puts the state of an object that has seen nothing."""
        self._tables = {name: FormTable(self._sample, self._max_forms) for name in self._table_names()}
        self._skipped: dict[str, int] = {}
        self._orders: set[tuple[str, str]] = set()
        self._made: Any = None

    def _table_names(self) -> tuple[str, ...]:
        """Names of the tables of forms that are the state."""
        return ("forms",)

    @abstractmethod
    def _params(self) -> dict[str, Any]:
        """Parameters on which the state depends, as JSON has them, beside `sample` and `max_forms`."""

    @abstractmethod
    def _scan(
        self,
        tables: Mapping[str, FormTable],
        batch: Batch,
        times: npt.NDArray[np.int64] | None,
        sources: Strings | None,
    ) -> list[int]:
        """Adds the items of a batch to tables; how many were left out, by the numbers of `REASONS`."""

    @abstractmethod
    def _make(self) -> Any:
        """Patterns of the state, which are kept until it changes."""

    def _patterns(self) -> Any:
        """What `_make` made of the state as it is."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def fit(self: _Self, items: Items, times: Any = None, sources: Any = None) -> _Self:
        """Forgets what it has, and takes these items; orders of `split` and `pin` stay.

        Parameters
        ----------
        items : iterable of str or bytes, or a column
            Strings or binary values of Arrow, pandas, polars or NumPy are taken too. `str` is taken as UTF-8.
        times : array, column or iterable, optional
            When each item was written: `datetime64`, timestamps, `datetime`, or seconds since 1970 (UTC);
            None for unknown.
        sources : iterable of str, bytes or None, or a column, optional
            Who sent each item.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            An item that is missing or no text; times or sources of another length. Nothing is taken then.
        """
        return self._take(items, times, sources, fresh=True)

    def partial_fit(self: _Self, items: Items, times: Any = None, sources: Any = None) -> _Self:
        """Adds a batch; the parameters are those of `fit`. Batches in any order give what one `fit` of all gives."""
        return self._take(items, times, sources, fresh=False)

    def _take(self: _Self, items: Items, times: Any, sources: Any, *, fresh: bool) -> _Self:
        """Adds all items or, if anything is wrong, none: they are added to new tables, which are merged at the end."""
        beside = Beside(times, sources)
        tables = {name: FormTable(self._sample, self._max_forms) for name in self._tables}
        skipped = np.zeros(256, np.int64)
        for batch in batches(items, self._items_name()):
            skipped += np.array(self._scan(tables, batch, *beside.of(batch)), np.int64)
        beside.end()
        if fresh:
            orders = self._orders
            self._forget()
            self._orders = orders
        lost = self._let_go()
        self._absorb(tables, {name: int(skipped[number]) for number, name in enumerate(self.REASONS)})
        if self._let_go() > lost:
            warn_caller(
                f"{type(self).__name__} let {self._let_go() - lost} items go: they had more than "
                f"max_forms={self._max_forms} forms, and the rarest are not kept; raise max_forms to keep them"
            )
        return self

    def _items_name(self) -> str:
        return "items"

    def _absorb(self, tables: Mapping[str, FormTable], skipped: Mapping[str, int]) -> None:
        """Adds what other tables hold."""
        for name, table in tables.items():
            if len(self._tables[name]) == 0 and self._tables[name].gone() == (0, 0):
                self._tables[name] = table
            else:
                self._tables[name].merge(table)
        for reason, count in skipped.items():
            if count:
                self._skipped[reason] = self._skipped.get(reason, 0) + count
        self._made = None

    def _let_go(self) -> int:
        """Items whose forms were let go."""
        return sum(table.gone()[1] for table in self._tables.values())

    def merge(self: _Self, other: _Self) -> _Self:
        """Adds what another object of the same parameters has seen, and its orders of `split` and `pin`.

        Raises
        ------
        MismatchError
            The other is of another class or has other parameters; the message names the first that differs.
        """
        if type(other) is not type(self):
            raise mismatch("class", type(self).__name__, type(other).__name__)
        mine, theirs = self._all_params(), other._all_params()
        for name in mine:
            if mine[name] != theirs.get(name):
                raise mismatch(name, mine[name], theirs.get(name))
        self._absorb({name: table.copy() for name, table in other._tables.items()}, other._skipped)
        self._orders |= other._orders
        return self

    def _all_params(self) -> dict[str, Any]:
        return {"sample": self._sample, "max_forms": self._max_forms, **self._params()}

    @property
    def count(self) -> int:
        """Items seen, those that were left out among them."""
        return sum(table.count() for table in self._tables.values()) + self._let_go() + sum(self._skipped.values())

    @property
    def skipped(self) -> dict[str, int]:
        """How many items were left out, by reason."""
        return dict(self._skipped)

    @property
    def memory(self) -> int:
        """Bytes of memory of the state."""
        return sum(table.memory() for table in self._tables.values())

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._params().items())
        return f"<{type(self).__name__}({given}): {len(self)} patterns of {self.count} items>"

    @abstractmethod
    def __len__(self) -> int:
        """How many patterns there are."""

    @abstractmethod
    def table(self) -> pa.Table:
        """One row a pattern, most items first."""

    @abstractmethod
    def match_many(self, items: Items) -> pa.Table:
        """For each item the `id` and `pattern` of its pattern, null if it has none, and its `variables`."""

    @property
    @abstractmethod
    def unexplained(self) -> Unexplained:
        """What no pattern explains."""

    @classmethod
    def of_table(cls: type[_Self], table: pa.Table, **parameters: Any) -> _Self:
        """An object that has the patterns of a table, and matches by them; counts are not in it.

        Parameters
        ----------
        table : pyarrow.Table
            Of this class, as `table` or `nearkin.patterns.rows.read_rows` gives it.
        **parameters
            Those of the class.

        Raises
        ------
        InputError
            The patterns are not those of this class.
        """
        made = cls(**parameters).fit(table.column("pattern"))
        found = set(made.table().column("id").to_pylist())
        for row in table.select(["id", "pattern"]).to_pylist():
            if row["id"] not in found:
                reason = (
                    f"{row['pattern']!r} is no pattern of {cls.__name__}; give the table that the same command wrote"
                )
                raise InputError(reason, place=row["id"], reason=reason)
        return made

    def compare(self, older: Patterns | pa.Table) -> pa.Table:
        """What is new since an older state.

        Parameters
        ----------
        older : Patterns or pyarrow.Table
            Of the same class; or the table of one.

        Returns
        -------
        pyarrow.Table
            `kind` (*new*, *gone*, *type*, *share*), `id`, `pattern`, `was` (the old text, where types of variables
            changed, or where a pattern became wider or narrower: one of the two explains the other), `before`, `after`
            (shares). A share is listed if it changed by a quarter or more, and by more than chance.

        Raises
        ------
        MismatchError
            The other is of another class.
        """
        if not isinstance(older, Patterns) and hasattr(older, "column_names"):
            return self._compared(self.of_table(older, **self._all_params()), older)
        if type(older) is not type(self):
            raise mismatch("class", type(self).__name__, type(older).__name__)
        return self._compared(older, older.table())

    def _compared(self, older: Patterns, table: pa.Table) -> pa.Table:
        """What is new since an older object, whose table is this one."""
        changes = compared(table, self.table())
        texts = [changes.filter(changes["kind"].to_numpy() == kind)["pattern"].to_pylist() for kind in ("gone", "new")]
        wider = dict(zip(texts[0], self.match_many(texts[0])["id"].to_pylist(), strict=True))
        narrower = dict(zip(texts[1], older.match_many(texts[1])["id"].to_pylist(), strict=True))
        return reshaped(changes, wider, narrower)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the state to a file, which replaces one of that name only when it is whole.

        Parameters
        ----------
        path : path
            The file; `docs/format-patterns.md` says what is in it.

        Raises
        ------
        OSError
            If it can't be written.
        """
        check_name(path)
        head: dict[str, Any] = {
            "format": _FORMAT,
            "class": self.name,
            "params": self._all_params(),
            "skipped": dict(sorted(self._skipped.items())),
            "orders": sorted(self._orders),
            "tables": {},
        }
        values = []
        for name, table in sorted(self._tables.items()):
            arrays = table.arrays()
            head["tables"][name] = {"arrays": list(_DTYPES), "gone": table.gone()}
            values += [arrays[array].view(np.uint8) for array in _DTYPES]
        write_patterns(os.fspath(path), json.dumps(head, ensure_ascii=False, sort_keys=True), values)

    @classmethod
    def open(cls: type[_Self], path: str | os.PathLike[str]) -> _Self:
        """The object that `save` wrote.

        Raises
        ------
        InputError
            The file is no state of patterns.
        MismatchError
            It holds patterns of another class.
        CorruptStoreError
            It changed since it was written.
        FormatVersionError
            A newer nearkin wrote it.
        OSError
            It can't be read.
        """
        place = os.fspath(path)
        check_regular(place, "a state that `save` has written")
        try:
            text, values = read_patterns(place)
        except CorruptStoreError as error:
            with Path(place).open("rb") as file:
                if file.read(len(_MAGIC)) == _MAGIC:
                    raise
            reason = "is no state of patterns; give what save or --state wrote"
            raise InputError(f"{place} {reason}", place=place, reason=reason) from error
        try:
            head = json.loads(text)
            if head["format"] > _FORMAT:
                raise FormatVersionError(
                    f"{place} has format {head['format']}; this nearkin reads up to {_FORMAT}: update nearkin",
                    found=head["format"],
                    newest=_FORMAT,
                )
            if head["class"] != cls.name:
                raise mismatch(f"patterns of {place}", str(head["class"]), cls.name)
            return cls._restored(head, values)
        except (MismatchError, StoreError):
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"it is no state of {cls.__name__} ({error})"
            raise CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason) from error

    @classmethod
    def _restored(cls: type[_Self], head: dict[str, Any], values: list[bytes]) -> _Self:
        """The object that a file's description and arrays say."""
        found = cls(**head["params"])
        parts = iter(values)
        for name in sorted(found._tables):
            said = head["tables"][name]
            arrays = {array: np.frombuffer(next(parts, b""), _DTYPES[array]) for array in said["arrays"]}
            gone = (int(said["gone"][0]), int(said["gone"][1]))
            found._tables[name] = FormTable.from_arrays(arrays, found._sample, found._max_forms, gone)
        found._skipped = {str(reason): int(count) for reason, count in head["skipped"].items()}
        found._orders = {(str(order), str(text)) for order, text in head["orders"]}
        return found

    def split(self: _Self, pattern_id: str) -> _Self:
        """Takes a merge back: what one pattern joined stays apart from now on. Saved and merged with the state.

        Parameters
        ----------
        pattern_id : str
            The `id` of a pattern of `table`.

        Raises
        ------
        ParameterError
            There is no such pattern.
        """
        found = {row["id"]: row["pattern"] for row in self.table().select(["id", "pattern"]).to_pylist()}
        if pattern_id not in found:
            raise bad_parameter("pattern_id", repr(pattern_id), "the id of a pattern of table()")
        self._orders.add(("split", found[pattern_id]))
        self._made = None
        return self

    def pin(self: _Self, literal: str) -> _Self:
        """Keeps a text as it is: it joins no pattern, none of its words becomes a variable. Saved with the state."""
        if not isinstance(literal, str) or not literal:
            raise bad_parameter("literal", repr(literal), "a text that is not empty")
        self._orders.add(("pin", literal))
        self._made = None
        return self


def open_patterns(path: str | os.PathLike[str]) -> str:
    """The class of a file of patterns, by its name in files: `lines`, `urls` or `payloads`."""
    check_regular(path)
    text, _ = read_patterns(os.fspath(path))
    try:
        return str(json.loads(text)["class"])
    except (KeyError, TypeError, ValueError) as error:
        place, reason = str(Path(path)), "it is no state of patterns"
        raise CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason) from error


__all__ = ["Explanation", "Match", "Patterns", "Unexplained", "open_patterns"]
