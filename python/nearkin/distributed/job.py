"""One deduplication as tasks over blocks (`tasks`), for engines that run Python functions.

The driver holds the pairs of candidates (16 bytes each) and the matches (32), the numbers of exact copies (16), and the
ids of documents in clusters. Texts, hashes and rows of units stay where the engine holds tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin._core import content_hashes
from nearkin.dedup.candidates import SimHashCandidates
from nearkin.dedup.config import DedupConfig
from nearkin.distributed.documents import (
    DATES,
    TASK_BYTES,
    TASK_ROWS,
    Hashing,
    Numbers,
    Ranges,
    check_dates,
    is_direct,
    num_tasks,
    repeated_ids_error,
    to_integers,
    unpack_values,
    value_dtype,
)
from nearkin.distributed.links import (
    COUNTS,
    Blocks,
    Removals,
    Verification,
    absorb,
    check_links,
    components,
    num_blocks,
)
from nearkin.distributed.pairs import (
    MAX_FIRST,
    MEMBER,
    MORE,
    NONE,
    PAIR,
    Bands,
    FirstPairs,
    OpenPairs,
    Slices,
    choose_tables,
    content_copies,
    max_earlier,
    near_pairs,
    num_parts,
    num_slices,
    num_unit_tasks,
)
from nearkin.distributed.pairs import Tables as UnitTables
from nearkin.distributed.tasks import Stage, Tables, Tasks, concat, exchange, run_stage, split, split_rows
from nearkin.io.arrow import to_values
from nearkin.io.frames import text_column
from nearkin.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

_SAMPLE = 1 << 14
"""Documents whose numbers or keys are sampled to split the others into equal shares."""
_BATCH_ROWS = 1 << 13
"""Documents that are hashed at once."""
_GROWTH = 4
"""Factor by which the pairs of a document grow from one round to the next."""
_MAX_ROUNDS = 60
_NO_PAIRS: Numbers = np.zeros((0, 2), np.int64)


# Tasks


def hash_block(
    table: pa.Table, hashing: Hashing, columns: Sequence[tuple[str, str]], id_type: str
) -> tuple[pa.Table, dict[str, int]]:
    """Hash the documents of a block; the columns are those of `Hashing.rows`, `text` and `older`.

    Parameters
    ----------
    table : pyarrow.Table
    hashing : Hashing
    columns : sequence of (str, str)
        Names for `Hashing.rows` and in the table.
    id_type : str
        Type of ids.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    inputs = {name: table.column(column) for name, column in columns}
    texts = text_column(inputs["text"], hashing.names[0])
    inputs["text"] = pa.array(texts, pa.large_string()) if isinstance(texts, list) else texts.cast(pa.large_string())
    inputs["id"] = inputs["id"].cast(id_type)
    batches = pa.table(inputs).combine_chunks().to_batches(max_chunksize=_BATCH_ROWS)
    rows = run_stage(hashing.rows, [pa.Table.from_batches([batch]) for batch in batches])
    counts = {"documents": rows.num_rows}
    if rows.num_rows:
        rows = rows.append_column("text", inputs["text"])
        rows = rows.append_column("older", pa.array(np.full(rows.num_rows, hashing.reference)))
        missing = to_integers(rows.column("missing"))
        counts["without_features"] = int((to_integers(rows.column("features")) == 0).sum())
        counts["characters"] = pc.sum(rows.column("length")).as_py()
        counts["no_text"] = int((missing >> 62 & 1).sum())
        for at in range(len(hashing.order)):
            counts[f"missing{at}"] = int((missing >> at & 1).sum())
            counts[f"dates{at}"] = int((missing >> DATES + at & 1).sum())
    return rows, counts


def split_ids(table: pa.Table, count: int) -> list[pa.Table]:
    """Split the ids of a block."""
    import pyarrow as pa

    if not table.num_rows:
        return [table] * count
    ids = table.column("id")
    keys = to_integers(ids) if pa.types.is_integer(ids.type) else content_hashes(ids)[0].reshape(-1, 2)[:, 0]
    return split(table.select(["id"]), np.ascontiguousarray(keys).view(np.int64), count)


