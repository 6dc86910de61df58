"""Transformers of vectors: hash codes as features, and graphs of nearest neighbours.

`HyperplaneTransformer`, `PStableTransformer` and `CrossPolytopeTransformer` return the hash values of a family as
columns: 0/1 or packed bits, or integers. `LSHTransformer` returns the sparse graph of nearest neighbours that
`KNeighborsClassifier`, `DBSCAN`, `SpectralClustering`, `TSNE` and others accept with `metric="precomputed"`: a faster,
approximate replacement of `KNeighborsTransformer`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from nearkin.errors import check_choice, require_extra
from nearkin.families import CrossPolytope, Hyperplane, PStable
from nearkin.families.base import Family
from nearkin.index.lsh import LSHIndex
from nearkin.vectors.arrays import HashInput, Metric, Vectors, as_rows

with require_extra("sklearn", "nearkin.sklearn"):
    from scipy.sparse import csr_matrix
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from typing_extensions import Self

Output = Literal["bits", "packed"]
RandomState: TypeAlias = "int | np.random.RandomState | None"


def _seed(random_state: RandomState) -> int:
    """Return a seed for a family from scikit-learn's `random_state`; an integer is the seed itself."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _validate(estimator: BaseEstimator, X: Vectors, **options: object) -> HashInput:
    """Return X after scikit-learn's validation, `float32` or `float64`, an array or CSR."""
    rows: HashInput = validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], **options)
    return rows


class _VectorTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the transformers: their tags."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class _HashTransformer(_VectorTransformer):
    """Base of the transformers: create a family from the parameters, fit it and apply it."""

    def _family(self, seed: int) -> Family:
        raise NotImplementedError

    def fit(self, X: Vectors, y: object = None) -> Self:
        """Draw the hash functions for X, {array, sparse matrix} of shape (n_samples, n_features)."""
        # Centring needs two samples: the mean of one is the sample itself.
        rows = _validate(self, X, ensure_min_samples=2 if getattr(self, "center", False) else 1)
        self.family_ = self._family(_seed(self.random_state)).fit(rows)
        self._n_features_out = self._num_columns()
        return self

    def _num_columns(self) -> int:
        return self.family_.num_hashes

    def transform(self, X: Vectors) -> npt.NDArray[np.int64] | npt.NDArray[np.uint8]:
        """Return the hash values of X, {array, sparse matrix} of shape (n_samples, n_features)."""
        check_is_fitted(self)
        rows = _validate(self, X, reset=False)
        return self.family_.hash_values(rows)


