"""nearkin.families.simhash: its law, its bits against peers and plain sums, and every kind of input.

The preset `simhash-pypi` gives the bits of the PyPI package `simhash` 2.1.2. Where we part from it on purpose: a text
without letters has no fingerprint and is flagged (the package hashes the empty string), and a shingle that occurs more
than 255 times is counted (the package overflows with NumPy 2).
"""

from __future__ import annotations

import gzip
import json
import math
import multiprocessing
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix

import nearkin as nk
import reference
import strategies
from nearkin import errors

Simhash = pytest.importorskip("simhash", reason="simhash is not installed; it is in the `peers` group").Simhash

PYPI = nk.Recipe.preset("simhash-pypi")
SMALL = nk.Recipe("char:3|count|xxh3|simhash:64")
WIDE = nk.Recipe("word:1|binary|murmur3|simhash:192")
TEXTS = [
    "The quick brown fox",
    "jumps over",
    "",
    None,
    "the lazy dog",
    "東京は夜の七時",
    "ﬁ①",
    "a\0b",
    None,
    "x" * 3000,
]


def as_integers(fps: Any) -> list[int]:
    return [sum(int(word) << 64 * j for j, word in enumerate(np.atleast_1d(row))) for row in fps]


# The law


@pytest.mark.parametrize("hash_name", ["xxh3", "murmur3", "lookup3", "jenkins64"])
@pytest.mark.parametrize(("shared", "alone"), [(380, 20), (300, 100), (200, 200), (100, 300), (0, 400)])
def test_bits_differ_with_the_probability_of_the_law(hash_name: str, shared: int, alone: int) -> None:
    """P[bits differ] = angle / pi, over 400 seeds of 64 bits, for two documents of 400 features.

    Bits of different seeds or places are independent: n = 400 * 64 = 25,600 trials. Hoeffding's inequality gives
    P[|share - p| >= t] <= 2 exp(-2 n t^2), for t = 0.019 less than 2e-8, for all 15 cases together less than 3e-7. The
    law holds for normal sums; with 400 features of weights from 0.5 to 1.5, none of which dominates and which do not
    tie, sums are normal up to an error of order 1/400, for which 0.003 is added.
    """
    rng = np.random.default_rng(7)
    weights = rng.uniform(0.5, 1.5, shared + 2 * alone)
    left = {f"f{i}": weights[i] for i in range(shared + alone)}
    right = {f"f{i}": weights[i] for i in [*range(shared), *range(shared + alone, shared + 2 * alone)]}
    dot = sum(weight * right.get(name, 0.0) for name, weight in left.items())
    norms = math.hypot(*left.values()) * math.hypot(*right.values())
    expected = math.acos(min(1.0, dot / norms)) / math.pi
    differing = 0
    for seed in range(400):
        pair = nk.SimHash(64, hash=hash_name, seed=1000 * seed).fingerprint([left, right])
        differing += int(nk.hamming(pair[0], pair[1]))
    assert abs(differing / (400 * 64) - expected) < 0.019 + 0.003


@pytest.mark.parametrize("hash_name", strategies.HASHES)
def test_unrelated_texts_differ_in_half_of_the_bits(hash_name: str) -> None:
    """Every bit of every hash is fair: 2,000 texts without a common feature.

    Each bit of a fingerprint of an odd number of features is a fair coin, so of n = 2,000 texts the share of ones in a
    bit is within t of 1/2 except with probability 2 exp(-2 n t^2); t = 0.08 gives 1.5e-11 a bit, 2e-9 for 128 bits.
    """
    bits = 32 if hash_name == "one_at_a_time" else 128
    documents = [[f"document {i} feature {j}" for j in range(25)] for i in range(2000)]
    fps = nk.SimHash(bits, hash=hash_name).fingerprint(documents).reshape(2000, -1)
    ones = np.unpackbits(fps.view(np.uint8), axis=1, bitorder="little")[:, :bits].mean(axis=0)
    assert np.abs(ones - 0.5).max() < 0.08


# The package simhash


@pytest.mark.parametrize("f", [64, 128])
def test_wide_fingerprints_of_md5_are_those_of_the_package(f: int) -> None:
    """With 128 bits the complete digest is used."""
    texts = ["how are you?", "The quick brown fox jumps over the lazy dog", "敏捷的棕色狐狸跳过了懒狗", "abcd " * 40]
    fps = nk.fingerprint(texts, f"norm:none|case:lower|letters:python|char:4|count|md5|simhash:{f}").reshape(4, -1)
    result = [sum(int(word) << 64 * position for position, word in enumerate(row)) for row in fps]
    assert result == [Simhash(text, f=f).value for text in texts]


