"""Draw the figures of the guide: docs/img/dedup.svg, minhash.svg, weights.svg, bands.svg, tune.svg and quality.svg.

    python tools/plot_concepts.py docs/img [NAME ...]

Numbers are computed on the sample corpus (`samples/licences.jsonl.gz`) when the figure is drawn. Needs matplotlib (the
`docs` dependency group).
"""

from __future__ import annotations

import gzip
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import FancyBboxPatch, Rectangle

import nearkin as nk
from drawing import AMBER, BLUE, GREY, PALE, TEAL, panels, write
from nearkin import theory

ROOT = Path(__file__).resolve().parents[1]


@cache
def licences() -> list[str]:
    """Return the texts of the sample corpus."""
    with gzip.open(ROOT / "samples" / "licences.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def dedup() -> Any:
    """Draw the stages, with the number of documents after each on the sample corpus."""
    summary = nk.dedup(licences(), threshold=0.8).summary
    texts, kept = summary["documents"], summary["kept"]
    copies = summary["removed_by_reason"].get("exact", 0)
    matched = round(summary["verified"] * summary["match_rate"])
    stages = (
        ("1 Hash", f"{texts:,}", "fingerprints"),
        ("2 Collapse", f"{texts - copies:,}", "distinct contents"),
        ("3 Search", f"{summary['candidates']:,}", "candidates"),
        ("4 Verify", f"{matched:,}", f"of {summary['verified']:,} verified match"),
        ("5 Cluster, keep", f"{kept:,}", f"kept, {texts - kept:,} removed"),
    )
    figure, panel = panels(1, height=1.75, width=9)
    panel.set_axis_off()
    panel.set(xlim=(0, 50), ylim=(0, 9))
    for number, (name, count, what) in enumerate(stages):
        left = 10 * number + 0.3
        shape = FancyBboxPatch(
            (left, 0.6), 8.5, 7.6, boxstyle="round,pad=0,rounding_size=0.6", facecolor=TEAL, alpha=0.1, edgecolor=TEAL
        )
        panel.add_patch(shape)
        panel.text(left + 4.25, 6.5, name, ha="center", weight="bold", color=TEAL)
        panel.text(left + 4.25, 3.7, count, ha="center", fontsize=15)
        panel.text(left + 4.25, 1.7, what, ha="center", fontsize=8.5, color=GREY)
        if number < 4:
            panel.annotate(
                "", (left + 9.9, 4.4), (left + 8.7, 4.4), arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 1.2}
            )
    return figure, "Five stages of a deduplication, with what is left of 7,053 licence texts after each"


def minhash() -> Any:
    """Draw the features of two texts on the line of hash values, for eight functions."""
    figure, panel = panels(1, height=3.3, width=8.2)
    rng = np.random.default_rng(13)
    shared, left, right = 6, 2, 2
    kinds = ["both"] * shared + ["A alone"] * left + ["B alone"] * right
    colours = {"both": TEAL, "A alone": BLUE, "B alone": AMBER}
    equal = 0
    for row in range(8):
        values = rng.random(len(kinds))
        panel.plot([0, 1], [row, row], color=PALE, linewidth=1, zorder=0)
        for kind, value in zip(kinds, values, strict=True):
            panel.plot(value, row, "o", color=colours[kind], markersize=6)
        smallest = kinds[int(values.argmin())]
        equal += smallest == "both"
        panel.plot(values.min(), row, "o", markersize=13, markerfacecolor="none", color=colours[smallest])
        says = "equal" if smallest == "both" else "differs"
        panel.text(1.03, row, says, va="center", color=colours["both"] if smallest == "both" else GREY)
    for kind, colour in colours.items():
        panel.plot([], [], "o", color=colour, label=f"feature of {kind}" if kind == "both" else f"of {kind}")
    panel.legend(loc="upper center", bbox_to_anchor=(0.45, 1.16), ncols=3)
    panel.set(xlim=(-0.02, 1.16), ylim=(7.6, -0.6), yticks=range(8), xticks=[0, 1], xlabel="hash of a feature")
    panel.set_yticklabels([f"h{'₁₂₃₄₅₆₇₈'[row]}" for row in range(8)])
    panel.grid(visible=False)
    panel.spines["left"].set_visible(False)
    return figure, f"The smallest hash decides: {equal} of 8 values are equal, the Jaccard similarity is 6 of 10"


def weights() -> Any:
    """Draw the words of two reports of one template as a set, and with weights by inverse document frequency."""
    template = "this report contains forward looking statements and risks"
    topics = (
        *("copper mines in chile", "copper mines in peru", "insurance of old ships", "growing tea under glass"),
        *("bridges of cast iron", "songs about moving house", "sheep which like rain", "chess for left handers"),
    )
    reports = [f"{template} {topic}" for topic in topics]
    idf = nk.Idf.fit(reports, "word:1")
    left, right = topics[0].split(), topics[2].split()
    words, kinds = [*template.split(), *left, *right], ["both"] * 8 + ["the first"] * 4 + ["the second"] * 4
    colours = {"both": TEAL, "the first": BLUE, "the second": AMBER}
    weighted = nk.Recipe(f"word:1|idf:{idf.digest}|minhash:128:weighted", idf=idf)
    figure, both = panels(2, height=3.4, width=8.6, sharey=True)
    for panel, name, recipe, heights in zip(
        both,
        ("Set", "Weights"),
        (nk.Recipe("word:1|binary|minhash:128:fast"), weighted),
        ([1.0] * len(words), [idf.value(word) for word in words]),
        strict=True,
    ):
        panel.bar(range(len(words)), heights, width=0.75, color=[colours[kind] for kind in kinds])
        similarity = nk.similarity(reports, [0], [2], recipe=recipe)[0]
        shared, total = sum(heights[:8]), sum(heights)
        panel.set(
            title=f"{name}: {shared:.0f} of {total:.0f} shared, similarity {similarity:.2f}", xticks=range(len(words))
        )
        panel.set_xticklabels(words, rotation=60, ha="right", fontsize=8)
        panel.grid(visible=False, axis="x")
    for kind, colour in colours.items():
        both[0].bar(0, 0, color=colour, label=f"in {kind}")
    both[0].legend(loc="upper left")
    return figure, "Two reports of one template: half of their words are shared, but less than a third of the weight"


