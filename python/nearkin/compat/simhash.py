"""`Simhash` and `SimhashIndex` of the PyPI package simhash 2.1.2, over nearkin's core.

A fingerprint of f bits of features with weights w and hash bits b_i, i = 0 the highest:

    bit i = 1 where Σ w b_i > (Σ w) / 2

A text is lower-cased, the matches of the pattern `reg` are joined, and the features are its windows of four characters,
each weighted by its number of occurrences; a shorter or empty text is a single feature. The hash of a feature is the
last f / 8 bytes of `hashfunc`, by default MD5.

Values equal the package's for every f, `reg` and `hashfunc`. Two of its quirks affect values and are kept: in a list
that mixes features with and without weight, one without has the weight of the last one before it that had one; and a
negative integer weight counts in Σ w but not in Σ w b_i.

Differences:

- Weights above 255 count. With NumPy 2 the package raises an OverflowError, with NumPy 1 it returns this value.
- A hash of fewer than f / 8 bytes (MD5 with f above 128) is a `ParameterError`. The package fails with another error,
  or joins the hashes of several features.
- Infinite and NaN weights are a `ParameterError`; the package returns 0. Sums of narrow NumPy integers do not wrap.
- `SimhashIndex` searches with `nearkin.HammingIndex`, so its speed does not depend on the size of a bucket. It does not
  log keys or full buckets, has no `bucket` and `get_keys`, f is at most 1024, and ids are ordered by distance.

Cost: the core hashes texts with the default `reg` and `hashfunc` up to 128 bits, NumPy all others. For many texts one
call of `nearkin.fingerprint(texts, "simhash-pypi")` is faster. Tests: `tests/compat/test_compat_simhash.py`.
"""

from __future__ import annotations

import decimal
import hashlib
import logging
import math
import numbers
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import MismatchError, bad_parameter, check_count
from nearkin.index.fingerprints import from_integers
from nearkin.index.hamming import HammingIndex
from nearkin.recipe import Recipe

__all__ = ["Simhash", "SimhashIndex", "SimhashWidthError"]

HashFunction: TypeAlias = "Callable[[bytes], Any]"
Weighted: TypeAlias = "list[tuple[str, Any, bool]]"
"""Features, their weights, and whether the package adds them in a block: a negative weight then counts only in Σ w."""

_REG = r"[\w\u4e00-\u9fcc]+"
_WINDOW = 4
_BATCH_ROWS = 1 << 14
"""Rows of bits that are summed at a time: one megabyte per 8 bytes of fingerprint."""
_MAX_WEIGHT = 1 << 62
"""Sums of integer weights up to this fit 64 bits."""


class SimhashWidthError(MismatchError, AssertionError):
    """Fingerprints with different f. It is an AssertionError because the package asserts."""


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


