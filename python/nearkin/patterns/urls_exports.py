"""What other programs make of patterns of URLs: regular expressions, OpenAPI, nginx, ModSecurity.

A regular expression is about canonical URLs (core: `patterns/urls/canonical.rs`): percent-escapes in capitals,
parameters in any order. It matches whatever the pattern matches, and more: types such as `slug` are told by their
characters alone. nginx and ModSecurity see decoded paths; what they are given is about those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

from nearkin.patterns.urls_parts import UrlParameter, UrlPattern, pieces_of

_ESCAPE = "%[0-9A-F]{2}"
_NAME = rf"(?:[0-9A-Za-z._~:@$+,()!*'=&;-]|{_ESCAPE})+"
_TYPES = {
    "int": r"(?:[-+]|%2B)?\d+",
    "float": r"(?:[-+]|%2B)?(?:\d+\.?\d*|\.\d+)(?:[eE](?:[-+]|%2B)?\d+)?",
    "hex": r"(?:[-+]|%2B)?(?:0[xX])?[0-9a-fA-F-]+",
    "uuid": r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    "ip": rf"(?:[0-9a-fA-F.:/]|{_ESCAPE})+",
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
"""Types whose characters say something; all others are names, or what a slash or an ampersand ends."""

_DECODED = {
    "int": r"[-+]?\d+",
    "float": r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?",
    "hex": r"[-+]?(?:0[xX])?[0-9a-fA-F-]+",
    "uuid": _TYPES["uuid"],
    "version": r"[-+]?[vV.]?\d[0-9A-Za-z.+_-]*",
}
"""The same for decoded paths and values; all others are whatever a slash ends."""


def _type_regex(kind: str, *, query: bool) -> str:
    if kind in _TYPES:
        return _TYPES[kind] if query else _TYPES[kind].replace("./]", ".]").replace("_/-]", "_-]").replace(":/]", ":]")
    if kind == "tail":
        return r"[^?#]+"
    if kind in ("text", "path", "url"):
        return r"[^&#]+" if query else r"[^/?#]+"
    return _NAME if not query else _NAME.replace("=&;-]", "=;/?-]")


def _part_regex(part: bytes, *, decoded: bool = False) -> str:
    found = []
    for text, typed in pieces_of(part):
        if not typed:
            found.append(re.escape(unquote(text) if decoded else text))
        elif decoded:
            found.append(r".+" if text == "tail" else _DECODED.get(text, r"[^/]+"))
        else:
            found.append(_type_regex(text, query=False))
    return "".join(found)


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
    """A regular expression for the canonical path and query of what a pattern matches, anchored at both ends."""
    path = "/" + "/".join(_part_regex(part) for part in pattern.path)
    start = re.escape(pattern.host) if host else ""
    fixed = "".join(
        rf"(?=[^?]*\?(?:.*&)?{_parameter_regex(parameter)}(?:&|$))"
        for parameter in pattern.parameters
        if parameter.literal is not None
    )
    any_of = "|".join(_parameter_regex(parameter) for parameter in pattern.parameters)
    query = rf"(?:\?(?:{any_of})(?:&(?:{any_of}))*)?" if any_of else ""
    # A slash at the end does not matter.
    return f"^{fixed}{start}{path.rstrip('/')}/?{query}$"


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


def _schema(kinds: Iterable[str]) -> dict[str, Any]:
    """The schema of values of these types."""
    found: list[dict[str, Any]] = []
    for kind in sorted(set(kinds)):
        schema = dict(_SCHEMAS.get(kind, {"type": "string", "x-type": kind}))
        if schema not in found:
            found.append(schema)
    return found[0] if len(found) == 1 else {"anyOf": found}


def _template(pattern: UrlPattern) -> tuple[str, list[tuple[str, str]]]:
    """The path of a pattern with names of variables in braces, and the type of each."""
    names, variables, parts = iter(pattern.names), [], []
    for part in pattern.path:
        text = ""
        for piece, typed in pieces_of(part):
            if typed:
                name = next(names)
                variables.append((name, piece))
                text += "{" + name + "}"
            else:
                text += piece
        parts.append(text)
    return "/" + "/".join(parts), variables


def to_openapi(patterns: list[UrlPattern], *, title: str, version: str) -> dict[str, Any]:
    """An OpenAPI 3.0 document.

    Paths that differ in types or names of variables only are one path there, as the specification wants it; so are
    patterns that a parameter dispatches, whose values are then an enumeration. `x-patterns` lists what was joined.
    """
    groups: dict[str, list[UrlPattern]] = {}
    for pattern in sorted(patterns, key=lambda pattern: pattern.text):
        groups.setdefault(re.sub(r"\{[^}]*\}", "{}", _template(pattern)[0]), []).append(pattern)
    hosts = sorted({pattern.host for pattern in patterns if pattern.host})
    document: dict[str, Any] = {"openapi": "3.0.3", "info": {"title": title, "version": version}}
    if hosts:
        document["servers"] = [{"url": _server(host)} for host in hosts]
    document["paths"] = {}
    for group in groups.values():
        template, _ = _template(group[0])
        document["paths"][template] = _path_item(group, hosts)
    return document


def _server(host: str) -> str:
    return host if "://" in host else f"//{host}"


def _path_item(group: list[UrlPattern], hosts: list[str]) -> dict[str, Any]:
    """What OpenAPI says of one path."""
    names = [name for name, _ in _template(group[0])[1]]
    kinds = list(zip(*([kind for _, kind in _template(pattern)[1]] for pattern in group), strict=True))
    item: dict[str, Any] = {}
    if names:
        item["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": _schema(found)}
            for name, found in zip(names, kinds, strict=True)
        ]
    there = sorted({pattern.host for pattern in group if pattern.host})
    if there and there != hosts:
        item["servers"] = [{"url": _server(host)} for host in there]
    methods: dict[str, list[UrlPattern]] = {}
    for pattern in group:
        methods.setdefault(pattern.method.lower() or "get", []).append(pattern)
    for method, found in sorted(methods.items()):
        key = method if method in _METHODS else f"x-{method}"
        item[key] = {
            "operationId": found[0].id,
            "x-patterns": [pattern.text for pattern in found],
            "responses": {"default": {"description": "Any response."}},
        }
        parameters = _query(found)
        if parameters:
            item[key]["parameters"] = parameters
    return item


def _query(patterns: list[UrlPattern]) -> list[dict[str, Any]]:
    """Parameters of the query of one operation."""
    found: dict[str, list[UrlParameter]] = {}
    for pattern in patterns:
        for parameter in pattern.parameters:
            found.setdefault(parameter.key, []).append(parameter)
    rows = []
    for key, parameters in sorted(found.items()):
        literals = sorted({parameter.literal for parameter in parameters if parameter.literal is not None})
        kinds = [parameter.kind or "text" for parameter in parameters if parameter.literal is None]
        schema: dict[str, Any] = (
            {"type": "string", "enum": literals} if literals and not kinds else _schema(kinds or ["text"])
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


def _path_regex(pattern: UrlPattern) -> str:
    """The decoded path, anchored; a slash at its end does not matter."""
    path = "/".join(_part_regex(part, decoded=True) for part in pattern.path).replace('"', r"\x22")
    return f"^/{path}/?$" if path else "^/$"


def _by_path(patterns: list[UrlPattern]) -> list[tuple[str, list[UrlPattern]]]:
    """Patterns by their decoded path: those without variables first, then by their expression."""
    groups: dict[tuple[bool, str], list[UrlPattern]] = {}
    for pattern in patterns:
        groups.setdefault(("{" in pattern.path_text, _path_regex(pattern)), []).append(pattern)
    return [(path, groups[typed, path]) for typed, path in sorted(groups)]


def to_nginx(patterns: list[UrlPattern]) -> str:
    """Locations of nginx."""
    lines = ["# What nobody asked for is refused. Locations are tried in this order.", "location / { return 404; }"]
    for path, group in _by_path(patterns):
        methods = sorted({pattern.method for pattern in group})
        lines += [f"# {text}" for text in sorted(pattern.text for pattern in group)]
        lines.append(f'location ~ "{path}" {{')
        if all(methods):
            lines.append(f"    limit_except {' '.join(methods)} {{ deny all; }}")
        lines += ["    # proxy_pass http://application;", "}"]
    return "\n".join(lines) + "\n"


def to_modsecurity(patterns: list[UrlPattern], *, first_rule: int) -> str:
    """Rules of ModSecurity (2.9, 3): what no pattern explains is refused with 404, a value of another type with 400."""
    number = first_rule
    lines = [f'SecAction "id:{number},phase:2,pass,nolog,setvar:tx.known=0"']
    hosts = {pattern.host for pattern in patterns}
    for path, group in _by_path(patterns):
        # Patterns that a parameter dispatches come before the one that has none.
        for pattern in sorted(
            group, key=lambda pattern: (-sum(p.literal is not None for p in pattern.parameters), pattern.text)
        ):
            number += 1
            rules = _rules(pattern, path, number, of_host=len(hosts) > 1)
            lines += [f"# {pattern.text}", *(line for rule in rules for line in rule)]
            number += len(rules) - 1
    lines.append(f'SecRule TX:known "@eq 0" "id:{number + 1},phase:2,deny,status:404,log,msg:\'no pattern\'"')
    return "\n".join(lines) + "\n"


def _rules(pattern: UrlPattern, path: str, number: int, *, of_host: bool) -> list[list[str]]:
    """The rule that knows a pattern, the one that knows its parameters, and one for each whose type is narrow."""
    tests = [("TX:known", "@eq 0", "")]
    if of_host and pattern.host:
        host = pattern.host.rpartition("//")[2]
        tests.append(("REQUEST_HEADERS:Host", f"@rx (?i)^{re.escape(host)}(?::[0-9]+)?$", ""))
    tests += [("REQUEST_METHOD", f"@streq {pattern.method}", "")] if pattern.method else []
    tests.append(("REQUEST_FILENAME", f"@rx {path}", "t:none,t:urlDecodeUni,t:normalizePath"))
    for parameter in pattern.parameters:
        if parameter.literal is not None:
            tests.append((f"ARGS:{unquote(parameter.key)}", f"@streq {unquote(parameter.literal)}", ""))
    rules = [_chain(number, tests, "pass,nolog", f"setvar:tx.known={number}")]
    known = ("TX:known", f"@eq {number}", "")
    names = "|".join(re.escape(unquote(parameter.key)) for parameter in pattern.parameters).replace('"', r"\x22")
    refused = f"deny,status:400,log,msg:'no such parameter of {pattern.id}'"
    rules.append(
        _chain(
            number + 1,
            [known, ("ARGS_NAMES", f"!@rx ^(?:{names})$" if names else "@unconditionalMatch", "")],
            refused,
            "",
        )
    )
    for parameter in pattern.parameters:
        if parameter.kind in _DECODED and parameter.literal is None:
            refused = f"deny,status:400,log,msg:'{parameter.kind} expected by {pattern.id}'"
            test = (f"ARGS:{unquote(parameter.key)}", f"!@rx ^(?:{_DECODED[parameter.kind]})?$", "")
            rules.append(_chain(number + len(rules), [known, test], refused, ""))
    return rules


def _chain(number: int, tests: list[tuple[str, str, str]], action: str, last: str) -> list[str]:
    """One rule of several tests."""
    lines = []
    for place, (variable, test, transform) in enumerate(tests):
        actions = [f"id:{number},phase:2,{action}"] if place == 0 else []
        actions += [transform] if transform else []
        actions += ["chain"] if place + 1 < len(tests) else [last] if last else []
        tail = f' "{",".join(actions)}"' if actions else ""
        lines.append(f'{"    " * place}SecRule {_variable(variable)} "{test}"{tail}')
    return lines


def _variable(name: str) -> str:
    """A variable of ModSecurity; a name that would end it, as one with a blank or a bar does, is an expression."""
    collection, colon, key = name.partition(":")
    if re.fullmatch(r"[A-Za-z0-9_.-]*", key):
        return name
    # What ends the expression or the variable is any character.
    plain = re.sub(r"[\s|\"'/,]", ".", re.escape(key).replace("\\ ", "."))
    return f"{collection}{colon}/^{plain}$/"


__all__ = ["to_modsecurity", "to_nginx", "to_openapi", "to_regex"]
