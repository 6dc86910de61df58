"""nearkin.digests.ssdeep.lists: digests in files."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from command import ROOT, needs_ssdeep
from nearkin.digests.ssdeep.lists import read_digests
from nearkin.errors import InputError, ParameterError
from nearkin.index.digests import is_digest_index


@needs_ssdeep
def test_lists_are_those_of_the_real_program(tmp_path: Path) -> None:
    """Names with quotes, commas, backslashes and bytes that are not UTF-8 are read and written exactly."""
    names = [b'a "quoted" name', b"comma,colon:", b"back\\slash\\", b"\xff\xfe", "名".encode(), b"plain", b'\\"']
    paths = []
    for i, name in enumerate(names):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        path.write_bytes(random.Random(i).randbytes(3000 + i))
        paths.append(path)
    written = subprocess.run(["ssdeep", "-b", *paths], capture_output=True, check=True).stdout
    entries = nk.ssdeep.read_list(written)
    assert names == [os.fsencode(name) for _, name in entries]
    assert nk.ssdeep.hash_files(paths) == [digest for digest, _ in entries]
    assert written == nk.ssdeep.write_list(entries)


@needs_ssdeep
def test_the_real_program_reads_our_lists_and_gives_our_scores(tmp_path: Path) -> None:
    """The matches of the program in our list equal those of the index."""
    data = random.Random(7).randbytes(30_000)
    entries = [(nk.ssdeep.hash(data[i * 900 :] + bytes([i])), f"f{i}") for i in range(12)]
    path = tmp_path / "list"
    path.write_bytes(nk.ssdeep.write_list(entries))
    done = subprocess.run(["ssdeep", "-x", path], capture_output=True, text=True, check=False)
    theirs = {(m[1], m[2], int(m[3])) for m in re.finditer(r":(f\d+) matches .*?:(f\d+) \((\d+)\)", done.stdout)}
    index = nk.DigestIndex()
    index.add([name for _, name in entries], [digest for digest, _ in entries])
    pairs = index.pairs()
    ours = set(zip(pairs.left.tolist(), pairs.right.tolist(), pairs.scores.tolist(), strict=True))
    assert len(ours) > 10
    assert {(*sorted(pair[:2]), pair[2]) for pair in theirs} == ours


def test_a_broken_list_names_its_line() -> None:
    """A missing header, an invalid record and a truncated name are errors."""
    head = b"ssdeep,1.1--blocksize:hash:hash,filename\n"
    for text, message in (
        (b'3::,"x"\n', "line 1: no header"),
        (head + b"what\n", "line 2: no record"),
        (head + b'3::,"cut', "line 2: the name has no closing"),
    ):
        with pytest.raises(InputError, match=message):
            nk.ssdeep.read_list(text)
    # A line that does not start a record continues the name.
    assert [("3::", 'x"\n7::,"y')] == nk.ssdeep.read_list(head + b'3::,"x\\"\n7::,\\"y"')


NAMES = st.binary(min_size=1, max_size=30).filter(lambda name: b"\0" not in name and b"\n" not in name)


@given(st.lists(st.tuples(st.sampled_from(["3::", "3:aaX8v:aV", "96:abc:de"]), NAMES.map(os.fsdecode)), max_size=5))
def test_what_is_written_is_read(entries: list[tuple[str, str]]) -> None:
    """Names of arbitrary bytes round-trip."""
    assert entries == nk.ssdeep.read_list(nk.ssdeep.write_list(entries))


@given(st.binary(max_size=300))
def test_no_bytes_crash_the_readers(content: bytes) -> None:
    """Any bytes give entries, or an error with the line, or one that says that a list is binary."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list"
        for head in (b"", b"ssdeep,1.1--blocksize:hash:hash,filename\n", b"{"):
            path.write_bytes(head + content)
            fault: InputError | None = None
            try:
                entries = list(read_digests(path))
            except InputError as error:
                entries, fault = [], error
            is_binary = b"\0" in content and f"{path}: is binary, no list of digests" in str(fault)
            assert fault is None or is_binary or str(fault).startswith(f"{path}, line ")
            assert all(isinstance(entry.digest, str) and isinstance(entry.name, str) for entry in entries)


