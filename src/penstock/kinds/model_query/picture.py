"""Pictures of model queries: a key's rows and segments, and what was told before it came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.models import (
    ModelEnvelope,
    ModelFilter,
    ModelJoin,
    ModelMap,
    ModelQueryStep,
    ModelSource,
    ModelStage,
    ModelWindow,
    StandingModelQuery,
)
from penstock.expressions.connections import connect
from penstock.expressions.quotation import quoted
from penstock.kinds.model_query.batch_checks import load_told
from penstock.kinds.model_query.held_ranges import held_ranges
from penstock.kinds.model_query.recorded_models import RecordedModels
from penstock.kinds.outcomes import settle
from penstock.kinds.pictures import (
    CrossingState,
    ExpectedCrossing,
    ModelCurve,
    Panel,
    Picture,
    Shown,
    Strand,
)
from penstock.kinds.protocol import AnswerComparison
from penstock.models.segments import WIDTH
from penstock.operators.shared.times import LOWEST_TIME
from penstock.vocabulary.batches import Floats, Ints
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError

ROWS_MAX = 4_000
"""Rows of a key that are drawn; of more, every so-manieth."""
KEYS_MAX = 6
"""Keys that are drawn where a query puts several together."""
SAMPLES = 24
"""Instants at which a curve that is no line is drawn."""
SECOND_US = 1_000_000
Origin = tuple[int, int]
"""A source's number, and the position of one of its key columns."""


def model_picture(asked: AnswerComparison, shown: Shown) -> Picture:
    """Show what was recorded of one key, and what one query was told of it."""
    logical: StandingModelQuery = asked.logical
    with connect() as db:
        settle(db, logical.where_sql)
        recorded = RecordedModels.of(asked, 0)
        recorded.load(db)
        load_told(db, asked)
        chosen = _Chosen.of(db, logical.shape, shown)
        return _Drawing(db, asked, recorded, chosen, shown).picture()


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The query and the key that are shown; None where nothing was told, or there is no key."""

    query: int | None
    key: tuple[Any, ...]

    @classmethod
    def of(cls, db: duckdb.DuckDBPyConnection, step: ModelQueryStep, shown: Shown) -> _Chosen:
        """Take what is asked for; of the rest, what was told most about."""
        names = [f"k{n}" for n in range(len(step.key))]
        if len(shown.key) > len(names):
            given = counted(len(shown.key), "value is", "values are")
            fact = f"{given} given, and a key has {len(names)}."
            columns = ", ".join(name for name, _ in step.key) or "none"
            raise PenstockError("PLT-003", fact, f"The key columns are: {columns}.")
        holds = [f"{name}::VARCHAR = ?" for name, _ in zip(names, shown.key, strict=False)]
        params: list[Any] = list(shown.key)
        if shown.query is not None:
            holds.append("_query = ?")
            params.append(shown.query)
        where = f"WHERE {' AND '.join(holds)}" if holds else ""
        columns = ", ".join(["_query", *names])
        found = db.execute(
            f"SELECT {columns} FROM told {where} GROUP BY ALL "
            f"ORDER BY count(*) DESC, {columns} LIMIT 1",
            params,
        ).fetchone()
        if found is not None:
            return cls(found[0], tuple(found[1:]))
        return cls(shown.query, _known_key(db, step, shown.key))


def _known_key(
    db: duckdb.DuckDBPyConnection, step: ModelQueryStep, given: tuple[str, ...]
) -> tuple[Any, ...]:
    """Give a key that has rows: the one that is asked for, or the one with most rows."""
    found: list[Any] = []
    for place, (source, position) in enumerate(origins(step.plan)):
        keys = len(step.sources[source].key)
        name = f"k{position}" if position < keys else f"v{position - keys}"
        holds = f"WHERE {name}::VARCHAR = ?" if place < len(given) else ""
        row = db.execute(
            f"SELECT {name} FROM rows{source} {holds} GROUP BY ALL ORDER BY count(*) DESC, "
            f"{name} LIMIT 1", list(given[place : place + 1]),
        ).fetchone()  # fmt: skip
        if row is None:
            shown = ", ".join(given) or "this query"
            raise PenstockError(
                "PLT-003",
                f"There are no rows of {shown} that models were made of.",
                "Name another --key; `penstock tail` shows which there are.",
            )
        found.append(row[0])
    return tuple(found)


def origins(plan: ModelStage, first: int = 0) -> list[Origin]:
    """Say which key column of which source every key column of a plan's output is."""
    if isinstance(plan, ModelSource):
        return [(first, place) for place in range(len(plan.made_key))]
    if isinstance(plan, ModelJoin):
        left = sum(1 for _ in _sources(plan.left))
        return [*origins(plan.left, first), *origins(plan.right, first + left)]
    own = origins(plan.input, first)
    if isinstance(plan, ModelMap):
        return [own[place] for place in plan.key]
    if isinstance(plan, ModelEnvelope | ModelWindow):
        return [own[place] for place in plan.group]
    return own


