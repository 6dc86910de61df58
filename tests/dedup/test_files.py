"""Deduplication of files: nearkin.dedup_files."""

from __future__ import annotations

import base64
import codecs
import itertools
import lzma
import os
import random
import shutil
import tarfile
import zlib
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin._core import script_features, ssdeep_hash_contents
from nearkin.dedup import cluster as cluster_rules
from nearkin.dedup import files
from nearkin.dedup.candidates.digests import feature_similarity, is_comparable
from nearkin.dedup.scripts import undo_wrappers
from nearkin.errors import InputError, MissingFileError, ParameterError
from reference import components


def make_corpus(seed: int, count: int) -> list[bytes]:
    """Return copies of a few bases with edits of many sizes, exact copies, tiny, constant and empty files."""
    generator = random.Random(seed)
    bases = [generator.randbytes(generator.randint(3000, 9000)) for _ in range(3)]
    actual: list[bytes] = []
    for _ in range(count):
        kind = generator.randrange(12)
        if kind == 0 and actual:
            actual.append(generator.choice(actual))
        elif kind == 1:
            actual.append(bytes(generator.choice([0, 1, 5000, 6000])))
        elif kind == 2:
            actual.append(generator.randbytes(generator.randint(0, 40)))
        else:
            data = bytearray(generator.choice(bases))
            for _ in range(generator.choice([1, 3, 10, 30])):
                at = generator.randrange(len(data))
                data[at : at + generator.randrange(3)] = generator.randbytes(generator.randrange(3))
            actual.append(bytes(data))
    return actual


