"""`nearkin dedup --engine`: the same deduplication on Spark or Sail, whose workers read inputs and write output.

DIR/kept, DIR/clusters and DIR/pairs are folders of Parquet files. In a folder of this machine they appear together with
summary.json, or not at all. An object store has no rename: there summary.json comes last, and output without it is not
whole.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from nearkin.cli.console import escaped, progress_bars, warn
from nearkin.cli.engine import Engine, engine_named, session_of, told_by_engine
from nearkin.cli.passages import is_given
from nearkin.cli.paths import existing_parent
from nearkin.cli.tables import DataFrame, Tables, check_plain
from nearkin.errors import OutputError, ParameterError, bad_parameter

if TYPE_CHECKING:
    import pyarrow as pa

    from nearkin.io import OutputDir
    from nearkin.progress import Progress
    from nearkin.recipe import Recipe
    from nearkin.spark import SparkResult

_PASSED = ("threshold", "radius", "recall", "confirm", "measure", "verify", "differ", "featureless")
_TAKEN = {
    *("inputs", "out", "text_column", "id_column", "format", "delimiter", "strict"),
    *("recipe", "family", "bits", *_PASSED, "cluster", "keep", "source_column", "against", "links"),
    *("engine", "master", "remote", "checkpoint", "as_json", "quiet"),
}
"""Options that an engine takes; the first record that can't be read ends the job with and without --strict."""
_WHY = {
    "max_comparisons": "not with an engine, which leaves no candidate out",
    "max_malformed": "not with an engine: the first record that can't be read ends the job",
    "encoding": "not with an engine, which reads UTF-8",
    "html": "not with an engine: make a column of the visible text first",
    "threads": "not with an engine: --master local[CORES] says how many, or the cluster",
    "store": "not with an engine: --against takes the export of a store, `nearkin store export`",
    "overwrite": "not with an engine: give a new folder",
    "labels": "not with an engine: run dedup on one machine to keep labelled pairs apart",
    "out_layout": "not with an engine, which writes a folder of Parquet files",
    "unit": "not with an engine, which compares whole documents",
    "boilerplate": "not with an engine, which compares whole documents",
    "differing": "not with an engine: texts that differ are kept apart",
}
_RENAMED = {"text": "text_column", "id": "id_column", "source": "source_column", "df": "inputs"}
_TABLES = ("kept", "clusters", "pairs")
_HEAD = 12


@dataclass(frozen=True)
class Done:
    """What a run leaves to tell.

    Attributes
    ----------
    summary : dict
        As summary.json has it.
    head : list of dict
        The first few rows of the clusters.
    kept : str
        Where the documents that stay are.
    """

    summary: dict[str, Any]
    head: list[dict[str, Any]]
    kept: str


def engine_of(context: typer.Context) -> Engine | None:
    """The engine that a call of `nearkin dedup` names, or None; what no engine takes is refused."""
    params = context.params
    engine = engine_named(params["engine"], params["master"], params["remote"])
    if engine is None:
        if params["checkpoint"] is not None:
            raise bad_parameter("checkpoint", params["checkpoint"], "--engine or --remote with it")
        return None
    for name in params:
        if name not in _TAKEN and is_given(context, name) and (name, params[name]) != ("differing", "keep"):
            raise bad_parameter(name, "given", _WHY.get(name, "not with an engine"))
    if params["family"] == "ssdeep":
        raise bad_parameter("family", "ssdeep", "simhash or minhash with an engine, which compares texts")
    if params["out"] == "-":
        raise bad_parameter("out", "-", "a new folder, or a URL, with an engine")
    if params["id_column"] is None:
        allowed = "--id-column COLUMN with an engine: rows on many machines have no numbers"
        raise bad_parameter("id_column", None, allowed)
    if params["checkpoint"] is None and not engine.is_local:
        allowed = "--checkpoint FOLDER, a folder or URL that all machines share, with --remote or a --master of several"
        raise bad_parameter("checkpoint", None, allowed)
    return engine


