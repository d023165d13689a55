"""Rows and sources of models, drawn or made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.algebra.models import Fit, ModelledAttribute, ModelSource
from penstock.models.segments import WIDTH, Segments
from penstock.models.sources import SourceRows
from penstock.vocabulary.batches import Floats, Ints

SECOND = 1_000_000


def model_source(
    attributes: int = 1,
    *,
    keys: int = 1,
    carried: int = 0,
    powers: int = 2,
    horizon_us: int = 10 * SECOND,
    horizon_min_us: int | None = None,
    fit: Fit | None = None,
) -> ModelSource:
    """Give a source whose attributes are x0, x1, …."""
    coefficients = () if fit is not None else tuple(f"c{k}" for k in range(powers))
    return ModelSource(
        relation="s", event_time="t",
        key=tuple((f"k{i}", pa.int64()) for i in range(keys)),
        attributes=tuple(
            ModelledAttribute(name=f"x{i}", observed=f"x{i}", coefficients=coefficients, fit=fit)
            for i in range(attributes)
        ),
        carried=tuple((f"u{i}", pa.int64()) for i in range(carried)),
        horizon_us=horizon_us, horizon_min_us=horizon_min_us,
    )  # fmt: skip


def series(at: Sequence[int] | Ints, values: Floats, key: Ints | None = None) -> SourceRows:
    """Give rows (n, attributes) of fitted sources, of one key unless they are given."""
    times = np.asarray(at, np.int64)
    columns = np.zeros(len(times), np.int64) if key is None else key
    return SourceRows(
        columns[:, None], times, values, np.empty((len(times), 0, WIDTH)),
        np.empty((len(times), 0), np.int64),
    )  # fmt: skip


def constant_rows(at: Ints, values: Floats, key: Ints | None = None) -> SourceRows:
    """Give rows of one attribute whose model is its observed value."""
    plain = series(at, values[:, None], key)
    models = np.zeros((len(at), 1, WIDTH))
    models[:, 0, 0] = values
    return SourceRows(plain.key, plain.at, plain.observed, models, plain.carried)


def same_segments(one: Segments, other: Segments) -> bool:
    """Say whether two lots of segments are equal in every bit."""
    return all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes()
        for name in ("key", "reference", "low", "high", "coefficients", "sign", "serial")
    )
