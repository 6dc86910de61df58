"""A browser for tests of the page: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ["--no-sandbox", "--host-resolver-rules=MAP rebound.example 127.0.0.1"]
PATIENCE = 120_000
"""Timeout of the browser in milliseconds, for busy machines."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless browser; skip the test if Playwright or Chromium is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS, timeout=PATIENCE)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """An open page, and its forbidden actions."""

    page: Page
    url: str
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def note(self, message: ConsoleMessage) -> None:
        """Record errors of the console, except those about refused requests."""
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.errors.append(message.text)

    def follow(self, request: Request) -> None:
        """Record requests to other origins."""
        if not request.url.startswith((self.url + "/", "data:")):
            self.elsewhere.append(request.url)

    def text(self, selector: str) -> str:
        """Return the text of one element."""
        return str(self.page.locator(selector).inner_text())

    def wait(self, selector: str, words: str = "") -> None:
        """Wait until an element with these words is visible."""
        self.page.locator(selector, has_text=words or None).first.wait_for(state="visible")

    def faults(self) -> list[tuple[str, list[str]]]:
        """Return the accessibility rules of axe that the page violates, and the markup that violates them."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing")
        if self.page.evaluate("typeof axe") == "undefined":
            self.page.evaluate(axe.Axe().axe_script)
        violations = self.page.evaluate(
            """async () => (await axe.run({resultTypes: ["violations"]})).violations.map(
                ({id, nodes}) => [id, nodes.map(({html}) => html)])"""
        )
        return [(rule, nodes) for rule, nodes in violations]

    def overflow(self) -> int:
        """Return the number of pixels by which the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@contextmanager
def visiting(
    browser: Browser, url: str, *, width: int = 1280, height: int = 900, path: str = "/", **options: Any
) -> Iterator[Visit]:
    """Open the page; at the end check that it had no error and sent no request to another origin."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    try:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        visit = Visit(page, url)
        page.on("console", visit.note)
        page.on("pageerror", lambda error: visit.errors.append(str(error)))
        page.on("request", visit.follow)
        page.goto(url + path)
        yield visit
        assert [] == visit.errors
        assert [] == visit.elsewhere
    finally:
        context.close()
