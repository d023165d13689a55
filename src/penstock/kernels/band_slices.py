"""Slices of bands: of sorted ends, those between two numbers, in every run of a partition."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from penstock.kernels.compilation import inlined, tight

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class BandRuns(NamedTuple):
    """Bands of one partition whose widths are alike, sorted by an end, are a run."""

    ends: Floats
    """The lower end of every band; the upper one, where there is no lower."""
    begins: Ints
    """(runs + 1): where the bands of a run begin."""
    parts: Ints
    """(partitions + 1): where the runs of a partition begin."""
    below: Floats
    above: Floats
    """How far outside of a range of values the ends of a run's bands may lie that meet it."""


@inlined
def end_search(ends: Floats, low: int, high: int, value: float, behind: bool) -> int:
    """Find the first end that is not below a value, or, `behind`, the first above it."""
    while low < high:
        middle = (low + high) // 2
        if ends[middle] < value or (behind and ends[middle] == value):
            low = middle + 1
        else:
            high = middle
    return low


@tight
def bands_slice(
    runs: BandRuns, part: Ints, least: Floats, most: Floats, first: Ints, last: Ints
) -> None:
    """Write where, in each run of a partition, those begin and end that may meet a closed range.

    `first` and `last` are (ranges, runs of a partition at most). A partition below zero has none.
    """
    for i in range(len(part)):
        count = 0
        if part[i] >= 0:
            for run in range(runs.parts[part[i]], runs.parts[part[i] + 1]):
                begin, end = runs.begins[run], runs.begins[run + 1]
                at = end_search(runs.ends, begin, end, least[i] - runs.below[run], False)
                first[i, count] = at
                last[i, count] = end_search(runs.ends, at, end, most[i] + runs.above[run], True)
                count += 1
        for rest in range(count, first.shape[1]):
            first[i, rest] = last[i, rest] = 0
