"""Flow: rows of streams on their way from arrival into the cache and into pairs.

Released rows stand in one order and are taken in twos: rows 2t and 2t + 1 are tick t. (Of three
streams in threes, and so on.) A row joins with what is held and with the other rows of its tick;
then the policy says who stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.bounded_joins import BoundedJoinStep
from penstock.operators.bounded.caches import EVERY_OTHER, NO_WINDOW, Account, Fed, JoinCache
from penstock.operators.bounded.policy_control import Steering
from penstock.operators.bounded.recall import LIMIT, RecallMeter, with_other
from penstock.operators.bounded_join.figures import (
    EVICTED,
    EXPIRED,
    JOIN_RECALL_ALL,
    JOIN_RECALL_MADE,
    RECALL_ALL,
    RECALL_MADE,
    REFUSED,
)
from penstock.operators.bounded_join.inputs import BoundedInput, Entered
from penstock.operators.bounded_join.keys import JoinKeys
from penstock.operators.bounded_join.shapes import ShapeQueries, joins_of
from penstock.operators.protocol import Share
from penstock.operators.shared import input_state as state
from penstock.operators.shared.codec import arrays_of
from penstock.operators.shared.combinations import Combinations
from penstock.operators.shared.flow_operator import RowFlow
from penstock.operators.shared.inputs import Input, tell_once
from penstock.operators.shared.intake import Arrived, hurry, in_order, released_until
from penstock.vocabulary.batches import Flags, Ints
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import (
    HELD,
    HITS,
    HURRIED_ROWS,
    LAW,
    MADE,
    PROBES,
    ROWS,
    ROWS_BUDGET,
    ROWS_UNDER,
    of_inputs,
)


class BoundedFlow(RowFlow):
    """The streams of a group, what is held of them, and who says what that is."""

    def __init__(self, step: BoundedJoinStep, share: Share) -> None:
        memory = step.memory
        self._waiting_max = step.waiting
        self._is_first = share.number == 0
        self._shared = step.shared
        self.keys = JoinKeys(step)
        self.streams: list[BoundedInput] = [
            BoundedInput(number, step, self.keys, share) for number in range(len(step.inputs))
        ]
        self.inputs: list[Input] = list(self.streams)
        tell_once(self.streams)
        self.budget = memory.share(share.number, share.count)
        assert self.budget >= 1, "every shard has a row"
        windows = [shape.window for shape in step.inputs]
        self._sizes = [None if window is None else window.size for window in windows]
        self.joins: Flags = EVERY_OTHER
        """Which streams join each other; in a shared memory, those whose joins somebody asks."""
        if step.shared:
            self.joins = joins_of(len(self.streams), ())
        self.steering = Steering(
            memory, numeric=self.keys.numeric, budget=self.budget, joins=self.joins,
            windows=tuple(None if size is None else float(size) for size in self._sizes),
        )  # fmt: skip
        self.cache = self._new_cache()
        sizes = tuple(NO_WINDOW if size is None else size for size in self._sizes)
        limit = max(1, int(memory.options.get("slice", LIMIT)) // share.count)
        self.meter = RecallMeter(sizes, limit)
        self.oldest: Ints = np.zeros(len(self.streams), dtype=np.int64)
        """The oldest row of every stream when rows were last released."""

    def _new_cache(self) -> JoinCache:
        policy = self.steering.policy()
        return JoinCache(self.budget, policy, joins=self.joins, windows=self._sizes)

    def arrange(self, shapes: Sequence[ShapeQueries], shared: bool) -> None:
        """Let the streams be asked what the queries ask that stand now.

        Where they share a memory, the streams that they join decide what its rows are worth.
        """
        for each in self.streams:
            each.asking = [
                shape.inputs[each.number] for shape in shapes if each.number in shape.pair
            ]
        for shape in shapes:
            shape.arrange(self.cache.arrivals)
        if shared:
            joins = joins_of(len(self.streams), [shape.pair for shape in shapes])
            if not np.array_equal(joins, self.joins):
                self.joins = joins
                self.steering.rejoin(self.cache, joins)

    # Rows come.

    def lows(self) -> Ints:
        """Give, for every stream, a time below which no row is held and none comes."""
        held = zip(self.streams, self._held(), strict=True)
        return np.array([each.low(own) for each, own in held], dtype=np.int64)

    def arrive(self, batch: Mapping[str, pa.Table], counts: Tally) -> state.Parts:
        """Take rows: those that are not late wait for their turn, unless too many do."""
        parts = {}
        for each in self.streams:
            table = batch.get(each.shape.relation)
            if table is not None and table.num_rows:
                rows = each.come(table, counts)
                if len(rows):
                    parts[each.number] = state.arrived_part(rows)
        hurried = hurry(
            [each.intake for each in self.streams], self._waiting_max, len(self.streams)
        )
        # Every shard lets the same rows wait: one of them tells.
        counts[HURRIED_ROWS] += hurried * self._is_first
        return parts

    def repeat(self, parts: list[state.Part], told: list[dict[str, Any]]) -> None:
        """Take what came to another copy, silently."""
        for each, part, fact in zip(self.streams, parts, told, strict=True):
            each.intake.take(state.arrived_of(part))
            each.intake.restore(fact)
        self.release(emit=False, counts=Tally())

    def release(self, emit: bool, counts: Tally) -> tuple[Combinations, int]:
        """Let rows go on that need not wait; give the pairs they make, and the oldest's time."""
        self.oldest = self.cache.oldest
        released, order = self._released()
        if len(order) == 0:
            return np.empty((0, len(self.streams)), dtype=np.int64), self.reached()
        entered = [
            each.ask(rows, counts) for each, rows in zip(self.streams, released, strict=True)
        ]
        inputs = np.repeat(np.arange(len(released)), [len(rows) for rows in released])[order]
        times = np.concatenate([rows.times for rows in released])[order]
        done = sum(each.released for each in self.streams)
        ticks = (done + np.arange(len(order))) // len(self.streams)
        nows = np.column_stack([each.measure(inputs, times) for each in self.streams])
        for each, rows in zip(self.streams, released, strict=True):
            each.released += len(rows)
        fed = self._numbered(entered, order)
        pairs = self._feed(entered, order, inputs, ticks, nows, fed, emit, counts)
        late = inputs[fed][pairs[:, 0] - (self.cache.arrivals - len(fed))]
        return self._combined(pairs, late), int(times[0])

    def _combined(self, pairs: Ints, late: Ints) -> Combinations:
        """Give pairs as combinations: -1 where an input is not joined.

        `late` are the streams of the later rows, which come first in their pairs.
        """
        if len(self.streams) == 2:
            return np.where((late == 0)[:, None], pairs, pairs[:, ::-1])
        found: Combinations = np.full((len(pairs), len(self.streams)), -1, dtype=np.int64)
        found[np.arange(len(pairs)), late] = pairs[:, 0]
        for each in self.streams:
            own = each.rows.know(pairs[:, 1])
            found[own, each.number] = pairs[own, 1]
        return found

    def _released(self) -> tuple[list[Arrived], Ints]:
        """Take rows out of the intakes, as many as make ticks; give them and their one order."""
        intakes = [each.intake for each in self.streams]
        released = [each.release(released_until(intakes, each.number)) for each in intakes]
        times = np.concatenate([rows.times for rows in released])
        # Stable: rows of one time stay by input, then by arrival.
        order = np.arange(len(times)) if in_order(times) else np.argsort(times, kind="stable")
        if over := len(order) % len(intakes):
            order, back = order[:-over], np.sort(order[-over:])
            whose = np.searchsorted(np.cumsum([len(rows) for rows in released]), back, side="right")
            for number, count in enumerate(np.bincount(whose, minlength=len(intakes)).tolist()):
                rows, intake = released[number], intakes[number]
                kept = len(rows) - count
                intake.waiting = rows.part(kept, len(rows)).followed_by(intake.waiting)
                released[number] = rows.part(0, kept)
            # Rows that wait were the last of their streams: the places of others move up.
            order = order - np.searchsorted(back, order)
        assert sum(len(each.waiting) for each in intakes) <= self._waiting_max
        return released, order

    def _numbered(self, entered: list[Entered], order: Ints) -> Ints:
        """Number the wanted rows in their order and take in those kept; give their places."""
        wanted = np.concatenate([rows.wanted for rows in entered])[order]
        fed = np.flatnonzero(wanted)
        numbers = np.empty(len(order), dtype=np.int64)
        numbers[order[fed]] = self.cache.arrivals + np.arange(len(fed))
        begin = 0
        for each, rows in zip(self.streams, entered, strict=True):
            own = numbers[begin : begin + len(rows.wanted)]
            begin += len(rows.wanted)
            each.rows.add(own[rows.owned], rows.table)
        return fed

    def _feed(
        self, entered: list[Entered], order: Ints, inputs: Ints, ticks: Ints, nows: Ints, fed: Ints,
        emit: bool, counts: Tally,
    ) -> Ints:  # fmt: skip
        """Feed wanted rows, tick by tick; between ticks the policy is steered when it is time."""
        streams, ticks, nows = inputs[fed], ticks[fed], nows[fed]
        keys = np.concatenate([rows.keys for rows in entered])[order[fed]]
        owned = np.concatenate([rows.owned for rows in entered])[order[fed]]
        stamps = nows[np.arange(len(fed)), streams]
        before = self.cache.account
        pairs = [np.empty((0, 2), dtype=np.int64)]
        for part, done in self.steering.feed(
            self.cache, streams, keys, ticks, stamps=stamps, nows=nows, owned=owned, emit=emit
        ):
            recalled = self.meter.feed_joins(
                streams[part], keys[part], stamps[part], nows[part],
                self._by_partner(done, streams[part]), owned[part], self.joins,
            )  # fmt: skip
            pairs.append(done.pairs)
            _count(counts, done.found, owned[part])
            self._count_recall(counts, *recalled)
        _count_went(counts, before, self.cache.account)
        return np.concatenate(pairs)

    def _by_partner(self, done: Fed, streams: Ints) -> Ints:
        """Give the results of rows that were just fed by the streams that they are with."""
        count = len(self.streams)
        if count == 2:
            return with_other(streams, done.found)
        partners = np.zeros(len(done.pairs), dtype=np.int64)
        for each in self.streams:
            partners[each.rows.know(done.pairs[:, 1])] = each.number
        later = done.pairs[:, 0] - (self.cache.arrivals - len(streams))
        found = np.bincount(later * count + partners, minlength=len(streams) * count)
        return found.reshape(len(streams), count)

    def _count_recall(self, counts: Tally, made: Ints, there: Ints) -> None:
        counts[RECALL_MADE] += int(made.sum())
        counts[RECALL_ALL] += int(there.sum())
        for one, other in np.argwhere(np.triu(self.joins)).tolist() if self._shared else ():
            inputs = of_inputs(1 << one | 1 << other)
            counts[JOIN_RECALL_MADE, inputs] += int(made[one, other] + made[other, one])
            counts[JOIN_RECALL_ALL, inputs] += int(there[one, other] + there[other, one])

    # Rows go.

    def forget(self) -> None:
        """Forget what is not held any more."""
        held = self.cache.held
        if any(each.rows.has_many_dead(own) for each, own in zip(self.streams, held, strict=True)):
            for each, numbers in zip(self.streams, self._held(), strict=True):
                each.rows.keep(numbers)
        for each in self.streams:
            each.rows.merge()

    def _held(self) -> list[Ints]:
        rows = self.cache.rows
        return [rows.numbers[rows.streams == number] for number in range(len(self.streams))]

    # State.

    def snapshot(self) -> tuple[list[state.Part], dict[str, Any]]:
        """Give the rows that are held and that wait, and all that says who goes next."""
        parts = []
        for each, numbers in zip(self.streams, self._held(), strict=True):
            parts.append(state.held_part(each.rows.take(numbers), numbers))
            parts.append(state.arrived_part(each.intake.waiting))
        parts += [
            state.arrays_part(own.arrays()) for own in (self.steering, self.cache, self.meter)
        ]
        released = [each.released for each in self.streams]
        joins = {} if self.joins is EVERY_OTHER else {"joins": self.joins.astype(int).tolist()}
        return parts, {"inputs": state.facts_of(self.inputs), "released": released, **joins}

    def restore(self, parts: list[state.Part], facts: dict[str, Any]) -> None:
        """Take what `snapshot` gave."""
        left = iter(parts)
        for each, own, released in zip(
            self.streams, facts["inputs"], facts["released"], strict=True
        ):
            table, numbers = state.held_of(next(left))
            each.rows.add(numbers, table)
            each.intake.take(state.arrived_of(next(left)))
            each.intake.restore(own)
            each.released = released
        if "joins" in facts:
            self.joins = np.array(facts["joins"], dtype=np.bool_)
            self.steering.rejoin(self.cache, self.joins)
        self.steering.restore(arrays_of(next(left)[0]))
        self.cache = self._new_cache()
        self.cache.restore(arrays_of(next(left)[0]))
        self.meter.restore(arrays_of(next(left)[0]))

    # Figures.

    def sizes(self) -> Tally:
        """Say how many rows are held and wait, and which laws are in force."""
        found = Tally({(ROWS, number): own for number, own in enumerate(self.cache.held)})
        found[ROWS_BUDGET] = found[ROWS_UNDER, self.cache.policy.name] = self.budget
        found[HELD] = sum(len(each.intake.waiting) for each in self.streams) * self._is_first
        for number, family in enumerate(self.steering.families):
            found[LAW, number] = family
        return found


def _count(counts: Tally, found: Ints, owned: Flags) -> None:
    counts[PROBES] += int(np.count_nonzero(owned))
    counts[HITS] += int(np.count_nonzero(found))
    counts[MADE, of_inputs(0b11)] += int(found.sum())


def _count_went(counts: Tally, before: Account, after: Account) -> None:
    for figure in (REFUSED, EVICTED, EXPIRED):
        counts[figure] += getattr(after, figure.name) - getattr(before, figure.name)
