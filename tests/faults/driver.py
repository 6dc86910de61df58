"""Inject every fault into savers; run by the tests with the library of `shim.c` preloaded.

    LD_PRELOAD=shim.so python driver.py

Each line of standard input is a JSON object: a saver, an empty folder, and of how many calls one is tried. A saver
changes a folder from an old state to a new one. The driver counts its system calls once. Then, for every kind of call
and every n, the saver runs from the old state and its n-th call fails. The folder must then have the old or the new
state; the error must be one of nearkin or of the system; and a run without a fault must end in the new state and leave
no extra files.

One process makes all attempts, as a program that goes on after an error would, except that a process which is to die
is a fork. Each different folder that attempts leave is then checked once, in a process of its own.

**Power cuts.** The calls of one run are recorded with their data. For every prefix of the record, the driver builds two
disks that a crash may leave: one without the data that was not synced (files exist, but are empty), and one without the
changes of a folder's entries (create, rename, unlink) since the folder was last synced.

Prints one JSON object per line: the number of cases by outcome, and the first faults.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import gc
import hashlib
import importlib
import json
import os
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from saved_files import FPS
from saved_files import KINDS as KINDS_OF_FILES

import nearkin as nk
from nearkin import errors
from nearkin.cli.app import root_command
from nearkin.families import Hyperplane, PStable
from nearkin.io import open_corpus

KINDS = ("open", "write", "sync", "rename", "unlink", "truncate", "map", "read", "link", "mkdir")
FAIL, SHORT, INTERRUPT, DIE = 1, 2, 3, 4


@dataclass(frozen=True)
class Fault:
    """A fault to inject: the mode of the library, its error number, and whether it applies to all later calls."""

    name: str
    mode: int
    error: int = 0
    forever: int = 0


@dataclass(frozen=True)
class Case:
    """A fault of the call `at` of a kind."""

    kind: int
    at: int
    fault: Fault


Left = tuple[str, str, str]
"""A case, its outcome, and the folder that it left."""


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
# The tests of other systems read the names of savers alone.
SHIM = ctypes.CDLL(None) if sys.platform == "linux" else ctypes.pythonapi


@dataclass(frozen=True)
class Saver:
    """A change to test: `old` creates the old state, `save` changes it, `state` reads and verifies it."""

    old: Callable[[Path], None]
    save: Callable[[Path], None]
    state: Callable[[Path], object]


RNG = np.random.default_rng(5)
TEXTS = [f"document {i % 40} about {'words ' * (i % 7)} and number {i % 11}" for i in range(120)]
FILES = [bytes(RNG.integers(0, 256, 3000, dtype=np.uint8)) for _ in range(6)]


def _file(name: str) -> Saver:
    """Return the replacement of a small file of a kind by a larger one."""
    kind = KINDS_OF_FILES[name]

    def state(path: Path) -> object:
        if kind.verify is not None:
            kind.verify(path / "file.nks")
        return kind.ask(path / "file.nks")

    return Saver(
        lambda path: kind.save_small(path / "file.nks"), lambda path: kind.save_large(path / "file.nks"), state
    )


def _hamming_state(path: Path) -> object:
    index = nk.HammingIndex.open(path / "index.nks")
    index.verify()
    return len(index), index.search(FPS[:3], radius=0).ids.tolist()


def _run(*arguments: object) -> None:
    """Run the command; its errors are raised."""
    root_command()(args=[str(argument) for argument in (*arguments, "--quiet")], standalone_mode=False)


def _corpus(path: Path, suffix: str) -> Path:
    """Write the input of a job outside the watched folder."""
    source = path.parent / f"corpus.{suffix}"
    if not source.exists():
        rows = {"id": [str(i) for i in range(len(TEXTS))], "text": TEXTS}
        plain = "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in zip(*rows.values(), strict=True)).encode()
        if suffix == "parquet":
            pyarrow.parquet.write_table(pa.table(rows), source)
        elif suffix == "csv":
            pyarrow.csv.write_csv(pa.table(rows), source)
        else:
            with pa.output_stream(str(source), compression="detect") as file:
                file.write(plain)
    return source


def _dedup(path: Path, suffix: str, threshold: float, *options: object) -> None:
    corpus, out = _corpus(path, suffix), path / "out"
    _run("dedup", corpus, "--out", out, "--id-column", "id", "--threshold", threshold, "--overwrite", *options)


def _dedup_checkpoint_old(path: Path) -> None:
    _dedup_old("jsonl")(path)
    (path / "point").mkdir()


def _dedup_checkpoint(path: Path) -> None:
    _dedup(path, "jsonl", 0.5, "--checkpoint", path / "point")


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
        # A file of the user; no run may delete it.
        (path / "out" / "notes.txt").write_text("mine")

    return old


def _index_add(path: Path) -> None:
    _run("index", "add", path / "index.nks", _corpus(path, "jsonl"), "--id-column", "id", "--existing", "update")


def _index_old(path: Path) -> None:
    index = nk.HammingIndex(bits=64, recipe=nk.Recipe("char:4|count|xxh3|simhash:64"))
    index.add([f"old {i}" for i in range(50)], FPS[:50])
    index.save(path / "index.nks")


STORE: dict[str, Any] = {"recipe": "char:3|binary|xxh3|simhash:64", "threshold": 0.7, "max_pending": 16}


def _store_old(path: Path, **options: Any) -> None:
    with nk.Store.create(path / "store", **STORE | options) as store:
        store.check_and_add(TEXTS[:30], [f"d{i}" for i in range(30)])
        store.merge()
        store.check_and_add(TEXTS[30:40], [f"d{i}" for i in range(30, 40)])


def _store_add(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.check_and_add(TEXTS[40:60], [f"d{i}" for i in range(40, 60)], columns={"n": list(range(20))})


def _page(number: int) -> str:
    return f"news and sport and weather of the town\n{TEXTS[number]} {number * 7919}\nprinted by the press of the town"


BETTER = "\n".join(f"The council said that the bridge {number} won't open this year." for number in range(6))
WORSE = BETTER.replace("'", "\u00e2\u20ac\u2122", 2)


def _better_old(path: Path) -> None:
    with nk.Store.create(path / "store", threshold=0.5, max_pending=16) as store:
        store.check_and_add([WORSE, *TEXTS[:19], BETTER[:-40]], [f"d{i}" for i in range(21)])
        store.add([BETTER[:-3]], ["d21"])


def _better_add(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.check_and_add([BETTER], ["better"], on_better="replace")


def _better_state(path: Path) -> object:
    """Return which document is kept; one that was added and has not replaced it yet is of the old state."""
    rows = [row for row in _store_state(path)[0] if row[0] not in ("better",) or row[1] == "new"]
    return sorted(rows, key=str)


def _pages_old(path: Path) -> None:
    with nk.Store.create(path / "store", kind="pages", max_pending=16) as store:
        store.check_and_add([_page(i) for i in range(20)], [f"https://a.org/{i}" for i in range(20)])


def _pages_add(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.check_and_add(
            [_page(i) for i in range(20, 40)], [f"https://{'ab'[i % 2]}.org/{i}" for i in range(20, 40)]
        )


def _pages_state(path: Path) -> object:
    stored = _store_state(path)
    with nk.Store.open(path / "store") as store, store._reading():
        return stored, [(site, repr(store._log.lines(site).pack())) for site in store._log.sites()]


def _store_remove(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.remove(["d0", "d35"], missing_ok=True)


def _store_expire(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.expire(before="2100-01-01")


def _store_removed(path: Path) -> None:
    _store_old(path)
    _store_remove(path)


def _store_merge(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.merge()


def _store_backup(path: Path) -> None:
    # The next backup deletes the leftovers of an interrupted one.
    with nk.Store.open(path / "store") as store, suppress(FileExistsError):
        store.backup(path / "copy")
    nk.Store.open(path / "copy").close()


def _store_dedup_old(path: Path) -> None:
    _store_old(path)
    _dedup_old("jsonl")(path)


def _store_dedup(path: Path, *, overwrite: bool) -> None:
    # Opening the store publishes the pending output of an interrupted run; a second run would keep nothing.
    with nk.Store.open(path / "store") as store:
        if len(store) > 40:
            return
    options = ["--overwrite"] if overwrite else []
    corpus, out = _corpus(path, "jsonl"), path / "out"
    _run("dedup", corpus, "--store", path / "store", "--out", out, "--id-column", "id", *options)


def _store_dedup_state(path: Path) -> object:
    stored = _store_state(path)
    return stored, _dedup_state(path) if (path / "out").exists() else None


def _store_state(path: Path) -> list[list[tuple[object, ...]]]:
    state: list[list[tuple[object, ...]]] = []
    for name in ("store", "copy"):
        if (path / name).exists():
            with nk.Store.open(path / name) as store:
                store.verify()
                rows = [document for batch in store.iter_documents() for document in batch]
                ids = [document.id for document in rows]
                try:
                    kept: Sequence[object] = store.texts(ids)
                except errors.MismatchError:
                    # Stores of files and vectors return digests and codes instead of texts.
                    kept = store.values(ids).tolist() if ids else []
                state.append(
                    [
                        (document.id, document.status, document.match, str(it))
                        for document, it in zip(rows, kept, strict=True)
                    ]
                )
    return state


def _store_create(path: Path) -> None:
    with suppress(FileExistsError):
        nk.Store.create(path / "store", **STORE).close()
    nk.Store.open(path / "store").close()


def _near_files(count: int) -> list[bytes]:
    """Write files; every third one is a copy with a change."""
    return [FILES[i % 6] if i < 6 else FILES[i % 6][: 1500 + i] + FILES[i % 6][1600:] for i in range(count)]


def _files_old(path: Path, recipe: str = "ssdeep", **limit: Any) -> None:
    with nk.Store.create(path / "store", recipe, **limit or {"threshold": 60}, max_pending=16) as store:
        store.check_and_add(_near_files(8), [f"d{i}" for i in range(8)], kind="bytes")
        store.merge()
        store.check_and_add(_near_files(10)[8:], ["d8", "d9"], kind="bytes")


def _files_add(path: Path) -> None:
    with nk.Store.open(path / "store") as store:
        store.check_and_add(_near_files(16)[10:], [f"d{i}" for i in range(10, 16)], kind="bytes")


def _files_dedup(path: Path) -> None:
    # As for texts, opening the store publishes the pending output.
    with nk.Store.open(path / "store") as store:
        if len(store) > 10:
            return
    files = path / "files"
    files.mkdir(exist_ok=True)
    for number, data in enumerate([*_near_files(12)[8:], *(data[::-1] for data in FILES[:3])]):
        (files / str(number)).write_bytes(data)
    # An unreadable file must be an error, not be skipped.
    _run("dedup", "--family", "ssdeep", files, "--store", path / "store", "--out", path / "out", "--strict")


def _files_dedup_state(path: Path) -> object:
    kept = path / "out" / "kept.nul"
    stored = [Path(str(name)).name for name, *_ in _store_state(path)[0]]
    names = sorted(entry.name for entry in (path / "out").iterdir()) if kept.exists() else None
    return stored, names and (names, sorted(Path(name).name for name in kept.read_text().split("\0")))


def _vectors_create(path: Path) -> None:
    with suppress(FileExistsError):
        nk.Store.create(path / "store", Hyperplane(bits=32, seed=1).fit(np.eye(6)), threshold=0.9).close()
    nk.Store.open(path / "store").close()


def _vectors_old(path: Path) -> None:
    with nk.Store.create(path / "store", PStable(hashes=24, width=2.0, seed=1).fit(np.eye(6)), radius=0.5) as store:
        store.check_and_add(np.eye(6)[:4], [f"d{i}" for i in range(4)])
        store.merge()
        store.check_and_add(np.eye(6)[3:] + 0.1, ["d4", "d5", "d6"])


MINHASH: dict[str, Any] = {"recipe": "char:3|binary|xxh3|minhash:32", "text": "features"}
SAVERS: dict[str, Saver] = {
    "minhash merge": Saver(functools.partial(_store_old, **MINHASH), _store_merge, _store_state),
    "tlsh merge": Saver(functools.partial(_files_old, recipe="tlsh", radius=60), _store_merge, _store_state),
    "vectors merge": Saver(_vectors_old, _store_merge, _store_state),
    "vectors create": Saver(lambda path: None, _vectors_create, _store_state),
    "files add": Saver(_files_old, _files_add, _store_state),
    "files dedup": Saver(_files_old, _files_dedup, _files_dedup_state),
    "files merge": Saver(_files_old, _store_merge, _store_state),
    "store create": Saver(lambda path: None, _store_create, _store_state),
    "store add": Saver(_store_old, _store_add, _store_state),
    "store replace": Saver(_better_old, _better_add, _better_state),
    "pages add": Saver(_pages_old, _pages_add, _pages_state),
    "store remove": Saver(_store_old, _store_remove, _store_state),
    "store expire": Saver(_store_old, _store_expire, _store_state),
    "store merge": Saver(_store_old, _store_merge, _store_state),
    "store erase": Saver(_store_removed, _store_merge, _store_state),
    "store backup": Saver(_store_old, _store_backup, _store_state),
    "store dedup": Saver(_store_old, functools.partial(_store_dedup, overwrite=False), _store_dedup_state),
    "store dedup over": Saver(_store_dedup_old, functools.partial(_store_dedup, overwrite=True), _store_dedup_state),
    **{name: _file(name) for name in KINDS_OF_FILES},
    "index add": Saver(_index_old, _index_add, _hamming_state),
    "dedup checkpoint": Saver(_dedup_checkpoint_old, _dedup_checkpoint, _dedup_state),
    **{
        f"dedup {suffix}": Saver(
            _dedup_old(suffix), functools.partial(_dedup, suffix=suffix, threshold=0.5), _dedup_state
        )
        for suffix in ("jsonl", "jsonl.gz", "jsonl.zst", "csv", "parquet")
    },
}


def entries(path: Path) -> list[str]:
    """Return every file below a folder, including hidden ones."""
    return sorted(str(entry.relative_to(path)) for entry in path.rglob("*"))


def watched(path: Path) -> Path:
    """Create an empty folder that the library watches."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    SHIM.fault_watch(str(path).encode())
    return path


