"""`nearkin ssdeep compat`: the flags and the output of the program ssdeep 2.14.1, for scripts that call it.

    ssdeep [-m LIST]... [-k LIST]... [-dpxgcbrlsav] [-t SCORE] [-h | -V] [FILE]...

Under the name `ssdeep`, through a symbolic link, the command accepts these flags directly. Standard output equals that
of the program, line by line; the wording of messages on standard error differs. Exit codes: 0 success, with or without
matches and skipped files; 1 flags that exclude one another, or no readable list of known digests.

Modes: print the digests of FILEs (default); match each FILE against lists (`-m`) and earlier FILEs (`-d`); print all
matches of each FILE (`-p`); match FILEs that are lists against lists (`-k`) or one another (`-x`). Only scores above
`-t` count; with `-a` all of them do. `-g` prints clusters instead of matches: the connected components of all matches.

Differences from the program:

- `-` is standard input, named stdin, as is a call without a FILE.
- Named pipes, devices and files that hide their length are skipped with a message. The program waits, or writes an
  empty digest.
- A score must be a number from 0 to 100. The program reads anything else as 0.
- Clusters are ordered by size and first member. With `-g -m` the program prints names from memory that it has freed.
- An unreadable digest in a list is reported once, with its line. The program reports it at each comparison.

`nearkin.DigestIndex` finds the matches. `tests/cli/test_ssdeep_compat.py` compares the output with the program itself.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from nearkin.cli.console import FAILURE, binary_stdout, read_input, say, warn
from nearkin.errors import InputError, NearkinError

__all__ = ["run"]

VERSION = "2.14.1"
"""The version whose flags and output these are."""

USAGE = """\
A replacement of the program ssdeep 2.14.1 by nearkin.

