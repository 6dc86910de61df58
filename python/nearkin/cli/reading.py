"""How a command reads its corpus: the options for that, declared once, and what they mean.

A command that is decorated with `reads` has a parameter `reading` in the place of these options.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from nearkin.cli.console import escaped, warn
from nearkin.cli.errors import worded
from nearkin.cli.options import one_of
from nearkin.errors import bad_parameter

if TYPE_CHECKING:
    from pathlib import Path

    from nearkin.dedup.sources import FingerprintSource
    from nearkin.io import Corpus
    from nearkin.io.base import KeptLayout
    from nearkin.recipe import Recipe

_PANEL = "Reading"

_OPTIONS: dict[str, Any] = {
    "text_column": Annotated[
        str | None,
        typer.Option(
            help="Column of the text; meta.body is body in meta.", show_default="text", rich_help_panel=_PANEL
        ),
    ],
    "id_column": Annotated[
        str | None, typer.Option(help="Column of the id; row numbers without it.", rich_help_panel=_PANEL)
    ],
    "format": Annotated[
        str | None,
        typer.Option(
            help="jsonl, parquet, csv, tsv, txt (a document per line), files or warc; told by the names without it.",
            autocompletion=one_of("jsonl", "parquet", "csv", "tsv", "txt", "files", "warc"),
            rich_help_panel=_PANEL,
        ),
    ],
    "encoding": Annotated[
        str | None,
        typer.Option(
            help="Of JSON, CSV and text, such as latin-1.",
            show_default="utf-8",
            autocompletion=one_of("utf-8", "latin-1", "cp1252", "utf-16", "gb18030", "shift_jis", "euc_kr", "big5"),
            rich_help_panel=_PANEL,
        ),
    ],
    "delimiter": Annotated[
        str | None,
        typer.Option(help="Of CSV; told by the header without it: , ; tab or |.", rich_help_panel=_PANEL),
    ],
    "html": Annotated[
        bool,
        typer.Option("--html", help="Texts are HTML: their visible text counts.", rich_help_panel=_PANEL),
    ],
    "max_malformed": Annotated[
        str | None,
        typer.Option(
            help="Most records that may be unreadable: a number, or a share such as 5%.",
            metavar="N|N%",
            show_default="10%",
            rich_help_panel=_PANEL,
        ),
    ],
    "strict": Annotated[
        bool, typer.Option("--strict", help="Stop at the first record that can't be read.", rich_help_panel=_PANEL)
    ],
}


MaxMalformed = _OPTIONS["max_malformed"]


@dataclass(frozen=True)
class Reading:
    """How the options say that corpora are read.

    Attributes
    ----------
    text_column, id_column, format, encoding, delimiter : str or None
        As `nearkin.io.open_corpus` takes them; without a name the column of the text is `text`.
    html : bool
        Whether texts are HTML.
    max_malformed : str or None
        A number, or a share with a percent sign.
    strict : bool
        Whether the first record that can't be read is an error.
    """

    text_column: str | None = None
    id_column: str | None = None
    format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    html: bool = False
    max_malformed: str | None = None
    strict: bool = False

    def with_columns(self, text_column: str, id_column: str) -> Reading:
        """The same with these columns where none are named."""
        from nearkin.io.corpus import DefaultColumn

        named = self.text_column or DefaultColumn(text_column)
        return replace(self, text_column=named, id_column=self.id_column or id_column)

    def arguments(self) -> dict[str, Any]:
        """What `open_corpus` is told besides the columns of text and id."""
        told: dict[str, Any] = {
            "format": self.format,
            "encoding": self.encoding,
            "delimiter": self.delimiter,
            "html": self.html,
            "strict": self.strict,
        }
        if self.max_malformed is not None:
            told["max_malformed"] = most_malformed(self.max_malformed)
        return told

    def words(self) -> list[str]:
        """The options as they were given, one word each, for a command that reads the same corpus."""
        found = []
        for each in fields(self):
            value = getattr(self, each.name)
            option = f"--{each.name.replace('_', '-')}"
            if value is True:
                found.append(option)
            elif value:
                found += [option, str(value)]
        return found

    def corpus(
        self,
        inputs: Sequence[str],
        *,
        extra_columns: Iterable[str] = (),
        spool_dir: str | os.PathLike[str] | None = None,
        leave_out: Iterable[Path] = (),
    ) -> Corpus:
        """The corpus over files, globs, folders, URLs or standard input."""
        from nearkin.io import open_corpus

        return open_corpus(
            inputs,
            text_column=self.text_column,
            id_column=self.id_column,
            extra_columns=extra_columns,
            spool_dir=spool_dir,
            exclude=leave_out,
            **self.arguments(),
        )

    def fingerprints(
        self, inputs: Sequence[str], recipe: Recipe | None, kind: str | None, bits: int | None, ids: Path | None
    ) -> FingerprintSource:
        """The corpus as fingerprints; recipe, kind, bits and ids as `open_fingerprints` takes them."""
        from nearkin.dedup.sources import open_fingerprints

        told = {"column": self.text_column, "id_column": self.id_column, **self.arguments()}
        return open_fingerprints(inputs, recipe, kind, bits, ids=ids, **told)

    @contextmanager
    def reported(
        self, inputs: Sequence[str], *, extra_columns: Iterable[str] = (), leave_out: Iterable[Path] = ()
    ) -> Iterator[Corpus]:
        """As `corpus`; at the end of the context the records that can't be read are reported."""
        with self.corpus(inputs, extra_columns=extra_columns, leave_out=leave_out) as corpus:
            yield corpus
            report_malformed(corpus)


