"""The estimate of a job: what grows, and how, and what it says of jobs that were measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin.errors import ParameterError
from nearkin.spark import explain
from nearkin.spark.estimate import BANDS, FITTED_BYTES
from nearkin.theory import banding_probability

RUNS = Path(__file__).resolve().parents[2] / "bench" / "runs"
RUN = RUNS / "2026-11-28-spark-model-055142.json"
"""The run that the constants are from; its jobs of more than a million documents fitted none of them."""


@given(st.integers(1, 10**10), st.integers(1, 10**6))
def test_twice_the_documents_take_at_least_twice_the_bytes(documents: int, mean_bytes: int) -> None:
    """But for rounded pairs; CPU seconds grow less than with the square of the documents."""
    one, two = explain(documents, mean_bytes), explain(2 * documents, mean_bytes)
    assert two.shuffled_bytes >= 2 * one.shuffled_bytes - 4 * (mean_bytes + 2_000)
    assert one.cpu_seconds <= two.cpu_seconds <= 4 * one.cpu_seconds
    # Memory of a task does not follow the number of documents.
    assert [stage.task_bytes for stage in one.stages] == [stage.task_bytes for stage in two.stages]


def test_unrelated_pairs_follow_from_the_bands() -> None:
    """They are those of the theory, and longer bands end them."""
    estimate = explain(10**9, background=0.05)
    assert 5e8 * banding_probability(0.05, *BANDS) == estimate.unrelated
    assert explain(10**9, bands=(47, 10)).unrelated < 0.2 < 900 < explain(10**9).unrelated
    assert 0 == explain(1000, background=0).unrelated


@pytest.mark.parametrize(("documents", "passes", "more_pairs"), [(3_000_000, 1, 0.15), (10_000_000, 3, 0.25)])
def test_a_job_that_fitted_nothing_is_estimated_within_fifteen_percent(
    documents: int, passes: int, more_pairs: float
) -> None:
    """The constants are those of jobs of up to a million documents; the corpus has more pairs as it grows."""
    row: dict[str, Any] = json.loads(RUN.read_text())["results"][str(documents)]["sail"]
    measured = sum(stage["cpu"] for stage in row["stages"])
    estimate = explain(documents, FITTED_BYTES, passes=passes)
    assert measured == pytest.approx(estimate.cpu_seconds, rel=0.15)
    assert row["candidates"] / documents == pytest.approx(estimate.pairs, rel=more_pairs)


def test_the_table_has_every_stage() -> None:
    """A line for the job, one of names, one for each stage, and the sums."""
    estimate = explain(10**7, 2000)
    lines = str(estimate).splitlines()
    assert len(estimate.stages) + 3 == len(lines)
    assert [stage.name for stage in estimate.stages] == [line.split()[0] for line in lines[2:-1]]
    assert estimate.hours(100) == pytest.approx(estimate.cpu_seconds / 360_000)


@pytest.mark.parametrize(
    "arguments",
    [{"documents": 0}, {"mean_bytes": 0}, {"bands": (0, 6)}, {"background": 2.0}, {"near_pairs": -1}],
    ids=str,
)
def test_arguments_out_of_range(arguments: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        explain(**{"documents": 10, **arguments})
