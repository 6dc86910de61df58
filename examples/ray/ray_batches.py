"""Functions for Ray Data: hashes of batches, and a deduplication whose hashing and reading Ray spreads.

    import ray
    from ray_batches import hashes, near_duplicates, without

    pages = ray.data.read_parquet("crawl")
    pages.map_batches(hashes, batch_format="pyarrow", fn_kwargs={"recipe": "minhash"}).write_parquet("hashed")

    found = near_duplicates(pages, recipe="minhash", threshold=0.8)      # a pyarrow.Table, on the driver
    without(pages, found["id"]).write_parquet("clean")

README.md beside this file says what is promised. A batch is hashed on one thread, since Ray runs a task per core.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import ray
from numpy.typing import NDArray

import nearkin as nk
from nearkin.errors import InputError

CONTENT = "nearkin_content"
"""The name of a column of `near_duplicates`: what exact copies share."""


def hashes(batch: pa.Table, text: str = "text", recipe: str | None = None) -> pa.Table:
    """The batch and one column more, null for a text without features.

    With a recipe of minhash `signature`, a list of the values; else `fingerprint`: uint64 up to 64 bits, above a list
    of words of 64 bits, the lowest first.

    Parameters
    ----------
    batch : pyarrow.Table
        As `map_batches` gives it with `batch_format="pyarrow"`.
    text : str, default "text"
        The column of the texts.
    recipe : str, optional
        A recipe's text form or the name of a preset; None for the default.
    """
    nk.set_num_threads(1)
    name, function = column_of(made := nk.Recipe.of(recipe))
    values, counts = function(batch[text], made, return_counts=True)
    none = pa.array(counts == 0)
    flat = pa.array(values.reshape(-1), mask=none.to_numpy(zero_copy_only=False) if values.ndim == 1 else None)
    column = flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1], mask=none)
    return batch.append_column(name, column)


def column_of(recipe: nk.Recipe) -> tuple[str, Any]:
    """The name of a recipe's column, and the function that makes it."""
    return ("signature", nk.signature) if recipe.family == "minhash" else ("fingerprint", nk.fingerprint)


def near_duplicates(
    pages: ray.data.Dataset, *, text: str = "text", id: str = "id", recipe: str | None = None, threshold: float = 0.8
) -> pa.Table:
    """What goes: the rows that `nk.dedup` would remove from the rows in ascending order of their ids.

    The dataset is read twice: for the hashes, and for the texts of what has candidates, which the driver verifies.

    Parameters
    ----------
    pages : ray.data.Dataset
        Gives the same rows each time, in any order.
    text, id : str
        Columns of the texts, and of ids, integers or strings that all differ.
    recipe : str, optional
        A recipe's text form or the name of a preset; None for the default.
    threshold : float, default 0.8
        Smallest Jaccard similarity of a match, inclusive.

    Returns
    -------
    pyarrow.Table
        `id`, `representative`: the id of the row that stays, and `similarity`; by id.

    Raises
    ------
    InputError
        Ids are missing or not distinct.
    """
    made = nk.Recipe.of(recipe)
    rows = collected(pages.map_batches(partial(hashed, text=text, id=id, recipe=recipe), batch_format="pyarrow"))
    if rows["id"].null_count or pc.count_distinct(rows["id"]).as_py() < len(rows):
        reason = "an id is missing, or not the only one of its kind"
        raise InputError(f"column {id!r}: {reason}; name a column of ids that all differ", place=id, reason=reason)
    rows = rows.sort_by("id")
    # The first row of each content stands for its copies.
    _, first, content = np.unique(rows[CONTENT].to_numpy(), return_index=True, return_inverse=True)
    original = first[content]
    left, right = candidates(rows, np.unique(first), made, threshold)
    absorbed: dict[int, tuple[int, float]] = {}
    if len(left):
        chosen = np.union1d(left, right)
        names = ray.put(rows["id"].take(chosen))
        texts = collected(pages.map_batches(partial(among, text=text, id=id, ids=names), batch_format="pyarrow"))
        places = np.searchsorted(chosen, [left, right])
        similarities = nk.similarity(texts.sort_by("id")["text"], *places, recipe=made)
        absorbed = absorb(left, right, similarities, threshold)
    found = [
        (row, *absorbed.get(stands, (stands, 1.0)))
        for row, stands in enumerate(original.tolist())
        if stands in absorbed or stands != row
    ]
    gone, stay = (rows["id"].take(pa.array([each[at] for each in found], pa.int64())) for at in (0, 1))
    similarity = pa.array([each[2] for each in found], pa.float64())
    return pa.table({"id": gone, "representative": stay, "similarity": similarity})


