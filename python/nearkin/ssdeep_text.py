"""Normalisation of text before it is hashed by `nearkin.ssdeep`: only on request, and named with the digest.

A fuzzy digest sees bytes: other line ends, another indentation or markup around the same words change nearly every
piece. Three steps remove such differences, always in this order, whatever order they are asked for in:

    html     markup to text: tags, comments, scripts and styles go, character references are resolved
    lines    CR LF and CR become LF
    space    every run of white space becomes one blank, none is left at the ends

Bytes that are not UTF-8 stay as they are. A digest of normalised text compares with digests normalised alike and with
no others, so `recipe` names the steps in front of the digest's own options: `html+space|ssdeep`.
"""

from __future__ import annotations

from collections.abc import Iterable
from html.parser import HTMLParser

from nearkin.errors import bad_parameter

__all__ = ["STEPS", "normalize", "recipe"]

# In the order in which they are applied.
STEPS = ("html", "lines", "space")

_HIDDEN = frozenset({"script", "style", "template"})
# Elements whose text stands by itself.
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset", "figure", "footer", "form"}
    | {"h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "option", "p", "pre", "section"}
    | {"table", "td", "th", "title", "tr", "ul"}
)


class _Text(HTMLParser):
    """The text of a document."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self.hidden += 1
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self.hidden = max(0, self.hidden - 1)
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def _chosen(steps: Iterable[str]) -> list[str]:
    names = [steps] if isinstance(steps, str) else list(steps)
    for name in names:
        if name not in STEPS:
            raise bad_parameter("normalize", repr(name), "any of 'html', 'lines' and 'space'")
    return [name for name in STEPS if name in names]


def normalize(data: bytes, steps: str | Iterable[str]) -> bytes:
    r"""`data` after the named steps.

    Parameters
    ----------
    data : bytes
        Text, UTF-8 where it matters.
    steps : str or iterable of str
        Any of "html", "lines" and "space"; their order does not matter.

    Returns
    -------
    bytes

    Raises
    ------
    ParameterError
        If a step is none of these.

    Examples
    --------
    >>> from nearkin.ssdeep_text import normalize
    >>> normalize(b"<p>One &amp;\r\n two</p><script>x()</script>", ["html", "space"])
    b'One & two'
    """
    chosen = _chosen(steps)
    if not chosen:
        return data
    text = data.decode("utf-8", "surrogateescape")
    for step in chosen:
        if step == "html":
            parser = _Text()
            parser.feed(text)
            parser.close()
            text = "".join(parser.parts)
        elif step == "lines":
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        else:
            text = " ".join(text.split())
    return text.encode("utf-8", "surrogateescape")


def recipe(steps: str | Iterable[str] = (), *, eliminate_runs: bool = False, truncate: bool = True) -> str:
    """What a digest was made by, in one line: digests are comparable if this is equal.

    Examples
    --------
    >>> from nearkin.ssdeep_text import recipe
    >>> recipe(["space", "html"]), recipe(truncate=False)
    ('html+space|ssdeep', 'ssdeep:notrunc')
    """
    flags = [name for name, set_ in (("elimseq", eliminate_runs), ("notrunc", not truncate)) if set_]
    kernel = ":".join(["ssdeep", *flags])
    chosen = _chosen(steps)
    return f"{'+'.join(chosen)}|{kernel}" if chosen else kernel
