"""A damaged store raises an error that names the file, or answers correctly; it never answers incorrectly."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import nearkin as nk
from corpora import flip
from nearkin.errors import CorruptStoreError, FormatVersionError, MismatchError, NearkinError
from nearkin.store import compaction, segment
from nearkin.store.log import State
from nearkin.store.snapshot import Snapshot

TEXTS = [f"a document about {'word ' * (i % 5)} and number {i // 2} with more words" for i in range(40)]
QUESTIONS = [TEXTS[3], TEXTS[30] + "!", "nothing like the others", ""]


def fill(store: nk.Store, items: Any, kind: Any = None) -> None:
    """Put forty documents into a segment and into the log, with a tombstone in each, and columns."""
    store.check_and_add(items[:30], [f"d{i}" for i in range(30)], kind=kind, columns={"n": list(range(30))})
    store.merge()
    store.check_and_add(items[30:], [f"d{i}" for i in range(30, 40)], kind=kind)
    store.remove(["d5", "d33"])


def make(path: Path) -> Path:
    """Create a store of texts."""
    with nk.Store.create(path, "char:3|binary|xxh3|simhash:64", threshold=0.7) as store:
        fill(store, TEXTS)
    return path


def message(store: Any, questions: Any) -> object:
    """Return everything that a store answers, except texts, digests and vectors."""
    documents = [doc for batch in store.iter_documents() for doc in batch]
    result = store.check(questions, k=2)
    return (
        len(store),
        [(doc.id, doc.status, doc.match, doc.distance, str(doc.similarity), doc.columns) for doc in documents],
        [str(row) for row in result.rows()],
        str(result.matches),
        [name in store for name in ("d0", "d5", "d33", "d39")],
    )


def answers(path: Path) -> object:
    """Return everything that a store of texts answers."""
    with nk.Store.open(path, "r") as store:
        names = [doc.id for batch in store.iter_documents() for doc in batch]
        return message(store, QUESTIONS), store.texts(names)


def variants(count: int) -> list[bytes]:
    """Return file contents, each similar to the previous one."""
    choose = random.Random(3)
    result = [choose.randbytes(3000)]
    for _ in range(count - 1):
        at = choose.randrange(2900)
        result.append(result[-1][:at] + choose.randbytes(60) + result[-1][at + 60 :])
    return result


FILES = variants(40)


def make_files(path: Path) -> Path:
    """Create such a store of files."""
    with nk.Store.create(path, "ssdeep", threshold=80) as store:
        fill(store, FILES, "bytes")
    return path


def answers_of_files(path: Path) -> object:
    """Return everything that a store of files answers."""
    with nk.Store.open(path, "r") as store:
        names = [doc.id for batch in store.iter_documents() for doc in batch]
        digests = list(store.values(names))
        return message(store, [nk.ssdeep.hash(FILES[3]), nk.ssdeep.hash(FILES[38]), "3:abc:abc"]), digests


VECTORS = np.random.default_rng(5).standard_normal((40, 16)).astype(np.float32).repeat([1, 2] * 20, axis=0)[:40]


def make_vectors(path: Path) -> Path:
    """Create such a store of vectors."""
    family = nk.families.Hyperplane(bits=64, seed=1).fit(VECTORS)
    with nk.Store.create(path, family, threshold=0.9) as store:
        fill(store, VECTORS)
    return path


def answers_of_vectors(path: Path) -> object:
    """Return everything that a store of vectors answers."""
    with nk.Store.open(path, "r") as store:
        names = [doc.id for batch in store.iter_documents() for doc in batch]
        return message(store, VECTORS[[3, 8, 38]] + np.float32(0.01)), store.values(names).tobytes()


class Kind(NamedTuple):
    """Functions that create a store, and return everything that it answers."""

    make: Callable[[Path], Path]
    answers: Callable[[Path], object]


KINDS = {
    "texts": Kind(make, answers),
    "files": Kind(make_files, answers_of_files),
    "vectors": Kind(make_vectors, answers_of_vectors),
}


def sweep(tmp_path: Path, step: int, kind: str) -> int:
    """Flip a bit in every `step`-th byte of each file, and return the number of errors."""
    make, answers = KINDS[kind]
    store = make(tmp_path / "store")
    expected, refused = answers(store), 0
    drop_sidecars(store)
    files = sorted(path.relative_to(store) for path in store.rglob("*") if path.is_file() and path.stat().st_size)
    assert {".documents", ".index", ""} >= {Path(path.stem).suffix for path in files}, files
    for name in files:
        content = (store / name).read_bytes()
        for at in range(0, len(content), step):
            flip(store / name, at, 1 << (at // step) % 8)
            try:
                result = answers(store)
            except (NearkinError, OSError):
                refused += 1
            else:
                assert expected == result, (name, at)
                drop_sidecars(store)
                with nk.Store.open(store, "r") as opened, suppress(NearkinError, OSError):
                    opened.verify()
            drop_sidecars(store)
            (store / name).write_bytes(content)
    assert expected == answers(store)
    return refused


def drop_sidecars(store: Path) -> None:
    """Delete the files of SQLite beside its database."""
    for path in store.glob("log.sqlite-*"):
        path.unlink()


@pytest.mark.parametrize("kind", KINDS)
def test_one_flipped_bit_is_an_error_or_changes_nothing(tmp_path: Path, kind: str) -> None:
    """Flip a bit in every 499th byte of every file of a small store."""
    assert sweep(tmp_path, 499, kind) > 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_flipped_byte_is_an_error_or_changes_nothing(tmp_path: Path, kind: str) -> None:
    """Flip a bit in every byte of every file of a small store."""
    sweep(tmp_path, 1, kind)


def verdict(store: Path) -> str:
    """Return the error of `verify`, or "sound"."""
    try:
        with nk.Store.open(store, "r") as opened:
            opened.verify()
    except (CorruptStoreError, FormatVersionError, MismatchError) as error:
        return str(error)
    return "sound"


def test_verify_detects_any_flipped_byte_of_a_segment(tmp_path: Path) -> None:
    """`verify` detects bytes that no query reads; the message names the file."""
    store = make(tmp_path / "store")
    for path in sorted((store / "segments").iterdir()):
        content = path.read_bytes()
        length = int.from_bytes(content[24:32], "little")
        for at in range(64, length, 97):
            flip(path, at)
            message = verdict(store)
            # Bytes between sections are zero and never read.
            assert path.name in message or "settings" in message or (message == "sound" and 0 == content[at])
            path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [truncate, empty, Path.unlink])
@pytest.mark.parametrize("which", ["documents", "index", "log"])
def test_a_cut_or_missing_file_is_an_error(tmp_path: Path, harm: Callable[[Path], None], which: str) -> None:
    """Truncating or deleting any file raises an error; restoring the file restores the store."""
    store = make(tmp_path / "store")
    shutil.copytree(store, tmp_path / "copy")
    expected = answers(store)
    path = store / "log.sqlite" if which == "log" else next((store / "segments").glob(f"*.{which}.nks"))
    harm(path)
    with pytest.raises((NearkinError, OSError)):
        answers(store)
    path.write_bytes((tmp_path / "copy" / path.relative_to(store)).read_bytes())
    assert expected == answers(store)


@pytest.mark.parametrize("kind", KINDS)
def test_repair_rebuilds_a_damaged_index(tmp_path: Path, kind: str) -> None:
    """Repair rebuilds an index from the documents and reports what it repaired."""
    make, answers = KINDS[kind]
    store = make(tmp_path / "store")
    expected = answers(store)
    path = next((store / "segments").glob("*.index.nks"))
    flip(path)
    assert path.name in verdict(store)
    events: list[tuple[str, int, int | None]] = []
    findings = nk.Store.repair(store, progress=lambda *event: events.append(event))
    assert [(str(path), True)] == [(finding.place, finding.repaired) for finding in findings]
    # Repair checks the segments, then verifies the store; each stage ends at its total.
    assert ["repair, MB", "verify, MB"] == list(dict.fromkeys(stage for stage, _, _ in events))
    assert all(any(event == (stage, total, total) for event in events) for stage, _, total in events)
    assert "sound" == verdict(store)
    assert expected == answers(store)
    assert [] == nk.Store.repair(store)


STORES: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "simhash": ("char:3|binary|xxh3|simhash:64", {"threshold": 0.7}, TEXTS[::2]),
    "minhash": ("char:3|binary|xxh3|minhash:64", {"threshold": 0.7, "text": "features"}, TEXTS[::2]),
    "ssdeep": ("ssdeep", {"threshold": 80}, [nk.ssdeep.hash(content) for content in FILES[::2]]),
    "tlsh": ("tlsh", {"radius": 30}, [nk.tlsh.hash(content) for content in FILES[::2]]),
    "codes": (nk.families.Hyperplane(bits=100, seed=1).fit(VECTORS), {"threshold": 0.9999}, VECTORS[::3]),
    "keys": (nk.families.PStable(hashes=24, width=2.0, seed=3).fit(VECTORS), {"radius": 0.1}, VECTORS[::3]),
}


def two_segments(path: Path, kind: str, *, reverse: bool = False) -> None:
    """Create a store with half of the documents of a kind in each of two segments of equal size."""
    recipe, options, items = STORES[kind]
    items = items[::-1] if reverse else items
    half = len(items) // 2
    with nk.Store.create(path, recipe, **options) as store:
        for part in (items[:half], items[half : 2 * half]):
            store.add(part)
            compaction.flush(path, store.settings, store._budget)


def neighbours(path: Path, kind: str) -> object:
    with nk.Store.open(path, "r") as store:
        return str(store.check(STORES[kind][2], k=3).matches)


@pytest.mark.parametrize("from_copy", [False, True], ids=["of a segment", "of another store with the same rows"])
@pytest.mark.parametrize("named", [True, False], ids=["named", "older"])
@pytest.mark.parametrize("kind", STORES)
def test_an_index_of_other_documents_is_detected_and_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, named: bool, from_copy: bool
) -> None:
    """An index that names its documents cannot be opened with others; `verify` compares an older one with them."""
    if not named:
        monkeypatch.setattr(segment, "save_index", lambda index, path, _: index.save(path))
    store, other = tmp_path / "store", tmp_path / "other"
    two_segments(store, kind)
    two_segments(other, kind, reverse=True)
    assert "sound" == verdict(store)
    assert [] == nk.Store.repair(store)
    expected = neighbours(store, kind)
    first, second = sorted((store / "segments").glob("*.index.nks"))
    foreign = other / "segments" / second.name if from_copy else first
    shutil.copyfile(foreign, second)
    assert f"{second}: it is not the index of" in verdict(store)
    if named:
        with pytest.raises(CorruptStoreError, match=second.name):
            neighbours(store, kind)
    assert [str(second)] == [finding.place for finding in nk.Store.repair(store)]
    assert "sound" == verdict(store)
    assert expected == neighbours(store, kind)


def test_documents_of_another_segment_are_refused(tmp_path: Path) -> None:
    two_segments(tmp_path / "s", "simhash")
    first, second = sorted((tmp_path / "s" / "segments").glob("*.documents.nks"))
    shutil.copyfile(first, second)
    with pytest.raises(CorruptStoreError, match=f"{second.name}: it covers rows"):
        nk.Store.open(tmp_path / "s")


def test_repair_refuses_damaged_documents(tmp_path: Path) -> None:
    """Repair names a damaged file of documents and changes nothing."""
    store = make(tmp_path / "store")
    path = next((store / "segments").glob("*.documents.nks"))
    flip(path, 3000)
    content = path.read_bytes()
    with pytest.raises(CorruptStoreError, match="documents"):
        nk.Store.repair(store)
    assert content == path.read_bytes()


def test_a_changed_row_of_the_log_is_detected(tmp_path: Path) -> None:
    """Checksums detect changed, missing and added rows that SQLite accepts."""
    for change in (
        "UPDATE batches SET ids = CAST(replace(ids, 'd32', 'd52') AS BLOB)",
        "UPDATE batches SET records = CAST(records || 'x' AS BLOB)",
        "UPDATE batches SET documents = 9",
        "UPDATE batches SET sum = 1",
        "DELETE FROM batches",
        "UPDATE texts SET block = CAST(block || 'x' AS BLOB)",
        "UPDATE texts SET documents = 9",
        "UPDATE texts SET length = 7",
        "UPDATE texts SET sum = 1",
        "DELETE FROM texts",
        "DELETE FROM removed WHERE row = 5",
        "UPDATE segments SET documents = 29",
        "UPDATE state SET next_row = 17",
    ):
        store = make(tmp_path / str(abs(hash(change))))
        connection = sqlite3.connect(store / "log.sqlite")
        with connection:
            connection.execute(change)
        connection.close()
        with pytest.raises(CorruptStoreError, match=r"log\.sqlite|documents\.nks"):
            answers(store)


def test_orphaned_files_are_removed(tmp_path: Path) -> None:
    """Opening a store for writing removes temporary files, moves unknown segments to `lost/`, and touches no others."""
    store = make(tmp_path / "store")
    orphan = store / "segments" / "00000000000000ff.documents.nks"
    mine = store / "segments" / "notes.txt"
    orphan.write_bytes(b"half")
    mine.write_text("mine")
    nk.Store.open(store, "r").close()
    assert orphan.exists()
    hidden = store / "segments" / ".half"
    hidden.write_bytes(b"half")
    with pytest.warns(RuntimeWarning, match="00000000000000ff is on no list and cannot be read"):
        nk.Store.open(store).close()
    assert not orphan.exists()
    assert not hidden.exists()
    assert b"half" == (store / "lost" / orphan.name).read_bytes()
    assert mine.exists()


@pytest.mark.parametrize(("version", "message"), [(1, "version 1 of a store; this nearkin reads version 2"), (3, "3")])
def test_a_store_of_another_version_is_refused(tmp_path: Path, version: int, message: str) -> None:
    """The version of the log decides; the error says which version this nearkin reads."""
    store = make(tmp_path / "store")
    connection = sqlite3.connect(store / "log.sqlite")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    with pytest.raises(FormatVersionError, match=message):
        nk.Store.open(store)


def test_verify_during_a_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a merge removes the files that `verify` was about to open, `verify` reads the merged store."""
    path = make(tmp_path / "store")
    with nk.Store.open(path) as store:
        # Erase everything now, so that the merges below do not wait for verify.
        store.merge()
    merges: list[int] = []
    refresh = Snapshot.refresh

    def merged_meanwhile(contents: Snapshot) -> State:
        if len(merges) < 2:
            merges.append(len(merges))
            with nk.Store.open(path, wait=0) as other:
                other.add([f"one more {len(merges)}"], [f"more{len(merges)}"])
                other.merge()
        return refresh(contents)

    with nk.Store.open(path, "r") as store:
        monkeypatch.setattr(Snapshot, "refresh", merged_meanwhile)
        store.verify()
        assert merges == [0, 1]
        # A missing file without a merge is damage.
        monkeypatch.setattr(Snapshot, "refresh", refresh)
        [documents] = (path / "segments").glob("*.documents.nks")
        documents.unlink()
        with pytest.raises(CorruptStoreError, match=r"documents\.nks"):
            store.verify()


