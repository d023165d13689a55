"""The published view in real stores: loaded, measured, and followed under a policy."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np

from penstock.algebra.views import StoreDialect
from penstock.lab.draws import generator
from penstock.lab.maintenance.tpch import (
    NAMES,
    NATION,
    UPDATED,
    Offers,
    Updates,
    cheapest_offer,
    undone,
)
from penstock.lab.postgresql import measured_server, missing
from penstock.lab.processor_time import ProcessClock
from penstock.lab.report import Size, sized
from penstock.views.layout import PREFIX
from penstock.views.maintenance.curves import CostCurve
from penstock.views.maintenance.policies import FlushPolicy
from penstock.views.protocol import Chooser, Flush, Turn, ViewStore
from penstock.views.stores import open_store
from penstock.vocabulary.batches import Floats, Ints

SIZES: dict[Size, tuple[int, ...]] = sized(
    (2, 6, 12, 22, 42),
    (2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 320, 400),
    (2, 4, *range(8, 402, 8)),
)
"""Changes in a batch that is rehearsed: one that goes for one that comes."""
REPEATS = sized(3, 16, 8)
"""Batches of each size, of rows that are drawn anew: one supplier in five counts."""


class MeasuredView:
    """One store that holds the published view, and the number of its turns."""

    def __init__(self, name: str, store: ViewStore, address: str) -> None:
        self.name = name
        self.store = store
        self.address = address
        self._taken = 0

    def load(self, loaded: Updates) -> None:
        """Make the view, bring all rows into it, and time it by its processor from then on."""
        self.store.create()
        self.take(loaded, everything)
        if self.name == "duckdb":
            self.store.clock = process_time
            return
        self._ask("VACUUM ANALYZE")
        backend = int(self.store.query("SELECT pg_backend_pid()")[0][0].as_py())
        if ProcessClock.can_read(backend):
            self.store.clock = ProcessClock(backend)

    def _ask(self, sql: str) -> None:
        """Have the server do what the view would not: its own housekeeping is off."""
        driver: Any = importlib.import_module("psycopg")
        with driver.connect(self.address, autocommit=True) as connection:
            connection.execute(sql)

    def unindexed(self, index: str, name: str) -> MeasuredView:
        """Take an index of the view away; give the view as it then is, under another name."""
        schema = PREFIX + self.store.definition.name
        self._ask(f"DROP INDEX {schema}.{index}")
        found = MeasuredView(name, self.store, self.address)
        found._taken = self._taken
        return found

    def take(self, changes: Updates, choose: Chooser) -> Turn:
        """Take the next turn."""
        self._taken += 1
        return self.store.turn(self._taken, changes, choose)

    def value(self) -> float:
        """Read the view."""
        return float(self.store.rows()[0][0].as_py())

    def is_right(self) -> bool:
        """Say whether the view is what its inputs, as of their flushes, make of it."""
        order = [(name, "ascending") for name in self.store.definition.schema.names]
        return bool(self.store.rows().sort_by(order).equals(self.store.recomputed().sort_by(order)))


def everything(pending: Ints, memo: str) -> tuple[Sequence[int], str]:
    """Choose all inputs that have changes."""
    return [int(each) for each in np.flatnonzero(pending)], memo


@contextmanager
def stores(offers: Offers) -> Iterator[list[MeasuredView]]:
    """Give the view in DuckDB, and in PostgreSQL where there is one."""
    with ExitStack() as stack:
        home = stack.enter_context(TemporaryDirectory(prefix="penstock-views-"))
        places: list[tuple[StoreDialect, str]] = [("duckdb", str(Path(home) / "view.duckdb"))]
        if missing() is None:
            places.append(("postgresql", stack.enter_context(measured_server()).url()))
        views = []
        for dialect, address in places:
            store = open_store(cheapest_offer(dialect), address)
            stack.callback(store.close)
            views.append(MeasuredView(dialect, store, address))
            views[-1].load(offers.loaded())
        yield views


def left_out() -> str | None:
    """Say that PostgreSQL was left out, if so."""
    reason = missing()
    return f"The half on PostgreSQL was left out: {reason}." if reason else None


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredCurve:
    """Batches of one input as they were measured, and the curve made of them."""

    store: str
    input: int
    sizes: tuple[int, ...]
    seconds: Floats
    """By size and repetition."""

    @property
    def name(self) -> str:
        """The table and the store."""
        return f"{NAMES[self.input]}, {self.store}"

    @property
    def means(self) -> list[float]:
        """What a batch of each size took: rows differ in what they cost, so they are averaged."""
        return [float(row.mean()) for row in self.seconds]

    @property
    def curve(self) -> CostCurve:
        """The curve, repaired."""
        return CostCurve.from_samples(self.sizes, self.means)

    @property
    def held_out(self) -> float:
        """What half of the batches took, over what the curve of the other half says of them."""
        half = CostCurve.from_samples(self.sizes, self.seconds[:, ::2].mean(axis=1).tolist())
        told = half.over(np.array(self.sizes, np.int64))
        return float(self.seconds[:, 1::2].mean(axis=1).sum() / told.sum())

    @property
    def over_curve(self) -> Floats:
        """How many times as long as its curve says each measured batch took."""
        told = self.curve.over(np.array(self.sizes, np.int64))
        return np.asarray(self.seconds / np.maximum(told, 1e-9)[:, None]).ravel()


def measured_curves(view: MeasuredView, size: Size) -> list[MeasuredCurve]:
    """Rehearse batches of every size, tables by turns and sizes in an order that is drawn."""
    sizes, repeats = SIZES[size], REPEATS[size]
    drawn = generator(33, len(view.name))
    seconds = np.empty((len(UPDATED), len(sizes), repeats))
    for input_ in UPDATED:
        view.store.rehearse(input_, sizes[-1])
    drawn_rows = count(1)
    for repeat in range(repeats):
        for at in drawn.permutation(len(sizes)):
            for input_ in UPDATED:
                seconds[input_, at, repeat] = view.store.rehearse(
                    input_, sizes[at], next(drawn_rows)
                )
    return [
        MeasuredCurve(store=view.name, input=input_, sizes=sizes, seconds=seconds[input_])
        for input_ in UPDATED
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class PolicyRun:
    """What it took to follow a policy through all moments."""

    flushes: tuple[Flush, ...]
    turns: float
    """Seconds of all turns: changes that are queued and told, and tables that are netted, too."""

    @property
    def seconds(self) -> float:
        """All flushes together."""
        return sum(flush.seconds for flush in self.flushes)

    def count(self, input_: int) -> int:
        """Give how often an input was flushed."""
        return sum(flush.input == input_ for flush in self.flushes)


def followed_for_real(view: MeasuredView, moments: list[Updates], policy: FlushPolicy) -> PolicyRun:
    """Take a turn for every moment, flush what the policy says, and in the end everything.

    Then all of it is taken back, so that who comes next begins from the same rows.
    """
    chooser = FollowedPolicy(policy)
    flushes: list[Flush] = []
    begun = view.store.clock()
    for changes in moments[:-1]:
        flushes += view.take(changes, chooser).flushes
    flushes += view.take(moments[-1], everything).flushes
    turns = view.store.clock() - begun
    policy.refreshed()
    view.take(undone(moments), everything)
    return PolicyRun(flushes=tuple(flushes), turns=turns)


class FollowedPolicy:
    """A policy as a chooser of turns: it is told what came, and asked."""

    def __init__(self, policy: FlushPolicy) -> None:
        self._policy = policy
        self._left = np.zeros(NATION, np.int64)

    def __call__(self, pending: Ints, memo: str) -> tuple[Sequence[int], str]:
        """Give what to flush now."""
        waiting = np.ascontiguousarray(pending[:NATION])
        self._policy.observe(waiting - self._left)
        chosen = self._policy.choose(waiting)
        self._left = waiting.copy()
        self._left[list(chosen)] = 0
        return chosen, memo

    def refreshed(self) -> None:
        """Begin again: everything has been flushed."""
        self._policy.refreshed()
        self._left[:] = 0
