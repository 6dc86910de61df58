"""Comparison of two texts by every measure: distance of fingerprints, similarities, edits, and differing features."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from nearkin.dedup.distinguishers import NAMES, differences
from nearkin.dedup.kinds import Kind, recipe_of_kind, with_kind
from nearkin.dedup.verify import Measure, baselines, similarity
from nearkin.errors import ParameterError, bad_parameter, excerpt, printable
from nearkin.explain.render import html_block
from nearkin.families.simhash import fingerprint
from nearkin.index.fingerprints import hamming, to_hex
from nearkin.recipe import Recipe
from nearkin.text.edits import Edits, common_substring, edits, positional_similarity

_Result = TypeVar("_Result")
_WIDTH = 80
_MAX_FEATURES = 10
"""Maximum number of differing features that are shown."""
_MAX_STRETCH = 40
"""Characters that are shown at either end of a long stretch."""
_NONE = "none: a text without any letter"


class KindMatch(NamedTuple):
    """Whether two texts are copies of each other as `nearkin.dedup` decides with a kind.

    Attributes
    ----------
    kind, measure : str
        The kind and its measure.
    similarity, threshold : float
        Of the features of the kind.
    differs : dict of str to str
        By each of its rules that tells the texts apart: the difference.
    """

    kind: str
    measure: str
    similarity: float
    threshold: float
    differs: dict[str, str]

    @property
    def is_match(self) -> bool:
        """True if one of the texts would be removed for the other."""
        return self.similarity >= self.threshold and not self.differs

    def __str__(self) -> str:
        reason = f"{self.measure} {self.similarity:.4f}, threshold {self.threshold:g}"
        differs = "".join(f"; they differ: {printable(each)}" for each in self.differs.values())
        return f"{'a match' if self.is_match else 'no match'}: {reason}{differs}"


@dataclass(frozen=True, repr=False)
class ComparedTexts:
    """How similar two texts are. `str()` has a line per value, and `repr()` wraps them at 80 columns.

    Attributes
    ----------
    recipe : Recipe
        Defines fingerprints and features.
    fingerprints : tuple of (str or None)
        Hexadecimal digits of both; None for a text without features.
    distance : int or None
        Hamming distance of the fingerprints; None if a text has no features.
    similarities : dict of str to (float or None)
        Of features: `jaccard`, `containment`, `dice`, None if a text has none. Of words: `words`. Of characters:
        `indel` and `levenshtein` (missing for texts that are too long), `bigrams`, `trigrams`, and `places`, the share
        of positions with equal characters.
    differs : dict of str to str
        By each rule of `differ=` that tells the texts apart: the difference.
    edits : Edits or None
        A shortest sequence of insertions, deletions and substitutions; None if the texts are too long.
    common_substring : str or None
        The longest common substring; None if the texts are too long.
    num_features : tuple of int
        Of both.
    only_a, only_b : tuple of str
        Features of one text only.
    notes : tuple of str
        What is missing, and why.
    match : KindMatch or None
        With a kind: its decision.
    """

    recipe: Recipe
    fingerprints: tuple[str | None, str | None]
    distance: int | None
    similarities: dict[str, float | None]
    differs: dict[str, str]
    edits: Edits | None
    common_substring: str | None
    num_features: tuple[int, int]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    notes: tuple[str, ...]
    match: KindMatch | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        about: dict[str, Any] = {"recipe": str(self.recipe), "fingerprints": list(self.fingerprints)}
        about |= {"bits": self.recipe.bits, "distance": self.distance, **self.similarities, "differs": self.differs}
        if self.edits is not None:
            names = ("distance", "insertions", "deletions", "substitutions")
            pieces = [{"kind": piece.kind, "a": piece.a, "b": piece.b} for piece in self.edits.pieces]
            about["edits"] = {**{name: getattr(self.edits, name) for name in names}, "pieces": pieces}
        if self.common_substring is not None:
            about["common_substring"] = self.common_substring
        counts: dict[str, Any] = {"features": list(self.num_features)}
        if self.match is not None:
            about["match"] = {**self.match._asdict(), "is_match": self.match.is_match}
        return {**about, **counts, "only_a": list(self.only_a), "only_b": list(self.only_b)}

    def _facts(self) -> Iterator[tuple[str, str]]:
        """Yield labels and values."""
        bits = self.recipe.bits
        yield "recipe", str(self.recipe)
        for label, digits, side in zip(("fingerprint", ""), self.fingerprints, "ab", strict=True):
            yield label, f"{digits or 'none':<{bits // 4}}  {side}"
        yield "distance", _NONE if self.distance is None else f"{self.distance} of {bits} bits"
        for name, value in self.similarities.items():
            yield name, _NONE if value is None else f"{value:.4f}"
        if self.match is not None:
            yield self.match.kind, str(self.match)
        for rule, difference in self.differs.items():
            yield rule, f"differ: {printable(difference)}"
        if self.edits is not None:
            counts = self.edits.insertions, self.edits.deletions, self.edits.substitutions
            yield "edits", "{}: {} inserted, {} deleted, {} substituted".format(self.edits.distance, *counts)
        if self.common_substring is not None:
            common = self.common_substring
            yield "common", f"{len(common)} characters in a row: '{printable(_shorten(common))}'"
        if self.edits is not None:
            pieces = self.edits.pieces
            yield "aligned", "".join(_mark(piece.kind, _shorten(piece.a), _shorten(piece.b)) for piece in pieces)
        (a, b), shared = self.num_features, self.num_features[0] - len(self.only_a)
        yield "features", f"{a} in a, {b} in b, {shared} in both"
        yield "only in a", _list_features(self.only_a)
        yield "only in b", _list_features(self.only_b)

    def __str__(self) -> str:
        return "\n".join(f"{label:<12} {value}" for label, value in self._facts())

    def __repr__(self) -> str:
        # Texts keep their spaces.
        wrapper = textwrap.TextWrapper(
            _WIDTH, subsequent_indent=" " * 13, drop_whitespace=False, replace_whitespace=False, break_on_hyphens=False
        )
        return "\n".join(line for row in str(self).split("\n") for line in wrapper.wrap(row))

    def _repr_html_(self) -> str:
        return html_block(repr(self).split("\n"))


def compare(a: str, b: str, recipe: Recipe | str | None = None, kind: Kind | None = None) -> ComparedTexts:
    """Compare two texts: distance, similarities, edits, longest common substring, and the features that differ.

    `explain(a, recipe, other=b)` shows every step from both texts to their fingerprints instead.

    Parameters
    ----------
    a, b : str
        Texts, not names of files.
    recipe : Recipe or str, optional
        A recipe of texts, its text form or the name of a preset; None for the fingerprint recipe. Of a recipe with
        minhash, the features are fingerprinted by SimHash; with `weighted`, Jaccard, containment and Dice are weighted.
    kind : str, optional
        A kind of texts (`nearkin.dedup.kinds`), whose features are compared and whose decision is `match`.

    Returns
    -------
    ComparedTexts

    Raises
    ------
    ParameterError
        A recipe that reads no texts, or with a kind, which has its own; an unknown kind.
    TypeError
        A text is not a string.

    Notes
    -----
    Edits cost O(len(a) len(b) / 64); they are left out, with a note, if the product of the lengths exceeds 2**34.

    Examples
    --------
    >>> import nearkin as nk
    >>> result = nk.compare("how are u?", "how are you?")
    >>> result.similarities["levenshtein"], result.common_substring
    (0.8333333333333334, 'how are ')
    >>> result.edits.distance, result.distance
    (2, 30)
    """
    for name, text in (("a", a), ("b", b)):
        if not isinstance(text, str):
            raise TypeError(f"{name} must be a text (str), not {type(text).__name__}; decode bytes, read files first")
    chosen: dict[str, Any] = {}
    if kind is not None:
        chosen = with_kind({"kind": kind}, of_corpus=False)
    parsed = Recipe.of(recipe_of_kind(kind, recipe))
    if parsed.features == "given":
        raise bad_parameter("recipe", excerpt(str(parsed)), "one with char:N or word:N, which reads texts")
    measured = parsed
    if parsed.family == "minhash":
        parsed = parsed.with_family("simhash")
    notes: list[str] = []

    def try_call(name: str, call: Callable[..., _Result], *arguments: Any) -> _Result | None:
        """Return the result of a call; None, with a note, for texts that are too long for it."""
        try:
            return call(*arguments)
        except ParameterError as error:
            notes.append(f"{name} left out: {error}")
            return None

    def measure(name: Measure) -> float:
        return float(similarity([a, b], [0], [1], recipe=measured, measure=name)[0])

    values, counts = fingerprint([a, b], parsed, return_counts=True)
    digits = [text if count else None for text, count in zip(to_hex(values, parsed.bits), counts.tolist(), strict=True)]
    distance = int(np.asarray(hamming(values[:1], values[1:]))[0]) if counts.all() else None
    features = [list(parsed.features_of(text)) for text in (a, b)]
    # Features of either text, for membership.
    sets = [set(names) for names in features]
    only = [tuple(name for name in features[i] if name not in sets[1 - i]) for i in range(2)]
    jaccard = measure("jaccard")
    similarities: dict[str, float | None] = {"jaccard": jaccard, "containment": measure("containment")}
    if (indel := try_call("indel is", measure, "indel")) is not None:
        similarities["indel"] = indel
    others = {"words": measure("words"), **baselines(a, b)}
    if "levenshtein" not in others:
        notes.append("levenshtein is left out: the lengths of the texts multiply to more than 2**34; compare parts")
    similarities |= {"dice": 2 * jaccard / (1 + jaccard), **others, "places": positional_similarity(a, b)}
    if not all(features):
        similarities |= dict.fromkeys(("jaccard", "containment", "dice"))
    differs = {rule: each for rule in NAMES if (each := differences([rule], [a], [b])[0]) is not None}
    match = None
    if kind is not None:
        by: Measure = chosen.get("verify", "jaccard")
        rules = {
            rule: each for rule in chosen.get("differ", ()) if (each := differences([rule], [a], [b])[0]) is not None
        }
        match = KindMatch(kind, by, measure(by), chosen["threshold"], rules)
    return ComparedTexts(
        parsed,
        (digits[0], digits[1]),
        distance,
        similarities,
        differs,
        try_call("edits are", edits, a, b),
        try_call("the longest common string is", common_substring, a, b),
        (len(features[0]), len(features[1])),
        only[0],
        only[1],
        tuple(notes),
        match,
    )


def _shorten(text: str) -> str:
    """Return a text without the middle of a long stretch."""
    if len(text) <= 2 * _MAX_STRETCH:
        return text
    return f"{text[:_MAX_STRETCH]} … {len(text) - 2 * _MAX_STRETCH:,} characters … {text[-_MAX_STRETCH:]}"


def _list_features(names: tuple[str, ...]) -> str:
    """Return the first features, and the number of the others."""
    more = f" and {len(names) - _MAX_FEATURES} more" if len(names) > _MAX_FEATURES else ""
    return (", ".join(map(repr, names[:_MAX_FEATURES])) or "none") + more


def _mark(kind: str, a: str, b: str) -> str:
    """Return an edit with the marks of `wdiff`: `[-deleted-]` and `{+inserted+}`."""
    if kind == "equal":
        return printable(a)
    return (f"[-{printable(a)}-]" if a else "") + (f"{{+{printable(b)}+}}" if b else "")
