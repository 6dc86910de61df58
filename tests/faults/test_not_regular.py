"""Named pipes, sockets, devices and folders instead of files: an immediate error that names the kind of file.

A run over a folder continues after unreadable files and names that cannot be ids.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from command import call
from nearkin.errors import InputError
from nearkin.io import OutputDir, open_corpus

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes")


def pipe(folder: Path) -> Path:
    """Create a named pipe without a writer."""
    os.mkfifo(folder / "pipe.jsonl")
    return folder / "pipe.jsonl"


def listening(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a socket. Names of sockets must be short, so it is bound from within the folder."""
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("socket.jsonl")
    return folder / "socket.jsonl"


OPENERS: dict[str, Callable[[Path], object]] = {
    "hamming": nk.HammingIndex.open,
    "bands": nk.BandIndex.open,
    "digests": nk.DigestIndex.open,
    "vectors": nk.LSHIndex.open,
    "family": nk.families.load,
    "idf": nk.Idf.load,
    "corpus": lambda path: open_corpus(path),
    "digest": lambda path: nk.ssdeep.hash(path),
}


@pytest.mark.parametrize("name", OPENERS)
def test_what_is_no_file_is_refused_at_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the kind of file. Opening a pipe would block, and a device never ends."""
    paths = {"pipe": pipe(tmp_path), "socket": listening(tmp_path, monkeypatch), "device": Path("/dev/zero")}
    for kind, path in paths.items():
        with pytest.raises(InputError, match=kind) as error:
            OPENERS[name](path)
        assert str(path) in str(error.value)
    if name != "corpus":
        with pytest.raises(InputError, match=r"folder|directory"):
            OPENERS[name](tmp_path)


def saver(name: str, folder: Path) -> Callable[[Path], object]:
    """Return a function that saves a file or folder of this kind to a path."""
    match name:
        case "hamming":
            return nk.HammingIndex(64).save
        case "bands":
            return nk.BandIndex(8, num_bands=4, num_rows=2).save
        case "digests":
            return nk.DigestIndex().save
        case "vectors":
            return nk.LSHIndex(nk.families.PStable(width=4.0, seed=1), 1, hashes_per_table=1).fit(np.eye(2)).save
        case "family":
            return nk.families.Hyperplane(8, seed=1).fit(np.eye(2)).save
        case "idf":
            return nk.Idf.fit(["one text"]).save
        case "store":
            return nk.Store.create
        case "backup":
            return nk.Store.create(folder / "store").backup
        case _:
            return OutputDir


SAVERS = ("hamming", "bands", "digests", "vectors", "family", "idf", "store", "backup", "output")


IMPOSSIBLE = pytest.mark.parametrize(
    ("sign", "noun"), [("\0", "NUL byte"), ("\ud800", "lone surrogate")], ids=["nul", "surrogate"]
)


@IMPOSSIBLE
@pytest.mark.parametrize("name", SAVERS)
def test_no_saver_takes_an_impossible_name(name: str, sign: str, noun: str, tmp_path: Path) -> None:
    """The error shows the name with the character escaped, and nothing is written."""
    save = saver(name, tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match=rf"new\\(x00|ud800)name: .*{noun}") as error:
        save(tmp_path / f"new{sign}name")
    assert sign not in str(error.value)
    assert error.value.place in str(error.value)
    assert before == sorted(tmp_path.iterdir())


@IMPOSSIBLE
@pytest.mark.parametrize("name", [*OPENERS, "store"])
def test_no_opener_takes_an_impossible_name(name: str, sign: str, noun: str, tmp_path: Path) -> None:
    """The same error is raised before any file is accessed."""
    opener = {**OPENERS, "store": nk.Store.open}[name]
    with pytest.raises(InputError):
        opener(tmp_path / f"old{sign}name")


@pytest.mark.skipif(sys.platform != "linux", reason="names of other systems are characters")
@pytest.mark.parametrize("name", [name for name in SAVERS if name != "output"])
def test_names_need_not_be_utf8(name: str, tmp_path: Path) -> None:
    """A path with bytes that are not UTF-8 is saved and opened as any other."""
    path = tmp_path / os.fsdecode(b"na\xffme") / os.fsdecode(b"\xfe.nk")
    path.parent.mkdir()
    saver(name, tmp_path)(path)
    assert [os.fsencode(path)] == [*map(os.fsencode, path.parent.iterdir())]
    if name not in ("store", "backup"):
        assert OPENERS[name](path) is not None
        return
    with nk.Store.open(path) as store:
        store.check_and_add(["a text", "another one"], ["a", "b"])
        store.merge()
        store.verify()
        assert 2 == len(store)


@pytest.mark.parametrize(
    "command",
    [["text", "compare", "{}", "{}"], ["index", "info", "{}"], ["dedup", "{}", "-o", "out"], ["ssdeep", "hash", "{}"]],
)
def test_commands_refuse_a_named_pipe(command: list[str], tmp_path: Path) -> None:
    """The exit code is 1, with a message."""
    path = pipe(tmp_path)
    done = call(*(part.format(path) for part in command))
    assert (1, True) == (done.code, "pipe" in done.message)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no names of descriptors")
def test_process_substitution_is_read(tmp_path: Path) -> None:
    """A shell passes the pipe of another command as /dev/fd/N, which is already open."""
    lines = "".join(json.dumps({"text": f"text number {i} of some"}) + "\n" for i in range(3))
    (tmp_path / "rows").write_text(lines)
    program = f"{shlex.quote(sys.executable)} -m nearkin"
    rows = shlex.quote(str(tmp_path / "rows"))
    for script in (f"{program} text hash <(cat {rows})", f"{program} text compare --files <(cat {rows}) {rows}"):
        done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, timeout=300)
        assert (0, b"") == (done.returncode, done.stderr)
        assert 3 <= len(done.stdout.splitlines())


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Return a folder with two good files, one with a line feed in its name, one whose name is not UTF-8, and an
    unreadable one.
    """
    folder = tmp_path / "mixed"
    folder.mkdir()
    text = " ".join(f"word{i}" for i in range(900))
    for name in (b"a.txt", b"b.txt", b"c\x1b[2J\nd.txt", b"e\xff.txt"):
        (folder / os.fsdecode(name)).write_text(text + os.fsdecode(name).encode("utf-8", "replace").decode())
    # Reading unmapped memory of a process fails even for root.
    (folder / "f.txt").symlink_to("/proc/self/mem")
    return folder


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails when it is read")
def test_a_folder_of_texts_goes_on_over_bad_files(mixed: Path, tmp_path: Path) -> None:
    """They are counted and reported with escaped names; --strict stops at the first."""
    done = call("dedup", mixed, "--format", "files", "-o", tmp_path / "out", "--json", "--max-malformed", "60%")
    assert 0 == done.code, done.err
    summary = done.json()
    assert (2, 3) == (summary["documents"], summary["malformed"])
    assert all(record.isprintable() for record in summary["malformed_first"])
    assert any(r"c\x1b[2J\nd.txt" in record for record in summary["malformed_first"])
    strict = call("dedup", mixed, "--format", "files", "-o", tmp_path / "strict", "--strict")
    assert (1, False) == (strict.code, (tmp_path / "strict").exists())


def test_a_folder_of_files_goes_on_over_bad_names(mixed: Path, tmp_path: Path) -> None:
    """Fuzzy digests accept any name, and lists store it exactly."""
    done = call("dedup", mixed, "--family", "ssdeep", "-o", tmp_path / "out")
    assert done.code in (0, 1), done.err
    lists = (tmp_path / "out" / "kept.nul").read_bytes() + (tmp_path / "out" / "removed.nul").read_bytes()
    names = {os.path.basename(name) for name in lists.split(b"\0") if name}  # noqa: PTH119
    assert {b"a.txt", b"b.txt", b"c\x1b[2J\nd.txt", b"e\xff.txt"} == names - {b"f.txt"}
    for options in ([], ["--json"]):
        hashed = call("ssdeep", "hash", "-r", mixed, *options)
        assert (0, "") == (hashed.code, hashed.err)
    assert 4 == len(call("ssdeep", "hash", "-r", mixed, "--json").objects())
