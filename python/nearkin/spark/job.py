"""One deduplication on an engine: what is checked before it starts, and its stages in order, up to what was removed."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from nearkin._core import __version__
from nearkin.dedup.distributed.decide import Decision, absorb, components
from nearkin.dedup.distributed.documents import DATES, Hashing, is_direct
from nearkin.dedup.distributed.units import FIRST
from nearkin.dedup.stages import RunOptions
from nearkin.errors import InputError, MismatchError, bad_parameter, check_name, mismatch
from nearkin.progress import Progress
from nearkin.spark.columns import check_text, type_of
from nearkin.spark.engine import (
    Checkpoint,
    DataFrame,
    check_workers,
    fetched,
    few_rows,
    functions,
    joined,
    quoted,
    session_of,
    told_by_workers,
)
from nearkin.spark.plans import Plans

_GROWTH = 4
"""By how much the pairs of a document grow from round to round where some are left."""
_ROUNDS = 60
_REMOVED = "number bigint, rep bigint, similarity double, distance bigint"
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_INTEGERS, "float", "double", "string", "date", "timestamp", "timestamp_ntz", "boolean")
MOST_LINKS = 200_000_000
"""Links that the driver decides: 5 GB."""


@dataclass(frozen=True)
class Decided:
    """What the stages found.

    Attributes
    ----------
    documents : DataFrame
        All documents, hashed and numbered.
    copies : DataFrame
        number, original: documents with the content of an earlier one.
    removed : DataFrame
        number, rep (what it is removed for), similarity, distance.
    links : DataFrame
        left, right, similarity, distance: the pairs that match.
    """

    documents: DataFrame
    copies: DataFrame
    removed: DataFrame
    links: DataFrame


class Job:
    """One deduplication, from its arguments to its answer."""

    def __init__(
        self,
        df: DataFrame,
        text: str,
        id: str,
        options: RunOptions,
        against: DataFrame | None,
        source: str | None,
        checkpoint: str | PathLike[str] | None,
        report: Progress,
        *,
        older_only: bool = False,
    ) -> None:
        self.session = session_of(df)
        self.df, self.against, self.text, self.id = df, against, text, id
        self.options, self.source, self.older_only, self.report = options, source, older_only, report
        self.F = functions()
        self.kind = self._check_columns()
        self.direct = is_direct(options.order, integer=self.kind == "bigint")
        check_workers(self.session)
        self.resumable = checkpoint is not None
        self.checkpoint = Checkpoint(self.session, _folder(checkpoint), self._digest(), self._tell)
        self.checkpoint.check()
        self.plans = Plans(self.checkpoint, options, older_only)

    # What was given

    def _check_columns(self) -> str:
        """The type of ids."""
        check_text(self.df, self.text)
        kinds = [type_of(self.df, self.id, "id")]
        for key in self.options.order:
            if key.column:
                found = type_of(self.df, key.column, "keep")
                if found not in _NUMBERS and not found.startswith("decimal"):
                    raise bad_parameter("keep", f"the column {key.column!r} of {found}", "numbers, dates or strings")
        if self.source is not None:
            type_of(self.df, self.source, "source")
        if self.against is not None or self.older_only:
            session_of(self.against, "against")
            check_text(self.against, self.text, "against")
            kinds.append(type_of(self.against, self.id, "against"))
        for kind in kinds:
            if kind not in (*_INTEGERS, "string"):
                raise bad_parameter(
                    "id", f"the column {self.id!r} of {kind}", "a column of integers or strings; cast it"
                )
        if len({kind == "string" for kind in kinds}) > 1:
            raise mismatch("id", f"{kinds[0]} of df", f"{kinds[1]} of against; cast one of them")
        return "string" if kinds[0] == "string" else "bigint"

    def _digest(self) -> str:
        """Of everything that the answer follows from, apart from the rows."""
        options, older = self.options, self.against
        told = [
            __version__,
            str(options.recipe),
            options.recipe.digest,
            repr(sorted(options.candidate_source.summary().items(), key=str)),
            repr(
                (options.threshold, options.verify, options.differ, options.featureless, options.cluster, options.keep)
            ),
            repr((options.links, self.text, self.id, self.source, self.older_only)),
            repr(self.df.dtypes),
            repr(None if older is None else older.dtypes),
        ]
        return hashlib.sha256("\n".join(told).encode()).hexdigest()

    def _tell(self, stage: str) -> None:
        self.report(stage, 0, None)

    # The stages

    def _documents(self) -> DataFrame:
        """All documents, hashed and numbered."""
        F, plans, keys = self.F, self.plans, self.options.order

        def stage(frame: DataFrame, *, older: bool) -> Callable[[], DataFrame]:
            columns = [F.col(quoted(self.id)).cast(self.kind).alias("id"), F.col(quoted(self.text)).alias("text")]
            if not older:
                columns += [F.col(quoted(by.column)).alias(f"key{at}") for at, by in enumerate(keys) if by.column]
            source = self.source is not None and not older
            if source:
                columns.append(F.col(quoted(str(self.source))).cast("string").alias("source"))
            names = (self.text, self.id, *(by.column for by in keys))
            hashing = Hashing(plans.source, tuple(keys), self.kind == "bigint", older, names)
            return lambda: plans.hashed(frame.select(*columns), hashing, self.kind, source=source)

        new = self._same(self.df, "documents", stage(self.df, older=False))
        counted = _counted(F, new, [by.column for by in keys])
        plans.counts.update(documents=counted.pop("rows"), older=0, **counted)
        self._check_dates()
        self._check_distinct(new, "ids")
        used = ["id", "number", "key", "content", "features", "length", "values", "text"]
        documents = new.select(*used, F.lit(False).alias("older"))
        if self.against is not None:
            older = self._same(self.against, "older", stage(self.against, older=True))
            counted = _counted(F, older, [])
            plans.counts["older"] = counted["rows"]
            plans.counts["characters"] += counted["characters"]
            self._check_distinct(older, "ids of against")
            documents = documents.union(older.select(*used, F.lit(True).alias("older")))
        return plans.numbered(documents, direct=self.direct)

    def _same(self, given: DataFrame, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """A stage that hashes documents; if an earlier call made it, then of the documents that are given now."""
        import pyarrow as pa

        point, again = self.checkpoint, name in self.checkpoint.done
        if self.resumable:
            with told_by_workers():
                found = _sum_of(given, self._columns(name))
            before = point.table(f"{name}-columns", "rows bigint, sum bigint", lambda: pa.Table.from_pylist([found]))
        made = point.frame(name, make)
        if not again:
            # What is kept is read from what was given, by its ids: those of a random function would be others.
            with told_by_workers():
                same = _sum_of(given, [self.id]) == _sum_of(made, ["id"])
            if not same:
                reason = f"column {self.id!r} has other ids when it is read again"
                message = f"{reason}; write the DataFrame to a table first, and give what is read from there"
                raise InputError(message, place=f"column {self.id!r}", reason=reason)
            return made
        with told_by_workers():
            held = few_rows(before)[0]
            same = held == found and _sum_of(given, [self.id, self.text]) == _sum_of(made, ["id", "text"])
        if not same:
            raise MismatchError(
                f"checkpoint={point.path!r} was made of {held['rows']:,} documents, and those given now are not "
                f"the same ({found['rows']:,}); give these, or a new folder",
                what="checkpoint",
                left=held,
                right=found,
            )
        return made

    def _columns(self, name: str) -> list[str]:
        """The columns of a stage that hashes documents, without the texts: ids, those of the keep rule, sources."""
        if name != "documents":
            return [self.id]
        keys = [by.column for by in self.options.order if by.column]
        return [self.id, *keys, *([] if self.source is None else [self.source])]

    def _check_dates(self) -> None:
        """Numbers and dates are not compared, whichever tasks they came to."""
        counts = self.plans.counts
        for at, by in enumerate(self.options.order):
            dates = counts.get(f"dates{at}", 0)
            numbers = counts["documents"] - counts.get(f"missing{at}", 0) - dates
            if dates and numbers:
                place = f"column {by.column!r}"
                reason = f"dates in {dates:,} documents beside numbers in {numbers:,}; use a column of one of them"
                raise InputError(f"{place}: {reason}", place=place, reason=reason)

    def _check_distinct(self, rows: DataFrame, name: str) -> None:
        F = self.F
        twice = rows.groupBy("id").agg(F.count("features").alias("n")).where("n > 1").limit(3).toArrow()
        if twice.num_rows:
            found = ", ".join(f"{one!r} {n} times" for one, n in zip(*twice.to_pydict().values(), strict=True))
            reason = f"{name}: column {self.id!r} has {found}; ids must differ"
            raise InputError(reason, place=f"id {twice.column('id')[0].as_py()!r}", reason=reason)

    def decided(self) -> Decided:
        """The documents, and what becomes of them."""
        documents = self._documents()
        plans, point = self.plans, self.checkpoint
        copies = point.frame("copies", lambda: plans.copies(documents))
        plans.counts["copies"] = copies.count()
        searched = plans.searched(documents, copies)
        plans.counts["searched"] = plans.counts["documents"] + plans.counts["older"] - plans.counts["copies"]
        if not plans.by_bands:
            searched = point.frame("searched", lambda: plans.searched(documents, copies))
            plans.meet(searched)
        units = point.frame("units", lambda: plans.first_pairs(searched))
        found = plans.pairs_of(units).distinct()
        links = [self._links(documents, found, "links")]
        members = plans.members_of(units)
        plans.counts["members"] = members.count()
        decision, tried = self._decision(links), found
        if plans.counts["members"]:
            decision = self._rounds(documents, searched, members, tried, links, decision)
        removed = point.table("removed", _REMOVED, lambda: self._removed(documents, links, decision))
        linked = joined(links).where("right is not null").select("left", "right", "similarity", "distance").distinct()
        return Decided(documents, copies, removed, linked)

    def _links(self, documents: DataFrame, found: DataFrame, name: str, *, listed: bool = False) -> DataFrame:
        def make() -> DataFrame:
            return self.plans.links(documents, found, found.count(), listed=listed)

        return self.checkpoint.frame(name, make)

    def _rounds(
        self,
        documents: DataFrame,
        searched: DataFrame,
        members: DataFrame,
        tried: DataFrame,
        links: list[DataFrame],
        decision: Decision,
    ) -> Decision:
        """Verify what may still change the decision, until nothing may."""
        most = 4 * FIRST
        for number in range(1, _ROUNDS):
            units, found = self._round(number, searched, members, tried, decision, most)
            count = found.count()
            if not count and not self.plans.more_of(units):
                return decision
            if count:
                links.append(self._links(documents, found, f"links-{number}"))
                tried = tried.union(found)
                decision = self._decision(links)
            most *= _GROWTH
        raise RuntimeError(f"the decision did not settle in {_ROUNDS} rounds")

    def _round(
        self, number: int, searched: DataFrame, members: DataFrame, tried: DataFrame, decision: Decision, most: int
    ) -> tuple[DataFrame, DataFrame]:
        """The rows of units of a round, and the pairs among them that were not verified before."""
        point = self.checkpoint
        state = point.table(f"state-{number}", "number bigint, by bigint", lambda: _state(decision))
        units = point.frame(f"units-{number}", lambda: self.plans.open_pairs(searched, members, state, most))
        pairs = self.plans.pairs_of(units).distinct()
        return units, point.frame(f"pairs-{number}", lambda: pairs.join(tried, ["left", "right"], "left_anti"))

    def _decision(self, links: list[DataFrame]) -> Decision:
        rows = joined(links).where("right is not null").select("left", "right")
        count = rows.count()
        if count > MOST_LINKS:
            allowed = f"up to {MOST_LINKS:,} links, which the driver decides; a larger threshold gives fewer"
            raise bad_parameter("threshold", f"{self.options.threshold} with {count:,} links", allowed)
        table = fetched(rows, "right")
        left, right = (np.asarray(table.column(name), np.int64) for name in ("left", "right"))
        return components(left, right) if self.options.cluster == "components" else absorb(left, right)

    def _removed(self, documents: DataFrame, links: list[DataFrame], decision: Decision) -> Any:
        """number, rep, similarity, distance of what was removed."""
        import pyarrow as pa

        if self.options.cluster == "components":
            # The first of a component is often not linked with a member.
            listed = pa.table({"left": decision.by, "right": decision.removed})
            found = self.checkpoint.table("heads", "left bigint, right bigint", lambda: listed)
            links = [self._links(documents, found, "links-heads", listed=True)]
        rows = joined(links).where("right is not null").select("left", "right", "similarity", "distance")
        table = fetched(rows, "right")
        left, right = (np.asarray(table.column(name), np.int64) for name in ("left", "right"))
        order = np.lexsort((left, right))
        at = _find(right[order], left[order], decision.removed, decision.by)
        taken = table.take(order[at])
        return pa.table(
            {
                "number": decision.removed,
                "rep": decision.by,
                "similarity": taken.column("similarity"),
                "distance": taken.column("distance"),
            }
        )


def _folder(checkpoint: str | PathLike[str] | None) -> str:
    """The folder of a checkpoint, or a temporary one."""
    if checkpoint is None:
        return _temporary()
    if not isinstance(checkpoint, str | PathLike) or not str(checkpoint):
        raise bad_parameter("checkpoint", repr(checkpoint), "a folder or its URL, or None for a temporary one")
    check_name(checkpoint)
    path = fspath(checkpoint)
    return str(Path(path).expanduser()) if path.startswith("~") else path


def _temporary() -> str:
    """A folder of this machine, which goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="nearkin-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _counted(F: Any, rows: DataFrame, columns: list[str]) -> dict[str, int]:
    """Rows, those without features, without a text, without a value of each key; characters."""
    flag = F.col("missing")
    sums = [
        F.count("features").alias("rows"),
        F.sum((F.col("features") == 0).cast("bigint")).alias("without_features"),
        F.sum("length").alias("characters"),
        F.sum((flag.bitwiseAND(F.lit(1 << 62)) != 0).cast("bigint")).alias("no_text"),
    ]
    for at, name in enumerate(columns):
        if name:
            for bit, count in ((at, f"missing{at}"), (DATES + at, f"dates{at}")):
                sums.append(F.sum((flag.bitwiseAND(F.lit(1 << bit)) != 0).cast("bigint")).alias(count))
    return {name: value or 0 for name, value in few_rows(rows.agg(*sums))[0].items()}


