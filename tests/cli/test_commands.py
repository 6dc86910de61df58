"""Tests of nearkin.cli.commands: options that are generated from dataclasses."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer.main

from nearkin.cli.commands import GENERAL, Commands, Options, OptionsOf
from nearkin.dedup.config import DedupConfig
from nearkin.dedup.options import option

seen: list[Any] = []


@dataclass(frozen=True)
class Output:
    """Options with every kind of type."""

    out: Path = option(MISSING, help="The file.", group="Output", flag="--out -o")
    layout: Literal["one", "many"] = option("one", help="The layout.", group="Output")
    names: list[str] | None = option(None, help="The names.", group="Output", flag="--name")
    force: bool = option(False, help="Overwrite.", group=GENERAL)
    level: int = option(3, help="The level.", group=GENERAL, min=1, max=9, choices=("1", "9"))


@dataclass(frozen=True)
class Job:
    """A group that contains other groups."""

    output: Output
    matching: Annotated[Options, OptionsOf(DedupConfig, "threshold", "keep", "differ")]


def build() -> Any:
    """Return a command that records its options."""
    commands = Commands()

    @commands.add(omit=["level"])
    def run(job: Job, quiet: Annotated[bool, typer.Option("--quiet")] = False) -> None:
        """Do it.

        Examples
        --------
        run --out a
        """
        seen.append((job, quiet))

    @commands.add()
    def other() -> None:
        """Do nothing."""

    return typer.main.get_command(commands)


def call(*words: str) -> tuple[Job, bool]:
    """Return the options that a command receives."""
    build()(args=["run", *words], standalone_mode=False)
    result: tuple[Job, bool] = seen.pop()
    return result


def test_a_command_receives_one_object_per_group() -> None:
    """Groups may be nested; options that the user did not give have their defaults."""
    assert (Job(Output(Path("a")), {}), False) == call("-o", "a")
    words = ["--out", "b", "--layout", "many", "--name", "x", "--name", "y", "--force", "--quiet"]
    assert (Job(Output(Path("b"), "many", ["x", "y"], True), {}), True) == call(*words)


def test_options_of_a_config_are_those_that_the_user_gave() -> None:
    """A value that equals the default is included, because a store may have another one."""
    job, _ = call("-o", "a", "-t", "0.8", "--keep", "first", "--differ", "numbers", "--differ", "days")
    assert {"threshold": 0.8, "keep": "first", "differ": ["numbers", "days"]} == job.matching
    DedupConfig.from_args(threshold=job.matching["threshold"], keep=job.matching["keep"])


def test_an_option_has_the_metadata_of_its_field() -> None:
    """Help text, group, default, range and choices; an omitted field is not an option."""
    options = {parameter.name: parameter for parameter in build().commands["run"].params}
    assert "level" not in options
    field = DedupConfig.__dataclass_fields__["keep"]
    assert (field.metadata["help"], field.metadata["group"]) == (options["keep"].help, options["keep"].rich_help_panel)
    assert (None, "first") == (options["keep"].default, options["keep"].show_default)
    assert (["--out", "-o"], True) == (options["out"].opts, options["out"].required)
    assert (None, "one") == (options["force"].rich_help_panel, options["layout"].default)


@pytest.mark.parametrize("words", [[], ["--out", "a", "--layout", "few"], ["--out", "a", "--level", "3"]])
def test_wrong_options_are_usage_errors(words: list[str]) -> None:
    """A required option, a choice of a Literal, and an omitted option."""
    with pytest.raises(Exception) as error:
        call(*words)
    assert hasattr(error.value, "show")


def test_examples_end_the_help() -> None:
    """The docstring is the help text, without its examples."""
    command = build().commands["run"]
    assert ("Do it.", ["run --out a"]) == (command.help, command.examples)
    assert [] == build().commands["other"].examples
