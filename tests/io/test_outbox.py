"""nearkin.io.atomic_write: two-phase output commit after every interruption."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from nearkin.errors import NearkinError, OutputError
from nearkin.io import OutputDir, atomic_write, locks
from nearkin.io.atomic_write import (
    PREPARED,
    SUMMARY,
    PreparedOutput,
    StagedOutput,
    exchange,
    is_pending,
    link_entries,
    recover,
    summary_digest,
    sync_folder,
)


def database(path: Path, *given: Path) -> Path:
    """Create a database whose table contains these hidden folders."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE outputs (prepared TEXT)")
        connection.executemany("INSERT INTO outputs VALUES (?)", [(str(folder),) for folder in given])
    return path


def written(target: Path, summary: str) -> StagedOutput:
    """Write a new folder next to its target."""
    staged = StagedOutput(target)
    staged.begin()
    staged.new.mkdir()
    (staged.new / SUMMARY).write_text(summary)
    (staged.new / "kept.jsonl").write_text(summary)
    return staged


def died(staged: StagedOutput) -> None:
    """Leave everything as a killed process does."""
    staged._release()


def given(staged: StagedOutput, path: Path) -> Path:
    """Prepare the folder and commit its row; return the hidden folder."""
    folder = staged.prepare(path, ["kept.jsonl", SUMMARY])
    database(path, folder)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("before", [None, "first"])
def test_what_was_promised_and_given_takes_its_place_after_a_crash(
    target: Path, tmp_path: Path, before: str | None
) -> None:
    """The next writer publishes the folder in place of the run that it replaces, and keeps other files."""
    if before is not None:
        target.mkdir()
        (target / SUMMARY).write_text(before)
        (target / "notes").write_text("mine")
    staged = written(target, "second")
    given(staged, tmp_path / "log")
    died(staged)
    recover(target)
    assert "second" == (target / SUMMARY).read_text()
    assert (before is not None) == (target / "notes").exists()
    assert sorted(["log", "out"]) == names(tmp_path)


def test_what_was_promised_and_not_given_goes(target: Path, tmp_path: Path) -> None:
    """If the transaction was not committed, the hidden folder is removed."""
    staged = written(target, "new")
    staged.prepare(database(tmp_path / "log"), [SUMMARY])
    died(staged)
    recover(target)
    assert ["log"] == names(tmp_path)


