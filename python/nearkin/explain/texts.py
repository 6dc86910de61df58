r"""Every step from a text to its fingerprint or signature.

    text → normalised text → features, counted → weights → hash of each → ±weight in each column → sums → bits

Source of SimHash: Charikar (STOC 2002); of MinHash: Broder (SEQUENCES 1997).
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import feature_hashes
from nearkin.errors import bad_parameter, mismatch, printable
from nearkin.explain.lines import SHOWN, html_steps, in_lines, indented, numbers, some
from nearkin.notebook import cells, padded, short
from nearkin.recipe import Recipe


@dataclass(frozen=True)
class Feature:
    """A feature of a text.

    Attributes
    ----------
    name : str
    count : int
        How often it occurs.
    weight : int or float
        What it adds to a column of sums where its hash has a 1, and takes off where it has a 0; 1 for MinHash.
    hash : int
        As wide as the fingerprint; of 64 bits for MinHash.
    """

    name: str
    count: int
    weight: int | float
    hash: int


@dataclass(frozen=True)
class TextSteps:
    """What a recipe makes of a text, up to its features; `SimHashSteps` and `MinHashSteps` go on from there.

    Attributes
    ----------
    recipe : Recipe
    text : str
    normalised : str
        What features are taken from.
    words : tuple of (str, bool)
        Words in order and whether each is kept; empty for features of characters.
    features : tuple of Feature
        In order of first occurrence; by weight, the heaviest first, where the recipe weighs them.
    left_out : tuple of (str, int)
        Features that are not among the top ones which the recipe keeps, and how often they occur.
    """

    recipe: Recipe
    text: str
    normalised: str
    words: tuple[tuple[str, bool], ...]
    features: tuple[Feature, ...]
    left_out: tuple[tuple[str, int], ...]

    def _head(self) -> dict[str, Any]:
        return {
            "recipe": str(self.recipe),
            "text": self.text,
            "normalised": self.normalised,
            "words": [{"word": word, "kept": kept} for word, kept in self.words],
            "features": [
                {
                    "feature": feature.name,
                    "count": feature.count,
                    "weight": feature.weight,
                    "hash": self._digits(feature.hash),
                }
                for feature in self.features
            ],
            "left_out": [{"feature": name, "count": count} for name, count in self.left_out],
        }

    def _digits(self, value: int) -> str:
        width = self.recipe.bits if self.recipe.family == "simhash" else 64
        return f"{value:0{-(-width // 4)}x}"

    def _lines(self) -> Iterator[str]:
        """The steps up to the features, as lines."""
        yield f"recipe       {self.recipe}"
        yield f"text         {printable(self.text)}"
        yield f"normalised   {printable(self.normalised)}"
        if self.words:
            yield "words        " + " ".join(
                printable(word) if kept else f"({printable(word)})" for word, kept in self.words
            )
        if self.left_out:
            some = ", ".join(f"{printable(name)} {count}" for name, count in self.left_out[:SHOWN])
            more = "" if len(self.left_out) <= SHOWN else f" and {len(self.left_out) - SHOWN} more"
            yield f"left out     {some}{more}"
        yield f"features     {len(self.features)}"


@dataclass(frozen=True)
class SimHashSteps(TextSteps):
    """Every step from a text to its SimHash.

    Attributes
    ----------
    fingerprint : int or None
        As `nearkin.fingerprint` gives it, its words put together, the first one lowest; None without features.
    """

    fingerprint: int | None

    @cached_property
    def rows(self) -> npt.NDArray[Any]:
        """±weight of each feature in each column, `(features, bits)`, the lowest bit first."""
        bits = self.recipe.bits
        signs = [[1 if feature.hash >> bit & 1 else -1 for bit in range(bits)] for feature in self.features]
        weights = np.array([feature.weight for feature in self.features])
        return (
            np.array(signs, np.int64).reshape(-1, bits) * weights[:, None] if signs else np.zeros((0, bits), np.int64)
        )

    @cached_property
    def sums(self) -> npt.NDArray[Any]:
        """The sum of each column, `(bits,)`, the lowest bit first; the fingerprint has a 1 where it is positive."""
        # Sums of floats depend on their order: the fingerprint has that of (hash, weight), cppjieba its own.
        order = list(range(len(self.features)))
        if self.recipe.cut != "cppjieba":
            order.sort(key=lambda at: (self._words(at), self.features[at].weight))
        total = np.zeros(self.recipe.bits, self.rows.dtype)
        for at in order:
            total = total + self.rows[at]
        return total

    def _words(self, at: int) -> list[int]:
        value = self.features[at].hash
        return [value >> 64 * word & (1 << 64) - 1 for word in range(-(-self.recipe.bits // 64))]

    @property
    def bits(self) -> str:
        """The fingerprint as binary digits, the highest bit first; empty without features."""
        return "" if self.fingerprint is None else f"{self.fingerprint:0{self.recipe.bits}b}"

    def to_dict(self) -> dict[str, Any]:
        """The steps as JSON has them; columns have the lowest bit first."""
        digits = None if self.fingerprint is None else self._digits(self.fingerprint)
        return {**self._head(), "sums": self.sums.tolist(), "bits": self.bits, "fingerprint": digits}

    def __str__(self) -> str:
        """A table: features with weights, hashes and signs, highest bit first; then sums, bits, fingerprint."""
        lines = list(self._lines())
        width = max([7, *(cells(printable(feature.name)) for feature in self.features[:SHOWN])])
        digits = -(-self.recipe.bits // 4)
        if self.features:
            lines.append(f"  {'feature':<{width}}  count  weight  {'hash':<{digits}}  signs")
        for feature in self.features[:SHOWN]:
            signs = f"{feature.hash:0{self.recipe.bits}b}".replace("0", "-").replace("1", "+")
            name = padded(printable(feature.name), width)
            lines.append(
                f"  {name}  {feature.count:>5}  {short(feature.weight, 5):>6}  {self._digits(feature.hash)}  {signs}"
            )
        if len(self.features) > SHOWN:
            lines.append(f"  … and {len(self.features) - SHOWN} more")
        return "\n".join([*lines, *self._tail()])

    def _tail(self) -> Iterator[str]:
        """The steps from the sums on, as lines."""
        if self.fingerprint is None:
            yield "fingerprint  none: a text without any feature"
            return
        yield from in_lines("sums", [short(value, 5) for value in self.sums[::-1].tolist()], 16)
        yield f"bits         {self.bits}"
        yield f"fingerprint  {self._digits(self.fingerprint)}"

    def _repr_html_(self) -> str:
        rows = [
            [
                feature.name,
                str(feature.count),
                short(feature.weight, 5),
                self._digits(feature.hash),
                f"{feature.hash:0{self.recipe.bits}b}".replace("0", "−").replace("1", "+"),
            ]
            for feature in self.features[:SHOWN]
        ]
        columns = ["feature", "count", "weight", "hash", "signs, highest bit first"]
        return html_steps(list(self._lines()), columns, rows, list(self._tail()))


@dataclass(frozen=True)
class MinHashSteps(TextSteps):
    """Every step from a text to its MinHash signature.

    Attributes
    ----------
    signature : tuple of int
        As `nearkin.signature` gives it.
    owners : tuple of (int or None)
        For each value the number of the feature that has it, the smallest of all; None without features.
    """

    signature: tuple[int, ...]
    owners: tuple[int | None, ...]

    @property
    def won(self) -> tuple[int, ...]:
        """How many values of the signature each feature has."""
        counts = [0] * len(self.features)
        for owner in self.owners:
            if owner is not None:
                counts[owner] += 1
        return tuple(counts)

    def to_dict(self) -> dict[str, Any]:
        """The steps as JSON has them."""
        return {**self._head(), "signature": list(self.signature), "owners": list(self.owners)}

    def __str__(self) -> str:
        """A table: features with hashes and how many values each has; then the signature."""
        lines = list(self._lines())
        width = max([7, *(cells(printable(feature.name)) for feature in self.features[:SHOWN])])
        if self.features:
            lines.append(f"  {'feature':<{width}}  count  {'hash':<16}  values of the signature")
        for feature, won in zip(self.features[:SHOWN], self.won, strict=False):
            lines.append(
                f"  {padded(printable(feature.name), width)}  {feature.count:>5}  {self._digits(feature.hash)}  {won}"
            )
        if len(self.features) > SHOWN:
            lines.append(f"  … and {len(self.features) - SHOWN} more")
        return "\n".join([*lines, *self._tail()])

    def _tail(self) -> Iterator[str]:
        """The signature, as lines."""
        if not self.features:
            yield "signature    none: a text without any feature"
            return
        yield from in_lines("signature", [f"{value:x}" for value in self.signature], 8)

    def _repr_html_(self) -> str:
        rows = [
            [feature.name, str(feature.count), self._digits(feature.hash), str(won)]
            for feature, won in zip(self.features[:SHOWN], self.won, strict=False)
        ]
        columns = ["feature", "count", "hash", "values of the signature"]
        return html_steps(list(self._lines()), columns, rows, list(self._tail()))


Steps: TypeAlias = SimHashSteps | MinHashSteps


@dataclass(frozen=True)
class StepsBeside:
    """The steps of two texts, and what differs.

    Attributes
    ----------
    a, b : SimHashSteps or MinHashSteps
    shared, only_a, only_b : tuple of str
        Features of both, and of one of them.
    differing : tuple of int
        SimHash: bits that differ, 0 the lowest. MinHash: values that differ, 0 the first. Empty where a text has none.
    distance : int or None
        How many: the Hamming distance. None if a text has no feature.
    """

    a: Steps
    b: Steps
    shared: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    differing: tuple[int, ...]
    distance: int | None

    def to_dict(self) -> dict[str, Any]:
        """Both and what differs, as JSON has them."""
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "shared": list(self.shared),
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "differing": list(self.differing),
            "distance": self.distance,
        }

    def __str__(self) -> str:
        return "\n".join(["a", *indented(str(self.a)), "b", *indented(str(self.b)), *self._difference()])

    def _difference(self) -> list[str]:
        what = "bits" if isinstance(self.a, SimHashSteps) else "values"
        most = self.a.recipe.bits if what == "bits" else self.a.recipe.num_perm
        far = "none: a text without any feature" if self.distance is None else f"{self.distance} of {most} {what}"
        lines = [f"shared       {len(self.shared)} features: {some(self.shared)}"]
        lines += [
            f"only in a    {len(self.only_a)}: {some(self.only_a)}",
            f"only in b    {len(self.only_b)}: {some(self.only_b)}",
        ]
        lines.append(f"distance     {far}")
        if self.differing:
            lines.append(f"they differ  in {what} {numbers(self.differing)}")
        return lines

    def _repr_html_(self) -> str:
        told = "".join(f"<li>{html.escape(line)}</li>" for line in self._difference())
        return f"<h4>a</h4>{self.a._repr_html_()}<h4>b</h4>{self.b._repr_html_()}<ul>{told}</ul>"


def compared(a: Steps, b: Steps) -> StepsBeside:
    """The steps of two texts, and what differs.

    Raises
    ------
    MismatchError
        They are of different recipes.
    """
    if a.recipe != b.recipe:
        raise mismatch("recipe", str(a.recipe), str(b.recipe))
    names = [[feature.name for feature in steps.features] for steps in (a, b)]
    held = [set(side) for side in names]
    differing: tuple[int, ...] = ()
    if isinstance(a, SimHashSteps) and isinstance(b, SimHashSteps):
        known = a.fingerprint is not None and b.fingerprint is not None
        if a.fingerprint is not None and b.fingerprint is not None:
            unlike = a.fingerprint ^ b.fingerprint
            differing = tuple(bit for bit in range(a.recipe.bits) if unlike >> bit & 1)
    elif isinstance(a, MinHashSteps) and isinstance(b, MinHashSteps):
        known = bool(a.features and b.features)
        if known:
            pairs = zip(a.signature, b.signature, strict=True)
            differing = tuple(at for at, (left, right) in enumerate(pairs) if left != right)
    return StepsBeside(
        a,
        b,
        tuple(name for name in names[0] if name in held[1]),
        tuple(name for name in names[0] if name not in held[1]),
        tuple(name for name in names[1] if name not in held[0]),
        differing,
        len(differing) if known else None,
    )


def steps_of(text: str, recipe: Recipe) -> Steps:
    """The steps of a text.

    Raises
    ------
    ParameterError
        The recipe is for given features.
    TypeError
        The text is not a string.
    """
    if recipe.features == "given":
        raise bad_parameter("recipe", str(recipe), "a recipe of texts, such as char:4|binary|xxh3|simhash:128")
    if not isinstance(text, str):
        raise TypeError(f"a text must be a string, not {type(text).__name__}")
    normalised, words = recipe.core.reading(text)
    counts = dict(recipe.core.features(text))
    weights = _weights(text, recipe, counts)
    features = _features(weights, counts, recipe)
    left_out = tuple((name, count) for name, count in counts.items() if name not in weights)
    if recipe.family == "simhash":
        values, found = recipe.core.fingerprints([text])
        whole = sum(int(word) << 64 * at for at, word in enumerate(values.reshape(-1)))
        fingerprint = whole if int(found[0]) else None
        return SimHashSteps(recipe, text, normalised, tuple(words), features, left_out, fingerprint)
    signature = recipe.core.signatures([text])[0].reshape(-1)
    owners = _owners(list(weights), signature, recipe)
    return MinHashSteps(recipe, text, normalised, tuple(words), features, left_out, tuple(signature.tolist()), owners)


def _weights(text: str, recipe: Recipe, counts: dict[str, int]) -> dict[str, int | float]:
    """The features that count, and their weights."""
    if recipe.family == "minhash" or recipe.weight == "binary":
        return dict.fromkeys(counts, 1)
    if recipe.weight == "count":
        return dict(counts)
    return dict(recipe.core.keywords([text])[0])


def _features(weights: dict[str, int | float], counts: dict[str, int], recipe: Recipe) -> tuple[Feature, ...]:
    names = [name.encode() for name in weights]
    words = -(-recipe.bits // 64) if recipe.family == "simhash" else 1
    hashes = [0] * len(names)
    for word in range(words):
        for at, value in enumerate(feature_hashes(recipe.hash, names, recipe.seed, word).tolist()):
            hashes[at] |= value << 64 * word
    mask = (1 << recipe.bits) - 1 if recipe.family == "simhash" else (1 << 64) - 1
    return tuple(
        Feature(name, counts[name], weight, value & mask)
        for (name, weight), value in zip(weights.items(), hashes, strict=True)
    )


def _owners(names: Sequence[str], signature: npt.NDArray[Any], recipe: Recipe) -> tuple[int | None, ...]:
    """For each value of a signature the feature that has it: alone, a feature has its own value everywhere."""
    if not names:
        return (None,) * len(signature)
    offsets = np.arange(len(names) + 1, dtype=np.int64)
    alone = recipe.core.signatures_given(offsets, [name.encode() for name in names]).reshape(len(names), -1)
    found = (alone == signature).argmax(axis=0)
    has = (alone == signature).any(axis=0)
    return tuple(int(at) if known else None for at, known in zip(found, has, strict=True))


__all__ = ["Feature", "MinHashSteps", "SimHashSteps", "Steps", "StepsBeside", "TextSteps", "compared", "steps_of"]