class Simhash:
    r"""The fingerprint of a text or of weighted features.

    Parameters
    ----------
    value : str, iterable of str or of (str, weight), dict of str to weight, int or Simhash
        A text or features to hash; an int is the fingerprint itself, and a Simhash is copied.
    f : int, default 64
        Width in bits, a multiple of 8.
    reg : str or compiled pattern, default ``[\w\u4e00-\u9fcc]+``
        Pattern of the characters that are hashed.
    hashfunc : function of bytes, default MD5
        Returns bytes or an int. The last f / 8 bytes or the lowest f bits are used.
    log : logging.Logger, optional

    Attributes
    ----------
    value : int
        The fingerprint.
    f, reg, hashfunc, log
        The arguments.

    Raises
    ------
    ParameterError
        `f` is not a multiple of 8, or wider than the hash; a weight is not finite.
    TypeError
        `value`, a feature or the result of `hashfunc` has another type.

    Examples
    --------
    >>> from nearkin.compat.simhash import Simhash
    >>> a, b = Simhash("How are you? I AM fine."), Simhash("How are you? I am fine!")
    >>> hex(a.value), a.distance(b)
    ('0xb513c88ea87ea888', 0)
    """

    large_weight_cutoff = 50
    batch_size = 200
    __hash__: ClassVar[None]  # type: ignore[assignment]  # The package defines equality without a hash.

    def __init__(
        self,
        value: Any,
        f: int = 64,
        reg: str | re.Pattern[str] = _REG,
        hashfunc: HashFunction = _md5,
        log: logging.Logger | None = None,
    ) -> None:
        allowed = "a multiple of 8, 8 or more"
        self.f = check_count("f", f, 8, 1 << 32, allowed)
        if self.f % 8:
            raise bad_parameter("f", f, allowed)
        self.f_bytes = self.f // 8
        self.reg = reg
        self.hashfunc = hashfunc
        self.hashfunc_returns_int = hashfunc is not _md5 and isinstance(hashfunc(b"test"), numbers.Integral)
        self.log = logging.getLogger("simhash") if log is None else log
        self.value: int = 0
        if isinstance(value, Simhash):
            self.value = value.value
        elif isinstance(value, str):
            self.build_by_text(value)
        elif isinstance(value, numbers.Integral):
            self.value = int(value)
        elif isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, memoryview)):
            self.build_by_features(value)
        else:
            raise TypeError(f"value is a {type(value).__name__}; use a str, features, an int or a Simhash")

    def __eq__(self, other: object) -> bool:
        return self.value == other.value if isinstance(other, Simhash) else NotImplemented

    def __repr__(self) -> str:
        return f"Simhash({self.value:#x}, f={self.f})"

    @property
    def _in_core(self) -> bool:
        """True if the core has this hash function at this width."""
        return self.hashfunc is _md5 and self.f <= 128

    def build_by_text(self, content: str) -> None:
        """Set the fingerprint to that of a text.

        Parameters
        ----------
        content : str
        """
        in_core = self._in_core and self.reg == _REG
        value = _hash_text(self.f, content, cleaned=False) if in_core and content.isascii() else None
        if value is None:
            text = "".join(re.findall(self.reg, content.lower()))
            # The meaning of `\w` depends on Python's Unicode version, so the core hashes only the cleaned text.
            value = _hash_text(self.f, text, cleaned=True) if in_core and text else None
            if value is None:
                windows = Counter(text[start : start + _WINDOW] for start in range(max(len(text) - _WINDOW + 1, 1)))
                value = self._hash_integers(list(windows), list(windows.values()))
        self.value = value

    def build_by_features(self, features: Mapping[str, Any] | Iterable[Any]) -> None:
        """Set the fingerprint to that of features.

        Parameters
        ----------
        features : dict of str to weight, or iterable of str or (str, weight)
            A feature without weight has 1, or the weight of the last one before it that had one.
        """
        features = list(features.items() if isinstance(features, Mapping) else features)
        if set(map(type, features)) == {str}:
            self.value = self._hash_integers(features, [1] * len(features))
            return
        weighted = _parse_features(features, self.large_weight_cutoff)
        if all(type(weight) is int for _, weight, _ in weighted):
            names = [feature for feature, _, _ in weighted]
            votes = [max(weight, 0) if in_block else weight for _, weight, in_block in weighted]
            self.value = self._hash_integers(names, votes, sum(weight for _, weight, _ in weighted))
        else:
            self.value = self._hash_numbers(weighted)

    def _hash_integers(self, names: Sequence[str], votes: Sequence[int], total: int | None = None) -> int:
        """Return the fingerprint of features with integer weights; `total` if it is not their sum."""
        size = sum(map(abs, votes))
        total = sum(votes) if total is None else total
        if max(size, abs(total)) > _MAX_WEIGHT:
            raise bad_parameter("features", f"weights of {total} in all", f"weights of at most {_MAX_WEIGHT} in all")
        if self._in_core and names and total == size:
            encoded = [name.encode() for name in names]
            core, ends = _core(f"given|md5|simhash:{self.f}"), np.array([0, len(names)], dtype=np.int64)
            return _join_words(core.fingerprints_given(ends, encoded, np.array(votes, dtype=np.int64)))
        # Sums of floats are exact, and fast, up to 2^53.
        dtype = np.float64 if size < 1 << 53 else np.int64
        sums = np.zeros(self.f, dtype=np.int64)
        for start in range(0, len(names), _BATCH_ROWS):
            bits = self._bits(names[start : start + _BATCH_ROWS])
            sums += (np.array(votes[start : start + _BATCH_ROWS], dtype=dtype) @ bits.astype(dtype)).astype(np.int64)
        return _pack(2 * sums > total)

    def _hash_numbers(self, weighted: Weighted) -> int:
        """Return the fingerprint of features if a weight is not an integer.

        The order in which floats are added decides ties. Small integer weights are added in blocks of `batch_size`,
        each at the position where it is full, the last one at the end.
        """
        rows: list[npt.NDArray[Any]] = []
        block: list[tuple[str, int]] = []

        def add_block() -> None:
            weights = np.array([max(weight, 0) for _, weight in block], dtype=np.int64)
            rows.append(weights @ self._bits([feature for feature, _ in block]).astype(np.int64))
            block.clear()

        for feature, weight, in_block in weighted:
            if in_block:
                block.append((feature, weight))
                if len(block) >= self.batch_size:
                    add_block()
            else:
                bits = self._bits([feature])[0]
                rows.append((bits.astype(np.int64) if isinstance(weight, int) else bits) * weight)
            if len(rows) >= self.batch_size:
                rows = [np.sum(rows, 0)]
        if block:
            add_block()
        total = sum(weight for _, weight, _ in weighted)
        return _pack(np.asarray(np.sum(rows, 0) > total / 2, dtype=bool))

    def _bits(self, features: Sequence[str]) -> npt.NDArray[np.uint8]:
        """Return the bits of the features' hashes, one row each, highest bit first."""
        joined = b"".join([self._hash(feature.encode()) for feature in features])
        return np.unpackbits(np.frombuffer(joined, dtype=np.uint8)).reshape(len(features), self.f)

    def _hash(self, feature: bytes) -> bytes:
        value = self.hashfunc(feature)
        if self.hashfunc_returns_int:
            return int(value & (1 << self.f) - 1).to_bytes(self.f_bytes, "big")
        if not isinstance(value, bytes):
            raise TypeError(f"hashfunc returned a {type(value).__name__}; it must return bytes, or always an int")
        if len(value) < self.f_bytes:
            allowed = f"f up to {8 * len(value)}, or a hashfunc of {self.f_bytes} bytes or more"
            raise bad_parameter("f", f"{self.f} with a hash of {8 * len(value)} bits", allowed)
        return value[-self.f_bytes :]

    def distance(self, another: Simhash) -> int:
        """Return the number of bits that differ.

        Parameters
        ----------
        another : Simhash
            With the same f.

        Raises
        ------
        SimhashWidthError
            f differs.
        """
        _check_width(self.f, another)
        return ((self.value ^ another.value) & ((1 << self.f) - 1)).bit_count()


