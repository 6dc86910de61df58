"""An item pipeline for Scrapy that drops pages which the crawl, or an earlier one, has seen before, or nearly so.

In the settings of a project:

    ITEM_PIPELINES = {"scrapy_pipeline.NearDuplicates": 300}
    NEARKIN_STORE = "pages.store"        # made at the first run
    NEARKIN_TEXT, NEARKIN_ID = "text", "url"        # fields of an item

Items are asked for one by one, as Scrapy gives them, and each answer is durable. Numbers of dropped pages are in the
crawl's statistics, under `nearkin/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

import nearkin as nk


class NearDuplicates:
    """Drops items that are copies or near-duplicates of earlier ones."""

    def __init__(self, crawler: Crawler) -> None:
        self.stats = crawler.stats
        self.path = Path(crawler.settings.get("NEARKIN_STORE", "pages.store"))
        self.text = crawler.settings.get("NEARKIN_TEXT", "text")
        self.id = crawler.settings.get("NEARKIN_ID", "url")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NearDuplicates:
        """As Scrapy makes a pipeline."""
        return cls(crawler)

    def open_spider(self, spider: Any = None) -> None:
        """Open the store, or make it."""
        self.store = nk.Store.open(self.path) if self.path.exists() else nk.Store.create(self.path)

    def close_spider(self, spider: Any = None) -> None:
        """Close the store."""
        self.store.close()

    def process_item(self, item: Any, spider: Any = None) -> Any:
        """Give a new item on; drop another one with the reason."""
        answers = self.store.check_and_add([item[self.text]], [item[self.id]])
        status, match = answers.status[0], answers.ids[0]
        if self.stats is not None:
            self.stats.inc_value(f"nearkin/{status}")
        # A page that was new when it was first seen is "known" when it is crawled again: it is dropped as well.
        if status != "new":
            raise DropItem(f"{status}: {item[self.id]} is like {match or item[self.id]}")
        return item
