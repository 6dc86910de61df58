"""The two kinds of tables of datasketch's index that lie in memory: bucket → keys, and key → its buckets.

They are read as there (`table[H]`, `H in table`, `len`, `keys`, `get`, `itemcounts`), and keep the order of insertion,
so that answers do not depend on the hashes of strings.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from nearkin.errors import InputError


class Buckets:
    """Bytes of a band → the keys in that bucket."""

    def __init__(self) -> None:
        self._dict: dict[bytes, dict[Hashable, None]] = {}

    def __getitem__(self, bucket: bytes) -> set[Hashable]:
        return self.get(bucket)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __contains__(self, bucket: object) -> bool:
        return bucket in self._dict

    def keys(self) -> Iterator[bytes]:
        """The buckets."""
        return iter(self._dict)

    def get(self, bucket: bytes) -> set[Hashable]:
        """The keys in a bucket; none for one that is not there.

        Parameters
        ----------
        bucket : bytes
        """
        return set(self._dict.get(bucket, ()))

    def getmany(self, *buckets: bytes) -> list[set[Hashable]]:
        """The keys in each bucket.

        Parameters
        ----------
        *buckets : bytes
        """
        return [self.get(bucket) for bucket in buckets]

    def has_key(self, bucket: bytes) -> bool:
        """Whether the bucket is there.

        Parameters
        ----------
        bucket : bytes
        """
        return bucket in self._dict

    def size(self) -> int:
        """How many buckets there are."""
        return len(self._dict)

    def itemcounts(self) -> dict[bytes, int]:
        """How many keys each bucket has."""
        return {bucket: len(keys) for bucket, keys in self._dict.items()}

    def insert(self, bucket: bytes, *keys: Hashable) -> None:
        """Puts keys into a bucket.

        Parameters
        ----------
        bucket : bytes
        *keys : hashable
        """
        self._dict.setdefault(bucket, {}).update(dict.fromkeys(keys))

    def remove_key(self, bucket: bytes, key: Hashable) -> None:
        """Takes a key out of a bucket, and the bucket away if that was the last.

        Parameters
        ----------
        bucket : bytes
        key : hashable
        """
        keys = self._dict.get(bucket)
        if keys is not None:
            keys.pop(key, None)
            if not keys:
                del self._dict[bucket]

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self._dict = {bucket: dict.fromkeys(keys) for bucket, keys in _items(state)}


class Keys:
    """Key → the buckets that it is in, band by band."""

    def __init__(self) -> None:
        self._dict: dict[Hashable, list[bytes]] = {}

    def __getitem__(self, key: Hashable) -> list[bytes]:
        return self.get(key)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._dict

    def keys(self) -> Iterator[Hashable]:
        """The keys."""
        return iter(self._dict)

    def get(self, key: Hashable) -> list[bytes]:
        """The buckets of a key; none for one that is not there.

        Parameters
        ----------
        key : hashable
        """
        return self._dict.get(key, [])

    def getmany(self, *keys: Hashable) -> list[list[bytes]]:
        """The buckets of each key.

        Parameters
        ----------
        *keys : hashable
        """
        return [self.get(key) for key in keys]

    def has_key(self, key: Hashable) -> bool:
        """Whether the key is there.

        Parameters
        ----------
        key : hashable
        """
        return key in self._dict

    def size(self) -> int:
        """How many keys there are."""
        return len(self._dict)

    def itemcounts(self) -> dict[Hashable, int]:
        """How many buckets each key is in."""
        return {key: len(buckets) for key, buckets in self._dict.items()}

    def insert(self, key: Hashable, *buckets: bytes) -> None:
        """Adds buckets to those of a key.

        Parameters
        ----------
        key : hashable
        *buckets : bytes
        """
        self._dict.setdefault(key, []).extend(buckets)

    def remove(self, key: Hashable) -> None:
        """Forgets a key.

        Parameters
        ----------
        key : hashable
        """
        self._dict.pop(key, None)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self._dict = {key: [_bytes(bucket) for bucket in buckets] for key, buckets in _items(state)}


def _items(state: Mapping[str, Any]) -> Any:
    held = state.get("_dict") if isinstance(state, Mapping) else None
    if not isinstance(held, dict):
        raise InputError("this pickle's table holds no dict", place="_dict", reason="no dict")
    return held.items()


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise InputError(f"a bucket is {type(value).__name__}, not bytes", place="_dict", reason="no bytes")
    return value
