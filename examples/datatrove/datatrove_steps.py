"""Steps for pipelines of datatrove: hashes beside each document, and a filter that drops near-duplicates.

    from datatrove_steps import Hashes, NearDuplicates

    pipeline = [
        ParquetReader("crawl"),
        Hashes("char:4|binary|xxh3|simhash:128"),        # metadata["fingerprint"]
        NearDuplicates("pages.store"),          # or NearDuplicates() within each task, or the URL of a service
        ParquetWriter("clean"),
    ]
    LocalPipelineExecutor(pipeline, tasks=8).run()

README.md beside this file says what is promised. A task works on one thread, since an executor runs a task per core.
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
    """Adds the fingerprint of each document to its metadata, or with a recipe of minhash the signature.

    `metadata["fingerprint"]` is hexadecimal, the highest bit first (`nearkin.index.fingerprints.from_hex` reads it);
    `metadata["signature"]` is a list of integers. Both are None for a text without features. `metadata["recipe"]` says
    how they were made.

    Parameters
    ----------
    recipe : str, optional
        A recipe's text form or the name of a preset; None for the default.
    batch_size : int, default 1,000
        Documents that are hashed together; it changes no value.
    """

    name = "nearkin hashes"
    type = "HASH"

    def __init__(self, recipe: str | None = None, batch_size: int = 1000) -> None:
        super().__init__()
        self.recipe = str(nk.Recipe.of(recipe))
        self.batch_size = batch_size

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        """Give every document on, with its hash."""
        nk.set_num_threads(1)
        for batch in batched(data, self.batch_size):
            with self.track_time("batch"):
                name, values = hashes([document.text for document in batch], self.recipe)
            for document, value in zip(batch, values, strict=True):
                self.stat_update(StatHints.total)
                document.metadata |= {name: value, "recipe": self.recipe}
                yield document


def hashes(texts: list[str], recipe: str) -> tuple[str, list[Any]]:
    """What the values are called, and one per text, None for a text without features."""
    if (made := nk.Recipe.of(recipe)).family == "minhash":
        signatures, counts = nk.signature(texts, made, return_counts=True)
        name, values = "signature", signatures.tolist()
    else:
        fingerprints, counts = nk.fingerprint(texts, made, return_counts=True)
        name, values = "fingerprint", to_hex(fingerprints, made.bits)
    return name, [value if count else None for value, count in zip(values, counts, strict=True)]


class NearDuplicates(BaseFilter):
    """Drops documents that are copies or near-duplicates of one that is kept.

    The metadata of a dropped document says which one, under `near_duplicate_of`, and how similar the two are, under
    `similarity`; `exclusion_writer` gets them. Statistics count `dropped_exact` and `dropped_near`.

    Parameters
    ----------
    store : str, optional
        Folder of a store that all tasks share, made by the first one if it is not there, or the URL of a service. None
        compares the documents of each task with one another alone, in a store that goes when the task ends.
    threshold : float, optional
        Smallest Jaccard similarity of a match; None for that of a store that is there, else 0.8.
    recipe : str, optional
        How texts are compared; None for that of a store that is there, else the default.
    token : str, optional
        Of a service.
    exclusion_writer : DiskWriter, optional
        Where dropped documents go.
    batch_size : int, default 1,000
        Documents per commit of the store; it changes no answer.

    Raises
    ------
    MismatchError
        When the task runs: a store that is there has another threshold or recipe.
    InputError
        When the task runs: an id is there with another text.
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
        self.place, self.threshold, self.recipe, self.token = store, threshold, recipe, token

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        """Give on what is kept."""
        nk.set_num_threads(1)
        with self.opened() as self.store:
            wanted = {"threshold": self.threshold, "recipe": self.recipe and str(nk.Recipe.of(self.recipe))}
            settings = self.store.stats().settings
            for name, value in wanted.items():
                if value is not None and value != settings[name]:
                    raise mismatch(name, f"store of {settings[name]}", f"filter of {value}")
            yield from super().run(data, rank, world_size)

    @contextmanager
    def opened(self) -> Iterator[nk.Store | nk.Client]:
        """The store of this task."""
        with tempfile.TemporaryDirectory() as folder:
            place = self.place or f"{folder}/task.store"
            is_url = place.startswith(("http://", "https://"))
            with nk.Client(place, self.token) if is_url else self.made(place) as store:
                yield store

    def made(self, path: str) -> nk.Store:
        """The store at a path, which is made if it is not there."""
        try:
            return nk.Store.create(path, self.recipe, threshold=self.threshold)
        except FileExistsError:
            return nk.Store.open(path)

    def filter(self, doc: Document) -> bool | tuple[bool, str]:
        """Whether one document is kept."""
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Document]) -> list[bool | tuple[bool, str]]:
        """Whether each document is kept, or False and the reason."""
        answers = self.store.check_and_add([doc.text for doc in batch], [doc.id for doc in batch])
        found: list[bool | tuple[bool, str]] = []
        for doc, row in zip(batch, answers.rows(), strict=True):
            # When a task runs again its documents are "known", and get their first answer: without a match if new.
            if row["match"] is None:
                found.append(True)
            else:
                doc.metadata |= {"near_duplicate_of": row["match"], "similarity": row["similarity"]}
                found.append((False, row["status"]))
        return found
