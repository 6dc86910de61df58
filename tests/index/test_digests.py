"""The exact index of fuzzy digests: nearkin.index.digests."""

from __future__ import annotations

import gzip
import itertools
import random
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nearkin as nk
import reference
from nearkin._core import DigestCore, feature_hashes
from nearkin.errors import CorruptStoreError, FormatVersionError, InputError, MismatchError, ParameterError
from nearkin.index.digests import Hub, is_digest_index

TraceFunction: TypeAlias = Callable[[FrameType, str, Any], Any]

A = "96:eWJN08TSaEp9PT3WOiOG0PPs71raVR:D/klkTUPirvyE0U"
B = "96:eJN08TSaEp9PT3FWiOOG0PPs71raVR:DklkTUPirvyE0U"


@pytest.fixture
def index() -> nk.DigestIndex:
    """Return an empty index."""
    return nk.DigestIndex()


@pytest.fixture(scope="module")
def real(shared: Path) -> list[str]:
    """Return the digests of real files."""
    return gzip.open(shared / "data" / "ssdeep_digests.txt.gz", "rt").read().split()


def family(seed: int, count: int) -> list[str]:
    """Return digests with many matches: their inputs share stretches."""
    generator = random.Random(seed)
    stock = [generator.randbytes(generator.randint(20, 300)) for _ in range(30)]
    return [nk.ssdeep.hash(b"".join(generator.choices(stock, k=generator.randint(1, 40)))) for _ in range(count)]


def test_pairs_of_real_digests_equal_brute_force(real: list[str], index: nk.DigestIndex) -> None:
    """Exactly the pairs of a sample with a score of at least 1 are found."""
    sample = random.Random(1).sample(real, 3000)
    scores = np.triu(nk.ssdeep.matrix(sample), 1)
    index.add(None, sample)
    for threshold in (1, 60):
        left, right = np.nonzero(scores >= threshold)
        pairs = index.pairs(threshold)
        assert np.array_equal(left, pairs.left)
        assert np.array_equal(right, pairs.right)
        assert np.array_equal(scores[left, right], pairs.scores)
        assert 0 == pairs.skipped
    assert len(pairs) > 100


def test_searches_of_all_real_digests_equal_brute_force_on_a_sample(real: list[str], index: nk.DigestIndex) -> None:
    """Queries against all 82,858 digests return the same as a comparison with each of them."""
    assert len(real) == index.add(None, real)
    for query in random.Random(2).sample(real, 40):
        scores = nk.ssdeep.compare_many(query, real)
        expected = np.flatnonzero(scores)
        order = np.lexsort((expected, -scores[expected].astype(int)))
        result = index.search([query])
        assert np.array_equal(expected[order], result.ids)
        assert np.array_equal(scores[expected[order]], result.scores)


def test_results_do_not_depend_on_threads_or_batches(set_threads: Callable[[int], None]) -> None:
    """One thread or two, one batch or many return the same pairs, hits and clusters."""
    digests = family(3, 400)
    result = []
    for threads, batch in ((1, 400), (2, 7), (2, 1)):
        set_threads(threads)
        index = nk.DigestIndex()
        for i in range(0, len(digests), batch):
            index.add(None, digests[i : i + batch])
        pairs = index.pairs(20)
        hits = index.search(digests, 20)
        result.append((pairs.to_arrow(), hits.to_arrow(), list(index.clusters(20))))
    assert len(result[0][0]) > 400
    assert result[0] == result[1] == result[2]


def test_short_digests_match_only_their_equals(index: nk.DigestIndex) -> None:
    """Parts with fewer than seven characters score 100 if both are equal and 0 otherwise."""
    index.add(None, ["3::", "3:E:E", "3::", "6::", "3:E:"])
    assert [[0, 2], [1], [3], [4]] == [result.ids.tolist() for result in index.search(["3::", "3:E:E", "6::", "3:E:"])]


