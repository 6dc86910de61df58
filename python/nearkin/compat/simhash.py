"""`Simhash` and `SimhashIndex` as the PyPI package simhash 2.1.2 has them, over nearkin's core.

A fingerprint of f bits of features with weights w and hash bits b_i, i = 0 the highest:

    bit i = 1 where Σ w b_i > (Σ w) / 2

A text is lower-cased, what the pattern `reg` finds in it is joined, and its windows of four characters are the
features, each with the number of its occurrences; a shorter text is one feature, an empty one too. The hash of a
feature is the last f / 8 bytes of `hashfunc`, by default MD5.

Values are the package's for every f, `reg` and `hashfunc`, with two habits of it that change values and are kept: in a
list that mixes features with and without weight, one without has the weight of the last one before it that had one; and
a whole weight below zero takes part in Σ w, not in Σ w b_i.

What differs:

- Weights above 255 count. With NumPy 2 the package ends with an OverflowError, with NumPy 1 it gives this value.
- A hash of fewer than f / 8 bytes (MD5 with f above 128) is a `ParameterError`. The package ends with an error too, or
  puts hashes of several features side by side.
- Weights that are not finite are a `ParameterError`; the package gives 0. Sums of narrow NumPy integers do not wrap.
- `SimhashIndex` finds by `nearkin.HammingIndex`, whose time does not depend on how full a bucket is. It logs no keys
  and no full buckets, `bucket` is a copy, f is at most 1024, and ids come nearest first.

Cost: texts of the default `reg` and `hashfunc` up to 128 bits are hashed by the core, anything else by NumPy. Many
texts are faster in one call of `nearkin.fingerprint(texts, "simhash-pypi")`. Tests:
`tests/compat/test_compat_simhash.py`.
"""

from __future__ import annotations

import decimal
import hashlib
import logging
import math
import numbers
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import MismatchError, ParameterError, bad_parameter
from nearkin.index.hamming import HammingIndex
from nearkin.recipe import Recipe

__all__ = ["Simhash", "SimhashIndex", "SimhashWidthError"]

HashFunction: TypeAlias = "Callable[[bytes], Any]"
Weighted: TypeAlias = "list[tuple[str, Any, bool]]"
"""Features, their weights, and whether the package counts them in one block with others: a weight below zero then adds
to the sum of all weights alone."""

_REG = r"[\w\u4e00-\u9fcc]+"
_WIDTH = 4
# Rows of bits that are summed at a time: a megabyte for each byte of a fingerprint.
_ROWS = 1 << 14
# Sums of whole weights stay within 64 bits.
_MOST = 1 << 62


class SimhashWidthError(MismatchError, AssertionError):
    """Fingerprints of different f meet; where the package asserts, so that callers who catch that still do."""


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


