"""Fingerprints, signatures and all hashes as columns of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.distributed.documents import pack_hashes, pack_values
from nearkin.errors import bad_parameter
from nearkin.io.frames import text_column
from nearkin.recipe import Recipe
from nearkin.spark.engine import DataFrame, check_workers, spark_session

if TYPE_CHECKING:
    import pyarrow as pa


def fingerprint(
    df: DataFrame, text: str = "text", recipe: Recipe | str | None = None, *, column: str = "fingerprint"
) -> DataFrame:
    """Append a column of fingerprints, bit for bit those of `nearkin.fingerprint`.

    Parameters
    ----------
    df : DataFrame
    text : str
        The column of the texts.
    recipe : Recipe, str or None
        Defines the fingerprint of a text; None for the fingerprint recipe.
    column : str
        The name of the new column: bigint up to 64 bits (the signed integer of the same bits), binary above (8 bytes
        for each word, little endian: `numpy.frombuffer(cell, "<u8")`); null for a text without features.

    Raises
    ------
    ParameterError
        A missing column, one of another type, or an existing name; a recipe of another family.
    EngineError
        The engine is older than Spark 4.0, or a worker has no nearkin.
    """
    recipe = Recipe.of(recipe)
    if recipe.family != "simhash":
        raise bad_parameter("recipe", str(recipe), "a recipe with the family simhash; signature() has those of minhash")
    return _append_hashes(df, text, column, "long" if recipe.bits <= 64 else "binary", recipe)


def signature(
    df: DataFrame, text: str = "text", recipe: Recipe | str | None = None, *, column: str = "signature"
) -> DataFrame:
    """Append a column of MinHash signatures, bit for bit those of `nearkin.signature`.

    Parameters
    ----------
    df : DataFrame
    text : str
        The column of the texts.
    recipe : Recipe, str or None
        With the family minhash; None for the document recipe.
    column : str
        The name of the new column: binary, little endian, 4 bytes for each value (8 with some recipes):
        `numpy.frombuffer(cell, "<u4")`; null for a text without features.

    Raises
    ------
    ParameterError
        As `fingerprint`.
    EngineError
        As `fingerprint`.
    """
    recipe = Recipe.of(None).with_family("minhash") if recipe is None else Recipe.of(recipe)
    if recipe.family != "minhash":
        allowed = "a recipe with the family minhash; fingerprint() has those of simhash"
        raise bad_parameter("recipe", str(recipe), allowed)
    return _append_hashes(df, text, column, "binary", recipe)


def hashes(
    df: DataFrame, text: str = "text", recipe: Recipe | str | None = None, *, column: str = "hashes"
) -> DataFrame:
    """Append a column with all hashes that `dedup(hashes=)` needs, so that a corpus is hashed once.

    Write the DataFrame to a table, and compare later documents with it by `dedup(df, against=table, hashes=column)`.

    Parameters
    ----------
    df : DataFrame
    text : str
        The column of the texts; it must stay in the table, because candidates are compared by their texts.
    recipe : Recipe, str or None
        As for `dedup`.
    column : str
        The name of the new column: binary, 40 bytes and the fingerprint or signature.

    Raises
    ------
    ParameterError
        As `fingerprint`, except that both families are allowed.
    EngineError
        As `fingerprint`.
    """
    recipe = Recipe.of(None).with_family("minhash") if recipe is None else Recipe.of(recipe)
    return _append_hashes(df, text, column, "binary", recipe, complete=True)


def _append_hashes(
    df: DataFrame, text: str, column: str, kind: str, recipe: Recipe, *, complete: bool = False
) -> DataFrame:
    session = spark_session(df)
    if recipe.features == "given":
        raise bad_parameter("recipe", recipe, "a recipe with char:N or word:N features, which reads texts")
    check_text(df, text)
    # Engines ignore the case of names.
    if str(column).lower() in [name.lower() for name in df.columns]:
        raise bad_parameter("column", repr(column), f"a name that no column has; there are {', '.join(df.columns)}")
    check_workers(session)
    # Copy the schema, because `add` changes it in place.
    schema = type(df.schema)(list(df.schema.fields)).add(column, kind, True)
    hasher = _ColumnHasher(recipe, df.columns.index(text), tuple(schema.names), complete)
    # pyspark selects columns by names without quotes, and would take those with dots for fields of others.
    return df.toDF(*(f"column{at}" for at in range(len(df.columns)))).mapInArrow(hasher.rows, schema)


def check_text(df: DataFrame, name: str, argument: str = "text") -> None:
    """Raise ParameterError unless a DataFrame has one column of this name, of strings."""
    kind = column_type(df, name, argument)
    if kind != "string":
        raise bad_parameter(argument, f"the column {name!r} of {kind}", "a column of strings; cast it")


def column_type(df: DataFrame, name: str, argument: str) -> str:
    """Return the SQL type of a column; raise ParameterError unless there is exactly one of this name."""
    names = df.columns
    if hasattr(name, "alias"):
        # A comparison of a Column with names would return another Column.
        raise bad_parameter(argument, "a Column", "the name of a column")
    if name not in names:
        raise bad_parameter(argument, repr(name), f"a column of the DataFrame: {', '.join(names)}")
    # Engines ignore the case of names by default.
    exact = str(df.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    same = [other for other in names if other == name or (not exact and other.lower() == name.lower())]
    if len(same) > 1:
        value = f"{name!r}, the name of {len(same)} columns ({', '.join(same)}),"
        raise bad_parameter(argument, value, "the name of one column; rename the others")
    return str(dict(df.dtypes)[name])


@dataclass(frozen=True)
class _ColumnHasher:
    """Hashes the texts of batches.

    Attributes
    ----------
    recipe : Recipe
    text : int
        Number of the column with the texts.
    names : tuple of str
        Names of the columns, the new one last.
    complete : bool
        Append all hashes of `pack_hashes`, not only the values.
    """

    recipe: Recipe
    text: int
    names: tuple[str, ...]
    complete: bool

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Append the column to each batch."""
        import pyarrow as pa

        for batch in batches:
            texts: Any = text_column(pa.chunked_array([batch.column(self.text)]), self.names[self.text])
            values, features = self._hash(texts)
            empty = pa.array((features == 0) & (not self.complete))
            if self.complete:
                column = pack_hashes(self.recipe, texts, values, features)
            elif self.recipe.family == "simhash" and self.recipe.bits <= 64:
                column = pa.array(values.reshape(-1).view(np.int64))
            else:
                column = pack_values(values.reshape(batch.num_rows, -1))
            column = pa.compute.if_else(empty, pa.scalar(None, column.type), column)
            yield pa.RecordBatch.from_arrays([*batch.columns, column], list(self.names))

    def _hash(self, texts: Any) -> tuple[Any, Any]:
        core = self.recipe.core
        return core.fingerprints(texts) if self.recipe.family == "simhash" else core.signatures(texts)
