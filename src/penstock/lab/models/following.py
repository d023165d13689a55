"""Following vessels: pairs of ships whose average distance over ten minutes is below a kilometre.

Ships around harbours along a coast, as the Coast Guard's receivers hear them. Over tuples, every
report meets those of all others in the last ten seconds, and each distance goes into sixty windows.
Over models a pair is looked at when a ship leaves its course, and only if both come near each
other. The bound is a share of the coordinates in metres; what it comes to is in the table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

from penstock.lab.draws import generator
from penstock.lab.kernels.tuple_queries import tuples_near
from penstock.lab.models.break_even import seconds_each
from penstock.lab.models.peers import PeerQuery, beside, peer_runs, times_checks
from penstock.lab.models.queries import QueryRun, followers, values_at
from penstock.lab.models.sources import motion_rows
from penstock.lab.models.workload import FLEET, SECOND, Motion, coastal_vessels
from penstock.lab.report import Cell, Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import say
from penstock.models.sources import SourceRows
from penstock.models.tolerances import SourceTolerances
from penstock.vocabulary.batches import Floats, Ints

SHIPS = sized(40, 200, 500)
SECONDS = sized(900, 1_800, 3_600)
BOUNDS = sized((0.0005,), (0.0002, 0.0005, 0.001), (0.0001, 0.0002, 0.0005, 0.001))
PEER_SECONDS = sized(640, 700, 700)
"""Peers have the first so many seconds: a row's cost does not depend on how many there are."""
FLINK_ROWS = 2_000
LIMIT_M, JOIN_S, SIZE_S, SLIDE_S = 1_000.0, 10, 600, 10
TOLERANCE_M, HORIZON_S = 5.0, 600
BATCH = sized(2_000, 5_000, 10_000)
SAMPLES = 400
JUDGED = 0.0005


def run(size: Size) -> Findings:
    """Time all sides; hold what models tell against the reports, joined by straight lines."""
    ships = coastal_vessels(generator(85), SHIPS[size], SECONDS[size])
    rows = motion_rows(ships)
    some = _until(ships, PEER_SECONDS[size])
    peers = peer_runs(peer_query(some), size)
    found: list[dict[str, Cell]] = []
    for bound in BOUNDS[size]:
        say(f"model-vessels: {bound:.2%}")
        sides: dict[str, Callable[[], object]] = {
            "models": partial(_ran, rows, bound, BATCH[size]),
            "tuples": partial(over_tuples, ships, SHIPS[size]),
        }
        each = seconds_each(sides, len(rows), 1 if size == "full" else 2)
        ran = _ran(rows, bound, BATCH[size], keep=True)
        worst, told, missed = _off(ran, ships, bound)
        found.append(
            {
                "bound (%)": bound * 100, "bound (m)": bound * float(np.median(ships.x)),
                "rows/segment": len(rows) / max(ran.sources[0].counts["segments"], 1),
                "models (µs/row)": each["models"] * 1e6, "tuples (µs/row)": each["tuples"] * 1e6,
                "tuples/models": each["tuples"] / each["models"], "answers": ran.answers,
                "farthest off, of 1": worst, "windows told": told, "windows missed": missed,
            }
        )  # fmt: skip
    title = f"{len(rows):,} reports of {SHIPS[size]} ships"
    yield Table.of(title, found)
    judged = next(each for each in found if each["bound (%)"] == JUDGED * 100)
    models = float(judged["models (µs/row)"] or 0) * 1e-6
    yield beside(f"Peers over {len(some):,} reports, at 0.05 %", peers, models)
    yield at_most("Distance of a told average, over what it may be", max(
        float(each["farthest off, of 1"] or 0) for each in found), 1.0)  # fmt: skip
    yield at_most("Averages clearly below the limit that were not told", sum(
        int(each["windows missed"] or 0) for each in found), 0)  # fmt: skip
    if size == "tiny":
        return
    yield at_least("Tuples, compiled, over models at 0.05 %", float(judged["tuples/models"] or 0),
                   3, timed=True)  # fmt: skip
    yield from times_checks("at 0.05 %", peers, models, 10)


def _until(ships: Motion, seconds: int) -> Motion:
    return ships.first(int(np.searchsorted(ships.at, seconds * SECOND)))


def _ran(rows: SourceRows, bound: float, batch: int, *, keep: bool = False) -> QueryRun:
    plan = followers(LIMIT_M, SIZE_S, SLIDE_S, TOLERANCE_M, HORIZON_S)
    ran = QueryRun(plan, SourceTolerances.relative(bound, bound))
    ran.run([rows], batch, keep=keep)
    return ran


