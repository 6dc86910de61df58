"""Segment: documents in the order of their rows, and the index of the new ones, in two immutable files.

The header of an index has the checksum of its documents' header, which covers the checksums of all their sections. So
an index of other documents is detected on opening. One that was written without it is compared with a sample of its
documents by `Segment.check_index`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearkin._core import StoreSegment, store_sums
from nearkin.dedup.candidates import Ordinals
from nearkin.errors import CorruptStoreError, NearkinError, mismatch
from nearkin.index.ids import Id
from nearkin.io.atomic_write import output_error, sync_folder
from nearkin.progress import Progress, ignore_progress, ticker
from nearkin.store.filesystem import SEGMENT_FOLDER
from nearkin.store.kinds import StoreSettings, read_settings
from nearkin.store.kinds.base import StoreIndex, corrupt_file
from nearkin.store.log import Log, SegmentEntry
from nearkin.store.records import NEW, indexed_positions, match_rows, record_type
from nearkin.text.batches import Texts

_INDEX_BATCH = 1 << 16
_LINK_BATCH = 1 << 14
"""Documents whose records are read at a time to find those that were not new."""
_COMPRESSION_LEVEL = 3
"""Level of zstd for texts, measured in docs/store.md."""
_SAMPLE = 1_000
"""Entries of an index that `verify` compares with the documents."""
_HEADER, _SECTION = 64, 40
_COUNT, _OWNER, _CHECKSUM = slice(16, 20), slice(32, 40), slice(56, 64)
"""Fields of the header of a file (docs/format.md): number of sections, checksum of the documents, its own checksum."""
CompressedTexts = tuple[bytes, Sequence["StoreSegment | tuple[int, int, int, int, bytes, bytes]"]]
"""Texts compressed before: their dictionary, and files or blocks with the texts (`TextBlock.segment_block`)."""


@dataclass(frozen=True)
class SegmentHeader:
    """What the file of documents of a segment says about itself and its store, so that the log can be rebuilt.

    Attributes
    ----------
    settings : str
        Of the store, as the log has them.
    store : str
        Id of the store.
    generation : int
        Of the segment list that has the segment.
    sequence, next_row, removals : int
        Counters of the store when the segment was written.
    id_kind : str
    first, last : int
        Rows that the segment covers: documents between them that it lacks were removed.
    segments : list of SegmentEntry
        The other segments of the list.
    removed : list of int
        Rows of removed documents that files may still have.
    merged : bool
        True if it replaced other segments while pending documents could be written into another one.
    """

    settings: str
    store: str
    generation: int
    sequence: int
    next_row: int
    removals: int
    id_kind: str
    first: int
    last: int
    segments: list[SegmentEntry]
    removed: list[int]
    merged: bool = False

    @classmethod
    def of(
        cls, log: Log, first: int, last: int, replaced: Collection[str] = (), *, merged: bool = False
    ) -> SegmentHeader:
        """Return the header of the next segment, in the open transaction; `replaced` are segments that it replaces."""
        state = log.state()
        segments = [entry for entry in log.segments() if entry.name not in replaced]
        counters = state.generation + 1, state.sequence, state.next_row, state.removals
        removed = [row for _, row in log.tombstones()]
        return cls(state.settings, state.store, *counters, state.id_kind, first, last, segments, removed, merged)

    @classmethod
    def read(cls, documents: StoreSegment, place: Path) -> SegmentHeader:
        """Read the header of a file.

        Raises
        ------
        CorruptStoreError
            The file has no such header.
        """
        with suppress(ValueError, TypeError):
            fields = json.loads(documents.note())
            fields["segments"] = [SegmentEntry(*entry) for entry in fields["segments"]]
            header = cls(**fields)
            if all(isinstance(value, (int, str, list)) for value in vars(header).values()):
                return header
        raise corrupt_file(place, "it does not describe itself as a segment of a store; restore it from a backup")

    @property
    def name(self) -> str:
        """Name of the files of the segment: a flush and a merge may begin in the same generation."""
        return f"{self.generation | self.merged << 63:016x}"

    def encode(self) -> bytes:
        """Return the header as JSON."""
        fields = {**vars(self), "segments": list(map(astuple, self.segments))}
        return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


def segment_paths(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the paths of the documents and the index of a segment."""
    return folder / SEGMENT_FOLDER / f"{name}.documents.nks", folder / SEGMENT_FOLDER / f"{name}.index.nks"


