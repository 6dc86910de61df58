"""Opening a corpus: which class reads which format."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearkin.errors import bad_parameter
from nearkin.io.base import Corpus
from nearkin.io.encoding import check_encoding
from nearkin.io.html import check_parser
from nearkin.io.inputs import Format, InputFile, LeftOut, resolve
from nearkin.io.values import MAX_MALFORMED


class DefaultColumn(str):
    """The name of a column that a user has not named: no error for `open_corpus` where texts lie in no column."""

    __slots__ = ()


# Where the texts are of formats whose texts lie in no column.
_TEXTS = {
    "txt": "whose lines are the texts",
    "files": "which are the texts themselves",
    "warc": "whose texts are what its records hold",
}


def open_corpus(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    extra_columns: Iterable[str] = (),
    strict: bool = False,
    max_malformed: float = MAX_MALFORMED,
    encoding: str | None = None,
    delimiter: str | None = None,
    html: bool = False,
    spool_dir: str | os.PathLike[str] | None = None,
    leave_out: Iterable[str | os.PathLike[str]] = (),
) -> Corpus:
    r"""A corpus over files, globs, folders, URLs or standard input.

    Parameters
    ----------
    inputs : path, or iterable of paths
        Files, globs (`data/*.jsonl.gz`), folders, `-` for standard input, and URLs (`s3://`, `gs://`, `hf://`,
        `https://`) where fsspec is installed; all of one format, each also .gz, .zst, .bz2, .xz or .lz4. JSON may be
        lines, one array, or values of several lines each.
    format : str, optional
        jsonl, parquet, csv, tsv, txt (a document per line), files (a file per document) or warc (WARC and WET of
        crawls); None to follow the file names.
    text_column : str, optional
        The column of the text, `text` if not given; not for txt, files and warc, whose texts lie in no column. In JSON
        and Parquet `meta.url` is the field `url` of `meta`, unless a column has that name; so for the other columns.
    id_column : str, optional
        The column of the id, an integer or string in every record; ids are row numbers without one, the paths of
        files, and the record ids of WARC, whose columns `nearkin.io.warc` names.
    extra_columns : iterable of str
        Further columns of scalars to read.
    strict : bool, default False
        Whether the first record that can't be read is an error. Otherwise such records are left out and counted.
    max_malformed : int or float, default 0.1
        How many records that can't be read are too many: a number as int, a share of all records as float.
    encoding : str, optional
        Of JSON, CSV and text, as Python's codecs name it, such as "latin-1"; UTF-8 if not given.
    delimiter : str, optional
        Of CSV: one ASCII character. If not given it is comma, semicolon, tab or bar, by the header.
    html : bool, default False
        Whether texts are HTML, of which the visible text counts (`nearkin.io.html`); pages are written as they came.
        Those of WARC are known by their content type.
    spool_dir : path, optional
        Where inputs that can't be read twice as they lie are spooled: compressed ones, pipes, remote files, other
        encodings, JSON arrays. It needs room for their decompressed bytes.
    leave_out : iterable of paths
        Folders below the inputs that are not read, such as that of a store; `left_out` counts their files.

    Returns
    -------
    Corpus
        A context manager; closing it frees the spool.

    Raises
    ------
    ParameterError
        An unknown format or encoding, columns that the format does not have, one column in two roles.
    InputError
        Missing files, inputs of two formats, one file twice.
    MissingExtraError
        A URL, where fsspec or its part for that protocol is not installed; `html` without selectolax; WARC
        without fastwarc.

    Examples
    --------
    >>> import io, pathlib, tempfile
    >>> from nearkin.io import open_corpus
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> _ = path.write_text('{"id": "x", "text": "one"}\n{"id": "y", "text": "two"}\n')
    >>> with open_corpus(path, id_column="id") as corpus:
    ...     for batch in corpus.batches():
    ...         print(list(batch.texts), list(batch.ids))
    ...     corpus.write_kept([1], out := io.BytesIO())
    ['one', 'two'] ['x', 'y']
    >>> out.getvalue()
    b'{"id": "y", "text": "two"}\n'
    """
    named = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if html:
        check_parser()
    folders = LeftOut(leave_out)
    kind, sources = resolve(named, format, folders)
    sources = _decoded(kind, sources, encoding)
    single = delimiter in (None, "\t") or (len(delimiter) == 1 and "!" <= delimiter <= "~" and delimiter != '"')
    if delimiter is not None and not (kind == "csv" and single):
        raise bad_parameter("delimiter", repr(delimiter), "one ASCII character such as ';', with csv alone")
    corpus = _open(
        kind,
        sources,
        text_column,
        id_column,
        extra_columns,
        strict=strict,
        max_malformed=max_malformed,
        delimiter=delimiter,
        html=html,
        spool_dir=spool_dir,
    )
    corpus.leave_out(folders.counts())
    corpus.inputs = list(dict.fromkeys([*(path for path in map(Path, named) if path.exists()), *corpus.paths]))
    return corpus


def _decoded(kind: Format, sources: list[InputFile], encoding: str | None) -> list[InputFile]:
    """The sources with the encoding of their text."""
    checked = check_encoding(encoding)
    if encoding is not None and kind in ("parquet", "warc"):
        why = "whose texts are UTF-8" if kind == "parquet" else "whose records say their encodings"
        raise bad_parameter("encoding", repr(encoding), f"no encoding for {kind}, {why}")
    return [replace(source, encoding=checked) for source in sources] if checked else sources


def _open(
    kind: Format,
    sources: list[InputFile],
    text_column: str | None,
    id_column: str | None,
    extra_columns: Iterable[str],
    **options: Any,
) -> Corpus:
    if kind in _TEXTS and text_column is not None and not isinstance(text_column, DefaultColumn):
        raise bad_parameter("text_column", repr(text_column), f"no column for {kind}, {_TEXTS[kind]}")
    text_column = "text" if text_column is None else str(text_column)
    extra = tuple(dict.fromkeys([extra_columns] if isinstance(extra_columns, str) else extra_columns))
    if kind in ("txt", "files"):
        for name, value in (("id_column", id_column), ("extra_columns", extra or None)):
            if value is not None:
                raise bad_parameter(name, repr(value), f"no column for {kind}, which has none")
    elif kind != "warc" and (text_column == id_column or text_column in extra):
        raise bad_parameter("text_column", repr(text_column), "a column that is neither the id nor an extra column")
    options |= {"text_column": text_column, "id_column": id_column, "extra_columns": extra}
    if kind == "parquet":
        from nearkin.io.parquet import ParquetCorpus

        return ParquetCorpus(kind, sources, **options)
    if kind == "warc":
        from nearkin.io.warc import WarcCorpus, check_columns, check_reader

        check_reader()
        options |= {"id_column": id_column or "record_id", "html": False}
        check_columns([options["id_column"], *extra])
        return WarcCorpus(kind, sources, **options)
    if kind == "files":
        from nearkin.io.files import FileCorpus

        return FileCorpus(kind, sources, **options)
    from nearkin.io.records import CsvCorpus, JsonlCorpus, LineCorpus

    classes: dict[Format, type[Corpus]] = {"jsonl": JsonlCorpus, "csv": CsvCorpus, "tsv": CsvCorpus, "txt": LineCorpus}
    return classes[kind](kind, sources, **options)