def _sum_of(rows: DataFrame, columns: list[str]) -> dict[str, int]:
    """What only the same rows of these columns have, whatever their order."""
    F = functions()
    cells = [F.coalesce(F.col(quoted(name)).cast("string"), F.lit("")) for name in columns]
    joint = F.concat(*(part for cell in cells for part in (cell, F.lit(":"))))
    # 28 bits of each: 2^35 documents have a sum of 64 bits.
    hashed = F.crc32(joint.cast("binary")).bitwiseAND(F.lit((1 << 28) - 1))
    sums = rows.agg(F.count(F.lit(1)).alias("rows"), F.coalesce(F.sum(hashed), F.lit(0)).alias("sum"))
    return few_rows(sums)[0]


def _state(decision: Decision) -> Any:
    import pyarrow as pa

    return pa.table({"number": decision.removed, "by": decision.by})


def _find(right: Any, left: Any, wanted_right: Any, wanted_left: Any) -> Any:
    """Where each wanted pair stands among pairs sorted by right, then left."""
    start = np.searchsorted(right, wanted_right, side="left")
    end = np.searchsorted(right, wanted_right, side="right")
    # The linked documents of one are few; those that are not wanted are passed, all at once.
    at = start.copy()
    while True:
        behind = (at < end) & (left[np.minimum(at, len(left) - 1)] < wanted_left) if len(left) else np.zeros(0, bool)
        if not behind.any():
            return at
        at[behind] += 1