def bands() -> Any:
    """Draw two signatures cut into bands, one of them equal."""
    figure, panel = panels(1, height=1.7, width=8.6)
    panel.set_axis_off()
    panel.set(xlim=(-3.4, 34.3), ylim=(-1.6, 3.6))
    rng = np.random.default_rng(3)
    same = rng.random(32) < 0.72
    same[12:16], same[5], same[18], same[25], same[30], same[2], same[9] = True, *[False] * 6
    for at in range(32):
        x = at + at // 4 * 0.25
        for row in range(2):
            face = TEAL if same[at] else (PALE if row else "#e8c07d")
            panel.add_patch(Rectangle((x, row * 1.3 + 0.3), 0.86, 1, facecolor=face))
    start = 12 + 3 * 0.25
    panel.add_patch(Rectangle((start - 0.12, 0.15), 4.1, 2.6, fill=False, edgecolor=AMBER, linewidth=2))
    panel.text(start + 2, -0.75, "equal in the whole band: a candidate", ha="center", color=AMBER)
    panel.text(-3.1, 1.95, "signature a", va="center", fontsize=9)
    panel.text(-3.1, 0.75, "signature b", va="center", fontsize=9)
    panel.text(0, 3.15, "8 bands of 4 rows; dark values are equal", fontsize=9, color=GREY)
    return figure, "Two signatures of 32 values in eight bands of four, of which one is equal"


def tune() -> Any:
    """Draw recall, its interval and candidates by radius, as `nk.tune` measures them on part of the sample corpus."""
    tuned = nk.tune(licences()[::5], threshold=0.8, recall=0.99, bits=[128])
    rows = [row for row in tuned.curve.rows() if 6 <= row["radius"] <= 48]
    radius = [row["radius"] for row in rows]
    figure, (recall, cost) = panels(2)
    recall.fill_between(
        radius, [row["recall_low"] for row in rows], [row["recall_high"] for row in rows], color=TEAL, alpha=0.2, lw=0
    )
    recall.plot(radius, [row["recall"] for row in rows])
    recall.axhline(0.99, color=GREY, linestyle=":")
    advised = next(iter(tuned.settings.rows()))["radius"]
    for panel in (recall, cost):
        panel.axvline(advised, color=AMBER, linestyle="--")
        panel.set_xlabel("radius, of 128 bits")
    recall.set(ylim=(0, 1.03), title="Recall of pairs of 0.8 and more, with its interval")
    recall.text(advised + 0.6, 0.05, f"advised: {advised}", color=AMBER)
    cost.semilogy(radius, [row["candidates_per_document"] for row in rows])
    cost.set(title="Candidates per document")
    return figure, "Recall and candidates by radius, measured on every fifth licence text; the advised radius"


def quality() -> Any:
    """Draw distance and similarity of pairs of the sample corpus, with the law."""
    texts = licences()
    rng = np.random.default_rng(5)
    prints = nk.fingerprint(texts, "char:4|binary|xxh3|simhash:128")
    index = nk.HammingIndex(bits=128)
    index.add(None, prints)
    pairs = index.pairs(52)
    left, right = np.asarray(pairs.left), np.asarray(pairs.right)
    drawn = rng.choice(len(left), 6000, replace=False)
    alike = nk.similarity(texts, left[drawn].tolist(), right[drawn].tolist(), recipe="char:4|binary|xxh3|simhash:128")
    apart = np.asarray(pairs.distances)[drawn]
    keep: list[int] = []
    for low in np.arange(0.45, 1.0, 0.05):  # the same number of pairs per similarity
        keep.extend(np.flatnonzero((alike >= low) & (alike < low + 0.05))[:30])
    figure, panel = panels(1, height=3.6, width=7)
    similarity = np.linspace(0.45, 1, 56)
    p = np.array([theory.simhash_difference(float(j)) for j in similarity])
    middle, spread = 128 * p, 2.576 * np.sqrt(128 * p * (1 - p))
    panel.fill_between(
        similarity, middle - spread, middle + spread, color=TEAL, alpha=0.15, lw=0, label="99% by the law"
    )
    panel.plot(similarity, middle, color=TEAL, linewidth=1.2)
    panel.plot(alike[keep], apart[keep], "o", markersize=2.6, color=BLUE, alpha=0.6, label="pairs of licence texts")
    panel.axhline(30, color=AMBER, linestyle="--")
    panel.text(0.455, 30.8, "radius 30", color=AMBER)
    panel.axvline(0.8, color=GREY, linestyle=":")
    panel.text(0.803, 49, "threshold 0.8", color=GREY)
    panel.set(xlabel="Jaccard similarity", ylabel="differing bits of 128", xlim=(0.45, 1.005), ylim=(-1, 54))
    panel.legend(loc="lower left")
    return figure, "Differing bits against similarity: pairs above the threshold lie within the radius"


if __name__ == "__main__":
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    for draw in (dedup, minhash, weights, bands, tune, quality):
        if not wanted or draw.__name__ in wanted:
            figure, title = draw()
            write(figure, folder / f"{draw.__name__}.svg", title)
