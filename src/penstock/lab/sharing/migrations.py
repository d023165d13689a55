"""Migrations: model streams are forced from plan to plan through Spark, and killed in between.

Every stream of an engine goes on to another plan when its last one is in force, and the process is
killed with -9 again and again, on both hosts. A batch costs about as much whether one stream
changes its plan or ten, so there are several, each at its own pace. In the end every row is in
exactly one batch, every plan was in force for a batch, and each shape was told in every batch, to
the last bit, what a run without any plan tells. DuckDB looks at some batches and instants besides,
as it does for users.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import sleep

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.algebra.physical import PLAN_PORT
from penstock.engine import Desk
from penstock.engine.verification import verify
from penstock.lab.draws import generator
from penstock.lab.report import Cell, Findings, Size, Table, at_least, at_most, sized
from penstock.lab.sharing import migrating
from penstock.lab.sharing.ungated_replay import differing_rows
from penstock.lab.timing import say

STREAMS = sized(2, 5, 20)
"""Streams, each read by shapes of its own."""
PLANS = sized(5, 20, 50)
"""Plans that every stream is forced to, on each host: each when the one before is in force."""
FILES = 2
"""Files for each plan: it comes into force with the next batch but one."""
BETWEEN = sized((6, 7), (6, 14), (8, 20))
"""From and to how many batches a process lives."""
HOSTS = sized(("embedded",), ("embedded", "cluster"), ("embedded", "cluster"))
ROWS = 6
"""Rows of a file, which is read by one batch."""
KEYS = ("e", "f", "g")
FIRST_S = 1_000_000_000
KILLED = -9
LIVES_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What came of one host."""

    migrations: int
    kills: int
    batches: int
    rows: int
    missing_rows: int
    results: int
    lost: int
    """Rows that a run without plans tells, and this one did not."""
    doubled: int
    """Rows that this run told, and one without plans does not, or not as often."""
    missing: int
    """What DuckDB misses, where it looks."""
    surplus: int


def put_files(source: Path, files: int, chance: np.random.Generator) -> int:
    """Write courses that jump now and then, a file per batch; give how many rows."""
    source.mkdir()
    where = dict.fromkeys(KEYS, 0.0)
    for file in range(files):
        drawn = []
        for tick in range(file * ROWS, (file + 1) * ROWS):
            key = str(chance.choice(KEYS))
            if chance.random() < 0.4:
                where[key] = float(chance.integers(-16, 17)) / 4
            slope = float(chance.integers(-4, 5)) / 4
            drawn.append((key, where[key], slope, 200_000 * tick))
        names = ("k", "x", "v", "ts")
        columns = dict(zip(names, map(list, zip(*drawn, strict=True)), strict=True))
        stamps = pa.array(columns.pop("ts")).cast(pa.timestamp("us", "UTC"))
        path = source / f"{file:06d}.parquet"
        pq.write_table(pa.table({**columns, "ts": stamps}), path)
        os.utime(path, (FIRST_S + file, FIRST_S + file))  # Spark reads the oldest first
    return files * ROWS


def live(command: list[str], environment: dict[str, str], batches: int, delay_s: float) -> int:
    """Run the engine until it ends, or kill it after so many batches; give its code."""
    seen = 0
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            seen += line.startswith("batch")
            if seen == batches:
                sleep(delay_s)
                process.kill()
        code = process.wait()
        errors.seek(0)
        assert code in (0, KILLED), errors.read()[-3000:]
    return code


def migrated(
    host: str, streams: int, plans: int, between: tuple[int, int], chance: np.random.Generator
) -> Migrated:
    """Force streams to so many plans each on a host, killing their engine in between; count."""
    with (
        tempfile.TemporaryDirectory(prefix="migrated") as place,
        tempfile.TemporaryDirectory(prefix="mig", ignore_cleanup_errors=True) as scratch,
    ):
        home, source = Path(place) / "home", Path(place) / "in"
        rows = put_files(source, FILES * plans, chance)
        module = migrating.__name__
        command = [sys.executable, "-m", module, str(home), str(source), host]
        command += [str(streams), str(plans)]
        # What a killed Spark leaves behind goes with this directory.
        environment = {**os.environ, "TMPDIR": scratch, "SPARK_LOCAL_DIRS": scratch}
        for kills in range(LIVES_MAX):
            lives, delay_s = int(chance.integers(*between)), 0.5 * float(chance.random())
            if live(command, environment, lives, delay_s) == 0:
                return _counted(home, rows, streams * plans, kills)
            say(f"migrations: {host}, killed {kills + 1} times")
    raise AssertionError(f"{LIVES_MAX} processes were killed, and the work is not done")


def _counted(home: Path, rows: int, plans: int, kills: int) -> Migrated:
    """Hold the log against the input, what was told against a run without plans and DuckDB."""
    desk = Desk(home)
    batches = [desk.log.read(number) for number in range(desk.log.newest() + 1)]
    versions = np.array([-1 if own is None else own.version for own in batches])
    streams = [group for group in desk.registry.steps if group.startswith("model_stream")]
    began = [
        (stream, own.version)
        for own in desk.registry.reader(0, desk.registry.version)
        for stream in streams
        if stream in own.changes and PLAN_PORT in own.changes[stream].adds
    ]
    assert len(began) == plans, f"{len(began)} plans were published"
    # A plan was in force if a batch ran before the next one of its stream came.
    firsts = {(stream, int(np.searchsorted(versions, version))) for stream, version in began}
    outcomes = verify(desk.registry, desk.log)
    assert not (failed := [str(each) for own in outcomes for each in own.failures]), failed
    lost, doubled = differing_rows(desk)
    desk.close()
    return Migrated(
        migrations=sum(batch < len(versions) for _, batch in firsts),
        kills=kills,
        batches=len(batches),
        rows=rows,
        missing_rows=abs(rows - sum(own.rows_in for own in batches if own is not None)),
        results=sum(own.found for own in outcomes),
        lost=lost,
        doubled=doubled,
        missing=sum(own.missing for own in outcomes),
        surplus=sum(own.surplus for own in outcomes),
    )


def run(size: Size) -> Findings:
    """Migrate on every host, and say what was lost or doubled."""
    rows: list[dict[str, Cell]] = []
    for place, host in enumerate(HOSTS[size]):
        chance = generator(190, place)
        found = migrated(host, STREAMS[size], PLANS[size], BETWEEN[size], chance)
        rows.append({
            "host": host, "streams": STREAMS[size], "migrations": found.migrations,
            "kills": found.kills, "batches": found.batches, "rows": found.rows,
            "results": found.results, "rows not in one batch": found.missing_rows,
            "lost": found.lost, "doubled": found.doubled,
            "missing for DuckDB": found.missing, "surplus for DuckDB": found.surplus,
        })  # fmt: skip
    yield Table.of("Streams that go from plan to plan, and are killed", rows)

    def total(name: str) -> int:
        return sum(int(row[name] or 0) for row in rows)

    plans = len(HOSTS[size]) * STREAMS[size] * PLANS[size]
    yield at_least("Plans that were in force", total("migrations"), plans)
    yield at_least("Kills", total("kills"), len(HOSTS[size]))
    yield at_least("Results", total("results"), PLANS[size])
    for name in (
        "rows not in one batch", "lost", "doubled", "missing for DuckDB", "surplus for DuckDB",
    ):  # fmt: skip
        yield at_most(f"{name[0].upper()}{name[1:]}", total(name), 0)
