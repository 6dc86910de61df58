"""Nearest neighbours of vectors by locality-sensitive hashing: tables or codes find candidates, true distances rank
them.

`LSHIndex` takes a family of hash functions and finds rows in one of two ways, its *filter*:

- `buckets`: L tables, the key of each made of k hashes. A query looks into T buckets of each table, those that near
  vectors are most likely in (multi-probe [2]_). A row whose hashes equal the query's with probability p is found with
  probability 1 - (1 - p^k)^L at T = 1 [1]_.
- `codes`: one binary code a row; a query takes the m rows with the nearest codes by Hamming distance. For some hundred
  thousand rows this scan takes less time than the look-ups of enough tables.

Candidates are ranked by the true distance to the vectors, which the index keeps. Nothing else is searched: a query
whose candidates are fewer than k gets fewer than k matches, never a silent scan of everything.

References
----------
.. [1] M. Datar, N. Immorlica, P. Indyk, V. Mirrokni, "Locality-Sensitive Hashing Scheme Based on p-Stable
   Distributions", SoCG 2004, section 2.
.. [2] Q. Lv, W. Josephson, Z. Wang, M. Charikar, K. Li, "Multi-Probe LSH: Efficient Indexing for High-Dimensional
   Similarity Search", VLDB 2007, section 4.
.. [3] B. Neyshabur, N. Srebro, "On Symmetric and Asymmetric LSHs for Inner Product Search", ICML 2015, section 4.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import LshCore
from nearkin.errors import CorruptStoreError, InputError, NotFittedError, bad_parameter, check_count
from nearkin.families.base import Family, restore
from nearkin.families.rows import Rows, Vectors, as_rows
from nearkin.results import IdArray, SearchResult, check_ids
from nearkin.tables_tune import tune

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Candidates", "LSHIndex", "Metric", "Settings"]

Metric: TypeAlias = Literal["l2", "l1", "cosine", "inner_product"]
Filter: TypeAlias = Literal["auto", "buckets", "codes"]

_METRICS = ("l2", "l1", "cosine", "inner_product")
_NATURAL: dict[str, Metric] = {"cosine": "cosine", "l2": "l2", "l1": "l1", "hamming": "l1", "kernel": "l2"}
"""The true distance that goes with what a family's hashes approximate."""
_SAMPLE = 1000
"""Rows whose hashes are compared to learn how often any two rows agree."""
_SCAN_WORDS = 1 << 22
"""Words of codes up to which `filter="auto"` scans them: about a millisecond a query."""
_CODES_BITS = 1024
"""Widest code that is scanned."""


