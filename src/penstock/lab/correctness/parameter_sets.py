"""Parameter sets: values from every kind of source, in every place, against DuckDB.

What a row of parameters means is a text. DuckDB compares the column with that text cast to the
column's type, or to a type with more places where the column's own cannot hold it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.engine.registration import Receipt
from penstock.expressions.connections import connect
from penstock.lab.correctness.parameters import COLUMNS, TEXTS, Given, sources, value_of
from penstock.lab.correctness.runs import DeskRun, scratch
from penstock.lab.fuzzers import Fault, FuzzOutcome
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.types import ColumnKind, is_ordered, kind_of

NAME = "parameters"
SETS_PER_HOME = 200
TEXTS_PER_TABLE = 12
VERIFIED_EVERY = 5
DRAWN = 8
"""How many texts are drawn beside those that are known to be awkward."""
PLACES = {
    "equality": "c = :p",
    "list": "c IN (:p)",
    "low": "c >= :p",
    "high": "c < :p",
    "open": "c > :p",
    "between": "c BETWEEN :p AND :p",
    "unequal": "c <> :p",
    "residual": "CASE WHEN c <= :p THEN TRUE ELSE FALSE END",
    "residual equality": "CASE WHEN c = :p THEN TRUE ELSE FALSE END",
}
JOINED_SHARE = 0.15
JOINED = "SELECT x.k FROM s x [ROWS 1000], s y [ROWS 1] WHERE x.k = y.k AND {}"


def relation(column: str) -> Relation:
    """Give the stream of one column and its event time."""
    fields = [("k", pa.int64()), ("c", COLUMNS[column]), ("ts", pa.timestamp("us", "UTC"))]
    return Relation(
        name="s", kind="stream", schema=pa.schema(fields), event_time="ts", lateness_us=0
    )


def events(column: str, texts: list[str], chance: np.random.Generator) -> pa.Table:
    """Give every value that the column holds, and NULL."""
    type_ = COLUMNS[column]
    values: list[Any] = [None]
    for text in texts:
        try:
            value = text if pa.types.is_string(type_) else value_of(text, type_)
            if pa.types.is_decimal(type_) or pa.types.is_integer(type_):
                value = pa.scalar(text).cast(type_).as_py()
            values.append(pa.scalar(value, type_).as_py())
        except (pa.ArrowException, ValueError, OverflowError, TypeError):
            continue
    values = [values[int(place)] for place in chance.permutation(len(values))]
    size = len(values)
    at = pa.array(range(size)).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("us", "UTC"))
    return pa.table({"k": list(range(size)), "c": pa.array(values, type_), "ts": at})


class Truth:
    """DuckDB's answers; None where the column's type does not hold the value."""

    def __init__(self, rows: pa.Table, column: str) -> None:
        self._db = connect(threads=1)
        self._db.register("given", rows)
        self._db.execute("CREATE TABLE s AS FROM given")
        self._name = str(self._db.sql("SELECT c FROM s").types[0])
        self._kind = kind_of(COLUMNS[column])
        self._is_indexed = is_ordered(COLUMNS[column])
        self._known: dict[tuple[str, str], set[int] | None] = {}

    def rows(self, condition: str, text: str | None) -> set[int] | None:
        """Give the rows for which a condition holds."""
        if text is None:
            return set()
        key = condition, text
        if key not in self._known:
            self._known[key] = self._ask(condition, text)
        return self._known[key]

    def _ask(self, condition: str, text: str) -> set[int] | None:
        cast = f"CAST($t AS {self._name})"
        if self._kind in {ColumnKind.INTEGER, ColumnKind.DECIMAL} and not self.holds(text):
            is_bound = any(sign in condition for sign in ("<", ">", "BETWEEN"))
            is_bound &= "CASE" not in condition
            if not (is_bound and self._is_indexed):
                return None
            cast = "CAST($t AS DECIMAL(38, 8))"
        sql = f"SELECT k FROM s WHERE {condition.replace(':p', cast)}"
        return {k for (k,) in self._db.execute(sql, {"t": text}).fetchall()}

    def holds(self, text: str) -> bool:
        """Say whether the column's type holds the number that a text says."""
        sql = f"SELECT TRY_CAST($t AS {self._name}) = CAST($t AS DECIMAL(38, 8))"
        return bool(self._db.execute(sql, {"t": text}).fetchall()[0][0])


