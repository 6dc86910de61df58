"""Near-duplicates and nearest neighbours by locality-sensitive hashing."""

from __future__ import annotations

import sys as _sys
import warnings as _warnings
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING

from nearkin import errors
from nearkin._core import DEBUG_BUILD as _DEBUG_BUILD
from nearkin._core import __version__, num_threads, set_num_threads
from nearkin._core import content_hashes as _content_hashes
from nearkin.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from nearkin import batched as batched
    from nearkin import digests as digests
    from nearkin import families, index, patterns, quality, store, theory
    from nearkin.dedup.contains import KnownTexts, contains
    from nearkin.dedup.files import dedup_files
    from nearkin.dedup.labels import PairLabels
    from nearkin.dedup.result import DedupResult
    from nearkin.dedup.texts import dedup
    from nearkin.dedup.verify import similarity
    from nearkin.digests import ssdeep
    from nearkin.digests import tlsh as tlsh
    from nearkin.explain import explain
    from nearkin.explain.comparison import ComparedTexts, compare
    from nearkin.families.minhash import MinHash as MinHash
    from nearkin.families.minhash import minhash_similarity as minhash_similarity
    from nearkin.families.minhash import signature
    from nearkin.families.simhash import SimHash as SimHash
    from nearkin.families.simhash import fingerprint
    from nearkin.index.bands import BandIndex as BandIndex
    from nearkin.index.digests import DigestIndex
    from nearkin.index.fingerprints import hamming
    from nearkin.index.hamming import HammingIndex
    from nearkin.index.lsh import LSHIndex
    from nearkin.index.results import Pairs as Pairs
    from nearkin.index.results import SearchResult as SearchResult
    from nearkin.patterns.lines import LogTemplates
    from nearkin.patterns.payloads import PayloadGroups as PayloadGroups
    from nearkin.patterns.urls import UrlPatterns
    from nearkin.pieces.decontaminate import decontaminate
    from nearkin.pieces.leaks import leaks
    from nearkin.pieces.passages import passages, repeats
    from nearkin.pieces.suites import Suites
    from nearkin.quality.band_tuning import BandTuning as BandTuning
    from nearkin.quality.band_tuning import tune_bands as tune_bands
    from nearkin.quality.evaluation import Evaluation as Evaluation
    from nearkin.quality.evaluation import evaluate
    from nearkin.quality.judgements import ClusterLabels as ClusterLabels
    from nearkin.quality.tuning import Tuning as Tuning
    from nearkin.quality.tuning import tune
    from nearkin.recipe import Recipe
    from nearkin.service.client import Client
    from nearkin.store.group import StoreGroup as StoreGroup
    from nearkin.store.results import CheckResult as CheckResult
    from nearkin.store.store import Store
    from nearkin.text.idf import Idf
    from nearkin.text.words import keywords, words

# The compiled module looks up NumPy's interface for its first array, and an interrupt during that would be a panic.
_content_hashes([])

if _DEBUG_BUILD:
    _warnings.warn(
        "this nearkin was built without optimisation and is about 20 times slower; build it with `pip install .` "
        "or `maturin develop --release`",
        RuntimeWarning,
        stacklevel=2,
    )

try:
    import _xxsubinterpreters as _interpreters  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    try:
        import _interpreters  # type: ignore[import-not-found, no-redef, unused-ignore]
    except ImportError:
        _interpreters = None
if _interpreters is not None and _interpreters.get_current() != _interpreters.get_main():
    raise ImportError("nearkin supports one interpreter per process; import it in the main interpreter")

_LAZY = {
    "BandIndex": "index.bands",
    "BandTuning": "quality.band_tuning",
    "CheckResult": "store.results",
    "Client": "service.client",
    "ClusterLabels": "quality.judgements",
    "ComparedTexts": "explain.comparison",
    "DedupResult": "dedup.result",
    "DigestIndex": "index.digests",
    "Evaluation": "quality.evaluation",
    "HammingIndex": "index.hamming",
    "Idf": "text.idf",
    "KnownTexts": "dedup.contains",
    "LSHIndex": "index.lsh",
    "LogTemplates": "patterns.lines",
    "MinHash": "families.minhash",
    "PairLabels": "dedup.labels",
    "Pairs": "index.results",
    "PayloadGroups": "patterns.payloads",
    "Recipe": "recipe",
    "SearchResult": "index.results",
    "SimHash": "families.simhash",
    "Store": "store.store",
    "StoreGroup": "store.group",
    "Suites": "pieces.suites",
    "Tuning": "quality.tuning",
    "UrlPatterns": "patterns.urls",
    "batched": "",
    "compare": "explain.comparison",
    "contains": "dedup.contains",
    "decontaminate": "pieces.decontaminate",
    "dedup": "dedup.texts",
    "dedup_files": "dedup.files",
    "digests": "",
    "evaluate": "quality.evaluation",
    "explain": "explain",
    "families": "",
    "fingerprint": "families.simhash",
    "hamming": "index.fingerprints",
    "index": "",
    "keywords": "text.words",
    "leaks": "pieces.leaks",
    "minhash_similarity": "families.minhash",
    "passages": "pieces.passages",
    "patterns": "",
    "quality": "",
    "repeats": "pieces.passages",
    "signature": "families.minhash",
    "similarity": "dedup.verify",
    "ssdeep": "digests",
    "store": "",
    "theory": "",
    "tlsh": "digests",
    "tune": "quality.tuning",
    "tune_bands": "quality.band_tuning",
    "words": "text.words",
}
"""Modules of the names that are imported on first use; empty for packages.

`__all__` leaves out names of experts, which the packages `digests`, `families`, `index`, `patterns`, `quality` and
`store` have.
"""


class _Package(_ModuleType):
    """The package, whose names `dedup` and `explain` are functions although it has packages of these names."""

    def __setattr__(self, name: str, value: object) -> None:
        # The import system makes an imported package an attribute of its parent; it must not replace the function.
        if name in ("dedup", "explain") and isinstance(value, _ModuleType):
            return
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package


# A type checker must not see it, or every misspelt name would be an object.
if not TYPE_CHECKING:
    __getattr__ = _lazy_names(__name__, _LAZY)

__all__ = [
    "Client",
    "HammingIndex",
    "LSHIndex",
    "LogTemplates",
    "Recipe",
    "Store",
    "UrlPatterns",
    "__version__",
    "compare",
    "contains",
    "decontaminate",
    "dedup",
    "dedup_files",
    "errors",
    "evaluate",
    "explain",
    "families",
    "fingerprint",
    "hamming",
    "index",
    "leaks",
    "passages",
    "patterns",
    "quality",
    "signature",
    "similarity",
    "ssdeep",
    "store",
    "theory",
]
_FIRST_NAMES = ("__all__", "__doc__", *__all__)
"""What `dir(nearkin)` shows: one name per job, and the packages with more."""
__all__ += [
    "ComparedTexts",
    "DedupResult",
    "DigestIndex",
    "Idf",
    "KnownTexts",
    "PairLabels",
    "Suites",
    "keywords",
    "num_threads",
    "repeats",
    "set_num_threads",
    "tune",
    "words",
]


def __dir__() -> list[str]:
    """Return the names to begin with; `__all__` has also the classes and helpers that belong to them."""
    return list(_FIRST_NAMES)
