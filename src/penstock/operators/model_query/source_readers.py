"""Rows of a source as numbers: keys as codes, what was observed, and coefficients of models."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelSource
from penstock.expressions.conditions import Predicate
from penstock.expressions.evaluation import evaluate
from penstock.models.segments import WIDTH
from penstock.operators.model_query.key_codes import ABSENT, KeyCodes
from penstock.operators.protocol import Share
from penstock.operators.shared.common_keys import number_keys
from penstock.operators.shared.intake import Arrived, Intake
from penstock.operators.shared.keys import validity, whole
from penstock.operators.shared.ownership import shard_of
from penstock.operators.shared.residuals import nan_to_null
from penstock.vocabulary.batches import Flags, Floats, Ints
from penstock.vocabulary.figures import Tally
from penstock.vocabulary.losses import (
    FAILED_CONDITIONS,
    KEYS_WITHOUT_ROOM,
    LATE_ROWS,
    NULL_EVENT_TIMES,
)
from penstock.vocabulary.shared_figures import ARRIVED, NULL_VALUES

COLUMN = re.compile(r"c(\d+)")
"""An expression that is a column, and needs nobody to evaluate it."""


@dataclass(frozen=True, slots=True)
class SourceShape:
    """The columns of a source's rows as numbers: what waits, and is written into state."""

    key: tuple[str, ...]
    carried: tuple[str, ...]
    observed: tuple[str, ...]
    coefficients: tuple[tuple[str, ...], ...]
    """For each attribute, the columns of its coefficients; none where models are fitted."""

    @classmethod
    def of(cls, source: ModelSource) -> SourceShape:
        """Name the columns of a source."""
        return cls(
            tuple(f"k{n}" for n in range(len(source.key))),
            tuple(f"v{n}" for n in range(len(source.carried))),
            tuple(f"a{n}" for n in range(len(source.attributes))),
            tuple(
                tuple(f"m{n}_{power}" for power in range(len(each.coefficients)))
                for n, each in enumerate(source.attributes)
            ),
        )

    @property
    def schema(self) -> pa.Schema:
        """The columns with their types."""
        numbers = [name for own in self.coefficients for name in own]
        return pa.schema(
            [
                *((name, pa.int64()) for name in (*self.key, *self.carried)),
                *((name, pa.float64()) for name in (*self.observed, *numbers)),
            ]
        )


