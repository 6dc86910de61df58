"""Items of benchmarks in documents: forms, boilerplate, short items, the alignment by its definition, saved indexes."""

from __future__ import annotations

import copy
import json
import math
import random
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import reference
from corpora import write_rows
from nearkin.dedup.labels import PairLabels
from nearkin.errors import CorruptStoreError, InputError, ParameterError
from nearkin.theory.intervals import wilson

WORDS = [a + b for a in ("ka", "mo", "ti", "ru", "se", "pol", "dan", "vi") for b in ("ner", "sta", "lik", "dor", "mun")]
ITEM = (
    "Which of the rivers that rise in the Black Forest flows through ten countries, more than any other in the world, "
    "before it reaches the sea in a wide delta?"
)
PAGE = (
    "The harvest was late that year. Most of the farmers had sold their machines in winter, and nobody expected the "
    "market to recover before the summer.\nIn the village the music went on as if nothing had happened."
)
LOOK_ALIKES = str.maketrans("aceopx", "\u0430\u0441\u0435\u043e\u0440\u0445")


def sentence(count: int, seed: int) -> str:
    """Return random words with numbers, so that no two sentences share a run of them."""
    draw = random.Random(seed)
    return " ".join(draw.choice(WORDS) + str(draw.randrange(100)) for _ in range(count))


def around(item: str) -> str:
    """Put an item into the middle of a line of a page."""
    return PAGE.replace("nobody expected", f"nobody {item} expected")


def replaced(item: str, places: list[int]) -> str:
    """Replace the words at some places."""
    words = item.split()
    for place in places:
        words[place] = "unrelated"
    return " ".join(words)


