"""Approximate nearest neighbours of vectors: hashes find candidates, true distances rank them.

`LSHIndex` takes a family of hash functions and finds candidates in one of three ways, its *filter*:

- `buckets`: L hash tables, each keyed by k hashes. A query probes T buckets per table, those most likely to contain
  near vectors (multi-probe [2]_). A row whose hashes equal the query's with probability p is found with probability 1 -
  (1 - p^k)^L at T = 1 [1]_.
- `partitions`: an inverted file (IVF). Rows are partitioned by their nearest centroid, and a query visits the T nearest
  partitions. Rows have RaBitQ codes of their residuals (`rank="estimate"`) [4]_, which can also be scanned flat.
- `codes`: one binary code per row; a query takes the m rows with the nearest codes by Hamming distance. Up to a few
  hundred thousand rows, this scan is faster than looking up enough tables.

Candidates are re-ranked by their true distance; the index stores the vectors for that. A query with fewer than k
candidates is answered by an exact scan of all rows, unless `nearest` is called with `complete=False`.

`pairs` and `clusters` use each indexed vector as a query. A pair is found if one of its vectors is among the candidates
of the other. With bucket tables and one probe per table both directions are the same event, of probability 1 - (1 -
p^k)^L. More probes, and codes, can find a pair from either side, so with at least the probability of one query.
Distances are exact, and no pair beyond the radius is returned.

File: a core file (`docs/format-lsh.md`) whose metadata section is a JSON object followed by the family's arrays, each
after its length. Format version 1 names partitions "cells".

References
----------
.. [1] M. Datar, N. Immorlica, P. Indyk, V. Mirrokni, "Locality-Sensitive Hashing Scheme Based on p-Stable
   Distributions", SoCG 2004, section 2.
.. [2] Q. Lv, W. Josephson, Z. Wang, M. Charikar, K. Li, "Multi-Probe LSH: Efficient Indexing for High-Dimensional
   Similarity Search", VLDB 2007, section 4.
.. [3] B. Neyshabur, N. Srebro, "On Symmetric and Asymmetric LSHs for Inner Product Search", ICML 2015, section 4.
.. [4] J. Gao, C. Long, "RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error Bound for Approximate
   Nearest Neighbor Search", SIGMOD 2024, section 3.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from nearkin._core import LshCore, components, deviations_of_recall, instructions
from nearkin.errors import (
    InputError,
    NotFittedError,
    ParameterError,
    bad_parameter,
    check_choice,
    check_count,
    check_regular,
    damaged,
    excerpt,
    refuse_data,
)
from nearkin.families.base import Family, deserialize, family_from_description
from nearkin.families.hyperplane import ROTATIONS, Hyperplane, rotation_size
from nearkin.index.base import INT64_MAX, Index, file_stamp
from nearkin.index.ids import Existing, IdArray, IdCore, Ids, check_existing, check_ids, new_ids
from nearkin.index.lsh_params import (
    COUNT_NAMES,
    MAX_MEASURED_K,
    MEASURED_K,
    CodeRank,
    Filter,
    IndexParams,
    Settings,
    TuneReport,
    as_number,
    check_param,
    check_recall,
    chooses_partitions,
    estimate_settings,
    explain_filter,
    prefers_codes,
    resolve_max_norm,
    resolve_settings,
    warn_of_forgotten_tuning,
    warn_of_radius,
    with_width,
)
from nearkin.index.lsh_tuning import FitSample, TuneTarget, measured_codes, measured_settings, tune
from nearkin.index.results import Candidates, Clusters, Linkage, Pairs, SearchResult, search_in_batches, sorted_pairs
from nearkin.io.saved import check_saved
from nearkin.progress import Progress, ShowProgress, reporting, ticker
from nearkin.theory.intervals import wilson
from nearkin.vectors.arrays import (
    DENSE_TYPES,
    FlatVectors,
    Floats,
    HashInput,
    Ints,
    Metric,
    Rows,
    Vectors,
    VectorType,
    as_rows,
    as_typed_rows,
    hash_input,
)
from nearkin.vectors.projection import pack_bits

if TYPE_CHECKING:
    from typing_extensions import Self

Hashes: TypeAlias = npt.NDArray[np.uint64] | npt.NDArray[np.int64]
"""Words of bits, or integers, of rows, one row after another."""
Alternatives: TypeAlias = tuple[int, Ints, Floats]
"""Alternatives of hashes: their number, their values (none for bits), and their costs."""

_NO_HASHES: Hashes = np.zeros(0, np.uint64)
_MAX_BATCH_VALUES = 1 << 22
"""Coordinates of the indexed vectors that are queries at once: 32 MB of float64."""
_MAX_BATCH_ROWS = 4096
"""Maximum number of indexed vectors that are queries at once."""
_MAX_JOIN_ROWS = 1 << 18
"""Maximum number of rows whose neighbours are found at once by the partitions that they share."""
_EFFORT_ROWS = 1000
"""Rows whose neighbours are searched in all partitions."""
_TRUTH = 0.9999
"""Recall of the search of all partitions."""
_EFFORTS = ((8, 0.1), (8, 0.2), (8, 0.4), (16, 0.8), (32, 1.6))
"""Probes and reach that are measured first; then the probes double, with the largest reach."""
_FULL_REACH = 2.0
"""A row within a distance of a query has its nearest centroid at most twice that farther than the query has its own."""
_FILE_SETTINGS = (
    "filter", "num_tables", "hashes_per_table", "num_probes", "num_candidates", "rank", "recall", "num_partitions",
)  # fmt: skip
_FILE_NAMES = {"partitions": "cells", "num_partitions": "num_cells", "recall_lower_bound": "least_recall"}
"""Names and values in files of format version 1 that differ from the parameters."""
_PARAM_NAMES = {name: param for param, name in _FILE_NAMES.items()}


class SearchParams(NamedTuple):
    """Effort of one query."""

    num_probes: int
    num_candidates: int
    deviations: float
    """Standard deviations between the estimate of a distance and its lower bound; 0 without estimates."""
    reach: float | None = None
    """How much farther than the nearest centroid that of a searched partition may be, as a share of the radius."""


@dataclass(frozen=True)
class PairEffort:
    """Effort of a search for the pairs of an index with partitions, and its measured recall."""

    num_probes: int
    """Maximum number of partitions per vector."""
    reach: float
    """See `LSHIndex.search`."""
    recall: float
    """Share of the neighbours of the sample that were found."""
    recall_lower_bound: float
    recall_upper_bound: float
    num_pairs: int
    """Number of neighbours of the sample."""


class LSHIndex(Index[Vectors, float]):
    """Approximate nearest neighbours of vectors.

    Parameters
    ----------
    family : Family, optional
        Hash functions from `nearkin.families`. They need not be fitted: `fit` fits a copy with as many functions as
        the tables need. Without a family: `Hyperplane(bits=None, orthogonal="hadamard")` with `rank="estimate"` and
        `metric="l2"`, which need no other parameters.
    num_tables : int, optional
        L, 1 to 16,384. More tables find more and cost more memory and time. Default 16.
    hashes_per_table : int, optional
        k. More hashes make smaller buckets. By default about one random row falls into a bucket: k = ln n / -ln p,
        where p is the share of hashes that two rows of the data have in common.
    num_probes : int, optional
        T, the number of buckets probed per table, including the query's own. Default 16, or 1 for a family without
        margins. With `filter="partitions"`: the maximum number of partitions visited (nprobe), by default one in
        sixteen, at least 16.
    filter : {"auto", "buckets", "codes", "partitions"}, default="auto"
        How candidates are found; see the top of the module. With `rank="estimate"`, "auto" scans the codes of up to
        4,096 rows, or of any number with `guarantee` or for inner products, and partitions more rows: `fit` chooses
        partitions, probes and the precision of codes for `recall`, and measures it; codes are scanned if queries would
        visit more than 40% of the partitions. Otherwise it scans codes if the
        family gives bits, no table parameter is set, and the codes fit into 2**22 words of 64 bits (1,000,000 codes of
        256 bits). In all other cases it builds tables.
    num_candidates : int, optional
        For codes: the number of nearest codes that are re-ranked by true distance, 1 or more. Default 200.
    rank : {"hamming", "spherical", "estimate"}, optional
        Default "hamming", or "estimate" without a family. For codes: the distance between them. "hamming" counts the
        bits that differ; "spherical" divides that by the number of set bits in common and is meant for `SphericalHash`.
        "estimate", with the family `Hyperplane(bits=None, orthogonal="hadamard")` or "dense", estimates the true
        distance with a lower bound and re-ranks while the bound allows a nearer row; tuning is optional.
    metric : {"l2", "l1", "cosine", "inner_product"}, optional
        The true distance, one that the family serves; by default the one that it approximates ("l2" without a family).
        Families of the cosine serve all four, `PStable`, `ITQ` and `SphericalHash` only their own. "l2" and "l1" are
        the Euclidean and the Manhattan distance, "cosine" is 1 - cos, and "inner_product" is the negative inner
        product. For the last, the family must approximate the cosine: vectors are hashed as `[x / M, sqrt(1 - |x /
        M|^2)]` and queries as `[q / |q|, 0]` [3]_.
    max_norm : float, optional
        M of "inner_product", the maximum length of vectors added later. Default: the norm of the longest vector passed
        to `fit`. With `rank="estimate"` it must be None.
    recall : float, optional
        With `rank="estimate"`: the required share of true neighbours, 0.5 to below 1, default 0.95. A scan of all
        codes finds it at least, on average over rotations, guaranteed by the bound for any data. For partitions that
        "auto" chooses, `fit` measures the share of the 10 nearest with rows as queries, and adds probes until its
        interval of 95% lies above `recall`. With `filter="partitions"` it is only the guarantee of the codes, reduced
        by the neighbours in partitions that a query does not visit.
    num_partitions : int, optional
        With `filter="partitions"`: partitions, whose centroids start from rows drawn by the seed of the family.
        Default: one per 128 rows, for a million rows one per 256.
    guarantee : bool, default=False
        With `rank="estimate"`: True scans all codes, whose recall is guaranteed for any vectors and queries.

    Attributes
    ----------
    params : IndexParams
        The arguments of the constructor. Fitting never changes them.
    family_ : Family
        The fitted hash functions.
    settings_ : Settings
        The parameters in force after `fit` or `tune`: the arguments, and values chosen for the rest. The next `fit` or
        `tune` chooses them again from its own data.

    Notes
    -----
    Time per query: hashing, then L T lookups (about 0.1 us each) or a scan of n codes, then d operations per distinct
    candidate. Memory: the vectors and ids, plus 6 to 18 bytes per row and table for buckets (`explain` reports the
    sum), or bits / 8 bytes per row for codes. The vector of a removed row occupies memory until the index is fitted
    again.

    Results depend only on the arguments, not on threads or batches. Distances are summed in a fixed order and in the
    type of the vectors passed to `fit` (`float32` or `float64`; later vectors and queries are converted), sparse ones
    in `float64`. `uint8` and `int8` vectors are compared exactly with queries of their own type; any other query, and
    every query of `float16` vectors, is compared in `float32`. Nothing is rounded to a narrower type.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.random.default_rng(0).standard_normal((1000, 32))
    >>> index = nk.LSHIndex().fit(X)
    >>> hits = index.nearest(X[:3], k=2)
    >>> hits.ids[::2]
    array([0, 1, 2])
    >>> hits.ids_2d.shape
    (3, 2)
    >>> index = nk.LSHIndex(nk.families.Hyperplane(bits=256, seed=1), filter="codes").fit(X)
    >>> index.settings_
    Settings(filter='codes', num_candidates=200, rank='hamming', metric='cosine', chosen=('num_candidates', 'metric'))
    >>> tables = nk.LSHIndex(nk.families.PStable(seed=1), num_tables=8, hashes_per_table=6).fit(X)
    >>> tables.search(X[5:6], radius=0.5)[0]
    Matches([(5, 0.0)])
    """

    params: IndexParams
    family_: Family
    settings_: Settings
    dimension_: int
    vector_type_: VectorType
    _core: LshCore | None
    _warned_of_radius = False
    """True after the warning of a search within a radius, until the next fit."""

    def __init__(
        self,
        family: Family | None = None,
        num_tables: int | None = None,
        *,
        hashes_per_table: int | None = None,
        num_probes: int | None = None,
        filter: Filter = "auto",
        num_candidates: int | None = None,
        rank: CodeRank | None = None,
        metric: Metric | None = None,
        max_norm: float | None = None,
        recall: float | None = None,
        num_partitions: int | None = None,
        guarantee: bool = False,
    ) -> None:
        if family is None:
            family, rank, metric = Hyperplane(None, orthogonal="hadamard"), rank or "estimate", metric or "l2"
        if not isinstance(family, Family):
            allowed = "a family such as nearkin.families.Hyperplane(64), or none"  # type: ignore[unreachable]
            refuse_data("family", family, f"{allowed}; vectors go to fit, as in LSHIndex().fit(X)")
            raise bad_parameter("family", excerpt(repr(family)), allowed)
        rank = "hamming" if rank is None else rank
        counts = num_tables, hashes_per_table, num_probes
        self.params = IndexParams(
            family, *counts, filter, num_candidates, rank, metric, max_norm, recall, num_partitions, guarantee
        )
        self._core = None

    def __len__(self) -> int:
        """Return the number of vectors."""
        return 0 if self._core is None else len(self._core)

    def __repr__(self) -> str:
        state = f"{len(self)} vectors, {self.settings_}" if self._core is not None else "not fitted"
        return f"LSHIndex({self.params.family}, {state})"

    def _fitted_core(self) -> LshCore:
        if self._core is None:
            raise NotFittedError("this LSHIndex is not fitted; call fit(X) first", family="LSHIndex")
        return self._core

    def _id_core(self) -> IdCore:
        return self._fitted_core()

    @property
    def nbytes(self) -> int:
        """Bytes of tables or codes, vectors and ids."""
        return sum(self._fitted_core().info()[4:])

    @property
    def filter_nbytes(self) -> int:
        """Bytes of tables or codes."""
        return self._fitted_core().info()[4]

    # -- fitting and adding

    def fit(self, X: Vectors, ids: Ids | None = None, *, progress: ShowProgress = None) -> Self:
        """Fit the hash functions and replace the contents of the index with these vectors.

        Everything that `tune` chose is chosen again, from the arguments and defaults; `ForgottenTuningWarning` names
        the changes. `tune` itself leaves the index fitted.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            One row or more. Its type (`float32`, `float64`, `uint8`, `int8`, `float16`, sparse) becomes that of the
            index; booleans and integers of 16 bits become `float32`.
        ids : iterable of int or str, optional
            One id for each row, of one kind; row numbers by default.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with the name of a stage, its count and
            its total. "index" has the rows, and is reported at its start and its end. If partitions are chosen
            automatically, "neighbours" has the rows that serve as queries, and "measure" the measurements of recall,
            whose total is None until the last one. The index is built again, as another stage "index", if a scan of
            codes turns out to be faster.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            A parameter out of range, or one that does not apply to the family.
        InputError
            No rows; NaN or infinite values; zero vectors with a metric of angles. The index is unchanged after any
            error.
        """
        rows = as_rows(X, min_rows=1)
        metric = self.params.check()
        params = self.params.for_dimension(rows.d)
        max_norm = resolve_max_norm(params, metric, rows)
        hashed = hash_input(rows, max_norm)
        # An iterator can be read once, but two indexes may be built.
        keys = None if ids is None else check_ids(ids)
        settings = resolve_settings(params, metric, max_norm, hashed)
        with reporting(progress) as report:
            fitted = self._build(params.family, settings, rows, hashed, keys, report)
            if chooses_partitions(params, metric, len(rows)):
                sample = FitSample.draw(fitted, rows, fitted._neighbour_ranks, report)
                fitted.settings_ = measured_settings(fitted, sample)
                if prefers_codes(fitted.settings_):
                    settings = estimate_settings(replace(params, guarantee=True), metric, len(rows))
                    fitted = self._build(params.family, settings, rows, hashed, keys, report)
                    fitted.settings_ = measured_codes(fitted, sample)
                sample.trials.finish()
        warn_of_forgotten_tuning(getattr(self, "settings_", None), fitted.settings_)
        self._adopt(fitted)
        return self

    def _build(
        self, family: Family, settings: Settings, rows: Rows, hashed: HashInput, ids: Ids | None, report: Progress
    ) -> LSHIndex:
        """Return a new index of the vectors with these settings."""
        tick = ticker(report, "index", len(rows))
        index = type(self)(family)
        index.family_ = _fit_family(family, settings, hashed)
        index.settings_ = with_width(settings, index.family_)
        index.dimension_, index.vector_type_ = rows.d, rows.vector_type
        index._core = index._new_core(rows)
        index._insert(rows, hashed, ids)
        tick(len(rows))
        return index

    def _adopt(self, fitted: LSHIndex) -> None:
        """Take over the state of another fitted index; the parameters stay."""
        names = ("settings_", "family_", "dimension_", "vector_type_", "_core")
        # One update, so that an interrupt comes before or after it.
        vars(self).update({name: getattr(fitted, name) for name in names}, _warned_of_radius=False)

    def tune(
        self,
        X: Vectors,
        ids: Ids | None = None,
        *,
        recall: float = 0.9,
        k: int = 10,
        memory: int | None = None,
        max_tables: int = 256,
        seed: int = 0,
        progress: ShowProgress = None,
    ) -> Settings:
        """Choose settings that reach a recall on this data, and fit the index with them.

        Some rows serve as queries, with true neighbours by brute force. For each number of hashes and probes (and each
        width, for p-stable keys with `width="auto"`), sampled tables show how often neighbours collide, which gives the
        number of tables that reaches the recall. The fastest choice within the memory limit wins; a scan of codes
        competes. With `rank="estimate"`, the smallest guaranteed recall and the fewest partitions whose measured recall
        suffices are found. The index is then built and its recall measured, and it grows until the recall is reached.
        Arguments of the constructor are never changed. See `nearkin.index.lsh_tuning`.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            At least 2 k + 2 rows.
        ids : iterable of int or str, optional
            As for `fit`.
        recall : float, default=0.9
            Required share of the true k nearest neighbours, between 0 and 1, both exclusive.
        k : int, default=10
            Number of neighbours, 1 or more.
        memory : int, optional
            Maximum bytes of tables or codes, without the vectors.
        max_tables : int, default=256
            Maximum number of tables, 1 to 16,384.
        seed : int, default=0
            Seed of the sample.
        progress : bool or function, optional
            True shows bars in a terminal or a notebook; a function is called with the name of a stage, its count and
            its total. "neighbours" has the rows that are compared with the queries, "choose" the numbers of hashes
            that are tried, "index" the rows of each index, at its start and its end, and "measure" the measurements
            of recall, whose total is None until the last one.

        Returns
        -------
        Settings
            The new `settings_`. `settings.tuning` has the expected and the measured recall. Unless no choice within the
            limits suffices, `recall_lower_bound`, two standard errors below the measured recall, is at least the
            required one, so that new queries from the same distribution reach it in 39 of 40 cases.

        Raises
        ------
        ParameterError
            No choice within the limits and arguments is expected to reach the recall; parameters out of range. The
            index is unchanged.
        InputError
            Too few rows; invalid vectors. The index is unchanged.

        Notes
        -----
        Tuning costs the exact neighbours of 200 rows, one or more fits, and 16 tables of about 4,000 sampled rows per
        choice: a few seconds for 40,000 vectors.

        Examples
        --------
        >>> import numpy as np, nearkin as nk
        >>> X = np.random.default_rng(0).standard_normal((500, 8))
        >>> index = nk.LSHIndex(nk.families.PStable(), num_probes=8)
        >>> settings = index.tune(X, recall=0.9, k=5)
        >>> settings.tuning.measured_recall >= 0.9, settings.explicit
        (True, ('num_probes',))
        """
        target = TuneTarget(recall=recall, k=k, memory=memory, max_tables=max_tables, seed=seed)
        metric = self.params.check()
        rows = as_rows(X, min_rows=1)
        # An iterator can be read once, but several indexes may be built.
        keys = None if ids is None else check_ids(ids)

        with reporting(progress) as report:

            def build(family: Family, settings: Settings, hashed: HashInput) -> LSHIndex:
                return self._build(family, settings, rows, hashed, keys, report)

            tuned = tune(self.params.for_dimension(rows.d), metric, rows, target, build, report)
        self._adopt(tuned)
        return self.settings_

    def _new_core(self, rows: Rows) -> LshCore:
        settings, family = self.settings_, self.family_
        vectors = settings.metric, self.vector_type_, self.dimension_
        if settings.rank == "estimate":
            rotation = (family.seed, ROTATIONS[str(cast("Hyperplane", family).orthogonal)])
            return LshCore.rotation(*vectors, rotation, settings.num_partitions or None, rows.flat())
        if settings.filter == "codes":
            return LshCore.codes(*vectors, family.num_hashes)
        k = settings.hashes_per_table
        layout = np.ascontiguousarray(family.hash_layout(settings.num_tables, k), dtype=np.uint32).ravel()
        return LshCore.buckets(*vectors, family.kind == "keys", family.num_hashes, k, layout)

    def _hash(self, hashed: HashInput) -> Hashes:
        """Return the family's hashes, flat."""
        # `IndexParams.check` refuses families of features.
        return cast("Hashes", np.ascontiguousarray(self.family_.transform(hashed)).reshape(-1))

    def _insert(self, rows: Rows, hashed: HashInput, ids: Ids | None, existing: Existing = "error") -> int:
        # The core computes rotation codes from the vectors.
        hashes = _NO_HASHES if self.settings_.rank == "estimate" else self._hash(hashed)
        return self._fitted_core().add(new_ids(ids), hashes, rows.flat(), check_existing(existing))

    def add(self, ids: Ids | None, X: Vectors, *, existing: Existing = "error") -> int:
        """Add vectors and return how many were added.

        Parameters
        ----------
        ids : iterable of int or str, array, column, or None
            One id for each vector, of the kind of the index; None if it has row numbers.
        X : (n, d) array or SciPy sparse matrix
            Of the dimension passed to `fit`, converted to the type of the index, which must represent all integers.
        existing : {"error", "update", "skip"}, default="error"
            For an id that already exists or occurs twice in the call: refuse the call, update the vector (the last one
            wins), or skip the new one.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError
            An id that already exists or occurs twice, ids of another kind, counts that differ, or a vector longer than
            `settings_.max_norm`. The index is unchanged.
        InputError
            NaN or infinite values, zero vectors with a metric of angles, or numbers that an index of `uint8`, `int8` or
            `float16` can't represent. The index is unchanged.
        """
        self._fitted_core()
        rows = as_typed_rows(X, self.vector_type_, self.dimension_)
        return self._insert(rows, hash_input(rows, self.settings_.max_norm), ids, existing)

    # -- queries

    def nearest(
        self,
        Q: Vectors,
        k: int = 10,
        *,
        num_probes: int | None = None,
        num_candidates: int | None = None,
        recall: float | None = None,
        complete: bool = True,
        progress: ShowProgress = None,
    ) -> SearchResult:
        """Return the k nearest candidates of each query; ties at the last distance by smallest id.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
            A row that is in the index finds itself.
        k : int, default=10
            1 or more. Each query has k matches, or as many as there are rows.
        num_probes, num_candidates : int, optional
            Used for this call instead of the index's own.
        recall : float, optional
            With `rank="estimate"`: the recall that the bound guarantees in this call, 0.5 to below 1.
        complete : bool, default=True
            Answer a query that has fewer than k candidates by an exact scan of all rows, n d steps. False bounds the
            time: such a query has fewer than k matches.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "search", the number of finished
            queries, and the total. The queries then run in batches of a few thousand, each on the current index.

        Returns
        -------
        SearchResult
            Distances are `float64` for an index of `float64` or sparse vectors, otherwise `float32`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError, InputError, MismatchError
            Bad parameters; invalid vectors; another dimension.
        """
        self._fitted_core()
        if type(k) is not int or not 1 <= k <= INT64_MAX:
            k = check_count("k", k, 1, INT64_MAX, "1 or more")
        params = self._search_params(num_probes, num_candidates, recall, k)
        return self._query(Q, params, k, None, progress, complete)

    def search(
        self,
        Q: Vectors,
        radius: float,
        *,
        num_probes: int | None = None,
        num_candidates: int | None = None,
        recall: float | None = None,
        reach: float | None = None,
        progress: ShowProgress = None,
    ) -> SearchResult:
        """Return the candidates of each query within a distance, nearest first, ties by id.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
        radius : float
            Maximum distance, inclusive, in units of the metric (negative products for "inner_product").
        num_probes, num_candidates, recall, progress
            As for `nearest`.
        reach : float, optional
            With partitions: of the `num_probes` nearest, search only those whose centroid is at most this share of the
            radius farther from the query than the nearest one. 2 loses only rows that are not in the partition of their
            nearest centroid; near-copies in many dimensions need 0.1 to 0.4 and visit one or two partitions.

        Returns
        -------
        SearchResult
            As for `nearest`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError, InputError, MismatchError
            Bad parameters; invalid vectors; another dimension.

        Warns
        -----
        UnmeasuredRecallWarning
            Once per fit, also by `pairs` and `clusters`: `fit` chose partitions, and the call sets no effort.
        """
        self._fitted_core()
        limit = _check_radius(radius)
        params = self._search_params(num_probes, num_candidates, recall, reach=reach)
        self._warn_of_radius("search(radius)", num_probes, reach)
        return self._query(Q, params, None, limit, progress)

    def candidates(self, Q: Vectors, *, num_probes: int | None = None, num_candidates: int | None = None) -> Candidates:
        """Return the candidates of each query, without distances.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
        num_probes, num_candidates : int, optional
            Used for this call instead of the index's own.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError, InputError, MismatchError
            Bad parameters; invalid vectors; another dimension.
        """
        core, params = self._fitted_core(), self._search_params(num_probes, num_candidates, None)
        if self.settings_.rank == "estimate":
            allowed = "nearest or search: which rows are ranked depends on k or the radius"
            raise bad_parameter("candidates", 'of rank="estimate"', allowed)
        return Candidates(*core.candidates(self._hash_queries(self._query_rows(Q), params)))

    def _search_params(
        self,
        num_probes: int | None,
        num_candidates: int | None,
        recall: float | None,
        k: int | None = None,
        reach: float | None = None,
    ) -> SearchParams:
        """Return the effort of a call: the settings, with the values passed to the call."""
        settings = self.settings_
        if reach is not None and (settings.filter != "partitions" or settings.metric == "inner_product"):
            raise bad_parameter("reach", reach, "None unless an index has partitions and a distance")
        if reach is not None and not (as_number(reach) >= 0):
            raise bad_parameter("reach", repr(reach), "a number from 0 on, or None")
        if num_probes is not None and settings.filter == "codes":
            raise bad_parameter("num_probes", num_probes, "None for an index of codes")
        if num_candidates is not None and settings.filter == "buckets":
            raise bad_parameter("num_candidates", num_candidates, "None for an index of buckets")
        if num_candidates is not None and settings.rank == "estimate":
            raise bad_parameter("num_candidates", num_candidates, 'None with rank="estimate"; give recall=')
        if recall is not None and settings.rank != "estimate":
            allowed = 'None without rank="estimate"; give num_probes= or num_candidates='
            raise bad_parameter("recall", recall, allowed)
        guarantee = settings.recall if recall is None else check_recall(recall)
        chose_bound = settings.filter == "codes" and settings.tuning is not None and settings.tuning.choices == 0
        if recall is None and chose_bound and (k is None or k < MEASURED_K):
            # The neighbour at the limit is missed most often.
            guarantee = cast("TuneReport", settings.tuning).recall
        return SearchParams(
            _probes_for_k(settings, k) if num_probes is None else check_param("num_probes", num_probes),
            settings.num_candidates if num_candidates is None else check_param("num_candidates", num_candidates),
            0.0 if guarantee is None else deviations_of_recall(guarantee),
            None if reach is None else float(reach),
        )

    def _query_rows(self, Q: Vectors) -> Rows:
        return as_typed_rows(Q, self.vector_type_, self.dimension_, name="Q", query=True)

    def _query(
        self,
        Q: Vectors,
        params: SearchParams,
        k: int | None,
        radius: float | None,
        progress: ShowProgress,
        complete: bool = False,
    ) -> SearchResult:
        """Return the k nearest candidates, or those within a radius, of each query."""
        if self.settings_.rank == "estimate" and not progress:
            vectors = self._flat_queries(Q)
            core = self._fitted_core()
            result = SearchResult(
                *core.estimated(vectors, params.deviations, params.num_probes, k, radius, params.reach)
            )
            return self._complete(result, self._query_rows(Q), k) if self._is_short(result, k, complete) else result
        rows = self._query_rows(Q)

        def search(start: int, stop: int) -> SearchResult:
            batch = rows.slice(start, stop)
            result = SearchResult(*self._rank(batch, params, k, radius))
            return self._complete(result, batch, k) if self._is_short(result, k, complete) else result

        return search_in_batches(search, len(rows), progress) if progress else search(0, len(rows))

    def _is_short(self, result: SearchResult, k: int | None, complete: bool) -> bool:
        """Return whether a search that must be complete found fewer than k rows for some query."""
        num_queries = len(result.offsets) - 1
        if not complete or k is None or len(result.ids) >= num_queries * k:
            return False
        return len(result.ids) < num_queries * min(k, len(self))

    def _complete(self, result: SearchResult, rows: Rows, k: int | None) -> SearchResult:
        """Replace the matches of queries that have fewer than k by those of an exact scan."""
        count = min(cast("int", k), len(self))
        short = np.flatnonzero(np.diff(result.offsets) < count)
        exact = SearchResult(*self._fitted_core().exact(rows.take(short).flat(), count))
        # Matches of both, in order of their queries.
        enough = ~np.isin(result.queries, short)
        queries = np.concatenate([result.queries[enough], short[exact.queries]])
        order = np.argsort(queries, kind="stable")
        offsets = np.searchsorted(queries[order], np.arange(len(result) + 1)).astype(np.int64)
        ids = np.concatenate([result.ids[enough], exact.ids])[order]
        distances = np.concatenate([result.distances[enough], exact.distances])[order]
        return SearchResult(offsets, ids, distances)

    def _rank(
        self, rows: Rows, params: SearchParams, k: int | None, radius: float | None
    ) -> tuple[Ints, IdArray, npt.NDArray[np.float32] | Floats]:
        """Return offsets, ids and distances of the k nearest candidates, or of all within a radius."""
        core, vectors = self._fitted_core(), rows.flat()
        if self.settings_.rank == "estimate":
            return core.estimated(vectors, params.deviations, params.num_probes, k, radius, params.reach)
        hashes = self._hash_queries(rows, params)
        if k is not None:
            return core.nearest(hashes, vectors, k)
        return core.search(hashes, vectors, cast("float", radius))

    def _flat_queries(self, Q: Vectors) -> FlatVectors:
        """Return queries as the core receives them; an array of the index's own type and shape is passed directly.

        A short query takes only microseconds, which the checks of other inputs would dominate. The core checks values.
        """
        if (
            type(Q) is np.ndarray
            and Q.dtype is DENSE_TYPES.get(self.vector_type_)
            and Q.ndim == 2
            and Q.shape[1] == self.dimension_
            and Q.flags.carray
        ):
            values: FlatVectors = Q.reshape(-1)
            return values.view(np.uint16) if self.vector_type_ == "float16" else values  # type: ignore[union-attr]
        return self._query_rows(Q).flat()

    def _hash_queries(
        self, rows: Rows, params: SearchParams
    ) -> tuple[Hashes, Alternatives | None, int, CodeRank | None]:
        """Return hashes, alternatives and effort of queries, as the core receives them."""
        settings, family = self.settings_, self.family_
        hashed = hash_input(rows, settings.max_norm, query=True)
        if settings.filter == "codes":
            return self._hash(hashed), None, params.num_candidates, settings.rank
        if params.num_probes == 1:
            return self._hash(hashed), None, 1, None
        if not family.num_alternatives:
            raise bad_parameter("num_probes", params.num_probes, f"1: {family.name} has no margins to go by")
        count = min(family.num_alternatives, params.num_probes - 1)
        probes = family.probes(hashed, count)
        costs: Floats = np.ascontiguousarray(probes.costs, dtype=np.float64).reshape(-1)
        if family.kind == "bits":
            hashes: Hashes = pack_bits(probes.values.astype(bool)).reshape(-1)
            others = np.zeros(0, dtype=np.int64)
        else:
            hashes = np.ascontiguousarray(probes.values, dtype=np.int64).reshape(-1)
            others = np.ascontiguousarray(probes.others, dtype=np.int64).reshape(-1)
        return hashes, (count, others, costs), params.num_probes, None

    # -- pairs and clusters

    def pairs(
        self,
        radius: float,
        *,
        num_probes: int | None = None,
        num_candidates: int | None = None,
        reach: float | None = None,
        progress: ShowProgress = None,
    ) -> Pairs:
        """Return pairs of indexed vectors within a distance, each once.

        Parameters
        ----------
        radius : float
            Maximum distance, inclusive, in units of the metric.
        num_probes, num_candidates : int, optional
            Used for this call instead of the index's own.
        reach : float, optional
            As for `search`.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "search", the number of finished
            vectors, and the total.

        Returns
        -------
        Pairs
            `left < right` by id, sorted by both. Distances are those of `search`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError
            A radius that is not a number; bad parameters; an index for inner products, which are not distances.

        Notes
        -----
        A pair whose hashes are equal with probability p is found with probability 1 - (1 - p^k)^L at one probe per
        table (`expected_recall`), and at least that with more probes. A pair of codes is found if one of the two is
        among the `num_candidates` nearest codes of the other, including itself. Cost: one query per vector, and 24
        bytes per pair.

        Examples
        --------
        >>> import numpy as np, nearkin as nk
        >>> X = np.array([[0.0, 0.0], [0.0, 0.1], [5.0, 5.0], [5.0, 5.2], [9.0, 0.0]])
        >>> index = nk.LSHIndex(nk.families.PStable(width=4.0), num_tables=20).fit(X, ["a", "b", "c", "d", "e"])
        >>> pairs = index.pairs(radius=0.5)
        >>> list(zip(pairs.left, pairs.right, pairs.distances.round(2).tolist()))
        [('a', 'b', 0.1), ('c', 'd', 0.2)]
        """
        rows, left, right, distances = self._edges("pairs", radius, num_probes, num_candidates, reach, progress)
        ids_left, ids_right, order = sorted_pairs(self._fitted_core().ids_of(rows), left, right)
        return Pairs(ids_left, ids_right, self._as_result_distances(distances[order]))

    def clusters(
        self,
        radius: float,
        *,
        linkage: Linkage = "centred",
        num_probes: int | None = None,
        num_candidates: int | None = None,
        reach: float | None = None,
        progress: ShowProgress = None,
    ) -> Clusters:
        """Return clusters of indexed vectors within a distance; vectors without a neighbour are left out.

        Parameters
        ----------
        radius : float
            Maximum distance, inclusive, in units of the metric.
        linkage : {"centred", "connected"}, default="centred"
            "centred" visits the ids in order of addition. An id that is in no cluster starts one and absorbs all free
            ids found within the radius, so every member is near the first one. "connected" follows chains of pairs,
            whose ends may be at any distance.
        num_probes, num_candidates, reach, progress
            As for `pairs`.

        Returns
        -------
        Clusters
            Clusters of the pairs that `pairs` finds, with the distance of each member to the first one.

        Raises
        ------
        NotFittedError, ParameterError
            As for `pairs`; an unknown linkage.

        Examples
        --------
        >>> import numpy as np, nearkin as nk
        >>> X = np.array([[0.0], [0.4], [0.8], [7.0]])
        >>> index = nk.LSHIndex(nk.families.PStable(width=50.0), num_tables=20).fit(X, ["a", "b", "c", "d"])
        >>> list(index.clusters(radius=0.5)), list(index.clusters(radius=0.5, linkage="connected"))
        ([['a', 'b']], [['a', 'b', 'c']])
        """
        check_choice("linkage", linkage, "centred", "connected")
        rows, left, right, _ = self._edges("clusters", radius, num_probes, num_candidates, reach, progress)
        core = self._fitted_core()
        if linkage == "centred":
            first = _absorb(len(rows), left, right)
        else:
            first = components(len(rows), left.astype(np.uint32), right.astype(np.uint32)).astype(np.int64)
        sizes = np.bincount(first, minlength=len(rows))
        members = np.flatnonzero(sizes[first] > 1)
        # By cluster, and in order of addition within it: the first member leads.
        members = members[np.argsort(first[members], kind="stable")]
        heads, counts = np.unique(first[members], return_counts=True)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        leads = np.repeat(heads, counts)
        distances = core.apart(rows[leads].astype(np.uint32), rows[members].astype(np.uint32))
        return Clusters(offsets, core.ids_of(rows[members]), self._as_result_distances(distances))

    def pair_effort(self, radius: float, recall: float = 0.99) -> PairEffort:
        """Measure how many partitions `pairs` and `clusters` must visit for a recall.

        The neighbours of up to 1,000 vectors of the index, drawn with a fixed seed, are searched in all partitions.
        Then reach and probes grow until the share that is found is at least `recall`, and the lower bound of its
        interval is below `recall` by no more than a sample without a miss leaves open. A pair counts as found by one
        of its two vectors, while `pairs` uses both.

        Parameters
        ----------
        radius : float
            Maximum distance of the pairs.
        recall : float, default=0.99
            0.5 to below 1.

        Returns
        -------
        PairEffort
            `num_probes` and `reach` for `pairs` and `clusters`; the recall with Wilson's interval of 95% for as many
            cases as vectors with neighbours, since the neighbours of one vector are missed together.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError
            An index without partitions, or for inner products; a radius or recall out of range.

        Examples
        --------
        >>> import numpy as np, nearkin as nk
        >>> X = np.random.default_rng(0).standard_normal((6000, 32)).astype(np.float32)
        >>> X[3000:] = X[:3000] + 0.01
        >>> index = nk.LSHIndex(metric="cosine", filter="partitions").fit(X)
        >>> effort = index.pair_effort(radius=0.01)
        >>> len(index.pairs(0.01, num_probes=effort.num_probes, reach=effort.reach).left) >= 0.99 * 3000
        True
        """
        core, settings, limit = self._fitted_core(), self.settings_, _check_radius(radius)
        if settings.filter != "partitions" or settings.metric == "inner_product":
            raise bad_parameter("filter", f"{settings.filter!r} for {settings.metric}", "partitions and a distance")
        check_recall(recall)
        rows = core.live_rows()
        rows = np.sort(np.random.default_rng(0).choice(rows, min(len(rows), _EFFORT_ROWS), replace=False))
        sure = deviations_of_recall(_TRUTH)
        truth = core.near_rows(rows, limit, sure, settings.num_partitions)[0]
        # Each vector finds itself.
        total = np.maximum(np.diff(truth) - 1, 0)
        cases = int((total > 0).sum())
        unsure = 1 - wilson(cases, cases)[0]
        deviations = self._search_params(None, None, None).deviations
        for probes, reach in itertools.chain(_EFFORTS, ((64 << step, _FULL_REACH) for step in range(32))):
            probes = min(probes, settings.num_partitions)
            offsets = core.near_rows(rows, limit, deviations, probes, reach)[0]
            share = float(np.minimum(np.diff(offsets) - 1, total).sum() / total.sum()) if cases else 1.0
            low, high = wilson(share * cases, cases)
            enough = share >= recall and low >= recall - unsure
            if enough or (probes == settings.num_partitions and reach >= _FULL_REACH):
                break
        return PairEffort(probes, reach, share, low, high, int(total.sum()))

    def _neighbour_ranks(self, queries: Rows, ids: IdArray) -> tuple[Ints, Ints]:
        """Return the rows of neighbours, and how many partitions are nearer to their query than their own.

        `ids` has the neighbours of the first query, then those of the others, as many for each.
        """
        core = self._fitted_core()
        rows = core.live_rows()
        near = rows[_positions(core.ids_of(rows.astype(np.int64)))(ids)]
        return near.astype(np.int64), core.partition_ranks(queries.flat(), near).astype(np.int64)

    def _as_result_distances(self, distances: Floats) -> npt.NDArray[np.float32] | Floats:
        """Round distances as the core does: to float32, except for float64 and sparse vectors."""
        return distances if self.vector_type_ in ("float64", "sparse") else distances.astype(np.float32)

    def _stored_batches(self) -> Iterator[tuple[Ints, Rows]]:
        """Yield row numbers and vectors in order of addition, in batches."""
        core = self._fitted_core()
        max_rows = max(1, min(_MAX_BATCH_ROWS, _MAX_BATCH_VALUES // self.dimension_))
        rows, vectors = core.stored(0, max_rows)
        while len(rows):
            yield rows, Rows.from_flat(vectors, self.dimension_)
            rows, vectors = core.stored(int(rows[-1]) + 1, max_rows)

    def _warn_of_radius(self, call: str, num_probes: int | None, reach: float | None) -> None:
        """Warn once per fit of a call without an effort of its own in partitions that `fit` chose."""
        if num_probes is None and reach is None and not self._warned_of_radius:
            self._warned_of_radius = warn_of_radius(call, self.settings_)

    def _edges(
        self,
        call: str,
        radius: float,
        num_probes: int | None,
        num_candidates: int | None,
        reach: float | None,
        progress: ShowProgress,
    ) -> tuple[Ints, Ints, Ints, Floats]:
        """Return row numbers in order of addition, and pairs of ordinals `left < right` with distances, sorted."""
        core = self._fitted_core()
        if self.settings_.metric == "inner_product":
            allowed = '"l2", "l1" or "cosine" for pairs: products are no distances'
            raise bad_parameter("metric", '"inner_product"', allowed)
        limit = _check_radius(radius)
        params = self._search_params(num_probes, num_candidates, None, reach=reach)
        self._warn_of_radius(call, num_probes, reach)
        rows = core.live_rows()
        keys, distances = [np.zeros(0, np.int64)], [np.zeros(0)]
        with reporting(progress) as report:
            tick = ticker(report, "search", len(rows))
            for own, other, apart in self._near_rows(rows, params, limit, tick):
                distinct = own != other
                keys.append((np.minimum(own, other) * len(rows) + np.maximum(own, other))[distinct])
                distances.append(apart[distinct].astype(np.float64))
        # Both directions of a pair give the same distance.
        unique, first = np.unique(np.concatenate(keys), return_index=True)
        left, right = np.divmod(unique, max(len(rows), 1))
        return rows.astype(np.int64), left, right, np.concatenate(distances)[first]

    def _near_rows(
        self, rows: npt.NDArray[np.uint32], params: SearchParams, limit: float, tick: Callable[[int], None]
    ) -> Iterator[tuple[Ints, Ints, Floats | npt.NDArray[np.float32]]]:
        """Yield ordinals of live rows, those of the rows within a distance of each, and the distances, in batches."""
        core = self._fitted_core()
        if self.settings_.rank == "estimate":
            for start in range(0, len(rows), _MAX_JOIN_ROWS):
                batch = rows[start : start + _MAX_JOIN_ROWS]
                hits = core.near_rows(batch, limit, params.deviations, params.num_probes, params.reach)
                own = np.repeat(np.arange(start, start + len(batch)), np.diff(hits[0]))
                yield own, np.searchsorted(rows, hits[1]), hits[2]
                tick(len(batch))
            return
        # Searches return ids; their sort order leads back to ordinals.
        positions_of = _positions(core.ids_of(rows.astype(np.int64)))
        start = 0
        for _, vectors in self._stored_batches():
            offsets, hit_ids, apart = self._rank(vectors, params, None, limit)
            own = np.repeat(np.arange(start, start + len(vectors)), np.diff(offsets))
            yield own, positions_of(hit_ids), apart
            start += len(vectors)
            tick(len(vectors))

    def verify(self) -> None:
        """Read and check the file of an opened index; do nothing for an index in memory.

        Besides checksums, this computes everything again that follows from the vectors: norms, hashes, codes. It takes
        about as long as adding the vectors.

        Raises
        ------
        NotFittedError
            Before `fit`.
        CorruptStoreError
            A checksum or a value in the file is wrong.
        """
        core = self._fitted_core()
        core.verify()
        # The core computes the codes of estimates from the vectors.
        file = next(iter(self._stamps()), None)
        if file is None or self.settings_.rank == "estimate":
            return
        for rows, vectors in self._stored_batches():
            try:
                hashes = self._hash(hash_input(vectors, self.settings_.max_norm))
            except (InputError, ParameterError) as error:
                raise damaged(file, f"its vectors cannot be hashed ({error})") from error
            core.verify_hashes(rows.astype(np.uint32), hashes)

    # -- statistics

    def explain(self) -> dict[str, Any]:
        """Return what the index consists of, what a query does, and why.

        Returns
        -------
        dict
            `vectors` (their number), `dimension`, `type`, `metric`, `ids` (their kind), `family`, `filter` and its
            settings, `instructions` (the set in use), `why` (the reason for the filter), `bytes_filter`,
            `bytes_vectors`, `bytes_ids`; for buckets `buckets` (mean per table), `largest_bucket` (a power of two above
            its size), `bucket_sizes` (the number of buckets of all tables with 1, 2 to 3, 4 to 7, ... rows); for
            estimates `guaranteed_recall` of the codes and
            `deviations` of the bound; `chosen`, names of the settings that were chosen automatically; and `tuning`,
            what `tune` expected and measured, or None.
        """
        core, settings = self._fitted_core(), self.settings_
        metric, vector_type, dimension, ids, bytes_filter, bytes_vectors, bytes_ids = core.info()
        out: dict[str, Any] = {
            "vectors": len(self),
            "dimension": dimension,
            "type": vector_type,
            "metric": metric,
            "ids": ids,
            "family": str(self.family_),
            "filter": settings.filter,
            "instructions": instructions(),
            "why": explain_filter(self.params, settings, len(self) * -(-self.family_.num_hashes // 64), len(self)),
            "bytes_filter": bytes_filter,
            "bytes_vectors": bytes_vectors,
            "bytes_ids": bytes_ids,
            "chosen": settings.chosen,
            "tuning": None if settings.tuning is None else asdict(settings.tuning),
        }
        if settings.rank == "estimate":
            bits, partitions = core.rotated() or (0, 0)
            return out | {
                "bits": bits,
                "rank": settings.rank,
                "guaranteed_recall": settings.recall,
                "deviations": self._search_params(None, None, None).deviations,
                "num_partitions": partitions,
                "num_probes": settings.num_probes,
            }
        if settings.filter == "codes":
            return out | {
                "bits": self.family_.num_hashes,
                "num_candidates": settings.num_candidates,
                "rank": settings.rank,
            }
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
        """Return the probability that a neighbour is a candidate at one probe per table, by the family's law.

        Parameters
        ----------
        values : array
            What `family.collision_probability` takes: the cosine similarity, the kernel, or the distance of the
            neighbours.

        Returns
        -------
        float64 array
            1 - (1 - p^k)^L, with p the collision probability of the family; see its `table_probability` for tables that
            share functions. More probes find more; `tune` measures them.

        Raises
        ------
        ParameterError
            An index of codes, for which it depends on all other rows.
        """
        self._fitted_core()
        settings = self.settings_
        if settings.rank == "estimate":
            allowed = "recall(), which measures; settings_.recall is guaranteed for codes, nothing for partitions"
            raise bad_parameter("rank", '"estimate"', allowed)
        if settings.filter == "codes":
            raise bad_parameter("filter", '"codes"', '"buckets"; recall() measures an index of codes')
        return self.family_.table_probability(values, settings.num_tables, settings.hashes_per_table)

    def recall(
        self,
        Q: Vectors,
        distances: npt.ArrayLike,
        *,
        num_probes: int | None = None,
        num_candidates: int | None = None,
        recall: float | None = None,
        tolerance: float = 1e-5,
    ) -> float:
        """Measure the recall of `nearest`: the share of the true k nearest distances that it finds.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
        distances : (n_queries, k) array
            Distances of the true k nearest, ascending, by the index's metric.
        num_probes, num_candidates, recall : optional
            As for `nearest`.
        tolerance : float, default=1e-5
            A match counts if its distance is at most the k-th true one, plus this share of it: another row at the same
            distance is as good, and other programs round sums differently.

        Returns
        -------
        float
            0 to 1.

        Raises
        ------
        ParameterError
            Distances that are not of shape (n_queries, k).
        NotFittedError
            Before `fit`.
        """
        true = np.asarray(distances, dtype=np.float64)
        if true.ndim != 2 or true.shape[1] == 0:
            raise bad_parameter("distances", f"an array of shape {true.shape}", "shape (n_queries, k)")
        k = true.shape[1]
        hits = self.nearest(Q, k, num_probes=num_probes, num_candidates=num_candidates, recall=recall)
        if len(hits) != len(true):
            raise bad_parameter("distances", f"{len(true)} rows", f"one for each of {len(hits)} queries")
        limit = true[:, -1] + tolerance * np.abs(true[:, -1])
        good = hits.distances <= limit[hits.queries]
        return float(good.sum() / (k * len(true))) if len(true) else 1.0

    # -- files

    def _write(self, file: str) -> None:
        self._fitted_core().save(file, self._file_metadata())

    def _write_core(self, file: str) -> None:
        # Pickles store everything else as attributes, also a kernel function that no file can store.
        self._fitted_core().save(file, b"")

    def _open_core(self, path: str) -> LshCore:
        return LshCore.open(path)[0]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a saved index through a memory map.

        Tables and vectors stay in the file until they are read. The index can be changed and saved again. Other
        programs must not modify the file while it is open.

        Parameters
        ----------
        path : str or os.PathLike
            A file that `save` has written.

        Raises
        ------
        CorruptStoreError, FormatVersionError, OSError
            A file that is not a complete index, that a newer nearkin wrote, or that can't be read.

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
        check_saved(path, 5)
        stamp, file = file_stamp(path), os.fspath(path)
        check_regular(file)
        core, metadata = LshCore.open(file)
        metric, vector_type, dimension, *_ = core.info()
        try:
            about, arrays = _split_metadata(metadata)
            lifted = metric == "inner_product" and about["settings"].get("rank") != "estimate"
            # Checked before functions of another dimension are drawn, which may need any amount of memory.
            if about["family"]["dimension"] != dimension + lifted:
                raise ValueError("its hash functions are not those of its vectors")
            family = deserialize(json.dumps(about["family"]), arrays, file)
            params = _params_from_file(about, family)
            settings = _settings_from_file(about, params, family)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise damaged(file, f"its description is inconsistent ({error})") from error
        if metric != settings.metric:
            raise damaged(file, "its metric is not that of its vectors")
        index = cls(**vars(params))
        index.settings_, index.family_ = settings, family
        index.vector_type_, index.dimension_ = vector_type, dimension
        return index._attach(core, stamp)

    def _file_metadata(self) -> bytes:
        """Return the metadata section of the file: a JSON object, then the family's arrays, each after its length."""
        params, settings, family = self.params, self.settings_, self.family_
        text, arrays = family.serialize()
        given = (*_FILE_SETTINGS, "metric", *(["guarantee"] if params.guarantee else []))
        about = {
            "family": json.loads(text),
            "bits": family.num_hashes,
            "settings": _rename({name: getattr(settings, name) for name in _FILE_SETTINGS}, _FILE_NAMES),
            "given": _rename({name: getattr(params, name) for name in given}, _FILE_NAMES),
            "given_family": params.family.description(),
            "given_max_norm": params.max_norm,
            "max_norm": settings.max_norm,
            "chosen": [_FILE_NAMES.get(name, name) for name in settings.chosen],
            "tuning": None if settings.tuning is None else _rename(asdict(settings.tuning), _FILE_NAMES),
        }
        head = json.dumps(about, sort_keys=True, allow_nan=False).encode()
        parts = [len(head).to_bytes(8, "little"), head]
        for array in arrays:
            parts += [len(array).to_bytes(8, "little"), array.tobytes()]
        return b"".join(parts)


def _fit_family(family: Family, settings: Settings, hashed: HashInput) -> Family:
    """Return the fitted hash functions for these settings."""
    if settings.rank == "estimate":
        bits, size = family.num_hashes, rotation_size(hashed.shape[1], cast("Hyperplane", family).orthogonal)
        if bits != size:
            raise bad_parameter("bits", bits, f'None, or {size} for vectors of {hashed.shape[1]}, with rank="estimate"')
    if settings.filter != "buckets":
        return family.resized(family.num_hashes).fit(hashed)
    k = settings.hashes_per_table
    if family.kind == "bits" and k > 64:
        raise bad_parameter("hashes_per_table", k, "1 to 64 for a family of bits")
    layout = family.hash_layout(settings.num_tables, k)
    return family.resized(int(layout.max()) + 1, group=k).fit(hashed)


def _probes_for_k(settings: Settings, k: int | None) -> int:
    """Return the probes of a query for k rows: `fit` measured 10 and 100, and more neighbours are in more partitions.

    In between, probes grow in four geometric steps; beyond, by the fourth root of k / 100. Square roots are the same on
    every platform.
    """
    few, report = settings.num_probes, settings.tuning
    if settings.filter != "partitions" or report is None or report.choices or k is None or k <= MEASURED_K:
        return few
    if report.num_probes_100 is None:
        probes = few * math.sqrt(math.sqrt(k / MEASURED_K))
    elif k > MAX_MEASURED_K:
        probes = report.num_probes_100 * math.sqrt(math.sqrt(k / MAX_MEASURED_K))
    else:
        many = report.num_probes_100
        half = math.sqrt(few * many)
        steps = ((18, math.sqrt(few * half)), (32, half), (56, math.sqrt(half * many)), (MAX_MEASURED_K, many))
        probes = next(step for last, step in steps if k <= last)
    return min(settings.num_partitions, math.ceil(probes))


def _positions(ids: IdArray) -> Callable[[IdArray], Ints]:
    """Return a function that gives the positions of ids among these."""
    order = np.argsort(ids, kind="stable")
    return lambda keys: order[np.searchsorted(ids, keys, sorter=order)]


def _check_radius(radius: float) -> float:
    """Return a distance, which may be infinite, after checking it."""
    number = as_number(radius)
    if math.isnan(number):
        raise bad_parameter("radius", repr(radius), "a number")
    return number


def _absorb(count: int, left: Ints, right: Ints) -> Ints:
    """Return for each ordinal the first member of its centred cluster; itself if it is in none."""
    first = np.arange(count)
    free = np.ones(count, dtype=bool)
    ends = np.searchsorted(left, np.arange(count + 1))
    for ordinal in np.unique(left):
        if free[ordinal]:
            # Earlier members would have absorbed this one, so only later ones remain.
            later = right[ends[ordinal] : ends[ordinal + 1]]
            absorbed = later[free[later]]
            first[absorbed] = ordinal
            free[absorbed] = False
            free[ordinal] = False
    return first


def _rename(values: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return settings with other names, and other values that are names."""
    return {names.get(n, n): names.get(v, v) if isinstance(v, str) else v for n, v in values.items()}


def _split_metadata(metadata: bytes) -> tuple[dict[str, Any], list[npt.NDArray[np.uint8]]]:
    """Return the JSON object of the metadata, and the bytes of the family's arrays."""
    size = int.from_bytes(metadata[:8], "little")
    about = json.loads(metadata[8 : 8 + size])
    if not isinstance(about, dict):
        raise TypeError("it is not an object")
    arrays, position = [], 8 + size
    while position < len(metadata):
        length = int.from_bytes(metadata[position : position + 8], "little")
        if position + 8 + length > len(metadata):
            raise ValueError("an array ends after the metadata")
        # A copy is aligned for numbers of any type.
        arrays.append(np.frombuffer(metadata, np.uint8, length, position + 8).copy())
        position += 8 + length
    return about, arrays


def _params_from_file(about: dict[str, Any], fitted: Family) -> IndexParams:
    """Return the constructor's arguments; older files have only the number of functions of the family."""
    if "given_family" in about:
        family = family_from_description(about["given_family"])
    else:
        family = fitted.resized(int(about["bits"]))
    return IndexParams(family=family, max_norm=about.get("given_max_norm"), **_rename(about["given"], _PARAM_NAMES))


def _settings_from_file(about: dict[str, Any], params: IndexParams, fitted: Family) -> Settings:
    """Return the checked settings, completed with defaults for fields that older files lack."""
    metric, tuning = params.check(), about["tuning"]
    settings = Settings(
        **_rename(about["settings"], _PARAM_NAMES),
        metric=metric,
        max_norm=float(about["max_norm"]) if metric == "inner_product" and params.rank != "estimate" else None,
        chosen=tuple(_PARAM_NAMES.get(str(name), str(name)) for name in about.get("chosen", ())),
        tuning=None if tuning is None else TuneReport(**_rename(tuning, _PARAM_NAMES)),
    )
    # Settings are valid arguments, with 0 for the counts that the filter does not use.
    used = settings.used_counts
    if any(bool(getattr(settings, name)) != (name in used) for name in COUNT_NAMES):
        raise ValueError("its counts are not those of its filter")
    if (settings.recall is None) == (settings.rank == "estimate"):
        raise ValueError("its recall is not that of its rank")
    stored: dict[str, Any] = {name: getattr(settings, name) or None for name in _FILE_SETTINGS}
    IndexParams(family=fitted, **stored).check()
    if settings.max_norm is not None and not 0 < settings.max_norm < math.inf:
        raise ValueError("its longest vector has no length")
    if settings.tuning is not None:
        numbers = [value for value in asdict(settings.tuning).values() if value is not None]
        if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
            raise ValueError("its tuning has values that are not numbers")
    return with_width(settings, fitted)
