"""Every step from a vector to its code: the projection and the value of each function of a family.

    vector → projection of each function → comparison with a limit, or rounding → bits, keys or features

For two vectors it shows which functions differ and how many differences the law of the family predicts: m (1 − p) of m
functions that agree with probability p, with standard deviation √(m p (1 − p)) if they are independent.

Codes are those of `Family.transform`, projections those of `Family.projections`. The header of each family has its
sources.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nearkin.errors import ParameterError, bad_parameter
from nearkin.explain.render import MAX_ROWS, Comparison, Rendered, join_numbers, to_json, wrap_cells
from nearkin.families.base import Family
from nearkin.notebook import short
from nearkin.vectors.arrays import Floats, Vectors

_DISTANCES = {
    "cosine": "cosine",
    "l2": "L2 distance",
    "l1": "L1 distance",
    "hamming": "Hamming distance",
    "kernel": "kernel",
}


@dataclass(frozen=True, eq=False)
class VectorSteps(Rendered):
    """Every step from a vector to its code.

    Attributes
    ----------
    family : Family
    dimension, nonzeros : int
        Dimension and number of nonzero values of the vector.
    norm : float
        L2 norm.
    projections, limits, margins : (num_hashes,) float64
        For each function the number that it compares or rounds, the limit, and the distance to the nearest other value.
        `family.projection_labels` describes them, and `Family.projections` says when a number is NaN.
    values : tuple of int or float
        The value of each function: 0 or 1, a key, or a feature.
    """

    family: Family
    dimension: int
    nonzeros: int
    norm: float
    projections: Floats
    limits: Floats
    margins: Floats
    values: tuple[int, ...] | tuple[float, ...]

    @property
    def bits(self) -> str:
        """The values of bits as binary digits, highest first; empty for keys and features."""
        return "".join(map(str, reversed(self.values))) if self.family.kind == "bits" else ""

    @property
    def fingerprint(self) -> int | None:
        """The words of `transform` as one number, lowest word first; None without bits."""
        return int(self.bits, 2) if self.bits else None

    @cached_property
    def nearest(self) -> tuple[int, ...]:
        """Functions by increasing margin, so the first changes first; those with an unknown margin are omitted."""
        known = np.flatnonzero(~np.isnan(self.margins))
        return tuple(known[np.argsort(self.margins[known], kind="stable")].tolist())

    def to_dict(self) -> dict[str, Any]:
        """Return the steps for JSON; unknown numbers are null."""
        names = ("dimension", "nonzeros", "norm", "projections", "limits", "margins", "values", "bits")
        return {"family": repr(self.family)} | {name: to_json(getattr(self, name)) for name in names}

    def _head(self) -> Iterator[str]:
        yield f"family       {self.family!r}"
        yield f"vector       {self.dimension:,} dimensions, {self.nonzeros:,} not 0, of length {short(self.norm, 5)}"
        yield f"projection   {self.family.projection_labels.value}"
        yield f"value        {self.family.projection_labels.rule}"
        yield f"margin       {self.family.projection_labels.margin}"

    def _table(self) -> tuple[list[str], list[list[str]], list[str]]:
        columns = {"projection": self.projections, "limit": self.limits, "margin": self.margins}
        if not (self.limits != 0).any() or np.isnan(self.limits).all():
            del columns["limit"]
        if np.isnan(self.margins).all():
            del columns["margin"]
        names = [{"bits": "bit", "keys": "key", "features": "feature"}[self.family.kind], *columns, "value"]
        is_feature = self.family.kind == "features"
        rows = [
            [str(i), *(_format(values[i]) for values in columns.values()), _format(value) if is_feature else str(value)]
            for i, value in enumerate(self.values[:MAX_ROWS])
        ]
        return names, rows, names

    def _tail(self) -> Iterator[str]:
        if len(self.values) > MAX_ROWS:
            yield f"  … and {len(self.values) - MAX_ROWS} more"
        if self.nearest:
            yield f"nearest      {join_numbers(self.nearest[:8])}: the smallest margins"
        if self.fingerprint is not None:
            yield from wrap_cells("bits", [self.bits[i : i + 64] for i in range(0, len(self.bits), 64)], 1)
            yield f"fingerprint  {self.fingerprint:0{-(-len(self.bits) // 4)}x}"
        elif self.family.kind == "keys":
            yield from wrap_cells("keys", [str(value) for value in self.values], 16)


@dataclass(frozen=True, eq=False)
class VectorComparison(Comparison):
    """The steps of two vectors and their differences.

    Attributes
    ----------
    a, b : VectorSteps
    differing : tuple of int
        Functions whose values differ.
    value : float
        Similarity or distance, in the measure of the family's law: `Family.pair_values`.
    agreement : float or None
        Probability that a function has the same value for both, by the law of the family; None without a law.
    """

    _keys = ("differing", "distance", "value", "agreement", "expected", "deviation", "product")

    a: VectorSteps
    b: VectorSteps
    differing: tuple[int, ...]
    value: float
    agreement: float | None

    @property
    def distance(self) -> int:
        """The number of functions that differ; for bits the Hamming distance."""
        return len(self.differing)

    @property
    def expected(self) -> float | None:
        """The expected number of functions that differ; None without a law."""
        return None if self.agreement is None else len(self.a.values) * (1 - self.agreement)

    @property
    def deviation(self) -> float | None:
        """The standard deviation of that number, for independent functions; None without a law."""
        p = self.agreement
        return None if p is None else math.sqrt(len(self.a.values) * p * (1 - p))

    @property
    def product(self) -> float | None:
        """The inner product of the features, which estimates the kernel; None for bits and keys."""
        return float(np.dot(self.a.values, self.b.values)) if self.a.family.kind == "features" else None

    def _difference(self) -> list[str]:
        kind, total = self.a.family.kind, len(self.a.values)
        lines = [f"measured     {_DISTANCES[self.a.family.distance]} {short(self.value, 5)}"]
        if self.product is not None:
            return [*lines, f"product      {short(self.product, 5)} of the features: it estimates the kernel"]
        if self.expected is None or self.deviation is None:
            lines.append("law          none: the family learns from data")
        else:
            mean = f"{short(self.expected, 4)} of {total} {kind} differ on average"
            spread = f"with standard deviation {short(self.deviation, 2)}"
            lines.append(f"law          a value agrees with probability {self.agreement:.4f}: {mean}, {spread}")
        lines.append(f"distance     {self.distance} of {total} {kind}")
        if self.differing:
            lines.append(f"they differ  in {kind} {join_numbers(self.differing)}")
        return lines


def explain_vector(vector: Vectors, family: Family) -> VectorSteps:
    """Return the steps of a vector, `(d,)`, `(1, d)` or a sparse row.

    Raises
    ------
    ParameterError
        There are several vectors.
    NotFittedError, MismatchError, InputError
        As for `Family.transform`.
    """
    X = _as_row(vector)
    projected = family.projections(X)
    codes = family.transform(X) if family.kind == "features" else family.hash_values(X)
    data = np.asarray(X.tocsr().data if hasattr(X, "tocsr") else X, np.float64)
    return VectorSteps(
        family,
        family.dimension_,
        int(np.count_nonzero(data)),
        float(np.linalg.norm(data.reshape(-1))),
        projected.values[0],
        projected.limits[0],
        projected.margins[0],
        tuple(codes[0].tolist()),
    )


def compare_vectors(a: Vectors, b: Vectors, family: Family) -> VectorComparison:
    """Compare the steps of two vectors; the errors are those of `explain_vector`."""
    steps = (explain_vector(a, family), explain_vector(b, family))
    value = float(family.pair_values(_as_row(a), _as_row(b))[0])
    try:
        agreement: float | None = float(family.collision_probability(value))
    except ParameterError:
        # Features, and families that are fitted to data, have no law.
        agreement = None
    pairs = enumerate(zip(steps[0].values, steps[1].values, strict=True))
    return VectorComparison(*steps, tuple(i for i, (x, y) in pairs if x != y), value, agreement)


def _as_row(vector: Vectors) -> Any:
    """Return a vector as a matrix with one row."""
    row: Any = vector if hasattr(vector, "tocsr") else np.asarray(vector)
    if getattr(row, "ndim", 2) == 1:
        row = row.reshape(1, -1)
    if row.ndim != 2 or row.shape[0] != 1:
        raise bad_parameter("value", f"an array of shape {row.shape}", "one vector: of shape (d,) or (1, d)")
    return row


def _format(value: float) -> str:
    return "?" if math.isnan(value) else short(value, 5)
