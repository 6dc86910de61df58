"""The stages of a deduplication as DataFrames: the rows that the engine moves, and the functions it applies to them.

Cost before a job runs:

| | shuffled bytes per document | comparisons per document |
|---|---|---|
| bands (MinHash) | 22 + 4 b + 18 p, for b bands in p parts of the buckets | none: documents with equal hashes meet |
| tables (SimHash) | 22 + t (26 + w), for t tables, fingerprints of w bytes | t N / 2^(k + 1), for blocks of k bits |
| slices (SimHash) | 22 + (s + 1) (26 + w), for s slices | N / 2 |

22 bytes find exact copies (a content hash, 4 bytes of it, a number, a count). A document has a row in each band or
table, and its bits once in each part; with slices it is sent to s + 1 tasks, in which it is compared with every other
document once. So the work of bands grows with N and that of slices with N²; tables are in between if the radius is
small. With radius 30 of 128 bits no block is short enough to be equal and long enough to be rare, and comparing all
pairs is fastest.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.candidates import MinHashCandidates, SimHashCandidates
from nearkin.dedup.config import DedupConfig
from nearkin.distributed.documents import (
    TASK_BYTES,
    TASK_ROWS,
    Hashing,
    Numbers,
    Ranges,
    distinct_numbers,
    num_tasks,
    to_integers,
    value_dtype,
)
from nearkin.distributed.links import COUNTS, LONG, Blocks, Verification, num_blocks, num_long_blocks
from nearkin.distributed.pairs import (
    MAX_BUCKET,
    MEMBER,
    MORE,
    NONE,
    PAIR,
    PARCELS,
    ROW_BYTES,
    Bands,
    ContentParcels,
    FirstMembers,
    FirstPairs,
    LargeBuckets,
    OpenPairs,
    Slices,
    Tables,
    UnitCells,
    choose_tables,
    max_earlier,
    near_pairs,
    num_parts,
    num_slices,
    num_unit_tasks,
)
from nearkin.io.arrow import to_values
from nearkin.spark.engine import Checkpoint, DataFrame, fetch, fetch_rows, functions

if TYPE_CHECKING:
    import pyarrow as pa

UNITS = "kind int, left bigint, right bigint, unit bigint, last bigint"
LINKS = "left bigint, right bigint, similarity double, distance bigint, " + ", ".join(
    f"{name} bigint" for name in COUNTS
)
_SAMPLE = 1 << 14
"""Documents whose numbers or keys are sampled to split the others into equal shares."""
MAX_PASSES = 8
"""Passes cost as much as pairs do if there are eight of them."""
PASS_BYTES = 2 << 30
"""Bytes that documents of pairs have in one pass of an engine that keeps them in memory."""
_BUCKET_SAMPLE = 64
"""Documents of a bucket of `MAX_BUCKET` in a sample. One of twice that size has less than half as many with a
probability below 1e-20, by the Poisson distribution."""
_UNIT_ROWS = "unit bigint, number bigint"
_CELL_ROWS = "unit bigint, number bigint, values binary, last bigint, by bigint, is_query boolean"
_MAX_BROADCAST = 2_000_000
"""Rows that are sent to every worker, whose hash table of them has about 100 bytes for each."""


def count_passes(pairs: int, documents: int, document_bytes: int) -> int:
    """Return the number of passes in which an engine that keeps documents of pairs in memory verifies pairs."""
    sent = pairs + min(pairs, documents)
    return min(max(-(-sent * document_bytes // PASS_BYTES), 1), MAX_PASSES)


@dataclass
class Plans:
    """The stages of one job.

    Parameters
    ----------
    checkpoint : Checkpoint
    config : DedupConfig
    is_spark : bool
        False for Sail.
    """

    checkpoint: Checkpoint
    config: DedupConfig
    is_spark: bool
    #: Numbers of documents and of rows so far.
    counts: dict[str, int] = field(default_factory=dict)
    #: The units of fingerprints, once `choose_units` has run.
    units: Slices | Tables = field(init=False)

    def __post_init__(self) -> None:
        self.F = functions()
        source: Any = self.config.candidate_source
        # Keys and bits of a document have a third of the bytes of its signature.
        self.source = source.by_keys() if isinstance(source, MinHashCandidates) else source
        self.dtype = value_dtype(self.source)

    # Documents

    def hash(self, rows: DataFrame, hashing: Hashing, id_type: str, *, source: bool) -> DataFrame:
        """Hash documents; the columns are those of `Hashing.rows`."""
        schema = (
            f"id {id_type}, number bigint, key binary, content binary, features bigint, length bigint, values binary, "
            f"missing bigint{', source string' if source else ''}"
        )
        return rows.mapInArrow(hashing.rows, schema)

    def number(self, documents: DataFrame, *, direct: bool) -> DataFrame:
        """Number documents by their keys, unless numbers follow from ids."""
        if direct:
            return documents
        total = self.counts["documents"] + self.counts["older"]
        id_type = dict(documents.dtypes)["id"]

        def numbers() -> DataFrame:
            keys = documents.select("older", "key", "id")
            sample = to_values(self._sample(keys.select("key"), total).column("key"))
            count = num_tasks(total, TASK_ROWS)
            ranges = Ranges.of(sample, count)
            rows = keys.mapInArrow(ranges.rows, f"range bigint, older boolean, key binary, id {id_type}")
            rows = rows.repartition(2 * count, self.F.col("range"))
            return rows.mapInArrow(ranges.number_keys, f"id {id_type}, older boolean, number bigint")

        numbered = self.checkpoint.frame("numbers", numbers)
        return documents.drop("number").join(numbered, ["id", "older"])

    @staticmethod
    def _sample(rows: DataFrame, total: int) -> Any:
        """Fetch a sample of rows."""
        return rows.sample(min(1.0, _SAMPLE / max(total, 1)), seed=1).limit(4 * _SAMPLE).toArrow()

    def copies(self, documents: DataFrame) -> DataFrame:
        """Return the documents with the same content as an earlier one: number, original."""
        parts = num_parts(self.counts["documents"] + self.counts["older"])
        contents = documents.where(self.F.col("features") > 0).select("content", "number")
        parcels = contents.mapInArrow(ContentParcels(parts).rows, PARCELS).repartition(parts, "part")
        return parcels.mapInArrow(ContentParcels.copies, "number bigint, original bigint")

    def searched(self, documents: DataFrame, copies: DataFrame) -> DataFrame:
        """Return number and values of the documents to search: those with features that are no copies."""
        rows = documents.where(self.F.col("features") > 0).select("number", "values")
        return rows.join(self.broadcast(copies.select("number"), self.counts["copies"]), "number", "left_anti")

    def broadcast(self, rows: DataFrame, count: int, *, integers: bool = False) -> DataFrame:
        """Send rows to every worker if there are few; twice as many if they are one or two integers.

        Sail chooses by itself, and logs a warning for each hint.
        """
        return self.F.broadcast(rows) if self.is_spark and count <= (1 + integers) * _MAX_BROADCAST else rows

    def distinct(self, rows: DataFrame, count: int) -> DataFrame:
        """Return the distinct numbers of rows, `count` at most, for a join that keeps them in memory.

        A function hides their number from the engine. Sail keeps the side in memory that it estimates to be smaller,
        which after a filter was the side of all documents, whose texts reached its limit of 2 GB.
        """
        return self.broadcast(rows.mapInArrow(distinct_numbers, "number bigint").distinct(), count, integers=True)

    # Units

    @property
    def by_bands(self) -> bool:
        """True if units are buckets of bands, False if they are tables or slices of fingerprints."""
        return isinstance(self.source, MinHashCandidates)

    @property
    def num_unit_passes(self) -> int:
        """The number of passes over the bands of an engine that keeps their rows in memory."""
        if not isinstance(self.source, MinHashCandidates):
            return 1
        rows = self.counts["searched"] * self.source.banding.num_bands
        return min(max(-(-rows * ROW_BYTES // PASS_BYTES), 1), num_parts(rows))

    def first_pairs(self, searched: DataFrame, passes: int = 1, at: int = 0) -> DataFrame:
        """Return the pairs of a pass of the first round, and the members of units that have more."""
        count = self.counts["searched"]
        if isinstance(self.source, MinHashCandidates):
            earlier = max_earlier(self.config)
            large = self._large_buckets(searched) if earlier else None
            parts = num_parts(count * self.source.banding.num_bands)
            bands = Bands(self.source, self.dtype, large, parts=parts, passes=passes, at=at)
            own = searched.mapInArrow(bands.parcels, PARCELS).repartition(-(-parts // passes), "part")
            pairs = own.mapInArrow(FirstPairs.of(self.source, earlier).rows, UNITS)
            return pairs if large is None or at else pairs.union(self._pair_large(searched, large, earlier))
        # Reference documents are no queries; tables check that in their tasks.
        is_query = self.F.lit(True) if isinstance(self.units, Tables) else self.F.col("number") > 0
        flagged = searched.withColumn("is_query", is_query).withColumn("is_indexed", self.F.lit(True))
        rows = self._unit_rows(flagged).repartition(self._num_unit_tasks, "unit")
        return rows.mapInArrow(near_pairs(self.source, max_earlier(self.config)).rows, UNITS)

    def _bucket_rows(self, searched: DataFrame, large: Numbers | None = None) -> DataFrame:
        """Return unit and number of the documents in large buckets, or in all if there are none."""
        return searched.mapInArrow(Bands(self.source, self.dtype, large, only_large=True).rows, _UNIT_ROWS)

    def _large_buckets(self, searched: DataFrame) -> Numbers | None:
        """Return the buckets with too many documents for one task, from a sample of the documents; None if none has.

        The result of a job does not depend on the sample.
        """
        F, count = self.F, self.counts["searched"]
        if count <= MAX_BUCKET:
            return None

        def choose() -> pa.Table:
            import pyarrow as pa

            rows = self._bucket_rows(searched.sample(min(1.0, _BUCKET_SAMPLE / MAX_BUCKET), seed=1))
            sizes = rows.groupBy("unit").agg(F.count("number").alias("n"))
            units = fetch(sizes.where(F.col("n") >= _BUCKET_SAMPLE // 2).select("unit"), "unit")
            return pa.table({"unit": to_integers(units.column("unit"))})

        table = self.checkpoint.table("large-buckets", "unit bigint", choose)
        return (
            np.sort(to_integers(fetch(table, "unit").column("unit"))) if self.checkpoint.done["large-buckets"] else None
        )

    def _pair_large(self, searched: DataFrame, large: Numbers, earlier: int) -> DataFrame:
        """Return the pairs of large buckets: their first documents are sent to every task instead of their rows."""
        own, first = self._bucket_rows(searched, large), FirstMembers(earlier + 1)
        heads = own.mapInArrow(first.rows, _UNIT_ROWS).repartition(num_tasks(len(large), TASK_ROWS >> 4), "unit")
        heads = heads.mapInArrow(first.lists, "unit bigint, first array<bigint>")
        # Engines keep the left rows of a join in memory, and stream the others.
        return self.broadcast(heads, len(large)).join(own, "unit").mapInArrow(LargeBuckets(earlier).rows, UNITS)

    def member_documents(self, documents: DataFrame, members: DataFrame) -> DataFrame:
        """Return what the comparison of members needs of their documents."""
        rows = documents.select("number", "id", "older", "length", "values", "content")
        numbers = self.distinct(members.select("number"), self.counts["members"])
        return numbers.join(rows, "number").select(*rows.columns)

    def open_pairs(self, searched: DataFrame, members: DataFrame, state: DataFrame, max_pairs: int) -> DataFrame:
        """Return the pairs among members of units that may still change the decision in `state` (number, by)."""
        F = self.F
        decided = members.join(state, "number", "left").select(
            "unit", "number", "last", F.coalesce("by", "number").alias("by")
        )
        if self.config.cluster == "components":
            tasks = num_tasks(self.counts["members"], TASK_ROWS >> 1)
            return decided.repartition(tasks, "unit").mapInArrow(OpenPairs(max_pairs).rows, UNITS)
        queries = decided.where((F.col("by") > F.col("last")) & (F.col("last") < F.lit(NONE)))
        if self.by_bands:
            kept = decided.where(F.col("by") == F.col("number"))
            indexed = self._with_values(kept.select("unit", "number"), searched)
            tasks = num_tasks(self.counts["members"], TASK_BYTES // self.dtype.itemsize)
        else:
            kept = searched.join(state.select("number"), "number", "left_anti")
            flagged = kept.withColumn("is_query", F.lit(False)).withColumn("is_indexed", F.lit(True))
            indexed, tasks = self._unit_rows(flagged).drop("is_query"), self._num_unit_tasks
        indexed = indexed.join(queries.select("unit").distinct(), "unit", "left_semi")
        null = F.lit(None).cast("bigint").alias
        rows = indexed.select("unit", "number", "values", null("last"), null("by"), F.lit(False).alias("is_query"))
        query_rows = self._with_values(queries, searched)
        rows = rows.union(query_rows.select("unit", "number", "values", "last", "by", F.lit(True)))
        if self.by_bands:
            rows, tasks = self._split_units(rows, decided, tasks)
        return rows.repartition(tasks, "unit").mapInArrow(near_pairs(self.source, max_pairs).rows, UNITS)

    def _split_units(self, rows: DataFrame, members: DataFrame, tasks: int) -> tuple[DataFrame, int]:
        """Split buckets that are too large for one task into cells; return their rows, and the number of tasks."""
        F, size = self.F, TASK_BYTES // self.dtype.itemsize
        sizes = members.groupBy("unit").agg(F.count("number").alias("n")).where(F.col("n") > size)
        sizes = sizes.select("unit", "n", F.ceil(F.col("n") / size).cast("bigint").alias("pieces"))
        count, copied = fetch_rows(sizes.agg(F.count("n"), F.sum(F.col("n") * F.col("pieces"))))[0].values()
        if not count:
            return rows, tasks
        rows = self.broadcast(sizes.select("unit", "pieces"), count).join(rows, "unit", "right")
        rows = rows.select("unit", "number", "values", "last", "by", "is_query", "pieces")
        return rows.mapInArrow(UnitCells().rows, _CELL_ROWS), tasks + 2 * copied // size

    def _with_values(self, rows: DataFrame, searched: DataFrame) -> DataFrame:
        """Add the values of documents."""
        return rows.join(searched.select("number", "values"), "number")

    def choose_units(self, searched: DataFrame) -> None:
        """Choose the units of fingerprints: tables by blocks, or slices, whichever costs less.

        The splits of slices name the units, so they are chosen once for a job.
        """
        import pyarrow as pa

        source, count = self.source, self.counts["searched"]
        if not isinstance(source, SimHashCandidates):
            return
        choice = choose_tables(source.recipe.bits, source.radius, count)
        if choice is not None:
            self.units = Tables(source.recipe.bits, *choice, self.dtype)
            return

        def choose_splits() -> pa.Table:
            sample = self._sample(searched.select("number"), count)
            numbers = np.unique(sample.column("number").to_numpy())
            slices = num_slices(count)
            splits = {int(numbers[len(numbers) * at // slices]) for at in range(1, slices)} if len(numbers) else set()
            return pa.table({"split": pa.array(sorted(splits), pa.int64())})

        splits = to_values(self.checkpoint.table("splits", "split bigint", choose_splits).toArrow().column("split"))
        self.units = Slices(tuple(sorted(splits)), self.dtype)

    @property
    def _num_unit_tasks(self) -> int:
        return num_unit_tasks(self.units, self.counts["searched"])

    def _unit_rows(self, flagged: DataFrame) -> DataFrame:
        return flagged.mapInArrow(self.units.rows, "unit bigint, number bigint, values binary, is_query boolean")

    # Links

    def texts_of(self, documents: DataFrame, texts: DataFrame, numbers: DataFrame, count: int) -> DataFrame:
        """Return the rows of `texts` of the documents with these numbers, `count` at most."""
        numbers = self.distinct(numbers, count)
        if "number" in texts.columns:
            return numbers.join(texts, "number").select(*texts.columns)
        own = numbers.join(documents.select("number", "id", "older"), "number")
        names = self.broadcast(own.select("id", "older"), count)
        return names.join(texts, ["id", "older"]).select(*texts.columns)

    def links(
        self, documents: DataFrame, texts: DataFrame, pairs: DataFrame, count: int, *, all_match: bool = False
    ) -> DataFrame:
        """Return the pairs that match, and rows that count the work; `texts` has text, and id and older or number."""
        F, config = self.F, self.config
        blocks = Blocks(num_blocks(count, self.counts))
        if config.comparison is not None and self.counts["long"]:
            pairs, blocks = self._mark_long(documents, pairs, blocks.count)
        tasks = blocks.count + blocks.long
        blocks = pairs.mapInArrow(blocks.rows, "block bigint, left bigint, right bigint")
        ends = blocks.select("block", F.col("left").alias("number"))
        ends = ends.union(blocks.select("block", F.col("right").alias("number"))).distinct()

        def null(name: str, kind: str) -> Any:
            return F.lit(None).cast(kind).alias(name)

        # Broadcast the pairs, so that the documents are streamed.
        ends = self.broadcast(ends, 2 * count, integers=True)
        compared = ends.join(documents, "number")
        left, right, text = F.col("number").alias("left"), null("right", "bigint"), null("text", "string")
        hashes = null("length", "bigint"), null("values", "binary"), null("content", "binary")
        rows = compared.select("block", left, right, "length", "values", "content", text)
        rows = rows.union(blocks.select("block", "left", "right", *hashes, text))
        if config.comparison is not None:
            if "number" in texts.columns:
                named = ends.join(texts, "number").select("block", left, "text")
            else:
                names = self.broadcast(compared.select("block", left, "id", "older"), 2 * count)
                named = names.join(texts, ["id", "older"])
            rows = rows.union(named.select("block", "left", right, *hashes, "text"))
        verification = Verification(self.source, self.dtype, config.comparison, float(config.threshold), all_match)
        return rows.repartition(tasks, "block").mapInArrow(verification.rows, LINKS)

    def num_passes(self, pairs: int) -> int:
        """Return the number of passes in which pairs are verified: one for each `PASS_BYTES`, but each reads all."""
        counts = self.counts
        documents = counts["documents"] + counts["older"]
        texts = counts["characters"] if self.config.comparison is not None else 0
        return count_passes(pairs, documents, texts // max(documents, 1) + self.dtype.itemsize)

    def _mark_long(self, documents: DataFrame, pairs: DataFrame, count: int) -> tuple[DataFrame, Blocks]:
        """Add is_long, True for pairs with a long document, and return it with the blocks of all pairs."""
        F = self.F
        long = documents.where(F.col("length") > LONG)
        for side in ("left", "right"):
            own = long.select(F.col("number").alias(side), F.col("length").alias(f"length_{side}"))
            pairs = self.broadcast(own, self.counts["long"]).join(pairs, side, "right")
        length = F.coalesce("length_left", F.lit(0)) + F.coalesce("length_right", F.lit(0))
        pairs = pairs.select("left", "right", length.alias("length"))
        characters = fetch_rows(pairs.agg(F.sum("length").alias("n")))[0]["n"] or 0
        marked = pairs.select("left", "right", (F.col("length") > 0).alias("is_long"))
        return marked, Blocks(count, num_long_blocks(characters))

    @staticmethod
    def select_pairs(rows: DataFrame) -> DataFrame:
        """Return the pairs among the rows of units."""
        return rows.where(f"kind = {PAIR}").select("left", "right")

    @staticmethod
    def select_members(rows: DataFrame) -> DataFrame:
        """Return the members of units that have more pairs."""
        return rows.where(f"kind = {MEMBER}").select("unit", functions().col("right").alias("number"), "last")

    @staticmethod
    def has_more(rows: DataFrame) -> bool:
        """Return True if a round left pairs for another one."""
        return bool(rows.where(f"kind = {MORE}").limit(1).count())
