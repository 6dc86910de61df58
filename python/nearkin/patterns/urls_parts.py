"""A pattern of URLs in parts: what exports, names of variables and ids are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from nearkin.patterns.tables import KINDS, id_of, names_of

_HOLE = re.compile(rb"\xff([\x01-\xfe])")


def part_text(part: bytes) -> str:
    """A part with its holes as `{type}`."""
    return _HOLE.sub(lambda hole: b"{" + KINDS[hole[1][0]].encode() + b"}", part).decode("ascii", "backslashreplace")


def pieces_of(part: bytes) -> list[tuple[str, bool]]:
    """Texts and types of a part, in order; whether each is a type."""
    found, start = [], 0
    for hole in _HOLE.finditer(part):
        if hole.start() > start:
            found.append((part[start : hole.start()].decode("ascii", "backslashreplace"), False))
        found.append((KINDS[hole[1][0]], True))
        start = hole.end()
    if start < len(part):
        found.append((part[start:].decode("ascii", "backslashreplace"), False))
    return found


def singular(word: str) -> str:
    """The name of one thing of a collection, as English writes it mostly.

    Examples
    --------
    >>> from nearkin.patterns.urls_parts import singular
    >>> singular("users"), singular("categories"), singular("address")
    ('user', 'category', 'address')
    """
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


@dataclass(frozen=True)
class UrlParameter:
    """A parameter of a pattern.

    Attributes
    ----------
    key : str
    literal : str or None
        The value that it has, if it dispatches.
    kind : str or None
        The type of its values; None for a key that has none.
    optional : bool
        Whether some requests lack it.
    repeated : bool
        Whether some requests have it more than once.
    """

    key: str
    literal: str | None
    kind: str | None
    optional: bool
    repeated: bool

    @property
    def text(self) -> str:
        """The parameter as a pattern writes it."""
        if self.literal is not None:
            return f"{self.key}={self.literal}"
        return self.key if self.kind is None else f"{self.key}={{{self.kind}}}"


@dataclass(frozen=True)
class UrlPattern:
    """A pattern in parts.

    Attributes
    ----------
    form : bytes
        Its bytes as a form.
    method, host : str
        Empty where none is known.
    path : tuple of bytes
        Segments, holes as forms write them.
    parameters : tuple of UrlParameter
        By key.
    count : int
        Requests.
    """

    form: bytes
    method: str
    host: str
    path: tuple[bytes, ...]
    parameters: tuple[UrlParameter, ...]
    count: int

    @cached_property
    def path_text(self) -> str:
        """The path, with types in braces."""
        return "/" + "/".join(part_text(part) for part in self.path)

    def _written(self, parameters: list[UrlParameter]) -> str:
        query = "&".join(parameter.text for parameter in parameters)
        method = f"{self.method} " if self.method else ""
        return f"{method}{self.host}{self.path_text}" + (f"?{query}" if query else "")

    @cached_property
    def text(self) -> str:
        """The pattern as a URL."""
        return self._written(list(self.parameters))

    @cached_property
    def id(self) -> str:
        """16 hexadecimal digits: a function of method, host, path and the parameters that dispatch."""
        return id_of(self._written([parameter for parameter in self.parameters if parameter.literal is not None]))

    @cached_property
    def names(self) -> list[str]:
        """Names of the variables: in a path the name of what is before them, in a query the key."""
        keys: list[str | None] = []
        before: str | None = None
        for part in self.path:
            found = pieces_of(part)
            word = re.sub(r"[^A-Za-z0-9]+", "_", found[0][0]).strip("_") if found and not found[0][1] else ""
            for _, typed in found:
                if typed:
                    keys.append(word or before)
            if all(not typed for _, typed in found):
                before = singular(re.sub(r"[^A-Za-z0-9]+", "_", found[0][0]).strip("_")) or None
            else:
                before = None
        for parameter in self.parameters:
            keys += [None] * len(re.findall(r"\{\w+\}", parameter.key))
            if parameter.literal is None and parameter.kind is not None:
                keys.append(parameter.key)
        kinds = [KINDS[hole[1][0]] for hole in _HOLE.finditer(self.form)]
        return names_of(kinds, keys)


__all__ = ["UrlParameter", "UrlPattern", "part_text", "pieces_of", "singular"]
