"""Stores of files, found by their fuzzy digests: settings, hashing and index.

The score of two ssdeep digests, 1 to 100, is their similarity, and 100 minus the score their distance. Of TLSH the
distance is that of the digests, and 100 minus it their similarity. The store keeps the
digest of a file, the hash of its bytes, and their number. If only a digest is passed, it serves as the content of its
document: equal digests are exact copies. An ssdeep digest without seven characters in a part carries too little
information, so such files match by equal bytes alone, like files without a TLSH digest (`nearkin.dedup.files`).
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
from nearkin.dedup.candidates import CandidateSource, Ordinals, Values
from nearkin.dedup.candidates.digests import (
    DigestCandidates,
    TlshCandidates,
    are_comparable,
    decode_digests,
    digest_values,
)
from nearkin.dedup.config import FILE_RADIUS, FILE_THRESHOLD, SKIP_HUBS
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.files import hash_paths, no_texts, path_names
from nearkin.digests.inputs import read_content
from nearkin.digests.recipes import AnyDigestRecipe, check_same_recipe
from nearkin.digests.ssdeep import DigestRecipe, compare_many
from nearkin.digests.tlsh import TlshRecipe
from nearkin.errors import NoDigestError, bad_parameter, input_error
from nearkin.index.digests import DigestIndex
from nearkin.io import Column
from nearkin.progress import Progress, ignore_progress
from nearkin.store.kinds.base import (
    VERSION,
    CandidateRows,
    FileKind,
    Kind,
    RowIndex,
    StoreIndex,
    WithoutTexts,
    check_digest,
    encode_settings,
    kind_error,
)

MAX_DIGEST_LENGTH = 140
"""Characters of the longest digest: a block size of ten digits, two parts of 64, two colons."""


@dataclass(frozen=True)
class FileSettings(WithoutTexts):
    """Settings of a store of files.

    Parameters
    ----------
    recipe : DigestRecipe or TlshRecipe
        How a file becomes a digest.
    threshold : int, optional
        With ssdeep: smallest score of a match, inclusive, 1 to 100 (default: 80). With TLSH it becomes 100 minus the
        radius.
    radius : int, optional
        With TLSH: largest distance of a match, inclusive, 0 to 100 (default: 40).

    Raises
    ------
    ParameterError
        A threshold or radius out of its range, or a radius with ssdeep.
    """

    recipe: AnyDigestRecipe
    threshold: float = FILE_THRESHOLD
    radius: int | None = None
    source: DigestCandidates = field(init=False, compare=False, repr=False)
    kind: ClassVar[str] = "file"
    distance_type: ClassVar[type] = np.int64
    verify: ClassVar[str] = "score"
    verified_by: ClassVar[str] = "the score of the digests"
    recall: ClassVar[None] = None
    """Every candidate is found."""

    def __post_init__(self) -> None:
        source: DigestCandidates
        if isinstance(self.recipe, TlshRecipe):
            source = TlshCandidates(self.recipe, FILE_RADIUS if self.radius is None else self.radius)
            object.__setattr__(self, "radius", source.radius)
        else:
            if self.radius is not None:
                raise bad_parameter("radius", repr(self.radius), "a threshold with ssdeep, which has scores")
            source = DigestCandidates(self.recipe, self.threshold, SKIP_HUBS)
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "threshold", source.threshold)

    def hash(self, items: Any, kind: Kind | None, report: Progress = ignore_progress) -> HashedDocuments:
        """Hash digests, bytes or paths.

        Raises
        ------
        InputError
            An item that is not a digest; a path that is not a regular file, or a file that changes while it is read.
        OSError
            A file cannot be read.
        """
        if kind == "paths":
            return hash_paths(path_names(items, "paths"), (self.recipe,), report=report)
        values = read_files(items, kind)
        if kind == "bytes":
            return hash_buffers(values, self.recipe)
        return hash_digests(check_digests(values, self.recipe))

    def skipped_message(self, skipped: int) -> str:
        """Return the warning about skipped lookups."""
        limit = f"more than {self.source.skip_hubs:,} digests"
        return f"{skipped:,} look-ups were left out: {limit} of one segment share what some files have"

    # Values and index

    @property
    def value_shape(self) -> tuple[np.dtype[np.generic], int]:
        """ASCII, padded with zeros."""
        return np.dtype(f"S{MAX_DIGEST_LENGTH}"), 1

    def searchable(self, values: Values) -> NDArray[np.bool_]:
        """Return True for digests that can be compared."""
        return are_comparable(values)

    def public_values(self, values: Values) -> Values:
        """Return digests, `(n,)` objects."""
        return digest_values(decode_digests(values))[:, 0]

    def new_index(self) -> StoreIndex:
        """Return an empty DigestIndex."""
        return DigestStoreIndex(self.source, DigestIndex(recipe=self.recipe, strict=False))

    def open_index(self, path: Path) -> StoreIndex:
        """Read the DigestIndex of a file, which must have the same recipe."""
        index = DigestIndex.open(path)
        check_same_recipe(index.recipe, self.recipe)
        return DigestStoreIndex(self.source, index)

    # Serialisation

    def to_dict(self) -> dict[str, Any]:
        """Return all settings by name."""
        return {
            "recipe": str(self.recipe),
            "recipe_digest": self.recipe.digest,
            "threshold": self.threshold,
            **({} if self.radius is None else {"radius": self.radius}),
            "verify": self.verify,
        }

    def to_json(self) -> str:
        """Return all settings as JSON with sorted keys."""
        settings = {
            "version": VERSION,
            "kind": "files",
            "recipe": json.loads(self.recipe.to_json()),
            "recipe_digest": self.recipe.digest,
            **({"threshold": self.threshold} if self.radius is None else {"radius": self.radius}),
        }
        return encode_settings(settings)

    @classmethod
    def from_json(cls, settings: dict[str, Any], place: str) -> FileSettings:
        """Read settings from their JSON form.

        Raises
        ------
        CorruptStoreError
            The recipe differs from its digest.
        """
        family = TlshRecipe if settings["recipe"].get("family") == "tlsh" else DigestRecipe
        recipe = family.from_json(json.dumps(settings["recipe"]))
        check_digest(recipe, settings["recipe_digest"], place)
        if isinstance(recipe, TlshRecipe):
            return cls(recipe, radius=settings["radius"])
        return cls(recipe, settings["threshold"])


class DigestStoreIndex(RowIndex[DigestIndex]):
    """Digests that score at least the threshold, or are within the radius, which makes them matches."""

    def __init__(self, source: DigestCandidates, index: DigestIndex) -> None:
        super().__init__(index)
        self._source = source

    def has(self, rows: Ordinals, values: Values) -> bool:
        """Return True if the index has exactly these digests under these rows."""
        new = DigestIndex(recipe=self._index.recipe, strict=False)
        new.add(rows, decode_digests(values))
        return all(new.digest(row) == self._index.digest(row) for row in rows.tolist())

    def add(self, rows: Ordinals, values: Values) -> None:
        """Add digests, `(n, 1)`."""
        self._index.add(rows, decode_digests(values))

    def search(self, values: Values, source: CandidateSource | None = None) -> CandidateRows:
        """Return all matches, except those that only hubs of this index lead to."""
        positions = np.flatnonzero(are_comparable(values))
        skip_hubs = source.skip_hubs if isinstance(source, DigestCandidates) else self._source.skip_hubs
        hits = self._source.search_index(self._index, decode_digests(values[positions]), skip_hubs)
        queries = np.repeat(positions, np.diff(hits.offsets))
        return CandidateRows(queries, hits.ordinals, hits.similarity, hits.skipped)


def read_files(items: Any, kind: Kind | None) -> list[Any]:
    """Return digests as str or bytes, or the bytes of buffers.

    Raises
    ------
    InputError
        An item that is neither str nor bytes; the message names its row.
    ParameterError
        An item that is not bytes or another buffer.
    """
    if kind not in (None, *get_args(FileKind)):
        raise kind_error(kind, get_args(FileKind), "file")
    name = "digests" if kind is None else kind
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise bad_parameter(name, repr(items)[:40], f"an iterable of {name}, such as a list")
    values = list(items)
    if kind == "bytes":
        text = next((item for item in values if isinstance(item, str)), None)
        if text is not None:
            raise bad_parameter("bytes", repr(text)[:40], 'bytes or other buffers; kind="paths" for names of files')
        return [read_content(item) for item in values]
    for row, item in enumerate(values):
        if not isinstance(item, (str, bytes)):
            reason = f'a {type(item).__name__} is no digest; give str, or kind="bytes" or kind="paths" for files'
            raise input_error(f"row {row}", reason)
    return values


def check_digests(digests: list[Any], recipe: AnyDigestRecipe) -> list[str]:
    """Return digests as str; those of TLSH with "T1" and capital letters.

    Raises
    ------
    InputError
        One is not a digest; the message names its row.
    MismatchError
        One has another form than the recipe says.
    """
    if isinstance(recipe, TlshRecipe):
        index = DigestIndex(recipe)
        index.add(None, digests)
        return [index.digest(row) for row in range(len(digests))]
    compare_many("3::", digests)
    return [digest.decode("ascii") if isinstance(digest, bytes) else digest for digest in digests]


def hash_buffers(buffers: Sequence[bytes], recipe: AnyDigestRecipe) -> HashedDocuments:
    """Hash bytes; the result is that of files with the same bytes."""
    sizes = np.array([len(buffer) for buffer in buffers], np.uint64)
    contents = np.array([_content_hash(buffer) for buffer in buffers], np.uint64).reshape(-1, 2)
    return _documents(
        [_hash_buffer(buffer, recipe) for buffer in buffers], (sizes > 0).astype(np.uint64), contents, sizes
    )


def hash_digests(digests: list[str]) -> HashedDocuments:
    """Make documents of digests without their files."""
    # As for files, the upper word comes first.
    contents = content_hashes(digests)[0].reshape(-1, 2)[:, ::-1].copy()
    counts = are_comparable(digest_values(digests)).astype(np.uint64)
    return _documents(digests, counts, contents, np.zeros(len(digests), np.uint64))


def _hash_buffer(buffer: bytes, recipe: AnyDigestRecipe) -> str:
    """Return the digest, or the empty text if there is none."""
    try:
        return recipe.hash(buffer)
    except NoDigestError:
        return ""


def _content_hash(buffer: bytes) -> tuple[int, int]:
    """Return the hash of bytes, its upper word first, as for files."""
    if not buffer:
        lower, upper = content_hashes([""])[0].tolist()
    else:
        lower, upper = byte_hashes(np.frombuffer(buffer, np.uint8), len(buffer)).tolist()
    return upper, lower


def _documents(
    digests: list[str], counts: NDArray[np.uint64], contents: NDArray[np.uint64], lengths: NDArray[np.uint64]
) -> HashedDocuments:
    return HashedDocuments(digest_values(digests), counts, contents, lengths, Column.of([]), {}, no_texts)
