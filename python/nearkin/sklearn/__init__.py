"""Estimators of scikit-learn's contract: texts and vectors to hash codes as features, and graphs of near neighbours.

`SimHashVectorizer` and `MinHashVectorizer` make features of texts, so that a linear model learns a kernel of their
similarity. `HyperplaneTransformer`, `PStableTransformer` and `CrossPolytopeTransformer` give the hash values of a
family of vectors. `LSHTransformer` gives the sparse graph of near neighbours that other estimators take as precomputed.

Here, and only here, scikit-learn's words are used: `n_neighbors`, `random_state`. The extra `sklearn` installs it.
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
