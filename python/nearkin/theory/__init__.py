"""Collision probabilities of every family, what follows from them, and parameters from them."""

from __future__ import annotations

from nearkin.theory.laws import cross_polytope, hyperplane, pstable
from nearkin.theory.simhash import simhash_difference, simhash_difference_of_sets, simhash_radius

__all__ = [
    "cross_polytope",
    "hyperplane",
    "pstable",
    "simhash_difference",
    "simhash_difference_of_sets",
    "simhash_radius",
]
