"""`nearkin ssdeep compat`: the flags and the output of the program ssdeep 2.14.1, for scripts that call it.

    ssdeep [-m LIST]... [-k LIST]... [-dpxgcbrlsav] [-t SCORE] [-h | -V] [FILE]...

Called by the name `ssdeep`, through a symbolic link, the command takes these flags at once. Standard output is the
program's, line by line; messages go to standard error in words of our own. Exit codes: 0 done, whatever was found or
left out; 1 flags that don't go together, or no list of known digests that can be read.

Modes: digests of FILEs, by default; of each FILE what it matches among lists (`-m`) and earlier FILEs (`-d`); all
matches of each (`-p`); FILEs as lists against lists (`-k`) or each other (`-x`). Only scores above `-t` count, all of
them with `-a`. `-g` writes clusters instead of matches: whatever chains of matches join.

What differs from the program:

- `-` is standard input, named stdin, as it is without any FILE.
- Named pipes, devices and files that hide their length are left out with a message; the program waits, or writes an
  empty digest.
- A score that is no number from 0 to 100 is refused; the program takes it for 0.
- Clusters are ordered by size and first member. With `-g -m` the program writes memory that it has freed for names.
- A digest in a list that can't be read is left out with its line; the program says so at each comparison.

A comparison of each with all goes through `nearkin.DigestIndex`. Tests: `tests/cli/test_ssdeep_compat.py`, beside the
program itself.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from nearkin.cli.console import FAILURE, data_out, read_input, say, warn
from nearkin.errors import InputError, NearkinError

__all__ = ["compat"]

VERSION = "2.14.1"
"""The version whose flags and output these are."""

USAGE = """\
The program ssdeep 2.14.1, as nearkin does it.

Usage: ssdeep [FLAGS] [FILE]...     digests of FILEs, or of standard input

  -m LIST   what FILEs match in a list of known digests; may be repeated
  -k LIST   what FILEs, which are lists, match in a list; may be repeated
  -x        what FILEs, which are lists, match in each other
  -d        what each FILE matches among those before it
  -p        all matches of each FILE
  -g        clusters instead of matches
  -t SCORE  only matches that score more, 0 to 100; 0 if it is not given
  -a        all comparisons, whatever they score
  -c        matches as comma-separated values
  -r        files below folders, too
  -l        names as they were given
  -b        names without folders
  -s        no messages
  -v        the name of each file as it is hashed, on standard error
  -h        this text
  -V        the version whose output this is"""

_FLAGS, _VALUED = "mkdpxgtacrlbsvhV", "mkt"
_HEADERS = (b"ssdeep,1.1--blocksize:hash:hash,filename", b"ssdeep,1.0--blocksize:hash:hash,filename")
# Files that are hashed by one parallel call.
_BATCH = 128
# Below this length a digest has too few pieces to be meaningful.
_SHORT = 4096
_STDIN = "stdin"


class _WrongFlagsError(Exception):
    """Flags that don't go together; the message says which."""


class _Entry(NamedTuple):
    """A digest, the name of its file, and the list that both are from, if any."""

    digest: bytes
    name: str
    source: str = ""

    @property
    def shown(self) -> str:
        return f"{self.source}:{self.name}" if self.source else self.name

    def is_of(self, other: _Entry) -> bool:
        """Whether this is one file with `other`, however often it was given: of its name and digest, and its list.

        A file that was hashed is that of its name in any list; what a list has is not the file that was hashed.
        """
        return self[:2] == other[:2] and self.source in ("", other.source)


@dataclass
class _Call:
    """The flags of a call, and what it has met."""

    flags: set[str] = field(default_factory=set)
    known: list[str] = field(default_factory=list)
    threshold: int = 0
    hashed: int = 0
    longest: int = 0

    def has(self, flag: str) -> bool:
        return flag in self.flags

    def tell(self, message: object) -> None:
        """Write a message unless none are wanted."""
        if not self.has("s"):
            warn(str(message))

    def check(self) -> None:
        """Refuse flags that don't go together.

        Raises
        ------
        _WrongFlagsError
            Names them.
        """
        lists = [flag for flag in "kx" if self.has(flag)]
        files = [flag for flag in "mdp" if self.has(flag)]
        for left, right in (("b", "l"), ("d", "p"), ("c", "g")):
            if self.has(left) and self.has(right):
                raise _WrongFlagsError(f"-{left} and -{right} exclude each other; give one of them")
        if lists and files:
            raise _WrongFlagsError(f"-{files[0]} hashes files and -{lists[0]} reads lists; give one of them")


