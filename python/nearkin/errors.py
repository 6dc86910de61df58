"""Exceptions and warnings of nearkin, and the checks of arguments that raise them.

```
NearkinError
├── ParameterError (ValueError)      an argument is out of range
│   └── UnknownOptionError (TypeError)   a function has no option of this name
├── MismatchError (ValueError)       two objects have different bits, families, seeds or recipes
├── InputError (ValueError)          a record or file cannot be read
│   └── NoDigestError                an input is too short or too plain for a TLSH digest
├── MissingFileError (FileNotFoundError)  a file, folder or store does not exist
├── OutputError (OSError)            output could not be moved to its path
├── NotFittedError (ValueError)      a family or index needs `fit` first
├── ForkError (RuntimeError)         another thread was using the object when the process forked
├── StoreError
│   ├── FormatVersionError           a newer nearkin wrote the file
│   ├── CorruptStoreError            a file is damaged
│   ├── StoreLockedError             another process is using the store
│   └── StoreReplacedError           the folder of an open store was replaced, moved or removed
├── EngineError (RuntimeError)       a cluster cannot run the job
├── ServiceError (OSError)           a service cannot be reached, or refuses the request
└── MissingExtraError (ImportError)  an optional package is not installed
```

A message says what was found, what is allowed and how to mend it. Its values are in `context` and are attributes of
the exception.
"""

from __future__ import annotations

