"""Resolve paths, globs, folders, URLs and `-` to input files of one format.

The file extension determines the format, after removing the extension of a compression; `format` overrides it. All
inputs must have the same format. A folder is read for its `.jsonl`, `.parquet`, `.csv`, `.tsv` or `.warc` files. If it
contains none of these, every file in it is a document. Hidden files and folders are skipped, and symbolic links to
folders are not followed. Inputs keep their order; the files of a glob or folder are sorted by name.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal, cast, get_args

from nearkin.errors import InputError, bad_parameter, describe_file_type, input_error, printable
from nearkin.io import remote
from nearkin.io.saved import STORE_LOG

Format = Literal["jsonl", "parquet", "csv", "tsv", "txt", "files", "functions", "warc"]
Compression = Literal["", "gz", "zst", "bz2", "xz", "lz4"]

STDIN = "-"

_EXTENSIONS: dict[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".parquet": "parquet", ".pq": "parquet", ".csv": "csv",
    ".tsv": "tsv", ".tab": "tsv", ".txt": "txt", ".text": "txt", ".log": "txt", ".warc": "warc", ".wet": "warc",
}  # fmt: skip
_COMPRESSIONS: dict[str, Compression] = {
    ".gz": "gz", ".zst": "zst", ".zstd": "zst", ".bz2": "bz2", ".xz": "xz", ".lz4": "lz4",
}  # fmt: skip
# Marker files that engines write next to tables.
_MARKERS = re.compile(r"_SUCCESS|_(common_)?metadata|_(started|committed)_\d+")
# A folder with a file of one of these formats is a folder of tables, not of documents.
_TABLE_FORMATS = ("jsonl", "parquet", "csv", "tsv", "warc")


@dataclass(frozen=True)
class FileStamp:
    """Identity of a file version: device, inode, size and modification time."""

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        """Return the stamp for the result of `os.stat`."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class InputFile:
    """A file, pipe, URL or standard input.

    Parameters
    ----------
    name : str
        Name in messages; that of a URL has no password and no query (`nearkin.io.remote.short_url`).
    path : Path or None
        None for standard input and URLs.
    compression : {"", "gz", "zst", "bz2", "xz", "lz4"}
        From the name. The compression of a pipe follows from its first bytes.
    regular : bool
        True for a local file, which can be read twice.
    document : str
        For a file that is a document: its path relative to the input folder, with / on every system, or the id of
        its URL (`nearkin.io.remote.document_id`).
    rejection : str
        Reason why the name cannot be an id; empty if it can. Such a file is a malformed record.
    encoding : str
        Name of the codec; empty for UTF-8.
    url : str
        URL of a remote file.
    """

    name: str
    path: Path | None
    compression: Compression
    regular: bool
    document: str = ""
    rejection: str = ""
    encoding: str = ""
    url: str = ""

    @property
    def plain(self) -> bool:
        """True if the bytes can be read again in place: a local UTF-8 file that is not compressed."""
        return self.regular and not self.compression and not self.encoding


# Names of open descriptors, as in the process substitution of a shell.
_DESCRIPTOR = re.compile(r"/dev/(fd/\d+|std(in|out|err))|/proc/(self|\d+)/fd/\d+")


def check_stream(path: str | os.PathLike[str]) -> bool:
    """Return True for a regular file, and False for the name of a descriptor, as in a shell's process substitution.

    Raises
    ------
    InputError
        The path is a named pipe, socket, device or folder.
    """
    mode = Path(path).stat().st_mode
    if stat.S_ISREG(mode):
        return True
    name = os.fsdecode(path)
    if not _DESCRIPTOR.fullmatch(name):
        raise file_error(name, f"is {describe_file_type(mode)}; give regular files, or - with a pipe as standard input")
    return False


def file_error(file: str, reason: str) -> InputError:
    """Return the InputError for a file."""
    return input_error(file, reason, file=file)


def describe_difference(columns: Iterable[str], expected: Iterable[str], file: str) -> str:
    """Describe the first difference between the columns of a file and those of the first file."""
    for number, (left, right) in enumerate(zip_longest(columns, expected, fillvalue="missing"), 1):
        if left != right:
            return f"column {number} is {left}, while it is {right} in {file}; give files with the same columns"
    return f"the schema differs from that of {file}; give files of one schema"


def compression_of(name: str) -> Compression:
    """Return the compression of a file by its extension; empty if it is not compressed."""
    return _COMPRESSIONS.get(os.path.splitext(name)[1].lower(), "")  # noqa: PTH122


def format_of(name: str) -> Format | None:
    """Return the format of a file by its extension; None if the extension is unknown."""
    if compression_of(name):
        name = os.path.splitext(name)[0]  # noqa: PTH122
    return _EXTENSIONS.get(os.path.splitext(name)[1].lower())  # noqa: PTH122


