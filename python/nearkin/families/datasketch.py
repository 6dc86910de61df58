"""Signatures with the values of the PyPI package datasketch, for comparison with stored ones.

A feature's hash h is the first 4 bytes (8 for `affine64`) of the SHA-1 of its bytes, little-endian. Value i of a set is
the smallest of its features' values:

| scheme | in datasketch | value i of h | type |
|---|---|---|---|
| `affine32` | 2.x, the default there | aᵢ fmix32(h) + bᵢ mod 2^32, aᵢ odd | uint32 |
| `affine64` | 2.x | aᵢ fmix64(h) + bᵢ mod 2^64, aᵢ odd | uint64 |
| `legacy` | 1.x, its only one | ((aᵢ h + bᵢ mod 2^64) mod (2^61 − 1)) mod 2^32 | uint64 |

where fmix is the finaliser of MurmurHash3 and aᵢ, bᵢ come from NumPy's `RandomState(seed)`, whose streams are frozen:
for the affine schemes num_perm numbers below 2^(w − 1), doubled and made odd, and then num_perm numbers below 2^w; for
`legacy` by turns one from 1 and one from 0 to 2^61 − 2. A set without features has the largest value everywhere,
2^32 − 1 for `legacy`.

`legacy` is not a bijection: the fold from 61 to 32 bits lets different features have one value, so that it
overestimates the similarity of large sets. Signatures of one scheme, seed and `num_perm` compare with
`nearkin.minhash_similarity` and go into a `BandIndex`; for new data take nearkin's own schemes.

Source: the documentation of datasketch 2.0 (Zhu), which names schemes and hash. Tests: bit for bit against the
package, and golden values of it (`tests/families/test_datasketch.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Generic, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import bad_parameter

DatasketchScheme = Literal["affine32", "affine64", "legacy"]

_Numbers: TypeAlias = NDArray[np.uint32 | np.uint64]
_Width = TypeVar("_Width", np.uint32, np.uint64)

_MOST = 1 << 16
"""Largest number of values."""
_PART = 1 << 20
"""Products that are held at once."""


def datasketch_signature(
    documents: Iterable[Iterable[str | bytes]],
    num_perm: int = 128,
    *,
    seed: int = 1,
    scheme: DatasketchScheme = "affine32",
) -> _Numbers:
    """Signatures equal to those of `datasketch.MinHash` after an update with each feature.

    Parameters
    ----------
    documents : iterable of iterables of str or bytes
        Features of each document; str stands for its UTF-8. Repetitions and order do not count.
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
        For a number or scheme out of range, or a text in place of its features.

    Examples
    --------
    >>> from nearkin.families import datasketch_signature
    >>> datasketch_signature([["red", "wine"]], 4).tolist()
    [[369563923, 1281264749, 461210151, 957686273]]
    """
    if scheme not in get_args(DatasketchScheme):
        raise bad_parameter("scheme", repr(scheme), "affine32, affine64 or legacy")
    for name, value, least, most in (("num_perm", num_perm, 1, _MOST), ("seed", seed, 0, (1 << 32) - 1)):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise bad_parameter(name, repr(value), f"{least} to {most}")
    function: _Legacy | _Affine[np.uint32] | _Affine[np.uint64]
    if scheme == "legacy":
        function = _Legacy(num_perm, seed)
    elif scheme == "affine32":
        function = _Affine(num_perm, seed, np.uint32)
    else:
        function = _Affine(num_perm, seed, np.uint64)
    rows = [function.signature(_hashes(document, function.size)) for document in documents]
    return np.array(rows, function.type).reshape(-1, num_perm)


def _hashes(document: Iterable[str | bytes], size: int) -> NDArray[np.uint64]:
    """The first `size` bytes of each feature's SHA-1."""
    if isinstance(document, (str, bytes)):
        raise bad_parameter("documents", repr(document), "lists of features")
    encoded = (feature if isinstance(feature, bytes) else feature.encode() for feature in document)
    digests = b"".join(hashlib.sha1(feature, usedforsecurity=False).digest()[:size] for feature in encoded)
    return np.unique(np.frombuffer(digests, f"<u{size}").astype(np.uint64))


class _Affine(Generic[_Width]):
    """a fmix(h) + b, modulo two to the width."""

    def __init__(self, num_perm: int, seed: int, kind: type[_Width]) -> None:
        self.type: type[_Width] = kind
        self.size = np.dtype(kind).itemsize
        width = 8 * self.size
        random = np.random.RandomState(seed)
        halves = random.randint(0, 1 << (width - 1), num_perm, dtype=self.type)
        self.a = halves * self.type(2) + self.type(1)
        self.b: NDArray[_Width] = random.randint(0, 1 << width, num_perm, dtype=self.type)
        # Shifts and factors of MurmurHash3's finalisers.
        shifts, factors = (
            ((16, 13, 16), (0x85EBCA6B, 0xC2B2AE35))
            if width == 32
            else ((33, 33, 33), (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53))
        )
        self.shifts = [self.type(shift) for shift in shifts]
        self.factors = [self.type(factor) for factor in factors]

    def signature(self, hashes: NDArray[np.uint64]) -> NDArray[_Width]:
        least = np.full(len(self.a), np.iinfo(self.type).max, self.type)
        mixed = hashes.astype(self.type)
        for shift, factor in zip(self.shifts, self.factors, strict=False):
            mixed = (mixed ^ (mixed >> shift)) * factor
        mixed ^= mixed >> self.shifts[2]
        for part in _parts(mixed, len(self.a)):
            np.minimum(least, (self.a * part[:, None] + self.b).min(axis=0), out=least)
        return least


class _Legacy:
    """(a h + b) folded to 61 and then to 32 bits."""

    size = 4
    type = np.uint64

    def __init__(self, num_perm: int, seed: int) -> None:
        self.prime = np.uint64((1 << 61) - 1)
        random = np.random.RandomState(seed)
        drawn = [random.randint(1 - i % 2, self.prime, dtype=np.uint64) for i in range(2 * num_perm)]
        self.a, self.b = np.array(drawn[0::2], np.uint64), np.array(drawn[1::2], np.uint64)

    def signature(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        most = np.uint64((1 << 32) - 1)
        least = np.full(len(self.a), most, np.uint64)
        for part in _parts(hashes, len(self.a)):
            np.minimum(least, ((self.a * part[:, None] + self.b) % self.prime & most).min(axis=0), out=least)
        return least


def _parts(hashes: NDArray[_Width], num_perm: int) -> Iterable[NDArray[_Width]]:
    step = max(1, _PART // num_perm)
    return (hashes[start : start + step] for start in range(0, len(hashes), step))