def test_parameters_outside_of_their_range_are_refused(index: nk.DigestIndex) -> None:
    """The errors for threshold, k, linkage and limits state the allowed range."""
    for threshold in (0, 101, 50.0, True):
        with pytest.raises(ParameterError, match="1 to 100, inclusive"):
            index.pairs(threshold)  # type: ignore[arg-type]  # the point
    for minimum in (1, True, "a", 2.5, 1 << 63):
        with pytest.raises(ParameterError, match=r"^min_count=.* is not allowed; use 2 or more$"):
            index.hubs(min_count=minimum)  # type: ignore[arg-type]  # the point
    for limit in (-1, False, "a", 1 << 63):
        with pytest.raises(ParameterError, match=r"^limit=.* is not allowed; use 0 or more$"):
            index.hubs(limit=limit)  # type: ignore[arg-type]  # the point
    for skip in (0, True, 1.0, 1 << 63):
        with pytest.raises(ParameterError, match=r"^skip_hubs=.* is not allowed; use 1 or more digests, or None"):
            index.pairs(skip_hubs=skip)  # type: ignore[arg-type]  # the point
    assert 0 == len(index.search([A])[0]) == len(index.pairs()) == len(index.clusters())


def test_files_with_invalid_recipes_are_refused(tmp_path: Path, index: nk.DigestIndex) -> None:
    """A recipe that cannot be read, or of another version, although the checksums are right."""
    index.add(["a", "b"], [A, B])
    path = tmp_path / "index"
    recipe = index.recipe.to_json().encode()
    assert isinstance(index._core, DigestCore)
    for form in (b"", b"{}", b"\xff", recipe.replace(b"ssdeep", b"sdhash")):
        index._core.save(str(path), False, form)
        with pytest.raises(CorruptStoreError, match="its recipe can't be read"):
            nk.DigestIndex.open(path)
    index._core.save(str(path), False, recipe.replace(b'"normalize":1', b'"normalize":2'))
    with pytest.raises(MismatchError, match="versions of the recipe"):
        nk.DigestIndex.open(path)


def older(version: int, kind: int, ids: bytes, recipe: bytes = b"") -> bytes:
    """Return a file of version 1 or 2 with the digests `3::` and `3:E:E` and a correct checksum."""
    digests = b"".join((3).to_bytes(8, "little") + bytes([len(part), len(part)]) + 2 * part for part in (b"", b"E"))
    parts = [digests, ids] + ([recipe] if version > 1 else [])
    head = b"NKDIGEST" + version.to_bytes(4, "little") + kind.to_bytes(2, "little") + bytes(2)
    numbers = b"".join(number.to_bytes(8, "little") for number in (2, *map(len, parts)))
    data = head + numbers + b"".join(parts)
    return data + int(feature_hashes("xxh3", [data])[0]).to_bytes(8, "little")


def test_damaged_files_of_older_versions_are_refused(tmp_path: Path) -> None:
    """Ids that do not match the digests, invalid recipes, flipped bits and newer versions are rejected."""
    path = tmp_path / "index"
    recipe = nk.ssdeep.DigestRecipe().to_json().encode()
    right = older(2, 2, b"\1\0\0\0\1\0\0\0ab", recipe)
    path.write_bytes(right)
    opened = nk.DigestIndex.open(path)
    assert ["a", "b"] == [name for names in opened.iter_ids() for name in names.tolist()]
    for data, message in (
        (older(2, 2, b"\1\0\0\0\1\0\0\0aa", recipe), "its ids do not go with its digests"),
        (older(2, 2, b"\1\0\0\0\1\0\0\0a\xff", recipe), "its ids can't be read"),
        (older(2, 1, bytes(15), recipe), "its ids can't be read"),
        (older(2, 2, b"\1\0\0\0\1\0\0\0ab", b"{}"), "its recipe can't be read"),
        (right[:40] + bytes([right[40] ^ 1]) + right[41:], "its checksum does not match"),
        (right[:-1], "its checksum does not match"),
        (right[:20], "ends within its header"),
    ):
        path.write_bytes(data)
        with pytest.raises(CorruptStoreError, match=message):
            nk.DigestIndex.open(path)
    path.write_bytes(right[:8] + b"\3" + right[9:])
    with pytest.raises(FormatVersionError, match="upgrade nearkin"):
        nk.DigestIndex.open(path)


