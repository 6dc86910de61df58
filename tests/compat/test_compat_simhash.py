"""nearkin.compat.simhash compared with simhash 2.1.2: values, attributes, searches and errors."""

from __future__ import annotations

import copy
import decimal
import hashlib
import logging
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin import errors
from nearkin.compat.simhash import Simhash, SimhashIndex, SimhashWidthError
from peer_tests import source_of

package = pytest.importorskip("simhash", reason="simhash is not installed; it is in the `peers` group")

WIDTHS = [8, 16, 24, 32, 40, 48, 56, 64, 72, 96, 120, 128]
TEXTS = [
    "",
    " ",
    "a",
    "abc",
    "How are you? I AM fine. Thanks. And you?",
    "你好　世界！　　呼噜。",
    "ΟΔΥΣΣΕΥΣ ΣΑΣ",
    "İstanbul STRASSE ẞ",
    "_snake_case_ and ²½ ①",
    "e\u0301 \u0600 \u200d \ufe0f 👍",
    "\ud800 alone",
    "a\0b\nc\td",
    "newer letters: \u1c89 \ua7dc \U00010d40",
    "xyz " * 60,
]


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def blake_number(data: bytes) -> int:
    return int(hashlib.blake2b(data, digest_size=20).hexdigest(), 16)


def below_zero(data: bytes) -> int:
    return -int.from_bytes(data, "big") - 1


def assert_same(value: Any, **options: Any) -> None:
    """Assert that our value equals the package's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        theirs = package.Simhash(value, **options).value
    assert theirs == Simhash(value, **options).value


# Values of texts


@pytest.mark.parametrize("f", WIDTHS)
@pytest.mark.parametrize("text", TEXTS)
def test_texts_have_the_packages_value_at_every_width(text: str, f: int) -> None:
    assert_same(text, f=f)


@settings(max_examples=300)
@given(st.text(max_size=200), st.sampled_from(WIDTHS))
def test_any_text_has_the_packages_value(text: str, f: int) -> None:
    assert_same(text, f=f)


def test_every_character_has_the_packages_value() -> None:
    """Letters and lower case depend on the Unicode version of the interpreter; blocks of 64 characters."""
    for start in range(0, 0x20000, 64):
        text = "ab" + "".join(f"{chr(c)}c" for c in range(start, start + 64))
        assert package.Simhash(text).value == Simhash(text).value, hex(start)


@pytest.mark.parametrize("reg", [r"\w", r"[a-z]+", re.compile(r"\w+|\s"), re.compile("[A-Z]", re.IGNORECASE), ".", "z"])
@pytest.mark.parametrize("text", TEXTS)
def test_a_pattern_selects_characters(reg: Any, text: str) -> None:
    if "alone" in text and reg == ".":
        with pytest.raises(UnicodeEncodeError):
            Simhash(text, reg=reg)
    else:
        assert_same(text, reg=reg)


@pytest.mark.parametrize("f", [8, 64, 160, 256])
@pytest.mark.parametrize("hashfunc", [sha256, blake_number, below_zero])
def test_hash_functions_give_the_packages_value(hashfunc: Any, f: int) -> None:
    """The last bytes or the lowest bits of an int are used; an int may be narrower than f or negative."""
    assert_same("How are you? I AM fine.", f=f, hashfunc=hashfunc)
    assert_same({"a": 3, "b": 60, "c": 0.5}, f=f, hashfunc=hashfunc)


def test_counts_above_255_count() -> None:
    """A shingle that occurs more than 255 times raises an error in the package with NumPy 2."""
    plain = Simhash(["xxxx"]).value
    assert plain == Simhash("x" * 1000).value
    with pytest.raises(OverflowError):
        package.Simhash("x" * 1000)


def test_values_that_the_packages_tests_promise() -> None:
    """Values from its test suite; the last one fails in the package itself with NumPy 2."""
    assert 57087923692560392 == Simhash(["aaa", "bbb"]).value
    names = [str(i) for i in range(500)]
    assert 7984652473404407437 == Simhash(names).value
    assert 3372825719632739723 == Simhash([(name, 50 * i) for i, name in enumerate(names)]).value


# Values of features

NAMES = st.text(alphabet="abcdeé中", max_size=3)
WHOLE = st.integers(-60, 255)
ANY_WEIGHT = st.one_of(
    WHOLE,
    st.floats(-100, 1000, allow_nan=False),
    st.sampled_from([True, np.int64(300), np.int64(-3), np.float64(0.1), np.float64(1e9)]),
)


@settings(max_examples=300)
@given(st.lists(st.one_of(NAMES, st.tuples(NAMES, WHOLE)), max_size=30), st.sampled_from([16, 64, 128]))
def test_whole_weights_have_the_packages_value(features: list[Any], f: int) -> None:
    """A feature without weight has the weight of the previous weighted one."""
    assert_same(features, f=f)


@settings(max_examples=300)
@given(st.lists(st.tuples(NAMES, ANY_WEIGHT), max_size=30))
def test_any_weights_have_the_packages_value(features: list[Any]) -> None:
    assert_same(features)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.integers(150, 900))
def test_long_lists_of_features_have_the_packages_value(seed: int, count: int) -> None:
    """Floats are added in the package's order, with its blocks of 200: rounding of many 0.1 decides ties."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, count)
    weights = [1 if kind == 0 else 0.1 if kind == 1 else float(rng.integers(1, 9)) / 10 for kind in kinds]
    features = [(str(rng.integers(0, 50)), weight) for weight in weights]
    assert_same(features)
    assert_same([name for name, _ in features])


