"""A small run of all kinds: what comes in every batch, and who stands from when to when.

Three histories of the correctness lab stand side by side: two tables, three streams, and a stream
with a database that it is looked up in. DuckDB says what every query of theirs must find.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.kinds.binder import bind
from penstock.kinds.table import kind_of
from penstock.lab.correctness.histories import Histories, JoinHistory, JoinQuery, Text, Texts
from penstock.lab.correctness.join_texts import (
    band_join,
    bounded_join,
    model_query,
    multi_join,
    range_aggregate,
    select_join,
    shared_join,
    table_filter,
    window_join,
)
from penstock.lab.correctness.lookups import lookup_join, lookups
from penstock.lab.correctness.twins import (
    Answer,
    LookupTwin,
    OrderTwin,
    PairsTwin,
    SegmentsTwin,
    TablesTwin,
    Twin,
)
from penstock.vocabulary.errors import PenstockError

FOR_EVER = 1_000
LAST_BEGUN = 3
"""The last batch that texts come with."""
VIEW = "kept_view"
DRAWS = 50
_RELATION = re.compile(r"\b[lru]\b")


class StreamTwin(PairsTwin):
    """Filters on streams: every row counts, however late."""

    def answer(self, query: JoinQuery, batch: int) -> Answer:
        """Give the rows that have come since the query was registered, up to a batch."""
        for name in self._names:
            self._db.execute(
                f"CREATE OR REPLACE TEMP VIEW {name} AS FROM {name}_log "
                f"WHERE _batch BETWEEN {query.begun} AND {batch}"
            )
        return Counter(self._db.execute(query.text.twin).fetchall())


def stream_filter(drawing: Histories) -> Text:
    """Draw a filter on a stream."""
    text = f"SELECT l.id, l.y, l.s FROM l WHERE TRUE{drawing.condition('l')}"
    return Text(text, text)


def kept_view(drawing: Histories) -> Text:
    """Draw a view, whose rows are counted; it begins with what stands already."""
    source = drawing.one("l", "l JOIN r ON l.k = r.k")
    more = drawing.one("max(l.x)", "sum(l.y)", "count(DISTINCT l.s)", "min(l.s)")
    text = f"SELECT l.k AS g, count(*) AS n, {more} AS m FROM {source} GROUP BY l.k"
    return Text(text, text, snapshot=True)


@dataclass(frozen=True, slots=True)
class KindOfText:
    """How texts of a kind are drawn, and who checks them.

    A text comes with a batch that is drawn, from the `first` to the `last`, and may go with a later
    one, unless it `stays`. As a view it has `options`.
    """

    draw: Texts
    twin: type[Twin]
    options: Mapping[str, Any] = field(default_factory=dict)
    first: int = 0
    last: int = LAST_BEGUN
    stays: bool = False


World = tuple[JoinHistory, dict[str, KindOfText]]


@dataclass(frozen=True, slots=True)
class StandingText:
    """A standing query of the run: its subscription, its text, its batches, and who checks it."""

    name: str
    sql: str
    query: JoinQuery
    history: JoinHistory
    twin: type[Twin]
    options: Mapping[str, Any]


def _of_tables(drawing: Histories) -> World:
    texts: dict[str, Texts] = {
        "select_join": select_join, "band_join": band_join, "table_filter": table_filter,
        "range_aggregate": range_aggregate,
        "snapshot": lambda own: replace(table_filter(own), snapshot=True),
        "snapshot_join": lambda own: replace(select_join(own), snapshot=True),
    }  # fmt: skip
    found = {name: KindOfText(own, TablesTwin) for name, own in texts.items()}
    return drawing.tables(select_join), found | _of_views(drawing)


def _of_views(drawing: Histories) -> dict[str, KindOfText]:
    """Give a view, and what reads it."""
    view = kept_view(drawing)
    options = {"view": VIEW, "refresh": "1 minute", "policy": "immediate"}
    many = f"n > {drawing.number(1, 2)}"
    read = Text(
        f"SELECT g, n FROM {VIEW} WHERE {many}", f"SELECT g, n FROM ({view.sql}) WHERE {many}"
    )
    return {
        # Who comes together with a view is told all of its rows: they come then.
        VIEW: KindOfText(lambda _: view, TablesTwin, options, last=LAST_BEGUN - 1, stays=True),
        "view_filter": KindOfText(lambda _: read, TablesTwin, first=LAST_BEGUN),
    }


def _of_streams(drawing: Histories) -> World:
    shared = shared_join(drawing)
    texts: dict[str, tuple[Texts, type[Twin]]] = {
        "filter": (stream_filter, StreamTwin),
        "window_join": (window_join, PairsTwin),
        "multi_join": (multi_join, OrderTwin),
        "bounded_join": (bounded_join, OrderTwin),
        "model_query": (model_query, SegmentsTwin),
        "shared_join": (shared, OrderTwin),
        "shared_join_too": (shared, OrderTwin),
    }
    found = {name: KindOfText(*own) for name, own in texts.items()}
    return drawing.streams(window_join, "lru"), found


def _of_lookups(drawing: Histories) -> World:
    return lookups(drawing), {"lookup_join": KindOfText(lookup_join, LookupTwin)}


WORLDS: dict[str, Callable[[Histories], World]]
WORLDS = {"t": _of_tables, "s": _of_streams, "k": _of_lookups}


class AllKinds:
    """What happens in the run; the same for the same seed, wherever its home is."""

    def __init__(self, seed: int, place: Path) -> None:
        chance = np.random.default_rng((seed, 15))
        self.texts: list[StandingText] = []
        self.relations: list[Relation] = []
        self._histories: dict[str, JoinHistory] = {}
        for prefix, draw in WORLDS.items():
            drawing = Histories(chance)
            history, texts = draw(drawing)
            self._histories[prefix] = history
            self.relations += [_opened(history, own, prefix, place) for own in history.relations]
            catalog = {relation.name: relation for relation in self.relations}
            for name, kind in texts.items():
                drawn, options = _accepted(kind, drawing, prefix, catalog)
                first = max(kind.first, int(drawn.snapshot))
                begun, ended = drawing.number(first, kind.last), FOR_EVER
                if drawing.number(0, 1) and not kind.stays:
                    ended = drawing.number(begun + 1, len(history.batches) - 1)
                sql = _renamed(drawn.sql, prefix)
                query = JoinQuery(drawn, begun, ended)
                self.texts.append(StandingText(name, sql, query, history, kind.twin, options))

    @cached_property
    def sunk(self) -> StandingText:
        """The text whose changes go into a directory: it stands to the end, and finds most."""
        found = self.expected()
        standing = [own for own in self.texts if own.query.ended == FOR_EVER]
        return max(standing, key=lambda own: found.get(own.name, Counter()).total())

    @property
    def batches(self) -> int:
        """How many batches come."""
        return max(len(history.batches) for history in self._histories.values())

    @property
    def streamed(self) -> list[Relation]:
        """The relations whose rows come in batches."""
        return [relation for relation in self.relations if not relation.is_asked]

    def files(self) -> list[dict[str, pa.Table]]:
        """Give what comes in every batch, by relation."""
        found: list[dict[str, pa.Table]] = [{} for _ in range(self.batches)]
        for prefix, history in self._histories.items():
            for batch, tables in enumerate(history.batches):
                own = {f"{prefix}_{name}": table for name, table in tables.items()}
                found[batch] |= own
        return found

    def turn(self, batch: int) -> None:
        """Bring the database of lookups to where it is in a batch."""
        for history in self._histories.values():
            if history.shop is not None:
                history.shop.turn(min(batch, len(history.batches) - 1))

    def expected(self) -> dict[str, Answer]:
        """Let DuckDB say what every query must have found, if nothing of its was due later."""
        found = {}
        for text in self.texts:
            last = min(text.query.ended, len(text.history.batches)) - 1
            with duckdb.connect(":memory:") as db:
                db.execute("SET TimeZone = 'UTC'")
                asked = text.twin(db, text.history)
                if asked.is_due(last):
                    found[text.name] = asked.answer(text.query, last)
        return found


def _opened(history: JoinHistory, relation: Relation, prefix: str, place: Path) -> Relation:
    if history.shop is not None:
        (place / prefix).mkdir(parents=True, exist_ok=True)
        relation = history.shop.opened(relation, place / prefix)
    return replace(relation, name=f"{prefix}_{relation.name}")


def _renamed(sql: str, prefix: str) -> str:
    """Name a history's relations by their names in the run."""
    return _RELATION.sub(lambda found: f"{prefix}_{found[0]}", sql)


def _accepted(
    kind: KindOfText, drawing: Histories, prefix: str, catalog: dict[str, Relation]
) -> tuple[Text, Mapping[str, Any]]:
    """Draw a text until one is taken: what is refused says nothing of crashes.

    What it keeps for others is in the catalogue from then on.
    """
    for _ in range(DRAWS):
        drawn = kind.draw(drawing)
        options = kind.options or ({"snapshot": True} if drawn.snapshot else {})
        with suppress(PenstockError):
            bound = bind(_renamed(drawn.sql, prefix), catalog, options=options)
            relation = kind_of(bound.step()).relation(bound)
            if relation is not None:
                catalog[relation.name] = relation
            return drawn, options
    raise AssertionError(f"none of {DRAWS} texts is taken")
