"""Documents of an intact segment survive any damage of the log, and no loss goes unnoticed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import nearkin as nk
from corpora import flip
from nearkin.errors import CorruptStoreError, NearkinError
from nearkin.store.commits import CommitFile, read_marks
from nearkin.store.log import Log

COUNT = 2000
TEXTS = [f"document {i} about subject {i % 91} with the number {i * 7919}" for i in range(COUNT)]

HOT = """
import os, sys
import nearkin as nk
from nearkin.store import compaction
sys.path[:0] = sys.argv[2:]
from test_salvage import TEXTS
def step(store, start, stop):
    for at in range(start, stop, 50):
        store.add(TEXTS[at : at + 50], [f"d{i}" for i in range(at, at + 50)], columns={"n": list(range(at, at + 50))})
with nk.Store.create(sys.argv[1], "char:3|binary|xxh3|simhash:64", threshold=0.9) as store:
    step(store, 0, 600)
store = nk.Store.open(sys.argv[1])
step(store, 600, 1000)
store._log.truncate_wal(5)
step(store, 1000, 1500)
compaction.flush(store.path, store.settings, store._budget)
step(store, 1500, 2000)
store.remove(["d7", "d1600"])
os._exit(0)
"""


@pytest.fixture(scope="module")
def hot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 2,000 documents as kill -9 leaves it: one segment and 500 pending documents in the write-ahead log."""
    path = tmp_path_factory.mktemp("hot") / "store"
    subprocess.run([sys.executable, "-c", HOT, str(path), *sys.path], check=True)
    return path


def copy(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    return target


def ids(store: nk.Store) -> set[str]:
    return {str(document.id) for batch in store.iter_documents() for document in batch}


def zero(path: Path, at: int, size: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes(size))


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


LIVE = {f"d{i}" for i in range(COUNT)} - {"d7", "d1600"}
IN_SEGMENT = {f"d{i}" for i in range(1500)} - {"d7"}


def check_damaged(path: Path, tmp_path: Path) -> str:
    """Check that open or salvage keeps the intact segment, and that verify notices what is missing."""
    before = contents(path)
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    done = nk.Store.salvage(path, tmp_path / "out")
    assert before == contents(path)
    with nk.Store.open(tmp_path / "out", "r") as store:
        store.verify()
        found = ids(store)
        assert len(found) == done.documents == len(store)
        assert IN_SEGMENT <= found <= LIVE | {"d7", "d1600"}
        assert found <= LIVE or done.missing_removals
        assert store.texts(["d1499"]) == [TEXTS[1499]]
    lost_rows = {row for first, last in done.missing_rows for row in range(first, last + 1)}
    assert {int(name[1:]) for name in LIVE - found} <= lost_rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            with nk.Store.open(path, "r") as store:
                answer = ids(store)
                try:
                    store.verify()
                except CorruptStoreError:
                    return "noticed"
        except (NearkinError, OSError):
            return "refused"
    assert LIVE == answer
    return "harmless"


def frames(path: Path) -> Iterator[int]:
    size = (path / "log.sqlite-wal").stat().st_size
    yield from range(32, size, 4096 + 24)


SOME_OR_ALL = pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.slow)])
"""Every 23rd case in the usual run, all of them in the slow one."""


@SOME_OR_ALL
def test_a_flipped_frame_loses_nothing_in_a_segment(hot: Path, tmp_path: Path, step: int) -> None:
    verdicts = []
    for number, at in enumerate([8, *frames(hot)]):
        if number % step == 0:
            path = copy(hot, tmp_path / "store")
            flip(path / "log.sqlite-wal", at + 60 if at > 8 else at)
            verdicts.append(check_damaged(path, tmp_path))
    assert "noticed" in verdicts


