"""Error messages of the command line: options instead of Python's arguments, and one form for all sources.

Errors come from the library, from Typer, from the system and from the compiled core. A message of the command line
names the option with the value that was found, the values that are allowed, and the command whose `-h` lists the
options.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from nearkin.errors import InputError, ParameterError

_REMEDIES = {"strict=False": "add --lenient for old data", "max_malformed=": "allow more by --max-malformed"}
"""Arguments of Python that mend an error, and the advice that replaces them."""
_ARGUMENT = re.compile(
    r"\b(encoding|existing|format|max_malformed|missing_ok|overwrite)=(?:['\"]([^'\"]*)['\"]|True\b)?"
)
_SAVED = ("a file that `save` has written", "an index, as `nearkin index build` writes it")
_OPEN_STORE = ("open it with nearkin.Store.open", "`nearkin store info` shows it")
_FIELD_WORDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("num-perm", "num-perms", "permutations"), ("--family minhash:NUM_PERM",)),
    **dict.fromkeys(("ngram", "ngrams", "ngram-size", "shingle", "shingle-size"), ("--recipe char:N or word:N",)),
    **dict.fromkeys(("min-similarity", "similarity", "jaccard", "jaccard-threshold", "cutoff"), ("--threshold",)),
    **dict.fromkeys(("force", "replace", "clobber"), ("--overwrite",)),
    **dict.fromkeys(("output", "output-dir", "outdir", "dest"), ("--out",)),
    **dict.fromkeys(("resume", "continue", "restart"), ("--checkpoint DIR",)),
    **dict.fromkeys(("workers", "jobs", "n-jobs", "num-workers", "num-proc"), ("--threads",)),
    **dict.fromkeys(("column", "field", "text-field", "text-key", "content"), ("--text-column",)),
    **dict.fromkeys(("id", "key", "id-field", "id-key"), ("--id-column",)),
    **dict.fromkeys(("distance", "hamming", "max-distance", "radius"), ("--radius", "--distance", "--threshold")),
    **dict.fromkeys(("score", "min-score", "threshold"), ("--threshold", "--distance")),
    **dict.fromkeys(("verbose", "progress"), ("--quiet (progress is shown without it)",)),
    **dict.fromkeys(("explain", "estimate", "dry"), ("--dry-run",)),
}
"""Words of the field that are no options of a command, and options of this meaning: it has the first or another one."""
_OS_NUMBER = re.compile(r" \(os error \d+\)")
"""Suffix that Rust adds to the message of the system."""
_NO_TEXT = re.compile(r"""\bno column ["']text["']; (?:the header|the file|this record) has [^;]*$""")
_ACTION = re.compile(r"(?:create|open|opening|reading the kind of) (.+?): ([A-Z].*)")
"""Message of the core about a file."""
_HIDDEN = re.compile(r"^(.*/|)\.([^/]+)\.(?:nearkin-[0-9a-f]{16}.*|[0-9a-f]{16}\.part)$")
"""Name of a file that is being written next to its target."""


def format_error(error: object) -> str:
    """Return the message of an error, with its remedy as an option of the command line.

    Examples
    --------
    >>> from nearkin.cli.errors import format_error
    >>> format_error(FileNotFoundError(2, "No such file or directory", "a.jsonl"))
    'a.jsonl: no such file or folder'
    >>> format_error("is UTF-16; give encoding='utf-16', or format='txt'")
    'is UTF-16; give --encoding utf-16, or --format txt'
    >>> format_error("a.csv, line 1: no column 'text'; the header has id, body")
    "a.csv, line 1: no column 'text'; the header has id, body; name yours by --text-column"
    """
    if isinstance(error, InputError) and (remedy := _REMEDIES.get(error.context.get("remedy", ""))):
        return _use_options(f"{error.place}: {error.reason}, or {remedy}")
    if isinstance(error, OSError) and error.strerror:
        return _format_os_error(error)
    message = _use_options(str(error))
    return f"{message}; name yours by --text-column" if _NO_TEXT.search(message) else message


def _use_options(text: str) -> str:
    """Return a message with the arguments of Python replaced by options."""

    def flag(match: re.Match[str]) -> str:
        value = f" {match[2]}" if match[2] else ""
        return f"--{match[1].replace('_', '-')}{value}"

    message = _ARGUMENT.sub(flag, text.replace(*_SAVED).replace(*_OPEN_STORE)).replace(
        "--overwrite (--overwrite)", "--overwrite"
    )
    return re.sub(r",? or None\b", ", or leave it out", message)


def _format_os_error(error: OSError) -> str:
    """Return the name of a file and the message of the system."""
    reason = _OS_NUMBER.sub("", str(error.strerror))
    name = error.filename
    if name is None and (match := _ACTION.fullmatch(reason)):
        name, reason = match[1], match[2]
    if name is None or error.errno == errno.ENOENT:
        reason = reason.replace("No such file or directory", "no such file or folder")
    if name is None:
        # Other messages of the core name the file themselves.
        return reason
    name = name if isinstance(name, str) else str(getattr(name, "decode", lambda: name)())
    if match := _HIDDEN.match(name):
        name = match[1] + match[2]
        reason = f"cannot write into its folder ({reason[:1].lower()}{reason[1:]}); choose one that takes new files"
    return f"{name}: {reason[:1].lower()}{reason[1:]}"


def format_failure(error: BaseException, parameters: Iterable[Any], words: Sequence[str]) -> str:
    """Return the message of the error that ended a command; a ParameterError names the option.

    Parameters
    ----------
    error : exception
    parameters : iterable of Typer's parameters
        Parameters of the command.
    words : sequence of str
        The words of the command line.
    """
    context = error.context if isinstance(error, ParameterError) else {}
    name, value, allowed = context.get("name"), context.get("found"), context.get("allowed")
    if name is None or allowed is None:
        return format_error(error)
    allowed = _use_options(str(allowed))
    flag = f"--{str(name).replace('_', '-')}"
    matches = [each for each in parameters if each.name == name or flag in each.opts]
    if value is None or str(value).lower() == "none":
        what = (
            _name_of(matches[0]) if matches and matches[0].param_type_name == "option" else str(name).replace("_", " ")
        )
        return f"no {what} given; use {allowed}"
    if not matches:
        # The name is a field of a recipe, for example.
        return format_error(error)
    options = [_name_of(each) for each in matches if each.param_type_name == "option" and _values_of(each, words)]
    option = options[0] if options else str(name).replace("_", " ")
    if allowed.startswith("not "):
        return f"{option}: {allowed}"
    # A flag has no value.
    if str(value) in ("given", "True"):
        return f"{option} is not allowed; use {allowed}"
    return f"{option} {value} is not allowed; use {allowed}{_suggest(str(value), allowed)}"


def _suggest(value: str, allowed: str) -> str:
    """Return a question that names the allowed word that a value is spelt like; empty without one."""
    word, names = value.strip("'"), set(re.findall(r"[a-z][a-z0-9_-]+", allowed))
    if (
        "did you mean" in allowed
        or allowed.startswith("no ")
        or word in names
        or not re.fullmatch(r"[A-Za-z][\w-]*", word)
    ):
        return ""
    close = get_close_matches(word.lower(), sorted(names), n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close else ""


def format_usage_error(error: Any, command: str, words: Sequence[str], commands: Callable[[], list[str]]) -> str:
    """Return the message of a usage error that Typer found.

    Parameters
    ----------
    error : exception of Typer
        Recognised by the name of its class, because the module of the class depends on the version of Typer.
    command : str
        The command, such as "nearkin index build".
    words : sequence of str
        The words of the command line.
    commands : callable
        Returns the full names of all commands, such as "index build".
    """
    shown = "commands" if type(error).__name__ == "UsageError" and "No such command" in error.message else "options"
    return f"{_describe_usage(error, words, commands)}; `{command} -h` shows the {shown}"


def similar_commands(word: str, names: Iterable[str]) -> list[str]:
    """Return the full names of commands that a word may mean: those that end with it, or are spelt like it.

    Examples
    --------
    >>> from nearkin.cli.errors import similar_commands
    >>> similar_commands("hash", ["dedup", "text hash", "ssdeep hash"])
    ['text hash', 'ssdeep hash']
    >>> similar_commands("dedpu", ["dedup", "text hash"])
    ['dedup']
    """
    ends = {name: name.rsplit(" ", 1)[-1] for name in names}
    close = [word] if word in ends.values() else get_close_matches(word, dict.fromkeys(ends.values()), n=1)
    return [name for name, end in ends.items() if end in close]


def _describe_usage(error: Any, words: Sequence[str], commands: Callable[[], list[str]]) -> str:
    kind, message = type(error).__name__, str(getattr(error, "message", "") or "")
    parameter = getattr(error, "param", None)
    command = getattr(getattr(error, "ctx", None), "command", None)
    if kind == "NoSuchOption":
        likely = list(getattr(error, "possibilities", None) or [])
        known = {form for each in getattr(command, "params", ()) for form in each.opts}
        words_of = _FIELD_WORDS.get(error.option_name.lstrip("-").replace("_", "-"), ())
        likely = [option for option in words_of if option.split(" ")[0] in known][:1] or likely
        return f"there is no option {error.option_name}" + (f"; did you mean {' or '.join(likely)}?" if likely else "")
    if kind == "BadOptionUsage":
        return f"{error.option_name} takes no value" if "not take" in message else f"{error.option_name} needs a value"
    if kind == "MissingParameter" and parameter is not None:
        return f"{_name_of(parameter)} is missing"
    if kind == "BadParameter" and parameter is not None:
        value = (_values_of(parameter, words) or [""])[-1]
        return f"{_name_of(parameter)} {value} is not allowed; use {_allowed_values(parameter, message)}"
    if match := re.match(r"No such command '?(.*?)'?\.(?:\s|$)", message):
        own = list(getattr(command, "commands", ()))
        group = " ".join(error.ctx.command_path.split()[1:]) if own else ""
        names = [f"{group} {name}" for name in similar_commands(match[1], own)] if group else []
        # Outside of a group only a command of this very name is meant.
        outside = (name for name in similar_commands(match[1], commands()) if not group or name.endswith(match[1]))
        likely = [f"`nearkin {name}`" for name in names or outside]
        hint = f"; use one of {', '.join(own)}" if group else ""
        return f"there is no command {match[1]}" + (f"; did you mean {' or '.join(likely)}?" if likely else hint)
    if match := re.search(r"unexpected extra arguments? ?(?:\(s\) )?\((.*)\)", message):
        return f"too many arguments: {match[1]}"
    return message[:1].lower() + message[1:].rstrip(".")


def _name_of(parameter: Any) -> str:
    """Return the long form of an option, or the name of an argument in the help."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper())


def _values_of(parameter: Any, words: Sequence[str]) -> list[str]:
    """Return the values of an option among the words of a command line, in order; empty for an option without one."""
    values = []
    for at, word in enumerate(words):
        for form in parameter.opts:
            if word == form:
                values.append(words[at + 1] if at + 1 < len(words) else "")
            elif form.startswith("--") and word.startswith(f"{form}="):
                values.append(word.removeprefix(f"{form}="))
            elif not form.startswith("--") and word.startswith(form):
                values.append(word.removeprefix(form))
    return values


def _allowed_values(parameter: Any, message: str) -> str:
    """Return the values that an option takes, from the message of Typer."""
    if match := re.search(r"is not one of (.*?)\.?$", message):
        return "one of " + match[1].replace("'", "")
    # The range is that of the parameter or of its type, as the version of Typer has it.
    owner = parameter if hasattr(parameter, "min") else getattr(parameter, "type", None)
    low, high = getattr(owner, "min", None), getattr(owner, "max", None)
    if re.search(r"greater|less|range", message):
        return f"{low} to {high}" if high is not None and low is not None else f"{low} or more"
    if re.search(r"\bint(eger)?\b", message):
        return "a whole number" + (f" from {low} to {high}" if low is not None and high is not None else "")
    default = re.match(r"\d[\d.]*\b", str(getattr(parameter, "show_default", "")))
    number = f"a number such as {default[0]}" if default else "a number"
    return number if "number" in message or "float" in message else message.rstrip(".")
