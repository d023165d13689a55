"""Histories: what comes to two or three relations, file by file, and the queries that stand.

Files come in batches; the files of a batch, which Spark may hand over in any order, are shuffled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation

BATCHES = 5
FILES = 3
QUERIES = 3
SECOND_US = 1_000_000
START_US = 1_700_000_000 * SECOND_US
KEYS = (pa.int64(), pa.int32(), pa.string(), pa.decimal128(10, 2), pa.date32())
FORMS = (("x", pa.float64()), ("y", pa.int64()), ("s", pa.string()))
WORDS = (
    ("insert", "delete"), ("update_after", "update_before"), ("+I", "-D"), (" C", "D "),
    ("update_postimage", "UPDATE_PREIMAGE"), ("+", "-"), ("r", "-u"),
)  # fmt: skip
TEXTS = ("a", "b", "1", " ", "", "A", "\u00e4", "it's", "x" * 40, "01", "a ")
STRANGE = (None, "", "truncate", "soup", "u")
"""Words without a meaning, or, as of updates that do not tell the row before, without a key."""


@dataclass(frozen=True, slots=True)
class Text:
    """A query in Penstock's words and in DuckDB's, over the tables of a twin."""

    sql: str
    twin: str
    may_miss: bool = False
    """A part of the answer will do: of joins with a small budget."""
    counted: bool = False
    """Who stands alone in its group is told exactly how many results there were, and are."""
    snapshot: bool = False
    """The first batch brings the answer that was there before."""
    each: Mapping[str, Any] = field(default_factory=dict)
    """The values of its parameters; in the twin's words they are constants."""
    inputs: tuple[tuple[str, str], ...] = ()
    """Of joins by an order of rows: each input's name with its relation, in the order of FROM."""


Texts = Callable[["Histories"], Text]


@dataclass(slots=True)
class JoinQuery:
    """A standing query: its text, and the batches [begun, ended) in which it stands."""

    text: Text
    begun: int
    ended: int

    def stands_throughout(self, batches: int) -> bool:
        """Say whether it stands in all of a history's batches."""
        return self.begun == 0 and self.ended >= batches


@dataclass(slots=True)
class JoinHistory:
    """Relations, what comes in every batch, and the queries."""

    relations: tuple[Relation, ...]
    batches: list[dict[str, pa.Table]]
    queries: list[JoinQuery]
    restarts: set[int]
    shop: Shop | None = None


class Shop(Protocol):
    """Another database, whose tables are looked up."""

    def opened(self, relation: Relation, place: Path) -> Relation:
        """Say where a relation's rows are looked up, if they are."""

    def turn(self, batch: int) -> None:
        """Bring the database to where it is in a batch."""


