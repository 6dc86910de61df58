"""nearkin.compat.ssdeep compared with ssdeep 3.4 (group bench-ssdeep), if it is installed."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import random
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nearkin as nk
from nearkin import errors
from nearkin.compat import ssdeep

# The package uses deprecated parts of Python, on import and on calls.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

A = "96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U"
B = "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U"


def package(name: str) -> ModuleType:
    """Import a peer; skip the test if it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module: ModuleType = pytest.importorskip(name, reason=f"{name} is not installed (group bench-ssdeep)")
    if not hasattr(module, "hash_from_file"):
        # A folder of tests has the same name.
        pytest.skip(f"{name} is not installed (group bench-ssdeep)")
    return module


def data(seed: int) -> bytes:
    """Return random bytes of varying length, with few or many distinct values and zeros at the end."""
    r = random.Random(seed)
    values = r.choice([256, 4, 2])
    return bytes(r.randrange(values) for _ in range(r.choice([0, 1, 6, 7, 100, 3000, 9000]))) + bytes(seed % 9)


def damaged(r: random.Random, digest: str) -> bytes:
    """Return a digest with a few characters inserted, deleted, replaced or cut off, mostly near its start."""
    text = list(digest)
    for _ in range(r.choice([1, 1, 2, 3])):
        at = r.randrange(len(text) + 1) if r.random() < 0.6 else r.randrange(min(6, len(text) + 1))
        what = r.random()
        if what < 0.35:
            text.insert(at, r.choice("ABab019+/:, \t\n-.xe\"'\0é"))
        elif what < 0.6:
            del text[at : at + 1]
        elif what < 0.8:
            text[at : at + 1] = r.choice("ABab019+/:, \t\n-.xe\0\xff")
        elif what < 0.9:
            text[at:at] = r.choice("ab:0 ") * r.randrange(2, 70)
        else:
            del text[at:]
    return "".join(text).encode("latin-1")


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call, or the class names of its exception, base classes included."""
    try:
        return call(*arguments)
    except Exception as error:
        return {kind.__name__ for kind in type(error).__mro__}


def test_functions_return_nearkins_digests_and_scores(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"Hello, World!\n")
    for value in ("Hello, World!\n", b"Hello, World!\n", bytearray(b"Hello, World!\n"), memoryview(b"Hello, World!\n")):
        assert "3:aaX8v:aV" == ssdeep.hash(value)
    for name in (str(path), os.fsencode(path), path):
        assert "3:aaX8v:aV" == ssdeep.hash_from_file(name)
    assert [97, 97, 100] == [ssdeep.compare(A, B), ssdeep.compare(A.encode(), B), ssdeep.compare(A, A + ',"name"')]
    assert ssdeep.hash("é".encode("latin-1")) == ssdeep.hash("é", "latin-1") != ssdeep.hash("é")


def test_errors_are_those_of_both_packages(tmp_path: Path) -> None:
    for kind in (ssdeep.InternalError, ssdeep.BaseError, ValueError, errors.InputError):
        with pytest.raises(kind, match="fewer than two colons"):
            ssdeep.compare(A, "96:a")
    for call in (lambda: ssdeep.hash(5), lambda: ssdeep.hash_from_file(5), lambda: ssdeep.compare(A, None)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="use "):
            call()
    for call in (lambda: ssdeep.hash("\ud800"), lambda: ssdeep.hash("é", "ascii"), lambda: ssdeep.compare(A, "é")):
        with pytest.raises(UnicodeEncodeError):
            call()
    with pytest.raises(FileNotFoundError):
        ssdeep.hash_from_file(tmp_path / "none")
    for either in (OSError, errors.InputError):
        with pytest.raises(either, match="not a regular file"):
            ssdeep.hash_from_file(tmp_path)


@pytest.mark.parametrize("kind", [ssdeep.Hash, ssdeep.PseudoHash])
def test_hash_objects_accept_data_in_parts(kind: type[ssdeep.Hash]) -> None:
    one = kind()
    assert ("3::", 3, "ssdeep") == (one.digest(), one.block_size, one.name)
    text = "ÄÄÄÄÄ" * 3000
    one.update(text)
    other = one.copy()
    assert type(other) is kind
    assert isinstance(other, ssdeep.BaseHash)
    other.update("é", "latin-1")
    assert nk.ssdeep.hash(text.encode()) == one.digest()
    assert nk.ssdeep.hash(text.encode() + b"\xe9") == other.digest()
    for elimseq in (False, True):
        for notrunc in (False, True):
            expected = nk.ssdeep.hash(text.encode(), eliminate_runs=elimseq, truncate=not notrunc)
            assert expected == one.digest(elimseq, notrunc) == one.digest(elimseq=elimseq, notrunc=notrunc)
    with pytest.raises(TypeError, match="use str or bytes"):
        one.update(5)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError):
        _ = ssdeep.BaseHash().block_size
    with pytest.raises(AttributeError):
        one.name = "x"  # type: ignore[misc]


def test_digests_are_the_packages(tmp_path: Path) -> None:
    peer = package("ssdeep")
    for seed in range(40):
        value = data(seed)
        path = tmp_path / str(seed)
        path.write_bytes(value)
        assert peer.hash(value) == ssdeep.hash(value), seed
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            assert peer.hash_from_file(str(path)) == ssdeep.hash_from_file(str(path)), seed
    assert peer.hash("é中\n" * 500) == ssdeep.hash("é中\n" * 500)


def test_hash_objects_give_the_packages_digests() -> None:
    peer = package("ssdeep")
    for seed in range(12):
        theirs, ours = peer.Hash(), ssdeep.Hash()
        for part in (data(seed), data(seed + 1) * 3, "é" * seed):
            theirs.update(part)
            ours.update(part)
            assert theirs.block_size == ours.block_size
            for flags in ((), (True,), (False, True), (True, True)):
                assert theirs.digest(*flags) == ours.digest(*flags)
    assert {name for name in vars(peer.Hash) if name[0] != "_"} <= set(dir(ssdeep.Hash))


def library() -> Callable[[bytes, bytes], int]:
    """Return the compare function of libfuzzy, which gives -1 for an invalid digest."""
    name = ctypes.util.find_library("fuzzy")
    if name is None:
        pytest.skip("the library of the program ssdeep is not installed")
    score: Callable[[bytes, bytes], int] = ctypes.CDLL(name).fuzzy_compare
    return score


def test_damaged_digests_have_the_librarys_score() -> None:
    """20,000 pairs with one or two damaged digests: both sides give the same score, or both an error."""
    score = library()
    r = random.Random(3)
    digests = [nk.ssdeep.hash(data(seed) * 2) for seed in range(60)] + [A, B, A.replace("96", "48"), "3::"]
    outcomes = Counter[bool]()
    for _ in range(20_000):
        digest = r.choice(digests)
        left = damaged(r, digest)
        right = (digest if r.random() < 0.5 else r.choice(digests)).encode()
        if r.random() < 0.3:
            right = damaged(r, right.decode())
        try:
            ours = ssdeep.compare(left, right)
        except ssdeep.InternalError:
            ours = -1
        assert score(left, right) == ours, (left, right)
        outcomes[ours >= 0] += 1
    assert min(outcomes.values()) > 1000


def test_errors_are_caught_as_the_packages_errors_are(tmp_path: Path) -> None:
    """An except clause written for a peer also catches our error."""
    peer = package("ssdeep")
    for call, arguments in (
        ("hash", (5,)),
        ("hash", (None,)),
        ("hash", ("\ud800",)),
        ("hash_from_file", (str(tmp_path / "none"),)),
        ("hash_from_file", (str(tmp_path),)),
        ("hash_from_file", (None,)),
        ("compare", (A, None)),
        ("compare", (A, "96:a")),
        ("compare", ("", "")),
    ):
        theirs = outcome(getattr(peer, call), *arguments)
        assert theirs <= outcome(getattr(ssdeep, call), *arguments), (call, arguments)
