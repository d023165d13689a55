"""What the select-join experiments process: queries, rows of the probed side, arriving tuples.

Keys lie in [0, 10,000]. Every draw is seeded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.lab.draws import generator
from penstock.operators.join.runs import Runs
from penstock.vocabulary.batches import Ints, Rows

DOMAIN = 10_000
CODES = 101
CENTRES = 30
ROWS = 100_000
GAP = 120
"""So far from every centre lie the rows of the sparse recipe; ranges reach about 110 at most."""
EDGE = 60
"""So far from its centre reaches one range in five."""
STRAYS = 3
"""Rows of the sparse recipe that lie anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectQueries:
    """Standing select-joins: [al, ah] on the arriving side, [cl, ch] on the probed side."""

    al: Ints
    ah: Ints
    cl: Ints
    ch: Ints

    def __len__(self) -> int:
        return len(self.al)

    def columns(self) -> tuple[Rows, Ints, Ints, Ints, Ints]:
        """Give what a core takes: slots and bounds."""
        return np.arange(len(self), dtype=np.int32), self.al, self.ah, self.cl, self.ch


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuples:
    """Arriving tuples: the selection key and the join key's code."""

    a: Ints
    codes: Rows


def lengths(rng: np.random.Generator, mean: float, deviation: float, count: int) -> Ints:
    """Draw normal lengths; those that are not positive are drawn again."""
    drawn = np.rint(rng.normal(mean, deviation, count)).astype(np.int64)
    while (drawn <= 0).any():
        again = drawn <= 0
        drawn[again] = np.rint(rng.normal(mean, deviation, int(again.sum()))).astype(np.int64)
    return drawn


def around(middles: Ints, length: Ints) -> tuple[Ints, Ints]:
    """Give closed ranges of given lengths around their middles."""
    low = middles - length // 2
    return low, low + length


def selections(rng: np.random.Generator, count: int, rate: float) -> tuple[Ints, Ints]:
    """Draw ranges of the arriving side such that a uniform key lies in `rate` of them."""
    middles = np.rint(rng.normal(DOMAIN / 2, DOMAIN / 10, count)).astype(np.int64)
    mean = rate * DOMAIN
    return around(middles, lengths(rng, mean, mean / 10, count))


def centres() -> Ints:
    """Give the centres of the sparse recipe, evenly spread."""
    return np.rint((np.arange(CENTRES) + 0.5) * DOMAIN / CENTRES).astype(np.int64)


def sparse_queries(count: int, rate: float = 0.1, seed: int = 1) -> SelectQueries:
    """Queries about 30 centres on the probed side: 30 groups, however many queries there are."""
    rng = generator(seed)
    al, ah = selections(rng, count, rate)
    offsets = np.clip(np.rint(rng.normal(0, 10, count)), -30, 30).astype(np.int64)
    length = np.clip(lengths(rng, 100, 10, count), 70, 150)
    cl, ch = around(centres()[np.arange(count) % CENTRES] + offsets, length)
    return SelectQueries(al=al, ah=ah, cl=cl, ch=ch)


def uniform_queries(
    count: int, mean: float, deviation: float, rate: float = 0.1, seed: int = 1
) -> SelectQueries:
    """Queries anywhere on the probed side, of normal length: the table's own recipe."""
    rng = generator(seed)
    al, ah = selections(rng, count, rate)
    middles = rng.integers(0, DOMAIN + 1, count)
    cl, ch = around(middles, lengths(rng, mean, deviation, count))
    return SelectQueries(al=al, ah=ah, cl=cl, ch=ch)


def rows(
    count: int, codes: int = CODES, sparse: bool = False, top: int = DOMAIN, seed: int = 2
) -> Runs:
    """Rows of the probed side, values up to `top`, with join keys about the middle of the codes."""
    rng = generator(seed)
    keys = np.clip(rng.normal(DOMAIN / 2, DOMAIN / 10, count), 0, DOMAIN)
    numbers = np.rint(keys * (codes - 1) / DOMAIN).astype(np.int32)
    return _runs(numbers, gap_values(rng, count) if sparse else rng.integers(0, top + 1, count))


def stepped_rows(steps: tuple[int, ...], keys: int, seed: int = 2) -> Runs:
    """Sparse rows with `keys` join keys for each step: codes k * keys and on join steps[k] rows.

    The rows of a join key have different values, so that each of them is a probe of its own. One
    row per step lies where some ranges reach.
    """
    rng = generator(seed)
    gaps = np.unique(gap_values(rng, ROWS)[STRAYS:])
    sizes = np.repeat(steps, keys)
    values = np.concatenate([rng.choice(gaps, size, replace=False) for size in sizes])
    first = np.cumsum(sizes) - sizes
    values[first[::keys]] = centres()[: len(steps)] + EDGE
    return _runs(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes), values)


def gap_values(rng: np.random.Generator, count: int) -> Ints:
    """Draw values in the gaps between the centres, but for a few.

    Many rows join, many selections accept, and almost no query is affected.
    """
    values: Ints = rng.integers(GAP, DOMAIN // CENTRES - GAP, count)
    values += rng.choice(centres()[:-1], count)
    values[:STRAYS] = rng.integers(0, DOMAIN + 1, STRAYS)
    return values


def _runs(codes: Rows, values: Ints) -> Runs:
    runs, count = Runs(), len(codes)
    runs.change(codes, values, np.arange(count, dtype=np.int32), np.ones(count, dtype=np.bool_))
    return runs


def tuples(count: int, codes: int = CODES, seed: int = 3) -> Tuples:
    """Arriving tuples, uniform in both keys."""
    rng = generator(seed)
    return Tuples(
        a=rng.integers(0, DOMAIN + 1, count), codes=rng.integers(0, codes, count).astype(np.int32)
    )
