"""The notebooks of docs/notebooks: their cells run in order, and print what the notebooks store.

Jupyter is not needed: code cells are run in one namespace, in a copy of the folder. After a change of a notebook,
store its outputs again:

    python tests/test_notebooks.py
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


def read(path: Path) -> dict[str, Any]:
    """Return a notebook."""
    book: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return book


def code_cells(book: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the cells that run."""
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def run(source: str, namespace: dict[str, Any]) -> tuple[str, str | None]:
    """Run a cell; return what it prints, and the `repr` of its last expression, None if there is none."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "<cell>", "exec"), namespace)  # noqa: S102 - that is what a notebook does
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)  # noqa: S307
    return printed.getvalue(), None if value is None else repr(value)


def stored(cell: dict[str, Any]) -> tuple[str, str | None]:
    """Return the outputs that a cell stores, as `run` does."""
    printed, value = "", None
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            printed += "".join(output["text"])
        else:
            value = "".join(output["data"]["text/plain"])
    return printed, value


def lay_out(folder: Path) -> Path:
    """Copy the sample corpus to where the notebooks expect it; return the folder in which they run."""
    shutil.copytree(ROOT / "samples", folder / "samples")
    home = folder / "docs/notebooks"
    home.mkdir(parents=True)
    return home


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_stores(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each code cell prints its stored text, and its last expression has the stored representation."""
    monkeypatch.chdir(lay_out(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for cell in code_cells(read(path)):
        source = "".join(cell["source"])
        assert stored(cell) == run(source, namespace), source


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short_and_portable(path: Path) -> None:
    """It has few cells, which were run in order, and names no folder of the machine that ran it."""
    book = read(path)
    assert (4, 5) == (book["nbformat"], book["nbformat_minor"])
    assert len(book["cells"]) <= 30
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    assert [] == re.findall(r"/(?:home|root|tmp|Users|work)/", json.dumps(book))
    numbers = [cell["execution_count"] for cell in code_cells(book)]
    assert list(range(1, len(numbers) + 1)) == numbers


def test_links_of_notebooks_lead_to_pages() -> None:
    """Links of prose cells are paths from the notebook."""
    for path in NOTEBOOKS:
        prose = "\n".join("".join(cell["source"]) for cell in read(path)["cells"] if cell["cell_type"] == "markdown")
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
            assert (path.parent / link).exists(), link


def store_outputs(path: Path) -> None:
    """Run a notebook and store its outputs."""
    book = read(path)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(lay_out(Path(folder)))
        for number, cell in enumerate(code_cells(book), 1):
            printed, value = run("".join(cell["source"]), namespace)
            cell["execution_count"] = number
            cell["outputs"] = []
            if printed:
                text = printed.splitlines(keepends=True)
                cell["outputs"].append({"name": "stdout", "output_type": "stream", "text": text})
            if value is not None:
                data = {"text/plain": value.splitlines(keepends=True)}
                head = {"data": data, "execution_count": number, "metadata": {}}
                cell["outputs"].append({**head, "output_type": "execute_result"})
        os.chdir(ROOT)
    path.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for notebook in NOTEBOOKS:
        store_outputs(notebook)
