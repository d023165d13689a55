"""Reading views: from the operator that lives, or from the store as the last batch left it.

A view may read others. Whoever asks for it fresh asks these first: what came and went in their rows
and is told in the next batch is brought in for the answer alone, and undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from penstock.algebra.views import ViewInput
from penstock.expressions.allowances import allowance
from penstock.kinds.kept_views import Staleness, noted
from penstock.kinds.protocol import KeptQuery
from penstock.operators.shared.residuals import nan_to_null
from penstock.operators.view.figures import REFRESH_COST
from penstock.views.addresses import open_view
from penstock.views.dropped_stores import note_dropped
from penstock.views.protocol import WEIGHT, ViewStore
from penstock.vocabulary.errors import PenstockError

Answer = TypeVar("Answer")


class StoredView:
    """One view of a home, for its readers."""

    def __init__(self, asked: KeptQuery) -> None:
        self._asked = asked
        self.name = asked.name
        # Looked up before anything is asked: who asks holds batches up, and takes no other lock.
        names = dict.fromkeys(each.relation for each in asked.step.definition.inputs)
        found = {name: asked.kept(name) for name in names}
        self._below = {name: view for name, view in found.items() if view is not None}

    def __repr__(self) -> str:
        return f"StoredView({self.name!r})"

    def read(self, *, fresh: bool = False) -> pa.Table:
        """Give the rows: as of the last flushes, or, `fresh`, with everything that waits."""
        return self._read(fresh, lambda store: store.rows())

    def query(self, sql: str, *, fresh: bool = False) -> pa.Table:
        """Run a SELECT over the view, in the SQL of its store."""
        return self._read(fresh, lambda store: store.query(sql))

    def refresh(self) -> None:
        """Bring everything that waits into the view."""
        self._told(True, lambda store: store.taken())

    def staleness(self, *, is_ahead: bool = False) -> Staleness:
        """Say how far the view is behind; to who `is_ahead`, what it will tell is known."""
        return self._told(False, lambda store: self._behind(store, is_ahead=is_ahead))

    def untold(self, *, fresh: bool) -> pa.Table:
        """Give the changes of its rows that relations which read it have not been told."""
        return self._asked_of(fresh, lambda store: store.untold())[0]

    def forget(self, *, is_running: bool) -> None:
        """Take a view out of PostgreSQL; a file of the home goes when that is opened again.

        While an engine runs, batches may still ask for it: then it goes after the last that may.
        """
        asked = self._asked
        if not asked.step.store:
            return
        if is_running:
            note_dropped(asked.step, asked.home, asked.query)
            return
        with self._opened() as store:
            store.drop()

    def _read(self, fresh: bool, question: Callable[[ViewStore], pa.Table]) -> pa.Table:
        """Give rows, beside them how far they are behind, and of a suspended view that it is."""
        stale, rows = self._told(
            fresh, lambda store: (self._behind(store, is_ahead=fresh), question(store))
        )
        if stale.suspended is None:
            return noted(rows, stale, None)
        own = self._asked.rests() is not None
        told = PenstockError(
            "VIEW-066",
            f"The view {self.name!r} {'is' if own else 'reads one that is'} suspended: what it "
            f"shows may be old, or gone. {stale.suspended}",
            f"To let {'it' if own else 'that one'} begin anew: RESUME {stale.rests}.",
        )
        return noted(rows, stale, str(told))

    def _behind(self, store: ViewStore, *, is_ahead: bool) -> Staleness:
        """Say how far the view in a store is behind, what it reads included.

        Who asks `is_ahead` has what views below will tell.
        """
        pending: Counter[str] = Counter()
        inputs, below = self._asked.step.definition.inputs, self._below
        for each, count in zip(inputs, store.pending().tolist(), strict=True):
            pending[each.relation] += count
        for name, view in below.items():
            pending[name] += 0 if is_ahead else _weight(view.untold(fresh=False))
        reason = self._asked.rests()
        stale = Staleness(
            pending=dict(pending),
            refresh_s=self._asked.met()[REFRESH_COST] / 1e9,
            age_s=store.age(),
            suspended=reason,
            rests=None if reason is None else self.name,
        )
        for view in below.values():
            stale = stale.joined(view.staleness(is_ahead=is_ahead))
        return stale

    def _told(self, fresh: bool, question: Callable[[ViewStore], Answer]) -> Answer:
        """Ask the store; let a batch tell others what was brought into the view."""
        answer, is_live = self._asked_of(fresh, question)
        if fresh and is_live:
            self._asked.beat()
        return answer

    def _asked_of(
        self, fresh: bool, question: Callable[[ViewStore], Answer]
    ) -> tuple[Answer, bool]:
        """Ask the store, through the live operator if there is one; say whether there is."""

        def ask(operator: Any) -> tuple[Answer]:
            with allowance():  # batches wait meanwhile
                if fresh:
                    operator.refresh()
                return (self._answer(operator.store, fresh, question),)

        told = self._asked.ask(ask)
        if told is not None:
            (answer,) = told
            return answer, True
        with self._opened() as store:
            if fresh:
                store.refresh()
            return self._answer(store, fresh, question), False

    def _answer(
        self, store: ViewStore, fresh: bool, question: Callable[[ViewStore], Answer]
    ) -> Answer:
        """Ask a store, for who wants it fresh with what views below have not told yet."""
        changes = self._coming() if fresh else {}
        with store.ahead(changes) if changes else nullcontext():
            return question(store)

    def _coming(self) -> dict[int, pa.Table]:
        """Give the changes of views below that come with the next turn, by input."""
        told = {
            name: view.untold(fresh=True)
            for name, view in self._below.items()
            if view.staleness().suspended is None
        }
        return {
            number: _as_changes(told[each.relation], each)
            for number, each in enumerate(self._asked.step.definition.inputs)
            if each.relation in told and told[each.relation].num_rows
        }

    @contextmanager
    def _opened(self) -> Iterator[ViewStore]:
        asked = self._asked
        store = open_view(asked.step, asked.home, asked.query)
        try:
            yield store
        finally:
            store.close()


def _as_changes(rows: pa.Table, input_: ViewInput) -> pa.Table:
    """Give changes of a view's rows as an input takes them: to who reads them NaN is NULL."""
    names = rows.column_names  # a column of the view may have the name of the weights
    columns = [nan_to_null(rows.column(names.index(name))) for name, _ in input_.columns]
    schema = pa.schema([*input_.columns, (WEIGHT, pa.int64())])
    return pa.Table.from_arrays([*columns, rows.columns[-1].combine_chunks()], schema=schema)


def _weight(changes: pa.Table) -> int:
    return int(pc.sum(pc.abs(changes.columns[-1])).as_py() or 0)
