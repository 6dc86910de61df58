"""A reader of pickles that runs nothing from them.

A pickle names functions and calls them, so `pickle.loads` runs whatever its author likes. `SafeUnpickler` has a fixed
list of names and refuses all others. Each name maps to an object of this module: NumPy's constructors to functions that
read plain numbers from bytes of the right length, classes to empty objects whose `__setstate__` checks the state. Plain
containers, strings and numbers need no names. Protocols 0 to 5 are supported.

Limit: a pickle can allocate memory, as any file can that states its own length.

Source: "Restricting globals" in the documentation of Python's pickle. Tests:
`tests/compat/test_compat_datasketch_pickles.py`, with hostile pickles of every kind.
"""

from __future__ import annotations

import pickle
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import IO, Any, NoReturn

import numpy as np

from nearkin.compat.datasketch.minhash import FrozenFunction
from nearkin.errors import InputError, NearkinError

_DTYPE = re.compile(r"[<>|=]?(?:[iuf][248]|[iub]1|[SU]\d{1,4})", re.ASCII)
"""Types of arrays: numbers and strings only."""
_SYSTEM_MODULES = ("os", "posix", "nt", "subprocess", "builtins", "sys")


def refuse(reason: str) -> InputError:
    """Return the error for a pickle with forbidden content."""
    return InputError(f"this pickle {reason}", place="pickle", reason=reason)


class _Dtype:
    """The type of an array: a name such as "u4", and its byte order, which a pickle stores as a state."""

    def __init__(self, name: object, *rest: object) -> None:
        if not isinstance(name, str) or not _DTYPE.fullmatch(name):
            raise refuse(f"has an array of type {name!r}")
        self.dtype = np.dtype(name)

    def __setstate__(self, state: Any) -> None:
        order = state[1]
        if order not in ("<", ">", "|", "=") or any(part is not None for part in state[2:5]):
            raise refuse("has an array of a structured type")
        self.dtype = self.dtype.newbyteorder(order)


class _Array(np.ndarray[Any, Any]):
    """An array whose state is checked. Consumers copy it to a plain array."""

    def __setstate__(self, state: Any) -> None:
        _version, shape, dtype, fortran, data = state
        plain = _array_from_bytes(data, dtype, shape, "F" if fortran else "C")
        super().__setstate__((1, plain.shape, plain.dtype, False, plain.tobytes()))  # type: ignore[arg-type]


def _array_from_bytes(data: Any, dtype: Any, shape: Any, order: str) -> Any:
    if isinstance(data, str):
        data = data.encode("latin-1")
    if not isinstance(dtype, _Dtype) or not isinstance(data, (bytes, bytearray)) or order not in ("C", "F"):
        raise refuse("has an array without bytes")
    lengths = shape if isinstance(shape, tuple) else (shape,)
    if not all(isinstance(length, int) and length >= 0 for length in lengths) or len(lengths) > 2:
        raise refuse(f"has an array of shape {shape!r}")
    return np.frombuffer(data, dtype.dtype).reshape(lengths, order=order)  # type: ignore[call-overload]


def _empty_array(*args: Any) -> _Array:
    array: _Array = _Array.__new__(_Array, (0,), np.int8)
    return array


def _scalar(dtype: Any, data: Any) -> Any:
    return _array_from_bytes(data, dtype, (1,), "C")[0]


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise refuse("encodes a value other than bytes")
    return text.encode("latin-1")


def _bytearray(*args: Any) -> bytearray:
    # bytearray(n) would allocate n zeros.
    if len(args) == 2:
        return bytearray(_encode(*args))
    if len(args) > 2 or not all(isinstance(arg, (bytes, bytearray)) for arg in args):
        raise refuse("creates a bytearray from a value other than bytes")
    return bytearray(*args)


def _empty_object(cls: Any, base: Any, state: Any) -> Any:
    """Create an object as protocols 0 and 1 do; its state follows."""
    if not isinstance(cls, type) or not issubclass(cls, _EmptyObject) or state is not None:
        raise refuse("builds an object that is not datasketch's")
    return cls()


