"""Patterns of the URLs of a site: what a firewall, a crawler or an analyst calls its interfaces.

A pattern is still a URL, `GET example.com/api/v1/users/{int}/orders?page={int}`: names stay, what varies is typed. The
core does the work (`crates/nearkin-core/src/patterns/urls`): `canonical` says which URLs are one, `scan` which parts
have a type by themselves, `decide` when many siblings in a path are values of one variable, `parameters` which keys of
a query dispatch.

The id of a pattern depends on its method, host, path and dispatching parameters. Other parameters may turn up or widen
their type later: the text changes then, the id does not, and `compare` tells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from nearkin._core import FormTable, UrlSites, add_urls, canonical_url, compact_urls, url_reasons
from nearkin.errors import ParameterError, bad_parameter, check_count
from nearkin.patterns import urls_exports
from nearkin.patterns.base import Explanation, Match, Patterns, Unexplained
from nearkin.patterns.inputs import Batch, Items, Strings, batches
from nearkin.patterns.tables import table_of
from nearkin.patterns.urls_parts import UrlParameter, UrlPattern, part_text

if TYPE_CHECKING:
    import pyarrow as pa

_Self = TypeVar("_Self", bound="UrlPatterns")
Kept: TypeAlias = Literal["version", "language", "suffix"]
KEPT: tuple[Kept, ...] = ("version", "language", "suffix")

_METHOD = re.compile(rb"[A-Za-z]{3,20} ")
"""How a request line begins."""


@dataclass
class _Made:
    """Patterns of a state: the core's object, and what is asked of it."""

    sites: UrlSites
    patterns: list[UrlPattern]
    by_form: dict[bytes, UrlPattern]


