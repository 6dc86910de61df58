r"""Every step of a Hamming search: which lists and blocks are read, which candidates are compared, what matches.

    query → keys → entries of their buckets → distinct candidates → comparisons → matches

The same query is answered in three ways, over n fingerprints of f bits with radius k:

| method | reads | entries | compares |
|---|---|---|---|
| `scan` | everything | n | n |
| `bits` | f inverted lists: for each bit that of the query's value | Σ (f - d) | each fingerprint in a list |
| `blocks` | k + 1 buckets, one per block of the query | Σ of their sizes | each fingerprint in a bucket |

d is the distance of a fingerprint. A fingerprint is in some list of `bits` unless it differs in all f bits. So these
lists have n f / 2 entries of random fingerprints to read, and exclude none. Of k + 1 blocks at least one agrees exactly
if at most k bits differ (pigeonhole principle), and a block of p random bits agrees with probability 2^-p.

These are the methods by definition. `HammingIndex` with `method="bits"` walks only the lists of set bits and derives
distances from counts. With `method="blocks"` it shortens keys to about log2 n bits, and so compares more. Its own
choice and expected costs are in `HammingIndex.explain`.

Cost: O(n f / 64) for one query; the fingerprints are copied. Test: `tests/explain/test_explain_search.py`.

References
----------
.. [1] G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nearkin.errors import bad_parameter, check_count
from nearkin.explain.render import MAX_ROWS, Rendered, to_json
from nearkin.families.simhash import fingerprint
from nearkin.index.fingerprints import Fingerprints, flat_rows, hamming, to_hex, words_per_row
from nearkin.index.hamming import HammingIndex
from nearkin.theory.hamming import block_widths


@dataclass(frozen=True)
class MethodSteps:
    """What one method does for a query.

    Attributes
    ----------
    method : {"scan", "bits", "blocks"}
    lists : int
        Lists or buckets that are read; 0 for the scan.
    entries : int
        Their entries; a fingerprint counts once for every list that it is in.
    comparisons : int
        Distinct fingerprints whose distance is computed.
    """

    method: str
    lists: int
    entries: int
    comparisons: int


@dataclass(frozen=True)
class BlockSteps:
    """The bucket of one block of the query.

    Attributes
    ----------
    highest, lowest : int
        The first and the last of its bits, inclusive; bit 0 is the lowest of the fingerprint.
    key : str
        Their digits in the query.
    candidates : tuple of (int or str, int)
        Ids and distances of the fingerprints with this key, nearest first, ties in order of addition.
    """

    highest: int
    lowest: int
    key: str
    candidates: tuple[tuple[int | str, int], ...]


@dataclass(frozen=True)
class SearchSteps(Rendered):
    """Every step of a search in a `HammingIndex`.

    Attributes
    ----------
    bits, radius : int
    query : str
        The fingerprint in hexadecimal digits.
    num_fingerprints : int
    methods : tuple of MethodSteps
        `scan`, `bits`, and `blocks` unless the radius leaves a block without a bit.
    blocks : tuple of BlockSteps
        The highest bits first; empty without the method `blocks`.
    matches : tuple of (int or str, int)
        Ids and distances within the radius, nearest first: the result of `HammingIndex.search`.
    """

    bits: int
    radius: int
    query: str
    num_fingerprints: int
    methods: tuple[MethodSteps, ...]
    blocks: tuple[BlockSteps, ...]
    matches: tuple[tuple[int | str, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the steps for JSON."""
        names = ("bits", "radius", "query", "num_fingerprints", "methods", "blocks", "matches")
        return {name: to_json(getattr(self, name)) for name in names}

    def _head(self) -> Iterator[str]:
        yield f"query        {self.query}, {self.bits} bits"
        yield f"radius       {self.radius}"
        yield f"index        {self.num_fingerprints:,} fingerprints"

    def _table(self) -> tuple[list[str], list[list[str]], list[str]]:
        columns = ["block", "bits", "key", "candidates", "nearest"]
        rows = [
            [
                str(i),
                f"{block.highest}-{block.lowest}",
                block.key,
                f"{len(block.candidates):,}",
                _join(block.candidates, 3),
            ]
            for i, block in enumerate(self.blocks[:MAX_ROWS])
        ]
        return columns, rows, ["block", "candidates"]

    def _tables(self) -> Iterator[tuple[str, list[str], list[list[str]], list[str]]]:
        yield "", *self._table()
        names = ["method", "lists", "entries", "comparisons"]
        rows = [[each.method, f"{each.lists:,}", f"{each.entries:,}", f"{each.comparisons:,}"] for each in self.methods]
        yield "cost of each method", names, rows, names[1:]

    def _tail(self) -> Iterator[str]:
        yield f"matches      {len(self.matches):,}: {_join(self.matches, 8)}"


