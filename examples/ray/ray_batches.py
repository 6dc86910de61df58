"""Functions for Ray Data: hashes of batches, and a deduplication whose reading and hashing Ray distributes.

    import ray
    from ray_batches import hashes, near_duplicates, without

    pages = ray.data.read_parquet("crawl")
    pages.map_batches(hashes, batch_format="pyarrow", fn_kwargs={"recipe": "minhash"}).write_parquet("hashed")

    removed = near_duplicates(pages, recipe="minhash", threshold=0.8)      # a pyarrow.Table, on the driver
    without(pages, removed["id"]).write_parquet("clean")

README.md in this folder lists the guarantees. A batch is hashed on one thread, because Ray runs one task per core.
"""

from __future__ import annotations

from functools import partial
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import ray
from numpy.typing import NDArray

import nearkin as nk
from nearkin.errors import InputError

CONTENT = "nearkin_content"
"""Column of content hashes, which exact copies share."""


def hashes(batch: pa.Table, text: str = "text", recipe: str | None = None) -> pa.Table:
    """Return the batch with a column of hashes, null for a text without features.

    For a MinHash recipe the column is `signature`, a list of values. Otherwise it is `fingerprint`: uint64 up to 64
    bits, or a list of 64-bit words, lowest first.

    Parameters
    ----------
    batch : pyarrow.Table
        A batch of `map_batches` with `batch_format="pyarrow"`.
    text : str, default "text"
        The column of texts.
    recipe : str, optional
        Text form of a recipe or the name of a preset; None for the default.
    """
    nk.set_num_threads(1)
    name, function = hash_function(parsed := nk.Recipe.of(recipe))
    values, counts = function(batch[text], parsed, return_counts=True)
    none = pa.array(counts == 0)
    flat = pa.array(values.reshape(-1), mask=none.to_numpy(zero_copy_only=False) if values.ndim == 1 else None)
    column = flat if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, values.shape[1], mask=none)
    return batch.append_column(name, column)


def hash_function(recipe: nk.Recipe) -> tuple[str, Any]:
    """Return the name of a recipe's column, and the function that computes it."""
    return ("signature", nk.signature) if recipe.family == "minhash" else ("fingerprint", nk.fingerprint)


def near_duplicates(
    pages: ray.data.Dataset,
    *,
    text: str = "text",
    id: str = "id",
    recipe: str | None = None,
    threshold: float = 0.8,
    empty: Literal["keep", "drop"] = "keep",
) -> pa.Table:
    """Return the rows that `nk.dedup` would remove from the rows in ascending order of their ids.

    The dataset is read twice: for the hashes, and for the texts of rows with candidates, which the driver verifies.

    Parameters
    ----------
    pages : ray.data.Dataset
        Must return the same rows each time, in any order.
    text, id : str
        Columns of texts, and of distinct ids, which are integers or strings.
    recipe : str, optional
        Text form of a recipe or the name of a preset; None for the default.
    threshold : float, default 0.8
        Smallest Jaccard similarity of a match, inclusive.
    empty : {"keep", "drop"}
        Rows without features (no text, or no letter or digit) are copies of nothing: they are kept, or all removed.

    Returns
    -------
    pyarrow.Table
        `id`, `representative` (the id of the kept row) and `similarity`, sorted by id; both are null for a row that
        `empty="drop"` removes.

    Raises
    ------
    InputError
        If ids are missing or not distinct.
    """
    parsed = nk.Recipe.of(recipe)
    rows = collect(pages.map_batches(partial(hash_rows, text=text, id=id, recipe=recipe), batch_format="pyarrow"))
    if rows["id"].null_count or pc.count_distinct(rows["id"]).as_py() < len(rows):
        reason = "ids are missing or not distinct"
        raise InputError(f"column {id!r}: {reason}; use a column of distinct ids", place=id, reason=reason)
    rows = rows.sort_by("id")
    dropped = rows["id"].filter(pc.is_null(rows[hash_function(parsed)[0]])) if empty == "drop" else rows["id"][:0]
    rows = rows.filter(pc.is_valid(rows[hash_function(parsed)[0]]))
    # The first row of each content represents its copies.
    _, first, content = np.unique(rows[CONTENT].to_numpy(), return_index=True, return_inverse=True)
    original = first[content]
    left, right = candidates(rows, np.unique(first), parsed, threshold)
    absorbed: dict[int, tuple[int, float]] = {}
    if len(left):
        chosen = np.union1d(left, right)
        names = ray.put(rows["id"].take(chosen))
        texts = collect(pages.map_batches(partial(select_ids, text=text, id=id, ids=names), batch_format="pyarrow"))
        positions = np.searchsorted(chosen, [left, right])
        similarities = nk.similarity(texts.sort_by("id")["text"], *positions, recipe=parsed)
        absorbed = absorb(left, right, similarities, threshold)
    removals = [
        (row, *absorbed.get(first_row, (first_row, 1.0)))
        for row, first_row in enumerate(original.tolist())
        if first_row in absorbed or first_row != row
    ]
    removed, kept = (rows["id"].take(pa.array([each[column] for each in removals], pa.int64())) for column in (0, 1))
    similarity = pa.array([each[2] for each in removals], pa.float64())
    found = pa.table({"id": removed, "representative": kept, "similarity": similarity})
    return pa.concat_tables([found, pa.table({"id": dropped})], promote_options="default").sort_by("id")


