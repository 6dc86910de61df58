"""Open every page of the built site in Chromium, in a wide and a narrow window, and report faults.

    make docs && python tools/check_site.py [--pictures FOLDER] [FOLDER of the site]

Faults are: a page wider than its window, an error or warning in the console, a request that fails or that goes to
another host, an image that does not load, a link to a missing page or anchor, a formula that is not MathML, and a
search of `SEARCHES` whose first result is another page. `--pictures` also saves a screenshot of each page. Needs
playwright and Debian's chromium.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (1280, 390)
HOST = "http://site.test/"
# What people search for, and the page that is found first.
SEARCHES = {
    "incremental": "every-day",
    "daily": "every-day",
    "upgrade": "every-day",
    "windows": "every-day",
    "pickle": "every-day",
    "backup": "every-day",
    "threshold": "threshold",
    "containment": "contains",
    "near-duplicate": "dedup",
    "fuzzy dedup": "dedup",
    "duplicates": "dedup",
    "nginx": "deploy",
    "docker": "deploy",
    "gojieba": "articles/article-4.zh",
    "PHASH": "articles/article-1",
}


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect links and anchors."""
        attributes = dict(attrs)
        if attributes.get("id"):
            self.anchors.add(str(attributes["id"]))
        if tag == "a" and attributes.get("href"):
            self.links.append(str(attributes["href"]))


def broken_links(site: Path) -> list[str]:
    """Return links within the site whose target is missing."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    faults = []
    for path, page in pages.items():
        base = HOST + str(path.relative_to(site))
        for link in page.links:
            url, anchor = urldefrag(urljoin(base, link))
            if not url.startswith(HOST):
                continue
            target = site / unquote(urlsplit(url).path).lstrip("/")
            target = target / "index.html" if target.is_dir() else target
            there = target.exists() and (not anchor or target not in pages or unquote(anchor) in pages[target].anchors)
            if not there and path.name != "404.html":
                faults.append(f"{path.relative_to(site)}: {link} leads nowhere")
    return faults


class Quiet(SimpleHTTPRequestHandler):
    """A server without a log."""

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


FAULTS = """() => {
    const found = [];
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width)
        found.push(`is ${document.documentElement.scrollWidth} wide in a window of ${width}`);
    for (const image of document.images)
        if (image.complete && image.naturalWidth === 0) found.push(`picture ${image.getAttribute("src")} is missing`);
    for (const text of document.querySelectorAll("article p, article li, article td"))
        if (/(^|\\s)\\$[^\\s$][^$]*[\\\\^_][^$]*\\$/.test(text.textContent) && !text.querySelector("code"))
            found.push(`formula is text: ${text.textContent.slice(0, 60)}`);
    return found;
}"""


def faults_in_browser(site: Path, pictures: Path | None) -> list[str]:
    """Return the faults of pages in a browser."""
    from playwright.sync_api import sync_playwright

    program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
    if program is None:
        raise SystemExit("chromium is not installed (Debian: apt-get install chromium)")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}/"
    faults: list[str] = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for width in WIDTHS:
            page = browser.new_page(viewport={"width": width, "height": 900})
            where = [""]

            def wrong(what: str, where: list[str] = where, width: int = width) -> None:
                faults.append(f"{where[0] or 'index'} at {width}: {what}")

            page.on("console", lambda m, wrong=wrong: m.type in ("error", "warning") and wrong(f"console: {m.text}"))
            page.on("pageerror", lambda error, wrong=wrong: wrong(f"script: {error}"))
            page.on(  # Requests that the next page cancelled have not failed.
                "requestfailed",
                lambda request, wrong=wrong: (
                    request.failure == "net::ERR_ABORTED" or wrong(f"{request.failure}: {request.url}")
                ),
            )
            page.on(
                "request",
                lambda request, wrong=wrong: (
                    request.url.startswith((root, "data:", "blob:")) or wrong(f"asks {request.url}")
                ),
            )
            for path in sorted(site.rglob("index.html")):
                where[0] = str(path.parent.relative_to(site)).removeprefix(".")
                page.goto(root + (where[0] + "/" if where[0] else ""))
                page.evaluate("document.querySelectorAll('img').forEach(image => image.loading = 'eager')")
                page.wait_for_load_state("networkidle") if pictures else None
                for fault in page.evaluate(FAULTS):
                    wrong(fault)
                if pictures:
                    name = (where[0] or "index").replace("/", "-")
                    page.screenshot(path=pictures / f"{name}-{width}.png", full_page=True)
            page.close()
        faults += wrong_searches(browser.new_page(viewport={"width": max(WIDTHS), "height": 900}), root)
        browser.close()
    server.shutdown()
    return faults


FIRST_RESULT = """() => {
    for (const element of document.querySelectorAll("div"))
        for (const link of element.shadowRoot?.querySelectorAll("a[href]") ?? []) return link.href;
    return null;
}"""


def wrong_searches(page: Any, root: str) -> list[str]:
    """Return the searches of `SEARCHES` whose first result is another page."""
    faults = []
    for words, wanted in SEARCHES.items():
        page.goto(root)
        page.locator(".md-search__button").click()
        page.keyboard.type(words)
        found = None
        for _ in range(50):  # The worker reads the index first, and answers each key.
            page.wait_for_timeout(100)
            last, found = found, page.evaluate(FIRST_RESULT)
            if found and found == last and f"h={words.split()[-1]}" in found:
                break
        first = urlsplit(found or root).path.strip("/")
        if first != wanted:
            faults.append(f"the search for {words!r} finds {first or 'nothing'}, not {wanted}")
    return faults


def main() -> int:
    """Print each fault on a line; return 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, nargs="?", default=ROOT / "site")
    parser.add_argument("--pictures", type=Path)
    args = parser.parse_args()
    if args.pictures:
        args.pictures.mkdir(parents=True, exist_ok=True)
    faults = [*broken_links(args.site), *faults_in_browser(args.site, args.pictures)]
    print("\n".join(faults) or f"no faults on {len(list(args.site.rglob('index.html')))} pages")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
