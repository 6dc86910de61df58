"""From what a user names to what is read: paths, globs, folders and `-` become sources of one format.

The format follows from the name's ending, under that of a compression if need be, or given; all inputs have the same. A
folder is read for its `.jsonl`, `.parquet`, `.csv`, `.tsv` or `.warc` files if it has any, and otherwise every file in
it is a document. Names that begin with a dot are skipped when a folder is read, and folders are never entered through a
symbolic link. Order: as given; within a glob or a folder by name.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from nearkin.errors import InputError, bad_parameter, kind_of_file, printable

Format = Literal["jsonl", "parquet", "csv", "tsv", "txt", "files", "warc"]
Compression = Literal["", "gz", "zst", "bz2", "xz", "lz4"]

STDIN = "-"

_ENDINGS: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "txt",
    ".text": "txt",
    ".log": "txt",
    ".warc": "warc",
    ".wet": "warc",
}
_COMPRESSIONS: dict[str, Compression] = {
    ".gz": "gz",
    ".zst": "zst",
    ".zstd": "zst",
    ".bz2": "bz2",
    ".xz": "xz",
    ".lz4": "lz4",
}
_MARKS = re.compile(r"_SUCCESS|_(common_)?metadata|_(started|committed)_\d+")
"""What engines leave beside the tables that they write."""
# Endings that say "rows" so plainly that a folder with them is a folder of tables, not of documents.
_TABLES = ("jsonl", "parquet", "csv", "tsv", "warc")


@dataclass(frozen=True)
class FileStamp:
    """What tells whether a file is still the one that was read: device, inode, size, time of change."""

    device: int
    inode: int
    size: int
    changed: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        """The stamp of a file's status."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class InputFile:
    """One file, pipe or standard input.

    Parameters
    ----------
    name : str
        As messages show it.
    path : Path or None
        None for standard input.
    compression : {"", "gz", "zst", "bz2", "xz", "lz4"}
        From the name; that of a pipe from its first bytes.
    regular : bool
        Whether it can be read twice: a file, not a pipe and not remote.
    document : str
        For a file that is a document: its path relative to the folder that was named, with / on every system.
    refused : str
        Why its name can't be an id, if it can't: then it is a record that can't be read.
    encoding : str
        As Python's codecs name it; empty for UTF-8.
    url : str
        Of a remote file; it has no path.
    """

    name: str
    path: Path | None
    compression: Compression
    regular: bool
    document: str = ""
    refused: str = ""
    encoding: str = ""
    url: str = ""

    @property
    def plain(self) -> bool:
        """Whether its bytes can be read again as they lie: a file in UTF-8 that is not compressed."""
        return self.regular and not self.compression and not self.encoding


# Names of what is open already: a shell's process substitution, for example.
_DESCRIPTOR = re.compile(r"/dev/(fd/\d+|std(in|out|err))|/proc/(self|\d+)/fd/\d+")


