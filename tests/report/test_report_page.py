"""The page of every report: figures, sentences, charts and tables."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from report_browser import open_page, write_page

from nearkin.errors import MissingExtraError, ParameterError
from nearkin.report.model import Chart, Contents, Section, Table
from nearkin.report.page import escape_invisible, pack, render
from nearkin.web_assets import asset, assets

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SVG = (
    '<svg viewBox="0 0 720 260" role="img" aria-label="Pairs by similarity"><rect class="bar" x="80" y="60" '
    'width="60" height="160"/><text x="360" y="250">similarity</text></svg>'
)
CHART = Chart("Pairs by similarity", "All pairs of the run.", SVG, ("similarity", "pairs"), [("0.80 to 0.82", "1,234")])
TABLE = Table("By source", ("source", "removed"), [("web", "1,200"), ("mail", "34")])
CONTENTS = Contents(
    "clean: 61,204 of 100,000 documents kept",
    (("documents", "100,000", ""), ("removed", "38,796", "38.8%")),
    ("Documents of a Jaccard similarity of 0.8 are near.",),
    ("Two records were skipped.",),
    (Section("Pairs", ("What was compared.",), (CHART, replace(CHART, title="Again")), (TABLE,)),),
    ("500 of 12,345 clusters are here: the largest.",),
)
HOSTILE = [
    "</script><script>document.title=1</script>",
    "<!-- <script>",
    '"><img src=x onerror="document.title=2">',
    "' autofocus onfocus='document.title=3",
    "{{ 7 * 7 }}{% raw %}",
    "a\x00b\x1b[31m\r\n\t",
    "\u202egnp.exe",
    "\ud800 alone",
    "]]>&lt;&#60;",
    "",
]


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (800, "dark"), (1600, "light")])
def test_a_page_without_a_run_opens_at_every_width(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    """All text is readable without horizontal scrolling, and axe finds no violation."""
    path = write_page(CONTENTS, tmp_path)
    with open_page(browser, path, width=width, color_scheme=scheme, bypass_csp=True) as visit:
        assert CONTENTS.title == visit.text("h1")
        assert "removed\n38,796\n38.8%" in visit.text(".tiles")
        words = visit.text("main")
        for sentence in (*CONTENTS.sentences, *CONTENTS.warnings, *CONTENTS.cuts, CHART.note, "Two records"):
            assert sentence in words
        visit.page.locator("summary").first.click()
        assert "1,234" in visit.text("details[open]")
        assert 0 == visit.overflow()
        assert [] == visit.faults()


def test_a_page_needs_no_script_and_its_policy_allows_none(browser: Browser, tmp_path: Path) -> None:
    path = write_page(CONTENTS, tmp_path)
    assert "<script" not in path.read_text("utf-8")
    with open_page(browser, path) as visit:
        assert "removed" in visit.text("main")
        assert "rgb(244, 246, 248)" == visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        ran = """() => {
            const made = document.createElement("script");
            made.textContent = "window.broken = true";
            document.body.append(made);
            return window.broken === true;
        }"""
        assert visit.page.evaluate(ran) is False
        assert any("Content Security Policy" in error for error in visit.errors)
        visit.errors.clear()


def test_the_policy_names_what_is_inline_and_refuses_all_else() -> None:
    page = render(replace(CONTENTS, run={"kind": "texts"}))
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    policy = dict(part.strip().split(" ", 1) for part in found[1].replace("&#39;", "'").split(";"))
    for name, element in (("style-src", "style"), ("script-src", "script")):
        inline = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        assert 1 == len(inline)
        digest = base64.b64encode(hashlib.sha256(inline[0].encode()).digest()).decode()
        assert f"'sha256-{digest}'" == policy.pop(name)
    assert {"default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"} == policy


def test_the_same_contents_give_the_same_bytes() -> None:
    contents = replace(CONTENTS, run={"kind": "texts"}, blocks={"texts-1": b"b" * 999, "documents": b"a"})
    other = replace(contents, blocks={name: contents.blocks[name] for name in ("documents", "texts-1")})
    assert render(contents) == render(other)


def test_blocks_are_gzip_without_time_or_system() -> None:
    data = bytes(range(256)) * 100
    whole = base64.b64decode(pack(data))
    assert data == gzip.decompress(whole)
    assert b"\x1f\x8b\x08\0\0\0\0\0\0\xff" == whole[:10]


def test_all_text_is_escaped(browser: Browser, tmp_path: Path) -> None:
    """Titles, figures, sentences, cells and JSON never become markup."""
    with open_page(browser, write_page(CONTENTS, tmp_path)) as visit:
        for words in HOSTILE:
            chart, table = replace(CHART, title=words, note=words), Table(words, (words,), [(words,)])
            hostile = Contents(
                words,
                ((words, words, words),),
                (words,),
                (words,),
                (Section(words, (words,), (chart,), (table,)),),
                (words,),
                {"kind": "texts", "key": "", "words": words, "queue": [], "strata": []},
                {"documents": words.encode("utf-8", "surrogatepass")},
            )
            write_page(hostile, tmp_path)
            visit.page.reload()
            assert escape_invisible(words).split() == visit.text("h1").split()
            assert 0 == visit.page.locator("img, [onerror], [onfocus], main script").count()
            assert words == visit.page.evaluate("JSON.parse(document.getElementById('run').textContent).words")
            assert visit.page.title() not in {"1", "2", "3"}


def test_what_json_has_not_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"contents\.run"):
        render(replace(CONTENTS, run={"threshold": float("nan")}))


def test_without_jinja_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[report\]") as caught:
        render(CONTENTS)
    assert "report" == caught.value.extra


def test_shared_files_are_found_by_name() -> None:
    assert ["differences.js", "nodes.js"] == list(assets())
    assert "export function differences" in asset("differences.js")
    with pytest.raises(ParameterError, match=r"differences\.js"):
        asset("../errors.py")


def test_the_printed_page_is_white(browser: Browser, tmp_path: Path) -> None:
    """The background is white in every color scheme, and links of the frame are hidden."""
    with open_page(browser, write_page(CONTENTS, tmp_path), color_scheme="dark") as visit:
        visit.page.emulate_media(media="print", color_scheme="dark")
        assert "rgb(28, 39, 51)" == visit.page.evaluate("getComputedStyle(document.body).color")
        assert visit.page.locator(".skip").is_hidden()
        assert visit.page.pdf().startswith(b"%PDF")
