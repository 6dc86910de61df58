"""Groups of near-identical attack payloads, so that a person looks at each attack once.

A payload is read once (core: `patterns/payloads/`): layers of encodings are taken off, tokens are typed, and what lets
the attack in and out of the place where it is injected goes; what is left is its *form*. Payloads of one form are
counted together. When groups are asked for, near forms are put together: those that differ in one word where several
stand, and those that are similar (MinHash proposes, a weighted Jaccard similarity of tokens and pairs of words
verifies).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from nearkin._core import (
    FormTable,
    add_payloads,
    form_similarity,
    forms_of,
    group_forms,
    nearest_forms,
    read_payload,
)
from nearkin.errors import bad_parameter
from nearkin.patterns.base import Explanation, Match, Patterns, Unexplained
from nearkin.patterns.inputs import NO_TIME, Batch, Items, Strings, batches
from nearkin.patterns.tables import Arrays, Samples, holes_of, id_of, names_of, pieces, table_of, text_of

if TYPE_CHECKING:
    import pyarrow as pa

THRESHOLD = 0.59
"""Similarity of forms from which they are one group; `docs/patterns.md` says how it was chosen."""

HIDDEN = ("layers", "head", "tail")
"""Variables of every form that are not in its text: what was decoded, what stands before and behind."""

_SHOWN = 3
"""Examples that are kept of what is in no group."""


class _Made(NamedTuple):
    """Groups of a state."""

    arrays: Arrays
    """One row a group, as a table of forms: its centre's form, sums and samples of all its forms."""
    texts: list[str]
    """Of each group the text of its centre."""
    groups: dict[str, int]
    """The group of each form, by its text."""
    layers: dict[bytes, list[str]]
    """What was decoded in a group, by the form of its centre."""


