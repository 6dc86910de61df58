"""Draw the figures of the theory pages: docs/theory/*.svg.

    python tools/plot_theory.py docs/theory [NAME ...]

Curves are computed by `nearkin.theory`, and drawings show real functions of a family. Needs matplotlib (the `docs`
dependency group).
"""

from __future__ import annotations

import math
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import FancyBboxPatch

import nearkin as nk
from drawing import AMBER, BLUE, COLOURS, GREY, PALE, RED, TEAL, panels, plain, write
from nearkin import theory


def sensitive() -> Any:
    """Draw the law of hyperplanes, and the two conditions of sensitivity."""
    figure, (law, steps) = panels(2)
    angle = np.linspace(0, 180, 91)
    p = theory.hyperplane(np.cos(np.radians(angle)))
    for panel in (law, steps):
        panel.plot(angle, p)
        panel.set(xlabel="angle between two vectors, degrees", xlim=(0, 180), ylim=(0, 1.02), xticks=range(0, 181, 30))
    law.set(ylabel="probability of an equal hash value", title="The law: all that a family says")
    for low, high, at, words in ((0, 30, 5 / 6, "p₁ = 0.83"), (90, 180, 1 / 2, "p₂ = 0.50")):
        steps.hlines(at, low, high, color=AMBER)
        steps.vlines(high if low == 0 else low, 0, at, color=AMBER, linestyle=":")
        steps.text(low + 4, at - 0.09 if low == 0 else at + 0.03, words, color=AMBER)
    steps.text(32, 0.03, "d₁ = 30°")
    steps.text(92, 0.03, "d₂ = 90°")
    steps.set_title("Sensitivity: two points of it")
    return figure, "The law of random hyperplanes, and the two points of it that sensitivity speaks of"


def amplification() -> Any:
    """Draw the S-curves of AND, OR and their cascades, and the number of tables that ρ requires."""
    figure, (curves, tables) = panels(2, height=3.4)
    p = np.linspace(0, 1, 101)
    either = theory.amplify(p, 1, 4)
    shown = {
        "p itself": p,
        "AND of 4": theory.amplify(p, 4, 1),
        "OR of 4": either,
        "AND of 4, OR of 4": theory.amplify(p, 4, 4),
        "OR, AND, then again": theory.amplify(either**4, 1, 4) ** 4,
    }
    for (name, values), colour in zip(shown.items(), (PALE, *COLOURS), strict=False):
        curves.plot(p, values, color=colour, label=name)
    curves.set(xlabel="p of one function", ylabel="probability of being found", xlim=(0, 1), ylim=(0, 1.02))
    curves.set_title("AND lowers, OR raises, both together bend")
    curves.legend(loc="upper left", fontsize=8.5)
    n = np.logspace(3, 9, 60)
    for exponent in (0.2, 0.35, 0.5, 0.7):
        tables.loglog(n, n**exponent, label=f"ρ = {exponent}")
    tables.set(xlabel="vectors n", ylabel="tables, n to the power of ρ", title="What ρ says")
    tables.minorticks_off()
    tables.legend(loc="upper left", fontsize=8.5)
    return figure, "S-curves of AND, OR and cascades, and the number of tables as n grows"


