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
