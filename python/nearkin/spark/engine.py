"""The engine that a DataFrame lives in: what is checked before a job, stages that a failed job need not repeat, and
errors of workers as nearkin's own.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nearkin import errors
from nearkin._core import __version__
from nearkin.errors import (
    EngineError,
    MismatchError,
    MissingExtraError,
    NearkinError,
    OutputError,
    bad_parameter,
    mismatch,
)

if TYPE_CHECKING:
    import pyarrow as pa

DataFrame = Any
"""Of `pyspark.sql`, classic or of Spark Connect: both have the same methods."""
Session = Any

_OLDEST = (4, 0)
_ROWS = 1 << 18
"""Rows that go to the engine at once."""
_FETCHED = 10_000_000
"""Rows that come from the engine at once."""
_WRITING = {"compression": "zstd", "max_row_group_size": str(1 << 13)}
"""How stages are written. Sail buffers a million rows otherwise; Spark ignores the second one and buffers 128 MB."""


def functions() -> Any:
    """`pyspark.sql.functions`."""
    try:
        return import_module("pyspark.sql.functions")
    except ImportError as error:
        message = "nearkin.spark needs pyspark: pip install 'nearkin[spark]', or 'nearkin[sail]' without Java"
        raise MissingExtraError(message, package="pyspark", extra="spark") from error


def session_of(frame: DataFrame, argument: str = "df") -> Session:
    """The session of the DataFrame that an argument has to be.

    Raises
    ------
    ParameterError
        Something else was given.
    EngineError
        The engine is older than Spark 4.0.
    """
    session = getattr(frame, "sparkSession", None)
    if session is None or not hasattr(frame, "mapInArrow"):
        kind = f"{type(frame).__module__}.{type(frame).__qualname__}"
        raise bad_parameter(
            argument, kind, "a DataFrame of Spark (spark.read.parquet(...)); others go to nearkin.dedup"
        )
    if getattr(frame, "isStreaming", False):
        raise bad_parameter(argument, "a streaming DataFrame", "one of spark.read: a stream has no end to compare with")
    found = tuple(int(part) for part in re.findall(r"\d+", str(session.version))[:2])
    if found < _OLDEST:
        reason = f"Spark {session.version} is too old"
        raise EngineError(f"{reason}; nearkin.spark needs 4.0 or newer", reason=reason)
    return session


def _probe(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a worker has: the versions of nearkin and Python."""
    import pyarrow as pa

    for batch in batches:
        versions = [f"{__version__} {sys.version_info.major}.{sys.version_info.minor}"] * batch.num_rows
        yield pa.RecordBatch.from_arrays([pa.array(versions, pa.string())], ["version"])


_SHIP = (
    "workers need this nearkin: on one machine set PYSPARK_PYTHON to this Python before the session is made; on "
    "several build an image with it, or pack an environment (venv-pack -o env.tar.gz), start with "
    "--archives env.tar.gz#env and set PYSPARK_PYTHON=./env/bin/python (spark.pyspark.python)"
)


def check_workers(session: Session) -> None:
    """Raise EngineError unless workers have this nearkin."""
    try:
        rows = session.range(0, 8, 1, 8).mapInArrow(_probe, "version string").distinct().collect()
    except Exception as error:
        reason = _cause(error)
        if "No module named" in reason or "ModuleNotFoundError" in str(error):
            missing = re.search(r"No module named '([\w.]+)'", f"{reason} {error}")
            what = missing.group(1) if missing else "nearkin"
            raise EngineError(f"a worker has no module {what!r}; {_SHIP}", reason=reason) from error
        raise EngineError(f"a worker could not be asked for its nearkin: {reason}", reason=reason) from error
    found = sorted({row[0].split()[0] for row in rows})
    if found != [__version__]:
        raise mismatch("nearkin", f"workers with {', '.join(found)}", f"a driver with {__version__}; {_SHIP}")


def _cause(error: BaseException) -> str:
    """The last line of what a worker or the engine said that names an error, or else the first line."""
    # Behind this Spark Connect has what Java called: nobody's message.
    said = str(error).partition("JVM stacktrace:")[0]
    lines = [line.strip().removeprefix(": ") for line in said.splitlines()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception)(: |$)", line)]
    found = named[-1] if named else next((line for line in lines if line), type(error).__name__)
    return found[:2000]


@contextmanager
def told_by_workers() -> Iterator[None]:
    """Raise what a worker raised of nearkin's own as that error, and what the engine says as EngineError."""
    try:
        yield
    except NearkinError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        cause = _cause(error)
        own = re.match(r"nearkin\.errors\.(\w+): (.*)", cause)
        kind = getattr(errors, own.group(1), None) if own else None
        if own and isinstance(kind, type) and issubclass(kind, NearkinError):
            place, _, reason = own.group(2).partition(": ")
            raise kind(own.group(2), place=place, reason=reason or place) from error
        raise EngineError(f"the engine ended the job: {cause}", reason=cause) from error


_UNWRITTEN = r"(?i)permission|read-only|mkdirs|not a directory|no such file|access.?denied|no filesystem for scheme"
"""What engines say of a folder that can't be written."""
_TRIED = 16
"""Tasks that try a folder."""
_SHARED = "give a folder that the driver and all workers can write"