@settings(max_examples=300)
@given(text=strategies.texts(max_size=120))
def test_preset_equals_the_package(text: str) -> None:
    """Fingerprints are equal bit for bit, for any text with letters."""
    fps, counts = nk.fingerprint([text], PYPI, return_counts=True)
    if counts[0]:
        assert Simhash(text).value == int(fps[0])
    else:
        # The package hashes the empty string here; nearkin reports a missing fingerprint.
        assert Simhash("").value == Simhash(text).value
        assert 0 == fps[0]


CORPORA = [
    "en_20news", "en_bible_ot", "en_licences", "en_plagiarised_answers", "er_abt_buy", "er_amazon_google", "er_cora",
    "er_dblp_acm", "log_loghub", "url_httpparams_train", "zh_laws", "zh_news_sogou", "zh_reviews", "zh_song_poems",
    "zh_tang_two_editions",
]  # fmt: skip


def corpus(shared: Path, name: str) -> Iterator[str]:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)["text"]


@pytest.mark.parametrize("name", CORPORA)
@pytest.mark.parametrize("limit", [100_000, pytest.param(10**12, marks=pytest.mark.slow)], ids=["sample", "whole"])
def test_preset_equals_the_package_on_real_corpora(shared: Path, name: str, limit: int) -> None:
    """A sample spread over the corpus is compared with the package, or with plain Python if it overflows."""
    texts = list(corpus(shared, name))
    step = max(1, sum(map(len, texts)) // limit)
    texts = texts[::step]
    fps, counts = nk.fingerprint(texts, PYPI, return_counts=True)
    overflows = without = 0
    for text, value, count in zip(texts, fps.tolist(), counts.tolist(), strict=True):
        if count == 0:
            without += 1
            assert Simhash("").value == Simhash(text).value
            continue
        try:
            expected = Simhash(text).value
        except OverflowError:
            overflows += 1
            grams = reference.features(text, "char", 4, norm="none", case="lower", letters="python")
            occurrences = Counter(grams)
            assert max(occurrences.values()) > 255
            expected = reference.simhash(((gram.encode(), n) for gram, n in occurrences.items()), 64, "md5")
        assert expected == value
    print(f"{name}: {len(texts)} texts, {overflows} where the package overflows, {without} without letters")
    assert overflows + without < len(texts) / 10


def test_preset_counts_what_the_package_overflows_on() -> None:
    """The package fails with NumPy 2 on a shingle that occurs 300 times; plain sums confirm our bits."""
    text = "ab" * 300 + "the quick brown fox jumps over the lazy dog"
    with pytest.raises(OverflowError):
        Simhash(text)
    grams = reference.features(text, "char", 4, norm="none", case="lower", letters="python")
    expected = reference.simhash(((gram.encode(), n) for gram, n in Counter(grams).items()), 64, "md5")
    assert [expected] == nk.fingerprint([text], PYPI).tolist()


# Texts


@given(recipe=strategies.recipes(letters=("python", "all")), texts=st.lists(strategies.texts(max_size=30), max_size=4))
def test_fingerprints_of_texts_equal_plain_sums(recipe: nk.Recipe, texts: list[str]) -> None:
    """Every recipe agrees with the definition: features, hashes and signs of sums in plain Python."""
    fps, counts = nk.fingerprint(texts, recipe, return_counts=True)
    expected = [reference.simhash_of_text(text, json.loads(recipe.to_json())) for text in texts]
    assert expected == list(zip(as_integers(fps), counts.tolist(), strict=True))


INPUTS: dict[str, Any] = {
    "tuple": tuple,
    "generator": lambda texts: (text for text in texts),
    "iterator": iter,
    "dict keys": lambda texts: dict.fromkeys(texts).keys() if len(set(texts)) == len(texts) else list(texts),
    "numpy objects": lambda texts: np.array(texts, object),
    "arrow string": lambda texts: pa.array(texts, pa.string()),
    "arrow large_string": lambda texts: pa.array(texts, pa.large_string()),
    "arrow string_view": lambda texts: pa.array(texts, pa.string_view()),
    "arrow dictionary": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
    "arrow chunked": lambda texts: pa.chunked_array([texts[:3], [], texts[3:]], pa.string()),
    "arrow sliced": lambda texts: pa.array(["skip", "me", *texts, "and me"], pa.string()).slice(2, len(texts)),
    "arrow sliced dictionary": lambda texts: pa.array(["skip", *texts, "x"]).dictionary_encode().slice(1, len(texts)),
    "arrow sliced view": lambda texts: pa.array(["skip", *texts, "x"], pa.string_view()).slice(1, len(texts)),
    "arrow table of one column": lambda texts: pa.table({"text": pa.array(texts, pa.string())}),
    "pandas objects": lambda texts: pd.Series(texts, dtype=object),
    "pandas arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "pandas str": lambda texts: pd.Series(texts, dtype="str"),
    "pandas string": lambda texts: pd.Series(texts, dtype="string"),
    "pandas with another index": lambda texts: pd.Series(texts, dtype="str", index=range(len(texts), 0, -1)),
    "pandas strided": lambda texts: pd.Series([x for text in texts for x in (text, "no")], dtype="str")[::2],
    "pandas category": lambda texts: pd.Series(texts, dtype=pd.CategoricalDtype(sorted({t for t in texts if t}))),
    "polars": lambda texts: pl.Series("text", texts, pl.String),
    "polars categorical": lambda texts: pl.Series("text", texts, pl.String).cast(pl.Categorical),
}


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("recipe", [SMALL, WIDE], ids=str)
def test_kinds_of_input_give_the_same_fingerprints(kind: str, recipe: nk.Recipe) -> None:
    """Lists, arrays and columns give the same bits and counts; a missing text is null or None."""
    texts = [text for text in TEXTS if text != ""] if kind == "pandas category" else TEXTS
    expected, expected_counts = nk.fingerprint(texts, recipe, return_counts=True)
    result, counts = nk.fingerprint(INPUTS[kind](texts), recipe, return_counts=True)
    assert expected.tolist() == result.tolist()
    assert expected_counts.tolist() == counts.tolist()
    assert (np.uint64, expected.shape, True) == (result.dtype, result.shape, result.flags.c_contiguous)  # type: ignore[comparison-overlap]


@pytest.mark.parametrize("dtype", ["U20", np.dtypes.StringDType()])
def test_numpy_strings_give_the_same_fingerprints(dtype: Any) -> None:
    """Fixed-width and variable-width strings have no missing values."""
    texts = [text for text in TEXTS if text and len(text) <= 20 and "\0" not in text]
    expected = nk.fingerprint(texts, SMALL)
    assert expected.tolist() == nk.fingerprint(np.array(texts, dtype), SMALL).tolist()


def test_missing_texts_have_no_fingerprint() -> None:
    """None and texts without letters give 0 and a count of 0."""
    for recipe in (SMALL, WIDE):
        fps, counts = nk.fingerprint([None, "", "...", "letters"], recipe, return_counts=True)
        assert [0, 0, 0] == counts.tolist()[:3]
        assert not fps[:3].any()
        assert counts[3] > 0


@pytest.mark.parametrize(
    "empty",
    [[], (), iter(()), np.array([], object), pa.array([], pa.string()), pl.Series([], dtype=pl.String)],
    ids=type,
)
def test_no_texts_give_no_fingerprints(empty: Any) -> None:
    """Empty inputs keep the shape and the type."""
    for recipe, shape in ((SMALL, (0,)), (WIDE, (0, 3))):
        result, counts = nk.fingerprint(empty, recipe, return_counts=True)
        assert (shape, np.uint64, (0,)) == (result.shape, result.dtype, counts.shape)  # type: ignore[comparison-overlap]


@pytest.mark.parametrize("text", ["\ud800", "fine \udfff", "\udcff" * 5])
def test_lone_surrogates_are_errors(text: str) -> None:
    """Invalid Unicode is rejected with its row and a remedy."""
    with pytest.raises(errors.InputError, match=r"text 1.*lone surrogate.*decode with"):
        nk.fingerprint(["good", text], SMALL)


@pytest.mark.parametrize(
    "texts",
    [
        "one string", b"bytes", [b"bytes"], [1], [["nested"]], [1.5], 7, None, pa.array([1, 2]), pl.Series([1.0]),
        pa.array([b"x"], pa.binary()), pd.Series([1, 2]), pa.table({"a": ["x"], "b": ["y"]}), np.array([1, 2]),
    ],
    ids=lambda texts: f"{type(texts).__module__}.{type(texts).__name__} {str(texts)[:12]!r}".replace("\n", " "),
)  # fmt: skip
def test_what_is_no_text_is_a_type_error(texts: Any) -> None:
    """Bytes, numbers, a single string and a table of two columns never produce fingerprints."""
    with pytest.raises(TypeError):
        nk.fingerprint(texts, SMALL)


def test_recipes_for_given_features_read_no_texts() -> None:
    """The error names recipes that do."""
    with pytest.raises(errors.ParameterError, match="features=given is not allowed; use char:n or word:n"):
        nk.fingerprint(["text"], "given|xxh3|simhash:64")


def many_texts() -> list[str]:
    rng = np.random.default_rng(3)
    words = np.array(["red", "green", "blue", "wine", "cheese", "東京", "Übung", "x"])
    return [" ".join(words[rng.integers(0, 8, size)]) for size in rng.integers(0, 60, 3000)]


def test_threads_and_batches_change_no_bit(set_threads: Callable[[int], None]) -> None:
    """One to three threads, single texts, parts and iterators agree."""
    texts = many_texts()
    for recipe in (SMALL, WIDE, PYPI):
        expected = nk.fingerprint(texts, recipe).tolist()
        for count in (1, 2, 3):
            set_threads(count)
            assert expected == nk.fingerprint(texts, recipe).tolist()
        parts = [nk.fingerprint(texts[i : i + 701], recipe) for i in range(0, len(texts), 701)]
        assert expected == np.concatenate(parts).tolist()
        assert expected == nk.fingerprint((text for text in texts), recipe).tolist()
        assert expected[:50] == [nk.fingerprint([text], recipe).tolist()[0] for text in texts[:50]]


def test_iterators_longer_than_a_batch_are_read_whole() -> None:
    """Batches of an iterator are concatenated in order."""
    n = (1 << 16) + 3
    result = nk.fingerprint((f"text {i}" for i in range(n)), SMALL)
    assert n == len(result)
    ends = [0, (1 << 16) - 1, 1 << 16, n - 1]
    assert nk.fingerprint([f"text {i}" for i in ends], SMALL).tolist() == result[ends].tolist()


def _child(texts: list[str]) -> list[int]:
    result: list[int] = nk.fingerprint(texts, SMALL).tolist()
    return result


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_give_the_same_bits_and_do_not_hang() -> None:
    """The parent has used its threads before; each child starts its own."""
    texts = many_texts()[:200]
    expected = _child(texts)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert [expected] * 3 == pool.map_async(_child, [texts] * 3).get(timeout=60)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, b"same" if expected == _child(texts) else b"differs")
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        assert b"same" == answer.read()
    os.waitpid(child, 0)


