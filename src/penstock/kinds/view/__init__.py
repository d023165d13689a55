"""Views: rows that a store keeps, fresh within a bound whenever somebody asks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.algebra.catalog import Catalog, Relation
from penstock.algebra.views import StandingView, change_column
from penstock.kinds.kept_views import KeptView
from penstock.kinds.protocol import AnswerComparison, KeptQuery, Kind, LeftQuery
from penstock.kinds.view.cycle import ViewWatch
from penstock.kinds.view.reading import StoredView
from penstock.kinds.view.verification import verify_view
from penstock.kinds.watch import House
from penstock.language.queries import Query
from penstock.language.select_lists import SelectList, resolved_list
from penstock.language.views import bind_view, is_view
from penstock.operators.view.operator import turn_of
from penstock.views.addresses import claim_store, forget_files, refuse_path, view_file
from penstock.views.dropped_stores import damaged_notes, is_waited_for, reclaim_dropped
from penstock.views.examination import flaw_of
from penstock.views.owners import DIRECTORY, damaged_owner, lost_owner
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.findings import Finding


class Views(Kind):
    """`CREATE VIEW … REFRESH WITHIN … AS SELECT …`."""

    name = "view"
    operators = ("view",)

    def claims(self, query: Query) -> bool:
        """Claim texts that are registered as views."""
        return is_view(query.options)

    def bind(self, query: Query) -> StandingView:
        """Say what the view asks."""
        return bind_view(query)

    def watch(self, house: House) -> ViewWatch:
        """Begin to watch what a home's views cost."""
        return ViewWatch(house)

    def relation(self, logical: Any) -> Relation | None:
        """Give the view as a relation that others may read."""
        schema: pa.Schema = logical.definition.schema
        word = change_column(schema.names)
        return Relation(
            name=logical.definition.name,
            kind="view",
            schema=schema.append(pa.field(word, pa.string())),
            change_column=word,
        )

    def kept(self, asked: KeptQuery) -> KeptView:
        """Give the view to those who read it."""
        return StoredView(asked)

    def tidy(self, home: Path, standing: Iterator[tuple[Any, int]]) -> None:
        """Remove the files of views that stand no more."""
        if (home / DIRECTORY).is_dir():
            forget_files(home, [view_file(step, home, query) for step, query in standing])

    def reclaim(self, home: Path, standing: Iterator[tuple[Any, int]]) -> None:
        """Take views out of PostgreSQL that were dropped while an engine ran."""
        reclaim_dropped(home, [view_file(step, home, query) for step, query in standing])

    def examine(self, home: Path, left: LeftQuery) -> tuple[Path, str] | None:
        """Read a view's file in the home from end to end, and hold it against the last state."""
        if left.step.store:
            return lost_owner(home)
        if not left.has_run:
            return None
        path = view_file(left.step, home, left.query)
        turn = None if left.state is None else turn_of(left.state)
        if turn == 0:  # it may not have been made yet
            return None
        found = flaw_of(path, left.step.definition, turn)
        return None if found is None else (path, found)

    def inspect(self, home: Path) -> Iterator[tuple[Finding, str]]:
        """Read the notes of views in PostgreSQL that were dropped, and whose such views are."""
        yield from damaged_notes(home)
        yield from damaged_owner(home)

    def make_way(self, home: Path, step: Any, standing: Iterator[tuple[Any, int]] | None) -> None:
        """Make the store of a view elsewhere; refuse one whose place is another's, or none."""
        if not step.store:
            refuse_path(home)
            return
        if is_waited_for(step, home):
            if standing is None:
                raise PenstockError(
                    "VIEW-064",
                    f"The view {step.definition.name!r} that was dropped is still in PostgreSQL: "
                    "batches that began before may ask for it.",
                    "Try again in some seconds, or give the new one another name.",
                )
            self.reclaim(home, standing)
        claim_store(step, home)

    def select_list(self, sql: str, logical: Any, catalog: Catalog) -> SelectList:
        """Give the columns of the view as its changes have them: its query was compared itself."""
        del sql, catalog
        names = [each.name for each in logical.definition.outputs]
        return resolved_list(logical.outputs, names)

    def verify(self, asked: AnswerComparison) -> None:
        """Compare the changes that were told with what DuckDB computes from the recorded input."""
        verify_view(asked)


KIND = Views()
