"""The summary of a run: counts, parameters, warnings, times and peak memory.

Peak memory is the largest resident set of the process. Pages of mapped files count while they are in memory; swapped
pages do not. On other systems, and if a system refuses the call, it is None.

| system | call | unit |
|---|---|---|
| Linux, FreeBSD, NetBSD, OpenBSD | `getrusage`, `ru_maxrss` | 1,024 bytes |
| macOS | `getrusage`, `ru_maxrss` | bytes |
| Windows | `GetProcessMemoryInfo`, `PeakWorkingSetSize` | bytes |

Sources: getrusage(2) of Linux, macOS and the BSDs; PROCESS_MEMORY_COUNTERS in psapi.h of the Windows SDK.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, NamedTuple, TypedDict, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from nearkin.io import Column
from nearkin.io.base import read_ahead

_T = TypeVar("_T")

Reason = Literal[
    "kept",
    "exact",
    "same-letters",
    "near",
    "label",
    "exact-old",
    "same-letters-old",
    "near-old",
    "label-old",
    "representative",
    "few-sources",
]
REASONS: tuple[Reason, ...] = get_args(Reason)
"""Why a row is in the clusters table: it is the kept document; it has the same content; the same features but another
content; similar features; or it is less similar, and a label alone merged it. `-old` marks a match with a reference
document. `representative` is the document that the others of its cluster match, and that `keep="none"` removes with
them. `few-sources` is a representative that `min_sources` removes with the others."""
RemovalReason = Literal[Reason, "empty"]
"""Why a document is removed: "empty", which no cluster has, counts documents without features with `empty="drop"`;
"few-sources" also counts documents without a cluster."""


class ReasonWords(NamedTuple):
    """A reason in words.

    Attributes
    ----------
    short : str
        In a list of counts.
    name : str
        Of documents that match another one of the corpus.
    older : str
        Of documents that match one of the reference corpus; empty if there are none.
    """

    short: str
    name: str
    older: str = ""


REASON_WORDS: dict[RemovalReason, ReasonWords] = {
    "exact": ReasonWords("exact", "exact copies", "exact copies of the reference corpus"),
    "same-letters": ReasonWords(
        "different only in case, spacing or punctuation",
        "different only in case, spacing or punctuation",
        "different from the reference corpus only in case, spacing or punctuation",
    ),
    "near": ReasonWords("near", "near-duplicates", "near-duplicates of the reference corpus"),
    "label": ReasonWords(
        "labelled same",
        "less similar, but labelled same",
        "labelled same as a document of the reference corpus, but less similar",
    ),
    "empty": ReasonWords("without text", "without text (--empty drop)"),
    "few-sources": ReasonWords("of too few sources", "of fewer sources than --min-sources"),
}
"""The reasons by which reports count removed documents, in their order."""

_MAX_SHARED = 64
"""Number of sources whose overlap a summary has."""
_RUSAGE_UNITS = {"linux": 1024, "freebsd": 1024, "netbsd": 1024, "openbsd": 1024, "darwin": 1}
"""Bytes per unit of `ru_maxrss`, by the prefix of `sys.platform`, which may end in a version (freebsd14)."""


class Timing(TypedDict, total=False):
    """Seconds of a stage; an engine reports `wall` alone, the start of a command `cpu` alone."""

    wall: float
    cpu: float


class SourceRemovals(TypedDict):
    """Removals of one source."""

    source: str
    documents: int
    removed: int
    share: float


class SharedSources(TypedDict):
    """The sources with the most documents, at most 64; the number of clusters that each two of them share, and on the
    diagonal that of all clusters of a source, a document without duplicates being one; the number of other sources.
    """

    sources: list[str]
    clusters: list[list[int]]
    left_out: int


class ContainedEstimate(TypedDict):
    """Numbers of sampled and kept documents, of kept ones they were looked up in, and of contained ones in the sample;
    the estimated number and its interval, lower bounds if not all kept documents were compared.
    """

    sampled: int
    of: int
    compared: int
    found: int
    estimate: int
    low: int
    high: int
    threshold: float
    recipe: str


class GroupCounts(TypedDict):
    """Numbers of documents of all groups, of kept and of removed ones; `column` is the name of their column."""

    column: str | None
    documents: int
    kept: int
    removed: int


class ShrinkChoice(TypedDict):
    """The request in documents, the threshold that was chosen, the next higher one with its number, the lowest one."""

    requested: int | float
    documents: int
    threshold: float
    kept: int
    next_threshold: float | None
    next_kept: int | None
    floor: float


class ThresholdEstimate(TypedDict):
    """Counts of a run at another threshold: removed documents, further pairs of kept ones, missed pairs, interval."""

    threshold: float
    removed: int | None
    further_pairs: int
    missed_pairs: int
    low: int
    high: int


class FamilySummary(TypedDict, total=False):
    """Parameters of a family of candidates; each family has some of them."""

    radius: int
    num_perm: int
    num_bands: int
    num_rows: int
    background_similarity: float
    least_equal_values: int
    expected_recall: float | None
    expected_precision: float
    bits: int
    sketch_size: int
    also: str
    text_threshold: float


class RunDetails(FamilySummary, total=False):
    """What the summaries of some runs have, of any kind of run."""

    kind: str
    kind_set: dict[str, Any]
    recipe: str
    recipe_digest: str
    skipped: int
    warnings: list[str]
    timings: dict[str, Timing]
    peak_memory_bytes: int | None


class DedupDetails(RunDetails, total=False):
    """What the summaries of some deduplications have; `Summary` describes it."""

    vectors: dict[str, Any]
    differ: list[str]
    empty: str
    order: str
    older_documents: int
    candidates: int
    verified: int
    match_rate: float | None
    pairs_that_differ: int
    lossless: bool
    kept_for_text: int
    labels: dict[str, Any]
    near_misses: dict[str, int]
    contained: ContainedEstimate
    thresholds: list[ThresholdEstimate]
    sources: list[SourceRemovals]
    sources_shared: SharedSources
    min_sources: int
    unreadable: int
    resumed: dict[str, int]
    groups: GroupCounts
    shrink_to: ShrinkChoice
    left_out_lines: LeftOutSummary
    kind_hint: KindHint
    idf: FittedWeights


class FittedWeights(TypedDict):
    """The document frequencies that a run counted in its texts; `max_error` is 0 if no feature was dropped."""

    documents: int
    features: int
    digest: str
    max_error: int


class LeftOutLine(TypedDict):
    """A line that was left out: its text, its source, and the number of that source's pages with it."""

    line: str
    source: str
    documents: int


