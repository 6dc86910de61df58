"""Plots: curves show the computed values; bad values are rejected."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import nearkin as nk
from nearkin.errors import MissingExtraError, ParameterError
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


def test_every_number_of_tables_is_a_curve_with_its_name() -> None:
    """Curves over similarity or distance have the same values, between 0 and 1."""
    x = np.linspace(0.1, 8, 20)
    family = nk.families.PStable(width=4.0)
    axes = s_curve(family, x, tables=[(1, 1), (8, 2), (300, 1)])
    assert ["k = 1, L = 1", "k = 8, L = 2", "k = 300, L = 1"] == [str(line.get_label()) for line in axes.get_lines()]
    assert ("l2 distance", "probability of being found") == (axes.get_xlabel(), axes.get_ylabel())
    for line, (k, tables) in zip(axes.get_lines(), [(1, 1), (8, 2), (300, 1)], strict=True):
        assert x.tolist() == np.asarray(line.get_xdata()).tolist()
        result = np.asarray(line.get_ydata())
        assert np.allclose(nk.theory.amplify(family.collision_probability(x), k, tables), result)
        assert ((result >= 0) & (result <= 1)).all()
    assert (-0.02, 1.02) == axes.get_ylim()
    assert "kernel" == s_curve(nk.families.KernelLSH(), np.linspace(0, 1, 5)).get_xlabel()


@pytest.mark.parametrize("values", [[1.0, 1.0], [0.0, 0.5, 0.5, 3.0], [7.0]])
def test_histograms_have_the_area_one(values: list[float]) -> None:
    """Equal distances are no exception."""
    axes = distance_histogram({"a": values}, bins=7)
    bars = [(patch.get_width(), patch.get_height()) for patch in axes.patches]  # type: ignore[attr-defined]
    assert 7 == len(bars)
    assert sum(width * height for width, height in bars) == pytest.approx(1.0)
    assert ("distance", "density") == (axes.get_xlabel(), axes.get_ylabel())


def test_costs_are_on_a_logarithmic_scale_with_a_name_for_each_curve() -> None:
    axes = recall_cost({"codes": [(0.99, 300.0), (0.9, 120.0)], "tables": [(1.0, 750.0)]})
    assert "log" == axes.get_yscale()
    assert "recall" == axes.get_xlabel()
    assert ["codes", "tables"] == [text.get_text() for text in axes.get_legend().get_texts()]  # type: ignore[union-attr]
    assert [[120.0, 300.0], [750.0]] == [np.asarray(line.get_ydata()).tolist() for line in axes.get_lines()]


def test_more_is_drawn_into_the_same_axes() -> None:
    """Existing curves are kept."""
    mine = Figure().subplots()
    s_curve(nk.families.Hyperplane(), [0.0, 1.0], axes=mine)
    s_curve(nk.families.Hyperplane(), [0.0, 1.0], tables=[(2, 2)], axes=mine)
    assert 2 == len(mine.get_lines())


def test_families_without_a_law_are_refused() -> None:
    with pytest.raises(ParameterError, match="variance"):
        s_curve(nk.families.RandomFourier(), [0.5])
    with pytest.raises(ParameterError, match="bins"):
        distance_histogram({"a": [1.0]}, bins=0)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"\.\[plot\]") as error:
        recall_cost({"a": [(0.5, 1.0)]})
    assert ("plot", "matplotlib") == (error.value.extra, error.value.package)