class Simhash:
    r"""The fingerprint of a text or of weighted features.

    Parameters
    ----------
    value : str, iterable of str or of (str, weight), dict of str to weight, int or Simhash
        What is hashed; an int is a fingerprint itself, and a Simhash gives its own.
    f : int, default 64
        Width in bits, a multiple of 8.
    reg : str or compiled pattern, default ``[\w\u4e00-\u9fcc]+``
        What is kept of a text.
    hashfunc : function of bytes, default MD5
        Gives bytes, of which the last f / 8 count, or an int, of which the lowest f bits do.
    log : logging.Logger, optional

    Attributes
    ----------
    value : int
        The fingerprint.
    f, reg, hashfunc, log
        As given.

    Raises
    ------
    ParameterError
        `f` is no multiple of 8, or wider than the hash; a weight is not finite.
    TypeError
        `value`, a feature or what `hashfunc` gives is of another type.

    Examples
    --------
    >>> from nearkin.compat.simhash import Simhash
    >>> a, b = Simhash("How are you? I AM fine."), Simhash("How are you? I am fine!")
    >>> hex(a.value), a.distance(b)
    ('0xb513c88ea87ea888', 0)
    """

    large_weight_cutoff = 50
    batch_size = 200
    __hash__: ClassVar[None]  # type: ignore[assignment]  # as in the package: equality without a hash

    def __init__(
        self,
        value: Any,
        f: int = 64,
        reg: str | re.Pattern[str] = _REG,
        hashfunc: HashFunction = _md5,
        log: logging.Logger | None = None,
    ) -> None:
        if not _is_whole(f) or f <= 0 or f % 8:
            raise bad_parameter("f", repr(f), "a multiple of 8, 8 or more")
        self.f = int(f)
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
        """Whether the core has the hash function at this width."""
        return self.hashfunc is _md5 and self.f <= 128

    def build_by_text(self, content: str) -> None:
        """Take the fingerprint of a text.

        Parameters
        ----------
        content : str
        """
        in_core = self._in_core and self.reg == _REG
        value: int | None = None
        if in_core and content.isascii():
            value = _of_text(_recipe(self.f, whole=False), content)
        if value is None:
            kept = "".join(re.findall(self.reg, content.lower()))
            # What `\w` is depends on the Unicode version of this Python: windows and hashes alone are left to the core.
            value = _of_text(_recipe(self.f, whole=True), kept) if in_core and kept else self._of_kept(kept)
        self.value = self._of_kept("") if value is None else value

    def _of_kept(self, kept: str) -> int:
        """The fingerprint of the windows of what was kept of a text."""
        windows = Counter(kept[start : start + _WIDTH] for start in range(max(len(kept) - _WIDTH + 1, 1)))
        return self._of_counts(list(windows), list(windows.values()))

    def build_by_features(self, features: Mapping[str, Any] | Iterable[Any]) -> None:
        """Take the fingerprint of features.

        Parameters
        ----------
        features : dict of str to weight, or iterable of str or (str, weight)
            A feature without weight has 1, or the weight of the last one before it that had one.
        """
        features = list(features.items() if isinstance(features, Mapping) else features)
        plain = _plain(features)
        if plain is not None:
            self.value = self._of_counts(*plain)
            return
        weighted = _weighted(features, self.large_weight_cutoff)
        if all(type(weight) is int for _, weight, _ in weighted):
            names = [feature for feature, _, _ in weighted]
            votes = [max(weight, 0) if light else weight for _, weight, light in weighted]
            self.value = self._of_counts(names, votes, sum(weight for _, weight, _ in weighted))
        else:
            self.value = self._of_numbers(weighted)

    def _of_counts(self, names: Sequence[str], votes: Sequence[int], total: int | None = None) -> int:
        """The fingerprint of features with whole weights, in integers; `total` where it is not their sum."""
        size = sum(map(abs, votes))
        total = sum(votes) if total is None else total
        if max(size, abs(total)) > _MOST:
            raise bad_parameter("features", f"weights of {total} in all", f"weights of at most {_MOST} in all")
        if self._in_core and names and total == size:
            encoded = [name.encode() for name in names]
            ends = np.array([0, len(names)], dtype=np.int64)
            return _joined(_given(self.f).fingerprints_given(ends, encoded, np.array(votes, dtype=np.int64)))
        # Sums of floats are exact, and fast, up to 2^53.
        kind = np.float64 if size < 1 << 53 else np.int64
        sums = np.zeros(self.f, dtype=np.int64)
        for start in range(0, len(names), _ROWS):
            bits = self._bits(names[start : start + _ROWS])
            sums += (np.array(votes[start : start + _ROWS], dtype=kind) @ bits.astype(kind)).astype(np.int64)
        return _packed(2 * sums > total)

    def _of_numbers(self, weighted: Weighted) -> int:
        """The fingerprint of features of which some have other weights than whole ones.

        The order in which floats are added decides whether a bit ties: light features are added in blocks of
        `batch_size`, each of which takes its place where it is full, the last one at the end.
        """
        rows: list[npt.NDArray[Any]] = []
        block: list[tuple[str, int]] = []
        total: Any = 0
        for feature, weight, light in weighted:
            total += weight
            if light:
                block.append((feature, weight))
                if len(block) >= self.batch_size:
                    rows.append(self._light(block))
                    block = []
            else:
                bits = self._bits([feature])[0]
                rows.append((bits.astype(np.int64) if isinstance(weight, int) else bits) * weight)
            if len(rows) >= self.batch_size:
                rows = [np.sum(rows, 0)]
        if block:
            rows.append(self._light(block))
        return _packed(np.asarray(np.sum(rows, 0) > total / 2, dtype=bool))

    def _light(self, block: list[tuple[str, int]]) -> npt.NDArray[np.int64]:
        weights = np.array([max(weight, 0) for _, weight in block], dtype=np.int64)
        sums: npt.NDArray[np.int64] = weights @ self._bits([feature for feature, _ in block]).astype(np.int64)
        return sums

    def _bits(self, features: Sequence[str]) -> npt.NDArray[np.uint8]:
        """The bits of the features' hashes, a row for each, highest first."""
        if self.hashfunc is _md5 and self.f <= 128:
            joined = b"".join([_md5(feature.encode())[-self.f_bytes :] for feature in features])
        else:
            joined = b"".join([self._hash(feature.encode()) for feature in features])
        return np.unpackbits(np.frombuffer(joined, dtype=np.uint8)).reshape(len(features), self.f)

    def _hash(self, feature: bytes) -> bytes:
        found = self.hashfunc(feature)
        if self.hashfunc_returns_int:
            return int(found & (1 << self.f) - 1).to_bytes(self.f_bytes, "big")
        if not isinstance(found, bytes):
            raise TypeError(f"hashfunc gave a {type(found).__name__}; it must give bytes, or an int for every feature")
        if len(found) < self.f_bytes:
            allowed = f"f up to {8 * len(found)}, or a hashfunc of {self.f_bytes} bytes or more"
            raise bad_parameter("f", f"{self.f} with a hash of {8 * len(found)} bits", allowed)
        return found[-self.f_bytes :]

    def distance(self, another: Simhash) -> int:
        """How many bits differ.

        Parameters
        ----------
        another : Simhash
            Of the same f.

        Raises
        ------
        SimhashWidthError
            Of another f.
        """
        _check_width(self.f, another)
        return ((self.value ^ another.value) & ((1 << self.f) - 1)).bit_count()


