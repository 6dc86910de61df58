"""The same deduplication on Apache Spark and on Sail, through the DataFrame API of both.

`pip install nearkin[spark]`, or `nearkin[sail]`, which needs no Java.

Nothing here schedules, shuffles or retries, and nothing decides what matches: the functions of
`nearkin.dedup.distributed` run inside `mapInArrow` on whole Arrow batches. Only what Spark Connect has is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nearkin.spark.calls import check, dedup, explain, pairs
    from nearkin.spark.columns import fingerprint, signature
    from nearkin.spark.results import SparkResult

_LATER = {
    "SparkResult": "results",
    "check": "calls",
    "dedup": "calls",
    "explain": "calls",
    "fingerprint": "columns",
    "pairs": "calls",
    "signature": "columns",
}

__all__ = ["SparkResult", "check", "dedup", "explain", "fingerprint", "pairs", "signature"]


def __getattr__(name: str) -> object:
    """Import what is asked for: without pyspark the package can still be read."""
    from importlib import import_module

    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"nearkin.spark.{_LATER[name]}"), name)


def __dir__() -> list[str]:
    """Names of the door."""
    return __all__
