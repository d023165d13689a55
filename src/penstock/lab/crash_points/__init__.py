"""`penstock lab crash-points`: a crash behind every write of a small run of all kinds.

One run is watched deed by deed. Behind each deed its home is laid down again as it would be after
the process was killed, or after the power failed; a new process goes on from there to the end, and
must have found what the run without a crash found, which is what DuckDB finds.
"""

from __future__ import annotations

import atexit
import gc
import logging
import multiprocessing
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from penstock.lab.correctness.runs import scratch
from penstock.lab.crash_points.all_kinds import AllKinds
from penstock.lab.crash_points.lives import HomeLife, Row, Taken, net_of
from penstock.lab.crash_points.simulated_disk import (
    CRASHES,
    Crash,
    Journal,
    SimulatedDisk,
    different_homes,
    lay_down,
)
from penstock.lab.draws import current_seed
from penstock.lab.report import Findings, Size, Table, at_least, at_most, sized
from penstock.lab.timing import say
from penstock.storage.disk import watched

STATES = sized(8, 200, 100_000)
"""So many different homes of each crash at most are gone on from, drawn from the whole run."""
AGAIN = sized(10, 20, 8)
"""In every so many of them the next life crashes too, at a deed that is drawn."""
POINTS_MIN = sized(500, 500, 500)
TOLD = 10
COLUMNS = (
    "crash", "points", "homes gone on from", "crashed again", "rows lost", "rows doubled",
    "promises broken", "starts refused",
)  # fmt: skip


