"""Patterns of the URLs of a site, such as `GET example.com/api/v1/users/{int}/orders?page={int}`.

The compiled module (`crates/nearkin-patterns`) makes URLs canonical, finds the types of their parts, decides when many
siblings in a path are values of one variable, and finds the parameters that dispatch.

The id of a pattern depends on its method, host, path and dispatching parameters. When another parameter appears or
widens its type, the text changes and the id remains; `compare` reports it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from nearkin._core import FormTable, UrlSites, add_urls, canonical_url, compact_urls, url_reasons
from nearkin.errors import ParameterError, bad_parameter, check_count
from nearkin.io.arrow import to_values
from nearkin.patterns import url_exports
from nearkin.patterns.base import PatternExplanation, PatternMatch, Patterns, Unmatched
from nearkin.patterns.inputs import (
    AlignedColumns,
    ItemBatch,
    Items,
    Methods,
    Strings,
    pack_column,
    read_batches,
    to_bytes,
)
from nearkin.patterns.tables import build_table, template_text
from nearkin.patterns.url_pattern import UrlParameter, UrlPattern, decode_url
from nearkin.patterns.url_verdict import DayCounts, UnusualValue, UrlVerdict, ValueProfile

if TYPE_CHECKING:
    import pyarrow as pa

_Self = TypeVar("_Self", bound="UrlPatterns")
KeepOption: TypeAlias = Literal["version", "language", "suffix"]
KEEP_OPTIONS: tuple[KeepOption, ...] = ("version", "language", "suffix")
_Longs: TypeAlias = npt.NDArray[np.int64]
_Bytes: TypeAlias = npt.NDArray[np.uint8]
_MATCH_COLUMNS = ["id", "pattern", "variables"]


class _BuiltUrls(NamedTuple):
    """Patterns of a state, by decreasing number of requests, by template and by id."""

    sites: UrlSites
    patterns: list[UrlPattern]
    by_template: dict[bytes, UrlPattern]
    by_id: dict[str, UrlPattern]
    positions: dict[str, int]


class UrlPatterns(Patterns):
    """Patterns of URLs; each is a URL with typed variables.

    Parameters
    ----------
    support : int, default 2
        Minimum number of requests of a pattern; URLs with fewer are unmatched. It does not apply to hosts where most
        patterns have one request, as in a list of distinct URLs.
    drop_trackers : bool, default False
        Remove parameters that track visitors (`utm_*`, `gclid`, `fbclid`, ...).
    keep : sequence of {"version", "language", "suffix"}, default all three
        Parts that are never variables: versions in paths such as `v1` (if there are fewer than eight), language codes
        such as `de`, and suffixes of files such as `.html`.
    sample, max_templates : int
        See `Patterns`.

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
        keep: Iterable[KeepOption] = KEEP_OPTIONS,
        sample: int = 64,
        max_templates: int = 200_000,
    ) -> None:
        self._support = check_count("support", support, 1, 1 << 31, "1 to 2147483648")
        if not isinstance(drop_trackers, bool):
            raise bad_parameter("drop_trackers", repr(drop_trackers), "True or False")
        self._drop_trackers = drop_trackers
        kept = list(keep)
        if isinstance(keep, str) or any(option not in KEEP_OPTIONS for option in kept):
            raise bad_parameter("keep", repr(keep), "a sequence of 'version', 'language' and 'suffix'")
        self._keep = tuple(option for option in KEEP_OPTIONS if option in kept)
        self._admitted: Counter[str] = Counter()
        super().__init__(sample=sample, max_templates=max_templates)

    def _params(self) -> dict[str, Any]:
        return {"support": self._support, "drop_trackers": self._drop_trackers, "keep": list(self._keep)}

    def fit(  # type: ignore[override]
        self: _Self, urls: Items, methods: Any = None, times: Any = None, clients: Any = None
    ) -> _Self:
        """Fit these URLs instead of the earlier ones; overrides of `split` and `pin` are kept.

        Parameters
        ----------
        urls : iterable of str or bytes, or a column
            URLs, paths (`/a?b=c`) or request lines (`GET /a HTTP/1.1`); columns of Arrow, pandas, polars or NumPy.
        methods : iterable of str or None, or a column, optional
            Method of each request; replaces that of a request line.
        times : array, column or iterable, optional
            Time of each request: `datetime64`, timestamps, `datetime`, or seconds since 1970 (UTC).
        clients : iterable of str or None, or a column, optional
            Client of each request. If clients are given, words that few clients requested do not form a variable.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            A URL is missing or not a text, or a column has another length. The state is unchanged.
        """
        return self._add(urls, AlignedColumns(times, clients, methods), replace=True)

    def partial_fit(  # type: ignore[override]
        self: _Self, urls: Items, methods: Any = None, times: Any = None, clients: Any = None
    ) -> _Self:
        """Add a batch; the parameters are those of `fit`. Batches in any order equal one `fit` of all URLs."""
        return self._add(urls, AlignedColumns(times, clients, methods), replace=False)

    def _scan(
        self,
        table: FormTable,
        batch: ItemBatch,
        times: _Longs | None,
        sources: Strings | None,
        methods: Methods | None = None,
    ) -> list[int]:
        return add_urls(table, (batch.items, times, sources), methods, self._drop_trackers)

    def _compact(self, table: FormTable, size: int) -> None:
        """Replace the templates of a table by those of its patterns if there are too many."""
        if 4 * size > 3 * self._max_templates and len(table):
            compact_urls(table, self._rules(table))

    def _rules(self, table: FormTable) -> tuple[int, list[bytes], list[bytes], bool, tuple[bool, bool, bool]]:
        """Return the parameters of the merge of a table."""
        pins, splits = ([text.encode() for text in self._overridden(kind)] for kind in ("pin", "split"))
        keep = ("version" in self._keep, "language" in self._keep, "suffix" in self._keep)
        return self._support, pins, splits, len(table.arrays()["sources_hashes"]) > 0, keep

    def _build(self) -> _BuiltUrls:
        sites = UrlSites(self._table, self._rules(self._table))
        patterns = [_build_pattern(*row) for row in sites.patterns()]
        by_template = {pattern.template: pattern for pattern in patterns}
        by_id = {pattern.id: pattern for pattern in patterns}
        positions = {pattern.id: position for position, pattern in enumerate(patterns)}
        return _BuiltUrls(sites, patterns, by_template, by_id, positions)

    def __len__(self) -> int:
        return len(self._patterns().patterns)

    @property
    def patterns(self) -> list[UrlPattern]:
        """The patterns in parts, by decreasing number of requests."""
        return list(self._patterns().patterns)

    def table(self) -> pa.Table:
        """Return one row per pattern, by decreasing number of requests, then by text.

        Returns
        -------
        pyarrow.Table
            `id`, `pattern`, `decoded` (the pattern with readable characters, such as `/café/{int}`, by
            `nearkin.patterns.url_pattern.decode_url`), `method` and `host` (null if unknown), `count`, `share`,
            `first_seen`, `last_seen`, `sources` (number of distinct clients), `examples`, `variables` (`name`, `type`,
            `distinct`, `samples`), `days`.
        """
        import pyarrow as pa

        built = self._patterns()
        by_template: dict[bytes, UrlPattern] = built.by_template
        table = build_table(
            built.sites.rows().arrays(),
            self.count,
            self._sample,
            text=lambda template: by_template[template].text,
            names=lambda template: by_template[template].names,
            extra=[
                ("decoded", pa.string(), lambda group: decode_url(by_template[group.template].text)),
                ("method", pa.string(), lambda group: by_template[group.template].method or None),
                ("host", pa.string(), lambda group: by_template[group.template].host or None),
            ],
        )
        ids = {pattern.text: pattern.id for pattern in built.patterns}
        return table.set_column(0, "id", pa.array([ids[text] for text in to_values(table["pattern"])], pa.string()))

    @property
    def unmatched(self) -> Unmatched:
        """The URLs without a pattern: their number, and examples by smallest hash."""
        count, examples = self._patterns().sites.unexplained()
        evicted = self._num_evicted()
        texts = tuple(example.decode("utf-8", "backslashreplace") for example in examples)
        return Unmatched(int(count) + evicted, texts, evicted)

    def match(self, url: str | bytes, method: str | None = None) -> PatternMatch | None:
        """Return the pattern of a URL and the values of its variables; None without a pattern.

        Parameters
        ----------
        url : str or bytes
            A URL, a path or a request line.
        method : str, optional
        """
        built: _BuiltUrls = self._patterns()
        found = built.sites.find_one(to_bytes(url, "url"), _to_method(method), self._drop_trackers)
        if found is None:
            return None
        pattern = built.patterns[found[0]]
        values = zip(pattern.names, found[1], strict=True)
        return PatternMatch(pattern.id, pattern.text, {name: value for name, value in values if value is not None})

    def judge(self, url: str | bytes, method: str | None = None) -> UrlVerdict:
        """Return whether a request is known, new, or has an unusual value.

        Parameters
        ----------
        url, method
            As for `match`.

        Examples
        --------
        >>> import nearkin as nk
        >>> urls = [f"/search?q={word}&page={n}" for n in range(40) for word in ("red", "blue+house", "old+town")]
        >>> patterns = nk.UrlPatterns().fit(urls)
        >>> patterns.judge("/search?q=green&page=3").verdict, patterns.judge("/wp-login.php").verdict
        ('known', 'new')
        >>> for value in patterns.judge("/search?q=x'+or+1=1--&page=3").unusual:
        ...     print(value)
        q: it looks like an attack (fewer than 1 of 121)
        """
        built: _BuiltUrls = self._patterns()
        number, _, found = built.sites.verdict(to_bytes(url, "url"), _to_method(method), self._drop_trackers)
        if number < 0:
            return UrlVerdict("new")
        pattern = built.patterns[number]
        named = [(_name_value(pattern, variable, key), reason, rarity) for _, variable, key, reason, rarity in found]
        unusual = tuple(UnusualValue(*value) for value in named)
        return UrlVerdict("unusual" if unusual else "known", pattern.id, pattern.text, unusual)

    def judge_many(self, urls: Items, methods: Any = None) -> pa.Table:
        """Return the verdicts on many requests.

        Parameters
        ----------
        urls, methods
            As for `match_many`.

        Returns
        -------
        pyarrow.Table
            `verdict`: *known*, *unusual* (a pattern with an unusual value) or *new*; `id` and `pattern` of the pattern,
            or of the nearest one if a value has another type; `unusual`, a list of `name`, `reason` and `rarity`.
        """
        import pyarrow as pa

        built: _BuiltUrls = self._patterns()
        ids, texts = self._columns()
        aligned = AlignedColumns(None, None, methods)
        value = pa.struct([("name", pa.string()), ("reason", pa.string()), ("rarity", pa.float64())])
        columns = [
            ("verdict", pa.string()),
            ("id", pa.string()),
            ("pattern", pa.string()),
            ("unusual", pa.list_(value)),
        ]
        schema = pa.schema(columns)
        tables = []
        for batch in read_batches(urls, "urls"):
            batch_methods = None if methods is None else aligned.take(batch)[2]
            numbers, matches, found = built.sites.verdicts(batch.items, batch_methods, self._drop_trackers)
            unusual: list[list[dict[str, Any]]] = [[] for _ in range(len(numbers))]
            for row, variable, key, reason, rarity in found:
                name = _name_value(built.patterns[numbers[row]], variable, key)
                unusual[row].append({"name": name, "reason": reason, "rarity": rarity})
            pairs = zip(unusual, matches.tolist(), strict=True)
            verdicts = ["unusual" if values else "known" if match else "new" for values, match in pairs]
            indices = pa.array(numbers, mask=numbers < 0)
            tables.append(pa.table([verdicts, ids.take(indices), texts.take(indices), unusual], schema=schema))
        aligned.check_end()
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def admit(self, url: str | bytes, *, limit: int = 50) -> bool:
        """Return whether a crawler should request a URL: at most `limit` URLs of each pattern are admitted.

        URLs without a pattern are always admitted. The counts are not part of the saved state, and `fit` keeps them;
        they are those of the ids of patterns.

        Parameters
        ----------
        url : str or bytes
            A URL, a path or a request line.
        limit : int, default 50
            Maximum number of admitted URLs of a pattern.

        Examples
        --------
        >>> import nearkin as nk
        >>> patterns = nk.UrlPatterns().fit([f"/calendar/{n}" for n in range(100)])
        >>> [patterns.admit(f"/calendar/{n}", limit=2) for n in range(4)], patterns.admit("/new")
        ([True, True, False, False], True)
        """
        check_count("limit", limit, 0, 1 << 62, "0 or more")
        built: _BuiltUrls = self._patterns()
        found = built.sites.find_one(to_bytes(url, "url"), None, self._drop_trackers)
        if found is None:
            return True
        key = built.patterns[found[0]].id
        if self._admitted[key] >= limit:
            return False
        self._admitted[key] += 1
        return True

    def profiles(self, pattern_id: str) -> list[ValueProfile]:
        """Return what is usual for the variables of a pattern, in order.

        Parameters
        ----------
        pattern_id : str
            The `id` of a pattern of `table`.

        Examples
        --------
        >>> import nearkin as nk
        >>> patterns = nk.UrlPatterns().fit([f"/users/{n}?sort={'asc' if n % 2 else 'desc'}" for n in range(100)])
        >>> user, sort = patterns.profiles(patterns.table()["id"][0].as_py())
        >>> user.numbers, user.characters, sort.values, sort.lengths
        ((0, 111), '0-9', ('asc', 'desc'), (3, 4))
        """
        return self._profiles(self._get_pattern(pattern_id))

    def _profiles(self, pattern: UrlPattern) -> list[ValueProfile]:
        """Return the profiles of a fitted pattern."""
        built: _BuiltUrls = self._patterns()
        profiles, requests = built.sites.profiles(built.positions[pattern.id])
        rows = []
        for name, profile in zip(pattern.names, profiles, strict=True):
            count, odd, lengths, characters, numbers, values, missing, days = profile
            share, by_day = missing / pattern.count, _count_days(requests, dict(days))
            texts = tuple(sorted(value.decode("utf-8", "backslashreplace") for value in values))
            rows.append(ValueProfile(name, count, odd, share, by_day, lengths, characters, numbers, texts))
        return rows

    def match_many(self, urls: Items, methods: Any = None) -> pa.Table:
        """Return the patterns of many URLs.

        Parameters
        ----------
        urls, methods
            As for `fit`. Without `methods`, a URL that has no method and no pattern is matched with each method of the
            fitted patterns, by decreasing number of requests.

        Returns
        -------
        pyarrow.Table
            `id` and `pattern` of each URL's pattern, null without one, and `variables`, a list of values in the order
            of the pattern's variables, null for a missing optional parameter.
        """
        import pyarrow as pa

        built = self._patterns()
        aligned = AlignedColumns(None, None, methods)
        ids, texts = self._columns()
        tables = []
        for batch in read_batches(urls, "urls"):
            batch_methods = None if methods is None else aligned.take(batch)[2]
            rows, *values = built.sites.find(batch.items, batch_methods, self._drop_trackers)
            indices = pa.array(rows, mask=rows < 0)
            table = pa.table([ids.take(indices), texts.take(indices), _to_lists(rows, *values)], _MATCH_COLUMNS)
            tables.append(
                table if methods is not None else self._match_any_method(table, batch, np.flatnonzero(rows < 0))
            )
        aligned.check_end()
        if not tables:
            return pa.table([ids[:0], texts[:0], pa.array([], pa.large_list(pa.large_string()))], _MATCH_COLUMNS)
        return pa.concat_tables(tables)

    def _columns(self) -> tuple[pa.Array, pa.Array]:
        """Return the ids and the texts of the patterns."""
        import pyarrow as pa

        patterns = self._patterns().patterns
        return tuple(pa.array([getattr(one, name) for one in patterns], pa.string()) for name in ("id", "text"))

    def _match_any_method(self, table: pa.Table, batch: ItemBatch, rows: _Longs) -> pa.Table:
        """Match the unmatched rows of a batch that have no method with the methods of the patterns."""
        import pyarrow as pa

        built, (starts, data) = self._patterns(), batch.items
        items = [data[starts[row] : starts[row + 1]].tobytes() for row in rows]
        packed = pack_column(pa.array(items, pa.large_binary()))
        numbers, found, _ = built.sites.verdicts(packed, None, self._drop_trackers)
        found = np.flatnonzero(found)
        if not len(found):
            return table
        matches = self.match_many([items[row] for row in found], [built.patterns[numbers[row]].method for row in found])
        indices = np.arange(len(table))
        indices[rows[found]] = len(table) + np.arange(len(found))
        return pa.concat_tables([table, matches]).take(pa.array(indices))

    def explain(self, a: str | bytes, b: str | bytes) -> PatternExplanation:
        """Explain why two URLs have one pattern or different ones.

        Parameters
        ----------
        a, b : str or bytes
            URLs, paths or request lines.
        """
        texts = [self._canonical_text(url) for url in (a, b)]
        patterns = [self._patterns().by_id.get(key) for key in to_values(self.match_many([a, b])["id"])]
        steps = [f"{name} is {text}" for name, text in zip("ab", texts, strict=True)]
        for name, pattern in zip("ab", patterns, strict=True):
            steps.append(f"{name} has {'no pattern' if pattern is None else f'the pattern {pattern.text}'}")
        left, right = patterns
        if left is None or right is None:
            steps += [
                f"{name} is unmatched: no pattern contains its path or one of its values, or it has fewer than "
                f"{self._support} requests"
                for name, pattern in zip("ab", patterns, strict=True)
                if pattern is None
            ]
        elif left is right:
            steps += self._explain_variables(left)
        else:
            steps += _describe_differences(left, right)
        return PatternExplanation(left is right is not None, tuple(map(decode_url, steps)))

    def _canonical_text(self, url: str | bytes) -> str:
        text, reason = canonical_url(to_bytes(url, "url"), None, drop_trackers=self._drop_trackers)
        return f"skipped: {reason}" if text is None else text.decode("ascii", "backslashreplace")

    def _explain_variables(self, pattern: UrlPattern) -> list[str]:
        """Explain why each segment with a variable has one."""
        evidence = {masked: values for masked, _, *values in self._patterns().sites.evidence()}
        steps = []
        for level, part in enumerate(pattern.path, 1):
            if b"\xff" not in part:
                continue
            values = evidence.get(_masked_path(pattern, level))
            if values is None:
                steps.append(f"{template_text(part)} is a variable because of its type")
                continue
            score, distinct, requests, single = values
            steps.append(
                f"{template_text(part)} is a variable because of its number of values: {distinct} values in "
                f"{requests} requests, {single} values with one request (score {score:.1f}, more than 0)"
            )
        return steps

    decode = staticmethod(decode_url)

    def _to_item(self, template: bytes) -> str:
        method, _, url = template_text(template).partition(" ")
        host = re.match("(?:[^/?]*://)?[^/]*", url)
        return f"{method} {_scheme_of(host[0].encode()) if host else ''}{url}".lstrip()

    def _compare(self, older: Patterns, table: pa.Table) -> pa.Table:
        """Return the changes; a pattern whose text changed has kind *type* under its old id."""
        import pyarrow as pa

        changes = super()._compare(older, table)
        old_rows = {row["id"]: row for row in to_values(table.select(["id", "pattern", "share"]))}
        widened = [
            {**row, "kind": "type", "was": old["pattern"], "before": old["share"], "after": row["share"]}
            for row in to_values(self.table().select(["id", "pattern", "share"]))
            if (old := old_rows.get(row["id"])) is not None and old["pattern"] != row["pattern"]
        ]
        return pa.concat_tables([changes, pa.Table.from_pylist(widened, changes.schema)])

    def split(self: _Self, pattern_id: str) -> _Self:
        """Undo the last variable of a pattern that its number of values caused; its values stay separate from now on.

        Parameters
        ----------
        pattern_id : str
            The `id` of a pattern of `table`.

        Raises
        ------
        ParameterError
            The pattern does not exist, or all its variables are recognized by their types.
        """
        pattern = self._get_pattern(pattern_id)
        evidence = {masked for masked, *_ in self._patterns().sites.evidence()}
        for level in range(len(pattern.path), 0, -1):
            masked = _masked_path(pattern, level)
            if masked in evidence:
                return self._override("split", masked.decode())
        raise ParameterError(
            f"{decode_url(pattern.text)} has no variable that is due to its number of values; variables with a type "
            "of their own, such as {int}, cannot be split",
            name="pattern_id",
            found=pattern_id,
        )

    def to_regex(self, pattern_id: str, *, host: bool = False) -> str:
        """Return a regular expression (Python, PCRE) for the canonical paths and queries of a pattern.

        Parameters
        ----------
        pattern_id : str
            The `id` of a pattern of `table`.
        host : bool, default False
            Include the host, if known.
        """
        return url_exports.to_regex(self._get_pattern(pattern_id), host=host)

    def to_openapi(self, *, title: str = "Interfaces", version: str = "1") -> dict[str, Any]:
        """Return an OpenAPI 3.0 document of all patterns: paths, parameters, types.

        Parameters
        ----------
        title, version : str
            Title and version of the document.
        """
        return url_exports.to_openapi(self._patterns().patterns, self._profiles, title=title, version=version)

    def _get_pattern(self, pattern_id: str) -> UrlPattern:
        pattern: UrlPattern | None = self._patterns().by_id.get(pattern_id)
        if pattern is None:
            raise bad_parameter("pattern_id", repr(pattern_id), "the id of a pattern of table()")
        return pattern


