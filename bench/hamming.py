"""Hamming search beside its peers: queries per CPU second, build, memory; recall checked against brute force.

Every section runs alone: `python bench/hamming.py radius wide scan top pairs growth skew threads`, all without a name;
`tables` writes docs/benchmarks.md anew from the last run of each. `--scale 10` takes a tenth of the sizes.

One thread, CPU seconds of the process, the median of three where a figure takes less than ten seconds. Queries are
half planted (a stored fingerprint with 0 to radius bits flipped), half random. nearkin's answers equal those of its
scan, and the scan's equal a comparison in NumPy with every fingerprint for some of the queries; recall of a peer is the
share of these that it returns. Every peer has the setting that suits the task best; faiss's radius is exclusive and is
passed plus one. The scan's limits are those of `popcount_limit.c`, compiled for this machine in the same run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import datetime
from collections.abc import Callable

import common
import hamming_tables
import nearkin as nk
from hamming_base import Row, Section
from hamming_growth import grow, growth, skew, threads
from hamming_search import pairs, radius_3, scan, top, wide

SECTIONS: dict[str, Callable[[Section], None]] = {
    "radius": radius_3,
    "wide": wide,
    "scan": scan,
    "top": top,
    "pairs": pairs,
    "growth": growth,
    "skew": skew,
    "threads": threads,
}


def main() -> None:
    options = common.arguments(
        __doc__,
        ("sections", {"nargs": "*", "help": ", ".join(SECTIONS) + ", tables; all without a name"}),
        ("--scale", {"type": int, "default": 1, "help": "divides every size; such a run is not saved"}),
        ("--only", {"default": "", "help": "one task of a section: 8of64, text256, 10m, 100000000, ..."}),
        ("--grow", {"type": int, "help": "one size of the growth section, in this process"}),
        ("--limit", {"type": int, "default": 0}),
    )
    if options.report is not None:
        hamming_tables.write(common.latest("hamming", options.report))
        return
    nk.set_num_threads(1)
    if options.grow:
        grow(options.grow, options.limit)
        return
    wanted = options.sections or [*SECTIONS, "tables"]
    unknown = [name for name in wanted if name not in SECTIONS and name != "tables"]
    if unknown:
        raise SystemExit(f"no section {unknown[0]}; there are {', '.join(SECTIONS)} and tables")
    for name in wanted:
        if name == "tables":
            hamming_tables.write(common.latest("hamming"))
            continue
        section = Section(options)
        SECTIONS[name](section)
        if options.scale == 1:
            keep(name, section.rows, options.only)


def keep(name: str, rows: list[Row], only: str) -> None:
    """Save the rows, with what the last run has of other sections and tasks; each row names its own command."""
    versions = common.versions("numpy", "faiss-cpu", "pynear", "usearch")
    versions["simhash-pybind"] = "0.0.3"
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    command = f"python bench/hamming.py {name}" + (f" --only {only}" if only else "")
    rows = [{**row, "date": now, "commit": versions["commit"], "command": command} for row in rows]
    last = common.latest("hamming")["sections"] if common.runs("hamming") else {}
    tasks = {(row["task"], row.get("n")) for row in rows}
    old = [row for row in last.get(name, []) if only and (row["task"], row.get("n")) not in tasks]
    sections = {part: last.get(part, []) for part in SECTIONS}
    sections[name] = old + rows
    common.save("hamming", {"sections": sections}, versions=versions)


if __name__ == "__main__":
    main()
