"""The decision in rounds on an engine equals that of one machine, for graphs of every shape."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engines import MINHASH, DocumentSet, Engine, chain_texts, mixed_texts, star_texts

from nearkin.distributed import decision
from nearkin.distributed import tables as results
from nearkin.distributed.decision import Decision, DocumentHashes
from nearkin.distributed.links import absorb, components
from nearkin.spark.engine import Checkpoint

Links = list[tuple[int, int]]


def shapes(rng: random.Random) -> list[Links]:
    """Return graphs over 0 to n - 1: chains, stars, cliques, rings, trees and random ones."""
    graphs: list[Links] = [[(at, at + 1) for at in range(n)] for n in (1, 2, 9, 40)]
    graphs += [[(0, at) for at in range(1, n)] for n in (3, 30)]
    graphs += [[(at, n) for at in range(n)] for n in (3, 30)]
    graphs += [[(a, b) for b in range(n) for a in range(b)] for n in (4, 15)]
    graphs += [[(at, (at + 1) % n) for at in range(n)] for n in (3, 8, 21)]
    graphs += [[((at - 1) // 2, at) for at in range(1, n)] for n in (7, 60)]
    for _ in range(120):
        n = rng.randrange(2, 40)
        ends = ((rng.randrange(n), rng.randrange(n)) for _ in range(rng.randrange(1, 3 * n)))
        graphs.append([(a, b) for a, b in ends if a != b])
    return graphs


def numbered(graphs: list[Links], rng: random.Random, references: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return all links with distinct numbers in random order, of which some are of reference documents."""
    count = sum(1 + max((max(link) for link in graph), default=0) for graph in graphs)
    numbers = rng.sample(range(1 << 40), count - references) + [at - (1 << 62) for at in range(references)]
    rng.shuffle(numbers)
    links, first = [], 0
    for graph in graphs:
        links += [sorted((numbers[first + a], numbers[first + b])) for a, b in graph]
        first += 1 + max((max(link) for link in graph), default=0)
    # Reference documents are not compared with one another.
    rows = np.array([link for link in links if link[1] > 0], np.int64)
    return rows[np.random.default_rng(0).permutation(len(rows))]


@pytest.fixture(params=[0, 40], ids=["all rounds", "rest on the driver"])
def few_on_driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the links that the driver decides."""
    monkeypatch.setattr(decision, "MAX_DRIVER_LINKS", request.param)


@pytest.mark.usefixtures("few_on_driver")
@pytest.mark.parametrize("cluster", ["absorb", "components"])
def test_graphs(sail: Any, tmp_path: Path, cluster: str) -> None:
    """Removed documents and their representatives are those of the decision on one machine."""
    rng = random.Random(1)
    links = numbered(shapes(rng), rng, references=60)
    frame = sail.createDataFrame(pa.table({"left": links[:, 0], "right": links[:, 1]}))
    point = Checkpoint(sail, str(tmp_path), "digest", lambda _: None)
    removals = Decision(point, cluster, "all").removals(frame).toArrow().sort_by("number")
    decide = components if cluster == "components" else absorb
    expected = decide(*np.unique(links, axis=0).T)
    assert expected.removed.tolist() == removals.column("number").to_pylist()
    assert expected.by.tolist() == removals.column("by").to_pylist()
    rounds = [name for name in point.done if name.startswith("all-links-")]
    assert 2 <= len(rounds) <= 21


@pytest.mark.parametrize(
    ("options", "clusters"),
    [({}, 0), ({}, 1 << 20), ({"cluster": "components"}, 0), ({"links": "all", "keep": "last"}, 1 << 20)],
    ids=str,
)
def test_jobs(engine: Engine, options: dict[str, Any], clusters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole jobs without the driver, but for numbers, have the result of one machine, with reference documents too."""
    monkeypatch.setattr(decision, "MAX_DRIVER_LINKS", 0)
    monkeypatch.setattr(results, "MAX_DRIVER_REMOVED", 0)
    monkeypatch.setattr(results, "MAX_DRIVER_CLUSTERS", clusters)
    texts = chain_texts(30) + star_texts(30, 8) + mixed_texts(100)
    ids = [f"page {at} of \u00e9" for at in range(len(texts))]
    engine.check_equal(DocumentSet.of(texts, ids), recipe=MINHASH, **options)
    engine.check_equal(DocumentSet.of(texts), DocumentSet.of(mixed_texts(60, 1)), recipe=MINHASH, **options)


def test_a_failed_round_is_resumed(sail: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Complete rounds are read again."""
    monkeypatch.setattr(decision, "MAX_DRIVER_LINKS", 0)
    frame = sail.createDataFrame(pa.table({"left": list(range(1, 9)), "right": list(range(2, 10))}))
    stages: list[str] = []

    def fail_third(stage: str) -> None:
        if stage == "x-links-3":
            raise RuntimeError("the third round")
        stages.append(stage)

    with pytest.raises(RuntimeError, match="the third round"):
        Decision(Checkpoint(sail, str(tmp_path), "digest", fail_third), "absorb", "x").removals(frame)
    assert "x-links-2" in stages
    stages.clear()
    resumed = Decision(Checkpoint(sail, str(tmp_path), "digest", stages.append), "absorb", "x").removals(frame)
    assert [2, 4, 6, 8] == sorted(resumed.toArrow().column("number").to_pylist())
    assert "x-links-3" == stages[0]


@pytest.mark.parametrize("at", [1, 2, 60])
def test_a_hash_gives_its_document(at: int) -> None:
    """Hashes are a permutation, so that the smallest hash names a neighbor."""
    rng = np.random.default_rng(at)
    numbers = np.concatenate([rng.integers(-(1 << 63), (1 << 63) - 1, 10_000), [0, -1, 1, -(1 << 63), (1 << 63) - 1]])
    hashes = DocumentHashes(at)
    assert numbers.tolist() == hashes.documents(hashes.of(numbers)).tolist()
    # The first output of splitmix64 with the seed 0.
    assert 0xE220A8397B1DCDAF == int(DocumentHashes(1).of(np.zeros(1, np.int64)).view(np.uint64)[0])


def test_contraction_halves_a_chain() -> None:
    """In a chain in the order of numbers, which joining the smallest number would shorten by one, most documents go."""
    hashes, number = DocumentHashes(1), np.arange(10_000)
    of = hashes.of(number)
    nearest = np.minimum(np.append(of[1:], of[-2]), np.append(of[1], of[:-1]))
    [rows] = hashes.targets(iter(pa.table({"number": number, "hash": nearest}).to_batches()))
    assert len(np.unique(rows.column("target").to_numpy())) < 0.55 * len(number)
