"""Kinds of corpora: each sets its options, options of the caller win, and the summary says what was set."""

from __future__ import annotations

import base64
import gzip
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

import nearkin as nk
from command import check_message, succeed, write_jsonl
from nearkin.dedup.config import DedupConfig, engine_config
from nearkin.dedup.kinds import KINDS, MODEL_NUMBERS, VARIANT_WORDS, Kind
from nearkin.errors import ParameterError

FOLLOW = "春眠不覺曉處處聞啼鳥夜來風雨聲花落知多少為誰"
VARIANT = FOLLOW.replace("為", "爲")
SHIRT = "cotton shirt for men with long sleeves and two pockets, {}, machine washable, model {}"
LINES = "connection from 10.0.0.{} closed by the remote host after {} seconds of waiting for an answer"


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_kind_equals_its_options(kind: Kind) -> None:
    """The same clusters and parameters as with each option given; the summary lists the options."""
    texts = [SHIRT.format("blue", "a1"), SHIRT.format("red", "a1"), SHIRT.format("blue", "a1!"), FOLLOW, VARIANT]
    texts += [LINES.format(1, 2), LINES.format(1, 3), "def f(x):\n    return x + 1\n" * 3]
    result, same = nk.dedup(texts, kind=kind), nk.dedup(texts, **KINDS[kind])
    assert list(same.clusters.rows()) == list(result.clusters.rows())
    assert (kind, dict(KINDS[kind])) == (result.summary["kind"], result.summary["kind_set"])
    assert KINDS[kind]["threshold"] == result.summary["threshold"]
    assert "kind" not in same.summary


def test_products_of_another_colour_or_model_are_kept() -> None:
    """A copy with the same words is removed; the default removes all."""
    texts = [SHIRT.format(*pair) for pair in (("blue", "lds4821ww"), ("red", "lds4821ww"), ("blue", "lds4821wh"))]
    texts.append(texts[0] + "!")
    assert [0, 1, 2] == nk.dedup(texts, kind="products").kept
    assert len(nk.dedup(texts, threshold=0.7).kept) < 3


def test_poems_with_variant_characters_are_copies() -> None:
    """The kind folds them; the default does not."""
    assert [0] == nk.dedup([FOLLOW, VARIANT], kind="poems").kept
    assert [0, 1] == nk.dedup([FOLLOW.replace("覺曉", "觉晓"), VARIANT]).kept


MENU = "".join(
    f"<li><a href=/{word}>{word} of the site</a></li>" for word in ("news", "sport", "arts", "food", "travel")
)
FOOTER = "Printed by the press of the town, which has all rights in these pages and answers no letters about them"
WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def write_page(number: int, *, html: bool = True) -> str:
    """Return a page with a menu, a paragraph of its own, a line of code and a footer."""
    own = " ".join(f"{word}{number}" for word in WORDS)
    if html:
        return f"<!doctype html><title>T</title><ul>{MENU}</ul><p>{own}</p><pre>x = {number}</pre><p>{FOOTER}</p>"
    return f"news sport arts food travel\n{own}\nx = {number}\n{FOOTER}"


@pytest.mark.parametrize("html", [True, False])
@pytest.mark.parametrize("as_corpus", [True, False])
def test_pages_are_compared_without_menus_and_frequent_lines(html: bool, as_corpus: bool, tmp_path: Path) -> None:
    """Pages of one site differ, and a copy on a site without the footer is found; the summary lists the footer."""
    pages = {f"https://a.org/{number}": write_page(number, html=html) for number in range(8)}
    copy = write_page(3, html=False)
    pages["https://b.org/3"] = "\n".join(copy.split("\n")[1:-1]) + "\nend"
    names = list(pages)
    if as_corpus:
        result = nk.dedup(write_jsonl(tmp_path / "in.jsonl", pages), id="id", kind="pages")
    else:
        result = nk.dedup(list(pages.values()), ids=names, kind="pages")
    assert names[:-1] == result.kept
    assert names[3] == {row["id"]: row["representative"] for row in result.clusters.rows()}[names[-1]]
    lines = result.summary["left_out_lines"]
    assert {"line": FOOTER, "source": "a.org", "documents": 8} in lines["first"]
    assert (1 if html else 2) == lines["lines"] == len(lines["first"])


