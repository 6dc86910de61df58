"""scikit-learn estimators: hash codes of texts and vectors as features, and graphs of nearest neighbours.

`SimHashVectorizer` and `MinHashVectorizer` turn texts into features whose dot product is a similarity kernel.
`HyperplaneTransformer`, `PStableTransformer` and `CrossPolytopeTransformer` return the hash values of vectors.
`LSHTransformer` returns the sparse graph of nearest neighbours that other estimators accept as precomputed.

Only this package uses scikit-learn's parameter names: `n_neighbors`, `random_state`. The extra `sklearn` installs it.
"""

from __future__ import annotations

from nearkin.sklearn.texts import MinHashVectorizer, SimHashVectorizer
from nearkin.sklearn.vectors import (
    CrossPolytopeTransformer,
    HyperplaneTransformer,
    LSHTransformer,
    PStableTransformer,
)

__all__ = [
    "CrossPolytopeTransformer",
    "HyperplaneTransformer",
    "LSHTransformer",
    "MinHashVectorizer",
    "PStableTransformer",
    "SimHashVectorizer",
]
