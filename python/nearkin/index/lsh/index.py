"""Nearest neighbours of vectors by locality-sensitive hashing: hashes find candidates, true distances rank them.

`LSHIndex` takes a family of hash functions and finds candidates in one of three ways, its *filter*:

- `buckets`: L hash tables, each keyed by k hashes. A query looks into T buckets per table, the ones most likely to hold
  near vectors (multi-probe [2]_). A row whose hashes equal the query's with probability p is found with probability
  1 - (1 - p^k)^L at T = 1 [1]_.
- `cells`: rows lie in cells around random rows, and a query visits the T nearest cells. Their rows have rotation codes
  (`rank="estimate"`) [4]_, which may also be scanned flat.
- `codes`: one binary code per row; a query takes the m rows whose codes are nearest by Hamming distance. Up to a few
  hundred thousand rows, this scan is faster than looking up enough tables.

Candidates are ranked by their true distance; the index keeps the vectors for that. Nothing else is searched: a query
with fewer than k candidates gets fewer than k matches, never a silent scan of everything.

References
----------
.. [1] M. Datar, N. Immorlica, P. Indyk, V. Mirrokni, "Locality-Sensitive Hashing Scheme Based on p-Stable
   Distributions", SoCG 2004, section 2.
.. [2] Q. Lv, W. Josephson, Z. Wang, M. Charikar, K. Li, "Multi-Probe LSH: Efficient Indexing for High-Dimensional
   Similarity Search", VLDB 2007, section 4.
.. [3] B. Neyshabur, N. Srebro, "On Symmetric and Asymmetric LSHs for Inner Product Search", ICML 2015, section 4.
.. [4] J. Gao, C. Long, "RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error Bound for Approximate
Nearest
   Neighbor Search", SIGMOD 2024, section 3.
"""

from __future__ import annotations

import os
from dataclasses import asdict, fields
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from nearkin._core import LshCore
from nearkin.errors import bad_parameter
from nearkin.families.base import Family
from nearkin.families.hyperplane import ROTATIONS, Hyperplane, rotation_size
from nearkin.index.ids import Ids, check_ids
from nearkin.index.lsh.arrays import Hashed, Metric, flat, hashed_form, plain, stored_as
from nearkin.index.lsh.file import open_file
from nearkin.index.lsh.links import Links
from nearkin.index.lsh.params import (
    CodeRank,
    Filter,
    Given,
    Settings,
    Tuning,
    check,
    longest,
    of_family,
    settle,
    warn_of_forgotten,
    why,
)
from nearkin.index.lsh.queries import effort_of
from nearkin.index.lsh.tuning import Plan, Sample, Wish, tune
from nearkin.index.lsh.tuning_estimates import tune_estimates
from nearkin.index.persistence import Origin
from nearkin.index.results import Candidates
from nearkin.vectors.rows import Rows, Vectors, as_rows

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Candidates", "Given", "LSHIndex", "Metric", "Settings", "Tuning"]