@dataclass(slots=True)
class CrashTally:
    """What came of crashes of one kind."""

    points: int = 0
    states: int = 0
    again: int = 0
    lost: int = 0
    doubled: int = 0
    broken: int = 0
    refused: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, other: CrashTally) -> None:
        """Add up what came of others."""
        for name in ("points", "states", "again", "lost", "doubled", "broken", "refused"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.notes += other.notes


@dataclass(frozen=True, slots=True)
class Lived:
    """What a life left: its deeds, and the promises that it broke.

    It `told` what it keeps, from a `first` batch on; all that went before was taken. What its sink
    wrote, all stays.
    """

    journal: Journal
    told: dict[str, Counter[Row]]
    first: int
    broken: list[str]
    sunk: Counter[Row]


Tallies = dict[Crash, CrashTally]


def run(size: Size) -> Findings:
    """Crash behind every deed, or a sample of them; full-sized ones use all cores."""
    seed = current_seed()
    cores = 1 if size == "tiny" else len(os.sched_getaffinity(0))
    total: Tallies = {crash: CrashTally() for crash in CRASHES}
    pieces = iter([_piece(seed, size, 0, 1)]) if cores == 1 else _in_processes(seed, size, cores)
    deeds: Counter[str] = Counter()
    differing: list[str] = []
    results = 0
    for tallies, deeds, differing, results in pieces:  # noqa: B007 — all pieces see the same run
        for crash, tally in tallies.items():
            total[crash].add(tally)
    rows = [
        (crash, t.points, t.states, t.again, t.lost, t.doubled, t.broken, t.refused)
        for crash, t in total.items()
    ]
    yield Table("Crashes behind every write", COLUMNS, rows)
    names = ("points", "lost", "doubled", "broken", "refused")
    sums = {name: sum(getattr(t, name) for t in total.values()) for name in names}
    yield Table("Writes of the run", ("deed", "count"), sorted(deeds.items()))
    yield {"results": results}
    yield at_most("queries that differ from DuckDB without a crash", len(differing), 0)
    yield at_least("crash points", sums["points"], POINTS_MIN[size])
    yield at_most("rows lost", sums["lost"], 0)
    yield at_most("rows doubled", sums["doubled"], 0)
    yield at_most("promises broken", sums["broken"], 0)
    yield at_most("starts refused", sums["refused"], 0)
    yield from differing[:TOLD]
    yield from [note for tally in total.values() for note in tally.notes][:TOLD]


Piece = tuple[Tallies, Counter[str], list[str], int]


def _in_processes(seed: int, size: Size, cores: int) -> Iterator[Piece]:
    # Spawned: DuckDB and Arrow have threads, which a fork does not take along.
    with ProcessPoolExecutor(cores, mp_context=multiprocessing.get_context("spawn")) as pool:
        each = [pool.submit(_piece, seed, size, number, cores) for number in range(cores)]
        yield from (future.result() for future in each)


def _piece(seed: int, size: Size, number: int, pieces: int) -> Piece:
    """Watch the run, and go on from every `pieces`-th home that a crash leaves."""
    # What is mended after a power cut is told by the log: thousands of lines here.
    logging.getLogger("penstock").setLevel(logging.ERROR)
    with scratch() as place:
        crashes = _Crashes(seed, Path(place))
        if pieces > 1:  # a process of its own: what every life needs is not looked through again
            gc.collect()
            gc.freeze()
            atexit.register(gc.unfreeze)  # or DuckDB tells of all that is left at its end
        return crashes.piece(size, number, pieces)


class _Crashes:
    """One run, and what it is to be compared with."""

    def __init__(self, seed: int, place: Path) -> None:
        self._place, self._seed = place, seed
        self._script = AllKinds(seed, place / "asked")
        self._disk = place / "disk"
        straight = self._lived({}, {}, [])
        self._journal, self._sunk = straight.journal, straight.sunk
        self._taken: Taken = dict(fact for word, fact in self._journal.marks if word == "took")
        self._told: dict[str, Counter[Row]] = {own.name: Counter() for own in self._script.texts}
        for (name, _token), row in self._taken.items():
            self._told[name][row] += 1

    def piece(self, size: Size, number: int, pieces: int) -> Piece:
        deeds = Counter[str](entry.deed for entry in self._journal.entries)
        tallies: Tallies = {crash: CrashTally() for crash in CRASHES}
        for crash in CRASHES:
            tallies[crash].points = len(self._journal.entries) if number == 0 else 0
        found = different_homes(self._journal)
        seed = self._seed
        chance = np.random.default_rng((seed, len(found)))
        chosen: list[tuple[int, Crash]] = []
        for crash in CRASHES:
            own = [each for each in found if each[1] == crash]
            chosen += [own[k] for k in chance.permutation(len(own))[: STATES[size]]]
        self._go_on(set(chosen[number::pieces]), tallies, AGAIN[size])
        return tallies, deeds, self._differing(), len(self._taken)

    def _go_on(self, chosen: set[tuple[int, Crash]], tallies: Tallies, again: int) -> None:
        disk, done = SimulatedDisk(), 0
        for at, entry in enumerate(self._journal.entries):
            disk.do(entry)
            for crash in CRASHES:
                if (at, crash) in chosen:
                    name = (
                        f"seed {self._seed}, {crash} behind deed {at} ({entry.deed} {entry.path})"
                    )
                    marks = self._journal.marks[: entry.marks]
                    is_again = done % again == 0
                    self._crash(tallies[crash], name, disk.left(crash), marks, is_again)
                    done += 1
                    if done % max(len(chosen) // TOLD, 1) == 0:
                        say(f"crash-points: {done:,} of {len(chosen):,} homes")

    def _crash(
        self,
        tally: CrashTally,
        name: str,
        left: dict[str, bytes | None],
        marks: list[tuple[str, Any]],
        again: bool,
    ) -> None:
        """Go on from what a crash left, and if `again` from what a second crash leaves."""
        tally.states += 1
        journal = self._compared(tally, name, left, marks)
        if not again or journal is None or not journal.entries:
            return
        tally.again += 1
        seed = self._seed
        chance = np.random.default_rng((seed, len(journal.entries), len(left)))
        at, crash = int(chance.integers(len(journal.entries))), CRASHES[chance.integers(3)]
        disk = SimulatedDisk(left)
        for entry in journal.entries[: at + 1]:
            disk.do(entry)
        promised = [*marks, *journal.marks[: journal.entries[at].marks]]
        again_name = f"{name}, then {crash} behind deed {at}"
        self._compared(tally, again_name, disk.left(crash), promised)

    def _compared(
        self,
        tally: CrashTally,
        name: str,
        left: dict[str, bytes | None],
        marks: list[tuple[str, Any]],
    ) -> Journal | None:
        before: Taken = dict(fact for word, fact in marks if word == "took")
        taken = dict(before)
        try:
            lived = self._lived(left, taken, marks)
        except Exception as error:  # noqa: BLE001 — whatever keeps a home from going on
            tally.refused += 1
            tally.notes.append(f"{name}: {type(error).__name__}: {error}"[:400])
            return None
        told, broken = lived.told, lived.broken
        kept = {own: _since(rows, lived.first) for own, rows in self._told.items()}
        lost = sum((kept[own] - told.get(own, Counter())).total() for own in kept)
        doubled = sum((told[own] - kept.get(own, Counter())).total() for own in told)
        # In batches that nobody had seen, rows may come in another order than without a crash.
        has, should = (
            Counter((token[0], row) for token, row in own.items()) for own in (taken, self._taken)
        )
        lost += (should - has).total()
        doubled += (has - should).total()
        doubled += sum(taken[token] != row for token, row in before.items())
        lost += (self._sunk - lived.sunk).total()
        doubled += (lived.sunk - self._sunk).total()
        tally.lost, tally.doubled = tally.lost + lost, tally.doubled + doubled
        tally.broken += len(broken)
        if lost or doubled or broken:
            words = f"{lost} lost, {doubled} doubled, broken: {broken}"
            tally.notes.append(f"{name}: {words}"[:400])
        return lived.journal

    def _lived(
        self, left: dict[str, bytes | None], taken: Taken, marks: list[tuple[str, Any]]
    ) -> Lived:
        """Lay down a home and live on it to the end; give what it tells, and what it broke."""
        shutil.rmtree(self._disk, ignore_errors=True)
        lay_down(left, self._disk)
        journal = Journal(self._disk)
        with watched(journal), HomeLife(self._disk, self._script, journal, taken) as life:
            broken = life.broken(marks)
            life.live()
            broken += [*life.broken([]), *life.neglected()]
            return Lived(journal, life.told(), life.first, broken, life.sunk())

    def _differing(self) -> list[str]:
        """Hold the run without a crash against DuckDB."""
        texts = {text.name: text.query.text for text in self._script.texts}
        found = []
        if (sunk := self._script.sunk.name) and self._sunk != self._told[sunk]:
            found.append(f"{sunk}: its sink has {self._sunk.total()} rows")
        for name, expected in self._script.expected().items():
            has = net_of(self._told[name])
            if has != expected and not (texts[name].may_miss and has <= expected):
                found.append(f"{name}: {has - expected} surplus, {expected - has} missing"[:400])
        return found


def _since(rows: Counter[Row], first: int) -> Counter[Row]:
    """Give the rows of a batch and those behind it."""
    return Counter({row: count for row, count in rows.items() if row[0] >= first})
