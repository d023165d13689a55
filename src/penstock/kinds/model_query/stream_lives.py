"""Lives of streams: in which batches a model stream ran, as a recorded home knows it.

A stream runs while one of the groups that read it does; it begins anew behind a batch in which all
of them were suspended.
"""

from __future__ import annotations

import numpy as np

from penstock.kinds.model_query.gate_cycle import readers_of
from penstock.kinds.protocol import AnswerComparison


def stream_beginning(asked: AnswerComparison, stream: str, batch: int) -> int:
    """Give the batch in which the life of a stream began that runs in a batch."""
    readers = set(readers_of(asked.registry, stream))
    firsts: dict[str, int] = {}
    for change in asked.registry.reader(0, asked.registry.version):
        for group in change.steps.keys() & readers:
            firsts.setdefault(group, int(np.searchsorted(asked.versions, change.version)))
    rests = [
        own
        for own in asked.registry.suspensions.all()
        if own.group in readers and own.query is None
    ]
    first = min(firsts.values(), default=batch)
    if not rests:
        return min(first, batch)

    def runs(number: int) -> bool:
        version = int(asked.versions[number])
        resting = {own.group for own in rests if own.holds(number, version)}
        return any(own <= number and group not in resting for group, own in firsts.items())

    while batch > first and runs(batch - 1):
        batch -= 1
    return batch
