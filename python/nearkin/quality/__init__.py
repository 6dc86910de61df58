"""How right a run is, and which parameters reach a wanted recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nearkin.lazy import lazy_names

if TYPE_CHECKING:
    from nearkin.quality.band_tuning import BandTuning as BandTuning
    from nearkin.quality.band_tuning import tune_bands as tune_bands
    from nearkin.quality.evaluation import Evaluation as Evaluation
    from nearkin.quality.evaluation import evaluate as evaluate
    from nearkin.quality.judgements import ClusterLabels as ClusterLabels
    from nearkin.quality.tuning import Tuning as Tuning
    from nearkin.quality.tuning import tune as tune
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "band_tuning": ["BandTuning", "tune_bands"],
            "evaluation": ["Evaluation", "evaluate"],
            "judgements": ["ClusterLabels"],
            "tuning": ["Tuning", "tune"],
        },
    )
