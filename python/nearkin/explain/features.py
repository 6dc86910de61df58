r"""Every step from weighted features to a SimHash, with hashes or hyperplanes that the caller passes.

    weight of each feature, ± by each digit of its hash → row → sums of columns → bits

Let w be the n weights and S the matrix of n rows and b columns with 1 for the digit 1 and -1 for the digit 0. The sums
are wᵀ S, and bit j is 1 if sum j is above 0. Column j of S, read downwards, is the normal of a hyperplane through the
origin, and sum j is its inner product with w. So b hyperplanes in n dimensions and n hashes of b digits are the same
matrix, by columns or by rows: hashes need no stored planes.

`nearkin.explain(text, recipe)` derives features, weights and hashes from a text. Floats are added in the order of the
features, so a sum near 0 can differ in sign from that of `nearkin.SimHash`, which adds in the order of the hashes.

Cost: O(n b). Test: `tests/explain/test_explain_features.py`.

References
----------
.. [1] M. Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002, section 3.
.. [2] G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import feature_hash_names, feature_hashes
from nearkin.errors import bad_parameter, check_choice, check_number, excerpt, mismatch
from nearkin.explain.render import (
    MAX_COLUMNS,
    MAX_ROWS,
    Comparison,
    Rendered,
    join_names,
    join_numbers,
    with_sums,
    wrap_cells,
)
from nearkin.io.values import encode
from nearkin.notebook import short

BitOrder: TypeAlias = Literal["highest", "lowest"]
"""Which bit is written first."""
Weights: TypeAlias = (
    "Mapping[str, float] | Sequence[float] | Sequence[str] | Sequence[tuple[str, float]] | npt.NDArray[Any]"
)
Hashes: TypeAlias = "Mapping[str, str] | Sequence[str] | str | Callable[[str], int | str]"

_HASH_BITS = 64
_DEFAULT_HASH = "xxh3"


@dataclass(frozen=True, eq=False)
class FeatureSteps(Rendered):
    """Every step from weighted features to a SimHash.

    Attributes
    ----------
    names : tuple of str
        Features, in the order of the caller; for a list of weights "0", "1" and so on.
    weights : tuple of int or float
    hashes : tuple of str
        Digits of each feature's hash; empty if planes are given.
    signs : ndarray of shape (n_features, n_bits)
        1 and -1 for the digits 1 and 0; with planes their coordinates, one plane per column.
    bit_order : {"highest", "lowest"}
        Whether the first digit is the highest or the lowest bit.
    """

    names: tuple[str, ...]
    weights: tuple[int | float, ...]
    hashes: tuple[str, ...]
    signs: npt.NDArray[Any]
    bit_order: BitOrder

    @cached_property
    def rows(self) -> npt.NDArray[Any]:
        """Weight times sign, `(n_features, n_bits)`, in the order of the digits."""
        rows: npt.NDArray[Any] = self.signs * np.array(self.weights)[:, None]
        return rows

    @cached_property
    def sums(self) -> npt.NDArray[Any]:
        """The sum of each column, `(n_bits,)`, in the order of the digits: the products with the hyperplanes."""
        total = np.zeros(self.rows.shape[1], self.rows.dtype)
        for row in self.rows:
            total = total + row
        return total

    @property
    def bits(self) -> str:
        """1 for each sum above 0, otherwise 0; in the order of the digits."""
        return "".join("1" if total > 0 else "0" for total in self.sums.tolist())

    @property
    def fingerprint(self) -> int:
        """The bits as a number."""
        return int(self.bits if self.bit_order == "highest" else self.bits[::-1], 2)

    def to_dict(self) -> dict[str, Any]:
        """Return the steps for JSON; hashes, rows, sums and bits are in the order of the digits."""
        digits = self.hashes or (None,) * len(self.names)
        columns = zip(self.names, self.weights, digits, self.rows.tolist(), strict=True)
        return {
            "features": [
                {"feature": name, "weight": weight, "hash": hash_, "row": row} for name, weight, hash_, row in columns
            ],
            "bit_order": self.bit_order,
            "sums": self.sums.tolist(),
            "bits": self.bits,
            "fingerprint": f"{self.fingerprint:0{-(-len(self.bits) // 4)}x}",
        }

    def _head(self) -> Iterator[str]:
        yield f"features     {len(self.names)}"
        yield f"columns      {len(self.sums)}, {self.bit_order} bit first"

    def _table(self) -> tuple[list[str], list[list[str]], list[str]]:
        columns = ["feature", "weight", *(["hash"] if self.hashes else [])]
        shown = range(min(len(self.names), MAX_ROWS))
        cells = [[self.names[i], short(self.weights[i], 5), *self.hashes[i : i + 1]] for i in shown]
        if len(self.sums) > MAX_COLUMNS:
            return columns, cells, ["weight"]
        rows = [[short(value, 5) for value in self.rows[i].tolist()] for i in shown]
        return [*columns, "row"], with_sums(cells, rows, self._sums(), self.bits, len(self.names)), ["weight"]

    def _sums(self) -> list[str]:
        return [short(value, 5) for value in self.sums.tolist()]

    def _tail(self) -> Iterator[str]:
        if len(self.sums) > MAX_COLUMNS:
            if len(self.names) > MAX_ROWS:
                yield f"  … and {len(self.names) - MAX_ROWS} more"
            yield from wrap_cells("sums", self._sums(), 16)
        yield f"bits         {self.bits}"
        yield f"fingerprint  {self.fingerprint:0{-(-len(self.bits) // 4)}x}"


@dataclass(frozen=True)
class SharedFeatures(Comparison):
    """The steps of two inputs, the features that they share, and where their values differ.

    Attributes
    ----------
    a, b : steps of one class
    shared, only_a, only_b : tuple of str
        Features of both, and of only one of them.
    differing : tuple of int
    """

    _keys = ("shared", "only_a", "only_b", "differing", "distance")

    a: Any
    b: Any
    shared: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    differing: tuple[int, ...]

    def _describe(self, distance: str, place: str) -> list[str]:
        """Return the lines of the difference; `place` is where the values differ."""
        lines = [
            f"shared       {len(self.shared)} features: {join_names(self.shared)}",
            f"only in a    {len(self.only_a)}: {join_names(self.only_a)}",
            f"only in b    {len(self.only_b)}: {join_names(self.only_b)}",
            f"distance     {distance}",
        ]
        return [*lines, f"they differ  {place} {join_numbers(self.differing)}"] if self.differing else lines


@dataclass(frozen=True)
class FeatureComparison(SharedFeatures):
    """The steps of two lists of weighted features, and their differences.

    Attributes
    ----------
    a, b : FeatureSteps
    shared, only_a, only_b : tuple of str
        Features of both, of the first only, and of the second only.
    differing : tuple of int
        Positions in `bits`, from 0, at which the two differ.
    """

    a: FeatureSteps
    b: FeatureSteps

    @property
    def distance(self) -> int:
        """Hamming distance."""
        return len(self.differing)

    def _difference(self) -> list[str]:
        return self._describe(f"{self.distance} of {len(self.a.bits)} bits", "at")


def explain_features(
    weights: Weights,
    *,
    hashes: Hashes | None = None,
    planes: npt.ArrayLike | None = None,
    bit_order: BitOrder = "highest",
) -> FeatureSteps:
    """Return the steps from weighted features to a SimHash; `nearkin.explain` describes the arguments.

    Raises
    ------
    ParameterError
        Both `hashes` and `planes`; no features; a weight that is not a finite number; a feature without a
        hash; digits other than 0 and 1, or of different lengths; planes of another dimension; an unknown hash.
    """
    check_choice("bit_order", bit_order, "highest", "lowest")
    if hashes is not None and planes is not None:
        raise bad_parameter("hashes and planes", "both", "one of them: digits of each feature, or a matrix of planes")
    names, values = _read_weights(weights)
    if planes is not None:
        return FeatureSteps(names, values, (), _read_planes(planes, len(names)), bit_order)
    if hashes is None or isinstance(hashes, str):
        digits = _hash_names(names, _DEFAULT_HASH if hashes is None else hashes)
        digits = digits if bit_order == "highest" else [text[::-1] for text in digits]
    else:
        digits = _read_digits(names, hashes)
    # The sign of a negative number is written like a digit; every character but 0 adds the weight.
    signs = np.array([[-1 if digit == "0" else 1 for digit in text] for text in digits], np.int64)
    return FeatureSteps(names, values, tuple(digits), signs, bit_order)


def compare_features(a: FeatureSteps, b: FeatureSteps) -> FeatureComparison:
    """Compare the steps of two lists of weighted features.

    Raises
    ------
    MismatchError
        Their hashes have different numbers of digits.
    """
    if len(a.bits) != len(b.bits):
        raise mismatch("bits", len(a.bits), len(b.bits))
    return FeatureComparison(
        a,
        b,
        *divide_names(a.names, b.names),
        tuple(i for i, (left, right) in enumerate(zip(a.bits, b.bits, strict=True)) if left != right),
    )


def divide_names(a: Sequence[str], b: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the names in both, those in `a` only and those in `b` only."""
    in_a, in_b = set(a), set(b)
    return (
        tuple(name for name in a if name in in_b),
        tuple(name for name in a if name not in in_b),
        tuple(name for name in b if name not in in_a),
    )


