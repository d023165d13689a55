"""Experiments with range aggregates at their smallest size, and what they are made of."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from penstock.kernels.range_messages import RangeMessages
from penstock.lab.dissemination.exactness import wrong_instances
from penstock.lab.dissemination.overlay import Overlay, drawn_overlay
from penstock.lab.dissemination.peer import beside_peers
from penstock.lab.dissemination.workload import codes, drawn_ranges, grid_trace, uniform_trace
from penstock.operators.range_aggregate.extremes import Extremes
from tests.lab.conftest import TinyRun


@pytest.mark.parametrize("name", ["range-min-messages", "network-traffic", "stock-trace"])
def test_experiments_at_tiny_size(name: str, tiny: TinyRun) -> None:
    tiny(name)


@pytest.mark.spark
def test_server_time_at_tiny_size(tiny: TinyRun) -> None:
    """DuckDB and Spark have the server's minima; that they were asked is told by their times."""
    report, facts = tiny("range-min-server-time")
    named = {check.name: check.value for check in report.checks}
    (beside,) = [rows for title, rows in facts["figures"].items() if title.startswith("Seconds")]
    assert [row["server"] for row in beside] == ["S-UN, net", "DuckDB", "Spark"]
    for name in ("DuckDB", "Spark"):
        assert named[f"Subscriptions for which {name} has another minimum"] == 0
    assert all(row["seconds"] > 0 for row in beside)


@pytest.mark.spark
def test_peers_would_find_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that misses rectangles is told from both peers."""
    random = np.random.default_rng(4)
    trace, ranges = uniform_trace(random, 50, 1, spikes=0.0), drawn_ranges(random, 80)
    batches = [(np.arange(20), codes(random.uniform(0, 10_000, 20)))]
    assert beside_peers(trace, ranges, batches).differing == {"DuckDB": 0, "Spark": 0}
    tell = Extremes.net_updates
    monkeypatch.setattr(
        Extremes, "net_updates",
        lambda *given: RangeMessages._make(column[::2] for column in tell(*given)),
    )  # fmt: skip
    differing = beside_peers(trace, ranges, batches).differing
    assert differing["DuckDB"] == differing["Spark"] > 0


def test_a_fault_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn instances tell a server that tells too little from one that tells the truth."""
    tell = Extremes.net

    def forgetful(*arguments):
        messages = tell(*arguments)
        return messages._replace(outer_l=np.minimum(messages.outer_l + 1, messages.inner_l))

    assert not wrong_instances(np.random.default_rng(1), 50, batches=True)
    monkeypatch.setattr(Extremes, "net", forgetful)
    assert wrong_instances(np.random.default_rng(1), 50, batches=True)


def test_updates_of_a_trace_follow_each_other() -> None:
    """Every update finds the value that the one before it of the same tuple left."""
    random = np.random.default_rng(2)
    for trace in (uniform_trace(random, 20, 500, 0.1), grid_trace(random, 5, 15, 200, 0.5)):
        now = trace.ys.copy()
        for who, old, new in zip(trace.who, trace.old, trace.new, strict=True):
            assert now[who] == old
            now[who] = new
        extremes = trace.extremes()
        extremes.process(trace.updates())
        assert sorted(extremes.tuples().ys.tolist()) == sorted(now.tolist())


def test_messages_take_the_links_between_those_they_concern() -> None:
    """Links and the busiest broker against walks along all ways, from any origin."""
    random = np.random.default_rng(3)
    overlay = drawn_overlay(random, 200, 30)
    events = np.repeat(np.arange(30), 2)
    concerned = [random.choice(30, random.integers(0, 6), replace=False) for _ in events]
    where = np.repeat(np.arange(len(events)), [len(each) for each in concerned])
    origins = random.integers(0, 30, len(events))
    links, stress = overlay.spread(where, np.concatenate(concerned), events, origins)
    for event in range(30):
        sent = np.zeros(30, int)
        for message in (2 * event, 2 * event + 1):
            taken = set[tuple[int, int]]()
            for broker in concerned[message].tolist():
                taken |= set(way(overlay, int(origins[message]), broker))
            assert links[message] == len(taken)
            for sender, _ in taken:
                sent[sender] += 1
        assert stress[2 * event + 1] == sent.max()


def way(overlay: Overlay, start: int, end: int) -> list[tuple[int, int]]:
    """Give the links from one broker to another, up and then down."""

    def up(broker: int) -> list[int]:
        ways = [broker]
        while overlay.parents[ways[-1]] >= 0:
            ways.append(int(overlay.parents[ways[-1]]))
        return ways

    rise, fall = up(start), up(end)
    while len(rise) > 1 and len(fall) > 1 and rise[-2] == fall[-2]:
        rise.pop()
        fall.pop()
    path = [*rise, *reversed(fall[:-1])]
    return list(pairwise(path))