class LeftOutSummary(TypedDict):
    """Lines that pages were compared without: their number, by source, and the most frequent ones."""

    lines: int
    first: list[LeftOutLine]


class KindHint(TypedDict):
    """A kind that the texts look like, the sign that most have, and removals in a sample: by default, with the kind."""

    kind: str
    sign: str
    sample: int
    removed: int
    removed_by_kind: int


class ClusterCounts(TypedDict):
    """What the clusters of a deduplication left of the documents."""

    documents: int
    without_features: int
    kept: int
    removed: int
    removed_by_reason: dict[RemovalReason, int]
    clusters: int
    largest_cluster: int


class OptionSummary(DedupDetails):
    """The options of a deduplication that every summary has."""

    version: str
    threshold: float
    verify: str
    cluster: str
    keep: str


class Summary(OptionSummary, ClusterCounts):
    """Counts, recipe, parameters, version and timings of a run, as in the file summary.json.

    `without_features` counts documents without features (no text, or no letter or digit), except those that a store has
    under their ids. They match nothing; `empty` says whether they were kept. `kind_set` has the options set by `kind`.
    `bits` is the width of codes of other programs. `vectors` says for vectors how pairs were searched, and the recall
    that was measured. Keys from `radius` to `expected_precision` depend on the family of
    the run. `sources`
    is present with sources, and `warnings` with sources or with a warning. `unreadable` is present for files; `also`
    and `text_threshold` for files that were compared as texts. `skipped` counts comparisons beyond `max_comparisons`,
    or for files look-ups of 7-grams beyond `skip_hubs`: 0 means that nothing was left out. `near_misses`, if requested,
    has the number of sampled documents, of kept documents, and of pairs; `contained` estimates how many kept documents
    are contained in another kept one (`dedup.contained`), and `thresholds` what other thresholds remove and miss
    (`dedup.thresholds`). `labels` counts labelled pairs: same,
    different, unsure and contradictory; `kept_apart` counts different pairs that would have been in one cluster;
    `joined` same pairs whose clusters were merged only for the label, and `not_joined` those that other labels keep
    apart; `equal` different pairs of equal contents, which are not separated; `unknown_ids` labelled ids of no
    document; `kept_worse` the share of removed pairs labelled as kept in the worse copy. With rules of `differ`,
    `pairs_that_differ` counts similar pairs that were separated. With `lossless`, `kept_for_text` counts kept
    documents that match an earlier kept one, which lacks some of their text. A run that continues from a checkpoint
    counts under `resumed` the documents that were `hashed` and `decided` before. With groups of documents all counts
    are of groups, and `groups` has those of documents.
    """


