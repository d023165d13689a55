"""Lookups on a real Spark, both hosts: every row is answered once, also when the database dies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

import penstock as ps
from penstock.cli.main import app
from penstock.delivery.log import LoggedBatch, ResultLog
from penstock.engine import Desk
from penstock.engine.verification import verify
from tests.e2e.conftest import Open
from tests.support.bounded_streams import Asking, prices_sql
from tests.support.postgres import Server, missing, running
from tests.support.waiting import POLL_S, POLLS_MAX, until_events

TEXT = "SELECT a.n, a.k, p.price FROM asks a JOIN prices p ON a.k = p.id"
CHEAP = f"{TEXT} WHERE p.price < :most AND a.v > 0"

pytestmark = pytest.mark.spark


def answers(engine: Desk | ps.Engine, name: str = "priced") -> list[tuple[Any, ...]]:
    table = engine.subscription(name).read()
    return sorted(zip(*(table[c].to_pylist() for c in ("n", "k", "price")), strict=True))


def test_a_script_enriches_a_stream(open_engine: Open, tmp_path: Path, seed: int) -> None:
    asking = Asking(tmp_path, seed)
    asking.put(4)
    engine = open_engine()
    script = f"""
        CREATE STREAM asks FROM 'parquet:{asking.feeder.directory}'
          OPTIONS (event_time = 'ts', maxFilesPerTrigger = 1);
        CREATE TABLE prices LOOKUP FROM 'duckdb:{asking.file}' KEY id CACHE 8 ROWS USING HEEB
          OPTIONS (table = 'prices', batch = 4);
        SUBSCRIBE priced TO {TEXT};
    """
    (priced,) = engine.sql(script).subscriptions
    engine.subscribe(CHEAP, name="cheap", each=[{"id": i, "most": 12.0 + i} for i in range(3)])
    engine.run_available()
    assert answers(engine) == asking.expected
    told = engine.figures().memory["priced"]
    assert told.budget == 8
    assert 0 < told.held["a"] <= 8
    assert 0.0 < (told.hit_rate or 0.0) < 1.0
    assert (told.waiting, told.breaker, told.results_lost) == (0, "closed", 0)
    found = {verdict.subscription: verdict for verdict in engine.verify().answers}
    for name in ("priced", "cheap"):
        assert found[name].equal, found[name]
        assert found[name].found > 10
        assert not found[name].missing
    assert engine.explain("priced").run["hit_rate"] == told.hit_rate
    assert priced.receipt is not None
    engine.sql(script)  # a script may run again
    with duckdb.connect(str(asking.file)) as db:
        db.execute("UPDATE prices SET price = price + 1 WHERE id = 1")
    changed = {verdict.subscription: verdict for verdict in engine.verify().answers}
    assert changed["priced"].surplus, "what the database says now is something else"


def test_a_dead_database_pauses_the_query(open_engine: Open, tmp_path: Path, seed: int) -> None:
    asking = Asking(tmp_path, seed)
    asking.put(2)
    engine = open_engine()
    asking.declare(engine)
    engine.subscribe(TEXT, name="priced")
    asking.away()
    engine.run_available(patience="600 milliseconds")
    told = engine.figures().memory["priced"]
    assert told.waiting > 0
    assert told.breaker == "open"
    assert "Nothing is lost" in engine.notices[-1].text
    assert answers(engine) != asking.expected
    (verdict,) = verify_away(engine, asking)
    assert verdict.equal
    assert verdict.waiting == told.waiting
    engine.close()

    # Another run, with nothing new but the database.
    again = open_engine()
    assert "prices" in again.desk.registry.catalog
    again.run_available()
    assert answers(again) == asking.expected
    assert again.figures().memory["priced"].waiting == 0
    asking.away()
    again.start()
    asking.put(2)
    until_events(again, asking.rows // 2)
    assert until_waiting(again, True)
    asking.back()
    assert until_waiting(again, False)
    again.stop()
    assert answers(again) == asking.expected
    texts = [notice.text for notice in again.notices]
    assert any("rows wait" in text for text in texts)
    assert any("answers again" in text for text in texts)
    (verdict,) = verify(again.desk.registry, again.desk.log)
    assert verdict.equal
    assert not verdict.missing


@pytest.mark.parametrize("was_away", [False, True])
def test_what_was_logged_stays_if_spark_runs_the_batch_again(
    open_engine: Open, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, was_away: bool
) -> None:
    asking = Asking(tmp_path, seed)
    asking.put(3)
    engine = open_engine()
    asking.declare(engine)
    engine.subscribe(TEXT, name="priced")
    commit, logged = ResultLog.commit, list[LoggedBatch]()

    def die(self: ResultLog, batch: int, *arguments: Any, **named: Any) -> Any:
        """Log the batch; of the third, Spark never learns that it is done."""
        if was_away and batch == 1:
            asking.away()
        done = commit(self, batch, *arguments, **named)
        logged.append(done)
        if batch == 2:
            raise RuntimeError("dies here")
        return done

    with monkeypatch.context() as patch, pytest.raises(ps.PenstockError, match="dies here"):
        patch.setattr(ResultLog, "commit", die)
        engine.run_available()
    read = list(engine.subscription("priced").changes(follow=False))
    engine.close()
    if was_away:
        asking.back()
    assert len(read) > 0
    assert (len(read) < len(asking.expected)) == was_away
    with duckdb.connect(str(asking.file)) as db:
        db.execute("UPDATE prices SET price = price + 100")
    asking.put()
    again = open_engine()
    again.run_available()
    priced = again.subscription("priced")
    # Who has read goes on from there, and finds the same as one who reads all of it now.
    read += priced.changes(read[-1].token, follow=False)
    assert read == list(priced.changes(follow=False))
    assert again.desk.log.read(2) == logged[-1]
    found = answers(again)
    assert [(n, k) for n, k, _ in found] == [(n, k) for n, k, _ in asking.expected]
    assert max(price for _, _, price in found) > 100, "the new prices are asked for"


def verify_away(engine: ps.Engine, asking: Asking) -> list[Any]:
    """Bring the database back, and verify."""
    asking.back()
    return engine.verify().answers


def until_waiting(engine: ps.Engine, wanted: bool) -> bool:
    """Wait until rows wait for the database, or none does."""
    for _ in range(POLLS_MAX):
        if bool(engine.figures(live=False).memory["priced"].waiting) == wanted:
            return True
        assert not engine.wait(POLL_S), "the engine ended by itself"
    return False


@pytest.fixture
def postgres() -> Iterator[Server]:
    """Give a PostgreSQL server with the table of prices."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    with running() as server:
        server.execute(*prices_sql())
        yield server


