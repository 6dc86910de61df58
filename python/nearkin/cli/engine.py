"""The engine of `--engine`, `--master` and `--remote`, and its session.

Sail runs in this process, on a port of 127.0.0.1 that every user of this machine can reach while the command runs. With
`--master`, the driver of Spark runs in a Java process that ends with this one. `--remote` connects to a running server.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from nearkin.errors import EngineError, NearkinError, bad_parameter, require_extra

ENGINES = ("spark", "sail")
_LOCAL = re.compile(r"local(\[(\d+|\*)(, *\d+)?\])?|local-cluster\[\d+(, *\d+){2}\]")
_MASTER = re.compile(_LOCAL.pattern + r"|spark://[^/:,\s]+(:\d{1,5})?(,[^/:,\s]+(:\d{1,5})?)*|k8s://.+|yarn")
_REMOTE_PORT, _MASTER_PORT = 15002, 7077
_CONNECT_SECONDS = 10.0
"""Timeout of a connection to a server."""
_STOP_SECONDS = 1.0
"""Timeout for closing a session whose server has gone."""
_SAIL_RETRIES = 3
_REMOTE_RETRIES = 6
"""About a minute. pyspark itself retries for ten, but a server of this process never returns once it has ended."""
_MIN_JAVA = 17
_ENGINE_VARIABLES = (
    *("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE", "SPARK_CONNECT_MODE"),
)
"""Variables by which pyspark would choose another engine."""
_LOG = """status = fatal
rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = spark: %m%n
# At a level other than that of the root, it logs that it sets one.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = fatal
"""
_CLUSTER_LOG = (
    _LOG
    + """# Report a job that waits for workers in vain.
logger.scheduler.name = org.apache.spark.scheduler.TaskSchedulerImpl
logger.scheduler.level = warn
"""
)


@dataclass(frozen=True)
class Engine:
    """An engine of the command line.

    Attributes
    ----------
    name : {"spark", "sail"}
    master : str or None
        Master of Spark; None for Sail and for a server.
    remote : str or None
        URL of a server of Spark Connect, `sc://host:port`.
    """

    name: str
    master: str | None = None
    remote: str | None = None

    @property
    def is_local(self) -> bool:
        """True if it runs only on this machine, so that every path is a path of this machine."""
        return self.remote is None and (self.master is None or _LOCAL.fullmatch(self.master) is not None)


def parse_engine(engine: str | None, master: str | None, remote: str | None) -> Engine | None:
    """Return the engine of the options, or None.

    Raises
    ------
    ParameterError
        The engine is unknown, or options exclude one another.
    """
    if engine is not None and engine not in ENGINES:
        raise bad_parameter("engine", engine, " or ".join(ENGINES))
    if engine == "sail" and (master or remote):
        name = "master" if master else "remote"
        allowed = "--engine spark with it, or leave it out: sail runs in this process"
        raise bad_parameter(name, master or remote, allowed)
    if engine == "sail":
        return Engine("sail")
    if master is not None and remote is not None:
        raise bad_parameter("master", master, "one of --master and --remote")
    if remote is not None:
        parse_address(remote)
        return Engine("spark", remote=remote)
    if engine is None and master is not None:
        raise bad_parameter("master", master, "--engine spark with it")
    if engine is None:
        return None
    if master is not None and not _MASTER.fullmatch(master):
        raise bad_parameter("master", master, "local[CORES], spark://HOST:PORT, k8s://URL or yarn")
    return Engine("spark", master=master or "local[*]")


def parse_address(remote: str) -> tuple[str, int]:
    """Return host and port of `sc://host:port/;key=value`.

    Raises
    ------
    ParameterError
        The URL has another form.
    """
    try:
        parts = urlsplit(remote)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or not remote.startswith("sc://"):
        # The rest of the URL may contain a token.
        raise bad_parameter("remote", remote.partition("/;")[0], "sc://HOST:PORT, a server of Spark Connect")
    return host, port or _REMOTE_PORT


@contextmanager
def open_session(engine: Engine) -> Iterator[Any]:
    """Open a session. At the end of the context, close it and stop the processes that were started for it.

    Raises
    ------
    MissingExtraError
        pyspark or pysail is not installed.
    EngineError
        Java is missing, the server does not answer, or the session cannot be opened.
    """
    # py4j, pyspark and gRPC log errors that they also raise.
    silent = logging.NullHandler()
    logging.getLogger().addHandler(silent)
    quiet = {"GRPC_VERBOSITY": os.environ.get("GRPC_VERBOSITY", "error")}
    try:
        with _environment(quiet), _restore_interrupt(), warnings.catch_warnings():
            # nearkin does not use pandas here.
            warnings.filterwarnings("ignore", "PySpark does not", FutureWarning)
            # The error itself follows.
            warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]", UserWarning)
            opened = _sail() if engine.name == "sail" else _remote(engine) if engine.remote else _spark(engine)
            with opened as session:
                yield session
    finally:
        logging.getLogger().removeHandler(silent)


@contextmanager
def convert_engine_errors() -> Iterator[None]:
    """Convert errors of the engine, and of the connection to it, to EngineError."""
    try:
        yield
    except NearkinError:
        raise
    except Exception as error:
        from_engine = type(error).__module__.partition(".")[0] in ("pyspark", "py4j", "grpc")
        if not from_engine and not isinstance(error, ConnectionError):
            raise
        reason = _summarize(str(error)) or type(error).__name__
        raise EngineError(f"the engine ended the job: {reason}", reason=reason) from error


def _summarize(text: str) -> str:
    """Return the first message and the last cause of a Java error, or the first line of another error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    named = [line.removeprefix(": ") for line in lines if re.match(r": [\w.$]+(Error|Exception)\b", line)]
    messages = list(dict.fromkeys([*(named or lines)[:1], *causes[-1:]]))
    return "; ".join(re.sub(r"^[\w.$]+\.(\w+(?:Error|Exception))\b", r"\1", line)[:1000] for line in messages)


