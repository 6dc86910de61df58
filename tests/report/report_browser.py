"""Reports in a real browser, opened from disk."""

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
def open_page(
    browser: Browser, path: Path, at: str = "", *, width: int = 1280, height: int = 900, **options: Any
) -> Iterator[Visit]:
    """Open a file, at a fragment if one is given; at the end check that it caused no errors and no other requests."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        visit = Visit(page, path.as_uri())
        requests: list[str] = []
        page.on("console", visit.note)
        page.on("pageerror", lambda error: visit.errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(visit.url + at)
        yield visit
        assert [] == visit.errors
        # The empty icon is a data URL, and downloaded labels are a blob.
        assert [] == [
            url for url in requests if url.split("#")[0] != visit.url and not url.startswith(("data:", "blob:"))
        ]
    finally:
        context.close()


def enter(visit: Visit, name: str) -> None:
    """Open a view of the report."""
    visit.page.click(f"#views a[href='#{name}']")
    visit.wait(f"#view-{name} .card")


def write_page(contents: Contents, folder: Path) -> Path:
    """Write a report to a file and return its path."""
    path = folder / "report.html"
    path.write_text(render(contents), encoding="utf-8")
    return path