FORMS: dict[str, Callable[[str], str]] = {
    "verbatim": lambda item: item,
    "paragraph": lambda item: f"{PAGE}\n\n{item}\n\n{PAGE}",
    "wrapped": lambda item: f"{PAGE}\n\n> " + "\n> ".join(textwrap.wrap(item, 30)),
    "inline": around,
    "case": lambda item: around(item.upper()),
    "punctuation": lambda item: around(item.replace(",", " --").replace(" ", "  ")),
    "markdown": lambda item: around(" ".join(f"_{word}_" for word in item.split())),
    "look-alikes": lambda item: around(item.translate(LOOK_ALIKES)),
    "one word in twenty": lambda item: around(replaced(item, [9, 20])),
    "one word in ten": lambda item: around(replaced(item, [5, 13, 22])),
    "inserted words": lambda item: around(item.replace("flows", "almost always flows").replace("sea", "black sea")),
    "missing words": lambda item: around(item.replace("ten ", "").replace("wide ", "")),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_item_is_found_in_each_form(form: str) -> None:
    """The item is found, the other one is not, and the place is that of the item."""
    text = FORMS[form](ITEM)
    result = nk.decontaminate(
        [PAGE, text], {"rivers": ["Another item of ten words about something else altogether.", ITEM]}
    )
    hits = list(result.hits.rows())
    assert [(1, "rivers", 1)] == [(hit["id"], hit["suite"], hit["item"]) for hit in hits]
    assert hits[0]["similarity"] >= 0.85
    assert hits[0]["chance"] < 1e-9
    passage = text[hits[0]["start"] : hits[0]["end"]]
    assert passage.lower().strip("_").startswith("wh")
    latin = {ord(other): letter for letter, other in zip("aceopx", "\u0430\u0441\u0435\u043e\u0440\u0445", strict=True)}
    assert "delta" in passage.lower().translate(latin)
    assert [1] == result.contaminated
    assert [0] == result.clean


def test_items_of_other_scripts_are_found() -> None:
    """An ideograph is a word; kana and Hangul are words by UAX #29."""
    items = {
        "zh": "长江是亚洲第一长河，发源于青藏高原的唐古拉山脉",
        "ja": "日本で一番長い川は信濃川で、新潟県を通って日本海に注ぐ",
        "ru": "Какая река протекает через десять стран прежде чем впасть в море",
    }
    result = nk.decontaminate(
        [f"x {item} y" for item in items.values()], {name: [item] for name, item in items.items()}
    )
    assert list(enumerate(items)) == list(zip(result.hits["id"], result.hits["suite"], strict=True))
    assert [(2, 2 + len(item)) for item in items.values()] == list(
        zip(result.hits["start"], result.hits["end"], strict=True)
    )


def test_a_short_item_needs_nearly_all_of_its_words() -> None:
    """Eight words are found verbatim in a page, but not with a quarter of them changed; four words are too short."""
    item = "How many moons orbit the dwarf planet Haumea"
    suites = nk.Suites({"short": [item, "How many moons"], "long": [sentence(30, seed) for seed in range(50)]})
    found = nk.decontaminate([around(item), around(replaced(item, [0])), around(replaced(item, [2, 6]))], suites)
    assert {0, 1} == set(found.hits["id"])
    assert [False, True] == suites.too_short()[:2].tolist()
    assert [1, 0] == found.suites["too_short"]
    assert 1 == found.summary["too_short"]


def test_the_longer_the_document_the_more_an_item_must_say() -> None:
    """The chance is in proportion to the words of the document."""
    page = around(ITEM)
    chances = nk.decontaminate([page, f"{page}\n{page.replace(ITEM, sentence(29, 1))}"], {"a": [ITEM]}).hits["chance"]
    assert math.isclose(2, chances[1] / chances[0], rel_tol=0.05)


def test_text_that_many_items_share_does_not_count() -> None:
    """Instructions are learnt from the items of one suite or of several, and are neither found nor needed."""
    template = "Read the passage carefully and answer the question below with exactly one of the given letters."
    own = [sentence(20, seed) for seed in range(20)]
    items = [f"{template}\n{text}" for text in own]
    for suites in ({"one": items}, {f"suite{number}": [item] for number, item in enumerate(items)}):
        result = nk.decontaminate([around(template), around(own[3]), around(items[4])], suites)
        assert [1, 2] == result.contaminated
        assert {(0, "template"), (1, "item"), (2, "item"), (2, "template")} >= set(
            zip(result.hits["id"], result.hits["level"], strict=True)
        )
        assert 2 == sum(result.suites["met"])


def test_copies_of_an_item_in_other_suites_stay_evidence() -> None:
    """An item that stands in twenty suites, verbatim or with another ending, is found in each."""
    variants = [f"{ITEM} Answer number {number}" for number in range(12)]
    suites = {f"suite{number}": [ITEM, variants[number % 12]] for number in range(20)}
    result = nk.decontaminate([around(ITEM)], suites)
    assert 20 == sum(item == 0 for item in result.hits["item"])
    assert [1] * 20 == [min(1, met) for met in result.suites["met"]]


@settings(max_examples=60, deadline=None)
@given(
    item=st.lists(st.integers(0, 30), min_size=8, max_size=25),
    changes=st.lists(st.tuples(st.integers(0, 24), st.sampled_from(["drop", "change", "insert"])), max_size=6),
    before=st.lists(st.integers(31, 60), max_size=20),
    threshold=st.sampled_from([0.5, 0.75, 0.9]),
)
def test_similarity_is_the_longest_common_subsequence_around_an_anchor(
    item: list[int], changes: list[tuple[int, str]], before: list[int], threshold: float
) -> None:
    """An item with a run of five equal words is found if and only if enough of its words are there in order."""
    copy = list(item)
    for at, change in changes:
        place = at % (len(copy) + 1)
        copy[place : place + (change != "insert")] = [] if change == "drop" else [99]
    document = [*before, *copy]
    text, searched = (" ".join(f"w{word}" for word in words) for words in (item, document))
    # Other words, so that those of the item are rare.
    suites = nk.Suites({"a": [text], "b": [" ".join(f"v{word}" for word in range(5000))]})
    found = nk.decontaminate([searched], suites, threshold=threshold, max_chance=1.0, levels=("item", "variant"))
    hits = list(found.counted.rows())
    slack = 2 + len(item) // 6
    runs = [
        at - start
        for start in range(len(item) - 4)
        for at in range(len(document) - 4)
        if item[start : start + 5] == document[at : at + 5]
    ]
    windows = [document[max(0, diagonal - slack) : diagonal + len(item) + slack] for diagonal in runs]
    best = max((reference.common_length(item, window) for window in windows), default=0) / len(item)
    if best >= threshold:
        assert hits
    for hit in hits:
        assert hit["similarity"] >= threshold
        assert hit["similarity"] <= reference.common_length(item, document) / len(item)


def test_unrelated_texts_have_no_hit() -> None:
    """Documents that share single words and common phrases with the items are clean."""
    items = [
        f"What is the name of the {WORDS[seed % 40]} that {sentence(12, seed)} at the end of the day"
        for seed in range(60)
    ]
    documents = [
        f"What is the name of the game at the end of the day? {sentence(400, 1000 + seed)}" for seed in range(60)
    ]
    assert 0 == len(nk.decontaminate(documents, {"a": items}).hits)


# Levels


@pytest.mark.parametrize("count", [8, 60])
@pytest.mark.parametrize("own", [8, 16])
def test_a_document_with_only_the_template_of_a_suite_is_clean(own: int, count: int) -> None:
    """Similar items of one suite share a template; each is found by its own words, in every suite that copies it."""
    items = [f"{ITEM} {sentence(own, seed)}" for seed in range(count)]
    suites = {"mmlu": items, "copy": [f"{item} again" for item in items]}
    bare = [around(f"{ITEM} {sentence(own, 100 + seed)}") for seed in range(40)]
    found = nk.decontaminate([*bare, *map(around, items)], suites)
    assert list(range(40, 40 + count)) == found.contaminated
    assert {"template"} == {level for row, level in zip(found.hits["id"], found.hits["level"], strict=True) if row < 40}
    assert 40 <= found.summary["levels"]["template"]
    assert [count, count] == found.suites["met"]
    assert ITEM in around(items[0])[found.hits["start"][-1] : found.hits["end"][-1]]


def test_items_that_are_all_template_are_reported() -> None:
    """Fewer than five own words are no evidence, so that the item is listed as its template."""
    items = [f"{ITEM} {sentence(4, seed)}" for seed in range(8)]
    found = nk.decontaminate([around(items[2])], {"a": [*items, sentence(20, 9)]})
    assert ([8], [0]) == (found.suites["all_template"], found.suites["too_short"])
    assert ([], {"template"}) == (found.contaminated, set(found.hits["level"]))


PROBLEM = (
    "{} has {} pears and {} apples. {} eats {} of them on the way to school. How many pieces of fruit are left for {}?"
)
LONG = f"{sentence(20, 1)}\n{sentence(20, 2)}\n{sentence(20, 3)}"
VERSE = sentence(30, 4)
LEVELS = {
    "item": (ITEM, around(replaced(ITEM, [5, 13, 22]))),
    "variant": (
        PROBLEM.format("Anna", 12, 31, "Anna", 7, "Boris"),
        around(PROBLEM.format("Olga", 23, 40, "Olga", 9, "Peter")),
    ),
    "part": (LONG, around(sentence(20, 2))),
    "quotation": (f"{VERSE} {sentence(8, 5)}", around(VERSE)),
}


@pytest.mark.parametrize("level", LEVELS)
def test_a_hit_has_a_level_and_only_chosen_ones_count(level: str) -> None:
    """By default items make a document contaminated, are counted and cut out; other levels are listed."""
    item, text = LEVELS[level]
    texts = [text] * 5
    found = nk.decontaminate(texts, {"a": [item]})
    assert [level] * 5 == found.hits["level"]
    assert 5 == found.summary["levels"][level]
    assert (5 if level == "item" else 0) == found.summary["hits"] == len(found.contaminated) == len(found.counted)
    wider = nk.decontaminate(texts, {"a": [item]}, levels=["item", level])
    assert (5, [1]) == (len(wider.contaminated), wider.suites["met"])
    assert text != wider.remaining(texts)[0]
    assert (text != found.remaining(texts)[0]) == (level == "item")
    with pytest.raises(ParameterError, match="item, part, template"):
        nk.decontaminate(texts, {"a": [item]}, levels="items")


def test_ignored_texts_are_quotations_and_labels_make_items(tmp_path: Path) -> None:
    """One document is enough for a quotation of a file; a hit labelled same is an item."""
    item, text = LEVELS["quotation"]
    path = write_rows(tmp_path / "known.jsonl", [{"text": VERSE.upper()}])
    assert ["item"] == nk.decontaminate([text], {"a": [item]}).hits["level"]
    for ignore in ([f"{PAGE} {VERSE}"], path):
        found = nk.decontaminate([text, around(item)], {"a": [item]}, ignore=ignore)
        assert (["quotation", "item"], [1]) == (found.hits["level"], found.contaminated)
    judged = nk.decontaminate([text], {"a": [item]}, ignore=path, labels=[("a:0", "0", True)])
    assert (["item"], [0]) == (judged.hits["level"], judged.contaminated)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "ASCII JSON": json.dumps,
    "entities": lambda item: "".join(f"&#x{ord(sign):x};" for sign in item),
    "tags": lambda item: "<b>".join(f'<span class="w">{sign}</span>' for sign in item),
    "invisible": lambda item: "\u200b\u00ad\u2060".join(item),
}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
@pytest.mark.parametrize("item", [ITEM, "长江是亚洲第一长河，发源于青藏高原的唐古拉山脉"], ids=["English", "Chinese"])
def test_encoded_text_is_read_and_its_place_is_that_of_the_document(item: str, encode: Callable[[str], str]) -> None:
    """Escapes, entities, tags and invisible characters don't hide an item; the passage is that of the stored text."""
    text = f"{PAGE} <p>{encode(item)}</p> &amp; more"
    found = nk.decontaminate([text], {"a": [item]})
    assert ([1.0], ["item"]) == (found.hits["similarity"], found.hits["level"])
    (start,), (end,) = found.hits["start"], found.hits["end"]
    assert text[start:end] in encode(item)
    assert len(encode(item)) - (end - start) < 60


