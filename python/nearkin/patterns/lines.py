"""`LogTemplates`: templates of log lines, with typed variables.

Each line is scanned once: tokens with a type (times, addresses, numbers, paths) become wildcards, and lines with one
template are counted together. Templates that differ in single words are merged on demand if the number of distinct
words indicates a variable (`crates/nearkin-patterns`). There are no settings per kind of log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from nearkin._core import FormTable, LineTemplates, add_lines, compact_lines, line_forms
from nearkin.errors import bad_parameter
from nearkin.io.arrow import to_values
from nearkin.patterns.base import PatternExplanation, PatternMatch, Patterns, Unmatched
from nearkin.patterns.inputs import ItemBatch, Items, Strings, read_batches, to_binary, to_bytes
from nearkin.patterns.tables import (
    TYPED,
    Arrays,
    build_table,
    pattern_id,
    split_bytes,
    template_text,
    variable_names,
    variable_types,
)

if TYPE_CHECKING:
    import pyarrow as pa

_KEY = re.compile(rb"([A-Za-z_][\w.-]*)\s?[=:]\s?[\"'(\[<]?$")
_WILDCARD = re.compile(rb"\xff[\x01-\xfe]")
_WORDS = re.compile(r"[^\s,;()\[\]<>\"'=|:]+")


class _BuiltTemplates(NamedTuple):
    """The templates of a state: the core's object, its arrays, and ids, texts and variable names by row."""

    core: LineTemplates
    arrays: Arrays
    ids: list[str]
    texts: list[str]
    names: list[list[str]]


