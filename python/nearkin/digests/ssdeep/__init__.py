"""Fuzzy digests of files, bit for bit equal to those of the program `ssdeep` 2.14.1, and their scores.

ssdeep cuts its input where a rolling hash of the last seven bytes has a certain value, and writes one character per
piece:

    block size ":" part 1 (up to 64 characters) ":" part 2 (up to 32, at twice the block size)

A changed byte moves only the cuts next to it, so similar inputs have similar digests. The score of two digests, 0 to
100, is computed from the longest common subsequence of two parts with the same block size, if they share seven
consecutive characters. It is *not* a percentage of shared bytes, and 0 does not mean "different". Digests whose block
sizes differ by more than a factor of two cannot be compared, and inputs below about 4 KB have too few pieces for a
meaningful score.

Cost: hashing is linear in the input; a comparison takes about 0.1 us, parsing included. `nearkin.DigestIndex` finds all
matches among millions of digests without comparing all pairs.

References
----------
.. [1] J. Kornblum, "Identifying almost identical files using context triggered piecewise hashing", Digital
   Investigation 3S, 2006.
"""

from __future__ import annotations

from nearkin.digests.ssdeep.comparison import (
    ArticleScores,
    ComparedParts,
    ContentSimilarity,
    ScoreExplanation,
    article_compare,
    compare,
    compare_many,
    content_similarity,
    explain,
    matrix,
)
from nearkin.digests.ssdeep.hashing import Hasher, hash, hash_files, normalize  # noqa: A004 - the public name
from nearkin.digests.ssdeep.lists import read_list, write_list
from nearkin.digests.ssdeep.recipe import DigestRecipe

__all__ = [
    "ArticleScores",
    "ComparedParts",
    "ContentSimilarity",
    "DigestRecipe",
    "Hasher",
    "ScoreExplanation",
    "article_compare",
    "compare",
    "compare_many",
    "content_similarity",
    "explain",
    "hash",
    "hash_files",
    "matrix",
    "normalize",
    "read_list",
    "write_list",
]