@dataclass(frozen=True)
class Settings:
    """What an index does for a query, after `fit` has replaced what was left open.

    Attributes
    ----------
    filter : {"buckets", "codes"}
    num_tables, hashes_per_table, num_probes : int
        L, k and T; 0 for codes.
    num_candidates : int
        Rows with the nearest codes that are ranked; 0 for buckets.
    """

    filter: Literal["buckets", "codes"]
    num_tables: int = 0
    hashes_per_table: int = 0
    num_probes: int = 0
    num_candidates: int = 0


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows that the filter gives a batch of queries, each once, in order of addition.

    Attributes
    ----------
    offsets : int64 array of shape (n_queries + 1,)
        Query i owns positions `offsets[i]` to `offsets[i + 1]` (exclusive) of `ids`.
    ids : int64 array, or object array of str, of shape (n_candidates,)
    met : uint64 array of shape (n_queries,)
        Entries of the buckets that were read, before duplicates and removed rows were dropped.
    """

    offsets: npt.NDArray[np.int64]
    ids: IdArray
    met: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        """How many queries were asked."""
        return len(self.offsets) - 1

    def __getitem__(self, query: int) -> IdArray:
        """Ids of the candidates of one query."""
        if not -len(self) <= query < len(self):
            raise IndexError(f"query {query} of {len(self)}")
        query %= len(self)
        return self.ids[self.offsets[query] : self.offsets[query + 1]]

    def __repr__(self) -> str:
        return f"Candidates({len(self)} queries, {len(self.ids)} candidates)"


class LSHIndex:
    """Approximate nearest neighbours of vectors.

    Parameters
    ----------
    family : Family
        Hash functions of `nearkin.families`, fitted or not: `fit` fits a copy with as many functions as the tables
        need.
    num_tables : int, optional
        L, 1 to 16,384. More tables find more, at their memory and time. Default 16.
    hashes_per_table : int, optional
        k. More hashes make buckets smaller. Default: so many that a bucket holds about one random row,
        k = ln n / -ln p with p the share of equal hashes between rows of the data.
    num_probes : int, optional
        T, buckets that a query looks into in each table, its own first. Default 16, or 1 for a family without margins.
    filter : {"auto", "buckets", "codes"}, default="auto"
        How candidates are found; see the head of the module. "auto" scans codes if the family gives bits, nothing was
        said about tables, and the codes have at most 2**22 words of 64 bits (1,000,000 codes of 256 bits); otherwise
        it builds tables.
    num_candidates : int, optional
        For codes: rows with the nearest codes that are ranked, 1 or more. Default 200.
    metric : {"l2", "l1", "cosine", "inner_product"}, optional
        The true distance. Default: the one that the family approximates. "l2" and "l1" are the Euclidean and the
        Manhattan distance, "cosine" is 1 - cos, and "inner_product" the negative product, for which vectors are hashed
        as [x / M, sqrt(1 - |x / M|^2)] and queries as [q / |q|, 0] [3]_, so that the family must approximate the
        cosine.
    max_norm : float, optional
        M of "inner_product": no vector that is added later may be longer. Default: the longest of `fit`.

    Attributes
    ----------
    family_ : Family
        The fitted hash functions.
    settings_ : Settings
        The parameters that `fit` settled on.

    Notes
    -----
    Cost of a query: hashing; L T look-ups (about 0.1 us each), or a scan of n codes; d operations for each distinct
    candidate. Memory: the vectors; for buckets 6 to 18 bytes a row and table (`explain` has the sum), for codes
    bits / 8 a row; ids. The vector of a removed row keeps its memory until a new index is fitted.

    Results depend on the arguments alone: not on threads or the batch. Distances are summed in the type of the vectors
    of
    `fit` (`float32` or `float64`; later vectors and queries are converted to it), sparse ones in `float64`, in one
    fixed order.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.random.default_rng(0).standard_normal((1000, 32))
    >>> index = nk.LSHIndex(nk.families.Hyperplane(bits=256, seed=1)).fit(X)
    >>> hits = index.nearest(X[:3], k=2)
    >>> hits.ids[::2]
    array([0, 1, 2])
    >>> index.settings_
    Settings(filter='codes', num_tables=0, hashes_per_table=0, num_probes=0, num_candidates=200)
    >>> tables = nk.LSHIndex(nk.families.PStable(seed=1), num_tables=8, hashes_per_table=6).fit(X)
    >>> tables.search(X[5:6], radius=0.5)[0]
    Matches([(5, 0.0)])
    """

    def __init__(
        self,
        family: Family,
        num_tables: int | None = None,
        *,
        hashes_per_table: int | None = None,
        num_probes: int | None = None,
        filter: Filter = "auto",
        num_candidates: int | None = None,
        metric: Metric | None = None,
        max_norm: float | None = None,
    ) -> None:
        self.family = family
        self.num_tables = num_tables
        self.hashes_per_table = hashes_per_table
        self.num_probes = num_probes
        self.filter: Filter = filter
        self.num_candidates = num_candidates
        self.metric = metric
        self.max_norm = max_norm
        self.tuning_: dict[str, Any] | None = None
        self._core: LshCore | None = None

    # -- making

    def _check(self) -> Metric:
        """Checks the parameters; the metric."""
        if not isinstance(self.family, Family):
            raise bad_parameter("family", repr(self.family), "a family of nearkin.families, such as Hyperplane()")
        if self.family.kind == "features":
            raise bad_parameter("family", self.family.name, "a family of bits or keys; features have no buckets")
        if self.filter not in ("auto", "buckets", "codes"):
            raise bad_parameter("filter", repr(self.filter), '"auto", "buckets" or "codes"')
        if self.filter == "codes" and self.family.kind != "bits":
            raise bad_parameter("filter", '"codes"', f'"buckets": {self.family.name} gives integers, not bits')
        for name, most in (("num_tables", 1 << 14), ("hashes_per_table", 1 << 16), ("num_probes", 1 << 20)):
            value = getattr(self, name)
            if value is not None:
                check_count(name, value, 1, most, f"1 to {most}")
                if self.filter == "codes":
                    raise bad_parameter(name, value, 'None with filter="codes", which has no tables')
        if self.num_candidates is not None:
            check_count("num_candidates", self.num_candidates, 1, 1 << 32, "1 or more")
            if self.filter == "buckets":
                raise bad_parameter("num_candidates", self.num_candidates, 'None with filter="buckets"')
        metric = self.metric
        if metric is None:
            return _NATURAL[self.family.distance]
        if metric not in _METRICS:
            raise bad_parameter("metric", repr(metric), '"l2", "l1", "cosine" or "inner_product"')
        if metric == "inner_product" and self.family.distance != "cosine":
            raise bad_parameter("metric", '"inner_product"', "it with a family of the cosine, such as Hyperplane()")
        return metric

    def fit(self, X: Vectors, ids: Any = None) -> Self:
        """Fits the hash functions, and begins anew with these vectors.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            One row or more. Its type (`float32`, `float64`, sparse) is the index's; integers of up to 16 bits become
            `float32`.
        ids : iterable of int or str, optional
            One id for each row, of one kind; row numbers without them.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            A parameter out of range, or one that does not go with the family.
        InputError
            No rows; NaN or infinite values; zero vectors where angles count.
        """
        metric = self._check()
        rows = as_rows(X, least=1)
        longest = float(rows.norms().max())
        if metric == "inner_product":
            if self.max_norm is None:
                self.max_norm_ = longest or 1.0
            else:
                self.max_norm_ = float(self.max_norm)
                if not 0 < self.max_norm_ < math.inf:
                    raise bad_parameter("max_norm", self.max_norm, "a number above 0")
        self.metric_: Metric = metric
        self.dimension_ = rows.d
        self.vectors_: Literal["float32", "float64", "sparse"] = (
            "sparse" if rows.csr is not None else "float32" if rows.dtype == np.float32 else "float64"
        )
        hashed = self._hashed_form(rows)
        self.settings_ = self._settle(hashed)
        self.family_ = self._fit_family(self.settings_, hashed)
        self._core = self._make_core()
        self._insert(rows, hashed, ids)
        return self

    def tune(
        self,
        X: Vectors,
        ids: Any = None,
        *,
        recall: float = 0.9,
        k: int = 10,
        memory: int | None = None,
        max_tables: int = 256,
        seed: int = 0,
    ) -> Self:
        """Chooses the parameters from the data, and fits with them.

        Rows are sampled as queries and their true neighbours found; for each number of hashes, probes and (for
        p-stable keys with `width="auto"`) width, the tables that reach the recall follow from the share of sampled
        tables in which neighbours meet; of the choices within the memory the one of least expected time is taken, or
        the codes that are ranked, if a scan is faster. Then recall is measured, and parameters grow until it is
        reached. Parameters that were given are kept: `hashes_per_table`, `num_probes`, `filter`.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            At least 2 k + 2 rows.
        ids : iterable of int or str, optional
            As for `fit`.
        recall : float, default=0.9
            Wanted share of the true k nearest, between 0 and 1, both exclusive.
        k : int, default=10
            Neighbours, 1 or more.
        memory : int, optional
            Bytes that tables or codes may take, vectors apart.
        max_tables : int, default=256
            Most tables.
        seed : int, default=0
            Of the sample.

        Returns
        -------
        self
            Fitted; `tuning_` and `explain()["tuning"]` have the expected and the measured recall. The measured one is
            below the wanted one only if nothing within the limits reached it on the whole data.

        Raises
        ------
        ParameterError
            No choice within the limits is expected to reach the recall; parameters out of range.
        InputError
            Too few rows; bad vectors.

        Notes
        -----
        Costs the exact neighbours of 200 rows, one or more fits, and 16 tables of some 4,000 sampled rows a choice: a
        few seconds for 40,000 vectors.

        Examples
        --------
        >>> import numpy as np, nearkin as nk
        >>> X = np.random.default_rng(0).standard_normal((500, 8))
        >>> index = nk.LSHIndex(nk.families.PStable()).tune(X, recall=0.9, k=5)
        >>> index.tuning_["measured_recall"] >= 0.9
        True
        """
        tuned: Self = tune(self, X, ids, recall, k, memory, max_tables, seed)
        return tuned

    def _settle(self, hashed: Vectors) -> Settings:
        """The settings: what was given, and what the data say about the rest."""
        n = hashed.shape[0]
        family = self.family
        tables_given = (self.num_tables, self.hashes_per_table, self.num_probes) != (None, None, None)
        few = n * -(-family.num_hashes // 64) <= _SCAN_WORDS and family.num_hashes <= _CODES_BITS
        scan = family.kind == "bits" and not tables_given and few
        if self.filter == "codes" or (self.filter == "auto" and scan):
            if family.num_hashes > _CODES_BITS:
                raise bad_parameter("bits", family.num_hashes, f'1 to {_CODES_BITS} with filter="codes"')
            return Settings("codes", num_candidates=self.num_candidates or 200)
        if self.num_candidates is not None:
            raise bad_parameter("num_candidates", self.num_candidates, "None where tables are built")
        return Settings(
            "buckets",
            self.num_tables or 16,
            self.hashes_per_table or self._selective(hashed),
            self.num_probes or (16 if family.num_alternatives else 1),
        )

    def _selective(self, hashed: Vectors) -> int:
        """The k for which about one random row shares a bucket: ln n / -ln p, p the share of equal hashes between
        rows.
        """
        n = hashed.shape[0]
        if n < 3:
            return 1
        rng = np.random.default_rng(self.family.seed)
        sample = hashed[np.sort(rng.choice(n, min(n, _SAMPLE), replace=False))]
        values = self.family.resized(64).fit(hashed).hash_values(sample)
        # Neighbours in a random order are random pairs.
        values = values[rng.permutation(len(values))]
        equal = float(np.mean(values[1:] == values[:-1]))
        if equal >= 1:
            return 1
        most = 64 if self.family.kind == "bits" else 256
        return min(most, max(1, math.ceil(math.log(n) / -math.log(max(equal, 1e-9)))))

    def _fit_family(self, settings: Settings, hashed: Vectors) -> Family:
        """The fitted hash functions for these settings."""
        if settings.filter == "codes":
            return self.family.resized(self.family.num_hashes).fit(hashed)
        k = settings.hashes_per_table
        if self.family.kind == "bits" and k > 64:
            raise bad_parameter("hashes_per_table", k, "1 to 64 for a family of bits")
        layout = self.family.hash_layout(settings.num_tables, k)
        return self.family.resized(int(layout.max()) + 1, group=k).fit(hashed)

    def _make_core(self) -> LshCore:
        settings, family = self.settings_, self.family_
        if settings.filter == "codes":
            return LshCore.codes(self.metric_, self.vectors_, self.dimension_, family.num_hashes)
        layout = self.family.hash_layout(settings.num_tables, settings.hashes_per_table)
        return LshCore.buckets(
            self.metric_,
            self.vectors_,
            self.dimension_,
            family.kind == "keys",
            family.num_hashes,
            settings.hashes_per_table,
            np.ascontiguousarray(layout, dtype=np.uint32).ravel(),
        )

    # -- forms of vectors

    def _given(self, X: Vectors, name: str) -> Rows:
        """Vectors in the index's own form."""
        rows = as_rows(X, dimension=self.dimension_, name=name)
        if self.vectors_ == "sparse":
            if rows.csr is None:
                from scipy.sparse import csr_array

                rows = Rows(None, csr_array(rows.dense()))
            return rows
        return Rows(np.ascontiguousarray(rows.dense(), dtype=self.vectors_), None)

    @staticmethod
    def _flat(rows: Rows) -> Any:
        """Vectors as the core takes them."""
        if rows.csr is None:
            return rows.values.reshape(-1)  # type: ignore[union-attr]
        if rows.d >= 1 << 32:
            raise bad_parameter("dimension", rows.d, "below 2**32 for an index of sparse vectors")
        csr = rows.csr
        return (
            np.ascontiguousarray(csr.indptr, dtype=np.uint64),
            np.ascontiguousarray(csr.indices, dtype=np.uint32),
            np.ascontiguousarray(csr.data, dtype=np.float64),
        )

    def _hashed_form(self, rows: Rows, *, query: bool = False) -> Vectors:
        """What the family sees of vectors: themselves, or for inner products their image on the sphere."""
        plain = rows.values if rows.csr is None else rows.csr
        if self.metric_ != "inner_product":
            return plain
        norms = rows.norms()
        if query:
            if (norms == 0).any():
                row = int(np.flatnonzero(norms == 0)[0])
                reason = "its inner product with every vector is zero; drop it"
                raise InputError(f"row {row}: {reason}", place=f"row {row}", reason=reason)
            scale, last = 1 / norms, np.zeros(len(norms))
        else:
            limit = self.max_norm_
            # The norm of a float32 row may round above that of the longest row by one step.
            if (norms > limit * (1 + 1e-6)).any():
                longest = float(norms.max())
                raise bad_parameter(
                    "X", f"a vector of length {longest:g}", f"lengths to max_norm={limit:g}; give max_norm="
                )
            scale = np.full(len(norms), 1 / limit)
            last = np.sqrt(np.maximum(0.0, 1 - (norms / limit) ** 2))
        if rows.csr is None:
            return np.column_stack([rows.dense() * scale[:, None], last])
        from scipy.sparse import csr_array, diags_array, hstack

        return csr_array(hstack([diags_array(scale) @ rows.csr, csr_array(last[:, None])], format="csr"))

    def _hashes(self, hashed: Vectors) -> Any:
        """The family's hashes, flat."""
        codes = self.family_.transform(hashed)
        return np.ascontiguousarray(codes).reshape(-1)

    def _asked(self, rows: Rows, settings: Settings) -> tuple[Any, Any, int, bool]:
        """Hashes, alternatives and effort of queries, as the core takes them."""
        hashed = self._hashed_form(rows, query=True)
        if settings.filter == "codes":
            return self._hashes(hashed), None, settings.num_candidates, True
        if settings.num_probes == 1:
            return self._hashes(hashed), None, 1, False
        if not self.family_.num_alternatives:
            raise bad_parameter("num_probes", settings.num_probes, f"1: {self.family_.name} has no margins to go by")
        count = min(self.family_.num_alternatives, settings.num_probes - 1)
        probes = self.family_.probes(hashed, count)
        costs = np.ascontiguousarray(probes.costs, dtype=np.float64).reshape(-1)
        if self.family_.kind == "bits":
            hashes = self._hashes(hashed)
            others = np.zeros(0, dtype=np.int64)
        else:
            hashes = np.ascontiguousarray(probes.values, dtype=np.int64).reshape(-1)
            others = np.ascontiguousarray(probes.others, dtype=np.int64).reshape(-1)
        return hashes, (count, others, costs), settings.num_probes, False

    def _fitted(self) -> LshCore:
        if self._core is None:
            raise NotFittedError("this LSHIndex is not fitted; call fit(X) first", family="LSHIndex")
        return self._core

    # -- contents

    def _insert(self, rows: Rows, hashed: Vectors, ids: Any) -> int:
        core = self._fitted()
        hashes, vectors = self._hashes(hashed), self._flat(rows)
        if ids is None:
            return core.add_rows(hashes, vectors)
        keys = check_ids(ids)
        if isinstance(keys, list):
            return core.add_names(keys, hashes, vectors)
        return core.add_ints(keys, hashes, vectors)

    def add(self, X: Vectors, ids: Any = None) -> int:
        """Adds vectors; returns how many.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            Of the dimension of `fit`.
        ids : iterable of int or str, optional
            New ids, of the kind that the index has; row numbers go on without them.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError
            An id that is there or occurs twice, ids of another kind, counts that differ, a vector longer than
            `max_norm_`. The index is unchanged.
        InputError
            NaN or infinite values, zero vectors where angles count. The index is unchanged.
        """
        self._fitted()
        rows = self._given(X, "X")
        return self._insert(rows, self._hashed_form(rows), ids)

    def remove(self, ids: Any, *, missing_ok: bool = False) -> int:
        """Removes ids; returns how many were removed.

        Parameters
        ----------
        ids : iterable of int or str
            Ids as they were given; row numbers if none were.
        missing_ok : bool, default=False
            Whether ids that are not there are passed over.

        Raises
        ------
        ParameterError
            An id that is not there. The index is unchanged.
        """
        core, keys = self._fitted(), check_ids(ids)
        if isinstance(keys, list):
            return core.remove_names(keys, missing_ok)
        return core.remove_ints(keys, missing_ok)

    def __len__(self) -> int:
        """How many vectors there are."""
        return 0 if self._core is None else len(self._core)

    def __contains__(self, key: object) -> bool:
        """Whether an id is there."""
        core = self._fitted()
        if isinstance(key, str):
            return core.contains_name(key)
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return -(1 << 63) <= int(key) < 1 << 63 and core.contains_int(int(key))
        return False

    def __repr__(self) -> str:
        state = f"{len(self)} vectors, {self.settings_}" if self._core is not None else "not fitted"
        return f"LSHIndex({self.family}, {state})"

    @property
    def nbytes(self) -> int:
        """Bytes of tables or codes, vectors and ids."""
        return sum(self._fitted().info()[4:])

    # -- queries

    def _effort(self, num_probes: int | None, num_candidates: int | None) -> Settings:
        settings = self.settings_
        if num_probes is not None:
            if settings.filter == "codes":
                raise bad_parameter("num_probes", num_probes, "None for an index of codes")
            settings = replace(
                settings, num_probes=check_count("num_probes", num_probes, 1, 1 << 20, f"1 to {1 << 20}")
            )
        if num_candidates is not None:
            if settings.filter == "buckets":
                raise bad_parameter("num_candidates", num_candidates, "None for an index of buckets")
            settings = replace(
                settings, num_candidates=check_count("num_candidates", num_candidates, 1, 1 << 32, "1 or more")
            )
        return settings

    def nearest(
        self, Q: Vectors, k: int = 10, *, num_probes: int | None = None, num_candidates: int | None = None
    ) -> SearchResult:
        """The k nearest of each query's candidates; of those at the last distance, the least ids.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
            A row that is in the index finds itself.
        k : int, default=10
            1 or more. A query with fewer candidates has fewer matches.
        num_probes, num_candidates : int, optional
            Other values than the index's for this call.

        Returns
        -------
        SearchResult
            Distances are `float32` for an index of `float32` vectors, else `float64`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError, InputError, MismatchError
            Bad parameters; bad vectors; another dimension.
        """
        core = self._fitted()
        k = check_count("k", k, 1, (1 << 63) - 1, "1 or more")
        settings = self._effort(num_probes, num_candidates)
        rows = self._given(Q, "Q")
        return self._result(core.nearest(*self._asked(rows, settings), self._flat(rows), k))

    def search(
        self, Q: Vectors, radius: float, *, num_probes: int | None = None, num_candidates: int | None = None
    ) -> SearchResult:
        """The candidates of each query within a distance, nearest first, ties by id.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
        radius : float
            Largest distance that counts, inclusive; in units of the metric (negative products for "inner_product").
        num_probes, num_candidates : int, optional
            Other values than the index's for this call.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError, InputError, MismatchError
            Bad parameters; bad vectors; another dimension.
        """
        core = self._fitted()
        try:
            limit = float(radius)
        except (TypeError, ValueError):
            raise bad_parameter("radius", repr(radius), "a number") from None
        settings = self._effort(num_probes, num_candidates)
        rows = self._given(Q, "Q")
        return self._result(core.search(*self._asked(rows, settings), self._flat(rows), limit))

    def candidates(self, Q: Vectors, *, num_probes: int | None = None, num_candidates: int | None = None) -> Candidates:
        """What the filter gives each query, without distances.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
        num_probes, num_candidates : int, optional
            Other values than the index's for this call.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError, InputError, MismatchError
            Bad parameters; bad vectors; another dimension.
        """
        core = self._fitted()
        settings = self._effort(num_probes, num_candidates)
        offsets, ids, met = core.candidates(*self._asked(self._given(Q, "Q"), settings))
        return Candidates(offsets, self._named(ids), met)

    def _named(self, rows: npt.NDArray[np.int64]) -> IdArray:
        core = self._fitted()
        if core.info()[3] != "strings":
            return rows
        names = np.empty(len(rows), dtype=object)
        names[:] = core.names(rows)
        return names

    def _result(
        self, found: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]
    ) -> SearchResult:
        offsets, ids, distances = found
        # Distances of float32 vectors are float32 numbers: nothing is lost.
        shown = distances.astype(np.float32) if self.vectors_ == "float32" else distances
        return SearchResult(offsets, self._named(ids), shown)

    # -- what it does

    def explain(self) -> dict[str, Any]:
        """What the index is made of, what a query does, and why.

        Returns
        -------
        dict
            `vectors` (how many), `dimension`, `type`, `metric`, `ids` (their kind), `family`, `filter` and its
            settings, `why` (the reason for the filter), `bytes_filter`, `bytes_vectors`, `bytes_ids`; for buckets
            `buckets` (a table on average), `largest_bucket` (its size is below this power of two), `bucket_sizes` (how
            many of all tables' buckets have 1, 2 to 3, 4 to 7, ... rows); and `tuning`, what `tune` expected and
            measured, or None.
        """
        core, settings = self._fitted(), self.settings_
        metric, vectors, dimension, ids, filtering, stored, named = core.info()
        words = len(self) * -(-self.family_.num_hashes // 64)
        if self.filter != "auto":
            why = f'filter="{self.filter}" was given'
        elif settings.filter == "codes":
            why = f"the family gives bits, and {words:,} words are scanned faster than enough tables are looked up"
        elif self.family.kind != "bits":
            why = "the family gives integers, which have no codes to scan"
        elif (self.num_tables, self.hashes_per_table, self.num_probes) != (None, None, None):
            why = "parameters of tables were given"
        else:
            why = f"codes would have more than {_SCAN_WORDS:,} words, or more than {_CODES_BITS} bits"
        out: dict[str, Any] = {
            "vectors": len(self),
            "dimension": dimension,
            "type": vectors,
            "metric": metric,
            "ids": ids,
            "family": str(self.family_),
            "filter": settings.filter,
            "why": why,
            "bytes_filter": filtering,
            "bytes_vectors": stored,
            "bytes_ids": named,
            "tuning": self.tuning_,
        }
        if settings.filter == "codes":
            return out | {"bits": self.family_.num_hashes, "num_candidates": settings.num_candidates}
        histogram = core.histogram()
        sizes = np.zeros(max((len(counts) for counts in histogram), default=1), dtype=np.int64)
        for counts in histogram:
            sizes[: len(counts)] += np.array(counts, dtype=np.int64)
        return out | {
            "num_tables": settings.num_tables,
            "hashes_per_table": settings.hashes_per_table,
            "num_probes": settings.num_probes,
            "buckets": float(sizes.sum() / settings.num_tables),
            "largest_bucket": 1 << len(sizes),
            "bucket_sizes": sizes.tolist(),
        }

    def expected_recall(self, values: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Probability that a neighbour is among the candidates at one probe a table, by the family's law.

        Parameters
        ----------
        values : array
            What `family.collision_probability` takes: the cosine similarity, the kernel, or the distance of the
            neighbours.

        Returns
        -------
        float64 array
            1 - (1 - p^k)^L. More probes find more; `tune` measures them.

        Raises
        ------
        ParameterError
            An index of codes, for which it depends on all other rows.
        """
        self._fitted()
        settings = self.settings_
        if settings.filter == "codes":
            raise bad_parameter("filter", '"codes"', '"buckets"; recall() measures an index of codes')
        p = np.asarray(self.family_.collision_probability(values), dtype=np.float64)
        return np.asarray(
            -np.expm1(settings.num_tables * np.log1p(-np.minimum(p**settings.hashes_per_table, 1 - 1e-16)))
        )

    def recall(
        self,
        Q: Vectors,
        distances: npt.ArrayLike,
        *,
        num_probes: int | None = None,
        num_candidates: int | None = None,
        tolerance: float = 1e-5,
    ) -> float:
        """Measured recall of `nearest`: the share of the true k nearest whose distance is found.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
        distances : (n_queries, k) array
            Distances of the true k nearest, ascending, by the index's metric.
        num_probes, num_candidates : int, optional
            Other values than the index's.
        tolerance : float, default=1e-5
            A match counts if its distance is at most the k-th true one, plus this share of it: another row at the same
            distance is as good, and sums of other programs round differently.

        Returns
        -------
        float
            0 to 1.
        """
        true = np.asarray(distances, dtype=np.float64)
        if true.ndim != 2 or true.shape[1] == 0:
            raise bad_parameter("distances", f"an array of shape {true.shape}", "shape (n_queries, k)")
        k = true.shape[1]
        hits = self.nearest(Q, k, num_probes=num_probes, num_candidates=num_candidates)
        if len(hits) != len(true):
            raise bad_parameter("distances", f"{len(true)} rows", f"one for each of {len(hits)} queries")
        limit = true[:, -1] + tolerance * np.abs(true[:, -1])
        good = hits.distances <= limit[hits.queries]
        return float(good.sum() / (k * len(true))) if len(true) else 1.0

    # -- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the index with its hash functions as one file with a checksum for every part.

        The file is written aside, synced and renamed: after a crash at any moment there is the old file or the new one.
        `docs/format-lsh.md` describes it.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError
            A family that no file can hold, such as one with a kernel that is a function.
        OSError
            The file system refuses; an old file is as it was.
        """
        core = self._fitted()
        text, arrays = self.family_.parts()
        about = {
            "family": json.loads(text),
            "bits": self.family.num_hashes,
            "settings": vars(self.settings_),
            "given": {
                name: getattr(self, name)
                for name in ("num_tables", "hashes_per_table", "num_probes", "filter", "num_candidates", "metric")
            },
            "max_norm": self.max_norm_ if self.metric_ == "inner_product" else None,
            "tuning": self.tuning_,
        }
        head = json.dumps(about, sort_keys=True, allow_nan=False).encode()
        note = [len(head).to_bytes(8, "little"), head]
        for array in arrays:
            note += [len(array).to_bytes(8, "little"), array.tobytes()]
        core.save(os.fspath(path), b"".join(note))

    def __getstate__(self) -> dict[str, Any]:
        """What `pickle` keeps: the attributes, and the index as the bytes of its file."""
        state = {name: value for name, value in vars(self).items() if name != "_core"}
        if self._core is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "index")
                self._core.save(str(path), b"")
                state["_file"] = path.read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The inverse; the file's memory map outlives its name."""
        file = state.pop("_file", None)
        vars(self).update(state)
        self._core = None
        if file is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "index")
                path.write_bytes(file)
                self._core = LshCore.open(str(path))[0]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> LSHIndex:
        """Opens a saved index through a memory map.

        Tables and vectors stay in the file until they are read. Adding, removing and saving again are as for any
        index. The file must not be changed in place while it is open.

        Raises
        ------
        CorruptStoreError, FormatVersionError, OSError
            A file that is no whole index, that a newer nearkin wrote, or that can't be read.

        Examples
        --------
        >>> import numpy as np, pathlib, tempfile, nearkin as nk
        >>> X = np.random.default_rng(0).standard_normal((100, 8))
        >>> index = nk.LSHIndex(nk.families.Hyperplane(bits=64)).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "vectors.nks")
        ...     index.save(path)
        ...     opened = nk.LSHIndex.open(path)
        ...     opened.verify()
        ...     opened.nearest(X[:1], k=1).ids
        array([0])
        """
        place = os.fspath(path)
        core, note = LshCore.open(place)
        try:
            size = int.from_bytes(note[:8], "little")
            about = json.loads(note[8 : 8 + size])
            arrays, at = [], 8 + size
            while at < len(note):
                length = int.from_bytes(note[at : at + 8], "little")
                if at + 8 + length > len(note):
                    raise ValueError("an array ends behind the note")
                # A copy begins where numbers of any type may.
                arrays.append(np.frombuffer(note, np.uint8, length, at + 8).copy())
                at += 8 + length
            family = restore(json.dumps(about["family"]), arrays, place)
            given = about["given"]
            index = cls(family.resized(int(about["bits"])), **given)
            index.metric_ = index._check()
            index.settings_ = Settings(**about["settings"])
            index.tuning_ = about["tuning"]
            if index.metric_ == "inner_product":
                index.max_norm_ = index.max_norm = float(about["max_norm"])
        except (KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
            reason = f"its description does not hold together ({error})"
            raise CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason) from error
        metric, vectors, dimension, *_ = core.info()
        hashed = dimension + (index.metric_ == "inner_product")
        if metric != index.metric_ or family.dimension_ != hashed:
            reason = "its hash functions are not those of its vectors"
            raise CorruptStoreError(f"{place} is damaged: {reason}", place=place, reason=reason)
        index.family_ = family
        index.vectors_ = vectors  # type: ignore[assignment]  # The file holds one of the names.
        index.dimension_ = dimension
        index._core = core
        return index

    def verify(self) -> None:
        """Reads the whole file of an opened index and checks every part of it; does nothing for one made in memory.

        Raises
        ------
        CorruptStoreError
            Something in the file does not hold.
        """
        self._fitted().verify()