@SOME_OR_ALL
def test_a_damaged_page_loses_nothing_in_a_segment(hot: Path, tmp_path: Path, step: int) -> None:
    """Closed store: every page of its log zeroed, or with one flipped bit."""
    closed = copy(hot, tmp_path / "closed")
    nk.Store.open(closed).close()
    verdicts = []
    for number, at in enumerate(range(0, (closed / "log.sqlite").stat().st_size, 4096)):
        if number % step and number > 3:
            continue
        path = copy(closed, tmp_path / "store")
        zero(path / "log.sqlite", at, 4096)
        verdicts.append(check_damaged(path, tmp_path))
        path = copy(closed, tmp_path / "store")
        flip(path / "log.sqlite", at + 40 + 97 * number % 4000)
        verdicts.append(check_damaged(path, tmp_path))
    assert "refused" in verdicts


@pytest.mark.parametrize("harm", ["missing", "empty", "garbage"])
def test_a_store_without_a_log_is_salvaged(hot: Path, tmp_path: Path, harm: str) -> None:
    path = copy(hot, tmp_path / "store")
    log = path / "log.sqlite"
    for extra in path.glob("log.sqlite-*"):
        extra.unlink()
    if harm == "missing":
        log.unlink()
    else:
        log.write_bytes(b"" if harm == "empty" else os.urandom(9000))
    assert "refused" == check_damaged(path, tmp_path)
    shutil.rmtree(tmp_path / "out")
    done = nk.Store.salvage(path, tmp_path / "out")
    assert (1500, 0, [(1500, 1999)], 2) == (done.documents, done.waiting, done.missing_rows, done.missing_removals)
    assert done.missing_commits
    assert not done.is_complete


def test_a_sound_hot_store_is_salvaged_completely(hot: Path, tmp_path: Path) -> None:
    done = nk.Store.salvage(hot, tmp_path / "out")
    assert done.is_complete, done
    with nk.Store.open(tmp_path / "out") as store:
        assert LIVE == ids(store)
        assert {"n": 1700} == store.get(["d1700"])[0].columns  # type: ignore[union-attr]


@pytest.mark.parametrize("harm", ["flipped", "deleted"])
def test_a_dropped_write_ahead_log_is_noticed_and_its_segment_adopted(hot: Path, tmp_path: Path, harm: str) -> None:
    """The segment that no list names moves to `lost/`; a merge does not delete it; adoption takes it back."""
    path = copy(hot, tmp_path / "store")
    if harm == "flipped":
        flip(path / "log.sqlite-wal", 40)
    else:
        (path / "log.sqlite-wal").unlink()
    with pytest.warns(RuntimeWarning, match="commits are missing"):
        nk.Store.open(path, "r").close()
    with pytest.warns(RuntimeWarning, match="500 documents"):
        opened = nk.Store.open(path)
    with opened as store:
        assert 1000 == len(store)
        assert 2 == store.stats().lost
        store.add(["a new document"], ["later"])
        store.merge()
        with pytest.raises(CorruptStoreError, match="is on no list: 500 documents, rows 1000 to 1499"):
            store.verify()
        done = store.adopt_lost()
        assert (500, []) == (done.adopted, done.conflicts)
        assert {f"d{i}" for i in range(1500)} | {"later"} == ids(store)
        assert [TEXTS[1400]] == store.texts(["d1400"])
        assert "d1400" == store.check([TEXTS[1400]]).ids[0]
        # The commits remain missing until somebody deletes the record.
        with pytest.raises(CorruptStoreError, match="commits are missing"):
            store.verify()
        for record in (path / "lost").iterdir():
            record.unlink()
        store.verify()


def test_adoption_reports_ids_that_other_documents_have(hot: Path, tmp_path: Path) -> None:
    path = copy(hot, tmp_path / "store")
    (path / "log.sqlite-wal").unlink()
    with pytest.warns(RuntimeWarning, match="500 documents"):
        opened = nk.Store.open(path)
    with opened as store:
        store.add(["another text"], ["d1234"])
        done = store.adopt_lost()
        assert (499, ["d1234"]) == (done.adopted, done.conflicts)
        assert ["another text"] == store.texts(["d1234"])
        assert 2 == store.stats().lost


