"""nearkin.digests.tlsh: digests, distances and their peer."""

from __future__ import annotations

import gzip
import io
import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import InputError, MismatchError, NoDigestError, ParameterError

TEXT = b"The quick brown fox jumps over the lazy dog, and the dog sleeps on."
GOLDEN = Path(__file__).parent.parent / "fixtures" / "tlsh-golden.txt.gz"


def inputs(count: int, seed: int = 5) -> Iterator[bytes]:
    """Return inputs of many kinds and sizes: random, words, few symbols, repetitions, padding, small changes."""
    rng = random.Random(seed)
    words = [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(500)]
    last = TEXT
    for number in range(count):
        size = int(10 ** rng.uniform(1.5, 3.2 if number % 50 else 5))
        kind = number % 6
        if kind == 0:
            data = rng.randbytes(size)
        elif kind == 1:
            data = b" ".join(rng.choices(words, k=size // 6 + 1))[:size]
        elif kind == 2:
            data = bytes(rng.choices(range(rng.randint(1, 40)), k=min(size, 2000)))
        elif kind == 3:
            data = (rng.randbytes(rng.randint(1, 300)) * (size // 2 + 1))[:size]
        elif kind == 4:
            data = bytes(size // 2) + rng.randbytes(size - size // 2)
        else:
            changed = bytearray(last)
            for _ in range(rng.randint(0, 9)):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            data = bytes(changed)
        last = data or TEXT
        yield data


def digest_or_null(data: bytes) -> str:
    """Return the digest, or the peer's word for none."""
    try:
        return nk.tlsh.hash(data)
    except NoDigestError:
        return "TNULL"


def test_digests_and_distances_equal_stored_ones_of_the_reference() -> None:
    """Digests, and distances of neighbours with and without length, are those that py-tlsh 5.0.0 gave."""
    lines = gzip.decompress(GOLDEN.read_bytes()).decode().splitlines()
    digests: list[str] = []
    for data, line in zip(inputs(len(lines)), lines, strict=True):
        expected, *distances = line.split()
        assert expected == digest_or_null(data)
        if digests and distances:
            pair = digests[-1], expected
            assert [int(value) for value in distances] == [
                nk.tlsh.distance(*pair),
                nk.tlsh.distance(*pair, length=False),
            ]
        if expected != "TNULL":
            digests.append(expected)
    assert len(digests) > len(lines) / 2


def test_digests_and_distances_equal_the_reference() -> None:
    """Fresh inputs have the digests and distances of the installed py-tlsh."""
    tlsh = pytest.importorskip("tlsh", reason="pip install py-tlsh (group bench-tlsh) for the comparison with it")
    digests = []
    for data in inputs(1500, random.randrange(1 << 30)):
        expected = tlsh.hash(data)
        assert expected == digest_or_null(data), data
        if expected != "TNULL":
            digests.append(expected)
    expected_matrix = [[tlsh.diff(a, b) for b in digests[:60]] for a in digests[:60]]
    np.testing.assert_array_equal(expected_matrix, nk.tlsh.matrix(digests[:60]))
    for a, b in itertools.pairwise(digests):
        assert tlsh.diffxlen(a, b) == nk.tlsh.distance(a, b, length=False)


@pytest.mark.parametrize("buckets", [128, 256])
@pytest.mark.parametrize("checksum", [1, 3])
def test_every_way_to_read_gives_one_digest(tmp_path: Path, buckets: int, checksum: int) -> None:
    """Bytes, arrays, paths, streams, hashers and lists of files give the same digest."""
    data = random.Random(1).randbytes(100_000)
    expected = nk.tlsh.hash(data, buckets=buckets, checksum=checksum)
    assert len(expected) == 2 + 2 * (buckets // 4 + 2 + checksum)
    path = tmp_path / "file"
    path.write_bytes(data)
    hasher = nk.tlsh.TlshHasher(buckets=buckets, checksum=checksum)
    for start in range(0, len(data), 7919):
        hasher.update(data[start : start + 7919])
    copy = hasher.copy()
    copy.update(b"more")
    assert (len(data), len(data) + 4) == (hasher.total, copy.total)
    stream = io.BytesIO(data)
    results = [
        nk.tlsh.hash(bytearray(data), buckets=buckets, checksum=checksum),
        nk.tlsh.hash(np.frombuffer(data, np.uint8), buckets=buckets, checksum=checksum),
        nk.tlsh.hash(str(path), buckets=buckets, checksum=checksum),
        nk.tlsh.hash(path, buckets=buckets, checksum=checksum),
        nk.tlsh.hash(stream, buckets=buckets, checksum=checksum),
        hasher.digest(),
        *nk.tlsh.hash_files([path, str(path)], buckets=buckets, checksum=checksum),
    ]
    assert [expected] * len(results) == results
    assert copy.digest() != expected


def test_an_input_without_a_digest_is_a_typed_error(tmp_path: Path) -> None:
    """Short and plain inputs raise NoDigestError, which names the input and what it lacks."""
    with pytest.raises(NoDigestError, match="data: 49 bytes are too short"):
        nk.tlsh.hash(TEXT[:49])
    with pytest.raises(NoDigestError, match="which takes 256"):
        nk.tlsh.hash(TEXT, conservative=True)
    assert nk.tlsh.hash(TEXT * 4) == nk.tlsh.hash(TEXT * 4, conservative=True)
    with pytest.raises(NoDigestError, match="too little variation"):
        nk.tlsh.hash(bytes(1000))
    plain, good = tmp_path / "plain", tmp_path / "good"
    plain.write_bytes(b"ab" * 500)
    good.write_bytes(TEXT)
    with pytest.raises(NoDigestError, match="plain: too little variation"):
        nk.tlsh.hash(plain)
    first, second, third = nk.tlsh.hash_files([plain, good, tmp_path], on_error="return")
    assert isinstance(first, NoDigestError)
    assert second == nk.tlsh.hash(TEXT)
    assert isinstance(third, InputError)
    assert not isinstance(third, NoDigestError)


def test_hostile_arguments_are_typed_errors() -> None:
    """What is no digest, input or form is refused with what was found."""
    digest = nk.tlsh.hash(TEXT)
    for bad, reason in [("TNULL", "without a digest"), ("T1", "has 2 characters"), (digest[:-1] + "g", "character 71")]:
        with pytest.raises(InputError, match=reason):
            nk.tlsh.distance(digest, bad)
        with pytest.raises(InputError, match="row 1"):
            nk.tlsh.distance_many(digest, [digest, bad])
    with pytest.raises(MismatchError, match="256 buckets"):
        nk.tlsh.distance(digest, nk.tlsh.hash(TEXT * 9, buckets=256))
    with pytest.raises(MismatchError):
        nk.tlsh.matrix([digest, nk.tlsh.hash(TEXT * 9, checksum=3)])
    with pytest.raises(ParameterError, match="128 or 256"):
        nk.tlsh.hash(TEXT, buckets=64)
    with pytest.raises(ParameterError, match="1 or 3"):
        nk.tlsh.TlshHasher(checksum=2)
    with pytest.raises(ParameterError):
        nk.tlsh.hash(3)  # type: ignore[arg-type]  # the point
    with pytest.raises(FileNotFoundError, match=r"text\.encode"):
        nk.tlsh.hash("The quick brown fox")
    assert nk.tlsh.matrix([]).shape == (0, 0)
    assert nk.tlsh.distance(digest[2:].lower(), digest) == 0


def test_recipes_round_trip_and_refuse_unknown_flags() -> None:
    """A recipe has a text and a JSON form, and differs from others by its slots."""
    recipe = nk.tlsh.TlshRecipe("tlsh:256:checksum3:conservative")
    assert (256, 3, True) == (recipe.buckets, recipe.checksum, recipe.conservative)
    assert recipe == nk.tlsh.TlshRecipe(str(recipe)) == nk.tlsh.TlshRecipe.from_json(recipe.to_json())
    assert recipe.hash(TEXT * 9) == nk.tlsh.hash(TEXT * 9, buckets=256, checksum=3)
    assert recipe.distance(recipe.hash(TEXT * 9), recipe.hash(TEXT * 9)) == 0
    with pytest.raises(MismatchError, match="buckets"):
        recipe.check_same(nk.tlsh.TlshRecipe("tlsh:checksum3:conservative"))
    for text in ("tlsh:64", "tlsh:256:256", "ssdeep"):
        with pytest.raises(ParameterError):
            nk.tlsh.TlshRecipe(text)
