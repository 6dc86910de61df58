"""Pictures of measurements and plans, as SVG: curves with intervals, counts of four kinds, stages one after another.

Colours are classes of the page's style sheet, so that they follow light and dark. Each has its figures as rows, too.
"""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nearkin.notebook import short
from nearkin.report.model import Chart

WIDTH = 720
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 44, 44
_HEIGHT = 260
_LETTER = 6.4
"""Width of a letter of 12 pixels, on average."""
_CURVES = (("curve", "point"), ("curve second", "point second"))
_HUES = ("hue-a", "hue-b", "hue-c", "hue-d")


@dataclass(frozen=True)
class Point:
    """A place of a curve.

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


def curves(
    title: str,
    note: str,
    lines: Sequence[Curve],
    axes: tuple[str, str],
    *,
    mark: tuple[float, str] | None = None,
    level: tuple[float, str] | None = None,
    logarithmic: bool = False,
) -> Chart:
    """One or two curves of shares, 0 to 1, with their intervals as areas.

    Parameters
    ----------
    title, note : str
    lines : sequence of Curve
        One or two; the second one is dashed.
    axes : (str, str)
        What is below, and what is beside.
    mark : (float, str), optional
        A vertical line with words: what is advised.
    level : (float, str), optional
        A horizontal line: what is wanted.
    logarithmic : bool, default False
        Whether the scale of x is logarithmic; places that are not above 0 are left out of the picture.
    """
    shown = [point for line in lines for point in line.points if point.x > 0 or not logarithmic]
    place, ticks = _scale([point.x for point in shown] + ([] if mark is None else [mark[0]]), logarithmic=logarithmic)
    bottom = _HEIGHT - BOTTOM

    def up(share: float) -> float:
        return TOP + (bottom - TOP) * (1 - share)

    parts = [_shares(up), *_below(ticks, place, bottom), _names(axes, _HEIGHT)]
    for line, (kind, dot) in zip(lines, _CURVES, strict=False):
        parts += _drawn(line, kind, dot, place, up, logarithmic=logarithmic)
    if level is not None:
        y = up(level[0])
        parts.append(f'<line class="threshold" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(words(LEFT + 6, y + 14, level[1], "start"))
    if mark is not None and (mark[0] > 0 or not logarithmic):
        x = place(mark[0])
        parts.append(f'<line class="threshold" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>')
        before = x > WIDTH / 2
        parts.append(words(x - 4 if before else x + 4, bottom - 6, mark[1], "end" if before else "start"))
    legend = [(line.name, kind) for line, (kind, _) in zip(lines, _CURVES, strict=False)]
    if len(legend) > 1:
        parts.append(_legend(legend, LEFT + 8 + _long(axes[1])))
    columns, rows = _figures(lines, axes[0])
    return Chart(title, note, picture(title, parts, _HEIGHT), columns, rows)


def _drawn(
    line: Curve,
    kind: str,
    dot: str,
    place: Callable[[float], float],
    up: Callable[[float], float],
    *,
    logarithmic: bool,
) -> list[str]:
    """The area of the intervals, the line, and a point for each place that can be pointed at."""
    points = [point for point in line.points if point.x > 0 or not logarithmic]
    parts = []
    known = [point for point in points if point.low is not None and point.high is not None]
    if len(known) > 1:
        upper = [f"{place(point.x):.1f},{up(point.high or 0.0):.1f}" for point in known]
        lower = [f"{place(point.x):.1f},{up(point.low or 0.0):.1f}" for point in reversed(known)]
        parts.append(f'<polygon class="band" points="{" ".join(upper + lower)}"/>')
    if len(points) > 1:
        path = " ".join(f"{place(point.x):.1f},{up(point.y):.1f}" for point in points)
        parts.append(f'<polyline class="{kind}" points="{path}"/>')
    for point in points:
        told = f"{line.name}: {_share(point.y)} at {point.x:g}"
        if point.low is not None and point.high is not None:
            told += f", {_share(point.low)} to {_share(point.high)}"
        where = f'cx="{place(point.x):.1f}" cy="{up(point.y):.1f}"'
        parts.append(f'<circle class="{dot}" {where} r="2.5"><title>{html.escape(told)}</title></circle>')
    return parts


def _figures(lines: Sequence[Curve], below: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A row for each x; for each curve its share, and its interval where it has one."""
    columns = [below]
    found: dict[float, dict[str, str]] = {}
    for line in lines:
        columns.append(line.name)
        bounds = any(point.low is not None for point in line.points)
        columns += [f"{line.name}, interval"] if bounds else []
        for point in line.points:
            row = found.setdefault(point.x, {})
            row[line.name] = f"{point.y:.4f}"
            if point.low is not None and point.high is not None:
                row[f"{line.name}, interval"] = f"{point.low:.4f} to {point.high:.4f}"
    rows = [(f"{x:,.6g}", *(row.get(name, "–") for name in columns[1:])) for x, row in sorted(found.items())]
    return tuple(columns), rows


