"""Draw the pictures of docs/articles in the articles' own numbers, with labels in English, Chinese or Japanese.

    python tools/plot_articles.py docs/articles/img

Every number is computed by nearkin when the picture is drawn: sums and signs by `nk.explain`, blocks by its search,
tables by `theory.hamming_cost`, regions by `theory.plane_regions` and `ball_regions`, curves by the collision laws, and
pieces by `nk.explain` of a file. A second run writes the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import nearkin as nk
from nearkin import theory

TEAL, AMBER, GREY, PALE, INK = "#0f766e", "#b45309", "#6b7280", "#e5e7eb", "#111827"
LIGHT_TEAL, LIGHT_AMBER = "#d5ece9", "#f7e3cd"
Say = Callable[..., str]
"""Chooses the label in the language of the picture."""


class Drawing:
    """Shapes and texts of one SVG file."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.shapes: list[str] = []

    def text(self, x: float, y: float, text: object, fill: str = INK, size: int = 14, anchor: str = "middle") -> None:
        """Write a text with its baseline at y."""
        escaped = str(text).replace("&", "&amp;").replace("<", "&lt;")
        self.shapes.append(
            f'<text x="{x:g}" y="{y:g}" fill="{fill}" font-size="{size}" text-anchor="{anchor}" '
            f'xml:space="preserve">{escaped}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, fill: str, stroke: str = "white") -> None:
        """Draw a rectangle."""
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" stroke="{stroke}"/>'
        )

    def path(self, points: Any, stroke: str, fill: str = "none", dash: str = "") -> None:
        """Draw lines through points."""
        numbers = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.shapes.append(
            f'<polyline points="{numbers}" stroke="{stroke}" fill="{fill}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )

    def circle(self, x: float, y: float, radius: float, stroke: str) -> None:
        """Draw a circle."""
        self.shapes.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="none" stroke="{stroke}" stroke-width="2"/>'
        )

    def svg(self, title: str) -> str:
        """Return the file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" font-family="sans-serif">\n<title>{title}</title>\n'
        )
        return (
            head
            + "\n".join([f'<rect width="{self.width}" height="{self.height}" fill="white"/>', *self.shapes])
            + "\n</svg>\n"
        )


def sums(say: Say, weights: dict[str, float], hashes: list[str]) -> tuple[Drawing, str]:
    """Draw the columns of a SimHash by hand: a 1 adds the weight, a 0 subtracts it."""
    steps = nk.explain(weights, hashes=dict(zip(weights, hashes, strict=True)))
    columns, cell, left = len(hashes[0]), 66, 210
    drawing = Drawing(left + cell * columns + 20, 46 + 34 * (len(weights) + 2) + 16)
    numbered = all(name.isdigit() for name in weights)
    heads = (
        (60, say("dimension" if numbered else "keyword", "关键词", "次元")),
        (150, say("value, hash" if numbered else "weight, hash", "权重、哈希", "値、ハッシュ")),
    )
    for x, title in heads:
        drawing.text(x, 30, title, GREY, 13)
    for number, (name, digits, row) in enumerate(zip(weights, hashes, steps.rows, strict=True)):
        y = 46 + 34 * number
        drawing.text(60, y + 22, name)
        drawing.text(150, y + 22, f"{weights[name]:g}   {digits}")
        for column, value in enumerate(row):
            drawing.box(left + cell * column, y, cell, 32, LIGHT_TEAL if value > 0 else LIGHT_AMBER)
            drawing.text(
                left + cell * (column + 0.5), y + 22, f"{value:+g}".replace("-", "−"), TEAL if value > 0 else AMBER
            )
    y = 46 + 34 * len(weights) + 4
    for line, label in (
        (0, say("sum of the column", "每列之和", "列の和")),
        (1, say("bit: 1 above 0", "大于 0 记 1", "正なら 1")),
    ):
        drawing.text(105, y + 22 + 34 * line, label, GREY, 13)
    for column, (total, bit) in enumerate(zip(steps.sums, steps.bits, strict=True)):
        colour = TEAL if bit == "1" else AMBER
        drawing.box(left + cell * column, y, cell, 32, "white", colour)
        drawing.text(left + cell * (column + 0.5), y + 22, f"{round(float(total), 2):g}".replace("-", "−"), colour)
        drawing.text(left + cell * (column + 0.5), y + 58, bit, colour, 18)
    return drawing, say(
        f"{columns} columns of sums, and the fingerprint {steps.bits}",
        f"{columns} 列求和，指纹为 {steps.bits}",
        f"{columns} 列の和と SimHash {steps.bits}",
    )


def pigeonholes(say: Say) -> tuple[Drawing, str]:
    """Draw the four blocks of the article's query, of which one holds no differing bit."""
    prints = np.random.default_rng(3).integers(0, 2**64, 20_000, dtype=np.uint64)
    index = nk.HammingIndex(bits=64)
    index.add(None, prints)
    flipped = (63, 20, 0)
    query = int(prints[17]) ^ sum(1 << bit for bit in flipped)
    blocks = nk.explain(query, index, radius=3).blocks
    drawing = Drawing(780, 190)
    rows = ((say("query", "查询"), query), (say("document 17", "文档 17"), int(prints[17])))
    for line, (name, value) in enumerate(rows):
        drawing.text(10, 62 + 36 * line, name, GREY, 13, "start")
        for bit in range(63, -1, -1):
            x = 96 + (63 - bit) * 10 + (63 - bit) // 16 * 12
            drawing.box(x, 46 + 36 * line, 10, 24, LIGHT_AMBER if bit in flipped else LIGHT_TEAL)
            drawing.text(x + 5, 62 + 36 * line, value >> bit & 1, AMBER if bit in flipped else TEAL, 10)
    for number, block in enumerate(blocks):
        differ = sum(bit // 16 == 3 - number for bit in flipped)
        x = 96 + number * 172 + 80
        drawing.text(x, 30, say(f"block {number}", f"第 {number} 块"), GREY, 13)
        drawing.text(
            x,
            140,
            say("equal: looked up", "相等：查得到") if not differ else say(f"{differ} bit differs", f"差 {differ} 位"),
            AMBER if differ else TEAL,
            13,
        )
        drawing.text(x, 164, say(f"{len(block.candidates)} candidates", f"{len(block.candidates)} 个候选"), GREY, 13)
    return drawing, say("Three differing bits in four blocks: one block is equal", "三个不同的位放进四块，必有一块相等")


def tables(say: Say) -> tuple[Drawing, str]:
    """Draw the four tables of 2^26 documents, with the entries that one key finds in each."""
    cost = theory.hamming_cost("blocks", 2**26, 64, 3)
    drawing = Drawing(780, 230)
    each = cost.candidates / cost.tables
    for number, name in enumerate("ABCD"):
        x = 20 + 190 * number
        drawing.text(x + 85, 26, say(f"table {name}", f"表 {name}"), INK, 15)
        for block in range(4):
            own = block == number
            drawing.box(x + 42 * block, 40, 42, 28, LIGHT_TEAL if own else PALE)
            drawing.text(x + 42 * block + 21, 59, "ABCD"[block], TEAL if own else GREY)
        for line in range(6):
            drawing.box(x, 80 + 16 * line, 168, 14, LIGHT_TEAL if line in (2, 3) else PALE)
        drawing.text(x + 85, 124, f"{each:,.0f}", TEAL)
        drawing.text(x + 85, 196, say(f"key of {cost.keys[number]} bits", f"键 {cost.keys[number]} 位"), GREY, 13)
    drawing.text(
        390,
        220,
        say(
            f"2^26 documents / 2^16 keys = {each:,.0f} candidates; {cost.tables} tables: {cost.candidates:,.0f}",
            f"2^26 篇 / 2^16 个键 = {each:,.0f} 个候选；{cost.tables} 张表共 {cost.candidates:,.0f} 个",
        ),
    )
    return drawing, say("Four tables, each sorted by another 16 bits", "四张表，各按不同的 16 位排序")


def regions(say: Say) -> tuple[Drawing, str]:
    """Draw three lines and three circles, and the bits of each region that they make."""
    size, names = 300, (say("planes", "超平面"), say("balls", "球"))
    y, x = np.mgrid[0:size, 0:size] / size * 2 - 1
    normals = [(np.cos(angle), np.sin(angle)) for angle in np.radians((90, 210, 330))]
    inside = (
        [a * x + b * y - 0.22 < 0 for a, b in normals],
        [(x - 0.3 * a) ** 2 + (y - 0.3 * b) ** 2 < 0.55**2 for a, b in normals],
    )
    drawing = Drawing(2 * size + 100, size + 90)
    for number, (name, sides, count) in enumerate(
        zip(names, inside, (theory.plane_regions(3, 2), theory.ball_regions(3, 2)), strict=True)
    ):
        left = 30 + number * (size + 40)
        drawing.box(left, 40, size, size, "white", PALE)
        codes = sides[0] * 4 + sides[1] * 2 + sides[2]
        found = np.unique(codes)
        if len(found) != count:
            raise SystemExit(f"{len(found)} regions of {name}; theory says {count}")
        for a, b in normals:
            if number:
                drawing.circle(left + (0.3 * a + 1) * size / 2, 40 + (0.3 * b + 1) * size / 2, 0.55 * size / 2, TEAL)
                continue
            t = np.linspace(-1.5, 1.5, 601)
            line = np.stack([0.22 * a - t * b, 0.22 * b + t * a], axis=1)
            line = line[(np.abs(line) <= 1).all(axis=1)][[0, -1]]
            drawing.path([(left + (u + 1) * size / 2, 40 + (v + 1) * size / 2) for u, v in line], TEAL)
        for code in found:
            rows, columns = np.nonzero(codes == code)
            middle = np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2)
            at = (36, 20) if number and code == 0 else (columns[middle], rows[middle])
            closed = bool(number and code)
            closed |= not number and code == 7
            drawing.text(left + at[0], 45 + at[1], f"{code:03b}", TEAL if closed else GREY, 13)
        drawing.text(left + size / 2, 26, f"3 {name}", INK, 15)
        bounded = count - 1 if number else 1
        drawing.text(
            left + size / 2,
            size + 66,
            say(f"{count} regions, {bounded} closed", f"{count} 个区域，其中 {bounded} 个封闭"),
        )
    return drawing, say("Three lines close one region, three circles seven", "三条直线封闭一个区域，三个圆封闭七个")


