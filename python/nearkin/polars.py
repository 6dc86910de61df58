"""Near-duplicates in polars: the namespace `nk` of expressions and frames.

    import polars as pl
    import nearkin.polars                                            # registers the namespace

    pages.with_columns(pl.col("body").nk.fingerprint("char:4|count|xxh3|simhash:64").alias("fingerprint"))
    pages.nk.dedup(text="body", id="url")

| call | type | value |
|---|---|---|
| `expr.nk.fingerprint(recipe)` | UInt64, or Array(UInt64, words) above 64 bits | `nearkin.fingerprint` |
| `expr.nk.signature(recipe)` | Array(UInt32 or UInt64, num_perm) | `nearkin.signature` |
| `expr.nk.hamming(other)` | UInt16 | `nearkin.hamming` |
| `expr.nk.tokens(recipe)` | List(String) | `nearkin.words` |
| `series.nk...` | the same | |
| `frame.nk.dedup(...)` | the same schema, fewer rows | `nearkin.dedup` |

Expressions work row by row, so a lazy query runs them batch by batch, in the streaming engine as well. Texts are read
in place, and values equal those of the package, bit for bit. A null, or a text without features, gives null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.texts import dedup as _dedup
from nearkin.errors import bad_parameter, require_extra
from nearkin.families.minhash import DEFAULT as DEFAULT_SIGNATURE
from nearkin.families.minhash import check_minhash, signature, value_type
from nearkin.families.simhash import fingerprint
from nearkin.index.fingerprint_columns import FingerprintColumn, align, to_lists
from nearkin.index.fingerprints import hamming
from nearkin.io.arrow import read_column
from nearkin.recipe import Recipe
from nearkin.text.words import words

with require_extra("polars", "nearkin.polars"):
    import polars as pl

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FrameNamespace", "LazyFrameNamespace", "SeriesNamespace", "TextNamespace"]


@pl.api.register_expr_namespace("nk")
class TextNamespace:
    """Hashes, distances and tokens of a column: `pl.col(...).nk`.

    Parameters
    ----------
    expr : polars.Expr
        Strings; fingerprints for `hamming`.

    Examples
    --------
    >>> import polars as pl, nearkin.polars
    >>> pages = pl.DataFrame({"body": ["The quick brown fox jumps.", "The quick brown fox jumped!", None]})
    >>> hashed = pages.with_columns(pl.col("body").nk.fingerprint("char:4|count|xxh3|simhash:64").alias("hash"))
    >>> hashed.select(pl.col("hash").nk.hamming(pl.col("hash").first()) < 20).to_series().to_list()
    [True, True, None]
    >>> pages.select(pl.col("body").nk.tokens()).to_series().to_list()[0]
    ['the', 'quick', 'brown', 'fox', 'jumps']
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    def fingerprint(self, recipe: Recipe | str | None = None) -> pl.Expr:
        """Return the SimHash fingerprints of texts.

        Parameters
        ----------
        recipe : Recipe, str or None
            A recipe with the family simhash, its text form or the name of a preset; None for the fingerprint recipe.

        Returns
        -------
        polars.Expr
            UInt64 up to 64 bits, else Array(UInt64, words) with the lowest word first.

        Raises
        ------
        ParameterError
            A recipe of another family, or for given features. Other errors occur when the query runs, as those of
            polars, with the message of the package.
        """
        parsed = Recipe.of(recipe)
        if parsed.family != "simhash" or parsed.features == "given":
            allowed = "a recipe of texts with the family simhash; signature() has those of minhash"
            raise bad_parameter("recipe", str(parsed), allowed)

        def compute(texts: pl.Series) -> pl.Series:
            import pyarrow as pa

            values, counts = fingerprint(_texts(texts), parsed, return_counts=True)
            empty = counts == 0
            return _series(pa.array(values, mask=empty) if values.ndim == 1 else to_lists(values, empty, fixed=True))

        kind = pl.UInt64() if parsed.words == 1 else pl.Array(pl.UInt64, parsed.words)
        return _map(self._expr, compute, kind)

    def signature(self, recipe: Recipe | str | None = None) -> pl.Expr:
        """Return the MinHash signatures of texts.

        Parameters
        ----------
        recipe : Recipe, str or None
            A recipe with the family minhash, its text form or the name of a preset; None for the default of
            `nearkin.signature`.

        Returns
        -------
        polars.Expr
            Array(UInt32, num_perm), or of UInt64 for values of 64 bits.

        Raises
        ------
        ParameterError
            As `fingerprint`.
        """
        parsed = Recipe.of(DEFAULT_SIGNATURE if recipe is None else recipe)
        check_minhash(parsed)
        if parsed.features == "given":
            raise bad_parameter("recipe", str(parsed), "a recipe of texts")

        def compute(texts: pl.Series) -> pl.Series:
            values, counts = signature(_texts(texts), parsed, return_counts=True)
            return _series(to_lists(values, counts == 0, fixed=True))

        kind = pl.UInt32 if value_type(parsed) is np.uint32 else pl.UInt64
        return _map(self._expr, compute, pl.Array(kind, parsed.num_perm))

    def hamming(self, other: pl.Expr | str | int) -> pl.Expr:
        """Return the number of bits in which two fingerprints differ.

        Parameters
        ----------
        other : polars.Expr, str or int
            An expression, the name of a column, or one fingerprint of up to 64 bits. Both sides are integers,
            hexadecimal strings, binary values of one length, or lists or arrays of UInt64.

        Returns
        -------
        polars.Expr
            UInt16.
        """
        right = other if isinstance(other, pl.Expr) else pl.col(other) if isinstance(other, str) else _literal(other)

        def compute(sides: pl.Series) -> pl.Series:
            import pyarrow as pa

            a, b = (
                FingerprintColumn.read(_column(side), name)
                for side, name in zip(sides.struct.unnest().get_columns(), ("a", "b"), strict=True)
            )
            return _series(pa.array(hamming(*align(a, b)), mask=a.is_null | b.is_null))

        both = pl.struct(self._expr.alias("a"), right.alias("b"))
        return _map(both, compute, pl.UInt16()).alias(self._expr.meta.output_name(raise_if_undetermined=False) or "a")

    def tokens(self, recipe: Recipe | str | None = None) -> pl.Expr:
        """Return the normalised words of texts, in order.

        Parameters
        ----------
        recipe : Recipe, str or None
            A recipe of words; None for ``cut:script|word:1``.

        Returns
        -------
        polars.Expr
            List(String).

        Raises
        ------
        ParameterError
            A recipe of other features.
        """
        words([], recipe)

        def compute(texts: pl.Series) -> pl.Series:
            import pyarrow as pa
            import pyarrow.compute as pc

            lists = words(_texts(texts), recipe, result="arrow")
            if texts.null_count():
                lists = pc.if_else(pa.array(texts.is_null().to_numpy()), pa.scalar(None, lists.type), lists)
            return _series(lists)

        return _map(self._expr, compute, pl.List(pl.String))


