"""Pictures of a run, as SVG: plain lines and bars, with the figures as a table for those who don't see them.

Colours are classes of the page's style sheet, so that they follow light and dark.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin.recipe import Recipe
from nearkin.report.model import Chart
from nearkin.theory import banding_probability, simhash_recall

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 56, 26, 40
_WIDEST = 96
"""Width of a bar of few."""
_STEPS = 50
"""Bars from no similarity to full."""


def sizes(counts: Mapping[int, int]) -> Chart:
    """Clusters by size: a bar for each power of two, counts on a logarithmic scale."""
    steps: dict[int, int] = {}
    for size, count in counts.items():
        steps[int(math.log2(size))] = steps.get(int(math.log2(size)), 0) + count
    first, last = min(steps, default=1), max(steps, default=1)
    names = ["1" if step == 0 else f"{1 << step} to {(2 << step) - 1}" for step in range(first, last + 1)]
    values = [steps.get(step, 0) for step in range(first, last + 1)]
    top = max(values, default=1)
    height = HEIGHT - TOP - BOTTOM
    width = (WIDTH - LEFT - RIGHT) / len(values)
    parts = [axis("documents of a cluster", "clusters")]
    for at, (name, value) in enumerate(zip(names, values, strict=True)):
        # A bar of one cluster is seen: the scale begins below it.
        tall = height * math.log1p(value) / math.log1p(top) if value else 0.0
        x = LEFT + at * width
        wide = min(width - 4, _WIDEST)
        parts.append(bar(x + (width - wide) / 2, TOP + height - tall, wide, tall, "bar", f"{name}: {value:,}"))
        # Ten names side by side are read; of more every second one is.
        if len(values) <= 10 or at % 2 == 0:
            parts.append(text(x + width / 2, HEIGHT - 24, name, "middle"))
        if value:
            parts.append(text(x + width / 2, TOP + height - tall - 4, f"{value:,}", "middle"))
    rows = [(name, f"{value:,}") for name, value in zip(names, values, strict=True)]
    note = "Counts are on a logarithmic scale."
    if steps.get(0):
        note += " A cluster of 1 is a document that went for an older one."
    return Chart("Clusters by size", note, svg("Clusters by size", parts), ("documents", "clusters"), rows)


def similarities(
    matched: npt.NDArray[np.float64],
    missed: npt.NDArray[np.float64],
    weight: float,
    threshold: float,
    curve: Sequence[tuple[float, float]],
    scale: float,
) -> Chart:
    """Pairs by similarity, those that were removed on top of near misses, beside the probability that a pair is found.

    Parameters
    ----------
    matched, missed : arrays
        Similarities.
    weight : float
        How many near misses of the run one stands for.
    threshold, scale : float
        Of the similarity, and what it is at most.
    curve : sequence of (similarity, probability)
        Empty where no law is known.
    """
    least = min([threshold - 0.2 * scale, *missed[:].tolist(), *matched.tolist()])
    first = max(0, math.floor(least / scale * _STEPS + 1e-9))
    edges = np.arange(first, _STEPS + 1) / _STEPS * scale
    low = float(edges[0])
    found = np.histogram(np.clip(matched, low, scale), edges)[0]
    near = np.histogram(np.clip(missed, low, scale), edges)[0] * weight
    top = max(float((found + near).max()), 1.0)
    height, width = HEIGHT - TOP - BOTTOM, WIDTH - LEFT - RIGHT

    def x(similarity: float) -> float:
        return LEFT + (similarity - low) / (scale - low) * width

    parts = [axis("similarity", "pairs")]
    rows = []
    for start, end, one, other in zip(edges[:-1], edges[1:], found.tolist(), near.tolist(), strict=True):
        told = f"{start:g} to {end:g}: {one:,.0f} removed, {other:,.0f} kept"
        whole = height * math.log1p(one + other) / math.log1p(top)
        # Within a bar of a logarithmic scale both parts have their share.
        share = whole * one / (one + other) if one + other else 0.0
        wide = x(end) - x(start) - 2
        parts.append(bar(x(start) + 1, TOP + height - whole, wide, whole - share, "bar near", told))
        parts.append(bar(x(start) + 1, TOP + height - share, wide, share, "bar", told))
        rows.append((f"{start:g} to {end:g}", f"{one:,.0f}", f"{other:,.0f}"))
    ticks = [tick / 10 * scale for tick in range(11) if tick / 10 * scale >= low - 1e-9]
    parts += [text(x(tick), HEIGHT - 24, f"{tick:g}", "middle") for tick in ticks]
    at = x(threshold)
    parts.append(f'<line class="threshold" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{TOP + height}"/>')
    parts.append(text(at, TOP - 10, f"threshold {threshold:g}", "end"))
    for place, kind, told in ((LEFT, "bar", "removed"), (LEFT + 80, "bar near", "kept: near misses")):
        parts += [bar(place, HEIGHT - 14, 9, 9, kind, told), text(place + 13, HEIGHT - 6, told, "start")]
    note = f"Counts are on a logarithmic scale; the highest bar has {top:,.0f}."
    if curve:
        points = " ".join(f"{x(s):.1f},{TOP + height * (1 - p):.1f}" for s, p in curve if s >= low)
        parts.append(f'<polyline class="curve" points="{points}"/>')
        parts.append(text(WIDTH - RIGHT + 6, TOP + 8, "100%", "start"))
        parts.append(text(WIDTH - RIGHT + 6, TOP + height, "0%", "start"))
        parts.append(text(WIDTH - 4, TOP - 10, "probability to be found", "end"))
        note += " The line is the probability that a pair of this similarity is looked at, by the run's parameters."
    title = "Pairs by similarity"
    return Chart(title, note, svg(title, parts), ("similarity", "removed", "kept, near misses"), rows)


def promise(summary: Mapping[str, Any]) -> list[tuple[float, float]]:
    """The probability that a pair is found, over its similarity, as the parameters of a run promise it; else empty."""
    if summary.get("expected_recall") is None or summary["verify"] not in ("jaccard", "signature"):
        return []
    points = np.round(np.arange(0.01, 1.0001, 0.01), 2).tolist()
    if "num_bands" in summary:
        return [(s, banding_probability(s, summary["num_bands"], summary["num_rows"])) for s in points]
    if "radius" in summary:
        bits = Recipe.of(summary["recipe"]).bits
        return [(s, simhash_recall(s, bits, summary["radius"])) for s in points]
    return []


def svg(title: str, parts: Sequence[str]) -> str:
    """A picture of its parts."""
    inner = "".join(parts)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(title)}">{inner}</svg>'


def axis(below: str, beside: str) -> str:
    """The ground line, with the names of both axes."""
    bottom = HEIGHT - BOTTOM
    line = f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>'
    return line + text(WIDTH / 2, HEIGHT - 6, below, "middle") + text(4, TOP - 10, beside, "start")


def bar(x: float, y: float, width: float, height: float, kind: str, told: str) -> str:
    """A bar, or nothing where it has no height."""
    if height <= 0:
        return ""
    box = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" height="{height:.1f}"'
    return f'<rect class="{kind}" {box}><title>{html.escape(told)}</title></rect>'


def text(x: float, y: float, words: str, anchor: str) -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


__all__ = [
    "BOTTOM",
    "HEIGHT",
    "LEFT",
    "RIGHT",
    "TOP",
    "WIDTH",
    "axis",
    "bar",
    "promise",
    "similarities",
    "sizes",
    "svg",
    "text",
]
