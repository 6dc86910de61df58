"""The parts of a pattern of URLs, from which names of variables, ids and exports are built."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

from nearkin.patterns.tables import KINDS, pattern_id, template_text, variable_names, variable_types

_WILDCARD = re.compile(rb"(\xff[\x01-\xfe])")
_ESCAPES = re.compile("(?:%[89A-Fa-f][0-9A-Fa-f])+")
"""Escapes of bytes beyond ASCII."""
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Characters that are printable for Python and yet show nothing: fillers and selectors of variants."""


def decode_url(text: str) -> str:
    """Return a URL or the text of a pattern as people read it; `fit` and `match` read it as the same URL or pattern.

    Escapes of visible characters beyond ASCII are decoded. All others stay: those of ASCII, such as `%2F`, of invalid
    UTF-8, controls (also of the direction of text), blanks, fillers, signs that look like ASCII or like an operator
    (`／`, `⁄`), and of marks that would join a character that is not decoded.

    Examples
    --------
    >>> from nearkin.patterns.url_pattern import decode_url
    >>> decode_url("/caf%C3%A9/{int}?q%26=%E2%80%AE%E6%90%9C")
    '/café/{int}?q%26=%E2%80%AE搜'
    """
    return _ESCAPES.sub(lambda run: _decode_run(bytes.fromhex(run[0].replace("%", ""))), text)


def _decode_run(raw: bytes) -> str:
    pieces, visible = [], False
    for char in raw.decode("utf-8", "surrogateescape"):
        kind = unicodedata.category(char)
        visible = char.isprintable() and kind != "Sm" and (visible or kind[0] != "M") and not _INVISIBLE.match(char)
        visible = visible and not any(map(str.isascii, unicodedata.normalize("NFKC", char)))
        escapes = (f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))
        pieces.append(char if visible else "".join(escapes))
    return "".join(pieces)


def split_part(part: bytes) -> list[tuple[str, bool]]:
    """Return the texts and types of a part of a template, in order, and whether each is a type."""
    return [
        (KINDS[piece[1]], True) if i % 2 else (piece.decode("ascii", "backslashreplace"), False)
        for i, piece in enumerate(_WILDCARD.split(part))
        if piece
    ]


def singular(word: str) -> str:
    """Return the singular of an English plural, by its ending.

    Examples
    --------
    >>> from nearkin.patterns.url_pattern import singular
    >>> singular("users"), singular("categories"), singular("address")
    ('user', 'category', 'address')
    """
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


@dataclass(frozen=True)
class UrlParameter:
    """A query parameter of a pattern.

    Attributes
    ----------
    key : str
    literal : str or None
        Value of a dispatching parameter.
    kind : str or None
        Type of the values; None for a key without values.
    optional : bool
        True if some requests lack it.
    repeated : bool
        True if some requests repeat it.
    """

    key: str
    literal: str | None
    kind: str | None
    optional: bool
    repeated: bool

    @property
    def text(self) -> str:
        """The parameter as in the text of a pattern."""
        if self.literal is not None:
            return f"{self.key}={self.literal}"
        return self.key if self.kind is None else f"{self.key}={{{self.kind}}}"


@dataclass(frozen=True)
class UrlPattern:
    """A pattern of URLs, in parts.

    Attributes
    ----------
    template : bytes
        The pattern as a template.
    method : str
        Empty if unknown.
    scheme : str
        `http://` or `https://` if the host would be read as a segment without it; otherwise empty.
    host : str
        Empty if unknown.
    path : tuple of bytes
        Segments, with wildcards as in templates.
    parameters : tuple of UrlParameter
        Sorted by key.
    count : int
        Number of requests.
    """

    template: bytes
    method: str
    scheme: str
    host: str
    path: tuple[bytes, ...]
    parameters: tuple[UrlParameter, ...]
    count: int

    @cached_property
    def path_text(self) -> str:
        """The path, with types in braces."""
        return "/" + "/".join(template_text(part) for part in self.path)

    def _format(self, parameters: list[UrlParameter], scheme: str = "") -> str:
        query = "&".join(parameter.text for parameter in parameters)
        method = f"{self.method} " if self.method else ""
        return f"{method}{scheme}{self.host}{self.path_text}" + (f"?{query}" if query else "")

    @cached_property
    def text(self) -> str:
        """The pattern as a URL."""
        return self._format(list(self.parameters), self.scheme)

    @property
    def literals(self) -> dict[str, str]:
        """Values of the dispatching parameters, by key."""
        return {parameter.key: parameter.literal for parameter in self.parameters if parameter.literal is not None}

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits that depend on the method, the host, the path and the dispatching parameters."""
        return pattern_id(self._format([parameter for parameter in self.parameters if parameter.literal is not None]))

    @cached_property
    def names(self) -> list[str]:
        """Names of the variables, decoded: of the preceding text in a path, of the key in a query."""
        keys: list[str | None] = []
        before: str | None = None
        for part in self.path:
            pieces = split_part(part)
            literal = decode_url(pieces[0][0]) if pieces and not pieces[0][1] else ""
            word = re.sub("[^A-Za-z0-9\x80-\U0010ffff]+", "_", literal).strip("_")
            num_variables = sum(typed for _, typed in pieces)
            keys += [word or before] * num_variables
            before = None if num_variables else singular(word) or None
        for parameter in self.parameters:
            keys += [None] * len(re.findall(r"\{\w+\}", parameter.key))
            if parameter.literal is None and parameter.kind is not None:
                keys.append(decode_url(parameter.key))
        return variable_names(variable_types(self.template), keys)

    @property
    def variable_keys(self) -> list[str]:
        """Keys of the parameters of the variables, in the order of `names`; empty for those of the path and of keys."""
        keys = ["" for part in self.path for _, typed in split_part(part) if typed]
        for parameter in self.parameters:
            keys += [""] * len(re.findall(r"\{\w+\}", parameter.key))
            keys += [parameter.key] if parameter.literal is None and parameter.kind is not None else []
        return keys


__all__ = ["UrlParameter", "UrlPattern", "decode_url", "singular", "split_part"]
