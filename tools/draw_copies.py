"""Draw docs/img/what-is-a-copy.svg: five pairs of documents as rows of features, with their similarities.

Run: `python tools/draw_copies.py docs/img/what-is-a-copy.svg`. Uses only the standard library; each run writes the same
bytes.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

CELL, GAP, LEFT, TOP, ROW = 22, 4, 170, 26, 96
SHARED, OWN, LINE = "#2f6f9f", "#e8c07d", "#5a5a5a"


@dataclass(frozen=True)
class Pair:
    """A kind of copy: its name, the features of both documents, and a comment."""

    name: str
    first: str
    second: str
    comment: str


PAIRS = (
    Pair("exact", "abcdefghij", "abcdefghij", "equal content"),
    Pair("near", "abcdefghij", "abcdefghix", "Jaccard 9/11: most features of both are shared"),
    Pair("contained", "abcde", "abcdefghijklmnop", "containment 5/5, Jaccard 5/16: one text contains the other"),
    Pair("passage", "abcdefuvwx", "ghijefuvklmn", "both share a part: Jaccard 4/18, containment 4/10"),
    Pair("same letters", "abc1de", "abc2de", "same features, different number: use differ"),
)
"""A letter is a feature; a digit is a number, which is not a feature."""


def cells(features: str, other: str, top: int) -> list[str]:
    """Draw a row of features; those that the other document shares have another colour."""
    drawn = []
    for at, feature in enumerate(features):
        x = LEFT + at * (CELL + GAP)
        fill = SHARED if feature in other else OWN
        drawn.append(f'<rect x="{x}" y="{top}" width="{CELL}" height="{CELL}" rx="3" fill="{fill}"/>')
        if feature.isdigit():
            drawn.append(
                f'<text x="{x + CELL / 2}" y="{top + 16}" text-anchor="middle" class="number">{feature}</text>'
            )
    return drawn


def picture() -> str:
    """Return the complete SVG."""
    height = TOP + ROW * len(PAIRS)
    title = "Five kinds of copies, as features that two documents share"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        "<style>text{font:14px sans-serif;fill:#222}.name{font-weight:bold}.number{font-weight:bold}"
        f".comment{{fill:{LINE}}}</style>",
        f'<rect width="720" height="{height}" fill="#ffffff"/>',
    ]
    for number, pair in enumerate(PAIRS):
        top = TOP + number * ROW
        parts.append(f'<text x="16" y="{top + 28}" class="name">{pair.name}</text>')
        parts += cells(pair.first, pair.second, top) + cells(pair.second, pair.first, top + CELL + GAP)
        parts.append(f'<text x="{LEFT}" y="{top + 2 * (CELL + GAP) + 16}" class="comment">{pair.comment}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(), encoding="utf-8")
