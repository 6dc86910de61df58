"""The engine that `--engine`, `--master` and `--remote` name: which one it is, and a session of it.

Sail runs in this process, on a port of 127.0.0.1 that any user of this machine can reach while the command runs. Spark
with `--master` runs its driver in a Java process that ends with this one; `--remote` asks a server that is there.
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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from nearkin.errors import EngineError, MissingExtraError, NearkinError, bad_parameter

ENGINES = ("spark", "sail")
_LOCAL = re.compile(r"local(\[(\d+|\*)(, *\d+)?\])?|local-cluster\[\d+(, *\d+){2}\]")
_MASTER = re.compile(_LOCAL.pattern + r"|spark://.+|k8s://.+|yarn")
_REMOTE_PORT = 15002
_SECONDS = 10.0
"""For which a server has to take a connection."""
_GONE_SECONDS = 1.0
"""For which the end of a session is waited for whose server is gone."""
_SAIL_RETRIES = 3
_REMOTE_RETRIES = 6
"""About a minute; pyspark itself tries for ten, and a server of this process that has ended never comes back."""
_OLDEST_JAVA = 17
_OTHERS = ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE", "SPARK_CONNECT_MODE")
"""By which pyspark would take another engine than the one that is named."""
_LOG = """status = fatal
rootLogger.level = fatal
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = spark: %m%n
# With another level than the root's it says that it sets one.
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = fatal
"""
_LOG_OF_SEVERAL = (
    _LOG
    + """# A job that waits for workers that never come says so.
logger.scheduler.name = org.apache.spark.scheduler.TaskSchedulerImpl
logger.scheduler.level = warn
"""
)


@dataclass(frozen=True)
class Engine:
    """An engine as the command line names it.

    Attributes
    ----------
    name : {"spark", "sail"}
    master : str or None
        As Spark takes it; None for Sail, and for a server.
    remote : str or None
        URL of a server of Spark Connect, `sc://host:port`.
    """

    name: str
    master: str | None = None
    remote: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether all of it runs on this machine, so that every path is a path of this machine."""
        return self.remote is None and (self.master is None or _LOCAL.fullmatch(self.master) is not None)


def engine_named(engine: str | None, master: str | None, remote: str | None) -> Engine | None:
    """The engine that the options name; None if they name none.

    Raises
    ------
    ParameterError
        An unknown engine, or options that do not go together.
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
        address_of(remote)
        return Engine("spark", remote=remote)
    if engine is None and master is not None:
        raise bad_parameter("master", master, "--engine spark with it")
    if engine is None:
        return None
    if master is not None and not _MASTER.fullmatch(master):
        raise bad_parameter("master", master, "local[CORES], spark://HOST:PORT, k8s://URL or yarn")
    return Engine("spark", master=master or "local[*]")


def address_of(remote: str) -> tuple[str, int]:
    """Host and port of `sc://host:port/;key=value`.

    Raises
    ------
    ParameterError
        Another URL.
    """
    try:
        parts = urlsplit(remote)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or not remote.startswith("sc://"):
        # What stands behind the address may be a token.
        raise bad_parameter("remote", remote.partition("/;")[0], "sc://HOST:PORT, a server of Spark Connect")
    return host, port or _REMOTE_PORT


@contextmanager
def session_of(engine: Engine) -> Iterator[Any]:
    """A session; at the end of the context it is closed, and what was started here is ended.

    Raises
    ------
    MissingExtraError
        pyspark or pysail is not installed.
    EngineError
        No Java, a server that does not answer, a session that can't be made.
    """
    # What py4j and pyspark log is raised as well.
    silent = logging.NullHandler()
    logging.getLogger().addHandler(silent)
    try:
        with _noted_interrupts(), warnings.catch_warnings():
            # What pyspark says of versions of pandas, which nothing here uses.
            warnings.filterwarnings("ignore", "PySpark does not", FutureWarning)
            # The error that it announces follows.
            warnings.filterwarnings("ignore", r"\[RETRIES_EXCEEDED\]", UserWarning)
            made = _sail() if engine.name == "sail" else _remote(engine) if engine.remote else _spark(engine)
            with made as session:
                yield session
    finally:
        logging.getLogger().removeHandler(silent)


@contextmanager
def told_by_engine() -> Iterator[None]:
    """Raise what the engine or the way to it says as EngineError."""
    try:
        yield
    except NearkinError:
        raise
    except Exception as error:
        known = type(error).__module__.partition(".")[0] in ("pyspark", "py4j", "grpc")
        if not known and not isinstance(error, ConnectionError):
            raise
        reason = _reason(str(error)) or type(error).__name__
        raise EngineError(f"the engine ended the job: {reason}", reason=reason) from error


def _reason(text: str) -> str:
    """What an error of Java says first, and what caused it at last; of another error the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    named = [line.removeprefix(": ") for line in lines if re.match(r": [\w.$]+(Error|Exception)\b", line)]
    told = list(dict.fromkeys([*(named or lines)[:1], *causes[-1:]]))
    return "; ".join(re.sub(r"^[\w.$]+\.(\w+(?:Error|Exception))\b", r"\1", line)[:1000] for line in told)


