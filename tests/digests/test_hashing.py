"""nearkin.digests.ssdeep.hashing: digests of bytes, files and streams."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import itertools
import mmap
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearkin as nk
from command import needs_ssdeep
from nearkin.errors import InputError, MissingFileError, ParameterError

FLAGS: dict[str, dict[str, Any]] = {
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
def inputs(shared: Path, ssdeep_vectors: dict[str, Any]) -> list[tuple[dict[str, Any], bytes]]:
    """Return each entry of the vectors with its input, without files that this machine does not have."""
    build = _module(shared / "vectors" / "gen_vectors.py").build
    result = []
    for entry in ssdeep_vectors["files"]:
        data = build(entry["recipe"])
        if data is None or hashlib.sha256(data).hexdigest() != entry["sha256"]:
            assert "file" == entry["recipe"]["k"], entry["id"]
            continue
        result.append((entry, data))
    assert len(result) >= 240
    return result


def test_digests_equal_the_real_librarys_under_every_flag(inputs: list[tuple[dict[str, Any], bytes]]) -> None:
    """Every public vector with four combinations of flags."""
    for entry, data in inputs:
        for name, flags in FLAGS.items():
            assert entry[name] == nk.ssdeep.hash(data, **flags), (entry["id"], name)


def test_streaming_in_odd_chunks_equals_the_whole(inputs: list[tuple[dict[str, Any], bytes]]) -> None:
    """The digest does not depend on the chunks."""
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


def test_every_kind_of_input_gives_the_same_digest(tmp_path: Path) -> None:
    """Bytes, buffers, arrays, paths, files and streams have one digest."""
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
    """Files beyond 4 MiB are hashed through buffers."""
    generator = np.random.default_rng(1)
    for size in ((1 << 22) - 1, 1 << 22, (1 << 22) + 1, (1 << 23) + 5):
        data = generator.bytes(size)
        path = tmp_path / "data"
        path.write_bytes(data)
        assert nk.ssdeep.hash(data) == nk.ssdeep.hash(path)


def test_a_copied_hasher_goes_on_by_itself() -> None:
    """A copy and its original are independent."""
    first = nk.ssdeep.Hasher()
    first.update(b"one " * 900)
    second = first.copy()
    first.update(b"two")
    assert nk.ssdeep.hash(b"one " * 900) == second.digest()
    assert nk.ssdeep.hash(b"one " * 900 + b"two") == first.digest()


def test_what_is_no_regular_file_is_refused_without_being_opened(tmp_path: Path) -> None:
    """A FIFO would block, a device is endless, and /proc has no lengths."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    result = nk.ssdeep.hash_files([fifo, tmp_path, "/dev/zero", tmp_path / "none"], on_error="return")
    assert [InputError, InputError, InputError, MissingFileError] == [type(error) for error in result]
    assert "not a regular file" in str(result[0])
    with pytest.raises(InputError, match="a directory, not a regular file"):
        nk.ssdeep.hash(tmp_path)
    if Path("/proc/self/status").exists():
        with pytest.raises(InputError, match="hides its length"):
            nk.ssdeep.hash("/proc/self/status")


def test_many_files_keep_their_order(tmp_path: Path) -> None:
    """There is one digest per path, for any number of threads."""
    paths = []
    for i in range(50):
        path = tmp_path / f"{i}"
        path.write_bytes(bytes(np.random.default_rng(i).integers(0, 256, 500 * i, dtype=np.uint8)))
        paths.append(path)
    assert [nk.ssdeep.hash(path.read_bytes()) for path in paths] == nk.ssdeep.hash_files(paths)


@needs_ssdeep
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    """Files with random, repeated and constant sections have the digests of the program."""
    path = tmp_path / "input"
    path.write_bytes(b"".join(pieces))
    done = subprocess.run(["ssdeep", "-b", path], capture_output=True, check=True)
    assert [(nk.ssdeep.hash(path), "input")] == nk.ssdeep.read_list(done.stdout)


