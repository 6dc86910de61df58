"""Suites of items, such as benchmarks: read from texts, frames and files, indexed once, searched in documents.

The core (`crates/nearkin-core/src/dedup/suites/mod.rs`) defines words, anchors, own parts, similarity and chance.
Here items are read: each has one or several columns, which are joined to one text, or searched one by one.
`docs/format-suites.md` describes the saved file.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin._core import SuitesCore, particulars
from nearkin.dedup.inputs import FrameLike, Paths
from nearkin.errors import bad_parameter, check_name, excerpt
from nearkin.io.arrow import to_cells, to_values
from nearkin.io.frames import column_names, is_frame, read_columns
from nearkin.io.inputs import file_error, format_of, resolve
from nearkin.io.tables import read_table
from nearkin.text.batches import Texts, iterate_batches

THRESHOLD = 0.75
"""Default share of an item's own words from which it is in a document."""
MAX_CHANCE = 1e-5
"""Default limit of the expected number of matches by chance in a document."""
CODE_THRESHOLD, CODE_MAX_CHANCE = 0.85, 1e-12
"""The same for code: functions share signs and folded names, and whole idioms, which pairs of tokens do not show."""
WORDS_PER_GRAM = 4
"""Words of a gram, which an anchor is."""
TOKENS_PER_GRAM = 12
"""The same for code: shorter grams are in most functions."""
WINDOW = 2
"""Consecutive grams with one lookup: a run of WORDS_PER_GRAM + WINDOW - 1 equal words is always found."""
ITEM_COLUMNS = ("text", "question", "problem", "prompt", "instruction", "input", "query")
"""Default columns of the text of an item: the first one that a table has."""

LEVELS = ("item", "part", "template", "variant", "quotation")
"""What a hit is; the core tells the first three apart."""
_VARYING = ("numbers", r"pattern:\p{Lu}\p{Ll}+")
"""Rules of the distinguishers that a variant replaces: numbers, and words with a capital."""

_TABLES = ("jsonl", "parquet", "csv", "tsv")
"""Formats of files of items."""

SuiteInput: TypeAlias = "Texts | FrameLike | Paths"
"""The items of a suite: texts, a frame, or files."""
SuiteKind: TypeAlias = Literal["functions"]
ColumnChoice: TypeAlias = "Sequence[str] | Mapping[str, Sequence[str]]"
"""Columns of all suites, or of each suite by name."""


@dataclass(frozen=True)
class Suite:
    """The items of a suite.

    Attributes
    ----------
    name : str
    items : int
        Number of items.
    columns : tuple of str
        Columns that were read; empty for texts.
    separate : bool
        True if each column of an item is searched by itself.
    ids : list of int or str, or None
        Ids of the items; None for row numbers.
    """

    name: str
    items: int
    columns: tuple[str, ...] = ()
    separate: bool = False
    ids: list[Any] | None = None

    @property
    def entries(self) -> int:
        """Number of texts that are searched."""
        return self.items * (len(self.columns) if self.separate else 1)


