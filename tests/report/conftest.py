"""The browser of the tests of reports: Chromium, started once per module.

Playwright runs an event loop in its thread as long as it is open, which tests of other folders must not meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import Visit, chromium
from report_browser import open_page, write_page
from sample_report import SampleCorpus, build_contents, build_corpus

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def corpus() -> SampleCorpus:
    """Return a corpus with known pairs."""
    return build_corpus()


@pytest.fixture(scope="module")
def path(corpus: SampleCorpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the report of the corpus."""
    return write_page(build_contents(corpus), tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; tests are skipped if it or Jinja2 is not installed."""
    pytest.importorskip("jinja2", reason="jinja2 is not installed (nearkin[report])")
    with chromium() as program:
        yield program


@pytest.fixture
def visit(browser: Browser, path: Path) -> Iterator[Visit]:
    """Open the report of the corpus."""
    with open_page(browser, path) as opened:
        yield opened
