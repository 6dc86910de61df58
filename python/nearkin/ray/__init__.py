"""Deduplication of datasets of Ray Data, for corpora on a cluster.

    import ray
    import nearkin.ray

    pages = ray.data.read_parquet("crawl")
    result = nearkin.ray.dedup(pages, text="body", id="url", threshold=0.8)
    result.kept.write_parquet("clean")

It needs the extra `ray`. The stages of `nearkin.distributed` run as tasks over blocks, which Ray schedules and
repeats after a failure; `frames` moves the rows between them. Hashes as columns are `nearkin.batched`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.ray.api import RayResult as RayResult
    from nearkin.ray.api import dedup as dedup
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__, {"api": ["RayResult", "dedup"]})
