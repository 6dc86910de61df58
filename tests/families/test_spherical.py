"""Spherical hashing: its invariants, its statistics, its distance, and degenerate data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import nearkin as nk
from nearkin import errors
from nearkin.families import Hyperplane, PStable, SphericalHash, bounding_power, spherical_hamming


def clusters(seed: int, n: int = 2000, d: int = 32) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((30, d))
    return (centres[rng.integers(0, 30, n)] + 0.6 * rng.standard_normal((n, d))).astype(np.float32)


@pytest.mark.parametrize("start", ["samples", "kmeans"])
@pytest.mark.parametrize("stop", ["loose", "strict"])
def test_balls_hold_half_and_pairs_a_quarter(start: str, stop: str) -> None:
    """Each ball contains exactly half of the training vectors; overlaps are within the reported tolerances."""
    X = clusters(1)
    family = SphericalHash(32, start=start, stop=stop, samples=2000, seed=1).fit(X)  # type: ignore[arg-type]
    bits = family.hash_values(X)
    assert np.array_equal(np.full(32, len(X) // 2), bits.sum(axis=0))
    overlaps = (bits.T @ bits)[np.triu_indices(32, 1)] / (len(X) / 4)
    assert (True, True) == (family.converged_, family.n_iter_ <= 50)
    assert family.overlap_mean_ == pytest.approx(overlaps.mean(), abs=1e-6)
    assert family.overlap_error_ == pytest.approx(np.abs(overlaps - 1).mean(), abs=1e-6)
    assert family.overlap_std_ == pytest.approx(overlaps.std(), abs=1e-6)
    assert (abs(overlaps.mean() - 1) if stop == "loose" else np.abs(overlaps - 1).mean()) <= 0.10
    assert overlaps.std() <= 0.15


def test_held_out_vectors_are_in_half_of_the_balls() -> None:
    """The bit rates of unseen vectors are a half, within 5 sqrt(0.25 / 4000) and the effect of clusters."""
    family = SphericalHash(32, seed=2).fit(clusters(1))
    rates = family.bit_rates(clusters(1, 6000)[2000:])
    assert np.abs(rates - 0.5).max() < 5 * np.sqrt(0.25 / 4000) + 0.03


def test_radii_belong_to_the_last_pivots() -> None:
    """Without radii computed after the last move, the counts would differ from a half."""
    X = clusters(3)
    with pytest.warns(errors.ConvergenceWarning):
        family = SphericalHash(32, max_iter=1, mean_tolerance=1e-6, samples=2000, seed=3).fit(X)
    assert (1, False) == (family.n_iter_, family.converged_)
    assert np.array_equal(np.full(32, len(X) // 2), family.hash_values(X).sum(axis=0))


def test_pivots_drift_where_tolerances_are_tight() -> None:
    """More moves push pivots outwards: the reported drift grows."""
    X = clusters(4)
    drifts = []
    for moves in (0, 5, 30):
        with pytest.warns(errors.ConvergenceWarning):
            drifts.append(SphericalHash(64, max_iter=moves, std_tolerance=1e-6, seed=4).fit(X).drift_)
    assert sorted(drifts) == drifts
    assert drifts[2] > 2 * drifts[0]


def test_equal_vectors_are_bounded_and_warned_about() -> None:
    """Duplicates never converge: no move is possible, and all balls contain everything."""
    X = np.ones((100, 8))
    with pytest.warns(errors.ConvergenceWarning, match="did not reach") as record:
        family = SphericalHash(16, seed=5).fit(X)
    assert __file__ == record[0].filename
    assert 0 == family.n_iter_
    assert (family.hash_values(X) == 1).all()


def test_few_vectors_and_odd_counts() -> None:
    """Fewer vectors than bits are rejected; an odd number leaves the smaller half inside."""
    with pytest.raises(errors.InputError, match="has 15 rows; give bits=16 vectors or more"):
        SphericalHash(16).fit(clusters(6)[:15])
    X = clusters(6)[:1001]
    family = SphericalHash(16, seed=6).fit(X)
    assert np.array_equal(np.full(16, 500), family.hash_values(X).sum(axis=0))


def test_spherical_distance_is_its_formula() -> None:
    """|a xor b| / (|a and b| + 0.1), one against many and pair by pair, for any width."""
    rng = np.random.default_rng(8)
    for bits in (7, 64, 130):
        family_bits = rng.integers(0, 2, (20, bits)).astype(np.uint8)
        words = -(-bits // 64)
        packed = np.zeros((20, 8 * words), np.uint8)
        rows = np.packbits(family_bits, axis=1, bitorder="little")
        packed[:, : rows.shape[1]] = rows
        codes = packed.view(np.uint64).reshape(20, words)
        codes = codes[:, 0] if words == 1 else codes
        apart = (family_bits[:1] != family_bits).sum(axis=1)
        shared = (family_bits[:1] & family_bits).sum(axis=1)
        assert np.allclose(apart / (shared + 0.1), spherical_hamming(codes[:1], codes, bits=bits))
        assert np.allclose(
            spherical_hamming(codes, codes[::-1], bits=bits), spherical_hamming(codes[::-1], codes, bits=bits)
        )
    with pytest.raises(errors.MismatchError):
        spherical_hamming(codes[:2], codes[:3], bits=130)


def test_codes_go_into_a_hamming_index() -> None:
    """HammingIndex accepts the fingerprints of the family."""
    X = clusters(9)
    codes = SphericalHash(64, seed=9).fit_transform(X)
    index = nk.HammingIndex(bits=64)
    index.add(None, codes)
    hits = index.nearest(codes[:5], k=1)
    assert [0] * 5 == hits.distances.tolist()


def test_bounding_power_equals_the_mean_over_pairs_of_each_region() -> None:
    """The largest distance of each region, by all pairs; regions of one vector have none."""
    X = np.random.default_rng(40).standard_normal((400, 5)) + 100.0
    family = SphericalHash(bits=6, seed=41).fit(X)
    codes = family.transform(X)
    largest = []
    for code in np.unique(codes):
        rows = X[codes == code]
        if len(rows) > 1:
            largest.append(max(float(np.linalg.norm(a - b)) for a in rows for b in rows))
    result = bounding_power(family, X)
    widest = max(float(np.linalg.norm(a - b)) for a in X for b in X)
    assert result.mean_largest == pytest.approx(np.mean(largest))
    assert result.mean_share == pytest.approx(np.mean(largest) / widest)
    assert (result.regions, result.regions + result.singles) == (len(largest), len(np.unique(codes)))


def test_balls_bound_better_than_planes(shared: Path) -> None:
    """Eight bits on descriptors that neither was fitted to: the paper's reason for balls (.775 against .835)."""
    X = np.load(shared / "data" / "vec_sift_bsds.npz")["base"][:4000].astype(np.float32)
    balls = SphericalHash(bits=8, seed=0).fit(X[:2000])
    planes = Hyperplane(bits=8, center=True, seed=0).fit(X[:2000])
    assert bounding_power(balls, X[2000:]).mean_share < bounding_power(planes, X[2000:]).mean_share


def test_bounding_power_refuses_what_has_no_regions() -> None:
    """A family whose values are no bits, and one vector."""
    X = np.random.default_rng(44).standard_normal((50, 4))
    with pytest.raises(errors.ParameterError, match="a family of bits"):
        bounding_power(PStable(hashes=4).fit(X), X)
    with pytest.raises(errors.ParameterError, match="two vectors or more"):
        bounding_power(Hyperplane(4).fit(X), X[:1])
