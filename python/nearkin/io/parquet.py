"""A corpus of Parquet files, all of one schema.

Only the wanted columns are read, in batches whose number of rows follows from the text column's average size in the
file's own statistics. The texts go to the spool, since a row of a compressed column chunk can't be read alone; kept
rows are written by reading all columns a second time. The output has the first file's schema, metadata, codec of each
column, and row groups of about 64 MiB of decompressed data.

A row whose id is null, or whose text is not UTF-8, can't be read; its place is its row in the file, from 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from nearkin._core import invalid_utf8
from nearkin.io.base import BLOCK, Corpus
from nearkin.io.decompress import Reader, Sink, check_stamp, read_at
from nearkin.io.inputs import FileStamp, InputFile, unreadable
from nearkin.io.nested import field_of, paths_of, types_of
from nearkin.io.tempspool import Spool
from nearkin.io.values import BOOL, FLOAT, INT, NULL, BadRecord, Batch, Column, PackedTexts, running

# Decompressed bytes of a row group that is written.
_GROUP = 64 << 20


@dataclass(frozen=True)
class _Place:
    """The texts of one batch in the spool: back to back from `base`."""

    first_row: int
    base: int
    lengths: NDArray[np.uint32]
    nulls: NDArray[np.int64]


class ParquetCorpus(Corpus):
    """Parquet files."""

    def _reset(self) -> None:
        super()._reset()
        self._texts_at: list[_Place] = []
        self._bad: list[NDArray[np.int64]] = []
        self._stamps: list[FileStamp | None] = []
        self._schema: pa.Schema | None = None
        for copy in getattr(self, "_copies", {}).values():
            copy.close()
        self._copies: dict[int, Spool] = {}

    def close(self) -> None:
        """Free the spool; the corpus can't be read after that."""
        super().close()
        for copy in getattr(self, "_copies", {}).values():
            copy.close()

    @contextmanager
    def _open(self, number: int) -> Iterator[tuple[pq.ParquetFile, FileStamp | None]]:
        """The file; one that is a pipe or compressed as a whole is first decompressed to a temporary file."""
        source = self._sources[number]
        if (source.compression or not source.regular) and number not in self._copies:
            self._copies[number] = self._copy(source)
        copy = self._copies.get(number)
        handle = os.fdopen(os.dup(copy.descriptor()), "rb") if copy else open(source.path, "rb")  # type: ignore[arg-type]  # noqa: PTH123, SIM115
        with handle:
            stamp = None if copy else FileStamp.of(os.fstat(handle.fileno()))
            try:
                with pq.ParquetFile(handle, buffer_size=1 << 20) as file:
                    yield file, stamp
            except (pa.ArrowException, OSError) as error:
                if isinstance(error, OSError) and error.errno is not None:
                    raise
                raise unreadable(source.name, f"the Parquet file is damaged ({error}); fetch it again") from error
            if stamp is not None:
                check_stamp(source, stamp, os.fstat(handle.fileno()))

    def _copy(self, source: InputFile) -> Spool:
        copy = Spool(self._spool.folder)
        with Reader(source, copy) as reader:
            buffer = memoryview(bytearray(BLOCK))
            while reader.fill(buffer) == len(buffer):
                pass
        self.bytes_read += reader.bytes_read
        return copy

    def _read(self) -> Iterator[Batch]:
        for number, source in enumerate(self._sources):
            with self._open(number) as (file, stamp):
                self._check_schema(source, file.schema_arrow)
                self._stamps.append(stamp)
                bad: list[NDArray[np.int64]] = []
                row, before, size = 0, self.bytes_read, 0 if stamp is None else stamp.size
                for arrow in self._arrow_batches(file):
                    good, batch = self._batch(source, row, arrow)
                    bad.append(row + np.flatnonzero(~good))
                    row += arrow.num_rows
                    self.bytes_read = before + size * row // max(file.metadata.num_rows, 1)
                    if batch is not None:
                        yield batch
                self._bad.append(np.concatenate([*bad, np.zeros(0, np.int64)]))
            self.bytes_read = before + size

    def _arrow_batches(self, file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
        names = [self.text_column, *self.columns]
        metadata = file.metadata
        size = 0
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            # A group counts the leaves of nested columns, so the text's place there is not its place in the schema.
            leaves = [group.column(leaf) for leaf in range(group.num_columns)]
            size += sum(leaf.total_uncompressed_size for leaf in leaves if leaf.path_in_schema == names[0])
        # Dictionary pages may hide how large texts are, hence the cap.
        rows = int(min(65_536, max(1, BLOCK * metadata.num_rows // max(1, size))))
        for batch in file.iter_batches(batch_size=rows, columns=names):
            columns = [field_of(batch, name) for name in names]
            flat = pa.RecordBatch.from_arrays(columns, names=names)
            yield from _split(flat, names[0])

    def _check_schema(self, source: InputFile, schema: pa.Schema) -> None:
        if self._schema is None:
            kinds: dict[str, pa.DataType] = {}
            for name in [self.text_column, *self.columns]:
                found = types_of(schema, name)
                if len(found) != 1:
                    what = "more than one column" if found else "no column"
                    raise unreadable(source.name, f"{what} {name!r}; the file has {', '.join(paths_of(schema))}")
                kinds[name] = found[0]
                _check_type(source, name, kinds[name], text=name == self.text_column)
            if self.id_column is not None:
                kind = _value_type(kinds[self.id_column])
                if not (pa.types.is_integer(kind) or _is_string(kind)):
                    raise unreadable(
                        source.name, f"column {self.id_column!r} is {kind}; an id is an integer or a string"
                    )
            self._schema = schema
            return
        if not schema.equals(self._schema, check_metadata=False):
            raise unreadable(source.name, _first_difference(schema, self._schema, self._sources[0].name))

    def _batch(self, source: InputFile, row: int, arrow: pa.RecordBatch) -> tuple[NDArray[np.bool_], Batch | None]:
        texts = texts_of(arrow.column(self.text_column))
        good = np.ones(arrow.num_rows, bool)
        reasons: dict[int, str] = {}
        for at in invalid_utf8(texts.offsets, texts.data).tolist():
            reasons[at] = f"column {self.text_column!r} is not UTF-8"
        columns: dict[str, Column] = {}
        for name in self.columns:
            column = columns[name] = column_of(arrow.column(name))
            for at in invalid_utf8(column.offsets, column.data).tolist():
                reasons.setdefault(at, f"column {name!r} is not UTF-8")
            if name == self.id_column:
                for at in np.flatnonzero(column.kinds == NULL).tolist():
                    reasons.setdefault(at, f"column {name!r} holds null; an id is an integer or a string")
        if reasons:
            for at in sorted(reasons):
                self.malformed.add(BadRecord(source.name, row + at + 1, reasons[at], "row"))
            good[list(reasons)] = False
            if not good.any():
                return good, None
            kept = _filtered(arrow, good)
            texts = texts_of(kept.column(self.text_column))
            columns = {name: column_of(kept.column(name)) for name in self.columns}
        first = self.rows
        lengths = np.diff(texts.offsets).astype(np.uint32)
        self._texts_at.append(_Place(first, self._spool.size, lengths, texts.nulls))
        self._spool.write(np.ascontiguousarray(texts.data[texts.offsets[0] : texts.offsets[-1]]).data)
        self.rows += len(texts)
        if self.id_column is None:
            ids = Column.integers(np.arange(first, self.rows, dtype=np.int64))
        else:
            ids = columns[self.id_column]
        return good, Batch(first, texts, ids, {name: columns[name] for name in self.extra_columns})

    def _texts(self, rows: NDArray[np.int64]) -> PackedTexts:
        firsts = np.array([place.first_row for place in self._texts_at], np.int64)
        wanted = np.searchsorted(firsts, rows, side="right") - 1
        parts: list[PackedTexts] = []
        for at in np.unique(wanted).tolist():
            place = self._texts_at[at]
            local = rows[wanted == at] - place.first_row
            starts = running(place.lengths)[local] + place.base
            lengths = place.lengths[local]
            data = read_at(self._spool.descriptor(), starts, lengths, "the spool")
            parts.append(PackedTexts(running(lengths), data, np.flatnonzero(np.isin(local, place.nulls))))
        return PackedTexts.concat(parts)

    def _write(self, mask: NDArray[np.bool_], stream: IO[bytes], sources: Sequence[int]) -> None:
        first = 0
        with self._open(sources[0]) as (file, _):
            options = _options(file.metadata)
        writer = pq.ParquetWriter(pa.PythonFile(Sink(stream), "w"), self._schema, **options)
        try:
            for number, source in enumerate(self._sources):
                with self._open(number) as (file, stamp):
                    if stamp != self._stamps[number]:
                        raise unreadable(
                            source.name, "the file changed since it was read; run again when nothing writes to it"
                        )
                    good = np.ones(file.metadata.num_rows, bool)
                    good[self._bad[number]] = False
                    count = int(good.sum())
                    # The row of the corpus that each row of the file is.
                    rows = first + np.cumsum(good) - 1
                    good[good] = mask[first : first + count]
                    first += count
                    if number in sources:
                        self._write_rows(file, good, rows, writer, groups=len(sources) == 1 < len(self._sources))
        finally:
            writer.close()

    def _write_rows(
        self,
        file: pq.ParquetFile,
        kept: NDArray[np.bool_],
        rows_of_corpus: NDArray[np.int64],
        writer: pq.ParquetWriter,
        *,
        groups: bool = False,
    ) -> None:
        """Write the rows of a file that are kept, in groups of 64 MiB, or with `groups` in those of the file."""
        waiting: list[pa.RecordBatch] = []
        size, at = 0, 0
        metadata = file.metadata
        total = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        rows = int(min(65_536, max(1, BLOCK * metadata.num_rows // max(1, total))))
        parts = (
            [[number] for number in range(metadata.num_row_groups)] if groups else [[*range(metadata.num_row_groups)]]
        )
        for part_groups in parts:
            for batch in file.iter_batches(batch_size=rows, row_groups=part_groups):
                chosen = kept[at : at + batch.num_rows]
                part = self._with_changes(_filtered(batch, chosen), rows_of_corpus[at : at + batch.num_rows][chosen])
                at += batch.num_rows
                if part.num_rows:
                    waiting.append(part)
                    size += part.nbytes
                if size >= _GROUP and not groups:
                    writer.write_table(pa.Table.from_batches(waiting))
                    waiting, size = [], 0
            if waiting:
                table = pa.Table.from_batches(waiting)
                writer.write_table(table, row_group_size=table.num_rows)
                waiting, size = [], 0

    def _with_changes(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> pa.RecordBatch:
        """Rows with the texts that they are to have."""
        changed = {} if self._changes is None or not len(rows) else self._changes.chosen(rows)
        if not changed:
            return batch
        at = batch.schema.get_field_index(self.text_column)
        texts = batch.column(at).to_pylist()
        for place, text in changed.items():
            texts[place] = text if isinstance(texts[place], str) else text.encode()
        return batch.set_column(at, batch.schema.field(at), pa.array(texts, batch.schema.field(at).type))

    def _is_whole(self) -> bool:
        return self._schema is None or len(self._schema.get_all_field_indices(self.text_column)) != 1


def _filtered(batch: pa.RecordBatch, mask: NDArray[np.bool_]) -> pa.RecordBatch:
    """Some rows of a batch. Views of strings and bytes, which pyarrow can't filter, are cast to other types first."""
    chosen = pa.array(mask)
    if not any(map(_is_view, batch.schema.types)):
        return batch.filter(chosen)
    columns = []
    for column in batch.columns:
        if _is_view(column.type):
            plain = pa.large_string() if pa.types.is_string_view(column.type) else pa.large_binary()
            columns.append(column.cast(plain).filter(chosen).cast(column.type))
        else:
            columns.append(column.filter(chosen))
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def _options(metadata: pq.FileMetaData) -> dict[str, dict[str, str]]:
    """The codec of each column and the format version, as the file has them."""
    if not metadata.num_row_groups:
        return {}
    group = metadata.row_group(0)
    codecs = {group.column(i).path_in_schema: group.column(i).compression for i in range(group.num_columns)}
    known = {name: "NONE" if codec == "UNCOMPRESSED" else codec for name, codec in codecs.items()}
    return {"compression": known}


def _split(batch: pa.RecordBatch, name: str) -> Iterator[pa.RecordBatch]:
    """The batch, halved until no part has more than two blocks of text, or one row."""
    if batch.num_rows > 1 and batch.column(name).nbytes > 2 * BLOCK:
        half = batch.num_rows // 2
        yield from _split(batch.slice(0, half), name)
        yield from _split(batch.slice(half), name)
    elif batch.num_rows:
        yield batch


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _is_date(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _check_type(source: InputFile, name: str, kind: pa.DataType, *, text: bool) -> None:
    value = _value_type(kind)
    if text and not (_is_string(value) or _is_binary(value) or pa.types.is_null(value)):
        raise unreadable(source.name, f"column {name!r} is {kind}; a text is a string, or bytes of UTF-8")
    types = pa.types
    scalar = types.is_integer(value) or types.is_floating(value) or types.is_boolean(value) or types.is_null(value)
    if not text and not scalar and not _is_date(value) and not _is_string(value):
        raise unreadable(
            source.name, f"column {name!r} is {kind}; a column that is read is of strings, numbers, booleans or dates"
        )


def _first_difference(found: pa.Schema, expected: pa.Schema, where: str) -> str:
    for i in range(max(len(found), len(expected))):
        left, right = _shown(found, i), _shown(expected, i)
        if left != right:
            return f"column {i + 1} is {left}, while it is {right} in {where}; give files of one schema"
    return f"the schema differs from that of {where}; give files of one schema"


def _shown(schema: pa.Schema, i: int) -> str:
    if i >= len(schema):
        return "missing"
    field = schema.field(i)
    return f"{field.name} ({field.type}{'' if field.nullable else ', not null'})"


def texts_of(array: pa.Array) -> PackedTexts:
    """An Arrow column of strings as texts, over its own memory where it is a (large) string array."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if _is_binary(array.type):
        # The same bytes under another name: whether they are UTF-8 is for the caller to find out.
        plain = array if not pa.types.is_binary_view(array.type) else array.cast(pa.large_binary())
        array = plain.view(pa.string() if pa.types.is_binary(plain.type) else pa.large_string())
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        array = array.cast(pa.large_string())
    width = np.dtype(np.int32) if pa.types.is_string(array.type) else np.dtype(np.int64)
    valid, offsets, data = array.buffers()
    if offsets is None or not len(array):
        return PackedTexts(np.zeros(len(array) + 1, np.int64), np.zeros(0, np.uint8), np.arange(array.null_count))
    places = np.frombuffer(offsets, width)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    bytes_ = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    nulls = (
        np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
        if valid is not None and array.null_count
        else None
    )
    if nulls is not None:
        lengths = np.diff(places)
        if lengths[nulls].any():
            # Arrow leaves open what lies under a null; here it is an empty string.
            return texts_of(pc.fill_null(array, "")).with_nulls(nulls)
    return PackedTexts(places, bytes_, nulls)


def column_of(array: pa.Array) -> Column:
    """An Arrow column of strings, integers, floats or booleans."""
    kind = _value_type(array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if _is_string(kind):
        return Column.strings(texts_of(array))
    n = len(array)
    if pa.types.is_null(kind):
        return Column.of([None] * n)
    if _is_date(kind):
        # ISO 8601; a zone becomes Z, since the moment is what counts.
        moments = array if pa.types.is_date(kind) or kind.tz is None else array.cast(pa.timestamp(kind.unit, "UTC"))
        return Column.strings(texts_of(moments.cast(pa.string())))
    if pa.types.is_uint64(kind) and array.null_count < n and pc.max(array).as_py() >= 2**63:
        return Column.of(array.to_pylist())
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(kind):
        floats = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        column = Column.integers(np.ascontiguousarray(floats).view(np.int64))
        column.kinds[:] = FLOAT
    else:
        filled = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        column = Column.integers(np.ascontiguousarray(filled))
        column.kinds[:] = BOOL if pa.types.is_boolean(kind) else INT
    column.kinds[nulls] = NULL
    return column
