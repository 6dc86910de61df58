"""The file of an index of vectors: what the core does not know of it, as a note; `docs/format-lsh.md` describes it.

The note is the length and the bytes of a JSON object, and the family's arrays, each behind its length.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from nearkin._core import LshCore
from nearkin.errors import CorruptStoreError
from nearkin.families.base import restore
from nearkin.search.lsh.settings import Index, Settings, check


def save(index: Index, place: str) -> None:
    """What `LSHIndex.save` does; see there."""
    core = index._fitted()
    text, arrays = index.family_.parts()
    about = {
        "family": json.loads(text),
        "bits": index.family.num_hashes,
        "settings": vars(index.settings_),
        "given": {
            name: getattr(index, name)
            for name in ("num_tables", "hashes_per_table", "num_probes", "filter", "num_candidates", "metric", "rank")
        },
        "max_norm": index.max_norm_ if index.metric_ == "inner_product" else None,
        "tuning": index.tuning_,
    }
    head = json.dumps(about, sort_keys=True, allow_nan=False).encode()
    note = [len(head).to_bytes(8, "little"), head]
    for array in arrays:
        note += [len(array).to_bytes(8, "little"), array.tobytes()]
    core.save(place, b"".join(note))


def open_index(cls: Any, place: str) -> Any:
    """What `LSHIndex.open` does; see there."""
    core, note = LshCore.open(place)
    try:
        size = int.from_bytes(note[:8], "little")
        about = json.loads(note[8 : 8 + size])
        arrays, at = [], 8 + size
        while at < len(note):
            length = int.from_bytes(note[at : at + 8], "little")
            if at + 8 + length > len(note):
                raise ValueError("an array ends behind the note")
            # A copy begins where numbers of any type may.
            arrays.append(np.frombuffer(note, np.uint8, length, at + 8).copy())
            at += 8 + length
        family = restore(json.dumps(about["family"]), arrays, place)
        given = about["given"]
        index = cls(family.resized(int(about["bits"])), **given)
        index.metric_ = check(index)
        index.settings_ = Settings(**about["settings"])
        index.tuning_ = about["tuning"]
        if index.metric_ == "inner_product":
            index.max_norm_ = index.max_norm = float(about["max_norm"])
    except (KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
        reason = f"its description does not hold together ({error})"
        raise CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason) from error
    metric, vectors, dimension, *_ = core.info()
    hashed = dimension + (index.metric_ == "inner_product")
    if metric != index.metric_ or family.dimension_ != hashed:
        reason = "its hash functions are not those of its vectors"
        raise CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason)
    index.family_ = family
    index.vectors_ = vectors
    index.dimension_ = dimension
    index._core = core
    return index
