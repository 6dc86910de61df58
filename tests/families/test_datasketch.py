"""datasketch_signature: bit for bit the values of the package, and golden ones where it is not installed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import ParameterError
from nearkin.families import datasketch_signature

SCHEMES = ("affine32", "affine64", "legacy")

GOLDEN = {
    "affine32": [369563923, 1281264749, 461210151, 957686273],
    "affine64": [5954517555400690253, 3171636877785904396, 12828534513389202696, 1045478082100350341],
    "legacy": [362816124, 1490466620, 1182770533, 1014798883],
}
"""Values of datasketch 2.0.0 for the set of "red" and "wine", num_perm 4 and seed 1."""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_golden_values_of_the_package_hold(scheme: str) -> None:
    """Order and repetition do not count, nor whether features are str or bytes."""
    found = datasketch_signature([["red", "wine"], [b"wine", "red", "red"]], 4, scheme=scheme)  # type: ignore[arg-type]
    assert [GOLDEN[scheme]] * 2 == found.tolist()


@settings(max_examples=60, deadline=None)
@given(
    features=st.lists(st.text(max_size=5), max_size=40),
    num_perm=st.integers(1, 130),
    seed=st.integers(0, 2**32 - 1),
    scheme=st.sampled_from(SCHEMES),
)
def test_values_are_those_of_the_package(features: list[str], num_perm: int, seed: int, scheme: str) -> None:
    """Whatever the set, the number of values, the seed and the scheme; types too."""
    datasketch = pytest.importorskip("datasketch")
    encoded = [feature.encode() for feature in features]
    peer = datasketch.MinHash(num_perm=num_perm, seed=seed, scheme=scheme)
    for feature in encoded:
        peer.update(feature)
    found = datasketch_signature([encoded], num_perm, seed=seed, scheme=scheme)  # type: ignore[arg-type]
    assert peer.hashvalues.dtype == found.dtype
    assert peer.hashvalues.tolist() == found[0].tolist()


def test_sets_beyond_one_part_are_those_of_the_package() -> None:
    """20,000 features make several parts with 128 values."""
    datasketch = pytest.importorskip("datasketch")
    features = [str(i) for i in range(20_000)]
    for scheme in SCHEMES:
        peer = datasketch.MinHash(scheme=scheme)
        peer.update_batch([feature.encode() for feature in features])
        found = datasketch_signature([features], scheme=scheme)  # type: ignore[arg-type]
        assert np.array_equal(peer.hashvalues, found[0])


def test_stored_signatures_are_compared_and_searched() -> None:
    """They go where nearkin's own go."""
    left, right = [f"f{i}" for i in range(100)], [f"f{i}" for i in range(5, 105)]
    signatures = datasketch_signature([left, right, ["other"]])
    index = nk.BandIndex(128, threshold=0.7, recall=0.95)
    index.add(None, signatures)
    assert [(0, 1)] == list(zip(index.pairs().left.tolist(), index.pairs().right.tolist(), strict=True))
    assert abs(float(nk.minhash_similarity(signatures[0], signatures[1])) - 95 / 105) < 0.15
    assert (0, 128) == datasketch_signature([]).shape


def test_what_is_out_of_range_is_an_error() -> None:
    """Every message says what is allowed."""
    for build in (
        lambda: datasketch_signature([["a"]], 0),
        lambda: datasketch_signature([["a"]], seed=-1),
        lambda: datasketch_signature([["a"]], scheme="murmur"),  # type: ignore[arg-type]
        lambda: datasketch_signature(["text"]),
    ):
        with pytest.raises(ParameterError, match="is not allowed; use"):
            build()  # type: ignore[no-untyped-call]
