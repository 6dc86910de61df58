"""Fingerprints and signatures of an engine are those of one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engines import VOCABULARY, edit_words, mixed_texts

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.spark import fingerprint, signature

TEXTS: list[str | None] = [
    *mixed_texts(60),
    "Ж мир, 中文 標題, ＦＵＬＬ width, naïve ﬁ",
    "a",
    "line\nbreak\ttab\r\n",
    "word " * 3000,
    "\0",
    " ",
    "?!…",
]
"""With null, the empty text, and texts without a letter."""
SIMHASHES = [f"char:4|count|xxh3|simhash:{bits}" for bits in (32, 64, 128)] + ["word:2|binary|xxh3|simhash:256"]
MINHASHES = [
    None,
    "char:4|binary|xxh3|minhash:16",
    "word:1|binary|xxh3|minhash:128",
    "word:3|binary|xxh3|minhash:33:fast",
]


def frame(session: Any, parts: int = 1) -> Any:
    """Return the texts with columns of other types."""
    n = len(TEXTS)
    table = pa.table(
        {
            "number": pa.array(range(n), pa.int64()),
            "text": pa.array(TEXTS, pa.string()),
            "score": pa.array([None if at % 5 == 0 else at / 7 for at in range(n)], pa.float64()),
            "tags": pa.array([["x"] * (at % 3) for at in range(n)], pa.list_(pa.string())),
            "raw": pa.array([bytes([at % 256]) for at in range(n)], pa.binary()),
        }
    )
    built = session.createDataFrame(table)
    return built.repartition(parts) if parts > 1 else built


def rows(built: Any) -> list[dict[str, Any]]:
    """Return the rows in the order of their numbers."""
    return sorted(built.toArrow().to_pylist(), key=lambda row: row["number"])


@pytest.mark.parametrize("parts", [1, 5])
@pytest.mark.parametrize("recipe", [*SIMHASHES, *MINHASHES])
def test_columns_are_those_of_one_machine(sail: Any, recipe: str | None, parts: int) -> None:
    wanted = nk.Recipe.of(recipe) if recipe else nk.Recipe.of(None).with_family("minhash")
    name = "fingerprint" if wanted.family == "simhash" else "signature"
    built = {"fingerprint": fingerprint, "signature": signature}[name](frame(sail, parts), "text", recipe)
    values, counts = getattr(nk, name)(TEXTS, wanted, return_counts=True)
    assert ("binary" if values.ndim > 1 else "bigint") == dict(built.dtypes)[name]
    cells = [row[name] for row in rows(built)]
    for value, count, cell in zip(values, counts, cells, strict=True):
        if count == 0:
            assert cell is None
        elif values.ndim > 1:
            assert value.tolist() == np.frombuffer(cell, value.dtype.newbyteorder("<")).tolist()
        else:
            assert int(value) == cell % 2**64
    assert 0 < cells.count(None) < len(TEXTS) // 2


def test_the_default_recipe_is_that_of_nearkin(sail: Any) -> None:
    value = nk.fingerprint(["one text of some words"])[0]
    built = fingerprint(sail.createDataFrame([("one text of some words",)], "text string"))
    assert value.tolist() == np.frombuffer(built.toArrow().column("fingerprint")[0].as_py(), "<u8").tolist()


@pytest.mark.parametrize("call", [fingerprint, signature])
def test_other_columns_are_untouched(sail: Any, call: Any) -> None:
    documents = frame(sail, 3)
    before = list(documents.dtypes)
    built = call(documents, column="made")
    assert [*before, ("made", "binary")] == built.dtypes
    assert rows(documents) == rows(built.drop("made"))
    assert before == documents.dtypes, "the DataFrame that was given changed"


def test_columns_can_be_chained(sail: Any) -> None:
    """Both, for a name with every special character of SQL, and for a filtered DataFrame."""
    name = "The text.of `it`"
    documents = frame(sail).withColumnRenamed("text", name).where("number % 2 = 0")
    built = signature(fingerprint(documents, name, column="a.b"), name, column="`c`")
    actual = rows(built)
    half = [text for at, text in enumerate(TEXTS) if at % 2 == 0]
    assert half == [row[name] for row in actual]
    values, counts = nk.fingerprint(half, return_counts=True)
    words = [None if not count else value.tobytes() for value, count in zip(values, counts, strict=True)]
    assert words == [row["a.b"] for row in actual]
    assert [word is None for word in words] == [row["`c`"] is None for row in actual]


def test_no_rows_and_empty_partitions(sail: Any) -> None:
    none = sail.createDataFrame([], "text string")
    assert 0 == fingerprint(none).count()
    built = fingerprint(frame(sail).where("number < 2").repartition(8), recipe=SIMHASHES[1])
    assert 2 == built.count()


def test_long_texts_of_many_batches(sail: Any) -> None:
    """More rows than a batch of the engine."""
    import random

    rng = random.Random(5)
    words = rng.choices(VOCABULARY, k=30)
    texts = [" ".join(edit_words(words, 5, rng, VOCABULARY)) for _ in range(25_000)]
    documents = sail.createDataFrame(pa.table({"number": range(len(texts)), "text": texts})).repartition(2)
    actual = fingerprint(documents, recipe=SIMHASHES[1]).toArrow().sort_by("number").column("fingerprint")
    assert nk.fingerprint(texts, SIMHASHES[1]).view(np.int64).tolist() == actual.to_pylist()


@pytest.mark.parametrize("call", [fingerprint, signature])
def test_invalid_arguments_are_refused(sail: Any, call: Any) -> None:
    documents = frame(sail)
    with pytest.raises(ParameterError, match="text='body' is not allowed; use a column of the DataFrame: number, text"):
        call(documents, "body")
    with pytest.raises(ParameterError, match=r"text=the column 'number' of bigint .* use a column of strings; cast it"):
        call(documents, "number")
    with pytest.raises(ParameterError, match=r"text=the column 'tags' of array<string> "):
        call(documents, "tags")
    for taken in ("score", "SCORE"):
        with pytest.raises(ParameterError, match=f"column='{taken}' .* use a name that no column has; there are num"):
            call(documents, column=taken)
    with pytest.raises(ParameterError, match=r"df=builtins\.list is not allowed; use a DataFrame of Spark"):
        call(TEXTS)
    with pytest.raises(ParameterError, match=r"recipe=char:4.* is not allowed"):
        call(documents, recipe="char:4|nonsense")


def test_recipes_of_another_family_are_refused(sail: Any) -> None:
    documents = frame(sail)
    with pytest.raises(ParameterError, match=r"family simhash; signature\(\) has those of minhash"):
        fingerprint(documents, recipe="char:4|binary|xxh3|minhash:16")
    with pytest.raises(ParameterError, match=r"family minhash; fingerprint\(\) has those of simhash"):
        signature(documents, recipe="char:4|count|xxh3|simhash:64")


def test_recipes_for_given_features_are_refused_before_anything_runs(sail: Any) -> None:
    for call, recipe in ((fingerprint, "given|xxh3|simhash:64"), (signature, "given|xxh3|minhash:16")):
        with pytest.raises(ParameterError, match="use a recipe with char:N or word:N features"):
            call(frame(sail), recipe=recipe)


def test_ambiguous_columns_are_refused(sail: Any) -> None:
    documents = frame(sail)
    twice = documents.select("text", "number", documents["text"])
    with pytest.raises(ParameterError, match=r"text='text', the name of 2 columns \(text, text\), is not allowed"):
        fingerprint(twice)
    alike = documents.withColumnRenamed("number", "Text")
    with pytest.raises(
        ParameterError, match=r"the name of 2 columns \(Text, text\), is not allowed; .* rename the others"
    ):
        fingerprint(alike)