class UrlPatterns(Patterns):
    """Patterns of URLs, each of them a URL with typed variables.

    Parameters
    ----------
    support : int, default 2
        Requests that a pattern needs; what is asked for less often is counted as unexplained. It does not count on a
        host where most patterns are asked for once, as in a list of distinct URLs.
    drop_trackers : bool, default False
        Whether parameters that follow a visitor (`utm_*`, `gclid`, `fbclid`, ...) are dropped.
    keep : sequence of {"version", "language", "suffix"}, default all three
        What stays a name: version segments such as `v1` (unless there are eight or more), codes of languages such as
        `de`, and suffixes of files such as `.html`. One that is left out may be part of a variable.
    sample, max_forms : int
        As for `Patterns`.

    Examples
    --------
    >>> import nearkin as nk
    >>> urls = [f"/users/{n}/orders?page={n % 3}" for n in range(20)] + ["/users/list"] * 5
    >>> patterns = nk.UrlPatterns().fit(urls)
    >>> patterns.table()["pattern"].to_pylist()
    ['/users/{int}/orders?page={int}', '/users/list']
    >>> patterns.match("/users/99/orders").variables
    {'user': '99'}
    """

    name: ClassVar[str] = "urls"
    REASONS: ClassVar[tuple[str, ...]] = tuple(url_reasons())

    def __init__(
        self,
        *,
        support: int = 2,
        drop_trackers: bool = False,
        keep: Iterable[Kept] = KEPT,
        sample: int = 64,
        max_forms: int = 200_000,
    ) -> None:
        self._support = check_count("support", support, 1, 1 << 31, "1 to 2147483648")
        if not isinstance(drop_trackers, bool):
            raise bad_parameter("drop_trackers", repr(drop_trackers), "True or False")
        self._drop_trackers = drop_trackers
        kept = [keep] if isinstance(keep, str) else list(keep)
        if isinstance(keep, str) or any(one not in KEPT for one in kept):
            raise bad_parameter("keep", repr(keep), "a sequence of 'version', 'language' and 'suffix'")
        self._keep = tuple(one for one in KEPT if one in kept)
        self._methods: _Methods | None = None
        super().__init__(sample=sample, max_forms=max_forms)

    def _params(self) -> dict[str, Any]:
        return {"support": self._support, "drop_trackers": self._drop_trackers, "keep": list(self._keep)}

    def _items_name(self) -> str:
        return "urls"

    def fit(  # type: ignore[override]
        self: _Self, urls: Items, methods: Any = None, times: Any = None, clients: Any = None
    ) -> _Self:
        """Forgets what it has, and takes these URLs; orders of `split` and `pin` stay.

        Parameters
        ----------
        urls : iterable of str or bytes, or a column
            URLs, paths (`/a?b=c`) or request lines (`GET /a HTTP/1.1`), as columns of Arrow, pandas, polars or NumPy
            too.
        methods : iterable of str or None, or a column, optional
            The method of each; it stands for that of a request line.
        times : array, column or iterable, optional
            When each was asked for: `datetime64`, timestamps, `datetime`, or seconds since 1970 (UTC).
        clients : iterable of str or None, or a column, optional
            Who asked. Where clients are known, what few of them asked for makes no variable of words.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            A URL that is missing or no text; a column of another length. Nothing is taken then.
        """
        return self._read(urls, methods, times, clients, fresh=True)

    def partial_fit(  # type: ignore[override]
        self: _Self, urls: Items, methods: Any = None, times: Any = None, clients: Any = None
    ) -> _Self:
        """Adds a batch; parameters are those of `fit`. Batches in any order give what one `fit` of all gives."""
        return self._read(urls, methods, times, clients, fresh=False)

    def _read(self: _Self, urls: Items, methods: Any, times: Any, clients: Any, *, fresh: bool) -> _Self:
        self._methods = None if methods is None else _Methods(methods)
        try:
            return self._take(urls, times, clients, fresh=fresh)
        finally:
            self._methods = None

    def _scan(
        self,
        tables: Mapping[str, FormTable],
        batch: Batch,
        times: npt.NDArray[np.int64] | None,
        sources: Strings | None,
    ) -> list[int]:
        methods = None if self._methods is None else self._methods.of(batch)
        table = tables["forms"]
        skipped = add_urls(table, batch.items, times, sources, methods, self._drop_trackers)
        self._compact(table, len(table))
        return skipped

    def _absorb(self, tables: Mapping[str, FormTable], skipped: Mapping[str, int]) -> None:
        new, old = tables["forms"], self._tables["forms"]
        for table in (new, old):
            self._compact(table, len(new) + len(old))
        super()._absorb(tables, skipped)

    def _compact(self, table: FormTable, forms: int) -> None:
        """Replaces the forms of a table by what their patterns make of them, where there are too many."""
        if 4 * forms > 3 * self._max_forms and len(table):
            compact_urls(table, *self._rules(table))

    def _rules(self, table: FormTable) -> tuple[int, list[bytes], list[bytes], bool, tuple[bool, bool, bool]]:
        """What the merge of a table is told."""
        pins = [text.encode() for order, text in sorted(self._orders) if order == "pin"]
        splits = [text.encode() for order, text in sorted(self._orders) if order == "split"]
        keep = ("version" in self._keep, "language" in self._keep, "suffix" in self._keep)
        return self._support, pins, splits, len(table.arrays()["sources_hashes"]) > 0, keep

    def _make(self) -> _Made:
        table = self._tables["forms"]
        sites = UrlSites(table, *self._rules(table))
        patterns = [_pattern(*found) for found in sites.patterns()]
        return _Made(sites, patterns, {pattern.form: pattern for pattern in patterns})

    def __len__(self) -> int:
        return len(self._patterns().patterns)

    @property
    def patterns(self) -> list[UrlPattern]:
        """The patterns in parts, most requests first."""
        return list(self._patterns().patterns)

    def table(self) -> pa.Table:
        """One row a pattern, most requests first, then by text.

        Returns
        -------
        pyarrow.Table
            `id`, `pattern`, `method` and `host` (null for none), `count`, `share`, `first_seen`, `last_seen`, `sources`
            (distinct clients), `examples`, `variables` (name, type, distinct values, samples), `days`.
        """
        import pyarrow as pa

        made = self._patterns()
        by_form: dict[bytes, UrlPattern] = made.by_form
        table = table_of(
            made.sites.rows().arrays(),
            self.count,
            self._sample,
            text=lambda form: by_form[form].text,
            names=lambda form: by_form[form].names,
            extra=[
                ("method", pa.string(), lambda form: by_form[form].method or None),
                ("host", pa.string(), lambda form: by_form[form].host or None),
            ],
        )
        ids = {pattern.text: pattern.id for pattern in made.patterns}
        return table.set_column(0, "id", pa.array([ids[text] for text in table["pattern"].to_pylist()], pa.string()))

    @property
    def unexplained(self) -> Unexplained:
        """URLs that no pattern explains: how many, and examples by smallest hash."""
        count, examples = self._patterns().sites.unexplained()
        let_go = self._let_go()
        return Unexplained(
            int(count) + let_go, tuple(example.decode("utf-8", "backslashreplace") for example in examples), let_go
        )

    def match(self, url: str | bytes, method: str | None = None) -> Match | None:
        """The pattern of a URL and the values of its variables; None where no pattern explains it.

        Parameters
        ----------
        url : str or bytes
            A URL, a path or a request line.
        method : str, optional
            Its method.
        """
        return self._matches([url], None if method is None else [method])[0]

    def _matches(self, urls: Items, methods: Any) -> list[Match | None]:
        found = self.match_many(urls, methods).to_pylist()
        by_id = {pattern.id: pattern for pattern in self._patterns().patterns}
        return [
            None
            if row["id"] is None
            else Match(
                row["id"],
                row["pattern"],
                {
                    name: value
                    for name, value in zip(by_id[row["id"]].names, row["variables"], strict=True)
                    if value is not None
                },
            )
            for row in found
        ]

    def match_many(self, urls: Items, methods: Any = None) -> pa.Table:
        """The patterns of many URLs.

        Parameters
        ----------
        urls, methods
            As for `fit`. A URL whose method nobody knows has the pattern of any method, of several that with the most
            requests.

        Returns
        -------
        pyarrow.Table
            A row for each: `id` and `pattern`, null for none, and `variables`, a list of values in the order of the
            pattern's variables, null for an optional parameter that is missing.
        """
        import pyarrow as pa

        made = self._patterns()
        reader = None if methods is None else _Methods(methods)
        ids = pa.array([pattern.id for pattern in made.patterns], pa.string())
        texts = pa.array([pattern.text for pattern in made.patterns], pa.string())
        names = ["id", "pattern", "variables"]
        parts = []
        for batch in batches(urls, "urls"):
            which = None if reader is None else reader.of(batch)
            numbers, *values = made.sites.find(batch.items, which, self._drop_trackers)
            places = pa.array(numbers, mask=numbers < 0)
            part = pa.table([ids.take(places), texts.take(places), _lists(numbers, *values)], names)
            parts.append(part if reader is not None else self._by_any_method(part, batch, numbers))
        if not parts:
            parts = [pa.table([ids[:0], texts[:0], pa.array([], pa.large_list(pa.large_string()))], names)]
        return pa.concat_tables(parts)

    def _by_any_method(self, part: pa.Table, batch: Batch, numbers: npt.NDArray[Any]) -> pa.Table:
        """Matches of a batch, those that have none and say no method by the methods that patterns have."""
        import pyarrow as pa

        requests: Counter[str] = Counter()
        for row in self.table().select(["method", "count"]).to_pylist():
            requests[row["method"] or ""] += row["count"]
        methods = [method for method, _ in sorted(requests.items(), key=lambda item: (-item[1], item[0])) if method]
        starts, data = batch.items
        open_ = [
            row
            for row in np.flatnonzero(numbers < 0).tolist()
            if not _METHOD.match(data[starts[row] : starts[row] + 32].tobytes())
        ]
        tables, taken, rows = [part], np.arange(len(part)), len(part)
        for method in methods:
            if not open_:
                break
            items = [data[starts[row] : starts[row + 1]].tobytes() for row in open_]
            found = self.match_many(items, [method] * len(items))
            has = found["id"].is_valid().to_pylist()
            tables.append(found)
            for at, row in enumerate(open_):
                if has[at]:
                    taken[row] = rows + at
            rows += len(items)
            open_ = [row for at, row in enumerate(open_) if not has[at]]
        return part if len(tables) == 1 else pa.concat_tables(tables).take(pa.array(taken))

    def explain(self, a: str | bytes, b: str | bytes) -> Explanation:
        """Why two URLs have one pattern, or why not.

        Parameters
        ----------
        a, b : str or bytes
            URLs, paths or request lines.
        """
        texts = [self._canonical(url) for url in (a, b)]
        found = self._matches([a, b], None)
        steps = [f"{'ab'[at]} is {texts[at]}" for at in (0, 1)]
        for name, match in zip("ab", found, strict=True):
            steps.append(f"{name} has {'no pattern' if match is None else 'the pattern ' + match.pattern}")
        together = found[0] is not None and found[1] is not None and found[0].id == found[1].id
        by_id = {pattern.id: pattern for pattern in self._patterns().patterns}
        if together and found[0] is not None:
            steps += self._reasons(by_id[found[0].id])
        else:
            steps += self._differences(texts, [by_id.get(match.id) if match else None for match in found])
        return Explanation(together, tuple(steps))

    def _canonical(self, url: str | bytes) -> str:
        item = url.encode("utf-8", "surrogateescape") if isinstance(url, str) else bytes(url)
        text, reason = canonical_url(item, None, drop_trackers=self._drop_trackers)
        return f"left out: {reason}" if text is None else text.decode("ascii", "backslashreplace")

    def _reasons(self, pattern: UrlPattern) -> list[str]:
        """What made each slot of a pattern."""
        made = {bare: verdict for bare, *verdict in self._patterns().sites.evidence()}
        steps = []
        for level, part in enumerate(pattern.path):
            if b"\xff" not in part:
                continue
            bare = "/".join([pattern.host, *(_bare(one) for one in pattern.path[: level + 1])]).encode()
            text = part_text(part)
            if bare in made:
                _, score, distinct, requests, once = made[bare]
                steps.append(
                    f"{text} is a variable by its number of values: {distinct} in {requests} requests, {once} of them "
                    f"asked for once (score {score:.1f}, more than 0)"
                )
            else:
                steps.append(f"{text} is a variable by its type")
        return steps

    def _differences(self, texts: list[str], found: list[UrlPattern | None]) -> list[str]:
        """Where two URLs part."""
        steps = []
        for name, pattern in zip("ab", found, strict=True):
            if pattern is None:
                steps.append(
                    f"{name} is not explained: its path, or a value of it, is in no pattern, or it was asked for fewer "
                    f"than {self._support} times"
                )
        if found[0] is None or found[1] is None:
            return steps
        first, second = found[0], found[1]
        for what, one, other in (("methods", first.method, second.method), ("hosts", first.host, second.host)):
            if one != other:
                return [*steps, f"the {what} differ: {one or 'none'} and {other or 'none'}"]
        for level, (one_part, other_part) in enumerate(zip(first.path, second.path, strict=False)):
            if one_part != other_part:
                return [*steps, f"segment {level + 1} differs: {part_text(one_part)} and {part_text(other_part)}"]
        if len(first.path) != len(second.path):
            return [*steps, f"the paths have {len(first.path)} and {len(second.path)} segments"]
        literal = [
            {p.key: p.literal for p in pattern.parameters if p.literal is not None} for pattern in (first, second)
        ]
        keys = sorted(
            key for key in literal[0].keys() | literal[1].keys() if literal[0].get(key) != literal[1].get(key)
        )
        return [*steps, *(f"{key} dispatches: {literal[0].get(key)} and {literal[1].get(key)}" for key in keys)]

    def _compared(self, older: Patterns, table: pa.Table) -> pa.Table:
        """What is new; a pattern whose parameters changed is of kind *type* under its old id."""
        import pyarrow as pa

        found = super()._compared(older, table)
        was = {row["id"]: row for row in table.select(["id", "pattern", "share"]).to_pylist()}
        changed = [
            {
                "kind": "type",
                "id": row["id"],
                "pattern": row["pattern"],
                "was": was[row["id"]]["pattern"],
                "before": was[row["id"]]["share"],
                "after": row["share"],
            }
            for row in self.table().select(["id", "pattern", "share"]).to_pylist()
            if row["id"] in was and was[row["id"]]["pattern"] != row["pattern"]
        ]
        return pa.concat_tables([found, pa.Table.from_pylist(changed, found.schema)])

    def split(self: _Self, pattern_id: str) -> _Self:
        """Takes back the last variable of a pattern that the number of values made; its values are names from now on.

        Parameters
        ----------
        pattern_id : str
            The `id` of a pattern of `table`.

        Raises
        ------
        ParameterError
            There is no such pattern, or its variables have their types by themselves.
        """
        found = {pattern.id: pattern for pattern in self._patterns().patterns}
        if pattern_id not in found:
            raise bad_parameter("pattern_id", repr(pattern_id), "the id of a pattern of table()")
        pattern = found[pattern_id]
        made = {bare for bare, *_ in self._patterns().sites.evidence()}
        for level in range(len(pattern.path), 0, -1):
            bare = "/".join([pattern.host, *(_bare(part) for part in pattern.path[:level])])
            if bare.encode() in made:
                self._orders.add(("split", bare))
                self._made = None
                return self
        raise ParameterError(
            f"{pattern.text} has no variable that the number of values made; those of a type, as "
            "{int}, are seen in every URL, and stay",
            name="pattern_id",
            found=pattern_id,
        )

    def to_regex(self, pattern_id: str, *, host: bool = False) -> str:
        """A regular expression (Python, PCRE) that matches the canonical path and query of what the pattern matches.

        Parameters
        ----------
        pattern_id : str
            The `id` of a pattern of `table`.
        host : bool, default False
            Whether the host, if there is one, is part of it.
        """
        return urls_exports.to_regex(self._one(pattern_id), host=host)

    def to_openapi(self, *, title: str = "Interfaces", version: str = "1") -> dict[str, Any]:
        """An OpenAPI 3.0 document of all patterns: paths, parameters, types.

        Parameters
        ----------
        title, version : str
            What the document says of itself.
        """
        return urls_exports.to_openapi(self._patterns().patterns, title=title, version=version)

    def to_nginx(self) -> str:
        """Locations of nginx, one for each path; what no location takes is refused with 404."""
        return urls_exports.to_nginx(self._patterns().patterns)

    def to_modsecurity(self, *, first_rule: int = 100_000) -> str:
        """Rules of ModSecurity that refuse what no pattern explains.

        Parameters
        ----------
        first_rule : int, default 100,000
            The number of the first rule; each rule has one of its own.
        """
        number = check_count("first_rule", first_rule, 1, 1 << 31, "1 to 2147483648")
        return urls_exports.to_modsecurity(self._patterns().patterns, first_rule=number)

    def _one(self, pattern_id: str) -> UrlPattern:
        for pattern in self._patterns().patterns:
            if pattern.id == pattern_id:
                return pattern  # type: ignore[no-any-return]
        raise bad_parameter("pattern_id", repr(pattern_id), "the id of a pattern of table()")


