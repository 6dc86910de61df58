"""The namespace `nk` of polars gives what the package gives, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_series_equal

import nearkin as nk
import nearkin.polars as door
from frame_kinds import TEXTS
from nearkin.errors import NearkinError, ParameterError
from nearkin.index.fingerprints import to_hex

BITS64 = "char:4|count|xxh3|simhash:64"
PAGES: Any = pl.DataFrame({"id": range(len(TEXTS)), "text": TEXTS})
RAISED = (NearkinError, pl.exceptions.ComputeError)
"""Errors of a query: polars 1 raises its own with the message, polars 2 the one of the package with its context."""


def col(name: str) -> Any:
    """Return an expression, whose namespace type checkers don't know."""
    return pl.col(name)


def values(expr: pl.Expr, frame: Any = PAGES) -> list[Any]:
    """Return an expression for all rows, as the eager and the lazy engine compute it, of the declared type."""
    column: pl.DataFrame = frame.select(expr.alias("value"))
    assert column.equals(frame.lazy().select(expr.alias("value")).collect())
    assert column.schema == frame.lazy().select(expr.alias("value")).collect_schema()
    return column["value"].to_list()


def expected(hashes: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> list[Any]:
    return [value if count else None for value, count in zip(hashes.tolist(), counts, strict=True)]


@pytest.mark.parametrize("recipe", [None, BITS64, "word:1|binary|xxh3|simhash:7", "char:4|count|xxh3|simhash:256"])
def test_fingerprints_equal_those_of_the_package(recipe: str | None) -> None:
    hashes, counts = nk.fingerprint(TEXTS, recipe, return_counts=True)
    assert expected(hashes, counts) == values(col("text").nk.fingerprint(recipe))


@pytest.mark.parametrize("recipe", [None, "word:1|binary|xxh3|minhash:16", "word:1|binary|xxh3|minhash:8:64"])
def test_signatures_equal_those_of_the_package(recipe: str | None) -> None:
    hashes, counts = nk.signature(TEXTS, recipe, return_counts=True)
    assert expected(hashes, counts) == values(col("text").nk.signature(recipe))


def test_tokens_equal_those_of_the_package() -> None:
    assert [None if text is None else nk.words([text])[0] for text in TEXTS] == values(col("text").nk.tokens())
    recipe = "cut:jieba|word:1"
    assert nk.words([TEXTS[5]], recipe) == values(col("text").nk.tokens(recipe))[5:6]


@pytest.mark.parametrize("kind", ["UInt64", "Int64", "String", "Binary", "List", "Array"])
def test_distances_of_every_type_equal_those_of_the_package(kind: str) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 1 << 64, (2, 50), dtype=np.uint64)

    def column(codes: np.ndarray[Any, Any]) -> pl.Series:
        if kind == "Int64":
            return pl.Series(codes.view(np.int64))
        if kind in ("List", "Array"):
            return pl.Series(
                codes.reshape(-1, 1).tolist(), dtype=pl.List(pl.UInt64) if kind == "List" else pl.Array(pl.UInt64, 1)
            )
        digits = to_hex(codes)
        by_kind: dict[str, Any] = {"String": digits, "Binary": [bytes.fromhex(code) for code in digits]}
        return pl.Series(by_kind.get(kind, codes))

    frame = pl.DataFrame({"a": column(a), "b": column(b)})
    frame = pl.concat([frame, frame.head(1).with_columns(pl.lit(None, frame.schema["a"]).alias("a"))])
    distances = [*nk.hamming(a, b).tolist(), None]
    assert distances == values(col("a").nk.hamming(col("b")), frame)
    assert distances == values(col("a").nk.hamming("b"), frame)


def test_distances_to_one_fingerprint() -> None:
    frame = pl.DataFrame({"code": pl.Series([1, 3, 2**64 - 1], dtype=pl.UInt64)})
    assert [0, 1, 63] == values(col("code").nk.hamming(1), frame)
    assert [63, 62, 0] == values(col("code").nk.hamming(2**64 - 1), frame)
    wide = PAGES.with_columns(col("text").nk.fingerprint().alias("code"))
    hashes = nk.fingerprint([text or "" for text in TEXTS])
    found = values(col("code").nk.hamming(col("code").first()), wide)
    assert nk.hamming(hashes, hashes[0]).tolist()[4:] == found[4:]
    assert ["code"] == wide.select(col("code").nk.hamming("code")).columns


