"""`MinHashLSH` of datasketch: an in-memory index of MinHashes by bands, for hashable keys of any type.

A bucket is the bytes of a band's values with their byte order reversed, as in datasketch, so `get_counts`,
`hashtables` and `hashfunc` see the same bytes. Differences:

- Results are in the order of bands, then of insertion; datasketch returns the order of a set.
- Storage is in memory only: a `storage_config` of another type is an error. `nearkin.Store` is a collection on disk.
- The tables are dicts: `hashtables[i]` maps a bucket to its keys, and `keys` maps a key to its buckets.
- A key that `merge` adds a second time is removed from all of its buckets, not only from those of the first.
- MinHashes of another scheme are refused, because they would match nothing.

The numbers of bands b and of rows r minimise a weighted sum of two errors, for b r ≤ k:

    error(b, r) = w_p ∫ p(s) ds from 0 to t + w_n ∫ (1 − p(s)) ds from t to 1        p(s) = 1 − (1 − s^r)^b

datasketch integrates by QUADPACK, whose rounding depends on the machine and decides between pairs with equal errors.
Here the Gauss-Legendre rule with k/2 + 1 nodes is exact up to rounding, because the integrands are polynomials of
degree b r. Errors within 1e-12 of the smallest are a tie, and the tie goes to the pair with the fewest bands, then the
fewest rows: it makes the cheapest queries.

Cost: b look-ups per query; memory for a bucket of r values of 4 or 8 bytes, b of them per key. `nearkin.BandIndex`
takes arrays of signatures, verifies candidates in parallel and can be saved.

Source: Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", section 3.4. Tests:
`tests/compat/test_compat_datasketch.py`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from nearkin.compat.datasketch.minhash import MinHash, check_equal, check_hashfunc
from nearkin.compat.datasketch.safe_pickle import SafeUnpickler, safe_names
from nearkin.errors import InputError, ParameterError, bad_parameter, check_count, mismatch
from nearkin.families.datasketch import check_scheme

_MAX_NODES = 256
_TIE = 1e-12
"""Errors that differ by less are equal; the rounding of both integrals is about 1e-15."""


@lru_cache(maxsize=256)
def choose_bands(threshold: float, num_perm: int, weights: tuple[float, float]) -> tuple[int, int]:
    """Return the numbers of bands and rows with the smallest error; ties go to the fewest bands, then rows.

    Parameters
    ----------
    threshold : float
        0 to 1.
    num_perm : int
        k, 1 or more.
    weights : pair of float
        Of false positives and of false negatives.

    Returns
    -------
    b, r : int
    """
    nodes, node_weights = np.polynomial.legendre.leggauss(min(max(64, num_perm // 2 + 1), _MAX_NODES))
    rows = np.arange(1, num_perm + 1)[:, None]
    below = 1 - (threshold / 2 * (nodes + 1)) ** rows
    above = 1 - (threshold + (1 - threshold) / 2 * (nodes + 1)) ** rows
    miss_below, miss_above, errors = np.ones_like(below), np.ones_like(above), []
    for b in range(1, num_perm + 1):
        r = num_perm // b
        miss_below, miss_above = miss_below[:r] * below[:r], miss_above[:r] * above[:r]
        false_positive = threshold - miss_below @ node_weights * (threshold / 2)
        false_negative = miss_above @ node_weights * ((1 - threshold) / 2)
        errors.append(weights[0] * false_positive + weights[1] * false_negative)
    limit = min(row.min() for row in errors) + _TIE
    return next((b, int(np.argmax(row <= limit)) + 1) for b, row in enumerate(errors, 1) if row.min() <= limit)


class MinHashLSH:
    """An index of MinHashes by bands, with the calls of `datasketch.MinHashLSH`.

    Parameters
    ----------
    threshold : float, default 0.9
        Jaccard similarity for which b and r are chosen, 0 to 1.
    num_perm : int, default 128
        Number of values of a MinHash, 2 or more.
    weights : pair of float, default (0.5, 0.5)
        Weights of false positives and of false negatives in that choice; their sum is 1.
    params : pair of int, optional
        b and r, instead of a choice: b 2 or more, b r at most `num_perm`.
    storage_config : dict, optional
        `{"type": "dict"}`, the only type.
    prepickle : bool, optional
        Ignored: keys in memory need no pickling.
    hashfunc : callable, optional
        Maps the bytes of a bucket to shorter bytes.

    Attributes
    ----------
    b, r : int
        Number of bands, and of values per band.
    h : int
        `num_perm`.
    hashtables, hashranges : list
        For each band its dict of buckets and its range of values.
    keys : dict
        The buckets of each key.

    Raises
    ------
    ParameterError
        A value is out of its range, there are fewer than 2 bands, or the storage is not "dict".

    Examples
    --------
    >>> from nearkin.compat.datasketch import MinHash, MinHashLSH
    >>> a, b, c = MinHash.bulk([[b"red", b"white", b"wine"], [b"red", b"wine"], [b"bread"]])
    >>> lsh = MinHashLSH(threshold=0.5)
    >>> lsh.b, lsh.r
    (25, 5)
    >>> lsh.insert("a", a)
    >>> lsh.insert("c", c)
    >>> lsh.query(b)
    ['a']
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
        storage_config: Mapping[str, Any] | None = None,
        prepickle: bool | None = None,
        hashfunc: Callable[[bytes], bytes] | None = None,
    ) -> None:
        storage = "dict" if not storage_config else storage_config.get("type")
        if storage != "dict":
            allowed = '{"type": "dict"}, tables in memory; nearkin.Store keeps a collection on disk'
            raise bad_parameter("storage_config", f"type {storage!r}", allowed)
        if isinstance(threshold, bool) or not 0 <= threshold <= 1:
            raise bad_parameter("threshold", repr(threshold), "0 to 1")
        self.h = check_count("num_perm", num_perm, 2, 1 << 32, "2 or more")
        if len(weights) != 2 or not all(0 <= weight <= 1 for weight in weights) or sum(weights) != 1.0:
            raise bad_parameter("weights", repr(weights), "two numbers from 0 to 1 with the sum 1")
        if params is None:
            self.b, self.r = choose_bands(float(threshold), self.h, (float(weights[0]), float(weights[1])))
        else:
            self.b, self.r = (check_count("params", value, 1, 1 << 32, "pairs (b, r) of 1 or more") for value in params)
            if self.b * self.r > self.h:
                raise bad_parameter("params", f"{self.b} * {self.r}", f"a product of at most num_perm={self.h}")
        if self.b < 2:
            raise bad_parameter("b", self.b, "2 bands or more: another threshold, more values, or params")
        self._reset(hashfunc)

    def _reset(self, hashfunc: object) -> None:
        self.hashfunc: Callable[[bytes], bytes] | None = check_hashfunc(hashfunc)
        self.buffer_size = 50_000
        self.hashtables: list[dict[bytes, dict[Hashable, None]]] = [{} for _ in range(self.b)]
        self.hashranges = [(i * self.r, (i + 1) * self.r) for i in range(self.b)]
        self.keys: dict[Hashable, list[bytes]] = {}
        self._minhash_scheme: str | None = None

    def _buckets(self, minhash: MinHash) -> list[bytes]:
        """Return the bucket of each band."""
        if len(minhash) != self.h:
            raise bad_parameter("minhash", f"{len(minhash)} values", f"{self.h}, as the index has")
        if self._minhash_scheme not in (None, minhash.scheme):
            raise mismatch("scheme", f"an index of {self._minhash_scheme}", f"a MinHash of {minhash.scheme}")
        data = minhash.hashvalues[: self.b * self.r].byteswap().tobytes()
        size = len(data) // self.b
        buckets = [data[start : start + size] for start in range(0, len(data), size)]
        return buckets if self.hashfunc is None else [self.hashfunc(bucket) for bucket in buckets]

    def _add(self, key: Hashable, buckets: Iterable[bytes]) -> None:
        """Add a key to its buckets, band by band; a merged key has more buckets than there are bands."""
        for i, bucket in enumerate(buckets):
            self.keys.setdefault(key, []).append(bucket)
            self.hashtables[i % self.b].setdefault(bucket, {})[key] = None

    def insert(self, key: Hashable, minhash: MinHash, check_duplication: bool = True) -> None:
        """Add a key with its MinHash.

        Parameters
        ----------
        key : hashable
        minhash : MinHash or LeanMinHash
            With `num_perm` values, and the scheme of the others.
        check_duplication : bool, default True
            Refuse a key that exists. Otherwise it gets the buckets of both.

        Raises
        ------
        ParameterError
            The key exists, or the number of values is wrong.
        MismatchError
            The scheme differs.
        """
        buckets = self._buckets(minhash)
        if check_duplication and key in self.keys:
            raise bad_parameter("key", repr(key), "a key that does not exist yet")
        self._minhash_scheme = minhash.scheme
        self._add(key, buckets)

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Add all keys of another index.

        Parameters
        ----------
        other : MinHashLSH
            With the same `num_perm`, b and r.
        check_overlap : bool, default False
            Refuse an index that shares a key.

        Raises
        ------
        ParameterError
            `check_overlap` is set and a key is in both.
        MismatchError
            The type, `num_perm`, b, r or the scheme differ.
        """
        if type(other) is not type(self):
            raise mismatch("type of index", type(self).__name__, type(other).__name__)
        check_equal("num_perm", self.h, other.h)
        check_equal("b", self.b, other.b)
        check_equal("r", self.r, other.r)
        if None not in (schemes := {self._minhash_scheme, other._minhash_scheme}) and len(schemes) > 1:
            raise mismatch("scheme", self._minhash_scheme, other._minhash_scheme)
        if check_overlap and (shared := next((key for key in other.keys if key in self.keys), None)) is not None:
            raise bad_parameter("other", f"an index that also has the key {shared!r}", "an index with other keys")
        self._minhash_scheme = self._minhash_scheme or other._minhash_scheme
        for key, buckets in list(other.keys.items()):
            self._add(key, list(buckets))

    def query(self, minhash: MinHash) -> list[Hashable]:
        """Return the keys that share a band with a MinHash.

        Parameters
        ----------
        minhash : MinHash or LeanMinHash

        Returns
        -------
        list of keys
            Each once, in the order of bands, then of insertion. These are candidates: some are less similar than the
            threshold.

        Raises
        ------
        ParameterError
            The number of values is wrong.
        MismatchError
            The scheme differs.
        """
        candidates: dict[Hashable, None] = {}
        for bucket, table in zip(self._buckets(minhash), self.hashtables, strict=True):
            candidates.update(table.get(bucket, {}))
        return list(candidates)

    def __contains__(self, key: Hashable) -> bool:
        return key in self.keys

    def remove(self, key: Hashable) -> None:
        """Remove a key.

        Parameters
        ----------
        key : hashable

        Raises
        ------
        ParameterError
            The key does not exist.
        """
        if key not in self.keys:
            raise bad_parameter("key", repr(key), "a key of the index")
        for i, bucket in enumerate(self.keys.pop(key)):
            table = self.hashtables[i % self.b]
            keys = table.get(bucket, {})
            keys.pop(key, None)
            if not keys:
                table.pop(bucket, None)

    def is_empty(self) -> bool:
        """Return True if the index has no keys."""
        return not self.keys

    def get_counts(self) -> list[dict[bytes, int]]:
        """Return, for each band, the number of keys in each bucket."""
        return [{bucket: len(keys) for bucket, keys in table.items()} for table in self.hashtables]

    def insertion_session(self, buffer_size: int = 50_000) -> AbstractContextManager[MinHashLSH]:
        """Return a context with this index; in memory each key is added or removed at once.

        Parameters
        ----------
        buffer_size : int, default 50,000
            Ignored.
        """
        return nullcontext(self)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Pickles of this class and of datasketch; older versions store neither scheme nor hashfunc.
        try:
            self.h, self.b, self.r = (check_count(name, state[name], 1, 1 << 32, "1 or more") for name in "hbr")
            keys, num_tables = state["keys"], len(state["hashtables"])
            hashfunc = check_hashfunc(state.get("hashfunc"))
        except (KeyError, TypeError, ParameterError) as error:
            raise _invalid_state(repr(error)) from error
        if self.b * self.r > self.h or num_tables != self.b or not isinstance(keys, dict):
            raise _invalid_state(f"{num_tables} tables of {self.b} bands")
        self._reset(hashfunc)
        # The tables follow from the keys; their own order of keys is that of a set.
        for key, buckets in keys.items():
            if not isinstance(buckets, list) or not all(isinstance(bucket, bytes) for bucket in buckets):
                raise _invalid_state("a bucket that is not bytes")
            self._add(_read_key(key) if state.get("prepickle") else key, buckets)
        scheme = state.get("_minhash_scheme", "legacy")
        self._minhash_scheme = None if scheme is None else check_scheme(scheme)


def _read_key(data: Any) -> Hashable:
    """Read a key that an index with `prepickle` stored as a pickle."""
    if not isinstance(data, bytes):
        raise _invalid_state("a key that is not a pickle")
    key: Hashable = SafeUnpickler(io.BytesIO(data), safe_names({})).read()
    return key


def _invalid_state(reason: str) -> InputError:
    return InputError(f"this pickle is not that of a MinHashLSH: {reason}", place="state", reason=reason)
