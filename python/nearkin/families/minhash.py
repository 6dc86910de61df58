"""MinHash: texts, given features, ready hashes and sparse rows → signatures, in parallel, with the GIL released.

    P[value i of A = value i of B] = J(A, B) = |A ∩ B| / |A ∪ B|

so that the share of equal values estimates the Jaccard similarity of the sets of features, without bias. Schemes:

| scheme | value i | cost |
|---|---|---|
| `one` | smallest hash in bin i of k; an empty bin takes that of the first full one in its own order | |A| + k |
| `fast` | the same by up to three hashes, one after the other; `classic` for bins still empty | 3 |A| + k |
| `classic` | smallest value of function i of k | |A| k |

The variance of the share is J (1 − J) / k for `classic`, less for `fast` (0.56 of it for 128 values and 160 features),
and for `one` less for sets of about as many features as values, more for smaller ones
(`nearkin.theory.minhash_variance`). A signature is `uint32` or `uint64`, `(n, num_perm)`; a set without features has
the largest value everywhere and is similar to nothing, not even to another one.

Cost: one pass over the text. Sources: Broder (SEQUENCES 1997); Li, Owen and Zhang (NIPS 2012); Shrivastava (ICML 2017);
Dahlgaard, Knudsen and Thorup (FOCS 2017). Kernel: `crates/nearkin-core/src/families/minhash/`. Laws are tested in
`tests/families/test_minhash.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from nearkin._core import signature_differences
from nearkin.errors import bad_parameter, mismatch
from nearkin.recipe import Recipe, Scheme
from nearkin.text.batches import Texts, hash_batches
from nearkin.vectors.arrays import csr_parts, in_order, unmasked

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

Signatures: TypeAlias = NDArray[np.uint32 | np.uint64]
"""`(n, num_perm)`, uint32 or uint64."""

DEFAULT = "char:4|binary|xxh3|minhash:128:fast"
"""The recipe of `signature` where it is not told another."""


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
    """MinHash signatures of texts.

    Parameters
    ----------
    texts : iterable of str or None, or an Arrow string array
        As in `nearkin.fingerprint`.
    recipe : Recipe, str or None
        A recipe with the family minhash, its text form or the name of a preset; None for
        `char:4|binary|xxh3|minhash:128:fast`.
    return_counts : bool, default False
        Also return how many features each text has; 0 means that the text has no signature.

    Returns
    -------
    signatures : (n, num_perm) uint32 or uint64
        A text without features has the largest value everywhere.
    counts : (n,) uint64
        Features of each text, all occurrences. Only with `return_counts`.

    Raises
    ------
    TypeError
        If a text is not a string, or an Arrow array holds no strings.
    InputError
        If a string holds a lone surrogate.
    ParameterError
        If the recipe is for given features or of another family.

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
    shaped = values.reshape(-1, recipe.num_perm)
    return (shaped, counts) if return_counts else shaped


def check_minhash(recipe: Recipe) -> None:
    """Raise ParameterError for a recipe of another family."""
    if recipe.family != "minhash":
        raise bad_parameter("family", recipe.family, "minhash, as in " + DEFAULT)


def value_type(recipe: Recipe) -> type[np.uint32] | type[np.uint64]:
    """The type of a value."""
    return np.uint32 if recipe.value_bits == 32 else np.uint64


def as_signatures(values: npt.ArrayLike, name: str, num_perm: int | None = None) -> Signatures:
    """Signatures as a C-contiguous array of rows; one signature is one row."""
    unmasked(values, name)
    array = np.asarray(values)
    if array.dtype not in (np.uint32, np.uint64):
        raise bad_parameter(name, f"an array of {array.dtype}", "uint32 or uint64, as nearkin.signature gives")
    rows = array.reshape(1, -1) if array.ndim == 1 else array
    if rows.ndim != 2 or rows.shape[1] < 1 or (num_perm is not None and rows.shape[1] != num_perm):
        wanted = "num_perm" if num_perm is None else num_perm
        raise bad_parameter(name, f"an array of shape {array.shape}", f"shape (n, {wanted}) or ({wanted},)")
    return in_order(rows)


def minhash_similarity(a: npt.ArrayLike, b: npt.ArrayLike) -> float | NDArray[np.float64]:
    """The share of equal values of signatures, which estimates the Jaccard similarity of their sets.

    Parameters
    ----------
    a, b : (num_perm,) or (n, num_perm) uint32 or uint64
        Signatures of one recipe. One signature is compared with every one of the other argument.

    Returns
    -------
    float, or (n,) float64
        0 to 1; a float if both are one signature. A set without features is similar to nothing: 0.

    Raises
    ------
    MismatchError
        For signatures of different width or type, or counts that differ and neither is one.

    Examples
    --------
    >>> import numpy as np
    >>> import nearkin as nk
    >>> nk.minhash_similarity(np.array([1, 2, 3, 4], np.uint32), np.array([1, 2, 3, 9], np.uint32))
    0.75
    """
    left, right = as_signatures(a, "a"), as_signatures(b, "b")
    for what, one, other in (
        ("type of values", left.dtype, right.dtype),
        ("values of a signature", left.shape[1], right.shape[1]),
    ):
        if one != other:
            raise mismatch(what, one, other)
    differing = signature_differences(left.reshape(-1), right.reshape(-1), left.shape[1])
    shares = 1 - differing / left.shape[1]
    single = np.ndim(a) == 1 and np.ndim(b) == 1
    return float(shares[0]) if single else shares


