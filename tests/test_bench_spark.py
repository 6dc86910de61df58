"""Benchmarks on engines: the corpus with planted pairs, and the measurement of a command with its children."""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import nearkin as nk

BENCH = Path(__file__).resolve().parents[1] / "bench"
COUNT = 2000


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a module of `bench/`."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


@pytest.fixture
def corpora(bench: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return `spark_engines` with a corpus of random words."""
    module = bench("spark_engines")
    rng = np.random.default_rng(0)
    parts = [" ".join(f"w{word}" for word in rng.integers(0, 1 << 20, 14)) for _ in range(2000)]
    monkeypatch.setattr(module.Corpus, "parts", parts)
    return module


def read_texts(folder: Path) -> list[str]:
    """Return the texts of a corpus by id."""
    table = pq.read_table(folder / "documents")
    assert list(range(len(table))) == sorted(table["id"].to_pylist())
    texts: list[str] = table.sort_by("id")["text"].to_pylist()
    return texts


def test_a_corpus_follows_from_its_seed(corpora: Any, tmp_path: Path) -> None:
    """The same seed gives the same documents and pairs, another seed gives others."""
    results = {
        name: corpora.write_corpus(tmp_path / name, COUNT, seed, tmp_path)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    }
    texts = {name: read_texts(tmp_path / name) for name in results}
    assert texts["a"] == texts["b"] != texts["c"]
    truths = {name: pq.read_table(tmp_path / name / "truth.parquet") for name in results}
    assert truths["a"].equals(truths["b"])
    assert results["a"] == json.loads((tmp_path / "a" / "corpus.json").read_text()) == results["b"]
    assert results["a"] == corpora.write_corpus(tmp_path / "a", COUNT, 1, tmp_path)
    with pytest.raises(SystemExit, match="another corpus"):
        corpora.write_corpus(tmp_path / "a", COUNT, 2, tmp_path)
    files = [pq.ParquetFile(path) for path in sorted((tmp_path / "a" / "documents").iterdir())]
    assert [COUNT // 8] * 8 == [file.metadata.num_rows for file in files]


def test_the_truth_has_all_near_pairs(corpora: Any, tmp_path: Path) -> None:
    """The truth equals the pairs with J >= 0.8 that brute force over fingerprints finds."""
    about = corpora.write_corpus(tmp_path / "c", COUNT, 1, tmp_path)
    texts, truth = read_texts(tmp_path / "c"), pq.read_table(tmp_path / "c" / "truth.parquet")
    index = nk.HammingIndex(256)
    index.add(None, nk.fingerprint(texts, "char:4|binary|xxh3|simhash:256"))
    # At J = 0.8 the expected distance is 39, with a deviation of 5.7.
    pairs = index.pairs(72)
    left, right = np.asarray(pairs.left, np.int64), np.asarray(pairs.right, np.int64)
    similarity = nk.similarity(texts, left, right)
    near = similarity >= 0.8
    expected = dict(
        zip(zip(left[near].tolist(), right[near].tolist(), strict=True), similarity[near].tolist(), strict=True)
    )
    stored = dict(
        zip(
            zip(truth["left"].to_pylist(), truth["right"].to_pylist(), strict=True),
            truth["similarity"].to_pylist(),
            strict=True,
        )
    )
    assert expected == stored
    assert about["true_pairs"] == len(stored) > 150
    assert about["equal_pairs"] == sum(texts[first] == texts[second] for first, second in stored) >= 36


def test_recall_counts_pairs_that_lost_a_document(corpora: Any, tmp_path: Path) -> None:
    """After `nk.dedup` recall is 1; if everything is kept it is 0."""
    corpora.write_corpus(tmp_path / "c", COUNT, 1, tmp_path)
    result = nk.dedup(read_texts(tmp_path / "c"), threshold=0.8, radius=72, recipe="char:4|binary|xxh3|simhash:256")
    scores = corpora.accuracy(tmp_path / "c", np.array(result.kept))
    assert (1.0, 1.0, 1.0, 0) == tuple(
        scores[name] for name in ("recall", "recall_near", "recall_words", "removed_alone")
    )
    assert 0.0 == corpora.accuracy(tmp_path / "c", np.arange(COUNT))["recall"]
    nothing = corpora.accuracy(tmp_path / "c", np.arange(0))
    assert (1.0, COUNT) == (nothing["recall"], nothing["kept"] + COUNT)
    assert 0 < nothing["removed_alone"] < COUNT


def test_the_smallest_id_of_a_component_is_kept(bench: Any) -> None:
    """The order of buckets does not matter."""
    import pyarrow as pa

    buckets = pa.chunked_array([[[5, 3], [9, 8, 7]], [[3, 4], [7, 1], [2, 6]]])
    assert {5, 4, 9, 8, 7, 6} == set(bench("spark_engines").absorbed_ids(buckets))


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