def compat(arguments: Sequence[str]) -> int:
    """Run the command with the program's flags.

    Parameters
    ----------
    arguments : sequence of str
        Flags and names of files, in any order.

    Returns
    -------
    int
        The exit code.
    """
    call = _Call()
    try:
        names: list[str] = []
        for flag, value in _flags(arguments, names):
            call.flags.add(flag)
            if flag in "hV":
                say(USAGE if flag == "h" else VERSION)
                return 0
            if flag == "t":
                call.threshold = _score(value)
            elif flag in "mk":
                call.known.append(value)
        call.check()
        _Matching(call).run(names or ["-"], piped=not names)
    except _WrongFlagsError as error:
        call.tell(error)
        return FAILURE
    if call.hashed and call.longest < _SHORT:
        call.tell(f"no file has {_SHORT} bytes or more; digests of fewer say little")
    return 0


def _flags(arguments: Sequence[str], names: list[str]) -> Iterator[tuple[str, str]]:
    """Flags with their values, one after the other, as getopt reads them; `names` takes what is no flag.

    Raises
    ------
    _WrongFlagsError
        A flag that there is not, or without its value.
    """
    left = iter(arguments)
    for word in left:
        if word == "--":
            names += left
        elif word == "-" or not word.startswith("-"):
            names.append(word)
        else:
            for at, flag in enumerate(word[1:], 2):
                if flag not in _FLAGS:
                    raise _WrongFlagsError(f"{word}: there is no flag -{flag}; -h lists the flags")
                if flag not in _VALUED:
                    yield flag, ""
                    continue
                value = word[at:] or next(left, None)
                if value is None:
                    raise _WrongFlagsError(f"-{flag} has no value; -h lists the flags")
                yield flag, value
                break


