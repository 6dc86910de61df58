"""The report of a run: one HTML file without external resources, in which people browse the result and judge pairs.

`run` reads a run from memory or from a folder; `sampling` selects pairs and clusters; `charts` draws; `review` packs
pairs and texts to browse and judge; `builder` assembles the `Contents` of the page, and `page` renders it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from nearkin.io import replace_file
from nearkin.report.builder import build_report
from nearkin.report.page import render
from nearkin.report.review import MAX_BYTES
from nearkin.report.run import Run

if TYPE_CHECKING:
    from nearkin.quality.judgements import PairLabels

__all__ = ["MAX_BYTES", "Run", "report_page", "write_report"]


def report_page(
    run: Run, labels: PairLabels | None = None, limit: int = MAX_BYTES, *, folder: Path | None = None
) -> str:
    """Return the report of a run, as HTML.

    Parameters
    ----------
    run : Run
    labels : PairLabels, optional
        Judged pairs, with which the page starts.
    limit : int
        Maximum size of the page in bytes; further texts are omitted, and the page says so.
    folder : Path, optional
        The run's folder, to evaluate it by the labels.

    Raises
    ------
    MissingExtraError
        Jinja2 is not installed.
    """
    return render(build_report(run, labels, limit, folder))


def write_report(
    path: str | os.PathLike[str], run: Run, labels: PairLabels | None = None, limit: int = MAX_BYTES
) -> None:
    """Write the report of a run atomically; parameters and errors are those of `report_page`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import nearkin as nk
    >>> from nearkin.report import Run, write_report
    >>> texts = ["The quick brown fox jumps over the lazy dog.", "The quick brown fox jumped over the lazy dog."]
    >>> result = nk.dedup(texts, threshold=0.7, near_misses="auto")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(path, Run.from_texts(result, texts, "foxes"))
    >>> "foxes: 1 of 2 documents kept" in path.read_text()
    True
    """
    with replace_file(path) as file:
        file.write(report_page(run, labels, limit).encode())
