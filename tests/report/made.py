"""Contents of reports, made by hand: what a run of texts and one of files would give, with every number known."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearkin.report.model import Chart, Contents, Section, Table

WORDS = """
the harbour was quiet when a small boat came in with lamps on its bow and nobody asked whose it had been since winter
because people of this coast keep their questions for market days while gulls turn above roofs of slate and rain writes
long lines over windows where old maps hang beside nets ropes barrels letters and bread
""".split()  # noqa: SIM905
SVG = '<svg viewBox="0 0 720 260" role="img" aria-label="{}"><rect class="bar" width="60" height="160"/></svg>'
STEP = 0.05
THRESHOLD = 0.8

Pair = tuple[int, int, float, bool]
"""Left, right, similarity, removed."""


@dataclass
class Made:
    """A corpus in which every pair is known."""

    ids: list[str] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    clusters: list[list[Any]] = field(default_factory=list)

    def add(self, name: str, text: str | None) -> int:
        """A document; its number."""
        self.ids.append(name)
        self.texts.append(text)
        return len(self.ids) - 1

    def pair(self, left: int, right: int) -> Pair:
        """Two documents, by the words that they share."""
        one, two = (set((self.texts[place] or "").split()) for place in (left, right))
        similarity = len(one & two) / max(len(one | two), 1)
        self.pairs.append((left, right, similarity, similarity >= THRESHOLD))
        return self.pairs[-1]


def _text(chance: random.Random, number: int, sentences: int) -> str:
    lines = []
    for line in range(sentences):
        words = [chance.choice(WORDS) for _ in range(12)]
        lines.append(f"{' '.join(words).capitalize()} {number}-{line}.")
    return "\n".join(lines)


def _edited(chance: random.Random, text: str, share: float) -> str:
    words = text.split(" ")
    return " ".join(f"changed{chance.randrange(1000)}" if chance.random() < share else word for word in words)


def corpus(groups: int = 60, seed: int = 7) -> Made:
    """Groups of texts: one that stays, and edited copies of it, most of them near enough to be removed."""
    chance = random.Random(seed)
    made = Made()
    for group in range(groups):
        text = _text(chance, group, 3 + group % 9)
        kept = made.add(f"doc/{group:03d}", text)
        members: list[list[Any]] = []
        for copy in range(1 + group % 4):
            other = made.add(
                f"doc/{group:03d}/copy-{copy}", _edited(chance, text, chance.choice([0.02, 0.06, 0.12, 0.2]))
            )
            _, _, similarity, removed = made.pair(kept, other)
            if removed:
                members.append([other, round(similarity, 6), 10 + copy, "near"])
        if group % 7 == 0:
            members.append([made.add(f"doc/{group:03d}/exact", text), 1.0, 0, "exact"])
        if members:
            made.clusters.append([len(members) + 1, kept, members])
    made.clusters.sort(key=lambda cluster: -cluster[0])
    return made


def strata_of(pairs: Sequence[Pair]) -> tuple[list[dict[str, Any]], list[int]]:
    """Strata of steps of similarity, removed pairs apart, and the stratum of each pair."""
    keys = [(min(int(similarity / STEP + 1e-9), 19), removed) for _, _, similarity, removed in pairs]
    names = sorted(set(keys))
    strata: list[dict[str, Any]] = [
        {
            "name": f"{step * STEP:.2f}-{(step + 1) * STEP:.2f}",
            "low": round(step * STEP, 9),
            "high": round((step + 1) * STEP, 9),
            "removed": removed,
            # Near misses are a sample of one in four.
            "pairs": keys.count((step, removed)) * (1.0 if removed else 4.0),
        }
        for step, removed in names
    ]
    return strata, [names.index(key) for key in keys]


def packed_pairs(pairs: Sequence[Pair]) -> bytes:
    """The block of pairs."""
    columns = [
        np.array([pair[0] for pair in pairs], "<u4"),
        np.array([pair[1] for pair in pairs], "<u4"),
        np.array([pair[2] for pair in pairs], "<f4"),
        np.array([12 for _ in pairs], "<u2"),
        np.array([pair[3] for pair in pairs], "u1"),
    ]
    return b"".join(column.tobytes() for column in columns)


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def contents_of(made: Made, *, per_block: int = 40, key: str = "0123456789abcdef", queue: int = 40) -> Contents:
    """The report of a corpus: every pair in the queue, up to a number of them."""
    strata, of = strata_of(made.pairs)
    chance = random.Random(3)
    queued = chance.sample(range(len(made.pairs)), min(queue, len(made.pairs)))
    drawn = [of[pair] for pair in queued]
    numbers = [place for place, text in enumerate(made.texts) if text is not None]
    firsts = list(range(0, len(numbers), per_block))
    blocks = {
        "documents": _json(
            {
                "ids": made.ids,
                "text": [numbers.index(place) if text is not None else -1 for place, text in enumerate(made.texts)],
                "length": [-1 if text is None else len(text) for text in made.texts],
            }
        ),
        "clusters": _json(made.clusters),
        "pairs": packed_pairs(made.pairs),
        "common": _json(
            {
                pair: {
                    "both": 9,
                    "left": 1,
                    "right": 2,
                    "some_both": ["<b>", "the harbour"],
                    "some_left": ["x"],
                    "some_right": ["\u202e"],
                }
                for pair in range(len(made.pairs))
            }
        ),
    }
    for block, first in enumerate(firsts):
        blocks[f"texts-{block}"] = _json([made.texts[place] for place in numbers[first : first + per_block]])
    by_nearness = sorted(range(len(made.pairs)), key=lambda pair: abs(made.pairs[pair][2] - THRESHOLD))
    run = {
        "kind": "texts",
        "key": key,
        "threshold": THRESHOLD,
        "scale": 1,
        "measure": "Jaccard similarity",
        "distance": "bits",
        "documents": len(made.ids),
        "pairs": len(made.pairs),
        "texts": len(firsts),
        "firsts": firsts,
        "text_cut": 20_000,
        "strata": strata,
        "queue": [[pair, h, strata[h]["pairs"] / drawn.count(h)] for pair, h in zip(queued, drawn, strict=True)],
        "above": [pair for pair in by_nearness if made.pairs[pair][3]],
        "below": [pair for pair in by_nearness if not made.pairs[pair][3]],
        "random": [pair for pair in range(len(made.pairs)) if made.pairs[pair][3]][:50],
        "near_misses": "Near misses are candidates below the threshold, of one in four kept documents.",
        "labels": [],
    }
    removed = sum(pair[3] for pair in made.pairs)
    chart = Chart("Pairs by similarity", "All pairs.", SVG.format("Pairs"), ("similarity", "pairs"), [("0.80", "12")])
    return Contents(
        f"made: {len(made.ids) - removed} of {len(made.ids)} documents kept",
        (("documents", str(len(made.ids)), ""), ("removed", str(removed), "near")),
        ("Documents count as near-duplicates if the Jaccard similarity of their words is at least 0.8.",),
        (),
        (Section("What was removed", charts=(chart,), tables=(Table("By reason", ("reason", "n"), [("near", "1")]),)),),
        ("Shown: 500 of 600 clusters: the largest.",),
        run,
        blocks,
    )


def files() -> Contents:
    """The report of a few files: texts and programs, with the pieces that agree."""
    made = corpus(12)
    texts = contents_of(made)
    assert texts.run is not None
    documents = json.loads(texts.blocks["documents"])
    documents["type"] = ["text" if place % 2 else "ELF program" for place in range(len(made.ids))]
    documents["digest"] = [f"96:abc{place}/+x:def" for place in range(len(made.ids))]
    for place in range(0, len(made.ids), 2):
        documents["text"][place] = -1
    scores = [(left, right, float(round(100 * similarity)), removed) for left, right, similarity, removed in made.pairs]
    strata, of = strata_of(made.pairs)
    strata = [stratum | {"low": 100 * stratum["low"], "high": 100 * stratum["high"]} for stratum in strata]
    queue = [[pair, of[pair], 1.0] for pair in range(len(made.pairs))]
    clusters = [
        [size, kept, [[one, round(100 * s), None, reason] for one, s, _, reason in members]]
        for size, kept, members in made.clusters
    ]
    blocks = dict(texts.blocks) | {
        "documents": _json(documents),
        "clusters": _json(clusters),
        "pairs": packed_pairs(scores)[: 12 * len(scores)]
        + b"\xff\xff" * len(scores)
        + packed_pairs(scores)[14 * len(scores) :],
        "pieces": _json({pair: [[0, 200, 0, 200], [400, 500, 350, 450]] for pair in range(len(scores))}),
    }
    del blocks["common"]
    run = dict(texts.run) | {
        "kind": "files",
        "scale": 100.0,
        "threshold": 80.0,
        "measure": "score",
        "distance": "",
        "strata": strata,
        "queue": queue,
    }
    return Contents(texts.title, texts.figures, texts.sentences, (), texts.sections, texts.cuts, run, blocks)
