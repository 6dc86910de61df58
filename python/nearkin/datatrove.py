"""Steps for pipelines of datatrove: hashes, a filter of near-duplicates, and a deduplication in three steps.

    from datatrove.executor import LocalPipelineExecutor
    from nearkin.datatrove import DedupCluster, DedupFilter, DedupHash, Hashes, NearDuplicates

    # Within each task, or with the documents of a store or a service:
    pipeline = [ParquetReader("crawl"), NearDuplicates("pages.store"), ParquetWriter("clean")]
    LocalPipelineExecutor(pipeline, tasks=8).run()

    # All tasks with one another, in three pipelines, as datatrove's own deduplications:
    hashing = LocalPipelineExecutor([ParquetReader("crawl"), DedupHash("work")], tasks=8)
    clustering = LocalPipelineExecutor([DedupCluster("work")], tasks=1, depends=hashing)
    LocalPipelineExecutor([ParquetReader("crawl"), DedupFilter("work"), ParquetWriter("clean")], tasks=8,
                          depends=clustering).run()

A task uses one thread, because an executor runs one task per core. The module needs the extra `datatrove`;
docs/dataflows.md lists the guarantees.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nearkin._core import set_num_threads
from nearkin.dedup.config import EngineDedupOptions, engine_config
from nearkin.distributed.documents import to_integers
from nearkin.distributed.frames import PLACE, FileTable, FileTasks, Part, TaskFrame, apply_stage, sql_schema
from nearkin.distributed.job import TableJob, read_block
from nearkin.distributed.pages import PageHashing
from nearkin.distributed.plan import hashed_schema, hashed_source
from nearkin.distributed.tables import build_tables
from nearkin.errors import check_options, input_error, mismatch, require_extra
from nearkin.families.minhash import signature
from nearkin.families.simhash import fingerprint
from nearkin.index.fingerprints import to_hex
from nearkin.io.arrow import to_values
from nearkin.progress import ignore_progress
from nearkin.recipe import Recipe
from nearkin.service.client import Client
from nearkin.store.store import Store

with require_extra("datatrove", "nearkin.datatrove"):
    from datatrove.data import Document, DocumentsPipeline
    from datatrove.io import DataFolder, get_datafolder
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.filters.base_filter import BaseFilter
    from datatrove.pipeline.writers.disk_base import DiskWriter
    from datatrove.utils.batching import batched
    from datatrove.utils.typeshelper import StatHints

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from nearkin.dedup.config import DedupConfig

__all__ = ["DedupCluster", "DedupFilter", "DedupHash", "Hashes", "NearDuplicates"]

_SHARD = 1 << PLACE
"""Documents of a shard: the id of a document is that of its shard, times this, plus its row, and so is its place."""


class Hashes(PipelineStep):  # type: ignore[misc, unused-ignore]
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
        self.recipe = str(Recipe.of(recipe))
        self.batch_size = batch_size

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        """Yield every document with its hash."""
        set_num_threads(1)
        for batch in batched(data, self.batch_size):
            with self.track_time("batch"):
                name, values = _hashes([document.text for document in batch], self.recipe)
            for document, value in zip(batch, values, strict=True):
                self.stat_update(StatHints.total)
                document.metadata |= {name: value, "recipe": self.recipe}
                yield document


def _hashes(texts: list[str], recipe: str) -> tuple[str, list[Any]]:
    """Return the name of the values, and one value per text; None for a text without features."""
    if (parsed := Recipe.of(recipe)).family == "minhash":
        signatures, counts = signature(texts, parsed, return_counts=True)
        name, values = "signature", signatures.tolist()
    else:
        fingerprints, counts = fingerprint(texts, parsed, return_counts=True)
        name, values = "fingerprint", to_hex(fingerprints, parsed.bits)
    return name, [value if count else None for value, count in zip(values, counts, strict=True)]


class NearDuplicates(BaseFilter):  # type: ignore[misc, unused-ignore]
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
        set_num_threads(1)
        with self.open_store() as self.store:
            requested = {"threshold": self.threshold, "recipe": self.recipe and str(Recipe.of(self.recipe))}
            settings = self.store.stats().settings
            for name, value in requested.items():
                if value is not None and value != settings[name]:
                    raise mismatch(name, f"store of {settings[name]}", f"filter of {value}")
            yield from super().run(data, rank, world_size)

    @contextmanager
    def open_store(self) -> Iterator[Store | Client]:
        """Open the store of this task."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.store_path or f"{folder}/task.store"
            is_url = path.startswith(("http://", "https://"))
            with Client(path, self.token) if is_url else self.open_or_create(path) as store:
                yield store

    def open_or_create(self, path: str) -> Store:
        """Open the store at a path; create it if it does not exist."""
        try:
            return Store.create(path, self.recipe, threshold=self.threshold)
        except FileExistsError:
            return Store.open(path)

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