def test_postgresql_goes_and_comes_back(
    open_engine: Open, postgres: Server, tmp_path: Path, seed: int
) -> None:
    asking = Asking(tmp_path, seed)
    asking.put(2)
    engine = open_engine()
    asking.declare(engine, source=postgres.url())
    engine.subscribe(TEXT, name="priced")
    engine.start()
    until_events(engine, asking.rows)
    postgres.stop()
    asking.put(3)
    until_events(engine, asking.rows)
    assert until_waiting(engine, True)
    postgres.start()
    assert until_waiting(engine, False)
    engine.stop()
    assert answers(engine) == asking.expected
    (verdict,) = engine.verify().answers
    assert verdict.equal, verdict
    assert not verdict.missing


def test_lookups_are_declared_at_any_time(
    open_engine: Open, host: str, tmp_path: Path, seed: int
) -> None:
    asking = Asking(tmp_path, seed)
    asking.put()
    engine = open_engine()
    where = f"parquet:{asking.feeder.directory}"
    engine.stream("asks", where, event_time="ts", maxFilesPerTrigger=1)
    engine.subscribe("SELECT n FROM asks WHERE k = 1", name="ones")
    engine.run_available()
    asking.declare(engine)
    if host == "cluster":
        with pytest.raises(ps.PenstockError, match=r"\[ENG-021\]"):
            engine.subscribe(TEXT, name="priced")
        return
    engine.subscribe(TEXT, name="priced")
    first = asking.rows
    asking.put()
    engine.run_available()
    assert answers(engine) == [row for row in asking.expected if row[0] >= first]
    with pytest.raises(ps.PenstockError, match=r"\[ENG-041\]"):
        engine.lookup("prices", f"duckdb:{asking.file}", key="id", cache=9)
    with pytest.raises(ps.PenstockError, match=r"\[LKP-"):
        engine.lookup("others", f"duckdb:{tmp_path / 'nothing.duckdb'}", key="id", cache=9)


def ask_once(script: Path, home: Path, *arguments: str) -> Result:
    """Run a script to its end."""
    told = ["run", str(script), "--once", "--json", "--quiet", "--home", str(home), *arguments]
    return CliRunner().invoke(app, told)


@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_once_ends_when_patience_does_and_the_next_run_goes_on(
    spark: SparkSession, kind: str, tmp_path: Path, seed: int, request: pytest.FixtureRequest
) -> None:
    assert spark is not None
    asking = Asking(tmp_path, seed)
    asking.put(2)
    server: Server | None = request.getfixturevalue("postgres") if kind == "postgresql" else None
    source = f"duckdb:{asking.file}" if server is None else server.url()
    script, home = tmp_path / "asks.sql", tmp_path / "home"
    declared = f"""
        CREATE STREAM asks FROM 'parquet:{asking.feeder.directory}'
          OPTIONS (event_time = 'ts', maxFilesPerTrigger = 1);
        CREATE TABLE prices LOOKUP FROM '{source}' KEY id CACHE 8 ROWS
          OPTIONS (timeout = '1 minute', retries = 0, cooldown = '1 hour');
        SUBSCRIBE priced TO {TEXT};
    """
    script.write_text(declared)
    # Declared while it is there; then it goes.
    with ps.Engine(home, spark=spark) as engine:
        engine.sql(declared)
    asking.away() if server is None else server.stop()
    dead = ask_once(script, home, "--patience", "0.5s")
    assert dead.exit_code == 3, dead.output
    (group,) = json.loads(dead.stdout)["groups"]
    waiting = group["memory"]["waiting"]
    assert waiting > 100
    assert f"LKP-012 {waiting} rows wait" in " ".join(dead.stderr.split())
    assert "--patience" in dead.stderr
    asking.back() if server is None else server.start()
    alive = ask_once(script, home)
    assert alive.exit_code == 0, alive.output
    with ps.Engine(home, spark=spark) as engine:
        assert answers(engine) == asking.expected


def test_a_patience_that_is_no_duration_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "asks.sql"
    script.write_text("CREATE STREAM trades FROM 'market:trades';")
    refused = ask_once(script, tmp_path / "home", "--patience", "long")
    assert refused.exit_code == 2
    assert "CAT-006" in refused.stderr
