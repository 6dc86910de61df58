"""Charts as SVG: curves with intervals, and columns of counts.

Every chart also has its figures as rows, for readers who do not see it. Colours are classes of the page's style sheet,
so they follow light and dark mode.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nearkin.notebook import short
from nearkin.report.model import Chart

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 44, 44
_LETTER = 6.4
"""Average width of a letter of 12 pixels."""
_MAX_COLUMN = 96
_NUM_BINS = 50
"""Number of bins of a similarity from 0 to its maximum."""
_CURVE_CLASSES = (("curve", "point"), ("curve second", "point second"))


@dataclass(frozen=True)
class Point:
    """A point of a curve.

    Attributes
    ----------
    x, y : float
    low, high : float, optional
        Interval of y.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Curve:
    """A named curve."""

    name: str
    points: Sequence[Point]


def draw_curves(
    title: str,
    note: str,
    curves: Sequence[Curve],
    axes: tuple[str, str],
    *,
    mark: tuple[float, str] | None = None,
    level: tuple[float, str] | None = None,
    logarithmic: bool = False,
) -> Chart:
    """Draw one or two curves of proportions, 0 to 1, with their intervals as areas.

    Parameters
    ----------
    title, note : str
    curves : sequence of Curve
        One or two; the second is dashed.
    axes : (str, str)
        Names of the horizontal and the vertical axis.
    mark : (float, str), optional
        A labelled vertical line, at the recommended x.
    level : (float, str), optional
        A labelled horizontal line, at the target.
    logarithmic : bool, default False
        Use a logarithmic scale for x; points with x <= 0 are not drawn.
    """
    drawn = [Curve(curve.name, [point for point in curve.points if point.x > 0 or not logarithmic]) for curve in curves]
    xs = [point.x for curve in drawn for point in curve.points] + ([] if mark is None else [mark[0]])
    to_x, ticks = _log_scale(xs) if logarithmic else _linear_scale(xs)
    bottom = HEIGHT - BOTTOM

    def to_y(proportion: float) -> float:
        return TOP + (bottom - TOP) * (1 - proportion)

    parts = []
    for quarter in range(5):
        y = to_y(quarter / 4)
        parts += [_hline("grid" if quarter else "axis", y), _text(LEFT - 8, y + 4, _percent(quarter / 4), "end")]
    parts += [_text(to_x(value), bottom + 16, name, "middle") for value, name in ticks]
    parts += _axis_names(axes)
    for curve, (line_class, dot_class) in zip(drawn, _CURVE_CLASSES, strict=False):
        parts += _curve_parts(curve, line_class, dot_class, to_x, to_y)
    if level is not None:
        y = to_y(level[0])
        parts += [_hline("threshold", y), _text(LEFT + 6, y + 14, level[1], "start")]
    if mark is not None and (mark[0] > 0 or not logarithmic):
        x = to_x(mark[0])
        on_left = x > WIDTH / 2
        parts.append(_vline("threshold", x, TOP, bottom))
        parts.append(_text(x - 4 if on_left else x + 4, bottom - 6, mark[1], "end" if on_left else "start"))
    if len(curves) > 1:
        names = [(curve.name, line_class) for curve, (line_class, _) in zip(curves, _CURVE_CLASSES, strict=False)]
        parts.append(_legend(names, LEFT + 8 + _LETTER * len(axes[1])))
    columns, rows = _curve_rows(curves, axes[0])
    return Chart(title, note, _svg(title, parts), columns, rows)


