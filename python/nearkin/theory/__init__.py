"""Collision probabilities of every family, expected costs of indexes, and parameters from them."""

from __future__ import annotations

from nearkin.theory.hamming import (
    HammingCost,
    PermutedTables,
    hamming_candidates,
    hamming_cost,
    keys_within,
    permuted_tables,
    tables_for,
)
from nearkin.theory.laws import cross_polytope, hyperplane, pstable
from nearkin.theory.minhash import Banding, banding_probability, choose_bands, minhash_variance
from nearkin.theory.simhash import simhash_difference, simhash_difference_of_sets, simhash_radius

__all__ = [
    "HammingCost",
    "PermutedTables",
    "Banding",
    "banding_probability",
    "choose_bands",
    "cross_polytope",
    "hamming_candidates",
    "hamming_cost",
    "hyperplane",
    "keys_within",
    "permuted_tables",
    "minhash_variance",
    "pstable",
    "simhash_difference",
    "simhash_difference_of_sets",
    "simhash_radius",
    "tables_for",
]
