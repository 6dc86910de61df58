"""Fuzzy digests and their scores: nearkin.ssdeep."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import itertools
import json
import mmap
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError, MismatchError, ParameterError

FLAGS: dict[str, dict[str, bool]] = {
    "ssdeep": {},
    "elimseq": {"eliminate_runs": True},
    "notrunc": {"truncate": False},
    "elimseq_notrunc": {"eliminate_runs": True, "truncate": False},
}


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module


@pytest.fixture(scope="module")
def vectors(shared: Path) -> dict[str, Any]:
    """Digests and scores that the real program and library gave."""
    found: dict[str, Any] = json.loads((shared / "vectors" / "ssdeep_public.json").read_text())
    return found


@pytest.fixture(scope="module")
def inputs(shared: Path, vectors: dict[str, Any]) -> list[tuple[dict[str, Any], bytes]]:
    """Each entry of the vectors with its input; files of a machine that this one does not have are left out."""
    build = _module(shared / "vectors" / "gen_vectors.py").build
    found = []
    for entry in vectors["files"]:
        data = build(entry["recipe"])
        if data is None or hashlib.sha256(data).hexdigest() != entry["sha256"]:
            assert "file" == entry["recipe"]["k"], entry["id"]
            continue
        found.append((entry, data))
    assert len(found) >= 240
    return found


def test_digests_equal_the_real_librarys_under_every_flag(inputs: list[tuple[dict[str, Any], bytes]]) -> None:
    """Every public vector, four flag combinations."""
    for entry, data in inputs:
        for name, flags in FLAGS.items():
            assert entry[name] == nk.ssdeep.hash(data, **flags), (entry["id"], name)  # type: ignore[arg-type]


def test_streaming_in_odd_chunks_equals_the_whole(inputs: list[tuple[dict[str, Any], bytes]]) -> None:
    """However the input is cut, the digest is the same."""
    for (entry, data), size in zip(inputs, itertools.cycle([4097, 1000, 65536, 8191, 333]), strict=False):
        hasher = nk.ssdeep.Hasher()
        sizes = [1, 2, 3, 5, 7]
        at = 0
        while at < len(data):
            step = sizes.pop() if sizes else size
            hasher.update(data[at : at + step])
            at += step
        assert len(data) == hasher.total
        for name, flags in FLAGS.items():
            assert entry[name] == hasher.digest(**flags), (entry["id"], name)


def test_scores_equal_the_real_librarys(vectors: dict[str, Any]) -> None:
    """Every public pair, both ways round: well-formed ones strictly, all of them leniently."""
    for pair in vectors["pairs"]:
        for a, b in ((pair["a"], pair["b"]), (pair["b"], pair["a"])):
            if pair["valid"]:
                assert pair["score"] == nk.ssdeep.compare(a, b), pair
            else:
                with pytest.raises(InputError):
                    nk.ssdeep.compare(a, b)
            if -1 == pair["score"]:
                with pytest.raises(InputError):
                    nk.ssdeep.compare(a, b, strict=False)
            else:
                assert pair["score"] == nk.ssdeep.compare(a, b, strict=False), pair


def test_batches_score_as_pairs_do(vectors: dict[str, Any]) -> None:
    """compare_many and matrix give what compare gives."""
    digests = [entry["ssdeep"] for entry in vectors["files"]][::3]
    expected = np.array([[nk.ssdeep.compare(a, b) for b in digests] for a in digests], dtype=np.uint8)
    assert np.array_equal(expected, nk.ssdeep.matrix(digests))
    assert np.array_equal(expected[:9, 3:70], nk.ssdeep.matrix(digests[:9], digests[3:70]))
    for a, row in zip(digests, expected, strict=True):
        assert np.array_equal(row, nk.ssdeep.compare_many(a, digests))
    assert (0, 3) == nk.ssdeep.matrix([], digests[:3]).shape
    assert (3, 0) == nk.ssdeep.matrix(digests[:3], []).shape


def test_every_kind_of_input_gives_the_same_digest(tmp_path: Path) -> None:
    """Bytes, buffers, arrays, paths, files and streams."""
    data = bytes(np.random.default_rng(0).integers(0, 256, 70_001, dtype=np.uint8))
    path = tmp_path / "data"
    path.write_bytes(data)
    expected = nk.ssdeep.hash(data)
    array = np.frombuffer(data, dtype=np.uint8)
    for same in (bytearray(data), memoryview(data), array, path, str(path), io.BytesIO(data)):
        assert expected == nk.ssdeep.hash(same), type(same)
    assert expected == nk.ssdeep.hash(np.frombuffer(data[:70_000] + data[70_000:], dtype=np.uint8).copy())
    assert nk.ssdeep.hash(data[:70_000]) == nk.ssdeep.hash(array[:70_000].view(np.uint32).reshape(2, -1))
    with path.open("rb") as file:
        assert expected == nk.ssdeep.hash(file)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert expected == nk.ssdeep.hash(mapped)
    assert "3::" == nk.ssdeep.hash(b"") == nk.ssdeep.hash(bytearray()) == nk.ssdeep.hash(io.BytesIO())


def test_a_file_longer_than_the_buffer_is_read_twice(tmp_path: Path) -> None:
    """Files beyond 4 MiB go through in buffers and give the digest of the whole."""
    generator = np.random.default_rng(1)
    for size in ((1 << 22) - 1, 1 << 22, (1 << 22) + 1, (1 << 23) + 5):
        data = generator.bytes(size)
        path = tmp_path / "data"
        path.write_bytes(data)
        assert nk.ssdeep.hash(data) == nk.ssdeep.hash(path)


def test_a_copied_hasher_goes_on_by_itself() -> None:
    """The copy and the original don't disturb each other."""
    first = nk.ssdeep.Hasher()
    first.update(b"one " * 900)
    second = first.copy()
    first.update(b"two")
    assert nk.ssdeep.hash(b"one " * 900) == second.digest()
    assert nk.ssdeep.hash(b"one " * 900 + b"two") == first.digest()