ASK = """
import hashlib, resource, sys
import nearkin as nk
from nearkin.errors import NearkinError
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
try:
    with nk.Store.open(sys.argv[1], "r") as store:
        found = store.check(sys.stdin.read().split("\\n"), k=3)
        names = [doc.id for batch in store.iter_documents() for doc in batch]
        said = (names, list(found.rows()), found.matches, store.texts(names[::17]))
except (NearkinError, OSError) as error:
    print("error", type(error).__name__)
else:
    print("answer", hashlib.sha256(repr(said).encode()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")
def test_flipped_bits_of_a_larger_store_in_bounded_memory(tmp_path: Path) -> None:
    """200 random bit flips in a store of 20,000 documents, each read in 3 GB: same answer or typed error."""
    choose = random.Random(2)
    texts = [" ".join(f"word{choose.randrange(4000)}" for _ in range(60)) for _ in range(20_000)]
    path = tmp_path / "store"
    with nk.Store.create(path) as store:
        store.check_and_add(texts[:12_000])
        store.merge()
        store.check_and_add(texts[12_000:])
        store.remove(list(range(0, 20_000, 999)))
    queries = "\n".join([*texts[::100], *(text + " more" for text in texts[::100])])

    def answer() -> str:
        done = subprocess.run(
            [sys.executable, "-c", ASK, str(path)], input=queries, capture_output=True, text=True, check=False
        )
        drop_sidecars(path)
        assert 0 == done.returncode, done.stderr[-2000:]
        return done.stdout

    expected, errors = answer(), 0
    assert expected.startswith("answer")
    files = [file for file in path.rglob("*") if file.is_file() and file.stat().st_size]
    sizes = [file.stat().st_size for file in files]
    for _ in range(200):
        file = choose.choices(files, sizes)[0]
        at = choose.randrange(file.stat().st_size)
        bits = 1 << choose.randrange(8)
        flip(file, at, bits)
        result = answer()
        assert result == expected or result.startswith("error"), (file.name, at)
        errors += result.startswith("error")
        flip(file, at, bits)
    assert errors > 20
