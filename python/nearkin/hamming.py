"""Exact search of packed fingerprints by Hamming distance, and their other spellings.

A fingerprint of `bits` bits (1 to 1024) is `uint64`: shape `(n,)` up to 64 bits, `(n, ceil(bits / 64))` above; bit i is
bit `i % 64` of word `i // 64`, unused high bits are zero. The distance of two fingerprints is the number of bits in
which they differ.

`HammingIndex` finds exactly what a comparison with every fingerprint would find: by a scan with the processor's
population count, or by tables of blocks (pigeonhole; multi-index hashing), whichever its cost model expects to be
faster.

References
----------
.. [1] G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.
.. [2] M. Norouzi, A. Punjani, D. J. Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import HammingCore, hamming_distances
from nearkin.errors import bad_parameter, mismatch

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = [
    "HammingIndex",
    "Pairs",
    "SearchResult",
    "from_bytes",
    "from_hex",
    "from_signed",
    "hamming",
    "to_bytes",
    "to_hex",
    "to_signed",
]

Fingerprints = npt.NDArray[np.uint64]
IdArray: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.object_]
Method = Literal["auto", "scan", "bits", "blocks", "tables", "multi"]
Existing = Literal["error", "update", "skip"]

MAX_BITS = 1024


def _words(bits: int) -> int:
    return -(-bits // 64)


def _check_bits(bits: int) -> int:
    try:
        value = operator.index(bits)
    except TypeError:
        raise bad_parameter("bits", repr(bits), f"1 to {MAX_BITS}") from None
    if not 1 <= value <= MAX_BITS:
        raise bad_parameter("bits", value, f"1 to {MAX_BITS}")
    return value


def _check_count(name: str, value: int, least: int, most: int, allowed: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise bad_parameter(name, repr(value), allowed) from None
    if not least <= number <= most:
        raise bad_parameter(name, number, allowed)
    return number


def _unsigned(values: Any, name: str) -> Fingerprints:
    """`values` as a C-contiguous uint64 array; refuses what would change a value."""
    if not isinstance(values, np.ndarray):
        if (
            not isinstance(values, (int, np.integer))
            and isinstance(values, Iterable)
            and not hasattr(values, "__len__")
        ):
            values = list(values)
        array = np.asarray(values)
        if array.dtype == object or array.dtype.kind == "f":
            # Python integers of 2**63 and more beside smaller ones arrive as objects or floats.
            try:
                array = np.array(values, dtype=np.uint64)
            except (OverflowError, TypeError, ValueError):
                raise bad_parameter(name, "values outside of uint64", "integers from 0 to 2**64 - 1") from None
            if not all(isinstance(value, (int, np.integer)) for value in np.asarray(values, dtype=object).ravel()):
                raise bad_parameter(name, "values that are not integers", "integers from 0 to 2**64 - 1")
    else:
        array = values
    if array.dtype != np.uint64:
        if array.size == 0:
            return np.zeros(array.shape, dtype=np.uint64)
        if array.dtype.kind not in "iu":
            raise bad_parameter(name, f"an array of {array.dtype}", "uint64")
        if array.dtype.kind == "i" and int(array.min()) < 0:
            raise bad_parameter(name, "negative values", "uint64; `from_signed` turns signed 64-bit values into it")
        array = array.astype(np.uint64)
    # ascontiguousarray makes a single value one-dimensional.
    return np.ascontiguousarray(array).reshape(array.shape)


def _rows(values: Any, bits: int, name: str) -> Fingerprints:
    """Fingerprints as a flat array of whole rows; one fingerprint is one row."""
    array = _unsigned(values, name)
    words = _words(bits)
    if words == 1:
        if array.ndim == 0 or array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1):
            return array.reshape(-1)
    elif (array.ndim == 2 and array.shape[1] == words) or (array.ndim == 1 and array.shape[0] == words):
        return array.reshape(-1)
    if array.size == 0:
        return array.reshape(-1)
    shape = "(n,)" if words == 1 else f"(n, {words})"
    raise bad_parameter(name, f"an array of shape {array.shape}", f"uint64 of shape {shape} for bits={bits}")


def hamming(a: npt.ArrayLike, b: npt.ArrayLike, *, bits: int | None = None) -> int | npt.NDArray[np.uint16]:
    """The number of bits in which fingerprints differ.

    Parameters
    ----------
    a, b : int or uint64 array of shape (n,), (words,) or (n, words)
        Fingerprints of equal width. A plain integer or a zero-dimensional array is one fingerprint of up to 64 bits; a
        one-dimensional array holds n such fingerprints, except beside a two-dimensional one, where it is one
        fingerprint of `words` words. One fingerprint is compared with every one of the other argument.
    bits : int, optional
        Width, 1 to 1024. Above 64 a one-dimensional array is one fingerprint of ceil(bits / 64) words.

    Returns
    -------
    int or uint16 array of shape (n,)
        An int if both arguments are one fingerprint.

    Raises
    ------
    MismatchError
        Widths differ, or the counts do and neither is one.
    ParameterError
        Values outside of uint64.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import hamming
    >>> hamming(0b1011, 0b0010)
    2
    >>> hamming(np.array([0, 1, 3], dtype=np.uint64), 0)
    array([0, 1, 2], dtype=uint16)
    >>> wide = np.array([[0, 1], [3, 1]], dtype=np.uint64)
    >>> hamming(wide[0], wide[1], bits=128)
    2
    """
    left, right = _unsigned(a, "a"), _unsigned(b, "b")
    if bits is not None and _words(_check_bits(bits)) > 1 and left.ndim == right.ndim == 1:
        if left.shape != (_words(bits),) or right.shape != left.shape:
            raise mismatch("words of a fingerprint", f"{len(left)} and {len(right)}", f"{_words(bits)} for bits={bits}")
        return int(hamming_distances(left, right, _words(bits))[0])
    if max(left.ndim, right.ndim) > 2:
        raise bad_parameter("shape", f"{left.shape} and {right.shape}", "at most two dimensions")
    single = left.ndim == 0 and right.ndim == 0
    if left.ndim == 2 or right.ndim == 2:
        single = False
        widths = [1 if side.ndim == 0 else side.shape[-1] for side in (left, right)]
        if widths[0] != widths[1]:
            raise mismatch("words of a fingerprint", widths[0], widths[1])
        words = widths[0]
        if words == 0:
            raise bad_parameter("shape", f"{left.shape} and {right.shape}", "at least one word a fingerprint")
        if words > _words(MAX_BITS):
            raise bad_parameter("words", words, f"1 to {_words(MAX_BITS)}")
    else:
        words = 1
    distances = hamming_distances(left.reshape(-1), right.reshape(-1), words)
    return int(distances[0]) if single else distances


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Matches of a batch of queries, nearest first, ties by id.

    Attributes
    ----------
    offsets : int64 array of shape (n_queries + 1,)
        Query i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of the other two.
    ids : int64 array, or object array of str, of shape (n_matches,)
    distances : uint16 array of shape (n_matches,)

    Examples
    --------
    >>> from nearkin import HammingIndex
    >>> index = HammingIndex(bits=8)
    >>> _ = index.add(["a", "b"], [0b1100, 0b1111])
    >>> hits = index.search([0b1101, 0b0000], radius=1)
    >>> [[(match.id, match.distance) for match in row] for row in hits]
    [[('a', 1), ('b', 1)], []]
    """

    offsets: npt.NDArray[np.int64]
    ids: IdArray
    distances: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        """How many queries were asked."""
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> Matches:
        """The matches of one query."""
        number = operator.index(query)
        if number < 0:
            number += len(self)
        if not 0 <= number < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        part = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        return Matches(self.ids[part], self.distances[part])

    def __iter__(self) -> Iterator[Matches]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"SearchResult({len(self)} queries, {len(self.ids)} matches)"

    @property
    def queries(self) -> npt.NDArray[np.int64]:
        """The number of the query of each match, int64 of shape (n_matches,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    def to_arrow(self) -> pa.Table:
        """A pyarrow table with the columns `query`, `id` and `distance`."""
        import pyarrow as pa

        return pa.table({"query": self.queries, "id": _arrow(self.ids), "distance": self.distances})

    def to_pandas(self) -> pd.DataFrame:
        """A pandas data frame with the columns `query`, `id` and `distance`."""
        return to_frame({"query": self.queries, "id": self.ids, "distance": self.distances})


@dataclass(frozen=True)
class Match:
    """One match: the id and its distance."""

    id: Any
    distance: int


@dataclass(frozen=True, eq=False)
class Matches(Sequence[Match]):
    """The matches of one query, nearest first, ties by id.

    Attributes
    ----------
    ids : int64 array, or object array of str
    distances : uint16 array
    """

    ids: IdArray
    distances: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, place: Any) -> Any:
        """A `Match`, or `Matches` for a slice."""
        if isinstance(place, slice):
            return Matches(self.ids[place], self.distances[place])
        found = self.ids[place]
        return Match(int(found) if isinstance(found, np.integer) else found, int(self.distances[place]))

    def __repr__(self) -> str:
        return f"Matches({[(match.id, match.distance) for match in self]})"


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs within a radius: each once, `left < right`, sorted by left and right.

    Attributes
    ----------
    left, right : int64 arrays, or object arrays of str, of shape (n_pairs,)
        Ids.
    distances : uint16 array of shape (n_pairs,)
    """

    left: IdArray
    right: IdArray
    distances: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        """How many pairs there are."""
        return len(self.left)

    def __repr__(self) -> str:
        return f"Pairs({len(self)} pairs)"

    def to_arrow(self) -> pa.Table:
        """A pyarrow table with the columns `left`, `right` and `distance`."""
        import pyarrow as pa

        return pa.table({"left": _arrow(self.left), "right": _arrow(self.right), "distance": self.distances})

    def to_pandas(self) -> pd.DataFrame:
        """A pandas data frame with the columns `left`, `right` and `distance`."""
        return to_frame({"left": self.left, "right": self.right, "distance": self.distances})


