"""Pickles of datasketch's objects, read without running what is in them.

A pickle names functions and calls them: `pickle.loads` of a file that somebody else wrote runs what they like. `loads`
knows the names that pickles of datasketch need and no others, and each stands for something of its own here: classes
for the classes of this package, built empty and filled by their `__setstate__`, which check what they are given;
NumPy's constructors for functions that read plain numbers from bytes of the right length. Protocols 0 to 5 and
datasketch 1.1.3 to 2.0 are read, containers of its objects too.

A hash that is no part of datasketch is found under its name in `hashfuncs`, which the caller gives.

What stays: a pickle may ask for memory, as any file may that says how long it is.

Source: "Restricting globals", documentation of Python's pickle. Tests:
`tests/compat/test_compat_datasketch_pickles.py`, with hostile pickles of every kind.
"""

from __future__ import annotations

import io
import pickle
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import IO, Any, NoReturn

import numpy as np

from nearkin.compat.datasketch.ensemble import MinHashLSHEnsemble
from nearkin.compat.datasketch.forest import MinHashLSHForest
from nearkin.compat.datasketch.hashing import NamedHash, sha1_hash32, sha1_hash64
from nearkin.compat.datasketch.hyperloglog import HyperLogLog
from nearkin.compat.datasketch.lean import LeanMinHash
from nearkin.compat.datasketch.lsh import MinHashLSH
from nearkin.compat.datasketch.minhash import MinHash
from nearkin.compat.datasketch.tables import Buckets, Keys
from nearkin.compat.datasketch.weighted import WeightedMinHash, WeightedMinHashGenerator
from nearkin.errors import InputError, NearkinError

_CLASSES = {
    "datasketch.minhash.MinHash": MinHash,
    "datasketch.lean_minhash.LeanMinHash": LeanMinHash,
    "datasketch.lsh.MinHashLSH": MinHashLSH,
    "datasketch.lshforest.MinHashLSHForest": MinHashLSHForest,
    "datasketch.lshensemble.MinHashLSHEnsemble": MinHashLSHEnsemble,
    "datasketch.weighted_minhash.WeightedMinHash": WeightedMinHash,
    "datasketch.weighted_minhash.WeightedMinHashGenerator": WeightedMinHashGenerator,
    "datasketch.hyperloglog.HyperLogLog": HyperLogLog,
    "datasketch.storage.DictSetStorage": Buckets,
    "datasketch.storage.DictListStorage": Keys,
}
_HASHES: dict[str, Callable[[Any], int]] = {
    "datasketch.hashfunc.sha1_hash32": sha1_hash32,
    "datasketch.hashfunc.sha1_hash64": sha1_hash64,
}
_KIND = re.compile(r"[<>|=]?(?:[iuf][248]|[iub]1|[SU]\d{1,4})", re.ASCII)
"""Numbers and strings that arrays may hold; NumPy would take more for a type."""


def loads(data: bytes, *, hashfuncs: Mapping[str, Callable[[Any], Any]] | None = None) -> Any:
    r"""The object in a pickle of datasketch's objects, as objects of this module.

    Parameters
    ----------
    data : bytes
        What `pickle.dumps` has made of objects of datasketch, or of dicts, lists, tuples and sets of them.
    hashfuncs : mapping of str to callable, optional
        Hashes that the objects use, by module and name as in the pickle: `{"mmh3.hash": mmh3.hash}`.

    Raises
    ------
    InputError
        The bytes are damaged, or ask for something else; the message names it.

    Examples
    --------
    >>> import pickle
    >>> from nearkin.compat.datasketch import loads
    >>> loads(pickle.dumps({"a": [1, 2]}))
    {'a': [1, 2]}
    >>> loads(b"cos\nsystem\n(S'true'\ntR.")
    Traceback (most recent call last):
    nearkin.errors.InputError: this pickle asks for os.system, which is no part of datasketch's objects
    """
    return load(io.BytesIO(data), hashfuncs=hashfuncs)