def describe_counts(summary: Mapping[str, Any]) -> str:
    """Return the text form of a result: its documents, also those of groups, and its clusters."""
    counts = summary.get("groups", summary)
    kept, documents, removed = counts["kept"], counts["documents"], counts["removed"]
    return f"<kept {kept} of {documents} documents, removed {removed} in {summary['clusters']} clusters>"


def count_reasons(summary: Mapping[str, Any]) -> dict[RemovalReason, int]:
    """Return the removed documents by the reasons of `REASON_WORDS`, with the matches of older documents."""
    counts = summary["removed_by_reason"]
    return {reason: counts.get(reason, 0) + counts.get(f"{reason}-old", 0) for reason in REASON_WORDS}


def count_reference(summary: Mapping[str, Any]) -> int:
    """Return the number of documents removed for a match with an older one."""
    return sum(count for reason, count in summary["removed_by_reason"].items() if reason.endswith("-old"))


def removed_share(summary: Mapping[str, Any]) -> float:
    """Return the share of the documents that were removed; 0 without documents."""
    return float(summary["removed"] / summary["documents"]) if summary["documents"] else 0.0


def total_seconds(summary: Mapping[str, Any]) -> float:
    """Return the wall time of all stages."""
    return float(sum(stage.get("wall", 0.0) for stage in summary["timings"].values()))


def summarize_family(family: FamilySummary, verify: str) -> tuple[FamilySummary, list[str]]:
    """Return the summary of a family for a verification, and warnings.

    If candidates are verified by another measure than the one that the family's law is about, the expected recall is
    None and a warning says so.
    """
    if "expected_recall" not in family or "sketch_size" in family or verify not in ("containment", "indel", "words"):
        return family, []
    mend = "a larger radius or recall finds more"
    if verify == "containment":
        mend = "measure='containment' has candidates of its own"
    message = (
        f"no recall is promised for {verify}: candidates follow from the Jaccard similarity of features, and pairs of "
        f"another similarity may lie beyond them; {mend}"
    )
    # That of words is measured: docs/quality.md.
    return {**family, "expected_recall": None}, [] if verify == "words" else [message]


def number_sources(sources: Column) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of sources, sorted, and the number of each document's; a missing one has the empty name."""
    values = ["" if value is None else str(value) for value in sources.to_list()]
    names, numbers = np.unique(np.array(values, object), return_inverse=True)
    return names.tolist(), numbers.astype(np.int64)


def removals_by_source(sources: Column, kept: NDArray[np.bool_]) -> tuple[list[SourceRemovals], list[str]]:
    """Return the removals of each source, and warnings as `tabulate_removals` has them."""
    names, numbers = number_sources(sources)
    documents = np.bincount(numbers, minlength=len(names))
    removed = np.bincount(numbers, weights=~kept, minlength=len(names)).astype(np.int64)
    return tabulate_removals(names, documents.tolist(), removed.tolist())


def share_sources(sources: Column, clusters: NDArray[np.int64]) -> tuple[SharedSources, NDArray[np.int64]]:
    """Return the overlap of sources, and for each document the number of sources of its cluster; a missing one is none.

    `clusters` has a number for each document; a document without duplicates has one of its own.
    """
    names, numbers = number_sources(sources)
    _, clusters = np.unique(clusters, return_inverse=True)
    count = int(clusters.max(initial=-1)) + 1
    cluster, source = np.divmod(np.unique(clusters * len(names) + numbers), max(len(names), 1))
    named = np.array([name != "" for name in names], bool)[source]
    distinct = np.bincount(cluster[named], minlength=count)[clusters]
    largest = np.argsort(-np.bincount(numbers, minlength=len(names)), kind="stable")[:_MAX_SHARED]
    bits, masks = np.zeros(len(names), np.uint64), np.zeros(count, np.uint64)
    bits[largest] = np.uint64(1) << np.arange(len(largest), dtype=np.uint64)
    np.bitwise_or.at(masks, cluster, bits[source])
    masks, counts = np.unique(masks, return_counts=True)
    has = (masks[:, None] & bits[largest] != 0).astype(np.int64)
    shared = (has.T @ (has * counts[:, None])).tolist()
    return {
        "sources": [names[source] for source in largest.tolist()],
        "clusters": shared,
        "left_out": len(names) - len(largest),
    }, distinct