def test_other_processes_give_the_same_bits() -> None:
    """No bit depends on the hash seed of a process."""
    code = "import nearkin as nk; print(nk.fingerprint(['some text'], 'word:1|binary|xxh3|simhash:64')[0])"
    result = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert 1 == len(result)


# Given features


INT64 = st.integers(-(2**63), 2**63 - 1)


@given(
    documents=st.lists(st.lists(st.tuples(st.text("abc中", max_size=3), INT64), max_size=6), max_size=4),
    bits=st.sampled_from([1, 32, 64, 100, 192]),
    name=st.sampled_from(strategies.HASHES),
)
def test_given_features_equal_plain_sums(documents: list[list[tuple[str, int]]], bits: int, name: str) -> None:
    """Signed integers of up to 64 bits are summed exactly, without overflow."""
    bits = min(bits, 32) if name == "one_at_a_time" else bits
    result = nk.SimHash(bits, hash=name).fingerprint(documents)
    expected = [reference.simhash([(f.encode(), w) for f, w in document], bits, name) for document in documents]
    assert expected == as_integers(result)


@given(
    document=st.lists(st.tuples(st.text("abcd", max_size=3), st.integers(-(2**20), 2**20)), max_size=12),
    shift=st.integers(1, 10),
)
def test_float_weights_equal_plain_sums(document: list[tuple[str, int]], shift: int) -> None:
    """Fractions whose sums are exact in 64-bit floats give the signs of the exact sums."""
    scaled = [(name, weight / 2**shift) for name, weight in document] + [("always a float", 0.5)]
    exact = [(name.encode(), Fraction(weight)) for name, weight in scaled]
    assert [reference.simhash(exact, 64, "xxh3")] == nk.SimHash().fingerprint([scaled]).tolist()


