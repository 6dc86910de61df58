"""`MinHashLSH` as datasketch has it: MinHashes in bands, tables in memory, keys of any kind that can be hashed.

A bucket is the bytes of a band's values, byte order reversed, as there, so that `get_counts`, `hashtables` and
`hashfunc` see the same bytes. b and r are those that datasketch chooses (`nearkin.compat.datasketch.choice`). What
differs:

- answers are in the order of bands and then of insertion; there they are in the order of a set;
- tables lie in memory alone: a `storage_config` of another type is an error, and `nearkin.Store` is what keeps a
  collection on disk;
- a key that `merge` brings a second time is removed from all of its buckets, not from those of the first alone;
- values of another type than those already there are refused, not looked up in vain.

Cost: b look-ups per query; a bucket of r values of 4 or 8 bytes, b of them per key. `nearkin.BandIndex` takes whole
arrays of signatures, compares candidates in parallel and is saved as a file.

Source: Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", section 3.4. Tests:
`tests/compat/test_compat_datasketch.py`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from nearkin.compat.datasketch.choice import check_threshold, check_weights, choose
from nearkin.compat.datasketch.hashing import unwrapped
from nearkin.compat.datasketch.tables import Buckets, Keys
from nearkin.errors import InputError, ParameterError, bad_parameter, check_count, mismatch
from nearkin.families.datasketch import check_scheme

if TYPE_CHECKING:
    from typing_extensions import Self

Sketch = Any
"""A MinHash, LeanMinHash or WeightedMinHash: what has `hashvalues` and a length."""


class MinHashLSH:
    """An index of MinHashes by bands, with the calls of `datasketch.MinHashLSH`.

    Parameters
    ----------
    threshold : float, default 0.9
        Jaccard similarity that b and r are chosen for, 0 to 1.
    num_perm : int, default 128
        Values of a MinHash, 2 or more; samples of a WeightedMinHash.
    weights : pair of float, default (0.5, 0.5)
        Of false positives and of false negatives in that choice; their sum is 1.
    params : pair of int, optional
        b and r instead of those chosen: b 2 or more, b r at most `num_perm`.
    storage_config : dict, optional
        `{"type": "dict"}`, the only one.
    prepickle : bool, optional
        Whether keys are kept as pickles; default False.
    hashfunc : callable, optional
        Bytes of a bucket → shorter bytes.

    Attributes
    ----------
    b, r : int
        Bands, and values of each.
    h : int
        `num_perm`.
    hashtables, hashranges, keys
        As in datasketch: a table and a range of values for each band, and the table of keys.

    Raises
    ------
    ParameterError
        A value out of its range; a choice or params of fewer than 2 bands; another storage than "dict".

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
        check_storage(storage_config)
        threshold = check_threshold(threshold)
        self.h = check_count("num_perm", num_perm, 2, 1 << 32, "2 or more")
        chosen = check_weights(weights)
        if params is None:
            self.b, self.r = choose(threshold, self.h, chosen)
        else:
            self.b, self.r = (check_count("params", value, 1, 1 << 32, "pairs (b, r) of 1 or more") for value in params)
            if self.b * self.r > self.h:
                raise bad_parameter("params", f"{self.b} * {self.r}", f"a product of at most num_perm={self.h}")
        if self.b < 2:
            raise bad_parameter("b", self.b, "2 bands or more: another threshold, more values, or params")
        if hashfunc is not None and not callable(hashfunc):
            raise bad_parameter("hashfunc", repr(hashfunc), "a callable: bytes to bytes")
        self.prepickle = bool(prepickle)
        self.hashfunc = hashfunc
        self._begin()

    def _begin(self) -> None:
        self._buffer_size = 50_000
        self.hashtables = [Buckets() for _ in range(self.b)]
        self.hashranges = [(i * self.r, (i + 1) * self.r) for i in range(self.b)]
        self.keys = Keys()
        self._minhash_scheme: str | None = None
        self._asked: list[dict[Hashable, None]] = []

    @property
    def buffer_size(self) -> int:
        """Without effect in memory; kept as it was set."""
        return self._buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        self._buffer_size = check_count("buffer_size", value, 1, 1 << 62, "1 or more")

    def _buckets(self, minhash: Sketch, bands: int | None = None) -> list[bytes]:
        """The bytes of each band."""
        if len(minhash) != self.h:
            raise bad_parameter("minhash", f"{len(minhash)} values", f"{self.h}, as the index has")
        scheme = getattr(minhash, "scheme", None)
        if scheme is not None and self._minhash_scheme not in (None, scheme):
            raise mismatch("scheme", f"an index of {self._minhash_scheme}", f"a MinHash of {scheme}")
        bands = self.b if bands is None else bands
        used = minhash.hashvalues[: bands * self.r].byteswap().tobytes()
        size = len(used) // bands
        buckets = [used[start : start + size] for start in range(0, len(used), size)]
        return buckets if self.hashfunc is None else [self.hashfunc(bucket) for bucket in buckets]

    def _key(self, key: Hashable) -> Hashable:
        return pickle.dumps(key) if self.prepickle else key

    def _given(self, keys: Iterable[Hashable]) -> list[Hashable]:
        # What this index has pickled itself.
        return [pickle.loads(cast("bytes", key)) for key in keys] if self.prepickle else list(keys)  # noqa: S301

    def insert(self, key: Hashable, minhash: Sketch, check_duplication: bool = True) -> None:
        """Adds a key with its MinHash.

        Parameters
        ----------
        key : hashable
        minhash : MinHash, LeanMinHash or WeightedMinHash
            Of `num_perm` values and of the scheme of those before.
        check_duplication : bool, default True
            Whether a key that is already there is an error; otherwise it gets both buckets.

        Raises
        ------
        ParameterError
            A key that is there, or another number of values.
        MismatchError
            A MinHash of another scheme.
        """
        buckets = self._buckets(minhash)
        held = self._key(key)
        if check_duplication and held in self.keys:
            raise bad_parameter("key", repr(key), "a key that is not yet there")
        self._minhash_scheme = self._minhash_scheme or getattr(minhash, "scheme", None)
        self.keys.insert(held, *buckets)
        for bucket, table in zip(buckets, self.hashtables, strict=True):
            table._dict.setdefault(bucket, {})[held] = None

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Adds all keys of another index.

        Parameters
        ----------
        other : MinHashLSH
            With the same `num_perm`, b and r.
        check_overlap : bool, default False
            Whether a key that is in both is an error.

        Raises
        ------
        ParameterError
            With `check_overlap`, a key that is in both.
        MismatchError
            Another kind of index, other numbers, or another scheme.
        """
        if type(other) is not type(self):
            raise mismatch("type of index", type(self).__name__, type(other).__name__)
        for what, left, right in (("num_perm", self.h, other.h), ("b", self.b, other.b), ("r", self.r, other.r)):
            if left != right:
                raise mismatch(what, left, right)
        schemes = {self._minhash_scheme, other._minhash_scheme} - {None}
        if len(schemes) > 1:
            raise mismatch("scheme", self._minhash_scheme, other._minhash_scheme)
        if check_overlap and (shared := next((key for key in other.keys if key in self.keys), None)) is not None:
            raise bad_parameter("other", f"an index that has the key {shared!r} too", "keys that are in one of both")
        self._minhash_scheme = self._minhash_scheme or other._minhash_scheme
        for key in list(other.keys):
            buckets = list(other.keys.get(key))
            self.keys.insert(key, *buckets)
            for i, bucket in enumerate(buckets):
                self.hashtables[i % self.b].insert(bucket, key)

    def _candidates(self, minhash: Sketch, bands: int | None = None) -> dict[Hashable, None]:
        """Keys that share a band, in the order of bands and insertion."""
        found: dict[Hashable, None] = {}
        for bucket, table in zip(self._buckets(minhash, bands), self.hashtables, strict=False):
            keys = table._dict.get(bucket)
            if keys is not None:
                found.update(keys)
        return found

    def query(self, minhash: Sketch) -> list[Hashable]:
        """The keys that share a band with a MinHash.

        Parameters
        ----------
        minhash : MinHash, LeanMinHash or WeightedMinHash

        Returns
        -------
        list of keys
            Each once, by band and then by insertion. Candidates: what is less similar than the threshold is among them.

        Raises
        ------
        ParameterError
            Another number of values.
        MismatchError
            A MinHash of another scheme.
        """
        return self._given(self._candidates(minhash))

    def _query_b(self, minhash: Sketch, b: int) -> list[Hashable]:
        """As `query`, by the first b bands."""
        return self._given(self._candidates(minhash, b))

    def add_to_query_buffer(self, minhash: Sketch) -> None:
        """Asks for the keys that share a band with a MinHash; `collect_query_buffer` gives them.

        Parameters
        ----------
        minhash : MinHash, LeanMinHash or WeightedMinHash

        Raises
        ------
        ParameterError
            Another number of values.
        MismatchError
            A MinHash of another scheme.
        """
        self._asked.append(self._candidates(minhash))

    def collect_query_buffer(self) -> list[Hashable]:
        """The keys that every MinHash in the buffer has found; the buffer is empty then.

        Returns
        -------
        list of keys
        """
        asked, self._asked = self._asked, []
        if not asked:
            return []
        return self._given(key for key in asked[0] if all(key in other for other in asked[1:]))

    def __contains__(self, key: Hashable) -> bool:
        return self._key(key) in self.keys

    def remove(self, key: Hashable) -> None:
        """Removes a key.

        Parameters
        ----------
        key : hashable

        Raises
        ------
        ParameterError
            It is not there.
        """
        held = self._key(key)
        if held not in self.keys:
            raise bad_parameter("key", repr(key), "a key that is there")
        for i, bucket in enumerate(self.keys.get(held)):
            self.hashtables[i % self.b].remove_key(bucket, held)
        self.keys.remove(held)

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not len(self.keys)

    def get_counts(self) -> list[dict[bytes, int]]:
        """Of each band its buckets with how many keys they have."""
        return [table.itemcounts() for table in self.hashtables]

    def get_subset_counts(self, *keys: Hashable) -> list[dict[bytes, int]]:
        """Of each band the buckets of some keys with how many of these they have.

        Parameters
        ----------
        *keys : hashable
            Those that are not there count nothing.
        """
        counts: list[dict[bytes, int]] = [{} for _ in range(self.b)]
        for key in dict.fromkeys(self._key(key) for key in keys):
            for part, bucket in zip(counts, self.keys.get(key), strict=False):
                part[bucket] = part.get(bucket, 0) + 1
        return counts

    def insertion_session(self, buffer_size: int = 50_000) -> MinHashLSHInsertionSession:
        """A context in which keys are inserted; in memory each is there at once.

        Parameters
        ----------
        buffer_size : int, default 50,000
            Without effect in memory.
        """
        return MinHashLSHInsertionSession(self, buffer_size)

    def deletion_session(self, buffer_size: int = 50_000) -> MinHashLSHDeletionSession:
        """A context in which keys are removed; in memory each is gone at once.

        Parameters
        ----------
        buffer_size : int, default 50,000
            Without effect in memory.
        """
        return MinHashLSHDeletionSession(self, buffer_size)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Pickles of this class and of datasketch's, whose older versions name neither scheme nor hashfunc.
        try:
            self.h, self.b, self.r = (check_count(name, state[name], 1, 1 << 32, "1 or more") for name in "hbr")
            self.prepickle = bool(state["prepickle"])
            tables, keys = list(state["hashtables"]), state["keys"]
        except (KeyError, TypeError, ParameterError) as error:
            raise _damaged(repr(error)) from error
        whole = isinstance(keys, Keys) and all(isinstance(table, Buckets) for table in tables)
        if self.b * self.r > self.h or len(tables) != self.b or not whole:
            raise _damaged(f"{len(tables)} tables of {self.b} bands")
        self.hashfunc = unwrapped(state.get("hashfunc"))
        if self.hashfunc is not None and not callable(self.hashfunc):
            raise _damaged("a hashfunc that is none")
        self._begin()
        self.keys = keys
        # Tables follow from the keys, whose order is known where that in a bucket is not.
        for key in keys:
            for i, bucket in enumerate(keys.get(key)):
                self.hashtables[i % self.b].insert(bucket, key)
        first = next(iter(self.hashtables[0]), b"")
        self._minhash_scheme = scheme_of(state, 0 if self.hashfunc else len(first) / self.r)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_asked"}


class _Session:
    """What the contexts share."""

    def __init__(self, lsh: MinHashLSH, buffer_size: int) -> None:
        self.lsh = lsh
        self.lsh.buffer_size = buffer_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session; in memory there is nothing left to do."""


