"""`HyperLogLog` as datasketch has it: an estimate of how many different features there were.

m = 2^p registers: a hash of 32 bits names one by its lowest p bits, and the register holds the largest rank, which is
one more than the zeros that the other bits begin with. Then

    E = α m² / Σ 2^(−register)
    count = m ln(m / empty registers)          where E is at most 5 m / 2
            −2^32 ln(1 − E / 2^32)             where E is above 2^32 / 30
            E                                  otherwise

with α = 0.673, 0.697, 0.709 for p = 4, 5, 6 and 0.7213 / (1 + 1.079 / m) above. The standard error is 1.04 / √m.

Where no register is empty the first of these is infinite in datasketch; here it is E. A pickle keeps the hash.
`HyperLogLogPlusPlus`, whose count needs tables of its bias, is not here. Source: Flajolet, Fusy, Gandouet, Meunier,
"HyperLogLog" (AofA 2007), figure 3. Tests: registers and counts against the package,
`tests/compat/test_compat_datasketch.py`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from nearkin.compat.datasketch.hashing import sha1_hash32, unwrapped
from nearkin.errors import InputError, bad_parameter, check_count, mismatch, warn_caller

_Registers = npt.NDArray[np.int8]
_BITS = 32
_ALPHAS = {4: 0.673, 5: 0.697, 6: 0.709}


class HyperLogLog:
    """A counter of different features, with the calls and bytes of `datasketch.HyperLogLog`.

    Parameters
    ----------
    p : int, default 8
        The logarithm of the number of registers, 4 to 16; with `reg` it follows from them.
    reg : (2^p,) int8, optional
        Registers to begin with; they are taken, not copied.
    hashfunc : callable, optional
        A feature → a whole number of 32 bits; default the first 4 bytes of the SHA-1.
    hashobj : optional
        Without effect; a DeprecationWarning.

    Attributes
    ----------
    p, m, alpha, max_rank, hashfunc
    reg : (m,) int8

    Raises
    ------
    ParameterError
        A value out of its range.

    Examples
    --------
    >>> from nearkin.compat.datasketch import HyperLogLog
    >>> counter = HyperLogLog(p=12)
    >>> for i in range(1000):
    ...     counter.update(str(i % 500).encode())
    >>> 480 < counter.count() < 520
    True
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]  # Registers change.
    _hash_range_bit = _BITS

    def __init__(
        self,
        p: int = 8,
        reg: npt.NDArray[Any] | None = None,
        hashfunc: Callable[[Any], int] = sha1_hash32,
        hashobj: object = None,
    ) -> None:
        if reg is not None:
            if not isinstance(reg, np.ndarray) or reg.ndim != 1 or reg.dtype.kind not in "iu":
                raise bad_parameter("reg", repr(reg)[:80], "a one-dimensional array of integers")
            p = reg.size.bit_length() - 1
            if reg.size != 1 << max(p, 0):
                raise bad_parameter("reg", f"{reg.size} registers", "a power of two of them")
        self.p = check_count("p", p, 4, 16, "4 to 16")
        self.m = 1 << self.p
        self.reg: npt.NDArray[Any] = np.zeros(self.m, np.int8) if reg is None else reg
        if not callable(hashfunc):
            raise bad_parameter("hashfunc", repr(hashfunc), "a callable: a feature to a whole number")
        if hashobj is not None:
            warnings.warn("hashobj is deprecated, use hashfunc instead.", DeprecationWarning, stacklevel=2)
        self.hashfunc = hashfunc
        self.alpha = _ALPHAS.get(self.p, 0.7213 / (1.0 + 1.079 / self.m))
        self.max_rank = _BITS - self.p

    def update(self, b: Any) -> None:
        """Takes one feature into the count.

        Parameters
        ----------
        b : bytes, or what the `hashfunc` takes

        Raises
        ------
        ParameterError
            A hash of more than 32 bits.
        """
        hashed = self.hashfunc(b)
        if not 0 <= hashed < 1 << _BITS:
            raise bad_parameter("hashfunc", hashed, "hashes from 0 to 2^32 - 1")
        place, rest = int(hashed) & (self.m - 1), int(hashed) >> self.p
        rank = self.max_rank - rest.bit_length() + 1
        if rank > self.reg[place]:
            self.reg[place] = rank

    def count(self) -> float:
        """The estimated number of different features.

        Returns
        -------
        float
            0 or more; near 5 m / 2 a UserWarning says that the estimate is less exact.
        """
        estimate = self._raw()
        border = 5.0 / 2.0 * self.m
        if abs(estimate - border) / border < 0.15:
            warn_caller(
                f"the estimate {estimate:.0f} is near {border:.0f}, where HyperLogLog changes its formula and is less "
                "exact; a larger p moves the border",
                UserWarning,
            )
        if estimate <= border:
            return self._linearcounting(self.m - int(np.count_nonzero(self.reg)))
        if estimate <= (1 << _BITS) / 30.0:
            return estimate
        return self._largerange_correction(estimate)

    def _raw(self) -> float:
        return float(self.alpha * float(self.m**2) / np.sum(2.0 ** (-self.reg)))

    def _linearcounting(self, num_zero: int) -> float:
        # Many features for few registers may leave none empty.
        if not num_zero:
            return self._raw()
        return float(self.m * np.log(self.m / float(num_zero)))

    def _largerange_correction(self, e: float) -> float:
        return float(-(1 << _BITS) * np.log(1.0 - e / (1 << _BITS))) if e < 1 << _BITS else math.inf

    def merge(self, other: HyperLogLog) -> None:
        """Makes this the counter of both.

        Parameters
        ----------
        other : HyperLogLog
            Of the same p.

        Raises
        ------
        MismatchError
            Of another p.
        """
        if other.p != self.p:
            raise mismatch("p", self.p, other.p)
        self.reg = np.maximum(self.reg, other.reg)

    def digest(self) -> npt.NDArray[Any]:
        """A copy of the registers."""
        return np.array(self.reg)

    def copy(self) -> HyperLogLog:
        """A copy that can be updated by itself."""
        return type(self)(reg=self.digest(), hashfunc=self.hashfunc)

    def is_empty(self) -> bool:
        """Whether there was no feature yet."""
        return not self.reg.any()

    def clear(self) -> None:
        """Forgets all features."""
        self.reg = np.zeros(self.m, np.int8)

    def __len__(self) -> int:
        return len(self.reg)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, HyperLogLog) and np.array_equal(self.reg, other.reg)

    @classmethod
    def union(cls, *hyperloglogs: HyperLogLog) -> HyperLogLog:
        """The counter of two or more together.

        Parameters
        ----------
        *hyperloglogs : HyperLogLog
            Two or more, of the same p.

        Raises
        ------
        ParameterError
            Fewer than two.
        MismatchError
            Of different p.
        """
        if len(hyperloglogs) < 2:
            raise bad_parameter("hyperloglogs", f"{len(hyperloglogs)} counters", "two or more")
        for other in hyperloglogs[1:]:
            if other.p != hyperloglogs[0].p:
                raise mismatch("p", hyperloglogs[0].p, other.p)
        return cls(reg=np.maximum.reduce([h.reg for h in hyperloglogs]), hashfunc=hyperloglogs[0].hashfunc)

    def bytesize(self) -> int:
        """How many bytes `serialize` writes: p and a byte per register."""
        return 1 + self.m

    def serialize(self, buf: Any) -> None:
        """Writes p and the registers at the beginning of a buffer.

        Parameters
        ----------
        buf : bytearray, or anything with a writable buffer

        Raises
        ------
        ParameterError
            The buffer is too short.
        """
        view = memoryview(buf).cast("B")
        if len(view) < self.bytesize():
            raise bad_parameter("buf", f"{len(view)} bytes", f"a buffer of {self.bytesize()} or more")
        view[: self.bytesize()] = bytes([self.p]) + self.reg.astype(np.uint8).tobytes()

    @classmethod
    def deserialize(cls, buf: Any) -> HyperLogLog:
        """The counter at the beginning of a buffer.

        Parameters
        ----------
        buf : bytes, or anything with a buffer

        Raises
        ------
        InputError
            The bytes end too early, or name no p.
        """
        return cls(reg=_registers(buf))

    def __getstate__(self) -> dict[str, Any]:
        return {"reg": self.reg, "hashfunc": self.hashfunc}

    def __setstate__(self, state: Any) -> None:
        # datasketch pickles the bytes alone, without the hash.
        given: dict[str, Any] = (
            state if isinstance(state, dict) else {"reg": _registers(state), "hashfunc": sha1_hash32}
        )
        made = HyperLogLog(reg=np.array(given["reg"]), hashfunc=unwrapped(given["hashfunc"]))
        self.__dict__.update(made.__dict__)


def _registers(buf: Any) -> _Registers:
    data = memoryview(buf).cast("B")
    if not len(data) or not 4 <= data[0] <= 16 or len(data) < 1 + (1 << data[0]):
        reason = f"{len(data)} bytes do not hold a p from 4 to 16 and its registers"
        raise InputError(f"these are not the bytes of a HyperLogLog: {reason}", place="buf", reason=reason)
    return np.frombuffer(data, np.uint8, 1 << data[0], 1).astype(np.int8)
