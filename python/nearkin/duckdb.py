"""Near-duplicates in DuckDB: functions of SQL, and joins by Hamming distance.

    import duckdb, nearkin.duckdb

    con = duckdb.connect("pages.duckdb")
    nearkin.duckdb.register(con)
    con.sql("SELECT nk_fingerprint64(body, 'char:4|count|xxh3|simhash:64') FROM pages")
    con.sql("SELECT * FROM near_join(hashed, 3)")
    nearkin.duckdb.near_join(con, "hashed", 3)               # the same, without copies in DuckDB

`register` adds two kinds of objects to a connection. Functions in Python get vectors of 2,048 rows as Arrow, from any
thread of a parallel scan, and call the kernels without the GIL. Macros give them names, types and default values;
they belong to the connection alone, and nothing is written to its database. `near_join`, `near_search` and `dedup` read
a relation as a stream of Arrow batches, so an index of the fingerprints is their only copy.

| type | fingerprint |
|---|---|
| integers up to 64 bits | the bits of their type, in two's complement |
| HUGEINT, UHUGEINT | 128 bits |
| BIT | any width up to 1,024; the first bit is the highest |
| BLOB | 8 bits per byte, all of one length |
| VARCHAR | hexadecimal digits, the highest first |
| UBIGINT[] | words of 64 bits, the lowest first |

Values are those of `nearkin.fingerprint`, `nearkin.signature` and so on, bit for bit. NULL in an argument, or a
text without features, gives NULL; a recipe is not NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import ssdeep_hash
from nearkin.dedup.candidates.minhash import band_keys
from nearkin.dedup.texts import dedup as _dedup
from nearkin.dedup.verify import similarity
from nearkin.digests import ssdeep
from nearkin.errors import InputError, bad_parameter, require_extra
from nearkin.families.minhash import DEFAULT as DEFAULT_SIGNATURE
from nearkin.families.minhash import minhash_similarity, signature
from nearkin.families.simhash import fingerprint
from nearkin.index.fingerprint_columns import (
    Binary,
    FingerprintColumn,
    align,
    as_array,
    is_list,
    nulls,
    read_lists,
    to_lists,
)
from nearkin.index.fingerprints import as_uint64, hamming, to_bytes
from nearkin.index.hamming import HammingIndex
from nearkin.io.arrow import is_string, to_values
from nearkin.io.frames import text_column
from nearkin.recipe import Recipe
from nearkin.theory import choose_bands

with require_extra("duckdb", "nearkin.duckdb"):
    from duckdb import DuckDBPyConnection, DuckDBPyRelation, ParserException

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["dedup", "near_join", "near_search", "register"]

Table: TypeAlias = "str | DuckDBPyRelation"
"""A table, view or file as SQL names it after FROM, or a relation."""

_BATCH = 1 << 20
"""Rows per Arrow batch of a stream."""
_RECALL = 0.95
"""Probability of a shared band at the threshold of `nk_bands`, as that of `BandIndex`."""


# Columns


def _read_fingerprints(column: Any, kind: str, name: str) -> FingerprintColumn:
    """Read a column of fingerprints of a type of DuckDB, which Arrow does not always distinguish."""
    binary: Binary = "bits" if kind == "BIT" else "integers" if kind.endswith("HUGEINT") else "bytes"
    return FingerprintColumn.read(column, name, binary=binary)


def _with_nulls(array: Any, is_null: npt.NDArray[np.bool_]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pa.array(is_null), pa.scalar(None, array.type), array) if is_null.any() else array


def _bit_strings(words: npt.NDArray[np.uint64], bits: int, is_null: npt.NDArray[np.bool_]) -> pa.Array:
    """Return fingerprints in a form that DuckDB casts to BIT: bytes, or digits 0 and 1, the highest first."""
    import pyarrow as pa

    codes = to_bytes(words, bits)[:, ::-1]
    if bits % 8:
        codes = np.unpackbits(codes, axis=1)[:, -bits:] + np.uint8(ord("0"))
    data = pa.py_buffer(np.ascontiguousarray(codes))
    rows = pa.Array.from_buffers(pa.binary(codes.shape[1]), len(codes), [None, data]).cast(pa.binary())
    return _with_nulls(rows.cast(pa.string()) if bits % 8 else rows, is_null)


# Functions


def _constant(column: Any, name: str) -> Any:
    """Return the value of an argument that must be the same in all rows."""
    array = as_array(column)
    # Comparing neighbors costs a sixth of `unique`, which hashes all values.
    same = array.slice(1).equals(array.slice(0, max(len(array) - 1, 0)))
    values = to_values(array.slice(0, 1) if same else array.unique(), name)
    if len(values) > 1:
        raise bad_parameter(name, f"{values[0]!r} and {values[1]!r}", "one value for the whole query")
    return values[0] if values else None


_parse = lru_cache(64)(Recipe.of)


def _recipe(column: Any, default: str = str(Recipe())) -> Recipe:
    """Return the recipe of a call; the default if it has no rows."""
    text = _constant(column, "recipe")
    if text is None and len(as_array(column)):
        raise bad_parameter("recipe", "NULL", "a recipe, or no argument for the default")
    return _parse(default if text is None else text)


def _texts(column: Any, name: str = "text") -> Any:
    import pyarrow as pa

    return text_column(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]), name)


def _hash_fingerprints(texts: Any, recipe: Recipe) -> tuple[Any, npt.NDArray[np.bool_]]:
    values, counts = fingerprint(_texts(texts), recipe, return_counts=True)
    return values, counts == 0


def _fingerprint(texts: Any, recipe: Any) -> Any:
    parsed = _recipe(recipe)
    values, is_null = _hash_fingerprints(texts, parsed)
    return _bit_strings(values, parsed.bits, is_null)


def _fingerprint64(texts: Any, recipe: Any) -> Any:
    import pyarrow as pa

    parsed = _recipe(recipe)
    if parsed.family == "simhash" and parsed.bits > 64:
        allowed = "a recipe of at most 64 bits, such as char:4|count|xxh3|simhash:64, or nk_fingerprint"
        raise bad_parameter("recipe", f"{parsed}, which has {parsed.bits} bits,", allowed)
    values, is_null = _hash_fingerprints(texts, parsed)
    return pa.array(values, mask=is_null)


def _signature_of_bits(value_bits: int) -> Callable[[Any, Any], Any]:
    names = {32: "nk_signature", 64: "nk_signature64"}

    def compute(texts: Any, recipe: Any) -> Any:
        parsed = _recipe(recipe, DEFAULT_SIGNATURE)
        if parsed.family == "minhash" and parsed.value_bits != value_bits:
            raise bad_parameter(
                "recipe",
                f"{parsed}, whose values have {parsed.value_bits} bits,",
                f"it with {names[parsed.value_bits]}",
            )
        values, counts = signature(_texts(texts), parsed, return_counts=True)
        return to_lists(values, counts == 0)

    return compute


def _hamming(a: Any, a_type: Any, b: Any, b_type: Any) -> Any:
    import pyarrow as pa

    left, right = (
        _read_fingerprints(column, _constant(kind, "type"), name)
        for column, kind, name in ((a, a_type, "a"), (b, b_type, "b"))
    )
    return pa.array(hamming(*align(left, right)), mask=left.is_null | right.is_null)


def _read_signatures(column: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return the rows of a column of signatures without NULL, and which rows are NULL."""
    import pyarrow as pa

    array = as_array(column)
    is_null, kind = nulls(array), array.type
    if is_null.all():
        return np.zeros((0, 1), np.uint32), is_null
    if not is_list(kind) or not (pa.types.is_uint32(kind.value_type) or pa.types.is_uint64(kind.value_type)):
        raise bad_parameter(name, f"a column of {kind}", "UINTEGER[] or UBIGINT[], as nk_signature returns")
    return read_lists(array, name), is_null


