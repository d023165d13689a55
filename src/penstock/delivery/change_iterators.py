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

from penstock.delivery.changes import Change, changes_in
from penstock.delivery.courier import LOOK_S, Courier, Follower, HandedBatch, Wake
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
    batch = handed.batch
    seen = follower.seen if batch == follower.first else 0
    return changes_in(handed.shares, follower.name, batch, handed.version, seen)


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
    news = readers.news(follower)
    try:
        while True:
            is_abreast = courier.is_abreast(follower)
            # What comes from now on is told by a call of this loop, which cannot come in between.
            taken = courier.take(follower) if follower.inbox or not is_abreast else None
            if taken is None:
                patience_s = timeout_s if is_abreast else LOOK_S
                taken = await (news if patience_s is None else news.within(patience_s))
            if taken == "ended" or (taken is None and is_abreast):
                break
            if taken is not None:
                for change in unpacked(follower, taken):
                    yield change
    finally:
        readers.forget(follower)
        courier.leave(follower)
    at_end()


class LoopReaders:
    """The readers of one event loop: what a batch has for them is taken at once for all."""

    def __init__(self, courier: Courier, loop: asyncio.AbstractEventLoop) -> None:
        self._courier = courier
        self._loop = weakref.ref(loop)
        self.wake: Wake = self._wake
        """One for all of them: so they are told together."""
        self._news: dict[Follower, LoopNews] = {}

    @classmethod
    def here(cls, courier: Courier) -> LoopReaders:
        """Give those of the loop that runs in this thread."""
        loop = asyncio.get_running_loop()
        readers = courier.loops.get(loop)
        if not isinstance(readers, cls):
            readers = courier.loops[loop] = cls(courier, loop)
        return readers

    def news(self, follower: Follower) -> LoopNews:
        """Give what a follower is to await, whenever there is nothing left to read."""
        news = self._news[follower] = LoopNews(asyncio.get_running_loop())
        return news

    def forget(self, follower: Follower) -> None:
        """Tell a follower no more."""
        self._news.pop(follower, None)

    def _wake(self, followers: list[Follower]) -> None:
        """Hear, in the courier's thread, that there is news."""
        if (loop := self._loop()) is not None:
            with suppress(RuntimeError):  # the loop is closed, and its readers with it
                loop.call_soon_threadsafe(self._hand, followers)

    def _hand(self, followers: list[Follower]) -> None:
        known = self._news
        own = [each for each in followers if each in known and known[each].is_awaited]
        told = [known[each] for each in own]
        for news, taken in zip(told, self._courier.take_all(own), strict=True):
            if taken is not None:
                news.tell(taken)