def bands() -> Any:
    """Draw bands and rows of 128 values, and recall at the threshold against false candidates below it."""
    figure, (curves, choice) = panels(2, height=3.4)
    s = np.linspace(0, 1, 121)
    for number, rows in ((64, 2), (32, 4), (13, 7), (8, 16)):
        curves.plot(s, theory.amplify(s, rows, number), label=f"{number} bands of {rows}")
    curves.axvline(0.8, color=GREY, linestyle=":")
    curves.text(0.82, 0.03, "0.8", color=GREY)
    curves.set(xlabel="Jaccard similarity", ylabel="probability of a shared band", xlim=(0, 1), ylim=(0, 1.02))
    curves.set_title("Bands of 128 values")
    curves.legend(loc="upper left", fontsize=8.5)

    def shares(rows: int, number: int) -> tuple[float, float]:
        return float(theory.amplify(0.8, rows, number)), float(theory.amplify(s, rows, number)[s < 0.8].mean())

    points = [shares(rows, 128 // rows) for rows in range(1, 33)]
    choice.plot(*zip(*points, strict=True), "o-", color=TEAL, markersize=3.5)
    chosen = theory.choose_bands(0.8, 0.95, 128)
    at = shares(chosen.num_rows, chosen.num_bands)
    choice.plot(*at, "o", color=AMBER, markersize=8)
    choice.annotate(
        f"choose_bands(0.8, 0.95, 128):\n{chosen.num_bands} bands of {chosen.num_rows}",
        at,
        xytext=(0.2, 0.3),
        arrowprops={"arrowstyle": "-", "color": AMBER},
        color=AMBER,
    )
    choice.axvline(0.95, color=GREY, linestyle=":")
    choice.set(xlabel="found at the threshold", ylabel="found below it, on average", xlim=(0, 1.02), ylim=(0, 1))
    choice.set_title("All bands of 1 to 32 rows")
    return figure, "The S-curves of four choices of bands, and recall at the threshold against candidates below it"


def differing(a: Any, b: Any) -> Any:
    """Return the number of bits in which each code of `a` differs from the code of `b` in the same row."""
    return np.unpackbits((a ^ b).view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)


WORKED = np.array([[1, -1], [3, -1], [-2, 3], [-3, -1]], float)
"""Normals of the worked example."""


def simhash() -> Any:
    """Draw the worked matrix, with four lines and two vectors, and distances of codes against angles."""
    figure, (drawn, counted) = panels(2, height=3.6)
    drawn.set_aspect("equal")
    drawn.grid(visible=False)
    drawn.set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), xticks=[], yticks=[])
    for side in drawn.spines.values():
        side.set_visible(False)
    for number, normal in enumerate(WORKED):
        along = np.array([-normal[1], normal[0]]) / np.hypot(*normal)
        drawn.plot(*np.outer(along, [-3.1, 3.1]), color=PALE, linewidth=1.2)
        tip = normal / np.hypot(*normal) * 1.1
        drawn.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": GREY})
        drawn.text(*(tip * 1.22), f"r{'₁₂₃₄'[number]}", color=GREY, ha="center", va="center")
    for name, vector, colour, code in (("x", (2.4, 1.2), TEAL, "1100"), ("y", (1.2, 2.4), AMBER, "0110")):
        drawn.annotate("", vector, (0, 0), arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 2})
        drawn.text(vector[0] + 0.1, vector[1] + 0.1, f"{name}: {code}", color=colour, weight="bold")
    drawn.set_title("Two of four lines pass between x and y")
    rng = np.random.default_rng(3)
    degrees = rng.uniform(0, 180, 150)
    base = rng.standard_normal((150, 24))
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    other = rng.standard_normal((150, 24))
    other -= (other * base).sum(1, keepdims=True) * base
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    turned = np.cos(np.radians(degrees))[:, None] * base + np.sin(np.radians(degrees))[:, None] * other
    family = nk.families.Hyperplane(bits=128, seed=1).fit(base)
    distance = differing(family.transform(base), family.transform(turned))
    counted.plot(degrees, distance, "o", markersize=3, alpha=0.7)
    counted.plot([0, 180], [0, 128], color=AMBER, label="128 · θ / π")
    counted.set(xlabel="angle, degrees", ylabel="differing bits of 128", xlim=(0, 180), xticks=range(0, 181, 30))
    counted.set_title("150 pairs of vectors")
    counted.legend(loc="upper left")
    return figure, "Four lines cut the plane; the Hamming distance of codes estimates the angle"


