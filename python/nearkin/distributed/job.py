"""One deduplication as tasks over blocks (`frames`), for engines that run Python functions.

Texts stay in their blocks, and are sent to the tasks that compare them alone. The driver holds references and counts;
the matches, if there are at most `decision.MAX_DRIVER_LINKS` of them; and the tables of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.config import DedupConfig
from nearkin.distributed.documents import TASK_ROWS, num_tasks
from nearkin.distributed.frames import PLACE, Part, Partition, Stages, TaskFrame, Tasks, sql_schema
from nearkin.distributed.plan import SIDES, Plan, union
from nearkin.io.frames import text_column
from nearkin.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 1 << 13
"""Documents that are hashed at once."""


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

    blocks: Sequence[Any]
    text: str
    id: str


def read_block(columns: Sequence[tuple[str, str]], id_type: str, block: int, table: pa.Table) -> pa.Table:
    """Return columns of a block under the names of `Hashing.rows`, and the place of each document.

    Parameters
    ----------
    columns : sequence of (str, str)
        Names for `Hashing.rows` and in the table.
    id_type : str
        Type of ids.
    block : int
        Number of the block.
    table : pyarrow.Table
    """
    import pyarrow as pa

    if not table.num_rows:
        return sql_schema(f"id {id_type}, text string, place bigint").empty_table()
    cells: dict[str, Any] = {name: table.column(column) for name, column in columns}
    texts = text_column(cells["text"], dict(columns)["text"])
    cells["text"] = pa.array(texts, pa.large_string()) if isinstance(texts, list) else texts.cast(pa.large_string())
    cells["id"] = cells["id"].cast(sql_schema(f"id {id_type}").field(0).type)
    cells["place"] = (block << PLACE) + np.arange(table.num_rows)
    # Batches that are hashed at once.
    return pa.Table.from_batches(pa.table(cells).combine_chunks().to_batches(max_chunksize=_BATCH_ROWS))


class TableJob(Plan):
    """One deduplication, whose rows are frames."""

    def __init__(self, tasks: Tasks, config: DedupConfig, *, integer: bool, report: Progress) -> None:
        super().__init__(Stages(tasks, report), config, "bigint" if integer else "string", ("place",))
        self.tasks = tasks

    def run(self, new: Source, reference: Source | None) -> None:
        """Hash the documents of blocks, and run all stages."""
        sources = [(new, 0)] if reference is None else [(new, 0), (reference, len(new.blocks))]
        hashed, texts = [self._hash(*each) for each in sources], union([self._read(*each) for each in sources])
        if self.pages:
            hashed, texts = self.hash_pages([rows.persist() for rows in hashed], [", place bigint"] * len(hashed))
        for at, name in enumerate(SIDES[: len(hashed)]):
            if not self.pages:
                hashed[at] = self.checkpoint.frame(name, hashed[at].persist)
            self.count_documents(hashed[at], new.id, reference=at > 0)
        self.use(*hashed, texts=texts)

    def use(self, *sides: TaskFrame, texts: TaskFrame) -> None:
        """Run all stages on documents that are hashed and counted; the place of `texts` tells their part."""
        count = max(len(texts.parts), num_tasks(self.counts["documents"] + self.counts["older"], TASK_ROWS))
        documents = self.number(*sides).repartition(count, "number").persist()
        partition = Partition(("place",), len(texts.parts), by_place=True)
        self.search(documents, TaskFrame(self.tasks, texts.select("place", "text").parts, partition))

    def _hash(self, source: Source, first: int) -> TaskFrame:
        names = (source.text, source.id, *(by.column for by in self.config.order))
        rows: TaskFrame = self.hash(self._read(source, first), names, ", place bigint", reference=first > 0)
        return rows

    def _read(self, source: Source, first: int) -> TaskFrame:
        """Return the documents of blocks, which are numbered from `first` on."""
        keys = [(f"key{at}", by.column) for at, by in enumerate(self.config.order) if by.column and not first]
        read = partial(read_block, [("id", source.id), ("text", source.text), *keys], self.id_type)
        blocks = enumerate(source.blocks, first)
        return TaskFrame(self.tasks, [Part((block,), (partial(read, at),)) for at, block in blocks])