def repeated_ids(*parts: pa.Table) -> list[tuple[Any, int]]:
    """Return up to three ids that occur several times, with their numbers."""
    ids = concat(parts)
    if not ids.num_rows:
        return []
    counts = ids.group_by("id").aggregate([([], "count_all")])
    names, numbers = counts.column("id"), to_integers(counts.column("count_all"))
    return [(names[at].as_py(), int(numbers[at])) for at in np.flatnonzero(numbers > 1)[:3].tolist()]


def sample_rows(table: pa.Table, column: str, count: int) -> list[Any]:
    """Return values of a column at equal distances."""
    if not table.num_rows:
        return []
    rows = np.linspace(0, table.num_rows - 1, min(count, table.num_rows)).astype(np.int64)
    return to_values(table.column(column).take(rows))


def split_keys(table: pa.Table, block: int, ranges: Ranges, count: int) -> list[pa.Table]:
    """Split the keys of a block by ranges, with the place of each document."""
    import pyarrow as pa

    if not table.num_rows:
        return [table] * count
    at = pa.array(np.arange(table.num_rows))
    keys = table.select(["older", "key", "id"]).append_column("at", at)
    keys = keys.append_column("block", pa.array(np.full(table.num_rows, block)))
    return split_rows(ranges.rows, keys, "range", count)


def number_range(blocks: int, *parts: pa.Table) -> list[pa.Table]:
    """Number the documents of ranges, for each block."""
    rows = run_stage(Ranges(()).number_keys, parts)
    if not rows.num_rows:
        return [rows] * blocks
    owners = to_integers(rows.column("block"))
    rows = rows.select(["at", "number"])
    return [rows.take(np.flatnonzero(owners == block)) for block in range(blocks)]


def set_numbers(table: pa.Table, *parts: pa.Table) -> pa.Table:
    """Return a block with the numbers of its documents."""
    import pyarrow as pa

    if not table.num_rows:
        return table
    rows = concat(parts)
    numbers = np.zeros(table.num_rows, np.int64)
    numbers[to_integers(rows.column("at"))] = to_integers(rows.column("number"))
    return table.set_column(table.column_names.index("number"), "number", pa.array(numbers))


def split_contents(table: pa.Table, count: int) -> list[pa.Table]:
    """Split contents and numbers of the documents with features."""
    if not table.num_rows:
        return [table] * count
    rows = table.select(["content", "number"]).filter(to_integers(table.column("features")) > 0)
    keys = unpack_values(rows.column("content"), np.dtype((np.int64, (2,))))[:, 0]
    return split(rows, np.ascontiguousarray(keys), count)


def find_copies(*parts: pa.Table) -> pa.Table:
    """Return number, original of the documents with the content of an earlier one."""
    import pyarrow as pa

    rows = concat(parts)
    if not rows.num_rows:
        return rows
    contents = unpack_values(rows.column("content"), np.dtype((np.uint64, (2,))))
    return pa.table(content_copies(contents, to_integers(rows.column("number"))))


def select_searched(table: pa.Table, copies: Numbers) -> tuple[pa.Table, int]:
    """Return number and values of the documents with features that are no copies, and their count."""
    if not table.num_rows:
        return table, 0
    numbers = to_integers(table.column("number"))
    rows = table.select(["number", "values"])
    rows = rows.filter((to_integers(table.column("features")) > 0) & ~np.isin(numbers, copies))
    return rows, rows.num_rows


def split_units(table: pa.Table, units: Slices | UnitTables, count: int) -> list[pa.Table]:
    """Split fingerprints by units."""
    return split_rows(units.rows, _flagged(table, queries=isinstance(units, UnitTables)), "unit", count)


def _flagged(table: pa.Table, *, queries: bool | None) -> pa.Table:
    """Add is_query and is_indexed: queries are all documents for True, new ones for False and none for None."""
    import pyarrow as pa

    if not table.num_rows:
        return table
    is_query = np.full(table.num_rows, bool(queries))
    if queries is False:
        is_query = to_integers(table.column("number")) > 0
    flags = table.append_column("is_query", pa.array(is_query))
    return flags.append_column("is_indexed", pa.array(np.ones(table.num_rows, bool)))