def dedup_engine(context: typer.Context, engine: Engine, *, recipe: Recipe | None) -> Done:
    """Run the command: folders of Parquet files and summary.json in --out.

    Parameters
    ----------
    context : typer.Context
        With the options of the call, as `engine_of` has checked them.
    engine : Engine
    recipe : Recipe or None
        None for that of `nearkin.spark.dedup`.
    """
    params = context.params
    tables = Tables(params["inputs"], engine, params["format"], params["delimiter"])
    older = _older(params, engine)
    with (
        _opened(params["out"], [*tables.inputs, *(older.inputs if older else [])]) as output,
        _checkpoint(params["checkpoint"], params["out"], engine) as checkpoint,
        progress_bars(quiet=params["quiet"]) as bars,
        _warnings() as told,
        session_of(engine) as session,
        told_by_engine(),
    ):
        tell = _stages(bars)
        tell("read", 0, None)
        new = tables.read(session)
        old = None if older is None else older.read(session)
        _check_columns(params, new, old)
        result = _run(params, new, old, recipe, checkpoint, tell)
        start = time.perf_counter()
        for name in _TABLES:
            tell(f"write {name}", 0, None)
            _write(output, name, getattr(result, name), result, session)
        told.update(result.summary.get("warnings", []))
        written = {"write": {"wall": time.perf_counter() - start}}
        summary: dict[str, Any] = {
            **result.summary,
            "engine": engine.name,
            "inputs": [escaped(name) for name in params["inputs"]],
            "format": tables.format,
            "text_column": params["text_column"] or "text",
            "id_column": params["id_column"],
            "kept_folder": "kept",
            "malformed": 0,
            "timings": {**result.summary["timings"], **written},
        }
        summary = output.put(summary)
        return Done(summary, _head(result), _below(params["out"], "kept"))


def _older(params: Mapping[str, Any], engine: Engine) -> Tables | None:
    """Older tables; a store or an index is refused."""
    from nearkin.index.files import index_class
    from nearkin.store.log import LOG_NAME

    names = params["against"] or []
    for name in names:
        if Path(name, LOG_NAME).is_file() or index_class(name) is not None:
            allowed = "tables with an engine, such as the export of a store (`nearkin store export`)"
            raise bad_parameter("against", name, allowed)
    return Tables(names, engine, params["format"], params["delimiter"], "against") if names else None


def _check_columns(params: Mapping[str, Any], new: DataFrame, old: DataFrame | None) -> None:
    """Raise ParameterError unless the columns that options name are there."""
    named = {"text_column": params["text_column"] or "text", "id_column": params["id_column"]}
    for argument, column in {**named, "source_column": params["source_column"]}.items():
        if column is not None and column not in new.columns:
            raise bad_parameter(argument, repr(column), f"a column of the input: {', '.join(new.columns)}")
    for argument, column in named.items():
        if old is not None and column not in old.columns:
            raise bad_parameter(argument, repr(column), f"a column of --against, too: {', '.join(old.columns)}")


def _run(
    params: Mapping[str, Any],
    new: DataFrame,
    old: DataFrame | None,
    recipe: Recipe | None,
    checkpoint: str,
    tell: Progress,
) -> SparkResult:
    """The job; its arguments are told as options."""
    from nearkin.spark import dedup

    passed = {name: params[name] for name in (*_PASSED, "cluster", "keep", "links") if params[name] is not None}
    try:
        return dedup(
            new,
            params["text_column"] or "text",
            params["id_column"],
            checkpoint=checkpoint,
            recipe=recipe,
            source=params["source_column"],
            against=old,
            progress=tell,
            **passed,
        )
    except ParameterError as error:
        name = error.context.get("name")
        if name not in _RENAMED:
            raise
        raise bad_parameter(_RENAMED[name], error.context["found"], error.context["allowed"]) from error


def _stages(report: Progress) -> Progress:
    """Progress by names of stages alone: each is done when the next one begins."""
    begun: list[str] = []

    def tell(stage: str, done: int, total: int | None) -> None:
        if begun:
            report(begun[-1], 1, 1)
        begun.append(stage)
        report(stage, done, total)

    return tell


@contextmanager
def _warnings() -> Iterator[set[str]]:
    """A set of messages that the report tells; other warnings are told at the end of the context."""
    told: set[str] = set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield told
    for warning in caught:
        if issubclass(warning.category, RuntimeWarning) and str(warning.message) not in told:
            warn(f"warning: {warning.message}")


@contextmanager
def _checkpoint(given: str | None, out: str, engine: Engine) -> Iterator[str]:
    """The folder of a job: the one that is given, or one beside the output that goes at the end."""
    from nearkin.io.remote import is_url

    if given is not None:
        name = os.path.abspath(given) if engine.is_local and not is_url(given) else given  # noqa: PTH100
        check_plain(name, "checkpoint")
        yield name
        return
    beside = None if is_url(out) else existing_parent(Path(out))
    with tempfile.TemporaryDirectory(prefix="nearkin-checkpoint-", dir=beside, ignore_cleanup_errors=True) as folder:
        yield folder


