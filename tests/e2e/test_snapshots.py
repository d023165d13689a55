"""WITH SNAPSHOT on a real Spark, both hosts: what was there before comes once, then the changes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Open
from tests.e2e.test_joins import DEALS, Market, judged
from tests.support.trading import bounds
from tests.support.waiting import until_events

DEAR = "SELECT n, price FROM supply WHERE price > :least"


def added_up(changes: Any) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for change in changes:
        found[(change.id, *change.row.values())] += change.sign
    return Counter({row: count for row, count in found.items() if count})


def test_answers_begin_with_what_tables_hold(open_engine: Open, tmp_path: Path, seed: int) -> None:
    market = Market(tmp_path, seed)
    market.put(2)
    engine = open_engine()
    market.declare(engine)
    each = bounds(seed, 12)
    least = [{"id": i, "least": 10 * i} for i in range(6)]
    options = {"snapshot": True}
    deals = engine.subscribe(DEALS, name="deals", each=each[:4], options=options)
    dear = engine.subscribe(DEAR, name="dear", each=least[:2], options=options)
    engine.start()
    until_events(engine, market.rows)
    deals.add(each[4:8])
    version = dear.add(least[2:4]).version
    engine.wait_for_version(version, timeout=600)
    market.put()
    until_events(engine, market.rows)
    engine.close()

    again = open_engine()
    again.subscription("deals").add(each[8:])
    again.subscription("dear").add(least[4:])
    market.put()
    again.run_available()
    assert added_up(again.subscription("deals").changes(follow=False)) == market.deals(each)
    wanted = Counter(
        (query["id"], row["n"], row["price"])
        for query in least
        for row in market.trade.held["supply"]
        if row["price"] is not None and row["price"] > query["least"]
    )
    assert added_up(again.subscription("dear").changes(follow=False)) == wanted
    judged(again)
