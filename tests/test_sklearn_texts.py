"""The text estimators: scikit-learn's checks for texts, its other checks adapted to texts, kernels, pipelines."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks, get_tags

import nearkin as nk
import nearkin.sklearn
from nearkin.sklearn import MinHashVectorizer, SimHashVectorizer

WORDS = "word:1|binary|xxh3|"
ESTIMATORS: list[Any] = [
    SimHashVectorizer(),
    SimHashVectorizer(WORDS + "simhash:100", output="bits"),
    SimHashVectorizer(nk.Recipe(WORDS + "simhash:70"), output="packed"),
    MinHashVectorizer(),
    MinHashVectorizer(WORDS + "minhash:16", n_bits=3),
    MinHashVectorizer(nk.Recipe(WORDS + "minhash:16:classic").with_(value_bits=64), output="signature"),
]
TEXTS = ["one two three four five", "one two three four six", "", "something else", "?!"]

DATALESS = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)
"""Checks of scikit-learn that fit nothing; the others give numbers to an estimator, and leave out those of texts."""


def dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else values


@pytest.fixture(params=ESTIMATORS, ids=lambda estimator: " ".join(str(estimator).split()))
def estimator(request: pytest.FixtureRequest) -> Any:
    """Return a clone of each."""
    return clone(request.param)


def test_every_estimator_of_texts_is_checked() -> None:
    import test_sklearn

    assert {type(estimator).__name__ for estimator in ESTIMATORS} == test_sklearn.TEXTS
    assert set(nearkin.sklearn.__all__) >= test_sklearn.TEXTS


def test_scikit_learns_checks_pass(estimator: Any) -> None:
    """`check_estimator` reports the numeric checks that it skips, as for scikit-learn's own vectorizers."""
    with pytest.warns(SkipTestWarning, match="which requires input"):
        estimator_checks.check_estimator(estimator)


@pytest.mark.parametrize("name", DATALESS)
def test_checks_without_data_pass(estimator: Any, name: str) -> None:
    getattr(estimator_checks, name)(type(estimator).__name__, estimator)


def test_tags_say_that_texts_are_taken(estimator: Any) -> None:
    tags = get_tags(estimator)
    assert (True, False, False) == (tags.input_tags.string, tags.input_tags.two_d_array, tags.requires_fit)


def test_fitting_changes_nothing(estimator: Any) -> None:
    """`fit` returns the estimator, reads no text, and leaves no trace; `transform` works without it."""
    before = dict(vars(estimator))
    expected = dense(estimator.transform(TEXTS))
    assert estimator is estimator.fit(iter(TEXTS), y=[1, 2])
    assert before == vars(estimator)
    for result in (
        estimator.transform(TEXTS),
        estimator.fit_transform(iter(TEXTS)),
        clone(estimator).fit(["other"]).transform(TEXTS),
        pickle.loads(pickle.dumps(estimator)).transform(TEXTS),  # noqa: S301
    ):
        assert np.array_equal(expected, dense(result))
        assert expected.dtype == result.dtype


def test_each_text_is_by_itself(estimator: Any) -> None:
    """Order and batches do not matter; no texts give no rows."""
    expected = dense(estimator.transform(TEXTS))
    order = [3, 0, 4, 2, 1]
    assert np.array_equal(expected[order], dense(estimator.transform([TEXTS[i] for i in order])))
    for i, text in enumerate(TEXTS):
        assert np.array_equal(expected[i : i + 1], dense(estimator.transform([text])))
    assert (0, expected.shape[1]) == estimator.transform([]).shape


@pytest.mark.parametrize(
    "form",
    [tuple, np.array, pd.Series, pa.array, lambda texts: np.array(texts, dtype=object)],
    ids=["tuple", "array", "series", "arrow", "objects"],
)
def test_texts_come_in_every_form(estimator: Any, form: Callable[[Any], Any]) -> None:
    assert np.array_equal(dense(estimator.transform(TEXTS)), dense(estimator.transform(form(TEXTS))))