class _Output(Protocol):
    """Where a run writes."""

    def place(self, name: str) -> str:
        """Where the engine writes a table."""

    def rows(self, name: str, session: Any) -> int | None:
        """How many rows it has written there; None if there is nothing."""

    def write_empty(self, name: str, schema: pa.Schema) -> None:
        """Write a table without rows, where the engine has written nothing."""

    def put(self, summary: dict[str, Any]) -> dict[str, Any]:
        """Write the summary, which is the last; what was written."""


@contextmanager
def _opened(out: str, inputs: Sequence[str]) -> Iterator[_Output]:
    from nearkin.io import OutputDir
    from nearkin.io.remote import check_new, is_url

    if is_url(out):
        check_plain(out, "out")
        check_new(out)
        yield _Elsewhere(out.rstrip("/"))
        return
    check_plain(os.path.abspath(out), "out")  # noqa: PTH100
    if Path(out).is_dir() and (there := sorted(os.listdir(out))):  # noqa: PTH208 - names, not paths
        raise bad_parameter("out", out, f"a folder that is empty or does not exist; it holds {there[0]}")
    with OutputDir(out, inputs=inputs, names=[*_TABLES, "summary.json"]) as target:
        yield _Here(target)


class _Here:
    """A folder of this machine."""

    def __init__(self, target: OutputDir) -> None:
        self._target = target
        self._places: dict[str, Path] = {}

    def place(self, name: str) -> str:
        self._places[name] = self._target.folder(name)
        return str(self._places[name])

    def rows(self, name: str, session: Any) -> int | None:
        import pyarrow.parquet as pq

        files = sorted(self._places[name].rglob("*.parquet"))
        return sum(pq.read_metadata(file).num_rows for file in files) if files else None

    def write_empty(self, name: str, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._places[name].mkdir(exist_ok=True)
        pq.write_table(schema.empty_table(), self._places[name] / "part-0.parquet")

    def put(self, summary: dict[str, Any]) -> dict[str, Any]:
        return self._target.write_json("summary.json", summary)


class _Elsewhere:
    """A URL, which the engine writes to."""

    def __init__(self, url: str) -> None:
        self._url = url

    def place(self, name: str) -> str:
        return _below(self._url, name)

    def rows(self, name: str, session: Any) -> int | None:
        from nearkin.io.remote import is_folder

        place = self.place(name)
        count: int | None = session.read.parquet(place).count() if is_folder(place) else None
        return count

    def write_empty(self, name: str, schema: pa.Schema) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        from nearkin.io.remote import write_file

        sink = pa.BufferOutputStream()
        pq.write_table(schema.empty_table(), sink)
        write_file(_below(self.place(name), "part-0.parquet"), sink.getvalue().to_pybytes())

    def put(self, summary: dict[str, Any]) -> dict[str, Any]:
        from nearkin.io.remote import write_file

        text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
        write_file(_below(self._url, "summary.json"), text.encode() + b"\n")
        return summary


def _write(output: _Output, name: str, rows: DataFrame, result: SparkResult, session: Any) -> None:
    """Write a table, and see that all of it is there.

    Raises
    ------
    OutputError
        It is not.
    """
    place = output.place(name)
    rows.write.mode("error").option("compression", "zstd").parquet(place)
    expected = result.summary["kept"] if name == "kept" else rows.count()
    found = output.rows(name, session)
    if found is None and expected == 0:
        # Sail writes no file for no rows.
        output.write_empty(name, rows.limit(0).toArrow().schema)
    elif found != expected:
        reason = f"the table {name} has {found or 0:,} rows there, and should have {expected:,}"
        mend = "give a folder that all machines share, or a URL; and inputs that do not change meanwhile"
        raise OutputError(f"{place}: {reason}; {mend}", place=place, in_place="old")


def _head(result: SparkResult) -> list[dict[str, Any]]:
    """Rows of the first cluster, what is kept first."""
    first = result.clusters.where("cluster = 0").selectExpr("*", "reason <> 'kept' as gone").orderBy("gone", "id")
    nan = float("nan")
    return [
        {**row, "similarity": nan if row["similarity"] is None else row["similarity"]}
        for row in first.limit(_HEAD).toArrow().to_pylist()
    ]


def _below(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}"
