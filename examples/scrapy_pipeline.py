"""An item pipeline for Scrapy that drops pages which the crawl, or an earlier one, has seen before, or nearly so.

In the settings of a project:

    ITEM_PIPELINES = {"scrapy_pipeline.NearDuplicates": 300}
    NEARKIN_STORE = "pages.store"        # made at the first run; or the URL of a service, "http://127.0.0.1:8470"
    NEARKIN_TOKEN = None        # of the service
    NEARKIN_TEXT, NEARKIN_ID = "text", "url"        # fields of an item

Items are asked for one by one, as Scrapy gives them, and each answer is durable. A service, which crawls on many
machines may share, is asked in threads, so that the crawl goes on meanwhile. Numbers of dropped pages are in the
crawl's statistics, under `nearkin/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from twisted.internet.threads import deferToThread

import nearkin as nk


class NearDuplicates:
    """Drops items that are copies or near-duplicates of earlier ones."""

    def __init__(self, crawler: Crawler) -> None:
        self.stats = crawler.stats
        self.place = str(crawler.settings.get("NEARKIN_STORE", "pages.store"))
        self.token = crawler.settings.get("NEARKIN_TOKEN")
        self.text = crawler.settings.get("NEARKIN_TEXT", "text")
        self.id = crawler.settings.get("NEARKIN_ID", "url")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicates:
        """As Scrapy makes a pipeline."""
        return cls(crawler)

    def open_spider(self, spider: Any = None) -> None:
        """Open the store, or make it; or the client of its service."""
        self.store: nk.Store | nk.Client
        if self.place.startswith(("http://", "https://")):
            self.store = nk.Client(self.place, self.token)
        else:
            self.store = nk.Store.open(self.place) if Path(self.place).exists() else nk.Store.create(self.place)

    def close_spider(self, spider: Any = None) -> None:
        """Close it."""
        self.store.close()

    def process_item(self, item: Any, spider: Any = None) -> Any:
        """Give a new item on; drop another one with the reason."""
        texts, ids = [item[self.text]], [item[self.id]]
        if isinstance(self.store, nk.Store):
            return self.decide(item, self.store.check_and_add(texts, ids))
        return deferToThread(self.store.check_and_add, texts, ids).addCallback(
            lambda answers: self.decide(item, answers)
        )

    def decide(self, item: Any, answers: nk.CheckResult) -> Any:
        """What becomes of an item."""
        status, match = answers.status[0], answers.ids[0]
        if self.stats is not None:
            self.stats.inc_value(f"nearkin/{status}")
        # A page that was new when it was first seen is "known" when it is crawled again: it is dropped as well.
        if status != "new":
            raise DropItem(f"{status}: {item[self.id]} is like {match or item[self.id]}")
        return item
