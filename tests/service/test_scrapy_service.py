"""The pipeline of `examples/scrapy_pipeline.py` with a service instead of a store."""

from __future__ import annotations

from pathlib import Path

from test_scrapy_pipeline import check_store, crawl_twice
from threaded import serve_in_thread

import nearkin as nk


def test_a_crawl_may_use_a_service(tmp_path: Path) -> None:
    """A crawl can use a service by URL and token."""
    tokens = tmp_path / "tokens"
    tokens.write_text("write a-token-that-writes\n")
    tokens.chmod(0o600)
    nk.Store.create(tmp_path / "pages.store").close()
    with serve_in_thread(tmp_path / "pages.store", token_file=tokens) as service:
        assert [["Som", "The"], []] == crawl_twice(tmp_path, service.url, "a-token-that-writes")
    check_store(tmp_path / "pages.store")
