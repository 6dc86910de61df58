"""Every step from a vector to its code: what each function of a family sees, and what it makes of it.

    vector → projection of each function → compared with a limit, or rounded → bits, keys or features

Of two vectors it says which functions differ, and how many the law of the family lets expect: m (1 − p) of m functions
that agree with probability p, give or take √(m p (1 − p)) where they are independent.

Codes are those of `Family.transform`, projections those of `Family.projections`. Sources are in the header of each
family.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nearkin.errors import ParameterError, bad_parameter
from nearkin.explain.lines import SHOWN, html_steps, in_lines, indented, numbers, table_lines
from nearkin.families.base import Family
from nearkin.notebook import short
from nearkin.vectors.rows import Floats, Vectors

_NAMES = {
    "cosine": "cosine",
    "l2": "L2 distance",
    "l1": "L1 distance",
    "hamming": "Hamming distance",
    "kernel": "kernel",
}


@dataclass(frozen=True)
class VectorSteps:
    """Every step from a vector to its code.

    Attributes
    ----------
    family : Family
    dimension, nonzeros : int
        Of the vector.
    norm : float
        Its L2 norm.
    projections, limits, margins : (num_hashes,) float64
        What each function compares or rounds, what with, and the way to the nearest other value: `family.terms` says
        it in words, `Family.projections` when a number is NaN.
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
        """The values of bits as binary digits, the highest first; empty for keys and features."""
        return "".join(map(str, reversed(self.values))) if self.family.kind == "bits" else ""

    @property
    def fingerprint(self) -> int | None:
        """The bits as a number, the words of `transform` put together, the first one lowest; None without bits."""
        return int(self.bits, 2) if self.bits else None

    @cached_property
    def nearest(self) -> tuple[int, ...]:
        """Functions by margin, the one first that changes first; those of unknown margin are left out."""
        known = np.flatnonzero(~np.isnan(self.margins))
        return tuple(known[np.argsort(self.margins[known], kind="stable")].tolist())

    def to_dict(self) -> dict[str, Any]:
        """The steps as JSON has them; numbers that are not known are null."""
        return {
            "family": repr(self.family),
            "dimension": self.dimension,
            "nonzeros": self.nonzeros,
            "norm": self.norm,
            "projections": [None if math.isnan(value) else value for value in self.projections.tolist()],
            "limits": [None if math.isnan(value) else value for value in self.limits.tolist()],
            "margins": [None if math.isnan(value) else value for value in self.margins.tolist()],
            "values": list(self.values),
            "bits": self.bits,
        }

    def _lines(self) -> Iterator[str]:
        yield f"family       {self.family!r}"
        yield f"vector       {self.dimension:,} dimensions, {self.nonzeros:,} not 0, of length {short(self.norm, 5)}"
        yield f"projection   {self.family.terms.value}"
        yield f"value        {self.family.terms.rule}"
        yield f"margin       {self.family.terms.margin}"

    @cached_property
    def _columns(self) -> list[str]:
        first = {"bits": "bit", "keys": "key", "features": "feature"}[self.family.kind]
        limits = ["limit"] if (self.limits != 0).any() and not np.isnan(self.limits).all() else []
        margins = [] if np.isnan(self.margins).all() else ["margin"]
        return [first, "projection", *limits, *margins, "value"]

    def _rows(self) -> list[list[str]]:
        rows = []
        for at in range(min(SHOWN, len(self.values))):
            value = self.values[at]
            cells = {
                "projection": _number(self.projections[at]),
                "limit": _number(self.limits[at]),
                "margin": _number(self.margins[at]),
                "value": _number(value) if self.family.kind == "features" else str(value),
            }
            rows.append([str(at), *(cells[name] for name in self._columns[1:])])
        return rows

    def _tail(self) -> Iterator[str]:
        if len(self.values) > SHOWN:
            yield f"  … and {len(self.values) - SHOWN} more"
        if self.nearest:
            yield f"nearest      {numbers(self.nearest[:8])}: the smallest margins"
        if self.fingerprint is not None:
            yield from in_lines("bits", [self.bits[at : at + 64] for at in range(0, len(self.bits), 64)], 1)
            yield f"fingerprint  {self.fingerprint:0{-(-len(self.bits) // 4)}x}"
        elif self.family.kind == "keys":
            yield from in_lines("keys", [str(value) for value in self.values], 16)

    def __str__(self) -> str:
        """What the numbers are, a table of the first functions, and the code."""
        return "\n".join([*self._lines(), *table_lines(self._columns, self._rows(), self._columns), *self._tail()])

    def _repr_html_(self) -> str:
        return html_steps(list(self._lines()), self._columns, self._rows(), list(self._tail()))


