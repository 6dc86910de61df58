"""A page as one HTML file without external resources; equal contents give equal bytes.

The file's content policy allows its own script and style, by their SHA-256, and nothing else: no request, no other
script, no style attribute. Data from documents is escaped by Jinja, or is JSON and compressed blocks in elements that
browsers do not run; the script inserts it as text.

Blocks are gzip (RFC 1952, without time and name) in base64. The script unpacks a block when it is needed.
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
from nearkin.errors import bad_parameter, require_extra
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
"""Modules of the script in the order of their imports. Their top-level names differ."""
_CODE = re.compile(r"""(?P<code>[^"'`{}]*)(?P<end>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|["'`{}]|$)""")
_TEMPLATE = re.compile(r"(?P<code>(?:[^`$\\]|\\.|\$(?!\{))*)(?P<end>`|\$\{)", re.DOTALL)
_OPERATOR_SPACES = re.compile(r"(?<=[=<>!?:&|*,;(){}\[\]]) +| +(?=[=<>!?:&|*,;(){}\[\]])|(?<=[,;({\[])\n")
_GZIP_HEAD = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_NUMBER = re.compile(r"[-−–+~≈<>]? ?[\d,.]+ ?(%|s|ms|KB|MB|GB|bits)?|–|")
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0]"
)


def render(contents: Contents) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    contents : Contents

    Returns
    -------
    str
        HTML, to be written as UTF-8. Equal contents give equal text.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.
    ParameterError
        `run` has a value without a JSON form (NaN).

    Examples
    --------
    >>> from nearkin.report.model import Contents
    >>> from nearkin.report.page import render
    >>> "<h1>3 &lt; 4</h1>" in render(Contents("3 < 4"))
    True
    """
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    script = "" if contents.run is None else bundle_script()
    return (
        _environment()
        .get_template("report.html")
        .render(
            contents=contents,
            policy=_policy(script, style),
            style=_markup(style),
            script=_markup(script),
            run=_markup("" if contents.run is None else _to_json(contents.run)),
            blocks=[
                (name, _markup(data if isinstance(data, str) else pack(data)))
                for name, data in sorted(contents.blocks.items())
            ],
            version=__version__,
            kinds=_cell_classes,
            svg=_markup,
        )
    )


def bundle_script() -> str:
    """Return the modules of the script as one function, without comments, indents, imports and exports.

    Spaces around operators and line ends within statements are also removed, except in strings and templates.
    """
    shared = assets()
    modules = [(shared[name] if name in shared else FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS]
    plain = [re.sub(r"^import\b[^;]*;\n", "", text, flags=re.MULTILINE) for text in modules]
    bare = [re.sub(r"^ *//.*\n|^ +|^export |^\n| // .*$", "", text, flags=re.MULTILINE) for text in plain]
    return '(() => {\n"use strict";\n' + "".join(map(_minify, bare)) + "})();\n"


def _minify(code: str) -> str:
    """Remove spaces around operators, and line ends after some.

    A lone quote, which only a regular expression may contain, is an operator.
    """
    output: list[str] = []
    open_: list[str] = []  # Templates and braces.
    position = 0
    while position < len(code):
        in_template = open_[-1:] == ["`"]
        match = (_TEMPLATE if in_template else _CODE).match(code, position)
        if match is None:
            raise ValueError(f"a template does not end: {code[position : position + 40]}")
        end = match["end"]
        before, after = code[max(position - 1, 0) : position], end[:1]
        bare = _OPERATOR_SPACES.sub("", f"{before}{match['code']}{after}")[len(before) :]
        output.append(match.group() if in_template else bare + end[1:])
        position = match.end()
        if end in ("}", "`") and open_ and (end == "}" or in_template):
            open_.pop()
        elif end in ("`", "{", "${"):
            open_.append(end)
    return "".join(output)


def pack(data: bytes) -> str:
    """Return bytes as gzip in base64, independent of time and system.

    Level 1 takes a third of the time of level 6 and a sixth more space.
    """
    packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = packer.compress(data) + packer.flush()
    tail = struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
    return base64.b64encode(_GZIP_HEAD + body + tail).decode("ascii")


def check_installed() -> None:
    """Check the dependencies of a report before the work starts.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.
    """
    _environment()


def escape_invisible(value: object) -> str:
    r"""Return a value as text, with escapes for characters that are invisible or change the direction of writing.

    Examples
    --------
    >>> from nearkin.report.page import escape_invisible
    >>> escape_invisible("a\u202eb")
    'a\\u{202e}b'
    """
    return _INVISIBLE.sub(lambda match: f"\\u{{{ord(match.group()):x}}}", "" if value is None else str(value))


def _environment() -> Environment:
    """Return an environment that escapes values and refuses undefined names."""
    with require_extra("report", "a report"):
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    return Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else escape_invisible(value),
    )


def _markup(text: str) -> str:
    """Mark a text as HTML that must not be escaped."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our own files, JSON without "<", base64


def _policy(script: str, style: str) -> str:
    """Return the content policy, which allows only the inline script and style, by their hashes."""

    def source(text: str) -> str:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
        return f"'sha256-{digest}'" if text else "'none'"

    return (
        f"default-src 'none'; script-src {source(script)}; style-src {source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _to_json(run: Mapping[str, object]) -> str:
    """Return JSON that cannot end its HTML element."""
    try:
        text = json.dumps(run, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise bad_parameter("contents.run", f"{error}", "strings, finite numbers, lists and mappings") from error
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _cell_classes(table: Table) -> list[str]:
    """Return the class of the cells of each column: "number" if all of them are numbers, otherwise "words"."""
    return [
        "number" if table.rows and all(_NUMBER.fullmatch(row[i]) for row in table.rows) else "words"
        for i in range(len(table.columns))
    ]
