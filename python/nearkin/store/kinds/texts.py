"""Stores of texts: settings, indexes, and what verifies matches if the store keeps no texts.

| `text=` | kept of a new document | verified by |
|---|---|---|
| `"keep"` | its text, compressed | the text |
| `"features"` | XXH3-64 of its distinct features, ascending, 8 bytes each | the sets, exactly |
| `"none"` | nothing | the text, which the caller's function returns; or signatures, or nothing |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes, feature_sets
from nearkin.dedup.candidates import RECALL, CandidateSource, MinHashCandidates, Ordinals, TextBatch, Values
from nearkin.dedup.candidates.base import list_offsets
from nearkin.dedup.candidates.minhash import feature_threshold
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.dedup.cluster import MAX_COMPARISONS
from nearkin.dedup.config import THRESHOLD, Empty
from nearkin.dedup.distinguishers import parse_differ
from nearkin.dedup.documents import HashedDocuments, hash_texts
from nearkin.dedup.summary import summarize_family
from nearkin.dedup.verify import TEXT_MEASURES, FeatureSets, TextMeasure
from nearkin.errors import InputError, MismatchError, MissingFileError, bad_parameter, check_share, mismatch
from nearkin.families.minhash import as_signatures
from nearkin.index.bands import BandIndex
from nearkin.index.fingerprints import flat_rows
from nearkin.index.hamming import HammingIndex
from nearkin.index.ids import Id
from nearkin.io import Column, Corpus
from nearkin.progress import Progress, ignore_progress
from nearkin.recipe import IDF_TABLES, Recipe
from nearkin.store.kinds.base import (
    IDF_FILE,
    NEWEST_VERSION,
    VERSION,
    CandidateRows,
    Kind,
    KindSettings,
    RowIndex,
    StoreConfig,
    StoreIndex,
    StoreVerify,
    TextRule,
    check_digest,
    corrupt_file,
    encode_settings,
    kind_error,
)
from nearkin.text.idf import Idf

LoadTexts = Callable[[list[Id]], Iterable[str]]
"""Returns the texts of a list of ids, one per id, in order."""

NO_IDS = Column.of([])
_ONE_CALL = 1 << 16
"""Texts of a list that one call hashes."""
_MAX_FEATURES = 1 << 21
"""Features of a text that are kept as hashes: the byte strings of 256 neighbours take at most 4 GiB in a file."""


def skipped_comparisons(skipped: int) -> str:
    """Return the warning for documents that have more candidates than one document is compared with."""
    limit = f"more than {MAX_COMPARISONS:,} candidates, or with Indel more than 2**39 pairs of characters"
    return f"{skipped:,} comparisons were left out: some documents have {limit}"


@dataclass(frozen=True)
class TextSettings(KindSettings):
    """Settings of a store of texts.

    Parameters
    ----------
    recipe : Recipe
        How a text becomes a fingerprint or signature.
    threshold : float
        Smallest similarity of a match, inclusive, above 0 and up to 1.
    radius : int, optional
        Largest Hamming distance of a candidate; None derives it from threshold and recall. With simhash.
    recall : float, optional
        Required probability that a pair at the threshold is found; 0.995 for None.
    text : {"keep", "features", "none"}
        What the store keeps of the texts of new documents.
    verify : {"jaccard", "containment", "indel", "words", "signature", "none"}
        How candidates are verified; "signature" with minhash.
    differ : tuple of str
        Rules that make similar texts different (`nearkin.dedup.distinguishers`); requires a comparison of texts.
    empty : {"keep", "drop"}
        Treatment of texts without features, which are copies of nothing: the store takes them, or refuses them.
    pages : bool
        True for the kind `pages`: main texts are compared without the frequent lines of their site
        (`nearkin.store.lines`).

    Raises
    ------
    ParameterError
        Values out of range, or that exclude one another.
    """

    recipe: Recipe
    threshold: float = THRESHOLD
    radius: int | None = None
    recall: float | None = None
    text: TextRule = "keep"
    verify: StoreVerify = "jaccard"
    differ: tuple[str, ...] = ()
    empty: Empty = "keep"
    pages: bool = False
    source: SimHashCandidates | MinHashCandidates = field(init=False, compare=False, repr=False)
    kind: ClassVar[str] = "text"
    distance_type: ClassVar[type] = np.int64

    def __post_init__(self) -> None:
        for name, rule in {"text": TextRule, "verify": StoreVerify, "empty": Empty}.items():
            if getattr(self, name) not in get_args(rule):
                raise bad_parameter(name, repr(getattr(self, name)), ", ".join(get_args(rule)))
        check_share("threshold", self.threshold, "a similarity above 0 and up to 1", lambda share: 0 < share <= 1)
        if self.recipe.features == "given":
            raise bad_parameter("recipe", self.recipe, "a recipe with char:N or word:N features, which reads texts")
        if self.text == "features" and self.recipe.is_weighted:
            allowed = 'text="keep", or minhash:NUM_PERM:fast: a store keeps features without their weights'
            raise bad_parameter("text", "features", allowed)
        if self.recipe.user_words:
            allowed = "one without user words: a store has its recipe and a table of weights alone"
            raise bad_parameter("recipe", self.recipe, allowed)
        minhash = self.recipe.family == "minhash"
        if self.verify == "signature" and not minhash:
            raise bad_parameter("verify", "signature", "jaccard, containment, indel, words or none with simhash")
        if self.text == "features" and self.verify in TEXT_MEASURES:
            raise bad_parameter("verify", self.verify, 'jaccard or containment, which compare features, or text="keep"')
        if self.differ and (self.text == "features" or self.verify in ("signature", "none")):
            combination = f'text="{self.text}" and verify="{self.verify}"'
            raise bad_parameter("differ", combination, 'rules with text="keep", or texts=, and a verification by texts')
        if self.pages and (self.text != "keep" or self.empty != "keep" or self.verify in ("signature", "none")):
            found = f'text="{self.text}", empty="{self.empty}" and verify="{self.verify}"'
            allowed = 'text="keep", empty="keep" and a verification by texts, from which lines are left out'
            raise bad_parameter("kind", f"'pages' with {found}", allowed)
        if minhash and self.radius is not None:
            raise bad_parameter("radius", self.radius, "None with minhash, which has no radius; recall= instead")
        source = (
            MinHashCandidates(
                self.recipe,
                feature_threshold(self.verify, self.threshold),
                self.recall,
                by_share=self.verify == "signature",
                filtered=self.verify == "jaccard",
            )
            if minhash
            else SimHashCandidates(self.recipe, self.threshold, self.radius, self.recall)
        )
        object.__setattr__(self, "source", source)

    @classmethod
    def from_config(cls, config: StoreConfig) -> TextSettings:
        """Build settings from a caller's arguments; the default of `verify` depends on the family and `text`."""
        # A radius is one of fingerprints.
        is_default = config.recipe is None and config.radius is None
        recipe = Recipe.of(None).with_family("minhash") if is_default else Recipe.of(config.recipe)  # type: ignore[arg-type]
        text, verify, recall, minhash = config.text, config.verify, config.recall, recipe.family == "minhash"
        if verify is None:
            verify = "jaccard" if text != "none" or config.has_texts else "signature" if minhash else "none"
        if text == "none" and verify not in ("signature", "none") and not config.has_texts:
            allowed = 'none, or signature with minhash, for a store with text="none"; or pass texts=, a function of ids'
            raise bad_parameter("verify", verify, allowed)
        if verify == "containment" and config.radius is None:
            # The hashes of the store have no recall for containment; `nearkin.dedup` has sketches for it.
            allowed = (
                "jaccard or indel; or containment with radius=, which chooses candidates as nearkin.dedup does with "
                "the same radius; nearkin.dedup(measure='containment') finds contained texts without a store"
            )
            raise bad_parameter("verify", verify, allowed)
        if config.has_texts and (text != "none" or verify in ("signature", "none")):
            raise bad_parameter("texts", "a function", 'None, unless text="none" and texts verify')
        settings = cls(
            recipe,
            THRESHOLD if config.threshold is None else config.threshold,
            config.radius,  # type: ignore[arg-type]  # A value that is not a whole number is refused there.
            RECALL if minhash and recall is None else recall,
            text,
            verify,
            parse_differ(config.differ),
            "keep" if config.empty is None else config.empty,
            config.kind == "pages",
        )
        if isinstance(settings.source, SimHashCandidates):
            # The store keeps the radius itself, so that a later rule for the default changes no store.
            return replace(settings, radius=settings.source.radius, recall=None)
        return settings

    @cached_property
    def comparison(self) -> TextMeasure | None:
        """How texts verify candidates; None if they do not."""
        if self.verify in ("signature", "none"):
            return None
        return TextMeasure(self.recipe, self.verify, self.differ)  # type: ignore[arg-type]  # Others are excluded.

    @property
    def verified_by(self) -> str:
        """How a match is verified, in words."""
        words = {"signature": "equal values of signatures", "none": "nothing: every candidate is a match"}
        if self.text == "features":
            words |= dict.fromkeys(("jaccard", "containment"), f"{self.verify} of the stored feature hashes")
        suffix = ", texts given by the caller" if self.text == "none" else ""
        suffix += f"; they do not differ in {', '.join(self.differ)}" if self.differ else ""
        return words.get(self.verify, f"{self.verify} of the texts' features{suffix}")

    @property
    def needs_texts(self) -> bool:
        """True if the caller must provide the texts, which the store does not keep, to verify matches."""
        return self.text == "none" and self.comparison is not None

    def check_verify(self, verify: str, rules: tuple[str, ...]) -> None:
        """Raise MismatchError for a measure, or rules of `differ`, that the stored texts do not allow."""
        if self.text == "features" and rules:
            raise mismatch("texts", 'a store with text="features"', f"differ={', '.join(rules)}, which reads texts")
        if verify in ("signature", "none"):
            return
        if self.text == "features" and verify in TEXT_MEASURES:
            raise mismatch("texts", 'a store with text="features"', f"verification by {verify}, which compares texts")
        if self.text == "none" and not self.needs_texts:
            raise mismatch("texts", 'a store with text="none"', "a verification by texts")

    def skipped_message(self, skipped: int) -> str:
        """Return the warning about skipped comparisons."""
        return skipped_comparisons(skipped)

    def hash(self, items: Any, kind: Kind | None, report: Progress = ignore_progress) -> HashedDocuments:
        """Hash texts."""
        check_texts(items, kind)
        if report is not ignore_progress or not isinstance(items, (list, tuple)) or len(items) > _ONE_CALL:
            return hash_texts(items, None, self.source, report, {})
        # A short list without a progress report: nothing to cut into pieces, nothing to spill.
        values, counts = self.source.hash(items)
        contents, lengths = content_hashes(items)
        texts = list(items)
        return HashedDocuments(
            values,
            counts,
            contents.reshape(-1, 2),
            lengths,
            NO_IDS,
            {},
            lambda rows: [texts[row] for row in rows.tolist()],
        )

    def no_texts_error(self) -> MismatchError:
        """Return the error of a call that needs texts."""
        store = 'a store with text="none", which has only fingerprints or signatures'
        if self.text == "features":
            store = 'a store with text="features", which has feature hashes: features(ids)'
        elif self.needs_texts:
            store = 'a store with text="none", opened without texts=, the function that returns the texts of ids'
        return mismatch("texts", store, "a call that needs texts")

    # Values and index

    @property
    def value_shape(self) -> tuple[np.dtype[np.generic], int]:
        """Words of 64 bits, or values of 32 or 64 bits."""
        if isinstance(self.source, SimHashCandidates):
            return np.dtype("<u8"), self.recipe.words
        return np.dtype(f"<u{self.recipe.value_bits // 8}"), self.recipe.num_perm

    def public_values(self, values: Values) -> Values:
        """Return fingerprints, `(n,)` up to 64 bits and `(n, words)` above, or signatures, `(n, num_perm)`."""
        narrow = isinstance(self.source, SimHashCandidates) and values.shape[1] == 1
        return values[:, 0] if narrow else values

    def new_index(self) -> StoreIndex:
        """Return an empty HammingIndex for the radius of the store, or BandIndex with its bands."""
        if isinstance(self.source, SimHashCandidates):
            return FingerprintIndex(self.source, HammingIndex(radius=self.source.radius, recipe=self.recipe))
        return SignatureIndex(self.source, BandIndex.from_banding(self.source.banding, self.recipe))

    def open_index(self, path: Path) -> StoreIndex:
        """Map the index of a segment, which must have the same recipe."""
        if isinstance(self.source, SimHashCandidates):
            hamming = HammingIndex.open(path)
            hamming.check_recipe(self.recipe)
            return FingerprintIndex(self.source, hamming)
        table = self.recipe.idf if isinstance(self.recipe.idf, Idf) else None
        bands = BandIndex.open(path, idf=table)
        bands.check_recipe(self.recipe)
        return SignatureIndex(self.source, bands)

    # Serialisation

    def to_dict(self) -> dict[str, Any]:
        """Return all settings by name."""
        return {
            "recipe": str(self.recipe),
            "recipe_digest": self.recipe.digest,
            "threshold": self.threshold,
            "text": self.text,
            "verify": self.verify,
            "differ": list(self.differ),
            "empty": self.empty,
            **({"pages": True} if self.pages else {}),
            **summarize_family(self.source.summary(), self.verify)[0],
        }

    def to_json(self) -> str:
        """Return all settings as JSON with sorted keys."""
        settings = {
            "version": NEWEST_VERSION if self.pages else VERSION,
            "recipe": json.loads(self.recipe.to_json()),
            "recipe_digest": self.recipe.digest,
            "threshold": self.threshold,
            "radius": self.radius,
            "recall": self.recall,
            "text": self.text,
            "verify": self.verify,
        }
        # Older stores have none of these keys.
        if self.differ:
            settings["differ"] = self.differ
        if self.empty != "keep":
            settings["empty"] = self.empty
        if self.pages:
            settings["pages"] = True
        return encode_settings(settings)

    @classmethod
    def from_json(cls, settings: Mapping[str, Any], place: str) -> TextSettings:
        """Read settings from their JSON form.

        Raises
        ------
        CorruptStoreError
            The recipe differs from its digest; its table of weights is missing, damaged or another one.
        MismatchError
            The recipe belongs to another version of the rules.
        """
        options = {name: settings[name] for name in ("threshold", "radius", "recall", "text", "verify")}
        options |= {"differ": tuple(settings.get("differ", ())), "empty": settings.get("empty", "keep")}
        options["pages"] = settings.get("pages", False)
        named, path = settings["recipe"].get("idf"), Path(place).parent / IDF_FILE
        table = None if named is None or named in IDF_TABLES else _read_table(path)
        if table is not None and table.digest != named:
            raise corrupt_file(path, f"its table has the digest {table.digest} and not {named}; restore a backup")
        recipe = Recipe.from_json(json.dumps(settings["recipe"]), idf=table)
        check_digest(recipe, settings["recipe_digest"], place)
        return cls(recipe, **options)

    def save_files(self, folder: Path) -> None:
        """Write the fitted table of the recipe, if it has one, into a new store."""
        if isinstance(self.recipe.idf, Idf):
            self.recipe.idf.save(folder / IDF_FILE)


