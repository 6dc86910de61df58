"""The stages of a deduplication as DataFrames: what each asks the engine to move, and to which function."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from nearkin.dedup.candidates import ConfirmedCandidates, MinHashCandidates, SimHashCandidates
from nearkin.dedup.distributed.documents import Hashing, Ranges
from nearkin.dedup.distributed.meetings import (
    SIGNATURES,
    Closeness,
    EnoughValues,
    NearPairs,
    Slices,
    Tables,
    WithinRadius,
    choose_tables,
    slices_of,
)
from nearkin.dedup.distributed.rows import value_type
from nearkin.dedup.distributed.units import FIRST, MEMBER, MORE, NONE, PAIR, Bands, FirstPairs, OpenPairs
from nearkin.dedup.distributed.verify import COUNTS, Blocks, Verification
from nearkin.dedup.stages import RunOptions
from nearkin.spark.engine import Checkpoint, DataFrame, functions

UNITS = "kind int, left bigint, right bigint, unit bigint, last bigint"
LINKS = "left bigint, right bigint, similarity double, distance bigint, " + ", ".join(
    f"{name} bigint" for name in COUNTS
)
TASK_ROWS = 1 << 21
"""Rows of 16 bytes that a task gathers."""
_TASK_BYTES = 32 << 20
"""Characters of texts, or bytes of signatures, that a task gathers."""
_TASK_PAIRS = 1 << 18
"""Pairs that a task verifies."""
_SAMPLE = 1 << 14
"""Documents whose numbers or keys are looked at to cut the others into equal shares."""
_BROADCAST = 2_000_000
"""Rows of 16 bytes that go to every worker rather than to one."""
_MOST_BLOCKS = 1 << 14
"""Blocks of pairs that are made for the sake of long texts."""


def tasks_of(rows: int, most: int) -> int:
    """How many tasks share some rows; always some, so that all cores have work."""
    return max(-(-rows // most), 4)


@dataclass
class Plans:
    """The stages of one job.

    Parameters
    ----------
    checkpoint : Checkpoint
    options : RunOptions
    older_only : bool
        Whether documents are compared with older ones alone.
    """

    checkpoint: Checkpoint
    options: RunOptions
    older_only: bool = False
    #: What the stages found: documents, and rows that engines count for nothing.
    counts: dict[str, int] = field(default_factory=dict)
    #: Where fingerprints meet, once `meet` has chosen it.
    meetings: Slices | Tables = field(init=False)

    def __post_init__(self) -> None:
        self.F = functions()
        self.source: Any = self.options.candidate_source
        self.kind = value_type(self.source)

    # Documents

    def hashed(self, rows: DataFrame, hashing: Hashing, kind: str, *, source: bool) -> DataFrame:
        """Documents as `Hashing.rows` gives them."""
        schema = (
            f"id {kind}, number bigint, key binary, content binary, features bigint, length bigint, values binary, "
            f"missing bigint, text string{', source string' if source else ''}"
        )
        return rows.mapInArrow(hashing.rows, schema)

    def numbered(self, documents: DataFrame, *, direct: bool) -> DataFrame:
        """Documents with their numbers: where ids do not give them, by keys."""
        if direct:
            return documents
        total = self.counts["documents"] + self.counts["older"]

        def numbers() -> DataFrame:
            F = self.F
            keys = documents.select("older", "key", "id")
            sample = keys.select("key").sample(min(1.0, _SAMPLE / max(total, 1)), seed=1).limit(4 * _SAMPLE).toArrow()
            count = tasks_of(total, TASK_ROWS)
            ranges = Ranges.of(sample.column("key").to_pylist(), count)
            kinds = f"range bigint, older boolean, key binary, id {dict(documents.dtypes)['id']}"
            rows = keys.mapInArrow(ranges.rows, kinds).repartition(2 * count, F.col("range"))
            return rows.mapInArrow(
                ranges.number_keys, f"id {dict(documents.dtypes)['id']}, older boolean, number bigint"
            )

        found = self.checkpoint.frame("numbers", numbers)
        return documents.drop("number").join(found, ["id", "older"])

    def copies(self, documents: DataFrame) -> DataFrame:
        """Documents with the same content as an earlier one: number, original."""
        F = self.F
        contents = documents.select("content", "number", "features")
        if self.options.featureless == "keep":
            contents = contents.where(F.col("features") > 0)
        groups = contents.groupBy("content").agg(F.min("number").alias("original"), F.count("number").alias("n"))
        some = groups.where(F.col("n") > 1).select("content", "original")
        return contents.join(some, "content").where("number != original").select("number", "original")

    def searched(self, documents: DataFrame, copies: DataFrame) -> DataFrame:
        """What is searched: number and values of documents with features that are no copies."""
        rows = documents.where(self.F.col("features") > 0).select("number", "values")
        return rows.join(self._few(copies.select("number"), self.counts["copies"]), "number", "left_anti")

    def _few(self, rows: DataFrame, count: int) -> DataFrame:
        """Rows that go to every worker, if they are few."""
        return self.F.broadcast(rows) if count <= _BROADCAST else rows

    # Units

    @property
    def first(self) -> SimHashCandidates | MinHashCandidates:
        """The family that proposes."""
        return self.source.first if isinstance(self.source, ConfirmedCandidates) else self.source

    @property
    def _field(self) -> str:
        return "first" if isinstance(self.source, ConfirmedCandidates) else ""

    @property
    def by_bands(self) -> bool:
        """Whether units are buckets of bands, or slices of the fingerprints that meet."""
        return isinstance(self.first, MinHashCandidates)

    @property
    def most(self) -> int:
        """Earlier documents that each one is paired with at first; 0 for all."""
        if self.options.links == "all" or (self.options.cluster == "components" and not self.by_bands):
            return 0
        return FIRST

    def first_pairs(self, searched: DataFrame) -> DataFrame:
        """Pairs of the first round, and members of units that have more."""
        count = self.counts["searched"]
        if isinstance(self.first, MinHashCandidates):
            bands = Bands(self.first, self.kind, self._field)
            rows = searched.mapInArrow(bands.rows, "unit bigint, number bigint")
            tasks = tasks_of(count * self.first.banding.num_bands, TASK_ROWS)
            pairs = FirstPairs(self.most, self.older_only)
            return rows.repartition(tasks, "unit").mapInArrow(pairs.rows, UNITS)
        # Older documents look for none; in tables that is seen where they meet.
        asks = self.F.lit(True) if isinstance(self.meetings, Tables) else self.F.col("number") > 0
        flagged = searched.withColumn("asks", asks).withColumn("held", self.F.lit(True))
        rows = self._rows(flagged).repartition(self._meeting_tasks, "unit")
        return rows.mapInArrow(self._near(self.most).rows, UNITS)

    def open_pairs(self, searched: DataFrame, members: DataFrame, state: DataFrame, most: int) -> DataFrame:
        """Pairs that may still change what is decided: of members of units, with `state` (number, by)."""
        F = self.F
        decided = members.join(state, "number", "left").select(
            "unit", "number", "last", F.coalesce("by", "number").alias("by")
        )
        if self.options.cluster == "components":
            pairs = OpenPairs(most)
            tasks = tasks_of(self.counts["members"], TASK_ROWS >> 1)
            return decided.repartition(tasks, "unit").mapInArrow(pairs.rows, UNITS)
        open_ = decided.where((F.col("by") > F.col("last")) & (F.col("last") < F.lit(NONE)))
        if self.by_bands:
            own = decided.where(F.col("by") == F.col("number"))
            held = self._with_values(own.select("unit", "number"), searched)
            tasks = tasks_of(self.counts["members"], _TASK_BYTES // self._close.kind.itemsize)
        else:
            kept = searched.join(state.select("number"), "number", "left_anti")
            flagged = kept.withColumn("asks", F.lit(False)).withColumn("held", F.lit(True))
            held, tasks = self._rows(flagged).drop("asks"), self._meeting_tasks
        held = held.join(open_.select("unit").distinct(), "unit", "left_semi")
        none = F.lit(None).cast("bigint").alias
        meeting = held.select("unit", "number", "values", none("last"), none("by"), F.lit(False).alias("asks"))
        asking = self._with_values(open_, searched).select("unit", "number", "values", "last", "by", F.lit(True))
        return meeting.union(asking).repartition(tasks, "unit").mapInArrow(self._near(most).rows, UNITS)

    def _with_values(self, rows: DataFrame, searched: DataFrame) -> DataFrame:
        """Rows with the values of the family that proposes; in records of two families those stand in front."""
        F = self.F
        width = self._close.kind.itemsize
        values = F.substring("values", 1, width) if self._field else F.col("values")
        return rows.join(searched.select("number", values.alias("values")), "number")

    def meet(self, searched: DataFrame) -> None:
        """Choose where fingerprints meet: in tables by blocks, or in slices, whichever costs less.

        Units are named by the cuts of slices, which are chosen once for a job.
        """
        import pyarrow as pa

        first, count = self.first, self.counts["searched"]
        if not isinstance(first, SimHashCandidates):
            return
        found = choose_tables(first.recipe.bits, first.radius, count)
        if found is not None:
            self.meetings = Tables(first.recipe.bits, *found, self.kind, self._field)
            return

        def splits() -> pa.Table:
            sample = searched.select("number").sample(min(1.0, _SAMPLE / max(count, 1)), seed=1).limit(4 * _SAMPLE)
            numbers = np.unique(sample.toArrow().column("number").to_numpy())
            slices = slices_of(count)
            cuts = {int(numbers[len(numbers) * at // slices]) for at in range(1, slices)} if len(numbers) else set()
            return pa.table({"split": pa.array(sorted(cuts), pa.int64())})

        cuts = self.checkpoint.table("splits", "split bigint", splits).toArrow().column("split").to_pylist()
        self.meetings = Slices(tuple(sorted(cuts)), self.kind, self._field)

    @property
    def _meeting_tasks(self) -> int:
        if isinstance(self.meetings, Tables):
            return tasks_of(self.counts["searched"] * len(self.meetings.masks()), TASK_ROWS >> 2)
        slices = len(self.meetings)
        return slices * (slices + 1) // 2

    def _rows(self, flagged: DataFrame) -> DataFrame:
        return flagged.mapInArrow(self.meetings.rows, "unit bigint, number bigint, values binary, asks boolean")

    @cached_property
    def _close(self) -> Closeness:
        """What makes two documents that meet a candidate pair."""
        first = self.first
        if isinstance(first, SimHashCandidates):
            return WithinRadius(first.recipe.bits, first.radius)
        return EnoughValues(f"u{first.recipe.value_bits // 8}", first.recipe.num_perm, first.least)

    def _near(self, most: int) -> NearPairs:
        if isinstance(self._close, WithinRadius):
            return NearPairs(self._close, most, self.older_only)
        return NearPairs(self._close, most, self.older_only, SIGNATURES, SIGNATURES)

    # Links

    def links(self, documents: DataFrame, pairs: DataFrame, count: int, *, listed: bool = False) -> DataFrame:
        """Pairs that match, and rows that count what was looked at."""
        F = self.F
        options = self.options
        texts = 2 * count * max(self.counts["characters"] // max(self.counts["documents"] + self.counts["older"], 1), 1)
        tasks = max(tasks_of(count, _TASK_PAIRS), min(-(-texts // _TASK_BYTES), _MOST_BLOCKS))
        placed = pairs.mapInArrow(Blocks(tasks).rows, "block bigint, left bigint, right bigint")
        ends = placed.select("block", F.col("left").alias("number"))
        ends = ends.union(placed.select("block", F.col("right").alias("number"))).distinct()
        text = F.col("text") if options.comparison is not None else F.lit(None).cast("string")
        held = documents.select("number", "length", "values", text.alias("text"))
        none = F.lit(None)
        # The pairs are what is held while the documents stream by.
        read = (
            self._few(ends, 2 * count)
            .join(held, "number")
            .select(
                "block", F.col("number").alias("left"), none.cast("bigint").alias("right"), "length", "values", "text"
            )
        )
        asked = placed.select(
            "block",
            "left",
            "right",
            none.cast("bigint").alias("length"),
            none.cast("binary").alias("values"),
            none.cast("string").alias("text"),
        )
        verification = Verification(self.source, self.kind, options.comparison, float(options.threshold), listed)
        return read.union(asked).repartition(tasks, "block").mapInArrow(verification.rows, LINKS)

    @staticmethod
    def pairs_of(units: DataFrame) -> DataFrame:
        """The pairs among the rows of units."""
        return units.where(f"kind = {PAIR}").select("left", "right")

    @staticmethod
    def members_of(units: DataFrame) -> DataFrame:
        """The members of units that have more."""
        return units.where(f"kind = {MEMBER}").select("unit", functions().col("right").alias("number"), "last")

    @staticmethod
    def more_of(units: DataFrame) -> bool:
        """Whether a round left pairs for another one."""
        return bool(units.where(f"kind = {MORE}").limit(1).count())