def copy_folder(old: Path, work: Path) -> Path:
    """Copy the old state to a folder of the same name, because outputs contain their paths."""
    SHIM.fault_watch(b"")
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(old, work)
    SHIM.fault_watch(str(work).encode())
    return work


def in_child(work: Callable[[], str]) -> str:
    """Return the result of `work` in a forked child, "killed" if the library ended it, or how it died."""
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


def attempt(saver: Saver, old: Path, work: Path, case: Case) -> str:
    """Run the saver from the old state with one fault and return its outcome."""
    copy_folder(old, work)
    SHIM.fault_arm(case.kind, case.at, case.fault.mode, case.fault.error, case.fault.forever)
    try:
        saver.save(work)
        outcome = "done"
    except (OSError, errors.NearkinError) as found:
        # A short or an interrupted call is not an error: the saver repeats it.
        outcome = f"refused: {type(found).__name__}" if case.fault.mode == FAIL else f"fault: {found!r}"
    finally:
        SHIM.fault_disarm()
    # What the error holds is closed now, not during the next attempt.
    gc.collect()
    return outcome if SHIM.fault_count(case.kind) > case.at else "fault: there was no such call"


def attempts(saver: Saver, old: Path, work: Path, cases: Iterable[Case]) -> Iterator[Left]:
    """Yield what each fault leaves."""
    for case in cases:
        once = functools.partial(attempt, saver, old, work, case)
        answer = in_child(once) if case.fault.mode == DIE else once()
        yield keep(f"{KINDS[case.kind]} {case.at} {case.fault.name}", work, answer)