def test_lines_count_by_source_and_across_older_pages() -> None:
    """Four pages are too few, unless older ones of the site have the line as well; another site keeps its line."""
    new = [write_page(number, html=False) for number in range(4)]
    ids = [f"https://a.org/{number}" for number in range(4)]
    assert 0 == nk.dedup(new, ids=ids, kind="pages").summary["left_out_lines"]["lines"]
    options: dict[str, Any] = {"against": [write_page(9, html=False)], "kind": "pages"}
    found = [
        nk.dedup(new, ids=ids, against_ids=[f"https://{host}/9"], **options).summary["left_out_lines"]["lines"]
        for host in ("a.org", "b.org")
    ]
    assert [2, 0] == found
    assert 2 == nk.dedup(new, sources=["a"] * 4, against_ids=["a/9"], **options).summary["left_out_lines"]["lines"]


def test_versions_of_one_page_are_compared_with_all_lines() -> None:
    """Their lines are frequent, and nothing of their own remains but a date: they are copies of one another."""
    texts = [f"{write_page(1, html=False)}\n{write_page(2, html=False)}\nday {day}" for day in range(9)]
    assert [0] == nk.dedup(texts, kind="pages").kept


@pytest.mark.parametrize("shape", ["{}", "a long title of the report on the safety of {} in ships and trains"])
@pytest.mark.parametrize(
    "pair",
    [
        ("SR-2023-052", "SR-2023-053"),
        ("Amendment 16", "Amendment 17"),
        ("256GB", "512 GB"),
        ("volume I", "volume II"),
        ("Part 11", "Part 111"),
        ("introduction to algebra", "introduction to topology"),
        ("the north gate", "the south gate"),
        ("第三册的内容", "第四册的内容"),
    ],
)
def test_titles_with_another_number_or_word_are_kept(pair: tuple[str, str], shape: str) -> None:
    """Whatever their length, and in a store too."""
    titles = [shape.format(part) for part in pair]
    assert [0, 1] == nk.dedup(titles, kind="titles").kept


@pytest.mark.parametrize(
    "pair",
    [
        ("dark mode in the editor", "dark mode in their editor"),
        ("dark mode in the editor", "Editor: dark mode"),
        ("introduction to topology", "introducton to topolgoy"),
        ("a disk of 256GB", "a disk of 256 GB"),
        ("在圖書館的同學", "在圖書館的童學"),
        ("在圖書館的同學", "在圖書館的學同"),
    ],
)
def test_titles_with_the_same_words_are_copies(pair: tuple[str, str], tmp_path: Path) -> None:
    """In a job, in a store, and by the function of pairs."""
    assert [0] == nk.dedup(pair, kind="titles").kept
    assert nk.similarity(pair, [0], [1], measure="words")[0] >= KINDS["titles"]["threshold"]
    with nk.Store.create(tmp_path / "s", **KINDS["titles"]) as store:
        store.add([pair[0]])
        assert ["near"] == store.check(pair[1:]).status


def test_a_measure_replaces_the_verification_of_a_kind() -> None:
    """The kind sets the other options."""
    config = DedupConfig.from_args(kind="titles", measure="jaccard")
    assert ("jaccard", 0.85) == (config.verify, config.threshold)
    assert "verify" not in dict(config.kind_set)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("titles", "{} is a short title"),
        ("code", "def f({}):\n    if {} == 1: return g[{}]\n" + "x = a(b); " * 9),
        ("pages", "<p>{} is a page of " + "many long words " * 9),
        (None, "{} is a text of " + "many long words " * 9),
    ],
)
def test_a_kind_that_texts_look_like_is_named(tmp_path: Path, kind: str | None, text: str) -> None:
    """With what it removes of the first texts; not if a kind or a measure is chosen."""
    texts = [text.format(*[f"{name}{i}"] * 3) for i in range(15) for name in ("this", "that")]
    hint: Any = nk.dedup(texts).summary.get("kind_hint")
    assert kind == (hint and hint["kind"])
    if hint:
        assert (30, 30 - len(nk.dedup(texts, kind=hint["kind"]).kept)) == (hint["sample"], hint["removed_by_kind"])
    assert "kind_hint" not in nk.dedup(texts[:9]).summary
    source = write_jsonl(tmp_path / "in.jsonl", {str(i): text for i, text in enumerate(texts)})
    for number, extra in enumerate([(), ("--kind", "titles"), ("--measure", "indel")]):
        done = succeed("dedup", source, "-o", tmp_path / str(number), *extra)
        assert (bool(kind) and not extra) == (f"--kind {kind} may suit" in " ".join(done.err.split()))


