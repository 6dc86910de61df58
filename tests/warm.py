"""A process with nearkin loaded, of which each command of a session is a fork: it starts in 20 ms instead of a second.

`python tests/warm.py ADDRESS` is the process, listening at this Unix socket. `python -IS tests/warm.py ADDRESS ARGS` is
the command: folder, environment, streams and exit code are those of its caller.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress

PACKAGES = (
    *("cli", "dedup", "digests", "explain", "families", "index", "io", "patterns", "pieces", "quality", "report"),
    *("store", "text", "theory"),
)
LIBRARIES = ("filelock", "jinja2", "numpy.random", "pandas", "pyarrow.parquet", "rich.progress")


def serve(address: str) -> None:
    """Answer until the caller ends this process."""
    import pkgutil
    from importlib import import_module

    for name in LIBRARIES:
        import_module(name)
    for name in PACKAGES:
        package = import_module(f"nearkin.{name}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            # Without its extra a module is left to the commands that need it.
            with suppress(ImportError):
                import_module(module.name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        while True:
            connection, _ = server.accept()
            message, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
            if os.fork() == 0:
                run(connection, json.loads(message), streams)
            for stream in streams:
                os.close(stream)
            connection.close()


def run(connection: socket.socket, call: dict[str, object], streams: list[int]) -> None:
    """Run one command in this process, which is a fork, and end it."""
    from nearkin.cli.app import main

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for target, stream in enumerate(streams):
        os.dup2(stream, target)
    # Opened again, because a stream remembers whether its file can seek.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = (open(n, "w", 1, encoding="utf-8", closefd=False) for n in (1, 2))  # noqa: SIM115
    os.chdir(str(call["folder"]))
    os.environ.clear()
    os.environ.update(call["environment"])  # type: ignore[call-overload]
    sys.argv = ["nearkin", *call["arguments"]]  # type: ignore[misc]
    code: object = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        connection.send(str(code).encode())
        os._exit(0)


def call(address: str, arguments: list[str]) -> int:
    """Return the exit code of a command, run by the process that listens there."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        message = {"folder": os.getcwd(), "environment": dict(os.environ), "arguments": arguments}  # noqa: PTH109
        socket.send_fds(connection, [json.dumps(message).encode()], [0, 1, 2])
        return int(connection.recv(16) or 1)


if __name__ == "__main__":
    if sys.argv[2:] or sys.flags.isolated:
        sys.exit(call(sys.argv[1], sys.argv[2:]))
    serve(sys.argv[1])
