"""One deduplication as stages of rows: what is moved where, and the functions of this package that are applied.

Rows are DataFrames of Spark or Sail, or frames that tasks hold (`frames`), which have the same methods. The plan needs
seven operations of an engine: map rows by a function or by expressions, exchange them by a key, join, anti-join, union,
sample, and persist a stage. `distinct` and `groupBy` are exchanges.

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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nearkin.dedup.boilerplate import PAGE_DOCUMENTS
from nearkin.dedup.candidates import MinHashCandidates
from nearkin.dedup.candidates.base import distinct
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.dedup.config import DedupConfig
from nearkin.distributed.decision import Decision
from nearkin.distributed.documents import (
    DATES,
    TASK_BYTES,
    TASK_ROWS,
    Numbers,
    Ranges,
    Selection,
    check_dates,
    distinct_numbers,
    is_direct,
    num_tasks,
    repeated_ids_error,
    to_integers,
    value_dtype,
)
from nearkin.distributed.links import (
    COUNTS,
    LONG,
    Blocks,
    BucketVerification,
    Verification,
    mean_characters,
    num_long_blocks,
)
from nearkin.distributed.pages import (
    LINES,
    PAGES,
    LineTexts,
    PageHashing,
    first_lines,
    frequent_lines,
    later_copies,
    list_lines,
    site_lines,
    sort_lines,
    without_lines,
)
from nearkin.distributed.pairs import (
    MAX_BUCKET,
    MAX_FIRST,
    MEMBER,
    MEMBER_COLUMNS,
    MORE,
    NONE,
    PAIR,
    PARCELS,
    ROW_BYTES,
    Bands,
    BucketCells,
    ContentParcels,
    FirstMembers,
    FirstPairs,
    LargeBuckets,
    OpenPairs,
    Slices,
    Tables,
    choose_tables,
    max_earlier,
    near_pairs,
    num_parts,
    num_slices,
    num_unit_tasks,
)
from nearkin.io.arrow import to_values

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from nearkin.dedup.summary import LeftOutLine, LeftOutSummary

Rows = Any
"""A DataFrame, or a `frames.TaskFrame`."""

UNITS = "kind int, left bigint, right bigint, unit bigint, last bigint"
LINKS = "left bigint, right bigint, similarity double, distance bigint, " + ", ".join(
    f"{name} bigint" for name in COUNTS
)
_LINK = "left", "right", "similarity", "distance"
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
_QUERY = "unit", "number", "`values`", "last", "by", "is_query"
_MEMBER_ROWS = "unit bigint, last bigint, by bigint, before bigint, is_indexed boolean"
_CELL_ROWS = "unit bigint, number bigint, last bigint, by bigint, before bigint, block bigint, is_indexed boolean"
_MAX_BROADCAST = 2_000_000
"""Rows that are sent to every worker, whose hash table of them has about 100 bytes for each."""
_GROWTH = 4
"""Factor by which the pairs of a document grow from one round to the next."""
_FEW = 100
"""With more verified pairs for each match, most documents of a bucket match no other, and rounds grow faster."""
_MAX_ROUNDS = 60
_UNSETTLED = f"the decision did not settle in {_MAX_ROUNDS} rounds"
_MANY = 1 << 20
"""Documents whose texts take longer to read than another stage."""
_HASHED = "content", "features", "length", "`values`"
SIDES = "documents", "older"
"""Names of stages with new and with reference documents."""
_NO_HASHES = "bigint(null) AS length", "binary(null) AS values", "binary(null) AS content"


class Persisted(Protocol):
    """The stages of a job, which are written once and read several times."""

    done: dict[str, int]

    def frame(self, name: str, build: Callable[[], Rows], work: int | None = None) -> Rows:
        """Run a stage unless it is done, and return its rows; `work` is the number of pairs that it verifies."""

    def table(self, name: str, schema: str, build: Callable[[], pa.Table]) -> Rows:
        """The same for rows that the driver builds; `schema` has the SQL types of their columns."""

    def read(self, name: str, schema: str) -> Rows:
        """Return the rows of a stage that is done."""


def hashed_schema(id_type: str, *, pages: bool = False) -> str:
    """Return the columns of hashed documents, or those of pages that are not hashed yet."""
    hashes = "text string, site string" if pages else "features bigint, values binary"
    return f"id {id_type}, number bigint, key binary, content binary, length bigint, missing bigint, {hashes}"


def hashed_source(config: DedupConfig) -> Any:
    """Return the source of the values of hashed documents."""
    source: Any = config.candidate_source
    # Keys and bits of a document have a third of the bytes of its signature.
    return source.by_keys() if isinstance(source, MinHashCandidates) else source


def count_passes(pairs: int, counts: Mapping[str, int], document_bytes: int) -> int:
    """Return the number of passes in which an engine that keeps documents of pairs in memory verifies pairs.

    `counts` are those of `Blocks.of`.
    """
    sent = Blocks.of(pairs, counts).num_sent(pairs, counts["searched"])
    return min(max(-(-sent * document_bytes // PASS_BYTES), 1), MAX_PASSES)


def _both_sides(sides: Sequence[Rows], *columns: str) -> Rows:
    """Return columns of new documents and of reference documents, with their column `older`."""
    flags = "false AS older", "true AS older"
    names = [[flag if name == "older" else name for name in columns] for flag in flags]
    return union([rows.selectExpr(*each) for rows, each in zip(sides, names, strict=False)])


def union(frames: Sequence[Rows]) -> Rows:
    """Return the rows of all frames."""
    return reduce(lambda rows, frame: rows.union(frame), frames)


def sum_rows(rows: Rows, **columns: str) -> dict[str, int]:
    """Return the sums of expressions."""
    cells = rows.selectExpr(*(f"{expression} AS {name}" for name, expression in columns.items()))
    [sums] = to_values(cells.groupBy().agg(dict.fromkeys(columns, "sum")).toArrow())
    return {name: sums[f"sum({name})"] or 0 for name in columns}


class Plan:
    """The stages of one job.

    Parameters
    ----------
    checkpoint : Persisted
    config : DedupConfig
    id_type : {"bigint", "string"}
    text_key : tuple of str
        Columns of documents by which texts are found again: the number, if it follows from the id, or others.
    hints : bool
        The engine can be told which rows are few.
    in_memory : bool
        The engine keeps what stages exchange in memory, so that large stages take several passes.

    Attributes
    ----------
    counts : dict of str to int
        Numbers of documents and of rows so far.
    documents, copies, removals, links : rows
        After `search`: all documents, hashed and numbered; number, original of those with the content of an earlier
        one; number, by of those that are removed for another one; left, right, similarity, distance of the pairs that
        match.
    """

    units: Slices | Tables
    documents: Rows
    texts: Rows
    copies: Rows
    removals: Rows
    links: Rows

    def __init__(
        self,
        checkpoint: Any,
        config: DedupConfig,
        id_type: str,
        text_key: tuple[str, ...],
        *,
        hints: bool = True,
        in_memory: bool = False,
    ) -> None:
        self.checkpoint, self.config, self.id_type, self.text_key = checkpoint, config, id_type, text_key
        self.hints, self.in_memory = hints, in_memory
        self.direct = is_direct(config.order, integer=id_type == "bigint")
        self.source = hashed_source(config)
        self.dtype = value_dtype(self.source)
        self.equal = float(config.candidate_source.equal)
        self.counts: dict[str, int] = {"older": 0}
        self.pages = config.kind == "pages"
        # Texts that are read again have this content hash.
        self.compared = "compared" if self.pages else "content"
        self.left_out: LeftOutSummary | None = None

    def search(self, documents: Rows, texts: Rows) -> None:
        """Run all stages from hashed to removed documents.

        Parameters
        ----------
        documents : rows
            Those of `number`.
        texts : rows
            `text_key` and text of all documents.
        """
        point, counts = self.checkpoint, self.counts
        self.documents, self.texts = documents, texts
        self.copies = point.frame("copies", self._find_copies)
        counts["copies"] = point.done["copies"]
        counts["searched"] = counts["documents"] + counts["older"] - counts["copies"]
        searched = self._searched()
        if not self.by_bands:
            searched = point.frame("searched", self._searched)
            self._choose_units(searched)
        passes = self._num_unit_passes if self.in_memory else 1
        parts = [partial(self._first_pairs, searched, passes, at) for at in range(passes)]
        units = union([point.frame(_pass_name("units", passes, at), part) for at, part in enumerate(parts)])
        # Near-duplicates share several bands.
        pairs = point.frame("candidates", lambda: _select_pairs(units).distinct())
        members = units.where(f"kind == {MEMBER}").selectExpr("unit", "right AS number", "last")
        count, counts["members"] = point.done["candidates"], members.count()
        texts = self.texts
        if self._num_passes(count) > 1:
            ends = [pairs.selectExpr(f"{side} AS number") for side in ("left", "right")]
            rows = 2 * count + counts["members"]
            texts = self._store_texts("texts", union([*ends, members.select("number")]), rows) or texts
        links = [self._verify(documents, texts, pairs, count, "links")]
        self._decide(links, "first")
        if counts["members"]:
            self._run_rounds(searched, texts, members, pairs, links)
        self.links = _select_links(links).distinct()

    # Documents

    def hash(self, rows: Rows, names: tuple[str, ...], further: str = "", hashes: str = "", *, reference: bool) -> Rows:
        """Hash documents; the columns are those of `hashed_schema`, and further ones of `rows`.

        Parameters
        ----------
        rows : rows
            The columns of `Hashing.rows`.
        names, hashes : tuple of str, str
            For messages, as of `Hashing`.
        further : str
            Further columns, with their types.
        reference : bool
            True for reference documents.
        """
        hashing = self._hashing(names, hashes, reference=reference)
        stage = hashing.pages if self.pages else hashing.rows
        return rows.mapInArrow(stage, hashed_schema(self.id_type, pages=self.pages) + further)

    def _hashing(self, names: tuple[str, ...], hashes: str = "", *, reference: bool = False) -> PageHashing:
        return PageHashing(self.source, tuple(self.config.order), self.id_type == "bigint", reference, names, hashes)

    def hash_pages(self, sides: Sequence[Rows], further: Sequence[str]) -> tuple[list[Rows], Rows]:
        """Hash pages without the frequent lines of their sites; return the documents of each side, and all texts.

        Parameters
        ----------
        sides : sequence of rows
            What `hash` returned for new documents, and for reference documents if there are some.
        further : sequence of str
            Further columns of each side, with their types.
        """
        lines, stage = self._find_lines(sides), self._hashing(("", "")).hashed
        schemas = [f"{hashed_schema(self.id_type)}, compared binary{each}" for each in further]
        joined = [lines.join(rows, "site", "right") for rows in sides]
        stages = [partial(rows.mapInArrow, stage, schema) for rows, schema in zip(joined, schemas, strict=True)]
        hashed = [self.checkpoint.frame(name, build) for name, build in zip(SIDES, stages, strict=False)]
        types = {"number": "bigint", "id": self.id_type, "older": "boolean", "place": "bigint"}
        columns = ", ".join(f"{name} {types[name]}" for name in self.text_key)
        texts = lines.join(_both_sides(sides, *self.text_key, "site", "text"), "site", "right")
        return hashed, texts.mapInArrow(without_lines, f"{columns}, text string")

    def _find_lines(self, sides: Sequence[Rows]) -> Rows:
        """Return site, lines (those that are frequent in it), and list the first ones for the summary."""
        point, pages = self.checkpoint, _both_sides(sides, "id", "older", "site", "text")
        tasks, names = num_tasks(pages.count(), TASK_ROWS), ("content", "older", "id")
        contents = _both_sides(sides, *names).repartition(tasks, "content")
        schema = f"content binary, older boolean, id {self.id_type}"
        copies = point.frame("page-copies", lambda: contents.mapInArrow(later_copies, schema))
        copies = self.broadcast(copies.selectExpr("id", "older", "true AS is_copy"), point.done["page-copies"])
        own = copies.join(pages, ["id", "older"], "right").where("is_copy is null").select("site", "text")
        rows = own.mapInArrow(site_lines, LINES).groupBy("site", "line").agg({"documents": "sum"})
        rows = rows.toDF("site", "line", "documents").where(f"documents >= {PAGE_DOCUMENTS} or line == {PAGES}")
        rows = rows.repartition(tasks, "site").mapInArrow(frequent_lines, LINES)
        frequent = point.frame("frequent-lines", lambda: rows)
        count, first = point.done["frequent-lines"], sort_lines(frequent.mapInArrow(first_lines, LINES).toArrow())
        listed = LineTexts(first["site"], to_integers(first["line"]))
        texts = pages.select("site", "text").mapInArrow(listed.rows, "line bigint, text string").distinct().toArrow()
        by_hash = dict(zip(*(to_values(texts[name]) for name in ("line", "text")), strict=True))
        lines: list[LeftOutLine] = [
            {"line": by_hash[row["line"]], "source": row["site"], "documents": row["documents"]}
            for row in to_values(first)
        ]
        self.left_out = {"lines": count, "first": lines}
        rows = frequent.repartition(tasks, "site").mapInArrow(list_lines, "site string, lines array<bigint>")
        # Tables of texts stay where they are.
        return self.broadcast(rows, 0 if "place" in self.text_key else count)

    def count_documents(self, rows: Rows, id: str, *, reference: bool) -> None:
        """Count hashed documents, and check their dates and ids, whose column in the input is `id`."""
        bits = {"no_text": 62}
        for at, by in enumerate(self.config.order):
            bits |= {f"missing{at}": at, f"dates{at}": DATES + at} if by.column and not reference else {}
        counts = sum_rows(
            rows,
            documents="bigint(features is not null)",
            without_features="bigint(features == 0)",
            characters="length",
            long=f"bigint(length > {LONG})",
            **{name: f"shiftright(missing, {bit}) & 1" for name, bit in bits.items()},
        )
        if reference:
            self.counts["older"] = counts["documents"]
            counts = {name: self.counts[name] + counts[name] for name in ("characters", "long")}
        self.counts |= counts
        check_dates(self.config.order, self.counts)
        sizes = rows.groupBy("id").agg({"features": "count"}).toDF("id", "n").where("n > 1").limit(3).toArrow()
        if sizes.num_rows:
            repeated = sorted(zip(*sizes.to_pydict().values(), strict=True))[:3]
            raise repeated_ids_error(f"ids{' of against' * reference}", id, repeated)

    def number(self, *sides: Rows) -> Rows:
        """Return all hashed documents, numbered by their keys unless numbers follow from ids."""
        names = ["id", *(name for name in self.text_key if name not in ("id", "older", "number")), *_HASHED]
        names += [self.compared] if self.pages else []
        documents = _both_sides(sides, *names, "number", "key", "older")
        if self.direct:
            return documents
        total = self.counts["documents"] + self.counts["older"]
        count = num_tasks(total, TASK_ROWS)

        def numbers() -> Rows:
            keys = documents.select("older", "key", "id")
            ranges = Ranges.of(to_values(self._sample(keys.select("key"), total).column("key")), count)
            rows = keys.mapInArrow(ranges.rows, f"range bigint, older boolean, key binary, id {self.id_type}")
            rows = rows.repartition(2 * count, "range")
            return rows.mapInArrow(ranges.number_keys, f"id {self.id_type}, older boolean, number bigint")

        numbered = self.checkpoint.frame("numbers", numbers)
        return documents.selectExpr(*names, "older").join(numbered, ["id", "older"])

    @staticmethod
    def _sample(rows: Rows, total: int) -> Any:
        """Fetch a sample of rows."""
        return rows.sample(min(1.0, _SAMPLE / max(total, 1)), seed=1).limit(4 * _SAMPLE).toArrow()

    def _find_copies(self) -> Rows:
        """Return the documents with the same content as an earlier one: number, original."""
        parts = num_parts(self.counts["documents"] + self.counts["older"])
        contents = self.documents.where("features > 0").select("content", "number")
        parcels = contents.mapInArrow(ContentParcels(parts).rows, PARCELS).repartition(parts, "part")
        return parcels.mapInArrow(ContentParcels.copies, "number bigint, original bigint")

    def _searched(self) -> Rows:
        """Return number and values of the documents to search: those with features that are no copies."""
        rows = self.documents.where("features > 0").selectExpr("number", "`values`")
        return rows.join(self.broadcast(self.copies.select("number"), self.counts["copies"]), "number", "left_anti")

    def broadcast(self, rows: Rows, count: int, *, integers: bool = False) -> Rows:
        """Send rows to every worker if there are few; twice as many if they are one or two integers.

        Sail chooses by itself, and logs a warning for each hint.
        """
        return rows.hint("broadcast") if self.hints and count <= (1 + integers) * _MAX_BROADCAST else rows

    def distinct(self, rows: Rows, count: int) -> Rows:
        """Return the distinct numbers of rows, `count` at most, for a join that keeps them in memory.

        A function hides their number from the engine. Sail keeps the side in memory that it estimates to be smaller,
        which after a filter was the side of all documents, whose texts reached its limit of 2 GB.
        """
        return self.broadcast(rows.mapInArrow(distinct_numbers, "number bigint").distinct(), count, integers=True)

    def names(self, numbers: Numbers) -> pa.Table:
        """Fetch number, id of documents."""
        selected = distinct(numbers)
        rows = self.documents.select("number", "id")
        table: pa.Table = rows.mapInArrow(Selection(selected).rows, f"number bigint, id {self.id_type}").toArrow()
        check_read("ids", len(selected), table.num_rows)
        return table

    # Units

    @property
    def by_bands(self) -> bool:
        """True if units are buckets of bands, False if they are tables or slices of fingerprints."""
        return isinstance(self.source, MinHashCandidates)

    @property
    def _num_unit_passes(self) -> int:
        """The number of passes over the bands of an engine that keeps their rows in memory."""
        if not isinstance(self.source, MinHashCandidates):
            return 1
        rows = self.counts["searched"] * self.source.banding.num_bands
        return min(max(-(-rows * ROW_BYTES // PASS_BYTES), 1), num_parts(rows))

    def _first_pairs(self, searched: Rows, passes: int, at: int) -> Rows:
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
        rows = self._unit_rows(searched, "true" if isinstance(self.units, Tables) else "number > 0")
        rows = rows.repartition(self._num_unit_tasks, "unit")
        return rows.mapInArrow(near_pairs(self.source, max_earlier(self.config)).rows, UNITS)

    def _bucket_rows(self, searched: Rows, large: Numbers | None = None) -> Rows:
        """Return unit and number of the documents in large buckets, or in all if there are none."""
        return searched.mapInArrow(Bands(self.source, self.dtype, large, only_large=True).rows, _UNIT_ROWS)

    def _large_buckets(self, searched: Rows) -> Numbers | None:
        """Return the buckets with too many documents for one task, from a sample of the documents; None if none has.

        The result of a job does not depend on the sample.
        """
        if self.counts["searched"] <= MAX_BUCKET:
            return None

        def choose() -> pa.Table:
            rows = self._bucket_rows(searched.sample(min(1.0, _BUCKET_SAMPLE / MAX_BUCKET), seed=1))
            sizes = rows.groupBy("unit").agg({"number": "count"}).toDF("unit", "n")
            table: pa.Table = sizes.where(f"n >= {_BUCKET_SAMPLE // 2}").select("unit").toArrow()
            return table

        table = self.checkpoint.table("large-buckets", "unit bigint", choose)
        return np.sort(to_integers(table.toArrow().column("unit"))) if self.checkpoint.done["large-buckets"] else None

    def _pair_large(self, searched: Rows, large: Numbers, earlier: int) -> Rows:
        """Return the pairs of large buckets: their first documents are sent to every task instead of their rows."""
        own, first = self._bucket_rows(searched, large), FirstMembers(earlier + 1)
        heads = own.mapInArrow(first.rows, _UNIT_ROWS).repartition(num_tasks(len(large), TASK_ROWS >> 4), "unit")
        heads = heads.mapInArrow(first.lists, "unit bigint, first array<bigint>")
        # Engines keep the left rows of a join in memory, and stream the others.
        return self.broadcast(heads, len(large)).join(own, "unit").mapInArrow(LargeBuckets(earlier).rows, UNITS)

    def _member_documents(self, members: Rows) -> Rows:
        """Return what the comparison of members needs of their documents."""
        names = list(dict.fromkeys(["number", *self.text_key, "length", "`values`", self.compared]))
        numbers = self.distinct(members.select("number"), self.counts["members"])
        return numbers.join(self.documents.selectExpr(*names), "number").selectExpr(*names)

    def _open_pairs(self, searched: Rows, members: Rows, max_pairs: int) -> Rows:
        """Return the pairs among members of units that may still change the decision."""
        decided = members.join(self.removals, "number", "left")
        decided = decided.selectExpr("unit", "number", "last", "coalesce(by, number) AS by")
        if self.config.cluster == "components":
            tasks = num_tasks(self.counts["members"], TASK_ROWS >> 1)
            return decided.repartition(tasks, "unit").mapInArrow(OpenPairs(max_pairs).rows, UNITS)
        queries = decided.where(f"by > last and last < {NONE}")
        kept = searched.join(self.removals.select("number"), "number", "left_anti")
        indexed = self._unit_rows(kept, "false").join(queries.select("unit").distinct(), "unit", "left_semi")
        rows = indexed.selectExpr(*_QUERY[:3], "bigint(null) AS last", "bigint(null) AS by", "false AS is_query")
        values = searched.selectExpr("number", "`values`")
        rows = rows.union(queries.join(values, "number").selectExpr(*_QUERY[:-1], "true AS is_query"))
        return rows.repartition(self._num_unit_tasks, "unit").mapInArrow(near_pairs(self.source, max_pairs).rows, UNITS)

    def _open_members(self, documents: Rows, members: Rows, before: Rows | None) -> Rows:
        """Return `MEMBER_COLUMNS` and length (in bytes) of the members of buckets with pairs that may be open.

        `before` has number, by of documents that were removed when the last round began, or matched in it.
        """
        rows = members.join(self.removals, "number", "left")
        rows = rows.selectExpr("unit", "number", "last", "coalesce(by, number) AS by")
        rows = rows.where(f"by == number or by > last and last < {NONE}")
        changed = f"by > before and by > last and last < {NONE}"
        if before is None:
            rows = rows.selectExpr(*MEMBER_COLUMNS[:-1], f"bigint({-NONE}) AS before")
        else:
            before = before.groupBy("number").agg({"by": "min"}).toDF("number", "before")
            rows = rows.join(before, "number", "left")
            rows = rows.selectExpr(*MEMBER_COLUMNS[:-1], "coalesce(before, number) AS before")
            changed += " or by == number and before != number"
        rows = rows.join(rows.where(changed).select("unit").distinct(), "unit", "left_semi")
        lengths = documents.selectExpr("number", f"length + {self.dtype.itemsize} AS length")
        return rows.join(lengths, "number").select(*MEMBER_COLUMNS, "length")

    def _choose_units(self, searched: Rows) -> None:
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

    def _unit_rows(self, searched: Rows, is_query: str) -> Rows:
        rows = searched.selectExpr("number", "`values`", f"{is_query} AS is_query", "true AS is_indexed")
        return rows.mapInArrow(self.units.rows, "unit bigint, number bigint, values binary, is_query boolean")

    # Links

    def texts_of(self, numbers: Rows, count: int) -> Rows:
        """Return the rows of `texts` of the documents with these numbers, `count` at most."""
        numbers, key = self.distinct(numbers, count), list(self.text_key)
        if key != ["number"]:
            own = numbers.join(self.documents.select("number", *key), "number")
            numbers = self.broadcast(own.select(*key), count)
        return numbers.join(self.texts, key).select(*key, "text")

    def verified(self, documents: Rows, texts: Rows, pairs: Rows, count: int, *, all_match: bool = False) -> Rows:
        """Return the pairs that match, and rows that count the work."""
        blocks = Blocks.of(count, self.counts)
        if self.config.comparison is not None and self.counts["long"]:
            pairs, blocks = self._mark_long(documents, pairs, blocks)
        placed = pairs.mapInArrow(blocks.rows, "block bigint, left bigint, right bigint")
        ends = placed.selectExpr("block", "left AS number").union(placed.selectExpr("block", "right AS number"))
        # Broadcast the pairs, so that the documents are streamed.
        ends = self.broadcast(ends.distinct(), 2 * count, integers=True)
        ends = ends.selectExpr("block", "number", "bigint(null) AS right")
        rows = self._blocks(documents, texts, ends, 2 * count, "right bigint")
        rows = rows.union(placed.selectExpr("block", "left", "right", *_NO_HASHES, "string(null) AS text"))
        return self._verified(Verification, rows, blocks.count + blocks.long, all_match=all_match)

    def _blocks(self, documents: Rows, texts: Rows, ends: Rows, count: int, columns: str) -> Rows:
        """Return the documents of blocks, and their texts in rows of their own.

        Parameters
        ----------
        ends : rows
            block, number and further columns, `count` at most.
        columns : str
            Further columns with their types.
        """
        names, types = zip(*(column.split() for column in columns.split(", ")), strict=True)
        key, compared = list(self.text_key), ends.join(documents, "number")
        hashes = "length", "`values`", f"{self.compared} AS content", "string(null) AS text"
        rows = compared.selectExpr("block", "number AS left", *names, *hashes)
        if self.config.comparison is None:
            return rows
        ends = ends if key == ["number"] else compared
        ends = self.broadcast(ends.select(*dict.fromkeys(["block", "number", *key])), count)
        nulls = (f"{kind}(null) AS {name}" for name, kind in zip(names, types, strict=True))
        return rows.union(ends.join(texts, key).selectExpr("block", "number AS left", *nulls, *_NO_HASHES, "text"))

    def _verified(self, kind: type[Verification], rows: Rows, tasks: int, *, all_match: bool = False) -> Rows:
        config = self.config
        verification = kind(self.source, self.dtype, config.comparison, float(config.threshold), all_match)
        return rows.repartition(tasks, "block").mapInArrow(verification.rows, LINKS)

    def _num_passes(self, pairs: int) -> int:
        """Return the number of passes in which pairs are verified: one for each `PASS_BYTES`, but each reads all."""
        texts = mean_characters(self.counts) if self.config.comparison is not None else 0
        return count_passes(pairs, self.counts, texts + self.dtype.itemsize) if self.in_memory else 1

    def _mark_long(self, documents: Rows, pairs: Rows, blocks: Blocks) -> tuple[Rows, Blocks]:
        """Add is_long, True for pairs with a long document, and return it with the blocks of all pairs."""
        long = documents.where(f"length > {LONG}")
        for side in ("left", "right"):
            own = long.selectExpr(f"number AS {side}", f"length AS length_{side}")
            pairs = self.broadcast(own, self.counts["long"]).join(pairs, side, "right")
        pairs = pairs.selectExpr("left", "right", "coalesce(length_left, 0) + coalesce(length_right, 0) AS length")
        characters = sum_rows(pairs, length="length")["length"]
        return pairs.selectExpr("left", "right", "length > 0 AS is_long"), replace(
            blocks, long=num_long_blocks(characters)
        )

    def _store_texts(self, name: str, numbers: Rows, count: int) -> Rows | None:
        """Write the texts of documents that several stages read, `count` at most; None if the input is as good.

        Stages read all texts to find those of their pairs, so a table of a part of them is faster from the second stage
        on.
        """
        if self.config.comparison is None or 2 * count > self.counts["searched"]:
            return None
        return self.checkpoint.frame(name, lambda: self.texts_of(numbers, count))

    def _verify(
        self, documents: Rows, texts: Rows, pairs: Rows, count: int, name: str, *, all_match: bool = False
    ) -> Rows:
        """Verify pairs, in several passes if the engine would keep too many of their texts in memory at once."""
        passes = self._num_passes(count)

        def build(at: int) -> Rows:
            own = pairs if passes == 1 else pairs.where(f"pmod(right, {passes}) == {at}")
            return self.verified(documents, texts, own, work, all_match=all_match)

        names = [_pass_name(name, passes, at) for at in range(passes)]
        work = -(-count // passes)
        return union([self.checkpoint.frame(each, partial(build, at), work) for at, each in enumerate(names)])

    def _run_rounds(self, searched: Rows, texts: Rows, members: Rows, verified: Rows, links: list[Rows]) -> None:
        """Verify pairs that may still change the decision, until there are none."""
        point, documents = self.checkpoint, self.documents
        if self.by_bands and 4 * self.counts["members"] <= self.counts["searched"]:
            # A round compares members only; it need not read all documents.
            documents = searched = point.frame("member-documents", partial(self._member_documents, members))
        if self.by_bands and self.config.cluster == "absorb":
            self._run_bucket_rounds(documents, texts, members, links)
            return
        max_pairs = 4 * MAX_FIRST
        for number in range(1, _MAX_ROUNDS):
            units = point.frame(f"units-{number}", partial(self._open_pairs, searched, members, max_pairs))
            if not point.done[f"units-{number}"]:
                return
            pairs = _select_pairs(units).distinct()
            pairs = point.frame(f"pairs-{number}", partial(pairs.join, verified, ["left", "right"], "left_anti"))
            count, found = point.done[f"pairs-{number}"], 0
            more = units.where(f"kind == {MORE}").limit(1).count()
            if count:
                texts = self._member_texts(texts, members) if number == 1 else texts
                links.append(self._verify(documents, texts, pairs, count, f"links-{number}"))
                verified = verified.union(pairs)
                found = _select_links(links[-1:]).count()
                self._decide(links, f"round-{number}")
            if not found and not more:
                # The same documents are kept, and all of their pairs are verified.
                return
            max_pairs *= _GROWTH if found * _FEW > count else _GROWTH**3
        raise RuntimeError(_UNSETTLED)

    def _member_texts(self, texts: Rows, members: Rows) -> Rows:
        """Write the texts of members if it takes longer to read all texts in each round."""
        if "texts" in self.checkpoint.done or self.counts["documents"] < _MANY:
            return texts
        return self._store_texts("member-texts", members.select("number"), self.counts["members"]) or texts

    def _run_bucket_rounds(self, documents: Rows, texts: Rows, members: Rows, links: list[Rows]) -> None:
        """Verify all open pairs of buckets in each round, from documents with their texts instead of lists of pairs."""
        point, before = self.checkpoint, None
        for number in range(1, _MAX_ROUNDS):
            rows = point.frame(f"open-{number}", partial(self._open_members, documents, members, before))
            if not point.done[f"open-{number}"]:
                return
            texts = self._member_texts(texts, members) if number == 1 else texts
            found = self._verify_buckets(documents, texts, rows, f"links-{number}")
            matched = _select_links([found])
            if not matched.limit(1).count():
                return
            links.append(found)
            before = self.removals.union(matched.selectExpr("right AS number", "left AS by"))
            self._decide(links, f"round-{number}")
        raise RuntimeError(_UNSETTLED)

    def _verify_buckets(self, documents: Rows, texts: Rows, rows: Rows, name: str) -> Rows:
        """Verify open pairs of members, in passes if the engine would keep too many of their texts in memory."""
        sizes = rows.groupBy("unit").agg({"number": "count"}).toDF("unit", "n")
        pairs = sum_rows(sizes, pairs="n * n - n")["pairs"] // 2
        large = rows.groupBy("unit").agg({"length": "sum"}).toDF("unit", "n").where(f"n > {TASK_BYTES}")
        count, total = self.checkpoint.done[name.replace("links", "open")], sum_rows(rows, length="length")["length"]
        if num_large := large.count():
            sums = sum_rows(large, n="n", squares="n * n")
            # Each of the pieces of a bucket is sent to twice as many cells.
            total += 2 * (sums["squares"] // TASK_BYTES + sums["n"])
            rows = self.broadcast(large, num_large).join(rows, "unit", "right").select(*MEMBER_COLUMNS, "n")
        else:
            rows = rows.selectExpr(*MEMBER_COLUMNS, "bigint(null) AS n")
        cells = rows.mapInArrow(BucketCells(TASK_BYTES).rows, _CELL_ROWS)
        passes = min(max(-(-total // PASS_BYTES), 1), MAX_PASSES) if self.in_memory else 1

        def build(at: int) -> Rows:
            own = cells if passes == 1 else cells.where(f"pmod(block, {passes}) == {at}")
            # Members have twice the bytes of other rows.
            rows = self._blocks(documents, texts, self.broadcast(own, 2 * count), count, _MEMBER_ROWS)
            return self._verified(BucketVerification, rows, num_tasks(total // passes, TASK_BYTES))

        names, work = [_pass_name(name, passes, at) for at in range(passes)], pairs // passes
        return union([self.checkpoint.frame(each, partial(build, at), work) for at, each in enumerate(names)])

    def _decide(self, links: list[Rows], name: str) -> None:
        """Find number, by of the removed documents."""
        rows = _select_links(links).select("left", "right")
        self.removals = Decision(self.checkpoint, self.config.cluster, name).removals(rows)
        self.counts["removals"] = self.checkpoint.done[f"{name}-removals"]

    def matched_links(self) -> Rows:
        """Return left, right, similarity, distance of links: one for each removed document and its representative."""
        ends, count, links = (
            self.removals.selectExpr("by AS left", "number AS right"),
            self.counts["removals"],
            self.links,
        )
        if self.config.cluster == "components":
            # A member of a component often has no link to the first one.
            heads = self._verify(self.documents, self.texts, ends, count, "links-heads", all_match=True)
            links = _select_links([heads]).distinct()
        return links.join(self.broadcast(ends, count), ["left", "right"], "left_semi")

    def all_links(self) -> Rows:
        """Return left, right (ids), distance, similarity of all links, and of copies with the first of them."""
        copies = self.copies.where("number > 0").selectExpr(
            "original AS left", "number AS right", f"double({self.equal}) AS similarity", "bigint(0) AS distance"
        )
        rows = self.links.selectExpr(*_LINK).union(copies)
        for side in ("left", "right"):
            rows = rows.join(self.documents.selectExpr(f"number AS {side}", f"id AS {side}_id"), side)
        return rows.selectExpr("left_id AS left", "right_id AS right", "distance", "similarity")

    def empty_ids(self) -> Rows:
        """Return the ids of new documents without features."""
        return self.documents.where("features == 0 and not older").select("id")

    def count_work(self) -> dict[str, int]:
        """Count the pairs of all rounds."""
        stages = sorted(name for name in self.checkpoint.done if name == "links" or name.startswith("links-"))
        rows = union([self.checkpoint.read(name, LINKS) for name in stages])
        return sum_rows(rows.where("right is null"), **{name: name for name in COUNTS})


def check_read(noun: str, expected: int, num_rows: int) -> None:
    """Raise LookupError unless all rows about removed documents were read again."""
    if num_rows != expected:
        raise LookupError(
            f"{num_rows:,} of {expected:,} {noun} of removed documents were read again: the documents under "
            "checkpoint= changed while the job ran; give this run a folder of its own"
        )


def _pass_name(name: str, passes: int, at: int) -> str:
    """Return the name of the stage of a pass."""
    return name if passes == 1 else f"{name}-pass-{at}"


def _select_pairs(rows: Rows) -> Rows:
    """Return the pairs among the rows of units."""
    return rows.where(f"kind == {PAIR}").select("left", "right")


def _select_links(links: list[Rows]) -> Rows:
    """Return the links among the rows of stages."""
    return union(links).where("right is not null").select(*_LINK)