def test_what_can_not_be_hashed_is_refused() -> None:
    """Invalid types and options are refused, and the error says what is allowed."""
    with pytest.raises(ParameterError, match="bytes or another buffer, a path, or a binary file"):
        nk.ssdeep.hash(3)  # type: ignore[arg-type]  # the point
    with pytest.raises(ParameterError, match="bytes or another buffer, a path, or a binary file"):
        nk.ssdeep.hash(3, normalize="lines")  # type: ignore[arg-type]  # the point
    with pytest.raises(ParameterError, match="copy it with bytes"):
        nk.ssdeep.hash(np.arange(10, dtype=np.uint8)[::2])
    with pytest.raises(ParameterError, match="bytes or another buffer"):
        nk.ssdeep.Hasher().update("text")  # type: ignore[arg-type]  # the point
    with pytest.raises(ParameterError, match="on_error"):
        nk.ssdeep.hash_files([], on_error="ignore")  # type: ignore[call-overload]  # the point


@given(st.lists(st.binary(max_size=5000), max_size=6))
def test_pieces_hash_as_the_whole(pieces: list[bytes]) -> None:
    """Intermediate digests do not change the final one."""
    hasher = nk.ssdeep.Hasher()
    for i, piece in enumerate(pieces, 1):
        hasher.update(piece)
        whole = b"".join(pieces[:i])
        assert nk.ssdeep.hash(whole) == hasher.digest()
        for flags in FLAGS.values():
            assert nk.ssdeep.hash(whole, **flags) == hasher.digest(**flags)
        assert len(whole) == hasher.total


@given(st.binary(max_size=3000).map(lambda data: data * 8))
def test_flags_change_their_part_alone(data: bytes) -> None:
    """Part 1 does not depend on truncation, and run elimination can be applied afterwards."""
    plain = nk.ssdeep.hash(data)
    size, first, second = plain.split(":")
    uncut = nk.ssdeep.hash(data, truncate=False).split(":")
    assert [size, first] == uncut[:2]
    assert len(second) <= 32
    assert len(uncut[2]) <= 64
    removed = nk.ssdeep.hash(data, eliminate_runs=True)
    assert re.search(r"(.)\1{3}", removed.split(":", 1)[1]) is None
    assert 100 == nk.ssdeep.compare(plain, removed)


def test_the_first_error_of_many_files_is_raised(tmp_path: Path) -> None:
    """The first error is raised, or each is returned at its position."""
    (tmp_path / "a").write_bytes(b"text")
    paths = [tmp_path / "a", tmp_path / "none", tmp_path]
    for normalize in ((), ("space",)):
        with pytest.raises(FileNotFoundError):
            nk.ssdeep.hash_files(paths, normalize=normalize)
        result = nk.ssdeep.hash_files(paths, on_error="return", normalize=normalize)
        assert all(map(isinstance, result, (str, FileNotFoundError, InputError)))
    assert [] == nk.ssdeep.hash_files([])


def test_progress_of_many_files_ends_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is reported per batch, with errors at their positions, also for a recipe."""
    monkeypatch.setattr("nearkin.digests.inputs.FILES_PER_CALL", 2)
    paths = [tmp_path / str(number) for number in range(5)]
    for path in paths[:4]:
        path.write_bytes(path.name.encode() * 100)
    for call in (nk.ssdeep.hash_files, nk.ssdeep.DigestRecipe("html|ssdeep").hash_files):
        events: list[tuple[str, int, int | None]] = []
        result = call(paths, on_error="return", progress=lambda *event: events.append(event))  # noqa: B023
        assert [("hash", done, 5) for done in (0, 2, 4, 5)] == events
        assert [False] * 4 + [True] == [isinstance(item, OSError) for item in result]
        assert result[:4] == call(paths[:4])


@pytest.mark.parametrize("text", ["some text", "a long text, longer than any path " * 200])
@pytest.mark.parametrize("steps", [(), "space"])
def test_a_text_in_place_of_a_path_is_named(text: str, steps: str) -> None:
    """A str is a path; the error says so, and how to hash a text."""
    with pytest.raises(OSError, match=r"path of a file.*text\.encode\(\)") as error:
        nk.ssdeep.hash(text, normalize=steps)
    assert len(str(error.value)) < 400
    assert nk.ssdeep.hash(text.encode())
