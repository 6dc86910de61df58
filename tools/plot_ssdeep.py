"""Draws how the pieces of a fuzzy digest move when bytes are inserted: docs/ssdeep-pieces.svg.

    python tools/plot_ssdeep.py docs/ssdeep-pieces.svg

The cuts are found here from their definition, byte by byte, and held against `nearkin.ssdeep.hash`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nearkin as nk

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
WIDTH, HEIGHT, LEFT = 1100, 210, 20


def pieces(data: bytes, block_size: int) -> list[tuple[int, int, str]]:
    """Start, end and character of each piece."""
    found, start, state, last = [], 0, 0x27, 0
    for at, byte in enumerate(data):
        window = (bytes(7) + data[: at + 1])[-7:]
        mixed = 0
        for old in window:
            mixed = (mixed << 5 ^ old) & 0xFFFFFFFF
        last = (sum((j + 2) * b for j, b in enumerate(window)) + mixed) & 0xFFFFFFFF
        state = (state * 19 ^ byte) & 63
        if last % block_size == block_size - 1 and len(found) < 63:
            found.append((start, at + 1, ALPHABET[state]))
            start, state = at + 1, 0x27
    if last:
        found.append((start, len(data), ALPHABET[state]))
    return found


def main() -> None:
    """Draw one text before and after an insertion."""
    text = " ".join(f"Sentence {i} says {i * i % 97} and {i * 7 % 31}." for i in range(60)).encode()
    edited = text[:900] + b" Here something new was written into the text. " + text[900:]
    digests = [nk.ssdeep.hash(text), nk.ssdeep.hash(edited)]
    block_size = int(digests[0].split(":")[0])
    rows = [pieces(text, block_size), pieces(edited, block_size)]
    for row, digest in zip(rows, digests, strict=True):
        if "".join(character for *_, character in row) != digest.split(":")[1]:
            raise SystemExit(f"the drawing and the digest {digest} differ")
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
