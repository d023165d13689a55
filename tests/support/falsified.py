"""Small recorded homes with every kind of query, and the tools to damage and to forge their files.

Damage leaves seals as they are; a forgery makes new ones, so that only what the files say together
can give it away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.algebra.catalog import Relation
from penstock.engine.declarations import declare_relation
from penstock.language.lookup_clauses import lookup_of, lookup_relation
from penstock.operators.lookup import describe
from penstock.registry.records import Source
from penstock.storage.files import read_table, write_table
from penstock.storage.seals import seal_of_file, sealed
from tests.support.desk_runs import DeskRun

BEGIN = datetime(2026, 1, 2, tzinfo=UTC)
STREAM = pa.schema(
    [("k", pa.int64()), ("x", pa.float64()), ("s", pa.string()), ("ts", pa.timestamp("us", "UTC"))]
)
STOCK = pa.schema(
    [("op", pa.string()), ("item", pa.string()), ("price", pa.float64()), ("n", pa.int64())]
)
WISH = pa.schema(
    [("op", pa.string()), ("item", pa.string()), ("quantity", pa.int64()), ("m", pa.int64())]
)
RANGES = "SELECT k, x * 2 AS twice, s FROM a WHERE x BETWEEN :low AND :high"
TEXTS = {
    "likes": "SELECT * FROM a WHERE s LIKE 's%' AND length(s) = 2",
    "prices": "SELECT item, price + 1 AS more FROM stock WHERE price > 2",
    "lowest": "SELECT min(price) AS low, count(*) AS n FROM stock WHERE price >= 2",
    "deals": "SELECT st.*, w.m * 2 AS m FROM stock st JOIN wish w ON st.item = w.item "
    "WHERE st.price > 1",
    "near": "SELECT b.s, a.x + b.x AS sum FROM a JOIN b ON a.k = b.k WITHIN 5 SECONDS",
    "ways": "SELECT * FROM a [ROWS 4], b [RANGE 6 SECONDS] JOIN c [ROWS 5] USING (k) "
    "WHERE a.k = b.k",
    "budget": "SELECT l.s AS l, r.s AS r FROM a l JOIN b r ON l.k = r.k WITHIN 9 SECONDS "
    "MEMORY 500 ROWS",
}
LOOKED_UP = "SELECT a.s, p.price * 2 AS double FROM a JOIN prices p ON a.k = p.id"
BATCHES = 3
NO_ANSWER = {
    "state": "what an embedded engine goes on from; it is checked when the engine starts",
    "transcripts": "what a batch that is run again takes",
    "checkpoint": "Spark's own",
    "sinks": "how far sinks have read",
    "statistics.json": "measured figures of the planner",
    "statistics.edition": "which edition of them is the newest",
    ".lock": "who uses the home",
}
"""Files and directories of a home that hold no answer that was given, and what they hold."""


def stream_rows(batch: int, shift: int) -> list[dict[str, Any]]:
    return [
        {
            "k": n % 3,
            "x": float(n % 7) - 1.5,
            "s": f"s{n % 10}" if n % 4 else f"t{n}",
            "ts": BEGIN + timedelta(seconds=10 * batch + n + shift),
        }
        for n in range(8)
    ]


def stock_rows(batch: int) -> list[dict[str, Any]]:
    rows = [
        {"op": "insert", "item": f"i{n % 3}", "price": float(n + batch), "n": 10 * batch + n}
        for n in range(4)
    ]
    if batch:
        gone = {"op": "delete", "item": "i0", "price": float(batch - 1), "n": 10 * (batch - 1)}
        rows.append(gone)
    return rows


def wish_rows(batch: int) -> list[dict[str, Any]]:
    return [{"op": "insert", "item": f"i{n}", "quantity": n, "m": 10 * batch + n} for n in range(3)]


def relations() -> list[Relation]:
    streams = (
        Relation(name=name, kind="stream", schema=STREAM, event_time="ts", lateness_us=0)
        for name in "abc"
    )
    return [
        *streams,
        Relation(name="stock", kind="table", schema=STOCK, change_column="op"),
        Relation(name="wish", kind="table", schema=WISH, change_column="op"),
    ]


def declare_prices(run: DeskRun, file: Path) -> None:
    """Make the table `prices` in a database, and let the home look it up."""
    with duckdb.connect(str(file)) as db:
        db.execute("CREATE TABLE prices AS SELECT range AS id, range * 1.5 AS price FROM range(3)")
    lookup = lookup_of("prices", f"duckdb:{file}", "id", 8, options={})
    relation = lookup_relation("prices", describe(lookup), lookup)
    declare_relation(run.desk.registry, run.desk.home, relation, Source())


def make_home(home: Path, *names: str) -> Path:
    """Run queries over a few batches; those of `ranges` come and go between them."""
    run = DeskRun(home, *relations())
    for name in names:
        if name == "ranges":
            each = [{"id": n, "low": n - 2.0, "high": n + 1.0} for n in range(3)]
            run.desk.subscribe(RANGES, name=name, each=each)
        elif name == "lookup":
            declare_prices(run, home.parent / "prices.duckdb")
            run.desk.subscribe(LOOKED_UP, name=name)
        else:
            run.desk.subscribe(TEXTS[name], name=name)
    for batch in range(BATCHES):
        if batch == 2 and "ranges" in names:
            run.desk.add("ranges", [{"id": 9, "low": 0.0, "high": 9.0}])
            run.desk.drop("ranges", [0])
        streams = {name: stream_rows(batch, shift) for shift, name in enumerate("abc")}
        run.batch(**streams, stock=stock_rows(batch), wish=wish_rows(batch))
    run.desk.close()
    return home


@contextmanager
def restored(home: Path) -> Iterator[None]:
    """Bring every file of a home back to what it was."""
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    try:
        yield
    finally:
        for path in [path for path in home.rglob("*") if path.is_file() and path not in before]:
            path.unlink()
        for path, data in before.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)


class Forger:
    """Changes what the files of a home say, and seals them anew."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def manifest(self, batch: int) -> Path:
        return self.home / "results" / "000000000" / f"{batch:012d}.json"

    def change_manifest(self, batch: int, change: Callable[[dict[str, Any]], None]) -> None:
        path = self.manifest(batch)
        manifest = json.loads(path.read_bytes())
        change(manifest)
        path.write_text(json.dumps(sealed(manifest)))

    def section(self, batch: int, relation: str) -> dict[str, Any]:
        (found,) = [each for each in self.sections(batch) if each["relation"] == relation]
        return found

    def sections(self, batch: int) -> list[dict[str, Any]]:
        manifest = json.loads(self.manifest(batch).read_bytes())
        return [section for part in manifest["parts"] for section in part["sections"]]

    def change_rows(
        self, batch: int, relation: str, suffix: str, change: Callable[[pa.Table], pa.Table]
    ) -> None:
        """Change the events or pairs of a section; its manifest says what is right of them."""

        def forge(manifest: dict[str, Any]) -> None:
            (part,) = manifest["parts"]
            (section,) = [each for each in part["sections"] if each["relation"] == relation]
            path = self.manifest(batch).parent / f"{section['stem']}-{suffix}.parquet"
            before = pq.read_table(path)
            after = change(before)
            pq.write_table(after, path)
            section["seals"][suffix] = seal_of_file(path)
            section[suffix] = after.num_rows
            more = after.num_rows - before.num_rows
            if suffix == "events" and "-" not in relation:
                part["rows_in"] += more
            if suffix == "matches" and more:
                last = max(section["groups"], key=lambda group: section["groups"][group][1])
                section["groups"][last][1] += more

        self.change_manifest(batch, forge)

    def change_block(self, version: int, change: Callable[[pa.Table], pa.Table]) -> None:
        """Change the standing queries that a version added."""
        directory = self.home / "registry" / "versions" / f"{version:012d}"
        path = directory / "block-0.arrow"
        table = change(pa.table(read_table(path).to_pydict(), schema=read_table(path).schema))
        path.unlink()
        write_table(path, table)
        self.change_version(version, lambda _manifest: None)

    def change_version(self, version: int, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the manifest of a version, and seal its files as they are."""
        directory = self.home / "registry" / "versions" / f"{version:012d}"
        manifest = json.loads((directory / "manifest.json").read_bytes())
        change(manifest)
        manifest["files"] = {name: seal_of_file(directory / name) for name in manifest["files"]}
        (directory / "manifest.json").write_text(json.dumps(sealed(manifest)))
