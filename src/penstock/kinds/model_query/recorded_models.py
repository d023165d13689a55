"""Recorded models: the rows of a group's streams, put in order and made into segments once more.

The order of rows, and which of them are late, is found by `penstock.kinds.arrivals`, keys are those
of the recorded rows, and DuckDB evaluates what makes coefficients. Segments are made by the sources
themselves: whether these are near the rows, and answers are what they say, is compared afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Catalog
from penstock.algebra.inputs import WAITING_ROWS, JoinInput, WindowLength
from penstock.algebra.models import ModelQueryStep, ModelSource
from penstock.expressions.quotation import theirs
from penstock.kinds.arrivals import Arrivals, arrive, late_rows
from penstock.kinds.crossed_verification import history_of, reader
from penstock.kinds.drop_boxes import passing
from penstock.kinds.model_query.stream_lives import stream_beginning
from penstock.kinds.model_query.streams import registered_step
from penstock.kinds.protocol import AnswerComparison
from penstock.models.inversion import Inversion, step_inversion
from penstock.models.segments import WIDTH, Segments
from penstock.models.sources import SegmentSource, SourceRows
from penstock.vocabulary.batches import Ints

FOREVER_US = 1 << 61
SECOND_US = 1_000_000


@dataclass(slots=True)
class RecordedModels:
    """The recorded rows of every source in their order, and what models were made of them.

    `begun` is the batch in which the group began, `made_from` that in which its sources did: those
    of a stream that others read before had models then, and the group began with what these said of
    the time to come.
    """

    step: ModelQueryStep
    inversion: Inversion
    arrivals: dict[int, Arrivals]
    begun: int
    made_from: int
    batches: int

    @classmethod
    def of(cls, asked: AnswerComparison, begun: int) -> RecordedModels:
        """Put the recorded rows of a group in order, from the batch on in which it began."""
        step = registered_step(asked.logical, asked.group)
        catalog = asked.registry.catalog
        inputs = inputs_of(step.sources, catalog)
        first, _ = history_of(asked.registry, asked.group, asked.versions)
        read = reader(asked.batches, catalog)
        count = len(asked.batches)
        begun = made_from = max(first, begun)
        orders = [inputs]
        if step.reads:
            made_from = stream_beginning(asked, step.reads[0], begun)
            orders = [(own,) for own in inputs]
        found: dict[int, Arrivals] = {}
        for own in orders:
            arrived = arrive(own, read, count, made_from, (), passing, WAITING_ROWS)
            asked.answer.late = max(asked.answer.late, late_rows(own, arrived))
            found |= {len(found) + place: each for place, each in arrived.items()}
        return cls(step, step_inversion(step), found, begun, made_from, count)

    def now(self, batch: int) -> int:
        """Give the event time that a batch began at: no row behind it was in time any more."""
        return min(
            int(own.newest[batch]) - each.lateness_us
            for own, each in zip(self.arrivals.values(), self.step.sources, strict=True)
        )

    def load(self, db: duckdb.DuckDBPyConnection) -> None:
        """Make the tables rows0, models0, …: of every source its rows, and signed segments."""
        for number, source in enumerate(self.step.sources):
            db.register("arrived", _with_place(self.arrivals[number]))
            db.execute(f"CREATE OR REPLACE TABLE rows{number} AS {rows_sql(source)}")
            db.unregister("arrived")
            made = self._segments(db, number, source)
            db.register("made", made)
            db.execute(f"CREATE OR REPLACE TABLE models{number}_all AS {self._begun_sql()}")
            db.unregister("made")

    def _begun_sql(self) -> str:
        """Select what the group was told of models: of those before it, from its beginning on."""
        now, earlier = self.now(self.begun), f"_batch < {self.begun}"
        return (
            f"SELECT * REPLACE (if({earlier}, greatest(starts, {now}), starts) AS starts) "
            f"FROM made WHERE NOT ({earlier} AND ends <= {now})"
        )

    def _segments(
        self, db: duckdb.DuckDBPyConnection, number: int, source: ModelSource
    ) -> pa.Table:
        """Make segments of rows, batch by batch."""
        rows = db.sql(f"FROM rows{number} ORDER BY _time, _place").to_arrow_table()
        whole, values = source_rows(rows, source)
        release = rows.column("_release").to_numpy()
        made = SegmentSource(source, self.inversion.sources[number], predicts=self.step.predicts)
        parts: list[tuple[int, Segments]] = []
        for batch in range(self.made_from, self.batches):
            own = whole.take(np.flatnonzero(release == batch))
            found = [made.process(own)] if len(own) else []
            now = self.now(batch + 1)
            if now > -FOREVER_US:
                found.append(made.advance(now))
            parts += [(batch, each) for each in found if len(each)]
        return _table(parts, values, source)


def inputs_of(sources: Sequence[ModelSource], catalog: Catalog) -> tuple[JoinInput, ...]:
    """Give sources as inputs whose rows are put in order."""
    return tuple(
        JoinInput(
            name=str(number),
            relation=each.relation,
            columns=tuple((f.name, f.type) for f in catalog[each.relation.lower()].schema),
            window=WindowLength("range", FOREVER_US),
            event_time=each.event_time,
            lateness_us=each.lateness_us,
        )
        for number, each in enumerate(sources)
    )


def source_rows(rows: pa.Table, source: ModelSource) -> tuple[SourceRows, list[pa.Array]]:
    """Give rows that `rows_sql` chose as a source takes them, and the values that codes stand for.

    Those of the key come first, then those of what is carried; NULL is -1.
    """
    keys = [_coded(rows.column(f"k{n}")) for n in range(len(source.key))]
    carried = [_coded(rows.column(f"v{n}")) for n in range(len(source.carried))]
    found = SourceRows(
        _beside([codes for codes, _ in keys], rows.num_rows),
        rows.column("_time").to_numpy(),
        _matrix(rows, [f"a{n}" for n in range(len(source.attributes))]),
        _models(rows, source),
        _beside([codes for codes, _ in carried], rows.num_rows),
    )
    return found, [values for _, values in (*keys, *carried)]


def _with_place(arrivals: Arrivals) -> pa.Table:
    """Give the rows of a stream that were released, with their places in the order of arrival."""
    found = arrivals.table()
    return found.append_column("_place", pa.array(np.arange(found.num_rows)))


def rows_sql(source: ModelSource) -> str:
    """Select what a source needs of its rows: keys, what was observed, coefficients."""
    given = ", ".join(
        [f"{theirs(name)} AS c{n}" for n, name in enumerate(source.columns)] or ["0 AS nothing"]
    )
    columns = [f"{theirs(name)} AS k{n}" for n, (name, _) in enumerate(source.key)]
    columns += [f"{theirs(name)} AS v{n}" for n, (name, _) in enumerate(source.carried)]
    numbers = []
    for n, each in enumerate(source.attributes):
        numbers.append((f"a{n}", f"{theirs(each.observed)}::DOUBLE"))
        numbers += [
            (f"c{n}_{power}", f"TRY(({sql})::DOUBLE)")
            for power, sql in enumerate(each.coefficients)
        ]
    columns += [f"{sql} AS {name}" for name, sql in numbers]
    there = [f"k{n} IS NOT NULL" for n in range(len(source.key))]
    there += [f"isfinite({name})" for name, _ in numbers]
    chosen = f"coalesce(TRY({source.condition}), FALSE)" if source.condition else "TRUE"
    raw = f"SELECT *, {given} FROM arrived"
    made = f"SELECT * EXCLUDE ({', '.join(_given(source))}), {', '.join(columns)} FROM ({raw}) "
    return f"SELECT * FROM ({made} WHERE {chosen}) WHERE {' AND '.join(there) or 'TRUE'}"


def _given(source: ModelSource) -> list[str]:
    return [f"c{n}" for n in range(len(source.columns))] or ["nothing"]


def _coded(column: pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    """Give numbers for values, and the values."""
    encoded = column.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = pa.concat_arrays(encoded.chunks)
    encoded = encoded.dictionary_encode()
    codes = encoded.indices.fill_null(-1).cast(pa.int64()).to_numpy()
    return np.array(codes, dtype=np.int64), encoded.dictionary


def valued(codes: Ints, values: pa.Array) -> pa.Array:
    """Give the values that codes stand for."""
    return values.take(pa.array(codes, mask=codes < 0))


def _beside(columns: list[Ints], rows: int) -> Ints:
    return np.stack(columns, axis=1) if columns else np.empty((rows, 0), dtype=np.int64)


def _matrix(rows: pa.Table, names: list[str]) -> np.ndarray:
    return np.stack([rows.column(name).to_numpy() for name in names], axis=1)


def _models(rows: pa.Table, source: ModelSource) -> np.ndarray:
    """Give the coefficients that rows bring; none where models are fitted."""
    if not any(each.coefficients for each in source.attributes):
        return np.empty((rows.num_rows, 0, WIDTH))
    found = np.zeros((rows.num_rows, len(source.attributes), WIDTH))
    for n, each in enumerate(source.attributes):
        for power in range(len(each.coefficients)):
            found[:, n, power] = rows.column(f"c{n}_{power}").to_numpy()
    return found


def _table(
    parts: list[tuple[int, Segments]], values: list[pa.Array], source: ModelSource
) -> pa.Table:
    """Give signed segments with the values of their keys, and the batch of each."""
    none = Segments.none(len(source.made_key), len(source.attributes))
    whole = Segments.joined([none, *(own for _, own in parts)])
    batch = np.concatenate([[], *(np.full(len(own), n) for n, own in parts)]).astype(np.int64)
    starts, ends = (
        whole.reference + np.rint(own * SECOND_US).astype(np.int64)
        for own in (whole.low, whole.high)
    )
    columns = {
        "_batch": batch, "reference": whole.reference, "starts": starts, "ends": ends,
        "sign": whole.sign.astype(np.int64), "serial": whole.serial,
    }  # fmt: skip
    keys = {f"k{n}": valued(whole.key[:, n], own) for n, own in enumerate(values)}
    models = {
        f"c{n}_{power}": np.ascontiguousarray(whole.coefficients[:, n, power])
        for n in range(len(source.attributes))
        for power in range(WIDTH)
    }
    return pa.table({**keys, **columns, **models})