def keep(case: str, work: Path, answer: str) -> Left:
    """Move a folder beside the others that cases left, unless an equal one is there."""
    content = hashlib.sha256(answer.encode() if answer == "done" else b"")
    for path in sorted(work.rglob("*")):
        stats = path.stat()
        data = path.read_bytes() if path.is_file() else b""
        content.update(f"{path.relative_to(work)}\0{stats.st_mode}\0{stats.st_nlink}\0{len(data)}\0".encode() + data)
    place = work.parents[1] / "left" / content.hexdigest()
    if not place.exists():
        work.rename(place)
    return case, answer, str(place)


def check(saver: Saver, work: Path, states: tuple[object, object], is_done: bool) -> str | None:
    """Return why the folder has neither state or a later run does not repair it; None if all is well."""

    def look() -> str:
        try:
            result = saver.state(work)
        except Exception as error:
            return f"fault: can't be read: {type(error).__name__}: {error}"
        if result not in states or (is_done and result != states[1]):
            return "fault: neither old nor new" if result not in states else "fault: said done, is old"
        saver.save(work)
        if saver.state(work) != states[1]:
            return "fault: a later run does not give the new state"
        return "well"

    result = in_child(look)
    return None if result == "well" else result


def read_record(path: Path) -> list[Call]:
    """Return the calls of a run that changed the disk, in order."""
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
    """Change the old state into what a disk may contain after a power cut that follows these calls.

    With `data`, written data that was not synced is lost. With `entries`, the changes of a folder's entries since the
    folder was last synced are lost.
    """
    SHIM.fault_watch(b"")

    def synced_after(number: int, path: str) -> bool:
        return any(call.op == "s" and call.a == path for call in calls[number + 1 :])

    for number, call in enumerate(calls):
        a, b = Path(call.a), Path(call.b)
        if policy == "entries" and call.op in "crulxm" and not synced_after(number, str((b if call.b else a).parent)):
            continue
        if call.op == "w" and policy == "data" and not synced_after(number, call.a):
            continue
        if not (b if call.b else a).parent.is_dir():
            # The entry of the folder itself was lost.
            continue
        if call.op == "c":
            a.touch()
        elif call.op == "m":
            a.mkdir(exist_ok=True)
        elif call.op == "u":
            shutil.rmtree(a) if a.is_dir() else a.unlink(missing_ok=True)
        elif not a.exists():
            # The entry of the file was lost.
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