class PayloadGroups(Patterns):
    r"""Groups of near-identical payloads.

    Parameters
    ----------
    threshold : float, default 0.59
        Similarity of two forms from which they are one group, above 0 to 1; 1 keeps every form apart.
    sample : int, default 64
        Values of a variable that are kept, a random sample of the distinct ones.
    max_forms : int, default 200,000
        Forms that are kept; beyond it the rarest are let go, counted and warned of.

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
    A group's id is a function of its text alone. Groups are a function of the set of forms: neither order nor batches,
    counts nor merges enter. A new form may become the centre of a group, whose text and id are then its own.
    """

    name: ClassVar[str] = "payloads"
    REASONS: ClassVar[tuple[str, ...]] = ("empty",)

    def __init__(self, *, threshold: float = THRESHOLD, sample: int = 64, max_forms: int = 200_000) -> None:
        number = isinstance(threshold, (int, float, np.floating, np.integer)) and not isinstance(threshold, bool)
        if not number or not 0 < threshold <= 1:
            raise bad_parameter("threshold", repr(threshold), "a number above 0, to 1")
        self._threshold = float(threshold)
        super().__init__(sample=sample, max_forms=max_forms)

    def _params(self) -> dict[str, Any]:
        return {"threshold": self._threshold}

    def _items_name(self) -> str:
        return "payloads"

    def _scan(
        self,
        tables: Mapping[str, FormTable],
        batch: Batch,
        times: npt.NDArray[np.int64] | None,
        sources: Strings | None,
    ) -> list[int]:
        return add_payloads(tables["forms"], batch.items, times, sources)

    def _make(self) -> _Made:
        arrays = self._tables["forms"].arrays()
        forms = (np.concatenate([np.zeros(1, np.int64), arrays["form_ends"]]), arrays["forms"])
        texts, centres = self._grouped(forms)
        members: dict[int, list[int]] = {}
        for row, centre in enumerate(centres.tolist()):
            members.setdefault(centre, []).append(row)
        found, layers = _merged(arrays, members, self._sample)
        order = {centre: group for group, centre in enumerate(members)}
        groups = {texts[row]: order[centre] for row, centre in enumerate(centres.tolist())}
        return _Made(found, [texts[centre] for centre in members], groups, layers)

    def _grouped(self, forms: Strings) -> tuple[list[str], npt.NDArray[np.uint32]]:
        """Texts of forms and their centres, as `pin` and `split` want them."""
        rows = len(forms[0]) - 1
        apart = set(self._forms([text for order, text in self._orders if order == "pin"]))
        split = {text for order, text in self._orders if order == "split"}
        pinned = np.zeros(rows, np.bool_)
        packed, centres = group_forms(forms, pinned, self._threshold)
        texts = _listed(packed)
        if apart or split:
            pinned |= np.fromiter((text in apart for text in texts), np.bool_, rows)
            packed, centres = group_forms(forms, pinned, self._threshold)
            pinned |= np.fromiter((texts[centre] in split for centre in centres.tolist()), np.bool_, rows)
            packed, centres = group_forms(forms, pinned, self._threshold)
        return texts, centres

    def _forms(self, payloads: Items) -> list[str]:
        """The form of each payload as text; an empty one for an empty payload."""
        return [text for batch in batches(payloads, "payloads") for text in _listed(forms_of(batch.items))]

    def _found(self, forms: Sequence[str]) -> list[int]:
        """The group of each form: its own, else that of the nearest centre; -1 for none."""
        made = self._patterns()
        unknown = sorted({form for form in forms if form and form not in made.groups})
        near = nearest_forms(_packed(made.texts), _packed(unknown), self._threshold).tolist() if unknown else []
        pinned = set(self._forms([text for order, text in self._orders if order == "pin"]))
        known = {
            **made.groups,
            **{form: -1 if form in pinned else row for form, row in zip(unknown, near, strict=True)},
        }
        return [known.get(form, -1) for form in forms]

    def __len__(self) -> int:
        return len(self._patterns().texts)

    def table(self) -> pa.Table:
        """One row a group, most payloads first, then by text.

        Returns
        -------
        pyarrow.Table
            `id` (a function of the text alone), `pattern` (the form of the group's centre), `layers` (what was
            decoded), `count`, `share`, `first_seen`, `last_seen`, `sources` (how many), `examples` (at most 3),
            `variables` (`name`, `type`, `distinct`, `samples`; of all forms *layers*, *head* and *tail*, of the
            centre's form the others), `days` (`day`, `count`).
        """
        import pyarrow as pa

        made = self._patterns()
        extra = [("layers", pa.list_(pa.string()), lambda form: made.layers[form])]
        return table_of(made.arrays, self.count, self._sample, text=_text, names=_names, extra=extra)

    def labels(self, payloads: Items) -> pa.Array:
        """The id of each payload's group.

        Parameters
        ----------
        payloads : iterable of str or bytes, or a column

        Returns
        -------
        pyarrow.StringArray
            Null where no group has the payload.
        """
        import pyarrow as pa

        ids = [id_of(text) for text in self._patterns().texts]
        return pa.array([ids[row] if row >= 0 else None for row in self._found(self._forms(payloads))], pa.string())

    def match(self, payload: str | bytes) -> Match | None:
        """The group of a payload, and its variables: layers, head, tail, and the values of its own form.

        Parameters
        ----------
        payload : str or bytes
            Not necessarily one that was fitted: what is similar enough to a group's centre belongs to it.

        Returns
        -------
        Match or None
            None if it is near no group, or empty.
        """
        (batch,) = batches([payload], "payloads")
        (item,) = pieces(batch.items[0][1:], batch.items[1])
        form, layers, head, tail, values, _ = read_payload(item)
        (row,) = self._found([form])
        if row < 0:
            return None
        text = self._patterns().texts[row]
        names = [*HIDDEN, *names_of(_kinds(form))]
        shown = [layers, *(value.decode("utf-8", "backslashreplace") for value in (head, tail, *values))]
        return Match(id_of(text), text, dict(zip(names, shown, strict=True)))

    def match_many(self, payloads: Items) -> pa.Table:
        """Groups of many payloads.

        Returns
        -------
        pyarrow.Table
            `id`, `pattern` and `variables` (layers, head, tail, and the values of the payload's own form), one row a
            payload; null where no group has it.
        """
        import pyarrow as pa

        made, rows = self._patterns(), []
        for batch in batches(payloads, "payloads"):
            read = [read_payload(item) for item in pieces(batch.items[0][1:], batch.items[1])]
            for (_, layers, head, tail, values, _), group in zip(
                read, self._found([one[0] for one in read]), strict=True
            ):
                text = made.texts[group] if group >= 0 else None
                shown = [layers, *(value.decode("utf-8", "backslashreplace") for value in (head, tail, *values))]
                rows.append({"id": id_of(text), "pattern": text, "variables": shown} if text is not None else {})
        kind = pa.schema([("id", pa.string()), ("pattern", pa.string()), ("variables", pa.list_(pa.string()))])
        return pa.Table.from_pylist(rows, kind)

    def queue(self, payloads: Items) -> pa.Table:
        """An alert queue without repeats: of each group the first payload, and how many there are.

        The state stays as it is.

        Parameters
        ----------
        payloads : iterable of str or bytes, or a column
            Alerts in their order.

        Returns
        -------
        pyarrow.Table
            `row` (of the first payload of the group), `id`, `pattern`, `count`, `new` (whether no fitted group has
            it), in the order of rows. An empty payload has no group; each is a row of its own, whose `id` and
            `pattern` are null.
        """
        import pyarrow as pa

        forms = self._forms(payloads)
        texts = self._texts(forms)
        known = {text for text in texts if text is not None}
        strange = sorted({form for form, text in zip(forms, texts, strict=True) if text is None and form})
        own = dict(zip(strange, type(self)(threshold=self._threshold).fit(strange)._texts(strange), strict=True))
        shown = [own.get(form) if text is None else text for form, text in zip(forms, texts, strict=True)]
        counts = Counter(shown)
        first: dict[str, int] = {}
        rows: list[dict[str, Any]] = []
        for row, text in enumerate(shown):
            if text is None:
                rows.append({"row": row, "count": 1, "new": True})
            elif first.setdefault(text, row) == row:
                about = {"id": id_of(text), "pattern": text}
                rows.append({"row": row, **about, "count": counts[text], "new": text not in known})
        kinds = [("row", pa.int64()), ("id", pa.string()), ("pattern", pa.string()), ("count", pa.int64())]
        return pa.Table.from_pylist(rows, pa.schema([*kinds, ("new", pa.bool_())]))

    def _texts(self, forms: Sequence[str]) -> list[str | None]:
        """The text of the group of each form, None for none."""
        made = self._patterns()
        return [made.texts[row] if row >= 0 else None for row in self._found(forms)]

    @property
    def unexplained(self) -> Unexplained:
        """Payloads that are alone in their group, and those whose forms were let go at `max_forms`."""
        arrays = self._patterns().arrays
        alone = np.flatnonzero(arrays["counts"] == 1).tolist()
        samples = Samples(arrays, "examples")
        examples = sorted(
            (int(samples.hashes(row)[0]), samples.texts(row, 1)[0]) for row in alone if len(samples.hashes(row))
        )
        return Unexplained(len(alone) + self._let_go(), tuple(text for _, text in examples[:_SHOWN]), self._let_go())

    def explain(self, a: str | bytes, b: str | bytes) -> Explanation:
        """Why two payloads are in one group, or why not.

        Parameters
        ----------
        a, b : str or bytes
            Fitted or not.

        Returns
        -------
        Explanation
        """
        (batch,) = batches([a, b], "payloads")
        read = [read_payload(item) for item in pieces(batch.items[0][1:], batch.items[1])]
        steps = [_step(name, *one[:4]) for name, one in zip("ab", read, strict=True)]
        left, right = read[0][0], read[1][0]
        if not left or not right:
            return Explanation(False, (*steps, "an empty payload has no group"))
        if left == right:
            return Explanation(True, (*steps, "they have the same form"))
        similarity = form_similarity(left, right)
        steps.append(f"their forms are similar to {similarity:.2f}; the threshold is {self._threshold}")
        rows = self._found([left, right])
        if min(rows) < 0:
            unknown = " and ".join(name for name, row in zip("ab", rows, strict=True) if row < 0)
            return Explanation(similarity >= self._threshold, (*steps, f"no fitted group has {unknown}"))
        texts = [self._patterns().texts[row] for row in rows]
        if rows[0] == rows[1]:
            return Explanation(True, (*steps, f"both are in the group of {texts[0]!r}"))
        return Explanation(
            False, (*steps, *(f"{n} is in the group of {t!r}" for n, t in zip("ab", texts, strict=True)))
        )