@pytest.fixture(scope="module")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that every example fills."""
    return tmp_path_factory.mktemp("files")


def files_match(data: list[bytes], threshold: int) -> Any:
    """The definition of a match: equal bytes, or comparable digests that score at least the threshold."""
    digests = [nk.ssdeep.hash(chunk) for chunk in data]

    def match(a: int, b: int) -> bool:
        if data[a] == data[b]:
            return True
        both = is_comparable(digests[a]) and is_comparable(digests[b])
        return both and nk.ssdeep.compare(digests[a], digests[b]) >= threshold

    return match


def scores_of(data: list[bytes]) -> Any:
    """Return the function of the score of two files."""
    digests = [nk.ssdeep.hash(chunk) for chunk in data]
    return lambda a, b: nk.ssdeep.compare(digests[a], digests[b])


def absorb_best(order: list[int], match: Any, score: Any, num_old: int = 0) -> dict[int, int]:
    """The definition: each file joins the highest score among the kept ones before it, the old ones first."""
    of: dict[int, int] = {}
    for at, item in enumerate(order):
        others = [kept for kept in order[:at] if of[kept] == kept and match(kept, item)] if at >= num_old else []
        of[item] = max(
            [kept for kept in others if kept in order[:num_old]] or others, key=lambda k: score(k, item), default=item
        )
    return of


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(0, 40),
    threshold=st.sampled_from([1, 40, 80, 97, 100]),
    keep=st.sampled_from(["first", "last", "longest", "shortest", "max", "min", "newest", "oldest"]),
    cluster=st.sampled_from(["absorb", "components"]),
)
def test_clusters_equal_the_definition(
    example_folder: Path, seed: int, count: int, threshold: int, keep: str, cluster: str
) -> None:
    """Keep-then-absorb and components, every keep rule, against a plain walk over all pairs."""
    data = make_corpus(seed, count)
    generator = random.Random(seed)
    times = [generator.randrange(5) for _ in data]
    paths = [example_folder / f"{number:03}" for number in range(count)]
    for path, chunk, when in zip(paths, data, times, strict=True):
        path.write_bytes(chunk)
        os.utime(path, ns=(when * 10**9, when * 10**9))
    key = {
        "first": lambda i: i,
        "last": lambda i: -i,
        "longest": lambda i: (-len(data[i]), i),
        "shortest": lambda i: (len(data[i]), i),
        "max": lambda i: (-times[i], i),
        "min": lambda i: (times[i], i),
        "newest": lambda i: (-times[i], i),
        "oldest": lambda i: (times[i], i),
    }[keep]
    order = sorted((i for i in range(count) if data[i]), key=key)
    match = files_match(data, threshold)
    distinct = [i for at, i in enumerate(order) if all(data[i] != data[j] for j in order[:at])]
    expected = components(distinct, match) if cluster != "absorb" else absorb_best(distinct, match, scores_of(data))
    of = {i: expected[next(j for j in distinct if data[i] == data[j])] for i in order}
    result = nk.dedup_files(
        paths,
        threshold=threshold,
        keep=keep,
        cluster=cluster,  # type: ignore[arg-type]
        values=times if keep in ("max", "min") else None,
    )
    kept = [str(paths[i]) for i in range(count) if of.get(i, i) == i]
    assert kept == result.kept
    removed = {row["id"]: row for row in result.pairs.rows()}
    assert {str(paths[i]): str(paths[j]) for i, j in of.items() if i != j} == {
        name: row["representative"] for name, row in removed.items()
    }
    for i, j in of.items():
        if i != j:
            row = removed[str(paths[i])]
            score = nk.ssdeep.compare(nk.ssdeep.hash(data[i]), nk.ssdeep.hash(data[j]))
            assert (100 if data[i] == data[j] else score) == row["similarity"]
            assert 100 - score == row["distance"]
    if cluster == "absorb":
        again = nk.dedup_files(
            result.kept,
            threshold=threshold,
            keep=keep,
            values=[times[i] for i in range(count) if of.get(i, i) == i] if keep in ("max", "min") else None,
        )
        assert result.kept == again.kept


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(0, 24),
    old=st.integers(0, 6),
    threshold=st.sampled_from([1, 40, 90]),
    batch=st.sampled_from([2, 7, 4096]),
)
def test_a_removed_file_joins_its_best_match(
    example_folder: Path, seed: int, count: int, old: int, threshold: int, batch: int
) -> None:
    """Reference files come first; a pair that is labelled different is none; batches and ties change nothing."""
    data = list(filter(None, dict.fromkeys(make_corpus(seed, count + old))))
    old = min(old, len(data))
    paths = [str(example_folder / f"{number:03}") for number in range(len(data))]
    for path, chunk in zip(paths, data, strict=True):
        Path(path).write_bytes(chunk)
    pairs = [sorted(random.Random(seed + at).choices(range(len(data) or 1), k=2)) for at in range(6)]
    apart = [(a, b) for a, b in pairs if a < b and b >= old]
    similar = files_match(data, threshold)
    expected = absorb_best(
        [*range(len(data))], lambda a, b: (a, b) not in apart and similar(a, b), score := scores_of(data), old
    )
    labels = [(paths[a], paths[b], False) for a, b in apart]
    with patch.object(cluster_rules, "_BATCH", batch):
        result = nk.dedup_files(paths[old:], against=paths[:old], threshold=threshold, labels=labels or None)
    assert [(paths[i], paths[k], score(i, k)) for i, k in expected.items() if i != k] == sorted(
        (row["id"], row["representative"], row["similarity"]) for row in result.pairs.rows()
    )


@pytest.mark.parametrize("family", ["ssdeep", "fuzzy"])
def test_a_script_joins_the_script_that_it_was_made_of(family: Any, tmp_path: Path) -> None:
    """The most similar text wins, although an earlier file is above the threshold, too; the kept files are the same."""
    generator = random.Random(1)
    words = ["".join(generator.choices("abcdefghij", k=6)) for _ in range(160)]
    lines = [f"{name}({value!r});" for name, value in zip(words, words[::-1], strict=True)]
    for name, start in (("a.php", 0), ("b.php", 60), ("c.php", 40)):
        (tmp_path / name).write_text("<?php\n" + "\n".join(lines[start : start + 100]))
    first, best, hidden = sorted(map(str, tmp_path.iterdir()))
    for others in ([first, best], [first]):
        result = nk.dedup_files([*others, hidden], family=family, also="text", text_threshold=0.4)
        assert others == result.kept
        assert [(hidden, others[-1])] == [(row["id"], row["representative"]) for row in result.pairs.rows()]


def test_many_files_are_processed_in_batches(tmp_path: Path) -> None:
    """More tiny files than a batch of any stage, on one and on two threads."""
    base = random.Random(0).randbytes(4096)
    paths = []
    for number in range(5000):
        path = tmp_path / f"{number:04}"
        path.write_bytes(base if number % 100 == 0 else number.to_bytes(4, "big") * 2)
        paths.append(path)
    result = nk.dedup_files(paths)
    assert 5000 - 49 == len(result.kept)
    assert {"exact": 49, "near": 0, "exact-old": 0, "near-old": 0} == result.summary["removed_by_reason"]


def test_reference_files_remove_their_matches(tmp_path: Path) -> None:
    """Exact and near ones, and the tables name them."""
    generator = random.Random(3)
    old, other = generator.randbytes(8000), generator.randbytes(8000)
    files = {"old": old, "copy": old, "edited": old[:4000] + b"!" + old[4000:], "other": other, "again": other + b"!"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    new = [tmp_path / name for name in ("copy", "edited", "other", "again")]
    result = nk.dedup_files(new, against=[tmp_path / "old"])
    assert [str(tmp_path / "other")] == result.kept
    assert ["exact-old", "near-old"] == [row["reason"] for row in result.clusters.rows() if "old" in row["reason"]]
    assert {str(tmp_path / "old"), str(tmp_path / "other")} == set(result.pairs["representative"])


def test_normalised_files_are_near_duplicates(tmp_path: Path) -> None:
    """Two texts that differ only in line ends and white space are equal."""
    words = [f"word{i}" for i in range(3000)]
    (tmp_path / "a").write_text("\n".join(words))
    (tmp_path / "b").write_bytes("\r\n  ".join(words).encode())
    paths = [tmp_path / "a", tmp_path / "b"]
    assert 2 == len(nk.dedup_files(paths).kept)
    result = nk.dedup_files(paths, recipe="lines+space|ssdeep", threshold=100)
    assert ([str(tmp_path / "a")], "lines+space|ssdeep") == (result.kept, result.summary["recipe"])


def test_unreadable_files_are_left_out_on_request(tmp_path: Path) -> None:
    """Without on_error the first exception is raised; with it `values` remain aligned."""
    os.mkfifo(tmp_path / "fifo")
    base = random.Random(5).randbytes(6000)
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(base)
    paths = [tmp_path / "fifo", tmp_path / "a", tmp_path / "none", tmp_path / "b"]
    with pytest.raises(InputError, match="not a regular file"):
        nk.dedup_files(paths)
    failed: list[str] = []
    result = nk.dedup_files(
        paths, keep="max", values=[9, 1, 8, 2], on_error=lambda path, error: failed.append(Path(path).name)
    )
    assert (["fifo", "none"], [str(tmp_path / "b")]) == (failed, result.kept)
    assert 2 == result.summary["unreadable"]


# Keep rules


def similar_files(draw: random.Random, lengths: list[int]) -> list[bytes]:
    """Return different files with the given lengths, 6,000 bytes and more, that are all near-duplicates."""
    base = random.Random(11).randbytes(6000)
    built: list[bytes] = []
    for number, length in enumerate(lengths):
        data = bytearray(base)
        data[100 * number + draw.randrange(100)] ^= 1 + draw.randrange(255)
        built.append(bytes(data) + bytes(length))
    return built


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(0, 1), min_size=2, max_size=6),
    keep=st.sampled_from(["longest", "shortest", "oldest", "newest", "max", "min"]),
)
def test_ties_are_broken_by_path_whatever_the_order(
    example_folder: Path, seed: int, lengths: list[int], keep: str
) -> None:
    """For equal lengths, times and values the smallest path is kept, not the first one."""
    draw = random.Random(seed)
    times = [draw.randrange(2) for _ in lengths]
    keys: dict[str, tuple[int, str]] = {}
    files = []
    for number, (data, when) in enumerate(zip(similar_files(draw, lengths), times, strict=True)):
        path = example_folder / f"tie{number}"
        path.write_bytes(data)
        os.utime(path, ns=(when, when))
        key = len(data) if keep in ("longest", "shortest") else when
        keys[str(path)] = (-key if keep in ("longest", "newest", "max") else key, str(path))
        files.append((path, when))
    draw.shuffle(files)
    values = [when for _, when in files] if keep in ("max", "min") else None
    result = nk.dedup_files([path for path, _ in files], threshold=1, keep=keep, values=values)
    assert [min(keys, key=lambda name: keys[name])] == result.kept


def test_times_are_compared_by_the_nanosecond(tmp_path: Path) -> None:
    """A current time has 61 bits, more than a float; files with a difference of one nanosecond still have an order."""
    start = 1_700_000_000_000_000_000
    paths = [tmp_path / name for name in "abc"]
    for path, late in zip(paths, (1, 0, 2), strict=True):
        path.write_bytes(random.Random(1).randbytes(4000))
        os.utime(path, ns=(start + late, start + late))
    if [start + 1, start, start + 2] != [path.stat().st_mtime_ns for path in paths]:
        pytest.skip("the file system keeps coarser times")
    assert [str(paths[1])] == nk.dedup_files(paths, keep="oldest").kept
    assert [str(paths[2])] == nk.dedup_files(paths, keep="newest").kept


@pytest.mark.filterwarnings("ignore:.*have no value in column")
def test_missing_values_come_last_in_both_directions(tmp_path: Path) -> None:
    """None and NaN are neither large nor small; among them the smallest path is kept."""
    paths = [tmp_path / name for name in "abcd"]
    for path in paths:
        path.write_bytes(random.Random(2).randbytes(4000))
    values = [None, float("nan"), 2.5, -1]
    assert [str(paths[2])] == nk.dedup_files(paths, keep="max", values=values).kept
    assert [str(paths[3])] == nk.dedup_files(paths, keep="min", values=values).kept
    assert [str(paths[0])] == nk.dedup_files(paths[1::-1], keep="min", values=[float("nan"), None]).kept
    assert [str(paths[1])] == nk.dedup_files(paths, keep="max", values=np.array([1, 9, 3, 4])).kept


# Files without information, and unreadable files


def test_empty_files_are_always_kept(tmp_path: Path) -> None:
    """Equal empty files are in no cluster; no files at all give an empty result."""
    paths = [tmp_path / name for name in "abc"]
    for path in paths:
        path.write_bytes(b"")
    result = nk.dedup_files(paths[1:], against=paths[:1], threshold=1, links="all")
    assert list(map(str, paths[1:])) == result.kept
    assert ([], []) == (list(result.clusters.rows()), list(result.pairs.rows()))
    nothing = nk.dedup_files(iter(()))
    assert ([], 0, 0) == (nothing.kept, nothing.summary["documents"], nothing.summary["unreadable"])


def test_files_without_a_digest_match_by_equal_bytes_alone(tmp_path: Path) -> None:
    """Zeros of two lengths have one digest, as tiny files may; only equal bytes match, at any threshold."""
    data = {"a": bytes(5000), "b": bytes(6000), "c": b"x", "d": b"x", "e": bytes(5000)}
    for name, chunk in data.items():
        (tmp_path / name).write_bytes(chunk)
    assert nk.ssdeep.hash(data["a"]).split(":")[1:] == nk.ssdeep.hash(data["b"]).split(":")[1:]
    result = nk.dedup_files([tmp_path / name for name in data], threshold=1, cluster="components")
    assert ["a", "b", "c"] == [Path(name).name for name in result.kept]
    assert [("d", "c", "exact", 100.0), ("e", "a", "exact", 100.0)] == sorted(
        (Path(row["id"]).name, Path(row["representative"]).name, row["reason"], row["similarity"])
        for row in result.clusters.rows()
        if row["reason"] != "kept"
    )


@pytest.mark.parametrize("recipe", ["ssdeep", "lines+space|ssdeep"])
def test_every_unreadable_file_is_reported_once(tmp_path: Path, recipe: str) -> None:
    """Directories, broken links and missing files: the unchanged path and the exception; times remain aligned."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    text = "".join(f"line {number} of a text\n" for number in range(500)).encode()
    for name, when in (("new", 30), ("old", 20), ("older", 10)):
        (tmp_path / name).write_bytes(text)
        os.utime(tmp_path / name, (when, when))
    reported: list[tuple[str, type]] = []
    paths = [tmp_path / name for name in ("folder", "new", "missing", "old", "link")]
    result = nk.dedup_files(
        paths,
        keep="oldest",
        recipe=recipe,
        against=[tmp_path / "gone"],
        on_error=lambda path, error: reported.append((Path(path).name, type(error))),
    )
    assert [
        ("folder", InputError),
        ("missing", MissingFileError),
        ("link", MissingFileError),
        ("gone", MissingFileError),
    ] == reported
    assert ([str(tmp_path / "old")], 3) == (result.kept, result.summary["unreadable"])
    with pytest.raises(FileNotFoundError, match="gone"):
        nk.dedup_files(paths[1:2], recipe=recipe, against=[tmp_path / "gone"])


