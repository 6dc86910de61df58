"""A report of a run: one HTML file that opens from disk, asks nothing of anybody, and lets people look and judge.

`run` is what is looked at, in memory or in a folder; `choice` says which pairs and clusters a report shows, and
`files` what is shown of files; `charts` are its pictures; `making` puts them together as `contents`; `page` makes a
file of that.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nearkin.io import replace_file
from nearkin.report.builder import LIMIT, contents_of
from nearkin.report.page import render
from nearkin.report.run import Run

if TYPE_CHECKING:
    from nearkin.quality.labels import PairLabels

__all__ = ["LIMIT", "Run", "page_of", "write"]


def page_of(run: Run, labels: PairLabels | None = None, limit: int = LIMIT, *, folder: Path | None = None) -> str:
    """The page of a run, as HTML.

    Parameters
    ----------
    run : Run
    labels : PairLabels, optional
        What people said of pairs: the page begins with it.
    limit : int
        Bytes of the page at most; texts that would go beyond are left out, and the page says so.
    folder : Path, optional
        The run's folder, to score it by the labels.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.
    """
    return render(contents_of(run, labels, limit, folder))


def write(path: str | os.PathLike[str], run: Run, labels: PairLabels | None = None, limit: int = LIMIT) -> None:
    """Write the page of a run, whole or not at all; parameters and errors as for `page_of`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import nearkin as nk
    >>> from nearkin.report import Run, write
    >>> texts = ["The quick brown fox jumps over the lazy dog.", "The quick brown fox jumped over the lazy dog."]
    >>> result = nk.dedup(texts, threshold=0.7, near_misses="auto")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write(path, Run.of_texts(result, texts, "foxes"))
    >>> "foxes: 1 of 2 documents kept" in path.read_text()
    True
    """
    with replace_file(path) as file:
        file.write(page_of(run, labels, limit).encode())