import errno
import math
import operator
import os
import stat
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class NearkinError(Exception):
    """Base class of the errors of nearkin.

    Parameters
    ----------
    message : str
        One line: what was found, what is allowed, how to mend it.
    **context
        Values of the message; each is an attribute of the exception.

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
    """Error of an argument that is out of range. Attributes: name, found, allowed."""


class UnknownOptionError(ParameterError, TypeError):
    """Error of a keyword that a function does not have. Attributes: name; likely, the most similar name or None."""


class MismatchError(NearkinError, ValueError):
    """Error of two objects that cannot be combined. Attributes: what, left, right."""


class InputError(NearkinError, ValueError):
    """Error of a record or file that cannot be read. Attributes: place, reason.

    If an argument would make the call accept it, `remedy` names the argument, such as "strict=False".
    """


class NoDigestError(InputError):
    """Error of an input that has no TLSH digest: too short, or too little variation. Attributes: place, reason."""


class MissingFileError(NearkinError, FileNotFoundError):
    """Error of a file, folder or store that does not exist. Attributes: place; errno; filename, the same as `place`."""

    def __init__(self, message: str, **context: Any) -> None:
        super().__init__(message, **context)
        # OSError has attributes of these names, which take precedence over __getattr__.
        self.errno = errno.ENOENT
        self.filename = context.get("place")

    def __str__(self) -> str:
        return self.message


class OutputError(NearkinError, OSError):
    """Error of output that could not be moved to its path completely; the message says what the path contains now.

    Attributes: place; in_place ("old": the previous content, or nothing; "new": the new output; "other": anything
    different); errno, the number of the system's error, or None.
    """

    def __init__(self, message: str, **context: Any) -> None:
        super().__init__(message, **context)
        # OSError has an attribute of this name, which takes precedence over __getattr__.
        self.errno = context.get("errno")


class NotFittedError(NearkinError, ValueError):
    """Error of a family or an index that needs `fit` first. Attributes: family."""


class ForkError(NearkinError, RuntimeError):
    """Error of an object that another thread of the parent was using when this process was forked.

    The thread does not exist in the child, so the change that it was making remains incomplete. Open or build the
    object again in the child, or start child processes by "spawn" or "forkserver".
    """


class EngineError(NearkinError, RuntimeError):
    """Error of a cluster that cannot run or finish a job. Attributes: reason."""


class StoreError(NearkinError):
    """Error of a file or store of nearkin that cannot be used."""


class FormatVersionError(StoreError):
    """Error of a file with a format that this nearkin does not read. Attributes: found, newest."""


class CorruptStoreError(StoreError):
    """Error of a damaged file. Attributes: place, reason."""


class StoreLockedError(StoreError):
    """Error of a store that another process writes, or reads while a merge must erase data. Attributes: place."""


class StoreReplacedError(StoreError):
    """Error of an open store whose folder or log was replaced, moved or removed; it refuses changes from then on.

    Attributes: place, the path that names something else now; reason.
    """


class ServiceError(NearkinError, OSError):
    """Error of a service that cannot be reached or refuses a request; the message says what to do.

    Attributes: url; status, the HTTP status, or None without a response; slug, the kind of the problem, such as "busy",
    or None; unknown, whether the response to a change was lost, so that the change may have been applied or not; errno,
    the number of the system's error (`ENOSPC` if the service's disk is full), or None.
    """

    def __init__(self, message: str, **context: Any) -> None:
        super().__init__(message, **context)
        self.errno = context.get("errno")


class MissingExtraError(NearkinError, ImportError):
    """Error of an optional package that is not installed. Attributes: extra, package."""


PUBLISHED = False
"""Is nearkin on the package index? A release sets this, and messages name the package in place of a checkout."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra, in backticks.

    Examples
    --------
    >>> from nearkin.errors import install_command
    >>> install_command("report")
    "`pip install '.[report]'` in the checkout of nearkin"
    """
    target, place = (f"nearkin[{extra}]", "") if PUBLISHED else (f".[{extra}]", " in the checkout of nearkin")
    return f"`pip install '{target}'`{place}"


@contextmanager
def require_extra(extra: str, what: str = "this module") -> Iterator[None]:
    """Raise MissingExtraError if an import in the block fails.

    Parameters
    ----------
    extra : str
        The extra of nearkin that installs the package.
    what : str, default "this module"
        What needs it.

    Examples
    --------
    >>> from nearkin.errors import require_extra
    >>> with require_extra("plot", "a chart"):  # doctest: +ELLIPSIS
    ...     import no_such_package
    Traceback (most recent call last):
    ...
    nearkin.errors.MissingExtraError: a chart needs no_such_package, which is not installed; run ...
    """
    try:
        yield
    except MissingExtraError:
        raise
    except ImportError as error:
        raise missing_extra(extra, (error.name or "a package").partition(".")[0], what) from error


def missing_extra(extra: str, package: str, what: str) -> MissingExtraError:
    """Return the error of something that needs a package of an extra."""
    package = {"sklearn": "scikit-learn", "jinja2": "Jinja2"}.get(package, package)
    message = f"{what} needs {package}, which is not installed; run {install_command(extra)}"
    return MissingExtraError(message, extra=extra, package=package)


class ConvergenceWarning(UserWarning):
    """Warning of a fit that stopped before it reached its tolerances; its result is usable."""


class LongVectorsWarning(UserWarning):
    """Warning of inner products if a few vectors are much longer than the others, which are rarely found then."""


class ForgottenTuningWarning(UserWarning):
    """Warning of a fit that replaces the parameters that `tune` chose."""


class UnmeasuredRecallWarning(UserWarning):
    """Warning of a search within a radius in partitions that `fit` chose: its recall is not guaranteed."""


def printable(text: str, *, keep: str = "") -> str:
    r"""Return a text that is safe in any terminal: lone surrogates, control and formatting characters are escaped.

    Parameters
    ----------
    text : str
        Keys, names of files and columns, texts, or messages that quote them. They may contain characters that control
        a terminal: escape sequences, carriage returns, marks that change the direction of writing.
    keep : str, default ""
        Characters to leave unchanged, such as line ends.

    Examples
    --------
    >>> from nearkin.errors import printable
    >>> printable("a\tb\x1b[31m")
    'a\\tb\\x1b[31m'
    """
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def excerpt(text: str, limit: int = 60) -> str:
    """Return the beginning of a text on one line of at most `limit` characters, safe in any terminal, for messages.

    Examples
    --------
    >>> from nearkin.errors import excerpt
    >>> excerpt("one two three", limit=10)
    'one two...'
    """
    line = printable(text[: limit + 1])
    return line if len(line) <= limit else line[: limit - 3].rstrip() + "..."


class CancelledWorkError(BaseException):
    """Work of a thread that another thread has cancelled. No `except Exception` takes it for an error."""


cancelled_threads: set[int] = set()
"""Identifiers of the threads whose work is to end."""


def check_cancelled() -> None:
    """Raise `CancelledWorkError` if the work of this thread is to end; kernels call it twenty times a second."""
    if cancelled_threads and threading.get_ident() in cancelled_threads:
        raise CancelledWorkError


def bad_parameter(name: str, found: object, allowed: str) -> ParameterError:
    """Return the error of an argument, with the message that the compiled module uses.

    Parameters
    ----------
    name : str
        Name of the argument.
    found : object
        Its value.
    allowed : str
        Allowed values.
    """
    return ParameterError(f"{name}={found} is not allowed; use {allowed}", name=name, found=found, allowed=allowed)


def unique_members(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object, for `object_pairs_hook`; Python would keep the last of two with one name.

    Raises
    ------
    ValueError
        Two members have one name.
    """
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"two members {next(name for name in names if names.count(name) > 1)!r} in one object")
    return members


def input_error(place: object, reason: str, mend: str = "", **context: Any) -> InputError:
    """Return the InputError for an input that can't be used.

    Parameters
    ----------
    place : object
        The file, row or argument, as the message names it.
    reason : str
        What was found, and how to mend it.
    mend : str, optional
        How to mend it, for the message alone.
    **context
        More attributes of the error.
    """
    message = f"{place}: {reason}; {mend}" if mend else f"{place}: {reason}"
    return InputError(message, place=str(place), reason=reason, **context)


def check_options(function: Callable[..., object], declared: type, options: Mapping[str, object]) -> None:
    """Raise UnknownOptionError for the first name in `**options` that their `TypedDict` does not declare.

    Parameters
    ----------
    function : function
        The function that was called.
    declared : type
        The `TypedDict` of its options.
    options : mapping
        Its `**options`.
    """
    names = declared.__annotations__
    for name in options:
        if name not in names:
            from difflib import get_close_matches

            known = [*getattr(function, "__kwdefaults__", ()), *names]
            likely = next(iter(get_close_matches(name, known, n=1)), None)
            hint = f"did you mean {likely}?" if likely else f"use {', '.join(known)}"
            raise UnknownOptionError(f"{function.__name__}() has no option {name}; {hint}", name=name, likely=likely)


