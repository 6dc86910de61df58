"""A corpus: documents that are read in batches, looked up again by row, and of which some are written as they came.

A pass over `batches()` reads every input once, in blocks, and remembers for each row only where it lies (8 bytes),
not its text. After the pass `texts(rows)` reads single rows again and `write_kept(rows, out)` copies rows in the
input's own format, order and schema. Memory is bounded by a few blocks (16 MiB, or one record if that is larger) plus
those places.

Rows are numbered from 0 over all inputs in their order; records that can't be read have no number and are not written.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path, PurePath
from types import TracebackType
from typing import IO, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, NearkinError, bad_parameter
from nearkin.io.changes import Changes
from nearkin.io.decompress import compressing
from nearkin.io.html import visible_texts
from nearkin.io.inputs import Compression, Format, InputFile, compression_of
from nearkin.io.output import OutputDir
from nearkin.io.remote import name_in
from nearkin.io.tempspool import Spool
from nearkin.io.values import Batch, Malformed, PackedTexts

# Bytes of input in one block; large enough that the cost of calls vanishes, small enough for the third-level cache.
BLOCK = 16 << 20
# The longest record that is read. It bounds memory against a stream that decompresses to one endless line.
LONGEST = 1 << 28
_NO_TEXTS = PackedTexts.of([])
REJECTED = "rejected.jsonl"
"""The file in a folder of output with the records that can't be read."""


KeptLayout = Literal["single", "input"]
"""Whether kept rows are one file, or one per input."""