class LogTemplates(Patterns):
    """Templates of log lines, for any log, without settings.

    Parameters
    ----------
    sample : int, default 64
        Maximum number of stored values of a variable, a random sample of the distinct ones.
    max_templates : int, default 200,000
        Maximum number of lines with masked variables. From half of it on, they are replaced by their merged templates.
        If there are still too many, the rarest are evicted: `unmatched` counts them, and a warning is issued.

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
    One pass and one look-up per line: more than a million lines per second on one core. A template needs about a
    kilobyte.
    """

    name: ClassVar[str] = "lines"
    REASONS: ClassVar[tuple[str, ...]] = ("empty",)

    def _clear(self) -> None:
        super()._clear()
        self._compact_above = self._max_templates // 2

    def _scan(
        self, table: FormTable, batch: ItemBatch, times: npt.NDArray[np.int64] | None, sources: Strings | None
    ) -> list[int]:
        return add_lines(table, (batch.items, times, sources))

    def _compact(self, table: FormTable, size: int) -> None:
        """Replace masked lines by merged templates, if there are too many and more than last time."""
        if size > self._compact_above:
            compact_lines(table, *self._override_templates(table))
            self._compact_above = max(self._max_templates // 2, len(table) + len(table) // 4)

    def _override_templates(self, table: FormTable) -> tuple[list[bytes], list[bytes]]:
        """Return the templates of lines that `pin` names, and those of a table that `split` names."""
        pinned = line_forms([text.encode("utf-8", "surrogateescape") for text in self._overridden("pin")])
        split = set(self._overridden("split"))
        if not split:
            return pinned, []
        arrays = LineTemplates(table, pinned, []).arrays()
        templates = split_bytes(arrays["form_ends"], arrays["forms"])
        return pinned, [template for template in templates if template_text(template) in split]

    def _build(self) -> _BuiltTemplates:
        core = LineTemplates(self._table, *self._override_templates(self._table))
        arrays = core.arrays()
        templates = split_bytes(arrays["form_ends"], arrays["forms"])
        texts, names = [template_text(template) for template in templates], [_names(template) for template in templates]
        return _BuiltTemplates(core, arrays, [pattern_id(text) for text in texts], texts, names)

    def __len__(self) -> int:
        return len(self._patterns().core)

    def table(self) -> pa.Table:
        """Return one row per template, by decreasing number of lines, then by text.

        Returns
        -------
        pyarrow.Table
            `id` (depends only on the text), `pattern`, `count`, `share` (of all lines), `first_seen`, `last_seen`,
            `sources` (number), `examples` (at most 3), `variables` (`name`, `type`, `distinct`, `samples`), `days`
            (`day`, `count`).
        """
        return build_table(self._patterns().arrays, self.count, self._sample, names=_names)

    def match(self, line: str | bytes) -> PatternMatch | None:
        """Return the template of a line and the values of its variables; None without a template.

        Parameters
        ----------
        line : str or bytes

        Notes
        -----
        The result equals that of `match_many`. They are compiled at the first call after a change.
        """
        built: _BuiltTemplates = self._patterns()
        found = built.core.find_one(to_bytes(line, "line"))
        if found is None:
            return None
        row, values = found
        return PatternMatch(built.ids[row], built.texts[row], dict(zip(built.names[row], values, strict=True)))

    def match_many(self, lines: Items) -> pa.Table:
        """Return the templates of many lines.

        Parameters
        ----------
        lines : iterable of str or bytes, or a column

        Returns
        -------
        pyarrow.Table
            `id` and `pattern` (dictionaries), `variables` (values in order), one row per line; null without a template.
        """
        import pyarrow as pa

        built = self._patterns()
        names = [pa.array(each, pa.string()) for each in (built.ids, built.texts)]
        dictionary = pa.dictionary(pa.int32(), pa.string())
        schema = pa.schema([("id", dictionary), ("pattern", dictionary), ("variables", pa.list_(pa.string()))])
        parts = []
        for batch in read_batches(lines, "lines"):
            rows, value_ends, text_ends, text = built.core.find(batch.items)
            indices = pa.array(rows, mask=rows < 0)
            offsets = pa.array(np.concatenate([np.zeros(1, np.int32), value_ends]).astype(np.int32))
            values = pa.ListArray.from_arrays(offsets, _to_strings(text_ends, text), mask=pa.array(rows < 0))
            columns = [*(pa.DictionaryArray.from_arrays(indices, each) for each in names), values]
            parts.append(pa.Table.from_arrays(columns, schema=schema))
        return pa.concat_tables(parts) if parts else schema.empty_table()

    @property
    def unmatched(self) -> Unmatched:
        """The lines that no template counts: those that were evicted at `max_templates`."""
        return Unmatched(self._num_evicted(), (), self._num_evicted())

    def to_regex(self, pattern_id: str) -> str:
        """Return a regular expression (Python, PCRE, RE2) for the lines of a template.

        Parameters
        ----------
        pattern_id : str
            The `id` of a pattern of `table`.

        Notes
        -----
        It matches more than `match`: a variable is any text or none, except for integers. Pairs `key=value` must have
        the order of the pattern.
        """
        # A value may be missing, such as that between two brackets.
        text = self._export(pattern_id, re.escape, lambda kind: r"(?:[-+]?\d+)?" if kind == "{int}" else ".*?")
        return "(?s)^" + re.sub(r"(?:\\ )+", " +", text).replace("\\\n", r"\n") + r"\s*$"

    def to_like(self, pattern_id: str) -> str:
        r"""Return a pattern of SQL's `LIKE` with `ESCAPE '\'`; the parameter is that of `to_regex`.

        Blanks must be those of the pattern, while `match` and `to_regex` take several for one.
        """
        literal = re.compile(r"[\\%_]")
        return self._export(pattern_id, lambda text: literal.sub(r"\\\g<0>", text).replace("\n", "%"), lambda _: "%")

    def to_logql(self, pattern_id: str) -> str:
        """Return a line filter of LogQL (Loki); the parameter is that of `to_regex`."""
        return f"|~ {json.dumps(self.to_regex(pattern_id), ensure_ascii=False)}"

    def _export(self, pattern_id: str, literal: Callable[[str], str], typed: Callable[[str], str]) -> str:
        """Return the text of a pattern with its literals and types replaced."""
        built: _BuiltTemplates = self._patterns()
        if pattern_id not in built.ids:
            raise bad_parameter("pattern_id", repr(pattern_id), "the id of a pattern of table()")
        pieces = TYPED.split(built.texts[built.ids.index(pattern_id)])
        return "".join((typed if number % 2 else literal)(piece) for number, piece in enumerate(pieces))

    def explain(self, a: str | bytes, b: str | bytes) -> PatternExplanation:
        """Explain why two lines have the same template or different ones.

        Parameters
        ----------
        a, b : str or bytes
        """
        left, right = self.match(a), self.match(b)
        if left is None or right is None:
            return PatternExplanation(False, (f"{(a if left is None else b)!r} has no template",))
        if left.id == right.id:
            return PatternExplanation(True, (f"template: {left.pattern}", *self._describe_variables(left, right)))
        templates = f"templates: {left.pattern}", f"           {right.pattern}"
        return PatternExplanation(False, (*templates, _describe_difference(left, right)))

    def _describe_variables(self, left: PatternMatch, right: PatternMatch) -> list[str]:
        """Return the variables in which two lines with one template differ, and the evidence for them."""
        row = next(row for row in to_values(self.table()) if row["id"] == left.id)
        steps = []
        for variable in row["variables"]:
            name = variable["name"]
            a, b = left.variables[name], right.variables[name]
            if a != b:
                values = f"{variable['distinct']} distinct values, such as {', '.join(variable['samples'][:3])}"
                steps.append(f"{{{name}}}: {a!r} and {b!r} are of type {variable['type']}; {values}")
        return steps or ["nothing differs"]


def _describe_difference(left: PatternMatch, right: PatternMatch) -> str:
    """Return the words in which two templates differ."""
    a, b = _WORDS.findall(left.pattern), _WORDS.findall(right.pattern)
    if len(a) != len(b):
        return f"they have {len(a)} and {len(b)} words"
    differences = [f"{x!r} against {y!r}" for x, y in zip(a, b, strict=True) if x != y]
    reason = "; there are too few distinct words at this position for a variable" if len(differences) == 1 else ""
    return f"they differ in {', '.join(differences)}{reason}" if differences else "they differ in marks between words"


def _names(template: bytes) -> list[str]:
    """Return the names of the variables of a template: the key before `=` or `:`, or the type."""
    starts = [wildcard.start() for wildcard in _WILDCARD.finditer(template)]
    keys = [_KEY.search(template[max(0, start - 80) : start]) for start in starts]
    return variable_names(variable_types(template), [key and key[1].decode() for key in keys])


def _to_strings(ends: npt.NDArray[np.int64], text: npt.NDArray[np.uint8]) -> pa.Array:
    """Return values as an Arrow array, with invalid UTF-8 escaped."""
    import pyarrow as pa

    try:
        return to_binary(ends, text).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([value.decode("utf-8", "backslashreplace") for value in split_bytes(ends, text)], pa.string())


__all__ = ["LogTemplates"]
