"""Views end to end: tables change, views follow within their bound, others read them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import Engine, PenstockError
from penstock.operators.view.figures import FLUSHES, PENDING
from tests.support import postgres

pytestmark = pytest.mark.spark
TABLES = """
CREATE TABLE orders FROM 'parquet:{place}/orders'
  OPTIONS (changes = 'op', key = 'id', maxFilesPerTrigger = 1);
CREATE TABLE items FROM 'parquet:{place}/items' OPTIONS (changes = 'op', maxFilesPerTrigger = 1);
"""
VIEWS = """
CREATE VIEW cheapest REFRESH WITHIN 20 SECONDS {store} AS
  SELECT region, min(price) AS low, count(*) AS n
  FROM orders JOIN items ON id = order_id GROUP BY region HAVING n > 0;
CREATE VIEW regions REFRESH WITHIN 20 SECONDS AS
  SELECT count(*) AS many, max(n) AS most FROM cheapest;
SUBSCRIBE cheap TO SELECT region, low FROM cheapest WHERE low < 3;
"""
RECOMPUTED = """
SELECT region, min(price) AS low, count(*) AS n
FROM orders JOIN items ON id = order_id GROUP BY region ORDER BY ALL
"""


class Shop:
    """Files of orders and items, and what stands after them."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._files = 0
        self.db = duckdb.connect()
        self.db.execute("CREATE TABLE orders (id BIGINT, region VARCHAR)")
        self.db.execute("CREATE TABLE items (order_id BIGINT, price DOUBLE)")
        for name in ("orders", "items"):
            (place / name).mkdir(parents=True)

    def orders(self, *rows: tuple[str, int, str | None]) -> None:
        """Let orders change: (op, id, region)."""
        self._write("orders", ("op", "id", "region"), rows)
        for op, key, region in rows:
            self.db.execute("DELETE FROM orders WHERE id = ?", [key])
            if op != "delete":
                self.db.execute("INSERT INTO orders VALUES (?, ?)", [key, region])

    def items(self, *rows: tuple[str, int, float]) -> None:
        """Let items change: (op, order_id, price); those that go are there once."""
        self._write("items", ("op", "order_id", "price"), rows)
        for op, key, price in rows:
            sql = "INSERT INTO items VALUES (?, ?)"
            if op == "delete":
                sql = "DELETE FROM items WHERE order_id = ? AND price = ?"
            self.db.execute(sql, [key, price])

    def _write(self, name: str, columns: tuple[str, ...], rows: tuple[Any, ...]) -> None:
        self._files += 1
        values = [list(column) for column in zip(*rows, strict=True)]
        table = pa.table(dict(zip(columns, values, strict=True)))
        path = self.place / name / f"{self._files:03d}.parquet"
        pq.write_table(table, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").rename(path)

    def expected(self) -> list[dict[str, Any]]:
        """Compute the view over everything that stands."""
        return self.db.sql(RECOMPUTED).to_arrow_table().to_pylist()


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """Give rows in a fixed order, NULL last, as DuckDB does."""
    return sorted(table.to_pylist(), key=lambda row: (row["region"] is None, row["region"] or ""))


def standing(engine: Engine, name: str) -> Counter[tuple[Any, ...]]:
    """Add up the changes that a subscription was told."""
    found: Counter[tuple[Any, ...]] = Counter()
    table = engine.subscription(name).read()
    for row in table.to_pylist():
        own = tuple(value for column, value in row.items() if not column.startswith("_"))
        found[own] += row["_sign"]
    return +found


def regions(engine: Engine, shop: Shop) -> bool:
    """Say whether the view over the view is what it should be, when it is asked for fresh."""
    whole = shop.expected()
    found = engine.view("regions").read(fresh=True).to_pylist()
    return bool(found == [{"many": len(whole), "most": max(row["n"] for row in whole)}])


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path / "in")
    shop.orders(("insert", 1, "a"), ("insert", 2, "a"), ("insert", 3, "b"), ("insert", 4, None))
    shop.items(("insert", 1, 5.0), ("insert", 1, 7.0), ("insert", 2, 1.0), ("insert", 3, 9.0),
               ("insert", 4, 2.0))  # fmt: skip
    return shop


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if (why := postgres.missing()) is not None:
        pytest.skip(why)
    with postgres.running() as running:
        yield running.url()


