"""Browsing a report of texts or files: clusters, the border, pairs, and one pair side by side."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import PATIENCE, Visit
from report_browser import enter, open_page, write_page
from sample_report import SampleCorpus, build_contents, build_corpus, build_files

from nearkin.report.page import FOLDER, SCRIPTS, bundle_script
from nearkin.web_assets import assets

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = [
    "</script><script>document.title='broken'</script>",
    "<!-- <script> --",
    '"><img src=x onerror="document.title=\'broken\'">',
    "javascript:document.title='broken'",
    "a\x00b\x1b[31m \x85 \u2028 \u2029",
    "\u202eevil \u2066 gnp.exe",
    "half \ud800 pair",
    "'\"`${document.title='broken'}{{7*7}}",
    "&lt;b&gt; &amp;#60; ]]>",
    "",
]


def cut(similarity: float) -> str:
    """Return three digits, rounded so that a pair below the threshold never appears to reach it."""
    return f"{math.floor(similarity * 1000 + 1e-3) / 1000:.3f}"


def test_clusters_are_browsed_down_to_a_pair_and_back(browser: Browser, corpus: SampleCorpus, path: Path) -> None:
    size, _, members = corpus.clusters[0]
    with open_page(browser, path) as visit:
        enter(visit, "clusters")
        visit.wait("#view-clusters .pager", f"1 to 25 of {len(corpus.clusters)} clusters")
        visit.page.click("#view-clusters .pager >> text=Next")
        visit.wait("#view-clusters .pager", f"26 to 50 of {len(corpus.clusters)} clusters")
        visit.page.click("#view-clusters .pager >> text=Previous")
        visit.wait("#view-clusters .pager", f"1 to 25 of {len(corpus.clusters)} clusters")
        visit.page.locator("#view-clusters td a").first.click()
        visit.wait("#view-clusters .one h3", f"Cluster of {size}")
        assert len(members) == visit.page.locator("#view-clusters .one tbody tr").count()
        visit.page.locator("#view-clusters .one td a").nth(1).click()
        visit.wait("#view-pair .facts", corpus.ids[members[1][0]])
        visit.wait("#view-pair .tools", f"2 of {len(members)}")
        visit.page.keyboard.press("k")
        visit.wait("#view-pair .facts", corpus.ids[members[0][0]])
        assert visit.page.locator("#view-pair .tools button", has_text="Previous").is_disabled()
        visit.page.click(f"#view-pair >> text=Back: Cluster of {size}")
        visit.wait("#view-clusters .one h3", f"Cluster of {size}")
        visit.page.go_back()
        visit.wait("#view-pair .facts", corpus.ids[members[0][0]])


def test_clusters_are_filtered_by_the_ids_of_their_documents(
    browser: Browser, corpus: SampleCorpus, path: Path
) -> None:
    _, kept, members = corpus.clusters[3]
    with open_page(browser, path) as visit:
        enter(visit, "clusters")
        visit.page.fill("#view-clusters input", corpus.ids[members[0][0]].upper())
        visit.page.wait_for_function("() => document.querySelectorAll('#view-clusters .split td a').length === 1")
        assert corpus.ids[kept] in visit.text("#view-clusters tbody")
        visit.page.fill("#view-clusters input", "nothing has this")
        visit.wait("#view-clusters .card", "No clusters.")


def test_exact_copies_and_clusters_of_one_are_shown(browser: Browser, tmp_path: Path) -> None:
    """Clusters without listed members and pairs that occur only in a cluster are shown."""
    corpus = build_corpus(8)
    kept = next(place for place, name in enumerate(corpus.ids) if name == "doc/000")
    exact = corpus.ids.index("doc/000/exact")
    corpus.clusters = [[1, kept, []], [9, kept, [[exact, None, None, "exact"]]]]
    with open_page(browser, write_page(build_contents(corpus), tmp_path)) as visit:
        enter(visit, "clusters")
        visit.page.locator("#view-clusters td a").first.click()
        visit.wait("#view-clusters .one", "No documents.")
        visit.page.locator("#view-clusters td a").nth(1).click()
        visit.wait("#view-clusters .one", "7 more are not in this file.")
        visit.page.click("#view-clusters .one td a")
        visit.wait("#view-pair .pair", "The same text, character by character.")
        visit.page.keyboard.press("n")
        visit.wait("#view-pair .answer.different[aria-pressed=true]")


def test_a_run_that_removed_nothing_is_shown(browser: Browser, tmp_path: Path) -> None:
    """Every view of a run without clusters and pairs says so."""
    said = {
        "clusters": "No clusters.",
        "border": "There are no near misses to judge.",
        "pairs": "There are no pairs to judge: the run removed no document by a similarity",
        "review": "There are no pairs to judge: the run removed no document by a similarity",
        "labels": "No labels.",
    }
    with open_page(browser, write_page(build_contents(build_corpus(0)), tmp_path)) as visit:
        for name, words in said.items():
            enter(visit, name)
            visit.wait(f"#view-{name} .card", words)
            visit.page.keyboard.press("y")
            visit.page.keyboard.press("j")


def test_the_border_has_the_pairs_nearest_to_the_threshold(browser: Browser, corpus: SampleCorpus, path: Path) -> None:
    above = sorted(pair[2] for pair in corpus.pairs if pair[3])
    below = sorted((pair[2] for pair in corpus.pairs if not pair[3]), reverse=True)
    with open_page(browser, path) as visit:
        enter(visit, "border")
        for place in range(2):
            visit.wait(f"#view-border section >> nth={place} >> td a")
        assert "of one in four kept documents" in visit.text("#view-border")
        for place, expected in ((0, above), (1, below)):
            links = visit.page.locator("#view-border section").nth(place).locator("td a").all_inner_texts()
            assert [cut(similarity) for similarity in expected[:25]] == links
        visit.page.locator("#view-border td a").first.click()
        visit.wait("#view-pair .facts", "removed the second for the first")
        visit.page.keyboard.press("n")
        visit.page.go_back()
        visit.wait("#view-border tbody tr >> nth=0", "different")


def test_all_pairs_are_listed_by_similarity_and_filtered(browser: Browser, corpus: SampleCorpus, path: Path) -> None:
    with open_page(browser, path) as visit:
        enter(visit, "pairs")
        visit.wait("#view-pairs td a")
        visit.page.select_option("#view-pairs select", "all")
        visit.wait("#view-pairs .pager", f"1 to 25 of {len(corpus.pairs)} pairs")
        expected = sorted((pair[2] for pair in corpus.pairs), reverse=True)[:25]
        links = visit.page.locator("#view-pairs td a").all_inner_texts()
        assert [cut(similarity) for similarity in expected] == links
        visit.page.fill("#view-pairs input", "doc/003/")
        count = sum("doc/003/" in corpus.ids[pair[1]] for pair in corpus.pairs)
        visit.page.wait_for_function(
            "count => document.querySelectorAll('#view-pairs td a').length === count", arg=count
        )


def side_texts(visit: Visit, side: int) -> str:
    """Return the text of one column of a pair."""
    cells = "[...document.querySelectorAll('#view-pair .sides tbody tr')].map((row) => row.cells[side].textContent)"
    return str(visit.page.evaluate(f"(side) => {cells}.join('\\n')", side))


def test_a_pair_is_shown_side_by_side_with_its_differences(browser: Browser, corpus: SampleCorpus, path: Path) -> None:
    """Both columns have the complete texts with aligned lines; only differences are marked."""
    pair = next(place for place, each in enumerate(corpus.pairs) if each[2] < 0.8)
    left, right = (corpus.texts[place] or "" for place in corpus.pairs[pair][:2])
    with open_page(browser, path, f"#pair={pair}") as visit:
        visit.wait("#view-pair .sides")
        while visit.page.locator("#view-pair .fold").count() > 0:
            visit.page.locator("#view-pair .fold").first.click()
        assert (left, right) == (side_texts(visit, 0), side_texts(visit, 1))
        gone = " ".join(visit.page.locator("#view-pair del").all_text_contents()).split()
        come = " ".join(visit.page.locator("#view-pair ins").all_text_contents()).split()
        assert set(left.split()) - set(right.split()) <= set(gone)
        assert set(right.split()) - set(left.split()) <= set(come)
        visit.page.click("#view-pair .features summary")
        assert "In both: <b> the harbour and 7 more" in visit.text("#view-pair .features")
        assert r"Only in the second: \u{202e} and 1 more" in visit.text("#view-pair .features")


def test_differences_are_by_words_or_characters_in_one_or_side_by_side(browser: Browser, tmp_path: Path) -> None:
    corpus = build_corpus(1)
    corpus.texts[:2] = ["one colour here", "one color here"]
    with open_page(browser, write_page(build_contents(corpus), tmp_path), "#pair=0") as visit:
        visit.wait("#view-pair del", "colour")
        visit.page.select_option("#view-pair .tools select", "characters")
        visit.page.wait_for_function("() => document.querySelector('#view-pair del').textContent === 'u'")
        visit.page.get_by_label("side by side").uncheck()
        visit.wait("#view-pair div.diff")
        assert "one colour here" == visit.text("#view-pair div.diff")


def test_long_equal_stretches_are_folded_and_opened(browser: Browser, tmp_path: Path) -> None:
    corpus = build_corpus(1)
    lines = [f"line {number} of a long text that both have" for number in range(200)]
    corpus.texts[:2] = ["\n".join(lines), "\n".join([*lines[:100], "new", *lines[101:]])]
    with open_page(browser, write_page(build_contents(corpus), tmp_path), "#pair=0") as visit:
        visit.wait("#view-pair .fold-row")
        assert 2 == visit.page.locator("#view-pair .fold-row").count()
        rows = visit.page.locator("#view-pair .sides tbody tr").count()
        assert rows < 12
        visit.page.keyboard.press("d")
        visit.page.wait_for_function(f"() => document.querySelectorAll('#view-pair .sides tbody tr').length < {rows}")
        for _ in range(2):
            visit.page.locator("#view-pair .fold-row button").first.click()
        assert 200 == visit.page.locator("#view-pair .sides tbody tr").count()


def test_texts_that_are_missing_or_cut_are_told(browser: Browser, tmp_path: Path) -> None:
    corpus = build_corpus(2)
    corpus.texts[1] = None
    contents = build_contents(corpus)
    run = dict(contents.run or {}) | {"text_cut": 30}
    documents = json.loads(contents.blocks["documents"])
    documents["length"][0] = 5_000
    blocks = dict(contents.blocks) | {"documents": json.dumps(documents).encode()}
    with open_page(browser, write_page(replace(contents, run=run, blocks=blocks), tmp_path), "#pair=0") as visit:
        visit.wait("#view-pair .pair", "First: only its first 30 characters are here.")
        visit.wait("#view-pair .pair", "Second: its text is not in this report")
        visit.page.goto(f"{visit.url}#pair=99999")
        visit.wait("#view-pair .pair", "There is no such pair.")
        visit.page.goto(f"{visit.url}#nothing")
        assert visit.page.locator("#view-pair").is_visible()


def test_files_are_shown_by_type_and_by_the_bytes_that_agree(browser: Browser, tmp_path: Path) -> None:
    with open_page(browser, write_page(build_files(), tmp_path), "#pair=1") as visit:
        visit.wait("#view-pair .strip")
        words = visit.text("#view-pair .facts")
        assert "ELF program" in words
        assert "96:abc" in words
        assert re.search(r"score\n\d+ of 100", words)
        assert "2 ranges of bytes agree: 300 bytes" in visit.text("#view-pair .pieces")
        visit.page.click("#view-pair .pieces summary")
        assert "400\t500\t350\t450\t100" in visit.text("#view-pair .pieces table")
        enter(visit, "review")
        visit.wait("#view-review .strip")
        visit.page.keyboard.press("n")
        visit.wait("#view-review .last", "The run: score ")


def test_hostile_documents_are_escaped(browser: Browser, tmp_path: Path) -> None:
    """Ids, texts, features, reasons and types with any characters are plain text in every view."""
    corpus = build_corpus(0)
    features = {}
    for at, words in enumerate(HOSTILE):
        left = corpus.add(words, f"{words}\nsame line\nx {words}")
        right = corpus.add(words + "2", f"y {words}\nsame line\n{words}")
        corpus.pairs.append((left, right, 0.9, True))
        corpus.clusters.append([2, left, [[right, 0.9, 3, words]]])
        lists = {name: [words] for name in ("some_both", "some_left", "some_right")}
        features[at] = {"both": 1, "left": 1, "right": 1, **lists}
    contents = build_contents(corpus)
    blocks = dict(contents.blocks) | {"common": json.dumps(features).encode()}
    with open_page(browser, write_page(replace(contents, blocks=blocks), tmp_path)) as visit:
        for name in ("clusters", "border", "pairs", "review", "labels"):
            enter(visit, name)
        for at in range(len(HOSTILE)):
            visit.page.goto(f"{visit.url}#cluster={at}")
            visit.wait("#view-clusters .one h3")
            visit.page.click("#view-clusters .one td a")
            visit.wait("#view-pair .sides")
            visit.page.keyboard.press("y")
            visit.wait("#view-pair .answer.same[aria-pressed=true]")
            enter(visit, "labels")
            visit.wait(f"#view-labels tbody tr >> nth={at}")
            assert contents.title == visit.page.title()
            assert 0 == visit.page.locator("main img, main script, [onerror]").count()
            assert visit.page.evaluate("[...document.querySelectorAll('a')].every((link) => link.protocol === 'file:')")


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (800, "dark"), (1600, "light")])
def test_every_view_fits_every_width_and_axe_finds_no_fault(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    corpus = build_corpus(30)
    corpus.ids[corpus.pairs[0][0]] = "wide/" + "w" * 300
    corpus.texts[corpus.pairs[0][0]] = "unbroken" * 60
    path = write_page(build_contents(corpus), tmp_path)
    with open_page(browser, path, width=width, color_scheme=scheme, bypass_csp=True) as visit:
        for name in ("summary", "review", "clusters", "border", "pairs", "labels"):
            visit.page.click(f"#views a[href='#{name}']")
            visit.wait(f"#{name if name == 'summary' else 'view-' + name} .card")
            if name == "review":
                for _ in range(12):
                    visit.page.keyboard.press("y" if _ % 5 else "n")
                    visit.page.wait_for_timeout(30)
            assert (name, 0) == (name, visit.overflow())
            assert (name, []) == (name, visit.faults())
        for address in ("#cluster=0", "#pair=0", "#pair=1"):
            visit.page.goto(visit.url + address)
            visit.wait("#view-pair .facts" if "pair" in address else "#view-clusters .one h3")
            assert (address, 0) == (address, visit.overflow())
            assert (address, []) == (address, visit.faults())
        visit.page.keyboard.press("?")
        assert [] == visit.faults()


def test_the_keyboard_alone_reaches_a_pair(visit: Visit) -> None:
    """Tab and Enter lead from the top to a pair, and the focus moves to the start of the new view."""
    visit.page.keyboard.press("Tab")
    assert "Skip to the report" == visit.page.evaluate("document.activeElement.textContent")
    for _ in range(3):
        visit.page.keyboard.press("Tab")
    assert "Border" == visit.page.evaluate("document.activeElement.textContent")
    visit.page.keyboard.press("Enter")
    visit.wait("#view-border td a")
    assert "title-border" == visit.page.evaluate("document.activeElement.id")
    for _ in range(2):
        visit.page.keyboard.press("Tab")
    visit.page.keyboard.press("Enter")
    visit.wait("#view-pair .sides")
    assert "title-pair" == visit.page.evaluate("document.activeElement.id")


def test_print_has_the_summary_whatever_view_is_open(browser: Browser, path: Path) -> None:
    with open_page(browser, path, "#pair=1") as visit:
        visit.wait("#view-pair .sides")
        visit.page.emulate_media(media="print")
        assert visit.page.locator("#summary").is_visible()
        assert visit.page.locator("#view-pair .sides").is_visible()
        assert visit.page.locator("#views").is_hidden()
        assert visit.page.locator("#view-pair .answers").is_hidden()


def test_blocks_are_unpacked_on_demand(browser: Browser, path: Path) -> None:
    """Opening the summary unpacks only the description."""
    counting = """
        window.unpacked = 0;
        const whole = window.DecompressionStream;
        window.DecompressionStream = class extends whole { constructor(...all) { super(...all); window.unpacked++; } };
    """
    context = browser.new_context()
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.add_init_script(counting)
        page.goto(path.as_uri())
        page.locator("#views a").first.wait_for()
        assert 0 == page.evaluate("window.unpacked")
        page.goto(path.as_uri() + "#pair=0")
        page.locator("#view-pair .sides").wait_for()
        assert 4 == page.evaluate("window.unpacked")
    finally:
        context.close()


def test_the_script_is_small_and_its_names_are_unique() -> None:
    """At most 60 KB of JavaScript; modules are joined into one scope, so their names must differ."""
    assert len(bundle_script().encode()) <= 60_000
    sources = {name: (assets().get(name) or FOLDER / name).read_text("utf-8") for name in SCRIPTS}
    assert {path.name for path in FOLDER.glob("*.js")} | {"nodes.js", "differences.js"} == set(SCRIPTS)
    declared = r"^(?:export )?(?:async )?(?:const|let|function|class) (\w+|\{[^}]*\}|\[[^\]]*\])"
    names = [name for text in sources.values() for name in re.findall(declared, text, re.MULTILINE)]
    assert sorted(set(names)) == sorted(names)
    assert re.search(r"^(import|export)\b", bundle_script(), re.MULTILINE) is None
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "</script",
        "<!--",
        "fetch(",
    ):
        assert forbidden not in bundle_script()
    for place, name in enumerate(SCRIPTS):
        imported = re.findall(r'from "\./([\w.]+)"', sources[name])
        assert [] == [other for other in imported if SCRIPTS.index(other) >= place]


def test_bundling_keeps_spaces_in_strings() -> None:
    """Strings, templates and regular expressions of the script equal those of its modules."""
    sources = "".join((assets().get(name) or FOLDER / name).read_text("utf-8") for name in SCRIPTS)
    code = re.sub(r"^import\b[^;]*;\n|^ *//.*\n", "", sources, flags=re.MULTILINE)
    strings = re.findall(r"""(?<=[ (\[,:?{!])"[^"\n]*"(?=[\n )\],;:}.])""", code)
    pieces = [text for each in re.findall(r"`([^`\n]*)`", code) for text in re.split(r"\$\{[^{}]*\}", each)]
    templates = [text for text in pieces if re.search(r"[\"{}$]", text) is None]
    patterns = re.findall(r"(?<=[ (])/[^/\n ]+/[gsuy]*(?=[.,;)])", code)
    assert (len(strings), len(templates), len(patterns)) > (300, 100, 8)
    shipped = bundle_script()
    strings = [text for text in strings if "$" not in text]
    assert [] == [text for text in [*strings, *templates, *patterns] if text not in shipped]
    assert " => " not in shipped.partition("\n")[2]


def write_pair(corpus: SampleCorpus, one: str, other: str, folder: Path, **run: object) -> Path:
    """Write a report whose first pair has these texts, with at most `text_cut` characters each."""
    cut = int(str(run.get("text_cut", 20_000)))
    corpus.texts[:2] = [one[:cut], other[:cut]]
    contents = build_contents(corpus)
    documents = json.loads(contents.blocks["documents"])
    documents["length"][:2] = [len(one), len(other)]
    blocks = dict(contents.blocks) | {"documents": json.dumps(documents).encode()}
    return write_page(replace(contents, run=dict(contents.run or {}) | run, blocks=blocks), folder)


TALE = " ".join(f"word{number}" for number in range(200))


CUT: list[tuple[str, str, str, list[str], list[str]]] = [
    (
        TALE + " a b",
        TALE + " c d",
        "The first 300 characters are the same. The rest is not in this report.",
        [],
        [],
    ),
    (TALE, TALE[:300], "The first 300 characters are the same.", [], []),
    ("😀" * 299 + "ab", "😀" * 299 + "ac", "The first 300 characters are the same.", [], []),
    # Text of the second beyond the cut of the first is not a difference.
    (
        "in front " + TALE,
        TALE,
        "1 place differs: 2 words only in the first, 0 words only in the second.",
        ["in front "],
        [],
    ),
    (TALE, "in front " + TALE, "1 place differs", [], ["in front "]),
    ("a\nb\n" + TALE, "a\nb\nx " + TALE, "1 place differs", [], ["x "]),
    # The second text is complete, and the first is cut.
    (TALE, TALE[:94], "1 place differs", [TALE[94:300]], []),
    ("one " + TALE, "two " + TALE, "What comes after the cut is not in this report.", ["one"], ["two"]),
]
"""Two texts, what is said of them, and what only one of them has."""


def test_two_texts_that_are_cut_are_compared_up_to_the_cut(browser: Browser, tmp_path: Path) -> None:
    with open_page(browser, write_pair(build_corpus(1), "", "", tmp_path), "#pair=0") as visit:
        for one, other, told, gone, come in CUT:
            write_pair(build_corpus(1), one, other, tmp_path, text_cut=300)
            visit.page.reload()
            visit.wait("#view-pair .differences > .notice", told)
            for is_beside in (True, False):
                visit.page.get_by_label("side by side").set_checked(is_beside)
                for place, expected in (("del", gone), ("ins", come)):
                    visit.page.evaluate(
                        "for (const each of document.querySelectorAll('#view-pair .fold')) each.click()"
                    )
                    assert expected == visit.page.locator(f"#view-pair {place}").all_text_contents()
                cuts = sum(len(text) > 300 for text in (one, other))
                sides = visit.page.locator("#view-pair .sides").count()
                assert is_beside == bool(sides)
                assert (cuts if sides else 1) == visit.page.locator("#view-pair .escape", has_text="cut here").count()
            assert "character by character" not in visit.text("#view-pair")


def test_a_text_that_is_whole_is_the_same_character_by_character(browser: Browser, tmp_path: Path) -> None:
    with open_page(
        browser, write_pair(build_corpus(1), TALE[:300], TALE[:300], tmp_path, text_cut=300), "#pair=0"
    ) as visit:
        visit.wait("#view-pair .differences .quiet", "The same text, character by character.")
        assert 0 == visit.page.locator("#view-pair .notice, #view-pair .escape").count()


UNSEEN = "\u202e\u2066\u200b\u200d\x00\x1b\r\x85\ufeff"


def test_invisible_characters_are_escaped(browser: Browser, tmp_path: Path) -> None:
    """Line ends, including those of Windows, and tabs are not."""
    texts = ("".join(f"a{sign}b " for sign in UNSEEN) + "\tx\r\ny\n", "a b\r\nother\n")
    with open_page(browser, write_pair(build_corpus(1), *texts, tmp_path), "#pair=0") as visit:
        visit.wait("#view-pair .sides")
        for _ in range(2):
            escapes = visit.page.locator("#view-pair .differences .escape").all_text_contents()
            assert [f"\\u{{{ord(sign):x}}}" for sign in UNSEEN] == escapes
            words = visit.page.evaluate("document.querySelector('#view-pair .differences').textContent")
            assert not set(UNSEEN) - {"\r"} & set(words)
            assert "\tx" in words
            visit.page.get_by_label("side by side").uncheck()


def test_signs_that_are_not_seen_are_escapes_where_one_text_is_missing(browser: Browser, tmp_path: Path) -> None:
    corpus = build_corpus(1)
    corpus.texts[:2] = ["a\u202eb", None]
    with open_page(browser, write_page(build_contents(corpus), tmp_path), "#pair=0") as visit:
        visit.wait("#view-pair .diff .escape", r"\u{202e}")
        assert r"a\u{202e}b" == visit.page.locator("#view-pair .diff").text_content()


def places(visit: Visit) -> tuple[list[str], list[str]]:
    return (
        visit.page.locator("#view-pair del").all_text_contents(),
        visit.page.locator("#view-pair ins").all_text_contents(),
    )


def test_white_space_counts_only_where_it_is_asked_for(browser: Browser, tmp_path: Path) -> None:
    words = TALE.split()
    wide = "\n".join(" ".join(words[at : at + 9]) for at in range(0, 200, 9)) + "\n\nlast old  line\n"
    narrow = "\n".join("  ".join(words[at : at + 7]) for at in range(0, 200, 7)) + "\nlast new line"
    with open_page(browser, write_pair(build_corpus(1), wide, narrow, tmp_path), "#pair=0") as visit:
        visit.wait("#view-pair .differences", "1 place differs: 1 word only in the first, 1 word only in the second.")
        assert (["old"], ["new"]) == places(visit)
        while visit.page.locator("#view-pair .fold").count() > 0:
            visit.page.locator("#view-pair .fold").first.click()
        # Lines are aligned; only one side has a last line end.
        assert (wide.split(), narrow.split()) == (side_texts(visit, 0).split(), side_texts(visit, 1).split())
        assert (wide.rstrip("\n"), narrow) == (side_texts(visit, 0).rstrip("\n"), side_texts(visit, 1))
        visit.page.get_by_label("white space").check()
        visit.page.wait_for_function("() => document.querySelectorAll('#view-pair del').length > 20")
        visit.page.select_option("#view-pair .tools select", "characters")
        visit.page.wait_for_function("() => document.querySelectorAll('#view-pair .tick[hidden]').length === 1")
        visit.page.select_option("#view-pair .tools select", "words")
        visit.page.get_by_label("white space").uncheck()
        visit.wait("#view-pair .differences", "1 place differs")
    with open_page(browser, write_pair(build_corpus(1), "a b\nc", " a\nb  c\n", tmp_path), "#pair=0") as visit:
        visit.wait("#view-pair .differences", "The same text, but for white space.")
        assert ([], []) == places(visit)


def test_the_random_sample_is_in_the_order_in_which_it_was_drawn(
    browser: Browser, corpus: SampleCorpus, tmp_path: Path
) -> None:
    contents = build_contents(corpus)
    drawn = [pair for pair in (7 * place % len(corpus.pairs) for place in range(20)) if corpus.pairs[pair][3]]
    path = write_page(replace(contents, run=dict(contents.run or {}) | {"random": drawn}), tmp_path)
    with open_page(browser, path) as visit:
        enter(visit, "pairs")
        visit.wait("#view-pairs td a")
        links = visit.page.locator("#view-pairs td a")
        assert [f"#pair={pair}" for pair in drawn] == [link.get_attribute("href") for link in links.all()]


def test_a_snippet_begins_where_its_script_begins(browser: Browser, tmp_path: Path) -> None:
    corpus = build_corpus(1)
    corpus.texts[0] = "كان الميناء هادئا عندما دخل قارب صغير " * 9
    with open_page(browser, write_page(build_contents(corpus), tmp_path)) as visit:
        enter(visit, "pairs")
        snippet = visit.page.locator("#view-pairs .begin").first
        visit.page.wait_for_function("() => document.querySelector('#view-pairs .begin').textContent !== ''")
        assert "rtl" == snippet.evaluate("(element) => getComputedStyle(element).direction")
        assert snippet.inner_text().startswith("كان الميناء")


def test_charts_keep_their_size_and_show_that_they_scroll(browser: Browser, path: Path) -> None:
    for width, wide in ((1600, False), (320, True)):
        with open_page(browser, path, width=width) as visit:
            picture = visit.page.locator("#summary .picture").first
            assert wide == picture.evaluate("(element) => element.scrollWidth > element.clientWidth")
            assert (picture.bounding_box() or {"width": 0})["width"] <= 720
            assert 4 == picture.evaluate(
                "(element) => getComputedStyle(element).backgroundImage.match(/gradient/g).length"
            )


@pytest.mark.parametrize(("width", "scheme"), [(320, "dark"), (1280, "light")])
def test_a_pair_that_is_cut_and_has_escapes_fits_and_keeps_nobody_out(
    browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    path = write_pair(build_corpus(1), f"{UNSEEN * 9} {TALE}", TALE, tmp_path, text_cut=300)
    with open_page(browser, path, "#pair=0", width=width, color_scheme=scheme, bypass_csp=True) as visit:
        visit.wait("#view-pair .notice")
        for _ in range(2):
            assert 0 == visit.overflow()
            assert [] == visit.faults()
            visit.page.get_by_label("side by side").click()


def test_images_are_shown_and_urls_are_links_that_nothing_follows(browser: Browser, tmp_path: Path) -> None:
    """A data URI of an image is a picture, a URL a link; any other text is neither."""
    corpus = build_corpus(3)
    contents = build_contents(corpus)
    pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
    table = json.loads(contents.blocks["documents"])
    table["image"] = [pixel, 'https://example.com/"><img src=x>', "javascript:document.title=1", "data:text/html,x"]
    table["image"] += [""] * (len(table["ids"]) - 4)
    clusters = json.dumps([[4, 0, [[1, 0.9, 3, "near"], [2, 0.9, 3, "near"], [3, 0.9, 3, "near"]]]]).encode()
    blocks = dict(contents.blocks) | {"documents": json.dumps(table).encode(), "clusters": clusters}
    with open_page(browser, write_page(replace(contents, blocks=blocks), tmp_path), "#cluster=0") as visit:
        visit.wait("#view-clusters .one a[rel]")
        links = "[...document.querySelectorAll('.one a[rel]')].map((link) => [link.href, link.rel, link.textContent])"
        assert visit.page.evaluate(links) == [
            ["https://example.com/%22%3E%3Cimg%20src=x%3E", "noreferrer noopener", 'https://example.com/"><img src=x>']
        ]
        images = "[...document.querySelectorAll('.one img')].map((image) => [image.src, image.naturalWidth])"
        assert visit.page.evaluate(images) == [[pixel, 1]]