Usage: ssdeep [FLAGS] [FILE]...     digests of FILEs, or of standard input

  -m LIST   match FILEs against a list of known digests; may be repeated
  -k LIST   match FILEs, which are lists, against a list; may be repeated
  -x        match FILEs, which are lists, against one another
  -d        match each FILE against those before it
  -p        all matches of each FILE
  -g        clusters instead of matches
  -t SCORE  only matches with a larger score, 0 to 100 (default: 0)
  -a        all comparisons, whatever their score
  -c        matches as comma-separated values
  -r        files below folders as well
  -l        names as given
  -b        names without folders
  -s        no messages
  -v        the name of each file when it is hashed, on standard error
  -h        this text
  -V        the version of ssdeep"""

_FLAGS, _VALUED = "mkdpxgtacrlbsvhV", "mkt"
_HEADERS = (b"ssdeep,1.1--blocksize:hash:hash,filename", b"ssdeep,1.0--blocksize:hash:hash,filename")
_BATCH = 128
"""Number of files that are hashed in one parallel call."""
_MIN_SIZE = 4096
"""Size in bytes below which a digest has too few pieces to be meaningful."""
_STDIN = "stdin"


class _FlagError(Exception):
    """Wrong flags; the message names them."""


class _Entry(NamedTuple):
    """A digest, the name of its file, and the list that both come from, if any."""

    digest: bytes
    name: str
    source: str = ""

    @property
    def label(self) -> str:
        return f"{self.source}:{self.name}" if self.source else self.name

    def is_same_file(self, other: _Entry) -> bool:
        """Return whether two entries are one file, with the same name and digest, that was listed twice.

        A hashed file is the same as the entry of its name in any list. An entry of a list is not a hashed file.
        """
        return self[:2] == other[:2] and self.source in ("", other.source)


class _ProgramRun:
    """One call: its flags, the known digests and the output."""

    def __init__(self) -> None:
        from nearkin.index.digests import DigestIndex

        self.flags: set[str] = set()
        self.lists: list[str] = []
        self.threshold = 0
        self._count = 0
        self._max_size = 0
        self._out = binary_stdout()
        self._known: list[_Entry] = []
        self._index = DigestIndex(strict=False)
        self._edges: list[tuple[int, int]] = []

    def parse(self, arguments: Sequence[str]) -> Iterator[str]:
        """Read flags in the way of getopt, and return the other words; stop at -h and -V.

        Raises
        ------
        _FlagError
            A flag is unknown, lacks its value, or has a wrong one.
        """
        rest = iter(arguments)
        for word in rest:
            if word == "--":
                yield from rest
            elif word == "-" or not word.startswith("-"):
                yield word
            else:
                for at, flag in enumerate(word[1:], 2):
                    if flag not in _FLAGS:
                        raise _FlagError(f"{word}: there is no flag -{flag}; -h lists the flags")
                    self.flags.add(flag)
                    if flag in "hV":
                        return
                    if flag in _VALUED:
                        value = word[at:] or next(rest, None)
                        if value is None:
                            raise _FlagError(f"-{flag} has no value; -h lists the flags")
                        self._set_value(flag, value)
                        break

    def _set_value(self, flag: str, value: str) -> None:
        if flag != "t":
            self.lists.append(value)
        elif value.isascii() and value.isdigit() and int(value) <= 100:
            self.threshold = int(value)
        else:
            raise _FlagError(f"-t {value}: a score is a number from 0 to 100")

    def warn(self, message: object) -> None:
        """Write a message, except with -s."""
        if "s" not in self.flags:
            warn(str(message))

    def run(self, names: Sequence[str]) -> None:
        """Check the flags, and do what they say.

        Raises
        ------
        _FlagError
            Flags exclude one another, or no list can be read.
        """
        flags = self.flags
        for left, right in (("b", "l"), ("d", "p"), ("c", "g")):
            if left in flags and right in flags:
                raise _FlagError(f"-{left} and -{right} exclude each other; give one of them")
        lists, files = ([flag for flag in kind if flag in flags] for kind in ("kx", "mdp"))
        if lists and files:
            raise _FlagError(f"-{files[0]} hashes files and -{lists[0]} reads lists; give one of them")
        readable = [self._load(name) for name in self.lists]
        if readable and not any(readable):
            raise _FlagError("none of the lists could be read; give one that ssdeep has written")
        # The program treats standard input as a file in every mode: it does not read lists from there.
        if not names and lists:
            self._write_digests(self._hash(["-"]))
        elif "x" in flags:
            for name in names:
                self._load(name)
            self._match_all()
        elif "k" in flags:
            self._match((entry for name in names for entry in self._read_list(name) or ()), add="g" in flags)
        elif "p" in flags:
            self._add(self._hash(names or ["-"]))
            self._match_all()
        elif flags & {"m", "d"}:
            self._match(self._hash(names or ["-"]), add=bool(flags & {"d", "g"}))
        else:
            self._write_digests(self._hash(names or ["-"]))
        self._out.flush()
        if self._count and self._max_size < _MIN_SIZE:
            self.warn(f"no file has {_MIN_SIZE} bytes or more; digests of smaller files say little")

    # Inputs

    def _hash(self, names: Iterable[str]) -> Iterator[_Entry]:
        """Return an entry for each file that can be read."""
        batch: list[str] = []
        for name in names:
            if name == "-":
                yield from self._hash_batch(batch)
                yield self._hash_stdin()
                continue
            for path in self._walk(name if "l" in self.flags else os.path.abspath(name)):  # noqa: PTH100 - keeps links
                if "v" in self.flags:
                    warn(f"hashing {path}")
                batch.append(path)
                if len(batch) == _BATCH:
                    yield from self._hash_batch(batch)
        yield from self._hash_batch(batch)

    def _hash_batch(self, batch: list[str]) -> Iterator[_Entry]:
        """Hash the files of a batch, and empty it."""
        from nearkin.digests import ssdeep

        for path, digest in zip(batch, ssdeep.hash_files(batch, on_error="return"), strict=True):
            if isinstance(digest, Exception):
                self.warn(digest)
                continue
            try:
                size = os.stat(path).st_size  # noqa: PTH116 - a pathlib.Path would change the name
            except OSError:
                size = 0
            self._count_file(size)
            yield _Entry(digest.encode(), path.rpartition("/")[2] if "b" in self.flags else path)
        batch.clear()

    def _hash_stdin(self) -> _Entry:
        from nearkin.digests import ssdeep

        hasher = ssdeep.Hasher()
        while data := sys.stdin.buffer.read(1 << 20):
            hasher.update(data)
        self._count_file(hasher.total)
        return _Entry(hasher.digest().encode(), _STDIN)

    def _count_file(self, size: int) -> None:
        self._count += 1
        self._max_size = max(self._max_size, size)

    def _walk(self, name: str) -> Iterator[str]:
        """Return the files of a name, in the order in which the system lists folders; follow links."""
        stack: list[tuple[tuple[int, int], Iterator[str]]] = []
        paths = iter([name])
        while True:
            path = next(paths, None)
            if path is None:
                if not stack:
                    return
                _, paths = stack.pop()
                continue
            try:
                status = os.stat(path)  # noqa: PTH116 - as above
                if not stat.S_ISDIR(status.st_mode):
                    yield path
                    continue
                if "r" not in self.flags:
                    self.warn(f"{path}: is a folder; -r takes the files below it")
                    continue
                folder = (status.st_dev, status.st_ino)
                if any(folder == above for above, _ in stack):
                    self.warn(f"{path}: leads back to a folder above it")
                    continue
                with os.scandir(path) as entries:
                    below = [f"{path}/{entry.name}" for entry in entries]
            except OSError as error:
                self.warn(f"{path}: {error.strerror or error}")
                continue
            stack.append((folder, paths))
            paths = iter(below)

    def _read_list(self, name: str) -> list[_Entry] | None:
        """Return the entries of a list; None, after a message, if it cannot be read."""
        try:
            lines = read_input(name).split(b"\n")
        except (NearkinError, OSError) as error:
            self.warn(f"{name}: {getattr(error, 'strerror', None) or error}")
            return None
        if lines[0].rstrip(b"\r") not in _HEADERS:
            self.warn(f"{name}: is no list of ssdeep: its first line is not {_HEADERS[0].decode()}")
            return None
        entries = []
        for number, line in enumerate(lines[1:], 2):
            entry = _parse_entry(line.rstrip(b"\r"), name)
            if isinstance(entry, _Entry):
                entries.append(entry)
            elif entry:
                self.warn(f"{name}, line {number}: {entry}")
        return entries

    def _load(self, name: str) -> bool:
        """Add the entries of a list to the known digests, and return whether the list could be read."""
        entries = self._read_list(name)
        self._add(entries or ())
        return entries is not None

    def _add(self, entries: Iterable[_Entry]) -> None:
        added = list(entries)
        self._known += added
        self._index.add(None, [entry.digest for entry in added])

    # Output

    def _write_digests(self, entries: Iterable[_Entry]) -> None:
        """Write a list, whose header precedes its first entry."""
        from nearkin.digests import ssdeep

        skip, head = 0, len(ssdeep.write_list([]))
        for entry in entries:
            self._out.write(ssdeep.write_list([(entry.digest.decode(), entry.name)])[skip:])
            skip = head

    def _matches(self, digest: bytes) -> list[tuple[int, int]]:
        """Return position and score of each known digest that matches, in order."""
        from nearkin.digests import ssdeep

        if "a" in self.flags:
            scores = ssdeep.compare_many(digest, [entry.digest for entry in self._known], strict=False)
            return list(enumerate(scores.tolist()))
        if self.threshold == 100:
            return []
        hits = self._index.search([digest], self.threshold + 1)
        return sorted(zip(hits.ids.tolist(), hits.scores.tolist(), strict=True))

    def _match(self, entries: Iterable[_Entry], *, add: bool) -> None:
        """Match each entry against the known digests, and then add it to them with `add`."""
        for entry in entries:
            matches = self._matches(entry.digest)
            if add:
                self._edges += [(len(self._known), other) for other, _ in matches]
                self._add([entry])
            if "g" not in self.flags:
                self._write_matches(entry, matches)
        if "g" in self.flags:
            self._write_clusters(min_size=1)

    def _match_all(self) -> None:
        """Match each known digest against the others; an empty line ends the matches of each."""
        for at, entry in enumerate(self._known):
            matches = [hit for hit in self._matches(entry.digest) if not entry.is_same_file(self._known[hit[0]])]
            self._edges += [(at, other) for other, _ in matches]
            if matches and "g" not in self.flags:
                self._write_matches(entry, matches)
                self._out.write(b"\n")
        if "g" in self.flags:
            self._write_clusters(min_size=2)

    def _write_matches(self, entry: _Entry, matches: Iterable[tuple[int, int]]) -> None:
        for at, score in matches:
            other = self._known[at]
            if "c" in self.flags:
                line = f"{_quote(entry.name)},{_quote(other.name)},{score}\n"
            else:
                line = f"{entry.label} matches {other.label} ({score})\n"
            self._out.write(os.fsencode(line))

    def _write_clusters(self, min_size: int) -> None:
        """Write the connected components of all matches, the largest first."""
        parents = list(range(len(self._known)))

        def find(at: int) -> int:
            while parents[at] != at:
                parents[at] = parents[parents[at]]
                at = parents[at]
            return at

        for left, right in self._edges:
            first, second = sorted((find(left), find(right)))
            parents[second] = first
        members: dict[int, list[str]] = {}
        for at, entry in enumerate(self._known):
            members.setdefault(find(at), []).append(entry.name)
        for names in sorted(members.values(), key=len, reverse=True):
            if len(names) >= min_size:
                self._out.write(os.fsencode("\n".join([f"** Cluster size {len(names)}", *names, "", ""])))


def run(arguments: Sequence[str]) -> int:
    """Run the command with the flags of the program, and return the exit code.

    Parameters
    ----------
    arguments : sequence of str
        Flags and names of files, in any order.
    """
    call = _ProgramRun()
    try:
        names = list(call.parse(arguments))
        if call.flags & {"h", "V"}:
            say(USAGE if "h" in call.flags else VERSION)
        else:
            call.run(names)
    except _FlagError as error:
        call.warn(error)
        return FAILURE
    return 0


def _quote(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'


def _parse_entry(line: bytes, source: str) -> _Entry | str:
    """Return the entry of a line, or what is wrong with it; an empty text for an empty line.

    As in the program, the digest ends at the first comma, and the name that follows is between quotation marks, of
    which only the second is required.
    """
    from nearkin.digests import ssdeep

    if not line:
        return ""
    digest, comma, rest = line.partition(b",")
    if (comma and not rest.endswith(b'"')) or (not comma and line.count(b":") < 2):
        return 'is no entry; it reads size:part:part,"name"'
    try:
        ssdeep.compare(digest, digest, strict=False)
    except InputError as error:
        return str(error)
    if not comma:
        return _Entry(digest, "[NO FILENAME]", source)
    return _Entry(digest, os.fsdecode(rest[1:-1].replace(b'\\"', b'"')), source)
