"""nearkin.dedup.keep: the order of visits by every rule, with ties, missing values and ids of both types."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import nearkin as nk
from nearkin.dedup import texts as jobs
from nearkin.dedup.boilerplate import count_sound
from nearkin.dedup.candidates import MinHashCandidates
from nearkin.dedup.config import engine_config
from nearkin.dedup.documents import HashedDocuments
from nearkin.dedup.keep import KeepKey, keep_columns, keep_order, missing_warnings, parse_keep
from nearkin.errors import InputError, ParameterError
from nearkin.io import Column

IDS = st.lists(st.one_of(st.integers(-5, 5), st.sampled_from(["", "a", "b", "10", "東"])), max_size=12)


def documents(ids: list[Any], lengths: list[int] | None = None, values: list[Any] | None = None) -> HashedDocuments:
    n = len(ids)
    return HashedDocuments(
        np.zeros((n, 1), np.uint64),
        np.ones(n, np.uint64),
        np.zeros((n, 2), np.uint64),
        np.array(lengths or [0] * n, np.uint64),
        Column.of(ids),
        {} if values is None else {"keep:values": Column.of(values)},
        lambda rows: [],
    )


def order(new: HashedDocuments, rule: str) -> NDArray[np.int64]:
    return keep_order(new, parse_keep(rule))


def by_id(name: int | str) -> tuple[bool, Any]:
    return isinstance(name, str), name


@given(IDS)
def test_first_and_last_are_the_order_of_the_input(ids: list[Any]) -> None:
    """Ids have no effect."""
    rows = list(range(len(ids)))
    assert rows == order(documents(ids), "first").tolist()
    assert rows[::-1] == order(documents(ids), "last").tolist()


@given(ids=IDS, data=st.data())
def test_lengths_decide_then_ids_then_rows(ids: list[Any], data: st.DataObject) -> None:
    """Numbers come before strings among ids; equal ids are ordered by row."""
    lengths = data.draw(st.lists(st.integers(0, 3), min_size=len(ids), max_size=len(ids)))
    rows = range(len(ids))
    longest = sorted(rows, key=lambda row: (-lengths[row], by_id(ids[row]), row))
    shortest = sorted(rows, key=lambda row: (lengths[row], by_id(ids[row]), row))
    assert longest == order(documents(ids, lengths), "longest").tolist()
    assert shortest == order(documents(ids, lengths), "shortest").tolist()


@given(ids=IDS, data=st.data())
def test_missing_values_come_last_in_both_directions(ids: list[Any], data: st.DataObject) -> None:
    """None and NaN are ties of each other."""
    numbers = st.one_of(st.none(), st.just(math.nan), st.integers(-2, 2), st.floats(-1, 1))
    values: list[Any] = data.draw(st.lists(numbers, min_size=len(ids), max_size=len(ids)))

    def missing(row: int) -> bool:
        return values[row] is None or math.isnan(values[row])

    for rule, sign in (("max", -1), ("min", 1)):
        expected = sorted(
            range(len(ids)),
            key=lambda row: (missing(row), 0 if missing(row) else sign * values[row], by_id(ids[row]), row),
        )
        assert expected == order(documents(ids, values=values), rule).tolist()


@pytest.mark.parametrize("rule", ["first", "last", "longest", "shortest", "max", "min"])
def test_no_documents_have_an_empty_order(rule: str) -> None:
    """Of no documents."""
    assert [] == order(documents([], values=[]), rule).tolist()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.one_of(st.none(), st.integers(0, 2))), max_size=12))
def test_keys_decide_one_after_another(rows: list[tuple[int, int, int | None]]) -> None:
    """Each key decides the ties of the previous ones, and the row decides the last ones."""
    ids = list(range(len(rows), 0, -1))
    new = documents(ids, [length for length, _, _ in rows])
    new.columns = {"keep:a": Column.of([a for _, a, _ in rows]), "keep:b": Column.of([b for _, _, b in rows])}

    def place(row: int) -> tuple[float, ...]:
        length, a, b = rows[row]
        return (-a, math.inf if b is None else b, -length)

    numbers = range(len(rows))
    expected = sorted(numbers, key=lambda row: (*place(row), ids[row]))
    assert expected == order(new, "max:a, min:b,longest").tolist()
    assert sorted(numbers, key=lambda row: (*place(row)[:2], -row)) == order(new, "max:a,min:b,last").tolist()
    missing = sum(b is None for _, _, b in rows)
    reported = missing_warnings(new, parse_keep("max:a,min:b"))
    assert (
        [f"{missing} of {len(rows)} documents have no value in column 'b' and come last by it"] if missing else []
    ) == reported


NEWS = """The minister said on Monday that the old bridge won't open before the end of the year, and the town agreed.

