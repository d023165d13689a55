"""Ways out of a standing query's text, in one run on each host: nobody else is harmed by any.

Files, network, extensions and secrets are refused at the door; what takes too much memory fails in
its row; what takes too much time is suspended, and its batch run without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.expressions.allowances import BATCH_S_SETTING
from penstock.vocabulary.errors import PenstockError
from tests.e2e.conftest import Open
from tests.support.tables import Feeder, events

REFUSED = {
    "files": "SELECT n, json_serialize_plan('SELECT * FROM read_csv(''{file}'')') AS o FROM t",
    "files by name": "SELECT n FROM t WHERE EXISTS (SELECT * FROM '{file}')",
    "network": "SELECT n FROM t WHERE n IN (FROM read_csv('http://127.0.0.1:9/x.csv'))",
    "extensions": "SELECT n FROM t; INSTALL httpfs",
    "settings": "SELECT n FROM t WHERE current_setting('threads') > 1",
    "variables": "SELECT n FROM t WHERE getenv('HOME') = 'x'",
    "secrets": "SELECT n FROM t WHERE n IN (SELECT 1 FROM duckdb_secrets())",
}
LONG = "length(repeat(k, n * 1000000))"
MEMORY = f"SELECT n, {LONG} AS o FROM t WHERE {LONG} >= 0"
TIME = (
    "SELECT n FROM t WHERE list_sum(list_transform(range(300), lambda a: "
    "list_sum(list_transform(range(999), lambda b: (a * b) % 7 + n)))) > 0"
)
SIZES = (
    "SELECT n FROM t WHERE list_sum(list_transform(range(:size), lambda a: "
    "list_sum(list_transform(range(50), lambda b: (a * b) % 7 + n)))) >= 0"
)
PAIRS = (
    "SELECT a.one, max(a.m - b.m) AS most FROM wide a JOIN wide b ON a.one = b.one GROUP BY a.one"
)
VIEW = {"view": "pairs", "refresh": "1 minute", "policy": "immediate"}
ROWS, WIDE_ROWS = 300, 6_000
GLOB = "*[0-9]*.parquet"


def test_no_text_harms_another(
    open_engine: Open, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BATCH_S_SETTING, "0.2")
    engine, feeder = open_engine(), Feeder(tmp_path / "in")
    feeder.put(events(seed, ROWS))
    feeder.put(events(seed + 1, ROWS, first=ROWS))
    options: dict[str, Any] = {"maxFilesPerTrigger": 1, "pathGlobFilter": "${WALLS_GLOB}"}
    monkeypatch.delenv("WALLS_GLOB", raising=False)
    with pytest.raises(PenstockError, match="ENG-060"):
        engine.stream("t", f"parquet:{feeder.directory}", **options)
    monkeypatch.setenv("WALLS_GLOB", GLOB)
    engine.stream("t", f"parquet:{feeder.directory}", **options)
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nhunter2\n")
    for way, text in REFUSED.items():
        with pytest.raises(PenstockError):
            engine.subscribe(text.format(file=secret), name=way.replace(" ", "_"))
    wide = tmp_path / "wide"
    wide.mkdir()
    pq.write_table(pa.table({"one": [1] * WIDE_ROWS, "m": range(WIDE_ROWS)}), wide / "0.parquet")
    engine.stream("wide", f"parquet:{wide}")
    engine.subscribe(PAIRS, name="pairs", options=VIEW)
    plain = engine.subscribe("SELECT n FROM t WHERE n % 2 = 0", name="plain")
    large = engine.subscribe(MEMORY, name="large")
    slow = engine.subscribe(TIME, name="slow")
    sizes = [{"id": "small", "size": 1}, {"id": "large", "size": 10_000}, {"id": "two", "size": 2}]
    each = engine.subscribe(SIZES, name="each", each=sizes)
    engine.start(available_now=True)
    engine.wait()

    assert plain.read().num_rows == ROWS
    assert large.read()["n"].to_pylist() == [0], "all others ask for more than there may be"
    assert engine.figures().losses["large"]["failed_conditions"] >= ROWS
    suspended = engine.desk.suspended.subscriptions()
    assert sorted(suspended) == ["each", "pairs", "slow"] and suspended["slow"].batch == 0
    assert "RUN-013" in suspended["pairs"].reason
    # Of three queries of one shape, the one that takes so long rests by itself.
    assert engine.desk.suspended.ids("each") == ["large"] and suspended["each"].batch == 0
    assert sorted(set(each.read()["_id"].to_pylist())) == ["small", "two"]
    assert each.read().num_rows == 2 * 2 * ROWS
    assert slow.read().num_rows == 0
    assert engine.figures().losses["slow"]["unanswered_rows"] == 2 * ROWS
    outcome = engine.verify()
    assert outcome.state == "equal"
    gaps = {answer.subscription: answer.suspended for answer in outcome.answers}
    assert gaps["slow"] == gaps["each"] == [(0, 2)]

    # It is resumed, with few rows: those of the batches that come are answered.
    slow.resume()
    each.resume()
    feeder.put(events(seed + 2, 4, first=2 * ROWS))
    engine.start(available_now=True)
    engine.wait()
    assert sorted(slow.read()["n"].to_pylist()) == [2 * ROWS + i for i in range(4)]
    assert each.read(ids=["large"])["n"].to_pylist() == [2 * ROWS + i for i in range(4)]
    assert engine.verify().state == "equal"

    # What the environment said is nowhere, and nobody else looks into the home.
    home = engine.desk.home.path
    files = [path for path in home.rglob("*") if path.is_file()]
    assert not [path for path in files if GLOB.encode() in path.read_bytes()]
    sparks = {"checkpoint", ".lock"}
    ours = [path for path in files if path.relative_to(home).parts[0] not in sparks]
    assert {oct(path.stat().st_mode & 0o777) for path in ours} == {"0o600"}
    assert oct(home.stat().st_mode & 0o777) == "0o700"
    told = [*(each.text for each in engine.desk.notices), slow.explain(), repr(engine.figures())]
    assert GLOB not in "".join(told)
