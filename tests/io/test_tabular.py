"""nearkin.io.tables: results as tables of pyarrow, pandas and polars, and as Arrow streams."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import nearkin as nk
from nearkin.dedup.result import ResultTable
from nearkin.errors import MissingExtraError
from nearkin.index.results import Candidates
from nearkin.io.arrow import to_arrow
from nearkin.io.tables import Tabular

TEXTS = ["one two three four five", "one two three four five!", "else", "one two three four six", "one two three"] * 3
IDS = [f"d{number}" for number in range(len(TEXTS))]


def results() -> dict[str, Any]:
    """Return a result of every class."""
    deduplicated = nk.dedup(TEXTS, IDS, threshold=0.5)
    codes = nk.fingerprint(TEXTS, "char:4|count|xxh3|simhash:64")
    hamming = nk.HammingIndex()
    hamming.add(IDS, codes)
    bands = nk.BandIndex(threshold=0.5)
    bands.add(None, nk.signature(TEXTS))
    digests = nk.DigestIndex()
    digests.add(IDS[:2], ["96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U"] * 2)
    points = np.random.default_rng(0).standard_normal((40, 8))
    vectors = nk.LSHIndex(nk.families.Hyperplane(64), filter="buckets").fit(points)
    result: dict[str, Any] = {f"{name} {type(item).__name__}": item for name, item in (("text", deduplicated.clusters),
        ("text", deduplicated.pairs), ("all", nk.dedup(TEXTS, threshold=0.5, links="all").pairs))}  # fmt: skip
    cases: list[tuple[str, Any, Any, Any]] = [
        ("hamming", hamming, codes[:3], 5), ("bands", bands, nk.signature(TEXTS[:3]), 0.5),
        ("digests", digests, ["3:aaX8v:aV"], 1), ("vectors", vectors, points[:2], 0.5),
    ]  # fmt: skip
    for name, index, queries, limit in cases:
        for item in (index.search(queries, limit), index.pairs(limit), index.clusters(limit)):
            result[f"{name} {type(item).__name__}"] = item
    result["vectors Candidates"] = vectors.candidates(points[:2])
    result["join"] = hamming.join(codes[:4], 3)
    result["Evaluation"] = nk.evaluate(deduplicated, dict.fromkeys(IDS, "x"))
    result["Evaluation of pairs"] = nk.evaluate([("a", "b", True)], [("a", "b", True), ("a", "c", False)])
    result["Tuning"] = nk.tune(TEXTS, threshold=0.6, bits=[64])
    result["BandTuning"] = nk.tune_bands(TEXTS, threshold=0.6, num_perms=[32])
    return result


RESULTS = results()


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_tables_everywhere(name: str) -> None:
    """All packages read the same columns and cells; missing values are null."""
    result = RESULTS[name]
    assert isinstance(result, Tabular)
    expected = result.to_arrow()
    expected.validate(full=True)
    columns = {column: list(values) for column, values in result._columns().items()}
    plain = {
        column: [
            None if value != value else value.item() if isinstance(value, np.generic) else value for value in values
        ]
        for column, values in columns.items()
    }
    assert plain == expected.to_pydict()
    assert expected == pa.table(result)
    assert expected == pa.RecordBatchReader.from_stream(result).read_all()
    assert pl.from_arrow(expected).equals(result.to_polars())  # type: ignore[arg-type]  # A table, so a frame.
    if not isinstance(result, Sequence):
        # polars would read clusters as a sequence of columns.
        assert pl.DataFrame(result).equals(result.to_polars())
    assert expected.column_names == list(result.to_pandas().columns)
    assert len(expected) == len(result.to_pandas()) == len(result.to_polars())
    assert not any(
        pa.types.is_null(kind) for kind in expected.schema.types if len(expected) or "id" in expected.column_names
    )


@pytest.mark.parametrize("ids", [None, list("abc"), [7, 5, 6]])
def test_a_table_without_rows_has_the_types_of_one_with_rows(ids: Any) -> None:
    """Empty tables can be joined with others."""
    subset = nk.dedup(["one two three four", "one two three four", "one two three four!"], ids)
    none = nk.dedup(["one two three four", "five six seven eight", "nine ten eleven twelve"], ids)
    assert 3 == len(subset.clusters)
    assert 0 == len(none.clusters)
    for table in ("clusters", "pairs"):
        left, right = getattr(subset, table).to_arrow(), getattr(none, table).to_arrow()
        assert left.schema == right.schema
    unverified = nk.dedup(["one two three four", "one two three four!"], ids and ids[:2], verify="none")
    assert subset.clusters.to_arrow().schema == unverified.clusters.to_arrow().schema
    assert [1.0, None] == unverified.clusters.to_arrow()["similarity"].to_pylist()


def test_ids_of_two_kinds_become_strings() -> None:
    """Integer and string ids in one column become strings."""
    result = nk.dedup(["one two three four"], [1], against=["one two three four"], against_ids=["x"])
    assert [{"id": 1, "representative": "x"}] == result.clusters.to_arrow().select(["id", "representative"]).to_pylist()
    mixed = ResultTable({"id": [1, "a", None], "n": [1 << 63, 5, None], "m": [1 << 70, -1, None]})
    expected = {"id": ["1", "a", None], "n": [1 << 63, 5, None], "m": [str(1 << 70), "-1", None]}
    assert expected == mixed.to_arrow().to_pydict() == mixed.to_polars().to_dict(as_series=False)


def test_names_of_files_that_are_not_utf8_are_escaped() -> None:
    """Arrow strings must be UTF-8."""
    assert ["a\\udcffb", "é"] == to_arrow(["a\udcffb", "é"]).to_pylist()


def test_answers_of_a_store_are_a_table(tmp_path: Any) -> None:
    """The table has one row per document, and may be empty."""
    with nk.Store.create(tmp_path / "store") as store:
        answers = store.check_and_add(["one two three", "one two three"], ["a", "b"])
        assert [("new", None), ("exact", "a")] == answers.to_polars().select("status", "match").rows()
        assert pa.table(answers) == answers.to_arrow()
        assert ["string", "int64"] == [
            str(store.pairs().to_arrow().schema.field(name).type) for name in ("id", "distance")
        ]


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message contains the install command and the alternative."""
    monkeypatch.setitem(sys.modules, package, None)
    result = RESULTS["hamming Pairs"]
    message = rf"to_{package}\(\) needs {package}, which is not installed; `pip install {package}`, or use to_arrow\(\)"
    with pytest.raises(MissingExtraError, match=message) as caught:
        getattr(result, f"to_{package}")()
    assert package == caught.value.extra
    assert len(result) == len(result.to_arrow())


def test_candidates_are_a_table_of_queries_and_ids() -> None:
    """Each candidate occurs once per query."""
    result = Candidates(np.array([0, 2, 2, 3]), np.array([5, 6, 7]), np.array([2, 0, 1], np.uint64))
    assert {"query": [0, 0, 2], "id": [5, 6, 7]} == result.to_arrow().to_pydict()