def cases(counts: list[int], every: int) -> Iterator[Case]:
    """Yield each fault at each call that may have it."""
    for number, kind in enumerate(KINDS):
        for fault in FAULTS:
            legal = fault.mode in (SHORT, INTERRUPT)
            if not legal or kind in ("write", "read") or (fault.mode == INTERRUPT and kind == "open"):
                yield from (Case(number, at, fault) for at in range(0, counts[number], every))


def main() -> None:
    """Answer each request in a fork, which finds what all of them need in memory."""
    nk.set_num_threads(1)
    nk.Recipe(STORE["recipe"])
    root_command().commands["dedup"]
    for line in sys.stdin:
        print(json.dumps(in_child(functools.partial(report, **json.loads(line)))), flush=True)


def report(saver: str, folder: str, every: int) -> str:
    """Inject the faults of one saver and return the outcomes."""
    tested, place = SAVERS[saver], Path(folder)
    old, work = place / "old" / "state", place / "work" / "state"
    (place / "left").mkdir()
    watched(old)
    tested.old(old)
    copy_folder(old, work)
    # This process creates no thread pool, because each child creates its own. It imports what children need.
    first = in_child(lambda: counted(tested, work, place))
    if not first.startswith("{"):
        return f"a run without faults: {first}"
    seen = json.loads(first)
    for module in seen["modules"]:
        # Some are made by others and have no file.
        with suppress(ImportError):
            importlib.import_module(module)
    gc.freeze()
    states = (as_tuples(seen["old"]), as_tuples(seen["new"]))
    listed = Saver(tested.old, tested.save, lambda path: as_tuples(json.loads(json.dumps(tested.state(path)))))
    todo = list(cases(seen["counts"], every))
    living = [case for case in todo if case.fault.mode != DIE]
    answer = in_child(lambda: json.dumps(list(attempts(tested, old, work, living))))
    if not answer.startswith("["):
        return answer
    left: list[Left] = json.loads(answer)
    left += attempts(tested, old, work, (case for case in todo if case.fault.mode == DIE))
    calls = read_record(place / "record")
    for policy in ("data", "entries"):
        for upto in range(0, len(calls) + 1, every):
            copy_folder(old, work)
            replay(calls[:upto], work, policy)
            left.append(keep(f"power cut after {upto} of {len(calls)}, {policy} lost", work, "power cut"))

    @functools.cache
    def fault(found: str, is_done: bool) -> str | None:
        shutil.rmtree(work, ignore_errors=True)
        Path(found).rename(work)
        why = check(listed, work, states, is_done)
        extra = [entry for entry in entries(work) if entry not in seen["names"]]
        return f"fault: left behind: {extra}" if why is None and extra else why

    outcomes: Counter[str] = Counter()
    faults: list[str] = []
    for case, answer, found in left:
        why = answer if answer.startswith("fault") else fault(found, answer == "done")
        outcomes["fault" if why else answer] += 1
        if why:
            faults.append(f"{case}: {answer}: {why}")
    calls_made = dict(zip(KINDS, seen["counts"], strict=True))
    result = {"saver": saver, "calls": calls_made, "outcomes": outcomes, "folders": len({found for *_, found in left})}
    return json.dumps({**result, "faults": faults[:20], "faults in all": len(faults)})


def as_tuples(value: object) -> object:
    """Convert lists to tuples, so that states compare equal after any serialization."""
    return tuple(map(as_tuples, value)) if isinstance(value, (list, tuple)) else value


def counted(saver: Saver, work: Path, folder: Path) -> str:
    """Return the states before and after a run without faults, its number of calls and its files; keep its record."""
    before = saver.state(work)
    SHIM.fault_log(str(folder / "record").encode())
    SHIM.fault_arm(-1, 0, 0, 0, 0)
    saver.save(work)
    counts = [SHIM.fault_count(kind) for kind in range(len(KINDS))]
    SHIM.fault_log(None)
    names = entries(work)
    after = saver.state(work)
    return json.dumps({"old": before, "new": after, "counts": counts, "names": names, "modules": list(sys.modules)})


if __name__ == "__main__":
    main()
