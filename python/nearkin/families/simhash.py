"""SimHash fingerprints of texts, features and sparse rows, in parallel batches without the GIL.

With the weight w_f of feature f and its hash bits b_i(f) in {0, 1}:

    V_i = Σ_f w_f (2 b_i(f) − 1)        bit i = 1 if V_i > 0, otherwise 0 (ties are 0)
    P[bit i of x = bit i of y] = 1 − θ/π        θ the angle of the weight vectors; no feature dominant

Fingerprints are `uint64`, `(n,)` up to 64 bits and `(n, words)` above, words = ceil(bits / 64); bit i is bit i % 64 of
word i // 64. A text without features has no fingerprint: its row is 0 and its count is 0.

Cost: O(text length · words). Sources: Charikar (STOC 2002), section 3; Manku, Jain and Das Sarma (WWW 2007), section 2.
Kernel: `crates/nearkin-core/src/families/simhash.rs`. The law is tested in `tests/families/test_simhash.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import bad_parameter, refuse_data
from nearkin.recipe import Recipe
from nearkin.text.batches import Texts, hash_batches
from nearkin.vectors.arrays import csr_arrays

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix


Fingerprints = NDArray[np.uint64]


@overload
def fingerprint(
    texts: Texts, recipe: Recipe | str | None = None, *, return_counts: Literal[False] = False
) -> Fingerprints: ...
@overload
def fingerprint(
    texts: Texts, recipe: Recipe | str | None = None, *, return_counts: Literal[True]
) -> tuple[Fingerprints, NDArray[np.uint64]]: ...
def fingerprint(
    texts: Texts, recipe: Recipe | str | None = None, *, return_counts: bool = False
) -> Fingerprints | tuple[Fingerprints, NDArray[np.uint64]]:
    """Return the fingerprints of texts.

    Parameters
    ----------
    texts : iterable of str or None, or an Arrow string array
        Lists, generators, NumPy arrays, and anything with the Arrow PyCapsule interface (pyarrow, pandas 3, polars),
        which is read in place.
    recipe : Recipe, str or None
        Recipe, its text form, or the name of a preset; None for the fingerprint recipe.
    return_counts : bool, default False
        Also return the number of features of each text; 0 means that the text has no fingerprint.

    Returns
    -------
    fingerprints : (n,) or (n, words) uint64
        `(n,)` up to 64 bits. A text without features has 0.
    counts : (n,) uint64
        Number of features of each text: all occurrences with weight `count`, distinct ones with `binary`. Only with
        `return_counts`.

    Raises
    ------
    TypeError
        A text that is not a string, or an Arrow array of another type.
    InputError
        A string with a lone surrogate.
    ParameterError
        A recipe for given features.

    Examples
    --------
    >>> import nearkin as nk
    >>> texts = ["the cat sat", "The cat sat.", ""]
    >>> fps, counts = nk.fingerprint(texts, "char:4|count|xxh3|simhash:64", return_counts=True)
    >>> int(nk.hamming(fps[0], fps[1])), counts.tolist()
    (0, [6, 6, 0])
    """
    recipe = Recipe.of(recipe)
    values, counts = hash_batches(recipe.core.fingerprints, texts, np.uint64)
    fingerprints = as_fingerprints(values, recipe)
    return (fingerprints, counts) if return_counts else fingerprints


def as_fingerprints(values: NDArray[np.uint64], recipe: Recipe) -> Fingerprints:
    """Return flat words as fingerprints: `(n,)` up to 64 bits, `(n, words)` above."""
    return values if recipe.words == 1 else values.reshape(-1, recipe.words)


class SimHash:
    """SimHash of weighted features or sparse rows.

    Parameters
    ----------
    bits : int, default 64
        Width of a fingerprint, 1 to 1024.
    hash : str, default "xxh3"
        Feature hash: xxh3, md5, sha1, sha224, sha256, sha384, sha512, fnv1a, murmur3, lookup3, jenkins64 or
        one_at_a_time (up to 32 bits).
    seed : int, default 0
        Seed of xxh3, lookup3 (64 bits) or murmur3 (32 bits).

    Notes
    -----
    V_i = sum of w_f (2 b_i(f) - 1) over features f with weight w_f and hash bits b_i(f); bit i is 1 if V_i > 0, so ties
    are 0. P[bit of x = bit of y] = 1 - angle(x, y) / pi, for weights without a dominant feature.

    References
    ----------
    M. Charikar (2002), Similarity estimation techniques from rounding algorithms, STOC, section 3.

    Examples
    --------
    >>> import nearkin as nk
    >>> simhash = nk.SimHash(bits=64)
    >>> a, b = simhash.fingerprint([{"red": 3, "wine": 1}, [("wine", 1), ("red", 3)]])
    >>> bool(a == b)
    True
    """

    def __init__(self, bits: int = 64, *, hash: str = "xxh3", seed: int = 0) -> None:
        refuse_data(
            "bits", bits, "1 to 1024; nearkin.fingerprint hashes texts, SimHash().fingerprint lists of features"
        )
        self.recipe = Recipe(f"given|{hash}:{seed}|simhash:{bits}")

    def __repr__(self) -> str:
        return f"SimHash(bits={self.recipe.bits}, hash={self.recipe.hash!r}, seed={self.recipe.seed})"

    def fingerprint(self, documents: Iterable[Mapping[str, float] | Iterable[tuple[str, float] | str]]) -> Fingerprints:
        """Return the fingerprints of documents given as features.

        Parameters
        ----------
        documents : iterable of dict, of lists of (feature, weight), or of lists of features
            Features are str or bytes. Weights are finite numbers of either sign; the default weight is 1. A feature
            that occurs twice has the sum of its weights.

        Returns
        -------
        (n,) or (n, words) uint64

        Raises
        ------
        ParameterError
            A weight that is not a finite number or does not fit 64 bits.
        """
        offsets = [0]
        features: list[bytes] = []
        weights: list[float] = []
        for document in documents:
            pairs = document.items() if isinstance(document, Mapping) else document
            for pair in pairs:
                feature, weight = (pair, 1) if isinstance(pair, (str, bytes)) else pair
                features.append(feature if isinstance(feature, bytes) else feature.encode())
                weights.append(weight)
            offsets.append(len(features))
        flat = self.recipe.core.fingerprints_given(np.array(offsets, np.int64), features, _weight_array(weights))
        return as_fingerprints(flat, self.recipe)

    def fingerprint_csr(self, rows: csr_array | csr_matrix) -> Fingerprints:
        """Return the fingerprints of the rows of a SciPy CSR matrix: columns are the features, values the weights.

        No random vectors are stored, so the number of columns is unbounded; the cost of a row is its number of
        non-zeros. Column c is hashed as its eight little-endian bytes.

        Parameters
        ----------
        rows : csr_array or csr_matrix of shape (n, columns)
            Finite weights.

        Returns
        -------
        (n,) or (n, words) uint64

        Raises
        ------
        ParameterError
            A format other than CSR, inconsistent index arrays, or weights that are not finite.
        """
        ends, columns, weights = csr_arrays(rows, "rows")
        return as_fingerprints(self.recipe.core.fingerprints_csr(ends, columns, _check_finite(weights)), self.recipe)


def _weight_array(weights: list[float]) -> NDArray[np.int64] | NDArray[np.float64]:
    """Return integers as int64, other numbers as float64."""
    for weight in weights:
        if isinstance(weight, int) and not -(2**63) <= weight < 2**63:
            raise bad_parameter("weights", weight, "whole numbers that fit 64 bits, or finite floats")
    try:
        values = np.array(weights if weights else [0])[: len(weights)]
    except (ValueError, OverflowError) as error:
        raise bad_parameter("weights", error, "finite numbers") from error
    if values.dtype.kind in "bi" or (values.dtype.kind == "u" and (values <= np.iinfo(np.int64).max).all()):
        return values.astype(np.int64)
    if values.dtype.kind != "f":
        raise bad_parameter("weights", f"values of type {values.dtype}", "finite numbers that fit 64 bits")
    return _check_finite(values.astype(np.float64))


def _check_finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise bad_parameter("weights", values[~np.isfinite(values)][0], "finite numbers")
    return values