@cache
def _core(recipe: str) -> Any:
    return Recipe(recipe).core


def _hash_text(f: int, text: str, *, cleaned: bool) -> int | None:
    """Return the core's fingerprint of a text, lower-cased and filtered already if `cleaned`; None without features."""
    steps = "case:keep|letters:all" if cleaned else "case:lower|letters:python"
    values, counts = _core(f"norm:none|{steps}|char:{_WINDOW}|count|md5|simhash:{f}").fingerprints([text])
    return _join_words(values) if counts[0] else None


def _join_words(words: npt.NDArray[np.uint64]) -> int:
    """Return the words of a fingerprint as one number, lowest word first."""
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def _parse_features(features: list[Any], cutoff: int) -> Weighted:
    """Return features with their weights; integer weights of any type become int."""
    weighted: Weighted = []
    weight: Any = 1
    for item in features:
        if isinstance(item, str):
            if type(weight) is not int:
                allowed = "(str, weight) after a weight that is not an integer"
                raise bad_parameter("features", f"{item!r} after a weight of {weight}", allowed)
            weighted.append((item, weight, True))
            continue
        try:
            feature, weight = item
        except TypeError:
            raise TypeError(f"a feature is a {type(item).__name__}; use a str or (str, weight)") from None
        except ValueError:
            raise bad_parameter("features", repr(item), "str or (str, weight)") from None
        in_block = isinstance(weight, int) and weight <= cutoff
        if not isinstance(feature, str) or not _is_number(weight):
            kinds = f"({type(feature).__name__}, {type(weight).__name__})"
            raise TypeError(f"a feature is a {kinds}; use a str or (str, weight)")
        if not isinstance(weight, int) and not math.isfinite(weight):
            raise bad_parameter("features", repr(item), "finite weights")
        weight = int(weight) if isinstance(weight, numbers.Integral) else weight
        weighted.append((feature, weight, in_block))
    return weighted


def _is_number(value: object) -> bool:
    return isinstance(value, (numbers.Real, decimal.Decimal))