@given(document=st.dictionaries(st.text(max_size=5), st.floats(-1e9, 1e9), max_size=10), data=st.data())
def test_order_and_form_of_features_change_nothing(document: dict[str, float], data: st.DataObject) -> None:
    """Dicts, lists of pairs, any order, and bytes instead of str agree."""
    pairs = data.draw(st.permutations(list(document.items())))
    simhash = nk.SimHash(128)
    as_bytes = [(name.encode(), weight) for name, weight in pairs]
    result = simhash.fingerprint([document, list(document.items()), tuple(pairs), as_bytes, iter(pairs)])  # type: ignore[list-item]
    assert (result == result[0]).all()


def test_features_that_stand_twice_are_summed() -> None:
    """A list with repetitions equals the dict of its sums; features without a weight weigh 1."""
    simhash = nk.SimHash()
    result = simhash.fingerprint(
        [["red", "red", "wine"], {"red": 2, "wine": 1}, [("red", 5), ("wine", 1), ("red", -3)]]
    )
    assert result[0] == result[1] == result[2]


def test_texts_and_given_features_have_the_same_bits() -> None:
    """SimHash of the features of a text is the fingerprint of the text."""
    recipe = nk.Recipe("char:3|count|xxh3:9|simhash:128")
    texts = ["the cat sat on the mat", "東京は夜の七時"]
    result = nk.SimHash(128, seed=9).fingerprint([recipe.features_of(text) for text in texts])
    assert nk.fingerprint(texts, recipe).tolist() == result.tolist()