def test_each_form_is_told_by_its_first_bytes(tmp_path: Path) -> None:
    """Lists of the program, JSON lines and bare digests are recognised; only JSON has a recipe."""
    path = tmp_path / "known"
    path.write_bytes(nk.ssdeep.write_list([("3:aaX8v:aV", "a"), ("3::", "b")]))
    plain = nk.ssdeep.DigestRecipe()
    assert [("3:aaX8v:aV", "a", plain), ("3::", "b", plain)] == list(read_digests(path))
    rows = [
        {"digest": "3::", "path": "p", "recipe": "space|ssdeep"},
        {"digest": "6::", "path": "q", "recipe": "ssdeep"},
    ]
    path.write_text("\n" + "\n\n".join(map(json.dumps, rows)))
    result = list(read_digests(path))
    assert [("3::", "p", "space|ssdeep"), ("6::", "q", "ssdeep")] == [(*entry[:2], str(entry[2])) for entry in result]
    path.write_bytes(b"3::\r\n\n  6:a:b  \n\xff\n")
    assert [("3::", f"{path}:1"), ("6:a:b", f"{path}:3"), ("\udcff", f"{path}:4")] == [
        entry[:2] for entry in read_digests(path)
    ]
    path.write_bytes(b"")
    assert [] == list(read_digests(str(path)))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"digest": "3::"}', "there is no field 'path'"),
        ('{"digest": "3::", "path": "a", "recipe": "xml|ssdeep"}', "normalize='xml' is not allowed"),
        ("{", "Expecting property name"),
        ('{"a": 1}', "there is no field 'digest'"),
        ("[1]", "it is no object"),
        ("null", "it is no object"),
    ],
)
def test_a_line_that_is_no_entry_is_named(tmp_path: Path, line: str, fault: str) -> None:
    """The error contains the file and the line, and earlier entries are read."""
    path = tmp_path / "known"
    path.write_text('{"digest": "3::", "path": "a", "recipe": "ssdeep"}\n' + line + "\n")
    entries = read_digests(path)
    assert "a" == next(entries).name
    mend = "a line has digest, path and recipe, as `nearkin ssdeep hash --json FILES` prints them"
    with pytest.raises(InputError, match=f"line 2: {fault}.*; {mend}") as caught:
        next(entries)
    assert f"{path}, line 2" == caught.value.place


def test_a_broken_list_names_its_file_and_line(tmp_path: Path) -> None:
    """The error has the line of `read_list` and the file."""
    path = tmp_path / "known"
    path.write_bytes(b"ssdeep,1.1--blocksize:hash:hash,filename\nwhat\n")
    with pytest.raises(InputError, match="line 2: no record") as caught:
        list(read_digests(path))
    assert f"{path}, line 2" == caught.value.place


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of a POSIX system")
def test_what_may_never_end_is_not_opened(tmp_path: Path) -> None:
    """FIFOs, devices and directories are refused; a pipe of a shell is read."""
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path("/dev/zero"), tmp_path):
        with pytest.raises(InputError, match="not a regular file; name a list"):
            list(read_digests(path))
        assert not is_digest_index(path)
    with pytest.raises(FileNotFoundError):
        list(read_digests(tmp_path / "none"))
    read, write = os.pipe()
    os.write(write, b"3:aaX8v:aV\n")
    os.close(write)
    assert ["3:aaX8v:aV"] == [entry.digest for entry in read_digests(f"/dev/fd/{read}")]
    os.close(read)


def test_an_index_is_told_by_its_first_bytes(tmp_path: Path) -> None:
    """Saved indexes of any version are recognised; lists, empty and missing files are not."""
    nk.DigestIndex().save(tmp_path / "index")
    assert is_digest_index(tmp_path / "index")
    for name in ("digests-v1.nkd", "digests-v2.nkd"):
        assert is_digest_index(ROOT / "tests" / "fixtures" / name)
    (tmp_path / "list").write_bytes(nk.ssdeep.write_list([]))
    (tmp_path / "empty").touch()
    assert not is_digest_index(tmp_path / "list")
    assert not is_digest_index(tmp_path / "empty")
    with pytest.raises(FileNotFoundError):
        is_digest_index(tmp_path / "none")


AWKWARD = st.lists(
    st.sampled_from(['"', "\\", ",", "\n", "\r\n", " ", ":", "3::", '3:a:b,"', '"\n', "a", "名", "\udcff", "\t"]),
    max_size=8,
).map("".join)


