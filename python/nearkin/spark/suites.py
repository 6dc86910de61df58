"""The items of benchmarks in the documents of a DataFrame: decontamination on an engine.

A document is searched by itself, so there is no shuffle: a task opens the index of the suites and streams its documents
through it. Memory of a task: the index, which the tasks of a machine share if it is a file, and one batch of documents.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.errors import bad_parameter
from nearkin.io.frames import text_column
from nearkin.pieces.suites import LEVELS, Suites
from nearkin.spark.columns import check_text, column_type
from nearkin.spark.engine import DataFrame, check_workers, quote, spark_session

if TYPE_CHECKING:
    import pyarrow as pa


def decontaminate(
    df: DataFrame,
    suites: Suites | str | os.PathLike[str],
    text: str = "text",
    id: str = "id",
    *,
    threshold: float | None = None,
    max_chance: float | None = None,
) -> DataFrame:
    """Return the items of benchmarks in the documents of a DataFrame: the hits of `nearkin.decontaminate`.

    Parameters
    ----------
    df : DataFrame
        It is read once, when the result is.
    suites : Suites or path
        The items. An index in memory is sent to every task; a file that `Suites.save` wrote is opened by every task
        through a memory map, at the same path on each machine.
    text, id : str
        The columns of the texts, strings, and of the ids, integers or strings.
    threshold, max_chance
        As for `nearkin.decontaminate`.

    Returns
    -------
    DataFrame
        Columns `id`, `suite`, `item`, `level`, `start`, `end`, `similarity` and `chance`; a row for each hit, in no
        order. `item` is a string if an id of an item is one, otherwise a bigint. No level is *quotation*, because that
        depends on all documents.

    Raises
    ------
    ParameterError
        A missing column or one of another type, or a limit out of range.
    CorruptStoreError
        The file is damaged, or is no index of suites.
    EngineError
        The engine is older than Spark 4.0, or a worker has no nearkin.
    """
    session = spark_session(df)
    check_text(df, text)
    kind = column_type(df, id, "id")
    if kind not in ("bigint", "int", "string"):
        raise bad_parameter("id", f"{id!r} of {kind}", "a column of integers or strings")
    index = suites if isinstance(suites, Suites) else Suites.open(suites)
    limits = index.limits(threshold, max_chance)
    # Limits out of range are errors now, not in a task.
    index.scan([], *limits)
    check_workers(session)
    named = any(isinstance(item, str) for suite in index.suites for item in suite.ids or ())
    source = index if isinstance(suites, Suites) else str(Path(suites).absolute())
    finder = _Finder(source, named, *limits)
    columns = (
        f"id {kind}, suite string, item {'string' if named else 'bigint'}, level string, start bigint, end bigint, "
        "similarity double, chance double"
    )
    return df.selectExpr(f"{quote(id)} as id", f"{quote(text)} as text").mapInArrow(finder.rows, columns)


@dataclass(frozen=True)
class _Finder:
    """Streams documents through an index of suites.

    Attributes
    ----------
    suites : Suites or str
    named : bool
        True if ids of items are written as strings.
    threshold, max_chance : float
    """

    suites: Suites | str
    named: bool
    threshold: float
    max_chance: float

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the hits of each batch."""
        import pyarrow as pa

        index = self.suites if isinstance(self.suites, Suites) else Suites.open(self.suites)
        convert: Any = str if self.named else int
        for batch in batches:
            texts = text_column(pa.chunked_array([batch.column(1)]), "text")
            hits = index.scan(texts, self.threshold, self.max_chance)
            numbers, items = index.locate(hits.entries.astype(np.int64))
            pairs = list(zip(numbers.tolist(), items.tolist(), strict=True))
            columns = {
                "id": batch.column(0).take(pa.array(hits.rows)),
                "suite": pa.array([index.suites[number].name for number, _ in pairs], pa.string()),
                "item": pa.array(
                    [convert(index.item_id(*pair)) for pair in pairs], pa.string() if self.named else pa.int64()
                ),
                "level": pa.array([LEVELS[level] for level in hits.levels.tolist()], pa.string()),
                "start": pa.array(hits.starts),
                "end": pa.array(hits.ends),
                "similarity": pa.array(hits.similarity),
                "chance": pa.array(hits.chance),
            }
            yield pa.RecordBatch.from_pydict(columns)