def _read_table(path: Path) -> Idf:
    """Read the table of weights of a store."""
    try:
        return Idf.load(path)
    except (InputError, MissingFileError):
        raise corrupt_file(
            path, "the table of weights is missing, or another file; restore the store from a backup"
        ) from None


class FingerprintIndex(RowIndex[HammingIndex]):
    """Fingerprints within the radius."""

    def __init__(self, source: SimHashCandidates, index: HammingIndex) -> None:
        super().__init__(index)
        # The store makes the arguments of each call itself, so it calls the kernel without checking them again.
        self._core, self._radius = index._core, source.radius

    def add(self, rows: Ordinals, values: Values) -> None:
        """Add fingerprints, `(n, words)`."""
        self._core.add(np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(values).reshape(-1), "error")

    def search(self, values: Values, source: CandidateSource | None = None) -> CandidateRows:
        """Return everything within the radius."""
        offsets, rows, _, _ = self._core.search(np.ascontiguousarray(values).reshape(-1), self._radius, None)
        queries = np.zeros(offsets[1], np.int64) if 2 == len(offsets) else _query_numbers(offsets)
        return CandidateRows(queries, np.asarray(rows, np.int64))


class SignatureIndex(RowIndex[BandIndex]):
    """Signatures that share a band and, if they verify, enough values."""

    def __init__(self, source: MinHashCandidates, index: BandIndex) -> None:
        super().__init__(index)
        self._core, self._source = index._core, source

    def add(self, rows: Ordinals, values: Values) -> None:
        """Add signatures, `(n, num_perm)`."""
        self._core.add(np.ascontiguousarray(rows, np.int64), np.ascontiguousarray(values).reshape(-1), "error")

    def search(self, values: Values, source: CandidateSource | None = None) -> CandidateRows:
        """Return everything that shares a band and, if signatures verify, enough values."""
        queries = np.ascontiguousarray(values).reshape(-1)
        offsets, rows, distances = self._core.search(queries, self._source.min_equal_values)
        similarity = 1 - distances / self._source.recipe.num_perm if self._source.by_share else None
        return CandidateRows(_query_numbers(offsets), np.asarray(rows, np.int64), similarity)


