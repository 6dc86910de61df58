"""Hash families, one file each: a distribution over hash functions with a stated collision probability."""

from __future__ import annotations

from nearkin.families.base import Family, Probes, load
from nearkin.families.cross_polytope import CrossPolytope
from nearkin.families.hyperplane import Hyperplane
from nearkin.families.minhash import MinHash
from nearkin.families.pstable import PStable
from nearkin.families.simhash import SimHash

__all__ = ["CrossPolytope", "Family", "Hyperplane", "MinHash", "PStable", "Probes", "SimHash", "load"]