def over_tuples(ships: Motion, count: int) -> int:
    """Count the averages below the limit, tuple by tuple."""
    windows = SIZE_S // SLIDE_S + 1
    pairs = count * count
    return tuples_near(
        ships.key, ships.at, ships.x, ships.y, JOIN_S * SECOND, SIZE_S * SECOND, SLIDE_S * SECOND,
        np.zeros((1 << 14, 4)), np.zeros(2, np.int64), np.zeros((pairs, windows)),
        np.zeros((pairs, windows), np.int64), np.full(pairs, -1), LIMIT_M,
    )  # fmt: skip


def peer_query(ships: Motion) -> PeerQuery:
    """Ask for the same: a report meets the others' of ten seconds by equal buckets of time."""
    slot = ships.at // (SLIDE_S * SECOND)
    table = pa.table({"id": ships.key, "ts": ships.at, "x": ships.x, "y": ships.y, "slot": slot})
    distance = "sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y))"
    seen = " UNION ALL ".join(
        f"SELECT id, {{0}}, x, y, slot + {k} AS slot FROM reports" for k in (0, 1)
    )
    text = f"""
        WITH slots AS (
          SELECT a.id AS id1, b.id AS id2, a.slot AS slot, sum({distance}) AS total,
                 count(*) AS met
          FROM reports a JOIN ({seen.format("ts")}) b ON a.slot = b.slot
          WHERE b.ts > a.ts - {JOIN_S * SECOND} AND b.ts < a.ts AND a.id <> b.id
          GROUP BY a.id, b.id, a.slot)
        SELECT count(*) FROM (
          SELECT sum(total) OVER w AS total, sum(met) OVER w AS met FROM slots
          WINDOW w AS (PARTITION BY id1, id2 ORDER BY slot
                       RANGE BETWEEN {SIZE_S // SLIDE_S - 1} PRECEDING AND CURRENT ROW)) AS told
        WHERE total < {LIMIT_M} * met"""
    flink = f"""
        SELECT count(*) FROM (
          SELECT id1, id2, avg(dist) AS mean FROM TABLE(HOP(TABLE met, DESCRIPTOR(moment),
            INTERVAL '{SLIDE_S}' SECOND, INTERVAL '{SIZE_S}' SECOND(4)))
          GROUP BY id1, id2, window_start, window_end)
        WHERE mean < {LIMIT_M}"""
    met = f"""(SELECT a.id AS id1, b.id AS id2, a.moment AS moment, {distance} AS dist
          FROM reports a, ({seen.format("moment")}) b
          WHERE a.slot = b.slot AND a.id <> b.id
            AND b.moment BETWEEN a.moment - INTERVAL '{JOIN_S}' SECOND AND a.moment)"""
    return PeerQuery(
        tables={"reports": table}, text=text, flink=flink, views={"met": met}, flink_rows=FLINK_ROWS
    )


def _off(ran: QueryRun, ships: Motion, bound: float) -> tuple[float, int, int]:
    """Hold told averages against those of the reports, joined by straight lines.

    A position may be off by the bound on both axes, each of two ships. Of pairs and instants that
    are drawn: the worst distance over that, how many were told, and how many were not though the
    average of the reports is below the limit by more than that.
    """
    chance = generator(86)
    answer = ran.answer
    assert len(answer), "no ships follow each other: nothing is shown"
    follower = np.arange(FLEET - 1, int(ships.key.max()) + 1, FLEET)
    convoys = np.stack([follower, follower - 1], 1)
    pairs = np.unique(np.concatenate([answer.key, convoys]), axis=0)
    key = pairs[chance.integers(len(pairs), size=SAMPLES)]
    last = int(ships.at[-1]) // SECOND - SLIDE_S
    at = chance.integers(SIZE_S + 60, last, SAMPLES) * SECOND + SECOND // 2
    told = values_at(answer, key, at)
    exact = np.array([_average(ships, one, two, now) for (one, two), now in
                      zip(key.tolist(), at.tolist(), strict=True)])  # fmt: skip
    farthest = np.array([np.hypot(*(own[ships.key == one].max() for own in (ships.x, ships.y)))
                         for one in key[:, 0].tolist()])  # fmt: skip
    allowed = 2 * bound * farthest + TOLERANCE_M
    there = ~np.isnan(told)
    off = np.abs(told - exact) / allowed
    missed = ~there & (exact < LIMIT_M - allowed)
    return float(off[there].max(initial=0.0)), int(there.sum()), int(missed.sum())


def _average(ships: Motion, one: int, two: int, now: int) -> float:
    """Give the average distance of two ships over a window, by their reports second by second."""
    seconds = now - np.arange(SIZE_S) * SECOND - SECOND // 2
    tracks = [_track(ships, each, seconds) for each in (one, two)]
    return float(np.hypot(*(tracks[0] - tracks[1])).mean())


def _track(ships: Motion, key: int, at: Ints) -> Floats:
    mine = ships.key == key
    return np.stack([np.interp(at, ships.at[mine], own[mine]) for own in (ships.x, ships.y)])