@dataclass(frozen=True)
class VectorStepsBeside:
    """The steps of two vectors, and what differs.

    Attributes
    ----------
    a, b : VectorSteps
    differing : tuple of int
        Functions whose values differ.
    value : float
        Their similarity or distance, as the law takes it: `Family.pair_values`.
    agreement : float or None
        Probability that a function gives both the same value, by the law of the family; None without a law.
    """

    a: VectorSteps
    b: VectorSteps
    differing: tuple[int, ...]
    value: float
    agreement: float | None

    @property
    def distance(self) -> int:
        """How many functions differ: of bits the Hamming distance."""
        return len(self.differing)

    @property
    def expected(self) -> float | None:
        """How many functions differ on average; None without a law."""
        return None if self.agreement is None else len(self.a.values) * (1 - self.agreement)

    @property
    def deviation(self) -> float | None:
        """The standard deviation of that number, of independent functions."""
        p = self.agreement
        return None if p is None else math.sqrt(len(self.a.values) * p * (1 - p))

    @property
    def product(self) -> float | None:
        """The inner product of the features, which estimates the kernel; None for bits and keys."""
        if self.a.family.kind != "features":
            return None
        return float(np.dot(self.a.values, self.b.values))

    def to_dict(self) -> dict[str, Any]:
        """Both and what differs, as JSON has them."""
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "differing": list(self.differing),
            "distance": self.distance,
            "value": None if math.isnan(self.value) else self.value,
            "agreement": self.agreement,
            "expected": self.expected,
            "deviation": self.deviation,
            "product": self.product,
        }

    def _difference(self) -> list[str]:
        kind, most = self.a.family.kind, len(self.a.values)
        lines = [f"apart        {_NAMES[self.a.family.distance]} {short(self.value, 5)}"]
        if self.product is not None:
            return [*lines, f"product      {short(self.product, 5)} of the features: it estimates the kernel"]
        expected, deviation = self.expected, self.deviation
        if expected is None or deviation is None:
            lines.append("law          none: the family learns from data")
        else:
            told = f"{short(expected, 4)} of {most} {kind} differ on average, give or take {short(deviation, 2)}"
            lines.append(f"law          a value agrees with probability {self.agreement:.4f}: {told}")
        lines.append(f"distance     {self.distance} of {most} {kind}")
        if self.differing:
            lines.append(f"they differ  in {kind} {numbers(self.differing)}")
        return lines

    def __str__(self) -> str:
        return "\n".join(["a", *indented(str(self.a)), "b", *indented(str(self.b)), *self._difference()])

    def _repr_html_(self) -> str:
        told = "".join(f"<li>{html.escape(line)}</li>" for line in self._difference())
        return f"<h4>a</h4>{self.a._repr_html_()}<h4>b</h4>{self.b._repr_html_()}<ul>{told}</ul>"


def vector_steps(vector: Vectors, family: Family) -> VectorSteps:
    """The steps of a vector, `(d,)`, `(1, d)` or a sparse row.

    Raises
    ------
    ParameterError
        Several vectors.
    NotFittedError, MismatchError, InputError
        As for `Family.transform`.
    """
    X = _row(vector)
    seen = family.projections(X)
    made = family.transform(X) if family.kind == "features" else family.hash_values(X)
    dense = X.tocsr().data if hasattr(X, "tocsr") else np.asarray(X, np.float64)
    return VectorSteps(
        family,
        family.dimension_,
        int(np.count_nonzero(dense)),
        float(np.linalg.norm(np.asarray(dense, np.float64).reshape(-1))),
        seen.values[0],
        seen.limits[0],
        seen.margins[0],
        tuple(made[0].tolist()),
    )


def compared_vectors(a: Vectors, b: Vectors, family: Family) -> VectorStepsBeside:
    """The steps of two vectors, and what differs; errors as for `vector_steps`."""
    steps = (vector_steps(a, family), vector_steps(b, family))
    value = float(family.pair_values(_row(a), _row(b))[0])
    try:
        agreement: float | None = float(family.collision_probability(value))
    except ParameterError:
        # Families that are fitted to data, and features, have no law.
        agreement = None
    pairs = enumerate(zip(steps[0].values, steps[1].values, strict=True))
    return VectorStepsBeside(*steps, tuple(at for at, (x, y) in pairs if x != y), value, agreement)


def _row(vector: Vectors) -> Any:
    """One vector as a matrix of one row."""
    shaped: Any = vector if hasattr(vector, "tocsr") else np.asarray(vector)
    if getattr(shaped, "ndim", 2) == 1:
        shaped = shaped.reshape(1, -1)
    if shaped.ndim != 2 or shaped.shape[0] != 1:
        raise bad_parameter("given", f"an array of shape {shaped.shape}", "one vector: of shape (d,) or (1, d)")
    return shaped


def _number(value: float) -> str:
    return "?" if math.isnan(value) else short(value, 5)


__all__ = ["VectorSteps", "VectorStepsBeside", "compared_vectors", "vector_steps"]
