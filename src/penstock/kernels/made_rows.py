"""Tripling: pairs and triples of a join become made rows; each (tuple, row) is one."""

from __future__ import annotations

from penstock.kernels.arrays import Flags, Ints, Rows
from penstock.kernels.compilation import kernel


@kernel
def triples_number(
    tuples: Rows, slots: Rows, seen: Rows, number: Rows, first: int,
    events: Rows, made_tuples: Rows, made_slots: Rows,
) -> int:  # fmt: skip
    """Number the distinct (tuple, row slot) pairs from `first` on; equal tuples are neighbours.

    `seen` and `number` are by row slot; `seen` holds no tuple of these triples at the beginning.

    Returns
    -------
    int
        How many distinct pairs there are; their tuples and slots are written in that order.
    """
    made = 0
    for i in range(len(tuples)):
        slot = slots[i]
        if seen[slot] != tuples[i]:
            seen[slot] = tuples[i]
            number[slot] = first + made
            made_tuples[made] = tuples[i]
            made_slots[made] = slot
            made += 1
        events[i] = number[slot]
    return made


@kernel
def pairs_sort(
    tuples: Rows, slots: Rows, starts: Ints, sorted_tuples: Rows, sorted_slots: Rows
) -> None:  # fmt: skip
    """Bring the pairs of each tuple together; `starts` has a zero per tuple and one more."""
    for i in range(len(tuples)):
        starts[tuples[i] + 1] += 1
    for k in range(1, len(starts)):
        starts[k] += starts[k - 1]
    for i in range(len(tuples)):
        at = starts[tuples[i]]
        starts[tuples[i]] = at + 1
        sorted_tuples[at] = tuples[i]
        sorted_slots[at] = slots[i]


@kernel
def pairs_mark(tuples: Rows, seen: Flags) -> None:
    """Mark the tuples that some pair names."""
    for i in range(len(tuples)):
        seen[tuples[i]] = True


@kernel
def pairs_name(
    tuples: Rows, slots: Rows, event_of: Rows, number_of: Ints, events: Rows, numbers: Ints
) -> None:  # fmt: skip
    """Write the event of every pair's tuple and the number of its query."""
    for i in range(len(tuples)):
        events[i] = event_of[tuples[i]]
        numbers[i] = number_of[slots[i]]