class Checkpoint:
    """Stages of a job under a folder that driver and workers share.

    A stage is written whole and then named in the table `stages`, with the digest of the job; what is not named there
    does not exist. A job with another digest is refused, so that no stage is taken for another's.

    Parameters
    ----------
    session : SparkSession
    path : str
    digest : str
        Of everything that the answer follows from.
    tell : function
        Called with the name of a stage before it is made.
    """

    def __init__(self, session: Session, path: str, digest: str, tell: Callable[[str], None]) -> None:
        self.session, self.path, self.digest, self._tell = session, path.rstrip("/"), digest, tell
        self.seconds: dict[str, float] = {}
        self.done = self._read()

    def _read(self) -> dict[str, int]:
        try:
            table = self.session.read.parquet(f"{self.path}/stages").toArrow()
        except Exception as error:
            if _is_absent(error):
                return {}
            message = f"checkpoint={self.path!r} can't be read: {_cause(error)}; {_SHARED}"
            raise OutputError(message, place=self.path) from error
        # To Sail a folder that is not there is a table without columns.
        if not table.num_rows:
            return {}
        found = set(table.column("digest").to_pylist())
        if found - {self.digest}:
            raise MismatchError(
                f"checkpoint={self.path!r} has the stages of another job; give that one's arguments and columns again, "
                "or a new folder",
                what="checkpoint",
                left=self.path,
                right=self.digest,
            )
        return dict(zip(*(table.column(name).to_pylist() for name in ("stage", "rows")), strict=True))

    def check(self) -> None:
        """Write the first line of the table, so that a folder that can't be written ends the job before it starts.

        Where workers have disks of their own, each would write to its own, and read what it finds there.

        Raises
        ------
        OutputError
            The folder can't be written.
        EngineError
            What workers write is not there for others.
        """
        if self.done:
            return
        folder = f"{self.path}/begun"
        self._write(self.session.range(0, _TRIED, 1, _TRIED).write.mode("overwrite"), folder)
        try:
            found = self.session.read.schema("id bigint").parquet(folder).count()
            reason = f"of {_TRIED} rows that workers wrote {found} are there"
        except Exception as error:
            found, reason = 0, _cause(error)
        if found != _TRIED:
            message = f"checkpoint={self.path!r} is not shared by all workers: {reason}; {_SHARED}"
            raise EngineError(message, reason=reason)
        self._name("begun", _TRIED)

    def frame(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """The rows of a stage: as they were written, or made and written."""
        folder = f"{self.path}/{name}"
        with told_by_workers():
            rows = make()
            if name not in self.done:
                self._tell(name)
                start = time.perf_counter()
                self._write(rows.write.mode("overwrite").options(**_WRITING), folder)
                self.seconds[name] = time.perf_counter() - start
            # A folder without rows has no schema of its own.
            return self._whole(name, self.session.read.schema(rows.schema).parquet(folder))

    def table(self, name: str, schema: str, make: Callable[[], pa.Table]) -> DataFrame:
        """The same of a table of the driver, with the types of its columns as SQL writes them."""
        folder = f"{self.path}/{name}"
        if name not in self.done:
            self._tell(name)
            table, mode = make(), "overwrite"
            for start in range(0, max(table.num_rows, 1), _ROWS):
                part = table.slice(start, _ROWS)
                rows = self.session.createDataFrame(part) if part.num_rows else self.session.createDataFrame([], schema)
                self._write(rows.write.mode(mode).options(**_WRITING), folder)
                mode = "append"
        return self._whole(name, self.session.read.schema(schema).parquet(folder))

    def _whole(self, name: str, rows: DataFrame) -> DataFrame:
        """The rows of a stage, which is named if it is new; of one that is not, all that were written must be there."""
        found = rows.count()
        if name not in self.done:
            self._name(name, found)
        elif found != self.done[name]:
            message = (
                f"checkpoint={self.path!r} has {found:,} of the {self.done[name]:,} rows of {name!r}: something was "
                "deleted from it; give a new folder"
            )
            raise OutputError(message, place=self.path)
        return rows

    def _name(self, stage: str, rows: int) -> None:
        import pyarrow as pa

        line = self.session.createDataFrame(pa.table({"stage": [stage], "digest": [self.digest], "rows": [rows]}))
        self._write(line.write.mode("append"), f"{self.path}/stages")
        self.done[stage] = rows

    def _write(self, writer: Any, folder: str) -> None:
        try:
            writer.parquet(folder)
        except Exception as error:
            text = str(error)
            if re.search(_UNWRITTEN, text):
                message = f"checkpoint={self.path!r} can't be written: {_cause(error)}; {_SHARED}"
                raise OutputError(message, place=self.path) from error
            raise


def _is_absent(error: Exception) -> bool:
    """Whether a folder is not there, or has nothing in it."""
    return bool(re.search(r"(?i)PATH_NOT_FOUND|does not exist|not found|UNABLE_TO_INFER_SCHEMA|no files", str(error)))


def fetched(frame: DataFrame, column: str) -> pa.Table:
    """All rows on the driver, in parts by an integer column, so that no part is too large for the engine."""
    import pyarrow as pa

    F = functions()
    count = frame.count()
    parts = max(-(-count // _FETCHED), 1)
    if parts == 1:
        return frame.toArrow()
    part = F.pmod(F.col(column), F.lit(parts))
    return pa.concat_tables([frame.where(part == at).toArrow() for at in range(parts)])


def quoted(name: str) -> str:
    """A column's name as the engine takes it, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def unlike(name: str, names: list[str]) -> str:
    """A name like this one that is none of others, in whatever case."""
    taken = {other.lower() for other in names}
    while name in taken:
        name += "_"
    return name


def few_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Few rows, as dicts."""
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


def joined(frames: list[DataFrame]) -> DataFrame:
    """The rows of all frames."""
    rows = frames[0]
    for frame in frames[1:]:
        rows = rows.union(frame)
    return rows
