"""Near-duplicates and nearest neighbours by locality-sensitive hashing."""

from __future__ import annotations

import os as _os
import sys as _sys
import warnings as _warnings
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING

from nearkin import errors as errors
from nearkin._core import DEBUG_BUILD as _DEBUG_BUILD
from nearkin._core import __version__ as __version__
from nearkin._core import content_hashes as _content_hashes
from nearkin._core import num_threads as num_threads
from nearkin._core import set_num_threads as set_num_threads
from nearkin.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from nearkin import batched as batched
    from nearkin import digests as digests
    from nearkin import families as families
    from nearkin import index as index
    from nearkin import patterns as patterns
    from nearkin import quality as quality
    from nearkin import store as store
    from nearkin import theory as theory
    from nearkin.dedup.contains import KnownTexts as KnownTexts
    from nearkin.dedup.contains import contains as contains
    from nearkin.dedup.files import dedup_files as dedup_files
    from nearkin.dedup.labels import PairLabels as PairLabels
    from nearkin.dedup.result import DedupResult as DedupResult
    from nearkin.dedup.texts import dedup as dedup
    from nearkin.dedup.verify import similarity as similarity
    from nearkin.digests import ssdeep as ssdeep
    from nearkin.digests import tlsh as tlsh
    from nearkin.explain import explain as explain
    from nearkin.explain.comparison import ComparedTexts as ComparedTexts
    from nearkin.explain.comparison import compare as compare
    from nearkin.families.minhash import MinHash as MinHash
    from nearkin.families.minhash import minhash_similarity as minhash_similarity
    from nearkin.families.minhash import signature as signature
    from nearkin.families.simhash import SimHash as SimHash
    from nearkin.families.simhash import fingerprint as fingerprint
    from nearkin.index.bands import BandIndex as BandIndex
    from nearkin.index.digests import DigestIndex as DigestIndex
    from nearkin.index.fingerprints import hamming as hamming
    from nearkin.index.hamming import HammingIndex as HammingIndex
    from nearkin.index.lsh import LSHIndex as LSHIndex
    from nearkin.index.results import Pairs as Pairs
    from nearkin.index.results import SearchResult as SearchResult
    from nearkin.patterns.lines import LogTemplates as LogTemplates
    from nearkin.patterns.payloads import PayloadGroups as PayloadGroups
    from nearkin.patterns.urls import UrlPatterns as UrlPatterns
    from nearkin.pieces.decontaminate import decontaminate as decontaminate
    from nearkin.pieces.leaks import leaks as leaks
    from nearkin.pieces.passages import passages as passages
    from nearkin.pieces.passages import repeats as repeats
    from nearkin.pieces.suites import Suites as Suites
    from nearkin.quality.band_tuning import tune_bands as tune_bands
    from nearkin.quality.evaluation import evaluate as evaluate
    from nearkin.quality.tuning import tune as tune
    from nearkin.recipe import Recipe as Recipe
    from nearkin.service.client import Client as Client
    from nearkin.store.results import CheckResult as CheckResult
    from nearkin.store.store import Store as Store
    from nearkin.text.idf import Idf as Idf
    from nearkin.text.words import keywords as keywords
    from nearkin.text.words import words as words

# The command computes nothing by BLAS but in `serve`; threads of OpenBLAS that wait take a tenth of a small job.
if _os.path.basename((_sys.argv or [""])[0]) in ("-m", "nearkin", "nearkin.exe") and "serve" not in _sys.argv[1:2]:  # noqa: PTH119
    _os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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


class _Package(_ModuleType):
    """The package, whose names `dedup` and `explain` are functions although it has packages of these names."""

    def __setattr__(self, name: str, value: object) -> None:
        # The import system makes an imported package an attribute of its parent; it must not replace the function.
        if name in ("dedup", "explain") and isinstance(value, _ModuleType):
            return
        super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package


# The one list of public names. A type checker must not see it, or every misspelt name would be an object.
if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = _lazy_names(
        __name__,
        {
            "": ["batched", "digests", "families", "index", "patterns", "quality", "store", "theory"],
            "dedup.contains": ["KnownTexts", "contains"],
            "dedup.files": ["dedup_files"],
            "dedup.labels": ["PairLabels"],
            "dedup.result": ["DedupResult"],
            "dedup.texts": ["dedup"],
            "dedup.verify": ["similarity"],
            "digests": ["ssdeep", "tlsh"],
            "explain": ["explain"],
            "explain.comparison": ["ComparedTexts", "compare"],
            "families.minhash": ["MinHash", "minhash_similarity", "signature"],
            "families.simhash": ["SimHash", "fingerprint"],
            "index.bands": ["BandIndex"],
            "index.digests": ["DigestIndex"],
            "index.fingerprints": ["hamming"],
            "index.hamming": ["HammingIndex"],
            "index.lsh": ["LSHIndex"],
            "index.results": ["Pairs", "SearchResult"],
            "patterns.lines": ["LogTemplates"],
            "patterns.payloads": ["PayloadGroups"],
            "patterns.urls": ["UrlPatterns"],
            "pieces.decontaminate": ["decontaminate"],
            "pieces.leaks": ["leaks"],
            "pieces.passages": ["passages", "repeats"],
            "pieces.suites": ["Suites"],
            "quality.band_tuning": ["tune_bands"],
            "quality.evaluation": ["evaluate"],
            "quality.tuning": ["tune"],
            "recipe": ["Recipe"],
            "service.client": ["Client"],
            "store.results": ["CheckResult"],
            "store.store": ["Store"],
            "text.idf": ["Idf"],
            "text.words": ["keywords", "words"],
        },
        own=["__version__", "errors", "num_threads", "set_num_threads"],
    )
