"""Deduplication on Apache Spark and on Sail, through the DataFrame API of both.

`pip install nearkin[spark]`, or `nearkin[sail]`, which does not need Java.

This package leaves scheduling, shuffles and retries to the engine and matching to `nearkin.dedup.distributed`, whose
functions run inside `mapInArrow` on complete Arrow batches. It only calls methods that Spark Connect has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearkin.spark.api import dedup
    from nearkin.spark.columns import fingerprint, signature
    from nearkin.spark.hamming import search
    from nearkin.spark.results import SparkResult

_MODULES = {
    "dedup": "api",
    **dict.fromkeys(("fingerprint", "signature"), "columns"),
    "SparkResult": "results",
    "search": "hamming",
}

__all__ = ["SparkResult", "dedup", "fingerprint", "search", "signature"]


def __getattr__(name: str) -> object:
    """Import a public name on first access, so that the package can be imported without pyspark."""
    from importlib import import_module

    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"nearkin.spark.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
