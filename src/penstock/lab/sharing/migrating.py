"""An engine whose model stream goes from plan to plan, to be killed at any moment.

`python -m penstock.lab.sharing.migrating HOME SOURCE HOST PLANS`: reads files one per batch, forces
the stream of four shapes to another plan as soon as the one before is in force, and ends when all
plans were and all rows are in. Started again on the same home it goes on. It says `batch N` and
`done`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import sleep

import pyarrow.parquet as pq

import penstock as ps
from penstock.algebra.model_streams import StreamGate, StreamPlan
from penstock.kinds.model_query import gate_cycle
from penstock.kinds.model_query.gate_plans import GatePlan
from penstock.kinds.model_query.streams import ModelWatch
from penstock.models.sharing.covering import covering

NEVER = 1 << 60
STREAM = "courses"
MOVING = f"FROM {STREAM} MODEL x = x + v * t KEY k"
TAIL = "ERROR WITHIN x 0.5 HORIZON 5 SECONDS"
TEXTS = (
    f"SELECT k, x {MOVING} WHERE x > 2 OR x < -3 {TAIL}",
    f"SELECT k, x {MOVING} WHERE x > 1 OR x < -2 {TAIL}",
    f"SELECT k, 2 * x AS twice {MOVING} WHERE x > 3 OR x < -1 {TAIL}",
    f"SELECT k, x {MOVING} {TAIL}",
)
"""Shapes that ask something first, and one that does not."""


def stream_of(engine: ps.Engine) -> str:
    """Give the stream that all shapes read."""
    found: str = engine.desk.registry.steps[engine.subscription("shape0").group]["reads"][0]
    return found


def forced(watch: ModelWatch, stream: str, number: int) -> StreamPlan:
    """Give a plan: who shares a gate with whom changes with its number, which its cost says."""
    asked = sorted(watch.cycle.conditions(stream).items())
    parts = [
        [own for place, own in enumerate(asked) if (place + number) % 3 == part]
        for part in range(number % 3 + 1)
    ]
    gates = tuple(
        StreamGate(
            condition=covering([condition for _, condition in own]),
            readers=tuple(group for group, _ in own),
        )
        for own in parts
        if own
    )
    return StreamPlan(gates=gates, cost=float(number))


def migrate(engine: ps.Engine, plans: int) -> bool:
    """Force the stream to its next plan, if the one before is in force; say whether one is left."""
    stream = stream_of(engine)
    watch = engine.desk.watcher.over_group(stream)
    assert isinstance(watch, ModelWatch)
    standing = watch.book.standing(stream)
    done = 0 if standing is None or standing.plan.cost is None else int(standing.plan.cost)
    if done >= plans:
        return False
    log = engine.desk.log
    newest = log.read(log.newest()) if log.newest() >= 0 else None
    if done and (newest is None or newest.version < engine.desk.registry.version):
        return True
    plan = forced(watch, stream, done + 1)
    watch.book.publish(stream, lambda number: GatePlan(number, plan))
    return True


def rows_done(engine: ps.Engine) -> int:
    """Count the rows of all batches that are committed."""
    log = engine.desk.log
    batches = (log.read(number) for number in range(log.newest() + 1))
    return sum(batch.rows_in for batch in batches if batch is not None)


def main(home: str, source: str, host: str, plans: str) -> None:
    """Run until all is done."""
    expected = sum(pq.read_metadata(path).num_rows for path in Path(source).glob("*.parquet"))
    gate_cycle.SEGMENTS_MIN = NEVER  # there are no plans but those that are forced
    with ps.Engine(home, host=host, record=True, shards=2) as engine:  # type: ignore[arg-type]
        if STREAM not in engine.desk.registry.catalog:
            engine.stream(
                STREAM, f"parquet:{source}", event_time="ts", lateness=0, maxFilesPerTrigger=1
            )
        for number, text in enumerate(TEXTS):
            if f"shape{number}" not in engine.desk.registry.subscriptions:
                engine.subscribe(text, name=f"shape{number}")
        engine.on_batch(lambda report: tell(f"batch {report.batch}"))
        engine.start()
        left = True
        while left or rows_done(engine) < expected:
            left = migrate(engine, int(plans))
            assert not engine.wait(0.01), "the engine ended by itself"
            sleep(0.01 if left else 0.2)
        engine.wait_for_version(engine.desk.registry.version, timeout=600)
        engine.stop()
    tell("done")


def tell(line: str) -> None:
    """Tell who watches."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
