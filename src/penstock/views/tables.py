"""The SQL that makes the tables of a view, and that samples their rows."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from penstock.algebra.physical import Typed
from penstock.views.layout import COUNTED, ViewLayout, names
from penstock.views.shape import Shape

SPREAD = 0x9E3779B97F4A7C15
"""Multiples of it, modulo 2⁶⁴, lie evenly: the golden section."""


class TableStatements:
    """The statements that make a view and rehearse its flushes."""

    def __init__(self, layout: ViewLayout) -> None:
        self.layout = layout
        self.dialect = layout.dialect
        self.shape = Shape(layout)
        self._table = layout.table

    def created(self) -> Iterator[str]:
        """Make the tables of the view, and what shows it."""
        layout, dialect = self.layout, self.dialect
        whole = dialect.type(COUNTED)
        yield f"CREATE SCHEMA {layout.schema}"
        for each in layout.weighted():
            own = [f"_f {whole}"] * each.has_fingerprint
            yield self._made(each.name, [*self._columns(each.columns), *own])
        for number, columns in enumerate(layout.inputs):
            yield self._made(f"queue{number}", self._columns(columns))
        yield self._made("outbox", [*self._columns(layout.outputs), f"_turn {whole}"])
        yield (
            f"CREATE TABLE {self._table('meta')} (definition {dialect.type(pa.string())}, "
            f"taken {whole}, memo {dialect.type(pa.string())}, pending {whole}[], "
            f"owner {dialect.type(pa.string())}, since {whole}[], life {whole})"
        )
        if layout.definition.is_grouped:
            yield f"CREATE SEQUENCE {self._table('numbers')} MINVALUE 0 START 0"
            states = [f"{column} DEFAULT {first}" for column, first in layout.states()]
            numbers = self._table("numbers").replace("'", "''")
            id_ = f"_id {whole} DEFAULT nextval('{numbers}')"
            own = [f"_f {whole}"] * layout.groups.has_fingerprint
            listed = ", ".join([id_, *self._columns(layout.keys), *own, *states])
            yield f"CREATE TABLE {self._table('groups')} ({listed})"
        yield f"CREATE VIEW {layout.shown} AS {self.shape.shown()}"

    def _columns(self, columns: Typed) -> list[str]:
        return [self.dialect.column(*each) for each in columns]

    def _made(self, name: str, columns: list[str]) -> str:
        listed = ", ".join([*columns, f"_n {self.dialect.type(COUNTED)}"])
        return f"CREATE TABLE {self._table(name)} ({listed})"

    def opened(self) -> Iterator[str]:
        """Give a view without keys its one group, and tell of its row."""
        if self.layout.has_one_group:
            listed = ", ".join(names(self.layout.outputs))
            yield f"INSERT INTO {self._table('groups')} DEFAULT VALUES"
            yield self.shape.told(f"SELECT {listed}, 1 FROM ({self.shape.finals('')}) AS come")

    def counted(self, input_: int, size: int, draw: int) -> str:
        """Count the rows of an input that a rehearsal would change."""
        return f"SELECT count(*) FROM ({self._sample(input_, size, draw)}) AS sampled"

    def sampled(self, input_: int, size: int, draw: int, count: int) -> str:
        """Queue so many changes of so many rows: by turns, they go and come once more."""
        listed = ", ".join(names(self.layout.inputs[input_]))
        times, rest = divmod(size, count)
        weight = (
            f"CASE WHEN nth <= {rest} THEN {times + 1} ELSE {times} END "
            "* CASE WHEN nth % 2 = 1 THEN -1 ELSE 1 END"
        )
        return (
            f"INSERT INTO {self._table(f'queue{input_}')} ({listed}, _n) SELECT {listed}, {weight} "
            "FROM (SELECT *, row_number() OVER () AS nth FROM "
            f"({self._sample(input_, size, draw)}) AS sampled) AS counted"
        )

    def _sample(self, input_: int, size: int, draw: int) -> str:
        """Draw rows by their hashes: from a place that the draw decides, and on from the least."""
        listed = ", ".join(names(self.layout.inputs[input_]))
        rows = f"SELECT {listed} FROM {self._table(f'base{input_}')} WHERE _n > 0"
        if self.dialect.is_log:
            return f"{rows} ORDER BY hash({listed}, {draw}), {listed} LIMIT {size}"
        place = draw * SPREAD % (1 << 64) - (1 << 63)
        parts = [f"({rows} AND _f {side} {place} ORDER BY _f LIMIT {size})" for side in (">=", "<")]
        return f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS drawn LIMIT {size}"