def test_a_digest_index_is_known_by_the_way_it_begins(tmp_path: Path) -> None:
    """Files of every version are recognised, other files and folders are not, and a missing path is an error."""
    fixtures = Path(__file__).parents[1] / "fixtures"
    nk.DigestIndex().save(tmp_path / "new")
    nk.HammingIndex().save(tmp_path / "other")
    (tmp_path / "text").write_text("NKD")
    for path, expected in (
        (fixtures / "digests-v1.nkd", True),
        (fixtures / "digests-v2.nkd", True),
        (tmp_path / "new", True),
        (tmp_path / "other", False),
        (tmp_path / "text", False),
        (tmp_path, False),
    ):
        assert expected == is_digest_index(path), path
    with pytest.raises(FileNotFoundError):
        is_digest_index(tmp_path / "nothing")


def test_threads_that_add_at_once_never_exchange_digests(index: nk.DigestIndex) -> None:
    """Eight threads add different digests under their own names, and every name keeps its digest."""
    digests = [family(seed, 40) for seed in range(8)]
    ready = threading.Barrier(8)

    def add(thread: int) -> None:
        ready.wait()
        for position, digest in enumerate(digests[thread]):
            index.add([f"{thread}/{position}"], [digest])
            if position % 3 == 2:
                index.remove([f"{thread}/{position}"])

    threads = [threading.Thread(target=add, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = {
        f"{thread}/{position}": nk_digest(digest)
        for thread in range(8)
        for position, digest in enumerate(digests[thread])
        if position % 3 != 2
    }
    names = [name for batch in index.iter_ids(batch_size=7) for name in batch.tolist()]
    assert expected == {name: index.digest(name) for name in names}
    assert len(expected) == len(index)


def nk_digest(digest: str) -> str:
    """Return a digest in the form that an index stores."""
    alone = nk.DigestIndex()
    alone.add(["it"], [digest])
    return alone.digest("it")


class Interrupted(list[str]):
    """Names whose second half can't be read, as if Ctrl-C interrupted the call."""

    def __iter__(self) -> Iterator[str]:
        yield self[0]
        raise KeyboardInterrupt


def test_an_interrupted_addition_changes_nothing(index: nk.DigestIndex) -> None:
    """After an interruption while reading ids or digests, the index is unchanged and accepts the same call again."""
    index.add(["a"], [A])
    for ids, digests in ((Interrupted(["b", "c"]), [A, B]), (["b", "c"], Interrupted([A, B]))):
        with pytest.raises(KeyboardInterrupt):
            index.add(ids, digests)
        assert (1, True, False) == (len(index), "a" in index, "b" in index)
        assert ["a"] == index.search([A])[0].ids.tolist()
    assert 2 == index.add(["b", "c"], [A, B])
    assert ["a", "b", "c"] == [name for names in index.iter_ids() for name in names.tolist()]


def test_an_interrupt_between_any_two_lines_leaves_ids_and_digests_together() -> None:
    """After Ctrl-C before any line of Python, every id has its digest, and the counts agree."""
    strikes = 0
    for line in range(1, 60):
        index = nk.DigestIndex()
        index.add(["a"], [A])
        seen = 0

        def trace(frame: FrameType, event: str, argument: object, line: int = line) -> TraceFunction:
            nonlocal seen
            if frame.f_code.co_filename.endswith(("index/digests.py", "index/ids.py")):
                seen += event == "line"
                if seen == line:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            index.add(["b", "c"], [B, A])
        except KeyboardInterrupt:
            strikes += 1
        finally:
            sys.settrace(before)
        names = [name for batch in index.iter_ids() for name in batch.tolist()]
        assert names in (["a"], ["a", "b", "c"])
        assert len(names) == len(index)
        assert [nk_digest(A), nk_digest(B), nk_digest(A)][: len(names)] == [index.digest(name) for name in names]
    assert strikes > 5


@pytest.mark.parametrize(("version", "recipe"), [(1, "ssdeep"), (2, "html+space|ssdeep")])
def test_files_of_earlier_versions_open_for_ever(version: int, recipe: str) -> None:
    """The committed fixtures are never rewritten."""
    index = nk.DigestIndex.open(Path(__file__).parents[1] / "fixtures" / f"digests-v{version}.nkd")
    assert [["a", "名"]] == [result.ids.tolist() for result in index.search([A])]
    assert (3, recipe) == (len(index), str(index.recipe))
    assert version > 1 or "3:aaX8v:aV" == index.digest("short")


def test_an_index_refuses_digests_of_another_recipe(tmp_path: Path) -> None:
    """The recipe is part of the index, is saved with it, and is checked wherever one is passed."""
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
    assert index.recipe == nk.DigestIndex.open(tmp_path / "index").recipe
    assert ["a"] == index.search([A], recipe=index.recipe)[0].ids.tolist()


def test_columns_of_digests_are_added_in_place(index: nk.DigestIndex) -> None:
    """An Arrow column is accepted with and without ids."""
    column = pa.array([A, "3:E:E"])
    assert 2 == index.add(None, column)
    assert 2 == index.add(None, pa.chunked_array([column]))
    assert [0, 2] == index.search(column)[0].ids.tolist()
    named = nk.DigestIndex()
    assert 2 == named.add(pa.array(["x", "y"]), column)
    with pytest.raises(ParameterError, match=r"1 ids.* one for each of 2 digests"):
        named.add(["z"], column)


LETTERS = "abcdefghijklmnopqrstuvwxyz"


@st.composite
def digests_of_few(draw: st.DrawFn, max_size: int = 14) -> list[str]:
    """Draw overlapping digests: stretches of one text at neighbouring block sizes, some with runs, some short."""
    part = st.builds(
        lambda start, length, change: (LETTERS * 2)[start : start + length] + change,
        st.integers(0, 12),
        st.integers(0, 30),
        st.sampled_from(["", "A", "BBBBBB", "/+"]),
    )
    digest = st.builds(lambda power, one, two: f"{3 << power}:{one}:{two}", st.integers(0, 3), part, part)
    pool = draw(st.lists(digest, min_size=1, max_size=max_size))
    return draw(st.lists(st.sampled_from(pool), max_size=max_size))


def grams(digest: str) -> set[tuple[int, str]]:
    """Return the block size and the 7-grams of both parts, with runs of more than three characters cut to three."""
    size, *parts = digest.split(":")
    cut = [re.sub(r"(.)\1{3,}", r"\1\1\1", part) for part in parts]
    return {(int(size) << at, part[i : i + 7]) for at, part in enumerate(cut) for i in range(len(part) - 6)}


@given(digests_of_few(), digests_of_few(5), st.integers(1, 100))
@settings(deadline=None)
def test_every_threshold_is_that_of_brute_force(digests: list[str], queries: list[str], threshold: int) -> None:
    """Searches, nearest neighbours, pairs and both kinds of clusters equal a comparison of each with each."""
    index = nk.DigestIndex()
    index.add(None, digests)
    count = len(digests)
    scores = [[nk.ssdeep.compare(a, b) for b in digests] for a in digests]
    hits = index.search(queries, threshold)
    expected = [
        sorted(
            ((row, score) for row, score in enumerate(nk.ssdeep.compare(query, d) for d in digests)),
            key=lambda entry: (-entry[1], entry[0]),
        )
        for query in queries
    ]
    above = [[entry for entry in row if entry[1] >= threshold] for row in expected]
    assert above == [[(match.id, match.score) for match in row] for row in hits]
    for k in (1, 3):
        near = index.nearest(queries, k, threshold=threshold)
        assert [row[:k] for row in above] == [[(match.id, match.score) for match in row] for row in near]
    pairs = index.pairs(threshold)
    result = list(zip(pairs.left.tolist(), pairs.right.tolist(), pairs.scores.tolist(), strict=True))
    assert [
        (i, j, scores[i][j]) for i in range(count) for j in range(i + 1, count) if scores[i][j] >= threshold
    ] == result
    assert 0 == hits.skipped == pairs.skipped
    for linkage, define in (("centred", reference.absorb), ("connected", reference.components)):
        several = reference.clusters(define, range(count), lambda i, j: scores[i][j] >= threshold)
        clusters = index.clusters(threshold, linkage=linkage)  # type: ignore[call-overload]  # one of the two
        assert several == list(clusters)
        assert [[scores[rows[0]][row] for row in rows] for rows in several] == [
            clusters.scores[start:end].tolist() for start, end in itertools.pairwise(clusters.offsets.tolist())
        ]


@given(digests_of_few(), st.integers(2, 6), st.integers(0, 12))
@settings(deadline=None)
def test_hubs_are_the_grams_that_many_share(digests: list[str], minimum: int, limit: int) -> None:
    """Grams are counted once per digest and block size, sorted by frequency and cut to the limit."""
    index = nk.DigestIndex()
    index.add(None, digests)
    counts = Counter(gram for digest in digests for gram in grams(digest))
    shared = {gram: count for gram, count in counts.items() if count >= minimum}
    everything = index.hubs(min_count=minimum, limit=len(counts))
    assert shared == {(hub.block_size, hub.gram): hub.count for hub in everything}
    assert len(shared) == len(everything)
    assert sorted(shared.values(), reverse=True) == [hub.count for hub in everything]
    assert everything[:limit] == index.hubs(min_count=minimum, limit=limit)


def looked_up(digest: str) -> set[tuple[int, str]]:
    """Return the keys under which a digest is found: its grams, or the digest itself if it has none."""
    return grams(digest) or {(0, re.sub(r"(.)\1{3,}", r"\1\1\1", digest))}


@given(digests_of_few(), st.integers(1, 8))
@settings(deadline=None)
def test_skipped_hubs_leave_out_what_only_they_join(digests: list[str], skip: int) -> None:
    """A match remains if it shares a key that at most `skip` digests have; every hub encountered is counted."""
    index = nk.DigestIndex()
    index.add(None, digests)
    counts = Counter(key for digest in digests for key in looked_up(digest))
    hits = index.search(digests, skip_hubs=skip)
    hubs = [{key for key in looked_up(digest) if counts[key] > skip} for digest in digests]
    assert sum(map(len, hubs)) == hits.skipped
    for i, row in enumerate(hits):
        scores = [nk.ssdeep.compare(digests[i], other) for other in digests]
        joined = [bool((looked_up(digests[i]) - hubs[i]) & looked_up(other)) for other in digests]
        expected = {j: score for j, score in enumerate(scores) if score and joined[j]}
        assert expected == {match.id: match.score for match in row}


def test_no_hub_is_skipped_that_is_not_there(index: nk.DigestIndex) -> None:
    """With the count of the most frequent gram as limit everything is found; one less loses matches."""
    digests = [f"96:abcdefg{letter}:" for letter in "ABCDE"]
    index.add(None, digests)
    for skip, pairs in ((5, 10), (4, 0), (np.int64(5), 10), (None, 10)):
        result = index.pairs(skip_hubs=skip)
        assert (pairs, pairs == 0) == (len(result), result.skipped > 0)
        clusters = index.clusters(skip_hubs=skip)
        assert (1 if pairs else 0, pairs == 0) == (len(clusters), clusters.skipped > 0)
    assert 5 == index.nearest(digests, 1, skip_hubs=4).skipped
    index.remove([0])
    assert [Hub(96, "abcdefg", 4)] == index.hubs(min_count=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda index: index.search([A], 0), "threshold=0 is not allowed; use 1 to 100, inclusive"),
        (lambda index: index.search([A], 101), "threshold=101 is not allowed; use 1 to 100, inclusive"),
        (lambda index: index.nearest([A], threshold=True), "threshold=True is not allowed"),
        (lambda index: index.clusters("50"), "threshold='50' is not allowed; use 1 to 100, inclusive"),
        (lambda index: index.search([A], skip_hubs=1.5), "skip_hubs=1.5 is not allowed; use 1 or more digests"),
        (lambda index: index.clusters(linkage=3), 'linkage=3 is not allowed; use "centred" or "connected"'),
        (lambda index: index.clusters(linkage="single"), "linkage="),
        (lambda index: index.nearest([A], 0), "k=0 is not allowed; use 1 or more"),
        (lambda index: index.nearest([A], 2.0), "k=2.0 is not allowed; use 1 or more"),
        (lambda index: index.digest("b"), "id='b' is not allowed; use an id of the index"),
        (lambda index: index.digest(True), "id=True is not allowed; use an id of the index"),
        (lambda index: index.add(["b"], [B], existing="keep"), "existing='keep' is not allowed; use"),
        (lambda index: index.add(["b"], [A, B]), "ids=1 ids is not allowed; use one for each of 2 digests"),
    ],
)
def test_a_refusal_says_what_was_found_and_what_is_allowed(call: Any, message: str, index: nk.DigestIndex) -> None:
    """Every bad parameter is reported, and the index is unchanged."""
    index.add(["a"], [A])
    with pytest.raises(ParameterError) as refused:
        call(index)
    assert str(refused.value).startswith(message)
    assert [["a"]] == [ids.tolist() for ids in index.iter_ids()]


