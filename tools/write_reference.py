"""Write the pages of docs/reference, one per group of public names, and their part of the menu in mkdocs.yml.

    python tools/write_reference.py

A page contains only names. The site generator inserts the docstrings. The index lists each name with the first sentence
of its docstring. Run this after adding a public name; a test compares the names.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "reference"
BEGIN, END = "      # begin: tools/write_reference.py\n", "      # end\n"

GROUPS: dict[str, list[str]] = {
    "Deduplicate": [
        "dedup",
        "DedupResult",
        "dedup_files",
        "passages",
        "repeats",
        "contains",
        "KnownTexts",
        "decontaminate",
        "pieces.decontaminate.Decontamination",
        "Suites",
        "leaks",
        "pieces.leaks.Leaks",
        "PairLabels",
    ],
    "Hash": [
        *("Recipe", "fingerprint", "families.SimHash", "hamming", "signature", "families.MinHash"),
        *("families.minhash_similarity", "similarity"),
        *("compare", "ComparedTexts", "explain", "words", "keywords", "Idf"),
    ],
    "Search": ["HammingIndex", "DigestIndex", "LSHIndex", "index.BandIndex", "index.SearchResult", "index.Pairs"],
    "Store": ["Store", "Client", "store.CheckResult", "service.AsyncClient"],
    "Measure and tune": [
        *("evaluate", "quality.Evaluation", "quality.ClusterLabels", "tune", "quality.Tuning", "quality.tune_bands"),
        "quality.BandTuning",
    ],
    "Patterns": ["UrlPatterns", "LogTemplates", "patterns.PayloadGroups"],
    "Families of vectors": [
        *("families.Hyperplane", "families.CrossPolytope", "families.PStable", "families.SphericalHash"),
        *("families.KernelLSH", "families.ShiftInvariant", "families.RandomFourier", "families.SparseSimHash"),
        *("families.BitSampling", "families.ITQ", "families.Family", "families.load", "families.spherical_hamming"),
        *("families.bounding_power", "families.BoundingPower"),
    ],
    "Theory": [
        *("theory.laws", "theory.amplification", "theory.banding", "theory.choice", "theory.hamming"),
        *("theory.simhash", "theory.containment"),
    ],
    "Compatibility": ["compat.simhash", "compat.datasketch", "compat.ssdeep"],
    "Modules": [
        *("ssdeep", "tlsh", "text.edits", "batched", "dask", "duckdb", "polars", "ray", "spark", "sklearn"),
        *("plot", "io", "report", "errors"),
    ],
    "Settings": ["num_threads", "set_num_threads"],
}
"""The pages: names of `nearkin`. A module is shown with what it defines or re-exports."""

PATHS = {"ssdeep": "digests.ssdeep", "tlsh": "digests.tlsh", "dedup": "dedup.texts.dedup", "explain": "explain.explain"}
"""Names whose docstrings have other paths: a module of a package, and functions that share a package's name."""


def resolve(name: str) -> object:
    """Return the object or the module of a name below `nearkin`."""
    name = PATHS.get(name, name)
    first, _, last = name.rpartition(".")
    holder = import_module("nearkin" + ("." + first if first else ""))
    return import_module(f"nearkin.{name}") if name in modules() else getattr(holder, last)


def page_file(group: str) -> str:
    """Return the file name of a group's page."""
    return f"{group.lower().replace(' ', '-')}.md"


def modules() -> set[str]:
    """Return the names that are modules."""
    return {*GROUPS["Theory"], *GROUPS["Compatibility"], *GROUPS["Modules"], PATHS["ssdeep"], PATHS["tlsh"]}


def summary(name: str) -> str:
    """Return the first sentence of a docstring, escaped for a table."""
    text = inspect.getdoc(resolve(name)) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s(?=[A-Z])", paragraph)[0].rstrip(".").replace("|", r"\|")


def public(name: str) -> list[str]:
    """Return the members on a module's page: re-exports, its part of the package's names, and its exceptions."""
    module: Any = resolve(name)
    package: Any = import_module("nearkin." + name.rpartition(".")[0]) if "." in name else None
    if hasattr(module, "__all__"):
        return list(module.__all__)
    if package is not None and hasattr(package, "__all__"):
        own = (each for each in package.__all__ if getattr(package, each) is getattr(module, each, None))
        home = module.__name__
        return [each for each in own if getattr(getattr(module, each), "__module__", home) == home]
    own = [
        each for each, value in vars(module).items() if isinstance(value, type) and value.__module__ == module.__name__
    ]
    return [each for each in own if not each.startswith("_")]


def block(name: str) -> str:
    """Return the lines that the site generator replaces by a docstring."""
    path = f"nearkin.{PATHS.get(name, name)}"
    if name not in modules():
        heading = f"    options:\n      heading: nearkin.{name}\n" if name in PATHS else ""
        return f"::: {path}\n{heading}"
    options = ["show_root_heading: false", "show_root_toc_entry: false", "heading_level: 3"]
    if members := public(name):
        options.append(f"members: [{', '.join(members)}]")
    return "\n".join([f"## {path}\n\n::: {path}", "    options:", *(f"      {option}" for option in options), ""])


def page(group: str, names: list[str]) -> str:
    """Return the page of a group."""
    return "\n".join([f"# {group}\n", *map(block, names)])


def anchor(name: str) -> str:
    """Return the anchor of a name on its page."""
    path = f"nearkin.{PATHS.get(name, name)}"
    return path.replace(".", "") if name in modules() else path


def index() -> str:
    """Return the page that lists all names."""
    parts = [
        "# Reference\n\nAll public names, with their docstrings. Names without an entry are private and may change.\n\n"
        "```python\n>>> import nearkin as nk\n>>> print(nk.dedup.__doc__.splitlines()[0])\n"
        f"{(inspect.getdoc(resolve('dedup')) or '').splitlines()[0]}\n\n```\n"
    ]
    for group, names in GROUPS.items():
        rows = "".join(f"| [`{name}`]({page_file(group)}#{anchor(name)}) | {summary(name)} |\n" for name in names)
        parts.append(f"\n## {group}\n\n| name | summary |\n|---|---|\n{rows}")
    return "".join(parts)


def menu() -> str:
    """Return the lines of mkdocs.yml."""
    lines = ["      - reference/index.md\n"]
    lines += [f"      - {group}: reference/{page_file(group)}\n" for group in GROUPS]
    return "".join(lines)


def main() -> None:
    """Write the pages, and remove those of groups that no longer exist."""
    PAGES.mkdir(exist_ok=True)
    pages = {page_file(group): page(group, names) for group, names in GROUPS.items()} | {"index.md": index()}
    for old in PAGES.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for file, text in pages.items():
        (PAGES / file).write_text(text, encoding="utf-8")
    config = ROOT / "mkdocs.yml"
    text = config.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    config.write_text(head + BEGIN + menu() + END + rest.split(END, 1)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
