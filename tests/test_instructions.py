"""Every instruction set gives the same bits, and is chosen in one place."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Literal

import numpy as np
import pytest

import nearkin as nk
from nearkin import _core
from nearkin.errors import ParameterError

RNG = np.random.default_rng(11)
WORDS = [
    f"{stem}{end}" for stem in ("near", "copy", "Table", "don't", "a_b", "3.14", "x") for end in ("", "s", "ing", "1")
]
TEXTS = [
    " ".join(RNG.choice(WORDS, size)) + tail for size in (1, 3, 40, 300, 4000) for tail in ("", "é 中文。", "!?")
] * 3
RECIPES = [
    "char:4|binary|xxh3|simhash:128",
    "char:4|count|xxh3|simhash:64",
    "char:6|count|xxh3|simhash:64",
    "word:1|count|xxh3|simhash:64",
    "word:3|count|xxh3|simhash:64",
]


@pytest.fixture(autouse=True)
def _all_instructions() -> Iterator[None]:
    yield
    _core.limit_instructions(None)


def results() -> list[bytes]:
    """Return the bits of text, digests, indexes and vectors under the instructions in use."""
    bits = [nk.fingerprint(TEXTS, recipe=recipe).tobytes() for recipe in RECIPES]
    bits += [nk.signature(TEXTS, recipe=recipe).tobytes() for recipe in ("word:3|minhash:128", "char:5|minhash:100")]
    data = RNG.__class__(np.random.PCG64(5)).bytes(200_000)
    digests = [nk.ssdeep.hash(data[:size]) for size in (100, 1000, 10_000, 200_000)]
    bits.append(repr(digests + [nk.ssdeep.compare(digests[2], other) for other in digests]).encode())
    tlsh = [nk.tlsh.hash(data[:size], checksum=3) for size in (100, 1000, 10_000, 200_000)]
    bits.append(repr(tlsh).encode() + nk.tlsh.matrix(tlsh).tobytes())
    rng = np.random.default_rng(3)
    for width, radius in ((64, 3), (64, 20), (128, 25), (256, 40)):
        index = nk.HammingIndex(width, method="scan")
        rows = rng.integers(0, 2**64, (3000, width // 64), dtype=np.uint64)
        index.add(None, rows[:, 0] if width == 64 else rows)
        queries = rows[:40] ^ (np.uint64(1) << rng.integers(0, 64, (40, width // 64), dtype=np.uint64))
        found = index.search(queries[:, 0] if width == 64 else queries, radius=radius)
        bits.append(found.ids.tobytes() + found.distances.tobytes())
    vectors = rng.standard_normal((2000, 48)).astype(np.float32)
    filters: tuple[Literal["codes", "partitions"], ...] = ("codes", "partitions")
    for filter_ in filters:
        family = nk.families.Hyperplane(None, orthogonal="hadamard", seed=1)
        lsh = nk.LSHIndex(family, metric="l2", rank="estimate", filter=filter_)
        nearest = lsh.fit(vectors).nearest(vectors[:20], k=5)
        bits.append(nearest.ids.tobytes() + nearest.distances.tobytes())
    return bits


def test_every_set_gives_the_same_bits() -> None:
    """Text, digests, Hamming search and vectors do not depend on the instruction set."""
    sets = _core.available_instructions()
    assert "scalar" == sets[0]
    _core.limit_instructions("scalar")
    expected = results()
    for name in sets[1:]:
        _core.limit_instructions(name)
        assert name == _core.instructions()
        assert expected == results(), name


def test_a_set_is_named() -> None:
    """Indexes and the command say which set is in use; a set that is not there is refused with those that are."""
    index = nk.HammingIndex(64)
    index.add(None, [1, 2, 3])
    assert _core.available_instructions()[-1] == index.explain()["instructions"]
    _core.limit_instructions("scalar")
    lsh = nk.LSHIndex(nk.families.Hyperplane(64, seed=1)).fit(np.eye(8))
    assert ["scalar", "scalar"] == [index.explain()["instructions"], lsh.explain()["instructions"]]
    with pytest.raises(ParameterError, match="instructions=avx1024 is not allowed; use scalar"):
        _core.limit_instructions("avx1024")
    command = [sys.executable, "-m", "nearkin", "--version", "--verbose"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"instructions {_core.available_instructions()[-1]} of scalar" in output
    alone = subprocess.run([*command[:3], "--verbose"], capture_output=True, text=True, check=False)
    assert (2, True) == (alone.returncode, "--version" in alone.stderr)
