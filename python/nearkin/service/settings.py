"""Settings of a service: address, access, limits and folders."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

from nearkin.errors import bad_parameter, check_choice, check_count

MEBIBYTE = 1 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Hosts that only this machine can reach."""
MAX_K = 1000
"""Maximum number of matches per document."""


@dataclass(frozen=True)
class Limits:
    """Bounds of a request and of the queue; a request beyond them gets status 408, 413 or 429.

    Attributes
    ----------
    max_body : int
        Bytes of a buffered body, both compressed and decompressed.
    max_line : int
        Bytes of a line of NDJSON; at most `max_body`.
    max_batch : int
        Documents of a batch.
    max_pending : int
        Bytes of all bodies that are being read or queued.
    max_documents : int
        Documents in the queue.
    timeout : float
        Seconds for a body to arrive, and for the next piece of a stream.
    drain_timeout : float
        Seconds that requests in flight may take when the service shuts down.
    """

    max_body: int = 32 * MEBIBYTE
    max_line: int = 8 * MEBIBYTE
    max_batch: int = 10_000
    max_pending: int = 64 * MEBIBYTE
    max_documents: int = 50_000
    timeout: float = 30.0
    drain_timeout: float = 30.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_line", min(self.max_line, self.max_body))
        check_count("max_body", self.max_body, 1024, 1 << 32, "1 KiB to 4 GiB")
        check_count("max_batch", self.max_batch, 1, 1 << 20, "1 to 1,048,576 documents")
        check_count("max_pending", self.max_pending, self.max_body, 1 << 36, f"at least max_body={self.max_body} bytes")
        if not 0.1 <= self.timeout <= 3600:
            raise bad_parameter("timeout", self.timeout, "0.1 to 3600 seconds")


@dataclass(frozen=True)
class ServiceSettings:
    """Everything that a service is started with, except the store.

    Attributes
    ----------
    host, port : str, int
        Address; port 0 selects a free port.
    readonly : bool
        Refuse every change.
    token_file : Path, optional
        Tokens that may read or write. Required for a host beyond loopback.
    allowed_hosts : tuple of str
        Host names that requests may use, in addition to loopback and `host`.
    backups : Path, optional
        Folder for backups.
    patterns : Path, optional
        State of `nearkin patterns`, for the routes below /v1/patterns.
    limits : Limits
    access_log : bool
        Log every request.
    certificate, key : Path, optional
        TLS certificate and key, in PEM.
    memory : float, optional
        Memory of the store; see `nearkin.Store.open`.
    sync : {"commit", "interval"}
        When the store syncs; see `nearkin.Store.open`.
    rate : float, optional
        Requests per second of each token, or of all clients together if there are no tokens.
    burst : int, optional
        Requests that a token may send at once after a pause (default: those of a second, at least 1).
    """

    host: str = "127.0.0.1"
    port: int = 8470
    readonly: bool = False
    token_file: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    backups: Path | None = None
    patterns: Path | None = None
    limits: Limits = field(default_factory=Limits)
    access_log: bool = False
    certificate: Path | None = None
    key: Path | None = None
    memory: float | None = None
    sync: str = "commit"
    rate: float | None = None
    burst: int | None = None

    def __post_init__(self) -> None:
        check_choice("sync", self.sync, "commit", "interval")
        if self.rate is not None and not 1e-6 <= self.rate <= 1e6:
            raise bad_parameter("rate", f"{self.rate:g} requests per second", "a rate from 1e-6 to 1e6 per second")
        if self.burst is not None:
            check_count("burst", self.burst, 1, 1 << 30, "1 or more requests")
            if self.rate is None:
                raise bad_parameter("burst", f"{self.burst} without a rate", "both, such as --rate 100/s --burst 500")
        check_count("port", self.port, 0, 65535, "0 to 65535; 0 selects a free port")
        if (self.certificate is None) != (self.key is None):
            name, missing = ("tls_cert", "tls_key") if self.key is None else ("tls_key", "tls_cert")
            raise bad_parameter(name, f"FILE without --{missing.replace('_', '-')}", "both, in PEM, or neither")
        if not self.is_local and self.token_file is None:
            allowed = "127.0.0.1, or tokens: --token-file FILE with lines such as `write SECRET`"
            raise bad_parameter("host", f"{self.host} without tokens", allowed)

    @property
    def max_burst(self) -> int:
        """Number of requests that a token may send at once."""
        return self.burst or math.ceil(self.rate or 1)

    @property
    def is_local(self) -> bool:
        """True if only this machine can reach the service."""
        return self.host in LOOPBACK or self.host.startswith("127.")
