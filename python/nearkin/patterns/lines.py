"""Templates of log lines: what is the same in many lines, with typed variables where they differ.

A line is scanned once: tokens that have a type (times, addresses, numbers, paths) become holes, and lines of the same
form are counted together (core: `patterns/lines.rs`). When templates are asked for, forms that differ in single words
are merged where enough distinct words say that a variable stands there (core: `patterns/merging.rs`). Nothing is set
for a kind of log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from nearkin._core import FormTable, LineTemplates, add_lines, compact_lines, line_forms
from nearkin.patterns.base import Explanation, Match, Patterns, Unexplained
from nearkin.patterns.inputs import Batch, Items, Strings, batches
from nearkin.patterns.tables import Arrays, holes_of, id_of, names_of, pieces, table_of, text_of

if TYPE_CHECKING:
    import pyarrow as pa

_KEYED = re.compile(rb"([A-Za-z_][\w.-]*)\s?[=:]\s?[\"'(\[<]?$")
_HOLE = re.compile(rb"\xff[\x01-\xfe]")
_WORDS = re.compile(r"[^\s,;()\[\]<>\"'=|:]+")


class _Made(NamedTuple):
    """Templates of a state: of the core, as arrays, and texts and names of variables by row."""

    core: LineTemplates
    arrays: Arrays
    texts: list[str]
    names: list[list[str]]


class LogTemplates(Patterns):
    """Templates of log lines, from any log, without settings.

    Parameters
    ----------
    sample : int, default 64
        Values of a variable that are kept, a random sample of the distinct ones.
    max_forms : int, default 200,000
        Forms (lines with their typed tokens masked) that are kept. From half of it on, forms are replaced by their
        templates; what is too many even so is let go, the rarest first: `unexplained` counts it, and a warning says so.

    Examples
    --------
    >>> import nearkin as nk
    >>> lines = [f"user {name} took {n} ms" for n, name in enumerate("ann bob cid dan eve fay gus hal".split())]
    >>> templates = nk.LogTemplates().fit([*lines, "done"])
    >>> templates.table().select(["pattern", "count"]).to_pylist()
    [{'pattern': 'user {word} took {int} ms', 'count': 8}, {'pattern': 'done', 'count': 1}]
    >>> templates.match("user zoe took 17 ms").variables
    {'word': 'zoe', 'int': '17'}

    Notes
    -----
    One pass and one look-up a line: more than a million lines a second on one core. A form takes about a kilobyte.
    """

    name: ClassVar[str] = "lines"
    REASONS: ClassVar[tuple[str, ...]] = ("empty",)

    def _params(self) -> dict[str, Any]:
        return {}

    def _forget(self) -> None:
        super()._forget()
        self._most = self._max_forms // 2

    def _items_name(self) -> str:
        return "lines"

    def _scan(
        self,
        tables: Mapping[str, FormTable],
        batch: Batch,
        times: npt.NDArray[np.int64] | None,
        sources: Strings | None,
    ) -> list[int]:
        table = tables["forms"]
        skipped = add_lines(table, batch.items, times, sources)
        self._compact(table)
        return skipped

    def _absorb(self, tables: Mapping[str, FormTable], skipped: Mapping[str, int]) -> None:
        new, old = tables["forms"], self._tables["forms"]
        for table in (new, old):
            self._compact(table, len(new) + len(old))
        super()._absorb(tables, skipped)

    def _compact(self, table: FormTable, forms: int | None = None) -> None:
        """Replaces the forms of a table by their templates, where it has too many and more than last time."""
        if (len(table) if forms is None else forms) > self._most:
            compact_lines(table, *self._ordered(table))
            self._most = max(self._max_forms // 2, len(table) + len(table) // 4)

    def _ordered(self, table: FormTable) -> tuple[list[bytes], list[bytes]]:
        """Forms of lines that `pin` names, and of the templates of a table that `split` names."""
        pinned = line_forms([text.encode("utf-8", "surrogateescape") for order, text in self._orders if order == "pin"])
        apart = {text for order, text in self._orders if order == "split"}
        if not apart:
            return pinned, []
        arrays = LineTemplates(table, pinned, []).arrays()
        forms = pieces(arrays["form_ends"], arrays["forms"])
        return pinned, [form for form in forms if text_of(form) in apart]

    def _make(self) -> _Made:
        table = self._tables["forms"]
        core = LineTemplates(table, *self._ordered(table))
        arrays = core.arrays()
        forms = pieces(arrays["form_ends"], arrays["forms"])
        return _Made(core, arrays, [text_of(form) for form in forms], [_names(form) for form in forms])

    def __len__(self) -> int:
        return len(self._patterns().core)

    def table(self) -> pa.Table:
        """One row a template, most lines first, then by text.

        Returns
        -------
        pyarrow.Table
            `id` (a function of the text alone), `pattern`, `count`, `share` (of all lines), `first_seen`, `last_seen`,
            `sources` (how many), `examples` (at most 3), `variables` (`name`, `type`, `distinct`, `samples`), `days`
            (`day`, `count`).
        """
        return table_of(self._patterns().arrays, self.count, self._sample, names=_names)

    def match(self, line: str | bytes) -> Match | None:
        """The template of a line, and the values of its variables; None if no template has it."""
        made = self._patterns()
        (batch,) = batches([line], "lines")
        rows, _, ends, text = made.core.find(batch.items)
        if rows[0] < 0:
            return None
        values = [value.decode("utf-8", "backslashreplace") for value in pieces(ends, text)]
        pattern = made.texts[rows[0]]
        return Match(id_of(pattern), pattern, dict(zip(made.names[rows[0]], values, strict=True)))

    def match_many(self, lines: Items) -> pa.Table:
        """Templates of many lines.

        Parameters
        ----------
        lines : iterable of str or bytes, or a column

        Returns
        -------
        pyarrow.Table
            `id` and `pattern` (dictionaries), `variables` (values in order), one row a line; null where no template has
            it.
        """
        import pyarrow as pa

        made = self._patterns()
        ids = pa.array([id_of(text) for text in made.texts], pa.string())
        texts = pa.array(made.texts, pa.string())
        named = pa.dictionary(pa.int32(), pa.string())
        kind = pa.schema([("id", named), ("pattern", named), ("variables", pa.list_(pa.string()))])
        parts = []
        for batch in batches(lines, "lines"):
            rows, value_ends, text_ends, text = made.core.find(batch.items)
            places = pa.array(rows, mask=rows < 0)
            offsets = pa.array(np.concatenate([np.zeros(1, np.int32), value_ends]).astype(np.int32))
            values = pa.ListArray.from_arrays(offsets, _strings(text_ends, text), mask=pa.array(rows < 0))
            columns = [*(pa.DictionaryArray.from_arrays(places, names) for names in (ids, texts)), values]
            parts.append(pa.Table.from_arrays(columns, schema=kind))
        return pa.concat_tables(parts) if parts else kind.empty_table()

    @property
    def unexplained(self) -> Unexplained:
        """Lines that no template counts: those whose forms were let go at `max_forms`."""
        return Unexplained(self._let_go(), (), self._let_go())

    def explain(self, a: str | bytes, b: str | bytes) -> Explanation:
        """Why two lines have one template, or why not.

        Parameters
        ----------
        a, b : str or bytes

        Returns
        -------
        Explanation
        """
        left, right = self.match(a), self.match(b)
        if left is None or right is None:
            return Explanation(False, (f"no template has {(a if left is None else b)!r}",))
        if left.id == right.id:
            return Explanation(True, (f"template: {left.pattern}", *self._alike(left, right)))
        return Explanation(False, (f"templates: {left.pattern}", f"           {right.pattern}", *_apart(left, right)))

    def _alike(self, left: Match, right: Match) -> list[str]:
        """What two lines of one template differ in, and why that is a variable."""
        rows = self.table().filter(_is(left.id)).to_pylist()
        steps = []
        for variable in rows[0]["variables"]:
            name = variable["name"]
            mine, theirs = left.variables[name], right.variables[name]
            if mine != theirs:
                known = f"{variable['distinct']} distinct values, such as {', '.join(variable['samples'][:3])}"
                steps.append(f"{{{name}}}: {mine!r} and {theirs!r} are of type {variable['type']}; {known}")
        return steps or ["nothing differs"]


def _is(pattern_id: str) -> Any:
    import pyarrow.compute as pc

    return pc.field("id") == pattern_id


def _apart(left: Match, right: Match) -> list[str]:
    """The words in which two templates differ."""
    mine, theirs = _WORDS.findall(left.pattern), _WORDS.findall(right.pattern)
    if len(mine) != len(theirs):
        return [f"they have {len(mine)} and {len(theirs)} words"]
    differ = [f"{a!r} against {b!r}" for a, b in zip(mine, theirs, strict=True) if a != b]
    few = "; too few distinct words stand there to make it a variable" if len(differ) == 1 else ""
    return [f"they differ in {', '.join(differ)}{few}" if differ else "they differ in marks between words"]


def _names(form: bytes) -> list[str]:
    """Names of the variables of a template: the key before `=` or `:`, else the type."""
    keys = []
    for hole in _HOLE.finditer(form):
        key = _KEYED.search(form[max(0, hole.start() - 80) : hole.start()])
        keys.append(key[1].decode() if key else None)
    return names_of(holes_of(form), keys)


def _strings(ends: npt.NDArray[np.int64], text: npt.NDArray[np.uint8]) -> pa.Array:
    """Values as an Arrow array; bytes that are no UTF-8 escaped."""
    import pyarrow as pa

    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    values = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    )
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([value.decode("utf-8", "backslashreplace") for value in pieces(ends, text)], pa.string())


__all__ = ["LogTemplates"]
