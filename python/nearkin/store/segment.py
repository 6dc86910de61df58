"""A segment of a store: documents in order of their rows, and the index of those that stay, in two immutable files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearkin._core import StoreSegment
from nearkin.dedup.candidates import CandidateSource, Places, Values
from nearkin.errors import CorruptStoreError, mismatch
from nearkin.index.ids import Id, IdKeys
from nearkin.store.indexes import Found, StoreFamily, StoreIndex
from nearkin.store.log import SegmentEntry
from nearkin.store.records import record_type
from nearkin.store.settings import StoreSettings
from nearkin.text.batches import Texts

FOLDER = "segments"
"""The folder of segments in a store."""
_COMPRESSION = 3
"""Level of zstd for texts: measured in docs/store.md."""
Blocks = tuple[bytes, Sequence["StoreSegment | tuple[int, int, int, int, bytes, bytes]"]]
"""Texts that were compressed before: their dictionary; files that hold them, or blocks (`LogTexts.part`)."""


def files_of(folder: Path, name: str) -> tuple[Path, Path]:
    """The files of documents and index of a segment."""
    return folder / FOLDER / f"{name}.documents.nks", folder / FOLDER / f"{name}.index.nks"


class Part:
    """An open segment.

    Parameters
    ----------
    folder : Path
        The store.
    entry : SegmentEntry
    settings : StoreSettings
    family : StoreFamily

    Attributes
    ----------
    documents : StoreSegment
    index : StoreIndex
        Of the documents that stay.

    Raises
    ------
    CorruptStoreError
        A file that is not whole, or not the one that the list names.
    MismatchError
        A file of a store with other settings.
    OSError
        A file that is not there.
    """

    def __init__(self, folder: Path, entry: SegmentEntry, settings: StoreSettings, family: StoreFamily) -> None:
        self.entry = entry
        self.documents_path, self.index_path = files_of(folder, entry.name)
        self._family, self._type = family, record_type(family)
        self.documents = StoreSegment.open(str(self.documents_path))
        note = self.documents.note().decode()
        if note != settings.to_json():
            raise mismatch("settings of the store", f"those of {self.documents_path}", "those of the log")
        if len(self.documents) != entry.documents:
            raise self.corrupt(f"it holds {len(self.documents)} documents of {entry.documents}")
        self.index: StoreIndex = family.open(self.index_path)

    def corrupt(self, reason: str) -> CorruptStoreError:
        """The error of a segment that is not what the list says."""
        place = str(self.documents_path)
        return CorruptStoreError(f"{place}: {reason}; restore it from a backup", place=place, reason=reason)

    def __len__(self) -> int:
        return self.entry.documents

    def find(self, values: Values, source: CandidateSource | None = None) -> Found:
        """The rows that may match each of these values; `source` as for the index."""
        return self.index.find(values, source)

    def places(self, rows: Places) -> Places:
        """The places of rows that are here."""
        found = self.documents.places(rows)
        if len(found) and found.min() < 0:
            raise self.corrupt(f"row {int(rows[found < 0][0])} is missing")
        return found

    def records(self, rows: Places) -> NDArray[np.void]:
        """Records of rows."""
        return self.documents.records(self.places(rows)).view(self._type)

    def all_records(self) -> NDArray[np.void]:
        """Records of all documents, in order."""
        return self.documents.records(np.arange(len(self))).view(self._type)

    def contents(self, rows: Places) -> NDArray[np.uint64]:
        """Content hashes of rows, `(n, 2)`."""
        return self.documents.contents(self.places(rows)).reshape(-1, 2)

    def ids(self, rows: Places) -> list[Id]:
        """Ids of rows, as they were given."""
        found = self.documents.ids(self.places(rows))
        listed: list[Id] = found.tolist() if isinstance(found, np.ndarray) else list(found)
        return listed

    def extras(self, rows: Places) -> list[bytes]:
        """Extras of rows."""
        return self.documents.extras(self.places(rows))

    def texts(self, rows: Places) -> list[str | None]:
        """Texts of rows; None where none was kept."""
        return self.documents.texts(self.places(rows))


def write_part(
    folder: Path,
    name: str,
    settings: StoreSettings,
    index: StoreIndex,
    *,
    rows: Places,
    ids: IdKeys,
    contents: NDArray[np.uint64],
    records: NDArray[np.void],
    extras: list[bytes] | None,
    texts: Texts | None,
    blocks: Blocks | None = None,
) -> SegmentEntry:
    """Write both files of a segment, synced, and say what the list of segments has to name.

    Texts are given as they are, or as `blocks`, which are not compressed again.
    """
    documents_path, index_path = files_of(folder, name)
    raw = np.ascontiguousarray(records).view(np.uint8).reshape(-1)
    StoreSegment.write(
        str(documents_path),
        rows=rows,
        ids=ids,
        contents=np.ascontiguousarray(contents).reshape(-1),
        records=raw,
        width=records.dtype.itemsize,
        extras=extras,
        texts=texts,
        note=settings.to_json().encode(),
        level=_COMPRESSION,
        packed=blocks,
    )
    index.save(index_path)
    size = documents_path.stat().st_size + index_path.stat().st_size
    return SegmentEntry(name, int(rows[0]), int(rows[-1]), len(rows), size)
