"""Reading views: from the operator that lives, or from the store as the last batch left it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pyarrow as pa

from penstock.expressions.allowances import allowance
from penstock.kinds.kept_views import Staleness, noted
from penstock.kinds.protocol import KeptQuery
from penstock.operators.view.figures import REFRESH_COST
from penstock.views.addresses import open_view
from penstock.views.dropped_stores import note_dropped
from penstock.views.protocol import ViewStore
from penstock.vocabulary.errors import PenstockError

Answer = TypeVar("Answer")


class StoredView:
    """One view of a home, for its readers."""

    def __init__(self, asked: KeptQuery) -> None:
        self._asked = asked
        self.name = asked.name

    def __repr__(self) -> str:
        return f"StoredView({self.name!r})"

    def read(self, *, fresh: bool = False) -> pa.Table:
        """Give the rows: as of the last flushes, or, `fresh`, with everything that waits."""
        return self._noted(self._told(fresh, lambda store: store.rows()))

    def query(self, sql: str, *, fresh: bool = False) -> pa.Table:
        """Run a SELECT over the view, in the SQL of its store."""
        return self._noted(self._told(fresh, lambda store: store.query(sql)))

    def refresh(self) -> None:
        """Bring everything that waits into the view."""
        self._told(True, lambda store: store.taken())

    def staleness(self) -> Staleness:
        """Say how far the view is behind."""
        inputs = self._asked.step.definition.inputs
        pending: dict[str, int] = {}
        for each, count in zip(
            inputs, self._told(False, lambda store: store.pending()).tolist(), strict=True
        ):
            pending[each.relation] = pending.get(each.relation, 0) + count
        return Staleness(
            pending=pending,
            refresh_s=self._asked.met()[REFRESH_COST] / 1e9,
            suspended=self._asked.rests(),
        )

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

    def _noted(self, rows: pa.Table) -> pa.Table:
        """Say beside the rows of a suspended view that they may be old, or gone."""
        reason = self._asked.rests()
        if reason is None:
            return rows
        told = PenstockError(
            "VIEW-066",
            f"The view {self.name!r} is suspended: what it shows may be old, or gone. {reason}",
            f"To let it begin anew: RESUME {self.name}.",
        )
        return noted(rows, str(told))

    def _told(self, fresh: bool, question: Callable[[ViewStore], Answer]) -> Answer:
        """Ask the store, through the live operator if there is one."""

        def ask(operator: Any) -> tuple[Answer]:
            with allowance():  # batches wait meanwhile
                if fresh:
                    operator.refresh()
                return (question(operator.store),)

        told = self._asked.ask(ask)
        if told is not None:
            if fresh:
                self._asked.beat()
            (answer,) = told
            return answer  # type: ignore[no-any-return]
        with self._opened() as store:
            if fresh:
                store.refresh()
            return question(store)

    @contextmanager
    def _opened(self) -> Iterator[ViewStore]:
        asked = self._asked
        store = open_view(asked.step, asked.home, asked.query)
        try:
            yield store
        finally:
            store.close()