def _count_days(requests: list[tuple[int, int]], missing: dict[int, int]) -> tuple[DayCounts, ...]:
    """Return the requests of each day and those without a value; days are numbered from 1970."""
    import pyarrow as pa

    days = to_values(pa.array([day for day, _ in requests], pa.date32()), "times")
    counts = zip(days, requests, strict=True)
    return tuple(DayCounts(day, count, missing.get(number, 0)) for day, (number, count) in counts)


def _to_method(method: str | None) -> bytes | None:
    return None if method is None else method.encode("utf-8", "replace")


def _name_value(pattern: UrlPattern, variable: int, key: bytes) -> str:
    """Return the name of a variable, or the key of a parameter that the pattern does not have."""
    return decode_url(template_text(key)) if variable < 0 else pattern.names[variable]


def _masked_path(pattern: UrlPattern, level: int) -> bytes:
    """Return the host and the first segments of a pattern, with `{}` for each wildcard."""
    parts = [re.sub(rb"\xff.", b"{}", part, flags=re.DOTALL) for part in pattern.path[:level]]
    return b"/".join([pattern.host.encode(), *parts])


def _describe_differences(left: UrlPattern, right: UrlPattern) -> list[str]:
    """Return the first part in which two patterns differ, or all dispatching parameters that differ."""
    for name in ("method", "host"):
        a, b = getattr(left, name), getattr(right, name)
        if a != b:
            return [f"the {name}s differ: {a or 'none'} and {b or 'none'}"]
    for number, (part, other) in enumerate(zip(left.path, right.path, strict=False), 1):
        if part != other:
            return [f"segment {number} differs: {template_text(part)} and {template_text(other)}"]
    if len(left.path) != len(right.path):
        return [f"the paths have {len(left.path)} and {len(right.path)} segments"]
    values = {key: (left.literals.get(key), right.literals.get(key)) for key in left.literals | right.literals}
    return [f"the parameter {key} dispatches: {a} and {b}" for key, (a, b) in sorted(values.items()) if a != b]


