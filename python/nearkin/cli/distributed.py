"""`nearkin dedup --engine`: the deduplication on Spark or Sail, whose workers read the inputs and write the output.

DIR/kept, DIR/clusters and DIR/pairs are folders of Parquet files. In a folder of this machine they appear together with
summary.json, or not at all. An object store cannot rename: there summary.json is written last, and output without it is
incomplete.

An engine on this machine gets files and folders that were found here by the rules of every other command, so that a
missing file is an error and a glob has the same meaning. Other names are passed to the engine unchanged: URLs, and all
names if workers are other machines.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearkin.cli.console import escape_surrogates, progress_bars, warn
from nearkin.cli.corpus import existing_parent
from nearkin.cli.engine import Engine, convert_engine_errors, open_session, parse_engine
from nearkin.errors import InputError, OutputError, ParameterError, bad_parameter, input_error, printable
from nearkin.io.remote import short_url

if TYPE_CHECKING:
    import pyarrow as pa

    from nearkin.cli.dedup_options import Job
    from nearkin.io import OutputDir
    from nearkin.progress import Progress
    from nearkin.spark import JobEstimate, SparkResult

DataFrame = Any

_SUPPORTED = {
    *("inputs", "out", "text_column", "id_column", "format", "strict", "recipe", "family", "bits"),
    *("kind", "threshold", "radius", "recall", "bands", "measure", "verify", "differ", "empty", "cluster", "keep"),
    *("source_column", "against", "links", "engine", "master", "remote", "checkpoint", "explain"),
}
"""Options of a run on an engine. With and without --strict, it ends at the first unreadable record."""
_REASONS = {
    "max_comparisons": "not with an engine, which leaves no candidate out",
    "max_malformed": "not with an engine: the first unreadable record ends the job",
    "encoding": "not with an engine, which reads UTF-8",
    "delimiter": "not with an engine, which reads parquet and jsonl",
    "html": "not with an engine: extract the visible text into a column first",
    "threads": "not with an engine: use --master local[CORES], or the settings of the cluster",
    "store": "not with an engine: --against takes the export of a store, `nearkin store export`",
    "overwrite": "not with an engine: give a new folder",
    "group_column": "not with an engine: join the texts of each group into one row first",
    "shrink_to": "not with an engine: run dedup on a sample on one machine, and use its threshold",
    "lossless": "not with an engine: run dedup on one machine",
    "weights": "not with an engine: count the rows of clusters by representative",
    "labels": "not with an engine: run dedup on one machine to use labels",
    "out_layout": "not with an engine, which writes a folder of Parquet files",
    "unit": "not with an engine, which compares whole documents",
    "boilerplate": "not with an engine, which compares whole documents",
}
_OPTIONS_BY_ARGUMENT = {"text": "text_column", "id": "id_column", "source": "source_column", "df": "inputs"}
_TABLES = ("kept", "clusters", "pairs")
FORMATS = ("parquet", "jsonl")
"""Formats that engines read."""
_COMPRESSIONS = ("", "gz", "bz2", "zst")
"""Compressions of JSON that both engines read."""
_READABLE = "an engine reads parquet, and jsonl uncompressed or as .gz, .bz2 or .zst"
_GLOB = re.compile(r"[*?\[\]{}\\]")


def choose_engine(job: Job) -> Engine:
    """Return the engine of a job with options for one, after checking those that an engine supports.

    Raises
    ------
    ParameterError
        An option does not go with an engine, or one that it requires is missing.
    """
    options = job.engine
    engine = parse_engine(options.engine, options.master, options.remote)
    if engine is None:
        raise bad_parameter("explain", "given", "--engine or --remote with it, whose jobs it estimates")
    for name in job.explicit_options():
        if name not in _SUPPORTED:
            raise bad_parameter(name, "given", _REASONS.get(name, "not with an engine"))
    if job.of_files:
        raise bad_parameter("family", job.family, "simhash or minhash with an engine, which compares texts")
    if job.output.out == "-":
        raise bad_parameter("out", "-", "a new folder, or a URL, with an engine")
    if job.reading.id_column == "none":
        allowed = "a column of ids with an engine: rows on many machines have no numbers"
        raise bad_parameter("id_column", "none", allowed)
    if "checkpoint" not in job.matching and not engine.is_local:
        allowed = "--checkpoint FOLDER, a folder or URL that all machines share, with --remote or a --master of several"
        raise bad_parameter("checkpoint", None, f"{allowed}; --master local[2] runs on this one, without it")
    return engine


def explain(job: Job, engine: Engine) -> JobEstimate:
    """Estimate the job for the number and the mean size of the documents, and run nothing else.

    Raises
    ------
    ParameterError
        The family is simhash, or the options are wrong.
    InputError
        There are no documents.
    """
    from nearkin.dedup.candidates import MinHashCandidates
    from nearkin.dedup.config import engine_config
    from nearkin.spark.columns import column_type
    from nearkin.spark.estimate import explain_job

    config = engine_config(job.parse_recipe(), **{**job.matching, "checkpoint": None})
    if not isinstance(config.candidate_source, MinHashCandidates):
        allowed = "it with minhash, whose work follows from the number of documents"
        raise bad_parameter("explain", f"given with {config.recipe.family}", allowed)
    tables, older = _find_tables(job, engine)
    with open_session(engine) as session, convert_engine_errors():
        frames = [each.read(session) for each in (tables, older) if each is not None]
        text = job.reading.text_column or "text"
        named = [("id", job.reading.id_column), ("source", job.reference.source_column)]
        named += [("keep", key.column) for key in config.order if key.column]
        with _name_options():
            # Columns that the job would miss.
            for argument, name in named:
                if name is not None:
                    column_type(frames[0], name, argument)
            return explain_job(frames, text, config, in_memory=engine.name == "sail")


def _find_tables(job: Job, engine: Engine) -> tuple[InputTables, InputTables | None]:
    """Return the inputs, and the reference documents if there are some."""
    from nearkin.index.files import index_class
    from nearkin.store.log import LOG_NAME

    reading, against = job.reading, job.reference.against or []
    for name in against:
        if Path(name, LOG_NAME).is_file() or index_class(name) is not None:
            allowed = "tables with an engine, such as the export of a store (`nearkin store export`)"
            raise bad_parameter("against", name, allowed)
    tables = InputTables(job.inputs, engine, reading.format)
    return tables, InputTables(against, engine, reading.format, "against") if against else None


def dedup(job: Job, engine: Engine) -> dict[str, Any]:
    """Write folders of Parquet files and summary.json, and return the summary."""
    began = time.perf_counter()
    recipe, reading = job.parse_recipe(), job.reading
    tables, older = _find_tables(job, engine)
    with (
        _open_output(job.output.out, [*tables.inputs, *(older.inputs if older else [])]) as output,
        _open_checkpoint(job.matching.get("checkpoint"), job.output.out, engine) as checkpoint,
        progress_bars(quiet=job.quiet) as bars,
        _collect_warnings() as reported,
        open_session(engine) as session,
        convert_engine_errors(),
    ):
        opened = time.perf_counter()
        progress = _stage_progress(bars)
        progress("read", 0, None)
        rows = tables.read(session)
        id_column = reading.id_column or _find_id_column(rows, quiet=job.quiet)
        older_rows = None if older is None else older.read(session)
        result = _run(job, rows, older_rows, id_column, recipe, checkpoint, progress)
        ran = time.perf_counter()
        for name in _TABLES:
            progress(f"write {name}", 0, None)
            _write(output, name, getattr(result, name), result, session)
        reported.update(result.summary.get("warnings", []))
        stages = result.summary["timings"]
        # The engine's plans, counts and checks between the stages are one too, so that all add up to the wall time.
        between = ran - opened - sum(stage["wall"] for stage in stages.values())
        ends = {"write": {"wall": time.perf_counter() - ran}, "between stages": {"wall": between}}
        summary: dict[str, Any] = {
            **result.summary,
            "engine": engine.name,
            "inputs": [escape_surrogates(short_url(name)) for name in job.inputs],
            "format": tables.format,
            "text_column": reading.text_column or "text",
            "id_column": id_column,
            "kept_folder": "kept",
            "malformed": 0,
            "timings": {"start": {"wall": opened - began}, **stages, **ends},
        }
        return output.write_summary(summary)


def join(folder: str, name: str) -> str:
    """Return the path of a name in a folder or below a URL."""
    return f"{folder.rstrip('/')}/{name}"


def check_path(name: str, argument: str) -> None:
    """Raise ParameterError for a path with characters that an engine reads as a pattern."""
    if _GLOB.search(name):
        raise bad_parameter(argument, name, "a path without * ? [ ] { } \\, which an engine takes for a pattern")


def _find_id_column(rows: DataFrame, *, quiet: bool) -> str:
    """Return the first column that has ids by default; the job checks that they are distinct.

    Raises
    ------
    ParameterError
        No column has such a name.
    """
    from nearkin.io.corpus import ID_COLUMNS

    name = next((name for name in ID_COLUMNS if name in rows.columns), None)
    if name is None:
        allowed = "--id-column COLUMN with an engine: rows on many machines have no numbers"
        raise bad_parameter("id_column", None, f"{allowed}; no column is {', '.join(ID_COLUMNS[:-1])} or _id")
    if not quiet and name != ID_COLUMNS[0]:
        warn(f"ids are those of column {name!r}; --id-column names another")
    return name


def _run(
    job: Job,
    rows: DataFrame,
    older: DataFrame | None,
    id_column: str,
    recipe: Any,
    checkpoint: str,
    progress: Progress,
) -> SparkResult:
    """Run the job."""
    from nearkin.spark import dedup as spark_dedup

    with _name_options():
        return spark_dedup(
            rows,
            job.reading.text_column or "text",
            id_column,
            recipe=recipe,
            source=job.reference.source_column,
            against=older,
            progress=progress,
            **{**job.matching, "checkpoint": checkpoint},
        )


@contextmanager
def _name_options() -> Iterator[None]:
    """Convert errors about arguments to errors about the options."""
    try:
        yield
    except ParameterError as error:
        if "allowed" not in error.context:
            raise
        name = str(error.context.get("name"))
        allowed = str(error.context["allowed"]).replace("the DataFrame", "the input")
        raise bad_parameter(_OPTIONS_BY_ARGUMENT.get(name, name), error.context["found"], allowed) from error


def _stage_progress(bars: Progress) -> Progress:
    """Return a progress function for stages that report only their beginning, which is the end of the previous one."""
    started: list[str] = []

    def progress(stage: str, done: int, total: int | None) -> None:
        if started:
            bars(started[-1], 1, 1)
        started.append(stage)
        bars(stage, done, total)

    return progress


@contextmanager
def _collect_warnings() -> Iterator[set[str]]:
    """Return a set for the warnings that the summary reports; at the end of the context, report the others."""
    reported: set[str] = set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield reported
    for warning in caught:
        if issubclass(warning.category, RuntimeWarning) and str(warning.message) not in reported:
            warn(f"warning: {warning.message}")


@contextmanager
def _open_checkpoint(checkpoint: str | None, out: str, engine: Engine) -> Iterator[str]:
    """Return the folder of --checkpoint, or a temporary one next to the output."""
    from nearkin.io.remote import is_url

    if checkpoint is not None:
        local = engine.is_local and not is_url(checkpoint)
        name = os.path.abspath(checkpoint) if local else checkpoint  # noqa: PTH100 - names, not paths
        check_path(name, "checkpoint")
        yield name
        return
    parent = None if is_url(out) else existing_parent(Path(out))
    with tempfile.TemporaryDirectory(prefix="nearkin-checkpoint-", dir=parent, ignore_cleanup_errors=True) as folder:
        yield folder


# Output


@contextmanager
def _open_output(out: str, inputs: Sequence[str]) -> Iterator[_LocalOutput | _RemoteOutput]:
    from nearkin.io import OutputDir
    from nearkin.io.remote import check_new, is_url

    if is_url(out):
        check_path(out, "out")
        check_new(out)
        yield _RemoteOutput(out)
        return
    check_path(os.path.abspath(out), "out")  # noqa: PTH100
    if Path(out).is_dir() and (names := sorted(os.listdir(out))):  # noqa: PTH208
        raise bad_parameter("out", out, f"a folder that is empty or does not exist; it holds {names[0]}")
    with OutputDir(out, inputs=list(map(Path, inputs)), names=[*_TABLES, "summary.json"]) as target:
        yield _LocalOutput(target)


class _LocalOutput:
    """A folder of this machine."""

    def __init__(self, target: OutputDir) -> None:
        self._target = target
        self._folders: dict[str, Path] = {}

    def folder(self, name: str) -> str:
        """Return the folder of a table."""
        self._folders[name] = self._target.folder(name)
        return str(self._folders[name])

    def count_rows(self, name: str, session: Any) -> int | None:
        """Return the number of rows in the folder of a table; None if there is no file."""
        import pyarrow.parquet as pq

        files = sorted(self._folders[name].rglob("*.parquet"))
        return sum(pq.read_metadata(file).num_rows for file in files) if files else None

    def write_file(self, table: str, name: str, content: bytes) -> None:
        """Write a file into the folder of a table."""
        self._folders[table].mkdir(exist_ok=True)
        (self._folders[table] / name).write_bytes(content)

    def write_summary(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Write summary.json, the last file, and return its content."""
        return self._target.write_json("summary.json", summary)