def test_a_file_removed_before_its_time_is_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other files keep their times."""
    paths = [tmp_path / name for name in "abc"]
    for path, when in zip(paths, (1, 3, 2), strict=True):
        path.write_bytes(b"the same bytes")
        os.utime(path, (when, when))

    def hash_and_remove(*arguments: Any) -> Any:
        actual = ssdeep_hash_contents(*arguments)
        paths[0].unlink()
        return actual

    monkeypatch.setattr(files, "ssdeep_hash_contents", hash_and_remove)
    reported: list[str] = []
    result = nk.dedup_files(paths, keep="oldest", on_error=lambda path, error: reported.append(path))
    assert ([str(paths[0])], [str(paths[2])], 1) == (reported, result.kept, result.summary["unreadable"])


def test_exceptions_of_callbacks_end_the_run(tmp_path: Path) -> None:
    """Of on_error and of progress."""
    (tmp_path / "a").write_bytes(b"a")

    def stop(*_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        nk.dedup_files([tmp_path / "missing"], on_error=stop)
    with pytest.raises(RuntimeError, match="enough"):
        nk.dedup_files([tmp_path / "a"], progress=stop)


# Thresholds and links


def test_thresholds_are_inclusive(tmp_path: Path) -> None:
    """At the score of a pair its second file is removed, one above it is kept; at 100 white space may differ."""
    item = random.Random(4).randbytes(8000)
    two = item[:2000] + b"some other bytes" + item[2000:5000] + item[5100:]
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, data in zip(paths, (item, two), strict=True):
        path.write_bytes(data)
    score = nk.ssdeep.compare(nk.ssdeep.hash(item), nk.ssdeep.hash(two))
    assert 1 < score < 100
    assert (1, 2) == tuple(len(nk.dedup_files(paths, threshold=minimum).kept) for minimum in (score, score + 1))
    assert 1 == len(nk.dedup_files(paths, threshold=float(score)).kept)  # type: ignore[arg-type]
    assert [float(score)] == nk.dedup_files(paths, threshold=score).pairs["similarity"]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), count=st.integers(0, 16), threshold=st.sampled_from([1, 60, 90, 100]))
def test_all_links_equal_the_definition(example_folder: Path, seed: int, count: int, threshold: int) -> None:
    """Every two matching contents by their first files, each copy with its original, with scores."""
    data = make_corpus(seed, count)
    paths = [example_folder / f"link{number:02}" for number in range(count)]
    for path, chunk in zip(paths, data, strict=True):
        path.write_bytes(chunk)
    match = files_match(data, threshold)
    first = [data.index(chunk) for chunk in data]
    expected = {}
    for j in range(count):
        for i in range(j):
            if data[i] and (first[j] == i or (first[i] == i and first[j] == j and match(i, j))):
                score = nk.ssdeep.compare(nk.ssdeep.hash(data[i]), nk.ssdeep.hash(data[j]))
                expected[str(paths[i]), str(paths[j])] = 100.0 if data[i] == data[j] else float(score)
    rows = list(nk.dedup_files(paths, threshold=threshold, cluster="components", links="all").pairs.rows())
    assert len(expected) == len(rows)
    assert expected == {tuple(sorted((row["left"], row["right"]))): row["similarity"] for row in rows}


# Reference files


def test_reference_files_may_be_any_iterable_even_the_same_files(tmp_path: Path) -> None:
    """An empty one removes nothing, and a file is removed for itself as an exact copy."""
    paths = [tmp_path / name for name in "abc"]
    for number, path in enumerate(paths):
        path.write_bytes(random.Random(number).randbytes(4000))
    assert list(map(str, paths)) == nk.dedup_files(paths, against=iter(())).kept
    result = nk.dedup_files(paths, against=(path for path in tmp_path.iterdir() if path.name != "b"))
    assert [str(paths[1])] == result.kept
    assert {(str(path), str(path)) for path in (paths[0], paths[2])} == set(
        zip(result.pairs["id"], result.pairs["representative"], strict=True)
    )
    with pytest.raises(InputError, match="not a regular file"):
        nk.dedup_files(paths, against=[tmp_path])
    with pytest.raises(InputError, match=r"against_ids: id '.*' occurs in rows 0 and 1"):
        nk.dedup_files(paths, against=[paths[0], str(paths[0])])


# Progress, names, messages


def write_hubs(folder: Path, count: int) -> list[Path]:
    """Write different files with a common part."""
    rng = random.Random(3)
    common = rng.randbytes(6000)
    paths = [folder / str(number) for number in range(count)]
    for path in paths:
        path.write_bytes(common + rng.randbytes(6000))
    return paths


@pytest.mark.parametrize("rule", ["absorb", "components"])
def test_hubs_beyond_the_bound_are_skipped_and_counted(tmp_path: Path, rule: Any) -> None:
    """Files with a common part: by default all are looked up; with a lower bound a warning counts the skipped ones."""
    paths = write_hubs(tmp_path, 8)
    full = nk.dedup_files(paths, threshold=1, cluster=rule)
    assert 0 == full.summary["skipped"]
    assert [str(paths[0])] == full.kept
    with pytest.warns(RuntimeWarning, match=r"look-ups were left out, .*skip_hubs=2 digests") as reported:
        result = nk.dedup_files(paths, threshold=1, cluster=rule, skip_hubs=2)
    assert __file__ == reported[0].filename
    assert result.summary["skipped"] > 0
    assert [str(reported[0].message)] == result.summary["warnings"]
    assert len(result.kept) > 1
    with pytest.raises(ParameterError, match="skip_hubs"):
        nk.dedup_files(paths, skip_hubs=0)


@pytest.mark.parametrize("against", ["paths", "store", "waiting store"])
def test_hubs_among_reference_files_are_skipped_and_counted(tmp_path: Path, against: str) -> None:
    """Files and a store of files give the same warning and count."""
    paths = write_hubs(tmp_path, 9)
    old, new = paths[:8], paths[8:]
    reference: Any = old
    if against != "paths":
        reference = nk.Store.create(tmp_path / "files.store", recipe="ssdeep", threshold=100)
        reference.add([str(path) for path in old], kind="paths")
        if against == "store":
            reference.merge()
    threshold = 100 if isinstance(reference, nk.Store) else 1
    assert 0 == nk.dedup_files(new, threshold=threshold, against=reference).summary["skipped"]
    with pytest.warns(RuntimeWarning, match=r"look-ups were left out, .*skip_hubs=2 digests") as reported:
        result = nk.dedup_files(new, threshold=threshold, against=reference, skip_hubs=2)
    assert __file__ == reported[0].filename
    assert result.summary["skipped"] > 0
    assert [str(reported[0].message)] == result.summary["warnings"]
    assert list(map(str, new)) == result.kept
    assert 0 == nk.dedup_files(new, threshold=threshold, against=reference, skip_hubs=None).summary["skipped"]


def test_hubs_among_listed_links_are_counted(tmp_path: Path) -> None:
    """With all links an index of all files is searched again, and its skipped look-ups count."""
    paths = write_hubs(tmp_path, 4)
    with pytest.warns(RuntimeWarning, match="look-ups were left out"):
        chunk = nk.dedup_files(paths, threshold=1, skip_hubs=2)
    with pytest.warns(RuntimeWarning, match="look-ups were left out"):
        all_links = nk.dedup_files(paths, threshold=1, skip_hubs=2, links="all")
    assert all_links.summary["skipped"] > chunk.summary["skipped"] > 0


def test_progress_counts_every_file(tmp_path: Path) -> None:
    """Batches of new and then of reference files, each to its total; then decisions, from 0 to the total."""
    paths = [tmp_path / f"{number:03}" for number in range(600)]
    for number, path in enumerate(paths):
        path.write_bytes(b"%d" % (number % 500))
    reported: list[tuple[str, int, int | None]] = []
    nk.dedup_files(paths, against=[paths[0]], progress=lambda *event: reported.append(event))
    hashed = [event[1:] for event in reported if event[0] == "hash"]
    assert [(256, 600), (512, 600), (600, 600)] == hashed
    decided = [event[1:] for event in reported if event[0] == "cluster"]
    assert reported == [*(("hash", *event) for event in hashed), ("hash older", 1, 1),
                    *(("cluster", *event) for event in decided)]  # fmt: skip
    assert (0, 499) == decided[0]
    assert (499, 499) == decided[-1]
    assert sorted(decided) == decided


ODD_NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(ODD_NAMES, min_size=2, max_size=5, unique=True), keep=st.sampled_from(["first", "shortest"]))
def test_names_of_any_bytes_are_returned_unchanged(example_folder: Path, names: list[bytes], keep: str) -> None:
    """White space, dashes, control characters, and bytes that are not UTF-8; as ids and representatives."""
    folder = example_folder / "odd"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    paths = [folder / os.fsdecode(name) for name in names]
    for path in paths:
        path.write_bytes(b"the same bytes")
    result = nk.dedup_files(paths, keep=keep)
    kept = str(paths[0]) if keep == "first" else min(map(str, paths))
    assert [kept] == result.kept
    assert {str(path) for path in paths} - {kept} == set(result.pairs["id"])
    assert {kept} == set(result.pairs["representative"])


def test_messages_have_the_value_and_what_is_allowed(tmp_path: Path) -> None:
    """Word for word, before any file is read."""
    missing = [tmp_path / "missing"]
    keeps = "first, last, longest, shortest, oldest, newest, max:COLUMN or min:COLUMN, "
    keeps += "or several separated by commas; or none"
    values = 'numbers with keep="max" or keep="min"'
    for options, message in (
        ({"threshold": 0}, "threshold=0 is not allowed; use a whole score from 1 to 100, inclusive"),
        ({"threshold": 101}, "threshold=101 is not allowed; use a whole score from 1 to 100, inclusive"),
        ({"threshold": 0.8}, "threshold=0.8 is not allowed; use a whole score from 1 to 100, inclusive"),
        ({"threshold": "80"}, "threshold='80' is not allowed; use a whole score from 1 to 100, inclusive"),
        ({"threshold": True}, "threshold=True is not allowed; use a whole score from 1 to 100, inclusive"),
        ({"keep": "best"}, f"keep='best' is not allowed; use {keeps}"),
        ({"cluster": None}, "cluster=None is not allowed; use absorb, components"),
        ({"links": "some"}, "links='some' is not allowed; use representatives, all"),
        ({"keep": "max"}, f"values=none is not allowed; use {values}"),
        ({"keep": "oldest", "values": [1]}, 'values=given is not allowed; use None unless keep is "max" or "min"'),
        ({"keep": "max:a", "values": [1]}, "values=values is not allowed; use a mapping with 'a'"),
        ({"keep": "max:a", "values": {"a": [1], "b": [1]}}, "values=b is not allowed; use columns that keep names"),
        ({"keep": "min", "values": [1, 2]}, "values=2 values is not allowed; use 1 values, one per path"),
    ):
        with pytest.raises(ParameterError) as raised:
            nk.dedup_files(missing, **options)
        assert message == str(raised.value)
    actual = tmp_path / "a"
    actual.write_bytes(b"a")
    with pytest.raises(
        ParameterError,
        match=r"^against='.*' is not allowed; use an iterable of paths, such as a list or a column of a frame$",
    ):
        nk.dedup_files([actual], against=str(actual))
    with pytest.raises(ParameterError, match="recipe=char:4"):
        nk.dedup_files([actual], recipe="char:4")
    with pytest.raises(InputError, match="occurs in rows 0 and 1"):
        nk.dedup_files([actual, actual])
    wrong: list[Any] = [actual, str(actual), None, 3]
    for paths in wrong:
        with pytest.raises(ParameterError, match=r"^paths=.* is not allowed; use an iterable of paths"):
            nk.dedup_files(paths)
    entries: list[Any] = [os.fsencode(actual), 3, None]
    for path in entries:
        with pytest.raises(ParameterError) as raised:
            nk.dedup_files([actual, path])
        allowed = "paths as str or os.PathLike; os.fsdecode makes one of bytes"
        assert f"paths={path!r} is not allowed; use {allowed}" == str(raised.value)


def test_releases_of_a_file_are_found(shared: Path, tmp_path: Path) -> None:
    """Clusters of real variants contain releases of one file, and equal the definition on all pairs."""
    with lzma.open(shared / "data" / "files_variants.tar.xz") as packed, tarfile.open(fileobj=packed) as archive:
        archive.extractall(tmp_path, filter="data")
    paths = sorted(path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink())
    result = nk.dedup_files(paths, threshold=60)
    data = [path.read_bytes() for path in paths]
    match = files_match(data, 60)
    distinct = [i for i in range(len(paths)) if data[i] and data.index(data[i]) == i]
    expected = absorb_best(distinct, match, scores_of(data))
    of = {i: expected[data.index(data[i])] for i in range(len(paths)) if data[i]}
    assert {str(paths[i]): str(paths[j]) for i, j in of.items() if i != j} == dict(
        zip(result.pairs["id"], result.pairs["representative"], strict=True)
    )
    assert result.summary["removed"] > 100
    shutil.rmtree(tmp_path)
    assert np.isfinite(result.clusters["similarity"]).all()


def test_a_name_with_a_zero_byte_is_a_typed_error(tmp_path: Path) -> None:
    """It is raised or reported as an input error, and the other files are read."""
    (tmp_path / "a").write_bytes(b"some bytes")
    bad = str(tmp_path / "b\0c")
    with pytest.raises(InputError, match=r"b\\x00c: the name has a NUL byte, which no file name can have$"):
        nk.dedup_files([bad])
    reported: list[tuple[str, type]] = []
    result = nk.dedup_files([bad, tmp_path / "a"], on_error=lambda path, error: reported.append((path, type(error))))
    assert ([str(tmp_path / "a")], [(bad, InputError)]) == (result.kept, reported)
    with pytest.raises(InputError):
        nk.HammingIndex.open(bad)
    with pytest.raises(InputError):
        nk.ssdeep.hash(bad)
    for actual in nk.ssdeep.hash_files([bad], on_error="return"):
        assert isinstance(actual, InputError)


SCRIPT = (
    "<?php\n$pass = 'secret';\nif ($_POST['p'] !== $pass) { die('no'); }\n$dir = getcwd();\n"
    "foreach (scandir($dir) as $entry) {\n    $size = filesize($dir . '/' . $entry);\n"
    "    echo htmlspecialchars($entry) . ' ' . $size . '<br>';\n}\necho date('Y-m-d');\n?>\n"
)


def make_scripts() -> dict[str, bytes]:
    """Return a script, variants of it, another script, a binary file and a copy."""
    wrapped = base64.b64encode(SCRIPT.encode()).decode()
    other = "import os\n" + "".join(f"print(os.environ.get('KEY{i}'), len('{i}'))\nwork_{i}(os)\n" for i in range(9))
    return {
        "a.php": SCRIPT.encode(),
        "base64.php": f"<?php eval(base64_decode('{wrapped}')); ?>".encode(),
        "commented.php": SCRIPT.replace(";\n", "; // a remark\n").encode(),
        "copy.php": SCRIPT.encode(),
        "data.bin": random.Random(0).randbytes(3000),
        "other.py": other.encode(),
        "renamed.php": SCRIPT.replace("$dir", "$q1").replace("$entry", "$zz").replace("secret", "f00").encode(),
    }


def test_short_texts_are_near_by_their_features(tmp_path: Path) -> None:
    """Each link names its evidence; equal bytes collapse first."""
    for name, data in make_scripts().items():
        (tmp_path / name).write_bytes(data)
    paths = sorted(map(str, tmp_path.iterdir()))
    alone = nk.dedup_files(paths)
    assert "evidence" not in alone.clusters.columns
    result = nk.dedup_files(paths, also="text")
    assert ["a.php", "data.bin", "other.py"] == [Path(path).name for path in result.kept]
    rows = {Path(row["id"]).name: row for row in result.clusters.rows()}
    assert {"a.php", "base64.php", "commented.php", "copy.php", "renamed.php"} == set(rows)
    assert ("", "bytes") == (rows["a.php"]["evidence"], rows["copy.php"]["evidence"])
    for name in ("base64.php", "renamed.php"):
        likeness = rows[name]["evidence"].rpartition("text ")[2]
        assert 0.6 <= float(likeness) <= 1
        assert abs(100 * float(likeness) - rows[name]["similarity"]) <= 0.5 or "ssdeep" in rows[name]["evidence"]
        assert round(100 - rows[name]["similarity"]) == rows[name]["distance"]
    assert [row["evidence"] for row in rows.values() if row["reason"] != "kept"] == result.pairs["evidence"]
    assert {"also": "text", "text_threshold": 0.6} == {key: result.summary[key] for key in ("also", "text_threshold")}
    assert len(alone.kept) > len(result.kept)


def inflate(data: bytes) -> bytes:
    """Compress without a header, as `gzinflate` reads it."""
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    return stream.compress(data) + stream.flush()


def wrapped(kind: str, data: bytes) -> bytes:
    """Return code that evaluates a script."""
    text = {
        "deflate": b"gzinflate(base64_decode('%s'))" % base64.b64encode(inflate(data)),
        "zlib": b'gzuncompress( base64_decode("%s") )' % base64.b64encode(zlib.compress(data)),
        "rot13": b"str_rot13('%s')"
        % codecs.encode(data.decode("latin-1"), "rot13").replace("'", "\\'").encode("latin-1"),
        "reversed": b"base64_decode(STRREV('%s'))" % base64.b64encode(data)[::-1],
        "characters": b".".join(b"chr(%d)" % byte for byte in data),
        "character codes": b"String.fromCharCode(%s)" % b", ".join(b"0x%x" % byte for byte in data),
        "hexadecimal": b"pack('H*', '%s')" % data.hex().encode(),
        "escapes": b'base64_decode("%s")' % b"".join(b"\\x%02x" % byte for byte in base64.b64encode(data)),
        "parts": b"base64_decode('%s'.'%s')" % (base64.b64encode(data)[:40], base64.b64encode(data)[40:]),
        "variable": b"gzinflate(base64_decode($code))",
        "cut": b"gzinflate(base64_decode('%s'))" % base64.b64encode(inflate(data)[:-9]),
    }[kind]
    return b"<?php eval(%s);" % text


WRAPPERS = ("deflate", "zlib", "rot13", "reversed", "characters", "character codes", "hexadecimal", "escapes", "parts")


@pytest.mark.parametrize("kind", WRAPPERS)
def test_wrappers_of_literals_are_undone(kind: str, tmp_path: Path) -> None:
    """Once, and within another one; the file is near the plain script by its text."""
    script = SCRIPT.encode()
    for name, data in (
        ("a.php", script),
        ("b.php", wrapped(kind, script)),
        ("c.php", wrapped("deflate", wrapped(kind, script))),
        ("d.php", wrapped("reversed", wrapped("hexadecimal", wrapped(kind, script)))),
    ):
        (tmp_path / name).write_bytes(data)
        assert script in undo_wrappers(data, 1 << 16)
    result = nk.dedup_files(sorted(tmp_path.iterdir()), also="text")
    assert ["a.php"] == [Path(path).name for path in result.kept]


@pytest.mark.parametrize(
    "data",
    [
        b"strrev($name); gzinflate(base64_decode($code)); 'a' . 'b'",
        wrapped("variable", b"x"),
        wrapped("cut", SCRIPT.encode()),
        b"gzinflate(base64_decode('%s'))" % base64.b64encode(inflate(b"a" * 10**6)),
        b"base64_decode('%s')" % base64.b64encode(bytes(range(256))),
        b"my_base64_decode('YWJj'); chr($n); base64_decode()",
        b"\0 chr(65)",
        b"chr(" * 9999,
        b"chr(%s)" % (b"9" * 5000),
    ],
)
def test_what_is_no_wrapper_of_a_literal_stays(data: bytes) -> None:
    """Variables, damaged and binary values, and values beyond the limit."""
    assert data == undo_wrappers(data, 1 << 16)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_script(data: bytes) -> None:
    """No input fails, and what is undone stays undone."""
    for script in (data, wrapped("characters", data), wrapped("hexadecimal", data)):
        result = undo_wrappers(script, 1 << 12)
        assert len(result) <= max(len(script), 1 << 12)
        assert b"\0" in script or b"\0" not in result


@pytest.mark.parametrize("cluster", ["absorb", "components"])
def test_both_families_equal_their_definitions(tmp_path: Path, cluster: Any) -> None:
    """All links are those of scores and of features; a second run removes nothing."""
    data = [*make_scripts().values(), *make_corpus(5, 9)]
    for number, chunk in enumerate(data):
        (tmp_path / f"{number:02d}").write_bytes(chunk)
    paths = sorted(map(str, tmp_path.iterdir()))
    result = nk.dedup_files(paths, threshold=40, also="text", text_threshold=0.5, cluster=cluster, links="all")
    digests = [nk.ssdeep.hash(chunk) for chunk in data]
    features = [_features(undo_wrappers(chunk, 1 << 16)) for chunk in data]
    expected = {}
    for right, left in itertools.combinations(range(len(data))[::-1], 2):
        if data[left] == data[right] or data[left] in data[:left] or data[right] in data[:right]:
            continue
        score = nk.ssdeep.compare(digests[left], digests[right], strict=False) if is_comparable(digests[left]) else 0
        score = score if is_comparable(digests[right]) else 0
        near = feature_similarity(features[left], features[right])
        parts = [f"ssdeep {score}"] * (score >= 40) + [f"text {near:.2f}".replace("0.", ".")] * (near >= 0.5)
        if parts and len(data[left]) and len(data[right]):
            expected[paths[left], paths[right]] = ", ".join(parts)
    actual = {(row["left"], row["right"]): row["evidence"] for row in result.pairs.rows() if row["evidence"] != "bytes"}
    assert expected == actual
    assert any("text" in text for text in actual.values())
    assert any("ssdeep" in text for text in actual.values())
    again = nk.dedup_files(result.kept, threshold=40, also="text", text_threshold=0.5, cluster=cluster)
    assert result.kept == again.kept


def _features(data: bytes) -> Any:
    return script_features((np.array([0, len(data)], np.int64), np.frombuffer(data, np.uint8)))[0]


def test_reference_files_are_compared_by_their_texts(tmp_path: Path) -> None:
    """Paths in `against` have texts; a store only has digests, and is refused."""
    for name, data in make_scripts().items():
        (tmp_path / name).write_bytes(data)
    new, old = [str(tmp_path / "renamed.php"), str(tmp_path / "copy.php")], [str(tmp_path / "a.php")]
    result = nk.dedup_files(new, against=old, also="text")
    assert [] == result.kept
    rows = {Path(row["id"]).name: (row["reason"], row["evidence"].split(" ")[0]) for row in result.clusters.rows()}
    assert {"copy.php": ("exact-old", "bytes"), "renamed.php": ("near-old", "text")} == rows
    with nk.Store.create(tmp_path / "store", recipe="ssdeep") as store:
        with pytest.raises(ParameterError, match="digests of its files and no texts"):
            nk.dedup_files(new, against=store, also="text")
        with pytest.raises(ParameterError, match="digests of its files and no texts"):
            nk.dedup_files(new, store=store, also="text")


def test_options_of_texts_are_checked(tmp_path: Path) -> None:
    """Another family, a threshold without one or out of range, a file that changes while it is read."""
    path = tmp_path / "a.php"
    path.write_text(SCRIPT)
    with pytest.raises(ParameterError, match="also='words'"):
        nk.dedup_files([path], also="words")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="None, or also='text' with it"):
        nk.dedup_files([path], text_threshold=0.5)
    for threshold in (0, 1.5, True, "x"):
        with pytest.raises(ParameterError, match="text_threshold"):
            nk.dedup_files([path], also="text", text_threshold=threshold)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="it changed while it was read"):
        files._read_features(str(path), 7)
    assert files._read_features(str(path), files.MAX_TEXT_BYTES + 1) is None