@pl.api.register_series_namespace("nk")
class SeriesNamespace:
    """The methods of `pl.col(...).nk` on a Series: `series.nk`.

    Parameters
    ----------
    series : polars.Series

    Examples
    --------
    >>> import polars as pl, nearkin.polars
    >>> pl.Series(["0f", "0e", None]).nk.hamming(15).to_list()
    [0, 1, None]
    """

    def __init__(self, series: pl.Series) -> None:
        self._series = series

    def __getattr__(self, name: str) -> Callable[..., pl.Series]:
        if name not in ("fingerprint", "signature", "hamming", "tokens"):
            raise AttributeError(f"a series has no nk.{name}; it has fingerprint, signature, hamming and tokens")

        def call(*arguments: Any) -> pl.Series:
            values = [pl.lit(each) if isinstance(each, pl.Series) else each for each in arguments]
            column = TextNamespace(pl.col(self._series.name))
            return self._series.to_frame().select(getattr(column, name)(*values)).to_series()

        return call


@pl.api.register_dataframe_namespace("nk")
class FrameNamespace:
    """Deduplication of a DataFrame: `frame.nk`.

    Parameters
    ----------
    frame : polars.DataFrame

    Examples
    --------
    >>> import polars as pl, nearkin.polars
    >>> pages = pl.DataFrame({"url": ["x", "y"], "body": ["Twice the same text.", "Twice the same text!"]})
    >>> pages.nk.dedup(text="body", id="url").rows()
    [('x', 'Twice the same text.')]
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def dedup(self, text: str = "text", *, id: str | None = None, **options: Any) -> pl.DataFrame:
        """Return the rows that `nearkin.dedup` keeps, in their order.

        `nearkin.dedup(frame, ...)` returns clusters, pairs and a summary as well.

        Parameters
        ----------
        text : str, default "text"
            Column of the texts.
        id : str, optional
            Column of the ids, integers or strings; default row numbers.
        **options
            Other options of `nearkin.dedup`: `threshold`, `recipe`, `keep="max:score"`.

        Raises
        ------
        NearkinError
            As `nearkin.dedup`.
        """
        return _dedup(self._frame, text=text, id=id, **options).filter(self._frame)


@pl.api.register_lazyframe_namespace("nk")
class LazyFrameNamespace:
    """Deduplication of a LazyFrame: `frame.nk`.

    Parameters
    ----------
    frame : polars.LazyFrame

    Examples
    --------
    >>> import polars as pl, nearkin.polars
    >>> pages = pl.LazyFrame({"url": ["x", "y"], "body": ["Twice the same text.", "Twice the same text!"]})
    >>> pages.nk.dedup(text="body", id="url").select("url").collect().rows()
    [('x',)]
    """

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def dedup(self, text: str = "text", *, id: str | None = None, **options: Any) -> pl.LazyFrame:
        """Return the rows that `nearkin.dedup` keeps, when the query is collected.

        All rows meet at this step, so it needs the frame in memory; the steps before and after it remain lazy. Filters
        and limits after it are not moved before it.

        Parameters
        ----------
        text, id, **options
            As for a DataFrame.
        """
        return self._frame.map_batches(
            lambda frame: FrameNamespace(frame).dedup(text, id=id, **options),
            predicate_pushdown=False,
            projection_pushdown=False,
            slice_pushdown=False,
        )


def _map(expr: pl.Expr, function: Callable[[pl.Series], pl.Series], kind: pl.DataType) -> pl.Expr:
    def keep_name(series: pl.Series) -> pl.Series:
        return function(series).alias(series.name)

    return expr.map_batches(keep_name, return_dtype=kind, is_elementwise=True)


def _literal(value: object) -> pl.Expr:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 0 <= int(value) < 1 << 64:
        raise bad_parameter("other", repr(value), "an expression, the name of a column, or an integer below 2**64")
    return pl.lit(int(value), dtype=pl.UInt64)


def _column(series: pl.Series) -> pa.ChunkedArray:
    """Return a Series as Arrow, in place."""
    return read_column(series, f"column {series.name!r}")


def _texts(series: pl.Series) -> pl.Series:
    """Return a Series that the core reads in place, and checks as it does."""
    if isinstance(series.dtype, (pl.Categorical, pl.Enum)):
        series = series.cast(pl.String)
    if series.dtype not in (pl.String, pl.Null):
        raise bad_parameter("text", f"{series.name!r}, a column of {series.dtype}", "a column of strings")
    return series if series.dtype == pl.String else series.cast(pl.String)


def _series(array: Any) -> pl.Series:
    import pyarrow as pa

    # As a table, because polars before 1.44 reads lists of strings wrongly from an array.
    frame = pl.DataFrame(pa.table({"values": array}))
    return frame.to_series()
