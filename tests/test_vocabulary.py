"""docs/vocabulary.md: names in the package use the field's words, not the ones that the page rules out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "nearkin"


FORMATS = {"least_common", "check_least_common", "kept_apart", "older_documents"}
"""Keys of recipes and summaries, which files contain: their names do not change."""
ERROR_FIELDS = {"found"}
"""`ParameterError.found` and `.allowed`: the value of an argument and the allowed ones."""


def banned_words() -> dict[str, str]:
    """Return each word of the last column of the vocabulary, with the term that replaces it."""
    rows = re.findall(r"^\|.*\|$", (ROOT / "docs" / "vocabulary.md").read_text(encoding="utf-8"), re.MULTILINE)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {word: row[0] for row in cells if len(row) == 4 for word in re.findall(r"`([a-z_]+)`", row[3])}


def words_of(name: str) -> set[str]:
    """Split a name in snake case or camel case into lower-case words; the name itself is one of them."""
    return {name.lower(), *re.findall(r"[a-z0-9]+", re.sub(r"([A-Z])", r"_\1", name).lower())}


def public_names(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the public classes, functions, methods and parameters of a module, each with where it is defined."""

    def walk(nodes: list[ast.stmt], owner: str) -> Iterator[tuple[str, str]]:
        for node in nodes:
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if node.name.startswith("_") and node.name != "__init__":
                continue
            place = f"{path.relative_to(PACKAGE)}:{node.lineno} {owner}{node.name}"
            yield node.name, place
            if isinstance(node, ast.ClassDef):
                yield from walk(node.body, f"{node.name}.")
            else:
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                yield from ((argument.arg, place) for argument in arguments if not argument.arg.startswith("_"))

    yield from walk(ast.parse(path.read_text(encoding="utf-8")).body, "")


def test_public_names_use_the_words_of_the_field() -> None:
    """No module, public class, function, method or parameter is named with a word that the vocabulary replaces."""
    banned = banned_words()
    assert len(banned) > 25
    faults = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).with_suffix("")
        names = [(part, str(module)) for part in module.parts] + list(public_names(path))
        exempt = FORMATS | (ERROR_FIELDS if module.name == "errors" else set())
        faults += [
            f"{where}: {word} in {name}"
            for name, where in names
            if name not in exempt
            for word in words_of(name) & banned.keys()
        ]
    assert [] == faults


def test_public_classes_have_distinct_names() -> None:
    """A public class name means one thing in the package; adapters of other packages keep the names of those."""
    homes: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = str(path.relative_to(PACKAGE))
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not module.startswith("compat/"):
                homes.setdefault(node.name.lstrip("_"), []).append(module)
    assert {} == {name: modules for name, modules in homes.items() if len(modules) > 1}


def test_names_are_split_into_words() -> None:
    """The checks above must not pass by seeing nothing."""
    assert {"textplaces", "text", "places"} == words_of("TextPlaces")
    assert {"num_places", "num", "places"} == words_of("num_places")
    assert "places" in banned_words()
