"""Sinks: consumers that the engine feeds.

A sink follows the result log with its own durable cursor, run after run. A slow one lags, a failing
one is tried again with growing pauses; neither is noticed by the pipeline or by another sink: a few
threads feed all sinks, and while some of these are held up in a sink, others join them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

from rich.console import Console

from penstock.delivery.batch_tables import batch_table
from penstock.delivery.change_iterators import unpacked
from penstock.delivery.change_texts import line_of
from penstock.delivery.changes import Change
from penstock.delivery.courier import Courier, Follower, Progress, Taken, Wake
from penstock.delivery.handed_batches import HandedBatch
from penstock.delivery.log_files import ResultsExpiredError
from penstock.delivery.sink_kinds import BatchSink

PAUSE_FIRST_S = 0.1
PAUSE_LAST_S = 30.0
FAILURES_TOLD = 3
"""A sink that fails so often in a row is told of; and then when it takes changes again."""
LOGGED_EVERY_S = 30.0
LOGGER = logging.getLogger("penstock.delivery")


class Sink(Protocol):
    """Takes changes one by one; raising means "not taken, try again later"."""

    def __call__(self, change: Change, /) -> None:
        """Take one change."""


class ConsoleSink:
    """Prints changes, one per line."""

    def __init__(self, title: str = "", console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console(highlight=False)

    def __call__(self, change: Change) -> None:
        """Print one change."""
        # A change is one line, also in a pipe that has no width.
        self._console.print(line_of(change, self._title), markup=False, soft_wrap=True)


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
    skipped_batches: int = 0
    """Batches that were no longer kept when the sink came to them."""


class SinkRunner:
    """Feeds one sink, from its cursor on, until stopped; `cursor` is its name among cursors."""

    def __init__(
        self,
        name: str,
        sink: Sink | BatchSink,
        cursor: str,
        lock: threading.Lock,
        tell: Tell = lambda _name, _text: None,
    ) -> None:
        self.name, self.cursor = name, cursor
        self._lock, self._tell = lock, tell
        self._failed_in_a_row = 0
        self._logged_s = float("-inf")
        self.state = SinkState()
        # Whether something keeps a protocol is slow to ask.
        self._batches = sink if isinstance(sink, BatchSink) else None
        self._changes = None if isinstance(sink, BatchSink) else sink
        self._asks = True
        """Whether its sink may have lost batches, and is asked before it is given the next."""
        self._back_from: int | None = None
        """The batch from which it went back to what its sink lacked."""
        self.is_busy = False
        """Whether somebody feeds it, or is about to: it is in a pile, or waits to be tried again.
        This and what follows change under the lock, which all sinks share."""
        self.has_news = False
        """Whether something came since what waits for it was taken."""
        self._is_served = False
        self.turns = 0
        """How often it was served."""
        self._backoff = Backoff()
        self._taken: str | None = None
        self._courier: Courier | None = None
        self.follower: Follower | None = None
        """How the courier knows it, in a run."""
        self.share: Taken | Exception = None
        """What was taken for it, and waits in a pile until it is served."""
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
        courier, follower = self._courier, self.follower
        if courier is None or follower is None or self.ended:
            return True
        return courier.is_abreast(follower) and not follower.inbox and not self.is_busy

    def begin(self, courier: Courier, since: str | None, wake: Wake) -> Follower:
        """Follow the subscription from now on."""
        self._courier, self._taken = courier, since
        self.resting = self.ended = False
        self._asks, self._back_from = True, None
        self.is_busy = self.has_news = False
        self.share = None
        self.follower = courier.follow(self.name, since, wake)
        return self.follower

    def finish(self) -> None:
        """Follow no more, until the next run."""
        self.resting = True
        if self._courier is not None and self.follower is not None:
            self._courier.leave(self.follower)
        close = getattr(self._batches, "close", None)
        if close is not None and not self._is_served:
            try:
                close()
            except Exception:  # a sink is the user's code
                LOGGER.exception("Sink %s could not be closed", self.cursor)

    def progress(self, token: str | None, turns: int) -> str | None:
        """Give the token behind all that the sink has taken, and that was not for it.

        `token` is what the courier said of it when it had been served `turns` times.
        """
        with self._lock:
            is_still = not self.is_busy and turns == self.turns
            return token if token is not None and is_still else self._taken

    @property
    def progress_mark(self) -> tuple[int, int]:
        """What changes with every change that the sink takes, and every time it is served."""
        return self.turns, self.state.delivered

    def serve(self) -> float | None:
        """Feed the share that was taken for the sink, and what comes behind it.

        Gives after how many seconds to serve it again, if so.
        """
        taken, self.share = self.share, None
        self._is_served = True
        self.turns += 1
        again_s = None
        try:
            again_s = self._feed(taken)
        finally:
            self._is_served = False
            with self._lock:
                if again_s is None and self.has_news and not self._is_halted:
                    again_s = 0.0
                self.is_busy = again_s is not None
        return again_s

    @property
    def _is_halted(self) -> bool:
        return self.stopped or self.resting

    def _goes_back(self, handed: HandedBatch) -> bool:
        """Ask a sink that can say so whether it has lost batches; go back to the first of them."""
        if (ask := getattr(self._batches, "stands_behind", None)) is None:
            return False
        table = batch_table(handed.shares.pieces(self.name), handed.batch, handed.version)
        behind: int | None = ask(table, f"{handed.batch}:{table.num_rows}")
        if behind is None or behind + 1 >= handed.batch:
            return False
        self._back_from, self._taken = handed.batch, f"{behind + 1}:0"
        assert self._courier is not None and self.follower is not None
        self._courier.go_back(self.follower, self._taken)
        return True

    def _take(self, handed: HandedBatch) -> bool:
        """Give the sink a batch, or its changes one by one; say whether it took all of it."""
        follower = self.follower
        assert follower is not None
        if self._batches is not None:
            pieces = handed.shares.pieces(self.name)
            rows = sum(map(len, pieces))
            seen = follower.seen if handed.batch == follower.first else 0
            if seen < rows:
                token = f"{handed.batch}:{rows}"
                self._batches.write(batch_table(pieces, handed.batch, handed.version), token)
                self._taken = token
                self.state.delivered += rows
            return True
        take, state = self._changes, self.state
        assert take is not None
        for change in unpacked(follower, handed):
            if self.stopped or self.resting:
                return False
            take(change)
            self._taken = change.token
            state.delivered += 1
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

    def _skip(self, error: ResultsExpiredError) -> None:
        """Go on with what is kept, and say what the sink was not given."""
        self.state.skipped_batches += error.first - error.batch
        text = (
            f"Sink {self.cursor} was not given batches {error.batch:,} to {error.first - 1:,}: "
            "their results are no longer kept. KEEP … UNTIL READ waits for sinks."
        )
        LOGGER.warning(text)
        self._tell(self.name, text)
        self._taken = f"{error.first}:0"

    def _feed(self, taken: Taken | Exception) -> float | None:
        courier, follower = self._courier, self.follower
        assert courier is not None and follower is not None
        before = self.state.delivered
        try:
            while True:
                if not isinstance(taken, HandedBatch):
                    if isinstance(taken, Exception):
                        raise taken
                    self.ended = self.ended or taken == "ended"
                    return None
                if self._asks and not self._is_halted:
                    is_back = self._goes_back(taken)
                    self._asks = False
                    if is_back:
                        return 0.0
                if self._is_halted or not self._take(taken):
                    courier.go_back(follower, self._taken)
                    return None
                self._back_from = None
                if self._failed_in_a_row:
                    if self._failed_in_a_row >= FAILURES_TOLD:
                        self._tell(self.name, f"Sink {self.cursor} takes changes again.")
                    self._failed_in_a_row = 0
                if not follower.inbox and follower.place is Progress.ABREAST:
                    return None  # whatever comes now is news
                taken = courier.take(follower)
        except ResultsExpiredError as error:
            if self._back_from is None:
                self._skip(error)
            else:  # whether there was anything is not known
                self._taken = f"{min(error.first, self._back_from)}:0"
            courier.go_back(follower, self._taken)
            return 0.0
        except Exception as error:  # noqa: BLE001  # a sink is the user's code
            self._asks, self._back_from = True, None
            pause_s = self._failed(error, went_on=self.state.delivered > before)
            courier.go_back(follower, self._taken)
            return pause_s