def intervals(title: str, note: str, rows: Sequence[tuple[str, float, float | None, float | None]]) -> Chart:
    """Shares with their intervals, one below the other.

    Parameters
    ----------
    rows : sequence of (name, value, low, high)
        NaN for a value that there is not; without bounds it is not known, with bounds there is no case.
    """
    names = max((_long(name) for name, *_ in rows), default=0.0)
    left, right, top, step = names + 20, 70, 12, 28
    bottom = top + step * len(rows)

    def place(share: float) -> float:
        return left + (WIDTH - left - right) * share

    parts = [
        f'<line class="grid" x1="{place(tick / 4):.1f}" x2="{place(tick / 4):.1f}" y1="{top - 8}" y2="{bottom}"/>'
        for tick in range(5)
    ]
    parts += [words(place(tick / 4), bottom + 18, _share(tick / 4), "middle") for tick in range(5)]
    for at, (name, value, low, high) in enumerate(rows):
        y = top + step * at + step / 2
        parts.append(words(8, y + 4, name, "start", "strong"))
        if math.isnan(value):
            parts.append(words(left, y + 4, "not known" if low is None else "no case", "start"))
            continue
        if low is not None and high is not None:
            box = f'x="{place(low):.1f}" y="{y - 6:.1f}" width="{max(place(high) - place(low), 1):.1f}" height="12"'
            parts.append(f'<rect class="band" {box}/>')
        parts.append(f'<circle class="point" cx="{place(value):.1f}" cy="{y:.1f}" r="4"/>')
        parts.append(words(WIDTH - 8, y + 4, f"{value:.3f}", "end", "strong"))
    figures = [
        (name, _number(value), "–" if low is None or high is None else f"{low:.3f} to {high:.3f}")
        for name, value, low, high in rows
    ]
    return Chart(title, note, picture(title, parts, bottom + 34), ("measure", "value", "interval of 95%"), figures)


def stacks(
    title: str, note: str, what: str, kinds: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]]
) -> Chart:
    """Counts of up to four kinds, one bar below the other, each cut into its kinds.

    Parameters
    ----------
    what : str
        What a row is.
    kinds : sequence of str
        Names, for the legend.
    rows : sequence of (name, counts)
    """
    most = max((sum(counts) for _, counts in rows), default=0.0) or 1.0
    left, right, step = max((_long(name) for name, _ in rows), default=0.0) + 20, 86, 26
    height = TOP + step * len(rows) + 12
    parts = [_legend([(name, hue) for name, hue in zip(kinds, _HUES, strict=False)], areas=True)]
    for at, (name, counts) in enumerate(rows):
        y = TOP + step * at
        x = left
        parts.append(words(8, y + 15, name, "start", "strong"))
        for kind, hue, count in zip(kinds, _HUES, counts, strict=False):
            wide = (WIDTH - left - right) * count / most
            parts.append(bar(x, y + 3, wide, 17, hue, f"{name}: {kind} {_count(count)}"))
            x += wide
        parts.append(words(x + 6, y + 15, _count(sum(counts)), "start"))
    figures = [(name, *(_count(count) for count in counts)) for name, counts in rows]
    return Chart(title, note, picture(title, parts, height), (what, *kinds), figures)


