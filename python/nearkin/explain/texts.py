r"""Every step from a text to its fingerprint or signature.

    text → normalised text → features, counted → weights → hash of each → ±weight in each column → sums → bits

Sources: for SimHash Charikar (STOC 2002), for MinHash Broder (SEQUENCES 1997).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, mismatch, printable
from nearkin.explain.features import BitOrder, SharedFeatures, divide_names, wide_hashes
from nearkin.explain.render import MAX_COLUMNS, MAX_ROWS, Rendered, with_sums, wrap_cells
from nearkin.io.values import encode
from nearkin.notebook import short
from nearkin.recipe import Recipe
from nearkin.recipe.grammar import DEFAULTS

_UNITS = {"count": 1, "log": 0.5, "idf": 0.5, "textrank": 1 / 1024}
"""The unit of each weight in weighted signatures: `Keywords::units` of the core."""


@dataclass(frozen=True)
class Feature:
    """A feature of a text.

    Attributes
    ----------
    name : str
    count : int
        Number of occurrences.
    weight : int or float
        Added to a column of sums if its hash has a 1 there, subtracted for a 0; 1 for MinHash of sets.
    hash : int
        As wide as the fingerprint; 64 bits for MinHash.
    """

    name: str
    count: int
    weight: int | float
    hash: int


@dataclass(frozen=True)
class TextSteps(Rendered):
    """The steps from a text to its features, which `SimHashSteps` and `MinHashSteps` continue.

    Attributes
    ----------
    recipe : Recipe
    text : str
    normalised : str
        The text from which features are extracted.
    words : tuple of (str, bool)
        Words in order, and whether each is kept; empty for character features.
    features : tuple of Feature
        In order of first occurrence; in order of decreasing weight if the recipe has weights.
    left_out : tuple of (str, int)
        Features that the recipe's limit on top features drops, and their counts.
    """

    recipe: Recipe
    text: str
    normalised: str
    words: tuple[tuple[str, bool], ...]
    features: tuple[Feature, ...]
    left_out: tuple[tuple[str, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the steps for JSON."""
        return {
            "recipe": str(self.recipe),
            "text": self.text,
            "normalised": self.normalised,
            "words": [{"word": word, "kept": kept} for word, kept in self.words],
            "features": [
                {"feature": item.name, "count": item.count, "weight": item.weight, "hash": self._to_hex(item.hash)}
                for item in self.features
            ],
            "left_out": [{"feature": name, "count": count} for name, count in self.left_out],
        }

    def _to_hex(self, value: int) -> str:
        width = self.recipe.bits if self.recipe.family == "simhash" else 64
        return f"{value:0{-(-width // 4)}x}"

    def _head(self) -> Iterator[str]:
        yield f"recipe       {self.recipe}"
        yield f"text         {printable(self.text)}"
        yield f"normalised   {printable(self.normalised)}"
        if self.words:
            words = (printable(word) if kept else f"({printable(word)})" for word, kept in self.words)
            yield f"words        {' '.join(words)}"
        if self.left_out:
            names = ", ".join(f"{printable(name)} {count}" for name, count in self.left_out[:MAX_ROWS])
            more = "" if len(self.left_out) <= MAX_ROWS else f" and {len(self.left_out) - MAX_ROWS} more"
            yield f"left out     {names}{more}"
        yield f"features     {len(self.features)}"

    def _tail(self) -> Iterator[str]:
        if len(self.features) > MAX_ROWS:
            yield f"  … and {len(self.features) - MAX_ROWS} more"


