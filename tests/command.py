"""The command, run as its users run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


TEXTS = {
    "a": "The quick brown fox jumps over the lazy dog.",
    "b": "A completely different sentence, about cats.",
    "c": "The quick brown fox jumps over the lazy dog!!",
    "d": "The quick brown fox jumps over the lazy dog.",
    "e": "...",
}


def run(
    *arguments: str | Path, stdin: bytes | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "nearkin", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, check=False, env=environment)
