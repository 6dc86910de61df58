"""The data that the page's script browses: documents, pairs, and texts in blocks that it unpacks on demand.

The page of a run (`nearkin.report.builder`) chooses pairs and documents of its own; `build_review` is for pairs whose
texts are in memory, such as the hits of a decontamination.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from nearkin.dedup.labels import PairLabels
from nearkin.report import sampling
from nearkin.report.page import pack

MAX_BYTES = 20_000_000
"""Default maximum size of a report."""
MAX_CHARACTERS = 20_000
"""Maximum number of characters of a text."""
PAGE_BYTES = 200_000
"""Size of a report without data: style, script, charts."""
_BLOCK_CHARACTERS = 1 << 20
"""Number of characters that the page unpacks at a time."""


def build_review(
    pairs: sampling.NearPairs,
    texts: Sequence[tuple[str, str]],
    *,
    threshold: float,
    measure: str,
    phrases: Mapping[str, str],
    near_misses: str,
    labels: PairLabels | None = None,
) -> tuple[dict[str, object], dict[str, str], tuple[str, ...]]:
    """Return what `nearkin.report.model.Contents` has for the script: `run`, `blocks` and `cuts`.

    Parameters
    ----------
    pairs : NearPairs
    texts : sequence of (str, str)
        The left and the right text of each pair.
    threshold : float
    measure : str
        What the similarity is.
    phrases : mapping of str to str
        What the page says of a pair: see `phrases` of data.js.
    near_misses : str
        Why there are none.
    labels : PairLabels, optional
        Judged pairs, with which the page starts.
    """
    strata = sampling.stratify(pairs, 1.0)
    queue = sampling.build_queue(strata, threshold, 1.0)
    above = sampling.select_border(pairs, threshold, removed=True).tolist()
    sample = sampling.select_random(pairs).tolist()
    first = list(dict.fromkeys([*(row for row, _, _ in queue), *above, *sample]))
    rows = sampling.select_pairs(pairs, first).tolist()
    position = {row: i for i, row in enumerate(rows)}
    # Each side of a pair is a document of its own text, because an id has several passages.
    number_of: dict[tuple[str, str], int] = {}
    left, right = (
        np.array([number_of.setdefault((str(ids[row]), texts[row][side]), len(number_of)) for row in rows], np.uint32)
        for side, ids in enumerate((pairs.left, pairs.right))
    )
    documents = list(number_of)
    # Texts of the pairs to judge come first: those beyond the limit are left out.
    order = list(dict.fromkeys(int(side[position[row]]) for row in first for side in (left, right)))
    blocks = {"clusters": pack(to_json([])), "common": pack(to_json({}))}
    blocks["pairs"] = pack(pack_pairs(pairs, rows, left, right))
    columns: dict[str, list[object]] = {
        "ids": [name for name, _ in documents],
        "length": [len(text) for _, text in documents],
    }
    remaining = MAX_BYTES - PAGE_BYTES - sum(map(len, blocks.values())) - 2 * len(pack(to_json(columns)))
    firsts, packed, included = pack_texts([documents[number][1] for number in order], remaining)
    text_number = {number: i for i, number in enumerate(order[:included])}
    columns["text"] = [text_number.get(number, -1) for number in range(len(documents))]
    run: dict[str, object] = {
        "kind": "hits",
        "key": hashlib.sha256(to_json([threshold, pairs.left, pairs.right])).hexdigest()[:16],
        "phrases": dict(phrases),
        "threshold": threshold,
        "scale": 1,
        "measure": measure,
        "distance": "",
        "documents": len(documents),
        "pairs": len(rows),
        "texts": len(packed),
        "firsts": firsts,
        "text_cut": MAX_CHARACTERS,
        **describe_queue(strata, [(position[row], stratum, weight) for row, stratum, weight in queue], labels),
        "above": [position[row] for row in above],
        "below": [],
        "random": [position[row] for row in sample],
        "near_misses": near_misses,
    }
    cuts = []
    if len(first) < len(pairs):
        cuts.append(f"texts of {len(first):,} of {len(pairs):,} pairs")
    if included < len(order):
        cuts.append(f"{included:,} of {len(order):,} texts: more would make this file too large")
    if any(len(text) > MAX_CHARACTERS for _, text in documents):
        cuts.append(f"the first {MAX_CHARACTERS:,} characters of a text")
    return run, {**blocks, **packed, "documents": pack(to_json(columns))}, tuple(cuts)


def describe_queue(
    strata: Sequence[sampling.Stratum], queue: Sequence[tuple[int, int, float]], labels: PairLabels | None
) -> dict[str, object]:
    """Return the strata, the queue of pairs by their numbers on the page, and the labels that it starts with."""
    return {
        "strata": [
            {name: getattr(stratum, name) for name in ("name", "low", "high", "removed")}
            | {"pairs": round(stratum.pairs, 6)}
            for stratum in strata
        ],
        "queue": [[number, stratum, round(weight, 6)] for number, stratum, weight in queue],
        "labels": [] if labels is None else [[*pair, match] for pair, match in labels.labels.items()],
    }


def pack_texts(texts: Sequence[str], remaining: int) -> tuple[list[int], dict[str, str], int]:
    """Pack texts into blocks up to a size; return the first number of each block, the blocks, and how many texts."""
    firsts: list[int] = []
    blocks: dict[str, str] = {}
    block: list[str] = []
    size = included = 0
    for i, text in enumerate(texts):
        block.append(text[:MAX_CHARACTERS])
        size += len(block[-1])
        if size >= _BLOCK_CHARACTERS or i == len(texts) - 1:
            data = pack(to_json(block))
            remaining -= len(data)
            if remaining < 0:
                break
            firsts.append(included)
            blocks[f"texts-{len(blocks)}"] = data
            included = i + 1
            block, size = [], 0
    return firsts, blocks, included


def pack_pairs(
    pairs: sampling.NearPairs, rows: Sequence[int], left: npt.NDArray[np.uint32], right: npt.NDArray[np.uint32]
) -> bytes:
    """Return the columns of some pairs, little-endian; `left` and `right` are the numbers of their documents."""
    distance = pairs.distance[rows]
    columns = [
        left.astype("<u4"),
        right.astype("<u4"),
        pairs.similarity[rows].astype("<f4"),
        np.where((distance < 0) | (distance > 65534), 65535, distance).astype("<u2"),
        pairs.match[rows].astype("u1"),
    ]
    return b"".join(column.tobytes() for column in columns)


def to_json(value: object) -> bytes:
    """Return compact JSON; a lone surrogate, which has no UTF-8 form, is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "backslashreplace")


__all__ = ["MAX_BYTES", "MAX_CHARACTERS", "build_review", "describe_queue", "pack_pairs", "pack_texts", "to_json"]
