"""Normalisation of text before it is hashed by `nearkin.digests.ssdeep`: only on request, and named with the digest.

A fuzzy digest sees bytes: different line ends, indentation or markup around the same words change nearly every
piece. Three steps remove such differences, always in this order, whatever order they are asked for in:

    html     markup to text: tags, comments, scripts and styles go, character references are resolved
    lines    CR LF and CR become LF
    space    every run of white space becomes one space, none is left at the ends

Bytes that are not UTF-8 stay as they are. A digest of normalised text can be compared only with digests normalised
in the same way, so a `DigestRecipe` names the steps in front of the digest's own options: `html+space|ssdeep`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from nearkin.errors import bad_parameter

__all__ = ["STEPS", "chosen", "normalize"]

# In the order in which they are applied.
STEPS = ("html", "lines", "space")

# Elements whose content is not text, up to their end tag.
_HIDDEN = frozenset({"script", "style", "template"})
# Elements whose text is separate.
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset", "figure", "footer", "form"}
    | {"h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre", "section"}
    | {"table", "td", "th", "title", "tr", "ul"}
)
_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*)")
_ATTRIBUTES = re.compile(r"""[>"']""")
_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _HIDDEN}
# Numbers that no character has, which Python would first read as integers of any length.
_LEADING_ZEROS = re.compile(r"(&#[xX]?)0+(?=[0-9A-Fa-f])")
_HUGE = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9A-Fa-f]{7,});?")


def _unescaped(text: str) -> str:
    if "&" not in text:
        return text
    return html.unescape(_HUGE.sub("\N{REPLACEMENT CHARACTER}", _LEADING_ZEROS.sub(r"\1", text)))


def _tag_end(text: str, start: int) -> int:
    """Where the tag whose attributes begin at `start` ends, exclusive; the text's length if it never does."""
    while found := _ATTRIBUTES.search(text, start):
        if found.group() == ">":
            return found.end()
        start = found.end()
        # A quotation mark quotes only after an equals sign.
        if text[max(0, found.start() - 16) : found.start()].rstrip()[-1:] == "=":
            start = text.find(found.group(), start) + 1
            if not start:
                break
    return len(text)


def _text_of(markup: str) -> str:
    """The text of a document. Every character is looked at a bounded number of times, whatever the markup."""
    parts = []
    at = 0
    while (start := markup.find("<", at)) >= 0:
        parts.append(_unescaped(markup[at:start]))
        tag = _TAG.match(markup, start)
        if markup.startswith("<!--", start):
            at = markup.find("-->", start + 4) + 3
            at = at if at > 2 else len(markup)
        elif tag is None and markup[start + 1 : start + 2] in ("!", "?", "/"):
            at = markup.find(">", start) + 1 or len(markup)
        elif tag is None:
            parts.append("<")
            at = start + 1
        else:
            at = _tag_end(markup, tag.end())
            name = tag[2].lower()
            if name in _BLOCKS:
                parts.append("\n")
            elif name in _HIDDEN and not tag[1]:
                end = _END[name].search(markup, at)
                at = _tag_end(markup, end.end()) if end else len(markup)
    parts.append(_unescaped(markup[at:]))
    return "".join(parts)


def chosen(steps: object) -> tuple[str, ...]:
    """The named steps in the order in which they are applied, each once.

    Raises
    ------
    ParameterError
        If a step is unknown, or the argument does not name steps.
    """
    names = list(steps) if isinstance(steps, Iterable) and not isinstance(steps, str) else [steps]
    for name in names:
        if name not in STEPS:
            raise bad_parameter("normalize", repr(name), "any of 'html', 'lines' and 'space'")
    return tuple(name for name in STEPS if name in names)


def normalize(data: bytes | bytearray | memoryview, steps: str | Iterable[str]) -> bytes:
    r"""`data` after the named steps.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        Text, UTF-8 where it matters.
    steps : str or iterable of str
        Any of "html", "lines" and "space"; their order does not matter.

    Returns
    -------
    bytes

    Raises
    ------
    ParameterError
        If a step is not one of these, or `data` is not bytes.

    Examples
    --------
    >>> from nearkin.digests.ssdeep import normalize
    >>> normalize(b"<p>One &amp;\r\n two</p><script>x()</script>", ["html", "space"])
    b'One & two'
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise bad_parameter("data", f"a {type(data).__name__}", "bytes; text.encode() makes them of a text")
    wanted = chosen(steps)
    data = bytes(data)
    if not wanted:
        return data
    text = data.decode("utf-8", "surrogateescape")
    for step in wanted:
        if step == "html":
            text = _text_of(text)
        elif step == "lines":
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        else:
            text = " ".join(text.split())
    return text.encode("utf-8", "surrogateescape")
