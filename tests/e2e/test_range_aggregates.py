"""Range aggregates end to end: values and messages, on both hosts, with a restart between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import Engine

pytestmark = pytest.mark.spark
SCRIPT = """
CREATE TABLE offers FROM 'parquet:{place}'
  OPTIONS (changes = 'op', key = 'id', sequence = 'seq', maxFilesPerTrigger = 1);
SUBSCRIBE lowest TO SELECT MIN(price) AS low FROM offers WHERE risk BETWEEN :lo AND :hi
  FOR EACH ROW OF '{clients}';
SUBSCRIBE boxes TO SELECT MIN(price) AS low, COUNT(*) AS n FROM offers
  WHERE risk BETWEEN :lo AND :hi AND price < :hi FOR EACH ROW OF '{clients}';
SUBSCRIBE kinds TO
  SELECT MAX(price) AS high, SUM(price) AS total, COUNT(*) AS n, MIN(price, 2) AS few
  FROM offers WHERE risk >= 2 AND category = 'a';
SUBSCRIBE lows TO SELECT MIN(price) FROM offers WHERE risk BETWEEN :lo AND :hi AS MESSAGES;
"""
CLIENTS = "id,lo,hi\nwide,0,10\nnarrow,2.5,4\nempty,20,30\n"


class Offers:
    """Files of offers, newest last."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._sequence = self._files = 0
        place.mkdir(parents=True)

    def write(self, *rows: tuple[str, int, str, float, float]) -> None:
        """Let offers change: (op, id, category, risk, price)."""
        self._files += 1
        made = []
        for op, number, category, risk, price in rows:
            self._sequence += 1
            made.append({"op": op, "id": number, "category": category, "risk": risk,
                         "price": price, "seq": self._sequence})  # fmt: skip
        path = self.place / f"{self._files:03d}.parquet"
        pq.write_table(pa.Table.from_pylist(made), path.with_suffix(".tmp"))
        path.with_suffix(".tmp").rename(path)


def last(engine: Engine, name: str) -> dict[Any, tuple[Any, ...]]:
    """Give the newest values of every query of a subscription."""
    found: dict[Any, tuple[Any, ...]] = {}
    for change in engine.subscription(name).changes(follow=False):
        if change.sign > 0:
            found[change.id] = tuple(change.row.values())
    return found


@pytest.mark.parametrize("host", ["embedded", "cluster"])
def test_values_and_messages_on_a_host(host: str, tmp_path: Path) -> None:
    offers = Offers(tmp_path / "offers")
    clients = tmp_path / "clients.csv"
    clients.write_text(CLIENTS)
    settings: dict[str, Any] = {"host": host, "shards": 2} if host == "cluster" else {"host": host}
    offers.write(("insert", 1, "a", 3.0, 5.0), ("insert", 2, "a", 1.0, 4.0),
                 ("insert", 3, "b", 2.0, 9.0))  # fmt: skip
    with Engine(tmp_path / "home", record=True, **settings) as engine:
        engine.sql(SCRIPT.format(place=offers.place, clients=clients))
        engine.run_available()
        assert last(engine, "lowest") == {"wide": (4.0,), "narrow": (5.0,)}
    offers.write(("update_after", 2, "a", 6.0, 7.0))
    offers.write(("delete", 1, "a", 3.0, 5.0), ("insert", 4, "a", 2.5, 8.0))
    with Engine(tmp_path / "home", record=True, **settings) as engine:
        more = [{"id": "late", "lo": 0.0, "hi": 2.0}]
        engine.subscription("lowest").add(more)
        engine.run_available()
        assert last(engine, "lowest") == {"wide": (7.0,), "narrow": (8.0,), "late": (9.0,)}
        assert last(engine, "kinds") == {"kinds": (8.0, 15.0, 2, [7.0, 8.0])}
        assert last(engine, "boxes") == {"wide": (7.0, 3)}
        outcome = engine.verify()
        assert outcome.state == "equal", (outcome.findings, outcome.answers)
        assert len(outcome.answers) == 4
        text = engine.explain("lowest").text()
        for word in ("ranges of", "messages per update", "difficult", "range notifications"):
            assert word in text, text


def test_ranges_of_a_stream_are_asked_of_a_view(tmp_path: Path) -> None:
    """The way out that the refusal of a stream names; later rows change the answer too."""
    offers = Offers(tmp_path / "offers")
    offers.write(("", 1, "a", 3.0, 5.0), ("", 2, "a", 1.0, 4.0))
    script = f"""
        CREATE STREAM ticks FROM 'parquet:{offers.place}' OPTIONS (maxFilesPerTrigger = 1);
        CREATE VIEW kept REFRESH WITHIN 1 SECOND AS SELECT risk, price FROM ticks;
        SUBSCRIBE lowest TO SELECT MIN(price) AS low FROM kept WHERE risk BETWEEN 2 AND 10;
    """
    with Engine(tmp_path / "home", record=True) as engine:
        engine.sql(script)
        engine.run_available()
        engine.view("kept").read(fresh=True)
        offers.write(("", 3, "a", 2.5, 2.0))
        engine.run_available()
        engine.view("kept").read(fresh=True)
        offers.write(("", 4, "a", 9.0, 9.0))
        engine.run_available()
        assert last(engine, "lowest") == {"lowest": (2.0,)}
        outcome = engine.verify()
        assert outcome.state == "equal", (outcome.findings, outcome.answers)