@contextmanager
def _sail() -> Iterator[Any]:
    builder = _builder("sail")
    try:
        from pysail.spark import SparkConnectServer
    except ImportError as error:
        message = "--engine sail needs pysail: pip install 'nearkin[sail]'"
        raise MissingExtraError(message, package="pysail", extra="sail") from error
    with _environment({"RUST_LOG": os.environ.get("RUST_LOG", "error")}), told_by_engine():
        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
    try:
        host, port = server.listening_address
        with told_by_engine():
            session = builder.remote(f"sc://{host}:{port}").create()
            _retry(session, _SAIL_RETRIES)
        try:
            yield session
        finally:
            # An interrupt has ended the server, and pyspark would try for ten minutes to tell it.
            _stop(session, told=False)
    finally:
        server.stop()


@contextmanager
def _remote(engine: Engine) -> Iterator[Any]:
    builder = _builder("spark")
    address = address_of(str(engine.remote))
    if fault := _silence(address):
        reason = f"no engine answers at sc://{address[0]}:{address[1]} ({fault})"
        raise EngineError(f"{reason}; start its server, or name another by --remote", reason=reason)
    with told_by_engine():
        session = builder.remote(str(engine.remote)).create()
        _retry(session, _REMOTE_RETRIES)
    try:
        yield session
    finally:
        # It ends what still runs for this session.
        _stop(session, told=not _silence(address))


@contextmanager
def _spark(engine: Engine) -> Iterator[Any]:
    builder = _builder("spark").master(engine.master).appName("nearkin dedup")
    _check_java()
    settings = {"spark.ui.showConsoleProgress": "false", "spark.api.mode": "classic"}
    variables: dict[str, str | None] = dict.fromkeys(_OTHERS)
    if engine.is_local:
        # Nothing of it is to be reached from another machine.
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
            log.write_text(_LOG if engine.is_local else _LOG_OF_SEVERAL)
            options = f"{options} -Dlog4j2.configurationFile={log.as_uri()}".strip()
        with _environment({**variables, "SPARK_SUBMIT_OPTS": options}), _own_interrupts(), told_by_engine():
            session = builder.getOrCreate()
    try:
        yield session
    finally:
        _stop(session)


def _retry(session: Any, retries: int) -> None:
    """Have a session of Spark Connect ask so often again, after .05, .2, .8 seconds, …, where no server answers."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=retries)])


def _silence(address: tuple[str, int]) -> str:
    """Why no server takes a connection; empty if one does. pyspark itself would try for ten minutes."""
    try:
        socket.create_connection(address, _SECONDS).close()
    except OSError as error:
        return str(error.strerror or error)
    return ""


def _stop(session: Any, *, told: bool = True) -> None:
    """Close a session, whose server is told or not; an engine that is gone has been told of before.

    gRPC waits without a limit for calls that an interrupt has cut off. Where the server is gone nothing is left to
    wait for.
    """

    def stop() -> None:
        with suppress(Exception):
            session.stop()

    if told:
        stop()
        return
    session.release_session_on_close = False
    # At the end of the process the client would ask the server once more.
    asked = getattr(session.client, "_on_exit", None)
    if asked is not None:
        atexit.unregister(asked)
    stopping = threading.Thread(target=stop, name="nearkin-stop", daemon=True)
    stopping.start()
    stopping.join(_GONE_SECONDS)


def _builder(engine: str) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        message = f"--engine {engine} needs pyspark: pip install 'nearkin[{engine}]'"
        raise MissingExtraError(message, package="pyspark", extra=engine) from error
    return SparkSession.builder


def _check_java() -> None:
    """Raise EngineError unless there is a Java that Spark runs on."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    mend = "install it, or take --engine sail, which needs none, or --remote for a server"
    if program is None:
        where = f"JAVA_HOME={home} has no bin/java" if home else "java is not installed"
        reason = f"{where}; --engine spark needs Java {_OLDEST_JAVA} or newer"
        raise EngineError(f"{reason}: {mend}", reason=reason)
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is not None and int(found[1]) < _OLDEST_JAVA:
        reason = f"{program} is Java {found[1]}; --engine spark needs {_OLDEST_JAVA} or newer"
        raise EngineError(f"{reason}: {mend}", reason=reason)


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """A context that leaves the handler of SIGINT as it was: that of pyspark asks the engine inside of a call to it."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _noted_interrupts() -> Iterator[None]:
    """A context whose errors are the interrupt's once one has come: the client of the engine may have swallowed it."""
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.default_int_handler(number, frame)

    before = signal.getsignal(signal.SIGINT)
    ours = before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception:
        if came:
            raise KeyboardInterrupt from None
        raise
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """A context in which environment variables have other values; None takes one away."""
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