def explain_search(query: npt.ArrayLike | str, index: HammingIndex, radius: int | None = None) -> SearchSteps:
    """Return the steps of a search for one fingerprint or text.

    Parameters
    ----------
    query : int, uint64 array of shape (words,), or str
        A fingerprint, or a text, which is hashed by the recipe of the index.
    index : HammingIndex
    radius : int, optional
        0 to bits; by default the announced radius, or 3.

    Raises
    ------
    ParameterError
        Several queries, a radius out of range, a text without features, or a text for an index without a recipe.
    """
    bits = index.bits
    if radius is None:
        radius = min(3, bits) if index.radius is None else index.radius
    radius = check_count("radius", radius, 0, bits, f"0 to bits={bits}")
    row = _read_query(query, index)
    ids, fingerprints = index.fingerprints()
    words = words_per_row(bits)
    stored = fingerprints.reshape(-1, words)
    distances = np.asarray(hamming(stored, row.reshape(1, words)), np.int64) if len(stored) else np.zeros(0, np.int64)
    names, order = ids.tolist(), np.argsort(distances, kind="stable")

    def name_rows(chosen: npt.NDArray[np.bool_]) -> tuple[tuple[int | str, int], ...]:
        return tuple((names[i], int(distances[i])) for i in order[chosen[order]].tolist())

    n = len(stored)
    methods = [
        MethodSteps("scan", 0, n, n),
        MethodSteps("bits", bits, int((bits - distances).sum()), int((distances < bits).sum())),
    ]
    blocks: list[BlockSteps] = []
    if radius < bits:
        digits = _to_digits(row.reshape(1, words), bits)[0]
        columns, start = _to_digits(stored, bits), 0
        reached, entries = np.zeros(n, np.bool_), 0
        for width in block_widths(bits, radius + 1):
            equal = (columns[:, start : start + width] == digits[start : start + width]).all(axis=1)
            reached |= equal
            entries += int(equal.sum())
            key = "".join(map(str, digits[start : start + width].tolist()))
            blocks.append(BlockSteps(bits - 1 - start, bits - start - width, key, name_rows(equal)))
            start += width
        methods.append(MethodSteps("blocks", radius + 1, entries, int(reached.sum())))
    hits = index.search(row if words == 1 else row.reshape(1, words), radius)[0]
    matches = tuple((match.id, int(match.distance)) for match in hits)
    query_hex = to_hex(row if words == 1 else row.reshape(1, words), bits)[0]
    return SearchSteps(bits, radius, query_hex, n, tuple(methods), tuple(blocks), matches)


def _read_query(query: npt.ArrayLike | str, index: HammingIndex) -> Fingerprints:
    """Return the words of one fingerprint."""
    if isinstance(query, str):
        if index.recipe is None:
            raise bad_parameter("value", "a text", "a fingerprint, or an index that was made with recipe=")
        values, counts = fingerprint([query], index.recipe, return_counts=True)
        if not counts[0]:
            raise bad_parameter("value", "a text without any feature", "a text with letters")
        query = values
    row = flat_rows(query, index.bits, "value")
    if len(row) != words_per_row(index.bits):
        raise bad_parameter("value", f"{len(row) // words_per_row(index.bits)} fingerprints", "one fingerprint")
    return row


def _to_digits(rows: Fingerprints, bits: int) -> npt.NDArray[np.uint8]:
    """Return `(n, bits)` digits, the highest bit first."""
    little = np.ascontiguousarray(rows.astype("<u8")).view(np.uint8)
    return np.unpackbits(little, axis=1, bitorder="little", count=bits)[:, ::-1]


def _join(entries: tuple[tuple[int | str, int], ...], count: int) -> str:
    more = " …" if len(entries) > count else ""
    return ", ".join(f"{key} at {distance}" for key, distance in entries[:count]) + more if entries else "-"
