"""The courier: one thread per home that reads each batch once and hands every follower its share.

A follower is a reader that goes on as batches come: an iterator or a sink. Nobody looks at files
again and again: when a batch is committed the courier is told, and wakes those for whom there is
something in it. Whoever is behind asks, and followers at the same batch are served together.

What was handed out and not yet taken is kept within a limit. Beyond it the oldest is let go, and
its followers are behind: they get it from the files when they ask. So a slow reader holds up
neither the engine nor another reader.

```
                 take() finds nothing                   a batch with changes is handed over
  busy ──────────────────────────────────▶ abreast ─────────────────────────────▶ abreast
   ▲  │ … and there are older batches        │ what waits for it is let go
   │  └──────────▶ behind ───────────┐       ▼
   └─── a batch with changes ◀───────┘     busy, at the batch that was let go
```
"""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import suppress
from enum import Enum
from typing import Any, Literal
from weakref import WeakKeyDictionary

from penstock.delivery.changes import ChangeReader, parse_token
from penstock.delivery.handed_batches import HandedBatch
from penstock.delivery.log import ResultLog
from penstock.delivery.shares import Shares
from penstock.delivery.slots import Claims, SlotTable
from penstock.vocabulary.errors import PenstockError

HELD_BYTES_MAX = 64 << 20
"""So much is kept of what was handed out and not taken; the newest batch always is."""
LOOK_S = 0.2
"""A pipeline that fails tells nobody: the courier looks so often whether it still runs."""


class Progress(Enum):
    """Where a follower stands."""

    BUSY = "busy"
    BEHIND = "behind"
    ABREAST = "abreast"
    ENDED = "ended"


class Follower:
    """One reader of one subscription, as the courier knows it; `wake` hears that there is news.

    `position` is the next batch that it has not been handed; `seen` counts the changes of its
    first batch that it had before. Batches that have a share for it wait in its inbox. `reader` is
    what its `wake` knows it by.
    """

    __slots__ = ("error", "first", "inbox", "name", "place", "position", "reader", "seen", "wake")

    def __init__(self, name: str, since: str | None, wake: Wake) -> None:
        self.name = name
        self.wake = wake
        self.reader: Any = None
        self.place = Progress.BUSY
        self.first, self.seen = parse_token(since)
        self.position = self.first
        self.inbox: deque[HandedBatch] = deque()
        self.error: Exception | None = None


Wake = Callable[[list[Follower]], None]
"""Told of followers for whom there is news: of all of its own at once."""
Taken = HandedBatch | Literal["ended"] | None