def _arrow(ids: IdArray) -> pa.Array:
    import pyarrow as pa

    return pa.array(ids, type=pa.string() if ids.dtype == object else pa.int64())


def to_frame(columns: dict[str, Any]) -> pd.DataFrame:
    try:
        import pandas as pd
    except ImportError:
        from nearkin.errors import MissingExtraError

        raise MissingExtraError(
            "to_pandas() needs pandas, which is not installed; `pip install pandas`, or use to_arrow()",
            extra="pandas",
            package="pandas",
        ) from None
    frame: pd.DataFrame = pd.DataFrame(columns)
    return frame


def _ids(ids: Any) -> npt.NDArray[np.int64] | list[str]:
    """Ids as an int64 array or a list of str."""
    allowed = "integers of 64 bits or strings, one kind in an index"
    if isinstance(ids, (str, bytes)):
        raise bad_parameter("ids", repr(ids), "an iterable of ids; [id] for one")
    if isinstance(ids, np.ndarray):
        array = ids
    else:
        if not hasattr(ids, "__array__"):
            ids = list(ids)
            if all(type(value) is str for value in ids) and ids:
                return _names(ids)
        array = np.asarray(ids)
    if array.ndim != 1:
        raise bad_parameter("ids", f"an array of shape {array.shape}", "one dimension")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind in "iu":
        if array.dtype == np.uint64 and int(array.max()) >= 1 << 63:
            raise bad_parameter("ids", int(array.max()), "integers below 2**63, or strings")
        return np.ascontiguousarray(array, dtype=np.int64)
    values = (list(ids) if isinstance(ids, list) else array.tolist()) if array.dtype.kind in "OUTf" else None
    if values is not None:
        if all(isinstance(value, str) for value in values):
            return _names(values)
        if all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in values):
            try:
                return np.array([int(value) for value in values], dtype=np.int64)
            except OverflowError:
                raise bad_parameter("ids", max(values, key=abs), "integers below 2**63, or strings") from None
    raise bad_parameter("ids", f"an array of {array.dtype}", allowed)


