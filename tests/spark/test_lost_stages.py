"""Files of a checkpoint that are lost while a job runs, or after it: an error, and the same result in the next call."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from engines import MINHASH, DocumentSet, Engine, mixed_texts, star_texts

from nearkin.distributed import pairs
from nearkin.distributed import tables as results
from nearkin.errors import OutputError
from nearkin.spark import dedup
from nearkin.spark.engine import raise_engine_errors

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

STAGES = [
    *("begun", "documents-columns", "documents", "numbers", "copies", "units", "candidates", "links", "first-removals"),
    *(
        "open-1",
        "links-1",
        "round-1-removals",
        "removed",
        "members",
        "cluster-numbers",
        "clusters",
        "empty",
    ),
]
# A round finds more pairs of stars.
TEXTS = [text or "" for text in [*mixed_texts(80), *star_texts(40, 4)]]
DOCUMENTS = DocumentSet.of(TEXTS, [f"page {at * 7919 % 1009}" for at in range(len(TEXTS))])


def lose_file(folder: Path) -> None:
    parts(folder)[0].unlink()


def cut_file(folder: Path) -> None:
    path = parts(folder)[0]
    path.write_bytes(path.read_bytes()[:-20])


def empty_file(folder: Path) -> None:
    parts(folder)[0].write_bytes(b"")


def drop_rows(folder: Path) -> None:
    """A valid file of fewer rows."""
    table = pq.read_table(path := parts(folder)[0])
    pq.write_table(table.slice(0, table.num_rows // 2), path)


def add_file(folder: Path) -> None:
    """As of an object store that lists late, or of a task that another driver started."""
    path = parts(folder)[0]
    shutil.copy(path, path.with_name("late.parquet"))


LOSSES = [lose_file, shutil.rmtree, cut_file, empty_file, drop_rows, add_file]


def parts(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


def run(engine: Engine, folder: Path, report: Callable[[str], object]) -> list[Any]:
    result = dedup(
        engine.frame(DOCUMENTS, 3),
        recipe=MINHASH,
        empty="drop",
        checkpoint=folder,
        progress=lambda stage, *_: report(stage),  # type: ignore[arg-type]
    )
    tables = result.kept, result.clusters, result.pairs
    return [sorted(map(repr, table.toArrow().to_pylist())) for table in tables]


@pytest.fixture(autouse=True)
def rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use every stage that has no tables of its own for large jobs."""
    monkeypatch.setattr(pairs, "MAX_FIRST", 1)
    monkeypatch.setattr(results, "MAX_DRIVER_REMOVED", 0)


@pytest.fixture(scope="module")
def undisturbed() -> dict[str, Any]:
    """Return the result and the stages of a job without losses, once a test has made it."""
    return {}


def expected(engine: Engine, tmp_path: Path, undisturbed: dict[str, Any]) -> tuple[list[Any], list[str]]:
    if not undisturbed:
        stages: list[str] = ["begun"]
        undisturbed["result"] = run(engine, tmp_path / "undisturbed", stages.append)
        undisturbed["stages"] = stages
    assert set(STAGES) <= set(undisturbed["stages"]), undisturbed["stages"]
    return undisturbed["result"], undisturbed["stages"]


@pytest.mark.parametrize("at", range(len(STAGES) - 1), ids=STAGES[:-1])
def test_a_loss_while_the_job_runs(engine: Engine, tmp_path: Path, undisturbed: dict[str, Any], at: int) -> None:
    """Each stage loses something as the next one begins, in a way that depends on the stage, or everything is gone."""
    answer, stages = expected(engine, tmp_path, undisturbed)
    lost = STAGES[at]
    following = stages[stages.index(lost) + 1]
    losses: list[Any] = [LOSSES[at % len(LOSSES)], lose_file, None]
    for loss in dict.fromkeys(losses):
        folder = tmp_path / (loss.__name__ if loss else "all")

        def report(stage: str, loss: Any = loss, folder: Path = folder) -> None:
            if stage == following:
                loss(folder / lost) if loss else shutil.rmtree(folder)

        with pytest.raises(OutputError, match=r"run again, and what is lost is computed again") as raised:
            run(engine, folder, report)
        assert f"of the stage {lost if loss else 'begun'!r} " in raised.value.message
        assert ".parquet" in raised.value.message
        again: list[str] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            assert answer == run(engine, folder, again.append)
        if loss:
            assert 1 == sum(f"of the stage {lost!r} " in str(warning.message) for warning in caught)
            assert stages[max(stages.index(lost), 1) :] == again
        again.clear()
        assert answer == run(engine, folder, again.append)
        assert [] == again


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("stage", ["clusters", "empty"])
def test_a_loss_before_the_result_is_read(engine: Engine, tmp_path: Path, stage: str, loss: Any) -> None:
    """Kept documents are those that two stages do not list: without these, all would be kept."""
    result = dedup(engine.frame(DOCUMENTS, 3), recipe=MINHASH, empty="drop", checkpoint=tmp_path)
    loss(tmp_path / stage)
    for frame in (result.kept, result.clusters, result.pairs)[: 1 if stage == "empty" else 3]:
        for read in (frame.count, frame.toArrow):
            with pytest.raises(Exception, match=r"rows of the stage|Parquet error"), raise_engine_errors():
                read()


@pytest.mark.parametrize("stage", ["documents", "copies", "links", "clusters"])
def test_rows_deleted_from_a_checkpoint_are_detected(engine: Engine, tmp_path: Path, stage: str) -> None:
    """Between two calls: the second one says so, and computes them again."""
    answer = run(engine, tmp_path, str)
    for path in parts(tmp_path / stage):
        path.unlink()
    with pytest.warns(RuntimeWarning, match=f"of the stage '{stage}' is gone; it is computed again"):
        assert answer == run(engine, tmp_path, str)


@pytest.mark.parametrize("stage", ["documents", "copies", "links", "round-1-removals", "clusters"])
def test_two_jobs_on_one_checkpoint(engine: Engine, tmp_path: Path, undisturbed: dict[str, Any], stage: str) -> None:
    """One runs to its end inside the other: neither touches a file of the other."""
    answer, stages = expected(engine, tmp_path, undisturbed)
    inner: list[Any] = []
    reported: list[str] = []

    def report(name: str) -> None:
        if name == stage:
            inner.append(run(engine, tmp_path / "shared", reported.append))

    assert answer == run(engine, tmp_path / "shared", report)
    assert [answer] == inner
    assert stages[stages.index(stage) :] == reported
    reported.clear()
    assert answer == run(engine, tmp_path / "shared", reported.append)
    assert [] == reported
