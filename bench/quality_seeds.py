"""The stated recall over twenty seeds: of all pairs at J >= 0.8, how many each seed's candidates hold.

Another seed of the feature hash gives other fingerprints and signatures of the same recipe. For each corpus, family and
seed all texts are hashed, the candidates of all pairs are found as a deduplication finds them, and compared with every
pair of J >= 0.8. A pair at the threshold is to be found with the stated recall; nearer ones are found more often.

Beside them rensa 0.5 with 128 values in 16 bands, over the same features and five seeds: what its tables propose,
verified exactly, so that recall alone is compared. (It states none.)

Run: `python bench/quality_seeds.py`; results go to `bench/runs/` and docs/quality.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import common
import nearkin as nk
from nearkin.dedup.candidates import MinHashCandidates, SimHashCandidates
from nearkin.quality.ground_truth import find_similar_pairs

CORPORA = {
    "en_20news": 8000,
    "en_licences": 2000,
    "en_bible_ot": 10_000,
    "er_cora": None,
    "log_loghub": 4000,
    "zh_laws": None,
    "zh_news_sogou": None,
    "zh_reviews": 20_000,
    "zh_tang_two_editions": 20_000,
}
"""Files, and how many of their first records are taken."""
SEEDS = 20
PEER_SEEDS = 5
THRESHOLD = 0.8
FAMILIES = {"simhash": "char:4|binary|xxh3:{}|simhash:128", "minhash": "char:4|binary|xxh3:{}|minhash:128:fast"}


def keys(left: Any, right: Any) -> Any:
    """A number for each pair."""
    return (np.minimum(left, right).astype(np.uint64) << np.uint64(32)) | np.maximum(left, right).astype(np.uint64)


def found(texts: list[str], wanted: Any, family: str, seed: int) -> dict[str, float]:
    """How many of the wanted pairs are candidates, and what the family states."""
    recipe = nk.Recipe(FAMILIES[family].format(seed))
    source: Any = (SimHashCandidates if family == "simhash" else MinHashCandidates)(recipe, THRESHOLD)
    values, counts = source.hash(texts)
    search = source.search(values)
    search.add(np.flatnonzero(counts))
    pairs = search.pairs()
    share = np.isin(wanted, keys(pairs.left, pairs.right)).mean()
    return {"found": float(share), "stated": source.summary()["expected_recall"]}


def peer_found(sets: list[list[str]], wanted: Any, seed: int) -> float:
    """The share of the wanted pairs that rensa's tables propose."""
    from rensa import RMinHash, RMinHashLSH

    tables = RMinHashLSH(threshold=THRESHOLD, num_perm=128, num_bands=16)
    left, right = [], []
    for row, features in enumerate(sets):
        signature = RMinHash(num_perm=128, seed=seed)
        signature.update(features)
        others = tables.query(signature)
        left += [row] * len(others)
        right += others
        tables.insert(row, signature)
    return float(np.isin(wanted, keys(np.array(left, np.int64), np.array(right, np.int64))).mean())


def measured(data: Path, name: str) -> dict[str, Any]:
    """One corpus: pairs of distinct texts, and what each seed finds of them."""
    texts = list(dict.fromkeys(common.texts(data, name)[: CORPORA[name]]))
    truth = find_similar_pairs(texts, nk.Recipe(), THRESHOLD, lambda done, total: None)
    wanted = keys(truth.left, truth.right)
    result: dict[str, Any] = {"texts": len(texts), "pairs": len(wanted)}
    for family in FAMILIES:
        result[family] = [found(texts, wanted, family, seed) for seed in range(SEEDS)]
    sets = [list(nk.Recipe().features_of(text)) for text in texts]
    result["rensa"] = [peer_found(sets, wanted, seed) for seed in range(PEER_SEEDS)]
    return result


def percent(value: float) -> str:
    """With one digit."""
    return f"{100 * value:.1f}%"


def render(run: dict[str, Any]) -> None:
    """The table of docs/quality.md."""
    rows = []
    for name, row in run["results"].items():
        cells = [name, f"{row['texts']:,}", f"{row['pairs']:,}"]
        for family in FAMILIES:
            shares = [one["found"] for one in row[family]]
            cells += [percent(row[family][0]["stated"]), percent(float(np.mean(shares))), percent(min(shares))]
        rows.append([*cells, percent(float(np.mean(row["rensa"]))), percent(min(row["rensa"]))])
    head = ["corpus", "texts", "pairs"]
    for family in FAMILIES:
        head += [f"{family}: stated", "mean of 20 seeds", "worst seed"]
    head += ["rensa: mean of 5 seeds", "worst seed"]
    content = f"{common.table(head, rows)}\n\n{common.about(run)}"
    common.splice(common.ROOT / "docs" / "quality.md", "quality-seeds", content)


def main() -> None:
    given = common.arguments(__doc__)
    if given.report is not None:
        render(common.latest("quality-seeds", given.report))
        return
    results = {}
    for name in CORPORA:
        results[name] = measured(given.data, name)
        row = results[name]
        print(
            name,
            row["texts"],
            row["pairs"],
            *(min(one["found"] for one in row[f]) for f in FAMILIES),
            *row["rensa"],
            flush=True,
        )
    common.save("quality-seeds", {"versions": common.versions("rensa"), "results": results})


if __name__ == "__main__":
    main()
