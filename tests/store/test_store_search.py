"""Search of a store by fingerprints, signatures, digests and vectors, compared with brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from nearkin.dedup.candidates import MinHashCandidates
from nearkin.dedup.candidates.simhash import SimHashCandidates
from nearkin.errors import MismatchError, ParameterError
from nearkin.store.results import StoredMatch

RECIPES = {
    "default": None,
    "simhash": nk.Recipe(),
    "narrow": "char:4|count|xxh3|simhash:64",
    "minhash": "char:4|binary|xxh3|minhash:64",
}
WORDS = [f"word{number}" for number in range(400)]


def _variants(number: int) -> list[str]:
    """Return a text of forty words, and variants with one to three words replaced."""
    rng = np.random.default_rng(number)
    words = [WORDS[at] for at in rng.integers(0, len(WORDS), 40)]
    found = [" ".join(words)]
    for _ in range(3):
        words[int(rng.integers(40))] = "changed"
        found.append(" ".join(words))
    return found


TEXTS = [text for number in range(60) for text in _variants(number)]


@pytest.mark.parametrize("recipe", RECIPES)
def test_search_is_brute_force(tmp_path: Path, recipe: str) -> None:
    with nk.Store.create(tmp_path / "s", RECIPES[recipe], threshold=0.6, max_pending=40) as store:
        names = [f"d{number}" for number in range(len(TEXTS))]
        store.add(TEXTS, names, columns={"n": list(range(len(TEXTS)))})
        store.remove(names[::7])
        store.merge()
        left = [name for name in names if name in store]
        queries, values = store.values(left[:40]), store.values(left)
        source = store.settings.source
        assert isinstance(source, (SimHashCandidates, MinHashCandidates))
        for k in (1, 3, 100):
            for query, found in zip(queries, store.search(queries, k=k), strict=True):
                expected = _expected(source, query, values, left, k)
                assert expected == [(doc.id, doc.distance, str(doc.similarity)) for doc in found]
                assert all(doc.columns == {"n": int(str(doc.id)[1:])} for doc in found)


def _expected(
    source: SimHashCandidates | MinHashCandidates, query: np.ndarray, values: np.ndarray, names: list[str], k: int
) -> list[tuple[str, int, str]]:
    """Return ids, distances and similarities, which may be NaN, in words."""
    if isinstance(source, SimHashCandidates):
        far = np.asarray(nk.hamming(values, query, bits=source.recipe.bits)).reshape(-1)
        good, rank, similarity = far <= source.radius, far, np.full(len(far), np.nan)
    else:
        bands, rows = source.banding.num_bands, source.banding.num_rows
        far = bands - (values == query)[:, : bands * rows].reshape(len(values), bands, rows).all(axis=2).sum(axis=1)
        rank = (values != query).sum(axis=1)
        good, similarity = far < bands, 1 - rank / source.recipe.num_perm
    order = [row for row in np.lexsort((np.arange(len(far)), rank)).tolist() if good[row]]
    return [(names[row], int(far[row]), str(similarity[row])) for row in order[:k]]


def test_search_of_digests_and_vectors_is_that_of_check(tmp_path: Path) -> None:
    data = [b"".join(b"line %d of file %d\n" % (line * number, number) for line in range(300)) for number in range(6)]
    with nk.Store.create(tmp_path / "files", "ssdeep", threshold=10) as store:
        store.add(data, list("abcdef"), kind="bytes")
        digests = [nk.ssdeep.hash(data[2].replace(b"line 20 ", b"LINE 20 "))]
        assert store.check(digests, k=3, kind="digests").matches == store.search(digests, k=3)
    vectors = np.random.default_rng(0).standard_normal((30, 8)).astype(np.float32)
    family = nk.families.Hyperplane(bits=64, seed=1).fit(vectors)
    with nk.Store.create(tmp_path / "vectors", family, threshold=0.5) as store:
        store.add(vectors, range(30))
        assert store.check(vectors[:4], k=3).matches == store.search(vectors[:4], k=3)


def test_a_fingerprint_says_nothing_of_similarity(tmp_path: Path) -> None:
    """A signature does."""
    with nk.Store.create(tmp_path / "s", nk.Recipe()) as store:
        store.add(["a text of some length"], ["a"], columns={"source": ["web"]})
        ((found,),) = store.search(store.values(["a"]))
        assert (found.id, found.distance, found.columns) == ("a", 0, {"source": "web"})
        assert np.isnan(found.similarity)
    with nk.Store.create(tmp_path / "m") as store:
        store.add(["a text of some length"], ["a"])
        assert [[StoredMatch("a", 0, 1.0)]] == store.search(store.values(["a"]))


def test_bad_searches(tmp_path: Path) -> None:
    with nk.Store.create(tmp_path / "s", radius=30) as store:
        with pytest.raises(ParameterError, match="radius=99 is not allowed; use 0 to"):
            store.search(np.zeros((1, 2), np.uint64), radius=99)
        with pytest.raises(ParameterError, match=r"shape \(1, 3\)"):
            store.search(np.zeros((1, 3), np.uint64))
        with pytest.raises(ParameterError, match="k=0"):
            store.search(np.zeros((1, 2), np.uint64), k=0)
    with nk.Store.create(tmp_path / "m") as store:
        with pytest.raises(ParameterError, match="only fingerprints"):
            store.search(np.zeros((1, 128), np.uint32), radius=3)
        with pytest.raises(MismatchError, match="bits of a value"):
            store.search(np.zeros((1, 128), np.uint64))