def grow(shop: Shop) -> None:
    """Let both tables change in several batches; the cheapest item of a goes."""
    shop.items(("delete", 2, 1.0), ("insert", 3, 0.5))
    shop.orders(("update_after", 1, "b"), ("delete", 4, None))
    shop.items(("insert", 2, 4.0), ("insert", 2, 4.0))


def test_a_view_follows_its_tables_and_feeds_others(tmp_path: Path, shop: Shop) -> None:
    with Engine(tmp_path / "home", record=True) as engine:
        engine.sql((TABLES + VIEWS).format(place=shop.place, store=""))
        (shop.place / "ticks").mkdir()
        ticks = pa.table({"price": [1.0, float("nan"), None]})
        pq.write_table(ticks, shop.place / "ticks" / "1.parquet")
        engine.stream("ticks", f"parquet:{shop.place}/ticks")
        engine.sql(
            "CREATE VIEW seen REFRESH WITHIN 1 SECOND AS SELECT count(price) AS n FROM ticks"
        )
        engine.run_available()
        assert engine.view("seen").read(fresh=True).to_pylist() == [{"n": 1}], "NaN is NULL"
        view = engine.view("cheapest")
        assert rows(view.read(fresh=True)) == shop.expected()
        grow(shop)
        engine.run_available()
        told = engine.figures().told[engine.subscription("cheapest").group]
        assert told.total(FLUSHES) < 6 and told.total(PENDING) > 0, "the bound lets changes wait"
        stale = view.staleness()
        assert not stale.is_fresh and 0 < stale.refresh_s < 20
        assert rows(view.read()) != shop.expected()
        assert rows(view.read(fresh=True)) == shop.expected() and view.staleness().is_fresh
        assert view.query("SELECT max(n) AS m FROM cheapest WHERE low > 0.1").to_pylist() == [
            {"m": 4}
        ]
        engine.run_available()  # what the refresh changed is told
        whole = {tuple(row.values()) for row in shop.expected()}
        assert set(standing(engine, "cheapest").elements()) == whole
        assert set(standing(engine, "cheap")) == {(r, low) for r, low, _ in whole if low < 3}
        over = engine.view("regions").read(fresh=True).to_pylist()
        assert over == [{"many": len(whole), "most": max(n for *_, n in whole)}]
        outcome = engine.verify()
        assert outcome.state == "equal", (outcome.findings, outcome.answers)
        text = engine.explain("cheapest").text()
        for word in ("fresh within", "flush costs", "worst refresh", "maintained by", "queue"):
            assert word in text, text
        assumed = {"bound": "1 millisecond", "rate(items)": "9/s"}
        assert "1 ms" in engine.explain("cheapest", what_if=assumed).text()
        shop.items(("insert", 3, 0.25), ("insert", 3, 0.25))
        engine.run_available()
        assert regions(engine, shop), "what waits in the view below is not left out"
        with pytest.raises(PenstockError, match="ENG-061"):
            engine.subscription("cheapest").drop()
        engine.sql("DROP SUBSCRIPTION cheap; DROP VIEW regions; DROP VIEW cheapest")
        with pytest.raises(PenstockError, match="REG-001"):
            engine.view("cheapest")


def test_a_view_is_made_later_and_read_from_outside(tmp_path: Path, shop: Shop) -> None:
    home = tmp_path / "home"
    with Engine(home) as engine:
        engine.sql(TABLES.format(place=shop.place))
        engine.run_available()
        engine.sql(VIEWS.format(store=""))
        engine.start()
        version = engine.desk.registry.version
        engine.wait_for_version(version)
        read = _command("query", str(home), "SELECT * FROM cheapest", "--fresh", "--json")
        assert sorted(read["rows"], key=str) == sorted(shop.expected(), key=str)
        assert read["staleness"]["pending"] == {"orders": 0, "items": 0}
        with pytest.raises(PenstockError, match="CAT-016"):
            engine.sql("CREATE VIEW orders REFRESH WITHIN 1 SECOND AS SELECT price FROM items")
        with pytest.raises(PenstockError, match="VIEW-062"):
            engine.view("cheap")
        with pytest.raises(PenstockError, match="VIEW-065"):
            engine.desk.kept.read("SELECT * FROM soup")
    read = _command("query", str(home), "SELECT low FROM cheapest WHERE region = 'a'", "--json")
    assert read["rows"] == [{"low": 1.0}]


