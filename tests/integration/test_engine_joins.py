"""Joins through desk, shard and log, without Spark: answers, options, lives, verification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.engine import Desk, Subscription
from penstock.engine.pipeline_start import divisions_of
from penstock.engine.verification import verify
from penstock.kinds.outcomes import SubscriptionOutcome
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.shared_figures import QUERIES
from tests.support.desk_runs import DeskRun
from tests.support.trading import DEMAND, SUPPLY, Trade, bounds

BEGIN = datetime(2026, 1, 2, tzinfo=UTC)
PINGS = pa.schema([("ship", pa.int64()), ("x", pa.float64()), ("at", pa.timestamp("us", "UTC"))])
DEALS = """
    SELECT s.n, d.m, s.price * d.quantity AS total FROM supply s JOIN demand d ON s.item = d.item
    WHERE s.price BETWEEN :low AND :high AND d.quantity BETWEEN :few AND :many
"""
BAND = "SELECT s.n, d.m FROM supply s JOIN demand d ON d.m - s.n BETWEEN :low AND :high"
NEAR = """
    SELECT a.x AS ax, b.x AS bx FROM pings a JOIN echoes b ON a.ship = b.ship WITHIN :w SECONDS
    WHERE a.x BETWEEN :low AND :high AND b.x >= 10
