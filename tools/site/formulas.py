"""Formulas of the documentation as MathML: an extension of Python-Markdown.

`$p^k$` is an inline formula; lines between two `$$` are a displayed formula. Both are LaTeX, in the syntax that GitHub
displays. The site contains MathML, which browsers typeset without scripts or fonts.

A formula that latex2mathml cannot parse is an error of the build.
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
    """Return the element of a formula; `display` is "inline" or "block"."""
    element = ElementTree.fromstring(convert(formula.strip(), display=display).replace(NAMESPACE, ""))  # noqa: S314
    element.set("alttext", formula.strip())
    for part in element.iter():  # Markdown must not parse emphasis in formulas.
        if part.text:
            part.text = AtomicString(part.text)
    return element


class Inline(InlineProcessor):
    """A processor of `$...$` within a line."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[ElementTree.Element, int, int]:  # type: ignore[override]  # noqa: N802
        """Return the formula with its start and end."""
        return mathml(m[1], "inline"), m.start(0), m.end(0)


class Block(BlockProcessor):
    """A processor of paragraphs that start and end with `$$`."""

    def test(self, parent: ElementTree.Element, block: str) -> bool:
        """Return True if this block is a formula."""
        text = block.strip()
        return len(text) > 4 and text.startswith("$$") and text.endswith("$$")

    def run(self, parent: ElementTree.Element, blocks: list[str]) -> None:
        """Add the formula, in a box that scrolls if it is wider than the page."""
        box = ElementTree.SubElement(parent, "div", {"class": "formula"})
        box.append(mathml(blocks.pop(0).strip().strip("$"), "block"))


class Formulas(Extension):
    """An extension that finds inline formulas after code and before escapes."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Register both processors."""
        md.inlinePatterns.register(Inline(INLINE, md), "formulas", 185)
        md.parser.blockprocessors.register(Block(md.parser), "formulas", 95)


def makeExtension(**options: Any) -> Formulas:  # noqa: N802
    """Return the extension, for Python-Markdown."""
    return Formulas(**options)
