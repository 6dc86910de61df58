"""The visible text of HTML pages, extracted by selectolax (lexbor's parser of the HTML standard).

Invisible elements are removed: the head, scripts, styles, templates, the content for browsers without scripts, and
elements with the attribute `hidden`. Block elements start and end a line.

The *main text* of a page leaves out menus and footers as well: the elements that HTML has for them, and lines that
are links by more than half. It begins where the page says so, in its only `main`. A page of links alone keeps them.
"""

from __future__ import annotations

import re
from typing import Literal

from nearkin.errors import require_extra
from nearkin.io.values import PackedTexts

_HIDDEN = "script, style, noscript, template, svg, [hidden]"
# Elements that the HTML standard renders as blocks or rows, and line breaks.
_BLOCKS = (
    "address, article, aside, blockquote, br, center, dd, details, dialog, dir, div, dl, dt, fieldset, "
    "figcaption, figure, footer, form, h1, h2, h3, h4, h5, h6, header, hgroup, hr, legend, li, main, "
    "menu, nav, ol, optgroup, option, p, pre, search, section, summary, table, td, th, tr, ul"
)
_ASIDE = "nav, footer, aside, [role=navigation], [role=banner], [role=contentinfo], [role=search]"
_MAIN = "main, [role=main]"
_PAGE = re.compile(r"\ufeff?\s*<(?:!doctype|!--|\?xml|[a-z][a-z0-9]*[\s/>])", re.I)
_LINK = re.compile("\x02([^\x02\x03]*)(?:\x03|$)")
_SPACE = re.compile(r"[^\S\n]+")
_LINES = re.compile(r"\s*\n\s*")


def check_parser() -> None:
    """Raise MissingExtraError if the parser is not installed."""
    with require_extra("html", "HTML"):
        import selectolax.lexbor  # noqa: F401


Html = bool | Literal["main"]
"""True for pages of which the visible text is read, "main" for the main text of pages and other texts unchanged."""


def visible_text(page: str, *, main: bool = False) -> str:
    r"""Return the text that a reader of a page sees.

    Parameters
    ----------
    page : str
        A complete page, a fragment, or a text without markup.
    main : bool, default False
        Return only the main text.

    Examples
    --------
    >>> from nearkin.io.html import visible_text
    >>> visible_text("<title>T</title><p>One &amp;  <b>t</b>wo<script>x()</script><p hidden>no</p><p>three")
    'One & two\nthree'
    >>> visible_text("<a href=/>Home</a><p>One, with <a href=x>a link</a><nav>Next</nav>", main=True)
    'One, with a link'
    """
    from selectolax.lexbor import LexborHTMLParser

    body = LexborHTMLParser(page).body
    if body is None:
        return ""
    if main and len(found := body.css(_MAIN)) == 1 and found[0].text().strip():
        body = found[0]
    # Reverse order: nested elements are removed before the elements that contain them.
    for element in reversed(body.css(f"{_HIDDEN}, {_ASIDE}" if main else _HIDDEN)):
        element.decompose()
    for element in body.css(_BLOCKS):
        element.insert_before("\n")
        element.insert_after("\n")
    for element in body.css("a[href]") if main else ():
        element.insert_before("\x02")
        element.insert_after("\x03")
    text = _LINES.sub("\n", _SPACE.sub(" ", body.text())).strip()
    return _without_links(text) if main else text


def _without_links(text: str) -> str:
    """Leave out lines with more than half between the marks of links; all of them if no other line is left."""
    kept, lines, is_open = [], [], False
    for marked in text.split("\n"):
        line = marked.replace("\x02", "").replace("\x03", "").strip()
        linked = sum(map(len, _LINK.findall(f"\x02{marked}" if is_open else marked)))
        is_open = marked.rfind("\x02") > marked.rfind("\x03") or (is_open and "\x03" not in marked)
        if line:
            lines.append(line)
            if 2 * linked <= len(line):
                kept.append(line)
    return "\n".join(kept or lines)


def read_text(text: str, html: Html = "main") -> str:
    """Return the visible text of a page, or the main text of a text that begins with a tag; others are unchanged.

    Raises
    ------
    MissingExtraError
        The text is a page, and the parser is not installed.
    """
    if html == "main":
        if _PAGE.match(text) is None:
            return text
        check_parser()
    return visible_text(text, main=html == "main")


def read_texts(texts: PackedTexts, html: Html) -> PackedTexts:
    """Read pages or texts one by one; nulls remain null."""
    return PackedTexts.of([read_text(text, html) for text in texts]).with_nulls(texts.nulls)
