"""Queries of an index of vectors: the nearest, those within a distance, and the candidates alone."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin._core import deviations_of_recall
from nearkin.errors import bad_parameter, check_count
from nearkin.index.lsh.arrays import DENSE, Flat, flat
from nearkin.index.lsh.contents import Contents, Hashes
from nearkin.index.lsh.params import CodeRank, Settings, check_probes, check_recall, with_effort
from nearkin.index.results import Candidates, SearchResult, ask
from nearkin.progress import ShowProgress
from nearkin.vectors.projection import pack_bits
from nearkin.vectors.rows import Floats, Ints, Rows, Vectors

Others: TypeAlias = tuple[int, Ints, Floats]
"""Alternatives of hashes: how many each has, their values (none for bits), their costs."""


class Queries(Contents):
    """The part of `LSHIndex` that answers queries."""

    def nearest(
        self,
        Q: Vectors,
        k: int = 10,
        *,
        num_probes: int | None = None,
        num_candidates: int | None = None,
        recall: float | None = None,
        progress: ShowProgress = None,
    ) -> SearchResult:
        """The k nearest of each query's candidates; of those at the last distance, the smallest ids.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
            A row that is in the index finds itself.
        k : int, default=10
            1 or more. A query with fewer candidates has fewer matches.
        num_probes, num_candidates : int, optional
            Used for this call instead of the index's own.
        recall : float, optional
            With `rank="estimate"`: what the bound promises in this call, 0.5 to below 1.
        progress : bool or function, optional
            True shows a bar in a terminal or a notebook; a function is called with "search", queries done and all. The
            queries are then asked some thousand at a time, each time of the index as it is.

        Returns
        -------
        SearchResult
            Distances are `float64` for an index of `float64` or sparse vectors, else `float32`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError, InputError, MismatchError
            Bad parameters; bad vectors; another dimension.
        """
        core = self._fitted()
        if type(k) is not int or not 1 <= k < 1 << 63:
            k = check_count("k", k, 1, (1 << 63) - 1, "1 or more")
        if self.settings_.rank == "estimate" and not progress:
            effort = self._effort(num_probes, num_candidates, recall)
            return SearchResult(*core.estimated(self._flat_queries(Q), *effort, k))
        settings = with_effort(self.settings_, num_probes, num_candidates, recall)
        rows = self._query_form(Q)

        def nearest(start: int, stop: int) -> SearchResult:
            some = rows.part(start, stop)
            if settings.rank == "estimate":
                return SearchResult(*core.estimated(flat(some), *effort_of(settings), k))
            return SearchResult(*core.nearest(*self._asked(some, settings), flat(some), k))

        return ask(nearest, len(rows), progress)

    def search(
        self,
        Q: Vectors,
        radius: float,
        *,
        num_probes: int | None = None,
        num_candidates: int | None = None,
        recall: float | None = None,
        progress: ShowProgress = None,
    ) -> SearchResult:
        """The candidates of each query within a distance, nearest first, ties by id.

        Parameters
        ----------
        Q : (n_queries, d) array or SciPy sparse matrix
        radius : float
            Largest distance that counts, inclusive; in units of the metric (negative products for "inner_product").
        num_probes, num_candidates : int, optional
            Used for this call instead of the index's own.
        recall : float, optional
            With `rank="estimate"`: what the bound promises in this call, 0.5 to below 1.
        progress : bool or function, optional
            As for `nearest`.

        Returns
        -------
        SearchResult
            As for `nearest`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ParameterError, InputError, MismatchError
            Bad parameters; bad vectors; another dimension.
        """
        core = self._fitted()
        limit = check_radius(radius)
        if self.settings_.rank == "estimate" and not progress:
            effort = self._effort(num_probes, num_candidates, recall)
            return SearchResult(*core.estimated(self._flat_queries(Q), *effort, None, limit))
        settings = with_effort(self.settings_, num_probes, num_candidates, recall)
        rows = self._query_form(Q)

        def search(start: int, stop: int) -> SearchResult:
            some = rows.part(start, stop)
            if settings.rank == "estimate":
                return SearchResult(*core.estimated(flat(some), *effort_of(settings), None, limit))
            return SearchResult(*core.search(*self._asked(some, settings), flat(some), limit))

        return ask(search, len(rows), progress)

    def candidates(self, Q: Vectors, *, num_probes: int | None = None, num_candidates: int | None = None) -> Candidates:
        """The candidates of each query, without distances.

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
            Bad parameters; bad vectors; another dimension.
        """
        core = self._fitted()
        settings = with_effort(self.settings_, num_probes, num_candidates)
        if settings.rank == "estimate":
            allowed = "nearest or search: what is ranked by estimates depends on what is wanted"
            raise bad_parameter("candidates", 'of rank="estimate"', allowed)
        offsets, ids, met = core.candidates(*self._asked(self._query_form(Q), settings))
        return Candidates(offsets, ids, met)

    def _flat_queries(self, Q: Vectors) -> Flat:
        """Queries as the core takes them: an array of the index's own type and shape is taken as it is.

        Beside a query of some microseconds the checks of any other form are not free; the core checks the values.
        """
        if (
            type(Q) is np.ndarray
            and Q.dtype is DENSE.get(self.vectors_)
            and Q.ndim == 2
            and Q.shape[1] == self.dimension_
            and Q.flags.carray
        ):
            values: Flat = Q.reshape(-1)
            return values.view(np.uint16) if self.vectors_ == "float16" else values  # type: ignore[union-attr]
        return flat(self._query_form(Q))

    def _effort(self, num_probes: int | None, num_candidates: int | None, recall: float | None) -> tuple[float, int]:
        """How many standard deviations the bound lies below the estimate, and how many cells are visited."""
        # A copy of the settings would take longer than a short query.
        settings = self.settings_
        if num_candidates is not None or (num_probes is not None and settings.filter == "codes"):
            return effort_of(with_effort(settings, num_probes, num_candidates, recall))
        asked = settings.recall if recall is None else check_recall(recall)
        probes = settings.num_probes if num_probes is None else check_probes(num_probes)
        return deviations_of_recall(asked or 0.0), probes

    def _shown(self, distances: Floats) -> npt.NDArray[np.float32] | Floats:
        """Distances as the core rounds them: all but those of float64 and sparse vectors are float32 numbers."""
        return distances if self.vectors_ in ("float64", "sparse") else distances.astype(np.float32)

    def _asked(self, rows: Rows, settings: Settings) -> tuple[Hashes, Others | None, int, CodeRank | None]:
        """Hashes, alternatives and effort of queries, as the core takes them."""
        hashed = self._hashed_form(rows, query=True)
        if settings.filter == "codes":
            return self._hashes(hashed), None, settings.num_candidates, settings.rank
        if settings.num_probes == 1:
            return self._hashes(hashed), None, 1, None
        if not self.family_.num_alternatives:
            raise bad_parameter("num_probes", settings.num_probes, f"1: {self.family_.name} has no margins to go by")
        count = min(self.family_.num_alternatives, settings.num_probes - 1)
        probes = self.family_.probes(hashed, count)
        costs: Floats = np.ascontiguousarray(probes.costs, dtype=np.float64).reshape(-1)
        if self.family_.kind == "bits":
            hashes: Hashes = pack_bits(probes.values.astype(bool)).reshape(-1)
            others = np.zeros(0, dtype=np.int64)
        else:
            hashes = np.ascontiguousarray(probes.values, dtype=np.int64).reshape(-1)
            others = np.ascontiguousarray(probes.others, dtype=np.int64).reshape(-1)
        return hashes, (count, others, costs), settings.num_probes, None


def effort_of(settings: Settings) -> tuple[float, int]:
    """How many standard deviations the bound lies below the estimate, and how many cells are visited."""
    return deviations_of_recall(settings.recall or 0.0), settings.num_probes


def check_radius(radius: float) -> float:
    """A distance, which may be infinite."""
    try:
        number = float(radius)
    except (TypeError, ValueError):
        raise bad_parameter("radius", repr(radius), "a number") from None
    if np.isnan(number):
        raise bad_parameter("radius", radius, "a number")
    return number
