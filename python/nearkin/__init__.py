"""nearkin finds what is almost the same: locality-sensitive hashing for Python."""

from __future__ import annotations

import warnings as _warnings

from nearkin import errors, families, ssdeep, theory
from nearkin._core import DEBUG_BUILD as _DEBUG_BUILD
from nearkin._core import __version__, num_threads, set_num_threads
from nearkin.bands import BandIndex
from nearkin.dedup import DedupResult, dedup
from nearkin.dedup_files import dedup_files
from nearkin.digests import DigestIndex
from nearkin.evaluate import Evaluation, evaluate
from nearkin.families.minhash import MinHash, minhash_similarity, signature
from nearkin.families.simhash import SimHash, fingerprint
from nearkin.hamming import HammingIndex, Pairs, SearchResult, hamming
from nearkin.idf import Idf
from nearkin.keywords import keywords, words
from nearkin.labels import ClusterLabels, PairLabels
from nearkin.recipe import Recipe
from nearkin.tables import LSHIndex
from nearkin.tune import Tuning, tune
from nearkin.tune_bands import BandTuning, tune_bands
from nearkin.verify import similarity

if _DEBUG_BUILD:
    _warnings.warn(
        "this nearkin was built without optimisation and is about 20 times slower; build it with `pip install .` "
        "or `maturin develop --release`",
        RuntimeWarning,
        stacklevel=2,
    )

__all__ = [
    "BandIndex",
    "BandTuning",
    "ClusterLabels",
    "DedupResult",
    "DigestIndex",
    "Evaluation",
    "HammingIndex",
    "Idf",
    "LSHIndex",
    "MinHash",
    "PairLabels",
    "Pairs",
    "Recipe",
    "SearchResult",
    "SimHash",
    "Tuning",
    "__version__",
    "dedup",
    "dedup_files",
    "errors",
    "evaluate",
    "families",
    "fingerprint",
    "hamming",
    "keywords",
    "minhash_similarity",
    "num_threads",
    "set_num_threads",
    "signature",
    "similarity",
    "ssdeep",
    "theory",
    "tune",
    "tune_bands",
    "words",
]
