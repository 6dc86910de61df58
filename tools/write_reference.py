"""Writes the pages of docs/reference, one for each public name, and their part of the menu in mkdocs.yml.

    python tools/write_reference.py

The pages hold no more than a name: what they show is the docstring, which the site's generator reads. The index has
each name with the first sentence of it. Run this after a public name was added; a test compares the names.
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
        "PairLabels",
    ],
    "Hash": [
        *("Recipe", "fingerprint", "SimHash", "hamming", "signature", "MinHash", "minhash_similarity", "similarity"),
        *("explain", "words", "keywords", "Idf"),
    ],
    "Search": ["HammingIndex", "BandIndex", "DigestIndex", "LSHIndex", "SearchResult", "Pairs"],
    "Remember": ["Store", "CheckResult", "Client"],
    "Measure and tune": ["evaluate", "Evaluation", "ClusterLabels", "tune", "Tuning", "tune_bands", "BandTuning"],
    "Patterns": ["UrlPatterns", "LogTemplates", "PayloadGroups"],
    "Families of vectors": [
        *("families.Hyperplane", "families.CrossPolytope", "families.PStable", "families.SphericalHash"),
        *("families.KernelLSH", "families.ShiftInvariant", "families.RandomFourier", "families.SparseSimHash"),
        *("families.BitSampling", "families.ITQ", "families.Family", "families.load", "families.spherical_hamming"),
    ],
    "Theory": [
        *("theory.laws", "theory.amplification", "theory.banding", "theory.choice", "theory.hamming"),
        *("theory.simhash", "theory.containment"),
    ],
    "In the place of other packages": ["compat.simhash", "compat.datasketch", "compat.ssdeep"],
    "Modules": ["ssdeep", "index.permutations", "spark", "sklearn", "plot", "io", "report", "errors"],
    "Settings": ["num_threads", "set_num_threads"],
}
"""The menu: names of `nearkin`. A module's page shows what the module defines or hands on."""


def resolve(name: str) -> object:
    """The object, or the module, of a name below `nearkin`."""
    first, _, last = name.rpartition(".")
    holder = import_module("nearkin" + ("." + first if first else ""))
    return import_module(f"nearkin.{name}") if name in modules() else getattr(holder, last)


def file_of(name: str) -> str:
    """The file of a name's page."""
    return f"{name.replace('.', '-')}.md"


def modules() -> set[str]:
    """The names that are modules."""
    return {*GROUPS["Theory"], *GROUPS["In the place of other packages"], *GROUPS["Modules"]}


def summary(name: str) -> str:
    """The first sentence of a docstring, without markup that a table can't hold."""
    text = inspect.getdoc(resolve(name)) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.])\s(?=[A-Z])", paragraph)[0].rstrip(".").replace("|", r"\|")


def public(name: str) -> list[str]:
    """What of a module its page shows: what it hands on, what its package does of it, its exceptions."""
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


def page(name: str) -> str:
    """The page of a name."""
    if name not in modules():
        return f"# {name.rpartition('.')[2]}\n\n::: nearkin.{name}\n"
    options = ["show_root_heading: false", "show_root_toc_entry: false", "heading_level: 2"]
    if members := public(name):
        options.append(f"members: [{', '.join(members)}]")
    lines = "".join(f"      {option}\n" for option in options)
    return f"# nearkin.{name}\n\n::: nearkin.{name}\n    options:\n{lines}"


def index() -> str:
    """The page that lists all names."""
    parts = [
        "# Reference\n\nEvery public name, from its docstring. What has no page here is private and may change.\n\n"
        "```python\n>>> import nearkin as nk\n>>> print(nk.dedup.__doc__.splitlines()[0])\n"
        "Find near-duplicates among texts and say which one of each cluster stays.\n\n```\n"
    ]
    for group, names in GROUPS.items():
        rows = "".join(f"| [`{name}`]({file_of(name)}) | {summary(name)} |\n" for name in names)
        parts.append(f"\n## {group}\n\n| name | what it is |\n|---|---|\n{rows}")
    return "".join(parts)


def menu() -> str:
    """The lines of mkdocs.yml."""
    lines = ["      - reference/index.md\n"]
    for group, names in GROUPS.items():
        lines.append(f"      - {group}:\n")
        lines.extend(f"          - {name.removeprefix('families.')}: reference/{file_of(name)}\n" for name in names)
    return "".join(lines)


def main() -> None:
    """Writes what differs, and removes pages of names that are gone."""
    PAGES.mkdir(exist_ok=True)
    wanted = {file_of(name): page(name) for names in GROUPS.values() for name in names} | {"index.md": index()}
    for old in PAGES.glob("*.md"):
        if old.name not in wanted:
            old.unlink()
    for file, text in wanted.items():
        (PAGES / file).write_text(text, encoding="utf-8")
    config = ROOT / "mkdocs.yml"
    text = config.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    config.write_text(head + BEGIN + menu() + END + rest.split(END, 1)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