def _curve_parts(
    curve: Curve, line_class: str, dot_class: str, to_x: Callable[[float], float], to_y: Callable[[float], float]
) -> list[str]:
    """Return the area of the intervals, the line, and a dot with a tooltip per point."""
    parts = []
    bounds = [(point.x, point.low, point.high) for point in curve.points if None not in (point.low, point.high)]
    if len(bounds) > 1:
        upper = [f"{to_x(x):.1f},{to_y(high or 0.0):.1f}" for x, _, high in bounds]
        lower = [f"{to_x(x):.1f},{to_y(low or 0.0):.1f}" for x, low, _ in reversed(bounds)]
        parts.append(f'<polygon class="band" points="{" ".join(upper + lower)}"/>')
    if len(curve.points) > 1:
        path = " ".join(f"{to_x(point.x):.1f},{to_y(point.y):.1f}" for point in curve.points)
        parts.append(f'<polyline class="{line_class}" points="{path}"/>')
    for point in curve.points:
        tip = f"{curve.name}: {_percent(point.y)} at {point.x:g}"
        if point.low is not None and point.high is not None:
            tip += f", {_percent(point.low)} to {_percent(point.high)}"
        position = f'cx="{to_x(point.x):.1f}" cy="{to_y(point.y):.1f}"'
        parts.append(f'<circle class="{dot_class}" {position} r="2.5"><title>{html.escape(tip)}</title></circle>')
    return parts


