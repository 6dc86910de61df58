"""Deduplication on Apache Spark and on Sail, through the DataFrame API of both.

It needs the extra `spark`, or `sail`, which does not need Java.

This package leaves scheduling, shuffles and retries to the engine and matching to `nearkin.distributed`, whose
functions run inside `mapInArrow` on complete Arrow batches. It only calls methods that Spark Connect has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.spark.api import dedup
    from nearkin.spark.columns import fingerprint, hashes, signature
    from nearkin.spark.estimate import JobEstimate, explain
    from nearkin.spark.hamming import search
    from nearkin.spark.results import SparkResult
    from nearkin.spark.stores import add_to_store, read_store
    from nearkin.spark.suites import decontaminate

__all__ = [
    "JobEstimate",
    "SparkResult",
    "add_to_store",
    "decontaminate",
    "dedup",
    "explain",
    "fingerprint",
    "hashes",
    "read_store",
    "search",
    "signature",
]

# The package can be imported without pyspark.
if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "JobEstimate": "estimate",
            "SparkResult": "results",
            "add_to_store": "stores",
            "decontaminate": "suites",
            "dedup": "api",
            "explain": "estimate",
            "fingerprint": "columns",
            "hashes": "columns",
            "read_store": "stores",
            "search": "hamming",
            "signature": "columns",
        },
    )


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
