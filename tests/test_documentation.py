"""The pages of the documentation: their links are valid, and each page is in the menu."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"]


def prose(page: Path) -> str:
    """Return a page without its code blocks."""
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of headings, as they read or `{#named}`, and of the names whose docstrings a page inserts."""
    headings = [
        re.sub(r".*\{#(.*)\}", r"\1", heading) for heading in re.findall(r"^#+ (.*)", prose(page), re.MULTILINE)
    ]
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings)
    return {*(re.sub(r"\s+", "-", heading) for heading in plain), *inserted(page)}


def inserted(page: Path) -> list[str]:
    """Return the names whose docstrings a page inserts."""
    return re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    """Covers links within the project, to files and to anchors."""
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_menu() -> None:
    """mkdocs.yml lists each page once."""
    menu = re.findall(r"([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(menu) == sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md"))


@cache
def commands() -> Any:
    """Return the command line as a Typer command."""
    import typer

    from nearkin.cli.app import app

    return typer.main.get_command(app)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_a_page_have_the_options_that_it_shows(page: Path) -> None:
    """Every line of a console block that starts with `nearkin` uses an existing command and existing options."""
    text = page.read_text(encoding="utf-8")
    for line in re.findall(r"^\$ (?:.*\| )?nearkin (.*?)(?: +#.*)?$", text, re.MULTILINE):
        words = line.split()
        command = commands()
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        parameters = command.params
        options = {"--help", *(form for each in parameters for form in (*each.opts, *each.secondary_opts))}
        passed = {word.partition("=")[0] for word in words if word.startswith("-") and len(word) > 1}
        assert set() == passed - options, line


def test_every_public_name_has_a_page_of_reference() -> None:
    """`GROUPS` of tools/write_reference.py has every public name, and the pages are up to date."""
    import nearkin as nk

    pages = (ROOT / "docs" / "reference").glob("*.md")
    documented = {name.removeprefix("nearkin.").removeprefix("digests.") for page in pages for name in inserted(page)}
    packages = {"families": nk.families, "index": nk.index, "quality": nk.quality, "store": nk.store}
    public = set(vars(nk)["__all__"])
    inner = {f"{package}.{name}" for package, module in packages.items() for name in vars(module)["__all__"]}
    # What `nearkin` itself has is documented there, and these are documented by their families.
    names = public | {name for name in inner if name.partition(".")[2] not in public}
    names -= {"__version__", "theory", "patterns", "digests", *packages}
    names -= {"families.Probes", "families.datasketch_signature"}
    # Names of experts are documented under their packages, also those that `nearkin` has too.
    documented |= {name.partition(".")[2] for name in documented if name.partition(".")[0] in {"patterns", *packages}}
    documented |= {"dedup"} if "dedup.texts.dedup" in documented else set()
    documented |= {"explain"} if "explain.explain" in documented else set()
    assert set() == names - documented


def test_no_file_holds_the_marks_of_a_conflict() -> None:
    """No tracked file has conflict markers of a merge."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not files:
        pytest.skip("not a git checkout")
    marks = re.compile(rb"^(<{7} |>{7} |={7}$)", re.MULTILINE)
    assert [] == [name for name in files if (ROOT / name).is_file() and marks.search((ROOT / name).read_bytes())]


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "nearkin.service", "nginx.conf"])
def test_the_page_on_deployment_has_the_files_of_the_example(name: str) -> None:
    """The page shows each file of examples/service as it is."""
    shown = re.findall(r"^```\w+\n(.*?)^```", (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8"), re.M | re.S)
    assert (ROOT / "examples" / "service" / name).read_text(encoding="utf-8") in shown


def test_the_chinese_readme_has_the_examples_of_the_readme() -> None:
    """Its code blocks and links are those of README.md, whose tests run them; each page links to the other.

    A link leads to the Chinese version of a page if there is one.
    """
    english, chinese = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.zh.md"))

    def shown(page: str) -> tuple[list[str], set[str]]:
        blocks = re.findall(r"^```.*?^```", page, re.MULTILINE | re.DOTALL)
        links = set(re.findall(r"\]\(([^)\s]+)\)", page)) - {"README.md", "README.zh.md"}
        return blocks, {link.replace(".zh.md", ".md") for link in links}

    assert shown(english) == shown(chinese)
    assert "](README.zh.md)" in english
    assert "](README.md)" in chinese
