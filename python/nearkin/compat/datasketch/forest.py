"""`MinHashLSHForest` as datasketch has it: the k keys that share the longest prefixes with a query.

The first k' l values of a MinHash, k' = ⌊num_perm / l⌋, are l strings of k' values, and tree i is the sorted list of
all strings i. A query asks for prefixes of k', k' − 1, … values in all trees, until it has k keys. The keys are those
that datasketch finds, and stand in the order in which they were found, those of long prefixes first; there they are in
the order of a set.

Cost: 2 l binary searches per length of the prefix. A range of a shorter prefix holds that of the longer one, so that
only what lies beside it is looked at.

Source: Bawa, Condie, Ganesan, "LSH forest: self-tuning indexes for similarity search" (WWW 2005), with sorted lists for
trees. Tests: `tests/compat/test_compat_datasketch.py`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from nearkin.compat.datasketch.lsh import Sketch, scheme_of
from nearkin.errors import InputError, bad_parameter, check_count, mismatch
from nearkin.families.datasketch import Numbers


class MinHashLSHForest:
    """An index for the nearest keys, with the calls of `datasketch.MinHashLSHForest`.

    Parameters
    ----------
    num_perm : int, default 128
        Values of a MinHash, 1 or more.
    l : int, default 8
        Trees, 1 to `num_perm`.

    Attributes
    ----------
    l, k : int
        Trees, and values of a whole prefix.
    keys, hashtables, hashranges, sorted_hashtables
        As in datasketch.

    Raises
    ------
    ParameterError
        A number out of its range.

    Examples
    --------
    >>> from nearkin.compat.datasketch import MinHash, MinHashLSHForest
    >>> a, b, c = MinHash.bulk([[b"red", b"white", b"wine"], [b"red", b"wine"], [b"bread"]])
    >>> forest = MinHashLSHForest()
    >>> forest.add("a", a)
    >>> forest.add("c", c)
    >>> forest.index()
    >>> forest.query(b, 1)
    ['a']
    """

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:  # noqa: E741  # datasketch's name
        num_perm = check_count("num_perm", num_perm, 1, 1 << 32, "1 or more")
        self.l = check_count("l", l, 1, num_perm, f"1 to num_perm={num_perm}")
        self.k = num_perm // self.l
        self.hashtables: list[dict[bytes, list[Hashable]]] = [defaultdict(list) for _ in range(self.l)]
        self.hashranges = [(i * self.k, (i + 1) * self.k) for i in range(self.l)]
        self.keys: dict[Hashable, list[bytes]] = {}
        self.sorted_hashtables: list[list[bytes]] = [[] for _ in range(self.l)]
        self._minhash_scheme: str | None = None

    def _strings(self, minhash: Sketch) -> list[bytes]:
        """The string of each tree."""
        if len(minhash) < self.k * self.l:
            raise bad_parameter("minhash", f"{len(minhash)} values", f"{self.k * self.l} or more, as the index has")
        scheme = getattr(minhash, "scheme", None)
        if scheme is not None and self._minhash_scheme not in (None, scheme):
            raise mismatch("scheme", f"an index of {self._minhash_scheme}", f"a MinHash of {scheme}")
        used = minhash.hashvalues[: self.k * self.l].byteswap().tobytes()
        size = len(used) // self.l
        return [used[start : start + size] for start in range(0, len(used), size)]

    def add(self, key: Hashable, minhash: Sketch) -> None:
        """Adds a key with its MinHash; it is found after the next `index`.

        Parameters
        ----------
        key : hashable
        minhash : MinHash, LeanMinHash or WeightedMinHash

        Raises
        ------
        ParameterError
            A key that is there, or too few values.
        MismatchError
            A MinHash of another scheme.
        """
        strings = self._strings(minhash)
        if key in self.keys:
            raise bad_parameter("key", repr(key), "a key that is not yet there")
        self._minhash_scheme = self._minhash_scheme or getattr(minhash, "scheme", None)
        self.keys[key] = strings
        for string, table in zip(strings, self.hashtables, strict=True):
            table[string].append(key)

    def index(self) -> None:
        """Makes all keys that were added findable."""
        self.sorted_hashtables = [sorted(table) for table in self.hashtables]

    def query(self, minhash: Sketch, k: int) -> list[Hashable]:
        """Up to k keys, those that share the longest prefixes with a MinHash.

        Parameters
        ----------
        minhash : MinHash, LeanMinHash or WeightedMinHash
        k : int
            1 or more.

        Returns
        -------
        list of keys
            Longest prefixes first; candidates, whose similarity is not computed.

        Raises
        ------
        ParameterError
            A k below 1, or too few values.
        MismatchError
            A MinHash of another scheme.
        """
        k = check_count("k", k, 1, (1 << 63) - 1, "1 or more")
        strings = self._strings(minhash)
        width = len(strings[0]) // self.k
        found: dict[Hashable, None] = {}
        ranges: list[tuple[int, int]] | None = None
        for length in range(self.k * width, 0, -width):
            wider = []
            for i, (tree, table) in enumerate(zip(self.sorted_hashtables, self.hashtables, strict=True)):
                prefix = strings[i][:length]
                low, high = (0, len(tree)) if ranges is None else ranges[i]
                if ranges is None:
                    first = low = bisect_left(tree, prefix)
                    last = high = low
                else:
                    first, last = bisect_left(tree, prefix, 0, low), high
                last = bisect_right(tree, prefix, last, len(tree), key=lambda string: string[:length])
                wider.append((first, last))
                for start, stop in ((first, low), (high, last)):
                    for string in tree[start:stop]:
                        for key in table[string]:
                            found[key] = None
                            if len(found) >= k:
                                return list(found)
            ranges = wider
        return list(found)

    def get_minhash_hashvalues(self, key: Hashable) -> Numbers:
        """The values of a key's MinHash, those that the trees have.

        Parameters
        ----------
        key : hashable

        Returns
        -------
        (k * l,) uint32 or uint64

        Raises
        ------
        KeyError
            The key is not there.
        """
        strings = self.keys.get(key)
        if strings is None:
            raise KeyError(f"{key!r} is not in this forest")
        width = len(strings[0]) // self.k
        if width not in (4, 8):
            raise bad_parameter("key", repr(key), "a key whose values are those of a MinHash")
        values: Numbers = np.frombuffer(b"".join(strings), f"u{width}").byteswap()
        return values

    def is_empty(self) -> bool:
        """Whether no key can be found."""
        return not self.sorted_hashtables[0]

    def __contains__(self, key: Hashable) -> bool:
        return key in self.keys

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Pickles of this class and of datasketch's.
        try:
            keys = {key: [bytes(string) for string in strings] for key, strings in state["keys"].items()}
            trees, depth = check_count("l", state["l"], 1, 1 << 32, ""), check_count("k", state["k"], 1, 1 << 32, "")
            indexed = bool(state["sorted_hashtables"][0])
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            reason = f"its state has no {error}"
            raise InputError(
                f"this pickle is not that of a MinHashLSHForest: {reason}", place="state", reason=reason
            ) from error
        if any(len(strings) != trees for strings in keys.values()):
            raise InputError("a key of this forest is not in all trees", place="keys", reason="trees")
        self.l, self.k, self.keys = trees, depth, keys
        self.hashranges = [(i * depth, (i + 1) * depth) for i in range(trees)]
        first = next(iter(keys.values()), [b""])
        self._minhash_scheme = scheme_of(state, len(first[0]) / depth)
        self.hashtables = [defaultdict(list) for _ in range(trees)]
        for key, strings in keys.items():
            for string, table in zip(strings, self.hashtables, strict=True):
                table[string].append(key)
        self.sorted_hashtables = [[] for _ in range(trees)]
        if indexed:
            # Each tree has the strings that it had; those added later wait for the next `index`.
            self.sorted_hashtables = [sorted(bytes(s) for s in tree) for tree in state["sorted_hashtables"]]
