"""Inputs of a command: the options for reading a corpus, and the files that its arguments name."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearkin.cli.console import Failures, escape_surrogates, warn
from nearkin.cli.errors import format_error
from nearkin.dedup.options import option
from nearkin.errors import bad_parameter
from nearkin.io.remote import short_url

if TYPE_CHECKING:
    from nearkin.index.fingerprint_source import FingerprintSource
    from nearkin.io import Corpus
    from nearkin.io.base import KeptLayout, Replacements
    from nearkin.pieces.passages import Cuts
    from nearkin.progress import Progress
    from nearkin.recipe import Recipe

READING = "Reading"
"""Panel of the help."""
reading_option = partial(option, group=READING)


@dataclass(frozen=True)
class CorpusOptions:
    """Options for reading a corpus, as `nearkin.io.open_corpus` documents them."""

    text_column: str | None = reading_option(
        None,
        help="Column of the text; meta.body is a field of meta. Several (a,b) are joined by line feeds.",
        show_default="text",
    )
    id_column: str | None = reading_option(
        None,
        help="Column of the id; none for row numbers.",
        show_default="id, url or _id if distinct, else row numbers",
    )
    format: str | None = reading_option(
        None,
        help="jsonl, parquet, csv, tsv, txt (a document per line), files, functions or warc (default: from the names).",
        choices=("jsonl", "parquet", "csv", "tsv", "txt", "files", "functions", "warc"),
    )
    encoding: str | None = reading_option(
        None,
        help="Encoding of JSON, CSV and text, such as latin-1.",
        choices=("utf-8", "latin-1", "cp1252", "utf-16", "gb18030", "shift_jis", "euc_kr", "big5"),
        show_default="utf-8",
    )
    delimiter: str | None = reading_option(None, help="Delimiter of CSV (default: , ; tab or |, from the header).")
    html: bool = reading_option(False, help="Texts are HTML: use only their visible text.")
    max_malformed: str | None = reading_option(
        None,
        help="Maximum number of unreadable records, or their maximum share such as 5%.",
        metavar="N|N%",
        show_default="10%",
    )
    strict: bool = reading_option(False, help="Stop at the first unreadable record.")

    def check_unset(self, allowed: str) -> None:
        """Raise ParameterError if an option is set that has no meaning for the inputs; `allowed` says why."""
        for each in fields(self):
            if each.name != "strict" and getattr(self, each.name):
                raise bad_parameter(each.name, "given", allowed)

    def command_words(self) -> list[str]:
        """Return the options as words of a command line, for a command that reads the same corpus."""
        words = []
        for each in fields(self):
            value = getattr(self, each.name)
            if value:
                flag = f"--{each.name.replace('_', '-')}"
                words += [flag] if value is True else [flag, str(value)]
        return words

    def open_corpus(
        self,
        inputs: Sequence[str],
        *,
        extra_columns: Iterable[str] = (),
        spool_dir: str | os.PathLike[str] | None = None,
        exclude: Iterable[Path] = (),
        quiet: bool = False,
        defer_ids: bool = False,
    ) -> Corpus:
        """Open files, globs, folders, URLs or standard input as a corpus, and say which column has the ids."""
        from nearkin.io import open_corpus

        corpus = open_corpus(
            inputs,
            text_column=self.text_column,
            id_column=self.id_column,
            extra_columns=extra_columns,
            spool_dir=spool_dir,
            exclude=exclude,
            defer_ids=defer_ids,
            **self._reader_options(),
        )
        warn_ids(corpus, quiet=quiet)
        return corpus

    @contextmanager
    def read(
        self,
        inputs: Sequence[str],
        *,
        extra_columns: Iterable[str] = (),
        exclude: Iterable[Path] = (),
        quiet: bool = False,
        progress: Progress | None = None,
    ) -> Iterator[Corpus]:
        """Open a corpus whose bytes are reported as they are read; at the end, report records that were skipped."""
        with self.open_corpus(inputs, extra_columns=extra_columns, exclude=exclude, quiet=quiet) as corpus:
            if progress is not None:
                from nearkin.dedup.documents import byte_reporter

                corpus.on_read = byte_reporter(corpus, progress)
            yield corpus
            report_skipped(corpus)

    def open_fingerprints(
        self, inputs: Sequence[str], recipe: Recipe | None, kind: str | None, bits: int | None, *, quiet: bool = False
    ) -> FingerprintSource:
        """Open a corpus as fingerprints; the other parameters are those of `open_fingerprints`."""
        from nearkin.index.fingerprint_source import open_fingerprints

        options = {**self._reader_options(), "column": self.text_column, "id_column": self.id_column}
        source = open_fingerprints(inputs, recipe, kind, bits, **options)
        warn_ids(source.corpus, quiet=quiet)
        return source

    def for_kind(self, kind: str | None, inputs: Sequence[str]) -> CorpusOptions:
        """Return the options for texts of a kind: functions of source files, unless a format is given."""
        from nearkin.dedup.kinds import kind_format

        return self if self.format else replace(self, format=kind_format(kind, inputs))

    def for_codes(self, column: str) -> CorpusOptions:
        """Return the options for reading codes from a column.

        Raises
        ------
        ParameterError
            --text-column or --html, which are about texts.
        """
        for name in ("text_column", "html"):
            if value := getattr(self, name):
                raise bad_parameter(name, value, "only --hex-column, whose column has codes instead of texts")
        return replace(self, text_column=column)

    def _reader_options(self) -> dict[str, Any]:
        """Return the options other than columns, as keyword arguments of `open_corpus`."""
        options: dict[str, Any] = {
            "format": self.format,
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "html": self.html,
            "strict": self.strict,
        }
        if self.max_malformed is not None:
            options["max_malformed"] = parse_max_malformed(self.max_malformed)
        return options


def warn_ids(corpus: Corpus, *, quiet: bool) -> None:
    """Say which column has the ids, or why none has, unless it is the column that anyone expects."""
    if corpus.id_note and not quiet:
        warn(corpus.id_note.replace("id column", "--id-column"))


def parse_max_malformed(text: str | None) -> int | float:
    """Return the maximum number of unreadable records, or their maximum share as a float; a tenth by default."""
    if text is None:
        return 0.1
    match = re.fullmatch(r"([0-9]{1,18})|([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%", text.strip())
    if match is None or (match[2] is not None and float(match[2]) > 100):
        raise bad_parameter("max_malformed", repr(text), "a number of records, or a share of them such as 5%")
    return int(match[1]) if match[1] else float(match[2]) / 100


def cut_out(cuts: Cuts, corpus: Corpus) -> Replacements | None:
    """Return the texts of documents without their cuts; None if there are no cuts."""
    from nearkin.io.base import Replacements

    if not len(cuts.rows):
        return None
    return Replacements(cuts.rows, lambda rows: cuts.remaining(rows.tolist(), corpus.texts(rows)))


def input_summary(corpus: Corpus, layout: KeptLayout | None) -> dict[str, Any]:
    """Return the entries of `summary.json` about the input, and the files of kept documents, if they are written."""
    kept = {"kept_file": corpus.kept_name} if layout == "single" else {}
    return {
        "inputs": [escape_surrogates(str(name)) for name in (*corpus.inputs, *map(short_url, corpus.urls))],
        "format": corpus.format,
        "text_column": [corpus.text_column, *corpus.joined_columns] if corpus.joined_columns else corpus.text_column,
        "id_column": corpus.id_column,
        **({"kept_files": corpus.kept_names(layout)} if layout == "input" else kept),
        "bytes_read": corpus.bytes_read,
        "malformed": corpus.malformed.count,
        "malformed_first": [str(record) for record in corpus.malformed.first],
        **({"left_out": dict(corpus.left_out)} if corpus.left_out else {}),
    }


def report_skipped(corpus: Corpus) -> None:
    """Report unreadable records, files that were left out, and a corpus without documents."""
    for record in corpus.malformed.first[:5]:
        warn(f"skipped: {format_error(str(record))}")
    if corpus.malformed.count > 5:
        warn(f"skipped {corpus.malformed.count} unreadable records in all; --strict stops at the first")
    report_left_out(corpus.left_out)
    if not corpus.rows and not corpus.malformed.count:
        warn(
            "no documents in "
            + ", ".join(map(str, [*corpus.paths, *map(short_url, corpus.urls)] or ["standard input"]))
        )


def report_left_out(counts: Mapping[str, int]) -> None:
    """Report how many files were left out for each reason, the most frequent reason first."""
    if counts:
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        warn("left out: " + ", ".join(f"{name} ({count:,})" for name, count in ordered))


def list_files(inputs: Iterable[Path], failures: Failures, *, exclude: Iterable[Path] = ()) -> list[Path]:
    """Return the files of arguments, globs and folders, in order; links in folders are left out.

    Parameters
    ----------
    inputs : iterable of Path
        Files, globs, and folders with all files below them.
    failures : Failures
        Reports folders that cannot be read.
    exclude : iterable of Path
        Folders to skip, such as that of a store. The number of their files is reported.
    """
    from nearkin.io.inputs import ExcludedFolders

    files: list[Path] = []
    left_out = ExcludedFolders(exclude)
    for path in inputs:
        if not path.is_dir():
            matches = [] if path.exists() else map(Path, sorted(glob.glob(str(path), recursive=True)))  # noqa: PTH207
            files += [match for match in matches if not match.is_dir()] or [path]
        else:
            for folder, folders, names in os.walk(path, onerror=failures.report):
                if left_out.contains(folder):
                    folders.clear()
                    continue
                folders.sort()
                files += [file for name in sorted(names) if not (file := Path(folder, name)).is_symlink()]
    report_left_out(left_out.counts())
    return files


def existing_parent(path: Path) -> Path:
    """Return the nearest existing folder above a path."""
    path = path.absolute()
    while not path.is_dir() and path != path.parent:
        path = path.parent
    return path
