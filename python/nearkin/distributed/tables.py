"""Removed documents → clusters, and the summary; for tasks also the tables of the result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.config import DedupConfig
from nearkin.dedup.summary import Summary, describe_counts
from nearkin.distributed.documents import NUMBER, RANGE, TASK_ROWS, Ranges, num_tasks, to_integers
from nearkin.distributed.frames import LocalTasks, Stages, Tasks, plain_strings
from nearkin.distributed.job import Source, TableJob
from nearkin.distributed.plan import Plan, Rows, check_read
from nearkin.distributed.summary import summarize_job
from nearkin.errors import bad_parameter, mismatch, warn_caller
from nearkin.io.arrow import to_values
from nearkin.progress import Progress, ShowProgress, ignore_progress, reporting

if TYPE_CHECKING:
    import pyarrow as pa

MAX_DRIVER_CLUSTERS = 5_000_000
"""Clusters that the driver numbers: less than 1 GB."""
MAX_DRIVER_REMOVED = 1 << 19
"""Removed documents whose clusters the driver builds: their numbers and those of their representatives, 8 MB, are sent
to every task."""
_CLUSTERS = "id ID, cluster bigint, representative ID, distance bigint, similarity double, reason string"
"""The columns of clusters; ID is the type of ids."""
_REMOVED = "number bigint, rep bigint, similarity double, distance bigint"
_LINK = "rep", "similarity", "distance"
_REASONS = np.array(["kept", "exact", "same-letters", "near"])
_SAMPLE = 1 << 14
"""Ids that are sampled to split the others into ranges."""


@dataclass(frozen=True)
class TableResult:
    """The result of a deduplication; the columns are those of `nearkin.DedupResult`.

    Attributes
    ----------
    kept : dataset of the engine
        The rows of the kept documents, with all their columns; lazy, in no order.
    clusters : pyarrow.Table
        A row for every document of a cluster of two or more, and for every document removed for a reference document:
        id, cluster (number from 0, by its smallest id), representative, distance, similarity (null without
        verification), reason; by cluster, the representative first, and id.
    pairs : pyarrow.Table
        Links of removed documents with their representative: id, representative, distance, similarity; with
        `links="all"` every verified link: left, right, distance, similarity.
    summary : dict
        Counts, recipe, parameters, version and time, as in the file summary.json. `candidates` and `verified` count the
        work of this job, which is more than that of one machine.
    """

    kept: Any
    clusters: pa.Table
    pairs: pa.Table
    summary: Summary

    def __repr__(self) -> str:
        return describe_counts(self.summary)


def deduplicate(
    tasks: Tasks,
    blocks: Sequence[Any],
    reference: Sequence[Any] | None,
    text: str,
    id: str,
    config: DedupConfig,
    *,
    integer: bool,
    report: Progress,
) -> tuple[TableResult, pa.ChunkedArray]:
    """Deduplicate blocks; return the result, whose `kept` the engine fills in, and the ids of removed documents.

    Parameters
    ----------
    tasks : Tasks
    blocks, reference : sequence of references
        Tables of documents, and of reference documents or None.
    text, id : str
    config : DedupConfig
    integer : bool
        True for integer ids.
    report : function
    """
    began = time.perf_counter()
    job = TableJob(tasks, config, integer=integer, report=report)
    job.run(Source(blocks, text, id), None if reference is None else Source(reference, text, id))
    result, removed = build_tables(job)
    result.summary["timings"] = {"total": {"wall": time.perf_counter() - began}}
    return result, removed


@dataclass(frozen=True)
class Dataset:
    """Documents of an engine.

    Attributes
    ----------
    name : str
        The argument.
    types : mapping
        Types of Arrow of the columns, by their names.
    blocks : function
        Returns references of tables with some columns.
    """

    name: str
    types: Mapping[str, Any]
    blocks: Callable[[list[str]], Sequence[Any]]

    def check(self, text: str, id: str, columns: Sequence[str]) -> str:
        """Check the columns, and return "integers" or "strings", the kind of ids.

        Raises
        ------
        ParameterError
            A missing column, or one of another type.
        """
        import pyarrow as pa

        for name, column in [("text", text), ("id", id), *(("keep", column) for column in columns)]:
            if column not in self.types:
                raise bad_parameter(name, repr(column), f"a column of {self.name}: {', '.join(map(repr, self.types))}")
        kind = self.types[id]
        if isinstance(kind, pa.DataType) and pa.types.is_integer(kind):
            return "integers"
        if isinstance(kind, pa.DataType) and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return "strings"
        raise bad_parameter("id", f"the column {id!r} of {kind}", "a column of integers or strings; cast it")


def deduplicate_datasets(
    tasks: Tasks,
    ds: Dataset,
    against: Dataset | None,
    text: str,
    id: str,
    config: DedupConfig,
    progress: ShowProgress,
) -> tuple[TableResult, pa.ChunkedArray]:
    """Check datasets, and deduplicate them as `deduplicate` does; raise warnings."""
    columns = [by.column for by in config.order if by.column]
    kind = ds.check(text, id, columns)
    if against is not None and (other := against.check(text, id, ())) != kind:
        raise mismatch("id", f"{kind} of {ds.name}", f"{other} of against; cast one of them")
    blocks = ds.blocks(list(dict.fromkeys([text, id, *columns])))
    others = None if against is None else against.blocks([text, id])
    with reporting(progress) as report:
        result = deduplicate(tasks, blocks, others, text, id, config, integer=kind == "integers", report=report)
    for message in result[0].summary.get("warnings", ()):
        warn_caller(message)
    return result


def build_tables(job: Plan) -> tuple[TableResult, pa.ChunkedArray]:
    """Return the result of a job that has run, without kept rows, and the ids of removed documents."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = build_clusters(job)
    summary, warnings = summarize(job, rows)
    if warnings:
        summary["warnings"] = warnings
    clusters = plain_strings(rows.toArrow())
    is_removed = pc.not_equal(clusters["reason"], "kept")
    clusters = clusters.append_column("removed", is_removed)
    clusters = clusters.sort_by([(name, "ascending") for name in ("cluster", "removed", "id")]).drop_columns("removed")
    pairs = clusters.filter(pc.not_equal(clusters["reason"], "kept"))
    pairs = pairs.select(["id", "representative", "distance", "similarity"])
    removed = pairs["id"]
    if job.config.empty == "drop":
        empty = plain_strings(job.empty_ids().toArrow())
        removed = pa.chunked_array([*removed.chunks, *empty["id"].chunks], removed.type)
    if job.config.links == "all":
        pairs = plain_strings(job.all_links().toArrow())
    return TableResult(None, clusters, pairs, summary), removed


