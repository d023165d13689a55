"""The pool: a few threads that feed all sinks of a home.

Very many sinks may have news at once. Threads take them by the pile; of a thread that is held up in
a sink, the keeper gives the rest of the pile to others.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from queue import SimpleQueue
from time import monotonic

from penstock.delivery.courier import Courier, Follower
from penstock.delivery.cursors import HOME, PROCESS, Cursors, cursor_of
from penstock.delivery.sink_kinds import BatchSink
from penstock.delivery.sinks import LOGGER, Sink, SinkRunner, Tell
from penstock.vocabulary.errors import PenstockError

CURSORS_EVERY_S = 1.0
CURSORS_SHARE = 50
"""Writing them may take one part in so many of the time."""
LOOK_S = 0.05
FREE_THREADS = 2
"""So many threads should be free to feed sinks that take what they get."""
PILE_MAX = 256
TOLD_AT_END_MAX = 20


class SinkPool:
    """Feeds all sinks of a home with as few threads as will do."""

    def __init__(self, cursors: Cursors, tell: Tell = lambda _name, _text: None) -> None:
        self.cursors = cursors
        self._tell = tell
        self._runners: dict[str, SinkRunner] = {}
        self._keeping = threading.Lock()
        self._named: dict[str, Counter[str]] = {}
        self._ready: SimpleQueue[deque[SinkRunner] | None] = SimpleQueue()
        self._courier: Courier | None = None
        self._waker = self._wake
        """One for all sinks: so they are woken together."""
        self._piles: dict[threading.Thread, deque[SinkRunner]] = {}
        self._serving: dict[threading.Thread, SinkRunner | None] = {}
        self._later: list[tuple[float, int, SinkRunner]] = []
        self._numbers = count()
        self._lock = threading.Lock()
        self._keeper: threading.Thread | None = None
        self._closing = threading.Event()
        self._unkept: str | None = None
        """Why cursors could not be written when that was tried last."""

    @property
    def runners(self) -> list[SinkRunner]:
        """All sinks that were added and not removed."""
        return list(self._runners.values())

    def add(
        self, name: str, sink: Sink | BatchSink, called: str | None = None, kind: str = PROCESS
    ) -> SinkRunner:
        """Add a sink of a subscription; it is fed from `begin` on, in every run.

        `called` is its name: its cursor is kept under it, and a sink of the same name takes its
        place. Sinks without a name are told apart by their class and by the order in which they
        come.
        """
        cursor = cursor_of(name, called or type(sink).__name__, kind)
        if called is None:
            named = self._named.setdefault(name, Counter())
            named[cursor] += 1
            cursor = cursor if named[cursor] == 1 else f"{cursor}-{named[cursor]}"
        for before in (cursor, cursor.replace(HOME, PROCESS, 1)):
            if (found := self._runners.pop(before, None)) is not None:
                found.stop()
        self._runners[cursor] = SinkRunner(name, sink, cursor, self._lock, self._tell)
        return self._runners[cursor]

    def runner(self, cursor: str) -> SinkRunner | None:
        """Give the sink with a cursor, if it was added and not stopped."""
        found = self._runners.get(cursor)
        return None if found is None or found.stopped else found

    def remove(self, cursor: str) -> None:
        """Feed a sink no more, and forget how far it has read."""
        with self._keeping:
            runner = self._runners.pop(cursor, None)
            if runner is not None:
                runner.stop()
                runner.finish()
                if runner.follower is not None:
                    runner.follower.reader = None
            self.cursors.forget(cursor)
            self.cursors.write()

    def let_go(self, stands: Callable[[str], bool]) -> None:
        """Forget the sinks of subscriptions that stand no more, once they have what was found."""
        gone = {own.name for own in self.runners if not stands(own.name) and own.has_all}
        for runner in self.runners:
            if runner.name in gone and runner.has_all:
                self.remove(runner.cursor)
        left = {runner.name for runner in self.runners}
        for name in gone - left:
            self._named.pop(name, None)

    def begin(self, courier: Courier, runners: list[SinkRunner] | None = None) -> None:
        """Feed sinks from their cursors on: these, or all."""
        self._courier = courier
        if self._keeper is None and self._runners:
            self._closing.clear()
            self._keeper = threading.Thread(target=self._keep, name="penstock-sinks", daemon=True)
            self._keeper.start()
            for _ in range(FREE_THREADS):
                self._join()
        for runner in self.runners if runners is None else runners:
            if runner.stopped:
                continue
            token = self.cursors.token(runner.cursor)
            follower = runner.begin(courier, token, self._waker)
            follower.reader = runner
            self._wake([follower])

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
        self._piles = {}
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

    def _wake(self, followers: list[Follower]) -> None:
        """Let sinks be fed; very many have news at once, and threads take them by the pile."""
        due: list[SinkRunner] = []
        with self._lock:
            for follower in followers:
                runner: SinkRunner | None = follower.reader
                if runner is not None:
                    if runner.is_busy:
                        runner.has_news = True
                    else:
                        runner.is_busy = True
                        due.append(runner)
        for start in range(0, len(due), PILE_MAX):
            self._ready.put(deque(due[start : start + PILE_MAX]))

    def _join(self) -> None:
        """Let another thread feed sinks."""
        thread = threading.Thread(
            target=self._work, args=(self._ready,), name="penstock-sink", daemon=True
        )
        self._serving[thread] = None
        thread.start()

    def _work(self, ready: SimpleQueue[deque[SinkRunner] | None]) -> None:
        me = threading.current_thread()
        serving, piles = self._serving, self._piles
        while (pile := ready.get()) is not None:
            self._take_for(list(pile))
            piles[me] = pile
            while pile:
                try:
                    runner = pile.popleft()
                except IndexError:  # the keeper took the rest for others
                    break
                serving[me] = runner
                again_s = runner.serve()
                serving[me] = None
                if again_s == 0.0:
                    self._take_for([runner])
                    pile.append(runner)
                elif again_s is not None:
                    with self._lock:
                        heappush(self._later, (monotonic() + again_s, next(self._numbers), runner))

    def _take_for(self, pile: list[SinkRunner]) -> None:
        """Take at once what has come for the sinks of a pile, unless it was taken."""
        assert self._courier is not None
        asking, followers = [], []
        for runner in pile:
            if runner.share is None and runner.follower is not None:
                runner.has_news = False
                asking.append(runner)
                followers.append(runner.follower)
        for runner, taken in zip(asking, self._courier.take_all(followers), strict=True):
            runner.share = taken

    def _keep(self) -> None:
        """Bring back those that failed, keep the cursors, and see that no sink holds up others."""
        due_s = monotonic() + CURSORS_EVERY_S
        before: dict[threading.Thread, tuple[SinkRunner | None, tuple[int, int] | None]] = {}
        while not self._closing.wait(LOOK_S):
            now_s = monotonic()
            with self._lock:
                while self._later and self._later[0][0] <= now_s:
                    self._ready.put(deque([heappop(self._later)[2]]))
            if now_s >= due_s:
                self._keep_cursors()
                # Very many cursors take their time: no more than a small part of it all.
                due_s = monotonic() + max(CURSORS_EVERY_S, CURSORS_SHARE * (monotonic() - now_s))
            # A thread that is where it was at the last look is held up in a call of a sink.
            now = {
                thread: (runner, None if runner is None else runner.progress_mark)
                for thread, runner in list(self._serving.items())
            }
            held_up = [each for each in now if now[each][0] and before.get(each) == now[each]]
            before = now
            for thread in held_up:
                self._take_pile(thread)
            if not self._ready.empty():
                for _ in range(FREE_THREADS - (len(now) - len(held_up))):
                    self._join()

    def _take_pile(self, thread: threading.Thread) -> None:
        """Give to others what a thread that is held up would have fed next."""
        pile, rest = self._piles.get(thread), deque[SinkRunner]()
        with suppress(IndexError):
            while pile:
                rest.append(pile.popleft())
        if rest:
            self._ready.put(rest)

    def _keep_cursors(self) -> None:
        with self._keeping:
            runners = self.runners
            turns = [runner.turns for runner in runners]
            followers = [runner.follower for runner in runners]
            at = self._courier
            tokens = [None] * len(runners) if at is None else at.tokens(followers)
            for runner, token, turn in zip(runners, tokens, turns, strict=True):
                if (behind := runner.progress(token, turn)) is not None:
                    self.cursors.set(runner.cursor, behind)
            try:
                self.cursors.write()
            except (OSError, PenstockError) as error:  # a full disk: it is tried again
                fact = error.fact if isinstance(error, PenstockError) else f"{error!r}."
                if fact != self._unkept:
                    self._unkept = fact
                    text = f"How far sinks have read cannot be kept: {fact} It is tried again."
                    LOGGER.warning("%s", text)
                    self._tell("", text)
            else:
                self._unkept = None