def _names(values: Sequence[str]) -> list[str]:
    try:
        "".join(values).encode()
    except UnicodeEncodeError as error:
        raise bad_parameter("ids", ascii(error.object[error.start]), "strings without lone surrogates") from None
    return list(values)


class HammingIndex:
    """Exact search of fingerprints by Hamming distance.

    Parameters
    ----------
    bits : int, default=64
        Width of the fingerprints, 1 to 1024.
    method : {"auto", "scan", "bits", "blocks", "tables", "multi"}, default="auto"
        "scan" compares with everything; "bits" walks one inverted list a bit (to teach: far slower than a scan);
        "blocks" looks up radius + 1 tables by one block each; "tables" one table for every choice of blocks that must
        agree [1]_; "multi" fewer tables with a small radius in each block [2]_; "auto" chooses by expected cost.
        Results do not depend on it.
    radius : int, optional
        Announces the radius of the searches (0 to bits): tables for it are built at the first search. Without it they
        are built once the scans have cost as much as building would have.
    memory_limit : int, optional
        Bytes that fingerprints and tables may take; fewer tables are built, or none, to stay below it.

    Raises
    ------
    ParameterError
        An argument outside of its range.

    Notes
    -----
    Equal fingerprints are held once, with a list of ids. Fingerprints take 8 * words + 4 bytes each; a table but the
    first takes 4 bytes each, and 8 * words more up to 256 bits; integer ids take 8 bytes, and a look-up of 5 to 11
    bytes unless they only grow; row numbers take nothing. Added fingerprints are found at once; sorting and merging
    them is amortised, and the longest pause is one merge of all.

    Several threads may search at once.

    References
    ----------
    .. [1] G. S. Manku, A. Jain, A. Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.
    .. [2] M. Norouzi, A. Punjani, D. J. Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import HammingIndex
    >>> index = HammingIndex(bits=64, radius=3)
    >>> index.add([10, 20, 30], np.array([0b0000, 0b0111, 0b1111], dtype=np.uint64))
    3
    >>> hits = index.search(np.array([0b0011], dtype=np.uint64), radius=2)
    >>> hits.ids, hits.distances
    (array([20, 10, 30]), array([1, 2, 2], dtype=uint16))
    >>> index.remove([20])
    1
    >>> index.nearest([0b0011], k=1)[0]
    Matches([(10, 2)])
    >>> index.pairs(radius=4).to_arrow().to_pylist()
    [{'left': 10, 'right': 30, 'distance': 4}]
    """

    def __init__(
        self, bits: int = 64, method: Method = "auto", *, radius: int | None = None, memory_limit: int | None = None
    ) -> None:
        self.bits = _check_bits(bits)
        self.method: Method = method
        if not isinstance(method, str):
            raise bad_parameter("method", repr(method), '"auto", "scan", "bits", "blocks", "tables" or "multi"')
        self.radius = None if radius is None else self._check_radius(radius)
        if memory_limit is not None:
            memory_limit = _check_count("memory_limit", memory_limit, 0, (1 << 63) - 1, "0 to 2**63 - 1 bytes, or None")
        self.memory_limit = memory_limit
        self._core = HammingCore(self.bits, method, self.radius, memory_limit)

    def _check_radius(self, radius: int) -> int:
        return _check_count("radius", radius, 0, self.bits, f"0 to bits={self.bits}")

    def __len__(self) -> int:
        """How many ids there are."""
        return len(self._core)

    def __contains__(self, key: object) -> bool:
        """Whether an id is there."""
        if isinstance(key, str):
            return self._core.contains_name(key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return -(1 << 63) <= int(key) < 1 << 63 and self._core.contains_int(int(key))
        return False

    def __repr__(self) -> str:
        return f"HammingIndex(bits={self.bits}, method={self.method!r}, {len(self)} fingerprints)"

    @property
    def nbytes(self) -> int:
        """Bytes of fingerprints, tables and ids."""
        _, fingerprints, ids = self._core.info()
        return fingerprints + ids

    def add(self, ids: Any, fps: npt.ArrayLike, *, existing: Existing = "error") -> int:
        """Adds fingerprints; returns how many were added.

        Parameters
        ----------
        ids : iterable of int or str, array, column, or None
            One id for each fingerprint, integers of 64 bits or strings, of one kind in an index. None stands for row
            numbers, counted from the first fingerprint ever added.
        fps : uint64 array of shape (n,) up to 64 bits, (n, words) above
            Bits at or above `bits` are zero.
        existing : {"error", "update", "skip"}, default="error"
            For an id that is there, or occurs twice in the call: refuse the call, replace the fingerprint (the last
            one wins), or keep the first.

        Raises
        ------
        ParameterError
            An id that is there or occurs twice, ids of another kind, counts that differ, a bit above the width. The
            index is unchanged.
        """
        rows = _rows(fps, self.bits, "fps")
        if not isinstance(existing, str) or existing not in ("error", "update", "skip"):
            raise bad_parameter("existing", repr(existing), '"error", "update" or "skip"')
        if ids is None:
            return self._core.add_rows(rows)
        keys = _ids(ids)
        if isinstance(keys, list):
            return self._core.add_names(keys, rows, existing)
        return self._core.add_ints(keys, rows, existing)

    def remove(self, ids: Any, *, missing_ok: bool = False) -> int:
        """Removes ids; returns how many were removed.

        Parameters
        ----------
        ids : iterable of int or str, array or column
            Ids as they were given to `add`; row numbers if none were.
        missing_ok : bool, default=False
            Whether ids that are not there are passed over.

        Raises
        ------
        ParameterError
            An id that is not there. The index is unchanged.
        """
        keys = _ids(ids)
        if isinstance(keys, list):
            return self._core.remove_names(keys, missing_ok)
        return self._core.remove_ints(keys, missing_ok)

    def search(self, queries: npt.ArrayLike, radius: int) -> SearchResult:
        """Everything within a radius of each query, nearest first, ties by id.

        Parameters
        ----------
        queries : uint64 array of shape (n_queries,) up to 64 bits, (n_queries, words) above
            One fingerprint (an int, or an array of `words` words) is one query.
        radius : int
            Largest distance that counts, 0 to bits, inclusive.

        Raises
        ------
        ParameterError
            A radius outside of its range, queries of another width.
        """
        return self._result(self._core.search(_rows(queries, self.bits, "queries"), self._check_radius(radius)))

    def nearest(self, queries: npt.ArrayLike, k: int = 10) -> SearchResult:
        """The k nearest of each query; of those at the last distance, the least ids.

        Parameters
        ----------
        queries : uint64 array of shape (n_queries,) up to 64 bits, (n_queries, words) above
        k : int, default=10
            1 or more; everything where the index holds fewer.

        Raises
        ------
        ParameterError
            A k below 1, queries of another width.
        """
        k = _check_count("k", k, 1, (1 << 63) - 1, "1 or more")
        return self._result(self._core.nearest(_rows(queries, self.bits, "queries"), k))

    def pairs(self, radius: int) -> Pairs:
        """All pairs within a radius (0 to bits, inclusive), each once.

        Notes
        -----
        The result takes about 40 bytes a pair while it is made; n equal fingerprints are n (n - 1) / 2 pairs.
        """
        left, right, distances = self._core.pairs(self._check_radius(radius))
        return Pairs(self._named(left), self._named(right), distances)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the index as one file with a checksum for every part.

        The file is written aside, synced and renamed: after a crash at any moment there is the old file or the new one.
        `docs/format.md` describes it.

        Raises
        ------
        OSError
            The file system refuses; an old file is as it was.
        """
        self._core.save(os.fspath(path))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> HammingIndex:
        """Opens a saved index through a memory map.

        The header is checked; the rest stays in the file until it is read, so that an index of any size opens at once
        (ids that are strings or do not only grow are read to look them up). Adding, removing and saving again are as
        for any index. The file must not be changed in place while it is open.

        Raises
        ------
        CorruptStoreError, FormatVersionError, OSError
            A file that is no whole index, that a newer nearkin wrote, or that can't be read.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from nearkin import HammingIndex
        >>> index = HammingIndex(bits=64)
        >>> _ = index.add(["a", "b"], [0b1100, 0b1111])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "codes.nks")
        ...     index.save(path)
        ...     opened = HammingIndex.open(path)
        ...     opened.verify()
        ...     opened.search(0b1101, radius=1)[0]
        Matches([('a', 1), ('b', 1)])
        """
        core, bits, method, radius, memory_limit = HammingCore.open(os.fspath(path))
        index = cls.__new__(cls)
        index.bits = bits
        index.method = method  # type: ignore[assignment]  # The file holds one of the names.
        index.radius = radius
        index.memory_limit = memory_limit
        index._core = core
        return index

    def verify(self) -> None:
        """Reads the whole file of an opened index and checks every part of it; does nothing for one made in memory.

        Raises
        ------
        CorruptStoreError
            Something in the file does not hold.
        """
        self._core.verify()

    def explain(self, radius: int | None = None) -> dict[str, Any]:
        """How a search would be answered, and why.

        Parameters
        ----------
        radius : int, optional
            0 to bits; the announced radius, or 3, if not given.

        Returns
        -------
        dict
            `bits`, `radius`, `fingerprints` (how many), `ids` (their kind), `bytes_fingerprints`, `bytes_ids`,
            `kernel`;
            and `parts`: for each sorted run and the unsorted tail its distinct fingerprints (`slots`), `method`,
            whether its tables are `built`, how many (`tables`), the radius in each block (`radii`), expected `probes`
            and `candidates` a query, expected nanoseconds a query (`cost`) and by scan (`scan_cost`), and its `bytes`.
        """
        from nearkin._core import KERNEL

        if radius is None:
            radius = min(3, self.bits) if self.radius is None else self.radius
        radius = self._check_radius(radius)
        kind, fingerprints, ids = self._core.info()
        return {
            "bits": self.bits,
            "radius": radius,
            "fingerprints": len(self),
            "ids": kind,
            "bytes_fingerprints": fingerprints,
            "bytes_ids": ids,
            "kernel": KERNEL,
            "parts": self._core.explain(radius),
        }

    def _named(self, rows: npt.NDArray[np.int64]) -> IdArray:
        if self._core.info()[0] != "strings":
            return rows
        names = np.empty(len(rows), dtype=object)
        names[:] = self._core.names(rows)
        return names

    def _result(
        self, found: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint16]]
    ) -> SearchResult:
        offsets, ids, distances = found
        return SearchResult(offsets, self._named(ids), distances)


def to_hex(fps: npt.ArrayLike, bits: int = 64) -> list[str]:
    """Fingerprints as hexadecimal strings of ceil(bits / 4) digits, the highest bit first.

    Examples
    --------
    >>> from nearkin.hamming import to_hex
    >>> to_hex([255, 16], bits=12)
    ['0ff', '010']
    """
    bits = _check_bits(bits)
    words = _words(bits)
    digits = -(-bits // 4)
    rows = _masked(fps, bits).reshape(-1, words)
    return [row[::-1].astype(">u8").tobytes().hex()[-digits:] for row in rows]


def from_hex(texts: Iterable[str], bits: int = 64) -> Fingerprints:
    """Fingerprints of hexadecimal strings, the highest bit first, with or without leading zeros.

    Returns
    -------
    uint64 array of shape (n,) up to 64 bits, (n, ceil(bits / 64)) above

    Raises
    ------
    ParameterError
        A text that is not a hexadecimal number below 2**bits.

    Examples
    --------
    >>> from nearkin.hamming import from_hex
    >>> from_hex(["ff", "0x10"])
    array([255,  16], dtype=uint64)
    """
    bits = _check_bits(bits)
    if isinstance(texts, str):
        raise bad_parameter("texts", repr(texts), "an iterable of strings; [text] for one")
    words = _words(bits)
    packed = bytearray()
    for text in texts:
        try:
            value = int(text, 16)
        except (TypeError, ValueError):
            value = -1
        if not 0 <= value < 1 << bits:
            raise bad_parameter("text", repr(text), f"a hexadecimal number below 2**{bits}")
        packed += value.to_bytes(8 * words, "little")
    flat = np.frombuffer(bytes(packed), dtype="<u8").astype(np.uint64)
    return flat if words == 1 else flat.reshape(-1, words)


def to_signed(fps: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """The same bits as signed 64-bit integers, for databases and Spark.

    Examples
    --------
    >>> from nearkin.hamming import from_signed, to_signed
    >>> to_signed([1, 2**64 - 1])
    array([ 1, -1])
    >>> from_signed([1, -1])
    array([                   1, 18446744073709551615], dtype=uint64)
    """
    return _unsigned(fps, "fps").view(np.int64)


def from_signed(values: npt.ArrayLike) -> Fingerprints:
    """The same bits as unsigned fingerprints; the inverse of `to_signed`."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.uint64)
    if array.dtype.kind != "i":
        raise bad_parameter("values", f"an array of {array.dtype}", "signed integers of at most 64 bits")
    return np.ascontiguousarray(array, dtype=np.int64).view(np.uint64)