class Segment:
    """An open segment.

    Parameters
    ----------
    folder : Path
        The store.
    entry : SegmentEntry
    settings : StoreSettings
    documents : (Path, StoreSegment), optional
        Documents that are open already; the index is then not opened.

    Attributes
    ----------
    documents : StoreSegment
    header : SegmentHeader
    index : StoreIndex
        Of the new documents.

    Raises
    ------
    CorruptStoreError
        A file is truncated, or differs from the entry in the segment list.
    MismatchError
        A file belongs to a store with other settings.
    OSError
        A file is missing.
    """

    def __init__(
        self,
        folder: Path,
        entry: SegmentEntry,
        settings: StoreSettings,
        *,
        documents: tuple[Path, StoreSegment] | None = None,
    ) -> None:
        self.entry = entry
        self.documents_path, self.index_path = segment_paths(folder, entry.name)
        self._record_type = record_type(settings)
        if documents is None:
            self.documents = StoreSegment.open(str(self.documents_path))
        else:
            self.documents_path, self.documents = documents
        self.header = SegmentHeader.read(self.documents, self.documents_path)
        text = self.header.settings
        # An option that had another name is written in another way.
        if text != settings.to_json() and read_settings(text, str(self.documents_path)) != settings:
            raise mismatch("settings of the store", f"those of {self.documents_path}", "those of the log")
        if len(self.documents) != entry.documents:
            raise self.corrupt(f"it holds {len(self.documents)} documents of {entry.documents}")
        first, last = self.header.first, self.header.last
        if not first <= entry.first <= entry.last <= last:
            raise self.corrupt(f"it covers rows {first} to {last} and not {entry.first} to {entry.last}")
        if documents is None:
            self.index: StoreIndex = self.open_index(settings)

    def corrupt(self, reason: str) -> CorruptStoreError:
        """Return the error for a segment that differs from its entry in the segment list."""
        place = str(self.documents_path)
        return CorruptStoreError(f"{place}: {reason}; restore it from a backup", place=place, reason=reason)

    def open_index(self, settings: StoreSettings) -> StoreIndex:
        """Open the index, which must be that of the documents."""
        index = settings.open_index(self.index_path)
        owner = _read_header(self.index_path)[_OWNER]
        if any(owner) and owner != _read_header(self.documents_path)[_CHECKSUM]:
            raise self._foreign_index()
        return index

    def _foreign_index(self) -> CorruptStoreError:
        return corrupt_file(self.index_path, f"it is not the index of {self.documents_path.name}; repair the store")

    def check_index(self, index: StoreIndex, settings: StoreSettings) -> None:
        """Compare the rows of an index, and a sample of its entries, with the documents.

        Raises
        ------
        CorruptStoreError
            They differ.
        """
        rows, records = self.all_rows(), self.all_records()
        positions = indexed_positions(settings, records)
        sample = positions[:: -(-len(positions) // _SAMPLE) or 1]
        same_rows = np.array_equal(index.rows(), rows[positions])
        if not same_rows or not index.has(rows[sample], records["values"][sample].copy()):
            raise self._foreign_index()

    def __len__(self) -> int:
        return self.entry.documents

    def positions(self, rows: Ordinals) -> Ordinals:
        """Return the positions of rows, which the segment must have."""
        positions = self.documents.places(rows)
        if len(positions) and positions.min() < 0:
            raise self.corrupt(f"row {int(rows[positions < 0][0])} is missing")
        return positions

    def all_rows(self) -> Ordinals:
        """Return the rows of all documents."""
        return self.documents.rows(0, len(self))

    def records(self, rows: Ordinals) -> NDArray[np.void]:
        """Return the records of rows."""
        return self.documents.records(self.positions(rows)).view(self._record_type)

    def all_records(self) -> NDArray[np.void]:
        """Return the records of all documents."""
        return self.documents.records(np.arange(len(self))).view(self._record_type)

    @cached_property
    def links(self) -> tuple[Ordinals, Ordinals]:
        """Rows of the documents that were not new, and the rows that they matched, ascending.

        The first use reads all records.

        Raises
        ------
        CorruptStoreError
            An extra is damaged.
        """
        chunks = [np.arange(start, min(start + _LINK_BATCH, len(self))) for start in range(0, len(self), _LINK_BATCH)]
        members = [chunk[self.documents.records(chunk).view(self._record_type)["status"] != NEW] for chunk in chunks]
        positions = np.concatenate(members)
        try:
            matched = match_rows(self.documents.extras(positions))
        except ValueError as error:
            raise self.corrupt(f"the match of a document can't be read ({error})") from None
        order = np.argsort(matched, kind="stable")
        return self.all_rows()[positions][order], matched[order]

    def contents(self, rows: Ordinals) -> list[bytes]:
        """Return the content hashes of rows."""
        contents = self.documents.contents(self.positions(rows)).reshape(-1, 2)
        return [content.tobytes() for content in contents]

    def ids(self, rows: Ordinals) -> list[Id]:
        """Return the ids of rows."""
        ids: list[Id] = self.documents.ids(self.positions(rows)).tolist()
        return ids

    def extras(self, rows: Ordinals) -> list[bytes]:
        """Return the extras of rows."""
        return self.documents.extras(self.positions(rows))

    def texts(self, rows: Ordinals) -> list[str | None]:
        """Return the texts of rows; None for a document without one."""
        return self.documents.texts(self.positions(rows))


def build_index(
    settings: StoreSettings, rows: Ordinals, records: NDArray[np.void], report: Progress = ignore_progress
) -> StoreIndex:
    """Build the index of the new documents."""
    index = settings.new_index()
    positions = indexed_positions(settings, records)
    tick = ticker(report, "index", len(positions))
    for start in range(0, len(positions), _INDEX_BATCH):
        chunk = positions[start : start + _INDEX_BATCH]
        index.add(rows[chunk], records["values"][chunk].copy())
        tick(len(chunk))
    return index


def _read_header(path: Path) -> bytes:
    """Return the header of a file; zeros if it has none, as the oldest indexes of digests."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
    return header if header.startswith(b"NEARKSEG") else bytes(_HEADER)


def save_index(index: StoreIndex, path: Path, documents: Path) -> None:
    """Write the index of a file of documents, and name their checksum in its header."""
    temporary = path.with_name(f".{path.name}")
    index.save(temporary)
    with temporary.open("r+b") as file:
        head = bytearray(file.read(_HEADER))
        head += file.read(_SECTION * int.from_bytes(head[_COUNT], "little"))
        head[_OWNER], head[_CHECKSUM] = _read_header(documents)[_CHECKSUM], bytes(8)
        head[_CHECKSUM] = store_sums([bytes(head)]).astype("<i8").tobytes()
        file.seek(0)
        file.write(head[:_HEADER])
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


@contextmanager
def write_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the system while a segment of a store is written into an OutputError."""
    try:
        yield
    except NearkinError:
        raise
    except OSError as error:
        state = "no document is lost; make space, and run again"
        raise output_error(folder, "a segment could not be written", error, state, in_place="old") from error


def write_segment(
    folder: Path,
    header: SegmentHeader,
    settings: StoreSettings,
    report: Progress,
    *,
    rows: Ordinals,
    ids: list[Id],
    contents: NDArray[np.uint64],
    records: NDArray[np.void],
    extras: list[bytes] | None,
    texts: Texts | None,
    compressed: CompressedTexts | None,
) -> SegmentEntry:
    """Write both files of a segment, synced, and return its entry for the segment list.

    `compressed` texts are copied; `texts` are compressed.

    Raises
    ------
    OutputError
        The disk is full, or fails.
    """
    index = build_index(settings, rows, records, report)
    documents_path, index_path = segment_paths(folder, header.name)
    with write_errors(folder):
        StoreSegment.write(
            str(documents_path),
            rows=rows,
            ids=list(map(str, ids)) if ids and isinstance(ids[0], str) else np.array(ids, np.int64),
            contents=np.ascontiguousarray(contents).reshape(-1),
            records=np.ascontiguousarray(records).view(np.uint8).reshape(-1),
            width=records.dtype.itemsize,
            extras=extras,
            texts=texts,
            note=header.encode(),
            level=_COMPRESSION_LEVEL,
            packed=compressed,
        )
        save_index(index, index_path, documents_path)
    size = documents_path.stat().st_size + index_path.stat().st_size
    return SegmentEntry(header.name, int(rows[0]), int(rows[-1]), len(rows), size)
