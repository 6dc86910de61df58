"""Hash families, one per module: distributions over hash functions with a known collision probability."""

from __future__ import annotations

from nearkin.families.base import Family, Probes, load
from nearkin.families.bit_sampling import BitSampling
from nearkin.families.cross_polytope import CrossPolytope
from nearkin.families.datasketch import datasketch_signature
from nearkin.families.hyperplane import Hyperplane
from nearkin.families.itq import ITQ
from nearkin.families.kernel import KernelLSH
from nearkin.families.minhash import MinHash, minhash_similarity
from nearkin.families.pstable import PStable
from nearkin.families.random_fourier import RandomFourier
from nearkin.families.shift_invariant import ShiftInvariant
from nearkin.families.simhash import SimHash
from nearkin.families.sparse import SparseSimHash
from nearkin.families.spherical import BoundingPower, SphericalHash, bounding_power, spherical_hamming

__all__ = [
    "ITQ",
    "BitSampling",
    "BoundingPower",
    "CrossPolytope",
    "Family",
    "Hyperplane",
    "KernelLSH",
    "MinHash",
    "PStable",
    "Probes",
    "RandomFourier",
    "ShiftInvariant",
    "SimHash",
    "SparseSimHash",
    "SphericalHash",
    "bounding_power",
    "datasketch_signature",
    "load",
    "minhash_similarity",
    "spherical_hamming",
]
