"""A store of texts as a table of `nearkin.spark.hashes`, and back, without hashing.

A row is a document: id, text, hashes. On an engine the table is what later documents are compared with, `dedup(df,
against=table, hashes="hashes")`; in a store it is a document like any other. Both directions stream batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin.dedup.candidates import MinHashCandidates
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.dedup.documents import HashedDocuments
from nearkin.distributed.documents import pack_hashes, unpack_hashes, value_dtype
from nearkin.errors import bad_parameter, mismatch
from nearkin.io.arrow import check_arrow, open_batches, to_values
from nearkin.store.kinds.texts import NO_IDS, TextSettings
from nearkin.store.store import Store

if TYPE_CHECKING:
    import pyarrow as pa


def read_store(store: Store, *, text: str = "text", id: str = "id", column: str = "hashes") -> pa.RecordBatchReader:
    """Return the new documents of a store, in the order of addition, as a stream of Arrow batches.

    Write it with `pyarrow.dataset.write_dataset`, and read the folder on an engine.

    Parameters
    ----------
    store : Store
        Of texts, with `text="keep"`. It must stay open until the stream is read.
    text, id, column : str
        Names of the columns: strings; integers or strings; the hashes, binary.

    Raises
    ------
    MismatchError
        A store of something else, or without texts.
    """
    import pyarrow as pa

    source = _source(store, "keep")
    id_type = pa.string() if store.id_kind == "str" else pa.int64()
    schema = pa.schema({id: id_type, text: pa.string(), column: pa.binary()})

    def batches() -> Iterator[pa.RecordBatch]:
        for documents in store.iter_documents():
            new = [document for document in documents if document.status == "new"]
            if not new:
                continue
            ids = [document.id for document in new]
            texts = store.texts(ids)
            values = store.values(ids).reshape(len(ids), *value_dtype(source).shape)
            features = np.array([document.features for document in new], np.uint64)
            hashes = pack_hashes(source.recipe, texts, values, features)
            yield pa.RecordBatch.from_arrays(
                [pa.array(ids, id_type), pa.array(texts, pa.string()), hashes], schema=schema
            )

    return pa.RecordBatchReader.from_batches(schema, batches())


def add_to_store(
    store: Store, rows: Any, *, text: str = "text", id: str = "id", column: str = "hashes", absorb: bool = True
) -> int:
    """Add the rows of a table with hashes to a store, and return the number of new documents.

    Each batch is one durable step.

    Parameters
    ----------
    store : Store
        Of texts, with the recipe of the hashes.
    rows : Arrow table or stream
        Such as `pyarrow.dataset.dataset(folder).scanner().to_reader()`, or `DataFrame.toArrow()`.
    text, id, column : str
        Names of the columns.
    absorb : bool, default True
        Compare documents as `Store.check_and_add` does. False keeps all, as `Store.add` does: documents that an engine
        has compared already.

    Raises
    ------
    MismatchError
        A store of something else.
    InputError
        Hashes of another recipe or of another text; an id that the store has for another text.
    ParameterError
        A missing column, or ids of another kind than the store's.
    """
    source, count = _source(store), 0
    add = store.check_and_add if absorb else store.add
    reader = open_batches(rows, "rows")
    if missing := [name for name in (id, text, column) if name not in reader.schema.names]:
        raise bad_parameter("rows", f"no column {missing[0]!r}", f"a table with the columns {id}, {text} and {column}")
    for batch in reader:
        if batch.num_rows:
            cells = {name: check_arrow(batch.column(name), f"column {name!r}") for name in (id, text, column)}
            # Stores take hashed documents in place of texts.
            hashed: Any = _hashed(source, to_values(cells[text]), cells[column], column)
            count += int(add(hashed, to_values(cells[id])).is_new.sum())
    return count


def _source(store: Store, text: str | None = None) -> MinHashCandidates | SimHashCandidates:
    """Return the source of candidates of a store of texts."""
    settings = store.settings
    if not isinstance(settings, TextSettings):
        raise mismatch("store", f"a store of {settings.kind}s", "a table of texts")
    if settings.pages:
        raise mismatch("kind", "a store of pages, which counts lines", "a table of hashes, which are of all lines")
    if text is not None and settings.text != text:
        raise settings.no_texts_error()
    return settings.source


def _hashed(
    source: MinHashCandidates | SimHashCandidates, texts: list[str | None], cells: pa.Array, column: str
) -> HashedDocuments:
    """Return texts with their cells of hashes as documents of a store."""
    values, features, contents, lengths = unpack_hashes(source.recipe, texts, cells, value_dtype(source), column)
    return HashedDocuments(
        values,
        features,
        contents.reshape(-1, 2),
        lengths,
        NO_IDS,
        {},
        lambda rows: [texts[row] or "" for row in rows.tolist()],
    )
