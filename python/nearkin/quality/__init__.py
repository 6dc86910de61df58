"""How right a run is, and which parameters reach a wanted recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.quality.band_tuning import BandTuning, tune_bands
    from nearkin.quality.evaluation import Evaluation, evaluate
    from nearkin.quality.judgements import ClusterLabels
    from nearkin.quality.tuning import Tuning, tune

__all__ = ["BandTuning", "ClusterLabels", "Evaluation", "Tuning", "evaluate", "tune", "tune_bands"]

_MODULES = {
    "band_tuning": "BandTuning tune_bands",
    "evaluation": "Evaluation evaluate",
    "judgements": "ClusterLabels",
    "tuning": "Tuning tune",
}
"""Public names of each module."""

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {name: module for module, names in _MODULES.items() for name in names.split()})


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