@pytest.mark.parametrize(
    "options", [{"threshold": 0.95}, {"differ": "none"}, {"recipe": "char:5|binary|xxh3|minhash:64"}]
)
def test_options_of_the_caller_win(options: dict[str, Any]) -> None:
    """The others are still those of the kind, and the summary lists only these."""
    config = DedupConfig.from_args(kind="products", **options)
    expected = DedupConfig.from_args(**{**KINDS["products"], **options})
    assert str(expected.recipe).split("|minhash")[0] == str(config.recipe).split("|minhash")[0]
    assert expected.threshold == config.threshold
    assert expected.differ == config.differ
    assert KINDS["products"].keys() - options.keys() == dict(config.kind_set).keys()


def test_bands_of_a_kind_follow_from_the_documents() -> None:
    """As with the default recipe, the number of values is not fixed; on an engine it is."""
    assert DedupConfig.from_args(kind="poems").candidate_source._adaptive  # type: ignore[attr-defined]
    config = engine_config(None, kind="poems")
    assert not config.candidate_source._adaptive  # type: ignore[attr-defined]
    assert ("fold:hans|char:4", 0.7) == (str(config.recipe).split("|binary")[0], config.threshold)


def test_the_command_applies_a_kind(tmp_path: Path) -> None:
    """It says what the kind set; --family changes the family alone."""
    source = write_jsonl(tmp_path / "in.jsonl", {"0": FOLLOW, "1": VARIANT})
    for number, extra in enumerate([(), ("--family", "simhash")]):
        done = succeed("dedup", source, "-o", tmp_path / str(number), "--kind", "poems", *extra)
        summary = json.loads((tmp_path / str(number) / "summary.json").read_text())
        assert ("poems", 0.7, 1) == (summary["kind"], summary["threshold"], summary["kept"])
        assert "fold:hans|char:4" in summary["recipe"]
        assert "kind poems set " in " ".join(done.err.split())


RENAMED = {
    "a/one.py": "import os\n\n\ndef total(rows, rate=0.2):\n    '''Sum.'''\n    result = []\n    for row in rows:\n"
    "        if row.is_open and row.amount > 100:\n            result.append(round(row.amount * rate, 2))\n"
    "        else:\n            result.append(row.amount - row.paid)\n    return sum(result)\n\n\nVALUE = 1\n",
    "b/two.py": "class Box:\n    async def f(self, xs, q):\n        ys = []  # no doc\n        for x in xs:\n"
    "            if x.is_open and x.amount > 7:\n                ys.append(round(x.amount * q, 3))\n"
    "            else:\n                ys.append(x.amount - x.paid)\n        return sum(ys)\n\n"
    "    def name(self):\n        return self.a\n\n    def size(self):\n        return self.b\n",
    "c/data.txt": "No function at all.\n",
}


