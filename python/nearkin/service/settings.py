"""What a service is told when it starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from nearkin.errors import bad_parameter, check_count

MEBIBYTE = 1 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Hosts that only this machine reaches."""


@dataclass(frozen=True)
class Limits:
    """What a request may take; beyond it is answered 413, 429 or 408.

    Attributes
    ----------
    body : int
        Bytes of a body that is held whole, as they come and decompressed.
    line : int
        Bytes of a line of NDJSON; at most `body`.
    batch : int
        Documents of a batch.
    k : int
        Matches per document.
    pending : int
        Bytes of all bodies that are read or wait for the store.
    documents : int
        Documents that wait for the store.
    seconds : float
        For a body to arrive; of a stream for the next piece of it.
    drain : float
        Seconds that what was taken may take when the service ends.
    """

    body: int = 32 * MEBIBYTE
    line: int = 8 * MEBIBYTE
    batch: int = 10_000
    k: int = 1000
    pending: int = 64 * MEBIBYTE
    documents: int = 50_000
    seconds: float = 30.0
    drain: float = 30.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "line", min(self.line, self.body))
        check_count("max_body", self.body, 1024, 1 << 32, "1 KiB to 4 GiB")
        check_count("max_batch", self.batch, 1, 1 << 20, "1 to 1,048,576 documents")
        check_count("max_pending", self.pending, self.body, 1 << 36, f"at least max_body={self.body} bytes")
        if not 0.1 <= self.seconds <= 3600:
            raise bad_parameter("timeout", self.seconds, "0.1 to 3600 seconds")

    def about(self) -> dict[str, int]:
        """Those that a client cuts its calls by."""
        return {"body": self.body, "batch": self.batch, "line": self.line, "k": self.k}


@dataclass(frozen=True)
class ServiceSettings:
    """Everything but the store itself.

    Attributes
    ----------
    host, port : str, int
        Where it listens; port 0 is any that is free.
    readonly : bool
        Whether every change is refused.
    token_file : Path, optional
        Tokens of those who may read or write; needed for a host beyond loopback.
    allowed_hosts : tuple of str
        Names under which it may be asked, beside loopback and its own host.
    backups : Path, optional
        The folder in which backups are made.
    limits : Limits
    access_log : bool
        Whether every request is logged.
    certificate, key : Path, optional
        Of TLS, in PEM.
    memory : float, optional
        As `nearkin.Store.open` takes it.
    sync : str
        "commit" or "interval", as there.
    """

    host: str = "127.0.0.1"
    port: int = 8470
    readonly: bool = False
    token_file: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    backups: Path | None = None
    limits: Limits = field(default_factory=Limits)
    access_log: bool = False
    certificate: Path | None = None
    key: Path | None = None
    memory: float | None = None
    sync: str = "commit"

    def __post_init__(self) -> None:
        if self.sync not in ("commit", "interval"):
            raise bad_parameter("sync", repr(self.sync), '"commit" or "interval"')
        check_count("port", self.port, 0, 65535, "0 to 65535; 0 is any that is free")
        if (self.certificate is None) != (self.key is None):
            given, other = ("tls_cert", "tls_key") if self.key is None else ("tls_key", "tls_cert")
            raise bad_parameter(given, f"given without {other}", "both, in PEM, or neither")
        if not self.is_local and self.token_file is None:
            allowed = "127.0.0.1, or tokens: --token-file FILE with lines such as `write SECRET`"
            raise bad_parameter("host", f"{self.host} without tokens", allowed)

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in LOOPBACK or self.host.startswith("127.")
