"""A full disk: every file that is saved, and the folder of `nearkin dedup`.

A child process limits the size of its files (RLIMIT_FSIZE), so that writes fail midway as on a full disk.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from saved_files import KINDS

import nearkin as nk

SAVE = """
import resource, sys
from pathlib import Path
folder, limit, here = sys.argv[1:]
sys.path.insert(0, here)
from saved_files import KINDS
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit),) * 2)
for name, kind in KINDS.items():
    try:
        kind.save_large(Path(folder, name))
    except OSError as error:
        print(name, "refused", error.errno)
"""

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


@pytest.mark.parametrize("limit", [0, 600])
def test_a_full_disk_leaves_the_old_files(tmp_path: Path, limit: int) -> None:
    """The error is an OSError with the system's number; the old files open with their contents; only their lock files
    are left.
    """
    for name, kind in KINDS.items():
        kind.save_small(tmp_path / name)
    before = {name: kind.ask(tmp_path / name) for name, kind in KINDS.items()}
    ran = run(SAVE, str(tmp_path), str(limit), str(Path(__file__).parent))
    assert "".join(f"{name} refused 27\n" for name in KINDS) == ran.stdout, ran.stderr
    assert KINDS.keys() == {entry.name for entry in tmp_path.iterdir()} - {f".{name}.lock" for name in KINDS}
    assert before == {name: kind.ask(tmp_path / name) for name, kind in KINDS.items()}


MERGE = """
import resource, sys
import nearkin as nk
from nearkin.errors import OutputError
with nk.Store.open(sys.argv[1], memory=int(sys.argv[2])) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
    try:
        store.merge()
    except OutputError as error:
        print(error.errno, error.in_place, error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    store.verify()
    print(len(store), store.merge().segments)
"""


@pytest.mark.parametrize("memory", [1 << 20, 1 << 30], ids=["texts in a file", "texts in memory"])
def test_a_merge_on_a_full_disk_is_an_output_error(tmp_path: Path, memory: int) -> None:
    """No document is lost, and another merge succeeds."""
    with nk.Store.create(tmp_path / "store") as store:
        store.add([f"document {i} has {i * i} words of its own, and {'letters ' * (i % 40)}" for i in range(2000)])
        store.merge()
        store.remove([7])
    ran = run(MERGE, str(tmp_path / "store"), str(memory))
    refusal, end = ran.stdout.splitlines()
    assert refusal.startswith(f"27 old {tmp_path / 'store'}: a segment could not be written"), ran.stderr
    assert "1999 1" == end


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