def pstable() -> Any:
    """Draw the law by width, and ρ by width."""
    figure, (law, exponent) = panels(2)
    distance = np.linspace(0, 10, 101)
    for width in (1.0, 2.0, 4.0, 8.0):
        law.plot(distance, theory.pstable(distance, width=width), label=f"w = {width:g}")
    law.set(xlabel="L2 distance", ylabel="probability of the same cell", xlim=(0, 10), ylim=(0, 1.02))
    law.set_title("Wide cells hold more, near and far")
    law.legend()
    widths = np.linspace(0.5, 12, 70)
    for metric, colour in (("l2", TEAL), ("l1", AMBER)):
        values = [theory.rho(*map(float, theory.pstable([1.0, 2.0], metric, width=w))) for w in widths]
        exponent.plot(widths, values, color=colour, label=metric.upper())
    exponent.axhline(0.5, color=GREY, linestyle=":")
    exponent.text(11.9, 0.505, "1 / c", ha="right", color=GREY)
    exponent.set(xlabel="w, in units of the near distance", ylabel="ρ for c = 2", title="What the width does to ρ")
    exponent.legend()
    return figure, "The law of p-stable functions for four widths, and rho as the width grows"


def spherical() -> Any:
    """Draw a ball and three lines, and the number of regions of both."""
    figure, (lines, ball, count) = panels(3, height=2.9, width=9)
    plain(lines, ball)
    rng = np.random.default_rng(5)
    points = rng.standard_normal((60, 2)) * 0.45
    for panel in (lines, ball):
        panel.plot(*points.T, "o", markersize=2.2, color=GREY)
        panel.set(xlim=(-2.4, 2.4), ylim=(-2.2, 2.4))
    for turn in (90, 210, 330):
        normal = np.array([math.cos(math.radians(turn)), math.sin(math.radians(turn))])
        along = np.array([-normal[1], normal[0]])
        lines.plot(*((-normal)[:, None] + np.outer(along, [-2.6, 2.6])), color=AMBER)
    corner = np.array([[math.cos(math.radians(t)), math.sin(math.radians(t))] for t in (90, 210, 330)]) * 2
    lines.fill(*corner.T, color=AMBER, alpha=0.15)
    lines.set_title("d + 1 = 3 lines close a region")
    turn = np.linspace(0, 2 * math.pi, 60)
    ball.plot(1.35 * np.cos(turn), 1.35 * np.sin(turn), color=TEAL)
    ball.fill(1.35 * np.cos(turn), 1.35 * np.sin(turn), color=TEAL, alpha=0.15)
    ball.set_title("One ball does")
    c = np.arange(1, 11)
    for name, of, colour in (("balls", theory.ball_regions, TEAL), ("lines", theory.plane_regions, AMBER)):
        count.plot(c, [of(int(i), 2) for i in c], "o-", markersize=3, color=colour, label=name)
    count.set(xlabel="how many, in the plane", ylabel="regions at most", title="Regions")
    count.legend()
    return figure, "Three lines or one ball bound a region; balls make more regions than lines"


