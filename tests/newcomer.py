"""A newcomer's first steps: install the wheel in a fresh environment and run the examples of README and guides.

    python tests/newcomer.py dist/nearkin-0.1.0-cp310-abi3-linux_x86_64.whl

Runs outside of the checkout. Every Python example of the README and the documentation is run and its output compared,
and so are the commands of README and guides. The main command runs on the sample corpus, and the import and the
start of the command are timed. `make newcomer` builds the wheel first.
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

from consoles import PAGES, ROOT, differences, session

# Packages that the pages use in addition to nearkin, and the test runner.
GUESTS = ["pytest"]
EXTRAS = "all,sail"
# Maximum CPU seconds, each the best of several runs.
MOST_IMPORT, MOST_START, TRIES = 0.25, 0.35, 7


def main() -> int:
    """Return the exit code: 0 if everything works as the pages describe."""
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
            *commands(tools, home, environment),
            *times(tools, work, environment, strict=options.times),
        ]
    for line in failed:
        say(f"FAILED {line}")
    say("a newcomer meets what the pages say" if not failed else f"{len(failed)} differ")
    return 1 if failed else 0


def say(line: str) -> None:
    """Print a line of the report."""
    print(line, flush=True)


def install(wheel: Path, folder: Path) -> Path:
    """Create a fresh environment with the wheel; return the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    tools = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(tools / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, f"{wheel}[{EXTRAS}]", *GUESTS], check=True)
    return tools


def lay_out(work: Path) -> None:
    """Copy the pages and the sample corpus."""
    work.mkdir()
    shutil.copy(ROOT / "README.md", work)
    shutil.copytree(ROOT / "docs", work / "docs")
    shutil.copytree(ROOT / "samples", work / "samples")


def examples(tools: Path, work: Path, environment: dict[str, str]) -> list[str]:
    """Run the Python examples of all pages; return those that fail."""
    options = ["-q", "-p", "no:cacheprovider", "--doctest-glob=*.md", "-o", "doctest_optionflags=NORMALIZE_WHITESPACE"]
    done = run([str(tools / "python"), "-m", "pytest", *options, "README.md", "docs"], work, environment)
    say(done.stdout.strip().splitlines()[-1])
    return re.findall(r"^FAILED (.*)", done.stdout, re.MULTILINE) or ([] if done.returncode == 0 else [done.stdout])


def commands(tools: Path, home: Path, environment: dict[str, str]) -> list[str]:
    """Run the commands of README and guides; return those that print something different."""
    failed = []
    for name in PAGES:
        folder = home / Path(name).stem
        folder.mkdir()
        page = (ROOT / name).read_text(encoding="utf-8")
        failed += differences(page, folder, session(folder, str(tools / "python"), environment))
    say(f"{len(failed)} commands of {len(PAGES)} pages print something different")
    return failed


def times(tools: Path, work: Path, environment: dict[str, str], *, strict: bool) -> list[str]:
    """Measure CPU seconds of the import and of the command's start; return those above their limit, if requested."""
    cases: list[tuple[str, list[str], float]] = [
        ("import nearkin", [str(tools / "python"), "-c", "import nearkin"], MOST_IMPORT),
        ("nearkin --version", ["nearkin", "--version"], MOST_START),
    ]
    failed = []
    empty = best([str(tools / "python"), "-c", ""], work, environment)
    for name, command, limit in cases:
        taken = best(command, work, environment) - (empty if name.startswith("import") else 0.0)
        say(f"{name}: {taken:.3f} CPU s, where {limit} are allowed")
        if strict and taken > limit:
            failed.append(f"{name} takes {taken:.3f} CPU s")
    return failed


def best(command: Sequence[str], work: Path, environment: dict[str, str]) -> float:
    """Return the smallest CPU seconds of several runs."""
    import resource

    taken = []
    for _ in range(TRIES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(command, work, environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)


def run(command: Sequence[str], work: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program and return its result with its output."""
    return subprocess.run(
        command, cwd=work, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )


if __name__ == "__main__":
    sys.exit(main())
