"""The exception tree: every error that nearkin raises on purpose.

```
NearkinError
├── ParameterError (ValueError)      an argument outside its range
├── MismatchError (ValueError)       two things made differently meet: bits, family, seed, recipe
├── InputError (ValueError)          a record or file that can't be read
├── OutputError (OSError)            output that could not be put in its place
├── NotFittedError (ValueError)      a family or index that has not seen `fit`
├── ForkError (RuntimeError)         an object that another thread was using when the process forked
├── StoreError
│   ├── FormatVersionError           a file from a newer nearkin
│   ├── CorruptStoreError            a file that is not what its header says
│   └── StoreLockedError             a store that another process writes, or reads while it is erased
├── EngineError (RuntimeError)       a cluster that can't run the job: too old, without nearkin, without the folder
├── ServiceError (OSError)           a service that can't be reached, or does not do what it was asked
└── MissingExtraError (ImportError)  an optional package that is not installed
```

A message says what was found, what is allowed and how to mend it; the same values are in `context` and are
attributes of the exception.
"""

from __future__ import annotations

import operator
import os
import stat
import sys
import warnings
from pathlib import Path
from typing import Any


class NearkinError(Exception):
    """Base of every error that nearkin raises on purpose.

    Parameters
    ----------
    message : str
        Found, allowed, mend, in one line.
    **context
        The values that the message mentions; each is an attribute of the exception.

    Examples
    --------
    >>> from nearkin.errors import ParameterError
    >>> error = ParameterError("radius=70 is not allowed; use 0 to bits=64", name="radius", found=70)
    >>> error.found
    70
    """

    def __init__(self, message: str, **context: Any) -> None:
        super().__init__(message)
        self.message = message
        self.context = context

    def __getattr__(self, name: str) -> Any:
        context = self.__dict__.get("context", {})
        if name in context:
            return context[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.message, self.context))


def _rebuild(kind: type[NearkinError], message: str, context: dict[str, Any]) -> NearkinError:
    return kind(message, **context)


class ParameterError(NearkinError, ValueError):
    """An argument outside its range. Attributes: name, found, allowed."""


class MismatchError(NearkinError, ValueError):
    """Two things that were made differently meet. Attributes: what, left, right."""


class InputError(NearkinError, ValueError):
    """A record or a file that can't be read. Attributes: place, reason.

    Where an argument would make the call take it, `remedy` names that argument, such as "strict=False".
    """


class OutputError(NearkinError, OSError):
    """Output that could not be put in its place whole; the message says what is there now.

    Attributes: place; in_place ("old": what was there before, or nothing; "new": the new output; "other": something
    else); errno, the system's number, or None.
    """

    def __init__(self, message: str, **context: Any) -> None:
        super().__init__(message, **context)
        # OSError has an attribute of this name, which hides what is in the context.
        self.errno = context.get("errno")


class NotFittedError(NearkinError, ValueError):
    """A family or an index that is asked before `fit`. Attributes: family."""


class ForkError(NearkinError, RuntimeError):
    """An object that another thread of the parent was using when this process was forked from it.

    In the child that thread does not exist: what it was changing stays half changed. Open or build the object again in
    the child, or start children by "spawn" or "forkserver".
    """


class EngineError(NearkinError, RuntimeError):
    """A cluster that can't run a job, or did not end it. Attributes: reason."""


class StoreError(NearkinError):
    """A file or store of nearkin's own that can't be used."""


class FormatVersionError(StoreError):
    """A file of a format version that this nearkin does not read. Attributes: found, newest."""


class CorruptStoreError(StoreError):
    """A file that is not what its header says. Attributes: place, reason."""


class StoreLockedError(StoreError):
    """A store that another process is writing; or reading, while a merge has to erase. Attributes: place."""


class ServiceError(NearkinError, OSError):
    """A service that can't be reached, or that does not do what it was asked; the message says what to do.

    Attributes: url; status, the HTTP status, or None without an answer; slug, the kind of the problem, such as "busy",
    or None; unknown, whether the answer to a change was lost, so that nobody here knows if it was made; errno, the
    system's number (`ENOSPC` where the service's disk is full), or None.
    """

    def __init__(self, message: str, **context: Any) -> None:
        super().__init__(message, **context)
        self.errno = context.get("errno")


class MissingExtraError(NearkinError, ImportError):
    """An optional package that is not installed. Attributes: extra, package."""