def square(title: str, note: str, counts: tuple[float, float, float | None, float | None]) -> Chart:
    """What was found against what is true: four cells, the deeper the more.

    Parameters
    ----------
    counts : (found and true, found and false, missed, neither)
        None for what is not known.
    """
    names = ("found, match", "found, no match", "not found, match", "not found, no match")
    whole = sum(count for count in counts if count is not None) or 1.0
    parts = [words(300, 20, "match", "middle", "strong"), words(520, 20, "no match", "middle", "strong")]
    rows = []
    for at, (name, count) in enumerate(zip(names, counts, strict=True)):
        x, y = 192 + 220 * (at % 2), 32 + 92 * (at // 2)
        if at % 2 == 0:
            parts.append(words(180, y + 48, "found" if at == 0 else "not found", "end", "strong"))
        share = 0.0 if count is None else count / whole
        # Six steps: 0, up to 1%, 5%, 20%, 50% and beyond.
        depth = sum(share > edge for edge in (0.0, 0.01, 0.05, 0.2, 0.5))
        box = f'x="{x}" y="{y}" width="216" height="88" rx="4"'
        parts.append(f'<rect class="cell c{depth}" {box}/>')
        shown = "not known" if count is None else _count(count)
        colour = "deep" if depth > 2 else "strong"
        parts.append(words(x + 108, y + 42, shown, "middle", colour))
        if count is not None:
            parts.append(words(x + 108, y + 62, f"{share:.1%}", "middle", colour))
        rows.append((name, shown, "–" if count is None else f"{share:.1%}"))
    return Chart(title, note, picture(title, parts, 220), ("pairs", "count", "share"), rows)


@dataclass(frozen=True)
class Stage:
    """A stage of a plan.

    Attributes
    ----------
    name : str
        What happens.
    count : str
        How much goes through it.
    cost : str
        What it costs, or how it is done.
    """

    name: str
    count: str
    cost: str


def stages(title: str, note: str, rows: Sequence[Sequence[Stage]]) -> Chart:
    """Stages from left to right, joined by arrows; every row is a plan of its own.

    Parameters
    ----------
    rows : sequence of sequences of Stage
    """
    parts: list[str] = []
    top = 8.0
    for row in rows:
        gap = 22
        wide = (WIDTH - 4 - gap * (len(row) - 1)) / len(row)
        letters = max(8, int((wide - 14) / _LETTER))
        cells = [
            (
                textwrap.wrap(stage.name, letters),
                textwrap.wrap(stage.count, letters) or [""],
                textwrap.wrap(stage.cost, letters),
            )
            for stage in row
        ]
        tall = 18 + 16 * max(sum(len(lines) for lines in cell) for cell in cells)
        for at, cell in enumerate(cells):
            x = 2 + at * (wide + gap)
            parts.append(f'<rect class="box" x="{x:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{tall}" rx="6"/>')
            line = 0
            for lines, colour in zip(cell, ("", "strong", ""), strict=True):
                for text in lines:
                    line += 1
                    parts.append(words(x + wide / 2, top + 6 + 16 * line, text, "middle", colour))
            if at:
                middle, start = top + tall / 2, x - gap + 3
                head = f"M{start:.1f} {middle:.1f}H{x - 4:.1f}m-5 -4l5 4l-5 4"
                parts.append(f'<path class="wire" d="{head}"/>')
        top += tall + 18
    figures = [(stage.name, stage.count, stage.cost) for row in rows for stage in row]
    return Chart(title, note, picture(title, parts, round(top)), ("stage", "how much", "cost"), figures)


def bars(title: str, note: str, what: str, unit: str, rows: Sequence[tuple[str, float, bool]]) -> Chart:
    """Numbers of very different sizes, one bar below the other, on a logarithmic scale.

    Parameters
    ----------
    what, unit : str
        What a row is, and what is counted.
    rows : sequence of (name, number above 0, whether it is the one that was taken)
    """
    known = [number for _, number, _ in rows if number > 0]
    low = math.log10(min(known, default=1.0)) - 0.3
    high = max(math.log10(max(known, default=1.0)), low + 0.6)
    left, right, step = max((_long(name) for name, *_ in rows), default=0.0) + 20, 96, 26
    parts = []
    for at, (name, number, taken) in enumerate(rows):
        y = 8 + step * at
        parts.append(words(8, y + 15, name, "start", "strong" if taken else ""))
        share = (math.log10(number) - low) / (high - low) if number > 0 else 0.0
        wide = (WIDTH - left - right) * share
        parts.append(bar(left, y + 3, wide, 17, "bar" if taken else "bar kept", f"{name}: {_count(number)} {unit}"))
        parts.append(words(left + wide + 6, y + 15, _count(number), "start"))
    figures = [(name, _count(number), "taken" if taken else "") for name, number, taken in rows]
    return Chart(title, note, picture(title, parts, 12 + step * len(rows)), (what, unit, "choice"), figures)


def columns(title: str, note: str, axes: tuple[str, str], rows: Sequence[tuple[str, float]]) -> Chart:
    """Counts side by side, on a logarithmic scale that begins below 1."""
    top = max((count for _, count in rows), default=1.0)
    bottom, wide = _HEIGHT - BOTTOM, (WIDTH - LEFT - RIGHT) / max(len(rows), 1)
    parts = [_ground(bottom), _names(axes, _HEIGHT)]
    for at, (name, count) in enumerate(rows):
        tall = (bottom - TOP) * math.log1p(count) / math.log1p(max(top, 1.0))
        x = LEFT + at * wide
        parts.append(bar(x + 2, bottom - tall, wide - 4, tall, "bar", f"{name}: {_count(count)}"))
        if len(rows) <= 10 or at % 2 == 0:
            parts.append(words(x + wide / 2, bottom + 16, name, "middle"))
        if count:
            parts.append(words(x + wide / 2, bottom - tall - 4, _count(count), "middle"))
    return Chart(title, note, picture(title, parts, _HEIGHT), axes, [(name, _count(count)) for name, count in rows])


def picture(title: str, parts: Sequence[str], height: float) -> str:
    """A picture of its parts."""
    inner = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{html.escape(title)}">{inner}</svg>'


def bar(x: float, y: float, width: float, height: float, kind: str, told: str) -> str:
    """A bar, or nothing where it has no area."""
    if width <= 0 or height <= 0:
        return ""
    box = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {box}><title>{html.escape(told)}</title></rect>'


def words(x: float, y: float, text: str, anchor: str, kind: str = "") -> str:
    """Words at a place."""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _scale(values: Sequence[float], *, logarithmic: bool) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    """Where a value lies between left and right, and the values that are named there."""
    if logarithmic:
        low, high = (math.log10(bound) for bound in (min(values, default=1.0), max(values, default=10.0)))
        # Room at both ends, and two named values at least.
        low, high = low - 0.05, max(high + 0.05, low + 0.35)
        powers = range(math.floor(low), math.ceil(high) + 1)
        near = [step * 10.0**power for power in powers for step in ((1, 2, 5) if high - low < 3 else (1,))]
        ticks = [(value, f"{value:,.6g}") for value in near if low <= math.log10(value) <= high]
        return (lambda value: LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(value) - low) / (high - low)), ticks
    first, last = min(values, default=0.0), max(values, default=1.0)
    last = last if last > first else first + 1
    step = _round_step((last - first) / 8)
    start = math.ceil(first / step - 1e-9)
    ticks = [(at * step, f"{at * step:g}") for at in range(start, math.floor(last / step + 1e-9) + 1)]
    return (lambda value: LEFT + (WIDTH - LEFT - RIGHT) * (value - first) / (last - first)), ticks