class MinHash:
    """MinHash of features that are given, of ready hashes, or of sparse rows.

    Parameters
    ----------
    num_perm : int, default 128
        Values of a signature, 1 to 512.
    scheme : {"fast", "one", "classic"}, default "fast"
        Up to three permutations, one permutation with optimal densification, or `num_perm` functions. `fast` has the
        smallest error; a recipe that names no scheme has `one`.
    value_bits : {32, 64}, default 32
        Bits of a value.
    hash : str, default "xxh3"
        Hash of a feature, as in a recipe.
    seed : int, default 0
        Its seed, 0 to 2^64 - 1. Ready hashes and columns, which it does not hash, are mixed with it.

    Notes
    -----
    P[value i of A = value i of B] is the Jaccard similarity J of the sets. The share of equal values has the variance
    J (1 - J) / num_perm for `classic`; for the others see `nearkin.theory.minhash_variance`. Each value of `classic` is
    the smallest of (a x + b) mod 2^64 with odd a, x the mixed hash of a feature: a bijection of x, so that for random
    x every feature of a set is equally likely to be the smallest one.

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
        self.recipe = Recipe(f"given|{hash}:{seed}|minhash:{num_perm}").with_(scheme=scheme, value_bits=value_bits)
        self._key = np.uint64(_key(self.recipe.seed))

    def _rows(self, flat: Signatures) -> Signatures:
        return flat.reshape(-1, self.recipe.num_perm)

    def signature(self, documents: Iterable[Iterable[str | bytes] | Mapping[str, object]]) -> Signatures:
        """Signatures of documents given as features.

        Parameters
        ----------
        documents : iterable of iterables of str or bytes
            Features; repetitions and order do not count, nor do the values of a dict.

        Returns
        -------
        (n, num_perm) uint32 or uint64

        Raises
        ------
        ParameterError
            A text in place of its features.
        """
        offsets = [0]
        features: list[bytes] = []
        for document in documents:
            if isinstance(document, (str, bytes)):
                raise bad_parameter("documents", repr(document), "lists of features; nearkin.signature reads texts")
            features.extend(feature if isinstance(feature, bytes) else feature.encode() for feature in document)
            offsets.append(len(features))
        return self._rows(self.recipe.core.signatures_given(np.array(offsets, np.int64), features))

    def signature_hashes(
        self, hashes: NDArray[np.uint64] | Sequence[NDArray[np.uint64]], offsets: npt.ArrayLike | None = None
    ) -> Signatures:
        """Signatures of sets of ready 64-bit hashes.

        Parameters
        ----------
        hashes : (m,) uint64, or a list of such arrays
            Any numbers that identify features: they are mixed with the seed, so small integers will do. Repetitions do
            not count.
        offsets : (n + 1,) integers, optional
            Set i has `hashes[offsets[i]:offsets[i + 1]]`. Left out with a list.

        Returns
        -------
        (n, num_perm) uint32 or uint64

        Raises
        ------
        ParameterError
            Hashes that are not one-dimensional uint64, or an array without offsets.
        """
        if offsets is None:
            if isinstance(hashes, np.ndarray):
                raise bad_parameter("offsets", None, "where each set begins and the end, or a list of arrays")
            lengths = [len(part) for part in hashes]
            offsets = np.concatenate([[0], np.cumsum(lengths)])
            hashes = np.concatenate([np.zeros(0, np.uint64), *hashes])
        unmasked(hashes, "hashes")
        array = np.asarray(hashes)
        if array.dtype != np.uint64 or array.ndim != 1:
            raise bad_parameter("hashes", f"{array.ndim}-dimensional {array.dtype}", "one-dimensional uint64")
        bounds = in_order(np.asarray(offsets), np.int64)
        seeded = array ^ self._key if self._key else in_order(array, np.uint64)
        return self._rows(self.recipe.core.signatures_hashed(bounds, seeded))

    def signature_csr(self, rows: csr_array | csr_matrix) -> Signatures:
        """Signatures of the rows of a SciPy CSR matrix: the set of columns that are not zero.

        Parameters
        ----------
        rows : csr_array or csr_matrix of shape (n, columns)
            Values other than 0 say that a column is in the set of its row.

        Returns
        -------
        (n, num_perm) uint32 or uint64

        Raises
        ------
        ParameterError
            For a format other than CSR, or index arrays that do not fit each other.
        """
        ends, columns, values = csr_parts(rows, "rows")
        there = values != 0
        if not there.all():
            ends = np.concatenate([[0], np.cumsum(there)])[ends]
            columns = columns[there]
        return self.signature_hashes(columns.view(np.uint64), ends)

    def merge(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Signatures:
        """Signatures of unions: row i is that of the set of row i of `a` and that of row i of `b` together.

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
            Different numbers of signatures, or values of another width than the recipe's.
        """
        left, right = (as_signatures(side, name, self.recipe.num_perm) for side, name in ((a, "a"), (b, "b")))
        if left.shape != right.shape:
            raise mismatch("number of signatures", len(left), len(right))
        if left.dtype != value_type(self.recipe) or right.dtype != left.dtype:
            raise mismatch("type of values", f"{left.dtype} and {right.dtype}", np.dtype(value_type(self.recipe)))
        return self._rows(self.recipe.core.merge(left.reshape(-1), right.reshape(-1)))


def _key(seed: int) -> int:
    """What ready hashes are combined with before they are mixed: 0 for the seed 0, else a number of SplitMix64."""
    if seed == 0:
        return 0
    mask = (1 << 64) - 1
    z = (seed + 1) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return z ^ z >> 31
