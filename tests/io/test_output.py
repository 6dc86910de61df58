"""nearkin.io.output: output that is complete or absent."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from nearkin.errors import NearkinError, OutputError, ParameterError
from nearkin.io import OutputDir, atomic_write, open_corpus, replace_file, write_table
from nearkin.io import output as output_module
from nearkin.io.output import SUMMARY

T = TypeVar("T")


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder, including hidden files."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write(target: Path, *names: str, overwrite: bool = False, content: bytes = b"new") -> None:
    with OutputDir(target, overwrite=overwrite) as out:
        for name in names:
            if name == SUMMARY:
                out.write_json(name, {"content": content.decode()})
                continue
            with out.open(name) as file:
                file.write(content)


def summary(content: bytes, *names: str) -> bytes:
    """Return the summary that `write` writes last."""
    value = {"content": content.decode(), "files": sorted([*names, SUMMARY])}
    return json.dumps(value, indent=2).encode() + b"\n"


@pytest.mark.parametrize("exists", [False, True])
def test_output_appears_at_the_end_and_nothing_else_does(tmp_path: Path, exists: bool) -> None:
    """The target is empty until the context ends, and then contains exactly the files."""
    target = tmp_path / "a" / "out"
    if exists:
        target.mkdir(parents=True)
    with OutputDir(target) as out:
        with out.open("kept.txt") as file:
            file.write(b"x")
        out.write_json("summary.json", {"rows": 1})
        assert not (target / "kept.txt").exists()
        assert not (target / "summary.json").exists()
    listed = b'{\n  "rows": 1,\n  "files": [\n    "kept.txt",\n    "summary.json"\n  ]\n}\n'
    assert {"a/out/kept.txt": b"x", "a/out/summary.json": listed} == files(tmp_path)
    assert ["out"] == [path.name for path in (tmp_path / "a").iterdir()]


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_nothing(tmp_path: Path, exists: bool, error: type[BaseException]) -> None:
    """After any exception, neither files nor folders are left."""
    target = tmp_path / "a" / "out"
    if exists:
        target.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))

    def run() -> None:
        with OutputDir(target) as out, out.open("kept.txt") as file:
            file.write(b"x")
            raise error

    with pytest.raises(error):
        run()
    assert before == sorted(tmp_path.rglob("*"))


def test_a_target_with_something_in_it_is_refused(target: Path, tmp_path: Path) -> None:
    """Without overwrite any file is refused; with it only the output of an earlier run may be replaced."""
    write(target, "kept.jsonl", "clusters.jsonl", "summary.json", content=b"old")
    with pytest.raises(
        ParameterError, match=r"empty or does not exist, or overwrite=True \(--overwrite\); it contains cl"
    ):
        write(target, "kept.csv")
    write(target, "kept.csv", "summary.json", overwrite=True)
    assert {"kept.csv": b"new", "summary.json": summary(b"new", "kept.csv")} == files(target)
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(ParameterError, match="this is a file"):
        write(tmp_path / "file", "kept.csv")
    assert b"mine" == (tmp_path / "file").read_bytes()


def test_overwriting_keeps_what_no_run_wrote(target: Path, tmp_path: Path) -> None:
    """Files, folders and links of the user are kept, and the files of the earlier run are removed."""
    write(target, "kept.jsonl", "clusters.jsonl", "removed.nul", "summary.json", content=b"old")
    mine = {"pairs.csv": b"a,b\n", "kept.notes.docx": b"notes", "sub/deep/kept.jsonl": b"{}\n", "sub/empty": b""}
    for name, data in mine.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(data)
    (target / "link").symlink_to("sub")
    (target / "sub").chmod(0o500)
    target.chmod(0o750)
    inode = (target / "pairs.csv").stat().st_ino
    try:
        write(target, "kept.csv", "summary.json", overwrite=True)
        assert mine | {"kept.csv": b"new", "summary.json": summary(b"new", "kept.csv")} == files(target)
        assert Path("sub") == (target / "link").readlink()
        assert (0o500, 0o750) == ((target / "sub").stat().st_mode & 0o777, target.stat().st_mode & 0o777)
        assert inode == (target / "pairs.csv").stat().st_ino
        assert [target] == list(tmp_path.iterdir())
    finally:
        (target / "sub").chmod(0o700)


@pytest.mark.parametrize("foretold", [False, True])
def test_a_file_of_the_user_is_never_written_over(target: Path, tmp_path: Path, foretold: bool) -> None:
    """A name that belongs to a file of the user is refused, at once if the names are known in advance."""
    write(target, "kept.jsonl", "summary.json", content=b"old")
    (target / "pairs.jsonl").write_bytes(b"mine")
    before = files(target)
    begun = []

    def run() -> None:
        with OutputDir(target, overwrite=True, names=["pairs.jsonl"] if foretold else []) as out:
            begun.append(out)
            out.open("pairs.jsonl")

    with pytest.raises(ParameterError, match=r"whose pairs.jsonl may be replaced; summary.json does not list it"):
        run()
    assert (not foretold) == bool(begun)
    assert before == files(target)
    assert [target] == list(tmp_path.iterdir())


@pytest.mark.parametrize("text", [None, b"mine", b"[1]", b'{"title": "mine"}', b'{"files": 3}', b"[" * 100_000])
def test_a_folder_without_the_summary_of_a_run_is_not_replaced(target: Path, text: bytes | None) -> None:
    """A folder without the summary of a run is never replaced, even with overwrite."""
    target.mkdir()
    (target / "kept.jsonl").write_bytes(b"mine")
    if text is not None:
        (target / "summary.json").write_bytes(text)
    before = files(target)
    with pytest.raises(ParameterError, match=r"it contains kept.jsonl and no summary.json of a run"):
        write(target, "kept.jsonl", "summary.json", overwrite=True)
    assert before == files(target)


def test_the_summary_comes_last_and_names_are_plain(tmp_path: Path) -> None:
    """No file may follow the summary, and names are unique and without folders."""
    with OutputDir(tmp_path / "out") as out:
        for name in ("", ".", "..", "a/b", "../a", "a\0b"):
            with pytest.raises(ParameterError, match="a plain file name that was not used yet"):
                out.open(name)
        out.open("a")
        with pytest.raises(ParameterError, match="a plain file name that was not used yet"):
            out.open("a")
        out.write_json("summary.json", {})
        with pytest.raises(NearkinError, match=r"summary.json lists all files and comes last; write b before it"):
            out.open("b")
    with pytest.raises(NearkinError, match="the output is not open"):
        out.open("c")
    assert ["a", "summary.json"] == sorted(files(tmp_path / "out"))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the names of open files are read from /proc")
def test_a_folder_that_somebody_else_fills_is_part_of_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that the caller fills is synced and appears with the other files, or not at all."""
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(str(Path(f"/proc/self/fd/{number}").readlink())))
    with OutputDir(tmp_path / "out") as out:
        place = out.folder("kept")
        assert not place.exists()
        (place / "a=1").mkdir(parents=True)
        (place / "a=1" / "part").write_text("rows")
        with pytest.raises(ParameterError, match="not used yet"):
            out.open("kept")
        with pytest.raises(ParameterError, match="plain file name"):
            out.folder("../kept")
        out.write_json(SUMMARY, {})
        assert not (tmp_path / "out").exists()
    assert "rows" == (tmp_path / "out" / "kept" / "a=1" / "part").read_text()
    ends = ["kept", "kept/a=1", "kept/a=1/part"]
    assert ends == sorted(name.partition("/new/")[2] for name in synced if "/new/kept" in name)

    def fail(folder: Path) -> None:
        folder.mkdir()
        raise ValueError("the job ended")

    with pytest.raises(ValueError, match="the job ended"), OutputDir(tmp_path / "other") as out:
        fail(out.folder("kept"))
    assert ["out"] == [path.name for path in tmp_path.iterdir()]


