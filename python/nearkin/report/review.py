"""The data that the page's script browses: documents, pairs, and texts in blocks that it unpacks on demand.

The page of a run (`nearkin.report.builder`) chooses pairs and documents of its own; `build_review` is for pairs whose
texts are in memory, such as the hits of a decontamination.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class ReviewPairs:
    """The pairs of a page.

    Attributes
    ----------
    pairs : NearPairs
        All pairs.
    strata : list of Stratum
    queue : list of (int, int, float)
        Pairs to judge: row, stratum, and the number of pairs that it represents.
    groups : mapping of str to list of int
        The rows of pairs `above` and `below` the threshold, and of `random` ones.
    first : list of int
        The rows of the queue and of the groups, whose texts are included.
    rows : list of int
        All listed rows, ascending.
    position : mapping of int to int
        The number of a row on the page.
    """

    pairs: sampling.NearPairs
    strata: list[sampling.Stratum]
    queue: list[tuple[int, int, float]]
    groups: dict[str, list[int]]
    first: list[int]
    rows: list[int]
    position: dict[int, int]

    @classmethod
    def of(cls, pairs: sampling.NearPairs, threshold: float, scale: float) -> ReviewPairs:
        """Return the selection from pairs at a threshold; `scale` is the maximum similarity."""
        strata = sampling.stratify(pairs, scale)
        queue = sampling.build_queue(strata, threshold, scale)
        groups = {
            "above": sampling.select_border(pairs, threshold, removed=True).tolist(),
            "below": sampling.select_border(pairs, threshold, removed=False).tolist(),
            "random": sampling.select_random(pairs).tolist(),
        }
        judged = [row for row, _, _ in queue]
        first = list(dict.fromkeys([*judged, *(row for rows in groups.values() for row in rows)]))
        rows = sampling.select_pairs(pairs, first).tolist()
        return cls(pairs, strata, queue, groups, first, rows, {row: i for i, row in enumerate(rows)})

    def pack(self, left: npt.NDArray[np.uint32], right: npt.NDArray[np.uint32]) -> str:
        """Pack the columns of the pairs, little-endian; `left` and `right` are the numbers of their documents."""
        distance = self.pairs.distance[self.rows]
        columns = [
            left.astype("<u4"),
            right.astype("<u4"),
            self.pairs.similarity[self.rows].astype("<f4"),
            np.where((distance < 0) | (distance > 65534), 65535, distance).astype("<u2"),
            self.pairs.match[self.rows].astype("u1"),
        ]
        return pack(b"".join(column.tobytes() for column in columns))

    def describe(self, threshold: float, firsts: list[int], labels: PairLabels | None) -> dict[str, object]:
        """Return what the page's script reads first of any selection; `firsts` are the first texts of blocks."""
        return {
            "threshold": threshold,
            "pairs": len(self.rows),
            "texts": len(firsts),
            "firsts": firsts,
            "text_cut": MAX_CHARACTERS,
            "strata": [
                {name: getattr(stratum, name) for name in ("name", "low", "high", "removed")}
                | {"pairs": round(stratum.pairs, 6)}
                for stratum in self.strata
            ],
            "queue": [[self.position[row], stratum, round(weight, 6)] for row, stratum, weight in self.queue],
            "labels": []
            if labels is None
            else [[*pair, "worse" if pair in labels.worse_pairs else match] for pair, match in labels.labels.items()],
            **{name: [self.position[row] for row in rows] for name, rows in self.groups.items()},
        }


def build_review(
    ids: Sequence[tuple[str, str]],
    texts: Sequence[tuple[str, str]],
    similarities: Iterable[float],
    *,
    threshold: float,
    phrases: Mapping[str, str],
    labels: PairLabels | None = None,
) -> tuple[dict[str, object], dict[str, str], tuple[str, ...]]:
    """Return what `nearkin.report.model.Contents` has for the script: `run`, `blocks` and `cuts`.

    Parameters
    ----------
    ids, texts : sequence of (str, str)
        The ids and the texts of both sides of each pair.
    similarities : iterable of float
    threshold : float
    phrases : mapping of str to str
        What the page says of a pair: see `phrases` of data.js.
    labels : PairLabels, optional
        Judged pairs, with which the page starts.
    """
    count = len(ids)
    pairs = sampling.NearPairs(
        [left for left, _ in ids],
        [right for _, right in ids],
        np.array(list(similarities), np.float64),
        np.full(count, -1),
        np.ones(count, np.bool_),
        np.ones(count),
    )
    selection = ReviewPairs.of(pairs, threshold, 1.0)
    # Each side of a pair is a document of its own text, because an id has several passages.
    number_of: dict[tuple[str, str], int] = {}
    left, right = (
        np.array(
            [number_of.setdefault((ids[row][side], texts[row][side]), len(number_of)) for row in selection.rows],
            np.uint32,
        )
        for side in (0, 1)
    )
    documents = list(number_of)
    # Texts of the pairs to judge come first: those beyond the limit are left out.
    order = list(dict.fromkeys(int(side[selection.position[row]]) for row in selection.first for side in (left, right)))
    blocks = {"clusters": pack(to_json([])), "common": pack(to_json({})), "pairs": selection.pack(left, right)}
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
        "scale": 1,
        "measure": "similarity",
        "distance": "",
        "documents": len(documents),
        "near_misses": "The search has no near misses; one with a lower --threshold finds them.",
        **selection.describe(threshold, firsts, labels),
    }
    cuts = []
    if len(selection.first) < count:
        cuts.append(f"texts of {len(selection.first):,} of {count:,} pairs")
    if included < len(order):
        cuts.append(f"{included:,} of {len(order):,} texts: more would make this file too large")
    if any(len(text) > MAX_CHARACTERS for _, text in documents):
        cuts.append(f"the first {MAX_CHARACTERS:,} characters of a text")
    return run, {**blocks, **packed, "documents": pack(to_json(columns))}, tuple(cuts)


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


def to_json(value: object) -> bytes:
    """Return compact JSON; a lone surrogate, which has no UTF-8 form, is escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "backslashreplace")
