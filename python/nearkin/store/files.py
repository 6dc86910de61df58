"""A store of files by their fuzzy digests: what it is made for, and how digests, bytes and paths become documents.

The score of two digests, 1 to 100, is their similarity; 100 less the score is their distance. Nothing is kept of a
file but its digest, the hash of its bytes, and their number. A digest that is given alone is the content of its
document: equal ones are exact copies. Digests without seven characters in a part say nothing of their files, which
match by equal bytes alone (`nearkin.dedup.files`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import byte_hashes, content_hashes
from nearkin.dedup.candidates import DigestCandidates
from nearkin.dedup.candidates.ssdeep import comparable, digest_rows
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.files import SKIP_HUBS, THRESHOLD, hash_paths, no_texts, path_names
from nearkin.dedup.stages import Featureless
from nearkin.digests.ssdeep import DigestRecipe, compare_many
from nearkin.digests.ssdeep.hashing import content
from nearkin.errors import CorruptStoreError, InputError, bad_parameter
from nearkin.io import Column
from nearkin.progress import Progress, unreported
from nearkin.store.settings import VERSION, FileKind, Kind, TextRule


@dataclass(frozen=True)
class FileSettings:
    """What a store of files is made for.

    Parameters
    ----------
    recipe : DigestRecipe
        How a file becomes a digest.
    threshold : int
        Smallest score of a match, inclusive, 1 to 100.

    Raises
    ------
    ParameterError
        For a threshold out of its range.
    """

    recipe: DigestRecipe
    threshold: float = THRESHOLD
    source: DigestCandidates = field(init=False, compare=False, repr=False)
    noun: ClassVar[str] = "file"
    distance_type: ClassVar[type] = np.int64
    text: ClassVar[TextRule] = "none"
    verify: ClassVar[str] = "score"
    verified_by: ClassVar[str] = "the score of the digests"
    comparison: ClassVar[None] = None
    differ: ClassVar[tuple[str, ...]] = ()
    featureless: ClassVar[Featureless] = "keep"
    radius: ClassVar[None] = None
    recall: ClassVar[None] = None
    needs_texts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        source = DigestCandidates(self.recipe, self.threshold, SKIP_HUBS)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "threshold", source.threshold)

    def hash(self, items: Any, kind: Kind | None, report: Progress = unreported) -> HashedDocuments:
        """Digests and contents of digests, bytes or paths, or documents that were hashed by the recipe before.

        Raises
        ------
        InputError
            What is no digest; for anything but a regular file, or a file that changes while it is read.
        OSError
            A file can't be read.
        """
        if isinstance(items, HashedDocuments):
            return items
        found = "digests" if kind is None else kind
        if found not in get_args(FileKind):
            raise bad_parameter("kind", repr(kind), '"digests", "bytes" or "paths" for a store of files')
        if found == "paths":
            return hash_paths(path_names(items, "paths"), self.recipe, report=report)
        if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
            raise bad_parameter(found, repr(items)[:40], f"an iterable of {found}, such as a list")
        return hash_buffers(list(items), self.recipe) if found == "bytes" else hash_digests(list(items))

    def tell_skipped(self, skipped: int) -> str:
        """That look-ups were left out."""
        bound = f"more than {self.source.skip_hubs:,} digests"
        return f"{skipped:,} look-ups were left out: {bound} of one segment share what some files have"

    def check_verify(self, verify: str, rules: tuple[str, ...]) -> None:
        """Nothing: the score of digests is always there."""

    def about(self) -> dict[str, Any]:
        """All settings by name."""
        return {
            "recipe": str(self.recipe),
            "recipe_digest": self.recipe.digest,
            "threshold": self.threshold,
            "verify": self.verify,
        }

    def to_json(self) -> str:
        """All settings, as JSON with sorted keys."""
        settings = {
            "version": VERSION,
            "kind": "files",
            "recipe": json.loads(self.recipe.to_json()),
            "recipe_digest": self.recipe.digest,
            "threshold": self.threshold,
        }
        return json.dumps(settings, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    def save_files(self, folder: Path) -> None:
        """Nothing."""

    @classmethod
    def of_json(cls, found: dict[str, Any], place: str) -> FileSettings:
        """The settings of a JSON form.

        Raises
        ------
        CorruptStoreError
            Its recipe is not the one of its digest.
        """
        recipe = DigestRecipe.from_json(json.dumps(found["recipe"]))
        if recipe.digest != found["recipe_digest"]:
            reason = f"its recipe has the digest {recipe.digest} and not {found['recipe_digest']}, as its settings say"
            raise CorruptStoreError(f"{place}: {reason}", place=place, reason=reason)
        return cls(recipe, found["threshold"])


def hash_buffers(items: Sequence[Any], recipe: DigestRecipe) -> HashedDocuments:
    """Digests and contents of bytes: those that files of the same bytes have.

    Raises
    ------
    ParameterError
        Anything but bytes or another buffer.
    """
    for item in items:
        if isinstance(item, str):
            raise bad_parameter("bytes", repr(item)[:40], 'bytes or other buffers; kind="paths" for names of files')
    buffers = [content(item) for item in items]
    sizes = np.array([len(buffer) for buffer in buffers], np.uint64)
    contents = np.array([_content(buffer) for buffer in buffers], np.uint64).reshape(-1, 2)
    digests = [recipe.hash(buffer) for buffer in buffers]
    return _documents(digests, (sizes > 0).astype(np.uint64), contents, sizes)


def hash_digests(items: Sequence[Any]) -> HashedDocuments:
    """Documents of which the digest alone is known.

    Raises
    ------
    InputError
        What is no digest; the message names its row.
    """
    for row, item in enumerate(items):
        if not isinstance(item, (str, bytes)):
            reason = f'a {type(item).__name__} is no digest; give str, or kind="bytes" or kind="paths" for files'
            raise InputError(f"row {row}: {reason}", place=f"row {row}", reason=reason)
    compare_many("3::", items)
    digests = [item.decode("ascii") if isinstance(item, bytes) else item for item in items]
    # As for files, the upper word comes first.
    contents = content_hashes(digests)[0].reshape(-1, 2)[:, ::-1].copy()
    return _documents(
        digests, comparable(digest_rows(digests)).astype(np.uint64), contents, np.zeros(len(digests), np.uint64)
    )


def listed_documents(digests: list[str], contents: list[tuple[int, int] | None], lengths: list[int]) -> HashedDocuments:
    """Documents of a list of digests, of which some have the content of their file; a length of 0 is not known.

    Raises
    ------
    InputError
        What is no digest; the message names its row.
    """
    hashed = hash_digests(digests)
    for row, (pair, length) in enumerate(zip(contents, lengths, strict=True)):
        if pair is not None:
            hashed.contents[row] = pair
        if length:
            hashed.lengths[row], hashed.counts[row] = length, 1
    return hashed


def _content(buffer: bytes) -> tuple[int, int]:
    """The hash of bytes, its upper word first, as files have it."""
    if not buffer:
        lower, upper = content_hashes([""])[0].tolist()
    else:
        lower, upper = byte_hashes(np.frombuffer(buffer, np.uint8), len(buffer)).tolist()
    return upper, lower


def _documents(
    digests: list[str], counts: NDArray[np.uint64], contents: NDArray[np.uint64], lengths: NDArray[np.uint64]
) -> HashedDocuments:
    return HashedDocuments(digest_rows(digests), counts, contents, lengths, Column.of([]), {}, no_texts)
