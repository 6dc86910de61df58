"""The tables of docs/quality.md that `quality_table.py` measures."""

from __future__ import annotations

from typing import Any

import numpy as np

import common
from quality_sets import ABOUT

ORDER = ("nearkin", "SimHash", "MinHash 128", "MinHash and", "exact", "simhash", "datasketch", "text-dedup")


def order(method: str, named: list[str]) -> tuple[int, int, str]:
    """Ours first; fingerprints in the order of their features."""
    kind = next(at for at, start in enumerate(ORDER) if method.startswith(start))
    return kind, named.index(method) if method in named else 0, method


def report(run: dict[str, Any], named: list[str], hash_sets: list[str]) -> None:
    """Write the tables; `named` is the order of fingerprints."""
    page = common.ROOT / "docs" / "quality.md"
    sets = run["sets"]

    def cell(score: dict[str, float] | None) -> str:
        return "" if score is None else f"{score['f1']:.2f} ({score['precision']:.2f} / {score['recall']:.2f})"

    def tables(part: str) -> str:
        methods = sorted(
            {method for one in sets.values() for method in one[part]}, key=lambda method: order(method, named)
        )
        texts = []
        for chinese in (False, True):
            chosen = {each: one for each, one in sets.items() if ("(zh)" in each) == chinese}
            tops = {each: max(score["f1"] for score in one[part].values()) for each, one in chosen.items()}
            rows = []
            for method in methods:
                scores = {each: one[part].get(method) for each, one in chosen.items()}
                cells = [
                    f"**{cell(score)}**" if score and f"{score['f1']:.2f}" == f"{tops[each]:.2f}" else cell(score)
                    for each, score in scores.items()
                ]
                # A mean over other corpora than those of the rows beside it would compare nothing.
                values = [score["f1"] for score in scores.values() if score]
                mean = f"{np.mean(values):.3f}" if len(values) == len(chosen) else ""
                rows.append([method, mean, *cells])
            texts.append(common.table(["F1 (precision / recall)", "mean F1", *chosen], rows))
        return "\n\n".join(texts)

    rows = [
        [each, f"{one['documents']:,}", f"{one['characters']:,.0f}", f"{one['true_pairs']:,}", ABOUT[each]]
        for each, one in sets.items()
    ]
    header = ["corpus", "documents", "mean length", "true pairs", "which are"]
    common.splice(page, "sets", common.table(header, rows))
    common.splice(page, "best", tables("best"))
    common.splice(page, "at-defaults", tables("defaults"))

    # A partial run leaves the tables of what it did not measure as they are.
    if run["speed"]:
        speed = {each: dict(values) for each, values in run["speed"].items()}
        for each in ("news", "news (zh)"):
            for method, score in sets[each]["defaults"].items():
                if "us" in score:
                    speed.setdefault(method, {})[each] = score["us"]
        ours = speed["SimHash 128, char 4"]
        rows = [
            [method, *(f"{values[each]:,.1f}" for each in ours), *(f"{values[each] / ours[each]:.1f}" for each in ours)]
            for method, values in speed.items()
        ]
        header = ["CPU µs per document", *ours, *(f"× ours, {each}" for each in ours)]
        common.splice(page, "speed", common.table(header, rows))
    if run.get("jobs"):
        rows = [
            [each, *(f"{one['cpu']:.2f} / {one['kept']:,}" for one in found.values())]
            for each, found in run["jobs"].items()
        ]
        header = ["CPU s / documents kept", *next(iter(run["jobs"].values()))]
        common.splice(page, "jobs", common.table(header, rows))
    if run["hashes"]:
        rows = []
        for each, one in run["hashes"].items():
            cells = [
                f"{one['us']:.1f}",
                f"{one['ns_a_feature']:.1f}",
                f"{one['balance_mean']:.4f}",
                f"{one['balance_worst']:.4f}",
            ]
            rows.append([each, *cells, *(f"{score['f1']:.3f}" for score in one["best"].values())])
        expected = next(iter(run["hashes"].values()))["expected_balance"]
        header = ["hash, bits", "CPU µs per document", "ns per feature", "mean imbalance", "worst bit", *hash_sets]
        note = f"\n\nFair coins would have a mean imbalance of {expected:.4f}."
        common.splice(page, "hashes", common.table(header, rows) + note)
    common.splice(page, "table-run", common.about(run))