class MinHashLSHInsertionSession(_Session):
    """Inserts into an index.

    Parameters
    ----------
    lsh : MinHashLSH
    buffer_size : int
        Without effect in memory.
    """

    def insert(self, key: Hashable, minhash: Sketch, check_duplication: bool = True) -> None:
        """As `MinHashLSH.insert`.

        Parameters
        ----------
        key : hashable
        minhash : MinHash, LeanMinHash or WeightedMinHash
        check_duplication : bool, default True
        """
        self.lsh.insert(key, minhash, check_duplication)


class MinHashLSHDeletionSession(_Session):
    """Removes from an index.

    Parameters
    ----------
    lsh : MinHashLSH
    buffer_size : int
        Without effect in memory.
    """

    def remove(self, key: Hashable) -> None:
        """As `MinHashLSH.remove`.

        Parameters
        ----------
        key : hashable
        """
        self.lsh.remove(key)


def scheme_of(state: Mapping[str, Any], width: float) -> str | None:
    """The scheme of the MinHashes in a pickled index.

    Parameters
    ----------
    state : mapping
        What was pickled; versions before 2.0 of datasketch name no scheme, since there was one only.
    width : float
        Bytes of a value, 0 if nobody knows; a sample of a WeightedMinHash has 16.
    """
    known = state.get("_minhash_scheme")
    if known is None:
        return "legacy" if "_minhash_scheme" not in state and width == 8 else None
    return check_scheme(known)


def check_storage(storage_config: Mapping[str, Any] | None) -> None:
    """Refuses a storage that is not a dict.

    Parameters
    ----------
    storage_config : mapping or None

    Raises
    ------
    ParameterError
        Any other type than "dict".
    """
    kind = "dict" if not storage_config else storage_config.get("type")
    if kind != "dict":
        raise bad_parameter(
            "storage_config",
            f"type {kind!r}",
            '{"type": "dict"}, tables in memory; nearkin.Store keeps a collection on disk, shared by processes, and '
            "`nearkin serve` answers for one over HTTP",
        )


def _damaged(reason: str) -> InputError:
    return InputError(f"this pickle is not that of a MinHashLSH: {reason}", place="state", reason=reason)
