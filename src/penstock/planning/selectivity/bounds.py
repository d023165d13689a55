"""Bounds: how many segments a conjunction can let through at the least and at the most.

Estimates take attributes to be independent. How wrong that can make them is what risk is about.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.vocabulary.batches import Floats

Term = tuple[Floats, Floats]
"""For every bin of an attribute, how many segments it has, and how many of them pass."""


def greedy(terms: Sequence[Term]) -> tuple[float, float]:
    """Give a low and a high share of segments that pass all terms, after Bruno and Chaudhuri.

    The term that passes most meets the most favourable bins of the others, the one that passes
    least meets the least favourable. They contain what independence gives; they are not certain.

    >>> low, high = greedy([(np.array([400.0, 600.0]), np.array([400.0, 0.0])),
    ...                     (np.array([300.0, 700.0]), np.array([300.0, 0.0]))])
    >>> low, round(high, 3)
    (0.0, 0.3)
    """
    totals = [float(passing.sum()) for _, passing in terms]
    most, least = int(np.argmax(totals)), int(np.argmin(totals))
    return (
        _met(terms, least, totals[least], favourable=False),
        _met(terms, most, totals[most], favourable=True),
    )


def frechet(passing: Sequence[float], whole: Sequence[float]) -> tuple[float, float]:
    """Give the shares between which that of the segments that pass all terms lies for certain.

    `passing` are the shares of segments that pass each term at some time, `whole` those that pass
    it all the time: segments that pass different terms at different times pass none together.

    >>> frechet([0.4, 0.3], [0.4, 0.3]), frechet([0.9, 0.8], [0.9, 0.8])
    ((0.0, 0.3), (0.7, 0.8))
    """
    return max(0.0, round(sum(whole) - (len(whole) - 1), 12)), min(passing)


def _met(terms: Sequence[Term], first: int, total: float, *, favourable: bool) -> float:
    """Give the share that passes if the segments of one term meet the best, or worst, of others."""
    count = float(terms[first][0].sum())
    if count <= 0 or total <= 0:
        return 0.0
    share = total / count
    for place, (frequency, passing) in enumerate(terms):
        if place == first:
            continue
        used = frequency > 0
        ratio = passing[used] / frequency[used]
        order = np.argsort(-ratio if favourable else ratio, kind="stable")
        held = frequency[used][order]
        # The last bin counts with the part that is needed.
        taken = np.clip(total - (np.cumsum(held) - held), 0.0, held)
        share *= float((taken * ratio[order]).sum() / taken.sum())
    return share