class _StepOptions(EngineDedupOptions, total=False):
    """Options of a deduplication in steps."""

    threshold: float | None
    recipe: Recipe | str | None
    keep: str
    measure: Any


def _config(step: type, options: _StepOptions) -> DedupConfig:
    check_options(step, _StepOptions, options)
    args: dict[str, Any] = {"recipe": None, "keep": "first", **options}
    return engine_config(**args)


def _facts(config: DedupConfig) -> dict[str, Any]:
    """Return the options that determine the files of `DedupHash`."""
    pages = config.kind == "pages"
    return {"recipe": str(config.recipe), "keep": config.keep, "texts": config.comparison is not None, "pages": pages}


def _schema(config: DedupConfig) -> str:
    """Return the columns of a file of `DedupHash`, without texts and names."""
    return f"{hashed_schema('bigint', pages=config.kind == 'pages')}, place bigint"


class DedupHash(PipelineStep):  # type: ignore[misc, unused-ignore]
    """The first step of a deduplication: each task hashes its documents and writes them to a file.

    The rows of the file are the documents in the order in which the task reads them. It contains their texts if the
    options verify by texts, which is the default; with `verify="signature"` and a MinHash recipe it has 600 bytes per
    document.

    Parameters
    ----------
    folder : str
        A folder or URL of datatrove that all tasks share.
    **options
        `threshold`, `recipe`, `keep`, and the others of `nearkin.ray.dedup`: kind, radius, recall, bands, verify,
        differ, empty, cluster. Give `DedupCluster` the same ones. A column of `keep`, as in "max:score", is one
        of the metadata. With `kind="pages"` the site of a page is that of the URL in its metadata, `url`, or of its id.

    Raises
    ------
    ParameterError
        Options out of range.
    """

    name = "nearkin dedup: hash"
    type = "DEDUP"

    def __init__(self, folder: str, **options: Unpack[_StepOptions]) -> None:
        super().__init__()
        self.folder, self.options = get_datafolder(folder), options
        _config(type(self), options)

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        """Write the file of a task, and yield its documents."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        set_num_threads(1)
        config = _config(type(self), self.options)
        columns = [by.column for by in config.order if by.column]
        hashing = PageHashing(hashed_source(config), tuple(config.order), True, False, ("text", "id", *columns))
        stage = hashing.pages if config.kind == "pages" else hashing.rows
        names = [(name, name) for name in ("id", "text", "source", *(f"key{at}" for at in range(len(columns))))]
        path, row, writer = f"hashes/{rank:05d}.parquet", 0, None
        with self.folder.open(path, "wb") as file:
            for batch in batched(data, 1000):
                with self.track_time("batch"):
                    cells: dict[str, Any] = {
                        "id": pa.array(rank * _SHARD + np.arange(row, row + len(batch))),
                        "text": pa.array([document.text for document in batch], pa.large_string()),
                        "source": [str(document.metadata.get("url", document.id)) for document in batch],
                    }
                    for at, column in enumerate(columns):
                        cells[f"key{at}"] = [document.metadata.get(column) for document in batch]
                    table = read_block(names, "bigint", rank, pa.table(cells))
                    texts = table.column("text")
                    if config.comparison is None:
                        texts = pa.nulls(len(batch), pa.large_string())
                    rows = apply_stage(stage, _schema(config), table)
                    if config.kind != "pages":
                        rows = rows.append_column("text", texts)
                    rows = rows.append_column("name", pa.array([document.id for document in batch], pa.large_string()))
                    if writer is None:
                        writer = pq.ParquetWriter(file, rows.schema, compression="zstd")
                    writer.write_table(rows)
                row += len(batch)
                self.stat_update(StatHints.total, value=len(batch))
                yield from batch
            if writer is not None:
                facts = {"documents": row, "tasks": world_size, **_facts(config)}
                writer.add_key_value_metadata({"nearkin": json.dumps(facts)})
                writer.close()


class DedupCluster(PipelineStep):  # type: ignore[misc, unused-ignore]
    """The second step of a deduplication, in one task: it compares all documents, and lists those that go.

    The result is that of `nearkin.dedup` on the documents in the order of shards and rows, with their positions as ids:
    kept documents, representatives and similarities. The task holds one part of the rows at a time, and the others in
    a temporary folder (`TMPDIR`); texts stay in the files of hashes, except those of candidates.

    Parameters
    ----------
    folder : str
        The folder of `DedupHash`.
    **options
        Those of `DedupHash`.

    Raises
    ------
    MismatchError
        When the task runs, if the files were hashed with other options.
    InputError
        When the task runs, if it is not alone, or there are no files or not those of all tasks.
    """

    name = "nearkin dedup: cluster"
    type = "DEDUP"

    def __init__(self, folder: str, **options: Unpack[_StepOptions]) -> None:
        super().__init__()
        self.folder, self.options = get_datafolder(folder), options
        _config(type(self), options)

    def run(self, data: DocumentsPipeline = None, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        """Write the list of removed documents of each shard."""
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

        if world_size != 1:
            raise input_error("tasks", f"{world_size}, and DedupCluster runs in one; give its executor tasks=1")
        config = _config(type(self), self.options)
        paths = sorted(self.folder.list_files("hashes"))
        facts = {path: each for path in paths if (each := _read_facts(self.folder, path)) is not None}
        for path, each in facts.items():
            if each["tasks"] != len(paths):
                raise input_error("hashes", f"{len(paths)} files of {each['tasks']} tasks; run the others first")
            for name, value in _facts(config).items():
                if each[name] != value:
                    raise mismatch(name, f"{each[name]!r} of {path}", f"{value!r} of DedupCluster")
        tasks = FileTasks()
        job = TableJob(tasks, config, integer=True, report=ignore_progress)
        # The place of a document has the number of its shard, and some shards have no rows.
        none = sql_schema(", ".join(dict.fromkeys([*_schema(config).split(", "), "text string", "name string"])))
        parts = [
            Part((FileTable(partial(_read_table, self.folder, path), path, facts[path]["documents"]),))
            if path in facts
            else Part((none.empty_table(),))
            for path in paths
        ]
        documents = hashed = texts = TaskFrame(tasks, parts)
        with self.track_time():
            if job.pages:
                [hashed], texts = job.hash_pages([documents], [", place bigint"])
            job.count_documents(hashed, "id", reference=False)
            job.use(hashed, texts=texts)
            clusters = build_tables(job)[0].clusters
        removed = clusters.filter(pc.not_equal(clusters.column("reason"), "kept"))
        numbers = to_integers(removed.column("id"))
        kept = job.checkpoint.table("kept", "id bigint", lambda: pa.table({"id": pc.unique(removed["representative"])}))
        named = kept.join(documents.select("id", "name"), "id").toArrow().sort_by("id")
        at = np.searchsorted(to_integers(named["id"]), to_integers(removed["representative"]))
        rows = {
            "row": numbers % _SHARD,
            "representative": named["name"].take(at),
            "similarity": removed.column("similarity"),
        }
        everything = pa.table(rows)
        if config.empty == "drop":
            empty = to_integers(job.empty_ids().toArrow().column("id"))
            numbers = np.concatenate([numbers, empty])
            dropped = pa.table({"row": empty % _SHARD})
            everything = pa.concat_tables([everything, dropped], promote_options="default")
        for path, each in facts.items():
            shard = int(path.rpartition("/")[2].partition(".")[0])
            own = everything.filter(numbers // _SHARD == shard).sort_by("row")
            own = own.replace_schema_metadata({"nearkin": json.dumps(each)})
            with self.folder.open(f"removed/{shard:05d}.parquet", "wb") as file:
                pq.write_table(own, file)
            self.stat_update("removed", value=own.num_rows)
        yield from ()


class DedupFilter(PipelineStep):  # type: ignore[misc, unused-ignore]
    """The third step of a deduplication: it drops the documents that `DedupCluster` lists.

    The metadata of a dropped document has the kept document's id as `near_duplicate_of`, and their `similarity`; both
    are None for a document without text that `empty="drop"` removes.

    Parameters
    ----------
    folder : str
        The folder of the other steps.
    exclusion_writer : DiskWriter, optional
        Writer of dropped documents.

    Raises
    ------
    InputError
        When the task runs, if its documents are not those that `DedupHash` read: use the same reader and tasks.
    """

    name = "nearkin dedup: filter"
    type = "DEDUP"

    def __init__(self, folder: str, exclusion_writer: DiskWriter | None = None) -> None:
        super().__init__()
        self.folder, self.exclusion_writer = get_datafolder(folder), exclusion_writer

    def run(self, data: DocumentsPipeline, rank: int = 0, world_size: int = 1) -> DocumentsPipeline:
        """Yield the kept documents."""
        path, count, facts, removed = f"removed/{rank:05d}.parquet", 0, None, {}
        if self.folder.exists(path):
            facts, table = _read_facts(self.folder, path), _read_table(self.folder, path)
            removed = {row["row"]: row for row in to_values(table)}
        if facts is not None and facts["tasks"] != world_size:
            reason = f"{facts['tasks']} of DedupHash and {world_size} of DedupFilter; use the same number"
            raise input_error("tasks", reason)
        with self.exclusion_writer or nullcontext() as writer:
            for row, document in enumerate(data):
                self.stat_update(StatHints.total)
                count = row + 1
                if row not in removed:
                    self.stat_update(StatHints.forwarded)
                    yield document
                    continue
                self.stat_update(StatHints.dropped)
                cells = removed[row]
                document.metadata |= {"near_duplicate_of": cells["representative"], "similarity": cells["similarity"]}
                if writer is not None:
                    writer.write(document, rank)
        expected = 0 if facts is None else facts["documents"]
        if count != expected:
            reason = f"this task read {count:,} documents and DedupHash {expected:,}; use the same reader, and no limit"
            raise input_error(f"shard {rank}", reason)


def _read_facts(folder: DataFolder, path: str) -> dict[str, Any] | None:
    """Return what a file says about its documents; None for the empty file of a task without any."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not folder.size(path):
        return None
    try:
        with folder.open(path, "rb") as file:
            metadata = pq.read_metadata(file).metadata or {}
    except pa.ArrowInvalid as error:
        raise input_error(path, f"the file is incomplete; run its task again ({error})") from error
    facts: dict[str, Any] = json.loads(metadata[b"nearkin"])
    return facts


def _read_table(folder: DataFolder, path: str) -> pa.Table:
    import pyarrow.parquet as pq

    with folder.open(path, "rb") as file:
        return pq.read_table(file)
