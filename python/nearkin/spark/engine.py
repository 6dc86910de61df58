"""The engine of a DataFrame: checks before a job, checkpoints of its stages, and conversion of engine errors."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from uuid import uuid4

from nearkin import errors
from nearkin._core import __version__
from nearkin.errors import (
    EngineError,
    MismatchError,
    NearkinError,
    OutputError,
    bad_parameter,
    mismatch,
    require_extra,
    warn_caller,
)
from nearkin.io.arrow import to_values

if TYPE_CHECKING:
    import pyarrow as pa

DataFrame = Any
"""A DataFrame of `pyspark.sql`, classic or of Spark Connect, which have the same methods."""
Session = Any

_MIN_VERSION = (4, 0)
_MAX_SENT = 1 << 18
"""Rows that are sent to the engine at once."""
WRITE_OPTIONS = {
    "compression": "zstd",
    # Of Sail, which otherwise buffers a million rows, and looks for equal texts in a third of the time of writing.
    "max_row_group_size": str(1 << 13),
    "dictionary_enabled": "false",
    # The same of Spark, which otherwise buffers 128 MB in each task, and the level of compression that Sail has.
    "parquet.block.size": str(1 << 24),
    "parquet.enable.dictionary": "false",
    "parquet.compression.codec.zstd.level": "1",
}
"""Options of Parquet for both engines; each ignores those of the other."""
_STAGE_OPTIONS = {**WRITE_OPTIONS, "compression": "uncompressed"}
"""Options of the tables of stages, which are mostly hashes, have no texts, and are read again at once."""


def functions() -> Any:
    """Import `pyspark.sql.functions`."""
    with require_extra("spark", "nearkin.spark"):
        return import_module("pyspark.sql.functions")


def spark_session(frame: DataFrame, argument: str = "df") -> Session:
    """Return the session of the DataFrame passed as an argument.

    Raises
    ------
    ParameterError
        Another kind of value.
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
    version = tuple(int(number) for number in re.findall(r"\d+", str(session.version))[:2])
    if version < _MIN_VERSION:
        reason = f"Spark {session.version} is too old"
        raise EngineError(f"{reason}; nearkin.spark needs 4.0 or newer", reason=reason)
    return session


def is_spark(session: Session) -> bool:
    """Return False for an engine with Spark's interface that is another one, such as Sail.

    Spark writes what stages exchange to disks; Sail keeps it in memory.
    """
    return str(session.sql("SELECT version()").collect()[0][0]).startswith(str(session.version))


def _worker_versions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the versions of nearkin and Python of a worker."""
    import pyarrow as pa

    for batch in batches:
        versions = [f"{__version__} {sys.version_info.major}.{sys.version_info.minor}"] * batch.num_rows
        yield pa.RecordBatch.from_arrays([pa.array(versions, pa.string())], ["version"])


_INSTALL = (
    "workers need this nearkin: on one machine set PYSPARK_PYTHON to this Python before the session is made; on "
    "several build an image with it, or pack an environment (venv-pack -o env.tar.gz), start with "
    "--archives env.tar.gz#env and set PYSPARK_PYTHON=./env/bin/python (spark.pyspark.python)"
)


def check_workers(session: Session) -> None:
    """Raise EngineError unless all workers have this version of nearkin."""
    try:
        rows = session.range(0, 8, 1, 8).mapInArrow(_worker_versions, "version string").collect()
    except Exception as error:
        reason = _cause(error)
        if "No module named" in reason or "ModuleNotFoundError" in str(error):
            missing = re.search(r"No module named '([\w.]+)'", f"{reason} {error}")
            module = missing.group(1) if missing else "nearkin"
            raise EngineError(f"a worker has no module {module!r}; {_INSTALL}", reason=reason) from error
        raise EngineError(f"a worker did not report its version of nearkin: {reason}", reason=reason) from error
    versions = sorted({row[0].split()[0] for row in rows})
    if versions != [__version__]:
        raise mismatch("nearkin", f"workers with {', '.join(versions)}", f"a driver with {__version__}; {_INSTALL}")


def _cause(error: BaseException) -> str:
    """Return the last line of an error of a worker or the engine that names an exception, or the first line."""
    # Spark Connect appends the Java stack trace.
    message = str(error).partition("JVM stacktrace:")[0]
    lines = [line.strip().removeprefix(": ") for line in message.splitlines()]
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception)(: |$)", line)]
    cause = named[-1] if named else next((line for line in lines if line), type(error).__name__)
    return cause[:2000]


@contextmanager
def raise_engine_errors() -> Iterator[None]:
    """Convert errors of the engine: errors that nearkin raised in a worker to these, all others to EngineError."""
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


_UNWRITTEN = (
    r"(?i)permission|read-only|mkdirs|not a directory|no ?such ?(file|bucket)|access.?denied|no filesystem for scheme"
)
"""Messages of engines about a folder that can't be written."""
_NUM_PROBES = 16
"""Tasks that write to a folder to test it."""
_SHARED = "give a folder that the driver and all workers can write"
_AGAIN = "something deleted or changed it; run again, and what is lost is computed again, or give a folder of its own"


