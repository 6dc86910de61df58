"""The visible text of HTML pages, by selectolax (lexbor's parser of the HTML standard).

Elements that no reader sees go: scripts, styles, templates, what is shown without scripts, and elements that are marked
`hidden`; so does the head. Between elements that begin a line a line ends. Menus, footers and other boilerplate stay.
"""

from __future__ import annotations

import re

from nearkin.errors import MissingExtraError
from nearkin.io.values import PackedTexts

_UNSEEN = "script, style, noscript, template, svg, [hidden]"
# Elements of the HTML standard that are laid out as blocks or rows, and line breaks.
_BLOCKS = (
    "address, article, aside, blockquote, br, center, dd, details, dialog, dir, div, dl, dt, fieldset, "
    "figcaption, figure, footer, form, h1, h2, h3, h4, h5, h6, header, hgroup, hr, legend, li, main, "
    "menu, nav, ol, optgroup, option, p, pre, search, section, summary, table, td, th, tr, ul"
)
_SPACE = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


def check_parser() -> None:
    """Raise MissingExtraError unless the parser is installed."""
    try:
        import selectolax.lexbor  # noqa: F401
    except ImportError:
        message = "HTML needs selectolax; pip install 'nearkin[html]'"
        raise MissingExtraError(message, extra="html", package="selectolax") from None


def visible_text(page: str) -> str:
    r"""The text that a reader of a page sees.

    Parameters
    ----------
    page : str
        HTML, whole or a part; a text without markup is its own.

    Examples
    --------
    >>> from nearkin.io.html import visible_text
    >>> visible_text("<title>T</title><p>One &amp;  <b>t</b>wo<script>x()</script><p hidden>no</p><p>three")
    'One & two\nthree'
    """
    from selectolax.lexbor import LexborHTMLParser

    body = LexborHTMLParser(page).body
    if body is None:
        return ""
    # From the last to the first: what lies in an element goes before it.
    for element in reversed(body.css(_UNSEEN)):
        element.decompose()
    for element in body.css(_BLOCKS):
        element.insert_before("\n")
        element.insert_after("\n")
    return _LINES.sub("\n", _SPACE.sub(" ", body.text())).strip()


def visible_texts(pages: PackedTexts) -> PackedTexts:
    """The visible texts of pages; null ones stay null."""
    return PackedTexts.of([visible_text(page) for page in pages]).with_nulls(pages.nulls)