def test_a_file_that_was_not_closed_is_written_whole(tmp_path: Path) -> None:
    """The end of the context flushes and closes open files."""
    with OutputDir(tmp_path / "out") as out:
        file = out.open("kept.txt")
        file.write(b"whole")
    assert file.closed
    assert {"kept.txt": b"whole"} == files(tmp_path / "out")


def test_folders_that_cannot_be_replaced_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory, its parents, mount points and dangling links are refused."""
    inner = tmp_path / "out" / "inner"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    for target in (Path(), inner, inner.parent):
        with pytest.raises(ParameterError, match="a folder other than the working directory"), OutputDir(target):
            pass
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("nothing")
    with pytest.raises(ParameterError, match="a symbolic link to nothing"), OutputDir(tmp_path / "link"):
        pass
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "inner")
    with pytest.raises(ParameterError, match="this one is a mount point"), OutputDir(inner):
        pass
    write(tmp_path / "out2", "summary.json")
    (tmp_path / "out2" / "inner").mkdir()
    with (
        pytest.raises(ParameterError, match="a folder without mount points in it; inner is one"),
        OutputDir(tmp_path / "out2", overwrite=True),
    ):
        pass


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    """The target of a symbolic link is replaced, not the link."""
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    for overwrite in (False, True):
        write(tmp_path / "out", "kept.txt", "summary.json", overwrite=overwrite)
        assert Path("real") == (tmp_path / "out").readlink()
        assert ["kept.txt", "summary.json"] == sorted(files(tmp_path / "real"))
    assert ["out", "real"] == sorted(path.name for path in tmp_path.iterdir())


def test_what_comes_into_the_folder_meanwhile_stays(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that the user adds or replaces during the run are kept."""
    write(target, "kept.txt", "summary.json", content=b"old")
    (target / "sub").mkdir()
    (target / "edited").write_bytes(b"before")
    link_entries = atomic_write.link_entries

    def late(old: Path, new: Path, without: set[str]) -> None:
        link_entries(old, new, without)
        if old == target:
            (old / "late").write_bytes(b"late")
            (old / "sub" / "late").write_bytes(b"late")
            (old / "edited.tmp").write_bytes(b"after")
            (old / "edited.tmp").replace(old / "edited")

    monkeypatch.setattr(atomic_write, "link_entries", late)
    with OutputDir(target, overwrite=True) as out:
        (target / "meanwhile").write_bytes(b"mine")
        out.open("kept.txt").write(b"new")
        out.write_json("summary.json", {"content": "new"})
    mine = {"late": b"late", "sub/late": b"late", "edited": b"after", "meanwhile": b"mine"}
    assert mine | {"kept.txt": b"new", "summary.json": summary(b"new", "kept.txt")} == files(target)

    def collide() -> None:
        with OutputDir(target, overwrite=True) as out:
            out.open("kept.csv")
            (target / "kept.csv").write_bytes(b"mine")

    with pytest.raises(ParameterError, match=r"whose kept.csv may be replaced"):
        collide()
    assert b"mine" == (target / "kept.csv").read_bytes()