# Clusters


def build_clusters(job: Plan) -> Rows:
    """Return id, cluster (number from 0, by its smallest id), representative, distance, similarity, reason.

    The rows are those of every document of a cluster, and of every one that is removed for a reference document. If
    there are few, the driver builds them from rows that it fetches.
    """
    point, counts = job.checkpoint, job.counts
    links = "right AS number", "left AS rep", "similarity", "distance"
    if counts["removals"] + counts["copies"] <= min(MAX_DRIVER_REMOVED, MAX_DRIVER_CLUSTERS):

        def build() -> pa.Table:
            local = Stages(LocalTasks(), ignore_progress)
            removed = local.table("removed", _REMOVED, lambda: job.matched_links().selectExpr(*links).toArrow())
            check_read("links", counts["removals"], local.done["removed"])
            copies = local.table("copies", "number bigint, original bigint", job.copies.toArrow)

            def names(numbers: Rows) -> Rows:
                kind = f"number bigint, id {job.id_type}"
                return local.table("names", kind, lambda: job.names(to_integers(numbers.toArrow()["number"])))

            return plain_strings(_build_clusters(job, local, removed, copies, names).toArrow())

        return point.table("clusters", _CLUSTERS.replace("ID", job.id_type), build)
    removed = point.frame("removed", lambda: job.matched_links().selectExpr(*links))
    check_read("links", counts["removals"], point.done["removed"])

    def names(numbers: Rows) -> Rows:
        numbers = job.distinct(numbers, 2 * (counts["removals"] + counts["copies"]))
        return numbers.join(job.documents.select("number", "id"), "number")

    return _build_clusters(job, point, removed, job.copies, names)


