"""nearkin.contains: the definition, positions, ids, pickles, recall, errors."""

from __future__ import annotations

import gzip
import json
import math
import pickle
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import strategies
from definitions import join_words, text_features
from nearkin.dedup import contains as module
from nearkin.errors import InputError, ParameterError
from nearkin.io import open_corpus
from nearkin.theory import containment_overlap

WORDS = nk.Recipe("letters:python|word:1|binary|xxh3|simhash:64")


@pytest.mark.filterwarnings("ignore:.* matches are spread over")
@settings(max_examples=80, deadline=None)
@given(
    known=strategies.corpora(max_size=12),
    queries=strategies.corpora(max_size=12),
    threshold=st.sampled_from([0.2, 0.5, 0.8, 1.0]),
    batch=st.integers(1, 5),
)
def test_short_texts_equal_the_definition(
    known: list[str | None], queries: list[str | None], threshold: float, batch: int
) -> None:
    """Every reference text whose features the query has is found, also a larger one; the most similar come first."""
    with mock.patch.object(module, "_MAX_QUERIES", batch), mock.patch.object(module, "_MAX_CHARACTERS", 40):
        result = nk.contains(queries, known, recipe=WORDS, threshold=threshold, max_spread=None)
    item, other = text_features(queries, WORDS), text_features(known, WORDS)
    expected = []
    for i, query in enumerate(item):
        shares = [(len(query & text) / len(text), k) for k, text in enumerate(other) if text]
        expected += [
            (i, k, share) for share, k in sorted(shares, key=lambda pair: (-pair[0], pair[1])) if share >= threshold
        ]
    assert expected == list(zip(result["query"], result["id"], result["similarity"], strict=True))
    for row in result.rows():
        text = queries[row["query"]] or ""
        assert 0 <= row["start"] < row["end"] <= len(text)
        shared = item[row["query"]] & other[row["id"]]
        inside = text_features([text[row["start"] : row["end"]]], WORDS)[0] & shared
        assert len(inside) >= math.ceil(0.9 * len(shared) - 1e-9)


@pytest.mark.parametrize("recipe", [None, "word:3|binary|xxh3|simhash:128"])
@pytest.mark.parametrize("passage", ["en", "zh"])
def test_the_span_is_the_position_of_the_reference_text(passage: str, recipe: str | None) -> None:
    """Spans count characters of the unchanged query, with marks, width forms and line ends before them."""
    rng = np.random.default_rng(2)
    if passage == "en":
        names = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdklmnrst"]
        text = " ".join(rng.choice(names, 120)).capitalize() + "s"
        other = " ".join(rng.choice([name[::-1] + "x" for name in names], 300))
    else:
        text = "".join(chr(0x4E00 + i) for i in rng.integers(0, 8000, 200))
        other = "".join(chr(0x4E00 + i) for i in rng.integers(8000, 16000, 300))
    before = "Ｃａｆe\u0301 – ﬁne\r\n" + other + "\n# "
    query = before + text + "\n" + other
    result = nk.contains([query], [text], recipe=recipe)
    assert [1.0] == result["similarity"]
    assert (len(before), len(before) + len(text)) == (result["start"][0], result["end"][0])


def test_known_texts_at_the_threshold_are_found_with_the_stated_recall() -> None:
    """One long query has just enough of reference texts of 40 to 3,000 words."""
    references, query = [], []
    for at, n in enumerate([40, 64, 100, 300, 1000, 3000] * 10):
        references.append(join_words(range(n), f"k{at}x"))
        query.append(join_words(range(containment_overlap(0.8, n)), f"k{at}x"))
    result = nk.contains([" ".join(query)], references, recipe=WORDS)
    # 60 independent sketches, each found with probability .95 or more; fails with probability below 1e-6.
    assert len(result) >= 60 * 0.95 - 5.5 * math.sqrt(60 * 0.95 * 0.05)
    assert all(similarity >= 0.8 for similarity in result["similarity"])
    assert len(result) <= len(nk.contains([" ".join(query)], references, recipe=WORDS, recall=0.999)) <= 60


