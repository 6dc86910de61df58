"""Deduplication on Apache Spark and on Sail, through the DataFrame API of both.

It needs the extra `spark`, or `sail`, which does not need Java.

This package leaves scheduling, shuffles and retries to the engine and matching to `nearkin.distributed`, whose
functions run inside `mapInArrow` on complete Arrow batches. It only calls methods that Spark Connect has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.spark.api import dedup as dedup
    from nearkin.spark.columns import fingerprint as fingerprint
    from nearkin.spark.columns import hashes as hashes
    from nearkin.spark.columns import signature as signature
    from nearkin.spark.estimate import JobEstimate as JobEstimate
    from nearkin.spark.estimate import explain as explain
    from nearkin.spark.hamming import search as search
    from nearkin.spark.results import SparkResult as SparkResult
    from nearkin.spark.stores import add_to_store as add_to_store
    from nearkin.spark.stores import read_store as read_store
    from nearkin.spark.suites import decontaminate as decontaminate
else:
    # The package can be imported without pyspark.
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "api": ["dedup"],
            "columns": ["fingerprint", "hashes", "signature"],
            "estimate": ["JobEstimate", "explain"],
            "hamming": ["search"],
            "results": ["SparkResult"],
            "stores": ["add_to_store", "read_store"],
            "suites": ["decontaminate"],
        },
    )
