"""EXPLAIN TUPLE: what a group's operator would do with one given row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from penstock.algebra.catalog import Relation
from penstock.engine.home import Home
from penstock.expressions.connections import connect
from penstock.expressions.quotation import quoted
from penstock.operators.catalogue import OPERATORS
from penstock.operators.protocol import (
    NO_FACTS,
    LiveFacts,
    Operator,
    RouteCosts,
    RoutingOperator,
)
from penstock.operators.shard import Shard
from penstock.registry.records import SubscriptionRecord
from penstock.registry.store import Registry
from penstock.spark.embedded import EmbeddedHost, restored
from penstock.storage.state import StateLog
from penstock.vocabulary.errors import PenstockError

Answer = TypeVar("Answer")


def ask_router(operator: Operator, name: str, relation: str, row: pa.Table) -> RouteCosts:
    """Ask an operator that has several ways to process a row what each would cost for this one."""
    if not isinstance(operator, RoutingOperator):
        raise PenstockError(
            "ENG-015",
            f"Every row takes the same way through the queries of {name!r}.",
            f"Say EXPLAIN SUBSCRIPTION {name} instead.",
        )
    return operator.explain_tuple(relation, row)


def relation_of(registry: Registry, record: SubscriptionRecord, name: str) -> Relation:
    """Find the relation that a row is said to come from among those that a subscription reads."""
    relation = registry.catalog.get(name.lower())
    if relation is None or relation.name not in record.relations:
        raise PenstockError(
            "ENG-016",
            f"{record.name!r} does not read {name!r}.",
            f"Give a row of one of: {', '.join(record.relations)}.",
        )
    return relation


def row_of(relation: Relation, values: Mapping[str, Any]) -> pa.Table:
    """Make a row out of values by column; columns that are not named are NULL.

    >>> schema = pa.schema([("n", pa.int64()), ("day", pa.date32())])
    >>> row_of(Relation(name="t", kind="stream", schema=schema), {"day": "2026-01-02"}).to_pylist()
    [{'n': None, 'day': datetime.date(2026, 1, 2)}]
    """
    own = {name.lower(): name for name in relation.schema.names}
    if not isinstance(values, Mapping):
        raise PenstockError(
            "ENG-017",
            f"A row of {relation.name!r} is a dict of its values, and this is a "
            f"{type(values).__name__}.",
            f"Its columns are: {', '.join(relation.schema.names)}.",
        )
    unknown = [name for name in values if str(name).lower() not in own]
    if unknown:
        raise PenstockError(
            "ENG-017",
            f"{relation.name!r} has no column {unknown[0]!r}.",
            f"Its columns are: {', '.join(relation.schema.names)}.",
        )
    given = {own[name.lower()]: value for name, value in values.items()}
    arrays = [_cell(relation, field, given.get(field.name)) for field in relation.schema]
    return pa.Table.from_arrays(arrays, schema=relation.schema)


def _cell(relation: Relation, field: pa.Field, value: Any) -> pa.Array:
    """Read one value as a column's type, the way DuckDB casts it."""
    try:
        with connect(threads=1) as db:
            db.register("empty", pa.schema([field]).empty_table())
            db.execute("CREATE TABLE cell AS FROM empty")
            db.execute(f"INSERT INTO cell ({quoted(field.name)}) VALUES (?)", [value])
            return db.sql("FROM cell").to_arrow_table().column(0).cast(field.type).chunk(0)
    except (duckdb.Error, pa.ArrowException):
        raise PenstockError(
            "ENG-017",
            f"{value!r} is not a value of {relation.name}.{field.name}, which is {field.type}.",
            "Give a value of that type.",
        ) from None


def ask_shard(shard: Shard, group: str, question: Callable[[Operator], Answer]) -> Answer:
    """Ask the operator of a group in a shard."""
    operator = shard.operator(group)
    if operator is None:
        raise PenstockError(
            "ENG-018",
            "The subscription is registered and not yet in force.",
            "Ask again after the next micro-batch; see `engine.wait_for_version`.",
        )
    return question(operator)


def kept_shard(home: Home, registry: Registry, batch: int) -> Shard:
    """Restore the shard of a home that does not run, as it was after `batch`, to look at it."""
    if home.facts.get("host") == "cluster":
        raise PenstockError(
            "ENG-019",
            "On the cluster host the rows of joins are with Spark's workers.",
            "Ask an engine on the embedded host about the same queries and rows.",
        )
    shard = restored(registry.reader, StateLog(home.path / "state"), batch)
    shard.advance(registry.version)
    return shard


def live_facts(
    groups: Collection[str], home: Home, registry: Registry, newest: int, live: object
) -> Callable[[str], LiveFacts]:
    """Ask operators what numbers do not say: live ones in this process, or what they kept.

    `newest` is the last batch in the log; `live` the host, if the pipeline has one.
    """
    here = home.facts.get("host") == "embedded" and bool(groups)
    restore = here and live is None and newest >= 0
    kept = kept_shard(home, registry, newest) if restore else None

    def facts_of(group: str) -> LiveFacts:
        facts = OPERATORS[registry.steps[group]["kind"]].facts

        def ask(shard: Shard) -> LiveFacts:
            operator = shard.operator(group)
            return NO_FACTS if operator is None or facts is None else facts(operator)

        if isinstance(live, EmbeddedHost):
            return live.ask(ask) or NO_FACTS
        return NO_FACTS if kept is None else ask(kept)

    return facts_of
