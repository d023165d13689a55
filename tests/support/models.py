"""Streams of segments with models that replace each other, plans over them, and what they say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.algebra.models import (
    Comparator,
    ModelComparison,
    ModelConjunction,
    ModelJoin,
    ModelledAttribute,
    ModelSource,
    Monomial,
    Polynomial,
)
from penstock.models.segments import WIDTH, Segments
from tests.oracle.models import Span

Floats = npt.NDArray[np.float64]
START = 1_700_000_000_000_000
ALWAYS = ModelConjunction(terms=())


def source(degree: int = 1, keys: int = 1, attributes: int = 1) -> ModelSource:
    """Make a source of symbolic models."""
    return ModelSource(
        relation="s",
        event_time="at",
        key=tuple((f"k{i}", pa.int64()) for i in range(keys)),
        attributes=tuple(
            ModelledAttribute(name=f"a{i}", observed="a", coefficients=("c0",) * (degree + 1))
            for i in range(attributes)
        ),
        horizon_us=10_000_000,
    )


def polynomial(*terms: tuple[float, tuple[int, ...]]) -> Polynomial:
    """Make a polynomial of factors and powers."""
    return Polynomial(terms=tuple(Monomial(factor=f, powers=p) for f, p in terms))


def compared(comparator: Comparator, *terms: tuple[float, tuple[int, ...]]) -> ModelComparison:
    """Make a comparison with 0."""
    return ModelComparison(polynomial=polynomial(*terms), comparator=comparator)


Row = tuple[Sequence[int], int, float, float, Sequence[Sequence[float]], int, int]
"""Key, reference, low, high, models, sign, serial."""


def segments(rows: Sequence[Row]) -> Segments:
    """Make segments of rows; references count from 0."""
    coefficients = np.zeros((len(rows), len(rows[0][4]), WIDTH))
    for place, row in enumerate(rows):
        for attribute, model in enumerate(row[4]):
            coefficients[place, attribute, : len(model)] = model
    keys, references, lows, highs, _, signs, serials = zip(*rows, strict=True)
    return Segments(
        np.array(keys, np.int64).reshape(len(rows), -1), np.array(references, np.int64),
        np.array(lows, float), np.array(highs, float), coefficients, np.array(signs, np.int8),
        np.array(serials, np.int64),
    )  # fmt: skip


@dataclass(frozen=True)
class Change:
    """Signed segments of one source at one event time."""

    source: int
    at_us: int
    segments: Segments


def drawn(
    seed: int, sources: Sequence[ModelSource], until: float, *, shared: bool = False
) -> tuple[list[Change], list[list[Span]]]:
    """Draw changes of several sources in the order of time, and what holds of each in the end.

    Models replace each other before they end, or leave gaps, or are taken back. With `shared`, all
    sources are the same one.
    """
    rng = np.random.default_rng(seed)
    changes: list[Change] = []
    finals: list[list[Span]] = [[] for _ in sources]
    live: dict[tuple[int, int], tuple[Row, int]] = {}
    at_us, serial = 0, 0
    while at_us < until * 1e6 * 0.8:
        which = int(rng.integers(len(sources)))
        key = int(rng.integers(3))
        rows: list[Row] = []
        node = sources[which]
        old = live.pop((which, key), None)
        if old is not None and old[0][3] * 1e6 + old[0][1] > at_us:
            rest = (at_us - old[0][1]) * 1e-6
            rows.append((*old[0][:2], rest, *old[0][3:5], -1, old[0][6]))
            finals[which][old[1]] = replace(finals[which][old[1]], end=at_us * 1e-6)
        if rng.random() < 0.9:
            serial += 1
            degree = len(node.attributes[0].coefficients) - 1
            models = [
                [float(rng.normal(0, 3 / (1 + power) ** 2)) for power in range(degree + 1)]
                for _ in node.attributes
            ]
            length = float(rng.uniform(0.5, 6.0))
            row: Row = ((key,), at_us, 0.0, length, models, 1, serial)
            live[which, key] = (row, len(finals[which]))
            rows.append(row)
            begin = at_us * 1e-6
            own = tuple(tuple(model) for model in models)
            finals[which].append(Span((key,), begin, begin, begin + length, own))
        if rows:
            changes.append(Change(which, at_us, segments(rows)))
        at_us += int(rng.integers(50_000, 900_000))
    if shared:
        changes = [replace(c, source=n) for c in changes for n in (0, 1) if c.source == 0]
        finals = [finals[0], finals[0]]
    return changes, finals


def moved(given: Segments, by_us: int) -> Segments:
    """Give the same segments at another time."""
    return replace(given, reference=given.reference + by_us)


def sources_of(node: Any) -> list[ModelSource]:
    """Give the sources of a plan, from left to right."""
    if isinstance(node, ModelSource):
        return [node]
    if isinstance(node, ModelJoin):
        return sources_of(node.left) + sources_of(node.right)
    return sources_of(node.input)


def accumulated(
    parts: Iterable[Segments], at: Floats
) -> dict[tuple[int, ...], tuple[Floats, Floats]]:
    """Add up what was said of instants: of each key, how many segments hold, and their values."""
    found: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
    for part in parts:
        for n in range(len(part)):
            begin = (part.reference[n] - START) * 1e-6
            key = tuple(part.key[n].tolist())
            blank = np.zeros(len(at)), np.zeros((len(at), part.coefficients.shape[1]))
            count, values = found.setdefault(key, blank)
            inside = (begin + part.low[n] <= at) & (at < begin + part.high[n])
            count[inside] += part.sign[n]
            for a in range(part.coefficients.shape[1]):
                model = part.coefficients[n, a, ::-1]
                values[inside, a] += part.sign[n] * np.polyval(model, at[inside] - begin)
    return found