@cache
def _given(f: int) -> Any:
    """The core's MD5 fingerprints of given features."""
    return Recipe(f"given|md5|simhash:{f}").core


@cache
def _recipe(f: int, *, whole: bool) -> Any:
    """The package's recipe in the core; `whole` for what is lower-cased and has its letters alone."""
    steps = "case:keep|letters:all" if whole else "case:lower|letters:python"
    return Recipe(f"norm:none|{steps}|char:{_WIDTH}|count|md5|simhash:{f}").core


def _of_text(core: Any, text: str) -> int | None:
    """The fingerprint of one text; None if it has no features."""
    values, counts = core.fingerprints([text])
    return _joined(values) if counts[0] else None


def _joined(words: npt.NDArray[np.uint64]) -> int:
    """The words of one fingerprint as one number, the first of them lowest."""
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def _plain(features: list[Any]) -> tuple[Sequence[str], Sequence[int]] | None:
    """Names and weights of features that are all str, or all (str, int) with no weight below zero; None of others."""
    kinds = set(map(type, features))
    if kinds == {str}:
        return features, [1] * len(features)
    if kinds != {tuple} or set(map(len, features)) != {2}:
        return None
    names, weights = zip(*features, strict=True)
    whole = set(map(type, names)) == {str} and set(map(type, weights)) == {int} and min(weights) >= 0
    return (names, weights) if whole else None


