"""Tries every fault on one saver; run by the tests under the library of `shim.c`.

    LD_PRELOAD=shim.so python driver.py SAVER WORK_FOLDER [--every N]

A saver turns the old state of a folder into the new one. Its calls to the system are counted once; then, for every kind
of call and every n, a forked child starts from the old state, lets the n-th call fail, and runs the saver. What is left
must be the old state or the new one, whole; the error must be one that nearkin or the system names; and a run without
a fault must end in the new state with nothing beside it.

**Power cuts.** The calls of one run are recorded with their data. For every beginning of the record two disks are made
of what a crash may leave: one that lost all data that was not synced (files are there, empty), one that lost every
change of a folder's entries (create, rename, unlink) since the folder was last synced.

Prints one JSON object: counts of cases by outcome, and the first faults.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import json
import os
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import nearkin as nk
from nearkin import errors
from nearkin.cli.app import app
from nearkin.families import Hyperplane, load
from nearkin.io import open_corpus

KINDS = ("open", "write", "sync", "rename", "unlink", "truncate", "map", "read", "link", "mkdir")
FAIL, SHORT, INTERRUPT, DIE = 1, 2, 3, 4


@dataclass(frozen=True)
class Fault:
    """What happens to a call: a mode of the library, its error number, and whether to all later calls of the kind."""

    name: str
    mode: int
    error: int = 0
    forever: int = 0


@dataclass(frozen=True)
class Call:
    """A recorded call that changed the disk: create, write, truncate, sync, rename, exchange, link, unlink or mkdir."""

    op: str
    a: str
    b: str
    offset: int
    data: bytes


FAULTS = [
    Fault("fails", FAIL, errno.EIO),
    Fault("no space for ever", FAIL, errno.ENOSPC, 1),
    Fault("short", SHORT),
    Fault("interrupted", INTERRUPT),
    Fault("killed", DIE),
]
SHIM = ctypes.CDLL(None)


@dataclass(frozen=True)
class Saver:
    """`old` makes the state of before in a folder, `save` changes it, `state` reads it whole and verifies it."""

    old: Callable[[Path], None]
    save: Callable[[Path], None]
    state: Callable[[Path], object]


RNG = np.random.default_rng(5)
FPS = RNG.integers(0, 2**63, 600, dtype=np.uint64)
TEXTS = [f"document {i % 40} about {'words ' * (i % 7)} and number {i % 11}" for i in range(120)]
FILES = [bytes(RNG.integers(0, 256, 3000, dtype=np.uint8)) for _ in range(6)]


def _hamming(path: Path, rows: int) -> None:
    index = nk.HammingIndex(bits=64, radius=3)
    index.add([f"id {row}" for row in range(rows)], FPS[:rows])
    index.save(path / "index.nks")


def _hamming_state(path: Path) -> object:
    index = nk.HammingIndex.open(path / "index.nks")
    index.verify()
    return len(index), index.search(FPS[:3], radius=0).ids.tolist()


def _bands(path: Path, rows: int) -> None:
    index = nk.BandIndex(num_perm=16, num_bands=4, num_rows=4)
    index.add(None, nk.signature(TEXTS[:rows], "char:4|binary|xxh3|minhash:16"))
    index.save(path / "bands.nks")


def _bands_state(path: Path) -> object:
    index = nk.BandIndex.open(path / "bands.nks")
    index.verify()
    return len(index)


def _digests(path: Path, count: int) -> None:
    index = nk.DigestIndex()
    index.add([f"file {i}" for i in range(count)], [nk.ssdeep.hash(data) for data in FILES[:count]])
    index.save(path / "digests.nkd")


def _digests_state(path: Path) -> object:
    index = nk.DigestIndex.open(path / "digests.nkd")
    return len(index)


def _vectors(path: Path, rows: int) -> None:
    x = np.random.default_rng(1).standard_normal((rows, 8)).astype(np.float32)
    nk.LSHIndex(Hyperplane(bits=32, seed=1), metric="l2").fit(x).save(path / "vectors.nks")


def _vectors_state(path: Path) -> object:
    index = nk.LSHIndex.open(path / "vectors.nks")
    index.verify()
    return len(index)


def _family(path: Path, seed: int) -> None:
    Hyperplane(bits=32, seed=seed).fit(np.eye(6)).save(path / "family.nks")


def _family_state(path: Path) -> object:
    return load(path / "family.nks").transform(np.eye(6)[:1]).tolist()


def _idf(path: Path, count: int) -> None:
    nk.Idf.fit(TEXTS[:count], "word:1").save(path / "table.idf")


def _idf_state(path: Path) -> object:
    return nk.Idf.load(path / "table.idf").digest


def _corpus(path: Path, suffix: str) -> Path:
    """The input of a job, beside the folder that is watched."""
    place = path.parent / f"corpus.{suffix}"
    if not place.exists():
        rows = {"id": [str(i) for i in range(len(TEXTS))], "text": TEXTS}
        plain = "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in zip(*rows.values(), strict=True)).encode()
        if suffix == "parquet":
            pyarrow.parquet.write_table(pa.table(rows), place)
        elif suffix == "csv":
            pyarrow.csv.write_csv(pa.table(rows), place)
        else:
            with pa.output_stream(str(place), compression="detect") as file:
                file.write(plain)
    return place


def _dedup(path: Path, suffix: str, threshold: float) -> None:
    arguments = ["dedup", str(_corpus(path, suffix)), "--out", str(path / "out"), "--id-column", "id"]
    arguments += ["--threshold", str(threshold), "--overwrite", "--quiet"]
    app(args=arguments, standalone_mode=False)


def _dedup_state(path: Path) -> object:
    summary = json.loads((path / "out" / "summary.json").read_text())
    with open_corpus([str(path / "out" / summary["kept_file"])], id_column="id") as corpus:
        kept = [name for batch in corpus.batches() for name in batch.ids.to_list()]
    assert summary["kept"] == len(kept)
    names = sorted(entry.name for entry in (path / "out").iterdir())
    return summary["threshold"], kept, [name for name in names if name != "notes.txt"]


def _dedup_old(suffix: str) -> Callable[[Path], None]:
    def old(path: Path) -> None:
        _dedup(path, suffix, 0.9)
        # A file of the user's own: it outlives every run.
        (path / "out" / "notes.txt").write_text("mine")

    return old


def _index_add(path: Path) -> None:
    app(
        args=[
            "index",
            "add",
            str(path / "index.nks"),
            str(_corpus(path, "jsonl")),
            "--id-column",
            "id",
            "--existing",
            "update",
            "--quiet",
        ],
        standalone_mode=False,
    )


def _index_old(path: Path) -> None:
    index = nk.HammingIndex(bits=64, recipe=nk.Recipe("char:4|count|xxh3|simhash:64"))
    index.add([f"old {i}" for i in range(50)], FPS[:50])
    index.save(path / "index.nks")


STORE: dict[str, Any] = {"recipe": "char:3|binary|xxh3|simhash:64", "threshold": 0.7, "max_pending": 16}


def _store_old(path: Path) -> None:
    with nk.Store.create(path / "store", **STORE) as store:
        store.check_and_add(TEXTS[:30], [f"d{i}" for i in range(30)])
        store.merge()
        store.check_and_add(TEXTS[30:40], [f"d{i}" for i in range(30, 40)])


def _store_add(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.check_and_add(TEXTS[40:60], [f"d{i}" for i in range(40, 60)], columns={"n": list(range(20))})


def _store_remove(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.remove(["d0", "d35"], missing_ok=True)


def _store_removed(path: Path) -> None:
    _store_old(path)
    _store_remove(path)


def _store_merge(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.merge()


def _store_backup(path: Path) -> None:
    # What an interrupted backup left beside the copy goes with the next one.
    with nk.Store.open(path / "store") as store, suppress(FileExistsError):
        store.backup(path / "copy")
    nk.Store.open(path / "copy").close()


def _store_dedup_old(path: Path) -> None:
    _store_old(path)
    _dedup_old("jsonl")(path)


def _store_dedup(path: Path, *, overwrite: bool) -> None:
    # What an interrupted run owes takes its place when the store is opened; a second run would have nothing to keep.
    with nk.Store.open(path / "store") as store:
        if len(store) > 40:
            return
    arguments = ["dedup", str(_corpus(path, "jsonl")), "--store", str(path / "store"), "--out", str(path / "out")]
    arguments += ["--id-column", "id", "--quiet", *(["--overwrite"] if overwrite else [])]
    app(args=arguments, standalone_mode=False)


def _store_dedup_state(path: Path) -> object:
    stored = _store_state(path)
    return stored, _dedup_state(path) if (path / "out").exists() else None


def _store_state(path: Path) -> list[list[tuple[object, ...]]]:
    found: list[list[tuple[object, ...]]] = []
    for name in ("store", "copy"):
        if (path / name).exists():
            with nk.Store.open(path / name) as store:
                store.verify()
                rows = [one for batch in store.iter_documents() for one in batch]
                ids = [one.id for one in rows]
                try:
                    kept: Sequence[object] = store.texts(ids)
                except errors.MismatchError:
                    # Of files and vectors the store has what they are searched by.
                    kept = store.values(ids).tolist() if ids else []
                found.append([(one.id, one.status, one.match, str(it)) for one, it in zip(rows, kept, strict=True)])
    return found


def _store_create(path: Path) -> None:
    with suppress(FileExistsError):
        nk.Store.create(path / "store", **STORE).close()
    nk.Store.open(path / "store").close()


def _near_files(count: int) -> list[bytes]:
    """Files of which each third is a copy with a change."""
    return [FILES[i % 6] if i < 6 else FILES[i % 6][: 1500 + i] + FILES[i % 6][1600:] for i in range(count)]


def _files_old(path: Path) -> None:
    with nk.Store.create(path / "store", "ssdeep", threshold=60, max_pending=16) as store:
        store.check_and_add(_near_files(8), [f"d{i}" for i in range(8)], kind="bytes")
        store.merge()
        store.check_and_add(_near_files(10)[8:], ["d8", "d9"], kind="bytes")


def _files_add(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.check_and_add(_near_files(16)[10:], [f"d{i}" for i in range(10, 16)], kind="bytes")


def _files_dedup(path: Path) -> None:
    # As with texts: what an interrupted run owes takes its place when the store is opened.
    with nk.Store.open(path / "store") as store:
        if len(store) > 10:
            return
    files = path / "files"
    files.mkdir(exist_ok=True)
    for number, data in enumerate([*_near_files(12)[8:], *(data[::-1] for data in FILES[:3])]):
        (files / str(number)).write_bytes(data)
    arguments = ["dedup", "--family", "ssdeep", str(files), "--store", str(path / "store"), "--out", str(path / "out")]
    # A file that can't be read is an error here, and not left out.
    app(args=[*arguments, "--strict", "--quiet"], standalone_mode=False)


def _files_dedup_state(path: Path) -> object:
    kept = path / "out" / "kept.nul"
    stored = [Path(str(name)).name for name, *_ in _store_state(path)[0]]
    names = sorted(entry.name for entry in (path / "out").iterdir()) if kept.exists() else None
    return stored, names and (names, sorted(Path(name).name for name in kept.read_text().split("\0")))


def _vectors_create(path: Path) -> None:
    with suppress(FileExistsError):
        nk.Store.create(path / "store", Hyperplane(bits=32, seed=1).fit(np.eye(6)), threshold=0.9).close()
    nk.Store.open(path / "store").close()


SAVERS: dict[str, Saver] = {
    "vectors create": Saver(lambda path: None, _vectors_create, _store_state),
    "files add": Saver(_files_old, _files_add, _store_state),
    "files dedup": Saver(_files_old, _files_dedup, _files_dedup_state),
    "files merge": Saver(_files_old, _store_merge, _store_state),
    "store create": Saver(lambda path: None, _store_create, _store_state),
    "store add": Saver(_store_old, _store_add, _store_state),
    "store remove": Saver(_store_old, _store_remove, _store_state),
    "store merge": Saver(_store_old, _store_merge, _store_state),
    "store erase": Saver(_store_removed, _store_merge, _store_state),
    "store backup": Saver(_store_old, _store_backup, _store_state),
    "store dedup": Saver(_store_old, functools.partial(_store_dedup, overwrite=False), _store_dedup_state),
    "store dedup over": Saver(_store_dedup_old, functools.partial(_store_dedup, overwrite=True), _store_dedup_state),
    "hamming": Saver(lambda path: _hamming(path, 200), lambda path: _hamming(path, 600), _hamming_state),
    "bands": Saver(lambda path: _bands(path, 50), lambda path: _bands(path, 120), _bands_state),
    "digests": Saver(lambda path: _digests(path, 2), lambda path: _digests(path, 6), _digests_state),
    "vectors": Saver(lambda path: _vectors(path, 40), lambda path: _vectors(path, 90), _vectors_state),
    "family": Saver(lambda path: _family(path, 1), lambda path: _family(path, 2), _family_state),
    "idf": Saver(lambda path: _idf(path, 30), lambda path: _idf(path, 120), _idf_state),
    "index add": Saver(_index_old, _index_add, _hamming_state),
    **{
        f"dedup {suffix}": Saver(
            _dedup_old(suffix), functools.partial(_dedup, suffix=suffix, threshold=0.5), _dedup_state
        )
        for suffix in ("jsonl", "jsonl.gz", "jsonl.zst", "csv", "parquet")
    },
}


def entries(path: Path) -> list[str]:
    """Every file below a folder, hidden ones too."""
    return sorted(str(entry.relative_to(path)) for entry in path.rglob("*"))


def watched(path: Path) -> Path:
    """A fresh folder that the library watches."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    SHIM.fault_watch(str(path).encode())
    return path