def without(pages: ray.data.Dataset, ids: pa.ChunkedArray, id: str = "id") -> ray.data.Dataset:
    """Return the rows whose ids are not among these."""
    return pages.map_batches(partial(exclude_ids, ids=ray.put(ids), id=id), batch_format="pyarrow")


def exclude_ids(batch: pa.Table, ids: ray.ObjectRef, id: str) -> pa.Table:
    """Return the rows of a batch whose ids are not among these."""
    return batch.filter(pc.invert(pc.is_in(batch[id], ray.get(ids))))


def hash_rows(batch: pa.Table, text: str, id: str, recipe: str | None) -> pa.Table:
    """Return ids, hashes and contents."""
    table = hashes(pa.table({"id": batch[id], "text": batch[text]}), recipe=recipe)
    contents = [blake2b((each or "").encode(), digest_size=16).digest() for each in table["text"].to_pylist()]
    return table.drop_columns("text").append_column(CONTENT, pa.array(contents, pa.binary(16)))


def select_ids(batch: pa.Table, text: str, id: str, ids: ray.ObjectRef) -> pa.Table:
    """Return ids and texts of the rows whose ids are among these."""
    return pa.table({"id": batch[id], "text": batch[text]}).filter(pc.is_in(batch[id], ray.get(ids)))


def collect(pages: ray.data.Dataset) -> pa.Table:
    """Return all rows, on the driver."""
    return pa.concat_tables(pages.iter_batches(batch_size=None, batch_format="pyarrow"))


def candidates(
    rows: pa.Table, originals: NDArray[np.int64], recipe: nk.Recipe, threshold: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of originals that the family proposes, as for `nk.dedup`: row numbers, the smaller one left."""
    name, _ = hash_function(recipe)
    column = rows[name].combine_chunks().take(pa.array(originals))
    is_list = pa.types.is_fixed_size_list(column.type)
    values = column.flatten().to_numpy().reshape(len(column), -1) if is_list else column.to_numpy()
    index: nk.BandIndex | nk.HammingIndex
    if recipe.family == "minhash":
        bands = nk.theory.choose_bands(threshold, 0.95, recipe.num_perm)
        index, limit = nk.BandIndex.from_banding(bands, recipe), bands.min_matches / recipe.num_perm
    else:
        limit = nk.theory.simhash_radius(threshold, recipe.bits)
        index = nk.HammingIndex(recipe.bits, radius=limit)
    index.add(originals, values)
    pairs = index.pairs(limit)
    return np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)


def absorb(
    left: NDArray[np.int64], right: NDArray[np.int64], similarities: NDArray[np.float64], threshold: float
) -> dict[int, tuple[int, float]]:
    """Return, for each row that matches an earlier kept row, the first such row and their similarity."""
    absorbed: dict[int, tuple[int, float]] = {}
    for pair in np.lexsort((left, right)).tolist():
        left_row, right_row = int(left[pair]), int(right[pair])
        if similarities[pair] >= threshold and left_row not in absorbed and right_row not in absorbed:
            absorbed[right_row] = left_row, float(similarities[pair])
    return absorbed