def _command(*words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "penstock", *words], capture_output=True, text=True, check=False,
        env=os.environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_view_in_postgresql_is_anybody_s(tmp_path: Path, shop: Shop, server: str) -> None:
    with Engine(tmp_path / "home", record=True) as engine:
        store = f"STORE '{server}'"
        engine.sql((TABLES + VIEWS).format(place=shop.place, store=store))
        engine.run_available()
        grow(shop)
        engine.run_available()
        assert regions(engine, shop), "one store is asked by way of the other"
        view = engine.view("cheapest")
        assert rows(view.read(fresh=True)) == shop.expected()
        engine.run_available()
        outcome = engine.verify()
        assert outcome.state == "equal", (outcome.findings, outcome.answers)
        engine.sql("DROP SUBSCRIPTION cheap; DROP VIEW regions; DROP VIEW cheapest")


def test_a_view_in_postgresql_is_dropped_while_the_engine_runs(
    tmp_path: Path, shop: Shop, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.engine.upkeep.EVERY_S", 0.2)
    monkeypatch.setattr("penstock.views.rehearsals.SIZES", (1, 4))
    low = (
        "CREATE VIEW low REFRESH WITHIN 20 SECONDS STORE '{}' AS SELECT min(price) AS p FROM items"
    )
    with Engine(tmp_path / "home") as engine:
        engine.sql(TABLES.format(place=shop.place) + low.format(server))
        engine.start()
        engine.wait_for_version(engine.desk.registry.version)
        assert engine.view("low").read(fresh=True).to_pylist() == [{"p": 1.0}]
        engine.sql("DROP VIEW low")
        engine.wait_for_version(engine.desk.registry.version)
        for _ in range(100):
            try:
                engine.sql(low.format(server).replace("min", "max"))
                break
            except PenstockError as error:
                assert error.code == "VIEW-064"
                sleep(0.1)
        engine.wait_for_version(engine.desk.registry.version)
        assert engine.view("low").read(fresh=True).to_pylist() == [{"p": 9.0}]
        engine.sql("DROP VIEW low")
        engine.wait_for_version(engine.desk.registry.version)
        asked = "SELECT 1 FROM pg_namespace WHERE nspname = 'penstock_low'"
        with psycopg.connect(server, autocommit=True) as client:
            for _ in range(100):
                if client.execute(asked).fetchone() is None:
                    break
                sleep(0.1)
            assert client.execute(asked).fetchone() is None


def test_a_bound_that_nothing_keeps_is_refused(tmp_path: Path, shop: Shop) -> None:
    with Engine(tmp_path / "home") as engine:
        engine.sql(TABLES.format(place=shop.place))
        with pytest.raises(PenstockError, match="VIEW-063"):
            engine.sql("CREATE VIEW v REFRESH WITHIN 1 MICROSECOND AS SELECT id FROM orders")
        with pytest.raises(PenstockError, match="VIEW-061"):
            engine.sql(
                "CREATE VIEW v REFRESH WITHIN 1 SECOND STORE 'mysql://x' AS SELECT id FROM orders"
            )


def test_views_on_the_cluster_host(tmp_path: Path, shop: Shop) -> None:
    with Engine(tmp_path / "home", record=True, host="cluster", shards=2) as engine:
        engine.sql((TABLES + VIEWS).format(place=shop.place, store=""))
        engine.run_available()
        grow(shop)
        engine.run_available()
        assert rows(engine.view("cheapest").read(fresh=True)) == shop.expected()
        outcome = engine.verify()
        assert outcome.state == "equal", (outcome.findings, outcome.answers)