def most_malformed(text: str | None) -> int | float:
    """How many records may be unreadable, a number or a share; a tenth if nothing is said."""
    if text is None:
        return 0.1
    match = re.fullmatch(r"([0-9]{1,18})|([0-9]{1,3}(?:\.[0-9]{1,9})?) ?%", text.strip())
    if match is None or (match[2] is not None and float(match[2]) > 100):
        raise bad_parameter("max_malformed", repr(text), "a number of records, or a share of them such as 5%")
    return int(match[1]) if match[1] else float(match[2]) / 100


def reads(*, ids: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator: a command whose parameter `reading` is made of the options for reading a corpus.

    Parameters
    ----------
    ids : bool, default True
        Whether the command has an option for the column of ids.
    """
    names = [field.name for field in fields(Reading) if ids or field.name != "id_column"]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(*arguments: Any, **options: Any) -> None:
            # Another command calls this one with what it has read from its own options.
            if "reading" not in options:
                options["reading"] = Reading(**{name: options.pop(name) for name in names})
            command(*arguments, **options)

        hints = {**get_type_hints(command, include_extras=True), **_OPTIONS}
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "reading":
                kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
                parameters += [inspect.Parameter(name, kind, default=Reading.__dict__[name]) for name in names]
            else:
                parameters.append(parameter)
        parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in parameters]
        run.__signature__ = inspect.Signature(parameters, return_annotation=None)  # type: ignore[attr-defined]
        run.__annotations__ = {**{parameter.name: parameter.annotation for parameter in parameters}, "return": None}
        return run

    return decorate


def read_summary(corpus: Corpus, layout: KeptLayout) -> dict[str, Any]:
    """What `summary.json` says of what was read, and where what is kept lies."""
    return {
        "inputs": [escaped(str(name)) for name in (*corpus.inputs, *corpus.urls)],
        "format": corpus.format,
        "text_column": corpus.text_column,
        "id_column": corpus.id_column,
        **({"kept_file": corpus.kept_name} if layout == "single" else {"kept_files": corpus.kept_names(layout)}),
        "bytes_read": corpus.bytes_read,
        "malformed": corpus.malformed.count,
        "malformed_first": [str(record) for record in corpus.malformed.first],
        **({"left_out": dict(corpus.left_out)} if corpus.left_out else {}),
    }


def report_malformed(corpus: Corpus) -> None:
    """Write what was not read to standard error: the first records that can't be, how many there are, and what was left
    out.
    """
    for record in corpus.malformed.first[:5]:
        warn(f"skipped: {worded(str(record))}")
    if corpus.malformed.count > 5:
        warn(f"skipped {corpus.malformed.count} records in all that can't be read; --strict stops at the first")
    report_left_out(corpus.left_out)
    if not corpus.rows and not corpus.malformed.count:
        warn("there are no documents in " + ", ".join(map(str, [*corpus.paths, *corpus.urls] or ["standard input"])))


def report_left_out(counts: Mapping[str, int]) -> None:
    """Write what was left out to standard error, the most first."""
    if counts:
        most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        warn("left out: " + ", ".join(f"{name} ({count:,})" for name, count in most_first))
