"""Checkpoints of `nk.dedup`: what a later run takes over, what it refuses, and what happens to damaged files."""

from __future__ import annotations

import multiprocessing
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from corpora import write_rows
from nearkin.dedup import checkpoint, cluster, documents
from nearkin.dedup.candidates import MinHashCandidates
from nearkin.dedup.checkpoint import JobCheckpoint, open_checkpoint, remove_checkpoint
from nearkin.errors import CorruptStoreError, MismatchError, OutputError, ParameterError, StoreLockedError
from nearkin.progress import ignore_progress


def corpus(count: int = 160, seed: int = 1) -> list[str]:
    """Return texts, many of them edited copies of earlier ones."""
    chance = random.Random(seed)
    texts: list[str] = []
    for number in range(count):
        words = chance.choice(texts).split() if texts and number % 2 else [f"w{chance.random()}" for _ in range(12)]
        words[number % len(words)] = f"{number}"
        texts.append(" ".join(words))
    return texts


TEXTS = corpus()


@pytest.fixture(autouse=True)
def small_steps() -> Iterator[None]:
    """Save after every batch, and make batches small."""
    with (
        mock.patch.object(checkpoint, "SAVE_SECONDS", 0.0),
        mock.patch.object(documents, "_MAX_TEXTS", 32),
        mock.patch.object(cluster, "_BATCH", 24),
    ):
        yield


def facts(result: nk.DedupResult) -> tuple[Any, ...]:
    """Return everything that two runs must agree in."""
    summary = {
        name: value
        for name, value in result.summary.items()
        if name not in ("timings", "peak_memory_bytes", "resumed", "warnings")
    }
    # NaN differs from itself.
    tables = [repr(list(table.rows())) for table in (result.clusters, result.pairs)]
    return result.kept, tables, summary


class InterruptError(Exception):
    """The end of a run at an injected step."""


def stop_at(count: int) -> Any:
    """Return a patch that raises before the file with this number, from 0, is saved."""
    save, calls = JobCheckpoint.save, iter(range(1_000_000))

    def stopped(*arguments: Any) -> None:
        if next(calls) == count:
            raise InterruptError
        save(*arguments)

    return mock.patch.object(JobCheckpoint, "save", stopped)


def files(folder: Path, kind: str) -> list[Path]:
    """Return the files of a kind."""
    return sorted(folder.glob(f"{kind}-*"))


OPTIONS: list[dict[str, Any]] = [
    {},
    {"cluster": "components", "links": "all", "differ": "numbers"},
    {"radius": 20, "keep": "longest", "near_misses": 40},
    {"measure": "containment", "links": "all"},
    {"verify": "signature"},
    {"against": corpus(40, 1)[10:]},
    {"labels": [(0, 1, False), (2, 3, False), (4, 9, True)]},
    {"labels": [(0, 1, False), (2, 3, False)], "cluster": "components"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "default")
@settings(max_examples=8)
@given(stops=st.lists(st.integers(0, 12), max_size=3))
def test_the_result_does_not_depend_on_where_runs_end(
    tmp_path_factory: pytest.TempPathFactory, options: dict[str, Any], stops: list[int]
) -> None:
    """Runs that end before any of their files and go on give the result of one run without a checkpoint."""
    point = tmp_path_factory.mktemp("point")
    for stop in stops:
        with stop_at(stop):
            try:
                nk.dedup(TEXTS, checkpoint=point, **options)
            except InterruptError:
                continue
    assert facts(nk.dedup(TEXTS, **options)) == facts(nk.dedup(TEXTS, checkpoint=point, **options))


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "default")
def test_a_complete_checkpoint_is_neither_hashed_nor_compared_again(tmp_path: Path, options: dict[str, Any]) -> None:
    """The second run takes over all documents, and reports how many."""
    first = nk.dedup(TEXTS, checkpoint=tmp_path / "point", **options)
    assert "resumed" not in first.summary
    events: list[tuple[str, int, int | None]] = []
    with (
        mock.patch.object(MinHashCandidates, "hash", side_effect=AssertionError),
        mock.patch.object(cluster.Clusterer, "_absorb_within", side_effect=AssertionError),
        mock.patch.object(cluster.Clusterer, "_join", side_effect=AssertionError),
    ):
        second = nk.dedup(TEXTS, checkpoint=tmp_path / "point", progress=lambda *event: events.append(event), **options)
    assert facts(first) == facts(second)
    hashed = len(TEXTS) + len(options.get("against", ()))
    assert hashed == second.summary["resumed"]["hashed"]
    assert ("resumed: hashed", hashed, None) in events
    assert ("resumed: decided", second.summary["resumed"]["decided"], None) in events


