"""What is compared after a batch: queries that are asked, what they were told, what differs."""

from __future__ import annotations

from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa

from penstock.algebra.models import ModelQueryStep, StandingModelQuery
from penstock.expressions.quotation import theirs
from penstock.kinds.model_query.plan_sql import value_sql
from penstock.kinds.model_query.recorded_models import RecordedModels
from penstock.kinds.outcomes import count, without_nan
from penstock.kinds.protocol import AnswerComparison
from penstock.kinds.recorded import load_events, load_matches, sections_of
from penstock.models.segments import WIDTH
from penstock.vocabulary.changes import sign_beside

QUERIES_MAX = 100
EXAMPLES_MAX = 5
SLACK_SHARE = 1e-6
"""By how much more than it may a row may be off, for rounding."""


@dataclass(slots=True)
class Tried:
    """What was compared of one text."""

    instants: int = 0
    rows: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    beyond: int = 0
    untried: list[str] = field(default_factory=list)


def load_told(db: duckdb.DuckDBPyConnection, asked: AnswerComparison) -> None:
    """Make the table `told`: what queries were told, with _query, _batch and sign."""
    step: ModelQueryStep = asked.logical.shape
    sign = sign_beside(name for name, _ in step.made)
    places = sections_of(asked.batches, asked.group)
    load_events(db, "made_rows", places, pa.schema([*step.made, (sign, pa.int8())]))
    load_matches(db, "matches", places)
    columns = [f"e.{theirs(name)} AS k{n}" for n, (name, _) in enumerate(step.key)]
    if step.sample_us is not None:
        columns += [f"epoch_us(e.{theirs('at')}) AS starts", f"epoch_us(e.{theirs('at')}) AS ends"]
        columns += [f"e.{theirs(name)} AS a{n}" for n, name in enumerate(step.attributes)]
    else:
        columns += [f"epoch_us(e.{theirs(name)}) AS {name}" for name in ("starts", "ends")]
        columns += [
            f"coalesce(e.{theirs(name)}[{power + 1}], 0.0) AS c{n}_{power}"
            for n, name in enumerate(step.attributes)
            for power in range(WIDTH)
        ]
    status = f"e.{theirs('status')}" if step.predicts else "NULL"
    db.execute(
        f"CREATE OR REPLACE TABLE told AS SELECT m.query AS _query, m._batch, "
        f"{', '.join(columns)}, {status} AS status, e.{theirs(sign)}::BIGINT AS sign "
        "FROM matches AS m "
        "JOIN made_rows AS e ON e._batch = m._batch AND e._part = m._part AND e._row = m.event"
    )


