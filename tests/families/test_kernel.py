"""Kernelised LSH against its cosine, random Fourier features against the kernel, ITQ against its invariants."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from nearkin import errors, theory
from nearkin.families import ITQ, KernelLSH, RandomFourier


def vectors(seed: int, n: int, d: int = 16) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((20, d))
    return centres[rng.integers(0, 20, n)] + 0.7 * rng.standard_normal((n, d))


def rbf(X: NDArray[np.float64], Y: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-0.03 * ((X[:, None] - Y[None]) ** 2).sum(-1))  # type: ignore[no-any-return]


@pytest.mark.parametrize(("kernel", "subset"), [("rbf", 30), ("rbf", 75), ("linear", 30)])
def test_bits_agree_as_the_centred_projected_cosine_says(kernel: str, subset: int) -> None:
    """The mean error over 45 pairs of 2,000 bits is below 0.02 at t = 30.

    The mean absolute deviation of a share of 2,000 bits is at most 0.8 · 0.011 = 0.009, and its mean over pairs
    deviates by less than 0.005 (five standard errors of 45 dependent pairs, taken as 9 independent ones: 5 · 0.0067 /
    3 = 0.011 at worst); the rest is the family's own error.
    """
    X = vectors(1, 900)
    family = KernelLSH(2000, kernel=kernel, gamma=0.03, subset=subset, seed=31).fit(X)  # type: ignore[arg-type]
    Q = vectors(1, 910)[900:]
    embedded = family.embed(Q)
    lengths = np.linalg.norm(embedded, axis=1)
    cosines = embedded @ embedded.T / lengths[:, None] / lengths
    bits = family.hash_values(Q)
    left, right = np.triu_indices(10, 1)
    result = (bits[left] == bits[right]).mean(axis=1)
    expected = family.collision_probability(cosines[left, right])
    assert np.abs(result - expected).mean() < 0.02
    assert np.abs(bits.mean(axis=0) - 0.5).mean() < 0.25


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2", "intersection", "linear", "cosine", "polynomial"])
@pytest.mark.parametrize("gamma", [0.03, 0.3, 3.0])
def test_bits_of_fitted_vectors_agree_as_those_of_others(kernel: str, gamma: float) -> None:
    """The law holds for vectors that became anchors: 20 anchors, 190 pairs, 4,000 bits, wide and narrow kernels.

    A share of 4,000 bits deviates by 0.008 at most, so one leaves 0.048, six deviations, with probability 2e-9, and one
    of 190 pairs in 21 cases with 8e-6 at the very most, were all of them at one half; fixed seeds.
    """
    family = KernelLSH(4000, kernel=kernel, gamma=gamma, seed=36, anchors=200).fit(np.abs(vectors(9, 400)))  # type: ignore[arg-type]
    anchors = family.anchors_[:20]
    embedded = family.embed(anchors)
    lengths = np.linalg.norm(embedded, axis=1)
    cosines = np.clip(embedded @ embedded.T / lengths[:, None] / lengths, -1.0, 1.0)
    bits = family.hash_values(anchors)
    left, right = np.triu_indices(20, 1)
    result = (bits[left] == bits[right]).mean(axis=1)
    assert np.abs(result - family.collision_probability(cosines[left, right])).max() < 0.048


def test_embedding_is_the_centred_kernel() -> None:
    """Inner products of the anchors are the doubly centred kernel matrix."""
    X = vectors(2, 60)
    family = KernelLSH(8, gamma=0.03, anchors=60, seed=32).fit(X)
    kernel = rbf(family.anchors_, family.anchors_)
    centre = np.eye(60) - 1 / 60
    embedded = family.embed(family.anchors_)
    assert np.allclose(centre @ kernel @ centre, embedded @ embedded.T, atol=1e-6)


def test_functions_and_precomputed_values_equal_the_named_kernel() -> None:
    """Three ways to pass one kernel give the same bits, except for the last digit of a kernel value."""
    X, Q = vectors(3, 200), vectors(4, 50)
    named = KernelLSH(256, gamma=0.03, anchors=80, seed=33).fit(X)
    function = KernelLSH(256, kernel=rbf, anchors=80, seed=33).fit(X)
    precomputed = KernelLSH(256, kernel="precomputed", anchors=80, seed=33).fit(rbf(X, X))
    assert (named.hash_values(Q) != function.hash_values(Q)).mean() < 0.001
    assert (named.hash_values(Q) != precomputed.hash_values(rbf(Q, X))).mean() < 0.001


@pytest.mark.parametrize("kernel", ["chi2", "intersection"])
def test_kernels_of_histograms_equal_their_formula(kernel: str) -> None:
    """The bits are those of the formula as a function; bins that are empty in both add nothing."""
    X = np.abs(vectors(11, 250))
    X[:, 3] = 0.0
    X, Q = X[:200], X[200:]

    def formula(A: NDArray[np.float64], B: NDArray[np.float64]) -> NDArray[np.float64]:
        if kernel == "chi2":
            return np.array(
                [
                    [np.exp(-0.7 * sum((a - b) ** 2 / (a + b) for a, b in zip(u, v, strict=True) if a + b)) for v in B]
                    for u in A
                ]
            )
        return np.array([[sum(min(a, b) for a, b in zip(u, v, strict=True)) for v in B] for u in A])

    named = KernelLSH(256, kernel=kernel, gamma=0.7, anchors=60, seed=37).fit(X)  # type: ignore[arg-type]
    function = KernelLSH(256, kernel=formula, anchors=60, seed=37).fit(X)
    assert (named.hash_values(Q) != function.hash_values(Q)).mean() < 0.001


def test_auto_gamma_of_histograms_is_one_over_the_median() -> None:
    """Half of the pairs of anchors have kernel values above 1/e."""
    X = np.abs(vectors(12, 120))
    family = KernelLSH(8, kernel="chi2", anchors=120, seed=38).fit(X)
    A, B = family.anchors_[:, None], family.anchors_[None]
    values = np.exp(-family.gamma_ * ((A - B) ** 2 / (A + B)).sum(-1))
    assert (values > 1 / np.e).mean() == pytest.approx(0.5, abs=0.001)


@pytest.mark.parametrize("kernel", ["chi2", "intersection"])
def test_negative_values_are_no_histograms(kernel: str) -> None:
    """The error names the row, in `fit` and in `transform`."""
    X = np.abs(vectors(13, 100))
    negative = X.copy()
    negative[7, 2] = -0.5
    with pytest.raises(errors.InputError, match="has a negative value"):
        KernelLSH(8, kernel=kernel, anchors=100).fit(negative)  # type: ignore[arg-type]
    family = KernelLSH(8, kernel=kernel).fit(X)  # type: ignore[arg-type]
    with pytest.raises(errors.InputError, match="row 7: has a negative value"):
        family.transform(negative)


def test_kernels_that_are_not_positive_drop_negative_eigenvalues() -> None:
    """A kernel with as many negative as positive eigenvalues still gives balanced, finite bits."""
    X = vectors(5, 150)
    signature = np.where(np.arange(16) % 2, 1.0, -1.0)
    family = KernelLSH(128, kernel=lambda A, B: (A * signature) @ B.T, anchors=100, seed=34).fit(X)
    assert family.rank_ <= 8
    assert np.isfinite(family.weights_).all()
    assert 0.3 < family.hash_values(X).mean() < 0.7


def test_kernels_out_of_shape_are_errors() -> None:
    """Wrong shapes, NaN, non-square precomputed values, equal vectors, and saving functions are errors."""
    X = vectors(6, 50)
    with pytest.raises(errors.ParameterError, match="values of shape"):
        KernelLSH(8, kernel=lambda A, B: A).fit(X)
    with pytest.raises(errors.ParameterError, match="NaN or infinite"):
        KernelLSH(8, kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X)
    with pytest.raises(errors.ParameterError, match=r"\(n, n\)"):
        KernelLSH(8, kernel="precomputed").fit(X)
    with pytest.raises(errors.InputError, match="equal"):
        KernelLSH(8).fit(np.ones((20, 3)))
    with pytest.raises(errors.InputError, match="no direction"):
        KernelLSH(8, kernel="linear").fit(np.ones((20, 3)))
    with pytest.raises(errors.ParameterError, match="a kernel with a name"):
        KernelLSH(8, kernel=rbf).fit(X).save("never-written")


@pytest.mark.parametrize("form", ["paired", "phase"])
@pytest.mark.parametrize("distance", [0.1, 0.5, 1.5])
def test_fourier_features_have_the_kernels_mean_and_the_laws_variance(form: str, distance: float) -> None:
    """The test uses 400 independent estimates of 256 features for one planted pair.

    The mean's standard error is sqrt(variance / 400), five are allowed (6e-7). The variance of 400 nearly normal
    numbers has relative deviation sqrt(2 / 399) = 0.071; five of them are 0.36.
    """
    x = np.zeros((2, 6))
    x[1] = distance / np.sqrt(6)
    kernel = np.exp(-(distance**2) / 2)
    estimates = []
    for seed in range(400):
        z = RandomFourier(256, gamma=1.0, form=form, seed=9000 + seed).fit(x).transform(x)  # type: ignore[arg-type]
        estimates.append(z[0] @ z[1])
    variance = float(theory.fourier_variance(kernel, 256, form))  # type: ignore[arg-type]
    assert abs(np.mean(estimates) - kernel) < 5 * np.sqrt(variance / 400) + 1e-12
    assert np.var(estimates) == pytest.approx(variance, rel=0.36)


def test_itq_never_raises_its_loss_and_its_rotation_is_orthogonal() -> None:
    """Both steps of each round lower ‖B − V R‖², and R Rᵀ is 1."""
    family = ITQ(12, seed=35).fit(vectors(7, 2000))
    assert (np.diff(family.losses_) <= 1e-12).all()
    assert family.losses_[-1] < family.losses_[0]
    assert np.allclose(np.eye(12), family.rotation_ @ family.rotation_.T, atol=1e-12)


def test_itq_asks_for_enough_directions() -> None:
    """The dimension, the rank and the number of vectors limit the number of bits."""
    X = vectors(8, 100)
    with pytest.raises(errors.ParameterError, match="1 to the dimension 16"):
        ITQ(17).fit(X)
    flat = X @ np.diag([1.0] * 5 + [0.0] * 11)
    with pytest.raises(errors.InputError, match="span 5 dimensions"):
        ITQ(8).fit(flat)
    with pytest.raises(errors.InputError, match="more than bits=16"):
        ITQ(16).fit(X[:10])


@pytest.mark.parametrize("gamma", ["3", b"3", True, "", float("nan"), 0])
def test_gamma_is_a_number(gamma: object) -> None:
    """Texts and booleans are not numbers, even if they can be converted."""
    with pytest.raises(errors.ParameterError, match="gamma="):
        KernelLSH(bits=16, gamma=gamma).fit(np.eye(4))  # type: ignore[arg-type]  # Bad on purpose.