class ExcludedFolders:
    """Folders that are skipped wherever they occur in an input.

    Parameters
    ----------
    folders : iterable of path
        For instance the folder of a store that keeps the documents being read.

    Attributes
    ----------
    files : dict of str to int
        Number of skipped files in each folder, by the name of the folder.
    """

    def __init__(self, folders: Iterable[str | os.PathLike[str]] = ()) -> None:
        self._names = {os.path.realpath(folder): os.fspath(folder) for folder in folders}
        self.files: dict[str, int] = {}

    def contains(self, folder: str | os.PathLike[str]) -> bool:
        """Return True for an excluded folder, after counting its files."""
        name = self._names.get(os.path.realpath(folder)) if self._names else None
        if name is not None:
            self.files[name] = sum(len(files) for _, _, files in os.walk(folder))
        return name is not None

    def counts(self) -> dict[str, int]:
        """Return the number of skipped files by a description of their folder."""
        return {f"files of {printable(name)}": count for name, count in self.files.items()}


def resolve(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    format: str | None,
    excluded: ExcludedFolders | None = None,
) -> tuple[Format, list[InputFile]]:
    """Return the format and files of a corpus.

    Parameters
    ----------
    inputs : path, or iterable of paths
        Files, globs, folders, URLs, `-` for standard input.
    format : str or None
        One of jsonl, parquet, csv, tsv, txt (a document per line), files (a file per document), functions (files that
        `nearkin.io.files` splits), warc; None to follow the file extensions.
    excluded : ExcludedFolders, optional
        Folders to skip.

    Raises
    ------
    ParameterError
        There is no input, or the format is unknown.
    InputError
        A file is missing, a glob matches nothing, an extension is unknown, formats differ, a file occurs twice, or two
        URLs have the same id.
    """
    if format is not None and format not in get_args(Format):
        raise bad_parameter("format", repr(format), "one of " + ", ".join(get_args(Format)))
    format = "files" if format == "functions" else format
    names = [os.fspath(inputs)] if isinstance(inputs, (str, os.PathLike)) else [os.fspath(path) for path in inputs]
    if not names:
        raise bad_parameter("inputs", "[]", "at least one path, glob, folder, or - for standard input")
    files: list[tuple[Format, InputFile]] = []
    words: dict[str, dict[str, None]] = {}
    for name in names:
        expanded = _expand(name, cast("Format | None", format), excluded or ExcludedFolders(), several=len(names) > 1)
        files += expanded
        several, folder = len({each for each, _ in expanded}) > 1, Path(name).is_dir()
        for each, file in expanded:
            word = shlex.quote(file.name if file.url or (several and not folder) else name)
            words.setdefault(each, {})[f"{word} --format {each}" if several and folder else word] = None
    first_format, first = files[0]
    if len(words) > 1:
        other, file = next(each for each in files if each[0] != first_format)
        runs = (
            f"`nearkin dedup {' '.join([*own][:3])}{' …' * (len(own) > 3)} --store all.store --out kept-{each}`"
            for each, own in words.items()
        )
        remedy = f"a run reads one format. Runs with one store compare them all: {', then '.join(runs)}"
        raise file_error(file.name, f"is {other}, while {first.name} is {first_format}; {remedy}")
    seen: dict[str | tuple[int, int], str] = {}
    for _, file in files:
        real = file.url or (STDIN if file.path is None else _identity(file.path))
        if real in seen:
            reason = f"is given twice (also as {seen[real]}), and all of it would be a duplicate; give each file once"
            raise file_error(file.name, reason)
        seen[real] = file.name
    if first_format == "files":
        _check_url_ids(file for _, file in files)
    return first_format, [file for _, file in files]


def _check_url_ids(files: Iterable[InputFile]) -> None:
    """Refuse URLs that differ in passwords or parameters that may be secret alone, because ids do not hold them."""
    ids = set()
    for file in files:
        if file.url and file.document in ids:
            reason = (
                "has the id of another input, because the parameters in which they differ may be secret; fetch the "
                "files first, or tell them apart by a parameter such as id, page or version"
            )
            raise file_error(file.document, reason)
        ids.add(file.document)


