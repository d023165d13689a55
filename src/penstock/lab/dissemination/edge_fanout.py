"""Edges over real brokers: bytes, latency and losses, beside one message per affected subscriber.

A server of range minima publishes the net changes of batches; edges in processes of their own
expand them. All bytes to and from the broker pass a relay that counts them. Edges, the broker and
the publisher are killed in turn; at the end every subscriber must have the value that the server
gives, and no edge may have told more or less of a batch than the index finds. There the publisher
is dropped within the lab's process; an engine in a process of its own is killed beside it, by
`engine_kills`.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import numpy as np

from penstock.lab.brokers import PROGRAMS, missing
from penstock.lab.correctness.runs import scratch
from penstock.lab.dissemination.engine_kills import killed_engine
from penstock.lab.dissemination.fanout_run import FanoutEffort, FanoutRun
from penstock.lab.dissemination.workload import (
    UpdateTrace,
    drawn_ranges,
    uniform_trace,
)
from penstock.lab.draws import generator
from penstock.lab.report import Cell, Findings, Size, Table, at_most, chart, sized
from penstock.lab.timing import say
from penstock.vocabulary.batches import Floats

SHARE_MAX = 1 / 50
MILLION = 1_000_000

EFFORTS = sized(
    FanoutEffort(
        {"nats": 3_000, "mqtt": 1_000, "redis": 1_000}, 1, 300, 16, 10, 3, {"redis": 2},
        ("mqtt",),
    ),
    FanoutEffort(
        {"nats": 200_000, "mqtt": 50_000, "redis": 50_000}, 4, 10_000, 150, 10, 6,
        dict.fromkeys(PROGRAMS, 20), ("mqtt", "redis"),
    ),
    FanoutEffort(
        {"nats": 1_000_000, "mqtt": 100_000, "redis": 100_000}, 4, 10_000, 600, 10, 20,
        dict.fromkeys(PROGRAMS, 20), ("mqtt", "redis"),
    ),
)  # fmt: skip


def run(size: Size) -> Findings:
    """Run the experiment with every broker that there is."""
    effort = EFFORTS[size]
    events = effort.batches * effort.events
    trace = uniform_trace(generator(60), effort.tuples, events)
    records: list[dict[str, Cell]] = []
    spans: dict[str, Floats] = {}
    for scheme in effort.subscribers:
        if (reason := missing(scheme)) is not None:
            yield f"Not run with {scheme}: {reason}."
            continue
        for named in (False, True) if scheme in effort.named else (False,):
            yield from _one(scheme, trace, effort, size, named, records, spans)
    if records:
        yield Table.of(f"{events:,} updates in batches of {effort.events}", records)
        yield chart(
            "From the batch to the notification", "share of notifications, %", "ms",
            {name: _spread(own) for name, own in spans.items()}, log="y",
        )  # fmt: skip
    yield from _killed_engines(effort)


def _one(
    scheme: str, trace: UpdateTrace, effort: FanoutEffort, size: Size, named: bool,
    records: list[dict[str, Cell]], spans: dict[str, Floats],
) -> Findings:  # fmt: skip
    """Run one broker, with edges that are named, or with any."""
    count = effort.subscribers[scheme]
    what = f"{scheme}, named edges" if named else scheme
    with ExitStack() as stack:
        place = Path(stack.enter_context(scratch()))
        say(f"edge-fanout: {count:,} subscribers at {effort.edges} edges over {what}")
        ranges = drawn_ranges(generator(61), count)
        fanout = FanoutRun(scheme, trace, ranges, effort, place, stack, named=named)
        record, latencies = _measured(fanout, effort, scheme, count)
        spans[what] = latencies
        wrong = fanout.finish()
        records.append({**record, "begun anew": fanout.begun_anew()})
        yield at_most(f"subscribers with another value than the server's, {what}", wrong, 0)
        name = f"batches of which an edge told too many or too few, {what}"
        yield at_most(name, fanout.miscounted(), 0)
        if size == "full":  # of fewer subscribers, few are affected
            yield from _shares(record, what, count)


def _shares(record: dict[str, Cell], scheme: str, count: int) -> Findings:
    """Judge bytes beside one message to everybody whom an update affects.

    Nearly all of those are affected by the few updates that fall below all others, and most of
    these rise again within their batch, which then tells nobody. How many are left is chance: few
    of 100,000 subscribers, so that their share is told, and judged with a million of them.
    """
    net, singly, alone, useful, least = (
        float(str(record[name]))
        for name in (
            "share of unicast", "share, one by one", "share, rows alone",
            "rows that concern anybody", "share, those alone",
        )
    )  # fmt: skip
    name = f"bytes, as a share of unicast of every update, {scheme}"
    yield at_most(name, singly, SHARE_MAX)
    if count >= MILLION:
        yield at_most(f"bytes, as a share of unicast, {scheme}", net, SHARE_MAX)
    elif net > SHARE_MAX:
        yield (
            f"Over {scheme}, bytes are {net:.1%} of a message to everybody whom a batch affects on "
            f"the whole: with {count:,} subscribers that is too few of them for a fiftieth. The "
            f"rows alone, with nothing around them, are {alone:.1%}. {useful:.0%} of them concern "
            f"anybody, and are {least:.1%}; the others are left out where edges are named."
        )


def _killed_engines(effort: FanoutEffort) -> Findings:
    """Kill an engine's process with every broker that there is."""
    records: list[dict[str, Cell]] = []
    for number, (scheme, kills) in enumerate(effort.engine_kills.items()):
        if missing(scheme) is not None:
            continue
        say(f"edge-fanout: {kills} kills of an engine that publishes over {scheme}")
        with scratch() as place:
            found = killed_engine(scheme, kills, generator(63, number), Path(place))
        records.append({"broker": scheme, **asdict(found)})
        name = (
            f"subscribers with another value than DuckDB's, {kills} kills of the engine, {scheme}"
        )
        yield at_most(name, found.wrong, 0)
        name = f"batches of which an edge told other than DuckDB, kills of the engine, {scheme}"
        yield at_most(name, found.miscounted, 0)
    if records:
        yield Table.of("An engine's process, killed again and again", records)


