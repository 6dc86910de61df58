"""Frames of every supported class with the same columns, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

TEXTS = [
    "The quick brown fox jumps over the lazy dog.",
    None,
    "",
    "!!!",
    "The quick brown fox jumps over the lazy dog!!",
    "我来到北京清华大学",
    "A text that resembles no other one in this list",
]
"""A column with a near-duplicate, a missing text, and texts without letters."""
Cells = Mapping[str, list[Any]]


class Stream:
    """An object that offers a table through Arrow's interface."""

    def __init__(self, table: pa.Table) -> None:
        self.column_names = table.column_names
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def table(cells: Cells, text: pa.DataType | None = None, pieces: int = 1, name: str = "body") -> pa.Table:
    """Build a Table with several chunks and a given string type."""
    columns = {}
    for column, values in cells.items():
        made = pa.array(values)
        if column == name and text is not None:
            binary = pa.types.is_binary(text) or pa.types.is_large_binary(text) or pa.types.is_binary_view(text)
            made = pa.array(
                [None if v is None or not binary else v.encode() for v in values] if binary else values, text
            )
        columns[column] = made
    whole = pa.table(columns)
    cuts = np.linspace(0, len(whole), pieces + 1).astype(int).tolist()
    parts = [whole.slice(a, b - a) for a, b in pairwise(cuts)]
    return pa.concat_tables(parts)


def encoded(cells: Cells) -> pa.Table:
    """Build a Table with dictionary-encoded texts."""
    plain = table(cells)
    at = plain.column_names.index("body")
    return plain.set_column(at, "body", plain["body"].cast(pa.string()).dictionary_encode())


def pandas_frame(cells: Cells, dtype: str) -> pd.DataFrame:
    """Build a DataFrame whose index differs from row numbers."""
    frame: pd.DataFrame = pd.DataFrame({name: pd.Series(values, dtype="object") for name, values in cells.items()})
    if "n" in frame:
        frame["n"] = frame["n"].astype("float64")
    frame["body"] = frame["body"].astype(dtype)  # type: ignore[call-overload]  # Names of types.
    frame.index = pd.Index(range(len(frame), 0, -1))
    return frame


def polars_frame(cells: Cells, dtype: Any = None) -> pl.DataFrame:
    """Build a DataFrame with a given string type."""
    frame = pl.DataFrame(dict(cells), schema_overrides={"body": pl.String})
    if dtype is not None:
        frame = frame.with_columns(pl.col("body").cast(dtype))
    return frame


def dataset(cells: Cells, shuffled: bool = False) -> Any:
    """Build a Hugging Face Dataset; a shuffled one has indices."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    made = datasets.Dataset.from_dict({name: values[::-1] if shuffled else values for name, values in cells.items()})
    return made.select(range(len(made) - 1, -1, -1)) if shuffled else made


KINDS: dict[str, Callable[[Cells], Any]] = {
    "pandas str": lambda cells: pandas_frame(cells, "str"),
    "pandas object": lambda cells: pandas_frame(cells, "object"),
    "pandas string[python]": lambda cells: pandas_frame(cells, "string[python]"),
    "pandas string[pyarrow]": lambda cells: pandas_frame(cells, "string[pyarrow]"),
    "pandas categorical": lambda cells: pandas_frame(cells, "category"),
    "polars": polars_frame,
    "polars in pieces": lambda cells: pl.concat(
        [polars_frame(cells).head(3), polars_frame(cells).slice(3)], rechunk=False
    ),
    "polars lazy": lambda cells: polars_frame(cells).lazy(),
    "polars categorical": lambda cells: polars_frame(cells, pl.Categorical),
    "polars binary": lambda cells: polars_frame(cells, pl.Binary),
    "pyarrow string": table,
    "pyarrow in pieces": lambda cells: table(cells, pa.string(), 3),
    "pyarrow large_string": lambda cells: table(cells, pa.large_string(), 2),
    "pyarrow string_view": lambda cells: table(cells, pa.string_view(), 2),
    "pyarrow binary": lambda cells: table(cells, pa.binary()),
    "pyarrow large_binary": lambda cells: table(cells, pa.large_binary(), 2),
    "pyarrow binary_view": lambda cells: table(cells, pa.binary_view()),
    "pyarrow dictionary": encoded,
    "pyarrow batch": lambda cells: table(cells).combine_chunks().to_batches()[0] if len(table(cells)) else table(cells),
    "pyarrow reader": lambda cells: table(cells, pa.string(), 3).to_reader(),
    "records": lambda cells: (
        [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)] or table(cells)
    ),
    "a stream": lambda cells: Stream(table(cells, pa.large_string(), 2)),
    "datasets": dataset,
    "datasets shuffled": lambda cells: dataset(cells, shuffled=True),
    "datasets iterable": lambda cells: dataset(cells) if not cells["body"] else dataset(cells).to_iterable_dataset(),
}
"""Makers of frames, by what a test is called."""


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of any frame as dicts, with bytes as texts and NaN as None."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pd.DataFrame):
        result = frame.astype(object).where(frame.notna(), None).to_dict("records")
    elif isinstance(frame, pl.DataFrame):
        result = frame.to_dicts()
    elif isinstance(frame, pa.RecordBatchReader):
        result = frame.read_all().to_pylist()
    elif isinstance(frame, (pa.Table, pa.RecordBatch)):
        result = frame.to_pylist()
    else:
        result = list(frame)
    return [{str(k): v.decode() if isinstance(v, bytes) else v for k, v in row.items()} for row in result]