def wide_hashes(function: str, names: list[bytes], seed: int, bits: int) -> list[int]:
    """Return hashes of a whole number of 64-bit words, the lowest word first, with at least this many bits."""
    values = [0] * len(names)
    for word in range(-(-bits // 64)):
        for i, value in enumerate(feature_hashes(function, list(names), seed, word).tolist()):
            values[i] |= value << 64 * word
    return values


def _read_weights(weights: Weights) -> tuple[tuple[str, ...], tuple[int | float, ...]]:
    merged: dict[str, int | float] = {}
    for name, value in _read_pairs(weights):
        if not isinstance(name, str):
            raise bad_parameter("value", f"the feature {excerpt(repr(name))}", "features that are strings")
        allowed = "a number between -2**53 and 2**53 as weight"
        check_number(f"value[{excerpt(repr(name))}]", value, allowed, lambda number: abs(number) < 1 << 53)
        merged[name] = merged.get(name, 0) + (int(value) if isinstance(value, (int, np.integer)) else float(value))
    if not merged:
        raise bad_parameter("value", "no features", "at least one feature with its weight")
    if sum(map(abs, merged.values())) >= 1 << 63:
        raise bad_parameter("value", "weights of 2**63 and more together", "smaller weights, or fewer of them")
    return tuple(merged), tuple(merged.values())


def _read_pairs(weights: Weights) -> list[tuple[Any, Any]]:
    """Return (feature, weight) pairs; of features alone each occurrence weighs 1, and weights alone are numbered."""
    if isinstance(weights, Mapping):
        return list(weights.items())
    if isinstance(weights, (list, tuple)) and weights:
        if all(isinstance(item, str) for item in weights):
            return [(item, 1) for item in weights]
        if all(isinstance(item, (list, tuple)) and len(item) == 2 and isinstance(item[0], str) for item in weights):
            return [(item[0], item[1]) for item in weights]
    array = np.asarray(weights, None if isinstance(weights, np.ndarray) else object)
    if array.ndim != 1:
        allowed = "a mapping of features to weights, or a list of weights, of features, or of (feature, weight) pairs"
        raise bad_parameter("value", f"an array of shape {array.shape}", allowed)
    return [(str(i), value) for i, value in enumerate(array.tolist())]


def _read_planes(planes: npt.ArrayLike | None, dimension: int) -> npt.NDArray[Any]:
    try:
        matrix = np.asarray(planes)
    except ValueError:
        matrix = np.asarray(planes, object)  # Rows of different lengths.
    if matrix.ndim != 2 or matrix.shape[1] != dimension or not len(matrix):
        allowed = f"shape (n_bits, {dimension}): one coordinate per feature, one row per bit"
        raise bad_parameter("planes", f"an array of shape {matrix.shape}", allowed)
    if matrix.dtype.kind not in "iuf" or not np.isfinite(matrix).all():
        raise bad_parameter("planes", f"an array of {matrix.dtype} with other values", "finite numbers")
    # Sums of signs are exact integers; other coordinates could overflow them.
    is_signs = matrix.dtype.kind in "iu" and bool(((matrix == 1) | (matrix == 0) | (matrix == -1)).all())
    columns: npt.NDArray[Any] = np.asarray(matrix, np.int64 if is_signs else np.float64).T
    return columns


def _read_digits(names: Sequence[str], hashes: Hashes) -> list[str]:
    digits: list[Any]
    if callable(hashes):
        digits = [hashes(name) for name in names]
        if digits and all(isinstance(value, (int, np.integer)) for value in digits):
            bits = _HASH_BITS * max(1, *(-(-int(value).bit_length() // _HASH_BITS) for value in digits))
            return [f"{int(value) & (1 << bits) - 1:0{bits}b}" for value in digits]
    elif isinstance(hashes, Mapping):
        missing = [name for name in names if name not in hashes]
        if missing:
            raise bad_parameter("hashes", f"no hash of {excerpt(repr(missing[0]))}", "the digits of every feature")
        digits = [hashes[name] for name in names]
    else:
        digits = list(hashes)
        if len(digits) != len(names):
            raise bad_parameter("hashes", f"{len(digits)} hashes", f"one for each of the {len(names)} features")
    for name, text in zip(names, digits, strict=True):
        if not isinstance(text, str) or not text or set(text) - {"0", "1"} or len(text) != len(digits[0]):
            found = f"{excerpt(repr(text))} of {excerpt(repr(name))}"
            allowed = "strings of the digits 0 and 1, all of one length"
            raise bad_parameter("hashes", found, f"{allowed}, or integers" if callable(hashes) else allowed)
    return digits


def _hash_names(names: Sequence[str], hashes: str) -> list[str]:
    """Return the digits of the hashes of names, highest bit first, by `NAME`, `NAME:BITS` or `NAME:int64`."""
    function, _, form = hashes.partition(":")
    likely = get_close_matches(function.lower(), feature_hash_names(), n=1, cutoff=0.5)
    allowed = f"one of {', '.join(feature_hash_names())}, alone or with `:` and 1 to 1024 bits or int64"
    allowed += "; or a function of the feature" + (f"; did you mean {likely[0]}?" if likely else "")
    if function.lower() in ("phash", "ahash", "dhash", "whash", "pdq"):
        allowed += "; perceptual hashes are codes of images, which HammingIndex and dedup_codes take"
    is_number = form.isascii() and form.isdigit() and len(form) <= 4
    bits = int(form) if is_number else _HASH_BITS
    if function not in feature_hash_names() or not (is_number or form in ("", "int64")) or not 1 <= bits <= 1024:
        raise bad_parameter("hashes", excerpt(repr(hashes)), allowed)
    if function == "one_at_a_time":
        if form == "":
            bits = 32
        elif bits > 32:
            raise bad_parameter("hashes", excerpt(repr(hashes)), "one_at_a_time with 1 to 32 bits")
    values = wide_hashes(function, [encode(name, i) for i, name in enumerate(names)], 0, bits)
    if form == "int64":
        values = [value - (value >> 63 << 64) for value in values]
        # A sign takes the place of a digit, as in C and Go. -2**63 leaves none; no input with this hash is known.
        return [f"{value:064b}" for value in values]
    return [f"{value & (1 << bits) - 1:0{bits}b}" for value in values]
