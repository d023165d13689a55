"""Flow: rows on their way from arrival through the windows into combinations.

All rows of streams stand in one order. A row that is next in it meets the rows of the other windows
as they are at its instant, so a combination is found once, through its youngest row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.multi_joins import MultiJoinStep
from penstock.algebra.trees import JoinPlan, Tree, joins_of
from penstock.operators.multi_join.cascade import ActiveRows, Cascade, LayoutTerm
from penstock.operators.multi_join.figures import COMPOSITES
from penstock.operators.multi_join.plans import pulled_masks
from penstock.operators.protocol import Share
from penstock.operators.shared import input_state as state
from penstock.operators.shared.combinations import Combinations
from penstock.operators.shared.fields import Fields, Matrix
from penstock.operators.shared.flow_operator import RowFlow
from penstock.operators.shared.inputs import (
    Input,
    Moved,
    StreamInput,
    TableInput,
    owners_of_all,
    tell_once,
)
from penstock.operators.shared.intake import Arrived, hurry, in_order, released_until
from penstock.operators.shared.queries import Queries
from penstock.operators.shared.selections import Selection
from penstock.operators.shared.terms import residual_names
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import Flags, Ints, Rows
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import HELD, HURRIED_ROWS, ROWS, STORED, of_inputs

"""What came, by the number of the input."""


class Flow(RowFlow):
    """The inputs of a group and the cascade that joins them."""

    def __init__(self, step: MultiJoinStep, queries: Queries, share: Share) -> None:
        self._step = step
        self._is_first = share.number == 0
        self._fields = Fields(step)
        names, owners = residual_names(step), owners_of_all(step, share)
        self.inputs: list[Input] = []
        for number, shape in enumerate(step.inputs):
            terms = self._fields.terms[number]
            selection = Selection(shape, number, terms, names[number], queries)
            kind = StreamInput if shape.window else TableInput
            self.inputs.append(kind(number, shape, selection, self._fields, owners[number]))
        self.streams = [each for each in self.inputs if isinstance(each, StreamInput)]
        self.tables = [each for each in self.inputs if isinstance(each, TableInput)]
        tell_once(self.streams)
        self._cascade = self._new_cascade()
        self._arranged: tuple[Tree, tuple[LayoutTerm, ...]] | None = None
        self.oldest: Ints = np.zeros(len(self.inputs), dtype=np.int64)
        """The first row of every window when rows were last released."""

    def _new_cascade(self) -> Cascade:
        windows = [shape.window for shape in self._step.inputs]
        names = [shape.relation for shape in self._step.inputs]
        fields = self._fields
        return Cascade(windows, fields.widths, fields.links, fields.tests, names=names)

    def arrange(self, plan: JoinPlan, slots: Rows) -> None:
        """Let leaves, tables and joins follow the queries and the plan that hold now."""
        pulled = pulled_masks(plan)
        terms: list[LayoutTerm] = []
        for each in self.inputs:
            number, selection = each.number, each.selection
            parts = ((number, "terms") not in pulled, (number, "residual") not in pulled)
            if selection.arrange(slots, *parts):
                if isinstance(each, StreamInput):
                    each.sure_from = each.contents.next
                else:
                    self._follow(each)
            if (number, "terms") in pulled:
                mask = pulled[number, "terms"]
                terms += [LayoutTerm(number, t.field, *t.union.span, mask) for t in selection.asked]
        if self._arranged != (plan.tree, tuple(terms)):
            self._arranged = plan.tree, tuple(terms)
            self._cascade.arrange(*self._arranged)

    def _follow(self, each: TableInput) -> None:
        """Bring those rows of a table into the cascade that queries may want now."""
        live = each.side.in_order()
        wanted = each.wanted(live, None)
        inside = live[each.ids[live] >= 0]
        left = inside[~np.isin(inside, wanted)]
        if len(left):
            self._cascade.delete(each.number, each.ids[left])
            each.leave(left)
        self._enter(each, wanted[each.ids[wanted] < 0])

    def _enter(self, each: TableInput, slots: Rows) -> None:
        if len(slots):
            each.enter(slots, self._cascade.insert(each.number, each.matrix[slots]))

    # Rows come.

    def lows(self) -> Ints:
        """Give, for every input, a time below which it has no row and gets none."""
        found = np.full(len(self.inputs), LOWEST_TIME + 1, dtype=np.int64)
        heads = self._cascade.heads
        for each in self.streams:
            head = int(heads[each.number])
            found[each.number] = each.low(np.arange(head, min(head + 1, each.contents.next)))
        return found

    def change_tables(self, batch: Mapping[str, pa.Table], counts: Tally) -> state.Parts:
        """Take the changes of tables; give those that took effect."""
        parts = {}
        for each in self.tables:
            table = batch.get(each.shape.relation)
            if table is not None and table.num_rows:
                changes, signs, moved = each.change(table, counts)
                self._move(each, moved, counts)
                if len(signs):
                    parts[each.number] = state.changes_part(changes, signs)
        return parts

    def _move(self, each: TableInput, moved: Moved, counts: Tally) -> None:
        if len(moved.gone):
            self._cascade.delete(each.number, moved.gone)
        wanted = each.wanted(moved.came, counts)
        counts[STORED, each.number] += len(wanted)
        self._enter(each, wanted)

    def arrive(self, batch: Mapping[str, pa.Table], plan: JoinPlan, counts: Tally) -> state.Parts:
        """Take rows of streams: those that are not late wait for their turn, unless too many do."""
        parts = {}
        for each in self.streams:
            table = batch.get(each.shape.relation)
            if table is not None and table.num_rows:
                share = plan.share(each.number)
                rows = each.arrive(table, share, plan.boxes == "subset", counts)
                if len(rows):
                    parts[each.number] = state.arrived_part(rows)
        hurried = hurry([each.intake for each in self.streams], self._step.waiting)
        # Every shard lets the same rows wait: one of them tells.
        counts[HURRIED_ROWS] += hurried * self._is_first
        return parts

    def release(self, emit: bool, counts: Tally) -> tuple[Combinations, int]:
        """Let all rows go on that need not wait; give what they make, and the oldest's time."""
        intakes = [each.intake for each in self.streams]
        released: list[tuple[StreamInput, Arrived]] = []
        for each in self.streams:
            rows = each.intake.release(released_until(intakes, each.number))
            if len(rows):
                released.append((each, rows))
        assert sum(len(each.waiting) for each in intakes) <= self._step.waiting
        fields: list[Matrix] = [np.empty((0, width), np.int64) for width in self._fields.widths]
        if not released:
            return np.empty((0, len(fields)), dtype=np.int64), self.reached()
        stored: list[Flags] = []
        for each, rows in released:
            own, fields[each.number] = each.enter(rows, counts)
            stored.append(own)
        inputs = np.repeat([s.number for s, _ in released], [len(r) for _, r in released])
        times = np.concatenate([rows.times for _, rows in released])
        flags = np.concatenate(stored)
        if not in_order(times):
            # Stable: rows of one time stay by input, then by arrival.
            order = np.argsort(times, kind="stable")
            inputs, times, flags = inputs[order], times[order], flags[order]
        everything = np.ones(len(times), dtype=np.bool_)
        self._cascade.counts()
        self.oldest = np.array(self._cascade.heads)
        found = self._cascade.feed(
            inputs.astype(np.int8), times, everything, flags, fields, emit=emit
        )
        counts.add(self._cascade.counts())
        return found, int(times[0])

    def repeat(self, parts: list[state.Part], told: list[dict[str, Any]]) -> None:
        """Take what came to another copy, silently."""
        counts = Tally()
        for each, part, fact in zip(self.inputs, parts, told, strict=True):
            if isinstance(each, StreamInput):
                each.intake.take(state.arrived_of(part))
                each.intake.restore(fact)
            else:
                self._move(each, each.repeat(*state.changes_of(part)), counts)
        self.release(emit=False, counts=counts)

    # Rows go.

    def nexts(self) -> Ints:
        """Give the number of the next row of every stream, 0 for tables."""
        found = np.zeros(len(self.inputs), dtype=np.int64)
        for each in self.streams:
            found[each.number] = each.contents.next
        return found

    def forget(self) -> None:
        """Forget rows that left their windows, and texts of no row."""
        heads = np.array(self._cascade.heads)
        for each in self.streams:
            each.contents.forget(int(heads[each.number]))
        rows = int((self.nexts() - heads).sum()) + sum(len(each.side) for each in self.tables)
        if self._fields.overgrown(rows):
            self._recode()

    def _recode(self) -> None:
        """Forget the codes of texts that no row has; the cascade begins anew with the others."""
        kept = {each.number: self._cascade.rows(each.number) for each in self.streams}
        slots = {each.number: each.side.in_order() for each in self.tables}
        matrices: list[Matrix] = [
            each.matrix[slots[each.number]]
            if isinstance(each, TableInput)
            else kept[each.number].fields.copy()
            for each in self.inputs
        ]
        self._fields.shrink(matrices)
        self._cascade = self._new_cascade()
        for each in self.streams:
            own = kept[each.number]
            self._restore(each, own.times, own.sequences, own.counter, matrices[each.number])
        for table in self.tables:
            table.matrix[slots[table.number]] = matrices[table.number]
            self._enter(table, table.leave_all())
        if self._arranged is not None:
            self._cascade.arrange(*self._arranged)

    # State.

    def _restore(
        self, each: StreamInput, times: Ints, sequences: Ints, counter: int, fields: Matrix
    ) -> None:
        following = each.contents.next
        rows = ActiveRows(
            ids=np.arange(following - len(times), following), times=times, sequences=sequences,
            fields=fields, counter=counter, following=following,
        )  # fmt: skip
        self._cascade.restore(each.number, rows)

    def snapshot(self) -> tuple[list[state.Part], dict[str, Any]]:
        """Give the rows of all inputs, and what else they keep."""
        parts: list[state.Part] = []
        counters = []
        for each in self.inputs:
            if isinstance(each, StreamInput):
                own = self._cascade.rows(each.number)
                parts += state.stream_parts(each, own.ids, own.sequences)
                counters.append([own.counter, own.following])
            else:
                parts.append(state.rows_part(each))
                counters.append([])
        return parts, {"inputs": state.facts_of(self.inputs), "counters": counters}

    def restore(self, parts: list[state.Part], facts: dict[str, Any]) -> None:
        """Take what `snapshot` gave."""
        left = iter(parts)
        for each, own, counters in zip(
            self.inputs, facts["inputs"], facts["counters"], strict=True
        ):
            table, places = next(left)
            numbers = state.numbers_of(places, state.NUMBER)
            if isinstance(each, StreamInput):
                counter, following = counters
                fields = each.restore(table, following - table.num_rows)
                times, _ = each.reader.times(table)
                self._restore(each, times, numbers, counter, fields)
                each.intake.restore(own)
                each.intake.take(state.arrived_of(next(left)))
            else:
                signs = np.ones(table.num_rows, dtype=np.int8)
                each.repeat(table, signs, numbers)
                each.next = own["next"]

    def sizes(self) -> Tally:
        """Say how many rows are active, how many composites are kept, how many rows wait."""
        found = Tally(
            {(ROWS, each.number): self._cascade.active(1 << each.number) for each in self.inputs}
        )
        assert self._arranged is not None
        for join in list(joins_of(self._arranged[0]))[:-1]:
            found[COMPOSITES, of_inputs(join.mask)] = self._cascade.active(join.mask)
        found[HELD] = sum(len(each.intake.waiting) for each in self.streams) * self._is_first
        return found
