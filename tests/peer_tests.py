"""The tests of another package, from its source distribution. They are downloaded on demand and never stored in the
project.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest


def source_of(package: str, version: str, variable: str) -> Path:
    """Return the folder that the environment variable names, or the one of the source distribution.

    The source distribution is downloaded once and stored in the folder of the Python environment. If it is not
    available, the test is skipped.
    """
    named = os.environ.get(variable)
    if named:
        return Path(named)
    kept = Path(sys.prefix) / "share" / "nearkin-peers" / f"{package}-{version}"
    if not kept.exists():
        what = f"the source distribution of {package} {version}"
        with tempfile.TemporaryDirectory() as folder:
            options = ["--no-binary", ":all:", "--no-deps", f"{package}=={version}"]
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, *options]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            except subprocess.TimeoutExpired:
                pytest.skip(f"{what} did not come within a minute")
            archives = list(Path(folder).glob("*.tar.gz"))
            if done.returncode or not archives:
                pytest.skip(f"{what} can't be fetched: {done.stderr.strip()[-200:]}")
            kept.parent.mkdir(parents=True, exist_ok=True)
            with tarfile.open(archives[0]) as archive:
                archive.extractall(kept.parent, filter="data")
    return kept
