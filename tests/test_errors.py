"""The exceptions of nearkin.errors, and the checks that raise them."""

from __future__ import annotations

import pickle
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
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


def test_a_missing_file_is_a_file_not_found() -> None:
    """Its text is the message alone, also after pickling."""
    error = errors.MissingFileError("a.nks: no such file; give an index", place="a.nks")
    copy: errors.MissingFileError = pickle.loads(pickle.dumps(error))  # noqa: S301
    assert isinstance(copy, FileNotFoundError)
    assert (str(error), 2, "a.nks", "a.nks") == (str(copy), copy.errno, copy.filename, copy.place)


UNTYPED: Any = nk
"""The package without its types, for arguments that a type checker refuses."""
NEAR = nk.LSHIndex(filter="codes").fit(np.array([[1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [0.0, 9.0, 0.0]]))
WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "dedup int": (
        lambda _: UNTYPED.dedup(5),
        "texts=5 is no collection of texts; pass a list, a generator or a column",
    ),
    "dedup None": (lambda _: UNTYPED.dedup(None), "texts=None is no collection of texts; pass a list, a generator"),
    "dedup bytes": (lambda _: UNTYPED.dedup(b"one"), "texts=b'one' is no collection of texts"),
    "dedup list of bytes": (
        lambda _: UNTYPED.dedup([b"one"]),
        "text 0 is of type bytes; texts are str or None, which byte",
    ),
    "dedup against": (lambda _: UNTYPED.dedup(["a"], against=5), "against=5 is no collection of texts; pass a list"),
    "dedup recipe": (lambda _: UNTYPED.dedup(["a"], recipe=5), "recipe=5 is not allowed; use the text form"),
    "dedup store": (
        lambda path: UNTYPED.dedup(["a"], store=path),
        "use an open store, such as nearkin.Store.open(path)",
    ),
    "fingerprint": (lambda _: UNTYPED.fingerprint(5), "int is no list of texts; pass a list, a generator or a column"),
    "leaks list": (lambda _: UNTYPED.leaks(["a"]), 'use splits by name, such as {"train": ..., "test": ...}'),
    "leaks one": (lambda _: UNTYPED.leaks({"a": ["b"]}), "splits='a' is not allowed; use two or more different ones"),
    "suites": (
        lambda _: UNTYPED.decontaminate(["a"], 5),
        "suites=5 is not allowed; use Suites, texts by name, or paths",
    ),
    "urls": (
        lambda _: UNTYPED.UrlPatterns().fit(5),
        "urls=5 is not allowed; use a list, a generator or a column of them",
    ),
    "measure": (
        lambda _: UNTYPED.similarity(["a"], [0], [0], measure="x"),
        "use one of jaccard, containment, indel, words, leven",
    ),
    "digest": (
        lambda _: UNTYPED.ssdeep.hash(5),
        "data=5 is not allowed; use bytes or another buffer, a path, or a binary",
    ),
    "text": (
        lambda _: UNTYPED.ssdeep.hash("a text"),
        "a text: no such file; a str is the path of a file. For the digest",
    ),
    "store": (
        lambda path: UNTYPED.Store.open(path),
        "the folder exists, but no store is here; give the folder of a store",
    ),
    "index": (
        lambda path: UNTYPED.HammingIndex.open(path / "a"),
        "a: no such file; give a file that `save` has written",
    ),
    "Store": (lambda _: UNTYPED.Store("x"), "use Store.open(path), or Store.create(path) for a new store"),
    "Store option": (lambda _: UNTYPED.Store("x", threshold=0.8), "use Store.open(path)"),
    "LSHIndex": (lambda _: UNTYPED.LSHIndex(np.eye(3)), "vectors go to fit, as in LSHIndex().fit(X)"),
    "LSHIndex name": (lambda _: UNTYPED.LSHIndex("hyperplane"), "use a family such as nearkin.families.Hyperplane(64)"),
    "HammingIndex": (lambda _: UNTYPED.HammingIndex([1, 2]), "bits=a list is not allowed; use 1 to 1024; fingerprints"),
    "BandIndex": (lambda _: UNTYPED.BandIndex(np.eye(3)), "an array of shape (3, 3) is not allowed; use 1 to 512; sig"),
    "DigestIndex": (lambda _: UNTYPED.DigestIndex(["3:a:b"]), "digests go to add"),
    "SimHash": (lambda _: UNTYPED.SimHash(["a"]), "nearkin.fingerprint hashes texts"),
    "SimHash hash": (lambda _: UNTYPED.SimHash(hash="MD5"), "use md5:0 in place of 'MD5:0'"),
    "MinHash": (lambda _: UNTYPED.MinHash(["a"]), "nearkin.signature hashes texts"),
    "UrlPatterns": (lambda _: UNTYPED.UrlPatterns(["/a"]), "as in UrlPatterns().fit(items)"),
    "vectors": (
        lambda _: UNTYPED.dedup(pa.table({"v": [[1.0]]}), text="v"),
        "pass vectors as an array: nearkin.dedup(",
    ),
    "vectors of pandas": (
        lambda _: UNTYPED.dedup(pd.DataFrame({"v": [np.ones(2)]}), text="v"),
        "text='v', a column of lists is not allowed; use a column of strings; pass vectors as an array: nearkin.dedup(",
    ),
    "vectors in a list": (
        lambda _: UNTYPED.dedup([[1.0]]),
        "text 0 is of type list; texts are str or None; pass vector",
    ),
    "no texts alone": (lambda _: UNTYPED.dedup([{"text": "a"}, "b"]), "a list whose item 1 is a str is not allowed"),
    "records": (lambda _: UNTYPED.fingerprint([{"text": "a"}]), "pass [item['text'] for item in items]"),
    "record column": (
        lambda _: UNTYPED.dedup([{"body": "a"}]),
        "text='text' is not allowed; use one of the columns 'body'",
    ),
    "hexadecimal": (lambda _: UNTYPED.hamming("ff", "0f"), "0 and 1, all of one length; `from_hex` reads hexadecimal"),
    "digits": (lambda _: UNTYPED.hamming("10", "100"), "bits differs: 2 against 3"),
    "digits of an index": (lambda _: UNTYPED.HammingIndex(bits=3).add(None, ["10"]), "bits differs: 2 against 3"),
    "rows": (
        lambda _: NEAR.search(np.eye(3)[:2], 1.1).ids_2d,
        "queries have 0 to 2 matches is not allowed; use `resul",
    ),
    "Recipe": (lambda _: UNTYPED.Recipe("foo"), "recipe=foo is not allowed; use a preset (containment, default,"),
    "Recipe preset": (lambda _: UNTYPED.Recipe("defualt"), "did you mean default?"),
    "hashes": (lambda _: UNTYPED.explain({"a": 1}, hashes="MD5"), "did you mean md5?"),
    "hashes jenkins": (lambda _: UNTYPED.explain({"a": 1}, hashes="jenkins"), "did you mean jenkins64?"),
    "hashes function": (
        lambda _: UNTYPED.explain({"a": 1}, hashes=list),
        "the digits 0 and 1, all of one length, or",
    ),
    "planes": (lambda _: UNTYPED.explain({"a": 1, "b": 2}, planes=[[1, 2], [1]]), "planes=an array of shape (2,)"),
}
"""Calls with a temporary folder, and what their messages say."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_says_what_is_allowed(name: str, tmp_path: Path) -> None:
    """What was found, what is allowed, and never the number of a system's error."""
    call, message = WRONG[name]
    with pytest.raises((TypeError, ValueError, FileNotFoundError)) as caught:
        call(tmp_path)
    assert message in str(caught.value)
    assert "Errno" not in str(caught.value)


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