Files = dict[str, int | None]
"""Names and bytes of files; None for those that this machine does not see."""


class Checkpoint:
    """Results of the stages of a job, in a folder that driver and workers share.

    A stage is written completely, in a folder that only this call writes, and then listed in the table `stages`: its
    rows, its files with their sizes, the digest of the job, and the line of the stage before it. A stage that is not
    listed does not exist; nor does one whose files are not those of its line, nor any that follows such a stage.

    Engines read a lost file as no rows, or fail without a name. A file that is still there after a stage has read it
    was there before, so files are compared with all lines after each stage. What is read after the job is guarded.

    Parameters
    ----------
    session : SparkSession
    path : str
    digest : str
        Digest of everything that determines the result; a job with another one is refused.
    report : function
        Called with the name of a stage before it runs, and with the number of pairs that it verifies.
    """

    def __init__(self, session: Session, path: str, digest: str, report: Callable[..., None]) -> None:
        self.session, self.path, self.digest, self._report = session, path.rstrip("/"), digest, report
        self.seconds: dict[str, float] = {}
        self.done: dict[str, int] = {}
        self._run, self._last = uuid4().hex[:12], digest
        self._listed: dict[str, tuple[str, Files]] = {}
        self._read()

    def _read(self) -> None:
        """Read the stages of earlier calls, up to the first one that has lost something."""
        try:
            table = self.session.read.parquet(f"{self.path}/stages").toArrow()
        except Exception as error:
            if _is_absent(error):
                return
            message = f"checkpoint={self.path!r} can't be read: {_cause(error)}; {_SHARED}"
            raise OutputError(message, place=self.path) from error
        # Sail reads a missing folder as a table without columns.
        if not table.num_rows:
            return
        if set(to_values(table.column("digest"))) - {self.digest}:
            raise MismatchError(
                f"checkpoint={self.path!r} has the stages of another job; give that one's arguments and columns again, "
                "or a new folder",
                what="checkpoint",
                left=self.path,
                right=self.digest,
            )
        files, lines = self._list_files(), to_values(table)
        while following := [line for line in lines if line["parent"] == self._last]:
            # Calls at the same time list the same stage in several folders.
            faults = [
                self._fault(line["stage"], line["folder"], json.loads(line["files"]), files) for line in following
            ]
            if all(faults):
                warn_caller(f"{faults[0]}; it is computed again, and so are the stages after it")
                return
            self._add(following[faults.index("")])

    def _add(self, line: dict[str, Any]) -> None:
        self.done[line["stage"]] = line["rows"]
        self._listed[line["stage"]] = line["folder"], json.loads(line["files"])
        self._last = hashlib.sha256(repr(sorted(line.items())).encode()).hexdigest()

    def _list_files(self) -> dict[str, Files]:
        """Return the files of all stages, by their folders."""
        # The format that opens no file.
        reader = self.session.read.schema("value string").option("recursiveFileLookup", "true")
        try:
            urls = reader.text(self.path).inputFiles()
        except Exception as error:
            if not _is_absent(error):
                raise
            urls = []
        files: dict[str, Files] = {}
        for url in urls:
            folder, _, name = unquote(url).rpartition("/")
            path = Path(re.sub("^file:(//)?", "", folder), name)
            size = path.stat().st_size if path.is_file() else None
            files.setdefault("/".join(folder.split("/")[-2:]), {})[name] = size
        return files

    def _fault(self, stage: str, folder: str, listed: Files, files: dict[str, Files]) -> str:
        """Return in words how files differ from those of a stage; an empty text if they do not."""
        found = files.get(folder, {})
        for name in sorted({*listed, *found}):
            before, now = listed.get(name), found.get(name)
            if name in listed and name in found and (before == now or None in (before, now)):
                continue
            fault = "is gone" if name not in found else f"has {now:,} bytes, not {before:,}" if before else "is new"
            return f"checkpoint={self.path!r}: the file {folder}/{name} of the stage {stage!r} {fault}"
        return ""

    def check_files(self, files: dict[str, Files] | None = None) -> None:
        """Compare the files of all stages with those that were written.

        Raises
        ------
        OutputError
            A file is gone or has another size.
        """
        files = self._list_files() if files is None else files
        for stage, (folder, listed) in self._listed.items():
            if fault := self._fault(stage, folder, listed, files):
                raise OutputError(f"{fault}; {_AGAIN}", place=f"{self.path}/{folder}")

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Check the files after the block; if it raises because some are gone, the error is theirs."""
        try:
            yield
        except Exception as error:
            # Without a server each request would take ten minutes.
            if "RETRIES_EXCEEDED" not in f"{error} {error.__cause__}":
                try:
                    self.check_files()
                except Exception as lost:
                    if isinstance(lost, OutputError):
                        raise lost from error
            raise
        self.check_files()

    def check(self) -> None:
        """Test that all workers can write to the folder and see what others wrote, before the job starts.

        Workers with disks of their own would each write to their own.

        Raises
        ------
        OutputError
            The folder can't be written.
        EngineError
            The folder is not shared.
        """
        if self.done:
            return
        self._write(self.session.range(0, _NUM_PROBES, 1, _NUM_PROBES).write.mode("overwrite"), self._folder("begun"))
        try:
            rows = self.read("begun", "id bigint").count()
            reason = f"of {_NUM_PROBES} rows that workers wrote {rows} are there"
        except Exception as error:
            rows, reason = 0, _cause(error)
        if rows != _NUM_PROBES:
            message = f"checkpoint={self.path!r} is not shared by all workers: {reason}; {_SHARED}"
            raise EngineError(message, reason=reason)
        self._list("begun", _NUM_PROBES, self._list_files())

    def _folder(self, name: str) -> str:
        return f"{self.path}/{self._listed[name][0] if name in self.done else f'{name}/{self._run}'}"

    def read(self, name: str, schema: Any) -> DataFrame:
        """Return the rows of a written stage."""
        # A folder without rows has no schema of its own.
        return self.session.read.schema(schema).parquet(self._folder(name))

    def guard(self, name: str, rows: DataFrame) -> DataFrame:
        """Return the rows of a stage for later plans, which fail if it has not all its rows then."""
        F, guard = functions(), RowGuard(self.path, name, self.done[name])
        nulls = [F.lit(None).cast(field.dataType).alias(field.name) for field in rows.schema]
        count = rows.agg(F.count(F.lit(1)).alias("num_rows")).select(*nulls, "num_rows")
        # The engine can't move a filter through a function, nor leave it out.
        counted = rows.select("*", F.lit(None).cast("bigint").alias("num_rows")).union(count)
        return counted.mapInArrow(guard.rows, rows.schema)

    def frame(self, name: str, build: Callable[[], DataFrame], work: int | None = None) -> DataFrame:
        """Return the rows of a stage; write them first if it is not done, after reporting the work that is known."""
        with raise_engine_errors():
            rows = build()
            if name not in self.done:
                self._report(name, *([] if work is None else [work]))
                start = time.perf_counter()
                self._write(rows.write.mode("overwrite").options(**_STAGE_OPTIONS), self._folder(name))
                self.seconds[name] = time.perf_counter() - start
            return self._checked(name, rows.schema)

    def table(self, name: str, schema: str, build: Callable[[], pa.Table]) -> DataFrame:
        """Return the rows of a stage that the driver builds as a table; `schema` has the SQL types of its columns."""
        if name not in self.done:
            self._report(name)
            # Spark drops the rows behind an empty chunk.
            table, mode = build().combine_chunks(), "overwrite"
            for start in range(0, max(table.num_rows, 1), _MAX_SENT):
                chunk = table.slice(start, _MAX_SENT)
                rows = self.session.createDataFrame(chunk) if chunk.num_rows else self._no_rows(schema)
                self._write(rows.write.mode(mode).options(**_STAGE_OPTIONS), self._folder(name))
                mode = "append"
            return self._checked(name, schema, table.num_rows)
        return self._checked(name, schema)

    def _no_rows(self, schema: str) -> DataFrame:
        columns = (column.split() for column in schema.split(", "))
        return self.session.range(0).selectExpr(*(f"cast(null AS {kind}) AS {name}" for name, kind in columns))

    def _checked(self, name: str, schema: Any, num_rows: int | None = None) -> DataFrame:
        """Return the rows of a stage: list a new one, and check that it has all its rows if their number is known."""
        files = self._list_files()
        self.check_files(files)
        rows = self.read(name, schema)
        count = rows.count()
        if count != (expected := self.done.get(name, num_rows)) and expected is not None:
            raise _lost_rows(self.path, name, count, expected)
        if name not in self.done:
            self._list(name, count, files)
        return rows

    def _list(self, stage: str, rows: int, files: dict[str, Files]) -> None:
        import pyarrow as pa

        folder = f"{stage}/{self._run}"
        own = json.dumps(files.get(folder, {}))
        line = {
            "stage": stage,
            "digest": self.digest,
            "rows": rows,
            "parent": self._last,
            "folder": folder,
            "files": own,
        }
        frame = self.session.createDataFrame(pa.Table.from_pylist([line]))
        self._write(frame.write.mode("append"), f"{self.path}/stages")
        self._add(line)

    def _write(self, writer: Any, folder: str) -> None:
        try:
            writer.parquet(folder)
        except Exception as error:
            text = str(error)
            if re.search(_UNWRITTEN, text):
                message = f"checkpoint={self.path!r} can't be written: {_cause(error)}; {_SHARED}"
                raise OutputError(message, place=self.path) from error
            raise


def _lost_rows(path: str, stage: str, found: int, expected: int) -> OutputError:
    message = f"checkpoint={path!r} has {found:,} of the {expected:,} rows of the stage {stage!r}; {_AGAIN}"
    return OutputError(message, place=f"{path}/{stage}")


@dataclass(frozen=True)
class RowGuard:
    """Checks the number of rows of a stage inside a plan that reads it.

    Attributes
    ----------
    path, stage : str
    expected : int
    """

    path: str
    stage: str
    expected: int

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows without their last column, a number in one row that is none of them and is left out.

        Raises
        ------
        OutputError
            Another number of rows than expected.
        """
        for batch in batches:
            count = batch.column("num_rows")
            for found in to_values(count.drop_null()):
                if found != self.expected:
                    raise _lost_rows(self.path, self.stage, found, self.expected)
            yield batch.filter(count.is_null()).drop_columns("num_rows")


def _is_absent(error: Exception) -> bool:
    """Return True for an error about a missing or empty folder."""
    return bool(re.search(r"(?i)PATH_NOT_FOUND|does not exist|not found|UNABLE_TO_INFER_SCHEMA|no files", str(error)))


def fetch_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Fetch a few rows, as dicts."""
    rows: list[dict[str, Any]] = to_values(frame.toArrow())
    return rows


def quote(name: str) -> str:
    """Quote the name of a column for the engine."""
    return f"`{name.replace('`', '``')}`"


def unused_name(name: str, names: list[str]) -> str:
    """Extend a name until it differs from all others, whatever their case."""
    taken = {other.lower() for other in names}
    while name in taken:
        name += "_"
    return name