def differing(
    run: DeskRun, name: str, condition: str, each: Given, receipt: Receipt, truth: Truth
) -> Iterator[str]:
    """Tell of each row of parameters whose answer, or refusal, is not the one expected."""
    codes = receipt.refused["code"].to_pylist()
    refused = dict(zip(receipt.refused["row"].to_pylist(), codes, strict=True))
    answers = run.desk.subscription(name).read()
    found: dict[int, set[int]] = {}
    for id_, k in zip(answers["_id"].to_pylist(), answers["k"].to_pylist(), strict=True):
        found.setdefault(int(id_), set()).add(k)
    for i, text in enumerate(each.texts):
        expected = truth.rows(condition, text)
        if not expected and "BETWEEN" in condition and refused.get(i) == "REG-004":
            continue
        if expected is None:
            if refused.get(i) not in {"REG-005", "REG-004"}:
                yield f"{text} is not refused as what the column cannot hold: {refused.get(i)}"
        elif refused.get(i) == "REG-005" and text is not None and not truth.holds(text):
            continue  # only the ranges of an index take what lies between two values
        elif i in refused:
            yield f"{text} is refused: {refused[i]}"
        elif found.get(i, set()) != expected:
            yield f"{text} finds {sorted(found.get(i, set()))}, not {sorted(expected)}"


def fuzz_parameters(seed: int, first: int, cases: int) -> FuzzOutcome:
    """Draw a column, values, sources and places; compare what every row of parameters finds."""
    chance = np.random.default_rng((seed, first))
    outcome = FuzzOutcome(NAME)
    column = list(COLUMNS)[int(chance.integers(len(COLUMNS)))]
    known = [*TEXTS[column], *(_drawn(column, chance) for _ in range(DRAWN))]
    rows = events(column, known, chance)
    with scratch() as home, DeskRun(Path(home) / "home", relation(column)) as run:
        given: dict[str, tuple[str, Given, Receipt]] = {}
        while outcome.cases < cases:
            picked = chance.choice(len(known), TEXTS_PER_TABLE)
            texts: list[str | None] = [None, *(known[int(number)] for number in picked)]
            made = sources(column, texts, Path(home))
            source = sorted(made)[int(chance.integers(len(made)))]
            each, condition = made[source](), _condition(column, chance)
            sql = f"SELECT k FROM s WHERE {condition}"
            if chance.random() < JOINED_SHARE:
                sql = JOINED.format(condition.replace("c ", "x.c ", 1).replace("(c", "(x.c"))
            name = f"{len(given)} {source} {sql}"
            outcome.cases += len(each.texts)
            try:
                receipt = run.desk.subscribe(sql, name=name, each=each.each).receipt
            except PenstockError as error:
                outcome.refusals[error.code] += len(each.texts)
                continue
            assert receipt is not None
            given[name] = condition, each, receipt
        run.batch(s=rows)
        run.batch(s=[{"k": -1, "c": None, "ts": datetime(2030, 1, 1, tzinfo=UTC)}])
        truth = Truth(rows, column)
        for name, (condition, each, receipt) in given.items():
            outcome.answered += len(each.texts)
            outcome.answers += run.desk.subscription(name).read().num_rows
            for words in differing(run, name, condition, each, receipt, truth):
                outcome.faults.append(Fault(seed, first, f"{column}: {name}", words))
        if first % (SETS_PER_HOME * VERIFIED_EVERY) == 0:
            for name, told in run.unverified():
                outcome.faults.append(Fault(seed, first, f"{column}: {name}", told))
    return outcome


def _condition(column: str, chance: np.random.Generator) -> str:
    """Draw a condition that the column's type has."""
    equal_only = kind_of(COLUMNS[column]) in {ColumnKind.STRING, ColumnKind.BOOLEAN}
    texts = [text for text in PLACES.values() if "=" in text or not equal_only]
    return texts[int(chance.integers(len(texts)))]


def _drawn(column: str, chance: np.random.Generator) -> str:
    """Draw a text for a column: numbers of all lengths and places, days, moments."""
    kind = kind_of(COLUMNS[column])
    number = int(chance.integers(-(10 ** int(chance.integers(1, 19))), 10**18))
    if kind in {ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.DECIMAL}:
        number //= 10 ** int(chance.integers(0, 19))
        places = int(chance.integers(0, 7))
        if kind is ColumnKind.INTEGER or not places:
            return str(number)
        sign, digits = "-" * (number < 0), str(abs(number)).rjust(places + 1, "0")
        return f"{sign}{digits[:-places]}.{digits[-places:]}"
    moment = datetime.fromtimestamp(number % 4_000_000_000, UTC).replace(tzinfo=None)
    if kind is ColumnKind.DATE:
        return str(moment.date())
    if kind is ColumnKind.TIMESTAMP:
        return str(moment.replace(microsecond=number % 1_000_000))
    return TEXTS[column][number % len(TEXTS[column])]