class ConvergenceWarning(UserWarning):
    """A fit that stopped before it reached its tolerances; what it learned is usable."""


class LongVectorsWarning(UserWarning):
    """Inner products of vectors of which a few are much longer than the others; little of the others is found."""


class ForgottenTuningWarning(UserWarning):
    """A fit that replaces settings that `tune` chose."""


def printable(text: str, *, keep: str = "") -> str:
    r"""A text that any terminal takes: lone surrogates, control and formatting characters escaped.

    Parameters
    ----------
    text : str
        Keys, names of files and columns, texts, or messages that quote them. They may hold what a terminal acts on:
        escape sequences, carriage returns, marks that turn the direction of writing.
    keep : str, default ""
        Characters that are left as they are: ends of lines of what is several lines.

    Examples
    --------
    >>> from nearkin.errors import printable
    >>> printable("a\tb\x1b[31m")
    'a\\tb\\x1b[31m'
    """
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def bad_parameter(name: str, found: object, allowed: str) -> ParameterError:
    """The ParameterError for argument `name`, worded as the compiled core words it.

    Parameters
    ----------
    name : str
        The argument's name.
    found : object
        What was given.
    allowed : str
        What the message recommends.

    Returns
    -------
    ParameterError
    """
    return ParameterError(f"{name}={found} is not allowed; use {allowed}", name=name, found=found, allowed=allowed)


def mismatch(what: str, left: object, right: object) -> MismatchError:
    """The MismatchError for property `what`, worded as the compiled core words it.

    Parameters
    ----------
    what : str
        The property that differs.
    left, right : object
        Its two values.

    Returns
    -------
    MismatchError
    """
    return MismatchError(
        f"{what} differs: {left} against {right}; compare only what was made alike", what=what, left=left, right=right
    )


def check_count(name: str, value: object, least: int, most: int, allowed: str) -> int:
    """A whole number from `least` to `most` (inclusive), given as any integer type but bool.

    Parameters
    ----------
    name : str
        The argument's name, for the message.
    value : object
        What was given.
    least, most : int
        Bounds, inclusive.
    allowed : str
        What the message recommends.

    Returns
    -------
    int

    Raises
    ------
    ParameterError
        Anything else; `allowed` is what the message recommends.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # What has no __index__ is refused below.
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise bad_parameter(name, repr(value) if number is None or isinstance(value, bool) else number, allowed)
    return number


def check_regular(path: str | os.PathLike[str], expected: str = "a file that `save` has written") -> None:
    """Refuse a named pipe, socket, device or folder, whose opening may wait for ever, before it is opened.

    Parameters
    ----------
    path : path
        What is not there is left to the call that opens it.
    expected : str, default "a file that `save` has written"
        What the message recommends.

    Raises
    ------
    InputError
        The path is one of these; the message says which.
    """
    check_name(path)
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode):
        place, reason = os.fsdecode(path), f"is {kind_of_file(mode)}; give {expected}"
        raise InputError(f"{place}: {reason}", place=place, file=place, reason=reason)


def impossible_name(path: str | os.PathLike[str]) -> InputError | None:
    """The error for the name of a file that no system call takes: one with a NUL byte; None for any other.

    Parameters
    ----------
    path : path
        The name of a file.

    Returns
    -------
    InputError or None
    """
    name = os.fsdecode(path)
    if "\0" not in name:
        return None
    place, reason = printable(name), "the name has a NUL byte, as no file's has"
    return InputError(f"{place}: {reason}", place=place, file=name, reason=reason)


def check_name(path: str | os.PathLike[str]) -> None:
    """Refuse the name of a file or folder that no system call takes, before anything is done.

    Parameters
    ----------
    path : path
        Where something is to be written or opened.

    Raises
    ------
    InputError
        The name has a NUL byte.
    """
    if (fault := impossible_name(path)) is not None:
        raise fault


def warn_caller(message: str, kind: type[Warning] = RuntimeWarning) -> None:
    """Warn at the line outside of this package that led here, however many calls lie between.

    Parameters
    ----------
    message : str
    kind : type, default RuntimeWarning
    """
    own, level = __name__.partition(".")[0], 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == own:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


def kind_of_file(mode: int) -> str:
    """What a file that is not regular is, by its `st_mode`."""
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    return next((name for is_kind, name in kinds if is_kind(mode)), "a device")
