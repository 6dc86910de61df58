"""Text before it is hashed: nearkin.ssdeep.text."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import ParameterError


def test_normalisation_happens_on_request_and_keeps_bytes() -> None:
    """The same words under other markup, line ends and spaces get one digest; bytes that are not UTF-8 stay."""
    words = [f"word{i}" for i in range(3000)]
    plain = "\n".join(words).encode()
    page = ("<html><style>p{}</style><body>" + "".join(f"<p>{word}</p>\r\n" for word in words)).encode()
    assert nk.ssdeep.hash(plain) != nk.ssdeep.hash(page)
    expected = nk.ssdeep.hash(" ".join(words).encode())
    assert expected == nk.ssdeep.hash(plain, normalize="space") == nk.ssdeep.hash(page, normalize=["space", "html"])
    assert expected == nk.ssdeep.hash(io.BytesIO(page), normalize=("html", "space"))
    assert b"a\xff\nb" == nk.ssdeep.normalize(b"a\xff\r\nb", "lines")
    assert b"\xff x \xed\xa0\x80 \xef\xbf\xbd" == nk.ssdeep.normalize(b"\xff <b>x</b> \xed\xa0\x80 &#xd800;", "html")
    with pytest.raises(ParameterError, match="any of 'html'"):
        nk.ssdeep.hash(b"", normalize="xml")


MARKUP = [
    (b"a<br>b<p>c</p>", b"a\nb\nc\n"),
    (b"one <b class='>'>two</b> \"three\"", b'one two "three"'),
    (b"1 < 2 <3 <!-- x > y --> &amp; <?pi?><!DOCTYPE html>4", b"1 < 2 <3  & 4"),
    (b"<script>if (a < b) '</p>'</script >x<STYLE>p</STYLE>y<template><p>no</p></template>", b"xy"),
    (b"x<!-- never closed <p>gone", b"x"),
    (b"x<a href='never closed>gone", b"x"),
    (b"<script>never closed", b""),
    (b"it's <i>it's</i> 5'", b"it's it's 5'"),
    (
        b"&#0000065;&#x000041;&#99999999999999999999;&#xfffffffffff; &nosuch; &lt;b&gt;",
        "AA\ufffd\ufffd &nosuch; <b>".encode(),
    ),
    (b"&#" + b"9" * 6000 + b";", "\ufffd".encode()),
]


@pytest.mark.parametrize(("markup", "expected"), MARKUP)
def test_markup_becomes_its_text(markup: bytes, expected: bytes) -> None:
    """Tags, comments and scripts go, blocks are separated, references are resolved; quotation marks in text stay."""
    assert expected == nk.ssdeep.normalize(markup, "html")


CRAFTED = [
    (b"<!--", b""),
    (b"<a ", b""),
    (b"<a b='", b""),
    (b"</", b""),
    (b"<script>", b""),
    (b"</script", b""),
    (b'<i ="', b""),
    (b"<![CDATA[", b""),
    (b"<", b"<" * 300_000),
    (b"&amp", b"&" * 300_000),
]


@pytest.mark.parametrize(("unit", "expected"), CRAFTED)
def test_crafted_markup_ends(unit: bytes, expected: bytes) -> None:
    """300,000 unfinished beginnings: none is scanned to the end more than once, which would take 10^11 steps."""
    assert expected == nk.ssdeep.normalize(unit * 300_000, "html")


@given(st.binary(max_size=300), st.lists(st.sampled_from(["html", "lines", "space"])))
def test_steps_have_one_order(data: bytes, steps: list[str]) -> None:
    """Whatever order and how often they are asked for; no step leaves the bytes."""
    expected = data
    for step in ("html", "lines", "space"):
        if step in steps:
            expected = nk.ssdeep.normalize(expected, step)
    assert expected == nk.ssdeep.normalize(data, steps)


@given(st.binary(max_size=300))
def test_lines_and_space_do_what_their_definition_says(data: bytes) -> None:
    """CR LF and CR become LF; runs of white space become one blank; a second time changes nothing."""
    lines = nk.ssdeep.normalize(data, "lines")
    assert data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") == lines
    text = data.decode("utf-8", "surrogateescape")
    space = nk.ssdeep.normalize(data, "space")
    assert " ".join(text.split()).encode("utf-8", "surrogateescape") == space
    assert (lines, space) == (nk.ssdeep.normalize(lines, "lines"), nk.ssdeep.normalize(space, "space"))


@pytest.mark.parametrize("steps", [3, None, [3], "xml", ["space", "xml"], [["space"]], b"space"])
def test_what_names_no_steps_is_refused(steps: Any) -> None:
    """Also where it comes from a file of recipes."""
    with pytest.raises(ParameterError, match="any of 'html', 'lines' and 'space'"):
        nk.ssdeep.normalize(b"", steps)
    with pytest.raises(ParameterError, match="any of 'html', 'lines' and 'space'"):
        nk.ssdeep.DigestRecipe().with_(normalize=steps)