def _ignore_method(owner: Any, name: Any) -> None:
    """Ignore the method of an index that makes its buckets; ours depends on `hashfunc`."""
    if name not in ("_byteswap", "_hashed_byteswap"):
        raise refuse(f"asks for the attribute {name!r}")


def _empty_dict(factory: Any = None, *rest: Any) -> dict[Any, Any]:
    """Replace a defaultdict by a dict."""
    if rest:
        raise refuse("fills a defaultdict on creation")
    return {}


class _EmptyObject:
    """Creates an empty object of a class. Arguments and class state are refused."""

    target: type[Any] = object

    def __new__(cls) -> Any:
        return cls.target.__new__(cls.target)  # type: ignore[call-overload]

    def __setstate__(self, state: object) -> NoReturn:
        raise refuse("gives a class a state")


def safe_names(classes: Mapping[str, type]) -> dict[str, Any]:
    """Return new objects for the names that a pickle may use, so that no pickle can change those of the next one.

    Parameters
    ----------
    classes : mapping of str to type
        Classes by module and name, in addition to the names of Python and NumPy.
    """
    array, scalar, buffer = (FrozenFunction(call) for call in (_empty_array, _scalar, _array_from_bytes))
    names: dict[str, Any] = {
        "_codecs.encode": FrozenFunction(_encode),
        "builtins.bytearray": FrozenFunction(_bytearray),
        "builtins.getattr": FrozenFunction(_ignore_method),
        "builtins.list": list,
        "builtins.object": object,
        "builtins.set": set,
        "builtins.frozenset": frozenset,
        "collections.OrderedDict": OrderedDict,
        "collections.defaultdict": FrozenFunction(_empty_dict),
        "copyreg._reconstructor": FrozenFunction(_empty_object),
        "numpy.ndarray": array,
        "numpy.dtype": FrozenFunction(_Dtype),
    }
    for package in ("numpy.core", "numpy._core"):
        names[f"{package}.multiarray._reconstruct"] = array
        names[f"{package}.multiarray.scalar"] = scalar
        names[f"{package}.numeric._frombuffer"] = buffer
    # Protocols 0 to 2 use the module names of Python 2.
    for old, new in (("__builtin__", "builtins"), ("copy_reg", "copyreg")):
        names.update({f"{old}.{name[len(new) + 1 :]}": names[name] for name in list(names) if name.startswith(new)})
    for name, target in classes.items():
        names[name] = type(target.__name__, (_EmptyObject,), {"target": target})
    return names


class SafeUnpickler(pickle.Unpickler):
    """A reader of pickles with a fixed list of names.

    Parameters
    ----------
    file : binary file
    names : mapping of str to object
        As from `safe_names`.
    functions : mapping of str to callable, optional
        Functions by module and name.
    """

    def __init__(
        self, file: IO[bytes], names: Mapping[str, Any], functions: Mapping[str, Callable[[Any], Any]] | None = None
    ) -> None:
        # A string of Python 2 may hold the bytes of an array.
        super().__init__(file, encoding="latin-1")
        self._names, self._functions = names, functions or {}

    def find_class(self, module: str, name: str) -> Any:
        """Return the object for a name; InputError for a name that is not in the list."""
        full = f"{module}.{name}"
        if full in self._names:
            return self._names[full]
        if full in self._functions:
            return FrozenFunction(self._functions[full])
        remedy = f"; if it is the hash of your MinHashes, pass hashfuncs={{{full!r}: the function}}"
        without_remedy = module in _SYSTEM_MODULES or module.startswith("datasketch")
        reason = f"asks for {full}, which is not a sketch or index of datasketch"
        raise refuse(reason + ("" if without_remedy else remedy))

    def read(self) -> Any:
        """Return the object.

        Raises
        ------
        InputError
            The bytes are damaged, or contain another name or an invalid state.
        """
        try:
            return self.load()
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
            message = f"this is not a pickle of datasketch's objects: {reason}"
            raise InputError(message, place="pickle", reason=reason) from error
