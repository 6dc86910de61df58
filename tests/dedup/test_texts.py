"""nearkin.dedup: kept and removed documents and reasons, against the definition in plain Python."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import reference
import strategies
from corpora import write_rows
from definitions import RECIPE, Reference, dedup, near_duplicates, removed, same
from nearkin import errors
from nearkin.io import open_corpus

thresholds = st.sampled_from([0.2, 0.4, 0.6, 0.8, 1.0])
measures = st.sampled_from(["jaccard", "containment", "indel", "none"])


def keep_order_rows(
    rows: list[int], keep: str, texts: list[str | None], ids: list[Any], values: list[Any]
) -> list[int]:
    """Return rows in the order of the keep rule: ties by id, numbers before strings."""

    def by_id(row: int) -> tuple[bool, Any]:
        return isinstance(ids[row], str), ids[row]

    def size(row: int) -> int:
        return len(texts[row] or "")

    def value(row: int) -> tuple[bool, float]:
        missing = values[row] is None or math.isnan(values[row])
        return missing, 0.0 if missing else values[row] * (-1 if keep == "max" else 1)

    return {
        "first": lambda: rows,
        "last": lambda: rows[::-1],
        "longest": lambda: sorted(rows, key=lambda row: (-size(row), by_id(row))),
        "shortest": lambda: sorted(rows, key=lambda row: (size(row), by_id(row))),
        "max": lambda: sorted(rows, key=lambda row: (value(row), by_id(row))),
        "min": lambda: sorted(rows, key=lambda row: (value(row), by_id(row))),
    }[keep]()


@st.composite
def id_columns(draw: st.DrawFn, n: int) -> list[Any]:
    """Draw distinct ids, whole numbers or strings, in any order."""
    numbers = draw(st.permutations(range(n)))
    return [f"d{i}" for i in numbers] if draw(st.booleans()) else [i - 3 for i in numbers]


# The rule


@pytest.mark.filterwarnings("ignore:.*have no value in column")
@settings(max_examples=150, deadline=None)
@given(
    texts=strategies.corpora(),
    threshold=thresholds,
    verify=measures,
    cluster=st.sampled_from(["absorb", "components"]),
    keep=st.sampled_from(["first", "last", "longest", "shortest", "max", "min"]),
    data=st.data(),
)
def test_dedup_equals_the_definition(
    texts: list[str | None], threshold: float, verify: str, cluster: str, keep: str, data: st.DataObject
) -> None:
    """Every rule: kept, removed, representative, distance, similarity, reason, numbers and order."""
    n = len(texts)
    ids = data.draw(id_columns(n))
    values = data.draw(
        st.lists(st.one_of(st.none(), st.integers(0, 3), st.just(math.nan), st.floats(-1, 1)), min_size=n, max_size=n)
    )
    ranked = {"values": values} if keep in ("max", "min") else {}
    result = dedup(texts, ids=ids, threshold=threshold, verify=verify, cluster=cluster, keep=keep, **ranked)

    by_definition = Reference(texts, threshold, verify)
    order = keep_order_rows(by_definition.rows, keep, texts, ids, values)
    rule = reference.absorb if cluster == "absorb" else reference.components
    by = rule(order, by_definition.match)
    gone = {row: head for row, head in by.items() if row != head}
    assert [ids[row] for row in range(n) if row not in gone] == result.kept
    assert [row for row in range(n) if row not in gone] == result.kept_rows.tolist()
    assert {ids[row]: ids[head] for row, head in gone.items()} == removed(result)

    # The table has clusters by their first row; in each the kept document, then the removed ones in input order.
    members = {head: [head, *sorted(row for row in gone if gone[row] == head)] for head in gone.values()}
    expected = []
    for number, head in enumerate(sorted(members, key=lambda head: min(members[head]))):
        for row in members[head]:
            reason = "kept" if row == head else by_definition.reason(row, head)
            expected.append((ids[row], number, ids[head], by_definition.distance(row, head), reason))
            at = result.clusters["id"].index(ids[row])
            if verify != "none":
                similarity = by_definition.similarity(row, head)
                assert similarity == pytest.approx(result.clusters["similarity"][at], abs=1e-12)
            elif reason == "near":
                assert math.isnan(result.clusters["similarity"][at])
    columns = ("id", "cluster", "representative", "distance", "reason")
    assert expected == list(zip(*(result.clusters[name] for name in columns), strict=True))

    pairs = [(row["id"], row["representative"]) for row in result.pairs.rows()]
    assert sorted(map(str, removed(result).items())) == sorted(map(str, pairs))


@settings(max_examples=60, deadline=None)
@given(texts=strategies.corpora(), threshold=thresholds, verify=measures, keep=st.sampled_from(["first", "longest"]))
def test_a_second_run_removes_nothing(texts: list[str | None], threshold: float, verify: str, keep: str) -> None:
    """Keep-then-absorb is idempotent: no two kept documents match."""
    options: dict[str, Any] = {"threshold": threshold, "verify": verify, "keep": keep}
    first = dedup(texts, **options)
    again = dedup([texts[row] for row in first.kept_rows], ids=first.kept, **options)
    assert first.kept == again.kept
    assert (0, 0, 0) == (len(again.clusters), len(again.pairs), again.summary["removed"])


@settings(max_examples=60, deadline=None)
@given(texts=strategies.corpora(), threshold=thresholds)
def test_the_summary_agrees_with_the_tables(texts: list[str | None], threshold: float) -> None:
    """One kept document per cluster, removed plus kept is the total, and the summary is JSON."""
    result = dedup(texts, threshold=threshold)
    summary = json.loads(json.dumps(result.summary))
    assert len(texts) == summary["documents"] == summary["kept"] + summary["removed"]
    assert len(result.kept) == summary["kept"]
    clusters = result.clusters["cluster"]
    assert len(set(clusters)) == summary["clusters"] == result.clusters["reason"].count("kept")
    assert max((clusters.count(number) for number in clusters), default=0) == summary["largest_cluster"]
    assert {name: result.clusters["reason"].count(name) for name in summary["removed_by_reason"]} == summary[
        "removed_by_reason"
    ]
    assert sum(summary["removed_by_reason"].values()) == summary["removed"] == len(removed(result))
    assert set(result.kept).isdisjoint(removed(result))
    assert RECIPE.digest == summary["recipe_digest"]
    assert summary["without_features"] == sum(not RECIPE.features_of(text or "") for text in texts)
    assert summary["verified"] <= summary["candidates"]


@settings(max_examples=60, deadline=None)
@given(texts=strategies.corpora(), threshold=thresholds, verify=measures)
def test_all_links_are_all_matches(texts: list[str | None], threshold: float, verify: str) -> None:
    """`links="all"`: every two different contents that match, and each copy with its first."""
    result = dedup(texts, threshold=threshold, verify=verify, links="all")
    by_definition = Reference(texts, threshold, verify)
    firsts = {row: by_definition.contents.index(by_definition.contents[row]) for row in by_definition.rows}
    distinct = [row for row in by_definition.rows if firsts[row] == row]
    expected = {(i, j) for i in distinct for j in distinct if i < j and by_definition.match(i, j)}
    expected |= {(first, row) for row, first in firsts.items() if first != row}
    actual = [tuple(sorted(pair)) for pair in zip(result.pairs["left"], result.pairs["right"], strict=True)]
    assert sorted(expected) == sorted(actual)
    for row in result.pairs.rows():
        assert by_definition.distance(row["left"], row["right"]) == row["distance"]
    assert result.kept == dedup(texts, threshold=threshold, verify=verify).kept


@settings(max_examples=60, deadline=None)
@given(texts=strategies.corpora(), threshold=thresholds, verify=measures, keep=st.sampled_from(["first", "last"]))
def test_with_copies_lists_every_pair_that_matches(
    texts: list[str | None], threshold: float, verify: str, keep: str
) -> None:
    """Any two rows that match or are equal, once, the earlier one left."""
    by_definition = Reference(texts, threshold, verify)
    sign = 1 if keep == "first" else -1
    expected = {
        tuple(sorted((i, j), key=lambda row: sign * row))
        for i, j in itertools.combinations(by_definition.rows, 2)
        if by_definition.contents[i] == by_definition.contents[j] or by_definition.match(i, j)
    }
    rows = list(dedup(texts, threshold=threshold, verify=verify, keep=keep, links="all").pairs.with_copies())
    assert sorted(expected) == sorted((row["left"], row["right"]) for row in rows)
    for row in rows:
        assert by_definition.distance(row["left"], row["right"]) == row["distance"]
        if by_definition.texts[row["left"]] == by_definition.texts[row["right"]]:
            assert 1.0 == row["similarity"]


def test_copies_of_reference_documents_are_paired_with_them() -> None:
    """Also if a reference id is a new one as well; reference documents are on the left."""
    result = nk.dedup(["one two three"] * 2, against=["one two three"], against_ids=[1], links="all")
    rows = [(row["left"], row["right"]) for row in result.pairs.with_copies()]
    assert [(1, 0), (1, 1), (0, 1)] == rows
    plain = nk.dedup(["one two three"] * 2).pairs
    assert list(plain.rows()) == list(plain.with_copies())


# Copies, texts without features, ids


def test_exact_copies_are_exact_whatever_the_threshold() -> None:
    """Distance 0, similarity 1, reason exact; a copy of a removed text names the kept one."""
    texts = [
        "red wine and cheese here",
        "red wine and cheese here",
        "RED wine and cheese here",
        "RED wine and cheese here",
    ]
    result = nk.dedup(texts, ids=["a", "b", "c", "d"], threshold=1.0)
    assert ["a"] == result.kept
    assert {"b": "a", "c": "a", "d": "a"} == removed(result)
    assert ["kept", "exact", "same-letters", "same-letters"] == result.clusters["reason"]
    assert [1.0] * 4 == result.clusters["similarity"]


@pytest.mark.parametrize("cluster", ["absorb", "components"])
@pytest.mark.parametrize("verify", ["jaccard", "none"])
@pytest.mark.parametrize("against", [None, ["...", "", None, "other"]])
def test_texts_without_features_are_copies_of_nothing(cluster: Any, verify: Any, against: Any) -> None:
    """Empty texts, including None, and punctuation: all are kept, or all are dropped, and none is in a cluster."""
    texts = ["", "", None, None, "...", "...", "one text", "one text", "!!!"]
    result = nk.dedup(texts, cluster=cluster, verify=verify, against=against)
    assert [0, 1, 2, 3, 4, 5, 6, 8] == result.kept
    assert {7: 6} == removed(result)
    assert (7, "keep") == (result.summary["without_features"], result.summary["empty"])
    assert "empty" not in result.summary["removed_by_reason"]
    dropped = nk.dedup(texts, cluster=cluster, verify=verify, against=against, empty="drop")
    assert [6] == dropped.kept
    assert result.clusters.columns == dropped.clusters.columns
    assert (7, "drop") == (dropped.summary["without_features"], dropped.summary["empty"])
    assert (1, 8, 7) == (
        dropped.summary["kept"],
        dropped.summary["removed"],
        dropped.summary["removed_by_reason"]["empty"],
    )
    with pytest.raises(errors.ParameterError, match="keep, drop"):
        nk.dedup(texts, empty="collapse")  # type: ignore[arg-type]


def test_records_without_a_text_but_with_a_title_are_kept() -> None:
    """A missing, null or empty text says nothing about a record: its other columns differ."""
    texts = pa.array([None, "", "a text with words", None, "a text with words"])
    table = pa.table({"text": texts, "title": list("abcde")})
    assert list("abcd") == nk.dedup(table).filter(table)["title"].to_pylist()


@pytest.mark.parametrize("texts", [[], [None], ["only one text"]])
def test_empty_and_single_inputs_are_kept(texts: list[Any]) -> None:
    """Empty tables have their columns."""
    result = nk.dedup(texts)
    assert list(range(len(texts))) == result.kept
    assert [
        "id",
        "cluster",
        "representative",
        "distance",
        "similarity",
        "reason",
    ] == result.clusters.to_arrow().column_names
    assert ["id", "representative", "distance", "similarity"] == list(result.pairs.to_pandas().columns)
    assert 0 == len(result.clusters)


@pytest.mark.parametrize(
    "ids",
    [[1, 2, 1], ["a", "b", "a"], [None, 1, 2], np.array([5, 5, 6]), pa.array(["x", "x", "y"]), pd.Series([7, 7, 8])],
)
def test_missing_and_repeated_ids_are_errors(ids: Any) -> None:
    """The error names the rows."""
    with pytest.raises(errors.InputError, match="row"):
        nk.dedup(["one", "two", "three"], ids=ids)


@pytest.mark.parametrize(
    "make",
    [list, tuple, np.array, pa.array, pd.Series, pl.Series, lambda ids: iter(ids)],
    ids=lambda make: make.__name__,
)
@pytest.mark.parametrize("ids", [[30, -1, 2**62], ["c", "", "東"]], ids=["numbers", "strings"])
def test_ids_are_returned_unchanged(make: Any, ids: list[Any]) -> None:
    """Whole numbers and strings, from every kind of column."""
    result = nk.dedup(["red wine and cheese", "red wine and cheese", "something else"], ids=make(ids))
    assert [ids[0], ids[2]] == result.kept
    assert {ids[1]: ids[0]} == removed(result)
    assert {type(ids[0])} == {type(name) for name in [*result.kept, *result.clusters["id"]]}


@pytest.mark.parametrize("name", ["ids", "values", "sources"])
def test_columns_of_another_length_are_errors(name: str) -> None:
    """One value per text."""
    options: dict[str, Any] = {name: [1, 2, 3]}
    if name == "values":
        options["keep"] = "max"
    with pytest.raises(errors.ParameterError, match=f"{'keep' if name == 'values' else name.rstrip('s')}.*3 values"):
        nk.dedup(["one", "two"], **options)


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 0}, {"threshold": 1.01}, {"threshold": math.nan}, {"threshold": "0.8"}, {"threshold": True},
        {"radius": -1}, {"radius": 129}, {"radius": 2.5}, {"radius": True}, {"verify": "cosine"}, {"cluster": "chain"},
        {"keep": "finest"}, {"keep": "max"}, {"values": [1, 2]}, {"links": "some"}, {"recipe": "given|xxh3|simhash:64"},
        {"against_ids": [1]}, {"keep": "max", "values": "column"}, {"sources": "column"},
    ],
    ids=str,
)  # fmt: skip
def test_parameters_out_of_range_are_errors(options: dict[str, Any]) -> None:
    """The message has the value and what is allowed."""
    with pytest.raises(errors.ParameterError, match="is not allowed; use"):
        nk.dedup(["one", "two"], **options)


# Reference documents


@settings(max_examples=80, deadline=None)
@given(old=strategies.corpora(max_size=10), new=strategies.corpora(max_size=12), threshold=thresholds, verify=measures)
def test_against_reference_texts_equals_the_definition(
    old: list[str | None], new: list[str | None], threshold: float, verify: str
) -> None:
    """They are visited first and kept. A copy of one names it; any other text names its first match."""
    against_ids = [f"old {i}" for i in range(len(old))]
    result = dedup(new, threshold=threshold, verify=verify, against=old, against_ids=against_ids)
    by_definition = Reference(old + new, threshold, verify)
    n = len(old)

    def match(i: int, j: int) -> bool:
        return j >= n and by_definition.match(i, j)

    contents = by_definition.contents
    copies = {row: contents.index(contents[row]) for row in range(n, n + len(new)) if contents[row] in contents[:n]}
    by = reference.absorb([row for row in by_definition.rows if row not in copies], match) | copies
    names = [*against_ids, *range(len(new))]
    gone = {row - n: names[head] for row, head in by.items() if row != head}
    assert [row for row in range(len(new)) if row not in gone] == result.kept
    assert gone == removed(result)
    for row in result.clusters.rows():
        if row["reason"] in ("exact", "exact-old"):
            same = (
                old[against_ids.index(row["representative"])]
                if row["reason"] == "exact-old"
                else new[row["representative"]]
            )
            assert (new[row["id"]] or "") == (same or "")
        assert (row["reason"].endswith("-old")) == isinstance(row["representative"], str)
    assert len(old) == result.summary["older_documents"]


def test_an_index_is_no_reference() -> None:
    """An index has no texts to verify by."""
    for index in (nk.HammingIndex(128), nk.BandIndex(), nk.DigestIndex()):
        with pytest.raises(errors.ParameterError, match="an index has no texts to verify matches by"):
            nk.dedup(["a text"], against=index)  # type: ignore[arg-type]


# The same result for every kind of input


@pytest.mark.parametrize("cluster", ["absorb", "components"])
@pytest.mark.parametrize("verify", ["jaccard", "indel", "none"])
def test_threads_have_no_effect(set_threads: Callable[[int], None], cluster: str, verify: str) -> None:
    """One, two and five threads give the same kept documents, tables and counts of candidates."""
    texts = near_duplicates()
    set_threads(1)
    item = dedup(texts, cluster=cluster, verify=verify, threshold=0.5)
    for count in (2, 5):
        set_threads(count)
        other = dedup(texts, cluster=cluster, verify=verify, threshold=0.5)
        assert same(item, other)
        assert (item.summary["candidates"], item.summary["verified"]) == (
            other.summary["candidates"],
            other.summary["verified"],
        )


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
def test_corpora_on_disk_give_the_same_result_as_lists(tmp_path: Path, suffix: str) -> None:
    """With ids, values and sources."""
    texts = near_duplicates()
    rows = [
        {"id": f"d{i}", "text": text, "score": i % 5, "source": f"s{i % 3}"}
        for i, text in enumerate(texts)
        if text is not None
    ]
    path = write_rows(tmp_path / f"corpus{suffix}", rows)
    column = {name: [row[name] for row in rows] for name in ("id", "text", "score", "source")}
    options: dict[str, Any] = {"threshold": 0.5, "keep": "max"}
    listed = dedup(column["text"], ids=column["id"], values=column["score"], sources=column["source"], **options)
    with open_corpus(path, id_column="id", extra_columns=["score", "source"]) as corpus:
        result = dedup(corpus, values="score", sources="source", **options)
    assert listed.summary["removed"] > 100
    assert same(listed, result)
    assert listed.summary["sources"] == result.summary["sources"]


# Sources, progress


def test_a_source_that_loses_most_gives_a_warning() -> None:
    """40 of 50 copies in one source, none in the other."""
    unique = [f"a text of its own number {i} with words {i * 7919} and more {i * 104729}" for i in range(61)]
    texts = unique[:50] + [unique[50]] * 40 + unique[51:]
    sources = ["good"] * 50 + ["copies"] * 50
    summary = nk.dedup(texts, sources=sources, threshold=0.95).summary
    assert [
        {"source": "copies", "documents": 50, "removed": 39, "share": 0.78},
        {"source": "good", "documents": 50, "removed": 0, "share": 0.0},
    ] == summary["sources"]
    assert ["source 'copies' loses 78% of its documents, the others 0%"] == summary["warnings"]