@dataclass(frozen=True)
class SimHashSteps(TextSteps):
    """Every step from a text to its SimHash.

    Attributes
    ----------
    fingerprint : int or None
        The words of `nearkin.fingerprint` as one number, lowest word first; None without features.
    bit_order : {"highest", "lowest"}
        Which bit `bits`, the text form and the JSON form write first.
    """

    fingerprint: int | None
    bit_order: BitOrder = "highest"

    @cached_property
    def rows(self) -> npt.NDArray[Any]:
        """±weight of each feature in each column, `(features, bits)`, lowest bit first."""
        bits = self.recipe.bits
        if not self.features:
            return np.zeros((0, bits), np.int64)
        signs = [[1 if feature.hash >> bit & 1 else -1 for bit in range(bits)] for feature in self.features]
        weights: npt.NDArray[Any] = np.array([feature.weight for feature in self.features])
        rows: npt.NDArray[Any] = np.array(signs, np.int64) * weights[:, None]
        return rows

    @cached_property
    def sums(self) -> npt.NDArray[Any]:
        """The sum of each column, `(bits,)`, lowest bit first; the fingerprint has a 1 if it is positive."""
        # Sums of floats depend on their order: the core adds by (hash, weight), for cppjieba in order of occurrence.
        order = list(range(len(self.features)))
        if self.recipe.cut != "cppjieba":
            words = range(-(-self.recipe.bits // 64))
            hashes = [[each.hash >> 64 * word & (1 << 64) - 1 for word in words] for each in self.features]
            order.sort(key=lambda i: (hashes[i], self.features[i].weight))
        total = np.zeros(self.recipe.bits, self.rows.dtype)
        for i in order:
            total = total + self.rows[i]
        return total

    @property
    def bits(self) -> str:
        """The fingerprint as binary digits in the bit order; empty without features."""
        return "" if self.fingerprint is None else self._digits(self.fingerprint)

    def _digits(self, value: int) -> str:
        digits = f"{value:0{self.recipe.bits}b}"
        return digits if self.bit_order == "highest" else digits[::-1]

    def _ordered_sums(self) -> list[Any]:
        ordered: list[Any] = (self.sums if self.bit_order == "lowest" else self.sums[::-1]).tolist()
        return ordered

    def to_dict(self) -> dict[str, Any]:
        """Return the steps for JSON; sums and bits are in the bit order."""
        fingerprint = None if self.fingerprint is None else self._to_hex(self.fingerprint)
        return {**super().to_dict(), "sums": self._ordered_sums(), "bits": self.bits, "fingerprint": fingerprint}

    def _table(self) -> tuple[list[str], list[list[str]], list[str]]:
        shown = self.features[:MAX_ROWS]
        cells = [[each.name, str(each.count), short(each.weight, 5), self._to_hex(each.hash)] for each in shown]
        columns = ["feature", "count", "weight", "hash", "signs"]
        if shown and self._has_columns:
            step = 1 if self.bit_order == "lowest" else -1
            rows = [[short(value, 5) for value in row[::step].tolist()] for row in self.rows[:MAX_ROWS]]
            return columns, with_sums(cells, rows, self._sums(), self.bits, len(self.features)), ["count", "weight"]
        signs = [self._digits(each.hash).replace("0", "-").replace("1", "+") for each in shown]
        return columns, [[*row, sign] for row, sign in zip(cells, signs, strict=True)], ["count", "weight"]

    @property
    def _has_columns(self) -> bool:
        return self.recipe.bits <= MAX_COLUMNS

    def _sums(self) -> list[str]:
        return [short(value, 5) for value in self._ordered_sums()]

    def _tail(self) -> Iterator[str]:
        if self.fingerprint is None:
            yield "fingerprint  none: a text without any feature"
            return
        if not self._has_columns:
            yield from super()._tail()
            yield from wrap_cells("sums", self._sums(), 16)
        yield f"bits         {self.bits}"
        yield f"fingerprint  {self._to_hex(self.fingerprint)}"


@dataclass(frozen=True)
class MinHashSteps(TextSteps):
    """Every step from a text to its MinHash signature.

    Attributes
    ----------
    signature : tuple of int
        As returned by `nearkin.signature`. Weights of the scheme `weighted` are rounded to their unit.
    owners : tuple of (int or None)
        For each value the index of the feature with this value, which is the minimum; None without features.
    """

    signature: tuple[int, ...]
    owners: tuple[int | None, ...]

    @property
    def won(self) -> tuple[int, ...]:
        """The number of values of the signature that come from each feature."""
        owners = [owner for owner in self.owners if owner is not None]
        return tuple(np.bincount(np.array(owners, np.int64), minlength=len(self.features)).tolist())

    def to_dict(self) -> dict[str, Any]:
        """Return the steps for JSON."""
        return {**super().to_dict(), "signature": list(self.signature), "owners": list(self.owners)}

    def _table(self) -> tuple[list[str], list[list[str]], list[str]]:
        weighted = ["weight"] if self.recipe.is_weighted else []
        rows = [
            [each.name, str(each.count), *(short(each.weight, 6) for _ in weighted), self._to_hex(each.hash), str(won)]
            for each, won in zip(self.features[:MAX_ROWS], self.won, strict=False)
        ]
        return ["feature", "count", *weighted, "hash", "values of the signature"], rows, ["count", *weighted]

    def _tail(self) -> Iterator[str]:
        yield from super()._tail()
        if self.features:
            yield from wrap_cells("signature", [f"{value:x}" for value in self.signature], 8)
        else:
            yield "signature    none: a text without any feature"


@dataclass(frozen=True)
class TextComparison(SharedFeatures):
    """The steps of two texts and their differences.

    Attributes
    ----------
    a, b : SimHashSteps or MinHashSteps
    shared, only_a, only_b : tuple of str
        Features of both, and of only one of them.
    differing : tuple of int
        For SimHash the bits that differ, 0 the lowest; for MinHash the values that differ, 0 the first. Empty if a text
        has no features.
    distance : int or None
        The number of differences, for SimHash the Hamming distance. None if a text has no features.
    """

    a: SimHashSteps | MinHashSteps
    b: SimHashSteps | MinHashSteps
    distance: int | None

    def _difference(self) -> list[str]:
        recipe = self.a.recipe
        what, total = ("bits", recipe.bits) if recipe.family == "simhash" else ("values", recipe.num_perm)
        distance = "none: a text without any feature" if self.distance is None else f"{self.distance} of {total} {what}"
        return self._describe(distance, f"in {what}")


def compare_steps(a: SimHashSteps | MinHashSteps, b: SimHashSteps | MinHashSteps) -> TextComparison:
    """Compare the steps of two texts.

    Raises
    ------
    MismatchError
        The recipes differ.
    """
    if a.recipe != b.recipe:
        raise mismatch("recipe", str(a.recipe), str(b.recipe))
    names_a, names_b = ([feature.name for feature in steps.features] for steps in (a, b))
    differing: tuple[int, ...] | None = None
    if isinstance(a, SimHashSteps) and isinstance(b, SimHashSteps):
        if a.fingerprint is not None and b.fingerprint is not None:
            different = a.fingerprint ^ b.fingerprint
            differing = tuple(bit for bit in range(a.recipe.bits) if different >> bit & 1)
    elif isinstance(a, MinHashSteps) and isinstance(b, MinHashSteps) and a.features and b.features:
        pairs = zip(a.signature, b.signature, strict=True)
        differing = tuple(i for i, (left, right) in enumerate(pairs) if left != right)
    return TextComparison(
        a,
        b,
        *divide_names(names_a, names_b),
        differing or (),
        None if differing is None else len(differing),
    )


def explain_text(text: str, recipe: Recipe, bit_order: BitOrder = "highest") -> SimHashSteps | MinHashSteps:
    """Return the steps of a text.

    Raises
    ------
    ParameterError
        The recipe is for lists of features.
    TypeError
        The text is not a string.
    """
    if recipe.features == "given":
        raise bad_parameter("recipe", str(recipe), "a recipe of texts, such as char:4|binary|xxh3|simhash:128")
    if not isinstance(text, str):
        raise TypeError(f"a text must be a string, not {type(text).__name__}")
    encode(text, 0)
    # A weighted recipe reads texts as that of the sets of its features.
    sets = recipe.with_(scheme="fast", weight="binary", idf=None, top=DEFAULTS["top"]) if recipe.is_weighted else recipe
    normalised, words = sets.core.reading(text)
    counts = dict(sets.core.features(text))
    weights: dict[str, int | float]
    if recipe.is_weighted:
        unit = _UNITS[recipe.weight]
        weights = {name: max(round(each / unit), 1) * unit for name, each in recipe.core.keywords([text])[0] if each}
    elif recipe.family == "minhash" or recipe.weight == "binary":
        weights = dict.fromkeys(counts, 1)
    elif recipe.weight == "count":
        weights = dict(counts)
    else:
        weights = dict(recipe.core.keywords([text])[0])
    left_out = tuple((name, count) for name, count in counts.items() if name not in weights)
    steps = (recipe, text, normalised, tuple(words), _build_features(weights, counts, recipe), left_out)
    if recipe.family == "simhash":
        values, num_features = recipe.core.fingerprints([text])
        fingerprint = sum(int(word) << 64 * i for i, word in enumerate(values.reshape(-1)))
        return SimHashSteps(*steps, fingerprint if int(num_features[0]) else None, bit_order)
    signature = recipe.core.signatures([text])[0].reshape(-1)
    return MinHashSteps(*steps, tuple(signature.tolist()), _find_owners(weights, signature, recipe))


def _build_features(weights: dict[str, int | float], counts: dict[str, int], recipe: Recipe) -> tuple[Feature, ...]:
    width = recipe.bits if recipe.family == "simhash" else 64
    hashes = wide_hashes(recipe.hash, [name.encode() for name in weights], recipe.seed, width)
    return tuple(
        Feature(name, counts[name], weight, value & (1 << width) - 1)
        for (name, weight), value in zip(weights.items(), hashes, strict=True)
    )


def _find_owners(
    weights: Mapping[str, int | float], signature: npt.NDArray[Any], recipe: Recipe
) -> tuple[int | None, ...]:
    """Return, for each value of a signature, the feature whose own signature has this value."""
    if not weights:
        return (None,) * len(signature)
    offsets, names = np.arange(len(weights) + 1, dtype=np.int64), [name.encode() for name in weights]
    # A given weight is a multiple of 1/1024.
    given = np.array([each / _UNITS[recipe.weight] / 1024 for each in weights.values()]) if recipe.is_weighted else None
    own = recipe.core.signatures_given(offsets, names, given).reshape(len(names), -1)
    matches = own == signature
    return tuple(
        int(i) if found else None for i, found in zip(matches.argmax(axis=0), matches.any(axis=0), strict=True)
    )