def _masked(fps: npt.ArrayLike, bits: int) -> Fingerprints:
    rows = _rows(fps, bits, "fps").reshape(-1, _words(bits))
    if bits % 64 and (rows[:, -1] >> np.uint64(bits % 64)).any():
        raise bad_parameter("fps", "a row with a bit at or above bits", f"fingerprints below 2**{bits}")
    return rows


def to_bytes(fps: npt.ArrayLike, bits: int = 64) -> npt.NDArray[np.uint8]:
    """Fingerprints as packed bytes, bit i as bit `i % 8` of byte `i // 8`: what faiss and usearch take.

    Returns
    -------
    uint8 array of shape (n, ceil(bits / 8))

    Examples
    --------
    >>> from nearkin.hamming import from_bytes, to_bytes
    >>> to_bytes([0x0102], bits=16)
    array([[2, 1]], dtype=uint8)
    >>> from_bytes(to_bytes([0x0102], bits=16), bits=16)
    array([258], dtype=uint64)
    """
    bits = _check_bits(bits)
    rows = _masked(fps, bits).astype("<u8")
    return np.ascontiguousarray(rows.view(np.uint8)[:, : -(-bits // 8)])


def from_bytes(codes: npt.ArrayLike, bits: int = 64) -> Fingerprints:
    """Fingerprints of packed bytes of shape (n, ceil(bits / 8)); the inverse of `to_bytes`."""
    bits = _check_bits(bits)
    array = np.asarray(codes)
    width = -(-bits // 8)
    if array.dtype != np.uint8 or array.ndim != 2 or array.shape[1] != width:
        raise bad_parameter("codes", f"{array.dtype} of shape {array.shape}", f"uint8 of shape (n, {width})")
    padded = np.zeros((len(array), 8 * _words(bits)), dtype=np.uint8)
    padded[:, :width] = array
    rows = _masked(padded.view("<u8").astype(np.uint64), bits)
    return rows.reshape(-1) if _words(bits) == 1 else rows