def _build_clusters(job: Plan, point: Any, removed: Rows, copies: Rows, names: Callable[[Rows], Rows]) -> Rows:
    """Build clusters as stages of `point`.

    Parameters
    ----------
    job : Plan
    point : Persisted
    removed : rows
        number, rep (the representative), similarity, distance of documents that are removed for a match.
    copies : rows
        number, original.
    names : function
        Returns number, id of documents for their numbers.
    """
    equal = f"double({'null' if math.isnan(job.equal) else job.equal}) AS similarity", "bigint(0) AS distance"
    same = "bigint(coalesce(similarity, 0.0) == 1.0)" if job.config.verify == "jaccard" else "bigint(0)"
    near = f"3 - {same} AS code"
    # A copy of a removed document has its representative, one of a kept document is exact.
    copies, originals = copies.where("number > 0"), removed.selectExpr("number AS original", *_LINK)
    exact = copies.join(originals.select("original"), "original", "left_anti")
    rows = removed.selectExpr("number", *_LINK, near)
    rows = rows.union(copies.join(originals, "original").selectExpr("number", *_LINK, near))
    rows = rows.union(exact.selectExpr("number", "original AS rep", *equal, "bigint(1) AS code"))
    kept = rows.where("rep > 0").select("rep").distinct()
    rows = rows.union(kept.selectExpr("rep AS number", "rep", *equal, "bigint(0) AS code"))
    own = names(rows.select("number").union(rows.selectExpr("rep AS number")))
    representatives = own.selectExpr("number AS rep", "id AS representative")
    members = point.frame("members", lambda: rows.join(own, "number").join(representatives, "rep"))
    numbers = _number_clusters(point, members, "bigint" if job.id_type == "bigint" else "string")
    numbered = members.join(numbers, "rep").mapInArrow(_name_reasons, _CLUSTERS.replace("ID", job.id_type))
    return point.frame("clusters", lambda: numbered)


def _name_reasons(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Convert code (0 kept, 1 exact, 2 same-letters, 3 near) and rep to reason."""
    import pyarrow as pa

    names = "id", "cluster", "representative", "distance", "similarity"
    for batch in batches:
        reasons = _REASONS[to_integers(batch.column("code"))].astype(object)
        reasons[to_integers(batch.column("rep")) < 0] += "-old"
        columns = [*(batch.column(name) for name in names), pa.array(reasons, pa.string())]
        yield pa.RecordBatch.from_arrays(columns, [*names, "reason"])


def _number_clusters(point: Any, members: Rows, id_type: str) -> Rows:
    """Return rep, cluster: clusters are numbered by their smallest id."""
    import pyarrow as pa

    smallest = members.groupBy("rep").agg({"id": "min"}).toDF("rep", "id")
    count = smallest.count()

    def number() -> pa.Table:
        reps = smallest.toArrow().sort_by("id")["rep"]
        return pa.table({"rep": reps, "cluster": np.arange(len(reps))})

    if count <= MAX_DRIVER_CLUSTERS:
        return point.table("cluster-numbers", "rep bigint, cluster bigint", number)
    # Ranges of ids are sorted by tasks, and each begins where those before it end.
    sample = smallest.sample(min(1.0, _SAMPLE / count), seed=1).select("id").limit(4 * _SAMPLE).toArrow()
    tasks = num_tasks(count, TASK_ROWS)
    ranges, keys = (
        Ranges.of(to_values(sample["id"]), tasks),
        smallest.selectExpr("false AS older", "id AS key", "rep AS id"),
    )
    rows = keys.mapInArrow(ranges.rows, f"range bigint, older boolean, key {id_type}, id bigint")
    rows = rows.repartition(2 * tasks, "range")
    rows = rows.mapInArrow(ranges.number_keys, "id bigint, older boolean, number bigint")
    places = f"shiftright(number - {NUMBER}, {RANGE.bit_length() - 1}) AS range", f"number & {RANGE - 1} AS rank"
    ranked = point.frame("cluster-ranks", lambda: rows.selectExpr("id AS rep", *places))

    def starts() -> pa.Table:
        sizes = ranked.groupBy("range").agg({"rep": "count"}).toDF("range", "n").toArrow().sort_by("range")
        ends = np.cumsum(to_integers(sizes["n"]))
        return pa.table({"range": sizes["range"], "start": ends - to_integers(sizes["n"])})

    firsts = point.table("cluster-starts", "range bigint, start bigint", starts)
    numbered = ranked.join(firsts, "range").selectExpr("rep", "start + rank AS cluster")
    return point.frame("cluster-numbers", lambda: numbered)


# Summary


def summarize(job: Plan, clusters: Rows) -> tuple[Summary, list[str]]:
    """Return the summary of a job that has run, without sources and timings, and its warnings."""
    by_reason = clusters.groupBy("reason").agg({"id": "count"}).toDF("reason", "n").toArrow()
    reasons = {row["reason"]: row["n"] for row in to_values(by_reason)}
    sizes = clusters.groupBy("cluster").agg({"id": "count"}).toDF("cluster", "n")
    [largest] = to_values(sizes.groupBy().agg({"n": "max"}).toDF("n").toArrow()["n"])
    counted = (sizes.count(), largest or 0), job.count_work(), job.counts["removals"]
    summary, warnings = summarize_job(job.config, job.counts, reasons, *counted)
    if job.left_out is not None:
        summary["left_out_lines"] = job.left_out
    return summary, warnings