def test_ids_frames_files_and_corpora(tmp_path: Path) -> None:
    """Lists, frames, files and corpora give the same ids."""
    references = pa.table({"name": ["a", "b"], "body": ["one two three", "four five six"]})
    queries = pa.table({"name": ["x", "y"], "body": ["zero one two three", "none"]})
    expected = [("x", "a", 1.0)]

    def rows(actual: Any) -> list[tuple[Any, Any, float]]:
        return list(zip(actual["query"], actual["id"], actual["similarity"], strict=True))

    assert expected == rows(nk.contains(queries, references, text="body", id="name"))
    assert expected == rows(
        nk.contains(queries["body"], references["body"].to_pylist(), ids=["x", "y"], known_ids=["a", "b"])
    )
    for name, table in (("known", references), ("queries", queries)):
        lines = [f'{{"name": "{row["name"]}", "body": "{row["body"]}"}}\n' for row in table.to_pylist()]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    paths = tmp_path / "queries.jsonl", tmp_path / "known.jsonl"
    assert expected == rows(nk.contains(*paths, text="body", id="name"))
    with open_corpus([paths[1]], text_column="body", id_column="name") as corpus:
        stored = nk.KnownTexts(corpus)
    assert expected == rows(nk.contains(paths[0], stored, text="body", id="name"))
    table = stored.find(iter(["none"])).to_arrow()
    assert (0, ["query", "id", "similarity", "start", "end"]) == (table.num_rows, table.column_names)
    assert pa.int64() == table.schema.field("start").type


def test_known_texts_can_be_pickled() -> None:
    """The copy gives the same results and representation."""
    stored = nk.KnownTexts(["one two three", "", None], ids=["a", "b", "c"], threshold=0.5, recall=0.9, recipe=WORDS)
    copy = pickle.loads(pickle.dumps(stored))  # noqa: S301 - our own
    assert repr(stored) == repr(copy)
    assert (3, 0.5, 0.9) == (len(copy), copy.threshold, copy.recall)
    for item in (stored, copy):
        assert [("q", "a", 2 / 3)] == [
            (row["query"], row["id"], row["similarity"]) for row in item.find(["two three"], ids=["q"]).rows()
        ]


def test_empty_inputs_give_no_rows() -> None:
    """No queries, no reference texts, and texts without letters."""
    assert 0 == len(nk.contains([], ["one"])) == len(nk.contains(["one"], [])) == len(nk.contains([], []))
    assert 0 == len(nk.contains(["!!!", None, ""], ["one", "", None]))