@contextmanager
def _sail() -> Iterator[Any]:
    builder = _builder("sail")
    with require_extra("sail", "--engine sail"):
        from pysail.spark import SparkConnectServer
    with _environment({"RUST_LOG": os.environ.get("RUST_LOG", "error")}), convert_engine_errors():
        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
    try:
        host, port = server.listening_address
        with convert_engine_errors():
            session = builder.remote(f"sc://{host}:{port}").create()
            _retry(session, _SAIL_RETRIES)
        try:
            yield session
        finally:
            # An interrupt has ended the server, and pyspark would retry for ten minutes.
            _stop(session, notify=False)
    finally:
        server.stop()


@contextmanager
def _remote(engine: Engine) -> Iterator[Any]:
    builder = _builder("spark")
    address = parse_address(str(engine.remote))
    _check_answers("sc", [address], "name another by --remote")
    with convert_engine_errors():
        session = builder.remote(str(engine.remote)).create()
        _retry(session, _REMOTE_RETRIES)
    try:
        yield session
    finally:
        # This ends the jobs of the session.
        _stop(session, notify=not _connection_error(address))


@contextmanager
def _spark(engine: Engine) -> Iterator[Any]:
    builder = _builder("spark").master(engine.master).appName("nearkin dedup")
    scheme, _, masters = str(engine.master).partition("://")
    if scheme == "spark":
        parts = [each.partition(":") for each in masters.split(",")]
        addresses = [(host, int(port or _MASTER_PORT)) for host, _, port in parts]
        _check_answers(scheme, addresses, "run on this machine by --master local[2]")
    _check_java()
    settings = {"spark.ui.showConsoleProgress": "false", "spark.api.mode": "classic"}
    variables: dict[str, str | None] = dict.fromkeys(_ENGINE_VARIABLES)
    if engine.is_local:
        # Other machines must not reach it.
        settings |= {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1"}
        settings["spark.driver.host"] = "127.0.0.1"
        variables["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
        variables["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    for name, value in settings.items():
        builder = builder.config(name, value)
    with tempfile.TemporaryDirectory(prefix="nearkin-spark-") as folder:
        options = os.environ.get("SPARK_SUBMIT_OPTS", "")
        if "log4j" not in options:
            log = Path(folder) / "log4j2.properties"
            log.write_text(_LOG if engine.is_local else _CLUSTER_LOG)
            options = f"{options} -Dlog4j2.configurationFile={log.as_uri()}".strip()
        handler = signal.getsignal(signal.SIGINT)
        with _environment({**variables, "SPARK_SUBMIT_OPTS": options}), convert_engine_errors():
            session = builder.getOrCreate()
        if handler is not None and threading.current_thread() is threading.main_thread():
            # The handler of pyspark would call the engine during a call to it.
            signal.signal(signal.SIGINT, handler)
    try:
        yield session
    finally:
        _stop(session)


def _retry(session: Any, retries: int) -> None:
    """Set the number of retries of a Spark Connect session, after .05, .2, .8 seconds, …, when no server answers."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=retries)])


def _check_answers(scheme: str, addresses: Sequence[tuple[str, int]], mend: str) -> None:
    """Raise EngineError if none of several servers answers. Spark itself gives up after a minute, without a reason."""
    if all(faults := [_connection_error(address) for address in addresses]):
        reason = (
            f"no engine answers at {scheme}://{','.join(f'{host}:{port}' for host, port in addresses)} ({faults[0]})"
        )
        raise EngineError(f"{reason}; start its server, or {mend}", reason=reason)


def _connection_error(address: tuple[str, int]) -> str:
    """Return why a server cannot be reached, or an empty text. pyspark itself would retry for ten minutes."""
    try:
        socket.create_connection(address, _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        return str(getattr(error, "strerror", None) or error)
    return ""


def _stop(session: Any, *, notify: bool = True) -> None:
    """Close a session, and notify its server if it still runs.

    gRPC waits without a timeout for calls that an interrupt has cancelled, which is useless if the server has gone.
    """

    def stop() -> None:
        with suppress(Exception):
            session.stop()

    if notify:
        stop()
        return
    session.release_session_on_close = False
    # The client would call the server again at the end of the process.
    on_exit = getattr(session.client, "_on_exit", None)
    if on_exit is not None:
        atexit.unregister(on_exit)
    stopping = threading.Thread(target=stop, name="nearkin-stop", daemon=True)
    stopping.start()
    stopping.join(_STOP_SECONDS)


def _builder(engine: str) -> Any:
    with require_extra(engine, f"--engine {engine}"):
        from pyspark.sql import SparkSession
    return SparkSession.builder


def _check_java() -> None:
    """Raise EngineError without a version of Java that Spark supports."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    mend = "install it, or use --engine sail, which does not need Java, or --remote for a server"
    if program is None:
        where = f"JAVA_HOME={home} has no bin/java" if home else "java is not installed"
        reason = f"{where}; --engine spark needs Java {_MIN_JAVA} or newer"
        raise EngineError(f"{reason}: {mend}", reason=reason)
    version = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', version)
    if match is not None and int(match[1]) < _MIN_JAVA:
        reason = f"{program} is Java {match[1]}; --engine spark needs {_MIN_JAVA} or newer"
        raise EngineError(f"{reason}: {mend}", reason=reason)


@contextmanager
def _restore_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt for errors that follow an interrupt, which the client of the engine may suppress."""
    interrupted = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        signal.default_int_handler(number, frame)

    before = signal.getsignal(signal.SIGINT)
    ours = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables for the context; None removes one."""
    before = {name: os.environ.get(name) for name in values}
    try:
        _set(values)
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