def curve(say: Say) -> tuple[Drawing, str]:
    """Draw the law of a stable projection of width 4, and what AND of 4 and OR of 8 make of it."""
    law = lambda distance: theory.pstable(distance, width=4.0)  # noqa: E731
    distance = np.linspace(0, 8, 81)
    drawing, left, top, wide, high = Drawing(700, 380), 70, 30, 560, 280
    place = lambda d, p: (left + d / 8 * wide, top + (1 - p) * high)  # noqa: E731
    for mark in (0, 0.5, 1):
        drawing.path([place(0, mark), place(8, mark)], PALE)
        drawing.text(left - 10, place(0, mark)[1] + 5, f"{mark:g}", GREY, 13, "end")
    for mark in range(0, 9, 2):
        drawing.text(place(mark, 0)[0], top + high + 20, mark, GREY, 13)
    drawing.text(left + wide / 2, top + high + 44, say("distance of two vectors", "两个向量的距离"), GREY, 13)
    for values, colour, name, at in (
        (law(distance), GREY, say("one function", "单个函数"), 40),
        (theory.amplify(law(distance), 4, 8), TEAL, say("AND of 4, OR of 8", "4 个取与，8 组取或"), 22),
    ):
        drawing.path([place(d, p) for d, p in zip(distance, values, strict=True)], colour)
        drawing.text(place(distance[at], 0)[0] + 10, place(0, float(values[at]))[1] - 8, name, colour, 13, "start")
    for d, name in ((1, "d1"), (2, "d2")):
        before, after = float(law(d)), float(theory.amplify(law(d), 4, 8))
        drawing.path([place(d, 0), place(d, 1)], AMBER, dash="4 4")
        drawing.text(place(d, 0)[0], top - 8, f"{name} = {d}", AMBER, 13)
        drawing.text(
            place(2, 0)[0] + 8, place(0, 0.26 - 0.1 * d)[1], f"{name}: {before:.2f} → {after:.2f}", AMBER, 13, "start"
        )
    return drawing, say("The S curve: near pairs stay above, far ones fall", "S 曲线：近的仍高，远的降下去")