class Histories:
    """Draws histories."""

    def __init__(self, chance: np.random.Generator) -> None:
        self._chance = chance
        self.key = KEYS[int(chance.integers(len(KEYS)))]
        self.keys = 4

    def tables(self, texts: Texts) -> JoinHistory:
        """Two tables, l and r, whose deletes may be read before their inserts."""
        columns = [("id", pa.int64()), ("k", self.key), *FORMS, ("op", pa.string())]
        schema = pa.schema(columns)
        relations = tuple(
            Relation(name=name, kind="table", schema=schema, change_column="op") for name in "lr"
        )
        changes = {name: self._changes(schema) for name in "lr"}
        return JoinHistory(relations, self._cut(changes), self._queries(texts), self._restarts())

    def streams(self, texts: Texts, names: str = "lr") -> JoinHistory:
        """Streams, some of whose rows come late."""
        columns = [("id", pa.int64()), ("k", self.key), *FORMS, ("ts", pa.timestamp("us", "UTC"))]
        schema = pa.schema(columns)
        lateness = int(self._chance.choice([0, 2, 10])) * SECOND_US
        relations = tuple(
            Relation(name=name, kind="stream", schema=schema, event_time="ts", lateness_us=lateness)
            for name in names
        )
        batches = self._cut({name: self._rows(schema) for name in names})
        batches.append({name: _far_ahead(schema) for name in names})
        return JoinHistory(relations, batches, self._queries(texts), self._restarts())

    def number(self, low: int, high: int) -> int:
        """Draw a whole number, ends included."""
        return int(self._chance.integers(low, high + 1))

    def one(self, *texts: str) -> str:
        """Draw one of some texts."""
        return texts[int(self._chance.integers(len(texts)))]

    def condition(self, side: str) -> str:
        """Draw a condition on one relation, or none."""
        low = self.number(-2, 2)
        return self.one(
            "",
            f" AND {side}.y BETWEEN {low} AND {low + self.number(0, 4)}",
            f" AND {side}.x >= {low / 2}",
            f" AND {side}.x < {low + 1} AND {side}.y <> {low}",
            f" AND {side}.s = 'a'",
            f" AND {side}.s LIKE 'a%' AND {side}.y > {low}",
            f" AND ({side}.y + 1) * 2 > {low}",
        )

    def row(self, number: int) -> dict[str, Any]:
        """Draw the id, the key and the values of a row."""
        chance = self._chance
        missing = chance.random(4) < 0.05
        key = int(chance.integers(self.keys))
        keys = {pa.string(): TEXTS[key], pa.date32(): 19_000 + key}
        x = float(chance.choice([-1.5, -0.0, 0.0, 0.5, 1.0, 1.5, np.inf, np.nan]))
        return {
            "id": number,
            "k": None if missing[0] else keys.get(self.key, key),
            "x": None if missing[1] else x,
            "y": None if missing[2] else int(chance.integers(-3, 4)),
            "s": None if missing[3] else self.one("a", "ab", "A", ""),
        }

    def _changes(self, schema: pa.Schema) -> list[tuple[int, pa.Table]]:
        """Give the changes of a table, each with the file that it is in."""
        chance, files = self._chance, BATCHES * FILES
        found: list[tuple[int, dict[str, Any]]] = []
        standing: list[dict[str, Any]] = []
        for file in range(files):
            for _ in range(self.number(1, 9)):
                plus, minus = WORDS[self.number(0, len(WORDS) - 1)]
                if standing and chance.random() < 0.45:
                    gone = standing.pop(int(chance.integers(len(standing))))
                    # A delete may be in a file that is read before its insert's.
                    place = max(0, file - 5) if chance.random() < 0.1 else file
                    found.append((place, {**gone, "op": minus}))
                    continue
                again = bool(standing) and chance.random() < 0.15
                row = standing[0] if again else self.row(len(found))
                standing.append(row)
                found.append((file, {**row, "op": plus}))
                if chance.random() < 0.1:
                    strange = STRANGE[self.number(0, len(STRANGE) - 1)]
                    found.append((file, {**self.row(len(found)), "op": strange}))
        return [(file, pa.Table.from_pylist([row], schema)) for file, row in found]

    def _rows(self, schema: pa.Schema) -> list[tuple[int, pa.Table]]:
        """Give the rows of a stream, each with the file that it is in; some are late."""
        found: list[tuple[int, pa.Table]] = []
        for file in range(BATCHES * FILES):
            for _ in range(self.number(1, 6)):
                behind = self.number(0, 12) if self._chance.random() < 0.2 else 0
                time = START_US + (file - behind) * SECOND_US + self.number(0, 3) * 250_000
                nothing = self._chance.random() < 0.02
                row = {**self.row(len(found)), "ts": None if nothing else time}
                found.append((file, pa.Table.from_pylist([row], schema)))
        return found

    def _cut(self, rows: dict[str, list[tuple[int, pa.Table]]]) -> list[dict[str, pa.Table]]:
        """Put files into batches, and the files of a batch, and their rows, into any order."""
        batches: list[dict[str, pa.Table]] = []
        for batch in range(BATCHES):
            tables = {}
            for name, listed in rows.items():
                files: list[list[pa.Table]] = [[] for _ in range(FILES)]
                for file, row in listed:
                    if file // FILES == batch:
                        files[file % FILES].append(row)
                order = self._chance.permutation(FILES)
                parts = [part for file in order for part in files[int(file)]]
                if parts:
                    tables[name] = pa.concat_tables(parts)
            batches.append(tables)
        return batches

    def _queries(self, texts: Texts) -> list[JoinQuery]:
        found = []
        for _ in range(QUERIES):
            begun = 0 if self._chance.random() < 0.6 else self.number(1, BATCHES - 1)
            ended = BATCHES + 1 if self._chance.random() < 0.7 else self.number(begun + 1, BATCHES)
            found.append(JoinQuery(texts(self), begun, ended))
        return found

    def _restarts(self) -> set[int]:
        return {batch for batch in range(1, BATCHES) if self._chance.random() < 0.3}


def _far_ahead(schema: pa.Schema) -> pa.Table:
    """Give rows that join with nothing and tell that all others have come."""
    times = [START_US + day * 86_400 * SECOND_US for day in (1, 2, 3)]
    return pa.Table.from_pylist([{"id": -1, "ts": time} for time in times], schema)
