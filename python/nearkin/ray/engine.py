"""Tasks of Ray, for `nearkin.distributed.job`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nearkin._core import __version__, set_num_threads
from nearkin.errors import EngineError, NearkinError, mismatch, require_extra


class RayTasks:
    """Tasks of Ray; each has one core and one thread."""

    def __init__(self) -> None:
        with require_extra("ray", "nearkin.ray"):
            import ray
        self._ray = ray
        self._call = ray.remote(_call)

    def run(self, function: Callable[..., Any], *arguments: Any, returns: int | None = None) -> Any:
        """Start a call in a worker."""
        call = self._call.options(num_returns=returns or 1)
        result = call.remote(__version__, function, returns == 1, *arguments)
        return [result] if returns == 1 else result

    def put(self, value: Any) -> Any:
        """Store a value in the object store."""
        return self._ray.put(value)

    def get(self, references: Any) -> Any:
        """Wait for values."""
        with raise_engine_errors():
            return self._ray.get(references)


@contextmanager
def raise_engine_errors() -> Iterator[None]:
    """Convert errors of Ray: errors that nearkin raised in a worker to these, all others to EngineError."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        # Ray's own error of a task is also an instance of its cause's class, with the traceback as its message.
        cause: BaseException | None = error
        while isinstance(cause, RayError) or (cause is not None and not isinstance(cause, NearkinError)):
            cause = getattr(cause, "cause", None) or cause.__cause__
        if cause is not None:
            raise cause from None
        # Messages of tasks end with the line of their exception.
        lines = [line.strip() for line in str(error).splitlines() if "Error: " in line]
        reason = lines[-1] if lines else str(error).partition("\n")[0]
        raise EngineError(f"a task of Ray failed: {reason}", reason=reason) from error


def _call(version: str, function: Callable[..., Any], single: bool, *arguments: Any) -> Any:
    """Call a function in a worker."""
    if version != __version__:
        raise mismatch(
            "nearkin", f"a worker with {__version__}", f"a driver with {version}; install it on every worker"
        )
    set_num_threads(1)
    result = function(*arguments)
    return result[0] if single else result
