"""Draw `docs/img/house.svg`: the stages of a job and the folders of their code. Run it again when a folder moves."""

from __future__ import annotations

from html import escape
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "docs" / "img" / "house.svg"
WIDTH, MARGIN, GAP = 960, 24, 12
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1c2733 }
  .name { font: 600 14px ui-monospace, monospace } .content { fill: #51606f }
  .title { font: 600 15px system-ui, sans-serif }
  rect { rx: 6px; fill: #eef3f8; stroke: #9db2c6 } .stage rect { fill: #fff4e0; stroke: #d9a441 }
  .entry rect { fill: #e8f5ec; stroke: #74b28a } .core rect { fill: #f3f0f7; stroke: #a89abf }
  line { stroke: #51606f; stroke-width: 1.5; marker-end: url(#arrow) }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .content { fill: #9fb0c0 } rect { fill: #1d2936; stroke: #4a6078 }
    .stage rect { fill: #3a2d12; stroke: #a77d2c } .entry rect { fill: #16301f; stroke: #4f8a63 }
    .core rect { fill: #271f33; stroke: #75668c } line { stroke: #9fb0c0 }
  }
"""
ROWS: list[tuple[str, str, list[tuple[str, str]]]] = [
    (
        "entry",
        "Entry points: bring batches in, return results",
        [
            ("cli/", "the command nearkin"),
            ("service/ · spark/", "HTTP; engines"),
            ("sklearn/ · plot", "estimators; figures"),
        ],
    ),
    (
        "",
        "Built on the stages",
        [
            ("store/", "documents on disk"),
            ("quality/ · report/", "evaluation, tuning, pages"),
            ("patterns/ · explain/", "templates; every step"),
            ("compat/", "other packages' interfaces"),
        ],
    ),
    (
        "stage",
        "Verify, cluster, keep",
        [
            ("dedup/candidates/", "candidates of each family"),
            ("dedup/verify", "true similarity"),
            ("dedup/cluster", "keep, then absorb"),
            ("dedup/keep", "order of preference"),
        ],
    ),
    (
        "stage",
        "Search",
        [
            ("index/hamming", "fingerprints, exact"),
            ("index/bands", "signatures"),
            ("index/digests", "fuzzy digests"),
            ("index/lsh", "vectors"),
        ],
    ),
    (
        "stage",
        "Hash",
        [("text/", "batches, words, IDF"), ("families/", "fingerprints, signatures, codes"), ("digests/", "ssdeep")],
    ),
    (
        "",
        "Shared by all stages",
        [
            ("recipe/", "how a text is hashed"),
            ("io/", "readers, atomic output"),
            ("vectors/", "arrays, projection"),
            ("theory/", "laws, choice of parameters"),
        ],
    ),
    (
        "core",
        "The core in Rust: the same folders, below a thin binding (nearkin._core)",
        [
            ("cpu · hash", "instruction sets, hashes"),
            ("segment · records", "files, lines"),
            ("vectors · text", "kernels"),
            ("families · digests", "kernels"),
            ("index · dedup", "kernels"),
        ],
    ),
]
ROW = 92


def main() -> None:
    """Write the figure."""
    parts = []
    for number, (kind, title, folders) in enumerate(ROWS):
        top = MARGIN + number * ROW
        parts.append(f'<text class="title" x="{MARGIN}" y="{top + 12}">{escape(title)}</text>')
        width = (WIDTH - 2 * MARGIN - GAP * (len(folders) - 1)) / len(folders)
        for column, (name, content) in enumerate(folders):
            x = MARGIN + column * (width + GAP)
            parts.append(
                f'<g class="{kind}"><rect x="{x:.0f}" y="{top + 20}" width="{width:.0f}" height="46"/>'
                f'<text class="name" x="{x + 10:.0f}" y="{top + 39}">{escape(name)}</text>'
                f'<text class="content" x="{x + 10:.0f}" y="{top + 57}">{escape(content)}</text></g>'
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