def _jaccard(a: Any, b: Any, recipe: Any) -> Any:
    import pyarrow as pa

    arrays = as_array(a), as_array(b)
    is_null = nulls(arrays[0]) | nulls(arrays[1])
    values = np.zeros(len(is_null))
    given = np.flatnonzero(~is_null)
    mask = pa.array(~is_null)
    left, right = (array.filter(mask) for array in arrays)
    if len(left) and is_string(left.type) and is_string(right.type):
        n = len(left)
        texts = _texts(pa.chunked_array([left, right]))
        rows, parsed = np.arange(n), _recipe(recipe)
        values[~is_null] = similarity(texts, rows, rows + n, recipe=parsed)
        # A similarity of 0 may be that of a text without features.
        count = signature if parsed.family == "minhash" else fingerprint
        for side in (left, right):
            unlike = np.flatnonzero(~is_null & (values == 0))
            chosen = side.take(pa.array(np.searchsorted(given, unlike)))
            is_null[unlike] = count(_texts(chosen), parsed, return_counts=True)[1] == 0
    elif len(left):
        values[~is_null] = minhash_similarity(_read_signatures(left, "a")[0], _read_signatures(right, "b")[0])
    return pa.array(values, mask=is_null)


def _ssdeep(data: Any) -> Any:
    import pyarrow as pa

    values = to_values(as_array(data), "data")
    contents = [value.encode() if isinstance(value, str) else value for value in values]
    for value in contents:
        if value is not None and not isinstance(value, bytes):
            raise bad_parameter("data", f"a {type(value).__name__}", "BLOB or VARCHAR")
    return pa.array([None if data is None else ssdeep_hash(data, (False, True)) for data in contents], pa.string())


