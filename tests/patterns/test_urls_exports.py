"""Exports of patterns of URLs: expressions match their URLs, and documents are valid."""

from __future__ import annotations

import re
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin._core import canonical_url
from nearkin.patterns.urls import UrlPatterns
from small_site import traffic


@pytest.fixture(scope="module")
def site() -> UrlPatterns:
    """Patterns of a small site with every type."""
    more = [
        f"GET http://shop.example/mixed/{value}?v={value}&flag&w=x"
        for value in (
            "2024-05-01",
            "10.0.0.1",
            "jo@example.com",
            "1.2.3-rc1",
            "0b2a5c9e-8f1d-4a3b-9c7e-1d2f3a4b5c6d",
            "-4",
        )
    ]
    files = [f"GET http://shop.example/static/{'/'.join('abcd'[: n % 4])}/f{n}.css" for n in range(60)]
    return UrlPatterns().fit([*traffic(), *more * 3, *files, *["GET http://shop.example/caf%C3%A9/(a)+b?c=%2B%26"] * 6])


PARTS = st.sampled_from(
    [
        "users",
        "list",
        "orders",
        "api",
        "v1",
        "blog",
        "index.php",
        "search",
        "files",
        "mixed",
        "static",
        "a",
        "12",
        "-3",
        "é",
        "red-house.html",
    ]
)
VALUES = st.one_of(
    st.sampled_from(
        [
            "12",
            "red",
            "red blue",
            "a/b",
            "x'y",
            "2024-05-01",
            "10:30",
            "[::1]",
            "1.5",
            "a&b",
            "%00",
            "cart",
            "user",
            "show",
            "login",
        ]
    ),
    st.text(string.printable, max_size=12),
    st.text(max_size=6),
)


def quote(text: str) -> str:
    """Return a text with percent-escapes for the characters that values must not contain."""
    return "".join(
        f"%{byte:02x}" if chr(byte) in '&#?/% "<>' or byte < 33 or byte > 126 else chr(byte)
        for byte in text.encode("utf-8", "replace")
    )


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_expressions_match_the_urls_of_their_patterns(site: UrlPatterns, data: Any) -> None:
    """If a pattern matches a URL, its expression does, for any values."""
    pattern = data.draw(st.sampled_from(site.patterns))
    path = []
    for part in pattern.path_text[1:].split("/"):
        value = data.draw(VALUES) if "{" in part else None
        path.append(part if value is None else re.sub(r"\{\w+\}", quote(value).replace("\\", ""), part))
    query = []
    for parameter in pattern.parameters:
        if parameter.literal is not None:
            query.append(f"{parameter.key}={parameter.literal}")
        elif data.draw(st.booleans()):
            query.append(f"{parameter.key}={quote(data.draw(VALUES))}")
    url = f"{pattern.method} http://{pattern.host}/{'/'.join(path)}?{'&'.join(data.draw(st.permutations(query)))}"
    match = site.match(url)
    if match is not None:
        text, _ = canonical_url(url.encode())
        assert text is not None
        canonical = text.decode().split(" ", 1)[1]
        assert re.search(site.to_regex(match.id, host=True), canonical), (match, canonical)
        assert re.search(site.to_regex(match.id), canonical.removeprefix("shop.example"))


def test_expressions_match_the_examples(site: UrlPatterns) -> None:
    """Expressions match the examples of their patterns, and reject similar URLs."""
    for row in site.table().to_pylist():
        for example in row["examples"]:
            text, _ = canonical_url(example.encode())
            assert text is not None
            assert re.search(site.to_regex(row["id"], host=True), text.decode().split(" ", 1)[1])
    users = next(row for row in site.table().to_pylist() if "/users/{int}" in row["pattern"])
    expression = re.compile(site.to_regex(users["id"]))
    assert expression.search("/api/v1/users/7/orders?size=1&page=2")
    for other in (
        "/api/v1/users/list",
        "/api/v1/users/7",
        "/api/v1/users/7/orders?other=1",
        "/x/api/v1/users/7/orders",
    ):
        assert not expression.search(other)


def test_an_openapi_document_has_paths_parameters_and_types(site: UrlPatterns) -> None:
    """Paths that differ in types are one; dispatching parameters are enumerations; names are unique."""
    document = site.to_openapi(title="Shop", version="7")
    assert {"title": "Shop", "version": "7"} == document["info"]
    assert [{"url": "//shop.example"}] == document["servers"]
    orders = document["paths"]["/api/v1/users/{user}/orders"]
    assert [
        {"name": "user", "in": "path", "required": True, "schema": {"type": "integer", "format": "int64"}}
    ] == orders["parameters"]
    assert {"page", "size"} == {parameter["name"] for parameter in orders["get"]["parameters"]}
    front = {parameter["name"]: parameter for parameter in document["paths"]["/index.php"]["get"]["parameters"]}
    assert ["cart", "user"] == front["m"]["schema"]["enum"]
    assert front["m"]["required"]
    assert "required" not in front["id"]
    bare = [re.sub(r"\{[^}]*\}", "{}", path) for path in document["paths"]]
    assert len(bare) == len(set(bare))
    for path, item in document["paths"].items():
        names = re.findall(r"\{([^}]*)\}", path)
        assert len(names) == len(set(names))
        assert names == [parameter["name"] for parameter in item.get("parameters", [])]


def test_an_openapi_document_is_valid(site: UrlPatterns) -> None:
    """The validator of the specification accepts it, if it is installed."""
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(site.to_openapi())