class LSHIndex(Links):
    """Approximate nearest neighbours of vectors.

    Parameters
    ----------
    family : Family
        Hash functions from `nearkin.families`. They need not be fitted: `fit` fits a copy with as many functions as
        the tables need.
    num_tables : int, optional
        L, 1 to 16,384. More tables find more and cost more memory and time. Default 16.
    hashes_per_table : int, optional
        k. More hashes make smaller buckets. By default about one random row falls into a bucket: k = ln n / -ln p,
        where p is the share of hashes that two rows of the data have in common.
    num_probes : int, optional
        T, buckets looked up per table, the query's own first. Default 16, or 1 for a family without margins. With
        `filter="cells"`: cells visited at most, by default one in sixteen, 16 at least.
    filter : {"auto", "buckets", "codes", "cells"}, default="auto"
        How candidates are found; see the top of the module. With `rank="estimate"`, "auto" scans the codes of up to
        65,536 rows, and visits cells of more, but for inner products. Else it scans codes if the family gives bits,
        no table parameter was given, and the codes fit into 2**22 words of 64 bits (1,000,000 codes of 256 bits).
        Otherwise it builds tables.
    num_candidates : int, optional
        For codes: how many of the nearest codes are ranked by true distance, 1 or more. Default 200.
    rank : {"hamming", "spherical", "estimate"}, default="hamming"
        For codes: the distance between them. "hamming" counts the bits that differ; "spherical" divides that by the
        number of set bits in common and is meant for `SphericalHash`. "estimate", with the family
        `Hyperplane(bits=None, orthogonal="hadamard")` or "dense", estimates the true distance with a bound and ranks
        while the bound allows a nearer one; nothing is tuned.
    metric : {"l2", "l1", "cosine", "inner_product"}, optional
        The true distance; by default the one that the family approximates. "l2" and "l1" are the Euclidean and the
        Manhattan distance, "cosine" is 1 - cos, and "inner_product" is the negative inner product. For the last, the
        family must approximate the cosine: vectors are hashed as `[x / M, sqrt(1 - |x / M|^2)]` and queries
        as `[q / |q|, 0]` [3]_.
    max_norm : float, optional
        M of "inner_product"; vectors added later may not be longer. Default: the norm of the longest vector given to
        `fit`. None with `rank="estimate"`, which needs none.
    recall : float, optional
        With `rank="estimate"`: share of the true neighbours that a scan of all codes finds at least, on average over
        rotations, by the law of the bound and for any data; 0.5 to below 1, default 0.95. More is found. What cells
        leave out comes off it.
    num_cells : int, optional
        With `filter="cells"`: cells, around rows drawn by the seed of the family. Default: one for 128 rows, of a
        million one for 256.

    Attributes
    ----------
    given : Given
        The parameters as they were given. Fitting never changes them.
    family_ : Family
        The fitted hash functions.
    settings_ : Settings
        What the index uses after `fit` or `tune`: the given parameters, and values chosen for the others. The next
        `fit` or `tune` chooses them again from its own data.

    Notes
    -----
    Time per query: hashing, then L T look-ups (about 0.1 us each) or a scan of n codes, then d operations per distinct
    candidate. Memory: the vectors and ids, plus 6 to 18 bytes per row and table for buckets (`explain` gives the sum),
    or bits / 8 bytes per row for codes. The vector of a removed row keeps its memory until the index is fitted again.

    Results depend on the arguments alone, not on threads or batches. Distances are summed in a fixed order and in the
    type of the vectors given to `fit` (`float32` or `float64`; vectors and queries that come later are converted),
    sparse ones in `float64`. `uint8` and `int8` vectors are compared exactly, with queries of their own type; any other
    query, and every query of `float16` vectors, is compared in `float32`. Nothing is cut to a narrower type.

    Examples
    --------
    >>> import numpy as np, nearkin as nk
    >>> X = np.random.default_rng(0).standard_normal((1000, 32))
    >>> index = nk.LSHIndex(nk.families.Hyperplane(bits=256, seed=1), filter="codes").fit(X)
    >>> hits = index.nearest(X[:3], k=2)
    >>> hits.ids[::2]
    array([0, 1, 2])
    >>> index.settings_
    Settings(filter='codes', num_candidates=200, rank='hamming', metric='cosine', chosen=('num_candidates', 'metric'))
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
        rank: CodeRank = "hamming",
        metric: Metric | None = None,
        max_norm: float | None = None,
        recall: float | None = None,
        num_cells: int | None = None,
    ) -> None:
        self.family = family
        self.num_tables = num_tables
        self.hashes_per_table = hashes_per_table
        self.num_probes = num_probes
        self.filter: Filter = filter
        self.num_candidates = num_candidates
        self.rank: CodeRank = rank
        self.metric = metric
        self.max_norm = max_norm
        # `recall` is a method.
        self._recall = recall
        self.num_cells = num_cells
        self._core: LshCore | None = None

    # -- making

    def fit(self, X: Vectors, ids: Ids | None = None) -> Self:
        """Fits the hash functions and replaces the contents of the index with these vectors.

        What `tune` chose is chosen anew, by the given parameters and the defaults; `ForgottenTuningWarning` names what
        changes. `tune` itself leaves the index fitted.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            One row or more. Its type (`float32`, `float64`, `uint8`, `int8`, `float16`, sparse) is the index's;
            booleans and integers of 16 bits become `float32`.
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
            No rows; NaN or infinite values; zero vectors where angles count. The index is unchanged after any error.
        """
        rows = as_rows(X, least=1)
        metric = check(self.given)
        given = self.given.of_dimension(rows.d)
        max_norm = longest(given, metric, rows)
        hashed = plain(rows) if given.rank == "estimate" else hashed_form(rows, metric, max_norm)
        made = self._made(given.family, settle(given, metric, max_norm, hashed), rows, hashed, ids)
        warn_of_forgotten(getattr(self, "settings_", None), made.settings_)
        self._become(made)
        return self

    def _made(self, family: Family, settings: Settings, rows: Rows, hashed: Hashed, ids: Ids | None) -> Self:
        """A new index of these vectors by these settings."""
        made = type(self)(family)
        made.family_ = _fit_family(family, settings, hashed)
        made.settings_ = of_family(settings, made.family_)
        made.dimension_, made.vectors_ = rows.d, stored_as(rows)
        made._core = made._make_core(rows)
        made._insert(rows, hashed, ids)
        return made

    def _of_plan(self, rows: Rows, ids: Ids | None, plan: Plan, sample: Sample) -> Self:
        """A new index of these vectors by a plan."""
        return self._made(plan.family, plan.settings, rows, sample.hashed, ids)

    def _become(self, made: Self) -> None:
        """Takes what another index learned and holds; what was given stays."""
        names = ("settings_", "family_", "dimension_", "vectors_", "_core")
        # In one step, so that an interrupt comes before or after it.
        vars(self).update({name: getattr(made, name) for name in names})

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
    ) -> Settings:
        """Chooses settings that reach a recall on this data, and fits the index with them.

        Some rows serve as queries, and their true neighbours are found by brute force. For each number of hashes and
        probes (and each width, for p-stable keys with `width="auto"`), sampled tables show how often neighbours meet,
        from which the number of tables that reaches the recall follows. Of all choices within the memory the fastest
        wins; a scan of codes competes with them. With `rank="estimate"` the least promise and the fewest cells are
        found whose measured recall is the wanted one. The index is then built and its recall measured, and it grows
        until the recall is reached. Parameters given to the constructor are kept.

        Parameters
        ----------
        X : (n, d) array or SciPy sparse matrix
            At least 2 k + 2 rows.
        ids : iterable of int or str, optional
            As for `fit`.
        recall : float, default=0.9
            Share of the true k nearest neighbours to find, between 0 and 1, both exclusive.
        k : int, default=10
            Neighbours, 1 or more.
        memory : int, optional
            Most bytes for tables or codes, not counting the vectors.
        max_tables : int, default=256
            Most tables, 1 to 16,384.
        seed : int, default=0
            Seed of the sample.

        Returns
        -------
        Settings
            What the index now uses, also found as `settings_`. `settings.tuning` has the expected and the measured
            recall. Unless nothing within the limits gets there, `least_recall`, which is two standard errors below the
            measured recall, is at least the wanted one, so that new queries from the same distribution reach it in 39
            of 40 cases.

        Raises
        ------
        ParameterError
            No choice within the limits and the given parameters is expected to reach the recall; parameters out of
            range. The index is unchanged.
        InputError
            Too few rows; bad vectors. The index is unchanged.

        Notes
        -----
        Takes the exact neighbours of 200 rows, one or more fits, and 16 tables of about 4,000 sampled rows per choice:
        a few seconds for 40,000 vectors.

        Examples
        --------
        >>> import numpy as np, nearkin as nk
        >>> X = np.random.default_rng(0).standard_normal((500, 8))
        >>> index = nk.LSHIndex(nk.families.PStable(), num_probes=8)
        >>> settings = index.tune(X, recall=0.9, k=5)
        >>> settings.tuning.measured_recall >= 0.9, settings.given
        (True, ('num_probes',))
        """
        wish = Wish(recall=recall, k=k, memory=memory, max_tables=max_tables, seed=seed)
        check(self.given)
        rows = as_rows(X, least=1)
        given = self.given.of_dimension(rows.d)
        # Asked for once, since more than one index may be made.
        keys = None if ids is None else check_ids(ids)

        tuned = tune_estimates if given.rank == "estimate" else tune
        self._become(tuned(given, rows, wish, partial(self._of_plan, rows, keys)))
        return self.settings_

    def _make_core(self, rows: Rows) -> LshCore:
        settings, family = self.settings_, self.family_
        if settings.rank == "estimate":
            drawn = (family.seed, ROTATIONS[str(cast("Hyperplane", family).orthogonal)])
            cells = settings.num_cells or None
            return LshCore.rotation(settings.metric, self.vectors_, self.dimension_, drawn, cells, flat(rows))
        if settings.filter == "codes":
            return LshCore.codes(settings.metric, self.vectors_, self.dimension_, family.num_hashes)
        layout = family.hash_layout(settings.num_tables, settings.hashes_per_table)
        return LshCore.buckets(
            settings.metric,
            self.vectors_,
            self.dimension_,
            family.kind == "keys",
            family.num_hashes,
            settings.hashes_per_table,
            np.ascontiguousarray(layout, dtype=np.uint32).ravel(),
        )

    def bytes_of_filter(self) -> int:
        """Bytes of tables or codes in memory."""
        return self._fitted().info()[4]

    def __repr__(self) -> str:
        state = f"{len(self)} vectors, {self.settings_}" if self._core is not None else "not fitted"
        return f"LSHIndex({self.family}, {state})"

    # -- what it does

    def explain(self) -> dict[str, Any]:
        """What the index consists of, what a query does, and why.

        Returns
        -------
        dict
            `vectors` (how many), `dimension`, `type`, `metric`, `ids` (their kind), `family`, `filter` and its
            settings, `why` (the reason for the filter), `bytes_filter`, `bytes_vectors`, `bytes_ids`; for buckets
            `buckets` (per table on average), `largest_bucket` (its size is below this power of two), `bucket_sizes`
            (how many of all tables' buckets have 1, 2 to 3, 4 to 7, ... rows); `chosen`, names of the settings that
            were not given; and `tuning`, what `tune` expected and measured, or None.
        """
        core, settings = self._fitted(), self.settings_
        metric, vectors, dimension, ids, filtering, stored, named = core.info()
        out: dict[str, Any] = {
            "vectors": len(self),
            "dimension": dimension,
            "type": vectors,
            "metric": metric,
            "ids": ids,
            "family": str(self.family_),
            "filter": settings.filter,
            "why": why(self.given, settings, len(self) * -(-self.family_.num_hashes // 64)),
            "bytes_filter": filtering,
            "bytes_vectors": stored,
            "bytes_ids": named,
            "chosen": settings.chosen,
            "tuning": None if settings.tuning is None else asdict(settings.tuning),
        }
        if settings.rank == "estimate":
            rotated = core.rotated() or (0, 0)
            return out | {
                "bits": rotated[0],
                "rank": settings.rank,
                "codes_promise": settings.recall,
                "deviations": effort_of(settings)[0],
                "num_cells": rotated[1],
                "num_probes": settings.num_probes,
                "cells_measured": None if settings.tuning is None else settings.tuning.measured_recall,
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
        """Probability that a neighbour is among the candidates at one probe per table, by the family's law.

        Parameters
        ----------
        values : array
            What `family.collision_probability` takes: the cosine similarity, the kernel, or the distance of the
            neighbours.

        Returns
        -------
        float64 array
            1 - (1 - p^k)^L, p the collision probability of the family; see its `table_probability` for tables that
            share functions. More probes find more; `tune` measures them.

        Raises
        ------
        ParameterError
            An index of codes, for which it depends on all other rows.
        """
        self._fitted()
        settings = self.settings_
        if settings.rank == "estimate":
            allowed = "recall(), which measures; the codes promise settings_.recall, cells nothing"
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
        """Measured recall of `nearest`: the share of the true k nearest whose distance is found.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
        distances : (n_queries, k) array
            Distances of the true k nearest, ascending, by the index's metric.
        num_probes, num_candidates : int, optional
            Used for this call instead of the index's own.
        recall : float, optional
            As for `nearest`.
        tolerance : float, default=1e-5
            A match counts if its distance is at most the k-th true one, plus this share of it: another row at the same
            distance is as good, and sums of other programs round differently.

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

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Opens a saved index through a memory map.

        Tables and vectors stay in the file until they are read. Adding, removing and saving again are as for any
        index. The file must not be changed in place while it is open.

        Parameters
        ----------
        path : str or os.PathLike
            A file that `save` has written.

        Raises
        ------
        CorruptStoreError, FormatVersionError, OSError
            A file that is not a whole index, that a newer nearkin wrote, or that can't be read.

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
        origin, opened = Origin.of(path), open_file(os.fspath(path))
        index = cls(**{field.name: getattr(opened.given, field.name) for field in fields(Given)})
        index.settings_, index.family_ = opened.settings, opened.family
        index.vectors_, index.dimension_, index._core = opened.vectors, opened.dimension, opened.core
        index._remember(origin)
        return index


def _fit_family(family: Family, settings: Settings, hashed: Hashed) -> Family:
    """The fitted hash functions for settings."""
    if settings.rank == "estimate":
        bits, size = family.num_hashes, rotation_size(hashed.shape[1], cast("Hyperplane", family).orthogonal)
        if bits != size:
            raise bad_parameter("bits", bits, f'None, or {size} for vectors of {hashed.shape[1]}, with rank="estimate"')
    if settings.filter in ("codes", "cells"):
        return family.resized(family.num_hashes).fit(hashed)
    k = settings.hashes_per_table
    if family.kind == "bits" and k > 64:
        raise bad_parameter("hashes_per_table", k, "1 to 64 for a family of bits")
    layout = family.hash_layout(settings.num_tables, k)
    return family.resized(int(layout.max()) + 1, group=k).fit(hashed)