def _ssdeep_score(a: Any, b: Any) -> Any:
    import pyarrow as pa

    pairs = zip(to_values(as_array(a), "a"), to_values(as_array(b), "b"), strict=True)
    scores = [None if left is None or right is None else ssdeep.compare(left, right) for left, right in pairs]
    return pa.array(scores, pa.uint8())


def _bands(signatures: Any, threshold: Any) -> Any:
    import pyarrow as pa

    share = _constant(threshold, "threshold")
    values, is_null = _read_signatures(signatures, "signature")
    if share is None or not len(values):
        return pa.nulls(len(is_null), pa.list_(pa.uint64()))
    keys = band_keys(values, choose_bands(share, _RECALL, values.shape[1]))
    rows = np.zeros((len(is_null), keys.shape[1]), np.uint64)
    rows[~is_null] = keys
    return to_lists(rows, is_null)


# Functions of whole columns, behind the macros of tables


def _elements(column: Any) -> Any:
    """Return the elements of the only list of a column; an empty column if it is NULL."""
    return as_array(column).flatten()


def _join_lists(fingerprints: Any, kind: Any, radius: Any) -> Any:
    rows = _read_fingerprints(_elements(fingerprints), str(_constant(kind, "type")).removesuffix("[]"), "fingerprint")
    positions = np.flatnonzero(~rows.is_null)
    pairs = _build_index([(positions, rows)], _constant(radius, "radius")).pairs(_constant(radius, "radius"))
    return _one_struct(a=pairs.left + 1, b=pairs.right + 1, distance=pairs.distances)


def _dedup_lists(texts: Any, threshold: Any, recipe: Any) -> Any:
    options = {"threshold": _constant(threshold, "threshold"), "recipe": _constant(recipe, "recipe")}
    result = _dedup(_texts(_elements(texts)), **options)
    table = result.clusters.to_arrow()
    rows = {name: table[name].to_numpy() + 1 for name in ("id", "representative")}
    others = {name: table[name].to_numpy() for name in ("cluster", "distance", "similarity", "reason")}
    return _one_struct(a=rows["id"], b=rows["representative"], **others)


def _one_struct(**columns: npt.NDArray[Any]) -> pa.Array:
    """Return a single struct of lists."""
    import pyarrow as pa

    fields = [pa.array(values) for values in columns.values()]
    fields = [field.cast(pa.string()) if pa.types.is_null(field.type) else field for field in fields]
    lists = [pa.ListArray.from_arrays(pa.array([0, len(field)], pa.int32()), field) for field in fields]
    return pa.StructArray.from_arrays(lists, list(columns))


