"""Sources of the experiments: rows as models, and what the models say at the rows' own times."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelledAttribute, ModelSource
from penstock.lab.models.workload import SECOND, Motion, Ticks
from penstock.models.segments import WIDTH, Segments
from penstock.models.sources import SegmentSource, SourceRows
from penstock.models.tolerances import SourceTolerances
from penstock.vocabulary.batches import Floats, Ints

HORIZON_US = 3_600 * SECOND
AXES = {"x": ("x", "vx"), "y": ("y", "vy"), "u": ("vx", None), "v": ("vy", None)}
"""What a position is modelled by: a column, and the one that says how it changes."""


def constant_prices(horizon_us: int = HORIZON_US) -> ModelSource:
    """Prices that stay what they are: `MODEL price = price`."""
    price = ModelledAttribute(name="price", observed="price", coefficients=("c0",))
    return _source("ticks", price, horizon_us=horizon_us)


def straight_motion(
    horizon_us: int = HORIZON_US, axes: str = "xy", relation: str = "objects"
) -> ModelSource:
    """Things that keep their velocity: `MODEL x = x + vx * t, y = y + vy * t`.

    The axes u and v are the velocity itself: `MODEL vx = vx, vy = vy`.
    """
    models = (
        ModelledAttribute(name=axis, observed=axis, coefficients=(f"c{2 * k}", f"c{2 * k + 1}"))
        for k, axis in enumerate(axes)
    )
    return _source(relation, *models, horizon_us=horizon_us)


def _source(relation: str, *attributes: ModelledAttribute, horizon_us: int) -> ModelSource:
    return ModelSource(
        relation=relation, event_time="ts", key=(("id", pa.int64()),), attributes=attributes,
        horizon_us=horizon_us,
    )  # fmt: skip


def tick_rows(ticks: Ticks) -> SourceRows:
    """Give ticks as rows whose models are constants."""
    coefficients = np.zeros((len(ticks), 1, WIDTH))
    coefficients[:, 0, 0] = ticks.price
    return _rows(ticks.key, ticks.at, coefficients)


def motion_rows(motion: Motion, axes: str = "xy") -> SourceRows:
    """Give positions as rows whose models are straight lines."""
    coefficients = np.zeros((len(motion), len(axes), WIDTH))
    for k, axis in enumerate(axes):
        value, speed = AXES[axis]
        coefficients[:, k, 0] = getattr(motion, value)
        if speed is not None:
            coefficients[:, k, 1] = getattr(motion, speed)
    return _rows(motion.key, motion.at, coefficients)


def _rows(key: Ints, at: Ints, coefficients: Floats) -> SourceRows:
    carried = np.empty((len(at), 0), np.int64)
    return SourceRows(key[:, None], at, coefficients[:, :, 0].copy(), coefficients, carried)


def farthest_off(segments: Segments, rows: SourceRows, tolerances: SourceTolerances) -> float:
    """Give the largest distance of a row from the model that holds then, over what it may be.

    It is computed from the segments alone. A row that no model covers counts as infinitely far.
    """
    made = segments.take(segments.sign > 0)
    order = np.lexsort((made.reference, made.key[:, 0]))
    made = made.take(order)
    span = int(max(rows.at.max(), made.reference.max())) + 1
    place = np.searchsorted(
        made.key[:, 0] * span + made.reference, rows.key[:, 0] * span + rows.at, side="right"
    )
    place -= 1
    if (place < 0).any() or (made.key[place, 0] != rows.key[:, 0]).any():
        return float("inf")
    since = (rows.at - made.reference[place]) / SECOND
    if (since >= made.high[place]).any():
        return float("inf")
    worst = 0.0
    for a in range(rows.observed.shape[1]):
        value = np.polynomial.polynomial.polyval(since, made.coefficients[place, a].T, tensor=False)
        off = np.abs(rows.observed[:, a] - value)
        allowed = _allowed(made, a, tolerances)[place]
        worst = max(worst, float((off / allowed).max()))
    return worst


def _allowed(made: Segments, attribute: int, tolerances: SourceTolerances) -> Floats:
    """Give what rows of every segment may be off in an attribute; models are lines or constants."""
    least = np.full(len(made), np.inf)
    ends = (
        made.coefficients[:, attribute, 0] + made.coefficients[:, attribute, 1] * own
        for own in (made.low, made.high)
    )
    first, last = ends
    smallest = np.where(first * last <= 0, 0.0, np.minimum(np.abs(first), np.abs(last)))
    for pool in tolerances.pools:
        amount = pool.amounts[attribute]
        own = amount if pool.form == "absolute" else np.maximum(amount * smallest, tolerances.floor)
        least = np.minimum(least, own)
    return least


def segmented(
    source: ModelSource, tolerances: SourceTolerances, rows: SourceRows
) -> tuple[SegmentSource, Segments]:
    """Make segments of rows; give their source too, for what it counted."""
    made = SegmentSource(source, tolerances)
    return made, made.process(rows)
