"""The log of a service: a JSON object per line on standard error."""

from __future__ import annotations

import sys
import threading
from datetime import datetime, timezone
from typing import Any

import msgspec

_encode = msgspec.json.Encoder(enc_hook=str).encode
_lock = threading.Lock()


def log(level: str, event: str, **members: Any) -> None:
    """Write one line.

    Parameters
    ----------
    level : str
        "info", "warning" or "error".
    event : str
        What happened, in a word or two with hyphens.
    **members
        All else that is to be known of it; None is left out.
    """
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    known = {name: value for name, value in members.items() if value is not None}
    line = _encode({"time": now, "level": level, "event": event, **known}) + b"\n"
    with _lock:
        try:
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
        except (OSError, ValueError):
            # Nobody reads the log any more; the service goes on.
            return