@dataclass(eq=False, repr=False)
class HyperplaneTransformer(_HashTransformer):
    """Signs of random projections as 0/1 columns or packed bytes.

    Parameters
    ----------
    n_bits : int, default=64
        Number of hyperplanes, 1 to 65,536.
    center : bool, default=True
        Put the planes through the mean of the fitted samples.
    orthogonal : bool, default=False
        Use orthonormal normals in each block of n_features planes.
    output : {"bits", "packed"}, default="bits"
        `uint8` of shape (n_samples, n_bits) of 0 and 1, or (n_samples, ceil(n_bits / 8)) with bit i as bit i % 8 of
        byte i // 8.
    random_state : int, RandomState instance or None, default=None
        An integer is the seed of the family.

    Attributes
    ----------
    family_ : Hyperplane
        The fitted family.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.sklearn import HyperplaneTransformer
    >>> X = np.random.default_rng(0).normal(size=(5, 3))
    >>> HyperplaneTransformer(n_bits=20, output="packed", random_state=0).fit_transform(X).shape
    (5, 3)
    """

    n_bits: int = 64
    _: KW_ONLY
    center: bool = True
    orthogonal: bool = False
    output: Output = "bits"
    random_state: RandomState = None

    def _family(self, seed: int) -> Family:
        check_choice("output", self.output, "bits", "packed")
        return Hyperplane(self.n_bits, center=self.center, orthogonal=self.orthogonal, seed=seed)

    def _num_columns(self) -> int:
        return self.family_.num_hashes if self.output == "bits" else -(-self.family_.num_hashes // 8)

    def transform(self, X: Vectors) -> npt.NDArray[np.uint8]:
        """Return the bits of X, {array, sparse matrix} of shape (n_samples, n_features), as `uint8`; see `output`."""
        bits = super().transform(X).astype(np.uint8)
        return np.packbits(bits, axis=1, bitorder="little") if self.output == "packed" else bits


@dataclass(eq=False, repr=False)
class PStableTransformer(_HashTransformer):
    """Integer cells of p-stable projections as `int64` columns.

    Parameters
    ----------
    n_hashes : int, default=16
        Number of keys, 1 to 65,536.
    metric : {"l2", "l1"}, default="l2"
        Distance, by Gaussian or Cauchy projections.
    width : float or "auto", default="auto"
        Width of a cell, above 0, in units of the distance; "auto" as for `nearkin.families.PStable`.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    family_ : PStable
        The fitted family.
    n_features_in_ : int
    """

    n_hashes: int = 16
    _: KW_ONLY
    metric: Literal["l2", "l1"] = "l2"
    width: float | Literal["auto"] = "auto"
    random_state: RandomState = None

    def _family(self, seed: int) -> Family:
        return PStable(self.metric, self.width, self.n_hashes, seed=seed)


@dataclass(eq=False, repr=False)
class CrossPolytopeTransformer(_HashTransformer):
    """Nearest vertices of randomly rotated cross-polytopes as `int64` columns.

    A zero vector, which is equally near all vertices, gets vertex 0.

    Parameters
    ----------
    n_hashes : int, default=2
        Number of values, 1 to 65,536.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    family_ : CrossPolytope
        The fitted family.
    n_features_in_ : int
    """

    n_hashes: int = 2
    _: KW_ONLY
    random_state: RandomState = None

    def _family(self, seed: int) -> Family:
        return CrossPolytope(self.n_hashes, seed=seed)

    def transform(self, X: Vectors) -> npt.NDArray[np.int64] | npt.NDArray[np.uint8]:
        """Return the hash values of X, {array, sparse matrix} of shape (n_samples, n_features)."""
        check_is_fitted(self)
        rows = _validate(self, X, reset=False)
        nonzero = as_rows(rows).norms() > 0
        values = np.zeros((len(nonzero), self.n_hashes), dtype=np.int64)
        values[nonzero] = self.family_.hash_values(rows[nonzero])
        return values


@dataclass(eq=False, repr=False)
class LSHTransformer(_VectorTransformer):
    """Graph of approximate nearest neighbours, for estimators with `metric="precomputed"`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Neighbours of each sample. Mode "distance" returns one more, because a sample is its own first neighbour, like
        `KNeighborsTransformer`.
    mode : {"distance", "connectivity"}, default="distance"
        Distances, or ones.
    radius : float, optional
        Maximum distance of a neighbour; rows of the graph may then have fewer than n_neighbors entries.
    family : Family, optional
        Hash functions; default `Hyperplane(bits=256, center=True, orthogonal=True, seed=random_state)`.
    metric : {"l2", "l1", "cosine"}, default="l2"
    num_tables, hashes_per_table, num_probes, num_candidates : int, optional
        As for `LSHIndex`. By default codes are scanned, and the 200 nearest (or 10 n_neighbors, if that is more) are
        ranked.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    index_ : LSHIndex
    n_features_in_ : int
    n_samples_fit_ : int

    Notes
    -----
    A row has fewer entries than n_neighbors if the hashes find fewer candidates. Each fitted sample finds itself at
    distance 0, which is stored explicitly.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from nearkin.sklearn import LSHTransformer
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0, 1, (50, 8)), rng.normal(4, 1, (50, 8))])
    >>> y = np.repeat([0, 1], 50)
    >>> model = make_pipeline(LSHTransformer(5, random_state=0), KNeighborsClassifier(5, metric="precomputed"))
    >>> float(model.fit(X, y).score(X, y))
    1.0
    """

    n_neighbors: int = 5
    _: KW_ONLY
    mode: Literal["distance", "connectivity"] = "distance"
    radius: float | None = None
    family: Family | None = None
    metric: Metric = "l2"
    num_tables: int | None = None
    hashes_per_table: int | None = None
    num_probes: int | None = None
    num_candidates: int | None = None
    random_state: RandomState = None

    def fit(self, X: Vectors, y: object = None) -> Self:
        """Index X, {array, sparse matrix} of shape (n_samples, n_features).

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
            Samples to index.
        y : ignored

        Raises
        ------
        ValueError
            An invalid parameter; NaN or infinite values.
        """
        rows = _validate(self, X)
        check_choice("mode", self.mode, "distance", "connectivity")
        check_choice("metric", self.metric, "l2", "l1", "cosine")
        family = self.family
        if family is None:
            # Equal samples have no direction from their mean.
            equal = rows.shape[0] < 2 or as_rows(rows).all_equal()
            family = Hyperplane(256, center=not equal, orthogonal=True, seed=_seed(self.random_state))
        tables = (self.num_tables, self.hashes_per_table, self.num_probes) != (None, None, None)
        candidates = self.num_candidates
        if candidates is None and not tables and family.kind == "bits":
            candidates = max(200, 10 * self.n_neighbors)
        self.index_ = LSHIndex(
            family,
            self.num_tables,
            hashes_per_table=self.hashes_per_table,
            num_probes=self.num_probes,
            filter="codes" if candidates is not None else "auto",
            num_candidates=candidates,
            metric=self.metric,
        ).fit(rows)
        self.n_samples_fit_ = rows.shape[0]
        self._n_features_out = rows.shape[0]
        return self

    def transform(self, X: Vectors) -> csr_matrix:
        """Return the graph from X to the fitted samples, a sparse matrix of shape (n_samples, n_samples_fit).

        Parameters
        ----------
        X : {array, sparse matrix} of shape (n_samples, n_features)
            Queries.

        Returns
        -------
        csr_matrix of shape (n_samples, n_samples_fit)
        """
        check_is_fitted(self)
        rows = _validate(self, X, reset=False)
        hits = self.index_.nearest(rows, self.n_neighbors + (self.mode == "distance"))
        offsets, ids, distances = hits.offsets, hits.ids.astype(np.int64), hits.distances.astype(np.float64)
        if self.radius is not None:
            near = distances <= self.radius
            offsets = np.concatenate([[0], np.cumsum(near)])[offsets]
            ids, distances = ids[near], distances[near]
        values = distances if self.mode == "distance" else np.ones(len(ids))
        return csr_matrix((values, ids, offsets), shape=(rows.shape[0], self.n_samples_fit_))
