"""Near-duplicates and nearest neighbours by locality-sensitive hashing."""

from __future__ import annotations

import sys as _sys
import warnings as _warnings
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

from nearkin import errors
from nearkin._core import DEBUG_BUILD as _DEBUG_BUILD
from nearkin._core import __version__, num_threads, set_num_threads
from nearkin._core import content_hashes as _content_hashes

if _TYPE_CHECKING:
    from nearkin import families, theory
    from nearkin.dedup.contains import KnownTexts, contains
    from nearkin.dedup.files import dedup_files
    from nearkin.dedup.labels import PairLabels
    from nearkin.dedup.passages import passages, repeats
    from nearkin.dedup.result import DedupResult
    from nearkin.dedup.texts import dedup
    from nearkin.dedup.verify import similarity
    from nearkin.digests import ssdeep
    from nearkin.explain import explain
    from nearkin.explain.comparison import ComparedTexts, compare
    from nearkin.families.minhash import MinHash, minhash_similarity, signature
    from nearkin.families.simhash import SimHash, fingerprint
    from nearkin.index.bands import BandIndex
    from nearkin.index.digests import DigestIndex
    from nearkin.index.fingerprints import hamming
    from nearkin.index.hamming import HammingIndex
    from nearkin.index.lsh import LSHIndex
    from nearkin.index.results import Pairs, SearchResult
    from nearkin.patterns.lines import LogTemplates
    from nearkin.patterns.payloads import PayloadGroups
    from nearkin.patterns.urls import UrlPatterns
    from nearkin.quality.band_tuning import BandTuning, tune_bands
    from nearkin.quality.evaluation import Evaluation, evaluate
    from nearkin.quality.judgements import ClusterLabels
    from nearkin.quality.tuning import Tuning, tune
    from nearkin.recipe import Recipe
    from nearkin.service.client import Client
    from nearkin.store.group import StoreGroup
    from nearkin.store.results import CheckResult
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
    "Tuning": "quality.tuning",
    "UrlPatterns": "patterns.urls",
    "compare": "explain.comparison",
    "contains": "dedup.contains",
    "dedup": "dedup.texts",
    "dedup_files": "dedup.files",
    "evaluate": "quality.evaluation",
    "explain": "explain",
    "families": "",
    "fingerprint": "families.simhash",
    "hamming": "index.fingerprints",
    "keywords": "text.words",
    "minhash_similarity": "families.minhash",
    "passages": "dedup.passages",
    "repeats": "dedup.passages",
    "signature": "families.minhash",
    "similarity": "dedup.verify",
    "ssdeep": "digests",
    "theory": "",
    "tune": "quality.tuning",
    "tune_bands": "quality.band_tuning",
    "words": "text.words",
}
"""Modules of the names that are imported on first use; empty for packages."""


_FIRST_NAMES = (
    *("Client", "DigestIndex", "HammingIndex", "LSHIndex", "LogTemplates", "Recipe", "Store", "UrlPatterns"),
    *("__all__", "__doc__", "__version__"),
    *("compare", "contains", "dedup", "dedup_files", "errors", "evaluate", "explain", "families", "fingerprint"),
    *("hamming", "passages", "signature", "similarity", "ssdeep", "theory", "tune"),
)
"""What `dir(nearkin)` shows: one name per job, and the packages with more."""


class _Package(_ModuleType):
    """The package, whose names `dedup` and `explain` are functions although it has packages of these names."""

    def __setattr__(self, name: str, value: object) -> None:
        # The import system makes an imported package an attribute of its parent; it must not replace the function.
        if name in ("dedup", "explain") and isinstance(value, _ModuleType):
            return
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    """Import a name of `_LAZY` and make it an ordinary attribute."""
    if name not in _LAZY:
        raise AttributeError(f"module 'nearkin' has no attribute {name!r}")
    module = _LAZY[name]
    value: object = getattr(_import_module(f"nearkin.{module}"), name) if module else _import_module(f"nearkin.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names to begin with; `__all__` has every public name."""
    return list(_FIRST_NAMES)


__all__ = [
    "BandIndex",
    "BandTuning",
    "CheckResult",
    "Client",
    "ClusterLabels",
    "ComparedTexts",
    "DedupResult",
    "DigestIndex",
    "Evaluation",
    "HammingIndex",
    "Idf",
    "KnownTexts",
    "LSHIndex",
    "LogTemplates",
    "MinHash",
    "PairLabels",
    "Pairs",
    "PayloadGroups",
    "Recipe",
    "SearchResult",
    "SimHash",
    "Store",
    "StoreGroup",
    "Tuning",
    "UrlPatterns",
    "__version__",
    "compare",
    "contains",
    "dedup",
    "dedup_files",
    "errors",
    "evaluate",
    "explain",
    "families",
    "fingerprint",
    "hamming",
    "keywords",
    "minhash_similarity",
    "num_threads",
    "passages",
    "repeats",
    "set_num_threads",
    "signature",
    "similarity",
    "ssdeep",
    "theory",
    "tune",
    "tune_bands",
    "words",
]