def test_one_digest_is_not_a_list_of_digests(index: nk.DigestIndex) -> None:
    """A single text or bytes object in place of a list is rejected rather than read letter by letter."""
    for first in (A, A.encode()):
        for call in (index.search, index.nearest, lambda digests: index.add(None, digests)):
            with pytest.raises(TypeError, match="expected an iterable of digests, found a single one; pass a list"):
                call(first)  # type: ignore[arg-type]  # the point
    assert "DigestIndex(0 digests)" == repr(index)


@pytest.mark.parametrize("digest", ["7:abcdefgh:abc", A + ',"name"', "3:a-b:c"])
def test_what_only_a_lenient_index_takes(digest: str, tmp_path: Path) -> None:
    """A strict index rejects it as digest and query, with the row and the remedy; scores are the lenient ones."""
    strict, lenient = nk.DigestIndex(), nk.DigestIndex(strict=False)
    lenient.save(tmp_path / "index")
    assert not nk.DigestIndex.open(tmp_path / "index").strict
    for call in (lambda: strict.add(None, [A, digest]), lambda: strict.search([A, digest])):
        with pytest.raises(InputError, match=r"^row 1, digest .*strict=False"):
            call()
    assert (0, False) == (len(strict), lenient.explain()["strict"])
    lenient.add(None, [digest, A, B])
    for query in (digest, A, B):
        scores = {row: nk.ssdeep.compare(query, other, strict=False) for row, other in enumerate([digest, A, B])}
        result = {match.id: match.score for match in lenient.search([query])[0]}
        assert {row: score for row, score in scores.items() if score} == result
    with pytest.raises(InputError, match=r"^row 0"):
        lenient.search(["no digest"])