def test_the_leftovers_of_a_killed_merge_are_no_loss(hot: Path, tmp_path: Path) -> None:
    """A segment whose documents the store has is deleted, and verify ignores it."""
    path = copy(hot, tmp_path / "store")
    nk.Store.open(path).close()
    name = next((path / "segments").glob("*.documents.nks")).name
    for kind in ("documents", "index"):
        shutil.copy(path / "segments" / name.replace("documents", kind), path / f"segments/00000000000000ee.{kind}.nks")
    with nk.Store.open(path, "r") as store:
        store.verify()
    with nk.Store.open(path) as store:
        store.verify()
        assert 0 == store.stats().lost
    assert not list((path / "segments").glob("*ee.*"))


def test_verify_notices_a_damaged_file_of_commits(hot: Path, tmp_path: Path) -> None:
    path = copy(hot, tmp_path / "store")
    nk.Store.open(path).close()
    flip(path / "commits", next(at for at, byte in enumerate((path / "commits").read_bytes()) if byte))
    with nk.Store.open(path, "r") as store, pytest.raises(CorruptStoreError, match="commits"):
        store.verify()
    assert [str(path / "commits")] == [finding.place for finding in nk.Store.repair(path)]


def test_a_missing_file_of_commits_is_never_created_in_silence(hot: Path, tmp_path: Path) -> None:
    """Without it, missing commits cannot be noticed: opening warns, and `verify` fails until the record is deleted."""
    path = copy(hot, tmp_path / "store")
    (path / "commits").unlink()
    with pytest.warns(RuntimeWarning, match="the file commits was missing at commit"):
        reader = nk.Store.open(path, "r")
    with reader, pytest.raises(CorruptStoreError, match="the file commits was missing"):
        reader.verify()
    assert not (path / "commits").exists()
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="the file commits was missing at commit"):
            store = nk.Store.open(path)
        with store:
            store.add(["one more text"], ["more"])
            assert 1 == store.stats().lost
            with pytest.raises(CorruptStoreError, match="delete its record"):
                store.verify()
    (record,) = (path / "lost").iterdir()
    assert record.name.startswith("marks-")
    record.unlink()
    with nk.Store.open(path) as store:
        store.verify()


@pytest.mark.parametrize("commits", [1, 100])
def test_the_file_of_commits_of_another_store_is_missing(hot: Path, tmp_path: Path, commits: int) -> None:
    """Fewer commits hide no loss and more are none; a file of an earlier version has no id and is read."""
    path, other = copy(hot, tmp_path / "store"), tmp_path / "other"
    nk.Store.open(path).close()
    with nk.Store.create(other) as store:
        for number in range(commits):
            store.add([f"text {number}"], [f"{number}"])
    own, _ = read_marks(path, "")
    with closing(Log(path, "r")) as log:
        mark, _ = log.marks()
    assert own is None
    assert mark is not None
    shutil.copy(other / "commits", path / "commits")
    with pytest.warns(RuntimeWarning, match="the file commits was missing at commit"):
        reader = nk.Store.open(path, "r")
    with reader, pytest.raises(CorruptStoreError, match="the file commits was missing"):
        reader.verify()
    assert [str(path / "commits")] == [finding.place for finding in nk.Store.repair(path)]
    with nk.Store.open(path) as store:
        store.verify()
    CommitFile.create(path, mark._replace(store=""))
    with nk.Store.open(path) as store:
        store.verify()
        assert 0 == store.stats().lost


def test_a_file_of_commits_that_is_removed_while_the_store_is_open_is_missed(store: nk.Store, path: Path) -> None:
    """Commits do not create it again, and write to the one that a repair has created."""
    store.add(["a text"], ["a"])
    (path / "commits").unlink()
    store.add(["another text"], ["b"])
    assert not (path / "commits").exists()
    with pytest.raises(CorruptStoreError, match="the file commits was missing"):
        store.verify()
    assert [str(path / "commits")] == [finding.place for finding in nk.Store.repair(path)]
    before = (path / "commits").read_bytes()
    store.add(["a third text"], ["c"])
    assert before != (path / "commits").read_bytes()
    store.verify()
