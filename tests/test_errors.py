"""The exceptions of nearkin.errors, and the checks that raise them."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest

import nearkin as nk
from nearkin import errors


def test_errors_of_the_compiled_module_have_their_values() -> None:
    """An error raised in Rust is the Python class, with found and allowed as attributes."""
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


def test_an_output_error_is_an_os_error() -> None:
    """It has the system's number, and its text is the message alone, also after pickling."""
    error = errors.OutputError("out: syncing failed; the new output is in place", place="out", in_place="new")
    error.errno = 5
    copy: errors.OutputError = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert isinstance(error, OSError)
    assert errors.OutputError is type(copy)
    assert ("out: syncing failed; the new output is in place", "out", "new") == (str(error), copy.place, copy.in_place)
    assert str(error) == str(copy)


@pytest.mark.parametrize("found", [0, 11, True, 1.0, "3", None])
def test_counts_are_integers_in_their_range(found: object) -> None:
    """The error has the value and the allowed values."""
    with pytest.raises(errors.ParameterError, match=r"k=.* is not allowed; use 1 to 10") as caught:
        errors.check_count("k", found, 1, 10, "1 to 10")
    assert ("k", "1 to 10") == (caught.value.name, caught.value.allowed)


def test_counts_have_any_integer_type() -> None:
    """NumPy integers are accepted, and the result is a Python int."""
    assert [1, 10] == [errors.check_count("k", value, 1, 10, "1 to 10") for value in (np.uint8(1), 10)]
    assert int is type(errors.check_count("k", np.int64(3), 1, 10, "1 to 10"))


def test_unknown_attributes_of_errors_are_missing() -> None:
    """Only values of the message are attributes."""
    with pytest.raises(AttributeError, match="'MismatchError' object has no attribute 'nothing'"):
        errors.mismatch("bits", 1, 2).nothing  # noqa: B018


def test_warnings_name_the_line_of_the_caller(tmp_path: Path) -> None:
    """Modules of the package are skipped; a module whose name only starts with "nearkin" is not."""
    inner = tmp_path / "inner.py"
    inner.write_text("import nearkin.errors\ndef f():\n    nearkin.errors.warn_caller('it is late')\n")
    module = runpy.run_path(str(inner), run_name="nearkin.inner")
    with pytest.warns(RuntimeWarning, match="it is late") as warnings:
        module["f"]()
    assert __file__ == warnings[0].filename
    module = runpy.run_path(str(inner), run_name="nearkinlike")
    with pytest.warns(RuntimeWarning, match="it is late") as warnings:
        module["f"]()
    assert (str(inner), 3) == (warnings[0].filename, warnings[0].lineno)
    with pytest.warns(errors.ConvergenceWarning) as warnings:
        errors.warn_caller("it is late", errors.ConvergenceWarning)
    assert __file__ == warnings[0].filename