def mismatch(what: str, left: object, right: object) -> MismatchError:
    """Return the error of two objects that differ, with the message that the compiled module uses.

    Parameters
    ----------
    what : str
        Property that differs.
    left, right : object
        Its values.
    """
    return MismatchError(
        f"{what} differs: {left} against {right}; compare only values that share it",
        what=what,
        left=left,
        right=right,
    )


def damaged(path: str | os.PathLike[str], reason: str) -> CorruptStoreError:
    """Return the error for a file with an invalid content."""
    place = os.fspath(path)
    return CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason)


def newer_format(found: int, newest: int) -> FormatVersionError:
    """Return the error for a file of a format version that this build does not read."""
    message = f"format version {found} is newer than {newest}, the newest that this build reads; upgrade nearkin"
    return FormatVersionError(message, found=found, newest=newest)


def refuse_data(name: str, value: object, allowed: str) -> None:
    """Raise ParameterError if an array, or another object with a length, takes the place of a parameter."""
    if hasattr(value, "__len__") and not isinstance(value, (str, Mapping)):
        shape = getattr(value, "shape", None)
        found = f"a {type(value).__name__}" if shape is None else f"an array of shape {shape}"
        raise bad_parameter(name, found, allowed)


def check_count(name: str, value: object, minimum: int, maximum: int, allowed: str) -> int:
    """Return an integer argument, of any integer type except bool, after checking its range.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : object
        Its value.
    minimum, maximum : int
        Bounds, inclusive.
    allowed : str
        Allowed values, for the message.

    Raises
    ------
    ParameterError
        The value is not an integer, or out of range.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # Other types are an error below.
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not minimum <= number <= maximum:
        found = excerpt(repr(value)) if number is None or isinstance(value, bool) else number
        raise bad_parameter(name, found, allowed)
    return number


def check_choice(name: str, value: object, *choices: str) -> None:
    """Raise ParameterError unless a value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        quoted = [f'"{choice}"' for choice in choices]
        raise bad_parameter(name, repr(value), f"{', '.join(quoted[:-1])} or {quoted[-1]}")


def check_number(name: str, value: object, allowed: str, valid: Callable[[float], bool]) -> float:
    """Return a finite number for which `valid` holds, after checking it."""
    try:
        if isinstance(value, (str, bytes, bytearray, bool)):
            raise TypeError
        number = float(value)  # type: ignore[arg-type]  # A TypeError is handled.
    except (TypeError, ValueError, OverflowError):
        raise bad_parameter(name, repr(value), allowed) from None
    if not (math.isfinite(number) and valid(number)):
        raise bad_parameter(name, value, allowed)
    return number


def check_share(name: str, value: object, allowed: str, valid: Callable[[float], bool]) -> float:
    """Return an integer or a float for which `valid` holds, after checking it; strings and booleans are errors."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not valid(value):
        raise bad_parameter(name, repr(value), allowed)
    return float(value)


def check_regular(path: str | os.PathLike[str], expected: str = "a file that `save` has written") -> None:
    """Check that an existing path is a regular file, because opening a pipe, socket or device may block.

    Parameters
    ----------
    path : path
        A path that does not exist is accepted.
    expected : str, default "a file that `save` has written"
        Expected file, for the message.

    Raises
    ------
    InputError
        The path is a folder, pipe, socket or device.
    """
    check_name(path)
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode):
        place = os.fsdecode(path)
        raise input_error(place, f"is {describe_file_type(mode)}; give {expected}", file=place)


def invalid_name_error(path: str | os.PathLike[str]) -> InputError | None:
    """Return the error of a file name that is always invalid; None for other names.

    Bytes that are not UTF-8 are valid on POSIX: `os.fsdecode` makes lone surrogates from U+DC80 to U+DCFF of them.
    """
    name = os.fsdecode(path)
    sign = "NUL byte" if "\0" in name else ""
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        sign = sign or f"lone surrogate, {name[error.start]!a}"
    if not sign:
        return None
    return input_error(printable(name), f"the name has a {sign}, which no file name can have", file=name)


def check_name(path: str | os.PathLike[str]) -> None:
    """Check that a file or folder can have this name.

    Raises
    ------
    InputError
        It has a NUL byte, or a lone surrogate that stands for no byte.
    """
    if (error := invalid_name_error(path)) is not None:
        raise error


def warn_caller(message: str, kind: type[Warning] = RuntimeWarning) -> None:
    """Issue a warning at the innermost line outside of this package.

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


def describe_file_type(mode: int) -> str:
    """Return the kind of a file that is not regular, by its `st_mode`."""
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"))
    return next((name for is_kind, name in kinds if is_kind(mode)), "a device")