def test_a_promise_that_was_not_finished_is_none(target: Path, tmp_path: Path) -> None:
    """A record that a power failure truncated is ignored, because no row refers to it."""
    for content in ("", '{"database": "x"', '{"database": "x"}', "[]", '{"other": 1}'):
        staged = written(target, "new")
        (staged.new.parent / PREPARED).write_text(content)
        assert PreparedOutput.read(staged.new.parent) is None
        died(staged)
        recover(target)
        assert [] == names(tmp_path)


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"no database at all, " * 20)])
def test_a_database_that_cannot_be_asked_leaves_the_output(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    """If the database is missing or damaged, nothing is changed, and the message contains both remedies."""
    target, log = tmp_path / "out", tmp_path / "store" / "log"
    log.parent.mkdir()
    staged = written(target, "new")
    folder = given(staged, log)
    harm(log)
    assert is_pending(folder, target)
    died(staged)
    with pytest.raises(OutputError, match=r"cannot be queried .*; restore it, or remove this folder") as caught:
        recover(target)
    assert (str(folder), "old") == (caught.value.place, caught.value.in_place)
    assert (folder / "new" / SUMMARY).exists()
    assert not target.exists()


def test_something_else_in_the_place_of_promised_output(target: Path, tmp_path: Path) -> None:
    """Both folders are kept, and the message contains both paths."""
    staged = written(target, "new")
    folder = given(staged, tmp_path / "log")
    died(staged)
    target.mkdir()
    (target / SUMMARY).write_text("of another run")
    with pytest.raises(OutputError, match="something else was created here") as caught:
        recover(target)
    assert "other" == caught.value.in_place
    assert ("of another run", "new") == ((target / SUMMARY).read_text(), (folder / "new" / SUMMARY).read_text())
    # An empty folder may be replaced.
    (target / SUMMARY).unlink()
    recover(target)
    assert "new" == (target / SUMMARY).read_text()


def test_output_that_is_in_its_place_is_not_put_there_again(target: Path, tmp_path: Path) -> None:
    """If the process died after the exchange, only the late entries of the old folder are moved."""
    target.mkdir()
    (target / SUMMARY).write_text("old")
    staged = written(target, "new")
    folder = given(staged, tmp_path / "log")
    target.rename(folder / "old")
    (folder / "new").rename(target)
    (folder / "old" / "late").write_text("written meanwhile")
    assert not is_pending(folder, target)
    died(staged)
    recover(target)
    assert {SUMMARY: "new", "kept.jsonl": "new", "late": "written meanwhile"} == {
        path.name: path.read_text() for path in target.iterdir()
    }
    assert sorted(["log", "out"]) == names(tmp_path)


def test_a_folder_that_was_moved_away_comes_back(target: Path, tmp_path: Path) -> None:
    """If the process died between two renames, the old folder is restored unless a new one exists."""
    staged = written(target, "new")
    old = staged.new.with_name("old")
    old.mkdir()
    (old / SUMMARY).write_text("old")
    died(staged)
    target.mkdir()
    with pytest.raises(OutputError, match="another folder was created since; move one of them away"):
        recover(target)
    assert "old" == (old / SUMMARY).read_text()
    target.rmdir()
    recover(target)
    assert (["out"], "old") == (names(tmp_path), (target / SUMMARY).read_text())


def test_what_is_being_written_is_left_alone(target: Path, tmp_path: Path) -> None:
    """Hidden folders of living processes, and folders with similar names, are not touched."""
    staged = written(target, "new")
    alike = staged.new.parent.with_name(staged.new.parent.name[:-1] + "x")
    alike.mkdir()
    recover(target)
    assert staged.new.exists()
    assert alike.exists()
    staged.end()
    assert [alike.name] == names(tmp_path)
    recover(tmp_path / "nowhere" / "out")


def test_an_end_without_a_beginning(tmp_path: Path) -> None:
    """Calls in the wrong order raise errors and remove nothing."""
    staged = StagedOutput(tmp_path / "out")
    staged.end()
    with pytest.raises(OutputError, match="nothing is being written here"):
        _ = staged.new
    staged.begin()
    with pytest.raises(OutputError, match="no output is prepared"):
        staged.publish()
    staged.end()
    assert [] == names(tmp_path)


def test_a_system_that_cannot_exchange_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the system call, `exchange` returns False. With it, failures raise OSError."""
    left, right = tmp_path / "a", tmp_path / "b"
    left.write_text("a")
    monkeypatch.setattr(atomic_write, "_exchange_call", lambda: None)
    assert not exchange(left, right)
    monkeypatch.undo()
    if atomic_write._exchange_call() is not None:
        with pytest.raises(FileNotFoundError):
            exchange(left, right)
    assert "a" == left.read_text()


def test_links_are_carried_as_links(tmp_path: Path) -> None:
    """Symbolic links remain links, files become hard links, and excluded names are skipped."""
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "below").mkdir(parents=True)
    new.mkdir()
    (old / "below" / "notes").write_text("mine")
    (old / "gone").symlink_to("nowhere")
    (old / SUMMARY).write_text("old")
    (new / SUMMARY).write_text("new")
    link_entries(old, new, [SUMMARY])
    assert ("mine", "new", "nowhere") == (
        (new / "below" / "notes").read_text(),
        (new / SUMMARY).read_text(),
        str((new / "gone").readlink()),
    )
    assert (old / "below" / "notes").samefile(new / "below" / "notes")


def test_the_promise_says_what_it_replaces(target: Path, tmp_path: Path) -> None:
    """The record contains the digests of both summaries; a target may have none."""
    staged = written(target, "new")
    folder = staged.prepare(tmp_path / "log", {"b", "a"})
    prepared = PreparedOutput.read(folder)
    assert prepared is not None
    assert (str(tmp_path / "log"), None, ["a", "b"]) == (prepared.database, prepared.replaced, prepared.files)
    assert not prepared.is_published(target)
    assert not prepared.may_replace(target)
    assert json.loads((folder / PREPARED).read_text())["summary"] == summary_digest(staged.new)
    target.write_text("a file, which has no summary")
    assert summary_digest(target) is None
    target.unlink()
    staged.end()


def test_an_output_is_promised_whole_and_put_when_it_was_given(tmp_path: Path) -> None:
    """Nothing is visible before `commit`, and nothing hidden is left after it."""
    target, log = tmp_path / "out", tmp_path / "log"
    with OutputDir(target) as out:
        with out.open("kept.jsonl") as file:
            file.write(b"one\n")
        with pytest.raises(NearkinError, match=r"a prepared output must have a summary.json; write it first"):
            out.prepare(log)
        out.write_json(SUMMARY, {})
        published, prepared = out.prepare(log)
        assert (target, False) == (published, target.exists())
        database(log, prepared)
        out.commit()
        assert ["kept.jsonl", SUMMARY] == names(target)
        with pytest.raises(NearkinError, match="the output is not open"):
            out.restart()
    assert ["log", "out"] == names(tmp_path)
    with OutputDir(tmp_path / "other") as out:
        out.write_json(SUMMARY, {})
        out.commit()
        with pytest.raises(NearkinError, match="the output is in place already; open a new one"):
            out.restart()
    assert [SUMMARY] == names(tmp_path / "other")


def test_an_output_that_begins_again_forgets_its_promise(tmp_path: Path) -> None:
    """After a conflict between two writers, `restart` discards all files and frees their names."""
    target, log = tmp_path / "out", database(tmp_path / "log")
    with OutputDir(target) as out:
        with out.open("kept.jsonl") as file:
            file.write(b"first\n")
        out.write_json(SUMMARY, {})
        prepared = out.prepare(log)[1]
        out.restart()
        assert PreparedOutput.read(prepared) is None
        with out.open("kept.jsonl") as file:
            file.write(b"second\n")
        out.write_json(SUMMARY, {})
    assert "second\n" == (target / "kept.jsonl").read_text()
    assert ["log", "out"] == names(tmp_path)


def test_a_promise_that_cannot_be_written_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk while preparing the output leaves the target unchanged."""

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with OutputDir(tmp_path / "out") as out:
        out.write_json(SUMMARY, {})
        monkeypatch.setattr(PreparedOutput, "save", refuse)
        with pytest.raises(OutputError, match="nothing was changed there") as caught:
            out.prepare(tmp_path / "log")
        assert (28, "old") == (caught.value.errno, caught.value.in_place)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_sync_folders_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """EINVAL and ENOTSUP are tolerated for folders; the same error for a file is raised."""
    fsync = os.fsync

    def refuse(descriptor: int, *, folders: bool) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode) == folders:
            raise OSError(code, os.strerror(code))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", partial(refuse, folders=True))
    sync_folder(tmp_path)
    with OutputDir(tmp_path / "out") as out:
        out.write_json(SUMMARY, {})
    assert [SUMMARY] == names(tmp_path / "out")
    monkeypatch.setattr(os, "fsync", partial(refuse, folders=False))
    with pytest.raises(OutputError) as caught, OutputDir(tmp_path / "other") as out:
        out.write_json(SUMMARY, {})
    assert (code, "old") == (caught.value.errno, caught.value.in_place)


def test_a_folder_whose_disk_fails_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other error of the sync is raised."""

    def refuse(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync_folder(tmp_path)


def test_a_hidden_folder_that_vanishes_before_it_is_locked_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may take an unlocked folder for an abandoned one. A missing parent is still an error."""
    acquire = locks.acquire_or_none
    removed: list[Path] = []

    def remove_first(path: Path) -> object:
        if not removed:
            path.parent.rmdir()
            removed.append(path.parent)
            raise FileNotFoundError(path)
        return acquire(path)

    monkeypatch.setattr(locks, "acquire_or_none", remove_first)
    staged = atomic_write.StagedOutput(tmp_path / "out")
    staged.begin()
    assert removed[0] != staged.new.parent
    assert staged.new.parent.is_dir()
    staged.end()
    assert [] == list(tmp_path.iterdir())
    missing = atomic_write.StagedOutput(tmp_path / "missing" / "out")
    with pytest.raises(FileNotFoundError):
        missing.begin()