def check_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a regular file; False for the name of a descriptor, as of a shell's process substitution.

    Raises
    ------
    InputError
        A named pipe, socket, device or folder.
    """
    mode = Path(path).stat().st_mode
    if stat.S_ISREG(mode):
        return True
    name = os.fsdecode(path)
    if not _DESCRIPTOR.fullmatch(name):
        reason = f"is {kind_of_file(mode)}; give regular files, or - with a pipe as standard input"
        raise unreadable(name, reason)
    return False


def unreadable(file: str, reason: str) -> InputError:
    """The InputError for a file as a whole."""
    return InputError(f"{file}: {reason}", place=file, file=file, reason=reason)


def compression_of(name: str) -> Compression:
    """The compression that a name says."""
    return _COMPRESSIONS.get(os.path.splitext(name)[1].lower(), "")  # noqa: PTH122


def format_of(name: str) -> Format | None:
    """The format that a name says, or None."""
    if compression_of(name):
        name = os.path.splitext(name)[0]  # noqa: PTH122
    return _ENDINGS.get(os.path.splitext(name)[1].lower())  # noqa: PTH122


class LeftOut:
    """Folders whose files are no inputs, wherever they are met.

    Parameters
    ----------
    folders : iterable of path
        Such as that of a store which remembers what is read.

    Attributes
    ----------
    files : dict of str to int
        How many files were met below each, by its name.
    """

    def __init__(self, folders: Iterable[str | os.PathLike[str]] = ()) -> None:
        self._names = {os.path.realpath(folder): os.fspath(folder) for folder in folders}
        self.files: dict[str, int] = {}

    def has(self, folder: str | os.PathLike[str]) -> bool:
        """Whether a folder is one of them; then its files are counted."""
        name = self._names.get(os.path.realpath(folder)) if self._names else None
        if name is not None:
            self.files[name] = sum(len(files) for _, _, files in os.walk(folder))
        return name is not None

    def counts(self) -> dict[str, int]:
        """What was left out, in words."""
        return {f"files of {printable(name)}": count for name, count in self.files.items()}


def resolve(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    format: str | None,
    left_out: LeftOut | None = None,
) -> tuple[Format, list[InputFile]]:
    """The format and sources of a corpus.

    Parameters
    ----------
    inputs : path, or iterable of paths
        Files, globs, folders, URLs, `-` for standard input.
    format : str or None
        One of jsonl, parquet, csv, tsv, txt (a document per line), files (a file per document), warc; None to
        tell by names.
    left_out : LeftOut, optional
        Folders that are not entered.

    Raises
    ------
    ParameterError
        No input, or an unknown format.
    InputError
        A missing file, a glob that matches nothing, a name that says no format, two formats, one file twice.
    """
    if format is not None and format not in get_args(Format):
        raise bad_parameter("format", repr(format), "one of " + ", ".join(get_args(Format)))
    given = [os.fspath(inputs)] if isinstance(inputs, (str, os.PathLike)) else [os.fspath(path) for path in inputs]
    if not given:
        raise bad_parameter("inputs", "[]", "at least one path, glob, folder, or - for standard input")
    found: list[tuple[Format, InputFile]] = []
    several = len(given) > 1
    for name in given:
        found += _expand(name, cast("Format | None", format), left_out or LeftOut(), several=several)
    first_format, first = found[0]
    seen: dict[str, str] = {}
    for other_format, source in found:
        if other_format != first_format:
            reason = f"is {other_format}, while {first.name} is {first_format}; give inputs of one format"
            raise unreadable(source.name, reason)
        real = source.url or (STDIN if source.path is None else os.path.realpath(source.path))
        if real in seen:
            reason = f"is given twice (also as {seen[real]}), and all of it would be a duplicate; give each file once"
            raise unreadable(source.name, reason)
        seen[real] = source.name
    return first_format, [source for _, source in found]


def _expand(name: str, format: Format | None, left_out: LeftOut, *, several: bool) -> list[tuple[Format, InputFile]]:
    if name == STDIN:
        if format == "files":
            raise bad_parameter(
                "format", "'files'", "a format of rows for standard input: jsonl, parquet, csv, tsv, txt, warc"
            )
        return [(format or "jsonl", InputFile("standard input", None, "", regular=False))]
    from nearkin.io import remote

    if remote.is_url(name):
        return [_remote(url, format) for url in remote.expand(name)]
    path = Path(name)
    if not path.exists():
        if not any(sign in name for sign in "*?["):
            raise unreadable(name, "no such file or folder")
        # A folder that a glob's ** matches is there for its files, which match as well.
        matches = [match for match in sorted(glob.glob(name, recursive=True)) if not Path(match).is_dir()]  # noqa: PTH207
        if not matches:
            raise unreadable(name, "no file matches")
        return [_single(match, format) for match in matches]
    if path.is_dir():
        return _folder(path, format, left_out, several=several)
    return [_single(name, format)]


def _single(name: str, format: Format | None) -> tuple[Format, InputFile]:
    path = Path(name)
    told = format or format_of(name)
    regular = check_stream(path)
    if told is None and not regular:
        told = "jsonl"
    if told is None:
        mend = f"rename it, or give format=, one of {', '.join(get_args(Format))}"
        raise unreadable(name, f"the name says no format; {mend}")
    if not name.isprintable() and told == "files" and (reason := _why_refused(name)):
        raise unreadable(repr(name), reason)
    return told, InputFile(
        name, path, compression_of(name), regular, document=_document(name) if told == "files" else ""
    )


def _remote(url: str, format: Format | None) -> tuple[Format, InputFile]:
    from nearkin.io.remote import name_in

    name = name_in(url)
    told = format or format_of(name)
    if told is None:
        raise unreadable(url, f"the name says no format; give format=, one of {', '.join(get_args(Format))}")
    return told, InputFile(url, None, compression_of(name), regular=False, document=url, url=url)


def _document(path: str) -> str:
    """A path as an id: separated by / on every system, so that the same folder gives the same ids."""
    return path.replace(os.sep, "/")


def _why_refused(document: str) -> str:
    """Why a path can't be an id; empty if it can."""
    try:
        document.encode()
    except UnicodeEncodeError:
        return "the file's name is not UTF-8; rename it"
    if "\n" in document or "\r" in document:
        return "the file's name has a line break, which a list of kept files can't hold; rename it"
    return ""


def _folder(folder: Path, format: Format | None, left_out: LeftOut, *, several: bool) -> list[tuple[Format, InputFile]]:
    names = sorted(_walk(str(folder), left_out), key=os.fsencode)
    if not names:
        raise unreadable(str(folder), "the folder has no files")
    if format != "files":
        told = [(format_of(name), name) for name in names]
        tables = [(kind, name) for kind, name in told if kind in _TABLES]
        if tables or format is not None:
            told = [(kind, name) for kind, name in told if kind or not _MARKS.fullmatch(Path(name).name)]
            first = format or tables[0][0]
            for kind, name in told:
                if kind != first and format is None:
                    what = kind or "of no known format"
                    mend = "give inputs of one format, or format='files' to take every file as a document"
                    raise unreadable(name, f"is {what}, while {tables[0][1]} is {first}; {mend}")
            chosen = [name for kind, name in told if kind == first]
            if not chosen:
                raise unreadable(str(folder), f"the folder has no {format} files")
            return [_single(name, first) for name in chosen]
    sources: list[tuple[Format, InputFile]] = []
    for name in names:
        document = os.path.relpath(name, folder)
        document = os.path.join(folder, document) if several else document  # noqa: PTH118
        refused = "" if document.isprintable() else _why_refused(document)
        source = InputFile(
            printable(name) if refused else name,
            Path(name),
            compression_of(name),
            regular=True,
            document=_document(document),
            refused=refused,
        )
        sources.append(("files", source))
    return sources


def _walk(folder: str, left_out: LeftOut) -> Sequence[str]:
    names: list[str] = []

    def fail(error: OSError) -> None:
        raise error

    for parent, folders, files in os.walk(folder, onerror=fail):
        if left_out.has(parent):
            folders[:] = []
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = os.path.join(parent, name)  # noqa: PTH118
            if not name.startswith(".") and os.path.isfile(path):  # noqa: PTH113
                names.append(path)
    return names
