"""An item pipeline for Scrapy that drops copies and near-duplicates of pages of this crawl or an earlier one.

In the settings of a project:

    ITEM_PIPELINES = {"scrapy_pipeline.NearDuplicates": 300}
    NEARKIN_STORE = "pages.store"        # created by the first run; or the URL of a service, "http://127.0.0.1:8470"
    NEARKIN_TOKEN = None        # of the service
    NEARKIN_TEXT, NEARKIN_ID = "text", "url"        # fields of an item

Items are checked one by one, in Scrapy's order, and each result is durable. Crawls on several machines can share a
service, which is called in threads, so that the crawl continues. The numbers of dropped pages are in the crawl's
statistics, under `nearkin/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from twisted.internet.threads import deferToThread

import nearkin as nk


class NearDuplicates:
    """An item pipeline that drops copies and near-duplicates of earlier items."""

    def __init__(self, crawler: Crawler) -> None:
        self.stats = crawler.stats
        self.store_path = str(crawler.settings.get("NEARKIN_STORE", "pages.store"))
        self.token = crawler.settings.get("NEARKIN_TOKEN")
        self.text = crawler.settings.get("NEARKIN_TEXT", "text")
        self.id = crawler.settings.get("NEARKIN_ID", "url")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicates:
        """Create the pipeline; Scrapy calls this."""
        return cls(crawler)

    def open_spider(self, spider: Any = None) -> None:
        """Open or create the store, or create the client of its service."""
        self.store: nk.Store | nk.Client
        if self.store_path.startswith(("http://", "https://")):
            self.store = nk.Client(self.store_path, self.token)
        else:
            self.store = (
                nk.Store.open(self.store_path) if Path(self.store_path).exists() else nk.Store.create(self.store_path)
            )

    def close_spider(self, spider: Any = None) -> None:
        """Close the store."""
        self.store.close()

    def process_item(self, item: Any, spider: Any = None) -> Any:
        """Return a new item; drop any other item with the reason."""
        texts, ids = [item[self.text]], [item[self.id]]
        if isinstance(self.store, nk.Store):
            return self.decide(item, self.store.check_and_add(texts, ids))
        return deferToThread(self.store.check_and_add, texts, ids).addCallback(lambda result: self.decide(item, result))

    def decide(self, item: Any, result: nk.CheckResult) -> Any:
        """Return a new item, or raise `DropItem`."""
        status, match = result.status[0], result.ids[0]
        if self.stats is not None:
            self.stats.inc_value(f"nearkin/{status}")
        # A page that is crawled again is "known" and is also dropped, even if it was new at first.
        if status != "new":
            raise DropItem(f"{status}: {item[self.id]} is like {match or item[self.id]}")
        return item
