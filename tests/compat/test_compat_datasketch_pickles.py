"""nearkin.compat.datasketch.loads: pickles of every version and protocol are read, and hostile ones run nothing."""

from __future__ import annotations

import contextlib
import pickle
import pickletools
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin.compat.datasketch import (
    HyperLogLog,
    LeanMinHash,
    MinHash,
    MinHashLSH,
    MinHashLSHEnsemble,
    MinHashLSHForest,
    WeightedMinHashGenerator,
    load,
    loads,
)
from nearkin.compat.datasketch.pickles import _names
from nearkin.errors import InputError

PICKLES = sorted((Path(__file__).parent / "pickles").glob("*.pickle"))
"""Written by datasketch 1.5.9 and 1.6.5: one of each object, of three sets."""
SETS = [[b"red", b"white", b"wine"], [b"red", b"wine"], [b"bread"]]


@pytest.mark.parametrize("path", PICKLES, ids=lambda path: path.stem)
def test_stored_pickles_are_read(path: Path) -> None:
    """As MinHashes of the legacy scheme, which version 1 had; indexes find and refuse as they should."""
    with path.open("rb") as file:
        found = load(file)
    first, *_ = MinHash.bulk(SETS, num_perm=8, scheme="legacy")
    assert first == found["minhash"]
    assert LeanMinHash(first) == found["lean"]
    assert ["a", "b"] == found["lsh"].query(first)
    assert ["a"] == found["forest"].query(first, 1)
    assert ["b", "a"] == list(found["ensemble"].query(first, 3))
    counter = HyperLogLog(4)
    counter.update(b"red")
    assert counter == found["hll"]
    assert WeightedMinHashGenerator(3, 4).minhash([1, 2, 3]) == found["weighted"]
    newer = MinHash.bulk(SETS, num_perm=8)[0]
    for ask in (
        found["lsh"].query,
        lambda m: found["forest"].query(m, 1),
        lambda m: list(found["ensemble"].query(m, 3)),
    ):
        with pytest.raises(ValueError, match="scheme differs: an index of legacy"):
            ask(newer)
    found["minhash"].update(b"more")


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("scheme", ["affine32", "affine64", "legacy"])
def test_pickles_of_the_package_are_read(protocol: int, scheme: str) -> None:
    """Every object of version 2.0.0, in containers, in every protocol; keys of many kinds."""
    package = pytest.importorskip("datasketch")
    keys = ["a", 5, (b"x", np.int64(7))]
    mine = MinHash.bulk(SETS, num_perm=8, seed=3, scheme=scheme)
    theirs = package.MinHash.bulk(SETS, num_perm=8, seed=3, scheme=scheme)
    made: list[Any] = []
    for module, sketches in ((package, theirs), (None, mine)):
        classes = module or __import__("nearkin.compat.datasketch", fromlist=["MinHashLSH"])
        lsh = classes.MinHashLSH(num_perm=8, params=(4, 2))
        pickled = classes.MinHashLSH(num_perm=8, params=(4, 2), prepickle=True)
        forest, ensemble = classes.MinHashLSHForest(8, 2), classes.MinHashLSHEnsemble(0.8, 8, 2, 2)
        for key, one in zip(keys, sketches, strict=True):
            lsh.insert(key, one)
            pickled.insert(key, one)
            forest.add(key, one)
        forest.index()
        ensemble.index([(key, one, len(part)) for key, one, part in zip(keys, sketches, SETS, strict=True)])
        generator = classes.WeightedMinHashGenerator(3, 4)
        counter = classes.HyperLogLog(5)
        counter.update(b"red")
        made.append([sketches, lsh, forest, ensemble, classes.LeanMinHash(sketches[0]), generator, counter, pickled])
    found = loads(pickle.dumps({"all": made[0]}, protocol))["all"]
    sketches, lsh, forest, ensemble, lean, generator, counter, pickled = found
    assert (mine, made[1][4], made[1][6]) == (sketches, lean, counter)
    assert made[1][1].get_counts() == lsh.get_counts()
    assert made[1][7].get_counts() == pickled.get_counts()
    for one, part in zip(mine, SETS, strict=True):
        assert made[1][1].query(one) == lsh.query(one) == pickled.query(one)
        assert made[1][2].query(one, 2) == forest.query(one, 2)
        assert list(made[1][3].query(one, len(part))) == list(ensemble.query(one, len(part)))
    assert made[1][5].minhash([1, 2, 3]) == generator.minhash([1, 2, 3])
    # They are of our classes, and go on as such.
    assert [MinHash, MinHashLSH, MinHashLSHForest, MinHashLSHEnsemble] == [
        type(one) for one in (sketches[0], lsh, forest, ensemble)
    ]
    assert np.ndarray is type(sketches[0].hashvalues)
    assert sketches[0] == pickle.loads(pickle.dumps(sketches[0]))  # noqa: S301


def own_hash(feature: Any) -> int:
    return len(feature)


def test_hashes_of_others_are_named_by_the_caller() -> None:
    """Under their name in the pickle; without it the error says what to give."""
    package = pytest.importorskip("datasketch")
    one = package.MinHash(4, hashfunc=own_hash)
    one.update(b"abc")
    data = pickle.dumps(one)
    name = f"{own_hash.__module__}.own_hash"
    with pytest.raises(InputError, match=f"give hashfuncs={{'{name}': the function}}"):
        loads(data)
    found = loads(data, hashfuncs={name: own_hash})
    assert own_hash is found.hashfunc
    other = MinHash(4, hashfunc=own_hash)
    other.update(b"xyz")
    assert other == found