def _step(name: str, form: str, layers: str, head: bytes, tail: bytes) -> str:
    """What reading a payload found."""
    after = f", after {layers.replace(',', ', ')}" if layers else ""
    parts = [
        f"{what} {part.decode('utf-8', 'backslashreplace')!r}"
        for what, part in (("head", head), ("tail", tail))
        if part
    ]
    return f"{name} has the form {form!r}{after}{' (' + ', '.join(parts) + ')' if parts else ''}"


def _text(form: bytes) -> str:
    """The text of a form, without its hidden variables."""
    return text_of(form[2 * len(HIDDEN) :])


def _names(form: bytes) -> list[str]:
    return [*HIDDEN, *names_of(holes_of(form)[len(HIDDEN) :])]


def _kinds(form: str) -> list[str]:
    """Types of the variables of a form's text, in order."""
    import re

    return re.findall(r"\{(int|hex|name|host|text)\}", form)


def _listed(strings: Strings) -> list[str]:
    return [text.decode("utf-8", "backslashreplace") for text in pieces(strings[0][1:], strings[1])]


def _packed(texts: Iterable[str]) -> Strings:
    encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(text) for text in encoded], dtype=np.int64)])
    return offsets, np.frombuffer(b"".join(encoded), np.uint8)


class _Column:
    """Samples that are being written, as the arrays of a table of forms have them."""

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.hashes: list[int] = []
        self.texts: list[bytes] = []

    def add(self, samples: Iterable[tuple[npt.NDArray[np.uint64], list[bytes]]], most: int) -> list[bytes]:
        """Appends the sample of the union of samples; its texts."""
        union: dict[int, bytes] = {}
        for hashes, texts in samples:
            union.update(zip(hashes.tolist(), texts, strict=True))
        kept = sorted(union)[:most]
        self.hashes += kept
        self.texts += [union[key] for key in kept]
        self.ends.append(len(self.hashes))
        return self.texts[len(self.texts) - len(kept) :]

    def arrays(self, name: str) -> Arrays:
        """By the names of a table of forms."""
        return {
            f"{name}_ends": np.array(self.ends, np.int64),
            f"{name}_hashes": np.array(self.hashes, np.uint64),
            f"{name}_text_ends": np.cumsum([len(text) for text in self.texts], dtype=np.int64),
            f"{name}_text": np.frombuffer(b"".join(self.texts), np.uint8),
        }


