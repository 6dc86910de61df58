"""Fingerprints and signatures of batches, for the `map` of other libraries.

    ds.map(nk.batched.fingerprint, batched=True)                                  # a Dataset of Hugging Face
    pages.map_batches(nk.batched.signature, batch_format="pyarrow")               # a Dataset of Ray

A batch is a `pyarrow.Table` or `RecordBatch`, which comes back with one column more, or a mapping of column names to
lists or arrays: a `dict` comes back with one key more, and for any other mapping (the lazy batches of Hugging Face) the
result has the new column alone, which the library adds to those it has. Arrow is faster, because its texts are read in
place: use `ds.with_format("arrow")`, and `batch_format="pyarrow"` in Ray.

The values are those of `nk.fingerprint` and `nk.signature`, bit for bit, for any batches. A text without features has
null, not a hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from nearkin.dedup.candidates.minhash import band_keys
from nearkin.errors import bad_parameter
from nearkin.families.minhash import signature as _signature
from nearkin.families.simhash import fingerprint as _fingerprint
from nearkin.io.arrow import append_column
from nearkin.io.frames import is_frame, read_columns, text_column
from nearkin.recipe import Recipe
from nearkin.theory.banding import choose_bands

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["bands", "fingerprint", "signature"]

_Batch = TypeVar("_Batch")


def fingerprint(
    batch: _Batch, text: str = "text", recipe: Recipe | str | None = None, column: str = "fingerprint"
) -> _Batch:
    """Add a column of fingerprints to a batch.

    Parameters
    ----------
    batch : pyarrow.Table, pyarrow.RecordBatch or mapping of str to list or array
    text : str, default "text"
        Column of the texts; null has no fingerprint.
    recipe : Recipe, str or None
        Recipe, its text form, or the name of a preset; None for the default.
    column : str, default "fingerprint"
        Name of the new column.

    Returns
    -------
    batch
        Of the same type. Up to 64 bits the column is uint64; above, each value is a list of 64-bit words, lowest first.

    Raises
    ------
    ParameterError
        A column that is missing, or one that already has the name of the new one; a batch of another type.

    Examples
    --------
    >>> import nearkin as nk
    >>> batch = nk.batched.fingerprint({"text": ["the cat sat", None]}, recipe="char:4|count|xxh3|simhash:64")
    >>> [value and hex(value) for value in batch["fingerprint"]]
    ['0xc9850b19e0196005', None]
    """
    texts = _read_texts(batch, text, column)
    values, counts = _fingerprint(texts, Recipe.of(recipe), return_counts=True)
    return _with_column(batch, column, values, counts == 0)


def signature(
    batch: _Batch, text: str = "text", recipe: Recipe | str | None = "minhash", column: str = "signature"
) -> _Batch:
    """Add a column of MinHash signatures to a batch.

    Parameters
    ----------
    batch, text
        As for `fingerprint`.
    recipe : Recipe or str, default "minhash"
        A MinHash recipe, its text form, or the name of a preset.
    column : str, default "signature"
        Name of the new column.

    Returns
    -------
    batch
        Of the same type. Each value is a list of `num_perm` integers, uint32 or uint64 as in `nk.signature`.

    Raises
    ------
    ParameterError
        As for `fingerprint`, and for a recipe without signatures.

    Examples
    --------
    >>> import nearkin as nk, pyarrow as pa
    >>> table = nk.batched.signature(pa.table({"text": ["the cat sat"]}), recipe="word:1|binary|xxh3|minhash:4:64")
    >>> table["signature"].type, table["signature"].to_pylist() == nk.signature(
    ...     ["the cat sat"], "word:1|binary|xxh3|minhash:4:64").tolist()
    (FixedSizeListType(fixed_size_list<item: uint64>[4]), True)
    """
    texts = _read_texts(batch, text, column)
    values, counts = _signature(texts, Recipe.of(recipe), return_counts=True)
    return _with_column(batch, column, values, counts == 0)


def bands(
    batch: _Batch,
    text: str = "text",
    recipe: Recipe | str | None = "minhash",
    column: str = "bands",
    *,
    threshold: float = 0.8,
    recall: float = 0.95,
) -> _Batch:
    """Add a column of the bands of MinHash signatures, as words for the index of a search engine or a database.

    Texts that share a word are candidates for near-duplicates: a pair at the threshold shares one with the probability
    `recall`. A word has the number of its band and the hash of its values, such as "3-9f86d081884c7d65".

    Parameters
    ----------
    batch, text, recipe
        As for `signature`.
    column : str, default "bands"
        Name of the new column.
    threshold : float, default 0.8
        Similarity from which pairs are requested; all documents and queries of an index need the same one.
    recall : float, default 0.95
        Probability with which a pair at the threshold is found (`nearkin.theory.choose_bands`).

    Returns
    -------
    batch
        Of the same type. Each value is a list of strings.

    Raises
    ------
    ParameterError
        As for `signature`, and for a threshold and a recall that no bands of this recipe have.

    Examples
    --------
    >>> import nearkin as nk
    >>> batch = nk.batched.bands({"text": ["red wine from France", "red wine from France!"]}, threshold=0.9)
    >>> len(batch["bands"][0]), batch["bands"][0] == batch["bands"][1]
    (10, True)
    """
    texts = _read_texts(batch, text, column)
    parsed = Recipe.of(recipe)
    values, counts = _signature(texts, parsed, return_counts=True)
    keys = band_keys(values, choose_bands(threshold, recall, parsed.num_perm))
    words: list[list[str] | None] = [
        [f"{band}-{key:016x}" for band, key in enumerate(row)] if count else None
        for row, count in zip(keys.tolist(), counts.tolist(), strict=True)
    ]
    if isinstance(batch, Mapping):
        return cast("_Batch", {**batch, column: words} if isinstance(batch, dict) else {column: words})
    import pyarrow as pa

    return cast("_Batch", append_column(batch, column, pa.array(words, pa.list_(pa.string()))))


def _read_texts(batch: object, text: str, column: str) -> Any:
    """Return the texts of a batch."""
    names = [] if isinstance(batch, Mapping) else getattr(getattr(batch, "schema", None), "names", None)
    if names is None:
        allowed = "a table of pyarrow or a mapping of columns: batched=True in datasets, batch_format='pyarrow' in Ray"
        raise bad_parameter("batch", f"a {type(batch).__name__}", allowed)
    if column in (batch if isinstance(batch, Mapping) else names):
        raise bad_parameter("column", repr(column), "a name that no column of the batch has")
    if not isinstance(batch, Mapping) and is_frame(batch):
        return text_column(read_columns(batch, {"text": text})[text], text)
    if isinstance(batch, Mapping) and text in batch:
        texts = batch[text]
        if isinstance(texts, str):
            raise bad_parameter("batch", "one example", "a batch of them: batched=True in datasets")
        return texts
    raise bad_parameter("text", repr(text), f"one of the columns {', '.join(map(repr, batch))}")  # type: ignore[call-overload]


def _with_column(batch: _Batch, name: str, values: NDArray[Any], is_null: NDArray[np.bool_]) -> _Batch:
    """Return a batch with one column more."""
    if not isinstance(batch, Mapping):
        return cast("_Batch", append_column(batch, name, _arrow_column(values, is_null)))
    cells: Any = list(values) if is_null.any() or values.ndim > 1 else values
    for row in np.flatnonzero(is_null).tolist():
        cells[row] = None
    return cast("_Batch", {**batch, name: cells} if isinstance(batch, dict) else {name: cells})


def _arrow_column(values: NDArray[Any], is_null: NDArray[np.bool_]) -> pa.Array:
    """Convert values to an array: integers, or lists of one length."""
    import pyarrow as pa

    if values.ndim == 1:
        return pa.array(values, mask=is_null)
    mask = pa.array(is_null) if is_null.any() else None
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1], mask=mask)
