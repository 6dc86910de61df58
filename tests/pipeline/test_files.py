"""Deduplication of files: nearkin.dedup_files and `nearkin dedup --family ssdeep`."""

from __future__ import annotations

import json
import lzma
import os
import random
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nearkin as nk
from nearkin.errors import InputError, MismatchError, ParameterError
from nearkin.pipeline.candidates.ssdeep import is_comparable
from reference import absorb, components


def corpus(seed: int, count: int) -> list[bytes]:
    """Copies of a few bases with edits of many sizes, exact copies, tiny, constant and empty files."""
    generator = random.Random(seed)
    bases = [generator.randbytes(generator.randint(3000, 9000)) for _ in range(3)]
    found: list[bytes] = []
    for _ in range(count):
        kind = generator.randrange(12)
        if kind == 0 and found:
            found.append(generator.choice(found))
        elif kind == 1:
            found.append(bytes(generator.choice([0, 1, 5000, 6000])))
        elif kind == 2:
            found.append(generator.randbytes(generator.randint(0, 40)))
        else:
            data = bytearray(generator.choice(bases))
            for _ in range(generator.choice([1, 3, 10, 30])):
                at = generator.randrange(len(data))
                data[at : at + generator.randrange(3)] = generator.randbytes(generator.randrange(3))
            found.append(bytes(data))
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that every example fills anew."""
    return tmp_path_factory.mktemp("files")


def matches(data: list[bytes], threshold: int) -> Any:
    """The definition of a match: equal bytes, or digests that speak and score at least the threshold."""
    digests = [nk.ssdeep.hash(some) for some in data]

    def match(a: int, b: int) -> bool:
        if data[a] == data[b]:
            return True
        both = is_comparable(digests[a]) and is_comparable(digests[b])
        return both and nk.ssdeep.compare(digests[a], digests[b]) >= threshold

    return match


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(0, 40),
    threshold=st.sampled_from([1, 40, 80, 97, 100]),
    keep=st.sampled_from(["first", "last", "longest", "shortest", "max", "min", "newest", "oldest"]),
    cluster=st.sampled_from(["absorb", "components"]),
)
def test_clusters_equal_the_definition(
    place: Path, seed: int, count: int, threshold: int, keep: str, cluster: str
) -> None:
    """Keep-then-absorb and components, every keep rule, against a plain walk over all pairs."""
    data = corpus(seed, count)
    generator = random.Random(seed)
    times = [generator.randrange(5) for _ in data]
    paths = [place / f"{number:03}" for number in range(count)]
    for path, some, when in zip(paths, data, times, strict=True):
        path.write_bytes(some)
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
    match = matches(data, threshold)
    distinct = [i for at, i in enumerate(order) if all(data[i] != data[j] for j in order[:at])]
    expected = (absorb if cluster == "absorb" else components)(distinct, match)
    of = {i: expected[next(j for j in distinct if data[i] == data[j])] for i in order}
    result = nk.dedup_files(
        paths,
        threshold=threshold,
        keep=keep,  # type: ignore[arg-type]
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
            keep=keep,  # type: ignore[arg-type]
            values=[times[i] for i in range(count) if of.get(i, i) == i] if keep in ("max", "min") else None,
        )
        assert result.kept == again.kept


def test_many_files_go_through_in_batches(tmp_path: Path) -> None:
    """More files than a batch of any stage holds, tiny ones, on one and on two threads."""
    base = random.Random(0).randbytes(4096)
    paths = []
    for number in range(5000):
        path = tmp_path / f"{number:04}"
        path.write_bytes(base if number % 100 == 0 else number.to_bytes(4, "big") * 2)
        paths.append(path)
    result = nk.dedup_files(paths)
    assert 5000 - 49 == len(result.kept)
    assert {"exact": 49, "near": 0, "exact-old": 0, "near-old": 0} == result.summary["removed_by_reason"]


def test_older_files_and_indexes_remove_what_matches_them(tmp_path: Path) -> None:
    """Paths and an index give the same survivors; an index of another recipe is refused."""
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
    index = nk.DigestIndex()
    index.add(["the old one"], [nk.ssdeep.hash(old)])
    by_index = nk.dedup_files(new, against=index)
    assert result.kept == by_index.kept
    assert ["the old one", "the old one", str(tmp_path / "other")] == by_index.pairs["representative"]
    with pytest.raises(MismatchError, match="recipe slot normalize"):
        nk.dedup_files(new, against=index, recipe="space|ssdeep")


def test_normalised_files_are_near_duplicates(tmp_path: Path) -> None:
    """Line ends and white space apart, two texts are one."""
    words = [f"word{i}" for i in range(3000)]
    (tmp_path / "a").write_text("\n".join(words))
    (tmp_path / "b").write_bytes("\r\n  ".join(words).encode())
    paths = [tmp_path / "a", tmp_path / "b"]
    assert 2 == len(nk.dedup_files(paths).kept)
    result = nk.dedup_files(paths, recipe="lines+space|ssdeep", threshold=100)
    assert ([str(tmp_path / "a")], "lines+space|ssdeep") == (result.kept, result.summary["recipe"])


def test_all_links_are_told_on_request(tmp_path: Path) -> None:
    """Every pair that matches, copies by their original."""
    base = random.Random(5).randbytes(6000)
    data = [base, base, base[:3000] + b"x" + base[3000:], base[:1000] + b"y" + base[1000:]]
    for number, some in enumerate(data):
        (tmp_path / str(number)).write_bytes(some)
    result = nk.dedup_files([tmp_path / str(number) for number in range(4)], links="all", threshold=50)
    names = [tuple(Path(row[side]).name for side in ("left", "right")) for row in result.pairs.rows()]
    assert [("0", "1"), ("0", "2"), ("0", "3"), ("2", "3")] == sorted(names)


def test_what_can_not_be_read_is_left_out_on_request(tmp_path: Path) -> None:
    """Without a function to tell, the first one is raised; with one the rest is done, and `values` stay aligned."""
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


def test_wrong_arguments_say_what_is_allowed(tmp_path: Path) -> None:
    """Thresholds, rules, values and paths out of their range."""
    (tmp_path / "a").write_bytes(b"a")
    paths = [tmp_path / "a"]
    for options in (
        {"threshold": 0},
        {"threshold": 0.8},
        {"threshold": 101},
        {"threshold": True},
        {"keep": "best"},
        {"cluster": "x"},
        {"links": "x"},
        {"keep": "max"},
        {"values": [1]},
        {"keep": "max", "values": [1, 2]},
        {"recipe": "char:4"},
    ):
        with pytest.raises(ParameterError):
            nk.dedup_files(paths, **options)
    with pytest.raises(ParameterError, match="an iterable of paths"):
        nk.dedup_files(str(tmp_path / "a"))
    with pytest.raises(InputError, match="occurs in rows 0 and 1"):
        nk.dedup_files(paths * 2)


def call(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    """The outcome of `nearkin dedup --family ssdeep`, in a process of its own."""
    command = [sys.executable, "-m", "nearkin", "dedup", "--family", "ssdeep", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False)


def test_the_command_writes_lists_tables_and_a_summary(tmp_path: Path) -> None:
    """Names of any bytes, links and FIFOs left out, an exit code that says so, output whole or absent."""
    folder, out = tmp_path / "in", tmp_path / "out"
    (folder / "deep").mkdir(parents=True)
    base = random.Random(7).randbytes(9000)
    odd = folder / "deep" / os.fsdecode(b"line\nend\xff")
    (folder / "a").write_bytes(base)
    odd.write_bytes(base[:5000] + b"edit" + base[5000:])
    (folder / "deep" / "other").write_bytes(random.Random(8).randbytes(9000))
    (folder / "link").symlink_to(folder / "a")
    (folder / "loop").symlink_to(folder)
    done = call(folder, "--out", out, "--json")
    assert (0, b"") == (done.returncode, done.stderr), done.stderr
    kept = [os.fsdecode(name) for name in (out / "kept.nul").read_bytes().split(b"\0")[:-1]]
    assert [str(folder / "a"), str(folder / "deep" / "other")] == kept
    assert os.fsencode(odd) + b"\0" == (out / "removed.nul").read_bytes()
    summary = json.loads(done.stdout)
    assert summary == json.loads((out / "summary.json").read_bytes())
    assert (3, 2, 1, "ssdeep", 80) == tuple(
        summary[name] for name in ("documents", "kept", "removed", "recipe", "threshold")
    )
    rows = [json.loads(line) for line in (out / "clusters.jsonl").read_text().splitlines()]
    assert ["kept", "near"] == [row["reason"] for row in rows]
    assert str(folder / "a") == rows[1]["representative"]
    assert 2 == call(folder, "--out", out).returncode
    os.mkfifo(folder / "fifo")
    done = call(folder, "--out", out, "--overwrite", "--quiet")
    assert 1 == done.returncode
    assert b"not a regular file" in done.stderr
    assert 1 == call(folder, "--out", tmp_path / "strict", "--strict").returncode
    assert not (tmp_path / "strict").exists()
    assert base == (folder / "a").read_bytes()


def test_the_command_refuses_options_of_texts(tmp_path: Path) -> None:
    """They would be ignored; an unknown family, and scores given as shares, too."""
    (tmp_path / "a").write_bytes(b"a")
    for options in (
        ["--verify", "indel"],
        ["--recall", 0.9],
        ["--bits", 64],
        ["--threshold", 0.8],
        ["--keep", "max:size"],
    ):
        done = call(tmp_path / "a", "--out", "-", *options)
        assert 2 == done.returncode, done.stderr
        assert b"Traceback" not in done.stderr
    assert 2 == call(tmp_path / "a", "--out", "-", "--family", "sdhash").returncode
    done = call(tmp_path / "a", "--out", "-")
    assert (0, os.fsencode(tmp_path / "a") + b"\0") == (done.returncode, done.stdout)


def test_releases_of_a_file_are_found(shared: Path, tmp_path: Path) -> None:
    """Real variants: clusters hold releases of one file, and equal the definition on all pairs."""
    with lzma.open(shared / "data" / "files_variants.tar.xz") as packed, tarfile.open(fileobj=packed) as archive:
        archive.extractall(tmp_path, filter="data")
    paths = sorted(path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink())
    result = nk.dedup_files(paths, threshold=60)
    data = [path.read_bytes() for path in paths]
    match = matches(data, 60)
    distinct = [i for i in range(len(paths)) if data[i] and data.index(data[i]) == i]
    expected = absorb(distinct, match)
    of = {i: expected[data.index(data[i])] for i in range(len(paths)) if data[i]}
    assert {str(paths[i]): str(paths[j]) for i, j in of.items() if i != j} == dict(
        zip(result.pairs["id"], result.pairs["representative"], strict=True)
    )
    assert result.summary["removed"] > 100
    shutil.rmtree(tmp_path)
    assert np.isfinite(result.clusters["similarity"]).all()
