"""Run the command in this process, which is fast, or in its own process, as users do."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]


TEXTS = {
    "a": "The quick brown fox jumps over the lazy dog.",
    "b": "A completely different sentence, about cats.",
    "c": "The quick brown fox jumps over the lazy dog!!",
    "d": "The quick brown fox jumps over the lazy dog.",
    "e": "...",
}

needs_ssdeep = pytest.mark.skipif(shutil.which("ssdeep") is None, reason="the program ssdeep is not installed")

# Wide enough that no message is folded, and no colours.
ENVIRONMENT = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}


def run(
    *arguments: str | Path, stdin: bytes | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command in its own process."""
    command = [sys.executable, "-m", "nearkin", *map(str, arguments)]
    environment = {**os.environ, **ENVIRONMENT}
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, check=False, env=environment)


@dataclass(frozen=True)
class Done:
    """Exit code, standard output and standard error of a call."""

    code: int
    data: bytes
    err: str

    @property
    def out(self) -> str:
        """Standard output as text."""
        return self.data.decode()

    @property
    def lines(self) -> list[str]:
        """Lines of standard output."""
        return self.out.splitlines()

    @property
    def message(self) -> str:
        """Standard error on one line, without the frame that Typer draws around messages."""
        return " ".join(self.err.replace("│", " ").split())

    def json(self) -> Any:
        """Return the only object on standard output."""
        return json.loads(self.data)

    def objects(self) -> list[Any]:
        """Return the objects on standard output, one per line."""
        return [json.loads(line) for line in self.lines]


@contextmanager
def standard_input(data: bytes) -> Iterator[None]:
    """Replace standard input, both the stream and its descriptor, by these bytes."""
    before = os.dup(0)
    try:
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            os.dup2(file.fileno(), 0)
            with mock.patch.object(sys, "stdin", open(0, encoding="utf-8", closefd=False)):
                yield
    finally:
        os.dup2(before, 0)
        os.close(before)


def call(*arguments: object, stdin: bytes = b"") -> Done:
    """Run the command in this process."""
    from nearkin.cli.app import run as run_here

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True) for _ in range(2))
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, ENVIRONMENT))
        stack.enter_context(standard_input(stdin))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        code = run_here([str(argument) for argument in arguments])
    return Done(code, out.buffer.getvalue(), err.buffer.getvalue().decode())


def succeed(*arguments: object, stdin: bytes = b"") -> Done:
    """Run a command in this process, which must not fail."""
    done = call(*arguments, stdin=stdin)
    assert 0 == done.code, done.err
    return done


def check_message(code: int, words: str, *arguments: object, stdin: bytes = b"") -> None:
    """Assert that a command ends with this exit code, and that its message has these words."""
    done = call(*arguments, stdin=stdin)
    assert (code, True) == (done.code, words in done.message), done.err


def on_store(command: str, store: object) -> list[object]:
    """Return the words of a command on a store, or on the URL of its service."""
    return ["check", "--store", store] if command == "check" else ["store", command, store]


def json_lines(path: Path) -> list[Any]:
    """Return the objects of a file, one per line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_jsonl(path: Path, texts: dict[str, str]) -> Path:
    """Write a corpus of texts and their ids."""
    path.write_text("".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items()), "utf-8")
    return path


def near_texts() -> list[str]:
    """Return sixty texts: twenty, each with one word changed, and each with ten changed."""
    rng = random.Random(3)
    words = [f"word{i}" for i in range(400)]
    base = [rng.choices(words, k=80) for _ in range(20)]
    near = [[*item[:40], "changed", *item[41:]] for item in base]
    far = [[*item[:30], *rng.choices(words, k=10), *item[40:]] for item in base]
    return [" ".join(item) for item in [*base, *near, *far]]


def brute_force_distances(
    fps: NDArray[np.uint64], query: NDArray[np.uint64], radius: int, ids: list[Any]
) -> list[tuple[int, Any]]:
    """Return distance and id of everything within a radius, nearest first, ties by id."""
    result = [(int(np.unpackbits((row ^ query).view(np.uint8)).sum()), key) for row, key in zip(fps, ids, strict=True)]
    return sorted((far, key) for far, key in result if far <= radius)
