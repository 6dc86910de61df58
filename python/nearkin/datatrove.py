"""Steps for pipelines of datatrove: hashes in the metadata of documents, and a filter that drops near-duplicates.

    from datatrove_steps import Hashes, NearDuplicates

    pipeline = [
        ParquetReader("crawl"),
        Hashes("char:4|binary|xxh3|simhash:128"),        # metadata["fingerprint"]
        NearDuplicates("pages.store"),          # or NearDuplicates() within each task, or the URL of a service
        ParquetWriter("clean"),
    ]
    LocalPipelineExecutor(pipeline, tasks=8).run()

README.md in this folder lists the guarantees. A task uses one thread, because an executor runs one task per core.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from datatrove.data import Document, DocumentsPipeline
from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.pipeline.writers.disk_base import DiskWriter
from datatrove.utils.batching import batched
from datatrove.utils.typeshelper import StatHints

import nearkin as nk
from nearkin.errors import mismatch
from nearkin.index.fingerprints import to_hex


class Hashes(PipelineStep):
    """A step that adds the fingerprint of each document to its metadata, or the signature for a MinHash recipe.

    `metadata["fingerprint"]` is hexadecimal, highest bit first (`nearkin.index.fingerprints.from_hex` reads it);
    `metadata["signature"]` is a list of integers. Both are None for a text without features. The
    recipe is in `metadata["recipe"]`.

    Parameters
    ----------
    recipe : str, optional
        Text form of a recipe or the name of a preset; None for the default.
    batch_size : int, default 1,000
        Documents that are hashed together; it does not change the values.
    """

    name = "nearkin hashes"
    type = "HASH"

    def __init__(self, recipe: str | None = None, batch_size: int = 1000) -> None:
        super().__init__()
        self.recipe = str(nk.Recipe.of(recipe))
        self.batch_size = batch_size

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        """Yield every document with its hash."""
        nk.set_num_threads(1)
        for batch in batched(data, self.batch_size):
            with self.track_time("batch"):
                name, values = hashes([document.text for document in batch], self.recipe)
            for document, value in zip(batch, values, strict=True):
                self.stat_update(StatHints.total)
                document.metadata |= {name: value, "recipe": self.recipe}
                yield document


def hashes(texts: list[str], recipe: str) -> tuple[str, list[Any]]:
    """Return the name of the values, and one value per text; None for a text without features."""
    if (parsed := nk.Recipe.of(recipe)).family == "minhash":
        signatures, counts = nk.signature(texts, parsed, return_counts=True)
        name, values = "signature", signatures.tolist()
    else:
        fingerprints, counts = nk.fingerprint(texts, parsed, return_counts=True)
        name, values = "fingerprint", to_hex(fingerprints, parsed.bits)
    return name, [value if count else None for value, count in zip(values, counts, strict=True)]


class NearDuplicates(BaseFilter):
    """A filter that drops documents that are copies or near-duplicates of a kept document.

    The metadata of a dropped document has the kept document's id as `near_duplicate_of`, and their `similarity`.
    `exclusion_writer` receives dropped documents. Statistics count `dropped_exact` and `dropped_near`.

    Parameters
    ----------
    store : str, optional
        Folder of a store that all tasks share, which the first task creates if necessary, or the URL of a service. None
        compares only the documents of the same task, in a store that is deleted when the task ends.
    threshold : float, optional
        Smallest Jaccard similarity of a match; None for that of an existing store, or 0.8.
    recipe : str, optional
        How texts are compared; None for that of an existing store, or the default.
    token : str, optional
        Token of the service.
    exclusion_writer : DiskWriter, optional
        Writer of dropped documents.
    batch_size : int, default 1,000
        Documents per commit of the store; it does not change results.

    Raises
    ------
    MismatchError
        When the task runs, if an existing store has another threshold or recipe.
    InputError
        When the task runs, if an id is stored with another text.
    """

    name = "nearkin near-duplicates"

    def __init__(
        self,
        store: str | None = None,
        *,
        threshold: float | None = None,
        recipe: str | None = None,
        token: str | None = None,
        exclusion_writer: DiskWriter | None = None,
        batch_size: int = 1000,
    ) -> None:
        super().__init__(exclusion_writer, batch_size)
        self.store_path, self.threshold, self.recipe, self.token = store, threshold, recipe, token

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        """Yield the kept documents."""
        nk.set_num_threads(1)
        with self.open_store() as self.store:
            requested = {"threshold": self.threshold, "recipe": self.recipe and str(nk.Recipe.of(self.recipe))}
            settings = self.store.stats().settings
            for name, value in requested.items():
                if value is not None and value != settings[name]:
                    raise mismatch(name, f"store of {settings[name]}", f"filter of {value}")
            yield from super().run(data, rank, world_size)

    @contextmanager
    def open_store(self) -> Iterator[nk.Store | nk.Client]:
        """Open the store of this task."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.store_path or f"{folder}/task.store"
            is_url = path.startswith(("http://", "https://"))
            with nk.Client(path, self.token) if is_url else self.open_or_create(path) as store:
                yield store

    def open_or_create(self, path: str) -> nk.Store:
        """Open the store at a path; create it if it does not exist."""
        try:
            return nk.Store.create(path, self.recipe, threshold=self.threshold)
        except FileExistsError:
            return nk.Store.open(path)

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        """Return True if the document is kept."""
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Document]) -> list[bool | tuple[bool, str]]:
        """Return True for each kept document, or False and the reason."""
        result = self.store.check_and_add([doc.text for doc in batch], [doc.id for doc in batch])
        decisions: list[bool | tuple[bool, str]] = []
        for doc, row in zip(batch, result.rows(), strict=True):
            # When a task runs again, its documents are "known" and get their first result, without a match if new.
            if row["match"] is None:
                decisions.append(True)
            else:
                doc.metadata |= {"near_duplicate_of": row["match"], "similarity": row["similarity"]}
                decisions.append((False, row["status"]))
        return decisions