class Courier:
    """Hands the changes of a home's batches to its followers.

    Parameters
    ----------
    log, reader, claims
        The result log, how it is read, and whose the changes are.
    running
        Says whether more batches may come.
    """

    def __init__(
        self, log: ResultLog, reader: ChangeReader, claims: Claims, running: Callable[[], bool]
    ) -> None:
        self._log, self._reader, self._claims, self._running = log, reader, claims, running
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None
        self._followers: dict[str, list[Follower]] = {}
        self._behind: dict[int, set[Follower]] = {}
        self._rounds: dict[HandedBatch, list[Follower]] = {}
        self._held_bytes = 0
        self._newest = -1
        """The newest batch that is known to be committed."""
        self._handing = -1
        """The newest batch that those abreast were handed, or are just being handed."""
        self._handed = -1
        self._slots: tuple[object, SlotTable | None] = (None, None)
        self._of_slot: list[list[Follower]] = []
        self._joined = 0
        self.loops: WeakKeyDictionary[AbstractEventLoop, object] = WeakKeyDictionary()
        """The readers of every event loop: `penstock.delivery.change_iterators`."""

    # For the engine

    def committed(self, batch: int) -> None:
        """Hear that a batch is committed."""
        with self._news:
            self._newest = max(self._newest, batch)
            self._news.notify()

    # For followers

    def follow(self, name: str, since: str | None, wake: Wake) -> Follower:
        """Begin to follow a subscription, from a resume token on."""
        if since is None:
            since = f"{self._log.first()}:0"
        follower = Follower(name, since, wake)
        with self._news:
            self._followers.setdefault(name, []).append(follower)
            self._joined += 1
        return follower

    def take(self, follower: Follower) -> Taken:
        """Give a follower the next batch that has a share for it; None if it must wait."""
        (taken,) = self.take_all((follower,))
        if isinstance(taken, Exception):
            raise taken
        return taken

    def take_all(self, followers: Sequence[Follower]) -> list[Taken | Exception]:
        """Give many followers their next batches at once; an error is given, not raised."""
        with self._news:
            return list(map(self._take, followers))

    def _take(self, follower: Follower) -> Taken | Exception:
        if follower.inbox:
            handed = follower.inbox.popleft()
            handed.untaken -= 1
            if not handed.untaken:
                self._release(handed)
            return handed
        if follower.error is not None:
            error, follower.error = follower.error, None
            return error
        if follower.place is Progress.ENDED:
            return "ended"
        if follower.place is Progress.BUSY:
            self._start()
            follower.place = Progress.BEHIND
            self._settle({follower}, follower.position)
            self._news.notify()
        return None

    def go_back(self, follower: Follower, token: str | None) -> None:
        """Begin again behind a token: what was handed over since is handed over again."""
        with self._news:
            self._empty(follower, *parse_token(token))

    def tokens(self, followers: Sequence[Follower | None]) -> list[str | None]:
        """Give tokens behind all that was handed over, to those who have taken all of it."""
        with self._news:
            return [
                f"{max(self._handed + 1, each.position)}:0"
                if each is not None and self.is_abreast(each) and not each.inbox
                else None
                for each in followers
            ]

    def is_abreast(self, follower: Follower) -> bool:
        """Say whether nothing that is committed is still to come for a follower."""
        return follower.place is Progress.ABREAST or follower.place is Progress.ENDED

    def leave(self, follower: Follower) -> None:
        """Follow no more."""
        with self._news:
            self._empty(follower, follower.position, 0)
            follower.place = Progress.ENDED
            own = self._followers.get(follower.name, [])
            with suppress(ValueError):
                own.remove(follower)
            if not own:
                self._followers.pop(follower.name, None)
            self._joined += 1

    # The thread

    def _start(self) -> None:
        if self._thread is not None:
            return
        self._newest = max(self._newest, self._log.newest())
        self._handing = self._handed = self._newest
        self._thread = threading.Thread(target=self._run, name="penstock-courier", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            more = self._running()
            worked = self._hand_new()
            worked = self._hand_old() or worked
            if worked:
                continue
            with self._news:
                if self._newest > self._handing or self._behind:
                    continue
                if more and self._followers:
                    self._news.wait(LOOK_S)
                    continue
                self._newest = max(self._newest, self._log.newest())
                if self._newest > self._handing:
                    continue
                self._thread = None
                ended = self._all(Progress.ABREAST)
                for follower in ended:
                    follower.place = Progress.ENDED
            _wake(ended)
            return

    def _hand_new(self) -> bool:
        """Hand the next new batch to all who are abreast."""
        with self._news:
            if self._handing >= self._newest:
                return False
            self._handing += 1
            batch = self._handing
        self._hand(batch)
        with self._news:
            self._handed = batch
        return True

    def _hand_old(self) -> bool:
        """Hand the oldest batch that is asked for to all who ask for it."""
        with self._news:
            if not self._behind:
                return False
            batch = min(self._behind)
            asking = self._behind.pop(batch)
        asking.difference_update(self._hand(batch, asking))
        with self._news:
            self._settle(asking, batch + 1)
        return True

    def _hand(self, batch: int, asking: Set[Follower] | None = None) -> list[Follower]:
        """Read a batch; hand it to those who ask, or who are abreast, and have a share."""
        version, shares = self._read(batch, asking)
        woken: list[Follower] = []
        with self._news:
            handed = HandedBatch(batch, version, shares)
            abreast = Progress.ABREAST
            for own in self._receivers(shares):
                for follower in own:
                    meant = follower.place is abreast if asking is None else follower in asking
                    if meant and follower.position <= batch:
                        follower.inbox.append(handed)
                        follower.position = batch + 1
                        if follower.place is not abreast:
                            follower.place = Progress.BUSY
                        woken.append(follower)
            receivers, handed.untaken = woken.copy(), len(woken)
            for name, error in shares.unread.items():
                for follower in self._followers.get(name, ()):
                    meant = follower.place is abreast if asking is None else follower in asking
                    if meant and follower.position <= batch:
                        follower.error, follower.place = error, Progress.BUSY
                        follower.position = batch
                        woken.append(follower)
            if handed.untaken:
                self._rounds[handed] = receivers
                self._held_bytes += shares.nbytes
            while self._held_bytes > HELD_BYTES_MAX and len(self._rounds) > 1:
                self._let_go(next(iter(self._rounds)))
        _wake(woken)
        return woken

    def _read(self, batch: int, asking: Set[Follower] | None) -> tuple[int, Shares]:
        """Read a batch for all who want it; what fails is told to whom it concerns."""
        names = None if asking is None else {follower.name for follower in asking}
        wanted = None if names is None else names.__contains__
        try:
            slots = self._slot_table()
            if not slots.groups:
                return 0, Shares()
            logged = self._log.read(batch)
            if logged is None:
                raise PenstockError(
                    "DEL-003",
                    f"The manifest of batch {batch} is missing.",
                    "Restore the home directory from a copy; `penstock verify` names what is lost.",
                )
            shares = self._reader.shares(logged, slots, wanted)
        except Exception as raised:  # noqa: BLE001  # nobody else would tell those who wait
            failure = raised if isinstance(raised, PenstockError) else _unread(batch, raised)
            return 0, Shares(unread=dict.fromkeys(names or list(self._followers), failure))
        for group, error in shares.unread_groups.items():
            for name in names or list(self._followers):
                if any(own.group == group for own in self._claims.selections(name)):
                    shares.unread[name] = error
        return logged.version, shares

    def _slot_table(self) -> SlotTable:
        """Say whose slots are whose; made anew when queries or followers changed."""
        now, table = (self._claims.version, self._joined), self._slots[1]
        if table is None or self._slots[0] != now:
            table = SlotTable(self._claims, list(self._followers))
            self._slots, self._of_slot = (now, table), []
        return table

    # Under the lock

    def _receivers(self, shares: Shares) -> Iterable[list[Follower]]:
        """Give the followers of every piece; whoever has several pieces comes several times."""
        table, of_slot = self._slots[1], self._of_slot
        if table is None or not shares.slots:
            return ()
        of_slot += [self._followers.get(name, []) for name in table.names[len(of_slot) :]]
        slots = shares.slots
        if shares.unread:
            slots = [slot for slot in slots if table.names[slot] not in shares.unread]
        return map(of_slot.__getitem__, slots)

    def _settle(self, followers: set[Follower], position: int) -> None:
        """Put those who wait where they belong: behind, at a batch, or abreast."""
        if position > self._handing:
            for follower in followers:
                if follower.place is not Progress.ENDED:
                    follower.position, follower.place = position, Progress.ABREAST
        elif position in self._behind:
            self._behind[position] |= followers
        elif followers:
            # Many may be behind by many batches: where they are is said once for all.
            self._behind[position] = followers

    def _release(self, handed: HandedBatch) -> None:
        """Hold a batch no more that all have taken."""
        del self._rounds[handed]
        self._held_bytes -= handed.shares.nbytes

    def _let_go(self, handed: HandedBatch) -> None:
        """Forget a batch that some did not take; they get it again when they ask."""
        for follower in self._rounds[handed]:
            if handed in follower.inbox:
                self._empty(follower, handed.batch, None)

    def _empty(self, follower: Follower, batch: int, seen: int | None) -> None:
        """Take back what waits for a follower: it goes on at a batch."""
        while follower.inbox:
            handed = follower.inbox.popleft()
            handed.untaken -= 1
            if not handed.untaken:
                self._release(handed)
        for waiting in self._behind.values():
            waiting.discard(follower)
        follower.position, follower.place = batch, Progress.BUSY
        if seen is not None:
            follower.first, follower.seen = batch, seen

    def _all(self, place: Progress) -> list[Follower]:
        return [each for own in self._followers.values() for each in own if each.place is place]


def _unread(batch: int, error: Exception) -> PenstockError:
    fact = f"The results of batch {batch:,} cannot be read: {type(error).__name__}: {error}."
    remedy = "Go on from the last token; if it stays so, `penstock check` names damaged files."
    return PenstockError("DEL-015", fact, remedy)


def _wake(followers: list[Follower]) -> None:
    """Wake followers: whoever wakes many is told once, when all have their share."""
    told: dict[Wake, list[Follower]] = {}
    before, own = None, list[Follower]()
    for follower in followers:
        if follower.wake is not before:
            before = follower.wake
            own = told.setdefault(before, [])
        own.append(follower)
    for wake, own in told.items():
        wake(own)
