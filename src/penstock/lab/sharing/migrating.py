"""An engine whose model streams go from plan to plan, to be killed at any moment.

`python -m penstock.lab.sharing.migrating HOME SOURCE HOST STREAMS PLANS`: reads files one per
batch, forces every stream of four shapes to another plan as soon as its plan before is in force,
and ends when all plans of all streams were and all rows are in. One shape of each comes and goes
meanwhile. Started again on the same home it goes on. It says `batch N` and `done`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import sleep

import pyarrow.parquet as pq

import penstock as ps
from penstock.algebra.model_streams import StreamGate, StreamPlan
from penstock.engine import Desk
from penstock.kinds.model_query import gate_cycle
from penstock.kinds.model_query.gate_plans import GatePlan
from penstock.kinds.model_query.streams import ModelWatch
from penstock.models.sharing.covering import covering

NEVER = 1 << 60
RELATION = "courses"
ASKED = (
    "x {moving} WHERE x > 2 OR x < -3",
    "x {moving} WHERE x > 1 OR x < -2",
    "2 * x AS twice {moving} WHERE x > 3 OR x < -1",
    "x {moving}",
)
"""Shapes that ask something first, and one that does not."""
PASSING = 1
"""The shape that comes and goes."""
ABSENT = 5
"""It is gone under every plan whose number this divides."""


def text_of(stream: int, shape: int) -> str:
    """Write a query; the horizon tells streams apart."""
    moving = f"FROM {RELATION} MODEL x = x + v * t KEY k"
    tail = f"ERROR WITHIN x 0.5 HORIZON {stream + 5} SECONDS"
    return f"SELECT k, {ASKED[shape].format(moving=moving)} {tail}"


def name_of(stream: int, shape: int) -> str:
    """Name a subscription."""
    return f"stream{stream}_shape{shape}"


def group_of(desk: Desk, stream: int) -> str:
    """Give the group of a stream: what its first shape reads."""
    group = desk.subscription(name_of(stream, 0)).group
    found: str = desk.registry.steps[group]["reads"][0]
    return found


def forced(watch: ModelWatch, group: str, number: int, turn: int) -> StreamPlan:
    """Give a plan: who shares a gate with whom changes with its turn; its cost says its number."""
    asked = sorted(watch.cycle.conditions(group).items())
    parts = [
        [own for place, own in enumerate(asked) if (place + turn) % 3 == part]
        for part in range(turn % 3 + 1)
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


def migrate(engine: ps.Engine, stream: int, plans: int, opened: int) -> bool:
    """Force a stream to its next plan, if the one before is in force; say whether one is left.

    When a plan from before this process began nobody knows: not behind the version `opened`.
    """
    group = group_of(engine.desk, stream)
    watch = engine.desk.watcher.over_group(group)
    assert isinstance(watch, ModelWatch)
    standing = watch.book.standing(group)
    done = 0 if standing is None or standing.plan.cost is None else int(standing.plan.cost)
    if done >= plans:
        return False
    if standing is not None:
        version = newest_version(engine)
        if version < opened or watch.book.in_force(group, version) is not standing:
            return True
    come_and_go(engine, stream, done + 1)
    plan = forced(watch, group, done + 1, done + 1 + stream)
    watch.book.publish(group, lambda number: GatePlan(number, plan))
    return True


def come_and_go(engine: ps.Engine, stream: int, number: int) -> None:
    """Let the passing shape be there or not, as the number of the next plan says."""
    name = name_of(stream, PASSING)
    is_there, is_wanted = name in engine.desk.registry.subscriptions, bool(number % ABSENT)
    if is_there and not is_wanted:
        engine.subscription(name).drop()
    elif is_wanted and not is_there:
        engine.subscribe(text_of(stream, PASSING), name=name)


def newest_version(engine: ps.Engine) -> int:
    """Give the registry's version under which the newest batch ran."""
    log = engine.desk.log
    newest = log.read(log.newest()) if log.newest() >= 0 else None
    return -1 if newest is None else newest.version


def rows_done(engine: ps.Engine) -> int:
    """Count the rows of all batches that are committed."""
    log = engine.desk.log
    batches = (log.read(number) for number in range(log.newest() + 1))
    return sum(batch.rows_in for batch in batches if batch is not None)


def main(home: str, source: str, host: str, streams: int, plans: int) -> None:
    """Run until all is done."""
    expected = sum(pq.read_metadata(path).num_rows for path in Path(source).glob("*.parquet"))
    gate_cycle.SEGMENTS_MIN = NEVER  # there are no plans but those that are forced
    with ps.Engine(home, host=host, record=True, shards=2) as engine:  # type: ignore[arg-type]
        if RELATION not in engine.desk.registry.catalog:
            engine.stream(
                RELATION, f"parquet:{source}", event_time="ts", lateness=0, maxFilesPerTrigger=1
            )
        for stream in range(streams):
            for shape in range(len(ASKED)):
                # One that came and went is not to come again by itself.
                if (name := name_of(stream, shape)) not in engine.desk.registry.names():
                    engine.subscribe(text_of(stream, shape), name=name)
        opened = engine.desk.registry.version
        engine.on_batch(lambda report: tell(f"batch {report.batch}"))
        engine.start()
        left = True
        while left or rows_done(engine) < expected:
            left = any([migrate(engine, stream, plans, opened) for stream in range(streams)])
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
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
