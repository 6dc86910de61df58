"""Tables that an engine reads: names of the command line as DataFrames.

An engine that runs on this machine is given files and folders that were found here, as every other command finds them,
so that a missing file is an error and a glob means the same. What lies elsewhere (URLs; all names where workers are
other machines) is handed on as it is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nearkin.cli.engine import Engine
from nearkin.errors import InputError, bad_parameter, printable

DataFrame = Any
FORMATS = ("parquet", "jsonl", "csv", "tsv")
"""Formats that engines read."""
_PACKED = ("", "gz", "bz2", "zst")
"""Compressions of JSON and CSV that both engines read."""
_READS = "an engine reads parquet, and jsonl, csv or tsv, as they are or as .gz, .bz2 or .zst"
_PATTERN = re.compile(r"[*?\[\]{}\\]")


def check_plain(name: str, argument: str) -> None:
    """Raise ParameterError if a path has signs that an engine takes for a pattern."""
    if _PATTERN.search(name):
        raise bad_parameter(argument, name, "a path without * ? [ ] { } \\, which an engine takes for a pattern")


class Tables:
    """Inputs of one format, before there is an engine.

    Parameters
    ----------
    names : sequence of str
        Files, globs, folders, URLs.
    engine : Engine
    format : str or None
        One of `FORMATS`; None to tell by names, where a name without a known ending is a folder of Parquet files.
    delimiter : str or None
        Of CSV; a comma if not given.
    argument : str
        What messages call the names.

    Attributes
    ----------
    format : str
    inputs : list of str
        Names that are paths of this machine.

    Raises
    ------
    ParameterError
        Standard input, an unknown format, a delimiter of another format than CSV.
    InputError
        A file that is not there, of a format or compression that no engine reads, or of another format than the first.
    """

    def __init__(
        self, names: Sequence[str], engine: Engine, format: str | None, delimiter: str | None, argument: str = "inputs"
    ) -> None:
        from nearkin.io.remote import is_url

        if format is not None and format not in FORMATS:
            raise bad_parameter("format", format, f"one of {', '.join(FORMATS)}: {_READS}")
        if "-" in names:
            raise bad_parameter(argument, "-", f"files, folders or URLs: {_READS}")
        self.inputs = [name for name in names if not is_url(name)] if engine.is_local else []
        elsewhere = [name for name in names if name not in self.inputs]
        self._here: list[str] = []
        kinds = [(name, _format_elsewhere(name, format)) for name in elsewhere]
        if self.inputs:
            kinds.insert(0, (self.inputs[0], self._find(format)))
        self.format = kinds[0][1]
        for name, kind in kinds:
            if kind != self.format:
                reason = f"is {kind}, while {kinds[0][0]} is {self.format}; give inputs of one format"
                raise _unreadable(name, reason)
        if delimiter is not None and self.format != "csv":
            raise bad_parameter("delimiter", delimiter, f"no delimiter: the input is {self.format}, not csv")
        self._delimiter = "\t" if self.format == "tsv" else delimiter or ","
        self._elsewhere, self._engine = elsewhere, engine

    def _find(self, format: str | None) -> str:
        """Find what is named on this machine; its format."""
        from nearkin.io.inputs import resolve

        kind, files = resolve(self.inputs, format)
        _check_kind(files[0].name, kind)
        for file in files:
            _check_compression(file.name, kind, file.compression)
        found = {os.path.normpath(file.name) for file in files}
        for name in self.inputs:
            whole = kind in ("parquet", "jsonl") and Path(name).is_dir() and _is_table(name, found)
            self._here += [name] if whole else [file.name for file in resolve(name, kind)[1]]
        # The names as they are: where a link leads may have no ending.
        self._here = [os.path.abspath(path) for path in self._here]  # noqa: PTH100
        for path in self._here:
            if _PATTERN.search(path):
                raise _unreadable(path, "has one of * ? [ ] { } \\ in its name, which an engine takes for a pattern")
        return kind

    def read(self, session: Any) -> DataFrame:
        """All rows; a column that some inputs do not have is null there.

        Raises
        ------
        InputError
            Nothing lies where a name points, or CSV files have different columns.
        """
        frames = [self._frame(session, self._here)] if self._here else []
        # One by one: to Sail what is not there is a table without columns.
        frames += [self._frame(session, [name]) for name in self._elsewhere]
        rows = frames[0]
        for frame in frames[1:]:
            rows = rows.unionByName(frame, allowMissingColumns=True)
        return rows

    def _frame(self, session: Any, paths: list[str]) -> DataFrame:
        try:
            frame = self._reader(session, paths)
            if self.format in ("csv", "tsv") and len(paths) > 1:
                self._check_headers(session, paths)
            columns = frame.columns
        except Exception as error:
            if "PATH_NOT_FOUND" not in str(error) and "UNABLE_TO_INFER_SCHEMA" not in str(error):
                raise
            columns = []
        if not columns:
            raise _unreadable(paths[0], "no such file or folder for the engine, or nothing in it")
        return frame

    def _reader(self, session: Any, paths: list[str]) -> DataFrame:
        reader = session.read.option("mode", "FAILFAST")
        if self.format == "parquet":
            return reader.option("mergeSchema", "true").parquet(*paths)
        if self.format == "jsonl":
            return reader.json(paths)
        # RFC 4180: quotes are doubled, a field may have several lines. Every column is of strings: 007 is no number.
        options = {"header": "true", "quote": '"', "escape": '"', "multiLine": "true", "enforceSchema": "false"}
        return reader.options(**options, inferSchema="false", sep=self._delimiter).csv(paths)

    def _check_headers(self, session: Any, paths: list[str]) -> None:
        """Raise InputError unless files have the same columns: Sail would take them by their places."""
        first: list[str] = []
        for path in paths:
            found = self._reader(session, [path]).columns
            first = first or found
            if found != first:
                theirs = f"{', '.join(found)}, while they are {', '.join(first)} in {paths[0]}"
                raise _unreadable(path, f"the columns are {theirs}; give files with the same columns")


def _format_elsewhere(name: str, format: str | None) -> str:
    from nearkin.io.inputs import compression_of, format_of
    from nearkin.io.remote import name_in

    kind = format or format_of(name_in(name)) or "parquet"
    _check_kind(name, kind)
    _check_compression(name, kind, compression_of(name_in(name)))
    return kind


def _check_kind(name: str, kind: str) -> None:
    if kind not in FORMATS:
        raise _unreadable(name, f"is {kind}; {_READS}; convert it, or run without an engine")


def _check_compression(name: str, kind: str, compression: str) -> None:
    if compression not in (_PACKED if kind != "parquet" else ("",)):
        raise _unreadable(name, f"is compressed as {compression}; {_READS}")


def _is_table(folder: str, found: set[str]) -> bool:
    """Whether an engine takes the same files for the rows of a folder: in it, or in folders `column=value` alone."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        here = {name for name in names if os.path.normpath(Path(parent, name)) in found}
        if here != {name for name in names if not name.startswith((".", "_"))}:
            return False
        if here and not all("=" in part for part in Path(parent).relative_to(folder).parts):
            return False
    return True


def _unreadable(name: str, reason: str) -> InputError:
    shown = printable(name)
    return InputError(f"{shown}: {reason}", place=shown, file=shown, reason=reason)
