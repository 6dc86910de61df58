"""Exports of patterns of URLs: regular expressions, OpenAPI.

Regular expressions are for canonical URLs (`crates/nearkin-patterns`): percent-escapes in capitals, parameters in any
order. They match every URL of the pattern and more, because a type such as `slug` is reduced to its characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from urllib.parse import unquote

from nearkin.patterns.url_pattern import UrlParameter, UrlPattern, decode_url, split_part
from nearkin.patterns.url_verdict import ValueLimits, ValueProfile

Profiles: TypeAlias = "Callable[[UrlPattern], list[ValueProfile]]"
"""Returns the profiles of the variables of a pattern, in order."""
_ESCAPE = "%[0-9A-F]{2}"
_NAME = rf"(?:[0-9A-Za-z._~:@$+,()!*'=&;-]|{_ESCAPE})+"
_TYPES = {
    "int": r"(?:[-+]|%2B)?\d+",
    "float": r"(?:[-+]|%2B)?(?:\d+\.?\d*|\.\d+)(?:[eE](?:[-+]|%2B)?\d+)?",
    "hex": r"(?:[-+]|%2B)?(?:0[xX])?[0-9a-fA-F-]+",
    "uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    # With a port, a prefix, or the zone of an interface, which has letters.
    "ip": rf"(?:[0-9A-Za-z.:/_-]|{_ESCAPE})+",
    "mac": r"[0-9a-fA-F]{2}(?:(?:[:-]|%3A)[0-9a-fA-F]{2}){5}",
    "email": rf"(?:[0-9A-Za-z._~$+!*'=&-]|{_ESCAPE})+(?:@|%40)(?:[0-9A-Za-z._-]|{_ESCAPE})+",
    "date": r"\d{1,4}(?:[-./]|%2F)\d{1,2}(?:[-./]|%2F)\d{1,4}",
    "time": r"\d{1,2}(?::|%3A)\d{2}(?:[0-9:.,Z+-]|%3A|%2B|%2C|%20)*",
    "datetime": r"(?:[0-9TtZ:.,/_+-]|%3A|%2B|%2C|%2F|%20)+",
    "quantity": r"(?:[-+]|%2B)?[0-9.]+(?:[A-Za-z]+|%25)?",
    "version": r"(?:[-+]|%2B)?[vV.]?\d(?:[0-9A-Za-z.+_-]|%2B)*",
    "word": r"(?:[A-Za-z]|%[89A-F][0-9A-F])+",
    "slug": r"(?:[0-9A-Za-z.+_/-]|%2F|%2B|%[89A-F][0-9A-F])+",
}
"""Expressions of types with a limited set of characters; other types are names, or end at a slash or ampersand."""


def _type_regex(kind: str, *, query: bool) -> str:
    if kind in _TYPES:
        return _TYPES[kind] if query else _TYPES[kind].replace("./]", ".]").replace("_/-]", "_-]").replace(":/]", ":]")
    if kind == "tail":
        return r"[^?#]+"
    if kind in ("text", "path", "url"):
        return r"[^&#]+" if query else r"[^/?#]+"
    return _NAME if not query else _NAME.replace("=&;-]", "=;/?-]")


def _part_regex(part: bytes) -> str:
    return "".join(_type_regex(text, query=False) if typed else re.escape(text) for text, typed in split_part(part))


def _parameter_regex(parameter: UrlParameter) -> str:
    key = "".join(
        _type_regex(piece[1:-1], query=True) if re.fullmatch(r"\{[a-z]+\}", piece) else re.escape(piece)
        for piece in re.split(r"(\{[a-z]+\})", parameter.key)
        if piece
    )
    if parameter.literal is not None:
        return f"{key}={re.escape(parameter.literal)}"
    if parameter.kind is None:
        return f"{key}(?:=)?"
    return f"{key}(?:=(?:{_type_regex(parameter.kind, query=True)})?)?"


def to_regex(pattern: UrlPattern, *, host: bool = False) -> str:
    """Return a regular expression for the canonical paths and queries of a pattern, anchored at both ends."""
    path = "/" + "/".join(_part_regex(part) for part in pattern.path)
    start = re.escape(pattern.host) if host else ""
    dispatch = "".join(
        rf"(?=[^?]*\?(?:.*&)?{_parameter_regex(parameter)}(?:&|$))"
        for parameter in pattern.parameters
        if parameter.literal is not None
    )
    parameters = "|".join(_parameter_regex(parameter) for parameter in pattern.parameters)
    query = rf"(?:\?(?:{parameters})(?:&(?:{parameters}))*)?" if parameters else ""
    # A slash at the end is optional.
    return f"^{dispatch}{start}{path.rstrip('/')}/?{query}$"


_SCHEMAS: dict[str, dict[str, str]] = {
    "int": {"type": "integer", "format": "int64"},
    "float": {"type": "number"},
    "uuid": {"type": "string", "format": "uuid"},
    "email": {"type": "string", "format": "email"},
    "datetime": {"type": "string", "format": "date-time"},
    "url": {"type": "string", "format": "uri"},
    "ip": {"type": "string", "format": "ip"},
}
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def _schema(kinds: Iterable[str], limits: ValueLimits | None = None) -> dict[str, Any]:
    """Return the schema of values of these types, with their limits."""
    schemas = [_limit(_SCHEMAS.get(kind, {"type": "string", "x-type": kind}), limits) for kind in sorted(set(kinds))]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _limit(schema: dict[str, str], limits: ValueLimits | None) -> dict[str, Any]:
    """Return the schema of a type with the limits of its values."""
    limited: dict[str, Any] = dict(schema)
    if limits is not None and schema["type"] == "string":
        limited["maxLength"] = limits.max_length
        if characters := limits.characters:
            limited["pattern"] = f"^{characters}*$"
    elif limits is not None and schema["type"] == "integer" and limits.numbers is not None:
        limited["minimum"] = min(0, limits.numbers[0])
        limited["maximum"] = min(4 * limits.numbers[1], (1 << 63) - 1)
    return limited


def _path_template(pattern: UrlPattern) -> tuple[str, list[tuple[str, str]]]:
    """Return the path of a pattern with names of variables in braces, and the name and type of each variable."""
    parts = [split_part(part) for part in pattern.path]
    types = [piece for part in parts for piece, typed in part if typed]
    names = iter(pattern.names)
    path = "/".join("".join(f"{{{next(names)}}}" if typed else piece for piece, typed in part) for part in parts)
    return f"/{path}", list(zip(pattern.names, types, strict=False))


def to_openapi(patterns: list[UrlPattern], profiles: Profiles, *, title: str, version: str) -> dict[str, Any]:
    """Return an OpenAPI 3.0 document, with the limits of values.

    The specification demands that paths that differ only in types or names of variables are one path. Patterns that
    differ only in a dispatching parameter are one operation, and the values of the parameter are an enumeration.
    `x-patterns` lists the patterns of an operation.
    """
    groups: dict[str, list[UrlPattern]] = {}
    for pattern in sorted(patterns, key=lambda pattern: pattern.text):
        groups.setdefault(re.sub(r"\{[^}]*\}", "{}", _path_template(pattern)[0]), []).append(pattern)
    hosts = sorted({pattern.host for pattern in patterns if pattern.host})
    document: dict[str, Any] = {"openapi": "3.0.3", "info": {"title": title, "version": version}}
    if hosts:
        document["servers"] = [{"url": _server(host)} for host in hosts]
    document["paths"] = {}
    for group in groups.values():
        document["paths"][_path_template(group[0])[0]] = _path_item(group, hosts, profiles)
    return document


def _server(host: str) -> str:
    return host if "://" in host else f"//{host}"


def _path_item(group: list[UrlPattern], hosts: list[str], profiles: Profiles) -> dict[str, Any]:
    """Return the path item of patterns with one path."""
    names = [name for name, _ in _path_template(group[0])[1]]
    kinds = list(zip(*([kind for _, kind in _path_template(pattern)[1]] for pattern in group), strict=True))
    item: dict[str, Any] = {}
    if names:
        item["parameters"] = [
            {
                "name": name,
                "in": "path",
                "required": True,
                "schema": _schema(types, ValueLimits.of(profiles(pattern)[number] for pattern in group)),
            }
            for number, (name, types) in enumerate(zip(names, kinds, strict=True))
        ]
    own_hosts = sorted({pattern.host for pattern in group if pattern.host})
    if own_hosts and own_hosts != hosts:
        item["servers"] = [{"url": _server(host)} for host in own_hosts]
    methods: dict[str, list[UrlPattern]] = {}
    for pattern in group:
        methods.setdefault(pattern.method.lower() or "get", []).append(pattern)
    for method, patterns in sorted(methods.items()):
        key = method if method in _METHODS else f"x-{method}"
        item[key] = {
            "operationId": patterns[0].id,
            "summary": decode_url(_path_template(patterns[0])[0]),
            "x-patterns": [pattern.text for pattern in patterns],
            "responses": {"default": {"description": "Any response."}},
        }
        if parameters := _query_parameters(patterns, profiles):
            item[key]["parameters"] = parameters
    return item


def _parameter_profiles(pattern: UrlPattern, profiles: Profiles) -> dict[str, ValueProfile]:
    """Return the profiles of the parameters of a pattern, by key."""
    return dict(zip(pattern.variable_keys, profiles(pattern), strict=True))


def _query_parameters(patterns: list[UrlPattern], profiles: Profiles) -> list[dict[str, Any]]:
    """Return the query parameters of an operation."""
    by_key: dict[str, list[UrlParameter]] = {}
    values: dict[str, list[ValueProfile]] = {}
    for pattern in patterns:
        for key, profile in _parameter_profiles(pattern, profiles).items():
            values.setdefault(key, []).append(profile)
        for parameter in pattern.parameters:
            by_key.setdefault(parameter.key, []).append(parameter)
    rows = []
    for key, parameters in sorted(by_key.items()):
        literals = sorted({parameter.literal for parameter in parameters if parameter.literal is not None})
        kinds = [parameter.kind or "text" for parameter in parameters if parameter.literal is None]
        schema: dict[str, Any] = (
            {"type": "string", "enum": literals}
            if literals and not kinds
            else _schema(kinds or ["text"], ValueLimits.of(values.get(key, [])))
        )
        if any(parameter.repeated for parameter in parameters):
            schema = {"type": "array", "items": schema}
        row: dict[str, Any] = {"name": unquote(key), "in": "query", "schema": schema}
        if len(parameters) == len(patterns) and not any(parameter.optional for parameter in parameters):
            row["required"] = True
        if any(parameter.kind is None and parameter.literal is None for parameter in parameters):
            row["allowEmptyValue"] = True
        rows.append(row)
    return rows


__all__ = ["to_openapi", "to_regex"]
