"""Deduplication of DataFrames of Dask, on the cluster of a client.

    from dask.distributed import Client
    import dask.dataframe as dd
    import nearkin.dask

    client = Client()
    result = nearkin.dask.dedup(dd.read_parquet("crawl"), text="body", id="url", threshold=0.8)
    result.kept.to_parquet("clean")

It needs the extra `dask`. The stages of `nearkin.distributed` run as tasks over partitions, which Dask schedules and
repeats after the loss of a worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.dask.api import DaskResult as DaskResult
    from nearkin.dask.api import dedup as dedup
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__, {"api": ["DaskResult", "dedup"]})
