"""The exception tree of nearkin.errors."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from nearkin import errors


def test_errors_of_the_core_carry_their_values() -> None:
    """An error raised in Rust arrives as the Python class, with found and allowed as attributes."""
    with pytest.raises(errors.ParameterError, match=r"threads=0 is not allowed; use 1 to 4096") as caught:
        nk.set_num_threads(0)
    assert "0" == caught.value.found
    assert isinstance(caught.value, ValueError)


def test_errors_survive_pickling() -> None:
    """A worker process can send its error to its parent."""
    error = errors.mismatch("bits", 64, 128)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert str(error) == str(copy)
    assert (64, 128) == (copy.left, copy.right)
    assert errors.MismatchError is type(copy)


def test_an_output_error_is_an_os_error_that_says_what_is_in_place() -> None:
    """It carries the system's number, and its text is the message alone, also after pickling."""
    error = errors.OutputError("out: syncing failed; the new output is in place", place="out", in_place="new")
    error.errno = 5
    copy: errors.OutputError = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert isinstance(error, OSError)
    assert errors.OutputError is type(copy)
    assert ("out: syncing failed; the new output is in place", "out", "new") == (str(error), copy.place, copy.in_place)
    assert str(error) == str(copy)


@pytest.mark.parametrize("found", [0, 11, True, 1.0, "3", None])
def test_counts_are_whole_numbers_in_their_range(found: object) -> None:
    """Anything else is refused with what was found and what is allowed; any integer type passes."""
    with pytest.raises(errors.ParameterError, match=r"k=.* is not allowed; use 1 to 10") as caught:
        errors.check_count("k", found, 1, 10, "1 to 10")
    assert ("k", "1 to 10") == (caught.value.name, caught.value.allowed)


def test_counts_may_be_of_any_integer_type() -> None:
    """NumPy's integers are integers; what comes back is Python's."""
    assert [1, 10] == [errors.check_count("k", value, 1, 10, "1 to 10") for value in (np.uint8(1), 10)]
    assert int is type(errors.check_count("k", np.int64(3), 1, 10, "1 to 10"))


def test_an_unknown_attribute_of_an_error_is_no_value() -> None:
    """Only what the message speaks of is an attribute."""
    with pytest.raises(AttributeError, match="'MismatchError' object has no attribute 'nothing'"):
        errors.mismatch("bits", 1, 2).nothing  # noqa: B018


def test_a_warning_names_the_line_of_the_caller(tmp_path: Path) -> None:
    """Modules of the package are passed over, however many lie between; one whose name begins alike is none of them."""
    inner = tmp_path / "inner.py"
    inner.write_text("import nearkin.errors\ndef f():\n    nearkin.errors.warn_caller('it is late')\n")
    found = runpy.run_path(str(inner), run_name="nearkin.inner")
    with pytest.warns(RuntimeWarning, match="it is late") as told:
        found["f"]()
    assert __file__ == told[0].filename
    found = runpy.run_path(str(inner), run_name="nearkinlike")
    with pytest.warns(RuntimeWarning, match="it is late") as told:
        found["f"]()
    assert (str(inner), 3) == (told[0].filename, told[0].lineno)
    with pytest.warns(errors.ConvergenceWarning) as told:
        errors.warn_caller("it is late", errors.ConvergenceWarning)
    assert __file__ == told[0].filename
