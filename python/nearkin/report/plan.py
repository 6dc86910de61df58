"""The page of a plan: what an index does with a query, stage by stage, with counts and costs, and what it weighed.

It takes what `explain()` of an index gives: of `HammingIndex`, `LSHIndex`, `BandIndex`, `DigestIndex`, and of
`nearkin.spark`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nearkin.errors import bad_parameter
from nearkin.notebook import short
from nearkin.report.curves import Curve, Point, Stage, bars, columns, curves, stages
from nearkin.report.model import Chart, Contents, Section, Table
from nearkin.report.page import render
from nearkin.theory import banding_probability

_METHODS = {
    "scan": "every fingerprint is compared",
    "bits": "every fingerprint within the radius of the query is looked up",
    "blocks": "tables of blocks; some block differs in few bits",
    "tables": "tables of several blocks that are equal",
    "multi": "tables of blocks, with look-ups of near blocks",
}


def plan_page(explained: Mapping[str, Any], name: str = "index") -> str:
    """The page of a plan, as HTML.

    Parameters
    ----------
    explained : mapping
        What `explain()` of an index gave, or `nearkin.spark.explain`.
    name : str, default "index"
        What the page calls it.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.
    ParameterError
        The mapping is not what an index gives.

    Examples
    --------
    >>> import nearkin as nk
    >>> from nearkin.report.plan import plan_page
    >>> index = nk.HammingIndex(64, radius=3)
    >>> page = plan_page(index.explain(), "fingerprints.nk")
    >>> "<h1>fingerprints.nk: 0 fingerprints of 64 bits, radius 3</h1>" in page
    True
    """
    return render(contents_of_plan(explained, name))


def contents_of_plan(explained: Mapping[str, Any], name: str = "index") -> Contents:
    """What the page of a plan is made of; parameters and errors as for `plan_page`."""
    for key, make in (
        ("parts", _hamming),
        ("filter", _lsh),
        ("num_bands", _bands),
        ("postings", _digests),
        ("shuffled_bytes", _spark),
    ):
        if key in explained:
            return make(explained, name)
    allowed = "what explain() of HammingIndex, LSHIndex, BandIndex or DigestIndex gives, or nearkin.spark.explain"
    raise bad_parameter("explained", f"a mapping of {', '.join(map(str, explained)) or 'nothing'}", allowed)


def _hamming(about: Mapping[str, Any], name: str) -> Contents:
    parts = [part for part in about["parts"] if part["slots"]]
    cost = sum(part["cost"] for part in parts)
    scan = sum(part["scan_cost"] for part in parts)
    title = f"{name}: {about['fingerprints']:,} fingerprints of {about['bits']} bits, radius {about['radius']}"
    methods = ", ".join(dict.fromkeys(part["method"] for part in parts)) or "none"
    figures = (
        ("method", methods, f"kernel {about['kernel']}"),
        ("a query", _nanoseconds(cost), f"expected; a scan takes {_nanoseconds(scan)}"),
        ("candidates", _count(sum(part["candidates"] for part in parts)), "per query"),
        ("memory", _bytes(about["bytes_fingerprints"]), f"and {_bytes(about['bytes_ids'])} of ids"),
    )
    said = ["Every method gives the same answers; they differ in cost. Costs are expected ones, of one thread."]
    said += [f"{method}: {_METHODS[method]}." for method in dict.fromkeys(part["method"] for part in parts)]
    sections = []
    if parts:
        rows = [_stages_of(part, about) for part in parts]
        note = (
            "Numbers are per query, sampled from the data." if len(parts) == 1 else "A row for each part of the index."
        )
        sections.append(Section("What a query does", charts=(stages("Stages of a query", note, rows),)))
        sections.append(Section("What was weighed", charts=_weighed(parts[0])))
        sections.append(Section("Parts", tables=(_parts(parts),)))
    return Contents(title, figures, tuple(said), (), tuple(sections))


def _stages_of(part: Mapping[str, Any], about: Mapping[str, Any]) -> list[Stage]:
    """A query of one part."""
    row = [Stage("query", "1 fingerprint", f"{about['bits']} bits")]
    if part["tables"]:
        radii = ", ".join("–" if value < 0 else str(value) for value in part["radii"])
        built = "" if part["built"] else "; not built yet"
        row.append(Stage("look up in tables", f"{part['tables']} tables", f"radius in blocks {radii}{built}"))
        row.append(Stage("buckets", f"{_count(part['probes'])} look-ups", _bytes(part["bytes"])))
    fair = part["fair_candidates"]
    skew = f"{_count(fair)} if bits were fair" if part["tables"] else "all of them"
    row.append(Stage("compare", f"{_count(part['candidates'])} candidates", skew))
    row.append(Stage("answers", f"within radius {about['radius']}", f"about {_nanoseconds(part['cost'])}"))
    return row


def _weighed(part: Mapping[str, Any]) -> tuple[Chart, ...]:
    """What each method would cost for a part, in time and memory."""
    methods = sorted(part["methods"].items(), key=lambda entry: entry[1]["cost"])
    times = [(name, each["cost"], name == part["method"]) for name, each in methods]
    sizes = [(name, float(each["bytes"]), name == part["method"]) for name, each in methods]
    return (
        bars("Time of a query by method", "Nanoseconds, on a logarithmic scale.", "method", "ns", times),
        bars("Memory by method", "Bytes, on a logarithmic scale.", "method", "bytes", sizes),
    )


def _parts(parts: list[Mapping[str, Any]]) -> Table:
    names = ("distinct fingerprints", "method", "tables", "look-ups", "candidates", "a query", "bytes")
    rows = [
        (
            f"{part['slots']:,}",
            part["method"],
            str(part["tables"]),
            _count(part["probes"]),
            _count(part["candidates"]),
            _nanoseconds(part["cost"]),
            f"{part['bytes']:,}",
        )
        for part in parts
    ]
    return Table("Parts of the index", names, rows)


def _lsh(about: Mapping[str, Any], name: str) -> Contents:
    title = f"{name}: {about['vectors']:,} vectors of {about['dimension']} dimensions, by {about['filter']}"
    tuning = about["tuning"]
    figures = [
        ("filter", about["filter"], about["metric"]),
        ("memory of the filter", _bytes(about["bytes_filter"]), f"and {_bytes(about['bytes_vectors'])} of vectors"),
    ]
    if tuning is not None:
        figures.append(("recall", f"{tuning['measured_recall']:.3f}", f"measured; wanted {tuning['recall']:g}"))
        told = f"{_count(tuning['expected_candidates'])} candidates"
        time = tuning["expected_microseconds"]
        if time is not None:
            figures.append(("a query", f"{time:,.0f} µs", f"expected; {told}"))
    said = [f"Family: {about['family']}.", f"Why: {about['why']}."]
    if about["chosen"]:
        said.append(f"Chosen by the index: {', '.join(about['chosen'])}.")
    ranked = None if tuning is None else tuning["expected_candidates"]
    sections = [Section("What a query does", charts=(stages("Stages of a query", "", [_lsh_stages(about, ranked)]),))]
    if about.get("codes_promise") is not None:
        note = f"{about['deviations']:.2f} standard deviations below the estimate"
        figures.append(("promised by the codes", f"{about['codes_promise']:.3f}", note))
    if "bucket_sizes" in about:
        rows = [
            (str(1 << at) if at == 0 else f"{1 << at}–{(2 << at) - 1}", float(count))
            for at, count in enumerate(about["bucket_sizes"])
        ]
        note = "Buckets of all tables by how many vectors they hold; counts are on a logarithmic scale."
        sections.append(Section("Buckets", charts=(columns("Buckets by size", note, ("vectors", "buckets"), rows),)))
    return Contents(title, tuple(figures), tuple(said), (), tuple(sections))


def _lsh_stages(about: Mapping[str, Any], ranked: float | None) -> list[Stage]:
    start = Stage("query", "1 vector", f"{about['dimension']} dimensions")
    last = "k nearest" if ranked is None else f"k nearest of {_count(ranked)}"
    end = Stage("rank", last, f"by the exact distance, {about['metric']}")
    if about.get("rank") == "estimate":
        hashed = Stage("rotate", f"{about['bits']} coordinates", "and look-up tables of them")
        if about["num_cells"]:
            cells = Stage(
                "choose cells", f"{about['num_probes']:,} of {about['num_cells']:,}", "the nearest by distance"
            )
            scanned = Stage("compute bounds", f"of {about['vectors']:,} codes those of the cells", "")
            return [start, hashed, cells, scanned, _by_bound(about)]
        scanned = Stage("compute bounds", f"of {about['vectors']:,} codes", "")
        return [start, hashed, scanned, _by_bound(about)]
    if about["filter"] == "codes":
        scanned = Stage("compare codes", f"{about['vectors']:,} codes", f"by {about['rank']} distance")
        kept = Stage("keep the nearest", f"{about['num_candidates']:,} candidates", "")
        return [start, Stage("hash", f"{about['bits']} bits", "the code of the query"), scanned, kept, end]
    tables, hashes, probes = about["num_tables"], about["hashes_per_table"], about["num_probes"]
    hashed = Stage("hash", f"{tables * hashes:,} values", f"{tables} tables of {hashes}")
    looked = Stage("look up", f"{tables * probes:,} buckets", f"{probes} of each table")
    return [start, hashed, looked, end]


def _by_bound(about: Mapping[str, Any]) -> Stage:
    return Stage("rank", "while a bound is below the k-th distance", f"by the exact distance, {about['metric']}")


def _bands(about: Mapping[str, Any], name: str) -> Contents:
    bands, rows = about["num_bands"], about["num_rows"]
    title = f"{name}: {about['signatures']:,} signatures in {bands} bands of {rows} values"
    figures = (
        ("recall", f"{about['recall']:.3f}", f"of pairs at {about['threshold']:g}"),
        ("bands", str(bands), f"of {rows} of {about['num_perm']} values"),
        ("different signatures", f"{about['different']:,}", f"of {about['signatures']:,}"),
        ("memory", _bytes(about["bytes"]), ""),
    )
    said = (f"A pair is found where all {rows} values of one of {bands} bands are equal: 1 − (1 − s^{rows})^{bands}.",)
    row = [
        Stage("query", "1 signature", f"{about['num_perm']} values"),
        Stage("hash bands", f"{bands} keys", f"of {rows} values each"),
        Stage("look up", f"{bands} buckets", ""),
        Stage("compare", "signatures", "that share a bucket"),
        Stage("answers", f"{about['threshold']:g} or more", "by equal values"),
    ]
    points = [
        Point(round(float(s), 2), float(banding_probability(float(s), bands, rows))) for s in np.linspace(0, 1, 101)
    ]
    curve = curves(
        "Probability that a pair is found",
        "By the law of MinHash, over the Jaccard similarity of a pair.",
        [Curve("probability", points)],
        ("similarity", "probability"),
        mark=(about["threshold"], f"threshold {about['threshold']:g}"),
    )
    sections = (
        Section("What a query does", charts=(stages("Stages of a query", "", [row]),)),
        Section("What the bands promise", charts=(curve,)),
    )
    return Contents(title, figures, said, (), sections)


def _digests(about: Mapping[str, Any], name: str) -> Contents:
    title = f"{name}: {about['digests']:,} digests of {about['recipe']}"
    each = about["postings"] / about["digests"] if about["digests"] else 0.0
    figures = (
        ("digests", f"{about['digests']:,}", ""),
        ("entries of lists", f"{about['postings']:,}", f"{each:.1f} of a digest"),
        ("memory", _bytes(about["bytes"]), ""),
    )
    said = ("The search is exact: a score above 0 needs seven shared characters at one block size.",)
    row = [
        Stage("query", "1 digest", "two parts"),
        Stage("cut", "7-grams", "of both parts, by block size"),
        Stage("look up", f"{about['postings']:,} entries", "of lists, by 7-gram"),
        Stage("score", "candidates", "by the longest common subsequence"),
    ]
    return Contents(title, figures, said, (), (Section("What a query does", charts=(stages("Stages", "", [row]),)),))


def _spark(about: Mapping[str, Any], name: str) -> Contents:
    title = f"{name}: {about['documents']:,} documents by {about['method']}"
    seconds = about.get("core_seconds")
    figures = (
        ("method", about["method"], ""),
        ("shuffled", _bytes(about["shuffled_bytes"]), "per document, before verification"),
        ("comparisons", _count(about["comparisons"]), "of fingerprints, per document"),
        ("tasks", f"{about['tasks']:,}", ""),
        *((("CPU time", f"{seconds / 3600:,.1f} h", "of one core, expected"),) if seconds is not None else ()),
    )
    row = [
        Stage("documents", f"{about['documents']:,}", about["recipe"]),
        Stage("hash", "one row each", ""),
        Stage("shuffle", _bytes(about["shuffled_bytes"]), f"per document, by {about['method']}"),
        Stage("compare", f"{_count(about['comparisons'])} per document", f"{about['tasks']:,} tasks"),
        Stage("verify", "candidates", "with their texts"),
    ]
    said = (f"{about['why'][:1].upper()}{about['why'][1:]}.",)
    return Contents(title, figures, said, (), (Section("What a job does", charts=(stages("Stages", "", [row]),)),))


def _count(value: float) -> str:
    return short(value)


def _nanoseconds(value: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if value >= size:
            return f"{short(value / size)} {unit}"
    return f"{short(value)} ns"


def _bytes(value: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value >= size:
            return f"{short(value / size)} {unit}"
    return f"{value:,.0f} bytes"


__all__ = ["contents_of_plan", "plan_page"]
