"""nearkin.signature and MinHash: the laws of the schemes, unions, ready hashes, golden values, errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin._core import feature_hashes
from nearkin.errors import MismatchError, ParameterError
from nearkin.theory import minhash_variance
from nearkin.theory.banding import Scheme

RECIPE = "word:1|binary|xxh3|minhash:64"
TRIALS = 4000


def shares(scheme: str, shared: int, each: int, num_perm: int, seed: int) -> np.ndarray:
    """Return the shares of equal values of `TRIALS` pairs of sets with `shared` common and `each` own features."""
    random = np.random.default_rng(seed)
    features = random.integers(0, 2**64, (TRIALS, shared + 2 * each), dtype=np.uint64)
    minhash = nk.MinHash(num_perm, scheme=scheme)  # type: ignore[arg-type]
    left = minhash.signature_hashes(list(features[:, : shared + each]))
    right = minhash.signature_hashes(list(np.hstack([features[:, :shared], features[:, shared + each :]])))
    return np.array(nk.minhash_similarity(left, right))


@pytest.mark.parametrize("scheme", ["one", "fast", "classic"])
@pytest.mark.parametrize(("shared", "each"), [(1, 1), (3, 1), (10, 30), (80, 10), (50, 50), (900, 100)])
@pytest.mark.parametrize("num_perm", [64, 128])
def test_the_share_of_equal_values_has_the_mean_and_variance_of_theory(
    scheme: Scheme, shared: int, each: int, num_perm: int
) -> None:
    """Means are within 5.6 standard errors, variances within 15%.

    The mean of 4,000 independent shares is normal to good accuracy: beyond 5.6 standard errors with probability 2e-8,
    36 cases 8e-7. The sample variance has a relative standard deviation of sqrt((kurtosis - 1) / 4,000); with the
    kurtosis of at most 5 of these shares (the worst is J = 0.9) that is below 0.032, and 0.18 is 5.6 of them. The
    orders of bins are fixed, and theory averages over them: they differ from the average by about 1 / num_perm, and
    more than the bound allows below some 30 values.
    """
    similarity = shared / (shared + 2 * each)
    result = shares(scheme, shared, each, num_perm, seed=7)
    variance = minhash_variance(similarity, num_perm, scheme=scheme, union=shared + 2 * each)
    assert abs(result.mean() - similarity) < 5.6 * math.sqrt(variance / TRIALS)
    assert abs(result.var() / variance - 1) < 0.18


@pytest.mark.parametrize(
    ("weights", "unrelated"), [([3.0, 0.25], 0), ([1, 2, 7, 0.5, 40], 3), ([5.5] * 60 + [1.0] * 200, 90)]
)
def test_weighted_signatures_have_the_mean_and_variance_of_theory(weights: list[float], unrelated: int) -> None:
    """The mean is within 5.6 standard errors of Σ min / Σ max, the variance within 18%: as above, 6e-8 in all.

    The second text has the weights of the first, reversed, and other features with the weight 2 instead of the last.
    """
    random = np.random.default_rng(11)
    n, minhash = len(weights), nk.MinHash(64, scheme="weighted")
    hashes = random.integers(0, 2**64, (TRIALS, n + unrelated), dtype=np.uint64)
    a = np.concatenate([weights, np.zeros(unrelated)])
    b = np.concatenate([weights[::-1][: n - unrelated], np.zeros(min(n, unrelated)), np.full(unrelated, 2.0)])
    ends = np.arange(TRIALS + 1) * len(a)
    left, right = (minhash.signature_hashes(hashes.ravel(), ends, weights=np.tile(side, TRIALS)) for side in (a, b))
    result = np.array(nk.minhash_similarity(left, right))
    similarity, union = np.minimum(a, b).sum() / np.maximum(a, b).sum(), int(1024 * np.maximum(a, b).sum())
    variance = minhash_variance(similarity, 64, scheme="weighted", union=union)
    assert abs(result.mean() - similarity) < 5.6 * math.sqrt(variance / TRIALS)
    assert abs(result.var() / variance - 1) < 0.18


STEP = 0x9E3779B97F4A7C15


@pytest.mark.parametrize("weight", ["count", "log", "idf", "count|top:3", "binary"])
@pytest.mark.parametrize("hash_name", ["xxh3", "murmur3"])
def test_a_weight_is_as_many_elements_as_it_has_units(weight: str, hash_name: str) -> None:
    """A weighted signature is that of `fast` for elements h, h + c, …, h + (w - 1) c of each feature."""
    texts = ["red red red wine bar", "red cheese", "", "wine " * 700 + "bar"]
    idf = nk.Idf.fit(texts, "word:1")
    segment = f"idf:{idf.digest}" if weight == "idf" else weight
    recipe = nk.Recipe(f"word:1|{segment}|{hash_name}|minhash:32:weighted", idf=idf if weight == "idf" else None)
    actual, counts = nk.signature(texts, recipe, return_counts=True)
    for text, signature, count in zip(texts, actual, counts.tolist(), strict=True):
        kept = nk.keywords([text], recipe)[0]
        units = {name: round(value * (2 if weight in ("log", "idf") else 1)) for name, value in kept}
        hashes = feature_hashes(hash_name, [name.encode() for name in units]).tolist()
        elements = [h + j * STEP & 2**64 - 1 for h, w in zip(hashes, units.values(), strict=True) for j in range(w)]
        assert len(kept) == count
        expected = nk.MinHash(32).signature_hashes([np.array(elements, np.uint64)])[0]
        assert np.array_equal(expected, signature)
    if weight == "idf":
        # c · idf, whatever the length of the text.
        assert nk.keywords([texts[0]], recipe)[0][0] == ("red", 3 * idf.value("red"))


def test_weights_are_those_of_dicts_matrices_and_repetitions() -> None:
    """Repeated features add up, zeros are left out, order is irrelevant, and unions have the larger weights."""
    minhash = nk.MinHash(64, scheme="weighted")
    a, b, c = minhash.signature([{"x": 2, "y": 1, "z": 0}, ["y", "x", "x"], {b"y": 1.0, b"x": 2.5}])
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    assert np.array_equal(c, minhash.merge(a, c)[0])
    assert (minhash.signature([{}]) == np.iinfo(np.uint32).max).all()
    sparse = pytest.importorskip("scipy.sparse")
    rows = sparse.csr_matrix(np.array([[2.0, 0, 1.5]]))
    columns = np.array([0, 2], np.uint64)
    assert np.array_equal(minhash.signature_csr(rows), minhash.signature_hashes([columns], weights=[2.0, 1.5]))


def test_disjoint_and_equal_sets_are_0_and_1() -> None:
    """Sets of any size; a chance agreement of 32 bits has probability 1e-6 over all values here."""
    for size in (1, 2, 10, 1000):
        for scheme in ("one", "fast", "classic"):
            minhash = nk.MinHash(128, scheme=scheme)
            a = minhash.signature_hashes([np.arange(size, dtype=np.uint64)])
            b = minhash.signature_hashes([np.arange(size, 2 * size, dtype=np.uint64)])
            assert (0.0, 1.0) == (nk.minhash_similarity(a[0], b[0]), nk.minhash_similarity(a[0], a[0]))


@given(
    left=st.lists(st.text("abc", max_size=3), max_size=60),
    right=st.lists(st.text("abc", max_size=3), max_size=60),
    scheme=st.sampled_from(["one", "fast", "classic"]),
    value_bits=st.sampled_from([32, 64]),
)
def test_signatures_are_of_sets_and_merge_to_their_union(
    left: list[str], right: list[str], scheme: str, value_bits: int
) -> None:
    """Order and repetition do not matter, and the signature of a union follows from those of its parts."""
    minhash = nk.MinHash(32, scheme=scheme, value_bits=value_bits)  # type: ignore[arg-type]
    a, b, both, again = minhash.signature([left, right, left + right, [*reversed(left), *left]])
    assert np.array_equal(both, minhash.merge(a, b)[0])
    assert np.array_equal(a, again)
    narrow = nk.MinHash(32, scheme=scheme)  # type: ignore[arg-type]
    if value_bits == 64:
        assert np.array_equal((a >> np.uint64(32)).astype(np.uint32), narrow.signature([left])[0])


def test_texts_and_their_features_have_the_same_signature() -> None:
    """`signature`, explicit features, single texts and batches agree."""
    texts = ["The quick brown fox", "", "one", "Größe 東京 naïve", "a b " * 500]
    recipe = nk.Recipe(RECIPE)
    signatures, counts = nk.signature(texts, recipe, return_counts=True)
    given_ = nk.MinHash(64, scheme="one").signature([recipe.features_of(text) for text in texts])
    assert np.array_equal(signatures, given_)
    assert np.array_equal(signatures, np.concatenate([nk.signature([text], recipe) for text in texts]))
    assert [4, 0, 1, 4, 1000] == counts.tolist()
    assert (signatures[1] == np.iinfo(np.uint32).max).all()
    assert (0, 64) == nk.signature([], recipe).shape


def test_sets_without_features_are_similar_to_nothing() -> None:
    """They are not even similar to one another."""
    signatures = nk.signature(["", "...", "word"], RECIPE)
    assert [0.0, 0.0, 0.0] == list(np.asarray(nk.minhash_similarity(signatures[0], signatures)))


def test_golden_values_hold() -> None:
    """These values never change on any platform."""
    text = "the quick brown fox jumps over the lazy dog"
    first = nk.signature([text], "word:1|binary|xxh3|minhash:8")[0].tolist()
    classic = nk.signature([text], "word:1|binary|xxh3|minhash:4:classic:64")[0].tolist()
    fast = nk.signature([text], "word:1|binary|xxh3|minhash:8:fast")[0].tolist()
    weighted = nk.signature([text], "word:1|log|xxh3|minhash:8:weighted")[0].tolist()
    assert GOLDEN == (first, classic, fast, weighted)


GOLDEN = (
    [1046887, 1046887, 1458215507, 1957599453, 3023073356, 3023073356, 3023073356, 4072215956],
    [657655228656062721, 3321185035174090084, 55564763843324603, 2961638415814043972],
    [226663328, 2577725362, 1342907640, 3844291406, 1012596100, 1798128, 2516135272, 2587206648],
    [226663328, 638280160, 1342907640, 9170536, 1004192836, 1798128, 1452329528, 2587206648],
)


def test_rows_of_a_sparse_matrix_are_sets_of_columns() -> None:
    """Stored zeros and the sizes of values do not matter."""
    sparse = pytest.importorskip("scipy.sparse")
    rows = sparse.csr_array(([1.0, 0.0, 5.0], [3, 4, 3], [0, 2, 3]), shape=(2, 10))
    signatures = nk.MinHash(16).signature_csr(rows)
    assert np.array_equal(signatures[0], signatures[1])


def test_a_seed_gives_other_functions_of_ready_hashes_and_columns() -> None:
    """The seed 0 uses them unchanged; means over seeds approach the similarity, which one seed alone misses.

    Shares of 16 values have a standard deviation of at most 1/8, their mean over 400 independent seeds one of 1/160:
    0.035 is 5.6 of them, passed with probability 2e-8.
    """
    sparse = pytest.importorskip("scipy.sparse")
    sets = [np.arange(30, dtype=np.uint64), np.arange(10, 40, dtype=np.uint64)]
    plain = nk.MinHash(16).signature_hashes(sets)
    assert np.array_equal(nk.MinHash(16, seed=0).signature_hashes(sets), plain)
    seeded = nk.MinHash(16, seed=7).signature_hashes(sets)
    assert not (seeded == plain).any()
    assert np.array_equal(seeded, nk.MinHash(16, seed=7).signature_hashes(np.concatenate(sets), [0, 30, 60]))
    rows = sparse.csr_array((np.ones(60), np.concatenate(sets).astype(np.int64), [0, 30, 60]), shape=(2, 40))
    assert np.array_equal(seeded, nk.MinHash(16, seed=7).signature_csr(rows))
    result = [float(nk.minhash_similarity(*nk.MinHash(16, seed=seed).signature_hashes(sets))) for seed in range(400)]
    assert abs(float(np.mean(result)) - 0.5) < 0.035


def test_what_a_new_user_gets_is_the_scheme_with_the_smallest_error() -> None:
    """The default scheme without a recipe is `fast`; an explicit recipe keeps its own."""
    assert "fast" == nk.MinHash().recipe.scheme
    assert np.array_equal(nk.signature(["some words of a text"], "minhash"), nk.signature(["some words of a text"]))
    assert "one" == nk.Recipe("minhash:128").scheme
    for union in (5, 20, 110, 300):
        fast = minhash_variance(0.5, 128, scheme="fast", union=union)
        assert fast < minhash_variance(0.5, 128, scheme="one", union=union)
        assert fast < minhash_variance(0.5, 128)


def test_what_is_out_of_range_is_an_error() -> None:
    """Every message states what is allowed."""
    for build in (
        lambda: nk.MinHash(0),
        lambda: nk.MinHash(16, scheme="two"),  # type: ignore[arg-type]
        lambda: nk.MinHash(16, value_bits=16),  # type: ignore[arg-type]
        lambda: nk.Recipe("word:1|count|xxh3|minhash:64"),
        lambda: nk.Recipe("minhash:64:three"),
    ):
        with pytest.raises(ParameterError, match="is not allowed; use"):
            build()


def test_recipes_of_both_families_have_forms_of_their_own() -> None:
    """Text and JSON forms round-trip, and the two families can't be compared."""
    for text in ("char:4|binary|xxh3|minhash:128", "word:3|binary|xxh3:7|minhash:64:classic:64", "minhash:32:fast"):
        text = str(nk.Recipe(text))
        recipe = nk.Recipe(text)
        assert text == str(recipe)
        assert recipe == nk.Recipe.from_json(recipe.to_json())
    with pytest.raises(MismatchError, match="family"):
        nk.Recipe("simhash:128").check_same(nk.Recipe("minhash:128"))
    assert nk.Recipe("simhash:64") == nk.Recipe("minhash:128").with_(family="simhash", bits=64)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: nk.MinHash(513), "num_perm=513 is not allowed; use 1 to 512"),
        (
            lambda: nk.signature(["a"], "simhash:64"),
            r"family=simhash is not allowed; use minhash, as in char:4\|binary",
        ),
        (lambda: nk.fingerprint(["a"], "minhash:64"), "family=minhash is not allowed; use simhash for fingerprints"),
        (
            lambda: nk.signature(["a"], "given|minhash:64"),
            "features=given is not allowed; use char:n or word:n to read",
        ),
        (lambda: nk.MinHash().signature(["text"]), "documents='text' is not allowed; use lists of features"),
        (
            lambda: nk.MinHash().signature_hashes(np.zeros(3, np.uint64)),
            "offsets=None is not allowed; use where each set begins and the end, or a list of arrays",
        ),
        (
            lambda: nk.MinHash().signature_hashes(np.zeros(3, np.int64), [0, 3]),
            "hashes=1-dimensional int64 is not allowed; use one-dimensional uint64",
        ),
        (
            lambda: nk.MinHash().signature_hashes(np.zeros(3, np.uint64), [0, 4]),
            "offsets=2 numbers is not allowed; use ascending numbers from 0 to 3",
        ),
        (
            lambda: nk.MinHash(scheme="weighted").signature([{"a": -1.0}]),
            "weight=-1 is not allowed; use finite numbers from 0 to 2097152",
        ),
        (lambda: nk.MinHash(scheme="weighted").signature([{"a": math.nan}]), "weight=NaN is not allowed"),
        (lambda: nk.MinHash(scheme="weighted").signature([{"a": math.inf}]), "weight=inf is not allowed"),
        (
            lambda: nk.MinHash(scheme="weighted").signature([{"a": 1}, {"b": 0, "c": 0.0}]),
            "sum of weights=0 of document 1 is not allowed; use more than 0 and at most 131072; scale all weights",
        ),
        (lambda: nk.MinHash(scheme="weighted").signature([{"a": 200_000}]), "sum of weights=200000 of document 0"),
        (lambda: nk.MinHash(scheme="weighted").signature([{"a": "b"}]), "weights=could not convert string to float"),
        (
            lambda: nk.MinHash(scheme="weighted").signature_hashes([np.zeros(3, np.uint64)]),
            "weights=none is not allowed; use a weight for each feature with minhash:NUM_PERM:weighted, or the scheme",
        ),
        (
            lambda: nk.MinHash(scheme="weighted").signature_hashes([np.zeros(3, np.uint64)], weights=[1]),
            "weights=1 .*is not allowed; use 3",
        ),
        (
            lambda: nk.MinHash().signature_hashes([np.zeros(1, np.uint64)], weights=[1]),
            r'weights=an array is not allowed; use None, or MinHash\(scheme="weighted"\)',
        ),
        (lambda: nk.minhash_similarity([1.5], [1.5]), "a=an array of float64 is not allowed; use uint32 or uint64"),
        (
            lambda: nk.MinHash(4).merge(np.zeros((2, 3), np.uint32), np.zeros((2, 3), np.uint32)),
            r"a=an array of shape \(2, 3\) is not allowed; use shape \(n, 4\) or \(4,\)",
        ),
    ],
)
def test_messages_say_what_is_allowed(build: Callable[[], object], message: str) -> None:
    """Each error names the argument, its value, and what is allowed."""
    with pytest.raises(ParameterError, match=message):
        build()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: nk.minhash_similarity(np.zeros(3, np.uint32), np.zeros(3, np.uint64)),
            "type of values differs: uint32 against uint64",
        ),
        (
            lambda: nk.minhash_similarity(np.zeros(3, np.uint32), np.zeros(4, np.uint32)),
            "values of a signature differs: 3 against 4",
        ),
        (
            lambda: nk.minhash_similarity(np.zeros((2, 3), np.uint32), np.zeros((3, 3), np.uint32)),
            "number of rows differs: 2 against 3",
        ),
        (
            lambda: nk.MinHash(3).merge(np.zeros((2, 3), np.uint32), np.zeros((3, 3), np.uint32)),
            "number of signatures differs: 2 against 3",
        ),
        (
            lambda: nk.MinHash(3).merge(np.zeros((2, 3), np.uint64), np.zeros((2, 3), np.uint64)),
            "type of values differs: uint64 and uint64 against uint32",
        ),
    ],
)
def test_signatures_that_were_made_otherwise_do_not_meet(build: Callable[[], object], message: str) -> None:
    """Width, type and number must agree; one signature is compared with any number."""
    with pytest.raises(MismatchError, match=message):
        build()


@given(
    sets=st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=30), max_size=6),
    scheme=st.sampled_from(["one", "fast", "classic"]),
    bits=st.sampled_from([32, 64]),
)
def test_hashes_in_one_array_and_in_a_list_are_the_same_sets(
    sets: list[list[int]], scheme: Literal["one", "fast", "classic"], bits: Literal[32, 64]
) -> None:
    """Order and repetition do not matter; each set is signed separately."""
    family = nk.MinHash(16, scheme=scheme, value_bits=bits)
    arrays = [np.array(result, np.uint64) for result in sets]
    offsets = [sum(len(result) for result in sets[:i]) for i in range(len(sets) + 1)]
    flat = np.array([value for result in sets for value in result], np.uint64)
    expected = family.signature_hashes(flat, offsets)
    assert ((len(sets), 16), np.dtype(f"uint{bits}")) == (expected.shape, expected.dtype)
    assert expected.tolist() == family.signature_hashes([np.append(result, result)[::-1] for result in arrays]).tolist()
    for result, row in zip(arrays, expected, strict=True):
        assert row.tolist() == family.signature_hashes(result, [0, len(result)])[0].tolist()