class _RemoteOutput:
    """A URL to which the engine writes, with the methods of `_LocalOutput`."""

    def __init__(self, url: str) -> None:
        self._url = url

    def folder(self, name: str) -> str:
        return join(self._url, name)

    def count_rows(self, name: str, session: Any) -> int | None:
        from nearkin.io.remote import is_folder

        folder = self.folder(name)
        count: int | None = session.read.parquet(folder).count() if is_folder(folder) else None
        return count

    def write_file(self, table: str, name: str, content: bytes) -> None:
        from nearkin.io.remote import write_file

        write_file(join(self.folder(table), name), content)

    def write_summary(self, summary: dict[str, Any]) -> dict[str, Any]:
        from nearkin.io.remote import write_file

        text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
        write_file(join(self._url, "summary.json"), text.encode() + b"\n")
        return summary


def _write(output: _LocalOutput | _RemoteOutput, name: str, rows: DataFrame, result: SparkResult, session: Any) -> None:
    """Write a table, and check that it is complete.

    Raises
    ------
    OutputError
        The table is incomplete.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from nearkin.spark.engine import WRITE_OPTIONS

    folder = output.folder(name)
    rows.write.mode("error").options(**WRITE_OPTIONS).parquet(folder)
    expected = result.summary["kept"] if name == "kept" else rows.count()
    written = output.count_rows(name, session)
    if written is None and expected == 0:
        # Sail writes no file for a table without rows.
        sink = pa.BufferOutputStream()
        schema: pa.Schema = rows.limit(0).toArrow().schema
        pq.write_table(schema.empty_table(), sink)
        output.write_file(name, "part-0.parquet", sink.getvalue().to_pybytes())
    elif written != expected:
        reason = f"the table {name} has {written or 0:,} rows there, and should have {expected:,}"
        mend = "give a folder that all machines share, or a URL; the inputs must not change during the run"
        raise OutputError(f"{folder}: {reason}; {mend}", place=folder, in_place="old")


# Input


class InputTables:
    """Inputs of one format, checked before the engine starts.

    Parameters
    ----------
    names : sequence of str
        Files, globs, folders, URLs.
    engine : Engine
    format : str or None
        One of `FORMATS`; by default from the names, where a name without a known ending is a folder of Parquet files.
    argument : str
        The option or argument of the names, for messages.

    Attributes
    ----------
    format : str
    inputs : list of str
        Names that are paths of this machine.

    Raises
    ------
    ParameterError
        Standard input, or an unknown format.
    InputError
        A file that does not exist, that no engine reads, or that has another format than the first.
    """

    def __init__(self, names: Sequence[str], engine: Engine, format: str | None, argument: str = "inputs") -> None:
        from nearkin.io.inputs import compression_of, format_of
        from nearkin.io.remote import is_url, name_in

        if format is not None and format not in FORMATS:
            raise bad_parameter("format", format, f"one of {', '.join(FORMATS)}: {_READABLE}")
        if "-" in names:
            raise bad_parameter(argument, "-", f"files, folders or URLs: {_READABLE}")
        self.inputs = [name for name in names if not is_url(name)] if engine.is_local else []
        self._remote = [name for name in names if name not in self.inputs]
        self._local: list[str] = []
        kinds = [(self.inputs[0], self._find_local(format))] if self.inputs else []
        for name in self._remote:
            kind = format or format_of(name_in(name)) or "parquet"
            _check_readable(name, kind, compression_of(name_in(name)))
            kinds.append((name, kind))
        first, self.format = kinds[0]
        for name, kind in kinds:
            if kind != self.format:
                raise _input_error(
                    name, f"is {kind}, while {short_url(first)} is {self.format}; give inputs of one format"
                )

    def _find_local(self, format: str | None) -> str:
        """Find the inputs of this machine, and return their format."""
        from nearkin.io.inputs import resolve

        kind, files = resolve(self.inputs, format)
        for file in files:
            _check_readable(file.name, kind, file.compression)
        names = {os.path.normpath(file.name) for file in files}
        paths = []
        for name in self.inputs:
            whole = Path(name).is_dir() and _is_table_folder(name, names)
            paths += [name] if whole else [file.name for file in resolve(name, kind)[1]]
        # Links are not resolved: their targets may have no ending.
        self._local = [os.path.abspath(path) for path in paths]  # noqa: PTH100
        for path in self._local:
            if _GLOB.search(path):
                raise _input_error(path, "has one of * ? [ ] { } \\ in its name, which an engine takes for a pattern")
        return kind

    def read(self, session: Any) -> DataFrame:
        """Return all rows; a column that an input lacks is null in its rows.

        Raises
        ------
        InputError
            A name has no data.
        """
        frames = [self._read_frame(session, self._local)] if self._local else []
        # One by one, because for Sail a missing input is a table without columns.
        frames += [self._read_frame(session, [name]) for name in self._remote]
        rows = frames[0]
        for frame in frames[1:]:
            rows = rows.unionByName(frame, allowMissingColumns=True)
        return rows

    def _read_frame(self, session: Any, paths: list[str]) -> DataFrame:
        try:
            reader = session.read.option("mode", "FAILFAST")
            if self.format == "jsonl":
                frame = reader.json(paths)
            else:
                frame = reader.option("mergeSchema", "true").parquet(*paths)
            columns = frame.columns
        except Exception as error:
            # The last is a bucket that does not exist.
            if not re.search("PATH_NOT_FOUND|UNABLE_TO_INFER_SCHEMA|NoSuchBucket", str(error)):
                raise
            columns = []
        if not columns:
            raise _input_error(paths[0], "no such file or folder for the engine, or nothing in it")
        return frame


def _check_readable(name: str, kind: str, compression: str) -> None:
    """Raise InputError for a format or compression that engines do not read."""
    if kind not in FORMATS:
        raise _input_error(name, f"is {kind}; {_READABLE}; convert it, or run without an engine")
    if compression not in (_COMPRESSIONS if kind != "parquet" else ("",)):
        raise _input_error(name, f"is compressed as {compression}; {_READABLE}")


def _is_table_folder(folder: str, names: set[str]) -> bool:
    """Return whether an engine reads exactly these files in a folder: directly in it, or in folders `column=value`."""
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        tables = {name for name in files if os.path.normpath(Path(parent, name)) in names}
        if tables != {name for name in files if not name.startswith((".", "_"))}:
            return False
        if tables and not all("=" in part for part in Path(parent).relative_to(folder).parts):
            return False
    return True


def _input_error(name: str, reason: str) -> InputError:
    place = printable(short_url(name))
    return input_error(place, reason, file=place)
