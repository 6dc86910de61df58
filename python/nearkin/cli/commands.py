"""Commands whose options are generated from dataclasses.

A dataclass describes a group of options once. Each field gives an option its name, type and default, and the metadata
of the field (`nearkin.dedup.options.option`) give it its help text, group and choices. A command takes such a group in
one of two ways:

- A parameter whose type is a dataclass receives an instance, built from the options. Fields may be groups themselves.
- A parameter of type `Annotated[Options, OptionsOf(config)]` receives a dictionary of the options that the user gave,
  for a config that fills in the others itself, such as `DedupConfig.from_args`.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import OptionInfo

from nearkin._core import set_num_threads
from nearkin.cli.help import GENERAL, HelpCommand, HelpGroup, add_help_all

Options: TypeAlias = dict[str, Any]
"""Options that the user gave, by name."""

_Reader: TypeAlias = Callable[[dict[str, Any]], Any]
_Command = TypeVar("_Command", bound=Callable[..., None])
_EXAMPLES = "\n\nExamples\n--------\n"
Threads = Annotated[int | None, typer.Option("--threads", help="Number of threads (default: one per core).")]


class OptionsOf:
    """Annotation of a parameter that takes the options of a config.

    Parameters
    ----------
    config : type
        A dataclass.
    *names : str
        Fields to offer, in this order; by default all that have a help text.
    show_defaults : bool, default True
        Show the defaults of the config in the help.
    """

    def __init__(self, config: type, *names: str, show_defaults: bool = True) -> None:
        described = {each.name: each for each in fields(config) if "help" in each.metadata}
        options = [described[name] for name in names or described]
        # Types of other fields may be of modules that this command does not import.
        types_of = types.SimpleNamespace(__annotations__={each.name: each.type for each in options})
        hints = get_type_hints(types_of, vars(sys.modules[config.__module__]))
        self.parameters = [
            _option(each, hints[each.name], given_only=True, show_default=show_defaults) for each in options
        ]


class Commands(typer.Typer):
    """Commands of the program, or of a named group.

    Parameters
    ----------
    name : str, optional
        Name of the group. Without one, the commands belong to the program itself.
    help : str, optional
        Help text of the group.
    """

    def __init__(self, name: str | None = None, help: str | None = None) -> None:
        super().__init__(name=name, help=help, cls=HelpGroup, no_args_is_help=True, rich_markup_mode=None)

    def add(
        self,
        name: str | None = None,
        *,
        omit: Collection[str] = (),
        brief: Collection[str] | None = None,
        threads: bool = False,
    ) -> Callable[[_Command], _Command]:
        """Return a decorator that registers a function as a command.

        The docstring of the function is the help text of the command. Its section "Examples" begins with a command
        after "$ " and its output; further commands follow an empty line.

        Parameters
        ----------
        name : str, optional
            Name of the command; by default that of the function.
        omit : collection of str, optional
            Fields of the dataclasses that this command does not offer.
        brief : collection of str, optional
            Names of the options that `-h` shows; `--help-all` shows the others, too.
        threads : bool, default False
            Add the option --threads, and set the number of threads before the command runs.
        """

        def decorate(function: _Command) -> _Command:
            text, _, examples = inspect.cleandoc(function.__doc__ or "").partition(_EXAMPLES)
            run = add_help_all(expand_options(function, omit=omit, threads=threads), text, brief)
            build: Any = functools.partial(HelpCommand, brief=brief, examples=examples.rstrip("\n").splitlines())
            self.command(name, help=text, cls=build)(run)
            return function

        return decorate


def expand_options(
    function: Callable[..., None], *, omit: Collection[str] = (), threads: bool = False
) -> Callable[..., None]:
    """Return a function that takes each option as a parameter of its own, as Typer expects, and calls `function`.

    Parameters
    ----------
    function : callable
        Its groups of options are replaced; other parameters remain.
    omit : collection of str, optional
        Fields that keep their defaults.
    threads : bool, default False
        Append the option --threads.
    """
    hints = get_type_hints(function, include_extras=True)
    parameters: list[inspect.Parameter] = []
    readers: dict[str, _Reader] = {}
    for each in inspect.signature(function).parameters.values():
        expanded, readers[each.name] = _expand(each.name, hints[each.name], each.default, omit)
        parameters += expanded
    if threads:
        parameters.append(_keyword("threads", Threads, None))
    for each in parameters:
        _name_value(each)

    @functools.wraps(function)
    def run(**values: Any) -> None:
        if threads:
            set_num_threads(values.pop("threads"))
        function(**{name: read(values) for name, read in readers.items()})

    run.__signature__ = inspect.Signature(parameters, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {**{each.name: each.annotation for each in parameters}, "return": None}
    return run


def complete(*choices: str) -> Callable[[str], list[str]]:
    """Return the function by which a shell completes one of these values; the command itself checks its value."""
    return lambda incomplete: [choice for choice in choices if choice.startswith(incomplete)]


def _expand(name: str, hint: Any, default: object, omit: Collection[str]) -> tuple[list[inspect.Parameter], _Reader]:
    """Return the parameters of Typer for a parameter or field, and the function that takes its value from theirs."""
    source = next((each for each in getattr(hint, "__metadata__", ()) if isinstance(each, OptionsOf)), None)
    if source is not None:
        names = [each.name for each in source.parameters]
        return source.parameters, lambda values: {
            name: value for name in names if (value := values.pop(name)) is not None
        }
    if not is_dataclass(hint) or not isinstance(hint, type):
        return [_keyword(name, hint, default)], lambda values: values.pop(name)
    config: Callable[..., Any] = hint
    hints = get_type_hints(hint, include_extras=True)
    parameters: list[inspect.Parameter] = []
    readers: dict[str, _Reader] = {}
    for each in fields(hint):
        if each.name in omit:
            continue
        hint_of_field = _option(each, hints[each.name]).annotation if "help" in each.metadata else hints[each.name]
        expanded, readers[each.name] = _expand(each.name, hint_of_field, each.default, omit)
        parameters += expanded
    return parameters, lambda values: config(**{name: read(values) for name, read in readers.items()})


def _keyword(name: str, annotation: Any, default: object) -> inspect.Parameter:
    default = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option(field: Field[Any], hint: Any, *, given_only: bool = False, show_default: bool = True) -> inspect.Parameter:
    """Return the parameter of an option that a field describes; with `given_only`, its default is None."""
    about = field.metadata
    flags = (about["flag"] or "").split()
    if not any(flag.startswith("--") for flag in flags):
        flags.insert(0, f"--{field.name.replace('_', '-')}")
    default = about["show_default"] or (str(field.default) if given_only and field.default else None)
    option = typer.Option(
        *flags,
        help=about["help"],
        rich_help_panel=None if about["group"] == GENERAL else about["group"],
        metavar=about["metavar"],
        show_default=show_default and (default or True),
        autocompletion=complete(*about["choices"]) if about["choices"] else None,
        min=about["min"],
        max=about["max"],
    )
    kind = _parsed_type(hint, about["choices"])
    kind = kind | None if given_only or field.default is None else kind
    return _keyword(field.name, Annotated[kind, option], None if given_only else field.default)


def _name_value(parameter: inspect.Parameter) -> None:
    """Give an option without a placeholder of its value one that follows from its type and name."""
    hint: Any = getattr(parameter.annotation, "__origin__", None)
    metadata: tuple[Any, ...] = getattr(parameter.annotation, "__metadata__", ())
    for option in metadata:
        if not isinstance(option, OptionInfo) or option.metavar:
            continue
        members = [each for each in get_args(hint) if each is not types.NoneType] or [hint]
        kind: Any = members[0] if get_origin(hint) is not Literal else hint
        long = next((each for each in option.param_decls or () if each.startswith("--")), parameter.name)
        word = long.replace("_", "-").rsplit("-", 1)[-1]
        if get_origin(kind) is Literal:
            option.metavar = "|".join(map(str, get_args(kind)))
        elif isinstance(kind, type) and issubclass(kind, Enum):
            option.metavar = "|".join(str(each.value) for each in kind)
        elif kind is not bool:
            option.metavar = {int: "N", float: "X", Path: "PATH"}.get(kind, word.upper())


def _parsed_type(hint: Any, choices: Sequence[str]) -> Any:
    """Return the type that Typer parses. A `Literal` with `choices` is a string, which the config itself checks."""
    union = get_origin(hint) in (Union, types.UnionType)
    members = [member for member in (get_args(hint) if union else (hint,)) if member is not types.NoneType]
    kind = str if str in members else members[0]
    if get_origin(kind) is Literal and choices:
        return str
    if get_origin(kind) is tuple and Ellipsis not in get_args(kind):
        # Such as 29x8, which the config parses.
        return str
    return list[str] if get_origin(kind) in (tuple, list) else kind


__all__ = ["GENERAL", "Commands", "Options", "OptionsOf", "Threads", "complete", "expand_options"]