def test_a_series_has_the_methods_of_a_column() -> None:
    texts: Any = pl.Series("body", ["one two three", "", None])
    namespace = door.SeriesNamespace(texts)
    for call in ("fingerprint", "signature", "tokens"):
        expected = texts.to_frame().select(getattr(col("body").nk, call)()).to_series()
        assert_series_equal(expected, getattr(namespace, call)())
    codes: Any = pl.Series("code", [1, 2, None], dtype=pl.UInt64)
    assert [0, 2, None] == codes.nk.hamming(1).to_list() == codes.nk.hamming(pl.Series([1, 1, 1])).to_list()
    with pytest.raises(AttributeError, match=r"no nk\.dedup; it has fingerprint, signature, hamming and tokens"):
        texts.nk.dedup()


def test_batches_of_a_streaming_query_change_nothing() -> None:
    texts = [f"text number {number} of many" if number % 7 else None for number in range(20_000)]
    frame = pl.DataFrame({"text": texts})
    query = frame.lazy().select(col("text").nk.fingerprint(BITS64))
    hashes, counts = nk.fingerprint(texts, BITS64, return_counts=True)
    collect: Any = query.collect
    streamed = collect(engine="streaming") if hasattr(pl, "QueryOptFlags") else collect(streaming=True)
    assert expected(hashes, counts) == streamed["text"].to_list()
    chunks = pl.concat([frame[at : at + 3_000] for at in range(0, 20_000, 3_000)], rechunk=False)
    assert expected(hashes, counts) == values(col("text").nk.fingerprint(BITS64), chunks)


def test_expressions_work_in_groups_and_on_empty_frames() -> None:
    frame = pl.DataFrame({"group": [1, 2, 1], "text": ["one text", "two texts", "three texts"]})
    grouped = frame.group_by("group", maintain_order=True).agg(col("text").nk.fingerprint(BITS64))
    hashes = nk.fingerprint(frame["text"], BITS64).tolist()
    assert [[hashes[0], hashes[2]], [hashes[1]]] == grouped["text"].to_list()
    for expr in (col("text").nk.fingerprint(), col("text").nk.signature(), col("text").nk.tokens()):
        assert [] == values(expr, frame.head(0))
        assert [None] == values(expr, pl.DataFrame({"text": pl.Series([None], dtype=pl.String)}))
    assert [] == values(col("text").nk.fingerprint().nk.hamming(5), frame.head(0))
    assert hashes == values(col("text").cast(pl.Categorical).nk.fingerprint(BITS64), frame)


def test_recipes_are_checked_when_an_expression_is_made() -> None:
    text = col("text").nk
    calls: list[Any] = [
        lambda: text.fingerprint("minhash"),
        lambda: text.fingerprint("given|xxh3|simhash:64"),
        lambda: text.signature(BITS64),
        lambda: text.tokens("char:4"),
        lambda: text.hamming(-1),
        lambda: text.hamming(True),
    ]
    for call in calls:
        with pytest.raises(ParameterError, match="is not allowed"):
            call()


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (col("id").nk.fingerprint(), "column of Int64"),
        (col("id").nk.tokens(), "column of Int64"),
        (col("text").nk.hamming(5), "hexadecimal"),
        (col("text").nk.fingerprint().nk.hamming(col("text").nk.fingerprint("char:4|simhash:256")), "256"),
        ((col("id") * 0.5).nk.hamming(5), "a=a column of double"),
    ],
)
def test_errors_of_a_query_have_the_message_of_the_package(expr: pl.Expr, message: str) -> None:
    with pytest.raises(RAISED, match=message):
        PAGES.select(expr)


def test_dedup_keeps_the_rows_that_the_package_keeps() -> None:
    kept = nk.dedup(PAGES, text="text", id="id", threshold=0.7).filter(PAGES)
    assert len(kept) == len(PAGES) - 1
    assert kept.equals(PAGES.nk.dedup(id="id", threshold=0.7))
    assert kept.equals(PAGES.nk.dedup(threshold=0.7))
    assert [4] == PAGES.nk.dedup(keep="max:id", threshold=0.7)["id"].to_list()[3:4]


def test_lazy_dedup_is_a_step_of_the_query() -> None:
    lazy = PAGES.lazy().nk.dedup(id="id", threshold=0.7)
    assert PAGES.schema == lazy.collect_schema()
    kept = PAGES.nk.dedup(id="id", threshold=0.7)
    assert kept.equals(lazy.collect())
    # Moved before it, the filter would remove the row that is kept, and the limit the copy.
    assert [5, 6] == lazy.filter(col("id") >= 4).select("id").collect().to_series().to_list()
    assert kept["id"].to_list()[:5] == lazy.head(5).select("id").collect().to_series().to_list()
    with pytest.raises(RAISED, match="body"):
        PAGES.lazy().nk.dedup(text="body").collect()


def test_the_namespaces_are_those_of_the_module() -> None:
    assert isinstance(col("text").nk, door.TextNamespace)
    assert isinstance(PAGES.nk, door.FrameNamespace)
    assert isinstance(PAGES.lazy().nk, door.LazyFrameNamespace)
