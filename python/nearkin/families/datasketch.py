"""Signatures equal to those of the PyPI package datasketch, for comparison with stored ones.

The hash h of a feature is the first 4 bytes (8 for `affine64`) of the SHA-1 of its bytes, little-endian. Value i of a
set is the smallest of the values of its features:

| scheme | in datasketch | value i of h | type |
|---|---|---|---|
| `affine32` | 2.x, the default there | aᵢ fmix32(h) + bᵢ mod 2^32, aᵢ odd | uint32 |
| `affine64` | 2.x | aᵢ fmix64(h) + bᵢ mod 2^64, aᵢ odd | uint64 |
| `legacy` | 1.x, its only one | ((aᵢ h + bᵢ mod 2^64) mod (2^61 − 1)) mod 2^32 | uint64 |

where fmix is the finaliser of MurmurHash3 and aᵢ, bᵢ come from NumPy's `RandomState(seed)`, whose streams are frozen:
for the affine schemes num_perm numbers x below 2^(w − 1), of which 2 x + 1 is used, and then num_perm numbers below
2^w; for `legacy` alternately one from 1 and one from 0 to 2^61 − 2. A set without features has the largest value
everywhere, 2^32 − 1 for `legacy`.

`legacy` is not a bijection: reducing 61 to 32 bits maps different features to one value, so it overestimates the
similarity of large sets. Signatures of one scheme, seed and `num_perm` can be compared with
`nearkin.minhash_similarity` and added to a `BandIndex`. For new data use nearkin's own schemes.

Kernel: `crates/nearkin-core/src/families/datasketch.rs`. `nearkin.compat.datasketch` has the package's own interface.

Source: the documentation of datasketch 2.0 (Zhu), which names schemes and hash. Tests: bit-for-bit comparison with
the package, and golden values (`tests/families/test_datasketch.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin._core import DatasketchCore
from nearkin.errors import bad_parameter, check_count

DatasketchScheme = Literal["affine32", "affine64", "legacy"]

Numbers: TypeAlias = NDArray[np.uint32 | np.uint64]
"""Values of a signature, or coefficients of its functions."""

_MAX_PERM = 1 << 16
_BATCH = 1 << 16
"""Features in memory at once."""


def datasketch_signature(
    documents: Iterable[Iterable[str | bytes]],
    num_perm: int = 128,
    *,
    seed: int = 1,
    scheme: DatasketchScheme = "affine32",
) -> Numbers:
    """Return signatures equal to those of `datasketch.MinHash` after an update with each feature.

    Parameters
    ----------
    documents : iterable of iterables of str or bytes
        Features of each document; str is encoded as UTF-8. Repetitions and order are ignored.
    num_perm : int, default 128
        Values of a signature, 1 to 65,536.
    seed : int, default 1
        0 to 2^32 - 1; 1 is datasketch's default.
    scheme : {"affine32", "affine64", "legacy"}, default "affine32"
        Version 2's default, its scheme for very large sets, or that of versions 1.1.3 to 1.6.

    Returns
    -------
    (n, num_perm) uint32 for "affine32", uint64 otherwise

    Raises
    ------
    ParameterError
        A number or scheme out of range, or a text instead of its features.

    Examples
    --------
    >>> from nearkin.families import datasketch_signature
    >>> datasketch_signature([["red", "wine"]], 4).tolist()
    [[369563923, 1281264749, 461210151, 957686273]]
    """
    num_perm = check_count("num_perm", num_perm, 1, _MAX_PERM, f"1 to {_MAX_PERM}")
    functions = kernel(check_scheme(scheme), num_perm, seed)
    parts = [functions.signatures_given(*batch) for batch in feature_batches(documents, "lists of features", _BATCH)]
    return np.concatenate(parts).reshape(-1, num_perm)


def feature_batches(
    documents: Iterable[Iterable[str | bytes]], allowed: str, size: float = math.inf
) -> Iterator[tuple[NDArray[np.int64], list[bytes]]]:
    """Yield the ends of documents and their features as bytes, in batches of at least this many features."""
    ends, features = [0], list[bytes]()
    for document in documents:
        if isinstance(document, (str, bytes)):
            raise bad_parameter("documents", repr(document), allowed)
        features.extend(feature if isinstance(feature, bytes) else feature.encode() for feature in document)
        ends.append(len(features))
        if len(features) >= size:
            yield np.array(ends, np.int64), features
            ends, features = [0], []
    yield np.array(ends, np.int64), features


def check_scheme(scheme: object) -> DatasketchScheme:
    """Return the scheme with this name.

    Parameters
    ----------
    scheme : str

    Raises
    ------
    ParameterError
        An unknown scheme.
    """
    for name in get_args(DatasketchScheme):
        if scheme == name:
            return name  # type: ignore[no-any-return]
    raise bad_parameter("scheme", repr(scheme), "affine32, affine64 or legacy")


def value_type(scheme: DatasketchScheme) -> type[np.uint32] | type[np.uint64]:
    """Return the type of a value.

    Parameters
    ----------
    scheme : {"affine32", "affine64", "legacy"}
    """
    return np.uint32 if scheme == "affine32" else np.uint64


def largest(scheme: DatasketchScheme) -> int:
    """Return the largest value, which represents a set without features.

    Parameters
    ----------
    scheme : {"affine32", "affine64", "legacy"}
    """
    return (1 << 64) - 1 if scheme == "affine64" else (1 << 32) - 1


@lru_cache(maxsize=64)
def permutations(scheme: DatasketchScheme, num_perm: int, seed: int) -> Numbers:
    """Return the coefficients of the functions that a seed draws.

    Parameters
    ----------
    scheme : {"affine32", "affine64", "legacy"}
    num_perm : int
    seed : int
        0 to 2^32 - 1.

    Returns
    -------
    (2, num_perm) of the scheme's type
        Factors and offsets; read-only.

    Raises
    ------
    ParameterError
        A seed out of range.
    """
    seed = check_count("seed", seed, 0, (1 << 32) - 1, f"0 to {(1 << 32) - 1}")
    random = np.random.RandomState(seed)
    numbers: Numbers
    if scheme == "legacy":
        prime = (1 << 61) - 1
        drawn = [random.randint(1 - i % 2, prime, dtype=np.uint64) for i in range(2 * num_perm)]
        numbers = np.ascontiguousarray(np.array(drawn, np.uint64).reshape(num_perm, 2).T)
    else:
        kind = value_type(scheme)
        width = 8 * np.dtype(kind).itemsize
        halves = random.randint(0, 1 << (width - 1), num_perm, dtype=kind)
        terms = random.randint(0, 1 << width, num_perm, dtype=kind)
        numbers = np.stack([halves * kind(2) + kind(1), terms])
    numbers.flags.writeable = False
    return numbers


@lru_cache(maxsize=64)
def kernel(scheme: DatasketchScheme, num_perm: int, seed: int) -> DatasketchCore:
    """Return the compiled functions that a seed draws.

    Parameters
    ----------
    scheme : {"affine32", "affine64", "legacy"}
    num_perm : int
    seed : int
        0 to 2^32 - 1.

    Raises
    ------
    ParameterError
        A seed out of range.
    """
    factors, terms = permutations(scheme, num_perm, seed).astype(np.uint64)
    return DatasketchCore(scheme, factors, terms)