def test_what_is_no_regular_file_is_refused_without_being_opened(tmp_path: Path) -> None:
    """A FIFO would block for ever, a device never ends, /proc hides its lengths."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    found = nk.ssdeep.hash_files([fifo, tmp_path, "/dev/zero", tmp_path / "none"], on_error="return")
    assert [InputError, InputError, InputError, FileNotFoundError] == [type(error) for error in found]
    assert "not a regular file" in str(found[0])
    with pytest.raises(InputError, match="a directory, not a regular file"):
        nk.ssdeep.hash(tmp_path)
    if Path("/proc/self/status").exists():
        with pytest.raises(InputError, match="hides its length"):
            nk.ssdeep.hash("/proc/self/status")


def test_many_files_keep_their_order(tmp_path: Path) -> None:
    """One digest a path, whatever the number of threads."""
    paths = []
    for i in range(50):
        path = tmp_path / f"{i}"
        path.write_bytes(bytes(np.random.default_rng(i).integers(0, 256, 500 * i, dtype=np.uint8)))
        paths.append(path)
    assert [nk.ssdeep.hash(path.read_bytes()) for path in paths] == nk.ssdeep.hash_files(paths)


def test_wrong_arguments_say_what_is_allowed() -> None:
    """Numbers, gaps, single digests for lists and words for options are named in the error."""
    with pytest.raises(ParameterError, match="bytes or another buffer, a path, or a binary file"):
        nk.ssdeep.hash(3)
    with pytest.raises(ParameterError, match="copy it with bytes"):
        nk.ssdeep.hash(np.arange(10, dtype=np.uint8)[::2])
    with pytest.raises(ParameterError, match="bytes or another buffer"):
        nk.ssdeep.Hasher().update("text")
    with pytest.raises(ParameterError, match="on_error"):
        nk.ssdeep.hash_files([], on_error="ignore")
    with pytest.raises(TypeError, match="a digest is a str or bytes, not int"):
        nk.ssdeep.compare(1, "3::")  # type: ignore[arg-type]  # the point
    with pytest.raises(TypeError, match="pass a list"):
        nk.ssdeep.compare_many("3::", "3::")
    with pytest.raises(InputError, match=r'row 1, digest "7:a:b": the block size is not'):
        nk.ssdeep.matrix(["3::", "7:a:b"])
    with pytest.raises(InputError, match="outside of A-Z"):
        nk.ssdeep.compare("3:\ud800:", "3::")


def test_explanations_add_up_to_the_score(vectors: dict[str, Any]) -> None:
    """The best of the compared parts, or 100 for equal digests, is the score."""
    capped = unlike = 0
    for pair in vectors["pairs"]:
        if not pair["valid"]:
            continue
        why = nk.ssdeep.explain(pair["a"], pair["b"])
        assert pair["score"] == why.score
        assert pair["score"] == (100 if why.equal else max((part.score for part in why.compared), default=0))
        assert all((part.gram is None) == (0 == part.uncapped) for part in why.compared)
        capped += "capped from" in str(why)
        unlike += not why.comparable
    assert capped > 20
    assert unlike > 20


def test_runs_are_counted_in_explanations() -> None:
    """Characters beyond the third of a kind are said to be left out."""
    why = nk.ssdeep.explain("96:aaaaaabcdefgh:", "96:aaabcdefgh:bbbb")
    assert (3, 1) == why.runs_removed
    assert "left out: 3 and 1" in str(why)


needs_program = pytest.mark.skipif(shutil.which("ssdeep") is None, reason="the program ssdeep is not installed")


@needs_program
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=400),
            st.builds(lambda unit, n: unit * n, st.binary(min_size=1, max_size=40), st.integers(1, 400)),
            st.builds(lambda seed, n: random.Random(seed).randbytes(n), st.integers(), st.integers(0, 40_000)),
        ),
        max_size=4,
    )
)
def test_any_file_gets_the_digest_of_the_real_program(tmp_path: Path, pieces: list[bytes]) -> None:
    """Files of random, repeated and constant stretches, hashed by the program itself."""
    path = tmp_path / "input"
    path.write_bytes(b"".join(pieces))
    done = subprocess.run(["ssdeep", "-b", path], capture_output=True, check=True)
    assert [(nk.ssdeep.hash(path), "input")] == nk.ssdeep.read_list(done.stdout)


@needs_program
def test_lists_are_those_of_the_real_program(tmp_path: Path) -> None:
    """Names with quotation marks, commas, backslashes and bytes that are not UTF-8: read and written exactly."""
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


@needs_program
def test_the_real_program_reads_our_lists_and_gives_our_scores(tmp_path: Path) -> None:
    """Its matches of our list against itself are those of the index."""
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
    """No header, no record, a name cut off."""
    head = b"ssdeep,1.1--blocksize:hash:hash,filename\n"
    for text, message in (
        (b'3::,"x"\n', "line 1: no header"),
        (head + b"what\n", "line 2: no record"),
        (head + b'3::,"cut', "line 2: the name has no closing"),
    ):
        with pytest.raises(InputError, match=message):
            nk.ssdeep.read_list(text)
    # What does not begin a record goes on with the name.
    assert [("3::", 'x"\n7::,"y')] == nk.ssdeep.read_list(head + b'3::,"x\\"\n7::,\\"y"')


def test_short_inputs_are_measured_by_their_grams() -> None:
    """Jaccard of 4-gram sets below the limit, the score of digests from it on; the method is named."""
    generator = random.Random(8)
    for _ in range(200):
        a = bytes(generator.choices(b"abc", k=generator.randint(0, 30)))
        b = bytes(generator.choices(b"abc", k=generator.randint(0, 30)))
        sets = [{x[i : i + 4] for i in range(max(1, len(x) - 3))} if x else set() for x in (a, b)]
        union = len(sets[0] | sets[1])
        expected = 100 * len(sets[0] & sets[1]) // union if union else 100
        assert nk.ssdeep.Likeness("jaccard:byte4", expected) == nk.ssdeep.likeness(a, b)
    long = generator.randbytes(4096)
    assert nk.ssdeep.Likeness("ssdeep", 100) == nk.ssdeep.likeness(long, bytearray(long))  # type: ignore[arg-type]
    assert "jaccard:byte4" == nk.ssdeep.likeness(long, long[1:]).method


def test_normalisation_happens_on_request_and_keeps_bytes() -> None:
    """The same words under other markup, line ends and spaces get one digest; bytes that are not UTF-8 stay."""
    words = [f"word{i}" for i in range(3000)]
    plain = "\n".join(words).encode()
    page = ("<html><style>p{}</style><body>" + "".join(f"<p>{word}</p>\r\n" for word in words)).encode()
    assert nk.ssdeep.hash(plain) != nk.ssdeep.hash(page)
    expected = nk.ssdeep.hash(" ".join(words).encode())
    assert expected == nk.ssdeep.hash(plain, normalize="space") == nk.ssdeep.hash(page, normalize=["space", "html"])
    assert expected == nk.ssdeep.hash(io.BytesIO(page), normalize=("html", "space"))
    assert b"a\xff\nb" == nk.ssdeep.normalize(b"a\xff\r\nb", "lines")
    assert b"\xff x \xed\xa0\x80 \xef\xbf\xbd" == nk.ssdeep.normalize(b"\xff <b>x</b> \xed\xa0\x80 &#xd800;", "html")
    with pytest.raises(ParameterError, match="any of 'html'"):
        nk.ssdeep.hash(b"", normalize="xml")


MARKUP = [
    (b"a<br>b<p>c</p>", b"a\nb\nc\n"),
    (b"one <b class='>'>two</b> \"three\"", b'one two "three"'),
    (b"1 < 2 <3 <!-- x > y --> &amp; <?pi?><!DOCTYPE html>4", b"1 < 2 <3  & 4"),
    (b"<script>if (a < b) '</p>'</script >x<STYLE>p</STYLE>y<template><p>no</p></template>", b"xy"),
    (b"x<!-- never closed <p>gone", b"x"),
    (b"x<a href='never closed>gone", b"x"),
    (b"<script>never closed", b""),
    (b"it's <i>it's</i> 5'", b"it's it's 5'"),
    (
        b"&#0000065;&#x000041;&#99999999999999999999;&#xfffffffffff; &nosuch; &lt;b&gt;",
        "AA\ufffd\ufffd &nosuch; <b>".encode(),
    ),
    (b"&#" + b"9" * 6000 + b";", "\ufffd".encode()),
]


@pytest.mark.parametrize(("markup", "expected"), MARKUP)
def test_markup_becomes_its_text(markup: bytes, expected: bytes) -> None:
    """Tags, comments and scripts go, blocks are separated, references are resolved; quotation marks in text stay."""
    assert expected == nk.ssdeep.normalize(markup, "html")


CRAFTED = [
    (b"<!--", b""),
    (b"<a ", b""),
    (b"<a b='", b""),
    (b"</", b""),
    (b"<script>", b""),
    (b"</script", b""),
    (b'<i ="', b""),
    (b"<![CDATA[", b""),
    (b"<", b"<" * 300_000),
    (b"&amp", b"&" * 300_000),
]


@pytest.mark.parametrize(("unit", "expected"), CRAFTED)
def test_crafted_markup_ends(unit: bytes, expected: bytes) -> None:
    """300,000 unfinished beginnings: none is scanned to the end more than once, which would take 10^11 steps."""
    assert expected == nk.ssdeep.normalize(unit * 300_000, "html")


def test_a_recipe_says_how_digests_are_made() -> None:
    """Text form, JSON form, digest and pickle name the same recipe; wrong ones are refused."""
    recipe = nk.ssdeep.DigestRecipe("space+html|ssdeep:notrunc")
    assert "html+space|ssdeep:notrunc" == str(recipe)
    assert ("html", "space") == recipe.normalize
    assert not recipe.truncate
    for other in (
        nk.ssdeep.DigestRecipe(str(recipe)),
        nk.ssdeep.DigestRecipe.from_json(recipe.to_json()),
        pickle.loads(pickle.dumps(recipe)),  # noqa: S301 - our own bytes
        nk.ssdeep.DigestRecipe().with_(normalize=["html", "space"], truncate=False),
    ):
        assert recipe == other
        assert (recipe.digest, hash(recipe)) == (other.digest, hash(other))
    # Promised for ever: files hold this form.
    slots = '"eliminate_runs":false,"family":"ssdeep","normalize":[],"truncate":true'
    expected = "{" + slots + ',"versions":{"normalize":1,"recipe":1,"ssdeep":1}}'
    assert expected == nk.ssdeep.DigestRecipe().to_json()
    data = b"<p>some   words</p>\n" * 400
    assert nk.ssdeep.hash(data, truncate=False, normalize=["html", "space"]) == recipe.hash(data)
    for text in ("", "space", "ssdeep:x", "ssdeep:notrunc:notrunc", "space+space|ssdeep", "a|b|ssdeep", "xml|ssdeep"):
        with pytest.raises(ParameterError):
            nk.ssdeep.DigestRecipe(text)
    with pytest.raises(MismatchError, match="recipe slot normalize differs: html\\+space against none"):
        recipe.check_same(nk.ssdeep.DigestRecipe())
    with pytest.raises(MismatchError, match="recipe slot truncate"):
        nk.ssdeep.DigestRecipe().check_same(nk.ssdeep.DigestRecipe("ssdeep:notrunc"))
    with pytest.raises(AttributeError, match="frozen"):
        recipe.truncate = True


def test_normalised_files_are_hashed_as_their_content(tmp_path: Path) -> None:
    """A path, its bytes and many paths give one digest; what is no regular file is refused without being opened."""
    path = tmp_path / "page.html"
    path.write_bytes(b"<p>some   words</p>\r\n" * 400)
    recipe = nk.ssdeep.DigestRecipe("html+lines+space|ssdeep")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    digest, error, missing = recipe.hash_files([path, fifo, tmp_path / "none"], on_error="return")
    assert digest == recipe.hash(path) == recipe.hash(path.read_bytes())
    assert isinstance(error, InputError)
    assert isinstance(missing, FileNotFoundError)
    with pytest.raises(InputError, match="not a regular file"):
        recipe.hash(fifo)


def test_columns_of_strings_are_read_in_place(vectors: dict[str, Any]) -> None:
    """Arrow arrays, chunked ones and other iterables score as lists do; a fault names its row, the first of many."""
    digests = [entry["ssdeep"] for entry in vectors["files"]]
    expected = nk.ssdeep.compare_many(digests[0], digests)
    array = pa.array(digests)
    for column in (
        array,
        pa.chunked_array([array[:7], array[7:]]),
        array.cast(pa.large_string()),
        tuple(digests),
        iter(digests),
    ):
        assert np.array_equal(expected, nk.ssdeep.compare_many(digests[0], column))
    with pytest.raises(InputError, match=r"^row 1500, digest"):
        nk.ssdeep.compare_many(digests[0], pa.array([*(digests * 20)[:1500], "x", *digests, "y"]))
    with pytest.raises(InputError, match=r"^row 1: is null"):
        nk.ssdeep.compare_many(digests[0], pa.array([digests[0], None]))
