"""Fuzzy digests of files, bit for bit as the program `ssdeep` 2.14.1 prints them, and their scores.

ssdeep cuts its input where a sum over the last seven bytes has a chosen value, and writes one character per piece:

    block size ":" part 1 (up to 64 characters) ":" part 2 (up to 32, at twice the block size)

A changed byte moves only the cuts next to it, so similar inputs get similar digests. The score of two digests, 0 to
100, comes from the longest common subsequence of two parts of one block size, provided that they share seven
successive characters. It is *not* a percentage of shared bytes, and 0 does not mean "different": digests whose block
sizes differ by more than a factor of two can't be compared at all, and below about 4 KB there are too few pieces to
say anything.

Cost: hashing is linear in the input; a comparison takes about a tenth of a microsecond, parsing included.
`nearkin.DigestIndex` finds all matches among millions without comparing all pairs.

References
----------
.. [1] J. Kornblum, "Identifying almost identical files using context triggered piecewise hashing", Digital
   Investigation 3S, 2006.
"""

from __future__ import annotations

from nearkin.digests.ssdeep.contents import Likeness, likeness
from nearkin.digests.ssdeep.hashing import Hasher, hash, hash_files  # noqa: A004 - the promised name
from nearkin.digests.ssdeep.lists import read_list, write_list
from nearkin.digests.ssdeep.reasons import ComparedParts, Explanation, explain
from nearkin.digests.ssdeep.recipe import DigestRecipe
from nearkin.digests.ssdeep.scores import compare, compare_many, matrix
from nearkin.digests.ssdeep.text import normalize

__all__ = [
    "ComparedParts",
    "DigestRecipe",
    "Explanation",
    "Hasher",
    "Likeness",
    "compare",
    "compare_many",
    "explain",
    "hash",
    "hash_files",
    "likeness",
    "matrix",
    "normalize",
    "read_list",
    "write_list",
]
