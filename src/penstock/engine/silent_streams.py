"""Silent streams: rows that wait for their turn behind one, and those that go ahead of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.algebra.catalog import ATTENDANTS
from penstock.kinds.table import groups_of, kind_of
from penstock.operators.catalogue import OPERATORS
from penstock.registry.store import Registry
from penstock.spark.hosts import BatchReport
from penstock.vocabulary.counts import counted
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable
from penstock.vocabulary.forgetting import keep_named
from penstock.vocabulary.shared_figures import ARRIVED, HELD, HURRIED_ROWS

STILL_BATCHES = 10
"""After so many batches in which rows came and none went on, that is told; else at the end."""

Tell = Callable[[str, int, str], None]
"""`(group, batch, text)`: leaves a notice."""


@dataclass(slots=True)
class _Queue:
    """The rows of a group that wait, and for how many batches none went on; None: some did."""

    held: int = 0
    batch: int = -1
    still: int | None = 0


class Waiting:
    """Follows the reports of a run, and tells once of a group from which no row has gone on.

    Its streams may have brought less event time than their lateness is, or one of them nothing.
    """

    def __init__(self, registry: Registry, tell: Tell) -> None:
        self._registry, self._tell = registry, tell
        self._queues: dict[str, _Queue] = {}

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget groups that are not named."""
        keep_named(self._queues, groups)

    def take(self, report: BatchReport) -> None:
        """Take a batch's report."""
        for group, described, kind in groups_of(self._registry.steps):
            own = [report.figures[name] for name in _with_feeders(group, described)]
            if kind.waiting(described) is None or not any(HELD in figures for figures in own):
                continue
            queue = self._queues.setdefault(group, _Queue())
            held = sum(figures[HELD] for figures in own)
            come = sum(figures.total(ARRIVED) for figures in own)
            went_on = held < queue.held + come
            queue.held, queue.batch = held, report.batch
            if queue.still is None or not (went_on or come):
                continue
            queue.still = None if went_on else queue.still + 1
            if queue.still == STILL_BATCHES:
                self._say(group, queue)

    def finish(self) -> None:
        """Tell at the end of a run what was not told before; the next one begins anew."""
        for group, queue in self._queues.items():
            if queue.still is not None and queue.still < STILL_BATCHES:
                self._say(group, queue)
        self._queues = {}

    def _say(self, group: str, queue: _Queue) -> None:
        if queue.held and group in self._registry.steps:
            told = PenstockError(
                "ENG-068",
                f"{waiting_words(self._registry, group, queue.held)} None has gone on in this run.",
                "Bring later rows to each of the streams, or declare a shorter lateness.",
            )
            self._tell(group, queue.batch, str(told))


def rows_waiting(registry: Registry, group: str, figures: Callable[[], FigureTable]) -> int:
    """Count the rows that wait in a group for their turn, or in groups that feed it."""
    described = registry.steps.get(group)
    if described is None or described["kind"] in ATTENDANTS:
        return 0
    if kind_of(described).waiting(described) is None:
        return 0
    met = figures()
    return sum(met[name][HELD] for name in _with_feeders(group, described))


def waiting_words(registry: Registry, group: str, rows: int) -> str:
    """Say how many rows wait, and for what."""
    described = registry.steps[group]
    names = OPERATORS[described["kind"]].step_from_json(described).relations
    known = [registry.catalog[name.lower()] for name in names if name.lower() in registry.catalog]
    late = [f"{own.name} {own.lateness_us / 1e6:g} s" for own in known if own.event_time]
    wait = counted(rows, "row waits for its turn", "rows wait for their turn")
    return (
        f"{wait}: a row goes on when every stream of the query is past it by its "
        f"lateness ({', '.join(late)})."
    )


def _with_feeders(group: str, described: Mapping[str, Any]) -> tuple[str, ...]:
    return (group, *described.get("reads", ()))


class Hurrying:
    """Follows the reports of a run.

    It is told once that rows hurry, and again when it happens after fewer than half as many rows
    waited as may.
    """

    def __init__(self, registry: Registry, tell: Tell) -> None:
        self._registry = registry
        self._tell = tell
        self._told: set[str] = set()
        self.rows: dict[str, int] = {}
        """By group: how many rows hurried in this run."""

    def forget_others(self, groups: Collection[str]) -> None:
        """Forget groups that are not named."""
        self._told.intersection_update(groups)
        keep_named(self.rows, groups)

    def take(self, report: BatchReport) -> None:
        """Take a batch's report."""
        for group, described, kind in groups_of(self._registry.steps):
            most = kind.waiting(described)
            if most is None:
                continue
            hurried = report.figures[group][HURRIED_ROWS]
            if hurried:
                self.rows[group] = self.rows.get(group, 0) + hurried
                if group not in self._told:
                    self._told.add(group)
                    self._tell(group, report.batch, str(_notice(most)))
            elif 2 * report.figures[group][HELD] < most:
                self._told.discard(group)


def _notice(most: int) -> PenstockError:
    rows = counted(most, "row")
    return PenstockError(
        "ENG-042",
        f"More than {rows} wait for a stream that is silent or far behind: the oldest go on "
        "without it, and rows that it brings from before them are late.",
        "Bring the stream's rows, or let more wait: OPTIONS (waiting = n).",
    )
