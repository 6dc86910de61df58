"""Open a corpus with the class that reads its format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearkin._core import content_hashes
from nearkin.errors import NearkinError, bad_parameter
from nearkin.io.base import Corpus, ReadOptions
from nearkin.io.encoding import check_encoding
from nearkin.io.html import Html, check_parser
from nearkin.io.inputs import ExcludedFolders, Format, InputFile, resolve
from nearkin.io.values import INT, MAX_MALFORMED, NULL, TEXT, Column, PackedTexts

ID_COLUMNS = ("id", "url", "_id")
"""Columns that have the ids by default, in this order, if their values are distinct."""
ROW_NUMBERS = "none"
"""The `id_column` that asks for row numbers."""


class DefaultColumn(str):
    """The default name of the text column: `open_corpus` ignores it for formats without columns."""

    __slots__ = ()


# Where the texts of formats without a text column are.
_TEXTS = {
    "txt": "whose lines are the texts",
    "files": "which are the texts themselves",
    "warc": "whose texts are the content of its records",
}


def open_corpus(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    text_column: str | Sequence[str] | None = None,
    id_column: str | None = None,
    extra_columns: Iterable[str] = (),
    strict: bool = False,
    max_malformed: float = MAX_MALFORMED,
    encoding: str | None = None,
    delimiter: str | None = None,
    html: Html = False,
    spool_dir: str | os.PathLike[str] | None = None,
    exclude: Iterable[str | os.PathLike[str]] = (),
    defer_ids: bool = False,
) -> Corpus:
    r"""Open a corpus of files, globs, folders, URLs or standard input.

    Parameters
    ----------
    inputs : path, or iterable of paths
        Files, globs (`data/*.jsonl.gz`), folders, `-` for standard input, and URLs (`s3://`, `gs://`, `hf://`,
        `https://`) if fsspec is installed. All have one format; each may also be compressed as .gz, .zst, .bz2, .xz or
        .lz4. JSON is lines or one array.
    format : str, optional
        jsonl, parquet, csv, tsv, txt (a document per line), files (a file per document), functions (source files, a
        document per function, with the id `path:first line-last line`) or warc (WARC and WET files of crawls). Default:
        by file extension.
    text_column : str or sequence of str, optional
        Column of the text (default: `text`), or several: the text of a record is the values that are not null (in CSV
        not empty), joined by line feeds. Every record has the first of them, unless it is malformed. A str with commas
        names one column if the start of the first file has a column of that name, and otherwise several.
        Not for txt, files and warc, which have no text column. In JSON and
        Parquet, `meta.url` is the field `url` of `meta`, unless a column has that name. The same holds for the other
        columns.
    id_column : str, optional
        Column of the id, an integer or string in every record. Default: the first of the columns `id`, `url` and `_id`
        with a distinct integer or string in every record, for which files are read once more, or else row numbers, as
        for pipes and URLs. "none" asks for row numbers. The ids of files are their paths, those of WARC its record ids,
        whose columns `nearkin.io.warc` lists.
    extra_columns : iterable of str
        Further scalar columns to read.
    strict : bool, default False
        If True, the first malformed record raises an error. Otherwise malformed records are skipped and counted.
    max_malformed : int or float, default 0.1
        Maximum number of malformed records as int, or their share of all records as float.
    encoding : str, optional
        Encoding of JSON, CSV and text by the name of Python's codec, such as "latin-1" (default: UTF-8).
    delimiter : str, optional
        Delimiter of CSV: one ASCII character. Default: comma, semicolon, tab or bar, detected from the header.
    html : bool or "main", default False
        If True, texts are HTML pages, and their visible text (`nearkin.io.html`) is compared. Pages are written
        unchanged. Pages in WARC files are recognised by their content type. "main" compares the main text of texts that
        begin with a tag, and other texts unchanged.
    spool_dir : path, optional
        Folder for the decompressed bytes of inputs that cannot be read again in place: compressed files, pipes, remote
        files, other encodings, JSON arrays.
    exclude : iterable of paths
        Folders below the inputs that are skipped, such as that of a store. `left_out` counts their files.
    defer_ids : bool, default False
        Choose the column of ids by the first batch; the caller asks `settle_ids` after it has read all. With `strict`,
        all records are looked at in any case, because one without an id would be an error.

    Returns
    -------
    Corpus
        A context manager that frees its temporary files when it is closed.

    Raises
    ------
    ParameterError
        The format or encoding is unknown, the format has no such column, or one column has two roles.
    InputError
        Files are missing, inputs have two formats, or a file occurs twice.
    MissingExtraError
        An optional package is not installed: fsspec, or its package for a protocol; selectolax for `html`; fastwarc
        for WARC.

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
    names = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    if html is True:
        check_parser()
    excluded = ExcludedFolders(exclude)
    kind, sources = resolve(names, format, excluded)
    codec = check_encoding(encoding)
    if encoding is not None and kind in ("parquet", "warc"):
        reason = "whose texts are UTF-8" if kind == "parquet" else "whose records say their encodings"
        raise bad_parameter("encoding", repr(encoding), f"no encoding for {kind}, {reason}")
    sources = [replace(source, encoding=codec) for source in sources] if codec else sources
    valid = delimiter in (None, "\t") or (len(delimiter) == 1 and "!" <= delimiter <= "~" and delimiter != '"')
    if delimiter is not None and kind != "csv":
        raise bad_parameter("delimiter", repr(delimiter), f"it with csv alone; the format is {kind}")
    if delimiter is not None and not valid:
        raise bad_parameter("delimiter", repr(delimiter), "one ASCII character such as ';'")
    extra = [extra_columns] if isinstance(extra_columns, str) else extra_columns
    options = ReadOptions(
        text_column="text" if text_column is None else text_column if isinstance(text_column, str) else "",
        id_column=None if id_column == ROW_NUMBERS else id_column,
        extra_columns=tuple(dict.fromkeys(extra)),
        strict=strict,
        max_malformed=max_malformed,
        delimiter=delimiter,
        html=html,
        functions=format == "functions",
        spool_dir=spool_dir,
        excluded=excluded.counts(),
    )
    if kind not in _TEXTS:
        first, *joined = _text_columns(kind, sources, options, text_column)
        options = replace(options, text_column=first, joined_columns=tuple(joined))
    _check_columns(kind, text_column, options)
    note, deferred = "", False
    if id_column is None and kind in ("jsonl", "csv", "tsv", "parquet") and all(source.regular for source in sources):
        find_ids = partial(_find_id_column, kind, sources, options)
        deferred = defer_ids and not strict
        found, note = find_ids(1 if deferred else None)
        options = replace(options, id_column=found)
    corpus = _open(kind, sources, options)
    corpus.id_note = note
    if deferred and corpus.id_column is not None:
        corpus.find_ids = find_ids
    corpus.inputs = list(dict.fromkeys([*(path for path in map(Path, names) if path.exists()), *corpus.paths]))
    return corpus


