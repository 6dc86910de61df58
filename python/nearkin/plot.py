"""Plots of theory and measurements: S-curves, histograms of distances, recall against cost.

Every function draws into the given matplotlib axes, or into new ones, and returns them. It neither shows nor saves the
figure. The extra `plot` installs matplotlib.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, check_count, require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nearkin.families.base import Family

__all__ = ["distance_histogram", "recall_cost", "s_curve"]


def _get_axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    with require_extra("plot", "nearkin.plot"):
        from matplotlib.figure import Figure
    new: Axes = Figure(figsize=(6, 4), layout="constrained").subplots()
    return new


def s_curve(
    family: Family,
    values: npt.ArrayLike,
    *,
    tables: Iterable[tuple[int, int]] = ((1, 1),),
    axes: Axes | None = None,
) -> Axes:
    """Plot the probability 1 - (1 - p^k)^L of being found against similarity or distance.

    Parameters
    ----------
    family : Family
        A family with a collision law; fitted if its law requires that.
    values : array
        Ascending arguments of `family.collision_probability`.
    tables : iterable of (k, L), default ((1, 1),)
        Hashes per table and number of tables, one pair for each curve.
    axes : matplotlib axes, optional
        New axes by default; `axes.figure.savefig` saves them.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    MissingExtraError
        Without matplotlib.
    ParameterError
        Counts below 1; a family without a law.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> from nearkin.plot import s_curve
    >>> axes = s_curve(nk.families.Hyperplane(), np.linspace(0, 1, 50), tables=[(8, 4), (16, 40)])
    >>> [line.get_label() for line in axes.get_lines()]
    ['k = 8, L = 4', 'k = 16, L = 40']
    """
    axes = _get_axes(axes)
    x = np.asarray(values, dtype=np.float64)
    p = np.asarray(family.collision_probability(x), dtype=np.float64)
    for k, count in tables:
        check_count("hashes_per_table", k, 1, 1 << 20, "1 or more")
        check_count("num_tables", count, 1, 1 << 20, "1 or more")
        probability = -np.expm1(count * np.log1p(-np.minimum(p**k, 1 - 1e-16)))
        axes.plot(x, probability, label=f"k = {k}, L = {count}")
    names = {"cosine": "cosine similarity", "kernel": "kernel"}
    axes.set(xlabel=names.get(family.distance, f"{family.distance} distance"), ylabel="probability of being found")
    axes.set_ylim(-0.02, 1.02)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    return axes


def distance_histogram(distances: Mapping[str, npt.ArrayLike], *, bins: int = 60, axes: Axes | None = None) -> Axes:
    """Plot histograms of distances on one scale, each of area 1: for example, nearest neighbours and random pairs.

    Parameters
    ----------
    distances : mapping of name to array
        Finite numbers, at least one per name.
    bins : int, default=60
    axes : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    MissingExtraError
        Without matplotlib.
    ParameterError
        No distances, or distances that are not finite.

    Examples
    --------
    >>> from nearkin.plot import distance_histogram
    >>> axes = distance_histogram({"neighbours": [1.0, 1.2], "any": [4.0, 5.0, 4.4]}, bins=5)
    >>> axes.get_xlabel()
    'distance'
    """
    axes = _get_axes(axes)
    check_count("bins", bins, 1, 1 << 16, "1 or more")
    arrays = {name: np.asarray(values, dtype=np.float64).ravel() for name, values in distances.items()}
    for name, values in arrays.items():
        if not len(values) or not np.isfinite(values).all():
            raise bad_parameter(
                "distances", f"{name!r} without values, or with values that are not finite", "finite numbers"
            )
    if not arrays:
        raise bad_parameter("distances", "{}", "one array or more")
    low, high = min(a.min() for a in arrays.values()), max(a.max() for a in arrays.values())
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    for name, values in arrays.items():
        axes.hist(values, bins=edges.tolist(), density=True, alpha=0.55, label=name)
    axes.set(xlabel="distance", ylabel="density")
    axes.legend()
    return axes


def recall_cost(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    *,
    cost: str = "microseconds per query",
    axes: Axes | None = None,
) -> Axes:
    """Plot cost on a logarithmic scale against recall, one curve per name.

    Parameters
    ----------
    curves : mapping of name to (recall, cost) pairs
        Recall from 0 to 1, cost above 0; in any order.
    cost : str, default="microseconds per query"
        Label of the cost axis.
    axes : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    MissingExtraError
        Without matplotlib.
    ParameterError
        A recall or a cost out of range.

    Examples
    --------
    >>> from nearkin.plot import recall_cost
    >>> axes = recall_cost({"codes": [(0.9, 120.0), (0.99, 300.0)], "brute force": [(1.0, 750.0)]})
    >>> axes.get_yscale()
    'log'
    """
    axes = _get_axes(axes)
    for name, points in curves.items():
        ordered = sorted(points)
        for recall, value in ordered:
            if not (0 <= recall <= 1 and 0 < value < float("inf")):
                raise bad_parameter("curves", f"{(recall, value)} of {name!r}", "recalls from 0 to 1, costs above 0")
        axes.plot([recall for recall, _ in ordered], [value for _, value in ordered], marker="o", label=name)
    axes.set(xlabel="recall", ylabel=cost)
    axes.set_yscale("log")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    return axes