@given(st.lists(st.tuples(st.sampled_from(["3::", "6:aaX8v:aV", "96:/+:de"]), AWKWARD), max_size=5))
def test_names_with_quotes_commas_and_line_ends_come_back(entries: list[tuple[str, str]]) -> None:
    """A quotation mark alone is escaped, all else stands as it is; from a file as from its content.

    A name is refused if a line end in it is followed by the start of a digest.
    """
    try:
        text = nk.ssdeep.write_list(iter(entries))
    except ParameterError:
        assert any(re.search(r"\n\s*\d+:", name) for _, name in entries)
        return
    records = [digest.encode() + b',"' + os.fsencode(name).replace(b'"', b'\\"') + b'"\n' for digest, name in entries]
    assert b"ssdeep,1.1--blocksize:hash:hash,filename\n" + b"".join(records) == text
    # Quotation marks in names are escaped, even if the name continues like a record.
    assert entries == nk.ssdeep.read_list(text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list"
        path.write_bytes(text)
        assert entries == nk.ssdeep.read_list(path) == nk.ssdeep.read_list(str(path))
        assert [(*entry, nk.ssdeep.DigestRecipe()) for entry in entries] == list(read_digests(path))


@given(
    st.lists(st.tuples(st.sampled_from(["3::", "6:a:b", "x"]), AWKWARD, st.sampled_from(["ssdeep", "space|ssdeep"])))
)
def test_lists_in_json_come_back(entries: list[tuple[str, str, str]]) -> None:
    """Any names round-trip with their recipes; blank lines are skipped."""
    rows = [json.dumps({"digest": digest, "path": name, "recipe": recipe}) for digest, name, recipe in entries]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list"
        path.write_text("\n \r\n".join(rows), encoding="utf-8")
        result = [(entry.digest, entry.name, str(entry.recipe)) for entry in read_digests(path)]
    assert entries == result


def test_names_may_be_paths(tmp_path: Path) -> None:
    """Paths are encoded by the file system encoding; older minor versions are read, other programs' lists are not."""
    assert [("3::", os.fspath(tmp_path))] == nk.ssdeep.read_list(nk.ssdeep.write_list([("3::", tmp_path)]))
    assert [("3::", "a")] == nk.ssdeep.read_list(b'ssdeep,1.0--blocksize:hash:hash,filename\r\n3::,"a"\r\n')
    for text in (b"", b"ssdeep,2.0--blocksize:hash:hash,filename\n", b'\n3::,"a"\n'):
        with pytest.raises(InputError, match=r"^line 1: no header; a list begins with `ssdeep,1\.1--blocksize"):
            nk.ssdeep.read_list(text)
    with pytest.raises(FileNotFoundError):
        nk.ssdeep.read_list(tmp_path / "none")


@pytest.mark.parametrize(("line", "number"), [(b"3::,a\n", 2), (b'\n3::,"a"\n', 2), (b'"a"', 2)])
def test_a_line_that_is_no_record_is_numbered(line: bytes, number: int) -> None:
    """Lines are counted from the header, which is line 1."""
    head = b"ssdeep,1.1--blocksize:hash:hash,filename\n"
    with pytest.raises(InputError) as caught:
        nk.ssdeep.read_list(head + line)
    assert f'line {number}: no record; one reads `size:part:part,"name"`' == str(caught.value)


@given(st.text('a,"\n:3\\', max_size=12), st.text('a,"\n:3\\', max_size=12))
def test_a_name_comes_back_or_is_refused(name: str, other: str) -> None:
    """Line ends in names round-trip; a name that reads as two entries is refused."""
    entries = [("3:aaX8v:aV", name), ("3::", other)]
    try:
        text = nk.ssdeep.write_list(entries)
    except ParameterError:
        # Reference for the rule: a line of the name starts like a record.
        assert any(re.search(r"\n3+:[a3]*:[a3]*,$", refused) for refused in (name, other))
    else:
        assert entries == nk.ssdeep.read_list(text)


@pytest.mark.parametrize("name", ["a\n3:aaX8v:aV,", "\n3::,"])
def test_a_name_that_reads_as_two_entries_is_refused(name: str) -> None:
    """The format has no escape for such names; without the second entry the name is written."""
    with pytest.raises(ParameterError) as refused:
        nk.ssdeep.write_list([("3::", "plain"), ("3::", name)])
    allowed = "names without an entry of a list in them; JSON lines hold any name"
    assert f"name={name!a} is not allowed; use {allowed}" == str(refused.value)
    assert [("3::", name[:-1])] == nk.ssdeep.read_list(nk.ssdeep.write_list([("3::", name[:-1])]))
