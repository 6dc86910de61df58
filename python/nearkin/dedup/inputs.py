"""Inputs of a deduplication: texts with ids and columns, a frame, or files.

Arguments name the columns of a frame (`nearkin.io.frames`) or of files: `text` and `id`, and each of `values`,
`sources` and `columns` that is a name. A frame becomes columns in memory, and files become an open corpus.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from nearkin.dedup.documents import Cells
from nearkin.dedup.keep import VALUES
from nearkin.dedup.kinds import kind_format
from nearkin.errors import bad_parameter, excerpt
from nearkin.index.ids import Ids
from nearkin.io import Corpus, open_corpus
from nearkin.io.frames import is_frame, join_columns, read_columns, scalar_column, text_column, text_names
from nearkin.io.inputs import file_error
from nearkin.text.batches import ArrowStream, Texts


class FrameLike(Protocol):
    """Named columns of pandas, polars, pyarrow or Hugging Face, or a list of dicts, read by `nearkin.io.frames`."""

    def __getitem__(self, key: Any, /) -> Any:
        """Return a column, or rows."""


Paths: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]"
"""Files, globs and folders, as `nearkin.io.open_corpus` takes them."""

TEXT = "text"
"""Default column of texts."""


@dataclass(frozen=True)
class ColumnNames:
    """Columns that arguments name.

    Attributes
    ----------
    text : str, sequence of str, or None
        The column of the texts, or several that are joined.
    id : str or None
        The column of the ids.
    lists_are_paths : bool
        True if lists of strings are paths: a column is named, and no other input has columns.
    """

    text: str | Sequence[str] | None = None
    id: str | None = None
    lists_are_paths: bool = False

    @classmethod
    def from_args(cls, text: str | Sequence[str] | None, id: str | None, *documents: object) -> ColumnNames:
        """Build the names from arguments, for documents as the caller passed them.

        Raises
        ------
        ParameterError
            None of the documents is a frame or files; `text` names no column, or one twice.
        """
        if text is not None and not isinstance(text, str):
            names = list(text)
            if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
                raise bad_parameter("text", repr(text), "one column, or several different ones")
        if text is None and id is None:
            return cls()
        if any(is_frame(value) or _are_paths(value) for value in documents):
            return cls(text, id)
        if any(_are_strings(value) for value in documents):
            return cls(text, id, lists_are_paths=True)
        argument, name = ("text", text) if text is not None else ("id", id)
        allowed = "None, or a frame, files or an object with named columns, for texts; a Corpus has names of its own"
        raise bad_parameter(argument, repr(name), allowed)


def _are_strings(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(item, str) for item in value)


def _are_paths(value: object) -> bool:
    """Return True for a path, a string, or a list with paths."""
    if not isinstance(value, (list, tuple)):
        return isinstance(value, (str, os.PathLike))
    paths = [isinstance(item, os.PathLike) for item in value]
    return any(paths) and all(path or isinstance(item, str) for path, item in zip(paths, value, strict=True))


@dataclass(frozen=True)
class DedupInputs:
    """Documents with their ids and columns, as `nearkin.dedup.documents.hash_texts` takes them.

    Attributes
    ----------
    texts : texts or Corpus
        Before `open_inputs`, a frame or paths as well.
    ids : ids or None
        None for row numbers, and for a corpus.
    values : mapping of str to one value per text, or to the name of a column
        For each column of the keep rule.
    sources : one value per text, or the name of a column; optional
    columns : mapping of str to one value per text, or names of columns of the corpus; optional
    groups : one value per text, or the name of a column; optional
    sound : bool
        True to count the sound words of each text, by which the keep rule `best` orders.
    """

    texts: Texts | Corpus
    ids: Ids | None = None
    values: Mapping[str, Cells | str] = field(default_factory=dict)
    sources: Cells | str | None = None
    columns: Mapping[str, Cells] | Iterable[str] | None = None
    groups: Cells | str | None = None
    sound: bool = False


@contextmanager
def open_inputs(
    inputs: DedupInputs,
    names: ColumnNames,
    argument: str = "texts",
    kind: str | None = None,
    *,
    defer_ids: bool = False,
) -> Iterator[DedupInputs]:
    """Open a frame or paths as texts or a corpus, with the named columns; other inputs are unchanged.

    Parameters
    ----------
    inputs : DedupInputs
    names : ColumnNames
        The columns that `text=` and `id=` name.
    argument : str
        The argument that has the texts, for messages.
    kind : str, optional
        The kind of the corpus, which may say how source files are read.
    defer_ids : bool
        Leave the last word about the column of ids to `hash_texts`.

    Raises
    ------
    ParameterError
        A missing column; ids together with a column of ids.
    InputError
        A file that can't be read.
    """
    texts: Any = inputs.texts
    files = _are_paths(texts) or (names.lists_are_paths and _are_strings(texts))
    first = texts[0] if isinstance(texts, (list, tuple)) and texts else None
    listed = isinstance(texts, (list, tuple)) and not isinstance(first, Mapping)
    frame = not files and not listed and texts is not None and is_frame(texts)
    if (files or frame) and names.id is not None and inputs.ids is not None:
        ids = "ids" if argument == "texts" else f"{argument}_ids"
        raise bad_parameter(ids, "ids", f"None with id={names.id!r}, or no id=")
    if frame:
        yield _read_frame(texts, inputs, names)
    elif files:
        _check_not_a_text(texts)
        columns = _column_names(inputs.columns)
        extra = [
            name for name in (*inputs.values.values(), inputs.sources, inputs.groups, *columns) if isinstance(name, str)
        ]
        format = kind_format(kind, texts)
        with open_corpus(
            texts, format=format, text_column=names.text, id_column=names.id, extra_columns=extra, defer_ids=defer_ids
        ) as corpus:
            yield replace(inputs, texts=corpus)
    elif isinstance(texts, (bytes, bytearray, int, float)) or (texts is None and argument == "texts"):
        allowed = "pass a list, a generator or a column of str or None, a frame, or paths"
        raise TypeError(f"{argument}={excerpt(repr(texts), 60)} is no collection of texts; {allowed}")
    elif isinstance(first, (list, tuple, np.ndarray)):
        way = "pass vectors as one array, numpy.array(vectors)"
        raise TypeError(f"{argument}: text 0 is of type {type(first).__name__}; texts are str or None; {way}")
    else:
        yield inputs


def _check_not_a_text(texts: object) -> None:
    """Raise InputError for a string that is no file, folder, glob or URL, most likely a text."""
    if not isinstance(texts, str) or texts == "-" or "://" in texts or any(sign in texts for sign in "*?["):
        return
    if "\0" in texts or not os.path.lexists(texts):
        reason = "no such file or folder; a str is a path here: pass texts in a list, such as [text]"
        raise file_error(excerpt(texts, 200), reason)


def _column_names(columns: Mapping[str, Cells] | Iterable[str] | None) -> list[str]:
    """Return the names of the columns to read; none if the caller passed values."""
    if columns is None or isinstance(columns, Mapping):
        return []
    if isinstance(columns, str):
        raise bad_parameter("columns", repr(columns), f"a list of names, such as [{columns!r}], or values by name")
    return list(columns)


def _read_frame(frame: object, inputs: DedupInputs, names: ColumnNames) -> DedupInputs:
    """Read the columns of a frame."""
    texts = text_names(frame, names.text or TEXT)
    requested = {"text": texts[0], **{f"text={name!r}": name for name in texts[1:]}}
    if names.id is not None:
        requested["id"] = names.id
    # Messages name the argument of a column: the keep rule, or values.
    values = {"values" if name == VALUES else f"keep={name!r}": name for name in inputs.values}
    roles = {**{role: inputs.values[name] for role, name in values.items()}, "sources": inputs.sources}
    roles["groups"] = inputs.groups
    requested |= {role: name for role, name in roles.items() if isinstance(name, str)}
    extra = _column_names(inputs.columns)
    columns = read_columns(frame, {**requested, **{f"columns={name!r}": name for name in extra}})

    def scalars(role: str) -> Any:
        return scalar_column(columns[requested[role]], role, requested[role])

    joined = join_columns([text_column(columns[name], name) for name in texts])
    changes: dict[str, Any] = {"texts": cast("ArrowStream", joined)}
    changes["values"] = {name: scalars(role) if role in requested else roles[role] for role, name in values.items()}
    changes |= {role: scalars(role) for role in ("sources", "groups") if role in requested}
    if "id" in requested:
        changes["ids"] = scalars("id")
    if extra:
        changes["columns"] = {name: scalar_column(columns[name], "columns", name) for name in extra}
    return replace(inputs, **changes)