def test_threads_have_no_effect(set_threads: Callable[[int], None]) -> None:
    """One thread and three give the same rows."""
    rng = np.random.default_rng(4)
    references = [join_words(rng.integers(0, 500, n)) for n in rng.integers(1, 200, 300)]
    queries = [" ".join(rng.choice(references, 4)) for _ in range(50)]
    actual = []
    for count in (1, 3):
        set_threads(count)
        actual.append(nk.contains(queries, references, recipe=WORDS, max_spread=None).columns)
    assert actual[0] == actual[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.0}, "threshold=0.0 is not allowed; use a containment above 0"),
        ({"max_spread": 0.5}, "max_spread=0.5 is not allowed; use 1 or more, or None"),
        ({"recall": 1.0}, "recall=1.0 is not allowed; use a probability above 0 and below 1"),
        ({"recipe": "given|xxh3|simhash:64"}, "which reads texts"),
        ({"known_ids": ["a", "b"]}, "ids=2 values is not allowed; use 1 values, one per text"),
        ({"ids": ["a", "b", "c"]}, "ids=3 values is not allowed; use 1 values, one per text"),
        ({"ids": []}, "ids=0 values is not allowed; use one per text"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    """The message names the remedy."""
    with pytest.raises(ParameterError, match=message):
        nk.contains(["one"], ["one"], **options)


def test_known_texts_have_their_own_parameters() -> None:
    """A recipe, a threshold, a recall or ids with them are refused; so are equal ids."""
    stored = nk.KnownTexts(["one"])
    others: list[dict[str, Any]] = [
        {"recipe": WORDS},
        {"threshold": 0.5},
        {"recall": 0.9},
        {"known_ids": [1]},
        {"max_spread": 2},
    ]
    for options in others:
        with pytest.raises(ParameterError, match="None with KnownTexts"):
            nk.contains(["one"], stored, **options)
    with pytest.raises(InputError, match="'a' occurs in rows 0 and 1"):
        nk.KnownTexts(["one", "two"], ids=["a", "a"])


def test_progress_is_that_of_the_queries() -> None:
    """One report per batch; the number of queries is unknown for a generator."""
    reports: list[tuple[str, int, int | None]] = []
    texts = [f"Query {number} of the test of progress." for number in range(1000)]
    with mock.patch.object(module, "_MAX_QUERIES", 400):
        nk.contains(texts, ["Another text."], progress=lambda *report: reports.append(report))
        assert [("search", done, 1000) for done in (400, 800, 1000)] == reports
        nk.contains(iter(texts), ["Another text."], progress=lambda *report: reports.append(report))
    assert ("search", 1000, None) == reports[-1]


def test_scattered_features_are_no_match() -> None:
    """A long text has the frequent 4-grams of short ones by chance, but not close together; the call says so."""
    source = random.Random(5)
    words = ["".join(source.choice("abcde") for _ in range(4)) for _ in range(60)]
    long = " ".join(source.choice(words) for _ in range(20_000))
    known = [" ".join(source.choice(words) for _ in range(30)) for _ in range(10)]
    short_features = "char:4|binary|xxh3|simhash:128"
    with pytest.warns(RuntimeWarning, match=r"10 reference texts were left out: .* max_spread=4 .* max_spread=None"):
        assert 0 == len(nk.contains([long], known, recipe=short_features))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        everything = nk.contains([long], known, recipe=short_features, max_spread=None)
        assert 10 == len(everything)
        spreads = [end - start for start, end in zip(everything["start"], everything["end"], strict=True)]
        assert min(spreads) > 4 * max(map(len, known))
        assert 0 == len(nk.contains([long], known, recipe="word:5|binary|xxh3|simhash:128"))
        quoted = "red wine and old cheese on a table in the garden of the house"
        assert 1 == len(nk.contains([f"He said: {quoted}. Then he left, and nothing else was heard."], [quoted]))


def test_a_passage_in_a_long_text_is_found_where_it_stands() -> None:
    """Chance matches do not hide it: 300,000 characters of other text, one passage in lines with a prefix."""
    source = random.Random(6)
    words = ["".join(source.choice("abcdefgh") for _ in range(source.randint(2, 7))) for _ in range(800)]
    filler = " ".join(source.choice(words) for _ in range(60_000))
    passages = [[source.choice(words) for _ in range(40)] for _ in range(100)]
    wrapped = "".join(f"\n// {' '.join(passages[7][at : at + 5])}" for at in range(0, 40, 5))
    middle = len(filler) // 2
    result = nk.contains([filler[:middle] + wrapped + filler[middle:]], [" ".join(passage) for passage in passages])
    assert [7] == result["id"]
    assert middle <= result["start"][0] < result["end"][0] <= middle + len(wrapped) + 20


def test_unrelated_posts_are_not_inside_a_long_text(shared: Path) -> None:
    """At most one of 100 newsgroup posts in 300,000 characters of others; each of them is found where it stands."""
    with gzip.open(shared / "data" / "en_20news.jsonl.gz", "rt", encoding="utf-8") as lines:
        posts = list(dict.fromkeys(text for line in lines if len(text := json.loads(line)["text"]) > 200))
    random.Random(1).shuffle(posts)
    known, others = posts[:100], "\n".join(posts[100:1000])[:300_000]
    assert 300_000 == len(others)
    assert len(nk.contains([others], known)) <= 1
    assert len(nk.contains(["\n".join([others, *known])], known)) >= 99