class Runs:
    """Gives a pickle that calls something."""

    def __init__(self, call: Any, *args: Any) -> None:
        self.made = call, args

    def __reduce__(self) -> tuple[Any, ...]:
        return self.made


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
        # Changes of functions and classes, by state and by slots.
        f"{HASH}}}S'x'\nI1\nsb.".encode(),
        f"{HASH}(N}}S'__doc__'\nI1\nstb.".encode(),
        f"{MINHASH}}}S'update'\nI1\nsb.".encode(),
        f"{MINHASH}(N}}S'update'\nI1\nstb.".encode(),
        b"ccollections\nOrderedDict\n(N}S'update'\nI1\nstb.",
        b"c__builtin__\nset\n(N}S'update'\nI1\nstb.",
        b"c_codecs\nencode\n(N}S'_call'\nI1\nstb.",
        b"c_codecs\nencode\n(S'a'\nS'rot13'\ntR.",
        b"c_codecs\nencode\n(S'a'\nS'zlib'\ntR.",
        # Memory that nothing fills.
        b"cbuiltins\nbytearray\n(L999999999999L\ntR.",
        b"cnumpy\ndtype\n(S'V999999999'\ntR.",
        b"cnumpy\ndtype\n(S'O'\ntR.",
        b"cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR.",
        b"cnumpy\ndtype\n((lp0\ntR.",
        pickle.dumps(np.array([{}], dtype=object)),
        pickle.dumps(np.zeros(2, dtype=[("a", "u4")])),
        pickle.dumps(np.array(["a"], dtype="M8[s]")) if False else pickle.dumps(np.array([1], dtype="M8[s]")),
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
    """Whatever they ask for is an InputError; no function and no class is changed."""
    before = {name: dict(vars(kind)) for name, kind in (("set", set), ("MinHash", MinHash))}
    documented = loads.__doc__
    with pytest.raises(InputError):
        loads(data)
    assert before == {name: dict(vars(kind)) for name, kind in (("set", set), ("MinHash", MinHash))}
    assert ("", documented) == (capsys.readouterr().out, loads.__doc__)


def states() -> list[tuple[str, Any]]:
    """States that no object of the package has."""
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
            ("hashfunc", 5), ("permutations", [[2, 2, 2, 2], values]), ("permutations", [[1], [1]]), ("num_perm", None),
        ) if name != "num_perm"],
        ("minhash.MinHash", {}),
        ("minhash.MinHash", 5),
        ("lean_minhash.LeanMinHash", b"abc"),
        ("lean_minhash.LeanMinHash", {"seed": 1}),
        ("lean_minhash.LeanMinHash", struct.pack("qi", 1, 1 << 30)),
        ("lsh.MinHashLSH", lsh),
        ("lsh.MinHashLSH", {}),
        ("lsh.MinHashLSH", {**lsh, "b": "x"}),
        ("lsh.MinHashLSH", {**lsh, "h": 4}),
        ("lshforest.MinHashLSHForest", {}),
        ("lshforest.MinHashLSHForest", {"keys": {"a": [b"1"]}, "l": 2, "k": 4, "sorted_hashtables": [[], []]}),
        ("lshensemble.MinHashLSHEnsemble", {}),
        ("weighted_minhash.WeightedMinHash", {"seed": 1, "hashvalues": [1.5]}),
        ("weighted_minhash.WeightedMinHashGenerator", {"dim": 2, "sample_size": 1, "seed": 1, "rs": values}),
        ("hyperloglog.HyperLogLog", b"\x04"),
        ("storage.DictSetStorage", {"_dict": 5}),
        ("storage.DictListStorage", {"_dict": {"a": [5]}}),
    ]  # fmt: skip


@pytest.mark.parametrize("place", range(len(states())))
def test_states_are_checked(place: int) -> None:
    """What an object of the package can't hold is an InputError that says so."""
    name, state = states()[place]
    module, _, kind = f"datasketch.{name}".rpartition(".")
    head = f"c{module}\n{kind}\n)\x81".encode("latin-1")
    with pytest.raises(InputError, match=r"pickle|bytes of a|forest|bucket"):
        loads(head + pickle.dumps(state, 2)[2:-1] + b"b.")


def test_names_are_made_for_each_pickle() -> None:
    """Nothing that one pickle reaches is what the next one gets."""
    first, second = _names(), _names()
    assert first.keys() == second.keys()
    plain = {"builtins", "__builtin__", "collections"}
    shared = {name for name in first if first[name] is second[name]}
    assert {name.split(".")[0] for name in shared} <= plain
    assert {list, set, frozenset, object, __import__("collections").OrderedDict} == {first[name] for name in shared}


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damaged_pickles_are_errors_or_objects(data: st.DataObject) -> None:
    """Any byte changed, any end cut off: an InputError, or what plain data gives."""
    original = bytearray(PICKLES[data.draw(st.integers(0, len(PICKLES) - 1))].read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        original[data.draw(st.integers(0, len(original) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(original[: data.draw(st.integers(0, len(original)))]) if data.draw(st.booleans()) else bytes(original)
    if asks_for_memory(cut):
        return
    with contextlib.suppress(InputError):
        loads(cut)


def asks_for_memory(data: bytes) -> bool:
    """Whether a place in the pickle's memo is so far that Python reserves memory up to it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return any(
                isinstance(value, int) and value > 1 << 20
                for code, value, _ in pickletools.genops(data)
                if code.name in ("PUT", "LONG_BINPUT")
            )
    except Exception:
        # The reader ends there too.
        return False