def _build_pattern(template: bytes, method: bytes, host: bytes, path: list[bytes], *rest: Any) -> UrlPattern:
    """Return a pattern of the compiled module; `rest` has its parameters and its number of requests."""
    parameters, count = rest
    parts = [
        UrlParameter(template_text(key), None if literal is None else literal.decode("ascii"), kind, optional, repeated)
        for key, literal, kind, optional, repeated in parameters
    ]
    names = method.decode("ascii"), _scheme_of(host), host.decode("ascii")
    return UrlPattern(template, *names, tuple(path), tuple(parts), count)


@lru_cache(1 << 10)
def _scheme_of(host: bytes) -> str:
    """Return the scheme with which a host is read as a host in front of a path; empty if it needs none."""
    ports = ("http://", "https://")  # One of them keeps a port that is the default of the other.
    read = (scheme for scheme in ("", *ports) if canonical_url(scheme.encode() + host + b"/", None)[0] == host + b"/")
    return next(read, "") if host else ""


def _to_lists(rows: _Longs, ends: _Longs, text_ends: _Longs, present: _Bytes, text: _Bytes) -> Any:
    """Return values of variables as an Arrow array of lists."""
    import pyarrow as pa

    zero = np.zeros(1, np.int64)
    mask = np.packbits(present.astype(bool), bitorder="little")
    values = pa.LargeStringArray.from_buffers(
        len(text_ends), pa.py_buffer(np.concatenate([zero, text_ends])), pa.py_buffer(text), pa.py_buffer(mask)
    )
    return pa.LargeListArray.from_arrays(pa.array(np.concatenate([zero, ends])), values, mask=pa.array(rows < 0))


__all__ = ["UrlParameter", "UrlPattern", "UrlPatterns"]
