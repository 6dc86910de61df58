"""Files of a report: what they are, their digests, and which bytes of two of them agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nearkin.dedup.cluster import sample_of
from nearkin.digests import ssdeep
from nearkin.digests.ssdeep import DigestRecipe
from nearkin.index.digests import DigestIndex

_MAGIC = (
    (b"\x7fELF", "ELF program"),
    (b"MZ", "Windows program"),
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"\x89PNG\r\n", "PNG picture"),
    (b"\xff\xd8\xff", "JPEG picture"),
    (b"GIF8", "GIF picture"),
    (b"\x1f\x8b", "gzip"),
    (b"\xd0\xcf\x11\xe0", "old Office document"),
    (b"SQLite format 3\0", "SQLite database"),
)
SAMPLED = 2000
"""Kept files that are compared with one another."""
NEAR = 30
"""How far below the threshold a near miss may score."""


@dataclass(frozen=True)
class Shown:
    """What is shown of a document.

    Attributes
    ----------
    text : str or None
        None for a file that is no text.
    length : int
        Characters, or bytes of a file.
    type, digest : str
        Of files.
    data : bytes
        Of files.
    """

    text: str | None
    length: int
    type: str = ""
    digest: str = ""
    data: bytes = b""


def shown_files(found: Mapping[str, bytes | str | None], recipe: DigestRecipe) -> dict[str, Shown]:
    """Files by their paths, as far as they could be read."""
    shown = {}
    for name, data in found.items():
        if isinstance(data, bytes):
            text = _text(data)
            shown[name] = Shown(text, len(data), _type(data, text), recipe.hash(data), data)
    return shown


def _text(data: bytes) -> str | None:
    """The text of a file, if it is one: UTF-8 without control characters of binary formats."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _type(data: bytes, text: str | None) -> str:
    if not data:
        return "empty"
    named = next((name for magic, name in _MAGIC if data.startswith(magic)), None)
    return named or ("bytes" if text is None else "text")


def agreeing(one: bytes, two: bytes, recipe: DigestRecipe) -> list[list[int]]:
    """Ranges of equal bytes: pieces of both, at the smallest block size that their digests have in common.

    Returns
    -------
    list of [start, end, start, end]
        Of the first and of the second, in order.
    """
    from nearkin.explain.digests import compare_digests

    runs = compare_digests(one, two, recipe).common_runs
    return [[*run.a, *run.b] for run in runs if run.parts == runs[0].parts and run.equal and run.a[0] < run.a[1]]


@dataclass(frozen=True)
class NearFiles:
    """Pairs of kept files that nearly match, of a random sample.

    Attributes
    ----------
    pairs : list of (str, str, int)
        Paths and score, which is below the threshold.
    sampled, of : int
        Files that were compared with one another, of how many kept ones.
    """

    pairs: list[tuple[str, str, int]]
    sampled: int
    of: int


def near_files(kept: Sequence[str], recipe: DigestRecipe, threshold: int) -> NearFiles:
    """Pairs of kept files whose digests score below the threshold, but not by more than `NEAR`."""
    names = [kept[at] for at in np.sort(sample_of(len(kept), SAMPLED)).tolist()]
    digests = ssdeep.hash_files(names, on_error="return", **recipe.flags)
    readable = [(name, digest) for name, digest in zip(names, digests, strict=True) if isinstance(digest, str)]
    index = DigestIndex(recipe=recipe)
    index.add(list(range(len(readable))), [digest for _, digest in readable])
    found = index.pairs(max(threshold - NEAR, 1), skip_hubs=SAMPLED)
    pairs = [
        (readable[left][0], readable[right][0], score)
        for left, right, score in zip(found.left.tolist(), found.right.tolist(), found.scores.tolist(), strict=True)
        if score < threshold
    ]
    return NearFiles(pairs, len(readable), len(kept))


__all__ = ["NEAR", "SAMPLED", "NearFiles", "Shown", "agreeing", "near_files", "shown_files"]