def test_every_container_of_features_is_accepted() -> None:
    for features in ([], (), {}, ["aaa", "bbb"], {"a": 2, "b": 1}, (("a", 2), ["b", 1]), {"a": 0}, ["a", "a", "b"]):
        assert_same(features)
    assert Simhash([("a", 2), ("b", 1)]).value == Simhash(iter([("a", 2), ("b", 1)])).value
    assert Simhash({"a": 900, "b": 400}).value == Simhash({"a": np.uint16(900), "b": np.int16(400)}).value
    with pytest.raises(errors.ParameterError, match=r"'b' after a weight of 0\.5"):
        Simhash([("a", 0.5), "b"])
    with pytest.raises(TypeError):
        package.Simhash([("a", 0.5), "b"])
    assert Simhash({"a": 1.5}).value == Simhash([("a", decimal.Decimal("1.5"))]).value == Simhash(["a"]).value


# The rest of Simhash


def test_attributes_and_distances_are_the_packages() -> None:
    for one in (Simhash("abcd", 32), package.Simhash("abcd", 32)):
        assert (32, 4, r"[\w\u4e00-\u9fcc]+", False) == (one.f, one.f_bytes, one.reg, one.hashfunc_returns_int)
        assert "simhash" == one.log.name
    log = logging.getLogger("mine")
    assert Simhash(1, log=log).log is log
    a, b = Simhash("How are you?"), Simhash("How old are you?")
    theirs = package.Simhash("How are you?").distance(package.Simhash("How old are you?"))
    assert theirs == a.distance(b) == b.distance(a) > 0
    assert 1 == Simhash(-1, f=8).distance(Simhash(0xFFFE, f=8))
    assert Simhash(a) == a
    assert a != b
    assert a != "a text"
    assert [5, -5, 1] == [Simhash(value).value for value in (5, -5, True)]
    assert "Simhash(0x5, f=64)" == repr(Simhash(np.int64(5)))
    with pytest.raises(TypeError):
        hash(a)
    for other in (copy.deepcopy(a), pickle.loads(pickle.dumps(a))):  # noqa: S301
        assert a == other


def test_build_methods_replace_the_fingerprint() -> None:
    one = Simhash(0)
    one.build_by_text("some other text")
    assert Simhash("some other text") == one
    one.build_by_features(["a", "b"])
    assert Simhash(["a", "b"]) == one


@pytest.mark.parametrize("f", [12, 0, -8, 64.0, "64", True])
def test_widths_are_refused(f: Any) -> None:
    with pytest.raises(errors.ParameterError, match="use a multiple of 8"):
        Simhash("abc", f=f)


@pytest.mark.parametrize("value", [None, 3.5, b"abc", [1, 2], [("a", "b")], [(1, 2)], [("a", 1j)]])
def test_values_of_other_types_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="use "):
        Simhash(value)


@pytest.mark.parametrize("features", [[("a", 1, 2)], [("a", float("nan"))], {"a": float("inf")}, {"a": 2**63}])
def test_bad_features_are_refused(features: Any) -> None:
    with pytest.raises(errors.ParameterError, match="use "):
        Simhash(features)


