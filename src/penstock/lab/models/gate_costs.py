"""Costs of gates: a stream whose gates are planned period by period, beside one without any.

Both sides see the same batches in turn. Some shapes wait for what seldom comes, some find
something in most segments, some have bands that lie side by side, and once the prices wander, so
that what seldom came comes all the time and the other way round: there every plan is of yesterday.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.lab.draws import generator
from penstock.lab.models.stream_sides import (
    MODEL,
    SharingSide,
    SideGates,
    differing,
    rows_of,
    side,
)
from penstock.lab.report import Cell, Findings, Size, Table, at_most, sized
from penstock.lab.timing import say

SHAPES = sized(8, 60, 100)
ROWS = sized(200, 4_000, 10_000)
PERIODS = sized(2, 16, 26)
BATCHES = sized(1, 4, 4)
"""Batches of a period."""
SETTLED = 10
"""After so many periods gates are judged."""
WANDERING = 14.0
"""How far the mean price wanders up and down."""
RETURN = 8
"""In so many periods it is back."""
TAIL = "ERROR WITHIN price 0.5 HORIZON 10 SECONDS"
"""A longer horizon takes every price anywhere."""


def seldom(number: int, chance: np.random.Generator) -> list[str]:
    """Write shapes that wait for what seldom comes."""
    beyond = (9 + 7 * chance.random(2) for _ in range(number))
    return [
        f"SELECT symbol, price FROM ticks {MODEL} "
        f"WHERE price > {100 + above:.6f} OR price < {100 - below:.6f} {TAIL}"
        for above, below in beyond
    ]


def often(number: int, chance: np.random.Generator) -> list[str]:
    """Write shapes that find something in most segments."""
    above = (90 + 12 * chance.random() for _ in range(number))
    return [f"SELECT symbol, price FROM ticks {MODEL} WHERE price > {own:.6f} {TAIL}"
            for own in above]  # fmt: skip


def bands(number: int, chance: np.random.Generator) -> list[str]:
    """Write shapes that ask for narrow bands over all prices that there may be."""
    lows = (70 + 60 * chance.random() for _ in range(number))
    return [
        f"SELECT symbol, price FROM ticks {MODEL} "
        f"WHERE price > {low:.6f} AND price < {low + 0.5:.6f} {TAIL}"
        for low in lows
    ]


WORKLOADS = {"seldom": seldom, "often": often, "bands": bands, "wandering": seldom}


@dataclass
class GatePeriods:
    """Two sides that take turns, and the gates of one of them."""

    plain: SharingSide
    gates: SideGates
    wanders: bool
    differs: int = 0

    def go(self, size: Size, chance: np.random.Generator) -> None:
        """Run all periods, and plan gates after each."""
        sides = self.plain, self.gates.side
        for period in range(PERIODS[size]):
            turn = 2 * np.pi * period / RETURN if self.wanders else 0.0
            mean = 100 + WANDERING * float(np.sin(turn))
            for batch in range(period * BATCHES[size], (period + 1) * BATCHES[size]):
                drawn = {"ticks": rows_of(batch, ROWS[size], chance, mean)}
                for own in sides if batch % 2 else sides[::-1]:
                    own.process(drawn)
                if batch % BATCHES[size] == 0:
                    self.differs += differing(*sides)
                self.gates.note()
            self.gates.look()


def gate_costs(size: Size) -> Findings:
    """Let every workload run for some periods, and say what gates cost beside none."""
    rows: list[dict[str, Cell]] = []
    differs = 0
    for place, (name, write) in enumerate(WORKLOADS.items()):
        say(f"model-sharing: gates over what is asked {name}")
        chance = generator(91, place)
        written = write(SHAPES[size], chance)
        plain, gated = (side(own, written, shared=True) for own in ("one source", "gates"))
        run = GatePeriods(plain, SideGates(gated), wanders=name == "wandering")
        run.go(size, chance)
        differs += run.differs
        late = slice(min(SETTLED, PERIODS[size] - 1) * BATCHES[size], None)
        spent = {own.name: float(np.sum(own.spent_s[late])) for own in (plain, gated)}
        batches = len(plain.spent_s[late])
        rows.append({
            "shapes ask": name,
            **{f"{own} (ms a batch)": 1e3 * spent[own] / batches for own in spent},
            "gates over one source": spent["gates"] / spent["one source"],
            "plans in force": run.gates.plans, "gates at the end": len(run.gates.plan.gates),
        })  # fmt: skip
    yield Table.of(f"{SHAPES[size]:,} shapes, processor time of the last periods", rows)
    yield at_most("Answers that gates change from period to period", differs, 0)
    if size != "tiny":
        worst = max(float(row["gates over one source"] or 0) for row in rows)
        yield at_most(
            f"Gates over one source after {SETTLED} periods, worst", worst, 1.05, timed=True
        )
