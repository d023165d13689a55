"""Sinks: consumers that the engine feeds.

A sink follows the result log with its own durable cursor, run after run. A slow one lags, a failing
one is tried again with growing pauses; neither is noticed by the pipeline or by another sink: a few
threads feed all sinks, and while some of these are held up in a sink, others join them.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from queue import SimpleQueue
from time import monotonic
from typing import Protocol
from urllib.parse import quote

from rich.console import Console

from penstock.delivery.batch_tables import batch_table
from penstock.delivery.changes import Change
from penstock.delivery.courier import Courier, Follower, HandedBatch, Progress
from penstock.delivery.cursors import Cursors
from penstock.delivery.sheets import Piece
from penstock.delivery.sink_kinds import BatchSink

PAUSE_FIRST_S = 0.1
PAUSE_LAST_S = 30.0
CURSORS_EVERY_S = 1.0
LOOK_S = 0.05
FAILURES_TOLD = 3
"""A sink that fails so often in a row is told of; and then when it takes changes again."""
LOGGED_EVERY_S = 30.0
TOLD_AT_END_MAX = 20
LOGGER = logging.getLogger("penstock.delivery")
FREE_THREADS = 2
"""So many threads should be free to feed sinks that take what they get."""


class Sink(Protocol):
    """Takes changes one by one; raising means "not taken, try again later"."""

    def __call__(self, change: Change, /) -> None:
        """Take one change."""


class ConsoleSink:
    """Prints changes, one per line."""

    def __init__(self, title: str = "", console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console(highlight=False, soft_wrap=True)

    def __call__(self, change: Change) -> None:
        """Print one change."""
        sign = "+" if change.sign > 0 else "-"
        row = json.dumps(change.row, default=str)
        self._console.print(f"{sign} {self._title} {change.id} {row}", markup=False)


Tell = Callable[[str, str], None]
"""`(subscription, text)`: told how a sink fares."""


class Backoff:
    """Growing pauses between trials, the same for all kinds of sinks.

    >>> pauses = Backoff()
    >>> [pauses.after_failure(went_on=False) for _ in range(3)]
    [0.2, 0.4, 0.8]
    """

    def __init__(self) -> None:
        self._pause_s = PAUSE_FIRST_S

    def after_failure(self, went_on: bool) -> float:
        """Give how many seconds to wait; short ones again if something was taken meanwhile."""
        self._pause_s = PAUSE_FIRST_S if went_on else min(2 * self._pause_s, PAUSE_LAST_S)
        return self._pause_s


@dataclass(slots=True)
class SinkState:
    """How a sink fares."""

    delivered: int = 0
    failures: int = 0
    last_error: str | None = None


class SinkRunner:
    """Feeds one sink, from its cursor on, until stopped; `cursor` is its name among cursors."""

    def __init__(
        self, name: str, sink: Sink | BatchSink, cursor: str, tell: Tell = lambda _name, _text: None
    ) -> None:
        self.name, self.cursor = name, cursor
        self._tell = tell
        self._failed_in_a_row = 0
        self._logged_s = float("-inf")
        self.state = SinkState()
        self._sink = sink
        self._lock = threading.Lock()
        self._is_queued = self._is_served = self._has_news = False
        self._turns = 0
        self._backoff = Backoff()
        self._taken: str | None = None
        self._courier: Courier | None = None
        self._follower: Follower | None = None
        self.stopped = False
        """Whether it was stopped for good."""
        self.resting = False
        """Whether the run is over; the next one goes on."""
        self.ended = False
        """Whether it has all that will come in this run."""

    def stop(self) -> None:
        """Stop after the change in hand, for good: no later run of this engine feeds it."""
        self.stopped = True

    def rest(self) -> None:
        """Stop after the change in hand, until the next run."""
        self.resting = True

    @property
    def has_all(self) -> bool:
        """Whether it has taken all that was committed."""
        courier, follower = self._courier, self._follower
        if courier is None or follower is None or self.ended:
            return True
        return courier.is_abreast(follower) and not follower.inbox and not self._is_served

    def begin(self, courier: Courier, since: str | None, wake: Callable[[], None]) -> None:
        """Follow the subscription from now on."""
        self._courier, self._taken = courier, since
        self.resting = self.ended = False
        self._is_queued = self._has_news = False
        self._follower = courier.follow(self.name, since, wake)

    def finish(self) -> None:
        """Follow no more, until the next run."""
        self.resting = True
        if self._courier is not None and self._follower is not None:
            self._courier.leave(self._follower)
        close = getattr(self._sink, "close", None)
        if isinstance(self._sink, BatchSink) and close is not None and not self._is_served:
            try:
                close()
            except Exception:  # a sink is the user's code
                LOGGER.exception("Sink %s could not be closed", self.cursor)

    def progress(self) -> str | None:
        """Give the token behind all that the sink has taken, and that was not for it."""
        turns = self._turns
        if self._courier is None or self._follower is None:
            return self._taken
        token = self._courier.token(self._follower)
        with self._lock:
            is_idle = not self._is_served and turns == self._turns
            return token if token is not None and is_idle else self._taken

    @property
    def progress_mark(self) -> tuple[int, int]:
        """What changes with every change that the sink takes, and every time it is served."""
        return self._turns, self.state.delivered

    def is_due(self) -> bool:
        """Hear that there is news; say whether a thread must be asked to serve."""
        with self._lock:
            if self._is_served or self._is_queued:
                self._has_news = True
                return False
            self._is_queued = True
            return True

    def serve(self) -> float | None:
        """Feed what has come for the sink; give after how many seconds to serve it again, if so."""
        with self._lock:
            self._is_queued, self._is_served, self._has_news = False, True, False
            self._turns += 1
        again_s = None
        try:
            again_s = self._feed()
        finally:
            with self._lock:
                self._is_served = False
                if again_s is None and self._has_news and not self._is_halted:
                    again_s = 0.0
                self._is_queued = again_s is not None
        return again_s

    @property
    def _is_halted(self) -> bool:
        return self.stopped or self.resting

    def _take(self, taken: tuple[HandedBatch, list[Piece]]) -> bool:
        """Give the sink a batch, or its changes one by one; say whether it took all of it."""
        courier, follower, sink = self._courier, self._follower, self._sink
        assert courier is not None and follower is not None
        handed, pieces = taken
        if isinstance(sink, BatchSink):
            rows = sum(map(len, pieces))
            seen = follower.seen if handed.batch == follower.first else 0
            if seen < rows:
                token = f"{handed.batch}:{rows}"
                sink.write(batch_table(pieces, handed.batch, handed.version), token)
                self._taken = token
                self.state.delivered += rows
            return True
        for change in courier.unpacked(follower, taken):
            if self._is_halted:
                return False
            sink(change)
            self._taken = change.token
            self.state.delivered += 1
        return True

    def _failed(self, error: Exception, went_on: bool) -> float:
        """Note, log and tell that the sink raised; give after how many seconds to try again."""
        self.state.failures += 1
        self.state.last_error = f"{type(error).__name__}: {error}"
        self._failed_in_a_row = 1 if went_on else self._failed_in_a_row + 1
        text = f"Sink {self.cursor} does not take changes ({self.state.last_error})"
        if monotonic() - self._logged_s >= LOGGED_EVERY_S:
            self._logged_s = monotonic()
            LOGGER.warning("%s; it is tried again", text)
        if self._failed_in_a_row == FAILURES_TOLD:
            self._tell(self.name, f"{text}, {FAILURES_TOLD} times in a row; what it misses waits.")
        return self._backoff.after_failure(went_on)

    def _feed(self) -> float | None:
        courier, follower = self._courier, self._follower
        assert courier is not None and follower is not None
        before = self.state.delivered
        try:
            while not self._is_halted:
                taken = courier.take(follower)
                if taken == "ended":
                    self.ended = True
                if taken is None or taken == "ended":
                    return None
                if not self._take(taken):
                    courier.go_back(follower, self._taken)
                    return None
                if self._failed_in_a_row:
                    if self._failed_in_a_row >= FAILURES_TOLD:
                        self._tell(self.name, f"Sink {self.cursor} takes changes again.")
                    self._failed_in_a_row = 0
                if not follower.inbox and follower.place is Progress.ABREAST:
                    return None  # whatever comes now is news
        except Exception as error:  # noqa: BLE001  # a sink is the user's code
            pause_s = self._failed(error, went_on=self.state.delivered > before)
            courier.go_back(follower, self._taken)
            return pause_s
        return None


class SinkPool:
    """Feeds all sinks of a home with as few threads as will do."""

    def __init__(self, cursors: Cursors, tell: Tell = lambda _name, _text: None) -> None:
        self.cursors = cursors
        self._tell = tell
        self.runners: list[SinkRunner] = []
        self._named: Counter[str] = Counter()
        self._ready: SimpleQueue[SinkRunner | None] = SimpleQueue()
        self._serving: dict[threading.Thread, SinkRunner | None] = {}
        self._later: list[tuple[float, int, SinkRunner]] = []
        self._numbers = count()
        self._lock = threading.Lock()
        self._keeper: threading.Thread | None = None
        self._closing = threading.Event()

    def add(self, name: str, sink: Sink | BatchSink, called: str | None = None) -> SinkRunner:
        """Add a sink of a subscription; it is fed from `begin` on, in every run.

        `called` is its name: its cursor is kept under it, and a sink of the same name takes its
        place. Sinks without a name are told apart by their class and by the order in which they
        come.
        """
        stem = f"{quote(name, safe='')}.{quote(called or type(sink).__name__, safe='')}"
        if called is None:
            self._named[stem] += 1
            stem = stem if self._named[stem] == 1 else f"{stem}-{self._named[stem]}"
        for before in [each for each in self.runners if each.cursor == stem]:
            before.stop()
            self.runners.remove(before)
        runner = SinkRunner(name, sink, stem, self._tell)
        self.runners.append(runner)
        return runner

    def begin(self, courier: Courier, runners: list[SinkRunner] | None = None) -> None:
        """Feed sinks from their cursors on: these, or all."""
        if self._keeper is None and self.runners:
            self._closing.clear()
            self._keeper = threading.Thread(target=self._keep, name="penstock-sinks", daemon=True)
            self._keeper.start()
            for _ in range(FREE_THREADS):
                self._join()
        for runner in list(self.runners if runners is None else runners):
            if runner.stopped:
                continue
            token = self.cursors.token(runner.cursor)
            runner.begin(courier, token, lambda own=runner: self._wake(own))  # type: ignore[misc]
            self._wake(runner)

    def finish(self, drain: bool, patience_s: float) -> None:
        """Let sinks end: with `drain` when they have all that is there, if they are not slow."""
        end_s = monotonic() + patience_s
        if self._keeper is not None:
            while drain and monotonic() < end_s:
                if all(runner.ended or runner.stopped for runner in self.runners):
                    break
                self._closing.wait(LOOK_S / 5)
            for runner in self.runners:
                runner.rest()
            self._closing.set()
            threads = [self._keeper, *self._serving]
            for _ in self._serving:
                self._ready.put(None)
            for thread in threads:
                thread.join(max(0.0, end_s - monotonic()))
            self._keep_cursors()
            self._tell_unfinished(patience_s)
        for runner in self.runners:
            runner.finish()
        self._keeper, self._ready, self._later = None, SimpleQueue(), []
        self._serving = {}

    def _tell_unfinished(self, patience_s: float) -> None:
        """Tell whose sinks have not taken all that this run found."""
        left = [each for each in self.runners if not (each.stopped or each.has_all)]
        for runner in left[:TOLD_AT_END_MAX]:
            text = (
                f"Sink {runner.cursor} had not taken everything when the run ended, within "
                f"{patience_s:g} s; the rest waits for the next run."
            )
            LOGGER.warning("%s", text)
            self._tell(runner.name, text)
        if len(left) > TOLD_AT_END_MAX:
            LOGGER.warning("So it is with %d more sinks", len(left) - TOLD_AT_END_MAX)

    def _wake(self, runner: SinkRunner) -> None:
        if runner.is_due():
            self._ready.put(runner)

    def _join(self) -> None:
        """Let another thread feed sinks."""
        thread = threading.Thread(
            target=self._work, args=(self._ready,), name="penstock-sink", daemon=True
        )
        self._serving[thread] = None
        thread.start()

    def _work(self, ready: SimpleQueue[SinkRunner | None]) -> None:
        me = threading.current_thread()
        serving = self._serving
        while (runner := ready.get()) is not None:
            serving[me] = runner
            again_s = runner.serve()
            serving[me] = None
            if again_s == 0.0:
                ready.put(runner)
            elif again_s is not None:
                with self._lock:
                    heappush(self._later, (monotonic() + again_s, next(self._numbers), runner))

    def _keep(self) -> None:
        """Bring back those that failed, keep the cursors, and see that no sink holds up others."""
        written_s = monotonic()
        before: dict[threading.Thread, tuple[SinkRunner | None, tuple[int, int] | None]] = {}
        while not self._closing.wait(LOOK_S):
            now_s = monotonic()
            with self._lock:
                while self._later and self._later[0][0] <= now_s:
                    self._ready.put(heappop(self._later)[2])
            if now_s - written_s >= CURSORS_EVERY_S:
                self._keep_cursors()
                written_s = now_s
            # A thread that is where it was at the last look is held up in a call of a sink.
            now = {
                thread: (runner, None if runner is None else runner.progress_mark)
                for thread, runner in list(self._serving.items())
            }
            held_up = [each for each in now if now[each][0] and before.get(each) == now[each]]
            before = now
            if not self._ready.empty():
                for _ in range(FREE_THREADS - (len(now) - len(held_up))):
                    self._join()

    def _keep_cursors(self) -> None:
        for runner in self.runners:
            if (token := runner.progress()) is not None:
                self.cursors.set(runner.cursor, token)
        self.cursors.write()