def kernels() -> Any:
    """Draw the kernel by distance, and its estimates by hash functions."""
    figure, (values, agree) = panels(2)
    distance = np.linspace(0, 4, 81)
    kernel = np.exp(-(distance**2) / 2)
    values.plot(distance, kernel, label="kernel exp(−d²/2)")
    values.plot(distance, theory.shift_invariant(distance), label="bits agree, ShiftInvariant")
    values.set(xlabel="L2 distance", xlim=(0, 4), ylim=(0, 1.02), title="A kernel, and bits that follow it")
    values.legend()
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 8))
    Y = X + rng.uniform(0.02, 1.3, (120, 1)) * rng.standard_normal((120, 8))
    true = np.exp(-((X - Y) ** 2).sum(1) / 2)
    bits = nk.families.ShiftInvariant(bits=256, gamma=1.0, seed=1).fit(X)
    share = 1 - differing(bits.transform(X), bits.transform(Y)) / 256
    agree.plot(true, share, "o", markersize=3, alpha=0.7, label="share of 256 equal bits")
    features = nk.families.RandomFourier(features=256, gamma=1.0, seed=1).fit(X)
    products = (features.transform(X) * features.transform(Y)).sum(1)
    agree.plot(true, products, "x", markersize=3.5, color=BLUE, label="product of 256 Fourier features")
    agree.plot([0, 1], [0, 1], color=BLUE, linewidth=1)
    order = np.argsort(true)
    law = theory.shift_invariant(np.sqrt(-2 * np.log(true)))
    agree.plot(true[order], law[order], color=TEAL, linewidth=1)
    agree.set(xlabel="kernel of a pair", ylabel="estimate", title="120 pairs, lines are the laws", ylim=(-0.2, 1.05))
    agree.legend(fontsize=8.5)
    return figure, "Bits and Fourier features whose agreement follows a Gaussian kernel"


def slaney() -> Any:
    """Draw distances of neighbours and of random pairs, and the cost of an index by width."""
    near, others = profile()
    figure, (both, costs) = panels(2)
    bins = np.linspace(0, 14, 57)
    for name, sample, colour in (("to the nearest neighbour", near, TEAL), ("to any vector", others, AMBER)):
        both.hist(sample, bins, density=True, color=colour, alpha=0.6, label=name)
    both.set(xlabel="L2 distance", yticks=[], title="The two profiles of the data")
    both.legend()
    n = 100_000
    widths = np.geomspace(2, 60, 90)
    cost, k = [], []
    for width in widths:
        p = float(theory.pstable(near, width=width).mean())
        p_any = float(theory.pstable(others, width=width).mean())
        hashes = max(1, round(math.log(n) / -math.log(p_any)))
        tables = 1 / p**hashes
        k.append(hashes)
        cost.append(tables + tables * n * p_any**hashes)
    costs.loglog(widths, cost, label="cost of a query")
    costs.loglog(widths, k, color=GREY, label="hashes per table")
    tuning = theory.slaney(near, others, n)
    costs.plot(tuning.width, tuning.cost, "o", color=AMBER, markersize=7)
    costs.annotate(
        f"w = {tuning.width:.1f}: {tuning.num_tables} tables\nof {tuning.hashes_per_table} hashes",
        (tuning.width, tuning.cost),
        xytext=(13, tuning.cost * 4),
        arrowprops={"arrowstyle": "-", "color": AMBER},
        color=AMBER,
    )
    costs.set(
        xlabel="width w", title="Cost by width, recall 63%", xticks=[2, 5, 10, 20, 50], xticklabels=[2, 5, 10, 20, 50]
    )
    costs.minorticks_off()
    costs.legend(loc="upper left", bbox_to_anchor=(0.12, 1))
    return figure, "Profiles of distances, and the cost of an index as the width of cells grows"


