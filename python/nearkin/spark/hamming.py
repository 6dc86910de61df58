"""Everything within a Hamming radius of a batch of queries, among the fingerprints of a DataFrame.

The batch search of Manku, Jain and Das Sarma (WWW 2007, section 3.4): the file of fingerprints is in parts on many
machines and the file of queries, which is small, goes to each of them. A task builds one `HammingIndex` of the queries,
whose tables fit into the cache, and streams its part of the fingerprints through it. So the large file is read once, it
is neither sorted nor copied, and the cost grows with its length, whatever the number of machines.

Memory of a task: the queries and their tables, some 20 times their bytes, and one batch of fingerprints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.distributed.documents import unpack_values
from nearkin.errors import bad_parameter, check_count
from nearkin.io.arrow import to_values
from nearkin.spark.columns import column_type
from nearkin.spark.engine import DataFrame, check_workers, quote, spark_session

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_QUERIES = 2_000_000
"""Queries that are sent to each task."""


def search(
    df: DataFrame, queries: DataFrame, radius: int, *, column: str = "fingerprint", id: str = "id", bits: int = 64
) -> DataFrame:
    """Return all fingerprints within a Hamming radius of each query, exactly those of `HammingIndex.search`.

    Parameters
    ----------
    df : DataFrame
        The fingerprints: any number, in any partitions. It is read once, when the result is.
    queries : DataFrame
        The fingerprints to search for, in columns of the same names: up to 2,000,000. They are fetched at once and
        sent to every task.
    radius : int
        Maximum distance, 0 to bits, inclusive.
    column : str
        The column of fingerprints in both, as `fingerprint` appends it: bigint up to 64 bits, binary above. Nulls have
        no neighbours.
    id : str
        The column of ids in both: integers or strings.
    bits : int, default 64
        Width of a fingerprint.

    Returns
    -------
    DataFrame
        Columns `query` (the id of the query), `id` and `distance`; a row for each match, in no order.

    Raises
    ------
    ParameterError
        A missing column or one of another type, a radius or width out of range, too many queries, a fingerprint with
        bits above the width, or one that is not as wide as `bits`.
    EngineError
        The engine is older than Spark 4.0, or a worker has no nearkin.

    References
    ----------
    G. S. Manku, A. Jain, A. Das Sarma (2007), Detecting near-duplicates for web crawling, WWW, section 3.4.
    """
    session = spark_session(df)
    spark_session(queries, "queries")
    check_count("bits", bits, 1, 1024, "1 to 1024")
    check_count("radius", radius, 0, bits, f"0 to bits={bits}")
    kind = "bigint" if bits <= 64 else "binary"
    for frame, name in ((df, "df"), (queries, "queries")):
        if (found := column_type(frame, column, "column")) != kind:
            raise bad_parameter("column", f"{column!r} of {found} in {name}", f"{kind}, which has {bits} bits")
        if (found := column_type(frame, id, "id")) not in ("bigint", "int", "string"):
            raise bad_parameter("id", f"{id!r} of {found} in {name}", "a column of integers or strings")
    check_workers(session)
    rows = queries.where(f"{quote(column)} is not null").selectExpr(quote(id), quote(column))
    table = rows.limit(_MAX_QUERIES + 1).toArrow()
    if table.num_rows > _MAX_QUERIES:
        allowed = f"up to {_MAX_QUERIES:,}, which every task receives; search for the others in another call"
        raise bad_parameter("queries", f"more than {_MAX_QUERIES:,} rows", allowed)
    searcher = _Searcher(to_values(table.column(0), "queries"), to_words(table.column(1), bits), bits, radius)
    searcher.index()
    types = [dict(queries.dtypes)[id], dict(df.dtypes)[id]]
    parts = df.where(f"{quote(column)} is not null").selectExpr(f"{quote(id)} as id", f"{quote(column)} as value")
    return parts.mapInArrow(searcher.rows, f"query {types[0]}, id {types[1]}, distance int")


def to_words(column: pa.Array | pa.ChunkedArray, bits: int) -> NDArray[np.uint64]:
    """Return fingerprints of a column as `HammingIndex` takes them; raise ParameterError for another width."""
    words = -(-bits // 64)
    if bits <= 64:
        return np.ascontiguousarray(column.to_numpy(), np.int64).view(np.uint64)
    import pyarrow.compute as pc

    lengths = pc.unique(pc.binary_length(column)).to_numpy(zero_copy_only=False)
    if (lengths != 8 * words).any():
        raise bad_parameter(
            "column",
            f"fingerprints of {lengths[lengths != 8 * words][0]} bytes",
            f"{8 * words}, which have {bits} bits",
        )
    return unpack_values(column, np.dtype("<u8")).reshape(-1, words)


@dataclass(frozen=True)
class _Searcher:
    """Streams fingerprints through an index of the queries.

    Attributes
    ----------
    ids : list
        Ids of the queries.
    queries : uint64 array
    bits, radius : int
    """

    ids: list[Any]
    queries: NDArray[np.uint64]
    bits: int
    radius: int

    def index(self) -> Any:
        """Build the index of the queries, by row number."""
        from nearkin.index.hamming import HammingIndex

        index = HammingIndex(self.bits, radius=self.radius)
        index.add(None, self.queries)
        return index

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the matches of each batch."""
        import pyarrow as pa

        index, ids = None, pa.array(self.ids)
        for batch in batches:
            if not batch.num_rows:
                continue
            index = index or self.index()
            # Distances are symmetric: the stored fingerprint asks, the query answers.
            hits = index.search(to_words(batch.column(1), self.bits), self.radius)
            row = np.repeat(np.arange(batch.num_rows), np.diff(hits.offsets))
            columns = [ids.take(pa.array(hits.ids)), batch.column(0).take(pa.array(row))]
            distances = pa.array(hits.distances.astype(np.int32))
            yield pa.RecordBatch.from_arrays([*columns, distances], ["query", "id", "distance"])
