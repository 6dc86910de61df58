"""Draws `docs/img/house.svg`: the stages of a job and the folders that hold them. Run again when a folder moves."""

from __future__ import annotations

from html import escape
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "docs" / "img" / "house.svg"
WIDTH, MARGIN, GAP = 960, 24, 12
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1c2733 }
  .name { font: 600 14px ui-monospace, monospace } .what { fill: #51606f }
  .title { font: 600 15px system-ui, sans-serif }
  rect { rx: 6px; fill: #eef3f8; stroke: #9db2c6 } .stage rect { fill: #fff4e0; stroke: #d9a441 }
  .door rect { fill: #e8f5ec; stroke: #74b28a } .ground rect { fill: #f3f0f7; stroke: #a89abf }
  line { stroke: #51606f; stroke-width: 1.5; marker-end: url(#arrow) }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .what { fill: #9fb0c0 } rect { fill: #1d2936; stroke: #4a6078 }
    .stage rect { fill: #3a2d12; stroke: #a77d2c } .door rect { fill: #16301f; stroke: #4f8a63 }
    .ground rect { fill: #271f33; stroke: #75668c } line { stroke: #9fb0c0 }
  }
"""
ROWS: list[tuple[str, str, list[tuple[str, str]]]] = [
    (
        "door",
        "Doors: bring batches in, take answers out",
        [("cli/", "the command nearkin"), ("sklearn", "estimators"), ("plot", "pictures")],
    ),
    ("", "Which parameters, and how right a run was", [("quality/", "labels, truth, evaluation, tuning")]),
    (
        "stage",
        "Verify, cluster, keep",
        [
            ("pipeline/candidates/", "what each family proposes"),
            ("pipeline/verify", "true similarity"),
            ("pipeline/cluster", "keep, then absorb"),
            ("pipeline/keep", "which one stays"),
        ],
    ),
    (
        "stage",
        "Search",
        [
            ("search/hamming", "fingerprints, exact"),
            ("search/bands", "signatures"),
            ("search/digests", "fuzzy digests"),
            ("search/lsh/", "vectors"),
        ],
    ),
    (
        "stage",
        "Hash",
        [("text/", "batches, words, IDF"), ("families/", "fingerprints, signatures, codes"), ("ssdeep/", "digests")],
    ),
    (
        "",
        "What all stages use",
        [
            ("recipe/", "how a text is hashed"),
            ("io/", "corpora in, output out"),
            ("vectors/", "rows, projections"),
            ("theory/", "laws, choices"),
        ],
    ),
    (
        "ground",
        "The core in Rust: the same words, thin binding above (nearkin._core)",
        [
            ("cpu · hash", "processor, hashes"),
            ("segment · records", "files, lines"),
            ("vectors · text", "kernels"),
            ("families · ssdeep", "kernels"),
            ("search · pipeline", "kernels"),
        ],
    ),
]
ROW = 92


def main() -> None:
    """Write the picture."""
    parts = []
    for number, (kind, title, rooms) in enumerate(ROWS):
        top = MARGIN + number * ROW
        parts.append(f'<text class="title" x="{MARGIN}" y="{top + 12}">{escape(title)}</text>')
        width = (WIDTH - 2 * MARGIN - GAP * (len(rooms) - 1)) / len(rooms)
        for place, (name, what) in enumerate(rooms):
            x = MARGIN + place * (width + GAP)
            parts.append(
                f'<g class="{kind}"><rect x="{x:.0f}" y="{top + 20}" width="{width:.0f}" height="46"/>'
                f'<text class="name" x="{x + 10:.0f}" y="{top + 39}">{escape(name)}</text>'
                f'<text class="what" x="{x + 10:.0f}" y="{top + 57}">{escape(what)}</text></g>'
            )
        if number + 1 < len(ROWS):
            parts.append(f'<line x1="{WIDTH // 2}" y1="{top + 68}" x2="{WIDTH // 2}" y2="{top + ROW - 6}"/>')
    height = MARGIN + len(ROWS) * ROW
    body = "\n".join(parts)
    TARGET.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Folders of nearkin by layer: each imports only from below">\n<style>{STYLE}</style>\n'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" fill="#51606f"/></marker></defs>\n{body}\n</svg>\n',
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