def without(pages: ray.data.Dataset, ids: pa.ChunkedArray, id: str = "id") -> ray.data.Dataset:
    """The rows whose ids are not among these."""
    return pages.map_batches(partial(stays, ids=ray.put(ids), id=id), batch_format="pyarrow")


def stays(batch: pa.Table, ids: ray.ObjectRef, id: str) -> pa.Table:
    """The rows of a batch whose ids are not among these."""
    return batch.filter(pc.invert(pc.is_in(batch[id], ray.get(ids))))


def hashed(batch: pa.Table, text: str, id: str, recipe: str | None) -> pa.Table:
    """Ids, hashes and contents; without a text a row has the content of an empty one."""
    table = hashes(pa.table({"id": batch[id], "text": batch[text]}), recipe=recipe)
    contents = [blake2b((each or "").encode(), digest_size=16).digest() for each in table["text"].to_pylist()]
    return table.drop_columns("text").append_column(CONTENT, pa.array(contents, pa.binary(16)))


def among(batch: pa.Table, text: str, id: str, ids: ray.ObjectRef) -> pa.Table:
    """Ids and texts of the rows whose ids are among these."""
    return pa.table({"id": batch[id], "text": batch[text]}).filter(pc.is_in(batch[id], ray.get(ids)))


def collected(pages: ray.data.Dataset) -> pa.Table:
    """All rows, on the driver."""
    return pa.concat_tables(pages.iter_batches(batch_size=None, batch_format="pyarrow"))


def candidates(
    rows: pa.Table, originals: NDArray[np.int64], recipe: nk.Recipe, threshold: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of originals that the family proposes, as for `nk.dedup`: row numbers, the smaller one left."""
    name, _ = column_of(recipe)
    column = rows[name].combine_chunks()
    featured = originals[column.is_valid().to_numpy(zero_copy_only=False)[originals]]
    column = column.take(pa.array(featured))
    is_list = pa.types.is_fixed_size_list(column.type)
    values = column.flatten().to_numpy().reshape(len(column), -1) if is_list else column.to_numpy()
    index: nk.BandIndex | nk.HammingIndex
    if recipe.family == "minhash":
        bands = nk.theory.choose_bands(threshold, 0.95, recipe.num_perm)
        index, limit = nk.BandIndex.from_banding(bands, recipe), bands.min_matches / recipe.num_perm
    else:
        limit = nk.theory.simhash_radius(threshold, recipe.bits)
        index = nk.HammingIndex(recipe.bits, radius=limit)
    index.add(featured, values)
    pairs = index.pairs(limit)
    return np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)


def absorb(
    left: NDArray[np.int64], right: NDArray[np.int64], similarities: NDArray[np.float64], threshold: float
) -> dict[int, tuple[int, float]]:
    """Of each row that matches an earlier one that stays: the first such, and their similarity."""
    absorbed: dict[int, tuple[int, float]] = {}
    for pair in np.lexsort((left, right)).tolist():
        one, other = int(left[pair]), int(right[pair])
        if similarities[pair] >= threshold and one not in absorbed and other not in absorbed:
            absorbed[other] = one, float(similarities[pair])
    return absorbed
