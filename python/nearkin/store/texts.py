"""What verifies matches in a store that keeps no texts: sets of feature hashes, or texts that the caller holds.

| `text=` | kept of a document that stays | verified by |
|---|---|---|
| `"keep"` | its text, compressed | the text |
| `"features"` | XXH3-64 of its distinct features, ascending, 8 bytes each | the sets, exactly |
| `"none"` | nothing | the text, which a function of the caller's gives; or signatures, or nothing |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes, feature_sets
from nearkin.dedup.candidates import TextBatch
from nearkin.dedup.verify import FeatureSets
from nearkin.errors import InputError, MismatchError, bad_parameter, mismatch
from nearkin.index.ids import Id
from nearkin.recipe import Recipe
from nearkin.store.settings import StoreSettings

TextsByIds = Callable[[list[Id]], Iterable[str]]
"""Gives the texts of ids, one for each, in order."""

_MOST_FEATURES = 1 << 21
"""Features of a text that are kept as hashes: the byte strings of 256 neighbours take at most 4 GiB in a file."""


def features_of(recipe: object, texts: TextBatch) -> list[bytes]:
    """The feature hashes of each text, as they are kept.

    Raises
    ------
    ParameterError
        A text has too many.
    """
    if not isinstance(recipe, Recipe):
        raise mismatch("recipe", str(recipe), "a recipe that makes features of texts")
    offsets, hashes = feature_sets(recipe.core, texts)
    counts = np.diff(offsets)
    if len(counts) and counts.max() > _MOST_FEATURES:
        found = f"one of {int(counts.max()):,} features"
        raise bad_parameter("texts", found, f'texts of at most {_MOST_FEATURES:,} features with text="features"')
    packed, ends = hashes.astype("<u8").tobytes(), (8 * offsets).tolist()
    return [packed[start:end] for start, end in pairwise(ends)]


def joined(sets: Sequence[NDArray[np.uint64]]) -> FeatureSets:
    """Sets one after another."""
    offsets = np.zeros(len(sets) + 1, np.int64)
    offsets[1:] = np.cumsum([len(one) for one in sets])
    return FeatureSets(offsets, np.concatenate([np.zeros(0, np.uint64), *sets]).astype(np.uint64))


def ask(function: TextsByIds, ids: list[Id], contents: Sequence[bytes]) -> list[str]:
    """The texts of ids from the caller's function; each must have the content that was added.

    Raises
    ------
    InputError
        Another number of texts, something that is no text, or another text than the one that was added.
    """
    answer = function(ids)
    if isinstance(answer, (str, bytes)) or not isinstance(answer, Iterable):
        raise _wrong(f"it gave {type(answer).__name__} for {len(ids)} ids", "a list of texts, one per id", None)
    texts = list(answer)
    if len(texts) != len(ids):
        raise _wrong(f"it gave {len(texts)} texts for {len(ids)} ids", "one text per id, in order", None)
    for name, text in zip(ids, texts, strict=True):
        if not isinstance(text, str):
            raise _wrong(f"it gave {type(text).__name__} for the id {name!r}", "its text, a str", name)
    hashes = content_hashes(texts)[0].astype("<u8").reshape(-1, 2)
    for name, own, content in zip(ids, hashes, contents, strict=True):
        if own.tobytes() != content:
            raise _wrong(f"it gave another text for the id {name!r} than was added", "the text as it was added", name)
    return texts


def _wrong(found: str, allowed: str, name: Id | None) -> InputError:
    message = f"texts=: {found}; it has to give {allowed}"
    return InputError(message, place="texts=", reason=found, id=name)


def no_texts(settings: StoreSettings) -> MismatchError:
    """The error of a call that needs the texts of a store that has none."""
    own = 'a store with text="none", which has fingerprints or signatures alone'
    if settings.noun != "text":
        own = f"a store of {settings.noun}s, which has what they are searched by: values(ids)"
    elif settings.text == "features":
        own = 'a store with text="features", which has feature hashes: features(ids)'
    elif settings.needs_texts:
        own = 'a store with text="none", opened without texts=, the function that gives the texts of ids'
    return mismatch("texts", own, "a call that needs texts")
