"""Iterators over changes: for a thread of its own, and for very many readers in an event loop.

A thread that waits is dear, and a program has few of them. In an event loop all readers together
are woken once for a batch; those for whom it has nothing do not hear of it.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress

from penstock.delivery.changes import Change
from penstock.delivery.courier import LOOK_S, Courier, Follower, Wake
from penstock.delivery.handed_batches import HandedBatch
from penstock.delivery.loop_news import LoopNews


class ChangeIterator:
    """Changes one by one: `for change in …`, or `async for change in …` inside an event loop."""

    def __init__(
        self, plain: Callable[[], Iterator[Change]], in_loop: Callable[[], AsyncIterator[Change]]
    ) -> None:
        self._plain, self._in_loop = plain, in_loop
        self._begun: Iterator[Change] | None = None

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        if self._begun is None:
            self._begun = self._plain()
        return next(self._begun)

    def __aiter__(self) -> AsyncIterator[Change]:
        return self._in_loop()

    def close(self) -> None:
        """Read no more."""
        close = getattr(self._begun, "close", None)
        if close is not None:
            close()


def unpacked(follower: Follower, handed: HandedBatch) -> Iterable[Change]:
    """Give a follower's changes in a batch that it took, behind those that it had before."""
    seen = follower.seen if handed.batch == follower.first else 0
    return handed.changes(follower.name, seen)


def followed(
    courier: Courier,
    name: str,
    since: str | None,
    timeout_s: float | None = None,
    at_end: Callable[[], None] = lambda: None,
) -> ChangeIterator:
    """Follow a subscription change by change.

    Ends with the pipeline, or when `timeout_s` seconds have passed without a change; `at_end` is
    called then, and may raise what ended the pipeline.
    """
    return ChangeIterator(
        lambda: _in_thread(courier, name, since, timeout_s, at_end),
        lambda: _in_loop(courier, name, since, timeout_s, at_end),
    )


def _in_thread(
    courier: Courier,
    name: str,
    since: str | None,
    timeout_s: float | None,
    at_end: Callable[[], None],
) -> Iterator[Change]:
    news = threading.Event()
    follower = courier.follow(name, since, lambda _: news.set())
    try:
        while True:
            news.clear()
            taken = courier.take(follower)
            if taken == "ended":
                break
            if taken is not None:
                yield from unpacked(follower, taken)
            else:
                # The time counts from when there is nothing left to read.
                is_abreast = courier.is_abreast(follower)
                if not news.wait(timeout_s if is_abreast else LOOK_S) and is_abreast:
                    break
    finally:
        courier.leave(follower)
    at_end()


async def _in_loop(
    courier: Courier,
    name: str,
    since: str | None,
    timeout_s: float | None,
    at_end: Callable[[], None],
) -> AsyncIterator[Change]:
    readers = LoopReaders.here(courier)
    follower = courier.follow(name, since, readers.wake)
    news = follower.reader = LoopNews(asyncio.get_running_loop())
    try:
        while True:
            is_abreast = courier.is_abreast(follower)
            # What comes from now on is told by a call of this loop, which cannot come in between.
            taken = courier.take(follower) if follower.inbox or not is_abreast else None
            if taken is None:
                patience_s = timeout_s if is_abreast else LOOK_S
                taken = await (news if patience_s is None else news.within(patience_s))
            if isinstance(taken, HandedBatch):
                for change in unpacked(follower, taken):
                    yield change
            elif taken == "ended" or is_abreast:
                break
    finally:
        follower.reader = None
        courier.leave(follower)
    at_end()


class LoopReaders:
    """The readers of one event loop: what a batch has for them is taken at once for all."""

    def __init__(self, courier: Courier, loop: asyncio.AbstractEventLoop) -> None:
        self._courier = courier
        self._loop = weakref.ref(loop)
        self.wake: Wake = self._wake
        """One for all of them: so they are told together."""

    @classmethod
    def here(cls, courier: Courier) -> LoopReaders:
        """Give those of the loop that runs in this thread."""
        loop = asyncio.get_running_loop()
        readers = courier.loops.get(loop)
        if not isinstance(readers, cls):
            readers = courier.loops[loop] = cls(courier, loop)
        return readers

    def _wake(self, followers: list[Follower]) -> None:
        """Hear, in the courier's thread, that there is news."""
        if (loop := self._loop()) is not None:
            with suppress(RuntimeError):  # the loop is closed, and its readers with it
                loop.call_soon_threadsafe(self._hand, followers)

    def _hand(self, followers: list[Follower]) -> None:
        own = [each for each in followers if each.reader is not None and each.reader.is_awaited]
        for follower, taken in zip(own, self._courier.take_all(own), strict=True):
            if taken is not None and (news := follower.reader) is not None:
                news.tell(taken)
