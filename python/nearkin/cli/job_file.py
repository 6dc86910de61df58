"""Options of a command in a file: `--config FILE` reads them, `--print-config` prints them.

A file is TOML, or JSON such as the `summary.json` of a run. Its keys are names of options without dashes in front, with
`-` or `_`, and of arguments such as `inputs`. Options on the command line win; those that may be repeated are added.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from nearkin.cli.console import read_text
from nearkin.errors import ParameterError, bad_parameter, input_error

_SUMMARY = {"version", "timings"}
"""Keys by which a summary is known, whose other keys may be counts."""


def read_config(words: Sequence[str], command_of: Any) -> list[str]:
    """Return the words of a command line with the options of `--config FILE` in its place.

    Parameters
    ----------
    words : sequence of str
    command_of : function
        Returns the full name of the command that words call, and the command.

    Raises
    ------
    ParameterError
        There is no command, no file name, or an option that the command does not have.
    InputError
        The file cannot be read.
    """
    at = next((at for at, word in enumerate(words) if word == "--config" or word.startswith("--config=")), None)
    if at is None:
        return list(words)
    end = at + 1 if "=" in words[at] else at + 2
    path = words[at].partition("=")[2] or next(iter(words[at + 1 : end]), "")
    if not path:
        raise bad_parameter("config", None, "--config FILE, TOML or JSON with the options of the command")
    rest = [*words[:at], *words[end:]]
    name, command = command_of(rest)
    start = 0
    for part in name.split()[1:]:
        # Options of the program itself may come before the command.
        start = rest.index(part, start) + 1
    options, arguments = _as_words(_read(path), command, path)
    given = command.make_context(name, rest[start:], resilient_parsing=True).params if command.params else {}
    missing = [word for key, values in arguments.items() if not given.get(key) for word in values]
    return [*rest[:start], *options, *rest[start:], *missing]


def _read(path: str) -> dict[str, Any]:
    """Return the keys and values of a file."""
    text = read_text(path)
    try:
        if text.lstrip().startswith("{"):
            values = json.loads(text)
        else:
            import tomllib  # type: ignore[import-not-found, unused-ignore]  # Python 3.11.

            values = tomllib.loads(text)
    except ImportError:
        raise input_error(path, "TOML needs Python 3.11 or newer; give JSON") from None
    except (ValueError, RecursionError) as error:
        raise input_error(path, f"neither TOML nor JSON: {error}") from None
    return dict(values)


def _as_words(values: Mapping[str, Any], command: Any, path: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return options as words, and arguments by name."""
    known = {form.lstrip("-"): each for each in command.params for form in (*each.opts, each.name.replace("_", "-"))}
    options: list[str] = []
    arguments: dict[str, list[str]] = {}
    is_summary = values.keys() >= _SUMMARY
    for key, value in values.items():
        each = known.get(key.replace("_", "-"))
        if is_summary and (each is None or isinstance(value, Mapping)):
            continue
        if each is None:
            likely = get_close_matches(key.replace("_", "-"), known, n=1)
            hint = f"; did you mean {likely[0]}?" if likely else ""
            raise ParameterError(f"{path}: there is no option {key}{hint}", name=key)
        cells = [str(cell) for cell in (value if isinstance(value, list) else [value])]
        if each.param_type_name == "argument":
            arguments[each.name] = cells
        elif isinstance(value, bool):
            options += [max(each.opts, key=len)] if value else each.secondary_opts[:1]
        elif value is not None:
            options += [word for cell in cells for word in (max(each.opts, key=len), cell)]
    return options, arguments


def format_config(name: str, command: Any, words: Sequence[str]) -> str:
    """Return the options and arguments of a command line as TOML."""
    context = command.make_context(name, list(words), resilient_parsing=True)
    return "\n".join([f"# {name}", *_lines(command, context)])


def _lines(command: Any, context: Any) -> Iterator[str]:
    for each in command.params:
        value = context.params.get(each.name)
        if value is None or context.get_parameter_source(each.name).name != "COMMANDLINE":
            continue
        key = each.name if each.param_type_name == "argument" else max(each.opts, key=len).lstrip("-")
        value = list(map(str, value)) if isinstance(value, (list, tuple)) else value
        value = str(value) if isinstance(value, Path) else getattr(value, "value", value)
        yield f"{key} = {json.dumps(value, ensure_ascii=False)}"
