"""Upkeep of a home: while an engine runs, and at the end of every run, it is kept small.

Results that KEEP no longer keeps go, small files of the log become volumes, versions of the
registry are folded, suspensions that are over and what is known of gone groups are forgotten, and
Spark's lists of files are shortened. It is done beside the batches by a thread of its own, in
short steps. A home that is never run for long has it done at the end of its runs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from time import monotonic, time

from penstock.delivery.changes import parse_token
from penstock.delivery.retention import KeepLimits, LogUpkeep, UpkeepPace
from penstock.engine.adaptation import Watcher
from penstock.engine.home import Home
from penstock.engine.losses import Losses
from penstock.engine.readers import HomeReaders
from penstock.engine.suspended import SuspendedQueries
from penstock.operators.catalogue import OPERATORS
from penstock.registry.store import Registry
from penstock.spark.file_lists import age_ms_of, flush_lists, shorten_lists
from penstock.storage.editions import write_edition
from penstock.storage.files import read_json
from penstock.storage.seals import is_sealed
from penstock.vocabulary.errors import PenstockError

LOG = logging.getLogger("penstock.engine")
SETTING = "retention.json"
EVERY_S = 5.0
PAUSE_S = 0.002
"""Between two steps others have their turn."""
AT_END_S = 2.0
"""So long may upkeep take at the end of a run, beyond the piece that it is at."""


class Upkeep:
    """Keeps a home small.

    Parameters
    ----------
    watcher, losses
        They forget groups and subscriptions that are gone; the watcher is told what upkeep could
        not do.
    clock
        Gives the time in seconds since 1970: what KEEP 7 DAYS is measured by.

    Attributes
    ----------
    reclaim
        Takes away what queries that stand no more have outside the home.
    """

    def __init__(
        self,
        home: Home,
        registry: Registry,
        readers: HomeReaders,
        watcher: Watcher,
        losses: Losses,
        clock: Callable[[], float] = time,
        pace: UpkeepPace | None = None,
    ) -> None:
        self.reclaim: Callable[[], None] = lambda: None
        self._home, self._registry, self._readers = home, registry, readers
        self._watcher, self._losses, self._clock = watcher, losses, clock
        self._suspended = SuspendedQueries(registry, watcher)
        self._pace = pace or UpkeepPace()
        self._log = LogUpkeep(readers.log, self._pace)
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._told: str | None = None
        self._flushed: dict[str, int] = {}

    @property
    def limits(self) -> KeepLimits:
        """What KEEP said last; without it everything is kept."""
        path = self._home.path / SETTING
        try:
            facts = read_json(path)
            if not is_sealed(facts):
                raise ValueError("it is not as it was written")
            return KeepLimits.from_json(facts)
        except FileNotFoundError:
            return KeepLimits()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PenstockError(
                "ENG-064",
                f"{path} does not say what is kept: {error}.",
                "Say KEEP again; until then nothing goes.",
            ) from None

    def keep(self, limits: str) -> None:
        """Keep so much from now on."""
        write_edition(self._home.path / SETTING, KeepLimits.of_text(limits).to_json())

    def begin(self) -> None:
        """Do it from now on, beside a run."""
        if self._thread is None:
            self._closing.clear()
            self._thread = threading.Thread(target=self._run, name="penstock-upkeep", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """Do it once more, at the end of a run."""
        if self._thread is None:
            return
        self._closing.set()
        self._thread.join()
        self._thread = None
        self.once(AT_END_S)

    def once(self, patience_s: float = float("inf")) -> None:
        """Do what there is to do; when time is up, only the piece in hand."""
        end_s = monotonic() + patience_s
        try:
            for is_whole in self._steps():
                if is_whole and monotonic() > end_s:
                    return
        except (OSError, PenstockError) as error:
            self._failed(error)

    def _run(self) -> None:
        while not self._closing.wait(EVERY_S):
            try:
                for is_whole in self._steps():
                    if self._closing.wait(PAUSE_S) and is_whole:
                        return
                self._told = None
            except Exception as error:  # noqa: BLE001  # a run goes on without upkeep
                self._failed(error)

    def _steps(self) -> Iterator[bool]:
        log = self._readers.log
        self._forget_cursors()
        newest = log.newest()
        settled = log.noted(max(newest - self._pace.spare_batches, 0)) if newest >= 0 else None
        first = log.first()
        kept = log.noted(first) if newest >= 0 else None
        expired = 0 if kept is None or not first else kept["version"]
        self._registry.tidy(
            0 if settled is None else settled["version"], expired, self._pace.versions
        )
        self._suspended.settle()
        self._registry.suspensions.forget(first, expired, self._registry.steps)
        self._forget_gone()
        yield True
        is_recorded = bool(self._home.facts.get("record"))
        yield from shorten_lists(
            self._home.path / "checkpoint",
            self._registry.announcements,
            {} if is_recorded else self._listed_ms(),
            self._pace.listed,
        )
        limits = self.limits
        if not limits.is_all:
            flush_lists(self._home.path / "checkpoint", self._flushed)
        relations = self._registry.catalog if is_recorded else ()
        yield from self._log.steps(limits, self._clock(), self._read_upto(), relations)
        yield True
        self.reclaim()

    def _listed_ms(self) -> dict[int, float]:
        """Say for how long files must be listed, by the numbers that Spark gives to sources."""
        every = (own for own in self._registry.declarations.values() if own.relation.flows)
        ages = {
            number: age_ms_of(own.source.name, own.source.options)
            for number, own in enumerate(every, start=1)
        }
        return {number: age_ms for number, age_ms in ages.items() if age_ms is not None}

    def _read_upto(self) -> int | None:
        """Give the first batch that some sink has not taken, or None if there is no sink."""
        sinks = self._readers.sinks
        tokens = {runner.cursor: None for runner in sinks.runners if not runner.stopped}
        batches = [parse_token(each)[0] for each in (tokens | sinks.cursors.tokens()).values()]
        return min(batches, default=None)

    def _forget_gone(self) -> None:
        """Let what was seen of groups and subscriptions be forgotten that stand no more."""
        registry = self._registry
        with registry.reserve():
            groups, names = set(registry.steps), set(registry.subscriptions)
            relations = {relation.name for relation in registry.catalog.values()}
        self._watcher.forget_others(groups)
        self._losses.forget_others({*groups, *names, *relations, *OPERATORS})

    def _forget_cursors(self) -> None:
        """Forget how far sinks of subscriptions have read that stand no more."""
        sinks, known = self._readers.sinks, self._registry.subscriptions
        sinks.let_go(known.__contains__)
        live = {runner.name for runner in sinks.runners}

        def stands(name: str, sink: str | None) -> bool:
            if sink is None:
                return name in known or name in live
            return name in known and sink in known[name].sinks

        sinks.cursors.forget_unless(stands)

    def _failed(self, error: Exception) -> None:
        """Tell what could not be done, once until it can."""
        fact = error.fact if isinstance(error, PenstockError) else f"{error!r}."
        LOG.warning("Upkeep of %s: %s", self._home.path, fact)
        if self._told != fact:
            self._told = fact
            self._watcher.tell_subscription(
                "", f"The home is not kept small: {fact} It is tried again."
            )
