"""Replays without gates find what a wrong plan of a stream loses, and nothing where it is right."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from penstock.algebra.catalog import Relation
from penstock.algebra.model_streams import StreamGate, StreamPlan
from penstock.algebra.models import ModelCondition
from penstock.kinds.model_query.gate_plans import GatePlan
from penstock.kinds.model_query.streams import ModelWatch
from penstock.lab.sharing.ungated_replay import differing_rows
from penstock.models.sharing.covering import covering
from tests.support.desk_runs import DeskRun

COURSES = Relation(
    name="courses",
    kind="stream",
    schema=pa.schema(
        [("k", pa.string()), ("x", pa.float64()), ("v", pa.float64()), ("ts", pa.timestamp("us"))]
    ),
    event_time="ts",
    lateness_us=0,
)
MOVING = "FROM courses MODEL x = x + v * t KEY k"
TEXTS = [
    f"SELECT k, x {MOVING} WHERE x > {high} OR x < {low} ERROR WITHIN x 0.5 HORIZON 5 SECONDS"
    for low, high in ((-3, 2), (-2, 1))
]


def rows(first: int, count: int = 12) -> pa.Table:
    numbers = range(first, first + count)
    return pa.table(
        {
            "k": [("a", "b")[n % 2] for n in numbers],
            "x": [float((n * 7) % 9 - 4) for n in numbers],
            "v": [(n % 5 - 2) / 4 for n in numbers],
            "ts": pa.array([n * 200_000 for n in numbers]).cast(pa.timestamp("us")),
        },
        schema=COURSES.schema,
    )


@pytest.mark.parametrize("is_right", [True, False])
def test_what_a_gate_loses_is_found(tmp_path: Path, is_right: bool) -> None:
    """A gate that covers one of its readers alone loses results of the other."""
    with DeskRun(tmp_path / "home", COURSES) as run:
        for number, text in enumerate(TEXTS):
            run.desk.subscribe(text, name=f"shape{number}")
        run.batch(courses=rows(0))
        stream = next(group for group in run.desk.registry.steps if group.startswith("model_str"))
        watch = run.desk.watcher.over_group(stream)
        assert isinstance(watch, ModelWatch)
        asked = watch.cycle.conditions(stream)
        narrow = asked[run.desk.subscription("shape0").group]
        own: ModelCondition = covering([*asked.values()]) if is_right else narrow
        plan = StreamPlan(gates=(StreamGate(condition=own, readers=tuple(asked)),))
        watch.book.publish(stream, lambda number: GatePlan(number, plan))
        for number in range(1, 4):
            run.batch(courses=rows(12 * number))
        lost, surplus = differing_rows(run.desk)
        assert (lost == 0) == is_right
        assert surplus == 0