def _bare(part: bytes) -> str:
    """A part with `{}` for each hole."""
    return re.sub(rb"\xff.", b"{}", part, flags=re.DOTALL).decode("ascii", "backslashreplace")


def _pattern(
    form: bytes,
    method: bytes,
    host: bytes,
    path: list[bytes],
    parameters: list[tuple[bytes, bytes | None, str | None, bool, bool]],
    count: int,
) -> UrlPattern:
    """A pattern of the core with its text, names and id."""
    known = [
        UrlParameter(part_text(key), None if literal is None else literal.decode("ascii"), kind, optional, repeated)
        for key, literal, kind, optional, repeated in parameters
    ]
    return UrlPattern(form, method.decode("ascii"), host.decode("ascii"), tuple(path), tuple(known), count)


def _lists(
    numbers: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    text_ends: npt.NDArray[np.int64],
    present: npt.NDArray[np.uint8],
    text: npt.NDArray[np.uint8],
) -> Any:
    """Values of variables as an Arrow array of lists."""
    import pyarrow as pa

    zero = np.zeros(1, np.int64)
    mask = np.packbits(present.astype(bool), bitorder="little")
    values = pa.LargeStringArray.from_buffers(
        len(text_ends), pa.py_buffer(np.concatenate([zero, text_ends])), pa.py_buffer(text), pa.py_buffer(mask)
    )
    return pa.LargeListArray.from_arrays(pa.array(np.concatenate([zero, ends])), values, mask=pa.array(numbers < 0))