def test_hashes_of_other_kinds_are_refused() -> None:
    with pytest.raises(errors.ParameterError, match="f=256 with a hash of 128 bits is not allowed; use f up to 128"):
        Simhash("abc", f=256)
    with pytest.raises(TypeError, match="hashfunc returned a str"):
        Simhash("abc", hashfunc=lambda data: data.hex())
    with pytest.raises(TypeError):
        Simhash("abc", reg="(a)(b)")


def test_different_widths_are_refused() -> None:
    for kind in (SimhashWidthError, errors.MismatchError, AssertionError, ValueError):
        with pytest.raises(kind, match="f differs: 64 against 32"):
            Simhash("a").distance(Simhash("a", f=32))
    index = SimhashIndex([])
    for call in (index.get_near_dups, lambda one: index.add("a", one), lambda one: index.delete("a", one)):
        with pytest.raises(SimhashWidthError):
            call(Simhash("a", f=32))


# SimhashIndex


@given(
    st.sampled_from([8, 16, 64, 128]),
    st.integers(0, 9),
    st.lists(
        st.tuples(
            st.sampled_from(["add", "add", "delete", "search"]),
            st.sampled_from(["a", "b,c", ""]),
            st.integers(0, 1 << 12),
        ),
        max_size=40,
    ),
    st.integers(0, 10),
)
def test_the_index_equals_the_packages(f: int, k: int, steps: list[Any], first: int) -> None:
    """The same additions, removals and searches return the same ids and numbers of buckets."""
    # Values with a few bits set, at both ends of the fingerprint.
    steps = [(what, name, (value & 63) << (f - 6) | value >> 6) for what, name, value in steps]
    start = [(name, value) for _, name, value in steps[:first]]
    ours = SimhashIndex([(name, Simhash(value, f)) for name, value in start], f=f, k=k)
    theirs = package.SimhashIndex([(name, package.Simhash(value, f)) for name, value in start], f=f, k=k)
    assert theirs.offsets == ours.offsets
    for what, name, value in steps[first:]:
        mine, other = Simhash(value, f), package.Simhash(value, f)
        if what == "search":
            ids = ours.get_near_dups(mine)
            assert len(set(ids)) == len(ids)
            assert set(theirs.get_near_dups(other)) == set(ids)
        else:
            getattr(ours, what)(name, mine)
            getattr(theirs, what)(name, other)
        assert theirs.bucket_size() == ours.bucket_size()


def test_ids_are_strings_and_come_nearest_first() -> None:
    index = SimhashIndex({}, k=3)
    for number, value in enumerate([0b111, 0b11, 0b1, 0b1111]):
        index.add(number, Simhash(value))
    assert ["2", "1", "0"] == index.get_near_dups(Simhash(0))
    again = pickle.loads(pickle.dumps(index))  # noqa: S301
    assert ["2", "1", "0"] == again.get_near_dups(Simhash(0))


def test_the_index_logs_its_size(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="simhash"):
        SimhashIndex([("a", Simhash(1)), ("a", Simhash(1)), ("b", Simhash(1))])
    assert ["2 fingerprints indexed"] == caplog.messages
    log = logging.getLogger("mine")
    assert SimhashIndex([], log=log).log is log


@pytest.mark.parametrize("options", [{"k": -1}, {"k": 1.5}, {"f": 0}, {"f": 1032}, {"f": "64"}])
def test_parameters_of_the_index_are_refused(options: Any) -> None:
    with pytest.raises(errors.ParameterError, match="use "):
        SimhashIndex([], **options)


# The package's own tests

RUN = """
import importlib, sys, unittest
sys.modules["simhash"] = importlib.import_module("nearkin.compat.simhash")
sys.path.insert(0, sys.argv[1])
tests = unittest.defaultTestLoader.discover(sys.argv[1], "test*.py")
result = unittest.TextTestRunner(verbosity=0).run(tests)
sys.exit(not (result.testsRun and result.wasSuccessful()))
"""


def own_tests() -> Path:
    """The folder of the package's tests."""
    variable = "NEARKIN_SIMHASH_TESTS"
    files = sorted(source_of("simhash", "2.1.2", variable).rglob("test*.py"))
    if not files:
        pytest.skip(f"the source distribution of simhash 2.1.2 has no tests; {variable} names their folder")
    return files[0].parent


def test_the_packages_own_tests_pass() -> None:
    """Its test suite passes with our module in place of the package."""
    folder = own_tests()
    completed = subprocess.run([sys.executable, "-c", RUN, str(folder)], capture_output=True, text=True, check=False)
    assert 0 == completed.returncode, completed.stderr
