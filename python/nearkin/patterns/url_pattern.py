"""The parts of a pattern of URLs, from which names of variables, ids and exports are built."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from nearkin.patterns.tables import KINDS, pattern_id, template_text, variable_names, variable_types

_WILDCARD = re.compile(rb"(\xff[\x01-\xfe])")


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
        """Names of the variables: of the preceding text in a path, of the key in a query."""
        keys: list[str | None] = []
        before: str | None = None
        for part in self.path:
            pieces = split_part(part)
            word = re.sub(r"[^A-Za-z0-9]+", "_", pieces[0][0]).strip("_") if pieces and not pieces[0][1] else ""
            num_variables = sum(typed for _, typed in pieces)
            keys += [word or before] * num_variables
            before = None if num_variables else singular(word) or None
        for parameter in self.parameters:
            keys += [None] * len(re.findall(r"\{\w+\}", parameter.key))
            if parameter.literal is None and parameter.kind is not None:
                keys.append(parameter.key)
        return variable_names(variable_types(self.template), keys)

    @property
    def variable_keys(self) -> list[str]:
        """Keys of the parameters of the variables, in the order of `names`; empty for those of the path and of keys."""
        keys = ["" for part in self.path for _, typed in split_part(part) if typed]
        for parameter in self.parameters:
            keys += [""] * len(re.findall(r"\{\w+\}", parameter.key))
            keys += [parameter.key] if parameter.literal is None and parameter.kind is not None else []
        return keys


__all__ = ["UrlParameter", "UrlPattern", "singular", "split_part"]
