"""Sinks: consumers that the engine feeds.

A sink follows the result log with its own durable cursor. A slow one lags, a failing one is tried
again with growing pauses; neither is noticed by the pipeline or by another sink: a few threads feed
all sinks, and while some of these are held up in a sink, others join them.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Protocol
from urllib.parse import quote

from rich.console import Console

from penstock.delivery.changes import Change
from penstock.delivery.courier import Courier, Follower, Progress
from penstock.storage.disk import make_directory
from penstock.storage.files import read_json, write_json

PAUSE_FIRST_S = 0.1
PAUSE_LAST_S = 30.0
CURSORS_EVERY_S = 1.0
LOOK_S = 0.05
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


@dataclass(slots=True)
class SinkState:
    """How a sink fares."""

    delivered: int = 0
    failures: int = 0
    last_error: str | None = None


class Cursors:
    """How far the sinks of a home have read, in one file: there may be very many."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / "cursors.json"
        self._tokens: dict[str, str] = read_json(self._path) if self._path.exists() else {}
        self._written = dict(self._tokens)

    def token(self, cursor: str) -> str | None:
        """Give the token behind the last change that a sink took."""
        before = self._directory / f"{cursor}.json"  # where homes had it until version 0.1
        if cursor not in self._tokens and before.exists():
            self._tokens[cursor] = read_json(before)["token"]
        return self._tokens.get(cursor)

    def tokens(self) -> dict[str, str]:
        """Give the tokens of all sinks."""
        return dict(self._tokens)

    def set(self, cursor: str, token: str) -> None:
        """Note how far a sink has read."""
        self._tokens[cursor] = token

    def write(self) -> None:
        """Make durable what was noted."""
        if self._tokens != self._written:
            make_directory(self._directory)
            self._written = dict(self._tokens)
            write_json(self._path, self._written)


class SinkRunner:
    """Feeds one sink, from its cursor on, until stopped; `cursor` is its name among cursors."""

    def __init__(self, name: str, sink: Sink, cursor: str) -> None:
        self.name, self.cursor = name, cursor
        self.state = SinkState()
        self._sink = sink
        self._lock = threading.Lock()
        self._is_queued = self._is_served = self._has_news = False
        self._turns = 0
        self._pause_s = PAUSE_FIRST_S
        self._taken: str | None = None
        self._courier: Courier | None = None
        self._follower: Follower | None = None
        self.stopped = False
        self.ended = False
        """Whether it has all that will come."""

    def stop(self) -> None:
        """Stop after the change in hand."""
        self.stopped = True

    def begin(self, courier: Courier, since: str | None, wake: Callable[[], None]) -> None:
        """Follow the subscription from now on."""
        self._courier, self._taken = courier, since
        self._follower = courier.follow(self.name, since, wake)

    def finish(self) -> None:
        """Follow no more."""
        self.stopped = True
        if self._courier is not None and self._follower is not None:
            self._courier.leave(self._follower)

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
                if again_s is None and self._has_news and not self.stopped:
                    again_s = 0.0
                self._is_queued = again_s is not None
        return again_s

    def _feed(self) -> float | None:
        courier, follower = self._courier, self._follower
        assert courier is not None and follower is not None
        before = self.state.delivered
        try:
            while not self.stopped:
                taken = courier.take(follower)
                if taken == "ended":
                    self.ended = True
                if taken is None or taken == "ended":
                    return None
                for change in courier.unpacked(follower, taken):
                    if self.stopped:
                        courier.go_back(follower, self._taken)
                        return None
                    self._sink(change)
                    self._taken = change.token
                    self.state.delivered += 1
                if not follower.inbox and follower.place is Progress.ABREAST:
                    return None  # whatever comes now is news
        except Exception as error:  # noqa: BLE001  # a sink is the user's code
            self.state.failures += 1
            self.state.last_error = f"{type(error).__name__}: {error}"
            went_on = self.state.delivered > before
            self._pause_s = PAUSE_FIRST_S if went_on else min(2 * self._pause_s, PAUSE_LAST_S)
            courier.go_back(follower, self._taken)
            return self._pause_s
        return None


class SinkPool:
    """Feeds all sinks of a home with as few threads as will do."""

    def __init__(self, cursors: Cursors) -> None:
        self.cursors = cursors
        self.runners: list[SinkRunner] = []
        self._named: Counter[str] = Counter()
        self._ready: SimpleQueue[SinkRunner | None] = SimpleQueue()
        self._serving: dict[threading.Thread, SinkRunner | None] = {}
        self._later: list[tuple[float, int, SinkRunner]] = []
        self._numbers = count()
        self._lock = threading.Lock()
        self._keeper: threading.Thread | None = None
        self._closing = threading.Event()

    def add(self, name: str, sink: Sink) -> SinkRunner:
        """Add a sink of a subscription; it is fed from `begin` on."""
        stem = f"{quote(name, safe='')}.{type(sink).__name__}"
        # Sinks of one class are told apart by the order in which they come, in every run.
        self._named[stem] += 1
        number = self._named[stem]
        runner = SinkRunner(name, sink, stem if number == 1 else f"{stem}-{number}")
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
        for runner in self.runners if runners is None else runners:
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
                runner.stop()
            self._closing.set()
            threads = [self._keeper, *self._serving]
            for _ in self._serving:
                self._ready.put(None)
            for thread in threads:
                thread.join(max(0.0, end_s - monotonic()))
            self._keep_cursors()
        for runner in self.runners:
            runner.finish()
        self.runners.clear()
        self._named.clear()
        self._keeper, self._ready, self._later = None, SimpleQueue(), []
        self._serving = {}

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
