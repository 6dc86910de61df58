"""The visible text of HTML pages, extracted by selectolax (lexbor's parser of the HTML standard).

Invisible elements are removed: the head, scripts, styles, templates, the content for browsers without scripts, and
elements with the attribute `hidden`. Block elements start and end a line. Menus, footers and other boilerplate are not
removed.
"""

from __future__ import annotations

import re

from nearkin.errors import require_extra
from nearkin.io.values import PackedTexts

_HIDDEN = "script, style, noscript, template, svg, [hidden]"
# Elements that the HTML standard renders as blocks or rows, and line breaks.
_BLOCKS = (
    "address, article, aside, blockquote, br, center, dd, details, dialog, dir, div, dl, dt, fieldset, "
    "figcaption, figure, footer, form, h1, h2, h3, h4, h5, h6, header, hgroup, hr, legend, li, main, "
    "menu, nav, ol, optgroup, option, p, pre, search, section, summary, table, td, th, tr, ul"
)
_SPACE = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


def check_parser() -> None:
    """Raise MissingExtraError if the parser is not installed."""
    with require_extra("html", "HTML"):
        import selectolax.lexbor  # noqa: F401


def visible_text(page: str) -> str:
    r"""Return the text that a reader of a page sees.

    Parameters
    ----------
    page : str
        A complete page, a fragment, or a text without markup.

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
    # Reverse order: nested elements are removed before the elements that contain them.
    for element in reversed(body.css(_HIDDEN)):
        element.decompose()
    for element in body.css(_BLOCKS):
        element.insert_before("\n")
        element.insert_after("\n")
    return _LINES.sub("\n", _SPACE.sub(" ", body.text())).strip()


def visible_texts(pages: PackedTexts) -> PackedTexts:
    """Return the visible texts of pages; nulls remain null."""
    return PackedTexts.of([visible_text(page) for page in pages]).with_nulls(pages.nulls)
