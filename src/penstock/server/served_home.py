"""The home that is served: read beside the engine that may run it, and followed batch by batch."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from penstock.delivery.changes import ChangeReader, parse_token
from penstock.delivery.courier import Courier, Follower
from penstock.delivery.handed_batches import HandedBatch
from penstock.delivery.log import ResultLog
from penstock.engine import Desk
from penstock.engine.figures import BATCHES, EVENTS, GROUPS, MATCHES, SUBSCRIPTIONS
from penstock.engine.registration import record_of
from penstock.operators.catalogue import figures_of
from penstock.server.batches import ServedBatch
from penstock.server.feeds import Feed
from penstock.server.refusals import own_failure, too_busy, unreadable_home
from penstock.vocabulary.errors import PenstockError
from penstock.vocabulary.figure_tables import FigureTable, merged, together
from penstock.vocabulary.figures import Tally

LOG = logging.getLogger("penstock.server")
LOOK_S = 0.05
"""So often is the log looked at for a new batch."""
SEEN_EVERY = 10
"""Every so many looks it is seen who was dropped and what was revoked."""
SCANNED_MAX = 256
"""So many batches are looked through at once for those who begin further back."""
VISITS_MAX = 64
"""So many requests wait for the home or for its engine."""
FEED_BYTES_MAX = 4 << 20
FEED_BATCHES_MAX = 1_024
"""So much of a subscription is kept for its clients: who lags further is cut off."""

Value = TypeVar("Value")


class ServedHome:
    """A home for the clients of a server; `seen` is called now and then, in the event loop."""

    def __init__(self, path: Path, seen: Callable[[], None]) -> None:
        self.desk = Desk(path, read_only=True)
        self.path = self.desk.home.path
        self.newest = self.desk.log.newest()
        self.failure: PenstockError | None = None
        """Why the log cannot be followed, if it cannot."""
        self._told, self._counted = FigureTable(), Tally()
        self._seen = seen
        self._closing, self._looking = threading.Event(), threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._feeds: dict[str, Feed] = {}
        self._followers: dict[Follower, Feed] = {}
        readers = self.desk.readers
        self._courier = Courier(
            readers.log, readers.reader, readers.claims, lambda: not self._closing.is_set()
        )
        # Whoever reads far back has a reader and a thread of their own: others need not wait.
        self._log = ResultLog(self.path / "results")
        self._reader = ChangeReader(self._log, lambda _name, _batch, _count: None)
        self._back = ThreadPoolExecutor(1, "penstock-back")
        self._work = ThreadPoolExecutor(4, "penstock-work")
        self._visits, self._visiting = ThreadPoolExecutor(1, "penstock-visits"), 0
        self._looker = threading.Thread(
            target=self._go_on_looking, name="penstock-looker", daemon=True
        )
        self._looker.start()

    async def do(self, work: Callable[[], Value]) -> Value:
        """Do what may wait for files, in a thread."""
        return await self._loop.run_in_executor(self._work, work)

    async def visit(self, work: Callable[[], Value]) -> Value:
        """Do what opens the home or asks its engine: one after the other, and not too many."""
        if self._visiting >= VISITS_MAX:
            raise too_busy(VISITS_MAX)
        self._visiting += 1
        try:
            return await self._loop.run_in_executor(self._visits, work)
        finally:
            self._visiting -= 1

    async def close(self) -> None:
        """Follow no more."""
        self._closing.set()
        for feed in list(self._feeds.values()):
            feed.end(None)
        await asyncio.to_thread(self._looker.join)
        for pool in (self._work, self._visits, self._back):
            pool.shutdown(wait=False, cancel_futures=True)
        self.desk.close()

    # Clients

    async def feed(self, name: str) -> Feed:
        """Give the feed of a subscription, to be left; it begins when its first client comes."""
        found = self._standing_feed(name)
        if found is None:
            newest = await self.do(self.look)
            found = self._standing_feed(name)
            if found is None:
                return await self._begin(name, newest)
        found.users += 1
        return found

    async def _begin(self, name: str, newest: int) -> Feed:
        found = Feed(name, newest + 1, self._read_on, FEED_BYTES_MAX, FEED_BATCHES_MAX)
        found.users += 1
        self._feeds[name] = found
        follower = self._courier.follow(name, f"{newest + 1}:0", self._hear)
        self._followers[follower] = found
        await self.do(lambda: self._courier.take(follower))
        return found

    def _standing_feed(self, name: str) -> Feed | None:
        found = self._feeds.get(name)
        return None if found is None or found.is_over else found

    def leave(self, feed: Feed) -> None:
        """Leave a feed; it goes with the last who has it."""
        feed.users -= 1
        if feed.users:
            return
        if self._feeds.get(feed.name) is feed:
            del self._feeds[feed.name]
        for follower in [own for own, of in self._followers.items() if of is feed]:
            del self._followers[follower]
            self._courier.leave(follower)

    def first(self, name: str, id_: str | None) -> int:
        """Give the first batch that is kept; refuse a subscription or an id that does not stand."""
        record_of(self.desk.registry, name)
        if id_ is not None:
            self.desk.readers.changes(name, None, follow=False, timeout_s=None, ids=[id_])
        return self.desk.log.first()

    def figures(self) -> FigureTable:
        """Give what batches told since the server began, and what stands."""
        counts = self.desk.registry.counts()
        stands = Tally({each: counts[each.name] for each in (SUBSCRIPTIONS, GROUPS)})
        return together([self._told, FigureTable({"": self._counted}), FigureTable({"": stands})])

    # Threads

    def look(self) -> int:
        """See which batches came, and tell the courier; gives the newest."""
        with self._looking:
            while self._take_next():
                pass
            return self.newest

    def _go_on_looking(self) -> None:
        looks = 0
        while not self._closing.wait(LOOK_S):
            looks += 1
            try:
                self.look()
                if looks % SEEN_EVERY == 0:
                    self._see()
                self.failure = None
            except RuntimeError:  # the event loop has ended
                return
            except Exception as error:  # too many open files, for example
                if self.failure is None:
                    LOG.exception("The home cannot be followed")
                self.failure = error if isinstance(error, PenstockError) else unreadable_home()

    def _take_next(self) -> bool:
        batch = self.newest + 1
        logged = self.desk.log.committed(batch)
        if logged is None:
            return self._pass_over(batch)
        self.desk.registry.refresh()  # its version is there: the batch ran under it
        self._told = self._told.then(
            merged(told for _, told in self.desk.log.figures(batch, figures_of))
        )
        counted = Tally({EVENTS: logged.rows_in, MATCHES: logged.matches, BATCHES: 1})
        counted.add(self._counted)
        self._counted = counted
        self.newest = batch
        self._courier.committed(batch)
        return True

    def _pass_over(self, batch: int) -> bool:
        """Go on with what is kept, if batches went before they were seen; say whether they did."""
        first = self.desk.log.first()
        if first <= batch:
            return False
        LOG.warning(
            "Batches %d to %d went before the server saw them: it lagged behind what is kept. Its "
            "figures leave them out, and clients that wait for them are told.", batch, first - 1,
        )  # fmt: skip
        self.newest = first - 1
        return True

    def _see(self) -> None:
        registry = self.desk.registry
        registry.refresh()
        for name in [each for each in list(self._feeds) if each not in registry.subscriptions]:
            dropped = PenstockError(
                "REG-001", f"The subscription {name!r} was dropped.", "Follow another."
            )
            self._loop.call_soon_threadsafe(self._end, name, dropped)
        followers = list(self._followers.items())
        tokens = self._courier.tokens([follower for follower, _ in followers])
        for (_, feed), token in zip(followers, tokens, strict=True):
            # Asked after the token: what was taken before it is in the loop before what follows.
            if token is not None and not feed.is_being_fed:
                self._loop.call_soon_threadsafe(feed.advance, parse_token(token)[0])
        self._loop.call_soon_threadsafe(self._seen)

    def _hear(self, followers: list[Follower]) -> None:
        """Take what the courier has for some feeds; in the courier's thread."""
        for follower in followers:
            feed = self._followers.get(follower)
            if feed is None:
                continue
            feed.is_being_fed = True
            try:
                while isinstance(taken := self._courier.take(follower), HandedBatch):
                    pieces = taken.shares.pieces(feed.name)
                    wanted = list(feed.wanted)
                    served = ServedBatch.of_pieces(pieces, taken.batch, taken.version, wanted)
                    self._loop.call_soon_threadsafe(feed.publish, served)
            except PenstockError as error:
                self._loop.call_soon_threadsafe(feed.end, error)
            except Exception:  # told to those who have it open, and to nobody else
                LOG.exception("The subscription %s cannot be followed", feed.name)
                self._loop.call_soon_threadsafe(feed.end, own_failure())
            finally:
                feed.is_being_fed = False

    def _end(self, name: str, error: PenstockError) -> None:
        if name in self._feeds:
            self._feeds[name].end(error)

    async def _read_on(self, name: str, start: int, stop: int) -> tuple[ServedBatch | None, int]:
        def read() -> tuple[ServedBatch | None, int]:
            selections = self.desk.readers.claims.selections(name)
            upto = min(stop, start + SCANNED_MAX)
            for number in range(start, upto):
                if (logged := self._log.read(number)) is None:
                    raise PenstockError(
                        "DEL-003",
                        f"The manifest of batch {number} is missing.",
                        "Restore the home directory from a copy; `penstock check` names all such "
                        "files.",
                    )
                if pieces := self._reader.pieces(logged, selections):
                    return ServedBatch.of_pieces(pieces, number, logged.version), number + 1
            return None, upto

        return await self._loop.run_in_executor(self._back, read)
