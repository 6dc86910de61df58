"""The exact index of fuzzy digests: nearkin.search.digests."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import nearkin as nk
from nearkin.errors import CorruptStoreError, FormatVersionError, InputError, MismatchError, ParameterError
from nearkin.search.digest_results import Hub

A = "96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U"
B = "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U"


@pytest.fixture(scope="module")
def real(shared: Path) -> list[str]:
    """Digests of real files."""
    return gzip.open(shared / "data" / "ssdeep_digests.txt.gz", "rt").read().split()


def family(seed: int, count: int) -> list[str]:
    """Digests with many matches: inputs that share stretches."""
    generator = random.Random(seed)
    stock = [generator.randbytes(generator.randint(20, 300)) for _ in range(30)]
    return [nk.ssdeep.hash(b"".join(generator.choices(stock, k=generator.randint(1, 40)))) for _ in range(count)]


def test_pairs_of_real_digests_equal_brute_force(real: list[str]) -> None:
    """Every pair of a sample with a score of 1 and more, and no other."""
    sample = random.Random(1).sample(real, 3000)
    scores = np.triu(nk.ssdeep.matrix(sample), 1)
    index = nk.DigestIndex()
    index.add(None, sample)
    for threshold in (1, 60):
        left, right = np.nonzero(scores >= threshold)
        pairs = index.pairs(threshold)
        assert np.array_equal(left, pairs.left)
        assert np.array_equal(right, pairs.right)
        assert np.array_equal(scores[left, right], pairs.scores)
        assert 0 == pairs.skipped
    assert len(pairs) > 100


def test_searches_of_all_real_digests_equal_brute_force_on_a_sample(real: list[str]) -> None:
    """Queries against all 82,858 digests find what a comparison with each finds."""
    index = nk.DigestIndex()
    assert len(real) == index.add(None, real)
    for query in random.Random(2).sample(real, 40):
        scores = nk.ssdeep.compare_many(query, real)
        expected = np.flatnonzero(scores)
        order = np.lexsort((expected, -scores[expected].astype(int)))
        found = index.search([query])
        assert np.array_equal(expected[order], found.ids)
        assert np.array_equal(scores[expected[order]], found.scores)


def test_results_do_not_depend_on_threads_or_batches() -> None:
    """One thread or two, one batch or many: the same pairs, hits and clusters."""
    digests = family(3, 400)
    found = []
    for threads, batch in ((1, 400), (2, 7), (2, 1)):
        nk.set_num_threads(threads)
        try:
            index = nk.DigestIndex()
            for i in range(0, len(digests), batch):
                index.add(None, digests[i : i + batch])
            pairs = index.pairs(20)
            hits = index.search(digests, 20)
            found.append((pairs.to_arrow(), hits.to_arrow(), list(index.clusters(20))))
        finally:
            nk.set_num_threads(None)
    assert len(found[0][0]) > 400
    assert found[0] == found[1] == found[2]


def test_removed_digests_are_not_found_and_may_come_back() -> None:
    """Add then remove is before, whatever the order."""
    digests = family(4, 120)
    ids = [f"file {i:03}" for i in range(len(digests))]
    index = nk.DigestIndex()
    index.add(ids, digests)
    before = index.pairs(1).to_arrow()
    assert 90 == index.remove(ids[:90])
    assert 30 == len(index)
    assert "file 003" not in index
    assert "file 100" in index
    rest = nk.DigestIndex()
    rest.add(ids[90:], digests[90:])
    assert rest.pairs(1).to_arrow() == index.pairs(1).to_arrow()
    index.add(ids[:90], digests[:90])
    assert before.sort_by([("left", "ascending"), ("right", "ascending")]) == index.pairs(1).to_arrow()


def test_ties_and_pairs_are_in_the_order_of_ids_whatever_was_added_first() -> None:
    """Equal scores come by id; left is the smaller id."""
    index = nk.DigestIndex()
    index.add([30, 10], [A, A])
    index.add([20], [B])
    assert [[10, 30, 20]] == [found.ids.tolist() for found in index.search([A])]
    assert [(10, 20), (10, 30), (20, 30)] == list(zip(index.pairs().left, index.pairs().right, strict=True))
    assert [[10, 30], [20]] == [index.nearest([A, B], k=k)[row].ids.tolist() for k, row in ((2, 0), (1, 1))]
    names = nk.DigestIndex()
    names.add(["z", "a"], [A, A])
    assert ["a", "z"] == names.search([A])[0].ids.tolist()


def test_short_digests_match_only_their_equals() -> None:
    """Parts below seven characters score 100 when both are equal, else 0."""
    index = nk.DigestIndex()
    index.add(None, ["3::", "3:E:E", "3::", "6::", "3:E:"])
    assert [[0, 2], [1], [3], [4]] == [found.ids.tolist() for found in index.search(["3::", "3:E:E", "6::", "3:E:"])]


def test_clusters_are_centred_unless_chains_are_asked_for() -> None:
    """A centre takes in what matches it; chains take in what matches a member."""
    generator = random.Random(5)
    stock = [generator.randbytes(400) for _ in range(60)]
    chain = [nk.ssdeep.hash(b"".join(stock[i : i + 20])) for i in (0, 8, 16)]
    assert 0 < nk.ssdeep.compare(chain[0], chain[1])
    assert 0 < nk.ssdeep.compare(chain[1], chain[2])
    threshold = 1 + nk.ssdeep.compare(chain[0], chain[2])
    index = nk.DigestIndex()
    index.add(["a", "b", "c"], chain)
    assert [["a", "b", "c"]] == list(index.clusters(threshold, linkage="connected"))
    assert [["a", "b"]] == list(index.clusters(threshold))


def test_hubs_are_reported_and_skipped_only_on_request() -> None:
    """A gram that all share is counted, and leaving it out is counted too."""
    digests = [f"96:abcdefg{chr(65 + i)}:" for i in range(20)]
    index = nk.DigestIndex()
    index.add(None, digests)
    assert [Hub(96, "abcdefg", 20)] == index.hubs(least=2)
    everything = index.search(digests[:1])
    assert (20, 0) == (len(everything.ids), everything.skipped)
    fewer = index.search(digests[:1], skip_hubs=19)
    assert ([0], 1) == (fewer.ids.tolist(), fewer.skipped)
    assert index.pairs(skip_hubs=19).skipped > 0
    assert index.clusters(skip_hubs=19).skipped > 0


def test_a_refused_addition_changes_nothing() -> None:
    """A bad digest, a repeated id, a wrong count or another kind of id."""
    index = nk.DigestIndex()
    index.add(["a"], [A])
    with pytest.raises(InputError, match="row 1"):
        index.add(["b", "c"], [B, "nonsense"])
    for ids, digests, message in (
        (["a"], [B], "each id once"),
        (["b", "b"], [A, B], "each id once"),
        (["b"], [A, B], "one id for each digest"),
        ([7], [B], "ids of one kind"),
        (None, [B], "ids, as for the digests that are there"),
    ):
        with pytest.raises(ParameterError, match=message):
            index.add(ids, digests)
    assert 1 == len(index)
    assert ["a"] == index.search([B])[0].ids.tolist()
    with pytest.raises(ParameterError, match="ids of the index"):
        index.remove(["a", "zz"])
    assert "a" in index
    assert 1 == index.remove(["a", "zz"], missing_ok=True)
    assert 0 == len(index)


def test_parameters_outside_of_their_range_are_refused() -> None:
    """Threshold, k, linkage and limits name what is allowed."""
    index = nk.DigestIndex()
    for threshold in (0, 101, 50.0, True):
        with pytest.raises(ParameterError, match="1 to 100, inclusive"):
            index.pairs(threshold)  # type: ignore[arg-type]  # the point
    with pytest.raises(ParameterError, match="1 or more"):
        index.nearest([A], k=0)
    with pytest.raises(ParameterError, match="connected"):
        index.clusters(linkage="single")  # type: ignore[arg-type]  # the point
    with pytest.raises(ParameterError, match="2 or more"):
        index.hubs(least=1)
    with pytest.raises(ParameterError, match="an id of the index"):
        index.digest(0)
    assert 0 == len(index.search([A])[0]) == len(index.pairs()) == len(index.clusters())


def test_lenient_indexes_take_old_digests() -> None:
    """What only the lenient parser reads can be indexed, too."""
    index = nk.DigestIndex(strict=False)
    index.add(None, [A + ',"name"', "7:abcdefgh:abc"])
    assert [[(0, 97)], [(1, 100)]] == [
        [(match.id, match.score) for match in row] for row in index.search([B, "7:abcdefgh:abc"])
    ]


def test_save_then_load_is_identity(tmp_path: Path) -> None:
    """Row numbers, integers and strings; removed digests stay removed, row numbers stay."""
    digests = family(6, 60)
    for ids in (None, [1000 - 7 * i for i in range(60)], [f"名 {i}" for i in range(60)]):
        index = nk.DigestIndex()
        index.add(ids, digests)
        index.remove(list(range(10)) if ids is None else ids[:10])
        path = tmp_path / "index"
        index.save(path)
        same = nk.DigestIndex.load(path)
        assert 50 == len(same)
        assert index.pairs().to_arrow() == same.pairs().to_arrow()
        assert index.search(digests).to_arrow() == same.search(digests).to_arrow()
        index.add(None if ids is None else ids[:10], digests[:10])
        same.add(None if ids is None else ids[:10], digests[:10])
        assert index.search(digests).to_arrow() == same.search(digests).to_arrow()
        assert ["index"] == [entry.name for entry in tmp_path.iterdir()]
    lenient = nk.DigestIndex(strict=False)
    lenient.save(path)
    assert not nk.DigestIndex.load(path).strict


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """Another file, a cut one, a flipped bit, ids that don't fit, a newer version."""
    index = nk.DigestIndex()
    index.add(["a", "b"], [A, B])
    path = tmp_path / "index"
    index.save(path)
    data, recipe = path.read_bytes(), index.recipe.to_json().encode()
    for changed in (b"", b"text", data[:30], data[:-1], data[:50] + bytes([data[50] ^ 1]) + data[51:]):
        path.write_bytes(changed)
        with pytest.raises(CorruptStoreError, match="is damaged"):
            nk.DigestIndex.load(path)
    path.write_bytes(index._core.encode(2, False, b"\1\0\0\0\1\0\0\0aa", recipe, True))
    with pytest.raises(CorruptStoreError, match="1 ids for 2 digests"):
        nk.DigestIndex.load(path)
    path.write_bytes(index._core.encode(2, False, b"\1\0\0\0\1\0\0\0a\xff", recipe, True))
    with pytest.raises(CorruptStoreError, match="its ids can't be read"):
        nk.DigestIndex.load(path)
    ids = b"\1\0\0\0\1\0\0\0ab"
    for form in (b"", b"{}", b"\xff", recipe.replace(b"ssdeep", b"sdhash")):
        path.write_bytes(index._core.encode(2, False, ids, form, True))
        with pytest.raises(CorruptStoreError, match="its recipe can't be read"):
            nk.DigestIndex.load(path)
    path.write_bytes(index._core.encode(2, False, ids, recipe.replace(b'"normalize":1', b'"normalize":2'), True))
    with pytest.raises(MismatchError, match="versions of the recipe"):
        nk.DigestIndex.load(path)
    path.write_bytes(data[:8] + b"\3" + data[9:])
    with pytest.raises(FormatVersionError, match="upgrade nearkin"):
        nk.DigestIndex.load(path)