def test_functions_with_other_names_are_copies(tmp_path: Path) -> None:
    """A document is a function with its lines; getters of other attributes are kept, the default keeps all."""
    for name, text in RENAMED.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_text(text, encoding="utf-8")
    result = nk.dedup(tmp_path / "src", kind="functions")
    assert ["a/one.py:4-12", "b/two.py:11-12", "b/two.py:14-15"] == result.kept
    assert "b/two.py:2-9" in result.clusters["id"]
    done = succeed("dedup", tmp_path / "src", "-o", tmp_path / "out", "--kind", "functions", "--report")
    assert "files without functions (1)" in done.err
    assert list(result.kept) == (tmp_path / "out" / "kept.txt").read_text().split()
    succeed("report", tmp_path / "out", "--out", tmp_path / "again.html")
    for page in (tmp_path / "out" / "report.html", tmp_path / "again.html"):
        blocks = re.findall(r'id="block-[^"]*"[^>]*>([^<]*)<', page.read_text(encoding="utf-8"))
        assert any(b"ys.append" in gzip.decompress(base64.b64decode(block)) for block in blocks)
    done = succeed("dedup", tmp_path / "src", "-o", tmp_path / "default", "--format", "functions")
    assert done.code == 0


def test_functions_are_found_in_other_files_with_their_place(tmp_path: Path) -> None:
    """By `contains`, and by a store of functions, which reads source files function by function without a kind."""
    for folder, names in (("library", ["a/one.py"]), ("src", ["b/two.py"])):
        for name in names:
            (tmp_path / folder / name).parent.mkdir(parents=True)
            (tmp_path / folder / name).write_text(RENAMED[name], encoding="utf-8")
    source, known, store = tmp_path / "src", tmp_path / "library", tmp_path / "functions.store"
    found = nk.contains(source, known, kind="functions")
    assert [("b/two.py:2-9", "a/one.py:4-12")] == list(zip(found["query"], found["id"], strict=True))
    done = succeed("text", "contains", source, "--known", known, "--kind", "functions")
    assert [["b/two.py:2-9", "a/one.py:4-12"]] == [line.split("\t")[:2] for line in done.out.splitlines()]
    succeed("store", "create", store, "--kind", "functions")
    assert "a/one.py:4-12\tnew" in succeed("store", "add", store, known).out
    done = succeed("dedup", source, "--store", store, "--out", tmp_path / "out")
    assert ["b/two.py:11-12", "b/two.py:14-15"] == (tmp_path / "out" / "kept.txt").read_text().split()


