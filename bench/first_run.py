"""The time of README's example: the licences that ship with the project, deduplicated with a report.

README and its translation print the seconds of the newest run (tests/test_readme.py compares them).
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import common

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "README.zh.md", "docs/index.md")


def measure(rounds: int) -> dict[str, Any]:
    """Return the seconds that the command prints, and its CPU and wall seconds, of the median round."""
    results = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            arguments = [
                "dedup",
                ROOT / "samples" / "licences.jsonl.gz",
                "--out",
                f"{folder}/clean",
                "--report",
                "--quiet",
            ]
            used = common.measure_command([*common.program(), *arguments], Path(folder))
            timings = json.loads(Path(folder, "clean", "summary.json").read_text(encoding="utf-8"))["timings"]
            printed = sum(stage.get("wall", 0.0) for stage in timings.values())
            results.append({"printed": round(printed, 1), "cpu": used["cpu"], "wall": used["wall"], "timings": timings})
    return sorted(results, key=lambda result: result["printed"])[rounds // 2]


def report(run: dict[str, Any]) -> None:
    """Write the seconds into the pages that show the command."""
    for page in (ROOT / name for name in PAGES):
        text = page.read_text(encoding="utf-8")
        shown = re.sub(r"(7,053  documents in )[\d.]+( s)", rf"\g<1>{run['printed']:.1f}\g<2>", text)
        page.write_text(shown, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--report", nargs="?", const="", help="write the pages from a run, and measure nothing")
    options = parser.parse_args()
    common.run("first-run", options, lambda: measure(options.rounds), report)
