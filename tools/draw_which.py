"""Draw docs/img/which.svg: inputs, questions, and the tool for each.

Run: `python tools/draw_which.py docs/img/which.svg`. Uses only the standard library; each run writes the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

WIDTH, LEFT, ROW, BOX = 920, 8, 44, 34
COLUMNS = ((8, 150), (196, 384), (618, 294))
"""Left edge and width of the boxes of each column."""

KINDS: dict[str, list[tuple[str, str]]] = {
    "texts": [
        ("which of them are near-duplicates?", "nk.dedup"),
        ("is a new text a duplicate?", "nk.Store, nearkin serve"),
        ("which known texts do they contain?", "nk.contains"),
        ("which passages do they share?", "nk.passages, nk.repeats"),
        ("hashes for a search of my own", "nk.fingerprint + HammingIndex"),
        ("at a threshold below 0.6", 'family "minhash"'),
    ],
    "binary files": [
        ("which are similar?", "nk.dedup_files, DigestIndex"),
        ("how similar are two?", "nk.ssdeep.compare"),
    ],
    "vectors": [
        ("fewer than 10,000", "a matrix product"),
        ("the nearest of up to millions", 'LSHIndex, rank="estimate"'),
        ("near-copies among very many", "LSHIndex, hash tables"),
        ("short codes to store and compare", "nk.families"),
    ],
    "sets": [("which share most members?", "MinHash + BandIndex")],
    "lines, URLs": [("which patterns do they have?", "LogTemplates, UrlPatterns, …")],
}


def box(column: int, top: float, height: float, text: str, style: str) -> str:
    """Draw a box with vertically centred text."""
    left, width = COLUMNS[column]
    return (
        f'<rect x="{left}" y="{top:g}" width="{width}" height="{height:g}" rx="6" class="{style}"/>'
        f'<text x="{left + 12}" y="{top + height / 2 + 5:g}" class="{style}">{text}</text>'
    )


def line(column: int, start: float, end: float) -> str:
    """Draw a curve from the right edge of a column to the left edge of the next."""
    x, y = sum(COLUMNS[column]), COLUMNS[column + 1][0]
    middle = (x + y) / 2
    return f'<path d="M{x} {start:g}C{middle:g} {start:g} {middle:g} {end:g} {y} {end:g}"/>'


def picture() -> str:
    """Return the complete SVG."""
    parts, top = [], 44.0
    for kind, questions in KINDS.items():
        height = ROW * len(questions) - (ROW - BOX)
        middle = top + height / 2
        parts.append(box(0, middle - BOX / 2, BOX, kind, "kind"))
        for number, (question, answer) in enumerate(questions):
            y = top + ROW * number
            parts += [box(1, y, BOX, question, "question"), box(2, y, BOX, answer, "answer")]
            parts += [line(0, middle, y + BOX / 2), line(1, y + BOX / 2, y + BOX / 2)]
        top += height + 24
    heads = ("input", "question", "tool")
    titles = "".join(
        f'<text x="{left + 12}" y="28" class="head">{head}</text>'
        for (left, _), head in zip(COLUMNS, heads, strict=True)
    )
    name = "Inputs, questions and the tool for each: texts, files, vectors, sets, lines"
    style = (
        "text{font:15px sans-serif;fill:#1f2933}.head{font-weight:bold;fill:#5a6672}path{fill:none;stroke:#9aa5b1;"
        "stroke-width:1.5}rect.kind{fill:#0f766e}text.kind{fill:#fff;font-weight:bold}rect.question{fill:#f1f5f4;"
        "stroke:#c3d0cd}rect.answer{fill:#fdf3d8;stroke:#e5c878}text.answer{font-family:monospace;font-size:14px}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top:g}" role="img" aria-label="{name}">'
        f"<title>{name}</title><style>{style}</style>"
        f'<rect width="{WIDTH}" height="{top:g}" fill="#fff"/>{titles}{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(), encoding="utf-8")
