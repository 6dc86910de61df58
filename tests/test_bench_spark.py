"""Benchmarks on engines: the corpus and its accuracy, and the measurement of a command with its children."""

from __future__ import annotations

import importlib
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import nearkin as nk
from nearkin.spark.estimate import FITTED

BENCH = Path(__file__).resolve().parents[1] / "bench"
DOCS = BENCH.parent / "docs" / "spark.md"
COUNT = 800


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a module of `bench/`."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


@pytest.fixture
def engines(bench: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return `spark_engines` with a corpus of random words."""
    module = bench("spark_engines")
    rng = np.random.default_rng(0)
    sentences = [" ".join(f"w{word}" for word in rng.integers(0, 1 << 20, 14)) for _ in range(2000)]
    monkeypatch.setattr(module.dedup.Corpus, "sentences", sentences)
    return module


def test_a_corpus_has_eight_files_and_a_truth(engines: Any, tmp_path: Path) -> None:
    """Ids are the numbers of the documents; a corpus is written once, and another one is refused."""
    folder = tmp_path / "c"
    engines.write_corpus(folder, COUNT, 1, tmp_path)
    table = pq.read_table(folder / "documents").sort_by("id")
    assert list(range(COUNT)) == table["id"].to_pylist()
    corpus = engines.dedup.Corpus(tmp_path, "en", "1000", 1)
    assert [corpus.text(number) for number in range(COUNT)] == table["text"].to_pylist()
    files = [pq.ParquetFile(path) for path in sorted((folder / "documents").iterdir())]
    assert [COUNT // 8] * 8 == [file.metadata.num_rows for file in files]
    written = (folder / "truth.npz").stat().st_mtime_ns
    engines.write_corpus(folder, COUNT, 1, tmp_path)
    assert written == (folder / "truth.npz").stat().st_mtime_ns
    with pytest.raises(SystemExit, match="another corpus"):
        engines.write_corpus(folder, COUNT, 2, tmp_path)


def test_a_search_finds_the_queries_that_were_planted(
    engines: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the queries are within 3 bits of a fingerprint; the row of a match has their distance."""
    monkeypatch.setattr(engines, "QUERIES", (100,))
    engines.write_fingerprints(tmp_path, 1000)
    (work := tmp_path / "work").mkdir()
    engines.search_child("local", tmp_path, work, 100)
    found = pq.read_table(work / "out").to_pydict()
    assert list(range(50)) == sorted(found["query"])
    stored, queries = (
        dict(zip(table["id"].to_pylist(), table["fingerprint"].to_numpy().view(np.uint64).tolist(), strict=True))
        for table in (pq.read_table(tmp_path / name) for name in ("fingerprints", "queries-100.parquet"))
    )
    for query, row, distance in zip(found["query"], found["id"], found["distance"], strict=True):
        assert distance == (queries[query] ^ stored[row]).bit_count() <= 3


def test_accuracy_is_that_of_the_kept_documents(engines: Any, tmp_path: Path) -> None:
    """After `nk.dedup` recall and precision are 1; if everything is kept, recall is 0."""
    engines.write_corpus(tmp_path, COUNT, 1, tmp_path)
    texts = pq.read_table(tmp_path / "documents").sort_by("id")["text"].to_pylist()
    result = nk.dedup(texts, threshold=0.8, radius=72, recipe="char:4|binary|xxh3|simhash:256")
    scores = engines.accuracy(tmp_path, np.array(result.kept))
    assert (1.0, 1.0) == (scores["recall"], scores["accuracy"]["char:4"]["precision"])
    assert 0.0 == engines.accuracy(tmp_path, np.arange(COUNT))["recall"]
    with pytest.raises(RuntimeError, match="written twice"):
        engines.accuracy(tmp_path, np.array([1, 1]))


def test_the_smallest_id_of_a_component_is_kept(bench: Any) -> None:
    """The order of buckets does not matter."""
    buckets = [[5, 3], [9, 8, 7], [3, 4], [7, 1], [2, 6]]
    assert {5, 4, 9, 8, 7, 6} == set(bench("dedup_peers").absorbed_ids(buckets))


def test_links_are_those_of_clusters(bench: Any, tmp_path: Path) -> None:
    """As many as requested, the earlier document left, about four for each document, written once."""
    module, count = bench("spark_engines"), 20_000
    documents = module.write_links(tmp_path, count, 1)
    links = pq.read_table(tmp_path / "links")
    left, right = (links[name].to_numpy() for name in ("left", "right"))
    assert count == len(left)
    assert (left < right).all()
    assert 1 <= left.min() <= right.max() <= documents <= count / 3
    assert documents == module.write_links(tmp_path, count, 1)
    with pytest.raises(SystemExit, match="other links"):
        module.write_links(tmp_path, count, 2)
    module.decide_child("local", "components", tmp_path / "links", tmp_path)
    removed = pq.read_table(tmp_path / "removals")
    # A cluster is a component.
    assert removed["number"].to_pylist() == sorted(set(right) | (set(left) - set(removed["by"].to_pylist())))


def test_constants_of_the_model_are_those_of_its_run(bench: Any) -> None:
    """`nearkin.spark.explain` has what the fit of the run on its page prints."""
    [run] = re.findall(r"<!-- model -->.*?bench/runs/(\S+\.json)", DOCS.read_text(), re.DOTALL)
    fitted = bench("spark_engines").fit_model(bench("common").latest("spark-model", run))
    assert fitted.keys() == FITTED.keys()
    for group, (fixed, each) in fitted.items():
        assert (FITTED[group].fixed, FITTED[group].each) == pytest.approx(
            (fixed, each), rel=0.06, abs=5e-3 * each + 1e-9
        )


def has_ended(pid: int, seconds: float) -> bool:
    """Return True if a process ends within this time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if " Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's /proc")
def test_a_command_is_measured_with_its_children(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result includes a child and a daemon that nobody waits for; the daemon is killed."""
    daemon = (
        "import os, time\n"
        "while time.process_time() < 0.6: pass\n"
        "open('pid', 'w').write(str(os.getpid()))\n"
        "time.sleep(100)\n"
    )
    # Both wait for two samples, so that a busy machine sees them too.
    samples = tmp_path.with_name(f"{tmp_path.name}-samples")
    samples.write_text("0")
    waiting = (
        "def wait():\n"
        f"    count = lambda: int(open({str(samples)!r}).read() or 0)\n"
        "    first = count()\n"
        "    while count() < first + 2: time.sleep(0.02)\n"
    )
    child = (
        f"import time\n{waiting}data = b'x' * 150_000_000\n"
        "open('f', 'wb').write(b'0' * 3_000_000)\ntime.sleep(1)\nwait()"
    )
    program = (
        f"import os, subprocess, sys, time\n{waiting}"
        f"os.chdir({str(tmp_path)!r})\n"
        f"subprocess.Popen([sys.executable, '-c', {daemon!r}], start_new_session=True)\n"
        f"subprocess.run([sys.executable, '-c', {child!r}], check=True)\n"
        "os.remove('f')\n"
        "while not os.path.exists('pid') or not open('pid').read(): time.sleep(0.05)\n"
        "wait()\n"
    )
    folder_size = bench("common").folder_size

    def count_samples(folder: Path) -> int:
        size: int = folder_size(folder)
        samples.write_text(str(int(samples.read_text()) + 1))
        return size

    monkeypatch.setattr(bench("common"), "folder_size", count_samples)
    used = bench("common").measure_command([sys.executable, "-c", program], tmp_path)
    assert used["cpu"] >= 0.6
    assert used["wall"] >= 1
    assert used["peak_mb"] >= 150
    assert 3 <= used["files_mb"] < 4
    pid = (tmp_path / "pid").read_text()
    assert has_ended(int(pid), seconds=30)
    with pytest.raises(RuntimeError, match="it is broken"):
        bench("common").measure_command([sys.executable, "-c", "raise SystemExit('it is broken')"], tmp_path)
