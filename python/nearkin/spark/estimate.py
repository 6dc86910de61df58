"""What a job will cost before it runs: rows, shuffled bytes, CPU seconds and memory of its stages.

**Model.** For n documents in b bands of r rows:

- A document has 0.18 pairs with near-duplicates, whose texts are compared, and (n/2) (1 - (1 - s^r)^b) with unrelated
  documents, whose values are equal with probability s: the *background similarity*. Of these only 16 bytes are
  compared, in their bucket. With bands that are too short for n the second number rules everything, and grows with n.
- CPU seconds of a stage grow in proportion to what it reads: bytes of texts and signatures, rows of bands, pairs. The
  constants are least squares of the stages of jobs with 30,000 to a million documents of 1 KB (`FITTED`); larger jobs
  check the whole (`bench/spark_engines.py --model`).
- Bytes are those that stages send, without compression: keys and numbers of 8 bytes, texts, signatures.

Not in it: reading and writing an object store, the network, waiting for the slowest task, and the start of an engine.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from nearkin.distributed.documents import TASK_BYTES, TASK_ROWS
from nearkin.distributed.pairs import PAIR_SECONDS, PART_ROWS, num_parts
from nearkin.distributed.plan import MAX_PASSES, count_passes, union
from nearkin.errors import InputError, bad_parameter, check_count
from nearkin.spark.columns import check_text
from nearkin.spark.engine import DataFrame, fetch_rows, functions, quote
from nearkin.theory import banding_probability

if TYPE_CHECKING:
    from nearkin.dedup.config import DedupConfig

_MIN_VALUES = 128
"""Values of a signature of the document recipe; more bands take more."""
_BITS = 16
"""Bytes of the one-bit values of a document."""
_PARCEL_ROW, _PARCEL_DOCUMENT = 4, 1 + 1 + _BITS
"""Bytes of a row of a band, its unit, and of a document in a parcel: a count, the difference of a number, bits."""
FITTED_BYTES = 1089
"""Bytes of a text in the jobs that constants were fitted on."""
BANDS = (18, 6)
"""Bands and rows of the document recipe on engines."""


@dataclass(frozen=True)
class StageEstimate:
    """A stage of a job.

    Attributes
    ----------
    name : str
    rows : int
        Rows that the stage reads.
    shuffled_bytes : int
        Bytes that its rows have between machines, without compression.
    cpu_seconds : float
        On Sail, with AVX2.
    task_bytes : int
        Memory of one task; an executor runs one for each core.
    """

    name: str
    rows: int
    shuffled_bytes: int
    cpu_seconds: float
    task_bytes: int


@dataclass(frozen=True)
class JobEstimate:
    """The stages of a job; `str` of it is a table.

    Attributes
    ----------
    documents, mean_bytes : int
    bands : (int, int)
        Bands, and rows of each.
    pairs : float
        Pairs of a document whose texts are compared.
    unrelated : float
        Further pairs in its buckets, with unrelated documents, of which 16 bytes are compared.
    stages : tuple of StageEstimate
    """

    documents: int
    mean_bytes: int
    bands: tuple[int, int]
    pairs: float
    unrelated: float
    stages: tuple[StageEstimate, ...]

    @property
    def cpu_seconds(self) -> float:
        """Sum over all stages."""
        return sum(stage.cpu_seconds for stage in self.stages)

    @property
    def shuffled_bytes(self) -> int:
        """Sum over all stages."""
        return sum(stage.shuffled_bytes for stage in self.stages)

    def hours(self, cores: int) -> float:
        """Return the hours that these cores need if all are busy all the time."""
        check_count("cores", cores, 1, 1 << 24, "1 or more")
        return self.cpu_seconds / cores / 3600

    def summary(self) -> dict[str, Any]:
        """Return all figures, those of stages under `stages`, and their sums."""
        return {**asdict(self), "cpu_seconds": self.cpu_seconds, "shuffled_bytes": self.shuffled_bytes}

    def __str__(self) -> str:
        num_bands, num_rows = self.bands
        lines = [
            f"{self.documents:,} documents of {self.mean_bytes:,} bytes, {num_bands} bands of {num_rows} rows: each "
            f"has {self.pairs:,.2f} pairs to verify, and {self.unrelated:,.1f} with unrelated documents",
            f"{'stage':10}{'rows':>20}{'shuffled GB':>14}{'core-hours':>12}{'MB of a task':>14}",
        ]
        total = StageEstimate("all", 0, self.shuffled_bytes, self.cpu_seconds, 0)
        lines += [
            f"{stage.name:10}{stage.rows:>20,}{stage.shuffled_bytes / 1e9:>14,.1f}"
            f"{stage.cpu_seconds / 3600:>12,.2f}{stage.task_bytes / 1e6:>14,.0f}"
            for stage in self.stages
        ]
        lines.append(f"{total.name:10}{'':>20}{total.shuffled_bytes / 1e9:>14,.1f}{total.cpu_seconds / 3600:>12,.2f}")
        return "\n".join(lines)


@dataclass(frozen=True)
class StageCost:
    """CPU seconds of a stage: `fixed`, and `each` for every unit of what it reads."""

    fixed: float
    each: float

    def __call__(self, units: float) -> float:
        """Return the CPU seconds for a number of units."""
        return self.fixed + self.each * units


FITTED = {
    "hash": StageCost(0.39, 8.34e-06),
    "copies": StageCost(0.089, 4.7e-07),
    "pairs": StageCost(0.024, 7.38e-06),
    "scan": StageCost(0, 3.17e-06),
    "verify": StageCost(0, 4.71e-05),
    "decide": StageCost(0.018, 1.26e-06),
    "clusters": StageCost(0.11, 5.41e-06),
    "kept": StageCost(0, 9.69e-06),
}
"""By least squares; the units are documents of `FITTED_BYTES` with 128 values, documents, documents in 18 bands,
documents of `FITTED_BYTES` that a pass reads, pairs, documents in clusters (twice), documents of `FITTED_BYTES`."""
NEAR_PAIRS, CLUSTERED = 0.18, 0.26
"""Pairs of near-duplicates of a document, and documents in clusters, in the corpus of the benchmark."""


def explain(
    documents: int,
    mean_bytes: int = 1000,
    *,
    bands: tuple[int, int] = BANDS,
    background: float = 0.07,
    near_pairs: float = NEAR_PAIRS,
    clustered: float = CLUSTERED,
    passes: int = 1,
) -> JobEstimate:
    """Estimate a job with MinHash, without running anything.

    Parameters
    ----------
    documents : int
        1 to 10**12.
    mean_bytes : int
        Mean size of a text.
    bands : (int, int)
        Bands, and rows of each, as in `dedup(bands="18x6")`.
    background : float
        Similarity of unrelated documents, 0 to 1: `background_similarity` in the summary of `nearkin.dedup` on a
        sample.
    near_pairs, clustered : float
        Candidate pairs of near-duplicates for each document, and the share of documents in clusters; the defaults are
        those of the benchmark, in which one document of ten is removed.
    passes : int, default 1
        Passes of the verification, 1 to 8. Spark needs one. Sail has one for each 2 GB of texts, at most eight.

    Raises
    ------
    ParameterError
        Arguments out of range.

    Examples
    --------
    >>> from nearkin.spark import explain
    >>> small = explain(10**6)
    >>> large = explain(10**9, bands=(37, 9))
    >>> small.cpu_seconds < 100, large.unrelated < 2
    (True, True)
    """
    n = check_count("documents", documents, 1, 10**12, "1 to 10**12")
    mean = check_count("mean_bytes", mean_bytes, 1, 1 << 31, "1 to 2**31")
    num_bands, num_rows = bands
    check_count("passes", passes, 1, MAX_PASSES, f"1 to {MAX_PASSES}")
    for name, value in (("near_pairs", near_pairs), ("clustered", clustered)):
        if not value >= 0:
            raise bad_parameter(name, value, "0 or more")
    unrelated = n / 2 * banding_probability(background, num_bands, num_rows)
    signature = 4 * max(_MIN_VALUES, num_bands * num_rows)
    row, text = 16, mean + 8 * num_bands + _BITS + 24
    count, members = round(n * near_pairs), round(n * clustered)
    stored = 0 if passes == 1 else passes * min(2 * count, n)
    read = 2 * n if passes == 1 else n + stored + min(2 * count, n)
    cost = FITTED
    # A task needs its rows, their order, and results: about four times its rows.
    rows_memory, text_memory = 4 * 16 * TASK_ROWS, 4 * TASK_BYTES
    parcels_memory = 4 * (_PARCEL_ROW + _PARCEL_DOCUMENT) * PART_ROWS
    stages = (
        StageEstimate(
            "hash",
            n,
            0,
            cost["hash"](n * (mean + signature) / (FITTED_BYTES + 4 * _MIN_VALUES)),
            10_000 * (mean + signature) * 2,
        ),
        StageEstimate("copies", n, (_PARCEL_ROW + _PARCEL_DOCUMENT) * n, cost["copies"](n), parcels_memory),
        StageEstimate(
            "pairs",
            n * num_bands,
            round(n * (_PARCEL_ROW * num_bands + _PARCEL_DOCUMENT * _num_listed(n, num_bands))),
            cost["pairs"](n * num_bands / BANDS[0]) + n * unrelated * PAIR_SECONDS,
            parcels_memory,
        ),
        # All texts are read for pairs and for the first round. Several passes read a table of the texts of pairs, which
        # is written before them. The texts of rounds are not sent, but both of each pair are, the later one once.
        StageEstimate(
            "verify",
            count,
            24 * count + (n + stored + count + min(n, count)) * text,
            cost["verify"](count) + cost["scan"](read * mean / FITTED_BYTES),
            text_memory,
        ),
        StageEstimate("decide", members, 4 * row * members, cost["decide"](members), rows_memory),
        StageEstimate("clusters", members, 3 * 60 * members, cost["clusters"](members), rows_memory),
        StageEstimate("kept", n, row * n, cost["kept"](n * mean / FITTED_BYTES), 10_000 * mean * 2),
    )
    return JobEstimate(n, mean, (num_bands, num_rows), near_pairs, unrelated, stages)


def _num_listed(documents: int, num_bands: int) -> float:
    """Return the expected number of parts of the buckets in which a document has rows."""
    parts = num_parts(documents * num_bands)
    return parts * (1 - (1 - 1 / parts) ** num_bands)


def explain_job(frames: list[DataFrame], text: str, config: DedupConfig, *, in_memory: bool) -> JobEstimate:
    """Estimate a job with MinHash for the number and the mean size of the documents of DataFrames.

    Parameters
    ----------
    frames : list of DataFrame
        The documents, and the reference documents if there are some.
    text : str
        The column of the texts.
    config : DedupConfig
    in_memory : bool
        The engine keeps what stages exchange in memory, so that pairs are verified in passes.

    Raises
    ------
    ParameterError
        There is no such column of strings.
    InputError
        There are no documents.
    """
    F = functions()
    for frame in frames:
        check_text(frame, text)
    sizes = union([frame.select(F.octet_length(F.col(quote(text))).alias("size")) for frame in frames])
    [row] = fetch_rows(sizes.agg(F.count(F.lit(1)).alias("documents"), F.sum("size").alias("bytes")))
    if not row["documents"]:
        raise InputError("the input has no documents to estimate a job for", place="input", reason="no documents")
    documents, mean = row["documents"], max(round((row["bytes"] or 0) / row["documents"]), 1)
    banding = config.candidate_source.banding  # type: ignore[attr-defined]  # MinHash has bands.
    pairs = round(NEAR_PAIRS * documents)
    counts = {"documents": documents, "older": 0, "searched": documents, "characters": documents * mean}
    passes = count_passes(pairs, counts, mean + 8 * banding.num_bands + _BITS) if in_memory else 1
    return explain(documents, mean, bands=(banding.num_bands, banding.num_rows), passes=passes)
