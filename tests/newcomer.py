"""A newcomer's first steps: install the wheel in a fresh environment and run the examples of README and pages.

    python tests/newcomer.py dist/nearkin-0.1.0-cp310-abi3-linux_x86_64.whl

Runs outside of the checkout. Every Python example of the README and the documentation is run and its output compared,
and so are the commands of all pages. The import and the start of the command are timed. The main job also runs on
the wheel without extras, and with each of its extras alone, in an environment of its own; an extra that the registry
does not give is named. `make newcomer` builds the wheel first.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from consoles import ROOT, differences, pages, session

# Packages that the pages use in addition to nearkin, and the test runner.
GUESTS = ["pytest"]
EXTRAS = "all,sail"
# A program that needs the extra; an extra that is not here fails the run.
FRAME = 'import nearkin as nk, {0}; assert nk.dedup({0}.DataFrame({{"text": ["one text", "one text"]}})).kept == [0]'
USES = {
    "": "import nearkin as nk; assert nk.dedup(['one text', 'one text']).kept == [0]",
    "all": "import nearkin.plot, nearkin.service.app, nearkin.sklearn",
    "client": "import nearkin as nk; nk.Client('http://localhost')",
    "html": "import nearkin.io.html, selectolax",
    "pandas": FRAME.format("pandas"),
    "plot": "import nearkin.plot, matplotlib",
    "polars": FRAME.format("polars"),
    "remote": "import nearkin.io.remote, fsspec",
    "report": "import nearkin.report, jinja2",
    "sail": "import nearkin.spark, pysail",
    "service": "import nearkin.service.app",
    "sklearn": "import nearkin.sklearn as sk; sk.SimHashVectorizer().fit_transform(['one text'])",
    "spark": "import nearkin.spark, pyspark",
    "warc": "import nearkin.io.warc, fastwarc",
}
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
        tools = install(f"{options.wheel.resolve()}[{EXTRAS}]", home / "venv", *GUESTS)
        work = home / "work"
        lay_out(work)
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        environment["PATH"] = f"{tools}{os.pathsep}{environment['PATH']}"
        failed = [
            *examples(tools, work, environment),
            *commands(tools, home, environment),
            *times(tools, work, environment, strict=options.times),
            *extras(options.wheel.resolve(), home, environment),
        ]
    for line in failed:
        say(f"FAILED {line}")
    say("a newcomer meets what the pages say" if not failed else f"{len(failed)} differ")
    return 1 if failed else 0


def say(line: str) -> None:
    """Print a line of the report."""
    print(line, flush=True)


def install(requirement: str, folder: Path, *guests: str) -> Path:
    """Create a fresh environment with the wheel and other packages; return the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    tools = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(tools / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, requirement, *guests], check=True)
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
    """Run the commands of all pages; return those that print something different."""
    failed = []
    names = pages()
    for name in names:
        folder = home / name.replace("/", "-")
        folder.mkdir()
        page = (ROOT / name).read_text(encoding="utf-8")
        failed += differences(page, folder, session(folder, str(tools / "python"), environment))
    say(f"{len(failed)} commands of {len(names)} pages print something different")
    return failed


def extras(wheel: Path, home: Path, environment: dict[str, str]) -> list[str]:
    """Run the main job without extras and with each extra alone; return what fails."""
    with zipfile.ZipFile(wheel) as files:
        metadata = next(name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        names = re.findall(r"^Provides-Extra: (\S+)", files.read(metadata).decode(), re.MULTILINE)
    failed: list[str] = []
    missing: list[str] = []
    for name in ["", *names]:
        folder = home / f"extra-{name}"
        try:
            tools = install(f"{wheel}[{name}]" if name else str(wheel), folder / "venv")
        except subprocess.CalledProcessError:
            # Without its extras a wheel has to be installable.
            (missing if name else failed).append(name or "the wheel without extras cannot be installed")
            continue
        for command in (
            ["nearkin", "--version"],
            [str(tools / "python"), "-c", USES[name]],
            ["nearkin", "dedup", str(ROOT / "samples/licences.jsonl.gz"), "--out", str(folder / "out"), "--quiet"],
        ):
            done = run(command, folder, {**environment, "PATH": f"{tools}{os.pathsep}{environment['PATH']}"})
            if done.returncode:
                failed.append(f"{' '.join(command)} with {name or 'no extra'}: {done.stderr}")
        shutil.rmtree(folder)
    say(f"{len(names) - len(missing)} of {len(names)} extras were tried alone; the registry lacks {missing or 'none'}")
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
