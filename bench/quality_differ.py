"""What texts that are alike differ in, and whether people call them copies.

Each corpus is deduplicated by the defaults. Of what goes as near-duplicate it is counted what has the same features as
the document that stays, and what differs from it in numbers, days, signs or symbols (`dedup.distinguishers`). Labels
say, where there are some, which of these pairs people call the same: the same product, paper, law, licence, log event.
Then each corpus is deduplicated with `differ="numbers"`: precision of the removals and how many go, before and after.

Run: `python bench/quality_differ.py`; results go to `bench/runs/` and docs/quality.md.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common
import nearkin as nk
from nearkin.dedup.distinguishers import NAMES

CORPORA = {
    "er_abt_buy": ("records: products", ""),
    "er_amazon_google": ("records: products", ""),
    "er_dblp_acm": ("records: papers", ""),
    "er_cora": ("records: citations", "cluster"),
    "log_loghub": ("log lines", "event"),
    "zh_laws": ("articles: laws", "family"),
    "en_licences": ("articles: licences", "license"),
    "en_20news": ("articles: messages", ""),
    "zh_news_sogou": ("articles: news", ""),
    "zh_reviews": ("reviews", ""),
    "url_httpparams_train": ("payloads", "attack_type"),
}
"""Files, what they hold, and the label that copies share."""


@dataclass
class Labels:
    """Which pairs people call the same: those of equal labels, or of a list; None where nobody said."""

    labels: dict[str, Any] = field(default_factory=dict)
    listed: dict[tuple[str, str], bool] = field(default_factory=dict)

    def same(self, one: str, other: str) -> bool | None:
        """Whether they are the same."""
        if self.listed:
            return self.listed.get((min(one, other), max(one, other)))
        return self.labels[one] == self.labels[other] if self.labels else None


def labels(data: Path, name: str, field_name: str) -> Labels:
    """What people said of a corpus."""
    if field_name:
        rows = [row for row in common.records(data, name) if not row.get("catch_all")]
        return Labels(labels={str(row["id"]): row[field_name] for row in rows})
    pairs = data / f"{name}.pairs.tsv.gz"
    if not pairs.is_file():
        return Labels()
    with gzip.open(pairs, "rt", encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        found = {(min(row["id_a"], row["id_b"]), max(row["id_a"], row["id_b"])): row["match"] == "1" for row in rows}
    return Labels(listed=found)


def judged(result: nk.DedupResult, said: Labels, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, int]:
    """Wanted near-duplicates that go: how many there are, how many of them people judged, and as the same."""
    rows = [row for row in result.clusters.rows() if row["reason"] in ("near", "same-letters") and wanted(row)]
    answers = [
        said.same(str(row["id"]), str(row["representative"]))
        for row in rows
        if not said.labels or {str(row["id"]), str(row["representative"])} <= said.labels.keys()
    ]
    told = [answer for answer in answers if answer is not None]
    return {"pairs": len(rows), "judged": len(told), "same": sum(told)}


def measured(data: Path, name: str, field_name: str) -> dict[str, Any]:
    """One corpus, by the defaults with flags, and with pairs that differ in numbers kept apart."""
    texts = common.texts(data, name)
    ids = [str(row["id"]) for row in common.records(data, name)]
    said = labels(data, name, field_name)
    found: dict[str, Any] = {"documents": len(texts)}
    for rule in NAMES:
        result = nk.dedup(texts, ids, differ=rule, differing="flag")
        found[rule] = judged(result, said, lambda row: row["differs"] is not None)
        if rule == "numbers":
            found["near"] = judged(result, said, lambda row: True)
            found["same_letters"] = judged(result, said, lambda row: row["reason"] == "same-letters")
            found["others"] = judged(result, said, lambda row: row["differs"] is None)
    apart = nk.dedup(texts, ids, differ="numbers")
    found["apart"] = judged(apart, said, lambda row: True)
    return found


def share(part: int, whole: int) -> str:
    """In percent; a dash of nothing."""
    return f"{100 * part / whole:.0f}%" if whole else "–"


def render(run: dict[str, Any]) -> None:
    """The table of docs/quality.md."""
    rows = []
    for name, row in run["results"].items():
        near = row["near"]["pairs"]
        rows.append(
            [
                f"{name} ({CORPORA[name][0]})",
                f"{near:,}",
                share(row["same_letters"]["pairs"], near),
                *(share(row[rule]["pairs"], near) for rule in NAMES),
                share(row["numbers"]["same"], row["numbers"]["judged"]),
                share(row["others"]["same"], row["others"]["judged"]),
                share(row["near"]["same"], row["near"]["judged"]),
                share(row["apart"]["same"], row["apart"]["judged"]),
            ]
        )
    head = [
        "corpus", "near-duplicates removed", "same features", *(f"differ in {rule}" for rule in NAMES),
        "the same, if they differ in numbers", "the same, if not", "the same, of all", "with `differ=numbers`",
    ]  # fmt: skip
    page = common.ROOT / "docs" / "quality.md"
    common.splice(page, "quality-differ", f"{common.table(head, rows)}\n\n{common.about(run)}")


def main() -> None:
    given = common.arguments(__doc__)
    if given.report is not None:
        render(common.latest("quality-differ", given.report))
        return
    results = {}
    for name, (_, field_name) in CORPORA.items():
        results[name] = measured(given.data, name, field_name)
        print(name, results[name], flush=True)
    common.save("quality-differ", {"results": results})


if __name__ == "__main__":
    main()
