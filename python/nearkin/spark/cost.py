"""What a job costs before it runs: how candidates are found, what travels, what is compared.

| | shuffled bytes per document | comparisons per document |
|---|---|---|
| bands (MinHash) | 32 + 16 b, for b bands | none: equal hashes meet |
| tables (SimHash) | 32 + t (26 + w), for t tables, fingerprints of w bytes | t N / 2^(k + 1), for blocks of k bits |
| slices (SimHash) | 32 + (s + 1) (26 + w), for s slices | N / 2 |

32 bytes find exact copies (a content hash, a number, a count). A document has a row in each band or table, and goes to
s + 1 tasks of slices, where it is compared with every other document once. So the work of bands grows with N, that of
slices with N²; that of tables lies between them, where the radius is small. With radius 30 of 128 bits no block is
short enough to be equal and long enough to be rare, and nothing is faster than comparing.
"""

from __future__ import annotations

import math
from typing import Any

from nearkin.dedup.candidates import ConfirmedCandidates, MinHashCandidates
from nearkin.dedup.distributed.meetings import choose_tables, seconds_by_slices, seconds_by_tables, slices_of
from nearkin.dedup.stages import RunOptions
from nearkin.notebook import short
from nearkin.spark.plans import TASK_ROWS, tasks_of

_COPIES = 32
_ROW = 16
_MEETING_ROW = 26
"""Unit, number, and who asks."""


def plan_of(options: RunOptions, documents: int) -> dict[str, Any]:
    """How candidates of a run are found, and its cost."""
    source: Any = options.candidate_source
    first = source.first if isinstance(source, ConfirmedCandidates) else source
    plan: dict[str, Any] = {"documents": documents, "recipe": str(options.recipe)}
    if isinstance(first, MinHashCandidates):
        bands = first.banding.num_bands
        return {
            **plan,
            "method": "bands",
            "shuffled_bytes": _COPIES + _ROW * bands,
            "comparisons": 0,
            "tasks": tasks_of(documents * bands, TASK_ROWS),
            "core_seconds": None,
            "why": f"signatures are equal in one of {bands} bands; the work grows with the documents",
        }
    bits, radius = first.recipe.bits, first.radius
    row = _MEETING_ROW + 8 * first.recipe.words
    slices = slices_of(documents)
    beside = seconds_by_slices(bits, documents) * documents
    found = choose_tables(bits, radius, documents)
    if found is None:
        return {
            **plan,
            "method": "slices",
            "shuffled_bytes": _COPIES + (slices + 1) * row,
            "comparisons": documents // 2,
            "tasks": slices * (slices + 1) // 2,
            "core_seconds": beside,
            "why": f"radius {radius} of {bits} bits: every two fingerprints are compared once, which is cheaper than "
            "any tables; the work grows with the square of the documents, and minhash is the family for more",
        }
    blocks, agree = found
    tables = math.comb(blocks, agree)
    seconds = seconds_by_tables(bits, blocks, agree, documents) * documents
    return {
        **plan,
        "method": "tables",
        "shuffled_bytes": _COPIES + tables * row,
        "comparisons": tables * documents >> (bits // blocks * agree + 1),
        "tasks": tasks_of(documents * tables, TASK_ROWS >> 2),
        "core_seconds": seconds,
        "why": f"radius {radius} of {bits} bits: {agree} of {blocks} blocks are equal, in {tables} tables; comparing "
        f"every two would take {short(beside / seconds)} times as long",
    }