He named neither the engineer nor the price. "It's a question of weeks", said the mayor of the town, who asked twice.

Nobody in the town believes it; the ferry is full on every morning, and the road around the lake takes an hour."""
CODE = """def scale(x1: int | str | None, utf8: bool) -> dict[str, float]:
    url = f"https://example.org/v2/items?id={x1}&page=2#top"
    table = {"a1b": 1.5, "café": 2.5}  # a|b | c | d
    return {key: value / 2 for key, value in table.items()}
"""
FRENCH = "« À côté, l’été s’achève déjà… », dit-elle à Noël. CAFÉ… « Où êtes-vous allé ? » Il répondit : « Là-bas »."
CHINESE = "首页设计由王先生负责。第一章 总则：为了保护环境，制定本法。国家鼓励公民参与环境保护，并给予奖励。"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (NEWS.replace("'", "â€™"), "fewer damaged words"),
        (NEWS.replace("mayor", "ma\ufffdor"), "fewer damaged words"),
        (NEWS.replace("bridge", "br1dge"), "less noise"),
        (NEWS.replace("town", "tovvn", 1), "fewer odd words"),
        (NEWS + NEWS[NEWS.index("\n\n") :], "less repetition"),
        ("Home\nNews\nContact us\n\n" + NEWS, "less menu"),
        (NEWS + "\nHome | News | Sport | Log in", "less menu"),
        (NEWS[:-60], "more words"),
        (NEWS.replace("the ", "the"), "more words"),
        (NEWS.replace("\n\n", " "), "more lines"),
        (NEWS[:-1], "longer"),
    ],
)
def test_the_best_copy_is_kept_and_the_reason_given(wrong: str, said: str) -> None:
    """Whichever comes first."""
    for texts in ([wrong, NEWS], [NEWS, wrong]):
        result = nk.dedup(texts, keep="best", threshold=0.3)
        assert [NEWS] == [texts[row] for row in result.kept]
        assert [None, said] == result.clusters["reason_kept"]


@pytest.mark.parametrize("text", [CODE, FRENCH, CHINESE])
def test_unusual_texts_are_no_worse_than_their_parts(text: str) -> None:
    """Code, tables, French and Chinese are better than a shorter copy of them, whichever word is missing."""
    words = text.split(" ") if " " in text[:9] else list(text)
    texts = [text, *(" ".join(words[:at] + words[at + 1 :]) for at in range(len(words)) if words[at].isalnum())]
    assert len(texts) > 3
    result = nk.dedup(texts, keep="best", threshold=0.1)
    assert 0 == result.kept[0]


@pytest.mark.parametrize(
    "options", [{}, {"cluster": "components"}, {"kind": "pages"}, {"radius": 30}, {"labels": [(1, 2, True)]}]
)
def test_only_texts_with_candidates_are_scored(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    """The result is that of scores for all texts; a text that shares no band with another one is not read again."""
    rng = random.Random(4)
    texts = ["\n".join("".join(rng.choices("abcdefghij ", k=60)) for _ in range(3)) for _ in range(40)]
    texts += [text.replace("a", "\ufffd", 1) for text in texts[:9]] + [text[:-9] for text in texts[5:12]] + ["", "!"]
    scored: list[int] = []

    def count(documents: HashedDocuments, rows: NDArray[np.int64]) -> None:
        scored.append(len(rows))
        count_sound(documents, rows)

    monkeypatch.setattr(jobs, "count_sound", count)
    result = nk.dedup(texts, keep="best", **options)
    monkeypatch.setattr(MinHashCandidates, "share_bands", lambda source, values: np.ones(len(values), bool))
    everything = nk.dedup(texts, keep="best", **options)
    assert (result.kept, list(result.clusters.rows())) == (everything.kept, list(everything.clusters.rows()))
    assert len(result.kept) < len(texts) - 9
    assert scored == ([len(texts)] * 2 if {"radius", "labels"} & options.keys() else [28, len(texts) - 2])


def test_dates_are_in_order_of_time() -> None:
    """ISO 8601, with and without zones; a column that also has numbers is an error."""
    dates = ["2024-03-01T12:00:00+02:00", "2024-03-01T10:30:00Z", "2024-03-01", None, "2023-12-31 23:59:59.999999"]
    new = documents(list(range(5)))
    new.columns = {"keep:crawled": Column.of(dates)}
    assert [1, 0, 2, 4, 3] == order(new, "max:crawled").tolist()
    for values, said in (
        (["2024-03-01", 5], "column 'crawled' holds 5, a number among dates"),
        ([5, "2024-03-01"], "column 'crawled' holds '2024-03-01', a date among numbers"),
        (["business"], "column 'crawled' holds 'business', which is neither number nor date"),
        (["2024-02-30"], "neither number nor date"),
    ):
        new = documents(list(range(len(values))))
        new.columns = {"keep:crawled": Column.of(list[Any](values))}
        with pytest.raises(InputError, match=said):
            order(new, "max:crawled")


@pytest.mark.parametrize(
    "rule", ["", "frist", "max:", "first,longest", "longest,longest", "max:a,max:a", "longest,", 3]
)
def test_invalid_rules_are_refused(rule: str) -> None:
    """Unknown keys, repeated keys, and keys behind one that leaves no tie."""
    with pytest.raises(ParameterError, match="keep="):
        parse_keep(rule)


def test_keep_columns_lists_each_column_once() -> None:
    """Each once, in order."""
    assert ["a", "b"] == keep_columns(parse_keep("max:a,min:b,min:a,first"))
    assert (KeepKey("max", "x:y"), KeepKey("last")) == parse_keep("max:x:y,last")


FOX = [
    "The quick brown fox jumps over the lazy dog.",
    "A completely different sentence, about cats.",
    "The quick brown fox jumps over the lazy dog!!",
    "The quick brown fox jumped over the lazy dog.",
    "!!!",
]


@pytest.mark.parametrize("cluster", ["absorb", "components"])
def test_none_removes_every_document_of_a_cluster(cluster: Any) -> None:
    """The kept one of `first` is removed as well; its reason says so, and pairs and clusters are those of `first`."""
    texts = [*FOX, FOX[1]]
    result = nk.dedup(texts, keep="none", threshold=0.7, cluster=cluster)
    first = nk.dedup(texts, keep="first", threshold=0.7, cluster=cluster)
    assert ([4], [0, 1, 4]) == (result.kept, first.kept)
    assert ["representative", "same-letters", "near", "representative", "exact"] == result.clusters["reason"]
    assert (2, 5, 1) == (
        result.summary["removed_by_reason"]["representative"], result.summary["removed"], result.summary["kept"]
    )  # fmt: skip
    assert list(first.pairs.rows()) == list(result.pairs.rows())
    assert "representative" not in first.summary["removed_by_reason"]


def test_none_keeps_what_matches_nothing_and_removes_matches_of_reference_documents() -> None:
    """A match of a reference document is removed; the reference document is none of this corpus."""
    result = nk.dedup(FOX[:2], keep="none", against=[FOX[0]])
    assert ([1], ["exact-old"]) == (result.kept, result.clusters["reason"])
    assert 0 == result.summary["removed_by_reason"]["representative"]


def test_none_removes_clusters_of_files(tmp_path: Path) -> None:
    """Files have the same rule."""
    for name, content in (("a", b"one " * 2000), ("b", b"one " * 2000), ("c", b"something else")):
        (tmp_path / name).write_bytes(content)
    result = nk.dedup_files(sorted(tmp_path.iterdir()), keep="none")
    assert [str(tmp_path / "c")] == result.kept


def test_none_is_refused_where_a_document_must_stay(tmp_path: Path) -> None:
    """By a store, near misses, passages and engines, and in a list of rules."""
    with (
        nk.Store.create(tmp_path / "store") as store,
        pytest.raises(ParameterError, match=r"^keep=none .* the store would not recognise"),
    ):
        nk.dedup(FOX, keep="none", store=store)
    with pytest.raises(ParameterError, match="keep other than none"):
        nk.dedup(FOX, keep="none", near_misses=5)
    with pytest.raises(ParameterError, match="parts are compared with earlier"):
        nk.passages(FOX, keep="none")
    with pytest.raises(ParameterError, match=r"on an engine; nearkin\.dedup has none"):
        engine_config(None, keep="none")
    with pytest.raises(ParameterError, match="or none"):
        nk.dedup(FOX, keep="longest,none")
