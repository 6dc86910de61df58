"""Results as tables of other packages: Arrow, pandas, polars, and everything that reads Arrow's PyCapsule interface.

`Tabular` is what every result with columns has in common. Only pyarrow is sure to be installed; pandas and polars are
asked for when they are wanted. A missing value is null, NaN too, as in the files of `nearkin.io.tables`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import MissingExtraError
from nearkin.io.values import Column, Scalar
from nearkin.notebook import ROWS, count_of, html_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

TableColumn = Sequence[Scalar] | NDArray[Any] | Column
"""A column of a table: a list, an array, or a column of a corpus."""


class Tabular:
    """A result that is a table: `_columns` gives its columns, and `_types` the Arrow types that cells may leave open.

    Examples
    --------
    >>> from nearkin import HammingIndex
    >>> index = HammingIndex(bits=8)
    >>> _ = index.add(["a", "b"], [0b1100, 0b1111])
    >>> pairs = index.pairs(radius=2)
    >>> pairs.to_polars().rows()
    [('a', 'b', 2)]
    >>> import pyarrow as pa
    >>> pa.table(pairs).column_names
    ['left', 'right', 'distance']
    """

    def _columns(self) -> Mapping[str, TableColumn]:
        raise NotImplementedError

    def _types(self) -> Mapping[str, str]:
        """Names of Arrow types for columns that may hold nothing that tells one."""
        return {}

    def _repr_html_(self) -> str:
        """The first rows, for a notebook."""
        columns = self._columns()
        some = [arrow_column(values[:ROWS]).to_pylist() for values in columns.values()]
        total = len(next(iter(columns.values()), ()))
        return html_table(list(columns), zip(*some, strict=True), total=total, caption=self._caption(total))

    def _caption(self, rows: int) -> str:
        """What stands above the table in a notebook."""
        return count_of(rows, "row")

    def to_arrow(self) -> pa.Table:
        """The same as a pyarrow Table; a column that mixes numbers and strings becomes strings."""
        import pyarrow as pa

        types = self._types()
        return pa.table({name: arrow_column(values, types.get(name)) for name, values in self._columns().items()})

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The same as a stream of Arrow data, which pyarrow, polars, DuckDB and others read."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas DataFrame.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        return to_frame(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """The same as a polars DataFrame.

        Raises
        ------
        MissingExtraError
            If polars is not installed.
        """
        frame: pl.DataFrame = _imported("polars", "to_polars()").from_arrow(self.to_arrow())
        return frame


def to_frame(columns: Mapping[str, TableColumn]) -> pd.DataFrame:
    """A pandas data frame of columns of equal length.

    Raises
    ------
    MissingExtraError
        If pandas is not installed.
    """
    frame: pd.DataFrame = _imported("pandas", "to_pandas()").DataFrame(columns)
    return frame


def _imported(package: str, call: str) -> Any:
    """A package that a call needs."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtraError(
            f"{call} needs {package}, which is not installed; `pip install {package}`, or use to_arrow()",
            extra=package,
            package=package,
        ) from None


def arrow_column(values: TableColumn, kind: str | None = None) -> pa.Array | pa.ChunkedArray:
    """An Arrow column; one that mixes strings and numbers, or whose integers fit no single type, becomes strings.

    Names of files may have bytes that are not UTF-8: these are escaped.

    Parameters
    ----------
    values : list, array or Column
        Integers, floats, strings, booleans, None. NaN is null.
    kind : str, optional
        Name of the Arrow type if no cell tells one.
    """
    import pyarrow as pa

    if isinstance(values, np.ndarray) and values.dtype != object:
        return pa.array(values, from_pandas=True)
    plain = list(values)
    if isinstance(values, np.ndarray) and not plain:
        kind = "string"
    if any(isinstance(value, str) for value in plain):
        plain = [None if value is None else _with_utf8(str(value)) for value in plain]
    try:
        made = pa.array(plain, from_pandas=True)
    except OverflowError:
        # Integers beyond int64, which is what Arrow takes them for.
        try:
            return pa.array(plain, pa.uint64())
        except OverflowError:
            return pa.array([None if value is None else str(value) for value in plain])
    return made if kind is None or not pa.types.is_null(made.type) else made.cast(pa.type_for_alias(kind))


def _with_utf8(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