def profile() -> tuple[Any, Any]:
    """Return the data of the page: 20,000 vectors in 200 groups."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((200, 24)) * 1.5
    X = np.repeat(centres, 100, axis=0) + 0.35 * rng.standard_normal((20_000, 24))
    near, others = theory.sample_distances(X, queries=200)
    return near, others


def ssdeep() -> Any:
    """Draw the digest of Hello, World! step by step: rolling sums, reset points, characters."""
    figure, panel = panels(1, height=2.5)
    panel.set_axis_off()
    data = b"Hello, World!\n"
    steps = nk.explain(data, "ssdeep").to_dict()
    part = steps["parts"][0]["pieces"]
    panel.set(xlim=(-1.4, len(data) + 0.2), ylim=(-2.2, 2.4))
    for at, byte in enumerate(data):
        name = chr(byte) if 32 < byte < 127 else {32: "␣", 10: "↵"}[byte]
        panel.text(at + 0.5, 1.6, name, ha="center", va="center", family="monospace", fontsize=15)
        panel.text(at + 0.5, 0.95, f"{byte}", ha="center", va="center", color=GREY, fontsize=8)
    for number, piece in enumerate(part):
        colour = COLOURS[number % 4]
        start, end = piece["start"], piece["end"]
        panel.add_patch(
            FancyBboxPatch(
                (start + 0.08, 0.62),
                end - start - 0.16,
                1.5,
                boxstyle="round,pad=0,rounding_size=0.12",
                facecolor=colour,
                alpha=0.15,
                edgecolor=colour,
            )
        )
        panel.text(
            (start + end) / 2, -1.35, piece["character"], ha="center", family="monospace", fontsize=17, color=colour
        )
        panel.text((start + end) / 2, -0.55, f"{piece['hash']}", ha="center", color=colour, fontsize=9)
        if not piece["tail"]:
            panel.annotate(
                "cut",
                (end - 0.04, 0.62),
                (end - 0.04, 0.1),
                ha="center",
                fontsize=8,
                color=RED,
                arrowprops={"arrowstyle": "-", "color": RED},
            )
    for y, words in ((1.6, "bytes"), (-0.55, "hash"), (-1.35, "letter")):
        panel.text(-1.35, y, words, va="center", color=GREY, fontsize=9)
    panel.text(-1.35, -2.1, f"digest  {steps['digest']}", family="monospace", fontsize=11)
    return figure, "Hello, World! cut into five pieces, each with its hash and letter"


def manku() -> Any:
    """Draw the bits of the key in each table, for the four configurations of the paper."""
    figure, axes = panels(4, height=4.2, width=9, gridspec_kw={"width_ratios": [1, 1, 1, 1]})
    for panel, splits in zip(axes, ([4], [5], [4, 4], [6]), strict=True):
        rows = keys(64, 3, splits)
        for number, row in enumerate(rows):
            panel.broken_barh([(0, 64)], (number + 0.1, 0.8), facecolors="#eceff1")
            panel.broken_barh(row, (number + 0.1, 0.8), facecolors=TEAL)
        panel.set(xlim=(0, 64), ylim=(len(rows), 0), xticks=[0, 32, 64], yticks=[])
        panel.grid(visible=False)
        tables = theory.permuted_tables(64, 3, 34, splits)
        blocks = " × ".join(map(str, splits))
        panel.set_title(f"{len(rows)} tables, {blocks} blocks")
        min_keys, max_keys = min(tables.keys), max(tables.keys)
        panel.set_xlabel(f"bits; keys of {min_keys}" + (f" to {max_keys}" if max_keys > min_keys else ""))
    return figure, "Which bits are the key of each table, for 4, 10, 16 and 20 tables"


Stretches = list[tuple[int, int]]
"""Bits by where they start and how many they are."""


def keys(bits: int, radius: int, splits: list[int], free: Stretches | None = None) -> list[Stretches]:
    """Return the bit ranges (start, length) of the key of each table."""
    free = free or [(0, bits)]
    positions = [at for start, length in free for at in range(start, start + length)]
    blocks = [list(part) for part in np.array_split(positions, splits[0])]
    tables: list[Stretches] = []
    for chosen in combinations(range(splits[0]), splits[0] - radius):
        own = [(int(blocks[number][0]), len(blocks[number])) for number in chosen]
        rest = [(int(block[0]), len(block)) for number, block in enumerate(blocks) if number not in chosen]
        below = keys(bits, radius, splits[1:], rest) if len(splits) > 1 else [[]]
        tables += [own + more for more in below]
    return tables


PICTURES = (sensitive, amplification, bands, simhash, pstable, spherical, kernels, slaney, ssdeep, manku)


if __name__ == "__main__":
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    for draw in PICTURES:
        if not wanted or draw.__name__ in wanted:
            figure, title = draw()
            write(figure, folder / f"{draw.__name__}.svg", title)
