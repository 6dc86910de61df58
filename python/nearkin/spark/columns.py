"""Fingerprints and signatures as columns of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.distributed.rows import pack_values
from nearkin.errors import bad_parameter
from nearkin.io.frames import text_column
from nearkin.recipe import Recipe
from nearkin.spark.engine import DataFrame, check_workers, session_of

if TYPE_CHECKING:
    import pyarrow as pa


def fingerprint(
    df: DataFrame, text: str = "text", recipe: Recipe | str | None = None, *, column: str = "fingerprint"
) -> DataFrame:
    """The DataFrame with a column of fingerprints, bit for bit those of `nearkin.fingerprint`.

    Parameters
    ----------
    df : DataFrame
    text : str
        The column of the texts.
    recipe : Recipe, str or None
        How a text becomes a fingerprint; None for the default.
    column : str
        The name of the new column: bigint up to 64 bits (the signed integer of the same bits), binary above (8 bytes
        for each word, little endian: `numpy.frombuffer(cell, "<u8")`); null for a text without features.

    Raises
    ------
    ParameterError
        No such column, one of another type, or a name that is taken; a recipe of another family.
    EngineError
        The engine is older than Spark 4.0, or a worker has no nearkin.
    """
    made = Recipe.of(recipe)
    if made.family != "simhash":
        raise bad_parameter("recipe", str(made), "a recipe with the family simhash; signature() has those of minhash")
    return _with_column(df, text, column, "long" if made.bits <= 64 else "binary", made)


def signature(
    df: DataFrame, text: str = "text", recipe: Recipe | str | None = None, *, column: str = "signature"
) -> DataFrame:
    """The DataFrame with a column of MinHash signatures, bit for bit those of `nearkin.signature`.

    Parameters
    ----------
    df : DataFrame
    text : str
        The column of the texts.
    recipe : Recipe, str or None
        With the family minhash; None for the default recipe with it.
    column : str
        The name of the new column: binary, little endian, 4 bytes for each value (8 where the recipe says so):
        `numpy.frombuffer(cell, "<u4")`; null for a text without features.

    Raises
    ------
    ParameterError
        As `fingerprint`.
    EngineError
        As `fingerprint`.
    """
    made = Recipe.of(None).with_family("minhash") if recipe is None else Recipe.of(recipe)
    if made.family != "minhash":
        raise bad_parameter("recipe", str(made), "a recipe with the family minhash; fingerprint() has those of simhash")
    return _with_column(df, text, column, "binary", made)


def _with_column(df: DataFrame, text: str, column: str, kind: str, recipe: Recipe) -> DataFrame:
    session = session_of(df)
    if recipe.features == "given":
        raise bad_parameter("recipe", recipe, "a recipe with char:N or word:N features, which reads texts")
    check_text(df, text)
    # To an engine names that differ in case alone are one.
    if str(column).lower() in [name.lower() for name in df.columns]:
        raise bad_parameter("column", repr(column), f"a name that no column has; there are {', '.join(df.columns)}")
    check_workers(session)
    # A copy of the schema: the field is added to it in place.
    schema = type(df.schema)(list(df.schema.fields)).add(column, kind, True)
    made = _Column(recipe, df.columns.index(text), tuple(schema.names))
    # pyspark asks for columns by their names without quotes: those with dots would be fields of others.
    return df.toDF(*(f"column{at}" for at in range(len(df.columns)))).mapInArrow(made.rows, schema)


def check_text(df: DataFrame, name: str, argument: str = "text") -> None:
    """Raise ParameterError unless a DataFrame has one column of this name, of strings."""
    kind = type_of(df, name, argument)
    if kind != "string":
        raise bad_parameter(argument, f"the column {name!r} of {kind}", "a column of strings; cast it")


def type_of(df: DataFrame, name: str, argument: str) -> str:
    """The type of a column, as SQL names it; ParameterError unless there is one of this name."""
    names = df.columns
    if hasattr(name, "alias"):
        # Comparing it with names would make another column.
        raise bad_parameter(argument, "a Column", "the name of a column")
    if name not in names:
        raise bad_parameter(argument, repr(name), f"a column of the DataFrame: {', '.join(names)}")
    # To an engine names that differ in case alone are one, if its settings do not say otherwise.
    exact = str(df.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    alike = [other for other in names if other == name or (not exact and other.lower() == name.lower())]
    if len(alike) > 1:
        found = f"{name!r}, of which there are {len(alike)} ({', '.join(alike)}),"
        raise bad_parameter(argument, found, "the name of one column; rename the others")
    return str(dict(df.dtypes)[name])


@dataclass(frozen=True)
class _Column:
    """Hashes the texts of batches.

    Attributes
    ----------
    recipe : Recipe
    text : int
        Which column has them.
    names : tuple of str
        Of the columns, the new one last.
    """

    recipe: Recipe
    text: int
    names: tuple[str, ...]

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches with one column more."""
        import pyarrow as pa

        for batch in batches:
            texts = pa.chunked_array([batch.column(self.text)])
            values, features = self._hash(text_column(texts, self.names[self.text]))
            none = pa.array(features == 0)
            if self.recipe.family == "simhash" and self.recipe.bits <= 64:
                column = pa.array(values.reshape(-1).view(np.int64))
            else:
                column = pack_values(values.reshape(batch.num_rows, -1))
            column = pa.compute.if_else(none, pa.scalar(None, column.type), column)
            yield pa.RecordBatch.from_arrays([*batch.columns, column], list(self.names))

    def _hash(self, texts: Any) -> tuple[Any, Any]:
        core = self.recipe.core
        return core.fingerprints(texts) if self.recipe.family == "simhash" else core.signatures(texts)
