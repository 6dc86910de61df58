"""A report as one HTML file: all is in it, it asks nothing of anybody, and the same contents give the same bytes.

The file's content policy allows its own script and style, named by their SHA-256, and nothing else: no request, no
other script, no style attribute. What comes from documents is escaped by Jinja, or is JSON and compressed blocks in
elements that no browser runs; the script puts it into the page as text.

Blocks are gzip (RFC 1952, no time, no name) in base64; the script unpacks one when it is looked at.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nearkin._core import __version__
from nearkin.errors import MissingExtraError, bad_parameter
from nearkin.report.model import Contents, Table
from nearkin.web_assets import assets

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent / "page"
SCRIPTS = (
    "nodes.js",
    "differences.js",
    "data.js",
    "judging.js",
    "estimates.js",
    "labels.js",
    "sides.js",
    "pair.js",
    "lists.js",
    "review.js",
    "results.js",
    "main.js",
)
"""Modules of the script, each after those that it imports. Their names at the outermost level differ."""
_CODE = re.compile(r"""(?P<code>[^"'`{}]*)(?P<end>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|["'`{}]|$)""")
_TEMPLATE = re.compile(r"(?P<code>(?:[^`$\\]|\\.|\$(?!\{))*)(?P<end>`|\$\{)", re.DOTALL)
_BESIDE_SIGNS = re.compile(r"(?<=[=<>!?:&|*,;(){}\[\]]) +| +(?=[=<>!?:&|*,;(){}\[\]])")
_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_BLOCK = re.compile(r"[a-z]+(-[0-9]+)?")
_NUMBER = re.compile(r"[-−–+~≈<>]? ?[\d,.]+ ?(%|s|ms|KB|MB|GB|bits)?|–|")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0]"
)


def render(contents: Contents) -> str:
    """The page of a report.

    Parameters
    ----------
    contents : Contents

    Returns
    -------
    str
        HTML, to be written as UTF-8. The same contents give the same text.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.
    ParameterError
        A block's name is not letters with a number, or `run` holds what JSON has not (NaN).

    Examples
    --------
    >>> from nearkin.report.model import Contents
    >>> from nearkin.report.page import render
    >>> "<h1>3 &lt; 4</h1>" in render(Contents("3 < 4"))
    True
    """
    style = _file("page.css")
    script = "" if contents.run is None else joined()
    return (
        _environment()
        .get_template("report.html")
        .render(
            contents=contents,
            policy=_policy(script, style),
            style=_markup(style),
            script=_markup(script),
            run=_markup("" if contents.run is None else _json(contents.run)),
            blocks=[(_name(name), _markup(_packed(data))) for name, data in sorted(contents.blocks.items())],
            version=__version__,
            kinds=_kinds,
            svg=_markup,
        )
    )


def joined() -> str:
    """The script: its modules in order as one function, without comments, indents, and words that import and export.

    Spaces beside signs go, too, but none of a string or a template.
    """
    shared = assets()
    modules = [(shared[name] if name in shared else FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS]
    plain = [re.sub(r"^import\b[^;]*;\n", "", text, flags=re.MULTILINE) for text in modules]
    bare = [re.sub(r"^ *//.*\n|^ +|^export |^\n| // .*$", "", text, flags=re.MULTILINE) for text in plain]
    return '(() => {\n"use strict";\n' + "".join(map(_close, bare)) + "})();\n"


def _close(code: str) -> str:
    """Code without spaces beside signs. A string or a template ends where it ends in JavaScript; a lone quote, which
    only a regular expression may have, is a sign.
    """
    written: list[str] = []
    held: list[str] = []  # what is open: templates and braces
    place = 0
    while place < len(code):
        inside = held[-1:] == ["`"]
        found = (_TEMPLATE if inside else _CODE).match(code, place)
        if found is None:
            raise ValueError(f"a template does not end: {code[place : place + 40]}")
        end = found["end"]
        before, after = code[max(place - 1, 0) : place], end[:1]
        bare = _BESIDE_SIGNS.sub("", f"{before}{found['code']}{after}")[len(before) :] if not inside else ""
        written.append(found.group() if inside else bare + end[1:])
        place = found.end()
        if end in ("}", "`") and held and (end == "}" or inside):
            held.pop()
        elif end in ("`", "{", "${"):
            held.append(end)
    return "".join(written)


def packed(data: bytes) -> str:
    """Bytes as gzip in base64, with nothing in it that depends on the time or the system.

    At level 1, which takes a third of the time of 6 and a sixth more room.
    """
    packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = packer.compress(data) + packer.flush()
    whole = _GZIP_HEAD + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
    return base64.b64encode(whole).decode("ascii")


def _packed(data: bytes | str) -> str:
    return data if isinstance(data, str) else packed(data)


def check_installed() -> None:
    """Refuse a report before there is any work for it.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.
    """
    _environment()


def visible(value: object) -> str:
    r"""A value as text in which signs that are not seen, or that turn the order of others, are escapes.

    Examples
    --------
    >>> from nearkin.report.page import visible
    >>> visible("a\u202eb")
    'a\\u{202e}b'
    """
    return _UNSEEN.sub(lambda found: f"\\u{{{ord(found.group()):x}}}", "" if value is None else str(value))


def _environment() -> Environment:
    """Templates that escape, and in which undefined names are errors."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        message = "a report needs Jinja2, which is not installed; run `pip install nearkin[report]`"
        raise MissingExtraError(message, extra="report", package="jinja2") from error
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else visible(value),
    )


def _markup(text: str) -> str:
    """A text that is put into the page as it is."""
    try:
        from markupsafe import Markup
    except ImportError:
        return text
    return Markup(text)  # noqa: S704 - our own files, JSON without "<", base64


def _file(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """The content policy: what is inline is named by its hash, all else is refused."""

    def source(text: str) -> str:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
        return f"'sha256-{digest}'" if text else "'none'"

    return (
        f"default-src 'none'; script-src {source(script)}; style-src {source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(run: Mapping[str, object]) -> str:
    """JSON in which nothing ends the element that holds it."""
    try:
        text = json.dumps(run, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise bad_parameter("contents.run", f"{error}", "strings, finite numbers, lists and mappings") from error
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _name(block: str) -> str:
    if _BLOCK.fullmatch(block) is None:
        raise bad_parameter("block", repr(block), "letters a to z, then a number or none, such as texts-0")
    return block


def _kinds(table: Table) -> list[str]:
    """For each column the class of its cells: "number" where all of them are."""
    return [
        "number" if table.rows and all(_NUMBER.fullmatch(row[place]) for row in table.rows) else "words"
        for place in range(len(table.columns))
    ]


__all__ = ["check_installed", "joined", "packed", "render", "visible"]
