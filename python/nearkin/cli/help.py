"""Help of the command line: `-h` shows what most people need, `--help-all` every option in its group.

Texts are wrapped once, at the width of the terminal. Commands and groups are ordinary classes of Typer, whose help is
written here, because the panels of Typer take a third of the width and twice the lines.
"""

from __future__ import annotations

import functools
import inspect
import re
import shutil
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

GENERAL = "Options"
"""The heading of arguments, and of options without a group of their own."""
_COLUMN = 25
"""Column of the help texts; longer names of options have a line of their own."""
_MAX_WIDTH = 100
_RARE = frozenset({"encoding", "delimiter", "html", "max_malformed", "strict", "threads", "memory_limit", "token_file"})
"""Options that only `--help-all` shows, unless a command names those of `-h` itself."""
_PARAGRAPHS = 2
"""Paragraphs of a description that `-h` shows."""


class HelpCommand(TyperCommand):
    """A command with a short and a complete help.

    Parameters
    ----------
    brief : collection of str, optional
        Names of the options that `-h` shows; by default all except those that most commands have and few people need.
    examples : sequence of str
        Lines of examples: the first one begins with "$ " and is followed by its output, up to an empty line. Others
        are lines of commands, which only `--help-all` shows.
    """

    def __init__(self, *args: Any, brief: Collection[str] | None = None, examples: Sequence[str] = (), **named: Any):
        super().__init__(*args, **named)
        self.brief = brief
        self.examples = examples

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the short help."""
        formatter.write(self.describe(ctx))

    def describe(self, ctx: Any, *, complete: bool = False) -> str:
        """Return the help, with all options if `complete`."""
        shown = [each for each in self.get_params(ctx) if complete or self._is_brief(each)]
        if complete:
            shown = [each for each in shown if each.name != "help_all"]
        arguments = [each for each in shown if each.param_type_name == "argument"]
        options = [each for each in shown if each.param_type_name == "option"]
        usage = [ctx.command_path, *map(_argument_name, arguments)]
        usage += [f"{max(each.opts, key=len)} {_value_name(each)}" for each in options if each.required]
        paragraphs = [" ".join(each.split()) for each in (self.help or "").split("\n\n")]
        lines = [*_wrap(f"Usage: {' '.join(usage)} [OPTIONS]"), ""]
        for paragraph in paragraphs if complete else paragraphs[:_PARAGRAPHS]:
            lines += [*_wrap(paragraph), ""]
        panels: dict[str, list[Any]] = {}
        for each in [*arguments, *options]:
            heading = (getattr(each, "rich_help_panel", None) if complete else None) or GENERAL
            panels.setdefault(heading, []).append(each)
        general = panels.pop(GENERAL, [])
        for heading, members in (
            {**panels, GENERAL: general} if not arguments else {GENERAL: general, **panels}
        ).items():
            lines += [f"{heading}:", *_list((_names(each), _explain(each, complete=complete)) for each in members), ""]
        return "\n".join([*lines, *self._example_lines(complete=complete)]).rstrip("\n") + "\n"

    def _is_brief(self, parameter: Any) -> bool:
        if parameter.param_type_name == "argument" or parameter.required or parameter.name in ("help", "help_all"):
            return True
        return is_brief(parameter.name, self.brief)

    def _example_lines(self, *, complete: bool) -> Iterator[str]:
        """Yield the lines of the example and its output, after other examples if `complete`."""
        first, more = split_examples(self.examples)
        if complete and more:
            yield from ("More examples:", *(f"  {line}" for line in more), "")
        if first:
            yield from ("Example:", *(f"  {line}".rstrip() for line in first))


class HelpGroup(TyperGroup):
    """A group that lists its commands with the first sentences of their descriptions.

    Attributes
    ----------
    complete : bool
        True to list the commands of inner groups, too.
    """

    complete = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        options = [(_names(each), _explain(each, complete=True)) for each in self.get_params(ctx)]
        lines = [*_wrap(f"Usage: {ctx.command_path} COMMAND ..."), "", *_wrap(self.help or ""), ""]
        for heading, names in self.sections(ctx).items():
            rows = [row for name in names for row in self._rows(ctx, name)]
            lines += [f"{heading}:", *_list(rows), ""]
        lines += ["Options:", *_list(options), ""]
        lines += _wrap(f"`{ctx.command_path} COMMAND -h` shows the options of a command, and an example.")
        formatter.write("\n".join(lines) + "\n")

    def _rows(self, ctx: Any, name: str) -> Iterator[tuple[str, str]]:
        """Yield a command, or with `complete` those of a group, with their purposes."""
        inner = self.get_command(ctx, name) if self.complete else None
        if isinstance(inner, HelpGroup):
            yield from ((f"{name} {each}", inner.purpose(ctx, each)) for each in inner.list_commands(ctx))
        else:
            yield name, self.purpose(ctx, name)

    def sections(self, ctx: Any) -> dict[str, list[str]]:
        """Return the names of the commands to list below each heading."""
        return {"Commands": self.list_commands(ctx)}

    def purpose(self, ctx: Any, name: str) -> str:
        """Return the first paragraph of the description of a command."""
        command = self.get_command(ctx, name)
        text: str = getattr(command, "help", None) or ""
        return " ".join(text.split("\n\n")[0].split())


def split_examples(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the example with its output, and the commands of further examples."""
    if not lines or not lines[0].startswith("$ "):
        return [], list(lines)
    end = list(lines).index("") if "" in lines else len(lines)
    return list(lines[:end]), [line for line in lines[end:] if line]


