"""The page of a plan: how an index answers a query, stage by stage with counts and costs, and the alternatives.

The input is the result of `explain()` of `HammingIndex`, `LSHIndex`, `BandIndex` or `DigestIndex`, or of
`nearkin.spark.explain`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearkin.errors import bad_parameter
from nearkin.notebook import short
from nearkin.report.charts import Curve, Point, Stage, draw_bars, draw_columns, draw_curves, draw_stages
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


def plan_page(plan: Mapping[str, Any], name: str = "index") -> str:
    """Return the page of a plan, as HTML.

    Parameters
    ----------
    plan : mapping
        The result of `explain()` of an index, or of `nearkin.spark.explain`.
    name : str, default "index"
        Name of the index on the page.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.
    ParameterError
        The mapping is not the result of an index.

    Examples
    --------
    >>> import nearkin as nk
    >>> from nearkin.report.plan import plan_page
    >>> index = nk.HammingIndex(64, radius=3)
    >>> page = plan_page(index.explain(), "fingerprints.nk")
    >>> "<h1>fingerprints.nk: 0 fingerprints of 64 bits, radius 3</h1>" in page
    True
    """
    return render(build_plan(plan, name))


def build_plan(plan: Mapping[str, Any], name: str = "index") -> Contents:
    """Return the content of the page; parameters and errors are those of `plan_page`."""
    for key, build in (
        ("parts", _build_hamming),
        ("filter", _build_lsh),
        ("num_bands", _build_bands),
        ("postings", _build_digests),
        ("shuffled_bytes", _build_spark),
    ):
        if key in plan:
            return build(plan, name)
    allowed = "the result of explain() of HammingIndex, LSHIndex, BandIndex or DigestIndex, or of nearkin.spark.explain"
    raise bad_parameter("plan", f"a mapping of {', '.join(map(str, plan)) or 'nothing'}", allowed)


def _stage_section(*plans: Sequence[Stage], title: str = "What a query does", note: str = "") -> Section:
    return Section(title, charts=(draw_stages("Stages", note, plans),))


def _build_hamming(plan: Mapping[str, Any], name: str) -> Contents:
    parts = [part for part in plan["parts"] if part["slots"]]
    cost = sum(part["cost"] for part in parts)
    scan = sum(part["scan_cost"] for part in parts)
    title = f"{name}: {plan['fingerprints']:,} fingerprints of {plan['bits']} bits, radius {plan['radius']}"
    methods = dict.fromkeys(part["method"] for part in parts)
    figures = (
        ("method", ", ".join(methods) or "none", f"kernel {plan['kernel']}"),
        ("a query", _format_time(cost), f"expected; a scan takes {_format_time(scan)}"),
        ("candidates", short(sum(part["candidates"] for part in parts)), "per query"),
        ("memory", _format_bytes(plan["bytes_fingerprints"]), f"and {_format_bytes(plan['bytes_ids'])} of ids"),
    )
    sentences = ["Every method returns the same results; they differ in cost. Costs are expected ones, of one thread."]
    sentences += [f"{method}: {_METHODS[method]}." for method in methods]
    sections = []
    if parts:
        one = len(parts) == 1
        note = "Numbers are per query, sampled from the data." if one else "Each row is a part of the index."
        sections = [
            _stage_section(*(_hamming_stages(part, plan) for part in parts), note=note),
            Section("Alternatives", charts=_draw_methods(parts[0])),
            Section("Parts", tables=(_table_parts(parts),)),
        ]
    return Contents(title, figures, tuple(sentences), (), tuple(sections))


def _hamming_stages(part: Mapping[str, Any], plan: Mapping[str, Any]) -> list[Stage]:
    """Return the stages of a query in one part."""
    stages = [Stage("query", "1 fingerprint", f"{plan['bits']} bits")]
    skew = "all of them"
    if part["tables"]:
        radii = ", ".join("–" if value < 0 else str(value) for value in part["radii"])
        built = "" if part["built"] else "; not built yet"
        stages.append(Stage("look up in tables", f"{part['tables']} tables", f"radius in blocks {radii}{built}"))
        stages.append(Stage("buckets", f"{short(part['probes'])} look-ups", _format_bytes(part["bytes"])))
        skew = f"{short(part['fair_candidates'])} if bits were fair"
    stages.append(Stage("compare", f"{short(part['candidates'])} candidates", skew))
    stages.append(Stage("results", f"within radius {plan['radius']}", f"about {_format_time(part['cost'])}"))
    return stages


def _draw_methods(part: Mapping[str, Any]) -> tuple[Chart, ...]:
    """Draw the cost of each method for a part, in time and memory."""
    methods = sorted(part["methods"].items(), key=lambda item: item[1]["cost"])
    times, sizes = (
        [(name, float(costs[key]), name == part["method"]) for name, costs in methods] for key in ("cost", "bytes")
    )
    return (
        draw_bars("Time of a query by method", "Nanoseconds, on a logarithmic scale.", "method", "ns", times),
        draw_bars("Memory by method", "Bytes, on a logarithmic scale.", "method", "bytes", sizes),
    )


def _table_parts(parts: Sequence[Mapping[str, Any]]) -> Table:
    return Table.of(
        "Parts of the index",
        parts,
        {
            "distinct fingerprints": lambda part: f"{part['slots']:,}",
            "method": lambda part: part["method"],
            "tables": lambda part: str(part["tables"]),
            "look-ups": lambda part: short(part["probes"]),
            "candidates": lambda part: short(part["candidates"]),
            "a query": lambda part: _format_time(part["cost"]),
            "bytes": lambda part: f"{part['bytes']:,}",
        },
    )


def _build_lsh(plan: Mapping[str, Any], name: str) -> Contents:
    title = f"{name}: {plan['vectors']:,} vectors of {plan['dimension']} dimensions, by {plan['filter']}"
    memory = f"and {_format_bytes(plan['bytes_vectors'])} of vectors"
    figures = [
        ("filter", plan["filter"], plan["metric"]),
        ("memory of the filter", _format_bytes(plan["bytes_filter"]), memory),
    ]
    tuning, ranked = plan["tuning"], None
    if tuning is not None:
        ranked = tuning["expected_candidates"]
        figures.append(("recall", f"{tuning['measured_recall']:.3f}", f"measured; target {tuning['recall']:g}"))
        if (time := tuning["expected_microseconds"]) is not None:
            figures.append(("a query", f"{time:,.0f} µs", f"expected; {short(ranked)} candidates"))
    sentences = [f"Family: {plan['family']}.", f"Why: {plan['why']}."]
    if plan["chosen"]:
        sentences.append(f"Chosen by the index: {', '.join(plan['chosen'])}.")
    if plan.get("guaranteed_recall") is not None:
        note = f"{plan['deviations']:.2f} standard deviations below the estimate"
        figures.append(("guarantee of the codes", f"{plan['guaranteed_recall']:.3f}", note))
    sections = [_stage_section(_lsh_stages(plan, ranked))]
    if "bucket_sizes" in plan:
        rows = [
            ("1" if i == 0 else f"{1 << i}–{(2 << i) - 1}", float(count))
            for i, count in enumerate(plan["bucket_sizes"])
        ]
        note = "Buckets of all tables by their number of vectors; counts are on a logarithmic scale."
        sections.append(
            Section("Buckets", charts=(draw_columns("Buckets by size", note, ("vectors", "buckets"), rows),))
        )
    return Contents(title, tuple(figures), tuple(sentences), (), tuple(sections))


def _lsh_stages(plan: Mapping[str, Any], ranked: float | None) -> list[Stage]:
    query = Stage("query", "1 vector", f"{plan['dimension']} dimensions")
    metric = f"by the exact distance, {plan['metric']}"
    rank = Stage("rank", "k nearest" if ranked is None else f"k nearest of {short(ranked)}", metric)
    if plan.get("rank") == "estimate":
        rotate = Stage("rotate", f"{plan['bits']} coordinates", "and look-up tables of them")
        codes = f"of {plan['vectors']:,} codes"
        rerank = Stage("rank", "while a bound is below the k-th distance", metric)
        if not plan["num_partitions"]:
            return [query, rotate, Stage("compute bounds", codes, ""), rerank]
        probes = f"{plan['num_probes']:,} of {plan['num_partitions']:,}"
        choose = Stage("choose partitions", probes, "the nearest by distance")
        return [query, rotate, choose, Stage("compute bounds", f"{codes} those of the partitions", ""), rerank]
    if plan["filter"] == "codes":
        encode = Stage("hash", f"{plan['bits']} bits", "the code of the query")
        compare = Stage("compare codes", f"{plan['vectors']:,} codes", f"by {plan['rank']} distance")
        keep = Stage("keep the nearest", f"{plan['num_candidates']:,} candidates", "")
        return [query, encode, compare, keep, rank]
    tables, hashes, probes = plan["num_tables"], plan["hashes_per_table"], plan["num_probes"]
    encode = Stage("hash", f"{tables * hashes:,} values", f"{tables} tables of {hashes}")
    return [query, encode, Stage("look up", f"{tables * probes:,} buckets", f"{probes} of each table"), rank]


def _build_bands(plan: Mapping[str, Any], name: str) -> Contents:
    bands, rows = plan["num_bands"], plan["num_rows"]
    title = f"{name}: {plan['signatures']:,} signatures in {bands} bands of {rows} values"
    figures = (
        ("recall", f"{plan['recall']:.3f}", f"of pairs at {plan['threshold']:g}"),
        ("bands", str(bands), f"of {rows} of {plan['num_perm']} values"),
        ("different signatures", f"{plan['different']:,}", f"of {plan['signatures']:,}"),
        ("memory", _format_bytes(plan["bytes"]), ""),
    )
    law = f"1 − (1 − s^{rows})^{bands}"
    sentence = f"A pair is found if all {rows} values of one of {bands} bands are equal, with probability {law}."
    stages = [
        Stage("query", "1 signature", f"{plan['num_perm']} values"),
        Stage("hash bands", f"{bands} keys", f"of {rows} values each"),
        Stage("look up", f"{bands} buckets", ""),
        Stage("compare", "signatures", "that share a bucket"),
        Stage("results", f"{plan['threshold']:g} or more", "by equal values"),
    ]
    points = [Point(round(s, 2), float(banding_probability(s, bands, rows))) for s in np.linspace(0, 1, 101).tolist()]
    curve = draw_curves(
        "Probability that a pair is found",
        "By the law of MinHash, over the Jaccard similarity of a pair.",
        [Curve("probability", points)],
        ("similarity", "probability"),
        mark=(plan["threshold"], f"threshold {plan['threshold']:g}"),
    )
    return Contents(
        title, figures, (sentence,), (), (_stage_section(stages), Section("Recall of the bands", charts=(curve,)))
    )


def _build_digests(plan: Mapping[str, Any], name: str) -> Contents:
    title = f"{name}: {plan['digests']:,} digests of {plan['recipe']}"
    per_digest = plan["postings"] / plan["digests"] if plan["digests"] else 0.0
    figures = (
        ("digests", f"{plan['digests']:,}", ""),
        ("entries of lists", f"{plan['postings']:,}", f"{per_digest:.1f} per digest"),
        ("memory", _format_bytes(plan["bytes"]), ""),
    )
    sentence = "The search is exact: a score above 0 needs seven shared characters at one block size."
    stages = [
        Stage("query", "1 digest", "two parts"),
        Stage("cut", "7-grams", "of both parts, by block size"),
        Stage("look up", f"{plan['postings']:,} entries", "of lists, by 7-gram"),
        Stage("score", "candidates", "by the longest common subsequence"),
    ]
    return Contents(title, figures, (sentence,), (), (_stage_section(stages),))


def _build_spark(plan: Mapping[str, Any], name: str) -> Contents:
    title = f"{name}: {plan['documents']:,} documents by {plan['method']}"
    seconds = plan.get("core_seconds")
    figures = (
        ("method", plan["method"], ""),
        ("shuffled", _format_bytes(plan["shuffled_bytes"]), "per document, before verification"),
        ("comparisons", short(plan["comparisons"]), "of fingerprints, per document"),
        ("tasks", f"{plan['tasks']:,}", ""),
        *((("CPU time", f"{seconds / 3600:,.1f} h", "of one core, expected"),) if seconds is not None else ()),
    )
    stages = [
        Stage("documents", f"{plan['documents']:,}", plan["recipe"]),
        Stage("hash", "one row each", ""),
        Stage("shuffle", _format_bytes(plan["shuffled_bytes"]), f"per document, by {plan['method']}"),
        Stage("compare", f"{short(plan['comparisons'])} per document", f"{plan['tasks']:,} tasks"),
        Stage("verify", "candidates", "with their texts"),
    ]
    sentence = f"{plan['why'][:1].upper()}{plan['why'][1:]}."
    return Contents(title, figures, (sentence,), (), (_stage_section(stages, title="What a job does"),))


def _format_unit(value: float, units: Sequence[tuple[str, float]], rest: str) -> str:
    return next((f"{short(value / size)} {unit}" for unit, size in units if value >= size), rest)


def _format_time(nanoseconds: float) -> str:
    return _format_unit(nanoseconds, (("s", 1e9), ("ms", 1e6), ("µs", 1e3)), f"{short(nanoseconds)} ns")


def _format_bytes(value: float) -> str:
    return _format_unit(value, (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)), f"{value:,.0f} bytes")


__all__ = ["build_plan", "plan_page"]
