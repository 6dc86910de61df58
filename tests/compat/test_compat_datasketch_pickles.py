"""Pickles of datasketch: every version and protocol is read, and a hostile pickle runs nothing."""

from __future__ import annotations

import contextlib
import io
import pickle
import pickletools
import struct
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin.compat.datasketch import LeanMinHash, MinHash, MinHashLSH, load, loads, sha1_hash32
from nearkin.compat.datasketch.pickles import CLASSES
from nearkin.compat.datasketch.safe_pickle import SafeUnpickler, safe_names
from nearkin.errors import InputError

PICKLES = sorted((Path(__file__).parent / "pickles").glob("*.pickle"))
"""A dict with one object of each class, written by datasketch 1.5.9 and 1.6.5."""
SETS = [[b"red", b"white", b"wine"], [b"red", b"wine"], [b"bread"]]


class Omitted:
    """An object of a class that nearkin does not have; its state is ignored."""

    def __setstate__(self, state: object) -> None:
        pass


OMITTED = [
    "lshforest.MinHashLSHForest",
    "lshensemble.MinHashLSHEnsemble",
    "hyperloglog.HyperLogLog",
    "weighted_minhash.WeightedMinHash",
]


def read_all(data: bytes) -> Any:
    """Read a stored pickle, including objects of the classes that `load` refuses."""
    classes = {**CLASSES, **{f"datasketch.{name}": Omitted for name in OMITTED}}
    functions = {"datasketch.hashfunc.sha1_hash32": sha1_hash32}
    return SafeUnpickler(io.BytesIO(data), safe_names(classes), functions).read()


@pytest.mark.parametrize("path", PICKLES, ids=lambda path: path.stem)
def test_stored_pickles_are_read(path: Path) -> None:
    """MinHashes of version 1 have the legacy scheme, and an index of them refuses other schemes."""
    objects = read_all(path.read_bytes())
    first, *_ = MinHash.bulk(SETS, num_perm=8, scheme="legacy")
    assert first == objects["minhash"]
    assert LeanMinHash(first) == objects["lean"]
    assert ["a", "b"] == objects["lsh"].query(first)
    with pytest.raises(ValueError, match="scheme differs: an index of legacy"):
        objects["lsh"].query(MinHash.bulk(SETS, num_perm=8)[0])
    objects["minhash"].update(b"more")
    with (
        path.open("rb") as file,
        pytest.raises(
            InputError,
            match=r"asks for datasketch\.lshforest\.MinHashLSHForest, which is not a sketch or index of datasketch$",
        ),
    ):
        load(file)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("scheme", ["affine32", "affine64", "legacy"])
def test_pickles_of_the_package_are_read(protocol: int, scheme: str) -> None:
    """Every class of version 2.0.0, in containers, in every protocol, with keys of several types."""
    package = pytest.importorskip("datasketch")
    keys = ["a", 5, (b"x", np.int64(7))]
    mine = MinHash.bulk(SETS, num_perm=8, seed=3, scheme=scheme)
    theirs = package.MinHash.bulk(SETS, num_perm=8, seed=3, scheme=scheme)
    lsh = MinHashLSH(num_perm=8, params=(4, 2))
    their_indexes = [package.MinHashLSH(num_perm=8, params=(4, 2), prepickle=prepickle) for prepickle in (False, True)]
    for key, sketch, their_sketch in zip(keys, mine, theirs, strict=True):
        lsh.insert(key, sketch)
        for index in their_indexes:
            index.insert(key, their_sketch)
    data = pickle.dumps({"all": [theirs, package.LeanMinHash(theirs[0]), *their_indexes]}, protocol)
    sketches, lean, *indexes = loads(data)["all"]
    assert (mine, LeanMinHash(mine[0])) == (sketches, lean)
    for index in indexes:
        assert lsh.get_counts() == index.get_counts()
        for sketch in mine:
            assert lsh.query(sketch) == index.query(sketch)
    # The objects are instances of our classes.
    assert [MinHash, LeanMinHash, MinHashLSH, MinHashLSH] == [type(value) for value in (sketches[0], lean, *indexes)]
    assert np.ndarray is type(sketches[0].hashvalues)
    assert sketches[0] == pickle.loads(pickle.dumps(sketches[0]))  # noqa: S301


