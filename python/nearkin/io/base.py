"""The base class of corpora: documents that are read in batches, looked up by row, and written in their own format.

A pass over `batches()` reads every input once, in blocks. It stores the position of each row (8 bytes) but not its
text. Afterwards, `texts(rows)` reads single rows again and `write_kept(rows, out)` copies rows in the format, order and
schema of the input. Memory is bounded by a few blocks (16 MiB, or one record if that is larger) plus the positions.

Rows are numbered from 0 over all inputs in their order. Malformed records have no number and are not written.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path, PurePath
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, Union, cast, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import num_threads
from nearkin.errors import InputError, NearkinError, bad_parameter
from nearkin.io.decompress import compressing
from nearkin.io.html import Html, read_texts
from nearkin.io.inputs import Compression, Format, InputFile, compression_of, file_error
from nearkin.io.output import OutputDir
from nearkin.io.remote import name_in
from nearkin.io.tempspool import Spool
from nearkin.io.values import MAX_MALFORMED, Batch, Column, MalformedRecords, PackedTexts

if TYPE_CHECKING:
    import pyarrow as pa

_T = TypeVar("_T")
_END = object()

OtherColumns: TypeAlias = Union[list[dict[str, Any]], "pa.RecordBatch"]
"""Columns of a batch: a dictionary for each row, or columns of Arrow."""
# Bytes of input per block: large enough to make the cost of calls negligible, small enough for the L3 cache.
BLOCK = 16 << 20
# Longest record, in bytes. It bounds memory against a stream that decompresses to one endless line.
MAX_RECORD = 1 << 28
_NO_TEXTS = PackedTexts.of([])
REJECTED = "rejected.jsonl"
"""Name of the file of malformed records in an output folder."""

KeptLayout = Literal["single", "input"]
"""Layout of the kept rows: one file, or one file per input."""


@dataclass(frozen=True)
class ReadOptions:
    """Options of `open_corpus` that apply to every format."""

    text_column: str = "text"
    joined_columns: tuple[str, ...] = ()
    id_column: str | None = None
    extra_columns: tuple[str, ...] = ()
    strict: bool = False
    max_malformed: float = MAX_MALFORMED
    delimiter: str | None = None
    html: Html = False
    functions: bool = False
    spool_dir: str | os.PathLike[str] | None = None
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Number of files of excluded folders, by description."""


@dataclass(frozen=True)
class BatchSpans:
    """Byte spans of the rows of a batch: `lengths[i]` bytes at `base + starts[i]`, in the source or in the spool."""

    source: int
    first_row: int
    base: int
    starts: NDArray[np.uint32]
    lengths: NDArray[np.uint32]

    @property
    def end_row(self) -> int:
        """Number of the row after the last one."""
        return self.first_row + len(self.starts)


@dataclass(frozen=True)
class Replacements:
    """New texts for some of the rows that are written.

    Attributes
    ----------
    rows : (n,) int64
        Rows with a new text, ascending.
    texts : function
        Returns the new texts of some of these rows, ascending.
    """

    rows: NDArray[np.int64]
    texts: Callable[[NDArray[np.int64]], Iterable[str]]

    def select(self, rows: NDArray[np.int64]) -> dict[int, str]:
        """Return the new texts of some ascending rows by their position among these rows."""
        positions = np.flatnonzero(np.isin(rows, self.rows, assume_unique=True))
        if not len(positions):
            return {}
        return dict(zip(positions.tolist(), self.texts(rows[positions]), strict=True))


@dataclass(frozen=True)
class AddedColumn:
    """A column of integers that is appended to the rows that are written.

    Attributes
    ----------
    name : str
        No column of the inputs has this name.
    values : (rows,) int64
        One for each row of the corpus.
    """

    name: str
    values: NDArray[np.int64]


