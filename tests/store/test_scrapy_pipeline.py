"""The pipeline of `examples/scrapy_pipeline.py` in a real crawl of a local site."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import nearkin as nk

pytest.importorskip("scrapy", reason="scrapy is not installed; it is in the `peers` group")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NEWS = "The committee met on Monday to discuss the new harbour, and agreed on a plan that will cost nine million."
PAGES = {
    "/": "".join(f'<a href="/{name}">x</a>' for name in ("a", "b", "c", "d")),
    "/a": f"<p>{NEWS}</p>",
    "/b": f"<p>{NEWS}</p>",
    "/c": f"<p>{NEWS.replace('Monday', 'Tuesday')}</p>",
    "/d": "<p>Something else entirely, about the life of bees in winter.</p>",
}
CRAWL = """
import sys
sys.path.insert(0, sys.argv[4])
import scrapy
from scrapy.crawler import CrawlerProcess

class Site(scrapy.Spider):
    name = "site"
    start_urls = [sys.argv[1]]
    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.page)
    def page(self, response):
        yield {"url": response.url, "text": " ".join(response.css("p::text").getall())}

process = CrawlerProcess({
    "ITEM_PIPELINES": {"scrapy_pipeline.NearDuplicates": 300}, "NEARKIN_STORE": sys.argv[2], "LOG_LEVEL": "ERROR",
    "FEEDS": {sys.argv[3]: {"format": "jsonlines", "overwrite": True}}, "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 1, "NEARKIN_TOKEN": sys.argv[5] or None,
})
process.crawl(Site)
process.start()
"""


class Site(BaseHTTPRequestHandler):
    """Serves the pages."""

    def do_GET(self) -> None:
        """Send a page, or 404."""
        page = PAGES.get(self.path)
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write((page or "").encode())

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


def crawl_twice(folder: Path, store: str, token: str = "") -> list[list[str]]:
    """Crawl the site twice into one store; return the first word of each kept text."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/"
        kept = []
        # Scrapy reads the source of its spiders.
        script = folder / "crawl.py"
        script.write_text(CRAWL)
        for number in range(2):
            out = folder / f"out{number}.jsonl"
            command = [sys.executable, str(script), address, store, str(out), str(EXAMPLES), token]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            assert 0 == done.returncode, done.stderr
            lines = out.read_text().splitlines() if out.exists() else []
            kept.append(sorted(json.loads(line)["text"][:3] for line in lines))
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    return kept


def check_store(path: Path) -> None:
    """Check the store after two crawls."""
    with nk.Store.open(path, "r") as store:
        assert 4 == len(store)
        assert 2 == sum(doc.status == "new" for batch in store.iter_documents() for doc in batch)


def test_a_crawl_gives_each_page_once(tmp_path: Path) -> None:
    """The first crawl keeps one of a page, its copy and its near-duplicate; the second keeps nothing."""
    assert [["Som", "The"], []] == crawl_twice(tmp_path, str(tmp_path / "pages.store"))
    check_store(tmp_path / "pages.store")
