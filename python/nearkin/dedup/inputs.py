"""What a deduplication is given, as it reads it: texts with their ids and columns, a frame, or files.

A frame (`nearkin.io.frames`) and files are named by their columns: `text` and `id`, and each of `values`, `sources` and
`columns` that is a name. A frame becomes columns in memory, files an open corpus.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, cast

from nearkin.dedup.documents import Cells
from nearkin.dedup.keep import VALUES
from nearkin.errors import bad_parameter
from nearkin.index.ids import Ids
from nearkin.io import Corpus, open_corpus
from nearkin.io.frames import is_frame, read_columns, scalar_column, text_column
from nearkin.text.batches import ArrowStream, Texts


class Frame(Protocol):
    """A frame that is known by its class or by its interface: it has named columns.

    pandas, polars, pyarrow, and Hugging Face's datasets call them so alike that nothing else is asked of the type.
    """

    def __getitem__(self, key: Any, /) -> Any:
        """A column, or rows."""


Paths: TypeAlias = "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]"
"""Files, globs, folders, as `nearkin.io.open_corpus` takes them."""

TEXT = "text"
"""The column of texts where none is named."""
PATH = "path"
"""The column of paths where none is named."""


@dataclass(frozen=True)
class Columns:
    """The columns that arguments name.

    Attributes
    ----------
    text, id : str or None
        Of the texts, and of their ids.
    of_lists : bool
        Whether lists of strings have them, which then are paths: where a column is named and nothing else has any.
    """

    text: str | None = None
    id: str | None = None
    of_lists: bool = False

    @classmethod
    def of(cls, text: str | None, id: str | None, *documents: object) -> Columns:
        """The columns that are named, of documents as they were given.

        Raises
        ------
        ParameterError
            None of them is a frame or files.
        """
        if text is None and id is None:
            return cls()
        if any(is_frame(one) or _are_paths(one) for one in documents):
            return cls(text, id)
        if any(_are_strings(one) for one in documents):
            return cls(text, id, of_lists=True)
        argument, name = ("text", text) if text is not None else ("id", id)
        allowed = "None, or a frame, files or an object with named columns, for texts; a Corpus has names of its own"
        raise bad_parameter(argument, repr(name), allowed)


def _are_strings(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(one, str) for one in value)


def _are_paths(value: object) -> bool:
    """Whether documents are in files: a path, a string, or a list with paths."""
    if isinstance(value, (str, os.PathLike)):
        return True
    if not isinstance(value, (list, tuple)):
        return False
    is_path = [isinstance(one, os.PathLike) for one in value]
    return any(is_path) and all(path or isinstance(one, str) for path, one in zip(is_path, value, strict=True))


@dataclass(frozen=True)
class Documents:
    """Documents as `nearkin.dedup.documents.hash_texts` takes them.

    Attributes
    ----------
    texts : texts or Corpus
    ids : ids or None
        None for row numbers, and for a corpus.
    values : mapping of str to one value per text, or to the name of a column
        For each column of the keep rule.
    sources : one value per text, or the name of a column; optional
    columns : mapping of str to one value per text, or names of columns of the corpus; optional
    """

    texts: Texts | Corpus
    ids: Ids | None = None
    values: Mapping[str, Cells | str] = field(default_factory=dict)
    sources: Cells | str | None = None
    columns: Mapping[str, Cells] | Iterable[str] | None = None


@contextmanager
def opened(documents: Documents, named: Columns, argument: str = "texts") -> Iterator[Documents]:
    """Documents with the columns that were named.

    Parameters
    ----------
    documents : Documents
        As they were given: the texts may be a frame or paths.
    named : Columns
        What `text=` and `id=` name.
    argument : str
        What the texts are called, for messages.

    Raises
    ------
    ParameterError
        A column that is not there; ids beside a column of ids.
    InputError
        A file that can't be read.
    """
    found: Any = documents.texts
    in_files = _are_paths(found) or (named.of_lists and _are_strings(found))
    if (in_files or is_frame(found)) and named.id is not None and documents.ids is not None:
        ids = "ids" if argument == "texts" else f"{argument}_ids"
        raise bad_parameter(ids, "ids", f"None with id={named.id!r}, or no id=")
    if is_frame(found):
        yield _of_frame(found, documents, named)
    elif in_files:
        columns = _names(documents.columns)
        extra = [one for one in (*documents.values.values(), documents.sources, *columns) if isinstance(one, str)]
        with open_corpus(found, text_column=named.text, id_column=named.id, extra_columns=extra) as corpus:
            yield _with(documents, texts=corpus)
    else:
        yield documents


def _with(documents: Documents, **changed: Any) -> Documents:
    return Documents(**{**vars(documents), **changed})


def _names(columns: Mapping[str, Cells] | Iterable[str] | None) -> list[str]:
    """The names of columns that are read; none for values that are given."""
    if columns is None or isinstance(columns, Mapping):
        return []
    if isinstance(columns, str):
        raise bad_parameter("columns", repr(columns), f"a list of names, such as [{columns!r}], or values by name")
    return list(columns)


def paths_of(paths: Any, path: str | None) -> Any:
    """Paths that were given, or those of a frame's column; `path` names it.

    Raises
    ------
    ParameterError
        A column that is not there, or not of strings.
    """
    if not is_frame(paths):
        return paths
    name = path or PATH
    return _plain(text_column(read_columns(paths, {"path": name})[name], name, "path"))


def files_of(
    paths: Any,
    path: str | None,
    keep: Iterable[str],
    values: Mapping[str, Cells | str],
    columns: Mapping[str, Cells] | Iterable[str] | None,
) -> tuple[Any, dict[str, Cells], Mapping[str, Cells] | None]:
    """Paths, values and columns of files; those that are named are columns of the frame that was given as paths.

    Parameters
    ----------
    paths : iterable of paths, or a frame
    path : str, optional
        The frame's column of paths.
    keep : iterable of str
        Columns that the keep rule looks at; those without values are the frame's.
    values : mapping of str to one value per path, or to the name of a column
    columns : mapping of str to one value per path, or names of columns; optional

    Raises
    ------
    ParameterError
        A column that is not there, or names without a frame.
    """
    if not is_frame(paths):
        named = [("values", name) for name in values.values() if isinstance(name, str)]
        named += [("columns", name) for name in _names(columns)]
        if named:
            argument, name = named[0]
            raise bad_parameter(argument, repr(name), "values, one per path; names are of columns of a frame")
        return paths, dict(values), columns  # type: ignore[return-value]  # No names.
    uses = {**{name: name for name in keep if name != VALUES}, **values}
    wanted = {
        "values" if name == VALUES else f"keep={name!r}": column
        for name, column in uses.items()
        if isinstance(column, str)
    }
    extra = _names(columns)
    found = read_columns(paths, {"path": path or PATH, **wanted, **{f"columns={name!r}": name for name in extra}})
    cells = {
        name: scalar_column(found[given], "values", given) if isinstance(given, str) else given
        for name, given in uses.items()
    }
    if extra:
        columns = {name: scalar_column(found[name], "columns", name) for name in extra}
    listed = _plain(text_column(found[path or PATH], path or PATH, "path"))
    return listed, cells, columns  # type: ignore[return-value]  # Names have become columns.


def _plain(column: Any) -> list[str | None]:
    found: list[str | None] = column if isinstance(column, list) else column.to_pylist()
    return found


def _of_frame(frame: object, documents: Documents, named: Columns) -> Documents:
    """The columns of a frame."""
    wanted = {"text": named.text or TEXT}
    if named.id is not None:
        wanted["id"] = named.id
    uses = {"values" if name == VALUES else f"keep={name!r}": name for name in documents.values}
    roles = {**{use: documents.values[name] for use, name in uses.items()}, "sources": documents.sources}
    wanted |= {argument: name for argument, name in roles.items() if isinstance(name, str)}
    extra = _names(documents.columns)
    found = read_columns(frame, {**wanted, **{f"columns={name!r}": name for name in extra}})

    def scalars(argument: str) -> Any:
        return scalar_column(found[wanted[argument]], argument, wanted[argument])

    changed: dict[str, Any] = {"texts": cast("ArrowStream", text_column(found[wanted["text"]], wanted["text"]))}
    changed["values"] = {name: scalars(use) if use in wanted else documents.values[name] for use, name in uses.items()}
    if "sources" in wanted:
        changed["sources"] = scalars("sources")
    if "id" in wanted:
        changed["ids"] = scalars("id")
    if extra:
        changed["columns"] = {name: scalar_column(found[name], "columns", name) for name in extra}
    return _with(documents, **changed)
