"""Cost of the slots `fold` and `numbers`: MB of text per CPU second, on one thread, beside recipes without them.

Documents of about 1 KB: English (20 Newsgroups) and Chinese news as `bench/text.py` has them, and poems in traditional
characters. A pair of decomposed accents in each English document shows the slow path of texts with combining marks.

Run: `python bench/text_slots.py`; results go to `bench/runs/` and docs/benchmarks.md.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import common
import text as speed

FEATURES = {"char:4": "char:4|binary|xxh3|simhash:128", "word:1": "word:1|binary|xxh3|simhash:128"}
SLOTS = ("", "fold:hans", "fold:lookalikes", "fold:accents", "fold:hans,lookalikes,accents", "numbers:whole")
ROUNDS = 5


def documents(data: Path) -> dict[str, list[str]]:
    """Documents of about 1 KB of UTF-8."""
    found = {name: texts[:6000] for name, texts in speed.documents(data).items() if name in ("English", "Chinese news")}
    found["English, decomposed accents"] = [f"{text} cafe\u0301 re\u0301sume\u0301" for text in found["English"]]
    poems = "".join(common.texts(data, "zh_tang_two_editions"))
    found["Traditional Chinese"] = [poems[at : at + 350] for at in islice(range(0, len(poems) - 350, 350), 6000)]
    return found


def main() -> None:
    """Measure, write the run, and the table of docs/benchmarks.md."""
    options = common.arguments(__doc__)
    if options.report is not None:
        report(common.latest("text-slots", options.report))
        return
    import nearkin as nk

    nk.set_num_threads(1)
    results: dict[str, Any] = {}
    for corpus, texts in documents(options.data).items():
        candidates = {}
        for features, recipe in FEATURES.items():
            for slot in SLOTS:
                made = nk.Recipe(f"{slot}|{recipe}" if slot else recipe)
                candidates[f"{features} {slot}".strip()] = lambda made=made, texts=texts: common.timed(
                    lambda: nk.fingerprint(texts, made)
                )[:2]
        size = common.megabytes(texts)
        times = common.rounds(candidates, ROUNDS)
        results[corpus] = {name: {**found, "mb_per_second": size / found["cpu"]} for name, found in times.items()}
    common.save("text-slots", {"results": results, "rounds": ROUNDS}, versions=common.versions("numpy"))
    report(common.latest("text-slots"))


def report(run: dict[str, Any]) -> None:
    """The table of docs/benchmarks.md."""
    corpora = list(run["results"])
    names = list(run["results"][corpora[0]])
    rows = [
        [f"`{name}`", *(f"{run['results'][each][name]['mb_per_second']:.0f}" for each in corpora)] for name in names
    ]
    page = common.ROOT / "docs" / "benchmarks.md"
    common.splice(page, "text-slots", common.table(["recipe", *corpora], rows))
    common.splice(page, "text-slots-run", common.about(run))


if __name__ == "__main__":
    main()
