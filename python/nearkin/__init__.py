"""nearkin finds what is almost the same: locality-sensitive hashing for Python."""

from __future__ import annotations

import warnings as _warnings

from nearkin import errors, ssdeep
from nearkin._core import DEBUG_BUILD as _DEBUG_BUILD
from nearkin._core import __version__, num_threads, set_num_threads
from nearkin.digests import DigestIndex
from nearkin.hamming import HammingIndex, Pairs, SearchResult, hamming

if _DEBUG_BUILD:
    _warnings.warn(
        "this nearkin was built without optimisation and is about 20 times slower; build it with `pip install .` "
        "or `maturin develop --release`",
        RuntimeWarning,
        stacklevel=2,
    )

__all__ = [
    "DigestIndex",
    "HammingIndex",
    "Pairs",
    "SearchResult",
    "__version__",
    "errors",
    "hamming",
    "num_threads",
    "set_num_threads",
    "ssdeep",
]
