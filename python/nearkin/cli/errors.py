"""Errors in the words of the command line: its options in the place of Python's arguments, and nothing that Typer, the
system or the compiled core says in words of their own.

A usage error names what was given, what is allowed, and the command whose `-h` shows the options.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Sequence
from typing import Any

from nearkin.errors import InputError, ParameterError

# What errors call an argument of Python, and what this command line says instead.
_REMEDIES = {"strict=False": "add --lenient for old data", "max_malformed=": "allow more by --max-malformed"}
_ARGUMENT = re.compile(r"\b(encoding|format|max_malformed|missing_ok|overwrite)=(?:'([^']*)'|True\b)?")
_SAVED = ("a file that `save` has written", "an index, as `nearkin index build` writes it")
_NO_FILE = "no such file or folder"
# What Rust adds to the system's message.
_OS_NUMBER = re.compile(r" \(os error \d+\)")
_NO_TEXT = re.compile(r"""\bno column ["']text["']; (?:the header|the file|this record) has [^;]*$""")
_OPEN = re.compile(r"open (.+?): ([A-Z].*)")


def worded(fault: object) -> str:
    """A fault in words, with its remedy as an option of this command line.

    Examples
    --------
    >>> from nearkin.cli.errors import worded
    >>> worded(FileNotFoundError(2, "No such file or directory", "a.jsonl"))
    'a.jsonl: no such file or folder'
    >>> worded("is UTF-16; give encoding='utf-16', or format='txt'")
    'is UTF-16; give --encoding utf-16, or --format txt'
    >>> worded("a.csv, line 1: no column 'text'; the header has id, body")
    "a.csv, line 1: no column 'text'; the header has id, body; name yours by --text-column"
    """
    if isinstance(fault, InputError) and (remedy := _REMEDIES.get(fault.context.get("remedy", ""))):
        return _with_options(f"{fault.place}: {fault.reason}, or {remedy}")
    if isinstance(fault, OSError) and fault.strerror:
        return _of_system(fault)
    told = _with_options(str(fault))
    # Nobody has named the column that is missing.
    return f"{told}; name yours by --text-column" if _NO_TEXT.search(told) else told


def _with_options(text: str) -> str:
    """A message whose remedies are options."""

    def option(match: re.Match[str]) -> str:
        value = f" {match[2]}" if match[2] else ""
        return f"--{match[1].replace('_', '-')}{value}"

    told = _ARGUMENT.sub(option, text.replace(*_SAVED)).replace("--overwrite (--overwrite)", "--overwrite")
    return re.sub(r",? or None\b", ", or leave it out", told)


def _of_system(error: OSError) -> str:
    """What the system says of a file: its name, then what is wrong."""
    reason = _OS_NUMBER.sub("", str(error.strerror))
    name = error.filename
    if name is None:
        # The core's messages name the file themselves.
        match = _OPEN.fullmatch(reason)
        if match is None:
            return reason.replace("No such file or directory", _NO_FILE)
        name, reason = match[1], match[2]
    if error.errno == errno.ENOENT:
        reason = reason.replace("No such file or directory", _NO_FILE)
    name = name if isinstance(name, str) else str(getattr(name, "decode", lambda: name)())
    return f"{name}: {reason[:1].lower()}{reason[1:]}"


def told(error: BaseException, parameters: Iterable[Any], words: Sequence[str]) -> str:
    """What ended a call; a ParameterError by the option that was given for the argument.

    Parameters
    ----------
    error : exception
    parameters : iterable of Typer's parameters
        Those of the command that was called.
    words : sequence of str
        What was given.
    """
    context = error.context if isinstance(error, ParameterError) else {}
    name, found, allowed = context.get("name"), context.get("found"), context.get("allowed")
    if name is None or allowed is None:
        return worded(error)
    allowed = _with_options(str(allowed))
    if found is None or str(found).lower() == "none":
        return f"no {str(name).replace('_', ' ')} given; use {allowed}"
    long = f"--{str(name).replace('_', '-')}"
    named = [one for one in parameters if one.name == name or long in one.opts]
    if not named:
        # A slot of a recipe, say.
        return worded(error)
    options = [max(one.opts, key=len) for one in named if one.param_type_name == "option" and _is_given(one, words)]
    option = options[0] if options else str(name).replace("_", " ")
    if str(found) == "given":
        return f"{option}: {allowed}" if allowed.startswith("not ") else f"{option} is not allowed; use {allowed}"
    return f"{option} {found} is not allowed; use {allowed}"


def told_usage(error: Any, path: str, words: Sequence[str]) -> str:
    """What Typer refuses about the words of a call, told as other errors are.

    Parameters
    ----------
    error : exception of Typer
        Known by the name of its class, since Typer has had several parsers.
    path : str
        The command, such as "nearkin index build".
    words : sequence of str
        What was given.
    """
    return f"{_usage(error, words)}; `{path} -h` shows what there is"


def _usage(error: Any, words: Sequence[str]) -> str:
    kind, message = type(error).__name__, str(getattr(error, "message", "") or "")
    parameter = getattr(error, "param", None)
    if kind == "NoSuchOption":
        likely = list(getattr(error, "possibilities", None) or [])
        return f"there is no option {error.option_name}" + (f"; did you mean {' or '.join(likely)}?" if likely else "")
    if kind == "BadOptionUsage":
        return f"{error.option_name} takes no value" if "not take" in message else f"{error.option_name} needs a value"
    if kind == "MissingParameter" and parameter is not None:
        return f"{_name_of(parameter)} is missing"
    if kind == "BadParameter" and parameter is not None:
        return f"{_name_of(parameter)} {_given(parameter, words)} is not allowed; use {_allowed(parameter, message)}"
    if match := re.match(r"No such command '?([^']*?)'?\.(?: Did you mean (.*)\?)?$", message):
        likely_command = (match[2] or "").replace("'", "")
        return f"there is no command {match[1]}" + (f"; did you mean {likely_command}?" if likely_command else "")
    if match := re.search(r"unexpected extra arguments? ?(?:\(s\) )?\((.*)\)", message):
        return f"too many arguments: {match[1]}"
    return message[:1].lower() + message[1:].rstrip(".")


def _name_of(parameter: Any) -> str:
    """An option by its long form, an argument by its name in the help."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper())


def _is_given(parameter: Any, words: Sequence[str]) -> bool:
    """Whether an option is among the words of a call."""
    long = [form for form in parameter.opts if form.startswith("--")]
    short = [form for form in parameter.opts if not form.startswith("--")]
    return any(
        word in long or word.partition("=")[0] in long or any(word.startswith(form) for form in short) for word in words
    )


def _given(parameter: Any, words: Sequence[str]) -> str:
    """The last value that was given for an option."""
    found = ""
    for at, word in enumerate(words):
        for form in parameter.opts:
            if word == form and at + 1 < len(words):
                found = words[at + 1]
            elif word.startswith(f"{form}=") and form.startswith("--"):
                found = word.removeprefix(f"{form}=")
            elif len(form) == 2 and len(word) > 2 and word.startswith(form):
                found = word[2:]
    return found


def _allowed(parameter: Any, message: str) -> str:
    """What a value has to be, by what Typer says that it is not."""
    if match := re.search(r"is not one of (.*?)\.?$", message):
        return "one of " + match[1].replace("'", "")
    least, most = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if re.search(r"greater|less|range", message):
        return f"{least} to {most}" if most is not None and least is not None else f"{least} or more"
    if "integer" in message:
        return "a whole number" + (f" from {least} to {most}" if least is not None and most is not None else "")
    return "a number" if "number" in message or "float" in message else message.rstrip(".")