def _pack(bits: npt.NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def _check_width(f: int, other: Any) -> None:
    if other.f != f:
        message = f"f differs: {f} against {other.f}; compare fingerprints of one width"
        raise SimhashWidthError(message, what="f", left=f, right=other.f)


class SimhashIndex:
    """Fingerprints by id, and search within k bits.

    Parameters
    ----------
    objs : sequence of (id, Simhash)
    f : int, default 64
        Width of all fingerprints, 1 to 1024.
    k : int, default 2
        Maximum distance of a near-duplicate, inclusive.
    log : logging.Logger, optional

    Attributes
    ----------
    f, k, log
        The arguments.

    Raises
    ------
    ParameterError
        `f` or `k` is out of its range.
    SimhashWidthError
        A fingerprint has another f.

    Notes
    -----
    Ids are stored as `str(id)`, and an id may have several fingerprints. The search returns every fingerprint within
    k bits.

    Examples
    --------
    >>> from nearkin.compat.simhash import Simhash, SimhashIndex
    >>> index = SimhashIndex([("a", Simhash(0b0000)), ("b", Simhash(0b0111))], k=3)
    >>> index.get_near_dups(Simhash(0b0110))
    ['b', 'a']
    """

    def __init__(
        self, objs: Iterable[tuple[Any, Simhash]], f: int = 64, k: int = 2, log: logging.Logger | None = None
    ) -> None:
        self.k, self.f = check_count("k", k, 0, 1 << 32, "0 or more"), check_count("f", f, 1, 1024, "1 to 1024")
        self.log = logging.getLogger("simhash") if log is None else log
        self._index = HammingIndex(bits=self.f, radius=min(self.k, self.f))
        self._ids: list[str] = []
        self._rows: dict[tuple[int, str], int] = {}
        self._keys: set[tuple[int, int]] = set()
        ends = [*self.offsets[1:], self.f]
        self._blocks = [(start, (1 << end - start) - 1) for start, end in zip(self.offsets, ends, strict=True)]
        for obj_id, simhash in objs:
            self._assign_row(obj_id, simhash)
        # One call for all of them: rows are numbered in the order of the ids.
        if self._rows:
            self._index.add(None, self._to_words([value for value, _ in self._rows]))
        self.log.info("%s fingerprints indexed", len(self._rows))

    @property
    def offsets(self) -> list[int]:
        """The lowest bit of each of the k + 1 blocks. Two fingerprints within k bits agree in one of them."""
        return [self.f // (self.k + 1) * block for block in range(self.k + 1)]

    def _to_words(self, values: Iterable[int]) -> npt.NDArray[np.uint64]:
        mask = (1 << self.f) - 1
        return from_integers((value & mask for value in values), self.f)

    def _touch(self, simhash: Simhash) -> None:
        """Check the width of a fingerprint, and count its buckets."""
        _check_width(self.f, simhash)
        self._keys.update((simhash.value >> start & mask, block) for block, (start, mask) in enumerate(self._blocks))

    def _assign_row(self, obj_id: Any, simhash: Simhash) -> bool:
        """Give an entry a row; return False if it has one."""
        self._touch(simhash)
        entry = (simhash.value, str(obj_id))
        if entry in self._rows:
            return False
        self._rows[entry] = len(self._ids)
        self._ids.append(entry[1])
        return True

    def add(self, obj_id: Any, simhash: Simhash) -> None:
        """Add a fingerprint, unless this id has it already.

        Parameters
        ----------
        obj_id : str
        simhash : Simhash
        """
        if self._assign_row(obj_id, simhash):
            self._index.add(None, self._to_words([simhash.value]))

    def delete(self, obj_id: Any, simhash: Simhash) -> None:
        """Remove a fingerprint of an id, if it exists.

        Parameters
        ----------
        obj_id : str
        simhash : Simhash
        """
        self._touch(simhash)
        row = self._rows.pop((simhash.value, str(obj_id)), None)
        if row is not None:
            self._index.remove([row])

    def get_near_dups(self, simhash: Simhash) -> list[str]:
        """Return the ids of all fingerprints within k bits, nearest first, each once.

        Parameters
        ----------
        simhash : Simhash
        """
        self._touch(simhash)
        rows = self._index.search(self._to_words([simhash.value]), min(self.k, self.f)).ids
        return list(dict.fromkeys(self._ids[int(row)] for row in rows))

    def bucket_size(self) -> int:
        """Return the number of buckets of all fingerprints that were added, removed or searched for."""
        return len(self._keys)