SOLUTION = """def mean_gap(values: list[float], limit: float = 0.5) -> float:
    # Too few values have no gap.
    if len(values) < 2:
        return limit
    ordered = sorted(values)
    gaps = [abs(b - a) for a, b in zip(ordered, ordered[1:])]
    return sum(gap for gap in gaps if gap >= limit) / max(len(gaps), 1)
"""


@pytest.mark.parametrize("encode", [str, lambda code: json.dumps({"code": code})], ids=["plain", "JSON"])
def test_code_with_other_names_is_found_as_functions_alone(encode: Callable[[str], str], tmp_path: Path) -> None:
    """Names, comments and literals don't hide a solution, also of a saved index; a function that does else is none."""
    copy_of = SOLUTION.replace("# Too few values have no gap.", "# Nothing to do.").replace("0.5", "3")
    for name in ("mean_gap", "values", "limit", "ordered", "gaps", "gap"):
        copy_of = re.sub(rf"\b{name}\b", f"{name[::2]}_of", copy_of)
    other = (
        SOLUTION.partition("    ordered")[0]
        + "    while values:\n        limit *= values.pop()\n    return math.exp(-limit)\n"
    )
    nk.Suites({"a": [SOLUTION, "return a"]}, kind="functions").save(tmp_path / "index")
    text = encode(f"import math\n\n\nclass Statistics:\n    pass\n\n\n{copy_of}\n\nmain()\n")
    assert [] == nk.decontaminate([text], {"a": [SOLUTION]}).contaminated
    found = nk.decontaminate([text, other, PAGE], tmp_path / "index")
    assert ([0], ["item"], [0]) == (found.contaminated, found.hits["level"], found.hits["item"])
    (start,), (end,) = found.hits["start"], found.hits["end"]
    assert copy_of.strip() == (json.loads(f'"{text[start:end]}"') if text[0] == "{" else text[start:end])
    assert (1, 0.85, 1e-12) == tuple(found.summary[name] for name in ("too_short", "threshold", "max_chance"))


