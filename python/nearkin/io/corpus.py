"""Opening a corpus: which class reads which format."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nearkin.errors import bad_parameter
from nearkin.io.base import Corpus
from nearkin.io.inputs import Format, InputFile, resolve


def open_corpus(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,
    text_column: str = "text",
    id_column: str | None = None,
    extra_columns: Iterable[str] = (),
    strict: bool = False,
    spool_dir: str | os.PathLike[str] | None = None,
) -> Corpus:
    r"""A corpus over files, globs, folders or standard input.

    Parameters
    ----------
    inputs : path, or iterable of paths
        Files, globs (`data/*.jsonl.gz`), folders, `-` for standard input; all of one format, each also .gz or .zst.
    format : str, optional
        jsonl, parquet, csv, tsv, txt (a document per line) or files (a file per document); None to follow the file
        names.
    text_column : str, default "text"
        The column of the text; of no meaning for txt and files.
    id_column : str, optional
        The column of the id, an integer or string in every record; ids are row numbers without one, and the paths of
        files.
    extra_columns : iterable of str
        Further columns of scalars to read.
    strict : bool, default False
        Whether the first record that can't be read is an error. Otherwise such records are left out and counted.
    spool_dir : path, optional
        Where compressed inputs and pipes are spooled; it needs room for their decompressed bytes.

    Returns
    -------
    Corpus
        A context manager; closing it frees the spool.

    Raises
    ------
    ParameterError
        An unknown format, columns that the format does not have, one column in two roles.
    InputError
        Missing files, inputs of two formats, one file twice.

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
    corpus = _open(*resolve(named, format), text_column, id_column, extra_columns, strict=strict, spool_dir=spool_dir)
    corpus.inputs = list(dict.fromkeys([*(path for path in map(Path, named) if path.exists()), *corpus.paths]))
    return corpus


def _open(
    kind: Format,
    sources: list[InputFile],
    text_column: str,
    id_column: str | None,
    extra_columns: Iterable[str],
    **options: Any,
) -> Corpus:
    extra = tuple(dict.fromkeys([extra_columns] if isinstance(extra_columns, str) else extra_columns))
    if kind in ("txt", "files"):
        for name, value in (("id_column", id_column), ("extra_columns", extra or None)):
            if value is not None:
                raise bad_parameter(name, repr(value), f"no column for {kind}, which has none")
    elif text_column == id_column or text_column in extra:
        raise bad_parameter("text_column", repr(text_column), "a column that is neither the id nor an extra column")
    options |= {"text_column": text_column, "id_column": id_column, "extra_columns": extra}
    if kind == "parquet":
        from nearkin.io.parquet import ParquetCorpus

        return ParquetCorpus(kind, sources, **options)
    if kind == "files":
        from nearkin.io.files import FileCorpus

        return FileCorpus(kind, sources, **options)
    from nearkin.io.records import CsvCorpus, JsonlCorpus, LineCorpus

    classes: dict[Format, type[Corpus]] = {"jsonl": JsonlCorpus, "csv": CsvCorpus, "tsv": CsvCorpus, "txt": LineCorpus}
    return classes[kind](kind, sources, **options)