class _Held:
    """Samples of a table of forms with the bytes of their values."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._ends = [0, *arrays[f"{name}_ends"].tolist()]
        self._hashes = arrays[f"{name}_hashes"]
        self._texts = pieces(arrays[f"{name}_text_ends"], arrays[f"{name}_text"])

    def __getitem__(self, row: int) -> tuple[npt.NDArray[np.uint64], list[bytes]]:
        part = slice(self._ends[row], self._ends[row + 1])
        return self._hashes[part], self._texts[part]


_EXAMPLES = 3
"""Examples of a form, as the core keeps them."""


def _merged(arrays: Arrays, members: Mapping[int, list[int]], sample: int) -> tuple[Arrays, dict[bytes, list[str]]]:
    """A table of groups in the arrays of a table of forms, and what was decoded in each.

    Parameters
    ----------
    arrays : dict
        Of the table of forms.
    members : mapping of int to list of int
        Rows of each group by the row of its centre.
    sample : int
        Most values of a sample.
    """
    forms = pieces(arrays["form_ends"], arrays["forms"])
    kinds = [holes_of(form) for form in forms]
    starts = [0, *arrays["hole_ends"].tolist()]
    days = _days(arrays)
    held = {name: _Held(arrays, name) for name in ("examples", "sources", "holes")}
    columns = {name: _Column() for name in held}
    layers: dict[bytes, list[str]] = {}
    hole_ends, day_ends, day_numbers, day_counts = [], [], [], []
    for centre, rows in members.items():
        columns["examples"].add((held["examples"][row] for row in rows), _EXAMPLES)
        columns["sources"].add((held["sources"][row] for row in rows), sample)
        for hole in range(len(kinds[centre])):
            # Forms with the same variables as the centre say what their values are; of all the hidden ones.
            of = rows if hole < len(HIDDEN) else [row for row in rows if kinds[row] == kinds[centre]]
            texts = columns["holes"].add((held["holes"][starts[row] + hole] for row in of), sample)
            if hole == 0:
                layers[forms[centre]] = sorted({name for text in texts for name in text.decode().split(",") if name})
        hole_ends.append(len(columns["holes"].ends))
        summed: Counter[int] = Counter()
        for row in rows:
            summed.update(days[row])
        day_numbers += sorted(summed)
        day_counts += [summed[day] for day in sorted(summed)]
        day_ends.append(len(day_numbers))
    first = [[t for t in arrays["first"][rows].tolist() if t != NO_TIME] for rows in members.values()]
    found: Arrays = {
        "form_ends": np.cumsum([len(forms[centre]) for centre in members], dtype=np.int64),
        "forms": np.frombuffer(b"".join(forms[centre] for centre in members), np.uint8),
        "counts": np.array([int(arrays["counts"][rows].sum()) for rows in members.values()], np.uint64),
        "first": np.array([min(times, default=NO_TIME) for times in first], np.int64),
        "last": np.array([int(arrays["last"][rows].max()) for rows in members.values()], np.int64),
        "day_ends": np.array(day_ends, np.int64),
        "days": np.array(day_numbers, np.int32),
        "day_counts": np.array(day_counts, np.uint64),
        "hole_ends": np.array(hole_ends, np.int64),
    }
    for name, column in columns.items():
        found.update(column.arrays(name))
    return found, layers


def _days(arrays: Arrays) -> list[dict[int, int]]:
    """Of each form how many items were written on each day."""
    numbers, counts, start, found = arrays["days"].tolist(), arrays["day_counts"].tolist(), 0, []
    for end in arrays["day_ends"].tolist():
        found.append(dict(zip(numbers[start:end], counts[start:end], strict=True)))
        start = end
    return found


__all__ = ["THRESHOLD", "PayloadGroups"]