def _weighted(features: list[Any], cutoff: int) -> Weighted:
    """Features with their weights; whole weights of any type as int."""
    found: Weighted = []
    weight: Any = 1
    for one in features:
        if isinstance(one, str):
            if type(weight) is not int:
                allowed = "(str, weight) after one whose weight is not whole"
                raise bad_parameter("features", f"{one!r} after a weight of {weight}", allowed)
            found.append((one, weight, True))
            continue
        try:
            feature, weight = one
        except TypeError:
            raise TypeError(f"a feature is a {type(one).__name__}; use a str or (str, weight)") from None
        except ValueError:
            raise bad_parameter("features", repr(one), "str or (str, weight)") from None
        light = isinstance(weight, int) and weight <= cutoff
        if not isinstance(feature, str) or (type(weight) is not int and not _is_number(weight)):
            kinds = f"({type(feature).__name__}, {type(weight).__name__})"
            raise TypeError(f"a feature is a {kinds}; use a str or (str, weight)")
        if type(weight) is not int:
            if not math.isfinite(weight):
                raise bad_parameter("features", repr(one), "finite weights")
            weight = int(weight) if isinstance(weight, numbers.Integral) else weight
        found.append((feature, weight, light))
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, (float, numbers.Real, decimal.Decimal))


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _packed(bits: npt.NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def _check_width(f: int, other: Any) -> None:
    if other.f != f:
        message = f"f differs: {f} against {other.f}; compare only what was made alike"
        raise SimhashWidthError(message, what="f", left=f, right=other.f)


class SimhashIndex:
    """Fingerprints by id, and what lies within k bits of one.

    Parameters
    ----------
    objs : sequence of (id, Simhash)
    f : int, default 64
        Width of all fingerprints, 1 to 1024.
    k : int, default 2
        Largest distance of a near-duplicate, inclusive.
    log : logging.Logger, optional

    Attributes
    ----------
    f, k, log
        As given.

    Raises
    ------
    ParameterError
        `f` or `k` outside its range.
    SimhashWidthError
        A fingerprint of another f.

    Notes
    -----
    Ids are kept as `str(id)`, and an id may have several fingerprints. Every fingerprint within k bits is found.

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
        if not _is_whole(k) or k < 0:
            raise bad_parameter("k", repr(k), "0 or more")
        self.k = int(k)
        self.f = f
        self.log = logging.getLogger("simhash") if log is None else log
        try:
            self._index = HammingIndex(bits=f, radius=min(self.k, f))
        except (ParameterError, TypeError):
            raise bad_parameter("f", repr(f), "1 to 1024") from None
        self._words = -(-f // 64)
        self._ids: list[str] = []
        self._rows: dict[tuple[int, str], int] = {}
        self._keys: set[tuple[int, int]] = set()
        self._blocks = self._cut()
        for obj_id, simhash in objs:
            self._note(obj_id, simhash)
        # One call for all of them; rows are numbered in the order in which they were noted.
        if self._rows:
            self._index.add(None, self._flat([value for value, _ in self._rows]))
        self.log.info("%s fingerprints indexed", len(self._rows))

    def _cut(self) -> list[tuple[int, int]]:
        """First bit and mask of each block."""
        starts = self.offsets
        return [(start, (1 << end - start) - 1) for start, end in zip(starts, [*starts[1:], self.f], strict=True)]

    @property
    def offsets(self) -> list[int]:
        """The lowest bit of each of the k + 1 blocks; two fingerprints within k bits agree in one of them."""
        return [self.f // (self.k + 1) * block for block in range(self.k + 1)]

    def get_keys(self, simhash: Simhash) -> Iterator[str]:
        """The names of the buckets of a fingerprint.

        Parameters
        ----------
        simhash : Simhash
        """
        return (f"{bits:x}:{block:x}" for bits, block in self._places(simhash.value))

    def _places(self, value: int) -> Iterator[tuple[int, int]]:
        return ((value >> start & mask, block) for block, (start, mask) in enumerate(self._blocks))

    def _flat(self, values: Iterable[int]) -> npt.NDArray[np.uint64]:
        mask = (1 << self.f) - 1
        joined = b"".join((value & mask).to_bytes(8 * self._words, "little") for value in values)
        flat = np.frombuffer(joined, dtype="<u8").astype(np.uint64)
        return flat if self._words == 1 else flat.reshape(-1, self._words)

    def _note(self, obj_id: Any, simhash: Simhash) -> bool:
        """Give an entry a row; False if it is there already."""
        _check_width(self.f, simhash)
        entry = (simhash.value, str(obj_id))
        if entry in self._rows:
            return False
        self._rows[entry] = len(self._ids)
        self._ids.append(entry[1])
        self._keys.update(self._places(simhash.value))
        return True

    def add(self, obj_id: Any, simhash: Simhash) -> None:
        """Add a fingerprint; one that is there under this id stays once.

        Parameters
        ----------
        obj_id : str
        simhash : Simhash
        """
        if self._note(obj_id, simhash):
            self._index.add(None, self._flat([simhash.value]))

    def delete(self, obj_id: Any, simhash: Simhash) -> None:
        """Remove a fingerprint of an id; what is not there is left out.

        Parameters
        ----------
        obj_id : str
        simhash : Simhash
        """
        _check_width(self.f, simhash)
        self._keys.update(self._places(simhash.value))
        row = self._rows.pop((simhash.value, str(obj_id)), None)
        if row is not None:
            self._index.remove([row])

    def get_near_dups(self, simhash: Simhash) -> list[str]:
        """The ids of all fingerprints within k bits, nearest first, each once.

        Parameters
        ----------
        simhash : Simhash
        """
        _check_width(self.f, simhash)
        self._keys.update(self._places(simhash.value))
        found = self._index.search(self._flat([simhash.value]), min(self.k, self.f)).ids
        return list(dict.fromkeys(self._ids[int(row)] for row in found))

    def bucket_size(self) -> int:
        """How many buckets there are: those of all fingerprints that were added, removed or asked for."""
        return len(self._keys)

    @property
    def bucket(self) -> dict[str, set[str]]:
        """A copy of the buckets: by name, what is in them as ``fingerprint,id``, the fingerprint in hexadecimal."""
        found: dict[str, set[str]] = {f"{bits:x}:{block:x}": set() for bits, block in self._keys}
        for value, name in self._rows:
            for bits, block in self._places(value):
                found[f"{bits:x}:{block:x}"].add(f"{value:x},{name}")
        return found