# Registration


def _variadic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with parameters that DuckDB takes for any number of columns of any types."""

    def call(*columns: Any) -> Any:
        return function(*columns)

    return call


_FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "nearkin_fingerprint": (_variadic(_fingerprint), "BIT"),
    "nearkin_fingerprint64": (_variadic(_fingerprint64), "UBIGINT"),
    "nearkin_signature": (_variadic(_signature_of_bits(32)), "UINTEGER[]"),
    "nearkin_signature64": (_variadic(_signature_of_bits(64)), "UBIGINT[]"),
    "nearkin_hamming": (_variadic(_hamming), "USMALLINT"),
    "nearkin_jaccard": (_variadic(_jaccard), "DOUBLE"),
    "nearkin_ssdeep": (_variadic(_ssdeep), "VARCHAR"),
    "nearkin_ssdeep_score": (_variadic(_ssdeep_score), "UTINYINT"),
    "nearkin_bands": (_variadic(_bands), "UBIGINT[]"),
    "nearkin_join": (_variadic(_join_lists), "STRUCT(a BIGINT[], b BIGINT[], distance USMALLINT[])"),
    "nearkin_dedup": (
        _variadic(_dedup_lists),
        "STRUCT(a BIGINT[], b BIGINT[], cluster BIGINT[], distance BIGINT[], similarity DOUBLE[], reason VARCHAR[])",
    ),
}
"""Functions in Python by name, and the types they return. They live as long as the process, because databases refer to
them."""

_HAMMING = "nearkin_hamming(a, typeof(a), b, typeof(b))"
_MACROS = {
    "nk_fingerprint": f"(text) AS nearkin_fingerprint(text, '{Recipe()}'), "
    "(text, recipe) AS nearkin_fingerprint(text, recipe)",
    "nk_fingerprint64": "(text, recipe) AS nearkin_fingerprint64(text, recipe)",
    "nk_signature": f"(text) AS nearkin_signature(text, '{DEFAULT_SIGNATURE}'), "
    "(text, recipe) AS nearkin_signature(text, recipe)",
    "nk_signature64": "(text, recipe) AS nearkin_signature64(text, recipe)",
    "nk_jaccard": f"(a, b) AS nearkin_jaccard(a, b, '{Recipe()}'), (a, b, recipe) AS nearkin_jaccard(a, b, recipe)",
    "nk_ssdeep": "(data) AS nearkin_ssdeep(data)",
    "nk_ssdeep_score": "(a, b) AS nearkin_ssdeep_score(a, b)",
    "nk_bands": "(signature) AS nearkin_bands(signature, 0.8::DOUBLE), "
    "(signature, threshold) AS nearkin_bands(signature, threshold::DOUBLE)",
    "near_search": """(tbl, query, radius, id_column := 'id', fingerprint_column := 'fingerprint') AS TABLE
        WITH fingerprints AS (
            SELECT COLUMNS([id_column]) AS id, COLUMNS([fingerprint_column]) AS fingerprint FROM query_table(tbl)
        ), distances AS (SELECT id, nk_hamming(fingerprint, query) AS distance FROM fingerprints)
        SELECT id, distance FROM distances WHERE distance <= radius ORDER BY distance, id""",
    "near_join": """(tbl, radius, id_column := 'id', fingerprint_column := 'fingerprint') AS TABLE
        WITH lists AS MATERIALIZED (
            SELECT list(id ORDER BY id) AS ids, list(fingerprint ORDER BY id) AS fingerprints FROM (
                SELECT COLUMNS([id_column]) AS id, COLUMNS([fingerprint_column]) AS fingerprint FROM query_table(tbl)
            )
        ), pairs AS MATERIALIZED (
            SELECT ids, nearkin_join(fingerprints, typeof(fingerprints), radius) AS found FROM lists
        )
        SELECT unnest(list_select(ids, found.a)) AS "left", unnest(list_select(ids, found.b)) AS "right",
            unnest(found.distance) AS distance FROM pairs""",
    "dedup": """(tbl, threshold, id_column := 'id', text_column := 'text', recipe := NULL) AS TABLE
        WITH lists AS MATERIALIZED (
            SELECT list(id ORDER BY id) AS ids, list(text ORDER BY id) AS texts FROM (
                SELECT COLUMNS([id_column]) AS id, COLUMNS([text_column]) AS text FROM query_table(tbl)
            )
        ), clusters AS MATERIALIZED (
            SELECT ids, nearkin_dedup(texts, threshold::DOUBLE, recipe) AS found FROM lists
        )
        SELECT unnest(list_select(ids, found.a)) AS id, unnest(found.cluster) AS cluster,
            unnest(list_select(ids, found.b)) AS representative, unnest(found.distance) AS distance,
            unnest(found.similarity) AS similarity, unnest(found.reason) AS reason FROM clusters""",
}
"""Macros by name, with parameters and body."""


def register(con: DuckDBPyConnection) -> None:
    """Add the functions and macros to a connection.

    Functions belong to the database in this process, macros to the connection, so a cursor needs a call of its own. A
    second call changes nothing. The database may be read-only; its own macros of the same names, such as `dedup`, are
    hidden.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        A connection or cursor, DuckDB 1.2.2 or newer.

    Raises
    ------
    ParameterError
        `con` is no connection of DuckDB.

    Examples
    --------
    >>> import duckdb, nearkin.duckdb
    >>> con = duckdb.connect()
    >>> nearkin.duckdb.register(con)
    >>> con.sql("SELECT nk_hamming(12::UBIGINT, 10::UBIGINT), nk_hamming('0c', '0A')").fetchall()
    [(2, 2)]
    """
    _check_connection(con)
    names = "SELECT function_name FROM duckdb_functions() WHERE starts_with(function_name, 'nearkin_')"
    create: Any = con.create_function
    existing = {name for (name,) in con.execute(names).fetchall()}
    for name, (function, kind) in _FUNCTIONS.items():
        if name not in existing:
            create(name, function, None, kind, type="arrow", null_handling="special")
    # Overloads by type, from DuckDB 1.4 on, run in DuckDB alone.
    native = f"(a UBIGINT, b UBIGINT) AS bit_count(xor(a, b))::USMALLINT, (a, b) AS {_HAMMING}"
    try:
        con.execute(f"CREATE OR REPLACE TEMP MACRO nk_hamming{native}")
    except ParserException:
        con.execute(f"CREATE OR REPLACE TEMP MACRO nk_hamming(a, b) AS {_HAMMING}")
    for name, body in _MACROS.items():
        con.execute(f"CREATE OR REPLACE TEMP MACRO {name}{body}")


def _check_connection(con: object) -> None:
    if not isinstance(con, DuckDBPyConnection):
        raise bad_parameter("con", f"a {type(con).__name__}", "a connection, as duckdb.connect() returns it")


# Joins


def near_join(
    con: DuckDBPyConnection, table: Table, radius: int, *, id: str = "id", fingerprint: str = "fingerprint"
) -> DuckDBPyRelation:
    """Return all pairs of fingerprints of a table within a radius, each once, exactly.

    Parameters
    ----------
    con : duckdb.DuckDBPyConnection
        The connection for the result; it needs no `register`.
    table : str or relation
        A table, view or file as SQL names it after FROM, such as "pages" or "'pages.parquet'", or a relation. The
        string becomes part of a query, so it must not come from strangers.
    radius : int
        Maximum distance, 0 to the width of the fingerprints, inclusive.
    id, fingerprint : str
        Columns of distinct ids (integers or strings), and of fingerprints of any type that the module lists; rows
        whose fingerprint is NULL are left out.

    Returns
    -------
    relation with the columns left, right, distance
        The smaller id is left; sorted by left, then right. It has the pairs in memory.

    Raises
    ------
    ParameterError
        A radius out of range, ids that are missing, not distinct or of another type, or a column of another type.
    MismatchError
        Fingerprints of several widths.
    duckdb.Error
        The table or a column does not exist, or the query fails.

    Notes
    -----
    Memory: an index of the fingerprints, and the pairs. Batches of about a million rows are the only other copy.

    Examples
    --------
    >>> import duckdb, nearkin.duckdb
    >>> con = duckdb.connect()
    >>> values = "(VALUES ('a', 12::UBIGINT), ('b', 15), ('c', 240))"
    >>> _ = con.execute(f"CREATE TABLE t AS SELECT * FROM {values} v(id, fingerprint)")
    >>> nearkin.duckdb.near_join(con, "t", 2).fetchall()
    [('a', 'b', 2)]
    """
    relation = _relation(con, table)
    index = _build_index(((ids, rows) for ids, rows in _read_ids(relation, id, fingerprint)), radius)
    return con.from_arrow(index.pairs(radius).to_arrow())


def near_search(
    con: DuckDBPyConnection,
    table: Table,
    queries: Table | npt.ArrayLike,
    radius: int,
    *,
    id: str = "id",
    fingerprint: str = "fingerprint",
) -> DuckDBPyRelation:
    """Return the rows of a table whose fingerprints are within a radius of each query, exactly.

    The queries are indexed, and the table is read once as a stream, so it may be larger than memory.

    Parameters
    ----------
    con, table, radius
        As for `near_join`.
    queries : str, relation, int, or array of shape (n,) or (n, words) uint64
        A table with the same columns, whose ids are distinct; or fingerprints, whose ids are row numbers.
    id, fingerprint : str
        Columns of both tables. Ids of `table` may have any type and may repeat.

    Returns
    -------
    relation with the columns query, id, distance
        Sorted by these: query, then distance, then id. It has the matches in memory.

    Raises
    ------
    ParameterError, MismatchError, duckdb.Error
        As for `near_join`.

    Examples
    --------
    >>> import duckdb, nearkin.duckdb
    >>> con = duckdb.connect()
    >>> _ = con.execute("CREATE TABLE t AS SELECT range AS id, range::UBIGINT AS fingerprint FROM range(16)")
    >>> nearkin.duckdb.near_search(con, "t", [15, 1024], radius=1).fetchall()
    [(0, 15, 0), (0, 7, 1), (0, 11, 1), (0, 13, 1), (0, 14, 1), (1, 0, 1)]
    """
    import pyarrow as pa

    relation = _relation(con, table)
    if isinstance(queries, (str, DuckDBPyRelation)):
        parts: Any = _read_ids(_relation(con, queries), id, fingerprint)
    else:
        words = _query_words(queries)
        parts = [(np.arange(len(words)), FingerprintColumn(words, np.zeros(len(words), bool), None))]
    index = _build_index(parts, radius)
    schema, tables = None, []
    for batch, rows in _read_batches(relation, [id, fingerprint]):
        schema = batch.schema.field(0)
        hits = index.join(rows.fit(index.bits), radius)
        ids = batch.column(0).filter(pa.array(~rows.is_null)).take(pa.array(hits.left))
        tables.append(_matches(hits.right, ids, hits.distances))
    if not tables:
        tables = [
            _matches(
                np.zeros(0, np.int64),
                pa.nulls(0, pa.int64() if schema is None else schema.type),
                np.zeros(0, np.uint16),
            )
        ]
    order = [("query", "ascending"), ("distance", "ascending"), ("id", "ascending")]
    return con.from_arrow(pa.concat_tables(tables).sort_by(order))


def dedup(
    con: DuckDBPyConnection,
    table: Table,
    threshold: float | None = None,
    *,
    text: str = "text",
    id: str = "id",
    **options: Any,
) -> DuckDBPyRelation:
    """Return the clusters of near-duplicates among the texts of a table, as `nearkin.dedup` does.

    Parameters
    ----------
    con, table
        As for `near_join`. The order of the rows decides which document of a cluster is kept, unless `keep` does:
        DuckDB reads tables and files in the order of insertion, unless `preserve_insertion_order` is off.
    threshold : float, default 0.8
        Smallest similarity of a match.
    text, id : str
        Columns of the texts, and of distinct ids.
    **options
        Other options of `nearkin.dedup`, which may name columns.

    Returns
    -------
    relation with the columns id, cluster, representative, distance, similarity, reason
        One row for each document of a cluster; `reason` is "kept" for the one that is kept.

    Raises
    ------
    ParameterError, InputError
        As for `nearkin.dedup`.
    duckdb.Error
        As for `near_join`.

    Examples
    --------
    >>> import duckdb, nearkin.duckdb
    >>> con = duckdb.connect()
    >>> fox = "The quick brown fox jumps over the lazy dog."
    >>> values = f"(VALUES (1, '{fox}'), (2, 'Another.'), (3, '{fox}!!'))"
    >>> _ = con.execute(f"CREATE TABLE pages AS SELECT * FROM {values} v(id, text)")
    >>> removed = nearkin.duckdb.dedup(con, "pages").filter("reason <> 'kept'")
    >>> con.sql("SELECT id FROM pages ANTI JOIN removed USING (id) ORDER BY id").fetchall()
    [(1,), (2,)]
    """
    relation = _relation(con, table)
    if not options.keys() & {"values", "sources", "columns", "keep"}:
        relation = relation.project(_quote([id, text]))
    result = _dedup(_reader(relation), text=text, id=id, threshold=threshold, **options)
    return con.from_arrow(result.clusters.to_arrow())


def _matches(queries: npt.NDArray[Any], ids: Any, distances: npt.NDArray[Any]) -> pa.Table:
    import pyarrow as pa

    kind = pa.string() if queries.dtype == object else pa.int64()
    return pa.table({"query": pa.array(queries, kind), "id": ids, "distance": pa.array(distances)})


def _query_words(queries: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    array = as_uint64(queries, "queries")
    return array.reshape(-1, 1) if array.ndim < 2 else array


def _relation(con: DuckDBPyConnection, table: Table) -> DuckDBPyRelation:
    _check_connection(con)
    if isinstance(table, DuckDBPyRelation):
        return table
    if not isinstance(table, str):
        raise bad_parameter("table", f"a {type(table).__name__}", "the name of a table, or a relation")
    return con.sql(f"FROM {table}")


def _quote(names: Sequence[str]) -> str:
    return ", ".join('"' + name.replace('"', '""') + '"' for name in names)


def _reader(relation: DuckDBPyRelation) -> pa.RecordBatchReader:
    """Return the rows of a relation as a stream."""
    read: Any = getattr(DuckDBPyRelation, "to_arrow_reader", None) or DuckDBPyRelation.fetch_arrow_reader
    return read(relation, _BATCH)


def _read_batches(relation: DuckDBPyRelation, names: list[str]) -> Iterator[tuple[Any, FingerprintColumn]]:
    """Yield batches of some columns, the last of them decoded as fingerprints."""
    relation = relation.project(_quote(names))
    kind = str(relation.types[-1])
    for batch in _reader(relation):
        yield batch, _read_fingerprints(batch.column(len(names) - 1), kind, names[-1])


def _read_ids(relation: DuckDBPyRelation, id: str, fingerprint: str) -> Iterator[tuple[Any, FingerprintColumn]]:
    """Yield ids and fingerprints that are not NULL."""
    import pyarrow as pa

    for batch, rows in _read_batches(relation, [id, fingerprint]):
        ids = batch.column(0).filter(pa.array(~rows.is_null))
        if ids.null_count:
            reason = "ids are missing"
            raise InputError(
                f"column {id!r}: {reason}; leave these rows out, or use another column", place=id, reason=reason
            )
        yield ids, rows


def _build_index(parts: Any, radius: int) -> HammingIndex:
    """Return an index of ids and fingerprints that are not NULL."""
    index = None
    for ids, rows in parts:
        if index is None or not len(index):
            index = HammingIndex(rows.width, radius=radius)
        index.add(ids, rows.fit(index.bits))
    return HammingIndex(64) if index is None else index