class Corpus(ABC):
    """Documents of one format; created by `open_corpus`.

    Attributes
    ----------
    format : {"jsonl", "parquet", "csv", "tsv", "txt", "files", "warc"}
    paths : list of Path
        Every input file that has a name.
    inputs : list of Path
        The files and folders as they were named, for `OutputDir(inputs=...)`.
    spool_dir : path or None
        Where temporary files of the corpus lie, and of what is made of it; None for the system's folder of such.
    rows : int
        Rows read so far.
    bytes_read : int
        Bytes of input read so far, compressed where it is.
    malformed : Malformed
        The records that can't be read.
    left_out : dict of str to int
        What is no document: records of WARC such as requests and pictures, files below `leave_out`. How many, by what
        they are.
    """

    def __init__(
        self,
        format: Format,
        sources: list[InputFile],
        *,
        text_column: str,
        id_column: str | None,
        extra_columns: tuple[str, ...],
        strict: bool,
        max_malformed: float,
        delimiter: str | None,
        html: bool,
        spool_dir: str | os.PathLike[str] | None,
    ) -> None:
        self.format = format
        self.text_column = text_column
        self.id_column = id_column
        self.extra_columns = extra_columns
        self.delimiter = delimiter
        self.html = html
        self.spool_dir = spool_dir
        self.inputs: list[Path] = []
        self.malformed = Malformed(strict=strict, most=max_malformed, spool=Spool(spool_dir))
        self.left_out: dict[str, int] = {}
        self._left_out_before: dict[str, int] = {}
        self.rows = 0
        self.bytes_read = 0
        self._changes: Changes | None = None
        self._sources = sources
        self._spool = Spool(spool_dir)
        self._begun = False
        self._complete = False

    def __enter__(self) -> Corpus:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the spool; the corpus can't be read after that."""
        self._spool.close()
        self.malformed.close()

    def leave_out(self, counts: Mapping[str, int]) -> None:
        """Count what is left out before the first pass.

        Parameters
        ----------
        counts : mapping of str to int
            How many, by what they are.
        """
        self._left_out_before = dict(counts)
        self.left_out |= counts

    @property
    def paths(self) -> list[Path]:
        """Every input file of this machine that has a name."""
        return [source.path for source in self._sources if source.path is not None]

    @property
    def urls(self) -> list[str]:
        """Every remote input file."""
        return [source.url for source in self._sources if source.url]

    @property
    def columns(self) -> list[str]:
        """The scalar columns that are read: the id column, if one was named, and the extra ones."""
        names = [] if self.id_column is None else [self.id_column]
        return names + [name for name in self.extra_columns if name != self.id_column]

    def batches(self, *, settled: bool = False) -> Iterator[Batch]:
        """Read the corpus, from its start, a batch at a time.

        Parameters
        ----------
        settled : bool, default False
            Whether no batch comes before a value of each extra column was seen: for callers that can't undo what they
            do with a batch. Batches are held without their texts, which are then read again.

        Raises
        ------
        InputError
            A file that can't be read or changes meanwhile; with `strict` a record that can't be read; more of them than
            `max_malformed`; none that can be read, or an extra column that none has, since then the format or a
            column's name is most likely wrong.
        """
        if self._begun and not all(source.regular for source in self._sources):
            raise NearkinError(
                "standard input, pipes and remote files are read once; look rows up by texts() or save them to a file"
            )
        self._begun = True
        self._reset()
        absent = set(self.extra_columns) if self.format in ("jsonl", "warc") else set()
        held: list[tuple[Batch, int]] = []
        for batch in self._read():
            absent -= {name for name in absent if batch.columns[name].kinds.any()}
            if settled and absent:
                held.append((replace(batch, texts=_NO_TEXTS), len(batch)))
                continue
            yield from self._with_texts(held)
            held.clear()
            yield replace(batch, texts=visible_texts(batch.texts)) if self.html else batch
        self.malformed.check(self.rows)
        for name in self.extra_columns if self.rows else ():
            if name in absent and (columns := self._columns_without(name)) is not None:
                place = self._sources[0].name
                reason = f"no record has a column {name!r}; the first has {', '.join(map(repr, columns))}"
                raise InputError(f"{place}: {reason}", place=place, file=place, reason=reason)
        yield from self._with_texts(held)
        self._complete = True

    def _with_texts(self, held: Sequence[tuple[Batch, int]]) -> Iterator[Batch]:
        """Batches of which the rows are known, with their texts."""
        for batch, rows in held:
            yield replace(batch, texts=self.texts(np.arange(batch.first_row, batch.first_row + rows)))

    def _columns_without(self, name: str) -> list[str] | None:
        """The columns of the first record if none has this one; null in all of them is a value."""
        return None

    def texts(self, rows: Iterable[int] | NDArray[Any]) -> PackedTexts:
        """The texts of some rows, read again.

        Parameters
        ----------
        rows : (n,) integers, ascending
            Row numbers, each below `rows`.

        Raises
        ------
        ParameterError
            Rows that are not ascending or don't exist.
        InputError
            A file that changed since it was read.
        """
        numbers = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), dtype=np.int64)
        if numbers.ndim != 1 or np.any(numbers[1:] < numbers[:-1]):
            raise bad_parameter("rows", "a list out of order", "row numbers in ascending order")
        if len(numbers) and (numbers[0] < 0 or numbers[-1] >= self.rows):
            found = int(numbers[0] if numbers[0] < 0 else numbers[-1])
            raise bad_parameter("rows", found, f"row numbers from 0 to {self.rows - 1}, which have been read")
        texts = self._texts(numbers)
        return visible_texts(texts) if self.html else texts

    def check_changes(self) -> None:
        """Raise ParameterError unless records can be written with another text."""
        reason = "texts of pages" if self.html else f"documents of {self.format}" if self._is_whole() else None
        if reason is not None:
            allowed = "documents or nothing: passages are cut out of JSON, CSV, TSV, lines, and columns of Parquet"
            raise bad_parameter("remove", f"'parts' of {reason}", allowed)

    def _is_whole(self) -> bool:
        """Whether a document is written as it came, or not at all."""
        return self.format in ("files", "warc")

    def write_kept(
        self,
        kept: NDArray[Any] | Iterable[int],
        out: OutputDir | IO[bytes],
        *,
        layout: KeptLayout = "single",
        changes: Changes | None = None,
    ) -> None:
        """Write some rows in the input's format, order and schema.

        Parameters
        ----------
        kept : (rows,) bool, or (n,) integers ascending
            Which rows.
        out : OutputDir or binary stream
            In a folder the file is called `kept_name` and compressed as the first input; a stream gets it uncompressed.
        layout : {"single", "input"}, default "single"
            With "input" a folder gets a file per input, by `kept_names`: compressed as that one, and of Parquet with
            its codecs and groups of rows. An input of which nothing is kept has a file without rows.
        changes : Changes, optional
            Rows with another text (`check_changes` says whether they can have one).

        Raises
        ------
        ParameterError
            A mask of another length, rows that don't exist, a layout that the inputs or the output can't have.
        InputError
            A file that changed since it was read.
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
        if changes is not None:
            self.check_changes()
        self._changes = changes
        try:
            self._write_masked(mask, out, layout)
        finally:
            self._changes = None

    def _write_masked(self, mask: NDArray[np.bool_], out: OutputDir | IO[bytes], layout: KeptLayout) -> None:
        everything = range(len(self._sources))
        if not isinstance(out, OutputDir):
            if layout != "single":
                raise bad_parameter("layout", repr(layout), "single for a stream")
            self._write(mask, out, everything)
            return
        names = self.kept_names(layout)
        for number, name in enumerate(names):
            compression = self.compression if layout == "single" else self._sources[number].compression
            with out.open(name) as file, self._compressing(file, compression) as stream:
                self._write(mask, stream, everything if layout == "single" else [number])

    def _compressing(self, file: IO[bytes], compression: Compression) -> AbstractContextManager[IO[bytes]]:
        """A stream into a file of kept rows."""
        return compressing(file, compression)

    def kept_names(self, layout: KeptLayout = "single") -> list[str]:
        """The names of the files that `write_kept` writes.

        Parameters
        ----------
        layout : {"single", "input"}, default "single"
            With "input" `kept-NAME` for each input, NAME being its name, or where two have the same the path from the
            folder that all have in common, with - for /.

        Raises
        ------
        ParameterError
            An unknown layout; with "input" standard input, pipes, and files that are documents.
        """
        if layout not in get_args(KeptLayout):
            raise bad_parameter("layout", repr(layout), " or ".join(get_args(KeptLayout)))
        if layout == "single":
            return [self.kept_name]
        if self.format == "files" or not all(
            source.url or (source.path and source.regular) for source in self._sources
        ):
            raise bad_parameter("layout", "'input'", "single for standard input, pipes, and files that are documents")
        places = [PurePath(name_in(source.url) if source.url else source.path or "") for source in self._sources]
        names = [place.name for place in places]
        if len(set(names)) < len(names):
            common = Path(os.path.commonpath([str(place.parent) for place in places]))
            names = ["-".join(place.relative_to(common).parts) for place in places]
        if len(set(names)) < len(names):
            raise bad_parameter("layout", "'input'", "single for inputs whose names are not distinct")
        return [self._kept_name_of(name) for name in names]

    def _kept_name_of(self, name: str) -> str:
        """The name of the rows that are kept of an input: a JSON array becomes lines."""
        path = PurePath(name)
        compressed = path.suffix if compression_of(name) else ""
        path = path.with_suffix("") if compressed else path
        stem, ending = path.stem, path.suffix
        return f"kept-{stem}{'.jsonl' if ending.lower() == '.json' else ending}{compressed}"

    @property
    def compression(self) -> Compression:
        """The compression of the first input, in which kept rows are written."""
        return self._sources[0].compression

    @property
    def kept_name(self) -> str:
        """The name of the file with the kept rows, such as `kept.jsonl.gz`."""
        ending = "txt" if self.format == "files" else self.format
        return f"kept.{ending}" + (f".{self.compression}" if self.compression else "")

    def write_rejected(self, out: OutputDir) -> None:
        """Write the records that can't be read, if there are any, to `rejected.jsonl`: file, line and reason.

        Parameters
        ----------
        out : OutputDir
            Where the file lies.
        """
        if self.malformed.count:
            with out.open(REJECTED) as file:
                self.malformed.write(file)

    def _reset(self) -> None:
        self.malformed.clear()
        self.left_out = dict(self._left_out_before)
        self.rows = 0
        self.bytes_read = 0
        self._spool.close()
        self._complete = False

    @abstractmethod
    def _read(self) -> Iterator[Batch]: ...

    @abstractmethod
    def _texts(self, rows: NDArray[np.int64]) -> PackedTexts: ...

    @abstractmethod
    def _write(self, mask: NDArray[np.bool_], stream: IO[bytes], sources: Sequence[int]) -> None:
        """Write the rows of a mask over all rows that these sources have."""