def own_hash(feature: Any) -> int:
    return len(feature)


def test_a_hash_of_another_package_is_passed_by_name() -> None:
    """Without it the error says what to pass."""
    package = pytest.importorskip("datasketch")
    sketch = package.MinHash(4, hashfunc=own_hash)
    sketch.update(b"abc")
    data = pickle.dumps(sketch)
    name = f"{own_hash.__module__}.own_hash"
    with pytest.raises(InputError, match=f"pass hashfuncs={{'{name}': the function}}"):
        loads(data)
    loaded = loads(data, hashfuncs={name: own_hash})
    assert own_hash is loaded.hashfunc
    expected = MinHash(4, hashfunc=own_hash)
    expected.update(b"xyz")
    assert expected == loaded


class Runs:
    """An object whose pickle calls a function."""

    def __init__(self, call: Any, *args: Any) -> None:
        self.call = call, args

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


MINHASH = "cdatasketch.minhash\nMinHash\n"
HASH = "cdatasketch.hashfunc\nsha1_hash32\n"


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(S'true'\ntR.",
        b"cposix\nsystem\n(S'true'\ntR.",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cbuiltins\nexec\n(S'1'\ntR.",
        b"c__builtin__\neval\n(S'1'\ntR.",
        b"cbuiltins\ngetattr\n(c__builtin__\nlist\nS'__class__'\ntR.",
        b"cbuiltins\ngetattr\n(cos\nS'system'\ntR.",
        b"cbuiltins\ngetattr.__self__.eval\n(S'1'\ntR.",
        b"\x80\x04\x8c\x08builtins\x8c\x0egetattr.__self__\x93.",
        b"cdatasketch.minhash\nMinHash.__init__.__globals__\n.",
        b"cdatasketch.minhash\nnp\n.",
        b"cnearkin.compat.datasketch\nloads\n.",
        b"(i__main__\nX\n.",
        b"cdatasketch.lsh\nMinHashLSH\n(I128\ntR.",
        f"{MINHASH}(I5\ntR.".encode(),
        # Changes to functions and classes, by state and by slots.
        f"{HASH}}}S'x'\nI1\nsb.".encode(),
        f"{HASH}(N}}S'__doc__'\nI1\nstb.".encode(),
        f"{MINHASH}}}S'update'\nI1\nsb.".encode(),
        f"{MINHASH}(N}}S'update'\nI1\nstb.".encode(),
        b"ccollections\nOrderedDict\n(N}S'update'\nI1\nstb.",
        b"c__builtin__\nset\n(N}S'update'\nI1\nstb.",
        b"c_codecs\nencode\n(N}S'_call'\nI1\nstb.",
        b"c_codecs\nencode\n(S'a'\nS'rot13'\ntR.",
        b"c_codecs\nencode\n(S'a'\nS'zlib'\ntR.",
        # Allocations without content.
        b"cbuiltins\nbytearray\n(L999999999999L\ntR.",
        b"cnumpy\ndtype\n(S'V999999999'\ntR.",
        b"cnumpy\ndtype\n(S'O'\ntR.",
        b"cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR.",
        b"cnumpy\ndtype\n((lp0\ntR.",
        pickle.dumps(np.array([{}], dtype=object)),
        pickle.dumps(np.zeros(2, dtype=[("a", "u4")])),
        pickle.dumps(np.array([1], dtype="M8[s]")),
        pickle.dumps(Runs(print, "ran")),
        pickle.dumps({"a": [Runs(exec, "raise SystemExit")]}),
        pickle.dumps(Runs(pickle.loads, b"")),
        b"",
        b".",
        b"garbage",
        b"\x80\x09.",
        b"Pname\n.",
        b"\x82\x01.",
    ],
)
def test_hostile_pickles_run_nothing(data: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is an InputError, and no function or class changes."""
    before = {name: dict(vars(kind)) for name, kind in (("set", set), ("MinHash", MinHash))}
    documented = loads.__doc__
    with pytest.raises(InputError):
        loads(data)
    assert before == {name: dict(vars(kind)) for name, kind in (("set", set), ("MinHash", MinHash))}
    assert ("", documented) == (capsys.readouterr().out, loads.__doc__)


def states() -> list[tuple[str, Any]]:
    """Invalid states, by class."""
    values = np.zeros(4, np.uint32)
    minhash = {
        "seed": 1,
        "num_perm": 4,
        "scheme": "affine32",
        "hashvalues": values,
        "hashfunc": None,
        "permutations": None,
    }
    lsh = {"h": 8, "b": 4, "r": 2, "prepickle": False, "hashtables": [], "keys": {}}
    return [
        *[("minhash.MinHash", {**minhash, name: bad}) for name, bad in (
            ("seed", None), ("seed", "x"), ("scheme", "x"), ("hashvalues", [0.5]), ("hashvalues", "text"),
            ("hashfunc", 5), ("permutations", [[2, 2, 2, 2], values]), ("permutations", [[1], [1]]),
        )],
        ("minhash.MinHash", {}),
        ("minhash.MinHash", 5),
        ("lean_minhash.LeanMinHash", b"abc"),
        ("lean_minhash.LeanMinHash", {"seed": 1}),
        ("lean_minhash.LeanMinHash", struct.pack("qi", 1, 1 << 30)),
        ("lsh.MinHashLSH", lsh),
        ("lsh.MinHashLSH", {}),
        ("lsh.MinHashLSH", {**lsh, "b": "x"}),
        ("lsh.MinHashLSH", {**lsh, "h": 4}),
        ("lsh.MinHashLSH", {**lsh, "hashtables": [{}] * 4, "keys": {"a": [5]}}),
        ("lsh.MinHashLSH", {**lsh, "hashtables": [{}] * 4, "keys": {"a": 5}}),
        ("lsh.MinHashLSH", {**lsh, "hashtables": [{}] * 4, "keys": {"a": [b""]}, "prepickle": True}),
        ("storage.DictSetStorage", {"_dict": 5}),
        ("storage.DictListStorage", 5),
    ]  # fmt: skip


@pytest.mark.parametrize("case", range(len(states())))
def test_states_are_checked(case: int) -> None:
    """An invalid state is an InputError."""
    name, state = states()[case]
    module, _, kind = f"datasketch.{name}".rpartition(".")
    head = f"c{module}\n{kind}\n)\x81".encode("latin-1")
    with pytest.raises(InputError, match=r"pickle|bytes of a"):
        loads(head + pickle.dumps(state, 2)[2:-1] + b"b.")


def test_a_key_that_the_package_pickled_runs_nothing() -> None:
    """An index with `prepickle` has a pickle per key, which is read by the same rules."""
    package = pytest.importorskip("datasketch")
    index = package.MinHashLSH(num_perm=8, params=(4, 2), prepickle=True)
    index.keys._dict[pickle.dumps(Runs(print, "ran"))] = [b"x"] * 4
    with pytest.raises(InputError, match="asks for"):
        loads(pickle.dumps(index))


def test_each_pickle_gets_its_own_names() -> None:
    """An object that one pickle can reach is not the object that the next one reaches."""
    first, second = safe_names(CLASSES), safe_names(CLASSES)
    assert first.keys() == second.keys()
    shared = {name for name in first if first[name] is second[name]}
    assert {name.split(".")[0] for name in shared} <= {"builtins", "__builtin__", "collections"}
    assert {list, set, frozenset, object, OrderedDict} == {first[name] for name in shared}


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_pickles_are_errors_or_objects(data: st.DataObject) -> None:
    """With bytes changed and the end cut off, the reader returns an object or raises InputError."""
    original = bytearray(PICKLES[data.draw(st.integers(0, len(PICKLES) - 1))].read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        original[data.draw(st.integers(0, len(original) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(original[: data.draw(st.integers(0, len(original)))]) if data.draw(st.booleans()) else bytes(original)
    if has_large_memo(cut):
        return
    with contextlib.suppress(InputError):
        read_all(cut)


def has_large_memo(data: bytes) -> bool:
    """True if Python would allocate a large memo for this pickle."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return any(
                isinstance(value, int) and value > 1 << 20
                for code, value, _ in pickletools.genops(data)
                if code.name in ("PUT", "LONG_BINPUT")
            )
    except Exception:
        # The reader stops at the same byte.
        return False