def pair_units(stage: Stage, *parts: pa.Table) -> tuple[pa.Table, pa.Table, bool]:
    """Return pairs, members of units with more pairs, and whether a round left pairs for another one."""
    import pyarrow as pa

    rows = run_stage(stage, parts)
    if not rows.num_rows:
        return pa.table({}), pa.table({}), False
    kinds = to_integers(rows.column("kind"))
    pairs = rows.select(["left", "right"]).filter(kinds == PAIR)
    members = rows.select(["unit", "right", "last"]).filter(kinds == MEMBER).rename_columns(["unit", "number", "last"])
    return pairs.group_by(["left", "right"]).aggregate([]), members, bool((kinds == MORE).any())


def join_rows(table: pa.Table, selected: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return rows of `selected`, by number, with columns of the documents of a block."""
    import pyarrow as pa

    if not table.num_rows or not selected.num_rows:
        return pa.table({})
    numbers, selected_numbers = to_integers(table.column("number")), to_integers(selected.column("number"))
    order = np.argsort(numbers)
    at = np.minimum(np.searchsorted(numbers[order], selected_numbers), len(numbers) - 1)
    here = numbers[order][at] == selected_numbers
    rows, documents = selected.filter(here), table.select(list(columns)).take(order[at[here]])
    for name in columns:
        rows = rows.append_column(name, documents.column(name))
    return rows


def split_open(
    table: pa.Table,
    selected: pa.Table,
    indexed: tuple[Slices | UnitTables, Numbers, Numbers] | None,
    count: int,
) -> list[pa.Table]:
    """Split the rows of a later round by units: those of `selected`, and with `indexed` the kept documents of units.

    Parameters
    ----------
    table : pyarrow.Table
        number, values.
    selected : pyarrow.Table
        unit, number, last, by, is_query.
    indexed : tuple, optional
        Units of fingerprints, the removed documents, and the units of queries.
    count : int
    """
    import pyarrow as pa

    names = ["unit", "number", "values", "last", "by", "is_query"]
    rows = join_rows(table, selected, ["values"])
    tables = [rows.select(names)] if rows.num_rows else []
    if indexed is not None and table.num_rows:
        units, removed, query_units = indexed
        kept = table.filter(~np.isin(to_integers(table.column("number")), removed))
        others = run_stage(units.rows, [_flagged(kept, queries=None)])
        if others.num_rows:
            others = others.filter(np.isin(to_integers(others.column("unit")), query_units))
            null = pa.nulls(others.num_rows, pa.int64())
            columns = {name: others.column(name) for name in names[:3]}
            flag = pa.array(np.zeros(others.num_rows, bool))
            tables.append(pa.table({**columns, "last": null, "by": null, "is_query": flag}))
    return split_rows(None, concat(tables), "unit", count)


def split_documents(table: pa.Table, ends: pa.Table, with_text: bool, count: int) -> list[pa.Table]:
    """Return the documents of a block that each block of pairs needs."""
    names = ["length", "values", "content", *(["text"] if with_text else [])]
    rows = join_rows(table, ends, names)
    if not rows.num_rows:
        return [rows] * count
    blocks = to_integers(rows.column("block"))
    order = np.argsort(blocks, kind="stable")
    bounds = np.searchsorted(blocks[order], np.arange(count + 1))
    rows = rows.drop_columns("block")
    return [rows.take(order[start:end]) for start, end in pairwise(bounds.tolist())]


def verify_block(verification: Verification, pairs: pa.Table, *parts: pa.Table) -> tuple[pa.Table, dict[str, int]]:
    """Return the pairs of a block that match, and counts of the work."""
    import pyarrow as pa

    rows = concat(parts)
    rows = rows.rename_columns(["left" if name == "number" else name for name in rows.column_names])
    kinds = [rows.select(["left", "length", "values", "content"]), pairs.select(["left", "right"])]
    if verification.comparison is not None:
        kinds.append(rows.select(["left", "text"]))
    table = pa.concat_tables(kinds, promote_options="default")
    links = run_stage(verification.rows, [table])
    is_link = links.column("right").is_valid()
    work = links.filter(pa.compute.invert(is_link))
    counts = {name: int(to_integers(work.column(name)).sum()) for name in COUNTS}
    return links.select(["left", "right", "similarity", "distance"]).filter(is_link), counts


def list_empty(table: pa.Table) -> pa.Table:
    """Return the ids of documents without features."""
    if not table.num_rows:
        return table
    return table.select(["id"]).filter(to_integers(table.column("features")) == 0)


# The job


@dataclass(frozen=True)
class Source:
    """Documents of a job.

    Attributes
    ----------
    blocks : sequence of references
        Tables.
    text, id : str
        Names of columns.
    """

    blocks: Tables
    text: str
    id: str


class TableJob:
    """One deduplication.

    Attributes
    ----------
    documents : list of references
        Tables of all hashed and numbered documents, those of `against` last.
    copies : (n, 2) int64
        Documents with the content of an earlier one: their number, and that of the first.
    links : pyarrow.Table
        left, right, similarity, distance of the pairs that match.
    removals : Removals
    work, counts : dict of str to int
    """

    copies: Numbers
    links: pa.Table
    removals: Removals

    def __init__(self, tasks: Tasks, config: DedupConfig, *, integer: bool, report: Progress) -> None:
        self.tasks, self.config, self.integer, self.report = tasks, config, integer, report
        self.source: Any = config.candidate_source
        self.dtype = value_dtype(self.source)
        self.counts: dict[str, int] = {"older": 0}
        self.work = dict.fromkeys(COUNTS, 0)
        self.documents: list[Any] = []
        self._stages = 0

    def run(self, new: Source, reference: Source | None) -> None:
        """Run all stages."""
        self._hash(new, reference)
        self.search()

    def use(self, documents: Sequence[Any], counts: Iterable[Mapping[str, int]]) -> None:
        """Use documents that `hash_block` has hashed, without reference documents, and their counts."""
        self.documents = list(documents)
        self.counts.update(_sum_counts(counts))
        check_dates(self.config.order, self.counts)
        if not is_direct(self.config.order, integer=self.integer):
            self._number()

    def search(self) -> None:
        """Run all stages after the hashing of documents."""
        self._done("hash")
        count = num_tasks(self.counts["documents"] + self.counts["older"], TASK_ROWS)
        parts = [self.tasks.run(split_contents, table, count, returns=count) for table in self.documents]
        copies = concat(self.tasks.get(exchange(self.tasks, parts, find_copies)))
        self.copies = _matrix(copies, "number", "original")
        excluded = self.tasks.put(np.sort(self.copies[:, 0]))
        selected = [self.tasks.run(select_searched, table, excluded, returns=2) for table in self.documents]
        searched = [table for table, _ in selected]
        self.counts["searched"] = sum(self.tasks.get([count for _, count in selected]))
        self._done("copies")
        units = None if self._by_bands else self._choose_units(searched)
        pairs, members, _ = self._first_pairs(searched, units)
        self._done("candidates")
        self.links = self._verify(pairs)
        self.removals = self._decide()
        if len(members):
            self._run_rounds(searched, units, members, pairs)
        self._done("verify")

    def _done(self, stage: str) -> None:
        self._stages += 1
        self.report(stage, self._stages, 4)

    @property
    def _by_bands(self) -> bool:
        return not isinstance(self.source, SimHashCandidates)

    # Documents

    def _hash(self, new: Source, reference: Source | None) -> None:
        keys = [(f"key{at}", by.column) for at, by in enumerate(self.config.order) if by.column]
        self.documents = self._hash_blocks(new, keys, reference=False)
        if reference is not None:
            self.documents += self._hash_blocks(reference, [], reference=True)
        if not is_direct(self.config.order, integer=self.integer):
            self._number()

    def _hash_blocks(self, source: Source, keys: list[tuple[str, str]], *, reference: bool) -> list[Any]:
        """Hash the blocks of a dataset, and check its ids and dates."""
        names = (source.text, source.id, *(by.column for by in self.config.order))
        hashing = Hashing(self.source, tuple(self.config.order), self.integer, reference, names)
        columns = [("id", source.id), ("text", source.text), *keys]
        id_type = "int64" if self.integer else "string"
        hashed = [self.tasks.run(hash_block, block, hashing, columns, id_type, returns=2) for block in source.blocks]
        counts = _sum_counts(self.tasks.get([count for _, count in hashed]))
        if reference:
            self.counts["older"] = counts["documents"]
            self.counts["characters"] += counts["characters"]
        else:
            self.counts.update(counts)
            check_dates(self.config.order, self.counts)
        tables = [table for table, _ in hashed]
        count = num_tasks(counts["documents"], TASK_ROWS)
        parts = [self.tasks.run(split_ids, table, count, returns=count) for table in tables]
        repeated = [each for ids in self.tasks.get(exchange(self.tasks, parts, repeated_ids)) for each in ids]
        if repeated:
            raise repeated_ids_error(f"ids{' of against' * reference}", source.id, sorted(repeated)[:3])
        return tables

    def _number(self) -> None:
        """Number documents by their keys."""
        tasks, blocks = self.tasks, len(self.documents)
        size = max(_SAMPLE // max(blocks, 1), 1)
        sample = [key for keys in self._get(sample_rows, self.documents, "key", size) for key in keys]
        count = num_tasks(self.counts["documents"] + self.counts["older"], TASK_ROWS)
        ranges = Ranges.of(sample, count)
        parts = [
            tasks.run(split_keys, table, at, ranges, 2 * count, returns=2 * count)
            for at, table in enumerate(self.documents)
        ]
        numbers = [tasks.run(number_range, blocks, *column, returns=blocks) for column in zip(*parts, strict=True)]
        self.documents = [
            tasks.run(set_numbers, table, *(part[at] for part in numbers)) for at, table in enumerate(self.documents)
        ]

    def _get(self, function: Callable[..., Any], tables: Tables, *arguments: Any) -> list[Any]:
        """Return the values of a function for each table."""
        values: list[Any] = self.tasks.get([self.tasks.run(function, table, *arguments) for table in tables])
        return values

    # Candidates

    def _choose_units(self, searched: Tables) -> Slices | UnitTables:
        """Choose tables or slices of fingerprints, whichever costs less."""
        count, recipe = self.counts["searched"], self.source.recipe
        choice = choose_tables(recipe.bits, self.source.radius, count)
        if choice is not None:
            return UnitTables(recipe.bits, *choice, self.dtype)
        size = max(_SAMPLE // max(len(searched), 1), 1)
        numbers = sorted({number for part in self._get(sample_rows, searched, "number", size) for number in part})
        slices = num_slices(count)
        splits = {numbers[len(numbers) * at // slices] for at in range(1, slices)} if numbers else set()
        return Slices(tuple(sorted(splits)), self.dtype)

    def _first_pairs(self, searched: Tables, units: Slices | UnitTables | None) -> tuple[Numbers, pa.Table, bool]:
        """Return the pairs of the first round, and the members of units that have more."""
        first = max_earlier(self.config)
        if units is None:
            count = num_parts(self.counts["searched"] * self.source.banding.num_bands)
            rows = partial(split_rows, Bands(self.source, self.dtype, parts=count).parcels)
            parts = [self.tasks.run(rows, table, "part", count, returns=count) for table in searched]
            return self._pair(parts, FirstPairs.of(self.source, first).rows)
        count = num_unit_tasks(units, self.counts["searched"])
        parts = [self.tasks.run(split_units, table, units, count, returns=count) for table in searched]
        return self._pair(parts, near_pairs(self.source, first).rows)

    def _pair(self, parts: Sequence[Sequence[Any]], stage: Stage) -> tuple[Numbers, pa.Table, bool]:
        """Run the second half of an exchange whose stage returns pairs."""
        results = [self.tasks.run(pair_units, stage, *column, returns=3) for column in zip(*parts, strict=True)]
        pairs, members, more = (self.tasks.get([result[at] for result in results]) for at in range(3))
        return _subtract_pairs(_matrix(concat(pairs), "left", "right")), concat(members), any(more)

    def _open_pairs(
        self, searched: Tables, units: Slices | UnitTables | None, members: pa.Table, max_pairs: int
    ) -> tuple[Numbers, bool]:
        """Return the pairs among members of units that may still change the decision."""
        import pyarrow as pa

        unit, number, last = (to_integers(members.column(name)) for name in ("unit", "number", "last"))
        removed, remover = self.removals.removed, self.removals.by
        by = number.copy()
        if len(removed):
            at = np.minimum(np.searchsorted(removed, number), len(removed) - 1)
            by = np.where(removed[at] == number, remover[at], number)
        if self.config.cluster == "components":
            count = num_tasks(len(number), TASK_ROWS >> 1)
            rows = pa.table({"unit": unit, "number": number, "last": last, "by": by})
            parts = [[self.tasks.put(part) for part in split(rows, unit, count)]]
            pairs, _, more = self._pair(parts, OpenPairs(max_pairs).rows)
            return pairs, more
        is_query = (by > last) & (last < NONE)
        query_units = np.unique(unit[is_query])
        selected = [_rows_of(unit[is_query], number[is_query], last[is_query], by[is_query])]
        indexed = None
        if units is None:
            is_indexed = (by == number) & np.isin(unit, query_units)
            selected.append(_rows_of(unit[is_indexed], number[is_indexed]))
            count = num_tasks(len(number), TASK_BYTES // self.dtype.itemsize)
        else:
            indexed = (units, removed, query_units)
            count = num_unit_tasks(units, self.counts["searched"])
        shared = self.tasks.put(concat(selected))
        parts = [self.tasks.run(split_open, table, shared, indexed, count, returns=count) for table in searched]
        pairs, _, more = self._pair(parts, near_pairs(self.source, max_pairs).rows)
        return pairs, more

    # Links and decisions

    def _verify(self, pairs: Numbers, *, all_match: bool = False) -> pa.Table:
        """Return the pairs that match."""
        import pyarrow as pa

        if not len(pairs):
            return _no_links()
        count = num_blocks(len(pairs), self.counts)
        rows = run_stage(Blocks(count).rows, [pa.table({"left": pairs[:, 0], "right": pairs[:, 1]})])
        block, left, right = (to_integers(rows.column(name)) for name in ("block", "left", "right"))
        ends = np.stack([np.concatenate([block, block]), np.concatenate([left, right])], axis=1)
        ends = _subtract_pairs(ends)
        shared = self.tasks.put(pa.table({"block": ends[:, 0], "number": ends[:, 1]}))
        with_text = self.config.comparison is not None
        parts = [
            self.tasks.run(split_documents, table, shared, with_text, count, returns=count) for table in self.documents
        ]
        verification = Verification(
            self.source, self.dtype, self.config.comparison, float(self.config.threshold), all_match
        )
        order = np.argsort(block, kind="stable")
        bounds = np.searchsorted(block[order], np.arange(count + 1))
        results = []
        for at, column in enumerate(zip(*parts, strict=True)):
            rows_of_block = order[bounds[at] : bounds[at + 1]]
            if len(rows_of_block):
                own = pa.table({"left": left[rows_of_block], "right": right[rows_of_block]})
                results.append(self.tasks.run(verify_block, verification, own, *column, returns=2))
        for counts in self.tasks.get([counts for _, counts in results]):
            for name in COUNTS:
                self.work[name] += counts[name]
        links = concat(self.tasks.get([links for links, _ in results]))
        return links if links.num_rows else _no_links()

    def _run_rounds(
        self, searched: Tables, units: Slices | UnitTables | None, members: pa.Table, verified: Numbers
    ) -> None:
        """Verify pairs that may still change the decision, until there are none."""
        max_pairs = 4 * MAX_FIRST
        for _ in range(1, _MAX_ROUNDS):
            proposed, more = self._open_pairs(searched, units, members, max_pairs)
            pairs = _subtract_pairs(proposed, verified)
            if not len(pairs) and not more:
                return
            if len(pairs):
                self.links = concat([self.links, self._verify(pairs)]) if self.links.num_rows else self._verify(pairs)
                verified = np.concatenate([verified, pairs])
                self.removals = self._decide()
            max_pairs *= _GROWTH
        raise RuntimeError(f"the decision did not settle in {_MAX_ROUNDS} rounds")

    def _decide(self) -> Removals:
        check_links(self.links.num_rows, self.config.threshold)
        links = _matrix(self.links, "left", "right")
        left, right = np.ascontiguousarray(links[:, 0]), np.ascontiguousarray(links[:, 1])
        return components(left, right) if self.config.cluster == "components" else absorb(left, right)

    def matched_links(self) -> pa.Table:
        """Return links that have one for each removed document and its representative."""
        if self.config.cluster == "components" and len(self.removals.removed):
            # A member of a component often has no link to the first one.
            return self._verify(np.stack([self.removals.by, self.removals.removed], axis=1), all_match=True)
        return self.links

    def ids(self, numbers: Numbers) -> pa.ChunkedArray:
        """Return the ids of documents."""
        import pyarrow as pa

        selected = self.tasks.put(pa.table({"number": np.unique(numbers)}))
        rows = concat(self._get(join_rows, self.documents, selected, ["id"]))
        if not rows.num_rows:
            return pa.chunked_array([], pa.int64() if self.integer else pa.string())
        rows = rows.sort_by("number")
        return rows.column("id").take(np.searchsorted(to_integers(rows.column("number")), numbers))

    def empty_ids(self, blocks: int) -> pa.ChunkedArray:
        """Return the ids of documents without features in the first blocks."""
        import pyarrow as pa

        new = [table for table in self._get(list_empty, self.documents[:blocks]) if table.num_rows]
        kind = pa.int64() if self.integer else pa.string()
        return pa.chunked_array([chunk for table in new for chunk in table.column("id").chunks], kind)


def _sum_counts(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add the counts of blocks."""
    sums = dict.fromkeys(("documents", "without_features", "characters"), 0)
    for block in counts:
        for name, value in block.items():
            sums[name] = sums.get(name, 0) + value
    return sums


def _rows_of(unit: Numbers, number: Numbers, last: Numbers | None = None, by: Numbers | None = None) -> pa.Table:
    """Return rows of a later round: queries with `last` and `by`, otherwise indexed documents."""
    import pyarrow as pa

    nulls = pa.nulls(len(number), pa.int64())
    flags = pa.array(np.full(len(number), last is not None))
    rest = {"last": nulls if last is None else pa.array(last), "by": nulls if by is None else pa.array(by)}
    return pa.table({"unit": unit, "number": number, **rest, "is_query": flags})


def _no_links() -> pa.Table:
    import pyarrow as pa

    types = {"left": pa.int64(), "right": pa.int64(), "similarity": pa.float64(), "distance": pa.int64()}
    return pa.schema(list(types.items())).empty_table()


def _matrix(table: pa.Table, *names: str) -> Numbers:
    """Return columns of integers side by side."""
    if not table.num_rows:
        return np.zeros((0, len(names)), np.int64)
    return np.stack([to_integers(table.column(name)) for name in names], axis=1)


def _subtract_pairs(pairs: Numbers, known: Numbers = _NO_PAIRS) -> Numbers:
    """Return the different pairs that are not among known ones, by the second and the first number."""
    both = np.concatenate([known, pairs])
    is_new = np.arange(len(both)) >= len(known)
    order = np.lexsort((is_new, both[:, 0], both[:, 1]))
    ordered = both[order]
    first = np.concatenate([np.ones(min(len(ordered), 1), bool), (ordered[1:] != ordered[:-1]).any(axis=1)])
    return ordered[first & is_new[order]]
