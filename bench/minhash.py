"""MinHash signatures: documents per CPU second and the error of the estimate, compared with other packages.

    python bench/minhash.py [--rounds 5]

One thread, 128 values, texts of about 1,000 characters from 20 Newsgroups. Rows "from text" include tokenising; rows
"from shingles" start from ready lists of word 3-grams, and "ready hashes" from 64-bit hashes of 110 features per
document. The error is the mean absolute difference of the estimate and the true Jaccard similarity of planted pairs.
The tables are in docs/minhash.md.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import common
import nearkin as nk

NUM_PERM = 128


RECIPE = "word:3|binary|xxh3|minhash:128"


def shingles(text: str) -> list[str]:
    words = text.lower().split()
    return [" ".join(words[i : i + 3]) for i in range(max(1, len(words) - 2))]


def planted(count: int) -> tuple[list[list[str]], list[list[str]], np.ndarray]:
    source = random.Random(1)
    left, right, true = [], [], []
    for i in range(count):
        target = 0.05 + 0.9 * i / count
        shared = round(220 * target / (1 + target))
        names = [f"{source.getrandbits(60):015x}" for _ in range(220 - shared)]
        left.append(names[:110])
        right.append(names[:shared] + names[110:])
        true.append(shared / len(names))
    return left, right, np.array(true)


def datasketch_signatures(sets: Iterable[list[str]]) -> np.ndarray:
    from datasketch import MinHash

    encoded = [[feature.encode() for feature in features] for features in sets]
    return np.array([result.hashvalues for result in MinHash.bulk(encoded, num_perm=NUM_PERM)])


def rensa_one_by_one(sets: Iterable[list[str]]) -> list[Any]:
    from rensa import RMinHash

    results = []
    for features in sets:
        item = RMinHash(num_perm=NUM_PERM, seed=42)
        item.update(features)
        results.append(item)
    return results


def rensa_batch(sets: list[list[str]]) -> list[Any]:
    from rensa import RMinHash

    return list(RMinHash.from_token_sets(sets, num_perm=NUM_PERM, seed=42))


def rensa_signatures(sets: Iterable[list[str]]) -> np.ndarray:
    return np.array([item.digest() for item in rensa_one_by_one(sets)])


def gaoya_index(texts: list[str]) -> None:
    from gaoya.minhash import MinHashStringIndex

    index = MinHashStringIndex(32, 0.8, 16, 8, NUM_PERM, "word", True, (3, 3))
    for i, text in enumerate(texts):
        index.insert_document(i, text)


def gaoya_similarities(left: list[list[str]], right: list[list[str]]) -> np.ndarray:
    from gaoya.minhash import MinHashStringIndex

    result = np.zeros(len(left))
    for i, (item, other) in enumerate(zip(left, right, strict=True)):
        index = MinHashStringIndex(32, 0.0, NUM_PERM, 1, NUM_PERM, "word", False, (1, 1))
        index.insert_document(0, " ".join(item))
        hits = index.query(" ".join(other), return_similarity=True)
        result[i] = hits[0][1] if hits else 0.0
    return result


def main() -> None:
    options = common.arguments(__doc__, ("--rounds", {"type": int, "default": 5}))
    common.run("minhash", options, lambda: measure(options), report, "gaoya", "rensa", "datasketch")


def measure(options: Any) -> dict[str, Any]:
    nk.set_num_threads(1)
    texts = list(common.pieces(common.texts(options.data, "en_20news"), 1000))[:10_000]
    sets = [shingles(text) for text in texts]
    hashes = np.random.default_rng(1).integers(0, 2**64, 30_000 * 110, dtype=np.uint64)
    offsets = np.arange(30_001) * 110
    item, classic = nk.MinHash(NUM_PERM, scheme="one"), nk.MinHash(NUM_PERM, scheme="classic")
    fast = nk.MinHash(NUM_PERM, scheme="fast")

    candidates = {
        "nearkin one, from text": common.timer(nk.signature, texts, RECIPE),
        "nearkin fast, from text": common.timer(nk.signature, texts, RECIPE + ":fast"),
        "nearkin classic, from text": common.timer(nk.signature, texts, RECIPE + ":classic"),
        "gaoya, from text (with its index)": common.timer(gaoya_index, texts),
        "rensa RMinHash, update, from shingles": common.timer(rensa_one_by_one, sets),
        "rensa RMinHash, from_token_sets, from shingles": common.timer(rensa_batch, sets),
        "datasketch bulk, from shingles": common.timer(datasketch_signatures, sets),
        "nearkin one, ready hashes": common.timer(item.signature_hashes, hashes, offsets),
        "nearkin fast, ready hashes": common.timer(fast.signature_hashes, hashes, offsets),
        "nearkin classic, ready hashes": common.timer(classic.signature_hashes, hashes, offsets),
    }
    counts = {name: 30_000 if "ready" in name else len(texts) for name in candidates}
    result = common.rounds(candidates, options.rounds)
    for name, figures in result.items():
        figures["documents_per_cpu_second"] = round(counts[name] / figures["cpu"])

    left, right, true = planted(2_000)
    makers: dict[str, Callable[[list[list[str]]], Any]] = {
        "nearkin one": item.signature,
        "nearkin fast": fast.signature,
        "nearkin classic": classic.signature,
        "rensa RMinHash": rensa_signatures,
        "datasketch": datasketch_signatures,
    }
    errors = {
        name: float(np.abs((np.asarray(make(left)) == np.asarray(make(right))).mean(axis=1) - true).mean())
        for name, make in makers.items()
    }
    errors["gaoya"] = float(np.abs(gaoya_similarities(left, right) - true).mean())
    return {"documents": len(texts), "speed": result, "mean_absolute_error": errors}


def report(run: dict[str, Any]) -> None:
    """Write the tables of docs/minhash.md."""
    result, errors = run["speed"], run["mean_absolute_error"]
    speeds = ((name, f"{figures['documents_per_cpu_second']:,}") for name, figures in result.items())
    means = ((name, f"{error:.4f}") for name, error in errors.items())
    tables = [
        common.table(["candidate", "documents per CPU second"], speeds),
        common.table(["candidate", "mean absolute error"], means),
    ]
    common.splice("minhash.md", "minhash", "\n\n".join(tables))


if __name__ == "__main__":
    main()