@pytest.mark.parametrize(
    ("texts", "kind", "message"),
    [
        ("one text", ValueError, "X=one str is not allowed; use a list of texts"),
        (b"one text", ValueError, "X=one bytes is not allowed"),
        (pd.DataFrame({"text": TEXTS}), ValueError, "X=a DataFrame is not allowed; use one column of texts"),
        (np.array([TEXTS]), ValueError, "X=a ndarray is not allowed"),
        ({"text": TEXTS}, ValueError, "X=a dict is not allowed"),
        ([1, 2], TypeError, "str"),
    ],
)
def test_what_is_no_column_of_texts_is_refused(estimator: Any, texts: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        estimator.fit_transform(texts)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SimHashVectorizer(output="words"), 'output=\'words\' is not allowed; use "signs", "bits" or "packed"'),  # type: ignore[arg-type]
        (SimHashVectorizer(WORDS + "minhash:16"), "use a recipe with the family simhash"),
        (SimHashVectorizer("given|xxh3|simhash:64"), "features"),
        (SimHashVectorizer("nonsense"), "nonsense"),
        (MinHashVectorizer(output="bits"), 'output=\'bits\' is not allowed; use "onehot" or "signature"'),  # type: ignore[arg-type]
        (MinHashVectorizer(WORDS + "simhash:64"), "family=simhash is not allowed"),
        (MinHashVectorizer(n_bits=0), "n_bits=0 is not allowed; use 1 to 16"),
        (MinHashVectorizer(n_bits=17), "n_bits=17 is not allowed; use 1 to 16"),
    ],
)
def test_bad_parameters_are_refused(estimator: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimator.fit(TEXTS).transform(TEXTS)


def test_names_of_columns_and_frames(estimator: Any) -> None:
    """There are as many names as columns; `set_output` returns data frames for dense output."""
    result = estimator.transform(TEXTS)
    names = estimator.get_feature_names_out()
    prefix = type(estimator).__name__.lower()
    assert [f"{prefix}{i}" for i in (0, result.shape[1] - 1)] == [names[0], names[-1]]
    assert result.shape[1] == len(names)
    if issparse(result):
        return
    frame = estimator.set_output(transform="pandas").transform(TEXTS)
    assert list(names) == list(frame.columns)
    assert np.array_equal(result, frame.to_numpy())


@pytest.mark.parametrize("bits", [8, 64, 70, 128])
def test_forms_of_a_fingerprint_are_one(bits: int) -> None:
    """Bits, packed bytes and signs represent the words; empty texts have no sign."""
    recipe = f"{WORDS}simhash:{bits}"
    words = nk.fingerprint(TEXTS, recipe).reshape(len(TEXTS), -1)
    expected = [[int(row[i // 64]) >> (i % 64) & 1 for i in range(bits)] for row in words]
    result: dict[str, Any] = {
        name: SimHashVectorizer(recipe, output=name).transform(TEXTS) for name in ("bits", "packed", "signs")
    }
    assert expected == result["bits"].tolist()
    assert expected == np.unpackbits(result["packed"], axis=1, count=bits, bitorder="little").tolist()
    full = [0, 1, 3]
    assert np.array_equal(np.sign(result["signs"][full]), 2.0 * np.array(expected)[full] - 1)
    assert np.allclose(np.linalg.norm(result["signs"], axis=1), [1, 1, 0, 1, 0])
    if sys.byteorder == "little":
        assert words.astype(np.uint64).view(np.uint8)[:, : -(-bits // 8)].tolist() == result["packed"].tolist()


def test_signatures_are_those_of_nearkin() -> None:
    recipe = WORDS + "minhash:16"
    values: Any = MinHashVectorizer(recipe, output="signature").transform(TEXTS)
    assert np.array_equal(nk.signature(TEXTS, recipe), values)
    result: Any = MinHashVectorizer(recipe, n_bits=5).transform(TEXTS)
    expected = nk.signature(TEXTS, recipe) & 31
    for row, lowest in enumerate(expected):
        positions = [32 * i + int(value) for i, value in enumerate(lowest)] if row in (0, 1, 3) else []
        assert positions == result[[row]].indices.tolist()
    assert result.has_canonical_format


def test_dot_products_are_the_kernels() -> None:
    """Sets with a known Jaccard similarity and angle, 512 values and 1,024 bits.

    The kernel of MinHash is a mean of 512 indicators of `classic`, farther than 0.127 from its expectation with
    probability below 2 exp(-2 · 512 · 0.127²) = 2e-7 (Hoeffding); that of 1,024 signs, of range 2, farther than 0.176
    with probability below 2 exp(-2 · 1024 · 0.176² / 4) = 3e-7.
    """
    left = " ".join(f"w{i}" for i in range(150))
    right = " ".join(f"w{i}" for i in range(50, 200))
    jaccard, angle = 100 / 200, np.arccos(100 / 150)
    for n_bits in (1, 4, 12):
        X: Any = MinHashVectorizer(WORDS + "minhash:512:classic", n_bits=n_bits).transform([left, right])
        assert abs((X @ X.T)[0, 1] - (jaccard + (1 - jaccard) / 2**n_bits)) < 0.127
        assert np.allclose((X @ X.T).diagonal(), 1)
    signs = SimHashVectorizer(WORDS + "simhash:1024").transform([left, right])
    assert abs(signs[0] @ signs[1] - (1 - 2 * angle / np.pi)) < 0.176


def topics() -> tuple[list[str], list[int]]:
    """Return short texts of two topics that share half of their words."""
    rng = np.random.default_rng(0)
    shared = [f"common{i}" for i in range(20)]
    own = [[f"{name}{i}" for i in range(20)] for name in ("wine", "bread")]
    y = [i % 2 for i in range(120)]
    return [" ".join(rng.choice(shared + own[label], 12)) for label in y], y


@pytest.mark.parametrize(
    "vectorizer", [SimHashVectorizer(WORDS + "simhash:512"), MinHashVectorizer(WORDS + "minhash:256")]
)
def test_linear_models_and_neighbours_learn_from_them(vectorizer: Any) -> None:
    """Half of the texts are for testing; guessing would score one half."""
    texts, y = topics()
    model = make_pipeline(clone(vectorizer), LogisticRegression(max_iter=1000))
    assert model.fit(texts[:60], y[:60]).score(texts[60:], y[60:]) > 0.85
    neighbours = make_pipeline(clone(vectorizer), NearestNeighbors(n_neighbors=1))
    neighbours.fit(texts)
    rows = neighbours[0].transform(texts)
    assert list(range(len(texts))) == neighbours[-1].kneighbors(rows, return_distance=False).ravel().tolist()


def test_parameters_are_searched_and_columns_named() -> None:
    """Recipes work in a grid search, and columns in a table."""
    texts, y = topics()
    model = make_pipeline(MinHashVectorizer(), LogisticRegression(max_iter=200))
    grid = {
        "minhashvectorizer__recipe": [WORDS + "minhash:64", "char:4|binary|xxh3|minhash:64"],
        "minhashvectorizer__n_bits": [2, 6],
    }
    result = GridSearchCV(model, grid, cv=2).fit(texts, y)
    assert result.best_score_ > 0.7
    table = pd.DataFrame({"text": texts, "size": [float(len(text)) for text in texts]})
    columns = ColumnTransformer([("text", SimHashVectorizer(WORDS + "simhash:64"), "text")], remainder="passthrough")
    rows = columns.fit_transform(table)
    assert (120, 65) == rows.shape
    assert "text__simhashvectorizer63" == columns.get_feature_names_out()[63]


def test_the_default_of_minhash_is_512_values_of_words() -> None:
    """docs/sklearn.md has the measurements by which it was chosen."""
    default = MinHashVectorizer().transform(["one two three", "three two one", "four"])
    explicit = MinHashVectorizer(WORDS + "minhash:512").transform(["one two three", "three two one", "four"])
    assert (3, 512 << 8) == default.shape
    assert np.array_equal(dense(default), dense(explicit))


def test_the_default_of_simhash_separates_topics() -> None:
    """Texts of 40 words, of which half are of a topic: a linear model finds it; 128 bits of 4-grams are much worse."""
    from sklearn.linear_model import RidgeClassifier

    rng = np.random.default_rng(0)
    words = np.array(["".join(word) for word in rng.choice(list("abcdefghij"), (600, 5))])
    topics = rng.integers(0, 4, 600)
    texts = [
        " ".join(np.concatenate([rng.choice(words[:200], 20), rng.choice(words[200 + 100 * topic :][:100], 20)]))
        for topic in topics
    ]
    scores = {}
    for recipe in (None, "char:4|binary|xxh3|simhash:128"):
        features = SimHashVectorizer(recipe).fit_transform(texts)
        scores[recipe] = RidgeClassifier().fit(features[:400], topics[:400]).score(features[400:], topics[400:])
    assert scores[None] > 0.8
    assert scores[None] > scores["char:4|binary|xxh3|simhash:128"] + 0.1
