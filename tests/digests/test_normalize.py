"""nearkin.digests.ssdeep.normalize: normalisation of text before hashing."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.digests.ssdeep.hashing import STEPS, check_steps
from nearkin.errors import ParameterError


def test_normalisation_happens_on_request_and_keeps_bytes() -> None:
    """Markup, line ends and spaces do not change the digest; bytes that are not UTF-8 are kept."""
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
    """Tags, comments and scripts are removed, blocks separated and references resolved."""
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
    """300,000 unfinished tags need linear time; a quadratic scan would need 10^11 steps."""
    assert expected == nk.ssdeep.normalize(unit * 300_000, "html")


@given(st.binary(max_size=300), st.lists(st.sampled_from(["html", "lines", "space"])))
def test_steps_have_one_order(data: bytes, steps: list[str]) -> None:
    """Order and repetition of steps do not matter; the result is bytes."""
    expected = data
    for step in ("html", "lines", "space"):
        if step in steps:
            expected = nk.ssdeep.normalize(expected, step)
    assert expected == nk.ssdeep.normalize(data, steps)


@given(st.binary(max_size=300))
def test_lines_and_space_do_what_their_definition_says(data: bytes) -> None:
    """CR LF and CR become LF, and runs of white space one blank; both steps are idempotent."""
    lines = nk.ssdeep.normalize(data, "lines")
    assert data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") == lines
    text = data.decode("utf-8", "surrogateescape")
    space = nk.ssdeep.normalize(data, "space")
    assert " ".join(text.split()).encode("utf-8", "surrogateescape") == space
    assert (lines, space) == (nk.ssdeep.normalize(lines, "lines"), nk.ssdeep.normalize(space, "space"))


@pytest.mark.parametrize("steps", [3, None, [3], "xml", ["space", "xml"], [["space"]], b"space"])
def test_what_names_no_steps_is_refused(steps: Any) -> None:
    """Invalid steps are refused, also in a recipe."""
    with pytest.raises(ParameterError, match="any of 'html', 'lines' and 'space'"):
        nk.ssdeep.normalize(b"", steps)
    with pytest.raises(ParameterError, match="any of 'html', 'lines' and 'space'"):
        nk.ssdeep.DigestRecipe().with_(normalize=steps)


PIECES: list[tuple[str, str]] = [
    ("word", "word"),
    (" \t ", " \t "),
    ("\r\n", "\r\n"),
    ("5 > 3 ", "5 > 3 "),
    ('it\'s "so" ', 'it\'s "so" '),
    ("&amp;&#65;&#x42;&eacute;", "&ABé"),
    ("&#0000065;&#99999999;", "A\ufffd"),
    ("< ", "< "),
    ("<3 ", "<3 "),
    ("<b>", ""),
    ("</B >", ""),
    ("<a href='x>y' title=\"<p>\">", ""),
    ("<p>", "\n"),
    ("</P>", "\n"),
    ("<br/>", "\n"),
    ("<h1 class = '>'>", "\n"),
    ("<pre\n>", "\n"),
    ("<!-- <p> -- > 'x -->", ""),
    ("<!DOCTYPE html>", ""),
    ("<?xml version='1.0'?>", ""),
    ("</ >", ""),
    ("<script a='</script>'>if (a < b) { '<p>' }</SCRIPT x='>'>", ""),
    ("<style><!-- p { } </style\n>", ""),
    ("<template><script></template>", ""),
    ("<scripts>", ""),
    ("</style>", ""),
    ("名\udcff", "名\udcff"),
]


@given(st.lists(st.sampled_from(PIECES)), st.sets(st.sampled_from(["html", "lines", "space"])))
def test_steps_are_their_plain_definitions_one_after_another(pieces: list[tuple[str, str]], steps: set[str]) -> None:
    """Generated markup becomes the text of its pieces, then lines and spaces are normalised."""
    markup, text = ("".join(side) for side in zip(*pieces, strict=True)) if pieces else ("", "")
    expected = text if "html" in steps else markup
    if "lines" in steps:
        expected = re.sub("\r\n?", "\n", expected)
    if "space" in steps:
        expected = re.sub(r"\s+", " ", expected).strip(" ")
    data = markup.encode("utf-8", "surrogateescape")
    assert expected.encode("utf-8", "surrogateescape") == nk.ssdeep.normalize(data, steps)


@given(st.binary(max_size=60))
def test_no_steps_change_nothing(data: bytes) -> None:
    """Without steps the same object is returned, and the recipe has only the name of the family."""
    none: list[Iterable[str]] = [[], (), set(), iter(())]
    for steps in none:
        assert data is nk.ssdeep.normalize(data, steps)
    assert "ssdeep" == str(nk.ssdeep.DigestRecipe().with_(normalize=()))


@given(st.lists(st.sampled_from(STEPS), max_size=6))
def test_steps_are_named_in_their_order_once(steps: list[str]) -> None:
    """Steps are returned in canonical order; a single step may be a string."""
    expected = tuple(step for step in ("html", "lines", "space") if step in steps)
    assert expected == check_steps(steps) == check_steps(iter(steps)) == check_steps(dict.fromkeys(steps))
    for step in steps:
        assert (step,) == check_steps(step)


@pytest.mark.parametrize(
    ("steps", "found"), [("HTML", "'HTML'"), (["space", "xml"], "'xml'"), (None, "None"), ("", "''")]
)
def test_an_unknown_step_is_named(steps: Any, found: str) -> None:
    """The error contains the first unknown step and the allowed ones."""
    with pytest.raises(ParameterError) as refused:
        check_steps(steps)
    assert f"normalize={found} is not allowed; use any of 'html', 'lines' and 'space'" == str(refused.value)


@pytest.mark.parametrize("steps", ["html", (), ["lines"]])
def test_bytes_alone_are_normalised(steps: Any) -> None:
    """A str is refused with advice; all byte types become bytes."""
    with pytest.raises(ParameterError) as refused:
        nk.ssdeep.normalize("a", steps)  # type: ignore[arg-type]  # the point
    assert "data='a' is not allowed; use bytes; text.encode() makes them of a text" == str(refused.value)
    for data in (b"a", bytearray(b"a"), memoryview(b"a")):
        assert b"a" == nk.ssdeep.normalize(data, steps)