def system_calls(monkeypatch: pytest.MonkeyPatch, failing: int, code: int) -> list[str]:
    """Make the call with this number fail, and return the names of the calls so far."""
    calls: list[str] = []

    def counted(name: str, call: Callable[..., T]) -> Callable[..., T]:
        def run(*arguments: object, **options: object) -> T:
            calls.append(name)
            if len(calls) == failing:
                raise OSError(code, os.strerror(code))
            return call(*arguments, **options)

        return run

    monkeypatch.setattr(os, "fsync", counted("fsync", os.fsync))
    monkeypatch.setattr(os, "link", counted("link", os.link))
    monkeypatch.setattr(Path, "rename", counted("rename", Path.rename))
    monkeypatch.setattr(Path, "replace", counted("replace", Path.replace))
    monkeypatch.setattr(atomic_write, "exchange", counted("exchange", atomic_write.exchange))
    return calls


@pytest.mark.parametrize("exchange", [True, False])
@pytest.mark.parametrize("exists", [True, False])
def test_a_failing_call_says_what_is_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool, exists: bool
) -> None:
    """If any sync, link or rename fails, the target is the old or the new output, and the error says which."""
    if not exchange:
        monkeypatch.setattr(atomic_write, "_exchange_call", lambda: None)
    seen = set()
    for failing in range(1, 40):
        target = tmp_path / str(failing) / "out"
        target.parent.mkdir()
        if exists:
            write(target, "kept.txt", "summary.json", content=b"old")
            (target / "mine").write_bytes(b"mine")
        before = files(target)
        after = {name: data for name, data in before.items() if name == "mine"}
        after |= {"kept.csv": b"new", "summary.json": summary(b"new", "kept.csv")}
        with monkeypatch.context() as patch:
            calls = system_calls(patch, failing, errno.EIO)
            error = failure_of(partial(write, target, "kept.csv", "summary.json", overwrite=True))
        if error is None:
            assert failing > len(calls)
            assert after == files(target)
            break
        seen.add((calls[failing - 1], error.in_place))
        assert errno.EIO == error.errno
        assert os.strerror(errno.EIO) in str(error)
        assert {"old": before, "new": after}[error.in_place] == files(target)
        left = exists or error.in_place == "new"
        assert (["out"] if left else []) == [path.name for path in target.parent.iterdir()]
    expected = {("fsync", "old"), ("fsync", "new")}
    expected |= {("exchange", "old"), ("link", "old")} if exists else set()
    expected |= set() if exists and exchange else {("rename", "old")}
    assert expected == seen