def _round_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _shares(up: Callable[[float], float]) -> str:
    """Lines at the quarters of the scale from 0 to 100%."""
    lines = []
    for tick in range(5):
        y = up(tick / 4)
        kind = "grid" if tick else "axis"
        lines.append(f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(words(LEFT - 8, y + 4, _share(tick / 4), "end"))
    return "".join(lines)


def _below(ticks: Sequence[tuple[float, str]], place: Callable[[float], float], bottom: float) -> list[str]:
    return [words(place(value), bottom + 16, name, "middle") for value, name in ticks]


def _ground(bottom: float) -> str:
    return f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'


def _names(axes: tuple[str, str], height: float) -> str:
    return words((LEFT + WIDTH - RIGHT) / 2, height - 6, axes[0], "middle") + words(4, 16, axes[1], "start")


def _legend(names: Sequence[tuple[str, str]], start: float = 8.0, *, areas: bool = False) -> str:
    """Names with their colours, on the first line."""
    parts: list[str] = []
    x = start
    for name, kind in names:
        if areas:
            parts.append(f'<rect class="{kind}" x="{x:.1f}" y="6" width="12" height="12"/>')
        else:
            parts.append(f'<polyline class="{kind}" points="{x - 8:.1f},12 {x + 14:.1f},12"/>')
        parts.append(words(x + 19, 16, name, "start"))
        x += 44 + _long(name)
    return "".join(parts)


def _long(text: str) -> float:
    return _LETTER * len(text)


def _share(value: float) -> str:
    return f"{value:.0%}" if value in (0, 0.25, 0.5, 0.75, 1) else f"{value:.1%}"


def _count(value: float) -> str:
    return short(value)


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


__all__ = [
    "Curve",
    "Point",
    "Stage",
    "bar",
    "bars",
    "columns",
    "curves",
    "intervals",
    "picture",
    "square",
    "stacks",
    "stages",
    "words",
]
