"""datasketch_signature: bit for bit the values of the package, and golden values if it is not installed."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.families import datasketch, datasketch_signature

SCHEMES = ("affine32", "affine64", "legacy")

GOLDEN = {
    "affine32": [369563923, 1281264749, 461210151, 957686273],
    "affine64": [5954517555400690253, 3171636877785904396, 12828534513389202696, 1045478082100350341],
    "legacy": [362816124, 1490466620, 1182770533, 1014798883],
}
"""Values of datasketch 2.0.0 for the set of "red" and "wine", num_perm 4 and seed 1."""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_golden_values_of_the_package_hold(scheme: str) -> None:
    """Order, repetition and the choice of str or bytes do not matter."""
    result = datasketch_signature([["red", "wine"], [b"wine", "red", "red"]], 4, scheme=scheme)  # type: ignore[arg-type]
    assert [GOLDEN[scheme]] * 2 == result.tolist()


@given(
    features=st.lists(st.text(max_size=5), max_size=40),
    num_perm=st.integers(1, 130),
    seed=st.integers(0, 2**32 - 1),
    scheme=st.sampled_from(SCHEMES),
)
def test_values_are_those_of_the_package(features: list[str], num_perm: int, seed: int, scheme: str) -> None:
    """Values and types are equal for any set, number of values, seed and scheme."""
    package = pytest.importorskip("datasketch")
    encoded = [feature.encode() for feature in features]
    peer = package.MinHash(num_perm=num_perm, seed=seed, scheme=scheme)
    for feature in encoded:
        peer.update(feature)
    result = datasketch_signature([encoded], num_perm, seed=seed, scheme=scheme)  # type: ignore[arg-type]
    assert peer.hashvalues.dtype == result.dtype
    assert peer.hashvalues.tolist() == result[0].tolist()


def test_sets_beyond_one_part_are_those_of_the_package() -> None:
    """20,000 features span several parts with 128 values."""
    package = pytest.importorskip("datasketch")
    features = [str(i) for i in range(20_000)]
    for scheme in SCHEMES:
        peer = package.MinHash(scheme=scheme)
        peer.update_batch([feature.encode() for feature in features])
        result = datasketch_signature([features], scheme=scheme)  # type: ignore[arg-type]
        assert np.array_equal(peer.hashvalues, result[0])


def test_stored_signatures_are_compared_and_searched() -> None:
    """They work wherever nearkin's own signatures do."""
    left, right = [f"f{i}" for i in range(100)], [f"f{i}" for i in range(5, 105)]
    signatures = datasketch_signature([left, right, ["other"]])
    index = nk.BandIndex(128, threshold=0.7, recall=0.95)
    index.add(None, signatures)
    assert [(0, 1)] == list(zip(index.pairs().left.tolist(), index.pairs().right.tolist(), strict=True))
    assert abs(float(nk.minhash_similarity(signatures[0], signatures[1])) - 95 / 105) < 0.15
    assert (0, 128) == datasketch_signature([]).shape


def test_what_is_out_of_range_is_an_error() -> None:
    """Every message states what is allowed."""
    for build in (
        lambda: datasketch_signature([["a"]], 0),
        lambda: datasketch_signature([["a"]], seed=-1),
        lambda: datasketch_signature([["a"]], scheme="murmur"),  # type: ignore[arg-type]
        lambda: datasketch_signature(["text"]),
    ):
        with pytest.raises(ParameterError, match="is not allowed; use"):
            build()  # type: ignore[no-untyped-call]


def definition(hashes: set[bytes], num_perm: int, seed: int, scheme: str) -> list[int]:
    """Compute the table of the module's header in plain integers, with constants from NumPy's frozen streams."""
    random = np.random.RandomState(seed)
    if scheme == "legacy":
        prime = (1 << 61) - 1
        pairs = [
            (int(random.randint(1, prime, dtype=np.uint64)), int(random.randint(0, prime, dtype=np.uint64)))
            for _ in range(num_perm)
        ]
        values = [int.from_bytes(hashlib.sha1(name, usedforsecurity=False).digest()[:4], "little") for name in hashes]
        limit = (1 << 32) - 1
        return [min([limit, *((a * h + b) % (1 << 64) % prime & limit for h in values)]) for a, b in pairs]
    width = 32 if scheme == "affine32" else 64
    kind: Any = np.uint32 if width == 32 else np.uint64
    halves = random.randint(0, 1 << (width - 1), num_perm, dtype=kind)
    terms = random.randint(0, 1 << width, num_perm, dtype=kind)
    limit = (1 << width) - 1
    steps = (
        ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1))
        if width == 32
        else ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53), (33, 1))
    )
    mixed = []
    for name in hashes:
        h = int.from_bytes(hashlib.sha1(name, usedforsecurity=False).digest()[: width // 8], "little")
        for shift, factor in steps:
            h = (h ^ h >> shift) * factor & limit
        mixed.append(h)
    return [
        min([limit, *(((2 * int(half) + 1) * h + int(term)) & limit for h in mixed)])
        for half, term in zip(halves, terms, strict=True)
    ]


@given(
    features=st.lists(st.text(max_size=5), max_size=20),
    num_perm=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    scheme=st.sampled_from(SCHEMES),
)
def test_values_are_those_of_the_definition(features: list[str], num_perm: int, seed: int, scheme: str) -> None:
    """The formulas of the header in plain integers agree, including the empty set."""
    expected = definition({feature.encode() for feature in features}, num_perm, seed, scheme)
    result = datasketch_signature([features], num_perm, seed=seed, scheme=scheme)  # type: ignore[arg-type]
    assert (np.uint32 if scheme == "affine32" else np.uint64) == result.dtype
    assert expected == result[0].tolist()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("count", [255, 256, 257, 600])
def test_chunks_change_no_value(scheme: str, count: int) -> None:
    """The kernel processes blocks of 256 features and 32 functions; remainders count as well."""
    features = [str(i) for i in range(count)]
    expected = definition({feature.encode() for feature in features}, 33, 1, scheme)
    assert expected == datasketch_signature([features], 33, scheme=scheme)[0].tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_batches_change_no_value(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any batch size gives the same, with empty documents in between."""
    documents = [[str(j) for j in range(i % 4)] for i in range(40)]
    expected = datasketch_signature(documents, 8, scheme=scheme)  # type: ignore[arg-type]
    for batch in (1, 2, 7):
        monkeypatch.setattr(datasketch, "_BATCH", batch)
        assert expected.tolist() == datasketch_signature(documents, 8, scheme=scheme).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_perm": 0}, "num_perm=0 is not allowed; use 1 to 65536"),
        ({"num_perm": True}, "num_perm=True is not allowed; use 1 to 65536"),
        ({"num_perm": 4.0}, "num_perm=4.0 is not allowed; use 1 to 65536"),
        ({"num_perm": 65537}, "num_perm=65537 is not allowed; use 1 to 65536"),
        ({"seed": -1}, "seed=-1 is not allowed; use 0 to 4294967295"),
        ({"seed": 1 << 32}, "seed=4294967296 is not allowed; use 0 to 4294967295"),
        ({"scheme": "murmur"}, "scheme='murmur' is not allowed; use affine32, affine64 or legacy"),
        ({"documents": ["text"]}, "documents='text' is not allowed; use lists of features"),
        ({"documents": [b"text"]}, "documents=b'text' is not allowed; use lists of features"),
    ],
)
def test_messages_say_what_is_allowed(arguments: dict[str, Any], message: str) -> None:
    """Each error states the range of its argument."""
    with pytest.raises(ParameterError, match=message):
        datasketch_signature(**{"documents": [["a"]], **arguments})