def failure_of(call: Callable[[], None]) -> OutputError | None:
    """Return the error that a call raises."""
    try:
        call()
    except OutputError as error:
        return error
    return None


@pytest.mark.skipif(sys.platform == "win32", reason="an entry has all that is asked for there")
def test_a_hidden_folder_that_is_removed_while_others_look_is_nobodys(tmp_path: Path) -> None:
    """A folder that its owner removes during the scan is ignored."""
    (tmp_path / "hidden").mkdir()
    with os.scandir(tmp_path) as entries:
        entry = next(entries)
    (tmp_path / "hidden").rmdir()
    assert not atomic_write._is_own_folder(entry)


def test_a_predecessor_that_was_not_replaced_is_never_removed(tmp_path: Path) -> None:
    """If a run died between two renames, its old output is restored, unless the target exists."""
    target, hidden = tmp_path / "out", tmp_path / (".out.nearkin-" + "0" * 16)
    (hidden / "old").mkdir(parents=True)
    (hidden / "new").mkdir()
    (hidden / "old" / "mine").write_bytes(b"mine")
    target.mkdir()
    with pytest.raises(OutputError, match="an interrupted run left the previous content of this folder in") as caught:
        write(target, "kept.txt")
    assert "other" == caught.value.in_place
    target.rmdir()
    with pytest.raises(ParameterError, match="it contains mine"):
        write(target, "kept.txt")
    assert {"mine": b"mine"} == files(target)
    assert [target] == list(tmp_path.iterdir())