def _curve_rows(curves: Sequence[Curve], x_name: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return column names and a row per x: the value of each curve, and its interval if it has one."""
    columns = [x_name]
    cells: dict[float, dict[str, str]] = {}
    for curve in curves:
        columns.append(curve.name)
        columns += [f"{curve.name}, interval"] if any(point.low is not None for point in curve.points) else []
        for point in curve.points:
            row = cells.setdefault(point.x, {})
            row[curve.name] = f"{point.y:.4f}"
            if point.low is not None and point.high is not None:
                row[f"{curve.name}, interval"] = f"{point.low:.4f} to {point.high:.4f}"
    rows = [(f"{x:,.6g}", *(row.get(name, "–") for name in columns[1:])) for x, row in sorted(cells.items())]
    return tuple(columns), rows


def draw_sizes(counts: Mapping[int, int]) -> Chart:
    """Draw the number of clusters by size, one column per power of two, on a logarithmic scale that starts below 1."""
    columns: dict[int, int] = {}
    for size, count in counts.items():
        columns[size.bit_length() - 1] = columns.get(size.bit_length() - 1, 0) + count
    powers = range(min(columns, default=1), max(columns, default=1) + 1)
    names = ["1" if power == 0 else f"{1 << power} to {(2 << power) - 1}" for power in powers]
    bottom, step = HEIGHT - BOTTOM, (WIDTH - LEFT - RIGHT) / len(powers)
    width = min(step - 4, _MAX_COLUMN)
    axes = ("documents of a cluster", "clusters")
    parts, rows = [_hline("axis", bottom), *_axis_names(axes)], []
    for i, (name, power) in enumerate(zip(names, powers, strict=True)):
        count = columns.get(power, 0)
        rows.append((name, short(count)))
        x, height = LEFT + (i + 0.5) * step, (bottom - TOP) * _log_share(count, max(columns.values(), default=1))
        parts.append(_bar("bar", x - width / 2, bottom - height, width, height, f"{name}: {short(count)}"))
        # More than ten names would overlap: every second one is drawn.
        if len(powers) <= 10 or i % 2 == 0:
            parts.append(_text(x, bottom + 16, name, "middle"))
        if count:
            parts.append(_text(x, bottom - height - 4, short(count), "middle"))
    note = "Counts are on a logarithmic scale."
    if columns.get(0):
        note += " A cluster of 1 is a document that was removed for one of the reference corpus."
    return Chart("Clusters by size", note, _svg("Clusters by size", parts), axes, rows)


def draw_overlap(names: Sequence[str], clusters: Sequence[Sequence[int]]) -> Chart:
    """Draw which sources share clusters: a square for each two, its area the share of the clusters of the row's source.

    `clusters[i][j]` is the number that sources i and j share, on the diagonal that of all clusters of a source.
    """
    left, cell = LEFT + 160, 26
    parts, rows = [], []
    for i, (name, counts) in enumerate(zip(names, clusters, strict=True)):
        middle = TOP + (i + 0.5) * cell
        parts.append(_text(left - 8, middle + 4, f"{name[:24]}, {i + 1}", "end"))
        parts.append(_text(left + (i + 0.5) * cell, TOP - 8, str(i + 1), "middle"))
        for j, count in enumerate(counts):
            share = count / max(counts[i], 1)
            side = (cell - 4) * math.sqrt(share)
            tip = f"{names[j]} has {_percent(share)} of {name}: {count:,}"
            parts.append(_bar("bar", left + (j + 0.5) * cell - side / 2, middle - side / 2, side, side, tip))
            if count and i != j:
                rows.append((name, names[j], f"{count:,}", _percent(share)))
    title, note = (
        "Overlap of sources",
        "A square is the share of the row's documents, duplicates once, that the column has.",
    )
    columns = ("source", "other source", "shared", "share of the source")
    return Chart(title, note, _svg(title, parts, TOP + len(names) * cell + 8), columns, rows)


def draw_similarities(
    removed: npt.NDArray[np.float64],
    missed: npt.NDArray[np.float64],
    weight: float,
    threshold: float,
    recall: Sequence[tuple[float, float]],
    scale: float,
) -> Chart:
    """Draw a histogram of the similarities of removed pairs and near misses, with the probability of a candidate.

    Parameters
    ----------
    removed, missed : arrays
        Similarities of removed pairs and of near misses.
    weight : float
        Number of near misses of the run that each represents.
    threshold, scale : float
        The threshold, and the maximum similarity.
    recall : sequence of (similarity, probability)
        Empty if no law is known.
    """
    lowest = min([threshold - 0.2 * scale, *missed.tolist(), *removed.tolist()])
    edges = np.arange(max(0, math.floor(lowest / scale * _NUM_BINS + 1e-9)), _NUM_BINS + 1) / _NUM_BINS * scale
    low = float(edges[0])
    counts = [np.histogram(np.clip(values, low, scale), edges)[0] for values in (removed, missed)]
    top = max(float((counts[0] + counts[1] * weight).max()), 1.0)
    bottom, right = HEIGHT - BOTTOM, WIDTH - LEFT

    def to_x(similarity: float) -> float:
        return LEFT + (similarity - low) / (scale - low) * (right - LEFT)

    parts = [_hline("axis", bottom, right), *_axis_names(("similarity", "pairs"))]
    rows = []
    for start, end, num_removed, num_missed in zip(
        edges[:-1].tolist(), edges[1:].tolist(), counts[0].tolist(), (counts[1] * weight).tolist(), strict=True
    ):
        name = f"{start:g} to {end:g}"
        tip = f"{name}: {num_removed:,.0f} removed, {num_missed:,.0f} kept"
        total = num_removed + num_missed
        height = (bottom - TOP) * _log_share(total, top)
        # Within a column of a logarithmic scale both kinds have their linear share.
        part = height * num_removed / total if total else 0.0
        x, width = to_x(start) + 1, to_x(end) - to_x(start) - 2
        parts.append(_bar("bar near", x, bottom - height, width, height - part, tip))
        parts.append(_bar("bar", x, bottom - part, width, part, tip))
        rows.append((name, f"{num_removed:,.0f}", f"{num_missed:,.0f}"))
    ticks = [tick / 10 * scale for tick in range(11) if tick / 10 * scale >= low - 1e-9]
    parts += [_text(to_x(tick), bottom + 16, f"{tick:g}", "middle") for tick in ticks]
    x = to_x(threshold)
    parts += [_vline("threshold", x, TOP, bottom), _text(x, TOP - 10, f"threshold {threshold:g}", "end")]
    for x, style, name in ((LEFT, "bar", "removed"), (LEFT + 80, "bar near", "kept: near misses")):
        parts += [_bar(style, x, HEIGHT - 14, 9, 9, name), _text(x + 13, HEIGHT - 6, name, "start")]
    note = f"Counts are on a logarithmic scale; the highest column has {top:,.0f}."
    if recall:
        points = " ".join(f"{to_x(s):.1f},{bottom - (bottom - TOP) * p:.1f}" for s, p in recall if s >= low)
        parts.append(f'<polyline class="curve" points="{points}"/>')
        parts += [_text(right + 6, TOP + 8, "100%", "start"), _text(right + 6, bottom, "0%", "start")]
        parts.append(_text(WIDTH - 4, TOP - 10, "probability of a candidate", "end"))
        note += " The line is the probability that a pair of this similarity is a candidate, by the run's parameters."
    title = "Pairs by similarity"
    return Chart(title, note, _svg(title, parts), ("similarity", "removed", "kept, near misses"), rows)


def _log_share(count: float, top: float) -> float:
    """Return the height of a count on a logarithmic scale, which starts below 1."""
    return math.log1p(count) / math.log1p(max(top, 1.0))


def _linear_scale(values: Sequence[float]) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    """Return the function from values to x, and the ticks."""
    first, last = min(values, default=0.0), max(values, default=1.0)
    last = last if last > first else first + 1
    # 1, 2 or 5 times a power of ten.
    power = 10.0 ** math.floor(math.log10((last - first) / 8))
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= (last - first) / 8 * (1 - 1e-9))
    steps = range(math.ceil(first / step - 1e-9), math.floor(last / step + 1e-9) + 1)
    ticks = [(i * step, f"{i * step:g}") for i in steps]
    return (lambda value: LEFT + (WIDTH - LEFT - RIGHT) * (value - first) / (last - first)), ticks


def _log_scale(values: Sequence[float]) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    """Return the function from values to x on a logarithmic scale, and the ticks, two or more."""
    low, high = math.log10(min(values, default=1.0)) - 0.05, math.log10(max(values, default=10.0)) + 0.05
    high = max(high, low + 0.4)
    powers = range(math.floor(low), math.ceil(high) + 1)
    near = [step * 10.0**power for power in powers for step in ((1, 2, 5) if high - low < 3 else (1,))]
    ticks = [(value, f"{value:,.6g}") for value in near if low <= math.log10(value) <= high]
    return (lambda value: LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(value) - low) / (high - low)), ticks


def _axis_names(axes: tuple[str, str]) -> list[str]:
    return [_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, axes[0], "middle"), _text(4, 16, axes[1], "start")]


def _legend(names: Sequence[tuple[str, str]], x: float) -> str:
    """Return names with their lines, on the first line."""
    parts: list[str] = []
    for name, style in names:
        parts.append(f'<polyline class="{style}" points="{x - 8:.1f},12 {x + 14:.1f},12"/>')
        parts.append(_text(x + 19, 16, name, "start"))
        x += 44 + _LETTER * len(name)
    return "".join(parts)


def _svg(title: str, parts: Sequence[str], height: float = HEIGHT) -> str:
    inner = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{html.escape(title)}">{inner}</svg>'


def _hline(style: str, y: float, right: float = WIDTH - RIGHT) -> str:
    return f'<line class="{style}" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'


def _vline(style: str, x: float, top: float, bottom: float) -> str:
    return f'<line class="{style}" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/>'


def _bar(style: str, x: float, y: float, width: float, height: float, tip: str) -> str:
    """Return a bar with a tooltip; nothing if it has no area."""
    if width <= 0 or height <= 0:
        return ""
    box = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.4g}" height="{height:.4g}"'
    return f'<rect class="{style}" {box}><title>{html.escape(tip)}</title></rect>'


def _text(x: float, y: float, text: str, anchor: str, style: str = "") -> str:
    named = f' class="{style}"' if style else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _percent(value: float) -> str:
    return f"{value:.0%}" if value in (0, 0.25, 0.5, 0.75, 1) else f"{value:.1%}"