def _score(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 100:
        raise _WrongFlagsError(f"-t {text}: a score is a number from 0 to 100")
    return int(text)


class _Matching:
    """One run: known digests, and what is written of files beside them."""

    def __init__(self, call: _Call) -> None:
        from nearkin.index.digests import DigestIndex

        self._call = call
        self._out = data_out()
        self._known: list[_Entry] = []
        self._index = DigestIndex(strict=False)
        self._edges: list[tuple[int, int]] = []
        self._headed = False

    def run(self, names: Sequence[str], *, piped: bool) -> None:
        """Do what the flags say; `piped` if no file was named."""
        call = self._call
        read = [self._load(name) for name in call.known]
        if read and not any(read):
            raise _WrongFlagsError("none of the lists could be read; give one that ssdeep has written")
        # The program takes standard input for a file in every mode: it does not read lists from there.
        if piped and (call.has("x") or call.has("k")):
            self._write_digests(self._hash(names))
        elif call.has("x"):
            for name in names:
                self._load(name)
            self._write_all()
        elif call.has("k"):
            self._match((entry for name in names for entry in self._entries(name) or ()), add=call.has("g"))
        elif call.has("p"):
            self._add(self._hash(names))
            self._write_all()
        elif call.has("m") or call.has("d"):
            self._match(self._hash(names), add=call.has("d") or call.has("g"))
        else:
            self._write_digests(self._hash(names))
        self._out.flush()

    # What is compared

    def _hash(self, names: Iterable[str]) -> Iterator[_Entry]:
        """Digest and shown name of each file."""
        from nearkin.digests import ssdeep

        batch: list[str] = []

        def hashed() -> Iterator[_Entry]:
            for path, digest in zip(batch, ssdeep.hash_files(batch, on_error="return"), strict=True):
                if isinstance(digest, Exception):
                    self._call.tell(digest)
                    continue
                self._note(_length(path))
                yield _Entry(digest.encode(), path.rpartition("/")[2] if self._call.has("b") else path)
            batch.clear()

        for name in names:
            if name == "-":
                yield from hashed()
                yield self._standard_input()
                continue
            for path in self._files(name if self._call.has("l") else os.path.abspath(name)):  # noqa: PTH100 - links stay
                if self._call.has("v"):
                    warn(f"hashing {path}")
                batch.append(path)
                if len(batch) == _BATCH:
                    yield from hashed()
        yield from hashed()

    def _standard_input(self) -> _Entry:
        from nearkin.digests import ssdeep

        hasher = ssdeep.Hasher()
        while data := sys.stdin.buffer.read(1 << 20):
            hasher.update(data)
        self._note(hasher.total)
        return _Entry(hasher.digest().encode(), _STDIN)

    def _note(self, length: int) -> None:
        self._call.hashed += 1
        self._call.longest = max(self._call.longest, length)

    def _files(self, name: str) -> Iterator[str]:
        """The files that a name stands for, in the order in which the system lists folders, links followed."""
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
                found = os.stat(path)  # noqa: PTH116 - a pathlib.Path would change how the name is written
                if not stat.S_ISDIR(found.st_mode):
                    yield path
                    continue
                if not self._call.has("r"):
                    self._call.tell(f"{path}: is a folder; -r takes the files below it")
                    continue
                place = (found.st_dev, found.st_ino)
                if any(place == above for above, _ in stack):
                    self._call.tell(f"{path}: leads back to a folder above it")
                    continue
                with os.scandir(path) as entries:
                    below = [f"{path}/{entry.name}" for entry in entries]
            except OSError as error:
                self._call.tell(f"{path}: {error.strerror or error}")
                continue
            stack.append((place, paths))
            paths = iter(below)

    def _entries(self, name: str) -> list[_Entry] | None:
        """The entries of a list; None, with a message, if it can't be read."""
        try:
            lines = read_input(name).split(b"\n")
        except (NearkinError, OSError) as error:
            self._call.tell(f"{name}: {getattr(error, 'strerror', None) or error}")
            return None
        if lines[0].rstrip(b"\r") not in _HEADERS:
            self._call.tell(f"{name}: is no list of ssdeep: its first line is not {_HEADERS[0].decode()}")
            return None
        found = []
        for number, line in enumerate(lines[1:], 2):
            entry = _entry(line.rstrip(b"\r"), name)
            if isinstance(entry, _Entry):
                found.append(entry)
            elif entry:
                self._call.tell(f"{name}, line {number}: {entry}")
        return found

    def _load(self, name: str) -> bool:
        """Take the entries of a list among the known ones; False if it can't be read."""
        entries = self._entries(name)
        self._add(entries or ())
        return entries is not None

    def _add(self, entries: Iterable[_Entry]) -> None:
        added = list(entries)
        self._known += added
        self._index.add(None, [entry.digest for entry in added])

    # What is written

    def _write_digests(self, entries: Iterable[_Entry]) -> None:
        """A list, whose header comes with its first entry."""
        from nearkin.digests import ssdeep

        head = ssdeep.write_list([])
        for entry in entries:
            line = ssdeep.write_list([(entry.digest.decode(), entry.name)])
            self._out.write(line[len(head) if self._headed else 0 :])
            self._headed = True

    def _matches(self, digest: bytes) -> list[tuple[int, int]]:
        """Place and score of what matches among the known, in their order."""
        from nearkin.digests import ssdeep

        if self._call.has("a"):
            scores = ssdeep.compare_many(digest, [entry.digest for entry in self._known], strict=False)
            return list(enumerate(scores.tolist()))
        if self._call.threshold == 100:
            return []
        found = self._index.search([digest], self._call.threshold + 1)
        return sorted(zip(found.ids.tolist(), found.scores.tolist(), strict=True))

    def _match(self, entries: Iterable[_Entry], *, add: bool) -> None:
        """What each entry matches among the known, to which it is added then."""
        for entry in entries:
            matches = self._matches(entry.digest)
            if add:
                self._edges += [(len(self._known), place) for place, _ in matches]
                self._add([entry])
            if not self._call.has("g"):
                self._write_matches(entry, matches)
        if self._call.has("g"):
            self._write_clusters(least=1)

    def _write_all(self) -> None:
        """Of each known entry what it matches among the others; an empty line ends what one matches."""
        for at, entry in enumerate(self._known):
            matches = [found for found in self._matches(entry.digest) if not entry.is_of(self._known[found[0]])]
            self._edges += [(at, place) for place, _ in matches]
            if matches and not self._call.has("g"):
                self._write_matches(entry, matches)
                self._out.write(b"\n")
        if self._call.has("g"):
            self._write_clusters(least=2)

    def _write_matches(self, entry: _Entry, matches: Iterable[tuple[int, int]]) -> None:
        for place, score in matches:
            other = self._known[place]
            if self._call.has("c"):
                line = f"{_quoted(entry.name)},{_quoted(other.name)},{score}\n"
            else:
                line = f"{entry.shown} matches {other.shown} ({score})\n"
            self._out.write(os.fsencode(line))

    def _write_clusters(self, least: int) -> None:
        """What chains of matches join, of at least `least` entries, the largest first."""
        above = list(range(len(self._known)))

        def top(place: int) -> int:
            while above[place] != place:
                above[place] = above[above[place]]
                place = above[place]
            return place

        for left, right in self._edges:
            first, second = sorted((top(left), top(right)))
            above[second] = first
        members: dict[int, list[str]] = {}
        for place, entry in enumerate(self._known):
            members.setdefault(top(place), []).append(entry.name)
        for names in sorted(members.values(), key=len, reverse=True):
            if len(names) >= least:
                self._out.write(os.fsencode("\n".join([f"** Cluster size {len(names)}", *names, "", ""])))


def _length(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - as above
    except OSError:
        return 0


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'


def _entry(line: bytes, source: str) -> _Entry | str:
    """The entry of a line, read as the program reads it, or what is wrong with it; nothing with an empty line.

    The digest ends at the first comma. A name stands behind it between quotation marks, of which the program looks for
    the second one alone.
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