def tabulate_removals(
    names: list[str], documents: list[int], removed: list[int]
) -> tuple[list[SourceRemovals], list[str]]:
    """Return the table of removals of counted sources, and warnings.

    A warning names a source that loses at least 20 texts, at twice the rate of the others and 25 points more.
    """
    table: list[SourceRemovals] = []
    warnings = []
    for name, total, lost in zip(names, documents, removed, strict=True):
        share = lost / total
        others = (sum(removed) - lost) / max(sum(documents) - total, 1)
        table.append({"source": name, "documents": total, "removed": lost, "share": share})
        if lost >= 20 and len(names) > 1 and share >= 2 * others and share >= others + 0.25:
            warnings.append(f"source {name!r} loses {share:.0%} of its documents, the others {others:.0%}")
    table.sort(key=lambda row: (-row["share"], row["source"]))
    return table, warnings


class StageTimer:
    """Wall and CPU seconds of stages; a stage may run several times.

    The time of a stage within another one counts for the inner one alone, so that the times of all stages add up.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, Timing] = {}
        self._inner = [(0.0, 0.0)]

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Add the time of this context to a stage."""
        total = self.seconds.setdefault(name, {"wall": 0.0, "cpu": 0.0})
        wall, cpu = time.perf_counter(), time.process_time()
        self._inner.append((0.0, 0.0))
        try:
            yield
        finally:
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            inner = self._inner.pop()
            total["wall"] += wall - inner[0]
            total["cpu"] += cpu - inner[1]
            outer = self._inner[-1]
            self._inner[-1] = (outer[0] + wall, outer[1] + cpu)

    def each(self, name: str, items: Iterable[_T], *, threaded: bool) -> Iterator[_T]:
        """Yield the items of `read_ahead`, and add the time of waiting for them, and their CPU time, to a stage."""
        total = self.seconds.setdefault(name, {"wall": 0.0, "cpu": 0.0})
        start = time.perf_counter()

        def add(cpu: float) -> None:
            wall = time.perf_counter() - start
            total["wall"] += wall
            total["cpu"] += cpu
            outer = self._inner[-1]
            self._inner[-1] = (outer[0] + wall, outer[1] + cpu)

        for item in read_ahead(items, threaded=threaded, on_cpu=add):
            yield item
            start = time.perf_counter()


def peak_memory_bytes() -> int | None:
    """Return the largest resident set of this process so far, in bytes; None if the system does not report it.

    Examples
    --------
    >>> from nearkin.dedup.summary import peak_memory_bytes
    >>> peak_memory_bytes() > 1_000_000
    True
    """
    if sys.platform == "win32":
        return _windows_peak()
    unit = next((unit for name, unit in _RUSAGE_UNITS.items() if sys.platform.startswith(name)), None)
    return None if unit is None else _rusage_peak(unit)


def _rusage_peak(unit: int) -> int | None:
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class _MemoryCounters(ctypes.Structure):
    """PROCESS_MEMORY_COUNTERS; DWORD is `c_uint32`, SIZE_T is `c_size_t`."""

    _fields_: ClassVar = [
        ("cb", ctypes.c_uint32),
        ("PageFaultCount", ctypes.c_uint32),
        *((name, ctypes.c_size_t) for name in ("PeakWorkingSetSize", "WorkingSetSize")),
        *((f"Quota{name}Usage", ctypes.c_size_t) for name in ("PeakPagedPool", "PagedPool")),
        *((f"Quota{name}Usage", ctypes.c_size_t) for name in ("PeakNonPagedPool", "NonPagedPool")),
        *((name, ctypes.c_size_t) for name in ("PagefileUsage", "PeakPagefileUsage")),
    ]


def _windows_peak() -> int | None:
    # WinDLL exists on Windows only; kernel32 has had this function under the name K32... since Windows 7.
    kernel = getattr(ctypes, "WinDLL")("kernel32")  # noqa: B009 - mypy sees the attribute on Windows alone
    current, get_info = kernel.GetCurrentProcess, kernel.K32GetProcessMemoryInfo
    # A handle is as wide as a pointer; ctypes assumes a C int by default.
    current.restype = ctypes.c_void_p
    get_info.argtypes = [ctypes.c_void_p, ctypes.POINTER(_MemoryCounters), ctypes.c_uint32]
    get_info.restype = ctypes.c_int
    counters = _MemoryCounters(cb=ctypes.sizeof(_MemoryCounters))
    if not get_info(current(), ctypes.byref(counters), counters.cb):
        return None
    return int(counters.PeakWorkingSetSize)
