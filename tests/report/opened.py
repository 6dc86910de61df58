"""A report in a real browser, opened from disk as a person opens it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browsing import PATIENCE, Visit

from nearkin.report.model import Contents
from nearkin.report.page import render

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@contextmanager
def opened(browser: Browser, path: Path, *, width: int = 1280, height: int = 900, **options: Any) -> Iterator[Visit]:
    """Opens a file; at the end it must have made no error, and no request but the one for itself."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        visit = Visit(page, path.as_uri())
        requests: list[str] = []
        page.on("console", visit.note)
        page.on("pageerror", lambda error: visit.errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(visit.url)
        yield visit
        assert [] == visit.errors
        # An icon of no bytes is no request to anywhere; a decision that is downloaded is a blob.
        assert [] == [
            url for url in requests if url.split("#")[0] != visit.url and not url.startswith(("data:", "blob:"))
        ]
    finally:
        context.close()


def written(contents: Contents, folder: Path) -> Path:
    """The report as a file."""
    path = folder / "report.html"
    path.write_text(render(contents), encoding="utf-8")
    return path
