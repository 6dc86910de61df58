"""The size of the project has a budget: ceilings of code lines for each folder, file, class and parameter list.

A line of code is what is left without blank lines, comments, docstrings, imports and inline tests of Rust. A ceiling
may be lowered by anyone. It rises only together with a line in docs/decisions.md that says what left instead.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TOTALS = {"python": 44_201, "crates": 48_725, "tests": 52_315, "bench": 6_922}
"""Ceilings of whole trees."""

FOLDERS = {
    "crates/nearkin-base/src": 829,
    "crates/nearkin-core/src": 8,
    "crates/nearkin-base/src/cpu": 1_406,
    "crates/nearkin-core/src/dedup": 2_886,
    "crates/nearkin-core/src/digests": 2_768,
    "crates/nearkin-core/src/families": 1_920,
    "crates/nearkin-base/src/hash": 736,
    "crates/nearkin-core/src/index": 12_853,
    "crates/nearkin-base/src/records": 1_109,
    "crates/nearkin-core/src/segment": 903,
    "crates/nearkin-core/src/store": 1_524,
    "crates/nearkin-base/src/text": 5_785,
    "crates/nearkin-core/src/vectors": 1_523,
    "crates/nearkin-module/src": 5,
    "crates/nearkin-patterns/src": 8_790,
    "crates/nearkin-python/src": 5_680,
    "python/nearkin": 1_341,
    "python/nearkin/cli": 4_904,
    "python/nearkin/compat": 865,
    "python/nearkin/dedup": 6_157,
    "python/nearkin/dask": 76,
    "python/nearkin/digests": 673,
    "python/nearkin/distributed": 2_198,
    "python/nearkin/explain": 1_136,
    "python/nearkin/families": 1_539,
    "python/nearkin/index": 3_007,
    "python/nearkin/io": 4_055,
    "python/nearkin/patterns": 1_867,
    "python/nearkin/pieces": 1_444,
    "python/nearkin/quality": 1_352,
    "python/nearkin/ray": 74,
    "python/nearkin/recipe": 503,
    "python/nearkin/report": 1_844,
    "python/nearkin/service": 2_824,
    "python/nearkin/sklearn": 211,
    "python/nearkin/spark": 906,
    "python/nearkin/store": 5_289,
    "python/nearkin/text": 560,
    "python/nearkin/theory": 960,
    "python/nearkin/vectors": 407,
    "python/nearkin/web_assets": 9,
}
"""Ceilings of the folders of the package and of the crates; a folder that is not here must be added."""

MAX_LINES = 1_700
"""Lines of one file, and of one class, with comments."""
MAX_PARAMETERS = 10
MAX_LONG_SIGNATURES = 21
"""Number of functions that may have `MAX_PARAMETERS` parameters or more."""


def python_lines(text: str) -> int:
    """Return the number of code lines of a Python file."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, ast.Import | ast.ImportFrom):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), start=1)
    return sum(number not in skipped and not re.match(r"\s*(#|$)", line) for number, line in lines)


def rust_lines(text: str) -> int:
    """Return the number of code lines of a Rust file without what follows `#[cfg(test)]` in its braces."""
    count = depth = 0
    test_depth: int | None = None
    is_pending = False
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith("//"):
            continue
        if line.startswith("#[cfg(test)]"):
            is_pending = True
            continue
        code = re.sub(r'"(?:\\.|[^"\\])*"|' + r"'(?:\\.|[^'\\])'|//.*", "", line)
        if is_pending and test_depth is None and "{" in code:
            test_depth, is_pending = depth, False
        elif is_pending and code.endswith(";"):
            is_pending = False
            continue
        depth += code.count("{") - code.count("}")
        if test_depth is None:
            count += 1
        elif depth <= test_depth:
            test_depth = None
    return count


@cache
def sizes() -> dict[Path, int]:
    """Return the code lines of each file that counts, by its path below the root."""
    result = {}
    for tree in TOTALS:
        for path in sorted((ROOT / tree).rglob("*.py" if tree != "crates" else "*.rs")):
            is_test = path.name == "tests.rs" or (tree == "crates" and "tests" in path.parts)
            if not is_test and not {"target", "runs"} & set(path.parts):
                text = path.read_text(encoding="utf-8")
                result[path.relative_to(ROOT)] = python_lines(text) if path.suffix == ".py" else rust_lines(text)
    return result


def folder_of(path: Path) -> str:
    """Return the folder whose ceiling holds for a file: a folder of the package, or of the sources of a crate."""
    parts = path.parts[:-1]
    return "/".join(parts[: 4 if parts[:2] in (("crates", "nearkin-base"), ("crates", "nearkin-core")) else 3])


@cache
def python_trees() -> dict[Path, ast.Module]:
    """Return the syntax tree of each Python file of the package."""
    paths = [path for path in sizes() if path.parts[0] == "python"]
    return {path: ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in paths}


def test_each_tree_is_within_its_budget() -> None:
    """The package, the crates, the tests and the benchmarks are no larger than their ceilings."""
    totals: Counter[str] = Counter()
    for path, lines in sizes().items():
        totals[path.parts[0]] += lines
    assert {} == {tree: (lines, TOTALS[tree]) for tree, lines in totals.items() if lines > TOTALS[tree]}


def test_each_folder_is_within_its_budget() -> None:
    """No folder of the package or of a crate is larger than its ceiling, and each has one."""
    totals: Counter[str] = Counter()
    for path, lines in sizes().items():
        if path.parts[0] in ("python", "crates"):
            totals[folder_of(path)] += lines
    assert set(totals) == set(FOLDERS)
    assert {} == {folder: (lines, FOLDERS[folder]) for folder, lines in totals.items() if lines > FOLDERS[folder]}


def test_files_and_classes_are_of_readable_size() -> None:
    """No file and no class has more lines than a reader can follow."""
    lines = {path: len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in sizes()}
    assert [] == [path for path, count in lines.items() if count > MAX_LINES]
    classes = [
        f"{path}: {node.name}"
        for path, tree in python_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and (node.end_lineno or 0) - node.lineno >= MAX_LINES
    ]
    assert [] == classes


def test_few_functions_have_many_parameters() -> None:
    """Options of a job are one object; only a few public calls spell them out."""
    long = []
    for path, tree in python_trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                arguments = node.args
                names = [argument.arg for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
                count = len([name for name in names if name not in ("self", "cls")])
                if count + (arguments.vararg is not None) + (arguments.kwarg is not None) >= MAX_PARAMETERS:
                    long.append(f"{path}: {node.name}")
    assert len(long) <= MAX_LONG_SIGNATURES, long


def test_lines_are_counted_as_stated() -> None:
    """Blank lines, comments, docstrings, imports and inline tests do not count."""
    lines = [
        '"""Module."""',
        "",
        "import os",
        "# comment",
        "VALUE = (",
        "    1,",
        ")",
        "",
        "def call():",
        '    """Do."""',
        "    os.sync()",
    ]
    assert 5 == python_lines("\n".join(lines))
    lines = [
        "//! Module.",
        "fn call() {",
        "    work(); // comment",
        "}",
        "#[cfg(test)]",
        "mod tests {",
        "    fn one() {",
        "    }",
        "}",
        "fn last() {}",
    ]
    assert 4 == rust_lines("\n".join(lines))
    assert 1 == rust_lines("#[cfg(test)]\nmod tests;\nfn last() {}")
