"""nearkin's results computed again in plain Python: slow, obvious, and without a line of the package.

Texts to features by `unicodedata` and `re`, feature hashes by `hashlib`, `xxhash`, `mmh3` or from their specification,
sums of signs by integers, deduplication from its definition. Words of UAX #29 are not here: the standard library has
none.
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import mmh3
import numpy as np
import xxhash

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1

# Alphabetic characters whose general category is So (PropList.txt, Other_Alphabetic): circled and squared letters.
_ALPHABETIC_SYMBOLS = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))

# White_Space of PropList.txt; `str.split` also treats the separators U+001C to U+001F as spaces.
_WHITE_SPACE = "[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
NO_SPACE = _WHITE_SPACE.replace("[", "[^")
"""What is between white space."""


# Letters and marks among the Default_Ignorable_Code_Points (DerivedCoreProperties.txt): fillers, inherents, selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def is_letter(character: str, letters: str) -> bool:
    """Return True for a letter by `word` (UTS #18 annex C), `python` (that of `re`) or `all`."""
    if letters == "all":
        return True
    if letters == "python":
        return re.fullmatch(r"\w", character) is not None
    category = unicodedata.category(character)
    symbol = any(low <= ord(character) <= high for low, high in _ALPHABETIC_SYMBOLS)
    word = category[0] in "LM" or category in ("Nd", "Nl", "Pc") or symbol
    return word and not _INVISIBLE.fullmatch(character)


def normalise(text: str, norm: str, case: str) -> str:
    """Return the text after Unicode normalisation and its case rule."""
    text = text if norm == "none" else unicodedata.normalize(norm.upper(), text)  # type: ignore[arg-type]
    return {"fold": str.casefold, "lower": str.lower, "keep": str}[case](text)  # type: ignore[no-any-return, operator]


def features(
    text: str, kind: str, n: int, *, norm: str, case: str, letters: str, stop_words: Iterable[str] = (), min_n: int = 0
) -> list[str]:
    """Return every feature of a text, with repetitions; mixed n-grams by where they end."""
    text = normalise(text, norm, case)
    if kind == "char":
        units: Sequence[str] = "".join(character for character in text if is_letter(character, letters))
        join = ""
    else:
        stops = {normalise(word, norm, case) for word in stop_words}
        result = re.findall(r"\w+", text) if letters == "python" else re.split(_WHITE_SPACE, text)
        units, join = [word for word in result if word and word not in stops], " "
    minimum = min_n or n
    if len(units) < minimum:
        return [join.join(units)] if units else []
    ends = range(1, len(units) + 1)
    return [join.join(units[end - m : end]) for end in ends for m in range(minimum, min(n, end) + 1)]


def fnv1a(data: bytes) -> int:
    """Return FNV-1a of 64 bits (RFC 9923)."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & M64
    return value


def one_at_a_time(data: bytes) -> int:
    """Return Jenkins' one-at-a-time hash, 32 bits."""
    value = 0
    for byte in data:
        value = (value + byte) & M32
        value = (value + (value << 10)) & M32
        value ^= value >> 6
    value = (value + (value << 3)) & M32
    value ^= value >> 11
    return (value + (value << 15)) & M32


def lookup3(data: bytes, seed: int) -> int:
    """Return Jenkins' hashlittle2 with seeds (low, high) half of `seed`: c + b · 2^32."""

    def rotate(value: int, by: int) -> int:
        return (value << by | value >> (32 - by)) & M32

    low, high = seed & M32, seed >> 32
    a = b = (0xDEADBEEF + len(data) + low) & M32
    c = (a + high) & M32
    if not data:
        return c | b << 32
    while len(data) > 12:
        a = (a + int.from_bytes(data[0:4], "little")) & M32
        b = (b + int.from_bytes(data[4:8], "little")) & M32
        c = (c + int.from_bytes(data[8:12], "little")) & M32
        a, c = ((a - c) & M32) ^ rotate(c, 4), (c + b) & M32
        b, a = ((b - a) & M32) ^ rotate(a, 6), (a + c) & M32
        c, b = ((c - b) & M32) ^ rotate(b, 8), (b + a) & M32
        a, c = ((a - c) & M32) ^ rotate(c, 16), (c + b) & M32
        b, a = ((b - a) & M32) ^ rotate(a, 19), (a + c) & M32
        c, b = ((c - b) & M32) ^ rotate(b, 4), (b + a) & M32
        data = data[12:]
    data = data.ljust(12, b"\0")
    a = (a + int.from_bytes(data[0:4], "little")) & M32
    b = (b + int.from_bytes(data[4:8], "little")) & M32
    c = (c + int.from_bytes(data[8:12], "little")) & M32
    c = ((c ^ b) - rotate(b, 14)) & M32
    a = ((a ^ c) - rotate(c, 11)) & M32
    b = ((b ^ a) - rotate(a, 25)) & M32
    c = ((c ^ b) - rotate(b, 16)) & M32
    a = ((a ^ c) - rotate(c, 4)) & M32
    b = ((b ^ a) - rotate(a, 14)) & M32
    c = ((c ^ b) - rotate(b, 24)) & M32
    return c | b << 32


def jenkins64(data: bytes, seed: int) -> int:
    """Return lookup3 with its halves and those of its seed exchanged: c · 2^32 + b."""
    value = lookup3(data, (seed & M32) << 32 | seed >> 32)
    return (value & M32) << 32 | value >> 32


def exact(weight: float) -> Fraction:
    """Return a float as an exact number."""
    return Fraction(weight)


def _digest(name: str) -> tuple[int, Callable[[bytes], int]]:
    size = hashlib.new(name).digest_size
    return 8 * size, lambda data: int.from_bytes(hashlib.new(name, data).digest(), "big")


_UNSEEDED: dict[str, tuple[int, Callable[[bytes], int]]] = {
    "fnv1a": (64, fnv1a),
    "one_at_a_time": (64, one_at_a_time),
} | {name: _digest(name) for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")}
"""How many bits a value has, and the value."""
_SEEDED: dict[str, Callable[[bytes, int], int]] = {
    "xxh3": lambda data, seed: xxhash.xxh3_64_intdigest(data, seed & M64),
    "lookup3": lambda data, seed: lookup3(data, seed & M64),
    "jenkins64": lambda data, seed: jenkins64(data, seed & M64),
}


def hash_word(name: str, data: bytes, seed: int = 0, word: int = 0) -> int:
    """Return word `word` of a feature: its values, one above the other, with other seeds or a byte in front."""
    if name in _SEEDED:
        return _SEEDED[name](data, seed + word)
    if name == "murmur3":
        return mmh3.hash64(data, seed + word // 2 & M32, True, signed=False)[word % 2]
    width, value = _UNSEEDED[name]
    above = sum(
        value(bytes([number]) * (number > 0) + data) << number * width for number in range(64 * word // width + 2)
    )
    return above >> 64 * word & M64


def sums(hashes: Iterable[tuple[int, int | Fraction]], bits: int) -> list[int | Fraction]:
    """Return V_i = sum of w (2 b_i - 1) over (hash, weight), lowest bit first."""
    totals: list[int | Fraction] = [0] * bits
    for value, weight in hashes:
        for i in range(bits):
            totals[i] += weight if value >> i & 1 else -weight
    return totals


def signs(totals: Iterable[int | Fraction]) -> int:
    """Return the number whose bit i is 1 where V_i > 0."""
    return sum(1 << i for i, total in enumerate(totals) if total > 0)


def simhash(weighted: Iterable[tuple[bytes, int | Fraction]], bits: int, name: str, seed: int = 0) -> int:
    """Return the fingerprint of weighted features as one integer."""
    words = [
        (sum(hash_word(name, data, seed, word) << 64 * word for word in range(-(-bits // 64))), weight)
        for data, weight in weighted
    ]
    return signs(sums(words, bits))


def simhash_of_text(text: str, slots: dict[str, object]) -> tuple[int, int]:
    """Return the fingerprint and the number of features of a text, from the slots of a recipe's JSON form."""
    result = features(
        text,
        str(slots["features"]),
        int(str(slots["n"])),
        norm=str(slots["norm"]),
        case=str(slots["case"]),
        letters=str(slots["letters"]),
        stop_words=slots["stop_words"],  # type: ignore[arg-type]
        min_n=int(str(slots.get("min_n", 0))),
    )
    counts = Counter(result)
    weighted = [(name.encode(), 1 if slots["weight"] == "binary" else count) for name, count in counts.items()]
    value = simhash(weighted, int(str(slots["bits"])), str(slots["hash"]), int(str(slots["seed"])))
    return value, sum(weight for _, weight in weighted)


def common_length(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return the length of the longest common subsequence by its recurrence."""
    row = [0] * (len(b) + 1)
    for x in a:
        before = row
        row = [0]
        for j, y in enumerate(b):
            row.append(before[j] + 1 if x == y else max(before[j + 1], row[j]))
    return row[-1]


def absorb(order: Sequence[Any], match: Callable[[Any, Any], bool]) -> dict[Any, Any]:
    """Keep, then absorb, by definition: return for each row of `order` its representative, maybe itself."""
    by: dict[Any, Any] = {}
    for row in order:
        if row in by:
            continue
        by[row] = row
        for other in order:
            if other not in by and match(row, other):
                by[other] = row
    return by


def components(order: Sequence[Any], match: Callable[[Any, Any], bool]) -> dict[Any, Any]:
    """Return for each row the first row, in this order, that a chain of matches reaches."""
    by: dict[Any, Any] = {}
    for first in order:
        if first in by:
            continue
        by[first] = first
        front = [first]
        while front:
            row = front.pop()
            for other in order:
                if other not in by and match(row, other):
                    by[other] = first
                    front.append(other)
    return by


def clusters(rule: Any, order: Sequence[Any], match: Callable[[Any, Any], bool]) -> list[list[Any]]:
    """Return the clusters of two rows or more by one of the rules above, in the order of their first rows."""
    by = rule(order, match)
    members: dict[Any, list[Any]] = {}
    for row in order:
        members.setdefault(by[row], []).append(row)
    return [rows for rows in members.values() if len(rows) > 1]


def within(fps: Any, ids: Sequence[Any], query: Any, radius: int) -> list[tuple[int, Any]]:
    """Return (distance, id) of the fingerprints within a radius of one query, sorted."""
    result = ((distance(fp, query), i) for fp, i in zip(fps, ids, strict=True))
    return sorted(pair for pair in result if pair[0] <= radius)


def distance(a: Any, b: Any) -> int:
    """Return the number of bits in which two fingerprints differ."""
    pairs = zip(np.atleast_1d(a).tolist(), np.atleast_1d(b).tolist(), strict=True)
    return sum((x ^ y).bit_count() for x, y in pairs)


# Evaluation


def bcubed(result: dict[str, int], true: dict[str, int]) -> tuple[Fraction, Fraction]:
    """Return B-cubed precision and recall of two clusterings of the same ids, document by document."""
    precision = recall = Fraction(0)
    for name in result:
        of_found = {other for other in result if result[other] == result[name]}
        of_true = {other for other in true if true[other] == true[name]}
        precision += Fraction(len(of_found & of_true), len(of_found))
        recall += Fraction(len(of_found & of_true), len(of_true))
    return precision / len(result), recall / len(result)


def pairs_of_clusters(clusters: dict[str, int]) -> set[tuple[str, str]]:
    """Return every pair of ids in one cluster."""
    return {(a, b) for a in clusters for b in clusters if a < b and clusters[a] == clusters[b]}


def clusters_of_pairs(names: Iterable[str], pairs: set[tuple[str, str]]) -> dict[str, int]:
    """Return the connected components of pairs."""
    order = sorted(names)
    by = components(range(len(order)), lambda i, j: (order[min(i, j)], order[max(i, j)]) in pairs)
    return {order[row]: first for row, first in by.items()}


# Neighbours of vectors


def true_distance(metric: str, query: Any, row: Any) -> float:
    """Return the true distance of two vectors in float64; the negative product for "inner_product"."""
    q, x = np.asarray(query, dtype=np.float64), np.asarray(row, dtype=np.float64)
    if metric == "l1":
        return float(np.abs(q - x).sum())
    if metric == "cosine":
        return float(1 - q @ x / math.sqrt(float(q @ q) * float(x @ x)))
    return float(-q @ x) if metric == "inner_product" else math.sqrt(float(((q - x) ** 2).sum()))


def nearest(metric: str, query: Any, rows: Any, among: Iterable[int], k: int) -> list[tuple[int, float]]:
    """Return the k nearest of the named rows with their distances, ties by row."""
    ranked = sorted((true_distance(metric, query, rows[row]), row) for row in among)
    return [(row, far) for far, row in ranked[:k]]


def probe_keys(
    values: Sequence[int], others: Sequence[Sequence[int]], costs: Sequence[Sequence[float]], count: int
) -> list[tuple[int, ...]]:
    """Return the key and its changes by cost, by sorting every valid set; the first `count`."""
    choices = [
        [(0.0, value), *zip(cost, other, strict=True)] for value, other, cost in zip(values, others, costs, strict=True)
    ]
    ranked = sorted(
        ((math.fsum(cost for cost, _ in chosen), tuple(value for _, value in chosen)) for chosen in product(*choices)),
        key=lambda item: item[0],
    )
    return [key for _, key in ranked[:count]]


def bucket_candidates(keys: Any, layout: Any, probes: Sequence[Sequence[tuple[int, ...]]]) -> list[int]:
    """Return rows whose key in a table is among its probes; `keys` contains every hash of every row."""
    result = set()
    for columns, target in zip(layout, probes, strict=True):
        table: dict[tuple[int, ...], list[int]] = {}
        for row, values in enumerate(keys):
            table.setdefault(tuple(int(values[column]) for column in columns), []).append(row)
        for key in target:
            result.update(table.get(tuple(int(value) for value in key), []))
    return sorted(result)
