"""Contents of reports of texts and of files, built by hand from known pairs."""

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
class SampleCorpus:
    """A corpus with known pairs."""

    ids: list[str] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    clusters: list[list[Any]] = field(default_factory=list)

    def add(self, name: str, text: str | None) -> int:
        """Add a document and return its number."""
        self.ids.append(name)
        self.texts.append(text)
        return len(self.ids) - 1

    def pair(self, left: int, right: int) -> Pair:
        """Add a pair with the Jaccard similarity of its words."""
        one, two = (set((self.texts[i] or "").split()) for i in (left, right))
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


def build_corpus(groups: int = 60, seed: int = 7) -> SampleCorpus:
    """Return groups of a kept text and its edited copies, most of them similar enough to be removed."""
    chance = random.Random(seed)
    corpus = SampleCorpus()
    for group in range(groups):
        text = _text(chance, group, 3 + group % 9)
        kept = corpus.add(f"doc/{group:03d}", text)
        members: list[list[Any]] = []
        for copy in range(1 + group % 4):
            other = corpus.add(
                f"doc/{group:03d}/copy-{copy}", _edited(chance, text, chance.choice([0.02, 0.06, 0.12, 0.2]))
            )
            _, _, similarity, removed = corpus.pair(kept, other)
            if removed:
                members.append([other, round(similarity, 6), 10 + copy, "near"])
        if group % 7 == 0:
            members.append([corpus.add(f"doc/{group:03d}/exact", text), 1.0, 0, "exact"])
        if members:
            corpus.clusters.append([len(members) + 1, kept, members])
    corpus.clusters.sort(key=lambda cluster: -cluster[0])
    return corpus


def build_strata(pairs: Sequence[Pair]) -> tuple[list[dict[str, Any]], list[int]]:
    """Return strata by steps of similarity, separately for removed pairs, and the stratum of each pair."""
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


def pack_pairs(pairs: Sequence[Pair]) -> bytes:
    """Return the block of pairs."""
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


def build_contents(
    corpus: SampleCorpus, *, per_block: int = 40, key: str = "0123456789abcdef", queue: int = 40
) -> Contents:
    """Return the contents of a corpus's report, with up to `queue` pairs to judge."""
    strata, of = build_strata(corpus.pairs)
    chance = random.Random(3)
    queued = chance.sample(range(len(corpus.pairs)), min(queue, len(corpus.pairs)))
    drawn = [of[pair] for pair in queued]
    numbers = [i for i, text in enumerate(corpus.texts) if text is not None]
    firsts = list(range(0, len(numbers), per_block))
    blocks = {
        "documents": _json(
            {
                "ids": corpus.ids,
                "text": [numbers.index(i) if text is not None else -1 for i, text in enumerate(corpus.texts)],
                "length": [-1 if text is None else len(text) for text in corpus.texts],
            }
        ),
        "clusters": _json(corpus.clusters),
        "pairs": pack_pairs(corpus.pairs),
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
                for pair in range(len(corpus.pairs))
            }
        ),
    }
    for block, first in enumerate(firsts):
        blocks[f"texts-{block}"] = _json([corpus.texts[i] for i in numbers[first : first + per_block]])
    by_nearness = sorted(range(len(corpus.pairs)), key=lambda pair: abs(corpus.pairs[pair][2] - THRESHOLD))
    run = {
        "kind": "texts",
        "key": key,
        "threshold": THRESHOLD,
        "scale": 1,
        "measure": "Jaccard similarity",
        "distance": "bits",
        "documents": len(corpus.ids),
        "pairs": len(corpus.pairs),
        "texts": len(firsts),
        "firsts": firsts,
        "text_cut": 20_000,
        "strata": strata,
        "queue": [[pair, h, strata[h]["pairs"] / drawn.count(h)] for pair, h in zip(queued, drawn, strict=True)],
        "above": [pair for pair in by_nearness if corpus.pairs[pair][3]],
        "below": [pair for pair in by_nearness if not corpus.pairs[pair][3]],
        "random": [pair for pair in range(len(corpus.pairs)) if corpus.pairs[pair][3]][:50],
        "near_misses": "Near misses are candidates below the threshold, of one in four kept documents.",
        "labels": [],
    }
    removed = sum(pair[3] for pair in corpus.pairs)
    chart = Chart("Pairs by similarity", "All pairs.", SVG.format("Pairs"), ("similarity", "pairs"), [("0.80", "12")])
    return Contents(
        f"corpus: {len(corpus.ids) - removed} of {len(corpus.ids)} documents kept",
        (("documents", str(len(corpus.ids)), ""), ("removed", str(removed), "near")),
        ("Documents count as near-duplicates if the Jaccard similarity of their words is at least 0.8.",),
        (),
        (Section("What was removed", charts=(chart,), tables=(Table("By reason", ("reason", "n"), [("near", "1")]),)),),
        ("Shown: 500 of 600 clusters: the largest.",),
        run,
        blocks,
    )


def build_files() -> Contents:
    """Return the contents of a report of texts and programs, with common pieces."""
    corpus = build_corpus(12)
    texts = build_contents(corpus)
    assert texts.run is not None
    documents = json.loads(texts.blocks["documents"])
    documents["type"] = ["text" if i % 2 else "ELF program" for i in range(len(corpus.ids))]
    documents["digest"] = [f"96:abc{i}/+x:def" for i in range(len(corpus.ids))]
    for i in range(0, len(corpus.ids), 2):
        documents["text"][i] = -1
    scores = [
        (left, right, float(round(100 * similarity)), removed) for left, right, similarity, removed in corpus.pairs
    ]
    strata, of = build_strata(corpus.pairs)
    strata = [stratum | {"low": 100 * stratum["low"], "high": 100 * stratum["high"]} for stratum in strata]
    queue = [[pair, of[pair], 1.0] for pair in range(len(corpus.pairs))]
    clusters = [
        [size, kept, [[one, round(100 * s), None, reason] for one, s, _, reason in members]]
        for size, kept, members in corpus.clusters
    ]
    blocks = dict(texts.blocks) | {
        "documents": _json(documents),
        "clusters": _json(clusters),
        "pairs": pack_pairs(scores)[: 12 * len(scores)]
        + b"\xff\xff" * len(scores)
        + pack_pairs(scores)[14 * len(scores) :],
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