def load(file: IO[bytes], *, hashfuncs: Mapping[str, Callable[[Any], Any]] | None = None) -> Any:
    """As `loads`, of an open file.

    Parameters
    ----------
    file : binary file
    hashfuncs : mapping of str to callable, optional

    Raises
    ------
    InputError
        The bytes are damaged, or ask for something else; the message names it.
    """
    try:
        return _Reader(file, hashfuncs or {}).load()
    except InputError:
        raise
    except (
        NearkinError,
        pickle.UnpicklingError,
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(
            f"this is no pickle of datasketch's objects: {reason}", place="pickle", reason=reason
        ) from error


def _refused(reason: str) -> InputError:
    return InputError(f"this pickle {reason}", place="pickle", reason=reason)


class _Call:
    """A name that a pickle may call; nothing in a pickle can change it."""

    __slots__ = ("_call",)
    _call: Callable[..., Any]

    def __init__(self, call: Callable[..., Any]) -> None:
        object.__setattr__(self, "_call", call)

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise _refused(f"changes {name} of a function")

    def __setstate__(self, state: object) -> NoReturn:
        raise _refused("gives a function a state")


class _Type:
    """The type of an array: a name such as "u4", and its byte order, which comes as a state."""

    def __init__(self, name: object, *rest: object) -> None:
        if not isinstance(name, str) or not _KIND.fullmatch(name):
            raise _refused(f"has an array of type {name!r}")
        self.dtype = np.dtype(name)

    def __setstate__(self, state: Any) -> None:
        order = state[1]
        if order not in ("<", ">", "|", "=") or any(part is not None for part in state[2:5]):
            raise _refused("has an array of a structured type")
        self.dtype = self.dtype.newbyteorder(order)


class _Array(np.ndarray[Any, Any]):
    """An array whose state is checked; others make a plain copy of it."""

    def __setstate__(self, state: Any) -> None:
        _version, shape, kind, fortran, data = state
        plain = _from_bytes(data, kind, shape, "F" if fortran else "C")
        super().__setstate__((1, plain.shape, plain.dtype, False, plain.tobytes()))  # type: ignore[arg-type]


def _from_bytes(data: Any, kind: Any, shape: Any, order: str) -> Any:
    """The array of plain numbers in these bytes."""
    if isinstance(data, str):
        data = data.encode("latin-1")
    if not isinstance(kind, _Type) or not isinstance(data, (bytes, bytearray)) or order not in ("C", "F"):
        raise _refused("has an array that is not made of bytes")
    lengths = shape if isinstance(shape, tuple) else (shape,)
    if not all(isinstance(length, int) and length >= 0 for length in lengths) or len(lengths) > 2:
        raise _refused(f"has an array of shape {shape!r}")
    return np.frombuffer(data, kind.dtype).reshape(lengths, order=order)  # type: ignore[call-overload]


def _reconstruct(*args: Any) -> _Array:
    empty: _Array = _Array.__new__(_Array, (0,), np.int8)
    return empty


def _scalar(kind: Any, data: Any) -> Any:
    return _from_bytes(data, kind, (1,), "C")[0]


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise _refused("encodes something else than bytes")
    return text.encode("latin-1")


def _bytearray(*args: Any) -> bytearray:
    # bytearray(n) would be n zeros.
    if not args:
        return bytearray()
    if len(args) == 2:
        return bytearray(_encode(*args))
    if len(args) != 1 or not isinstance(args[0], (bytes, bytearray)):
        raise _refused("makes a bytearray of something else than bytes")
    return bytearray(args[0])


def _old_object(kind: Any, base: Any, state: Any) -> Any:
    """Protocols 0 and 1: an object, to be filled."""
    if not isinstance(kind, type) or not issubclass(kind, _Empty) or state is not None:
        raise _refused("builds something else than an object of datasketch")
    return kind()


def _method(owner: Any, name: Any) -> None:
    """The index of datasketch pickles which of its methods makes buckets; ours follows from `hashfunc`."""
    if not isinstance(owner, MinHashLSH) or name not in ("_byteswap", "_hashed_byteswap"):
        raise _refused(f"asks for the attribute {name!r}")


def _factory(kind: Any = None, *rest: Any) -> dict[Any, Any]:
    """A defaultdict becomes a dict."""
    if rest:
        raise _refused("fills a defaultdict as it is made")
    return {}


class _Empty:
    """Gives an empty object of a class that its state will fill; what else is given is refused."""

    target: type = object

    def __new__(cls) -> Any:
        return object.__new__(cls.target)

    def __setstate__(self, state: object) -> NoReturn:
        raise _refused("gives a class a state")


def _names() -> dict[str, Any]:
    """What names stand for; made anew for each pickle, so that none can change what the next one sees."""
    array, scalar, buffer = _Call(_reconstruct), _Call(_scalar), _Call(_from_bytes)
    names: dict[str, Any] = {
        "_codecs.encode": _Call(_encode),
        "builtins.bytearray": _Call(_bytearray),
        "builtins.getattr": _Call(_method),
        "builtins.list": list,
        "builtins.object": object,
        "builtins.set": set,
        "builtins.frozenset": frozenset,
        "collections.OrderedDict": OrderedDict,
        "collections.defaultdict": _Call(_factory),
        "copyreg._reconstructor": _Call(_old_object),
        "numpy.ndarray": _Call(_reconstruct),
        "numpy.dtype": _Call(_Type),
    }
    for package in ("numpy.core", "numpy._core"):
        names[f"{package}.multiarray._reconstruct"] = array
        names[f"{package}.multiarray.scalar"] = scalar
        names[f"{package}.numeric._frombuffer"] = buffer
    # What Python 2 called them, in pickles of protocols 0 to 2.
    for name in ("bytearray", "getattr", "list", "object", "set", "frozenset"):
        names[f"__builtin__.{name}"] = names[f"builtins.{name}"]
    names["copy_reg._reconstructor"] = names["copyreg._reconstructor"]
    for name, target in _CLASSES.items():
        made = type(target.__name__, (_Empty,), {"target": target})
        module, _, short = name.rpartition(".")
        names[name] = made
        # `datasketch.MinHash` itself, for what has moved the class.
        names[f"{module.partition('.')[0]}.{short}"] = made
    return names


class _Reader(pickle.Unpickler):
    """Finds names in a list of its own."""

    def __init__(self, file: IO[bytes], hashfuncs: Mapping[str, Callable[[Any], Any]]) -> None:
        # Strings of Python 2 may be bytes of arrays.
        super().__init__(file, encoding="latin-1")
        self._known = _names()
        self._hashes = {**_HASHES, **hashfuncs}

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full in self._known:
            return self._known[full]
        if full in self._hashes:
            return NamedHash(self._hashes[full])
        raise _refused(
            f"asks for {full}, which is no part of datasketch's objects"
            + ("" if module in ("os", "posix", "nt", "subprocess", "builtins", "sys") else _mend(full))
        )


def _mend(name: str) -> str:
    return f"; if it is the hash of your MinHashes, give hashfuncs={{{name!r}: the function}}"
