"""The basic calls, checked by mypy and never run: names, arguments and types must not change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from typing_extensions import assert_type

import nearkin as nk
from nearkin.store.results import StoredDocument, StoredMatch, StoreStats


def recipes() -> None:
    """Recipes and their forms."""
    recipe = nk.Recipe("char:4|count|xxh3|simhash:64")
    assert_type(recipe, nk.Recipe)
    assert_type(nk.Recipe.preset("default"), nk.Recipe)
    assert_type(nk.Recipe.from_json(recipe.to_json()), nk.Recipe)
    assert_type(recipe.with_(bits=128), nk.Recipe)
    assert_type(str(recipe), str)
    assert_type(recipe.digest, str)
    assert_type(recipe.bits, int)
    assert_type(recipe.features_of("text"), dict[str, int])


def fingerprints(texts: Iterator[str | None], recipe: nk.Recipe) -> None:
    """Fingerprints, with counts and without."""
    assert_type(nk.fingerprint(texts, recipe), NDArray[np.uint64])
    assert_type(nk.fingerprint(["a", None], "word:1|count|xxh3|simhash:64"), NDArray[np.uint64])
    values, counts = nk.fingerprint(texts, recipe, return_counts=True)
    assert_type(values, NDArray[np.uint64])
    assert_type(counts, NDArray[np.uint64])
    assert_type(nk.SimHash(64, hash="md5").fingerprint([{"red": 2.5}, [("wine", 1)], ["cheese"]]), NDArray[np.uint64])


def distances(fps: NDArray[np.uint64]) -> None:
    """Distances of two fingerprints, and of arrays of them."""
    assert_type(nk.hamming(7, 5), int)
    assert_type(nk.hamming(fps, fps), NDArray[np.uint16])
    assert_type(nk.hamming(fps[0], fps), NDArray[np.uint16])
    assert_type(nk.hamming(7, [5, 3]), NDArray[np.uint16])
    assert_type(nk.hamming(fps, fps, bits=128), int | NDArray[np.uint16])


def indexes(ids: list[str], fps: NDArray[np.uint64]) -> None:
    """A Hamming index and its results."""
    index = nk.HammingIndex(bits=64, method="auto", radius=3, memory_limit=None)
    index.add(ids, fps)
    hits = index.search(fps, radius=3)
    assert_type(hits, nk.SearchResult)
    assert_type(hits.offsets, NDArray[np.int64])
    assert_type(index.nearest(fps, k=10), nk.SearchResult)
    assert_type(index.pairs(radius=3), nk.Pairs)
    index.remove(ids)


def frames(panda: pd.DataFrame, polar: pl.DataFrame, lazy: pl.LazyFrame, path: Path) -> None:
    """DataFrames and files by column names; the kept part of a DataFrame has its type."""
    result = nk.dedup(panda, text="body", id="url", keep="max", values="score", sources="host", against=polar)
    assert_type(result.filter(panda), pd.DataFrame)
    assert_type(result.filter(polar), pl.DataFrame)
    assert_type(result.filter(lazy), pl.LazyFrame)
    assert_type(result.clusters.to_pandas(), pd.DataFrame)
    assert_type(result.pairs.to_polars(), pl.DataFrame)
    nk.dedup(lazy, progress=True)
    nk.dedup(path, against=[path, path], progress=False)
    nk.dedup("pages/*.jsonl", progress=lambda stage, done, total: None)
    nk.dedup_files(panda["file"], keep="max", values=panda["size"])
    nk.tune(polar, text="body", id="url")
    nk.tune_bands(path, text="body")


def deduplication(texts: list[str]) -> None:
    """Deduplication, its tables and its rules."""
    result = nk.dedup(texts, ids=None, threshold=0.8)
    assert_type(result, nk.DedupResult)
    assert_type(result.kept, list[Any])
    assert_type(result.kept_rows, NDArray[np.int64])
    assert_type(result.clusters["distance"], list[int])
    assert_type(result.clusters["representative"], list[Any])
    assert_type(result.summary["removed"], int)
    nk.dedup(texts, verify="none", cluster="components", keep="max", values=[1, 2], links="all")
    nk.dedup(texts, verify="cosine")  # type: ignore[arg-type]
    nk.dedup(texts, recal=0.9)  # type: ignore[call-arg]
    nk.dedup(texts, recall="high")  # type: ignore[arg-type]
    nk.dedup(texts, radius=3, recall=None, bands="9x3", differ=["days"], empty="drop", checkpoint=None, sources="host")
    nk.passages(texts, share=0.5, remove="documents", boilerplate="drop", boilerplate_documents=3, recall=0.9)
    nk.passages(texts, boilerplate=True)  # type: ignore[arg-type]
    assert_type(nk.similarity(texts, [0], [1], measure="indel"), NDArray[np.float64])


def labels(texts: list[str], path: Path) -> None:
    """Judgements of pairs, in memory and in files."""
    nk.dedup(texts, labels=[(0, 1, False), ("a", "b"), ("a", 7, None)])
    nk.dedup(texts, labels=nk.PairLabels(["a"], ["b"], [None], weight=[2], stratum=[None]))
    nk.dedup(texts, labels=path, near_misses="auto")
    nk.dedup(texts, labels={"a": "b"})  # type: ignore[dict-item]
    nk.tune(texts, truth="labels.tsv")
    nk.evaluate(path, "labels.tsv")


def digests(path: Path) -> None:
    """Digests of ssdeep."""
    assert_type(nk.ssdeep.hash(path.read_bytes()), str)
    assert_type(nk.ssdeep.compare("3::", "3::"), int)


def families(X: NDArray[np.float32], path: Path) -> None:
    """Vectors, their codes, laws and files."""
    family = nk.families.SphericalHash(bits=64, seed=0).fit(X)
    assert_type(family, nk.families.SphericalHash)
    nk.families.Hyperplane(64, center=True, orthogonal=True, seed=1).fit(X).transform(X)
    keys = nk.families.PStable(metric="l1", width="auto", hashes=16)
    assert_type(keys.fit(X).collision_probability([0.0, 1.0]), NDArray[np.float64])
    assert_type(keys.hash_values(X), NDArray[np.int64])
    assert_type(keys.probes(X, count=2), nk.families.Probes)
    keys.save(path)
    assert_type(nk.families.load(path), nk.families.Family)
    nk.families.PStable(metric="l3")  # type: ignore[arg-type]
    assert_type(nk.theory.amplify(0.5, 10, 20), NDArray[np.float64])


def clients(store: nk.Store, vectors: NDArray[np.float32], fps: NDArray[np.uint64]) -> None:
    """A client and a store have the same calls and types."""
    with nk.Client("http://127.0.0.1:8470", "a-token", timeout=5, retries=2, verify=Path("ca.pem")) as client:
        assert_type(client, nk.Client)
        for collection in (store, client):
            assert_type(collection.check(["a", None], k=3), nk.CheckResult)
            assert_type(collection.check([Path("a")], kind="paths"), nk.CheckResult)
            assert_type(collection.check_and_add(vectors, [1, 2], columns={"n": [1, 2]}), nk.CheckResult)
            assert_type(collection.add(pl.Series(["a"]), ["b"], conflicts="report"), nk.CheckResult)
            assert_type(collection.texts(["a"]), list[str | None])
            assert_type(collection.get(np.arange(3)), list[StoredDocument | None])
            assert_type(collection.search(fps, radius=3, k=2), list[list[StoredMatch]])
            assert_type(collection.remove(["a"], missing_ok=True, erase=True), int)
            assert_type(collection.stats(), StoreStats)
            assert_type(collection.merge(progress=True), StoreStats)
            assert_type(len(collection), int)
            assert_type("a" in collection, bool)
            assert_type(collection.id_kind, str)


def packages(index: nk.HammingIndex, path: Path) -> None:
    """Names of experts in their packages, and under their older names; a misspelt name is an error."""
    assert_type(nk.index.BandIndex, type[nk.BandIndex])
    assert_type(nk.quality.tune_bands(path), nk.quality.BandTuning)
    assert_type(index.pairs(radius=3), nk.index.Pairs)
    nk.dedub([])  # type: ignore[attr-defined]
    nk.index.BandIndx()  # type: ignore[attr-defined]
