"""Rows that wait, drawn by chance: as the slow twin says, never more than may."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.operators.shared.intake import Arrived, Intake, hurry, released_until
from tests.oracle.multijoins import Streams, WaitingTwin, released

SCHEMA = pa.schema([("place", pa.int64())])
TIMES = st.lists(st.integers(0, 12), max_size=6)
BATCHES = st.lists(st.tuples(TIMES, TIMES, TIMES), min_size=1, max_size=6)
LATENESS = st.tuples(*[st.integers(0, 3)] * 3)


class Intakes:
    """The inputs of a join, whose rows are known by their places in their streams."""

    def __init__(self, lateness: tuple[int, ...], most: int) -> None:
        self.all = [Intake(number, own, SCHEMA) for number, own in enumerate(lateness)]
        self.most = most
        self.places = [0] * len(lateness)

    def come(self, each: Intake, times: list[int]) -> int:
        """Take a stream's rows of a batch; give how many are late."""
        array = np.array(times, dtype=np.int64)
        late = each.late(array, np.ones(len(array), dtype=np.bool_))
        places = self.places[each.number] + np.flatnonzero(~late)
        self.places[each.number] += len(times)
        each.number_rows(len(places))
        kept = np.ones(len(places), dtype=np.bool_)
        table = pa.table({"place": places}, schema=SCHEMA)
        each.take(Arrived(times=array[~late], kept=kept, table=table))
        return int(late.sum())

    def release(self) -> list[tuple[int, int, int]]:
        until = [released_until(self.all, each.number) for each in self.all]
        found = []
        for each, end in zip(self.all, until, strict=True):
            rows = each.release(end)
            places = rows.table["place"].to_pylist()
            found += [(int(t), each.number, p) for t, p in zip(rows.times, places, strict=True)]
        return sorted(found)


@given(batches=BATCHES, lateness=LATENESS, most=st.integers(1, 9), cut=st.integers(0, 5))
@settings(max_examples=300)
def test_rows_wait_as_the_twin_says(batches, lateness, most, cut) -> None:
    """Also in a copy that is made anew in mid run."""
    own, twin = Intakes(lateness, most), WaitingTwin(dict(enumerate(lateness)), most)
    for turn, batch in enumerate(batches):
        if turn == cut:
            facts = [(each.facts(), each.waiting) for each in own.all]
            own.all = [Intake(number, late, SCHEMA) for number, late in enumerate(lateness)]
            for each, (known, waiting) in zip(own.all, facts, strict=True):
                each.restore(known)
                each.take(waiting)
        before = twin.late, twin.hurried
        late = 0
        for each, times in zip(own.all, batch, strict=True):
            late += own.come(each, times)
            for time in times:
                came = twin.arrive(each.number, time)
                twin.waiting += [came] if came is not None else []
        hurried = hurry(own.all, most)
        expected = [(row.time, row.number, row.place) for row in twin.release()]
        assert own.release() == sorted(expected)
        assert (late, hurried) == (twin.late - before[0], twin.hurried - before[1])
        assert sum(len(each.waiting) for each in own.all) == len(twin.waiting) <= most


@given(batches=BATCHES, lateness=LATENESS)
def test_where_nobody_hurries_only_the_streams_matter(batches, lateness) -> None:
    """The twin lets go, batch by batch, what the whole streams say."""
    twin = WaitingTwin(dict(enumerate(lateness)), 10**6)
    gone = []
    for batch in batches:
        for number, times in enumerate(batch):
            came = [twin.arrive(number, time) for time in times]
            twin.waiting += [row for row in came if row is not None]
        gone += twin.release()
    streams: Streams = {
        number: ([batch[number] for batch in batches], own) for number, own in enumerate(lateness)
    }
    assert gone == released(streams)


@given(batches=BATCHES, lateness=LATENESS, chance=st.randoms(use_true_random=False))
def test_the_order_of_rows_within_a_batch_makes_none_late(batches, lateness, chance) -> None:
    shuffled = [tuple(chance.sample(times, len(times)) for times in batch) for batch in batches]
    rows = []
    for some in (batches, shuffled):
        intakes = Intakes(lateness, 10**6)
        late = [
            intakes.come(e, t) for batch in some for e, t in zip(intakes.all, batch, strict=True)
        ]
        rows.append((late, [(time, number) for time, number, _ in intakes.release()]))
    assert rows[0] == rows[1]
