"""Charts of measurements and plans: positions of their elements, and plain SVG."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from nearkin.report.charts import (
    Curve,
    Point,
    draw_curves,
    draw_overlap,
    draw_sizes,
)
from nearkin.report.model import Chart

HOSTILE = '"><script>alert(1)</script>'


def parse_chart(chart: Chart) -> ElementTree.Element:
    """Parse a chart, and check that it has classes and no references."""
    root = ElementTree.fromstring(chart.svg)  # noqa: S314 - our own
    assert "img" == root.attrib["role"]
    width, height = (float(each) for each in root.attrib["viewBox"].split()[2:])
    for element in root.iter():
        assert not {"style", "href", "onclick", "fill", "stroke"} & element.attrib.keys()
        assert element.tag in {"svg", "g", "line", "polyline", "polygon", "rect", "circle", "text", "title", "path"}
        for name, most in (("x", width), ("cx", width), ("x2", width), ("y", height), ("cy", height), ("y2", height)):
            if name in element.attrib:
                assert -0.5 <= float(element.attrib[name]) <= most + 0.5, (element.tag, element.attrib)
    assert all(chart.columns)
    assert all(len(row) == len(chart.columns) for row in chart.rows)
    return root


def positions(root: ElementTree.Element, kind: str, tag: str = "circle") -> list[tuple[float, float]]:
    """Return the positions of the elements of a class."""
    names = ("cx", "cy") if tag == "circle" else ("x", "y")
    return [
        (float(each.attrib[names[0]]), float(each.attrib[names[1]]))
        for each in root.iter(tag)
        if each.attrib.get("class") == kind
    ]


def test_curves_are_linear_in_their_values() -> None:
    """0 is at the bottom, 1 at the top, and the smallest x at the left."""
    points = [Point(float(x), x / 10, max(0.0, x / 10 - 0.1), min(1.0, x / 10 + 0.1)) for x in range(11)]
    chart = draw_curves("Recall", "A note.", [Curve("recall", points)], ("radius", "share"), mark=(5, "radius 5"))
    root = parse_chart(chart)
    found = positions(root, "point")
    assert (56.0, 216.0) == found[0]
    assert (696.0, 44.0) == found[-1]
    steps = {(round(b[0] - a[0], 1), round(b[1] - a[1], 1)) for a, b in pairwise(found)}
    assert {(64.0, -17.2)} == steps
    [mark] = [each for each in root.iter("line") if each.attrib["class"] == "threshold"]
    assert "376.0" == mark.attrib["x1"] == mark.attrib["x2"]
    assert ("radius", "recall", "recall, interval") == chart.columns
    assert ("5", "0.5000", "0.4000 to 0.6000") == chart.rows[5]
    [area] = [each for each in root.iter("polygon") if each.attrib["class"] == "band"]
    assert 22 == len(area.attrib["points"].split())
    assert "radius 5" in chart.svg


def test_curves_are_distinguishable() -> None:
    """The second is dashed and has points of its own, and both are named; missing values are dashes."""
    lines = [Curve("recall", [Point(1, 0.5), Point(2, 0.75)]), Curve("precision", [Point(2, 1.0)])]
    chart = draw_curves("Both", "", lines, ("radius", "share"), level=(0.9, "wanted 0.9"))
    root = parse_chart(chart)
    assert (2, 1) == (len(positions(root, "point")), len(positions(root, "point second")))
    assert {"recall", "precision", "wanted 0.9"} <= {each.text for each in root.iter("text")}
    assert [("1", "0.5000", "–"), ("2", "0.7500", "1.0000")] == chart.rows


@given(xs=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20, unique=True), logarithmic=st.booleans())
def test_any_scale_has_named_values(xs: list[float], *, logarithmic: bool) -> None:
    points = [Point(x, 0.5) for x in sorted(xs)]
    root = parse_chart(draw_curves("", "", [Curve("c", points)], ("x", "y"), logarithmic=logarithmic))
    found = [x for x, _ in positions(root, "point")]
    assert sorted(found) == found
    named = [each for each in root.iter("text") if each.attrib["text-anchor"] == "middle"]
    assert len(named) > 1


def test_a_logarithmic_scale_leaves_out_zero() -> None:
    chart = draw_curves(
        "", "", [Curve("c", [Point(0, 0.1), Point(1, 0.2), Point(100, 0.3)])], ("x", "y"), logarithmic=True
    )
    assert 2 == len(positions(parse_chart(chart), "point"))
    # The table has the value.
    assert ("0", "0.1000") == chart.rows[0]


def test_columns_are_named() -> None:
    chart = draw_sizes({1: 10, 5: 2, 6: 1})
    assert 2 == len(list(parse_chart(chart).iter("rect")))
    assert ("1", "10") == chart.rows[0]


def test_an_overlap_has_a_square_for_each_two_sources_that_share() -> None:
    chart = draw_overlap(["a", "b", HOSTILE], [[4, 1, 0], [1, 2, 0], [0, 0, 1]])
    assert 5 == len(list(parse_chart(chart).iter("rect")))
    assert [("a", "b", "1", "25%"), ("b", "a", "1", "50%")] == chart.rows


def test_what_comes_from_outside_is_escaped() -> None:
    curves = [Curve(HOSTILE, [Point(1, 0.5)])] * 2
    chart = draw_curves(HOSTILE, "", curves, (HOSTILE, HOSTILE), mark=(1, HOSTILE))
    assert "<script" not in chart.svg
    assert re.search(r"&lt;/?script", chart.svg)
    ElementTree.fromstring(chart.svg)  # noqa: S314 - our own
