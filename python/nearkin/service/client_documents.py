"""What a call is given, checked as the store checks it, so that what is wrong is refused before anything is sent.

Texts become a list of str or None; files their digests or their bytes, which are read from paths when they are sent;
vectors float32 rows. Ids and columns are those of the store's own checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.files import path_names
from nearkin.dedup.verify import texts_by_row
from nearkin.digests.ssdeep.hashing import read_content
from nearkin.errors import bad_parameter, check_regular, mismatch
from nearkin.families.minhash import as_signatures
from nearkin.index.fingerprints import flat_rows, to_hex
from nearkin.index.ids import Id, IdKeys, Ids, check_ids
from nearkin.io import Corpus
from nearkin.recipe import Recipe
from nearkin.store.kinds.base import FileKind
from nearkin.store.kinds.files import hash_digests
from nearkin.store.records import Cell, Columns, columns_by_row
from nearkin.text.batches import Texts, iterate_batches
from nearkin.vectors.rows import Rows, as_rows

StoreKind = Literal["texts", "files", "vectors"]
"""What a store holds."""
NOUNS: dict[StoreKind, str] = {"texts": "text", "files": "file", "vectors": "vector"}
"""What a document of it is called."""


@dataclass(frozen=True)
class Given:
    """The documents of one call.

    Attributes
    ----------
    field : {"text", "digest", "bytes", "vector"}
        What is known of each.
    count : int
    sizes : list of int
        About how many bytes each has.
    take : function
        The values of rows from a start to a stop: str, bytes, or a float32 array.
    ids : list of int or str, optional
        None stands for row numbers.
    columns : list of dict, optional
        One for each document.
    """

    field: str
    count: int
    sizes: list[int]
    take: Callable[[int, int], Any]
    ids: list[Id] | None = None
    columns: list[dict[str, Cell]] | None = None


def given_documents(
    items: Any, ids: Ids | None, columns: Columns | None, kind: str | None, holds: StoreKind, dimension: int | None
) -> Given:
    """The documents of a call.

    Parameters
    ----------
    items : texts, digests, bytes, paths or vectors
    ids, columns, kind
        As the caller gave them.
    holds : {"texts", "files", "vectors"}
        What the store has.
    dimension : int, optional
        Of its vectors.

    Raises
    ------
    NearkinError, TypeError, OSError
        What the store raises for them.
    """
    keys = None if ids is None else check_ids(ids)
    if isinstance(items, HashedDocuments):
        raise bad_parameter(holds, "documents that were hashed before", "what they were hashed from")
    names: list[str] | None = None
    if holds == "files":
        names = _paths(items, kind)
        found = _of_files(items, kind) if names is None else _of_paths(names)
    else:
        found = _of_vectors(items, kind, dimension) if holds == "vectors" else _of_texts(items, kind)
    if keys is not None and len(keys) != found.count:
        raise bad_parameter("ids", f"{len(keys)} ids", f"{found.count} ids, one per {NOUNS[holds]}")
    if keys is None and names is not None:
        keys = check_ids(names)
    cells = columns_by_row(columns, found.count)
    return replace(found, ids=None if keys is None else listed(keys), columns=cells)


def listed(keys: IdKeys) -> list[Id]:
    """Ids as they are sent."""
    return [*keys.tolist()] if isinstance(keys, np.ndarray) else [*keys]


def _of_texts(items: Any, kind: str | None) -> Given:
    if kind not in (None, "texts"):
        raise bad_parameter("kind", repr(kind), '"texts" or None for a store of texts')
    if isinstance(items, (str, bytes)):
        raise bad_parameter("texts", repr(items)[:40], "an iterable of texts; [text] for one")
    if isinstance(items, Corpus):
        raise bad_parameter("texts", "a Corpus", "the texts of its batches, one call each")
    texts = [text for batch in iterate_batches(cast("Texts", items)) for text in _strings(batch)]
    sizes = [0 if text is None else len(text) if text.isascii() else len(text.encode()) for text in texts]
    return Given("text", len(texts), sizes, lambda start, stop: texts[start:stop])


def _strings(batch: Any) -> list[str | None]:
    """The texts of a batch; what is none is refused by the core, as in the store."""
    content_hashes(batch)
    if isinstance(batch, (list, tuple)):
        return [*batch]
    look_up, count = texts_by_row(batch)
    found = look_up(np.arange(count))
    return cast("list[str | None]", found.to_pylist() if hasattr(found, "to_pylist") else list(found))


def _paths(items: Any, kind: str | None) -> list[str] | None:
    """The names of paths; None where `kind` says something else."""
    if kind is not None and kind not in get_args(FileKind):
        raise bad_parameter("kind", repr(kind), '"digests", "bytes" or "paths" for a store of files')
    return path_names(items, "paths") if kind == "paths" else None


def _of_files(items: Any, kind: str | None) -> Given:
    found = "digests" if kind is None else kind
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise bad_parameter(found, repr(items)[:40], f"an iterable of {found}, such as a list")
    given: Sequence[Any] = list(items)
    if found == "digests":
        hash_digests(given)
        digests = [item.decode("ascii") if isinstance(item, bytes) else item for item in given]
        return Given("digest", len(digests), list(map(len, digests)), lambda start, stop: digests[start:stop])
    for item in given:
        if isinstance(item, str):
            raise bad_parameter("bytes", repr(item)[:40], 'bytes or other buffers; kind="paths" for names of files')
    buffers = [read_content(item) for item in given]
    return Given("bytes", len(buffers), list(map(len, buffers)), lambda start, stop: buffers[start:stop])


def _of_paths(names: list[str]) -> Given:
    for name in names:
        check_regular(name, "a regular file")
    sizes = [Path(name).stat().st_size for name in names]
    return Given(
        "bytes", len(names), sizes, lambda start, stop: [Path(name).read_bytes() for name in names[start:stop]]
    )


def _of_vectors(items: Any, kind: str | None, dimension: int | None) -> Given:
    if kind not in (None, "vectors"):
        raise bad_parameter("kind", repr(kind), '"vectors" or None for a store of vectors')
    values = single_precision(as_rows(items, dimension=dimension))
    count, numbers = values.shape
    return Given("vector", count, [4 * numbers] * count, lambda start, stop: values[start:stop])


def single_precision(rows: Rows) -> NDArray[np.float32]:
    """Vectors as the store keeps them.

    Raises
    ------
    InputError
        NaN or infinite values, also of float32.
    """
    rows.norms()
    with np.errstate(over="ignore"):
        values: NDArray[np.float32] = np.ascontiguousarray(rows.dense(), np.float32) + np.float32(0)
    Rows(values, None).norms()
    return values


def queries_of(recipe: Recipe, values: Any) -> list[dict[str, Any]]:
    """Fingerprints or signatures as queries.

    Raises
    ------
    ParameterError, MismatchError
        Values of another shape or type.
    """
    if recipe.family != "minhash":
        rows = flat_rows(values, recipe.bits, "values").reshape(-1, recipe.words)
        return [{"fingerprint": text} for text in to_hex(rows if recipe.words > 1 else rows.reshape(-1), recipe.bits)]
    signatures = as_signatures(values, "values", recipe.num_perm)
    if signatures.dtype.itemsize * 8 != recipe.value_bits:
        raise mismatch("bits of a value", f"a store of {recipe.value_bits}", f"values of {signatures.dtype}")
    return [{"signature": row} for row in signatures.tolist()]