class SourceReader:
    """Reads the rows of one source, and lets them wait for their turn.

    Rows that are not this shard's, that the condition of the source leaves out or that have no
    value where one is needed are not kept: they have their time, and nothing else.
    """

    def __init__(
        self, number: int, source: ModelSource, codes: KeyCodes, share: Share,
        shard_key: tuple[str, ...],
    ) -> None:  # fmt: skip
        self.number = number
        self.source = source
        self.shape = SourceShape.of(source)
        self.schema = self.shape.schema
        self.intake = Intake(number, source.lateness_us, self.schema)
        self.tells = share.number == 0
        """Whether it tells what is late, which every shard sees."""
        self._codes, self._share, self._shard_key = codes, share, shard_key
        self._condition = None if source.condition is None else Predicate(source.condition)

    def arrive(self, table: pa.Table, counts: Tally) -> Arrived:
        """Read rows as they come: leave out the late, let the others wait."""
        column = table.column(self.source.event_time)
        times, there = number_keys(column, column.type, pa.timestamp("us"))
        late = self.intake.late(times, there)
        here = there & ~late
        if not here.all():
            table, times = table.filter(pa.array(here)), times[here]
        self.intake.number_rows(len(times))
        if self.tells:
            counts[LATE_ROWS] += int(np.count_nonzero(late))
            counts[NULL_EVENT_TIMES] += int(np.count_nonzero(~there))
            counts[ARRIVED, self.number] += len(times)
        kept, contents = self._read(table, counts)
        rows = Arrived(times=np.ascontiguousarray(times), kept=kept, table=contents)
        self.intake.take(rows)
        return rows

    def _read(self, table: pa.Table, counts: Tally) -> tuple[Flags, pa.Table]:
        """Give which rows are kept, and those as numbers."""
        kept = self._mine(table)
        if not kept.all():
            table = table.filter(pa.array(kept))
        if table.num_rows == 0:
            return kept, self.schema.empty_table()
        columns = {f"c{n}": nan_to_null(table.column(name))
                   for n, name in enumerate(self.source.columns)}  # fmt: skip
        asked = pa.table(columns) if columns else pa.table({"nothing": pa.nulls(table.num_rows)})
        valid: Flags = np.ones(table.num_rows, dtype=np.bool_)
        if self._condition is not None:
            held = self._condition.ask(asked)
            if held.failed is not None:
                counts[FAILED_CONDITIONS] += int(np.count_nonzero(held.failed))
            valid &= held.holds
        chosen = int(np.count_nonzero(valid))
        if chosen < len(valid):
            table, asked = table.filter(pa.array(valid)), asked.filter(pa.array(valid))
        made, present = self._numbers(table, asked, counts)
        valid[valid] = present
        counts[NULL_VALUES] += chosen - int(np.count_nonzero(present))
        kept[kept] = valid
        return kept, made if present.all() else made.filter(pa.array(present))

    def _mine(self, table: pa.Table) -> Flags:
        """Say which rows are this shard's."""
        if self._share.count == 1 or not self._shard_key or table.num_rows == 0:
            return np.ones(table.num_rows, dtype=np.bool_)
        columns = [table.column(name) for name in self._shard_key]
        shards = shard_of(columns, [own.type for own in columns], self._share.count)
        mine: Flags = shards == self._share.number
        return mine

    def _numbers(
        self, table: pa.Table, asked: pa.Table, counts: Tally
    ) -> tuple[pa.Table, Flags]:  # fmt: skip
        """Give chosen rows as numbers, and which of them have all that is needed."""
        source, found = self.source, dict[str, pa.Array]()
        present: Flags = np.ones(table.num_rows, dtype=np.bool_)
        for name, each in zip(self.shape.observed, source.attributes, strict=True):
            values, own = _floats(table.column(each.observed))
            found[name] = pa.array(values)
            present &= own
        for names, each in zip(self.shape.coefficients, source.attributes, strict=True):
            for name, sql in zip(names, each.coefficients, strict=True):
                values, own = self._evaluated(sql, asked, counts)
                found[name] = pa.array(values)
                present &= own
        for name, (column, type_) in zip(self.shape.key, source.key, strict=True):
            codes, own = self._codes.code(table.column(column), type_)
            if self._codes.is_full(type_):
                lacking = validity(whole(table.column(column))) & ~own
                counts[KEYS_WITHOUT_ROOM] += int(np.count_nonzero(lacking))
            found[name] = pa.array(codes)
            present &= own
        for name, (column, type_) in zip(self.shape.carried, source.carried, strict=True):
            codes, own = self._codes.code(table.column(column), type_)
            found[name] = pa.array(np.where(own, codes, ABSENT))
        return pa.table([found[name] for name in self.schema.names], schema=self.schema), present

    def _evaluated(self, sql: str, asked: pa.Table, counts: Tally) -> tuple[Floats, Flags]:
        """Evaluate a coefficient for every row."""
        plain = COLUMN.fullmatch(sql)
        if plain is not None:
            return _floats(asked.column(int(plain[1])))
        (answer,) = evaluate([sql], asked)
        counts[FAILED_CONDITIONS] += answer.failures
        return _floats(answer.values)


def _floats(column: pa.ChunkedArray | pa.Array) -> tuple[Floats, Flags]:
    """Give numbers as floats, and which of them are finite."""
    array = whole(column)
    if array.type != pa.float64():
        array = array.cast(pa.float64(), safe=False)
    values: Floats = array.fill_null(np.nan).to_numpy(zero_copy_only=False)
    finite: Flags = np.isfinite(values)
    return values, finite


def codes_of(table: pa.Table, names: tuple[str, ...]) -> Ints:
    """Give columns of codes beside each other."""
    found = np.empty((table.num_rows, len(names)), dtype=np.int64)
    for place, name in enumerate(names):
        found[:, place] = whole(table.column(name)).to_numpy()
    return found


def floats_of(table: pa.Table, names: tuple[str, ...]) -> Floats:
    """Give columns of numbers beside each other."""
    found = np.empty((table.num_rows, len(names)))
    for place, name in enumerate(names):
        found[:, place] = whole(table.column(name)).to_numpy()
    return found


def models_of(table: pa.Table, names: tuple[tuple[str, ...], ...]) -> Floats:
    """Give coefficients by attribute and power; none where models are fitted."""
    if not any(names):
        return np.empty((table.num_rows, 0, WIDTH))
    found = np.zeros((table.num_rows, len(names), WIDTH))
    for place, own in enumerate(names):
        for power, name in enumerate(own):
            found[:, place, power] = whole(table.column(name)).to_numpy()
    return found