def test_an_old_folder_that_cannot_be_brought_back_is_left_to_the_next_run(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If both renames fail, the message contains the path of the old output, and the next run restores it."""
    write(target, "kept.txt", "summary.json", content=b"old")
    before = files(target)
    rename = Path.rename

    def fail(self: Path, other: Path) -> Path:
        if other == target:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, other)

    with monkeypatch.context() as patch:
        patch.setattr(atomic_write, "_exchange_call", lambda: None)
        patch.setattr(Path, "rename", fail)
        error = failure_of(lambda: write(target, "kept.csv", "summary.json", overwrite=True))
    assert error is not None
    assert "other" == error.in_place
    assert "/old, and the next run restores it" in str(error)
    with pytest.raises(ParameterError, match=r"it contains kept.txt"):
        write(target, "kept.csv")
    assert before == files(target)
    assert [target] == list(tmp_path.iterdir())


def test_late_files_that_cannot_be_moved_stay_beside_the_output(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new output is in place, and the replaced folder gets a visible name."""
    write(target, "kept.txt", "summary.json", content=b"old")
    (target / "mine").write_bytes(b"mine")

    def move_late_entries(old: Path, new: Path, without: set[str]) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(atomic_write, "move_late_entries", move_late_entries)
    error = failure_of(lambda: write(target, "kept.csv", "summary.json", overwrite=True))
    assert error is not None
    assert "new" == error.in_place
    assert ["kept.csv", "mine", "summary.json"] == sorted(files(target))
    (saved,) = [path for path in tmp_path.iterdir() if path != target]
    assert str(saved) in str(error)
    assert ["kept.txt", "mine", "summary.json"] == sorted(files(saved))


def test_an_interrupt_while_the_lock_is_taken_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt removes the hidden folder and the lock file in it."""

    def acquire(path: Path) -> None:
        path.touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("nearkin.io.locks.acquire_or_none", acquire)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out", "kept.txt")
    assert [] == list(tmp_path.iterdir())


def test_planted_links_and_folders_are_not_followed(tmp_path: Path) -> None:
    """Symbolic links with hidden names are neither followed nor removed."""
    target, victim = tmp_path / "out", tmp_path / "victim"
    (victim / "old").mkdir(parents=True)
    (victim / "lock").write_bytes(b"")
    (tmp_path / (".out.nearkin-" + "1" * 16)).symlink_to(victim)
    planted = tmp_path / (".out.nearkin-" + "2" * 16)
    planted.mkdir()
    (planted / "lock").symlink_to(tmp_path / "made")
    (tmp_path / ".out.nearkin-mine").mkdir()
    abandoned = tmp_path / (".out.nearkin-" + "3" * 16)
    abandoned.mkdir()
    (abandoned / "new").symlink_to(victim)
    before = files(tmp_path)
    write(target, "kept.txt")
    assert before | {"out/kept.txt": b"new"} == files(tmp_path)
    assert planted.exists()
    assert not abandoned.exists()
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", ["out", "中" * 85])
def test_a_file_is_replaced_whole(tmp_path: Path, name: str) -> None:
    """`replace_file` keeps permissions and links, and an error leaves the old file."""
    target = tmp_path / name
    for content in (b"one", b"two"):
        with replace_file(target) as file:
            file.write(content)
        assert {name: content} == files(tmp_path)
        target.chmod(0o640)
    assert 0o640 == target.stat().st_mode & 0o777

    def interrupted() -> None:
        with replace_file(target) as file:
            file.write(b"three")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert {name: b"two"} == files(tmp_path)
    (tmp_path / "link").symlink_to(name)
    with replace_file(tmp_path / "link") as file:
        file.write(b"four")
    assert (Path(name), b"four") == ((tmp_path / "link").readlink(), target.read_bytes())
    with pytest.raises(FileNotFoundError, match="does not exist; create it"), replace_file(tmp_path / "none" / "file"):
        pass


def test_a_file_whose_folder_cannot_be_synced_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sync is that of the file, the second that of its folder."""
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def run() -> None:
        with replace_file(target) as file:
            file.write(b"new")

    for failing, code, content in ((2, errno.EIO, b"new"), (3, errno.EIO, b"new")):
        with monkeypatch.context() as patch:
            system_calls(patch, failing, code)
            with pytest.raises(OSError, match=os.strerror(code)):
                run()
        assert (b"old" if failing == 2 else content) == target.read_bytes()
        assert [target] == list(tmp_path.iterdir())
    with monkeypatch.context() as patch:
        # File systems that cannot sync folders are tolerated.
        system_calls(patch, 3, errno.EINVAL)
        run()


def test_a_file_system_without_hard_links_gets_copies(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and links of the user are copied; an entry that cannot be copied is an error before the exchange."""
    write(target, "kept.txt", "summary.json", content=b"old")
    (target / "mine").write_bytes(b"mine")
    (target / "link").symlink_to("mine")

    def link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    write(target, "kept.csv", "summary.json", overwrite=True)
    assert b"mine" == (target / "mine").read_bytes()
    assert Path("mine") == (target / "link").readlink()
    os.mkfifo(target / "fifo")
    before = files(target)
    with pytest.raises(OutputError, match="nothing was changed there"):
        write(target, "kept.txt", "summary.json", overwrite=True)
    assert before == files(target)


def test_an_exchange_that_the_system_refuses_is_done_by_two_renames(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer "not supported" is not an error; any other answer is."""
    import ctypes

    def refusing(code: int) -> Callable[[], Callable[[bytes, bytes], int]]:
        def call(left: bytes, right: bytes) -> int:
            ctypes.set_errno(code)
            return -1

        return lambda: call

    write(target, "summary.json", content=b"old")
    monkeypatch.setattr(atomic_write, "_exchange_call", refusing(errno.EINVAL))
    write(target, "kept.txt", "summary.json", overwrite=True)
    assert ["kept.txt", "summary.json"] == sorted(files(target))
    monkeypatch.setattr(atomic_write, "_exchange_call", refusing(errno.EACCES))
    with pytest.raises(OutputError, match="putting the output in place failed"):
        write(target, "kept.csv", "summary.json", overwrite=True)
    assert ["kept.txt", "summary.json"] == sorted(files(target))


def failure_of_a_run(source: Path, target: Path) -> OSError | None:
    """Read a corpus, write half of it and a table, and return the error that ended the run."""
    try:
        with open_corpus(source) as corpus, OutputDir(target) as out:
            rows = sum(len(batch) for batch in corpus.batches())
            corpus.write_kept(range(0, rows, 2), out)
            write_table(out, "clusters", {"id": list(range(rows))}, "jsonl")
            out.write_json("summary.json", {"rows": rows})
    except OSError as error:
        return error
    return None


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If any write fails, the error names the file, and the target does not exist."""
    source = tmp_path / "in.jsonl"
    source.write_bytes(b"".join(b'{"text": "%d"}\n' % i for i in range(1000)))
    monkeypatch.setattr(output_module, "_BUFFER", 512)
    write_now = os.write
    for failing in range(1, 200):
        calls = 0

        def fail(descriptor: int, data: bytes, failing: int = failing) -> int:
            nonlocal calls
            calls += 1
            if calls == failing:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write_now(descriptor, bytes(data)[:3000])

        monkeypatch.setattr(output_module.os, "write", fail)  # type: ignore[attr-defined]
        error = failure_of_a_run(source, tmp_path / "out")
        if error is None:
            break
        assert errno.ENOSPC == error.errno
        assert error.filename in ("kept.jsonl", "clusters.jsonl", "summary.json")
        assert [source] == list(tmp_path.iterdir())
    assert error is None
    assert failing > 5


def test_inputs_are_never_written_over(tmp_path: Path) -> None:
    """A target that contains an input, or is inside an input folder, is refused even with overwrite."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "kept.jsonl").write_text('{"text": "a"}\n')
    with (
        pytest.raises(ParameterError, match=r"kept.jsonl is inside and is never overwritten"),
        OutputDir(folder, overwrite=True, inputs=[folder / "kept.jsonl"]),
    ):
        pass
    with open_corpus(folder) as corpus:
        for inputs in ([folder], corpus.inputs):
            with pytest.raises(ParameterError, match="a folder outside"), OutputDir(folder / "out", inputs=inputs):
                pass
    assert {"kept.jsonl": b'{"text": "a"}\n'} == files(folder)


KILLED = """
import sys, time
from nearkin.io import OutputDir
with OutputDir(sys.argv[1]) as out:
    with out.open("kept.txt") as file:
        file.write(b"half")
        file.flush()
        print("writing", flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_process_leaves_no_half_output(
    target: Path, tmp_path: Path, exists: bool, sign: signal.Signals
) -> None:
    """After a kill the target is unchanged, and the next run removes the hidden folder of the dead process only."""
    if exists:
        target.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert b"writing\n" == process.stdout.readline()
        (staging,) = [path for path in tmp_path.iterdir() if ".nearkin-" in path.name]
        write(tmp_path / "out2", "kept.txt")
        with OutputDir(target):
            assert staging.exists()
        process.send_signal(sign)
        process.wait(30)
    if sign == signal.SIGINT:
        assert not staging.exists()
    assert not (target / "kept.txt").exists()
    if not exists:
        target.rmdir()
    write(target, "kept.txt")
    assert {"kept.txt": b"new"} == files(target)
    assert not staging.exists()