def copy_of(old: Path, work: Path) -> Path:
    """The old state once more, in a folder of the same name, since outputs name their paths."""
    SHIM.fault_watch(b"")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(old, work)
    SHIM.fault_watch(str(work).encode())
    return work


def in_child(work: Callable[[], str]) -> str:
    """What `work` answers in a forked child, "killed" for a child that the library ended, else how it died."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            said = work()
        except BaseException:
            said = "fault: " + traceback.format_exc()[-1500:]
        SHIM.fault_disarm()
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:  # noqa: PTH123 - a descriptor
        answer = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 77:
        return "killed"
    if status:
        return f"fault: the process ended with status {status}"
    return answer


def attempt(saver: Saver, work: Path, kind: int, at: int, fault: Fault) -> str:
    """Runs the saver with one fault; the word for what it answered."""
    SHIM.fault_arm(kind, at, fault.mode, fault.error, fault.forever)
    try:
        saver.save(work)
    except (OSError, errors.NearkinError) as found:
        # A short or an interrupted call is no error: it is done again.
        return f"refused: {type(found).__name__}" if fault.mode == FAIL else f"fault: {found!r}"
    finally:
        SHIM.fault_disarm()
    return "done"


def check(saver: Saver, work: Path, states: tuple[object, object], answer: str) -> str | None:
    """Why the folder is neither old nor new, or a later run does not mend it; None if all is well."""

    def look() -> str:
        try:
            found = saver.state(work)
        except Exception as error:
            return f"fault: can't be read: {type(error).__name__}: {error}"
        if found not in states or (answer == "done" and found != states[1]):
            return "fault: neither old nor new" if found not in states else "fault: said done, is old"
        saver.save(work)
        if saver.state(work) != states[1]:
            return "fault: a later run does not give the new state"
        return "well"

    found = in_child(look)
    return None if found == "well" else found


def read_record(path: Path) -> list[Call]:
    """The calls of a run that changed the disk, in order."""
    record = path.read_bytes()
    calls: list[Call] = []
    at = 0
    while at < len(record):
        end = record.index(b"\n", at)
        op, a, b, offset, length = record[at:end].decode().split("\t")
        size = int(length) if op == "w" else 0
        calls.append(Call(op, a, b, int(offset), record[end + 1 : end + 1 + size]))
        at = end + 1 + size
    return calls


def replay(calls: list[Call], work: Path, policy: str) -> None:
    """Turns the old state into what a disk may have when power goes after these calls.

    With `data` what was written to a file and not synced since is lost; with `entries` every change of a folder's
    entries that happened after the folder was last synced.
    """
    SHIM.fault_watch(b"")

    def synced_after(place: int, path: str) -> bool:
        return any(call.op == "s" and call.a == path for call in calls[place + 1 :])

    for place, call in enumerate(calls):
        a, b = Path(call.a), Path(call.b)
        if policy == "entries" and call.op in "crulxm" and not synced_after(place, str((b if call.b else a).parent)):
            continue
        if call.op == "w" and policy == "data" and not synced_after(place, call.a):
            continue
        if not (b if call.b else a).parent.is_dir():
            # A folder whose own entry was lost.
            continue
        if call.op == "c":
            a.touch()
        elif call.op == "m":
            a.mkdir(exist_ok=True)
        elif call.op == "u":
            shutil.rmtree(a) if a.is_dir() else a.unlink(missing_ok=True)
        elif not a.exists():
            # A file whose entry was lost.
            continue
        elif call.op == "t":
            os.truncate(a, call.offset)
        elif call.op == "w":
            with a.open("r+b") as file:
                file.seek(call.offset)
                file.write(call.data)
        elif call.op == "r":
            if b.is_dir():
                shutil.rmtree(b)
            a.replace(b)
        elif call.op == "x" and b.exists():
            aside = b.with_name(b.name + ".exchange")
            b.rename(aside)
            a.rename(b)
            aside.rename(a)
        elif call.op == "l" and not b.exists():
            os.link(a, b)
    SHIM.fault_watch(str(work).encode())


def cases(counts: list[int], every: int) -> Iterator[tuple[str, int, int, Fault]]:
    """Each fault with the kind and the number of the call that has it."""
    for number, kind in enumerate(KINDS):
        for fault in FAULTS:
            legal = fault.mode in (SHORT, INTERRUPT)
            if not legal or kind in ("write", "read") or (fault.mode == INTERRUPT and kind == "open"):
                yield from ((f"{kind} {at} {fault.name}", number, at, fault) for at in range(0, counts[number], every))


def main() -> None:
    """Tries every fault and prints what came of it."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    every = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    nk.set_num_threads(1)
    saver = SAVERS[name]
    old, work = folder / "old" / "state", folder / "work" / "state"
    watched(old)
    saver.old(old)
    copy_of(old, work)
    # Nothing of the pool is made in the parent: children make their own.
    first = in_child(lambda: counted(saver, work, folder))
    if not first.startswith("{"):
        sys.exit(f"a run without faults: {first}")
    seen = json.loads(first)
    states = (tuple_of(seen["old"]), tuple_of(seen["new"]))
    listed = Saver(saver.old, saver.save, lambda path: tuple_of(json.loads(json.dumps(saver.state(path)))))
    outcomes: Counter[str] = Counter()
    faults: list[str] = []

    def note(case: str, answer: str) -> None:
        why = answer if answer.startswith("fault") else check(listed, work, states, answer)
        left = [entry for entry in entries(work) if entry not in seen["names"]]
        if why is None and left:
            why = f"fault: left behind: {left}"
        outcomes["fault" if why else answer] += 1
        if why:
            faults.append(f"{case}: {answer}: {why}")

    for case, kind, at, fault in cases(seen["counts"], every):
        copy_of(old, work)
        note(case, in_child(functools.partial(attempt, saver, work, kind, at, fault)))
    calls = read_record(folder / "record")
    for policy in ("data", "entries"):
        for upto in range(0, len(calls) + 1, every):
            copy_of(old, work)
            replay(calls[:upto], work, policy)
            note(f"power cut after {upto} of {len(calls)}, {policy} lost", "power cut")
    found = {"saver": name, "calls": dict(zip(KINDS, seen["counts"], strict=True)), "outcomes": outcomes}
    print(json.dumps({**found, "faults": faults[:20], "faults in all": len(faults)}))


def tuple_of(value: object) -> object:
    """Lists as tuples, so that states compare whatever they went through."""
    return tuple(map(tuple_of, value)) if isinstance(value, (list, tuple)) else value


def counted(saver: Saver, work: Path, folder: Path) -> str:
    """What a run without faults is: its states before and after, how many calls, which names; its record is kept."""
    before = saver.state(work)
    SHIM.fault_log(str(folder / "record").encode())
    SHIM.fault_arm(-1, 0, 0, 0, 0)
    saver.save(work)
    counts = [SHIM.fault_count(kind) for kind in range(len(KINDS))]
    SHIM.fault_log(None)
    names = entries(work)
    after = saver.state(work)
    return json.dumps({"old": before, "new": after, "counts": counts, "names": names})


if __name__ == "__main__":
    main()
