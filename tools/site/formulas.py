"""Formulas of the documentation as MathML: an extension of Python-Markdown.

`$p^k$` stands in a line; lines between two `$$` are a formula of their own. Both are LaTeX, as GitHub shows them,
too. They become MathML when the site is built, which browsers typeset by themselves: no script and no font is loaded
for them.

A formula that latex2mathml does not understand ends the build.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.util import AtomicString

INLINE = r"(?<![\\\w$])\$(?=[^\s$])([^$]*[^\s$\\])\$(?![\w$])"
NAMESPACE = ' xmlns="http://www.w3.org/1998/Math/MathML"'


def mathml(formula: str, display: str) -> ElementTree.Element:
    """The element of a formula; `display` is "inline" or "block"."""
    element = ElementTree.fromstring(convert(formula.strip(), display=display).replace(NAMESPACE, ""))  # noqa: S314
    element.set("alttext", formula.strip())
    for part in element.iter():  # Markdown must not look for emphasis within
        if part.text:
            part.text = AtomicString(part.text)
    return element


class Inline(InlineProcessor):
    """`$...$` within a line."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[ElementTree.Element, int, int]:  # type: ignore[override]  # noqa: N802
        """The formula, and where it begins and ends."""
        return mathml(m[1], "inline"), m.start(0), m.end(0)


class Block(BlockProcessor):
    """A paragraph that begins and ends with `$$`."""

    def test(self, parent: ElementTree.Element, block: str) -> bool:
        """Whether this block is a formula."""
        text = block.strip()
        return len(text) > 4 and text.startswith("$$") and text.endswith("$$")

    def run(self, parent: ElementTree.Element, blocks: list[str]) -> None:
        """Adds the formula, in a box that scrolls where it is wider than the page."""
        box = ElementTree.SubElement(parent, "div", {"class": "formula"})
        box.append(mathml(blocks.pop(0).strip().strip("$"), "block"))


class Formulas(Extension):
    """Inline formulas are found after code and before escapes."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Registers both forms."""
        md.inlinePatterns.register(Inline(INLINE, md), "formulas", 185)
        md.parser.blockprocessors.register(Block(md.parser), "formulas", 95)


def makeExtension(**options: Any) -> Formulas:  # noqa: N802
    """What Python-Markdown calls."""
    return Formulas(**options)