def test_a_run_that_ended_while_hashing_hashes_the_rest(tmp_path: Path) -> None:
    """Three of five files are there: 96 of 160 documents are taken over."""
    with stop_at(3), pytest.raises(InterruptError):
        nk.dedup(TEXTS, checkpoint=tmp_path)
    hashed: list[int] = []
    original = MinHashCandidates.hash

    def counted(self: MinHashCandidates, texts: Any) -> Any:
        hashed.append(len(texts))
        return original(self, texts)

    with mock.patch.object(MinHashCandidates, "hash", counted):
        assert {"hashed": 96} == nk.dedup(TEXTS, checkpoint=tmp_path).summary["resumed"]
    assert 64 == sum(hashed)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": 0.7}, "threshold was 0.8 and is 0.7"),
        ({"recipe": "word:2|binary|xxh3|minhash:128"}, "recipe was char:4|binary|xxh3|minhash:128:fast and is word:2"),
        ({"cluster": "components"}, "cluster was absorb and is components"),
        ({"keep": "last"}, "keep was first and is last"),
        ({"bands": "20x5"}, r"bands was None and is \[20, 5\]"),
        ({"against": ["a"]}, r"against was None and is \[\['texts in memory'\]\]"),
        ({"max_comparisons": 7}, "max_comparisons was 10000 and is 7"),
        ({"labels": [(0, 1, False)]}, "the texts, their ids, columns or labels differ"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_another_job_is_refused(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    """The message names the option and what to do; the checkpoint is still that of the first job."""
    first = nk.dedup(TEXTS, checkpoint=tmp_path)
    with pytest.raises(MismatchError, match=f"of another job: .*{said}.*; give that job's arguments"):
        nk.dedup(TEXTS, checkpoint=tmp_path, **options)
    assert facts(first) == facts(nk.dedup(TEXTS, checkpoint=tmp_path))


def test_another_order_is_refused(tmp_path: Path) -> None:
    """Columns decide the order of the documents, and so the decisions."""
    scores = list(range(len(TEXTS)))
    nk.dedup(TEXTS, keep="max", values=scores, checkpoint=tmp_path)
    with pytest.raises(MismatchError, match="the texts, their ids, columns or labels differ"):
        nk.dedup(TEXTS, keep="max", values=scores[::-1], checkpoint=tmp_path)


def test_options_that_change_no_decision_may_change(tmp_path: Path) -> None:
    """Other links and near misses are made from the same decisions."""
    nk.dedup(TEXTS, checkpoint=tmp_path)
    options: dict[str, Any] = {"links": "all", "near_misses": 20}
    again = nk.dedup(TEXTS, checkpoint=tmp_path, **options)
    assert facts(nk.dedup(TEXTS, **options)) == facts(again)
    assert len(TEXTS) == again.summary["resumed"]["hashed"]


def test_another_text_is_refused_by_its_row(tmp_path: Path) -> None:
    """Texts in memory have no name; their contents are compared."""
    nk.dedup(TEXTS, checkpoint=tmp_path)
    with pytest.raises(MismatchError, match="row 70 of the documents had another text"):
        nk.dedup([*TEXTS[:70], "another", *TEXTS[71:]], checkpoint=tmp_path)
    with pytest.raises(MismatchError, match="the texts, their ids, columns or labels differ"):
        nk.dedup([*TEXTS, "one more"], checkpoint=tmp_path)


def write(path: Path, texts: list[str]) -> Path:
    """Write JSON lines."""
    write_rows(path, ({"text": text} for text in texts))
    return path


def test_changed_files_are_named(tmp_path: Path) -> None:
    """A file of another size or time, a new one, a missing one, and other reading options."""
    a, b = write(tmp_path / "a.jsonl", TEXTS[:80]), write(tmp_path / "b.jsonl", TEXTS[80:])
    point = tmp_path / "point"
    first = nk.dedup([a, b], checkpoint=point)
    assert facts(first) == facts(nk.dedup([a, b], checkpoint=point))
    with pytest.raises(MismatchError, match=f"{b} is missing among the inputs"):
        nk.dedup([a], checkpoint=point)
    with pytest.raises(MismatchError, match=f"inputs had {a}, not {b}"):
        nk.dedup([b, a], checkpoint=point)
    with pytest.raises(MismatchError, match=r"c\.jsonl is not among its inputs"):
        nk.dedup([a, b, write(tmp_path / "c.jsonl", ["x"])], checkpoint=point)
    status = b.stat()
    os.utime(b, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    with pytest.raises(MismatchError, match=rf"{b} has changed since: [\d,]+ bytes then, [\d,]+ now, or another mod"):
        nk.dedup([a, b], checkpoint=point)
    os.utime(b, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert facts(first) == facts(nk.dedup([a, b], checkpoint=point))


@pytest.mark.parametrize("kind", ["documents", "older", "decisions", "links"])
@pytest.mark.parametrize("damage", ["first byte", "last byte", "cut", "empty"])
def test_a_damaged_file_is_computed_again(tmp_path: Path, kind: str, damage: str) -> None:
    """A warning names the file; the result is the same, and the next run finds the file whole."""
    options: dict[str, Any] = {"links": "all", "against": corpus(60, 1)[20:], "checkpoint": tmp_path}
    first = nk.dedup(TEXTS, **options)
    path = files(tmp_path, kind)[len(files(tmp_path, kind)) // 2]
    data = bytearray(path.read_bytes())
    if damage in ("cut", "empty"):
        del data[len(data) // 2 if damage == "cut" else 0 :]
    else:
        data[0 if damage == "first byte" else -1] ^= 1
    path.write_bytes(data)
    with pytest.warns(RuntimeWarning, match=f"{path} is damaged, its checksum differs; what it has is computed again"):
        second = nk.dedup(TEXTS, **options)
    assert facts(first) == facts(second)
    assert any("is damaged" in warning for warning in second.summary["warnings"])
    assert facts(first) == facts(nk.dedup(TEXTS, **options))


def test_a_missing_file_is_computed_again(tmp_path: Path) -> None:
    """Whatever file a user deletes."""
    first = nk.dedup(TEXTS, checkpoint=tmp_path)
    for path in sorted(tmp_path.glob("*-*")):
        path.unlink()
        assert facts(first) == facts(nk.dedup(TEXTS, checkpoint=tmp_path))
        assert path.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff"])
def test_a_damaged_manifest_is_an_error(tmp_path: Path, content: bytes) -> None:
    """Nothing says then which job the files are of."""
    nk.dedup(TEXTS, checkpoint=tmp_path)
    (tmp_path / "checkpoint.json").write_bytes(content)
    with pytest.raises(CorruptStoreError, match="no manifest of a checkpoint; delete the folder, or give a new one"):
        nk.dedup(TEXTS, checkpoint=tmp_path)


def test_a_missing_manifest_is_an_error(tmp_path: Path) -> None:
    """The links of another threshold would be taken for those of this job."""
    nk.dedup(TEXTS, checkpoint=tmp_path)
    (tmp_path / "checkpoint.json").unlink()
    with pytest.raises(CorruptStoreError, match="it is gone, and nothing says of which job"):
        nk.dedup(TEXTS, threshold=0.5, checkpoint=tmp_path)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    """A file, a folder of the user, an input folder, a URL, no name, and a folder that can't be made."""
    (tmp_path / "file").touch()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").touch()
    texts = tmp_path / "texts"
    texts.mkdir()
    write(texts / "a.jsonl", TEXTS[:5])
    with pytest.raises(ParameterError, match="use a folder; this is a file"):
        nk.dedup(TEXTS, checkpoint=tmp_path / "file")
    with pytest.raises(ParameterError, match=r"or the checkpoint of this job; it contains notes\.txt"):
        nk.dedup(TEXTS, checkpoint=tmp_path / "mine")
    with pytest.raises(ParameterError, match=r"use a folder outside .*texts, whose files are input"):
        nk.dedup(texts, checkpoint=texts / "point")
    with pytest.raises(ParameterError, match="use a folder of this machine; with an engine also a URL"):
        nk.dedup(TEXTS, checkpoint="s3://bucket/point")
    with pytest.raises(ParameterError, match="the path of a folder, or None"):
        nk.dedup(TEXTS, checkpoint="")
    with pytest.raises(OutputError, match="opening the checkpoint failed"):
        nk.dedup(TEXTS, checkpoint=tmp_path / "file" / "below")
    assert ["file", "mine", "texts"] == sorted(path.name for path in tmp_path.iterdir())


def _hold(path: Path, ready: Any, done: Any) -> None:
    with open_checkpoint(str(path), {}, [], ignore_progress):
        ready.set()
        done.wait(60)


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    """While another process has the folder; afterwards it is free, and `remove_checkpoint` works."""
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(tmp_path / "point", ready, done))
    other.start()
    try:
        assert ready.wait(60)
        with pytest.raises(StoreLockedError, match="another process is using it; run again when it has ended, or give"):
            nk.dedup(TEXTS, checkpoint=tmp_path / "point")
        assert not remove_checkpoint(str(tmp_path / "point"))
    finally:
        done.set()
        other.join()
    assert remove_checkpoint(str(tmp_path / "point"))


def test_only_own_files_are_removed(tmp_path: Path) -> None:
    """A folder that the run created goes; one of the user stays, and so do files of the user."""
    created, empty, used = tmp_path / "created", tmp_path / "empty", tmp_path / "used"
    empty.mkdir()
    for folder in (created, empty, used):
        nk.dedup(TEXTS, checkpoint=folder)
    (used / "notes.txt").touch()
    assert all(remove_checkpoint(str(folder)) for folder in (created, empty, used))
    assert not created.exists()
    assert [] == list(empty.iterdir())
    assert ["notes.txt"] == [path.name for path in used.iterdir()]


def test_with_a_store_the_hashes_are_taken_over(tmp_path: Path) -> None:
    """The documents of a store may change between two runs, so decisions are not saved."""
    texts, ids = TEXTS, [f"t{i}" for i in range(len(TEXTS))]
    for way in ("against", "store"):
        point = tmp_path / f"point-{way}"
        with nk.Store.create(tmp_path / f"{way}.store", "char:4|binary|xxh3|minhash:128", threshold=0.8) as store:
            store.check_and_add(corpus(20, 1), [f"s{i}" for i in range(20)])
            given: dict[str, Any] = {way: store}
            with stop_at(3), pytest.raises(InterruptError):
                nk.dedup(texts, ids, checkpoint=point, **given)
            expected = nk.dedup(texts, ids, against=store)
            result = nk.dedup(texts, ids, checkpoint=point, **given)
        assert expected.kept == result.kept
        assert {"hashed": 96} == result.summary["resumed"]
        assert [] == files(point, "decisions")
