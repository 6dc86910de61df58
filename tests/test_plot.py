"""Pictures: what is drawn is what was computed; bad values are refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.plot import distance_histogram, recall_cost, s_curve


def test_s_curves_are_the_formula() -> None:
    x = np.linspace(0, 1, 11)
    family = nk.families.Hyperplane()
    axes = s_curve(family, x, tables=[(4, 3)])
    p = np.asarray(family.collision_probability(x))
    assert np.allclose(1 - (1 - p**4) ** 3, axes.get_lines()[0].get_ydata())
    assert "cosine similarity" == axes.get_xlabel()


def test_histograms_share_their_edges() -> None:
    axes = distance_histogram({"a": [0.0, 1.0], "b": [2.0, 4.0]}, bins=4)
    assert ["a", "b"] == [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[union-attr]
    assert 8 == len(axes.patches)
    assert (0.0, 4.0) == (axes.patches[0].get_x(), axes.patches[-1].get_x() + axes.patches[-1].get_width())  # type: ignore[attr-defined]


def test_curves_go_by_recall_into_given_axes() -> None:
    mine = Figure().subplots()
    axes = recall_cost({"x": [(0.9, 2.0), (0.5, 1.0)]}, cost="probes", axes=mine)
    assert axes is mine
    assert [0.5, 0.9] == list(axes.get_lines()[0].get_xdata())  # type: ignore[arg-type]
    assert "probes" == axes.get_ylabel()
    out = io.BytesIO()
    axes.figure.savefig(out, format="png")  # type: ignore[union-attr]
    assert out.getvalue().startswith(b"\x89PNG")


def test_bad_values_are_refused() -> None:
    with pytest.raises(ParameterError):
        distance_histogram({})
    with pytest.raises(ParameterError):
        distance_histogram({"a": [float("nan")]})
    with pytest.raises(ParameterError):
        recall_cost({"a": [(1.5, 2.0)]})
    with pytest.raises(ParameterError):
        recall_cost({"a": [(0.5, 0.0)]})
    with pytest.raises(ParameterError):
        s_curve(nk.families.Hyperplane(), [0.5], tables=[(0, 1)])
