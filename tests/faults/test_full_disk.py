"""A full disk: every index that is saved, and the folder of `nearkin dedup`.

A child process limits the size of its files (RLIMIT_FSIZE), so that writes fail midway as on a full disk.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MAKE = """
import resource, sys
import numpy as np
import nearkin as nk

kind, path, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = np.random.default_rng(1)


def made(rows):
    if kind == "hamming":
        index = nk.HammingIndex(bits=64, radius=3)
        index.add(None, rng.integers(0, 2**64, rows, dtype=np.uint64))
        index.search(1, radius=3)
        return index
    if kind == "bands":
        index = nk.BandIndex(num_perm=16, num_bands=4, num_rows=4)
        index.add(None, rng.integers(0, 2**32, (rows, 16), dtype=np.uint64).astype(np.uint32))
        return index
    if kind == "vectors":
        return nk.LSHIndex(nk.families.Hyperplane(bits=64, seed=1), num_tables=2).fit(rng.normal(size=(rows, 8)))
    index = nk.DigestIndex()
    texts = [bytes(rng.integers(0, 256, 5000, dtype=np.uint8)) for _ in range(rows // 20)]
    index.add(None, [nk.ssdeep.hash(text) for text in texts])
    return index


made(100).save(path)
large = made(4000)
print("saved", flush=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    large.save(path)
except OSError as error:
    print("refused", error.errno)
"""

OPEN = {
    "hamming": "nk.HammingIndex.open",
    "bands": "nk.BandIndex.open",
    "vectors": "nk.LSHIndex.open",
    "digests": "nk.DigestIndex.open",
}

DEDUP = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.argv[:] = ["nearkin", *sys.argv[2:]]
from nearkin.cli.app import main
main()
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of a POSIX system")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Python process."""
    return subprocess.run([sys.executable, "-c", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("limit", [0, 5000])
@pytest.mark.parametrize("kind", list(OPEN))
def test_a_full_disk_leaves_the_old_index(tmp_path: Path, kind: str, limit: int) -> None:
    """The error is an OSError with the system's number; the old file opens with its contents; only its lock file is
    left.
    """
    path = tmp_path / "index"
    ran = run(MAKE, kind, str(path), str(limit))
    assert "saved\nrefused 27\n" == ran.stdout, ran.stderr
    assert {path.name, f".{path.name}.lock"} == {entry.name for entry in tmp_path.iterdir()}
    opened = run(f"import sys, nearkin as nk; print(len({OPEN[kind]}(sys.argv[1])))", str(path))
    assert str(5 if kind == "digests" else 100) == opened.stdout.strip(), opened.stderr


def test_a_full_disk_leaves_no_half_of_a_deduplication(tmp_path: Path) -> None:
    """The exit code is 1, stderr names the file and the reason, and there is no output folder."""
    source, out = tmp_path / "in.jsonl", tmp_path / "out"
    lines = (
        json.dumps({"text": f"document {i} has {i * i} words of its own, and {i * i * i} letters"}) for i in range(2000)
    )
    source.write_text("\n".join(lines))
    ran = run(DEDUP, "20000", "dedup", str(source), "--out", str(out))
    assert 1 == ran.returncode, ran.stderr
    assert "kept.jsonl: file too large while writing" in ran.stderr
    assert [source] == list(tmp_path.iterdir())