class BatchCheck:
    """What holds after one batch, of some queries of a text."""

    def __init__(
        self, db: duckdb.DuckDBPyConnection, asked: AnswerComparison, recorded: RecordedModels,
        batch: int, tried: Tried,
    ) -> None:  # fmt: skip
        self.db, self.asked, self.recorded = db, asked, recorded
        self.batch, self.tried = batch, tried
        self.logical: StandingModelQuery = asked.logical
        self.step = recorded.step
        self.now = recorded.now(batch + 1)

    def choose(self) -> bool:
        """Make the table `p`: some queries that stand, each with its birth and what it asks."""
        given = self.asked.parameters
        firsts = given["_first"].to_numpy()
        births = np.array(
            [self.recorded.now(max(int(n), self.recorded.begun)) for n in firsts], np.int64
        )
        given = given.append_column("_born", pa.array(births))
        names = {f"q_k{n}": name for n, name in enumerate(self.logical.key_parameters)}
        names |= {f"q_n{n}": name for n, name in enumerate(self.logical.number_parameters)}
        for column, name in names.items():
            type_ = self.logical.parameters[name]
            if name in self.logical.constants:
                value = pa.array([self.logical.constants[name]] * given.num_rows, type_)
            else:
                value = given.column(f".{name}")
            given = given.append_column(column, value)
        params = [without_nan(f.name[1:], f.type) for f in given.schema if f.name[0] == "."]
        listed = ", ".join(["_query", "_first", "_last", "_born", *names, *params])
        self.db.register("given", given)
        self.db.execute(
            f"CREATE OR REPLACE TABLE p AS SELECT {listed} FROM given "
            f"WHERE _first <= {self.batch} AND _last > {self.batch} "
            f"AND _first >= {self.recorded.begun if self.recorded.begun else 0} "
            f"ORDER BY hash(_query) LIMIT {QUERIES_MAX}"
        )
        self.db.unregister("given")
        return count(self.db, "SELECT count(*) FROM p") > 0

    def allowed(self, number: int, attribute: int, value: str, *, of_row: bool = False) -> str:
        """Say how far a row and its model may be apart, from the model's value or from the row's.

        A share is of the model's value, which is itself off from the row's.
        """
        value = f"({value})::DOUBLE"  # Whole numbers and decimals have no room for what follows.
        tolerances = self.recorded.inversion.sources[number]
        fit = self.step.sources[number].attributes[attribute].fit
        terms = []
        for pool in tolerances.pools:
            amount = pool.amounts[attribute]
            if amount == float("inf"):
                continue
            if pool.form == "absolute":
                terms.append(f"{amount!r}")
            elif not of_row or amount < 1.0:
                share = amount / (1.0 - amount) if of_row else amount
                terms.append(f"({share!r} * abs({value}) + {tolerances.floor!r})")
        if fit is not None and fit.error is not None:
            terms = [f"{fit.error!r}"]
        least = f"least({', '.join(terms)})" if terms else "1e300"
        slack = f"{SLACK_SHARE!r} * (1 + abs({value})) * 1e-3"
        return f"(({least})::DOUBLE * {1 + SLACK_SHARE!r} + {slack})"

    def tell_at_instants(self) -> None:
        """Make the table `at_instants`: what was told, added up, at each instant.

        `size0`, … are what was added up without signs: so much is rounded.
        """
        step = self.step
        keys = [f"d.k{n}" for n in range(len(step.key))]
        seconds = "((i.t - d.starts) / 1e6)"
        own = [
            value_sql(n, seconds) if step.sample_us is None else f"d.a{n}"
            for n in range(len(step.attributes))
        ]
        values = [f"sum(d.sign * {each}) AS a{n}" for n, each in enumerate(own)]
        values += [f"sum(abs({each})) AS size{n}" for n, each in enumerate(own)]
        holds = "d.starts <= i.t AND (i.t < d.ends OR (d.starts = d.ends AND i.t = d.ends))"
        columns = ", ".join(["d._query AS _query", "i.t AS t", *(
            f"{own} AS {own[2:]}" for own in keys), *values, "sum(d.sign) AS _sign",
            "sum(d.sign) FILTER (d.starts < d.ends) > 0 AS lasts"])  # fmt: skip
        group = ", ".join(["d._query", "i.t", *keys])
        self.db.execute(
            f"CREATE OR REPLACE TABLE at_instants AS SELECT {columns} FROM instants AS i "
            f"JOIN (SELECT told.* FROM told JOIN p USING (_query) WHERE _batch <= {self.batch} "
            f"AND _batch >= p._first) AS d ON {holds} GROUP BY {group} HAVING sum(d.sign) <> 0"
        )

    def note(self, kind: str, number: int, sql: str, words: str) -> None:
        """Note differences, with examples."""
        answer = self.asked.answer
        setattr(answer, kind, getattr(answer, kind) + number)
        if number and len(answer.examples) < EXAMPLES_MAX:
            for row in self.db.sql(f"SELECT * FROM ({sql}) LIMIT 2").to_arrow_table().to_pylist():
                shown = {name.removeprefix("."): value for name, value in row.items()}
                answer.examples.append({"kind": kind, "is": words, "batch": self.batch, **shown})

    def untried_because(self, words: str) -> None:
        """Note that something is not compared, and why."""
        if words not in self.tried.untried:
            self.tried.untried.append(words)
