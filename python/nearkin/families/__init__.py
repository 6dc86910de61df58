"""Hash families, one per module: distributions over hash functions with a known collision probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
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

_MODULES = {
    "base": "Family Probes load",
    "bit_sampling": "BitSampling",
    "cross_polytope": "CrossPolytope",
    "datasketch": "datasketch_signature",
    "hyperplane": "Hyperplane",
    "itq": "ITQ",
    "kernel": "KernelLSH",
    "minhash": "MinHash minhash_similarity",
    "pstable": "PStable",
    "random_fourier": "RandomFourier",
    "shift_invariant": "ShiftInvariant",
    "simhash": "SimHash",
    "sparse": "SparseSimHash",
    "spherical": "BoundingPower SphericalHash bounding_power spherical_hamming",
}
"""Public names of each module."""

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {name: module for module, names in _MODULES.items() for name in names.split()})


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
