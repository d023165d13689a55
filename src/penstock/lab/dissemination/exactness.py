"""Exactly once: drawn changes of small tables with many ties, held against brute force."""

from __future__ import annotations

import numpy as np

from penstock.kernels.range_messages import RangeTuples, RangeUpdates
from penstock.lab.kernels.range_scans import messages_judge
from penstock.operators.range_aggregate.extremes import Extremes
from penstock.vocabulary.batches import Ints

PARTITIONS, XS, YS = 2, 7, 5
TUPLES_MAX = 12
CHANGES_MAX = 5


def wrong_instances(random: np.random.Generator, instances: int, *, batches: bool) -> int:
    """Count instances in which any subscription is told anything but the truth, once.

    An instance is an update of any kind, or a batch of changes, of a table that the one before
    left; every so often a table begins anew.
    """
    wrong, tuples = 0, 0
    table = np.zeros((2, TUPLES_MAX + 2 * CHANGES_MAX, 3), np.int64)
    extremes = Extremes()
    for instance in range(instances):
        if instance % 200 == 0:
            tuples, extremes = 0, Extremes()
        goes = int(random.integers(min(tuples, CHANGES_MAX if batches else 1) + 1))
        comes = int(random.integers((CHANGES_MAX if batches else 1) + 1))
        comes = min(comes, TUPLES_MAX - tuples + goes)
        before, after = table[instance % 2], table[1 - instance % 2]
        before[:tuples] = before[random.permutation(tuples)]
        new = random.integers(0, [PARTITIONS, XS, YS], (comes, 3))
        if not batches and goes and comes:
            kept = random.random(3) < [0.9, 0.5, 0.5]
            new[0, kept] = before[0, kept]
        old, left = before[:goes], tuples - goes
        after[:left], after[left : left + comes] = before[goes:tuples], new
        if batches:
            told = extremes.net(_columns(old), _columns(new))
        else:
            told = extremes.process(_update(old, new))
        judged = messages_judge(before, tuples, after, left + comes, told, PARTITIONS, -1, XS)
        wrong += judged > 0
        tuples = left + comes
    return wrong


def _columns(rows: Ints) -> RangeTuples:
    return RangeTuples(*(np.ascontiguousarray(column) for column in rows.T))


def _update(old: Ints, new: Ints) -> RangeUpdates:
    sides = []
    for side in (old, new):
        there = np.array([len(side) > 0])
        row = side if len(side) else np.zeros((1, 3), np.int64)
        sides.append((there, _columns(row)))
    (goes, gone), (comes, here) = sides
    return RangeUpdates(
        goes, gone.partitions, gone.xs, gone.ys, comes, here.partitions, here.xs, here.ys
    )