def _sources(plan: ModelStage) -> Iterator[ModelSource]:
    return iter(ModelQueryStep(plan=plan, key=(), attributes=()).sources)


class _Drawing:
    """A picture while it is made."""

    def __init__(
        self, db: duckdb.DuckDBPyConnection, asked: AnswerComparison, recorded: RecordedModels,
        chosen: _Chosen, shown: Shown,
    ) -> None:  # fmt: skip
        self._db, self._asked, self._recorded, self._chosen = db, asked, recorded, chosen
        self._logical: StandingModelQuery = asked.logical
        self._step = self._logical.shape
        self._now = recorded.now(recorded.batches)
        newest = [own.time.max() for own in recorded.arrivals.values() if len(own.time)]
        last = max((int(each) for each in newest), default=0)
        self._since = LOWEST_TIME if shown.last_us is None else last - shown.last_us
        self._notes: list[str] = []

    def picture(self) -> Picture:
        """Put everything together."""
        step = self._step
        panels: dict[str, list[Strand]] = {}
        for number, source in enumerate(step.sources):
            for key in self._keys(number, source):
                for attribute, each in enumerate(source.attributes):
                    strand = self._strand(number, source, attribute, key)
                    if strand.name not in (own.name for own in panels.get(each.name, [])):
                        panels.setdefault(each.name, []).append(strand)
        title = self._asked.answer.subscription
        if self._chosen.key:
            pairs = zip(step.key, self._chosen.key, strict=True)
            said = {each.sql: each.name for each in self._logical.outputs}
            title += ": " + ", ".join(
                f"{said.get(quoted(name), name)} {value}" for (name, _), value in pairs
            )
        return Picture(
            title=title,
            panels=[self._panel(name, strands) for name, strands in panels.items()],
            held=self._held(),
            notes=tuple(self._notes),
            since=None if self._since == LOWEST_TIME else np.datetime64(self._since, "us"),
        )

    def _keys(self, number: int, source: ModelSource) -> list[tuple[Any, ...]]:
        """Give the keys of a source that are drawn: one, or some where a query mixes several."""
        of = dict(zip(origins(self._step.plan), self._chosen.key, strict=True))
        holds = [f"k{n} = ?" for n in range(len(source.key)) if (number, n) in of]
        given = [of[number, n] for n in range(len(source.key)) if (number, n) in of]
        names = ", ".join(f"k{n}" for n in range(len(source.key))) or "1"
        where = f"WHERE {' AND '.join(holds)}" if holds else ""
        found = self._db.execute(
            f"SELECT {names} FROM rows{number} {where} GROUP BY ALL "
            f"ORDER BY count(*) DESC, {names}",
            given,
        ).fetchall()
        if len(found) > KEYS_MAX:
            self._notes.append(f"{KEYS_MAX} keys of {len(found):,} are drawn.")
        return [tuple(row) if source.key else () for row in found[:KEYS_MAX]]

    def _strand(
        self, number: int, source: ModelSource, attribute: int, key: tuple[Any, ...]
    ) -> Strand:
        """Give the rows and models of one key's attribute."""
        mine = " AND ".join([f"k{n} = ?" for n in range(len(key))] or ["TRUE"])
        rows = self._db.execute(
            f"SELECT _time, a{attribute} FROM rows{number} WHERE {mine} AND _time >= ? "
            "ORDER BY _time, _place", [*key, self._since],
        ).fetchnumpy()  # fmt: skip
        every = -(-len(rows["_time"]) // ROWS_MAX) or 1
        if every > 1:
            self._notes.append(f"Of {len(rows['_time']):,} rows, one in {every} is drawn.")
        columns = ", ".join(f"c{attribute}_{power}" for power in range(WIDTH))
        models = self._db.sql(
            f"SELECT reference, starts, ends, sign, {columns} FROM models{number}_all "
            f"WHERE {mine} AND ends >= ? ORDER BY starts, sign DESC",
            params=[*key, self._since],
        ).to_arrow_table()
        segments, withdrawn, ahead = self._curves(number, source, attribute, models)
        pairs = zip(source.key, key, strict=True)
        shown = ", ".join(f"{name} {value}" for (name, _), value in pairs)
        return Strand(
            name=shown, at=_times(rows["_time"][::every]),
            value=np.asarray(rows[f"a{attribute}"][::every], dtype=np.float64),
            segments=segments, withdrawn=withdrawn, ahead=ahead,
        )  # fmt: skip

    def _curves(
        self, number: int, source: ModelSource, attribute: int, models: pa.Table
    ) -> tuple[list[ModelCurve], list[ModelCurve], list[ModelCurve]]:
        """Give segments as far as they held, what was withdrawn of them, and what is to come."""
        values = models.to_pydict()
        powers = [values[f"c{attribute}_{power}"] for power in range(WIDTH)]
        words = list(zip(values["reference"], values["ends"], *powers, strict=True))
        cuts = {
            word: start
            for word, start, sign in zip(words, values["starts"], values["sign"], strict=True)
            if sign < 0
        }
        held: list[ModelCurve] = []
        withdrawn: list[ModelCurve] = []
        ahead: list[ModelCurve] = []
        for word, start, sign in zip(words, values["starts"], values["sign"], strict=True):
            if sign < 0:
                continue
            reference, end, *coefficients = word
            cut = min(cuts.get(word, end), end)
            reached = max(min(cut, self._now), start)
            for into, low, high in ((held, start, reached), (ahead, reached, cut),
                                    (withdrawn, cut, end)):  # fmt: skip
                if low < high and high >= self._since:
                    into.append(self._curve(number, source, attribute,
                                            (reference, low, high), coefficients))  # fmt: skip
        return held, withdrawn, ahead

    def _curve(
        self, number: int, source: ModelSource, attribute: int, span: tuple[int, int, int],
        coefficients: Sequence[float],
    ) -> ModelCurve:  # fmt: skip
        reference, low, high = span
        is_line = not any(coefficients[2:])
        at: Ints = np.linspace(low, high, 2 if is_line else SAMPLES).astype(np.int64)
        value: Floats = np.polynomial.polynomial.polyval(
            (at - reference) / SECOND_US, np.array(coefficients)
        )
        fit = source.attributes[attribute].fit
        allowed = self._recorded.inversion.sources[number].allowed(attribute, value)
        if fit is not None and fit.error is not None:
            allowed = np.full(len(at), fit.error)
        return ModelCurve(
            at=_times(at), value=value, allowed=np.where(np.isfinite(allowed), allowed, 0)
        )

    def _panel(self, name: str, strands: list[Strand]) -> Panel:
        """Give an attribute with the numbers that the query compares it with, and crossings."""
        place = self._compared(name)
        limits = [] if place is None else [self._number(n) for n in self._numbers(place)]
        return Panel(
            name=name, strands=strands, limits=[own for own in limits if own is not None],
            crossings=self._crossings(place),
        )  # fmt: skip

    def _compared(self, name: str) -> int | None:
        """Give the position of an attribute in the output, where the output is that of a source."""
        plan: Any = self._step.plan
        while isinstance(plan, ModelFilter):
            plan = plan.input
        if not isinstance(plan, ModelSource):
            return None
        return [each.name for each in plan.attributes].index(name)

    def _numbers(self, attribute: int) -> list[int]:
        """Give the comparisons that are of an attribute alone."""
        found = []
        for place, each in enumerate(self._step.asked.comparisons):
            terms = each.polynomial.terms
            powers = tuple(int(own == attribute) for own in range(len(self._step.attributes)))
            if len(terms) == 1 and terms[0].powers == powers and terms[0].factor == 1.0:
                found.append(place)
        return found

    def _number(self, place: int) -> float | None:
        """Give the number that the query compares with."""
        name = self._logical.number_parameters[place]
        if name in self._logical.constants:
            return float(self._logical.constants[name])
        given = self._asked.parameters
        rows = np.flatnonzero(given["_query"].to_numpy() == self._chosen.query)
        value = given[f".{name}"][int(rows[0])].as_py() if len(rows) else None
        return None if value is None else float(value)

    def _mine(self) -> tuple[str, list[Any]]:
        """Say which of what was told is of the query and the key that are shown."""
        holds = [
            "_query = ?",
            *(f"k{n} IS NOT DISTINCT FROM ?" for n in range(len(self._step.key))),
        ]
        return " AND ".join(holds), [self._chosen.query, *self._chosen.key]

    def _crossings(self, attribute: int | None) -> list[ExpectedCrossing]:
        """Give when answers were expected to begin, and what became of that."""
        if not self._step.predicts or self._chosen.query is None:
            return []
        mine, params = self._mine()
        value = "NULL"
        if attribute is not None:
            value = f"a{attribute}" if self._step.sample_us else f"c{attribute}_0"
        found = self._db.execute(
            f"SELECT starts, any_value({value}) FILTER (sign > 0) AS value, "
            "bool_or(status = 'confirmed' AND sign > 0) AS came, sum(sign) AS left "
            f"FROM told WHERE {mine} AND starts >= {self._since} GROUP BY starts "
            "HAVING bool_or(status = 'expected' AND sign > 0) ORDER BY starts", params,
        ).fetchall()  # fmt: skip
        crossings = []
        for starts, number, came, left in found:
            state: CrossingState = "confirmed" if came else "expected" if left else "withdrawn"
            crossings.append(
                ExpectedCrossing(at=np.datetime64(starts, "us"), value=number, state=state)
            )
        return crossings

    def _held(self) -> list[tuple[np.datetime64, np.datetime64]]:
        """Give from when to when the answer held, as far as time has come."""
        if self._chosen.query is None:
            return []
        mine, params = self._mine()
        told = self._db.execute(f"SELECT starts, ends, sign FROM told WHERE {mine}", params)
        columns = told.fetchnumpy()
        starts, ends, sign = (np.asarray(columns[n], np.int64) for n in ("starts", "ends", "sign"))
        none = np.zeros(len(starts), dtype=np.int64)
        ranges = held_ranges(none, none, starts, ends, sign, self._now)
        kept = ranges.ends >= self._since
        begins = np.maximum(ranges.starts[kept], self._since)
        return list(zip(_times(begins), _times(ranges.ends[kept]), strict=True))


def _times(us: Ints) -> np.ndarray:
    return np.asarray(us, dtype=np.int64).astype("datetime64[us]")
