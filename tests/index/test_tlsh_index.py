"""nearkin.DigestIndex of TLSH digests, against all distances."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from nearkin.errors import CorruptStoreError, InputError, MismatchError, ParameterError


@pytest.fixture(scope="module")
def digests() -> list[str]:
    """Return digests of files and of their variants."""
    rng = random.Random(2)
    words = [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(400)]
    result = []
    for _ in range(60):
        text = b" ".join(rng.choices(words, k=rng.randint(40, 900)))
        for changes in (0, 1, 5, 20, 60):
            changed = bytearray(text)
            for _ in range(changes):
                changed[rng.randrange(len(changed))] = rng.randrange(97, 123)
            result.append(nk.tlsh.hash(bytes(changed)))
    return result


@pytest.mark.parametrize("distance", [0, 12, 40, 90, 2000])
def test_results_equal_all_distances(digests: list[str], distance: int) -> None:
    """Search, nearest and pairs find exactly what is within the distance, nearest first."""
    index = nk.DigestIndex("tlsh")
    index.add(None, digests[:100])
    for digest in digests[100:120]:
        index.add(None, [digest])
    index.add(None, digests[120:])
    index.remove([3, 250])
    expected = nk.tlsh.matrix(digests).astype(int)
    expected[:, [3, 250]] = 1 << 16
    found = index.search(digests, distance=distance)
    nearest = index.nearest(digests, 5, distance=distance)
    for row, matches in enumerate(found):
        order = np.lexsort((np.arange(len(digests)), expected[row]))
        order = order[expected[row][order] <= distance]
        assert order.tolist() == matches.ids.tolist()
        assert expected[row][order].tolist() == matches.distances.tolist()
        assert order[:5].tolist() == nearest[row].ids.tolist()
    pairs = index.pairs(distance=distance)
    near = np.argwhere(np.triu(expected <= distance, 1))
    near = near[~np.isin(near[:, 0], [3, 250])]
    assert near.tolist() == np.stack([pairs.left, pairs.right], axis=1).tolist()
    assert [expected[a, b] for a, b in near] == pairs.distances.tolist()


def test_clusters_are_named_by_their_first_member(digests: list[str]) -> None:
    """Every member of a centred cluster is within the distance of the first; connected ones hold these."""
    index = nk.DigestIndex("tlsh")
    index.add([f"file {number}" for number in range(len(digests))], digests)
    centred = index.clusters(distance=40)
    assert max(centred.distances) <= 40
    firsts = [index.digest(members[0]) for members in centred]
    apart = nk.tlsh.matrix(firsts)
    assert apart[~np.eye(len(firsts), dtype=bool)].min() > 40
    connected = {
        member: number
        for number, members in enumerate(index.clusters(distance=40, linkage="connected"))
        for member in members
    }
    assert all(len({connected[member] for member in members}) == 1 for members in centred)


def test_an_index_is_saved_opened_and_verified(digests: list[str], tmp_path: Path) -> None:
    """A saved index has the same recipe, digests and results; damage is an error."""
    index = nk.DigestIndex("tlsh")
    index.add(list("abcdef"), digests[:6])
    index.remove(["b"])
    path = tmp_path / "index"
    index.save(path)
    again = nk.DigestIndex.open(path)
    again.verify()
    assert (str(again.recipe), len(again), again.digest("c")) == ("tlsh", 5, digests[2])
    assert index.search(digests[:6], distance=60).ids.tolist() == again.search(digests[:6], distance=60).ids.tolist()
    assert again.explain()["digests"] == 5
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content[:-8])
    with pytest.raises(CorruptStoreError):
        nk.DigestIndex.open(path)


def test_families_are_not_mixed(digests: list[str]) -> None:
    """A threshold for TLSH, a distance for ssdeep, and digests or recipes of another family are refused."""
    index = nk.DigestIndex("tlsh")
    with pytest.raises(ParameterError, match="TLSH has distances"):
        index.search(digests[:1], 60)
    with pytest.raises(ParameterError, match="TLSH has distances"):
        index.hubs()
    with pytest.raises(ParameterError, match="ssdeep has scores"):
        nk.DigestIndex().search(["3::"], distance=40)
    with pytest.raises(MismatchError, match="family"):
        index.search(digests[:1], distance=40, recipe="ssdeep")
    with pytest.raises(MismatchError, match="buckets"):
        index.add(None, digests[:1], recipe="tlsh:256")
    with pytest.raises(InputError, match="row 1"):
        index.add(None, [digests[0], "3::"])
    with pytest.raises(MismatchError, match="256 buckets"):
        nk.DigestIndex("tlsh:256").add(None, digests[:1])
    with pytest.raises(ParameterError, match="0 or more"):
        index.search(digests[:1], distance=-1)
    assert len(index) == 0
    assert len(index.search([], distance=5)) == 0
    calls: list[tuple[str, int, int]] = []
    index.add(None, digests)
    index.search(digests, distance=5, progress=lambda *call: calls.append(call))
    assert calls[-1] == ("search", len(digests), len(digests))