# Inputs


def test_columns_are_joined_or_searched_apart(tmp_path: Path) -> None:
    """Lists of choices are joined; together all columns are needed, apart one is enough."""
    rows = [
        {
            "question": sentence(15, seed),
            "choices": [sentence(6, 100 + seed), sentence(6, 200 + seed)],
            "key": f"k{seed}",
        }
        for seed in range(3)
    ]
    path = write_rows(tmp_path / "mmlu.jsonl", rows)
    columns = {"mmlu": ["question", "choices"]}
    whole = around(str(rows[1]["question"]) + "\nA. " + "\nB. ".join(rows[1]["choices"]))
    question = around(str(rows[2]["question"]))
    together = nk.decontaminate([whole, question], {"mmlu": path}, columns=columns)
    assert [0] == together.contaminated
    apart = nk.decontaminate([whole, question], {"mmlu": path}, columns=columns, together=False, item_id="key")
    assert [(0, "k1"), (0, "k1"), (1, "k2")] == list(zip(apart.hits["id"], apart.hits["item"], strict=True))
    assert ([2], [3]) == (apart.suites["met"], apart.suites["items"])


def test_every_file_of_a_folder_is_a_suite(tmp_path: Path) -> None:
    """Files of several formats are named by their path; other files are no suites."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": ITEM}) + "\n")
    (tmp_path / "sub" / "b.csv").write_text("question,answer\n" + sentence(15, 1) + ",x\n")
    (tmp_path / "README.md").write_text("no items")
    suites = nk.Suites(tmp_path)
    assert ["a", "sub/b"] == [suite.name for suite in suites.suites]
    assert ("text", "question") == tuple(suite.columns[0] for suite in suites.suites)
    assert [0] == nk.decontaminate([around(ITEM)], tmp_path).contaminated


def test_frames_and_corpora_are_read(tmp_path: Path) -> None:
    """Suites and documents may be frames; a corpus gives ids and sources."""
    pa = pytest.importorskip("pyarrow")
    suites = {"a": pa.table({"question": [ITEM], "choices": [["one", "two"]]})}
    documents = pa.table({"body": [PAGE, around(ITEM)], "name": ["x", "y"]})
    assert ["y"] == nk.decontaminate(documents, suites, text="body", id="name").contaminated
    rows = [
        {"text": text, "id": name, "host": host} for text, name, host in ((PAGE, "x", "h"), (around(ITEM), "y", "h"))
    ]
    path = write_rows(tmp_path / "corpus.jsonl", rows)
    result = nk.decontaminate(path, suites, sources="host")
    assert ["y"] == result.contaminated
    assert result.sources is not None
    assert [{"source": "h", "documents": 2, "contaminated": 1, "share": 0.5}] == list(result.sources.rows())


def test_batches_and_threads_do_not_matter(set_threads: Callable[[int], None]) -> None:
    """A list, an iterator and an Arrow column give the same hits with one thread and with two."""
    pa = pytest.importorskip("pyarrow")
    documents = [around(ITEM) if number % 7 == 0 else sentence(50, number) for number in range(100)]
    results = []
    for threads in (1, 2):
        set_threads(threads)
        found = [nk.decontaminate(t, {"a": [ITEM]}) for t in (documents, iter(documents), pa.array(documents))]
        results += [result.hits.columns for result in found]
    assert all(results[0] == other for other in results)
    assert list(range(0, 100, 7)) == results[0]["id"]


def test_remaining_texts_have_no_hit() -> None:
    """Hits are cut out with a margin, and a second run finds nothing."""
    texts = [PAGE, around(ITEM), None, f"{ITEM} {ITEM}"]
    result = nk.decontaminate(texts, {"a": [ITEM]})
    assert [False, True, False, True] == result.flags.tolist()
    remaining = result.remaining(texts)
    assert (PAGE, "") == (remaining[0], remaining[2])
    assert "rivers" not in remaining[1]
    assert 0 == len(nk.decontaminate(remaining, {"a": [ITEM]}).hits)
    assert len(remaining[1]) > len(result.remaining(texts, margin=20)[1])
    with pytest.raises(ParameterError, match="margin"):
        result.remaining(texts, margin=-1)


# Saved indexes


def test_a_saved_index_and_a_pickle_find_the_same(tmp_path: Path) -> None:
    """An index is opened by its path, also by `decontaminate`."""
    suites = nk.Suites({"a": [ITEM, ""], "b": [sentence(20, 1)]})
    path = tmp_path / "index.suites"
    suites.save(path)
    opened = nk.Suites.open(path)
    opened.verify()
    expected = nk.decontaminate([around(ITEM)], suites).hits.columns
    for other in (opened, copy.deepcopy(opened), path, str(path)):
        assert expected == nk.decontaminate([around(ITEM)], other).hits.columns
    assert (repr(suites), len(suites)) == (repr(opened), len(opened))
    with pytest.raises(ParameterError, match="columns"):
        nk.decontaminate([""], opened, columns=["text"])


def test_a_damaged_index_is_an_error(tmp_path: Path) -> None:
    """Any changed byte that is read, and a file that was cut, raise CorruptStoreError."""
    path = tmp_path / "index.suites"
    nk.Suites({"a": [ITEM]}).save(path)
    content = path.read_bytes()
    for at in range(64, len(content), 97):
        if content[at] == 0:
            continue
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(CorruptStoreError):
            nk.decontaminate([ITEM], nk.Suites.open(path))
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(CorruptStoreError):
        nk.Suites.open(path)


def test_index_needs_little_memory() -> None:
    """The index has at most 100 bytes per word."""
    suites = nk.Suites({"a": [sentence(30, seed) for seed in range(3000)]})
    assert suites.nbytes / suites.num_words < 50


# Errors


def test_faults_are_named() -> None:
    """Values out of range, missing columns and files say what is allowed."""
    with pytest.raises(ParameterError, match="threshold"):
        nk.decontaminate([PAGE], {"a": [ITEM]}, threshold=0)
    with pytest.raises(ParameterError, match="max_chance"):
        nk.decontaminate([PAGE], {"a": [ITEM]}, max_chance=2)
    with pytest.raises(ParameterError, match="no suite"):
        nk.Suites({})
    with pytest.raises(ParameterError, match="names of suites: a"):
        nk.Suites({"a": [ITEM]}, columns={"b": ["text"]})
    with pytest.raises(ParameterError, match="None or functions"):
        nk.Suites({"a": [ITEM]}, kind="code")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="one per text"):
        nk.decontaminate([PAGE], {"a": [ITEM]}, ids=["x", "y"])
    with pytest.raises(InputError, match="no such file"):
        nk.Suites("nowhere/at/all")


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    """The message lists the columns of the file."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"stem": "x", "key": "y"}\n')
    with pytest.raises(ParameterError, match="stem, key"):
        nk.Suites(path)
    with pytest.raises(ParameterError, match="stem, key"):
        nk.Suites(path, columns=["question"])


