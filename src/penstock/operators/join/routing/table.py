"""The decision table: which strategy is cheapest, by bucket of the value and of the run's length.

All that the costs depend on is constant in a cell, so a table decides as the formulas do, at the
price of two lookups, until sizes or statistics have drifted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.kernels.routes import FINE, STEPS
from penstock.operators.join.routing.constants import CHOICES, CostConstants
from penstock.operators.join.routing.costs import Sizes, costs
from penstock.vocabulary.batches import Floats

DRIFT = 0.1
"""The relative change of a size that makes a table stale."""


def step_middles() -> Floats:
    """Give the count that stands for each bucket of counts: exact below 8, then in the middle.

    >>> step_middles()[:10].tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.5, 10.5]
    """
    steps = np.arange(STEPS)
    doublings = (steps - FINE) // 4 + 1
    lows = (4 + (steps - FINE) % 4) * 2.0**doublings
    return np.where(steps < FINE, steps, lows + (2.0**doublings - 1) / 2)


class DecisionTable:
    """Costs and choices for every cell, as of some sizes.

    `accepted` and `scattered` hold n' and n'' per bucket of the tuple's value. A strategy that is
    not `enabled` is never chosen. Cell `bucket * STEPS + step` of `choices` and `costs` belongs to
    a bucket of values and a step of lengths.
    """

    def __init__(
        self,
        constants: CostConstants,
        sizes: Sizes,
        accepted: Floats,
        scattered: Floats,
        enabled: tuple[str, ...] = CHOICES,
    ) -> None:
        self.sizes = sizes
        self.accepted, self.scattered = accepted, scattered
        steps = step_middles()
        rows = np.tile(steps, len(accepted))
        per_cell = costs(
            constants, sizes, rows, np.repeat(accepted, STEPS), np.repeat(scattered, STEPS)
        )
        for number, choice in enumerate(CHOICES):
            if choice not in enabled:
                per_cell[number] = np.inf
        self.choices: npt.NDArray[np.uint8] = per_cell.argmin(axis=0).astype(np.uint8)
        self.costs = np.ascontiguousarray(per_cell.T, dtype=np.float32)
