"""Agreement: subscribers that are told in three ways hold what a recomputation gives, always."""

from __future__ import annotations

import numpy as np

from penstock.kernels.range_messages import RangeMessages
from penstock.lab.dissemination.answers import RangeAnswers
from penstock.lab.dissemination.workload import drawn_ranges, uniform_trace
from penstock.operators.shared.subscription_points import rectangles

TUPLES, RANGES = 60, 120
SPIKES = 0.05


def disagreeing_events(random: np.random.Generator, events: int) -> int:
    """Count events after which anybody holds another value than a recomputation gives.

    By S-CN, every subscription asks each message by its four comparisons, and forgets it. By S-UN,
    the server finds the affected. By CN, everybody keeps all tuples of his range.
    """
    trace, ranges = uniform_trace(random, TUPLES, events, SPIKES), drawn_ranges(random, RANGES)
    extremes, answers, zeros = trace.extremes(), RangeAnswers(), np.zeros_like(ranges.x1s)
    known = extremes.answers(zeros, ranges.x1s, ranges.x2s)
    answers.add(np.arange(RANGES), zeros, ranges.x1s, ranges.x2s, *known)
    semantic, now = known[0].copy(), trace.ys.copy()
    holds = (ranges.x1s[:, None] <= trace.xs) & (trace.xs <= ranges.x2s[:, None])
    none = np.iinfo(np.int64).max
    kept = np.where(holds, now, none)
    wrong = 0
    for k in range(events):
        messages = extremes.process(trace.updates(k, k + 1))
        answers.tell(messages)
        _hear(messages, ranges.x1s, ranges.x2s, semantic)
        who = trace.who[k]
        now[who] = trace.new[k]
        kept[holds[:, who], who] = trace.new[k]
        truth = np.where(holds, now, none).min(axis=1)
        truth[truth == none] = 0
        least = kept.min(axis=1)
        least[least == none] = 0
        unicast = answers.values[:RANGES]
        same = all(np.array_equal(truth, each) for each in (semantic, unicast, least))
        wrong += not same
    return wrong


def _hear(messages: RangeMessages, x1s: np.ndarray, x2s: np.ndarray, values: np.ndarray) -> None:
    """Let every subscription compare itself with each message."""
    _, outer_l, inner_l, inner_r, outer_r = rectangles(messages)
    for m in range(len(messages.values)):
        mine = (outer_l[m] <= x1s) & (x1s <= inner_l[m]) & (inner_r[m] <= x2s) & (x2s <= outer_r[m])
        values[mine] = messages.values[m]
