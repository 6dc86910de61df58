"""Fuzzy digests of files by TLSH, bit for bit equal to those of `py-tlsh` 5.0.0, and their distances.

TLSH counts short patterns of the input and writes for each of 128 buckets in which quarter of all counts it falls:

    "T1" checksum length ratios body        72 characters for 128 buckets and one byte of checksum

The distance of two digests is 0 for equal ones and grows with every bucket that differs; those of unrelated files are
mostly above 100. It is *not* a percentage. An input of less than 50 bytes, or with too little variation, has no digest.

Cost: hashing is linear in the input; a comparison takes some nanoseconds. `nearkin.DigestIndex("tlsh")` finds
everything within a distance among millions of digests without comparing all pairs.

References
----------
.. [1] J. Oliver, C. Cheng, Y. Chen, "TLSH: A Locality Sensitive Hash", 4th Cybercrime and Trustworthy Computing
   Workshop, 2013.
"""

from __future__ import annotations

from nearkin.digests.tlsh.comparison import DistanceExplanation, distance, distance_many, explain, matrix
from nearkin.digests.tlsh.hashing import TlshHasher, hash, hash_files  # noqa: A004 - the public name
from nearkin.digests.tlsh.recipe import TlshRecipe

__all__ = [
    "DistanceExplanation",
    "TlshHasher",
    "TlshRecipe",
    "distance",
    "distance_many",
    "explain",
    "hash",
    "hash_files",
    "matrix",
]
