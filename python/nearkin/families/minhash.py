"""MinHash signatures of texts, features, hashes and sparse rows, in parallel without the GIL.

    P[value i of A = value i of B] = J(A, B) = |A ∩ B| / |A ∪ B|

so the share of equal values is an unbiased estimate of the Jaccard similarity of the sets of features. Schemes:

| scheme | value i | cost |
|---|---|---|
| `one` | smallest hash in bin i of k; an empty bin copies the first full one in its own order | |A| + k |
| `fast` | the same by up to three successive hashes; `classic` for bins that are still empty | 3 |A| + k |
| `classic` | smallest value of function i of k | |A| k |
| `weighted` | as `fast`, of Σ w elements for features with weights w, whole numbers of a unit | 3 Σ w + k |

For `weighted`, J is Σ min(a, b) / Σ max(a, b) with the weights a and b of a feature in both texts. The unit is 1 for
counts, 1/2 for `log` and `idf`, and 1/1024 for `textrank` and given weights.

The variance of the share is J (1 − J) / k for `classic`, less for `fast` (0.56 of it for 128 values and 160 features),
and for `one` less for sets with about one feature per value, more for smaller sets (`nearkin.theory.minhash_variance`).
Signatures are `uint32` or `uint64`, `(n, num_perm)`. A set without features has the largest value everywhere and
similarity 0 to every set, including another empty one.

Cost: one pass over the text. Sources: Broder (SEQUENCES 1997); Li, Owen and Zhang (NIPS 2012); Shrivastava (ICML 2017);
Dahlgaard, Knudsen and Thorup (FOCS 2017). Kernel: `crates/nearkin-core/src/families/minhash/`. Laws are tested in
`tests/families/test_minhash.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from nearkin._core import signature_differences
from nearkin.errors import bad_parameter, mismatch, refuse_data
from nearkin.families.datasketch import feature_batches
from nearkin.recipe import Recipe, Scheme
from nearkin.text.batches import Texts, hash_batches
from nearkin.vectors.arrays import as_contiguous, csr_arrays, values_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

Signatures: TypeAlias = NDArray[np.uint32 | np.uint64]
"""`(n, num_perm)`, uint32 or uint64."""

DEFAULT = "char:4|binary|xxh3|minhash:128:fast"
"""The document recipe, of `signature`, `dedup` and stores; `dedup` takes as many values as the bands need."""


@overload
def signature(
    texts: Texts, recipe: Recipe | str | None = None, *, return_counts: Literal[False] = False
) -> Signatures: ...
@overload
def signature(
    texts: Texts, recipe: Recipe | str | None = None, *, return_counts: Literal[True]
) -> tuple[Signatures, NDArray[np.uint64]]: ...
def signature(
    texts: Texts, recipe: Recipe | str | None = None, *, return_counts: bool = False
) -> Signatures | tuple[Signatures, NDArray[np.uint64]]:
    """Return the MinHash signatures of texts.

    Parameters
    ----------
    texts : iterable of str or None, or an Arrow string array
        As in `nearkin.fingerprint`.
    recipe : Recipe, str or None
        A recipe with the family minhash, its text form or the name of a preset; None for
        `char:4|binary|xxh3|minhash:128:fast`.
    return_counts : bool, default False
        Also return the number of features of each text; 0 means that the text has no signature.

    Returns
    -------
    signatures : (n, num_perm) uint32 or uint64
        A text without features has the largest value everywhere.
    counts : (n,) uint64
        Number of features of each text, all occurrences. Only with `return_counts`.

    Raises
    ------
    TypeError
        A text that is not a string, or an Arrow array of another type.
    InputError
        A string with a lone surrogate.
    ParameterError
        A recipe for given features or of another family.

    Examples
    --------
    >>> import nearkin as nk
    >>> texts = ["one two three four five", "one two three four six", ""]
    >>> signatures = nk.signature(texts, "word:1|binary|xxh3|minhash:512")
    >>> signatures.shape, signatures.dtype
    ((3, 512), dtype('uint32'))
    >>> [round(float(similarity), 1) for similarity in nk.minhash_similarity(signatures[0], signatures)]
    [1.0, 0.7, 0.0]
    """
    recipe = Recipe.of(DEFAULT if recipe is None else recipe)
    check_minhash(recipe)
    values, counts = hash_batches(recipe.core.signatures, texts, value_type(recipe))
    signatures = values.reshape(-1, recipe.num_perm)
    return (signatures, counts) if return_counts else signatures


def check_minhash(recipe: Recipe) -> None:
    """Raise ParameterError for a recipe of another family."""
    if recipe.family != "minhash":
        raise bad_parameter("family", recipe.family, "minhash, as in " + DEFAULT)


def value_type(recipe: Recipe) -> type[np.uint32] | type[np.uint64]:
    """Return the type of a value."""
    return np.uint32 if recipe.value_bits == 32 else np.uint64


def as_signatures(values: npt.ArrayLike, name: str, num_perm: int | None = None) -> Signatures:
    """Return signatures as a C-contiguous array of rows; one signature is one row."""
    array = np.asarray(values_of(values, name))
    if array.dtype not in (np.uint32, np.uint64):
        raise bad_parameter(name, f"an array of {array.dtype}", "uint32 or uint64, as nearkin.signature gives")
    rows = array.reshape(1, -1) if array.ndim == 1 else array
    if rows.ndim != 2 or rows.shape[1] < 1 or (num_perm is not None and rows.shape[1] != num_perm):
        columns = "num_perm" if num_perm is None else num_perm
        raise bad_parameter(name, f"an array of shape {array.shape}", f"shape (n, {columns}) or ({columns},)")
    return as_contiguous(rows)


def minhash_similarity(a: npt.ArrayLike, b: npt.ArrayLike) -> float | NDArray[np.float64]:
    """Return the share of equal values of signatures, which estimates the Jaccard similarity of their sets.

    Parameters
    ----------
    a, b : (num_perm,) or (n, num_perm) uint32 or uint64
        Signatures of one recipe. One signature is compared with every signature of the other argument.

    Returns
    -------
    float, or (n,) float64
        0 to 1; a float if both are one signature. 0 for a set without features.

    Raises
    ------
    MismatchError
        Signatures of different width or type, or counts that differ if neither is one.

    Examples
    --------
    >>> import numpy as np
    >>> import nearkin as nk
    >>> nk.minhash_similarity(np.array([1, 2, 3, 4], np.uint32), np.array([1, 2, 3, 9], np.uint32))
    0.75
    """
    left, right = as_signatures(a, "a"), as_signatures(b, "b")
    if left.dtype != right.dtype:
        raise mismatch("type of values", left.dtype, right.dtype)
    if left.shape[1] != right.shape[1]:
        raise mismatch("values of a signature", left.shape[1], right.shape[1])
    shares = 1 - signature_differences(left.reshape(-1), right.reshape(-1), left.shape[1]) / left.shape[1]
    single = np.ndim(a) == 1 and np.ndim(b) == 1
    return float(shares[0]) if single else shares


class MinHash:
    """MinHash of features, 64-bit hashes, or sparse rows.

    Parameters
    ----------
    num_perm : int, default 128
        Values of a signature, 1 to 512.
    scheme : {"fast", "one", "classic", "weighted"}, default "fast"
        Up to three permutations, one permutation with optimal densification, or `num_perm` functions. `fast` has the
        smallest error; the default of a recipe is `one`. "weighted" is `fast` for features with weights: equal values
        estimate Σ min(a, b) / Σ max(a, b).
    value_bits : {32, 64}, default 32
        Bits of a value.
    hash : str, default "xxh3"
        Hash of a feature, as in a recipe.
    seed : int, default 0
        Seed of the hash, 0 to 2^64 - 1. Inputs that are hashes or columns are mixed with it.

    Notes
    -----
    P[value i of A = value i of B] is the Jaccard similarity J of the sets. The share of equal values has the variance J
    (1 - J) / num_perm for `classic`; for the others see `nearkin.theory.minhash_variance`. Each value of `classic` is
    the smallest of (a x + b) mod 2^64 with odd a, where x is the mixed hash of a feature. This is a bijection of x, so
    for random x every feature of a set is equally likely to be the smallest.

    References
    ----------
    A. Broder (1997), On the resemblance and containment of documents, SEQUENCES.
    A. Shrivastava (2017), Optimal densification for fast and accurate minwise hashing, ICML.
    S. Dahlgaard, M. Knudsen, M. Thorup (2017), Fast similarity sketching, FOCS.

    Examples
    --------
    >>> import nearkin as nk
    >>> minhash = nk.MinHash(num_perm=64)
    >>> a, b = minhash.signature([["red", "wine"], ["wine", "red", "red"]])
    >>> nk.minhash_similarity(a, b)
    1.0
    >>> both = minhash.merge(minhash.signature([["red"]]), minhash.signature([["wine"]]))
    >>> nk.minhash_similarity(both, a).tolist()
    [1.0]
    """

    def __init__(
        self,
        num_perm: int = 128,
        *,
        scheme: Scheme = "fast",
        value_bits: Literal[32, 64] = 32,
        hash: str = "xxh3",
        seed: int = 0,
    ) -> None:
        refuse_data(
            "num_perm", num_perm, "1 to 512; nearkin.signature hashes texts, MinHash().signature lists of features"
        )
        self.recipe = Recipe(f"given|{hash}:{seed}|minhash:{num_perm}").with_(scheme=scheme, value_bits=value_bits)
        self._key = np.uint64(_seed_key(self.recipe.seed))

    def __repr__(self) -> str:
        names = ("num_perm", "scheme", "value_bits", "hash", "seed")
        return f"MinHash({', '.join(f'{name}={getattr(self.recipe, name)!r}' for name in names)})"

    def _rows(self, flat: Signatures) -> Signatures:
        return flat.reshape(-1, self.recipe.num_perm)

    def signature(self, documents: Iterable[Iterable[str | bytes] | Mapping[str, object]]) -> Signatures:
        """Return the signatures of documents given as features.

        Parameters
        ----------
        documents : iterable of iterables of str or bytes
            Features; repetitions, order and the values of a dict are ignored. With the scheme "weighted" these values
            are weights, and a feature of a list has the weight 1 for each repetition.

        Returns
        -------
        (n, num_perm) uint32 or uint64

        Raises
        ------
        ParameterError
            A text instead of its features; weights that are negative, not finite, or all 0 in a document.

        Examples
        --------
        >>> import nearkin as nk
        >>> minhash = nk.MinHash(num_perm=512, scheme="weighted")
        >>> a, b = minhash.signature([{"red": 3.0, "wine": 1.0}, {"red": 2.0, "wine": 1.0, "bar": 1.0}])
        >>> round(nk.minhash_similarity(a, b), 1)  # 3 / 5
        0.6
        """
        weights: list[Any] = []
        if self.recipe.is_weighted:
            read = [each if isinstance(each, (str, bytes, Mapping)) else list(each) for each in documents]
            for document in read:
                weights += document.values() if isinstance(document, Mapping) else [1] * len(document)
            documents = read
        batch = next(feature_batches(documents, "lists of features; nearkin.signature reads texts"))
        return self._rows(self.recipe.core.signatures_given(*batch, self._check_weights(weights)))

    def _check_weights(self, weights: npt.ArrayLike | None) -> NDArray[np.float64] | None:
        """Return weights for the core, which checks their number and range; None for sets."""
        if not self.recipe.is_weighted:
            return None
        try:
            return None if weights is None else as_contiguous(np.asarray(weights, np.float64).reshape(-1))
        except (TypeError, ValueError) as error:
            raise bad_parameter("weights", error, "finite numbers of at least 0") from error

    def signature_hashes(
        self,
        hashes: NDArray[np.uint64] | Sequence[NDArray[np.uint64]],
        offsets: npt.ArrayLike | None = None,
        *,
        weights: npt.ArrayLike | None = None,
    ) -> Signatures:
        """Return the signatures of sets of 64-bit hashes.

        Parameters
        ----------
        hashes : (m,) uint64, or a list of such arrays
            Any numbers that identify features. They are mixed with the seed, so small integers are fine. Repetitions
            are ignored.
        offsets : (n + 1,) integers, optional
            Set i is `hashes[offsets[i]:offsets[i + 1]]`. Omit it with a list.
        weights : (m,) floats
            Weights of the hashes, with the scheme "weighted" alone, which requires them; those of a repeated hash are
            added. They are rounded to 1/1024, and a document takes time in proportion to their sum: at most 131,072.

        Returns
        -------
        (n, num_perm) uint32 or uint64

        Raises
        ------
        ParameterError
            Hashes that are not one-dimensional uint64, or an array without offsets; weights that are missing, negative,
            not finite, or all 0 in a set.
        """
        if offsets is None:
            if isinstance(hashes, np.ndarray):
                raise bad_parameter("offsets", None, "where each set begins and the end, or a list of arrays")
            offsets = np.concatenate([[0], np.cumsum([len(part) for part in hashes])])
            hashes = np.concatenate([np.zeros(0, np.uint64), *hashes])
        array = np.asarray(values_of(hashes, "hashes"))
        if array.dtype != np.uint64 or array.ndim != 1:
            raise bad_parameter("hashes", f"{array.ndim}-dimensional {array.dtype}", "one-dimensional uint64")
        bounds = as_contiguous(np.asarray(values_of(offsets, "offsets")), np.int64)
        seeded = array ^ self._key if self._key else as_contiguous(array, np.uint64)
        if weights is not None and not self.recipe.is_weighted:
            raise bad_parameter("weights", "an array", 'None, or MinHash(scheme="weighted")')
        return self._rows(self.recipe.core.signatures_hashed(bounds, seeded, self._check_weights(weights)))

    def signature_csr(self, rows: csr_array | csr_matrix) -> Signatures:
        """Return the signatures of the rows of a SciPy CSR matrix: the sets of columns with non-zero values.

        With the scheme "weighted" the values are the weights.

        Parameters
        ----------
        rows : csr_array or csr_matrix of shape (n, columns)
            A column with a value other than 0 is in the set of its row.

        Returns
        -------
        (n, num_perm) uint32 or uint64

        Raises
        ------
        ParameterError
            A format other than CSR, or inconsistent index arrays.
        """
        ends, columns, values = csr_arrays(rows, "rows")
        nonzero = values != 0
        if not nonzero.all():
            ends = np.concatenate([[0], np.cumsum(nonzero)])[ends]
            columns, values = columns[nonzero], values[nonzero]
        weights = values if self.recipe.is_weighted else None
        return self.signature_hashes(columns.view(np.uint64), ends, weights=weights)

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Signatures:
        """Return the signatures of unions: row i is the signature of the union of sets i of `a` and `b`.

        Of the two weights of a feature, a union has the larger one.

        Parameters
        ----------
        a, b : (n, num_perm) uint32 or uint64
            Signatures of this recipe.

        Returns
        -------
        (n, num_perm) uint32 or uint64

        Raises
        ------
        MismatchError
            Different numbers of signatures, or values of a width other than the recipe's.
        """
        left, right = (as_signatures(side, name, self.recipe.num_perm) for side, name in ((a, "a"), (b, "b")))
        if left.shape != right.shape:
            raise mismatch("number of signatures", len(left), len(right))
        if left.dtype != value_type(self.recipe) or right.dtype != left.dtype:
            raise mismatch("type of values", f"{left.dtype} and {right.dtype}", np.dtype(value_type(self.recipe)))
        return self._rows(self.recipe.core.merge(left.reshape(-1), right.reshape(-1)))


def _seed_key(seed: int) -> int:
    """Return the number that hashes are combined with before mixing: 0 for seed 0, otherwise from SplitMix64."""
    if seed == 0:
        return 0
    mask = (1 << 64) - 1
    z = (seed + 1) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return z ^ z >> 31