def test_a_kind_is_refused_where_it_sets_nothing(tmp_path: Path) -> None:
    """With passages and files, with a recipe that would decide instead, and an unknown kind."""
    for unknown in (
        lambda: nk.dedup([FOLLOW], kind="songs"),  # type: ignore[arg-type]
        lambda: nk.dedup([FOLLOW], kind=["poems"]),  # type: ignore[arg-type]
        lambda: nk.contains([FOLLOW], [FOLLOW], kind="songs"),  # type: ignore[arg-type]
        lambda: nk.Store.create(tmp_path / "s", kind="songs"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ParameterError, match=", ".join(KINDS)):
            unknown()
    for refused in (
        lambda: nk.compare("a", "b", "char:2", kind="poems"),
        lambda: nk.contains([FOLLOW], [FOLLOW], recipe="char:2", kind="poems"),
        lambda: nk.contains([FOLLOW], nk.KnownTexts([FOLLOW]), kind="poems"),
    ):
        with pytest.raises(ParameterError, match="None with"):
            refused()
    with pytest.raises(ParameterError, match="None with kind='pages'"):
        nk.dedup([FOLLOW], kind="pages", groups=["a"])
    for alone in (
        lambda: nk.compare("a", "b", kind="pages"),
        lambda: nk.contains([FOLLOW], [FOLLOW], kind="pages"),
    ):
        with pytest.raises(ParameterError, match="pages counts the lines of a corpus"):
            alone()
    with nk.Store.create(tmp_path / "s", kind="pages") as store:
        with pytest.raises(ParameterError, match="counts lines as they are added"):
            nk.dedup([FOLLOW], kind="pages", store=store)
        with pytest.raises(ParameterError, match="counts lines as they are added"):
            nk.dedup([FOLLOW], against=store)
    source = write_jsonl(tmp_path / "in.jsonl", {"0": FOLLOW})
    for extra in (("--unit", "line"), ("--family", "ssdeep")):
        check_message(2, "--kind", "dedup", source, "-o", tmp_path / "out", "--kind", "poems", *extra)
    check_message(2, "articles, products", "text", "compare", "a", "b", "--kind", "songs")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pages"])
def test_a_store_of_a_kind_decides_as_the_local_job(kind: Kind, tmp_path: Path) -> None:
    """It is created with the kind, by Python and by the command; a job with another kind is refused."""
    texts = [SHIRT.format("blue", "a1"), SHIRT.format("red", "a1"), SHIRT.format("blue", "a1!"), FOLLOW, VARIANT]
    expected = nk.dedup(texts, kind=kind).kept
    with nk.Store.create(tmp_path / "s", kind=kind) as store:
        other: Kind = "poems" if kind != "poems" else "code"
        with pytest.raises(ParameterError, match="a store whose recipe is"):
            nk.dedup(texts, kind=other, store=store)
        assert expected == nk.dedup(texts, kind=kind, store=store).kept
        settings = store.settings
    source = write_jsonl(tmp_path / "in.jsonl", {str(i): text for i, text in enumerate(texts)})
    for _ in range(2):
        succeed("dedup", source, "-o", tmp_path / "out", "--overwrite", "--store", tmp_path / "new", "--kind", kind)
    check_message(2, "a store whose recipe is", "mcp", tmp_path / "new", "--kind", other)
    succeed("store", "create", tmp_path / "c", "--kind", kind)
    for name in ("new", "c"):
        with nk.Store.open(tmp_path / name) as store:
            assert settings == store.settings
            assert (0 if name == "c" else len(expected)) == len(store)


def test_options_of_a_store_win() -> None:
    """A threshold of the caller is not compared with that of the store, as without a kind."""
    with nk.Store.create(tempfile.mkdtemp() + "/s", kind="products", threshold=0.9) as store:
        assert (0.9, ("numbers", VARIANT_WORDS, MODEL_NUMBERS)) == (store.settings.threshold, store.settings.differ)
        with pytest.raises(ParameterError, match=r"a store whose threshold is 0\.8; this one has 0\.9"):
            nk.dedup([FOLLOW], kind="products", store=store)
        assert [0] == nk.dedup([FOLLOW], kind="products", threshold=0.9, store=store).kept


@pytest.mark.parametrize(
    ("kind", "a", "b", "is_match"),
    [
        ("products", SHIRT.format("blue", "a1"), SHIRT.format("red", "a1"), False),
        ("products", SHIRT.format("blue", "a1"), SHIRT.format("blue", "a1!"), True),
        ("poems", FOLLOW, VARIANT, True),
        ("code", "if x < y: return a + b", "if x > y: return a - b", False),
    ],
)
def test_a_comparison_says_what_a_kind_decides(kind: Kind, a: str, b: str, is_match: bool) -> None:
    """As dedup does, with the similarity and the difference by which; the command prints it."""
    match = nk.compare(a, b, kind=kind).match
    assert match is not None
    assert is_match is match.is_match is (len(nk.dedup([a, b], kind=kind).kept) == 1)
    done = succeed("text", "compare", "--text", "--json", "--kind", kind, a, b)
    assert {**match._asdict(), "is_match": is_match} == json.loads(done.out)["match"]
    assert f"{kind:<12} {'a match' if is_match else 'no match'}: jaccard" in str(nk.compare(a, b, kind=kind))


def test_known_texts_are_found_by_the_features_of_a_kind(tmp_path: Path) -> None:
    """Code in other symbols is not contained; the default compares letters alone."""
    page, known = "for (i = 0; i < n; i++) { sum += i; }", "for (i = 9; i > n; i--) { sum *= i; }"
    letters = nk.contains([page.replace("0", "9")], [known])
    assert [1.0] == [row["similarity"] for row in letters.rows()]
    assert not list(nk.contains([page.replace("0", "9")], [known], kind="code").rows())
    source = write_jsonl(tmp_path / "in.jsonl", {"0": page})
    done = succeed("text", "contains", source, "--known", source, "--id-column", "id", "--kind", "code")
    assert "1.0000" in done.out