class _Methods:
    """Methods of items, as numbers of distinct ones."""

    def __init__(self, methods: Any) -> None:
        import pyarrow as pa

        if isinstance(methods, (str, bytes)):
            raise ParameterError("methods is one str; use an iterable of them, one for each URL", name="methods")
        if not isinstance(methods, (pa.Array, pa.ChunkedArray)):
            stream = hasattr(methods, "__arrow_c_stream__")
            try:
                methods = (
                    pa.chunked_array(methods) if stream else pa.array(list(methods), pa.string(), from_pandas=True)
                )
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise bad_parameter(
                    "methods", f"a column that holds no texts ({error})", "names such as GET"
                ) from error
        if isinstance(methods, pa.ChunkedArray):
            methods = methods.combine_chunks()
        if not pa.types.is_dictionary(methods.type):
            methods = methods.dictionary_encode()
        self._names = ["" if name is None else str(name) for name in methods.dictionary.to_pylist()]
        numbers = methods.indices.cast(pa.uint32()).fill_null(len(self._names))
        self._numbers = np.asarray(numbers).astype(np.uint32)

    def of(self, batch: Batch) -> tuple[npt.NDArray[np.uint32], list[bytes]]:
        """Those of a batch."""
        part = self._numbers[batch.first : batch.first + batch.rows]
        if len(part) != batch.rows:
            raise bad_parameter("len(methods)", len(self._numbers), "one for each URL")
        return np.ascontiguousarray(part), [name.encode() for name in self._names]


__all__ = ["UrlParameter", "UrlPattern", "UrlPatterns"]
