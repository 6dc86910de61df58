"""What benchmarks on engines share: the corpus with planted pairs, and how a command and its children are measured."""

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
    """Modules of the folder, by name."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module


@pytest.fixture
def corpora(bench: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`spark_corpus`, whose parts are random words."""
    module = bench("spark_corpus")
    rng = np.random.default_rng(0)
    parts = [" ".join(f"w{word}" for word in rng.integers(0, 1 << 20, 14)) for _ in range(2000)]
    monkeypatch.setattr(module.Corpus, "parts", parts)
    return module


def texts_of(folder: Path) -> list[str]:
    """The texts of a corpus, whose ids are places."""
    table = pq.read_table(folder / "documents")
    assert list(range(len(table))) == sorted(table["id"].to_pylist())
    found: list[str] = table.sort_by("id")["text"].to_pylist()
    return found


def test_a_corpus_follows_from_its_seed(corpora: Any, tmp_path: Path) -> None:
    """The same documents and pairs again; others from another seed."""
    made = {
        name: corpora.write(tmp_path / name, COUNT, seed, tmp_path) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    }
    texts = {name: texts_of(tmp_path / name) for name in made}
    assert texts["a"] == texts["b"] != texts["c"]
    truths = {name: pq.read_table(tmp_path / name / "truth.parquet") for name in made}
    assert truths["a"].equals(truths["b"])
    assert made["a"] == json.loads((tmp_path / "a" / "corpus.json").read_text()) == made["b"]
    assert made["a"] == corpora.write(tmp_path / "a", COUNT, 1, tmp_path)
    with pytest.raises(SystemExit, match="another corpus"):
        corpora.write(tmp_path / "a", COUNT, 2, tmp_path)
    files = [pq.ParquetFile(path) for path in sorted((tmp_path / "a" / "documents").iterdir())]
    assert [COUNT // 8] * 8 == [file.metadata.num_rows for file in files]


def test_the_truth_has_all_near_pairs(corpora: Any, tmp_path: Path) -> None:
    """Every pair of the corpus with J >= 0.8, as brute force over fingerprints finds them, and no other."""
    about = corpora.write(tmp_path / "c", COUNT, 1, tmp_path)
    texts, truth = texts_of(tmp_path / "c"), pq.read_table(tmp_path / "c" / "truth.parquet")
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
    found = dict(
        zip(
            zip(truth["left"].to_pylist(), truth["right"].to_pylist(), strict=True),
            truth["similarity"].to_pylist(),
            strict=True,
        )
    )
    assert expected == found
    assert about["true_pairs"] == len(found) > 150
    assert about["equal_pairs"] == sum(texts[one] == texts[other] for one, other in found) >= 36


def test_recall_counts_pairs_of_which_both_are_kept(corpora: Any, bench: Any, tmp_path: Path) -> None:
    """All are found where `nk.dedup` has been, none where everything is kept."""
    rivals = bench("spark_rivals")
    corpora.write(tmp_path / "c", COUNT, 1, tmp_path)
    result = nk.dedup(texts_of(tmp_path / "c"), threshold=0.8, radius=72, recipe="char:4|binary|xxh3|simhash:256")
    found = rivals.accuracy(tmp_path / "c", np.array(result.kept))
    assert (1.0, 1.0, 1.0, 0) == tuple(
        found[name] for name in ("recall", "recall_near", "recall_words", "removed_alone")
    )
    assert 0.0 == rivals.accuracy(tmp_path / "c", np.arange(COUNT))["recall"]
    nothing = rivals.accuracy(tmp_path / "c", np.arange(0))
    assert (1.0, COUNT) == (nothing["recall"], nothing["kept"] + COUNT)
    assert 0 < nothing["removed_alone"] < COUNT


def test_of_a_component_the_smallest_id_stays(bench: Any) -> None:
    """Whatever the order of its buckets."""
    import pyarrow as pa

    buckets = pa.chunked_array([[[5, 3], [9, 8, 7]], [[3, 4], [7, 1], [2, 6]]])
    assert {5, 4, 9, 8, 7, 6} == set(bench("spark_rivals").absorbed(buckets))


def gone(pid: int, seconds: float) -> bool:
    """Whether a process ends within this time."""
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
    """CPU, memory and files of a child, and of a daemon that nobody waits for, which is ended."""
    daemon = (
        "import os, time\n"
        "while time.process_time() < 0.6: pass\n"
        "open('pid', 'w').write(str(os.getpid()))\n"
        "time.sleep(100)\n"
    )
    # What they do is seen while they do it, also on a machine that is busy.
    seen = tmp_path.with_name(f"{tmp_path.name}-seen")
    seen.write_text("0")
    waiting = (
        "def wait():\n"
        f"    looks = lambda: int(open({str(seen)!r}).read() or 0)\n"
        "    first = looks()\n"
        "    while looks() < first + 2: time.sleep(0.02)\n"
    )
    child = (
        f"import time\n{waiting}held = b'x' * 150_000_000\n"
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
    size = bench("processes").size

    def looking(folder: Path) -> int:
        found: int = size(folder)
        seen.write_text(str(int(seen.read_text()) + 1))
        return found

    monkeypatch.setattr(bench("processes"), "size", looking)
    found = bench("processes").measured([sys.executable, "-c", program], tmp_path)
    assert found["cpu"] >= 0.6
    assert found["wall"] >= 1
    assert found["peak_mb"] >= 150
    assert 3 <= found["files_mb"] < 4
    pid = (tmp_path / "pid").read_text()
    assert gone(int(pid), seconds=30)
    with pytest.raises(AssertionError, match="it is broken"):
        bench("processes").measured([sys.executable, "-c", "raise SystemExit('it is broken')"], tmp_path)
