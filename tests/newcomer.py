"""What a newcomer does: the wheel in a fresh environment, then what README and guides say, away from the checkout.

    python tests/newcomer.py dist/nearkin-0.1.0-cp310-abi3-linux_x86_64.whl

Every Python example of README and docs is run and its output compared, and so are the README's commands that show what
they print; its main job runs on the sample that ships with the project; and import and start of the command are timed.
`make newcomer` builds the wheel first.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What pages show beside nearkin, and what runs them.
GUESTS = ["pytest"]
EXTRAS = "all,sail"
# CPU seconds, each the best of several tries.
MOST_IMPORT, MOST_START, TRIES = 0.25, 0.35, 7


def main() -> int:
    """The exit code: 0 if all went as the pages say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--times", action="store_true", help="fail if import or start take longer than they may")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="newcomer-") as name:
        home = Path(name)
        tools = install(options.wheel.resolve(), home / "venv")
        work = home / "work"
        lay_out(work)
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        environment["PATH"] = f"{tools}{os.pathsep}{environment['PATH']}"
        failed = [
            *examples(tools, work, environment),
            *commands(work, environment),
            *times(tools, work, environment, strict=options.times),
        ]
    for line in failed:
        say(f"FAILED {line}")
    say("a newcomer meets what the pages say" if not failed else f"{len(failed)} differ")
    return 1 if failed else 0


def say(line: str) -> None:
    """A line of the report."""
    print(line, flush=True)


def install(wheel: Path, place: Path) -> Path:
    """A fresh environment with the wheel; the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    tools = place / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(tools / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, f"{wheel}[{EXTRAS}]", *GUESTS], check=True)
    return tools


def lay_out(work: Path) -> None:
    """What a reader of the pages has: the pages and the sample."""
    work.mkdir()
    shutil.copy(ROOT / "README.md", work)
    shutil.copytree(ROOT / "docs", work / "docs")
    shutil.copytree(ROOT / "samples", work / "samples")


def examples(tools: Path, work: Path, environment: dict[str, str]) -> list[str]:
    """Runs the Python examples of all pages; those that fail."""
    options = ["-q", "-p", "no:cacheprovider", "--doctest-glob=*.md", "-o", "doctest_optionflags=NORMALIZE_WHITESPACE"]
    done = run([str(tools / "python"), "-m", "pytest", *options, "README.md", "docs"], work, environment)
    say(done.stdout.strip().splitlines()[-1])
    return re.findall(r"^FAILED (.*)", done.stdout, re.MULTILINE) or ([] if done.returncode == 0 else [done.stdout])


def shown(page: str) -> list[tuple[str, str]]:
    """The commands of a page's console blocks that show what they print, and what that is."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        found += re.findall(
            r"^\$ (nearkin .*|.*\| nearkin .*|.*&& nearkin .*|head .*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE
        )
    return [(command, printed) for command, printed in found if printed.strip()]


def commands(work: Path, environment: dict[str, str]) -> list[str]:
    """Runs the README's commands that show what they print; those that print something else."""
    failed = []
    listed = shown((work / "README.md").read_text(encoding="utf-8"))
    for command, printed in listed:
        done = run(["sh", "-c", command], work, environment)
        # Times differ from run to run.
        found, expected = (re.sub(r"in [\d.]+ s", "in a while", text) for text in (done.stdout + done.stderr, printed))
        if done.returncode or not all(line in found for line in expected.splitlines()):
            failed.append(f"$ {command}\n{found}")
    say(f"{len(listed) - len(failed)} of {len(listed)} commands print what the README shows")
    return failed


def times(tools: Path, work: Path, environment: dict[str, str], *, strict: bool) -> list[str]:
    """CPU seconds of the import and of the command's start; those that are too long, if that is asked."""
    cases: list[tuple[str, list[str], float]] = [
        ("import nearkin", [str(tools / "python"), "-c", "import nearkin"], MOST_IMPORT),
        ("nearkin --version", ["nearkin", "--version"], MOST_START),
    ]
    failed = []
    empty = best([str(tools / "python"), "-c", ""], work, environment)
    for name, command, most in cases:
        taken = best(command, work, environment) - (empty if name.startswith("import") else 0.0)
        say(f"{name}: {taken:.3f} CPU s, where {most} are allowed")
        if strict and taken > most:
            failed.append(f"{name} takes {taken:.3f} CPU s")
    return failed


def best(command: Sequence[str], work: Path, environment: dict[str, str]) -> float:
    """The least CPU seconds of several runs."""
    import resource

    taken = []
    for _ in range(TRIES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(command, work, environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def run(command: Sequence[str], work: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A program's end, with what it printed."""
    return subprocess.run(
        command, cwd=work, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


if __name__ == "__main__":
    sys.exit(main())
