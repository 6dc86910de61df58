"""What a store says of its documents, from its contents as they stand at one commit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nearkin.dedup.candidates import Places
from nearkin.errors import CorruptStoreError, bad_parameter
from nearkin.index.ids import IdKeys
from nearkin.store.documents import StoredDocument, StoreStats
from nearkin.store.log import NAME, State
from nearkin.store.records import STATUSES, Cell, Match, unpack_extra
from nearkin.store.settings import StoreSettings
from nearkin.store.snapshot import Contents


def documents_of(contents: Contents, rows: Places) -> list[StoredDocument]:
    """What is known of the documents of these rows."""
    records, names = contents.records(rows), contents.ids(rows)
    extras = [read_extra(contents, extra) for extra in contents.extras(rows)]
    decided = np.array([-1 if match is None else match.row for match, _ in extras], np.int64)
    there = np.flatnonzero(decided >= 0)
    there = there[contents.present(decided[there])]
    others = dict(zip(there.tolist(), contents.ids(decided[there]), strict=True))
    found = []
    for number, (row, name, record) in enumerate(zip(rows.tolist(), names, records, strict=True)):
        match, columns = extras[number]
        distance, similarity = (-1, float("nan")) if match is None else (match.distance, match.similarity)
        status = STATUSES[int(record["status"])]
        features, length = int(record["features"]), int(record["length"])
        other = others.get(number)
        found.append(StoredDocument(name, row, status, other, distance, similarity, features, length, columns))
    return found


def read_extra(contents: Contents, extra: bytes) -> tuple[Match | None, dict[str, Cell]]:
    """The match and the columns of a document.

    Raises
    ------
    CorruptStoreError
        They can't be read.
    """
    try:
        return unpack_extra(extra)
    except ValueError as error:
        place, reason = str(contents.folder), f"a document's columns can't be read ({error}); run verify"
        raise CorruptStoreError(f"{place}: {reason}", place=place, reason=reason) from None


def live_rows(contents: Contents, start: int, count: int) -> Places:
    """The first `count` rows from `start` on that were not removed."""
    found: list[Places] = []
    have = 0
    for part in contents.parts:
        if part.entry.last < start:
            continue
        rows = part.documents.rows(0, len(part))
        rows = rows[np.searchsorted(rows, start) :]
        rows = rows[contents.alive(rows)][: count - have]
        found.append(rows)
        have += len(rows)
        if have >= count:
            break
    if have < count:
        rows = contents.waiting.rows
        rows = rows[rows >= start]
        found.append(rows[contents.alive(rows)][: count - have])
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def count_of(contents: Contents, state: State) -> int:
    """How many documents were added and not removed."""
    return state.waiting + sum(map(len, contents.parts)) - len(contents.hidden)


def stats_of(contents: Contents, state: State) -> StoreStats:
    """What the store holds, and the bytes of its files."""
    sizes = {"log": 0, "documents": 0, "index": 0}
    for path in contents.folder.glob(NAME + "*"):
        sizes["log"] += path.stat().st_size
    for part in contents.parts:
        sizes["documents"] += part.documents_path.stat().st_size
        sizes["index"] += part.index_path.stat().st_size
    sizes["total"] = sum(sizes.values())
    return StoreStats(
        documents=count_of(contents, state),
        waiting=state.waiting,
        segments=len(contents.parts),
        removed=len(contents.hidden),
        bytes=sizes,
        settings=contents.settings.about(),
    )


def hexadecimal(contents: list[bytes], settings: StoreSettings) -> list[str]:
    """Content hashes as 32 hexadecimal digits, the upper word first.

    Numbers are stored least significant byte first; those of texts begin with the lower word.
    """
    words = [(content[7::-1].hex(), content[:7:-1].hex()) for content in contents]
    return ["".join(reversed(pair) if settings.noun == "text" else pair) for pair in words]


def is_kind(keys: IdKeys, state: State) -> bool:
    """Whether ids are of the kind that the store has."""
    kind = "int" if isinstance(keys, np.ndarray) else "str"
    return not len(keys) or state.id_kind in ("", kind)


def check_kind(keys: IdKeys | None, state: State) -> None:
    """Refuse ids of another kind than the store's.

    Raises
    ------
    ParameterError
        They are.
    """
    if keys is not None and not is_kind(keys, state):
        found = "integers" if isinstance(keys, np.ndarray) else "strings"
        raise bad_parameter("ids", found, f"ids of the store's kind, {state.id_kind}")


def missing(folder: Path, gone: FileNotFoundError) -> CorruptStoreError:
    """The error for a segment that is on the list and not there."""
    place = str(gone.filename or folder)
    reason = "a segment on the list is not there; restore the store from a backup"
    return CorruptStoreError(f"{place}: {reason}", place=place, reason=reason)