def check_texts(items: object, kind: object) -> None:
    """Refuse items that are not an iterable of texts."""
    if kind not in (None, "texts"):
        raise kind_error(kind, ("texts",), "text")
    if isinstance(items, (str, bytes)):
        raise bad_parameter("texts", repr(items)[:40], "an iterable of texts; [text] for one")
    if isinstance(items, Corpus):
        raise bad_parameter("texts", "a Corpus", "the texts of its batches, one call each")


def read_queries(recipe: Recipe, values: Any) -> Values:
    """Return fingerprints, `(n, words)`, or signatures, `(n, num_perm)`, after checking them.

    Raises
    ------
    ParameterError
        Values of another shape.
    MismatchError
        Signatures of values of another width.
    """
    if recipe.family != "minhash":
        return flat_rows(values, recipe.bits, "values").reshape(-1, recipe.words)
    signatures = as_signatures(values, "values", recipe.num_perm)
    if signatures.dtype.itemsize * 8 != recipe.value_bits:
        raise mismatch("bits of a value", f"a store of {recipe.value_bits}", f"values of {signatures.dtype}")
    return signatures


def _query_numbers(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the query of each hit."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


# Stores that keep no texts


def feature_hashes(recipe: object, texts: TextBatch) -> list[bytes]:
    """Return the hashes of the features of each text, as the store keeps them.

    Raises
    ------
    ParameterError
        A text has too many features.
    """
    if not isinstance(recipe, Recipe):
        raise mismatch("recipe", str(recipe), "a recipe that makes features of texts")
    offsets, hashes = feature_sets(recipe.core, texts)
    counts = np.diff(offsets)
    if len(counts) and counts.max() > _MAX_FEATURES:
        largest = f"one of {int(counts.max()):,} features"
        raise bad_parameter("texts", largest, f'texts of at most {_MAX_FEATURES:,} features with text="features"')
    packed, ends = hashes.astype("<u8").tobytes(), (8 * offsets).tolist()
    return [packed[start:end] for start, end in pairwise(ends)]


def join_sets(sets: Sequence[NDArray[np.uint64]]) -> FeatureSets:
    """Concatenate sets of feature hashes."""
    offsets = list_offsets(np.array([len(hashes) for hashes in sets], np.int64))
    return FeatureSets(offsets, np.concatenate([np.zeros(0, np.uint64), *sets]).astype(np.uint64))


def call_loader(load_texts: LoadTexts, ids: list[Id], contents: Sequence[bytes]) -> list[str]:
    """Return the texts of ids from the caller's function, which must have the content that was added.

    Raises
    ------
    InputError
        A wrong number of texts, an item that is not a text, or a text that differs from the one added.
    """
    answer = load_texts(ids)
    if isinstance(answer, (str, bytes)) or not isinstance(answer, Iterable):
        raise _loader_error(f"it gave {type(answer).__name__} for {len(ids)} ids", "a list of texts, one per id", None)
    texts = list(answer)
    if len(texts) != len(ids):
        raise _loader_error(f"it gave {len(texts)} texts for {len(ids)} ids", "one text per id, in order", None)
    for name, text in zip(ids, texts, strict=True):
        if not isinstance(text, str):
            raise _loader_error(f"it gave {type(text).__name__} for the id {name!r}", "its text, a str", name)
    hashes = content_hashes(texts)[0].astype("<u8").reshape(-1, 2)
    for name, computed, content in zip(ids, hashes, contents, strict=True):
        if computed.tobytes() != content:
            reason = f"it gave another text for the id {name!r} than was added"
            raise _loader_error(reason, "the text as it was added", name)
    return texts


def _loader_error(reason: str, allowed: str, name: Id | None) -> InputError:
    message = f"texts=: {reason}; it must return {allowed}"
    return InputError(message, place="texts=", reason=reason, id=name)
