"""Pickles of datasketch 1.1.3 to 2.0, loaded as objects of this package without running their content.

`nearkin.compat.datasketch.safe_pickle` has the reader. A hash function from another package must be passed by name in
`hashfuncs`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import IO, Any

from nearkin.compat.datasketch.lsh import MinHashLSH
from nearkin.compat.datasketch.minhash import LeanMinHash, MinHash, sha1_hash32, sha1_hash64
from nearkin.compat.datasketch.safe_pickle import SafeUnpickler, refuse, safe_names

_HASHES = {"datasketch.hashfunc.sha1_hash32": sha1_hash32, "datasketch.hashfunc.sha1_hash64": sha1_hash64}


class _Storage(dict[Any, Any]):
    """A table of a `MinHashLSH`: bucket → keys, or key → buckets."""

    def __setstate__(self, state: Any) -> None:
        if not isinstance(state, Mapping) or not isinstance(state.get("_dict"), dict):
            raise refuse("has a table without a dict")
        self.update(state["_dict"])


CLASSES = {
    "datasketch.minhash.MinHash": MinHash,
    "datasketch.lean_minhash.LeanMinHash": LeanMinHash,
    "datasketch.lsh.MinHashLSH": MinHashLSH,
    "datasketch.storage.DictSetStorage": _Storage,
    "datasketch.storage.DictListStorage": _Storage,
    # A class that a program imported from the package itself.
    "datasketch.MinHash": MinHash,
    "datasketch.LeanMinHash": LeanMinHash,
    "datasketch.MinHashLSH": MinHashLSH,
}
"""Classes that a pickle may name."""


def loads(data: bytes, *, hashfuncs: Mapping[str, Callable[[Any], Any]] | None = None) -> Any:
    r"""Return the object in a pickle of datasketch's objects, converted to the classes of this module.

    Parameters
    ----------
    data : bytes
        Output of `pickle.dumps` for a MinHash, LeanMinHash or MinHashLSH of datasketch, or for dicts, lists, tuples
        and sets of them.
    hashfuncs : mapping of str to callable, optional
        Hash functions of the objects, by module and name as in the pickle: `{"mmh3.hash": mmh3.hash}`.

    Raises
    ------
    InputError
        The bytes are damaged, or name another object; the message says which.

    Examples
    --------
    >>> import pickle
    >>> from nearkin.compat.datasketch import loads
    >>> loads(pickle.dumps({"a": [1, 2]}))
    {'a': [1, 2]}
    >>> loads(b"cos\nsystem\n(S'true'\ntR.")
    Traceback (most recent call last):
    nearkin.errors.InputError: this pickle asks for os.system, which is not a sketch or index of datasketch
    """
    return load(io.BytesIO(data), hashfuncs=hashfuncs)


def load(file: IO[bytes], *, hashfuncs: Mapping[str, Callable[[Any], Any]] | None = None) -> Any:
    """Return the object in an open file; see `loads`.

    Parameters
    ----------
    file : binary file
    hashfuncs : mapping of str to callable, optional

    Raises
    ------
    InputError
        The bytes are damaged, or name another object; the message says which.
    """
    return SafeUnpickler(file, safe_names(CLASSES), {**_HASHES, **(hashfuncs or {})}).read()