def _text_columns(
    kind: Format, sources: list[InputFile], options: ReadOptions, text_column: str | Sequence[str] | None
) -> list[str]:
    """Return the columns of the text; a name with commas is that of several if no column has it."""
    if isinstance(text_column, str) and "," in text_column:
        if sources[0].regular and _has_text_column(kind, sources, options):
            return [text_column]
        text_column = [name.strip() for name in text_column.split(",")]
    names = [options.text_column] if text_column is None or isinstance(text_column, str) else list(text_column)
    if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
        raise bad_parameter("text_column", repr(text_column), "one column, or several different ones")
    return names


def _has_text_column(kind: Format, sources: list[InputFile], options: ReadOptions) -> bool:
    options = replace(options, id_column=None, extra_columns=(), strict=False, max_malformed=1.0)
    try:
        with _open(kind, sources[:1], options) as corpus:
            return corpus.has_text_column()
    except (NearkinError, OSError):
        # The pass over the documents raises the same error unless it is about the column.
        return False


def _check_columns(kind: Format, text_column: str | Sequence[str] | None, options: ReadOptions) -> None:
    """Refuse columns that the format does not have, and columns with two roles."""
    if kind in _TEXTS and text_column is not None and not isinstance(text_column, DefaultColumn):
        raise bad_parameter("text_column", repr(text_column), f"no column for {kind}, {_TEXTS[kind]}")
    if kind in ("txt", "files"):
        for name, value in (("id_column", options.id_column), ("extra_columns", options.extra_columns or None)):
            if value is not None:
                raise bad_parameter(name, repr(value), f"no column for {kind}, which has none")
    elif kind != "warc":
        for name in (options.text_column, *options.joined_columns):
            if name in (options.id_column, *options.extra_columns):
                allowed = "a column that is neither the id nor an extra column"
                raise bad_parameter("text_column", repr(name), allowed)


def _open(kind: Format, sources: list[InputFile], options: ReadOptions) -> Corpus:
    if kind == "parquet":
        from nearkin.io.parquet import ParquetCorpus

        return ParquetCorpus(kind, sources, options)
    if kind == "warc":
        from nearkin.io.warc import WarcCorpus, check_columns, check_reader

        check_reader()
        options = replace(options, id_column=options.id_column or "record_id", html=options.html == "main" and "main")
        check_columns([options.id_column or "", *options.extra_columns])
        return WarcCorpus(kind, sources, options)
    if kind == "files":
        from nearkin.io.files import FileCorpus

        return FileCorpus(kind, sources, options)
    from nearkin.io.records import CsvCorpus, JsonlCorpus, LineCorpus

    classes: dict[Format, type[Corpus]] = {"jsonl": JsonlCorpus, "csv": CsvCorpus, "tsv": CsvCorpus, "txt": LineCorpus}
    return classes[kind](kind, sources, options)


