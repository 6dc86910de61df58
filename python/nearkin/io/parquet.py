"""A corpus of Parquet files with one schema.

Only the requested columns are read, in batches whose number of rows follows from the average size of the text column in
the file's statistics. Texts are spooled, because a single row of a compressed column chunk cannot be read. Kept rows
are written by reading all columns again. The output has the schema, the metadata and the codecs of the first file, and
row groups of about 64 MiB of decompressed data.

A row is malformed if its id is null or its text is not UTF-8. Its position is its row in the file, from 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nearkin._core import invalid_utf8
from nearkin.io.arrow import (
    append_column,
    column_at,
    filter_rows,
    is_binary,
    is_scalar,
    is_string,
    join_texts,
    list_paths,
    to_column,
    to_texts,
    to_values,
    types_at,
    value_type,
)
from nearkin.io.base import BLOCK, BatchSpans, Corpus, OtherColumns, check_distinct, read_ahead
from nearkin.io.decompress import CHANGED, Reader, Sink, check_stamp, read_at
from nearkin.io.inputs import FileStamp, InputFile, describe_difference, file_error
from nearkin.io.tempspool import Spool
from nearkin.io.values import NULL, BadRecord, Batch, Column, PackedTexts, cumulate

# Decompressed bytes per row group of the output, and of a batch whose values are all as large as the largest one.
_ROW_GROUP = 64 << 20
_MAX_BATCH_ROWS = 65_536
_HEX_DIGITS = b"0123456789abcdefABCDEF"
# Random bytes are all digits with a probability of (22 / 256)^16, 9e-18.
_MIN_DIGITS = 16


class ParquetCorpus(Corpus):
    """Parquet files."""

    def _reset(self) -> None:
        super()._reset()
        self._nulls: list[NDArray[np.int64]] = []
        self._good_rows: list[NDArray[np.bool_]] = []
        self._stamps: list[FileStamp | None] = []
        self._schema: pa.Schema | None = None
        self._copies: dict[int, Spool] = {}
        self._last: pa.RecordBatch | None = None

    @contextmanager
    def _open(self, number: int) -> Iterator[tuple[pq.ParquetFile, FileStamp | None]]:
        """Open a file; a pipe, or a file that is compressed as a unit, is first copied to a temporary file."""
        source = self._sources[number]
        if (source.compression or not source.regular) and number not in self._copies:
            self._copies[number] = self._copy(source)
        copy = self._copies.get(number)
        handle = os.fdopen(os.dup(copy.descriptor()), "rb") if copy else open(source.path, "rb")  # type: ignore[arg-type]  # noqa: PTH123, SIM115
        with handle:
            stamp = None if copy else FileStamp.of(os.fstat(handle.fileno()))
            try:
                with pq.ParquetFile(handle, buffer_size=1 << 20) as file:
                    self._max_rows = _ROW_GROUP // max(1, _largest_row(handle, file.metadata))
                    yield file, stamp
            except (pa.ArrowException, OSError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                raise file_error(source.name, f"the Parquet file is damaged ({error}); fetch it again") from error
            check_stamp(source, stamp, os.fstat(handle.fileno()))

    def _copy(self, source: InputFile) -> Spool:
        copy = Spool(self.spool_dir)
        self._spools.append(copy)
        with Reader(source) as reader:
            for chunk in reader.chunks():
                copy.write(chunk)
        self.bytes_read += reader.bytes_read
        return copy

    def _read(self) -> Iterator[Batch]:
        for number, source in enumerate(self._sources):
            with self._open(number) as (file, stamp):
                self._check_schema(source, file.schema_arrow)
                self._stamps.append(stamp)
                good_rows = [np.zeros(0, bool)]
                row, bytes_before, size = 0, self.bytes_read, 0 if stamp is None else stamp.size
                for table, record_batch in self._read_tables(file):
                    good, batch = self._to_batch(source, row, table)
                    if self.all_columns:
                        self._last = record_batch if good.all() else filter_rows(record_batch, good)
                    good_rows.append(good)
                    row += table.num_rows
                    self.bytes_read = bytes_before + size * row // max(file.metadata.num_rows, 1)
                    if batch is not None:
                        yield batch
                self._good_rows.append(np.concatenate(good_rows))
            self.bytes_read = bytes_before + size

    def scan_columns(self, names: Iterable[str]) -> Iterator[dict[str, Column]]:
        """Iterate over those columns of integers or strings that the first file has, without reading texts."""
        self._reset()
        self._reset()
        requested: list[str] | None = None
        for number in range(len(self._sources)):
            with self._open(number) as (file, _):
                if requested is None:
                    kinds = {name: types_at(file.schema_arrow, name) for name in names}
                    requested = [
                        name
                        for name, types in kinds.items()
                        if len(types) == 1 and (pa.types.is_integer(types[0]) or is_string(types[0]))
                    ]
                if not requested:
                    return
                for batch in file.iter_batches(self._batch_rows(file.metadata, 0), columns=requested):
                    yield {name: to_column(column_at(batch, name)) for name in requested}

    def other_columns(self, batch: Batch) -> OtherColumns | None:
        """Return the columns of the last batch, without that of the text."""
        last = self._last
        if last is None:
            return None
        check_distinct(last.schema.names, self._sources[0].name)
        names = [name for name in last.schema.names if name != self.text_column]
        return pa.RecordBatch.from_arrays(
            [last[name] for name in names], schema=pa.schema([last.schema.field(name) for name in names])
        )

    def _read_tables(self, file: pq.ParquetFile) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        """Iterate over record batches of the requested columns, and of all columns that were read."""
        names = [self.text_column, *self.joined_columns, *self.columns]
        metadata = file.metadata
        size = 0
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            # Row groups list the leaves of nested columns, so positions differ from those in the schema.
            leaves = [group.column(leaf) for leaf in range(group.num_columns)]
            counted = {leaf.path_in_schema for leaf in leaves} if self.all_columns else self._text_columns
            size += sum(leaf.total_uncompressed_size for leaf in leaves if leaf.path_in_schema in counted)
        rows = self._batch_rows(metadata, size)
        for batch in file.iter_batches(batch_size=rows, columns=None if self.all_columns else names):
            columns = [column_at(batch, name) for name in names]
            first = 0
            for part in _split(pa.RecordBatch.from_arrays(columns, names=names), self._text_columns):
                yield part, batch.slice(first, part.num_rows)
                first += part.num_rows

    @property
    def _text_columns(self) -> list[str]:
        return [self.text_column, *self.joined_columns]

    def has_text_column(self) -> bool:
        """Return True if the first file has the text column."""
        self._reset()
        with self._open(0) as (file, _):
            return len(types_at(file.schema_arrow, self.text_column)) > 0

    def _check_schema(self, source: InputFile, schema: pa.Schema) -> None:
        if self._schema is not None:
            if not schema.equals(self._schema, check_metadata=False):
                fields, expected = _describe_fields(schema), _describe_fields(self._schema)
                raise file_error(source.name, describe_difference(fields, expected, self._sources[0].name))
            return
        for name in [*self._text_columns, *self.columns]:
            types = types_at(schema, name)
            if len(types) != 1:
                problem = "more than one column" if types else "no column"
                raise file_error(source.name, f"{problem} {name!r}; the file has {', '.join(list_paths(schema))}")
            self._check_type(source, name, types[0])
        self._schema = schema

    def _check_type(self, source: InputFile, name: str, kind: pa.DataType) -> None:
        value = value_type(kind)
        if name in self._text_columns:
            valid = is_string(value) or is_binary(value) or pa.types.is_null(value)
            allowed = "a text is a string, or bytes of UTF-8"
            if self.bytes_as_hex:
                valid = valid or pa.types.is_fixed_size_binary(value)
                allowed = "a code is a string of hexadecimal digits, or bytes"
        elif name == self.id_column:
            valid, kind = pa.types.is_integer(value) or is_string(value), value
            allowed = "an id is an integer or a string"
        else:
            valid = is_scalar(value)
            allowed = "a column that is read is of strings, numbers, booleans or dates"
        if not valid:
            raise file_error(source.name, f"column {name!r} is {kind}; {allowed}")

    def _to_batch(self, source: InputFile, row: int, table: pa.RecordBatch) -> tuple[NDArray[np.bool_], Batch | None]:
        """Return the mask of well-formed rows, and their batch."""
        texts, columns = self._convert(table, source)
        good = np.ones(table.num_rows, bool)
        reasons: dict[int, str] = {}
        strings: list[tuple[str, PackedTexts | Column]] = [(", ".join(self._text_columns), texts), *columns.items()]
        for name, values in strings:
            for at in invalid_utf8(values.offsets, values.data).tolist():
                reasons.setdefault(at, f"column {name!r} is not UTF-8")
        if self.id_column is not None:
            for at in np.flatnonzero(columns[self.id_column].kinds == NULL).tolist():
                reasons.setdefault(at, f"column {self.id_column!r} holds null; an id is an integer or a string")
        if reasons:
            for at in sorted(reasons):
                self.malformed.add(BadRecord(source.name, row + at + 1, reasons[at], "row"))
            good[list(reasons)] = False
            if not good.any():
                return good, None
            texts, columns = self._convert(filter_rows(table, good), source)
        lengths = np.diff(texts.offsets).astype(np.uint32)
        starts = cumulate(lengths)[:-1].astype(np.uint32)
        self._spans.append(BatchSpans(self._sources.index(source), self.rows, self._spool.size, starts, lengths))
        self._nulls.append(texts.nulls + self.rows)
        self._spool.write(np.ascontiguousarray(texts.data[texts.offsets[0] : texts.offsets[-1]]).data)
        return good, self._build_batch(texts, columns)

    def _convert(self, table: pa.RecordBatch, source: InputFile) -> tuple[PackedTexts, dict[str, Column]]:
        columns = {name: table.column(name) for name in self._text_columns}
        if self.bytes_as_hex:
            columns = {name: self._spell_hex(source, name, column) for name, column in columns.items()}
        texts = [to_texts(column) for column in columns.values()]
        return texts[0] if len(texts) == 1 else join_texts(texts), {
            name: to_column(table.column(name)) for name in self.columns
        }

    def _spell_hex(self, source: InputFile, name: str, column: pa.Array) -> pa.Array:
        """Return a column of bytes as hexadecimal digits; others are unchanged.

        Raises
        ------
        InputError
            The bytes are digits themselves, which some programs write without the annotation of a string.
        """
        value = value_type(column.type)
        if not (is_binary(value) or pa.types.is_fixed_size_binary(value)):
            return column
        cells = to_values(column, f"column {name!r}")
        joined = b"".join(cell for cell in cells if cell is not None)
        if len(joined) >= _MIN_DIGITS and joined.translate(None, _HEX_DIGITS) == b"":
            reason = f"column {name!r} has bytes that spell hexadecimal digits; cast it to a string"
            raise file_error(source.name, reason)
        return pa.array([None if cell is None else cell.hex() for cell in cells], pa.large_string())

    def _texts(self, rows: NDArray[np.int64]) -> PackedTexts:
        nulls = np.concatenate([*self._nulls, np.zeros(0, np.int64)])
        return super()._texts(rows).with_nulls(np.flatnonzero(np.isin(rows, nulls)))

    def _look_up(self, number: int, starts: NDArray[np.int64], lengths: NDArray[np.uint32]) -> PackedTexts:
        return PackedTexts(cumulate(lengths), read_at(self._spool.descriptor(), starts, lengths, "the spool"))

    def _write(self, mask: NDArray[np.bool_], stream: IO[bytes], sources: Sequence[int]) -> None:
        with self._open(sources[0]) as (file, _):
            options = _writer_options(file.metadata)
        keep_groups = len(sources) == 1 < len(self._sources)
        schema = self._schema
        if self._added is not None and schema is not None:
            if self._added.name in schema.names:
                raise self._added_name_error(self._sources[0].name, self._added.name)
            schema = schema.append(pa.field(self._added.name, pa.int64()))
        with pq.ParquetWriter(pa.PythonFile(Sink(stream), "w"), schema, **options) as writer:
            tables = self._kept_tables(mask, sources, keep_groups=keep_groups)
            # New texts are looked up, in order, by the thread that asked for the output.
            for table, row_group in read_ahead(tables, threaded=self._replacements is None):
                writer.write_table(table, row_group_size=row_group)

    def _kept_tables(
        self, mask: NDArray[np.bool_], sources: Sequence[int], *, keep_groups: bool
    ) -> Iterator[tuple[pa.Table, int | None]]:
        """Iterate over the kept rows of some sources, each table with the number of rows of its row groups."""
        first = 0
        for number, source in enumerate(self._sources):
            with self._open(number) as (file, stamp):
                if stamp != self._stamps[number]:
                    raise file_error(source.name, CHANGED)
                kept = self._good_rows[number].copy()
                count = int(kept.sum())
                corpus_rows = first + np.cumsum(kept) - 1
                kept[kept] = mask[first : first + count]
                first += count
                if number in sources:
                    yield from self._kept_tables_of(file, kept, corpus_rows, keep_groups=keep_groups)

    def _kept_tables_of(
        self, file: pq.ParquetFile, kept: NDArray[np.bool_], corpus_rows: NDArray[np.int64], *, keep_groups: bool
    ) -> Iterator[tuple[pa.Table, int | None]]:
        """Iterate over the kept rows of a file in tables of 64 MiB, or, with `keep_groups`, of its row groups."""
        metadata = file.metadata
        numbers = [*range(metadata.num_row_groups)]
        size = sum(metadata.row_group(i).total_byte_size for i in numbers)
        at = 0
        for group in [[number] for number in numbers] if keep_groups else [numbers]:
            pending: list[pa.RecordBatch] = []
            pending_size = 0
            for batch in file.iter_batches(batch_size=self._batch_rows(metadata, size), row_groups=group):
                chosen = kept[at : at + batch.num_rows]
                rows = corpus_rows[at : at + batch.num_rows][chosen]
                part = self._append_column(self._replace_texts(filter_rows(batch, chosen), rows), rows)
                at += batch.num_rows
                if part.num_rows:
                    pending.append(part)
                    pending_size += part.nbytes
                if pending_size >= _ROW_GROUP and not keep_groups:
                    yield pa.Table.from_batches(pending), None
                    pending, pending_size = [], 0
            if pending:
                table = pa.Table.from_batches(pending)
                yield table, table.num_rows

    def _replace_texts(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> pa.RecordBatch:
        """Replace the texts of rows for which there are new texts."""
        texts = {} if self._replacements is None or not len(rows) else self._replacements.select(rows)
        if not texts:
            return batch
        at = batch.schema.get_field_index(self.text_column)
        values = to_values(batch.column(at))
        for position, text in texts.items():
            values[position] = text if isinstance(values[position], str) else text.encode()
        return batch.set_column(at, batch.schema.field(at), pa.array(values, batch.schema.field(at).type))

    def _append_column(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> pa.RecordBatch:
        if self._added is None:
            return batch
        appended: pa.RecordBatch = append_column(batch, self._added.name, pa.array(self._added.values[rows]))
        return appended

    def _batch_rows(self, metadata: pq.FileMetaData, size: int) -> int:
        """Return the number of rows of about one block if all rows have `size` bytes."""
        return int(max(1, min(_MAX_BATCH_ROWS, self._max_rows, BLOCK * metadata.num_rows // max(1, size))))

    def _is_atomic(self) -> bool:
        return self._schema is None or len(self._schema.get_all_field_indices(self.text_column)) != 1


def _largest_row(handle: IO[bytes], metadata: pq.FileMetaData) -> int:
    """Return the size of a row of the largest values of the dictionaries: sizes in the file count a value once.

    Columns that are no larger than a batch, even if all values are that large, are left out.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    chunks = [group.column(leaf) for group in groups for leaf in range(group.num_columns)]
    chunks = [chunk for chunk in chunks if chunk.num_values * chunk.total_uncompressed_size > _ROW_GROUP]
    names = sorted({chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page})
    if not names:
        return 1
    with pq.ParquetFile(handle, read_dictionary=names) as file:
        first_rows = [next(file.iter_batches(1, [group], names), None) for group in range(metadata.num_row_groups)]
        columns = [column for batch in first_rows if batch is not None for column in batch.columns]
        sizes = [pc.max(pc.binary_length(each.dictionary)).as_py() for each in columns if hasattr(each, "dictionary")]
    return len(names) * max((int(size) for size in sizes if size), default=1)


def _writer_options(metadata: pq.FileMetaData) -> dict[str, dict[str, str]]:
    """Return options of the writer that keep the codec of each column."""
    if not metadata.num_row_groups:
        return {}
    group = metadata.row_group(0)
    codecs = {group.column(i).path_in_schema: group.column(i).compression for i in range(group.num_columns)}
    return {"compression": {name: "NONE" if codec == "UNCOMPRESSED" else codec for name, codec in codecs.items()}}


def _split(batch: pa.RecordBatch, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Halve a batch until each part has at most two blocks of text, or one row."""
    if batch.num_rows > 1 and sum(batch.column(name).nbytes for name in names) > 2 * BLOCK:
        half = batch.num_rows // 2
        yield from _split(batch.slice(0, half), names)
        yield from _split(batch.slice(half), names)
    elif batch.num_rows:
        yield batch


def _describe_fields(schema: pa.Schema) -> list[str]:
    return [f"{field.name} ({field.type}{'' if field.nullable else ', not null'})" for field in schema]