def test_weights_of_either_sign_cancel() -> None:
    """Ties are 0: opposite features leave no bit, and the opposite of a document has the complementary bits."""
    simhash = nk.SimHash(100)
    fps = simhash.fingerprint([[("a", 7), ("a", -7)], {}, {"a": 3, "b": 1}, {"a": -3, "b": -1}, {"a": 0}])
    assert [0, 0] == as_integers(fps[:2])
    assert (1 << 100) - 1 == as_integers(fps[2:3])[0] ^ as_integers(fps[3:4])[0]
    assert [0] == as_integers(fps[4:])


def test_huge_weights_do_not_overflow() -> None:
    """Sums beyond 64 bits and integers beyond 2^53 are exact."""
    big = 2**63 - 1
    simhash = nk.SimHash()
    many = simhash.fingerprint([[(f"f{i}", big) for i in range(25)], [f"f{i}" for i in range(25)]])
    assert many[0] == many[1]
    close = simhash.fingerprint([[("a", 2**53 + 1), ("b", -(2**53))], [("a", 2**53 + 1)]])
    expected = reference.simhash([(b"a", 2**53 + 1), (b"b", -(2**53))], 64, "xxh3")
    assert expected == int(close[0])


@pytest.mark.parametrize(
    "weight", [math.nan, math.inf, -math.inf, 2**64, -(2**63) - 1, 2**63 + 1, "heavy", None, 1j, [1]]
)
def test_weights_that_are_no_finite_numbers_are_errors(weight: Any) -> None:
    """NaN, infinities, numbers beyond 64 bits and non-numbers are rejected."""
    with pytest.raises((errors.ParameterError, TypeError)):
        nk.SimHash().fingerprint([[("a", 1), ("b", weight)]])


@given(
    rows=st.lists(st.lists(st.integers(-3, 3), min_size=6, max_size=6), min_size=1, max_size=5),
    half=st.booleans(),
)
def test_sparse_rows_equal_plain_sums(rows: list[list[int]], half: bool) -> None:
    """Column c of a CSR row is the feature of its eight little-endian bytes; zeros are not features."""
    dense = np.array(rows) / (2 if half else 1)
    expected = [
        reference.simhash([(c.to_bytes(8, "little"), Fraction(w)) for c, w in enumerate(row) if w], 100, "xxh3")
        for row in dense.tolist()
    ]
    for matrix in (csr_array(dense), csr_matrix(dense)):
        assert expected == as_integers(nk.SimHash(100).fingerprint_csr(matrix))


def test_sparse_rows_are_bounded_by_their_non_zeros() -> None:
    """Columns are hashed, so a matrix of 2^40 columns costs no more than its two values."""
    indices = np.array([3, 2**40 - 1], np.int64)
    matrix = csr_array((np.array([1.0, 2.0]), indices, np.array([0, 2], np.int64)), shape=(1, 2**40))
    weighted = [(int(column).to_bytes(8, "little"), weight) for column, weight in zip(indices, (1, 2), strict=True)]
    expected = reference.simhash(weighted, 64, "xxh3")
    assert [expected] == nk.SimHash().fingerprint_csr(matrix).tolist()


def test_sparse_rows_with_nan_are_errors() -> None:
    """They are rejected like other weights."""
    with pytest.raises(errors.ParameterError, match="weights=nan is not allowed; use finite numbers"):
        nk.SimHash().fingerprint_csr(csr_array(np.array([[1.0, math.nan]])))