def is_brief(name: str, brief: Collection[str] | None) -> bool:
    """Return whether `-h` shows an option, given the names that a command lists."""
    return name not in _RARE if brief is None else name in brief


def add_help_all(run: Callable[..., None], text: str, brief: Collection[str] | None) -> Callable[..., None]:
    """Return a command with the option --help-all, if its `-h` leaves out an option or a paragraph of its text."""
    signature = inspect.signature(run)
    parameters = list(signature.parameters.values())
    if len(text.split("\n\n")) <= _PARAGRAPHS and all(is_brief(each.name, brief) for each in parameters):
        return run

    @functools.wraps(run)
    def run_or_help(*, help_all: bool, **values: Any) -> None:
        run(**values)

    described = typer.Option("--help-all", help="Show all options, in groups.", is_eager=True, callback=_show_all)
    option = inspect.Parameter(
        "help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, described]
    )
    run_or_help.__signature__ = signature.replace(parameters=[*parameters, option])  # type: ignore[attr-defined]
    run_or_help.__annotations__ = {**run.__annotations__, "help_all": option.annotation}
    return run_or_help


def _show_all(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        command: Any = ctx.command
        typer.echo(command.describe(ctx, complete=True), nl=False)
        raise typer.Exit


def terminal_width() -> int:
    """Return the width of the help: that of the terminal, but at most 100 columns."""
    return max(40, min(_MAX_WIDTH, shutil.get_terminal_size().columns))


def _wrap(text: str, *, indent: int = 0) -> list[str]:
    return textwrap.wrap(
        text, terminal_width() - indent, break_on_hyphens=False, break_long_words=False, subsequent_indent=""
    )


def _list(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield lines of names with their wrapped texts beside them."""
    for name, text in rows:
        first, *rest = _wrap(text, indent=_COLUMN) or [""]
        if len(name) > _COLUMN - 4:
            yield f"  {name}"
            yield " " * _COLUMN + first
        else:
            yield f"  {name:<{_COLUMN - 2}}{first}".rstrip()
        yield from (" " * _COLUMN + line for line in rest)


def _argument_name(parameter: Any) -> str:
    name = str(parameter.metavar or parameter.name.upper()).strip("{}")
    name = name if parameter.nargs == 1 or name.endswith("...") else f"{name}..."
    return name if parameter.required else f"[{name}]"


def _value_name(parameter: Any) -> str:
    """Return the placeholder of the value of an option; empty for a flag."""
    return "" if getattr(parameter, "is_flag", False) else str(parameter.metavar or "")


def _names(parameter: Any) -> str:
    """Return an argument, or an option with its short form and the placeholder of its value."""
    if parameter.param_type_name == "argument":
        return _argument_name(parameter)
    forms = [*sorted(parameter.opts, key=len)]
    return f"{', '.join(forms)} {_value_name(parameter)}".rstrip()


def _explain(parameter: Any, *, complete: bool) -> str:
    """Return the help text of a parameter, or its first sentence, with its default."""
    text = " ".join((getattr(parameter, "help", None) or "").split())
    if not complete:
        text = re.sub(r"(?<=[a-z)])\. [A-Z].*", ".", text)
    shown = getattr(parameter, "show_default", None)
    default = parameter.default
    if getattr(parameter, "is_flag", False) or shown is False or parameter.required:
        return text
    if not isinstance(shown, str):
        if default is None or callable(default) or default in ((), [], "") or repr(default) == "Sentinel.UNSET":
            return text
        shown = str(getattr(default, "value", default))
    return f"{text} [default: {shown}]" if "(default" not in text else text