# Ids


def settle_ids(corpus: Corpus, ids: Column | None) -> bool:
    """Return True if a corpus that was opened with `defer_ids` has read the ids that all of its records ask for.

    If not, its column of ids and its note are set anew, and it has to be read again.

    Parameters
    ----------
    corpus : Corpus
    ids : Column or None
        The ids of all documents; None if reading them ended with an error.
    """
    find, corpus.find_ids = corpus.find_ids, None
    if find is None:
        return True
    keys = _IdKeys()
    keys.append(ids)
    # A record that was skipped may be one without an id.
    if not corpus.malformed.count and not keys.problem():
        return True
    before = corpus.id_column
    corpus.id_column, corpus.id_note = find(None)
    return corpus.id_column == before


def _find_id_column(
    kind: Format, sources: list[InputFile], options: ReadOptions, max_batches: int | None
) -> tuple[str | None, str]:
    """Return the first of `ID_COLUMNS` whose values are distinct ids, and a note about the choice."""
    keys = {name: _IdKeys() for name in ID_COLUMNS if name not in (options.text_column, *options.joined_columns)}
    try:
        for columns in islice(_scan_columns(kind, sources, options, list(keys)), max_batches):
            for name, ids in keys.items():
                ids.append(columns.get(name))
            if not any(ids.valid for ids in keys.values()):
                break
    except (NearkinError, OSError):
        # The pass over the documents raises the same error, with the options of the caller.
        return None, ""
    refused = []
    for name, ids in keys.items():
        problem = ids.problem()
        if not problem:
            note = f"ids are those of column {name!r}; id column {ROW_NUMBERS} numbers the documents"
            # The column that is meant for ids surprises nobody.
            return name, "" if name == ID_COLUMNS[0] else note
        if ids.present:
            refused.append(f"column {name!r} {problem}")
    if not refused:
        return None, ""
    return None, f"ids are row numbers: {', '.join(refused)}; to use a column, name it"


class _IdKeys:
    """Ids of a column so far, as keys that are distinct if the ids are."""

    def __init__(self) -> None:
        self.valid, self.present = True, False
        self._kind: int | None = None
        self._keys: list[NDArray[np.int64]] = []

    def append(self, ids: Column | None) -> None:
        """Add the ids of a batch; None if the batch has no such column."""
        kinds = None if ids is None else ids.kinds
        self.present = self.present or (kinds is not None and bool((kinds != NULL).any()))
        if not self.valid or ids is None or not len(ids):
            self.valid = self.valid and ids is not None
            return
        self._kind = int(ids.kinds[0]) if self._kind is None else self._kind
        self.valid = self._kind in (INT, TEXT) and bool((ids.kinds == self._kind).all())
        if self.valid and self._kind == TEXT:
            self.valid = bool((np.diff(ids.offsets) > 0).all())
        if not self.valid:
            self._keys.clear()
            return
        if self._kind == TEXT:
            hashes = content_hashes(PackedTexts(np.ascontiguousarray(ids.offsets), ids.data))[0]
            self._keys.append(np.ascontiguousarray(hashes.reshape(-1, 2)[:, 0]).view(np.int64))
        else:
            self._keys.append(ids.values.copy())

    def problem(self) -> str:
        """Return why the column has no ids; empty if it has."""
        if not self.valid or not self._keys:
            return "has values that are missing, or neither all integers nor all strings"
        keys = np.sort(np.concatenate(self._keys))
        return "has repeated values" if (keys[1:] == keys[:-1]).any() else ""


def _scan_columns(
    kind: Format, sources: list[InputFile], options: ReadOptions, names: list[str]
) -> Iterator[Mapping[str, Column]]:
    """Iterate over those columns of the well-formed records that the inputs have, in batches."""
    options = replace(
        options, joined_columns=(), id_column=None, extra_columns=(), strict=False, max_malformed=1.0, html=False
    )
    if kind == "parquet":
        from nearkin.io.parquet import ParquetCorpus

        corpus = ParquetCorpus(kind, sources, options)
        with corpus:
            yield from corpus.scan_columns(names)
        return
    with _open(kind, sources, options) as records:
        names = records.select_columns(names)
    if names:
        with _open(kind, sources, replace(options, extra_columns=tuple(names))) as records:
            records._reset()
            for batch in records._read():
                yield batch.columns