"""


def table(name: str, schema: pa.Schema) -> Relation:
    return Relation(name=name, kind="table", schema=schema, change_column="op")


def stream(name: str) -> Relation:
    return Relation(name=name, kind="stream", schema=PINGS, event_time="at", lateness_us=20_000_000)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[DeskRun]:
    made = DeskRun(
        tmp_path / "home",
        table("supply", SUPPLY),
        table("demand", DEMAND),
        stream("pings"),
        stream("echoes"),
    )
    yield made
    made.desk.close()


def supply(op: str, item: str | None, price: float | None, n: int) -> dict[str, Any]:
    return {"op": op, "item": item, "price": price, "n": n}


def demand(op: str, item: str | None, quantity: int | None, m: int) -> dict[str, Any]:
    return {"op": op, "item": item, "quantity": quantity, "m": m}


def judged(desk: Desk) -> dict[str, SubscriptionOutcome]:
    verdicts = {verdict.subscription: verdict for verdict in verify(desk.registry, desk.log)}
    for verdict in verdicts.values():
        assert verdict.equal, verdict
    return verdicts


def answer(sub: Subscription) -> Counter[tuple[Any, ...]]:
    """Add up the changes of a subscription."""
    found: Counter[tuple[Any, ...]] = Counter()
    for change in sub.changes(follow=False):
        found[(change.id, *change.row.values())] += change.sign
    return Counter({row: number for row, number in found.items() if number})


def test_a_join_says_what_comes_and_what_goes(run: DeskRun) -> None:
    sub = run.desk.subscribe(
        DEALS, name="deals", each=[{"id": "a", "low": 1.0, "high": 9.0, "few": 1, "many": 5}]
    )
    run.batch(supply=[supply("insert", "tin", 4.0, 1)])
    run.batch(demand=[demand("insert", "tin", 3, 7), demand("insert", "oak", 3, 8)])
    run.batch(
        supply=[supply("update_before", "tin", 4.0, 1), supply("update_after", "tin", 5.0, 1)]
    )
    run.batch(demand=[demand("delete", "tin", 3, 7), demand("delete", "tin", 3, 99)])
    changes = [(c.batch, c.sign, *c.row.values()) for c in sub.changes(follow=False)]
    assert changes == [
        (1, 1, 1, 7, 12.0), (2, -1, 1, 7, 12.0), (2, 1, 1, 7, 15.0), (3, -1, 1, 7, 15.0),
    ]  # fmt: skip
    assert answer(sub) == Counter()
    assert judged(run.desk)["deals"].found == 4
    whole = run.desk.readers.read_group(sub.group)
    # Sides are in the order of the relations' names.
    assert {"i0.item", "i0.quantity", "i1.price", "_sign"} <= set(whole.column_names)
    assert "i0.op" not in whole.column_names
    assert whole["_sign"].to_pylist() == [1, -1, 1, -1]


def test_identify_tells_who_is_affected(run: DeskRun) -> None:
    each = [{"id": "a", "low": 1.0, "high": 9.0, "few": 1, "many": 5}]
    sub = run.desk.subscribe(DEALS, name="deals", each=each, options={"mode": "identify"})
    run.batch(
        supply=[supply("insert", "tin", 4.0, 1)],
        demand=[demand("insert", "tin", 3, 7), demand("insert", "tin", 4, 8)],
    )
    run.batch(
        supply=[supply("delete", "tin", 4.0, 1)],
        demand=[demand("delete", "tin", 4, 8), demand("insert", "tin", 9, 9)],
    )
    # In a batch demand goes first: it meets the supply of earlier batches.
    found = sub.read().select(["_id", "_sign", "n", "m", "_batch"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("a", 1, 1, None, 0), ("a", -1, None, 8, 1), ("a", -1, 1, None, 1),
    ]  # fmt: skip
    judged(run.desk)
    record = run.desk.registry.subscriptions["deals"]
    assert record.options == {"mode": "identify"}
    sub.add([{**each[0], "id": "b"}])
    assert sub.group == record.group, "rows that are added are processed alike"


@pytest.mark.parametrize("mode", ["full", "identify"])
def test_lives_of_joins_are_verified(run: DeskRun, mode: str, seed: int) -> None:
    """Queries come and go, also new groups on tables that have rows; the shard is restored."""
    trade = Trade(seed)

    def batches(count: int) -> None:
        for _ in range(count):
            run.batch(supply=trade.changes("supply", 8), demand=trade.changes("demand", 8))

    batches(2)
    options = {"mode": mode}
    deals = run.desk.subscribe(DEALS, name="deals", each=bounds(seed, 20), options=options)
    batches(2)
    ranges = [{"id": i, "low": 5 * i - 20, "high": 5 * i - 17} for i in range(8)]
    band = run.desk.subscribe(BAND, name="band", each=ranges, options=options)
    one = run.desk.subscribe(
        "SELECT s.n, d.m FROM supply s JOIN demand d ON s.item = d.item AND s.n < d.m "
        "WHERE d.item IN ('tin', 'rye') AND s.price > 50",
        name="one",
        options=options,
    )
    batches(2)
    deals.drop([1, 2, 3])
    band.alter(each=[{"id": 0, "low": -50, "high": 50}])
    run.restart()
    batches(2)
    one.drop()
    batches(1)
    verdicts = judged(run.desk)
    for name in ("deals", "band", "one"):
        assert verdicts[name].found > 5, "too few to prove anything"


def test_a_window_joins_streams(run: DeskRun, seed: int) -> None:
    chance = np.random.default_rng(seed)

    def pings(batch: int) -> pa.Table:
        seconds = 10 * batch + chance.integers(-30, 15, 20)
        columns = [
            pa.array(chance.integers(0, 3, 20)),
            pa.array(chance.choice([np.nan, *range(40)], 20)),
            pa.array([BEGIN + timedelta(seconds=int(s)) for s in seconds], PINGS.field("at").type),
        ]
        return pa.Table.from_arrays(columns, schema=PINGS)

    each = [{"id": i, "w": 2 + 3 * i, "low": 2.0 * i, "high": 2.0 * i + 20} for i in range(8)]
    sub = run.desk.subscribe(NEAR, name="near", each=each[:5])
    who = run.desk.subscribe(NEAR, name="who", each=each[:5], options={"mode": "identify"})
    for batch in range(8):
        if batch == 3:
            sub.add(each[5:])
            who.drop([2])
        if batch == 5:
            run.restart()
        run.batch(pings=pings(batch), echoes=pings(batch))
    verdicts = judged(run.desk)
    assert verdicts["near"].found > 20
    assert verdicts["who"].found > 20
    assert run.figures.total(QUERIES) == 12


def test_the_answer_is_the_batch_answer(run: DeskRun, seed: int) -> None:
    """What all changes add up to is the same SQL over the rows that are left."""
    trade = Trade(seed)
    sub = run.desk.subscribe(DEALS, name="deals", each=bounds(seed, 10))
    for _ in range(5):
        run.batch(supply=trade.changes("supply", 10), demand=trade.changes("demand", 10))
    expected: Counter[tuple[Any, ...]] = Counter(
        (q["id"], s["n"], d["m"], s["price"] * d["quantity"])
        for q in bounds(seed, 10)
        for s in trade.held["supply"]
        for d in trade.held["demand"]
        if s["item"] is not None
        and s["item"] == d["item"]
        and q["low"] <= s["price"] <= q["high"]
        and q["few"] <= d["quantity"] <= q["many"]
    )
    assert answer(sub) == expected


def test_bad_joins_are_refused(run: DeskRun) -> None:
    def refused(sql: str, code: str, **options: Any) -> None:
        with pytest.raises(PenstockError, match=rf"\[{code}\]"):
            run.desk.subscribe(sql, options=options)

    refused("SELECT * FROM supply s JOIN demand d ON s.item = d.m", "SQL-030")
    refused("SELECT * FROM supply s JOIN demand d ON s.price = d.m", "SQL-061")
    refused("SELECT * FROM pings a JOIN echoes b ON a.ship = b.ship", "SQL-062")
    refused("SELECT * FROM supply s JOIN demand d ON s.item = d.item WITHIN 5 SECONDS", "SQL-063")
    refused("SELECT * FROM supply s JOIN demand d ON s.price > 1", "SQL-060")
    refused("SELECT s.n FROM supply s JOIN demand d ON s.item = d.item", "SQL-070", mod="full")
    refused("SELECT n FROM supply WHERE n > 1", "SQL-070", mode="full")
    nan, none = float("nan"), None
    rows = [
        {"id": 0, "low": 9.0, "high": 1.0, "few": 1, "many": 5},
        {"id": 1, "low": nan, "high": 1.0, "few": 1, "many": 5},
        {"id": 2, "low": 1.0, "high": 9.0, "few": 1, "many": none},
        {"id": 3, "low": 1.0, "high": 9.0, "few": 1, "many": 5},
    ]
    receipt = run.desk.subscribe(DEALS, name="deals", each=rows).receipt
    assert receipt is not None
    assert receipt.refused.select(["row", "code"]).to_pylist() == [{"row": 0, "code": "REG-004"}]
    assert (receipt.accepted, receipt.silent) == (3, 2)


def test_a_cluster_home_takes_joins_by_the_keys_of_its_first_start_only(run: DeskRun) -> None:
    registry = run.desk.registry
    run.desk.subscribe(DEALS, name="known", each=bounds(0, 3))
    before = registry.version
    run.desk.home.settle(lanes=divisions_of(registry))
    for text, each in (
        (BAND, {"id": 1, "low": 0, "high": 9}),
        (NEAR, {"id": 1, "low": 0.0, "high": 9.0, "w": 3}),
    ):
        with pytest.raises(PenstockError, match="did not keep rows that way") as refused:
            run.desk.subscribe(text, name="new", each=[each])
        assert refused.value.code == "ENG-021"
    assert registry.version == before
    run.desk.subscribe(DEALS, name="again", each=bounds(1, 3), options={"mode": "identify"})
    run.desk.subscribe("SELECT n FROM supply WHERE n > 3", name="filter")