def test_files_of_format_version_1_open_for_ever() -> None:
    """The committed fixture, written once."""
    index = nk.DigestIndex.load(Path(__file__).parents[1] / "fixtures" / "digests-v1.nkd")
    assert [["a", "名"]] == [found.ids.tolist() for found in index.search([A])]
    assert "3:aaX8v:aV" == index.digest("short")
    assert 3 == len(index)
    assert nk.ssdeep.DigestRecipe() == index.recipe


def test_files_of_format_version_2_open_for_ever() -> None:
    """The committed fixture, written once."""
    index = nk.DigestIndex.load(Path(__file__).parents[1] / "fixtures" / "digests-v2.nkd")
    assert [["a", "名"]] == [found.ids.tolist() for found in index.search([A])]
    assert "html+space|ssdeep" == str(index.recipe)
    assert 3 == len(index)


def test_an_index_refuses_digests_of_another_recipe(tmp_path: Path) -> None:
    """The recipe is part of the index, is saved with it, and is checked wherever one is named."""
    index = nk.DigestIndex(recipe="space|ssdeep")
    assert 1 == index.add(["a"], [A], recipe="space|ssdeep")
    for call in (
        lambda: index.add(["b"], [A], recipe="ssdeep"),
        lambda: index.search([A], recipe="ssdeep"),
        lambda: index.nearest([A], recipe=nk.ssdeep.DigestRecipe()),
    ):
        with pytest.raises(MismatchError, match="recipe slot normalize differs: space against none"):
            call()
    assert 1 == len(index)
    index.save(tmp_path / "index")
    assert index.recipe == nk.DigestIndex.load(tmp_path / "index").recipe
    assert ["a"] == index.search([A], recipe=index.recipe)[0].ids.tolist()


def test_columns_of_digests_are_added_in_place() -> None:
    """An Arrow column with and without ids."""
    column = pa.array([A, "3:E:E"])
    index = nk.DigestIndex()
    assert 2 == index.add(None, column)
    assert 2 == index.add(None, pa.chunked_array([column]))
    assert [0, 2] == index.search(column)[0].ids.tolist()
    named = nk.DigestIndex()
    assert 2 == named.add(pa.array(["x", "y"]), column)
    with pytest.raises(ParameterError, match="1 ids for 2 digests"):
        named.add(["z"], column)
