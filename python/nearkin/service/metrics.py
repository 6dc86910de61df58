"""What Prometheus reads at `/metrics`."""

from __future__ import annotations

from collections import Counter as ValueCounter
from collections.abc import Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from nearkin.service.responses import Outcome
from nearkin.store.results import StoreStats

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
DOCUMENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


class Metrics:
    """Counters, histograms and gauges of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        kept = {"registry": self.registry}
        self._requests = Counter("nearkin_requests", "Requests by route and status.", ["route", "status"], **kept)  # type: ignore[arg-type]
        self._seconds = Histogram(
            "nearkin_request_seconds",
            "From the head of a request to its answer.",
            ["route"],
            buckets=SECONDS,
            **kept,  # type: ignore[arg-type]
        )
        self._answers = Counter("nearkin_answers", "Documents by what the store said.", ["status"], **kept)  # type: ignore[arg-type]
        self._commit = Histogram("nearkin_commit_seconds", "One commit of the store.", buckets=SECONDS, **kept)  # type: ignore[arg-type]
        self._check = Histogram("nearkin_check_seconds", "One call of questions.", buckets=SECONDS, **kept)  # type: ignore[arg-type]
        self._batch = Histogram(
            "nearkin_batch_documents",
            "Documents of one commit.",
            buckets=DOCUMENTS,
            **kept,  # type: ignore[arg-type]
        )
        gauges = {
            "documents": "Documents that are there.",
            "waiting": "Documents in no segment yet.",
            "segments": "Segments.",
            "removed": "Removed documents that are still in files.",
            "queue_bytes": "Bytes of requests that are read or wait.",
            "queue_documents": "Documents that wait for the store.",
            "readonly": "1 where changes are refused.",
        }
        self._gauges = {name: Gauge(f"nearkin_{name}", said, **kept) for name, said in gauges.items()}  # type: ignore[arg-type]
        self._bytes = Gauge("nearkin_bytes", "Bytes on disk.", ["part"], **kept)  # type: ignore[arg-type]
        self._known: dict[tuple[str, int], Any] = {}
        self._timers: dict[str, Any] = {}

    def requested(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        counter = self._known.get((route, status))
        if counter is None:
            counter = self._known[route, status] = self._requests.labels(route, str(status))
            self._timers[route] = self._seconds.labels(route)
        counter.inc()
        self._timers[route].observe(seconds)

    def worked(self, name: str, documents: int, results: Sequence[Any], seconds: float) -> None:
        """A group of jobs was done."""
        if not documents:
            return
        if name == "writer":
            self._commit.observe(seconds)
            self._batch.observe(documents)
        else:
            self._check.observe(seconds)
        counts = ValueCounter(s for one in results if isinstance(one, Outcome) for s in one.answers.status)
        for status, count in counts.items():
            self._answers.labels(status).inc(count)

    def text(self, stats: StoreStats, queue_bytes: int, queue_documents: int, *, readonly: bool) -> bytes:
        """Everything, as Prometheus reads it."""
        for name in ("documents", "waiting", "segments", "removed"):
            self._gauges[name].set(getattr(stats, name))
        for part, size in stats.bytes.items():
            self._bytes.labels(part).set(size)
        self._gauges["queue_bytes"].set(queue_bytes)
        self._gauges["queue_documents"].set(queue_documents)
        self._gauges["readonly"].set(readonly)
        return generate_latest(self.registry)
