"""Exports of patterns of URLs: regular expressions, OpenAPI, ModSecurity.

Regular expressions are for canonical URLs (`crates/nearkin-patterns`): percent-escapes in capitals, parameters in any
order. They match every URL of the pattern and more, because a type such as `slug` is reduced to its characters.
ModSecurity sees decoded paths, and its expressions are for those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from urllib.parse import unquote

from nearkin.patterns.url_pattern import UrlParameter, UrlPattern, split_part
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

_DECODED = {
    "int": r"[-+]?\d+",
    "float": r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?",
    "hex": r"[-+]?(?:0[xX])?[0-9a-fA-F-]+",
    "uuid": _TYPES["uuid"],
    "version": r"[-+]?[vV.]?\d[0-9A-Za-z.+_-]*",
}
"""Expressions for decoded paths and values; other types end at a slash."""


def _type_regex(kind: str, *, query: bool) -> str:
    if kind in _TYPES:
        return _TYPES[kind] if query else _TYPES[kind].replace("./]", ".]").replace("_/-]", "_-]").replace(":/]", ":]")
    if kind == "tail":
        return r"[^?#]+"
    if kind in ("text", "path", "url"):
        return r"[^&#]+" if query else r"[^/?#]+"
    return _NAME if not query else _NAME.replace("=&;-]", "=;/?-]")


def _part_regex(part: bytes, *, decoded: bool = False) -> str:
    pieces = []
    for text, typed in split_part(part):
        if not typed:
            pieces.append(re.escape(unquote(text) if decoded else text))
        elif decoded:
            pieces.append(r".+" if text == "tail" else _DECODED.get(text, r"[^/]+"))
        else:
            pieces.append(_type_regex(text, query=False))
    return "".join(pieces)


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
        if characters := limits.characters(r"\u0080-\uffff"):
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


def _path_regex(pattern: UrlPattern) -> str:
    """Return an expression for the decoded path, anchored; a slash at the end is optional."""
    path = "/".join(_part_regex(part, decoded=True) for part in pattern.path).replace('"', r"\x22")
    return f"^/{path}/?$" if path else "^/$"


def _group_by_path(patterns: list[UrlPattern]) -> list[tuple[str, list[UrlPattern]]]:
    """Return patterns by the expressions of their decoded paths, paths without variables first."""
    groups: dict[tuple[bool, str], list[UrlPattern]] = {}
    for pattern in patterns:
        groups.setdefault(("{" in pattern.path_text, _path_regex(pattern)), []).append(pattern)
    return [(path, groups[typed, path]) for typed, path in sorted(groups)]


def to_modsecurity(patterns: list[UrlPattern], profiles: Profiles, *, first_rule: int) -> str:
    """Return rules of ModSecurity (2.9, 3) that refuse unmatched requests (404), and values of other types, with other
    characters or of other lengths (400).
    """
    number = first_rule
    lines = [f'SecAction "id:{number},phase:2,pass,nolog,setvar:tx.known=0"']
    hosts = {pattern.host for pattern in patterns}
    for path, group in _group_by_path(patterns):
        # Patterns with dispatching parameters come before the one without.
        for pattern in sorted(group, key=lambda pattern: (-len(pattern.literals), pattern.text)):
            number += 1
            rules = _rules(pattern, path, number, profiles, test_host=len(hosts) > 1)
            lines += [f"# {pattern.text}", *(line for rule in rules for line in rule)]
            number += len(rules) - 1
    lines.append(f'SecRule TX:known "@eq 0" "id:{number + 1},phase:2,deny,status:404,log,msg:\'no pattern\'"')
    return "\n".join(lines) + "\n"


def _rules(pattern: UrlPattern, path: str, number: int, profiles: Profiles, *, test_host: bool) -> list[list[str]]:
    """Return rules: one that matches the pattern, one for names of parameters, one for each parameter with a type or
    limits that can be tested.
    """
    tests = [("TX:known", "@eq 0", "")]
    if test_host and pattern.host:
        host = pattern.host.rpartition("//")[2]
        tests.append(("REQUEST_HEADERS:Host", f"@rx (?i)^{re.escape(host)}(?::[0-9]+)?$", ""))
    tests += [("REQUEST_METHOD", f"@streq {pattern.method}", "")] if pattern.method else []
    tests.append(("REQUEST_FILENAME", f"@rx {path}", "t:none,t:urlDecodeUni,t:normalizePath"))
    tests += [(f"ARGS:{unquote(key)}", f"@streq {unquote(value)}", "") for key, value in pattern.literals.items()]
    rules = [_chain(number, tests, "pass,nolog", f"setvar:tx.known={number}")]
    matched = ("TX:known", f"@eq {number}", "")
    names = "|".join(re.escape(unquote(parameter.key)) for parameter in pattern.parameters).replace('"', r"\x22")
    action = f"deny,status:400,log,msg:'no such parameter of {pattern.id}'"
    test = ("ARGS_NAMES", f"!@rx ^(?:{names})$" if names else "@unconditionalMatch", "")
    rules.append(_chain(number + 1, [matched, test], action, ""))
    values = _parameter_profiles(pattern, profiles)
    for parameter in pattern.parameters:
        if parameter.literal is not None or parameter.kind is None:
            continue
        limits = ValueLimits.of([values[parameter.key]]) if parameter.key in values else None
        # A precise type has its own characters.
        expression = _DECODED.get(parameter.kind, "")
        if not expression and limits is not None and (characters := limits.characters(r"\x80-\xff")):
            expression = f"{characters}{{0,{limits.max_length}}}"
        if expression:
            action = f"deny,status:400,log,msg:'{parameter.kind} expected by {pattern.id}'"
            expression = expression.replace('"', r"\x22")
            test = (f"ARGS:{unquote(parameter.key)}", f"!@rx ^(?:{expression})?$", "")
            rules.append(_chain(number + len(rules), [matched, test], action, ""))
    return rules


def _chain(number: int, tests: list[tuple[str, str, str]], action: str, last: str) -> list[str]:
    """Return the lines of a rule with several tests."""
    lines = []
    for i, (variable, test, transform) in enumerate(tests):
        actions = [f"id:{number},phase:2,{action}"] if i == 0 else []
        actions += [transform] if transform else []
        actions += ["chain"] if i + 1 < len(tests) else [last] if last else []
        tail = f' "{",".join(actions)}"' if actions else ""
        lines.append(f'{"    " * i}SecRule {_variable(variable)} "{test}"{tail}')
    return lines


def _variable(name: str) -> str:
    """Return a variable of ModSecurity: an expression if its name has a character that would end it."""
    collection, colon, key = name.partition(":")
    if re.fullmatch(r"[A-Za-z0-9_.-]*", key):
        return name
    # A dot stands for characters that would end the expression or the variable.
    expression = re.sub(r"[\s|\"'/,]", ".", re.escape(key).replace("\\ ", "."))
    return f"{collection}{colon}/^{expression}$/"


__all__ = ["to_modsecurity", "to_openapi", "to_regex"]
