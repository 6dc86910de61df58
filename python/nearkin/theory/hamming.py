r"""Cost of a Hamming search: expected probes, candidates and memory of each method.

Symbols: n fingerprints of f bits (w = ceil(f / 64) words of 8 bytes), d = log2 n, radius k, all bits fair and
independent. A *probe* reads one bucket; a *candidate* is an entry of a bucket, which is compared in full. B(p, r) = sum
of C(p, j) for j <= r is the number of keys of p bits within distance r of a key.

```
scan    candidates n                             bytes 0
bits    list entries n f / 4                     bytes 4 n f / 2
blocks  k + 1 probes, candidates sum of n / 2^p_i        bytes n (4 h + 8 s (m - 1)) + sum of 4 (2^p_i + 1),  m = k + 1
tables  C(m, k) probes, candidates sum of n / 2^p_i      the same with C(m, k) tables
multi   sum of B(p_i, r_i) probes, each n / 2^p_i        the same with m tables;  sum of (r_i + 1) = k + 1
```

Bytes are those of the tables, in addition to the fingerprints. The last table is the sorted fingerprints. An entry of
every other table has a sketch of s words, at most 4: enough words for a random fingerprint to differ in more than k
bits. h tables have slot numbers: m - 1, or ceil(m / 2) if s = w and m > 1. p_i is the width of a table's key, at most
log2 n + 1 and 26, because a directory of 2^p starts replaces the search for a key (docs/hamming.md).

**Permuted tables** (Manku, Jain and Das Sarma 2007, section 3) have no directory, and the choice of blocks sets the
width of their keys. Divide f bits into r > k blocks; at least r - k of them agree. So C(r, k) tables, one for every
choice of r - k blocks, sorted with these bits first, find every match among the n / 2^p entries of equal key, p = (r -
k) f / r. The other k f / r bits of a choice can be divided again: that gives C(r, k) times as many tables, and a longer
key. With at most 2^t candidates per probe, the smallest number of tables is

    X(f, k, d) = 1                                                        if d <= t
    X(f, k, d) = min over r > k of C(r, k) X(k f / r, k, d - (r - k) f / r)       otherwise

For d = 34, f = 64, k = 3 it gives 4, 10, 16 and 20 tables as t falls, which are the configurations of the paper.

References
----------
.. [1] G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.
.. [2] M. Norouzi, A. Punjani, D. J. Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from nearkin.errors import bad_parameter, check_choice, check_count, check_number

Method = Literal["scan", "bits", "blocks", "tables", "multi"]

MAX_BITS = 1024
MAX_KEY_BITS = 26
"""Widest key of a directory: 2^26 starts are 256 MiB."""
MAX_SKETCH_WORDS = 4
_MAX_BLOCKS = 64
_MAX_TABLES = 1_000_000


@dataclass(frozen=True)
class HammingCost:
    """Expected cost of a search on random fingerprints.

    Attributes
    ----------
    tables : int
        Number of tables; 0 for the scan, the number of inverted lists for "bits".
    keys : tuple of int
        Bits of each table's key.
    radii : tuple of int
        Maximum distance of the keys that each table is probed with; -1 if it is not probed.
    probes : float
        Buckets that a query reads.
    candidates : float
        Entries that a query compares.
    table_bytes : int
        Bytes of the tables, without the fingerprints.
    total_bytes : int
        Including the fingerprints and 4 bytes for the row number of each, without ids.
    """

    tables: int
    keys: tuple[int, ...]
    radii: tuple[int, ...]
    probes: float
    candidates: float
    table_bytes: int
    total_bytes: int


def keys_within(bits: int, radius: int) -> int:
    """Return the number of keys of `bits` bits within `radius` of a key, including itself: sum of C(bits, j).

    Parameters
    ----------
    bits, radius : int
        0 or more.

    Examples
    --------
    >>> from nearkin.theory import keys_within
    >>> keys_within(16, 0), keys_within(16, 2), keys_within(4, 9)
    (1, 137, 16)
    """
    return sum(math.comb(bits, j) for j in range(radius + 1))


def _max_key_bits(n: int) -> int:
    return max(1, min((max(n, 2)).bit_length(), MAX_KEY_BITS))


def _distribute_radius(keys: Sequence[int], n: int, radius: int) -> tuple[int, ...] | None:
    """Return the radius of each table by lowest marginal cost, ties to the earlier; None if the keys are too short.

    Increasing the radius from r - 1 to r probes C(p, r) more buckets of n / 2^p entries.
    """
    radii = [-1] * len(keys)
    for _ in range(radius + 1):
        growing = [i for i, key in enumerate(keys) if radii[i] < key]
        if not growing:
            return None
        best = min(growing, key=lambda i: math.comb(keys[i], radii[i] + 1) * (1 + n / 2 ** keys[i]))
        radii[best] += 1
    return tuple(radii)


def hamming_cost(
    method: Method, n: int, bits: int, radius: int, *, blocks: int | None = None, sketch: int | None = None
) -> HammingCost:
    """Return the expected probes, candidates and memory of a search of random fingerprints.

    Parameters
    ----------
    method : {"scan", "bits", "blocks", "tables", "multi"}
        As for `HammingIndex`.
    n : int
        Number of distinct fingerprints, 1 or more.
    bits : int
        Width of the fingerprints, 1 to 1024.
    radius : int
        0 to bits.
    blocks : int, optional
        Number of blocks that the bits are divided into. "blocks" always has radius + 1; the default is radius + 2 for
        "tables", and the number with the lowest sum of probes and candidates for "multi".
    sketch : int, optional
        Words of the fingerprint in an entry of a table, 0 to its words; by default what the radius needs. 0 for
        an index under a memory limit that leaves no memory for sketches.

    Raises
    ------
    ParameterError
        An argument out of range.

    Examples
    --------
    >>> from nearkin.theory import hamming_cost
    >>> cost = hamming_cost("blocks", 10_000_000, 64, 3)
    >>> cost.tables, cost.keys, cost.probes, round(cost.candidates)
    (4, (16, 16, 16, 16), 4, 610)
    >>> hamming_cost("multi", 10_000_000, 64, 10, blocks=3).radii
    (3, 3, 2)
    """
    check_choice("method", method, "scan", "bits", "blocks", "tables", "multi")
    check_count("n", n, 1, 1 << 62, "1 or more")
    check_count("bits", bits, 1, MAX_BITS, f"1 to {MAX_BITS}")
    check_count("radius", radius, 0, bits, f"0 to bits={bits}")
    if blocks is not None:
        check_count("blocks", blocks, 1, bits, f"1 to bits={bits}, or None")
    words = -(-bits // 64)
    row_bytes = n * (8 * words + 4)
    if sketch is None:
        sketch = sketch_words(words, radius)
    check_count("sketch", sketch, 0, words, f"0 to {words} words, or None")
    if method == "scan":
        return HammingCost(0, (), (), 0, n, 0, row_bytes)
    if method == "bits":
        # Half of a query's bits are set, and the list of each contains half of the fingerprints.
        size = 4 * n * bits // 2
        return HammingCost(bits, (), (), bits / 2, n * bits / 4, size, row_bytes + size)
    if method == "multi":
        counts = range(1, min(radius + 1, bits, 24) + 1) if blocks is None else [blocks]
        costs = [cost for count in counts if (cost := _multi_cost(n, bits, radius, count, sketch)) is not None]
        if not costs:
            raise bad_parameter("blocks", blocks, f"blocks whose keys reach radius={radius}; more of them")
        return min(costs, key=lambda cost: cost.probes + cost.candidates)
    max_key = _max_key_bits(n)
    if method == "blocks":
        if radius >= bits or (blocks is not None and blocks != radius + 1):
            raise bad_parameter("blocks", blocks, f"radius + 1 = {radius + 1} blocks of at least one of {bits} bits")
        keys = [min(width, max_key) for width in block_widths(bits, radius + 1)]
    else:
        blocks = radius + 2 if blocks is None else blocks
        if not radius < blocks <= bits:
            raise bad_parameter("blocks", blocks, f"radius + 1 = {radius + 1} to bits={bits}")
        keys = [min(width, max_key) for width in _choice_widths(bits, radius, blocks)]
    return _tables_cost(n, bits, keys, [0] * len(keys), sketch)


def sketch_words(words: int, radius: int) -> int:
    """Return the words in which random fingerprints differ in more than `radius` bits, 2.6 sigma below the mean."""
    sufficient = (count for count in range(1, words) if 32 * count - 1.3 * math.sqrt(64 * count) > radius)
    return min(next(sufficient, words), MAX_SKETCH_WORDS)


def _multi_cost(n: int, bits: int, radius: int, blocks: int, sketch: int) -> HammingCost | None:
    keys = [min(width, _max_key_bits(n)) for width in block_widths(bits, blocks)]
    radii = _distribute_radius(keys, n, radius)
    return None if radii is None else _tables_cost(n, bits, keys, radii, sketch)


def _tables_cost(n: int, bits: int, keys: Sequence[int], radii: Sequence[int], sketch: int) -> HammingCost:
    words = -(-bits // 64)
    probes = [keys_within(key, radius) if radius >= 0 else 0 for key, radius in zip(keys, radii, strict=True)]
    copies = len(keys) - 1
    # Complete fingerprints are looked up by value: the later half of such tables has no slot numbers.
    numbered = sum(sketch < words or 2 * table < len(keys) for table in range(copies))
    size = n * (4 * numbered + 8 * sketch * copies) + sum(4 * (2**key + 1) for key in keys)
    candidates = sum(count * n / 2**key for count, key in zip(probes, keys, strict=True))
    return HammingCost(len(keys), tuple(keys), tuple(radii), sum(probes), candidates, size, size + n * (8 * words + 4))


def hamming_candidates(method: Method, n: int, bits: int, radius: int, *, blocks: int | None = None) -> float:
    """Return the expected candidates of a query: `hamming_cost(...).candidates`.

    Parameters
    ----------
    method, n, bits, radius, blocks
        As for `hamming_cost`.

    Examples
    --------
    >>> from nearkin.theory import hamming_candidates
    >>> hamming_candidates("scan", 1 << 20, 64, 3), hamming_candidates("blocks", 1 << 20, 64, 3)
    (1048576, 64.0)
    """
    return hamming_cost(method, n, bits, radius, blocks=blocks).candidates


def random_pairs(n: int, bits: int, radius: int = 0) -> float:
    """Return the expected number of pairs of n random fingerprints within a radius: C(n, 2) B(bits, radius) / 2^bits.

    These are false matches, in addition to pairs of similar documents. Fingerprints of real texts are less random, so
    this is a lower bound.

    Parameters
    ----------
    n : int
        Number of fingerprints, 1 or more.
    bits : int
        Width of the fingerprints, 1 to 1024.
    radius : int, default 0
        0 to bits.

    Raises
    ------
    ParameterError
        An argument out of range.

    Examples
    --------
    >>> from nearkin.theory import random_pairs
    >>> round(random_pairs(10**6, 20)), round(random_pairs(10**6, 64, 3), 4), round(random_pairs(10**9, 64, 3))
    (476837, 0.0012, 1186)
    """
    check_count("n", n, 1, 1 << 62, "1 or more")
    check_count("bits", bits, 1, MAX_BITS, f"1 to {MAX_BITS}")
    check_count("radius", radius, 0, bits, f"0 to bits={bits}")
    return n * (n - 1) // 2 * keys_within(bits, radius) / (1 << bits)


def bits_for(n: int, *, radius: int = 0, max_pairs: float | None = None) -> int:
    """Return the width of fingerprints that n documents need.

    Without `max_pairs` it is ceil(log2 n): just enough for every document to have a value of its own, if values were
    assigned. Hash values are not assigned but random. At this width the expected number of equal pairs is at least (n -
    1) / 4 (the birthday problem), and almost every fingerprint has others within 3 bits. With `max_pairs` it is the
    smallest width at which n random fingerprints have at most that many pairs within the radius (`random_pairs`).

    Parameters
    ----------
    n : int
        Number of documents, 1 or more.
    radius : int, default 0
        Radius of matches; only with `max_pairs`.
    max_pairs : float, optional
        Expected number of false matches that is allowed, above 0.

    Raises
    ------
    ParameterError
        An argument out of range, or more than 1024 bits are necessary.

    Examples
    --------
    >>> from nearkin.theory import bits_for
    >>> bits_for(10**6), bits_for(10**9)
    (20, 30)
    >>> bits_for(10**6, max_pairs=1), bits_for(10**6, radius=3, max_pairs=1), bits_for(10**9, radius=3, max_pairs=1)
    (39, 54, 75)
    """
    check_count("n", n, 1, 1 << 62, "1 or more")
    if max_pairs is None:
        check_count("radius", radius, 0, 0, "0, or max_pairs=, the number of false matches that is allowed")
        return max(1, (n - 1).bit_length())
    max_pairs = check_number("max_pairs", max_pairs, "a finite number above 0", lambda number: 0 < number < math.inf)
    check_count("radius", radius, 0, MAX_BITS, f"0 to {MAX_BITS}")
    widths = range(max(1, radius), MAX_BITS + 1)
    # The share of keys within a radius falls as they get wider.
    at = bisect_left(widths, True, key=lambda bits: random_pairs(n, bits, radius) <= max_pairs)
    if at < len(widths):
        return widths[at]
    raise bad_parameter("max_pairs", max_pairs, f"more pairs, or a smaller radius: {MAX_BITS} bits are not enough")


def block_widths(bits: int, blocks: int) -> list[int]:
    """Return the widths of equal blocks, the wider ones first."""
    return [bits // blocks + (i < bits % blocks) for i in range(blocks)]


def _choice_widths(bits: int, radius: int, blocks: int) -> list[int]:
    """Return the number of bits of every choice of `blocks - radius` blocks."""
    return [sum(choice) for choice in combinations(block_widths(bits, blocks), blocks - radius)]


@dataclass(frozen=True)
class PermutedTables:
    """A configuration of permuted, sorted tables for n = 2^d fingerprints.

    Attributes
    ----------
    splits : tuple of int
        Number of blocks that the bits are divided into, then the bits that were not chosen, and so on.
    keys : tuple of int
        p_i, the number of bits that must agree in table i.
    candidates : tuple of float
        2^(d - p_i), the expected number of entries with the same key in table i.
    """

    splits: tuple[int, ...]
    keys: tuple[int, ...]
    candidates: tuple[float, ...]

    @property
    def tables(self) -> int:
        """Number of tables, one per key."""
        return len(self.keys)


def _table_keys(bits: int, radius: int, splits: Sequence[int]) -> list[int]:
    if not splits:
        return [0]
    first, rest = splits[0], splits[1:]
    if not radius < first <= bits:
        raise bad_parameter("splits", first, f"radius + 1 = {radius + 1} to {bits} blocks of {bits} bits")
    return [
        chosen + more
        for chosen in _choice_widths(bits, radius, first)
        for more in _table_keys(bits - chosen, radius, rest)
    ]


def permuted_tables(bits: int, radius: int, log2_n: float, splits: Sequence[int]) -> PermutedTables:
    """Return the tables of a division of the bits, with integer block widths.

    Parameters
    ----------
    bits, radius : int
        1 to 1024; 0 to bits - 1.
    log2_n : float
        d, the binary logarithm of the number of fingerprints.
    splits : sequence of int
        Number of blocks of each level, more than `radius`.

    Raises
    ------
    ParameterError
        An argument out of range, or a level with fewer than radius + 1 blocks.

    Examples
    --------
    >>> from nearkin.theory import permuted_tables
    >>> config = permuted_tables(64, 3, 34, [6])
    >>> config.tables, min(config.keys), max(config.keys), max(config.candidates)
    (20, 31, 33, 8.0)
    """
    check_count("bits", bits, 1, MAX_BITS, f"1 to {MAX_BITS}")
    check_count("radius", radius, 0, bits - 1, f"0 to bits - 1 = {bits - 1}")
    keys = _table_keys(bits, radius, list(splits))
    return PermutedTables(tuple(splits), tuple(keys), tuple(2.0 ** (log2_n - key) for key in keys))


def tables_for(bits: int, radius: int, log2_n: float, log2_candidates: float) -> PermutedTables:
    """Return the fewest tables with at most 2^log2_candidates expected candidates per probe: the recursion X(f, k, d).

    Ties go to fewer levels, then to fewer candidates. The recursion uses blocks of f / r bits; the result has integer
    widths, so the candidates of a table may be slightly above or below the limit.

    Parameters
    ----------
    bits, radius : int
        f and k.
    log2_n, log2_candidates : float
        d and t.

    Raises
    ------
    ParameterError
        An argument out of range, or no configuration of up to a million tables reaches t.

    Examples
    --------
    >>> from nearkin.theory import tables_for
    >>> [tables_for(64, 3, 34, t).tables for t in (18, 9, 6, 3)]
    [4, 10, 16, 20]
    """
    check_count("bits", bits, 1, MAX_BITS, f"1 to {MAX_BITS}")
    check_count("radius", radius, 1, bits - 1, f"1 to bits - 1 = {bits - 1}")

    best: tuple[int, int, float, tuple[int, ...]] | None = None

    def walk(width: float, left: float, tables: int, splits: tuple[int, ...]) -> None:
        nonlocal best
        # The tolerance is for fractions whose exact sum is an integer: 34 - 16 - 12 = 6.
        if left <= log2_candidates + 1e-9:
            config = (tables, len(splits), left, splits)
            best = config if best is None or config < best else best
            return
        # At most `width - radius` bits can be required to agree.
        if left - (width - radius) > log2_candidates:
            return
        for r in range(radius + 1, min(int(width), _MAX_BLOCKS) + 1):
            more = tables * math.comb(r, radius)
            if more > (_MAX_TABLES if best is None else best[0]):
                break
            walk(width * radius / r, left - (r - radius) * width / r, more, (*splits, r))

    walk(bits, log2_n, 1, ())
    if best is None:
        raise bad_parameter("log2_candidates", log2_candidates, "more candidates per probe, or more bits")
    return permuted_tables(bits, radius, log2_n, best[3])
