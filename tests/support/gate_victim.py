"""Model queries of an engine that is to be killed: shapes that share a source, and its gates.

While it runs, shapes come, and the stream that they read is forced from plan to plan.
"""

from __future__ import annotations

import penstock as ps
from penstock.algebra.model_streams import StreamGate, StreamPlan
from penstock.kinds.model_query.gate_plans import GatePlan
from penstock.kinds.model_query.streams import ModelWatch
from penstock.models.sharing.covering import covering
from tests.support.victim_words import say

SOURCE = "FROM a MODEL n = n + 2 * t"
TAIL = "ERROR WITHIN 3 HORIZON 5 SECONDS"
TEXTS = (
    f"SELECT n {SOURCE} WHERE n > 40 OR n < 10 {TAIL}",
    f"SELECT n {SOURCE} WHERE n > 60 OR n < 20 {TAIL}",
    f"SELECT n {SOURCE} {TAIL}",
    f"SELECT 2 * n AS twice {SOURCE} WHERE n > 30 OR n < 5 ERROR WITHIN n 3 HORIZON 5 SECONDS",
)
PLANS = 12


def name_of(number: int) -> str:
    """Name a subscription."""
    return f"gate{number:02d}"


def stream_of(engine: ps.Engine) -> str:
    """Give the stream that all shapes read."""
    found: str = engine.desk.registry.steps[engine.subscription(name_of(0)).group]["reads"][0]
    return found


def watch_of(engine: ps.Engine) -> ModelWatch:
    """Give what plans the gates of the stream."""
    found = engine.desk.watcher.over_group(stream_of(engine))
    assert isinstance(found, ModelWatch)
    return found


def forced(watch: ModelWatch, stream: str, number: int) -> StreamPlan:
    """Give a plan: who shares a gate with whom changes with its number, which its cost says."""
    asked = sorted(watch.cycle.conditions(stream).items())
    parts = [[own for place, own in enumerate(asked) if (place + number) % 3 == part]
             for part in range(2)]  # fmt: skip
    gates = tuple(
        StreamGate(
            condition=covering([condition for _, condition in own]),
            readers=tuple(group for group, _ in own),
        )
        for own in parts
        if own
    )
    return StreamPlan(gates=gates, cost=float(number))


def plans_done(watch: ModelWatch, stream: str) -> int:
    """Say how many plans the stream was forced to."""
    standing = watch.book.standing(stream)
    return 0 if standing is None or standing.plan.cost is None else int(standing.plan.cost)


def act(engine: ps.Engine) -> bool:
    """Do the next thing that is not done yet; says whether there was one."""
    for number, text in enumerate(TEXTS):
        if name_of(number) not in engine.desk.registry.subscriptions:
            engine.subscribe(text, name=name_of(number))
            say(f"ack {name_of(number)}")
            return True
    watch, stream = watch_of(engine), stream_of(engine)
    done = plans_done(watch, stream)
    if done >= PLANS:
        return False
    plan = forced(watch, stream, done + 1)
    watch.book.publish(stream, lambda number: GatePlan(number, plan))
    return True


def declare(engine: ps.Engine, source: str) -> None:
    """Register the first shape: its stream is that of multi-way joins."""
    del source
    if name_of(0) not in engine.desk.registry.subscriptions:
        engine.subscribe(TEXTS[0], name=name_of(0))
        say(f"ack {name_of(0)}")
