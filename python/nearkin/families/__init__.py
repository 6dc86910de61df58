"""Hash families, one per module: distributions over hash functions with a known collision probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.families.base import Family as Family
    from nearkin.families.base import Probes as Probes
    from nearkin.families.base import load as load
    from nearkin.families.bit_sampling import BitSampling as BitSampling
    from nearkin.families.cross_polytope import CrossPolytope as CrossPolytope
    from nearkin.families.datasketch import datasketch_signature as datasketch_signature
    from nearkin.families.hyperplane import Hyperplane as Hyperplane
    from nearkin.families.itq import ITQ as ITQ
    from nearkin.families.kernel import KernelLSH as KernelLSH
    from nearkin.families.minhash import MinHash as MinHash
    from nearkin.families.minhash import minhash_similarity as minhash_similarity
    from nearkin.families.pstable import PStable as PStable
    from nearkin.families.random_fourier import RandomFourier as RandomFourier
    from nearkin.families.shift_invariant import ShiftInvariant as ShiftInvariant
    from nearkin.families.simhash import SimHash as SimHash
    from nearkin.families.sparse import SparseSimHash as SparseSimHash
    from nearkin.families.spherical import BoundingPower as BoundingPower
    from nearkin.families.spherical import SphericalHash as SphericalHash
    from nearkin.families.spherical import bounding_power as bounding_power
    from nearkin.families.spherical import spherical_hamming as spherical_hamming
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "base": ["Family", "Probes", "load"],
            "bit_sampling": ["BitSampling"],
            "cross_polytope": ["CrossPolytope"],
            "datasketch": ["datasketch_signature"],
            "hyperplane": ["Hyperplane"],
            "itq": ["ITQ"],
            "kernel": ["KernelLSH"],
            "minhash": ["MinHash", "minhash_similarity"],
            "pstable": ["PStable"],
            "random_fourier": ["RandomFourier"],
            "shift_invariant": ["ShiftInvariant"],
            "simhash": ["SimHash"],
            "sparse": ["SparseSimHash"],
            "spherical": ["BoundingPower", "SphericalHash", "bounding_power", "spherical_hamming"],
        },
    )
