"""Draw how the pieces of a fuzzy digest move when bytes are inserted: docs/ssdeep-pieces.svg.

    python tools/plot_ssdeep.py docs/ssdeep-pieces.svg

The pieces come from `nearkin.explain`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nearkin as nk

WIDTH, HEIGHT, LEFT = 1100, 210, 20


def main() -> None:
    """Draw one text before and after an insertion."""
    text = " ".join(f"Sentence {i} says {i * i % 97} and {i * 7 % 31}." for i in range(60)).encode()
    edited = text[:900] + b" Here something new was written into the text. " + text[900:]
    recipe = nk.ssdeep.DigestRecipe()
    steps = [nk.explain(data, recipe) for data in (text, edited)]
    digests, block_size = [each.digest for each in steps], steps[0].block_size
    rows = [[(piece.start, piece.end, piece.character) for piece in each.parts[0].pieces] for each in steps]
    kept = [set(), set()]
    contents = [[(data[a:b], c) for a, b, c in row] for data, row in zip((text, edited), rows, strict=True)]
    for mine, other, marks in ((contents[0], contents[1], kept[0]), (contents[1], contents[0], kept[1])):
        marks.update(i for i, piece in enumerate(mine) if piece in other)
    scale = (WIDTH - 2 * LEFT) / len(edited)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    score = nk.ssdeep.compare(*digests)
    titles = (
        f"a text of {len(text)} bytes, block size {block_size}",
        f"{len(edited) - len(text)} bytes inserted: score {score}",
    )
    for number, (row, marks, title) in enumerate(zip(rows, kept, titles, strict=True)):
        top = 40 + 85 * number
        out.append(f'<text x="{LEFT}" y="{top - 10}" font-size="14">{title}</text>')
        for i, (start, end, character) in enumerate(row):
            x, width = LEFT + start * scale, (end - start) * scale
            fill = "#cfe3f5" if i in marks else "#f2a65a"
            out.append(f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="34" fill="{fill}" stroke="white"/>')
            out.append(
                f'<text x="{x + width / 2:.1f}" y="{top + 22}" font-size="11" text-anchor="middle">{character}</text>'
            )
    out.append(
        f'<text x="{LEFT}" y="{HEIGHT - 8}" font-size="12">orange: pieces that only one of the two has</text></svg>'
    )
    Path(sys.argv[1]).write_text("\n".join(out) + "\n")


if __name__ == "__main__":
    main()
