"""Labels of a sample: sums of their weights, and how many labels of one weight would say as much.

Label i stands for w_i pairs. A share is Σw over its hits / Σw over its cases. Of cases with different weights it is as
uncertain as a share of

    (Σw)² / Σw²

cases with equal ones: n if the weights are equal, 1 if one of them is everything.

Source: L. Kish (1965), Survey Sampling, section 11.7 (losses by unequal weights).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class WeightSums:
    """Sums over labels.

    Attributes
    ----------
    total : float
        Σw: the pairs that they stand for.
    squares : float
        Σw².

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.quality.weights import WeightSums
    >>> WeightSums.of(np.array([1.0, 1.0, 8.0])).effective
    1.5151515151515151
    """

    total: float
    squares: float

    @classmethod
    def of(cls, weights: NDArray[np.float64]) -> WeightSums:
        """Of these weights."""
        return cls(float(weights.sum()), float((weights * weights).sum()))

    def __add__(self, other: WeightSums) -> WeightSums:
        return WeightSums(self.total + other.total, self.squares + other.squares)

    @property
    def effective(self) -> float:
        """Kish's effective number of labels; 0 without labels."""
        return self.total / self.squares * self.total if self.squares else 0.0
