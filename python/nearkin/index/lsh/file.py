"""The file of an index of vectors: what the core does not know of it, as a note; `docs/format-lsh.md` describes it.

The note is the length and the bytes of a JSON object, and the family's arrays, each behind its length.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nearkin._core import LshCore
from nearkin.errors import CorruptStoreError, check_regular
from nearkin.families.base import Family, restore, unfitted
from nearkin.index.lsh.arrays import Stored
from nearkin.index.lsh.params import Given, Settings, Tuning, check, of_family

_GIVEN = (
    "num_tables", "hashes_per_table", "num_probes", "filter", "num_candidates", "metric", "rank", "recall", "num_cells",
)  # fmt: skip
_SETTINGS = (
    "filter", "num_tables", "hashes_per_table", "num_probes", "num_candidates", "rank", "recall", "num_cells",
)  # fmt: skip


class Opened(NamedTuple):
    """What a file holds."""

    core: LshCore
    given: Given
    settings: Settings
    family: Family
    vectors: Stored
    dimension: int


def save(core: LshCore, place: str, given: Given, settings: Settings, family: Family) -> None:
    """What `LSHIndex.save` does; see there."""
    text, arrays = family.parts()
    about = {
        "family": json.loads(text),
        "bits": family.num_hashes,
        "settings": {name: getattr(settings, name) for name in _SETTINGS},
        "given": {name: getattr(given, name) for name in _GIVEN},
        "given_family": given.family.description(),
        "given_max_norm": given.max_norm,
        "max_norm": settings.max_norm,
        "chosen": settings.chosen,
        "tuning": None if settings.tuning is None else asdict(settings.tuning),
    }
    head = json.dumps(about, sort_keys=True, allow_nan=False).encode()
    note = [len(head).to_bytes(8, "little"), head]
    for array in arrays:
        note += [len(array).to_bytes(8, "little"), array.tobytes()]
    core.save(place, b"".join(note))


def open_file(place: str) -> Opened:
    """What `LSHIndex.open` reads; see there."""
    check_regular(place)
    core, note = LshCore.open(place)
    try:
        about, arrays = _parts(note)
        metric, vectors, dimension, *_ = core.info()
        lifted = metric == "inner_product" and about["settings"].get("rank") != "estimate"
        hashed = dimension + lifted
        # Before functions of another dimension are drawn, which may need any amount of memory.
        if about["family"]["dimension"] != hashed:
            raise ValueError("its hash functions are not those of its vectors")
        family = restore(json.dumps(about["family"]), arrays, place)
        given = Given(family=_given_family(about, family), max_norm=about.get("given_max_norm"), **about["given"])
        settings = _settings(about, given, family)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        reason = f"its description does not hold together ({error})"
        raise CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason) from error
    if metric != settings.metric:
        reason = "its metric is not that of its vectors"
        raise CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason)
    return Opened(core, given, settings, family, vectors, dimension)


def _parts(note: bytes) -> tuple[dict[str, Any], list[npt.NDArray[np.uint8]]]:
    """The description in a note, and the bytes of the family's arrays."""
    size = int.from_bytes(note[:8], "little")
    about = json.loads(note[8 : 8 + size])
    if not isinstance(about, dict):
        raise TypeError("it is not an object")
    arrays, at = [], 8 + size
    while at < len(note):
        length = int.from_bytes(note[at : at + 8], "little")
        if at + 8 + length > len(note):
            raise ValueError("an array ends behind the note")
        # A copy begins where numbers of any type may begin.
        arrays.append(np.frombuffer(note, np.uint8, length, at + 8).copy())
        at += 8 + length
    return about, arrays


def _given_family(about: dict[str, Any], fitted: Family) -> Family:
    """The family of the constructor; files without it hold the number of its functions."""
    if "given_family" in about:
        return unfitted(about["given_family"])
    return fitted.resized(int(about["bits"]))


def _settings(about: dict[str, Any], given: Given, fitted: Family) -> Settings:
    """The settings, completed with what an older file leaves out."""
    metric = check(given)
    chosen, tuning = about.get("chosen", ()), about["tuning"]
    settings = Settings(
        **about["settings"],
        metric=metric,
        max_norm=float(about["max_norm"]) if metric == "inner_product" and given.rank != "estimate" else None,
        chosen=tuple(str(name) for name in chosen),
        tuning=None if tuning is None else Tuning(**tuning),
    )
    _check_settings(settings, fitted)
    return of_family(settings, fitted)


def _check_settings(settings: Settings, fitted: Family) -> None:
    """Settings are what a constructor may be given, with 0 for what the filter does not have."""
    counts = {
        "buckets": ("num_tables", "hashes_per_table", "num_probes"),
        "codes": () if settings.rank == "estimate" else ("num_candidates",),
        "cells": ("num_probes", "num_cells"),
    }
    used = counts.get(settings.filter, ("filter",))
    named = ("num_tables", "hashes_per_table", "num_probes", "num_candidates", "num_cells")
    if any(bool(getattr(settings, name)) != (name in used) for name in named) or settings.filter not in counts:
        raise ValueError("its counts are not those of its filter")
    if (settings.recall is None) == (settings.rank == "estimate"):
        raise ValueError("its recall is not that of its rank")
    stored: dict[str, Any] = {name: getattr(settings, name) or None for name in _SETTINGS}
    check(Given(family=fitted, **stored))
    if settings.max_norm is not None and not 0 < settings.max_norm < math.inf:
        raise ValueError("its longest vector has no length")
    if settings.tuning is not None:
        numbers = [value for value in asdict(settings.tuning).values() if value is not None]
        if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
            raise ValueError("what its tuning measured is no number")
