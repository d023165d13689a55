"""Choosing: which range column the index is sorted by, and what an event is expected to meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.kernels.radix_sorts import entries_order
from penstock.operators.shared.keys import HIGHEST, LOWEST
from penstock.vocabulary.batches import Ints, Rows

PROBES = 128
PEERS = 2048
"""How many entries of a probe's partition are looked at; the rest is extrapolated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """Sampled events: the code and the keys (column by column) of each."""

    codes: Rows
    keys: Ints


def midpoints(codes: Rows, lows: Ints, highs: Ints) -> Probes:
    """Sample events from the entries themselves: the middle of a range, or its only end."""
    chosen = np.unique(np.linspace(0, len(codes) - 1, min(PROBES, len(codes))).astype(np.int64))
    low, high = lows[:, chosen], highs[:, chosen]
    middle = (low >> 1) + (high >> 1) + (low & high & 1)
    middle = np.where(low == LOWEST, high, np.where(high == HIGHEST, low, middle))
    return Probes(codes=codes[chosen], keys=middle)


def expected_candidates(
    codes: Rows, lows: Ints, highs: Ints, probes: Probes
) -> npt.NDArray[np.float64]:
    """Estimate, for every range column, how many entries an event's key there lies in.

    Only entries of the event's own equality partition count.

    >>> lows, highs = np.array([[0, 0, 0], [1, 5, 9]]), np.array([[9, 9, 9], [2, 6, 9]])
    >>> codes = np.zeros(3, dtype=np.int32)
    >>> expected_candidates(codes, lows, highs, midpoints(codes, lows, highs)).tolist()
    [3.0, 1.0]
    """
    order = entries_order(codes, np.zeros(len(codes), dtype=np.int64))
    by_code = codes[order]
    starts = np.searchsorted(by_code, probes.codes)
    ends = np.searchsorted(by_code, probes.codes, side="right")
    found = np.zeros(len(lows))
    for i in range(len(probes.codes)):
        size = int(ends[i] - starts[i])
        if size == 0:
            continue
        peers = order[starts[i] : ends[i]]
        if size > PEERS:
            peers = peers[np.linspace(0, size - 1, PEERS).astype(np.int64)]
        keys = probes.keys[:, i : i + 1]
        inside = (lows[:, peers] <= keys) & (keys <= highs[:, peers])
        found += inside.mean(axis=1) * size
    return found / max(len(probes.codes), 1)
