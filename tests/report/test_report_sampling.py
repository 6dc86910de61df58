"""Selection of the pairs of a report, with weights that add up to the run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from nearkin.report import Run, sampling
from nearkin.report.run import NearFiles


def random_pairs(count: int, seed: int = 0, weight: float = 3.0) -> sampling.NearPairs:
    """Return pairs above and below 0.8; near misses have a weight."""
    random = np.random.default_rng(seed)
    similarity = random.beta(4, 2, count)
    match = similarity >= 0.8
    names = [f"n{row}" for row in range(count)]
    return sampling.NearPairs(
        names, names[::-1], similarity, np.zeros(count, np.int64), match, np.where(match, 1.0, weight)
    )


def build_run(
    summary: Mapping[str, object], rows: list[tuple[str, str, str, float | None]], near: object = None
) -> Run:
    """Return a run with these clusters, as rows of id, representative, reason and similarity."""
    ids, heads, reasons, similarity = (list(cells) for cells in zip(*rows, strict=True)) if rows else ([], [], [], [])
    table = {"id": ids, "representative": heads, "reason": reasons, "similarity": similarity, "cluster": heads}
    return Run("run", summary, {**table, "distance": [0] * len(ids)}, near, lambda ids: {})  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, 1, 7, 5000])
def test_strata_partition_the_pairs(count: int) -> None:
    """Each pair is in one stratum with its bounds, separately for removed pairs; weights add up to those of pairs."""
    pairs = random_pairs(count)
    strata = sampling.stratify(pairs, 1.0)
    rows = np.concatenate([np.zeros(0, np.int64), *(stratum.rows for stratum in strata)])
    assert sorted(rows.tolist()) == list(range(count))
    for stratum in strata:
        values = pairs.similarity[stratum.rows]
        assert (values >= stratum.low - 1e-9).all()
        assert (values < stratum.high + 1e-9).all()
        assert set(pairs.match[stratum.rows].tolist()) == {stratum.removed}
    assert sum(stratum.pairs for stratum in strata) == pytest.approx(float(pairs.weight.sum()))


def test_full_similarity_is_in_the_last_stratum() -> None:
    pairs = random_pairs(3)
    pairs.similarity[:] = 1.0
    pairs.match[:] = True
    assert ["0.98-1.00"] == [stratum.name for stratum in sampling.stratify(pairs, 1.0)]


@pytest.mark.parametrize("count", [0, 3, 200, 20_000])
def test_the_queue_weighs_as_much_as_the_run(count: int) -> None:
    """The weights of a stratum add up to its pairs for every sample; pairs near the threshold are more frequent."""
    pairs = random_pairs(count)
    strata = sampling.stratify(pairs, 1.0)
    queue = sampling.build_queue(strata, 0.8, 1.0)
    assert (
        len({row for row, _, _ in queue}) == len(queue) <= max(sampling.MAX_QUEUE, len(strata) * sampling.NEAR_FACTOR)
    )
    for number, stratum in enumerate(strata):
        weights = [weight for _, own, weight in queue if own == number]
        assert sum(weights) == pytest.approx(stratum.pairs)
        assert {row for row, own, _ in queue if own == number} <= set(stratum.rows.tolist())
    if count == 20_000:
        taken = {strata[number].name: 0 for _, number, _ in queue}
        for _, number, _ in queue:
            taken[strata[number].name] += 1
        assert taken["0.82-0.84"] == sampling.NEAR_FACTOR * taken["0.50-0.52"]
        assert [row for row, _, _ in queue] != sorted(row for row, _, _ in queue)


def test_the_border_is_what_is_nearest() -> None:
    pairs = random_pairs(5000)
    for removed in (True, False):
        rows = sampling.select_border(pairs, 0.8, removed=removed)
        far = np.abs(pairs.similarity - 0.8)
        assert len(rows) == sampling.MAX_BORDER
        assert (pairs.match[rows] == removed).all()
        others = np.setdiff1d(np.flatnonzero(pairs.match == removed), rows)
        assert far[rows].max() <= far[others].min()


def test_the_number_of_pairs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first pairs are always selected, and random others up to the limit."""
    pairs = random_pairs(1000)
    assert sampling.select_pairs(pairs, [5, 900]).tolist() == list(range(1000))
    monkeypatch.setattr(sampling, "MAX_PAIRS", 100)
    some = sampling.select_pairs(pairs, [5, 900]).tolist()
    assert 100 == len(some)
    assert {5, 900} <= set(some)
    assert some == sorted(some)
    assert list(range(120)) == sampling.select_pairs(pairs, range(120)).tolist()


def test_copies_and_older_documents_are_not_pairs() -> None:
    """Pairs are near duplicates, and texts with the same letters; those without a similarity are skipped."""
    rows: list[tuple[str, str, str, float | None]] = [
        ("a", "a", "kept", 1.0),
        ("b", "a", "near", 0.9),
        ("c", "a", "exact", 1.0),
        ("d", "a", "same-letters", 1.0),
        ("e", "x", "near-old", 0.9),
        ("f", "a", "near", None),
    ]
    pairs = sampling.near_pairs(build_run({}, rows))
    assert [("a", "b"), ("a", "d")] == list(zip(pairs.left, pairs.right, strict=True))
    assert pairs.match.all()


def test_weights_of_near_misses_are_unbiased() -> None:
    """In 2,000 samples of both kinds, the mean of the total weight is the number of near misses."""
    random = np.random.default_rng(7)
    kept, sampled = 40, 10
    every = [(a, b) for a in range(kept) for b in range(a + 1, kept) if (a * b) % 7 == 3]
    either, both = [], []
    for _ in range(2000):
        chosen = set(random.permutation(kept)[:sampled].tolist())
        seen = [pair for pair in every if chosen & set(pair)]
        near = {
            "left": [str(a) for a, _ in seen],
            "right": [str(b) for _, b in seen],
            "distance": [1] * len(seen),
            "similarity": [0.5] * len(seen),
        }
        summary = {"near_misses": {"sampled": sampled, "of": kept, "pairs": len(seen)}}
        either.append(float(sampling.near_pairs(build_run(summary, [], near)).weight.sum()))
        within = [(str(a), str(b), 60) for a, b in every if {a, b} <= chosen]
        run = build_run({}, [])
        files = Run(run.name, {}, run.clusters, None, run.texts, near_files=NearFiles(within, sampled, kept))
        both.append(float(sampling.near_pairs(files).weight.sum()))
    assert np.mean(either) == pytest.approx(len(every), rel=0.02)
    assert np.mean(both) == pytest.approx(len(every), rel=0.06)
