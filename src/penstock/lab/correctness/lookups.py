"""Lookups: a stream, and a table of another database that changes, goes away and comes back."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.algebra.memories import LOOKUP_POLICIES, Lookup, Memory
from penstock.lab.correctness.histories import FORMS, Histories, JoinHistory, Text

KEYS = 11
PROMPT = {"backoff": 0.0, "cooldown": 0.0, "retries": 0, "timeout": 60.0}
"""Options with which nobody waits for long, and a busy machine is no dead one."""


@dataclass(slots=True)
class DuckdbShop:
    """A DuckDB file with the table `r`.

    `tables` are its versions, `versions` says which of them stands in each batch, and in the
    batches `away` there is no file. In the last batch there is one.
    """

    tables: list[pa.Table]
    versions: list[int]
    away: set[int]
    _place: Path = Path()

    @property
    def changes(self) -> bool:
        """Whether the table is not the same in all batches."""
        return len(self.tables) > 1

    def table(self, batch: int) -> pa.Table:
        """Give the table as it stands in a batch."""
        return self.tables[self.versions[batch]]

    def answering(self, batch: int) -> int:
        """Give the batch in which rows of a batch are answered."""
        return min(set(range(batch, len(self.versions))) - self.away)

    def opened(self, relation: Relation, place: Path) -> Relation:
        """Write the versions of the table; say where it will be looked up."""
        if relation.lookup is None:
            return relation
        self._place = place
        for number, table in enumerate(self.tables):
            with duckdb.connect(str(place / f"{number}.duckdb")) as db:
                db.register("given", table)
                db.execute("CREATE TABLE r AS FROM given")
        return replace(relation, lookup=replace(relation.lookup, source=f"duckdb:{self._path}"))

    def turn(self, batch: int) -> None:
        """Bring the file to where it is in a batch."""
        self._path.unlink(missing_ok=True)
        if batch not in self.away:
            shutil.copy(self._place / f"{self.versions[batch]}.duckdb", self._path)

    @property
    def _path(self) -> Path:
        return self._place / "shop.duckdb"


def lookups(drawing: Histories) -> JoinHistory:
    """Draw a history of the stream l and the table r that it is looked up in.

    Either the table stays, or a cached row is believed no longer than the stream's clock stands,
    and the table changes only when that moves: else it is free which version answers.
    """
    drawing.keys = KEYS
    history = drawing.streams(lookup_join, "l")
    schema = pa.schema([("id", pa.int64()), ("k", drawing.key), *FORMS])
    batches = len(history.batches)
    away = {batch for batch in range(batches - 1) if drawing.number(0, 5) == 0}
    shop = DuckdbShop([_goods(drawing, schema)], [0] * batches, away)
    options: dict[str, Any] = {**PROMPT, "batch": drawing.number(1, 12)}
    if drawing.number(0, 2) == 0:
        options["max_age"] = 0.0
        for batch in _clock_moves(history.batches):
            if drawing.number(0, 1):
                shop.tables.append(_goods(drawing, schema))
            shop.versions[batch:] = [len(shop.tables) - 1] * (batches - batch)
    memory = Memory(rows=drawing.number(1, 14), policy=drawing.one(*LOOKUP_POLICIES))
    lookup = Lookup(source="", table="r", key="k", memory=memory, options=options)
    relation = Relation(name="r", kind="lookup", schema=schema, lookup=lookup)
    return replace(history, relations=(*history.relations, relation), shop=shop)


def lookup_join(drawing: Histories) -> Text:
    """Draw what is asked of a stream's rows and the rows of their keys."""
    rest = drawing.condition("l") + drawing.condition("r")
    rest += drawing.one("", "", " AND l.x + r.x > 0", " AND l.s <> r.s", " AND l.y = r.y")
    tables = drawing.one("l JOIN r ON l.k = r.k", "r JOIN l ON r.k = l.k", "r, l")
    keys = " AND r.k = l.k" if "," in tables else ""
    text = f"SELECT l.id AS a, r.id AS b, r.x, l.s FROM {tables} WHERE TRUE{keys}{rest}"
    return Text(text, f"{text} AND l._version = r._version")


def _goods(drawing: Histories, schema: pa.Schema) -> pa.Table:
    """Draw the rows of the table: one for most keys, for some none, NULL or two."""
    rows = [drawing.row(number) for number in range(drawing.number(0, 2 * KEYS))]
    table = pa.Table.from_pylist(rows, schema)
    if drawing.number(0, 1):
        return table
    first = {row["k"]: number for number, row in reversed(list(enumerate(rows)))}
    return table.take(pa.array(sorted(first.values()), pa.int64()))


def _clock_moves(batches: list[dict[str, pa.Table]]) -> list[int]:
    """List the batches, but the first, whose newest event time is newer than all before."""
    found, newest = [], None
    for batch, tables in enumerate(batches):
        times = tables["l"]["ts"].drop_null().to_pylist() if "l" in tables else []
        if times and (newest is None or max(times) > newest):
            if newest is not None:
                found.append(batch)
            newest = max(times)
    return found
