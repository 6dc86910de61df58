"""Tests of nearkin.cli.errors."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin.cli.errors import format_error, format_failure, format_usage_error
from nearkin.errors import InputError, MismatchError, ParameterError, bad_parameter


def option(*forms: str, **about: Any) -> Any:
    """Return an option in the form of Typer."""
    name = about.pop("name", max(forms, key=len).lstrip("-").replace("-", "_"))
    return SimpleNamespace(param_type_name="option", opts=list(forms), name=name, metavar=None, **about)


def argument(name: str, metavar: str | None = None) -> Any:
    """Return an argument in the form of Typer."""
    return SimpleNamespace(param_type_name="argument", opts=[name], name=name, metavar=metavar)


def fault(kind: str, message: str = "", **about: Any) -> Any:
    """Return an exception with the class name of one of Typer."""
    error = type(kind, (Exception,), {})(message)
    vars(error).update(message=message, **about)
    return error


@pytest.mark.parametrize(
    ("error", "words", "message"),
    [
        (fault("NoSuchOption", option_name="-z", possibilities=None), [], "there is no option -z; `nearkin x -h`"),
        (fault("BadOptionUsage", "Option '-o' requires an argument.", option_name="-o"), [], "-o needs a value;"),
        (fault("BadOptionUsage", "Option '-q' does not take a value.", option_name="-q"), [], "-q takes no value;"),
        (fault("MissingParameter", param=option("--out", "-o")), [], "--out is missing;"),
        (fault("MissingParameter", param=argument("path", "STORE")), [], "STORE is missing;"),
        (fault("MissingParameter", param=argument("a")), [], "A is missing;"),
        (
            fault("BadParameter", "0 is not in the range x>=1.", param=option("--limit", min=1, max=None)),
            ["--limit", "3", "--limit", "0"],
            "--limit 0 is not allowed; use 1 or more;",
        ),
        (
            fault("BadParameter", "Value error, 'y' is not one of 'single', 'input'.", param=option("--out-layout")),
            ["--out-layout", "y"],
            "--out-layout y is not allowed; use one of single, input;",
        ),
        (
            fault("BadParameter", "Must be something else.", param=option("--other")),
            ["--other", "y"],
            "--other y is not allowed; use Must be something else;",
        ),
        (fault("UsageError", "No such command 'zz'."), [], "there is no command zz;"),
        (fault("UsageError", "Got unexpected extra argument(s) (b c)"), [], "too many arguments: b c;"),
        (fault("UsageError", "Got unexpected extra argument (b)"), [], "too many arguments: b;"),
        (fault("UsageError", "Something that nobody has thought of."), [], "something that nobody has thought of;"),
    ],
)
def test_usage_is_told_alike(error: Any, words: list[str], message: str) -> None:
    """Usage errors have the value, the allowed values and the command for help."""
    said = format_usage_error(error, "nearkin x", words, lambda: ["dedup", "index build"])
    assert message in said
    assert said.endswith(("`nearkin x -h` shows the options", "`nearkin x -h` shows the commands"))


@pytest.mark.parametrize(
    ("error", "words", "message"),
    [
        (bad_parameter("radius", 70, "0 to 64"), ["--radius", "70"], "--radius 70 is not allowed; use 0 to 64"),
        (bad_parameter("radius", 70, "0 to 64"), ["--radius=70"], "--radius 70 is not allowed; use 0 to 64"),
        (bad_parameter("radius", 70, "0 to 64"), [], "radius 70 is not allowed; use 0 to 64"),
        (bad_parameter("n", 0, "1 to 64"), ["--radius", "3"], "n=0 is not allowed; use 1 to 64"),
        (bad_parameter("columns", "'x'", "names"), ["--column", "x"], "--column 'x' is not allowed; use names"),
        (bad_parameter("top_k", 0, "1 or more"), ["-k0"], "--top-k 0 is not allowed; use 1 or more"),
        (bad_parameter("radius", "given", "not with a store"), ["--radius", "3"], "--radius: not with a store"),
        (bad_parameter("ids", "none", "ids, or --ids FILE"), [], "no ids given; use ids, or --ids FILE"),
        (bad_parameter("ids", None, "missing_ok=True"), [], "no ids given; use --missing-ok"),
        (ParameterError("plain"), [], "plain"),
        (MismatchError("left differs from right"), [], "left differs from right"),
    ],
)
def test_an_argument_is_the_option_that_was_given(error: Exception, words: list[str], message: str) -> None:
    """A ParameterError names the option of the command line, or the argument if there is no option."""
    parameters = [option("--radius"), option("--column", name="columns"), option("--top-k", "-k"), argument("ids")]
    assert message == format_failure(error, parameters, words)


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.EISDIR, errno.ENOSPC])
@pytest.mark.parametrize("name", ["a b.jsonl", b"a b.jsonl", Path("a b.jsonl")])
def test_the_system_is_told_by_file_and_reason(number: int, name: Any) -> None:
    """System errors have the file name and the reason without the error number."""
    said = format_error(OSError(number, os.strerror(number), name))
    assert said.startswith("a b.jsonl: ")
    assert "Errno" not in said
    assert said[len("a b.jsonl: ")].islower()


def test_remedies_are_options() -> None:
    """Remedies of errors are replaced by options."""
    kinds = {"strict=False": "add --lenient for old data", "max_malformed=": "allow more by --max-malformed"}
    for remedy, told_as in kinds.items():
        error = InputError("a: odd, or so", place="a", reason="odd", remedy=remedy)
        assert f"a: odd, or {told_as}" == format_error(error)
    assert "use 1 to 8, or leave it out for one per core" == format_error("use 1 to 8, or None for one per core")
    assert "give another, or --overwrite" == format_error("give another, or overwrite=True (--overwrite)")


@given(st.text(max_size=60))
def test_other_words_are_left_alone(text: str) -> None:
    """Messages without Python arguments are unchanged."""
    if "=" not in text and "None" not in text and "`" not in text:
        assert text == format_error(text)