def pieces(say: Say) -> tuple[Drawing, str]:
    """Draw the pieces of both parts of a fuzzy digest, each with its character."""
    text = b"this is a test!"
    steps = nk.explain(text, "ssdeep")
    drawing, cell = Drawing(40 + 44 * len(text) + 120, 250), 44
    for at, byte in enumerate(text):
        drawing.text(130 + cell * at + cell / 2, 36, chr(byte) if byte != 32 else "␣", INK, 18)
    for line, part in enumerate(steps.parts):
        y = 56 + 76 * line
        drawing.text(
            10,
            y + 30,
            say(f"part {line + 1}, B = {part.block_size}", f"第 {line + 1} 段，B = {part.block_size}"),
            GREY,
            13,
            "start",
        )
        for number, piece in enumerate(part.pieces):
            x, width = 130 + cell * piece.start, max(cell * (piece.end - piece.start), 14)
            drawing.box(x, y, width, 46, LIGHT_TEAL if number % 2 else LIGHT_AMBER)
            drawing.text(x + width / 2, y + 30, piece.character, TEAL if number % 2 else AMBER, 18)
    drawing.text(130 + cell * len(text) / 2, 230, steps.digest, INK, 18)
    return drawing, say("Each piece of the text becomes one character", "每一片变成一个字符")


PICTURES: dict[str, tuple[Callable[..., tuple[Drawing, str]], tuple[object, ...], str]] = {
    "sums-1": (
        sums,
        (
            dict(zip(("美国", "51区", "飞碟", "灰色", "外星人"), (5, 2, 3, 1, 4), strict=True)),
            ["100101", "101011", "100111", "101111", "111011"],
        ),
        "en zh",
    ),
    "sums-3": (sums, (dict(zip("012", (3, 2, 4), strict=True)), ["10", "01", "11"]), "en ja"),
    "sums-4": (sums, ({"上海": 45.11, "北京": 32.09}, ["01011001", "11001011"]), "en zh"),
    "pigeonholes": (pigeonholes, (), "en zh"),
    "tables": (tables, (), "en zh"),
    "regions": (regions, (), "en zh"),
    "curve": (curve, (), "en zh"),
    "pieces": (pieces, (), "en zh"),
}
"""Each picture with its arguments and languages."""


def _chooser(language: str) -> Say:
    """Return the function that takes the label of a language."""
    at = ("en", "zh", "ja").index(language)
    return lambda *labels: labels[at]


def main(folder: Path) -> None:
    """Draw all pictures."""
    for name, (draw, arguments, languages) in PICTURES.items():
        for language in languages.split():
            drawing, title = draw(_chooser(language), *arguments)
            suffix = "" if language == "en" else f".{language}"
            (folder / f"{name}{suffix}.svg").write_text(drawing.svg(title), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
