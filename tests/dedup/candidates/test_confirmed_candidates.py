"""nearkin.dedup.candidates.confirm: candidates of one family confirmed by the other, against all pairs."""

from __future__ import annotations

from unittest import mock

import pytest

import nearkin as nk
from definitions import check_search, equal_values, near_duplicates, shares_band
from nearkin.dedup.candidates import ConfirmedCandidates, MinHashCandidates, SimHashCandidates, confirm
from nearkin.errors import ParameterError
from reference import distance

SIMHASH = nk.Recipe("word:1|binary|xxh3|simhash:128")
MINHASH = nk.Recipe("word:1|binary|xxh3|minhash:64")
TEXTS = near_duplicates(60)


def families(first: str, *, by_share: bool = False) -> ConfirmedCandidates:
    by_bits = SimHashCandidates(SIMHASH, 0.6, 40)
    by_values = MinHashCandidates(MINHASH, 0.5, by_share=by_share)
    return ConfirmedCandidates(by_bits, by_values) if first == "simhash" else ConfirmedCandidates(by_values, by_bits)


@pytest.mark.parametrize("pieces", [1, 1 << 16])
@pytest.mark.parametrize("first", ["simhash", "minhash"])
def test_confirmed_candidates_are_those_of_both(first: str, pieces: int) -> None:
    """The first family proposes, and the second confirms by a radius or a number of equal values."""
    source = families(first)
    values, counts = source.hash(TEXTS)
    values = values[counts > 0]
    bits, signatures = (values[name] for name in (("first", "second") if first == "simhash" else ("second", "first")))
    bands = source.first if isinstance(source.first, MinHashCandidates) else source.second
    assert isinstance(bands, MinHashCandidates)

    def match(i: int, j: int) -> bool:
        near = distance(bits[i], bits[j]) <= 40
        if first == "simhash":
            return near and equal_values(signatures, i, j) >= bands.banding.min_matches
        return near and shares_band(bands, signatures, i, j)

    with mock.patch.object(confirm, "_PAIRS", pieces):
        check_search(source, values, match)


def test_similarity_and_distance_are_those_of_the_first_family() -> None:
    """MinHash first verifies by the share of equal values, and its distance counts the others."""
    source = families("minhash", by_share=True)
    values, counts = source.hash(TEXTS)
    values = values[counts > 0]
    signatures = values["first"]

    def match(i: int, j: int) -> bool:
        bands = source.first
        assert isinstance(bands, MinHashCandidates)
        return distance(values["second"][i], values["second"][j]) <= 40 and shares_band(bands, signatures, i, j)

    check_search(source, values, match, lambda i, j: equal_values(signatures, i, j) / 64)
    expected = [64 - equal_values(signatures, i, i + 1) for i in range(20)]
    assert expected == source.distances(values[:20], values[1:21]).tolist()


def test_no_index_holds_the_hashes_of_two_families() -> None:
    """An index is refused with a remedy; other values are no index."""
    for index in (nk.HammingIndex(128), nk.BandIndex()):
        with pytest.raises(ParameterError, match="texts with confirm"):
            families("simhash").reference_index(index)
    assert families("simhash").reference_index(["a text"]) is None
    with pytest.raises(ParameterError, match="texts with confirm"):
        nk.dedup(["a text"], recipe=SIMHASH, confirm="minhash:64", verify="none", against=nk.HammingIndex(128))


def test_the_summary_names_both_families() -> None:
    """It has the parameters of the first family, and recipe and bound of the second."""
    source = families("simhash")
    summary = dict(source.summary())
    expected = summary.pop("expected_recall")
    assert {"radius": 40, "confirm": str(MINHASH), "confirm_distance": source.max_distance} == summary
    assert source.first.recall is not None
    assert source.second.recall is not None
    assert source.first.recall * source.second.recall == expected == source.recall
    assert source.max_distance == 64 - MinHashCandidates(MINHASH, 0.5).banding.min_matches
    assert 40 == families("minhash").max_distance
