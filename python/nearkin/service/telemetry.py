"""Log (one JSON object per line on standard error) and metrics (for Prometheus) of a service."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from typing import Any

from nearkin.errors import require_extra
from nearkin.store.compaction import MergeStats
from nearkin.store.results import CheckResult, StoreStats

with require_extra("service", "a service"):
    import msgspec
    from prometheus_client import (
        CollectorRegistry,
        Counter,
        Gauge,
        Histogram,
        ProcessCollector,
        Summary,
        generate_latest,
    )
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
    from prometheus_client.registry import Collector

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
DOCUMENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
GAUGES = {
    "documents": "Documents in the store.",
    "waiting": "Documents in no segment yet.",
    "segments": "Segments.",
    "removed": "Removed documents that are still in files.",
    "queue_bytes": "Bytes of requests that are being read or queued.",
    "queue_documents": "Documents in the queue.",
    "readonly": "1 if changes are refused.",
    "token_file_error": "1 if the token file has changed and can't be read, so that the earlier tokens remain valid.",
}
_encode = msgspec.json.Encoder(enc_hook=str).encode
_lock = threading.Lock()


def call_glibc(name: str, *arguments: int) -> None:
    """Call a function of glibc; other C libraries do not have those of its allocator."""
    if sys.platform == "linux":
        with suppress(AttributeError):
            getattr(ctypes.CDLL(None), name)(*arguments)


def log(level: str, event: str, **members: Any) -> None:
    """Write a line of the log.

    Parameters
    ----------
    level : {"info", "warning", "error"}
    event : str
        One or two words, hyphenated.
    **members
        Further members of the object; None is omitted.
    """
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    values = {name: value for name, value in members.items() if value is not None}
    line = _encode({"time": now, "level": level, "event": event, **values}) + b"\n"
    with _lock:
        try:
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
        except (OSError, ValueError):
            # Standard error is closed; the service continues without a log.
            return


class _MergeCollector(Collector):
    """Reads the merges of the store's writer when metrics are requested."""

    def __init__(self, merges: Callable[[], MergeStats]) -> None:
        self._merges = merges

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        merges = self._merges()
        yield GaugeMetricFamily("nearkin_merges_running", "Merges that are running.", merges.running)
        yield SummaryMetricFamily("nearkin_merge_seconds", "Number and time of merges.", merges.count, merges.seconds)
        yield CounterMetricFamily("nearkin_merge_failures", "Merges that failed; they lose nothing.", merges.failures)


class Metrics:
    """Counters, histograms and gauges of one service.

    Parameters
    ----------
    merges : callable
        Returns the merges of the store's writer.
    """

    def __init__(self, merges: Callable[[], MergeStats] = MergeStats) -> None:
        self.registry = CollectorRegistry()
        # Memory, CPU time, open files and start time, on Linux.
        ProcessCollector(registry=self.registry)
        self.registry.register(_MergeCollector(merges))
        add: Any = {"registry": self.registry}
        self._requests = Counter("nearkin_requests", "Requests by route and status.", ["route", "status"], **add)
        self._seconds = Histogram("nearkin_request_seconds", "Latency by route.", ["route"], buckets=SECONDS, **add)
        self._answers = Counter("nearkin_answers", "Documents by status.", ["status"], **add)
        self._commit = Histogram("nearkin_commit_seconds", "Time of a commit.", buckets=SECONDS, **add)
        self._check = Histogram("nearkin_check_seconds", "Time of a group of checks.", buckets=SECONDS, **add)
        self._batch = Histogram("nearkin_batch_documents", "Documents of a commit.", buckets=DOCUMENTS, **add)
        self._gauges = {name: Gauge(f"nearkin_{name}", text, **add) for name, text in GAUGES.items()}
        self._bytes = Gauge("nearkin_bytes", "Bytes on disk.", ["part"], **add)
        self._lost = Gauge("nearkin_lost_segments", "Segments and ranges of commits that are missing.", **add)
        self._backups = Summary("nearkin_backup_seconds", "Number and time of backups.", **add)
        self._last_backup = Gauge("nearkin_backup_last_timestamp_seconds", "End of the last backup; 0 if none.", **add)
        self._last_backup_seconds = Gauge("nearkin_backup_last_seconds", "Time of the last backup.", **add)
        self._backup_failures = Counter("nearkin_backup_failures", "Backups that failed.", **add)

    def record_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def record_group(self, worker: str, documents: int, results: Sequence[Any], seconds: float) -> None:
        """Count a group of store requests that was executed together."""
        if not documents:
            return
        if worker == "writer":
            self._commit.observe(seconds)
            self._batch.observe(documents)
        else:
            self._check.observe(seconds)
        checked = (result for result in results if isinstance(result, CheckResult))
        for status, count in Tally(status for result in checked for status in result.status).items():
            self._answers.labels(status).inc(count)

    @contextmanager
    def timing_backup(self) -> Iterator[None]:
        """Count a backup."""
        start = time.perf_counter()
        try:
            yield
        except BaseException:
            self._backup_failures.inc()
            raise
        seconds = time.perf_counter() - start
        self._backups.observe(seconds)
        self._last_backup_seconds.set(seconds)
        self._last_backup.set_to_current_time()

    def render(self, stats: StoreStats | None, queue: dict[str, int]) -> bytes:
        """Return all metrics in the text format of Prometheus; `queue` has the gauges that are not of the store."""
        for name, value in queue.items():
            self._gauges[name].set(value)
        if stats is None:
            return generate_latest(self.registry)
        for name in ("documents", "waiting", "segments", "removed"):
            self._gauges[name].set(getattr(stats, name))
        for part, size in stats.bytes.items():
            self._bytes.labels(part).set(size)
        self._lost.set(stats.lost)
        return generate_latest(self.registry)