class Corpus(ABC):
    """Documents of one format; created by `open_corpus`.

    Attributes
    ----------
    format : {"jsonl", "parquet", "csv", "tsv", "txt", "files", "warc"}
    text_column, joined_columns : str, tuple of str
        The column of the texts, and further ones whose values that are not null follow it, each after a line feed.
    paths : list of Path
        All local input files.
    inputs : list of Path
        Files and folders as named by the user, for `OutputDir(inputs=...)`.
    spool_dir : path or None
        Folder for temporary files of the corpus and of computations on it; None for the system's folder.
    rows : int
        Number of rows read so far.
    bytes_read : int
        Bytes of input read so far, before decompression.
    malformed : MalformedRecords
        Records that cannot be read.
    id_note : str
        What `open_corpus` found about columns of ids, if it looked for one.
    find_ids : function or None
        Looks for a column of ids in all records, if `open_corpus` left that to `settle_ids`.
    bytes_as_hex : bool
        Read a text column of bytes (Parquet) as hexadecimal digits, two per byte; set before the first batch.
    all_columns : bool
        Read all columns of Parquet, for `other_columns`; set before the first batch.
    functions : bool
        True if documents are functions of the files.
    left_out : dict of str to int
        Number of inputs that are not documents, by description: WARC records such as requests and images, files of
        excluded folders, and files without functions.
    """

    def __init__(self, format: Format, sources: list[InputFile], options: ReadOptions) -> None:
        self.format = format
        self.text_column = options.text_column
        self.joined_columns = options.joined_columns
        self.id_column = options.id_column
        self.extra_columns = options.extra_columns
        self.delimiter = options.delimiter
        self.html: Html = options.html
        self.functions = options.functions
        self.spool_dir = options.spool_dir
        self.inputs: list[Path] = []
        self.id_note = ""
        self.find_ids: Callable[[int | None], tuple[str | None, str]] | None = None
        self.bytes_as_hex = False
        self.all_columns = False
        self.malformed = MalformedRecords(
            strict=options.strict, limit=options.max_malformed, spool=Spool(options.spool_dir)
        )
        self.left_out = dict(options.excluded)
        self.rows = 0
        self.bytes_read = 0
        self.on_read: Callable[..., None] | None = None
        self._excluded = dict(options.excluded)
        self._replacements: Replacements | None = None
        self._added: AddedColumn | None = None
        self._sources = sources
        self._spool = Spool(options.spool_dir)
        self._spools = [self._spool]
        self._started = False
        self._complete = False
        self._joined: set[str] = set()

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the temporary files; the corpus cannot be read afterwards."""
        for spool in self._spools:
            spool.close()
        self.malformed.close()

    @property
    def paths(self) -> list[Path]:
        """All local input files."""
        return [source.path for source in self._sources if source.path is not None]

    @property
    def urls(self) -> list[str]:
        """All remote input files."""
        return [source.url for source in self._sources if source.url]

    @property
    def can_reread(self) -> bool:
        """True if all inputs are regular files, which `batches` can read again."""
        return all(source.regular for source in self._sources)

    def has_text_column(self) -> bool:
        """Return True if the start of the first input has the text column."""
        return False

    def select_columns(self, names: list[str]) -> list[str]:
        """Return those of these columns that the inputs may have."""
        return names

    @property
    def columns(self) -> list[str]:
        """Names of the scalar columns that are read: the id column, if any, and the extra columns."""
        names = [] if self.id_column is None else [self.id_column]
        return names + [name for name in self.extra_columns if name != self.id_column]

    def batches(self, *, wait_for_columns: bool = False) -> Iterator[Batch]:
        """Iterate over the corpus from its start.

        Parameters
        ----------
        wait_for_columns : bool, default False
            If True, no batch is returned until every extra column has had a value. Use this if a batch cannot be
            undone once it is processed. Until then, batches are stored without their texts, which are read again.

        Raises
        ------
        InputError
            A file cannot be read or changes; with `strict`, a record is malformed; there are more malformed records
            than `max_malformed`, or nothing else; or no record has a value in an extra column. In the last two cases
            the format or the name of a column is most likely wrong.
        """
        if self._started and not self.can_reread:
            raise NearkinError(
                "standard input, pipes and remote files are read once; look rows up by texts() or save them to a file"
            )
        self._started = True
        self._reset()
        missing = {*self.extra_columns, *self.joined_columns} if self.format in ("jsonl", "warc") else set()
        pending: list[tuple[Batch, int]] = []
        for batch in self._read():
            if self.on_read is not None:
                self.on_read()
            missing -= {name for name in missing if self._has_values(batch, name)}
            if wait_for_columns and missing:
                pending.append((replace(batch, texts=_NO_TEXTS), len(batch)))
                continue
            yield from self._with_texts(pending)
            pending.clear()
            yield replace(batch, texts=self._read_html(batch.texts)) if self.html else batch
        self.malformed.check(self.rows)
        for name in (*self.extra_columns, *self.joined_columns) if self.rows else ():
            if name in missing and (columns := self._columns_without(name)) is not None:
                reason = f"no record has a column {name!r}; the first has {', '.join(map(repr, columns))}"
                raise file_error(self._sources[0].name, reason)
        yield from self._with_texts(pending)
        if self.on_read is not None:
            self.on_read(ended=True)
        self._complete = True

    def _has_values(self, batch: Batch, name: str) -> bool:
        """Return True if a column has had a value."""
        return name in self._joined if name in self.joined_columns else bool(batch.columns[name].kinds.any())

    def _with_texts(self, pending: Sequence[tuple[Batch, int]]) -> Iterator[Batch]:
        """Add the texts to batches whose number of rows is given."""
        for batch, rows in pending:
            yield replace(batch, texts=self.texts(np.arange(batch.first_row, batch.first_row + rows)))

    def _columns_without(self, name: str) -> list[str] | None:
        """Return the columns of the first record if no record has this column, not even with the value null."""
        return None

    def other_columns(self, batch: Batch) -> OtherColumns | None:
        """Return all columns of the last batch except that of the text; None if the format has no columns.

        Memory is that of a batch: records are read again, and nothing is kept.

        Parameters
        ----------
        batch : Batch
            The batch that `batches` returned last. For Parquet, `all_columns` must be set.

        Returns
        -------
        list of dict, pyarrow.RecordBatch or None
            JSON records with the values of Python's `json`, fields of CSV as strings, columns of Parquet with their
            types. Records of JSON have the columns that are their own. If `text_column` is a path or there are several,
            the column that contains the text is included.

        Raises
        ------
        InputError
            Python's `json` rejects a record: it is nested too deeply, or a number has more than 4,300 digits.
        """
        return None

    def texts(self, rows: Iterable[int] | NDArray[Any]) -> PackedTexts:
        """Read the texts of some rows again.

        Parameters
        ----------
        rows : (n,) integers, ascending
            Row numbers, each below `rows`.

        Raises
        ------
        ParameterError
            Rows are not ascending or do not exist.
        InputError
            A file changed since it was read.
        """
        numbers = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), dtype=np.int64)
        if numbers.ndim != 1 or np.any(numbers[1:] < numbers[:-1]):
            raise bad_parameter("rows", "a list out of order", "row numbers in ascending order")
        if len(numbers) and (numbers[0] < 0 or numbers[-1] >= self.rows):
            row = int(numbers[0] if numbers[0] < 0 else numbers[-1])
            raise bad_parameter("rows", row, f"row numbers from 0 to {self.rows - 1}, which have been read")
        texts = self._texts(numbers)
        return self._read_html(texts) if self.html else texts

    def _read_html(self, texts: PackedTexts) -> PackedTexts:
        """Return the texts of pages."""
        return read_texts(texts, self.html)

    def check_replacements(self) -> None:
        """Raise ParameterError if the texts of this corpus cannot be replaced when rows are written."""
        if self.joined_columns:
            raise bad_parameter("remove", "'parts' of several text columns", "documents or nothing, or one text column")
        reason = "texts of pages" if self.html else f"documents of {self.format}" if self._is_atomic() else None
        if reason is not None:
            allowed = "documents or nothing: passages are cut out of JSON, CSV, TSV, lines, and columns of Parquet"
            raise bad_parameter("remove", f"'parts' of {reason}", allowed)

    def _is_atomic(self) -> bool:
        """Return True if a document can only be written unchanged."""
        return self.format in ("files", "warc")

    @property
    def has_columns(self) -> bool:
        """True if rows can be written with another column."""
        return self.format not in ("txt", "files", "warc")

    def check_added(self, name: str, argument: str = "added") -> None:
        """Raise ParameterError, for an argument of this name, if rows cannot be written with another column."""
        if not self.has_columns:
            raise bad_parameter(argument, repr(name), f"no column for {self.format}: use JSON, CSV, TSV or Parquet")
        if not name:
            raise bad_parameter(argument, repr(name), "the name of a new column, such as cluster_size")

    def _added_name_error(self, place: str, name: str) -> InputError:
        return file_error(place, f"a column {name!r} exists; choose another name for the column that is added")

    def write_kept(
        self,
        kept: NDArray[Any] | Iterable[int],
        out: OutputDir | IO[bytes],
        *,
        layout: KeptLayout = "single",
        replacements: Replacements | None = None,
        added: AddedColumn | None = None,
    ) -> None:
        """Write some rows in the format, order and schema of the input.

        Parameters
        ----------
        kept : (rows,) bool, or (n,) integers ascending
            Rows to write.
        out : OutputDir or binary stream
            In a folder, the file is named `kept_name` and compressed like the first input. A stream is not compressed.
        layout : {"single", "input"}, default "single"
            With "input", a folder gets one file per input, named by `kept_names`. It is compressed like its input; a
            Parquet file has the codecs and row groups of its input. An input without kept rows gets a file without
            rows.
        replacements : Replacements, optional
            New texts for some rows, if `check_replacements` allows them.
        added : AddedColumn, optional
            A column to append, if `check_added` allows it. Records of JSON and CSV remain byte for byte before it.

        Raises
        ------
        ParameterError
            The mask has another length, rows do not exist, or the inputs or the output do not support the layout.
        InputError
            A file changed since it was read; a record has a column of the name that is added.
        """
        if not self._complete:
            raise NearkinError("the corpus was not read to its end; run through batches() before writing rows of it")
        mask = np.asarray(kept if isinstance(kept, np.ndarray) else list(kept))
        if mask.dtype != bool:
            rows = mask.astype(np.int64)
            if len(rows) and (rows.min() < 0 or rows.max() >= self.rows):
                raise bad_parameter("kept", int(rows.max()), f"row numbers from 0 to {self.rows - 1}")
            mask = np.zeros(self.rows, bool)
            mask[rows] = True
        if mask.shape != (self.rows,):
            raise bad_parameter("kept", f"a mask of shape {mask.shape}", f"a mask of {self.rows} rows")
        if replacements is not None:
            self.check_replacements()
        if added is not None:
            self.check_added(added.name)
        self._replacements, self._added = replacements, added
        everything = range(len(self._sources))
        if isinstance(out, OutputDir):
            for number, name in enumerate(self.kept_names(layout)):
                compression = self.compression if layout == "single" else self._sources[number].compression
                with out.open(name) as file, self._compress(file, compression) as stream:
                    self._write(mask, stream, everything if layout == "single" else [number])
        elif layout == "single":
            self._write(mask, out, everything)
        else:
            raise bad_parameter("layout", repr(layout), "single for a stream")

    def _compress(self, file: IO[bytes], compression: Compression) -> AbstractContextManager[IO[bytes]]:
        """Open a compressed stream into a file of kept rows."""
        return compressing(file, compression)

    def kept_names(self, layout: KeptLayout = "single") -> list[str]:
        """Return the names of the files that `write_kept` writes.

        Parameters
        ----------
        layout : {"single", "input"}, default "single"
            With "input", the names are `kept-NAME` with the name of each input. If two inputs have the same name, NAME
            is the path from their common folder, with - for /.

        Raises
        ------
        ParameterError
            The layout is unknown, or it is "input" and an input is standard input, a pipe or a document.
        """
        if layout not in get_args(KeptLayout):
            raise bad_parameter("layout", repr(layout), " or ".join(get_args(KeptLayout)))
        if layout == "single":
            return [self.kept_name]
        if self.format == "files" or not all(source.url or source.regular for source in self._sources):
            raise bad_parameter("layout", "'input'", "single for standard input, pipes, and files that are documents")
        paths = [PurePath(name_in(source.url) if source.url else source.path or "") for source in self._sources]
        names = [path.name for path in paths]
        if len(set(names)) < len(names):
            common = Path(os.path.commonpath([str(path.parent) for path in paths]))
            names = ["-".join(path.relative_to(common).parts) for path in paths]
        if len(set(names)) < len(names):
            raise bad_parameter("layout", "'input'", "single for inputs whose names are not distinct")
        return [_kept_name_for(name) for name in names]

    @property
    def compression(self) -> Compression:
        """Compression of the first input, which is also that of the kept rows."""
        return self._sources[0].compression

    @property
    def kept_name(self) -> str:
        """Name of the file of kept rows, such as `kept.jsonl.gz`."""
        extension = "txt" if self.format == "files" else self.format
        return f"kept.{extension}" + (f".{self.compression}" if self.compression else "")

    def write_rejected(self, out: OutputDir) -> None:
        """Write the malformed records, if there are any, to `rejected.jsonl` with file, line and reason.

        Parameters
        ----------
        out : OutputDir
            Output folder.
        """
        if self.malformed.count:
            with out.open(REJECTED) as file:
                self.malformed.write(file)

    def _reset(self) -> None:
        """Prepare for a pass from the start."""
        self.malformed.clear()
        self.left_out = dict(self._excluded)
        self.rows = 0
        self.bytes_read = 0
        for spool in self._spools:
            spool.close()
        self._spans: list[BatchSpans] = []
        self._complete = False

    def _build_batch(self, texts: PackedTexts, columns: Mapping[str, Column]) -> Batch:
        """Build the batch of the next rows and count them."""
        first = self.rows
        self.rows += len(texts)
        if self.id_column is None:
            ids = Column.integers(np.arange(first, self.rows, dtype=np.int64))
        else:
            ids = columns[self.id_column]
        return Batch(first, texts, ids, {name: columns[name] for name in self.extra_columns})

    @abstractmethod
    def _read(self) -> Iterator[Batch]:
        """Iterate over the batches of all inputs."""

    def _texts(self, rows: NDArray[np.int64]) -> PackedTexts:
        """Read the texts of ascending rows again."""
        parts: list[PackedTexts] = []
        ends = np.array([spans.end_row for spans in self._spans], np.int64)
        numbers = np.searchsorted(ends, rows, side="right")
        batches = [self._spans[at] for at in numbers[np.diff(numbers, prepend=-1) > 0].tolist()]
        for number, of_source in groupby(batches, key=lambda spans: spans.source):
            starts, lengths = [], []
            for spans in of_source:
                first, stop = np.searchsorted(rows, (spans.first_row, spans.end_row))
                local = rows[first:stop] - spans.first_row
                starts.append(spans.starts[local].astype(np.int64) + spans.base)
                lengths.append(spans.lengths[local])
            parts.append(self._look_up(number, np.concatenate(starts), np.concatenate(lengths)))
        return PackedTexts.concat(parts)

    def _look_up(self, number: int, starts: NDArray[np.int64], lengths: NDArray[np.uint32]) -> PackedTexts:
        """Read the texts at ascending positions of a source, or of the spool."""
        raise NotImplementedError

    @abstractmethod
    def _write(self, mask: NDArray[np.bool_], stream: IO[bytes], sources: Sequence[int]) -> None:
        """Write the rows of a mask over all rows that belong to these sources."""


def read_ahead(
    items: Iterable[_T], *, threaded: bool = True, on_cpu: Callable[[float], None] | None = None
) -> Iterator[_T]:
    """Iterate on another thread, one item ahead of the caller.

    Parameters
    ----------
    items : iterable
        Its errors are raised here. It is closed if the caller ends early.
    threaded : bool, default True
        If False, or if `set_num_threads` allows one thread, the caller's thread iterates. A caller that ends early
        waits for the item that another thread is reading, so this must be False for a pipe, which may never send it.
    on_cpu : function, optional
        Called before each item, and at the end, with the CPU seconds that its thread needed.
    """
    threaded = threaded and num_threads() > 1
    iterator = iter(items)

    def produce() -> tuple[_T | object, float]:
        start = time.thread_time()
        return next(iterator, _END), time.thread_time() - start

    with ExitStack() as stack:
        if isinstance(iterator, Generator):
            stack.callback(iterator.close)
        pool = stack.enter_context(ThreadPoolExecutor(1, "nearkin-read")) if threaded else None
        ahead = None if pool is None else pool.submit(produce)
        while True:
            item, seconds = produce() if ahead is None else ahead.result()
            if on_cpu is not None:
                on_cpu(seconds)
            if item is _END:
                return
            ahead = None if pool is None else pool.submit(produce)
            yield cast("_T", item)


def check_distinct(names: Sequence[str], place: str) -> None:
    """Raise InputError if a file has two columns of one name, since all columns are written under their names."""
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise file_error(place, f"more than one column {name!r}; rename one, since all columns are kept")


def _kept_name_for(name: str) -> str:
    """Return the name of the kept rows of an input; a JSON array is written as lines."""
    path = PurePath(name)
    compressed = path.suffix if compression_of(name) else ""
    path = path.with_suffix("") if compressed else path
    return f"kept-{path.stem}{'.jsonl' if path.suffix.lower() == '.json' else path.suffix}{compressed}"
