"""`LeanMinHash`: values, seed and scheme of a MinHash without its functions, in the bytes of datasketch.

Bytes, in the byte order and alignment of a character of `struct` ("@", "=", "<", ">", "!"):

| scheme | bytes |
|---|---|
| `legacy` | seed (int64), number of values (int32, positive), values (uint32 each) |
| `affine32` | seed (int64), number of values negated (int32), 1 (uint8), values (uint32 each) |
| `affine64` | seed (int64), number of values negated (int32), 2 (uint8), values (uint64 each) |

Source: the documentation of datasketch 2.0 (Zhu). Tests: bytes against the package in both directions,
`tests/compat/test_compat_datasketch.py`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nearkin.compat.datasketch.minhash import MinHash, _check_whole, whole_numbers
from nearkin.errors import InputError, bad_parameter
from nearkin.families.datasketch import DatasketchScheme, Numbers, check_scheme

if TYPE_CHECKING:
    from typing_extensions import Self

_CODES: dict[DatasketchScheme, int] = {"affine32": 1, "affine64": 2}
_SCHEMES = {code: scheme for scheme, code in _CODES.items()}
_LETTERS: dict[DatasketchScheme, str] = {"affine32": "I", "affine64": "Q", "legacy": "I"}
_ORDERS = {"@": "=", "=": "=", "<": "<", ">": ">", "!": ">"}


class LeanMinHash(MinHash):
    """A MinHash that takes no more features, with the calls and bytes of `datasketch.LeanMinHash`.

    Parameters
    ----------
    minhash : MinHash, optional
        What it is made of; or else `seed`, `hashvalues` and `scheme`.
    seed : int, optional
        A number of 64 bits with a sign.
    hashvalues : sequence of int, optional
    scheme : {"affine32", "affine64", "legacy"}, optional

    Raises
    ------
    ParameterError
        Neither a MinHash nor all of seed, values and scheme; values out of the scheme's range.

    Examples
    --------
    >>> from nearkin.compat.datasketch import LeanMinHash, MinHash
    >>> m = MinHash(num_perm=64)
    >>> m.update(b"wine")
    >>> lean = LeanMinHash(m)
    >>> buffer = bytearray(lean.bytesize("<"))
    >>> lean.serialize(buffer, "<")
    >>> len(buffer), LeanMinHash.deserialize(buffer, "<") == lean
    (269, True)
    """

    def __init__(
        self,
        minhash: MinHash | None = None,
        seed: int | None = None,
        hashvalues: npt.ArrayLike | None = None,
        scheme: DatasketchScheme | None = None,
    ) -> None:
        if minhash is not None:
            if scheme is not None and scheme != minhash.scheme:
                raise bad_parameter("scheme", repr(scheme), f"that of the MinHash, {minhash.scheme!r}, or none")
            self._take(minhash.seed, minhash.hashvalues, minhash.scheme)
            return
        if seed is None or hashvalues is None:
            raise bad_parameter("minhash", None, "a MinHash, or seed, hashvalues and scheme")
        if scheme is None:
            raise bad_parameter(
                "scheme",
                None,
                'the scheme of the values: "affine32", "affine64", or "legacy" for datasketch before 2.0',
            )
        self._take(seed, hashvalues, scheme)

    def _take(self, seed: object, hashvalues: object, scheme: object) -> None:
        self.scheme = check_scheme(scheme)
        self.seed = _check_whole("seed", seed)
        if not -(1 << 63) <= self.seed < 1 << 63:
            raise bad_parameter("seed", self.seed, "a number of 64 bits with a sign")
        self.hashvalues = whole_numbers(hashvalues, self.scheme, "hashvalues")
        if not len(self.hashvalues):
            raise bad_parameter("hashvalues", "no values", "one or more")

    def update(self, b: Any) -> None:
        """Not there: raises TypeError."""
        raise TypeError("a LeanMinHash has no functions to update it with; update the MinHash that it was made of")

    def update_batch(self, b: Any) -> None:
        """Not there: raises TypeError."""
        self.update(b)

    @classmethod
    def _united(cls, first: Any, values: Numbers) -> Self:
        new = object.__new__(cls)
        new._take(first.seed, values, first.scheme)
        return new

    def __hash__(self) -> int:  # type: ignore[override]  # Its values stay.
        return hash((self.scheme, self.seed, tuple(self.hashvalues.tolist())))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    def bytesize(self, byteorder: str = "@") -> int:
        """How many bytes `serialize` writes.

        Parameters
        ----------
        byteorder : {"@", "=", "<", ">", "!"}, default "@"
            As in `struct`; "@" aligns as this machine does.
        """
        return _header(byteorder, self.scheme) + _bytes_of_value(self.scheme) * len(self)

    def serialize(self, buf: Any, byteorder: str = "@") -> None:
        """Writes the header's bytes at the beginning of a buffer.

        Parameters
        ----------
        buf : bytearray, or anything with a writable buffer
            Of `bytesize` bytes or more.
        byteorder : {"@", "=", "<", ">", "!"}, default "@"

        Raises
        ------
        ParameterError
            The buffer is too short, or a value of `legacy` has more than 32 bits.
        """
        size = self.bytesize(byteorder)
        view = memoryview(buf).cast("B")
        if len(view) < size:
            raise bad_parameter("buf", f"{len(view)} bytes", f"a buffer of {size} or more")
        view[:size] = self._to_bytes(byteorder)

    def _to_bytes(self, byteorder: str) -> bytes:
        if self.scheme == "legacy":
            if int(self.hashvalues.max()) >= 1 << 32:
                raise bad_parameter("hashvalues", int(self.hashvalues.max()), "values below 2^32 in bytes of legacy")
            head = struct.pack(f"{byteorder}qi", self.seed, len(self))
        else:
            head = struct.pack(f"{byteorder}qiB", self.seed, -len(self), _CODES[self.scheme])
        values = self.hashvalues.astype(_type_of_value(self.scheme, byteorder)).tobytes()
        return head.ljust(_header(byteorder, self.scheme), b"\0") + values

    @classmethod
    def deserialize(cls, buf: Any, byteorder: str = "@") -> LeanMinHash:
        """The LeanMinHash at the beginning of a buffer; bytes of every version of datasketch are read.

        Parameters
        ----------
        buf : bytes, or anything with a buffer
        byteorder : {"@", "=", "<", ">", "!"}, default "@"

        Raises
        ------
        InputError
            The bytes end too early, or name no scheme.
        """
        new = object.__new__(cls)
        new._read(buf, byteorder)
        return new

    def _read(self, buf: Any, byteorder: str) -> None:
        data = memoryview(buf).cast("B")
        base = _header(byteorder, "legacy")
        if len(data) < base:
            raise _damaged(f"{len(data)} bytes are fewer than the {base} of seed and count")
        seed, count = struct.unpack_from(f"{byteorder}qi", data)
        scheme: DatasketchScheme = "legacy"
        if count < 0:
            code = data[base] if len(data) > base else 0
            if code not in _SCHEMES:
                raise _damaged(f"there is no scheme {code}")
            scheme = _SCHEMES[code]
        start = _header(byteorder, scheme)
        kind = _type_of_value(scheme, byteorder)
        if len(data) < start + abs(count) * kind.itemsize or not count:
            raise _damaged(f"{len(data)} bytes do not hold {abs(count)} values")
        self._take(seed, np.frombuffer(data, kind, abs(count), start), scheme)

    def __getstate__(self) -> bytearray:  # type: ignore[override]  # As datasketch pickles it.
        return bytearray(self._to_bytes("@"))

    def __setstate__(self, state: Any) -> None:
        self._read(state, "@")


def _bytes_of_value(scheme: DatasketchScheme) -> int:
    return 8 if scheme == "affine64" else 4


def _type_of_value(scheme: DatasketchScheme, byteorder: str) -> np.dtype[Any]:
    return np.dtype(f"{_ORDERS[byteorder]}u{_bytes_of_value(scheme)}")


def _header(byteorder: str, scheme: DatasketchScheme) -> int:
    """Bytes before the values, with what aligns them."""
    if byteorder not in _ORDERS:
        raise bad_parameter("byteorder", repr(byteorder), 'one of "@", "=", "<", ">", "!"')
    code = "" if scheme == "legacy" else "B"
    return struct.calcsize(f"{byteorder}qi{code}0{_LETTERS[scheme]}")


def _damaged(reason: str) -> InputError:
    return InputError(f"these are not the bytes of a LeanMinHash: {reason}", place="buf", reason=reason)
