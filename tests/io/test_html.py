"""nearkin.io.html: the visible text of pages, and corpora of pages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import call
from corpora import read_all, write_rows
from nearkin.errors import MissingExtraError
from nearkin.io import PackedTexts, open_corpus
from nearkin.io.html import read_text, read_texts, visible_text

pytest.importorskip("selectolax")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("", ""),
        ("plain & <3 text", "plain & <3 text"),
        ("<p>One &amp;  <b>t</b>wo</p>\n<p>three", "One & two\nthree"),
        ("<title>T</title><style>p {}</style><p>a<script>x('<p>')</script>b", "ab"),
        ("<table><tr><td>a</td><td>b</td></tr></table>c<br>d", "a\nb\nc\nd"),
        ("<div hidden><p>no <script>x</script></div><template>no</template><noscript>no</noscript>yes", "yes"),
        ("<frameset><frame></frameset>", ""),
        ("<p>caf&eacute; &#8364; &nbsp;5", "café € 5"),
    ],
)
def test_what_a_reader_sees(page: str, text: str) -> None:
    """Hidden elements are removed, blocks end lines, and words are not split."""
    assert text == visible_text(page)


TAGS = ("p", "/p", "div hidden", "/div", "script", "/script", "svg", "template", "/template", "td", "li", "!--")


@given(st.lists(st.sampled_from([f"<{tag}>" for tag in TAGS] + ["<b", "<!--", "-->", ">", "word ", "&amp;", "\0"])))
def test_any_markup_has_a_text(parts: list[str]) -> None:
    """Broken markup never fails, and text without markup is unchanged."""
    text = visible_text("".join(parts))
    assert "\n\n" not in text
    assert text == text.strip()
    if not set("<&") & set(text):
        assert text == visible_text(text)


def test_null_pages_stay_null() -> None:
    """Nulls remain null, and rows keep their positions."""
    texts = read_texts(PackedTexts.of(["<p>a", None, "b"]), html=True)
    assert (["a", "", "b"], [1]) == (list(texts), texts.nulls.tolist())


def test_a_corpus_of_pages(tmp_path: Path) -> None:
    """Pages that differ only in markup are duplicates, and kept pages are written unchanged."""
    pages = [
        f"<html><body class='{name}'><p>The very same words on two pages.<script>{name}</script>" for name in "xyz"
    ]
    path = write_rows(tmp_path / "pages.jsonl", ({"url": str(i), "text": page} for i, page in enumerate(pages)))
    with open_corpus(path, html=True) as corpus:
        assert ["The very same words on two pages."] * 3 == read_all(corpus)[0]
        assert ["The very same words on two pages."] == list(corpus.texts([1]))
    done = call("dedup", path, "-o", tmp_path / "out", "--id-column", "url", "--html", "--json")
    assert (0, 1) == (done.code, done.json()["kept"])
    assert path.read_text().splitlines()[:1] == (tmp_path / "out" / "kept.jsonl").read_text().splitlines()


def test_the_parser_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing parser is reported before anything is read."""
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(MissingExtraError, match=r"pip install '.*\[html\]'"):
        open_corpus(tmp_path / "missing.jsonl", html=True)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<ul><li><a href=/>Home</a><li><a href=/b>Back</a></ul><p>Text", "Text"),
        ("<nav>Next</nav><p>Text, <a href=x>linked</a></p><footer>Us</footer>", "Text, linked"),
        ("<p>Us</p><main><p>Text</main>", "Text"),
        ("<p>Us</p><main></main><p>Text", "Us\nText"),
        ("<a href=x><div>One</div><div>Two</div></a><p>Text", "Text"),
        ("<p>a<a href=x>Link", "aLink"),
        ("<ul><li><a href=/>Home</a></ul>", "Home"),
        ("<table><tr><td><a href=x>f</a><td>a function</table><pre>if a:\n  b</pre>", "a function\nif a:\nb"),
    ],
)
def test_main_text_has_what_a_person_reads(page: str, expected: str) -> None:
    """Menus and lines of links are left out; code and tables stay, and so do the links of a page of links."""
    assert expected == visible_text(page, main=True)


def test_texts_that_begin_with_no_tag_are_unchanged() -> None:
    """Only pages are parsed."""
    texts = ["a < b <p>c", "  <!doctype html><p>a", "<- see", "", "<p>a"]
    assert ["a < b <p>c", "a", "<- see", "", "a"] == [read_text(text) for text in texts]