def _measured(
    fanout: FanoutRun, effort: FanoutEffort, scheme: str, count: int
) -> tuple[dict[str, Cell], Floats]:
    """Run the first half in peace, for figures, and the second with kills."""
    unicast = fanout.unicast_bytes()
    half = effort.batches // 2
    settled = fanout.settle()
    before = fanout.relay.bytes
    for number in range(settled + 1, half + 1):
        fanout.batch(number)
        for edge in fanout.edges:
            edge.reach(fanout.newest)
    semantic = fanout.relay.bytes - before
    affected = sum(n for own in fanout.expected for b, n in own.items() if b > settled)
    singly = fanout.affected_singly
    written = [own * (1 + effort.edges) for own in (fanout.rows_bytes, fanout.useful_bytes)]
    useful = fanout.useful / max(fanout.rows, 1)
    rows, latencies = fanout.rows, np.sort(list(fanout.latencies_s())) * 1e3
    every = max(half // max(effort.kills, 1), 1)
    for number in range(half + 1, effort.batches + 1):
        fanout.batch(number)
        if (number - half) % every == 0 and fanout.killed < effort.kills:
            fanout.kill(fanout.killed)
    events = (half - settled) * effort.events
    record: dict[str, Cell] = {
        "broker": scheme,
        "edges are": "named" if fanout.named else "anybody",
        "subscribers": count,
        "messages per update": rows / events,
        "affected per update": affected / events,
        "affected, one by one": singly / events,
        "bytes per update": semantic / events,
        "bytes of a unicast": unicast,
        "share of unicast": semantic / max(affected * unicast, 1.0),
        "share, rows alone": written[0] / max(affected * unicast, 1.0),
        "rows that concern anybody": useful,
        "share, those alone": written[1] / max(affected * unicast, 1.0),
        "share, one by one": semantic / max(singly * unicast, 1.0),
        "p50 ms": float(np.percentile(latencies, 50)) if len(latencies) else None,
        "p99 ms": float(np.percentile(latencies, 99)) if len(latencies) else None,
        "server ms per batch": 1e3 * float(np.median(fanout.server_s)),
        "kills": fanout.killed,
    }
    return record, latencies


def _spread(latencies: Floats) -> tuple[list[float], list[float]]:
    """Give sorted times with the share of them, in hundredths, that is no longer."""
    return np.linspace(0, 100, len(latencies)).tolist(), latencies.tolist()
