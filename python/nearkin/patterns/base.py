"""The common contract of `LogTemplates`, `UrlPatterns` and `PayloadGroups`.

An object has a state, tables of templates (items with their variables masked; `crates/nearkin-patterns`), from which it
builds patterns on demand. The state is a sum over items, so order, batches and merges affect neither the state nor the
patterns.

A subclass defines `name`, `REASONS`, `_scan` and `_build`, and `_params` and `_compact` if it has any.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections import Counter
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
    ParameterError,
    StoreError,
    bad_parameter,
    check_count,
    check_name,
    mismatch,
    warn_caller,
)
from nearkin.io.arrow import to_values
from nearkin.io.saved import check_saved
from nearkin.notebook import ROWS, html_table
from nearkin.patterns.inputs import AlignedColumns, ItemBatch, Items, Strings, parse_times, read_batches
from nearkin.patterns.tables import chance_of_absence, compare_tables, join_changes, split_bytes, template_text

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Self

_Self = TypeVar("_Self", bound="Patterns")
_FORMAT = 2
"""Version of the content of a file of patterns; `docs/format-patterns.md`."""
_MAGIC = b"NEAR"
"""First bytes of a segment."""
_MAX_CHANCE = 0.01
"""Probability below which the absence of a pattern is no chance."""
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
    "profile_ends": np.int64,
    "profile_keys": np.uint64,
    "profile_counts": np.uint64,
}
"""Arrays of a table of templates, in the order of the file."""


@dataclass(frozen=True)
class PatternMatch:
    """The pattern of an item.

    Attributes
    ----------
    id : str
        Id of the pattern, as in `table`.
    pattern : str
        Text of the pattern.
    variables : dict of str to str
        Values by the names of the variables, in order.
    """

    id: str
    pattern: str
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PatternExplanation:
    """Why two items have the same pattern or different ones; `str()` has one step per line.

    Attributes
    ----------
    together : bool
    steps : tuple of str
        One sentence each.
    """

    together: bool
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(("together" if self.together else "separate", *(f"  {step}" for step in self.steps)))


@dataclass(frozen=True)
class Unmatched:
    """Items without a pattern.

    Attributes
    ----------
    count : int
        Number of items.
    examples : tuple of str
        Some of them, by smallest hash.
    evicted : int
        Number of items among them whose templates were evicted at `max_templates`; they cannot be listed.
    """

    count: int
    examples: tuple[str, ...]
    evicted: int = 0


class Patterns(ABC):
    """Patterns of items, with typed variables.

    Parameters
    ----------
    sample : int, default 64
        Maximum number of stored values of a variable. Counts of distinct values are exact below it, and estimates with
        a relative standard error of `1 / sqrt(sample - 2)` above.
    max_templates : int, default 200,000
        Maximum number of templates (items with their variables masked). Beyond it the rarest are evicted; `unmatched`
        counts them, and a warning is issued once.
    """

    name: ClassVar[str]
    """Name of the class in files."""

    REASONS: ClassVar[tuple[str, ...]] = ()
    """Reasons why the scanner skips items, by number."""

    def __new__(cls, *items: object, **parameters: object) -> Self:
        """Refuse items, which `fit` takes."""
        if items:
            name = cls.__name__
            raise ParameterError(f"{name}() takes parameters by name alone; items go to fit, as in {name}().fit(items)")
        return super().__new__(cls)

    def __init__(self, *, sample: int = 64, max_templates: int = 200_000) -> None:
        self._sample = check_count("sample", sample, 2, 1 << 16, "2 to 65536")
        self._max_templates = check_count("max_templates", max_templates, 1, 1 << 31, "1 to 2147483648")
        self._overrides: set[tuple[str, str]] = set()
        self._clear()

    def _clear(self) -> None:
        """Reset the state; overrides of `split` and `pin` are kept."""
        self._table = FormTable(self._sample, self._max_templates)
        self._skipped: Counter[str] = Counter()
        self._built: Any = None

    def _params(self) -> dict[str, Any]:
        """Return the parameters that affect the state, for JSON, without `sample` and `max_templates`."""
        return {}

    @abstractmethod
    def _scan(
        self, table: FormTable, batch: ItemBatch, times: npt.NDArray[np.int64] | None, sources: Strings | None
    ) -> list[int]:
        """Add the items of a batch to a table; return the numbers of skipped items, by the numbers of `REASONS`."""

    def _compact(self, table: FormTable, size: int) -> None:  # noqa: B027 - payloads are not compacted.
        """Replace the templates of a table by fewer ones if a table of this size would be too large."""

    @abstractmethod
    def _build(self) -> Any:
        """Build the patterns of the state."""

    def _patterns(self) -> Any:
        """Return the result of `_build`, cached until the state changes."""
        if self._built is None:
            self._built = self._build()
        return self._built

    def fit(self: _Self, items: Items, times: Any = None, sources: Any = None) -> _Self:
        """Fit these items instead of the earlier ones; overrides of `split` and `pin` are kept.

        Parameters
        ----------
        items : iterable of str or bytes, or a column
            Columns of strings or binary values of Arrow, pandas, polars or NumPy. `str` is encoded as UTF-8.
        times : array, column or iterable, optional
            Time of each item: `datetime64`, timestamps, `datetime`, or seconds since 1970 (UTC); None if unknown.
        sources : iterable of str, bytes or None, or a column, optional
            Sender of each item.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            An item is missing or not a text, or times or sources have another length. The state is unchanged.
        """
        return self._add(items, AlignedColumns(times, sources), replace=True)

    def partial_fit(self: _Self, items: Items, times: Any = None, sources: Any = None) -> _Self:
        """Add a batch; the parameters are those of `fit`. Batches in any order equal one `fit` of all items."""
        return self._add(items, AlignedColumns(times, sources), replace=False)

    def _add(self: _Self, items: Items, aligned: AlignedColumns, *, replace: bool) -> _Self:
        """Add all items or, on an error, none: they are added to a new table, which is merged at the end."""
        table = FormTable(self._sample, self._max_templates)
        skipped: Counter[str] = Counter()
        for batch in read_batches(items, self.name):
            counts = self._scan(table, batch, *aligned.take(batch))
            skipped.update(dict(zip(self.REASONS, counts, strict=False)))
            self._compact(table, len(table))
        aligned.check_end()
        if replace:
            self._clear()
        before = self._num_evicted()
        self._absorb(table, skipped)
        if (evicted := self._num_evicted() - before) > 0:
            warn_caller(
                f"{type(self).__name__} evicted {evicted} items: they had more than "
                f"max_templates={self._max_templates} templates, and the rarest are not kept; raise max_templates"
            )
        return self

    def _absorb(self, table: FormTable, skipped: Counter[str]) -> None:
        """Add another table to the state."""
        for each in (table, self._table):
            self._compact(each, len(table) + len(self._table))
        if len(self._table) == 0 and self._table.gone() == (0, 0):
            self._table = table
        else:
            self._table.merge(table)
        self._skipped += skipped
        self._built = None

    def _num_evicted(self) -> int:
        """Return the number of items whose templates were evicted."""
        return self._table.gone()[1]

    def merge(self: _Self, other: _Self) -> _Self:
        """Add the state of another object with the same parameters, and its overrides of `split` and `pin`.

        Raises
        ------
        MismatchError
            The class or a parameter differs; the message names the first difference.
        """
        if type(other) is not type(self):
            raise mismatch("class", type(self).__name__, type(other).__name__)
        theirs = other._all_params()
        for name, value in self._all_params().items():
            if value != theirs.get(name):
                raise mismatch(name, value, theirs.get(name))
        self._absorb(other._table.copy(), other._skipped)
        self._overrides |= other._overrides
        return self

    def _all_params(self) -> dict[str, Any]:
        return {"sample": self._sample, "max_templates": self._max_templates, **self._params()}

    def unfitted(self: _Self) -> _Self:
        """Return an object with the same parameters and without items."""
        return type(self)(**self._all_params())

    @property
    def count(self) -> int:
        """Number of items, skipped ones included."""
        return self._table.count() + self._num_evicted() + sum(self._skipped.values())

    @property
    def skipped(self) -> dict[str, int]:
        """Number of skipped items, by reason."""
        return dict(self._skipped)

    @property
    def memory(self) -> int:
        """Memory of the state in bytes."""
        return self._table.memory()

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value!r}" for name, value in self._params().items())
        return f"<{type(self).__name__}({params}): {len(self)} patterns of {self.count} items>"

    def _repr_html_(self) -> str:
        """Return the first patterns for a notebook."""
        table = self.table().select(["id", "pattern", "count", "share"])
        rows = zip(*(to_values(column) for column in table.slice(0, ROWS).columns), strict=True)
        return html_table(table.column_names, rows, total=len(table), caption=repr(self))

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of patterns."""

    @abstractmethod
    def table(self) -> pa.Table:
        """Return one row per pattern, by decreasing number of items."""

    @abstractmethod
    def match(self, item: str | bytes, /) -> PatternMatch | None:
        """Return the pattern of an item and the values of its variables; None without a pattern."""

    @abstractmethod
    def match_many(self, items: Items) -> pa.Table:
        """Return the `id` and `pattern` of each item's pattern, null without one, and its `variables`."""

    @property
    @abstractmethod
    def unmatched(self) -> Unmatched:
        """The items without a pattern."""

    @classmethod
    def from_table(cls: type[_Self], table: pa.Table, **parameters: Any) -> _Self:
        """Return an object that matches by the patterns of a table; it has no counts.

        Parameters
        ----------
        table : pyarrow.Table
            As returned by `table` of this class or by `nearkin.patterns.tables.read_rows`.
        **parameters
            Parameters of the class.

        Raises
        ------
        InputError
            The patterns are not those of this class.
        """
        # The pattern of a pattern is the pattern itself.
        patterns = cls(**parameters).fit(table.column("pattern"))
        ids = set(to_values(patterns.table().column("id")))
        for row in to_values(table.select(["id", "pattern"])):
            if row["id"] not in ids:
                reason = f"{row['pattern']!r} is not a pattern of {cls.__name__}; use a table of the same command"
                raise InputError(reason, place=row["id"], reason=reason)
        return patterns

    def compare(self, previous: Patterns | pa.Table) -> pa.Table:
        """Return the changes since an older state.

        Parameters
        ----------
        previous : Patterns or pyarrow.Table
            An object of the same class, or its table.

        Returns
        -------
        pyarrow.Table
            `kind` (*new*, *gone*, *type*, *share*), `id`, `pattern`, `was` (the old text if types of variables changed,
            or if a pattern became wider or narrower, so that one matches the other), `before`, `after` (shares). A
            share is listed if it changed by a quarter or more, and by more than chance. A pattern is *gone* if no item
            matches it, and chance alone would cause that with a probability below 0.01
            (`nearkin.patterns.tables.chance_of_absence`); one that is only rare is not listed.

        Raises
        ------
        MismatchError
            The other object has another class.
        """
        if not isinstance(previous, Patterns) and hasattr(previous, "column_names"):
            return self._compare(self.from_table(previous, **self._all_params()), previous)
        if type(previous) is not type(self):
            raise mismatch("class", type(self).__name__, type(previous).__name__)
        return self._compare(previous, previous.table())

    def _compare(self, older: Patterns, table: pa.Table) -> pa.Table:
        """Return the changes since an older object with this table."""
        import pyarrow as pa

        now = self.table()
        changes = compare_tables(table, now)
        kinds = changes["kind"].to_numpy()
        gone, new = (to_values(changes.filter(kinds == kind)["pattern"]) for kind in ("gone", "new"))
        wider = dict(zip(gone, to_values(self.match_many(gone)["id"]), strict=True))
        narrower = dict(zip(new, to_values(older.match_many(new)["id"]), strict=True))
        arrays = self._table.arrays()
        items = {self._to_item(template) for template in split_bytes(arrays["form_ends"], arrays["forms"])}
        seen = set(to_values(older.match_many(items)["id"]))
        # Compaction replaces words by wildcards, so a template that is a pattern may stand for items of another one.
        merged = {row["id"] for row in to_values(now.select(["id", "pattern"])) if row["pattern"] in items}
        counts = dict(zip(to_values(table["id"]), to_values(table["count"]), strict=True))
        changes = join_changes(changes, wider, narrower)

        def is_kept(row: dict[str, Any]) -> bool:
            chance = chance_of_absence(counts.get(row["id"], 0), row["before"], self.count)
            found = row["id"] in seen or wider.get(row["pattern"]) in merged
            return row["kind"] != "gone" or (chance < _MAX_CHANCE and not found)

        return changes.filter(pa.array(map(is_kept, to_values(changes)), pa.bool_()))

    @staticmethod
    def decode(text: str) -> str:
        """Return the text of a pattern as people read it: for URLs without escapes of visible characters."""
        return text

    def _to_item(self, template: bytes) -> str:
        """Return a template as an item, with wildcards as `{type}`."""
        return template_text(template)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file atomically.

        Parameters
        ----------
        path : path
            `docs/format-patterns.md` describes the file.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        check_name(path)
        params = self._all_params()
        head = {
            "format": _FORMAT,
            "class": self.name,
            "params": {"max_forms": params.pop("max_templates"), **params},
            "skipped": self._skipped,
            "orders": sorted(self._overrides),
            "tables": {"forms": {"arrays": list(_DTYPES), "gone": self._table.gone()}},
        }
        arrays = self._table.arrays()
        values = [arrays[array].view(np.uint8) for array in _DTYPES]
        write_patterns(os.fspath(path), json.dumps(head, ensure_ascii=False, sort_keys=True), values)

    @classmethod
    def open(cls: type[_Self], path: str | os.PathLike[str]) -> _Self:
        """Open a file that `save` wrote.

        Raises
        ------
        InputError
            The file is not a state of patterns.
        MismatchError
            The file has patterns of another class.
        CorruptStoreError
            The file is damaged.
        FormatVersionError
            A newer nearkin wrote the file.
        OSError
            The file cannot be read.
        """
        place = os.fspath(path)
        check_saved(place, 12, written="a file that save or --state wrote")
        try:
            text, values = read_patterns(place)
        except CorruptStoreError as error:
            with Path(place).open("rb") as file:
                if file.read(len(_MAGIC)) == _MAGIC:
                    raise
            reason = "is no file that nearkin saved; give a file that save or --state wrote"
            raise InputError(f"{place}: {reason}", place=place, reason=reason) from error
        try:
            head = json.loads(text)
            if head["format"] > _FORMAT:
                raise FormatVersionError(
                    f"{place} has format {head['format']}; this nearkin reads up to {_FORMAT}: update nearkin",
                    found=head["format"],
                    newest=_FORMAT,
                )
            if head["class"] != cls.name:
                reason = f"has patterns of {head['class']}, not of {cls.name}; open it with their class"
                raise MismatchError(f"{place}: {reason}", what=place, left=head["class"], right=cls.name)
            return cls._restore(head, values)
        except (MismatchError, StoreError):
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"it is not a state of {cls.__name__} ({error})"
            raise CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason) from error

    @classmethod
    def _restore(cls: type[_Self], head: dict[str, Any], values: list[bytes]) -> _Self:
        """Return the object of a file's header and arrays."""
        params, about = head["params"], head["tables"]["forms"]
        patterns = cls(**{"max_templates": params.pop("max_forms"), **params})
        arrays = {
            array: np.frombuffer(value, _DTYPES[array]) for array, value in zip(about["arrays"], values, strict=True)
        }
        parse_times(np.concatenate([arrays["first"], arrays["last"]]).view("datetime64[us]"))
        parse_times(arrays["days"].astype("datetime64[D]"))
        gone = (int(about["gone"][0]), int(about["gone"][1]))
        patterns._table = FormTable.from_arrays(arrays, patterns._sample, patterns._max_templates, gone)
        patterns._skipped = Counter({str(reason): int(count) for reason, count in head["skipped"].items()})
        patterns._overrides = {(str(kind), str(text)) for kind, text in head["orders"]}
        return patterns

    def split(self: _Self, pattern_id: str) -> _Self:
        """Undo a merge: the items of this pattern are no longer joined. Saved and merged with the state.

        Parameters
        ----------
        pattern_id : str
            The `id` of a pattern of `table`.

        Raises
        ------
        ParameterError
            The pattern does not exist.
        """
        texts = {row["id"]: row["pattern"] for row in to_values(self.table().select(["id", "pattern"]))}
        if pattern_id not in texts:
            raise bad_parameter("pattern_id", repr(pattern_id), "the id of a pattern of table()")
        return self._override("split", texts[pattern_id])

    def pin(self: _Self, literal: str) -> _Self:
        """Keep a text unchanged: it joins no pattern and has no variables. Saved and merged with the state."""
        if not isinstance(literal, str) or not literal:
            raise bad_parameter("literal", repr(literal), "a text that is not empty")
        return self._override("pin", literal)

    def _override(self: _Self, kind: str, text: str) -> _Self:
        self._overrides.add((kind, text))
        self._built = None
        return self

    def _overridden(self, kind: str) -> list[str]:
        """Return the texts of overrides of a kind, `split` or `pin`, sorted."""
        return sorted(text for name, text in self._overrides if name == kind)


__all__ = ["PatternExplanation", "PatternMatch", "Patterns", "Unmatched"]
