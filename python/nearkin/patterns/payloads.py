"""`PayloadGroups`: groups of near-identical attack payloads, so that each attack is reviewed once.

Each payload is read once (`payloads` in `crates/nearkin-patterns`): layers of encodings are decoded, tokens are typed,
and the delimiters around the injection are removed. The rest is its *template*, and payloads with one template are
counted together. Similar templates are joined on demand: those that differ in one word where several words occur, and
those found by MinHash and verified by a weighted Jaccard similarity of tokens and pairs of words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from nearkin._core import (
    FormTable,
    PayloadMatcher,
    add_payloads,
    form_similarity,
    forms_of,
    group_forms,
    read_payload,
)
from nearkin.errors import check_number
from nearkin.patterns.base import PatternExplanation, PatternMatch, Patterns, Unmatched
from nearkin.patterns.inputs import ItemBatch, Items, Strings, read_batches, to_bytes
from nearkin.patterns.tables import (
    MAX_EXAMPLES,
    Arrays,
    Samples,
    build_table,
    pattern_id,
    split_bytes,
    template_text,
    variable_names,
    variable_types,
)

if TYPE_CHECKING:
    import pyarrow as pa

THRESHOLD = 0.59
"""Minimum similarity of templates in one group; `docs/patterns.md` has the measurements."""
HIDDEN = ("layers", "head", "tail")
"""Variables of every template that are not in its text: decoded layers, and the text before and after the injection."""
_TYPED = re.compile(r"\{(int|hex|name|host|text)\}")


class _BuiltGroups(NamedTuple):
    """The groups of a state."""

    arrays: Arrays
    """The table of templates."""
    members: dict[int, list[int]]
    """Rows of the templates of each group, by the row of its centre."""
    ids: list[str]
    """Id of each group."""
    texts: list[str]
    """Text of the centre of each group."""
    matcher: PayloadMatcher


class PayloadGroups(Patterns):
    r"""Groups of near-identical payloads.

    Parameters
    ----------
    threshold : float, default 0.59
        Minimum similarity of two templates in one group, above 0 and up to 1; with 1 every template is a group.
    sample : int, default 64
        Maximum number of stored values of a variable, a random sample of the distinct ones.
    max_templates : int, default 200,000
        Maximum number of templates; beyond it the rarest are evicted and counted, with a warning.

    Examples
    --------
    >>> import nearkin as nk
    >>> groups = nk.PayloadGroups().fit(
    ...     [
    ...         "1' UNION ALL SELECT NULL,NULL-- ",
    ...         "7%22%29+union+all+select+null%23",
    ...         "\"><ScRiPt>alert('x')</script>",
    ...         "<script>prompt(1)</script>",
    ...         "../../../../etc/passwd%00",
    ...     ]
    ... )
    >>> groups.table().select(["pattern", "count", "layers"]).to_pylist()[0]
    {'pattern': '<script>alert()', 'count': 2, 'layers': ['case']}
    >>> groups.match("-3') uNiOn/**/aLL/**/select 8,8,8#").pattern
    'union all select null'

    Notes
    -----
    The id of a group depends only on its text. The groups depend only on the set of templates, and not on order,
    batches, counts or merges. A new template may become the centre of a group, which then has its text and id.
    """

    name: ClassVar[str] = "payloads"
    REASONS: ClassVar[tuple[str, ...]] = ("empty",)

    def __init__(self, *, threshold: float = THRESHOLD, sample: int = 64, max_templates: int = 200_000) -> None:
        self._threshold = check_number("threshold", threshold, "a number above 0, to 1", lambda share: 0 < share <= 1)
        super().__init__(sample=sample, max_templates=max_templates)

    def _params(self) -> dict[str, Any]:
        return {"threshold": self._threshold}

    def _scan(
        self, table: FormTable, batch: ItemBatch, times: npt.NDArray[np.int64] | None, sources: Strings | None
    ) -> list[int]:
        return add_payloads(table, (batch.items, times, sources))

    def _build(self) -> _BuiltGroups:
        arrays = self._table.arrays()
        templates = (np.concatenate([np.zeros(1, np.int64), arrays["form_ends"]]), arrays["forms"])
        texts, centres = self._group(templates)
        members: dict[int, list[int]] = {}
        for row, centre in enumerate(centres):
            members.setdefault(centre, []).append(row)
        order = {centre: group for group, centre in enumerate(members)}
        groups = np.array([order[centre] for centre in centres], np.uint32)
        centre_texts = [texts[centre] for centre in members]
        pinned = _pack(self._read_templates(self._overridden("pin")))
        matcher = PayloadMatcher(_pack(centre_texts), _pack(texts), groups, pinned, self._threshold)
        return _BuiltGroups(arrays, members, [pattern_id(text) for text in centre_texts], centre_texts, matcher)

    def _to_item(self, template: bytes) -> str:
        return _visible_text(template)

    def _group(self, templates: Strings) -> tuple[list[str], list[int]]:
        """Return the texts of templates and their centres, subject to `pin` and `split`."""
        pinned = np.zeros(len(templates[0]) - 1, np.bool_)
        packed, centres = group_forms(templates, pinned, self._threshold)
        texts = _unpack(packed)
        pins, splits = set(self._read_templates(self._overridden("pin"))), set(self._overridden("split"))
        if pins or splits:
            pinned |= np.array([text in pins for text in texts], np.bool_)
            _, centres = group_forms(templates, pinned, self._threshold)
            pinned |= np.array([texts[centre] in splits for centre in centres.tolist()], np.bool_)
            _, centres = group_forms(templates, pinned, self._threshold)
        return texts, centres.tolist()

    def _read_templates(self, payloads: Items) -> list[str]:
        """Return the template of each payload as text; empty for an empty payload."""
        return [text for batch in read_batches(payloads, "payloads") for text in _unpack(forms_of(batch.items))]

    def _find_texts(self, templates: Sequence[str]) -> list[str | None]:
        """Return the text of the group of each template; None for none."""
        built: _BuiltGroups = self._patterns()
        rows = built.matcher.find(_pack(templates)).tolist()
        return [built.texts[row] if row >= 0 else None for row in rows]

    def __len__(self) -> int:
        return len(self._patterns().texts)

    def table(self) -> pa.Table:
        """Return one row per group, by decreasing number of payloads, then by text.

        Returns
        -------
        pyarrow.Table
            `id` (depends only on the text), `pattern` (the template of the group's centre), `layers` (decoded layers),
            `count`, `share`, `first_seen`, `last_seen`, `sources` (number), `examples` (at most 3), `variables`
            (`name`, `type`, `distinct`, `samples`; *layers*, *head* and *tail* of all members, the others of the
            centre's template), `days` (`day`, `count`).
        """
        import pyarrow as pa

        built = self._patterns()
        return build_table(
            built.arrays,
            self.count,
            self._sample,
            text=_visible_text,
            names=_names,
            extra=[("layers", pa.list_(pa.string()), lambda group: _layers(group.values[0]))],
            groups=built.members,
            num_shared=len(HIDDEN),
        )

    def labels(self, payloads: Items) -> pa.Array:
        """Return the id of each payload's group.

        Parameters
        ----------
        payloads : iterable of str or bytes, or a column

        Returns
        -------
        pyarrow.StringArray
            Null for a payload without a group.
        """
        import pyarrow as pa

        texts = self._find_texts(self._read_templates(payloads))
        return pa.array([None if text is None else pattern_id(text) for text in texts], pa.string())

    def match(self, payload: str | bytes) -> PatternMatch | None:
        """Return the group of a payload and its variables: layers, head, tail, and the values of its own template.

        Parameters
        ----------
        payload : str or bytes
            It need not be fitted: a payload that is similar to the centre of a group belongs to it.

        Returns
        -------
        PatternMatch or None
            None if the payload is near no group, or empty.
        """
        built: _BuiltGroups = self._patterns()
        found = built.matcher.find_one(to_bytes(payload, "payload"))
        if found is None:
            return None
        group, template, values = found
        names = _value_names(template)
        return PatternMatch(built.ids[group], built.texts[group], dict(zip(names, values, strict=True)))

    def match_many(self, payloads: Items) -> pa.Table:
        """Return the groups of many payloads.

        Returns
        -------
        pyarrow.Table
            `id`, `pattern` and `variables` (layers, head, tail, and the values of the payload's own template), one row
            per payload; null without a group.
        """
        import pyarrow as pa

        contents = _read_payloads(payloads)
        rows = [
            {} if text is None else {"id": pattern_id(text), "pattern": text, "variables": content.values}
            for content, text in zip(contents, self._find_texts([each.template for each in contents]), strict=True)
        ]
        columns = [("id", pa.string()), ("pattern", pa.string()), ("variables", pa.list_(pa.string()))]
        return pa.Table.from_pylist(rows, pa.schema(columns))

    def queue(self, payloads: Items) -> pa.Table:
        """Return an alert queue without repetitions: the first payload of each group, and the number of payloads.

        The state does not change.

        Parameters
        ----------
        payloads : iterable of str or bytes, or a column
            Alerts in their order.

        Returns
        -------
        pyarrow.Table
            `row` (of the first payload of the group), `id`, `pattern`, `count`, `new` (True if no fitted group has it),
            in the order of rows. An empty payload has no group: each is a row with a null `id` and `pattern`.
        """
        import pyarrow as pa

        templates = self._read_templates(payloads)
        fitted = self._find_texts(templates)
        existing = set(fitted)
        pairs = list(zip(templates, fitted, strict=True))
        unknown = sorted({template for template, text in pairs if text is None and template})
        new_groups = type(self)(threshold=self._threshold).fit(unknown)
        new_texts = dict(zip(unknown, new_groups._find_texts(unknown), strict=True))
        texts = [new_texts.get(template) if text is None else text for template, text in pairs]
        counts = Counter(texts)
        first: dict[str, int] = {}
        rows: list[dict[str, Any]] = []
        for row, text in enumerate(texts):
            if text is None:
                rows.append({"row": row, "count": 1, "new": True})
            elif first.setdefault(text, row) == row:
                group = {"id": pattern_id(text), "pattern": text}
                rows.append({"row": row, **group, "count": counts[text], "new": text not in existing})
        columns = [("row", pa.int64()), ("id", pa.string()), ("pattern", pa.string()), ("count", pa.int64())]
        return pa.Table.from_pylist(rows, pa.schema([*columns, ("new", pa.bool_())]))

    @property
    def unmatched(self) -> Unmatched:
        """The payloads that are alone in their group, and those that were evicted at `max_templates`."""
        built, evicted = self._patterns(), self._num_evicted()
        alone = [rows[0] for rows in built.members.values() if built.arrays["counts"][rows].sum() == 1]
        _, examples = Samples(built.arrays, "examples").union(alone, MAX_EXAMPLES)
        texts = tuple(example.decode("utf-8", "backslashreplace") for example in examples)
        return Unmatched(len(alone) + evicted, texts, evicted)

    def explain(self, a: str | bytes, b: str | bytes) -> PatternExplanation:
        """Explain why two payloads are in one group or in different ones.

        Parameters
        ----------
        a, b : str or bytes
            Fitted or not.
        """
        contents = _read_payloads([a, b])
        steps = [f"{name} has the {content.describe()}" for name, content in zip("ab", contents, strict=True)]
        left, right = (content.template for content in contents)
        if not left or not right:
            return PatternExplanation(False, (*steps, "an empty payload has no group"))
        if left == right:
            return PatternExplanation(True, (*steps, "they have the same template"))
        similarity = form_similarity(left, right)
        steps.append(f"the similarity of their templates is {similarity:.2f}; the threshold is {self._threshold}")
        texts = dict(zip("ab", self._find_texts([left, right]), strict=True))
        if None in texts.values():
            unknown = " and ".join(name for name, text in texts.items() if text is None)
            return PatternExplanation(similarity >= self._threshold, (*steps, f"no fitted group contains {unknown}"))
        if texts["a"] == texts["b"]:
            return PatternExplanation(True, (*steps, f"both are in the group of {texts['a']!r}"))
        groups = (f"{name} is in the group of {text!r}" for name, text in texts.items())
        return PatternExplanation(False, (*steps, *groups))


class _Content(NamedTuple):
    """A payload after reading: its template, decoded layers, and the values of its variables, hidden ones first."""

    template: str
    layers: str
    values: list[str]

    def describe(self) -> str:
        after = f", after {self.layers.replace(',', ', ')}" if self.layers else ""
        parts = [f"{name} {text!r}" for name, text in zip(HIDDEN[1:], self.values[1:3], strict=True) if text]
        return f"template {self.template!r}{after}{' (' + ', '.join(parts) + ')' if parts else ''}"


def _read_payloads(payloads: Items) -> list[_Content]:
    contents = []
    for batch in read_batches(payloads, "payloads"):
        for item in split_bytes(batch.items[0][1:], batch.items[1]):
            template, layers, head, tail, values, _ = read_payload(item)
            texts = [value.decode("utf-8", "backslashreplace") for value in (head, tail, *values)]
            contents.append(_Content(template, layers, [layers, *texts]))
    return contents


def _visible_text(template: bytes) -> str:
    """Return the text of a template, without its hidden variables."""
    return template_text(template[2 * len(HIDDEN) :])


def _layers(values: Iterable[bytes]) -> list[str]:
    """Return the decoded layers in values of the variable `layers`."""
    return sorted({name for value in values for name in value.decode().split(",") if name})


@lru_cache(maxsize=4096)
def _value_names(template: str) -> tuple[str, ...]:
    """Return the names of a payload's variables, by the text of its template."""
    return (*HIDDEN, *variable_names(_TYPED.findall(template)))


def _names(template: bytes) -> list[str]:
    return [*HIDDEN, *variable_names(variable_types(template)[len(HIDDEN) :])]


def _unpack(strings: Strings) -> list[str]:
    return [text.decode("utf-8", "backslashreplace") for text in split_bytes(strings[0][1:], strings[1])]


def _pack(texts: Iterable[str]) -> Strings:
    encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(text) for text in encoded], dtype=np.int64)])
    return offsets, np.frombuffer(b"".join(encoded), np.uint8)


__all__ = ["THRESHOLD", "PayloadGroups"]