def _identity(path: Path) -> str | tuple[int, int]:
    """Return what all names of a file have in common, those of hard links too."""
    status = path.stat()
    # File systems without numbers of files give 0.
    return (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(path)


def _expand(
    name: str, format: Format | None, excluded: ExcludedFolders, *, several: bool
) -> list[tuple[Format, InputFile]]:
    """Return the files of one input."""
    if name == STDIN:
        if format == "files":
            allowed = "a format of rows for standard input: jsonl, parquet, csv, tsv, txt, warc"
            raise bad_parameter("format", "'files'", allowed)
        return [(format or "jsonl", InputFile("standard input", None, "", regular=False))]
    if remote.is_url(name):
        return [_remote_file(url, remote.name_in(url), format) for url in remote.expand(name)]
    path = Path(name)
    if (path / STORE_LOG).is_file():
        raise file_error(name, "is a store; `nearkin store export` writes its documents as a file")
    if not path.exists():
        if not any(sign in name for sign in "*?["):
            raise file_error(remote.short_url(name), "no such file or folder")
        # A glob with ** also matches the folders of the files that it matches.
        matches = [match for match in sorted(glob.glob(name, recursive=True)) if not Path(match).is_dir()]  # noqa: PTH207
        if not matches:
            raise file_error(remote.short_url(name), "no file matches")
        return [_local_file(match, format) for match in matches]
    if path.is_dir():
        return _expand_folder(path, format, excluded, several=several)
    return [_local_file(name, format)]


def _find_format(name: str, path: str, format: Format | None) -> Format:
    """Return the format of a file by its path, unless a format is given."""
    if (format := format or format_of(path)) is None:
        allowed = ", ".join(get_args(Format))
        if path.endswith((".npy", ".npz")):
            reason = "is an array; in Python, nearkin.dedup(numpy.load(file)) deduplicates vectors, and "
            raise file_error(name, f"{reason}nearkin.report.Run.from_texts(result, texts) makes their report")
        raise file_error(name, f"unknown file extension; rename it, or give format=, one of {allowed}")
    return format


def _remote_file(url: str, path: str, format: Format | None) -> tuple[Format, InputFile]:
    name = remote.short_url(url)
    file = InputFile(name, None, compression_of(path), regular=False, document=remote.document_id(url), url=url)
    return _find_format(name, path, format), file


def _local_file(name: str, format: Format | None) -> tuple[Format, InputFile]:
    regular = check_stream(name)
    format = _find_format(name, name, format if regular else format or format_of(name) or "jsonl")
    if not name.isprintable() and format == "files" and (reason := _check_id(name)):
        raise file_error(repr(name), reason)
    document = _to_id(name) if format == "files" else ""
    return format, InputFile(name, Path(name), compression_of(name), regular, document=document)


def _to_id(path: str) -> str:
    """Convert a path to an id, which is separated by / on every system."""
    return path.replace(os.sep, "/")


def _check_id(document: str) -> str:
    """Return the reason why a path cannot be an id; empty if it can."""
    try:
        document.encode()
    except UnicodeEncodeError:
        return "the file's name is not UTF-8; rename it"
    if "\n" in document or "\r" in document:
        return "the file's name has a line break, which a list of kept files cannot contain; rename it"
    return ""


def _expand_folder(
    folder: Path, format: Format | None, excluded: ExcludedFolders, *, several: bool
) -> list[tuple[Format, InputFile]]:
    names = sorted(_walk(str(folder), excluded), key=os.fsencode)
    if not names:
        raise file_error(str(folder), "the folder has no files")
    expected = _TABLE_FORMATS if format is None else (format,)
    chosen = [name for name in names if format_of(name) in expected]
    if format == "files" or (format is None and not chosen):
        return [("files", _document_file(name, folder, several=several)) for name in names]
    if not chosen:
        raise file_error(str(folder), f"the folder has no {format} files")
    others = (name for name in names if format_of(name) not in expected and not _MARKERS.fullmatch(Path(name).name))
    if format is None and len(set(map(format_of, chosen))) == 1 and (name := next(others, "")):
        own, first = format_of(name) or "of no known format", format_of(chosen[0])
        raise file_error(name, f"is {own}, while {chosen[0]} is {first}; format='{first}' reads these alone")
    return [_local_file(name, format) for name in chosen]


def _document_file(name: str, folder: Path, *, several: bool) -> InputFile:
    """Return a file of a folder whose files are documents; with several inputs the id starts with the folder."""
    document = os.path.relpath(name, folder)
    document = os.path.join(folder, document) if several else document  # noqa: PTH118
    rejection = "" if document.isprintable() else _check_id(document)
    shown = printable(name) if rejection else name
    return InputFile(
        shown, Path(name), compression_of(name), regular=True, document=_to_id(document), rejection=rejection
    )


def _walk(folder: str, excluded: ExcludedFolders) -> Iterator[str]:
    """Iterate over the visible files below a folder."""

    def fail(error: OSError) -> None:
        raise error

    for parent, folders, files in os.walk(folder, onerror=fail):
        if excluded.contains(parent):
            folders[:] = []
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [os.path.join(parent, name) for name in files if not name.startswith(".")]  # noqa: PTH118
        yield from filter(os.path.isfile, paths)
