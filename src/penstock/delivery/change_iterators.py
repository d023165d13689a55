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

from penstock.delivery.changes import Change, changes_of
from penstock.delivery.courier import LOOK_S, Courier, Follower, Share, Taken, Wake


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


def unpacked(follower: Follower, share: Share) -> Iterable[Change]:
    """Give the changes of what a follower took, behind those that it had before."""
    round_, pieces = share
    seen = follower.seen if round_.batch == follower.first else 0
    return changes_of(pieces, round_.batch, round_.version, seen)


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
    try:
        while True:
            is_abreast = courier.is_abreast(follower)
            # What comes from now on is told by a call of this loop, which cannot come in between.
            taken = courier.take(follower) if follower.inbox or not is_abreast else None
            if taken is None:
                taken = await readers.told(follower, timeout_s if is_abreast else LOOK_S)
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
        self._waiting: dict[Follower, asyncio.Future[Taken]] = {}

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

    def told(self, follower: Follower, patience_s: float | None) -> asyncio.Future[Taken]:
        """Give what a follower awaits: its next share; None if there was none for so long."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Taken] = loop.create_future()
        self._waiting[follower] = future
        if patience_s is not None:
            timer = loop.call_later(patience_s, _settle, future, None)
            future.add_done_callback(lambda _: timer.cancel())
        return future

    def forget(self, follower: Follower) -> None:
        """Tell a follower no more."""
        self._waiting.pop(follower, None)

    def _hand(self, followers: list[Follower]) -> None:
        waiting = self._waiting
        own = [each for each in followers if each in waiting and not waiting[each].done()]
        for follower, taken in zip(own, self._courier.take_all(own), strict=True):
            if taken is not None:
                _settle(waiting.pop(follower), taken)


def _settle(future: asyncio.Future[Taken], taken: Taken | Exception) -> None:
    if future.done():
        return
    if isinstance(taken, Exception):
        future.set_exception(taken)
    else:
        future.set_result(taken)