class Hits(NamedTuple):
    """Items in a batch of documents, as columns; `words` are those of each document.

    `rows` are documents of the batch, `entries` the searched texts of items, `starts` and `ends` characters, `levels`
    indexes of `LEVELS`.
    """

    rows: NDArray[np.int64]
    entries: NDArray[np.uint32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    similarity: NDArray[np.float64]
    chance: NDArray[np.float64]
    levels: NDArray[np.uint8]
    words: NDArray[np.int64]

    def passages(self, texts: Any, chosen: NDArray[np.int64]) -> list[str]:
        """Return the passages of some hits in the batch that was scanned."""
        stored = texts if hasattr(texts, "__getitem__") else to_values(texts)
        places = zip(self.rows[chosen].tolist(), self.starts[chosen].tolist(), self.ends[chosen].tolist(), strict=True)
        return [_python(stored[row])[start:end] for row, start, end in places]


class Suites:
    """Suites of items in an index, to be found in documents.

    Parameters
    ----------
    suites : mapping of str to texts, frame or paths; or paths
        The items of each suite by its name. For paths, each file (JSON, CSV, TSV or Parquet, maybe compressed) is a
        suite named by its path below the folder, without extensions.
    columns : list of str, or mapping of str to list of str; optional
        Columns of the text of an item, of all suites or by suite: `["question", "choices"]`. Lists, such as choices,
        are joined. Default: the first of `ITEM_COLUMNS` that a table has.
    together : bool or mapping of str to bool, default True
        If True, the columns of an item are one text: all must occur, one near the other. Otherwise each column is
        searched by itself, and one is enough.
    item_id : str, optional
        Column of the items' ids, integers or strings; default row numbers from 0.
    kind : "functions", optional
        Read items and documents as the tokens of source code, without comments and docstrings, and with the names that
        an author is free to choose as one (`cut:code`), so that a solution is found with other names. None reads words.

    Raises
    ------
    ParameterError
        There is no suite, a table has no such column, or an unknown kind.
    InputError
        A file that can't be read.

    Notes
    -----
    Memory is about 25 bytes per word of the items, and their texts. A saved index is opened through a memory map, so
    processes share it.

    Examples
    --------
    >>> import nearkin as nk
    >>> suites = nk.Suites({"trivia": ["Which river flows through both Vienna and Budapest on its way to the sea?"]})
    >>> page = "Quiz night! which river flows through both vienna and budapest, on its way to the sea? The Danube."
    >>> for row in nk.decontaminate([page], suites).hits.rows():
    ...     print(row["suite"], row["item"], row["similarity"], page[row["start"] : row["end"]])
    trivia 0 1.0 which river flows through both vienna and budapest, on its way to the sea
    """

    def __init__(
        self,
        suites: Mapping[str, SuiteInput] | Paths,
        *,
        columns: ColumnChoice | None = None,
        together: bool | Mapping[str, bool] = True,
        item_id: str | None = None,
        kind: SuiteKind | None = None,
    ) -> None:
        if kind not in (None, "functions"):
            raise bad_parameter("kind", repr(kind), "None or functions")
        named = suites if isinstance(suites, Mapping) else _name_files(suites)
        if not named:
            raise bad_parameter("suites", "no suite", "texts by the name of their suite, or files")
        for option, names in (("columns", columns), ("together", together)):
            unknown = [name for name in names if name not in named] if isinstance(names, Mapping) else []
            if unknown:
                raise bad_parameter(option, repr(unknown[0]), f"names of suites: {excerpt(', '.join(named), 200)}")
        texts: list[str] = []
        self._suites: list[Suite] = []
        for name, items in named.items():
            chosen = columns.get(name) if isinstance(columns, Mapping) else columns
            joined = together.get(name, True) if isinstance(together, Mapping) else together
            suite, entries = read_suite(str(name), items, chosen, together=joined, item_id=item_id)
            self._suites.append(suite)
            texts += entries
        self.kind = kind
        described = {"suites": [asdict(suite) for suite in self._suites]} | ({} if kind is None else {"kind": kind})
        about = json.dumps(described).encode()
        self._core = SuitesCore(
            texts, self._bounds, TOKENS_PER_GRAM if kind else WORDS_PER_GRAM, WINDOW, bool(kind), about
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Suites:
        """Open a saved index through a memory map.

        Parameters
        ----------
        path : path

        Raises
        ------
        CorruptStoreError
            The file is damaged, or is no index of suites.
        FormatVersionError
            A newer version of nearkin wrote it.
        """
        check_name(path)
        self = cls.__new__(cls)
        self._core, about = SuitesCore.open(os.fspath(path))
        described = json.loads(about)
        self.kind = described.get("kind")
        self._suites = [Suite(**{**suite, "columns": tuple(suite["columns"])}) for suite in described["suites"]]
        return self

    @classmethod
    def of(cls, suites: Suites | Mapping[str, SuiteInput] | Paths, **options: Any) -> Suites:
        """Return an index: the same one, that of a saved file, or one built from items.

        Parameters
        ----------
        suites : Suites, mapping, or paths
            A single path of a file that `save` wrote is opened.
        **options
            Parameters of `Suites`, which an index has already.

        Raises
        ------
        ParameterError
            Options for an index.
        """
        saved = isinstance(suites, (str, os.PathLike)) and _is_saved(suites)
        if not saved and not isinstance(suites, Suites):
            return cls(suites, **{name: value for name, value in options.items() if value is not None})
        for name, value in options.items():
            if value is not None:
                raise bad_parameter(name, repr(value), "None with an index of suites, which has its own")
        return suites if isinstance(suites, Suites) else cls.open(suites)  # type: ignore[arg-type]  # A path.

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the index atomically as one file with checksums.

        Raises
        ------
        OSError
            The file can't be written; an existing one is unchanged.
        """
        check_name(path)
        self._core.save(os.fspath(path))

    def verify(self) -> None:
        """Check the file that the index was opened from.

        Raises
        ------
        CorruptStoreError
            The file is damaged.
        """
        self._core.verify()

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory(prefix="nearkin-") as folder:
            file = Path(folder, "suites")
            self.save(file)
            return _open_bytes, (file.read_bytes(),)

    def __len__(self) -> int:
        """Return the number of items."""
        return sum(suite.items for suite in self._suites)

    def __repr__(self) -> str:
        return f"Suites({len(self._suites)} suites, {len(self)} items)"

    @property
    def suites(self) -> list[Suite]:
        """The suites, in order."""
        return list(self._suites)

    def limits(self, threshold: float | None = None, max_chance: float | None = None) -> tuple[float, float]:
        """Return a threshold and a limit of the chance, by default those of the kind."""
        least, most = (CODE_THRESHOLD, CODE_MAX_CHANCE) if self.kind else (THRESHOLD, MAX_CHANCE)
        return least if threshold is None else threshold, most if max_chance is None else max_chance

    @property
    def num_words(self) -> int:
        """Number of words of all different items."""
        return self._core.sizes()[1]

    @property
    def nbytes(self) -> int:
        """Bytes of the index without the texts of the items."""
        return self._core.sizes()[2]

    def too_short(self, max_chance: float | None = None) -> NDArray[np.bool_]:
        """Return for each item whether it is too short: even a complete copy may be chance.

        A copy in a document of 1,000 words has a chance above the limit, or the item has fewer than four words. Items
        that are all template are not counted here.

        Parameters
        ----------
        max_chance : float, default 1e-5, for functions 1e-12

        Returns
        -------
        (n_items,) bool
            In the order of the suites. An item whose columns are searched one by one is too short if all of them are.
        """
        return self._all_entries(
            self._core.too_short(self.limits(max_chance=max_chance)[1]) & ~self._core.all_template()
        )

    def all_template(self) -> NDArray[np.bool_]:
        """Return for each item whether it is all template: it has a template, and fewer than five own words.

        Returns
        -------
        (n_items,) bool
            As for `too_short`. Such an item is found as a template at most.
        """
        return self._all_entries(self._core.all_template())

    def _all_entries(self, flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each item whether the flags of all its entries are set."""
        items: list[Any] = [flags[:0]]
        for suite, start in zip(self._suites, self._bounds.tolist(), strict=False):
            width = len(suite.columns) if suite.separate else 1
            items.append(flags[start : start + suite.entries].reshape(suite.items, width).all(axis=1))
        return np.concatenate(items)

    def scan(self, texts: Any, threshold: float, max_chance: float) -> Hits:
        """Find the items in a batch of documents, a list or a column.

        Raises
        ------
        ParameterError
            A threshold or chance out of range.
        """
        offsets, *columns = self._core.scan(texts, threshold=threshold, max_chance=max_chance)
        hits = Hits(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), *columns)  # type: ignore[arg-type]
        if self.kind:
            return hits
        partial = np.flatnonzero((hits.levels == LEVELS.index("item")) & (hits.similarity < 1))
        pairs = zip(self.entry_texts(hits.entries[partial]), hits.passages(texts, partial), strict=True)
        hits.levels[partial[[is_variant(*pair) for pair in pairs]]] = LEVELS.index("variant")
        return hits

    def locate(self, entries: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the suites of entries of the core, and their item numbers within the suite."""
        suites = np.searchsorted(self._bounds.astype(np.int64), entries, side="right") - 1
        widths = np.array([len(suite.columns) if suite.separate else 1 for suite in self._suites], np.int64)
        return suites, (entries - self._bounds.astype(np.int64)[suites]) // widths[suites]

    def item_id(self, suite: int, item: int) -> Any:
        """Return the id of an item of a suite, by their numbers."""
        ids = self._suites[suite].ids
        return item if ids is None else ids[item]

    def entry_texts(self, entries: NDArray[np.uint32]) -> list[str]:
        """Return the texts of entries of the core."""
        return self._core.texts(entries)

    @property
    def _bounds(self) -> NDArray[np.uint64]:
        """First entry of each suite, and the number of all."""
        return np.cumsum([0, *(suite.entries for suite in self._suites)]).astype(np.uint64)


def words_of(text: str) -> list[str]:
    """Return the words of a text without case; an ideograph is a word."""
    return re.findall(r"[^\W\u3040-\u9fff]+|[\u3040-\u9fff]", text.lower())


def is_variant(item: str, passage: str) -> bool:
    """Return True if half of an item's numbers or names are others, two or more, and half of the missing words.

    Examples
    --------
    >>> from nearkin.pieces.suites import is_variant
    >>> is_variant("Anna has 12 pears and eats 5.", "Boris has 31 pears and eats 7.")
    True
    >>> is_variant("Anna has 12 pears and eats 5.", "Anna holds 12 pears but ate 5.")
    False
    """
    total, most = 0, False
    for rule in _VARYING:
        # Without punctuation: 3.5 may have become 35.
        own, other = (
            Counter(re.sub(r"\W", "", mark) for mark in marks) for marks in particulars([rule], [item, passage])
        )
        replaced = min((own - other).total(), (other - own).total())
        total, most = total + replaced, most or 0 < own.total() <= 2 * replaced
    return most and total > 1 and 2 * total >= (Counter(words_of(item)) - Counter(words_of(passage))).total()


def _python(text: Any) -> str:
    """Return a text of a list or a column, which may be a scalar of Arrow."""
    return text if isinstance(text, str) else str(text.as_py())


def _open_bytes(file: bytes) -> Suites:
    """Open the bytes of a saved index; its memory map outlives the name of the temporary file."""
    with tempfile.TemporaryDirectory(prefix="nearkin-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "suites")
        path.write_bytes(file)
        return Suites.open(path)


def _is_saved(path: str | os.PathLike[str]) -> bool:
    """Return True for a segment file."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(8) == b"NEARKSEG"


# Items


def _name_files(paths: Paths) -> dict[str, Paths]:
    """Return the files of paths by the name of their suite."""
    result: dict[str, Paths] = {}
    if not isinstance(paths, (str, os.PathLike, Iterable)):
        raise bad_parameter("suites", excerpt(repr(paths), 60), "Suites, texts by name, or paths")
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        for file, short in _list_files(os.fspath(path)):
            name = short.with_name(short.name.split(".")[0]).as_posix()
            if name in result:
                allowed = "files with different names, or a dict of paths by name"
                raise bad_parameter("suites", f"two files named {name!r}", allowed)
            result[name] = file
    return result


def _list_files(path: str) -> list[tuple[Path, Path]]:
    """Return the tables that a path names, and their names: below a folder with the folders in between."""
    if Path(path).is_dir():
        files = sorted(file for file in Path(path).rglob("*") if file.is_file() and format_of(str(file)) in _TABLES)
        if not files:
            raise file_error(path, f"the folder has no {', '.join(_TABLES)} file; each is a suite")
        return [(file, file.relative_to(path)) for file in files]
    _, sources = resolve(path, None)
    local = [source.path for source in sources]
    if None in local:
        raise file_error(path, "is no local file; pass a dict with a name for each suite")
    return [(file, Path(file.name)) for file in local if file is not None]


def read_suite(
    name: str, items: SuiteInput, columns: Sequence[str] | None, *, together: bool, item_id: str | None
) -> tuple[Suite, list[str]]:
    """Return a suite, and its texts: one per item, or one per column of each item."""
    if isinstance(columns, str):
        raise bad_parameter("columns", repr(columns), f"a list of names, such as [{columns!r}]")
    is_path = isinstance(items, (str, os.PathLike)) or (
        isinstance(items, (list, tuple)) and any(isinstance(item, os.PathLike) for item in items)
    )
    if is_path:
        table = _read_files(items)  # type: ignore[arg-type]
        requested = _choose(name, table, columns, item_id)
        table = {column: table[column] for column in requested}
    elif is_frame(items):
        table = _read_frame(name, items, columns, item_id)
    else:
        batches: Any = iterate_batches(items)  # type: ignore[arg-type]  # Paths and frames are read above.
        lists = (batch if isinstance(batch, (list, tuple)) else to_values(batch) for batch in batches)
        texts = [text or "" for batch in lists for text in batch]
        return Suite(name, len(texts)), texts
    ids = None if item_id is None else table.pop(item_id)
    cells = [[_to_text(cell) for cell in column] for column in table.values()]
    count = len(cells[0])
    suite = Suite(name, count, tuple(table), separate=not together and len(cells) > 1, ids=ids)
    rows = zip(*cells, strict=True)
    if suite.separate:
        return suite, [cell for row in rows for cell in row]
    return suite, ["\n".join(filter(None, row)) for row in rows]


def _read_files(paths: Paths) -> dict[str, list[Any]]:
    """Return the columns of files, one after the other."""
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    tables = [read_table(source.path or source.url) for source in resolve(names, None)[1]]
    result: dict[str, list[Any]] = {}
    rows = 0
    for table in tables:
        count = len(next(iter(table.values()), []))
        for column in {**result, **table}:
            cells = table.get(column, [None] * count)
            result.setdefault(column, [None] * rows).extend(cells)
        rows += count
    return result


def _choose(name: str, available: Iterable[str], columns: Sequence[str] | None, item_id: str | None) -> list[str]:
    """Return the columns to read of a suite, and that of the ids."""
    existing = list(available)
    chosen = list(columns) if columns is not None else [column for column in ITEM_COLUMNS if column in existing][:1]
    if not chosen and len(existing) == 1:
        chosen = existing
    listed = excerpt(", ".join(existing), 200) or "none"
    if not chosen:
        raise bad_parameter("columns", f"None for suite {name!r}", f"names of its columns: {listed}")
    for column in [*chosen, *([] if item_id is None else [item_id])]:
        if column not in existing:
            raise bad_parameter("columns", f"{column!r} for suite {name!r}", f"names of its columns: {listed}")
    return [*chosen, *([] if item_id is None else [item_id])]


def _read_frame(name: str, frame: Any, columns: Sequence[str] | None, item_id: str | None) -> dict[str, list[Any]]:
    """Return columns of a frame as lists."""
    requested = _choose(name, column_names(frame), columns, item_id)
    read = read_columns(frame, {f"columns={column!r}": column for column in requested})
    return {column: to_cells(read[column], column) for column in requested}


def _to_text(cell: Any) -> str:
    """Return the text of a cell: lists are joined by lines, of a dict its `text` or all its values."""
    if cell is None or (isinstance(cell, float) and cell != cell):
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, Mapping):
        return _to_text(cell["text"] if "text" in cell else list(cell.values()))
    if isinstance(cell, (list, tuple)):
        return "\n".join(filter(None, map(_to_text, cell)))
    return str(cell)