def test_no_documents_give_an_empty_result() -> None:
    """Tables keep their columns."""
    assert [0, 0] == nk.decontaminate([], {"a": [ITEM], "b": []}).suites["met"]
    result = nk.decontaminate([], {"a": [ITEM]})
    assert (0, []) == (len(result.hits), result.contaminated)
    assert [{"suite": "a", "items": 1, "too_short": 0, "all_template": 0, "met": 0, "share": 0.0}] == list(
        result.suites.rows()
    )


def test_results_do_not_change() -> None:
    """Golden values: words, weights and chance are part of the format."""
    result = nk.decontaminate([around(ITEM), around(replaced(ITEM, [4, 17]))], {"a": [ITEM, sentence(20, 7)]})
    rows = [(hit["start"], hit["end"], hit["similarity"], hit["chance"]) for hit in result.hits.rows()]
    golden = [(98, 252, 1.0, 1.73749e-60), (98, 261, 28 / 30, 1.58943e-53)]
    assert golden == [(start, end, similarity, float(f"{chance:.6g}")) for start, end, similarity, chance in rows]
    assert np.float64 == np.asarray(result.hits["chance"]).dtype


def test_hits_labelled_different_are_left_out() -> None:
    """Labels name the item and the document; the precision is that of the search, with its interval."""
    texts, suites = [around(ITEM), PAGE, f"{ITEM}\n{PAGE}"], {"rivers": [ITEM], "other": ["none of these words"]}
    labels = [("rivers:0", "b", True), ("a", "rivers:0", False), ("rivers:0", "z", False), ("other:0", "a", None)]
    found = nk.decontaminate(texts, suites, ids=["a", "c", "b"], labels=labels)
    assert (["b"], ["a"]) == (found.contaminated, found.rejected["id"])
    assert (["b"], [1, 0]) == (found.hits["id"], found.suites["met"])
    low, high = wilson(1, 2)
    precision = {"value": 0.5, "low": low, "high": high}
    expected = {"same": 1, "different": 1, "without_hit": 1, "rejected": 1, "precision": precision}
    assert expected == found.summary["labels"]
    assert texts[0] == found.remaining(texts)[0]
    none = nk.decontaminate(texts, suites, labels=[("rivers:7", 0, True)])
    assert None is none.summary["labels"]["precision"]


def test_labels_of_a_sample_count_by_their_weights() -> None:
    """A label that represents nine hits counts nine times."""
    labels = PairLabels(["s:0", "s:0"], ["0", "1"], [True, False], weight=[9.0, 1.0])
    found = nk.decontaminate([around(ITEM), f"{ITEM}\n{PAGE}"], {"s": [ITEM]}, labels=labels)
    assert 0.9 == found.summary["labels"]["precision"]["value"]
