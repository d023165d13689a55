"""ViewOperator: takes changes of base relations to the store of a view, turn by turn.

The store is the truth of base rows, queues and the view. What is kept here is the number of the
turn, and changes that wait for a store which does not answer.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from time import perf_counter_ns
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.physical import PLAN_PORT
from penstock.algebra.views import ViewStep, change_column
from penstock.expressions.allowances import EvaluationError
from penstock.operators.protocol import NO_CLOCKS, WHOLE, Share
from penstock.operators.shared.codec import from_bytes, to_bytes
from penstock.operators.shared.entries import PORT
from penstock.operators.shared.residuals import nan_to_null, without_nan
from penstock.operators.view import figures
from penstock.operators.view.refresh_times import RefreshTimes
from penstock.views.addresses import open_view
from penstock.views.errors import StoreGoneError, StoreTextError, StoreTurnError
from penstock.views.maintenance.decisions import Decisions, FlushPlan
from penstock.views.protocol import WEIGHT, Flush, ViewStore
from penstock.views.rehearsals import is_rehearsed, rehearsed
from penstock.vocabulary.batches import Ints, QueryChanges, Results
from penstock.vocabulary.changes import meanings_of, sign_beside
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.shared_figures import QUERIES, RESULTS, ROWS_WAITING

WAITING_MAX = 1_000_000
"""Changes that may wait for a store that does not answer."""
NO_ROWS = pa.table({})


class ViewOperator:
    """Maintains one view.

    Attributes
    ----------
    gives
        The view's name.
    resolved
        How its rows changed in the last batch; None: they did not.
    """

    def __init__(
        self,
        step: ViewStep,
        snapshot: bytes | None = None,
        share: Share = WHOLE,
        store: ViewStore | None = None,
    ) -> None:
        self.step = step
        self.gives = step.gives
        self.resolved: pa.Table | None = None
        self._share = share
        self._store = store
        self._query: int | None = None
        self._plan: FlushPlan | None = None
        self._turn = 0
        self._waiting: dict[int, list[pa.Table]] = {}
        self._sent: dict[int, pa.Table] | None = None
        """What the next turn was asked to take, if no answer came: it may have been taken."""
        self._asked = False
        """Whether somebody may have refreshed since the last turn: after a start nobody knows."""
        self._pending: Ints = np.zeros(len(step.definition.inputs), np.int64)
        self._begins = False
        """Whether the next turn is the first."""
        self._is_fresh_state = False
        self._counts, self._refreshed = Tally(), Tally()
        self._times = RefreshTimes()
        if snapshot is not None:
            self.catch_up(snapshot)
            self._is_fresh_state = False

    # Queries.

    def apply(self, changes: QueryChanges) -> None:
        """Take the view's own query, and the curves that are in force."""
        queries = changes.adds.get(PORT)
        if self._query is not None and self._query in changes.drops:
            self._query = None
        if queries is not None and queries.num_rows:
            self._query = int(queries["query"][-1].as_py())
        plans = changes.adds.get(PLAN_PORT)
        if plans is not None and plans.num_rows:
            self._plan = FlushPlan.from_json(json.loads(plans["plan"][-1].as_py()))

    @property
    def store(self) -> ViewStore:
        """The store, opened when it is first asked for."""
        if self._store is None:
            assert self._query is not None, "a view that nobody asked for has no store"
            self._store = open_view(self.step, self._share.home, self._query)
        return self._store

    def close(self) -> None:
        """Let go of the store."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _decisions(self) -> Decisions:
        return Decisions(self.step.policy, self.step.bound_us / 1e6, self._plan)

    # Data.

    def begin(self, tables: Mapping[str, pa.Table], clocks: Mapping[str, int] = NO_CLOCKS) -> None:
        """Take the rows that base tables hold; clocks say nothing to a view."""
        del clocks
        self._begins = True
        for number, each in enumerate(self.step.definition.inputs):
            if each.relation in tables:
                self._await(number, tables[each.relation], None)

    def process(self, batch: Mapping[str, pa.Table]) -> list[Results]:
        """Take a batch's changes in one turn of the store."""
        self.resolved = None
        self._counts, self._refreshed = self._refreshed, Tally()
        if self._query is None:
            return []
        for number, each in enumerate(self.step.definition.inputs):
            table = batch.get(each.relation)
            if table is not None and table.num_rows:
                self._await(number, table, self.step.words[number])
        # A view without keys has a row before anything comes: the first turn tells of it.
        if not (self._waiting or self._asked or self._sent is not None) and self._turn:
            return []
        try:
            return self._results(self._take_turn())
        except StoreGoneError as error:
            self.close()
            self._refuse_too_many(error)
            return []
        except StoreTurnError as error:
            self.close()
            raise EvaluationError(error.code, error.fact, error.remedy) from error
        except StoreTextError as error:
            # The view is suspended; if it is resumed, it begins anew.
            self._reset()
            self.close()
            raise EvaluationError(error.code, error.fact, error.remedy) from error
        finally:
            self._is_fresh_state = True

    def _await(self, number: int, table: pa.Table, word: str | None) -> None:
        """Let changes of an input wait for the turn; in rows that come NaN is NULL."""
        columns = self.step.definition.inputs[number].columns
        weights = np.ones(table.num_rows, np.int64)
        if word is not None:
            weights[meanings_of(table[word]) < 0] = -1
        arrays = [_cast(nan_to_null(table[name]), type_) for name, type_ in columns]
        schema = pa.schema([*columns, (WEIGHT, pa.int64())])
        changes = pa.Table.from_arrays([*arrays, pa.array(weights)], schema=schema)
        if changes.num_rows:
            self._waiting.setdefault(number, []).append(changes)

    def _take_turn(self) -> pa.Table:
        """Take a turn with what waits; give what changed.

        One that got no answer is sent again as it was: the store may have taken it, and not come to
        say so. What waits then comes with the next batch: a batch that is run again must find its
        turn to be the last.
        """
        if self._sent is None:
            self._sent, self._waiting = _gathered(self._waiting), {}
        changes = self._sent
        come = np.zeros(len(self._pending), np.int64)
        for number, table in changes.items():
            come[number] = table.num_rows

        def choose(pending: Ints, memo: str) -> tuple[Collection[int], str]:
            return self._decisions().choose(come, pending, memo)

        self._begin()
        turn = self.store.turn(self._turn + 1, changes, choose)
        self._turn, self._pending = turn.number, turn.pending
        self._sent, self._asked = None, False
        self._counts[figures.TURNS] += 1
        self._count(turn.flushes, self._counts)
        if self.step.policy != "immediate" and is_rehearsed(turn.number):
            with suppress(StoreGoneError, StoreTextError):  # the turn is taken all the same
                self._rehearse(np.maximum(come, self._pending))
        return turn.changes

    def _rehearse(self, waiting: Ints) -> None:
        """Measure flushes of several sizes, and tell what they took: curves are drawn of it."""
        bound_s = self.step.bound_us / 1e6
        for number, count in enumerate(waiting.tolist()):
            for size, taken_s in rehearsed(self.store, number, count, bound_s).items():
                self._counts[figures.REHEARSAL, number, size] = max(round(taken_s * 1e9), 1)

    def _begin(self) -> None:
        """Let the store begin anew where the view does: what is there is of before it rested."""
        if self._begins:
            self.store.begin(self._share.version)
        self._begins = False

    def _reset(self) -> None:
        """Leave nothing in the store, but that what was told goes."""
        with suppress(StoreGoneError, StoreTextError):
            self.store.renew()

    def _count(self, flushes: tuple[Flush, ...], into: Tally) -> None:
        for flush in flushes:
            if self._plan is not None:
                self._times.compare(flush.seconds, self._plan.curves[flush.input](flush.changes))
            into[figures.FLUSHES, flush.input] += 1
            into[figures.FLUSHED, flush.input] += flush.changes
            into[figures.FLUSH_COST, flush.input] += round(flush.seconds * 1e9)

    def _results(self, changes: pa.Table) -> list[Results]:
        """Say how the view's rows changed, to readers of its relation and of its changes."""
        if changes.num_rows == 0:
            return []
        assert self._query is not None
        # A column of the view may have the name of the weights: these are the last.
        *columns, last = changes.columns
        weights = last.to_numpy()
        places = np.repeat(np.arange(len(weights)), np.abs(weights))
        shown = pa.table(columns, schema=self.step.definition.schema)
        rows = shown.take(pa.array(places))
        signs = np.sign(weights[places]).astype(np.int8)
        words = pa.array(np.where(signs > 0, "insert", "delete").tolist(), pa.string())
        names = rows.column_names
        self.resolved = without_nan(rows).append_column(change_column(names), words)
        made = rows.append_column(sign_beside(names), pa.array(signs))
        self._counts[RESULTS] += len(signs)
        query = np.full(len(signs), self._query, np.int64)
        return [
            Results(
                relation=self.step.relations[0],
                query=query,
                event=np.arange(len(signs), dtype=np.int32),
                rows=made,
            )
        ]

    def _refuse_too_many(self, error: PenstockError) -> None:
        waiting = self._rows_waiting()
        if waiting > WAITING_MAX:
            raise PenstockError(
                "VIEW-060",
                f"{waiting:,} changes wait for the store of the view {self.gives!r}, and "
                f"{WAITING_MAX:,} may: {error.fact}",
                "The batch was not taken: nothing is lost. Bring the store back and start again.",
            ) from error

    def _rows_waiting(self) -> int:
        waiting = [table for own in self._waiting.values() for table in own]
        return sum(table.num_rows for table in (*waiting, *(self._sent or {}).values()))

    # Reading, between two batches.

    def refresh(self) -> None:
        """Bring everything that waits into the view; the next batch tells what that changed."""
        expected_s = self._decisions().refresh_s(self._pending)
        started = perf_counter_ns()
        flushes = self.store.refresh()
        spent = perf_counter_ns() - started
        self._asked = True
        self._pending = self.store.pending()
        self._count(flushes, self._refreshed)
        self._refreshed[figures.REFRESHES] += 1
        self._refreshed[figures.REFRESH_TIME] += spent
        self._times.add(spent)
        if spent > self.step.bound_us * 1_000:
            cause = self._times.cause(expected_s=expected_s, bound_s=self.step.bound_us / 1e6)
            self._refreshed[figures.MISSES, cause] += 1

    def rows(self) -> pa.Table:
        """Give the rows of the view as they were told, to queries that begin with them.

        They are told of the rest like all others: of what a reader's refresh brought in since, of a
        turn that is taken again, of the row that a view without keys has from the first. A row of
        a view is a row like others to who reads it: NaN is NULL.
        """
        try:
            self._begin()
            return without_nan(self.store.rows(self._turn))
        except StoreGoneError as error:
            self.close()
            remedy = "Bring the store back, and RESUME the query that was to begin with its rows."
            raise EvaluationError(error.code, error.fact, remedy) from error

    # State.

    def delta(self) -> bytes | None:
        """Give the number of the turn and what waits, if that changed."""
        if not self._is_fresh_state:
            return None
        self._is_fresh_state = False
        return self.snapshot()

    def catch_up(self, delta: bytes) -> None:
        """Take what another copy came to."""
        parts, facts = from_bytes(delta)
        self._turn = int(facts["turn"])
        self._asked = True
        self._pending = np.array(facts["pending"], np.int64)
        tables = [table for table, _ in parts]
        sent = facts["sent"]
        self._sent = None
        if sent is not None:
            self._sent = dict(zip(sent, tables[: len(sent)], strict=True))
        rest = zip(facts["inputs"], tables[len(sent or ()) :], strict=True)
        self._waiting = {number: [table] for number, table in rest}

    def snapshot(self) -> bytes | None:
        """Give all that is kept here; the store has the rest."""
        waiting, sent = _gathered(self._waiting), self._sent
        facts: dict[str, Any] = {
            "turn": self._turn, "pending": self._pending.tolist(), "inputs": list(waiting),
            "sent": None if sent is None else list(sent),
        }  # fmt: skip
        tables = (*(sent or {}).values(), *waiting.values())
        return to_bytes([(table, NO_ROWS) for table in tables], facts)

    # Figures.

    def sizes(self) -> Tally:
        """Say what stands, and what a refresh would take."""
        told = Tally({QUERIES: int(self._query is not None), ROWS_WAITING: self._rows_waiting()})
        for number, pending in enumerate(self._pending.tolist()):
            told[figures.PENDING, number] = pending
        cost_s = self._decisions().refresh_s(self._pending)
        told[figures.REFRESH_COST] = round(cost_s * 1e9)
        for percentile in (50, 99):
            told[figures.REFRESH_QUANTILE, percentile] = self._times.quantile(percentile / 100)
        told[figures.REFRESH_WORST] = self._times.worst
        told[figures.REGRET] = 0 if self._plan is None else round(1_000 * self._plan.regret)
        return told

    def counts(self) -> Tally:
        """Say what the last batch met."""
        return self._counts


def turn_of(state: bytes) -> int:
    """Give the number of the last turn that an operator knew of when it wrote its state."""
    _, facts = from_bytes(state)
    return int(facts["turn"])


def _gathered(waiting: Mapping[int, list[pa.Table]]) -> dict[int, pa.Table]:
    """Put what waits of every input into one table."""
    return {
        number: pa.concat_tables(tables).combine_chunks()
        for number, tables in sorted(waiting.items())
    }


def _cast(column: pa.Array, type_: pa.DataType) -> pa.Array:
    return column if column.type == type_ else column.cast(type_)
