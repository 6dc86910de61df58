"""The exception tree of nearkin.errors."""

from __future__ import annotations

import pickle

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
